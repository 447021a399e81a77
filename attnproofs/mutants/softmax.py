"""Mutants of the softmax: its shift, its sum, its axis, and its running form over tiles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from attnproofs.mutants.correct import (
    INF,
    Array,
    attend,
    both,
    default_scale,
    lengths,
    log_sum_exp,
    ratio,
    sdpa,
    softmax,
)
from attnproofs.mutants.registry import Call, mutant, qkv

TILE = 4  # keys a tile; small, so that short inputs cross a border


def _scores(*rows: Any, dtype: str = "float64", **options: Any) -> Call:
    return Call((np.array(rows, dtype=dtype),), options)


def _row(*scores: float, **options: Any) -> Call:
    """One query [1] and keys equal to `scores` (E = 1, so scale 1), values 1, 2, 3, ..."""
    keys = np.array(scores, dtype=float)[:, None]
    values = np.arange(1, len(scores) + 1)[:, None]
    return qkv(1, len(scores), 1, query=[[1]], key=keys, value=values, **options)


def _normalised(grown: Array) -> Array:
    """Rows divided by their sums; a zero sum gives zeros."""
    return ratio(grown, grown.sum(axis=-1, keepdims=True))


# ---------------------------------------------------------------- level softmax


@mutant(
    "softmax",
    "the running maximum starts at zero, so a row of very negative scores underflows to 0/0",
    cause="shift",
    sources=("bytedance/lightseq#74",),
    witness=lambda: _scores([-1000, -1000]),
)
def softmax_maximum_starts_at_zero(scores: Array, *, axis: int = -1) -> Array:
    grown = np.exp(scores - scores.max(axis=axis, keepdims=True, initial=0.0))
    result: Array = grown / grown.sum(axis=axis, keepdims=True)
    return np.where(np.isneginf(scores).all(axis=axis, keepdims=True), 0.0, result).astype(
        scores.dtype
    )


@mutant(
    "softmax",
    "nothing is subtracted before the exponential, so large scores overflow to inf/inf",
    cause="shift",
    witness=lambda: _scores([1000, 1000]),
)
def softmax_without_shift(scores: Array, *, axis: int = -1) -> Array:
    grown = np.exp(scores)
    return ratio(grown, grown.sum(axis=axis, keepdims=True))


@mutant(
    "softmax",
    "the mean is subtracted instead of the maximum, so one outlier overflows",
    cause="shift",
    witness=lambda: _scores([3000, 0]),
)
def softmax_shifted_by_mean(scores: Array, *, axis: int = -1) -> Array:
    finite = np.where(np.isneginf(scores), 0.0, scores)
    grown = np.exp(scores - finite.mean(axis=axis, keepdims=True))
    return ratio(grown, grown.sum(axis=axis, keepdims=True))


@mutant(
    "softmax",
    "the axis is ignored: the softmax always runs along the last one",
    cause="axis",
    witness=lambda: _scores([1, 2], [3, 5], axis=0),
)
def softmax_always_last_axis(scores: Array, *, axis: int = -1) -> Array:
    return softmax(scores)


@mutant(
    "softmax",
    "the axis is forgotten in the sum: the whole array sums to one",
    cause="axis",
    witness=lambda: _scores([1, 2], [3, 5]),
)
def softmax_over_whole_array(scores: Array, *, axis: int = -1) -> Array:
    return softmax(scores.reshape(-1)).reshape(scores.shape)


@mutant(
    "softmax",
    "a guard of 1e-6 stays in the denominator",
    cause="accuracy",
    witness=lambda: _scores([0, 0]),
)
def softmax_guarded_denominator(scores: Array, *, axis: int = -1) -> Array:
    top = scores.max(axis=axis, keepdims=True, initial=-INF)
    grown = np.exp(scores - np.where(np.isneginf(top), 0.0, top))
    result: Array = grown / (grown.sum(axis=axis, keepdims=True) + 1e-6)
    return result.astype(scores.dtype)


@mutant(
    "softmax",
    "exponents are clipped at -16 to keep clear of underflow, so far scores get too much",
    cause="accuracy",
    witness=lambda: _scores([0, -40]),
)
def softmax_exponent_clipped(scores: Array, *, axis: int = -1) -> Array:
    top = scores.max(axis=axis, keepdims=True, initial=-INF)
    shifted = scores - np.where(np.isneginf(top), 0.0, top)
    return softmax(np.where(np.isneginf(scores), scores, np.maximum(shifted, -16.0)), axis=axis)


@mutant(
    "softmax",
    "the exponential is taken to base two without the factor log2(e)",
    cause="accuracy",
    witness=lambda: _scores([0, 1]),
)
def softmax_base_two(scores: Array, *, axis: int = -1) -> Array:
    return softmax(scores * np.log(2.0), axis=axis).astype(scores.dtype)


@mutant(
    "softmax",
    "the logarithm of the result is returned",
    cause="row-sum",
    witness=lambda: _scores([0, 1]),
)
def softmax_returns_logarithm(scores: Array, *, axis: int = -1) -> Array:
    return np.log(softmax(scores, axis=axis))


@mutant(
    "softmax",
    "the maximum is subtracted in place, in the caller's array",
    cause="inputs",
    witness=lambda: _scores([1, 2]),
)
def softmax_shifts_in_place(scores: Array, *, axis: int = -1) -> Array:
    if scores.dtype.kind == "f" and scores.flags.writeable and scores.size:
        top = scores.max(axis=axis, keepdims=True)
        scores -= np.where(np.isfinite(top), top, 0.0)
    return softmax(scores, axis=axis)


@mutant(
    "softmax",
    "equal scores are merged: each distinct score counts once in the sum",
    cause="row-sum",
    witness=lambda: _scores([0, 0]),
)
def softmax_counts_ties_once(scores: Array, *, axis: int = -1) -> Array:
    moved = np.moveaxis(scores, axis, -1)
    flat = moved.reshape(-1, moved.shape[-1]) if moved.size else moved.reshape(0, 0)
    result = softmax(moved).reshape(flat.shape)
    for row, weights in zip(flat, result, strict=True):
        _, first, count = np.unique(row, return_index=True, return_counts=True)
        if (count > 1).any():
            weights /= weights[first].sum() if weights[first].sum() else 1.0
    return np.moveaxis(result.reshape(moved.shape), -1, axis)


# ---------------------------------------------------------------- inside attention


@mutant(
    "sdpa",
    "one maximum is taken for the whole score matrix, so a row far below it underflows to zero",
    cause="shift",
    witness=lambda: qkv(2, 1, 1, query=[[1], [-1]], key=[[500]]),
)
def one_maximum_for_all_rows(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    def normalise(scores: Array) -> Array:
        top = scores.max(axis=(-1, -2), keepdims=True, initial=-INF)
        return _normalised(np.exp(scores - np.where(np.isneginf(top), 0.0, top)))

    return attend(query, key, value, normalise=normalise, **rest).output


@mutant(
    "sdpa",
    "nothing is subtracted before the exponential, so scores beyond 709 overflow",
    cause="shift",
    witness=lambda: _row(800, 800),
)
def no_shift(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    def normalise(scores: Array) -> Array:
        return _normalised(np.exp(scores))

    return attend(query, key, value, normalise=normalise, **rest).output


@mutant(
    "sdpa",
    "the maximum is taken of the absolute scores, so very negative rows underflow to zero",
    cause="shift",
    witness=lambda: _row(-500, -500),
)
def maximum_of_absolute_scores(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    def normalise(scores: Array) -> Array:
        finite = np.where(np.isneginf(scores), 0.0, np.abs(scores))
        return _normalised(np.exp(scores - finite.max(axis=-1, keepdims=True, initial=0.0)))

    return attend(query, key, value, normalise=normalise, **rest).output


@mutant(
    "sdpa",
    "the running maximum starts from a finite -50000 on the unscaled scores, so a row below it "
    "is silently zero",
    cause="shift",
    sources=("flashinfer-ai/flashinfer#4267",),
    witness=lambda: qkv(1, 1, 1, query=[[1e3]], key=[[-1e3]]),
)
def maximum_starts_finite(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    scale = rest.get("scale")
    floor = -5e4 * abs(default_scale(query) if scale is None else scale)

    def normalise(scores: Array) -> Array:
        return _normalised(np.exp(scores - scores.max(axis=-1, keepdims=True, initial=floor)))

    return attend(query, key, value, normalise=normalise, **rest).output


@mutant(
    "sdpa",
    "the softmax runs over the queries instead of the keys",
    cause="row-sum",
    witness=qkv,
)
def softmax_over_queries(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    return attend(query, key, value, normalise=lambda s: softmax(s, axis=-2), **rest).output


@mutant(
    "sdpa",
    "the softmax runs over keys and heads together",
    cause="row-sum",
    witness=lambda: qkv(1, heads=2),
)
def softmax_over_heads(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    def normalise(scores: Array) -> Array:
        if scores.ndim < 3:
            return softmax(scores)
        moved = np.moveaxis(scores, -3, -2)  # (..., L, Hq, S)
        joined = softmax(moved.reshape(*moved.shape[:-2], moved.shape[-2] * moved.shape[-1]))
        return np.moveaxis(joined.reshape(moved.shape), -2, -3)

    return attend(query, key, value, normalise=normalise, **rest).output


@mutant(
    "sdpa",
    "the denominator sums the exponentials of all rows of a tile of queries",
    cause="row-sum",
    witness=qkv,
)
def denominator_shared_by_rows(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    def normalise(scores: Array) -> Array:
        top = scores.max(axis=-1, keepdims=True, initial=-INF)
        grown = np.exp(scores - np.where(np.isneginf(top), 0.0, top))
        rows = max(1, scores.shape[-2])
        total = grown.sum(axis=(-1, -2), keepdims=True) / rows
        return ratio(grown, total)

    return attend(query, key, value, normalise=normalise, **rest).output


@mutant(
    "sdpa",
    "the softmax is left out: the scores themselves weigh the values, divided by their sum",
    cause="row-sum",
    witness=lambda: _row(1, 2),
)
def scores_normalised_without_exponential(
    query: Array, key: Array, value: Array, **rest: Any
) -> Array:
    def normalise(scores: Array) -> Array:
        return _normalised(np.where(np.isneginf(scores), 0.0, scores))

    return attend(query, key, value, normalise=normalise, **rest).output


# ---------------------------------------------------------------- tiles and splits


def _tiles(count: int) -> Iterator[slice]:
    return (slice(start, start + TILE) for start in range(0, count, TILE))


@mutant(
    "sdpa",
    "a tile without any allowed key leaves the running maximum at zero, from where it never comes "
    "down",
    cause="tiling",
    sources=("Dao-AILab/flash-attention#2082",),
    witness=lambda: _row(-1000, 0, 0, 0, 0, is_causal=True),
)
def running_maximum_stuck_at_zero(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    def normalise(scores: Array) -> Array:
        top = np.full(scores.shape[:-1], -INF)
        for tile in reversed(list(_tiles(scores.shape[-1]))):
            highest = np.maximum(top, scores[..., tile].max(axis=-1))
            top = np.where(np.isneginf(highest), 0.0, highest)
        return _normalised(np.exp(scores - top[..., None]))

    return attend(query, key, value, normalise=normalise, **rest).output


@mutant(
    "sdpa",
    "the running sum of outputs is divided by the rescaling factor where it should be multiplied",
    cause="tiling",
    sources=("Dao-AILab/flash-attention#991",),
    witness=lambda: _row(0, 0, 0, 0, 1),
)
def rescaling_inverted(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    def normalise(scores: Array) -> Array:
        top = np.full((*scores.shape[:-1], 1), -INF)
        used = np.zeros_like(scores)
        total = np.zeros_like(top)
        for tile in _tiles(scores.shape[-1]):
            part = scores[..., tile]
            highest = np.maximum(top, part.max(axis=-1, keepdims=True))
            safe = np.where(np.isneginf(highest), 0.0, highest)
            factor = np.exp(top - safe)
            used = ratio(used, factor)
            used[..., tile] = np.exp(part - safe)
            total = total * factor + used[..., tile].sum(axis=-1, keepdims=True)
            top = highest
        return ratio(used, total)

    return attend(query, key, value, normalise=normalise, **rest).output


@mutant(
    "sdpa",
    "when the maximum rises, the running sum is rescaled but the running output is not",
    cause="tiling",
    witness=lambda: _row(0, 0, 0, 0, 1),
)
def output_not_rescaled(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    def normalise(scores: Array) -> Array:
        top = np.full((*scores.shape[:-1], 1), -INF)
        used = np.zeros_like(scores)
        total = np.zeros_like(top)
        for tile in _tiles(scores.shape[-1]):
            part = scores[..., tile]
            highest = np.maximum(top, part.max(axis=-1, keepdims=True))
            safe = np.where(np.isneginf(highest), 0.0, highest)
            used[..., tile] = np.exp(part - safe)
            total = total * np.exp(top - safe) + used[..., tile].sum(axis=-1, keepdims=True)
            top = highest
        return ratio(used, total)

    return attend(query, key, value, normalise=normalise, **rest).output


@mutant(
    "sdpa",
    "splits are merged with exp(lse) and no common maximum, which overflows or divides 0 by 0",
    cause="tiling",
    sources=("Dao-AILab/flash-attention#949",),
    witness=lambda: _row(800, 800, 800, 800, 800),
)
def splits_merged_without_maximum(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    def normalise(scores: Array) -> Array:
        if scores.shape[-1] <= TILE:
            return softmax(scores)
        parts = [scores[..., tile] for tile in _tiles(scores.shape[-1])]
        shares = [np.exp(log_sum_exp(part))[..., None] for part in parts]
        total = np.sum(shares, axis=0)
        joined = [share / total * softmax(part) for share, part in zip(shares, parts, strict=True)]
        empty = np.isneginf(scores).all(axis=-1, keepdims=True)
        return np.where(empty, 0.0, np.concatenate(joined, axis=-1))

    return attend(query, key, value, normalise=normalise, **rest).output


@mutant(
    "sdpa",
    "the outputs of the splits are averaged, each with the same share",
    cause="tiling",
    witness=lambda: _row(0, 0, 0, 0, 0),
)
def splits_averaged(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    def normalise(scores: Array) -> Array:
        parts = [softmax(scores[..., tile]) for tile in _tiles(scores.shape[-1])]
        if not parts:
            return softmax(scores)
        filled = sum(part.sum(axis=-1, keepdims=True) for part in parts)
        joined = np.concatenate(parts, axis=-1)
        return ratio(joined, filled)

    return attend(query, key, value, normalise=normalise, **rest).output


def _first_keys(query: Array, key: Array, value: Array, count: int, rest: Any) -> Array:
    """Attention to the first `count` keys."""
    rest["attn_mask"] = both(rest.get("attn_mask"), np.arange(key.shape[-2]) < count)
    return sdpa(query, key, value, **rest)


@mutant(
    "sdpa",
    "the keys are shared out by floor division, and those left over are never read",
    cause="all-keys",
    sources=("tile-ai/tilelang#2010",),
    witness=lambda: _row(*[0] * 9),
)
def remainder_of_splits_unread(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    S = key.shape[-2]
    return _first_keys(query, key, value, S // 4 * 4 if S >= 8 else S, rest)


@mutant(
    "sdpa",
    "a last tile that holds a single key is skipped (off by one in the number of tiles of 32)",
    cause="all-keys",
    witness=lambda: _row(*[0] * 33),
)
def lone_key_of_last_tile_skipped(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    S = key.shape[-2]
    return _first_keys(query, key, value, S - 1 if S > 1 and S % 32 == 1 else S, rest)


@mutant(
    "sdpa",
    "the last key of every full tile of sixteen is skipped (an exclusive bound too many)",
    cause="all-keys",
    witness=lambda: _row(*[0] * 16),
)
def last_key_of_full_tile_skipped(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    place = np.arange(key.shape[-2])
    rest["attn_mask"] = both(rest.get("attn_mask"), place % 16 != 15)
    return sdpa(query, key, value, **rest)


@mutant(
    "sdpa",
    "the key at each tile border of eight is read by both tiles and counts twice",
    cause="all-keys",
    witness=lambda: _row(*[0] * 9),
)
def border_key_counted_twice(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    place = np.arange(key.shape[-2])
    twice = np.where((place > 0) & (place % 8 == 0), np.log(2.0), 0.0)
    return attend(query, key, value, transform=lambda s: s + twice, **rest).output


@mutant(
    "sdpa",
    "keys beyond the first 64 are never read",
    cause="all-keys",
    witness=lambda: _row(*[0] * 65),
)
def keys_beyond_64_unread(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    return _first_keys(query, key, value, 64, rest)


@mutant(
    "sdpa",
    "the zeros that fill up the last tile take part with score 0",
    cause="all-keys",
    sources=("pytorch/pytorch#169222", "flashinfer-ai/flashinfer#5090"),
    witness=lambda: _row(0),
)
def padding_keys_take_part(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    missing = -key.shape[-2] % TILE
    if rest.get("attn_mask") is not None or rest.get("is_causal") or not missing:
        return sdpa(query, key, value, **rest)
    widths = [(0, 0)] * (key.ndim - 2) + [(0, missing), (0, 0)]
    return sdpa(query, np.pad(key, widths), np.pad(value, widths), **rest)


@mutant(
    "sdpa",
    "in cross-attention the number of queries is taken for the number of keys",
    cause="all-keys",
    sources=("vllm-project/vllm-ascend#9642",),
    witness=lambda: qkv(2, 3),
)
def query_length_for_key_length(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    L, S = lengths(query, key)
    return _first_keys(query, key, value, L if L > 1 else S, rest)


@mutant(
    "sdpa",
    "keys with equal vectors are merged by a lookup table, and the merged key keeps one value",
    cause="all-keys",
    witness=lambda: qkv(1, 2, 1, key=[[1], [1]], value=[[0], [1]]),
)
def equal_keys_merged(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    if key.ndim != 2 or key.shape[0] < 2 or not np.isfinite(key).all():
        return sdpa(query, key, value, **rest)
    repeated = np.zeros(len(key), dtype=bool)
    for n in range(1, len(key)):
        repeated[n] = bool((key[:n] == key[n]).all(axis=-1).any())
    rest["attn_mask"] = both(rest.get("attn_mask"), ~repeated)
    return sdpa(query, key, value, **rest)


@mutant(
    "sdpa",
    "a trace of the key's position is added to its score, so the order of the keys matters",
    cause="key-order",
    witness=lambda: _row(0, 0),
)
def position_added_to_scores(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    trace = 1e-4 * np.arange(key.shape[-2])
    return attend(query, key, value, transform=lambda s: s + trace, **rest).output


# ---------------------------------------------------------------- the returned log-sum-exp


@mutant(
    "lse",
    "the log-sum-exp is returned in base two",
    cause="returned-lse",
    witness=lambda: _row(0, 1),
)
def lse_in_base_two(query: Array, key: Array, value: Array, **rest: Any) -> tuple[Array, Array]:
    done = attend(query, key, value, **rest)
    return done.output, (done.lse / np.log(2.0)).astype(query.dtype)


@mutant(
    "lse",
    "the logarithm of the sum is returned without the maximum that had been subtracted",
    cause="returned-lse",
    witness=lambda: _row(1, 1),
)
def lse_without_maximum(query: Array, key: Array, value: Array, **rest: Any) -> tuple[Array, Array]:
    tops: list[Array] = []

    def normalise(scores: Array) -> Array:
        top = scores.max(axis=-1, initial=-INF)
        tops.append(np.where(np.isneginf(top), 0.0, top))
        return softmax(scores)

    done = attend(query, key, value, normalise=normalise, **rest)
    return done.output, (done.lse - tops[0]).astype(query.dtype)


@mutant(
    "lse",
    "the log-sum-exp leaves the mask out",
    cause="returned-lse",
    witness=lambda: _row(0, 1, is_causal=True),
)
def lse_ignores_mask(query: Array, key: Array, value: Array, **rest: Any) -> tuple[Array, Array]:
    done = attend(query, key, value, **rest)
    unmasked = attend(query, key, value, scale=rest.get("scale"))
    return done.output, unmasked.lse.astype(query.dtype)


@mutant(
    "lse",
    "the log-sum-exp is that of the unscaled scores",
    cause="returned-lse",
    witness=lambda: qkv(1, E=4),
)
def lse_of_unscaled_scores(
    query: Array, key: Array, value: Array, **rest: Any
) -> tuple[Array, Array]:
    done = attend(query, key, value, **rest)
    return done.output, attend(query, key, value, **{**rest, "scale": 1.0}).lse.astype(query.dtype)


@mutant(
    "lse",
    "an empty row reports the log-sum-exp 0, so a merge gives it the share of a real row",
    cause="returned-lse",
    witness=lambda: qkv(1, 0),
)
def lse_of_empty_row_zero(
    query: Array, key: Array, value: Array, **rest: Any
) -> tuple[Array, Array]:
    done = attend(query, key, value, **rest)
    return done.output, np.where(np.isneginf(done.lse), 0.0, done.lse).astype(query.dtype)


@mutant(
    "lse",
    "the log-sum-exp covers the last tile alone",
    cause="returned-lse",
    witness=lambda: _row(0, 0, 0, 0, 0),
)
def lse_of_last_tile(query: Array, key: Array, value: Array, **rest: Any) -> tuple[Array, Array]:
    done = attend(query, key, value, **rest)
    S = key.shape[-2]
    start = (S - 1) // TILE * TILE if S else 0
    later = np.arange(S) >= start
    m = both(rest.pop("attn_mask", None), later)
    return done.output, attend(query, key, value, attn_mask=m, **rest).lse.astype(query.dtype)


@mutant(
    "lse",
    "the exponentials are summed without subtracting the maximum, so large scores give infinity",
    cause="returned-lse",
    witness=lambda: _row(800, 800),
)
def lse_overflows(query: Array, key: Array, value: Array, **rest: Any) -> tuple[Array, Array]:
    done = attend(query, key, value, **rest)
    return done.output, np.log(np.exp(done.lse)).astype(query.dtype)
