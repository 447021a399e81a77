"""A theorem's page as HTML with MathML: one self-contained file, or an article for the site.

No script and no network: browsers draw MathML themselves, steps fold with ``<details>``, and a
rule's explanation is both a tooltip and an entry of the list that its link leads to.
"""

from __future__ import annotations

import html
from collections.abc import Callable
from functools import cache
from importlib import resources
from typing import Any

from attnproofs.typeset.page import Formula, Page, Written
from attnproofs.typeset.plain import plain_prose
from attnproofs.typeset.reasons import Reason, reason
from attnproofs.typeset.words import RULE_TEXTS, RULES, choose, word


@cache
def _environment() -> Any:
    import jinja2

    return jinja2.Environment(
        loader=jinja2.PackageLoader("attnproofs.typeset", "templates"),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        autoescape=True,
    )


def stylesheet() -> str:
    """Return the style sheet of theorem pages (light, dark, print, narrow screens)."""
    return (resources.files("attnproofs.typeset") / "templates" / "page.css").read_text("utf-8")


def math(formula: Formula | Written, *, block: bool = False) -> Any:
    """Return a formula as a MathML element."""
    from markupsafe import Markup

    display = ' display="block"' if block else ' displaystyle="true"'
    return Markup(
        f'<math xmlns="http://www.w3.org/1998/Math/MathML"{display}>{formula.to("mathml")}</math>'
    )


def prose(text: str) -> Any:
    """Return prose as HTML; what stands between dollars becomes MathML."""
    from markupsafe import Markup

    parts = text.split("$")
    out = [
        inline_math(part) if k % 2 else html.escape(part, quote=False)
        for k, part in enumerate(parts)
    ]
    return Markup("".join(out))


@cache
def inline_math(source: str, *, block: bool = False) -> str:
    """Return LaTeX mathematics of an author's prose as MathML."""
    from latex2mathml.converter import convert

    return str(convert(source, display="block" if block else "inline"))


def article(
    page: Page,
    language: str = "en",
    *,
    theorem_link: Callable[[str], str],
    rule_link: Callable[[str], str],
    axiom_link: Callable[[str], str],
) -> str:
    """Return the body of a theorem's page, without its title.

    Parameters
    ----------
    page
        What is shown.
    language
        ``en`` or ``ko``.
    theorem_link, rule_link, axiom_link
        Give the address of a theorem, a rule or an axiom by its name; "" for no link.
    """
    from attnproofs.theorems.bibliography import references

    def link(r: Reason) -> str:
        kind, _, name = r.target.partition(":")
        return theorem_link(name) if kind == "thm" else rule_link(name)

    return str(
        _environment()
        .get_template("article.html")
        .render(
            page=page,
            language=language,
            word=lambda key: word(key, language),
            choose=lambda text: choose(text, language),
            prose=prose,
            math=math,
            reason=lambda rule, of: reason(rule, of, language),
            link=link,
            theorem_link=theorem_link,
            axiom_link=axiom_link,
            sign={"<=": "≤"},
            references=[
                {**entry, "title": prose(entry["title"])}
                for _, entry in references(page.references, language)
            ],
        )
    )


def notebook(page: Page, language: str = "en") -> str:
    """Return the page for a notebook's cell: an article with its style, without links."""
    body = article(
        page,
        language,
        theorem_link=lambda _: "",
        rule_link=lambda _: "",
        axiom_link=lambda _: "",
    )
    title = prose(choose(page.title, language))
    return f"<style>{stylesheet()}</style><p><strong>{title}</strong></p>{body}"


def document(page: Page, language: str = "en") -> str:
    """Return one self-contained HTML file: no script, no network, prints well."""
    used = {r for p in page.parts for d in p.derivations for s in d.steps for r, _ in s.reasons}
    body = article(
        page,
        language,
        theorem_link=lambda _: "",
        rule_link=lambda name: f"#rule-{name}",
        axiom_link=lambda _: "",
    )
    from markupsafe import Markup

    return str(
        _environment()
        .get_template("document.html")
        .render(
            title=plain_prose(choose(page.title, language)),
            language=language,
            css=Markup(stylesheet()),
            body=Markup(body),
            page=page,
            word=lambda key: word(key, language),
            rules=[
                (name, RULES[name][language], prose(RULE_TEXTS[name][language]))
                for name in RULES
                if name in used
            ],
        )
    )
