"""Correct attention written in unusual ways: none of it may be accused.

A *core* takes query, keys and values with equal heads, and one additive mask with minus infinity at
blocked pairs, and returns the output and the log-sum-exp of each row. `LEVELS` makes functions of
every level out of a core; `SPECIAL` holds further ways that fit one level alone. Where keys or
values hold NaN or infinity, rows are taken one by one with their allowed keys only, so that nothing
masked reaches an output.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

INF = np.inf
CORES = {}
SPECIAL = {}


def core(function):
    """Enter a core under its name."""
    CORES[function.__name__] = function
    return function


def special(level):
    """Enter a function of one level under its name."""

    def enter(function):
        SPECIAL[f"{level}:{function.__name__}"] = (level, function)
        return function

    return enter


def flipped(x):
    return np.swapaxes(x, -1, -2)


def wide(x):
    """The working type: float32 under float16, else the array's own."""
    return x.astype(np.float32) if x.dtype == np.float16 else x


def scores_of(q, k, bias, scale):
    return (q @ flipped(k)) * scale + bias


def top_of(scores):
    top = scores.max(axis=-1, keepdims=True, initial=-INF)
    return np.where(np.isneginf(top), scores.dtype.type(0), top)


def over(above, below):
    return np.divide(above, below, out=np.zeros_like(above), where=below != 0)


def ended(top, total):
    """Log-sum-exp from a shift and the sum of the shifted exponentials."""
    return (top + np.log(total))[..., 0]


# ---------------------------------------------------------------- cores


@core
def plain(q, k, v, bias, scale):
    s = scores_of(q, k, bias, scale)
    top = top_of(s)
    e = np.exp(s - top)
    total = e.sum(axis=-1, keepdims=True)
    return over(e, total) @ v, ended(top, total)


@core
def divided_after_the_sum(q, k, v, bias, scale):
    s = scores_of(q, k, bias, scale)
    top = top_of(s)
    e = np.exp(s - top)
    total = e.sum(axis=-1, keepdims=True)
    return over(e @ v, np.broadcast_to(total, (*total.shape[:-1], v.shape[-1]))), ended(top, total)


@core
def two_passes(q, k, v, bias, scale):
    """Maximum and sum first, then the scores again for the output, key by key."""
    S = k.shape[-2]

    def one(j):
        products = (q * k[..., j : j + 1, :]).sum(axis=-1, keepdims=True)
        return products * scale + bias[..., j : j + 1]

    top = np.full((*q.shape[:-1], 1), -INF, dtype=q.dtype)
    for j in range(S):
        top = np.maximum(top, one(j))
    top = np.where(np.isneginf(top), q.dtype.type(0), top)
    total = np.zeros_like(top)
    for j in range(S):
        total = total + np.exp(one(j) - top)
    out = np.zeros((*q.shape[:-1], v.shape[-1]), dtype=q.dtype)
    for j in range(S):
        out = out + over(np.exp(one(j) - top), total) * v[..., j : j + 1, :]
    return out, ended(top, total)


def running(q, k, v, bias, scale, tile, order=None):
    """The online form: a running maximum, sum and output over tiles of keys."""
    shape = (*q.shape[:-1], 1)
    top = np.full(shape, -INF, dtype=q.dtype)
    total = np.zeros(shape, dtype=q.dtype)
    out = np.zeros((*q.shape[:-1], v.shape[-1]), dtype=q.dtype)
    starts = list(range(0, k.shape[-2], tile))
    for start in starts if order is None else order(starts):
        rows = slice(start, start + tile)
        s = scores_of(q, k[..., rows, :], bias[..., rows], scale)
        new = np.maximum(top, s.max(axis=-1, keepdims=True))
        safe = np.where(np.isneginf(new), q.dtype.type(0), new)
        factor, e = np.exp(top - safe), np.exp(s - safe)
        total = total * factor + e.sum(axis=-1, keepdims=True)
        out = out * factor + e @ v[..., rows, :]
        top = new
    safe = np.where(np.isneginf(top), q.dtype.type(0), top)
    return over(out, np.broadcast_to(total, out.shape)), ended(safe, total)


