"""Masking: masked keys have weight exactly 0 and no influence at all."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from . import attention_mp as attn
from .attention_mp import mp
from .inputs import blocks, heads, matrices, nonzero, numbers, score_rows, sizes, vectors
from .measure import assert_agree, assert_at_most, assert_equal


def changed(draw, rows, which):
    """Return the matrix with other numbers in the rows named by `which`."""
    return [draw(vectors(len(row), 50)) if i in which else row for i, row in enumerate(rows)]


@given(head=heads())
def test_mask_exact_zero(head):
    """The weight of a masked key is exactly 0, that of a kept key is positive."""
    weights = attn.attention(head.Q, head.K, head.V, mask=head.mask).weights
    for row, keep in zip(weights, head.keep):
        for weight, kept in zip(row, keep):
            assert weight > 0 if kept else weight == 0


@given(head=heads())
def test_mask_renormalises(head):
    """The kept weights are the softmax over the kept keys alone, and add up to 1."""
    S = attn.attention(head.Q, head.K, head.V).scores
    weights = attn.attention(head.Q, head.K, head.V, mask=head.mask).weights
    for row, scores, keep in zip(weights, S, head.keep):
        kept = [j for j, kept in enumerate(keep) if kept]
        alone = attn.softmax([scores[j] for j in kept])
        assert_agree([row[j] for j in kept], alone, scale=0)
        assert_agree(mp.fsum(row), 1)


@given(data=st.data(), head=heads(least_keys=2))
def test_mask_ignores_masked_keys(data, head):
    """Other keys and values in masked places move no output, not even in the last digit."""
    column = data.draw(st.integers(0, len(head.K) - 1))
    keep = [[kept and j != column for j, kept in enumerate(row)] for row in head.keep]
    for row in keep:
        if not any(row):
            row[(column + 1) % len(row)] = True
    mask = attn.additive(keep)
    before = attn.attention(head.Q, head.K, head.V, mask=mask)
    K, V = changed(data.draw, head.K, {column}), changed(data.draw, head.V, {column})
    after = attn.attention(head.Q, K, V, mask=mask)
    assert_equal(after.output, before.output)
    assert_equal(after.weights, before.weights)


@given(scores=score_rows(bound=20), data=st.data())
def test_zero_mask_leaks(scores, data):
    """A masked score of 0, not minus infinity, keeps weight 1/(sum_kept e^s + n_masked) > 0."""
    n_masked = data.draw(st.integers(1, 4))
    p = attn.softmax([*scores, *[0] * n_masked])
    expected = 1 / (mp.fsum([mp.exp(s) for s in scores]) + n_masked)
    assert_agree(p[len(scores) :], [expected] * n_masked, scale=0)
    assert expected > 0
    exact = attn.softmax([*map(mp.convert, scores), *[attn.NEVER] * n_masked])
    assert_equal(exact[len(scores) :], [0] * n_masked)


@given(head=heads(square=True))
def test_causal_first_row(head):
    """The first token attends to itself only: its output is the first value, exactly."""
    T = len(head.Q)
    mask = attn.additive(attn.causal(T, T))
    stages = attn.attention(head.Q, head.K, head.V, mask=mask)
    assert_equal(stages.weights[0], [1] + [0] * (T - 1))
    assert_equal(stages.output[0], [mp.convert(x) for x in head.V[0]])


@given(data=st.data(), block=blocks(self_attention=True, largest=4, most_heads=2))
def test_causal_no_future(data, block):
    """Other tokens after position i move no output up to i, through scores or values."""
    T = len(block.X)
    i = data.draw(st.integers(0, T - 1))
    mask = attn.additive(attn.causal(T, T))
    future = set(range(i + 1, T))
    other = changed(data.draw, block.X, future)
    before = attn.multihead(block.X, block.X, block.layer, mask=mask)
    after = attn.multihead(other, other, block.layer, mask=mask)
    assert_equal(after[: i + 1], before[: i + 1])


@given(T=st.integers(1, 40))
def test_causal_count(T):
    """A causal mask keeps T (T + 1) / 2 pairs, and row i (from 1) keeps i."""
    keep = attn.causal(T, T)
    assert [sum(row) for row in keep] == list(range(1, T + 1))
    assert sum(map(sum, keep)) == T * (T + 1) // 2


@given(head=heads())
def test_post_mask_sum(head):
    """Masked after softmax a row sums to 1 - masked mass; renormalised it is masking before."""
    weights = attn.attention(head.Q, head.K, head.V).weights
    before = attn.attention(head.Q, head.K, head.V, mask=head.mask).weights
    for row, keep, masked in zip(weights, head.keep, before):
        after = [p if kept else 0 for p, kept in zip(row, keep)]
        lost = mp.fsum([p for p, kept in zip(row, keep) if not kept])
        assert_agree(mp.fsum(after), 1 - lost)
        assert_agree([p / mp.fsum(after) for p in after], masked, scale=0)


@given(kept=score_rows(largest=4), masked=score_rows(largest=4), c=numbers(60).map(abs))
def test_finite_mask_leak(kept, masked, c):
    """With -c instead of minus infinity the leaked mass is positive and at most
    n_masked exp(max masked - max kept - c).
    """
    p = attn.softmax([*kept, *[s - c for s in masked]])
    leak = mp.fsum(p[len(kept) :])
    assert leak > 0
    assert_at_most(leak, len(masked) * mp.exp(mp.convert(max(masked) - max(kept) - c)))


@given(head=heads())
def test_bool_additive(head):
    """A boolean mask and its additive form 0 / minus infinity give the same output."""
    S = attn.attention(head.Q, head.K, head.V).scores
    chosen = [[s if kept else attn.NEVER for s, kept in zip(*rows)] for rows in zip(S, head.keep)]
    expected = attn.matmul(attn.softmax_rows(chosen), head.V)
    masked = attn.attention(head.Q, head.K, head.V, mask=attn.additive(head.keep))
    assert_equal(masked.output, expected)


@given(data=st.data(), head=heads())
def test_mask_and(data, head):
    """Adding two 0 / minus infinity masks is the AND of the boolean masks."""
    other = [
        [data.draw(st.booleans()) or (kept and sum(row) == 1) for kept in row] for row in head.keep
    ]
    both = [[a and b for a, b in zip(*rows)] for rows in zip(head.keep, other)]
    for row, first in zip(both, head.keep):
        if not any(row):
            row[first.index(True)] = True
    other = [[b or c for b, c in zip(*rows)] for rows in zip(other, both)]
    added = attn.add(attn.additive(head.keep), attn.additive(other))
    assert_equal(added, attn.additive(both))
    summed = attn.attention(head.Q, head.K, head.V, mask=added)
    assert_equal(
        summed.output, attn.attention(head.Q, head.K, head.V, mask=attn.additive(both)).output
    )


@given(head=heads())
def test_empty_row(head):
    """A row without kept keys has no weights: the definition is 0/0 and is refused."""
    keep = [[False] * len(head.K), *head.keep[1:]]
    with pytest.raises(ZeroDivisionError, match="no kept key"):
        attn.attention(head.Q, head.K, head.V, mask=attn.additive(keep))


@given(data=st.data(), head=heads())
def test_padding_invariance(data, head):
    """Masked keys appended at the end change no output."""
    extra = data.draw(sizes(3))
    K = [*head.K, *data.draw(matrices(extra, len(head.K[0]), 50))]
    V = [*head.V, *data.draw(matrices(extra, len(head.V[0]), 50))]
    mask = attn.additive([[*row, *[False] * extra] for row in head.keep])
    padded = attn.attention(head.Q, K, V, mask=mask)
    assert_equal(padded.output, attn.attention(head.Q, head.K, head.V, mask=head.mask).output)


@given(T=st.integers(1, 14), width=st.integers(1, 6), layers=st.integers(1, 4))
def test_window_band(T, width, layers):
    """A causal window w keeps min(i, w) keys in row i; l layers see l (w - 1) + 1 tokens back."""
    keep = attn.window(T, width)
    assert [sum(row) for row in keep] == [min(i, width) for i in range(1, T + 1)]
    assert all(kept <= past for pair in zip(keep, attn.causal(T, T)) for kept, past in zip(*pair))
    reach = [[int(i == j) for j in range(T)] for i in range(T)]
    for _ in range(layers):
        reach = attn.matmul([[int(kept) for kept in row] for row in keep], reach)
    seen = [sum(x > 0 for x in row) for row in reach]
    assert seen == [min(i, layers * (width - 1) + 1) for i in range(1, T + 1)]


@given(head=heads(square=True), data=st.data())
def test_prefix_property(head, data):
    """Row i under a causal mask is attention of query i to the first i keys, nothing else."""
    T = len(head.Q)
    i = data.draw(st.integers(0, T - 1))
    causal = attn.attention(head.Q, head.K, head.V, mask=attn.additive(attn.causal(T, T)))
    prefix = attn.attention([head.Q[i]], head.K[: i + 1], head.V[: i + 1])
    assert_equal(causal.output[i], prefix.output[0])
    assert_equal(causal.weights[i][: i + 1], prefix.weights[0])


@given(row=score_rows(), lift=nonzero(40), data=st.data())
def test_mask_before_softmax(row, lift, data):
    """A masked score has no say in the others: lifting it leaves every other weight as it was."""
    at = data.draw(st.integers(0, len(row)))
    scores = [mp.convert(s) for s in row]
    never = [*scores[:at], Fraction(lift) + attn.NEVER, *scores[at:]]
    p = attn.softmax(never)
    assert p[at] == 0
    assert_equal([*p[:at], *p[at + 1 :]], attn.softmax(scores))
