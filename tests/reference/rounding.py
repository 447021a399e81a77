"""Compare `round_to` with brute force at 2000 bits.

    python -m tests.reference.rounding --seed 1 --outputs 20000

For each format: random outputs, and constructed ones: two groups of equal scores whose means
are the midpoint of two neighbours of the format, values that cancel in pairs, ties broken at
2**-200 or by a key whose weight is below 2**-1400, neighbours of zero and of overflow. Also
weights, log-sum-exps and scores. The brute force is the plain mpmath version and a search among
the neighbours in the format, on fractions; it calls a tie what is closer to one than 2**-1900.
The exit status is 1 if anything differs.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections import Counter
from fractions import Fraction

import ml_dtypes
import numpy as np

from attnproofs.reference import attention
from tests.reference import plain
from tests.reference.fuzz import BACKENDS, DTYPES, MODES, data

BITS = 2000
DIGITS = 605
KINDS = (*MODES, "midpoint", "pairs", "broken tie", "far key", "zero", "overflow")


def _words(dtype):
    return np.dtype(f"u{np.dtype(dtype).itemsize}")


def brute(x: Fraction, dtype) -> float:
    """Nearest value of the type, ties to even, found by comparing with its neighbours."""
    info = ml_dtypes.finfo(dtype)
    top = Fraction(float(info.max))
    sign = -1.0 if x < 0 else 1.0
    a = abs(x)
    step = Fraction(float(info.max)) - Fraction(float(np.nextafter(info.max, dtype(0))))
    tie = Fraction(1, 1 << 1900)
    over = float(dtype(np.nan)) if dtype is ml_dtypes.float8_e4m3fn else math.inf
    if a >= top:
        # beyond the largest, whose significand is odd in IEEE formats and even in e4m3fn
        gap = a - (top + step / 2)
        even = float(info.max) if dtype is ml_dtypes.float8_e4m3fn else over
        if abs(gap) <= tie * top:
            return sign * even
        return sign * (over if gap > 0 else float(info.max))
    near = dtype(float(a))
    if not np.isfinite(near):
        near = dtype(float(info.max))
    word = int(np.array(near, dtype).view(_words(dtype)))
    best = None
    for w in (word - 1, word, word + 1):
        if w < 0:
            continue
        y = np.array(w, _words(dtype)).view(dtype)
        if not np.isfinite(y):
            continue
        distance = abs(a - Fraction(float(y)))
        slack = tie * max(a, Fraction(1, 1 << 1100))
        closer = best is None or distance < best[0] - slack
        if closer or (abs(distance - best[0]) <= slack and w % 2 == 0):
            best = distance, w, float(y)
    return sign * best[2]


def neighbours(rng, dtype, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of neighbouring finite numbers of the type, of either sign."""
    top = int(np.array(ml_dtypes.finfo(dtype).max, dtype).view(_words(dtype)))
    low = rng.integers(0, top, count, dtype=np.uint64)
    pair = [np.array(w, dtype=_words(dtype)).view(dtype).astype(np.float64) for w in (low, low + 1)]
    sign = rng.choice([-1.0, 1.0], count)
    return pair[0] * sign, pair[1] * sign


