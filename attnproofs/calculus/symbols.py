"""Symbols and expressions for writing statements and derivations.

Everything here builds the kernel's terms; nothing here is trusted. Indices (`Ix`) are integer
polynomials, reals (`Expr`) have the usual operators, and tensors (`Array`) know their axes, so that
``(Q @ K.T)[i, j]`` and ``softmax(S[i])[j]`` mean what they look like.

>>> scope = Scope("example")
>>> n = scope.dimension("n")
>>> s = scope.tensor("s", n)
>>> Sum(n, lambda i: exp(s[i])).term[0]
'sum'
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import count
from typing import Any, TypeAlias, TypeVar

from attnproofs.errors import InputError
from attnproofs.kernel import index as ix
from attnproofs.kernel.statement import Claim, Declared, Hypothesis, Statement
from attnproofs.kernel.terms import Term, abstract, rational, subterms

_fresh = count()

IxLike: TypeAlias = "Ix | int"
Real: TypeAlias = "Expr | Ix | int | Fraction"
AxisLike: TypeAlias = "Ix | int | Axis"


class Ix:
    """An index: an integer polynomial in dimensions, indices and index functions, or a pair."""

    __slots__ = ("index",)

    def __init__(self, index: ix.Index) -> None:
        self.index = index

    def __add__(self, other: Any) -> Any:
        if isinstance(other, (Ix, int)):
            return Ix(ix.add(self.index, _index(other)))
        return as_expr(self) + other

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, (Ix, int)):
            return Ix(ix.sub(self.index, _index(other)))
        return as_expr(self) - other

    def __rsub__(self, other: Any) -> Any:
        return Ix(ix.const(other)) - self if isinstance(other, int) else other - as_expr(self)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, (Ix, int)):
            return Ix(ix.mul(self.index, _index(other)))
        return as_expr(self) * other

    __rmul__ = __mul__

    def __neg__(self) -> Ix:
        return Ix(ix.scale(-1, self.index))

    def __truediv__(self, other: Real) -> Expr:
        return as_expr(self) / other

    def __rtruediv__(self, other: Real) -> Expr:
        return as_expr(other) / self

    def __pow__(self, n: int) -> Expr:
        return as_expr(self) ** n

    def __le__(self, other: IxLike) -> Cond:
        return Cond(ix.ge(_index(other), self.index))

    def __ge__(self, other: IxLike) -> Cond:
        return Cond(ix.ge(self.index, _index(other)))

    def __lt__(self, other: IxLike) -> Cond:
        return Cond(ix.ge(_index(other), ix.add(self.index, ix.ONE)))

    def __gt__(self, other: IxLike) -> Cond:
        return Cond(ix.ge(self.index, ix.add(_index(other), ix.ONE)))

    def is_(self, other: IxLike) -> Cond:
        """Return the condition that both indices are the same."""
        return Cond(ix.eq(self.index, _index(other)))


class Cond:
    """A condition on indices; ``&``, ``|`` and ``~`` combine."""

    __slots__ = ("cond",)

    def __init__(self, cond: ix.Cond) -> None:
        self.cond = cond

    def __and__(self, other: Cond) -> Cond:
        return Cond(("and", self.cond, other.cond))

    def __or__(self, other: Cond) -> Cond:
        return Cond(("or", self.cond, other.cond))

    def __invert__(self) -> Cond:
        return Cond(("not", self.cond))


class Axis:
    """A range ``lo..hi`` or a flattened axis (`flattened`)."""

    __slots__ = ("axis",)

    def __init__(self, axis: ix.Axis) -> None:
        self.axis = axis

    @property
    def size(self) -> Ix:
        """The number of indices."""
        return Ix(ix.axis_size(self.axis))


def span(lo: IxLike, hi: IxLike) -> Axis:
    """Return the range ``lo..hi`` (empty when ``hi < lo``)."""
    return Axis(("range", _index(lo), _index(hi)))


def flattened(first: AxisLike, second: AxisLike) -> Axis:
    """Return the flattened axis of index pairs, the first component slow (contiguous blocks)."""
    return Axis(("prod", as_axis(first), as_axis(second)))


def pair(h: Ix, r: Ix) -> Ix:
    """Return an index of a flattened axis."""
    return Ix(("pair", h.index, r.index))


def as_axis(a: AxisLike) -> ix.Axis:
    """Return a kernel axis; a bare dimension n means 1..n."""
    return a.axis if isinstance(a, Axis) else ("range", ix.ONE, _index(a))


def _index(i: IxLike) -> ix.Index:
    return i.index if isinstance(i, Ix) else ix.const(i)


class Expr:
    """A real-valued expression."""

    __slots__ = ("term",)

    def __init__(self, term: Term) -> None:
        self.term = term

    def __add__(self, other: Real) -> Expr:
        return Expr(_flat("add", self, other))

    def __radd__(self, other: Real) -> Expr:
        return as_expr(other) + self

    def __sub__(self, other: Real) -> Expr:
        return self + (-as_expr(other))

    def __rsub__(self, other: Real) -> Expr:
        return as_expr(other) - self

    def __mul__(self, other: Real) -> Expr:
        return Expr(_flat("mul", self, other))

    def __rmul__(self, other: Real) -> Expr:
        return as_expr(other) * self

    def __neg__(self) -> Expr:
        if self.term[0] == "q":
            return Expr(("q", -self.term[1], self.term[2]))
        return rational_expr(-1) * self

    def __truediv__(self, other: Real) -> Expr:
        return self * Expr(("inv", as_expr(other).term))

    def __rtruediv__(self, other: Real) -> Expr:
        return as_expr(other) / self if other != 1 else Expr(("inv", self.term))

    def __pow__(self, n: int) -> Expr:
        return Expr(("pow", self.term, n))


def rational_expr(value: int | Fraction) -> Expr:
    """Return a rational literal."""
    return Expr(rational(value))


def as_expr(x: Real) -> Expr:
    """Return `x` as a real expression."""
    if isinstance(x, Expr):
        return x
    if isinstance(x, Ix):
        return Expr(("ix", x.index))
    if isinstance(x, (int, Fraction)):
        return rational_expr(x)
    raise InputError(f"an expression is expected, not {type(x).__name__}")


def _flat(tag: str, a: Real, b: Real) -> Term:
    one, two = as_expr(a).term, as_expr(b).term
    left = one[1:] if one[0] == tag else (one,)
    right = (two,)
    return (tag, *left, *right)


def exp(x: Real) -> Expr:
    """Return the exponential."""
    return Expr(("exp", as_expr(x).term))


def log(x: Real) -> Expr:
    """Return the natural logarithm."""
    return Expr(("log", as_expr(x).term))


def sqrt(x: Real) -> Expr:
    """Return the square root."""
    return Expr(("sqrt", as_expr(x).term))


def absolute(x: Real) -> Expr:
    """Return the absolute value."""
    return Expr(("abs", as_expr(x).term))


def ind(c: Cond) -> Expr:
    """Return 1 where `c` holds and 0 elsewhere."""
    return Expr(("ind", c.cond))


def expect(x: Real) -> Expr:
    """Return the expectation over the declared random families."""
    return Expr(("E", as_expr(x).term))


def derivative(x: Expr, t: Real) -> Expr:
    """Return the partial derivative of `t` with respect to the entry or scalar `x`."""
    return Expr(("D", x.term, as_expr(t).term))


def Sum(axis: AxisLike, body: Callable[[Any], Real]) -> Expr:
    """Return the sum of ``body(i)`` over the indices i of `axis` (a dimension n means 1..n)."""
    i = _new_index()
    return Expr(("sum", as_axis(axis), abstract(as_expr(body(i)).term, (i.index,))))


def _new_index() -> Ix:
    return Ix(ix.var(f"~{next(_fresh)}"))


class Array:
    """A tensor, or an expression that is one: it has axes, and an entry for each index."""

    def __init__(self, axes: tuple[ix.Axis, ...], entry: Callable[..., Expr]) -> None:
        self.axes = axes
        self._entry = entry

    def __getitem__(self, indices: Any) -> Any:
        given = indices if isinstance(indices, tuple) else (indices,)
        fixed = tuple(Ix(_index(i)) for i in given)
        if len(fixed) > len(self.axes):
            raise InputError(f"{len(fixed)} indices for {len(self.axes)} axes")
        if len(fixed) == len(self.axes):
            return self._entry(*fixed)
        return Array(self.axes[len(fixed) :], lambda *rest: self._entry(*fixed, *rest))

    def __matmul__(self, other: Array) -> Array:
        from attnproofs.calculus.library import matmul

        return matmul(self, other)

    @property
    def T(self) -> Array:
        """The transpose."""
        from attnproofs.calculus.library import transpose

        return transpose(self)

    def __mul__(self, factor: Real) -> Array:
        return Array(self.axes, lambda *i: self._entry(*i) * factor)

    __rmul__ = __mul__

    def __add__(self, other: Array) -> Array:
        return Array(self.axes, lambda *i: self._entry(*i) + other[i])

    def size(self, axis: int) -> Ix:
        """Return the number of indices of an axis that starts at 1."""
        return Ix(ix.axis_size(self.axes[axis]))

    def lam(self) -> Term:
        """Return the kernel's lambda: the array as an argument of a defined symbol."""
        indices = tuple(_new_index() for _ in self.axes)
        body = abstract(self._entry(*indices).term, tuple(i.index for i in indices))
        return ("lam", len(indices), body)


