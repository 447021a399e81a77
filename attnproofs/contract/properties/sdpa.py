"""Properties of scaled dot-product attention, in the order in which a cause is looked for.

First the plain call without any option, then one option at a time, then combinations, and the
accuracy last. Most properties probe with equal scores and the identity as values: the output row
*is* then the row of weights, so that the set of attended keys can be read off.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from attnproofs.contract.case import Case, Violation
from attnproofs.contract.property import (
    EVERYTHING,
    Make,
    Probe,
    TargetFailed,
    compare,
    declare,
    real,
)
from attnproofs.contract.semantics import Expected, attention, unit_of
from attnproofs.contract.wire import Array, dtype_named


# ------------------------------------------------------------------ making cases
def case(
    make: Make,
    query: Array,
    key: Array,
    value: Array,
    *,
    layouts: dict[str, str] | None = None,
    changed: dict[str, Array] | None = None,
    times: int = 1,
    **keywords: Any,
) -> Case:
    """A case in the audit's data type; float masks in it too, unless they say otherwise."""
    dtype = dtype_named(make.dtype)
    lift = (1,) * (make.rank - query.ndim)
    args: dict[str, Any] = {
        name: array.reshape(lift + array.shape).astype(dtype)
        for name, array in (("query", query), ("key", key), ("value", value))
    }
    for name, argument in keywords.items():
        if argument is not None and not (name == "is_causal" and argument is False):
            args[name] = argument
    if query.ndim >= 3 and query.shape[-3] != key.shape[-3] and "enable_gqa" in make.claims:
        args["enable_gqa"] = True
    moved = {n: a.reshape(lift + a.shape).astype(dtype) for n, a in (changed or {}).items()}
    return Case(args, moved, layouts or {}, times)


def spotlight(make: Make, queries: int, keys: int, **keywords: Any) -> Case:
    """Equal scores and the identity as values: the output is the matrix of weights."""
    return case(make, np.ones((queries, 1)), np.ones((keys, 1)), np.eye(keys), **keywords)


def patterns(make: Make, queries: int, keys: int) -> Iterator[Array]:
    """Every boolean pattern of a size without empty rows."""
    for bits in product((False, True), repeat=queries * keys):
        keep = np.array(bits, bool).reshape(queries, keys)
        if keep.any(-1).all():
            yield keep


def some_pattern(make: Make, queries: int, keys: int) -> Array:
    """A random pattern without empty rows."""
    keep = make.rng.random((queries, keys)) < make.pick(0.2, 0.5, 0.8)
    keep[np.arange(queries), make.rng.integers(0, keys, queries)] = True
    return np.asarray(keep)


# ------------------------------------------------------------------ domains
def no_empty_row(one: Case) -> bool:
    """Every query row keeps a key; what an empty row gives is a property of its own."""
    mask = one.args.get("attn_mask")
    if mask is None:
        return True
    array = np.asarray(mask)
    return bool(array.size) and bool(
        (array if array.dtype == bool else array > -np.inf).any(-1).all()
    )


# ------------------------------------------------------------------ judging
def expected_of(probe: Probe, args: dict[str, Any]) -> Expected:
    """What the target ought to return."""
    return attention(args, probe.profile, unit_of(probe.dtype), alibi=probe.variant == "alibi")


def agrees(probe: Probe, one: Case) -> Violation | None:
    """The output is what the definition says, up to what the coarsest arithmetic may add."""
    wanted = expected_of(probe, one.args)
    got = probe.outputs(one)[0]
    return compare(got, wanted.output, wanted.allowance, wanted.judged, parts=wanted.parts)


def unmoved(probe: Probe, one: Case) -> Violation | None:
    """Rows that see nothing of what the second call changes give the same output."""
    wanted, moved = expected_of(probe, one.args), expected_of(probe, one.second())
    first, second = probe.outputs(one)[0], probe.outputs(one, one.second())[0]
    if first.shape != wanted.output.shape or second.shape != first.shape:
        return compare(first, wanted.output, wanted.allowance)
    still = _sees_no_change(one, wanted.keep)
    allowance = wanted.allowance + moved.allowance
    return compare(
        second,
        real(first),
        allowance,
        still[..., None] & wanted.judged,
        what="the output of the second call",
        second=True,
    )


def _sees_no_change(one: Case, keep: Array) -> Array:
    """Which query rows keep no changed key or value."""
    differs = np.zeros(keep.shape[-1], bool)
    for name, after in one.changed.items():
        same = (after == one.args[name]) | (np.isnan(after) & np.isnan(one.args[name]))
        differs = differs | ~same.all(-1).reshape(-1, keep.shape[-1]).all(0)
    return ~np.asarray((keep & differs).any(-1))


# ------------------------------------------------------------------ the plain call
def right_shape(probe: Probe, one: Case) -> Violation | None:
    """The shape of the query, with the width of the values."""
    wanted = np.zeros((*one.array("query").shape[:-1], one.array("value").shape[-1]))
    return compare(probe.outputs(one)[0], wanted, wanted, judged=False)


@declare("sdpa", "shapes", "The result has shape (..., L, Ev).", right_shape)
def result_shape(make: Make) -> Iterator[Case]:
    for queries, keys, features, width in ((2, 2, 2, 2), (2, 3, 4, 5), (3, 2, 1, 1), (1, 4, 3, 2)):
        yield case(
            make,
            np.zeros((queries, features)),
            np.zeros((keys, features)),
            np.ones((keys, width)),
        )


