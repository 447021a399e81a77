"""What attention ought to return under a profile, and how far any program may be from it.

Expected values are computed in float64 and never look at a masked key or value, NaN included. The
allowance is the error bound of the reference (`attnproofs.reference.bounds` documents it) evaluated
for the *coarsest* arithmetic in use, float16 or the target's own dtype where that is coarser:
properties about structure must not depend on precision, so only what no precision can excuse is
outside it. Where every kept value is exactly zero the allowance is zero, which is how a leak of any
size is seen.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from attnproofs.contract.profile import Profile
from attnproofs.contract.wire import Array

#: Unit roundoff by dtype name.
UNIT = {
    "float64": 2.0**-53,
    "float32": 2.0**-24,
    "float16": 2.0**-11,
    "bfloat16": 2.0**-8,
    "float8_e4m3fn": 2.0**-4,
    "float8_e5m2": 2.0**-3,
}
#: The coarsest format that structure must survive.
COARSE = 2.0**-11


@dataclass(frozen=True)
class Expected:
    """Expected output, weights and log-sum-exp, with allowances of the same shapes.

    `judged` and `row_judged` are False where the mathematics gives no finite answer (a kept entry
    is NaN or infinite) or the profile leaves the row open. `parts` are the terms that the
    allowance of the output is made of.
    """

    output: Array
    allowance: Array
    judged: Array
    weights: Array
    weights_allowance: Array
    lse: Array
    lse_allowance: Array
    row_judged: Array
    keep: Array
    parts: dict[str, Array] = field(default_factory=dict)


def decode_mask(mask: Any, profile: Profile) -> tuple[Array, Array]:
    """(keep, bias) of a mask as the target receives it, under the profile's conventions."""
    if mask is None:
        return np.ones((1, 1), bool), np.zeros((1, 1))
    array = np.asarray(mask)
    if array.dtype == bool:
        if profile.bool_mask == "added":
            return np.ones(array.shape, bool), array.astype(float)
        keep = ~array if profile.bool_mask == "masked" else array
        return keep, np.zeros(array.shape)
    wide = array.astype(np.float64)
    keep = wide != -np.inf
    return keep, np.where(keep, wide, 0.0)


def causal_keep(queries: int, keys: int, alignment: str) -> Array:
    """The causal pattern: True where query i may see key j."""
    if alignment == "top-left-unless-one" and queries == 1:
        return np.ones((queries, keys), bool)
    shift = keys - queries if alignment == "bottom-right" else 0
    return np.tril(np.ones((queries, keys), bool), shift)


def window_keep(queries: int, keys: int, left: int, right: int, profile: Profile) -> Array:
    """The window pattern; a negative side is unlimited."""
    shift = keys - queries if profile.window_alignment == "bottom-right" else 0
    distance = np.arange(queries)[:, None] + shift - np.arange(keys)
    keep = np.ones((queries, keys), bool)
    exclusive = profile.window == "exclusive"
    if left >= 0:
        keep &= distance < left if exclusive else distance <= left
    if right >= 0:
        keep &= -distance < right if exclusive else -distance <= right
    return keep


def head_map(query_heads: int, key_heads: int, profile: Profile) -> Array:
    """Which key head each query head reads."""
    heads = np.arange(query_heads)
    if profile.grouped_heads == "tiled":
        return heads % key_heads
    return heads // max(1, query_heads // max(1, key_heads))


def spread_heads(array: Array, query: Array, profile: Profile) -> Array:
    """Give every query head its own copy of the key head it reads."""
    if query.ndim < 3 or array.ndim < 3 or array.shape[-3] == query.shape[-3]:
        return array
    return array[..., head_map(query.shape[-3], array.shape[-3], profile), :, :]


def default_scale(features: int, profile: Profile) -> float:
    """The scale used when none is given."""
    if profile.default_scale == "1":
        return 1.0
    if features == 0:
        return 1.0
    return 1.0 / features if profile.default_scale == "1/d" else 1.0 / float(np.sqrt(features))


def alibi_slopes(heads: int) -> Array:
    """The geometric slopes of Press et al. 2022 (arXiv:2108.12409), ``2^(-8 (h + 1) / heads)``."""
    return 2.0 ** (-8.0 * (np.arange(heads) + 1) / heads)


