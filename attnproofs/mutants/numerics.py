"""Mutants of arithmetic: narrow types, rough functions, biased rounding, cancelled digits."""

from __future__ import annotations

from typing import Any

import numpy as np

from attnproofs.mutants.correct import INF, Array, attend, default_scale, ratio, sdpa, softmax
from attnproofs.mutants.registry import mutant, qkv


def _top(scores: Array) -> Array:
    top = scores.max(axis=-1, keepdims=True, initial=-INF)
    return np.where(np.isneginf(top), 0.0, top)


def _rescaled(grown: Array) -> Array:
    return ratio(grown, grown.sum(axis=-1, keepdims=True))


def _chopped(x: Array, bits: int) -> Array:
    """`x` rounded toward zero to `bits` significant bits."""
    fraction, exponent = np.frexp(x)
    result: Array = np.ldexp(np.trunc(np.ldexp(fraction, bits)), exponent - bits)
    return result


@mutant(
    "sdpa",
    "the softmax runs in half precision whatever the inputs are",
    cause="accuracy",
    sources=("tinygrad/tinygrad#12280", "apple/axlearn#18"),
    witness=lambda: qkv(1),
)
def softmax_in_half_precision(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    def normalise(scores: Array) -> Array:
        narrow = (scores - _top(scores)).astype(np.float16).astype(np.float64)
        return softmax(narrow).astype(np.float16).astype(np.float64)

    return attend(query, key, value, normalise=normalise, **rest).output


@mutant(
    "sdpa",
    "float64 inputs are cast to float32 and the result is cast back",
    cause="accuracy",
    sources=("jax-ml/jax#37422", "huggingface/transformers#48459"),
    witness=lambda: qkv(1, key=[[0.1, 0.2], [0.3, 0.4]]),
)
def double_inputs_computed_in_single(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    if query.dtype != np.float64:
        return sdpa(query, key, value, **rest)
    narrow = (x.astype(np.float32).astype(np.float64) for x in (query, key, value))
    return sdpa(*narrow, **rest).astype(np.float32).astype(np.float64)


@mutant(
    "sdpa",
    "the weights are chopped (rounded toward zero) to eight bits before they meet the values",
    cause="accuracy",
    witness=lambda: qkv(1),
)
def weights_chopped_to_eight_bits(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    return attend(query, key, value, reweigh=lambda w: _chopped(w, 8), **rest).output


@mutant(
    "sdpa",
    "the output of float32 inputs is chopped to twelve bits",
    cause="accuracy",
    witness=lambda: qkv(1, dtype="float32", value=[[0.1, 0.7], [0.2, 0.3]]),
)
def single_output_chopped(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    output = sdpa(query, key, value, **rest)
    return _chopped(output, 12).astype(output.dtype) if output.dtype == np.float32 else output


@mutant(
    "sdpa",
    "the scores are rounded to half precision, where those above 65504 become infinite",
    cause="accuracy",
    witness=lambda: qkv(1, query=[[1, 0]], key=[[0.1, 0], [0.2, 0]]),
)
def scores_in_half_precision(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    return attend(
        query, key, value, transform=lambda s: s.astype(np.float16).astype(np.float64), **rest
    ).output


@mutant(
    "sdpa",
    "the scores of float32 inputs pass through float16 before they are scaled, and overflow",
    cause="shift",
    witness=lambda: qkv(1, E=4, dtype="float32", query=[[200] * 4], key=[[200] * 4, [-200] * 4]),
)
def single_scores_overflow_in_half(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    if query.dtype != np.float32:
        return sdpa(query, key, value, **rest)
    scale = rest.pop("scale", None)
    factor = default_scale(query) if scale is None else scale
    return attend(
        query,
        key,
        value,
        scale=1.0,
        transform=lambda s: s.astype(np.float16).astype(np.float64) * factor,
        **rest,
    ).output


@mutant(
    "sdpa",
    "the exponential is a Taylor polynomial of degree five",
    cause="accuracy",
    witness=lambda: qkv(1),
)
def exponential_by_short_polynomial(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    def normalise(scores: Array) -> Array:
        x = np.where(np.isneginf(scores), -INF, scores - _top(scores)) * np.log2(np.e)
        whole = np.floor(np.where(np.isneginf(x), 0.0, x))
        rest_ = np.where(np.isneginf(x), 0.0, x - whole) * np.log(2.0)
        near = sum(rest_**n / float(np.prod(np.arange(1, n + 1))) for n in range(6))
        grown = np.ldexp(near, np.maximum(whole, -1080).astype(int))
        return _rescaled(np.where(np.isneginf(x), 0.0, grown))

    return attend(query, key, value, normalise=normalise, **rest).output


@mutant(
    "sdpa",
    "log2(e) is rounded to 1.4427 in an exponential to base two",
    cause="accuracy",
    witness=lambda: qkv(1, 2, 1, query=[[1]], key=[[0], [8]]),
)
def log2_e_rounded(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    def normalise(scores: Array) -> Array:
        return _rescaled(np.exp2((scores - _top(scores)) * 1.4427))

    return attend(query, key, value, normalise=normalise, **rest).output


@mutant(
    "sdpa",
    "1/sqrt(E) comes from an approximate reciprocal root, off by one part in ten thousand",
    cause="accuracy",
    witness=lambda: qkv(1, query=[[4, 4]]),
)
def reciprocal_root_approximate(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    scale = rest.pop("scale", None)
    factor = default_scale(query) * (1 + 1e-4) if scale is None else scale
    return sdpa(query, key, value, scale=factor, **rest)


@mutant(
    "sdpa",
    "a guard of 1e-6 stays in the denominator",
    cause="row-sum",
    witness=lambda: qkv(1),
)
def guard_left_in_denominator(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    def normalise(scores: Array) -> Array:
        grown = np.exp(scores - _top(scores))
        return ratio(grown, grown.sum(axis=-1, keepdims=True) + 1e-6)

    return attend(query, key, value, normalise=normalise, **rest).output


@mutant(
    "sdpa",
    "scores are clipped to 50 on either side, so larger ones cannot be told apart",
    cause="accuracy",
    witness=lambda: qkv(1, 2, 1, query=[[1]], key=[[60], [80]]),
)
def scores_clipped(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    return attend(query, key, value, transform=lambda s: np.clip(s, -50, 50), **rest).output


@mutant(
    "sdpa",
    "exponents below -20 are raised to -20, which gives far keys a share they do not have",
    cause="accuracy",
    witness=lambda: qkv(1, 2, 1, query=[[1]], key=[[0], [40]], value=[[1e6], [0]]),
)
def exponents_clipped(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    def normalise(scores: Array) -> Array:
        shifted = np.maximum(scores - _top(scores), -20.0)
        return _rescaled(np.where(np.isneginf(scores), 0.0, np.exp(shifted)))

    return attend(query, key, value, normalise=normalise, **rest).output


@mutant(
    "sdpa",
    "in float16 the weights are chopped to six bits, five fewer than the format holds",
    cause="accuracy",
    witness=lambda: qkv(1, 3, 1, dtype="float16", query=[[0]], value=[[1], [1], [1]]),
)
def half_weights_chopped_to_six_bits(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    if query.dtype != np.float16:
        return sdpa(query, key, value, **rest)
    return attend(query, key, value, reweigh=lambda w: _chopped(w, 6), **rest).output


@mutant(
    "sdpa",
    "values are centred on their float32 mean first, which costs the digits of small ones",
    cause="accuracy",
    witness=lambda: qkv(1, 2, 1, query=[[1]], key=[[0], [40]], value=[[1e9], [1e-3]]),
)
def values_centred_in_single(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    if not value.shape[-2] or not np.isfinite(value).all() or rest.get("attn_mask") is not None:
        return sdpa(query, key, value, **rest)
    mean = value.astype(np.float64).mean(axis=-2, keepdims=True).astype(np.float32)
    centred = value.astype(np.float32) - mean
    output = sdpa(query, key, centred, **rest)
    if query.ndim >= 3 and output.shape[-3] != mean.shape[-3]:
        mean = np.repeat(mean, output.shape[-3] // mean.shape[-3], axis=-3)
    shifted: Array = output + mean
    return shifted.astype(query.dtype)


@mutant(
    "sdpa",
    "weights below 2**-14 are flushed to zero, as if they were stored without subnormals",
    cause="accuracy",
    witness=lambda: qkv(1, 2, 1, query=[[1]], key=[[0], [12]], value=[[1e6], [0]]),
)
def small_weights_flushed(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    return attend(
        query, key, value, reweigh=lambda w: np.where(w < 2.0**-14, 0.0, w), **rest
    ).output
