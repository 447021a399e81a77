"""Correct attention in plain numpy, one function a level: what every mutant is a change of.

The arithmetic is float64 whatever the inputs; the result has the query's dtype. The conventions are
those of the profile ``strict``: True in a boolean mask means "may attend", the causal mask hangs
from the top left corner, an empty row gives zeros, query head ``h`` reads key head ``h // group``,
and nothing masked, NaN and infinity included, reaches an output.

`attend` and `gradients` take further keywords, one for each step, so that a mutant can exchange a
single step and leave the others alone.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Step = Callable[[Array], Array]
INF = np.inf


class Attended(NamedTuple):
    """What one call of `attend` computes; `weights` and `lse` are float64."""

    output: Array  # (..., Hq, L, Ev)
    weights: Array  # (..., Hq, L, S)
    lse: Array  # (..., Hq, L)


def transposed(x: Array) -> Array:
    """Swap the last two axes."""
    return np.swapaxes(x, -1, -2)


def head_of(query: Array, key: Array) -> Array:
    """Index of the key head that each query head reads: ``h // group``."""
    heads, key_heads = query.shape[-3], key.shape[-3]
    read: Array = np.arange(heads) // max(1, heads // max(1, key_heads))
    return read


def per_query_head(x: Array, query: Array, heads: Array | None = None) -> Array:
    """Give every query head its own copy of the key or value head that it reads, in float64."""
    x = x.astype(np.float64)
    if query.ndim < 3 or x.ndim < 3:
        return x
    return x[..., head_of(query, x) if heads is None else heads, :, :]


def default_scale(query: Array) -> float:
    """1/sqrt(E), the scale of scaled dot-product attention."""
    return 1.0 / float(np.sqrt(query.shape[-1])) if query.shape[-1] else 1.0


def below(lengths: tuple[int, int], offset: int = 0) -> Array:
    """(L, S), True where key j lies at or before query i + offset."""
    i, j = np.indices(lengths)
    return j <= i + offset


def lengths(query: Array, key: Array) -> tuple[int, int]:
    """(L, S)."""
    return query.shape[-2], key.shape[-2]


def is_boolean(mask: Array | None) -> bool:
    """Tell a boolean mask from an additive one and from none."""
    return mask is not None and np.asarray(mask).dtype == np.bool_


def is_additive(mask: Array | None) -> bool:
    """Tell an additive mask from a boolean one and from none."""
    return mask is not None and np.asarray(mask).dtype != np.bool_


def both(mask: Array | None, allowed: Array) -> Array:
    """`mask` of either kind, restricted further to the pairs in `allowed`."""
    if mask is None:
        return allowed
    return mask & allowed if is_boolean(mask) else np.where(allowed, mask, -INF)


def split_mask(
    mask: Array | None, shape: tuple[int, int], is_causal: bool
) -> tuple[Array, Array | float]:
    """Which pairs may attend, and the finite number added to the score of each."""
    kept: Array = below(shape) if is_causal else np.ones(shape, dtype=bool)
    if mask is None:
        return kept, 0.0
    mask = np.asarray(mask)
    if is_boolean(mask):
        return kept & mask, 0.0
    added = mask.astype(np.float64)
    blocked = np.isneginf(added)
    return kept & ~blocked, np.where(blocked, 0.0, added)


def ratio(above: Array, below: Array | float) -> Array:
    """``above / below``, and zero where `below` is zero."""
    over = np.broadcast_to(below, above.shape)
    result: Array = np.divide(above, over, out=np.zeros_like(above), where=over != 0)
    return result


def softmax(scores: Array, *, axis: int = -1) -> Array:
    """Softmax along `axis`; a slice without a finite score (or without any score) gives zeros."""
    s = np.asarray(scores)
    wide = s.astype(np.float64)
    with np.errstate(all="ignore"):
        top = wide.max(axis=axis, keepdims=True, initial=-INF)
        grown = np.exp(wide - np.where(np.isneginf(top), 0.0, top))
        total = grown.sum(axis=axis, keepdims=True)
        result = ratio(grown, total)
    return result.astype(s.dtype if s.dtype.kind == "f" else np.float64)


def log_sum_exp(scores: Array) -> Array:
    """Log of the sum of exponentials over the last axis; minus infinity for an empty row."""
    with np.errstate(all="ignore"):
        top = scores.max(axis=-1, initial=-INF)
        safe = np.where(np.isneginf(top), 0.0, top)
        result: Array = safe + np.log(np.exp(scores - safe[..., None]).sum(axis=-1))
    return result


