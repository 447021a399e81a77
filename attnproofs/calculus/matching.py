"""Finding instances: matching a lemma's side or a hypothesis against a subterm.

Not trusted: what is found here is handed to the kernel, which checks the instance. Matching is
one-way and finds the cases that occur in derivations: an entry ``f[i]`` with bound indices stands
for any term (with those indices abstracted), products and sums match in any order, a part that
stands for anything may absorb several factors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from attnproofs.kernel import index as ix
from attnproofs.kernel.context import Context, mentions_bound
from attnproofs.kernel.definitions import definition_of, parameter_axes
from attnproofs.kernel.sign import guards
from attnproofs.kernel.terms import Term, abstract, instantiate, map_indices

Values = dict[str, Term]
_MOST_PARTS = 5


@dataclass(frozen=True)
class Position:
    """A subterm, where it stands, and how to put another in its place."""

    path: tuple[int, ...]
    ctx: Context
    term: Term
    rebuild: Callable[[Term], Term]
    opened: tuple[ix.Index, ...] = ()


def positions(ctx: Context, t: Term) -> Iterator[Position]:
    """Yield every position of `t`, outermost first, binders opened."""
    pending = [Position((), ctx, t, lambda new: new)]
    while pending:
        here = pending.pop(0)
        yield here
        pending[:0] = children(here)


def children(here: Position) -> list[Position]:
    """Return the positions just below `here`."""
    t, ctx = here.term, here.ctx
    found: list[Position] = []

    def add(
        k: int,
        inner: Context,
        sub: Term,
        put: Callable[[Term], Term],
        opened: tuple[ix.Index, ...] = (),
    ) -> None:
        def rebuild(new: Term) -> Term:
            return here.rebuild(put(new))

        found.append(Position((*here.path, k), inner, sub, rebuild, here.opened + opened))

    def put_at(n: int) -> Callable[[Term], Term]:
        return lambda new: (*t[:n], new, *t[n + 1 :])

    match t[0]:
        case "add" | "mul":
            for k, u in enumerate(t[1:]):
                inner = ctx if t[0] == "add" else ctx.given(guards(t[1:], k))
                add(k, inner, u, put_at(k + 1))
        case "sum":
            inner, i = ctx.below(t[1])
            add(
                0,
                inner,
                instantiate(t[2], (i,)),
                lambda new: ("sum", t[1], abstract(new, (i,))),
                (i,),
            )
        case "pow":
            add(0, ctx, t[1], put_at(1))
        case "D":
            add(0, ctx.below_derivative(t[1]), t[2], put_at(2))
        case "E":
            add(0, ctx.below_expectation(), t[1], put_at(1))
        case "inv" | "exp" | "log" | "sqrt" | "abs":
            add(0, ctx, t[1], put_at(1))
        case "app":
            for k, argument in enumerate(t[2]):
                _argument(add, ctx, t, k, argument)
    return found


def _argument(add: Callable[..., None], ctx: Context, t: Term, k: int, argument: Term) -> None:
    def put(kind: tuple[Any, ...], new: Term) -> Term:
        return ("app", t[1], (*t[2][:k], (*kind, new), *t[2][k + 1 :]), t[3])

    if argument[0] == "real":
        add(k, ctx.below_expectation(), argument[1], lambda new: put(("real",), new))
    elif argument[0] == "lam":
        opened: list[ix.Index] = []
        for axis in parameter_axes(definition_of(ctx.statement, t), t, k):
            ctx, i = ctx.below(axis)
            opened.append(i)
        values = tuple(opened)
        add(
            k,
            ctx,
            instantiate(argument[2], values),
            lambda new: put(("lam", len(values)), abstract(new, values)),
            values,
        )


def differences(here: Position, other: Term) -> Iterator[tuple[Position, Term]]:
    """Yield the smallest positions at which `other` differs, with its subterm there."""
    if here.term == other:
        return
    ours = children(here)
    theirs = children(Position(here.path, here.ctx, other, lambda new: new))
    aligned = len(ours) == len(theirs) > 0 and _frame(here.term) == _frame(other)
    if not aligned:
        yield here, other
        return
    for one, two in zip(ours, theirs):
        yield from differences(one, two.term)


def _frame(t: Term) -> Any:
    """Return what is left of a term when its children are taken out."""
    match t[0]:
        case "add" | "mul":
            return t[0], len(t)
        case "sum" | "D":
            return t[0], t[1]
        case "pow":
            return t[0], t[2]
        case "app":
            return t[0], t[1], t[3], tuple(a if a[0] == "int" else a[:-1] for a in t[2])
        case _:
            return (t[0],)


# ---------------------------------------------------------------------- matching


def match(
    pattern: Term, target: Term, kinds: Mapping[str, str], values: Values
) -> Iterator[Values]:
    """Yield values of the symbols `kinds` (name -> kind) for which `pattern` becomes `target`.

    Values that cannot be read off are left out; whoever asks checks the completed instance.
    """
    yield from _term(pattern, target, kinds, values)


def _term(p: Term, t: Term, kinds: Mapping[str, str], values: Values) -> Iterator[Values]:
    if p[0] == "ent" and p[1] in kinds:
        yield from _entry(p, t, kinds, values)
        return
    if p[0] == "sym" and p[1] in kinds:
        if p[1] in values:
            if values[p[1]] == ("real", t):
                yield values
        elif not _open(t):
            yield {**values, p[1]: ("real", t)}
        return
    if p[0] != t[0]:
        return
    match p[0]:
        case "add" | "mul":
            yield from _parts(p, t, kinds, values)
        case "q":
            if p == t:
                yield values
        case "ix":
            yield from _index(p[1], t[1], values, kinds)
        case "sym":
            if p == t:
                yield values
        case "ent":
            if p[1] == t[1] and len(p[2]) == len(t[2]):
                yield from _indices(p[2], t[2], values, kinds)
        case "ind":
            yield from _cond(p[1], t[1], values, kinds)
        case "pow":
            if p[2] == t[2]:
                yield from _term(p[1], t[1], kinds, values)
        case "sum":
            for v in _axis(p[1], t[1], values, kinds):
                yield from _term(p[2], t[2], kinds, v)
        case "D":
            for v in _term(p[1], t[1], kinds, values):
                yield from _term(p[2], t[2], kinds, v)
        case "app":
            if p[1] == t[1] and len(p[2]) == len(t[2]) and len(p[3]) == len(t[3]):
                yield from _defined(p, t, kinds, values)
        case _:
            yield from _term(p[1], t[1], kinds, values)


def _defined(p: Term, t: Term, kinds: Mapping[str, str], values: Values) -> Iterator[Values]:
    def arguments(k: int, v: Values) -> Iterator[Values]:
        if k == len(p[2]):
            yield from _indices(p[3], t[3], v, kinds)
            return
        one, two = p[2][k], t[2][k]
        if one[0] != two[0]:
            return
        found = (
            _index(one[1], two[1], v, kinds)
            if one[0] == "int"
            else _term(one[-1], two[-1], kinds, v)
        )
        for w in found:
            yield from arguments(k + 1, w)

    yield from arguments(0, values)


def _entry(p: Term, t: Term, kinds: Mapping[str, str], values: Values) -> Iterator[Values]:
    if p[1] in values:
        body = values[p[1]][-1]
        itself = ("ent", t[1], tuple(ix.atom(("b", k)) for k in range(len(p[2]))))
        if t[0] == "ent" and len(t[2]) == len(p[2]) and body == itself:
            yield from _indices(p[2], t[2], values, kinds)
            return
        yield values  # checked when the instance is complete
        return
    places = [ix.as_atom(i) if not ix.is_pair(i) else None for i in p[2]]
    bound = [a[1] for a in places if a is not None and a[0] == "b"]
    if len(bound) == len(p[2]) and len(set(bound)) == len(bound):
        body = _abstracted(t, bound)
        if body is not None:
            yield {**values, p[1]: ("lam", len(bound), body)}
        return
    if t[0] == "ent" and len(t[2]) == len(p[2]):
        whole = ("ent", t[1], tuple(ix.atom(("b", k)) for k in range(len(p[2]))))
        yield from _indices(p[2], t[2], {**values, p[1]: ("lam", len(p[2]), whole)}, kinds)
    yield values


def _abstracted(t: Term, bound: list[int]) -> Term | None:
    """Make the indices `bound` around `t` the parameters of a lambda; None if others are left."""
    missing = False

    def at(i: ix.Index, depth: int) -> ix.Index:
        def value(a: ix.Atom) -> ix.Index | None:
            nonlocal missing
            if a[0] != "b" or a[1] < depth:
                return None
            if a[1] - depth not in bound:
                missing = True
                return None
            return ix.atom(("b", bound.index(a[1] - depth) + depth))

        return ix.substitute(i, value)

    body = map_indices(t, at)
    return None if missing else body


def _open(t: Term) -> bool:
    return _abstracted(t, []) is None


def _parts(p: Term, t: Term, kinds: Mapping[str, str], values: Values) -> Iterator[Values]:
    patterns, targets = list(p[1:]), list(t[1:])
    if len(targets) > _MOST_PARTS:
        orders = [tuple(range(len(targets)))]
    else:
        orders = list(permutations(range(len(targets))))
    if len(patterns) == len(targets):
        for order in orders:
            yield from _each(patterns, [targets[k] for k in order], kinds, values)
    elif len(patterns) < len(targets):
        absorbers = [k for k, q in enumerate(patterns) if q[0] in ("ent", "sym") and q[1] in kinds]
        for absorber in absorbers:
            others = patterns[:absorber] + patterns[absorber + 1 :]
            for order in orders:
                chosen, rest = order[: len(others)], order[len(others) :]
                if list(rest) != sorted(rest):
                    continue
                together = (t[0], *(targets[k] for k in rest))
                yield from _each(
                    [*others, patterns[absorber]],
                    [*(targets[k] for k in chosen), together],
                    kinds,
                    values,
                )


def _each(
    patterns: list[Term], targets: list[Term], kinds: Mapping[str, str], values: Values
) -> Iterator[Values]:
    if not patterns:
        yield values
        return
    for v in _term(patterns[0], targets[0], kinds, values):
        yield from _each(patterns[1:], targets[1:], kinds, v)


def _indices(
    p: tuple[ix.Index, ...], t: tuple[ix.Index, ...], values: Values, kinds: Mapping[str, str]
) -> Iterator[Values]:
    if not p:
        yield values
        return
    for v in _index(p[0], t[0], values, kinds):
        yield from _indices(p[1:], t[1:], v, kinds)


def _index(p: ix.Index, t: ix.Index, values: Values, kinds: Mapping[str, str]) -> Iterator[Values]:
    if ix.is_pair(p) and ix.is_pair(t):
        for v in _index(p[1], t[1], values, kinds):
            yield from _index(p[2], t[2], v, kinds)
        return
    if ix.is_pair(p):
        return

    def known(a: ix.Atom) -> ix.Index | None:
        return values[a[1]][1] if a[0] == "v" and a[1] in values else None

    q = ix.substitute(p, known)
    unknown = (
        sorted({a[1] for a in ix.atoms(q) if a[0] == "v" and a[1] in kinds and a[1] not in values})
        if not ix.is_pair(q)
        else []
    )
    if not unknown:
        if q == t or any(a[0] == "f" and a[1] in kinds for a in ix.atoms(p)):
            yield values
        return
    alone = ix.as_atom(q)
    if alone is not None and alone[0] == "v" and not mentions_bound(t):
        yield {**values, unknown[0]: ("int", t)}
        return
    other = ix.as_atom(t) if not ix.is_pair(t) else None
    if alone is not None and alone[0] == "f":
        if other is not None and other[:2] == alone[:2]:
            yield from _indices(alone[2], other[2], values, kinds)
        return
    if len(unknown) > 1 or ix.is_pair(t):
        yield values
        return
    for sign in (1, -1):
        rest = ix.sub(q, ix.scale(sign, ix.var(unknown[0])))
        if unknown[0] not in {a[1] for a in ix.atoms(rest) if a[0] == "v"}:
            solved = ix.scale(sign, ix.sub(t, rest))
            if not mentions_bound(solved):
                yield {**values, unknown[0]: ("int", solved)}
            return
    yield values


def _axis(p: ix.Axis, t: ix.Axis, values: Values, kinds: Mapping[str, str]) -> Iterator[Values]:
    if p[0] != t[0]:
        return
    first = _index if p[0] == "range" else _axis
    for v in first(p[1], t[1], values, kinds):
        yield from first(p[2], t[2], v, kinds)


def _cond(p: ix.Cond, t: ix.Cond, values: Values, kinds: Mapping[str, str]) -> Iterator[Values]:
    if p[0] == "pred" and p[1] in kinds:
        if p[1] in values:
            yield values
            return
        places = [ix.as_atom(i) for i in p[2]]
        bound = [a[1] for a in places if a is not None and a[0] == "b"]
        if len(bound) == len(p[2]):
            body = _abstracted(("ind", t), bound)
            if body is not None:
                yield {**values, p[1]: ("cond", len(bound), body[1])}
            return
        yield values
        return
    if p[0] != t[0]:
        return
    match p[0]:
        case "ge":
            yield from _index(p[1], t[1], values, kinds)
        case "eq":
            yield from _index(p[1], t[1], values, kinds)
            yield from _index(p[1], ix.scale(-1, t[1]), values, kinds)
        case "pred":
            if p[1] == t[1] and len(p[2]) == len(t[2]):
                yield from _indices(p[2], t[2], values, kinds)
        case "not":
            yield from _cond(p[1], t[1], values, kinds)
        case _:
            for v in _cond(p[1], t[1], values, kinds):
                yield from _cond(p[2], t[2], v, kinds)
