"""One printer for kernel terms, one table of precedence, three notations.

The printer walks a term as it stands: nothing is reordered between factors or summands, nothing is
evaluated. A product with inverses becomes fractions from left to right (``x * inv(y) * z`` is the
fraction x over y, times z); a factor -1 becomes a minus sign. Bound indices get names by what they
range over, never a name that is in use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from attnproofs.kernel import index as ix
from attnproofs.kernel import terms as tm
from attnproofs.kernel.statement import Definition
from attnproofs.kernel.terms import Term
from attnproofs.typeset.names import sort_key
from attnproofs.typeset.notations import NOTATIONS, Notation

# what binds more tightly has the larger number
# (a dot product is weaker than a product, so that 2 (u · v) keeps its parentheses)
OR, AND, COMPARE, ADD, DOT, MULTIPLY, POWER, ATOM = range(8)

WIDE = 38  # letters in a numerator or denominator beyond which a fraction is not stacked


class Piece(NamedTuple):
    """Markup with what is needed to put it into something larger.

    `open` says that the piece ends in an operator that swallows the factors to its right (a sum).
    """

    text: str
    precedence: int = ATOM
    open: bool = False
    tall: bool = False
    negative: bool = False  # printed without its leading minus sign
    minus_first: bool = False  # a sum whose text begins with a minus sign
    slash: bool = False  # a quotient written on one line


def bound_names(axis: ix.Axis) -> str:
    """Return letters for an index over `axis`, best first.

    Examples
    --------
    >>> bound_names(("range", ix.ONE, ix.var("d_k")))[0]
    'a'
    >>> bound_names(("range", ix.ONE, ix.var("T")))[0]
    'j'
    """
    if axis[0] == "prod":
        return "cgab"
    main = sorted((a[1] for a in ix.atoms(axis[2]) if a[0] == "v"), key=sort_key)
    first = main[0][0] if main else ""
    if first == "d":
        return "abcr"
    if first == "H":
        return "hgu"
    return "jlkmi"


# writes a defined symbol without its indices: (printer, arguments without integers, scope)
Special = Callable[["Printer", Sequence[Term], tuple[str, ...]], Piece]


@dataclass
class Printer:
    """Writes terms, conditions and indices in one notation.

    Parameters
    ----------
    notation
        ``latex``, ``text`` or ``mathml``.
    taken
        Names that bound indices must avoid (declared symbols, free indices).
    special
        Ways of writing defined symbols, by name; without one, ``f(arguments)`` is written.
    axes
        Axes of the declared tensors. Integer arguments of a defined symbol that its arrays
        determine are left out.
    definitions
        The definitions in force, by name.
    letters
        The letter that an index over a dimension prefers, by the dimension's name.
    """

    notation: str
    taken: frozenset[str] = frozenset()
    special: Mapping[str, Special] = field(default_factory=dict)
    axes: Mapping[str, tuple[ix.Axis, ...]] = field(default_factory=dict)
    definitions: Mapping[str, Definition] = field(default_factory=dict)
    letters: Mapping[str, str] = field(default_factory=dict)

    @property
    def to(self) -> Notation:
        """Return the notation object."""
        return NOTATIONS[self.notation]

    def term(self, t: Term) -> str:
        """Return `t` in full."""
        return self.signed(self._term(t, ()))

    def condition(self, c: ix.Cond) -> str:
        """Return a condition on indices."""
        return self._condition(c, ()).text

    def index(self, i: ix.Index, scope: tuple[str, ...] = ()) -> str:
        """Return an index or a dimension; `scope` names the bound indices around it."""
        return self.signed(self._index(i, scope))

    def chain(self, relation: str, left: Term, right: Term) -> str:
        """Return ``left relation right`` with the relation ``=``, ``<=`` or ``<``."""
        return self.to.row(self.term(left), self.relation(relation), self.term(right))

    def relation(self, relation: str) -> str:
        """Return the sign of a relation."""
        return self.to.sign({"<=": "≤", ">=": "≥", "!=": "≠"}.get(relation, relation))

    # -- names of bound indices. `scope` lists them, innermost first --------------------------

    def _fresh(self, axis: ix.Axis, body: Term, scope: tuple[str, ...]) -> str:
        avoid = self.taken | tm.free_variables(body) | tm.symbols(body) | set(scope)
        letters = bound_names(axis)
        if axis[0] == "range":
            over = sorted((a[1] for a in ix.atoms(axis[2]) if a[0] == "v"), key=sort_key)
            letters = "".join(self.letters.get(name, "") for name in over[:1]) + letters
        for round_ in range(1000):
            for letter in letters:
                name = letter if not round_ else f"{letter}_{round_}"
                if name not in avoid:
                    return name
        raise AssertionError("a thousand rounds of names are used up")

    # -- indices ------------------------------------------------------------------------------

    def _index(self, i: ix.Index, scope: tuple[str, ...]) -> Piece:
        to = self.to
        if ix.is_pair(i):
            inner = to.row(self.index(i[1], scope), to.sign(","), self.index(i[2], scope))
            return Piece(to.fence("⟨", inner, "⟩", False))
        common = _common_factor(i)
        if common is not None:
            outer, other, rest = common
            both = [self._index(other, scope), self._index(outer, scope)]
            if any(m in dict(outer) for m in dict(other)):
                both.reverse()  # T (T + 1), but (h - 1) d
            product = to.product(*(self.wrapped(piece, MULTIPLY) for piece in both))
            factored = Piece(product, MULTIPLY)
            if not rest:
                return factored
            return self._sum_of([factored, *self._monomials(rest, scope)])
        parts = self._monomials(i, scope)
        return self._sum_of(parts) if parts else Piece(to.number("0"))

    def _monomials(self, p: ix.Poly, scope: tuple[str, ...]) -> list[Piece]:
        to, parts = self.to, []
        for monomial, coefficient in sorted(p, key=_for_people):
            factors = []
            for a in dict.fromkeys(monomial):
                power = monomial.count(a)
                text = self._atom(a, scope)
                factors.append(text if power == 1 else to.power(text, to.number(str(power))))
            if abs(coefficient) != 1 or not factors:
                factors.insert(0, to.number(str(abs(coefficient))))
            text = to.product(*factors) if len(factors) > 1 else factors[0]
            level = ATOM if len(factors) == 1 and len(monomial) < 2 else MULTIPLY
            parts.append(Piece(text, level, negative=coefficient < 0))
        return parts

    def _atom(self, a: ix.Atom, scope: tuple[str, ...]) -> str:
        to = self.to
        match a[0]:
            case "v":
                return to.name(a[1])
            case "b":
                return to.name(scope[a[1]])
            case _:
                arguments = self.listed([self.index(i, scope) for i in a[2]])
                inner = to.fence("(", arguments, ")", False) if a[2] else ""
                return to.row(to.name(a[1]), inner) if inner else to.name(a[1])

    def listed(self, items: Sequence[str]) -> str:
        """Return `items` with commas between them."""
        text: list[str] = []
        for item in items:
            text += [self.to.sign(","), item] if text else [item]
        return self.to.row(*text)

    def _subscripts(self, indices: Iterable[ix.Index], scope: tuple[str, ...]) -> str:
        indices = tuple(indices)
        if self.to.stacked and all(self._single_letter(i, scope) for i in indices):
            return self.to.row(*(self.index(i, scope) for i in indices))
        return self.listed([self.index(i, scope) for i in indices])

    def _single_letter(self, i: ix.Index, scope: tuple[str, ...]) -> bool:
        a = None if ix.is_pair(i) else ix.as_atom(i)
        if a is None or a[0] == "f":
            return False
        return len(a[1] if a[0] == "v" else scope[a[1]]) == 1

    def _axis(self, axis: ix.Axis, scope: tuple[str, ...]) -> Piece:
        """Write an axis as a set: ``{1, ..., n}`` as n alone when it starts at 1."""
        to = self.to
        if axis[0] == "prod":
            left, right = self._axis(axis[1], scope), self._axis(axis[2], scope)
            return Piece(to.row(left.text, to.sign("×"), right.text), MULTIPLY)
        hi = self.index(axis[2], scope)
        if axis[1] == ix.ONE:
            return Piece(to.fence("[", hi, "]", False))
        lo = self.index(axis[1], scope)
        return Piece(to.fence("[", to.row(lo, to.sign(":"), hi), "]", False))

    def axis(self, axis: ix.Axis) -> str:
        """Return an axis as a set of indices, ``[n]`` for 1 to n."""
        return self._axis(axis, ()).text

    # -- conditions ---------------------------------------------------------------------------

    def _condition(self, c: ix.Cond, scope: tuple[str, ...]) -> Piece:
        to = self.to
        match c[0]:
            case "ge":
                return self._comparison(c[1], "≤", scope)
            case "eq":
                return self._comparison(c[1], "=", scope)
            case "pred":
                arguments = self.listed([self.index(i, scope) for i in c[2]])
                return Piece(to.row(to.name(c[1]), to.fence("(", arguments, ")", False)))
            case "not" if c[1][0] == "eq":
                return self._comparison(c[1][1], "≠", scope)
            case "not":
                inner = self._condition(c[1], scope)
                return Piece(to.row(to.sign("¬"), self.wrapped(inner, ATOM)))
            case _:
                level, sign = (AND, "∧") if c[0] == "and" else (OR, "∨")
                left, right = (self._condition(part, scope) for part in (c[1], c[2]))
                return Piece(
                    to.row(
                        self.wrapped(left, level + 1), to.sign(sign), self.wrapped(right, level)
                    ),
                    level,
                )

    def _comparison(self, p: ix.Poly, sign: str, scope: tuple[str, ...]) -> Piece:
        """Write ``p >= 0`` (or = or ≠) with what is negative moved to the left side."""
        left = tuple((m, -c) for m, c in p if c < 0)
        right = tuple((m, c) for m, c in p if c > 0)
        if sign == "≤" and left and left[0] == ((), 1) and len(left) > 1:
            left, sign = left[1:], "<"  # j + 1 <= i between integers
        elif sign == "≤" and left == (((), 1),):
            pass  # 1 <= i reads better than 0 < i
        if sign in "=≠" and not left:
            left, right = right, left
        if sign in "=≠" and ix.as_const(left) is not None and right:
            left, right = right, left
        return Piece(
            self.to.row(
                self.index(left, scope),
                self.to.sign(sign),
                self.index(right, scope),
            ),
            COMPARE,
        )

    # -- real terms ---------------------------------------------------------------------------

    def signed(self, piece: Piece) -> str:
        """Return the whole of `piece`, with its minus sign if it has one."""
        if not piece.negative:
            return piece.text
        return self.to.row(self.to.sign("-").strip(), piece.text)

    def wrapped(self, piece: Piece, least: int, *, last: bool = True) -> str:
        """Return `piece`, in parentheses unless it binds at least as tightly as `least`."""
        weak = piece.negative or piece.precedence < least or (piece.open and not last)
        if not weak:
            return piece.text
        return self.to.fence("(", self.signed(piece), ")", piece.tall)

    def _sum_of(self, parts: Sequence[Piece]) -> Piece:
        to = self.to
        if len(parts) == 1:
            return parts[0]
        text = [parts[0].text if not parts[0].negative else self.signed(parts[0])]
        for part in parts[1:]:
            text += [to.sign("-" if part.negative else "+"), part.text]
        return Piece(
            to.row(*text), ADD, tall=any(p.tall for p in parts), minus_first=parts[0].negative
        )

    def _term(self, t: Term, scope: tuple[str, ...]) -> Piece:
        to = self.to
        match t[0]:
            case "q":
                return self._rational(t[1], t[2])
            case "ix":
                return self._index(t[1], scope)
            case "sym":
                return Piece(to.name(t[1]))
            case "ent":
                if not t[2]:
                    return Piece(to.name(t[1]))
                return Piece(to.subscript(to.name(t[1]), self._subscripts(t[2], scope)))
            case "add":
                return self._addition(t[1:], scope)
            case "mul":
                return self._product(t[1:], scope)
            case "pow":
                base = self._term(t[1], scope)
                text = to.power(self.wrapped(base, ATOM), to.number(str(t[2])))
                return Piece(text, POWER, tall=base.tall)
            case "inv":
                return self._product((t,), scope)
            case "exp":
                return self._exponential(t[1], scope)
            case "log":
                return self._call(to.word("ln"), t[1], scope)
            case "sqrt":
                inner = self._term(t[1], scope)
                return Piece(to.root(self.signed(inner)), ATOM, tall=inner.tall)
            case "abs":
                inner = self._term(t[1], scope)
                return Piece(to.fence("|", self.signed(inner), "|", inner.tall), tall=inner.tall)
            case "sum":
                return self._total(t[1], t[2], scope)
            case "ind":
                return Piece(to.fence("[", self._condition(t[1], scope).text, "]", False))
            case "E":
                inner = self._term(t[1], scope)
                body = to.fence("[", self.signed(inner), "]", inner.tall)
                return Piece(to.row(to.sign("ᴱ"), body), POWER, tall=inner.tall)
            case "D":
                return self._derivative(t[1], t[2], scope)
            case "app":
                return self._application(t, scope)
            case _:
                raise ValueError(f"not a term: {t[0]!r}")

    def _rational(self, numerator: int, denominator: int) -> Piece:
        digits = self.to.number(str(abs(numerator)))
        if denominator == 1:
            return Piece(digits, negative=numerator < 0)
        text = self.to.fraction(digits, self.to.number(str(denominator)))
        return Piece(text, MULTIPLY, negative=numerator < 0, tall=self.to.stacked)

    def _addition(self, terms: Sequence[Term], scope: tuple[str, ...]) -> Piece:
        pieces = []
        for t in _flattened("add", terms):
            piece = self._term(t, scope)
            if piece.precedence < ADD or piece.minus_first:
                piece = Piece(self.wrapped(piece, MULTIPLY), tall=piece.tall)
            # a sum that ends one summand reads to the end of its product only, so it may stand
            pieces.append(piece._replace(open=False))
        return self._sum_of(pieces)

    def _product(self, factors: Sequence[Term], scope: tuple[str, ...]) -> Piece:
        """Write a product; runs ``numerators, then inverses`` become fractions."""
        to = self.to
        flat = list(_flattened("mul", factors))
        negative = False
        if len(flat) > 1 and flat[0][0] == "q" and flat[0][1] < 0:
            negative = True
            if flat[0][1:] == (-1, 1):
                flat = flat[1:]
            else:
                flat[0] = ("q", -flat[0][1], flat[0][2])
        runs: list[tuple[list[Term], list[Term]]] = []
        for t in flat:
            if t[0] == "inv":
                if not runs:
                    runs.append(([], []))
                runs[-1][1].append(t[1])
            elif runs and not runs[-1][1]:
                runs[-1][0].append(t)
            else:
                runs.append(([t], []))
        pieces: list[Piece] = []
        for above, below in runs:
            if not below:
                pieces += [self._repeated(t, count, scope) for t, count in _runs(above)]
                continue
            # only the last numerator and what follows the bar: `a b / c` keeps a in front when
            # a is a number or a sum sign would swallow the bar in one-line notations
            pieces.append(self._fraction(above, below, scope))
        if len(pieces) == 1:
            only = pieces[0]
            if negative and (only.negative or only.precedence < DOT):
                text = self.wrapped(only, MULTIPLY)
                return Piece(text, MULTIPLY, tall=only.tall, negative=True)
            return only._replace(negative=negative or only.negative)
        texts = [
            self.wrapped(piece, MULTIPLY, last=position == len(pieces) - 1)
            if not (piece.slash or (piece.precedence == MULTIPLY and not to.stacked and position))
            else self.wrapped(piece, POWER)
            for position, piece in enumerate(pieces)
        ]
        return Piece(
            to.product(*texts),
            MULTIPLY,
            open=pieces[-1].open and not pieces[-1].negative,
            tall=any(p.tall for p in pieces),
            negative=negative,
        )

    def _repeated(self, t: Term, count: int, scope: tuple[str, ...]) -> Piece:
        """Write `count` equal factors in a row: ``x x`` as a square."""
        simple = t[0] in ("sym", "ent", "app", "ix")
        if count == 1 or not simple:
            piece = self._term(t, scope)
            return piece if count == 1 else self._times(piece, count)
        piece = self._term(t, scope)
        text = self.to.power(self.wrapped(piece, ATOM), self.to.number(str(count)))
        return Piece(text, POWER, tall=piece.tall)

    def _times(self, piece: Piece, count: int) -> Piece:
        middle = self.wrapped(piece, MULTIPLY if self.to.stacked else POWER, last=False)
        text = self.to.product(*[middle] * (count - 1), self.wrapped(piece, POWER))
        return Piece(text, MULTIPLY, tall=piece.tall)

    def _fraction(
        self, above: Sequence[Term], below: Sequence[Term], scope: tuple[str, ...]
    ) -> Piece:
        to = self.to
        top = self._product(above, scope) if above else Piece(to.number("1"))
        bottom = self._product(below, scope) if len(below) > 1 else self._term(below[0], scope)
        if to.stacked and to.width(top.text) <= WIDE and to.width(bottom.text) <= WIDE:
            text = to.fraction(self.signed(top), self.signed(bottom))
            return Piece(text, MULTIPLY, tall=True)
        if to.stacked:
            # too wide for a line: on one level, where it can break
            parts = self.wrapped(top, MULTIPLY, last=False), self.wrapped(bottom, POWER)
            return Piece(to.slash(*parts), MULTIPLY, tall=True, slash=True)
        text = to.fraction(self.wrapped(top, MULTIPLY, last=False), self.wrapped(bottom, POWER))
        return Piece(text, MULTIPLY)

    def _exponential(self, argument: Term, scope: tuple[str, ...]) -> Piece:
        inner = self._term(argument, scope)
        if not self.to.stacked or inner.tall:
            return self._call(self.to.word("exp"), argument, scope)
        text = self.to.power(self.to.name("e"), self.signed(inner))
        return Piece(text, POWER)

    def _call(self, head: str, argument: Term, scope: tuple[str, ...]) -> Piece:
        inner = self._term(argument, scope)
        body = self.to.fence("(", self.signed(inner), ")", inner.tall)
        return Piece(self.to.row(head, body), POWER, tall=inner.tall)

    def _total(self, axis: ix.Axis, body: Term, scope: tuple[str, ...]) -> Piece:
        to = self.to
        name = self._fresh(axis, body, scope)
        inner = self._term(body, (name, *scope))
        text = self.wrapped(inner, MULTIPLY)
        if axis[0] == "range":
            below = to.row(to.name(name), to.sign("="), self.index(axis[1], scope))
            above = self.index(axis[2], scope)
        else:
            below = to.row(to.name(name), to.sign("∈"), self._axis(axis, scope).text)
            above = ""
        return Piece(to.total(below, above, text), MULTIPLY, open=True, tall=to.stacked)

    def _derivative(self, by: Term, t: Term, scope: tuple[str, ...]) -> Piece:
        to = self.to
        inner = self._term(t, scope)
        under = to.row(to.sign("∂"), self._term(by, scope).text)
        if inner.precedence == ATOM and not inner.negative and not inner.tall:
            return Piece(
                to.fraction(to.row(to.sign("∂"), inner.text), under), MULTIPLY, tall=to.stacked
            )
        head = to.fraction(to.sign("∂").strip(), under)
        body = to.fence("(", self.signed(inner), ")", inner.tall)
        return Piece(to.row(head, body), MULTIPLY, tall=to.stacked)

    # -- defined symbols ----------------------------------------------------------------------

    def _application(self, t: Term, scope: tuple[str, ...]) -> Piece:
        head = self._head(t, scope)
        if not t[3]:
            return head
        text = self.to.subscript(self.wrapped(head, ATOM), self._subscripts(t[3], scope))
        return Piece(text, ATOM, tall=head.tall)

    def _head(self, t: Term, scope: tuple[str, ...]) -> Piece:
        """Write a defined symbol with its arguments, without its indices."""
        to = self.to
        arguments = [a for a in t[2] if a[0] != "int"]
        integers = self._undetermined(t)
        special = self.special.get(t[1])
        if special is not None and not integers:
            return special(self, arguments, scope)
        dimensions = self.listed([self.index(p, scope) for p in integers])
        pieces = [self.argument(a, scope) for a in arguments]
        others = self.listed([self.signed(piece) for piece in pieces])
        inner = others if others else dimensions
        if integers and arguments:
            inner = to.row(dimensions, to.sign(";"), others)
        head = to.word(t[1].replace("_", " ") if self.definitions else t[1])
        tall = any(piece.tall for piece in pieces)
        if t[2]:
            head = to.row(head, to.fence("(", inner, ")", tall))
        return Piece(head, ATOM, tall=tall)

    def _undetermined(self, t: Term) -> list[ix.Poly]:
        """Return the integer arguments that cannot be read off the arrays."""
        integers = [a[1] for a in t[2] if a[0] == "int"]
        made = self.definitions.get(t[1])
        if made is None:
            return integers
        given = dict(zip([p[1] for p in made.params], t[2], strict=True))
        seen: set[str] = set()
        for parameter in made.params:
            if parameter[0] != "tensor":
                continue
            for place, axis in enumerate(parameter[2]):
                size = self._size(given[parameter[1]], place)
                wanted = ix.axis_size(ix.axis_substitute(axis, tm.substitution(given)))
                if size is not None and size == wanted:
                    alone = ix.as_atom(ix.axis_size(axis))
                    if alone is not None and alone[0] == "v":
                        seen.add(alone[1])
        return [
            given[p[1]][1]
            for p in made.params
            # how far a recursion has gone is part of what is meant, whatever the arrays show
            if p[0] == "int" and (p[1] == made.recursion or p[1] not in seen)
        ]

    def _size(self, lam: Term, place: int) -> ix.Poly | None:
        """Return the size of an array's axis, when an entry in it shows it."""
        for depth, u in _with_depth(lam[2]):
            bound = ix.atom(("b", place + depth))
            if u[0] == "ent" and bound in u[2]:
                axes = self.axes.get(u[1], ())
                slot = u[2].index(bound)
                if slot < len(axes):
                    return ix.axis_size(axes[slot])
            if u[0] == "app" and bound in u[3] and u[1] in self.definitions:
                made = self.definitions[u[1]]
                given = dict(zip([p[1] for p in made.params], u[2], strict=True))
                axis = made.indices[u[3].index(bound)][1]
                size = ix.axis_size(ix.axis_substitute(axis, tm.substitution(given)))
                if not any(a[0] == "b" for a in ix.atoms(size)):
                    return size
        return None

    def argument(self, a: Term, scope: tuple[str, ...]) -> Piece:
        """Write an argument of a defined symbol: an array as ``X``, ``X_{i,:}`` or ``(t_j)_j``."""
        to = self.to
        if a[0] == "int":
            return self._index(a[1], scope)
        if a[0] == "real":
            return self._term(a[1], scope)
        count, body = a[1], a[2]
        bound = [ix.atom(("b", k)) for k in range(count)]
        if body[0] == "ent":
            slots = [bound.index(i) if i in bound else None for i in body[2]]
            free = [i for i, slot in zip(body[2], slots, strict=True) if slot is None]
            in_order = [slot for slot in slots if slot is not None] == list(range(count))
            if in_order and not any(_mentions_bound(i, count) for i in free):
                if not free:
                    return Piece(to.name(body[1]))
                outside = ("?",) * count + scope
                shown = [
                    to.sign(":") if slot is not None else self.index(i, outside)
                    for i, slot in zip(body[2], slots, strict=True)
                ]
                return Piece(to.subscript(to.name(body[1]), self.listed(shown)))
        if body[0] == "app" and body[3][len(body[3]) - count :] == tuple(bound):
            fixed = body[3][: len(body[3]) - count]
            inside = any(_mentions_bound(i, count) for i in fixed) or any(
                _argument_mentions(a, count) for a in body[2]
            )
            if not inside:
                outside = ("?",) * count + scope
                head = self._head(body, outside)
                if not fixed:
                    return head
                shown = [self.index(i, outside) for i in fixed] + [to.sign(":")] * count
                text = to.subscript(self.wrapped(head, ATOM), self.listed(shown))
                return Piece(text, ATOM, tall=head.tall)
        names: list[str] = []
        inner_scope = scope
        for _ in range(count):
            axis = ("range", ix.ONE, ix.var("T" if not names else "d"))
            name = self._fresh(axis, body, (*names, *scope))
            names.append(name)
        inner_scope = (*names, *scope)
        inner = self._term(body, inner_scope)
        family = to.fence("(", self.signed(inner), ")", inner.tall)
        below = to.row(*(to.name(name) for name in names))
        # not an atom: its transpose is ((..)_l)^⊤, lest the exponent be taken for the entry's
        return Piece(to.subscript(family, below), POWER, tall=inner.tall)


