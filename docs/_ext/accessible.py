"""Mends what the theme leaves open for keyboards and screen readers, in the finished pages.

Found with axe-core: headings by role without a level, unnamed landmarks, footnotes as landmarks,
and code blocks and tables that scroll but cannot be reached with the keyboard.
"""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx

REPAIRS = (
    (re.compile(r'role="heading"(?! aria-level)'), 'role="heading" aria-level="2"'),
    (re.compile(r'<aside class="(sidebar-drawer)">'), r'<aside class="\1" aria-label="Site">'),
    (re.compile(r'<aside class="(toc-drawer[^"]*)">'), r'<aside class="\1" aria-label="Page">'),
    (re.compile(r'<aside class="footnote-list([^"]*)">'),
     r'<aside class="footnote-list\1" role="note" aria-label="References">'),
    (re.compile(r"<pre(?![^>]*tabindex)"), '<pre tabindex="0"'),
    (re.compile(r'<div class="(table-wrapper[^"]*)">'), r'<div class="\1" tabindex="0">'),
)  # fmt: skip


def mend(app: Sphinx, error: Exception | None) -> None:
    """Rewrite the pages of an HTML build; a page that is mended already stays as it is."""
    if error is not None or app.builder.format != "html":
        return
    for file in Path(app.outdir).rglob("*.html"):
        before = file.read_text(encoding="utf-8")
        after = before
        for pattern, replacement in REPAIRS:
            after = pattern.sub(replacement, after)
        if after != before:
            file.write_text(after, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Mend after the build."""
    app.connect("build-finished", mend)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
