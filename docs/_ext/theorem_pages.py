"""Writes the theorem pages, the status tables, the rules and the dependency graph before a build.

They come from the checked theorems. Pages are written to ``docs/theorems`` (English) and
``docs/ko`` (Korean); files whose content has not changed are left alone, so that a second build
reads only what is new. Figures are drawn to ``docs/_static/figures``.
"""

from __future__ import annotations

import html
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util import logging

from attnproofs.kernel.axioms import AXIOMS
from attnproofs.theorems import CHAPTERS, select
from attnproofs.typeset import graph, web
from attnproofs.typeset.figures import all_figures
from attnproofs.typeset.figures.captions import BY_CHAPTER
from attnproofs.typeset.page import Page
from attnproofs.typeset.records import pages_of
from attnproofs.typeset.words import (
    AXIOM_TEXTS,
    INTRODUCTIONS,
    RULE_TEXTS,
    RULES,
    choose,
    word,
)

LOGGER = logging.getLogger(__name__)
FOLDERS = {"en": "theorems", "ko": "ko"}
TITLES = {
    "en": {"index": "Theorems", "status": "Status", "graph": "Dependency graph",
           "rules": "Rules and axioms", "theorem": "theorem", "title": "statement",
           "evidence": "evidence", "lines": "lines", "other": "한국어", "all": "All theorems"},
    "ko": {"index": "정리", "status": "현황", "graph": "의존 그래프", "rules": "규칙과 공리",
           "theorem": "정리", "title": "내용", "evidence": "근거", "lines": "줄 수",
           "other": "English", "all": "모든 정리"},
}  # fmt: skip


class Pages:
    """Writes generated files, remembering which ones belong."""

    def __init__(self, source: Path) -> None:
        self.source = source
        self.written: set[Path] = set()

    def write(self, name: str, text: str | bytes) -> None:
        """Write `name` under the docs folder unless it has this content already."""
        path = self.source / name
        data = text.encode("utf-8") if isinstance(text, str) else text
        self.written.add(path)
        if path.exists() and path.read_bytes() == data:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def tidy(self, *folders: str) -> None:
        """Remove generated files of theorems that exist no more."""
        for folder in folders:
            for path in (self.source / folder).glob("*.md"):
                if path not in self.written:
                    path.unlink()


def generate(app: Sphinx) -> None:
    """Write everything that is generated."""
    source = Path(app.srcdir)
    out = Pages(source)
    theorems = select(())
    pages = list(pages_of(theorems))
    out.write("_static/attnproofs.css", web.stylesheet())
    for figure in all_figures().values():
        path = source / "_static" / "figures" / f"{figure.id}.svg"
        if not path.exists():
            out.write(f"_static/figures/{figure.id}.svg", figure.render("svg")[0])
    made = graph.dependency_graph(theorems)
    for language, folder in FOLDERS.items():
        for page in pages:
            out.write(f"{folder}/{page.id}.md", theorem_page(page, language))
        out.write(f"{folder}/index.md", index_page(pages, language))
        out.write(f"{folder}/rules.md", rules_page(language))
        out.write(f"{folder}/graph.md", graph_page(made, language))
    out.tidy(*FOLDERS.values())
    LOGGER.info("theorem pages: %d in %d languages", len(pages), len(FOLDERS))


def raw(text: str) -> str:
    """Return a raw HTML block in MyST."""
    return f"```{{raw}} html\n{text}\n```\n"


def switch(name: str, language: str) -> str:
    """Return the link to the same page in the other language."""
    other = "ko" if language == "en" else "en"
    label = TITLES[language]["other"]
    return raw(
        f'<p class="ap-switch"><a href="../{FOLDERS[other]}/{name}.html" lang="{other}" '
        f'hreflang="{other}">{label}</a></p>'
    )


def theorem_page(page: Page, language: str) -> str:
    """Return a theorem's page."""
    body = web.article(
        page,
        language,
        theorem_link=lambda name: f"{name}.html",
        rule_link=lambda name: f"rules.html#rule-{name}",
        axiom_link=lambda name: f"rules.html#axiom-{name}",
    )
    title = choose(page.title, language)
    return f"# {title}\n\n{switch(page.id, language)}\n{raw(body)}"


