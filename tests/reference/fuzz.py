"""Fuzz the enclosures against the plain mpmath version.

    python -m tests.reference.fuzz --seed 1 --cases 100000

Each case is one call: random sizes, formats, data modes, masks and options, on every backend that
is installed. It counts outputs, weights, log-sum-exps and scores whose ball misses the 200-digit
value, and radii larger than the precision asked for promises. Both counts must be 0; the exit
status says so. A case is reproduced by its own seed, which is printed with every miss.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from fractions import Fraction
from importlib.util import find_spec

import ml_dtypes
import numpy as np

from attnproofs.reference import attention, gradients
from tests.reference import plain

BACKENDS = ("python", "flint") if find_spec("flint") else ("python",)
DTYPES = {
    "float64": np.float64,
    "float32": np.float32,
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "e4m3fn": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
}
FREE = ("lse", "scores")  # precise relative to their own size where that is above 1
MODES = ("normal", "huge", "tiny", "tied", "cancelling", "offset", "subnormal", "bits")


def size(rng, small: bool) -> int:
    """A length: mostly small, up to 64."""
    if small or rng.random() < 0.8:
        return int(rng.integers(1, 5))
    return int(rng.integers(1, 65))


def data(rng, mode: str, shape, dtype) -> np.ndarray:
    """Numbers of one mode, as the type holds them."""
    x = rng.standard_normal(shape)
    info = ml_dtypes.finfo(dtype)
    top = float(info.max)
    if mode == "huge":
        x *= 10.0 ** rng.uniform(0, 0.45 * np.log10(top))
    elif mode == "tiny":
        x *= float(info.smallest_normal) ** rng.uniform(0.3, 1.0)
    elif mode == "tied":
        x = rng.integers(-1, 2, shape).astype(np.float64)
    elif mode == "cancelling":
        x = np.round(x)
        x = np.where(rng.random(shape) < 0.5, x, -np.flip(x))
        x += rng.integers(-1, 2, shape) * np.spacing(np.abs(x) + 1)
    elif mode == "offset":
        x += rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(0, min(4.0, np.log10(top) - 0.5))
    elif mode == "subnormal":
        x = rng.integers(-9, 10, shape) * float(info.smallest_subnormal)
    elif mode == "bits":
        words = f"u{np.dtype(dtype).itemsize}"
        x = rng.integers(0, np.iinfo(words).max, shape, dtype=words, endpoint=True).view(dtype)
        with np.errstate(invalid="ignore"):
            x = x.astype(np.float64)
        x = np.where(np.isfinite(x), x, 1.0)
    x = np.clip(x, -top, top)
    return x.astype(dtype)


def case(seed: int, tiny: bool = False) -> tuple[tuple, dict, Counter]:
    """Arguments of one call, and what kind of case it is."""
    rng = np.random.default_rng(seed)
    kinds: Counter = Counter()
    large = rng.random() < 0.05
    L, S, E, Ev = (size(rng, not large) for _ in range(4))
    batch = [(), (), (1,), (2,), (2, 1)][rng.integers(5)]
    Hkv = int(rng.integers(1, 3))
    Hq = Hkv * int(rng.integers(1, 3))
    if large or rng.random() < 0.6:
        batch, Hkv, Hq = (), 1, 1
    S = int(rng.integers(5, 65)) if rng.random() < 0.15 else S
    while L * S * E * Hq > 3000:  # a rest of the large cases, since mpmath is slow
        if rng.random() < 0.02:
            break
        L, S, E = (max(1, n // 2) if rng.random() < 0.5 else n for n in (L, S, E))
    if tiny:
        L, S, E, Ev = (min(n, 3) for n in (L, S, E, Ev))
    two = not batch and Hq == 1 and rng.random() < 0.5
    parts = []
    for shape in ((Hq, L, E), (Hkv, S, E), (Hkv, S, Ev)):
        mode = MODES[rng.integers(len(MODES))]
        name = list(DTYPES)[rng.integers(len(DTYPES))]
        kinds[mode] += 1
        kinds[name] += 1
        own = batch if rng.random() < 0.8 else (1,) * len(batch)
        x = data(rng, mode, (*own, *shape), DTYPES[name])
        parts.append(x[0] if two else x)
    options: dict = {}
    batch = np.broadcast_shapes(*(x.shape[:-3] for x in parts))
    full = (L, S) if two else (*batch, Hq, L, S)
    kind = ("none", "none", "bool", "additive", "additive")[rng.integers(5)]
    kinds[f"mask:{kind}"] += 1
    if kind != "none":
        shape = [n if rng.random() < 0.7 else 1 for n in full][rng.integers(len(full) + 1) :]
        keep = rng.random(shape) < rng.choice([0.3, 0.7, 1.0])
        if kind == "bool":
            options["attn_mask"] = keep
        else:
            bias = data(rng, MODES[rng.integers(len(MODES))], shape, np.float64)
            dtype = (np.float64, np.float32, np.float16)[rng.integers(3)]
            with np.errstate(over="ignore"):
                bias = np.asarray(bias, dtype)
            bias = np.where(np.isfinite(bias), bias, dtype(1))
            bias = np.where(keep, bias, dtype(-np.inf))
            options["attn_mask"] = bias
    if rng.random() < 0.3:
        options["is_causal"] = True
        kinds["causal"] += 1
    if rng.random() < 0.3:
        options["causal_offset"] = int(rng.integers(-3, 4))
    if rng.random() < 0.15:
        options["window"] = tuple(
            None if rng.random() < 0.3 else int(w) for w in rng.integers(0, 4, 2)
        )
        kinds["window"] += 1
    choice = rng.integers(6)
    if choice == 1:
        options["scale"] = float(rng.standard_normal())
    elif choice == 2:
        scales = (
            0,
            1,
            -1,
            0.125,
            Fraction(1, 3),
            1e-300,
            1e12,
            np.float32(0.1),
            Fraction(-(10**9), 7),
        )
        options["scale"] = scales[rng.integers(len(scales))]
    if rng.random() < 0.15:
        options["softcap"] = float(10.0 ** rng.uniform(-2, 3))
        kinds["softcap"] += 1
    if rng.random() < 0.15:
        options["sinks"] = rng.standard_normal(Hq) * 10.0 ** rng.uniform(-2, 2)
        kinds["sinks"] += 1
    if rng.random() < 0.15:
        options["alibi_slopes"] = 2.0 ** -rng.uniform(0, 8, Hq)
        kinds["alibi"] += 1
    return tuple(parts), options, kinds


def within(man: int, exp: int, *sizes: tuple[int, int]) -> bool:
    """Whether ``man * 2**exp`` is at most the largest of ``m * 2**e``, exactly."""
    low = min(exp, *(e for _, e in sizes))
    return man << (exp - low) <= max(abs(m) << (e - low) for m, e in sizes)


def dyadic(x: float) -> tuple[int, int]:
    """Integer and exponent of a float."""
    num, den = x.as_integer_ratio()
    return num, 1 - den.bit_length()


def largest_kept(v: np.ndarray, keep: np.ndarray) -> np.ndarray:
    """Largest magnitude of a kept value, for each row and column of the output."""
    if v.ndim == 2:
        v, keep = v[None], keep[None]
    group = keep.shape[-3] // v.shape[-3]
    v = np.abs(np.repeat(v, group, axis=-3))[..., None, :, :]
    out = np.where(keep[..., None], v, 0.0).max(axis=-2, initial=0.0)
    return out


def check(seed: int) -> tuple[list[str], Counter]:
    """Misses of one case, as text, and counts of what was looked at."""
    parts, options, kinds = case(seed)
    rng = np.random.default_rng([seed, 1])
    bits = int(rng.integers(20, 300))
    exact = [np.asarray(x).astype(np.float64) for x in parts]
    expected = plain.attention(*exact, **options)
    keep = expected[4]
    top = largest_kept(exact[2], keep)
    vmax = float(top.max(initial=0.0))
    misses = []
    for backend in BACKENDS:
        r = attention(*parts, **options, precision=bits, backend=backend)
        if not np.array_equal(r.keep, keep):
            misses.append(f"seed {seed} {backend}: kept pairs differ")
        for name, values in zip(("output", "weights", "lse", "scores"), expected):
            enclosure = getattr(r, name)
            found = plain.inside(enclosure, values, vmax if name == "output" else 1)
            kinds[f"{name} ({backend})"] += found.size
            if not found.all():
                misses.append(
                    f"seed {seed} {backend}: {name} missed {(~found).sum()} of {found.size}"
                )
            sizes = top.ravel().tolist() if name == "output" else [1.0] * found.size
            promised = all(
                within(r, e + bits, dyadic(size), *([(m, e)] if name in FREE else []))
                for (m, r, e), size in zip(enclosure.balls, sizes)
            )
            if not promised:
                misses.append(f"seed {seed} {backend}: {name} has a radius beyond {bits} bits")
    return misses, kinds


def check_gradients(seed: int) -> tuple[list[str], Counter]:
    """The same for `gradients`, against differences of the plain version at 600 digits."""
    parts, options, kinds = case(seed, tiny=True)
    rng = np.random.default_rng([seed, 2])
    exact = [np.asarray(x).astype(np.float64) for x in parts]
    r = attention(*parts, **options)
    g = data(rng, MODES[rng.integers(len(MODES))], r.output.shape, np.float64)
    sizes = [float(np.abs(x).max(initial=1.0)) for x in (*exact, g)]
    bias = options.get("attn_mask", np.zeros(1))
    additive = bias.dtype != np.bool_
    if additive:
        sizes.append(float(np.abs(np.where(np.isfinite(bias), bias, 0.0)).max(initial=1.0)))
    if max(sizes) > 1e30:  # beyond what differences of this step resolve
        return [], Counter({"gradients left out: too large": 1})
    slack = Fraction(float(np.prod(sizes))) ** 2 / 10**150
    bits = int(rng.integers(20, 300))
    found = gradients(*parts, g, **options, precision=bits)
    names = {"q": "dq", "k": "dk", "v": "dv"}
    if "attn_mask" in options and additive:
        names["attn_mask"] = "dbias"
    if "sinks" in options:
        names["sinks"] = "dsinks"
    misses = []
    for name, result in names.items():
        expected = plain.gradient(exact, options, g, name)
        enclosure = getattr(found, result)
        low, high = enclosure.lower.ravel(), enclosure.upper.ravel()
        values = [plain.exact(x) for x in expected.ravel()]
        kinds[result] += len(values)
        missed = sum(not a - slack <= x <= b + slack for x, a, b in zip(values, low, high))
        if missed or enclosure.shape != expected.shape:
            misses.append(f"seed {seed}: {result} missed {missed} of {len(values)}")
        widest = max((b - a for a, b in zip(low, high)), default=0)
        if widest > 2 * Fraction(float(np.prod(sizes))) * expected.size * 1000 / (1 << bits):
            misses.append(f"seed {seed}: {result} has a radius beyond {bits} bits")
    return misses, kinds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--gradients", action="store_true", help="fuzz `gradients` instead")
    args = parser.parse_args()
    one = check_gradients if args.gradients else check
    start, totals, misses = time.time(), Counter(), 0
    for n in range(args.cases):
        found, kinds = one(args.seed * 1_000_003 + n)
        totals += kinds
        misses += len(found)
        for line in found:
            print(line, flush=True)
        if n % 10_000 == 9_999:
            print(f"{n + 1} cases, {misses} misses, {time.time() - start:.0f} s", flush=True)
    print(f"seed {args.seed}: {args.cases} cases, {misses} misses, {time.time() - start:.0f} s")
    for kind, count in sorted(totals.items()):
        print(f"  {kind:24} {count}")
    return misses > 0


if __name__ == "__main__":
    sys.exit(main())