def array(*shape_and_entry: Any) -> Array:
    """Return the array with the given axes and entries: ``array(T, d, lambda i, a: ...)``."""
    *axes, entry = shape_and_entry
    return Array(tuple(as_axis(a) for a in axes), lambda *i: as_expr(entry(*i)))


class Predicate:
    """A declared predicate of indices, such as a mask; calling it gives a condition."""

    def __init__(self, name: str, axes: tuple[ix.Axis, ...]) -> None:
        self.name = name
        self.axes = axes

    def __call__(self, *indices: IxLike) -> Cond:
        """Return the condition that the predicate holds at `indices`."""
        return Cond(("pred", self.name, tuple(_index(i) for i in indices)))


class IndexFunction:
    """A declared index function, such as a permutation or the choice of a kept key."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *indices: IxLike) -> Ix:
        """Return the value at `indices`."""
        return Ix(ix.atom(("f", self.name, tuple(_index(i) for i in indices))))


_Symbol = TypeVar("_Symbol")


class Scope:
    """The declarations, hypotheses and claim of one statement.

    Parameters
    ----------
    name
        Name of the statement: the theorem's id, with ``.part`` for a further part.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.symbols: dict[str, Any] = {}
        self._declared: list[Declared] = []
        self._hypotheses: list[Hypothesis] = []
        self._independent: list[tuple[str, ...]] = []
        self._used: set[str] = set()

    def __getitem__(self, names: str) -> Any:
        """Return declared symbols by name: one, or a tuple for ``scope["n s"]``."""
        for name in names.split():
            if name not in self.symbols:
                known = ", ".join(self.symbols) or "nothing"
                raise InputError(f"{self.name}: {name} is not declared; declared: {known}")
        found = tuple(self.symbols[n] for n in names.split())
        return found if len(found) > 1 else found[0]

    def _add(self, declared: Declared, symbol: _Symbol) -> _Symbol:
        if declared.name in self.symbols:
            raise InputError(f"{self.name}: {declared.name} is declared twice")
        self.symbols[declared.name] = symbol
        self._declared.append(declared)
        return symbol

    def dimension(self, name: str, *, least: int = 1) -> Ix:
        """Declare an integer ``>= least`` (0 or 1)."""
        return self._add(Declared("dimension", name, least=least), Ix(ix.var(name)))

    def dimensions(self, names: str) -> tuple[Ix, ...]:
        """Declare several dimensions: ``T, d = scope.dimensions("T d")``."""
        return tuple(self.dimension(n) for n in names.split())

    def index(self, name: str, axis: AxisLike) -> Ix:
        """Declare a free index: the statement holds for every value in `axis`."""
        return self._add(Declared("index", name, (as_axis(axis),)), Ix(ix.var(name)))

    def scalar(self, name: str) -> Expr:
        """Declare a real number."""
        return self._add(Declared("scalar", name), Expr(("sym", name)))

    def tensor(self, name: str, *axes: AxisLike) -> Array:
        """Declare a real tensor with the given axes."""
        return self._array("tensor", name, axes)

    def family(self, name: str, *axes: AxisLike, order: int, independent: bool = False) -> Array:
        """Declare a random family with finite moments up to `order`."""
        return self._array("family", name, axes, order=order, independent=independent)

    def _array(self, kind: str, name: str, axes: tuple[AxisLike, ...], **more: Any) -> Array:
        shape = tuple(as_axis(a) for a in axes)

        def entry(*i: Ix) -> Expr:
            return Expr(("ent", name, tuple(j.index for j in i)))

        return self._add(Declared(kind, name, shape, **more), Array(shape, entry))

    def random(self, name: str, *, order: int) -> Expr:
        """Declare one random number with finite moments up to `order`."""
        return self._add(Declared("family", name, (), order=order), Expr(("ent", name, ())))

    def predicate(self, name: str, *axes: AxisLike) -> Predicate:
        """Declare a predicate of indices (a mask: the keys that are kept)."""
        shape = tuple(as_axis(a) for a in axes)
        return self._add(Declared("predicate", name, shape), Predicate(name, shape))

    def function(self, name: str, *axes: AxisLike, into: AxisLike | None = None) -> IndexFunction:
        """Declare an index function on the axes with values in `into`."""
        shape = tuple(as_axis(a) for a in axes)
        codomain = None if into is None else as_axis(into)
        declared = Declared("function", name, shape, codomain=codomain)
        return self._add(declared, IndexFunction(name))

    def kept(self, keep: Predicate, name: str = "κ") -> IndexFunction:
        """Declare that every row of the mask keeps a key: the index function that chooses one."""
        *rows, keys = keep.axes
        witness = self.function(name, *(Axis(a) for a in rows), into=Axis(keys))
        free = (letter + "'" for letter in "ihgtuvw" if letter + "'" not in self.symbols)
        names = [next(free) for _ in rows]
        indices = [Ix(ix.var(n)) for n in names]
        self._hypotheses.append(
            Hypothesis(
                f"{name}_kept",
                tuple(zip(names, rows)),
                condition=keep(*indices, witness(*indices)).cond,
            )
        )
        return witness

    def uses(self, *definitions: str) -> None:
        """Make known definitions that occur in the proof or its lemmas, and not in the claim."""
        self._used.update(definitions)

    def independent(self, *families: str) -> None:
        """Declare that the families are independent of each other (jointly)."""
        self._independent.append(families)

    def assume(
        self,
        name: str,
        relation: Claim | Cond | Callable[..., Claim | Cond],
        *,
        over: dict[str, AxisLike] | None = None,
        where: Callable[..., Cond] | Cond | None = None,
    ) -> None:
        """Assume a relation or an index condition.

        With `over`, it holds for all indices in the given axes: `relation` (and `where`) is then a
        function of them, ``scope.assume("centred", lambda a: eq(expect(q[a]), 0), over={"a": d})``.
        """
        names = list(over or {})
        indices = [Ix(ix.var(n)) for n in names]
        body = relation(*indices) if callable(relation) else relation
        condition = where(*indices) if callable(where) else where
        forall = tuple((n, as_axis(a)) for n, a in (over or {}).items())
        conditions = () if condition is None else (condition.cond,)
        if isinstance(body, Cond):
            added = Hypothesis(name, forall, conditions, condition=body.cond)
        else:
            added = Hypothesis(name, forall, conditions, body.relation, body.lhs, body.rhs)
        self._hypotheses.append(added)

    def declared(self) -> list[Declared]:
        """Return what has been declared so far, in order."""
        return list(self._declared)

    def claim(self, claim: Claim) -> Statement:
        """Return the statement that claims `claim` under everything declared so far."""
        from attnproofs.calculus.library import definitions_in

        terms: list[Term] = [claim.lhs] + ([claim.rhs] if claim.rhs is not None else [])
        terms += [t for h in self._hypotheses for t in (h.lhs, h.rhs) if t is not None]
        names = {
            u[1] for t in terms for u in subterms(t[2] if t[0] == "lam" else t) if u[0] == "app"
        } | self._used
        return Statement(
            self.name,
            tuple(self._declared),
            claim,
            tuple(self._hypotheses),
            tuple(self._independent),
            definitions_in(names),
        )


