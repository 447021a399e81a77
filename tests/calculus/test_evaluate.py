"""Numbers as witnesses: values against those computed by hand."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import pytest

from attnproofs.calculus import (
    Scope,
    Sum,
    absolute,
    derivative,
    eq,
    exp,
    expect,
    flattened,
    ind,
    log,
    lt,
    softmax,
    span,
    sqrt,
    variance,
)
from attnproofs.calculus import evaluate as ev
from attnproofs.calculus.refute import refute, well_formed
from attnproofs.calculus.symbols import as_expr

F = Fraction
HALF = F(1, 2)


def scope() -> Scope:
    s = Scope("numbers")
    n = s.dimension("n")
    s.tensor("x", n)
    s.tensor("A", n, n)
    s.scalar("c")
    s.index("i", n)
    return s


INSTANCE = {
    "n": 3, "x": {(1,): F(1), (2,): F(-2), (3,): HALF}, "c": F(3), "i": 2,
    "A": {(a, b): F(10 * a + b) for a in (1, 2, 3) for b in (1, 2, 3)},
}  # fmt: skip


def value(make: Any) -> Any:
    s = scope()
    statement = s.claim(eq(make(s), 0))
    with mpmath.workdps(40):
        return ev.Values(statement, dict(INSTANCE), 40).real(statement.claim.lhs)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda s: s["c"] / 2 + 1, F(5, 2)),
        (lambda s: s["x"][s["i"]] ** 3, F(-8)),
        (lambda s: Sum(s["n"], lambda j: s["x"][j]), F(-1, 2)),
        (lambda s: Sum(span(2, 1), lambda j: s["x"][j]), F(0)),
        (lambda s: Sum(span(2, s["n"]), lambda j: 1 * j), F(5)),
        (lambda s: Sum(s["n"], lambda j: ind(j <= s["i"]) * s["x"][j]), F(-1)),
        (lambda s: Sum(s["n"], lambda j: ind(~(j.is_(s["i"]))) * 1), F(2)),
        (lambda s: (s["A"] @ s["A"].T)[1, 2], F(11 * 21 + 12 * 22 + 13 * 23)),
        (lambda s: s["A"].T[1, 3], F(31)),
        (lambda s: Sum(flattened(s["n"], 2), lambda p: as_expr(1)), F(6)),
        (lambda s: absolute(s["x"][2]), F(2)),
        (lambda s: 1 / (s["c"] - 3), F(0)),
        (lambda s: exp(s["c"] - 3), F(1)),
        (lambda s: log(s["c"] - 2), F(0)),
    ],
)
def test_rational_values_are_exact(make: Any, expected: Fraction) -> None:
    found = value(make)

    assert isinstance(found, Fraction)
    assert found == expected


def test_other_values_have_the_digits_asked_for() -> None:
    with mpmath.workdps(40):
        e = mpmath.e
        weight = mpmath.exp(-2) / (e + mpmath.exp(-2) + mpmath.sqrt(e))
        for found, expected in (
            (value(lambda s: exp(s["x"][1])), e),
            (value(lambda s: sqrt(s["c"])), mpmath.sqrt(3)),
            (value(lambda s: log(s["c"])), mpmath.log(3)),
            (value(lambda s: softmax(s["x"])[s["i"]]), weight),
            (value(lambda s: derivative(s["c"], s["c"] ** 2 * exp(s["c"]))), 15 * mpmath.exp(3)),
            (value(lambda s: derivative(s["x"][2], softmax(s["x"])[2])), weight * (1 - weight)),
        ):
            assert abs(found - expected) < mpmath.mpf(10) ** -36


def test_an_expectation_is_over_the_whole_law() -> None:
    s = Scope("random")
    q = s.family("q", 1, order=2)
    statement = s.claim(eq(variance(q[1]), expect(q[1] ** 2)))
    law = ev.Law(((F(1, 4), {(1,): F(2)}), (F(3, 4), {(1,): F(-2)})))
    look = ev.Values(statement, {"q": law})

    assert look.real(statement.claim.rhs) == 4
    assert look.real(statement.claim.lhs) == 3  # the mean is -1


def test_an_entry_out_of_range_is_zero_and_noted() -> None:
    s = scope()
    x = s["x"]
    found = ev.evaluate(s.claim(eq(x[s["i"] + 5], 0)), dict(INSTANCE))

    assert found.holds and found.out_of_range


@pytest.mark.parametrize(
    ("relation", "a", "b", "expected"),
    [
        ("=", F(1), F(1), True),
        ("=", F(1), F(1) + F(1, 10**60), False),
        ("<=", F(1), F(1), True),
        ("<", F(1), F(1), False),
        ("<", F(1), F(2), True),
        ("=", mpmath.mpf(1), F(1), True),
        ("=", mpmath.mpf(1), F(11, 10), False),
        ("<", mpmath.mpf(2), F(1), False),
    ],
)
def test_relations_of_values(relation: str, a: Any, b: Any, expected: bool) -> None:
    assert ev.related(relation, a, b, 50) is expected


def test_instances_meet_the_hypotheses_or_it_is_said() -> None:
    s = Scope("drawn")
    n = s.dimension("n")
    x = s.tensor("x", n)
    s.assume("positive", lambda j: lt(0, x[j]), over={"j": n})
    statement = s.claim(eq(x[1], x[1] + 0))
    drawn = [ev.draw(statement, k) for k in range(5)]
    assert all(v > 0 for values in drawn for v in values["x"].values())
    assert ev.draw(statement, 1) == ev.draw(statement, 1)

    s.assume("absurd", lt(x[1], 0))
    with pytest.raises(ev.NoInstance, match="give the part an `instance`"):
        ev.draw(s.claim(eq(x[1], x[1] + 0)), 0)


def test_a_false_claim_is_refuted_and_a_true_one_is_not() -> None:
    s = scope()
    x, c = s["x"], s["c"]
    found = refute(s.claim(eq((c + x[1]) ** 2, c**2 + x[1] ** 2)))
    assert found is not None and found.lhs != found.rhs
    assert "c = " in ev.describe(found.instance)
    assert refute(s.claim(eq((c + 1) ** 2, c**2 + 2 * c + 1)), tries=20) is None


def test_a_refutation_is_small() -> None:
    """The least size at which a claim fails, and small integers."""
    s = scope()
    n, x = s["n"], s["x"]
    found = refute(s.claim(eq(Sum(n, lambda j: x[j]) ** 2, Sum(n, lambda j: x[j] ** 2))))

    assert found is not None and found.instance["n"] == 2
    assert all(v.denominator == 1 and abs(v) <= 3 for v in found.instance["x"].values())


def test_a_claim_that_is_not_well_formed_fails_where_it_leaves_an_array() -> None:
    """Its sides are not compared, not even where they happen to differ."""
    s = Scope("sizes")
    m, n = s.dimensions("m n")
    x, i = s.tensor("x", m), s.index("i", n)
    claim = s.claim(eq(x[i], x[i] + 1))
    found = refute(claim)

    assert not well_formed(claim)
    assert found is not None and found.missing == ("x", (2,))
    assert (found.instance["m"], found.instance["n"]) == (1, 2)
