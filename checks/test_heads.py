"""Heads: concatenation and sum over heads, blocks of the weights, groups, counts."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from . import attention_mp as attn
from .inputs import blocks, matrices, sizes
from .measure import assert_agree, assert_equal, rank


@given(block=blocks())
def test_concat_sum(block):
    """Concatenating the heads and applying W_O is the sum of the heads times row blocks of W_O."""
    together = attn.multihead(block.X, block.source, block.layer, mask=block.mask)
    apart = attn.multihead_sum(block.X, block.source, block.layer, mask=block.mask)
    assert_agree(together, apart, scale=100)


@given(data=st.data(), T=sizes(3), H=sizes(4), d_v=sizes(3), d_model=sizes(3))
def test_concat_sum_exact(data, T, H, d_v, d_model):
    """The same for arbitrary rational heads, exactly, entry by entry over the pairs (h, r)."""
    heads = [data.draw(matrices(T, d_v)) for _ in range(H)]
    W_O = data.draw(matrices(H * d_v, d_model))
    joined = attn.join_columns(heads)
    assert attn.shape(joined) == (T, H * d_v)
    for t in range(T):
        assert_equal(joined[t], [heads[h][t][r] for h in range(H) for r in range(d_v)])
    blocks_of = attn.split_rows(W_O, H)
    total = [[Fraction(0)] * d_model for _ in range(T)]
    for h in range(H):
        assert_equal(blocks_of[h], [W_O[h * d_v + r] for r in range(d_v)])
        total = attn.add(total, attn.matmul(heads[h], blocks_of[h]))
    assert_equal(attn.matmul(joined, W_O), total)


@given(data=st.data(), T=sizes(3), d_model=sizes(3), H=sizes(4), d_k=sizes(3))
def test_head_blocks(data, T, d_model, H, d_k):
    """X W_Q cut into column blocks is X times each column block of W_Q, exactly."""
    X, W_Q = data.draw(matrices(T, d_model)), data.draw(matrices(d_model, H * d_k))
    cut = attn.split_columns(attn.matmul(X, W_Q), H)
    for h, block in enumerate(attn.split_columns(W_Q, H)):
        assert_equal(block, [[row[h * d_k + r] for r in range(d_k)] for row in W_Q])
        assert_equal(cut[h], attn.matmul(X, block))
    assert_equal(attn.join_columns(attn.split_columns(W_Q, H)), W_Q)


@given(block=blocks(largest=2))
def test_multihead_formula(block):
    """Entry (i, c) of the layer as one formula: sums over heads, keys, and head components."""
    W_Q, W_K, W_V, W_O, H = block.layer
    d_k, d_v = len(W_Q[0]) // H, len(W_V[0]) // H
    output = attn.multihead(block.X, block.source, block.layer, mask=block.mask)
    assert attn.shape(output) == attn.shape(block.X)

    def project(x, W, column):
        return attn.mp.convert(sum(x[a] * W[a][column] for a in range(len(x))))

    for i, x in enumerate(block.X):
        entries = [attn.mp.zero] * len(W_O[0])
        for h in range(H):
            q = [project(x, W_Q, h * d_k + r) for r in range(d_k)]
            powers = []
            for y, kept in zip(block.source, block.keep[i]):
                k = [project(y, W_K, h * d_k + r) for r in range(d_k)]
                score = sum(a * b for a, b in zip(q, k)) / attn.mp.sqrt(d_k)
                powers.append(kept * attn.mp.exp(score))
            for c in range(len(entries)):
                for r in range(d_v):
                    values = [project(y, W_V, h * d_v + r) for y in block.source]
                    mean = attn.mp.fdot(powers, values) / attn.mp.fsum(powers)
                    entries[c] += mean * attn.mp.convert(W_O[h * d_v + r][c])
        assert_agree(output[i], entries, scale=100)


@given(data=st.data(), d_model=sizes(5), H=sizes(3), d_v=sizes(2))
def test_multihead_rank(data, d_model, H, d_v):
    """The sum of the heads' value maps W_V^(h) W_O^(h) has rank at most H d_v, exactly."""
    W_V, W_O = data.draw(matrices(d_model, H * d_v)), data.draw(matrices(H * d_v, d_model))
    total = [[Fraction(0)] * d_model for _ in range(d_model)]
    for V_h, O_h in zip(attn.split_columns(W_V, H), attn.split_rows(W_O, H)):
        total = attn.add(total, attn.matmul(V_h, O_h))
    assert_equal(total, attn.matmul(W_V, W_O))
    assert rank(total) <= H * d_v


