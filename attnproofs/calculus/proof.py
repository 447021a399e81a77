"""Derivations: a chain of lines, each with the rules that lead to it, turned into a certificate.

A line names its rules; this module finds positions and instances and hands every step to the
kernel at once, so that a wrong line is refused where it is written. What counts is still the replay
of the finished certificate in a clean interpreter.

Rules that are laws of the normal form are given as strings (``"ring"``, ``"unfold"``,
``"sum_scale"``, ``"expring"`` ...); rules that rewrite are the functions of this module.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from attnproofs.calculus.matching import Position, Values, children, differences, match, positions
from attnproofs.calculus.symbols import (
    Array,
    Cond,
    Expr,
    IndexFunction,
    Ix,
    Predicate,
    Real,
    Scope,
    as_expr,
)
from attnproofs.errors import AttnproofsError
from attnproofs.kernel import index as ix
from attnproofs.kernel.algebra import LAWS
from attnproofs.kernel.context import Context
from attnproofs.kernel.definitions import recursion_step, unfolded
from attnproofs.kernel.refused import Refused
from attnproofs.kernel.replay import Replay, _Checker
from attnproofs.kernel.statement import Statement
from attnproofs.kernel.terms import Term, abstract, substitute, subterms
from attnproofs.kernel.wellformed import check


class ProofRefused(AttnproofsError):
    """A line of a derivation is not accepted. Says which line, by which rules, and why."""

    exit_status = 1

    def __init__(self, message: str, *, line: int = 0, term: Any = None) -> None:
        super().__init__(with_letters(message))
        self.line = line
        self.term = term


def with_letters(refusal: str) -> str:
    """Return what the kernel says with letters for the names that it gives to bound indices.

    Examples
    --------
    >>> with_letters("cannot show %0 <= j + %1")
    'cannot show l <= j + m'
    """
    used = set(re.findall(r"[^\W\d]\w*", refusal))
    free = (letter for letter in "jlmrabcuvw" if letter not in used)
    opened = dict.fromkeys(re.findall(r"%(?:any)?\d+", refusal))
    given = dict(zip(opened, free))
    named = re.sub(r"%(?:any)?\d+", lambda m: given.get(m[0], m[0]), refusal)
    return re.sub(r"%(?:IH\.|every\.)?(?=[^\W\d])", "", named)


@dataclass(frozen=True)
class Line:
    """A displayed line: the term, how it relates to the line before, and the reasons."""

    term: Term
    relation: str
    reasons: tuple[tuple[str, str], ...]
    steps: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class Hint:
    """How to get to the next line; made by the functions below."""

    rule: str
    of: str = ""
    data: dict[str, Any] = field(default_factory=dict)


def unfold(*names: str) -> Hint:
    """Replace defined symbols (all, or the named ones) by their definitions, before the rest."""
    return Hint("unfold", ", ".join(names), {"names": names})


def hyp(
    name: str, *, only: int | None = None, back: bool = False, at: dict[str, Ix] | None = None
) -> Hint:
    """Rewrite by a hypothesis (``"IH"``: the induction hypothesis), wherever it applies.

    `at` gives the quantified indices that cannot be read off, ``at={"i": i - 1}``.
    """
    return Hint("hyp", name, {"name": name, "only": only, "back": back, "at": at or {}})


def lemma(
    cited: Any,
    *,
    back: bool = False,
    only: int | None = None,
    within: Callable[..., dict[str, Any]] | None = None,
    facts: tuple[Any, ...] = (),
    **values: Any,
) -> Hint:
    """Rewrite by a proved statement, wherever it applies.

    Parameters
    ----------
    cited
        A theorem, or ``(theorem, "part")``.
    back
        Use the equality from right to left.
    only
        Apply it at this match only (counted from 0).
    within
        Values that depend on the indices bound around the position: a function of these.
    facts
        Further facts (`fact`, `fact_of`) with which its hypotheses are discharged.
    values
        Values of the lemma's symbols that cannot be read off.
    """
    return Hint("lemma", "", {"cited": cited, "back": back, "only": only, "within": within,
                              "facts": facts, "values": values})  # fmt: skip


def fact(name: str, **at: Any) -> dict[str, Any]:
    """Cite a hypothesis, at the given indices, as a known relation."""
    return {"name": name, "at": at}


# as the value of an index in `fact_of`: the fact for every value in the index's range
every = Hint("every")


def fact_of(cited: Any, **values: Any) -> dict[str, Any]:
    """Cite an instance of a proved statement as a known relation (an index may be `every`)."""
    return {"cited": cited, "values": values}


def rec(*, only: int | None = None, back: bool = False) -> Hint:
    """Take one step of a recursive definition (with `back`: of those in the next line)."""
    return Hint("rec", "", {"only": only, "back": back})


def via(expression: Real, *hints: str | Hint) -> Hint:
    """Go through a line that is not displayed."""
    return Hint("via", "", {"expression": expression, "hints": hints})


def split(cut: Ix | int) -> Hint:
    """Cut a range of summation after `cut`."""
    return Hint("sum_split", "", {"args": {"cut": _plain_ix(cut)}})


def reindex(
    to: Callable[[Ix], Ix | int],
    back: Callable[[Ix], Ix | int],
    *,
    where: Callable[[Ix], Cond] | None = None,
    where_after: Callable[[Ix], Cond] | None = None,
) -> Hint:
    """Sum in another order: `to` sends an index of the new sum to the old, `back` returns it."""
    args: dict[str, Any] = {"to": _lam_ix(to), "from": _lam_ix(back)}
    if where is not None:
        args["where"] = _lam_cond(where)
    if where_after is not None:
        args["where_after"] = _lam_cond(where_after)
    return Hint("sum_bij", "", {"args": args})


def order(difference: Real | None = None, *laws: str, facts: tuple[Any, ...] = ()) -> Hint:
    """Prove an inequality: the difference of both sides is `difference`, which has a sign."""
    return Hint("order", "", {"difference": difference, "laws": laws, "facts": facts})


def sign(*, facts: tuple[Any, ...] = ()) -> Hint:
    """Prove ``0 <= t`` or ``0 < t`` from the syntax of t."""
    return Hint("sign", "", {"facts": facts})


def abs_val(*, facts: tuple[Any, ...] = ()) -> Hint:
    """Replace absolute values by their arguments, or those negated, where the sign is shown."""
    return Hint("abs_val", "", {"facts": facts})


def abs_bound(*, facts: tuple[Any, ...] = ()) -> Hint:
    """Bound an absolute value: ``|t| <= u`` from ``-u <= t <= u``, or ``t <= |t|``."""
    return Hint("abs_bound", "", {"facts": facts})


def exp_enclose(terms: int) -> Hint:
    """Compare exp of a rational with a rational, by the Taylor sum to `terms`."""
    return Hint("exp_enclose", "", {"args": {"terms": terms}})


def differentiate(*laws: str) -> Hint:
    """Compute a derivative; `laws` are used when the next line is compared."""
    return Hint("diff", "", {"args": {"laws": list(laws)}})


ixeq = Hint("ixeq", "", {"args": {}})
swap = Hint("sum_swap", "", {"args": {}})
sqrt_square = Hint("sqrt_square", "", {"args": {}})
exp_ge = Hint("exp_ge", "", {"args": {}})
independent = Hint("E_indep", "", {"args": {}})
absurd = Hint("absurd", "", {"args": {}})


def _plain_ix(i: Ix | int) -> Any:
    return plain(i.index if isinstance(i, Ix) else ix.const(i))


def _lam_ix(f: Callable[[Ix], Ix | int]) -> Any:
    variable = Ix(ix.var("~k"))
    result = f(variable)
    found = result.index if isinstance(result, Ix) else ix.const(result)
    return plain(ix.substitute(found, lambda a: ix.atom(("b", 0)) if a == ("v", "~k") else None))


def _lam_cond(f: Callable[[Ix], Cond]) -> Any:
    bound = abstract(("ind", f(Ix(ix.var("~k"))).cond), (ix.var("~k"),))
    return plain(bound[1])


def plain(x: Any) -> Any:
    """Return kernel data as JSON-able lists."""
    if isinstance(x, (tuple, list)):
        return [plain(y) for y in x]
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    return x


# one replay for the process: lemmas that have been accepted can be cited by later derivations
SESSION = Replay()


def cited_statement(cited: Any) -> Statement:
    """Return the statement of a theorem or of one of its parts, proved in this process."""
    part = ""
    if isinstance(cited, tuple):
        cited, part = cited
    statement: Statement = cited.proved_statement(part)
    return statement


class Proof:
    """A derivation under construction.

    Parameters
    ----------
    statement
        What is to be proved.
    scope
        The symbols of the statement; ``proof["n s"]`` returns them.
    extra
        Relations that may be used (the induction hypothesis).
    """

    def __init__(self, statement: Statement, scope: Scope, extra: tuple[Any, ...] = ()) -> None:
        self.statement = statement
        self.scope = scope
        self.ctx = Context.root(statement, extra)
        self.term = statement.claim.lhs
        self.lines: list[Line] = []
        self._checker = _Checker(SESSION, statement)
        check(self.ctx, self.term)

    def __getitem__(self, names: str) -> Any:
        return self.scope[names]

    def line(self, expression: Real, *hints: str | Hint) -> Proof:
        """Add the line ``= expression``."""
        return self._line("=", expression, hints)

    def le(self, expression: Real, *hints: str | Hint) -> Proof:
        """Add the line ``<= expression``."""
        return self._line("<=", expression, hints)

    def lt(self, expression: Real, *hints: str | Hint) -> Proof:
        """Add the line ``< expression``."""
        return self._line("<", expression, hints)

    def _line(self, relation: str, expression: Real, hints: tuple[str | Hint, ...]) -> Proof:
        goal = as_expr(expression).term
        number = len(self.lines) + 1
        try:
            check(self.ctx, goal)
            steps = self._connect(self.term, goal, relation, hints)
            if relation == "<" and all(step["relation"] != "<" for step in steps):
                raise Refused("< is claimed, and none of the rules named is strict")
        except Refused as refusal:
            raise ProofRefused(
                f"{self.statement.name}, line {number}: {refusal.reason}",
                line=number,
                term=refusal.term,
            ) from None
        reasons = tuple(reason for h in hints for reason in _reasons(h))
        self.lines.append(Line(goal, relation, reasons, tuple(steps)))
        self.term = goal
        return self

    def chain(self) -> dict[str, Any]:
        """Return the finished chain as certificate data.

        Raises
        ------
        ProofRefused
            When the last line is not what is claimed.
        """
        claim = self.statement.claim
        if claim.relation in ("=", "<=", "<") and self.term != claim.rhs:
            if claim.rhs is not None and self.lines:
                try:
                    steps = self._connect(self.term, claim.rhs, "=", ())
                except Refused:
                    raise ProofRefused(
                        f"{self.statement.name}: the derivation ends in something else than the "
                        "right side of the claim",
                        line=len(self.lines),
                        term=self.term,
                    ) from None
                last = self.lines[-1]
                self.lines[-1] = Line(claim.rhs, last.relation, last.reasons, (*last.steps, *steps))
                self.term = claim.rhs
            else:
                raise ProofRefused(f"{self.statement.name}: the derivation has no lines")
        return {
            "kind": "chain",
            "start": plain(claim.lhs),
            "steps": [s for one in self.lines for s in one.steps],
        }

    # -------------------------------------------------------------- from one line to the next

    def _connect(
        self, start: Term, goal: Term, relation: str, hints: tuple[str | Hint, ...]
    ) -> list[dict[str, Any]]:
        rewriting = [h for h in hints if isinstance(h, Hint)]
        cursor, forward = start, []
        target, backward = goal, []
        related = relation == "="
        for h in rewriting:
            if h.rule == "via":
                middle = as_expr(h.data["expression"]).term
                check(self.ctx, middle)
                forward += self._connect(cursor, middle, "=", h.data["hints"])
                cursor = middle
            elif h.data.get("back"):
                target, steps = self._rewrite(h, target, "=", start)
                backward += steps
            else:
                strength = "=" if related else self._strength(h, relation)
                cursor, steps = self._rewrite(h, cursor, strength, target)
                related = related or strength != "="
                forward += steps
        laws = self._laws(hints, start, goal, cursor, target)
        if cursor != target:
            forward += self._algebra(cursor, target, laws)
        return forward + _turned(backward, goal)

    def _strength(self, h: Hint, relation: str) -> str:
        """Return the relation that a hint gives: its own when it is an inequality, else ``=``."""
        if h.rule in ("order", "sign"):
            return relation
        if h.rule in ("exp_ge", "exp_enclose", "abs_bound"):
            return "<="
        if h.rule == "lemma":
            return cited_statement(h.data["cited"]).claim.relation
        if h.rule == "hyp":
            found = next((x for x in self.ctx.relations if x.name == h.data["name"]), None)
            return str(found.relation) if found is not None else "="
        return "="

    def _laws(self, hints: tuple[str | Hint, ...], *terms: Term) -> list[str]:
        laws: list[str] = []
        for h in hints:
            if not isinstance(h, str) or h == "ring":
                continue
            if h == "unfold":
                laws += [f"unfold:{n}" for n in self._defined_in(*terms)]
            elif h in LAWS or h.startswith("unfold:"):
                laws.append(h)
            else:
                raise Refused(f"unknown rule: {h}")
        return list(dict.fromkeys(laws))

    def _defined_in(self, *terms: Term) -> list[str]:
        found = {u[1] for t in terms for u in subterms(t) if u[0] == "app"}
        grown = True
        while grown:
            inside = {
                u[1]
                for n in found
                for u in subterms(self.statement.definition[n].body)
                if u[0] == "app"
            }
            grown = not inside <= found
            found |= inside
        return sorted(n for n in found if self.statement.definition[n].recursion is None)

    def _algebra(self, start: Term, goal: Term, laws: list[str]) -> list[dict[str, Any]]:
        args = {"laws": laws} if laws else {}
        try:
            return [self._try(start, goal, "=", "ring", (), args)]
        except Refused as refusal:
            whole = refusal
        # the same laws at the smallest places that differ, where more may be known
        try:
            return self._locally(start, goal, "=", "ring", args)[1]
        except Refused:
            raise whole from None

    # -------------------------------------------------------------- steps

    def _try(
        self,
        before: Term,
        after: Term,
        relation: str,
        rule: str,
        path: tuple[int, ...],
        args: dict[str, Any],
        *,
        back: bool = False,
    ) -> dict[str, Any]:
        """Return the step, after the kernel has accepted it."""
        step = {"term": plain(after), "relation": relation, "rule": rule, "at": list(path),
                "args": args, "back": back}  # fmt: skip
        self._checker._step(self.ctx, before, after, step)
        return step

    def _root(self, t: Term) -> Position:
        return Position((), self.ctx, t, lambda new: new)

    def _locally(
        self, start: Term, goal: Term, relation: str, rule: str, args: dict[str, Any]
    ) -> tuple[Term, list[dict[str, Any]]]:
        """Apply a rule at the smallest places where the lines differ, or a little above."""
        cursor = start
        steps: list[dict[str, Any]] = []
        refusal = Refused(f"{rule}: the two lines do not differ")
        for _ in range(64):
            found = next(differences(self._root(cursor), goal), None)
            if found is None:
                return cursor, steps
            place, _ = found
            for length in range(len(place.path), -1, -1):
                path = place.path[:length]
                attempt = self._at(cursor, goal, path)
                if attempt is None:
                    continue
                try:
                    step = self._either_way(cursor, attempt, relation, rule, path, args)
                except Refused as error:
                    # what the rule says at the smallest place is what a reader needs to know
                    refusal = error if length == len(place.path) else refusal
                    continue
                steps.append(step)
                cursor = attempt
                break
            else:
                raise refusal
        raise refusal

    def _at(self, start: Term, goal: Term, path: tuple[int, ...]) -> Term | None:
        """Return `start` with the subterm of `goal` at `path`."""
        ours, theirs = self._descend(start, path), self._descend(goal, path)
        return None if ours is None or theirs is None else ours.rebuild(theirs.term)

    def _descend(self, t: Term, path: tuple[int, ...]) -> Position | None:
        here: Position | None = self._root(t)
        for length in range(1, len(path) + 1):
            if here is None:
                return None
            here = next((p for p in children(here) if p.path == path[:length]), None)
        return here

    def _either_way(
        self,
        before: Term,
        after: Term,
        relation: str,
        rule: str,
        path: tuple[int, ...],
        args: dict[str, Any],
    ) -> dict[str, Any]:
        try:
            return self._try(before, after, relation, rule, path, args)
        except Refused as refusal:
            if relation != "=" or rule == "ring":
                raise
            try:
                return self._try(before, after, relation, rule, path, args, back=True)
            except Refused:
                raise refusal from None

    def _rewrite(
        self, h: Hint, cursor: Term, relation: str, goal: Term
    ) -> tuple[Term, list[dict[str, Any]]]:
        match h.rule:
            case "unfold":
                return self._unfold(h, cursor)
            case "rec":
                return self._everywhere(h, cursor, relation, self._recursions)
            case "hyp":
                return self._everywhere(h, cursor, relation, self._hypotheses)
            case "lemma":
                return self._everywhere(h, cursor, relation, self._lemmas)
            case "order" | "sign" | "abs_val" | "abs_bound":
                args = self._order_args(h)
                return self._locally(cursor, goal, relation, h.rule, args)
            case _:
                return self._locally(cursor, goal, relation, h.rule, h.data["args"])

    def _order_args(self, h: Hint) -> dict[str, Any]:
        args: dict[str, Any] = {}
        if h.data.get("difference") is not None:
            args["difference"] = plain(as_expr(h.data["difference"]).term)
        laws: list[str] = []
        for law in h.data.get("laws", ()):
            laws += (
                [f"unfold:{d.name}" for d in self.statement.definitions if d.recursion is None]
                if law == "unfold"
                else [law]
            )
        if laws:
            args["laws"] = laws
        if h.data["facts"]:
            args["facts"] = [self._fact(f) for f in h.data["facts"]]
        return args

    def _fact(self, f: dict[str, Any]) -> dict[str, Any]:
        if "name" in f:
            return {"name": f["name"], "at": {n: _plain_ix(i) for n, i in f["at"].items()}}
        statement = cited_statement(f["cited"])
        given = {n: _value(v) for n, v in f["values"].items() if v is not every}
        values = self._completed(statement, given)
        kept = {n: v for n, v in values.items() if f["values"].get(n) is not every}
        return {"lemma": statement.digest, "with": plain(kept)}

    def _completed(self, statement: Statement, values: Values) -> Values:
        """Let symbols of the lemma without a value stand for ours of the same name and kind."""
        complete = dict(values)
        for d in statement.declared:
            ours = self.statement.symbol.get(d.name)
            if d.name not in complete and ours is not None and ours.kind == d.kind:
                complete[d.name] = _itself(ours)
        return complete

    def _unfold(self, h: Hint, cursor: Term) -> tuple[Term, list[dict[str, Any]]]:
        names = h.data["names"] or tuple(
            d.name for d in self.statement.definitions if d.recursion is None
        )
        result = cursor
        for _ in range(64):
            place = next(
                (
                    p
                    for p in positions(self.ctx, result)
                    if p.term[0] == "app" and p.term[1] in names
                ),
                None,
            )
            if place is None:
                break
            result = place.rebuild(unfolded(self.statement, place.term))
        if result == cursor:
            raise Refused(f"unfold: {h.of or 'no defined symbol'} does not occur")
        laws = [f"unfold:{n}" for n in sorted(names)]
        return result, [self._try(cursor, result, "=", "ring", (), {"laws": laws})]

    def _everywhere(
        self,
        h: Hint,
        cursor: Term,
        relation: str,
        instances: Callable[[Hint, Position], Iterator[tuple[Term, dict[str, Any]]]],
    ) -> tuple[Term, list[dict[str, Any]]]:
        """Apply a rewriting rule at every position where the kernel accepts it."""
        steps: list[dict[str, Any]] = []
        done: list[tuple[int, ...]] = []
        only = h.data.get("only")
        accepted = 0
        reason = Refused(f"{h.rule} {h.of}: it does not apply anywhere in the line")
        progress = True
        while progress:
            progress = False
            for place in positions(self.ctx, cursor):
                # one pass: neither inside what was rewritten, nor around it
                if any(
                    place.path[: len(d)] == d or d[: len(place.path)] == place.path for d in done
                ):
                    continue
                outcome = self._first_accepted(h, cursor, relation, place, instances)
                if isinstance(outcome, Refused):
                    reason = outcome
                    continue
                if outcome is None:
                    continue
                accepted += 1
                if only is not None and accepted - 1 != only:
                    continue
                done.append(place.path)
                cursor, step = outcome
                steps.append(step)
                progress = only is None and relation == "="
                break
        if not steps:
            raise reason
        return cursor, steps

    def _first_accepted(
        self,
        h: Hint,
        cursor: Term,
        relation: str,
        place: Position,
        instances: Callable[[Hint, Position], Iterator[tuple[Term, dict[str, Any]]]],
    ) -> tuple[Term, dict[str, Any]] | Refused | None:
        refusal: Refused | None = None
        for replacement, args in instances(h, place):
            after = place.rebuild(replacement)
            if after == cursor:
                continue
            try:
                check(self.ctx, after)
                step = self._try(cursor, after, relation, h.rule, place.path, args)
            except Refused as error:
                refusal = error
                continue
            return after, step
        return refusal

    # -------------------------------------------------------------- instances

    def _recursions(self, h: Hint, place: Position) -> Iterator[tuple[Term, dict[str, Any]]]:
        t = place.term
        found = self.statement.definition.get(t[1]) if t[0] == "app" else None
        if found is not None and found.recursion is not None:
            yield recursion_step(self.statement, t)[0], {}

    def _hypotheses(self, h: Hint, place: Position) -> Iterator[tuple[Term, dict[str, Any]]]:
        found = next((x for x in place.ctx.relations if x.name == h.data["name"]), None)
        if found is None or found.lhs is None or found.rhs is None:
            return
        kinds = {n: "index" for n, _ in found.forall}
        given: Values = {
            n: ("int", i.index)
            for n in kinds
            for short, i in h.data["at"].items()
            if n in (short, f"%IH.{short}")
        }
        sides = [(found.lhs, found.rhs), (found.rhs, found.lhs)]
        if found.relation == "=":
            sides = sides[:1]
        for pattern, other in sides:
            for values in match(pattern, place.term, kinds, given):
                for complete in self._with_indices(values, set(kinds), place):
                    at = {n: plain(v[1]) for n, v in complete.items()}
                    yield substitute(other, complete), {"name": found.name, "at": at}

    def _with_indices(self, values: Values, names: set[str], place: Position) -> Iterator[Values]:
        """Try the indices in scope for those that cannot be read off (``m <= v[l]`` from m)."""
        missing = sorted(names - set(values))
        declared = [ix.var(d.name) for d in self.statement.declared if d.kind == "index"]
        candidates = [*reversed(place.opened), *declared]
        for chosen in product(candidates, repeat=len(missing)):
            yield {**values, **{n: ("int", i) for n, i in zip(missing, chosen)}}

    def _lemmas(self, h: Hint, place: Position) -> Iterator[tuple[Term, dict[str, Any]]]:
        statement = cited_statement(h.data["cited"])
        claim = statement.claim
        if claim.rhs is None:
            return
        kinds = {d.name: d.kind for d in statement.declared}
        given = {n: _value(v) for n, v in h.data["values"].items()}
        if h.data["within"] is not None:
            try:
                more = h.data["within"](*(Ix(i) for i in place.opened))
            except TypeError:
                return  # another number of binders: not the position that is meant
            given.update({n: _value(v) for n, v in more.items()})
        sides = [(claim.lhs, claim.rhs), (claim.rhs, claim.lhs)]
        if claim.relation == "=":
            sides = sides[:1]
        for pattern, other in sides:
            whole = set(given) == set(kinds)
            found = [given] if whole else match(pattern, place.term, kinds, given)
            if whole and not _may_be(pattern, place.term, given):
                continue
            for values in found:
                complete = self._completed(statement, values)
                if set(complete) != set(kinds):
                    continue
                args: dict[str, Any] = {"lemma": statement.digest, "with": plain(complete)}
                if h.data["facts"]:
                    args["facts"] = [self._fact(f) for f in h.data["facts"]]
                try:
                    replacement = substitute(other, complete)
                except (Refused, IndexError, KeyError):
                    continue
                yield replacement, args


def _may_be(pattern: Term, target: Term, values: Values) -> bool:
    """Tell whether a lemma's side may be `target` when all its symbols have values."""
    head = pattern[0]
    if head == "ent" and pattern[1] in values:
        head = values[pattern[1]][-1][0]
    return bool(head == target[0])


