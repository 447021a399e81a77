"""Properties of the variants of sdpa: softcap, sinks, alibi, window, varlen, dropout.

A target claims a variant by its keyword (``alibi`` by declaration, as it needs none). Each list is
complete enough to stand alone, for functions that cannot be called without their variant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise, product
from typing import Any

import numpy as np

from attnproofs.contract.case import Case, Violation
from attnproofs.contract.properties import sdpa
from attnproofs.contract.properties.accuracy import DRAWS, random_arrays, within
from attnproofs.contract.properties.sdpa import agrees, levels, no_empty_row, patterns
from attnproofs.contract.property import (
    EVERYTHING,
    Make,
    Probe,
    Register,
    TargetFailed,
    compare,
    declare,
)
from attnproofs.contract.semantics import Expected, attention, unit_of
from attnproofs.contract.wire import Array, dtype_named


def _three(make: Make, array: Array) -> Array:
    """The array with a heads axis (sinks and ALiBi need one)."""
    return array[(None,) * max(0, max(3, make.rank) - array.ndim)]


def _case(make: Make, query: Array, key: Array, value: Array, **keywords: Any) -> Case:
    return sdpa.case(make, _three(make, query), _three(make, key), _three(make, value), **keywords)


def _spot(make: Make, queries: int, keys: int, **keywords: Any) -> Case:
    """Equal scores and the identity as values."""
    return _case(make, np.ones((queries, 1)), np.ones((keys, 1)), np.eye(keys), **keywords)


def _of(variant: str, needs: str = "") -> Callable[..., Register]:
    """`declare` for one variant and its keywords."""

    def declared(*words: Any, also: str = "", **options: Any) -> Register:
        return declare("sdpa", *words, variant=variant, needs=f"{needs} {also}", **options)

    return declared


# ------------------------------------------------------------------ softcap
_softcap = _of("softcap", needs="softcap")


@_softcap(
    "softmax_sum",
    "With a soft cap and a single key the output is that key's value.",
    agrees,
    about="softcap",
)
def softcap_single_key(make: Make) -> Iterator[Case]:
    for cap, queries in product((1.0, 30.0), (1, 2)):
        yield _case(make, np.ones((queries, 1)), np.ones((1, 1)), np.ones((1, 1)), softcap=cap)


@_softcap(
    "path_length",
    "Under a soft cap every key counts once, however many there are.",
    agrees,
    about="softcap",
)
def softcap_every_key_counts(make: Make) -> Iterator[Case]:
    for keys in make.borders():
        yield _spot(make, 1, keys, softcap=1.0)


@_softcap(
    "softmax_ratio",
    "Scores become c tanh(s / c), after the scale.",
    agrees,
    about="softcap scale scores",
)
def softcap_formula(make: Make) -> Iterator[Case]:
    if make.profile.softcap_formula != "tanh":
        return
    for cap, gap, features in product((1.0, 2.0, 0.5), (1.0, 4.0, -4.0), (1, 4)):
        query, key = np.zeros((1, features)), np.zeros((2, features))
        query[0, 0], key[1, 0] = 1.0, gap
        yield _case(make, query, key, np.eye(2), softcap=cap)
    for level in levels(make):
        yield _case(make, np.ones((1, 1)), np.array([[0.0], [level]]), np.eye(2), softcap=2.0)


@_softcap(
    "mask_exact_zero",
    "The soft cap acts before the mask: masked keys have weight zero.",
    agrees,
    about="softcap mask",
    also="attn_mask",
    domain=no_empty_row,
)
def softcap_before_mask(make: Make) -> Iterator[Case]:
    if make.profile.bool_mask not in ("attend", "masked") or make.profile.softcap != "before-mask":
        return
    for (queries, keys), cap in product(((1, 2), (2, 2), (1, 3)), (1.0, 30.0)):
        for keep in patterns(make, queries, keys):
            yield _spot(make, queries, keys, attn_mask=make.mask(keep), softcap=cap)
            if make.profile.additive_mask == "yes":
                yield _spot(make, queries, keys, attn_mask=make.additive(keep), softcap=cap)


@_softcap(
    "causal_no_future",
    "With a soft cap the causal mask still hides every later key.",
    agrees,
    about="softcap causal",
    also="is_causal",
)
def softcap_causal(make: Make) -> Iterator[Case]:
    if make.profile.causal_alignment == "none" or make.profile.softcap != "before-mask":
        return
    for n in (1, 2, 3, 5, 9, 17):
        yield _spot(make, n, n, is_causal=True, softcap=1.0)


@_softcap(
    "empty_row",
    "With a soft cap a fully masked row still gives zeros.",
    agrees,
    about="softcap mask empty",
    also="attn_mask",
)
def softcap_empty_row(make: Make) -> Iterator[Case]:
    if make.profile.bool_mask not in ("attend", "masked") or make.profile.empty_row_bool != "zeros":
        return
    for rows in ([[0]], [[0, 0], [1, 1]]):
        keep = np.array(rows, bool)
        yield _case(
            make,
            np.ones((len(rows), 1)),
            np.ones((keep.shape[1], 1)),
            np.ones((keep.shape[1], 1)),
            attn_mask=make.mask(keep),
            softcap=1.0,
        )


def _drawn(make: Make, **keywords: Any) -> Iterator[Case]:
    """Random arrays for an accuracy property of a variant."""
    for number in range(make.examples):
        draw = DRAWS[number % len(DRAWS)]
        queries, keys = make.size(1, 3), make.pick(*make.borders(33))
        query, key, value = random_arrays(make, draw, queries, keys, (make.pick(1, 4), 2))
        yield _case(make, query, key, value, **keywords)


@_softcap(
    "attention_error",
    "With a soft cap the output is as close as its arithmetic guarantees.",
    within("output", 0),
    about=EVERYTHING,
    accuracy=True,
)
def softcap_accuracy(make: Make) -> Iterator[Case]:
    if make.profile.softcap_formula == "tanh":
        yield from _drawn(make, softcap=20.0)


# ------------------------------------------------------------------ sinks
_sinks = _of("sinks", needs="sinks")


@_sinks(
    "softmax_sum",
    "A sink is one more term of the denominator, without a value.",
    agrees,
    about="sinks",
)
def sink_takes_its_share(make: Make) -> Iterator[Case]:
    for sink, keys in product((0.0, 1.0, -1.0, 2.0), (1, 2, 3)):
        yield _case(
            make, np.zeros((1, 1)), np.ones((keys, 1)), np.eye(keys), sinks=np.array([sink])
        )


@_sinks("merge_monoid", "The sink enters once, however long the row is.", agrees, about="sinks")
def sink_counts_once(make: Make) -> Iterator[Case]:
    for keys in make.borders():
        yield _case(
            make,
            np.zeros((1, 1)),
            np.ones((keys, 1)),
            np.ones((keys, 1)),
            sinks=np.array([np.round(np.log(keys) + 1)]),
        )


@_sinks("head_blocks", "Each query head has its own sink.", agrees, about="sinks heads")
def sink_of_each_head(make: Make) -> Iterator[Case]:
    for heads, batch in ((2, 1), (3, 1), (2, 2), (4, 2)):
        lead = (batch, heads) if batch > 1 or make.rank == 4 else (heads,)
        yield sdpa.case(
            make,
            np.zeros((*lead, 1, 1)),
            np.ones((*lead, 1, 1)),
            np.ones((*lead, 1, 1)),
            sinks=np.arange(float(heads)),
        )


@_sinks(
    "softmax_shift",
    "The shift covers the sink too: nothing overflows at any level.",
    agrees,
    about="sinks level",
)
def sink_at_any_level(make: Make) -> Iterator[Case]:
    for level in levels(make):
        key = np.full((2, 1), level)
        yield _case(make, np.ones((1, 1)), key, np.ones((2, 1)), sinks=np.array([level]))
        yield _case(make, np.ones((1, 1)), key, np.ones((2, 1)), sinks=np.array([0.0]))


@_sinks(
    "mask_exact_zero",
    "With a sink masked keys still have weight zero.",
    agrees,
    about="sinks mask",
    also="attn_mask",
    domain=no_empty_row,
)
def sink_with_mask(make: Make) -> Iterator[Case]:
    if make.profile.bool_mask not in ("attend", "masked"):
        return
    for queries, keys in ((1, 2), (2, 2)):
        for keep in patterns(make, queries, keys):
            yield _spot(make, queries, keys, attn_mask=make.mask(keep), sinks=np.array([1.0]))


@_sinks(
    "causal_no_future",
    "With a sink the causal mask still hides every later key.",
    agrees,
    about="sinks causal",
    also="is_causal",
)
def sink_causal(make: Make) -> Iterator[Case]:
    if make.profile.causal_alignment == "none":
        return
    for n in (1, 2, 3, 5, 9):
        yield _spot(make, n, n, is_causal=True, sinks=np.array([1.0]))


@_sinks(
    "empty_row",
    "With a sink a fully masked row gives zeros: the sink takes all.",
    agrees,
    about="sinks mask empty",
    also="attn_mask",
)
def sink_empty_row(make: Make) -> Iterator[Case]:
    if make.profile.bool_mask not in ("attend", "masked"):
        return
    for rows in ([[0]], [[0, 0], [1, 1]]):
        keep = np.array(rows, bool)
        yield _spot(make, *keep.shape, attn_mask=make.mask(keep), sinks=np.array([0.0]))


@_sinks(
    "attention_error",
    "With a sink the output is as close as its arithmetic guarantees.",
    within("output", 0),
    about=EVERYTHING,
    accuracy=True,
)
def sink_accuracy(make: Make) -> Iterator[Case]:
    yield from _drawn(make, sinks=np.array([0.5]))


# ------------------------------------------------------------------ alibi
_alibi = _of("alibi")


def _alibi_case(
    make: Make, heads: int, queries: int, keys: int, *, is_causal: bool, group: int = 1
) -> Case:
    first = (1,) if make.rank == 4 else ()
    lead, key_lead = (*first, heads), (*first, heads // group)
    args = sdpa.case(
        make,
        np.ones((*lead, queries, 1)),
        np.ones((*key_lead, keys, 1)),
        np.broadcast_to(np.eye(keys), (*key_lead, keys, keys)),
    ).args
    # always said: the default of is_causal is the function's own
    return Case({**args, "is_causal": is_causal} if "is_causal" in make.claims else args)


@_alibi(
    "alibi_shift",
    "The bias is -slope (i - j): nearer keys weigh more, slope 2^(-8 (h+1)/H).",
    agrees,
    about="alibi",
)
def alibi_prefers_near_keys(make: Make) -> Iterator[Case]:
    for heads, n in ((1, 2), (1, 1), (1, 3), (2, 2), (2, 3), (4, 3), (8, 5), (3, 4)):
        yield _alibi_case(make, heads, n, n, is_causal=True)


@_alibi(
    "causal_no_future",
    "With ALiBi the causal mask still hides every later key.",
    agrees,
    about="alibi causal",
)
def alibi_causal(make: Make) -> Iterator[Case]:
    for n in make.borders(33):
        yield _alibi_case(make, 8, n, n, is_causal=True)


@_alibi(
    "alibi_shift",
    "With grouped heads the slope is that of the query head.",
    agrees,
    about="alibi heads groups",
    also="groups",
)
def alibi_of_each_head(make: Make) -> Iterator[Case]:
    for heads, group, n in ((2, 2, 2), (4, 2, 2), (4, 4, 3), (6, 3, 5)):
        yield _alibi_case(make, heads, n, n, is_causal=True, group=group)


@_alibi(
    "alibi_shift",
    "Without the causal mask the bias of later keys is positive.",
    agrees,
    about="alibi full",
    also="is_causal",
)
def alibi_without_causal(make: Make) -> Iterator[Case]:
    for heads, n in ((1, 1), (8, 2), (8, 3), (4, 4)):
        yield _alibi_case(make, heads, n, n, is_causal=False)


@_alibi(
    "score_bilinear", "The bias is added to the scaled scores.", agrees, about="alibi scale scores"
)
def alibi_with_scores(make: Make) -> Iterator[Case]:
    for _ in range(make.examples // 2):
        heads, n, e = make.size(1, 4), make.size(1, 4), make.size(1, 4)
        lead = (1, heads) if make.rank == 4 else (heads,)
        args = sdpa.case(
            make, make.lattice(*lead, n, e), make.lattice(*lead, n, e), make.lattice(*lead, n, 2)
        ).args
        yield Case({**args, "is_causal": True} if "is_causal" in make.claims else args)


# ------------------------------------------------------------------ window
_window = _of("window")


def _sides(make: Make, left: int, right: int) -> dict[str, Any]:
    """The window as the target takes it."""
    if "window" in make.claims:
        return {"window": (left, right)}
    return {"left": left, "right": right}


def _windows(make: Make) -> bool:
    return make.profile.window in ("inclusive", "exclusive")


@_window(
    "window_band",
    "A window of (0, 0) sees the query's own key only: the output is V.",
    agrees,
    about="window",
)
def window_of_one(make: Make) -> Iterator[Case]:
    if make.profile.window == "inclusive":
        for n in (1, 2, 3, 5, 9):
            yield sdpa.spotlight(make, n, n, **_sides(make, 0, 0))


@_window(
    "window_band",
    "Query i sees keys i - left to i + right, both ends included, and no other.",
    agrees,
    about="window",
)
def window_edges(make: Make) -> Iterator[Case]:
    if not _windows(make):
        return
    low = 0 if make.profile.window == "inclusive" else 1
    for n, left, right in product((2, 3, 4, 6), (0, 1, 2, 3), (0, 1, 2)):
        if min(left, right) >= low:
            yield sdpa.spotlight(make, n, n, **_sides(make, left, right))
    for n in make.borders(65):
        if n > 6:
            yield sdpa.spotlight(make, n, n, **_sides(make, n // 3, 1))


@_window(
    "mask_and",
    "Window and causal mask together: both apply.",
    agrees,
    about="window causal",
    also="is_causal",
)
def window_and_causal(make: Make) -> Iterator[Case]:
    if not _windows(make) or make.profile.causal_alignment == "none":
        return
    for n, left, right in product((2, 3, 5), (1, 2), (1, 2)):
        yield sdpa.spotlight(make, n, n, is_causal=True, **_sides(make, left, right))


@_window(
    "mask_and",
    "Window and explicit mask together: both apply.",
    agrees,
    about="window mask",
    also="attn_mask",
)
def window_and_mask(make: Make) -> Iterator[Case]:
    if not _windows(make) or make.profile.bool_mask not in ("attend", "masked"):
        return
    for n in (2, 3, 4):
        keep = sdpa.some_pattern(make, n, n) | np.eye(n, dtype=bool)
        for left, right in ((1, 1), (1, 0), (2, 1)):
            if min(left, right) > 0 or make.profile.window == "inclusive":
                sides = _sides(make, left, right)
                yield sdpa.spotlight(make, n, n, attn_mask=make.mask(keep), **sides)


@_window(
    "window_band",
    "For L ≠ S the window hangs from the corner that the profile names.",
    agrees,
    about="window rectangular",
)
def window_alignment(make: Make) -> Iterator[Case]:
    if not _windows(make) or make.profile.window_alignment not in ("top-left", "bottom-right"):
        return
    for queries, keys in ((1, 2), (2, 3), (3, 5), (2, 5)):
        yield sdpa.spotlight(make, queries, keys, **_sides(make, 1, 1))


@_window(
    "attention_error",
    "With a window the output is as close as its arithmetic guarantees.",
    within("output", 0),
    about=EVERYTHING,
    accuracy=True,
)
def window_accuracy(make: Make) -> Iterator[Case]:
    if make.profile.window != "inclusive":
        return
    for _ in range(make.examples):
        n = make.size(1, 12)
        arrays = random_arrays(make, make.pick(*DRAWS), n, n, (3, 2))
        yield sdpa.case(make, *arrays, **_sides(make, make.size(0, 3), make.size(0, 3)))


# ------------------------------------------------------------------ varlen
_varlen = _of("varlen", needs="cu_seqlens")


def packed(probe: Probe, args: dict[str, Any]) -> Expected:
    """Expected result of packed sequences: each segment attends within itself."""
    query, key, value = (np.asarray(args[n]) for n in ("query", "key", "value"))
    borders = [int(b) for b in args["cu_seqlens"]]
    output = np.zeros((*query.shape[:2], value.shape[-1]))
    allowance, judged = np.zeros(output.shape), np.ones(output.shape, bool)
    for a, b in pairwise(borders):
        rows = {
            name: np.swapaxes(array[a:b], 0, 1)
            for name, array in (("query", query), ("key", key), ("value", value))
        }
        rows = {**rows, "is_causal": args.get("is_causal", False)}
        part = attention(rows, probe.profile, unit_of(probe.dtype))
        output[a:b] = np.swapaxes(part.output, 0, 1)
        allowance[a:b] = np.swapaxes(part.allowance, 0, 1)
        judged[a:b] = np.swapaxes(part.judged, 0, 1)
    blank = np.zeros(0)
    return Expected(output, allowance, judged, blank, blank, blank, blank, blank, blank)


def packs(probe: Probe, one: Case) -> Violation | None:
    """The output is that of each segment by itself."""
    wanted = packed(probe, one.args)
    return compare(probe.outputs(one)[0], wanted.output, wanted.allowance, wanted.judged)


def _packed(
    make: Make, lengths: Iterable[int], heads: tuple[int, int] = (1, 1), **more: Any
) -> Case:
    """Equal scores; values that name their token and head."""
    borders = np.concatenate([[0], np.cumsum(list(lengths))]).astype(np.int64)
    total, (hq, hkv) = int(borders[-1]), heads
    dtype = dtype_named(make.dtype)
    value = np.eye(total)[:, None, :] + np.arange(hkv)[None, :, None]
    args: dict[str, Any] = {
        "query": np.ones((total, hq, 1), dtype),
        "key": np.ones((total, hkv, 1), dtype),
        "value": value.astype(dtype),
        "cu_seqlens": borders,
    }
    if more.pop("is_causal", False):
        args["is_causal"] = True
    return Case({**args, **more})


@_varlen("single_head_formula", "One segment is the plain call.", packs, about="varlen")
def varlen_one_segment(make: Make) -> Iterator[Case]:
    for n in (1, 2, 3, 5, 9):
        yield _packed(make, [n])


@_varlen("mask_exact_zero", "Segments do not see each other.", packs, about="varlen")
def varlen_segments_apart(make: Make) -> Iterator[Case]:
    for lengths in (
        (1, 1),
        (1, 2),
        (2, 1),
        (1, 1, 1),
        (2, 2, 2),
        (3, 1, 2),
        (1, 4, 2, 3),
        (9, 8, 16),
    ):
        yield _packed(make, lengths)


@_varlen(
    "causal_no_future",
    "Causal inside each segment: the first token sees itself only.",
    packs,
    about="varlen causal",
    also="is_causal",
)
def varlen_causal(make: Make) -> Iterator[Case]:
    for lengths in ((2,), (1,), (3,), (1, 2), (2, 2), (3, 1, 2), (9, 8)):
        yield _packed(make, lengths, is_causal=True)


@_varlen("empty_row", "Segments of length zero change nothing.", packs, about="varlen lengths")
def varlen_empty_segments(make: Make) -> Iterator[Case]:
    for lengths in ((0, 1), (1, 0), (1, 0, 2), (0, 0, 1)):
        yield _packed(make, lengths)


@_varlen(
    "gqa_tied", "Heads and groups of packed sequences keep apart.", packs, about="varlen heads"
)
def varlen_heads(make: Make) -> Iterator[Case]:
    for lengths, hq, hkv in (((1, 2), 2, 2), ((2, 1), 3, 3), ((2, 2), 2, 2)):
        yield _packed(make, lengths, (hq, hkv))


def packs_if_taken(probe: Probe, one: Case) -> Violation | None:
    """Like `packs`; a function that refuses grouped heads does not claim them."""
    try:
        return packs(probe, one)
    except TargetFailed as failure:
        if failure.violation.kind == "raised":
            raise TargetFailed(failure.violation, refused=True) from None
        raise


@_varlen(
    "gqa_tied",
    "Packed sequences with grouped heads read consecutive groups.",
    packs_if_taken,
    about="varlen heads groups",
)
def varlen_grouped_heads(make: Make) -> Iterator[Case]:
    for lengths, hq, hkv in (((1,), 4, 2), ((1, 2), 4, 2), ((2, 1), 6, 3), ((2,), 2, 1)):
        yield _packed(make, lengths, (hq, hkv))


@_varlen(
    "score_entry",
    "Scores inside a segment are those of its own queries and keys.",
    packs,
    about="varlen scale scores",
)
def varlen_scores(make: Make) -> Iterator[Case]:
    for _ in range(make.examples // 2):
        lengths = [make.size(1, 4) for _ in range(make.size(1, 3))]
        one = _packed(make, lengths)
        dtype, total, e = dtype_named(make.dtype), sum(lengths), make.size(1, 4)
        arrays = {n: make.lattice(total, 1, e).astype(dtype) for n in ("query", "key")}
        yield one.with_args(**arrays)


# ------------------------------------------------------------------ dropout
_dropout = _of("dropout", needs="drop_keep p")


def _dropped(make: Make, keep: Any, p: float, **more: Any) -> Case:
    pattern = np.array(keep, bool)
    queries, keys = pattern.shape
    one = sdpa.case(make, np.ones((queries, 1)), np.ones((keys, 1)), np.eye(keys))
    shape = (*one.array("query").shape[:-1], keys)
    return one.with_args(drop_keep=np.broadcast_to(pattern, shape).copy(), p=p, **more)


@_dropout(
    "dropout_unbiased", "Kept weights are multiplied by 1 / (1 - p).", agrees, about="dropout"
)
def dropout_scale(make: Make) -> Iterator[Case]:
    for keep, p in product(
        ([[1]], [[1, 1]], [[1, 0]], [[0, 1], [1, 1]]), (0.25, 0.5, 0.75, 0.2, 0.0)
    ):
        yield _dropped(make, keep, p)


@_dropout(
    "dropout_unbiased",
    "Dropped weights contribute nothing; nothing is renormalised.",
    agrees,
    about="dropout",
)
def dropout_of_everything(make: Make) -> Iterator[Case]:
    for keep in ([[0]], [[0, 0]], [[0, 0], [1, 0]]):
        yield _dropped(make, keep, 0.5)


@_dropout(
    "dropout_unbiased",
    "Outside training dropout does nothing.",
    agrees,
    about="dropout off",
    also="training",
)
def dropout_off(make: Make) -> Iterator[Case]:
    for keep in ([[1]], [[1, 0]], [[0, 0]]):
        yield _dropped(make, keep, 0.5, training=False)


@_dropout(
    "score_entry",
    "The weights before dropout are those of the definition.",
    agrees,
    about="dropout scale scores",
)
def dropout_scores(make: Make) -> Iterator[Case]:
    for _ in range(make.examples // 2):
        queries, keys, e = make.size(1, 3), make.size(1, 4), make.size(1, 3)
        one = sdpa.case(
            make, make.lattice(queries, e), make.lattice(keys, e), make.lattice(keys, 2)
        )
        keep = make.rng.random((*one.array("query").shape[:-1], keys)) < 0.5
        yield one.with_args(drop_keep=keep, p=0.5)
