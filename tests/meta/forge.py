"""Changed certificates: every field of every certificate, and what replay makes of the change.

A change is *refused*, or what is accepted is one of two things: another proof of the same statement
(a step more, the factors in another order), or a proof of another statement, with another digest,
which whoever pinned the first one sees. Either is then confirmed by numbers, by code that
shares nothing with the kernel: all lines of the proof must agree.

``python -m tests.meta.forge [THEOREM ...]`` makes every change to every field and counts (a million
for the whole catalogue); with ``--once`` each field is changed in turn, in one way chosen by
``--seed``. The tests take a sample.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import mpmath

from attnproofs.calculus import evaluate as ev
from attnproofs.calculus.theorem import Part
from attnproofs.kernel import index as ix
from attnproofs.kernel import read
from attnproofs.kernel.refused import Refused
from attnproofs.kernel.replay import Replay, _at_stage
from attnproofs.kernel.statement import Statement, canonical
from attnproofs.theorems import select, theorem

Path = tuple[str | int, ...]

REFUSED, ANOTHER_PROOF, ANOTHER_STATEMENT, UNREACHED = (
    "refused", "another proof", "another statement", "another statement without instances",
)  # fmt: skip

# below these keys stand terms or values: one kind of field each, however deep
_WHOLE = {
    "lhs", "rhs", "body", "base", "term", "start", "with", "at", "difference", "axes", "axis",
    "condition", "conditions", "forall", "params", "indices", "codomain", "independent",
    "cut", "to", "from", "where", "where_after", "laws",
}  # fmt: skip


class Wrong(AssertionError):
    """Replay accepted something that is false, or fell over."""


@dataclass(frozen=True)
class Change:
    """One changed field: where, what was done, and the part of a certificate that results."""

    where: str
    what: str
    part: dict[str, Any]


@dataclass(frozen=True)
class Original:
    """A part of a certificate as it came from the proof script."""

    id: str
    digest: str
    data: dict[str, Any]
    made_from: Part


@cache
def originals() -> tuple[Original, ...]:
    """Return all parts of all certificates."""
    found = []
    for t in select(()):
        certificate = json.loads(canonical(t.certificate()))
        for made_from, built, data in zip(t.parts, t.built, certificate["parts"]):
            found.append(Original(t.id, built.statement.digest, data, made_from))
    return tuple(found)


@cache
def replayed() -> Replay:
    """Return a replay in which all originals are proved."""
    replay = Replay()
    for o in originals():
        replay.load(certificate(o.data))
    for o in originals():
        replay.prove(o.digest)
    return replay


@cache
def resting_on(digest: str) -> frozenset[str]:
    """Return the statements whose proofs use the statement with this digest, itself included."""
    found = {digest}
    while True:
        more = {d for d, p in replayed().proved.items() if found & set(p.lemmas)} | found
        if more == found:
            return frozenset(found)
        found = more


def certificate(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"format": read.FORMAT, "id": "forged", "parts": list(parts)}


# ---------------------------------------------------------------------- changes


def nodes(data: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield every field, leaves and containers, with its path."""
    if path:
        yield path, data
    if isinstance(data, dict):
        for key in sorted(data):
            yield from nodes(data[key], (*path, key))
    elif isinstance(data, list):
        for k, x in enumerate(data):
            yield from nodes(x, (*path, k))


def kind(path: Path) -> str:
    """Return the kind of field that a path leads to: its keys, down to the first whole term."""
    keys = []
    for key in path:
        if isinstance(key, str):
            keys.append(key)
            if key in _WHOLE and not (key in ("base", "from") and len(keys) == 2):
                break
    return ".".join(keys)


def replaced(data: Any, path: Path, value: Any) -> Any:
    """Return a copy of `data` with another value at the path (copied along the path only)."""
    if not path:
        return value
    key, *rest = path
    copy: Any = dict(data) if isinstance(data, dict) else list(data)
    copy[key] = replaced(data[key], tuple(rest), value)
    return copy


