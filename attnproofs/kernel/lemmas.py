"""Using a proved statement: a value for each of its symbols, and its hypotheses become obligations.

Three guards beyond ranges and hypotheses, each of which stops a false instance:

* a lemma that differentiates with respect to ``s[..]`` may only be used with entries of one tensor,
  at distinct places, and with nothing else that mentions this tensor
  (else ``D(v s_i) = v [i = j]`` gives ``D(s_i^2) = s_i [i = j]``);
* in a lemma that mentions E, a symbol that is not random may not stand for something random
  (else ``E c = c`` gives ``E q = q``); without E the lemma holds outcome by outcome;
* what a lemma declares independent must be independent here, too
  (else ``E(q.k) = 0`` gives ``E(q.q) = 0``).
"""

from __future__ import annotations

from collections.abc import Mapping

from attnproofs.kernel import index as ix
from attnproofs.kernel.algebra import same
from attnproofs.kernel.context import Context, mentions_bound
from attnproofs.kernel.refused import Refused
from attnproofs.kernel.sign import bound, is_nonnegative, is_positive, match_term
from attnproofs.kernel.statement import Declared, Hypothesis, Statement
from attnproofs.kernel.terms import (
    Term,
    cond_substitute,
    instantiate,
    map_indices,
    minus,
    substitute,
    substitution,
    subterms,
    symbols,
)
from attnproofs.kernel.wellformed import check_moments, random_symbols

# the laws under which a lemma's hypothesis may be recognised as something known
_BASIC = ("ind_val", "ind_bool", "sum_empty", "sum_single", "sum_add", "sum_scale", "expring")
_KINDS = {"dimension": "int", "index": "int", "scalar": "real", "tensor": "lam", "family": "lam",
          "predicate": "cond", "function": "fun"}  # fmt: skip

Values = Mapping[str, Term]


def lemma_instance(ctx: Context, lemma: Statement, values: Values) -> tuple[Term, Term]:
    """Return both sides of the lemma's claim at `values`, after discharging everything it asks.

    Parameters
    ----------
    ctx
        Where the lemma is used.
    lemma
        A statement that has been proved.
    values
        For each symbol that the lemma declares: ``("int", p)``, ``("real", t)``, ``("lam", k, t)``,
        ``("cond", k, c)`` or ``("fun", k, p)``.

    Raises
    ------
    Refused
        Naming the symbol, hypothesis or guard that fails.
    """
    if lemma.claim.relation not in ("=", "<=", "<") or lemma.claim.rhs is None:
        raise Refused(f"lemma {lemma.name} is no relation between two terms")
    for made in lemma.definitions:
        if ctx.statement.definition.get(made.name) != made:
            raise Refused(
                f"lemma {lemma.name} defines {made.name} otherwise (or it is missing here)"
            )
    if set(values) != set(lemma.symbol):
        missing = sorted(set(lemma.symbol) ^ set(values))
        raise Refused(
            f"lemma {lemma.name}: values are needed for exactly its symbols ({', '.join(missing)})"
        )
    for d in lemma.declared:
        _check_value(ctx, lemma, d, values)
    _check_independence(ctx, lemma, values)
    _check_derivatives(lemma, values)
    for h in lemma.hypotheses:
        _discharge(ctx, lemma, h, values)
    return substitute(lemma.claim.lhs, values), substitute(lemma.claim.rhs, values)


def _check_value(ctx: Context, lemma: Statement, d: Declared, values: Values) -> None:
    value = values[d.name]
    where = f"lemma {lemma.name}, symbol {d.name}"
    if value[0] != _KINDS[d.kind]:
        raise Refused(f"{where}: a value of another kind is needed")
    if value[0] in ("lam", "cond", "fun") and value[1] != len(d.axes):
        raise Refused(f"{where}: {len(d.axes)} axes are needed, not {value[1]}")
    _locally_closed(value, where)
    outer = substitution(values)
    if d.kind == "dimension":
        if ix.is_pair(value[1]) or not ctx.holds(ix.ge(value[1], ix.const(d.least))):
            raise Refused(f"{where}: cannot show that the dimension is at least {d.least}")
        return
    axes = tuple(ix.axis_substitute(a, outer) for a in d.axes)
    if d.kind == "index":
        missing = ctx.in_axis(value[1], axes[0])
        if missing:
            raise Refused(f"{where}: out of range: {missing}")
        return
    inner, opened = ctx, []
    for axis in axes:
        inner, i = inner.below(axis)
        opened.append(i)
    if d.kind == "function" and d.codomain is not None:
        image = ix.substitute(value[2], lambda a: opened[a[1]] if a[0] == "b" else None)
        codomain = ix.axis_substitute(d.codomain, outer)
        codomain = ix.axis_substitute(codomain, lambda a: opened[a[1]] if a[0] == "b" else None)
        missing = inner.in_axis(image, codomain)
        if missing:
            raise Refused(f"{where}: a value is out of range: {missing}")
    if d.kind in ("scalar", "tensor") and _mentions_expectation(lemma):
        term = value[1] if d.kind == "scalar" else instantiate(value[2], tuple(opened))
        if random_symbols(ctx.statement, term):
            raise Refused(f"{where}: it is not random, and its value is")
    if d.kind == "family":
        check_moments(inner, instantiate(value[2], tuple(opened)), d.order)


def _mentions_expectation(lemma: Statement) -> bool:
    terms = [lemma.claim.lhs, lemma.claim.rhs]
    terms += [t for h in lemma.hypotheses for t in (h.lhs, h.rhs)]
    terms += [t for d in lemma.definitions for t in (d.body, d.base)]
    return any(u[0] == "E" for t in terms if t is not None for u in subterms(t))


