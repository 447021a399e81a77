"""Attention written out by hand, in plain Python on lists of rows: what the suites confirm.

A matrix is a list of rows. Entries may be exact (`fractions.Fraction`) or high-precision
(`mp.mpf`), and each function keeps them as they are, so identities without an exponential are
confirmed exactly. Tokens are rows; a boolean mask says True = may attend, an additive mask holds
0 or minus infinity. Nothing is optimised: each function is short enough to be read as a definition.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from mpmath import MPContext

# digits that both sides of a claim must share; the work is done with GUARD digits more
DIGITS = int(os.environ.get("ATTNPROOFS_DIGITS", "50"))
GUARD = 20

# a context of our own: nobody who sets mpmath.mp.dps can lower the precision of the suites
mp = MPContext()
mp.dps = DIGITS + GUARD

NEVER = mp.mpf("-inf")

Vector = Sequence[Any]
Matrix = Sequence[Sequence[Any]]


# --- matrices -----------------------------------------------------------------------------------


def dot(a: Vector, b: Vector) -> Any:
    """Inner product of two vectors of equal length: n multiplications, n - 1 additions."""
    products = [x * y for x, y in zip(a, b, strict=True)]
    total = products[0]
    for product in products[1:]:
        total = total + product
    return total


def transpose(A: Matrix) -> list[list[Any]]:
    """Rows become columns: ``(m, n) -> (n, m)``."""
    return [list(column) for column in zip(*A, strict=True)]


def matmul(A: Matrix, B: Matrix) -> list[list[Any]]:
    """Rows of `A` times columns of `B`: ``(m, n) (n, p) -> (m, p)``."""
    columns = transpose(B)
    return [[dot(row, column) for column in columns] for row in A]


def add(A: Matrix, B: Matrix) -> list[list[Any]]:
    """Entrywise sum of two matrices of one shape."""
    return [
        [x + y for x, y in zip(row_a, row_b, strict=True)]
        for row_a, row_b in zip(A, B, strict=True)
    ]


def scaled(A: Matrix, factor: Any) -> list[list[Any]]:
    """Every entry times `factor`."""
    return [[x * factor for x in row] for row in A]


def real(A: Matrix) -> list[list[Any]]:
    """Every entry as an `mp.mpf`: `Fraction` does not subtract or divide by one."""
    return [[mp.convert(x) for x in row] for row in A]


def shape(A: Matrix) -> tuple[int, int]:
    """Rows and columns."""
    return len(A), len(A[0])


# --- softmax ------------------------------------------------------------------------------------


def softmax(scores: Vector) -> list[Any]:
    """Weights ``e^(s_i - max s) / sum_j e^(s_j - max s)``.

    Raises
    ------
    ZeroDivisionError
        When every score is minus infinity: then no weights satisfy the definition.
    """
    scores = [mp.convert(s) for s in scores]
    shift = max(scores)
    if shift == NEVER:
        raise ZeroDivisionError("no kept key: the weights would be 0/0")
    terms = [mp.exp(s - shift) for s in scores]
    total = mp.fsum(terms)
    return [term / total for term in terms]


def softmax_rows(S: Matrix) -> list[list[Any]]:
    """Softmax of each row."""
    return [softmax(row) for row in S]


def softmax_columns(S: Matrix) -> list[list[Any]]:
    """Softmax of each column, computed column by column."""
    weights = [[mp.zero] * len(S[0]) for _ in S]
    for j in range(len(S[0])):
        for i, weight in enumerate(softmax([S[i][j] for i in range(len(S))])):
            weights[i][j] = weight
    return weights


def logsumexp(scores: Vector) -> Any:
    """``log sum_i e^(s_i)``, by way of the largest score."""
    scores = [mp.convert(s) for s in scores]
    shift = max(scores)
    return shift + mp.log(mp.fsum([mp.exp(s - shift) for s in scores]))


def entropy(weights: Vector) -> Any:
    """``- sum_i p_i log p_i`` in nats; a weight of 0 contributes 0."""
    return -mp.fsum([p * mp.log(p) for p in weights if p != 0])


def softmax_jacobian(scores: Vector) -> list[list[Any]]:
    """``J_ij = dp_i / ds_j = p_i (delta_ij - p_j)``."""
    p = softmax(scores)
    n = len(p)
    return [[p[i] * (int(i == j) - p[j]) for j in range(n)] for i in range(n)]


# --- masks --------------------------------------------------------------------------------------


def additive(keep: Sequence[Sequence[bool]]) -> list[list[Any]]:
    """Turn a boolean mask into an additive one: True -> 0, False -> minus infinity."""
    return [[mp.zero if kept else NEVER for kept in row] for row in keep]


def causal(rows: int, columns: int) -> list[list[bool]]:
    """Boolean mask: position `i` may attend to `j <= i`."""
    return [[j <= i for j in range(columns)] for i in range(rows)]


def window(size: int, width: int) -> list[list[bool]]:
    """Boolean mask, causal: position `i` may attend to itself and the ``width - 1`` before it."""
    return [[i - width < j <= i for j in range(size)] for i in range(size)]


# --- one head -----------------------------------------------------------------------------------


class Stages(NamedTuple):
    """What one head computes on the way: scores and weights ``(T, S)``, output ``(T, d_v)``."""

    scores: list[list[Any]]
    weights: list[list[Any]]
    output: list[list[Any]]


def scale_of(d_k: int) -> Any:
    """The factor ``1 / sqrt(d_k)``."""
    return 1 / mp.sqrt(d_k)


def scores(Q: Matrix, K: Matrix) -> list[list[Any]]:
    """``Q K^T``: entry `i, j` is ``q_i . k_j``."""
    return [[dot(q, k) for k in K] for q in Q]


def attention(
    Q: Matrix, K: Matrix, V: Matrix, *, mask: Matrix | None = None, scale: Any = None
) -> Stages:
    """Scaled dot-product attention ``softmax(scale Q K^T + mask) V``.

    Parameters
    ----------
    Q, K, V
        ``(T, d_k)``, ``(S, d_k)``, ``(S, d_v)``.
    mask
        Additive, ``(T, S)``; nothing is masked without it.
    scale
        ``1 / sqrt(d_k)`` unless given.

    References
    ----------
    A. Vaswani et al., "Attention Is All You Need", 2017, equation (1).
    """
    S = scaled(scores(Q, K), scale_of(len(K[0])) if scale is None else scale)
    if mask is not None:
        S = add(S, mask)
    A = softmax_rows(S)
    return Stages(S, A, matmul(A, V))


def head(
    X: Matrix,
    source: Matrix,
    W_Q: Matrix,
    W_K: Matrix,
    W_V: Matrix,
    *,
    mask: Matrix | None = None,
) -> Stages:
    """One head: queries from `X` ``(T, d_model)``, keys and values from `source`."""
    return attention(matmul(X, W_Q), matmul(source, W_K), matmul(source, W_V), mask=mask)


def residual(X: Matrix, update: Matrix) -> list[list[Any]]:
    """``X + update``."""
    return add(X, update)


class ColumnStages(NamedTuple):
    """The same with tokens as columns: every stage is the transpose of the row form."""

    queries: list[list[Any]]
    keys: list[list[Any]]
    values: list[list[Any]]
    scores: list[list[Any]]
    weights: list[list[Any]]
    output: list[list[Any]]
    update: list[list[Any]]


def head_columns(
    X_c: Matrix, W_Q: Matrix, W_K: Matrix, W_V: Matrix, W_O: Matrix, *, mask: Matrix | None = None
) -> ColumnStages:
    """One self-attention head with tokens as columns, `X_c` ``(d_model, T)``; `mask` as for rows.

    ``Q_c = W_Q^T X_c``, scores ``K_c^T Q_c`` (key, query), softmax down each column,
    output ``V_c A_c`` ``(d_v, T)``, update ``W_O^T V_c A_c``.
    """
    Q_c = matmul(transpose(W_Q), X_c)
    K_c = matmul(transpose(W_K), X_c)
    V_c = matmul(transpose(W_V), X_c)
    S_c = scaled(matmul(transpose(K_c), Q_c), scale_of(len(K_c)))
    if mask is not None:
        S_c = add(S_c, transpose(mask))
    A_c = softmax_columns(S_c)
    O_c = matmul(V_c, A_c)
    return ColumnStages(Q_c, K_c, V_c, S_c, A_c, O_c, matmul(transpose(W_O), O_c))


# --- several heads ------------------------------------------------------------------------------


class Layer(NamedTuple):
    """The weights of a multi-head layer; heads are contiguous blocks.

    `W_Q`, `W_K` ``(d_model, H d_k)``, `W_V` ``(d_model, H d_v)``, `W_O` ``(H d_v, d_model)``.
    """

    W_Q: Matrix
    W_K: Matrix
    W_V: Matrix
    W_O: Matrix
    heads: int


def layer_shapes(d_model: int, heads: int, d_k: int, d_v: int) -> list[tuple[int, int]]:
    """Shapes of `W_Q`, `W_K`, `W_V`, `W_O`."""
    return [
        (d_model, heads * d_k),
        (d_model, heads * d_k),
        (d_model, heads * d_v),
        (heads * d_v, d_model),
    ]


def split_columns(M: Matrix, parts: int) -> list[list[list[Any]]]:
    """Cut into `parts` contiguous blocks of columns: ``(m, parts n) -> parts times (m, n)``."""
    width = len(M[0]) // parts
    return [[list(row[p * width : (p + 1) * width]) for row in M] for p in range(parts)]


def split_rows(M: Matrix, parts: int) -> list[list[list[Any]]]:
    """Cut into `parts` contiguous blocks of rows: ``(parts m, n) -> parts times (m, n)``."""
    height = len(M) // parts
    return [[list(row) for row in M[p * height : (p + 1) * height]] for p in range(parts)]


def join_columns(blocks: Sequence[Matrix]) -> list[list[Any]]:
    """Concatenate side by side."""
    return [[entry for block in blocks for entry in block[i]] for i in range(len(blocks[0]))]


def multihead(
    X: Matrix, source: Matrix, layer: Layer, *, mask: Matrix | None = None
) -> list[list[Any]]:
    """Project, cut into heads, attend, concatenate, apply `W_O`: ``(T, d_model)``.

    References
    ----------
    A. Vaswani et al., "Attention Is All You Need", 2017, section 3.2.2.
    """
    Q = split_columns(matmul(X, layer.W_Q), layer.heads)
    K = split_columns(matmul(source, layer.W_K), layer.heads)
    V = split_columns(matmul(source, layer.W_V), layer.heads)
    outputs = [attention(q, k, v, mask=mask).output for q, k, v in zip(Q, K, V, strict=True)]
    return matmul(join_columns(outputs), layer.W_O)


def multihead_sum(
    X: Matrix, source: Matrix, layer: Layer, *, mask: Matrix | None = None
) -> list[list[Any]]:
    """Compute the same layer as a sum over heads, ``sum_h head_h W_O^(h)``."""
    blocks = zip(
        split_columns(layer.W_Q, layer.heads),
        split_columns(layer.W_K, layer.heads),
        split_columns(layer.W_V, layer.heads),
        split_rows(layer.W_O, layer.heads),
        strict=True,
    )
    updates = [
        matmul(head(X, source, W_Q, W_K, W_V, mask=mask).output, W_O)
        for W_Q, W_K, W_V, W_O in blocks
    ]
    total = updates[0]
    for update in updates[1:]:
        total = add(total, update)
    return total


def grouped_heads(
    Q: Sequence[Matrix], K: Sequence[Matrix], V: Sequence[Matrix], *, mask: Matrix | None = None
) -> list[list[list[Any]]]:
    """Outputs per query head; consecutive query heads share a key/value head.

    References
    ----------
    J. Ainslie et al., "GQA", 2023, section 2.2.
    """
    group = len(Q) // len(K)
    return [attention(q, K[h // group], V[h // group], mask=mask).output for h, q in enumerate(Q)]


# --- decoding, tiles, kernels -------------------------------------------------------------------


class Cache:
    """Keys and values of the positions seen so far."""

    def __init__(self) -> None:
        self.keys: list[Vector] = []
        self.values: list[Vector] = []

    def step(self, q: Vector, k: Vector, v: Vector) -> list[Any]:
        """Store this position's key and value, attend to all stored ones: ``(d_v,)``."""
        self.keys.append(k)
        self.values.append(v)
        return attention([q], self.keys, self.values).output[0]


