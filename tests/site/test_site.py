"""The built site: no dead internal link, no network, readable without a mouse, a screen or colour.

Needs a build: ``make docs`` leaves one in ``docs/_build``; `.ci/run` makes it and then runs these.
"""

import os
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from attnproofs.theorems import locations

ROOT = Path(__file__).parents[2]
SITE = Path(os.environ.get("ATTNPROOFS_SITE", ROOT / "docs" / "_build"))

pytestmark = pytest.mark.skipif(
    not (SITE / "index.html").exists(), reason="the site is not built: make docs"
)


VOID = frozenset(
    [
        "area",
        "base",
        "br",
        "col",
        "embed",
        "hr",
        "img",
        "input",
        "link",
        "meta",
        "source",
        "track",
        "wbr",
    ]
)


class Checked(HTMLParser):
    """Reads a page and notes what an accessibility checker would."""

    def __init__(self):
        super().__init__()
        self.language = ""
        self.ids, self.links, self.loaded, self.problems, self.headings = [], [], [], [], []
        self._open = []
        self._labels, self._inputs = set(), []
        self._text_of_link = None
        self._header = None
        self.title = ""
        self._in_title = False

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if "id" in found:
            self.ids.append(found["id"])
        if tag == "html":
            self.language = found.get("lang", "")
        if tag == "title":
            self._in_title = not self.title
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
            self._text_of_link = found.get("aria-label") or found.get("title") or ""
        if tag == "img":
            if "alt" not in found:
                self.problems.append(f"image without alt: {found.get('src')}")
            self.loaded.append(found.get("src", ""))
            if self._text_of_link is not None:
                self._text_of_link += found.get("alt") or ""
        if tag == "script" and "src" in found:
            self.loaded.append(found["src"])
        if tag == "link" and found.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.append(found["href"])
        if re.fullmatch(r"h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag == "label":
            self._labels.add(found.get("for"))
        if tag == "input" and found.get("type") not in ("hidden", "submit"):
            self._inputs.append(found)
        if found.get("role") == "heading" and "aria-level" not in found:
            self.problems.append("a heading by role without its level")
        scrolls = tag == "pre" or "table-wrapper" in (found.get("class") or "")
        if scrolls and "tabindex" not in found:
            self.problems.append("a scrolling block that the keyboard cannot reach")
        if tag == "th":
            self._header = ""
        if int(found.get("tabindex", "0")) > 0:
            self.problems.append("a positive tabindex changes the reading order")
        if tag == "svg" and self._text_of_link is not None:
            self._text_of_link += "picture" if self._text_of_link else ""
        if tag not in VOID:
            self._open.append(tag)

    def handle_data(self, data):
        if self._in_title:
            self.title += data
        if self._text_of_link is not None:
            self._text_of_link += data.strip()
        if self._header is not None:
            self._header += data.strip()

    def handle_endtag(self, tag):
        if tag == "title":
            self._in_title = False
        if tag == "th" and self._header is not None:
            if not self._header:
                self.problems.append("a column without a name")
            self._header = None
        if tag == "a" and self._text_of_link is not None:
            if not self._text_of_link:
                self.problems.append(f"link without text: {self.links[-1]}")
            self._text_of_link = None
        if tag in self._open:
            while self._open.pop() != tag:
                pass

    def finish(self):
        """Return all problems of the page."""
        if not self.language:
            self.problems.append("no language")
        if not self.title.strip():
            self.problems.append("no title")
        repeated = {i for i in self.ids if self.ids.count(i) > 1}
        if repeated:
            self.problems.append(f"repeated ids: {sorted(repeated)[:3]}")
        if self.headings.count(1) != 1:
            self.problems.append(f"{self.headings.count(1)} main headings")
        for before, after in zip(self.headings, self.headings[1:], strict=False):
            if after > before + 1:
                self.problems.append(f"heading level jumps from {before} to {after}")
        for field in self._inputs:
            if field.get("id") not in self._labels and not (
                field.get("aria-label") or field.get("placeholder")
            ):
                self.problems.append(f"input without a label: {field}")
        return self.problems


def check(text):
    page = Checked()
    page.feed(text)
    page.finish()
    return page


@cache
def pages():
    return {
        file.relative_to(SITE).as_posix(): check(file.read_text(encoding="utf-8"))
        for file in sorted(SITE.rglob("*.html"))
        if not {"_modules", "_static"} & set(file.relative_to(SITE).parts)
    }


def test_every_theorem_has_a_page_in_both_languages():
    """One page per theorem in English and in Korean, each saying which it is."""
    for folder, language in (("theorems", "en"), ("ko", "ko")):
        for name in locations():
            assert pages()[f"{folder}/{name}.html"].language == language


def test_no_internal_link_is_dead():
    """Every relative link leads to a file of the site, every fragment to an id in it."""
    dead = []
    for name, page in pages().items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (SITE / name).parent / unquote(parts.path) if parts.path else SITE / name
            target = target.resolve()
            if target.is_dir():
                target /= "index.html"
            if not target.exists():
                dead.append((name, link))
                continue
            relative = target.relative_to(SITE.resolve()).as_posix()
            known = pages()[relative].ids if relative in pages() else None
            if parts.fragment and known is not None and unquote(parts.fragment) not in known:
                dead.append((name, link))
    assert dead[:5] == []


def test_no_page_needs_the_network():
    """Scripts, styles and pictures are part of the site."""
    outside = [
        (name, source)
        for name, page in pages().items()
        for source in page.loaded
        if urlsplit(source).scheme in ("http", "https") or source.startswith("//")
    ]
    assert outside == []
    for sheet in (SITE / "_static").rglob("*.css"):
        text = sheet.read_text(encoding="utf-8", errors="replace")
        assert not re.search(r"(?:@import|url\()\s*['\"]?(?:https?:)?//", text), sheet


def test_pages_are_accessible():
    """Alt texts, labels, heading levels, link texts, unique ids, languages."""
    # the theme's search page gets its heading from a script when a search runs
    known = {"search.html": ["0 main headings"]}
    wrong = {
        name: page.problems
        for name, page in pages().items()
        if page.problems and page.problems != known.get(name)
    }
    assert wrong == {}


def test_the_checker_sees_problems():
    """Each kind of problem is found in a page that has it."""
    bad = check(
        "<html><head></head><body><h1>a</h1><h3 id=x>b</h3><p id=x><img src=a.png>"
        "<pre></pre><table><th></th></table><p role=heading></p><a href=b></a>"
        "<input type=text><i tabindex=3></i>"
    )
    text = " ".join(bad.problems)
    for problem in ("no language", "no title", "repeated ids", "jumps from 1 to 3",
                    "without alt", "link without text", "without a label",
                    "tabindex", "without its level", "keyboard cannot",
                    "column without"):  # fmt: skip
        assert problem in text