def attention(
    args: dict[str, Any], profile: Profile, unit: float = COARSE, *, alibi: bool = False
) -> Expected:
    """Expected result of one call of level ``sdpa``.

    Parameters
    ----------
    args
        The call's arguments: query ``(..., Hq, L, E)``, key ``(..., Hkv, S, E)``, value
        ``(..., Hkv, S, Ev)`` and any of attn_mask, is_causal, scale, softcap, sinks, window (or
        left and right), drop_keep and p.
    profile
        Conventions.
    unit
        Unit roundoff of the coarsest arithmetic allowed.
    alibi
        Whether the function adds the ALiBi bias of its own accord.
    """
    with np.errstate(all="ignore"):
        return _attention(args, profile, unit, alibi)


def _attention(args: dict[str, Any], profile: Profile, unit: float, alibi: bool) -> Expected:
    query, key, value = (np.asarray(args[n]).astype(np.float64) for n in ("query", "key", "value"))
    queries, keys, features = query.shape[-2], key.shape[-2], query.shape[-1]
    key_, value_ = spread_heads(key, query, profile), spread_heads(value, query, profile)
    scale = args.get("scale")
    scale = default_scale(features, profile) if scale is None else float(scale)

    raw = query @ np.swapaxes(key_, -1, -2)  # (..., Hq, L, S)
    size = np.abs(query) @ np.swapaxes(np.abs(key_), -1, -2) * abs(scale)
    scores = raw * scale
    error = unit * ((features + 3) * size + 3 * np.abs(scores))

    keep, bias = decode_mask(args.get("attn_mask"), profile)
    masked = args.get("attn_mask") is not None
    together = profile.mask_and_causal
    is_causal = bool(args.get("is_causal", False))
    if masked and is_causal and together == "causal":
        keep, bias = np.ones((1, 1), bool), np.zeros((1, 1))
    keep = np.broadcast_to(keep, scores.shape)
    bias = np.broadcast_to(bias, scores.shape)
    if is_causal and not (masked and together == "mask"):
        keep = keep & causal_keep(queries, keys, profile.causal_alignment)
    window = args.get("window", (args.get("left", -1), args.get("right", -1)))
    if window is not None and tuple(window) != (-1, -1):
        keep = keep & window_keep(queries, keys, int(window[0]), int(window[1]), profile)
    if alibi:
        distance = np.arange(queries)[:, None] - np.arange(keys)
        bias = bias - alibi_slopes(query.shape[-3])[:, None, None] * distance
    softcap = args.get("softcap")
    if softcap:
        scores = float(softcap) * np.tanh(scores / float(softcap))
        error = error + 4 * unit * np.abs(scores)
    if (bias != 0).any():
        scores = scores + bias
        error = error + 2 * unit * (np.abs(scores) + np.abs(bias))

    inner = np.where(keep, scores, -np.inf)
    sinks = args.get("sinks")
    sink = None
    if sinks is not None:
        sink = np.broadcast_to(np.asarray(sinks, np.float64)[:, None, None], (*inner.shape[:-1], 1))
    peak = np.max(inner, -1, keepdims=True, initial=-np.inf)
    if sink is not None:
        peak = np.maximum(peak, sink)
    shift = np.where(np.isfinite(peak), peak, 0.0)
    terms = np.where(keep, np.exp(inner - shift), 0.0)
    total = terms.sum(-1, keepdims=True)
    if sink is not None:
        total = total + np.exp(sink - shift)
    weights = np.where(total > 0, terms / np.where(total > 0, total, 1.0), 0.0)
    lse = (shift + np.log(total))[..., 0]

    # the bound: h is the largest error of a kept log-weight, common errors cost nothing
    kept = keep.sum(-1, keepdims=True)
    level = np.max(np.where(keep, np.abs(inner), 0.0), -1, keepdims=True, initial=0.0)
    reach = np.where(keep, shift - inner, 0.0)
    error = np.where(keep, error, 0.0)
    slack = 2 * np.max(error, -1, keepdims=True, initial=0.0)
    h = error + 2 * unit * (reach + slack + level) + 4 * (kept + 1) * unit
    h = np.where(keep, np.minimum(h, 50.0), 0.0)
    h_max = np.max(h, -1, keepdims=True, initial=0.0)
    lost = np.minimum(2 * (kept + 1) * unit, 0.5)
    x = (1 + 2 * unit) / (1 - lost) - 1
    g = (1 + lost) * (1 + unit) * (1 + 2 * unit) - 1
    moved = weights * np.expm1(h)
    inflate = np.exp((weights * h).sum(-1, keepdims=True))

    drop = args.get("drop_keep")
    used = weights
    if drop is not None and args.get("training", True):
        used = weights * np.asarray(drop) / (1.0 - float(args["p"]))
        moved = moved * np.asarray(drop) / (1.0 - float(args["p"]))

    clean = np.where(np.isfinite(value_), value_, 0.0)
    finite = np.asarray(np.isfinite(value_).all(-1))[..., None, :]  # (..., Hq, 1, S)
    output = used @ clean
    size_v = np.abs(clean)
    spread = used @ size_v
    first = _extent(keep, clean)
    largest = np.where(first.any, np.maximum(np.abs(first.high), np.abs(first.low)), 0.0)
    by_range = np.tanh(h_max / 2) * (first.high - first.low)
    by_weight = inflate * (moved @ size_v + moved.sum(-1, keepdims=True) * np.abs(output))
    t = np.minimum(by_range, by_weight) if drop is None and sink is None else by_weight
    parts = {
        "scores": t,
        "sums": x * (np.abs(output) + t),
        "weights": (1 + x) * g * np.minimum(largest, spread + t),
    }
    b = sum(parts.values())
    parts["output"] = unit * (np.abs(output) + b) + kept * 2.0**-24 * largest
    allowance = np.where(largest > 0, b + parts["output"], 0.0)

    row_ok = np.asarray((np.isfinite(scores) & np.isfinite(error) & finite) | ~keep)
    judged_rows: Array = np.asarray(row_ok.all(-1))
    empty = ~np.asarray(keep.any(-1))
    if empty.any():
        rule = "zeros" if sink is not None else _empty_rule(args, profile, keep)
        output, allowance, weights, judged_rows = _empty_rows(
            rule, empty, output, allowance, weights, judged=judged_rows, value=clean
        )
    w_allow = inflate * (moved + moved.sum(-1, keepdims=True) * weights)
    w_allow = w_allow * (1 + x) + (x + g) * weights + unit * weights + 2.0**-24 * (weights > 0)
    lse_allow = h_max[..., 0] + 2 * lost[..., 0] + 4 * unit * (1 + np.abs(lse))
    lse_allow = np.where(np.isfinite(lse), lse_allow, 0.0)
    return Expected(
        output=output,
        allowance=allowance,
        judged=np.broadcast_to(judged_rows[..., None], output.shape),
        weights=weights,
        weights_allowance=w_allow,
        lse=lse,
        lse_allowance=lse_allow,
        row_judged=judged_rows,
        keep=keep,
        parts=parts,
    )


