"""What SymPy gets wrong, or decides too early, never makes a wrong step pass.

Each test shows the trap in SymPy itself (so that it is noticed when SymPy changes), and then that
the kernel refuses the step that the trap suggests, or that the conversion does not run into it.
"""

from __future__ import annotations

from typing import Any

import pytest
import sympy
import sympy.stats

from attnproofs.calculus import Scope, Sum, derivative, eq, exp, expect, ind, span, sqrt, variance
from attnproofs.calculus.symbols import Ix, as_expr
from attnproofs.calculus.sympy_bridge import (
    DISAGREES,
    differentiated,
    expanded,
    from_sympy,
    opinion,
    summed,
    to_sympy,
)
from attnproofs.errors import InputError
from attnproofs.kernel import index as ix
from attnproofs.kernel.terms import substitute
from tests.kernel.steps import certificate, verdict


def square(name: str = "case") -> tuple[Scope, Any, Any, Any]:
    s = Scope(name)
    n = s.dimension("n")
    return s, n, s.tensor("x", n), s.tensor("A", n, n)


def test_renamed_sums_that_differ_stay_different() -> None:
    """D1: `dummy_eq` calls two different nested sums equal."""
    s, n, x, A = square()
    left = Sum(n, lambda i: x[i] * Sum(n, lambda j: A[i, j]))
    right = Sum(n, lambda i: x[i] * Sum(n, lambda j: A[j, j]))
    T, i, j = sympy.symbols("T i j", integer=True, positive=True)
    X, B = sympy.IndexedBase("x"), sympy.IndexedBase("A")
    one = sympy.Sum(X[i] * sympy.Sum(B[i, j], (j, 1, T)), (i, 1, T))
    other = sympy.Sum(X[i] * sympy.Sum(B[j, j], (j, 1, T)), (i, 1, T))
    assert one.dummy_eq(other)  # the trap

    made = certificate(s, left, right, "ring", {"laws": ["sum_add", "sum_scale"]})
    assert "not equal by ring" in verdict(made)
    assert opinion(s.claim(eq(left, right)), left.term, right.term) == DISAGREES
    assert from_sympy(to_sympy(left)).term != from_sympy(to_sympy(right)).term


def test_equal_sums_with_other_names_are_one_term() -> None:
    """D1, the other way: SymPy keeps ``sum_i x_i - sum_j x_j``; here both are one term."""
    _, n, x, _ = square()
    assert Sum(n, lambda i: x[i]).term == Sum(n, lambda j: x[j]).term


def test_substitution_does_not_capture() -> None:
    """D2: `subs` lets a bound index capture a free one."""
    T, i, j = sympy.symbols("T i j", integer=True)
    B = sympy.IndexedBase("A")
    assert sympy.Sum(B[i, j], (j, 1, T)).subs(i, j) == sympy.Sum(B[j, j], (j, 1, T))  # the trap

    s, n, _, A = square()
    free, other = s.index("i", n), s.index("j", n)
    row = Sum(n, lambda k: A[free, k])
    assert substitute(row.term, {"i": ("int", other.index)}) == Sum(n, lambda k: A[other, k]).term
    inner = to_sympy(row).limits[0][0]
    assert inner not in {sympy.Symbol("j", integer=True), sympy.Symbol("i", integer=True)}
    assert from_sympy(to_sympy(row)).term == row.term


def test_the_variance_of_an_indexed_sum_is_not_zero() -> None:
    """D3: SymPy's Variance of an indexed sum is 0."""
    d, i = sympy.symbols("d i", integer=True, positive=True)
    y = sympy.IndexedBase("x")
    assert sympy.stats.Variance(sympy.Sum(y[i], (i, 1, d))).expand() == 0  # the trap

    s = Scope("case")
    m = s.dimension("m")
    q = s.family("q", m, order=2)
    total = variance(Sum(m, lambda a: q[a]))
    laws = ["unfold:variance", "E_lin", "E_const", "sum_add", "sum_scale"]
    assert "not equal by ring" in verdict(certificate(s, total, 0, "ring", {"laws": laws}))
    with pytest.raises(InputError, match="SymPy has no counterpart of 'E' here"):
        to_sympy(expect(q[1]))


