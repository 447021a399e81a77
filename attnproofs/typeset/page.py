"""What a theorem's page shows, in every format: built once from the checked object.

Nothing here is typed by hand or derived a second time: statement, lines and reasons are those of
the proof that the kernel accepted, what it rests on comes from the replay, the counterexamples from
evaluation. Formulas stay terms until a format asks for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from attnproofs.calculus.theorem import FalseNeighbour, Part, Theorem
from attnproofs.kernel import index as ix
from attnproofs.kernel.statement import Claim, Declared, Definition, Hypothesis, Statement
from attnproofs.kernel.terms import Term, abstract, substitute
from attnproofs.typeset.printer import Printer
from attnproofs.typeset.symbols import definition_printer, printer

if TYPE_CHECKING:
    from attnproofs.calculus.evaluate import Sample
    from attnproofs.typeset.records import FalseRecord, PartRecord

Text = Mapping[str, str]


@dataclass(frozen=True)
class Formula:
    """A formula that is written when a notation is known."""

    printer: Callable[[str], Printer]
    write: Callable[[Printer], str]

    def to(self, notation: str) -> str:
        """Return the formula in ``latex``, ``text`` or ``mathml``."""
        return self.write(self.printer(notation))


@dataclass(frozen=True)
class Written:
    """A formula that has been written in every notation already."""

    in_notation: Mapping[str, str]

    def to(self, notation: str) -> str:
        """Return the formula in ``latex``, ``text`` or ``mathml``."""
        return self.in_notation[notation]


@dataclass(frozen=True)
class Assumption:
    """One row of the hypotheses: what kind (a key of the words), and the formulas."""

    kind: str
    formulas: tuple[Formula, ...]


@dataclass(frozen=True)
class Step:
    """One line of a derivation. `number` is None for its first line."""

    number: int | None
    relation: str
    formula: Formula
    reasons: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Derivation:
    """A chain of steps; `title` is "" or the part of an induction (``base``, ``step``)."""

    title: str
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class PartPage:
    """One statement with its derivations."""

    name: str
    title: Text
    assumptions: tuple[Assumption, ...]
    claim: Formula
    derivations: tuple[Derivation, ...]
    digest: str
    uses: tuple[str, ...]
    definitions: tuple[str, ...]
    symbols: tuple[tuple[str, str, Formula], ...]  # kind, name, shape


@dataclass(frozen=True)
class FalsePage:
    """A false neighbour: the claim, the values that refute it, and the kernel's refusal.

    `without` and `changed` say how its hypotheses differ from those of the theorem. `sides` are the
    values of what `labels` name (keys of the words). A claim that is not well formed has no sides;
    `misfit` then is an array with its sizes and an entry that it does not have.
    """

    title: Text
    claim: Formula
    without: tuple[Assumption, ...]
    changed: tuple[Assumption, ...]
    values: tuple[Written, ...]
    labels: tuple[str, str]
    sides: tuple[Written, ...]
    misfit: tuple[Written, ...]
    refusal: str


@dataclass(frozen=True)
class Page:
    """Everything on a theorem's page."""

    id: str
    chapter: str
    title: Text
    prose: Text
    numbers: Text
    evidence: str
    lemma: bool
    parts: tuple[PartPage, ...]
    false: tuple[FalsePage, ...]
    axioms: tuple[str, ...]
    uses: tuple[str, ...]
    references: tuple[str, ...]
    definitions: tuple[str, ...]
    steps: int


