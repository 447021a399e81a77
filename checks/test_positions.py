"""Positions: rotary embeddings, linear biases, sinusoids."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from . import attention_mp as attn
from .attention_mp import mp
from .inputs import heads, numbers, vectors
from .measure import assert_agree

positions = st.integers(0, 60)
bases = st.sampled_from([2, 100, 10_000])


@st.composite
def _even_vectors(draw, count):
    """Draw vectors of one even length."""
    d = 2 * draw(st.integers(1, 3))
    return [draw(vectors(d)) for _ in range(count)]


@given(pair=_even_vectors(2), m=positions, n=positions, move=positions, base=bases)
def test_rope_relative(pair, m, n, move, base):
    """<R_m q, R_n k> depends on n - m only; for m = n it is q . k."""
    q, k = pair

    def score(m, n):
        return attn.dot(attn.rotate(q, m, base), attn.rotate(k, n, base))

    assert_agree(score(m, n), score(m + move, n + move), scale=100)
    assert_agree(score(m, n), attn.dot(q, attn.rotate(k, n - m, base)), scale=100)
    assert_agree(score(m, m), attn.dot(q, k), scale=100)


@given(one=_even_vectors(1), m=positions, base=bases)
def test_rope_norm(one, m, base):
    """Rotations keep norms, pair by pair; the first pair turns by m radians."""
    (x,) = one
    y = attn.rotate(x, m, base)
    for a in range(len(x) // 2):
        before, after = x[2 * a : 2 * a + 2], y[2 * a : 2 * a + 2]
        assert_agree(attn.dot(after, after), attn.dot(before, before), scale=100)
    turned = mp.mpc(*attn.real([x])[0][:2]) * mp.expj(m)
    assert_agree(y[:2], [turned.real, turned.imag], scale=100)


@given(head=heads(square=True), slope=numbers(3))
def test_alibi_shift(head, slope):
    """A bias -a (i - j) on kept keys gives the same weights as +a j."""
    T = len(head.Q)
    causal = attn.additive(attn.causal(T, T))
    relative = attn.add(attn.alibi(T, T, slope), causal)
    absolute = attn.add([[slope * j for j in range(T)]] * T, causal)
    assert_agree(
        attn.attention(head.Q, head.K, head.V, mask=relative).weights,
        attn.attention(head.Q, head.K, head.V, mask=absolute).weights,
        scale=0,
    )


@given(T=st.integers(2, 5), slope=numbers(3))
def test_alibi_distance(T, slope):
    """On equal scores the weight falls by exp(-a) with each position back."""
    same = [[1]] * T
    mask = attn.add(attn.alibi(T, T, slope), attn.additive(attn.causal(T, T)))
    last = attn.attention(same, same, same, mask=mask).weights[-1]
    ratios = [last[j] / last[j + 1] for j in range(T - 1)]
    assert_agree(ratios, [mp.exp(-mp.convert(slope))] * (T - 1), scale=0)


@given(half=st.integers(1, 3), t=positions, offset=st.integers(-20, 20), base=bases)
def test_sinusoid_shift(half, t, offset, base):
    """The encoding at t + offset is one fixed matrix times the encoding at t."""
    d = 2 * half
    R = attn.sinusoid_shift(offset, d, base)
    encoding = attn.sinusoid(t, d, base)
    assert_agree([attn.dot(row, encoding) for row in R], attn.sinusoid(t + offset, d, base))
    assert_agree(encoding[:2], [mp.sin(t), mp.cos(t)])
