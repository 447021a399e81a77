"""What is known at a position: index facts, hypotheses, and what they entail.

A `Context` is made by walking from the root of a term: the statement's declarations, the range of
every binder passed, and the condition of every indicator that stands as *another* factor of a
product passed. Entailment of index conditions is decided here (Fourier-Motzkin elimination over
the rationals, after adding one for integrality; products of two facts when the goal has products).
It can say yes only with a nonnegative combination of known facts, and may fail to see a truth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import gcd
from typing import Any, TypeAlias

from attnproofs.kernel import index as ix
from attnproofs.kernel.index import Axis, Cond, Index, Poly
from attnproofs.kernel.refused import Refused
from attnproofs.kernel.statement import Hypothesis, Statement
from attnproofs.kernel.terms import Term, symbols

Monomial: TypeAlias = tuple[ix.Atom, ...]

_MOST_INEQUALITIES = 600
_DEEPEST_INSTANCE = 3
_MOST_LOOKS = 300_000

# looks at terms since the step began: definitions and literal sums can unfold without end
_looks = [0]


def begin() -> None:
    """Begin to count the looks at terms anew, for the next step."""
    _looks[0] = 0


def spend() -> None:
    """Count one look at a term; refuse when a step asks for more than any honest one."""
    _looks[0] += 1
    if _looks[0] > _MOST_LOOKS:
        raise Refused("the terms unfold to more than this kernel is ready to look at")


class Context:
    """The declarations and facts in force at one position of a term. Never changed, only extended.

    Attributes
    ----------
    statement
        The declarations, hypotheses and definitions.
    facts
        Index conditions that hold here.
    relations
        Hypotheses between reals that may be used here (with the induction hypothesis and cited
        facts, when there are any).
    differentiated
        Names of the symbols with respect to which a derivative is taken around this position.
    random
        Whether the position is below an expectation.
    """

    __slots__ = (
        "_inner",
        "_known",
        "_polys",
        "accepted",
        "differentiated",
        "facts",
        "level",
        "parent",
        "random",
        "relations",
        "signs",
        "statement",
        "variables",
    )

    def __init__(
        self,
        statement: Statement,
        facts: tuple[Cond, ...],
        relations: tuple[Hypothesis, ...],
        *,
        parent: Context | None = None,
        variables: frozenset[str] = frozenset(),
        level: int = 0,
        differentiated: frozenset[str] = frozenset(),
        random: bool = False,
        known: dict[Any, bool] | None = None,
    ) -> None:
        self.statement = statement
        self.facts = facts
        self.relations = relations
        self.parent = parent
        self.variables = variables
        self.level = level
        self.differentiated = differentiated
        self.random = random
        # answers that are kept: entailments (they depend on the statement and the facts alone),
        # terms found well formed here, their signs, and the contexts reached from here
        self._known: dict[Any, bool] = {} if known is None else known
        self.accepted: set[Term] = set()
        self.signs: dict[Term, frozenset[int]] = {}
        self._inner: dict[Any, Context] = {}
        self._polys: dict[int, list[Poly]] = {}

    @classmethod
    def root(cls, statement: Statement, extra: tuple[Hypothesis, ...] = ()) -> Context:
        """Return the context of the statement itself."""
        facts: list[Cond] = []
        for d in statement.declared:
            if d.kind == "dimension":
                facts.append(ix.ge(ix.var(d.name), ix.const(d.least)))
            elif d.kind == "index":
                facts.extend(range_facts(ix.var(d.name), d.axes[0]))
        facts.extend(
            h.condition
            for h in statement.hypotheses
            if h.condition is not None and not h.forall and not h.conditions
        )
        relations = tuple(h for h in statement.hypotheses if h.relation is not None)
        return cls(statement, tuple(_split(facts)), relations + extra)

    def _with(self, **changes: Any) -> Context:
        values: dict[str, Any] = {
            "parent": self.parent,
            "variables": self.variables,
            "level": self.level,
            "differentiated": self.differentiated,
            "random": self.random,
            "known": None if "facts" in changes else self._known,
        }
        facts = changes.pop("facts", self.facts)
        relations = changes.pop("relations", self.relations)
        values.update(changes)
        return Context(self.statement, facts, relations, **values)

    def _once(self, key: Any, make: Callable[[], Context]) -> Context:
        """Return the context reached from here by `key`, made the first time."""
        found = self._inner.get(key)
        if found is None:
            found = self._inner[key] = make()
        return found

    def below(self, axis: Axis) -> tuple[Context, Index]:
        """Go below a binder over `axis`: return the context there and the index to open with."""
        names: list[str] = []

        def fresh(a: Axis) -> Index:
            if a[0] == "prod":
                return ("pair", fresh(a[1]), fresh(a[2]))
            names.append(f"%{self.level + len(names)}")
            return ix.var(names[-1])

        i = fresh(axis)

        def make() -> Context:
            return self._with(
                facts=self.facts + tuple(range_facts(i, axis)),
                parent=self,
                variables=frozenset(names),
                level=self.level + len(names),
            )

        return self._once(axis, make), i

    def given(self, conditions: Iterable[Cond]) -> Context:
        """Add conditions that hold at the position (guards)."""
        added = tuple(_split(conditions))
        if not added:
            return self
        return self._once(("given", added), lambda: self._with(facts=self.facts + added))

    def citing(self, relations: tuple[Hypothesis, ...]) -> Context:
        """Add relations between reals that have been established."""
        return self._with(relations=self.relations + relations) if relations else self

    def below_expectation(self) -> Context:
        """Go below E."""
        return self._once("E", lambda: self._with(random=True))

    def below_derivative(self, target: Term) -> Context:
        """Go below a derivative: a hypothesis about the symbol would have to hold nearby, too."""
        name = target[1]

        def make() -> Context:
            kept = tuple(h for h in self.relations if name not in _mentioned(h))
            return self._with(relations=kept, differentiated=self.differentiated | {name})

        return self._once(("D", name), make)

    def in_statement(self, statement: Statement) -> Context:
        """Return this context for a statement that declares more."""
        inner = self._with(known={})
        inner.statement = statement
        return inner

    def ranging(self, name: str, axis: Axis) -> Context:
        """Add that the index `name` lies in `axis`."""
        return self._with(facts=self.facts + tuple(range_facts(ix.var(name), axis)))

    def rooted(self) -> Context:
        """Return this context as an outermost one: `outermost_for` stops here."""
        if self.parent is None:
            return self
        return self._once("rooted", lambda: self._with(parent=None, variables=frozenset()))

    def without_relations(self) -> Context:
        """Return this context without its relations between reals."""
        return self._once("plain", lambda: self._with(relations=())) if self.relations else self

    def opened(self) -> set[str]:
        """Return the names of the indices that are open here."""
        names: set[str] = set()
        here: Context | None = self
        while here is not None:
            names |= here.variables
            here = here.parent
        return names

    def outermost_for(self, names: set[str]) -> Context:
        """Return the context outside all binders whose indices are not among `names`."""
        here = self
        while here.parent is not None and not (here.variables & names):
            here = here.parent
        return here

    # ------------------------------------------------------------------ entailment

    def holds(self, c: Cond, depth: int = 0) -> bool:
        """Tell whether the known facts entail the condition `c`."""
        key = (c, depth)
        if key not in self._known:
            self._known[key] = self._holds(c, depth)
        return self._known[key]

    def _holds(self, c: Cond, depth: int) -> bool:
        if c in self.facts:
            return True
        match c[0]:
            case "ge":
                return self._nonnegative(c[1], depth)
            case "eq":
                return not c[1] or (
                    self._nonnegative(c[1], depth) and self._nonnegative(ix.scale(-1, c[1]), depth)
                )
            case "and":
                return self.holds(c[1], depth) and self.holds(c[2], depth)
            case "or":
                return self.holds(c[1], depth) or self.holds(c[2], depth)
            case "not":
                return self._fails(c[1], depth)
            case _:
                return self._by_hypothesis(c, depth) or self.absurd(depth)

    def _fails(self, c: Cond, depth: int) -> bool:
        match c[0]:
            case "ge":
                return self._nonnegative(ix.sub(ix.scale(-1, c[1]), ix.ONE), depth)
            case "eq":
                return (
                    self._nonnegative(ix.sub(c[1], ix.ONE), depth)
                    or self._nonnegative(ix.sub(ix.scale(-1, c[1]), ix.ONE), depth)
                    or self._by_hypothesis(("not", c), depth)
                )
            case "and":
                return self.holds(("not", c[1]), depth) or self.holds(("not", c[2]), depth)
            case "or":
                return self.holds(("not", c[1]), depth) and self.holds(("not", c[2]), depth)
            case "not":
                return self.holds(c[1], depth)
            case _:
                return self._by_hypothesis(("not", c), depth) or self.absurd(depth)

    def absurd(self, depth: int = 0) -> bool:
        """Tell whether the known facts contradict each other, so that nothing is left to prove."""
        key = ("absurd", depth)
        if key not in self._known:
            self._known[key] = self._nonnegative(ix.const(-1), depth, everything=True)
        return self._known[key]

    def in_axis(self, i: Index, axis: Axis) -> str:
        """Return "" when the index `i` is shown to lie in `axis`, else what is missing."""
        if axis[0] == "prod":
            if not ix.is_pair(i):
                return "an index pair (h, r) is needed on a flattened axis"
            return self.in_axis(i[1], axis[1]) or self.in_axis(i[2], axis[2])
        if ix.is_pair(i):
            return "an index pair stands on an axis that is not flattened"
        if not self.holds(ix.ge(i, axis[1])):
            return f"cannot show {show_index(axis[1])} <= {show_index(i)}"
        if not self.holds(ix.ge(axis[2], i)):
            return f"cannot show {show_index(i)} <= {show_index(axis[2])}"
        return ""

    def _nonnegative(self, p: Poly, depth: int, *, everything: bool = False) -> bool:
        value = ix.as_const(p)
        if value is not None and value >= 0:
            return True
        base = self._base(depth)
        if not everything and _at_once(base, p):
            return True
        known = self._linear_facts(base, p, depth)
        if len(known) > len(base) and not everything and _at_once(known, p):
            return True
        goal = ix.sub(ix.scale(-1, p), ix.ONE)
        if _contradictory(known, goal, everything):
            return True
        has_products = any(len(m) > 1 for q in (*known, p) for m, _ in q)
        if not has_products:
            return False
        relevant = _connected(known, goal, everything=True)
        products = [ix.mul(a, b) for k, a in enumerate(relevant) for b in relevant[k:]]
        return _contradictory([*known, *products], goal, everything)

    def _base(self, depth: int) -> list[Poly]:
        """Return the facts as polynomials that are not negative."""
        if depth not in self._polys:
            self._polys[depth] = [q for c in self.facts for q in self._as_nonnegative(c, depth)]
        return self._polys[depth]

    def _linear_facts(self, base: list[Poly], p: Poly, depth: int) -> list[Poly]:
        """Return polynomials known to be nonnegative.

        To the facts come those about the index functions in them and in `p`: their codomains, and
        instances of the hypotheses. Functions that only those instances mention get their
        codomains, and no instances of their own, so that this ends.
        """
        near = _functions([p, *base])
        if not near:
            return base
        found = list(base)
        for a in sorted(near):
            conditions = [*self._codomain_facts(a, depth)]
            if depth == 0:
                conditions += self._hypothesis_facts(a, depth)
            found += [q for c in conditions for q in self._as_nonnegative(c, depth)]
        for a in sorted(_functions(found) - near):
            found += [
                q for c in self._codomain_facts(a, depth) for q in self._as_nonnegative(c, depth)
            ]
        return found

    def _as_nonnegative(self, c: Cond, depth: int) -> Iterator[Poly]:
        match c[0]:
            case "ge":
                yield c[1]
            case "eq":
                yield c[1]
                yield ix.scale(-1, c[1])
            case "not" if c[1][0] == "ge":
                yield ix.sub(ix.scale(-1, c[1][1]), ix.ONE)
            case "not" if c[1][0] == "eq" and depth < _DEEPEST_INSTANCE:
                # integrality: from p != 0 and p >= 0 follows p >= 1 (and mirrored)
                without = self._with(facts=tuple(f for f in self.facts if f != c))
                for p in (c[1][1], ix.scale(-1, c[1][1])):
                    if without._nonnegative(p, depth + 1):
                        yield ix.sub(p, ix.ONE)

    def _codomain_facts(self, a: ix.Atom, depth: int) -> Iterator[Cond]:
        """Yield what the declaration says about an index function's value."""
        declared = self.statement.symbol.get(a[1])
        if depth >= _DEEPEST_INSTANCE or declared is None or declared.codomain is None:
            return
        if all(self._in(i, axis, depth + 1) for i, axis in zip(a[2], declared.axes)):
            yield from range_facts(
                ix.atom(a),
                ix.axis_substitute(
                    declared.codomain, lambda b: a[2][b[1]] if b[0] == "b" else None
                ),
            )

    def _hypothesis_facts(self, a: ix.Atom, depth: int) -> Iterator[Cond]:
        """Yield the instances of hypotheses that speak of an index function's value."""
        for h in self.statement.hypotheses:
            if h.condition is None or not h.forall:
                continue
            names = frozenset(n for n, _ in h.forall)
            for pattern in _function_atoms(h.condition):
                binding: dict[str, Index] = {}
                matched = match_atom(pattern, a, names, binding) and len(binding) == len(names)
                if matched and self._applies(h, binding, depth + 1):
                    yield from _split([_bind(h.condition, binding)])

    def _in(self, i: Index, axis: Axis, depth: int) -> bool:
        return all(self.holds(c, depth) for c in range_facts(i, axis))

    def _applies(self, h: Hypothesis, binding: dict[str, Index], depth: int) -> bool:
        return all(
            self._in(binding[n], bind_axis(axis, binding), depth) for n, axis in h.forall
        ) and all(self.holds(_bind(c, binding), depth) for c in h.conditions)

    def _by_hypothesis(self, c: Cond, depth: int) -> bool:
        """Find a quantified index hypothesis of which the condition `c` is an instance."""
        if depth >= _DEEPEST_INSTANCE:
            return False
        for h in self.statement.hypotheses:
            if h.condition is None:
                continue
            names = frozenset(n for n, _ in h.forall)
            for conclusion in _split([h.condition]):
                binding: dict[str, Index] = {}
                matched = match_cond(conclusion, c, names, binding) and len(binding) == len(names)
                if matched and self._applies(h, binding, depth + 1):
                    return True
        return False