def page(theorem: Theorem) -> Page:
    """Build the page of `theorem` from the record of its proof (made now if there is none)."""
    from attnproofs.typeset.records import record_of

    record = record_of(theorem)
    parts = tuple(_part(part, r) for part, r in zip(theorem.parts, record.parts, strict=True))
    uses = dict.fromkeys(u.split(".")[0] for p in parts for u in p.uses)
    return Page(
        id=theorem.id,
        chapter=theorem.chapter,
        title=theorem.title,
        prose=theorem.prose,
        numbers=theorem.numbers,
        evidence="proved",
        lemma=theorem.lemma,
        parts=parts,
        false=tuple(
            _false(n, r, record.parts[0].statement)
            for n, r in zip(theorem.false_neighbours, record.false, strict=True)
        ),
        axioms=record.axioms,
        uses=tuple(u for u in uses if u != theorem.id),
        references=theorem.references,
        definitions=tuple(dict.fromkeys(d for p in parts for d in p.definitions)),
        steps=record.steps,
    )


def _part(part: Part, record: PartRecord) -> PartPage:
    statement = record.statement
    cited = frozenset(
        of
        for shown in record.shown
        for line in shown.lines
        for rule, of in line.reasons
        if rule == "hyp"
    )
    derivations = []
    for shown in record.shown:
        inner = shown.statement
        steps = [Step(None, "", _term(inner, shown.start), ())]
        for line in shown.lines:
            step = Step(len(steps), line.relation, _term(inner, line.term), line.reasons)
            steps[-1:] = _joined(steps[-1], step)
        derivations.append(Derivation(shown.title, tuple(steps)))
    return PartPage(
        name=part.name,
        title=part.title,
        assumptions=_assumptions(statement, cited),
        claim=claim_formula(statement),
        derivations=tuple(derivations),
        digest=statement.digest,
        uses=record.uses,
        definitions=tuple(d.name for d in statement.definitions),
        symbols=tuple(
            (_KINDS[d.kind, d.independent], d.name, _formula(statement, partial(_axes, d)))
            for d in statement.declared
        ),
    )


def _joined(before: Step, step: Step) -> tuple[Step, ...]:
    """Return both lines, or one with the reasons of both when they look the same.

    Terms that differ only in how a product is grouped do; so does a step that changes nothing.
    """
    if (
        before.number is None
        or step.relation != "="
        or step.formula.to("latex") != before.formula.to("latex")
    ):
        return before, step
    return (replace(before, reasons=tuple(dict.fromkeys((*before.reasons, *step.reasons)))),)


def _false(neighbour: FalseNeighbour, record: FalseRecord, main: Statement) -> FalsePage:
    without, changed = _differences(record.statement, main)
    return FalsePage(
        title=neighbour.title,
        claim=claim_formula(record.statement),
        without=without,
        changed=changed,
        values=tuple(Written(v) for v in record.values),
        labels=_labels(record.statement),
        sides=tuple(Written(v) for v in record.sides),
        misfit=tuple(Written(v) for v in record.misfit),
        refusal=record.refusal,
    )


def _labels(statement: Statement) -> tuple[str, str]:
    """Return what the two values of a claim are (keys of the words)."""
    if statement.claim.relation != "factors":
        return "left", "right"
    return ("rank", "bound") if statement.claim.rhs is None else ("rank_joint", "rank_alone")


def _differences(
    false: Statement, main: Statement
) -> tuple[tuple[Assumption, ...], tuple[Assumption, ...]]:
    """Return what a false neighbour does not assume, and what it assumes otherwise or besides.

    Left out are hypotheses of the theorem about symbols that the neighbour does not have.
    """
    theirs = {_content(h) for h in main.hypotheses}
    ours = {_content(h) for h in false.hypotheses}
    other = [h for h in false.hypotheses if _content(h) not in theirs]
    replaced = {h.name for h in other}
    foreign = {d.name for d in main.declared} - {d.name for d in false.declared}
    dropped = [
        h
        for h in main.hypotheses
        if _content(h) not in ours and h.name not in replaced and not _names(_content(h)) & foreign
    ]
    gone = [g for g in main.independent if g not in false.independent and not set(g) & foreign]
    new = [d for d in false.declared if main.symbol.get(d.name) != d]
    groups = [g for g in false.independent if g not in main.independent]
    return _rows(main, (), gone, dropped), _rows(false, new, groups, other)


