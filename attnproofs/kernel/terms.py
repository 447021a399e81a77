"""Real terms: plain nested tuples, a tag first, with explicit binders.

==========================  ===================================================================
``("q", n, d)``             the rational number n/d in lowest terms, d > 0
``("ix", p)``               the index polynomial p as a real number
``("sym", name)``           a real scalar
``("ent", X, (i, ...))``    an entry of the tensor (or random family) X
``("add", t, u, ...)``      a sum, ``("mul", t, u, ...)`` a product (two or more parts)
``("pow", t, n)``           a power with a literal n >= 0
``("inv", t)``              1/t; ``exp``, ``log``, ``sqrt``, ``abs`` alike
``("sum", axis, t)``        sum over an axis; in t the bound index is ``("b", 0)``
``("ind", c)``              1 where the condition c holds, else 0
``("E", t)``                expectation over the declared random families
``("D", x, t)``             derivative with respect to the entry or scalar x
``("app", f, args, (i,))``  the defined symbol f; an argument is ``("lam", k, t)`` (k indices),
                            ``("int", p)``, or ``("real", t)``
==========================  ===================================================================

A binder of k indices binds ``("b", 0)`` ... ``("b", k - 1)``, first index first; what lies
outside counts on. Terms are *locally nameless*: going below a binder replaces its indices by
fresh free variables (`opened`), so substituted terms never need shifting and capture cannot be
written. Equality of terms is equality of tuples. Semantics is total (``1/0``, ``log(t <= 0)`` and
``sqrt(t < 0)`` are 0, an entry out of range is 0), and `wellformed` makes sure that no theorem
rests on such a value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

from attnproofs.kernel import index as ix
from attnproofs.kernel.refused import Refused

Term: TypeAlias = tuple[Any, ...]

UNARY = ("inv", "exp", "log", "sqrt", "abs")


def rational(value: int | Fraction) -> Term:
    """Return a rational literal."""
    value = Fraction(value)
    return ("q", value.numerator, value.denominator)


def negative(t: Term) -> Term:
    """Return ``-t``, written as a product with -1."""
    return ("mul", rational(-1), t)


def minus(t: Term, u: Term) -> Term:
    """Return ``t - u``."""
    return ("add", t, negative(u))


def map_indices(t: Term, f: Callable[[ix.Index, int], ix.Index], depth: int = 0) -> Term:
    """Apply `f` to every index in `t`; `f` is told how many indices are bound around it."""

    def poly(p: ix.Poly, at: int) -> ix.Poly:
        result = f(p, at)
        if ix.is_pair(result):
            raise Refused("an index pair stands where an integer is expected")
        return result

    def axis(a: ix.Axis, at: int) -> ix.Axis:
        if a[0] == "range":
            return ("range", poly(a[1], at), poly(a[2], at))
        return ("prod", axis(a[1], at), axis(a[2], at))

    def cond(c: ix.Cond, at: int) -> ix.Cond:
        match c[0]:
            case "ge":
                return ix.ge(poly(c[1], at))
            case "eq":
                return ix.eq(poly(c[1], at))
            case "pred":
                return ("pred", c[1], tuple(f(i, at) for i in c[2]))
            case "not":
                return ("not", cond(c[1], at))
            case _:
                return (c[0], cond(c[1], at), cond(c[2], at))

    def go(t: Term, at: int) -> Term:
        match t[0]:
            case "q" | "sym":
                return t
            case "ix":
                return ("ix", poly(t[1], at))
            case "ent":
                return ("ent", t[1], tuple(f(i, at) for i in t[2]))
            case "add" | "mul":
                return (t[0], *(go(u, at) for u in t[1:]))
            case "pow":
                return ("pow", go(t[1], at), t[2])
            case "sum":
                return ("sum", axis(t[1], at), go(t[2], at + 1))
            case "ind":
                return ("ind", cond(t[1], at))
            case "D":
                return ("D", go(t[1], at), go(t[2], at))
            case "app":
                return (
                    "app",
                    t[1],
                    tuple(argument(a, at) for a in t[2]),
                    tuple(f(i, at) for i in t[3]),
                )
            case _:
                return (t[0], go(t[1], at))

    def argument(a: Term, at: int) -> Term:
        match a[0]:
            case "int":
                return ("int", poly(a[1], at))
            case "real":
                return ("real", go(a[1], at))
            case _:
                return ("lam", a[1], go(a[2], at + a[1]))

    return go(t, depth)


@lru_cache(maxsize=1 << 15)
def instantiate(body: Term, values: tuple[ix.Index, ...]) -> Term:
    """Replace the indices bound by the binder just outside `body` by `values`.

    A value may itself mention indices bound further out (it then counts past the binders of
    `body` that it is put below).
    """

    def at(i: ix.Index, depth: int) -> ix.Index:
        def value(a: ix.Atom) -> ix.Index | None:
            if a[0] != "b" or a[1] < depth:
                return None
            if a[1] - depth >= len(values):
                raise Refused("a bound index stands outside its binder")
            return _raised(values[a[1] - depth], depth)

        return ix.substitute(i, value)

    return map_indices(body, at)


def _raised(i: ix.Index, by: int) -> ix.Index:
    if not by:
        return i
    return ix.substitute(i, lambda a: ix.atom(("b", a[1] + by)) if a[0] == "b" else None)


def abstract(t: Term, values: tuple[ix.Index, ...]) -> Term:
    """Bind free variables: the inverse of `instantiate`. A value is a variable or a pair of such.

    Terms below a binder must not mention a component of a pair alone.
    """
    singles = {ix.as_atom(v): k for k, v in enumerate(values) if not ix.is_pair(v)}
    pairs = {v: k for k, v in enumerate(values) if ix.is_pair(v)}

    def at(i: ix.Index, depth: int) -> ix.Index:
        if i in pairs:
            return ix.atom(("b", pairs[i] + depth))
        if ix.is_pair(i):
            return ("pair", at(i[1], depth), at(i[2], depth))

        def value(a: ix.Atom) -> ix.Index | None:
            return ix.atom(("b", singles[a] + depth)) if a in singles else None

        return ix.substitute(i, value)

    return map_indices(t, at)


def free_variables(t: Term) -> set[str]:
    """Return the names of the free index variables of `t`."""
    names: set[str] = set()

    def note(i: ix.Index, _depth: int) -> ix.Index:
        names.update(index_variables(i))
        return i

    map_indices(t, note)
    return names


def index_variables(i: ix.Index) -> set[str]:
    """Return the names of the free variables of an index."""
    if ix.is_pair(i):
        return index_variables(i[1]) | index_variables(i[2])
    return {a[1] for a in ix.atoms(i) if a[0] == "v"}


def subterms(t: Term) -> Iterator[Term]:
    """Yield `t` and every real term inside it, bodies of binders as they stand (not opened)."""
    yield t
    match t[0]:
        case "add" | "mul":
            parts: tuple[Term, ...] = t[1:]
        case "pow" | "inv" | "exp" | "log" | "sqrt" | "abs" | "E":
            parts = (t[1],)
        case "sum":
            parts = (t[2],)
        case "D":
            parts = (t[1], t[2])
        case "app":
            parts = tuple(a[2] if a[0] == "lam" else a[1] for a in t[2] if a[0] != "int")
        case _:
            parts = ()
    for part in parts:
        yield from subterms(part)


def symbols(t: Term) -> set[str]:
    """Return the names of the tensors, families and scalars that `t` mentions."""
    return {u[1] for u in subterms(t) if u[0] in ("ent", "sym")}


def substitute(t: Term, values: Mapping[str, Term]) -> Term:
    """Instantiate declared symbols, all at once.

    `values` maps the name of an index variable to ``("int", p)``, of a scalar to ``("real", t)``,
    of a tensor to ``("lam", k, t)``, of a predicate to ``("cond", k, c)`` and of an index function
    to ``("fun", k, p)``. Values are locally closed, so nothing is captured.
    """

    def value(a: ix.Atom) -> ix.Index | None:
        if a[0] == "v" and a[1] in values:
            found: ix.Index = values[a[1]][1]
            return found
        if a[0] == "f" and a[1] in values:
            arguments = tuple(ix.substitute(x, value) for x in a[2])
            return ix.substitute(values[a[1]][2], _bound(arguments))
        return None

    def axis(a: ix.Axis) -> ix.Axis:
        return ix.axis_substitute(a, value)

    def go(t: Term) -> Term:
        match t[0]:
            case "q":
                return t
            case "ix":
                p = ix.substitute(t[1], value)
                if ix.is_pair(p):
                    raise Refused("an index pair cannot be used as a number")
                return ("ix", p)
            case "sym":
                return values[t[1]][1] if t[1] in values else t
            case "ent":
                arguments = tuple(ix.substitute(i, value) for i in t[2])
                if t[1] not in values:
                    return ("ent", t[1], arguments)
                return _apply(values[t[1]], arguments)
            case "add" | "mul":
                return (t[0], *(go(u) for u in t[1:]))
            case "pow":
                return ("pow", go(t[1]), t[2])
            case "sum":
                return ("sum", axis(t[1]), go(t[2]))
            case "ind":
                return ("ind", cond_substitute(t[1], values, value))
            case "D":
                return ("D", go(t[1]), go(t[2]))
            case "app":
                return (
                    "app",
                    t[1],
                    tuple(argument(a) for a in t[2]),
                    tuple(ix.substitute(i, value) for i in t[3]),
                )
            case _:
                return (t[0], go(t[1]))

    def argument(a: Term) -> Term:
        match a[0]:
            case "int":
                return ("int", ix.substitute(a[1], value))
            case "real":
                return ("real", go(a[1]))
            case _:
                return ("lam", a[1], go(a[2]))

    return go(t)


def cond_substitute(
    c: ix.Cond, values: Mapping[str, Term], value: Callable[[ix.Atom], ix.Index | None]
) -> ix.Cond:
    """Instantiate index variables, index functions and predicates inside a condition."""
    match c[0]:
        case "pred" if c[1] in values:
            arguments = tuple(ix.substitute(i, value) for i in c[2])
            return ix.cond_substitute(values[c[1]][2], _bound(arguments))
        case "not":
            return ("not", cond_substitute(c[1], values, value))
        case "and" | "or":
            return (
                c[0],
                cond_substitute(c[1], values, value),
                cond_substitute(c[2], values, value),
            )
        case _:
            return ix.cond_substitute(c, value)


def substitution(values: Mapping[str, Term]) -> Callable[[ix.Atom], ix.Index | None]:
    """Return the index part of `values` as a function on atoms, for axes and conditions."""

    def value(a: ix.Atom) -> ix.Index | None:
        if a[0] == "v" and a[1] in values:
            found: ix.Index = values[a[1]][1]
            return found
        if a[0] == "f" and a[1] in values:
            arguments = tuple(ix.substitute(x, value) for x in a[2])
            return ix.substitute(values[a[1]][2], _bound(arguments))
        return None

    return value


def _bound(arguments: tuple[ix.Index, ...]) -> Callable[[ix.Atom], ix.Index | None]:
    def value(a: ix.Atom) -> ix.Index | None:
        if a[0] != "b":
            return None
        if a[1] >= len(arguments):
            raise Refused("a bound index stands outside its binder")
        return arguments[a[1]]

    return value


def _apply(lam: Term, arguments: tuple[ix.Index, ...]) -> Term:
    if lam[0] != "lam" or lam[1] != len(arguments):
        raise Refused(f"a tensor of {len(arguments)} axes is replaced by something else")
    return instantiate(lam[2], arguments)