def test_a_delta_outside_its_range_promises_nothing() -> None:
    """D4: a delta with a range sums to 1 even where its index is out of range."""
    T, i, j, k = sympy.symbols("T i j k", integer=True)
    ranged = sympy.Sum(sympy.KroneckerDelta(i + j, k, (1, T)), (i, 1, T)).doit()
    assert ranged == 1  # the trap: at T = 3, j = 5, k = 2 the sum is 0

    s, n, _, _ = square()
    a, b = s.index("a", n), s.index("b", n)
    total = Sum(n, lambda c: ind((c + a).is_(b)))
    assert "not equal by ring" in verdict(
        certificate(s, total, 1, "ring", {"laws": ["ind_val", "ind_bool", "sum_scale"]})
    )
    assert opinion(s.claim(eq(total, 1)), total.term, as_expr(1).term) == DISAGREES


def test_a_bound_index_stays_below_its_sum() -> None:
    """D5: `piecewise_fold` carries the condition of a masked sum outside, bound index and all."""
    T, t, j = sympy.symbols("T t j", integer=True, positive=True)
    y = sympy.IndexedBase("x", real=True)
    masked = sympy.Sum(sympy.Piecewise((sympy.exp(y[j]), j <= t), (0, True)), (j, 1, T))
    assert j in sympy.piecewise_fold(masked).free_symbols  # the trap

    s, n, x, _ = square()
    k = s.index("k", n)
    row = Sum(n, lambda l: ind(l <= k) * exp(x[l]))
    assert not to_sympy(row).free_symbols & set(to_sympy(row).bound_symbols)
    back = expanded(row)
    assert verdict(certificate(s, row, back, "ring")) == ""
    outside = ["mul", ["ind", ["ge", [[[["b", 0]], -1], [[["v", "k"]], 1]]]],
               ["sum", ["range", [[[], 1]], [[[["v", "n"]], 1]]],
                ["exp", ["ent", "x", [[[[["b", 0]], 1]]]]]]]  # fmt: skip
    made = certificate(s, row, row + 0, "ring")
    made["parts"][0]["statement"]["claim"]["rhs"] = outside
    made["parts"][0]["proof"]["steps"][0]["term"] = outside
    assert "a bound index stands outside its binder" in verdict(made)


def test_a_divisor_is_not_cancelled_while_a_term_is_built() -> None:
    """D6: ``y/y`` is 1 for SymPy before anybody can ask whether y may be 0."""
    s = Scope("case")
    y = s.scalar("y")
    assert to_sympy(y / y) == 1  # the trap

    assert (y / y).term[0] == "mul"
    assert "a divisor may be zero" in verdict(certificate(s, y / y, 1, "ring"))
    assert "a divisor may be zero" in verdict(certificate(s, y / y, expanded(y / y), "ring"))


@pytest.mark.parametrize("infinite", [sympy.oo, -sympy.oo, sympy.zoo, sympy.nan, sympy.I])
def test_there_is_no_infinity_among_the_terms(infinite: Any) -> None:
    """D6: ``exp(v - oo) = 0`` and ``oo - oo`` cannot be said."""
    assert sympy.exp(sympy.Symbol("v") - sympy.oo) == 0  # the trap
    with pytest.raises(InputError, match="no term stands for the SymPy expression"):
        from_sympy(infinite)


def test_shapes_that_do_not_fit_are_refused() -> None:
    """D7: two matrices of symbolic shapes T x d multiply in SymPy."""
    T, d = sympy.symbols("T d", integer=True, positive=True)
    assert (sympy.MatrixSymbol("Q", T, d) * sympy.MatrixSymbol("K", T, d)).shape == (
        T,
        d,
    )  # the trap

    s = Scope("case")
    m, n = s.dimensions("m n")
    Q, K = s.tensor("Q", m, n), s.tensor("K", m, n)
    i, j = s.index("i", m), s.index("j", m)
    assert "out of range" in verdict(certificate(s, (Q @ K)[i, j], (Q @ K)[i, j] + 0, "ring"))


