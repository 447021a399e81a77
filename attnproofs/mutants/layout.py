"""Mutants of layout: batch axes, strides, shapes and dtypes of results, and the caller's arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from attnproofs.mutants.correct import Array, attend, below, lengths, sdpa
from attnproofs.mutants.registry import Call, mutant, qkv

# ---------------------------------------------------------------- batch and other axes


@mutant(
    "sdpa",
    "the joined axis of samples and heads is taken apart in the other order",
    cause="batch",
    sources=("gazelle93/Transformer-Various-Positional-Encoding#1",),
    witness=lambda: qkv(1, 1, 1, heads=2, batch=2),
)
def samples_and_heads_unfolded_in_wrong_order(
    query: Array, key: Array, value: Array, **rest: Any
) -> Array:
    output = sdpa(query, key, value, **rest)
    if output.ndim != 4:
        return output
    B, H, L, Ev = output.shape
    return np.swapaxes(output.reshape(H, B, L, Ev), 0, 1).copy()


@mutant(
    "sdpa",
    "batch and sequence axes are exchanged, so samples attend to each other",
    cause="batch",
    sources=("aipixel/AEMatter#3",),
    witness=lambda: qkv(1, 1, 1, heads=1, batch=2),
)
def batch_axis_taken_for_sequence(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    L, S = lengths(query, key)
    if query.ndim != 4 or rest.get("attn_mask") is not None or L != S:
        return sdpa(query, key, value, **rest)
    moved = (np.swapaxes(x, 0, 2) for x in (query, key, value))
    return np.swapaxes(sdpa(*moved, **rest), 0, 2).copy()


@mutant(
    "sdpa",
    "without a head axis the samples of a batch are taken for heads of one long sequence of keys",
    cause="batch",
    witness=lambda: qkv(1, 1, 1, heads=2),
)
def keys_joined_across_heads(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    if query.ndim != 3 or rest.get("attn_mask") is not None or rest.get("is_causal"):
        return sdpa(query, key, value, **rest)
    joined = (x.reshape(1, -1, x.shape[-1]) for x in (key, value))
    return sdpa(query, *joined, **rest)


@mutant(
    "sdpa",
    "the first sample's keys serve the whole batch",
    cause="batch",
    witness=lambda: qkv(1, 2, 1, heads=1, batch=2, seed=2),
)
def first_sample_keys_for_all(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    if key.ndim == 4:
        key = np.broadcast_to(key[:1], key.shape)
    return sdpa(query, key, value, **rest)


@mutant(
    "sdpa",
    "axes of size one are squeezed out of the result",
    cause="shape",
    witness=lambda: qkv(1),
)
def size_one_axes_squeezed(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    output = sdpa(query, key, value, **rest)
    return np.squeeze(output, axis=-2) if output.shape[-2] == 1 else output


@mutant(
    "sdpa",
    "the output buffer has the query's shape, so wider values are cut and narrower ones padded",
    cause="shape",
    witness=lambda: qkv(1, 1, 1, Ev=2),
)
def output_shaped_like_query(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    output = sdpa(query, key, value, **rest)
    buffer = np.zeros_like(query)
    width = min(output.shape[-1], buffer.shape[-1])
    buffer[..., :width] = output[..., :width]
    return buffer


@mutant(
    "sdpa",
    "value columns beyond the query's width are left at zero",
    cause="shape",
    witness=lambda: qkv(1, 1, 1, Ev=2),
)
def extra_value_columns_zero(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    output = sdpa(query, key, value, **rest)
    output[..., query.shape[-1] :] = 0
    return output


@mutant(
    "sdpa",
    "the last column of a result wider than sixteen stays zero (vectors of sixteen, no tail loop)",
    cause="shape",
    witness=lambda: qkv(1, 1, 1, Ev=17),
)
def column_tail_not_written(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    output = sdpa(query, key, value, **rest)
    Ev = output.shape[-1]
    if Ev > 16:
        output[..., Ev // 16 * 16 :] = 0
    return output


@mutant(
    "sdpa",
    "query rows beyond the last full tile of eight are not written",
    cause="shape",
    witness=lambda: qkv(9, 1, 1),
)
def row_tail_not_written(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    output = sdpa(query, key, value, **rest)
    L = output.shape[-2]
    if L > 8:
        output[..., L // 8 * 8 :, :] = 0
    return output


@mutant(
    "sdpa",
    "the result is always float64",
    cause="shape",
    witness=lambda: qkv(1, dtype="float32"),
)
def result_always_double(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    return sdpa(query, key, value, **rest).astype(np.float64)


@mutant(
    "sdpa",
    "the result is always float32",
    cause="shape",
    witness=lambda: qkv(1),
)
def result_always_single(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    return sdpa(query, key, value, **rest).astype(np.float32)


@mutant(
    "sdpa",
    "without any key the result is 0/0",
    cause="empty-row",
    sources=("HabanaAI/vllm-fork#318", "Dao-AILab/flash-attention#2470"),
    witness=lambda: qkv(1, 0),
)
def no_keys_give_nan(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    output = sdpa(query, key, value, **rest)
    return output if key.shape[-2] else np.full_like(output, np.nan)


@mutant(
    "sdpa",
    "a call without queries raises, because the maximum of nothing is taken",
    cause="shape",
    witness=lambda: qkv(0, 1),
)
def no_queries_raise(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    np.abs(query).max()
    return sdpa(query, key, value, **rest)


# ---------------------------------------------------------------- memory


def _transposed_view() -> Call:
    call = qkv(1, 2, 2)
    query, key, value = call.args
    return Call((query, key, np.asfortranarray(value)))


@mutant(
    "sdpa",
    "the values are read in the order of memory, as if they were contiguous",
    cause="layout",
    sources=("flagos-ai/FlagGems#5896", "pytorch/pytorch#187506"),
    witness=_transposed_view,
)
def value_strides_ignored(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    return sdpa(query, key, value.ravel(order="K").reshape(value.shape), **rest)


def _expanded_keys() -> Call:
    query, key, value = qkv(1, 2, 1, query=[[1]], key=[[1], [1]]).args
    return Call((query, np.broadcast_to(key[:1], key.shape), value))


@mutant(
    "sdpa",
    "an expanded key (stride 0) is read as if each row had its own memory",
    cause="layout",
    witness=_expanded_keys,
)
def expanded_key_read_past_its_memory(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    axes = range(key.ndim - 1)
    expanded = [axis for axis in axes if key.shape[axis] > 1 and key.strides[axis] == 0]
    if expanded:
        key = key.copy()
        for axis in expanded:
            np.moveaxis(key, axis, 0)[1:] = 0  # what lies behind the memory
    return sdpa(query, key, value, **rest)


def _every_other_value() -> Call:
    query, key, value = qkv(1, 4, 1, value=[[1], [2], [3], [4]]).args
    return Call((query, key[::2], value[::2]))


@mutant(
    "sdpa",
    "rows cut out of a larger array of values are taken as neighbours in memory",
    cause="layout",
    witness=_every_other_value,
)
def row_stride_ignored(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    base = value.base
    if not isinstance(base, np.ndarray) or not base.flags.c_contiguous or value.ndim < 2:
        return sdpa(query, key, value, **rest)
    start = (value.ctypes.data - base.ctypes.data) // value.itemsize
    if value.strides[-1] == value.itemsize and 0 <= start <= base.size - value.size:
        value = base.reshape(-1)[start : start + value.size].reshape(value.shape)
    return sdpa(query, key, value, **rest)


@mutant(
    "sdpa",
    "the query is scaled in place, in the caller's array",
    cause="inputs",
    witness=lambda: qkv(1),
)
def query_scaled_in_place(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    scale = rest.pop("scale", None)
    factor = query.shape[-1] ** -0.5 if scale is None and query.shape[-1] else scale or 0.0
    if query.flags.writeable:
        query *= factor
        return sdpa(query, key, value, scale=1.0, **rest)
    return sdpa(query, key, value, scale=factor, **rest)


@mutant(
    "sdpa",
    "masked values are overwritten with zeros in the caller's array",
    cause="inputs",
    witness=lambda: qkv(1, attn_mask=np.array([[True, False]])),
)
def masked_values_overwritten(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    m = rest.get("attn_mask")
    output = sdpa(query, key, value, **rest)
    if m is not None and m.dtype == bool and m.shape == lengths(query, key) and value.ndim == 2:
        unseen = ~m.any(axis=0)
        if value.flags.writeable:
            value[unseen] = 0
    return output


@mutant(
    "sdpa",
    "minus infinity is written into the caller's additive mask where the causal mask blocks",
    cause="inputs",
    witness=lambda: qkv(is_causal=True, attn_mask=np.zeros((2, 2))),
)
def causal_written_into_mask(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    m = rest.get("attn_mask")
    if m is None or m.dtype.kind != "f" or m.shape[-2:] != lengths(query, key):
        return sdpa(query, key, value, **rest)
    if rest.get("is_causal") and m.flags.writeable:
        m[..., ~below(lengths(query, key))] = -np.inf
    return sdpa(query, key, value, **rest)


@mutant(
    "sdpa",
    "with a single key the value array itself comes back as the result",
    cause="inputs",
    witness=lambda: qkv(1, 1),
)
def single_key_returns_value_itself(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    output = sdpa(query, key, value, **rest)
    plain = rest.get("attn_mask") is None and output.dtype == value.dtype
    return value if plain and key.shape[-2] == 1 and output.shape == value.shape else output


@mutant(
    "weights",
    "the weights come back averaged over the heads where each head's were asked for",
    cause="returned-weights",
    sources=("facebookresearch/fairseq#3365",),
    witness=lambda: qkv(1, 2, 1, heads=2, seed=3),
)
def weights_averaged_over_heads(
    query: Array, key: Array, value: Array, **rest: Any
) -> tuple[Array, Array]:
    done = attend(query, key, value, **rest)
    if done.weights.ndim < 3:
        return done.output, done.weights.astype(query.dtype)
    mean = done.weights.mean(axis=-3, keepdims=True)
    return done.output, np.repeat(mean, query.shape[-3], axis=-3).astype(query.dtype)


@mutant(
    "weights",
    "the batch is sorted by length for the computation, and the weights stay sorted",
    cause="returned-weights",
    sources=("huggingface/torchMoji#25",),
    witness=lambda: qkv(1, heads=1, batch=2, attn_mask=np.array([[[[1, 0]]], [[[1, 1]]]], bool)),
)
def weights_left_sorted_by_length(
    query: Array, key: Array, value: Array, **rest: Any
) -> tuple[Array, Array]:
    done = attend(query, key, value, **rest)
    weights = done.weights
    if weights.ndim == 4 and rest.get("attn_mask") is not None:
        seen = (weights > 0).any(axis=(1, 2)).sum(axis=-1)
        weights = weights[np.argsort(-seen, kind="stable")]
    return done.output, weights.astype(query.dtype)


@mutant(
    "weights",
    "the weights come back transposed when there are as many queries as keys",
    cause="returned-weights",
    witness=lambda: qkv(2, 2, 1, seed=1),
)
def square_weights_transposed(
    query: Array, key: Array, value: Array, **rest: Any
) -> tuple[Array, Array]:
    done = attend(query, key, value, **rest)
    L, S = lengths(query, key)
    weights = np.swapaxes(done.weights, -1, -2).copy() if L == S else done.weights
    return done.output, weights.astype(query.dtype)


@mutant(
    "weights",
    "the scores come back in place of the weights",
    cause="returned-weights",
    witness=lambda: qkv(1),
)
def scores_returned_as_weights(
    query: Array, key: Array, value: Array, **rest: Any
) -> tuple[Array, Array]:
    kept: list[Array] = []

    def watch(scores: Array) -> Array:
        kept.append(scores)
        return scores

    done = attend(query, key, value, transform=watch, **rest)
    return done.output, kept[0].astype(query.dtype)


@mutant(
    "weights",
    "the returned weights are those without the mask",
    cause="returned-weights",
    witness=lambda: qkv(1, is_causal=True),
)
def weights_returned_without_mask(
    query: Array, key: Array, value: Array, **rest: Any
) -> tuple[Array, Array]:
    done = attend(query, key, value, **rest)
    bare = attend(query, key, value, scale=rest.get("scale"))
    return done.output, bare.weights.astype(query.dtype)
