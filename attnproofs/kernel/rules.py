"""The rules: short functions, guards first. Each looks at one step and says no, or nothing.

A rule gets the context of the position, the subterms before and after, the relation claimed
(``=``, ``<=`` or ``<``) and its arguments. Every rule for ``=`` may be used in both directions
(`replay` turns the step round). Where a rule compares terms it does so up to ring normal form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from attnproofs.kernel import index as ix
from attnproofs.kernel.algebra import LAWS, same
from attnproofs.kernel.context import Context, bind_axis, show_index
from attnproofs.kernel.definitions import recursion_step
from attnproofs.kernel.lemmas import lemma_instance
from attnproofs.kernel.refused import Refused
from attnproofs.kernel.sign import bound, is_nonnegative, is_positive
from attnproofs.kernel.statement import Hypothesis, Statement
from attnproofs.kernel.terms import (
    Term,
    abstract,
    free_variables,
    index_variables,
    instantiate,
    minus,
    negative,
    rational,
    symbols,
)
from attnproofs.kernel.wellformed import check, random_symbols

_BASIC = ("ind_val", "ind_bool", "sum_empty", "sum_single")


@dataclass(frozen=True)
class Step:
    """One step at its position."""

    ctx: Context
    before: Term
    after: Term
    relation: str
    args: Mapping[str, Any]
    lemma: Statement | None = None


Rule = Callable[[Step], None]


def _equality_only(step: Step, name: str) -> None:
    if step.relation != "=":
        raise Refused(f"{name} proves an equality, not {step.relation}")


# ---------------------------------------------------------------------- algebra


def _laws(step: Step) -> tuple[str, ...]:
    laws = tuple(step.args.get("laws", ()))
    for law in laws:
        if law not in LAWS and not law.startswith("unfold:"):
            raise Refused(f"unknown law: {law}")
        if law.startswith("unfold:") and law[7:] not in step.ctx.statement.definition:
            raise Refused(f"{law[7:]} is not a defined symbol")
    return laws


def algebra(step: Step) -> None:
    """``t = u`` by normal form under the laws named in ``args['laws']`` (see `algebra`).

    >>> from attnproofs.kernel.examples import *
    >>> attempt("ring", mul(two, x), add(x, x))
    'accepted'
    >>> attempt("ring", mul(x, ("inv", x)), one)
    'the two sides are not equal by ring'
    """
    laws = _laws(step)
    if step.relation == "<":
        raise Refused("ring proves an equality, not <")
    if not same(step.ctx, step.before, step.after, laws):
        named = ", ".join(["ring", *laws])
        raise Refused(f"the two sides are not equal by {named}")


def index_equality(step: Step) -> None:
    """Replace indices by indices that are equal here: ``[j = i] x[j] = [j = i] x[i]``.

    >>> from attnproofs.kernel.examples import *
    >>> attempt("ixeq", v(i), v(j), given=[ix.eq(i, j)])
    'accepted'
    >>> attempt("ixeq", v(i), v(j))
    'ixeq: cannot show i = j'
    """
    _equality_only(step, "ixeq")
    _equal_indices(step.ctx, step.before, step.after)


def _equal_indices(ctx: Context, t: Term, u: Term) -> None:
    if t == u:
        return
    if t[0] != u[0] or len(t) != len(u):
        raise Refused("ixeq: the two sides differ in more than indices")
    match t[0]:
        case "ix":
            _equal_index(ctx, t[1], u[1])
        case "ent" if t[1] == u[1] and len(t[2]) == len(u[2]):
            for i, j in zip(t[2], u[2]):
                _equal_index(ctx, i, j)
        case "app" if t[1] == u[1] and t[2] == u[2] and len(t[3]) == len(u[3]):
            for i, j in zip(t[3], u[3]):
                _equal_index(ctx, i, j)
        case "sum":
            _equal_axis(ctx, t[1], u[1])
            inner, i = ctx.below(t[1])
            _equal_indices(inner, instantiate(t[2], (i,)), instantiate(u[2], (i,)))
        case "E":
            _equal_indices(ctx, t[1], u[1])
        case "pow" if t[2] == u[2]:
            _equal_indices(ctx, t[1], u[1])
        case "add" | "mul" | "inv" | "exp" | "log" | "sqrt" | "abs":
            for v, w in zip(t[1:], u[1:]):
                _equal_indices(ctx, v, w)
        case _:
            raise Refused("ixeq: the two sides differ in more than indices")


def _equal_axis(ctx: Context, a: ix.Axis, b: ix.Axis) -> None:
    if a == b:
        return
    if a[0] != "range" or b[0] != "range":
        raise Refused("ixeq: the two sides differ in more than indices")
    _equal_index(ctx, a[1], b[1])
    _equal_index(ctx, a[2], b[2])


def _equal_index(ctx: Context, i: ix.Index, j: ix.Index) -> None:
    if i == j:
        return
    if ix.is_pair(i) and ix.is_pair(j):
        _equal_index(ctx, i[1], j[1])
        _equal_index(ctx, i[2], j[2])
    elif ix.is_pair(i) or ix.is_pair(j) or not ctx.holds(ix.eq(i, j)):
        raise Refused(f"ixeq: cannot show {show_index(i)} = {show_index(j)}")


def recursion(step: Step) -> None:
    """One step of a recursive definition: ``f(0) = base``, ``f(k + 1) = step at k``.

    >>> from attnproofs.kernel.examples import *
    >>> attempt("rec", f0, one)
    'accepted'
    >>> attempt("rec", f0, two)
    'rec: not the defining equation of f'
    """
    _equality_only(step, "rec")
    if step.before[0] != "app":
        raise Refused("rec: there is no recursively defined symbol at the position")
    right, stage = recursion_step(step.ctx.statement, step.before)
    if not step.ctx.holds(ix.ge(stage)):
        raise Refused(f"rec: cannot show 0 <= {show_index(stage)}")
    if not same(step.ctx, right, step.after, _BASIC):
        raise Refused(f"rec: not the defining equation of {step.before[1]}")


def absurd(step: Step) -> None:
    """Anything follows where the index facts contradict each other (an empty range).

    >>> from attnproofs.kernel.examples import *
    >>> attempt("absurd", x, y, given=[ix.ge(i, ix.add(ix.var("n"), ix.ONE))])
    'accepted'
    >>> attempt("absurd", x, y)
    'absurd: the facts at the position do not contradict each other'
    """
    if not step.ctx.absurd():
        raise Refused("absurd: the facts at the position do not contradict each other")


# ---------------------------------------------------------------------- hypotheses and lemmas


def hypothesis(step: Step) -> None:
    """An instance of a hypothesis (or of the induction hypothesis).

    >>> from attnproofs.kernel.examples import *
    >>> attempt("hyp", zero, y, "<=", name="below")
    'accepted'
    >>> attempt("hyp", zero, y, "<", name="below")
    'hypothesis below is not strict'
    """
    name = step.args.get("name")
    found = next((h for h in step.ctx.relations if h.name == name), None)
    if found is None:
        raise Refused(f"hyp: no hypothesis {name} may be used here")
    binding = step.args.get("at", {})
    lhs, rhs = instance(step.ctx, found, binding)
    _follows(step, str(found.relation), lhs, rhs, f"hypothesis {name}")


def instance(ctx: Context, h: Hypothesis, binding: Mapping[str, ix.Index]) -> tuple[Term, Term]:
    """Return both sides of a hypothesis at the given indices, after checking that it applies."""
    if set(binding) != {n for n, _ in h.forall}:
        raise Refused(f"hypothesis {h.name} needs values for exactly its quantified indices")
    values = dict(binding)
    for n, axis in h.forall:
        missing = ctx.in_axis(values[n], bind_axis(axis, values))
        if missing:
            raise Refused(f"hypothesis {h.name} does not reach this index: {missing}")
    for c in h.conditions:
        if not ctx.holds(
            ix.cond_substitute(c, lambda a: values.get(a[1]) if a[0] == "v" else None)
        ):
            raise Refused(f"a condition of hypothesis {h.name} is not known here")
    if h.lhs is None or h.rhs is None:
        raise Refused(f"hypothesis {h.name} is no relation between reals")
    return bound(h.lhs, values), bound(h.rhs, values)


def _follows(step: Step, relation: str, lhs: Term, rhs: Term, what: str) -> None:
    """Refuse unless ``before R after`` is ``lhs relation rhs`` (up to ring normal form)."""
    if relation != "=" and step.relation == "=":
        raise Refused(f"{what} is an inequality, and the step claims an equality")
    if relation == "<=" and step.relation == "<":
        raise Refused(f"{what} is not strict")
    if relation == "=" and step.relation == "<":
        raise Refused(f"{what} is an equality, and the step claims <")
    if not (same(step.ctx, step.before, lhs, _BASIC) and same(step.ctx, step.after, rhs, _BASIC)):
        raise Refused(f"{what} does not match this step")


def lemma(step: Step) -> None:
    """An instance of a proved statement, cited by digest; see `lemmas`.

    >>> from attnproofs.kernel.examples import *
    >>> attempt("lemma", x, ("abs", x), "<=", **{"with": {"t": ("real", x)}})
    'accepted'
    >>> attempt("lemma", x, ("abs", y), "<=", **{"with": {"t": ("real", x)}})
    'lemma abs_ge does not match this step'
    """
    if step.lemma is None:
        raise Refused("lemma: the cited statement is not among the proved ones")
    lhs, rhs = lemma_instance(_citing(step), step.lemma, step.args.get("with", {}))
    _follows(step, step.lemma.claim.relation, lhs, rhs, f"lemma {step.lemma.name}")


# ---------------------------------------------------------------------- sums


def _sum_parts(t: Term, name: str) -> tuple[ix.Axis, Term]:
    if t[0] != "sum":
        raise Refused(f"{name}: there is no sum at the position")
    return t[1], t[2]


def sum_swap(step: Step) -> None:
    """Exchange two neighbouring sums whose ranges do not depend on each other.

    >>> from attnproofs.kernel.examples import *
    >>> attempt("sum_swap", total(N, total(N, v(B0))), total(N, total(N, v(ix.atom(("b", 1))))))
    'accepted'
    >>> attempt("sum_swap", total(N, v(B0)), total(N, v(B0)))
    'sum_swap: there is no sum at the position'
    """
    _equality_only(step, "sum_swap")
    outer, body = _sum_parts(step.before, "sum_swap")
    ctx, i = step.ctx.below(outer)
    inner, rest = _sum_parts(instantiate(body, (i,)), "sum_swap")
    if free_variables(("sum", inner, rational(0))) & index_variables(i):
        raise Refused("sum_swap: the inner range depends on the outer index")
    ctx, j = ctx.below(inner)
    expected = (
        "sum",
        inner,
        abstract(("sum", outer, abstract(instantiate(rest, (j,)), (i,))), (j,)),
    )
    if not same(step.ctx, expected, step.after):
        raise Refused("sum_swap: the next line is not the sum in the other order")


def sum_split(step: Step) -> None:
    """Cut a range in two: ``lo..hi = lo..m and m+1..hi`` when ``lo - 1 <= m <= hi``.

    >>> from attnproofs.kernel.examples import *
    >>> after = ("range", ix.add(i, ix.ONE), ix.var("n"))
    >>> attempt("sum_split",
    ...     total(N, x), add(total(("range", ix.ONE, i), x), total(after, x)), cut=i)
    'accepted'
    >>> attempt("sum_split", total(N, x), x, cut=ix.add(ix.var("n"), ix.ONE))
    'sum_split: cannot show n+1 <= n'
    """
    _equality_only(step, "sum_split")
    axis, body = _sum_parts(step.before, "sum_split")
    if axis[0] != "range":
        raise Refused("sum_split: a flattened axis is not cut")
    m: ix.Poly = step.args["cut"]
    if not step.ctx.holds(ix.ge(ix.add(m, ix.ONE), axis[1])):
        raise Refused(f"sum_split: cannot show {show_index(axis[1])} - 1 <= {show_index(m)}")
    if not step.ctx.holds(ix.ge(axis[2], m)):
        raise Refused(f"sum_split: cannot show {show_index(m)} <= {show_index(axis[2])}")
    parts = (
        ("sum", ("range", axis[1], m), body),
        ("sum", ("range", ix.add(m, ix.ONE), axis[2]), body),
    )
    if not same(step.ctx, ("add", *parts), step.after, _BASIC):
        raise Refused("sum_split: the next line is not the sum over both parts")


def sum_bijection(step: Step) -> None:
    """Sum in another order: a bijection between the indices that count on both sides.

    ``args['to']`` sends an index of the sum after to one of the sum before, ``args['from']`` back;
    ``args['where']`` and ``args['where_after']`` say which indices count (outside them the body is
    multiplied by 0; left out: all).

    >>> from attnproofs.kernel.examples import *
    >>> attempt("sum_bij", total(N, v(B0)), total(N, v(B0)), to=B0, **{"from": B0})
    'accepted'
    >>> attempt("sum_bij", total(N, x), total(N, x), to=i, **{"from": B0})
    'sum_bij: the two maps are not inverse to each other'
    """
    _equality_only(step, "sum_bij")
    axis, body = _sum_parts(step.before, "sum_bij")
    axis_after, body_after = _sum_parts(step.after, "sum_bij")
    to, back = step.args["to"], step.args["from"]
    where = step.args.get("where", ix.ge(ix.ZERO))
    where_after = step.args.get("where_after", ix.ge(ix.ZERO))

    before_ctx, j = step.ctx.below(axis)
    after_ctx, k = step.ctx.below(axis_after)
    f, g = instantiate(body, (j,)), instantiate(body_after, (k,))
    c, d = _at_cond(where, j), _at_cond(where_after, k)
    _counts_only(before_ctx, c, f)
    _counts_only(after_ctx, d, g)
    _sends(before_ctx.given([c]), j, back, axis_after, where_after, to)
    inside = after_ctx.given([d])
    _sends(inside, k, to, axis, where, back)
    if not same(inside, instantiate(body, (_at(to, k),)), g, _BASIC):
        raise Refused("sum_bij: the bodies do not agree under the bijection")


def _at(p: ix.Index, i: ix.Index) -> ix.Index:
    return ix.substitute(p, lambda a: i if a == ("b", 0) else None)


def _at_cond(c: ix.Cond, i: ix.Index) -> ix.Cond:
    return ix.cond_substitute(c, lambda a: i if a == ("b", 0) else None)


def _counts_only(ctx: Context, c: ix.Cond, body: Term) -> None:
    if not same(ctx, ("mul", ("ind", c), body), body, ("ind_bool", "ind_val")):
        raise Refused("sum_bij: the body is not zero outside the indices that count")


def _sends(
    ctx: Context, i: ix.Index, to: ix.Index, axis: ix.Axis, where: ix.Cond, back: ix.Index
) -> None:
    image = _at(to, i)
    missing = ctx.in_axis(image, axis)
    if missing:
        raise Refused(f"sum_bij: an index is sent out of range: {missing}")
    if not ctx.holds(_at_cond(where, image)):
        raise Refused("sum_bij: an index that counts is sent to one that does not")
    again = _at(back, image)
    if again != i and (ix.is_pair(again) or ix.is_pair(i) or not ctx.holds(ix.eq(again, i))):
        raise Refused("sum_bij: the two maps are not inverse to each other")


# ---------------------------------------------------------------------- functions


def absolute_value(step: Step) -> None:
    """``|t| = t`` where ``0 <= t``, ``|t| = -t`` where ``t <= 0``.

    >>> from attnproofs.kernel.examples import *
    >>> attempt("abs_val", ("abs", y), y)
    'accepted'
    >>> attempt("abs_val", ("abs", x), x)
    'abs_val: the sign of the argument is not shown, or the next line does not fit it'
    """
    _equality_only(step, "abs_val")
    if step.before[0] != "abs":
        raise Refused("abs_val: there is no absolute value at the position")
    t, ctx = step.before[1], _citing(step)
    if is_nonnegative(ctx, t) and same(step.ctx, step.after, t):
        return
    if is_nonnegative(ctx, negative(t)) and same(step.ctx, step.after, negative(t)):
        return
    raise Refused(
        "abs_val: the sign of the argument is not shown, or the next line does not fit it"
    )


def absolute_bound(step: Step) -> None:
    """``|t| <= u`` where ``t <= u`` and ``-t <= u``; ``t <= |t|`` and ``-t <= |t|``.

    >>> from attnproofs.kernel.examples import *
    >>> attempt("abs_bound", x, ("abs", x), "<=")
    'accepted'
    >>> attempt("abs_bound", ("abs", x), y, "<=")
    'abs_bound: cannot show that the argument lies between -u and u'
    """
    if step.relation != "<=":
        raise Refused("abs_bound proves an inequality <=")
    ctx = _citing(step)
    if step.after[0] == "abs":
        t = step.after[1]
        if same(step.ctx, step.before, t) or same(step.ctx, step.before, negative(t)):
            return
    if step.before[0] != "abs":
        raise Refused("abs_bound: the left side is no absolute value, nor t or -t of the right one")
    for t in (step.before[1], negative(step.before[1])):
        if not is_nonnegative(ctx, minus(step.after, t)):
            raise Refused("abs_bound: cannot show that the argument lies between -u and u")


def square_root(step: Step) -> None:
    """``sqrt(t t) = t`` where ``0 <= t``.

    >>> from attnproofs.kernel.examples import *
    >>> attempt("sqrt_square", ("sqrt", mul(y, y)), y)
    'accepted'
    >>> attempt("sqrt_square", ("sqrt", mul(x, x)), x)
    'sqrt_square: cannot show 0 <= t, and a square root is never negative'
    """
    _equality_only(step, "sqrt_square")
    if step.before[0] != "sqrt":
        raise Refused("sqrt_square: there is no square root at the position")
    if not is_nonnegative(step.ctx, step.after):
        raise Refused("sqrt_square: cannot show 0 <= t, and a square root is never negative")
    if not same(step.ctx, step.before[1], ("mul", step.after, step.after)):
        raise Refused("sqrt_square: the argument is not the square of the next line")


# ---------------------------------------------------------------------- order


def sign(step: Step) -> None:
    """``0 <= t`` or ``0 < t``, read off the syntax of t.

    >>> from attnproofs.kernel.examples import *
    >>> attempt("sign", zero, ("exp", x), "<")
    'accepted'
    >>> attempt("sign", zero, y, "<")
    'sign: cannot show 0 < t'
    """
    if step.relation == "=" or step.before[:2] != ("q", 0):
        raise Refused("sign proves 0 <= t or 0 < t")
    shown = is_positive if step.relation == "<" else is_nonnegative
    if not shown(_citing(step), step.after):
        raise Refused(f"sign: cannot show 0 {step.relation} t")


def order(step: Step) -> None:
    """``t <= u`` because ``u - t`` equals the term in ``args['difference']``, which has a sign.

    >>> from attnproofs.kernel.examples import *
    >>> attempt("order", x, add(x, y), "<=", difference=y)
    'accepted'
    >>> attempt("order", y, add(x, y), "<=", difference=x)
    'order: cannot show 0 <= the difference'
    """
    if step.relation == "=":
        raise Refused("order proves an inequality")
    difference: Term = step.args.get("difference", minus(step.after, step.before))
    ctx = _citing(step)
    check(ctx, difference)
    laws = _laws(step)
    if not same(ctx, minus(step.after, step.before), difference, (*_BASIC, *laws)):
        raise Refused("order: the difference of the two sides is not the given term")
    shown = is_positive if step.relation == "<" else is_nonnegative
    if not shown(ctx, difference):
        raise Refused(f"order: cannot show 0 {step.relation} the difference")


def _citing(step: Step) -> Context:
    """Add the facts that a step cites (hypotheses at indices, lemma instances) to its context."""
    facts: tuple[Hypothesis, ...] = step.args.get("facts", ())
    return step.ctx.citing(tuple(facts))


def exp_bound(step: Step) -> None:
    """``1 + t <= exp(t)``.

    >>> from attnproofs.kernel.examples import *
    >>> attempt("exp_ge", add(one, x), ("exp", x), "<=")
    'accepted'
    >>> attempt("exp_ge", add(two, x), ("exp", x), "<=")
    'exp_ge: the left side is not 1 + t'
    """
    if step.relation != "<=" or step.after[0] != "exp":
        raise Refused("exp_ge proves 1 + t <= exp(t)")
    if not same(step.ctx, step.before, ("add", rational(1), step.after[1])):
        raise Refused("exp_ge: the left side is not 1 + t")


def exp_enclosure(step: Step) -> None:
    """Taylor: ``L <= exp(q) <= L + q^(N+1)/(N+1)! (N+2)/(N+2-q)``, rational ``0 <= q < N+2``.

    >>> from attnproofs.kernel.examples import *
    >>> attempt("exp_enclose", ("exp", one), ("q", 11, 4), "<=", terms=8)
    'accepted'
    >>> attempt("exp_enclose", ("exp", one), ("q", 27, 10), "<=", terms=8)
    'exp_enclose: the number lies on the wrong side of the enclosure'
    """
    terms = step.args["terms"]
    upper = step.before[0] == "exp"
    inside = step.before if upper else step.after
    other = step.after if upper else step.before
    if step.relation != "<=" or inside[0] != "exp" or inside[1][0] != "q" or other[0] != "q":
        raise Refused("exp_enclose compares exp of a rational number with a rational number")
    q = Fraction(inside[1][1], inside[1][2])
    if not 0 <= q < terms + 2 or not 0 <= terms <= 200:
        raise Refused("exp_enclose: 0 <= q < N + 2 is needed (and N at most 200)")
    low, power = Fraction(0), Fraction(1)
    for k in range(terms + 1):
        low += power
        power = power * q / (k + 1)
    high = low + power * (terms + 2) / (terms + 2 - q)
    value = Fraction(other[1], other[2])
    if (upper and value < high) or (not upper and value > low):
        raise Refused("exp_enclose: the number lies on the wrong side of the enclosure")


# ---------------------------------------------------------------------- expectation, derivative


def independence(step: Step) -> None:
    """``E(f g) = E f E g`` when the random entries of f and g are declared independent.

    >>> from attnproofs.kernel.examples import *
    >>> means = mul(("E", q(i)), ("E", q(j)))
    >>> attempt("E_indep", ("E", mul(q(i), q(j))), means, given=[("not", ix.eq(i, j))])
    'accepted'
    >>> attempt("E_indep", ("E", mul(q(i), q(j))), means)
    'E_indep: two entries of q may be the same one'
    """
    _equality_only(step, "E_indep")
    t, u = step.before, step.after
    if t[0] != "E" or u[0] != "mul" or len(u) != 3 or u[1][0] != "E" or u[2][0] != "E":
        raise Refused("E_indep turns E(f g) into E f times E g")
    f, g = u[1][1], u[2][1]
    inner = step.ctx.below_expectation()
    if not same(inner, t[1], ("mul", f, g), ("sum_pair",)):
        raise Refused("E_indep: the expectation is not that of the product")
    _independent(inner, f, g)


def _independent(ctx: Context, f: Term, g: Term) -> None:
    ours, theirs = random_symbols(ctx.statement, f), random_symbols(ctx.statement, g)
    used = ours | theirs
    if len(used) > 1 and not any(used <= set(group) for group in ctx.statement.independent):
        raise Refused(f"E_indep: {', '.join(sorted(used))} are not declared independent together")
    for name in sorted(ours & theirs):
        if not ctx.statement.symbol[name].independent:
            raise Refused(f"E_indep: the components of {name} are not declared independent")
        for here, i in _entries(ctx, f, name):
            for there, j in _entries(here, g, name):
                if not any(
                    there.holds(("not", ix.eq(a, b)))
                    for a, b in zip(i, j)
                    if not ix.is_pair(a) and not ix.is_pair(b)
                ):
                    raise Refused(f"E_indep: two entries of {name} may be the same one")


def _entries(ctx: Context, t: Term, name: str) -> list[tuple[Context, tuple[ix.Index, ...]]]:
    """Return the indices of all entries of `name` in `t`, each with the context it stands in."""
    if name not in symbols(t):
        return []
    match t[0]:
        case "ent":
            return [(ctx, t[2])] if t[1] == name else []
        case "sum":
            inner, i = ctx.below(t[1])
            return _entries(inner, instantiate(t[2], (i,)), name)
        case "add":
            return [e for u in t[1:] for e in _entries(ctx, u, name)]
        case "mul":
            inside = ctx.given(u[1] for u in t[1:] if u[0] == "ind")
            return [e for u in t[1:] for e in _entries(inside, u, name)]
        case "pow":
            return _entries(ctx, t[1], name)
    raise Refused(f"E_indep: entries of {name} stand inside {t[0]}; unfold it first")


def derivative(step: Step) -> None:
    """Compute a derivative by the rules of calculus; what is not computed stays as a derivative.

    >>> from attnproofs.kernel.examples import *
    >>> attempt("diff", ("D", x, mul(x, x)), mul(two, x))
    'accepted'
    >>> attempt("diff", ("D", x, mul(x, x)), x)
    'diff: the next line is not the derivative'
    """
    _equality_only(step, "diff")
    if step.before[0] != "D":
        raise Refused("diff: there is no derivative at the position")
    laws = _laws(step)
    result = _derive(step.ctx, step.before[1], step.before[2])
    if not same(step.ctx, result, step.after, (*_BASIC, *laws)):
        raise Refused("diff: the next line is not the derivative")


def _derive(ctx: Context, x: Term, t: Term) -> Term:
    if x[1] not in symbols(t):
        return rational(0)
    match t[0]:
        case "sym":
            return rational(1)
        case "ent":
            hits = tuple(("ind", ix.eq(a, b)) for i, j in zip(t[2], x[2]) for a, b in _pairs(i, j))
            return hits[0] if len(hits) == 1 else ("mul", *hits) if hits else rational(1)
        case "add":
            return ("add", *(_derive(ctx, x, u) for u in t[1:]))
        case "mul":
            return ("add", *(
                ("mul", *t[1: k + 1], _derive(ctx, x, u), *t[k + 2:]) for k, u in enumerate(t[1:])
            ), rational(0))  # fmt: skip
        case "pow":
            if t[2] == 0:
                return rational(0)
            return ("mul", rational(t[2]), ("pow", t[1], t[2] - 1), _derive(ctx, x, t[1]))
        case "inv":
            return ("mul", rational(-1), _derive(ctx, x, t[1]), ("pow", ("inv", t[1]), 2))
        case "exp":
            return ("mul", t, _derive(ctx, x, t[1]))
        case "log":
            return ("mul", _derive(ctx, x, t[1]), ("inv", t[1]))
        case "sum":
            inner, i = ctx.below(t[1])
            return ("sum", t[1], abstract(_derive(inner, x, instantiate(t[2], (i,))), (i,)))
        case "app":
            return ("D", x, t)
    raise Refused(f"diff: no rule for the derivative of {t[0]} with respect to {x[1]}")


def _pairs(i: ix.Index, j: ix.Index) -> list[tuple[ix.Poly, ix.Poly]]:
    if ix.is_pair(i) and ix.is_pair(j):
        return _pairs(i[1], j[1]) + _pairs(i[2], j[2])
    if ix.is_pair(i) or ix.is_pair(j):
        raise Refused("diff: a plain index and an index pair stand on the same axis")
    return [(i, j)]


# ---------------------------------------------------------------------- the table

RULES: Mapping[str, Rule] = {
    "ring": algebra,
    "ixeq": index_equality,
    "rec": recursion,
    "absurd": absurd,
    "hyp": hypothesis,
    "lemma": lemma,
    "sum_swap": sum_swap,
    "sum_split": sum_split,
    "sum_bij": sum_bijection,
    "abs_val": absolute_value,
    "abs_bound": absolute_bound,
    "sqrt_square": square_root,
    "sign": sign,
    "order": order,
    "exp_ge": exp_bound,
    "exp_enclose": exp_enclosure,
    "E_indep": independence,
    "diff": derivative,
}
