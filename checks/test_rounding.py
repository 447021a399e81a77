"""Rounding: what floating point of any precision may do to attention, and no more.

The bounds are written out here from their statements; the rounded arithmetic is `rounded`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from . import attention_mp as attn
from . import rounded
from .attention_mp import mp
from .inputs import numbers, score_rows, sizes, vectors
from .measure import assert_agree, assert_at_most, assert_equal

precisions = st.sampled_from([8, 11, 24, 53])
orders = st.lists(st.integers(0, 6), max_size=6)

# an exp of mpmath errs by less than one unit in the last place, two units roundoff
K_E = 2


class Row(NamedTuple):
    """One query with keys and values, all of them numbers of the format."""

    q: list
    K: list
    V: list
    bits: int


@st.composite
def rows(draw, least_bits=8):
    bits = draw(precisions.filter(lambda b: b >= least_bits))
    n, d_k, d_v = draw(sizes(7)), draw(sizes(5)), draw(sizes(2))

    def held(vector):
        return [rounded.to_format(x, bits) for x in vector]

    return Row(
        held(draw(vectors(d_k, 2))),
        [held(draw(vectors(d_k, 2))) for _ in range(n)],
        [held(draw(vectors(d_v, 4))) for _ in range(n)],
        bits,
    )


def allowance(row, *, exponentials=1, multiplications=0, weight_bits=None):
    """Return the bound that needs shapes and norms only, for the largest value |v| <= V.

    V (h + (1 + e_o)(1 + u_p)(1 + u)/(1 - e_l) - 1) with h = score error + shift error + exp error.
    """
    u = rounded.unit_roundoff(row.bits)
    E, n = len(row.q), len(row.K)
    norm = mp.sqrt(attn.dot(row.q, row.q)) * max(mp.sqrt(attn.dot(k, k)) for k in row.K)
    B = norm / mp.sqrt(E)
    # products and sums, then the scale: a rounded root, a rounded quotient, one multiplication
    delta = ((1 + rounded.gamma(E, u)) * (1 + rounded.gamma(3, u)) - 1) * B
    h = delta + 2 * u * (B + delta) - exponentials * mp.log(1 - K_E * u)
    e_l = rounded.gamma(n - 1 + multiplications, u)
    e_o = rounded.gamma(n + multiplications, u)
    u_p = 0 if weight_bits is None else rounded.unit_roundoff(weight_bits)
    return h + (1 + e_o) * (1 + u_p) * (1 + u) / (1 - e_l) - 1


def assert_within(actual, row, factor):
    """Require each output to lie within factor * max|v| of the exact one."""
    exact = attn.attention([row.q], row.K, row.V).output[0]
    for c, (a, b) in enumerate(zip(actual, exact, strict=True)):
        largest = max(abs(v[c]) for v in row.V)
        assert_at_most(abs(a - b), factor * largest)


@given(row=rows(), order=orders)
def test_dot_error(row, order):
    """|fl(q . k) - q . k| <= gamma_E sum |q_i k_i|, whatever the order of the additions."""
    u, k = rounded.unit_roundoff(row.bits), row.K[0]
    error = abs(rounded.dot(row.q, k, row.bits, order) - attn.dot(row.q, k))
    size = attn.dot([abs(x) for x in row.q], [abs(x) for x in k])
    assert_at_most(error, rounded.gamma(len(k), u) * size)
    one = abs(rounded.dot(row.q[:1], k[:1], row.bits) - row.q[0] * k[0])
    assert_at_most(one, u * abs(row.q[0] * k[0]))


@given(scores=score_rows())
def test_shift_free(scores):
    """sum_j p_j (max s - s_j) <= entropy <= log n: subtracting the maximum is almost free."""
    p = attn.softmax(scores)
    top = max(scores)
    lost = attn.dot(p, [top - s for s in scores])
    assert_at_most(lost, attn.entropy(p), scale=1)
    assert_at_most(attn.entropy(p), mp.log(len(scores)))
    # the gap is log-sum-exp minus the largest score
    assert_agree(attn.entropy(p) - lost, attn.logsumexp(scores) - mp.convert(top), scale=100)


@given(row=rows(), order=orders)
def test_attention_error(row, order):
    """Attention in u-rounded arithmetic, any order of the sums, stays within its derived bound."""
    actual = rounded.attention_row(row.q, row.K, row.V, row.bits, order=order)
    assert_within(actual, row, allowance(row))


@given(row=rows(), tile=sizes(4))
def test_online_error(row, tile):
    """Tiles cost one exponential and one multiplication a rescale, nothing else."""
    actual, rescales = rounded.tiled_row(row.q, row.K, row.V, row.bits, tile)
    bound = allowance(row, exponentials=1 + rescales, multiplications=rescales)
    assert_within(actual, row, bound)
    if tile >= len(row.K):
        assert rescales == 0


@given(row=rows(least_bits=24), weight_bits=st.sampled_from([8, 11]))
def test_narrow_weights(row, weight_bits):
    """Weights rounded to 8 or 11 bits add at most u_p sum p |v|, on top of the rest."""
    exact = attn.attention([row.q], row.K, row.V)
    actual = rounded.attention_row(row.q, row.K, row.V, row.bits, weight_bits=weight_bits)
    u_p = rounded.unit_roundoff(weight_bits)
    for c, (a, b) in enumerate(zip(actual, exact.output[0], strict=True)):
        column = [v[c] for v in row.V]
        share = u_p * attn.dot(exact.weights[0], [abs(v) for v in column])
        rest = allowance(row) * max(map(abs, column))
        assert_at_most(abs(a - b), share + (1 + u_p) * rest)


def test_narrow_weights_not_centred():
    """Constant values are not kept: with v = 1 the output misses 1 by most of u_p."""
    u_p = rounded.unit_roundoff(8)
    # one key on top, the others just above a midpoint between two 8-bit numbers
    low = mp.log(mp.mpf(257) / 256 / 2)
    K = [[mp.zero]] + [[rounded.to_format(low, 24)]] * 40
    (output,) = rounded.attention_row([mp.one], K, [[mp.one]] * 41, 24, weight_bits=8)
    assert mp.mpf("0.9") * u_p < abs(output - 1) <= mp.mpf("1.01") * u_p


@given(offset=numbers(2), least=st.sampled_from([-24, -133, -149, -1074]))
def test_finite_mask_rounding(offset, least):
    """exp(-gap) is exactly 0 in a format if and only if it is at most half its least number."""
    gap = -least * mp.log(2) + offset
    weight = mp.exp(-gap)
    stored = rounded.to_format(weight, 8, least)
    assert (stored == 0) == (weight <= mp.ldexp(mp.one, least - 1))


def test_finite_mask_rounding_example():
    """-10000 masks exactly in every format on scores near 0, and not on scores near -10000."""
    for least in (-24, -133, -149, -1074):
        far = attn.softmax([Fraction(1, 3), -10_000])
        assert_equal(rounded.to_format(far[1], 8, least), 0)
        near = attn.softmax([-9_999, -10_000])
        assert rounded.to_format(near[1], 8, least) > 0.25


@given(x=st.fractions(-1000, 1000, max_denominator=999), bits=precisions)
def test_format_nearest(x, bits):
    """The yardstick itself: a stored number is the nearest, within u relative to the number."""
    stored = rounded.to_format(x, bits)
    assert_at_most(abs(stored - mp.convert(x)), rounded.unit_roundoff(bits) * abs(mp.convert(x)))
    assert_equal(rounded.to_format(stored, bits), stored)
    assert_equal(rounded.to_format(stored, bits, -2000), stored)
