"""The sign of a term: which of -1, 0, 1 it can have, read off its syntax.

This is what discharges ``t != 0``, ``0 < t`` and ``0 <= t``: exponentials are positive, squares are
not negative, a sum of nonnegative terms is positive when one of them is, and a leaf may be known
from a hypothesis or a cited fact.
"""

from __future__ import annotations

from collections.abc import Iterator

from attnproofs.kernel import index as ix
from attnproofs.kernel.context import Context, bind_axis, match_cond, match_index, spend
from attnproofs.kernel.definitions import definition_of, unfolded
from attnproofs.kernel.statement import Hypothesis
from attnproofs.kernel.terms import Term, free_variables, instantiate, minus, subterms, symbols

Signs = frozenset[int]

_ANY: Signs = frozenset({-1, 0, 1})
_POSITIVE: Signs = frozenset({1})
_NONNEGATIVE: Signs = frozenset({0, 1})
_ZERO: Signs = frozenset({0})


def is_positive(ctx: Context, t: Term) -> bool:
    """Tell whether ``0 < t`` is shown."""
    return signs(ctx, t) == _POSITIVE


def is_nonnegative(ctx: Context, t: Term) -> bool:
    """Tell whether ``0 <= t`` is shown."""
    return signs(ctx, t) <= _NONNEGATIVE


def is_nonzero(ctx: Context, t: Term) -> bool:
    """Tell whether ``t != 0`` is shown."""
    return 0 not in signs(ctx, t)


def signs(ctx: Context, t: Term) -> Signs:
    """Return a set of signs that contains the sign of `t`."""
    if t not in ctx.signs:
        ctx.signs[t] = _signs(ctx, t)
    return ctx.signs[t]


def _signs(ctx: Context, t: Term) -> Signs:
    spend()
    found = _by_syntax(ctx, t)
    if len(found) == 1:
        return found
    for fact, strict in _facts(ctx, t):
        allowed = _POSITIVE if strict else _NONNEGATIVE
        found = found & (frozenset(-s for s in allowed) if fact < 0 else allowed)
        if len(found) == 1:
            break
    return found


def _by_syntax(ctx: Context, t: Term) -> Signs:
    match t[0]:
        case "q":
            return frozenset({(t[1] > 0) - (t[1] < 0)})
        case "ix":
            return _sign_of_index(ctx, t[1])
        case "exp":
            return _POSITIVE
        case "ind":
            if ctx.holds(t[1]):
                return _POSITIVE
            return _ZERO if ctx.holds(("not", t[1])) else _NONNEGATIVE
        case "abs":
            return frozenset(abs(s) for s in signs(ctx, t[1]))
        case "sqrt":
            return frozenset(max(s, 0) for s in signs(ctx, t[1]))
        case "inv":
            return signs(ctx, t[1])
        case "pow":
            inner = signs(ctx, t[1])
            return _POSITIVE if t[2] == 0 else frozenset(s ** t[2] for s in inner)
        case "add":
            return _sign_of_sum([signs(ctx, u) for u in t[1:]])
        case "mul":
            return _sign_of_product(ctx, t[1:])
        case "sum":
            return _sign_of_range(ctx, t)
        case "E":
            inner = signs(ctx.below_expectation(), t[1])
            for side in (_NONNEGATIVE, frozenset({-1, 0})):
                if inner <= side:
                    return side
            return _ANY
        case "app" if definition_of(ctx.statement, t).recursion is None:
            return signs(ctx, unfolded(ctx.statement, t))
        case _:
            return _ANY


def _sign_of_index(ctx: Context, p: ix.Poly) -> Signs:
    if ctx.holds(ix.ge(p, ix.ONE)):
        return _POSITIVE
    if ctx.holds(ix.ge(ix.const(-1), p)):
        return frozenset({-1})
    if ctx.holds(ix.ge(p)):
        return _NONNEGATIVE
    return frozenset({-1, 0}) if ctx.holds(ix.ge(ix.ZERO, p)) else _ANY


def _sign_of_sum(parts: list[Signs]) -> Signs:
    """Add signs: a positive and a negative part may give anything."""
    total = _ZERO
    for part in parts:
        total = frozenset(s for a in total for b in part for s in (_ANY if a * b < 0 else {a or b}))
    return total


