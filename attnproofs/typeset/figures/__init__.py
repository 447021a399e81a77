"""The figures of the book and the site: data first, then the drawing, with captions and alt texts.

Each figure is a `Figure`: `data` computes plain values (tested on their own), `draw` turns them
into a drawing. `render` gives the bytes; the same version of matplotlib gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from attnproofs.typeset.figures.captions import CAPTIONS

FORMATS = ("pdf", "png", "svg")


@dataclass(frozen=True)
class Figure:
    """One figure.

    Attributes
    ----------
    id
        File stem and LaTeX label.
    data
        Computes what is drawn; deterministic.
    draw
        Turns the data into a matplotlib figure.
    """

    id: str
    data: Callable[[], Any]
    draw: Callable[[Any], Any]

    @property
    def caption(self) -> dict[str, str]:
        """Return the text under the figure, by language."""
        return CAPTIONS[self.id]["caption"]

    @property
    def alt(self) -> dict[str, str]:
        """Return the text that stands in for the figure, by language."""
        return CAPTIONS[self.id]["alt"]

    def render(self, *kinds: str) -> list[bytes]:
        """Return the figure in each of the formats `kinds`."""
        from attnproofs.typeset.figures.style import drawing, encode

        with drawing():
            drawn = self.draw(self.data())
            return [encode(drawn, kind) for kind in kinds]


_MODULES = ("scores", "masks", "layouts", "flows", "streaming", "kernels")


def all_figures() -> dict[str, Figure]:
    """Return every figure by id, in the order of the book."""
    found: dict[str, Figure] = {}
    for module in _MODULES:
        for figure in import_module(f"attnproofs.typeset.figures.{module}").FIGURES:
            found[figure.id] = figure
    return found
