"""Softmax: its invariants, its derivative, its bounds."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from . import attention_mp as attn
from .attention_mp import mp
from .inputs import numbers, score_rows, vectors
from .measure import assert_agree, assert_at_most, derivative


@given(scores=score_rows())
def test_softmax_positive(scores):
    """Every weight is positive, however far its score lies below the others."""
    assert all(p > 0 for p in attn.softmax(scores))


@given(scores=score_rows())
def test_softmax_sum(scores):
    """The weights add up to 1."""
    assert_agree(mp.fsum(attn.softmax(scores)), 1)


@given(scores=score_rows(), c=numbers(1000))
def test_softmax_shift(scores, c):
    """Adding one number to every score changes no weight."""
    shifted = attn.softmax([s + c for s in scores])
    assert_agree(shifted, attn.softmax(scores), scale=0)


@given(scores=score_rows(least=2))
def test_softmax_ratio(scores):
    """p_i / p_j = exp(s_i - s_j)."""
    p = attn.softmax(scores)
    for i, s in enumerate(scores):
        assert_agree([p[i] / q for q in p], [mp.exp(s - t) for t in scores], scale=0)


@given(scores=score_rows(least=2))
def test_softmax_order(scores):
    """A larger score has the larger weight, equal scores have equal weights."""
    p = attn.softmax(scores)
    for s, p_s in zip(scores, p):
        for t, p_t in zip(scores, p):
            assert (s < t) == (p_s < p_t)


@given(n=st.integers(1, 12), score=numbers(500))
def test_softmax_uniform(n, score):
    """Equal scores give the weights 1/n."""
    assert_agree(attn.softmax([score] * n), [Fraction(1, n)] * n, scale=0)


@given(
    below=st.lists(numbers(30), min_size=1, max_size=5),
    gap=numbers(20).map(lambda x: abs(x) + Fraction(1, 10)),
    beta=numbers(5).map(lambda x: abs(x) + Fraction(1, 7)),
)
def test_softmax_saturation(below, gap, beta):
    """With a gap D below the largest score, 1 - p_max <= (n - 1) exp(-beta D); equal gaps attain it
    up to the factor p_max.
    """
    top = max(below) + gap
    p = attn.softmax([beta * top] + [beta * s for s in below])
    rest = mp.fsum(p[1:])  # 1 - p_max without cancellation
    assert_at_most(rest, len(below) * mp.exp(-mp.convert(beta * gap)))
    level = attn.softmax([beta * gap] + [0] * len(below))
    bound = len(below) * mp.exp(-mp.convert(beta * gap))
    assert_agree(mp.fsum(level[1:]), level[0] * bound, scale=0)


def test_softmax_example():
    """softmax(2, 1, 0) is 66.5 %, 24.5 %, 9.0 %, and to 50 digits what exp(1) gives."""
    p = attn.softmax([2, 1, 0])
    assert [mp.nstr(100 * x, 3) for x in p] == ["66.5", "24.5", "9.0"]
    e = mp.e
    assert_agree(p, [e**2 / (e**2 + e + 1), e / (e**2 + e + 1), 1 / (e**2 + e + 1)], scale=0)


@given(scores=score_rows(bound=20, largest=5))
def test_softmax_jacobian(scores):
    """dp_i/ds_j = p_i (delta_ij - p_j), against central differences of 60 digits."""
    J = attn.softmax_jacobian(scores)
    for j, s in enumerate(scores):
        column = derivative(lambda x, j=j: attn.softmax([*scores[:j], x, *scores[j + 1 :]]), s)
        assert_agree([row[j] for row in J], column)


@given(scores=score_rows())
def test_softmax_jacobian_bound(scores):
    """The absolute row sums are 2 p_i (1 - p_i) <= 1/2."""
    p = attn.softmax(scores)
    for i, row in enumerate(attn.softmax_jacobian(scores)):
        total = mp.fsum([abs(x) for x in row])
        assert_agree(total, 2 * p[i] * (1 - p[i]))
        assert_at_most(total, mp.mpf(1) / 2)


@given(score=numbers(50))
def test_softmax_jacobian_bound_attained(score):
    """Two equal scores attain the bound 1/2; a gap D leaves at most 2 exp(-D)."""
    rows = attn.softmax_jacobian([score, score])
    assert_agree([mp.fsum([abs(x) for x in row]) for row in rows], [mp.mpf(1) / 2] * 2, scale=0)
    gap = abs(score)
    for row in attn.softmax_jacobian([gap, 0]):
        assert_at_most(mp.fsum([abs(x) for x in row]), 2 * mp.exp(-mp.convert(gap)))


@given(data=st.data(), scores=score_rows())
def test_softmax_permutation(data, scores):
    """Permuting the scores permutes the weights."""
    order = data.draw(st.permutations(range(len(scores))))
    p = attn.softmax(scores)
    assert_agree(attn.softmax([scores[i] for i in order]), [p[i] for i in order], scale=0)


@given(a=numbers(80), b=numbers(80))
def test_softmax_two_keys(a, b):
    """With two keys, p_1 is the logistic function of the difference."""
    logistic = 1 / (1 + mp.exp(mp.convert(b - a)))
    assert_agree(attn.softmax([a, b])[0], logistic, scale=0)


@given(scores=score_rows())
def test_softmax_jacobian_null(scores):
    """Rows and columns of the Jacobian add up to 0."""
    J = attn.softmax_jacobian(scores)
    zeros = [0] * len(scores)
    assert_agree([mp.fsum(row) for row in J], zeros)
    assert_agree([mp.fsum(column) for column in attn.transpose(J)], zeros)


@given(data=st.data(), scores=score_rows())
def test_softmax_jacobian_variance(data, scores):
    """u^T J u is the variance of u under the weights, so never negative."""
    u = data.draw(vectors(len(scores)))
    u = [mp.convert(x) for x in u]
    p = attn.softmax(scores)
    form = attn.dot(u, [attn.dot(row, u) for row in attn.softmax_jacobian(scores)])
    mean = attn.dot(p, u)
    assert_agree(form, mp.fsum([q * (x - mean) ** 2 for q, x in zip(p, u)]))
    assert_at_most(-form, 0, scale=1)


@given(scores=score_rows(bound=20, largest=5))
def test_lse_gradient(scores):
    """The gradient of log-sum-exp is the softmax, against central differences."""
    p = [
        derivative(lambda x, i=i: attn.logsumexp([*scores[:i], x, *scores[i + 1 :]]), s)
        for i, s in enumerate(scores)
    ]
    assert_agree(attn.softmax(scores), p)


@given(scores=score_rows())
def test_lse_bounds(scores):
    """Max <= log-sum-exp <= max + log n, both attained: one key, equal scores."""
    n, top = len(scores), mp.convert(max(scores))
    value = attn.logsumexp(scores)
    assert_at_most(top, value)
    assert_at_most(value, top + mp.log(n))
    assert_agree(attn.logsumexp([top] * n), top + mp.log(n))


@given(scores=score_rows())
def test_entropy_identity(scores):
    """Entropy = log-sum-exp - sum p_i s_i, between 0 and log n."""
    p = attn.softmax(scores)
    H = attn.entropy(p)
    assert_agree(H, attn.logsumexp(scores) - attn.dot(p, scores), scale=100)
    assert_at_most(0, H, scale=1)
    assert_at_most(H, mp.log(len(scores)))


@given(scores=score_rows(bound=10, largest=5), beta=numbers(3))
def test_entropy_temperature(scores, beta):
    """For weights p ~ exp(beta s): dH/dbeta = -beta Var_p(s)."""
    slope = derivative(lambda b: attn.entropy(attn.softmax([b * s for s in scores])), beta)
    scores = [mp.convert(s) for s in scores]
    p = attn.softmax([beta * s for s in scores])
    mean = attn.dot(p, scores)
    spread = mp.fsum([q * (s - mean) ** 2 for q, s in zip(p, scores)])
    assert_agree(slope, -beta * spread, scale=100)


@given(scores=score_rows(bound=10**6))
def test_max_subtraction(scores):
    """Shifted by the largest score every term is at most 1 and their sum lies in [1, n]."""
    total = mp.exp(attn.logsumexp(scores) - max(scores))
    assert_at_most(1, total)
    assert_at_most(total, len(scores))
    assert_agree(max(attn.softmax(scores)) * total, 1)


@given(data=st.data(), scores=score_rows(bound=10), h=numbers(3).map(abs))
def test_tv_tanh(data, scores, h):
    """Scores moved by at most h move the weights by at most tanh(h/2) in total variation."""
    n = len(scores)
    moves = data.draw(st.lists(st.integers(-7, 7), min_size=n, max_size=n))
    p = attn.softmax(scores)
    moved = attn.softmax([s + h * Fraction(m, 7) for s, m in zip(scores, moves)])
    distance = mp.fsum([abs(a - b) for a, b in zip(p, moved)]) / 2
    assert_at_most(distance, mp.tanh(mp.convert(h) / 2))


@given(h=numbers(30).map(abs))
def test_tv_tanh_attained(h):
    """Two keys at odds exp(h) moved to exp(-h) attain tanh(h/2)."""
    p, q = attn.softmax([h / 2, -h / 2]), attn.softmax([-h / 2, h / 2])
    assert_agree(abs(p[0] - q[0]), mp.tanh(mp.convert(h) / 2))


def test_softmax_no_kept_key():
    """With no finite score no weights satisfy the definition: 0/0 is refused."""
    with pytest.raises(ZeroDivisionError, match="no kept key"):
        attn.softmax([attn.NEVER, attn.NEVER])
