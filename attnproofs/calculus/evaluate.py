"""Numbers as witnesses: terms evaluated at small random instances, by code that trusts no rule.

Written apart from the kernel's algebra: it reads the same terms, and shares no function with it.
Rational arithmetic is exact as long as only rationals occur; exponentials and the like are computed
with mpmath at the digits asked for, expectations by enumerating a finite law, derivatives by
central differences at more than twice the precision.

An *instance* maps the name of each declared symbol to a value: an integer (dimension, index), a
`Fraction` (scalar), a dictionary from index tuples (tensor, predicate, index function; a flattened
index is itself a tuple), and for random families a `Law`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any

import mpmath

from attnproofs.errors import AttnproofsError
from attnproofs.kernel.statement import Declared, Definition, Hypothesis, Statement

Number = Any  # Fraction, or an mpmath number once something irrational has come in
Instance = dict[str, Any]

_TRIES = 600
_TRIES_WHEN_SMALL = 20
_MOST_OUTCOMES = 4096
_DIGITS_DRAWN = 120  # of values that are computed to meet a hypothesis


class NoInstance(AttnproofsError):
    """No instance was found that meets the hypotheses."""


@dataclass(frozen=True)
class Law:
    """A finite law of one random family: outcomes with their probabilities.

    Each outcome maps index tuples to rational values.
    """

    outcomes: tuple[tuple[Fraction, Mapping[tuple[Any, ...], Fraction]], ...]


@dataclass
class Values:
    """An instance being evaluated at a number of digits."""

    statement: Statement
    instance: Instance
    digits: int = 50
    drawn: dict[str, Mapping[tuple[Any, ...], Fraction]] = field(default_factory=dict)
    missing: tuple[str, tuple[Any, ...]] | None = None  # the first entry that does not exist
    expectations: dict[Any, Any] = field(default_factory=dict)

    # -------------------------------------------------------------- indices

    def index(self, i: Any, bound: tuple[Any, ...], local: Mapping[str, Any]) -> Any:
        """Return the value of an index: an integer, or a tuple on a flattened axis."""
        if i and i[0] == "pair":
            return (self.index(i[1], bound, local), self.index(i[2], bound, local))
        if len(i) == 1 and i[0][1] == 1 and len(i[0][0]) == 1:
            return self._atom(i[0][0][0], bound, local)
        total = 0
        for monomial, c in i:
            for a in monomial:
                c = c * self._atom(a, bound, local)
            total += c
        return total

    def _atom(self, a: Any, bound: tuple[Any, ...], local: Mapping[str, Any]) -> Any:
        if a[0] == "b":
            return bound[a[1]]
        if a[0] == "v":
            return local[a[1]] if a[1] in local else self.instance[a[1]]
        key = tuple(self.index(x, bound, local) for x in a[2])
        return self.instance[a[1]].get(key, 0)

    def axis(self, a: Any, bound: tuple[Any, ...], local: Mapping[str, Any]) -> list[Any]:
        """Return the indices of an axis in order."""
        if a[0] == "prod":
            return list(product(self.axis(a[1], bound, local), self.axis(a[2], bound, local)))
        lo, hi = self.index(a[1], bound, local), self.index(a[2], bound, local)
        return list(range(lo, hi + 1))

    def condition(self, c: Any, bound: tuple[Any, ...], local: Mapping[str, Any]) -> bool:
        """Tell whether a condition on indices holds."""
        match c[0]:
            case "ge":
                return bool(self.index(c[1], bound, local) >= 0)
            case "eq":
                return bool(self.index(c[1], bound, local) == 0)
            case "not":
                return not self.condition(c[1], bound, local)
            case "and":
                return all(self.condition(d, bound, local) for d in c[1:])
            case "or":
                return any(self.condition(d, bound, local) for d in c[1:])
        key = tuple(self.index(i, bound, local) for i in c[2])
        return bool(self.instance[c[1]].get(key, False))

    # -------------------------------------------------------------- reals

    def real(
        self, t: Any, bound: tuple[Any, ...] = (), local: Mapping[str, Any] | None = None
    ) -> Number:
        """Return the value of a term."""
        names = local or {}
        match t[0]:
            case "q":
                return Fraction(t[1], t[2])
            case "ix":
                return Fraction(self.index(t[1], bound, names))
            case "sym":
                return names[t[1]] if t[1] in names else self.instance[t[1]]
            case "ent":
                return self._entry(t, bound, names)
            case "add":
                total: Number = Fraction(0)
                for u in t[1:]:
                    total = _add(total, self.real(u, bound, names))
                return total
            case "mul":
                result: Number = Fraction(1)
                for u in t[1:]:
                    if result == 0:
                        return Fraction(0)  # what stands beside a failing guard is not looked at
                    result = _multiply(result, self.real(u, bound, names))
                return result
            case "pow":
                base = self.real(t[1], bound, names)
                return base ** t[2]
            case "inv":
                inner = self.real(t[1], bound, names)
                return Fraction(0) if inner == 0 else 1 / inner
            case "sum":
                total = Fraction(0)
                for i in self.axis(t[1], bound, names):
                    total = _add(total, self.real(t[2], (i, *bound), names))
                return total
            case "ind":
                return Fraction(int(self.condition(t[1], bound, names)))
            case "E":
                return self._expectation(t[1], bound, names)
            case "D":
                return self._derivative(t, bound, names)
            case "app":
                return self._defined(t, bound, names)
        return _function(t[0], self.real(t[1], bound, names))

    def _entry(self, t: Any, bound: tuple[Any, ...], local: Mapping[str, Any]) -> Number:
        key = tuple(self.index(i, bound, local) for i in t[2])
        if t[1] in local:
            return local[t[1]](key)
        table = self.drawn.get(t[1])
        if table is None:
            table = self.instance[t[1]]
        if isinstance(table, Law):
            raise AttnproofsError(f"a random entry of {t[1]} stands outside every expectation")
        if key not in table:
            self.missing = self.missing or (t[1], key)
            return Fraction(0)
        return table[key]

    def _expectation(self, t: Any, bound: tuple[Any, ...], local: Mapping[str, Any]) -> Number:
        # an expectation is a constant, also inside another one: Var x = E (x - E x)^2
        key = (t, bound, id(local), id(self.instance))
        if key in self.expectations:
            return self.expectations[key][0]
        names = [d.name for d in self.statement.declared if d.kind == "family"]
        laws = [self.instance[n].outcomes for n in names]
        before = self.drawn
        total: Number = Fraction(0)
        for outcome in product(*laws):
            weight = Fraction(1)
            for p, _ in outcome:
                weight *= p
            self.drawn = {n: values for n, (_, values) in zip(names, outcome)}
            total = _add(total, _multiply(weight, self.real(t, bound, local)))
        self.drawn = before
        self.expectations[key] = (
            total,
            local,
            self.instance,
        )  # kept alive, so that ids stay theirs
        return total

    def _derivative(self, t: Any, bound: tuple[Any, ...], local: Mapping[str, Any]) -> Number:
        target = t[1]
        with mpmath.workdps(3 * self.digits):
            h = mpmath.mpf(10) ** -self.digits
            sides = []
            for sign in (1, -1):
                sides.append(self._shifted(target, sign * h, t[2], bound, local))
            return (sides[0] - sides[1]) / (2 * h)

    def _shifted(
        self, target: Any, by: Number, t: Any, bound: tuple[Any, ...], local: Mapping[str, Any]
    ) -> Number:
        name = target[1]
        before = self.instance[name]
        if target[0] == "sym":
            self.instance = {**self.instance, name: _add(before, by)}
        else:
            key = tuple(self.index(i, bound, local) for i in target[2])
            self.instance = {**self.instance, name: {**before, key: _add(before[key], by)}}
        try:
            return as_mpf(self.real(t, bound, local))
        finally:
            self.instance = {**self.instance, name: before}

    def _defined(self, t: Any, bound: tuple[Any, ...], local: Mapping[str, Any]) -> Number:
        definition = self.statement.definition[t[1]]
        inner: dict[str, Any] = {}
        for parameter, argument in zip(definition.params, t[2]):
            inner[parameter[1]] = self._argument(argument, bound, local)
        for (name, _), i in zip(definition.indices, t[3]):
            inner[name] = self.index(i, bound, local)
        return self._body(definition, inner, t, bound, local)

    def _body(
        self,
        definition: Definition,
        inner: dict[str, Any],
        t: Any,
        bound: tuple[Any, ...],
        local: Mapping[str, Any],
    ) -> Number:
        term: Any = definition.body
        if definition.recursion is not None and inner[definition.recursion] <= 0:
            term = definition.base
        elif definition.recursion is not None:
            inner[definition.recursion] -= 1
        thunks = {n: v for n, v in inner.items() if isinstance(v, _Later)}
        for name, thunk in thunks.items():
            # a real argument may be random: below E it is evaluated anew for every outcome
            inner[name] = thunk
        return self._real_with_later(term, inner)

    def _real_with_later(self, t: Any, local: dict[str, Any]) -> Number:
        return self.real(t, (), _Forcing(local))

    def _argument(self, a: Any, bound: tuple[Any, ...], local: Mapping[str, Any]) -> Any:
        if a[0] == "int":
            return self.index(a[1], bound, local)
        if a[0] == "real":
            return _Later(lambda: self.real(a[1], bound, local))
        return lambda key: self.real(a[2], (*key, *bound), local)


class _Later:
    """A real argument, evaluated when it is looked up."""

    def __init__(self, compute: Callable[[], Number]) -> None:
        self.compute = compute


class _Forcing(dict[str, Any]):
    """Local names whose real arguments are computed at every look-up."""

    def __getitem__(self, name: str) -> Any:
        value = super().__getitem__(name)
        return value.compute() if isinstance(value, _Later) else value


def as_mpf(x: Number) -> Any:
    """Return a number as one of mpmath, at the working precision."""
    return mpmath.mpf(x.numerator) / x.denominator if isinstance(x, Fraction) else x


def _add(a: Number, b: Number) -> Number:
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return a + b
    return as_mpf(a) + as_mpf(b)


def _multiply(a: Number, b: Number) -> Number:
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return a * b
    return as_mpf(a) * as_mpf(b)


def _function(name: str, x: Number) -> Number:
    match name:
        case "abs":
            return abs(x)
        case "exp":
            return Fraction(1) if x == 0 else mpmath.exp(as_mpf(x))
        case "log":
            return Fraction(0) if x <= 0 or x == 1 else mpmath.log(as_mpf(x))
        case _:
            return Fraction(0) if x <= 0 else mpmath.sqrt(as_mpf(x))


# ---------------------------------------------------------------------- instances


def draw(
    statement: Statement,
    seed: int | str,
    given: Callable[[random.Random], Instance] | None = None,
    *,
    ignore_hypotheses: bool = False,
    beyond: tuple[int, ...] | None = None,
) -> Instance:
    """Return a random small instance that meets the hypotheses.

    Parameters
    ----------
    statement
        Its declarations say what is needed.
    seed
        The same seed gives the same instance.
    given
        Values that are not to be drawn (or that random drawing would hardly find); a tensor may
        be given as nested lists, the first entry at index 1.
    ignore_hypotheses
        Whether any instance will do.
    beyond
        By how much each dimension exceeds its least value; entries are then small integers. Left
        out: random dimensions up to 3, and random fractions.

    Raises
    ------
    NoInstance
        When none was found; the message names the hypothesis that failed most often.
    """
    rng = random.Random(f"{statement.name}:{seed}")
    failures: dict[str, int] = {}
    for attempt in range(_TRIES if beyond is None else _TRIES_WHEN_SMALL):
        fixed = {n: _table(v) for n, v in given(rng).items()} if given is not None else {}
        values = _draw_once(statement, rng, fixed, attempt, beyond)
        if values is None:
            failures["an empty range"] = failures.get("an empty range", 0) + 1
            continue
        failed = None if ignore_hypotheses else first_failure(statement, values)
        if failed is None:
            return values
        failures[failed] = failures.get(failed, 0) + 1
    worst = max(failures, key=lambda k: failures[k])
    raise NoInstance(
        f"{statement.name}: no random instance meets the hypotheses (mostly: {worst}); "
        "give the part an `instance`"
    )


def _table(value: Any) -> Any:
    """Return a given value as instances hold it: nested lists are tables with indices from 1."""
    if not isinstance(value, list):
        return value
    flat: dict[tuple[Any, ...], Any] = {}
    for k, row in enumerate(value, 1):
        inner = _table(row)
        if isinstance(inner, dict):
            flat.update({(k, *rest): x for rest, x in inner.items()})
        else:
            flat[k,] = inner
    return flat


def _draw_once(
    statement: Statement,
    rng: random.Random,
    fixed: Instance,
    attempt: int,
    beyond: tuple[int, ...] | None,
) -> Instance | None:
    values: Instance = {}
    look = Values(statement, values)
    number = _rational if beyond is None else _small
    sizes = iter(beyond or ())
    for d in statement.declared:
        if d.kind == "dimension":
            size = d.least + next(sizes) if beyond is not None else rng.randint(d.least, 3)
            values[d.name] = fixed.get(d.name, size)
    _solve_dimensions(statement, values, fixed)
    for d in statement.declared:
        if d.kind == "dimension":
            continue
        if d.name in fixed:
            values[d.name] = fixed[d.name]
            continue
        places = list(product(*(look.axis(a, (), {}) for a in d.axes)))
        match d.kind:
            case "index":
                if not places:
                    return None
                values[d.name] = rng.choice(places)[0]
            case "scalar":
                values[d.name] = number(rng)
            case "tensor":
                values[d.name] = {p: number(rng) for p in places}
            case "predicate":
                values[d.name] = {p: rng.random() < 0.6 for p in places}
            case "function":
                table = _function_table(look, d, places, rng)
                if table is None:
                    return None
                values[d.name] = table
            case "family":
                values[d.name] = _law(d, places, rng, attempt)
    with mpmath.workdps(_DIGITS_DRAWN):
        _solve_equalities(statement, look)
    return values


def _rational(rng: random.Random) -> Fraction:
    return Fraction(rng.randint(-6, 6), rng.choice((1, 1, 2, 3)))


def _small(rng: random.Random) -> Fraction:
    return Fraction(rng.choice((-2, -1, 1, 2, 3)))


def _function_table(
    look: Values, d: Declared, places: list[tuple[Any, ...]], rng: random.Random
) -> dict[tuple[Any, ...], Any] | None:
    table: dict[tuple[Any, ...], Any] = {}
    for p in places:
        choices = list(range(4)) if d.codomain is None else look.axis(d.codomain, p, {})
        if not choices:
            return None
        table[p] = rng.choice(choices)
    return table


def _law(d: Declared, places: list[tuple[Any, ...]], rng: random.Random, attempt: int) -> Law:
    """Return a finite law. Later attempts are centred, and then also of variance one."""
    # -2 with probability 1/5 and 1/2 with probability 4/5: mean 0, variance 1, not symmetric
    standard = ((Fraction(1, 5), Fraction(-2)), (Fraction(4, 5), Fraction(1, 2)))
    style = attempt % 3
    if style == 2 or d.independent:
        single = standard if style else tuple((Fraction(1, 2), _rational(rng)) for _ in range(2))
        if len(single) ** len(places) > _MOST_OUTCOMES:
            raise NoInstance(f"{d.name} has too many components to enumerate its law")
        outcomes = []
        for choice in product(single, repeat=len(places)):
            weight = Fraction(1)
            for p, _ in choice:
                weight *= p
            outcomes.append((weight, {place: v for place, (_, v) in zip(places, choice)}))
        return Law(tuple(outcomes))
    first = {p: _rational(rng) for p in places}
    second = {p: -v for p, v in first.items()} if style else {p: _rational(rng) for p in places}
    return Law(((Fraction(1, 2), first), (Fraction(1, 2), second)))


def _solve_dimensions(statement: Statement, values: Instance, fixed: Instance) -> None:
    """Meet index equations such as ``H d_v = d_model`` by giving the lone dimension its value."""
    look = Values(statement, values)
    for h in statement.hypotheses:
        if h.condition is None or h.condition[0] != "eq" or h.forall:
            continue
        p = h.condition[1]
        for monomial, c in p:
            name = monomial[0][1] if len(monomial) == 1 and monomial[0][0] == "v" else None
            if name is None or abs(c) != 1 or name in fixed or name not in values:
                continue
            if statement.symbol[name].kind != "dimension":
                continue
            others = [q for q in p if q[0] != monomial]
            if any(a[0] != "v" or a[1] not in values for m, _ in others for a in m):
                continue
            solved = -c * look.index(tuple(others), (), {})
            if solved >= statement.symbol[name].least:
                values[name] = solved
                break


def _solve_equalities(statement: Statement, look: Values) -> None:
    """Meet equations between reals whose one side is a bare entry or scalar, by assignment."""
    for h in statement.hypotheses:
        if h.relation != "=" or h.lhs is None or h.rhs is None:
            continue
        for bare, other in ((h.lhs, h.rhs), (h.rhs, h.lhs)):
            if bare[0] not in ("ent", "sym") or other[0] == "E":
                continue
            if statement.symbol[bare[1]].kind not in ("tensor", "scalar"):
                continue
            for local in _cases(look, h):
                value = look.real(other, (), local)
                if bare[0] == "sym":
                    look.instance[bare[1]] = value
                else:
                    key = tuple(look.index(i, (), local) for i in bare[2])
                    if key in look.instance[bare[1]]:
                        look.instance[bare[1]][key] = value
            break


def _cases(look: Values, h: Hypothesis) -> Iterator[dict[str, Any]]:
    """Yield the values of a hypothesis's quantified indices for which its conditions hold."""

    def extend(k: int, local: dict[str, Any]) -> Iterator[dict[str, Any]]:
        if k == len(h.forall):
            if all(look.condition(c, (), local) for c in h.conditions):
                yield dict(local)
            return
        name, axis = h.forall[k]
        for i in look.axis(axis, (), local):
            yield from extend(k + 1, {**local, name: i})

    yield from extend(0, {})


