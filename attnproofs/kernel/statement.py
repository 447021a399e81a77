"""Statements: what is declared, what is assumed, what is claimed. Everything that a proof pins.

A statement is plain data; its digest is the SHA-256 of its canonical JSON. Lemmas are cited by
digest, so a changed statement, definition or hypothesis is another statement.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from attnproofs.kernel import index as ix
from attnproofs.kernel.terms import Term

RELATIONS = ("=", "<=", "<")


@dataclass(frozen=True)
class Declared:
    """A declared symbol.

    `kind` is one of ``dimension`` (an integer >= `least`), ``index`` (an integer in `axes[0]`),
    ``scalar``, ``tensor`` (entries on `axes`), ``predicate``, ``function`` (index function on
    `axes` with values in `codomain`, when given) and ``family`` (random entries on `axes` with
    finite moments up to `order`; `independent` says that its components are independent).
    """

    kind: str
    name: str
    axes: tuple[ix.Axis, ...] = ()
    least: int = 1
    codomain: ix.Axis | None = None
    order: int = 0
    independent: bool = False


@dataclass(frozen=True)
class Definition:
    """An explicit or primitive-recursive definition ``name(params)[indices] := body``.

    `params` are ``("int", name, least)``, ``("tensor", name, axes)``, ``("real", name)`` or
    ``("random", name)`` (a real that may be random where the body puts it below E).
    `indices` are the result's indices with their axes. A recursive definition has `recursion`,
    the name of its first parameter (a natural number): `base` is the value at 0 and `body`
    the value at ``recursion + 1``, in which ``name`` may be used at ``recursion`` only.
    """

    name: str
    params: tuple[tuple[Any, ...], ...]
    indices: tuple[tuple[str, ix.Axis], ...]
    body: Term
    recursion: str | None = None
    base: Term | None = None


@dataclass(frozen=True)
class Hypothesis:
    """``for all indices in their axes with `conditions`: lhs R rhs``, or an index condition.

    Either `relation`, `lhs` and `rhs` are given, or `condition` is.
    """

    name: str
    forall: tuple[tuple[str, ix.Axis], ...] = ()
    conditions: tuple[ix.Cond, ...] = ()
    relation: str | None = None
    lhs: Term | None = None
    rhs: Term | None = None
    condition: ix.Cond | None = None


@dataclass(frozen=True)
class Claim:
    """What is claimed.

    ``=``, ``<=``, ``<`` compare `lhs` and `rhs`. ``factors``: the matrix `lhs`, with the free
    indices `row` and `column`, is ``sum over c in axis of A[row, c] * B[c, column]`` (so its rank
    is at most the size of `axis`); when `rhs` is given (a ``lam`` of two indices) B is exactly it.
    ``shape``: `lhs` (a ``lam``) is well formed on `axes`.
    """

    relation: str
    lhs: Term
    rhs: Term | None = None
    row: str = ""
    column: str = ""
    axis: ix.Axis | None = None
    axes: tuple[ix.Axis, ...] = ()


@dataclass(frozen=True)
class Statement:
    """A pinned statement; see the module's text."""

    name: str
    declared: tuple[Declared, ...]
    claim: Claim
    hypotheses: tuple[Hypothesis, ...] = ()
    independent: tuple[tuple[str, ...], ...] = ()
    definitions: tuple[Definition, ...] = ()

    @cached_property
    def symbol(self) -> Mapping[str, Declared]:
        """Return the declared symbols by name."""
        return {d.name: d for d in self.declared}

    @cached_property
    def definition(self) -> Mapping[str, Definition]:
        """Return the definitions by name."""
        return {d.name: d for d in self.definitions}

    @cached_property
    def hypothesis(self) -> Mapping[str, Hypothesis]:
        """Return the hypotheses by name."""
        return {h.name: h for h in self.hypotheses}

    @cached_property
    def digest(self) -> str:
        """Return the SHA-256 of the statement's canonical JSON."""
        return hashlib.sha256(canonical(to_data(self)).encode()).hexdigest()


def canonical(data: Any) -> str:
    """Return the one JSON text of `data`: sorted keys, no spaces, ASCII."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def to_data(statement: Statement) -> dict[str, Any]:
    """Return the statement as JSON-able data."""

    def plain(x: Any) -> Any:
        return [plain(y) for y in x] if isinstance(x, tuple) else x

    def record(x: Any, names: tuple[str, ...]) -> dict[str, Any]:
        return {n: plain(getattr(x, n)) for n in names}

    claim = record(statement.claim, ("relation", "lhs", "rhs", "row", "column", "axis", "axes"))
    return {
        "name": statement.name,
        "declared": [
            record(d, ("kind", "name", "axes", "least", "codomain", "order", "independent"))
            for d in statement.declared
        ],
        "independent": plain(statement.independent),
        "definitions": [
            record(d, ("name", "params", "indices", "body", "recursion", "base"))
            for d in statement.definitions
        ],
        "hypotheses": [
            record(h, ("name", "forall", "conditions", "relation", "lhs", "rhs", "condition"))
            for h in statement.hypotheses
        ],
        "claim": claim,
    }
