"""Terms to SymPy and back, and SymPy's second opinion on a step.

SymPy proposes and comments; it never decides. `to_sympy` and `from_sympy` carry a term over and
back, so that a script may ask SymPy for its next line (`expanded`, `differentiated`, `summed`) and
hand the answer to the kernel. `opinion` expands both sides of a step at small concrete dimensions
with symbolic entries, and compares.

What SymPy does to expressions while they are being built (cancelling ``y/y``, evaluating sums over
reversed ranges, renaming) is why terms are not SymPy expressions to begin with: bound indices
become fresh dummies here, nothing is substituted by name, and sums are only evaluated on request.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from typing import Any

import sympy

from attnproofs.calculus.symbols import Expr, Real, as_expr
from attnproofs.errors import InputError
from attnproofs.kernel import index as ix
from attnproofs.kernel.statement import Statement
from attnproofs.kernel.terms import Term, abstract, rational

AGREES, CANNOT_TELL, DISAGREES = "agrees", "cannot tell", "disagrees"
_LARGEST = 4000


# ---------------------------------------------------------------------- to SymPy


def to_sympy(expression: Real) -> sympy.Expr:
    """Return the SymPy expression of a term without defined symbols, E or derivatives.

    Sums stay sums (`sympy.Sum`), an indicator becomes a `Piecewise`, and every bound index a fresh
    dummy.

    Raises
    ------
    InputError
        When the term has a part that SymPy has no counterpart for.
    """
    return _symbolic(as_expr(expression).term, ())


def _symbolic(t: Term, bound: tuple[Any, ...]) -> Any:
    match t[0]:
        case "q":
            return sympy.Rational(t[1], t[2])
        case "ix":
            return _index(t[1], bound)
        case "sym":
            return sympy.Symbol(t[1], real=True)
        case "ent":
            return sympy.IndexedBase(t[1], real=True)[tuple(_flat(i, bound) for i in t[2])]
        case "add":
            return sympy.Add(*(_symbolic(u, bound) for u in t[1:]))
        case "mul":
            return sympy.Mul(*(_symbolic(u, bound) for u in t[1:]))
        case "pow":
            return _symbolic(t[1], bound) ** t[2]
        case "inv":
            return 1 / _symbolic(t[1], bound)
        case "exp" | "log" | "sqrt":
            return getattr(sympy, t[0])(_symbolic(t[1], bound))
        case "abs":
            return sympy.Abs(_symbolic(t[1], bound))
        case "ind":
            return sympy.Piecewise((1, _condition(t[1], bound)), (0, True))
        case "sum" if t[1][0] == "range":
            i = sympy.Dummy("i", integer=True)
            limits = (i, _index(t[1][1], bound), _index(t[1][2], bound))
            return sympy.Sum(_symbolic(t[2], (i, *bound)), limits)
    raise InputError(f"SymPy has no counterpart of {t[0]!r} here; unfold or evaluate it first")


def _index(i: ix.Index, bound: tuple[Any, ...]) -> Any:
    total = sympy.Integer(0)
    for monomial, c in i:
        factor = sympy.Integer(c)
        for a in monomial:
            factor *= _atom(a, bound)
        total += factor
    return total


def _atom(a: ix.Atom, bound: tuple[Any, ...]) -> Any:
    if a[0] == "b":
        return bound[a[1]]
    if a[0] == "v":
        return sympy.Symbol(a[1], integer=True)
    return sympy.Function(a[1], integer=True)(*(_index(x, bound) for x in a[2]))


def _flat(i: ix.Index, bound: tuple[Any, ...]) -> Any:
    if ix.is_pair(i):
        raise InputError("SymPy has no flattened axes")
    return _index(i, bound)


def _condition(c: ix.Cond, bound: tuple[Any, ...]) -> Any:
    match c[0]:
        case "ge":
            return sympy.Ge(_index(c[1], bound), 0)
        case "eq":
            return sympy.Eq(_index(c[1], bound), 0)
        case "not":
            return sympy.Not(_condition(c[1], bound))
        case "and":
            return sympy.And(*(_condition(d, bound) for d in c[1:]))
        case "or":
            return sympy.Or(*(_condition(d, bound) for d in c[1:]))
    return sympy.Eq(sympy.Function(c[1])(*(_index(i, bound) for i in c[2])), 1)


# ---------------------------------------------------------------------- back


def from_sympy(expression: Any) -> Expr:
    """Return the term of a SymPy expression: the inverse of `to_sympy` up to order.

    Raises
    ------
    InputError
        When a part has no counterpart among the kernel's terms.
    """
    try:
        # strict: a text is not evaluated
        return Expr(_term(sympy.sympify(expression, strict=True)))
    except sympy.SympifyError:
        raise InputError(
            f"a SymPy expression is expected, not a {type(expression).__name__}"
        ) from None


def _term(e: Any) -> Term:
    if e.is_Rational:
        return rational(Fraction(int(e.p), int(e.q)))
    if e.is_Symbol:
        return ("ix", _poly(e)) if e.is_integer else ("sym", e.name)
    if e.is_Add or e.is_Mul:
        # SymPy keeps its parts in an order of its own; sorting makes the term deterministic
        parts = sorted(e.args, key=sympy.default_sort_key)
        return ("add" if e.is_Add else "mul", *(_term(a) for a in parts))
    if e.is_Pow:
        if e.exp.is_Integer:
            base = _term(e.base)
            raised = base if abs(e.exp) == 1 else ("pow", base, abs(int(e.exp)))
            return raised if e.exp > 0 else ("inv", raised)
        if e.exp == sympy.Rational(1, 2):
            return ("sqrt", _term(e.base))
        if e.exp == -sympy.Rational(1, 2):
            return ("inv", ("sqrt", _term(e.base)))
    if isinstance(e, sympy.Indexed):
        return ("ent", str(e.base), tuple(_poly(i) for i in e.indices))
    if isinstance(e, sympy.exp | sympy.log):
        return ("exp" if isinstance(e, sympy.exp) else "log", _term(e.args[0]))
    if isinstance(e, sympy.Abs):
        return ("abs", _term(e.args[0]))
    if isinstance(e, sympy.KroneckerDelta):
        return ("ind", ix.eq(_poly(e.args[0]), _poly(e.args[1])))
    if isinstance(e, sympy.Piecewise):
        return _cases(e)
    if isinstance(e, sympy.Sum):
        body = _term(e.function)
        for variable, lo, hi in e.limits:
            body = ("sum", ("range", _poly(lo), _poly(hi)), abstract(body, (_poly(variable),)))
        return body
    raise InputError(f"no term stands for the SymPy expression {e}")


def _cases(e: Any) -> Term:
    """Return a case distinction as a sum of indicators times values."""
    parts: list[Term] = []
    earlier: list[ix.Cond] = []
    for value, when in e.args:
        conditions = [("not", c) for c in earlier]
        if when is not sympy.true:
            earlier.append(_cond(when))
            conditions.append(earlier[-1])
        if value == 0:
            continue
        factors: list[Term] = [("ind", c) for c in conditions]
        if value != 1 or not factors:
            factors.append(_term(value))
        parts.append(factors[0] if len(factors) == 1 else ("mul", *factors))
    if len(parts) == 1:
        return parts[0]
    return ("add", *parts) if parts else rational(0)


def _poly(e: Any) -> ix.Poly:
    if e.is_Integer:
        return ix.const(int(e))
    if e.is_Symbol:
        return ix.var(f"{e.name}~{e.dummy_index}" if isinstance(e, sympy.Dummy) else e.name)
    if e.is_Add or e.is_Mul:
        first, *rest = (_poly(a) for a in e.args)
        for p in rest:
            first = ix.add(first, p) if e.is_Add else ix.mul(first, p)
        return first
    if e.is_Pow and e.exp.is_Integer and e.exp > 0:
        result = ix.ONE
        for _ in range(int(e.exp)):
            result = ix.mul(result, _poly(e.base))
        return result
    if isinstance(e, sympy.core.function.AppliedUndef):
        return ix.atom(("f", e.func.__name__, tuple(_poly(a) for a in e.args)))
    raise InputError(f"{e} is no index: an integer polynomial in indices is expected")


def _cond(e: Any) -> ix.Cond:
    if isinstance(e, sympy.Eq):
        return ix.eq(_poly(e.lhs), _poly(e.rhs))
    if isinstance(e, sympy.Ge):
        return ix.ge(_poly(e.lhs), _poly(e.rhs))
    if isinstance(e, sympy.Le):
        return ix.ge(_poly(e.rhs), _poly(e.lhs))
    if isinstance(e, sympy.Gt):
        return ix.ge(_poly(e.lhs), ix.add(_poly(e.rhs), ix.ONE))
    if isinstance(e, sympy.Lt):
        return ix.ge(_poly(e.rhs), ix.add(_poly(e.lhs), ix.ONE))
    if isinstance(e, sympy.Ne):
        return ("not", ix.eq(_poly(e.lhs), _poly(e.rhs)))
    if isinstance(e, sympy.And | sympy.Or):
        first, *rest = (_cond(c) for c in sorted(e.args, key=sympy.default_sort_key))
        for c in rest:
            first = ("and" if isinstance(e, sympy.And) else "or", first, c)
        return first
    if isinstance(e, sympy.Not):
        return ("not", _cond(e.args[0]))
    raise InputError(f"{e} is no condition on indices")


# ---------------------------------------------------------------------- SymPy writes a line


def expanded(expression: Real) -> Expr:
    """Return SymPy's expansion of an expression, as a term for the next line."""
    return from_sympy(sympy.expand(to_sympy(expression)))