@core
def online_key_by_key(q, k, v, bias, scale):
    return running(q, k, v, bias, scale, 1)


def tiled(size):
    def function(q, k, v, bias, scale):
        return running(q, k, v, bias, scale, size)

    function.__name__ = f"tiles_of_{size}"
    return function


for _size in range(2, 8):
    core(tiled(_size))


@core
def tiles_from_the_end(q, k, v, bias, scale):
    return running(q, k, v, bias, scale, 3, order=lambda starts: starts[::-1])


@core
def rescaled_rarely(q, k, v, bias, scale):
    """The shift follows the maximum only when it lags by more than eight."""
    shape = (*q.shape[:-1], 1)
    shift = np.full(shape, -INF, dtype=q.dtype)
    total = np.zeros(shape, dtype=q.dtype)
    out = np.zeros((*q.shape[:-1], v.shape[-1]), dtype=q.dtype)
    for start in range(0, k.shape[-2], 4):
        rows = slice(start, start + 4)
        s = scores_of(q, k[..., rows, :], bias[..., rows], scale)
        highest = s.max(axis=-1, keepdims=True)
        new = np.where(highest > shift + 8, highest, shift)
        safe = np.where(np.isneginf(new), q.dtype.type(0), new)
        factor = np.where(new == shift, q.dtype.type(1), np.exp(shift - safe))
        e = np.exp(s - safe)
        total = total * factor + e.sum(axis=-1, keepdims=True)
        out = out * factor + e @ v[..., rows, :]
        shift = new
    safe = np.where(np.isneginf(shift), q.dtype.type(0), shift)
    return over(out, np.broadcast_to(total, out.shape)), ended(safe, total)


@core
def base_two(q, k, v, bias, scale):
    """exp2 of scores that were multiplied by log2(e)."""
    s = scores_of(q, k, bias, scale) * q.dtype.type(math.log2(math.e))
    top = top_of(s)
    e = np.exp2(s - top)
    total = e.sum(axis=-1, keepdims=True)
    lse = (top + np.log2(total))[..., 0] * q.dtype.type(math.log(2.0))
    return over(e, total) @ v, lse


@core
def scale_on_the_query(q, k, v, bias, scale):
    return plain(q * q.dtype.type(scale), k, v, bias, 1)


@core
def scale_on_the_keys(q, k, v, bias, scale):
    return plain(q, k * k.dtype.type(scale), v, bias, 1)


@core
def scale_on_both(q, k, v, bias, scale):
    root = q.dtype.type(math.sqrt(abs(scale)))
    return plain(q * root * np.sign(q.dtype.type(scale)), k * root, v, bias, 1)


@core
def in_logarithms(q, k, v, bias, scale):
    """Weights are exponentials of score minus log-sum-exp."""
    s = scores_of(q, k, bias, scale)
    lse = np.logaddexp.reduce(s, axis=-1, initial=-INF)
    safe = np.where(np.isneginf(lse), q.dtype.type(0), lse)
    return np.exp(s - safe[..., None]) @ v, lse


@core
def with_einsum(q, k, v, bias, scale):
    s = np.einsum("...id,...jd->...ij", q, k) * q.dtype.type(scale) + bias
    top = top_of(s)
    e = np.exp(s - top)
    total = np.einsum("...ij->...i", e)[..., None]
    return np.einsum("...ij,...je->...ie", over(e, total), v), ended(top, total)


@core
def shifted_above_the_maximum(q, k, v, bias, scale):
    """Any shift near the maximum does: here it is two and a half above."""
    s = scores_of(q, k, bias, scale)
    top = top_of(s) + q.dtype.type(2.5)
    e = np.exp(s - top)
    total = e.sum(axis=-1, keepdims=True)
    return over(e, total) @ v, ended(top, total)


