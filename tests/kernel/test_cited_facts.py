"""Facts that a step cites, and the rules that need them: each accepted case has a refused twin."""

from __future__ import annotations

from typing import Any

import pytest

from attnproofs.calculus import (
    Scope,
    Sum,
    absolute,
    array,
    exp,
    flattened,
    ind,
    le,
    log,
    softmax,
    weights,
)
from attnproofs.theorems.softmax.softmax_sum import THEOREM as softmax_sum
from attnproofs.theorems.sums.abs_ge import THEOREM as abs_ge
from attnproofs.theorems.sums.exp_ge_one import THEOREM as exp_ge_one
from tests.kernel.steps import certificate, verdict


def bounded(*names: str) -> tuple[Scope, Any, Any]:
    s = Scope("case")
    x, u = s.scalar("x"), s.scalar("u")
    if "below" in names:
        s.assume("below", le(-u, x))
    if "above" in names:
        s.assume("above", le(x, u))
    return s, x, u


def test_an_absolute_value_is_bounded_when_both_sides_are_known() -> None:
    s, x, u = bounded("below", "above")
    assert verdict(certificate(s, absolute(x), u, "abs_bound", relation="<=")) == ""


@pytest.mark.parametrize("known", ["below", "above"])
def test_one_side_does_not_bound_an_absolute_value(known: str) -> None:
    s, x, u = bounded(known)
    found = verdict(certificate(s, absolute(x), u, "abs_bound", relation="<="))
    assert "abs_bound: cannot show that the argument lies between -u and u" in found


@pytest.mark.parametrize("sign", [1, -1])
def test_a_number_and_its_negative_are_at_most_the_absolute_value(sign: int) -> None:
    s, x, _ = bounded()
    assert verdict(certificate(s, sign * x, absolute(x), "abs_bound", relation="<=")) == ""


def test_another_number_is_not_at_most_the_absolute_value() -> None:
    s, x, u = bounded()
    found = verdict(certificate(s, u, absolute(x), "abs_bound", relation="<="))
    assert "abs_bound: the left side is no absolute value, nor t or -t" in found


def test_a_bound_of_an_absolute_value_is_not_strict() -> None:
    s, x, u = bounded("below", "above")
    found = verdict(certificate(s, absolute(x), u, "abs_bound", relation="<"))
    assert "abs_bound proves an inequality <=" in found


# ---------------------------------------------------------------------- facts for every index


def remainder(facts: list[dict[str, Any]]) -> str:
    """Claim ``0 <= sum_j (1 - p_j)``: it needs that no weight exceeds 1, for every j."""
    s = Scope("case")
    n = s.dimension("n")
    p = softmax(s.tensor("s", n))
    one = certificate(s, 0, Sum(n, lambda j: 1 - p[j]), "sign", {"facts": facts}, relation="<=")
    return verdict(one, softmax_sum.certificate(), *_cited(softmax_sum))


def _cited(*theorems: Any) -> list[dict[str, Any]]:
    from attnproofs.theorems import select

    return [t.certificate() for t in select(("sums",)) if t.id == "term_le_sum"]


def at_most_one(**values: Any) -> dict[str, Any]:
    digest = softmax_sum.proved_statement("at_most_one").digest
    own = {"n": ["int", [[[["v", "n"]], 1]]], "s": ["lam", 1, ["ent", "s", [[[[["b", 0]], 1]]]]]}
    return {"lemma": digest, "with": {k: v for k, v in {**own, **values}.items() if v}}


def test_a_fact_may_hold_for_every_index() -> None:
    assert remainder([at_most_one()]) == ""


def test_without_the_fact_the_sign_is_not_known() -> None:
    assert "sign: cannot show 0 <= t" in remainder([])


def test_a_fact_at_one_index_says_nothing_about_the_others() -> None:
    first = ["int", [[[], 1]]]
    assert "sign: cannot show 0 <= t" in remainder([at_most_one(i=first)])


def test_only_an_index_may_be_left_open() -> None:
    assert "values are needed for exactly its symbols (s)" in remainder([at_most_one(s=None)])


