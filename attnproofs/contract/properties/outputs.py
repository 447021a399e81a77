"""Properties of what ``weights`` and ``lse`` return beside the output."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from attnproofs.contract.case import Case, Violation
from attnproofs.contract.properties.sdpa import (
    case,
    expected_of,
    levels,
    no_empty_row,
    patterns,
    some_pattern,
    spotlight,
)
from attnproofs.contract.property import Make, Probe, compare, declare, real
from attnproofs.contract.semantics import unit_of
from attnproofs.contract.wire import Array


# ------------------------------------------------------------------ weights
def weights_agree(probe: Probe, one: Case) -> Violation | None:
    """The returned weights are those of the definition."""
    wanted = expected_of(probe, one.args)
    return compare(
        probe.outputs(one)[1],
        wanted.weights,
        wanted.weights_allowance,
        wanted.row_judged[..., None],
        output=1,
        what="the weight",
    )


def rows_sum_to_one(probe: Probe, one: Case) -> Violation | None:
    """The returned weights of every row with a kept key add up to one."""
    wanted = expected_of(probe, one.args)
    got = probe.outputs(one)[1]
    if got.shape != wanted.weights.shape:
        return compare(got, wanted.weights, wanted.weights_allowance, output=1, what="the weights")
    sums = real(got).sum(-1)
    ones = wanted.keep.any(-1).astype(float)
    slack = 4 * (got.shape[-1] + 1) * unit_of(probe.dtype)
    found = compare(sums, ones, np.full(sums.shape, slack), wanted.row_judged, output=1)
    if found is None:
        return None
    worst = int(
        np.argmax(np.abs(got[found.index].astype(np.float64) - wanted.weights[found.index]))
    )
    index = (*found.index, worst)
    return Violation(
        "differs",
        f"the returned weights of row {list(found.index)} add up to {found.got:.6g}; its weight "
        f"{worst} is {float(got[index]):.6g}, expected {float(wanted.weights[index]):.6g}",
        output=1,
        index=index,
        expected=float(wanted.weights[index]),
        got=float(got[index]),
        allowed=float(wanted.weights_allowance[index]),
    )


@declare(
    "weights",
    "softmax_sum",
    "The returned weights of each row add up to one over the kept keys.",
    rows_sum_to_one,
    about="returned",
)
def weights_sum_to_one(make: Make) -> Iterator[Case]:
    for queries, keys in ((1, 1), (1, 2), (2, 2), (2, 3)):
        yield spotlight(make, queries, keys)
    for _ in range(make.examples // 4):
        keys = make.size(1, 6)
        yield case(make, make.lattice(2, 2), make.lattice(keys, 2), make.lattice(keys, 1))


@declare(
    "weights",
    "mask_renormalises",
    "Under a mask the returned weights are zero where masked and add up to one over the kept keys.",
    rows_sum_to_one,
    about="returned mask",
    needs="attn_mask",
    domain=no_empty_row,
)
def masked_weights_sum_to_one(make: Make) -> Iterator[Case]:
    if make.profile.bool_mask == "none":
        return
    for queries, keys in ((1, 2), (2, 2), (1, 3)):
        for keep in patterns(make, queries, keys):
            yield spotlight(make, queries, keys, attn_mask=make.mask(keep))


@declare(
    "weights",
    "weighted_sum",
    "The returned weights are those that the output was made with.",
    weights_agree,
    about="returned scale scores",
)
def weights_match_output(make: Make) -> Iterator[Case]:
    for a, b in product((0.0, 1.0), repeat=2):
        yield case(make, np.ones((1, 1)), np.array([[a], [b]]), np.eye(2))
    for _ in range(make.examples // 2):
        queries, keys = make.size(1, 4), make.size(1, 5)
        yield case(make, make.lattice(queries, 2), make.lattice(keys, 2), make.lattice(keys, 3))


@declare(
    "weights",
    "head_blocks",
    "Each head returns its own weights, not those of another or a mean.",
    weights_agree,
    about="returned heads scale scores",
)
def weights_of_each_head(make: Make) -> Iterator[Case]:
    for heads in (2, 3):
        query = np.ones((heads, 1, 1))
        key = np.zeros((heads, 2, 1))
        for h in range(heads):
            key[h, h % 2] = 1.0
        value = np.broadcast_to(np.eye(2), (heads, 2, 2))
        if make.rank == 4:
            query, key, value = query[None], key[None], value[None]
        yield case(make, query, key, value)


def _groups(make: Make) -> Iterator[Case]:
    """Grouped heads whose queries and keys all differ."""
    for heads, key_heads, keys in ((2, 1, 2), (4, 2, 2), (6, 2, 3), (6, 3, 2)):
        batch = (1,) if make.rank == 4 else ()
        lead, key_lead = (*batch, heads), (*batch, key_heads)
        query = (np.arange(float(heads)) % 3).reshape(*lead, 1, 1)
        key = (np.arange(float(key_heads * keys)) % 4).reshape(*key_lead, keys, 1)
        yield case(make, query, key, np.broadcast_to(np.eye(keys), (*key_lead, keys, keys)))


@declare(
    "weights",
    "gqa_tied",
    "With grouped heads each query head returns its own weights.",
    weights_agree,
    about="returned heads groups scale scores",
    needs="groups",
)
def weights_of_grouped_heads(make: Make) -> Iterator[Case]:
    yield from _groups(make)


def padded(make: Make, lengths: tuple[int, ...], queries: int = 1) -> Case:
    """A batch of samples of different length, padded at the end."""
    batch, keys = len(lengths), max(lengths)
    keep = (np.arange(keys) < np.array(lengths)[:, None])[:, None, None, :]
    return case(
        make,
        np.ones((batch, 1, queries, 1)),
        np.ones((batch, 1, keys, 1)),
        np.broadcast_to(np.eye(keys), (batch, 1, keys, keys)),
        attn_mask=make.mask(keep),
    )


@declare(
    "weights",
    "padding_invariance",
    "Each sample of a padded batch returns its own weights.",
    weights_agree,
    about="returned mask batch",
    needs="attn_mask",
    domain=no_empty_row,
)
def weights_of_each_sample(make: Make) -> Iterator[Case]:
    if make.profile.bool_mask not in ("attend", "masked"):
        return
    for lengths in ((1, 2), (2, 1), (1, 2, 3), (3, 1, 2), (2, 2)):
        yield padded(make, lengths)


@declare(
    "weights",
    "causal_first_row",
    "Under is_causal the returned weights vanish on later keys.",
    weights_agree,
    about="returned causal",
    needs="is_causal",
)
def causal_weights(make: Make) -> Iterator[Case]:
    if make.profile.causal_alignment == "none":
        return
    for n in make.borders(33):
        yield spotlight(make, n, n, is_causal=True)


@declare(
    "weights",
    "empty_row",
    "A fully masked row returns zero weights (or what the profile says).",
    weights_agree,
    about="returned mask empty",
    needs="attn_mask",
)
def empty_row_weights(make: Make) -> Iterator[Case]:
    if make.profile.bool_mask not in ("attend", "masked") or make.profile.empty_row_bool != "zeros":
        return
    for rows in ([[0]], [[0, 0]], [[0, 0], [1, 1]]):
        keep = np.array(rows, bool)
        yield spotlight(make, *keep.shape, attn_mask=make.mask(keep))


# ------------------------------------------------------------------ log-sum-exp
def lse_agrees(probe: Probe, one: Case) -> Violation | None:
    """The returned log-sum-exp is that of the scaled and masked scores."""
    wanted = expected_of(probe, one.args)
    return compare(
        probe.outputs(one)[1],
        wanted.lse,
        wanted.lse_allowance,
        wanted.row_judged,
        output=1,
        what="the log-sum-exp",
    )


@declare(
    "lse",
    "lse_bounds",
    "With a single key the log-sum-exp is its scaled score.",
    lse_agrees,
    about="returned scale",
)
def lse_of_a_single_key(make: Make) -> Iterator[Case]:
    for score in (0.0, 1.0, -1.0, 2.0):
        yield case(make, np.full((1, 1), score), np.ones((1, 1)), np.ones((1, 1)))
    yield case(make, np.ones((2, 4)), np.ones((1, 4)), np.ones((1, 1)))


@declare(
    "lse",
    "lse_bounds",
    "With n equal scores the log-sum-exp is the score plus log n (natural).",
    lse_agrees,
    about="returned",
)
def lse_counts_keys(make: Make) -> Iterator[Case]:
    for keys in make.borders():
        yield case(make, np.zeros((1, 1)), np.ones((keys, 1)), np.ones((keys, 1)))


@declare(
    "lse",
    "softmax_shift",
    "Adding a constant to every score adds it to the log-sum-exp.",
    lse_agrees,
    about="returned level",
)
def lse_at_any_level(make: Make) -> Iterator[Case]:
    for keys, level in product((1, 2), levels(make)):
        yield case(make, np.ones((1, 1)), np.full((keys, 1), level), np.ones((keys, 1)))


@declare(
    "lse",
    "mask_renormalises",
    "Masked keys do not enter the log-sum-exp.",
    lse_agrees,
    about="returned mask",
    needs="attn_mask",
    domain=no_empty_row,
)
def lse_of_kept_keys(make: Make) -> Iterator[Case]:
    if make.profile.bool_mask == "none":
        return
    for queries, keys in ((1, 2), (2, 2), (1, 3)):
        for keep in patterns(make, queries, keys):
            yield spotlight(make, queries, keys, attn_mask=make.mask(keep))
    for _ in range(make.examples // 4):
        keep = some_pattern(make, 2, make.size(2, 9))
        yield spotlight(make, *keep.shape, attn_mask=make.mask(keep))


@declare(
    "lse",
    "causal_first_row",
    "Under is_causal row i sums over keys 0 to i.",
    lse_agrees,
    about="returned causal",
    needs="is_causal",
)
def causal_lse(make: Make) -> Iterator[Case]:
    if make.profile.causal_alignment == "none":
        return
    for n in make.borders(33):
        yield spotlight(make, n, n, is_causal=True)


@declare(
    "lse",
    "empty_row",
    "A row without a kept key has log-sum-exp -inf.",
    lse_agrees,
    about="returned mask empty",
    needs="attn_mask",
)
def lse_of_an_empty_row(make: Make) -> Iterator[Case]:
    if make.profile.bool_mask not in ("attend", "masked") or make.profile.empty_row_bool != "zeros":
        return
    for rows in ([[0]], [[0, 0]], [[0, 0], [1, 1]]):
        keep = np.array(rows, bool)
        yield spotlight(make, *keep.shape, attn_mask=make.mask(keep))


@declare(
    "lse",
    "head_blocks",
    "Each head and sample returns its own log-sum-exp.",
    lse_agrees,
    about="returned batch heads scale",
)
def lse_of_each_head(make: Make) -> Iterator[Case]:
    for batch, heads in ((1, 2), (2, 1), (2, 2), (2, 3)):
        score = np.arange(float(batch * heads)).reshape(batch, heads, 1, 1)
        yield case(make, score, np.ones((batch, heads, 1, 1)), np.ones((batch, heads, 1, 1)))


@declare(
    "lse",
    "gqa_tied",
    "With grouped heads each query head returns its own log-sum-exp.",
    lse_agrees,
    about="returned batch heads groups scale scores",
    needs="groups",
)
def lse_of_grouped_heads(make: Make) -> Iterator[Case]:
    yield from _groups(make)


def merges(probe: Probe, one: Case) -> Violation | None:
    """Splitting the keys and merging the parts by their log-sum-exp gives the whole."""
    whole = expected_of(probe, one.args)
    keys = one.array("key").shape[-2]
    outputs, levels_ = [], []
    for part in (slice(0, keys // 2), slice(keys // 2, keys)):
        args = {
            **one.args,
            "key": np.ascontiguousarray(one.array("key")[..., part, :]),
            "value": np.ascontiguousarray(one.array("value")[..., part, :]),
        }
        output, lse = probe.outputs(one, args)
        wanted = expected_of(probe, args)
        if output.shape != wanted.output.shape or lse.shape != wanted.lse.shape:
            return compare(lse, wanted.lse, wanted.lse_allowance, output=1, what="the log-sum-exp")
        outputs.append(real(output))
        levels_.append(real(lse))
    with np.errstate(all="ignore"):
        share = 1.0 / (1.0 + np.exp(levels_[1] - levels_[0]))[..., None]
    merged: Array = share * outputs[0] + (1 - share) * outputs[1]
    slack = whole.allowance + 4 * whole.lse_allowance[..., None] * np.abs(one.array("value")).max()
    found = compare(merged, whole.output, slack, whole.judged, what="the merged output")
    if found is None:
        return None
    return Violation(
        "merge", found.message, expected=found.expected, got=found.got, allowed=found.allowed
    )


@declare(
    "lse",
    "merge_monoid",
    "Splitting the keys and merging by log-sum-exp gives the whole again.",
    merges,
    about="returned scale scores split",
)
def split_and_merge(make: Make) -> Iterator[Case]:
    for keys in (2, 3, 5, 9):
        key = (np.arange(float(keys)) % 3)[:, None]
        yield case(make, np.ones((1, 1)), key, np.eye(keys))
    for _ in range(make.examples // 4):
        keys = make.size(2, 9)
        yield case(make, make.lattice(2, 2), make.lattice(keys, 2), make.lattice(keys, 2))
