"""Figures on computing attention piece by piece: tiles with a running rescale, and the KV cache."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnproofs.typeset.figures import Figure, style

Array = NDArray[np.float64]

SCORES = (0.6, 1.4, -0.5, 1.0, 2.2, 0.3, 1.6, -0.2, 0.9, 3.0, 1.2, 2.1)
TILE = 3
STEPS, NOW = 7, 5


@dataclass(frozen=True)
class TileData:
    """The running state after each tile: maximum, factor on the old sum, both parts of the sum."""

    scores: Array
    maximum: list[float]
    factor: list[float]
    carried: list[float]
    added: list[float]


def tile_data() -> TileData:
    """Run the online softmax over `SCORES` in tiles of `TILE`."""
    scores = np.array(SCORES)
    state = TileData(scores, [], [], [], [])
    running, total = -math.inf, 0.0
    for start in range(0, len(scores), TILE):
        tile = scores[start : start + TILE]
        new = max(running, float(tile.max()))
        factor = math.exp(running - new)
        carried = total * factor
        added = float(np.exp(tile - new).sum())
        state.maximum.append(new)
        state.factor.append(factor)
        state.carried.append(carried)
        state.added.append(added)
        running, total = new, carried + added
    return state


def draw_tiles(data: TileData) -> Any:
    """Draw the scores with the running maximum, and the running sum with its rescaled part."""
    picture = style.figure(5.6, 3.9)
    top, bottom = picture.subplots(2, 1, sharex=True, height_ratios=[1.1, 1])
    count = len(data.scores)
    for tile in range(count // TILE):
        if tile % 2:
            for axes in (top, bottom):
                axes.axvspan(tile * TILE - 0.5, (tile + 1) * TILE - 0.5, color="#f1f3f5", zorder=0)
    top.bar(range(count), data.scores, color=style.SKY, width=0.7, zorder=2)
    edges = [tile * TILE - 0.5 for tile in range(count // TILE + 1)]
    top.stairs(data.maximum, edges, baseline=None, color=style.RED, linewidth=1.6, zorder=3)
    for tile, value in enumerate(data.maximum):
        top.text(
            tile * TILE - 0.4,
            value + 0.08,
            f"$m_{tile + 1}={value:g}$",
            color=style.RED,
            fontsize=9,
        )
    top.set_ylabel("scores $s_j$")
    top.set_ylim(-0.8, 3.7)
    centres = [tile * TILE + 1 for tile in range(count // TILE)]
    bottom.bar(
        centres,
        data.carried,
        width=1.3,
        color="white",
        edgecolor=style.INK,
        hatch="////",
        zorder=2,
        label=r"old sum, rescaled by $e^{m_{k-1}-m_k}$",
    )
    bottom.bar(
        centres,
        data.added,
        bottom=data.carried,
        width=1.3,
        color=style.BLUE,
        zorder=2,
        label="sum over the new tile",
    )
    for tile, centre in enumerate(centres):
        total = data.carried[tile] + data.added[tile]
        text = rf"$\ell_{tile + 1}={total:.3f}$"
        if tile:
            text += "\n" + rf"factor ${data.factor[tile]:.3f}$"
        bottom.text(centre, total + 0.06, text, ha="center", va="bottom", fontsize=8.5)
    bottom.set_ylim(0, 5.3)
    bottom.set_ylabel(r"running sum $\ell_k$")
    bottom.set_xticks(range(count), [str(j + 1) for j in range(count)])
    bottom.set_xlabel("key $j$, in tiles of three")
    bottom.legend(loc="upper left", ncols=2)
    for axes in (top, bottom):
        axes.grid(axis="x", visible=False)
    return picture


@dataclass(frozen=True)
class CacheData:
    """Which scores step `now` computes: 0 never, 1 in an earlier step, 2 in this step."""

    steps: int
    now: int
    state: NDArray[np.int64]


def cache_data() -> CacheData:
    """Return the causal grid of `STEPS` tokens during step `NOW`."""
    i, j = np.indices((STEPS, STEPS))
    state = np.where(j > i, 0, np.where(i + 1 < NOW, 1, np.where(i + 1 == NOW, 2, -1)))
    return CacheData(STEPS, NOW, state)


def draw_cache(data: CacheData) -> Any:
    """Draw the cached keys and values (left) and the scores row by row (right)."""
    from matplotlib.patches import Rectangle

    picture = style.figure(5.8, 2.7)
    left, right = picture.subplots(1, 2, width_ratios=[1.25, 1])
    faces = {0: "white", 1: style.FAINT, 2: style.BLUE, -1: "white"}
    style.blank(right)
    size = data.steps
    for i in range(size):
        for j in range(size):
            state = int(data.state[i, j])
            right.add_patch(
                Rectangle(
                    (j, size - 1 - i),
                    1,
                    1,
                    facecolor=faces[state],
                    edgecolor="white" if state > 0 else style.FAINT,
                    linewidth=0.8,
                    hatch="////" if state == 0 else None,
                )
            )
    right.set_xlim(-0.6, size + 3.6)
    right.set_ylim(-0.4, size + 0.9)
    right.text(size / 2, size + 0.1, "keys", ha="center", va="bottom", fontsize=8.5)
    right.text(-0.15, size / 2, "queries", ha="right", va="center", rotation=90, fontsize=8.5)
    row = size - data.now + 0.5
    right.text(size + 0.2, row, f"step {data.now}: {data.now} scores", va="center", fontsize=8.5)
    right.text(size + 0.2, size - 1.5, "earlier steps", va="center", fontsize=8.5)
    right.text(size + 0.2, 1.0, "later steps", va="center", fontsize=8.5)

    style.blank(left)
    for offset, name, width in ((0.0, "$K$ cache", 3), (5.2, "$V$ cache", 2)):
        for i in range(size):
            fill = style.FAINT if i + 1 < data.now else (style.BLUE if i + 1 == data.now else None)
            left.add_patch(
                Rectangle(
                    (offset, size - 1 - i),
                    width,
                    1,
                    facecolor=fill or "white",
                    edgecolor=style.FAINT if fill is None else "white",
                    linestyle=":" if fill is None else "-",
                )
            )
        left.text(offset + width / 2, size + 0.1, name, ha="center", va="bottom", fontsize=8.5)
    left.text(3.2, row, f"$k_{data.now}$", va="center")
    left.text(7.4, row, f"$v_{data.now}$ appended", va="center")
    left.text(7.4, size - 1.5, "kept", va="center", fontsize=8.5)
    left.set_xlim(-0.3, 10.5)
    left.set_ylim(-0.4, size + 0.9)
    return picture


FIGURES = [
    Figure("figure_tiles", tile_data, draw_tiles),
    Figure("figure_kv_cache", cache_data, draw_cache),
]