def factored(expression: Real) -> Expr:
    """Return SymPy's factorisation of an expression, as a term for the next line."""
    return from_sympy(sympy.factor(to_sympy(expression)))


def summed(expression: Real) -> Expr:
    """Return SymPy's closed form of the sums in an expression, as a term for the next line."""
    return from_sympy(to_sympy(expression).doit())


def differentiated(expression: Real, target: Expr) -> Expr:
    """Return SymPy's derivative of an expression with respect to an entry or scalar."""
    return from_sympy(sympy.diff(to_sympy(expression), to_sympy(target)))


# ---------------------------------------------------------------------- second opinion


def opinion(statement: Statement, before: Term, after: Term, *, seed: int = 0) -> str:
    """Return SymPy's view of ``before = after`` at one choice of small dimensions.

    Entries, scalars and mixed moments stay symbols; sums are written out, conditions decided.
    ``agrees`` when the difference cancels; ``disagrees`` when it does not; ``cannot tell`` when a
    side is too large or has a part that is not expanded.
    """
    rng = random.Random(f"{statement.name}:{seed}")
    try:
        small = _Small(statement, rng)
        difference = small.value(before, (), {}) - small.value(after, (), {})
    except _TooMuch:
        return CANNOT_TELL
    if difference == 0:
        return AGREES
    numerator = sympy.fraction(sympy.together(small.split(difference)))[0]
    return AGREES if sympy.expand(numerator) == 0 else DISAGREES