def weighted_sum(weights: Array, rows: Array, kept: Array | None) -> Array:
    """``weights @ rows`` in which a pair that is not kept adds nothing, NaN and infinity included.

    `kept` None is the plain matrix product, in which ``0 * nan`` is NaN.
    """
    with np.errstate(all="ignore"):
        if kept is None or np.isfinite(rows).all():
            product: Array = weights @ rows
            return product
        kept = np.broadcast_to(kept, weights.shape)
        terms = np.where(kept[..., None], weights[..., None] * rows[..., None, :, :], 0.0)
        summed: Array = terms.sum(axis=-2)
        return summed


def attend(
    query: Array,
    key: Array,
    value: Array,
    *,
    attn_mask: Array | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    heads: Array | None = None,
    transform: Step | None = None,
    fill: float = -INF,
    normalise: Step = softmax,
    reweigh: Step | None = None,
    guarded: bool = True,
) -> Attended:
    """Attention, step by step; the defaults of the last six keywords are the correct steps.

    Parameters
    ----------
    query, key, value
        ``(..., Hq, L, E)``, ``(..., Hkv, S, E)``, ``(..., Hkv, S, Ev)``.
    attn_mask, is_causal, scale, enable_gqa
        As in `sdpa`.
    heads
        Key head read by each query head, instead of ``h // group``.
    transform
        Applied to the scaled scores before the mask (a soft cap, say).
    fill
        Score of a masked pair.
    normalise
        Turns the masked scores ``(..., Hq, L, S)`` into weights.
    reweigh
        Applied to the weights before they meet the values (dropout, say).
    guarded
        Whether masked values are kept out of the sum even when they are NaN or infinite.
    """
    shape = lengths(query, key)
    factor = default_scale(query) if scale is None else scale
    with np.errstate(all="ignore"):
        keys, values = per_query_head(key, query, heads), per_query_head(value, query, heads)
        scores = query.astype(np.float64) @ transposed(keys) * factor
        if transform is not None:
            scores = transform(scores)
        kept, added = split_mask(attn_mask, shape, is_causal)
        masked = np.where(kept, scores + added, fill)
        weights = normalise(masked)
        used = weights if reweigh is None else reweigh(weights)
        output = weighted_sum(used, values, kept if guarded else None)
        lse = log_sum_exp(masked)
    return Attended(output.astype(query.dtype), weights, lse)


