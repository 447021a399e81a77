"""The reference in ball arithmetic: python-flint's `arb` (Johansson, IEEE Trans. Comput. 66, 2017).

The same three steps as the pure-Python core, every one a ball operation, so the radii need no
proof here: dot products at a precision at which those of dyadic numbers are exact, exact
differences from the row's largest, exponentials, products of matrices. Rows go through in
blocks, which bounds the memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from math import frexp, inf
from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx
from numpy.typing import NDArray

from attnproofs.reference.enclosure import Balls
from attnproofs.reference.fixed import max_bits
from attnproofs.reference.inputs import Exact
from attnproofs.reference.problem import Head

_BLOCK = 512  # rows handled together


class precision:
    """Work at `bits` bits inside a `with`, and put the old precision back."""

    def __init__(self, bits: int) -> None:
        self._bits = bits

    def __enter__(self) -> None:
        self._old = ctx.prec
        ctx.prec = self._bits

    def __exit__(self, *_: object) -> None:
        ctx.prec = self._old


def matrix(x: Exact) -> arb_mat:
    """Exact matrix of balls."""
    m, n = x.shape
    if x.floats is not None:
        return arb_mat(m, n, x.floats.ravel().tolist())
    with precision(max_bits(x.ints) + 2):  # enough to keep the product with a power of 2 exact
        unit = arb(2) ** x.exp
        return arb_mat(m, n, [v * unit for v in map(arb, x.ints.ravel().tolist())])


def bit_range(x: Exact) -> tuple[int, int]:
    """Exponents of the lowest and above the highest bit of all numbers in `x`."""
    if x.floats is None:
        return x.exp, x.exp + max_bits(x.ints)
    values = x.floats[x.floats != 0]
    if not values.size:
        return 0, 0
    fraction, exponent = np.frexp(values)
    man = (np.abs(fraction) * 2.0**53).astype(np.int64)
    trailing = np.frexp((man & -man).astype(np.float64))[1] - 1
    return int((exponent - 53 + trailing).min()), int(exponent.max())


class ArbBalls(Balls):
    """Balls of flint, turned into integers only when somebody asks for those."""

    def __init__(self, values: list[arb], floor: int) -> None:
        self._values = values
        self._floor = floor  # what lies below 2**floor is given up as radius

    def __getattr__(self, name: str) -> list[int]:
        """Integers, made when one of the lists is first asked for."""
        if name not in ("mid", "rad", "exp"):
            raise AttributeError(name)
        whole = self.integers()
        self.mid, self.rad, self.exp = whole.mid, whole.rad, whole.exp
        lists: list[int] = getattr(whole, name)
        return lists

    def integers(self) -> Balls:
        """Midpoints and radii as integers."""
        mid: list[int] = []
        rad: list[int] = []
        exps: list[int] = []
        for x in self._values:
            man, exp = x.mid().man_exp()
            m, e, r = int(man), int(exp), 0
            if not x.is_exact():
                # a radius has 30 bits, so a float holds it exactly unless it is out of range
                fraction, top = frexp(float(x.rad()))
                if not -1000 < top < 1000 or fraction in (0.0, inf):
                    m, r, e = _far_ball(x, self._floor)
                else:
                    low = top - 32
                    if low < e:
                        m, e = m << (e - low), low
                    r = int(fraction * 2.0**32) if low == e else _scaled(fraction, top - e)
            mid.append(m)
            rad.append(r)
            exps.append(e)
        return Balls(mid, rad, exps)

    def floats(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Midpoints to nearest, radii rounded up; no integers on the way."""
        mid = np.array(list(map(float, self._values)))  # rounds midpoints to nearest
        rad = np.array([float(x.rad()) for x in self._values])
        exact = np.flatnonzero(rad == 0).tolist()
        rad = np.nextafter(rad, np.inf)
        for n in exact:
            x = self._values[n]
            if x.is_exact() and x == float(mid[n]):
                rad[n] = 0.0
        return mid, rad