class _TooMuch(Exception):
    """The expansion is too large, or has a part that SymPy is not asked about."""


class _Small:
    """Terms written out at concrete dimensions, with symbols for entries."""

    def __init__(self, statement: Statement, rng: random.Random) -> None:
        self.statement = statement
        self.rng = rng
        self.numbers: dict[str, int] = {}
        self.tables: dict[tuple[Any, ...], Any] = {}
        self.symbols: dict[tuple[Any, ...], Any] = {}
        self.exponentials: dict[Any, Any] = {}
        self.work = 0
        for d in statement.declared:
            if d.kind == "dimension":
                self.numbers[d.name] = rng.randint(max(d.least, 1), 2)
        for d in statement.declared:
            if d.kind == "index":
                places = self.places(d.axes[0], (), {})
                if not places or isinstance(places[0], tuple):
                    raise _TooMuch
                self.numbers[d.name] = rng.choice(places)

    def index(self, i: ix.Index, bound: tuple[Any, ...], local: Mapping[str, Any]) -> Any:
        if ix.is_pair(i):
            return (self.index(i[1], bound, local), self.index(i[2], bound, local))
        alone = ix.as_atom(i)
        if alone is not None:
            return self.atom(alone, bound, local)
        total = 0
        for monomial, c in i:
            for a in monomial:
                c = c * self.atom(a, bound, local)
            total += c
        return total

    def atom(self, a: ix.Atom, bound: tuple[Any, ...], local: Mapping[str, Any]) -> Any:
        if a[0] == "b":
            return bound[a[1]]
        if a[0] == "v":
            found = local.get(a[1], self.numbers.get(a[1]))
            if found is None:
                raise _TooMuch
            return found
        raise _TooMuch  # an index function means what its hypotheses say

    def places(self, axis: ix.Axis, bound: tuple[Any, ...], local: Mapping[str, Any]) -> list[Any]:
        if axis[0] == "prod":
            return list(
                product(self.places(axis[1], bound, local), self.places(axis[2], bound, local))
            )
        lo, hi = self.index(axis[1], bound, local), self.index(axis[2], bound, local)
        return list(range(lo, hi + 1))

    def holds(self, c: ix.Cond, bound: tuple[Any, ...], local: Mapping[str, Any]) -> bool:
        match c[0]:
            case "ge":
                return bool(self.index(c[1], bound, local) >= 0)
            case "eq":
                return bool(self.index(c[1], bound, local) == 0)
            case "not":
                return not self.holds(c[1], bound, local)
            case "and":
                return all(self.holds(d, bound, local) for d in c[1:])
            case "or":
                return any(self.holds(d, bound, local) for d in c[1:])
        key = ("pred", c[1], tuple(self.index(i, bound, local) for i in c[2]))
        if key not in self.tables:
            self.tables[key] = self.rng.random() < 0.6
        return bool(self.tables[key])

    def symbol(self, *key: Any) -> Any:
        if key not in self.symbols:
            self.symbols[key] = sympy.Symbol(f"x{len(self.symbols)}", real=True)
        return self.symbols[key]

    def value(self, t: Term, bound: tuple[Any, ...], local: Mapping[str, Any]) -> Any:
        self.work += 1
        if self.work > _LARGEST:
            raise _TooMuch
        match t[0]:
            case "q":
                return sympy.Rational(t[1], t[2])
            case "ix":
                return sympy.Integer(self.index(t[1], bound, local))
            case "sym":
                return local[t[1]]() if t[1] in local else self.symbol(t[1])
            case "ent":
                key = tuple(self.index(i, bound, local) for i in t[2])
                return local[t[1]](*key) if t[1] in local else self.symbol(t[1], key)
            case "add":
                return sympy.Add(*(self.value(u, bound, local) for u in t[1:]))
            case "mul":
                if any(u[0] == "ind" and not self.holds(u[1], bound, local) for u in t[1:]):
                    return sympy.Integer(0)
                return sympy.Mul(*(self.value(u, bound, local) for u in t[1:]))
            case "pow":
                return self.value(t[1], bound, local) ** t[2]
            case "inv":
                inner = self.value(t[1], bound, local)
                if inner == 0:
                    raise _TooMuch  # a guard made the divisor vanish; SymPy has no total 1/0
                return 1 / inner
            case "exp":
                return sympy.exp(self.value(t[1], bound, local))
            case "sum":
                places = self.places(t[1], bound, local)
                return sympy.Add(*(self.value(t[2], (i, *bound), local) for i in places))
            case "ind":
                return sympy.Integer(int(self.holds(t[1], bound, local)))
            case "E":
                return self.expectation(self.value(t[1], bound, local))
            case "D":
                target = self.value(t[1], bound, local)
                return sympy.diff(self.value(t[2], bound, local), target)
            case "app":
                return self.defined(t, bound, local)
        raise _TooMuch

    def defined(self, t: Term, bound: tuple[Any, ...], local: Mapping[str, Any]) -> Any:
        made = self.statement.definition[t[1]]
        inner: dict[str, Any] = {}
        for parameter, argument in zip(made.params, t[2]):
            inner[parameter[1]] = self.argument(argument, bound, local)
        for (name, _), i in zip(made.indices, t[3]):
            inner[name] = self.index(i, bound, local)
        if made.recursion is None:
            return self.value(made.body, (), inner)
        if made.base is not None and inner[made.recursion] <= 0:
            return self.value(made.base, (), inner)
        inner[made.recursion] -= 1
        return self.value(made.body, (), inner)

    def argument(self, a: Term, bound: tuple[Any, ...], local: Mapping[str, Any]) -> Any:
        if a[0] == "int":
            return self.index(a[1], bound, local)
        body = a[-1]

        def entry(*i: Any) -> Any:
            return self.value(body, (*i, *bound), local)

        return entry

    def expectation(self, e: Any) -> Any:
        """Return E of a polynomial in random symbols: one symbol for each mixed moment."""
        families = {d.name for d in self.statement.declared if d.kind == "family"}
        chosen = [s for key, s in self.symbols.items() if key[0] in families]
        if not (set(chosen) & e.free_symbols):
            return e
        polynomial = sympy.Poly(sympy.expand(e), *chosen)
        return sympy.Add(*(
            c if not any(powers) else c * self.symbol("moment", powers_of(chosen, powers))
            for powers, c in polynomial.terms()
        ))  # fmt: skip

    def split(self, e: Any) -> Any:
        """Write exponentials of sums as products of symbols, one for each term."""

        def single(x: Any) -> Any:
            c, rest = x.as_coeff_Mul()
            if not c.is_Integer:
                c, rest = sympy.Integer(1), x
            if rest not in self.exponentials:
                self.exponentials[rest] = sympy.Symbol(f"e{len(self.exponentials)}", positive=True)
            return self.exponentials[rest] ** c

        # SymPy's number e is no exponential of 1 to it
        whole = e.xreplace({sympy.E: single(sympy.Integer(1))})
        return whole.replace(
            lambda x: isinstance(x, sympy.exp),
            lambda x: sympy.Mul(*(single(a) for a in sympy.Add.make_args(sympy.expand(x.args[0])))),
        )


def powers_of(symbols: list[Any], powers: tuple[int, ...]) -> tuple[tuple[str, int], ...]:
    """Return a moment's name: the symbols that occur, with their powers."""
    return tuple((s.name, p) for s, p in zip(symbols, powers) if p)