def decode(Q: Matrix, K: Matrix, V: Matrix) -> list[list[Any]]:
    """Causal attention one position at a time, with a cache."""
    cache = Cache()
    return [cache.step(q, k, v) for q, k, v in zip(Q, K, V, strict=True)]


class Partial(NamedTuple):
    """Attention of one query to some of the keys, not yet divided.

    `total` is ``sum_j e^(s_j - shift)``, `output` is ``sum_j e^(s_j - shift) v_j``.
    """

    shift: Any
    total: Any
    output: list[Any]


def nothing_seen(d_v: int) -> Partial:
    """Attention to no key, relative to shift 0 (any would do): the identity of `merge`."""
    return Partial(mp.zero, mp.zero, [mp.zero] * d_v)


def partial(scores_row: Vector, V: Matrix, shift: Any) -> Partial:
    """Attention to one tile of keys, relative to any `shift`."""
    shift = mp.convert(shift)
    terms = [mp.exp(s - shift) for s in map(mp.convert, scores_row)]
    return Partial(shift, mp.fsum(terms), matmul([terms], V)[0])


def rescaled(part: Partial, shift: Any) -> Partial:
    """Express the same relative to another shift."""
    factor = mp.exp(part.shift - shift)
    return Partial(shift, part.total * factor, [x * factor for x in part.output])


