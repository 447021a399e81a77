"""Mutants of heads: grouped heads, splitting and merging, projections and their biases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from attnproofs.mutants.correct import (
    Array,
    attend,
    both,
    head_of,
    merge_heads,
    mha,
    project,
    sdpa,
    split_heads,
)
from attnproofs.mutants.registry import Call, mutant, qkv
from attnproofs.mutants.scaling import call_of_mha

# ---------------------------------------------------------------- grouped heads


def _reading(
    query: Array, key: Array, value: Array, which: Callable[[int, int], Array], rest: Any
) -> Array:
    """Attention in which query head h reads key head ``which(Hq, Hkv)[h]``."""
    if query.ndim < 3 or key.shape[-3] == 0:
        return sdpa(query, key, value, **rest)
    heads = which(query.shape[-3], key.shape[-3])
    return attend(query, key, value, heads=heads, **rest).output


def _one_token(heads: int, key_heads: int, **options: Any) -> Call:
    return qkv(1, 1, 1, heads=heads, key_heads=key_heads, **options)


@mutant(
    "sdpa",
    "key heads are tiled instead of repeated: query head h reads h modulo the number of key heads",
    cause="head-map",
    sources=("onnx/onnx#7274", "ekzhang/jax-js#180"),
    witness=lambda: _one_token(4, 2),
)
def key_heads_tiled(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    return _reading(query, key, value, lambda H, G: np.arange(H) % G, rest)


@mutant(
    "sdpa",
    "the query head is divided by the number of key heads instead of the group's size",
    cause="head-map",
    sources=("PSAL-POSTECH/ONNXim#34",),
    witness=lambda: _one_token(2, 2),
)
def head_divided_by_key_heads(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    return _reading(query, key, value, lambda H, G: np.minimum(np.arange(H) // G, G - 1), rest)


@mutant(
    "sdpa",
    "a tile of four query heads reads one key head even where it crosses into the next group",
    cause="head-map",
    sources=("FlashML-org/FreeToken#177", "ggml-org/llama.cpp#19115"),
    witness=lambda: _one_token(10, 2, seed=1),
)
def head_tile_straddles_groups(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    def which(H: int, G: int) -> Array:
        group = H // G
        return (np.arange(H) // 4 * 4 if group > 4 else np.arange(H)) // group

    return _reading(query, key, value, which, rest)


@mutant(
    "sdpa",
    "the groups read the key heads in reverse order",
    cause="head-map",
    witness=lambda: _one_token(2, 2),
)
def key_heads_reversed(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    return _reading(query, key, value, lambda H, G: G - 1 - np.arange(H) // (H // G), rest)


@mutant(
    "sdpa",
    "every query head reads key head 0",
    cause="head-map",
    witness=lambda: _one_token(2, 2),
)
def all_heads_read_first(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    return _reading(query, key, value, lambda H, G: np.zeros(H, dtype=int), rest)


@mutant(
    "sdpa",
    "with grouped heads the keys are repeated and the values tiled",
    cause="head-map",
    witness=lambda: _one_token(4, 2),
)
def values_tiled_keys_repeated(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    if query.ndim < 3 or key.shape[-3] == 0:
        return sdpa(query, key, value, **rest)
    H, G = query.shape[-3], key.shape[-3]
    return sdpa(
        query, key[..., head_of(query, key), :, :], value[..., np.arange(H) % G, :, :], **rest
    )


@mutant(
    "sdpa",
    "the query heads of a group share one averaged query",
    cause="head-map",
    witness=lambda: qkv(1, 2, 1, heads=2, key_heads=1, seed=3),
)
def queries_averaged_in_group(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    if query.ndim < 3 or key.shape[-3] in (0, query.shape[-3]):
        return sdpa(query, key, value, **rest)
    *batch, H, L, E = query.shape
    G = key.shape[-3]
    mean = query.reshape(*batch, G, H // G, L, E).mean(axis=-3)
    return sdpa(np.repeat(mean, H // G, axis=-3).astype(query.dtype), key, value, **rest)


@mutant(
    "sdpa",
    "of the heads beyond the eighth only copies of the first eight are computed",
    cause="head-map",
    witness=lambda: _one_token(9, 9, seed=2),
)
def heads_beyond_eight_repeat(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    output = sdpa(query, key, value, **rest)
    if query.ndim < 3:
        return output
    return output[..., np.arange(query.shape[-3]) % 8, :, :]


# ---------------------------------------------------------------- splitting and merging


def _mha_with(
    args: tuple[Array, ...],
    rest: Any,
    split: Callable[[Array, int], Array] = split_heads,
    merge: Callable[[Array], Array] = merge_heads,
    values_from: int = 1,
    keys_from: int = 1,
) -> Array:
    """`mha` with another way to split or merge heads, or other sources of keys and values."""
    W_Q, W_K, W_V, W_O = args[2:]
    num_heads = rest["num_heads"]
    q = split(project(args[0], W_Q, rest.get("b_Q")), num_heads)
    k = split(project(args[keys_from], W_K, rest.get("b_K")), num_heads)
    v = split(project(args[values_from], W_V, rest.get("b_V")), num_heads)
    mixed = sdpa(q, k, v, attn_mask=rest.get("attn_mask"), is_causal=rest.get("is_causal", False))
    return project(merge(mixed), W_O, rest.get("b_O")).astype(args[0].dtype)


@mutant(
    "mha",
    "the heads are merged by a reshape without moving their axis back, which mixes tokens",
    cause="heads",
    sources=("jsbaan/transformer-from-scratch#6", "meta-pytorch/opacus#825"),
    witness=lambda: call_of_mha(3),
)
def heads_merged_without_transpose(*args: Array, **rest: Any) -> Array:
    def merge(x: Array) -> Array:
        *batch, H, T, d = x.shape
        return x.reshape(*batch, T, H * d)

    return _mha_with(args, rest, merge=merge)


@mutant(
    "mha",
    "the heads are split by a reshape without moving their axis, which mixes tokens",
    cause="heads",
    witness=lambda: call_of_mha(3),
)
def heads_split_without_transpose(*args: Array, **rest: Any) -> Array:
    def split(x: Array, H: int) -> Array:
        *batch, T, width = x.shape
        return x.reshape(*batch, H, T, width // H)

    return _mha_with(args, rest, split=split)


@mutant(
    "mha",
    "the columns of a head are taken with a stride (feature first, head second)",
    cause="heads",
    witness=call_of_mha,
)
def heads_interleaved(*args: Array, **rest: Any) -> Array:
    def split(x: Array, H: int) -> Array:
        *batch, T, width = x.shape
        return np.moveaxis(x.reshape(*batch, T, width // H, H), -1, -3)

    return _mha_with(args, rest, split=split)


@mutant(
    "mha",
    "heads gathered from two groups meet W_O in the order 0 2 1 3",
    cause="heads",
    sources=("snowflakedb/ArcticInference#142",),
    witness=lambda: call_of_mha(heads=4, width=1),
)
def gathered_heads_out_of_order(*args: Array, **rest: Any) -> Array:
    def merge(x: Array) -> Array:
        H = x.shape[-3]
        order = np.arange(H)
        if H % 2 == 0:
            order = order.reshape(2, -1).T.reshape(-1)
        return merge_heads(x[..., order, :, :])

    return _mha_with(args, rest, merge=merge)


@mutant(
    "mha",
    "the sum over the head shards is missing: only the first half of the heads reaches the output",
    cause="heads",
    sources=("FlashML-org/FreeToken#440",),
    witness=call_of_mha,
)
def only_first_shard_of_heads(*args: Array, **rest: Any) -> Array:
    H = rest["num_heads"]

    def merge(x: Array) -> Array:
        shown = np.arange(H) < max(1, H // 2)
        return merge_heads(x * shown[:, None, None])

    return _mha_with(args, rest, merge=merge)


@mutant(
    "mha",
    "the heads are averaged before the output projection and the average is repeated",
    cause="heads",
    witness=call_of_mha,
)
def heads_averaged(*args: Array, **rest: Any) -> Array:
    def merge(x: Array) -> Array:
        return merge_heads(np.broadcast_to(x.mean(axis=-3, keepdims=True), x.shape))

    return _mha_with(args, rest, merge=merge)


@mutant(
    "mha",
    "a square W_O is applied transposed",
    cause="heads",
    witness=call_of_mha,
)
def output_weight_transposed(*args: Array, **rest: Any) -> Array:
    x_query, x_source, W_Q, W_K, W_V, W_O = args
    W_O = W_O.T if W_O.shape[0] == W_O.shape[1] else W_O
    return mha(x_query, x_source, W_Q, W_K, W_V, W_O, **rest)


@mutant(
    "mha",
    "a square W_Q is applied transposed",
    cause="projection",
    witness=call_of_mha,
)
def query_weight_transposed(*args: Array, **rest: Any) -> Array:
    x_query, x_source, W_Q, W_K, W_V, W_O = args
    W_Q = W_Q.T if W_Q.shape[0] == W_Q.shape[1] else W_Q
    return mha(x_query, x_source, W_Q, W_K, W_V, W_O, **rest)


@mutant(
    "mha",
    "in cross-attention the values are projected from the query side when the lengths allow it",
    cause="projection",
    witness=lambda: call_of_mha(2, 2),
)
def values_from_query_side(*args: Array, **rest: Any) -> Array:
    return _mha_with(args, rest, values_from=0 if args[0].shape == args[1].shape else 1)


@mutant(
    "mha",
    "the keys are projected with W_V and the values with W_K when both have the same shape",
    cause="projection",
    witness=call_of_mha,
)
def key_and_value_weights_exchanged(*args: Array, **rest: Any) -> Array:
    x_query, x_source, W_Q, W_K, W_V, W_O = args
    if W_K.shape == W_V.shape:
        W_K, W_V = W_V, W_K
    return mha(x_query, x_source, W_Q, W_K, W_V, W_O, **rest)


@mutant(
    "mha",
    "the causal flag is ignored as soon as query side and source are different arrays",
    cause="causal",
    witness=lambda: call_of_mha(2, 2, is_causal=True),
)
def causal_ignored_in_cross_attention(*args: Array, **rest: Any) -> Array:
    if not np.array_equal(args[0], args[1]):
        rest["is_causal"] = False
    return mha(*args, **rest)


@mutant(
    "mha",
    "padding is guessed: a source row whose features sum to zero is masked",
    cause="all-keys",
    sources=("Kyubyong/transformer#69",),
    witness=lambda: Call(
        (np.array([[1.0, -1], [2, 1]]), np.array([[1.0, -1], [2, 1]]), *[np.eye(2)] * 4),
        {"num_heads": 1},
    ),
)
def padding_guessed_from_zero_sum(*args: Array, **rest: Any) -> Array:
    real = args[1].sum(axis=-1) != 0
    if args[1].ndim == 2:
        rest["attn_mask"] = both(rest.get("attn_mask"), real)
    return mha(*args, **rest)


@mutant(
    "mha",
    "the residual connection is already added to the result",
    cause="projection",
    witness=call_of_mha,
)
def residual_included(*args: Array, **rest: Any) -> Array:
    output = mha(*args, **rest)
    return output + args[0] if output.shape == args[0].shape else output


# ---------------------------------------------------------------- biases


@mutant(
    "mha",
    "the output bias is added by every head shard before the sum",
    cause="bias",
    sources=("huggingface/text-generation-inference#1036",),
    witness=lambda: call_of_mha(b_O=np.ones(4)),
)
def output_bias_once_per_shard(*args: Array, **rest: Any) -> Array:
    b_O = rest.pop("b_O", None)
    return mha(*args, b_O=None if b_O is None else b_O * rest["num_heads"], **rest)


@mutant(
    "mha",
    "the pieces of a packed bias are laid out in the wrong order: queries get the keys' bias",
    cause="bias",
    sources=("huggingface/pytorch-image-models#2653",),
    witness=lambda: call_of_mha(b_Q=np.ones(4), b_K=np.zeros(4)),
)
def packed_bias_out_of_order(*args: Array, **rest: Any) -> Array:
    rest["b_Q"], rest["b_K"] = rest.get("b_K"), rest.get("b_Q")
    return mha(*args, **rest)


@mutant(
    "mha",
    "the bias of the values is dropped",
    cause="bias",
    witness=lambda: call_of_mha(b_V=np.ones(4)),
)
def value_bias_dropped(*args: Array, **rest: Any) -> Array:
    return mha(*args, **{**rest, "b_V": None})


@mutant(
    "mha",
    "the bias of the values is added to each weighted term as well as to the sum",
    cause="bias",
    witness=lambda: call_of_mha(b_V=np.ones(4)),
)
def value_bias_added_twice(*args: Array, **rest: Any) -> Array:
    b_V = rest.get("b_V")
    return mha(*args, **{**rest, "b_V": None if b_V is None else 2 * b_V})


@mutant(
    "mha",
    "the bias of the queries is dropped, as is right for the keys alone",
    cause="bias",
    witness=lambda: call_of_mha(b_Q=np.ones(4)),
)
def query_bias_dropped(*args: Array, **rest: Any) -> Array:
    return mha(*args, **{**rest, "b_Q": None})


@mutant(
    "mha",
    "the output bias is added before the projection instead of after it when the widths allow it",
    cause="bias",
    witness=lambda: call_of_mha(b_O=np.ones(4)),
)
def output_bias_before_projection(*args: Array, **rest: Any) -> Array:
    b_O = rest.get("b_O")
    if b_O is None or len(b_O) != args[5].shape[0]:
        return mha(*args, **rest)
    return mha(*args, **{**rest, "b_O": b_O @ args[5]})