def first_failure(statement: Statement, values: Instance, digits: int = 30) -> str | None:
    """Return the name of the first hypothesis that an instance does not meet, or None."""
    look = Values(statement, values, digits)
    for h in statement.hypotheses:
        for local in _cases(look, h):
            if h.condition is not None:
                holds = look.condition(h.condition, (), local)
            else:
                with mpmath.workdps(digits + 10):
                    lhs, rhs = look.real(h.lhs, (), local), look.real(h.rhs, (), local)
                    holds = related(str(h.relation), lhs, rhs, digits)
            if not holds:
                return h.name
    return None


# ---------------------------------------------------------------------- verdicts


def related(relation: str, lhs: Number, rhs: Number, digits: int) -> bool:
    """Tell whether two values are related, to `digits` digits when they are not exact."""
    exact = isinstance(lhs, Fraction) and isinstance(rhs, Fraction)
    if exact:
        return bool(
            lhs == rhs if relation == "=" else lhs <= rhs if relation == "<=" else lhs < rhs
        )
    a, b = as_mpf(lhs), as_mpf(rhs)
    slack = mpmath.mpf(10) ** (-digits) * max(1, abs(a), abs(b))
    if relation == "=":
        return bool(abs(a - b) <= slack)
    return bool(a <= b + slack) if relation == "<=" else bool(a < b)