def _functions(polys: Iterable[Poly]) -> set[ix.Atom]:
    return {a for q in polys for a in ix.atoms(q) if a[0] == "f"}


def range_facts(i: Index, axis: Axis) -> Iterator[Cond]:
    """Yield the conditions that say that the index `i` lies in `axis`."""
    if axis[0] == "prod":
        if not ix.is_pair(i):
            raise Refused("a flattened axis has index pairs")
        yield from range_facts(i[1], axis[1])
        yield from range_facts(i[2], axis[2])
        return
    if ix.is_pair(i):
        raise Refused("an index pair stands on an axis that is not flattened")
    yield ix.ge(i, axis[1])
    yield ix.ge(axis[2], i)


def _split(conditions: Iterable[Cond]) -> Iterator[Cond]:
    for c in conditions:
        match c:
            case ("and", d, e):
                yield from _split([d, e])
            case ("not", ("or", d, e)):
                yield from _split([("not", d), ("not", e)])
            case ("not", ("not", d)):
                yield from _split([d])
            case _:
                yield c


def _mentioned(h: Hypothesis) -> set[str]:
    return symbols(h.lhs or ("q", 0, 1)) | symbols(h.rhs or ("q", 0, 1))


def _bind(c: Cond, binding: dict[str, Index]) -> Cond:
    return ix.cond_substitute(c, lambda a: binding.get(a[1]) if a[0] == "v" else None)


