"""FlashAttention's rule: the error is at most twice that of the same formula in float16.

Restated from tests/test_flash_attn.py of Dao-AILab/flash-attention: normal inputs, the reference in
float32 rounded to the dtype, the baseline with every intermediate result rounded to the dtype and
the scale moved onto the keys, the largest error over the whole array compared: twice the
baseline's for outputs, three times for gradients and for decoding with a cache. Kept: float16, six
heads as plain, multi-query and grouped heads, causal, local, soft cap with queries enlarged,
ALiBi, packed sequences, dropout of 0.17, pairs of unequal lengths. Changed: lengths and widths are
smaller, the batch is two, and the causal corner is the gallery's (top left).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from attnproofs.mutants import correct
from attnproofs.mutants.correct import INF, Array, per_query_head, transposed
from attnproofs.mutants.registry import Call
from attnproofs.mutants.rules.rule import Case, Comparison, Rule, correct_answer

LENGTHS = ((14, 26), (16, 27), (13, 32), (32, 66), (66, 32), (72, 72), (71, 72))
WIDTHS = (8, 11)
HEADS, GROUPED = 6, (6, 1, 2)


def _half(x: Array) -> Array:
    return x.astype(np.float16).astype(np.float32)


def _rounded_scores(query: Array, key: Array) -> Array:
    scaled = _half(per_query_head(key, query).astype(np.float32) * query.shape[-1] ** -0.5)
    return _half(query.astype(np.float32) @ transposed(scaled))


def _rounded_weights(scores: Array, kept: Array, added: Array | float) -> Array:
    masked = np.where(kept, _half(scores + added), -INF)
    return _half(correct.softmax(masked))


def _rounded(
    call: Call, kept: Array | None = None, added: Array | float = 0.0, softcap: float = 0.0
) -> tuple[Array, Array]:
    """Output and weights of the baseline: every intermediate result rounded to float16."""
    query, key, value = call.args[:3]
    if kept is None:
        kept, _ = correct.split_mask(
            None, correct.lengths(query, key), call.kwargs.get("is_causal", False)
        )
    scores = _rounded_scores(query, key)
    if softcap:
        scores = _half(softcap * _half(np.tanh(_half(scores / softcap))))
    weights = _rounded_weights(scores, kept, added)
    return _half(weights @ per_query_head(value, query).astype(np.float32)), weights


def _times(factor: float, baseline: Array, expected: Array) -> Comparison:
    limit = factor * float(np.abs(baseline - expected.astype(np.float32)).max())

    def compare(got: Array, right: Array) -> str | None:
        error = float(np.abs(got.astype(np.float32) - right.astype(np.float32)).max())
        return (
            None if error <= limit else f"error {error:.3g} above {factor:g} times the baseline's"
        )

    return compare


def _case(level: str, name: str, call: Call, factor: float, baseline: tuple[Array, ...]) -> Case:
    expected = correct_answer(level, call)
    limits = tuple(_times(factor, b, e) for b, e in zip(baseline, expected, strict=True))
    return Case(name, call, expected, limits)


def _normal(seed: int, *shapes: tuple[int, ...]) -> tuple[Array, ...]:
    draw = np.random.default_rng(seed)
    return tuple(draw.standard_normal(shape).astype(np.float16) for shape in shapes)


def _sized(seed: int, L: int, S: int, width: int, key_heads: int = HEADS) -> tuple[Array, ...]:
    return _normal(seed, (2, HEADS, L, width), (2, key_heads, S, width), (2, key_heads, S, width))


def _sdpa() -> Iterator[Case]:
    seed = 0
    for L, S in LENGTHS:
        for width in WIDTHS:
            for key_heads in GROUPED:
                for is_causal in (False, True):
                    seed += 1
                    call = Call(_sized(seed, L, S, width, key_heads), {"is_causal": is_causal})
                    name = f"{L} x {S}, d={width}, {key_heads} key heads, causal={is_causal}"
                    yield _case("sdpa", name, call, 2.0, _rounded(call)[:1])


def _rounded_gradients(call: Call) -> tuple[Array, ...]:
    query, key, value, grad_out = call.args
    _, weights = _rounded(call)
    g, q = grad_out.astype(np.float32), query.astype(np.float32)
    keys, values = (per_query_head(x, query).astype(np.float32) for x in (key, value))
    factor = query.shape[-1] ** -0.5
    grad_weights = _half(g @ transposed(values))
    row_term = (weights * grad_weights).sum(axis=-1, keepdims=True)
    grad_scores = _half(weights * (grad_weights - row_term))
    return (
        _half(factor * (grad_scores @ keys)),
        _half(correct.onto_key_heads(_half(factor * (transposed(grad_scores) @ q)), key)),
        _half(correct.onto_key_heads(_half(transposed(weights) @ g), value)),
    )


def _grad() -> Iterator[Case]:
    seed = 1000
    for L, S in LENGTHS[:5]:
        for key_heads in GROUPED:
            for is_causal in (False, True):
                seed += 1
                arrays = _sized(seed, L, S, 8, key_heads)
                grad_out = _normal(-seed % 997, (2, HEADS, L, 8))
                call = Call((*arrays, *grad_out), {"is_causal": is_causal})
                name = f"backward {L} x {S}, {key_heads} key heads, causal={is_causal}"
                yield _case("grad", name, call, 3.0, _rounded_gradients(call))


def _window() -> Iterator[Case]:
    for seed, (L, S) in enumerate(LENGTHS, start=2000):
        draw = np.random.default_rng(seed)
        left, right = (int(x) for x in draw.integers(0, S, size=2))
        arrays = _sized(seed, L, S, 8)
        call = Call(arrays, {"left": left, "right": right})
        distance = correct.distances((L, S))
        kept = (distance <= left) & (-distance <= right)
        name = f"local {L} x {S}, left={left}, right={right}"
        yield _case("window", name, call, 2.0, _rounded(call, kept)[:1])


def _softcap() -> Iterator[Case]:
    cap = 50.0
    for seed, (L, S) in enumerate(LENGTHS, start=3000):
        query, key, value = _sized(seed, L, S, 8)
        for is_causal in (False, True):
            options = {"softcap": cap, "is_causal": is_causal}
            call = Call(((query * np.float16(cap)), key, value), options)
            name = f"softcap {L} x {S}, causal={is_causal}"
            yield _case("softcap", name, call, 2.0, _rounded(call, softcap=cap)[:1])


def _alibi() -> Iterator[Case]:
    for seed, (L, S) in enumerate(LENGTHS, start=4000):
        for key_heads in GROUPED:
            call = Call(_sized(seed, L, S, 8, key_heads), {"is_causal": True})
            bias = -correct.slopes(HEADS)[:, None, None] * correct.distances((L, S))
            name = f"ALiBi {L} x {S}, {key_heads} key heads"
            yield _case(
                "alibi",
                name,
                call,
                2.0,
                _rounded(call, added=bias)[:1],
            )


def _varlen() -> Iterator[Case]:
    for seed, borders in enumerate([(0, 14, 40), (0, 5, 6, 31), (0, 32, 64)], start=5000):
        for is_causal in (False, True):
            T = borders[-1]
            arrays = _normal(seed, (T, HEADS, 8), (T, 2, 8), (T, 2, 8))
            options = {"cu_seqlens": np.array(borders), "is_causal": is_causal}
            call = Call(arrays, options)
            yield _case(
                "varlen",
                f"packed {borders}, causal={is_causal}",
                call,
                2.0,
                (_rounded_packed(call),),
            )


def _rounded_packed(call: Call) -> Array:
    query, _, value = call.args
    borders: Any = call.kwargs["cu_seqlens"]
    output = np.zeros((*query.shape[:2], value.shape[-1]), dtype=np.float32)
    for start, stop in pairwise(borders):
        part = tuple(correct.heads_first(x[start:stop]) for x in call.args)
        rounded, _ = _rounded(Call(part, {"is_causal": call.kwargs["is_causal"]}))
        output[start:stop] = correct.heads_first(rounded)
    return output


def _dropout() -> Iterator[Case]:
    p = 0.17
    for seed, (L, S) in enumerate(LENGTHS[:5], start=6000):
        arrays = _sized(seed, L, S, 8)
        kept = np.random.default_rng(seed).random((2, HEADS, L, S)) >= p
        call = Call(arrays, {"drop_keep": kept, "p": p})
        used = _half(_rounded(call)[1] * kept / (1 - p))
        baseline = _half(used @ arrays[2].astype(np.float32))
        yield _case("dropout", f"dropout {L} x {S}, p={p}", call, 2.0, (baseline,))


def _decode() -> Iterator[Case]:
    for seed, T in enumerate((3, 14, 27), start=7000):
        call = Call(_normal(seed, (T, 8), (T, 8), (T, 8)))
        causal = Call(call.args, {"is_causal": True})
        name = f"cache of {T} tokens"
        yield _case("decode", name, call, 3.0, _rounded(causal)[:1])


RULE = Rule(
    name="flash-attention",
    title=(
        "normal float16 inputs without masks, largest error at most twice (gradients: three times) "
        "that of the formula in float16 (FlashAttention)"
    ),
    cases={
        "sdpa": _sdpa,
        "grad": _grad,
        "decode": _decode,
        "softcap": _softcap,
        "alibi": _alibi,
        "window": _window,
        "varlen": _varlen,
        "dropout": _dropout,
    },
)