def _turned(steps: list[dict[str, Any]], goal: Term) -> list[dict[str, Any]]:
    """Return steps that lead away from the goal as steps that lead to it."""
    terms = [plain(goal), *(s["term"] for s in steps)]
    turned = []
    for k in range(len(steps) - 1, -1, -1):
        turned.append({**steps[k], "term": terms[k], "back": not steps[k]["back"]})
    return turned


def _itself(d: Any) -> Term:
    bound = tuple(ix.atom(("b", k)) for k in range(len(d.axes)))
    match d.kind:
        case "dimension" | "index":
            return ("int", ix.var(d.name))
        case "scalar":
            return ("real", ("sym", d.name))
        case "predicate":
            return ("cond", len(bound), ("pred", d.name, bound))
        case "function":
            return ("fun", len(bound), ix.atom(("f", d.name, bound)))
        case _:
            return ("lam", len(bound), ("ent", d.name, bound))


def _value(v: Any) -> Term:
    """Return the kernel value that stands for `v` in a lemma instance."""
    match v:
        case Ix() if ix.is_pair(v.index):
            return ("int", v.index)
        case Ix():
            return ("int", v.index)
        case int():
            return ("int", ix.const(v))
        case Array():
            return v.lam()
        case Expr():
            return (
                ("lam", 0, v.term) if v.term[0] == "ent" and v.term[2] == () else ("real", v.term)
            )
        case Predicate():
            bound = tuple(ix.atom(("b", k)) for k in range(len(v.axes)))
            return ("cond", len(bound), ("pred", v.name, bound))
        case tuple():
            return v
    raise Refused(f"a lemma's symbol cannot stand for a {type(v).__name__}")