@dataclass(frozen=True)
class _Extent:
    """Smallest and largest kept value of each output element, and whether there is one."""

    low: Array
    high: Array
    any: Array


def _extent(keep: Array, value: Array) -> _Extent:
    """Range of the kept values per query and feature."""
    shape = (*np.broadcast_shapes(keep.shape[:-1], (*value.shape[:-2], 1)), value.shape[-1])
    low, high = np.zeros(shape), np.zeros(shape)
    some = np.asarray(keep.any(-1))[..., None] & np.ones(shape, bool)
    if value.shape[-2] and keep.size * value.shape[-1] <= 1 << 22:
        wide = value[..., None, :, :]
        where = keep[..., None]
        low = np.min(np.where(where, wide, np.inf), -2)
        high = np.max(np.where(where, wide, -np.inf), -2)
        low, high = np.where(some, low, 0.0), np.where(some, high, 0.0)
    elif value.shape[-2]:
        low = low + value.min(-2)[..., None, :]
        high = high + value.max(-2)[..., None, :]
    return _Extent(low, high, some)


def _empty_rows(
    rule: str,
    empty: Array,
    output: Array,
    allowance: Array,
    weights: Array,
    *,
    judged: Array,
    value: Array,
) -> tuple[Array, Array, Array, Array]:
    """Apply the profile's rule for rows without a kept key."""
    if rule == "zeros":
        return (
            np.where(empty[..., None], 0.0, output),
            np.where(empty[..., None], 0.0, allowance),
            np.where(empty[..., None], 0.0, weights),
            judged,
        )
    if rule == "uniform" and value.shape[-2]:
        mean = value.mean(-2, keepdims=True)
        spread = np.abs(value).mean(-2, keepdims=True)
        return (
            np.where(empty[..., None], mean, output),
            np.where(empty[..., None], 8 * value.shape[-2] * COARSE * spread, allowance),
            np.where(empty[..., None], 1.0 / value.shape[-2], weights),
            judged,
        )
    if rule == "nan":
        return np.where(empty[..., None], np.nan, output), allowance, weights, judged
    return output, allowance, weights, judged & ~empty


def _empty_rule(args: dict[str, Any], profile: Profile, keep: Array) -> str:
    """Which of the profile's rules for empty rows this call falls under."""
    if keep.shape[-1] == 0:
        return profile.no_keys
    mask = args.get("attn_mask")
    if mask is None:
        return profile.empty_row_causal
    if np.asarray(mask).dtype == bool:
        return profile.empty_row_bool
    return profile.empty_row_neg_inf


