"""Mutants of the mask: which pairs may attend, and what becomes of those that may not."""

from __future__ import annotations

from typing import Any

import numpy as np

from attnproofs.mutants.correct import (
    INF,
    Array,
    attend,
    below,
    both,
    distances,
    is_additive,
    is_boolean,
    lengths,
    per_query_head,
    sdpa,
    softmax,
    split_mask,
    transposed,
    weighted_sum,
)
from attnproofs.mutants.registry import mask, mutant, qkv

# ---------------------------------------------------------------- reading the mask


@mutant(
    "sdpa",
    "a boolean mask is added to the scores as 1 and 0, so a masked key is only a factor e behind",
    cause="masked-weight",
    sources=("HKUSTDial/flash-sparse-attention#146",),
    witness=lambda: qkv(1, attn_mask=mask("10")),
)
def mask_added_as_number(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    m = rest.pop("attn_mask", None)
    return sdpa(query, key, value, attn_mask=m.astype(float) if is_boolean(m) else m, **rest)


@mutant(
    "sdpa",
    "True in a boolean mask is read as blocked instead of allowed",
    cause="masked-weight",
    sources=("pytorch/pytorch#170400",),
    witness=lambda: qkv(1, attn_mask=mask("10")),
)
def mask_polarity_flipped(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    m = rest.pop("attn_mask", None)
    return sdpa(query, key, value, attn_mask=~m if is_boolean(m) else m, **rest)


@mutant(
    "sdpa",
    "an additive mask is taken for keep flags and turned into (1 - m) * -1e9 in float32, "
    "which drowns the scores of the visible keys",
    cause="additive-mask",
    sources=("harvard-edge/cs249r_book#1785",),
    witness=lambda: qkv(1, attn_mask=np.zeros((1, 2))),
)
def additive_mask_as_keep_flag(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    m = rest.get("attn_mask")
    if not is_additive(m):
        return sdpa(query, key, value, **rest)
    penalty = (1.0 - np.asarray(m, dtype=np.float32)) * np.float32(-1e9)
    return attend(
        query, key, value, transform=lambda s: s.astype(np.float32) + penalty, **rest
    ).output


@mutant(
    "sdpa",
    "any entry of an additive mask other than zero blocks its pair",
    cause="additive-mask",
    sources=("mlverse/torch#1208",),
    witness=lambda: qkv(1, attn_mask=np.array([[0.0, 1.0]])),
)
def additive_mask_as_flag(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    m = rest.pop("attn_mask", None)
    return sdpa(query, key, value, attn_mask=m == 0 if is_additive(m) else m, **rest)


@mutant(
    "sdpa",
    "an additive mask is added before the scale, so it is multiplied by the scale too",
    cause="additive-mask",
    witness=lambda: qkv(1, E=4, attn_mask=np.array([[0.0, 1.0]])),
)
def additive_mask_scaled(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    m, scale = rest.pop("attn_mask", None), rest.get("scale")
    if is_additive(m):
        m = m * (query.shape[-1] ** -0.5 if scale is None else scale)
    return sdpa(query, key, value, attn_mask=m, **rest)


@mutant(
    "sdpa",
    "positive entries of an additive mask are cut to zero, as if a mask could only punish",
    cause="additive-mask",
    witness=lambda: qkv(1, attn_mask=np.array([[0.0, 1.0]])),
)
def additive_mask_cut_at_zero(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    m = rest.pop("attn_mask", None)
    return sdpa(query, key, value, attn_mask=np.minimum(m, 0) if is_additive(m) else m, **rest)


@mutant(
    "sdpa",
    "in half precision an additive mask is cast to float16, where -1e9 becomes minus infinity",
    cause="shift",
    sources=("ahrefs/ocannl#548",),
    witness=lambda: qkv(1, dtype="float16", attn_mask=np.full((1, 2), -1e9)),
)
def additive_mask_cast_to_half(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    m = rest.pop("attn_mask", None)
    if is_additive(m) and query.dtype == np.float16:
        m = m.astype(np.float16)
    return sdpa(query, key, value, attn_mask=m, **rest)


@mutant(
    "sdpa",
    "the mask multiplies the scores and afterwards every score equal to zero counts as masked",
    cause="masked-weight",
    sources=("duoan/TorchCode#17",),
    witness=lambda: qkv(1, query=[[0, 0]], attn_mask=mask("11")),
)
def zero_scores_count_as_masked(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    if rest.get("attn_mask") is None and not rest.get("is_causal"):
        return sdpa(query, key, value, **rest)
    return attend(query, key, value, transform=lambda s: np.where(s == 0, -INF, s), **rest).output


@mutant(
    "sdpa",
    "a square mask is applied with queries and keys exchanged",
    cause="mask-shape",
    witness=lambda: qkv(attn_mask=mask("10", "11")),
)
def square_mask_transposed(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    m = rest.pop("attn_mask", None)
    if m is not None and m.ndim >= 2 and m.shape[-1] == m.shape[-2]:
        m = transposed(m)
    return sdpa(query, key, value, attn_mask=m, **rest)


# ---------------------------------------------------------------- shapes of masks


@mutant(
    "sdpa",
    "a key padding mask is laid along the queries with a fill of -10000, so padded keys stay "
    "visible and padded rows turn uniform",
    cause="mask-shape",
    sources=("hyunwoongko/transformer#40",),
    witness=lambda: qkv(attn_mask=mask("10")),
)
def padding_mask_along_queries(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    m = rest.get("attn_mask")
    L, S = lengths(query, key)
    if m is None or not (is_boolean(m) and m.ndim >= 2 and m.shape[-2:] == (1, S) and L == S):
        return sdpa(query, key, value, **rest)
    rows = transposed(np.asarray(m))
    rest["attn_mask"] = None
    return attend(query, key, value, transform=lambda s: np.where(rows, s, -1e4), **rest).output


@mutant(
    "sdpa",
    "grouped scores have five axes and a (B, 1, L, S) mask four, so its batch axis falls on the "
    "key heads",
    cause="mask-shape",
    sources=("ml-explore/mlx-lm#1903",),
    witness=lambda: qkv(
        1, heads=4, key_heads=2, batch=2, attn_mask=np.array([[[[1, 0]]], [[[0, 1]]]], bool)
    ),
)
def batch_mask_on_key_heads(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    m = rest.pop("attn_mask", None)
    if query.ndim == 4 and m is not None and m.ndim == 4 and m.shape[1] == 1:
        batch, heads, key_heads = query.shape[0], query.shape[1], key.shape[1]
        if heads != key_heads and m.shape[0] == batch == key_heads:
            m = np.repeat(m[:, 0], heads // key_heads, axis=0)
    return sdpa(query, key, value, attn_mask=m, **rest)


@mutant(
    "sdpa",
    "the first axis of a mask with three axes is taken for the batch instead of the heads",
    cause="mask-shape",
    sources=("lucidrains/graph-transformer-pytorch#2", "lucidrains/vit-pytorch#71"),
    witness=lambda: qkv(1, heads=2, batch=2, attn_mask=np.array([[[1, 0]], [[0, 1]]], bool)),
)
def head_mask_on_batch(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    m = rest.pop("attn_mask", None)
    three = query.ndim == 4 and m is not None and m.ndim == 3
    if three and m.shape[0] == query.shape[0] == query.shape[1]:
        m = np.expand_dims(m, 1)
    return sdpa(query, key, value, attn_mask=m, **rest)


@mutant(
    "sdpa",
    "a mask that is shared by the heads but not by the samples is read without its batch offset",
    cause="mask-shape",
    sources=("pytorch/pytorch#184180",),
    witness=lambda: qkv(1, heads=1, batch=2, attn_mask=np.array([[[[1, 0]]], [[[0, 1]]]], bool)),
)
def first_sample_mask_for_all(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    m = rest.pop("attn_mask", None)
    if m is not None and m.ndim == 4 and m.shape[1] == 1:
        m = m[:1]
    return sdpa(query, key, value, attn_mask=m, **rest)


@mutant(
    "sdpa",
    "a mask given for each head is read for head 0 alone",
    cause="mask-shape",
    witness=lambda: qkv(1, heads=2, attn_mask=np.array([[[1, 0]], [[0, 1]]], bool)),
)
def first_head_mask_for_all(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    m = rest.pop("attn_mask", None)
    if m is not None and m.ndim >= 3:
        m = m[..., :1, :, :]
    return sdpa(query, key, value, attn_mask=m, **rest)


def _segments(m: Array | None) -> Array | None:
    """Segment of each token when `m` is a square block-diagonal boolean mask without batch axes."""
    if not is_boolean(m) or m is None or m.ndim < 2 or m.shape[-1] != m.shape[-2]:
        return None
    if m.size != m.shape[-1] ** 2 or m.shape[-1] < 2:
        return None
    square = m.reshape(m.shape[-2:])
    label: Array = np.concatenate([[0], np.cumsum(~square.diagonal(-1))])
    return label if np.array_equal(square, label[:, None] == label[None, :]) else None


@mutant(
    "sdpa",
    "of the borders of packed documents only the first is used, so later documents see each other",
    cause="masked-weight",
    sources=("Tencent-Hunyuan/HunyuanVideo#310",),
    witness=lambda: qkv(3, 3, attn_mask=np.eye(3, dtype=bool)),
)
def only_first_document_border(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    m = rest.pop("attn_mask", None)
    label = _segments(m)
    if label is not None:
        label = np.minimum(label, 1)
        m = label[:, None] == label[None, :]
    return sdpa(query, key, value, attn_mask=m, **rest)


@mutant(
    "sdpa",
    "a boolean mask is honoured block by block only: a 2 by 2 block with one allowed pair is "
    "open altogether",
    cause="masked-weight",
    sources=("kuleshov-group/bd3lms#23",),
    witness=lambda: qkv(attn_mask=mask("10", "11")),
)
def mask_in_coarse_blocks(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    m = rest.pop("attn_mask", None)
    shape = lengths(query, key)
    if is_boolean(m) and m.ndim >= 2 and m.shape[-2:] == shape and m.size:
        for axis in (-2, -1):
            starts = np.arange(0, m.shape[axis], 2)
            opened = np.logical_or.reduceat(m, starts, axis=axis)
            m = np.take(opened, np.arange(m.shape[axis]) // 2, axis=axis)
    return sdpa(query, key, value, attn_mask=m, **rest)


@mutant(
    "sdpa",
    "a boolean mask whose last row is all True is taken for no mask at all",
    cause="masked-weight",
    witness=lambda: qkv(attn_mask=mask("10", "11")),
)
def mask_judged_by_last_row(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    m = rest.pop("attn_mask", None)
    if is_boolean(m) and m.ndim >= 2 and m.size and m[..., -1, :].all():
        m = None
    return sdpa(query, key, value, attn_mask=m, **rest)


def _band(m: Array | None) -> tuple[int, int] | None:
    """(left, right) when `m` is a square band mask without batch axes."""
    if not is_boolean(m) or m is None or m.ndim != 2 or m.shape[0] != m.shape[1] or not m.any():
        return None
    distance = distances((m.shape[0], m.shape[1]))
    left, right = int(distance[m].max()), int(-distance[m].min())
    inside = (distance <= left) & (-distance <= right)
    return (left, right) if np.array_equal(m, inside) else None


@mutant(
    "sdpa",
    "a band mask is handed to a windowed kernel that takes the left edge as exclusive",
    cause="masked-weight",
    sources=("huggingface/transformers#29623", "huggingface/transformers#40163"),
    witness=lambda: qkv(attn_mask=mask("10", "11")),
)
def band_mask_one_short(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    m = rest.pop("attn_mask", None)
    band = _band(m)
    if band is not None and band[0] > 0:
        m = m & (distances(lengths(query, key)) < band[0])
    return sdpa(query, key, value, attn_mask=m, **rest)


# ---------------------------------------------------------------- the causal mask


@mutant(
    "sdpa",
    "the causal flag is dropped when an explicit mask is passed as well",
    cause="mask-and-causal",
    sources=("keras-team/keras#23040",),
    witness=lambda: qkv(attn_mask=mask("11", "11"), is_causal=True),
)
def causal_dropped_with_mask(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    rest["is_causal"] = rest.get("is_causal", False) and rest.get("attn_mask") is None
    return sdpa(query, key, value, **rest)


@mutant(
    "sdpa",
    "the explicit mask is dropped when the causal flag is set as well",
    cause="mask-and-causal",
    witness=lambda: qkv(attn_mask=mask("10", "10"), is_causal=True),
)
def mask_dropped_with_causal(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    if rest.get("is_causal"):
        rest["attn_mask"] = None
    return sdpa(query, key, value, **rest)


def _causal_by(query: Array, key: Array, value: Array, allowed: Array, rest: Any) -> Array:
    """Attention in which `allowed` stands where the causal mask should."""
    if rest.pop("is_causal", False):
        rest["attn_mask"] = both(rest.get("attn_mask"), allowed)
    return sdpa(query, key, value, **rest)


@mutant(
    "sdpa",
    "the causal mask hangs from the bottom right corner",
    cause="causal-alignment",
    sources=("ml-explore/mlx#2835", "pytorch/pytorch#108108"),
    witness=lambda: qkv(1, is_causal=True),
)
def causal_bottom_right(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    L, S = lengths(query, key)
    return _causal_by(query, key, value, below((L, S), S - L), rest)


@mutant(
    "sdpa",
    "with more queries than keys the causal mask leaves the first L - S rows empty",
    cause="causal-alignment",
    sources=("Dao-AILab/flash-attention#1778",),
    witness=lambda: qkv(2, 1, is_causal=True),
)
def causal_empty_when_queries_exceed_keys(
    query: Array, key: Array, value: Array, **rest: Any
) -> Array:
    L, S = lengths(query, key)
    return _causal_by(query, key, value, below((L, S), min(S - L, 0)), rest)


@mutant(
    "sdpa",
    "the causal limit is computed once for four query rows, so three of them see the future",
    cause="causal",
    sources=("pytorch/pytorch#195910",),
    witness=lambda: qkv(is_causal=True),
)
def causal_limit_per_four_rows(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    i, j = np.indices(lengths(query, key))
    return _causal_by(query, key, value, j < i // 4 * 4 + 4, rest)


@mutant(
    "sdpa",
    "a call with one query skips the causal mask",
    cause="causal",
    sources=("microsoft/onnxruntime#29050",),
    witness=lambda: qkv(1, is_causal=True),
)
def causal_skipped_for_one_query(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    if query.shape[-2] == 1:
        rest["is_causal"] = False
    return sdpa(query, key, value, **rest)


@mutant(
    "sdpa",
    "the causal rule compares with the key's index inside its tile of four",
    cause="causal",
    sources=("tracel-ai/cubecl#1027",),
    witness=lambda: qkv(2, 5, is_causal=True),
)
def causal_by_index_in_tile(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    i, j = np.indices(lengths(query, key))
    return _causal_by(query, key, value, j % 4 <= i, rest)


@mutant(
    "sdpa",
    "the causal mask excludes the diagonal, so a token cannot see itself",
    cause="causal",
    witness=lambda: qkv(is_causal=True),
)
def causal_without_diagonal(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    return _causal_by(query, key, value, below(lengths(query, key), -1), rest)


@mutant(
    "sdpa",
    "the causal mask is one diagonal too generous, so each token sees the next",
    cause="causal",
    witness=lambda: qkv(is_causal=True),
)
def causal_sees_next_token(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    return _causal_by(query, key, value, below(lengths(query, key), 1), rest)


@mutant(
    "sdpa",
    "the causal mask is upper triangular: each token sees itself and the future",
    cause="causal",
    witness=lambda: qkv(is_causal=True),
)
def causal_reversed(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    i, j = np.indices(lengths(query, key))
    return _causal_by(query, key, value, j >= i, rest)


@mutant(
    "sdpa",
    "with grouped heads the rows of a group are stacked, and the causal rule uses the stacked row",
    cause="causal",
    witness=lambda: qkv(2, 2, heads=2, key_heads=1, is_causal=True),
)
def causal_by_stacked_row(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    L, S = lengths(query, key)
    if query.ndim < 3:
        return sdpa(query, key, value, **rest)
    group = query.shape[-3] // max(1, key.shape[-3])
    within = np.arange(query.shape[-3]) % max(1, group)
    row = within[:, None, None] * L + np.arange(L)[:, None]
    return _causal_by(query, key, value, np.arange(S) <= row, rest)


@mutant(
    "sdpa",
    "in half precision the causal mask is made as 0 and 1 times a constant that overflows, and "
    "0 * -inf is NaN",
    cause="causal",
    sources=("ml-explore/mlx#1725",),
    witness=lambda: qkv(dtype="float16", is_causal=True),
)
def causal_mask_overflows_in_half(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    if not (rest.get("is_causal") and query.dtype == np.float16):
        return sdpa(query, key, value, **rest)
    rest["is_causal"] = False
    future = ~below(lengths(query, key))
    plane = future.astype(np.float16) * np.float16(-INF)
    return attend(query, key, value, transform=lambda s: s + plane, **rest).output


# ---------------------------------------------------------------- what a masked pair becomes


def _unguarded(scores: Array) -> Array:
    """Softmax that divides 0 by 0 in an empty row."""
    grown = np.exp(scores - scores.max(axis=-1, keepdims=True, initial=-INF))
    result: Array = grown / grown.sum(axis=-1, keepdims=True)
    return result


def _zero_if_empty(query: Array, key: Array, output: Array, rest: Any) -> Array:
    """`output` with zeros in the rows that have no allowed key."""
    shape = lengths(query, key)
    kept, _ = split_mask(rest.get("attn_mask"), shape, rest.get("is_causal", False))
    filled: Array = np.any(kept, axis=-1, keepdims=True)
    return np.where(filled, output, 0).astype(output.dtype)


@mutant(
    "sdpa",
    "masked scores become -100000, which real scores can undercut",
    cause="masked-weight",
    sources=("TransformerLensOrg/TransformerLens#318", "ohdearquant/lattice#373"),
    witness=lambda: qkv(
        1, 2, 1, query=[[1e3]], key=[[-1e3], [0]], value=[[0], [1]], attn_mask=mask("10")
    ),
)
def masked_scores_finite(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    done = attend(query, key, value, fill=-1e5, guarded=False, **rest)
    return _zero_if_empty(query, key, done.output, rest)


@mutant(
    "sdpa",
    "masked scores become the lowest float32, so an empty row is the average of all values",
    cause="empty-row",
    sources=("pytorch/pytorch#109517",),
    witness=lambda: qkv(1, attn_mask=mask("00")),
)
def empty_row_averages(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    lowest = float(np.finfo(np.float32).min)
    return attend(query, key, value, fill=lowest, guarded=False, **rest).output


@mutant(
    "sdpa",
    "a boolean mask is softened to a bias of -10 to dodge NaN",
    cause="masked-weight",
    sources=("lucidrains/nGPT-pytorch#11",),
    witness=lambda: qkv(1, query=[[0, 0]], attn_mask=mask("10")),
)
def mask_softened_to_bias(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    m = rest.pop("attn_mask", None)
    return sdpa(
        query, key, value, attn_mask=np.where(m, 0.0, -10.0) if is_boolean(m) else m, **rest
    )


@mutant(
    "sdpa",
    "masked scores become plus infinity instead of minus infinity",
    cause="masked-weight",
    sources=("lucidrains/memory-compressed-attention#2",),
    witness=lambda: qkv(1, attn_mask=mask("10")),
)
def masked_scores_plus_infinity(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    return attend(query, key, value, fill=INF, normalise=_unguarded, **rest).output


@mutant(
    "sdpa",
    "a row without any allowed key divides 0 by 0",
    cause="empty-row",
    sources=("pytorch/pytorch#103749", "pytorch/pytorch#103963"),
    witness=lambda: qkv(1, attn_mask=mask("00")),
)
def empty_row_nan(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    return attend(query, key, value, normalise=_unguarded, guarded=False, **rest).output


@mutant(
    "sdpa",
    "one empty row makes every row of its head zero",
    cause="empty-row",
    witness=lambda: qkv(attn_mask=mask("00", "11")),
)
def empty_row_empties_head(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    def normalise(scores: Array) -> Array:
        filled: Array = np.any(np.isfinite(scores), axis=-1, keepdims=True)
        full: Array = np.all(filled, axis=-2, keepdims=True)
        return softmax(scores) * full

    return attend(query, key, value, normalise=normalise, **rest).output


@mutant(
    "sdpa",
    "masked values meet the weight 0 in a matrix product, and 0 * NaN is NaN",
    cause="masked-value",
    sources=("pytorch/pytorch#101967",),
    witness=lambda: qkv(1, value=[[1, 2], [np.nan, 3]], attn_mask=mask("10")),
)
def masked_value_leaks_nan(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    return attend(query, key, value, guarded=False, **rest).output


@mutant(
    "sdpa",
    "the mask is added as 0 and minus infinity, so a NaN score of a masked key stays NaN",
    cause="masked-value",
    witness=lambda: qkv(1, key=[[1, 2], [np.nan, 3]], attn_mask=mask("10")),
)
def masked_key_leaks_nan(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    m = rest.pop("attn_mask", None)
    kept, added = split_mask(m, lengths(query, key), rest.pop("is_causal", False))
    plane = np.where(kept, added, -INF)
    return attend(query, key, value, transform=lambda s: s + plane, **rest).output


@mutant(
    "weights",
    "the mask multiplies the weights after the softmax and nothing is renormalised",
    cause="row-sum",
    sources=("huggingface/pytorch-image-models#2236", "ruotianluo/self-critical.pytorch#89"),
    witness=lambda: qkv(1, attn_mask=mask("10")),
)
def mask_after_softmax(query: Array, key: Array, value: Array, **rest: Any) -> tuple[Array, Array]:
    m, is_causal = rest.pop("attn_mask", None), rest.pop("is_causal", False)
    kept, added = split_mask(m, lengths(query, key), is_causal)
    used = attend(query, key, value, transform=lambda s: s + added, **rest).weights * kept
    output = weighted_sum(used, per_query_head(value, query), kept)
    return output.astype(query.dtype), used.astype(query.dtype)


@mutant(
    "sdpa",
    "keys whose weight is below one in a thousand are dropped without renormalising",
    cause="row-sum",
    witness=lambda: qkv(1, query=[[8, 0]], key=[[1, 0], [-1, 0]]),
)
def small_weights_dropped(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    return attend(query, key, value, reweigh=lambda w: np.where(w < 1e-3, 0.0, w), **rest).output


@mutant(
    "sdpa",
    "only the eight highest scores of a row are kept",
    cause="all-keys",
    witness=lambda: qkv(1, 9),
)
def only_top_eight_keys(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    def normalise(scores: Array) -> Array:
        if scores.shape[-1] > 8:
            limit = np.sort(scores, axis=-1)[..., -8:-7]
            scores = np.where(scores >= limit, scores, -INF)
        return softmax(scores)

    return attend(query, key, value, normalise=normalise, **rest).output
