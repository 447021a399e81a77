"""Terms to SymPy and back, lines that SymPy writes, and its opinion."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnproofs.calculus import (
    Part,
    Scope,
    Sum,
    Theorem,
    absolute,
    derivative,
    eq,
    exp,
    ind,
    log,
    softmax,
    span,
    sqrt,
)
from attnproofs.calculus import evaluate as ev
from attnproofs.calculus.proof import Proof, ProofRefused, differentiate, lemma
from attnproofs.calculus.symbols import Expr, Ix, rational_expr
from attnproofs.calculus.sympy_bridge import (
    AGREES,
    CANNOT_TELL,
    DISAGREES,
    differentiated,
    expanded,
    factored,
    from_sympy,
    opinion,
    summed,
    to_sympy,
)
from attnproofs.errors import InputError
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.sums.gauss import THEOREM as gauss
from tests.kernel.steps import certificate, verdict


def symbols() -> tuple[Scope, Any, Any, Any, Any]:
    s = Scope("bridge")
    n = s.dimension("n")
    return s, n, s.tensor("x", n), s.scalar("c"), s.index("i", n)


def terms() -> st.SearchStrategy[Expr]:
    """Terms over one tensor, a scalar and an index; sums run over 1..n or a shifted range."""
    _, n, x, c, i = symbols()
    leaves = st.sampled_from([x[i], c, rational_expr(3), rational_expr(1) / 2, 1 * n, ind(i <= 2)])

    def grow(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
        return st.one_of(
            st.tuples(inner, inner).map(lambda t: t[0] + t[1]),
            st.tuples(inner, inner).map(lambda t: t[0] * t[1]),
            st.tuples(inner, st.integers(1, 3)).map(lambda t: t[0] ** t[1]),
            inner.map(lambda t: -t),
            inner.map(absolute),
            inner.map(lambda t: Sum(n, lambda j: x[j] * t)),
            inner.map(lambda t: Sum(span(1, i), lambda j: t + ind(j < i) * x[j])),
            inner.map(lambda t: t / (1 + t**2)),
        )

    return st.recursive(leaves, grow, max_leaves=6)


@settings(derandomize=True, max_examples=60, deadline=None)  # the first conversion loads SymPy
@given(terms())
def test_there_and_back_is_the_same_number(t: Expr) -> None:
    """A term that went to SymPy and came back has the same value at random instances."""
    s, *_ = symbols()
    statement = s.claim(Claim("=", t.term, from_sympy(to_sympy(t)).term))

    for seed in range(3):
        found = ev.sample(statement, seed, digits=30)
        assert found.holds and not found.out_of_range


@pytest.mark.parametrize(
    "make",
    [
        lambda n, x, c, i: x[i],
        lambda n, x, c, i: Sum(n, lambda j: x[j]),
        lambda n, x, c, i: Sum(n, lambda j: ind(j <= i) * x[j]),
        lambda n, x, c, i: Sum(n, lambda j: ind(j.is_(i)) * x[j]),
        lambda n, x, c, i: exp(c),
        lambda n, x, c, i: sqrt(1 * n),
        lambda n, x, c, i: log(exp(c) + 1),
    ],
)
def test_there_and_back_is_the_same_term(make: Any) -> None:
    """Where SymPy neither orders nor evaluates, the very term comes back, up to ring."""
    s, n, x, c, i = symbols()
    t = make(n, x, c, i)

    assert verdict(certificate(s, t, from_sympy(to_sympy(t)), "ring")) == ""


def test_what_sympy_has_no_counterpart_for_is_said() -> None:
    _, _, x, _, i = symbols()
    for t, what in ((softmax(x)[i], "app"), (derivative(x[i], x[i]), "D")):
        with pytest.raises(InputError, match=f"no counterpart of '{what}' here; unfold"):
            to_sympy(t)


# ---------------------------------------------------------------------- SymPy writes a line


def proved(statement: Any, proof: Any) -> Theorem:
    t = Theorem("mine", "mine", {"en": "Mine"}, (Part(statement, proof),))
    assert t.proved()
    return t


def test_sympy_expands_and_factors_the_next_line() -> None:
    def statement(s: Scope) -> Claim:
        a, b = s.scalar("a"), s.scalar("b")
        return eq((a + b) ** 3 - b**3, a * (a**2 + 3 * a * b + 3 * b**2))

    def proof(p: Proof) -> None:
        a, b = p["a b"]
        line = expanded((a + b) ** 3 - b**3)
        p.line(line, "ring")
        p.line(factored(line), "ring")
        p.line(a * (a**2 + 3 * a * b + 3 * b**2), "ring")

    proved(statement, proof)


def test_sympy_sums_and_a_lemma_shows_it() -> None:
    def statement(s: Scope) -> Claim:
        n = s.dimension("n")
        return eq(Sum(n, lambda i: 1 * i), n * (n + 1) / 2)

    def proof(p: Proof) -> None:
        n = p["n"]
        t = Sum(n, lambda i: 1 * i)
        p.line(n * (n + 1) / 2, lemma(gauss))
        p.line(summed(t), "ring")
        p.line(n * (n + 1) / 2, "ring")

    proved(statement, proof)


def test_sympy_differentiates_and_the_kernel_checks() -> None:
    def statement(s: Scope) -> Claim:
        c = s.scalar("c")
        return eq(derivative(c, exp(c) * c**2), exp(c) * c * (c + 2))

    def proof(p: Proof) -> None:
        c = p["c"]
        p.line(differentiated(exp(c) * c**2, c), differentiate())
        p.line(exp(c) * c * (c + 2), "ring")

    proved(statement, proof)


def test_what_sympy_says_is_not_believed() -> None:
    """A wrong line is refused, whoever wrote it."""

    def statement(s: Scope) -> Claim:
        c = s.scalar("c")
        return eq(c / c, 1)

    def proof(p: Proof) -> None:
        p.line(expanded(p["c"] / p["c"]), "ring")

    t = Theorem("wrong", "mine", {"en": "Wrong"}, (Part(statement, proof),))
    with pytest.raises(ProofRefused, match="wrong"):
        t.proved()


# ---------------------------------------------------------------------- opinions


def opinion_on(before: Any, after: Any, scope: Scope) -> str:
    statement = scope.claim(eq(before, after))
    return opinion(statement, statement.claim.lhs, statement.claim.rhs)


def test_sympy_agrees_with_right_algebra_and_disagrees_with_wrong() -> None:
    s, n, x, c, _ = symbols()
    total = Sum(n, lambda j: x[j])
    assert opinion_on(c * total, Sum(n, lambda j: c * x[j]), s) == AGREES
    assert opinion_on(c * total, Sum(n, lambda j: x[j]), s) == DISAGREES
    assert opinion_on(exp(c + c), exp(c) * exp(c), s) == AGREES
    assert opinion_on(exp(c * c), exp(c) * exp(c), s) == DISAGREES
    assert opinion_on(total**2, Sum(n, lambda j: x[j] ** 2), s) == DISAGREES


def test_sympy_cannot_tell_what_it_cannot_see() -> None:
    s, _, _, c, _ = symbols()
    assert opinion_on(absolute(c), sqrt(c**2), s) == CANNOT_TELL


def test_the_transpose_is_not_the_matrix() -> None:
    s = Scope("bridge")
    n = s.dimension("n")
    A = s.tensor("A", n, n)
    i, j = s.index("i", n), s.index("j", n)
    found = [opinion_on((A @ A.T)[i, j], (A.T @ A)[i, j], s), opinion_on(A.T[i, j], A[j, i], s)]
    assert found[1] == AGREES
    assert found[0] == DISAGREES
    assert Ix(i.index).index == i.index