@core
def keys_backwards(q, k, v, bias, scale):
    return plain(q, k[..., ::-1, :], v[..., ::-1, :], bias[..., ::-1], scale)


@core
def keys_sorted_by_score(q, k, v, bias, scale):
    """Each row sums its terms from the smallest weight to the largest."""
    s = scores_of(q, k, bias, scale)
    order = np.argsort(s, axis=-1)
    top = top_of(s)
    e = np.take_along_axis(np.exp(s - top), order, axis=-1)
    total = e.cumsum(axis=-1)[..., -1:] if e.shape[-1] else np.zeros_like(top)
    rows = np.take_along_axis(v[..., None, :, :], order[..., None], axis=-2)
    return (over(e, total)[..., None] * rows).sum(axis=-2), ended(top, total)


@core
def summed_in_pairs(q, k, v, bias, scale):
    """A tree of sums in place of a running one."""
    s = scores_of(q, k, bias, scale)
    top = top_of(s)
    e = np.exp(s - top)
    terms = [e[..., j : j + 1] * v[..., None, j, :] for j in range(e.shape[-1])]
    parts = [e[..., j : j + 1] for j in range(e.shape[-1])]

    def tree(items, empty):
        while len(items) > 1:
            items = [sum(items[n : n + 2]) for n in range(0, len(items), 2)]
        return items[0] if items else empty

    total = tree(parts, np.zeros_like(top))
    out = tree(terms, np.zeros((*q.shape[:-1], v.shape[-1]), dtype=q.dtype))
    return over(out, np.broadcast_to(total, out.shape)), ended(top, total)


@core
def split_and_merged(q, k, v, bias, scale):
    """Three splits, each attended on its own, merged by their log-sum-exp."""
    parts = np.array_split(np.arange(k.shape[-2]), 3)
    done = [plain(q, k[..., p, :], v[..., p, :], bias[..., p], scale) for p in parts]
    lses = np.stack([lse for _, lse in done], axis=-1)
    top = lses.max(axis=-1, keepdims=True)
    safe = np.where(np.isneginf(top), q.dtype.type(0), top)
    shares = np.exp(lses - safe)
    total = shares.sum(axis=-1, keepdims=True)
    out = sum(over(shares, total)[..., n : n + 1] * o for n, (o, _) in enumerate(done))
    return out, ended(safe, total)


@core
def head_by_head(q, k, v, bias, scale):
    """A Python loop over samples and heads."""
    if q.ndim == 2:
        return plain(q, k, v, bias, scale)
    out = np.zeros((*q.shape[:-1], v.shape[-1]), dtype=q.dtype)
    lse = np.zeros(q.shape[:-1], dtype=q.dtype)
    for n in np.ndindex(q.shape[:-2]):
        out[n], lse[n] = plain(q[n], k[n], v[n], bias[n], scale)
    return out, lse


@core
def query_by_query(q, k, v, bias, scale):
    rows = [
        plain(q[..., i : i + 1, :], k, v, bias[..., i : i + 1, :], scale)
        for i in range(q.shape[-2])
    ]
    no_output = np.zeros((*q.shape[:-2], 0, v.shape[-1]), dtype=q.dtype)
    no_sums = np.zeros((*q.shape[:-2], 0), dtype=q.dtype)
    return (
        np.concatenate([no_output, *(o for o, _ in rows)], axis=-2),
        np.concatenate([no_sums, *(lse for _, lse in rows)], axis=-1),
    )


@core
def tokens_as_columns(q, k, v, bias, scale):
    """The transposed convention: columns of K Q^T are normalised."""
    s = k @ flipped(q) * q.dtype.type(scale) + flipped(bias)
    top = s.max(axis=-2, keepdims=True, initial=-INF)
    top = np.where(np.isneginf(top), q.dtype.type(0), top)
    e = np.exp(s - top)
    total = e.sum(axis=-2, keepdims=True)
    lse = (top + np.log(total))[..., 0, :]
    return flipped(flipped(v) @ over(e, total)), lse


