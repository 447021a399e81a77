"""Exact tests for sums of quotients of exponentials, which balls alone never decide.

Weights are quotients of sums of exponentials of scores, and scores are algebraic numbers. By the
theorem of Lindemann and Weierstrass a sum ``sum_t c_t exp(t)`` over distinct algebraic ``t``
with rational ``c_t`` vanishes only if all ``c_t`` do. So whether an output summed over heads, or
a gradient summed over rows, *is* a given rational number can be decided by bringing everything
over one denominator and collecting exponents: a finite computation on fractions, as long as
there are not too many of them.

With a tanh soft-cap scores are not algebraic, and only what holds whatever the exponentials are
is used: weights that are rational because all scores are equal, and zeros by symmetry.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from attnproofs.reference.core import Scores
from attnproofs.reference.inputs import Exact
from attnproofs.reference.problem import Head

#: A score: a rational number and 0, or its multiple of an irrational scale and its bias.
Score = tuple[Fraction, Fraction]
#: Coefficients of exponentials, by exponent.
Poly = dict[Score, Fraction]

_ZERO = Fraction(0)
_MOST_TERMS = 20_000


@dataclass
class Sum:
    """A rational number plus quotients of sums of exponentials."""

    rational: Fraction = _ZERO
    quotients: list[tuple[Poly, Poly]] = field(default_factory=list)

    def equals(self, c: Fraction) -> bool | None:
        """Whether the sum is `c`; None if that takes too many terms to tell."""
        c -= self.rational
        num: Poly = {(_ZERO, _ZERO): -c} if c else {}
        den: Poly = {(_ZERO, _ZERO): Fraction(1)}
        for n, d in self.quotients:
            if len(d) * (len(num) + len(den)) + len(n) * len(den) > _MOST_TERMS:
                return None
            num = _add(_times(num, d), _times(n, den))
            den = _times(den, d)
        return not num


def _add(p: Poly, q: Poly) -> Poly:
    out = dict(p)
    for t, c in q.items():
        out[t] = out.get(t, _ZERO) + c
    return {t: c for t, c in out.items() if c}


def _times(p: Poly, q: Poly) -> Poly:
    out: Poly = {}
    for s, a in p.items():
        for t, b in q.items():
            key = s[0] + t[0], s[1] + t[1]
            out[key] = out.get(key, _ZERO) + a * b
    return {t: c for t, c in out.items() if c}


@dataclass(frozen=True)
class Row:
    """The kept keys of one query with their scores.

    Attributes
    ----------
    scores : dict from key to Score
        Relative to the first key; with a soft-cap the dot product and the bias themselves.
    capped : bool
        Whether there is a soft-cap, so that scores can be compared but not added.
    """

    scores: dict[int, Score]
    capped: bool

    @property
    def tied(self) -> bool:
        """Whether all scores are equal, so that the weights are rational."""
        return len(set(self.scores.values())) <= 1

    def collect(self, values: dict[int, Fraction]) -> Poly:
        """``sum_j exp(s_j) values_j``."""
        out: Poly = {}
        for j, value in values.items():
            key = self.scores[j]
            out[key] = out.get(key, _ZERO) + value
        return {t: c for t, c in out.items() if c}

    @property
    def total(self) -> Poly:
        """``sum_j exp(s_j)``."""
        return self.collect(dict.fromkeys(self.scores, Fraction(1)))

    @property
    def identity(self) -> tuple[tuple[int, Score], ...]:
        """Equal for two rows only if they have the same weights."""
        return tuple(self.scores.items())


def read_row(head: Head, i: int) -> Row:
    """Scores of one query."""
    one = head.row(i)
    js = range(one.S) if one.keep is None else np.flatnonzero(one.keep[0]).tolist()
    scores, two = Scores(one, 1), Fraction(2)
    pairs: dict[int, Score] = {}
    for j in js:
        if scores.exact:
            value = scores.fraction(0, j)
            assert value is not None
            pairs[j] = value, _ZERO
        else:
            b = _ZERO if one.bias is None else int(one.bias.ints[0, j]) * two**one.bias.exp
            pairs[j] = int(scores.X[0, j]) * two**scores.x_exp, b
    if head.softcap is None and pairs:
        x0, b0 = next(iter(pairs.values()))
        pairs = {j: (x - x0, b - b0) for j, (x, b) in pairs.items()}
    return Row(pairs, head.softcap is not None)


def mean(row: Row, values: dict[int, Fraction]) -> Sum | None:
    """``sum_j p_j values_j``; None if nothing is known of it."""
    if row.tied:
        return Sum(sum(values.values(), _ZERO) / len(values) if values else _ZERO)
    if row.capped:
        groups: dict[Score, list[Fraction]] = {}
        for j, value in values.items():
            groups.setdefault(row.scores[j], []).append(value)
        means = {sum(group, _ZERO) / len(group) for group in groups.values()}
        return Sum(means.pop()) if len(means) == 1 else None
    return Sum(quotients=[(row.collect(values), row.total)])


def score_gradient(row: Row, D: dict[int, Fraction], j: int) -> Sum | None:
    """``p_j (D_j - sum_a p_a D_a)``; None if nothing is known of it."""
    if row.tied:
        return Sum((D[j] - sum(D.values(), _ZERO) / len(D)) / len(D))
    num = row.collect({a: D[j] - x for a, x in D.items()})
    if not num:
        return Sum()  # D_j is the mean of every group of equal scores
    if row.capped:
        return None
    return Sum(
        quotients=[(_times({row.scores[j]: Fraction(1)}, num), _times(row.total, row.total))]
    )


def covariance(row: Row, x: dict[int, Fraction], y: dict[int, Fraction]) -> Sum | None:
    """``sum_j p_j x_j y_j - sum_j p_j x_j sum_j p_j y_j``; None if nothing is known of it."""
    n = len(x)
    both = {j: x[j] * y[j] for j in x}
    if row.tied:
        if not n:
            return Sum()
        product = sum(x.values(), _ZERO) * sum(y.values(), _ZERO)
        return Sum((sum(both.values(), _ZERO) - product / n) / n)
    if row.capped:
        constant = len(set(x.values())) == 1 or len(set(y.values())) == 1
        return Sum() if constant else None
    minus = {t: -c for t, c in _times(row.collect(x), row.collect(y)).items()}
    num = _add(_times(row.collect(both), row.total), minus)
    return Sum(quotients=[(num, _times(row.total, row.total))] if num else [])


def add(parts: Iterable[Sum | None]) -> Sum | None:
    """Sum of sums; None if nothing is known of one of them."""
    whole = Sum()
    for part in parts:
        if part is None:
            return None
        whole.rational += part.rational
        whole.quotients += part.quotients
    return whole


class Rows:
    """Gradients of a call, element by element, as such sums; rows are read when first needed.

    A place ``(n, i)`` is query `i` of head `n`. Rows with the same weights are added first.
    """

    def __init__(self, heads: list[Head], g: list[Exact]) -> None:
        self.heads = heads
        self.g = g
        self.row = lru_cache(maxsize=None)(lambda n, i: read_row(heads[n], i))
        self.dp = lru_cache(maxsize=None)(self._dp)

    def _dp(self, n: int, i: int) -> dict[int, Fraction]:
        """Gradient by each weight of a row."""
        g, v = self.g[n], self.heads[n].v
        unit = Fraction(2) ** (g.exp + v.exp)
        return {
            j: sum(a * b for a, b in zip(g.ints[i], v.ints[j])) * unit
            for j in self.row(n, i).scores
        }

    def dv(self, places: Iterable[tuple[int, int]], j: int, d: int) -> Sum | None:
        """Gradient by one number of a value."""
        sums: dict[Any, tuple[Row, Fraction]] = {}
        for n, i in places:
            row = self.row(n, i)
            if j in row.scores:
                _, old = sums.get(row.identity, (row, _ZERO))
                sums[row.identity] = row, old + _number(self.g[n], i, d)
        return add(
            mean(row, {a: g if a == j else _ZERO for a in row.scores})
            for row, g in sums.values()
            if g
        )

    def ds(self, places: Iterable[tuple[int, int]], j: int) -> Sum | None:
        """Gradient by the scores (bias, sink) of one key."""
        return self._key_side(((n, i, Fraction(1)) for n, i in places), j)

    def dk(self, places: Iterable[tuple[int, int]], j: int, d: int) -> Sum | None:
        """Gradient by one number of a key, over the scale."""
        terms = ((n, i, _number(self.heads[n].q, i, d)) for n, i in places)
        return self._key_side(terms, j, through_cap=True)

    def _key_side(
        self, terms: Iterable[tuple[int, int, Fraction]], j: int, through_cap: bool = False
    ) -> Sum | None:
        """``sum_i c_i ds_ij``."""
        sums: dict[Any, tuple[Row, dict[int, Fraction]]] = {}
        for n, i, c in terms:
            row = self.row(n, i)
            if j not in row.scores or not c:
                continue
            _, D = sums.setdefault(row.identity, (row, dict.fromkeys(row.scores, _ZERO)))
            for a, x in self.dp(n, i).items():
                D[a] += c * x
        parts = []
        for row, D in sums.values():
            part = score_gradient(row, D, j)
            if through_cap and row.capped and row.scores[j][0] and part != Sum():
                part = None  # the factor 1 - tanh**2 is not 1
            parts.append(part)
        return add(parts)

    def dq(self, places: Iterable[tuple[int, int]], d: int) -> Sum | None:
        """Gradient by one number of a query, over the scale."""
        parts: list[Sum | None] = []
        for n, i in places:
            row, dp = self.row(n, i), self.dp(n, i)
            k = {j: _number(self.heads[n].k, j, d) for j in row.scores}
            if row.capped and any(x for x, _ in row.scores.values()):
                ds = [score_gradient(row, dp, j) for j in row.scores if k[j]]
                parts.append(Sum() if all(x == Sum() for x in ds) else None)
            else:
                parts.append(covariance(row, dp, k))
        return add(parts)


def _number(x: Exact, i: int, d: int) -> Fraction:
    return int(x.ints[i, d]) * Fraction(2) ** x.exp