def merge(a: Partial, b: Partial, shift: Any = None) -> Partial:
    """Two disjoint sets of keys as one; `shift` is the larger of the two unless given.

    References
    ----------
    M. Milakov, N. Gimelshein, "Online normalizer calculation for softmax", 2018, section 3.
    """
    shift = max(a.shift, b.shift) if shift is None else mp.convert(shift)
    a, b = rescaled(a, shift), rescaled(b, shift)
    output = [x + y for x, y in zip(a.output, b.output, strict=True)]
    return Partial(shift, a.total + b.total, output)


def finished(part: Partial) -> list[Any]:
    """Divide by the total: the output row."""
    return [x / part.total for x in part.output]


def tiles(length: int, tile: int) -> list[range]:
    """Consecutive ranges of at most `tile` positions that cover ``range(length)``."""
    return [range(start, min(start + tile, length)) for start in range(0, length, tile)]


def tiled_attention(
    Q: Matrix,
    K: Matrix,
    V: Matrix,
    *,
    row_tile: int,
    column_tile: int,
    mask: Matrix | None = None,
    next_shift: Callable[[Any, Vector], Any] | None = None,
) -> list[list[Any]]:
    """Attention tile by tile; at most ``row_tile * column_tile`` scores exist at any time.

    Parameters
    ----------
    next_shift
        From the running shift and the tile's scores to the next running shift. The running
        maximum unless given; any finite number gives the same output.

    References
    ----------
    T. Dao et al., "FlashAttention", 2022, algorithm 1.
    """
    scale = scale_of(len(K[0]))
    output: list[list[Any]] = []
    for rows in tiles(len(Q), row_tile):
        running = [nothing_seen(len(V[0])) for _ in rows]
        for columns in tiles(len(K), column_tile):
            S = scaled(scores([Q[i] for i in rows], [K[j] for j in columns]), scale)
            if mask is not None:
                S = add(S, [[mask[i][j] for j in columns] for i in rows])
            values = [V[j] for j in columns]
            for r, row in enumerate(S):
                shift = (next_shift or running_maximum)(running[r].shift, row)
                running[r] = merge(running[r], partial(row, values, shift), shift)
        output += [finished(part) for part in running]
    return output