def bind_axis(axis: Axis, binding: dict[str, Index]) -> Axis:
    """Replace bound names in an axis."""
    return ix.axis_substitute(axis, lambda a: binding.get(a[1]) if a[0] == "v" else None)


def _function_atoms(c: Cond) -> list[ix.Atom]:
    match c[0]:
        case "ge" | "eq":
            found = ix.atoms(c[1])
        case "pred":
            found = {a for i in c[2] if not ix.is_pair(i) for a in ix.atoms(i)}
        case "not":
            return _function_atoms(c[1])
        case _:
            return _function_atoms(c[1]) + _function_atoms(c[2])
    return sorted(a for a in found if a[0] == "f")


# ---------------------------------------------------------------------- matching (one way)


def match_index(
    pattern: Index, target: Index, names: frozenset[str], binding: dict[str, Index]
) -> bool:
    """Match an index against a pattern in which the variables `names` may be bound."""
    if ix.is_pair(pattern):
        return (
            ix.is_pair(target)
            and match_index(pattern[1], target[1], names, binding)
            and match_index(pattern[2], target[2], names, binding)
        )
    alone = ix.as_atom(pattern)
    if alone is not None and alone[0] == "v" and alone[1] in names:
        if alone[1] in binding:
            return binding[alone[1]] == target
        if mentions_bound(target):
            return False
        binding[alone[1]] = target
        return True
    if alone is not None and alone[0] == "f" and not ix.is_pair(target):
        other = ix.as_atom(target)
        return other is not None and match_atom(alone, other, names, binding)
    mentioned = {a[1] for a in ix.atoms(pattern) if a[0] == "v"} & names
    if len(mentioned - binding.keys()) == 1 and not mentions_bound(target):
        # a pattern such as k + 1: solve for the one variable that is left
        (name,) = mentioned - binding.keys()
        rest = ix.sub(ix.substitute(pattern, _values(binding)), ix.var(name))
        if not ix.is_pair(target) and name not in {a[1] for a in ix.atoms(rest) if a[0] == "v"}:
            binding[name] = ix.sub(target, rest)
            return True
        return False
    return bool(ix.substitute(pattern, _values(binding)) == target)