def _content(h: Hypothesis) -> tuple[Any, ...]:
    """Return what a hypothesis says, without its name."""
    return h.forall, h.conditions, h.relation, h.lhs, h.rhs, h.condition


def _names(x: Any) -> set[str]:
    """Return every text inside nested tuples."""
    if isinstance(x, tuple):
        return set().union(*map(_names, x))
    return {x} if isinstance(x, str) else set()


def _formula(statement: Statement, write: Callable[[Printer], str]) -> Formula:
    return Formula(lambda notation: printer(statement, notation), write)


def _term(statement: Statement, t: Term) -> Formula:
    if t[0] == "lam":
        return _formula(statement, lambda p: p.signed(p.argument(t, ())))
    return _formula(statement, lambda p: p.term(t))


def claim_formula(statement: Statement) -> Formula:
    """Return what a statement claims, as one formula."""
    claim = statement.claim
    if claim.relation == "shape":
        return _formula(statement, lambda p: _shape(p, claim.lhs, claim.axes))
    if claim.relation == "factors":
        return _formula(statement, lambda p: _rank(p, statement))
    rhs = claim.rhs
    assert rhs is not None  # the kernel's reader refuses such a claim
    return _formula(statement, lambda p: p.chain(claim.relation, claim.lhs, rhs))


def _shape(p: Printer, lam: Term, axes: tuple[ix.Axis, ...]) -> str:
    """Write ``shape(A) = m × n``."""
    array = p.to.fence("(", p.signed(p.argument(lam, ())), ")", False)
    return p.to.row(p.to.word("shape"), array, p.to.sign("="), sizes(p, axes))


def sizes(p: Printer, axes: tuple[ix.Axis, ...]) -> str:
    """Write the sizes of axes, ``m × n``; an axis that does not start at 1 as ``0:n``."""
    parts: list[str] = []
    for axis in axes:
        size = ix.axis_size(axis)
        text = p.index(size)
        shifted = axis[0] == "range" and axis[1] != ix.ONE
        if shifted:
            text = p.to.row(p.index(axis[1]), p.to.sign(":"), p.index(axis[2]))
        if len(axes) > 1 and (shifted or len(size) > 1):
            text = p.to.fence("(", text, ")", False)
        parts += [p.to.sign("×"), text] if parts else [text]
    return p.to.row(*parts)


def _rank(p: Printer, statement: Statement) -> str:
    """Write ``rank(M) <= r``, or that the rows of M lie in the row space of a matrix."""
    to, claim = p.to, statement.claim
    matrix = _matrix(p, claim)
    if claim.rhs is not None:
        of = to.fence("(", p.signed(p.argument(claim.rhs, ())), ")", False)
        return to.row(to.word("row space"), matrix, to.sign("⊆"), to.word("row space"), of)
    assert claim.axis is not None  # the kernel's reader refuses such a claim
    size = p.index(ix.axis_size(claim.axis))
    return to.row(to.word("rank"), matrix, to.sign("≤"), size)


def _matrix(p: Printer, claim: Claim) -> str:
    """Write the matrix of a claim in parentheses: ``(O W_O)``, or its entries ``((…)_{i,j})``."""
    to = p.to
    if claim.lhs[0] in ("ent", "app"):
        whole = ("lam", 2, abstract(claim.lhs, (ix.var(claim.row), ix.var(claim.column))))
        return to.fence("(", p.signed(p.argument(whole, ())), ")", False)
    inner = to.fence("(", p.term(claim.lhs), ")", to.stacked)
    places = to.row(to.name(claim.row), to.sign(","), to.name(claim.column))
    return to.fence("(", to.subscript(inner, places), ")", to.stacked)


def _assumptions(statement: Statement, cited: frozenset[str]) -> tuple[Assumption, ...]:
    """Return the rows of the hypotheses box; hypotheses that some line cites carry their names."""
    return _rows(statement, statement.declared, statement.independent, statement.hypotheses, cited)