def running_maximum(shift: Any, row: Vector) -> Any:
    """Return the larger of the running shift and the tile's scores (minus infinity aside)."""
    return max(shift, *row)


def linear_attention(phi_Q: Matrix, phi_K: Matrix, V: Matrix) -> list[list[Any]]:
    """Kernel attention without softmax, keys and values first: ``phi(Q) (phi(K)^T V)``.

    References
    ----------
    A. Katharopoulos et al., "Transformers are RNNs", 2020, equation (6), unnormalised.
    """
    return matmul(phi_Q, matmul(transpose(phi_K), V))


def dropout(A: Matrix, keep: Matrix, probability: Fraction) -> list[list[Any]]:
    """Inverted dropout on the weights: entries times 0 or 1, over ``1 - probability``."""
    return [
        [weight * kept / (1 - probability) for weight, kept in zip(row, kept_row, strict=True)]
        for row, kept_row in zip(A, keep, strict=True)
    ]


# --- gradients ----------------------------------------------------------------------------------


class Gradients(NamedTuple):
    """Derivatives of ``sum_ic dO_ic O_ic`` with respect to each stage."""

    weights: list[list[Any]]
    scores: list[list[Any]]
    queries: list[list[Any]]
    keys: list[list[Any]]
    values: list[list[Any]]


