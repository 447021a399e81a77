"""Index terms: integer polynomials in normal form over index atoms.

Dimensions, bound indices and counts are one sort. A polynomial is stored in normal form, so that
``i + 1 - 1`` *is* ``i`` and ``(H + 1) * d`` *is* ``H * d + d``; equality is equality of tuples.

Representation (plain tuples, immutable down to the last integer):

* atom: ``("v", name)`` a free variable, ``("b", k)`` a bound index by binder depth,
  ``("f", name, (index, ...))`` a declared index function;
* polynomial: sorted tuple of ``(monomial, coefficient)``, a monomial a sorted tuple of atoms;
* index: a polynomial, or ``("pair", index, index)`` on a flattened axis;
* axis: ``("range", lo, hi)`` (empty when ``hi < lo``) or ``("prod", axis, axis)``;
* condition: ``("ge", p)`` for ``p >= 0``, ``("eq", p)`` for ``p = 0``, ``("pred", name, indices)``,
  ``("not", c)``, ``("and", c, d)``, ``("or", c, d)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from attnproofs.kernel.refused import Refused

Atom: TypeAlias = tuple[Any, ...]
Poly: TypeAlias = tuple[tuple[tuple[Atom, ...], int], ...]
Index: TypeAlias = tuple[Any, ...]
Axis: TypeAlias = tuple[Any, ...]
Cond: TypeAlias = tuple[Any, ...]

ZERO: Poly = ()
ONE: Poly = (((), 1),)


def normal(terms: Iterable[tuple[tuple[Atom, ...], int]]) -> Poly:
    """Return the polynomial that is the sum of monomials (sorted atoms) with coefficients."""
    total: dict[tuple[Atom, ...], int] = {}
    for monomial, coefficient in terms:
        total[monomial] = total.get(monomial, 0) + coefficient
    return tuple(sorted([(m, c) for m, c in total.items() if c]))


def const(n: int) -> Poly:
    """Return the integer `n` as a polynomial."""
    return (((), n),) if n else ZERO


def var(name: str) -> Poly:
    """Return the free variable `name`."""
    return (((("v", name),), 1),)


def atom(a: Atom) -> Poly:
    """Return the polynomial that is just the atom `a`."""
    return (((a,), 1),)


def add(p: Poly, q: Poly) -> Poly:
    """Return ``p + q``."""
    if not p or not q:
        return p or q
    return normal(p + q)


def scale(c: int, p: Poly) -> Poly:
    """Return ``c * p``."""
    return tuple([(m, c * k) for m, k in p]) if c else ZERO


def sub(p: Poly, q: Poly) -> Poly:
    """Return ``p - q``.

    >>> sub(add(var("i"), ONE), ONE) == var("i")
    True
    """
    return normal(p + scale(-1, q)) if q else p


def mul(p: Poly, q: Poly) -> Poly:
    """Return ``p * q``.

    >>> H, d = var("H"), var("d")
    >>> mul(add(H, ONE), d) == add(mul(H, d), d)
    True
    """
    return normal((tuple(sorted(m + n)), a * b) for m, a in p for n, b in q)


def as_const(p: Poly) -> int | None:
    """Return the integer that `p` is, or None when it mentions an atom."""
    if not p:
        return 0
    return p[0][1] if len(p) == 1 and not p[0][0] else None


def as_atom(p: Index) -> Atom | None:
    """Return the atom that `p` is, or None."""
    if len(p) == 1 and p[0][1] == 1 and len(p[0][0]) == 1:
        found: Atom = p[0][0][0]
        return found
    return None


def is_pair(i: Index) -> bool:
    """Tell whether `i` is an index pair of a flattened axis."""
    return bool(i) and i[0] == "pair"


def atoms(p: Poly) -> set[Atom]:
    """Return the atoms of `p`, those inside arguments of index functions included."""
    found: set[Atom] = set()
    for monomial, _ in p:
        for a in monomial:
            found.add(a)
            if a[0] == "f":
                for argument in a[2]:
                    found |= atoms(argument)
    return found


def substitute(i: Index, value: Callable[[Atom], Index | None]) -> Index:
    """Replace every atom for which `value` gives an index.

    A pair may only replace an index that stands alone: there is no arithmetic on pairs.
    """
    if is_pair(i):
        return ("pair", substitute(i[1], value), substitute(i[2], value))
    alone = as_atom(i)
    if alone is not None:
        return _atom_value(alone, value)
    if not any(a[0] == "f" or value(a) is not None for monomial, _ in i for a in monomial):
        return i
    total: Poly = ZERO
    for monomial, coefficient in i:
        product = const(coefficient)
        for a in monomial:
            replaced = _atom_value(a, value)
            if is_pair(replaced):
                raise Refused("an index pair cannot be used in arithmetic")
            product = mul(product, replaced)
        total = add(total, product)
    return total


def _atom_value(a: Atom, value: Callable[[Atom], Index | None]) -> Index:
    replaced = value(a)
    if replaced is not None:
        return replaced
    if a[0] != "f":
        return atom(a)
    arguments = tuple(substitute(x, value) for x in a[2])
    if any(is_pair(x) for x in arguments):
        raise Refused(f"an index pair cannot be an argument of the index function {a[1]}")
    return atom(("f", a[1], arguments))


def axis_substitute(axis: Axis, value: Callable[[Atom], Index | None]) -> Axis:
    """Replace atoms inside the bounds of an axis."""
    if axis[0] == "range":
        lo, hi = substitute(axis[1], value), substitute(axis[2], value)
        if is_pair(lo) or is_pair(hi):
            raise Refused("the bounds of a range must be integers, not index pairs")
        return ("range", lo, hi)
    return ("prod", axis_substitute(axis[1], value), axis_substitute(axis[2], value))


def axis_size(axis: Axis) -> Poly:
    """Return the number of indices of an axis, ``hi - lo + 1`` or the product of both parts.

    >>> axis_size(("prod", ("range", ONE, var("H")), ("range", ONE, var("d")))) == mul(
    ...     var("H"), var("d"))
    True
    """
    if axis[0] == "range":
        return add(sub(axis[2], axis[1]), ONE)
    return mul(axis_size(axis[1]), axis_size(axis[2]))


def ge(p: Poly, q: Poly = ZERO) -> Cond:
    """Return the condition ``p >= q``."""
    return ("ge", sub(p, q))


def eq(p: Poly, q: Poly = ZERO) -> Cond:
    """Return the condition ``p = q``; ``q = p`` is the same condition."""
    difference = sub(p, q)
    if difference and difference[-1][1] < 0:
        difference = scale(-1, difference)
    return ("eq", difference)


def cond_substitute(c: Cond, value: Callable[[Atom], Index | None]) -> Cond:
    """Replace atoms inside a condition."""
    match c[0]:
        case "ge" | "eq":
            p = substitute(c[1], value)
            if is_pair(p):
                raise Refused("an index pair cannot be compared as an integer")
            return ge(p) if c[0] == "ge" else eq(p)
        case "pred":
            return ("pred", c[1], tuple(substitute(i, value) for i in c[2]))
        case "not":
            return ("not", cond_substitute(c[1], value))
        case _:
            return (c[0], cond_substitute(c[1], value), cond_substitute(c[2], value))