def _rows(
    statement: Statement,
    declared: Iterable[Declared],
    independent: Iterable[tuple[str, ...]],
    hypotheses: Iterable[Hypothesis],
    cited: frozenset[str] = frozenset(),
) -> tuple[Assumption, ...]:
    """Return rows of formulas by kind, in a fixed order, empty rows left out."""
    rows: dict[str, list[Formula]] = {}

    def add(kind: str, write: Callable[[Printer], str]) -> None:
        rows.setdefault(kind, []).append(_formula(statement, write))

    for d in declared:
        add(_KINDS[d.kind, d.independent], partial(_declaration, d))
    for group in independent:
        add("independent", partial(_group, group))
    for h in hypotheses:
        add("assume", partial(_named if h.name in cited else _hypothesis, h))
    order = ("dimensions", "indices", "scalars", "tensors", "predicates", "functions", "family",
             "independent_family", "independent", "assume")  # fmt: skip
    return tuple(Assumption(k, tuple(rows[k])) for k in order if k in rows)


_KINDS = {
    ("dimension", False): "dimensions",
    ("index", False): "indices",
    ("scalar", False): "scalars",
    ("tensor", False): "tensors",
    ("family", False): "family",
    ("family", True): "independent_family",
    ("predicate", False): "predicates",
    ("function", False): "functions",
}


def _declaration(d: Declared, p: Printer) -> str:
    """Write a declared symbol with what is known of it."""
    match d.kind:
        case "dimension":
            return p.to.row(p.to.name(d.name), p.to.sign("≥"), p.to.number(str(d.least)))
        case "index":
            return _ranges(p, d.name, d.axes[0])
        case "function":
            return _mapping(p, d.name, d.axes, d.codomain)
        case _:
            return _declared(p, d.name, d.axes)


def _axes(d: Declared, p: Printer) -> str:
    return sizes(p, d.axes) if d.axes and d.kind != "index" else ""


def _group(names: tuple[str, ...], p: Printer) -> str:
    return p.listed([p.to.name(name) for name in names])


def _ranges(p: Printer, name: str, axis: ix.Axis) -> str:
    if axis[0] == "prod":
        return p.to.row(p.to.name(name), p.to.sign("∈"), p.axis(axis))
    low, high = p.index(axis[1]), p.index(axis[2])
    return p.to.row(low, p.to.sign("≤"), p.to.name(name), p.to.sign("≤"), high)


def _declared(p: Printer, name: str, axes: tuple[ix.Axis, ...]) -> str:
    if not axes:
        return p.to.name(name)
    return p.to.row(p.to.name(name), p.to.space(), p.to.fence("(", sizes(p, axes), ")", False))


def _mapping(p: Printer, name: str, axes: tuple[ix.Axis, ...], codomain: Any) -> str:
    to = p.to
    source: list[str] = []
    for axis in axes:
        source += [to.sign("×"), p.axis(axis)] if source else [p.axis(axis)]
    target = to.word("integers") if codomain is None else p.axis(codomain)
    if not source:
        return to.row(to.name(name), to.sign("∈"), target)
    return to.row(to.name(name), to.sign(":"), *source, to.sign("→"), target)


def _named(h: Hypothesis, p: Printer) -> str:
    """Write a hypothesis with its name in front, as the reasons of lines cite it."""
    return p.to.row(p.to.word(h.name), p.to.sign(":"), p.to.space(), _hypothesis(h, p))


def _hypothesis(h: Any, p: Printer) -> str:
    to = p.to
    if h.condition is not None:
        body = p.condition(h.condition)
    else:
        body = p.chain(h.relation, h.lhs, h.rhs)
    for c in reversed(h.conditions):
        body = to.row(p.condition(c), to.sign("⇒"), body)
    if not h.forall:
        return body
    ranges = [_ranges(p, name, axis) for name, axis in h.forall]
    scope = to.fence("(", p.listed(ranges), ")", False)
    return to.row(body, to.space(), to.space(), scope)