def call(rng, kind: str, dtype, columns: int):
    """Arguments of a call with one query whose outputs are of the given kind."""
    options = {}
    q = np.array([[1.0]])
    if kind in MODES:
        S, E = int(rng.integers(1, 7)), int(rng.integers(1, 4))
        q, k = data(rng, "normal", (1, E), dtype), data(rng, "normal", (S, E), dtype)
        return q, k, data(rng, kind, (S, columns), dtype), options
    a, b = neighbours(rng, dtype, columns)
    if kind == "midpoint":  # two groups of scores, the second repeats or mirrors the first
        k = np.array([0.0, 0.0, 1.0, 1.0]) * rng.standard_normal()
        v = np.stack([a, b, b, a])
        E = int(rng.integers(1, 4))
        q, k = np.ones((1, E)), np.repeat(k[:, None], E, axis=1)
        return q, k, v, options
    if kind == "pairs":
        k = np.repeat(rng.standard_normal(3), 2)[:, None]
        x = data(rng, "normal", (3, columns), np.float64)
        return q, k, np.stack([x, -x], axis=1).reshape(6, columns), options
    if kind == "broken tie":
        shift = rng.choice([-1.0, 1.0])
        return (
            np.array([[2.0**-100]]),
            np.array([[0.0], [shift * 2.0**-100]]),
            np.stack([a, b]),
            options,
        )
    if kind == "far key":  # weight about 2**-1443
        options["scale"] = 1
        c = np.stack([a, b, rng.standard_normal(columns)])
        return q, np.array([[0.0], [0.0], [-1000.0]]), c, options
    if kind == "zero":
        tiny = float(ml_dtypes.finfo(dtype).smallest_subnormal)
        with np.errstate(under="ignore"):
            v = rng.integers(-4, 5, (4, columns)) * (tiny / rng.choice([1, 2, 3]))
        return q, rng.integers(0, 2, (4, 1)).astype(float), v, options
    assert kind == "overflow"
    top = float(ml_dtypes.finfo(dtype).max)
    step = top - float(np.nextafter(ml_dtypes.finfo(dtype).max, dtype(0)))
    if dtype is np.float64:
        v = rng.choice([-top, top, top - step], (4, columns))
    else:
        v = top + step * rng.choice([0.0, 0.5, 1.0, -1.0, 0.25], (4, columns))
        v *= rng.choice([-1.0, 1.0], columns)
    return q, rng.integers(0, 2, (4, 1)).astype(float), v, options


def check(seed: int, kind: str, name: str, columns: int) -> tuple[list[str], Counter]:
    """Differences of one call, as text, and the numbers of values compared."""
    rng = np.random.default_rng(seed)
    dtype = DTYPES[name]
    q, k, v, options = call(rng, kind, dtype, columns)
    exact = [np.asarray(x).astype(np.float64) for x in (q, k, v)]
    expected = plain.attention(*exact, **options, digits=DIGITS)
    backend = BACKENDS[seed % len(BACKENDS)]
    r = attention(q, k, v, **options, backend=backend, precision=int(rng.choice([60, 128, 167])))
    column = [Fraction(x) for x in np.abs(exact[2]).max(axis=0).tolist()]
    wrong: list[str] = []
    count: Counter = Counter()
    for part, values in zip(("output", "weights", "lse", "scores"), expected):
        got = getattr(r, part).round_to(name).astype(np.float64).ravel()
        for n, x in enumerate(values.ravel()):
            y = plain.exact(x) if x == 0 or x._mpf_[2] > -50_000 else Fraction(0)
            if part == "output" and abs(y) < column[n] / (1 << 1900):
                y = Fraction(0)  # values that cancel, up to the error of the brute force
            want = brute(y, dtype)
            same = want == got[n] or (math.isnan(want) and math.isnan(got[n]))
            count[part] += 1
            if not same:
                wrong.append(f"seed {seed} {kind} {name} {part}[{n}]: {got[n]!r}, brute {want!r}")
    return wrong, count


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--outputs", type=int, default=1000, help="for each format")
    args = parser.parse_args()
    start, bad, counts, others = time.time(), 0, Counter(), 0
    for name in DTYPES:
        n = 0
        while counts[name] < args.outputs:
            kind = KINDS[n % len(KINDS)]
            wrong, count = check(args.seed * 1_000_003 + n, kind, name, 40)
            counts[name] += count["output"]
            counts[f"  {name}, {kind}"] += count["output"]
            others += count.total() - count["output"]
            bad += len(wrong)
            for line in wrong:
                print(line, flush=True)
            n += 1
        print(
            f"{name}: {counts[name]} outputs, {bad} wrong so far, {time.time() - start:.0f} s",
            flush=True,
        )
    print(f"and {others} weights, log-sum-exps and scores")
    for key, count in counts.items():
        print(f"{key:28} {count}")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
