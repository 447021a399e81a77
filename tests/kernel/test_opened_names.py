"""The names that opening a binder gives to its index cannot be used to capture it."""

from __future__ import annotations

from typing import Any

from attnproofs.calculus import Scope, Sum, eq
from attnproofs.calculus.symbols import Ix, as_expr
from attnproofs.kernel import index as ix
from tests.kernel.steps import certificate, verdict

OPENED = [[[["v", "%0"]], 1]]


def test_a_line_cannot_name_an_opened_index() -> None:
    """Else the sum of all j would be n times one number, the same for every n."""
    s = Scope("case")
    n = s.dimension("n")
    honest = certificate(s, Sum(n, as_expr), Sum(n, as_expr) + 0, "ring")
    forged = ["sum", ["range", [[[], 1]], [[[["v", "n"]], 1]]], ["ix", OPENED]]
    proof = honest["parts"][0]["proof"]
    steps = proof["steps"]
    steps.insert(0, {**steps[0], "term": forged})

    assert "a line may not mention an opened index" in verdict(honest)


def test_a_statement_cannot_name_an_opened_index() -> None:
    """Neither in its claim nor in an axis."""
    s = Scope("case")
    n = s.dimension("n")
    data = certificate(s, Sum(n, as_expr), Sum(n, as_expr) + 0, "ring")
    data["parts"][0]["statement"]["claim"]["lhs"][2] = ["ix", OPENED]

    assert "a name may not begin with %" in verdict(data)


def hypothesis_below_a_sum(named: str) -> dict[str, Any]:
    s = Scope("case")
    n = s.dimension("n")
    x = s.tensor("x", n)
    s.assume("zero", lambda a: eq(x[a], 0), over={"a": n})
    at = {"a": Ix(ix.var(named)).index}
    return certificate(
        s, Sum(n, lambda j: x[j]), Sum(n, lambda j: 0), "hyp", {"name": "zero", "at": at}, at=(0,)
    )


def test_an_argument_names_indices_that_are_open_at_the_position_only() -> None:
    """The index of the sum around the position is %0 there; there is no %1."""
    assert verdict(hypothesis_below_a_sum("%0")) == ""
    assert "not open at the position" in verdict(hypothesis_below_a_sum("%1"))