# -- definitions -------------------------------------------------------------------------------


def definition_formula(made: Definition, known: dict[str, Definition]) -> Formula:
    """Return ``f(parameters)_{indices} := body`` (two equations for a recursive definition)."""
    names = _index_letters(made)
    values = {old: ("int", ix.var(new)) for (old, _), new in zip(made.indices, names, strict=True)}

    def equation(p: Printer, stage: ix.Poly | None, body: Term) -> str:
        head = p.term(_head(made, names, stage))
        return p.to.row(head, p.to.sign("≔"), p.term(substitute(body, values)))

    def write(p: Printer) -> str:
        if made.recursion is None or made.base is None:
            return equation(p, None, made.body)
        first = equation(p, ix.ZERO, made.base)
        then = equation(p, ix.add(ix.var(made.recursion), ix.ONE), made.body)
        return p.to.row(first, p.to.sign(";"), p.to.space(), then)

    return Formula(lambda notation: definition_printer(made, names, known, notation), write)


def _index_letters(made: Definition) -> list[str]:
    """Return letters for the indices of a definition, instead of its internal names."""
    free = (letter for letter in "ijcmruvw" if letter not in {p[1] for p in made.params})
    return [next(free) for _ in made.indices]


def _head(made: Definition, names: list[str], stage: ix.Poly | None = None) -> Term:
    arguments: list[Term] = []
    for parameter in made.params:
        if parameter[0] == "int":
            own = parameter[1] == made.recursion and stage is not None
            arguments.append(("int", stage if own else ix.var(parameter[1])))
        elif parameter[0] == "tensor":
            bound = tuple(ix.atom(("b", k)) for k in range(len(parameter[2])))
            arguments.append(("lam", len(bound), ("ent", parameter[1], bound)))
        else:
            arguments.append(("real", ("sym", parameter[1])))
    return ("app", made.name, tuple(arguments), tuple(ix.var(name) for name in names))


# -- false neighbours ----------------------------------------------------------------------------


def counterexample(
    statement: Statement, found: Sample
) -> tuple[tuple[Formula, ...], tuple[Formula, ...], tuple[Formula, ...]]:
    """Return the values, the two sides and the misfit of what refutes a false neighbour."""
    if found.missing is not None:
        sized = [d for d in statement.declared if d.kind in ("dimension", "index")]
        return _values(statement, sized, found), (), _misfit(statement, found)
    sides: tuple[Formula, ...] = ()
    if statement.claim.relation != "shape":
        sides = tuple(_formula(statement, partial(digits, value=x)) for x in (found.lhs, found.rhs))
    return _values(statement, _needed(statement), found), sides, ()


def _values(
    statement: Statement, declared: Iterable[Declared], found: Sample
) -> tuple[Formula, ...]:
    """Return the values of an instance, symbol by symbol."""
    return tuple(
        _formula(statement, partial(_value, d, found.instance[d.name]))
        for d in declared
        if d.name in found.instance
    )


def _needed(statement: Statement) -> list[Declared]:
    """Return the symbols whose values a reader needs to compute both sides.

    Left out are the indices of a matrix whose rank is meant; arrays that a hypothesis computes from
    others, where the claim does not mention them or they have more than two axes (repeated keys);
    and index functions that the claim does not mention and of which it is only assumed that there
    is one (a kept key).
    """
    claim = statement.claim
    mentioned = _names((claim.lhs, claim.rhs))

    def needed(d: Declared) -> bool:
        about = [h for h in statement.hypotheses if d.name in _names(_content(h))]
        match d.kind:
            case "index":
                return d.name not in (claim.row, claim.column)
            case "function":
                return d.name in mentioned or any(h.condition is None for h in about)
            case "tensor" if about and (d.name not in mentioned or len(d.axes) > 2):
                return not all(_computes(h, d.name) for h in about)
            case _:
                return True

    return [d for d in statement.declared if needed(d)]


