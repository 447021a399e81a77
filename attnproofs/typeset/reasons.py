"""What is written beside a line of a derivation: the rule's name, and what it points to."""

from __future__ import annotations

from dataclasses import dataclass

from attnproofs.typeset.words import RULE_TEXTS, RULES, word


@dataclass(frozen=True)
class Reason:
    """A reason in one language.

    `target` is ``rule:NAME``, ``thm:ID`` or ``def:NAME``; `hover` is a sentence on the rule,
    in plain letters.
    """

    label: str
    target: str
    hover: str


def reason(rule: str, of: str, language: str) -> Reason:
    """Return the words for one reason of a line.

    Raises
    ------
    KeyError
        When the kernel has a rule that has no words (a test looks for that).

    Examples
    --------
    >>> reason("ring", "", "en").label, reason("hyp", "IH", "ko").label
    ('algebra', '귀납 가정')
    >>> reason("lemma", "sum_const", "en").target
    'thm:sum_const'
    """
    from attnproofs.typeset.plain import plain_prose  # which imports this module

    hover = plain_prose(RULE_TEXTS[rule][language])
    if rule == "lemma":
        return Reason(of, f"thm:{of.split('.', maxsplit=1)[0]}", hover)
    if rule == "hyp":
        name = {"en": "induction hypothesis", "ko": "귀납 가정"}[language]
        label = name if of == "IH" else f"{RULES[rule][language]} {of}"
        return Reason(label, "rule:hyp", hover)
    if rule == "unfold" and of:
        names = ", ".join(part.replace("_", " ") for part in of.split(", "))
        return Reason(f"{word('definition', language)}: {names}", "rule:unfold", hover)
    return Reason(RULES[rule][language], f"rule:{rule}", hover)