def sdpa(
    query: Array,
    key: Array,
    value: Array,
    *,
    attn_mask: Array | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Array:
    """Scaled dot-product attention: softmax(scale * query @ key.T + mask) @ value.

    Parameters
    ----------
    query, key, value
        ``(..., Hq, L, E)``, ``(..., Hkv, S, E)``, ``(..., Hkv, S, Ev)``; Hq a multiple of Hkv.
    attn_mask
        Boolean (True: may attend) or additive, broadcastable to ``(..., Hq, L, S)``.
    is_causal
        Query i sees the keys j <= i; combined with `attn_mask` by AND.
    scale
        Factor of the scores; 1/sqrt(E) when None.
    enable_gqa
        Accepted for the sake of callers; grouped heads are recognised by their shapes.

    Returns
    -------
    output
        ``(..., Hq, L, Ev)``, dtype of `query`.

    Examples
    --------
    >>> import numpy as np
    >>> zeros = np.zeros((2, 1))
    >>> sdpa(zeros, zeros, np.array([[1.0], [3.0]]), is_causal=True).tolist()
    [[1.0], [2.0]]
    """
    return attend(query, key, value, attn_mask=attn_mask, is_causal=is_causal, scale=scale).output


def weights(
    query: Array,
    key: Array,
    value: Array,
    *,
    attn_mask: Array | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> tuple[Array, Array]:
    """Attention that also returns its weights ``(..., Hq, L, S)``."""
    done = attend(query, key, value, attn_mask=attn_mask, is_causal=is_causal, scale=scale)
    return done.output, done.weights.astype(query.dtype)


def lse(
    query: Array,
    key: Array,
    value: Array,
    *,
    attn_mask: Array | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> tuple[Array, Array]:
    """Attention that also returns the log-sum-exp of each row's scores, ``(..., Hq, L)``."""
    done = attend(query, key, value, attn_mask=attn_mask, is_causal=is_causal, scale=scale)
    return done.output, done.lse.astype(query.dtype)


def onto_key_heads(gradient: Array, like: Array) -> Array:
    """Sum the gradients of all query heads that read the same key head."""
    if gradient.shape == like.shape:
        return gradient
    *batch, heads, length, width = gradient.shape
    grouped = gradient.reshape(*batch, like.shape[-3], heads // like.shape[-3], length, width)
    summed: Array = grouped.sum(axis=-3)
    return summed


def gradients(
    query: Array,
    key: Array,
    value: Array,
    grad_out: Array,
    *,
    is_causal: bool = False,
    kept: Array | None = None,
    weights: Array | None = None,
    grad_weights: Array | None = None,
    row_term: Array | float | None = None,
    fold: Callable[[Array, Array], Array] = onto_key_heads,
) -> tuple[Array, Array, Array]:
    """Reverse mode of `sdpa`, step by step; the last five keywords exchange single steps.

    With weights P and gradient G of the output: dV = P^T G, dP = G V^T,
    dS = P * (dP - rowsum(P * dP)), dQ = scale dS K, dK = scale dS^T Q.
    """
    factor = default_scale(query)
    g, q = grad_out.astype(np.float64), query.astype(np.float64)
    keys, values = per_query_head(key, query), per_query_head(value, query)
    if kept is None:
        kept, _ = split_mask(None, lengths(query, key), is_causal)
    with np.errstate(all="ignore"):
        if weights is None:
            weights = softmax(np.where(kept, q @ transposed(keys) * factor, -INF))
        if grad_weights is None:
            grad_weights = np.where(kept, g @ transposed(values), 0.0)
        if row_term is None:
            row_term = (weights * grad_weights).sum(axis=-1, keepdims=True)
        grad_scores = weights * (grad_weights - row_term)
        flipped = transposed(np.broadcast_to(kept, grad_scores.shape))
        dq = factor * weighted_sum(grad_scores, keys, kept)
        dk = fold(factor * weighted_sum(transposed(grad_scores), q, flipped), key)
        dv = fold(weighted_sum(transposed(weights), g, flipped), value)
    return dq.astype(query.dtype), dk.astype(key.dtype), dv.astype(value.dtype)


def grad(
    query: Array, key: Array, value: Array, grad_out: Array, *, is_causal: bool = False
) -> tuple[Array, Array, Array]:
    """Gradients (dq, dk, dv) of ``sum(grad_out * sdpa(query, key, value))``."""
    return gradients(query, key, value, grad_out, is_causal=is_causal)


def decode(queries: Array, keys: Array, values: Array) -> Array:
    """All outputs ``(T, d_v)`` of causal decoding, one token a step, with a cache of keys."""
    steps = [sdpa(queries[t : t + 1], keys[: t + 1], values[: t + 1]) for t in range(len(queries))]
    empty = np.zeros((0, values.shape[-1]), dtype=queries.dtype)
    return np.concatenate([empty, *steps])


def split_heads(x: Array, num_heads: int) -> Array:
    """``(..., T, H*d)`` to ``(..., H, T, d)``: head h is the h-th contiguous block of columns."""
    *batch, tokens, width = x.shape
    return np.swapaxes(x.reshape(*batch, tokens, num_heads, width // num_heads), -2, -3)


def merge_heads(x: Array) -> Array:
    """``(..., H, T, d)`` to ``(..., T, H*d)``, the inverse of `split_heads`."""
    moved = np.swapaxes(x, -2, -3)
    return moved.reshape(*moved.shape[:-2], moved.shape[-2] * moved.shape[-1])


def project(x: Array, weight: Array, bias: Array | None) -> Array:
    """``x @ weight + bias``, row vectors."""
    product: Array = x @ weight
    return product if bias is None else product + bias


def mha(
    x_query: Array,
    x_source: Array,
    W_Q: Array,
    W_K: Array,
    W_V: Array,
    W_O: Array,
    *,
    num_heads: int,
    attn_mask: Array | None = None,
    is_causal: bool = False,
    b_Q: Array | None = None,
    b_K: Array | None = None,
    b_V: Array | None = None,
    b_O: Array | None = None,
) -> Array:
    """Multi-head attention on row vectors; `x_query` is x_source for self-attention.

    Heads are contiguous column blocks of W_Q, W_K, W_V and row blocks of W_O.
    """
    q = split_heads(project(x_query, W_Q, b_Q), num_heads)
    k = split_heads(project(x_source, W_K, b_K), num_heads)
    v = split_heads(project(x_source, W_V, b_V), num_heads)
    merged = merge_heads(sdpa(q, k, v, attn_mask=attn_mask, is_causal=is_causal))
    return project(merged, W_O, b_O).astype(x_query.dtype)


def softcap(
    query: Array,
    key: Array,
    value: Array,
    *,
    softcap: float,
    attn_mask: Array | None = None,
    is_causal: bool = False,
    scale: float | None = None,
) -> Array:
    """Attention whose scaled scores s become ``softcap * tanh(s / softcap)`` before the mask."""
    return attend(
        query,
        key,
        value,
        attn_mask=attn_mask,
        is_causal=is_causal,
        scale=scale,
        transform=lambda scores: softcap * np.tanh(scores / softcap),
    ).output


def with_sink(sink_scores: Array, times: float = 1.0) -> Step:
    """Softmax over a row and one more score a head that has no value; used by `sinks`."""

    def normalise(scores: Array) -> Array:
        sink = np.asarray(sink_scores, dtype=np.float64)[:, None, None]
        top = np.maximum(scores.max(axis=-1, keepdims=True, initial=-INF), sink)
        grown = np.exp(scores - top)
        total = grown.sum(axis=-1, keepdims=True) + times * np.exp(sink - top)
        result: Array = grown / total
        return result

    return normalise


def sinks(
    query: Array,
    key: Array,
    value: Array,
    *,
    sinks: Array,
    attn_mask: Array | None = None,
    is_causal: bool = False,
    scale: float | None = None,
) -> Array:
    """Attention with one sink score a query head, ``(Hq,)``, in every row's denominator."""
    return attend(
        query,
        key,
        value,
        attn_mask=attn_mask,
        is_causal=is_causal,
        scale=scale,
        normalise=with_sink(sinks),
    ).output


def slopes(heads: int) -> Array:
    """ALiBi slopes ``2**(-8 (h + 1) / H)`` of the heads h = 0 .. H-1 (Press et al. 2022)."""
    exponents: Array = -8.0 * (np.arange(heads) + 1) / max(1, heads)
    return 2.0**exponents


def distances(shape: tuple[int, int]) -> Array:
    """(L, S), the distance i - j."""
    i, j = np.indices(shape)
    return i - j


def alibi(query: Array, key: Array, value: Array, *, is_causal: bool = True) -> Array:
    """Attention with the bias ``-slope_h * (i - j)`` (ALiBi)."""
    bias = -slopes(query.shape[-3])[:, None, None] * distances(lengths(query, key))
    return sdpa(query, key, value, attn_mask=bias, is_causal=is_causal)


def window(
    query: Array,
    key: Array,
    value: Array,
    *,
    left: int,
    right: int,
    attn_mask: Array | None = None,
    is_causal: bool = False,
) -> Array:
    """Attention of query i to the keys ``i - left <= j <= i + right``."""
    distance = distances(lengths(query, key))
    inside = (distance <= left) & (-distance <= right)
    return sdpa(query, key, value, attn_mask=both(attn_mask, inside), is_causal=is_causal)


def heads_first(x: Array) -> Array:
    """``(T, H, d)`` to ``(H, T, d)`` and back."""
    return np.swapaxes(x, 0, 1)


def varlen(
    query: Array, key: Array, value: Array, *, cu_seqlens: Array, is_causal: bool = False
) -> Array:
    """Packed sequences ``(T, H, d)``; sequence n is the rows cu_seqlens[n] .. cu_seqlens[n+1]."""
    output = np.zeros((*query.shape[:2], value.shape[-1]), dtype=query.dtype)
    for start, stop in pairwise(cu_seqlens):
        rows = slice(int(start), int(stop))
        output[rows] = heads_first(
            sdpa(
                heads_first(query[rows]),
                heads_first(key[rows]),
                heads_first(value[rows]),
                is_causal=is_causal,
            )
        )
    return output


def dropout(
    query: Array,
    key: Array,
    value: Array,
    *,
    drop_keep: Array,
    p: float,
    training: bool = True,
) -> Array:
    """Attention with dropout of the weights; `drop_keep` True: kept, and multiplied by 1/(1-p)."""
    if not training:
        return sdpa(query, key, value)
    return attend(query, key, value, reweigh=lambda weights: weights * drop_keep / (1.0 - p)).output


LEVELS: dict[str, Callable[..., Any]] = {
    "softmax": softmax,
    "sdpa": sdpa,
    "weights": weights,
    "lse": lse,
    "grad": grad,
    "decode": decode,
    "mha": mha,
    "softcap": softcap,
    "sinks": sinks,
    "alibi": alibi,
    "window": window,
    "varlen": varlen,
    "dropout": dropout,
}