def unit_of(dtype: str) -> float:
    """Unit roundoff that structure must survive for inputs of `dtype`."""
    return max(COARSE, UNIT.get(dtype, COARSE))


def softmax(scores: Array, axis: int, unit: float) -> tuple[Array, Array, Array]:
    """Expected softmax along `axis`: values, allowance, and whether each slice is judged.

    A slice that is -inf throughout, or empty, gives zeros.
    """
    with np.errstate(all="ignore"):
        x = np.moveaxis(np.asarray(scores).astype(np.float64), axis, -1)
        peak = np.max(x, -1, keepdims=True, initial=-np.inf)
        shift = np.where(np.isfinite(peak), peak, 0.0)
        terms = np.exp(x - shift)
        total = terms.sum(-1, keepdims=True)
        p = np.where(total > 0, terms / np.where(total > 0, total, 1.0), 0.0)
        n = x.shape[-1]
        finite = np.isfinite(x)
        level = np.max(np.where(finite, np.abs(x), 0.0), -1, keepdims=True, initial=0.0)
        reach = np.where(finite, shift - x, 0.0)
        h = np.minimum(2 * unit * (reach + level) + 4 * (n + 1) * unit, 50.0)
        moved = np.where(finite, p * np.expm1(h), 0.0)
        inflate = np.exp((p * h).sum(-1, keepdims=True))
        lost = min(2 * (n + 1) * unit, 0.5)
        allowance = inflate * (moved + moved.sum(-1, keepdims=True) * p)
        allowance = allowance + 3 * (lost / (1 - lost)) * (p + allowance) + 2.0**-24 * finite
        judged = np.broadcast_to(np.asarray((x < np.inf).all(-1))[..., None], p.shape)
    return (
        np.moveaxis(p, -1, axis),
        np.moveaxis(np.minimum(allowance, 1.0), -1, axis),
        np.moveaxis(judged, -1, axis),
    )


@dataclass(frozen=True)
class Gradients:
    """Expected gradients with respect to query, key and value, and an allowance for each."""

    values: tuple[Array, Array, Array]
    allowances: tuple[Array, Array, Array]


def gradients(args: dict[str, Any], profile: Profile, unit: float) -> Gradients:
    """Expected gradients of ``sum(output * grad_out)``.

    The error of the weights (see `attention`) and of every product is carried through
    dV = Aᵀ dO, dA = dO Vᵀ, dS = A (dA - rowsum(A dA)), dQ = τ dS K, dK = τ dSᵀ Q; masked pairs have
    weight zero exactly, and so has everything that only they contribute to.
    """
    with np.errstate(all="ignore"):
        query, key, value, above = (
            np.asarray(args[n]).astype(np.longdouble) for n in ("query", "key", "value", "grad_out")
        )
        forward = attention({**args, "value": np.zeros_like(args["value"])}, profile, unit)
        a = _exact_weights(args, profile, forward)
        ea = forward.weights_allowance
        scale = np.longdouble(default_scale(query.shape[-1], profile))
        key_, value_ = spread_heads(key, query, profile), spread_heads(value, query, profile)
        seen = forward.keep

        def turn(x: Array) -> Array:
            return np.swapaxes(x, -1, -2)

        def size(x: Array) -> Array:
            return np.abs(np.where(np.isfinite(x), x, 0.0))

        def clean(x: Array) -> Array:
            return np.where(np.isfinite(x), x, 0.0)

        n, width, rows = key.shape[-2], value.shape[-1], query.shape[-2]
        da = np.where(seen, clean(above) @ turn(clean(value_)), 0.0)
        size_da = size(above) @ turn(size(value_))
        eda = np.where(seen, (width + 2) * unit * size_da, 0.0)
        delta = (a * da).sum(-1, keepdims=True)
        size_delta = (a * size_da).sum(-1, keepdims=True)
        edelta = (ea * size_da + a * eda).sum(-1, keepdims=True) + (
            n + width + 2
        ) * unit * size_delta
        ds = a * (da - delta)
        eds = ea * (np.abs(da - delta) + eda + edelta) + a * (eda + edelta)
        eds = eds + 4 * unit * a * (np.abs(da) + np.abs(delta))
        dq = scale * (ds @ clean(key_))
        edq = scale * (eds @ size(key_) + (n + 4) * unit * (np.abs(ds) @ size(key_)))
        dk = scale * (turn(ds) @ clean(query))
        edk = scale * (
            turn(eds) @ size(query) + (rows + 4) * unit * (turn(np.abs(ds)) @ size(query))
        )
        dv = turn(a) @ clean(above)
        edv = turn(ea) @ size(above) + (rows + 4) * unit * (turn(a) @ size(above))
        tiny = 2.0**-22 if unit >= COARSE else 2.0**-1000
        edq, edk, edv = (e + tiny * (e > 0) for e in (edq, edk, edv))
        dk, dv, edk, edv = (_fold(x, query, key, profile) for x in (dk, dv, edk, edv))
        # a sum over the query heads of a group rounds once more each
        group = query.shape[-3] // key.shape[-3] if query.ndim >= 3 else 1
        edk, edv = edk + group * unit * np.abs(dk), edv + group * unit * np.abs(dv)
    return Gradients(
        tuple(np.asarray(x, np.float64) for x in (dq, dk, dv)),  # type: ignore[arg-type]
        tuple(np.asarray(x, np.float64) for x in (edq, edk, edv)),  # type: ignore[arg-type]
    )


