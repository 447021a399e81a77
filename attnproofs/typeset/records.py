"""Stored step records: what a page shows of a proof that was carried out and replayed before.

A page is rendered from its record, never by proving again, so that the book of the catalogue is
written in a second or two. ``records.json`` beside this file is written by
``python -m attnproofs.typeset.records`` from the replayed certificates. A record is used only while
its key, a hash of every source that it depends on (kernel, calculus, printer, the theorem's file
and those of all it cites), is the present one; otherwise the theorem is proved anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from attnproofs.calculus.theorem import Theorem
from attnproofs.kernel import read
from attnproofs.kernel.statement import Statement, to_data
from attnproofs.kernel.terms import Term

_FILE = Path(__file__).with_name("records.json")
_ROOT = Path(__file__).parent.parent
_PRINTED = ("names", "notations", "printer", "symbols", "page", "records")

Reasons = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class LineRecord:
    """A displayed line."""

    term: Term
    relation: str
    reasons: Reasons


@dataclass(frozen=True)
class ShownRecord:
    """A displayed derivation."""

    title: str
    statement: Statement
    start: Term
    lines: tuple[LineRecord, ...]


@dataclass(frozen=True)
class PartRecord:
    """One statement with its derivations and the names of the statements it cites."""

    statement: Statement
    shown: tuple[ShownRecord, ...]
    uses: tuple[str, ...]


@dataclass(frozen=True)
class FalseRecord:
    """A false neighbour with what became of it.

    The formulas of its counterexample (see `attnproofs.typeset.page.FalsePage`) are written in each
    notation.
    """

    statement: Statement
    values: tuple[dict[str, str], ...]
    sides: tuple[dict[str, str], ...]
    misfit: tuple[dict[str, str], ...]
    refusal: str


@dataclass(frozen=True)
class Record:
    """What was found when the theorem was proved."""

    parts: tuple[PartRecord, ...]
    axioms: tuple[str, ...]
    steps: int
    false: tuple[FalseRecord, ...]


def prove(theorem: Theorem) -> Record:
    """Carry out the proof, replay its certificate, try the false neighbours; return the record."""
    from attnproofs.calculus.proof import SESSION

    replayed = theorem.proved()
    parts = []
    for built, proved in zip(theorem.built, replayed, strict=True):
        shown = tuple(
            ShownRecord(
                s.title,
                s.statement,
                s.start,
                tuple(
                    LineRecord(line.term, line.relation, tuple(dict.fromkeys(line.reasons)))
                    for line in s.lines
                ),
            )
            for s in built.shown
        )
        uses = sorted({SESSION.proved[d].statement.name for d in proved.lemmas})
        parts.append(PartRecord(built.statement, shown, tuple(uses)))
    return Record(
        parts=tuple(parts),
        axioms=tuple(sorted({a for proved in replayed for a in proved.axioms})),
        steps=sum(proved.steps for proved in replayed),
        false=tuple(_false(theorem, n) for n in theorem.false_neighbours),
    )


def _false(theorem: Theorem, neighbour: Any) -> FalseRecord:
    from attnproofs.calculus.evaluate import NoInstance
    from attnproofs.calculus.proving import refusal_of
    from attnproofs.calculus.refute import refute
    from attnproofs.calculus.symbols import Scope
    from attnproofs.typeset.notations import NOTATIONS
    from attnproofs.typeset.page import counterexample

    scope = Scope(f"{theorem.id}.false")
    statement = scope.claim(neighbour.statement(scope))
    refusal = refusal_of(statement, scope, neighbour)
    try:
        found = refute(statement, given=neighbour.instance)
    except NoInstance:
        found = None
    if found is None:
        return FalseRecord(statement, (), (), (), refusal)
    values, sides, misfit = (
        tuple({notation: f.to(notation) for notation in NOTATIONS} for f in formulas)
        for formulas in counterexample(statement, found)
    )
    return FalseRecord(statement, values, sides, misfit, refusal)


def record_of(theorem: Theorem) -> Record:
    """Return the record of `theorem`: the stored one while it is fresh, else by proving it."""
    stored = _stored().get(theorem.id)
    if stored is not None and stored["key"] == key(theorem.id, stored["rests_on"]):
        return _from_data(stored["record"])
    return prove(theorem)


def pages_of(theorems: Iterable[Theorem]) -> tuple[Any, ...]:
    """Return the pages of `theorems`, in order."""
    from attnproofs.typeset.page import page

    return tuple(page(t) for t in theorems)


# -- freshness --------------------------------------------------------------------------------


@cache
def _common_key() -> str:
    """Hash what every record depends on."""
    digest = hashlib.sha256()
    files = [*sorted((_ROOT / "kernel").glob("*.py")), *sorted((_ROOT / "calculus").glob("*.py"))]
    files += [_ROOT / "typeset" / f"{name}.py" for name in _PRINTED]
    for file in files:
        digest.update(file.name.encode() + b"\0" + _text(file) + b"\0")
    return digest.hexdigest()


@cache
def _text(file: Path) -> bytes:
    # a checkout with other line ends is the same source
    return file.read_bytes().replace(b"\r\n", b"\n")


def key(name: str, rests_on: Iterable[str]) -> str:
    """Hash the sources on which the record of theorem `name` depends; "" when one is gone."""
    from attnproofs.theorems import locations

    digest = hashlib.sha256(_common_key().encode())
    known = locations()
    for one in sorted({name, *rests_on}):
        file = _ROOT / "theorems" / known.get(one, "") / f"{one}.py"
        if one not in known or not file.exists():
            return ""
        digest.update(one.encode() + b"\0" + _text(file) + b"\0")
    return digest.hexdigest()


# -- storing ----------------------------------------------------------------------------------


@cache
def _stored() -> dict[str, Any]:
    try:
        data = json.loads(_FILE.read_text(encoding="utf-8"))
        return dict(_expanded(data["nodes"], data["theorems"]))
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return {}  # no records, or damaged ones: everything is proved anew


def _shared(value: Any, nodes: dict[str, int]) -> Any:
    """Return `value` with every list replaced by its number in `nodes` (equal lists share it)."""
    if isinstance(value, dict):
        return {k: _shared(v, nodes) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        inner = json.dumps([_shared(v, nodes) for v in value], ensure_ascii=False)
        return [nodes.setdefault(inner, len(nodes))]
    return value


def _expanded(nodes: list[list[Any]], theorems: Any) -> Any:
    """Undo `_shared`."""
    built: list[Any] = []

    def value(v: Any) -> Any:
        if isinstance(v, list):
            return built[v[0]]
        if isinstance(v, dict):
            return {k: value(x) for k, x in v.items()}
        return v

    for node in nodes:
        built.append([value(v) for v in node])
    return value(theorems)


def _to_data(record: Record) -> dict[str, Any]:
    return {
        "axioms": record.axioms,
        "steps": record.steps,
        "parts": [
            {
                "statement": to_data(part.statement),
                "uses": part.uses,
                "shown": [
                    {
                        "title": s.title,
                        "statement": None
                        if s.statement == part.statement
                        else to_data(s.statement),
                        "start": s.start,
                        "lines": [[line.term, line.relation, line.reasons] for line in s.lines],
                    }
                    for s in part.shown
                ],
            }
            for part in record.parts
        ],
        "false": [
            {
                "statement": to_data(f.statement),
                "values": f.values,
                "sides": f.sides,
                "misfit": f.misfit,
                "refusal": f.refusal,
            }
            for f in record.false
        ],
    }


def _tuples(x: Any) -> Any:
    return tuple(_tuples(y) for y in x) if isinstance(x, list) else x


def _from_data(data: dict[str, Any]) -> Record:
    parts = []
    for part in data["parts"]:
        statement = read.statement(part["statement"])
        shown = tuple(
            ShownRecord(
                s["title"],
                statement if s["statement"] is None else read.statement(s["statement"]),
                _tuples(s["start"]),
                tuple(LineRecord(_tuples(t), r, _tuples(why)) for t, r, why in s["lines"]),
            )
            for s in part["shown"]
        )
        parts.append(PartRecord(statement, shown, tuple(part["uses"])))
    false = tuple(
        FalseRecord(
            read.statement(f["statement"]),
            tuple(f["values"]),
            tuple(f["sides"]),
            tuple(f["misfit"]),
            f["refusal"],
        )
        for f in data["false"]
    )
    return Record(tuple(parts), tuple(data["axioms"]), data["steps"], false)


def build() -> str:
    """Prove the whole catalogue and return the records as JSON text."""
    from attnproofs.theorems import select

    nodes: dict[str, int] = {}
    records = {t.id: prove(t) for t in select(())}
    direct = {
        name: {u.split(".")[0] for part in r.parts for u in part.uses}
        for name, r in records.items()
    }
    found = {}
    for name, record in records.items():
        rests_on: set[str] = set()
        waiting = [name]
        while waiting:
            new = direct[waiting.pop()] - rests_on
            rests_on |= new
            waiting += new
        rests_on.discard(name)
        found[name] = {
            "key": key(name, rests_on),
            "rests_on": sorted(rests_on),
            "record": _to_data(record),
        }
    theorems = _shared(found, nodes)
    lines = ",\n".join(nodes)
    shown = json.dumps(theorems, ensure_ascii=False, separators=(",", ":"))
    return f'{{"version": 1, "nodes": [\n{lines}\n], "theorems": {shown}}}\n'


if __name__ == "__main__":
    from attnproofs.files import write_whole

    write_whole(_FILE, build())