@core
def in_extended_precision(q, k, v, bias, scale):
    long = np.longdouble
    out, lse = plain(*(x.astype(long) for x in (q, k, v, bias)), long(scale))
    return out.astype(q.dtype), lse.astype(q.dtype)


@core
def in_python_floats(q, k, v, bias, scale):
    """Lists, math.exp and exactly rounded sums."""
    out = np.zeros((*q.shape[:-1], v.shape[-1]), dtype=q.dtype)
    lse = np.full(q.shape[:-1], -INF, dtype=q.dtype)
    for n in np.ndindex(q.shape[:-1]):
        keys, values = k[n[:-1]].tolist(), v[n[:-1]].tolist()
        row = q[n].tolist()
        s = [
            math.fsum(a * b for a, b in zip(row, key, strict=True)) * float(scale) + float(b)
            if not math.isinf(b)
            else b
            for key, b in zip(keys, bias[n].tolist(), strict=True)
        ]
        if not s or max(s) == -INF:
            continue
        top = max(s)
        e = [math.exp(x - top) for x in s]
        total = math.fsum(e)
        lse[n] = top + math.log(total)
        for c in range(v.shape[-1]):
            out[(*n, c)] = math.fsum(w * x[c] for w, x in zip(e, values, strict=True)) / total
    return out, lse


# ---------------------------------------------------------------- levels out of a core