def eq(lhs: Real, rhs: Real) -> Claim:
    """Return the claim ``lhs = rhs``."""
    return Claim("=", as_expr(lhs).term, as_expr(rhs).term)


def le(lhs: Real, rhs: Real) -> Claim:
    """Return the claim ``lhs <= rhs``."""
    return Claim("<=", as_expr(lhs).term, as_expr(rhs).term)


def lt(lhs: Real, rhs: Real) -> Claim:
    """Return the claim ``lhs < rhs``."""
    return Claim("<", as_expr(lhs).term, as_expr(rhs).term)


def factors(
    matrix: Expr, row: Ix, column: Ix, through: AxisLike, *, right: Array | None = None
) -> Claim:
    """Return the claim that a matrix has rank at most the size of `through`.

    It says that ``matrix[row, column]`` is the sum over c of ``A[row, c] B[c, column]``; with
    `right`, B is `right` itself (each row of the matrix is a combination of rows of `right`).
    """
    return Claim(
        "factors",
        matrix.term,
        None if right is None else right.lam(),
        row=_variable(row),
        column=_variable(column),
        axis=as_axis(through),
    )


def has_shape(value: Array, *axes: AxisLike) -> Claim:
    """Return the claim that `value` is well formed on the given axes."""
    return Claim("shape", value.lam(), axes=tuple(as_axis(a) for a in axes))


def _variable(i: Ix) -> str:
    alone = ix.as_atom(i.index)
    if alone is None or alone[0] != "v":
        raise InputError("a row and a column are declared indices")
    return str(alone[1])
