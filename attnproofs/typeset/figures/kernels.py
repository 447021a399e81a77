"""Figure of rounding errors against the derived allowance, for right kernels and a faulty one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnproofs.reference import bounds
from attnproofs.reference.emulate import emulate, round_array
from attnproofs.typeset.figures import Figure, style

SEED = 20170612
QUERIES, D_K, D_V = 8, 32, 16
LENGTHS = (16, 64, 256, 1024, 4096)
# label -> precision model, format of the inputs, factor on the scale (1 is right)
KERNELS = {
    "float32": ("float32", "float32", 1.0),
    "bfloat16, float32 sums": ("fa2-bf16", "bfloat16", 1.0),
    r"float32, scale $1/\sqrt{d_k+1}$": ("float32", "float32", math.sqrt(D_K / (D_K + 1))),
}


@dataclass(frozen=True)
class ErrorData:
    """Largest and median share of the allowance that the error takes, by kernel and length."""

    lengths: tuple[int, ...]
    largest: dict[str, list[float]]
    median: dict[str, list[float]]
    verdicts: dict[str, list[str]]


def error_data() -> ErrorData:
    """Run each kernel on Gaussian inputs and judge it by the bound."""
    largest: dict[str, list[float]] = {}
    median: dict[str, list[float]] = {}
    verdicts: dict[str, list[str]] = {}
    for name, (model, fmt, factor) in KERNELS.items():
        largest[name], median[name], verdicts[name] = [], [], []
        for length in LENGTHS:
            generator = np.random.default_rng(SEED + length)
            q = _rounded(generator.standard_normal((QUERIES, D_K)), fmt)
            k = _rounded(generator.standard_normal((length, D_K)), fmt)
            v = _rounded(generator.standard_normal((length, D_V)), fmt)
            out = emulate(q, k, v, model=model, scale=factor / math.sqrt(D_K))
            found = bounds.judge(q, k, v, out, model=model)
            ratio = np.asarray(found.ratio, dtype=np.float64)
            largest[name].append(float(ratio.max()))
            median[name].append(float(np.median(ratio)))
            verdicts[name].append(found.verdict)
    return ErrorData(LENGTHS, largest, median, verdicts)


def _rounded(x: NDArray[np.float64], fmt: str) -> NDArray[np.float64]:
    return np.asarray(round_array(x, fmt), dtype=np.float64)


def draw_errors(data: ErrorData) -> Any:
    """Draw the largest (solid) and the median (dotted) share against length."""
    picture = style.figure(5.2, 3.8)
    axes = picture.subplots()
    for (colour, marker, _), name in zip(style.SERIES, data.largest, strict=False):
        axes.plot(data.lengths, data.largest[name], "-", color=colour, marker=marker, label=name)
        axes.plot(data.lengths, data.median[name], ":", color=colour, linewidth=1)
    axes.axhline(1, color=style.MUTED, linewidth=1)
    axes.text(
        LENGTHS[0], 1.25, "allowance: above it, no program of the class", fontsize=8.5, va="bottom"
    )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(data.lengths, [str(n) for n in data.lengths])
    axes.minorticks_off()
    axes.set_xlabel("number of keys")
    axes.set_ylabel("error / allowance")
    axes.plot([], [], ":", color=style.MUTED, label="median")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return picture


FIGURES = [Figure("figure_error_allowance", error_data, draw_errors)]