def _mentions_bound(i: ix.Index, count: int) -> bool:
    if ix.is_pair(i):
        return _mentions_bound(i[1], count) or _mentions_bound(i[2], count)
    return any(a[0] == "b" and a[1] < count for a in ix.atoms(i))


def _common_factor(p: ix.Poly) -> tuple[ix.Poly, ix.Poly, ix.Poly] | None:
    """Return ``outer, inner, rest`` with ``p = outer * inner + rest``, for `(h - 1) d + r`.

    `outer` is one monomial that occurs in `p` alone and once more with one further atom.
    """
    known = dict(p)
    for monomial in sorted(known, key=lambda m: (-len(m), str(m))):
        for larger, coefficient in p:
            if not monomial or len(larger) != len(monomial) + 1:
                continue
            extra = list(larger)
            for a in monomial:
                if a in extra:
                    extra.remove(a)
            if len(extra) != 1 or coefficient < 0:
                continue
            inner = ix.add(ix.scale(coefficient, ix.atom(extra[0])), ix.const(known[monomial]))
            rest = tuple(item for item in p if item[0] not in (monomial, larger))
            if rest and known[monomial] > 0:
                continue  # T² + 3T + 2 stays as it is
            return ((monomial, 1),), inner, rest
    return None


def _argument_mentions(a: Term, count: int) -> bool:
    """Tell whether an argument depends on the `count` innermost bound indices."""
    found = False

    def note(i: ix.Index, depth: int) -> ix.Index:
        nonlocal found
        for p in i[1:] if ix.is_pair(i) else (i,):
            found = found or any(b[0] == "b" and depth <= b[1] < depth + count for b in ix.atoms(p))
        return i

    if a[0] == "int":
        note(a[1], 0)
    else:
        tm.map_indices(a[2] if a[0] == "lam" else a[1], note, a[1] if a[0] == "lam" else 0)
    return found


