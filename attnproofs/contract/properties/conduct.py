"""Properties of conduct, the same for every level: repeatable, inputs left alone, data type.

They come first, because a function that answers the same call differently violates everything.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from attnproofs.contract.case import Case, Violation
from attnproofs.contract.property import LEVELS, TUPLES, Make, Probe, declare
from attnproofs.contract.wire import Array, dtype_named

#: Bytes that one call may print.
PRINT_LIMIT = 64 << 10
#: Bytes that 100 calls on tiny arrays may leave behind.
LEAK_LIMIT = 8 << 20


def plain_case(
    level: str,
    make: Make,
    variant: str = "",
    *,
    grouped: bool = False,
    sizes: tuple[int, int] = (2, 3),
) -> tuple[Case, list[tuple[int, ...]]]:
    """A case that every function of a level should take, and the shapes it should give back."""
    queries, keys = sizes
    dtype = dtype_named(make.dtype)
    if level == "softmax":
        scores = np.arange(float(queries * keys)).reshape(queries, keys).astype(dtype) % 3
        return Case({"scores": scores}), [scores.shape]
    if level == "decode":
        rows = {n: np.ones((queries, 2), dtype) for n in ("queries", "keys")}
        rows["values"] = _counting(queries, dtype)
        return Case(rows), [(queries, 2)]
    if level == "mha":
        args: dict[str, Any] = {
            "x_query": np.ones((queries, 2), dtype),
            "x_source": _counting(keys, dtype),
            **{n: np.eye(2).astype(dtype) for n in ("W_Q", "W_K", "W_V", "W_O")},
            "num_heads": 1,
        }
        return Case(args), [(queries, 2)]
    return _attention_case(level, make, variant, queries, keys, grouped=grouped)


def _counting(rows: int, dtype: Any) -> Array:
    """Rows that differ, so that a stale or missing one shows."""
    return np.stack([np.arange(1.0, rows + 1), np.ones(rows)], -1).astype(dtype)


def _attention_case(
    level: str, make: Make, variant: str, queries: int, keys: int, *, grouped: bool
) -> tuple[Case, list[tuple[int, ...]]]:
    """The plain case of the levels with query, key and value."""
    dtype = dtype_named(make.dtype)
    heads = (4, 2) if grouped else (1, 1)
    rank = max(make.rank, 3 if grouped or variant in ("sinks", "alibi") else 2)
    lead, key_lead = (1,) * (rank - 3) + (heads[0],), (1,) * (rank - 3) + (heads[1],)
    lead, key_lead = lead[: rank - 2], key_lead[: rank - 2]
    args: dict[str, Any] = {
        "query": np.ones((*lead, queries, 2), dtype),
        "key": np.ones((*key_lead, keys, 2), dtype),
        "value": np.broadcast_to(_counting(keys, dtype), (*key_lead, keys, 2)).copy(),
    }
    if grouped and "enable_gqa" in make.claims:
        args["enable_gqa"] = True
    args.update(neutral(variant, make, args))
    if variant == "varlen":
        for name in ("query", "key", "value"):
            args[name] = np.ones((queries, 1, 2), dtype)
        args["value"] = _counting(queries, dtype)[:, None]
        args["cu_seqlens"] = np.array([0, queries])
        return Case(args), [(queries, 1, 2)]
    out = (*lead, queries, 2)
    if level == "weights":
        return Case(args), [out, (*lead, queries, keys)]
    if level == "lse":
        return Case(args), [out, (*lead, queries)]
    if level == "grad":
        args["grad_out"] = np.ones(out, dtype)
        return Case(args), [out, args["key"].shape, args["value"].shape]
    return Case(args), [out]


def neutral(variant: str, make: Make, args: dict[str, Any]) -> dict[str, Any]:
    """Arguments with which a variant's required keywords do least."""
    shape = (*args["query"].shape[:-1], args["key"].shape[-2])
    if variant == "softcap":
        return {"softcap": 50.0}
    if variant == "sinks":
        return {"sinks": np.zeros(shape[-3])}
    if variant == "window":
        wide = 1 << 20
        return (
            {"window": (wide, wide)} if "window" in make.claims else {"left": wide, "right": wide}
        )
    if variant == "dropout":
        return {"drop_keep": np.ones(shape, bool), "p": 0.5}
    return {}


def _plain_cases(level: str, make: Make) -> Iterator[Case]:
    for queries, keys in ((1, 1), (1, 2), (2, 2), (2, 3), (3, 5), (5, 9)):
        yield plain_case(level, make, make.variant, sizes=(queries, keys))[0]


def _doubled(args: dict[str, Any]) -> dict[str, Any]:
    """The same shapes with other numbers."""
    return {n: 2 * a for n, a in args.items() if isinstance(a, np.ndarray) and a.dtype.kind == "f"}


