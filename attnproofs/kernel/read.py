"""Reading certificates: JSON to checked data, refusing everything that is not exactly in format.

Nothing is evaluated. Sizes and nesting are bounded, so that a hostile file costs bounded time and
memory. Index polynomials are brought to normal form again, so that no term can be smuggled in that
is not one a constructor would build.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from math import gcd
from typing import Any

from attnproofs.kernel import index as ix
from attnproofs.kernel.refused import Refused
from attnproofs.kernel.statement import Claim, Declared, Definition, Hypothesis, Statement
from attnproofs.kernel.terms import UNARY, Term

FORMAT = 1
LARGEST_FILE = 16 * 1024 * 1024
_LARGEST_INTEGER = 10**200


class Unreadable(Exception):
    """A file is no certificate in the known format; the message is one sentence."""


def parse(raw: bytes) -> Any:
    """Return the JSON value in `raw`.

    Raises
    ------
    Unreadable
        When it is too large, not UTF-8, not JSON, or nested too deeply.
    """
    if len(raw) > LARGEST_FILE:
        raise Unreadable(f"larger than {LARGEST_FILE // 2**20} MiB, so no certificate of ours")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise Unreadable("not UTF-8 text") from None
    try:
        return json.loads(
            text,
            object_pairs_hook=_unique,
            parse_float=_no_number,
            parse_constant=_no_number,
            parse_int=_integer,
        )
    except json.JSONDecodeError:
        raise Unreadable("not JSON (or cut off)") from None
    except RecursionError:
        raise Unreadable("nested too deeply") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Unreadable("an object has the same key twice")
    return found


def _no_number(text: str) -> Any:
    raise Unreadable(f"the number {text[:20]} is not an integer")


def _integer(text: str) -> int:
    if len(text) > 201:
        raise Unreadable("an integer has more than 200 digits")
    return int(text)


# ---------------------------------------------------------------------- helpers


def record(x: Any, keys: tuple[str, ...], what: str) -> dict[str, Any]:
    """Return `x` as an object with exactly `keys`."""
    if not isinstance(x, dict):
        raise Refused(f"{what}: an object is expected")
    if set(x) != set(keys):
        odd = sorted(set(x) ^ set(keys))
        raise Refused(f"{what}: missing or unknown keys: {', '.join(map(str, odd))}")
    return x


def sequence(x: Any, what: str) -> list[Any]:
    """Return `x` as a list."""
    if not isinstance(x, list):
        raise Refused(f"{what}: a list is expected")
    return x


def text(x: Any, what: str) -> str:
    """Return `x` as a string."""
    if not isinstance(x, str) or len(x) > 200 or not x.isprintable():
        raise Refused(f"{what}: a short text is expected")
    return x


def integer(x: Any, what: str) -> int:
    """Return `x` as an integer."""
    if not isinstance(x, int) or isinstance(x, bool) or abs(x) > _LARGEST_INTEGER:
        raise Refused(f"{what}: an integer is expected")
    return x


def _name(x: Any, what: str) -> str:
    name = text(x, what)
    if not name or name.startswith("%"):
        raise Refused(f"{what}: not a name: {name!r}")
    return name


def _optional(x: Any, read: Callable[[Any], Any]) -> Any:
    return None if x is None else read(x)


# ---------------------------------------------------------------------- indices and terms


def index(x: Any) -> ix.Index:
    """Read an index: a polynomial or a pair."""
    parts = sequence(x, "index")
    if parts and parts[0] == "pair":
        if len(parts) != 3:
            raise Refused("index: a pair has two components")
        return ("pair", index(parts[1]), index(parts[2]))
    return poly(x)


def poly(x: Any) -> ix.Poly:
    """Read an index polynomial and bring it to normal form."""
    terms = []
    for entry in sequence(x, "index"):
        pair = sequence(entry, "index")
        if len(pair) != 2:
            raise Refused("index: a monomial and its coefficient are expected")
        atoms = [_atom(a) for a in sequence(pair[0], "index")]
        terms.append((tuple(sorted(atoms)), integer(pair[1], "index")))
    return ix.normal(terms)


def _atom(x: Any) -> ix.Atom:
    parts = sequence(x, "index")
    match parts:
        case ["v", str(name)]:
            return ("v", text(name, "index"))
        case ["b", int(k)] if not isinstance(k, bool) and 0 <= k < 100:
            return ("b", k)
        case ["f", str(name), list(arguments)]:
            return ("f", _name(name, "index"), tuple(poly(a) for a in arguments))
    raise Refused("index: not an atom")


def axis(x: Any) -> ix.Axis:
    """Read an axis."""
    parts = sequence(x, "axis")
    match parts:
        case ["range", lo, hi]:
            return ("range", poly(lo), poly(hi))
        case ["prod", first, second]:
            return ("prod", axis(first), axis(second))
    raise Refused("axis: a range or a product of axes is expected")


def cond(x: Any) -> ix.Cond:
    """Read an index condition."""
    parts = sequence(x, "condition")
    match parts:
        case ["ge", p]:
            return ix.ge(poly(p))
        case ["eq", p]:
            return ix.eq(poly(p))
        case ["pred", str(name), list(indices)]:
            return ("pred", _name(name, "condition"), tuple(index(i) for i in indices))
        case ["not", c]:
            return ("not", cond(c))
        case ["and" | "or" as tag, c, d]:
            return (tag, cond(c), cond(d))
    raise Refused("condition: not a condition")


def term(x: Any) -> Term:
    """Read a real term."""
    parts = sequence(x, "term")
    match parts:
        case ["q", n, d]:
            n, d = integer(n, "term"), integer(d, "term")
            if d <= 0 or gcd(n, d) != 1:
                raise Refused("term: a rational number is not in lowest terms")
            return ("q", n, d)
        case ["ix", p]:
            return ("ix", poly(p))
        case ["sym", name]:
            return ("sym", _name(name, "term"))
        case ["ent", name, list(indices)]:
            return ("ent", _name(name, "term"), tuple(index(i) for i in indices))
        case ["add" | "mul" as tag, _, _, *_]:
            return (tag, *(term(u) for u in parts[1:]))
        case ["pow", u, n]:
            if not 0 <= integer(n, "term") <= 64:
                raise Refused("term: a power needs an exponent from 0 to 64")
            return ("pow", term(u), n)
        case ["sum", a, u]:
            return ("sum", axis(a), term(u))
        case ["ind", c]:
            return ("ind", cond(c))
        case ["E", u]:
            return ("E", term(u))
        case ["D", x, u]:
            return ("D", term(x), term(u))
        case ["app", name, list(arguments), list(indices)]:
            return (
                "app",
                _name(name, "term"),
                tuple(_argument(a) for a in arguments),
                tuple(index(i) for i in indices),
            )
        case [str(tag), u] if tag in UNARY:
            return (tag, term(u))
    raise Refused("term: not a term")


def _argument(x: Any) -> Term:
    parts = sequence(x, "argument")
    match parts:
        case ["int", p]:
            return ("int", poly(p))
        case ["real", u]:
            return ("real", term(u))
        case ["lam", k, u]:
            return ("lam", _width(k), term(u))
    raise Refused("argument: not an argument of a defined symbol")


def _width(x: Any) -> int:
    if not 0 <= integer(x, "value") <= 8:
        raise Refused("value: from 0 to 8 axes are expected")
    return int(x)


def value(x: Any) -> Term:
    """Read the value of a symbol in a lemma instance."""
    parts = sequence(x, "value")
    match parts:
        case ["cond", k, c]:
            return ("cond", _width(k), cond(c))
        case ["fun", k, p]:
            return ("fun", _width(k), poly(p))
        case ["int", i]:
            return ("int", index(i))
    return _argument(x)


# ---------------------------------------------------------------------- statements


def statement(x: Any) -> Statement:
    """Read a statement."""
    if opened_names(x):
        raise Refused("statement: a name may not begin with %")
    r = record(
        x, ("name", "declared", "independent", "definitions", "hypotheses", "claim"), "statement"
    )
    return Statement(
        name=_name(r["name"], "statement"),
        declared=tuple(_declared(d) for d in sequence(r["declared"], "declared")),
        claim=_claim(r["claim"]),
        hypotheses=tuple(_hypothesis(h) for h in sequence(r["hypotheses"], "hypotheses")),
        independent=tuple(
            tuple(_name(n, "independent") for n in sequence(g, "independent"))
            for g in sequence(r["independent"], "independent")
        ),
        definitions=tuple(_definition(d) for d in sequence(r["definitions"], "definitions")),
    )


_DECLARED_KINDS = ("dimension", "index", "scalar", "tensor", "predicate", "function", "family")


def _declared(x: Any) -> Declared:
    r = record(x, ("kind", "name", "axes", "least", "codomain", "order", "independent"), "declared")
    if r["kind"] not in _DECLARED_KINDS:
        raise Refused(f"declared: unknown kind {r['kind']!r}")
    if not isinstance(r["independent"], bool):
        raise Refused("declared: 'independent' is true or false")
    least, order = integer(r["least"], "declared"), integer(r["order"], "declared")
    axes = tuple(axis(a) for a in sequence(r["axes"], "declared"))
    kind = r["kind"]
    # what a kind does not use has one value only, so that no field is idle
    if (kind != "dimension" and least != 1) or least not in (0, 1):
        raise Refused("declared: 'least' is 0 or 1, and 1 unless a dimension is declared")
    if (kind != "family" and (order or r["independent"])) or order < 0:
        raise Refused("declared: only a random family has moments and independence")
    if kind != "function" and r["codomain"] is not None:
        raise Refused("declared: only an index function has a codomain")
    if (kind in ("dimension", "scalar") and axes) or (kind == "index" and len(axes) != 1):
        raise Refused(f"declared: a {kind} has another number of axes")
    return Declared(
        kind,
        _name(r["name"], "declared"),
        axes,
        least,
        _optional(r["codomain"], axis),
        order,
        r["independent"],
    )


def _definition(x: Any) -> Definition:
    r = record(x, ("name", "params", "indices", "body", "recursion", "base"), "definition")
    return Definition(
        name=_name(r["name"], "definition"),
        params=tuple(_parameter(p) for p in sequence(r["params"], "definition")),
        indices=_bound(r["indices"], "definition"),
        body=term(r["body"]),
        recursion=_optional(r["recursion"], lambda n: _name(n, "definition")),
        base=_optional(r["base"], term),
    )


def _parameter(x: Any) -> tuple[Any, ...]:
    parts = sequence(x, "parameter")
    match parts:
        case ["int", name, 0 | 1 as least]:
            return ("int", _name(name, "parameter"), least)
        case ["tensor", name, list(axes)]:
            return ("tensor", _name(name, "parameter"), tuple(axis(a) for a in axes))
        case ["real" | "random" as kind, name]:
            return (kind, _name(name, "parameter"))
    raise Refused("parameter: not a parameter of a definition")


def _bound(x: Any, what: str) -> tuple[tuple[str, ix.Axis], ...]:
    pairs = []
    for entry in sequence(x, what):
        pair = sequence(entry, what)
        if len(pair) != 2:
            raise Refused(f"{what}: a name and its axis are expected")
        pairs.append((_name(pair[0], what), axis(pair[1])))
    return tuple(pairs)


def _hypothesis(x: Any) -> Hypothesis:
    r = record(
        x, ("name", "forall", "conditions", "relation", "lhs", "rhs", "condition"), "hypothesis"
    )
    if (r["relation"] is None) != (r["lhs"] is None) or (r["lhs"] is None) != (r["rhs"] is None):
        raise Refused("hypothesis: a relation needs two terms")
    return Hypothesis(
        name=_name(r["name"], "hypothesis"),
        forall=_bound(r["forall"], "hypothesis"),
        conditions=tuple(cond(c) for c in sequence(r["conditions"], "hypothesis")),
        relation=_optional(r["relation"], lambda s: text(s, "hypothesis")),
        lhs=_optional(r["lhs"], term),
        rhs=_optional(r["rhs"], term),
        condition=_optional(r["condition"], cond),
    )


def _claim(x: Any) -> Claim:
    r = record(x, ("relation", "lhs", "rhs", "row", "column", "axis", "axes"), "claim")
    relation = text(r["relation"], "claim")
    if relation not in ("=", "<=", "<", "factors", "shape"):
        raise Refused(f"claim: not a relation: {relation!r}")
    factors, shape = relation == "factors", relation == "shape"
    if (not factors and (r["row"] or r["column"] or r["axis"] is not None)) or (
        not shape and r["axes"] != []
    ):
        raise Refused("claim: a field is given that this relation does not have")
    if shape and r["rhs"] is not None:
        raise Refused("claim: a shape has one term")
    lhs = _argument(r["lhs"]) if shape else term(r["lhs"])
    rhs = _optional(r["rhs"], _argument if factors else term)
    return Claim(
        relation,
        lhs,
        rhs,
        row=text(r["row"], "claim"),
        column=text(r["column"], "claim"),
        axis=_optional(r["axis"], axis),
        axes=tuple(axis(a) for a in sequence(r["axes"], "claim")),
    )


# ---------------------------------------------------------------------- steps


def _laws(x: Any) -> tuple[str, ...]:
    return tuple(text(law, "laws") for law in sequence(x, "laws"))


def _binding(x: Any) -> dict[str, ix.Index]:
    if not isinstance(x, dict):
        raise Refused("at: an object of indices is expected")
    return {text(n, "at"): index(i) for n, i in x.items()}


def _values(x: Any) -> dict[str, Term]:
    if not isinstance(x, dict):
        raise Refused("with: an object of values is expected")
    return {_name(n, "with"): value(v) for n, v in x.items()}


def _citations(x: Any) -> tuple[dict[str, Any], ...]:
    found = []
    for entry in sequence(x, "facts"):
        if isinstance(entry, dict) and "name" in entry:
            r = record(entry, ("name", "at"), "fact")
            found.append({"name": text(r["name"], "fact"), "at": _binding(r["at"])})
        else:
            r = record(entry, ("lemma", "with"), "fact")
            found.append({"lemma": text(r["lemma"], "fact"), "with": _values(r["with"])})
    return tuple(found)


# rule -> (argument, how to read it, whether it is required)
ARGUMENTS: dict[str, tuple[tuple[str, Callable[[Any], Any], bool], ...]] = {
    "ring": (("laws", _laws, False),),
    "ixeq": (),
    "rec": (),
    "absurd": (),
    "hyp": (("name", lambda x: text(x, "name"), True), ("at", _binding, True)),
    "lemma": (
        ("lemma", lambda x: text(x, "lemma"), True),
        ("with", _values, True),
        ("facts", _citations, False),
    ),
    "sum_swap": (),
    "sum_split": (("cut", poly, True),),
    "sum_bij": (
        ("to", index, True),
        ("from", index, True),
        ("where", cond, False),
        ("where_after", cond, False),
    ),
    "abs_val": (("facts", _citations, False),),
    "abs_bound": (("facts", _citations, False),),
    "sqrt_square": (),
    "sign": (("facts", _citations, False),),
    "order": (("difference", term, False), ("laws", _laws, False), ("facts", _citations, False)),
    "exp_ge": (),
    "exp_enclose": (("terms", lambda x: integer(x, "terms"), True),),
    "E_indep": (),
    "diff": (("laws", _laws, False),),
}


def arguments(rule: str, x: Any) -> dict[str, Any]:
    """Read the arguments of a step: exactly those that its rule takes."""
    if rule not in ARGUMENTS:
        raise Refused(f"unknown rule: {rule}")
    if not isinstance(x, dict):
        raise Refused(f"{rule}: the arguments are an object")
    known = {name: read for name, read, _ in ARGUMENTS[rule]}
    required = {name for name, _, needed in ARGUMENTS[rule] if needed}
    if set(x) - set(known) or required - set(x):
        raise Refused(f"{rule}: takes the arguments {', '.join(known) or '(none)'}")
    return {name: known[name](v) for name, v in x.items()}


def opened_names(x: Any) -> set[str]:
    """Return the names of opened indices (``%0``, ``%1`` ...) that JSON data mention.

    Opening a binder gives its index such a name. A line or a statement that mentions one could be
    mistaken for the bound index; the arguments of a step may mention those that are open there.
    """
    # most data mention none, and asking the text is much quicker than walking the lists
    shown = repr(x)
    return _opened_names(x) if "'%" in shown or '"%' in shown else set()


def _opened_names(x: Any) -> set[str]:
    if isinstance(x, dict):
        return {n for v in x.values() for n in _opened_names(v)}
    if not isinstance(x, list):
        return set()
    if len(x) == 2 and x[0] == "v" and isinstance(x[1], str):
        return {x[1]} if x[1].startswith("%") else set()
    return {n for v in x for n in _opened_names(v)}


def path(x: Any) -> tuple[int, ...]:
    """Read a position."""
    return tuple(integer(k, "position") for k in sequence(x, "position"))
