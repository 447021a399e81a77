"""How many seeded defects each acceptance rule finds, and how often it blames a correct kernel.

    python -m tests.reference.bound_power --seeds 8

A tiled kernel is run in float32 arithmetic (NumPy), with weights and output rounded as the model
says; each defect changes one thing in it. Three rules judge it: the bound of
`attnproofs.reference.bounds`; FlashAttention's rule, a largest error of at most twice that of a
plain implementation in the same precision, both measured against a float32 (here float64) result
cast to the output format; and ``rtol = atol = 1e-2`` against the same.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from typing import Any

import numpy as np

from attnproofs.reference.bounds import PrecisionModel, allowance, model
from attnproofs.reference.emulate import round_array

TILE = 64
ROWS, WIDTH = 16, 64

#: model, number of keys, inputs
SETTINGS = (
    ("fa2-bf16", 256, "normal"),
    ("fa2-bf16", 1000, "peaky"),
    ("fa2-bf16", 256, "spikes"),
    ("fa2-fp16", 256, "normal"),
    ("fa2-fp16", 1000, "spikes"),
    ("float32, tiles of 64", 1000, "peaky"),
    ("unfused-bf16", 256, "peaky"),
)


def declare(name: str) -> PrecisionModel:
    """Model of a setting."""
    if name.startswith("float32"):
        return model("textbook(float32)", name=name, tile=TILE)
    return model(name)


def inputs(
    rng: np.random.Generator, keys: int, kind: str, fmt: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Normal numbers; ``peaky``: scores four times as large, so that few keys carry a row;
    ``spikes``: values 32 times as large at the borders of tiles and at the end.
    """
    q, k, v = (rng.standard_normal((n, WIDTH)) for n in (ROWS, keys, keys))
    if kind == "peaky":
        q = q * 4
    if kind == "spikes":
        border = [j for j in range(keys) if j % TILE in (0, TILE - 1) or j >= keys - ROWS - 1]
        v[border] *= 32
    q, k, v = (round_array(x, fmt) for x in (q, k, v))
    return q, k, v


DEFECTS = {
    "scale off by 1 %": "the factor of the scores is 1.01 / sqrt(E)",
    "one key dropped": "the last key takes no part",
    "one key counted twice": "a border key belongs to two tiles",
    "mask off by one": "each query misses the newest key that it may see",
    "one tile not rescaled": "the output, not the sum, keeps its old factor once",
    "stale value tile": "the second tile multiplies the first tile's values",
    "padding in the sum": "a key of score 0 beyond the end adds to the denominator",
    "weights too narrow": "weights are stored with 3 bits fewer than declared",
    "scores too narrow": "scores are rounded to bfloat16 (unfused: to e4m3fn)",
    "narrow accumulator": "the output is carried from tile to tile in bfloat16",
    "poor exp": "exp by a cubic polynomial on each octave, 1e-4 relative",
}

RULES = ("bound", "twice the baseline", "1e-2")


def cubic_exp(x: np.ndarray) -> np.ndarray:
    """``exp`` as 2 to a whole power times a cubic fitted on [0, 1)."""
    y = np.maximum(np.float32(x * np.float32(1.4426950408889634)), np.float32(-200))
    whole = np.floor(y)
    part = y - whole
    cubic = np.float32(0.99992807) + part * (
        np.float32(0.69326099) + part * (np.float32(0.22638345) + part * np.float32(0.07944153))
    )
    return np.ldexp(cubic, whole.astype(int)).astype(np.float32)


def kernel(q: Any, k: Any, v: Any, *, keep: Any, name: str, defect: str | None) -> np.ndarray:
    """One head in float32, with the declared narrow formats; at most one defect."""
    declared = declare(name)
    q, k, v = (np.float32(x) for x in (q, k, v))
    scale = np.float32((1.01 if defect == "scale off by 1 %" else 1.0) / np.sqrt(WIDTH))
    keep = keep.copy()
    if defect == "one key dropped":
        keep[:, -1] = False
    if defect == "mask off by one":
        last = keep.shape[1] - 1 - np.argmax(keep[:, ::-1], 1)
        keep[np.arange(len(keep)), last] = False
    exp = cubic_exp if defect == "poor exp" else np.exp
    store = declared.weights_stored

    def weights(w: np.ndarray) -> np.ndarray:
        fmt = store
        if defect == "weights too narrow":
            return narrow(w, (8 if store == "bfloat16" else 11 if store == "float16" else 24) - 3)
        return w if fmt is None else np.float32(round_array(w, fmt))

    def scores(s: np.ndarray) -> np.ndarray:
        fmt = declared.scores_stored
        if defect == "scores too narrow":
            fmt = "bfloat16" if fmt is None else "e4m3fn"
        return s if fmt is None else np.float32(round_array(s, fmt))

    if declared.scores_stored is not None:
        return unfused(
            scores(scores(q @ k.T) * scale),
            v,
            keep=keep,
            exp=exp,
            weights=weights,
            defect=defect,
            output=declared.output,
        )
    top = np.full((len(q), 1), -np.inf, np.float32)
    total = np.zeros_like(top)
    out = np.zeros((len(q), v.shape[1]), np.float32)
    for number, start in enumerate(range(0, len(k), TILE)):
        tile = slice(start, start + TILE + (defect == "one key counted twice" and number == 1))
        s = np.where(keep[:, tile], scores(q @ k[tile].T * scale), -np.inf)
        new = np.maximum(top, s.max(-1, keepdims=True))
        e, alpha = exp(s - new), np.where(np.isfinite(top), np.exp(top - new), np.float32(0))
        total = alpha * total + e.sum(-1, keepdims=True)
        if defect == "one tile not rescaled" and number == 2:
            alpha = np.ones_like(alpha)
        part = v[:TILE][: s.shape[1]] if defect == "stale value tile" and number == 1 else v[tile]
        out = alpha * out + weights(e) @ part
        if defect == "narrow accumulator":
            out = np.float32(round_array(out, "bfloat16"))
        top = new
    if defect == "padding in the sum":
        total = total + np.exp(-top)
    return round_array(out / total, declared.output)


