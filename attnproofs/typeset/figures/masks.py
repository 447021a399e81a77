"""Figure of the usual masks as grids: which key (column) each query (row) may attend to."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnproofs.typeset.figures import Figure, style

Keep = NDArray[np.bool_]

TOKENS = 8
PADDED = 3
WINDOW = 3
DOCUMENTS = (3, 2, 3)


def mask_data() -> dict[str, Keep]:
    """Return the four masks, True = may attend."""
    i, j = np.indices((TOKENS, TOKENS))
    document = np.repeat(np.arange(len(DOCUMENTS)), DOCUMENTS)
    return {
        "causal": j <= i,
        "padding": j < TOKENS - PADDED,
        "window": (j <= i) & (i - j < WINDOW),
        "document": (document[:, None] == document[None, :]) & (j <= i),
    }


def draw_masks(data: dict[str, Keep]) -> Any:
    """Draw one grid a mask; kept cells are filled, masked ones hatched."""
    from matplotlib.patches import Rectangle

    picture = style.figure(6.3, 2.0)
    titles = {
        "causal": r"causal: $j\leq i$",
        "padding": f"padding: last {PADDED} keys",
        "window": f"window $w={WINDOW}$, causal",
        "document": "documents 3 + 2 + 3",
    }
    for axes, (name, keep) in zip(picture.subplots(1, 4), data.items(), strict=True):
        style.blank(axes)
        size = len(keep)
        for i in range(size):
            for j in range(size):
                kept = bool(keep[i, j])
                axes.add_patch(
                    Rectangle(
                        (j, size - 1 - i),
                        1,
                        1,
                        facecolor=style.BLUE if kept else "white",
                        edgecolor="white" if kept else style.FAINT,
                        linewidth=0.8,
                        hatch=None if kept else "////",
                    )
                )
        axes.set_xlim(-0.9, size)
        axes.set_ylim(-1.6, size + 0.9)
        axes.set_title(titles[name], fontsize=9, pad=2)
        axes.text(size / 2, size + 0.1, r"keys $j$", ha="center", va="bottom", fontsize=8)
        axes.text(-0.25, size / 2, r"queries $i$", ha="right", va="center", fontsize=8, rotation=90)
        kept_cells = int(keep.sum())
        axes.text(
            size / 2, -0.3, f"{kept_cells} of {size * size} kept", ha="center", va="top", fontsize=8
        )
    return picture


FIGURES = [
    Figure("figure_masks", mask_data, draw_masks),
]
