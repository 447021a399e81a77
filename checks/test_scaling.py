"""Scaling: mean and variance of a score, by running through every outcome of exact finite laws."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import prod

from hypothesis import given
from hypothesis import strategies as st

from . import attention_mp as attn
from .attention_mp import mp
from .inputs import blocks, heads, matrices, nonzero, numbers, score_rows, sizes
from .measure import assert_agree, assert_equal, expectation, standard_law, variance

# laws of one component with mean 0 and variance 1, each with two values
standard = nonzero(3).map(standard_law)


@st.composite
def general_laws(draw):
    """Laws with two to four rational values and rational probabilities, any mean and variance."""
    values = draw(st.lists(numbers(3), min_size=2, max_size=3, unique=True))
    parts = draw(st.lists(st.integers(1, 5), min_size=len(values), max_size=len(values)))
    return {x: Fraction(n, sum(parts)) for x, n in zip(values, parts)}


def score(*components):
    """Q . k for the components of q followed by those of k."""
    half = len(components) // 2
    return attn.dot(components[:half], components[half:])


def scaled_score(*components):
    """The score that attention computes from the same components, the scale included."""
    half = len(components) // 2
    q, k = components[:half], components[half:]
    return attn.attention([q], [k], [[1]]).scores[0][0]


def mean_of(law):
    return expectation(lambda x: x, law)


def moment(law, n):
    """The central moment of order n."""
    mean = mean_of(law)
    return expectation(lambda x: (x - mean) ** n, law)


# non-empty subsets of three variables: their products are pairwise uncorrelated, yet dependent
SUBSETS = [c for size in (1, 2, 3) for c in combinations(range(3), size)]


@given(
    laws=st.lists(standard, min_size=3, max_size=3),
    parts=st.lists(st.tuples(nonzero(3), st.sampled_from(SUBSETS)), unique_by=lambda x: x[1]),
)
def test_bienayme(laws, parts):
    """Pairwise uncorrelated variables, independent or not: variances add up.

    The variables are scaled products of distinct sets of independent standard ones.
    """
    factors = [a for a, _ in parts]

    def products(x):
        return [prod(x[i] for i in subset) for _, subset in parts]

    total = variance(lambda *x: attn.dot([1, *factors], [0, *products(x)]), *laws)
    apart = [
        variance(lambda *x, n=n, a=a: a * products(x)[n], *laws) for n, a in enumerate(factors)
    ]
    assert_equal(total, sum(apart))


@given(data=st.data(), d_k=sizes(3))
def test_qk_mean(data, d_k):
    """Independent components, those of q with mean zero: E[q . k] = 0."""
    laws = [data.draw(standard) for _ in range(d_k)]
    laws += [data.draw(general_laws()) for _ in range(d_k)]
    assert_equal(expectation(score, *laws), 0)


@given(data=st.data(), d_k=sizes(3))
def test_qk_variance(data, d_k):
    """Independent components with mean 0 and variance 1: Var(q . k) = d_k, whatever their laws."""
    laws = [data.draw(standard) for _ in range(2 * d_k)]
    assert_equal(variance(score, *laws), d_k)


@given(data=st.data(), d_k=sizes(3))
def test_qk_variance_scaled(data, d_k):
    """The scaled score, as attention computes it, has variance 1 for every d_k."""
    laws = [data.draw(standard) for _ in range(2 * d_k)]
    assert_agree(variance(scaled_score, *laws), 1)


@given(data=st.data(), d_k=sizes(3))
def test_qk_std(data, d_k):
    """The standard deviation is the square root of d_k; 8 for d_k = 64 (sign components)."""
    laws = [data.draw(standard) for _ in range(2 * d_k)]
    assert_agree(mp.sqrt(mp.convert(variance(score, *laws))), mp.sqrt(d_k))
    assert_agree(1 / attn.scale_of(64), 8, scale=0)


@given(data=st.data(), d_k=sizes(2))
def test_qk_variance_general(data, d_k):
    """Var = d_k (s_q^2 s_k^2 + s_q^2 m_k^2 + s_k^2 m_q^2) with means m and variances s^2."""
    of_q, of_k = data.draw(general_laws()), data.draw(general_laws())
    m_q, m_k, s_q, s_k = mean_of(of_q), mean_of(of_k), moment(of_q, 2), moment(of_k, 2)
    expected = d_k * (s_q * s_k + s_q * m_k**2 + s_k * m_q**2)
    assert_equal(variance(score, *[of_q] * d_k, *[of_k] * d_k), expected)


@given(law=standard, d_k=sizes(4))
def test_qk_variance_same_vector(law, d_k):
    """With q = k: mean d_k and variance d_k (E[x^4] - 1): independence is needed."""
    kappa = expectation(lambda x: x**4, law)
    assert_equal(expectation(lambda *x: score(*x, *x), *[law] * d_k), d_k)
    assert_equal(variance(lambda *x: score(*x, *x), *[law] * d_k), d_k * (kappa - 1))


@given(of_q=standard, of_k=standard, d_k=sizes(3))
def test_qk_kurtosis(of_q, of_k, d_k):
    """The excess kurtosis of q . k is (kappa_q kappa_k - 3) / d_k."""
    laws = [of_q] * d_k + [of_k] * d_k
    fourth = expectation(lambda *x: score(*x) ** 4, *laws)
    excess = fourth / variance(score, *laws) ** 2 - 3
    kappas = expectation(lambda x: x**4, of_q) * expectation(lambda x: x**4, of_k)
    assert_equal(excess, (kappas - 3) / d_k)


@given(data=st.data(), d_k=sizes(2))
def test_score_gap_variance(data, d_k):
    """The gap between the scaled scores of two independent keys has variance 2."""
    laws = [data.draw(standard) for _ in range(3 * d_k)]

    def gap(*x):
        q, k, other = x[:d_k], x[d_k : 2 * d_k], x[2 * d_k :]
        row = attn.attention([q], [k, other], [[1], [1]]).scores[0]
        return row[0] - row[1]

    assert_agree(variance(gap, *laws), 2)


@given(block=blocks(most_heads=1))
def test_scale_absorbed(block):
    """Scaling W_Q by 1/sqrt(d_k), or both projections by d_k^(-1/4), replaces the scale."""
    W_Q, W_K, W_V, _, _ = block.layer
    usual = attn.head(block.X, block.source, W_Q, W_K, W_V)
    tau = attn.scale_of(len(W_Q[0]))
    for on_queries, on_keys in ((tau, 1), (1, tau), (mp.sqrt(tau), mp.sqrt(tau))):
        Q = attn.matmul(block.X, attn.scaled(W_Q, on_queries))
        K = attn.matmul(block.source, attn.scaled(W_K, on_keys))
        absorbed = attn.attention(Q, K, attn.matmul(block.source, W_V), scale=1)
        assert_agree(absorbed.scores, usual.scores)
        assert_agree(absorbed.output, usual.output)


@given(head=heads(), beta=numbers(3))
def test_scale_is_temperature(head, beta):
    """Scores times beta: weights to the power beta, renormalised."""
    usual = attn.attention(head.Q, head.K, head.V, scale=1).weights
    powers = [[mp.power(p, mp.convert(beta)) for p in row] for row in usual]
    expected = [[p / mp.fsum(row) for p in row] for row in powers]
    assert_agree(attn.attention(head.Q, head.K, head.V, scale=beta).weights, expected, scale=0)


@given(row=score_rows(largest=6, bound=40), beta=numbers(4))
def test_temperature_of_a_row(row, beta):
    """The same for one softmax: softmax(beta s) is softmax(s) to the power beta, renormalised."""
    powers = [mp.power(p, mp.convert(beta)) for p in attn.softmax(row)]
    expected = [p / mp.fsum(powers) for p in powers]
    assert_agree(attn.softmax([beta * s for s in row]), expected, scale=0)


@given(data=st.data(), d_model=sizes(3))
def test_init_variance(data, d_model):
    """Unit second moments in X, weights of variance 1/d_model: entries of X W_Q have variance 1."""
    laws = [data.draw(standard) for _ in range(2 * d_model)]

    def entry(*drawn):
        x, w = drawn[:d_model], drawn[d_model:]
        column = [[component * attn.scale_of(d_model)] for component in w]
        return attn.matmul([x], column)[0][0]

    assert_agree(variance(entry, *laws), 1)
    assert_agree(expectation(entry, *laws), 0)


@given(data=st.data())
def test_scale_value(data):
    """The scale is 1/sqrt(d_k) with the number of columns of K, and is used when none is given."""
    d_k = data.draw(sizes(9))
    Q, K = data.draw(matrices(2, d_k)), data.draw(matrices(3, d_k))
    stages = attn.attention(Q, K, [[1]] * 3)
    assert_agree(attn.scaled(stages.scores, mp.sqrt(d_k)), attn.scores(Q, K))