def alternatives(value: Any, others: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield what may stand in the place of a value: other values, shorter and reordered ones."""
    match value:
        case bool():
            yield "turned", not value
        case int():
            yield "one more", value + 1
            if value:
                yield "negated", -value
        case str():
            yield "nonsense", "nonsense"
            yield from (("another name", s) for s in others if s != value)
        case None:
            yield "zero", ["q", 0, 1]
            yield "an empty list", []
        case list():
            if value:
                yield "last dropped", value[:-1]
                yield "first dropped", value[1:]
                yield "last twice", [*value, value[-1]]
            if len(value) > 1 and value[-1] != value[-2]:
                yield "last two exchanged", [*value[:-2], value[-1], value[-2]]
            yield "nothing", None
        case dict():
            for key in sorted(value):
                yield f"{key} dropped", {k: v for k, v in value.items() if k != key}
            yield "one key more", {**value, "more": 0}
            yield "nothing", None


def texts(data: Any) -> list[str]:
    return sorted({v for _, v in nodes(data) if isinstance(v, str)})


def every_change(part: dict[str, Any]) -> Iterator[Change]:
    """Yield every change of every field; a text is exchanged for two others that occur."""
    known = texts(part)
    for path, value in nodes(part):
        rng = random.Random(f"{path}")
        others = rng.sample(known, min(2, len(known))) if isinstance(value, str) else []
        for what, new in alternatives(value, others):
            yield Change("/".join(map(str, path)), what, replaced(part, path, new))


def each_field(part: dict[str, Any], seed: int) -> Iterator[Change]:
    """Yield one change of every field."""
    known = texts(part)
    for path, value in nodes(part):
        rng = random.Random(f"{seed} {path}")
        others = rng.sample(known, min(2, len(known))) if isinstance(value, str) else []
        what, new = rng.choice(list(alternatives(value, others)))
        yield Change("/".join(map(str, path)), what, replaced(part, path, new))


def sample(parts: list[dict[str, Any]], seed: str) -> Iterator[tuple[int, Change]]:
    """Yield one change for every kind of field that occurs in the parts, with the part's number."""
    rng = random.Random(seed)
    places: dict[str, list[tuple[int, Path, Any]]] = {}
    for number, part in enumerate(parts):
        for path, value in nodes(part):
            places.setdefault(kind(path), []).append((number, path, value))
    for name in sorted(places):
        number, path, value = rng.choice(places[name])
        choices = list(alternatives(value, texts(parts[number])))
        what, new = rng.choice(choices)
        yield number, Change("/".join(map(str, path)), what, replaced(parts[number], path, new))


# ---------------------------------------------------------------------- verdicts


def judge(original: Original, change: Change) -> str:
    """Return what replay makes of a change.

    Raises
    ------
    Wrong
        When it accepts something that numbers refute, or ends in another error than a refusal.
    """
    if change.part == original.data:
        return ANOTHER_PROOF
    replay = Replay()
    try:
        (digest,) = replay.load(read.parse(canonical(certificate(change.part)).encode()))
        replay._parts = replayed()._parts | replay._parts  # the others, beside the changed one
        unaffected = set(replayed().proved) - resting_on(original.digest) - {digest}
        replay.proved = {d: replayed().proved[d] for d in unaffected}
        proved = replay.prove(digest)
    except (Refused, read.Unreadable):
        return REFUSED
    except Exception as error:
        raise Wrong(f"{original.id}: {change.where} {change.what}: {error!r}") from error
    where = f"{original.id}: {change.where} {change.what}"
    same = digest == original.digest
    try:
        confirm(proved.statement, change.part["proof"], original.made_from, where)
    except ev.NoInstance:
        if same:
            raise Wrong(f"{where}: no instance of the original") from None
        return UNREACHED
    except Wrong:
        raise
    except Exception as error:
        raise Wrong(f"{where}: accepted, and no value can be given to it: {error!r}") from error
    return ANOTHER_PROOF if same else ANOTHER_STATEMENT


def confirm(statement: Statement, proof: Any, part: Part, where: str, seeds: int = 2) -> None:
    """Check an accepted proof by numbers, the claim and every line; see `Wrong`."""
    for seed in range(seeds):
        given = part.instance
        try:
            instance = ev.draw(statement, f"forged{seed}", given)
        except (KeyError, IndexError, TypeError, ValueError):
            instance = ev.draw(statement, f"forged{seed}")  # the given values fit the original only
        if not ev.evaluate(statement, instance, digits=30).holds:
            raise Wrong(f"{where}: accepted, and false at {ev.describe(instance)}")
        if proof["kind"] == "chain":
            _lines(statement, instance, proof, where)
    if proof["kind"] == "induct":
        start = ix.const(proof["from"])
        following = ix.add(ix.var(proof["on"]), ix.ONE)
        for stage, keep, chain in ((start, False, "base"), (following, True, "step")):
            inner = _at_stage(statement, proof["on"], stage, keep=keep)
            try:
                instance = ev.draw(inner, "forged", part.instance)
            except ev.NoInstance:
                continue  # the stage is absurd, or the part's own instances are of another size
            _lines(inner, instance, proof[chain], where)


def _lines(statement: Statement, instance: ev.Instance, chain: Any, where: str) -> None:
    look = ev.Values(statement, instance, 30)
    with mpmath.workdps(45):
        before = look.real(read.term(chain["start"]))
        for number, step in enumerate(chain["steps"], 1):
            after = look.real(read.term(step["term"]))
            if not ev.related(step["relation"], before, after, 30):
                raise Wrong(f"{where}: line {number} is accepted, and numbers refute it")
            before = after


def examine(job: tuple[int, int | None]) -> tuple[str, Counter[str], list[str]]:
    """Make all changes to one part (with a seed: one to every field)."""
    number, seed = job
    o = originals()[number]
    counts: Counter[str] = Counter()
    wrong = []
    for change in every_change(o.data) if seed is None else each_field(o.data, seed):
        try:
            counts[judge(o, change)] += 1
        except Wrong as error:
            counts["WRONG"] += 1
            wrong.append(str(error))
    return o.data["statement"]["name"], counts, wrong


def main() -> int:
    """Change the named theorems' certificates (all, when none is named), and count."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("theorems", nargs="*")
    parser.add_argument("--once", action="store_true", help="one change of every field")
    parser.add_argument("--seed", type=int, default=0, help="which change, with --once")
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    ids = {t.id for t in (map(theorem, given.theorems) if given.theorems else select(()))}
    seed = given.seed if given.once else None
    jobs = [(number, seed) for number, o in enumerate(originals()) if o.id in ids]
    replayed()  # once, before the processes part
    total: Counter[str] = Counter()
    wrong: list[str] = []
    with multiprocessing.get_context("fork").Pool(given.jobs) as pool:
        for name, counts, found in pool.imap(examine, jobs):
            total += counts
            wrong += found
            print(f"{name}: {_counted(counts)}", flush=True)
    how = f"one change of every field, seed {seed}" if given.once else "every change"
    print(f"{len(jobs)} proofs, {how}: {_counted(total)}")
    print(*wrong, sep="\n")
    return 1 if wrong else 0


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{n} {k}" for k, n in sorted(counts.items()))


if __name__ == "__main__":
    sys.exit(main())
