"""Notation: products entry by entry, the score matrix, rows or columns, the table of shapes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from . import attention_mp as attn
from .inputs import blocks, matrices, sizes
from .measure import assert_agree, assert_equal


@given(data=st.data(), m=sizes(), n=sizes(), p=sizes())
def test_matmul_entry(data, m, n, p):
    """(AB)_ij = sum_a A_ia B_aj, exactly."""
    A, B = data.draw(matrices(m, n)), data.draw(matrices(n, p))
    AB = attn.matmul(A, B)
    assert attn.shape(AB) == (m, p)
    for i in range(m):
        for j in range(p):
            assert AB[i][j] == sum(A[i][a] * B[a][j] for a in range(n))


def test_matmul_example():
    """[[1, 2], [3, 4]] [[5, 7], [6, 8]] = [[17, 23], [39, 53]]."""
    assert_equal(attn.matmul([[1, 2], [3, 4]], [[5, 7], [6, 8]]), [[17, 23], [39, 53]])


@given(data=st.data(), m=sizes(), n=sizes(), p=sizes())
def test_transpose_product(data, m, n, p):
    """(AB)^T = B^T A^T, exactly."""
    A, B = data.draw(matrices(m, n)), data.draw(matrices(n, p))
    swapped = attn.matmul(attn.transpose(B), attn.transpose(A))
    assert_equal(attn.transpose(attn.matmul(A, B)), swapped)


@given(data=st.data(), T=sizes(), S=sizes(), d_k=sizes())
def test_score_entry(data, T, S, d_k):
    """(Q K^T)_ij = q_i . k_j, exactly, also for as many tokens as dimensions."""
    Q, K = data.draw(matrices(T, d_k)), data.draw(matrices(S, d_k))
    table = attn.scores(Q, K)
    assert_equal(table, attn.matmul(Q, attn.transpose(K)))
    for i in range(T):
        for j in range(S):
            assert table[i][j] == sum(Q[i][a] * K[j][a] for a in range(d_k))


@given(data=st.data(), T=sizes(3), d_model=sizes(3), d_k=sizes(3))
def test_score_bilinear(data, T, d_model, d_k):
    """Q K^T = X (W_Q W_K^T) X^T, exactly."""
    X = data.draw(matrices(T, d_model))
    W_Q, W_K = data.draw(matrices(d_model, d_k)), data.draw(matrices(d_model, d_k))
    circuit = attn.matmul(W_Q, attn.transpose(W_K))
    bilinear = attn.matmul(attn.matmul(X, circuit), attn.transpose(X))
    assert_equal(attn.scores(attn.matmul(X, W_Q), attn.matmul(X, W_K)), bilinear)


@given(block=blocks(most_heads=1, self_attention=True))
def test_orientation_scores(block):
    """With tokens as columns the scores are the transposed scores: K_c^T Q_c = (Q K^T)^T."""
    W_Q, W_K, W_V, W_O, _ = block.layer
    columns = attn.head_columns(attn.transpose(block.X), W_Q, W_K, W_V, W_O)
    rows = attn.head(block.X, block.X, W_Q, W_K, W_V)
    assert_agree(columns.scores, attn.transpose(rows.scores))


@given(data=st.data(), T=sizes(), S=sizes())
def test_orientation_softmax(data, T, S):
    """Softmax down the columns of S^T is the transposed softmax along the rows of S."""
    table = data.draw(matrices(T, S, 30))
    columns = attn.softmax_columns(attn.transpose(table))
    assert_agree(columns, attn.transpose(attn.softmax_rows(table)), scale=0)


@given(block=blocks(most_heads=1, self_attention=True))
def test_orientation_attention(block):
    """Rows and columns give transposed results at every stage, mask, W_O and residual included."""
    W_Q, W_K, W_V, W_O, _ = block.layer
    X_c = attn.transpose(block.X)
    columns = attn.head_columns(X_c, W_Q, W_K, W_V, W_O, mask=block.mask)
    rows = attn.head(block.X, block.X, W_Q, W_K, W_V, mask=block.mask)
    update = attn.matmul(rows.output, W_O)
    stages = [
        (columns.queries, attn.matmul(block.X, W_Q)),
        (columns.keys, attn.matmul(block.X, W_K)),
        (columns.values, attn.matmul(block.X, W_V)),
        (columns.weights, rows.weights),
        (columns.output, rows.output),
        (columns.update, update),
        (attn.residual(X_c, columns.update), attn.residual(block.X, update)),
    ]
    for column_form, row_form in stages:
        assert_agree(column_form, attn.transpose(row_form))


@given(block=blocks())
def test_shapes(block):
    """Every line of the table of shapes, queries and keys of different lengths included."""
    layer, T, S, d_model = block.layer, len(block.X), len(block.source), len(block.X[0])
    H = layer.heads
    d_k, d_v = len(layer.W_Q[0]) // H, len(layer.W_V[0]) // H
    assert attn.shape(layer.W_O) == (H * d_v, d_model)
    heads = [
        attn.head(block.X, block.source, W_Q, W_K, W_V)
        for W_Q, W_K, W_V in zip(
            attn.split_columns(layer.W_Q, H),
            attn.split_columns(layer.W_K, H),
            attn.split_columns(layer.W_V, H),
        )
    ]
    for one in heads:
        assert attn.shape(one.scores) == attn.shape(one.weights) == (T, S)
        assert attn.shape(one.output) == (T, d_v)
    assert attn.shape(attn.split_columns(layer.W_Q, H)[0]) == (d_model, d_k)
    assert attn.shape(attn.join_columns([one.output for one in heads])) == (T, H * d_v)
    update = attn.multihead(block.X, block.source, layer)
    assert attn.shape(update) == (T, d_model)
    assert attn.shape(attn.residual(block.X, update)) == (T, d_model)
