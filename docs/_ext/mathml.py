"""Mathematics of hand-written pages as MathML at build time: no script, no network."""

from docutils import nodes
from sphinx.application import Sphinx

from attnproofs.typeset.web import inline_math


def _inline(self, node: nodes.math) -> None:
    self.body.append(inline_math(node.astext()))
    raise nodes.SkipNode


def _block(self, node: nodes.math_block) -> None:
    source = " ".join(node.astext().split())
    self.body.append(f'<div class="ap-scroll" tabindex="0">{inline_math(source, block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