def mentions_bound(i: Index) -> bool:
    """Tell whether an index mentions one that is bound around it."""
    if ix.is_pair(i):
        return mentions_bound(i[1]) or mentions_bound(i[2])
    return any(a[0] == "b" for a in ix.atoms(i))


def _values(binding: dict[str, Index]) -> Callable[[ix.Atom], Index | None]:
    return lambda a: binding.get(a[1]) if a[0] == "v" else None


def match_atom(
    pattern: ix.Atom, target: ix.Atom, names: frozenset[str], binding: dict[str, Index]
) -> bool:
    """Match an index function's value against a pattern."""
    if pattern[:2] != target[:2] or pattern[0] != "f" or len(pattern[2]) != len(target[2]):
        return False
    return all(match_index(p, t, names, binding) for p, t in zip(pattern[2], target[2]))


def match_cond(
    pattern: Cond, target: Cond, names: frozenset[str], binding: dict[str, Index]
) -> bool:
    """Match a condition against a pattern."""
    if pattern[0] != target[0]:
        return False
    match pattern[0]:
        case "pred":
            return (
                pattern[1] == target[1]
                and len(pattern[2]) == len(target[2])
                and all(match_index(p, t, names, binding) for p, t in zip(pattern[2], target[2]))
            )
        case "ge" | "eq":
            return match_index(pattern[1], target[1], names, binding)
        case _:
            return len(pattern) == len(target) and all(
                match_cond(p, t, names, binding) for p, t in zip(pattern[1:], target[1:])
            )


