"""Figures of the data flow of one head and of several, with the shape on every arrow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from attnproofs.typeset.figures import Figure, style

Shape = tuple[str, ...]


@dataclass(frozen=True)
class Node:
    """One box: what it computes from its inputs, and the shape that leaves it.

    `op` is one of ``input``, ``weight``, ``matmul``, ``matmul_transposed``, ``scale``, ``mask``,
    ``softmax``, ``concat``, ``add``. `heads` nodes are drawn as a stack of H copies.
    """

    id: str
    label: str
    op: str
    inputs: tuple[str, ...]
    shape: Shape
    x: float
    y: float
    heads: bool = False


def single_head_data() -> list[Node]:
    """Return the nodes of a single head with its residual connection."""
    return [
        Node("X", "$X$", "input", (), ("T", "d_model"), 2.0, 0.0),
        Node("Q", r"$\cdot\,W_Q$", "weight", ("X",), ("T", "d_k"), 0.6, 1.0),
        Node("K", r"$\cdot\,W_K$", "weight", ("X",), ("T", "d_k"), 2.0, 1.0),
        Node("V", r"$\cdot\,W_V$", "weight", ("X",), ("T", "d_v"), 3.9, 1.0),
        Node("QK", r"$Q K^{\top}$", "matmul_transposed", ("Q", "K"), ("T", "T"), 1.3, 2.0),
        Node("scale", r"$\times\;1/\sqrt{d_k}$", "scale", ("QK",), ("T", "T"), 1.3, 2.85),
        Node("mask", r"$+\;$mask", "mask", ("scale",), ("T", "T"), 1.3, 3.7),
        Node("A", "row softmax", "softmax", ("mask",), ("T", "T"), 1.3, 4.55),
        Node("O", r"$A V$", "matmul", ("A", "V"), ("T", "d_v"), 2.6, 5.55),
        Node("update", r"$\cdot\,W_O$", "weight", ("O",), ("T", "d_model"), 2.6, 6.4),
        Node("X'", r"$X + O\,W_O$", "add", ("update", "X"), ("T", "d_model"), 2.6, 7.4),
    ]


def multi_head_data() -> list[Node]:
    """Return the nodes of a multi-head layer; one stack of boxes stands for its H heads."""
    return [
        Node("X", "$X$", "input", (), ("T", "d_model"), 2.0, 0.0),
        Node("Q", r"$\cdot\,W_Q^{(h)}$", "weight", ("X",), ("T", "d_k"), 0.6, 1.05, True),
        Node("K", r"$\cdot\,W_K^{(h)}$", "weight", ("X",), ("T", "d_k"), 2.0, 1.05, True),
        Node("V", r"$\cdot\,W_V^{(h)}$", "weight", ("X",), ("T", "d_v"), 3.9, 1.05, True),
        Node(
            "A",
            "weights",
            "attention_weights",
            ("Q", "K"),
            ("T", "T"),
            1.3,
            2.35,
            True,
        ),
        Node("O", r"head$_h=A^{(h)}V^{(h)}$", "matmul", ("A", "V"), ("T", "d_v"), 2.6, 3.65, True),
        Node("concat", "concatenate", "concat", ("O",), ("T", "H d_v"), 2.6, 4.85),
        Node("update", r"$\cdot\,W_O$", "weight", ("concat",), ("T", "d_model"), 2.6, 5.75),
        Node("X'", r"$X + \mathrm{MHA}(X)$", "add", ("update", "X"), ("T", "d_model"), 2.6, 6.75),
    ]


_NAMES = {"d_model": r"d_{\mathrm{model}}", "H d_v": r"H d_v"}
_FILL = {
    "input": "white",
    "weight": style.PALE_ORANGE,
    "matmul": style.PALE_BLUE,
    "matmul_transposed": style.PALE_BLUE,
    "attention_weights": style.PALE_BLUE,
    "softmax": style.PALE_GREEN,
    "add": "white",
    "concat": "white",
    "scale": "white",
    "mask": "white",
}


def _shape(shape: Shape) -> str:
    return "$" + r"\times ".join(_NAMES.get(axis, axis) for axis in shape) + "$"


def draw_flow(nodes: list[Node]) -> Any:
    """Draw the nodes from bottom to top; the residual arrow runs along the right side."""
    from matplotlib.patches import FancyBboxPatch

    width, height, side = 1.16, 0.42, 4.95
    picture = style.figure(4.4, 5.6)
    axes = picture.subplots()
    style.blank(axes)
    by_id = {node.id: node for node in nodes}
    for node in nodes:
        wide = width + (0.5 if len(node.label) > 18 else 0)
        for copy in (2, 1, 0) if node.heads else (0,):
            axes.add_patch(
                FancyBboxPatch(
                    (node.x - wide / 2 + 0.07 * copy, node.y - height / 2 + 0.07 * copy),
                    wide,
                    height,
                    boxstyle="round,pad=0,rounding_size=0.08",
                    facecolor=_FILL[node.op],
                    edgecolor=style.MUTED,
                    linewidth=0.8,
                    zorder=3 - 0.1 * copy,
                )
            )
        axes.text(node.x, node.y, node.label, ha="center", va="center", zorder=4)
        for source_id in node.inputs:
            source = by_id[source_id]
            start_y = source.y + height / 2 + (0.14 if source.heads else 0)
            if node.op == "add" and source.op == "input":
                path = [
                    (source.x + width / 2, source.y),
                    (side, source.y),
                    (side, node.y),
                    (node.x + wide / 2, node.y),
                ]
                xs, ys = zip(*path, strict=True)
                axes.plot(xs, ys, color=style.MUTED, linewidth=1, zorder=1)
                axes.annotate(
                    "",
                    path[-1],
                    (path[-1][0] + 0.2, path[-1][1]),
                    arrowprops={"arrowstyle": "->", "color": style.MUTED, "linewidth": 1},
                )
                axes.text(
                    side + 0.08,
                    (source.y + node.y) / 2,
                    _shape(source.shape),
                    fontsize=8,
                    rotation=90,
                    va="center",
                )
                continue
            shift = (
                0.0
                if len(node.inputs) == 1 or node.op == "add"
                else (-0.25 if source.x < node.x else 0.25)
            )
            start = (source.x, start_y)
            end = (node.x + shift, node.y - height / 2)
            axes.annotate(
                "",
                end,
                start,
                arrowprops={
                    "arrowstyle": "->",
                    "color": style.MUTED,
                    "linewidth": 1,
                    "shrinkA": 0,
                    "shrinkB": 0,
                },
                zorder=1,
            )
            # of the arrows that leave the input, those to the left have their shapes on the left
            outer = source.op == "input" and end[0] < start[0]
            axes.text(
                (start[0] + end[0]) / 2 + (-0.07 if outer else 0.07),
                (start[1] + end[1]) / 2,
                _shape(source.shape),
                ha="right" if outer else "left",
                fontsize=8,
                color=style.INK,
                va="center",
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.85},
                zorder=2,
            )
    axes.set_xlim(-0.15, 5.3)
    axes.set_ylim(-0.35, max(node.y for node in nodes) + 0.4)
    return picture


FIGURES = [
    Figure("figure_single_head", single_head_data, draw_flow),
    Figure("figure_multi_head", multi_head_data, draw_flow),
]