def condition_value(width: int, f: Callable[..., Cond]) -> Term:
    """Return the value of a predicate in a lemma instance: a function of `width` indices."""
    names = [f"~p{k}" for k in range(width)]
    variables = tuple(ix.var(n) for n in names)
    bound = abstract(("ind", f(*(Ix(v) for v in variables)).cond), variables)
    return ("cond", width, bound[1])


def index_value(width: int, f: Callable[..., Ix] | IndexFunction) -> Term:
    """Return the value of an index function in a lemma instance."""
    names = [f"~p{k}" for k in range(width)]
    variables = tuple(ix.var(n) for n in names)
    bound = abstract(("ix", f(*(Ix(v) for v in variables)).index), variables)
    return ("fun", width, bound[1])


def random_value(x: Real) -> Term:
    """Return the value of one random number in a lemma instance."""
    return ("lam", 0, as_expr(x).term)


def _reasons(h: str | Hint) -> Iterator[tuple[str, str]]:
    if isinstance(h, str):
        rule, _, of = h.partition(":")
        yield rule, of
    elif h.rule == "via":
        for inner in h.data["hints"]:
            yield from _reasons(inner)
    elif h.rule == "lemma":
        yield "lemma", cited_statement(h.data["cited"]).name
    else:
        yield h.rule, h.of
