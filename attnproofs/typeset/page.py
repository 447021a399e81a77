"""What a theorem's page shows, in every format: built once from the checked object.

Nothing here is typed by hand or derived a second time: statement, lines and reasons are those of
the proof that the kernel accepted, what it rests on comes from the replay, the counterexamples from
evaluation. Formulas stay terms until a format asks for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from attnproofs.calculus.theorem import FalseNeighbour, Part, Theorem
from attnproofs.kernel import index as ix
from attnproofs.kernel.statement import Declared, Definition, Statement
from attnproofs.kernel.terms import Term, substitute
from attnproofs.typeset.printer import Printer
from attnproofs.typeset.symbols import definition_printer, printer

if TYPE_CHECKING:
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
    """A false neighbour: the claim, the values that refute it, and the kernel's refusal."""

    title: Text
    claim: Formula
    values: tuple[Written, ...]
    sides: tuple[str, str]
    relation: str
    refusal: str

    @property
    def labels(self) -> tuple[str, str]:
        """Return what the two sides are (keys of the words)."""
        return ("rank", "bound") if self.relation == "factors" else ("left", "right")


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
            _false(n, r) for n, r in zip(theorem.false_neighbours, record.false, strict=True)
        ),
        axioms=record.axioms,
        uses=tuple(u for u in uses if u != theorem.id),
        references=theorem.references,
        definitions=tuple(dict.fromkeys(d for p in parts for d in p.definitions)),
        steps=record.steps,
    )


def _part(part: Part, record: PartRecord) -> PartPage:
    statement = record.statement
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
        assumptions=_assumptions(statement),
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


def _false(neighbour: FalseNeighbour, record: FalseRecord) -> FalsePage:
    return FalsePage(
        neighbour.title,
        claim_formula(record.statement),
        tuple(Written(v) for v in record.values),
        record.sides,
        record.statement.claim.relation,
        record.refusal,
    )


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
    """Write the sizes of axes, ``m × n``."""
    parts: list[str] = []
    for axis in axes:
        size = ix.axis_size(axis)
        text = p.index(size)
        if len(size) > 1:
            text = p.to.fence("(", text, ")", False)
        parts += [p.to.sign("×"), text] if parts else [text]
    return p.to.row(*parts)


def _rank(p: Printer, statement: Statement) -> str:
    """Write ``rank(M_ij)_{i,j} <= r``, or that the rows lie in the row space of a matrix."""
    to, claim = p.to, statement.claim
    inner = to.fence("(", p.term(claim.lhs), ")", to.stacked)
    below = to.row(to.name(claim.row), to.sign(","), to.name(claim.column))
    matrix = to.subscript(inner, below)
    if claim.rhs is not None:
        rows = to.row(to.word("row space"), matrix)
        of = to.fence("(", p.signed(p.argument(claim.rhs, ())), ")", False)
        return to.row(rows, to.sign("⊆"), to.word("row space"), of)
    assert claim.axis is not None  # the kernel's reader refuses such a claim
    size = p.index(ix.axis_size(claim.axis))
    return to.row(to.word("rank"), matrix, to.sign("≤"), size)


def _assumptions(statement: Statement) -> tuple[Assumption, ...]:
    """Return the rows of the hypotheses box, in a fixed order, empty rows left out."""
    rows: dict[str, list[Formula]] = {}

    def add(kind: str, write: Callable[[Printer], str]) -> None:
        rows.setdefault(kind, []).append(_formula(statement, write))

    for d in statement.declared:
        add(_KINDS[d.kind, d.independent], partial(_declaration, d))
    for group in statement.independent:
        add("independent", partial(_group, group))
    for h in statement.hypotheses:
        add("assume", partial(_hypothesis, h))
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


def number(value: Any) -> str:
    """Return a value as digits: a fraction exactly, anything else to eight digits."""
    if isinstance(value, Fraction):
        return str(value)
    from mpmath import nstr

    return str(nstr(value, 8))


def instance_formulas(statement: Statement, values: Mapping[str, Any]) -> tuple[Formula, ...]:
    """Return the values of an instance, symbol by symbol, in the order of declaration."""
    shown = []
    for d in statement.declared:
        if d.name not in values:
            continue
        value = values[d.name]
        shown.append(_formula(statement, partial(_value, d, value)))
    return tuple(shown)


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
    return to.row(to.name(d.name), to.sign("="), _array(p, value))


def _place(p: Printer, key: tuple[Any, ...]) -> str:
    parts = [
        p.to.fence("⟨", p.listed([digits(p, x) for x in k]), "⟩", False)
        if isinstance(k, tuple)
        else digits(p, k)
        for k in key
    ]
    return parts[0] if len(parts) == 1 else p.to.fence("(", p.listed(parts), ")", False)


def _array(p: Printer, entries: Mapping[tuple[Any, ...], Any]) -> str:
    axes = len(next(iter(entries), ()))
    if axes == 0:
        return digits(p, next(iter(entries.values()), 0))
    if axes == 1:
        row = [digits(p, entries[k]) for k in sorted(entries)]
        return p.to.fence("(", p.listed(row), ")", p.to.stacked and any("frac" in x for x in row))
    if axes == 2:
        rows = sorted({k[0] for k in entries})
        columns = sorted({k[1] for k in entries})
        return p.to.matrix([[digits(p, entries.get((r, c), 0)) for c in columns] for r in rows])
    cells = [p.to.row(_place(p, k), p.to.sign("↦"), digits(p, entries[k])) for k in sorted(entries)]
    return p.listed(cells)


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


def digits(p: Printer, value: Any) -> str:
    """Write a number: an integer, a fraction, or eight digits of it."""
    to = p.to
    if isinstance(value, (bool, int)):
        value = Fraction(int(value))
    if not isinstance(value, Fraction):
        text = number(value)
        sign = text.startswith("-")
        body = to.number(text.lstrip("-"))
    else:
        sign = value < 0
        value = abs(value)
        body = to.number(str(value.numerator))
        if value.denominator != 1:
            body = to.fraction(body, to.number(str(value.denominator)))
    return to.row(to.sign("-").strip(), body) if sign else body