@dataclass(frozen=True)
class Sample:
    """A claim evaluated at one instance."""

    instance: Instance
    lhs: Number
    rhs: Number
    holds: bool
    missing: tuple[str, tuple[Any, ...]] | None

    @property
    def out_of_range(self) -> bool:
        """Whether an entry was asked for that does not exist (it counted as 0)."""
        return self.missing is not None


def sample(
    statement: Statement,
    seed: int | str,
    *,
    digits: int = 50,
    given: Callable[[random.Random], Instance] | None = None,
) -> Sample:
    """Evaluate a statement's claim at a random instance; see `draw`."""
    return evaluate(statement, draw(statement, seed, given), digits=digits)


def evaluate(statement: Statement, values: Instance, *, digits: int = 50) -> Sample:
    """Evaluate a statement's claim at an instance.

    For a factorisation `lhs` is the exact rank of the matrix and `rhs` the bound; for a shape both
    are the number of entries.
    """
    claim = statement.claim
    look = Values(statement, dict(values), digits)
    with mpmath.workdps(digits + 15):
        if claim.relation == "factors":
            lhs, rhs = _ranks(look, statement)
            return Sample(values, lhs, rhs, lhs <= rhs, look.missing)
        if claim.relation == "shape":
            places = list(product(*(look.axis(a, (), {}) for a in claim.axes)))
            for p in places:
                look.real(claim.lhs[2], p)
            count = Fraction(len(places))
            return Sample(values, count, count, look.missing is None, look.missing)
        lhs, rhs = look.real(claim.lhs), look.real(claim.rhs)
        holds = related(claim.relation, lhs, rhs, digits)
    return Sample(values, lhs, rhs, holds, look.missing)