def _exact_weights(args: dict[str, Any], profile: Profile, forward: Expected) -> Array:
    """The weights in extended precision, so that a float64 result can be judged by them."""
    query, key = (np.asarray(args[n]).astype(np.longdouble) for n in ("query", "key"))
    key_ = spread_heads(key, query, profile)
    scores = query @ np.swapaxes(key_, -1, -2) / np.sqrt(np.longdouble(max(1, query.shape[-1])))
    inner = np.where(forward.keep, scores, -np.inf)
    peak = np.max(inner, -1, keepdims=True, initial=-np.inf)
    terms = np.where(forward.keep, np.exp(inner - np.where(np.isfinite(peak), peak, 0.0)), 0.0)
    total = terms.sum(-1, keepdims=True)
    return np.asarray(np.where(total > 0, terms / np.where(total > 0, total, 1.0), 0.0))


def _fold(gradient: Array, query: Array, key: Array, profile: Profile) -> Array:
    """Sum the gradients of a group's query heads onto the key head that they read."""
    if query.ndim < 3 or query.shape[-3] == key.shape[-3]:
        return gradient
    which = head_map(query.shape[-3], key.shape[-3], profile)
    return np.stack(
        [gradient[..., which == g, :, :].sum(-3) for g in range(key.shape[-3])], axis=-3
    )


def multi_head(args: dict[str, Any], profile: Profile, unit: float) -> Expected:
    """Expected result of one call of level ``mha``: row vectors, heads as contiguous blocks.

    Projections of small whole numbers are exact in every format; the error of attention is carried
    through the output projection.
    """
    with np.errstate(all="ignore"):
        wide = {
            n: np.asarray(a).astype(np.float64)
            for n, a in args.items()
            if isinstance(a, np.ndarray) and n != "attn_mask"
        }
        heads = int(args["num_heads"])

        def project(x: str, w: str, b: str) -> Array:
            rows = wide[x] @ wide[w]
            rows = rows + wide[b] if b in wide else rows
            return np.swapaxes(rows.reshape(rows.shape[0], heads, -1), 0, 1)

        inner = {
            "query": project("x_query", "W_Q", "b_Q"),
            "key": project("x_source", "W_K", "b_K"),
            "value": project("x_source", "W_V", "b_V"),
            "attn_mask": args.get("attn_mask"),
            "is_causal": args.get("is_causal", False),
        }
        got = attention(inner, profile, unit)

        def merge(x: Array) -> Array:
            return np.swapaxes(x, 0, 1).reshape(x.shape[1], -1)

        joined, error = merge(got.output), merge(got.allowance)
        judged = np.asarray(merge(np.broadcast_to(got.judged, got.output.shape)).all(-1))
        weight = wide["W_O"]
        output = joined @ weight
        allowance = error @ np.abs(weight)
        allowance = allowance + (joined.shape[-1] + 2) * unit * (np.abs(joined) @ np.abs(weight))
        if "b_O" in wide:
            output = output + wide["b_O"]
            allowance = allowance + 2 * unit * (np.abs(output) + np.abs(wide["b_O"]))
        allowance = allowance + 2 * unit * np.abs(output) * (allowance > 0)
    return Expected(
        output=output,
        allowance=allowance,
        judged=np.broadcast_to(judged[:, None], output.shape),
        weights=got.weights,
        weights_allowance=got.weights_allowance,
        lse=got.lse,
        lse_allowance=got.lse_allowance,
        row_judged=judged,
        keep=got.keep,
    )