@declare("sdpa", "softmax_sum", "With a single key the output is that key's value.", agrees)
def single_key(make: Make) -> Iterator[Case]:
    for score, queries in product((0.0, 1.0, -1.0), (1, 2, 5)):
        yield case(make, np.full((queries, 1), score), np.ones((1, 1)), np.ones((1, 1)))
    for _ in range(make.examples // 4):
        e, width = make.size(1, 4), make.size(1, 4)
        yield case(
            make, make.lattice(make.size(1, 3), e), make.lattice(1, e), make.lattice(1, width)
        )


@declare(
    "sdpa",
    "path_length",
    "Every key counts: equal scores give every key the same weight, however many there are.",
    agrees,
)
def every_key_counts(make: Make) -> Iterator[Case]:
    for queries, keys in product((1, 2, 3), (1, 2, 3, 4)):
        yield spotlight(make, queries, keys)
    for keys in make.borders():
        yield spotlight(make, 1, keys)
        yield spotlight(make, 2, keys)
    for queries in make.borders():
        yield spotlight(make, queries, 2)


@declare("sdpa", "softmax_uniform", "Zero queries average the values.", agrees, about="zero")
def zero_queries_average(make: Make) -> Iterator[Case]:
    for keys in (1, 2, 3, 4, 8):
        yield case(make, np.zeros((1, 1)), np.ones((keys, 1)), np.eye(keys))
        yield case(make, np.ones((1, 1)), np.zeros((keys, 1)), np.eye(keys))


@declare("sdpa", "constant_values", "Values that are all alike come out unchanged.", agrees)
def constant_values(make: Make) -> Iterator[Case]:
    for _ in range(make.examples // 2):
        queries, keys, e = make.size(1, 3), make.size(1, 3), make.size(1, 3)
        yield case(
            make, make.lattice(queries, e, high=2), make.lattice(keys, e), np.ones((keys, 1))
        )


# ------------------------------------------------------------------ scale
def _two_scores(make: Make, features: int, **keywords: Any) -> Case:
    """Raw scores 0 and about the square root of the number of features; K is not square."""
    keys = 3 if features == 2 else 2
    query, key = np.zeros((1, features)), np.zeros((keys, features))
    query[0, 0], key[-1, 0] = 1.0, np.ceil(np.sqrt(features))
    return case(make, query, key, np.eye(keys), **keywords)


@declare(
    "sdpa",
    "qk_variance_scaled",
    "Without a scale the scores are divided by the square root of the number of features.",
    agrees,
    about="scale",
)
def default_scale(make: Make) -> Iterator[Case]:
    if make.profile.default_scale in ("required", "unknown", "any"):
        return
    for features in (1, 2, 3, 4, 5, 8, 16, 64):
        yield _two_scores(make, features)


@declare(
    "sdpa",
    "scale_is_temperature",
    "A given scale multiplies the scores and replaces the default.",
    agrees,
    about="scale given",
    needs="scale",
)
def given_scale(make: Make) -> Iterator[Case]:
    for features, scale in product((1, 2, 4), (2.0, 1.0, 0.5, 0.25, 3.0)):
        yield _two_scores(make, features, scale=scale)


@declare(
    "sdpa",
    "scale_is_temperature",
    "A scale of zero gives every key the same weight.",
    agrees,
    about="scale given zero",
    needs="scale",
)
def zero_scale(make: Make) -> Iterator[Case]:
    for features in (1, 2, 4):
        yield _two_scores(make, features, scale=0.0)


@declare(
    "sdpa",
    "scale_is_temperature",
    "A negative scale reverses the order of the weights.",
    agrees,
    about="scale given negative",
    needs="scale",
)
def negative_scale(make: Make) -> Iterator[Case]:
    for features, scale in product((1, 2, 4), (-1.0, -0.5)):
        yield _two_scores(make, features, scale=scale)


# ------------------------------------------------------------------ scores
def _lattice_case(
    make: Make, queries: int, keys: int, features: int, width: int, **kw: Any
) -> Case:
    return case(
        make,
        make.lattice(queries, features),
        make.lattice(keys, features),
        make.lattice(keys, width),
        **kw,
    )


def apart(keys: int) -> int:
    """A number of features that differs from the number of keys, so that K is not square."""
    return 3 if keys == 2 else 2


def _distinct(one: Case) -> bool:
    """Keys are not square."""
    shape = one.array("key").shape
    return bool(shape[-1] != shape[-2])


@declare(
    "sdpa",
    "score_entry",
    "The output is softmax(scale Q Kᵀ) V, for keys that are not square.",
    agrees,
    about="scale scores",
    domain=_distinct,
)
def plain_formula(make: Make) -> Iterator[Case]:
    for a, b in product((-1.0, 0.0, 1.0), repeat=2):
        yield case(make, np.ones((1, 1)), np.array([[a], [b]]), np.eye(2))
    for _ in range(make.examples):
        keys, features = make.size(1, 3), make.size(1, 5)
        if keys != features:
            yield _lattice_case(make, make.size(1, 4), keys, features, make.size(1, 4))


@declare(
    "sdpa",
    "transpose_product",
    "The scores are Q Kᵀ also where S = E, so that K would fit untransposed.",
    agrees,
    about="scale scores square",
    domain=lambda one: not _distinct(one),
)
def square_keys(make: Make) -> Iterator[Case]:
    for bits in product((0.0, 1.0), repeat=4):
        key = np.array(bits).reshape(2, 2)
        yield case(make, np.array([[1.0, 0.0]]), key, np.eye(2))
    for _ in range(make.examples // 2):
        n = make.size(2, 4)
        yield _lattice_case(
            make, make.pick(n, make.size(1, 4)), n, n, make.pick(n, make.size(1, 4))
        )


@declare(
    "sdpa",
    "softmax_shift",
    "Adding a constant to every score changes nothing, at any level the format can hold.",
    agrees,
    about="level",
)
def shift_of_all_scores(make: Make) -> Iterator[Case]:
    for level in levels(make):
        yield from _at_level(make, 1, 1, level)
    for level in levels(make):
        yield from _at_level(make, 1, 2, level)
    for level in levels(make):
        yield from _at_level(make, 1, 3, level)


def levels(make: Make, step: int = 1) -> Iterator[float]:
    """Score levels, each `step` powers of ten, up to where neighbours are still told apart."""
    top = {"float64": 12, "float32": 4, "float16": 2}.get(make.dtype, 2)
    for power in range(min(step, top), top + 1, step):
        for sign in (-1.0, 1.0):
            yield sign * 10.0**power


def _at_level(make: Make, queries: int, keys: int, level: float, **kw: Any) -> Iterator[Case]:
    """Scores all equal to `level`: values of ones come out as ones, the identity as weights."""
    query, key = np.ones((queries, 1)), np.full((keys, 1), level)
    yield case(make, query, key, np.ones((keys, 1)), **kw)
    if keys > 1:
        yield case(make, query, key, np.eye(keys), **kw)


@declare(
    "sdpa",
    "max_subtraction",
    "Each row has a shift of its own: rows at opposite levels do not disturb each other.",
    agrees,
    about="level rows",
)
def rows_have_their_own_shift(make: Make) -> Iterator[Case]:
    for level in levels(make):
        yield case(make, np.array([[1.0], [-1.0]]), np.array([[level]]), np.ones((1, 1)))
        yield case(make, np.array([[1.0], [0.0]]), np.full((2, 1), level), np.ones((2, 1)))


@declare(
    "sdpa",
    "online_softmax",
    "Scores that rise or fall along the row give the same weights as in any other order.",
    agrees,
    about="long scale scores",
)
def rising_scores(make: Make) -> Iterator[Case]:
    for keys in make.borders():
        if keys < 2:
            continue
        for place in dict.fromkeys((keys - 1, 0, keys // 2)):
            key = np.zeros((keys, 1))
            key[place] = 1.0
            yield case(make, np.ones((1, 1)), key, np.eye(keys))
        ramp = np.minimum(np.arange(keys), 8.0)[:, None]
        yield case(make, np.ones((1, 1)), ramp, np.eye(keys))
        yield case(make, np.ones((1, 1)), -ramp, np.eye(keys))


@declare(
    "sdpa",
    "tiled_attention",
    "Long rows at a high or low level of scores: no tile overflows, none is lost.",
    agrees,
    about="long level",
)
def long_rows_at_a_level(make: Make) -> Iterator[Case]:
    for keys in make.borders(65):
        for level in levels(make, 1 if keys in (5, 9) else 4):
            if keys > 3:
                yield from _at_level(make, 1, keys, level)


# ------------------------------------------------------------------ boolean masks
@declare(
    "sdpa",
    "mask_exact_zero",
    "Under a boolean mask the weights of masked keys are exactly zero and the kept ones equal.",
    agrees,
    about="mask",
    needs="attn_mask",
    domain=no_empty_row,
)
def kept_set(make: Make) -> Iterator[Case]:
    if make.profile.bool_mask == "none":
        return
    for queries, keys in ((1, 1), (1, 2), (2, 1), (2, 2), (1, 3), (2, 3)):
        for keep in patterns(make, queries, keys):
            yield spotlight(make, queries, keys, attn_mask=make.mask(keep))
    for _ in range(make.examples):
        queries, keys = make.size(1, 5), make.size(1, 6)
        keep = some_pattern(make, queries, keys)
        yield spotlight(make, queries, keys, attn_mask=make.mask(keep))
    for keys in make.borders():
        keep = some_pattern(make, 2, keys)
        yield spotlight(make, 2, keys, attn_mask=make.mask(keep))


@declare(
    "sdpa",
    "mask_exact_zero",
    "Packed documents (a block-diagonal mask) do not see each other.",
    agrees,
    about="mask pattern",
    needs="attn_mask",
    domain=no_empty_row,
)
def block_diagonal_mask(make: Make) -> Iterator[Case]:
    if make.profile.bool_mask == "none":
        return
    for lengths in (
        (1, 1, 1),
        (1, 2),
        (2, 1, 1),
        (1, 1, 1, 1),
        (2, 3, 1),
        (3, 1, 2, 2),
        (9, 8, 16),
    ):
        label = np.repeat(np.arange(len(lengths)), lengths)
        keep = label[:, None] == label
        yield spotlight(make, len(label), len(label), attn_mask=make.mask(keep))
        tril = keep & np.tril(np.ones_like(keep))
        yield spotlight(make, len(label), len(label), attn_mask=make.mask(tril))


@declare(
    "sdpa",
    "window_band",
    "Under a band-shaped mask a query sees exactly the keys of its band, first and last included.",
    agrees,
    about="mask pattern",
    needs="attn_mask",
    domain=no_empty_row,
)
def band_mask(make: Make) -> Iterator[Case]:
    if make.profile.bool_mask == "none":
        return
    for length in (2, 3, 4, 5, 8, 9, 17):
        for left, right in ((0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (2, 1), (3, 0)):
            keep = band(length, left, right)
            yield spotlight(make, length, length, attn_mask=make.mask(keep))


def band(length: int, left: int, right: int) -> Array:
    """The band ``i - left <= j <= i + right``."""
    distance = np.arange(length)[:, None] - np.arange(length)
    return np.asarray((distance <= left) & (-distance <= right))


@declare(
    "sdpa",
    "softmax_positive",
    "A kept key keeps its weight also when its score is exactly zero or its vector is zero.",
    agrees,
    about="mask zero scale scores",
    needs="attn_mask",
    domain=no_empty_row,
)
def zero_scores_stay_visible(make: Make) -> Iterator[Case]:
    if make.profile.bool_mask == "none":
        return
    for keep in ([True], [True, False], [True, True, False], [True, True, True]):
        mask = make.mask(np.array([keep]))
        n = len(keep)
        yield case(make, np.zeros((1, 1)), np.ones((n, 1)), np.eye(n), attn_mask=mask)
        key = np.ones((n, 1))
        key[0] = 0.0
        yield case(make, np.ones((1, 1)), key, np.eye(n), attn_mask=mask)
    for _ in range(make.examples // 4):
        n = make.size(2, 4)
        e = apart(n)
        some = some_pattern(make, 1, n)
        yield case(
            make, make.lattice(1, e), make.lattice(n, e), np.eye(n), attn_mask=make.mask(some)
        )


@declare(
    "sdpa",
    "empty_row",
    "A query row that may attend to nothing gives zeros (or what the profile says).",
    agrees,
    about="mask empty",
    needs="attn_mask",
)
def empty_row(make: Make) -> Iterator[Case]:
    if make.profile.bool_mask in ("none", "added") or make.profile.empty_row_bool == "none":
        return
    for rows in ([[0, 0]], [[0, 0], [1, 1]], [[1, 0], [0, 0]], [[0, 0, 0]], [[0] * 9]):
        keep = np.array(rows, bool)
        value = np.ones((keep.shape[1], 1))
        query, key = np.ones((keep.shape[0], 1)), np.ones((keep.shape[1], 1))
        yield case(make, query, key, value, attn_mask=make.mask(keep))


@declare(
    "sdpa",
    "mask_exact_zero",
    "Masked keys and values have no influence, however large they are.",
    unmoved,
    about="mask influence scale scores zero level rows long",
    needs="attn_mask",
    domain=no_empty_row,
)
def masked_have_no_influence(make: Make) -> Iterator[Case]:
    if make.profile.bool_mask in ("none", "added"):
        return
    big = {"float64": 1e6, "float32": 1e4}.get(make.dtype, 100.0)
    for n, size in product((2, 3, 5), (1.0, big)):
        keep = np.ones((1, n), bool)
        keep[0, n // 2] = False
        yield from _perturbed(make, keep, size, attn_mask=make.mask(keep))
    for _ in range(make.examples // 2):
        keep = some_pattern(make, make.size(1, 4), make.size(2, 7))
        size = make.pick(1.0, big)
        yield from _perturbed(make, keep, size, attn_mask=make.mask(keep))


def _perturbed(make: Make, keep: Array, size: float, **kw: Any) -> Iterator[Case]:
    """Change one column of keys and values that some row does not keep."""
    columns = np.flatnonzero(~keep.all(0))
    if not len(columns):
        return
    j = int(columns[int(make.rng.integers(len(columns)))])
    queries, keys = keep.shape
    e = apart(keys)
    query, key = make.lattice(queries, e), make.lattice(keys, e)
    value = make.lattice(keys, 2)
    key_, value_ = key.copy(), value.copy()
    key_[j], value_[j] = size * make.lattice(e), size * (1 + np.abs(make.lattice(2)))
    yield case(make, query, key, value, changed={"key": key_, "value": value_}, **kw)


def _with_nonfinite(
    make: Make, where: str, size: tuple[int, int], columns: list[int], poison: float, **kw: Any
) -> Case:
    queries, keys = size
    query, key, value = np.ones((queries, 1)), np.ones((keys, 1)), np.eye(keys)
    if where == "key":
        key[columns] = poison
    else:
        value[columns] = poison
    return case(make, query, key, value, **kw)


def _nonfinite_masks(make: Make, where: str, *, additive: bool) -> Iterator[Case]:
    rule = make.profile.entries[f"masked_{where}_{'additive' if additive else 'bool'}"]
    if rule.value != "blocked":
        return
    for poison, (queries, keep) in product(
        (np.nan, np.inf, -np.inf),
        ((1, [1, 0]), (1, [0, 1]), (2, [1, 0]), (1, [1, 0, 1]), (2, [1, 1, 1, 1, 1, 0, 0])),
    ):
        row = np.array(keep, bool)
        pattern = np.broadcast_to(row, (queries, len(row))).copy()
        mask = make.additive(pattern) if additive else make.mask(pattern)
        columns = [int(j) for j in np.flatnonzero(~row)]
        yield _with_nonfinite(make, where, (queries, len(row)), columns, poison, attn_mask=mask)


@declare(
    "sdpa",
    "mask_exact_zero",
    "Masking works at any level of scores: kept scores far below zero still win over masked ones.",
    agrees,
    about="mask level long",
    needs="attn_mask",
    domain=no_empty_row,
)
def masking_at_any_level(make: Make) -> Iterator[Case]:
    if make.profile.bool_mask in ("none", "added"):
        return
    for level in levels(make):
        for row in ([1, 0], [0, 1], [1, 0, 1]):
            keep = np.array([row], bool)
            yield from _at_level(make, 1, len(row), level, attn_mask=make.mask(keep))
    narrow = make.dtype == "float64" and make.profile.float64_accuracy == "float32"
    kind = "float32" if narrow else make.dtype  # the range is that of the computation
    top = {"float64": 150, "float32": 30, "float16": 3}.get(kind, 3)
    for power in range(1, top, max(1, top // 10)):
        # one kept key: its weight is 1 however coarse the arithmetic is at this level
        keep = np.array([[True, False]])
        yield from _at_level(make, 1, 2, -(10.0**power), attn_mask=make.mask(keep))
    for n in make.borders(33):
        if n > 3:
            keep = np.arange(n)[None] < max(1, n // 3)
            yield from _at_level(make, 1, n, -make.pick(*levels(make)), attn_mask=make.mask(keep))


# ------------------------------------------------------------------ additive masks
@declare(
    "sdpa",
    "softmax_shift",
    "An additive mask of zeros changes nothing.",
    agrees,
    about="mask additive scale scores zero long",
    needs="attn_mask",
    domain=no_empty_row,
)
def additive_zero_mask(make: Make) -> Iterator[Case]:
    if make.profile.additive_mask != "yes":
        return
    for queries, keys in ((1, 1), (1, 2), (2, 2), (2, 3)):
        mask = make.additive(np.ones((queries, keys), bool))
        key = np.zeros((keys, 1))
        key[0] = 1.0
        yield case(make, np.ones((queries, 1)), key, np.eye(keys), attn_mask=mask)
        e = apart(keys)
        query = make.lattice(queries, e)
        yield case(make, query, make.lattice(keys, e), np.eye(keys), attn_mask=mask)


@declare(
    "sdpa",
    "bool_additive",
    "An additive mask of 0 and -inf does what the boolean mask does.",
    agrees,
    about="mask additive scale scores zero long",
    needs="attn_mask",
    domain=no_empty_row,
)
def boolean_is_additive(make: Make) -> Iterator[Case]:
    if make.profile.additive_mask != "yes":
        return
    for queries, keys in ((1, 1), (1, 2), (2, 1), (2, 2), (1, 3)):
        for keep in patterns(make, queries, keys):
            yield spotlight(make, queries, keys, attn_mask=make.additive(keep))
    for _ in range(make.examples // 2):
        queries, keys = make.size(1, 5), make.size(1, 6)
        keep = some_pattern(make, queries, keys)
        yield _lattice_case(make, queries, keys, apart(keys), 2, attn_mask=make.additive(keep))


@declare(
    "sdpa",
    "softmax_ratio",
    "A finite additive mask b multiplies a weight by exp(b) before the weights are normalised.",
    agrees,
    about="mask additive scale scores zero long",
    needs="attn_mask",
    domain=no_empty_row,
)
def additive_bias(make: Make) -> Iterator[Case]:
    if make.profile.additive_mask != "yes":
        return
    for bias in ([[0.0, 1.0]], [[1.0, 0.0]], [[0.0, -1.0]], [[0.0, 0.5]], [[1.0, 2.0, 0.0]]):
        row = np.array(bias)
        yield spotlight(make, 1, row.shape[1], attn_mask=make.additive(np.isfinite(row), row))
    for _ in range(make.examples // 2):
        queries, keys = make.size(1, 4), make.size(1, 5)
        keep = some_pattern(make, queries, keys)
        mask = make.additive(keep, make.lattice(queries, keys, high=2) / 2)
        yield _lattice_case(make, queries, keys, apart(keys), 2, attn_mask=mask)


@declare(
    "sdpa",
    "softmax_shift",
    "A constant added to a whole row of the mask changes nothing, however low it is.",
    agrees,
    about="mask additive level scale scores zero long",
    needs="attn_mask",
    domain=no_empty_row,
)
def additive_row_constant(make: Make) -> Iterator[Case]:
    if make.profile.additive_mask != "yes":
        return
    for constant in levels(make):
        yield from _constant_mask(make, np.full((1, 2), constant, dtype_named(make.dtype)))
    if make.dtype == "float16" and "wide_mask" in make.claims:
        # a mask wider than the inputs holds values that their format cannot; with one key, since
        # weights taken as exp(score - log-sum-exp) lose log 2 beside so low a constant
        for power in range(1, 12):
            mask = np.full((1, 1), -(10.0**power), np.float32)
            yield case(make, np.ones((1, 1)), np.ones((1, 1)), np.ones((1, 1)), attn_mask=mask)


def _constant_mask(make: Make, mask: Array) -> Iterator[Case]:
    """Values of ones, which come out as ones, and the identity, which gives the weights."""
    yield case(make, np.ones((1, 1)), np.ones((2, 1)), np.ones((2, 1)), attn_mask=mask)
    yield spotlight(make, 1, 2, attn_mask=mask)


@declare(
    "sdpa",
    "empty_row",
    "A row of -inf in the additive mask gives zeros (or what the profile says).",
    agrees,
    about="mask additive empty",
    needs="attn_mask",
)
def empty_row_additive(make: Make) -> Iterator[Case]:
    if make.profile.additive_mask != "yes" or make.profile.empty_row_neg_inf == "none":
        return
    for rows in ([[0, 0]], [[0, 0], [1, 1]], [[1, 0], [0, 0]], [[0] * 9]):
        keep = np.array(rows, bool)
        queries, keys = keep.shape
        value = np.ones((keys, 1))
        yield case(
            make, np.ones((queries, 1)), np.ones((keys, 1)), value, attn_mask=make.additive(keep)
        )


# ------------------------------------------------------------------ causal
def _square(one: Case) -> bool:
    return bool(one.array("query").shape[-2] == one.array("key").shape[-2])


@declare(
    "sdpa",
    "causal_first_row",
    "is_causal lets query i attend to keys 0 to i and to no other, for L = S.",
    agrees,
    about="mask causal",
    needs="is_causal",
    domain=_square,
)
def causal_kept_set(make: Make) -> Iterator[Case]:
    if make.profile.causal_alignment == "none":
        return
    for n in (1, 2, 3, 4, *[n for n in make.borders() if n > 4]):
        yield spotlight(make, n, n, is_causal=True)


@declare(
    "sdpa",
    "causal_no_future",
    "Changing only later keys and values leaves the earlier rows alone.",
    unmoved,
    about="mask causal influence scale scores zero level rows long",
    needs="is_causal",
    domain=_square,
)
def causal_no_future(make: Make) -> Iterator[Case]:
    if make.profile.causal_alignment == "none":
        return
    big = {"float64": 1e6, "float32": 1e4}.get(make.dtype, 100.0)
    for _ in range(make.examples // 2):
        n = make.size(2, 6)
        first = make.size(1, n - 1)
        size = make.pick(1.0, big)
        e = apart(n)
        query, key, value = make.lattice(n, e), make.lattice(n, e), make.lattice(n, 2)
        key_, value_ = key.copy(), value.copy()
        key_[first:] = size * make.lattice(n - first, e)
        value_[first:] = size * (1 + np.abs(make.lattice(n - first, 2)))
        yield case(make, query, key, value, changed={"key": key_, "value": value_}, is_causal=True)


@declare(
    "sdpa",
    "parallel_training",
    "For L ≠ S the causal mask hangs from the corner that the profile names (top left).",
    agrees,
    about="mask causal rectangular",
    needs="is_causal",
    domain=lambda one: not _square(one) and one.array("query").shape[-2] > 1,
)
def causal_alignment(make: Make) -> Iterator[Case]:
    if make.profile.causal_alignment == "none":
        return
    for queries, keys in ((2, 1), (2, 3), (3, 2), (2, 4), (4, 2), (3, 5), (5, 9), (9, 5), (2, 17)):
        value = np.eye(keys)
        yield case(make, np.ones((queries, 1)), np.ones((keys, 1)), value, is_causal=True)


@declare(
    "sdpa",
    "parallel_training",
    "A call with a single query obeys the causal rule like row 0 of a longer call.",
    agrees,
    about="mask causal rectangular single",
    needs="is_causal",
)
def causal_single_query(make: Make) -> Iterator[Case]:
    if make.profile.causal_alignment == "none":
        return
    for keys in (2, 3, 1, 5, 9):
        yield spotlight(make, 1, keys, is_causal=True)


@declare(
    "sdpa",
    "softmax_positive",
    "Under is_causal a key with score exactly zero keeps its weight.",
    agrees,
    about="mask causal zero scale scores",
    needs="is_causal",
)
def causal_zero_scores(make: Make) -> Iterator[Case]:
    if make.profile.causal_alignment == "none":
        return
    for n in (1, 2, 3):
        yield case(make, np.zeros((n, 1)), np.ones((n, 1)), np.eye(n), is_causal=True)
        yield case(make, np.ones((n, 1)), np.zeros((n, 1)), np.eye(n), is_causal=True)


@declare(
    "sdpa",
    "tiled_attention",
    "Causal rows at any level of scores: fully masked tiles change nothing.",
    agrees,
    about="mask causal level long",
    needs="is_causal",
    domain=_square,
)
def causal_at_any_level(make: Make) -> Iterator[Case]:
    if make.profile.causal_alignment == "none":
        return
    for n in make.borders(33):
        for level in levels(make, 1 if n in (2, 5) else 4):
            yield from _at_level(make, n, n, level, is_causal=True)


def _nonfinite_causal(make: Make, where: str) -> Iterator[Case]:
    if make.profile.causal_alignment == "none":
        return
    if make.profile.entries[f"masked_{where}_causal"].value != "blocked":
        return
    for n, poison in product((2, 3, 5, 9), (np.nan, np.inf, -np.inf)):
        yield _with_nonfinite(make, where, (n, n), [n - 1], poison, is_causal=True)


@declare(
    "sdpa",
    "mask_and",
    "A mask together with is_causal: both apply.",
    agrees,
    about="mask causal additive scale scores zero",
    needs="attn_mask is_causal",
    domain=no_empty_row,
)
def mask_and_causal(make: Make) -> Iterator[Case]:
    if make.profile.mask_and_causal not in ("and", "mask", "causal"):
        return
    for n in (2, 1, 3, 4, 5, 9):
        everything = np.ones((n, n), bool)
        if make.profile.bool_mask in ("attend", "masked"):
            yield spotlight(make, n, n, attn_mask=make.mask(everything), is_causal=True)
            keep = some_pattern(make, n, n) | np.eye(n, dtype=bool)
            yield spotlight(make, n, n, attn_mask=make.mask(keep), is_causal=True)
        if make.profile.additive_mask == "yes":
            yield spotlight(make, n, n, attn_mask=make.additive(everything), is_causal=True)


# ------------------------------------------------------------------ batch and heads
@declare(
    "sdpa",
    "single_head_formula",
    "Samples of a batch do not influence each other.",
    agrees,
    about="batch",
)
def batch_independent(make: Make) -> Iterator[Case]:
    for batch, queries, keys in ((2, 1, 1), (3, 1, 1), (2, 1, 2), (2, 2, 2), (3, 2, 2), (2, 3, 3)):
        value = _own_values(batch, 1, keys)
        yield case(make, np.ones((batch, 1, queries, 1)), np.ones((batch, 1, keys, 1)), value)


def _own_values(batch: int, heads: int, keys: int) -> Array:
    """Values that name their sample, head and position."""
    return np.arange(batch * heads * keys, dtype=float).reshape(batch, heads, keys, 1)


@declare(
    "sdpa",
    "head_blocks",
    "With as many key heads as query heads each head reads its own keys and values.",
    agrees,
    about="heads",
)
def heads_independent(make: Make) -> Iterator[Case]:
    for heads, queries, keys in ((2, 1, 1), (3, 1, 1), (2, 1, 2), (2, 2, 2), (3, 3, 3), (5, 2, 1)):
        yield _heads_case(make, 1, heads, heads, queries, keys)


def _heads_case(make: Make, batch: int, query_heads: int, key_heads: int, *lengths: int) -> Case:
    queries, keys = lengths
    value = _own_values(batch, key_heads, keys)
    query, key = np.ones((batch, query_heads, queries, 1)), np.ones((batch, key_heads, keys, 1))
    if batch == 1 and make.rank < 4:
        query, key, value = query[0], key[0], value[0]
    return case(make, query, key, value)


@declare(
    "sdpa",
    "head_blocks",
    "Batch and head axes of the result are those of the query, also when both exceed one.",
    agrees,
    about="batch heads",
)
def batch_and_heads(make: Make) -> Iterator[Case]:
    for batch, heads, queries, keys in (
        (2, 2, 1, 1),
        (2, 3, 1, 1),
        (3, 2, 2, 2),
        (2, 2, 2, 2),
        (3, 3, 3, 3),
        (2, 3, 4, 5),
    ):
        yield _heads_case(make, batch, heads, heads, queries, keys)


@declare(
    "sdpa",
    "gqa_tied",
    "With fewer key heads, query head h reads key head h // (Hq / Hkv): consecutive groups.",
    agrees,
    about="heads groups batch",
    needs="groups",
)
def grouped_heads(make: Make) -> Iterator[Case]:
    for group, key_heads in sorted(
        product(range(2, 10), (1, 2, 3, 4)), key=lambda gh: (gh[0] * gh[1], gh[1])
    ):
        yield _heads_case(make, 1, group * key_heads, key_heads, 1, 1)
    for group, key_heads, batch in ((2, 2, 2), (3, 2, 2), (2, 3, 3), (5, 2, 2)):
        yield _heads_case(make, batch, group * key_heads, key_heads, 2, 2)


@declare(
    "sdpa",
    "padding_invariance",
    "A mask of any shape that broadcasts to (B, Hq, L, S) does what the full mask does.",
    agrees,
    about="mask broadcast batch heads",
    needs="attn_mask",
    domain=no_empty_row,
    dtypes=("float64",),
)
def mask_broadcast(make: Make) -> Iterator[Case]:
    if make.profile.bool_mask not in ("attend", "masked"):
        return
    yield from _broadcast_cases(make, [(2, 2), (2, 3), (3, 3)], [(1, 1)])
    yield from _broadcast_cases(
        make, [(1, 2), (2, 2), (2, 3)], [(2, 1), (1, 2), (2, 2), (2, 3), (3, 2)]
    )


@declare(
    "sdpa",
    "gqa_tied",
    "Masks broadcast the same way over grouped heads, also when B = Hkv.",
    agrees,
    about="mask broadcast batch heads groups",
    needs="attn_mask groups",
    domain=no_empty_row,
)
def mask_broadcast_grouped(make: Make) -> Iterator[Case]:
    if make.profile.bool_mask not in ("attend", "masked"):
        return
    yield from _broadcast_cases(make, [(1, 2), (2, 2)], [(2, 2), (3, 3), (2, 3)], group=2)
    yield from _broadcast_cases(make, [(1, 2)], [(2, 2), (3, 3)], group=3)


def _broadcast_cases(
    make: Make,
    lengths: list[tuple[int, int]],
    leading: list[tuple[int, int]],
    group: int = 1,
) -> Iterator[Case]:
    for (queries, keys), (batch, heads) in product(lengths, leading):
        full = (batch, heads * group, queries, keys)
        shapes = {tuple(s) for s in product(*[(1, n) for n in full])}
        shapes |= {s[i:] for s in shapes for i in range(1, 4) if set(s[:i]) == {1}}
        for shape in sorted(shapes, key=lambda s: (int(np.prod(s)), len(s), s)):
            if shape == (1,) * len(shape):
                continue
            keep = _staggered(shape)
            query = np.ones((batch, heads * group, queries, 1))
            key = np.ones((batch, heads, keys, 1))
            value = np.broadcast_to(np.eye(keys), (batch, heads, keys, keys))
            if batch == heads == 1 and len(shape) == 2 and make.rank == 2:
                query, key, value = query[0, 0], key[0, 0], value[0, 0]
            yield case(make, query, key, value, attn_mask=make.mask(keep))


def _staggered(shape: tuple[int, ...]) -> Array:
    """A pattern whose rows differ along every axis; no row of it is empty."""
    index = np.indices(shape)
    keep: Array = (index[:-1].sum(0) + index[-1]) % 2 == 0
    if shape[-1] == 1:
        return np.ones(shape, bool)
    return keep


# ------------------------------------------------------------------ lengths
@declare(
    "sdpa",
    "empty_row",
    "No keys at all (S = 0) gives zeros of shape (L, Ev); no queries (L = 0) an empty result.",
    agrees,
    about="lengths",
)
def zero_lengths(make: Make) -> Iterator[Case]:
    for queries, keys in ((1, 0), (2, 0), (0, 1), (0, 2), (0, 0)):
        if keys == 0 and make.profile.no_keys in ("error", "unknown", "any"):
            continue
        yield case(make, np.ones((queries, 1)), np.ones((keys, 1)), np.ones((keys, 1)))


@declare(
    "sdpa",
    "cross_attention",
    "Queries and keys of different number, values of another width than the keys.",
    agrees,
    about="scale scores rectangular square long",
)
def rectangular(make: Make) -> Iterator[Case]:
    for queries, keys, e, width in ((2, 3, 1, 1), (3, 2, 2, 1), (1, 4, 2, 3), (4, 1, 3, 2)):
        yield _lattice_case(make, queries, keys, e, width)
    for _ in range(make.examples // 2):
        yield _lattice_case(
            make, make.size(1, 6), make.size(1, 6), make.size(1, 6), make.size(1, 6)
        )


# ------------------------------------------------------------------ symmetries
@declare(
    "sdpa",
    "permutation_equivariance",
    "Permuting the keys together with their values changes nothing.",
    agrees,
    about="scale scores order long",
)
def key_order(make: Make) -> Iterator[Case]:
    for keys in (2, 3, 5, 9, 17):
        for place in range(min(keys, 6)):
            key, value = np.zeros((keys, 1)), np.zeros((keys, 1))
            key[place], value[place] = 1.0, 1.0
            yield case(make, np.ones((1, 1)), key, value)


@declare(
    "sdpa",
    "permutation_equivariance",
    "Each row of a longer call is what a call with that query alone returns.",
    agrees,
    about="scale scores rows",
)
def query_rows(make: Make) -> Iterator[Case]:
    for queries in make.borders(33):
        query = np.zeros((queries, 1))
        query[:: max(1, queries // 2)] = 1.0
        yield case(make, query, np.array([[0.0], [1.0]]), np.eye(2))


@declare(
    "sdpa",
    "duplicate_keys",
    "Repeating the whole list of keys and values changes nothing.",
    agrees,
    about="scale scores duplicates long",
)
def duplicate_keys(make: Make) -> Iterator[Case]:
    for _ in range(make.examples // 4):
        keys, times = make.size(1, 3), make.size(2, 5)
        e = apart(keys * times)
        key, value = make.lattice(keys, e), make.lattice(keys, 2)
        yield case(make, make.lattice(1, e), np.tile(key, (times, 1)), np.tile(value, (times, 1)))


@declare(
    "sdpa",
    "key_bias_invisible",
    "Adding the same vector to every key changes nothing.",
    agrees,
    about="level scale scores",
)
def key_offset(make: Make) -> Iterator[Case]:
    for offset in (1.0, -1.0, 10.0, -10.0, 100.0, -100.0):
        key = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]) + offset
        yield case(make, np.ones((1, 2)), key, np.eye(3))
        yield case(make, np.array([[1.0, 0.0]]), key, np.eye(3))


@declare(
    "sdpa",
    "convex_bounds",
    "Each output lies between the smallest and the largest kept value.",
    agrees,
    about="scale scores long",
)
def convex_bounds(make: Make) -> Iterator[Case]:
    for _ in range(make.examples // 4):
        keys = make.size(1, 5)
        e = apart(keys)
        query, key = make.lattice(2, e, high=3), make.lattice(keys, e, high=3)
        yield case(make, query, key, make.lattice(keys, 1))


# ------------------------------------------------------------------ NaN and infinity
@declare(
    "sdpa",
    "mask_exact_zero",
    "NaN or infinity in a masked key never reaches an output.",
    agrees,
    about="mask nan",
    needs="attn_mask",
    domain=no_empty_row,
)
def masked_key_nan(make: Make) -> Iterator[Case]:
    yield from _nonfinite_masks(make, "key", additive=False)


@declare(
    "sdpa",
    "mask_exact_zero",
    "NaN or infinity in a masked value never reaches an output.",
    agrees,
    about="mask nan",
    needs="attn_mask",
    domain=no_empty_row,
)
def masked_value_nan(make: Make) -> Iterator[Case]:
    yield from _nonfinite_masks(make, "value", additive=False)


@declare(
    "sdpa",
    "bool_additive",
    "NaN or infinity in a key masked by -inf never reaches an output.",
    agrees,
    about="mask additive nan",
    needs="attn_mask",
    domain=no_empty_row,
)
def additive_key_nan(make: Make) -> Iterator[Case]:
    if make.profile.additive_mask == "yes":
        yield from _nonfinite_masks(make, "key", additive=True)


@declare(
    "sdpa",
    "bool_additive",
    "NaN or infinity in a value masked by -inf never reaches an output.",
    agrees,
    about="mask additive nan",
    needs="attn_mask",
    domain=no_empty_row,
)
def additive_value_nan(make: Make) -> Iterator[Case]:
    if make.profile.additive_mask == "yes":
        yield from _nonfinite_masks(make, "value", additive=True)


@declare(
    "sdpa",
    "causal_no_future",
    "NaN or infinity in a later key never reaches an earlier row.",
    agrees,
    about="mask causal nan",
    needs="is_causal",
)
def causal_key_nan(make: Make) -> Iterator[Case]:
    yield from _nonfinite_causal(make, "key")


@declare(
    "sdpa",
    "causal_no_future",
    "NaN or infinity in a later value never reaches an earlier row.",
    agrees,
    about="mask causal nan",
    needs="is_causal",
)
def causal_value_nan(make: Make) -> Iterator[Case]:
    yield from _nonfinite_causal(make, "value")


# ------------------------------------------------------------------ memory layout
@declare(
    "sdpa",
    "transpose_product",
    "The result depends on the values, not on how they lie in memory.",
    agrees,
    about="layout scale scores",
)
def memory_layout(make: Make) -> Iterator[Case]:
    shapes = ((1, 3, 2, 2), (2, 3, 2, 3), (3, 2, 4, 5))
    for (queries, keys, e, width), layout in product(
        shapes, ("transposed", "strided", "rows", "reversed", "fortran", "guarded", "readonly")
    ):
        for name in ("value", "key", "query"):
            yield case(
                make,
                np.arange(queries * e, dtype=float).reshape(queries, e) % 3,
                np.arange(keys * e, dtype=float).reshape(keys, e) % 2,
                np.arange(keys * width, dtype=float).reshape(keys, width),
                layouts={name: layout},
            )
    for name in ("value", "key", "query"):
        # one row, repeated without being stored again
        values = np.arange(6.0).reshape(3, 2)
        rows = {"query": np.ones((3, 2)), "key": np.ones((3, 2)), "value": values}
        rows[name] = np.broadcast_to(np.array([1.0, 2.0]), (3, 2))
        yield case(make, rows["query"], rows["key"], rows["value"], layouts={name: "stride0"})
    for name, heads in product(("value", "key", "query"), (2, 3)):
        # one head, repeated in the same way
        lead = (1, heads) if make.rank == 4 else (heads,)
        arrays = {n: np.arange(2.0 * heads).reshape(*lead, 2, 1) for n in ("query", "key", "value")}
        arrays[name] = np.broadcast_to(np.array([[1.0], [2.0]]), (*lead, 2, 1))
        yield case(
            make, arrays["query"], arrays["key"], arrays["value"], layouts={name: "expanded"}
        )


# ------------------------------------------------------------------ other data types, options
def agrees_if_taken(probe: Probe, one: Case) -> Violation | None:
    """Like `agrees`, for calls that a function may well refuse."""
    try:
        return agrees(probe, one)
    except TargetFailed as failure:
        if failure.violation.kind == "raised":
            raise TargetFailed(failure.violation, refused=True) from None
        raise


@declare(
    "sdpa",
    "single_head_formula",
    "Arguments of different data types, where they are taken at all, are not cut to whole numbers.",
    agrees_if_taken,
    about="mixed scale scores",
    dtypes=("float32",),
)
def mixed_dtypes(make: Make) -> Iterator[Case]:
    for name in ("value", "key", "query"):
        one = case(make, np.ones((1, 1)), np.array([[0.5], [0.0]]), np.array([[0.5], [0.25]]))
        yield one.with_args(**{name: one.array(name).astype(np.float64)})


@declare(
    "sdpa",
    "single_head_formula",
    "All options together, at random sizes, do what each does alone.",
    agrees,
    about=EVERYTHING,
)
def options_together(make: Make) -> Iterator[Case]:
    profile = make.profile
    for _ in range(2 * make.examples):
        batch, group = make.pick(1, 1, 2, 3), make.pick(1, 1, 2, 3)
        group = group if "groups" in make.claims else 1
        key_heads, queries, keys = make.size(1, 3), make.size(1, 5), make.size(1, 6)
        e, width = make.size(1, 4), make.size(1, 4)
        options: dict[str, Any] = {}
        causal = "is_causal" in make.claims and profile.causal_alignment == "top-left"
        if causal and make.rng.random() < 0.4:
            options["is_causal"] = True
        together = profile.mask_and_causal == "and" or "is_causal" not in options
        if "attn_mask" in make.claims and together and make.rng.random() < 0.7:
            full = (batch, key_heads * group, queries, keys)
            shape = tuple(make.pick(n, n, 1) for n in full[make.pick(0, 0, 2) :])
            keep = make.rng.random(shape) < 0.7
            keep[..., 0] = True
            if profile.bool_mask in ("attend", "masked") and make.rng.random() < 0.5:
                options["attn_mask"] = make.mask(keep)
            elif profile.additive_mask == "yes":
                options["attn_mask"] = make.additive(keep, make.lattice(*shape))
        if profile.default_scale == "required" or (
            "scale" in make.claims and make.rng.random() < 0.3
        ):
            options["scale"] = make.pick(1.0, 0.5, 2.0)
        yield case(
            make,
            make.lattice(batch, key_heads * group, queries, e),
            make.lattice(batch, key_heads, keys, e),
            make.lattice(batch, key_heads, keys, width),
            **options,
        )
