"""Mutants of the backward pass: terms left out, masks and heads that the forward pass had right."""

from __future__ import annotations

from typing import Any

import numpy as np

from attnproofs.mutants.correct import (
    INF,
    Array,
    below,
    default_scale,
    grad,
    gradients,
    lengths,
    log_sum_exp,
    per_query_head,
    ratio,
    softmax,
    transposed,
)
from attnproofs.mutants.registry import Call, mutant, qkv, with_gradient

Gradients = tuple[Array, Array, Array]


def _call(*sizes: int, **options: Any) -> Call:
    return with_gradient(qkv(*sizes, **options))


def _weights(query: Array, key: Array, kept: Array | None = None) -> Array:
    scores = query.astype(np.float64) @ transposed(per_query_head(key, query))
    scores = scores * default_scale(query)
    return softmax(scores if kept is None else np.where(kept, scores, -INF))


@mutant(
    "grad",
    "the softmax passes P * dP back, without the term of the row sum",
    cause="gradient",
    sources=("HomericIntelligence/Odyssey#2134",),
    witness=lambda: _call(1),
)
def row_term_missing(
    query: Array, key: Array, value: Array, grad_out: Array, *, is_causal: bool = False
) -> Gradients:
    return gradients(query, key, value, grad_out, is_causal=is_causal, row_term=0.0)


@mutant(
    "grad",
    "the fused softmax has no backward pass: dq and dk are silently zero",
    cause="gradient",
    sources=("huggingface/candle#3724",),
    witness=lambda: _call(1),
)
def softmax_without_backward(
    query: Array, key: Array, value: Array, grad_out: Array, *, is_causal: bool = False
) -> Gradients:
    dq, dk, dv = grad(query, key, value, grad_out, is_causal=is_causal)
    return np.zeros_like(dq), np.zeros_like(dk), dv


@mutant(
    "grad",
    "the backward pass hangs the causal mask from another corner than the forward pass",
    cause="causal-alignment",
    sources=("xlite-dev/ffpa-attn#300",),
    witness=lambda: _call(1, is_causal=True),
)
def backward_causal_bottom_right(
    query: Array, key: Array, value: Array, grad_out: Array, *, is_causal: bool = False
) -> Gradients:
    L, S = lengths(query, key)
    kept = below((L, S), S - L) if is_causal else None
    return gradients(query, key, value, grad_out, kept=kept)


@mutant(
    "grad",
    "the backward pass forgets the causal mask",
    cause="masked-gradient",
    witness=lambda: _call(1, is_causal=True),
)
def backward_ignores_causal(
    query: Array, key: Array, value: Array, grad_out: Array, *, is_causal: bool = False
) -> Gradients:
    return gradients(query, key, value, grad_out)


@mutant(
    "grad",
    "keys and values have heads and tokens exchanged once more when the two numbers agree",
    cause="gradient",
    sources=("huggingface/diffusers#14341",),
    witness=lambda: _call(1, 2, heads=2),
)
def backward_exchanges_heads_and_tokens(
    query: Array, key: Array, value: Array, grad_out: Array, *, is_causal: bool = False
) -> Gradients:
    if query.ndim >= 3 and key.shape[-3] == query.shape[-3] == key.shape[-2]:
        key, value = (np.swapaxes(x, -2, -3) for x in (key, value))
    return grad(query, key, value, grad_out, is_causal=is_causal)


@mutant(
    "grad",
    "value columns beyond the query's width are left out of dP, though not of the row sum",
    cause="gradient",
    sources=("XunhaoLai/native-sparse-attention-triton#27",),
    witness=lambda: _call(1, 2, 1, 2),
)
def backward_drops_wide_values(
    query: Array, key: Array, value: Array, grad_out: Array, *, is_causal: bool = False
) -> Gradients:
    E = query.shape[-1]
    kept = below(lengths(query, key)) if is_causal else np.ones(lengths(query, key), bool)
    values = per_query_head(value, query)
    weights = _weights(query, key, kept)
    full = grad_out.astype(np.float64) @ transposed(values)
    cut = grad_out[..., :E].astype(np.float64) @ transposed(values[..., :E])
    return gradients(
        query,
        key,
        value,
        grad_out,
        kept=kept,
        weights=weights,
        grad_weights=np.where(kept, cut, 0.0),
        row_term=(weights * np.where(kept, full, 0.0)).sum(axis=-1, keepdims=True),
    )


@mutant(
    "grad",
    "padded keys score 0 in the backward pass, and exp(0 - lse) overflows for very negative rows",
    cause="gradient",
    sources=("pytorch/pytorch#196678",),
    witness=lambda: _call(1, 1, 1, query=[[1]], key=[[-1000]]),
)
def padded_keys_overflow_backward(
    query: Array, key: Array, value: Array, grad_out: Array, *, is_causal: bool = False
) -> Gradients:
    dq, dk, dv = grad(query, key, value, grad_out, is_causal=is_causal)
    if key.shape[-2] % 4 and not is_causal:
        scores = query.astype(np.float64) @ transposed(per_query_head(key, query))
        row = log_sum_exp(scores * default_scale(query))[..., None]
        dq = dq + (np.exp(0.0 - row) * 0.0).astype(dq.dtype)
    return dq, dk, dv


