"""Which terms make sense: shapes, ranges, and the side conditions read off the syntax.

Checked for every line of a proof before any algebra, each part in the context of its position:
every index lies in its axis (this *is* the shape check), divisors are nonzero, logarithms have
positive and square roots nonnegative arguments, random entries stand below an expectation whose
moments exist, derivatives are taken of differentiable terms.
"""

from __future__ import annotations

from functools import lru_cache

from attnproofs.kernel import index as ix
from attnproofs.kernel.context import Context, begin, show_index, spend
from attnproofs.kernel.definitions import (
    as_statement_symbols,
    definition_of,
    parameter_axes,
    result_axes,
    unfolded,
)
from attnproofs.kernel.refused import Refused
from attnproofs.kernel.sign import is_nonnegative, is_nonzero, is_positive
from attnproofs.kernel.statement import Claim, Declared, Definition, Statement
from attnproofs.kernel.terms import Term, instantiate, subterms, symbols

# the terms worth remembering: most lines repeat most of the line before
_REMEMBERED = frozenset({"app", "sum", "inv", "E"})


def check(ctx: Context, t: Term, *, obligations: bool = True) -> None:
    """Refuse `t` unless it is well formed here and its side conditions are shown.

    With ``obligations=False`` only ranges are checked (for the body of a definition, which is
    checked again, with everything, wherever it is unfolded).
    """
    if t[0] not in _REMEMBERED or not obligations:
        _check(ctx, t, obligations)
        return
    if t not in ctx.accepted:
        _check(ctx, t, obligations)
        ctx.accepted.add(t)


def _check(ctx: Context, t: Term, obligations: bool) -> None:
    spend()
    match t[0]:
        case "q":
            pass
        case "ix":
            _check_poly(ctx, t[1])
        case "sym":
            _declared(ctx, t[1], ("scalar",))
        case "ent":
            _check_entry(ctx, t)
        case "add":
            for u in t[1:]:
                check(ctx, u, obligations=obligations)
        case "mul":
            guarded = ctx.given(u[1] for u in t[1:] if u[0] == "ind")
            for u in t[1:]:
                check(ctx if u[0] == "ind" else guarded, u, obligations=obligations)
        case "pow":
            check(ctx, t[1], obligations=obligations)
        case "sum":
            _check_axis(ctx, t[1])
            inner, i = ctx.below(t[1])
            check(inner, instantiate(t[2], (i,)), obligations=obligations)
        case "ind":
            _check_cond(ctx, t[1])
        case "E":
            check(ctx.below_expectation(), t[1], obligations=obligations)
            if obligations:
                check_moments(ctx, t[1])
        case "D":
            _check_derivative(ctx, t, obligations)
        case "app":
            _check_defined(ctx, t, obligations)
        case _:
            check(ctx, t[1], obligations=obligations)
            if obligations:
                _check_function(ctx, t)


def _check_function(ctx: Context, t: Term) -> None:
    match t[0]:
        case "inv":
            shown, asked = is_nonzero(ctx, t[1]), "a divisor may be zero: cannot show t != 0"
        case "log":
            shown = is_positive(ctx, t[1])
            asked = "a logarithm needs a positive argument: cannot show 0 < t"
        case "sqrt":
            shown = is_nonnegative(ctx, t[1])
            asked = "a square root needs a nonnegative argument: cannot show 0 <= t"
        case _:
            return
    if not shown and not ctx.absurd():
        raise Refused(asked, t[1])


def _declared(ctx: Context, name: str, kinds: tuple[str, ...]) -> Declared:
    found = ctx.statement.symbol.get(name)
    if found is None:
        raise Refused(f"{name} is not declared")
    if found.kind not in kinds:
        raise Refused(f"{name} is declared as a {found.kind}, and used as a {kinds[0]}")
    return found


def _check_entry(ctx: Context, t: Term) -> None:
    found = _declared(ctx, t[1], ("tensor", "family"))
    if found.kind != "tensor" and not ctx.random:
        raise Refused(f"a random entry of {t[1]} stands outside every expectation")
    if len(t[2]) != len(found.axes):
        raise Refused(f"{t[1]} has {len(found.axes)} axes, not {len(t[2])}")
    for i, axis in zip(t[2], found.axes):
        _check_index(ctx, i)
        missing = ctx.in_axis(i, axis)
        if missing and not ctx.absurd():
            raise Refused(f"an index of {t[1]} is out of range: {missing}")


def _check_index(ctx: Context, i: ix.Index) -> None:
    if ix.is_pair(i):
        _check_index(ctx, i[1])
        _check_index(ctx, i[2])
    else:
        _check_poly(ctx, i)


