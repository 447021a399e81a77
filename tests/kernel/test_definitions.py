"""A defined symbol is used with exactly the parts that its definition declares."""

from __future__ import annotations

from typing import Any

import pytest

from attnproofs.kernel import index as ix
from attnproofs.kernel.definitions import definition_of, unfolded
from attnproofs.kernel.refused import Refused
from attnproofs.kernel.statement import Claim, Definition, Statement

ZERO: Any = ("q", 0, 1)
AXIS = ("range", ix.var("n"))
EXPLICIT = Definition(
    "f", (("int", "n"), ("tensor", "x", (AXIS,)), ("real", "c")), (), ZERO, None, None
)
RECURSIVE = Definition("g", (("int", "n"),), (), ZERO, "n", ("q", 1, 1))
STATEMENT = Statement("s", (), Claim("=", ZERO, ZERO), definitions=(EXPLICIT, RECURSIVE))
N: Any = ("int", ix.var("n"))
VECTOR: Any = ("lam", 1, ZERO)
REAL: Any = ("real", ZERO)


def test_the_declared_parts_are_accepted() -> None:
    assert definition_of(STATEMENT, ("app", "f", (N, VECTOR, REAL), ())) is EXPLICIT
    assert unfolded(STATEMENT, ("app", "f", (N, VECTOR, REAL), ())) == ZERO


@pytest.mark.parametrize(
    ("arguments", "indices", "message"),
    [
        ((N, VECTOR), (), "f takes 3 arguments and 0 indices, not 2 and 0"),
        ((N, VECTOR, REAL), (ix.ZERO,), "f takes 3 arguments and 0 indices, not 3 and 1"),
        ((REAL, VECTOR, REAL), (), "argument n of f is of the wrong kind"),
        ((N, REAL, REAL), (), "argument x of f is of the wrong kind"),
        ((N, VECTOR, N), (), "argument c of f is of the wrong kind"),
        ((N, ("lam", 2, ZERO), REAL), (), "argument x of f has 2 axes, not 1"),
    ],
)
def test_other_parts_are_refused(arguments: Any, indices: Any, message: str) -> None:
    with pytest.raises(Refused, match=message):
        definition_of(STATEMENT, ("app", "f", arguments, indices))


def test_a_recursive_definition_is_not_unfolded() -> None:
    with pytest.raises(Refused, match="g is defined by recursion; use the rule rec"):
        unfolded(STATEMENT, ("app", "g", (N,), ()))