def backward(
    Q: Matrix,
    K: Matrix,
    V: Matrix,
    dO: Matrix,
    *,
    mask: Matrix | None = None,
    scale: Any = None,
) -> Gradients:
    """Gradients of `attention`, by FlashAttention's formulas; `dO` ``(T, d_v)``.

    References
    ----------
    T. Dao et al., "FlashAttention", 2022, appendix B.2.
    """
    Q, K, V, dO = real(Q), real(K), real(V), real(dO)
    tau = scale_of(len(K[0])) if scale is None else scale
    _, A, O = attention(Q, K, V, mask=mask, scale=scale)
    dV = matmul(transpose(A), dO)
    dA = matmul(dO, transpose(V))
    delta = [dot(dO_row, O_row) for dO_row, O_row in zip(dO, O, strict=True)]
    dS = [[a * (da - delta[i]) for a, da in zip(A[i], dA[i], strict=True)] for i in range(len(A))]
    return Gradients(dA, dS, scaled(matmul(dS, K), tau), scaled(matmul(transpose(dS), Q), tau), dV)


# --- positions ----------------------------------------------------------------------------------


def frequencies(d: int, base: Any) -> list[Any]:
    """``base^(-2 a / d)`` for ``a = 0 .. d/2 - 1``."""
    return [mp.power(base, -mp.mpf(2 * a) / d) for a in range(d // 2)]


def rotate(x: Vector, position: Any, base: Any) -> list[Any]:
    """Rotary embedding of one vector of even length: pair `a` turns by position times frequency.

    References
    ----------
    J. Su et al., "RoFormer", 2021, equation (15).
    """
    rotated: list[Any] = []
    for a, frequency in enumerate(frequencies(len(x), base)):
        cosine, sine = mp.cos(position * frequency), mp.sin(position * frequency)
        u, w = x[2 * a], x[2 * a + 1]
        rotated += [u * cosine - w * sine, u * sine + w * cosine]
    return rotated


def alibi(rows: int, columns: int, slope: Any) -> list[list[Any]]:
    """Linear bias ``-slope (i - j)``, to be added to the scores.

    References
    ----------
    O. Press et al., "Train Short, Test Long", 2021, section 3.
    """
    return [[-slope * (i - j) for j in range(columns)] for i in range(rows)]


def sinusoid(position: Any, d: int, base: Any) -> list[Any]:
    """Sinusoidal encoding of one position: sine, cosine for each frequency.

    References
    ----------
    A. Vaswani et al., "Attention Is All You Need", 2017, section 3.5.
    """
    encoding: list[Any] = []
    for frequency in frequencies(d, base):
        encoding += [mp.sin(position * frequency), mp.cos(position * frequency)]
    return encoding


def sinusoid_shift(offset: Any, d: int, base: Any) -> list[list[Any]]:
    """Matrix `R` with ``sinusoid(t + offset) = R sinusoid(t)`` for every `t`: ``(d, d)``."""
    R = [[mp.zero] * d for _ in range(d)]
    for a, frequency in enumerate(frequencies(d, base)):
        cosine, sine = mp.cos(offset * frequency), mp.sin(offset * frequency)
        R[2 * a][2 * a], R[2 * a][2 * a + 1] = cosine, sine
        R[2 * a + 1][2 * a], R[2 * a + 1][2 * a + 1] = -sine, cosine
    return R
