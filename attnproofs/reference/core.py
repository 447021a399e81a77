"""The reference on Python integers alone.

For one head and a working precision of ``wp`` bits:

* scores are exact integers ``X`` (a dot product of dyadic numbers is dyadic), and so are their
  differences from the row's largest, so tied scores stay exactly tied;
* ``W_j`` is ``exp(s_j - max s)`` at ``wp`` bits, off by at most ``KAPPA`` units: the argument is
  off by at most 2 (1 for the floor, 1/4 for the scale, 1 for a soft-cap), which ``exp <= 1``
  passes on, and `Exp` adds less than 1;
* ``N_d = sum_j W_j v_jd`` and ``Z = sum_j W_j`` are exact. With ``o = sum e v / sum e``,
  ``N/Z - o = sum_j (W_j - e_j) (v_j - o) / Z``, and ``|v_j - o|`` is at most the oscillation of
  ``v_d`` over the kept keys, and ``Z >= 2**wp``. Hence the radius
  ``KAPPA * n * osc_d * 2**-wp``, where ``n`` counts the keys whose ``W_j`` is not exact, plus one
  unit for the division.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from attnproofs.reference.enclosure import Balls
from attnproofs.reference.fixed import IntArray, exp_at, log_ratio, matmul, max_bits, tanh
from attnproofs.reference.problem import Head

#: Error of a fixed-point weight, in units of ``2**-wp``.
KAPPA = 3

_FLOOR = 4096  # weights below 2**-(wp + this) are given as [0, that]


class Scores:
    """Scores of one head as integers: ``s = fine * 2**exp / den`` up to a known error.

    Attributes
    ----------
    fine : object array of int, shape (L, S)
    exp, den : int
    exact : bool
        Whether that is the score itself; otherwise it is off by less than half of
        ``2**-wp``, and equal pairs (dot product, bias) still give equal integers.
    """

    def __init__(self, head: Head, wp: int) -> None:
        self.head = head
        self.wp = wp
        self.X: IntArray = matmul(head.q.ints, head.k.ints.T)
        self.x_exp = head.q.exp + head.k.exp
        scale = head.scale
        self.den = 1
        self.exact = head.softcap is None and scale.rational
        if head.softcap is not None:
            fine, exp = self._capped(head.softcap)
        elif scale.rational:
            fine, exp, self.den = self.X * scale.num, self.x_exp, scale.den
            if scale.dyadic_exponent is not None:
                exp, self.den = exp + scale.dyadic_exponent, 1
        else:
            factor, bits = self._scale_bits(wp + 2)
            fine, exp = self.X * factor, self.x_exp - bits
        if head.bias is not None:
            low = min(exp, head.bias.exp)
            fine = (fine << (exp - low)) + head.bias.ints * (self.den << (head.bias.exp - low))
            exp = low
        self.fine: IntArray = fine
        self.exp: int = exp

    def _scale_bits(self, bits: int) -> tuple[int, int]:
        """Scale at enough bits that it moves no difference of scores by ``2**-bits``."""
        scale = self.head.scale
        frac = max(bits + 2 + max_bits(self.X) + self.x_exp, bits)
        square = (scale.num * scale.num << 2 * frac) // (scale.den * scale.den * scale.root)
        factor = math.isqrt(square)
        return (-factor if scale.num < 0 else factor), frac

    def _capped(self, cap: Fraction) -> tuple[IntArray, int]:
        """``cap * tanh(scale * x / cap)`` at ``wp + 4`` bits, error below 7 of those units."""
        scale = self.head.scale
        wide = self.wp + 4 + max(0, cap.numerator.bit_length() - cap.denominator.bit_length() + 1)
        if scale.rational:
            num, den, exp = scale.num * cap.denominator, scale.den * cap.numerator, self.x_exp
        else:
            inverse = max(0, cap.denominator.bit_length() - cap.numerator.bit_length() + 1)
            factor, bits = self._scale_bits(wide + inverse + 2)
            num, den, exp = factor * cap.denominator, cap.numerator, self.x_exp - bits
        shift = exp + wide
        if shift >= 0:
            num <<= shift
        else:
            den <<= -shift
        known: dict[int, int] = {0: 0}
        drop = wide - self.wp - 4
        for x in set(self.X.ravel().tolist()) - {0}:
            y = tanh(abs(x * num) // den, wide)
            value = (cap.numerator * y // cap.denominator) >> drop
            known[x] = value if (x > 0) == (num > 0) else -value
        out = np.empty(self.X.shape, dtype=object)
        out.reshape(-1)[:] = [known[x] for x in self.X.ravel().tolist()]
        return out, -self.wp - 4

    def to_fixed(self, fine: int, bits: int) -> int:
        """Floor of ``fine * 2**exp / den`` at `bits` bits."""
        shift = self.exp + bits
        if shift >= 0:
            return (fine << shift) // self.den
        return (fine >> -shift) // self.den

    def same(self, i: int, j: int, l: int) -> bool:
        """Whether two scores of row `i` are certainly the same number."""
        if self.fine[i, j] != self.fine[i, l]:
            return False
        if self.exact:
            return True
        bias = self.head.bias
        return bool(
            self.X[i, j] == self.X[i, l] and (bias is None or bias.ints[i, j] == bias.ints[i, l])
        )

    def fraction(self, i: int, j: int) -> Fraction | None:
        """The score as a rational number, or None where it is irrational."""
        head = self.head
        if self.exact:
            value = Fraction(int(self.fine[i, j]), self.den)
            return value * Fraction(2) ** self.exp
        if self.X[i, j]:
            return None
        if head.bias is None:
            return Fraction(0)
        return int(head.bias.ints[i, j]) * Fraction(2) ** head.bias.exp


class Solution:
    """Weights and outputs of one head, on integers.

    Parameters
    ----------
    head : Head
    bits : int
        Weights are off by at most ``2**-bits``, outputs by that times the oscillation of the
        values.
    """

    def __init__(self, head: Head, bits: int) -> None:
        self.head = head
        self.wp = wp = bits + head.S.bit_length() + 4
        self.score_table = scores = Scores(head, wp)
        exp = exp_at(wp)
        fine = scores.fine
        self.W: IntArray = np.empty((head.L, head.S), dtype=object)
        self.W.fill(0)
        self.kept: list[list[int]] = []
        self.top: list[int] = []  # index of the largest score, -1 for an empty row
        self.Z: list[int] = []
        self.inexact: list[int] = []
        for i in range(head.L):
            js = list(range(head.S)) if head.keep is None else np.flatnonzero(head.keep[i]).tolist()
            self.kept.append(js)
            if not js:
                self.top.append(-1)
                self.Z.append(0)
                self.inexact.append(0)
                continue
            row = fine[i].tolist()
            if len(js) < head.S:
                row = [row[j] for j in js]
            peak = max(row)
            top = js[row.index(peak)]
            shift = scores.exp + wp
            if scores.den != 1:
                ts = [scores.to_fixed(u - peak, wp) for u in row]
            elif shift >= 0:
                ts = [(u - peak) << shift for u in row]
            else:
                ts = [(u - peak) >> -shift for u in row]
            weights = [exp(t) for t in ts]
            if len(js) == head.S:
                self.W[i] = weights
            else:
                self.W[i, js] = weights
            ties = sum(1 for j, u in zip(js, row) if u == peak and scores.same(i, j, top))
            self.top.append(top)
            self.Z.append(sum(weights))
            self.inexact.append(len(js) - ties)

    # -- results as balls; empty rows are 0 here, what they mean is the caller's business --------

    @cached_property
    def _column_osc(self) -> list[int]:
        """Oscillation of each value column over all keys, in units of its exponent."""
        v = self.head.v.ints
        if not v.shape[0]:
            return [0] * v.shape[1]
        return [int(a - b) for a, b in zip(v.max(axis=0), v.min(axis=0))]

    def _osc(self, i: int) -> list[int]:
        """The same over the keys kept in row `i`."""
        js = self.kept[i]
        if len(js) == self.head.S:
            return self._column_osc
        v = self.head.v.ints[js]
        return [int(a - b) for a, b in zip(v.max(axis=0), v.min(axis=0))]

    def output(self) -> Balls:
        """Outputs, row by row."""
        head, wp = self.head, self.wp
        N = matmul(self.W, head.v.ints)
        mid: list[int] = []
        rad: list[int] = []
        for i, Z in enumerate(self.Z):
            if not Z:
                mid += [0] * N.shape[1]
                rad += [0] * N.shape[1]
                continue
            n = KAPPA * self.inexact[i]
            for num, osc in zip(N[i].tolist(), self._osc(i) if n else [0] * N.shape[1]):
                o, rest = divmod(num << wp, Z)
                mid.append(o)
                rad.append(n * osc + (rest != 0))
        return Balls(mid, rad, [head.v.exp - wp] * len(mid))

    def weights(self) -> Balls:
        """Weights, row by row, a sink left out; small ones to full relative accuracy.

        ``p_j = m_j 2**(k_j - ip) 2**wp / Z``. The mantissa's relative error is at most
        ``KAPPA * 2**-wp`` (argument and exp), that of ``Z`` at most ``KAPPA * n * 2**-wp``.
        """
        wp, S = self.wp, self.head.real_S
        exp = exp_at(wp)
        mid: list[int] = []
        rad: list[int] = []
        exps: list[int] = []
        for i, Z in enumerate(self.Z):
            row: dict[int, tuple[int, int, int]] = {}
            n = self.inexact[i]
            peak = self.score_table.fine[i, self.top[i]] if Z else 0
            for j in self.kept[i]:
                if j >= S:
                    continue
                w = int(self.W[i, j])
                if w >> (wp - 4):  # large weights: their absolute error is relative enough
                    p, rest = divmod(w << wp, Z)
                    row[j] = (p, KAPPA * (n + 1) * (n > 0) + (rest != 0), -wp)
                    continue
                m, k = exp.parts(
                    self.score_table.to_fixed(int(self.score_table.fine[i, j]) - peak, wp)
                )
                if k < -wp - _FLOOR:
                    row[j] = (1, 1, -wp - _FLOOR)
                    continue
                p = (m << wp) // Z
                row[j] = (p, (p * KAPPA * (n + 2) >> wp) + 2, k - exp.ip)
            for j in range(S):
                m, r, e = row.get(j, (0, 0, 0))
                mid.append(m)
                rad.append(r)
                exps.append(e)
        return Balls(mid, rad, exps)

    def lse(self) -> Balls:
        """Logarithm of the sum of the exponentials of the scores, a sink included."""
        wp, scores = self.wp, self.score_table
        mid: list[int] = []
        rad: list[int] = []
        exps: list[int] = []
        for i, Z in enumerate(self.Z):
            if not Z:
                mid.append(0)
                rad.append(0)
                exps.append(0)
            elif len(self.kept[i]) == 1:
                ball = self.score(i, self.top[i])
                for out, part in zip((mid, rad, exps), ball):
                    out.append(part)
            else:
                # max: floor and error of the score; log: 2; Z is off by KAPPA n >= |dZ|
                peak = scores.to_fixed(int(scores.fine[i, self.top[i]]), wp)
                mid.append(peak + log_ratio(Z, wp))
                rad.append(2 * KAPPA * self.inexact[i] + 4)
                exps.append(-wp)
        return Balls(mid, rad, exps)

    def score(self, i: int, j: int) -> tuple[int, int, int]:
        """One score as a ball, exact where the score is dyadic."""
        scores, head = self.score_table, self.head
        fine = int(scores.fine[i, j])
        if scores.exact and scores.den == 1:
            return fine, 0, scores.exp
        if head.softcap is None and head.bias is None and not scores.exact:
            return fine, abs(int(scores.X[i, j])), scores.exp  # the scale is off by < 1 unit
        rational = scores.fraction(i, j)
        if rational is not None and not rational.denominator & (rational.denominator - 1):
            return rational.numerator, 0, 1 - rational.denominator.bit_length()
        return scores.to_fixed(fine, self.wp), 2, -self.wp

    def scores(self) -> Balls:
        """Scores, row by row, a sink left out."""
        balls = [self.score(i, j) for i in range(self.head.L) for j in range(self.head.real_S)]
        return Balls([b[0] for b in balls], [b[1] for b in balls], [b[2] for b in balls])

    # -- exact comparisons, what correct rounding needs besides balls ----------------------------

    def _groups(self, i: int, values: Sequence[int]) -> list[tuple[int, int, int]]:
        """Groups of equal scores in row `i`: score as in `fine`, number, sum of values."""
        scores, bias = self.score_table, self.head.bias
        groups: dict[Any, list[int]] = {}
        for j in self.kept[i]:
            fine = int(scores.fine[i, j])
            key: Any = fine
            if not scores.exact:
                key = int(scores.X[i, j]), 0 if bias is None else int(bias.ints[i, j])
            group = groups.setdefault(key, [fine, 0, 0])
            group[1] += 1
            group[2] += int(values[j])
        return [(fine, n, total) for fine, n, total in groups.values()]

    def compare_mean(self, i: int, values: Sequence[int], c: Fraction) -> int | None:
        """Sign of ``sum_j p_j v_j - c`` in row `i`.

        With ``m_G = sum_{j in G} (v_j - c)`` over groups of equal scores, the sign is that of
        ``sum_G exp(s_G) m_G``. If all ``m_G`` are 0 the two are equal; by the theorem of Lindemann
        and Weierstrass that is the only way, when scores are algebraic. Otherwise the largest
        score with ``m_G != 0`` is taken as the shift, so that far-away keys cost no bits.
        """
        groups = self._groups(i, values)
        parts = [(fine, total * c.denominator - n * c.numerator) for fine, n, total in groups]
        parts = [(fine, m) for fine, m in parts if m]
        if not parts:
            return 0
        peak = max(fine for fine, _ in parts)
        exponential = exp_at(self.wp)
        total = error = 0
        first = True
        for fine, m in parts:
            total += m * exponential(self.score_table.to_fixed(fine - peak, self.wp))
            if first and fine == peak:
                first = False  # its weight is exactly 1
            else:
                error += KAPPA * abs(m)
        if abs(total) <= error:
            return None
        return 1 if total > 0 else -1

    def compare_output(self, i: int, d: int, c: Fraction) -> int | None:
        """Sign of ``o_id - c``."""
        v = self.head.v
        return self.compare_mean(i, v.ints[:, d].tolist(), c / Fraction(2) ** v.exp)

    def compare_weights(self, i: int, j: int, c: Fraction) -> int | None:
        """Sign of ``p_ij - c``."""
        return self.compare_mean(i, [int(l == j) for l in range(self.head.S)], c)

    def compare_scores(self, i: int, j: int, c: Fraction) -> int | None:
        """Sign of ``s_ij - c``, where that needs no more than rational numbers."""
        score = self.score_table.fraction(i, j)
        if score is not None:
            return (score > c) - (score < c)
        cap, head = self.head.softcap, self.head
        if cap is None:
            return None
        if head.bias is not None:
            c -= int(head.bias.ints[i, j]) * Fraction(2) ** head.bias.exp
        # 0 < cap tanh(x / cap) < min(x, cap) for x > 0, and the same mirrored
        x = int(self.score_table.X[i, j])
        sign = 1 if (x > 0) == (head.scale.num > 0) else -1
        c *= sign
        if c <= 0:
            return sign
        limit = cap
        if head.scale.rational:
            x_cap = (
                abs(Fraction(x * head.scale.num, head.scale.den))
                * Fraction(2) ** self.score_table.x_exp
            )
            limit = min(limit, x_cap)
        return -sign if c >= limit else None

    def compare_lse(self, i: int, _: int, c: Fraction) -> int | None:
        """Sign of ``lse_i - c``, where the largest score alone decides it."""
        j = self.top[i]
        sign = self.compare_scores(i, j, c)
        if len(self.kept[i]) == 1:
            return sign
        if sign is None:
            m, r, e = self.score(i, j)
            sign = 1 if (m - r) * Fraction(2) ** e >= c else -1
        return 1 if sign >= 0 else None


def solve(head: Head, bits: int) -> Solution:
    """Solve one head on Python integers."""
    return Solution(head, bits)
