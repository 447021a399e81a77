"""Refuting a false claim by numbers: the smallest instance at which it fails."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import product

from attnproofs.calculus.evaluate import Instance, NoInstance, Sample, as_mpf, draw, evaluate
from attnproofs.kernel.refused import Refused
from attnproofs.kernel.statement import Statement
from attnproofs.kernel.wellformed import check_statement

_MOST_BEYOND = 4  # by how much all dimensions of a small instance exceed their least values
_DRAWS_A_SIZE = 6


def refute(
    statement: Statement,
    *,
    given: Callable[[random.Random], Instance] | None = None,
    digits: int = 50,
    tries: int = 200,
) -> Sample | None:
    """Return an instance at which the claim fails, or None. Small instances are tried first.

    Where both sides should be equal they differ visibly, if possible. A claim that is not well
    formed has no sides to compare: it fails where it asks for an entry that does not exist.
    """
    fits = well_formed(statement)
    fallback: Sample | None = None
    for candidates in _candidates(statement, given, tries):
        found = [evaluate(statement, values, digits=digits) for values in candidates]
        found = [x for x in found if (not x.holds if fits else x.out_of_range)]
        clear = [x for x in found if not fits or _visible(statement.claim.relation, x)]
        if clear:
            return min(clear, key=_entries)
        fallback = fallback or next(iter(found), None)
    return fallback


def well_formed(statement: Statement) -> bool:
    """Tell whether the kernel accepts the shapes, ranges and guards of a statement."""
    try:
        check_statement(statement)
    except Refused:
        return False
    return True


def _entries(found: Sample) -> int:
    """Count the numbers of an instance."""
    return sum(len(v) if isinstance(v, dict) else 1 for v in found.instance.values())


def _candidates(
    statement: Statement, given: Callable[[random.Random], Instance] | None, tries: int
) -> Iterator[list[Instance]]:
    """Yield groups of instances of one size each, the smallest first, then random ones."""
    free = sum(d.kind == "dimension" for d in statement.declared)
    for total in range(_MOST_BEYOND + 1):
        for beyond in product(range(total + 1), repeat=free):
            if sum(beyond) != total:
                continue
            group = []
            for k in range(_DRAWS_A_SIZE):
                try:
                    group.append(draw(statement, f"small{total}.{k}", given, beyond=beyond))
                except NoInstance:
                    break
            yield group
    for k in range(tries):
        yield [draw(statement, f"refute{k}", given)]


def _visible(relation: str, found: Sample) -> bool:
    """Tell whether the sides of a false equality differ in their first digits."""
    if relation != "=":
        return True
    lhs, rhs = as_mpf(found.lhs), as_mpf(found.rhs)
    return bool(abs(lhs - rhs) > max(1, abs(lhs), abs(rhs)) / 10**4)