# ---------------------------------------------------------------------- linear arithmetic


def _connected(known: list[Poly], goal: Poly, *, everything: bool) -> list[Poly]:
    """Return the facts that share a monomial with the goal, directly or through others."""
    if everything:
        return list(dict.fromkeys(known))
    reached = {m for m, _ in goal if m}
    chosen: dict[Poly, None] = {}
    grew = True
    while grew:
        grew = False
        for q in known:
            monomials = {m for m, _ in q if m}
            if q not in chosen and (monomials & reached or not monomials):
                chosen[q] = None
                reached |= monomials
                grew = True
    return list(chosen)


def _at_once(known: list[Poly], p: Poly) -> bool:
    """Tell whether p is one fact, or the sum of two, plus a number that is not negative."""
    least: dict[Poly, int] = {}  # of facts that differ by a number, the strongest
    for q in known:
        moving, number = _parted(q)
        least[moving] = min(number, least.get(moving, number))
    moving, number = _parted(p)
    if moving in least and number >= least[moving]:
        return True
    for q in known:
        moving, number = _parted(ix.sub(p, q))
        if not moving and number >= 0:
            return True
        if moving in least and number >= least[moving]:
            return True
    return False


def _parted(p: Poly) -> tuple[Poly, int]:
    """Return what depends on atoms, and the number beside it (the empty monomial sorts first)."""
    return (p[1:], p[0][1]) if p and not p[0][0] else (p, 0)