def _scaled(fraction: float, exp: int) -> int:
    """``fraction * 2**exp`` rounded up."""
    num, den = fraction.as_integer_ratio()
    return -((-num << exp) // den) if exp >= 0 else 1


def _far_ball(x: arb, floor: int) -> tuple[int, int, int]:
    """Midpoint, radius, exponent of a ball whose radius no float holds."""
    m, e = map(int, x.mid().man_exp())
    r, f = map(int, x.rad().man_exp())
    if r.bit_length() + f < floor:
        r, f = 1, floor
    if m.bit_length() + e < floor:
        return 0, (r << max(f - floor, 0)) + 1, floor
    low = min(e, f) if m else f
    return m << (e - low), r << (f - low), low


class Solution:
    """Weights and outputs of one head as balls; the same methods as the pure-Python solution."""

    def __init__(self, head: Head, bits: int) -> None:
        self.head = head
        q, k = bit_range(head.q), bit_range(head.k)
        self._exact_bits = q[1] - q[0] + k[1] - k[0] + head.q.shape[1].bit_length() + 4
        # bits before the point of a score: they are lost in sums with a bias, and in the lse
        size = 0
        if head.bias is not None:
            size = max(0, q[1] + k[1] + head.q.shape[1].bit_length(), bit_range(head.bias)[1])
        if head.softcap is not None:
            size = max(size, int(head.softcap).bit_length())
        self._bits = bits + head.S.bit_length() + 8 + size
        self._floor = -2 * self._bits - 4096
        self._keys = matrix(head.k).transpose()
        scale = head.scale
        self._tau = None
        if scale.dyadic_exponent is not None:  # then scores are dyadic: scale the keys, exactly
            self._exact_bits += scale.num.bit_length()
            with precision(self._exact_bits):
                self._keys *= arb(scale.num) / arb(scale.den)
        else:
            with precision(self._bits):
                self._tau = arb(scale.num) / arb(scale.den) / arb(scale.root).sqrt()
        if head.softcap is not None:
            with precision(self._bits):
                self._cap = arb(head.softcap.numerator) / arb(head.softcap.denominator)

    def _blocks(self) -> Iterator[tuple[int, arb_mat, list[list[arb]] | None]]:
        """Blocks of rows: first row, dot products (scaled where `_tau` is None), biases, exact."""
        head = self.head
        for start in range(0, head.L, _BLOCK):
            rows = slice(start, start + _BLOCK)
            with precision(self._exact_bits):
                x = matrix(head.q[rows]) * self._keys
            bias = None if head.bias is None else matrix(head.bias[rows]).tolist()
            yield start, x, bias

    def _kept(self, i: int) -> list[int]:
        keep = self.head.keep
        return list(range(self.head.S)) if keep is None else np.flatnonzero(keep[i]).tolist()

    def _score(self, x: arb, b: arb | None) -> arb:
        """One score from its exact dot product and bias."""
        s = x if self._tau is None else x * self._tau
        if self.head.softcap is not None:
            s = self._cap * (s / self._cap).tanh()
        return s if b is None else s + b

    def _row(self, x: list[arb], b: list[arb] | None) -> tuple[list[arb], arb]:
        """Weights before normalisation, and the score that was taken as the shift."""
        tau = self._tau
        if self.head.softcap is None and b is None:
            if tau is None:
                peak = max(x)
                return [(y - peak).exp() for y in x], peak
            peak = max(x) if tau > 0 else min(x)
            return [((y - peak) * tau).exp() for y in x], peak * tau
        s = [self._score(y, None if b is None else b[n]) for n, y in enumerate(x)]
        top = max(range(len(s)), key=s.__getitem__)
        if self.head.softcap is None and b is not None:
            x0, b0 = x[top], b[top]
            if tau is None:
                return [((y - x0) + (c - b0)).exp() for y, c in zip(x, b)], s[top]
            return [((y - x0) * tau + (c - b0)).exp() for y, c in zip(x, b)], s[top]
        shift = s[top]
        ties = [bool(y == x[top]) and (b is None or bool(b[n] == b[top])) for n, y in enumerate(x)]
        return [arb(1) if tie else (y - shift).exp() for y, tie in zip(s, ties)], shift

    @cached_property
    def _parts(self) -> list[tuple[arb_mat, list[arb]]]:
        """For each block: weights before normalisation, and the shifts."""
        head = self.head
        simple = head.keep is None and head.bias is None and head.softcap is None and head.S > 0
        return [
            self._simple_block(start, x) if simple else self._block(start, x, bias)
            for start, x, bias in self._blocks()
        ]

    def _simple_block(self, start: int, x: arb_mat) -> tuple[arb_mat, list[arb]]:
        """A block without masks, biases and soft-cap: the shift is one product of matrices."""
        rows, S = x.nrows(), x.ncols()
        peaks = [x[i, j] for i, j in enumerate(self._largest(start, x))]
        with precision(self._exact_bits + 1):
            x = x - arb_mat(rows, 1, peaks) * arb_mat(1, S, [1] * S)
        with precision(self._bits):
            if self._tau is not None:
                x = x * self._tau
                peaks = [peak * self._tau for peak in peaks]
            return arb_mat(rows, S, [t.exp() for t in x.entries()]), peaks

    def _largest(self, start: int, x: arb_mat) -> list[int]:
        """Place of the largest score in each row of a block, or of one less than 1 below it."""
        head = self.head
        sign = 1 if head.scale.num > 0 else -1
        q, k = head.q.floats, head.k.floats
        if q is not None and k is not None and q.size:
            E = q.shape[1]
            with np.errstate(over="ignore"):
                # Higham: a computed dot product is off by less than E**2 u max|q| max|k|, twice
                size = E * np.abs(q).max() * np.abs(k).max()
                error = (E + 2) * 2.0**-52 * size * abs(float(head.scale))
            if size < 1e300 and error < 1:
                about = q[start : start + _BLOCK] @ k.T
                places: list[int] = (about * sign).argmax(axis=1).tolist()
                return places
        largest = max if self._tau is None or sign > 0 else min  # compared without rounding
        return [largest(range(len(row)), key=row.__getitem__) for row in x.tolist()]

    def _block(
        self, start: int, x: arb_mat, bias: list[list[arb]] | None
    ) -> tuple[arb_mat, list[arb]]:
        """A block row by row."""
        S = self.head.S
        zero = arb(0)
        flat: list[arb] = []
        shifts: list[arb] = []
        with precision(self._bits):
            for n, row in enumerate(x.tolist()):
                js = self._kept(start + n)
                b = None if bias is None else bias[n]
                if not js:
                    flat += [zero] * S
                    shifts.append(zero)
                    continue
                if len(js) < S:
                    row = [row[j] for j in js]
                    b = None if b is None else [b[j] for j in js]
                weights, shift = self._row(row, b)
                if len(js) < S:
                    full = [zero] * S
                    for j, w in zip(js, weights):
                        full[j] = w
                    weights = full
                flat += weights
                shifts.append(shift)
            return arb_mat(x.nrows(), S, flat), shifts

    def _sums(self, W: arb_mat) -> list[arb]:
        """Sums of the rows."""
        S = self.head.S
        sums: list[arb] = (W * arb_mat(S, 1, [1] * S)).entries()
        return sums

    def output(self) -> Balls:
        """Outputs, row by row."""
        values: list[arb] = []
        v = matrix(self.head.v)
        with precision(self._bits):
            for W, _ in self._parts:
                for row, Z in zip((W * v).tolist(), self._sums(W)):
                    values += [x / Z for x in row] if Z > 0 else row
        return ArbBalls(values, self._floor)

    def weights(self) -> Balls:
        """Weights, row by row, a sink left out."""
        values: list[arb] = []
        S = self.head.real_S
        with precision(self._bits):
            for W, _ in self._parts:
                for row, Z in zip(W.tolist(), self._sums(W)):
                    values += [x / Z for x in row[:S]] if Z > 0 else row[:S]
        return ArbBalls(values, self._floor)

    def lse(self) -> Balls:
        """Logarithm of the sum of the exponentials of the scores, a sink included."""
        values: list[arb] = []
        with precision(self._bits):
            for W, shifts in self._parts:
                values += [m + Z.log() if Z > 0 else m for Z, m in zip(self._sums(W), shifts)]
        return ArbBalls(values, self._floor)

    def scores(self) -> Balls:
        """Scores, row by row, a sink left out."""
        values: list[Any] = []
        S = self.head.real_S
        for _, x, bias in self._blocks():
            with precision(self._bits):
                for n, row in enumerate(x.tolist()):
                    b = None if bias is None else bias[n]
                    values += [
                        self._score(y, None if b is None else b[j]) for j, y in enumerate(row[:S])
                    ]
        return ArbBalls(values, self._floor)


def solve(head: Head, bits: int) -> Solution:
    """Solve one head in ball arithmetic."""
    return Solution(head, bits)