def parts_of(query, key, value, attn_mask, is_causal):
    """q, k, v in the working type with equal heads, and the mask as one array of additions."""
    q, k, v = wide(query), wide(key), wide(value)
    if q.ndim > 2 and k.shape[-3] != q.shape[-3]:
        k, v = (np.repeat(x, q.shape[-3] // x.shape[-3], axis=-3) for x in (k, v))
    bias = np.zeros((*q.shape[:-1], k.shape[-2]), dtype=q.dtype)
    if attn_mask is not None and attn_mask.dtype == bool:
        bias = np.where(attn_mask, bias, q.dtype.type(-INF))
    elif attn_mask is not None:
        bias = bias + attn_mask.astype(q.dtype)
    if is_causal:
        i, j = np.indices(bias.shape[-2:])
        bias = np.where(j <= i, bias, q.dtype.type(-INF))
    return q, k, v, bias


def attended(function, query, key, value, attn_mask=None, is_causal=False, scale=None):
    """Output and log-sum-exp of a core."""
    with np.errstate(all="ignore"):
        factor = query.shape[-1] ** -0.5 if scale is None else scale
        q, k, v, bias = parts_of(query, key, value, attn_mask, is_causal)
        if np.isfinite(k).all() and np.isfinite(v).all():
            out, lse = function(q, k, v, bias, factor)
        else:
            out = np.zeros((*q.shape[:-1], v.shape[-1]), dtype=q.dtype)
            lse = np.zeros(q.shape[:-1], dtype=q.dtype)
            for n in np.ndindex(q.shape[:-1]):
                seen = np.flatnonzero(~np.isneginf(bias[n]))
                keys, values = k[n[:-1]][seen], v[n[:-1]][seen]
                row_out, row_lse = function(q[n][None], keys, values, bias[n][seen][None], factor)
                out[n], lse[n] = row_out[0], row_lse[0]
        return out.astype(query.dtype), lse.astype(query.dtype)


def sdpa_of(function):
    def sdpa(query, key, value, *, attn_mask=None, is_causal=False, scale=None, enable_gqa=False):
        return attended(function, query, key, value, attn_mask, is_causal, scale)[0]

    return sdpa


def lse_of(function):
    def lse(query, key, value, *, attn_mask=None, is_causal=False, scale=None, enable_gqa=False):
        return attended(function, query, key, value, attn_mask, is_causal, scale)

    return lse


def weights_of(function):
    """The weights are the output for identity values."""

    def weights(
        query, key, value, *, attn_mask=None, is_causal=False, scale=None, enable_gqa=False
    ):
        rest = (attn_mask, is_causal, scale)
        S = key.shape[-2]
        identity = np.broadcast_to(np.eye(S, dtype=value.dtype), (*key.shape[:-1], S))
        return (
            attended(function, query, key, value, *rest)[0],
            attended(function, query, key, identity, *rest)[0],
        )

    return weights


def decode_of(function):
    """A cache that grows by blocks of four; each step attends to what has been written."""

    def decode(queries, keys, values):
        out = np.zeros((len(queries), values.shape[-1]), dtype=queries.dtype)
        cache_k, cache_v = keys[:0].copy(), values[:0].copy()
        for t in range(len(queries)):
            if t % 4 == 0:
                cache_k = np.concatenate([cache_k, np.zeros((4, keys.shape[-1]), keys.dtype)])
                cache_v = np.concatenate([cache_v, np.zeros((4, values.shape[-1]), values.dtype)])
            cache_k[t], cache_v[t] = keys[t], values[t]
            seen = (cache_k[: t + 1], cache_v[: t + 1])
            out[t] = attended(function, queries[t : t + 1], *seen)[0][0]
        return out

    return decode


def mha_of(function):
    """Queries, keys and values by one fused product where the sides are the same array."""

    def mha(
        x_query,
        x_source,
        W_Q,
        W_K,
        W_V,
        W_O,
        *,
        num_heads,
        attn_mask=None,
        is_causal=False,
        b_Q=None,
        b_K=None,
        b_V=None,
        b_O=None,
    ):
        def biased(y, b):
            return y if b is None else y + b

        def split(x):
            return np.swapaxes(x.reshape(*x.shape[:-1], num_heads, -1), -2, -3)

        if x_query is x_source:
            fused = x_query @ np.concatenate([W_Q, W_K, W_V], axis=1)
            q, k, v = np.split(fused, np.cumsum([W_Q.shape[1], W_K.shape[1]]), axis=-1)
        else:
            q, k, v = x_query @ W_Q, x_source @ W_K, x_source @ W_V
        q, k, v = biased(q, b_Q), biased(k, b_K), biased(v, b_V)
        if not q.shape[-2]:
            return biased(np.zeros((*q.shape[:-1], W_O.shape[1]), x_query.dtype), b_O)
        heads = attended(function, split(q), split(k), split(v), attn_mask, is_causal)[0]
        merged = np.swapaxes(heads, -2, -3)
        return biased(merged.reshape(*merged.shape[:-2], -1) @ W_O, b_O).astype(x_query.dtype)

    return mha


def window_of(function):
    def window(query, key, value, *, left, right, attn_mask=None, is_causal=False):
        i, j = np.indices((query.shape[-2], key.shape[-2]))
        inside = (j >= i - left) & (j <= i + right)
        if attn_mask is None:
            m = inside
        elif attn_mask.dtype == bool:
            m = attn_mask & inside
        else:
            m = np.where(inside, attn_mask, -INF)
        return attended(function, query, key, value, m, is_causal)[0]

    return window


def varlen_of(function):
    def varlen(query, key, value, *, cu_seqlens, is_causal=False):
        out = np.zeros((*query.shape[:2], value.shape[-1]), dtype=query.dtype)
        for start, stop in pairwise(int(n) for n in cu_seqlens):
            part = (np.swapaxes(x[start:stop], 0, 1) for x in (query, key, value))
            done = attended(function, *part, None, is_causal)[0]
            out[start:stop] = np.swapaxes(done, 0, 1)
        return out

    return varlen


def sinks_of(function):
    """The sink as one more key whose value is zero: its score is a column of the mask."""

    def with_sinks(query, key, value, *, sinks, attn_mask=None, is_causal=False, scale=None):
        q, k, v, bias = parts_of(query, key, value, attn_mask, is_causal)
        column = np.broadcast_to(np.asarray(sinks, q.dtype)[:, None, None], (*q.shape[:-1], 1))
        more_k = np.concatenate(
            [k, np.zeros_like(k[..., :1, :], shape=(*k.shape[:-2], 1, k.shape[-1]))], axis=-2
        )
        more_v = np.concatenate([v, np.zeros((*v.shape[:-2], 1, v.shape[-1]), v.dtype)], axis=-2)
        m = np.concatenate([bias, column], axis=-1)
        return attended(function, q, more_k, more_v, m, False, scale)[0].astype(query.dtype)

    return with_sinks


LEVELS = {
    "sdpa": sdpa_of,
    "weights": weights_of,
    "lse": lse_of,
    "decode": decode_of,
    "mha": mha_of,
    "window": window_of,
    "varlen": varlen_of,
    "sinks": sinks_of,
}


# ---------------------------------------------------------------- ways of one level


@special("softmax")
def by_logarithms(scores, *, axis=-1):
    s = wide(np.asarray(scores))
    with np.errstate(all="ignore"):
        lse = np.logaddexp.reduce(s, axis=axis, keepdims=True, initial=-INF)
        return np.exp(s - np.where(np.isneginf(lse), s.dtype.type(0), lse)).astype(scores.dtype)


@special("softmax")
def by_base_two(scores, *, axis=-1):
    s = wide(np.asarray(scores))
    with np.errstate(all="ignore"):
        top = s.max(axis=axis, keepdims=True, initial=-INF)
        top = np.where(np.isneginf(top), s.dtype.type(0), top)
        e = np.exp2((s - top) * s.dtype.type(math.log2(math.e)))
        return over(e, np.broadcast_to(e.sum(axis=axis, keepdims=True), e.shape)).astype(
            scores.dtype
        )


@special("softmax")
def online_along_the_axis(scores, *, axis=-1):
    """One sweep with a running maximum and sum, then the quotients."""
    s = np.moveaxis(wide(np.asarray(scores)), axis, 0)
    top = np.full(s.shape[1:], -INF, dtype=s.dtype)
    total = np.zeros_like(top)
    with np.errstate(all="ignore"):
        for x in s:
            new = np.maximum(top, x)
            safe = np.where(np.isneginf(new), s.dtype.type(0), new)
            total, top = total * np.exp(top - safe) + np.exp(x - safe), new
        safe = np.where(np.isneginf(top), s.dtype.type(0), top)
        e = np.exp(s - safe)
        done = over(e, np.broadcast_to(total, e.shape))
    return np.moveaxis(done, 0, axis).astype(scores.dtype)


@special("softmax")
def by_pairwise_ratios(scores, *, axis=-1):
    """p_i = 1 / sum_j exp(s_j - s_i): no maximum is needed."""
    s = np.moveaxis(wide(np.asarray(scores)), axis, -1)
    with np.errstate(all="ignore"):
        gaps = s[..., None, :] - s[..., :, None]
        gaps = np.where(np.isneginf(s)[..., None, :], s.dtype.type(-INF), gaps)
        p = 1 / np.exp(gaps).sum(axis=-1)
        p = np.where(np.isneginf(s), s.dtype.type(0), p)
    return np.moveaxis(p, -1, axis).astype(scores.dtype)


@special("mha")
def heads_summed_not_concatenated(
    x_query,
    x_source,
    W_Q,
    W_K,
    W_V,
    W_O,
    *,
    num_heads,
    attn_mask=None,
    is_causal=False,
    b_Q=None,
    b_K=None,
    b_V=None,
    b_O=None,
):
    """sum over heads of O_h W_O^h, each head with its own slices; the value bias is added last."""
    width, wide_v = W_Q.shape[1] // num_heads, W_V.shape[1] // num_heads
    out = np.zeros((*x_query.shape[:-1], W_O.shape[1]), dtype=x_query.dtype)
    for h in range(num_heads):
        cut, cut_v = slice(h * width, (h + 1) * width), slice(h * wide_v, (h + 1) * wide_v)
        q = x_query @ W_Q[:, cut] + (0 if b_Q is None else b_Q[cut])
        k = x_source @ W_K[:, cut] + (0 if b_K is None else b_K[cut])
        v = x_source @ W_V[:, cut_v] + (0 if b_V is None else b_V[cut_v])
        m = attn_mask
        if m is not None and m.ndim > 2:
            m = m[..., h if m.shape[-3] == num_heads else 0, :, :]
        out = out + attended(plain, q, k, v, m, is_causal)[0] @ W_O[cut_v]
    return (out if b_O is None else out + b_O).astype(x_query.dtype)


@special("mha")
def key_bias_left_out(
    x_query,
    x_source,
    W_Q,
    W_K,
    W_V,
    W_O,
    *,
    num_heads,
    attn_mask=None,
    is_causal=False,
    b_Q=None,
    b_K=None,
    b_V=None,
    b_O=None,
):
    """The key bias shifts all scores of a row alike, so it may be dropped."""
    return mha_of(plain)(
        x_query,
        x_source,
        W_Q,
        W_K,
        W_V,
        W_O,
        num_heads=num_heads,
        attn_mask=attn_mask,
        is_causal=is_causal,
        b_Q=b_Q,
        b_V=b_V,
        b_O=b_O,
    )


@special("decode")
def full_causal_pass(queries, keys, values):
    """No cache at all: one causal pass over the whole sequence."""
    return attended(plain, queries, keys, values, None, True)[0]


@special("decode")
def preallocated_and_masked(queries, keys, values):
    """A cache with room for all tokens; the unwritten slots are masked."""
    T = len(queries)
    cache_k, cache_v = np.zeros_like(keys), np.zeros_like(values)
    out = np.zeros((T, values.shape[-1]), dtype=queries.dtype)
    for t in range(T):
        cache_k[t], cache_v[t] = keys[t], values[t]
        written = (np.arange(T) <= t)[None]
        out[t] = attended(plain, queries[t : t + 1], cache_k, cache_v, written)[0][0]
    return out


@special("decode")
def two_level_cache(queries, keys, values):
    """Full blocks of three are attended one by one and merged with the rest by log-sum-exp."""
    out = np.zeros((len(queries), values.shape[-1]), dtype=queries.dtype)
    for t in range(len(queries)):
        edges = [*range(0, t + 1, 3), t + 1]
        done = [
            attended(plain, wide(queries[t : t + 1]), wide(keys[a:b]), wide(values[a:b]))
            for a, b in pairwise(edges)
        ]
        lses = np.array([lse[0] for _, lse in done])
        shares = np.exp(lses - lses.max())
        rows = np.stack([o[0] for o, _ in done])
        out[t] = (shares / shares.sum()) @ rows
    return out


def _backward(query, key, value, grad_out, is_causal, jacobian):
    """Row by row with the allowed keys only; `jacobian` says how the softmax is passed back."""
    q, k, v, bias = parts_of(query, key, value, None, is_causal)
    g, factor = wide(grad_out), query.shape[-1] ** -0.5 if query.shape[-1] else 1.0
    dq, dk, dv = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
    with np.errstate(all="ignore"):
        for n in np.ndindex(q.shape[:-1]):
            seen = np.flatnonzero(~np.isneginf(bias[n]))
            if not len(seen):
                continue
            head = n[:-1]
            keys, values = k[head][seen], v[head][seen]
            s = keys @ q[n] * q.dtype.type(factor)
            e = np.exp(s - s.max())
            p = e / e.sum()
            ds = jacobian(p, values, g[n]) * q.dtype.type(factor)
            dq[n] = ds @ keys
            dk[(*head, seen)] += ds[:, None] * q[n]
            dv[(*head, seen)] += p[:, None] * g[n]
    if k.shape != key.shape:
        group = k.shape[-3] // key.shape[-3]
        dk, dv = (
            x.reshape(*x.shape[:-3], key.shape[-3], group, *x.shape[-2:]).sum(axis=-3)
            for x in (dk, dv)
        )
    return dq.astype(query.dtype), dk.astype(key.dtype), dv.astype(value.dtype)


@special("grad")
def through_the_output(query, key, value, grad_out, *, is_causal=False):
    """The row term as grad_out times output, as fused kernels have it."""

    def jacobian(p, values, g):
        return p * (values @ g - g @ (p @ values))

    return _backward(query, key, value, grad_out, is_causal, jacobian)


@special("grad")
def through_the_jacobian(query, key, value, grad_out, *, is_causal=False):
    """The whole matrix diag(p) - p p^T."""

    def jacobian(p, values, g):
        return (np.diag(p) - np.outer(p, p)) @ (values @ g)

    return _backward(query, key, value, grad_out, is_causal, jacobian)


@special("grad")
def through_centred_values(query, key, value, grad_out, *, is_causal=False):
    """dS_j = p_j (v_j - o) g: the mean is taken off the values first."""

    def jacobian(p, values, g):
        return p * ((values - p @ values) @ g)

    return _backward(query, key, value, grad_out, is_causal, jacobian)


@special("softcap")
def capped_by_exponentials(
    query, key, value, *, softcap, attn_mask=None, is_causal=False, scale=None
):
    """tanh(x) as 1 - 2 / (exp(2 x) + 1)."""
    q, k, v, bias = parts_of(query, key, value, attn_mask, is_causal)
    factor = query.shape[-1] ** -0.5 if scale is None else scale

    def capped(q, k, v, bias, scale):
        s = q @ flipped(k) * scale / softcap
        s = np.where(np.abs(s) < 0.5, np.tanh(s), 1 - 2 / (np.exp(2 * s) + 1)) * softcap + bias
        top = top_of(s)
        e = np.exp(s - top)
        total = e.sum(axis=-1, keepdims=True)
        return over(e, total) @ v, ended(top, total)

    return attended(capped, q, k, v, bias, False, factor)[0].astype(query.dtype)


@special("alibi")
def slope_on_the_key_index(query, key, value, *, is_causal=True):
    """-m (i - j) = m j - m i, and the second term is the same for all keys of a row."""
    H = query.shape[-3]
    slope = 2.0 ** (-8.0 * np.arange(1, H + 1) / max(1, H))
    j = np.arange(key.shape[-2]) - key.shape[-2] + 1
    bias = slope[:, None, None] * np.broadcast_to(j, (query.shape[-2], key.shape[-2]))
    return attended(plain, query, key, value, bias, is_causal)[0]


@special("varlen")
def block_diagonal_mask(query, key, value, *, cu_seqlens, is_causal=False):
    """One call over all packed tokens with a mask of their segments."""
    owner = np.searchsorted(np.asarray(cu_seqlens)[1:], np.arange(len(query)), side="right")
    m = owner[:, None] == owner[None, :]
    moved = (np.swapaxes(x, 0, 1) for x in (query, key, value))
    return np.swapaxes(attended(plain, *moved, m, is_causal)[0], 0, 1).copy()


@special("dropout")
def dropped_after_the_sum(query, key, value, *, drop_keep, p, training=True):
    """Kept terms are summed, then divided by the full denominator and by 1 - p."""
    q, k, v, bias = parts_of(query, key, value, None, False)
    with np.errstate(all="ignore"):
        s = q @ flipped(k) * q.dtype.type(query.shape[-1] ** -0.5) + bias
        top = top_of(s)
        e = np.exp(s - top)
        total = e.sum(axis=-1, keepdims=True)
        used = e * drop_keep / q.dtype.type(1 - p) if training else e
        out = used @ v
    return over(out, np.broadcast_to(total, out.shape)).astype(query.dtype)


def everything():
    """(name, level, function) of all of them."""
    for level, make in LEVELS.items():
        for name, function in CORES.items():
            yield f"{level}:{name}", level, make(function)
    for name, (level, function) in SPECIAL.items():
        yield name, level, function