def _check_poly(ctx: Context, p: ix.Poly) -> None:
    for a in ix.atoms(p):
        if a[0] == "b":
            raise Refused("a bound index stands outside its binder")
        if a[0] == "v":
            if not a[1].startswith("%"):
                _declared(ctx, a[1], ("index", "dimension"))
        else:
            found = _declared(ctx, a[1], ("function",))
            if len(a[2]) != len(found.axes):
                raise Refused(f"{a[1]} takes {len(found.axes)} indices, not {len(a[2])}")
            for i, axis in zip(a[2], found.axes):
                missing = ctx.in_axis(i, axis)
                if missing and not ctx.absurd():
                    raise Refused(f"an argument of {a[1]} is out of range: {missing}")


def _check_axis(ctx: Context, axis: ix.Axis) -> None:
    for part in axis[1:]:
        if axis[0] == "range":
            _check_poly(ctx, part)
        else:
            _check_axis(ctx, part)


def _check_cond(ctx: Context, c: ix.Cond) -> None:
    match c[0]:
        case "ge" | "eq":
            _check_poly(ctx, c[1])
        case "pred":
            found = _declared(ctx, c[1], ("predicate",))
            if len(c[2]) != len(found.axes):
                raise Refused(f"{c[1]} takes {len(found.axes)} indices, not {len(c[2])}")
            for i, axis in zip(c[2], found.axes):
                _check_index(ctx, i)
                missing = ctx.in_axis(i, axis)
                if missing and not ctx.absurd():
                    raise Refused(f"an index of {c[1]} is out of range: {missing}")
        case _:
            for part in c[1:]:
                _check_cond(ctx, part)


def _check_derivative(ctx: Context, t: Term, obligations: bool) -> None:
    target = t[1]
    if target[0] == "sym":
        _declared(ctx, target[1], ("scalar",))
    elif target[0] == "ent":
        _declared(ctx, target[1], ("tensor",))
        check(ctx, target)
    else:
        raise Refused("a derivative is taken with respect to an entry or a scalar")
    for u in subterms(t[2]):
        if u[0] in ("E", "abs", "sqrt") and target[1] in symbols(u):
            raise Refused(f"no derivative with respect to {target[1]} through {u[0]}")
    check(ctx.below_derivative(target), t[2], obligations=obligations)


def _check_defined(ctx: Context, t: Term, obligations: bool) -> None:
    found = definition_of(ctx.statement, t)
    for parameter, argument in zip(found.params, t[2]):
        if parameter[0] == "int":
            _check_poly(ctx, argument[1])
            if not ctx.holds(ix.ge(argument[1], ix.const(parameter[2]))):
                raise Refused(
                    f"the dimension {parameter[1]} of {t[1]} is too small: cannot show "
                    f"{parameter[2]} <= {show_index(argument[1])}"
                )
    for i, axis in zip(t[3], result_axes(found, t)):
        _check_index(ctx, i)
        missing = ctx.in_axis(i, axis)
        if missing and not ctx.absurd():
            raise Refused(f"an index of {t[1]} is out of range: {missing}")
    if found.recursion is None:
        # what the body reads of the arguments is checked where it reads it
        check(ctx, unfolded(ctx.statement, t), obligations=obligations)
        return
    for position, argument in enumerate(t[2]):
        if argument[0] == "lam":
            inner, opened = ctx, []
            for axis in parameter_axes(found, t, position):
                inner, i = inner.below(axis)
                opened.append(i)
            check(inner, instantiate(argument[2], tuple(opened)), obligations=obligations)
        elif argument[0] == "real":
            check(ctx, argument[1], obligations=obligations)


# ---------------------------------------------------------------------- expectation


def check_moments(ctx: Context, t: Term, power: int = 1) -> None:
    """Refuse ``E t^power`` unless it is a polynomial in random entries whose moments exist."""
    degrees = _degrees(ctx.below_expectation(), t)
    used = {name: n * power for name, n in degrees.items() if n}
    together = any(set(used) <= set(group) for group in ctx.statement.independent)
    for name, degree in used.items():
        order = ctx.statement.symbol[name].order
        needed = degree if together or len(used) == 1 else sum(used.values())
        if needed > order:
            raise Refused(
                f"a moment of order {needed} of {name} is needed, and moments exist "
                f"up to order {order}"
            )


