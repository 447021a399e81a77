"""Mutants with a memory: caches of keys in decoding, buffers and settings kept between calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from attnproofs.mutants.correct import Array, attend, decode, default_scale, sdpa
from attnproofs.mutants.registry import Call, drawn, mutant, qkv

# ---------------------------------------------------------------- decoding with a cache


def _tokens(T: int, width: int = 1, keys: Any = None, seed: int = 0) -> Call:
    """Queries, keys and values of T tokens."""
    draw = drawn(seed)
    given = draw(T, width) if keys is None else np.asarray(keys, dtype=float)
    return Call((draw(T, width), given, draw(T, width)))


def _step(query: Array, keys: Array, values: Array) -> Array:
    """Output of one token that sees all of `keys`."""
    row: Array = sdpa(query[None], keys, values)[0]
    return row


def _stacked(rows: list[Array], queries: Array, values: Array) -> Array:
    empty = np.zeros((0, values.shape[-1]), dtype=queries.dtype)
    return np.concatenate([empty, np.reshape(rows, (-1, values.shape[-1]))]).astype(queries.dtype)


@mutant(
    "decode",
    "the unused zero slots of a cache made in blocks of eight take part",
    cause="decode",
    sources=("huggingface/transformers#30414", "huggingface/transformers#45940"),
    witness=lambda: _tokens(1),
)
def unused_cache_slots_attended(queries: Array, keys: Array, values: Array) -> Array:
    T = len(queries)
    room = -(-T // 8) * 8
    held_keys, held_values = np.zeros((room, keys.shape[1])), np.zeros((room, values.shape[1]))
    rows = []
    for t in range(T):
        held_keys[t], held_values[t] = keys[t], values[t]
        rows.append(_step(queries[t], held_keys, held_values))
    return _stacked(rows, queries, values)


@mutant(
    "decode",
    "the cache is rolled when it becomes full instead of when it overflows",
    cause="decode",
    sources=("huggingface/transformers#37574",),
    witness=lambda: _tokens(2),
)
def full_cache_rolled_too_early(queries: Array, keys: Array, values: Array) -> Array:
    output = decode(queries, keys, values)
    if len(queries) > 1:
        gap_keys = np.concatenate([keys[1:-1], keys[:1] * 0, keys[-1:]])
        gap_values = np.concatenate([values[1:-1], values[:1] * 0, values[-1:]])
        output[-1] = _step(queries[-1], gap_keys, gap_values)
    return output


@mutant(
    "decode",
    "the cache is read before the current token is written, so a token cannot see itself",
    cause="causal",
    sources=("harvard-edge/cs249r_book#1953",),
    witness=lambda: _tokens(1),
)
def current_token_not_in_cache(queries: Array, keys: Array, values: Array) -> Array:
    rows = [_step(queries[t], keys[:t], values[:t]) for t in range(len(queries))]
    return _stacked(rows, queries, values)


@mutant(
    "decode",
    "the cache survives from one sequence to the next",
    cause="repeat",
    sources=("time-series-foundation-models/lag-llama#81",),
    witness=lambda: (_tokens(1), _tokens(1, seed=1)),
    stateful=True,
)
def cache_not_cleared() -> Callable[..., Array]:
    held: dict[tuple[int, int], tuple[Array, Array]] = {}

    def function(queries: Array, keys: Array, values: Array) -> Array:
        width = (keys.shape[1], values.shape[1])
        old_keys, old_values = held.get(width, (keys[:0], values[:0]))
        held[width] = (keys.copy(), values.copy())
        rows = [
            _step(
                queries[t],
                np.concatenate([old_keys, keys[: t + 1]]),
                np.concatenate([old_values, values[: t + 1]]),
            )
            for t in range(len(queries))
        ]
        return _stacked(rows, queries, values)

    return function


@mutant(
    "decode",
    "the length of the cache is counted by its nonzero keys, so an all-zero key is forgotten",
    cause="decode",
    sources=("huggingface/transformers#30377",),
    witness=lambda: _tokens(2, keys=[[0], [1]]),
)
def zero_keys_forgotten(queries: Array, keys: Array, values: Array) -> Array:
    real = (keys != 0).any(axis=-1)
    rows = []
    for t in range(len(queries)):
        seen = np.flatnonzero(real[: t + 1])
        rows.append(_step(queries[t], keys[seen], values[seen]))
    return _stacked(rows, queries, values)


@mutant(
    "decode",
    "after the prompt each token is written one slot too far, and the gap is attended",
    cause="decode",
    sources=("microsoft/onnxruntime-genai#2354",),
    witness=lambda: _tokens(2),
)
def tokens_written_one_slot_late(queries: Array, keys: Array, values: Array) -> Array:
    prompt = max(1, len(queries) // 2)
    rows = []
    for t in range(len(queries)):
        gap = [prompt] if t >= prompt else []
        seen_keys = np.insert(keys[: t + 1], gap, 0.0, axis=0)
        seen_values = np.insert(values[: t + 1], gap, 0.0, axis=0)
        rows.append(_step(queries[t], seen_keys, seen_values))
    return _stacked(rows, queries, values)


@mutant(
    "decode",
    "the cache is stored in half precision",
    cause="accuracy",
    witness=lambda: Call((np.ones((1, 1)), np.ones((1, 1)), np.full((1, 1), 0.1))),
)
def cache_in_half_precision(queries: Array, keys: Array, values: Array) -> Array:
    narrow = (x.astype(np.float16).astype(queries.dtype) for x in (keys, values))
    return decode(queries, *narrow)


@mutant(
    "decode",
    "the cache has room for eight tokens and then overwrites the oldest",
    cause="decode",
    witness=lambda: _tokens(9),
)
def cache_wraps_after_eight(queries: Array, keys: Array, values: Array) -> Array:
    rows = []
    for t in range(len(queries)):
        seen = slice(max(0, t - 7), t + 1)
        rows.append(_step(queries[t], keys[seen], values[seen]))
    return _stacked(rows, queries, values)


@mutant(
    "decode",
    "the values lag one step behind the keys in the cache",
    cause="decode",
    witness=lambda: _tokens(2),
)
def cached_values_lag(queries: Array, keys: Array, values: Array) -> Array:
    rows = []
    for t in range(len(queries)):
        lagging = np.concatenate([values[:t], values[max(0, t - 1) : max(1, t)]])
        rows.append(_step(queries[t], keys[: t + 1], lagging[: t + 1]))
    return _stacked(rows, queries, values)


@mutant(
    "decode",
    "keys and values share one cache when their widths agree, so the values are read as keys too",
    cause="decode",
    witness=lambda: _tokens(2),
)
def keys_and_values_share_cache(queries: Array, keys: Array, values: Array) -> Array:
    return decode(queries, values if keys.shape == values.shape else keys, values)


@mutant(
    "decode",
    "every step sees the whole prompt, later tokens included",
    cause="causal",
    witness=lambda: _tokens(2),
)
def prompt_not_causal(queries: Array, keys: Array, values: Array) -> Array:
    prompt = -(-len(queries) // 2) if len(queries) > 2 else len(queries)
    rows = []
    for t in range(len(queries)):
        seen = slice(0, max(t + 1, prompt))
        rows.append(_step(queries[t], keys[seen], values[seen]))
    return _stacked(rows, queries, values)


@mutant(
    "decode",
    "the first block of four keys drops out of the cache when a third block is opened",
    cause="decode",
    witness=lambda: _tokens(9),
)
def oldest_block_dropped(queries: Array, keys: Array, values: Array) -> Array:
    rows = []
    for t in range(len(queries)):
        seen = slice(4 if t >= 8 else 0, t + 1)
        rows.append(_step(queries[t], keys[seen], values[seen]))
    return _stacked(rows, queries, values)


# ---------------------------------------------------------------- chance and memory between calls


@mutant(
    "sdpa",
    "dropout of one weight in ten stays on",
    cause="repeat",
    sources=("suno-ai/bark#662", "pytorch/pytorch#124464"),
    witness=lambda: qkv(8, 8),
    stateful=True,
)
def dropout_left_on() -> Callable[..., Array]:
    chance = np.random.default_rng(0)

    def function(query: Array, key: Array, value: Array, **rest: Any) -> Array:
        def drop(weights: Array) -> Array:
            return weights * (chance.random(weights.shape) >= 0.1) / 0.9

        return attend(query, key, value, reweigh=drop, **rest).output

    return function


@mutant(
    "weights",
    "the returned weights are the dropped and rescaled ones",
    cause="returned-weights",
    sources=("pytorch/pytorch#42929", "pytorch/pytorch#33360"),
    witness=lambda: qkv(4, 4),
)
def dropped_weights_returned(
    query: Array, key: Array, value: Array, **rest: Any
) -> tuple[Array, Array]:
    done = attend(query, key, value, **rest)
    chance = np.random.default_rng(0)
    dropped = done.weights * (chance.random(done.weights.shape) >= 0.2) / 0.8
    return done.output, dropped.astype(query.dtype)


@mutant(
    "sdpa",
    "the last bit of the output is rounded by chance (stochastic rounding)",
    cause="repeat",
    witness=lambda: qkv(4, 4, value=np.linspace(0.1, 0.7, 8).reshape(4, 2)),
    stateful=True,
)
def output_rounded_by_chance() -> Callable[..., Array]:
    chance = np.random.default_rng(0)

    def function(query: Array, key: Array, value: Array, **rest: Any) -> Array:
        output = sdpa(query, key, value, **rest)
        unit = 2.0**-10 * np.abs(output)
        moved = output + unit * (chance.random(output.shape) - 0.5)
        return moved.astype(output.dtype)

    return function


@mutant(
    "sdpa",
    "the causal mask of the first call with a given shape is kept and used ever after",
    cause="repeat",
    witness=lambda: (qkv(is_causal=True), qkv()),
    stateful=True,
)
def causal_mask_kept_by_shape() -> Callable[..., Array]:
    held: dict[tuple[int, int], bool] = {}

    def function(query: Array, key: Array, value: Array, **rest: Any) -> Array:
        shape = (query.shape[-2], key.shape[-2])
        rest["is_causal"] = held.setdefault(shape, rest.get("is_causal", False))
        return sdpa(query, key, value, **rest)

    return function


@mutant(
    "sdpa",
    "the boolean mask of the first call with a given shape is kept and used ever after",
    cause="repeat",
    witness=lambda: (
        qkv(1, attn_mask=np.array([[True, False]])),
        qkv(1, attn_mask=np.array([[False, True]])),
    ),
    stateful=True,
)
def mask_kept_by_shape() -> Callable[..., Array]:
    held: dict[tuple[int, ...], Array] = {}

    def function(query: Array, key: Array, value: Array, **rest: Any) -> Array:
        m = rest.pop("attn_mask", None)
        if m is not None and m.dtype == bool:
            m = held.setdefault(m.shape, m.copy())
        return sdpa(query, key, value, attn_mask=m, **rest)

    return function


@mutant(
    "sdpa",
    "the output buffer is used again by the next call with the same shape",
    cause="repeat",
    witness=lambda: (qkv(seed=0), qkv(seed=1)),
    stateful=True,
)
def output_buffer_reused() -> Callable[..., Array]:
    held: dict[tuple[tuple[int, ...], str], Array] = {}

    def function(query: Array, key: Array, value: Array, **rest: Any) -> Array:
        output = sdpa(query, key, value, **rest)
        buffer = held.setdefault((output.shape, output.dtype.str), np.empty_like(output))
        buffer[...] = output
        return buffer

    return function


@mutant(
    "sdpa",
    "the default scale is computed at the first call and kept for other widths",
    cause="repeat",
    witness=lambda: (qkv(1, E=1), qkv(1, E=4)),
    stateful=True,
)
def scale_kept_from_first_call() -> Callable[..., Array]:
    held: list[float] = []

    def function(query: Array, key: Array, value: Array, **rest: Any) -> Array:
        if not held:
            held.append(default_scale(query))
        scale = rest.pop("scale", None)
        return sdpa(query, key, value, scale=held[0] if scale is None else scale, **rest)

    return function


@mutant(
    "sdpa",
    "the accumulator is not cleared: a second call with the same shapes adds to the first",
    cause="repeat",
    witness=lambda: (qkv(1), qkv(1)),
    stateful=True,
)
def accumulator_not_cleared() -> Callable[..., Array]:
    held: dict[tuple[int, ...], Array] = {}

    def function(query: Array, key: Array, value: Array, **rest: Any) -> Array:
        output = sdpa(query, key, value, **rest)
        left = held.get(output.shape)
        held[output.shape] = output.copy()
        return output if left is None else (output + left).astype(output.dtype)

    return function


@mutant(
    "sdpa",
    "the answer is remembered by keys and values alone, so another query gets the old answer",
    cause="repeat",
    witness=lambda: (qkv(1, query=[[1, 0]]), qkv(1, query=[[0, 1]])),
    stateful=True,
)
def answer_remembered_without_query() -> Callable[..., Array]:
    held: dict[tuple[Any, ...], Array] = {}

    def function(query: Array, key: Array, value: Array, **rest: Any) -> Array:
        plain = rest.get("attn_mask") is None and not rest.get("is_causal")
        place = (
            *(query.shape, key.shape, value.shape, query.dtype.str),
            *(key.tobytes(), value.tobytes(), rest.get("scale")),
        )
        if plain and place in held:
            return held[place].copy()
        output = sdpa(query, key, value, **rest)
        if plain:
            held[place] = output.copy()
        return output

    return function
