"""Attention in plain NumPy: every level and keyword of the contract, under the profile ``strict``.

Written to be read and to be right, not fast. 16-bit inputs are computed in float32 and rounded
once at the end; other inputs in their own format.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Window = tuple[int, int] | None


def _wide(array: Array) -> Array:
    """The array in the format of the computation."""
    array = np.asarray(array)
    return array if array.dtype == np.float64 else array.astype(np.float32)


def _default_scale(query: Array) -> float:
    """1/sqrt(E); without features every score is 0 and the scale does not matter."""
    return float(query.shape[-1] ** -0.5) if query.shape[-1] else 0.0


def _kept(rows: int, cols: int, mask: Array | None, causal: bool, window: Window) -> Array:
    """Which key each query may attend to, shape (..., L, S)."""
    offset = np.arange(cols) - np.arange(rows)[:, None]  # (L, S): j - i
    kept = np.ones((rows, cols), bool)
    if causal:
        kept &= offset <= 0
    if window is not None:
        left, right = window
        kept &= (left < 0) | (offset >= -left)
        kept &= (right < 0) | (offset <= right)
    if mask is None:
        return kept
    allowed: Array = mask if mask.dtype == bool else ~np.isneginf(mask)
    out: Array = kept & allowed
    return out


def _softmax(scores: Array, axis: int = -1) -> tuple[Array, Array]:
    """Softmax and log-sum-exp; a slice without finite or NaN score has weights 0 and LSE -inf."""
    shift = scores.max(axis, keepdims=True, initial=-np.inf)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        exps = np.exp(scores - np.where(np.isneginf(shift), 0, shift))
        total = exps.sum(axis, keepdims=True)
        lse = np.log(total) + shift
        weights = np.where(total == 0, 0, exps / total).astype(scores.dtype)
    return weights, lse.squeeze(axis)


def _mix(weights: Array, kept: Array, value: Array) -> Array:
    """Sum of weight times value over the kept keys, whatever the masked values hold."""
    finite = np.isfinite(value)
    with np.errstate(invalid="ignore", over="ignore"):
        out: Array = weights @ np.where(finite, value, 0)
        if finite.all():
            return out
        # 0 times NaN is NaN: the terms that are not finite are added for the kept keys only
        terms = weights[..., None] * np.where(finite, 0, value)[..., None, :, :]  # (..., L, S, Ev)
        reached = np.broadcast_to(kept, weights.shape)[..., None]
        out = out + np.where(reached, terms, 0).sum(-2)
        return out


def _attend(
    query: Array,
    key: Array,
    value: Array,
    *,
    attn_mask: Array | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    window: Window = None,
    softcap: float | None = None,
) -> tuple[Array, Array, Array]:
    """Output, weights and log-sum-exp, in the format of the computation."""
    q, k, v = _wide(query), _wide(key), _wide(value)
    if enable_gqa:
        k, v = (np.repeat(a, q.shape[-3] // a.shape[-3], axis=-3) for a in (k, v))
    factor = _default_scale(q) if scale is None else scale
    kept = _kept(q.shape[-2], k.shape[-2], attn_mask, is_causal, window)
    with np.errstate(invalid="ignore", over="ignore"):
        scores = (q @ k.swapaxes(-1, -2)) * q.dtype.type(factor)  # (..., L, S)
        if softcap is not None:
            scores = q.dtype.type(softcap) * np.tanh(scores / q.dtype.type(softcap))
        if attn_mask is not None and attn_mask.dtype != bool:
            scores = scores + attn_mask.astype(scores.dtype)
        scores = np.where(kept, scores, q.dtype.type(-np.inf))
    weights, lse = _softmax(scores)
    return _mix(weights, kept, v), weights, lse


def softmax(scores: Array, *, axis: int = -1) -> Array:
    """Softmax along `axis`."""
    return _softmax(_wide(scores), axis)[0].astype(scores.dtype)


def sdpa(
    query: Array,
    key: Array,
    value: Array,
    *,
    attn_mask: Array | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    window: Window = None,
    softcap: float | None = None,
) -> Array:
    """Scaled dot-product attention, ``softmax(query keyᵀ scale + mask) value``.

    Parameters
    ----------
    query, key, value
        Shapes (..., Hq, L, E), (..., Hkv, S, E), (..., Hkv, S, Ev).
    attn_mask
        Broadcastable to (..., Hq, L, S): boolean (True: may attend) or added to the scores.
    is_causal
        Query i attends to keys j <= i.
    scale
        Factor of the scores; 1/sqrt(E) when None.
    enable_gqa
        Query head h reads key head ``h // (Hq // Hkv)``.
    window
        (left, right): keys from i - left to i + right; -1 is unbounded.
    softcap
        Scores become ``softcap tanh(scores / softcap)`` before they are masked.

    Returns
    -------
    Array
        Shape (..., Hq, L, Ev), in the format of `query`; zeros where no key is kept.

    Examples
    --------
    >>> zeros, eye = np.zeros((1, 1, 2, 2)), np.eye(2)[None, None]
    >>> sdpa(zeros, zeros, eye, is_causal=True)[0, 0].tolist()
    [[1.0, 0.0], [0.5, 0.5]]
    """
    out = _attend(
        query,
        key,
        value,
        attn_mask=attn_mask,
        is_causal=is_causal,
        scale=scale,
        enable_gqa=enable_gqa,
        window=window,
        softcap=softcap,
    )
    return out[0].astype(query.dtype)


def weights(
    query: Array,
    key: Array,
    value: Array,
    *,
    attn_mask: Array | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    window: Window = None,
    softcap: float | None = None,
) -> tuple[Array, Array]:
    """As `sdpa`; returns (output, weights of shape (..., Hq, L, S))."""
    out = _attend(
        query,
        key,
        value,
        attn_mask=attn_mask,
        is_causal=is_causal,
        scale=scale,
        enable_gqa=enable_gqa,
        window=window,
        softcap=softcap,
    )
    return out[0].astype(query.dtype), out[1].astype(query.dtype)


def lse(
    query: Array,
    key: Array,
    value: Array,
    *,
    attn_mask: Array | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    window: Window = None,
    softcap: float | None = None,
) -> tuple[Array, Array]:
    """As `sdpa`; returns (output, natural log of each row's sum of exponentials, (..., Hq, L))."""
    out = _attend(
        query,
        key,
        value,
        attn_mask=attn_mask,
        is_causal=is_causal,
        scale=scale,
        enable_gqa=enable_gqa,
        window=window,
        softcap=softcap,
    )
    return out[0].astype(query.dtype), out[2].astype(query.dtype)


def grad(
    query: Array, key: Array, value: Array, grad_out: Array, *, is_causal: bool = False
) -> tuple[Array, Array, Array]:
    """Gradients of ``sum(grad_out * output)`` with respect to query, key and value.

    Dao et al. 2022 (arXiv:2205.14135), appendix B: dS = P * (dO vᵀ - rowsum(dO * O)).
    """
    q, k, v, d_out = _wide(query), _wide(key), _wide(value), _wide(grad_out)
    out, p, _ = _attend(q, k, v, is_causal=is_causal)
    kept = _kept(q.shape[-2], k.shape[-2], None, is_causal, None)
    seen_by = kept.swapaxes(-1, -2)
    factor = q.dtype.type(_default_scale(q))
    with np.errstate(invalid="ignore", over="ignore"):
        inner = (d_out * out).sum(-1, keepdims=True)  # (..., L, 1)
        d_weights = np.where(kept, d_out @ v.swapaxes(-1, -2), 0)
        d_scores = p * (d_weights - inner) * factor
    d_query = _mix(d_scores, kept, k)
    d_key = _mix(d_scores.swapaxes(-1, -2), seen_by, q)
    d_value = _mix(p.swapaxes(-1, -2), seen_by, d_out)
    return d_query.astype(query.dtype), d_key.astype(key.dtype), d_value.astype(value.dtype)


def decode(queries: Array, keys: Array, values: Array) -> Array:
    """Every output of causal decoding, one query at a time against a growing cache.

    Shapes (..., T, E), (..., T, E), (..., T, Ev) -> (..., T, Ev).
    """
    shape = (*np.broadcast_shapes(queries.shape[:-2], values.shape[:-2]), 0, values.shape[-1])
    steps = [
        sdpa(queries[..., t : t + 1, :], keys[..., : t + 1, :], values[..., : t + 1, :])
        for t in range(queries.shape[-2])
    ]
    return np.concatenate([np.zeros(shape, queries.dtype), *steps], axis=-2)


def mha(  # noqa: PLR0917 - the contract's calling convention
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
    """Multi-head attention on row vectors; heads are contiguous column blocks of W_Q, W_K, W_V."""

    def project(x: Array, w: Array, b: Array | None) -> Array:
        product = _wide(x) @ _wide(w)
        return product if b is None else product + _wide(b)

    def split(x: Array) -> Array:  # (..., T, H·d) -> (..., H, T, d)
        return x.reshape(*x.shape[:-1], num_heads, -1).swapaxes(-3, -2)

    q = split(project(x_query, W_Q, b_Q))
    k, v = split(project(x_source, W_K, b_K)), split(project(x_source, W_V, b_V))
    heads = _attend(q, k, v, attn_mask=attn_mask, is_causal=is_causal)[0].swapaxes(
        -3, -2
    )  # (..., L, H, d)
    joined = heads.reshape(*heads.shape[:-2], W_O.shape[0])
    return project(joined, W_O, b_O).astype(x_query.dtype)