def _locally_closed(value: Term, where: str) -> None:
    width = 0 if value[0] in ("int", "real") else value[1]
    if value[0] in ("int", "fun"):
        if any(a[0] == "b" and a[1] >= width for a in _atoms(value[-1])):
            raise Refused(f"{where}: the value mentions an index bound outside it")
        return
    if value[0] == "cond":
        ix.cond_substitute(value[2], lambda a: _inside(a, width, where))
        return

    def note(i: ix.Index, depth: int) -> ix.Index:
        if any(a[0] == "b" and a[1] >= depth + width for a in _atoms(i)):
            raise Refused(f"{where}: the value mentions an index bound outside it")
        return i

    map_indices(value[-1], note)


def _inside(a: ix.Atom, width: int, where: str) -> None:
    if a[0] == "b" and a[1] >= width:
        raise Refused(f"{where}: the value mentions an index bound outside it")


def _atoms(i: ix.Index) -> set[ix.Atom]:
    return _atoms(i[1]) | _atoms(i[2]) if ix.is_pair(i) else ix.atoms(i)


def _check_independence(ctx: Context, lemma: Statement, values: Values) -> None:
    images: dict[str, str] = {}
    grouped = {name for group in lemma.independent for name in group}
    for d in lemma.declared:
        if d.kind != "family" or not (d.independent or d.name in grouped):
            continue
        body = values[d.name][2]
        where = f"lemma {lemma.name}, family {d.name}"
        ours = ctx.statement.symbol.get(body[1]) if body[0] == "ent" else None
        if ours is None or ours.kind != "family":
            raise Refused(
                f"{where}: declared independent, so it must be a family or a slice of one"
            )
        if d.independent and not (ours.independent and _distinct_places(body, len(d.axes))):
            raise Refused(f"{where}: independent components are needed")
        images[d.name] = ours.name
    for group in lemma.independent:
        families = [images[name] for name in group]
        if len(set(families)) < len(families):
            raise Refused(f"lemma {lemma.name} needs different families, and two are the same")
        if not any(set(families) <= set(g) for g in ctx.statement.independent):
            raise Refused(f"lemma {lemma.name}: {', '.join(families)} are not declared independent")


def _distinct_places(entry: Term, width: int) -> bool:
    """Tell whether different bound indices reach different entries: each stands alone, once."""
    places = [i for i in entry[2] if mentions_bound(i)]
    return sorted(places) == sorted(ix.atom(("b", k)) for k in range(width))


def _check_derivatives(lemma: Statement, values: Values) -> None:
    terms = [t for t in (lemma.claim.lhs, lemma.claim.rhs) if t is not None]
    terms += [t for h in lemma.hypotheses for t in (h.lhs, h.rhs) if t is not None]
    for name in sorted({u[1][1] for t in terms for u in subterms(t) if u[0] == "D"}):
        value = values[name]
        where = f"lemma {lemma.name} differentiates with respect to {name}"
        body = value[-1]
        if body[0] not in ("ent", "sym"):
            raise Refused(f"{where}, which must be an entry or a scalar here")
        if body[0] == "ent" and not _distinct_places(body, value[1]):
            raise Refused(f"{where}, whose entries must be distinct entries here")
        for other, v in values.items():
            if other != name and v[0] in ("real", "lam") and body[1] in symbols(v[-1]):
                raise Refused(f"{where}, and the value of {other} depends on it")


def _discharge(ctx: Context, lemma: Statement, h: Hypothesis, values: Values) -> None:
    inner, inside = ctx, dict(values)
    for name, axis in h.forall:
        inner, i = inner.below(ix.axis_substitute(axis, substitution(inside)))
        inside[name] = ("int", i)
    atoms = substitution(inside)
    inner = inner.given(cond_substitute(c, inside, atoms) for c in h.conditions)
    if inner.absurd():
        return
    where = f"lemma {lemma.name} needs its hypothesis {h.name}, which is not shown here"
    if h.condition is not None:
        if not inner.holds(cond_substitute(h.condition, inside, atoms)):
            raise Refused(where)
        return
    if h.lhs is None or h.rhs is None:
        raise Refused(where)
    lhs, rhs = substitute(h.lhs, inside), substitute(h.rhs, inside)
    if h.relation == "=":
        if not (same(inner, lhs, rhs, _BASIC) or _known_equality(inner, lhs, rhs)):
            raise Refused(where)
        return
    shown = is_positive if h.relation == "<" else is_nonnegative
    if not (shown(inner, minus(rhs, lhs)) or _known_inequality(inner, str(h.relation), lhs, rhs)):
        raise Refused(where)


def _known_equality(ctx: Context, lhs: Term, rhs: Term) -> bool:
    return any(h.relation == "=" and _is_instance(ctx, h, lhs, rhs) for h in ctx.relations)


def _known_inequality(ctx: Context, relation: str, lhs: Term, rhs: Term) -> bool:
    return any(
        h.relation in (relation, "<") and _is_instance(ctx, h, lhs, rhs) for h in ctx.relations
    )


def _is_instance(ctx: Context, h: Hypothesis, lhs: Term, rhs: Term) -> bool:
    if h.lhs is None or h.rhs is None:
        return False
    names = frozenset(n for n, _ in h.forall)
    binding: dict[str, ix.Index] = {}
    if not match_term(h.lhs, lhs, names, binding) or set(binding) != names:
        return False
    values = {n: ("int", i) for n, i in binding.items()}
    for n, axis in h.forall:
        if ctx.in_axis(binding[n], ix.axis_substitute(axis, substitution(values))):
            return False
    if not all(ctx.holds(ix.cond_substitute(c, substitution(values))) for c in h.conditions):
        return False
    return same(ctx, bound(h.rhs, binding), rhs, _BASIC)
