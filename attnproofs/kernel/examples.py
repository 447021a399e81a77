"""Material for the doctests of `rules`: a small statement, and one rule tried on two terms.

Nothing in the kernel uses it.

>>> attempt("ring", add(x, y), add(y, x))
'accepted'
"""

from __future__ import annotations

from typing import Any

from attnproofs.kernel import index as ix
from attnproofs.kernel.context import Context
from attnproofs.kernel.refused import Refused
from attnproofs.kernel.rules import RULES, Step
from attnproofs.kernel.statement import Claim, Declared, Definition, Hypothesis, Statement
from attnproofs.kernel.terms import Term, rational

N: ix.Axis = ("range", ix.ONE, ix.var("n"))
B0 = ix.atom(("b", 0))
i, j = ix.var("i"), ix.var("j")
x: Term = ("sym", "x")
y: Term = ("sym", "y")
zero, one, two = rational(0), rational(1), rational(2)
f0: Term = ("app", "f", (("int", ix.ZERO),), ())


def v(index: ix.Index) -> Term:
    """Return an entry of the vector v on 1..n."""
    return ("ent", "v", (index,))


def q(index: ix.Index) -> Term:
    """Return an entry of the random family q, with independent components of mean unknown."""
    return ("ent", "q", (index,))


def add(*parts: Term) -> Term:
    """Return a sum of terms."""
    return ("add", *parts)


def mul(*parts: Term) -> Term:
    """Return a product of terms."""
    return ("mul", *parts)


def total(axis: ix.Axis, body: Term) -> Term:
    """Return a sum over an axis; ``B0`` is the bound index in the body."""
    return ("sum", axis, body)


STATEMENT = Statement(
    "examples",
    (
        Declared("dimension", "n", least=2),
        Declared("scalar", "x"),
        Declared("scalar", "y"),
        Declared("tensor", "v", (N,)),
        Declared("index", "i", (N,)),
        Declared("index", "j", (N,)),
        Declared("family", "q", (N,), order=2, independent=True),
    ),
    Claim("=", x, x),
    (Hypothesis("below", relation="<=", lhs=zero, rhs=y),),
    definitions=(Definition("f", (("int", "k", 0),), (), two, "k", one),),
)

# a proved statement to cite: t <= |t|
LEMMA = Statement(
    "abs_ge", (Declared("scalar", "t"),), Claim("<=", ("sym", "t"), ("abs", ("sym", "t")))
)


def attempt(rule: str, before: Term, after: Term, relation: str = "=", **args: Any) -> str:
    """Return ``'accepted'``, or why the rule refuses the step."""
    ctx = Context.root(STATEMENT)
    given = args.pop("given", ())
    cited = LEMMA if rule == "lemma" else None
    try:
        RULES[rule](Step(ctx.given(given), before, after, relation, args, cited))
    except Refused as refusal:
        return refusal.reason
    return "accepted"