def _contradictory(known: list[Poly], goal: Poly, everything: bool) -> bool:
    """Tell whether ``goal >= 0`` and ``q >= 0`` for all known q cannot hold together."""
    rows = [dict(q) for q in [*_connected(known, goal, everything=everything), goal]]
    while True:
        if any(not any(r) and r.get((), 0) < 0 for r in rows):
            return True
        rows = [r for r in rows if any(r)]
        counts: dict[Monomial, list[int]] = {}
        for r in rows:
            for m, c in r.items():
                if m:
                    counts.setdefault(m, [0, 0])[c < 0] += 1
        if not counts:
            return False
        m = min(counts, key=lambda k: (counts[k][0] * counts[k][1], k))
        up = [r for r in rows if r.get(m, 0) > 0]
        down = [r for r in rows if r.get(m, 0) < 0]
        rest = [r for r in rows if m not in r]
        if not up or not down:
            rows = rest  # m can be as large or as small as needed: its inequalities say nothing
            continue
        if len(up) * len(down) + len(rest) > _MOST_INEQUALITIES:
            return False
        seen = {frozenset(r.items()) for r in rest}
        for a in up:
            for b in down:
                r = _eliminate(a, b, m)
                key = frozenset(r.items())
                if key not in seen:
                    seen.add(key)
                    rest.append(r)
        rows = rest


def _eliminate(a: dict[Monomial, int], b: dict[Monomial, int], m: Monomial) -> dict[Monomial, int]:
    """Add positive multiples of two inequalities so that m cancels."""
    x, y = -b[m], a[m]
    total = {k: x * c for k, c in a.items()}
    for k, c in b.items():
        total[k] = total.get(k, 0) + y * c
    shared = gcd(*total.values()) or 1
    return {k: c // shared for k, c in total.items() if c}


# ---------------------------------------------------------------------- showing indices


def show_index(i: Index) -> str:
    """Return a short text of an index for messages."""
    if ix.is_pair(i):
        return f"({show_index(i[1])},{show_index(i[2])})"
    if not i:
        return "0"
    parts: list[str] = []
    for monomial, c in reversed(i):
        factors = "*".join(_show_atom(a) for a in monomial)
        text = (
            factors if abs(c) == 1 and factors else "*".join(x for x in (str(abs(c)), factors) if x)
        )
        parts.append(("-" if c < 0 else "+") + text)
    joined = "".join(parts)
    return joined[1:] if joined[0] == "+" else joined


def _show_atom(a: ix.Atom) -> str:
    if a[0] == "f":
        return f"{a[1]}({','.join(show_index(i) for i in a[2])})"
    return str(a[1]) if a[0] == "v" else f"#{a[1]}"
