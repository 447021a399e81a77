"""An index pair stands alone on a flattened axis: no arithmetic, no comparison, no number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from attnproofs.calculus import Scope
from attnproofs.kernel import context, terms
from attnproofs.kernel import index as ix
from attnproofs.kernel.refused import Refused
from tests.kernel.steps import certificate, verdict

PAIR = ("pair", ix.ONE, ix.ONE)
I = ix.var("i")
RANGE = ("range", ix.ONE, I)
LOOSE = ix.atom(("b", 3))
INT = {"i": ("int", PAIR)}


def pair(_: ix.Atom) -> ix.Index:
    return PAIR


@pytest.mark.parametrize(
    ("attempt", "because"),
    [
        (lambda: ix.substitute(ix.add(I, ix.ONE), pair), "cannot be used in arithmetic"),
        (lambda: ix.axis_substitute(RANGE, pair), "the bounds of a range must be integers"),
        (lambda: ix.cond_substitute(ix.ge(I), pair), "cannot be compared as an integer"),
        (lambda: ix.substitute(ix.atom(("f", "r", (I,))), lambda a: PAIR if a[0] == "v" else None),
         "cannot be an argument of the index function r"),
        (lambda: terms.substitute(("ix", I), INT), "cannot be used as a number"),
        (lambda: terms.map_indices(("ix", I), lambda p, at: PAIR), "where an integer is expected"),
        (lambda: list(context.range_facts(PAIR, RANGE)), "on an axis that is not flattened"),
        (lambda: list(context.range_facts(I, ("prod", RANGE, RANGE))), "has index pairs"),
        (lambda: terms.substitute(("ent", "x", (I,)), {"x": ("lam", 2, ("q", 1, 1))}),
         "a tensor of 1 axes is replaced by something else"),
        (lambda: terms.substitute(("ix", ix.atom(("f", "r", (I,)))), {"r": ("fun", 1, LOOSE)}),
         "a bound index stands outside its binder"),
        (lambda: terms.instantiate(("ix", LOOSE), (I,)), "a bound index stands outside"),
    ],
)  # fmt: skip
def test_it_is_refused(attempt: Callable[[], Any], because: str) -> None:
    with pytest.raises(Refused, match=because):
        attempt()


def test_a_pair_passes_where_it_stands_alone() -> None:
    assert ix.substitute(I, pair) == PAIR
    assert terms.substitute(("ent", "x", (I,)), INT) == ("ent", "x", (PAIR,))


def test_looks_at_terms_are_bounded() -> None:
    context.begin()
    with pytest.raises(Refused, match="the terms unfold to more than this kernel"):
        while True:
            context.spend()
    context.begin()
    context.spend()


def test_an_index_step_adds_no_summand() -> None:
    s = Scope("case")
    x, y = s.scalar("x"), s.scalar("y")
    made = certificate(s, x + y, x + y, "ixeq")
    made["parts"][0]["statement"]["claim"]["rhs"].append(["sym", "y"])
    made["parts"][0]["proof"]["steps"][0]["term"].append(["sym", "y"])
    assert "ixeq: the two sides differ in more than indices" in verdict(made)