def no_change_of_answer(probe: Probe, one: Case) -> Violation | None:
    """The same call again and again gives the same answer, bit for bit."""
    answer = probe.repeat(one, one.times)
    if answer["differing"] is None:
        return None
    count = answer["differing"]["call"]
    return Violation("unequal", f"call {count} with the same arguments gives another answer")


def no_trace_of_others(probe: Probe, one: Case) -> Violation | None:
    """A call gives the same answer, bit for bit, after another call as before it."""
    first = probe.outputs(one)
    probe.outputs(one, one.second())
    again = probe.outputs(one)
    if [(a.shape, a.tobytes()) for a in first] == [(a.shape, a.tobytes()) for a in again]:
        return None
    return Violation("unequal", "the same call gives another answer after a different call")


def inputs_left_alone(probe: Probe, one: Case) -> Violation | None:
    """No argument is written to, and the result is no view of one."""
    answer = probe.repeat(one, 1)["first"]
    for name in answer.get("mutated", []):
        return Violation("mutated", f"the call changes its argument {name}")
    for name in answer.get("aliases", []):
        return Violation("aliases", f"the result shares memory with the argument {name}")
    return None


def right_dtype(probe: Probe, one: Case) -> Violation | None:
    """The result has the data type of the inputs, or (except for sdpa) a wider one."""
    wanted = one.array(LEVELS[probe.level][0][0]).dtype
    for number, got in enumerate(a.dtype for a in probe.outputs(one)):
        exact = probe.level in ("sdpa", "weights", "lse") and number == 0 and not probe.variant
        wider = got.kind == "f" and got.itemsize >= wanted.itemsize
        if got != wanted and (exact or not wider):
            return Violation(
                "dtype",
                f"the result is {got.name}, the inputs are {wanted.name}",
                output=number,
                wanted=wanted.name,
            )
    return None


def little_left_behind(probe: Probe, one: Case) -> Violation | None:
    """Memory after 200 calls is about that after 100."""
    start, half, end = probe.repeat(one, 200, to_the_end=True)["memory"]
    if half - start > LEAK_LIMIT and end - half > LEAK_LIMIT:
        return Violation(
            "memory", f"calls on tiny arrays leave memory behind: {(end - start) >> 20} MiB so far"
        )
    return None


def _declare(level: str) -> None:
    """The properties of conduct for one level."""

    @declare(
        level,
        "single_head_formula",
        "The same call again gives the same answer: no randomness, no memory of earlier calls.",
        no_change_of_answer,
        dtypes=("float64",),
        anywhere=True,
    )
    def same_answer_twice(make: Make) -> Iterator[Case]:
        for case in _plain_cases(level, make):
            yield Case(case.args, times=64)

    @declare(
        level,
        "kv_cache" if level == "decode" else "single_head_formula",
        "A call gives the same answer after other calls as before them: nothing is kept.",
        no_trace_of_others,
        dtypes=("float64",),
        anywhere=True,
    )
    def same_answer_after_others(make: Make) -> Iterator[Case]:
        cases = list(_plain_cases(level, make))
        for case, other in zip(cases, [*cases[1:], cases[0]]):
            yield Case(case.args, changed=other.args)
            yield Case(case.args, changed=_doubled(case.args))

    @declare(
        level,
        "single_head_formula",
        "No argument is changed by the call, and the result shares no memory with one.",
        inputs_left_alone,
        about="memory",
        anywhere=True,
    )
    def inputs_unchanged(make: Make) -> Iterator[Case]:
        for case in _plain_cases(level, make):
            yield case
            if "attn_mask" in make.claims and "query" in case.args and make.variant != "varlen":
                shape = (case.array("query").shape[-2], case.array("key").shape[-2])
                keep = np.ones(shape, bool)
                keep[0, 1:] = False
                if make.profile.bool_mask != "none":
                    yield case.with_args(attn_mask=make.mask(keep))
                if make.profile.additive_mask != "yes":
                    continue
                yield case.with_args(attn_mask=make.additive(keep))
                if "is_causal" in make.claims and make.profile.mask_and_causal == "and":
                    yield case.with_args(attn_mask=make.additive(keep | True), is_causal=True)

    @declare(
        level,
        "single_head_formula",
        "The result has the data type of the inputs.",
        right_dtype,
        about="dtype",
        anywhere=True,
    )
    def result_dtype(make: Make) -> Iterator[Case]:
        yield from _plain_cases(level, make)

    @declare(
        level,
        "single_head_formula",
        "Repeated calls do not leave memory behind.",
        little_left_behind,
        about="leak",
        dtypes=("float64",),
        anywhere=True,
    )
    def leaves_no_memory(make: Make) -> Iterator[Case]:
        yield plain_case(level, make, make.variant)[0]


for _level in LEVELS:
    _declare(_level)
assert set(TUPLES) <= set(LEVELS)