def guards(parts: tuple[Term, ...], position: int) -> list[ix.Cond]:
    """Return the conditions of the indicators among the *other* factors of a product."""
    return [u[1] for k, u in enumerate(parts) if k != position and u[0] == "ind"]


def _sign_of_product(ctx: Context, parts: tuple[Term, ...]) -> Signs:
    # The other factors may use the indicators' conditions: where one fails, the product is 0, and
    # the indicator's own sign accounts for that. Indicators may not justify one another.
    conditions = [u[1] for u in parts if u[0] == "ind"]
    inside = ctx.given(conditions)
    counts: dict[Term, int] = {}
    for u in parts:
        counts[u] = counts.get(u, 0) + 1
    total = _POSITIVE
    for u, n in counts.items():
        inner = signs(ctx if u[0] == "ind" else inside, u)
        total = frozenset(a * b**n for a in total for b in inner)
    return total


def _sign_of_range(ctx: Context, t: Term) -> Signs:
    axis, body = t[1], t[2]
    inner_ctx, i = ctx.below(axis)
    inner = signs(inner_ctx, instantiate(body, (i,)))
    if inner == _ZERO:
        return _ZERO
    if not (inner <= _NONNEGATIVE or inner <= frozenset({-1, 0})):
        return _ANY
    side = 1 if inner <= _NONNEGATIVE else -1
    nonempty = ctx.holds(ix.ge(ix.axis_size(axis), ix.ONE)) and _ranges_nonempty(ctx, axis)
    if nonempty and 0 not in inner:
        return frozenset({side})
    if axis[0] == "range":
        for candidate in _witnesses(ctx, axis, body):
            if ctx.in_axis(candidate, axis):
                continue  # not shown to lie in the range
            if signs(ctx, instantiate(body, (candidate,))) == frozenset({side}):
                return frozenset({side})
    return frozenset({0, side})


def _ranges_nonempty(ctx: Context, axis: ix.Axis) -> bool:
    if axis[0] == "prod":
        return _ranges_nonempty(ctx, axis[1]) and _ranges_nonempty(ctx, axis[2])
    return ctx.holds(ix.ge(axis[2], axis[1]))


def _witnesses(ctx: Context, axis: ix.Axis, body: Term) -> Iterator[ix.Index]:
    """Yield indices at which one term of a sum may be shown positive."""
    if all(u[0] != "ind" for u in subterms(body)):
        return
    names = sorted(free_variables(body) | free_variables(("sum", axis, ("q", 0, 1))))
    names += [d.name for d in ctx.statement.declared if d.kind == "index"]
    names += [f"%{level}" for level in range(ctx.level)]  # the indices bound around the sum
    indices: list[ix.Index] = [ix.var(n) for n in names]
    for d in ctx.statement.declared:
        if d.kind == "function":
            if not d.axes:
                indices.append(ix.atom(("f", d.name, ())))
            elif len(d.axes) == 1:
                indices.extend(ix.atom(("f", d.name, (ix.var(n),))) for n in names)
    yield from dict.fromkeys([*indices, axis[1], axis[2]])


# ---------------------------------------------------------------------- known relations


def _facts(ctx: Context, t: Term) -> Iterator[tuple[int, bool]]:
    """Yield (side, strict) for each relation of the context that tells the sign of `t`."""
    from attnproofs.kernel.algebra import same  # algebra needs signs for its divisors

    mentioned = symbols(t)
    plain = ctx.without_relations()  # so that no relation is used to read itself
    for h in ctx.relations:
        if h.relation not in ("<", "<=") or h.lhs is None or h.rhs is None:
            continue
        strict = h.relation == "<" or (h.lhs[0] == "q" and h.lhs[1] > 0)
        for pattern, side in _patterns(h):
            if _matches(ctx, h, pattern, t):
                yield side, strict
        if h.lhs[:2] != ("q", 0) and h.rhs[:2] != ("q", 0) and t[0] in ("add", "mul"):
            difference = minus(h.rhs, h.lhs)
            if symbols(difference) != mentioned:
                continue  # it could match only after a symbol cancels; not looked for
            for binding in _bindings(h, difference, t):
                instance = bound(difference, binding)
                if _applies(ctx, h, binding):
                    if same(plain, instance, t):
                        yield 1, h.relation == "<"
                    elif same(plain, instance, ("mul", ("q", -1, 1), t)):
                        yield -1, h.relation == "<"