@given(H=sizes(3), d_v=sizes(2))
def test_multihead_rank_attained(H, d_v):
    """Identity blocks attain H d_v, which is more than d_v for several heads."""
    n = H * d_v
    W = [[int(i == j) for j in range(n)] for i in range(n + 1)]
    total = [[0] * (n + 1) for _ in range(n + 1)]
    for V_h, O_h in zip(attn.split_columns(W, H), attn.split_rows(attn.transpose(W), H)):
        total = attn.add(total, attn.matmul(V_h, O_h))
    assert rank(total) == n


@given(data=st.data(), block=blocks())
def test_head_permutation(data, block):
    """Permuting the heads together with the row blocks of W_O changes nothing."""
    H = block.layer.heads
    order = data.draw(st.permutations(range(H)))

    def permuted(parts):
        return [parts[h] for h in order]

    layer = attn.Layer(
        *(attn.join_columns(permuted(attn.split_columns(W, H))) for W in block.layer[:3]),
        [row for part in permuted(attn.split_rows(block.layer.W_O, H)) for row in part],
        H,
    )
    usual = attn.multihead(block.X, block.source, block.layer, mask=block.mask)
    moved = attn.multihead(block.X, block.source, layer, mask=block.mask)
    assert_agree(moved, usual, scale=100)


@given(block=blocks(most_heads=1))
def test_single_head_case(block):
    """With H = 1 the layer is the single-head formula times W_O."""
    W_Q, W_K, W_V, W_O, _ = block.layer
    one = attn.head(block.X, block.source, W_Q, W_K, W_V, mask=block.mask)
    layer = attn.multihead(block.X, block.source, block.layer, mask=block.mask)
    assert_agree(layer, attn.matmul(one.output, W_O))


@given(H=st.integers(1, 16), d_k=st.integers(1, 8))
def test_parameter_count(H, d_k):
    """With H d_k = H d_v = d_model there are 4 d_model^2 entries, whatever H."""
    d_model = H * d_k
    entries = [
        [[0] * columns for _ in range(rows)]
        for rows, columns in attn.layer_shapes(d_model, H, d_k, d_k)
    ]
    assert sum(len(row) for W in entries for row in W) == 4 * d_model**2


@st.composite
def _groups(draw):
    """Draw query heads in equal groups, one key/value head a group, and a mask."""
    kv, group, T, S, d_k, d_v = (draw(sizes(n)) for n in (3, 3, 2, 3, 2, 2))
    Q = [draw(matrices(T, d_k)) for _ in range(kv * group)]
    K = [draw(matrices(S, d_k)) for _ in range(kv)]
    V = [draw(matrices(S, d_v)) for _ in range(kv)]
    return Q, K, V, group


@given(inputs=_groups())
def test_gqa_tied(inputs):
    """Grouped heads are heads whose keys and values are repeated, each `group` times in a row."""
    Q, K, V, group = inputs
    repeated_K = [k for k in K for _ in range(group)]
    repeated_V = [v for v in V for _ in range(group)]
    full = [attn.attention(q, k, v).output for q, k, v in zip(Q, repeated_K, repeated_V)]
    assert_agree(attn.grouped_heads(Q, K, V), full)


@given(inputs=_groups())
def test_mqa_case(inputs):
    """One group is multi-query attention; groups of one are ordinary heads."""
    Q, K, V, _ = inputs
    multi_query = [attn.attention(q, K[0], V[0]).output for q in Q]
    assert_agree(attn.grouped_heads(Q, K[:1], V[:1]), multi_query)
    own = [attn.attention(q, k, v).output for q, k, v in zip(Q, K, V)]
    assert_agree(attn.grouped_heads(Q[: len(K)], K, V), own)


@given(data=st.data(), S=sizes(), d_c=sizes(), d_k=sizes(), T=sizes(3))
def test_latent_absorb(data, S, d_c, d_k, T):
    """With K = C W_UK: q . k = (q W_UK^T) . c, exactly: the up-projection joins the query."""
    C, W_UK = data.draw(matrices(S, d_c)), data.draw(matrices(d_c, d_k))
    Q = data.draw(matrices(T, d_k))
    absorbed = attn.matmul(Q, attn.transpose(W_UK))
    assert_equal(attn.scores(Q, attn.matmul(C, W_UK)), attn.scores(absorbed, C))
