"""Guards that the other tests do not reach, found by deleting them (docs/mutation.md)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from attnproofs.calculus import (
    Scope,
    Sum,
    absolute,
    derivative,
    dot,
    eq,
    exp,
    expect,
    flattened,
    softmax,
    span,
)
from attnproofs.kernel import read
from attnproofs.kernel.refused import Refused
from attnproofs.kernel.replay import Replay, replay_all
from attnproofs.kernel.statement import canonical
from attnproofs.theorems import theorem
from tests.kernel.steps import certificate, verdict
from tests.kernel.test_lemmas import scalar, use
from tests.kernel.test_replay import AXIS, ONE, Q1, C, I, J, N, definition, entry, of
from tests.kernel.test_wrong_steps import CASES

EQUALITIES = {
    "ixeq", "rec", "sum_swap", "sum_split", "sum_bij", "abs_val", "sqrt_square", "E_indep", "diff",
}  # fmt: skip


def equality_steps() -> dict[str, Callable[[], dict[str, Any]]]:
    """Return the accepted equalities at the root (below it, signs are asked for first)."""
    found = {}
    for name, because, build in CASES:
        step = build()["parts"][0]["proof"]["steps"][0]
        if not because and step["rule"] in EQUALITIES and not step["at"]:
            found[name] = build
    return found


@pytest.mark.parametrize("name", list(equality_steps()))
def test_an_equality_rule_proves_no_inequality(name: str) -> None:
    made = equality_steps()[name]()
    step = made["parts"][0]["proof"]["steps"][0]
    step["relation"] = made["parts"][0]["statement"]["claim"]["relation"] = "<="
    assert f"{step['rule']} proves an equality, not <=" in verdict(made)


def test_a_number_that_nobody_could_write_out_is_not_computed() -> None:
    s = Scope("case")
    x = s.scalar("x")
    tower = ((x * 0 + 3) ** 64) ** 64
    assert verdict(certificate(s, tower, tower + 0, "ring")) == ""
    taller = tower**64
    found = verdict(certificate(s, taller, taller + 0, "ring"))
    assert "a number in the expression is too large to write out" in found


def test_an_index_step_keeps_the_form_of_the_term() -> None:
    s = Scope("case")
    n = s.dimension("n")
    x = s.tensor("x", n)
    more = "ixeq: the two sides differ in more than indices"
    assert more in verdict(certificate(s, x[1], 1 + x[1], "ixeq"))
    assert more in verdict(
        certificate(s, Sum(flattened(n, n), lambda p: 1), Sum(n, lambda p: 1), "ixeq")
    )


def recursive(body: Any, claimed: Any, stage: Any) -> str:
    """Define f(0) = 1 and f(k + 1) = body, and claim f(stage) by one step of the recursion."""
    s = Scope("case")
    n = s.dimension("n")
    s.index("i", span(0, n))
    made = certificate(s, n * 1, n + 0, "rec")
    part = made["parts"][0]
    f = ["app", "f", [["int", stage]], []]
    part["statement"]["definitions"] = [
        definition(params=[["int", "k", 0]], recursion="k", base=Q1, body=body)
    ]
    part["statement"]["claim"] |= {"lhs": f, "rhs": claimed}
    part["proof"]["start"], part["proof"]["steps"][0]["term"] = f, claimed
    return verdict(made)


def test_a_recursion_step_is_the_defining_equation_at_a_later_stage() -> None:
    two = ["q", 2, 1]
    assert recursive(two, two, N) == ""
    assert "rec: not the defining equation of f" in recursive(two, ["q", 3, 1], N)
    assert "rec: cannot show 0 <= i-1" in recursive(two, two, I)
    assert recursive(two, Q1, []) == ""


def test_a_derivative_of_a_derivative_is_not_computed() -> None:
    s = Scope("case")
    x, y = s.scalar("x"), s.scalar("y")
    made = certificate(s, derivative(x, derivative(y, x * y)), 1, "diff")
    assert "diff: no rule for the derivative of D with respect to x" in verdict(made)


def test_random_entries_inside_a_defined_symbol_are_unfolded_first() -> None:
    s = Scope("case")
    d = s.dimension("d")
    q = s.family("q", d, order=3, independent=True)
    made = certificate(s, expect(dot(q, q) * q[1]), expect(dot(q, q)) * expect(q[1]), "E_indep")
    assert "E_indep: entries of q stand inside app; unfold it first" in verdict(made)


def test_a_cited_hypothesis_exists() -> None:
    s = Scope("case")
    x = s.scalar("x")
    facts = {"facts": [{"name": "nonsense", "at": {}}]}
    made = certificate(s, 0, exp(x), "sign", facts, relation="<")
    assert "no hypothesis nonsense may be used here" in verdict(made)


def test_an_equation_that_a_lemma_assumes_must_be_shown() -> None:
    s = Scope("equal")
    x, y = s.scalar("x"), s.scalar("y")
    s.assume("same", eq(x, y))
    lemma = certificate(s, exp(x), exp(y), "hyp", {"name": "same", "at": {}}, at=(0,))
    u = Scope("user")
    a, b = u.scalar("a"), u.scalar("b")
    values = {"x": scalar("a"), "y": scalar("b")}
    found = use(lemma, u, exp(a), exp(b), **values)
    assert "lemma equal needs its hypothesis same, which is not shown here" in found
    u.assume("known", eq(a, b))
    assert use(lemma, u, exp(a), exp(b), **values) == ""


def test_a_factorisation_is_shown_by_equalities_and_by_no_induction() -> None:
    s = Scope("case")
    n = s.dimension("n")
    for name in ("A", "B"):
        s.tensor(name, n, n)
    for name in ("i", "j"):
        s.index(name, n)
    made = certificate(s, s["A"][1, 1], s["A"][1, 1] + 0, "ring", relation="<=")
    part = made["parts"][0]
    term = ["sum", AXIS, ["mul", entry("A", I, C), entry("B", C, J)]]
    part["statement"]["claim"] |= {"relation": "factors", "lhs": term, "rhs": None, "row": "i",
                                   "column": "j", "axis": AXIS}  # fmt: skip
    part["proof"]["start"] = part["proof"]["steps"][0]["term"] = term
    assert "a factorisation is shown by equalities" in verdict(made)
    part["proof"]["steps"][0]["relation"] = "="
    assert verdict(made) == ""
    part["statement"]["claim"]["rhs"] = ["lam", 2, ["ent", "B", [C, [[[["b", 1]], 1]]]]]
    assert verdict(made) == ""
    part["statement"]["claim"]["rhs"] = ["lam", 2, ["ent", "B", [[[[["b", 1]], 1]], C]]]
    assert "factor: the right factor is not the one that is claimed" in verdict(made)
    part["statement"]["claim"]["rhs"] = ["lam", 1, Q1]
    assert "the prescribed factor of a factorisation has two axes" in verdict(made)
    part["statement"]["declared"].append(
        {"kind": "dimension", "name": "m", "axes": [], "least": 1, "codomain": None, "order": 0,
         "independent": False}
    )  # fmt: skip
    part["statement"]["claim"]["rhs"] = None
    part["proof"] = {"kind": "induct", "on": "m", "from": 1, "base": part["proof"],
                     "step": part["proof"]}  # fmt: skip
    assert "an induction proves a relation" in verdict(made)


def test_a_deep_statement_is_refused_without_a_recursion_error() -> None:
    made, statement, _ = of("softmax_sum")
    term: Any = Q1
    for _ in range(3000):
        term = ["exp", term]
    statement["claim"]["lhs"] = term
    with pytest.raises(Refused, match="the statement is nested too deeply"):
        Replay().load(made)


def test_replaying_many_names_the_one_that_is_refused() -> None:
    good = json.loads(canonical(theorem("gauss").certificate()))
    assert len(replay_all([good])) == len(good["parts"])
    bad, _, proof = of("softmax_shift")
    proof["steps"] = []
    with pytest.raises(Refused, match="softmax_shift: "):
        replay_all([good, bad])


def test_a_rational_of_a_term_has_a_positive_denominator() -> None:
    with pytest.raises(Refused, match="not in lowest terms"):
        read.term(["q", 1, -2])
    assert read.axis(["range", ONE, N]) == read.axis(AXIS)


@pytest.mark.parametrize(
    ("before", "after", "at", "because"),
    [
        (lambda s: s["x"], lambda s: s["x"], (0,), "the position of the step does not exist"),
        (lambda s: exp(s["x"]), lambda s: exp(s["x"]), (1,), "the position of the step does not"),
        (lambda s: softmax(s["v"])[1], lambda s: softmax(s["v"])[1], (0,), "the position of the"),
        (lambda s: softmax(s["v"])[1], lambda s: softmax(s["v"])[1], (5,), "the position of the"),
        (lambda s: s["x"] + 1, lambda s: s["x"] * 1, (0,), "differ outside the position"),
        (lambda s: exp(s["x"]), lambda s: absolute(s["x"]), (0,), "differ outside the position"),
        (lambda s: s["x"] + 1, lambda s: s["x"] + 1 + 1, (1,), "differ outside the position"),
        (lambda s: s["x"] ** 2, lambda s: s["x"] ** 3, (0,), "differ outside the position"),
        (lambda s: softmax(s["v"])[1], lambda s: softmax(s["v"])[2], (1,), "differ outside the"),
        (lambda s: Sum(s["n"], lambda i: s["x"]), lambda s: Sum(2, lambda i: s["x"]), (0,),
         "differ outside the position"),
        (lambda s: derivative(s["x"], s["x"]), lambda s: derivative(s["y"], s["x"]), (0,),
         "differ outside the position"),
    ],
)  # fmt: skip
def test_a_step_changes_its_position_only(before: Any, after: Any, at: Any, because: str) -> None:
    s = Scope("case")
    n = s.dimension("n", least=1)
    s.tensor("v", n)
    s.scalar("x")
    s.scalar("y")
    s.assume("two", n >= 2)
    assert because in verdict(certificate(s, before(s), after(s), "ring", at=at))
