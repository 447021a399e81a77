"""Figure of the two orientations: tokens as rows, and tokens as columns, stage by stage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from attnproofs.typeset.figures import Figure, style

SIZES = {"T": 4, "d_m": 5, "d_k": 3, "d_v": 2}  # drawn sizes, pairwise distinct
TOKEN = 1  # the highlighted token, 0-based
CELL = 0.26


@dataclass(frozen=True)
class Matrix:
    """A matrix as drawn: name, axes by name, and which of its axes runs over tokens."""

    name: str
    rows: str
    columns: str
    tokens: str  # "rows", "columns", "both" or "none"

    @property
    def transposed(self) -> tuple[str, str]:
        """Return the axes of the transpose."""
        return self.columns, self.rows


@dataclass(frozen=True)
class Stage:
    """One product ``result = left · right``; `softmax` names the axis of a softmax before it."""

    result: Matrix
    left: Matrix
    right: Matrix


def layout_data() -> dict[str, list[Stage]]:
    """Return the stages of both orientations, in the same order."""
    rows = [
        Stage(
            Matrix(r"$Q$", "T", "d_k", "rows"),
            Matrix(r"$X$", "T", "d_m", "rows"),
            Matrix(r"$W_Q$", "d_m", "d_k", "none"),
        ),
        Stage(
            Matrix(r"$S$", "T", "T", "both"),
            Matrix(r"$Q$", "T", "d_k", "rows"),
            Matrix(r"$K^{\top}$", "d_k", "T", "columns"),
        ),
        Stage(
            Matrix(r"$O$", "T", "d_v", "rows"),
            Matrix(r"$A$", "T", "T", "both"),
            Matrix(r"$V$", "T", "d_v", "rows"),
        ),
    ]
    columns = [
        Stage(
            Matrix(r"$Q_c$", "d_k", "T", "columns"),
            Matrix(r"$W_Q^{\top}$", "d_k", "d_m", "none"),
            Matrix(r"$X_c$", "d_m", "T", "columns"),
        ),
        Stage(
            Matrix(r"$S_c$", "T", "T", "both"),
            Matrix(r"$K_c^{\top}$", "T", "d_k", "rows"),
            Matrix(r"$Q_c$", "d_k", "T", "columns"),
        ),
        Stage(
            Matrix(r"$O_c$", "d_v", "T", "columns"),
            Matrix(r"$V_c$", "d_v", "T", "columns"),
            Matrix(r"$A_c$", "T", "T", "both"),
        ),
    ]
    return {"rows": rows, "columns": columns}


def _draw_matrix(axes: Any, matrix: Matrix, x: float, middle: float, orientation: str) -> float:
    """Draw `matrix` with its left edge at `x`; return its width."""
    from matplotlib.patches import Rectangle

    rows, columns = SIZES[matrix.rows], SIZES[matrix.columns]
    height, width = rows * CELL, columns * CELL
    top = middle + height / 2
    # the query token is a row in the first orientation, a column in the second
    lit_rows = orientation == "rows" and matrix.tokens in ("rows", "both")
    lit_columns = orientation == "columns" and matrix.tokens in ("columns", "both")
    if matrix.name in ("$V$", "$V_c$"):
        lit_rows = lit_columns = False  # values belong to keys, not to the query
    for r in range(rows):
        for c in range(columns):
            lit = (lit_rows and r == TOKEN) or (lit_columns and c == TOKEN)
            axes.add_patch(
                Rectangle(
                    (x + c * CELL, top - (r + 1) * CELL),
                    CELL,
                    CELL,
                    facecolor=style.ORANGE if lit else style.PALE_BLUE,
                    edgecolor="white",
                    linewidth=0.8,
                )
            )
    axes.text(x + width / 2, top + 0.06, matrix.name, ha="center", va="bottom", fontsize=10)
    names = {"T": "T", "d_m": r"d_{\mathrm{model}}", "d_k": "d_k", "d_v": "d_v"}
    size = rf"${names[matrix.rows]}\times {names[matrix.columns]}$"
    axes.text(
        x + width / 2,
        top - height - 0.06,
        size,
        ha="center",
        va="top",
        fontsize=7.5,
        color=style.MUTED,
    )
    if matrix.name == "$A$":
        axes.annotate("", (x + width + 0.02, top + 0.09), (x - 0.02, top + 0.09), arrowprops=_ARROW)
        axes.texts[-3].set_y(top + 0.14)
    if matrix.name == "$A_c$":
        axes.annotate(
            "", (x - 0.07, top - height - 0.02), (x - 0.07, top + 0.02), arrowprops=_ARROW
        )
    return width


_ARROW = {"arrowstyle": "->", "color": style.RED, "linewidth": 1.1}


def draw_layouts(data: dict[str, list[Stage]]) -> Any:
    """Draw both orientations side by side, the query token highlighted throughout."""
    picture = style.figure(6.3, 4.3)
    titles = {"rows": "tokens as rows", "columns": "tokens as columns"}
    for axes, (orientation, stages) in zip(picture.subplots(1, 2), data.items(), strict=True):
        style.blank(axes)
        axes.set_title(titles[orientation])
        for index, stage in enumerate(stages):
            middle = -index * 2.05
            x = 0.0
            for matrix, after in ((stage.result, "="), (stage.left, r"$\cdot$"), (stage.right, "")):
                x += _draw_matrix(axes, matrix, x, middle, orientation)
                axes.text(x + 0.23, middle, after, ha="center", va="center", fontsize=12)
                x += 0.46
        axes.set_xlim(-0.15, 4.6)
        axes.set_ylim(-5.15, 1.05)
    return picture


FIGURES = [
    Figure("figure_orientations", layout_data, draw_layouts),
]