def _computes(h: Hypothesis, name: str) -> bool:
    """Tell whether a hypothesis gives the entries of an array from other symbols."""
    bare = h.lhs is not None and h.lhs[:2] == ("ent", name)
    return h.relation == "=" and bare and name not in _names((h.rhs, h.conditions))


def _misfit(statement: Statement, found: Sample) -> tuple[Formula, ...]:
    """Return an array with its sizes in the instance, and the entry that it does not have."""
    assert found.missing is not None
    name, key = found.missing
    places = sorted(found.instance[name])

    def array(p: Printer) -> str:
        counts = [str(len({k[place] for k in places})) for place in range(len(key))]
        parts = [p.to.number(counts[0])]
        for count in counts[1:]:
            parts += [p.to.sign("×"), p.to.number(count)]
        size = p.to.fence("(", p.to.row(*parts), ")", False)
        return p.to.row(p.to.name(name), p.to.space(), size)

    def entry(p: Printer) -> str:
        return p.to.subscript(p.to.name(name), p.listed([_component(p, k) for k in key]))

    return _formula(statement, array), _formula(statement, entry)


def _value(d: Declared, value: Any, p: Printer) -> str:
    to = p.to
    if hasattr(value, "outcomes"):
        return _law(p, d, value)
    if not isinstance(value, dict):
        return to.row(to.name(d.name), to.sign("="), digits(p, value))
    if d.kind == "predicate":
        kept = [_place(p, k) for k, v in sorted(value.items()) if v]
        return to.row(to.name(d.name), to.sign(":"), to.fence("{", p.listed(kept), "}", False))
    if d.kind == "function":
        pairs = [to.row(_place(p, k), to.sign("↦"), digits(p, v)) for k, v in sorted(value.items())]
        if pairs == [] or () in value:
            return to.row(to.name(d.name), to.sign("="), digits(p, value.get((), 0)))
        return to.row(to.name(d.name), to.sign(":"), p.listed(pairs))
    if len(d.axes) > 2:
        return _slices(p, d.name, value)
    name = to.name(d.name)
    if len(d.axes) == 1 and value and min(value) != (1,):
        (low,), (high,) = min(value), max(value)
        reach = to.row(_component(p, low), to.sign(":"), _component(p, high))
        name = to.subscript(name, reach)  # the list does not begin at index 1
    return to.row(name, to.sign("="), _array(p, value))


def _slices(p: Printer, name: str, entries: Mapping[tuple[Any, ...], Any]) -> str:
    """Write an array with more than two axes as matrices over the last two."""
    shown: list[str] = []
    for front in sorted({k[:-2] for k in entries}):
        part = {k[-2:]: v for k, v in entries.items() if k[:-2] == front}
        place = [*(_component(p, k) for k in front), p.to.sign(":"), p.to.sign(":")]
        head = p.to.subscript(p.to.name(name), p.listed(place))
        shown += [p.to.sign(","), p.to.space()] if shown else []
        shown.append(p.to.row(head, p.to.sign("="), _array(p, part)))
    return p.to.row(*shown)


def _component(p: Printer, k: Any) -> str:
    """Write a component of an index: an integer, or a pair on a flattened axis."""
    if not isinstance(k, tuple):
        return digits(p, k)
    return p.to.fence("⟨", p.listed([_component(p, x) for x in k]), "⟩", False)


def _place(p: Printer, key: tuple[Any, ...]) -> str:
    parts = [_component(p, k) for k in key]
    return parts[0] if len(parts) == 1 else p.to.fence("(", p.listed(parts), ")", False)