def _degrees(ctx: Context, t: Term) -> dict[str, int]:
    match t[0]:
        case "ent":
            kind = _declared(ctx, t[1], ("tensor", "family")).kind
            return {t[1]: 1} if kind == "family" else {}
        case "add":
            total: dict[str, int] = {}
            for u in t[1:]:
                for name, n in _degrees(ctx, u).items():
                    total[name] = max(total.get(name, 0), n)
            return total
        case "mul":
            total = {}
            for u in t[1:]:
                for name, n in _degrees(ctx, u).items():
                    total[name] = total.get(name, 0) + n
            return total
        case "pow":
            return {name: n * t[2] for name, n in _degrees(ctx, t[1]).items()}
        case "sum":
            inner, i = ctx.below(t[1])
            return _degrees(inner, instantiate(t[2], (i,)))
        case "q" | "ix" | "sym" | "ind" | "E":
            return {}
        case "app":
            found = definition_of(ctx.statement, t)
            if found.recursion is None:
                return _degrees(ctx, unfolded(ctx.statement, t))
        case _:
            pass
    if random_symbols(ctx.statement, t):
        raise Refused(
            f"below an expectation random entries may stand in polynomials only, not in {t[0]}"
        )
    return {}


def random_symbols(statement: Statement, t: Term, level: int = 0) -> set[str]:
    """Return the random families that `t` mentions outside its own expectations."""
    match t[0]:
        case "E" | "q" | "ix" | "sym" | "ind":
            return set()
        case "ent":
            found = statement.symbol.get(t[1])
            return {t[1]} if found is not None and found.kind == "family" else set()
        case "sum":
            i, level = _arbitrary(t[1], level)
            return random_symbols(statement, instantiate(t[2], (i,)), level)
        case "app":
            if definition_of(statement, t).recursion is None:
                return random_symbols(statement, unfolded(statement, t), level)
            names = {u[1] for a in t[2] if a[0] != "int" for u in subterms(a[-1]) if u[0] == "ent"}
            families = {d.name for d in statement.declared if d.kind == "family"}
            return names & families
        case "add" | "mul":
            parts: tuple[Term, ...] = t[1:]
        case "D":
            parts = (t[2],)
        case _:
            parts = (t[1],)
    return {name for u in parts for name in random_symbols(statement, u, level)}


def _arbitrary(axis: ix.Axis, level: int) -> tuple[ix.Index, int]:
    """Return an index that stands for any index of `axis` (nothing is known about it)."""
    if axis[0] == "prod":
        h, level = _arbitrary(axis[1], level)
        r, level = _arbitrary(axis[2], level)
        return ("pair", h, r), level
    return ix.var(f"%any{level}"), level + 1


# ---------------------------------------------------------------------- statements


def check_statement(statement: Statement) -> Context:
    """Refuse a statement whose declarations, definitions, hypotheses or claim make no sense.

    Returns its context, in which the terms of the claim are known to be well formed.
    """
    begin()
    _check_names(statement)
    earlier: list[Definition] = []
    for definition in statement.definitions:
        _check_definition(definition, tuple(earlier))
        earlier.append(definition)
    _check_declared(statement)
    ctx = Context.root(statement)
    for group in statement.independent:
        for name in group:
            _declared(ctx, name, ("family",))
    for h in statement.hypotheses:
        _check_hypothesis(ctx, h.name)
    check_claim(ctx, statement.claim)
    return ctx


def _check_names(statement: Statement) -> None:
    names = [d.name for d in statement.declared] + [d.name for d in statement.definitions]
    if len(set(names)) < len(names):
        raise Refused("a name is declared twice")
    hypotheses = [h.name for h in statement.hypotheses]
    if len(set(hypotheses)) < len(hypotheses):
        raise Refused("two hypotheses have the same name")
    if {n for h in statement.hypotheses for n, _ in h.forall} & set(names):
        raise Refused("a hypothesis quantifies over a declared name")


def _check_declared(statement: Statement) -> None:
    known: set[str] = {d.name for d in statement.declared if d.kind == "dimension"}
    for d in statement.declared:
        for axis in d.axes:
            _check_declared_axis(statement, d, axis, known, arguments=0)
        if d.codomain is not None:
            _check_declared_axis(statement, d, d.codomain, known, arguments=len(d.axes))
        if d.kind == "index":
            known.add(d.name)