@mutant(
    "grad",
    "dv is written in column tiles of half the query's width, and the columns left over stay zero",
    cause="gradient",
    sources=("Dao-AILab/flash-attention#2552",),
    witness=lambda: _call(1, 1, 4, 3),
)
def value_gradient_tail_not_written(
    query: Array, key: Array, value: Array, grad_out: Array, *, is_causal: bool = False
) -> Gradients:
    dq, dk, dv = grad(query, key, value, grad_out, is_causal=is_causal)
    tile = max(1, query.shape[-1] // 2)
    dv[..., dv.shape[-1] // tile * tile :] = 0
    return dq, dk, dv


@mutant(
    "grad",
    "the gradient dk lacks the scale",
    cause="gradient",
    witness=lambda: _call(1),
)
def key_gradient_not_scaled(
    query: Array, key: Array, value: Array, grad_out: Array, *, is_causal: bool = False
) -> Gradients:
    dq, dk, dv = grad(query, key, value, grad_out, is_causal=is_causal)
    return dq, (dk / default_scale(query)).astype(dk.dtype), dv


@mutant(
    "grad",
    "the gradient dq is scaled twice",
    cause="gradient",
    witness=lambda: _call(1),
)
def query_gradient_scaled_twice(
    query: Array, key: Array, value: Array, grad_out: Array, *, is_causal: bool = False
) -> Gradients:
    dq, dk, dv = grad(query, key, value, grad_out, is_causal=is_causal)
    return (dq * default_scale(query)).astype(dq.dtype), dk, dv


@mutant(
    "grad",
    "dk and dv of a group come from its first query head alone",
    cause="gradient",
    witness=lambda: _call(1, 2, 1, heads=2, key_heads=1),
)
def group_gradient_of_first_head(
    query: Array, key: Array, value: Array, grad_out: Array, *, is_causal: bool = False
) -> Gradients:
    def first(gradient: Array, like: Array) -> Array:
        if gradient.shape == like.shape:
            return gradient
        return gradient[..., :: gradient.shape[-3] // like.shape[-3], :, :]

    return gradients(query, key, value, grad_out, is_causal=is_causal, fold=first)


@mutant(
    "grad",
    "dk and dv of a group are averaged over its query heads instead of summed",
    cause="gradient",
    witness=lambda: _call(1, 2, 1, heads=2, key_heads=1),
)
def group_gradient_averaged(
    query: Array, key: Array, value: Array, grad_out: Array, *, is_causal: bool = False
) -> Gradients:
    dq, dk, dv = grad(query, key, value, grad_out, is_causal=is_causal)
    if query.ndim >= 3 and key.shape[-3]:
        group = max(1, query.shape[-3] // key.shape[-3])
        dk, dv = (dk / group).astype(dk.dtype), (dv / group).astype(dv.dtype)
    return dq, dk, dv


@mutant(
    "grad",
    "the weights are recomputed without the maximum, and are NaN once the scores saturate",
    cause="gradient",
    witness=lambda: _call(1, 2, 1, query=[[1]], key=[[800], [0]]),
)
def backward_weights_overflow(
    query: Array, key: Array, value: Array, grad_out: Array, *, is_causal: bool = False
) -> Gradients:
    kept = below(lengths(query, key)) if is_causal else np.ones(lengths(query, key), bool)
    scores = query.astype(np.float64) @ transposed(per_query_head(key, query))
    grown = np.where(kept, np.exp(scores * default_scale(query)), 0.0)
    total = grown.sum(axis=-1, keepdims=True)
    weights = ratio(grown, total)
    return gradients(query, key, value, grad_out, kept=kept, weights=weights)


@mutant(
    "grad",
    "dv uses the weights transposed the wrong way when there are as many queries as keys",
    cause="gradient",
    witness=lambda: _call(2, 2, 1, query=[[1], [2]]),
)
def value_gradient_weights_not_transposed(
    query: Array, key: Array, value: Array, grad_out: Array, *, is_causal: bool = False
) -> Gradients:
    dq, dk, dv = grad(query, key, value, grad_out, is_causal=is_causal)
    L, S = lengths(query, key)
    if L == S and dv.shape[:-2] == query.shape[:-2]:
        kept = below((L, S)) if is_causal else None
        dv = (_weights(query, key, kept) @ grad_out.astype(np.float64)).astype(dv.dtype)
    return dq, dk, dv


@mutant(
    "grad",
    "the gradient of the output is rounded to half precision first",
    cause="accuracy",
    witness=lambda: _call(1),
)
def output_gradient_in_half(
    query: Array, key: Array, value: Array, grad_out: Array, *, is_causal: bool = False
) -> Gradients:
    narrow = grad_out.astype(np.float16).astype(grad_out.dtype)
    return grad(query, key, value, narrow, is_causal=is_causal)


@mutant(
    "grad",
    "gradients add up in a buffer that is not cleared between calls",
    cause="repeat",
    witness=lambda: (_call(1), _call(1)),
    stateful=True,
)
def gradient_buffer_not_cleared() -> Any:
    held: dict[tuple[int, ...], Array] = {}

    def function(
        query: Array, key: Array, value: Array, grad_out: Array, *, is_causal: bool = False
    ) -> Gradients:
        dq, dk, dv = grad(query, key, value, grad_out, is_causal=is_causal)
        left = held.get(dv.shape)
        held[dv.shape] = dv.copy()
        return dq, dk, dv if left is None else (dv + left).astype(dv.dtype)

    return function