def test_a_hypothesis_must_hold_for_every_index_that_is_left_open() -> None:
    """``1 <= exp(t)`` needs ``0 <= t``; a scalar cannot be left open at all."""
    s = Scope("case")
    t = s.scalar("t")
    fact = {"lemma": exp_ge_one.proved_statement().digest, "with": {"t": ["real", ["sym", "t"]]}}
    one = certificate(s, 0, exp(t) - 1, "sign", {"facts": [fact]}, relation="<=")
    assert "needs its hypothesis nonnegative, which is not shown here" in verdict(
        one, exp_ge_one.certificate()
    )


def test_an_absolute_value_is_removed_by_a_cited_sign() -> None:
    s = Scope("case")
    x = s.scalar("x")
    fact = {"lemma": abs_ge.proved_statement().digest, "with": {"x": ["real", ["sym", "x"]]}}
    before, after = absolute(absolute(x) - x), absolute(x) - x
    good = certificate(s, before, after, "abs_val", {"facts": [fact]})
    assert verdict(good, abs_ge.certificate()) == ""
    assert "abs_val: the sign of the argument is not shown" in verdict(
        certificate(s, before, after, "abs_val")
    )


# ---------------------------------------------------------------------- what positivity may rest on


def test_the_index_around_a_masked_sum_is_a_kept_one() -> None:
    """In row i of a causal mask the key i itself is kept, so the row's denominator is positive."""
    s = Scope("case")
    n = s.dimension("n")
    x = s.tensor("x", n)
    rows = Sum(n, lambda i: 1 / Sum(n, lambda l: ind(l <= i) * exp(x[l])))
    assert verdict(certificate(s, 0, rows, "sign", relation="<")) == ""


def test_a_strict_mask_keeps_no_key_in_the_first_row() -> None:
    s = Scope("case")
    n = s.dimension("n")
    x = s.tensor("x", n)
    rows = Sum(n, lambda i: 1 / Sum(n, lambda l: ind(l < i) * exp(x[l])))
    assert "a divisor may be zero" in verdict(certificate(s, 0, rows, "sign", relation="<"))


def test_a_listed_key_is_a_kept_one() -> None:
    s = Scope("case")
    n, m = s.dimensions("n m")
    keep = s.predicate("keep", n)
    listed = s.function("r", m, into=n)
    x = s.tensor("x", n)
    k = s.index("k", m)
    total = Sum(n, lambda l: ind(keep(l)) * exp(x[l]))
    found = verdict(certificate(s, 0, total * (0 * k + 1), "sign", relation="<"))
    assert "sign: cannot show 0 < t" in found
    s.assume("kept", lambda j: keep(listed(j)), over={"j": m})
    assert verdict(certificate(s, 0, total, "sign", relation="<")) == ""


def test_weights_of_a_masked_key_need_a_kept_one() -> None:
    s = Scope("case")
    n = s.dimension("n")
    keep = s.predicate("keep", n)
    x = s.tensor("x", n)
    row = weights(array(n, lambda l: ind(keep(l))), x)
    found = verdict(certificate(s, Sum(n, lambda j: 0 * row[j]), 0, "ring"))
    assert found == ""  # each term stands below its own indicator
    bare = Sum(n, lambda j: exp(x[j])) / Sum(n, lambda l: ind(keep(l)) * exp(x[l]))
    assert "a divisor may be zero" in verdict(certificate(s, 0 * bare, 0, "ring"))


# ---------------------------------------------------------------------- logarithms


def test_the_logarithm_of_an_exponential_is_its_argument() -> None:
    s = Scope("case")
    n = s.dimension("n")
    x = s.scalar("x")
    law = {"laws": ["log_exp"]}
    assert verdict(certificate(s, log(exp(log(n) + x)), log(n) + x, "ring", law)) == ""
    assert "not equal by ring, log_exp" in verdict(certificate(s, log(2 * exp(x)), x, "ring", law))


def test_no_index_is_declared_on_a_flattened_axis() -> None:
    """So none can be left open in a cited fact, where it would have to stand for a pair."""
    s = Scope("case")
    n = s.dimension("n")
    s.index("c", flattened(n, n))
    t = s.scalar("t")
    lemma = certificate(s, 0, absolute(t), "sign", relation="<=")
    assert "a flattened axis has index pairs" in verdict(lemma)
