"""Computation: counts, caches, tiles: other ways to the same numbers, and what they cost."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from . import attention_mp as attn
from .attention_mp import mp
from .inputs import heads, matrices, numbers, score_rows, sizes, vectors
from .measure import Tally, assert_agree, assert_equal, derivative, watched


def counted(T, d_k, d_v=1):
    """Return the tallies of both matrix products of T tokens, by counting numbers."""
    first, second = Tally(), Tally()
    ones = [[1] * d_k for _ in range(T)]
    table = attn.scores(first.numbers(ones), first.numbers(ones))
    weights, values = second.numbers([[1] * T] * T), second.numbers([[1] * d_v] * T)
    attn.matmul(weights, values)
    return sum(len(row) for row in table), first, second


@given(T=st.integers(1, 8), d_k=st.integers(1, 5))
def test_score_count(T, d_k):
    """There are T^2 scores; twice the tokens make four times as many; 8192^2 = 67 108 864."""
    n, _, _ = counted(T, d_k)
    assert n == T**2
    assert counted(2 * T, d_k)[0] == 4 * n
    assert 8192**2 == 67_108_864


@given(T=st.integers(1, 7), d_k=st.integers(1, 6), d_v=st.integers(1, 6))
def test_flop_count(T, d_k, d_v):
    """Scores take T^2 (2 d_k - 1) operations, values T d_v (2 T - 1), each operation counted."""
    _, scores, values = counted(T, d_k, d_v)
    assert (scores.multiplications, scores.additions) == (T**2 * d_k, T**2 * (d_k - 1))
    assert (values.multiplications, values.additions) == (T * T * d_v, T * (T - 1) * d_v)
    assert scores.multiplications + scores.additions == T**2 * (2 * d_k - 1)
    assert values.multiplications + values.additions == T * d_v * (2 * T - 1)


@given(head=heads(square=True))
def test_kv_cache(head):
    """Decoding step by step with a cache gives the rows of the full causal pass, exactly."""
    T = len(head.Q)
    full = attn.attention(head.Q, head.K, head.V, mask=attn.additive(attn.causal(T, T)))
    assert_equal(attn.decode(head.Q, head.K, head.V), full.output)


@given(head=heads(square=True), data=st.data())
def test_parallel_training(head, data):
    """Row i of the causal pass on all tokens is the last row of the pass on the first i."""
    i = data.draw(st.integers(1, len(head.Q)))

    def causal_pass(n):
        mask = attn.additive(attn.causal(n, n))
        return attn.attention(head.Q[:n], head.K[:n], head.V[:n], mask=mask).output

    assert_equal(causal_pass(i)[-1], causal_pass(len(head.Q))[i - 1])


@given(head=heads(), data=st.data())
def test_path_length(head, data):
    """do_i/dv_j = A_ij > 0: without a mask any two tokens are one step apart."""
    j = data.draw(st.integers(0, len(head.K) - 1))
    weights = attn.attention(head.Q, head.K, head.V).weights

    def outputs(x):
        V = [[x, *row[1:]] if r == j else row for r, row in enumerate(head.V)]
        return [row[0] for row in attn.attention(head.Q, head.K, V).output]

    slopes = derivative(outputs, head.V[j][0])
    assert_agree(slopes, [row[j] for row in weights])
    assert all(slope > 0 for slope in slopes)


@given(scores=score_rows(largest=8), data=st.data())
def test_online_softmax(scores, data):
    """Taking scores in one by one with any running shift ends with the full sum."""
    running = attn.nothing_seen(1)
    for s in scores:
        shift = data.draw(numbers(90))
        running = attn.merge(running, attn.partial([s], [[1]], shift), shift)
        assert_equal(running.shift, mp.convert(shift))
    total = mp.fsum([mp.exp(s) for s in scores])
    assert_agree(running.total * mp.exp(running.shift), total, scale=0)
    assert_agree(running.output[0] * mp.exp(running.shift), total, scale=0)


@given(head=heads(largest=5), row_tile=sizes(6), column_tile=sizes(6), data=st.data())
def test_tiled_attention(head, row_tile, column_tile, data):
    """Tile by tile, for any tile sizes, with the running maximum or any other shift: the same."""
    expected = attn.attention(head.Q, head.K, head.V, mask=head.mask).output
    by_maximum = attn.tiled_attention(
        head.Q, head.K, head.V, row_tile=row_tile, column_tile=column_tile, mask=head.mask
    )
    assert_agree(by_maximum, expected)
    shifts = iter(data.draw(st.lists(numbers(40), min_size=1, max_size=5)) * 1000)
    by_any = attn.tiled_attention(
        head.Q,
        head.K,
        head.V,
        row_tile=row_tile,
        column_tile=column_tile,
        mask=head.mask,
        next_shift=lambda running, row: next(shifts),
    )
    assert_agree(by_any, expected)


@given(T=st.integers(1, 9), row_tile=sizes(4), column_tile=sizes(4))
def test_tile_memory(T, row_tile, column_tile):
    """No more than row_tile * column_tile scores at a time; in all each of the T^2 once."""
    M = [[Fraction(i + 1, 3)] for i in range(T)]
    with watched(attn, "scores") as calls:
        attn.tiled_attention(M, M, M, row_tile=row_tile, column_tile=column_tile)
    areas = [len(Q) * len(K) for Q, K in calls]
    assert max(areas) == min(row_tile, T) * min(column_tile, T)
    assert sum(areas) == T**2


@given(data=st.data(), parts=st.lists(score_rows(largest=3, bound=30), min_size=3, max_size=3))
def test_merge_monoid(data, parts):
    """Merging partial results is associative and commutative, and nothing seen is its identity."""
    seen = [
        attn.partial(row, data.draw(matrices(len(row), 2)), data.draw(numbers(30))) for row in parts
    ]
    a, b, c = seen

    def value(part):
        lift = mp.exp(part.shift)
        return [part.total * lift, *(x * lift for x in part.output)]

    size = 10 * sum(abs(x) for part in seen for x in value(part))
    left, right = attn.merge(attn.merge(a, b), c), attn.merge(a, attn.merge(b, c))
    assert_agree(value(left), value(right), scale=size)
    assert_agree(value(attn.merge(a, b)), value(attn.merge(b, a)), scale=size)
    assert_agree(value(attn.merge(a, attn.nothing_seen(2))), value(a), scale=size)
    # and the merge of all is attention to all keys
    assert_agree(value(left), [sum(column) for column in zip(*map(value, seen))], scale=size)


@given(T=st.integers(1, 7), d_k=sizes(3))
def test_decode_cost(T, d_k):
    """With a cache T(T+1)/2 dot products, recomputing everything T(T+1)(2T+1)/6; both counted."""
    cached, recomputed = Tally(), Tally()
    rows = [[Fraction(1, i + 1)] * d_k for i in range(T)]
    values = [[1]] * T
    attn.decode(cached.numbers(rows), cached.numbers(rows), values)
    for n in range(1, T + 1):
        again = recomputed.numbers(rows[:n])
        attn.attention(again, again, values[:n], mask=attn.additive(attn.causal(n, n)))
    assert cached.multiplications == d_k * T * (T + 1) // 2
    assert recomputed.multiplications == d_k * T * (T + 1) * (2 * T + 1) // 6


@given(data=st.data(), T=sizes(), S=sizes(), d=sizes(), d_v=sizes())
def test_linear_attention(data, T, S, d, d_v):
    """Without softmax, (phi(Q) phi(K)^T) V = phi(Q) (phi(K)^T V), exactly."""
    Q, K, V = (data.draw(matrices(*size)) for size in ((T, d), (S, d), (S, d_v)))
    assert_equal(attn.linear_attention(Q, K, V), attn.matmul(attn.scores(Q, K), V))


@given(data=st.data(), S=sizes(3), probability=st.sampled_from([Fraction(1, 3), Fraction(7, 10)]))
def test_dropout_unbiased(data, S, probability):
    """Inverted dropout on the weights: E[O] = A V, over every pattern, exactly."""
    V = data.draw(matrices(S, 2))
    A = [[abs(x) + Fraction(1, 7) for x in data.draw(vectors(S))]]
    mean = [[Fraction(0)] * 2]
    for keep in product([0, 1], repeat=S):
        chance = (1 - probability) ** sum(keep) * probability ** (S - sum(keep))
        dropped = attn.matmul(attn.dropout(A, [keep], probability), V)
        mean = attn.add(mean, attn.scaled(dropped, chance))
    assert_equal(mean, attn.matmul(A, V))
