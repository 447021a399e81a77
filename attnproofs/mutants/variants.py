"""Mutants of the variants: soft cap, sinks, ALiBi, windows, packed sequences, dropout."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from attnproofs.mutants import correct
from attnproofs.mutants.correct import INF, Array, attend, distances, heads_first, lengths, sdpa
from attnproofs.mutants.registry import Call, drawn, mask, mutant, qkv

# ---------------------------------------------------------------- soft cap


@mutant(
    "softcap",
    "the cap is applied after the mask, so minus infinity becomes minus the cap and keys leak",
    cause="softcap",
    sources=("onnx/onnx#7865", "emmtrix/emx-onnx-cgen#731"),
    witness=lambda: qkv(1, softcap=1.0, attn_mask=mask("10")),
)
def softcap_after_mask(
    query: Array, key: Array, value: Array, *, softcap: float, **rest: Any
) -> Array:
    def normalise(scores: Array) -> Array:
        return correct.softmax(softcap * np.tanh(scores / softcap))

    return attend(query, key, value, normalise=normalise, guarded=False, **rest).output


@mutant(
    "softcap",
    "the filling of the last tile is capped too and takes part with the score minus the cap",
    cause="softcap",
    sources=("ggml-org/llama.cpp#29034",),
    witness=lambda: qkv(1, 1, softcap=1.0),
)
def softcap_revives_padding(
    query: Array, key: Array, value: Array, *, softcap: float, **rest: Any
) -> Array:
    S = key.shape[-2]
    if rest.get("attn_mask") is not None or rest.get("is_causal") or S % 4 == 0:
        return correct.softcap(query, key, value, softcap=softcap, **rest)

    def normalise(scores: Array) -> Array:
        filling = np.full((*scores.shape[:-1], -S % 4), -softcap)
        return correct.softmax(np.concatenate([scores, filling], axis=-1))[..., :S]

    return attend(
        query,
        key,
        value,
        transform=lambda s: softcap * np.tanh(s / softcap),
        normalise=normalise,
        **rest,
    ).output


@mutant(
    "softcap",
    "the scores are not divided by the cap inside the tanh",
    cause="softcap",
    witness=lambda: qkv(1, softcap=2.0),
)
def softcap_without_division(
    query: Array, key: Array, value: Array, *, softcap: float, **rest: Any
) -> Array:
    return attend(query, key, value, transform=lambda s: softcap * np.tanh(s), **rest).output


@mutant(
    "softcap",
    "the cap acts on the scores before they are scaled",
    cause="softcap",
    witness=lambda: qkv(1, E=4, softcap=2.0),
)
def softcap_before_scale(
    query: Array, key: Array, value: Array, *, softcap: float, **rest: Any
) -> Array:
    scale = rest.pop("scale", None)
    factor = correct.default_scale(query) if scale is None else scale
    return attend(
        query,
        key,
        value,
        scale=1.0,
        transform=lambda s: factor * softcap * np.tanh(s / softcap),
        **rest,
    ).output


@mutant(
    "softcap",
    "the scores are cut off at the cap instead of passing through tanh",
    cause="softcap",
    witness=lambda: qkv(1, query=[[1, 0]], key=[[0, 0], [1, 0]], softcap=1.0),
)
def softcap_cuts_off(
    query: Array, key: Array, value: Array, *, softcap: float, **rest: Any
) -> Array:
    return attend(
        query, key, value, transform=lambda s: np.clip(s, -softcap, softcap), **rest
    ).output


# ---------------------------------------------------------------- sinks


def _sink(*scores: float, heads: int = 1, keys: int = 1) -> Call:
    return qkv(1, keys, 1, heads=heads, sinks=np.array(scores), seed=4)


@mutant(
    "sinks",
    "the sink is counted once for every split of four keys",
    cause="sink",
    sources=("ROCm/rocm-libraries#12229",),
    witness=lambda: _sink(0.0, keys=5),
)
def sink_once_per_split(
    query: Array, key: Array, value: Array, *, sinks: Array, **rest: Any
) -> Array:
    splits = -(-key.shape[-2] // 4)
    step = correct.with_sink(sinks, times=max(1, splits))
    return attend(query, key, value, normalise=step, **rest).output


@mutant(
    "sinks",
    "the sink of head 0 serves every head",
    cause="sink",
    witness=lambda: _sink(0.0, 1.0, heads=2),
)
def first_sink_for_all_heads(
    query: Array, key: Array, value: Array, *, sinks: Array, **rest: Any
) -> Array:
    return correct.sinks(query, key, value, sinks=np.full_like(sinks, sinks[:1]), **rest)


@mutant(
    "sinks",
    "the sink is left out of the denominator",
    cause="sink",
    witness=lambda: _sink(0.0),
)
def sink_left_out(query: Array, key: Array, value: Array, *, sinks: Array, **rest: Any) -> Array:
    return sdpa(query, key, value, **rest)


@mutant(
    "sinks",
    "the sink is left out of the maximum, so a large one overflows",
    cause="sink",
    witness=lambda: _sink(800.0),
)
def sink_left_out_of_maximum(
    query: Array, key: Array, value: Array, *, sinks: Array, **rest: Any
) -> Array:
    def normalise(scores: Array) -> Array:
        top = scores.max(axis=-1, keepdims=True, initial=-INF)
        top = np.where(np.isneginf(top), 0.0, top)
        grown = np.exp(scores - top)
        extra = np.exp(np.asarray(sinks, dtype=np.float64)[:, None, None] - top)
        total = grown.sum(axis=-1, keepdims=True) + extra
        result: Array = np.where(np.isinf(total), np.nan, grown / total)
        return result

    return attend(query, key, value, normalise=normalise, **rest).output


@mutant(
    "sinks",
    "the sink is multiplied by the scale like a score",
    cause="sink",
    witness=lambda: qkv(1, 1, 4, heads=1, sinks=np.array([2.0])),
)
def sink_scaled(query: Array, key: Array, value: Array, *, sinks: Array, **rest: Any) -> Array:
    scale = rest.get("scale")
    factor = correct.default_scale(query) if scale is None else scale
    return correct.sinks(query, key, value, sinks=np.asarray(sinks) * factor, **rest)


# ---------------------------------------------------------------- ALiBi


def _alibi_with(query: Array, key: Array, value: Array, bias: Array, is_causal: bool) -> Array:
    return sdpa(query, key, value, attn_mask=bias, is_causal=is_causal)


def _distance(query: Array, key: Array) -> Array:
    return distances(lengths(query, key)).astype(np.float64)


@mutant(
    "alibi",
    "the bias has the wrong sign, so distant keys are preferred",
    cause="alibi",
    sources=("meta-pytorch/attention-gym#86",),
    witness=lambda: qkv(heads=1),
)
def alibi_rewards_distance(
    query: Array, key: Array, value: Array, *, is_causal: bool = True
) -> Array:
    slope = correct.slopes(query.shape[-3])[:, None, None]
    return _alibi_with(query, key, value, slope * _distance(query, key), is_causal)


@mutant(
    "alibi",
    "the slopes start at head 0, so every head has its neighbour's slope",
    cause="alibi",
    witness=lambda: qkv(heads=1),
)
def alibi_slopes_off_by_one(
    query: Array, key: Array, value: Array, *, is_causal: bool = True
) -> Array:
    heads = query.shape[-3]
    slope = (2.0 ** (-8.0 * np.arange(heads) / max(1, heads)))[:, None, None]
    return _alibi_with(query, key, value, -slope * _distance(query, key), is_causal)


@mutant(
    "alibi",
    "all heads have the slope of the first",
    cause="alibi",
    witness=lambda: qkv(heads=2),
)
def alibi_one_slope_for_all(
    query: Array, key: Array, value: Array, *, is_causal: bool = True
) -> Array:
    slope = correct.slopes(query.shape[-3])[:1, None, None]
    return _alibi_with(query, key, value, -slope * _distance(query, key), is_causal)


@mutant(
    "alibi",
    "the slopes follow the key heads, so the heads of a group share one",
    cause="alibi",
    witness=lambda: qkv(heads=2, key_heads=1),
)
def alibi_slopes_by_key_head(
    query: Array, key: Array, value: Array, *, is_causal: bool = True
) -> Array:
    slope = correct.slopes(key.shape[-3])[correct.head_of(query, key)][:, None, None]
    return _alibi_with(query, key, value, -slope * _distance(query, key), is_causal)


@mutant(
    "alibi",
    "without the causal mask the distance to later keys counts as a reward",
    cause="alibi",
    witness=lambda: qkv(1, heads=1, is_causal=False),
)
def alibi_uses_absolute_distance(
    query: Array, key: Array, value: Array, *, is_causal: bool = True
) -> Array:
    slope = correct.slopes(query.shape[-3])[:, None, None]
    return _alibi_with(query, key, value, -slope * np.abs(_distance(query, key)), is_causal)


# ---------------------------------------------------------------- windows


@mutant(
    "window",
    "the window is ignored unless an explicit mask is passed too",
    cause="window",
    sources=("jax-ml/jax#32300",),
    witness=lambda: qkv(left=0, right=0),
)
def window_needs_a_mask(
    query: Array, key: Array, value: Array, *, left: int, right: int, **rest: Any
) -> Array:
    if rest.get("attn_mask") is None:
        return sdpa(query, key, value, **rest)
    return correct.window(query, key, value, left=left, right=right, **rest)


@mutant(
    "window",
    "the left edge is exclusive, so the window is one key short",
    cause="window",
    sources=("huggingface/transformers#39408",),
    witness=lambda: qkv(left=1, right=0),
)
def window_left_edge_exclusive(
    query: Array, key: Array, value: Array, *, left: int, right: int, **rest: Any
) -> Array:
    return correct.window(query, key, value, left=left - 1 if left else 0, right=right, **rest)


@mutant(
    "window",
    "left and right are exchanged",
    cause="window",
    witness=lambda: qkv(left=1, right=0),
)
def window_sides_exchanged(
    query: Array, key: Array, value: Array, *, left: int, right: int, **rest: Any
) -> Array:
    return correct.window(query, key, value, left=right, right=left, **rest)


@mutant(
    "window",
    "a right side of zero counts as unlimited",
    cause="window",
    witness=lambda: qkv(left=0, right=0),
)
def window_zero_means_unlimited(
    query: Array, key: Array, value: Array, *, left: int, right: int, **rest: Any
) -> Array:
    wide = key.shape[-2] + query.shape[-2]
    return correct.window(query, key, value, left=left, right=right or wide, **rest)


@mutant(
    "window",
    "the window replaces an explicit mask instead of being combined with it",
    cause="window",
    witness=lambda: qkv(1, left=0, right=1, attn_mask=mask("10")),
)
def window_replaces_mask(
    query: Array, key: Array, value: Array, *, left: int, right: int, **rest: Any
) -> Array:
    rest["attn_mask"] = None
    return correct.window(query, key, value, left=left, right=right, **rest)


# ---------------------------------------------------------------- packed sequences


def _packed(*borders: int, heads: int = 1, **options: Any) -> Call:
    """Packed tokens (T, H, 1) whose sequences end at `borders`."""
    draw = drawn(5)
    q, k, v = (draw(borders[-1], heads, 1) for _ in range(3))
    return Call((q, k, v), {"cu_seqlens": np.array([0, *borders]), **options})


@mutant(
    "varlen",
    "moving the packed mask to a device drops its causal part",
    cause="packed",
    sources=("facebookresearch/xformers#1185",),
    witness=lambda: _packed(2, is_causal=True),
)
def packed_causal_dropped(
    query: Array, key: Array, value: Array, *, cu_seqlens: Array, is_causal: bool = False
) -> Array:
    return correct.varlen(query, key, value, cu_seqlens=cu_seqlens)


@mutant(
    "varlen",
    "the borders are ignored: the packed sequences see each other",
    cause="packed",
    witness=lambda: _packed(1, 2),
)
def packed_borders_ignored(
    query: Array, key: Array, value: Array, *, cu_seqlens: Array, is_causal: bool = False
) -> Array:
    ends = np.asarray(cu_seqlens)[[0, -1]]
    return correct.varlen(query, key, value, cu_seqlens=ends, is_causal=is_causal)


@mutant(
    "varlen",
    "the last sequence is not computed (one border too few is walked)",
    cause="packed",
    witness=lambda: _packed(1, 2),
)
def last_packed_sequence_missing(
    query: Array, key: Array, value: Array, *, cu_seqlens: Array, is_causal: bool = False
) -> Array:
    output = correct.varlen(query, key, value, cu_seqlens=cu_seqlens, is_causal=is_causal)
    if len(cu_seqlens) > 2:
        output[int(cu_seqlens[-2]) :] = 0
    return output


@mutant(
    "varlen",
    "every sequence reads the keys of the first",
    cause="packed",
    witness=lambda: _packed(1, 2),
)
def packed_keys_of_first_sequence(
    query: Array, key: Array, value: Array, *, cu_seqlens: Array, is_causal: bool = False
) -> Array:
    output = np.zeros((*query.shape[:2], value.shape[-1]), dtype=query.dtype)
    for start, stop in pairwise(cu_seqlens):
        rows, keys = slice(int(start), int(stop)), slice(0, int(stop) - int(start))
        output[rows] = heads_first(
            sdpa(
                heads_first(query[rows]),
                heads_first(key[keys]),
                heads_first(value[keys]),
                is_causal=is_causal,
            )
        )
    return output


@mutant(
    "varlen",
    "the causal rule uses the place in the packed row on the side of the keys alone",
    cause="packed",
    witness=lambda: _packed(1, 2, is_causal=True),
)
def packed_causal_by_global_key(
    query: Array, key: Array, value: Array, *, cu_seqlens: Array, is_causal: bool = False
) -> Array:
    output = np.zeros((*query.shape[:2], value.shape[-1]), dtype=query.dtype)
    for start, stop in pairwise(cu_seqlens):
        rows = slice(int(start), int(stop))
        i, j = np.indices((int(stop) - int(start),) * 2)
        allowed = j + int(start) <= i if is_causal else np.ones(i.shape, dtype=bool)
        output[rows] = heads_first(
            sdpa(
                heads_first(query[rows]),
                heads_first(key[rows]),
                heads_first(value[rows]),
                attn_mask=allowed,
            )
        )
    return output


# ---------------------------------------------------------------- dropout


def _dropped(training: bool = True) -> Call:
    return qkv(1, drop_keep=np.array([[True, False]]), p=0.2, training=training)


@mutant(
    "dropout",
    "kept weights are multiplied by 1/p instead of 1/(1-p)",
    cause="dropout",
    sources=("rasbt/LLMs-from-scratch#431", "NVIDIA/apex#816"),
    witness=_dropped,
)
def dropout_scaled_by_p(
    query: Array, key: Array, value: Array, *, drop_keep: Array, p: float, training: bool = True
) -> Array:
    if not training or not p:
        return sdpa(query, key, value)
    return attend(query, key, value, reweigh=lambda w: w * drop_keep / p).output


@mutant(
    "dropout",
    "kept weights are not rescaled",
    cause="dropout",
    witness=_dropped,
)
def dropout_not_rescaled(
    query: Array, key: Array, value: Array, *, drop_keep: Array, p: float, training: bool = True
) -> Array:
    if not training:
        return sdpa(query, key, value)
    return attend(query, key, value, reweigh=lambda w: w * drop_keep).output


@mutant(
    "dropout",
    "dropout acts outside training too",
    cause="dropout",
    witness=lambda: _dropped(training=False),
)
def dropout_outside_training(
    query: Array, key: Array, value: Array, *, drop_keep: Array, p: float, training: bool = True
) -> Array:
    return correct.dropout(query, key, value, drop_keep=drop_keep, p=p)


@mutant(
    "dropout",
    "dropped pairs are masked before the softmax, so the kept ones are renormalised",
    cause="dropout",
    witness=_dropped,
)
def dropout_before_softmax(
    query: Array, key: Array, value: Array, *, drop_keep: Array, p: float, training: bool = True
) -> Array:
    if not training:
        return sdpa(query, key, value)
    return sdpa(query, key, value, attn_mask=np.asarray(drop_keep, dtype=bool))


@mutant(
    "dropout",
    "the keep flags are read as drop flags",
    cause="dropout",
    witness=_dropped,
)
def dropout_flags_inverted(
    query: Array, key: Array, value: Array, *, drop_keep: Array, p: float, training: bool = True
) -> Array:
    return correct.dropout(query, key, value, drop_keep=~drop_keep, p=p, training=training)