def _patterns(h: Hypothesis) -> Iterator[tuple[Term, int]]:
    if h.lhs is not None and h.rhs is not None:
        if h.lhs[:2] == ("q", 0) or (h.lhs[0] == "q" and h.lhs[1] >= 0):
            yield h.rhs, 1
        if h.rhs[:2] == ("q", 0):
            yield h.lhs, -1


def _matches(ctx: Context, h: Hypothesis, pattern: Term, t: Term) -> bool:
    binding: dict[str, ix.Index] = {}
    names = frozenset(n for n, _ in h.forall)
    if not match_term(pattern, t, names, binding) or len(binding) < len(names):
        return False
    return _applies(ctx, h, binding)


def _applies(ctx: Context, h: Hypothesis, binding: dict[str, ix.Index]) -> bool:
    return all(
        not ctx.in_axis(binding[n], bind_axis(axis, binding)) for n, axis in h.forall
    ) and all(
        ctx.holds(ix.cond_substitute(c, lambda a: binding.get(a[1]) if a[0] == "v" else None))
        for c in h.conditions
    )


def _bindings(h: Hypothesis, pattern: Term, t: Term) -> Iterator[dict[str, ix.Index]]:
    names = frozenset(n for n, _ in h.forall)
    if not names:
        yield {}
        return
    seen: list[dict[str, ix.Index]] = []
    for p in subterms(pattern):
        for u in subterms(t):
            binding: dict[str, ix.Index] = {}
            if p[0] != u[0] or p[0] not in ("ent", "app"):
                continue
            matched = match_term(p, u, names, binding) and len(binding) == len(names)
            if matched and binding not in seen:
                seen.append(binding)
                yield binding


def bound(t: Term, binding: dict[str, ix.Index]) -> Term:
    """Return `t` with the quantified index variables replaced."""
    from attnproofs.kernel.terms import substitute

    return substitute(t, {n: ("int", i) for n, i in binding.items()})


def match_term(pattern: Term, t: Term, names: frozenset[str], binding: dict[str, ix.Index]) -> bool:
    """Match a term against a pattern in which the index variables `names` may be bound."""
    if pattern[0] != t[0] or len(pattern) != len(t):
        return False
    match pattern[0]:
        case "q" | "sym":
            return pattern == t
        case "ix":
            return match_index(pattern[1], t[1], names, binding)
        case "ent":
            return (
                pattern[1] == t[1]
                and len(pattern[2]) == len(t[2])
                and all(match_index(p, u, names, binding) for p, u in zip(pattern[2], t[2]))
            )
        case "ind":
            return match_cond(pattern[1], t[1], names, binding)
        case "pow":
            return pattern[2] == t[2] and match_term(pattern[1], t[1], names, binding)
        case "sum":
            return _match_axis(pattern[1], t[1], names, binding) and match_term(
                pattern[2], t[2], names, binding
            )
        case "app":
            return pattern == t or (
                pattern[1] == t[1]
                and all(_match_argument(p, u, names, binding) for p, u in zip(pattern[2], t[2]))
                and all(match_index(p, u, names, binding) for p, u in zip(pattern[3], t[3]))
            )
        case _:
            return all(match_term(p, u, names, binding) for p, u in zip(pattern[1:], t[1:]))


def _match_axis(
    pattern: ix.Axis, axis: ix.Axis, names: frozenset[str], binding: dict[str, ix.Index]
) -> bool:
    if pattern[0] != axis[0]:
        return False
    match_part = match_index if pattern[0] == "range" else _match_axis
    return all(match_part(p, a, names, binding) for p, a in zip(pattern[1:], axis[1:]))


def _match_argument(
    pattern: Term, argument: Term, names: frozenset[str], binding: dict[str, ix.Index]
) -> bool:
    if pattern[0] != argument[0]:
        return False
    if pattern[0] == "int":
        return match_index(pattern[1], argument[1], names, binding)
    return match_term(pattern[-1], argument[-1], names, binding)