def _ranks(look: Values, statement: Statement) -> tuple[Fraction, Fraction]:
    """Return the rank of the matrix and its bound.

    With a prescribed right factor B: the rank of B with the matrix's rows below it, and that of B,
    which are equal exactly if each row is a combination of rows of B.
    """
    claim = statement.claim
    rows = look.axis(statement.symbol[claim.row].axes[0], (), {})
    columns = look.axis(statement.symbol[claim.column].axes[0], (), {})
    inner = look.axis(claim.axis, (), {})
    matrix = [
        [look.real(claim.lhs, (), {claim.row: i, claim.column: j}) for j in columns] for i in rows
    ]
    if claim.rhs is None:
        return _rank(matrix), Fraction(len(inner))
    right = [[look.real(claim.rhs[2], (c, j)) for j in columns] for c in inner]
    return _rank([*right, *matrix]), _rank(right)


def _rank(rows: list[list[Number]]) -> Fraction:
    """Return the rank of a rational matrix, by exact elimination."""
    if not all(isinstance(x, Fraction) for row in rows for x in row):
        raise AttnproofsError("a rank is computed for rational entries only")
    matrix = [list(row) for row in rows]
    rank = 0
    for k in range(len(matrix[0]) if matrix else 0):
        pivot = next((r for r in range(rank, len(matrix)) if matrix[r][k] != 0), None)
        if pivot is None:
            continue
        matrix[rank], matrix[pivot] = matrix[pivot], matrix[rank]
        for r in range(rank + 1, len(matrix)):
            factor = matrix[r][k] / matrix[rank][k]
            matrix[r] = [x - factor * y for x, y in zip(matrix[r], matrix[rank])]
        rank += 1
    return Fraction(rank)


def describe(values: Instance) -> str:
    """Return an instance as one line of text."""
    parts = []
    for name, v in values.items():
        if isinstance(v, Law):
            parts.append(f"{name}: {len(v.outcomes)} outcomes")
        elif isinstance(v, dict):
            entries = ", ".join(
                f"{','.join(map(str, k))}: {_short(x)}" for k, x in sorted(v.items())
            )
            parts.append(f"{name} = {{{entries}}}")
        else:
            parts.append(f"{name} = {_short(v)}")
    return "; ".join(parts)


def _short(x: Any) -> str:
    if isinstance(x, (int, Fraction, bool)):
        return str(x)
    return str(mpmath.nstr(x, 8))