def _array(p: Printer, entries: Mapping[tuple[Any, ...], Any]) -> str:
    axes = len(next(iter(entries), ()))
    if axes == 0:
        return digits(p, next(iter(entries.values()), 0))
    if axes == 1:
        row = [digits(p, entries[k]) for k in sorted(entries)]
        return p.to.fence("(", p.listed(row), ")", False)
    rows = sorted({k[0] for k in entries})
    columns = sorted({k[1] for k in entries})
    return p.to.matrix([[digits(p, entries.get((r, c), 0)) for c in columns] for r in rows])


def _law(p: Printer, d: Any, law: Any) -> str:
    """Write a finite law: each outcome with its probability, a product law as a power."""
    single = _repeated_law(law)
    if single is not None:
        atoms = [p.to.row(digits(p, v), p.to.sign(":"), digits(p, w)) for v, w in single.items()]
        power = p.to.power(p.to.fence("{", p.listed(atoms), "}", False),
                           p.to.number(str(len(law.outcomes[0][1]))))  # fmt: skip
        return p.to.row(p.to.name(d.name), p.to.sign("∈"), power)
    outcomes = []
    for weight, outcome in law.outcomes[:6]:
        outcomes.append(
            p.to.row(_array(p, outcome), p.to.sign(":"), p.to.space(), digits(p, weight))
        )
    if len(law.outcomes) > 6:
        outcomes.append(p.to.sign("…"))
    return p.to.row(
        p.to.name(d.name), p.to.sign("∈"), p.to.fence("{", p.listed(outcomes), "}", False)
    )


def _repeated_law(law: Any) -> dict[Fraction, Fraction] | None:
    """Return the law of one component when all are independent and alike, else None."""
    places = list(law.outcomes[0][1]) if law.outcomes else []
    if len(places) < 2:
        return None
    marginals: list[dict[Fraction, Fraction]] = []
    for place in places:
        marginal: dict[Fraction, Fraction] = {}
        for weight, outcome in law.outcomes:
            marginal[outcome[place]] = marginal.get(outcome[place], Fraction(0)) + weight
        marginals.append(marginal)
    first = marginals[0]
    if any(m != first for m in marginals) or len(law.outcomes) != len(first) ** len(places):
        return None
    for weight, outcome in law.outcomes:
        expected = Fraction(1)
        for place in places:
            expected *= first[outcome[place]]
        if weight != expected:
            return None
    return dict(sorted(first.items()))


_SIMPLE = 10_000  # the largest denominator of a fraction that is recognised


def digits(p: Printer, value: Any) -> str:
    """Write a number: an integer, a fraction ``1/2``, or eight digits of it."""
    to = p.to
    exact = _exact(value)
    if exact is not None:
        negative, exact = exact < 0, abs(exact)
        body = to.number(str(exact.numerator))
        if exact.denominator != 1:
            body = to.row(body, to.sign("/"), to.number(str(exact.denominator)))
    else:
        from mpmath import nstr

        # nstr writes 4.8724017e+10, and 12.0 for what begins with 12.0000001
        mantissa, _, exponent = str(nstr(value, 8)).partition("e")
        negative = mantissa.startswith("-")
        body = to.number(mantissa.lstrip("-").removesuffix(".0"))
        if exponent:
            power = to.number(exponent.lstrip("+-"))
            if exponent.startswith("-"):
                power = to.row(to.sign("-").strip(), power)
            body = to.row(body, to.sign("·"), to.power(to.number("10"), power))
    return to.row(to.sign("-").strip(), body) if negative else body


def _exact(value: Any) -> Fraction | None:
    """Return the rational number that a value is, or None.

    A value that was computed to fifty digits (a root of 4, a derivative of a polynomial) counts as
    the simple fraction with which it agrees in forty.
    """
    if isinstance(value, (bool, int)):
        return Fraction(int(value))
    if isinstance(value, Fraction):
        return value
    from mpmath.libmp import to_rational

    given = Fraction(*map(int, to_rational(value._mpf_)))
    simple = given.limit_denominator(_SIMPLE)
    return simple if abs(given - simple) <= abs(given) / 10**40 else None
