"""Replay: the one place where a certificate becomes a proved statement.

A certificate is JSON: ``{"format": 1, "id": .., "parts": [{"statement": .., "proof": ..}, ..]}``.
A proof is a chain of lines (each the term, and the rule, position and arguments that lead to it
from the line before), an induction on a dimension (two chains), or a shape (no chain). There is
no gap, no "admit", and no way to name a rule that is not in the table.

For each part: the statement is checked; the first and last terms must be the statement's; every
line must be well formed with its side conditions shown; every step must pass its rule. A lemma is
cited by the digest of its statement, and counts only once it has itself been replayed; circles
are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from attnproofs.kernel import index as ix
from attnproofs.kernel import read
from attnproofs.kernel.algebra import same
from attnproofs.kernel.axioms import RULE_AXIOMS
from attnproofs.kernel.context import Context, begin
from attnproofs.kernel.lemmas import lemma_instance
from attnproofs.kernel.position import descend
from attnproofs.kernel.refused import Refused
from attnproofs.kernel.rules import RULES, Step, instance
from attnproofs.kernel.statement import Claim, Declared, Hypothesis, Statement
from attnproofs.kernel.terms import (
    Term,
    free_variables,
    index_variables,
    instantiate,
    substitute,
    substitution,
    subterms,
)
from attnproofs.kernel.wellformed import check, check_claim, check_statement

_NOTIONS: Mapping[str, tuple[str, ...]] = {
    "inv": ("field", "order"), "exp": ("exp_tangent",), "log": ("log_exp",), "sqrt": ("sqrt",),
    "abs": ("abs",), "ind": ("indicator",), "sum": ("sum_finite",), "E": ("expectation",),
    "D": ("derivative",), "app": ("definition",),
}  # fmt: skip


@dataclass
class Proved:
    """What replay established about one statement."""

    statement: Statement
    steps: int = 0
    rules: dict[str, int] = field(default_factory=dict)
    axioms: set[str] = field(default_factory=set)
    lemmas: list[str] = field(default_factory=list)


class Replay:
    """Replays certificates; `proved` maps the digest of each proved statement to what was found."""

    def __init__(self) -> None:
        self.proved: dict[str, Proved] = {}
        self._parts: dict[str, tuple[Statement, Any]] = {}
        self._open: list[str] = []

    def load(self, data: Any) -> list[str]:
        """Read a certificate (parsed JSON) and return the digests of its parts, not yet proved."""
        version = data.get("format") if isinstance(data, dict) else read.FORMAT
        if version is True or version != read.FORMAT:
            raise Refused(
                f"format {str(version)[:20]} is not known; this kernel reads format {read.FORMAT}"
            )
        r = read.record(data, ("format", "id", "parts"), "certificate")
        read.text(r["id"], "id")
        digests = []
        for entry in read.sequence(r["parts"], "parts"):
            part = read.record(entry, ("statement", "proof"), "part")
            try:
                statement = read.statement(part["statement"])
                digest = statement.digest
            except RecursionError:
                raise Refused("the statement is nested too deeply") from None
            self._parts.setdefault(digest, (statement, part["proof"]))
            digests.append(digest)
        if not digests:
            raise Refused("a certificate without a statement proves nothing")
        return digests

    def prove(self, digest: str) -> Proved:
        """Replay the proof of a loaded statement, and those of the lemmas that it cites."""
        if digest in self.proved:
            return self.proved[digest]
        if digest not in self._parts:
            raise Refused(
                f"the lemma with digest {digest[:12]} is not among the certificates given"
            )
        if digest in self._open:
            raise Refused("the proofs cite each other in a circle")
        self._open.append(digest)
        try:
            statement, proof = self._parts[digest]
            result = _Checker(self, statement).run(proof)
        finally:
            self._open.pop()
        self.proved[digest] = result
        return result

    def name_of(self, digest: str) -> str:
        """Return the name of a loaded statement."""
        return self._parts[digest][0].name


class _Checker:
    """Replays the proof of one statement."""

    def __init__(self, replay: Replay, statement: Statement) -> None:
        self.replay = replay
        self.statement = statement
        self.result = Proved(statement)
        self._noted: Term | None = None

    def run(self, proof: Any) -> Proved:
        ctx = check_statement(self.statement)
        kind = proof.get("kind") if isinstance(proof, dict) else None
        match kind:
            case "chain":
                self._chain_of(proof, ctx, self.statement.claim)
            case "induct":
                self._induction(proof)
            case "shape":
                read.record(proof, ("kind",), "proof")
                if self.statement.claim.relation != "shape":
                    raise Refused("this proof is for a shape, and something else is claimed")
                self._note("shape", self.statement.claim.lhs[2])
            case _:
                raise Refused("a proof is a chain, an induction or a shape")
        return self.result

    # -------------------------------------------------------------- chains

    def _chain_of(self, proof: Any, ctx: Context, claim: Claim) -> None:
        r = read.record(proof, ("kind", "start", "steps"), "proof")
        start = read.term(r["start"])
        if start != claim.lhs:
            raise Refused("the first line is not the left side of the statement")
        last, relation = self._chain(ctx, start, read.sequence(r["steps"], "steps"))
        if claim.relation == "factors":
            if relation != "=":
                raise Refused("a factorisation is shown by equalities")
            _check_factors(ctx, claim, last)
            self._note("factor", last)
            return
        if claim.relation == "shape":
            raise Refused("a shape is claimed, and the proof is a chain")
        if last != claim.rhs:
            raise Refused(
                "the last line is not the right side of the statement: this is a proof "
                "of something else"
            )
        if claim.relation == "=" and relation != "=":
            raise Refused("an equality is claimed, and the chain has an inequality")
        if claim.relation == "<" and relation != "<":
            raise Refused("a strict inequality is claimed, and no step of the chain is strict")

    def _chain(self, ctx: Context, start: Term, steps: list[Any]) -> tuple[Term, str]:
        check(ctx, start)
        self._notions(start)
        line, relation = start, "="
        for number, data in enumerate(steps, 1):
            r = read.record(data, ("term", "relation", "rule", "at", "args", "back"), "step")
            if read.opened_names(r["term"]):
                raise Refused(f"step {number}: a line may not mention an opened index")
            following = read.term(r["term"])
            if r["relation"] not in ("=", "<=", "<"):
                raise Refused(f"step {number}: a chain has =, <= and < only")
            try:
                if following != line:
                    check(ctx, following)
                self._step(ctx, line, following, r)
            except Refused as refusal:
                raise Refused(
                    f"step {number} ({r['rule']}): {refusal.reason}", refusal.term
                ) from None
            if r["relation"] == "<" or relation == "<":
                relation = "<"
            elif r["relation"] == "<=":
                relation = "<="
            line = following
        return line, relation

    def _step(self, ctx: Context, line: Term, following: Term, r: dict[str, Any]) -> None:
        begin()
        rule = read.text(r["rule"], "rule")
        args = read.arguments(rule, r["args"])
        relation = r["relation"]
        if not isinstance(r["back"], bool):
            raise Refused("'back' is true or false")
        if r["back"] and relation != "=":
            raise Refused("only an equality can be used backwards")
        hole = descend(ctx, line, following, read.path(r["at"]), relation)
        if read.opened_names(r["args"]) - hole.ctx.opened():
            raise Refused("an argument mentions an index that is not open at the position")
        before, after = hole.before, hole.after
        if r["back"] != hole.turned:
            before, after = after, before
        lemma = self._lemma(args["lemma"]) if rule == "lemma" else None
        if "facts" in args:
            args["facts"] = tuple(self._fact(hole.ctx, fact) for fact in args["facts"])
        RULES[rule](Step(hole.ctx, before, after, relation, args, lemma))
        self._note(rule, following)
        for law in args.get("laws", ()):
            self._note(law.split(":")[0], following)
        if relation != "=" and r["at"]:
            self._note("mono", following)

    def _lemma(self, digest: str) -> Statement:
        found = self.replay.prove(digest)
        if digest not in self.result.lemmas:
            self.result.lemmas.append(digest)
        self.result.axioms |= found.axioms
        return found.statement

    def _fact(self, ctx: Context, fact: dict[str, Any]) -> Hypothesis:
        """Turn a citation into a relation that holds at the position."""
        if "name" in fact:
            found = next((h for h in ctx.relations if h.name == fact["name"]), None)
            if found is None:
                raise Refused(f"no hypothesis {fact['name']} may be used here")
            lhs, rhs = instance(ctx, found, fact["at"])
            return Hypothesis(f"%{found.name}", relation=found.relation, lhs=lhs, rhs=rhs)
        lemma = self._lemma(fact["lemma"])
        values = dict(fact["with"])
        renamed: dict[str, Term] = {}
        forall: list[tuple[str, ix.Axis]] = []
        for d in lemma.declared:
            # an index without a value stays arbitrary in its range
            if d.kind == "index" and d.name not in values:
                axis = ix.axis_substitute(d.axes[0], substitution(values))
                if axis[0] != "range":
                    raise Refused("an index pair cannot be left open in a cited fact")
                ctx, i = ctx.below(axis)
                values[d.name] = ("int", i)
                name = f"%every.{d.name}"
                forall.append((name, ix.axis_substitute(axis, _index_values(renamed))))
                renamed[next(iter(index_variables(i)))] = ("int", ix.var(name))
        lhs, rhs = lemma_instance(ctx, lemma, values)
        return Hypothesis(
            f"%{lemma.name}",
            tuple(forall),
            relation=lemma.claim.relation,
            lhs=substitute(lhs, renamed),
            rhs=substitute(rhs, renamed),
        )

    # -------------------------------------------------------------- induction

    def _induction(self, proof: Any) -> None:
        r = read.record(proof, ("kind", "on", "from", "base", "step"), "proof")
        n, start = read.text(r["on"], "on"), read.integer(r["from"], "from")
        declared = self.statement.symbol.get(n)
        if declared is None or declared.kind != "dimension" or declared.least != start:
            raise Refused("an induction is on a declared dimension, from its least value")
        for d in self.statement.declared:
            if d.kind != "index" and any(n in _axis_names(a) for a in _all_axes(d)):
                raise Refused(
                    f"an induction on {n} needs tensors whose axes do not mention it "
                    f"({d.name} does)"
                )
        if self.statement.claim.relation not in ("=", "<=", "<"):
            raise Refused("an induction proves a relation")
        self._note("induct", self.statement.claim.lhs)
        base = _at_stage(self.statement, n, ix.const(start), keep=False)
        check_claim(Context.root(base), base.claim)
        _Checker._nested(self, base, r["base"], ())
        following = _at_stage(self.statement, n, ix.add(ix.var(n), ix.ONE), keep=True)
        check_claim(Context.root(following), following.claim)
        _Checker._nested(self, following, r["step"], (self._induction_hypothesis(n),))

    def _nested(self, statement: Statement, proof: Any, extra: tuple[Hypothesis, ...]) -> None:
        inner = _Checker(self.replay, statement)
        inner.result = self.result
        inner._chain_of(proof, Context.root(statement, extra), statement.claim)

    def _induction_hypothesis(self, n: str) -> Hypothesis:
        """Return the claim at exactly n, for arbitrary values of the free indices."""
        claim = self.statement.claim
        conditions: list[ix.Cond] = []
        for h in self.statement.hypotheses:
            mentions = _hypothesis_names(h)
            if n not in mentions:
                continue
            if h.condition is None or h.forall or h.conditions:
                raise Refused(f"hypothesis {h.name} mentions {n} and is no plain index condition")
            conditions.append(h.condition)
        renamed: dict[str, Term] = {}
        forall: list[tuple[str, ix.Axis]] = []
        for d in self.statement.declared:
            if d.kind == "index":
                axis = ix.axis_substitute(d.axes[0], _index_values(renamed))
                forall.append((f"%IH.{d.name}", axis))
                renamed[d.name] = ("int", ix.var(f"%IH.{d.name}"))
        if claim.rhs is None:
            raise Refused("an induction proves a relation")
        return Hypothesis(
            "IH",
            tuple(forall),
            tuple(ix.cond_substitute(c, _index_values(renamed)) for c in conditions),
            claim.relation,
            substitute(claim.lhs, renamed),
            substitute(claim.rhs, renamed),
        )

    # -------------------------------------------------------------- accounts

    def _note(self, rule: str, t: Term) -> None:
        self.result.rules[rule] = self.result.rules.get(rule, 0) + 1
        if rule in RULES:
            self.result.steps += 1
        self.result.axioms |= set(RULE_AXIOMS[rule])
        self._notions(t)

    def _notions(self, t: Term) -> None:
        if t is self._noted:
            return  # a step is noted once for its rule and once for each law, with the same line
        self._noted = t
        for notion in {u[0] for u in subterms(t)}:
            self.result.axioms.update(_NOTIONS.get(notion, ()))


def _index_values(values: Mapping[str, Term]) -> Any:
    return lambda a: values[a[1]][1] if a[0] == "v" and a[1] in values else None


def _axis_names(axis: ix.Axis) -> set[str]:
    return free_variables(("sum", axis, ("q", 0, 1)))


def _all_axes(d: Declared) -> tuple[ix.Axis, ...]:
    return d.axes if d.codomain is None else (*d.axes, d.codomain)


def _hypothesis_names(h: Hypothesis) -> set[str]:
    names: set[str] = set()
    for t in (h.lhs, h.rhs):
        names |= free_variables(t) if t is not None else set()
    for _, axis in h.forall:
        names |= _axis_names(axis)
    for c in (*h.conditions, *([h.condition] if h.condition is not None else [])):
        names |= free_variables(("ind", c))
    return names


def _at_stage(statement: Statement, n: str, stage: ix.Poly, *, keep: bool) -> Statement:
    """Return the statement with n replaced by `stage` (n itself stays declared when `keep`)."""
    values: dict[str, Term] = {n: ("int", stage)}
    index = _index_values(values)

    def declared(d: Declared) -> Declared:
        if d.kind != "index":
            return d
        return Declared("index", d.name, tuple(ix.axis_substitute(a, index) for a in d.axes))

    def hypothesis(h: Hypothesis) -> Hypothesis:
        if n not in _hypothesis_names(h):
            return h
        return Hypothesis(
            h.name,
            tuple((m, ix.axis_substitute(a, index)) for m, a in h.forall),
            tuple(ix.cond_substitute(c, index) for c in h.conditions),
            h.relation,
            None if h.lhs is None else substitute(h.lhs, values),
            None if h.rhs is None else substitute(h.rhs, values),
            None if h.condition is None else ix.cond_substitute(h.condition, index),
        )

    claim = statement.claim
    return Statement(
        statement.name,
        tuple(declared(d) for d in statement.declared if keep or d.name != n),
        Claim(
            claim.relation,
            substitute(claim.lhs, values),
            None if claim.rhs is None else substitute(claim.rhs, values),
        ),
        tuple(hypothesis(h) for h in statement.hypotheses),
        statement.independent,
        statement.definitions,
    )


def _check_factors(ctx: Context, claim: Claim, last: Term) -> None:
    """Refuse unless the last line is ``sum over c in axis of A[row, c] * B[c, column]``."""
    if last[0] != "sum" or last[2][0] != "mul" or len(last[2]) != 3:
        raise Refused("factor: the last line must be a sum of products of two factors")
    if claim.axis is None or ix.axis_size(last[1]) != ix.axis_size(claim.axis):
        raise Refused("factor: the inner size is not the one that is claimed")
    if free_variables(("sum", last[1], ("q", 0, 1))) & {claim.row, claim.column}:
        raise Refused("factor: the inner axis depends on the row or the column")
    inner, c = ctx.below(last[1])
    a, b = instantiate(last[2][1], (c,)), instantiate(last[2][2], (c,))
    if claim.column in free_variables(a):
        raise Refused("factor: the left factor depends on the column")
    if claim.row in free_variables(b):
        raise Refused("factor: the right factor depends on the row")
    if claim.rhs is not None:
        prescribed = instantiate(claim.rhs[2], (c, ix.var(claim.column)))
        if not same(inner, b, prescribed):
            raise Refused("factor: the right factor is not the one that is claimed")


def replay_all(certificates: Iterable[Any]) -> dict[str, Proved]:
    """Replay parsed certificates together; each may cite statements of the others.

    Returns
    -------
    dict
        What was proved, by digest.

    Raises
    ------
    Refused
        With the name of the statement whose proof is not accepted.
    """
    replay = Replay()
    digests = [d for data in certificates for d in replay.load(data)]
    for digest in digests:
        try:
            replay.prove(digest)
        except Refused as refusal:
            raise Refused(f"{replay.name_of(digest)}: {refusal.reason}", refusal.term) from None
        except RecursionError:
            raise Refused(f"{replay.name_of(digest)}: nested too deeply") from None
    return replay.proved
