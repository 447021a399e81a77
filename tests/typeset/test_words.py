"""Every word exists in every language, for every rule and axiom that the kernel has."""

import pytest

from attnproofs.kernel.algebra import LAWS
from attnproofs.kernel.axioms import AXIOMS, RULE_AXIOMS
from attnproofs.theorems import CHAPTERS, locations, theorem
from attnproofs.typeset import words
from attnproofs.typeset.reasons import reason

TABLES = {
    "WORDS": words.WORDS,
    "RULES": words.RULES,
    "RULE_TEXTS": words.RULE_TEXTS,
    "AXIOM_TEXTS": words.AXIOM_TEXTS,
    "INTRODUCTIONS": words.INTRODUCTIONS,
    "MEANINGS": words.MEANINGS,
    "CHAPTERS": CHAPTERS,
    "SHAPES": {array: text for array, _, text in words.SHAPES},
}


def missing(table):
    """Return the keys of a table that lack a language, or say the same in two."""
    return [
        key
        for key, text in table.items()
        if set(text) != set(words.LANGUAGES) or not all(t.strip() for t in text.values())
    ]


@pytest.mark.parametrize("name", TABLES)
def test_every_key_has_every_language(name):
    """No table of words has a gap."""
    assert missing(TABLES[name]) == []


def test_a_gap_is_noticed():
    """The check itself sees a missing and an empty translation."""
    assert missing(
        {"a": {"en": "x"}, "b": {"en": "x", "ko": " "}, "c": {"en": "x", "ko": "y"}}
    ) == [
        "a",
        "b",
    ]


def hangul(text):
    return any("\uac00" <= c <= "\ud7a3" for c in text)


@pytest.mark.parametrize(
    "name", ["WORDS", "RULE_TEXTS", "AXIOM_TEXTS", "INTRODUCTIONS", "MEANINGS", "CHAPTERS"]
)
def test_korean_is_korean(name):
    """Nothing was left in English in the Korean column (formulas apart)."""
    assert [k for k, t in TABLES[name].items() if not hangul(t["ko"])] == []


def test_every_rule_of_the_kernel_has_words():
    """A rule that a line may name can be printed, in both languages."""
    for rule in {*RULE_AXIOMS, *LAWS}:
        name = rule.partition(":")[0]
        for language in words.LANGUAGES:
            assert reason(name, "sum_const" if name == "lemma" else "", language).label


def test_every_axiom_has_a_translation():
    """The table of axioms has exactly the kernel's."""
    assert set(words.AXIOM_TEXTS) == set(AXIOMS)


@pytest.mark.parametrize("name", list(locations()))
def test_every_theorem_speaks_every_language(name):
    """Title, prose, numbers, part titles and false neighbours exist in English and Korean."""
    found = theorem(name)
    texts = {"title": found.title, "prose": found.prose}
    if found.numbers:
        texts["numbers"] = found.numbers
    texts |= {f"part {p.name}": p.title for p in found.parts if p.name}
    texts |= {f"false {k}": f.title for k, f in enumerate(found.false_neighbours)}
    if found.lemma and not found.prose:
        del texts["prose"]

    assert missing(texts) == []
    assert hangul(found.title["ko"]) or found.title["ko"] == found.title["en"]


def test_chapters_have_introductions():
    """Each chapter starts with a few sentences."""
    assert set(words.INTRODUCTIONS) == set(CHAPTERS)