def _check_declared_axis(
    statement: Statement, d: Declared, axis: ix.Axis, known: set[str], *, arguments: int
) -> None:
    """Refuse an axis (or codomain) that mentions anything but `known` and its own arguments."""
    if axis[0] == "prod":
        for part in axis[1:]:
            _check_declared_axis(statement, d, part, known, arguments=arguments)
        return
    for bound in axis[1:]:
        for a in ix.atoms(bound):
            if a[0] == "f":
                found = statement.symbol.get(a[1])
                if found is None or found.kind != "function":
                    raise Refused(f"the axes of {d.name} mention {a[1]}, which is not declared")
            elif a[0] == "v" and a[1] not in known:
                raise Refused(f"the axes of {d.name} mention {a[1]}, which is not declared before")
            elif a[0] == "b" and a[1] >= arguments:
                raise Refused(f"the axes of {d.name} mention an index bound outside them")


def _check_hypothesis(ctx: Context, name: str) -> None:
    h = ctx.statement.hypothesis[name]
    if (h.relation is None) == (h.condition is None):
        raise Refused(f"hypothesis {h.name} needs a relation or a condition, and not both")
    inner = quantified(ctx, h.forall, h.conditions)
    for _, axis in h.forall:
        _check_axis(inner, axis)
    for c in (*h.conditions, *([] if h.condition is None else [h.condition])):
        _check_cond(inner, c)
    if h.condition is not None:
        return
    if h.relation not in ("=", "<=", "<") or h.lhs is None or h.rhs is None:
        raise Refused(f"hypothesis {h.name} has no relation of two terms")
    check(inner, h.lhs)
    check(inner, h.rhs)


def quantified(
    ctx: Context, forall: tuple[tuple[str, ix.Axis], ...], conditions: tuple[ix.Cond, ...]
) -> Context:
    """Return the context in which the named indices are arbitrary in their axes."""
    added = tuple(Declared("index", name, (axis,)) for name, axis in forall)
    statement = Statement(
        ctx.statement.name,
        ctx.statement.declared + added,
        ctx.statement.claim,
        ctx.statement.hypotheses,
        ctx.statement.independent,
        ctx.statement.definitions,
    )
    inner = ctx.in_statement(statement)
    for name, axis in forall:
        inner = inner.ranging(name, axis)
    return inner.given(conditions)


def check_claim(ctx: Context, claim: Claim) -> None:
    """Refuse a claim that is not well formed in the context of its statement."""
    if claim.relation == "shape":
        if claim.lhs[0] != "lam" or claim.lhs[1] != len(claim.axes):
            raise Refused("a shape is claimed for a matrix with the wrong number of axes")
        inner, opened = ctx, []
        for axis in claim.axes:
            _check_axis(ctx, axis)
            inner, i = inner.below(axis)
            opened.append(i)
        check(inner, instantiate(claim.lhs[2], tuple(opened)))
        return
    check(ctx, claim.lhs)
    if claim.relation == "factors":
        for name in (claim.row, claim.column):
            _declared(ctx, name, ("index",))
        if claim.axis is None or claim.row == claim.column:
            raise Refused("a factorisation needs a row, a column and an axis")
        _check_axis(ctx, claim.axis)
        if claim.rhs is not None and (claim.rhs[0] != "lam" or claim.rhs[1] != 2):
            raise Refused("the prescribed factor of a factorisation has two axes")
        return
    if claim.rhs is None:
        raise Refused(f"{claim.relation} needs two terms")
    check(ctx, claim.rhs)


@lru_cache(maxsize=1 << 10)  # most statements share most of their definitions
def _check_definition(d: Definition, earlier: tuple[Definition, ...]) -> None:
    stages: list[tuple[Term, ix.Poly | None]] = [(d.body, None)]
    if d.recursion is not None:
        if d.base is None or d.params[0] != ("int", d.recursion, 0):
            raise Refused(f"{d.name}: a recursion needs a base and a natural number first")
        stages = [
            (d.base, ix.ZERO),
            (d.body, ix.add(ix.var(d.recursion), ix.ONE)),
        ]
    for body, stage in stages:
        known = earlier
        if d.recursion is not None and body is d.body:
            known = (*earlier, d)
            _check_recursive_uses(d)
        statement = Statement(
            d.name,
            tuple(as_statement_symbols(d, stage=stage)),
            Claim("=", body, body),
            definitions=known,
        )
        _check_declared(statement)
        if any(u[0] == "D" for u in subterms(body)):
            raise Refused(f"{d.name}: a derivative may not stand in a definition")
        check(Context.root(statement), body, obligations=d.recursion is not None)


def _check_recursive_uses(d: Definition) -> None:
    for u in subterms(d.body):
        if u[0] == "app" and u[1] == d.name and u[2][0] != ("int", ix.var(str(d.recursion))):
            raise Refused(f"{d.name} may be used at the stage before only")
