"""The axioms: what the rules assume about real numbers, exp, sums and expectation. No theorem.

Each entry has a reason and a reference; `RULE_AXIOMS` says on which of them a rule (or a law of the
ring rule) rests. What a theorem rests on is the union over its steps and its lemmas.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Axiom:
    """One assumption: its statement, why it is taken, and where a textbook has it."""

    id: str
    statement: str
    reason: str
    reference: str


_RUDIN = "W. Rudin, Principles of Mathematical Analysis, 3rd ed."
_ENDERTON = "H. Enderton, A Mathematical Introduction to Logic, 2nd ed."
_DURRETT = "R. Durrett, Probability: Theory and Examples, 5th ed."
_HOFFMAN = "K. Hoffman and R. Kunze, Linear Algebra, 2nd ed."

AXIOMS: Mapping[str, Axiom] = {
    a.id: a
    for a in (
        Axiom("field", "The real numbers are a field: commutative laws of +, *, 1/x for x != 0.",
              "Everything the ring rule does.", f"{_RUDIN}, 1.12"),
        Axiom("order", "The real numbers are totally ordered, compatibly with + and *; squares "
              "are >= 0.", "Signs and inequalities.", f"{_RUDIN}, 1.17"),
        Axiom("exp_add", "exp(a + b) = exp(a) exp(b).",
              "The functional equation of the exponential.", f"{_RUDIN}, 8.6"),
        Axiom("exp_zero", "exp(0) = 1.", "With exp_add: exp is never zero.", f"{_RUDIN}, 8.6"),
        Axiom("exp_tangent", "1 + t <= exp(t).",
              "With exp_add and exp_zero it gives exp > 0 and that exp increases.",
              f"{_RUDIN}, 8.6"),
        Axiom("log_exp", "log(exp t) = t, and exp(log t) = t for t > 0.",
              "Defines the logarithm.", f"{_RUDIN}, 8.6"),
        Axiom("sqrt", "sqrt(t) >= 0 and sqrt(t)^2 = t for t >= 0.",
              "Defines the square root.", f"{_RUDIN}, 1.21"),
        Axiom("abs", "|t| = t for t >= 0 and -t for t <= 0.", "Definition.", f"{_RUDIN}, 1.32"),
        Axiom("sum_finite", "Finite sums: the empty sum is 0, disjoint union, one term, bijection, "
              "additivity, scaling, exchange.",
              "All follow from 'empty' and 'append one term' by induction; taken as rules so that "
              "derivations read as in a textbook.", f"{_ENDERTON}, 3.3"),
        Axiom("sum_product", "A sum over a product of ranges is the double sum, first index slow.",
              "Fixes what contiguous blocks mean.", f"{_RUDIN}, 8.3"),
        Axiom("indicator", "[c] is 1 where c holds and 0 elsewhere.",
              "Two-valued logic of integer comparisons.", f"{_ENDERTON}, 1.2"),
        Axiom("expectation", "E is linear on polynomials in random variables with finite moments, "
              "E 1 = 1, and E t >= 0 where t >= 0.", "What expectation is.", f"{_DURRETT}, 1.6"),
        Axiom("independence", "E(f g) = E f E g for independent blocks.",
              "Definition of independence, with finite moments.", f"{_DURRETT}, 2.1"),
        Axiom("derivative", "Partial derivatives of coordinates, +, *, 1/x, exp, log, finite sums.",
              "Calculus.", f"{_RUDIN}, 5.3, 5.5"),
        Axiom("induction", "Induction on the natural numbers.", "Symbolic dimensions.",
              f"{_ENDERTON}, 0"),
        Axiom("definition", "Explicit and primitive-recursive definitions add nothing.",
              "Defined symbols may be unfolded.", f"{_ENDERTON}, 2.7"),
        Axiom("rank", "rank M <= r exactly if M = A B with r columns in A.",
              "The reading of 'factors through'; no rule uses it.", f"{_HOFFMAN}, 3.7"),
        Axiom("exp_taylor", "For rational 0 <= q < N + 2, the Taylor sum to N encloses exp(q) with "
              "remainder q^(N+1)/(N+1)! (N+2)/(N+2-q).",
              "Numbers in worked examples.", f"{_RUDIN}, 5.15, 8.6"),
    )
}  # fmt: skip

RULE_AXIOMS: Mapping[str, tuple[str, ...]] = {
    "ring": ("field",),
    "expring": ("exp_add", "exp_zero", "exp_tangent"),
    "sum_add": ("sum_finite",),
    "sum_scale": ("sum_finite",),
    "sum_pair": ("sum_product",),
    "sum_empty": ("sum_finite",),
    "sum_single": ("sum_finite",),
    "sum_literal": ("sum_finite",),
    "ind_bool": ("indicator",),
    "ind_val": ("indicator",),
    "E_lin": ("expectation",),
    "E_const": ("expectation",),
    "log_exp": ("log_exp",),
    "sqrt_sq": ("sqrt",),
    "unfold": ("definition",),
    "ixeq": (),
    "rec": ("definition",),
    "absurd": (),
    "hyp": (),
    "lemma": (),
    "sum_swap": ("sum_finite",),
    "sum_split": ("sum_finite",),
    "sum_bij": ("sum_finite",),
    "abs_val": ("abs", "order"),
    "abs_bound": ("abs", "order"),
    "sqrt_square": ("sqrt",),
    "sign": ("order", "exp_tangent"),
    "order": ("field", "order", "exp_tangent"),
    "exp_ge": ("exp_tangent",),
    "exp_enclose": ("exp_taylor",),
    "E_indep": ("independence",),
    "diff": ("derivative",),
    "mono": ("order", "exp_add", "exp_tangent"),
    "induct": ("induction",),
    "factor": ("rank",),
    "shape": (),
}
