"""Making a counterexample smaller: fewer rows, then simpler numbers, while it still fails.

Sizes shrink by removing an index of a named axis from every array that has that axis, so that the
shapes go on fitting together. Numbers become 0 or 1 (masks: attend) where that keeps the failure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from attnproofs.contract.case import Case
from attnproofs.contract.wire import Array

#: Axis names of each argument, aligned at the right.
AXES: dict[str, tuple[str, ...]] = {
    "query": ("B", "Hq", "L", "E"),
    "key": ("B", "Hkv", "S", "E"),
    "value": ("B", "Hkv", "S", "Ev"),
    "attn_mask": ("B", "Hq", "L", "S"),
    "drop_keep": ("B", "Hq", "L", "S"),
    "grad_out": ("B", "Hq", "L", "Ev"),
    "sinks": ("Hq",),
    "queries": ("T", "E"),
    "keys": ("T", "E"),
    "values": ("T", "Ev"),
    "x_query": ("L", "M"),
    "x_source": ("S", "M"),
    "W_Q": ("M", "-"),
    "W_K": ("M", "-"),
    "W_V": ("M", "-"),
    "W_O": ("-", "N"),
    "b_O": ("N",),
    "scores": ("R", "C"),
}
#: Most calls that shrinking one counterexample may cost.
LIMIT = 400


def shrink(case: Case, fails: Callable[[Case], bool], limit: int = LIMIT) -> Case:
    """The smallest case found that still fails.

    Parameters
    ----------
    case
        A failing case.
    fails
        Whether a case fails in the same way; it is called at most `limit` times.
    """
    spent = 0
    moved = True
    while moved:
        moved = False
        for candidate in _smaller(case):
            if spent >= limit:
                return case
            spent += 1
            if fails(candidate):
                case, moved = candidate, True
                break
    return case


def _smaller(case: Case) -> Iterator[Case]:
    """Simpler cases, the boldest first."""
    for label in ("B", "S", "L", "T", "E", "Ev", "M", "N", "R", "C"):
        size = _extent(case, label)
        if size < 2:
            continue
        if size > 3:
            for keep in (np.arange(size // 2), np.arange(size // 2, size)):
                yield _select(case, {label: keep})
        for drop in range(min(size, 40) - 1, -1, -1):
            yield _select(case, {label: np.delete(np.arange(size), drop)})
    yield from _fewer_heads(case)
    for name in ("attn_mask",):
        if name in case.args and len(case.args) > 4 and not case.changed:
            rest = {k: v for k, v in case.args.items() if k != name}
            yield replace(case, args=rest)
    if {"stride0", "expanded"} & set(case.layouts.values()):
        return
    for name, value in case.args.items():
        if isinstance(value, np.ndarray) and value.size:
            yield from _simpler(case, name, value)


def _extent(case: Case, label: str) -> int:
    """Size of a named axis; 0 when no argument has it."""
    sizes = [
        value.shape[axis]
        for name, value in case.args.items()
        if isinstance(value, np.ndarray)
        for axis in _axes(name, value, label)
    ]
    return max(sizes, default=0)


def _axes(name: str, value: Array, label: str) -> Iterator[int]:
    """Positions (from the right, negative) of an axis in an argument."""
    labels = AXES.get(name, ())
    for back in range(1, min(len(labels), value.ndim) + 1):
        if labels[-back] == label:
            yield -back


def _select(case: Case, chosen: dict[str, Array]) -> Case:
    """Keep only the chosen indices of the named axes, in every argument."""

    def cut(name: str, value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        for label, keep in chosen.items():
            for axis in _axes(name, value, label):
                # an axis of one entry is broadcast and stays
                if value.shape[axis] > int(keep.max(initial=-1)):
                    value = np.take(value, keep, axis)
        return np.ascontiguousarray(value)

    return replace(
        case,
        args={name: cut(name, value) for name, value in case.args.items()},
        changed={name: cut(name, value) for name, value in case.changed.items()},
    )


def _fewer_heads(case: Case) -> Iterator[Case]:
    """Drop a key head with its group of query heads, or one query head of every group."""
    query_heads, key_heads = _extent(case, "Hq"), _extent(case, "Hkv")
    if key_heads < 1 or query_heads < 2 or query_heads % key_heads:
        return
    group = query_heads // key_heads
    heads = np.arange(query_heads)
    if key_heads > 1:
        for drop in range(key_heads - 1, -1, -1):
            keep = {
                "Hkv": np.delete(np.arange(key_heads), drop),
                "Hq": heads[heads // group != drop],
            }
            yield _select(case, keep)
    if group > 1:
        for drop in range(group - 1, -1, -1):
            yield _select(case, {"Hq": heads[heads % group != drop]})


def _simpler(case: Case, name: str, value: Array) -> Iterator[Case]:
    """Set all entries, then single ones, to 0 or 1 (True for a mask)."""
    if value.dtype == bool:
        for index in zip(*np.nonzero(~value)):
            fresh = value.copy()
            fresh[index] = True
            yield case.with_args(**{name: fresh})
        return
    if value.dtype.kind in "iu":
        return
    for constant in (0.0, 1.0):
        if not (value == constant).all() and np.isfinite(value.astype(float)).all():
            yield case.with_args(**{name: np.full_like(value, constant)})
    if value.size > 64:
        return
    for index in np.ndindex(value.shape):
        entry = float(value[index])
        if not np.isfinite(entry) or entry == 0.0:
            continue
        for simple in (0.0, 1.0, -1.0, float(np.round(entry))):
            if _plainer(simple, entry):
                fresh = value.copy()
                fresh[index] = simple
                yield case.with_args(**{name: fresh})


def _plainer(simple: float, entry: float) -> bool:
    """Whether `simple` is easier to read than `entry`: 0, then 1, then -1, then whole numbers."""
    order = {0.0: 0, 1.0: 1, -1.0: 2}
    rank = order.get(entry, 3 if entry == np.round(entry) else 4)
    return order.get(simple, 3) < rank
