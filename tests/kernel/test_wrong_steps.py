"""Every rule accepts what it should, and refuses the nearby wrong step with a reason.

Each case is one step, replayed as a certificate of its own. The accepted twin of a wrong step shows
that it is refused for the reason given and not because the case itself is broken.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from attnproofs.calculus import (
    Scope,
    Sum,
    absolute,
    array,
    derivative,
    dot,
    eq,
    exp,
    expect,
    flattened,
    ind,
    le,
    log,
    lt,
    softmax,
    span,
    sqrt,
    variance,
    weights,
)
from attnproofs.calculus.symbols import Ix, rational_expr
from attnproofs.kernel import index as ix
from tests.kernel.steps import certificate, verdict

CASES: list[tuple[str, str, Callable[[], dict[str, Any]]]] = []


def accepted(f: Callable[[], dict[str, Any]]) -> Callable[[], dict[str, Any]]:
    CASES.append((f.__name__, "", f))
    return f


def refused(because: str) -> Callable[[Callable[[], dict[str, Any]]], Callable[[], dict[str, Any]]]:
    def note(f: Callable[[], dict[str, Any]]) -> Callable[[], dict[str, Any]]:
        CASES.append((f.__name__, because, f))
        return f

    return note


def vector(name: str = "case", *, least: int = 1) -> tuple[Scope, Ix, Any]:
    s = Scope(name)
    n = s.dimension("n", least=least)
    return s, n, s.tensor("x", n)


# ---------------------------------------------------------------------- ring


@accepted
def ring_cancels_a_nonzero_divisor() -> dict[str, Any]:
    s, n, _ = vector()
    return certificate(s, n * (1 / n), 1, "ring")


@refused("a divisor may be zero")
def ring_cancels_a_divisor_that_may_be_zero() -> dict[str, Any]:
    s = Scope("case")
    x = s.scalar("x")
    return certificate(s, x / x, 1, "ring")


@refused("a divisor may be zero")
def a_dimension_that_may_be_zero_divides() -> dict[str, Any]:
    s, n, _ = vector(least=0)
    return certificate(s, n * (1 / n), 1, "ring")


@refused("not equal by ring")
def ring_proves_a_wrong_identity() -> dict[str, Any]:
    s = Scope("case")
    x, y = s.scalar("x"), s.scalar("y")
    return certificate(s, (x + y) ** 2, x**2 + y**2, "ring")


@refused("not equal by ring")
def ring_confuses_two_sums_with_renamed_indices() -> dict[str, Any]:
    s = Scope("case")
    n = s.dimension("n")
    x, A = s.tensor("x", n), s.tensor("A", n, n)
    left = Sum(n, lambda i: x[i] * Sum(n, lambda j: A[i, j]))
    right = Sum(n, lambda i: x[i] * Sum(n, lambda j: A[j, j]))
    return certificate(s, left, right, "ring")


@accepted
def renamed_bound_indices_are_the_same_term() -> dict[str, Any]:
    s, n, x = vector()
    return certificate(s, Sum(n, lambda i: x[i]), Sum(n, lambda j: x[j]), "ring")


@refused("not equal by ring")
def capture_of_a_bound_index() -> dict[str, Any]:
    s = Scope("case")
    n = s.dimension("n")
    A = s.tensor("A", n, n)
    i = s.index("i", n)
    return certificate(s, Sum(n, lambda j: A[i, j]), Sum(n, lambda j: A[j, j]), "ring")


@refused("ring proves an equality")
def ring_proves_a_strict_inequality() -> dict[str, Any]:
    s = Scope("case")
    x = s.scalar("x")
    return certificate(s, x, x, "ring", relation="<")


@refused("unknown law")
def a_law_that_does_not_exist() -> dict[str, Any]:
    s = Scope("case")
    x = s.scalar("x")
    return certificate(s, x, x, "ring", {"laws": ["because"]})


@refused("unknown law: because")
def an_inequality_by_a_law_that_does_not_exist() -> dict[str, Any]:
    s = Scope("case")
    x = s.scalar("x")
    return certificate(s, 0, exp(x), "order", {"laws": ["because"]}, relation="<")


@refused("unknown law: because")
def a_derivative_by_a_law_that_does_not_exist() -> dict[str, Any]:
    s = Scope("case")
    x = s.scalar("x")
    return certificate(s, derivative(x, exp(x)), exp(x), "diff", {"laws": ["because"]})


@refused("not a defined symbol")
def unfolding_a_symbol_that_is_not_defined() -> dict[str, Any]:
    s = Scope("case")
    x = s.scalar("x")
    return certificate(s, x, x, "ring", {"laws": ["unfold:x"]})


@accepted
def exponentials_add() -> dict[str, Any]:
    s = Scope("case")
    a, b = s.scalar("a"), s.scalar("b")
    return certificate(s, exp(a - b) * exp(b), exp(a), "ring", {"laws": ["expring"]})


@refused("not equal by ring, expring")
def an_exponential_of_a_product_is_split() -> dict[str, Any]:
    s = Scope("case")
    a, b = s.scalar("a"), s.scalar("b")
    return certificate(s, exp(a * b), exp(a) * exp(b), "ring", {"laws": ["expring"]})


@refused("not equal by ring")
def exponentials_without_the_law() -> dict[str, Any]:
    s = Scope("case")
    a, b = s.scalar("a"), s.scalar("b")
    return certificate(s, exp(a + b), exp(a) * exp(b), "ring")


@refused("ring: the expression is too large")
def a_product_too_large_to_multiply_out() -> dict[str, Any]:
    s = Scope("case")
    x = [s.scalar(f"x{k}") for k in range(8)]
    t = x[0]
    for v in x[1:]:
        t = t + v
    return certificate(s, t**64, t**64 + 0, "ring")


# ---------------------------------------------------------------------- sums


@accepted
def a_constant_leaves_a_sum() -> dict[str, Any]:
    s, n, x = vector()
    c = s.scalar("c")
    return certificate(
        s, Sum(n, lambda i: c * x[i]), c * Sum(n, lambda i: x[i]), "ring", {"laws": ["sum_scale"]}
    )


@refused("a bound index stands outside its binder")
def what_mentions_the_bound_index_leaves_a_sum() -> dict[str, Any]:
    s, n, x = vector()
    c = certificate(s, Sum(n, lambda i: x[i] * x[i]), Sum(n, lambda i: x[i]) * 1, "ring",
                    {"laws": ["sum_scale"]})  # fmt: skip
    n_index = [[[["v", "n"]], 1]]
    loose = ["mul", ["ent", "x", [[[[["b", 0]], 1]]]], ["sum", ["range", [[[], 1]], n_index],
             ["ent", "x", [[[[["b", 0]], 1]]]]]]  # fmt: skip
    c["parts"][0]["statement"]["claim"]["rhs"] = loose
    c["parts"][0]["proof"]["steps"][0]["term"] = loose
    return c


@refused("not equal by ring, sum_scale")
def a_factor_that_changes_is_pulled_out_as_its_first_value() -> dict[str, Any]:
    s, n, x = vector()
    y = s.tensor("y", n)
    return certificate(
        s, Sum(n, lambda i: x[i] * y[i]), x[1] * Sum(n, lambda i: y[i]), "ring",
        {"laws": ["sum_scale"]},
    )  # fmt: skip


@accepted
def sums_over_the_same_range_add() -> dict[str, Any]:
    s, n, x = vector()
    y = s.tensor("y", n)
    both = Sum(n, lambda i: x[i]) + Sum(n, lambda i: y[i])
    return certificate(s, Sum(n, lambda i: x[i] + y[i]), both, "ring", {"laws": ["sum_add"]})


@refused("not equal by ring, sum_add")
def sums_over_different_ranges_add() -> dict[str, Any]:
    s, n, x = vector()
    m = s.dimension("m")
    y = s.tensor("y", m)
    both = Sum(n, lambda i: x[i]) + Sum(m, lambda i: y[i])
    return certificate(s, both, Sum(n, lambda i: x[i]) + Sum(n, lambda i: x[i]), "ring",
                       {"laws": ["sum_add"]})  # fmt: skip


@accepted
def independent_sums_are_exchanged() -> dict[str, Any]:
    s = Scope("case")
    m, n = s.dimensions("m n")
    A = s.tensor("A", m, n)
    return certificate(
        s, Sum(m, lambda i: Sum(n, lambda j: A[i, j])), Sum(n, lambda j: Sum(m, lambda i: A[i, j])),
        "sum_swap",
    )  # fmt: skip


@refused("sum_swap: the inner range depends on the outer index")
def dependent_sums_are_exchanged() -> dict[str, Any]:
    s = Scope("case")
    n = s.dimension("n")
    A = s.tensor("A", n, n)
    return certificate(
        s, Sum(n, lambda i: Sum(span(1, i), lambda j: A[i, j])),
        Sum(n, lambda j: Sum(n, lambda i: A[i, j])), "sum_swap",
    )  # fmt: skip


@refused("sum_swap: the next line is not the sum in the other order")
def an_exchange_that_also_transposes() -> dict[str, Any]:
    s = Scope("case")
    n = s.dimension("n")
    A = s.tensor("A", n, n)
    return certificate(
        s, Sum(n, lambda i: Sum(n, lambda j: A[i, j] * A[i, i])),
        Sum(n, lambda j: Sum(n, lambda i: A[j, i] * A[i, i])), "sum_swap",
    )  # fmt: skip


@refused("sum_swap: there is no sum")
def an_exchange_where_there_is_one_sum() -> dict[str, Any]:
    s, n, x = vector()
    return certificate(s, Sum(n, lambda i: x[i]), Sum(n, lambda i: x[i]) + 0, "sum_swap")


def split_case(cut: Any, *, least: int = 1) -> dict[str, Any]:
    s, n, x = vector(least=least)
    k = s.index("k", span(0, n))
    at = {"k": k, "n+1": n + 1, "-1": Ix(ix.const(-1)), "n": n}[cut]
    halves = Sum(span(1, at), lambda i: x[i]) + Sum(span(at + 1, n), lambda i: x[i])
    return certificate(s, Sum(n, lambda i: x[i]), halves, "sum_split", {"cut": at.index})


@accepted
def a_range_is_cut_inside() -> dict[str, Any]:
    return split_case("k")


@refused("out of range")
def a_range_is_cut_beyond_its_end() -> dict[str, Any]:
    return split_case("n+1")


@refused("sum_split: cannot show n+1 <= n")
def a_range_of_ones_is_cut_beyond_its_end() -> dict[str, Any]:
    s, n, _ = vector()
    halves = Sum(span(1, n + 1), lambda i: 1) + Sum(span(n + 2, n), lambda i: 1)
    return certificate(s, Sum(n, lambda i: 1), halves, "sum_split", {"cut": (n + 1).index})


@refused("sum_split: cannot show 1 - 1 <= -1")
def a_range_is_cut_before_its_start() -> dict[str, Any]:
    s, n, _ = vector()
    halves = Sum(span(1, -1), lambda i: 1) + Sum(span(0, n), lambda i: 1)
    return certificate(s, Sum(n, lambda i: 1), halves, "sum_split", {"cut": ix.const(-1)})


@refused("sum_split: a flattened axis is not cut")
def a_flattened_axis_is_cut() -> dict[str, Any]:
    s, n, _ = vector()
    pairs = Sum(flattened(n, n), lambda p: 1)
    return certificate(s, pairs, pairs + 0, "sum_split", {"cut": n.index})


@refused("sum_split: the next line is not the sum over both parts")
def a_cut_that_counts_one_term_twice() -> dict[str, Any]:
    s, n, x = vector()
    k = s.index("k", n)
    halves = Sum(span(1, k), lambda i: x[i]) + Sum(span(k, n), lambda i: x[i])
    return certificate(s, Sum(n, lambda i: x[i]), halves, "sum_split", {"cut": k.index})


B0 = ix.atom(("b", 0))


@accepted
def a_masked_sum_is_cut_at_the_mask() -> dict[str, Any]:
    s, n, x = vector()
    k = s.index("k", n)
    where = ix.ge(k.index, B0)
    return certificate(
        s, Sum(n, lambda j: ind(j <= k) * x[j]), Sum(span(1, k), lambda j: x[j]), "sum_bij",
        {"to": B0, "from": B0, "where": where},
    )  # fmt: skip


@refused("sum_bij: an index that counts is sent to one that does not")
def a_strict_mask_is_cut_as_if_it_were_not() -> dict[str, Any]:
    s, n, x = vector()
    k = s.index("k", n)
    where = ix.ge(k.index, ix.add(B0, ix.ONE))
    return certificate(
        s, Sum(n, lambda j: ind(j < k) * x[j]), Sum(span(1, k), lambda j: x[j]), "sum_bij",
        {"to": B0, "from": B0, "where": where},
    )  # fmt: skip


@refused("sum_bij: an index is sent out of range")
def a_bijection_onto_a_shorter_range() -> dict[str, Any]:
    s, n, _ = vector()
    k = s.index("k", n)
    return certificate(s, Sum(n, lambda j: 1), Sum(span(1, k), lambda j: 1), "sum_bij",
                       {"to": B0, "from": B0})  # fmt: skip


@refused("sum_bij: the two maps are not inverse to each other")
def a_map_that_is_no_bijection() -> dict[str, Any]:
    s, n, _ = vector()
    after = Sum(n, lambda j: rational_expr(1) * 1)
    return certificate(s, Sum(n, lambda j: 1), after, "sum_bij", {"to": ix.ONE, "from": B0})


@refused("sum_bij: the bodies do not agree")
def a_shift_of_the_range_without_the_body() -> dict[str, Any]:
    s, n, x = vector()
    return certificate(
        s, Sum(n, lambda j: x[j]), Sum(span(0, n - 1), lambda j: x[n - j]), "sum_bij",
        {"to": ix.add(B0, ix.ONE), "from": ix.sub(B0, ix.ONE)},
    )  # fmt: skip


@refused("sum_bij: the body is not zero outside the indices that count")
def a_condition_that_the_body_does_not_have() -> dict[str, Any]:
    s, n, x = vector()
    k = s.index("k", n)
    return certificate(
        s, Sum(n, lambda j: x[j]), Sum(span(1, k), lambda j: x[j]), "sum_bij",
        {"to": B0, "from": B0, "where": ix.ge(k.index, B0)},
    )  # fmt: skip


@accepted
def an_empty_sum_is_zero() -> dict[str, Any]:
    s = Scope("case")
    c = s.scalar("c")
    return certificate(s, Sum(span(1, 0), lambda j: c), 0, "ring", {"laws": ["sum_empty"]})


@refused("not equal by ring, sum_empty")
def a_sum_that_may_have_terms_is_called_empty() -> dict[str, Any]:
    s, n, _ = vector(least=0)
    c = s.scalar("c")
    return certificate(s, Sum(n, lambda j: c), 0, "ring", {"laws": ["sum_empty"]})


@refused("not equal by ring, sum_single")
def a_long_sum_is_called_one_term() -> dict[str, Any]:
    s, n, x = vector()
    return certificate(s, Sum(n, lambda j: x[j]), x[1], "ring", {"laws": ["sum_single"]})


# ---------------------------------------------------------------------- ranges and shapes


@refused("an index of matmul is out of range")
def rows_times_rows_without_a_transpose() -> dict[str, Any]:
    s = Scope("case")
    T, d = s.dimensions("T d")
    Q, K = s.tensor("Q", T, d), s.tensor("K", T, d)
    i, j = s.index("i", T), s.index("j", T)
    return certificate(s, (Q @ K)[i, j], (Q @ K)[i, j] + 0, "ring")


@refused("an index of x is out of range: cannot show n+1 <= n")
def an_entry_beyond_the_end() -> dict[str, Any]:
    s, n, x = vector()
    return certificate(s, x[n + 1], x[n + 1] + 0, "ring")


@refused("an index of x is out of range: cannot show 1 <= 0")
def an_entry_before_the_start() -> dict[str, Any]:
    s, _, x = vector()
    return certificate(s, x[0], x[0] + 0, "ring")


@refused("x has 1 axes, not 2")
def an_entry_with_too_many_indices() -> dict[str, Any]:
    s, _n, x = vector()
    c = certificate(s, x[1], x[1] + 0, "ring")
    c["parts"][0]["statement"]["claim"]["lhs"][2].append([[[], 1]])
    c["parts"][0]["proof"]["start"][2].append([[[], 1]])
    return c


@refused("a divisor may be zero")
def weights_of_a_row_that_keeps_no_key() -> dict[str, Any]:
    s, n, x = vector()
    keep = s.predicate("keep", n)
    w = exp(x[1]) / Sum(n, lambda l: ind(keep(l)) * exp(x[l]))
    return certificate(s, w, w + 0, "ring")


@accepted
def a_weight_is_zero_or_its_own_witness() -> dict[str, Any]:
    # where the key is not kept the product is 0, and where it is the divisor is positive
    s, n, x = vector()
    keep = s.predicate("keep", n)
    w = weights(array(n, lambda l: ind(keep(l))), x)[1]
    return certificate(s, w, w + 0, "ring")


@refused("the two sides are not equal by ring")
def weights_sum_to_one_in_a_row_that_may_be_empty() -> dict[str, Any]:
    s, n, x = vector()
    keep = s.predicate("keep", n)
    w = weights(array(n, lambda l: ind(keep(l))), x)
    return certificate(
        s,
        Sum(n, lambda j: w[j]),
        1,
        "ring",
        {"laws": ["unfold:weights", "sum_scale", "sum_add", "ind_bool"]},
    )


@accepted
def weights_sum_to_one_in_a_row_that_keeps_a_key() -> dict[str, Any]:
    s, n, x = vector()
    keep = s.predicate("keep", n)
    s.kept(keep)
    w = weights(array(n, lambda l: ind(keep(l))), x)
    return certificate(
        s,
        Sum(n, lambda j: w[j]),
        1,
        "ring",
        {"laws": ["unfold:weights", "sum_scale", "sum_add", "ind_bool"]},
    )


@accepted
def weights_of_a_row_that_keeps_a_key() -> dict[str, Any]:
    s, n, x = vector()
    keep = s.predicate("keep", n)
    s.kept(keep)
    w = weights(array(n, lambda l: ind(keep(l))), x)[1]
    return certificate(s, w, w + 0, "ring")


@refused("a divisor may be zero")
def softmax_of_no_scores() -> dict[str, Any]:
    s, n, x = vector(least=0)
    t = Sum(n, lambda i: exp(x[i]) / Sum(n, lambda l: exp(x[l]))) / Sum(n, lambda l: exp(x[l]))
    return certificate(s, t, t + 0, "ring")


@refused("the dimension n of softmax is too small")
def softmax_over_an_empty_axis() -> dict[str, Any]:
    s, n, x = vector(least=0)
    t = 1 + Sum(n, lambda i: x[i]) * softmax(x)[1]
    return certificate(s, t, t + 0, "ring")


@refused("a logarithm needs a positive argument")
def a_logarithm_of_a_number_of_unknown_sign() -> dict[str, Any]:
    s = Scope("case")
    x = s.scalar("x")
    return certificate(s, exp(log(x)), x, "ring", {"laws": ["log_exp"]})


@accepted
def a_logarithm_of_an_exponential() -> dict[str, Any]:
    s = Scope("case")
    x = s.scalar("x")
    return certificate(s, log(exp(x)), x, "ring", {"laws": ["log_exp"]})


@refused("a square root needs a nonnegative argument")
def a_square_root_of_a_number_of_unknown_sign() -> dict[str, Any]:
    s = Scope("case")
    x = s.scalar("x")
    return certificate(s, sqrt(x) * sqrt(x), x, "ring", {"laws": ["sqrt_sq"]})


@refused("z is not declared")
def a_symbol_that_is_not_declared() -> dict[str, Any]:
    s = Scope("case")
    x = s.scalar("x")
    c = certificate(s, x, x + 0, "ring")
    c["parts"][0]["statement"]["claim"]["lhs"] = ["sym", "z"]
    c["parts"][0]["proof"]["start"] = ["sym", "z"]
    return c


@refused("x is declared as a tensor, and used as a scalar")
def a_tensor_used_as_a_number() -> dict[str, Any]:
    s, _n, x = vector()
    c = certificate(s, x[1], x[1] + 0, "ring")
    c["parts"][0]["statement"]["claim"]["lhs"] = ["sym", "x"]
    c["parts"][0]["proof"]["start"] = ["sym", "x"]
    return c


# ---------------------------------------------------------------------- hypotheses and indices


def hypothesis_case(at: Any, **more: Any) -> dict[str, Any]:
    s, n, x = vector()
    s.assume("zero", lambda a: eq(x[a], 0), over={"a": span(1, n - 1)})
    s.assume("room", n >= 2)
    return certificate(s, x[at(n)], more.get("after", 0), "hyp",
                       {"name": "zero", "at": {"a": at(n).index}})  # fmt: skip


@accepted
def a_hypothesis_inside_its_range() -> dict[str, Any]:
    return hypothesis_case(lambda n: n - 1)


@refused("hypothesis zero does not reach this index")
def a_hypothesis_outside_its_range() -> dict[str, Any]:
    return hypothesis_case(lambda n: n)


@refused("hypothesis zero does not match this step")
def a_hypothesis_that_says_something_else() -> dict[str, Any]:
    return hypothesis_case(lambda n: n - 1, after=1)


@refused("no hypothesis nonsense may be used here")
def a_hypothesis_that_is_not_assumed() -> dict[str, Any]:
    s, _n, x = vector()
    return certificate(s, x[1], 0, "hyp", {"name": "nonsense", "at": {}})


@refused("needs values for exactly its quantified indices")
def a_hypothesis_without_its_index() -> dict[str, Any]:
    s, n, x = vector()
    s.assume("zero", lambda a: eq(x[a], 0), over={"a": n})
    return certificate(s, x[1], 0, "hyp", {"name": "zero", "at": {}})


@refused("a condition of hypothesis zero is not known here")
def a_conditional_hypothesis_without_its_condition() -> dict[str, Any]:
    s, n, x = vector()
    b = s.predicate("b", n)
    s.assume("zero", lambda a: eq(x[a], 0), over={"a": n}, where=b)
    return certificate(s, x[1], 0, "hyp", {"name": "zero", "at": {"a": ix.ONE}})


@accepted
def a_conditional_hypothesis_below_its_guard() -> dict[str, Any]:
    s, n, x = vector()
    b = s.predicate("b", n)
    s.assume("zero", lambda a: eq(x[a], 0), over={"a": n}, where=b)
    one = Ix(ix.ONE)
    return certificate(s, ind(b(one)) * x[1], ind(b(one)) * rational_expr(0), "hyp",
                       {"name": "zero", "at": {"a": ix.ONE}}, at=(1,))  # fmt: skip


@refused("is an inequality, and the step claims an equality")
def an_inequality_used_as_an_equality() -> dict[str, Any]:
    s = Scope("case")
    x, y = s.scalar("x"), s.scalar("y")
    s.assume("below", le(x, y))
    return certificate(s, x, y, "hyp", {"name": "below", "at": {}})


@refused("hypothesis below is not strict")
def a_weak_inequality_used_as_a_strict_one() -> dict[str, Any]:
    s = Scope("case")
    x, y = s.scalar("x"), s.scalar("y")
    s.assume("below", le(x, y))
    return certificate(s, x, y, "hyp", {"name": "below", "at": {}}, relation="<")


@refused("is an equality, and the step claims <")
def an_equality_used_as_a_strict_inequality() -> dict[str, Any]:
    s = Scope("case")
    x, y = s.scalar("x"), s.scalar("y")
    s.assume("same", eq(x, y))
    return certificate(s, x, y, "hyp", {"name": "same", "at": {}}, relation="<")


@refused("no hypothesis zero may be used here")
def a_hypothesis_about_x_below_a_derivative_by_x() -> dict[str, Any]:
    s = Scope("case")
    x = s.scalar("x")
    s.assume("zero", eq(x, 0))
    return certificate(s, derivative(x, x), derivative(x, 0), "hyp", {"name": "zero", "at": {}},
                       at=(0,))  # fmt: skip


@accepted
def an_index_is_replaced_below_its_equation() -> dict[str, Any]:
    s, n, x = vector()
    i, j = s.index("i", n), s.index("j", n)
    return certificate(s, ind(j.is_(i)) * x[j], ind(j.is_(i)) * x[i], "ixeq", at=(1,))


@refused("ixeq: cannot show j = i")
def an_index_is_replaced_without_an_equation() -> dict[str, Any]:
    s, n, x = vector()
    i, j = s.index("i", n), s.index("j", n)
    return certificate(s, x[j], x[i], "ixeq")


@refused("ixeq: the two sides differ in more than indices")
def an_index_step_that_changes_the_tensor() -> dict[str, Any]:
    s, n, x = vector()
    y = s.tensor("y", n)
    return certificate(s, x[1], y[1], "ixeq")


@refused("ixeq: cannot show j = i")
def an_indicator_justifies_itself() -> dict[str, Any]:
    s, n, x = vector()
    i, j = s.index("i", n), s.index("j", n)
    return certificate(s, ind(j.is_(i)) * x[j] + x[j], ind(j.is_(i)) * x[j] + x[i], "ixeq", at=(1,))


@refused("absurd: the facts at the position do not contradict")
def nothing_is_absurd_on_a_nonempty_range() -> dict[str, Any]:
    s, _n, x = vector()
    return certificate(s, x[1], 0, "absurd")


@accepted
def anything_holds_on_an_empty_range() -> dict[str, Any]:
    s, n, x = vector()
    s.assume("few", n <= 0)
    return certificate(s, x[1], 0, "absurd")


# ---------------------------------------------------------------------- indicators


@accepted
def a_known_condition_has_value_one() -> dict[str, Any]:
    s, n, x = vector()
    k = s.index("k", n)
    return certificate(
        s, Sum(span(1, k), lambda j: ind(j <= k) * x[j]), Sum(span(1, k), lambda j: x[j]), "ring",
        {"laws": ["ind_val"]},
    )  # fmt: skip


@refused("not equal by ring, ind_val")
def an_unknown_condition_has_value_one() -> dict[str, Any]:
    s, n, x = vector()
    k = s.index("k", n)
    return certificate(
        s,
        Sum(n, lambda j: ind(j <= k) * x[j]),
        Sum(n, lambda j: x[j]),
        "ring",
        {"laws": ["ind_val"]},
    )


@refused("not equal by ring, ind_bool")
def an_or_is_taken_for_a_sum() -> dict[str, Any]:
    s, n, _ = vector()
    b, c = s.predicate("b", n), s.predicate("c", n)
    one = Ix(ix.ONE)
    return certificate(s, ind(b(one) | c(one)), ind(b(one)) + ind(c(one)), "ring",
                       {"laws": ["ind_bool"]})  # fmt: skip


@accepted
def not_is_one_minus() -> dict[str, Any]:
    s, n, _ = vector()
    i, j = s.index("i", n), s.index("j", n)
    return certificate(s, ind(~(j <= i)), 1 - ind(j <= i), "ring", {"laws": ["ind_bool"]})


@accepted
def the_negation_of_a_comparison_is_the_other_comparison() -> dict[str, Any]:
    s, n, _ = vector()
    i, j = s.index("i", n), s.index("j", n)
    return certificate(s, ind(j > i), 1 - ind(j <= i), "ring", {"laws": ["ind_bool"]})


@refused("not equal by ring")
def two_indicators_do_not_justify_each_other() -> dict[str, Any]:
    s, n, _ = vector()
    b = s.predicate("b", n)
    one = Ix(ix.ONE)
    return certificate(s, ind(b(one)) * ind(b(one)), 1, "ring", {"laws": ["ind_val", "ind_bool"]})


@refused("a divisor may be zero")
def a_product_of_equal_indicators_is_not_positive() -> dict[str, Any]:
    s, n, _ = vector()
    b = s.predicate("b", n)
    one = Ix(ix.ONE)
    t = 1 / (ind(b(one)) * ind(b(one)))
    return certificate(s, t, t + 0, "ring")


# ---------------------------------------------------------------------- order


@accepted
def a_square_completes_the_bound() -> dict[str, Any]:
    s = Scope("case")
    p = s.scalar("p")
    half = rational_expr(1) / 2
    d = 2 * (p - half) ** 2
    return certificate(s, 2 * p * (1 - p), half, "order", {"difference": d.term}, relation="<=")


@refused("order: the difference of the two sides is not the given term")
def a_square_that_does_not_complete_the_bound() -> dict[str, Any]:
    s = Scope("case")
    p = s.scalar("p")
    half = rational_expr(1) / 2
    d = (p - half) ** 2
    return certificate(s, 2 * p * (1 - p), half, "order", {"difference": d.term}, relation="<=")


@refused("order: cannot show 0 <= the difference")
def a_difference_without_a_sign() -> dict[str, Any]:
    s = Scope("case")
    p = s.scalar("p")
    return certificate(s, p, p**2, "order", {"difference": (p**2 - p).term}, relation="<=")


@refused("order: cannot show 0 < the difference")
def a_square_is_not_strictly_positive() -> dict[str, Any]:
    s = Scope("case")
    p = s.scalar("p")
    return certificate(
        s, rational_expr(0), p**2, "order", {"difference": (p**2).term}, relation="<"
    )


@refused("order proves an inequality")
def order_proves_an_equality() -> dict[str, Any]:
    s = Scope("case")
    p = s.scalar("p")
    return certificate(s, p, p, "order")


@accepted
def a_sum_of_exponentials_is_positive() -> dict[str, Any]:
    s, n, x = vector()
    return certificate(s, 0, Sum(n, lambda i: exp(x[i])), "sign", relation="<")


@refused("sign: cannot show 0 < t")
def a_sum_that_may_be_empty_is_positive() -> dict[str, Any]:
    s, n, x = vector(least=0)
    return certificate(s, 0, Sum(n, lambda i: exp(x[i])), "sign", relation="<")


@refused("sign: cannot show 0 < t")
def an_indicator_is_positive() -> dict[str, Any]:
    s, n, _ = vector()
    b = s.predicate("b", n)
    return certificate(s, 0, ind(b(Ix(ix.ONE))), "sign", relation="<")


@refused("sign proves 0 <= t or 0 < t")
def sign_compares_with_one() -> dict[str, Any]:
    s, _n, x = vector()
    return certificate(s, 1, exp(x[1]), "sign", relation="<=")


@accepted
def an_inequality_is_carried_through_exp_and_a_positive_factor() -> dict[str, Any]:
    s = Scope("case")
    x, y, z = s.scalar("x"), s.scalar("y"), s.scalar("z")
    s.assume("below", le(x, y))
    return certificate(s, exp(x) * exp(z), exp(y) * exp(z), "hyp", {"name": "below", "at": {}},
                       at=(0, 0), relation="<=")  # fmt: skip


@refused("an inequality is multiplied by a factor of unknown sign")
def an_inequality_is_carried_through_a_factor_of_unknown_sign() -> dict[str, Any]:
    s = Scope("case")
    x, y, z = s.scalar("x"), s.scalar("y"), s.scalar("z")
    s.assume("below", le(x, y))
    return certificate(s, x * z, y * z, "hyp", {"name": "below", "at": {}}, at=(0,), relation="<=")


@refused("hypothesis below does not match this step")
def an_inequality_turned_by_a_negative_factor_is_not_turned() -> dict[str, Any]:
    s = Scope("case")
    x, y = s.scalar("x"), s.scalar("y")
    s.assume("below", le(x, y))
    return certificate(
        s, -1 * x, -1 * y, "hyp", {"name": "below", "at": {}}, at=(1,), relation="<="
    )


@accepted
def an_inequality_turned_by_a_negative_factor() -> dict[str, Any]:
    s = Scope("case")
    x, y = s.scalar("x"), s.scalar("y")
    s.assume("below", le(x, y))
    return certificate(
        s, -1 * y, -1 * x, "hyp", {"name": "below", "at": {}}, at=(1,), relation="<="
    )


@refused("an inequality is inverted, and both sides are not shown positive")
def an_inequality_is_inverted_without_signs() -> dict[str, Any]:
    s = Scope("case")
    x, y = s.scalar("x"), s.scalar("y")
    s.assume("below", le(x, y))
    s.assume("x_negative", lt(x, 0))
    s.assume("y_positive", lt(0, y))
    return certificate(s, 1 / y, 1 / x, "hyp", {"name": "below", "at": {}}, at=(0,), relation="<=")


@refused("an inequality is not carried through abs")
def an_inequality_is_carried_through_an_absolute_value() -> dict[str, Any]:
    s = Scope("case")
    x, y = s.scalar("x"), s.scalar("y")
    s.assume("below", le(x, y))
    return certificate(s, absolute(x), absolute(y), "hyp", {"name": "below", "at": {}}, at=(0,),
                       relation="<=")  # fmt: skip


@refused("an inequality is not carried through D")
def an_inequality_is_carried_through_a_derivative() -> dict[str, Any]:
    s = Scope("case")
    x = s.scalar("x")
    return certificate(s, derivative(x, 0 * x), derivative(x, x**2), "order",
                       {"difference": (x**2).term}, at=(0,), relation="<=")  # fmt: skip


@refused("a strict inequality needs a nonempty sum")
def a_strict_inequality_is_carried_through_an_empty_sum() -> dict[str, Any]:
    s, n, x = vector(least=0)
    return certificate(s, Sum(n, lambda i: 0), Sum(n, lambda i: exp(x[i])), "sign", at=(0,),
                       relation="<")  # fmt: skip


@accepted
def the_tangent_lies_below_exp() -> dict[str, Any]:
    s = Scope("case")
    x = s.scalar("x")
    return certificate(s, 1 + x, exp(x), "exp_ge", relation="<=")


@refused("exp_ge: the left side is not 1 + t")
def something_else_lies_below_exp() -> dict[str, Any]:
    s = Scope("case")
    x = s.scalar("x")
    return certificate(s, 2 + x, exp(x), "exp_ge", relation="<=")


@refused("exp_ge proves 1 + t <= exp(t)")
def exp_lies_below_its_tangent() -> dict[str, Any]:
    s = Scope("case")
    x = s.scalar("x")
    return certificate(s, exp(x), 1 + x, "exp_ge", relation="<=")


def enclosure_case(number: Any, q: Any, terms: int, *, upper: bool) -> dict[str, Any]:
    s = Scope("case")
    e = exp(q)
    before, after = (e, number) if upper else (number, e)
    return certificate(s, before, after, "exp_enclose", {"terms": terms}, relation="<=")


@accepted
def e_is_less_than_272_hundredths() -> dict[str, Any]:
    return enclosure_case(rational("68/25"), rational_expr(1), 8,
                          upper=True)  # fmt: skip


@refused("exp_enclose: the number lies on the wrong side")
def e_is_less_than_271_hundredths() -> dict[str, Any]:
    return enclosure_case(rational("271/100"), rational_expr(1), 8, upper=True)


@refused("exp_enclose: the number lies on the wrong side")
def e_is_more_than_272_hundredths() -> dict[str, Any]:
    return enclosure_case(rational("272/100"), rational_expr(1), 8, upper=False)


@refused("exp_enclose: 0 <= q < N + 2 is needed")
def an_enclosure_with_too_few_terms() -> dict[str, Any]:
    return enclosure_case(rational_expr(10**6), rational_expr(10), 1, upper=True)


@refused("exp_enclose compares exp of a rational")
def an_enclosure_of_a_symbol() -> dict[str, Any]:
    s = Scope("case")
    x = s.scalar("x")
    return certificate(s, exp(x), rational_expr(3), "exp_enclose", {"terms": 5}, relation="<=")


def rational(text: str) -> Any:
    from fractions import Fraction

    return rational_expr(Fraction(text))


@accepted
def the_absolute_value_of_a_square() -> dict[str, Any]:
    s = Scope("case")
    x = s.scalar("x")
    return certificate(s, absolute(x**2), x**2, "abs_val")


@refused("abs_val: the sign of the argument is not shown")
def the_absolute_value_of_anything() -> dict[str, Any]:
    s = Scope("case")
    x = s.scalar("x")
    return certificate(s, absolute(x), x, "abs_val")


@refused("abs_bound: cannot show that the argument lies between -u and u")
def an_absolute_value_is_bounded_from_one_side() -> dict[str, Any]:
    s = Scope("case")
    x, u = s.scalar("x"), s.scalar("u")
    s.assume("above", le(x, u))
    return certificate(s, absolute(x), u, "abs_bound", relation="<=")


@refused("abs_val: there is no absolute value")
def an_absolute_value_that_is_not_there() -> dict[str, Any]:
    s = Scope("case")
    x = s.scalar("x")
    return certificate(s, x, x + 0, "abs_val")


@accepted
def the_root_of_a_square_of_something_nonnegative() -> dict[str, Any]:
    s = Scope("case")
    x = s.scalar("x")
    return certificate(s, sqrt(exp(x) * exp(x)), exp(x), "sqrt_square")


@refused("sqrt_square: cannot show 0 <= t")
def the_root_of_a_square_of_anything() -> dict[str, Any]:
    s = Scope("case")
    x = s.scalar("x")
    return certificate(s, sqrt(x * x), x, "sqrt_square")


@refused("sqrt_square: there is no square root at the position")
def the_root_of_a_square_under_another_function() -> dict[str, Any]:
    s = Scope("case")
    x = s.scalar("x")
    return certificate(s, exp(exp(x) * exp(x)), exp(x), "sqrt_square")


@refused("sqrt_square: the argument is not the square")
def the_root_of_something_else() -> dict[str, Any]:
    s = Scope("case")
    x = s.scalar("x")
    return certificate(s, sqrt(exp(x)), exp(x), "sqrt_square")


# ---------------------------------------------------------------------- expectation


def random_pair(*, together: bool = True, order: int = 2, independent: bool = True) -> Any:
    s = Scope("case")
    d = s.dimension("d")
    q = s.family("q", d, order=order, independent=independent)
    k = s.family("k", d, order=order)
    if together:
        s.independent("q", "k")
    return s, d, q, k


@accepted
def independent_factors_part() -> dict[str, Any]:
    s, _, q, k = random_pair()
    return certificate(s, expect(q[1] * k[1]), expect(q[1]) * expect(k[1]), "E_indep")


@refused("E_indep: k, q are not declared independent together")
def factors_that_are_not_declared_independent_part() -> dict[str, Any]:
    s, _, q, k = random_pair(together=False, order=4)
    return certificate(s, expect(q[1] * k[1]), expect(q[1]) * expect(k[1]), "E_indep")


@refused("E_indep: two entries of q may be the same one")
def a_square_parts() -> dict[str, Any]:
    s, _d, q, _ = random_pair()
    return certificate(s, expect(q[1] * q[1]), expect(q[1]) * expect(q[1]), "E_indep")


@refused("E_indep: two entries of q may be the same one")
def two_components_that_may_coincide_part() -> dict[str, Any]:
    s, d, q, _ = random_pair()
    i, j = s.index("i", d), s.index("j", d)
    return certificate(s, expect(q[i] * q[j]), expect(q[i]) * expect(q[j]), "E_indep")


@accepted
def two_components_below_a_guard_part() -> dict[str, Any]:
    s, d, q, _ = random_pair()
    i, j = s.index("i", d), s.index("j", d)
    g = ind(~j.is_(i))
    return certificate(s, g * expect(q[i] * q[j]), g * (expect(q[i]) * expect(q[j])), "E_indep",
                       at=(1,))  # fmt: skip


@refused("E_indep: the components of q are not declared independent")
def dependent_components_part() -> dict[str, Any]:
    s, d, q, _ = random_pair(independent=False)
    i, j = s.index("i", d), s.index("j", d)
    g = ind(~j.is_(i))
    return certificate(s, g * expect(q[i] * q[j]), g * (expect(q[i]) * expect(q[j])), "E_indep",
                       at=(1,))  # fmt: skip


@refused("E_indep: the expectation is not that of the product")
def an_independence_step_with_other_factors() -> dict[str, Any]:
    s, _, q, k = random_pair()
    return certificate(s, expect(q[1] * k[1] * 2), expect(q[1]) * expect(k[1]), "E_indep")


@refused("E_indep turns E(f g) into E f times E g")
def an_independence_step_of_another_form() -> dict[str, Any]:
    s, _, q, k = random_pair()
    return certificate(s, expect(q[1] * k[1]), expect(q[1] * k[1]) + 0, "E_indep")


@refused("a random entry of q stands outside every expectation")
def a_random_number_is_pulled_out() -> dict[str, Any]:
    s, _, q, k = random_pair()
    return certificate(s, expect(q[1] * k[1]), q[1] * expect(k[1]), "ring", {"laws": ["E_lin"]})


@refused("a moment of order 3 of q is needed")
def a_moment_that_need_not_exist() -> dict[str, Any]:
    s, _, q, _ = random_pair()
    return certificate(s, expect(q[1] ** 3), expect(q[1] ** 3) + 0, "ring")


@refused("a moment of order 2 of")
def a_mixed_moment_that_need_not_exist() -> dict[str, Any]:
    s, _, q, k = random_pair(together=False, order=1)
    return certificate(s, expect(q[1] * k[1]), expect(q[1] * k[1]) + 0, "ring")


@refused("below an expectation random entries may stand in polynomials only, not in exp")
def an_expectation_of_an_exponential() -> dict[str, Any]:
    s, _, q, _ = random_pair()
    return certificate(s, expect(exp(q[1])), expect(exp(q[1])) + 0, "ring")


@accepted
def expectation_is_linear() -> dict[str, Any]:
    s, d, q, _ = random_pair()
    c = s.scalar("c")
    left = expect(Sum(d, lambda a: c * q[a]))
    return certificate(s, left, c * Sum(d, lambda a: expect(q[a])), "ring",
                       {"laws": ["E_lin", "sum_scale"]})  # fmt: skip


@refused("not equal by ring, E_lin")
def expectation_is_multiplicative() -> dict[str, Any]:
    s, _, q, k = random_pair()
    return certificate(s, expect(q[1] * k[1]), expect(q[1]) * expect(k[1]), "ring",
                       {"laws": ["E_lin", "E_const"]})  # fmt: skip


@refused("not equal by ring, E_lin")
def the_square_of_a_mean_is_the_mean() -> dict[str, Any]:
    # a product of two equal means must not collapse into one
    s, _, q, _ = random_pair()
    return certificate(s, expect(q[1] * expect(q[1])), expect(q[1]), "ring",
                       {"laws": ["E_lin", "E_const"]})  # fmt: skip


@refused("not equal by ring")
def the_variance_of_a_sum_is_zero() -> dict[str, Any]:
    s, d, q, _ = random_pair()
    return certificate(
        s,
        variance(Sum(d, lambda a: q[a])),
        0,
        "ring",
        {"laws": ["unfold:variance", "E_lin", "E_const", "sum_add", "sum_scale"]},
    )


# ---------------------------------------------------------------------- derivative


@accepted
def the_derivative_of_exp() -> dict[str, Any]:
    s, n, x = vector()
    i, j = s.index("i", n), s.index("j", n)
    return certificate(s, derivative(x[j], exp(x[i])), exp(x[i]) * ind(i.is_(j)), "diff")


@refused("diff: the next line is not the derivative")
def the_derivative_forgets_the_inner_index() -> dict[str, Any]:
    s, n, x = vector()
    i, j = s.index("i", n), s.index("j", n)
    return certificate(s, derivative(x[j], exp(x[i])), exp(x[i]), "diff")


@refused("diff: the next line is not the derivative")
def a_defined_symbol_that_mentions_x_is_taken_for_a_constant() -> dict[str, Any]:
    s, n, x = vector()
    i, j = s.index("i", n), s.index("j", n)
    return certificate(s, derivative(x[j], softmax(x)[i]), 0, "diff")


@accepted
def a_defined_symbol_is_unfolded_first() -> dict[str, Any]:
    s, n, x = vector()
    i, j = s.index("i", n), s.index("j", n)
    Z = Sum(n, lambda l: exp(x[l]))
    after = (
        exp(x[i]) * ind(i.is_(j)) / Z
        - exp(x[i]) * Sum(n, lambda l: exp(x[l]) * ind(l.is_(j))) / Z**2
    )
    return certificate(s, derivative(x[j], exp(x[i]) / Z), after, "diff")


@refused("diff: there is no derivative")
def a_derivative_that_is_not_there() -> dict[str, Any]:
    s, _n, x = vector()
    return certificate(s, x[1], 1, "diff")


@refused("no derivative with respect to x through abs")
def a_derivative_through_an_absolute_value() -> dict[str, Any]:
    s = Scope("case")
    x = s.scalar("x")
    return certificate(s, derivative(x, absolute(x)), 1, "diff")


@refused("a derivative is taken with respect to an entry or a scalar")
def a_derivative_with_respect_to_a_sum() -> dict[str, Any]:
    s = Scope("case")
    x = s.scalar("x")
    return certificate(s, derivative(x + 1, x), 1, "diff")


@refused("a divisor may be zero")
def a_hypothesis_at_a_point_does_not_make_a_divisor_nonzero_nearby() -> dict[str, Any]:
    s = Scope("case")
    x = s.scalar("x")
    s.assume("positive", lt(0, x))
    return certificate(s, derivative(x, 1 / x), -1 / x**2, "diff")


# ---------------------------------------------------------------------- positions and form


@refused("the position of the step does not exist")
def a_position_that_does_not_exist() -> dict[str, Any]:
    s = Scope("case")
    x = s.scalar("x")
    return certificate(s, x + 1, x + 1, "ring", at=(7,))


@refused("the two lines differ outside the position")
def a_change_outside_the_position() -> dict[str, Any]:
    s = Scope("case")
    x, y = s.scalar("x"), s.scalar("y")
    return certificate(s, x + y, x + x, "ring", at=(0,))


@refused("only an equality can be used backwards")
def an_inequality_used_backwards() -> dict[str, Any]:
    s = Scope("case")
    x, y = s.scalar("x"), s.scalar("y")
    s.assume("below", le(x, y))
    return certificate(s, y, x, "hyp", {"name": "below", "at": {}}, relation="<=", back=True)


@refused("unknown rule: because")
def a_rule_that_does_not_exist() -> dict[str, Any]:
    s = Scope("case")
    x = s.scalar("x")
    return certificate(s, x, x, "because")


@refused("sum_split: takes the arguments cut")
def a_rule_without_its_argument() -> dict[str, Any]:
    s, n, x = vector()
    return certificate(s, Sum(n, lambda i: x[i]), Sum(n, lambda i: x[i]), "sum_split")


@refused("ixeq: takes the arguments (none)")
def a_rule_with_an_argument_it_does_not_take() -> dict[str, Any]:
    s = Scope("case")
    x = s.scalar("x")
    return certificate(s, x, x, "ixeq", {"laws": []})


@refused("rec: there is no recursively defined symbol")
def a_recursion_step_of_something_else() -> dict[str, Any]:
    s = Scope("case")
    x = s.scalar("x")
    return certificate(s, x, x + 0, "rec")


@refused("there is no recursively defined symbol")
def a_recursion_step_of_an_entry() -> dict[str, Any]:
    s, _n, x = vector()
    return certificate(s, x[1], x[1] + 0, "rec")


@refused("dot is not defined by recursion")
def a_recursion_step_of_an_explicit_definition() -> dict[str, Any]:
    s, _n, x = vector()
    return certificate(s, dot(x, x), dot(x, x) + 0, "rec")


# ---------------------------------------------------------------------- the tests


@pytest.mark.parametrize(("name", "because", "build"), CASES, ids=[c[0] for c in CASES])
def test_step(name: str, because: str, build: Callable[[], dict[str, Any]]) -> None:
    """A right step is accepted; a wrong one is refused, with this reason."""
    reason = verdict(build())

    if because:
        assert because in reason, reason or "accepted"
    else:
        assert reason == ""


def test_there_are_enough_wrong_steps() -> None:
    """At least thirty wrong steps, and every rule has one."""
    from attnproofs.kernel.rules import RULES

    wrong = [c for c in CASES if c[1]]

    assert len(wrong) >= 30
    used = {c[2]()["parts"][0]["proof"]["steps"][0]["rule"] for c in wrong}
    # a lemma needs a second certificate: its wrong instances are in test_lemmas.py
    assert set(RULES) - {"lemma"} <= used
