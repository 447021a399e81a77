"""Equality by normal form: rational functions over opaque atoms, plus the laws that a step names.

`same` brings both sides to a normal form and compares. Without laws that is the ring rule: field
arithmetic with everything that is not ``+ * / -`` or a power an opaque atom (atoms are compared up
to normal forms inside). A law adds one thing that the normal form may use:

============  =================================================================================
``expring``   ``exp(a + b) = exp(a) exp(b)``, ``exp(0) = 1``
``sum_add``   ``sum(f + g) = sum f + sum g``
``sum_scale`` ``sum(c f) = c sum f`` when c does not mention the bound index
``sum_pair``  the sum over a flattened axis is the double sum
``sum_empty``, ``sum_single``, ``sum_literal``  a range of a literal number of terms
``ind_bool``  ``[not c] = 1 - [c]``, ``[c and d] = [c][d]``, ``[c]^2 = [c]``,
              ``[c or d] = [c] + [d] - [c][d]``
``ind_val``   ``[c] = 1`` where c is known, ``[c] = 0`` where not c is known
``E_lin``     expectation is linear, and pulls deterministic factors out
``E_const``   ``E c = c``
``log_exp``   ``log(exp t) = t``, ``exp(log t) = t`` for ``0 < t``
``sqrt_sq``   ``sqrt(t) sqrt(t) = t`` for ``0 <= t``; square roots of square numbers
``unfold:f``  the explicit definition of f
============  =================================================================================

A divisor is cancelled only where it is shown to be nonzero, in the context of the outermost
position at which it can stand; otherwise ``1/t`` is one more opaque atom.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import gcd, isqrt, lcm
from typing import Any, TypeAlias

from attnproofs.kernel import index as ix
from attnproofs.kernel.context import Context, spend
from attnproofs.kernel.definitions import definition_of, parameter_axes, unfolded
from attnproofs.kernel.refused import Refused
from attnproofs.kernel.sign import is_nonnegative, is_nonzero, is_positive
from attnproofs.kernel.terms import Term, free_variables, index_variables, instantiate

LAWS = frozenset({
    "expring", "sum_add", "sum_scale", "sum_pair", "sum_empty", "sum_single", "sum_literal",
    "ind_bool", "ind_val", "E_lin", "E_const", "log_exp", "sqrt_sq",
})  # fmt: skip

_LONGEST_LITERAL = 64
_MOST_MONOMIALS = 20_000
_LONGEST_NUMBER = 20_000  # bits

Key: TypeAlias = tuple[Any, ...]
Monomial: TypeAlias = frozenset[tuple[Key, Any]]
# coefficients are exact: an int where possible (they are quicker), else a Fraction
Number: TypeAlias = int | Fraction
Normal: TypeAlias = dict[Monomial, Number]

_EMPTY: Monomial = frozenset()


def same(ctx: Context, t: Term, u: Term, laws: Iterable[str] = ()) -> bool:
    """Tell whether `t` and `u` have the same normal form under the named laws."""
    if t == u:
        return True
    allowed = frozenset(laws)
    ctx = ctx.rooted()
    return not _cleared(_plus(_normal(ctx, t, allowed), _normal(ctx, u, allowed), -1))


# ---------------------------------------------------------------------- arithmetic of normal forms


def _number(c: Fraction) -> Number:
    return c.numerator if c.denominator == 1 else c


def _constant(c: Number) -> Normal:
    return {_EMPTY: c} if c else {}


def _single(key: Key, exponent: Any = 1) -> Normal:
    return {frozenset({(key, exponent)}): 1}


def _plus(p: Normal, q: Normal, factor: int = 1) -> Normal:
    total = dict(p)
    for m, c in q.items():
        value = total.get(m, 0) + factor * c
        if value:
            total[m] = value
        else:
            total.pop(m, None)
    return total


def _times(p: Normal, q: Normal) -> Normal:
    if len(p) * len(q) > _MOST_MONOMIALS:
        raise Refused("ring: the expression is too large to multiply out")
    total: Normal = {}
    for m, a in p.items():
        for n, b in q.items():
            for k, c in _join(m, n).items():
                value = total.get(k, 0) + a * b * c
                if value:
                    total[k] = value
                else:
                    total.pop(k, None)
    return total


def _join(m: Monomial, n: Monomial) -> Normal:
    """Multiply two monomials; square roots and indicators reduce (see `_normal`)."""
    powers = dict(m)
    for key, e in n:
        powers[key] = powers.get(key, 0) + e
    extra: list[tuple[Normal, int]] = []
    for key, e in list(powers.items()):
        if key[0] == "ind" and key[2] and e > 1:
            powers[key] = 1
        elif key[0] == "sqrt+" and not -1 <= e <= 1:
            powers[key] = e % 2
            extra.append((dict(key[1]), (e - e % 2) // 2))
    result: Normal = {frozenset((k, e) for k, e in powers.items() if e): 1}
    for base, e in extra:
        result = _times(result, _power(base, e))
    return result


def _power(p: Normal, e: int) -> Normal:
    if e < 0:
        return _power(_inverse(p), -e)
    result = _constant(1)
    for _ in range(e):
        result = _times(result, p)
        if any(c.numerator.bit_length() > _LONGEST_NUMBER for c in result.values()):
            raise Refused("ring: a number in the expression is too large to write out")
    return result


def _inverse(p: Normal) -> Normal:
    """Return 1/p for a p that is known to be nonzero."""
    if len(p) == 1:
        ((m, c),) = p.items()
        return {frozenset((k, -e) for k, e in m): _number(Fraction(1) / c)}
    common, content, primitive = _content(p)
    outside = {frozenset((k, -e) for k, e in common): _number(Fraction(1) / content)}
    return _times(outside, _single(("poly", frozenset(primitive.items())), -1))


def _content(p: Normal) -> tuple[Monomial, Number, Normal]:
    """Split p into the monomial and positive rational that all its terms share, and the rest."""
    first, *others = p
    shared = {k: e for k, e in first}
    for m in others:
        powers = dict(m)
        shared = {k: min(e, powers[k]) for k, e in shared.items() if k in powers}
    common = frozenset((k, e) for k, e in shared.items() if e and k[0] != "ind")
    numerator = gcd(*(abs(c.numerator) for c in p.values()))
    denominator = lcm(*(c.denominator for c in p.values()))
    content = _number(Fraction(numerator, denominator))
    down = {frozenset((k, -e) for k, e in common): _number(Fraction(1) / content)}
    return common, content, _times(p, down)


def _cleared(p: Normal) -> Normal:
    """Multiply by every divisor that is a polynomial; p = 0 exactly if the result is empty."""
    while True:
        keys = {key for m in p for key, _ in m if key[0] == "poly"}
        if not keys:
            return p
        key = max(keys, key=_height)
        lowest = min(e for m in p for k, e in m if k == key)
        shift = -min(lowest, 0)
        base = dict(key[1])
        total: Normal = {}
        for m, c in p.items():
            e = dict(m).get(key, 0)
            rest = {frozenset((k, x) for k, x in m if k != key): c}
            total = _plus(total, _times(rest, _power(base, e + shift)))
        p = total


def _height(x: Any) -> int:
    if isinstance(x, (tuple, frozenset)):
        return 1 + max((_height(y) for y in x), default=0)
    return 0


# ---------------------------------------------------------------------- from terms


def _normal(ctx: Context, t: Term, laws: frozenset[str]) -> Normal:
    spend()
    match t[0]:
        case "q":
            return _constant(t[1] if t[2] == 1 else Fraction(t[1], t[2]))
        case "ix":
            return _of_index(t[1])
        case "sym" | "ent":
            return _single(t)
        case "add":
            total: Normal = {}
            for u in t[1:]:
                total = _plus(total, _normal(ctx, u, laws))
            return total
        case "mul":
            product = _constant(1)
            for u in t[1:]:
                product = _times(product, _normal(ctx, u, laws))
            return product
        case "pow":
            return _power(_normal(ctx, t[1], laws), t[2])
        case "inv":
            return _of_inverse(ctx, t[1], laws)
        case "exp":
            return _of_exp(_normal(ctx, t[1], laws), laws)
        case "log":
            return _of_log(ctx, t[1], laws)
        case "sqrt":
            return _of_sqrt(ctx, t[1], laws)
        case "abs":
            return _single(("abs", _frozen(_normal(ctx, t[1], laws))))
        case "sum":
            return _of_sum(ctx, t, laws)
        case "ind":
            return _of_indicator(ctx, t[1], laws)
        case "E":
            return _of_expectation(ctx, _normal(ctx.below_expectation(), t[1], laws), laws)
        case "D":
            body = _normal(ctx.below_derivative(t[1]), t[2], laws)
            return _single(("D", t[1], _frozen(body)))
        case "app":
            return _of_defined(ctx, t, laws)
    raise Refused(f"not a term: {t[0]!r}")


def _frozen(p: Normal) -> frozenset[tuple[Monomial, Number]]:
    return frozenset(p.items())


def _of_index(p: ix.Poly) -> Normal:
    total: Normal = {}
    for monomial, c in p:
        product = _constant(c)
        for a in monomial:
            product = _times(product, _single(("#", a)))
        total = _plus(total, product)
    return total


def _of_inverse(ctx: Context, t: Term, laws: frozenset[str]) -> Normal:
    p = _normal(ctx, t, laws)
    if not p:
        return {}
    if set(p) == {_EMPTY}:
        return _constant(_number(Fraction(1) / p[_EMPTY]))
    if is_nonzero(ctx.outermost_for(free_variables(t)), t):
        return _inverse(p)
    return _single(("inv", _frozen(p)))


def _of_exp(p: Normal, laws: frozenset[str]) -> Normal:
    if "expring" not in laws and "log_exp" not in laws:
        return _single(("exp", _frozen(p), False))
    result = _constant(1)
    for m, c in p.items():
        inside = list(m)
        if "log_exp" in laws and len(inside) == 1 and inside[0][1] == 1:
            key = inside[0][0]
            if key[0] == "log+" and c.denominator == 1:
                result = _times(result, _power(dict(key[1]), c.numerator))
                continue
        exponent = c.numerator if c.denominator == 1 else c
        result = _times(result, _single(("exp", m, True), exponent))
    return result


def _of_log(ctx: Context, t: Term, laws: frozenset[str]) -> Normal:
    if t[0] == "exp" and "log_exp" in laws:
        return _normal(ctx, t[1], laws)
    p = _normal(ctx, t, laws)
    if "log_exp" not in laws:
        return _single(("log", _frozen(p)))
    if len(p) == 1:
        ((m, c),) = p.items()
        if c == 1 and all(key[0] == "exp" and key[2] for key, _ in m):
            total: Normal = {}
            for key, e in m:
                total = _plus(total, {key[1]: e})
            return total
    positive = is_positive(ctx.outermost_for(free_variables(t)), t)
    return _single(("log+" if positive else "log", _frozen(p)))


def _of_sqrt(ctx: Context, t: Term, laws: frozenset[str]) -> Normal:
    p = _normal(ctx, t, laws)
    if "sqrt_sq" not in laws:
        return _single(("sqrt", _frozen(p)))
    if set(p) <= {_EMPTY}:
        value = p.get(_EMPTY, 0)
        if value >= 0:
            root = Fraction(isqrt(value.numerator), isqrt(value.denominator))
            if root * root == value:
                return _constant(_number(root))
    known = is_nonnegative(ctx.outermost_for(free_variables(t)), t)
    return _single(("sqrt+" if known else "sqrt", _frozen(p)))


def _of_indicator(ctx: Context, c: ix.Cond, laws: frozenset[str]) -> Normal:
    if "ind_val" in laws:
        if ctx.holds(c):
            return _constant(1)
        if ctx.holds(("not", c)):
            return {}
    if "ind_bool" not in laws:
        return _single(("ind", c, False))
    match c[0]:
        case "not":
            return _plus(_constant(1), _of_indicator(ctx, c[1], laws), -1)
        case "and":
            return _times(_of_indicator(ctx, c[1], laws), _of_indicator(ctx, c[2], laws))
        case "or":
            one, two = _of_indicator(ctx, c[1], laws), _of_indicator(ctx, c[2], laws)
            return _plus(_plus(one, two), _times(one, two), -1)
        case "ge":
            # of p >= 0 and its negation -p - 1 >= 0 keep the one with the positive last term
            other = ix.sub(ix.scale(-1, c[1]), ix.ONE)
            if c[1] and c[1][-1][1] < 0:
                return _plus(_constant(1), _single(("ind", ("ge", other), True)), -1)
            return _single(("ind", c, True))
        case _:
            return _single(("ind", c, True))


def _of_defined(ctx: Context, t: Term, laws: frozenset[str]) -> Normal:
    found = definition_of(ctx.statement, t)
    if f"unfold:{t[1]}" in laws and found.recursion is None:
        return _normal(ctx, unfolded(ctx.statement, t), laws)
    parts: list[Any] = []
    for position, argument in enumerate(t[2]):
        if argument[0] == "int":
            parts.append(argument)
        elif argument[0] == "real":
            body = _normal(ctx.below_expectation(), argument[1], laws)
            parts.append(("real", _frozen(body)))
        else:
            inner, opened = ctx, []
            for axis in parameter_axes(found, t, position):
                inner, i = inner.below(axis)
                opened.append(i)
            body = _normal(inner, instantiate(argument[2], tuple(opened)), laws)
            width = sum(len(index_variables(i)) for i in opened)
            parts.append(("lam", width, _closed(_frozen(body), tuple(opened), 0)))
    return _single(("app", t[1], tuple(parts), t[3]))


# ---------------------------------------------------------------------- sums and expectations


def _of_sum(ctx: Context, t: Term, laws: frozenset[str]) -> Normal:
    axis, body = t[1], t[2]
    if axis[0] == "prod" and "sum_pair" in laws:
        first_ctx, h = ctx.below(axis[1])
        second_ctx, r = first_ctx.below(axis[2])
        inner = _normal(second_ctx, instantiate(body, (("pair", h, r),)), laws)
        return _collected(axis[1], h, _collected(axis[2], r, inner, laws), laws)
    length = ix.as_const(ix.axis_size(axis)) if axis[0] == "range" else None
    if length is not None and _literal_law(length) in laws:
        total: Normal = {}
        for k in range(length):
            value = ix.add(axis[1], ix.const(k))
            total = _plus(total, _normal(ctx, instantiate(body, (value,)), laws))
        return total
    inner_ctx, i = ctx.below(axis)
    return _collected(axis, i, _normal(inner_ctx, instantiate(body, (i,)), laws), laws)


def _literal_law(length: int) -> str:
    if length <= 0:
        return "sum_empty"
    if length == 1:
        return "sum_single"
    return "sum_literal" if length <= _LONGEST_LITERAL else "no law"


def _collected(axis: ix.Axis, i: ix.Index, body: Normal, laws: frozenset[str]) -> Normal:
    """Return the normal form of the sum of `body` over the opened index `i`."""
    if not body:
        return {}
    if len(body) > 1 and "sum_add" not in laws:
        return _single(("sum", axis, _closed(_frozen(body), (i,), 0)))
    names = index_variables(i)
    total: Normal = {}
    for m, c in body.items():
        if "sum_scale" not in laws:
            kept: Normal = {m: c}
            outside = _constant(1)
        else:
            kept = {frozenset(f for f in m if _mentions(f[0], names)): 1}
            outside = {frozenset(f for f in m if not _mentions(f[0], names)): c}
        term = _single(("sum", axis, _closed(_frozen(kept), (i,), 0)))
        total = _plus(total, _times(outside, term))
    return total


def _mentions(x: Any, names: set[str]) -> bool:
    if isinstance(x, tuple):
        if len(x) == 2 and x[0] == "v":
            return x[1] in names
        return any(_mentions(y, names) for y in x)
    return isinstance(x, frozenset) and any(_mentions(y, names) for y in x)


def _of_expectation(ctx: Context, p: Normal, laws: frozenset[str]) -> Normal:
    families = {d.name for d in ctx.statement.declared if d.kind == "family"}
    if "E_lin" not in laws:
        if "E_const" in laws and not any(_random(key, families) for m in p for key, _ in m):
            return p
        return _single(("E", _frozen(p)))
    total: Normal = {}
    for m, c in p.items():
        total = _plus(total, _times({_EMPTY: c}, _expected(m, families)))
    return total


def _expected(m: Monomial, families: set[str]) -> Normal:
    fixed = frozenset(f for f in m if not _random(f[0], families))
    moving = m - fixed
    if not moving:
        return {fixed: 1}
    alone = list(moving)
    if len(alone) == 1 and alone[0][0][0] == "sum" and alone[0][1] == 1:
        _, axis, body = alone[0][0]
        inner: Normal = {}
        for n, c in body:
            inner = _plus(inner, _times({_EMPTY: c}, _expected(n, families)))
        # E goes below the sum; what it leaves there is collected again, term by term
        result: Normal = {}
        for n, c in inner.items():
            inside = frozenset(f for f in n if _mentions_bound(f[0], _width(axis)))
            outside = frozenset((_lowered(k, _width(axis)), e) for k, e in n - inside)
            key = ("sum", axis, frozenset({(inside, 1)}))
            result = _plus(result, _times({outside: c}, _single(key)))
        return _times({fixed: 1}, result)
    rest = _single(("E", frozenset({(moving, 1)})))
    return _times({fixed: 1}, rest)


def _random(x: Any, families: set[str]) -> bool:
    if isinstance(x, tuple):
        if x and x[0] == "E":
            return False
        if len(x) == 3 and x[0] == "ent":
            return x[1] in families
        return any(_random(y, families) for y in x)
    return isinstance(x, frozenset) and any(_random(y, families) for y in x)


# ---------------------------------------------------------------------- binders in normal forms


def _on_indices(x: Any, f: Any, depth: int) -> Any:
    """Apply `f(index, depth)` to all indices of a normal form or a key in it."""
    if isinstance(x, frozenset):
        return frozenset(_on_indices(y, f, depth) for y in x)
    if not isinstance(x, tuple) or not x:
        return x
    if isinstance(x[0], (tuple, frozenset)):  # (key, exponent) or (monomial, coefficient)
        return (_on_indices(x[0], f, depth), x[1])
    match x[0]:
        case "#":
            p = f(ix.atom(x[1]), depth)
            found = ix.as_atom(p)
            if found is None:
                raise Refused("an index variable was replaced by something else in a normal form")
            return ("#", found)
        case "ent":
            return ("ent", x[1], tuple(f(i, depth) for i in x[2]))
        case "ind":
            return ("ind", _on_cond(x[1], f, depth), x[2])
        case "sum":
            return ("sum", _on_axis(x[1], f, depth), _on_indices(x[2], f, depth + _width(x[1])))
        case "app":
            arguments = tuple(
                ("int", f(a[1], depth)) if a[0] == "int"
                else ("real", _on_indices(a[1], f, depth)) if a[0] == "real"
                else ("lam", a[1], _on_indices(a[2], f, depth + a[1]))
                for a in x[2]
            )  # fmt: skip
            return ("app", x[1], arguments, tuple(f(i, depth) for i in x[3]))
        case "D":
            return ("D", _on_indices(x[1], f, depth), _on_indices(x[2], f, depth))
        case "sym":
            return x
        case "exp":
            return ("exp", _on_indices(x[1], f, depth), x[2])
        case _:
            return (x[0], _on_indices(x[1], f, depth))


def _width(axis: ix.Axis) -> int:
    """Return how many numbers a binder over `axis` uses in a normal form: one for each range."""
    return 1 if axis[0] == "range" else _width(axis[1]) + _width(axis[2])


def _on_axis(axis: ix.Axis, f: Any, depth: int) -> ix.Axis:
    if axis[0] == "range":
        return ("range", f(axis[1], depth), f(axis[2], depth))
    return ("prod", _on_axis(axis[1], f, depth), _on_axis(axis[2], f, depth))


def _on_cond(c: ix.Cond, f: Any, depth: int) -> ix.Cond:
    match c[0]:
        case "ge":
            return ix.ge(f(c[1], depth))
        case "eq":
            return ix.eq(f(c[1], depth))
        case "pred":
            return ("pred", c[1], tuple(f(i, depth) for i in c[2]))
        case "not":
            return ("not", _on_cond(c[1], f, depth))
        case _:
            return (c[0], _on_cond(c[1], f, depth), _on_cond(c[2], f, depth))


def _closed(x: Any, opened: tuple[ix.Index, ...], depth: int) -> Any:
    """Bind opened indices again, as `terms.abstract` does for terms.

    An opened index pair is bound by two numbers, so that each component can stand alone.
    """
    order: dict[ix.Atom, int] = {}
    for i in opened:
        for name in sorted(index_variables(i)):
            order[("v", name)] = len(order)

    def replace(i: ix.Index, at: int) -> ix.Index:
        return ix.substitute(i, lambda a: ix.atom(("b", order[a] + at)) if a in order else None)

    return _on_indices(x, replace, depth)


def _mentions_bound(x: Any, width: int) -> bool:
    """Tell whether `x` mentions one of the `width` indices bound just outside it."""
    found = False

    def note(i: ix.Index, at: int) -> ix.Index:
        nonlocal found
        polys = [i]
        while polys:
            p = polys.pop()
            if ix.is_pair(p):
                polys.extend(p[1:])
            elif any(a[0] == "b" and at <= a[1] < at + width for a in ix.atoms(p)):
                found = True
        return i

    _on_indices(x, note, 0)
    return found


def _lowered(x: Any, width: int) -> Any:
    """Take a key out of the binder of `width` indices around it, none of which it mentions."""
    return _on_indices(
        x,
        lambda i, at: ix.substitute(
            i, lambda a: ix.atom(("b", a[1] - width)) if a[0] == "b" and a[1] >= at else None
        ),
        0,
    )