def _with_depth(t: Term, depth: int = 0) -> Iterable[tuple[int, Term]]:
    """Yield the subterms with the number of indices bound between them and the root."""
    yield depth, t
    match t[0]:
        case "add" | "mul":
            inner = [(depth, u) for u in t[1:]]
        case "sum":
            inner = [(depth + 1, t[2])]
        case "pow" | "inv" | "exp" | "log" | "sqrt" | "abs" | "E":
            inner = [(depth, t[1])]
        case "D":
            inner = [(depth, t[1]), (depth, t[2])]
        case "app":
            inner = [
                (depth + a[1], a[2]) if a[0] == "lam" else (depth, a[1])
                for a in t[2]
                if a[0] != "int"
            ]
        case _:
            inner = []
    for below, u in inner:
        yield from _with_depth(u, below)


def _runs(terms: Sequence[Term]) -> list[tuple[Term, int]]:
    """Return runs of equal terms with their lengths."""
    runs: list[tuple[Term, int]] = []
    for t in terms:
        if runs and runs[-1][0] == t:
            runs[-1] = (t, runs[-1][1] + 1)
        else:
            runs.append((t, 1))
    return runs


def _flattened(tag: str, parts: Sequence[Term]) -> Iterable[Term]:
    for t in parts:
        if t[0] == tag:
            yield from _flattened(tag, t[1:])
        else:
            yield t


def _for_people(item: tuple[tuple[ix.Atom, ...], int]) -> tuple[bool, int, list[str]]:
    monomial, coefficient = item
    return coefficient < 0, -len(monomial), [str(a[1]) for a in monomial]
