"""Attention in floating point of any precision, every operation correctly rounded.

A format is a number of significand bits; exponents are unbounded, so there is neither overflow nor
underflow (`to_format` adds the least exponent where that matters). The operations are mpmath's at
that precision, which round to nearest, ties to even. Results come back as exact `mp.mpf` numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from mpmath import MPContext

from .attention_mp import Matrix, Vector, mp

# bits of the significand: half, bfloat16, single, double
BITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}


def unit_roundoff(bits: int) -> Any:
    """``2^-bits``: half the distance from 1 to the next number."""
    return mp.ldexp(mp.one, -bits)


def gamma(n: int, u: Any) -> Any:
    """``n u / (1 - n u)``.

    References
    ----------
    N. Higham, "Accuracy and Stability of Numerical Algorithms", 2002, lemma 3.1.
    """
    return n * u / (1 - n * u)


def to_format(x: Any, bits: int, least_exponent: int | None = None) -> Any:
    """Round to `bits` significand bits; with `least_exponent`, to a multiple of 2^that at least."""
    if least_exponent is None:
        return mp.convert(+_context(bits).convert(mp.convert(x)))
    x = mp.convert(x)
    if x == 0:
        return x
    quantum = max(least_exponent, mp.mag(x) - bits)
    return mp.ldexp(mp.nint(mp.ldexp(x, -quantum)), quantum)


@cache
def _context(bits: int) -> MPContext:
    context = MPContext()
    context.prec = bits
    return context


def _ordered_sum(terms: Sequence[Any], order: Sequence[int]) -> Any:
    """Add up in some order: each number of `order` names a neighbouring pair to add next."""
    terms = list(terms)
    for choice in order:
        if len(terms) > 1:
            at = choice % (len(terms) - 1)
            terms[at : at + 2] = [terms[at] + terms[at + 1]]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def dot(a: Vector, b: Vector, bits: int, order: Sequence[int] = ()) -> Any:
    """Inner product with rounded products, added up in `order` (left to right unless given)."""
    low = _context(bits)
    products = [low.convert(x) * low.convert(y) for x, y in zip(a, b, strict=True)]
    return mp.convert(_ordered_sum(products, order))


def attention_row(
    q: Vector,
    K: Matrix,
    V: Matrix,
    bits: int,
    *,
    weight_bits: int | None = None,
    order: Sequence[int] = (),
) -> list[Any]:
    """One row of attention, textbook algorithm: subtract the maximum, divide at the end.

    `weight_bits` rounds the unnormalised weights once more before they meet the values; their
    sum is taken before that, as fused kernels do.
    """
    low = _context(bits)
    scale = 1 / low.sqrt(len(q))
    scores = [low.convert(dot(q, k, bits, order)) * scale for k in K]
    terms = [low.exp(s - max(scores)) for s in scores]
    total = _ordered_sum(terms, order)
    if weight_bits is not None:
        terms = [low.convert(to_format(t, weight_bits)) for t in terms]
    row = []
    for column in zip(*V, strict=True):
        products = [t * low.convert(v) for t, v in zip(terms, column, strict=True)]
        row.append(mp.convert(_ordered_sum(products, order) / total))
    return row


def tiled_row(q: Vector, K: Matrix, V: Matrix, bits: int, tile: int) -> tuple[list[Any], int]:
    """Return one row computed tile by tile with a running maximum, and the number of rescales."""
    low = _context(bits)
    scale = 1 / low.sqrt(len(q))
    shift, total, rescales = low.mpf("-inf"), low.zero, 0
    output = [low.zero] * len(V[0])
    for start in range(0, len(K), tile):
        rows = list(zip(K[start : start + tile], V[start : start + tile], strict=True))
        scores = [low.convert(dot(q, k, bits)) * scale for k, _ in rows]
        top = max(shift, *scores)
        if top != shift:
            factor = low.exp(shift - top)
            rescales += start > 0
            total, output = total * factor, [x * factor for x in output]
            shift = top
        for s, (_, v) in zip(scores, rows, strict=True):
            weight = low.exp(s - shift)
            total = total + weight
            output = [x + weight * low.convert(y) for x, y in zip(output, v, strict=True)]
    return [mp.convert(x / total) for x in output], rescales
