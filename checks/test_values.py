"""Values: weighted sums, the maps W_V W_O and W_Q W_K^T, their ranks, what changes nothing."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from . import attention_mp as attn
from .attention_mp import mp
from .inputs import blocks, heads, matrices, nonzero, sizes, vectors
from .measure import assert_agree, assert_at_most, assert_equal, in_row_space, rank


@given(head=heads())
def test_weighted_sum(head):
    """Row i of the output is sum_j A_ij v_j."""
    stages = attn.attention(head.Q, head.K, head.V, mask=head.mask)
    for weights, output in zip(stages.weights, stages.output):
        for c in range(len(head.V[0])):
            assert_agree(output[c], mp.fsum([p * v[c] for p, v in zip(weights, head.V)]))


@given(head=heads())
def test_convex_bounds(head):
    """Each output lies between the least and the largest value of its column, kept keys only."""
    output = attn.attention(head.Q, head.K, head.V, mask=head.mask).output
    for row, keep in zip(output, head.keep):
        for c, entry in enumerate(row):
            kept = [mp.convert(v[c]) for v, k in zip(head.V, keep) if k]
            assert_at_most(min(kept), entry)
            assert_at_most(entry, max(kept))


@given(block=blocks(most_heads=1))
def test_ov_circuit(block):
    """(A (X W_V)) W_O = A X (W_V W_O)."""
    W_Q, W_K, W_V, W_O, _ = block.layer
    stages = attn.head(block.X, block.source, W_Q, W_K, W_V, mask=block.mask)
    circuit = attn.matmul(attn.matmul(stages.weights, block.source), attn.matmul(W_V, W_O))
    assert_agree(attn.matmul(stages.output, W_O), circuit, scale=100)


@given(data=st.data(), d_model=sizes(5), d_v=sizes(3))
def test_rank_vo(data, d_model, d_v):
    """rank(W_V W_O) <= d_v, by exact elimination."""
    W_V, W_O = data.draw(matrices(d_model, d_v)), data.draw(matrices(d_v, d_model))
    product = attn.matmul(W_V, W_O)
    assert attn.shape(product) == (d_model, d_model)
    assert rank(product) <= d_v


@given(data=st.data(), T=sizes(5), d_model=sizes(4), d_k=sizes(3))
def test_rank_qk(data, T, d_model, d_k):
    """rank(W_Q W_K^T) <= d_k and rank(Q K^T) <= d_k, by exact elimination."""
    W_Q, W_K = data.draw(matrices(d_model, d_k)), data.draw(matrices(d_model, d_k))
    X = data.draw(matrices(T, d_model))
    circuit = attn.matmul(W_Q, attn.transpose(W_K))
    table = attn.scores(attn.matmul(X, W_Q), attn.matmul(X, W_K))
    assert (attn.shape(circuit), attn.shape(table)) == ((d_model, d_model), (T, T))
    assert rank(circuit) <= d_k
    assert rank(table) <= d_k


@given(data=st.data(), T=sizes(5), S=sizes(3), d_v=sizes(3), d_model=sizes(5))
def test_head_update_subspace(data, T, S, d_v, d_model):
    """Every row of a head's update lies in the row space of W_O, so rank(O W_O) <= d_v.

    Exact: the weights are rational rows that add up to 1.
    """
    parts = data.draw(
        st.lists(st.lists(st.integers(1, 9), min_size=S, max_size=S), min_size=T, max_size=T)
    )
    A = [[Fraction(n, sum(row)) for n in row] for row in parts]
    V, W_O = data.draw(matrices(S, d_v)), data.draw(matrices(d_v, d_model))
    update = attn.matmul(attn.matmul(A, V), W_O)
    assert attn.shape(update) == (T, d_model)
    assert rank(update) <= d_v
    assert all(in_row_space(row, W_O) for row in update)


@given(block=blocks())
def test_residual(block):
    """X' - X is the layer's update, entry by entry, in the shape of X."""
    update = attn.multihead(block.X, block.source, block.layer, mask=block.mask)
    after = attn.residual(block.X, update)
    assert attn.shape(after) == attn.shape(block.X)
    assert_agree(
        [[-x for x in row] for row in attn.residual(attn.scaled(after, -1), block.X)], update
    )


@given(block=blocks(most_heads=1))
def test_single_head_formula(block):
    """The staged computation is softmax(X W_Q (Y W_K)^T / sqrt(d_k) + M) Y W_V, in one line."""
    W_Q, W_K, W_V, _, _ = block.layer
    staged = attn.head(block.X, block.source, W_Q, W_K, W_V, mask=block.mask)
    root = mp.sqrt(len(W_Q[0]))
    for i, x in enumerate(block.X):
        powers = [
            mp.exp(_bilinear(x, W_Q, W_K, y) / root) * kept
            for y, kept in zip(block.source, block.keep[i])
        ]
        for c in range(len(W_V[0])):
            values = [sum(y[a] * W_V[a][c] for a in range(len(y))) for y in block.source]
            line = mp.fsum([p * v for p, v in zip(powers, values)]) / mp.fsum(powers)
            assert_agree(staged.output[i][c], line, scale=100)


def _bilinear(x, W_Q, W_K, y):
    """Return x W_Q W_K^T y^T as a double sum."""
    return mp.fsum(
        [
            mp.convert(x[a] * W_Q[a][r] * W_K[b][r] * y[b])
            for a in range(len(x))
            for b in range(len(y))
            for r in range(len(W_Q[0]))
        ]
    )


@given(block=blocks(most_heads=1))
def test_cross_attention(block):
    """Queries from the target, keys and values from the source; self-attention is X = Y."""
    W_Q, W_K, W_V, _, _ = block.layer
    X, Y = block.X, block.source
    cross = attn.head(X, Y, W_Q, W_K, W_V, mask=block.mask)
    assert attn.shape(cross.weights) == (len(X), len(Y))
    assert attn.shape(cross.output) == (len(X), len(W_V[0]))
    # tokens of both in one self-attention, targets kept from each other: the same rows
    both = [*X, *Y]
    keep = [[False] * len(X) + row for row in block.keep] + [[True] * len(both) for _ in Y]
    together = attn.head(both, both, W_Q, W_K, W_V, mask=attn.additive(keep))
    assert_agree(together.output[: len(X)], cross.output)


@given(d_model=st.integers(1, 6), data=st.data())
def test_rank_vo_attained(d_model, data):
    """The bound d_v is attained: identity blocks have rank d_v."""
    d_v = data.draw(st.integers(1, d_model))
    W_V = [[int(i == j) for j in range(d_v)] for i in range(d_model)]
    assert rank(attn.matmul(W_V, attn.transpose(W_V))) == d_v


@given(data=st.data(), head=heads())
def test_constant_values(data, head):
    """When every value row is v, every output row is v."""
    v = data.draw(vectors(len(head.V[0])))
    output = attn.attention(head.Q, head.K, [v] * len(head.K), mask=head.mask).output
    assert_agree(output, [v] * len(head.Q))


@given(data=st.data(), head=heads())
def test_key_bias_invisible(data, head):
    """One vector added to every key changes no weight."""
    b = data.draw(vectors(len(head.K[0])))
    moved = attn.attention(head.Q, attn.add(head.K, [b] * len(head.K)), head.V, mask=head.mask)
    usual = attn.attention(head.Q, head.K, head.V, mask=head.mask)
    assert_agree(moved.weights, usual.weights, scale=0)


@given(data=st.data(), head=heads())
def test_value_bias_through(data, head):
    """One vector added to every value is added to every output."""
    b = data.draw(vectors(len(head.V[0])))
    moved = attn.attention(head.Q, head.K, attn.add(head.V, [b] * len(head.V)), mask=head.mask)
    usual = attn.attention(head.Q, head.K, head.V, mask=head.mask)
    assert_agree(moved.output, attn.add(usual.output, [b] * len(head.Q)))


@given(data=st.data(), block=blocks(self_attention=True, largest=4, most_heads=2))
def test_permutation_equivariance(data, block):
    """Without a mask, permuting tokens permutes outputs; keys with values change nothing."""
    order = data.draw(st.permutations(range(len(block.X))))
    X = [block.X[i] for i in order]
    usual = attn.multihead(block.X, block.X, block.layer)
    assert_agree(attn.multihead(X, X, block.layer), [usual[i] for i in order], scale=100)
    assert_agree(attn.multihead(block.X, X, block.layer), usual, scale=100)


@given(head=heads(), times=st.integers(2, 3))
def test_duplicate_keys(head, times):
    """The whole list of keys and values several times over gives the same output."""
    keep = [row * times for row in head.keep]
    repeated = attn.attention(head.Q, head.K * times, head.V * times, mask=attn.additive(keep))
    usual = attn.attention(head.Q, head.K, head.V, mask=head.mask)
    assert_agree(repeated.output, usual.output)
    assert_agree(
        [row[: len(head.K)] for row in repeated.weights], attn.scaled(usual.weights, mp.one / times)
    )


@given(data=st.data(), block=blocks(most_heads=1, largest=3))
def test_gauge(data, block):
    """Q G with K G^-T leaves the scores, V G with G^-1 W_O leaves the updates as they were."""
    W_Q, W_K, W_V, W_O, _ = block.layer
    usual = attn.head(block.X, block.source, W_Q, W_K, W_V, mask=block.mask)
    G, inverse = data.draw(_invertible(len(W_Q[0])))
    H, inverse_H = data.draw(_invertible(len(W_V[0])))
    moved = attn.head(
        block.X,
        block.source,
        attn.matmul(W_Q, G),
        attn.matmul(W_K, attn.transpose(inverse)),
        attn.matmul(W_V, H),
        mask=block.mask,
    )
    assert_agree(moved.scores, usual.scores, scale=10**4)
    update = attn.matmul(moved.output, attn.matmul(inverse_H, W_O))
    assert_agree(update, attn.matmul(usual.output, W_O), scale=10**4)


@st.composite
def _invertible(draw, n):
    """Return a product of elementary matrices, with its inverse, not symmetric in general."""
    G = inverse = [[Fraction(int(i == j)) for j in range(n)] for i in range(n)]
    for i in range(n):
        for j in range(n):
            a = draw(nonzero(2))
            step = [[Fraction(int(r == c)) for c in range(n)] for r in range(n)]
            back = [row[:] for row in step]
            step[i][j], back[i][j] = (a, 1 / a) if i == j else (a, -a)
            G = [[sum(x * y for x, y in zip(row, c)) for c in zip(*step)] for row in G]
            inverse = [[sum(x * y for x, y in zip(row, c)) for c in zip(*inverse)] for row in back]
    return G, inverse


@given(block=blocks(most_heads=1))
def test_exact_linear_part(block):
    """With rational weights the two orders of A, W_V, W_O agree exactly, not only to 50 digits."""
    _, _, W_V, W_O, _ = block.layer
    A = [
        [Fraction(1 + i + 2 * j, 7) for j in range(len(block.source))] for i in range(len(block.X))
    ]
    left = attn.matmul(attn.matmul(A, attn.matmul(block.source, W_V)), W_O)
    right = attn.matmul(attn.matmul(A, block.source), attn.matmul(W_V, W_O))
    assert_equal(left, right)