def figure_block(name: str, language: str) -> str:
    """Return a figure with caption and alternative text."""
    figure = all_figures()[name]
    alt = html.escape(figure.alt[language], quote=True)
    caption = web.prose(figure.caption[language])
    return raw(
        f'<figure class="ap-figure"><img src="../_static/figures/{name}.svg" alt="{alt}" '
        f'loading="lazy"><figcaption>{caption}</figcaption></figure>'
    )


def index_page(pages: list[Page], language: str) -> str:
    """Return the list of all theorems with their status, chapter by chapter."""
    words = TITLES[language]
    out = [f"# {words['index']}", "", switch("index", language)]
    proved = sum(p.evidence == "proved" for p in pages)
    claims = [p for p in pages if not p.lemma]
    summary = {
        "en": f"{len(claims)} theorems and {len(pages) - len(claims)} tools; {proved} of "
        f"{len(pages)} proved.",
        "ko": f"정리 {len(claims)}개와 도구 {len(pages) - len(claims)}개, 그중 {proved}개를 "
        "증명했습니다.",
    }[language]
    out += [summary, f"[{words['graph']}](graph.md), [{words['rules']}](rules.md)", ""]
    for chapter, title in CHAPTERS.items():
        inside = [p for p in pages if p.chapter == chapter]
        if not inside:
            continue
        out += [f"## {title[language]}", "", INTRODUCTIONS[chapter][language], ""]
        out += [figure_block(name, language) for name in BY_CHAPTER.get(chapter, ())]
        out += [
            f"| {words['theorem']} | {words['title']} | {words['evidence']} | {words['lines']} |",
            "|---|---|---|---|",
        ]
        for p in inside:
            lines = sum(len(d.steps) - 1 for part in p.parts for d in part.derivations)
            title_text = choose(p.title, language).replace("|", "\\|")
            out.append(
                f"| [`{p.id}`]({p.id}.md) | {title_text} | {word(p.evidence, language)} | {lines} |"
            )
        out.append("")
    names = "\n".join(["graph", "rules", *(p.id for p in pages)])
    out.append(f"```{{toctree}}\n:hidden:\n:maxdepth: 1\n\n{names}\n```\n")
    return "\n".join(out)


def rules_page(language: str) -> str:
    """Return the list of rules and axioms that theorem pages link to."""
    rules = "".join(
        f'<div id="rule-{name}"><dt>{html.escape(RULES[name][language])} <code>{name}</code></dt>'
        f"<dd>{web.prose(RULE_TEXTS[name][language])}</dd></div>"
        for name in RULES
    )
    axioms = "".join(
        f'<div id="axiom-{name}"><dt><code>{name}</code></dt><dd>'
        f"{web.prose(AXIOM_TEXTS[name][language])} "
        f'<span lang="en">({html.escape(a.reference)})</span></dd></div>'
        for name, a in AXIOMS.items()
    )
    return "\n".join([
        f"# {TITLES[language]['rules']}", "", switch("rules", language),
        f"## {word('rules', language)}", "", word("rules_text", language), "",
        raw(f'<dl class="ap-rules">{rules}</dl>'),
        f"## {word('axioms', language)}", "", word("axioms_text", language), "",
        raw(f'<dl class="ap-rules">{axioms}</dl>'),
    ])  # fmt: skip


def graph_page(made: graph.Graph, language: str) -> str:
    """Return the page of the dependency graph; its nodes lead to the theorems."""
    text = {
        "en": "A solid line leads from a theorem to one that its proof cites, a dashed line to a "
        "definition (boxes) that its statement uses. What a theorem rests on stands to its left. "
        "Click a theorem to open it.",
        "ko": "실선은 정리에서 그 증명이 인용하는 정리로, 점선은 명제에 쓰인 정의(네모)로 "
        "이어집니다. 정리의 근거는 그 왼쪽에 있습니다. 정리를 누르면 해당 쪽이 열립니다.",
    }[language]
    picture = graph.svg(made, link="{id}.html", language=language)
    return "\n".join([
        f"# {TITLES[language]['graph']}", "", switch("graph", language), text, "",
        raw(f'<div class="ap-graph ap-scroll" tabindex="0">{picture}</div>'),
    ])  # fmt: skip


def page_language(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, object], doctree: object
) -> None:
    """Say in the page itself that a Korean page is Korean (``<html lang>``)."""
    if pagename.startswith(f"{FOLDERS['ko']}/"):
        context["language"] = "ko"


def setup(app: Sphinx) -> dict[str, bool]:
    """Generate before sources are read."""
    app.connect("builder-inited", generate)
    app.connect("html-page-context", page_language)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
