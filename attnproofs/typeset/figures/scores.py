"""Figures on the spread of scores: variance, saturation, and the gradient that dies with it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnproofs.experiments.expectations import mean_entropy
from attnproofs.experiments.runs import draws, entropy, softmax
from attnproofs.typeset.figures import Figure, style

Array = NDArray[np.float64]

SEED = 20170612
PAIRS = 4096
KEYS = 100


@dataclass(frozen=True)
class VarianceData:
    """Measured second moments of ``q·k`` (mean 0), with the standard error that theory gives."""

    d_k: list[int]
    raw: Array
    scaled: Array
    relative_error: Array


def variance_data() -> VarianceData:
    """Measure `PAIRS` independent pairs for d_k = 1, 2, 4, ..., 1024.

    For standard Gaussian components ``E s⁴ = 3d² + 6d``, so the mean of `N` squares has the
    relative standard error ``sqrt((2 + 6/d)/N)``.
    """
    sizes = [2**e for e in range(11)]
    generator = np.random.default_rng(SEED)
    raw = []
    for d in sizes:
        q, k = generator.standard_normal((2, PAIRS, d))
        raw.append(float(((q * k).sum(axis=1) ** 2).mean()))
    d_k = np.array(sizes, dtype=np.float64)
    return VarianceData(sizes, np.array(raw), np.array(raw) / d_k, np.sqrt((2 + 6 / d_k) / PAIRS))


def draw_variance(data: VarianceData) -> Any:
    """Draw theory as lines and measurements as points with two standard errors."""
    picture = style.figure(5.2, 3.2)
    axes = picture.subplots()
    d_k = np.array(data.d_k, dtype=np.float64)
    names = [r"$q\cdot k$", r"$q\cdot k/\sqrt{d_k}$"]
    for (colour, marker, line), values, theory, name in zip(
        style.SERIES, [data.raw, data.scaled], [d_k, np.ones_like(d_k)], names, strict=False
    ):
        axes.plot(d_k, theory, line, color=colour, label=f"{name}, theory")
        axes.errorbar(
            d_k,
            values,
            yerr=2 * data.relative_error * values,
            fmt=marker,
            color=colour,
            markerfacecolor="white",
            elinewidth=0.8,
            capsize=2,
            label=f"{name}, measured",
        )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_xticks(d_k, [str(d) for d in data.d_k])
    ticks = [2**e for e in range(0, 11, 2)]
    axes.set_yticks(ticks, [str(t) for t in ticks])
    axes.minorticks_off()
    axes.set_xlabel(r"dimension of queries and keys, $d_k$")
    axes.set_ylabel("variance")
    axes.legend(loc="upper left")
    return picture


@dataclass(frozen=True)
class SaturationData:
    """Entropy and largest weight against the factor on the scores."""

    d_k: list[int]
    scale: Array
    predicted_entropy: dict[int, Array]
    measured_scale: Array
    measured_entropy: dict[int, Array]
    entropy_error: dict[int, Array]
    largest_weight: dict[int, Array]
    bound: dict[int, Array]


def saturation_data() -> SaturationData:
    """Compute both panels; the bound ``p_max >= 1 - (n-1) e^{-βΔ}`` is averaged over the rows."""
    sizes = [16, 64, 256, 1024]
    fine = 2.0 ** np.arange(-7, 0.01, 0.5)
    coarse = 2.0 ** np.arange(-7, 0.01, 1.0)
    entropies: dict[int, Array] = {}
    errors: dict[int, Array] = {}
    largest: dict[int, Array] = {}
    bound: dict[int, Array] = {}
    for d in sizes:
        rows = [q[:1] @ k.T for q, k in draws(SEED + d, KEYS, d, 400)]  # independent rows
        scores = np.concatenate(rows)
        ordered = np.sort(scores, axis=1)
        gap = ordered[:, -1:] - ordered[:, -2:-1]
        each = np.stack([entropy(softmax(b * scores)) for b in coarse])
        entropies[d] = each.mean(axis=1)
        errors[d] = each.std(axis=1, ddof=1) / math.sqrt(len(scores))
        largest[d] = np.array([softmax(b * scores).max(axis=1).mean() for b in fine])
        floor = np.maximum(1 / KEYS, 1 - (KEYS - 1) * np.exp(-gap * fine))
        bound[d] = floor.mean(axis=0)
    predicted = {d: np.array([mean_entropy(KEYS, d, float(b)) for b in fine]) for d in sizes}
    return SaturationData(sizes, fine, predicted, coarse, entropies, errors, largest, bound)


def draw_saturation(data: SaturationData) -> Any:
    """Draw entropy (left) and largest weight with its bound (right)."""
    picture = style.figure(6.3, 3.2)
    left, right = picture.subplots(1, 2)
    for (colour, marker, _), d in zip(style.SERIES, data.d_k, strict=True):
        left.plot(data.scale, data.predicted_entropy[d], "-", color=colour, linewidth=1)
        left.plot(
            data.measured_scale,
            data.measured_entropy[d],
            marker,
            color=colour,
            markerfacecolor="white",
            label=f"$d_k={d}$",
        )
        right.plot(
            data.scale, data.largest_weight[d], "-", color=colour, marker=marker, markersize=3
        )
        right.plot(data.scale, data.bound[d], ":", color=colour, linewidth=1.1)
        place = 1 / math.sqrt(d)
        height = float(np.interp(math.log(place), np.log(data.scale), data.predicted_entropy[d]))
        left.plot([place], [height], "*", color=colour, markersize=10, zorder=5)
    left.axhline(math.log(KEYS), color=style.MUTED, linewidth=0.7)
    left.text(1, math.log(KEYS) + 0.06, r"$\ln 100$", ha="right", va="bottom", fontsize=8)
    left.set_ylim(0, 5.1)
    left.set_ylabel("mean entropy of the weights (nats)")
    left.legend(loc="lower left", title="100 keys")
    right.set_ylim(0, 1.2)  # the legend needs the room above 1
    right.set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1])
    right.set_ylabel("mean largest weight")
    right.plot([], [], "-", color=style.MUTED, label="measured")
    right.plot([], [], ":", color=style.MUTED, label=r"bound $\max(1/n,\,1-(n-1)e^{-\beta\Delta})$")
    right.legend(loc="upper left")
    for axes in (left, right):
        axes.set_xscale("log", base=2)
        ticks = [2.0**e for e in range(-7, 1)]
        axes.set_xticks(ticks, [rf"$2^{{{e}}}$" for e in range(-7, 1)])
        axes.minorticks_off()
        axes.set_xlabel(r"factor $\beta$ on the scores $q\cdot k$")
    return picture


@dataclass(frozen=True)
class JacobianData:
    """Absolute row sums of the softmax Jacobian, measured by central differences."""

    p: Array
    row_sum: Array


def jacobian_data() -> JacobianData:
    """Differentiate random softmax rows numerically; `p` is the weight of the row's key."""
    generator = np.random.default_rng(SEED)
    weights: list[float] = []
    sums: list[float] = []
    step = 1e-5
    for spread in np.geomspace(0.3, 8, 12):
        scores = spread * generator.standard_normal(6)
        moved = scores + step * np.concatenate([np.eye(6), -np.eye(6)])
        p = softmax(moved)
        jacobian = (p[:6] - p[6:]).T / (2 * step)  # [i, j]: dp_i / ds_j
        weights.extend(softmax(scores))
        sums.extend(np.abs(jacobian).sum(axis=1))
    return JacobianData(np.array(weights), np.array(sums))


def draw_jacobian(data: JacobianData) -> Any:
    """Draw ``2p(1-p)``, its maximum, and the measured sums."""
    picture = style.figure(5.2, 3.0)
    axes = picture.subplots()
    p = np.linspace(0, 1, 201)
    axes.plot(p, 2 * p * (1 - p), "-", color=style.BLUE, label=r"theory, $2p_i(1-p_i)$")
    axes.axhline(0.5, color=style.MUTED, linestyle="--", linewidth=0.9)
    axes.text(0.0, 0.505, r"largest possible, $\frac{1}{2}$", va="bottom", fontsize=8.5)
    axes.plot(
        data.p,
        data.row_sum,
        "o",
        color=style.INK,
        markerfacecolor="white",
        markersize=4,
        label="central differences, 6 keys",
    )
    axes.set_ylim(0, 0.58)
    axes.set_xlabel(r"weight $p_i$")
    axes.set_ylabel(r"$\sum_j\,|\partial p_i/\partial s_j|$")
    axes.legend(loc="lower center")
    return picture


FIGURES = [
    Figure("figure_qk_variance", variance_data, draw_variance),
    Figure("figure_saturation", saturation_data, draw_saturation),
    Figure("figure_jacobian", jacobian_data, draw_jacobian),
]