def test_the_off_diagonal_of_the_softmax_jacobian_is_not_zero() -> None:
    """D8: SymPy's matrix derivative of softmax drops the off-diagonal entries."""
    z, one = sympy.MatrixSymbol("z", 2, 1), sympy.OneMatrix(2, 1)
    soft = z.applyfunc(sympy.exp) / (one.T * z.applyfunc(sympy.exp))[0, 0]
    assert soft.diff(z).as_explicit()[0, 1] == 0  # the trap

    s, n, x, _ = square()
    i, k = s.index("i", n), s.index("k", n)
    weight = exp(x[i]) / Sum(n, lambda l: exp(x[l]))
    guard = ind(~i.is_(k))
    step = {"laws": ["ind_bool", "ind_val", "sum_scale"]}
    zero = certificate(
        s, guard * derivative(x[k], weight), guard * as_expr(0), "diff", step, at=(1,)
    )
    assert "diff: the next line is not the derivative" in verdict(zero)
    # entry by entry SymPy is right, and the kernel accepts what it says
    proposed = differentiated(exp(x[i]) * exp(x[i]), x[k])
    made = certificate(s, derivative(x[k], exp(x[i]) * exp(x[i])), proposed, "diff",
                       {"laws": ["expring"]})  # fmt: skip
    assert verdict(made) == ""


def test_a_reversed_range_is_empty() -> None:
    """D9: SymPy's sum over 1..-3 is 3 (Karr's convention); here it is empty."""
    s = Scope("case")
    x = s.scalar("x")
    reversed_sum = Sum(span(1, -3), as_expr)
    assert to_sympy(reversed_sum).doit() == 3  # the trap

    law = {"laws": ["sum_empty"]}
    assert "not equal by ring" in verdict(certificate(s, reversed_sum, 3, "ring", law))
    assert verdict(certificate(s, reversed_sum + x, x, "ring", law)) == ""
    assert "not equal by ring" in verdict(
        certificate(s, reversed_sum, summed(reversed_sum), "ring", law)
    )


def test_a_statement_does_not_disappear() -> None:
    """D11: ``Eq(sqrt(d)**2, d)`` is True, and products are distributed while they are written."""
    d = sympy.Symbol("d", positive=True)
    q = sympy.Symbol("q")
    assert sympy.Eq(sympy.sqrt(d) ** 2, d) == True  # noqa: E712 (the trap: no equation is left)
    assert 2 * (q + d) == 2 * q + 2 * d

    s = Scope("case")
    m = s.dimension("m")
    x = s.scalar("x")
    claim = s.claim(eq(sqrt(m) ** 2, m)).claim
    assert claim.lhs[0] == "pow" and claim.rhs == ("ix", ix.var("m"))
    assert (2 * (x + m)).term[0] == "mul"


def test_one_name_is_one_symbol() -> None:
    """D2, D14: symbols of one name and other assumptions do not cancel in SymPy."""
    assert sympy.Symbol("x") - sympy.Symbol("x", positive=True) != 0  # the trap

    s, n, x, _ = square()
    i = s.index("i", n)
    assert to_sympy(x[i]) - to_sympy(x[i]) == 0
    assert to_sympy(as_expr(n)) - to_sympy(as_expr(Ix(ix.var("n")))) == 0


@pytest.mark.parametrize("text", ["x + 1", "__import__('os').getcwd()", ""])
def test_a_text_is_not_evaluated(text: str) -> None:
    """D14: `sympify` and `srepr` go through eval."""
    with pytest.raises(InputError, match="a SymPy expression is expected, not a str"):
        from_sympy(text)
