"""Gradients of attention: FlashAttention's formulas against central differences of 60 digits."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from . import attention_mp as attn
from .attention_mp import mp
from .inputs import blocks, heads, matrices, score_rows
from .measure import assert_agree, assert_at_most, assert_equal, gradient


@st.composite
def _with_output_gradient(draw):
    """Draw a head's inputs and a gradient of its output ``(T, d_v)``."""
    head = draw(heads(largest=2))
    return head, draw(matrices(len(head.Q), len(head.V[0]), 2))


def loss(output, dO):
    """Return ``sum_ic dO_ic O_ic``: the number whose gradients are taken."""
    return mp.fsum([attn.dot(a, b) for a, b in zip(attn.real(output), dO)])


def backward(head, dO):
    """Return the gradients by formula."""
    return attn.backward(head.Q, head.K, head.V, dO, mask=head.mask)


@given(inputs=_with_output_gradient())
def test_grad_values(inputs):
    """The gradient of the values is dV = A^T dO."""
    head, dO = inputs
    numeric = gradient(
        lambda V: loss(attn.attention(head.Q, head.K, V, mask=head.mask).output, dO), head.V
    )
    assert_agree(backward(head, dO).values, numeric)


@given(inputs=_with_output_gradient())
def test_grad_weights(inputs):
    """The gradient of the weights, taken as free numbers, is dA = dO V^T."""
    head, dO = inputs
    weights = attn.attention(head.Q, head.K, head.V, mask=head.mask).weights
    numeric = gradient(lambda A: loss(attn.matmul(A, head.V), dO), weights)
    assert_agree(backward(head, dO).weights, numeric)


@given(inputs=_with_output_gradient())
def test_grad_scores(inputs):
    """dS_ij = A_ij (dA_ij - sum_l A_il dA_il), against moving one score at a time."""
    head, dO = inputs
    S = attn.attention(head.Q, head.K, head.V).scores
    numeric = gradient(
        lambda table: loss(attn.matmul(attn.softmax_rows(attn.add(table, head.mask)), head.V), dO),
        S,
    )
    assert_agree(backward(head, dO).scores, numeric)


@given(inputs=_with_output_gradient())
def test_grad_delta(inputs):
    """sum_l A_il dA_il = sum_c dO_ic O_ic."""
    head, dO = inputs
    stages = attn.attention(head.Q, head.K, head.V, mask=head.mask)
    dA = backward(head, dO).weights
    for weights, of_weights, given_row, output in zip(stages.weights, dA, dO, stages.output):
        assert_agree(attn.dot(weights, of_weights), attn.dot(given_row, output))


@given(inputs=_with_output_gradient())
def test_grad_queries_keys(inputs):
    """The gradients of queries and keys are dQ = tau dS K and dK = tau dS^T Q."""
    head, dO = inputs
    analytic = backward(head, dO)
    of_queries = gradient(
        lambda Q: loss(attn.attention(Q, head.K, head.V, mask=head.mask).output, dO), head.Q
    )
    of_keys = gradient(
        lambda K: loss(attn.attention(head.Q, K, head.V, mask=head.mask).output, dO), head.K
    )
    assert_agree(analytic.queries, of_queries)
    assert_agree(analytic.keys, of_keys)


@given(inputs=_with_output_gradient())
def test_grad_masked(inputs):
    """Masked pairs have gradient exactly 0, and a key masked for all has no gradient at all."""
    head, dO = inputs
    grads = backward(head, dO)
    for row, keep in zip(grads.scores, head.keep):
        assert all(entry == 0 for entry, kept in zip(row, keep) if not kept)
    for j in range(len(head.K)):
        if not any(row[j] for row in head.keep):
            assert_equal(grads.keys[j], [0] * len(head.K[0]))
            assert_equal(grads.values[j], [0] * len(head.V[0]))


@given(block=blocks(most_heads=1, self_attention=True, largest=2), data=st.data())
def test_grad_projections(block, data):
    """dW_Q = X^T dQ, dW_K = X^T dK, dW_V = X^T dV; dX adds three paths and the residual."""
    W_Q, W_K, W_V, W_O, _ = block.layer
    X, mask = block.X, block.mask
    upstream = data.draw(matrices(len(X), len(X[0]), 2))

    def value(X, W_Q, W_K, W_V):
        update = attn.matmul(attn.head(X, X, W_Q, W_K, W_V, mask=mask).output, W_O)
        return loss(attn.residual(X, update), upstream)

    dO = attn.matmul(upstream, attn.transpose(W_O))
    Q, K, V = (attn.matmul(X, W) for W in (W_Q, W_K, W_V))
    grads = attn.backward(Q, K, V, dO, mask=mask)
    X_t = attn.transpose(X)
    assert_agree(
        attn.matmul(X_t, grads.queries), gradient(lambda W: value(X, W, W_K, W_V), W_Q), scale=100
    )
    assert_agree(
        attn.matmul(X_t, grads.keys), gradient(lambda W: value(X, W_Q, W, W_V), W_K), scale=100
    )
    assert_agree(
        attn.matmul(X_t, grads.values), gradient(lambda W: value(X, W_Q, W_K, W), W_V), scale=100
    )
    dX = upstream
    for part, W in ((grads.queries, W_Q), (grads.keys, W_K), (grads.values, W_V)):
        dX = attn.add(dX, attn.matmul(part, attn.transpose(W)))
    assert_agree(dX, gradient(lambda Y: value(Y, W_Q, W_K, W_V), X), scale=100)


@given(row=score_rows(least=2, largest=5, bound=60), data=st.data())
def test_grad_vanishes(row, data):
    """sum_j |dS_ij| <= 2 max|dA| sum_j p_j (1 - p_j) <= 4 max|dA| (1 - max p), 0 at saturation."""
    V = data.draw(matrices(len(row), 2))
    dO = data.draw(matrices(1, 2))
    scores = [[mp.convert(s)] for s in row]
    # keys that are the scores, a query 1 and scale 1: the row itself
    grads = attn.backward([[mp.one]], scores, V, dO, scale=1)
    p = attn.softmax(row)
    most = max(abs(x) for x in grads.weights[0])
    spread = mp.fsum([x * mp.fsum([*p[:i], *p[i + 1 :]]) for i, x in enumerate(p)])
    total = mp.fsum([abs(x) for x in grads.scores[0]])
    assert_at_most(total, 2 * most * spread, scale=1)
    assert_at_most(spread, 2 * mp.fsum(sorted(p)[:-1]))