def unfused(
    s: Any, v: Any, *, keep: Any, exp: Any, weights: Any, defect: str | None, output: str
) -> np.ndarray:
    """The same with separate operations on the whole row; tiles stand for blocks of keys."""
    s = np.where(keep, s, -np.inf)
    top = s.max(-1, keepdims=True)
    e = exp(s - top)
    total = e.sum(-1, keepdims=True)
    if defect == "padding in the sum":
        total = total + np.exp(-top)
    if defect == "one key counted twice":
        e[:, 2 * TILE] *= 2
        total = e.sum(-1, keepdims=True)
    w = weights(e / total)
    if defect == "one tile not rescaled":  # the first three blocks see an older maximum
        older = s[:, : 2 * TILE].max(-1, keepdims=True)
        w[:, : 2 * TILE] *= np.exp(top - older)
    if defect == "stale value tile":
        v = np.concatenate([v[:TILE], v[:TILE], v[2 * TILE :]])
    if defect != "narrow accumulator":
        return round_array(w @ v, output)
    out = np.zeros((len(s), v.shape[1]), np.float32)
    for start in range(0, len(v), TILE):
        out = np.float32(
            round_array(out + w[:, start : start + TILE] @ v[start : start + TILE], "bfloat16")
        )
    return round_array(out, output)


def narrow(x: np.ndarray, bits: int) -> np.ndarray:
    """Rounded to that many significant bits."""
    step = np.frexp(x)[1] - bits
    return np.float32(np.ldexp(np.rint(np.ldexp(np.float64(x), -step)), step))


def baseline(q: Any, k: Any, v: Any, keep: Any, fmt: str) -> np.ndarray:
    """A plain implementation in the input format, the scale applied to the keys."""

    def cast(x: Any) -> np.ndarray:
        return np.float32(round_array(x, fmt))

    s = np.where(
        keep, cast(np.float32(q) @ cast(np.float32(k) / np.float32(np.sqrt(WIDTH))).T), -np.inf
    )
    e = np.exp(s - s.max(-1, keepdims=True))
    return cast(cast(e / e.sum(-1, keepdims=True)) @ np.float32(v))


Counts = dict[str, Counter[str]]


def study(seeds: int, settings: Any = SETTINGS) -> tuple[Counts, Counts, Counter[str]]:
    """Count rejections: by defect and rule, by setting and rule, and of the correct kernel."""
    by_defect: Counts = {defect: Counter() for defect in DEFECTS}
    by_setting: Counts = {" ".join(map(str, setting)): Counter() for setting in settings}
    false: Counter[str] = Counter()
    for setting in settings:
        name, keys, kind = setting
        declared = declare(name)
        for seed in range(seeds):
            rng = np.random.default_rng([seed, *str(setting).encode()])
            q, k, v = inputs(rng, keys, kind, declared.input)
            keep = np.arange(keys)[None, :] <= np.arange(ROWS)[:, None] + keys - ROWS
            allowed = allowance(q, k, v, model=declared, is_causal=True, causal_offset=keys - ROWS)
            reference = round_array(allowed.exact[0], declared.output)
            limit = 2 * np.abs(baseline(q, k, v, keep, declared.input) - reference).max()
            for defect in (None, *DEFECTS):
                got = kernel(q, k, v, keep=keep, name=name, defect=defect)
                error = np.abs(got - reference)
                verdicts = {
                    "bound": allowed.judge(got).rejected,
                    "twice the baseline": bool(error.max() > limit),
                    "1e-2": bool((error > 1e-2 + 1e-2 * np.abs(reference)).any()),
                }
                rejecting = [rule for rule, rejected in verdicts.items() if rejected]
                if defect is None:
                    false.update(rejecting)
                else:
                    by_defect[defect].update(rejecting)
                    by_setting[" ".join(map(str, setting))].update(rejecting)
    return by_defect, by_setting, false


def main() -> int:
    """Print the table; fail if the bound blames a correct kernel."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=8)
    seeds = parser.parse_args().seeds
    by_defect, by_setting, false = study(seeds)
    runs = seeds * len(SETTINGS)
    print(f"{ROWS} queries, causal, E = {WIDTH}; {len(SETTINGS)} settings x {seeds} seeds")

    def table(first: str, counts: Counts, each: int) -> None:
        print(f"\n| {first} | {' | '.join(RULES)} |\n|---|{'---:|' * len(RULES)}")
        for label, count in counts.items():
            print(f"| {label} | {' | '.join(f'{count[rule]}/{each}' for rule in RULES)} |")

    everything = sum(by_defect.values(), Counter())
    table("defect", by_defect, runs)
    table("setting", by_setting, seeds * len(DEFECTS))
    table("together", {"all defects": everything}, runs * len(DEFECTS))
    table("together", {"correct kernel rejected": false}, runs)
    return 1 if false["bound"] else 0


if __name__ == "__main__":
    sys.exit(main())
