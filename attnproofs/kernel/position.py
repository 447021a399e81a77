"""Positions: a step may work inside a term, and everything around the position must stay the same.

A path is a list of child numbers. `descend` walks both terms of a step down the same path, opens
binders on the way, collects what is known below, and keeps account of the direction of an
inequality: through ``+``, ``exp``, ``log``, a sum, a product with a factor of known sign, and
(turning round) through ``1/t``.
"""

from __future__ import annotations

from dataclasses import dataclass

from attnproofs.kernel import index as ix
from attnproofs.kernel.context import Context
from attnproofs.kernel.definitions import definition_of, parameter_axes
from attnproofs.kernel.refused import Refused
from attnproofs.kernel.sign import guards, is_positive, signs
from attnproofs.kernel.terms import Term, instantiate


@dataclass(frozen=True)
class Hole:
    """A position reached: its context, both subterms, and whether the relation turned round."""

    ctx: Context
    before: Term
    after: Term
    turned: bool = False


def descend(ctx: Context, before: Term, after: Term, path: tuple[int, ...], relation: str) -> Hole:
    """Walk down `path` in both terms.

    Raises
    ------
    Refused
        When the path leads nowhere, when the terms differ elsewhere, or when an inequality cannot
        be carried through a node on the way.
    """
    hole = Hole(ctx, before, after)
    for child in path:
        inner = _child(hole, child)
        turned = hole.turned
        if relation != "=":
            turned ^= _direction(hole, inner, child, relation)
        hole = Hole(inner.ctx, inner.before, inner.after, turned)
    return hole


def _child(hole: Hole, k: int) -> Hole:
    ctx, t, u = hole.ctx, hole.before, hole.after
    if t[0] != u[0] or len(t) != len(u):
        raise Refused("the two lines differ outside the position of the step")
    match t[0]:
        case "add" | "mul":
            if not 0 <= k < len(t) - 1:
                raise Refused("the position of the step does not exist")
            _unchanged(t[: k + 1] + t[k + 2 :], u[: k + 1] + u[k + 2 :])
            inner = ctx if t[0] == "add" else ctx.given(guards(t[1:], k))
            return Hole(inner, t[k + 1], u[k + 1])
        case "sum" if k == 0:
            _unchanged(t[1], u[1])
            inner, i = ctx.below(t[1])
            return Hole(inner, instantiate(t[2], (i,)), instantiate(u[2], (i,)))
        case "pow" if k == 0:
            _unchanged(t[2], u[2])
            return Hole(ctx, t[1], u[1])
        case "D" if k == 0:
            _unchanged(t[1], u[1])
            return Hole(ctx.below_derivative(t[1]), t[2], u[2])
        case "E" if k == 0:
            return Hole(ctx.below_expectation(), t[1], u[1])
        case "inv" | "exp" | "log" | "sqrt" | "abs" if k == 0:
            return Hole(ctx, t[1], u[1])
        case "app" if 0 <= k < len(t[2]):
            return _argument(hole, k)
    raise Refused("the position of the step does not exist")


def _argument(hole: Hole, k: int) -> Hole:
    ctx, t, u = hole.ctx, hole.before, hole.after
    found = definition_of(ctx.statement, t)
    definition_of(ctx.statement, u)
    _unchanged((t[1], t[3], t[2][:k] + t[2][k + 1 :]), (u[1], u[3], u[2][:k] + u[2][k + 1 :]))
    one, two = t[2][k], u[2][k]
    if one[0] == "int" or one[0] != two[0]:
        raise Refused("the position of the step does not exist")
    if one[0] == "real":
        return Hole(ctx.below_expectation(), one[1], two[1])
    opened: list[ix.Index] = []
    for axis in parameter_axes(found, t, k):
        ctx, i = ctx.below(axis)
        opened.append(i)
    return Hole(ctx, instantiate(one[2], tuple(opened)), instantiate(two[2], tuple(opened)))


def _unchanged(one: object, two: object) -> None:
    if one != two:
        raise Refused("the two lines differ outside the position of the step")


def _direction(hole: Hole, inner: Hole, k: int, relation: str) -> bool:
    """Tell whether the relation turns round at this node; refuse when it is not carried through."""
    ctx, t = hole.ctx, hole.before
    strict = relation == "<"
    match t[0]:
        case "add" | "exp":
            return False
        case "sum":
            if strict and not ctx.holds(ix.ge(ix.axis_size(t[1]), ix.ONE)):
                raise Refused("a strict inequality needs a nonempty sum")
            return False
        case "mul":
            others = t[1 : k + 1] + t[k + 2 :]
            found = signs(ctx, others[0] if len(others) == 1 else ("mul", *others))
            if found <= {0, 1} and not (strict and 0 in found):
                return False
            if found <= {-1, 0} and not (strict and 0 in found):
                return True
            raise Refused("an inequality is multiplied by a factor of unknown sign")
        case "inv":
            if is_positive(inner.ctx, inner.before) and is_positive(inner.ctx, inner.after):
                return True
            raise Refused("an inequality is inverted, and both sides are not shown positive")
        case "log":
            if is_positive(inner.ctx, inner.before) and is_positive(inner.ctx, inner.after):
                return False
            raise Refused("a logarithm of sides that are not shown positive")
    raise Refused(f"an inequality is not carried through {t[0]}")
