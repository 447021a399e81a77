"""What is printed is what was meant: random terms are printed, read back and evaluated."""

import random
from fractions import Fraction

import pytest

from attnproofs.kernel import index as ix
from attnproofs.kernel import terms as tm
from attnproofs.typeset import printer as printer_module
from attnproofs.typeset.printer import ADD, MULTIPLY, Printer
from attnproofs.typeset.symbols import SPECIAL
from tests.typeset import reader

READERS = {"latex": reader.read_latex, "mathml": reader.read_mathml, "text": reader.read_text}
NAMES = {"μ": "mu", "β": "beta", "κ": "kappa"}  # as written on the page -> as declared


# -- meaning of a term, straight from its definition ------------------------------------------


def page(name):
    """Return how a declared name looks on the page."""
    return {v: k for k, v in NAMES.items()}.get(name, name)


def integer(i, scope):
    if ix.is_pair(i):
        return (integer(i[1], scope), integer(i[2], scope))
    alone = ix.as_atom(i)
    if alone is not None and alone[0] == "b":
        return scope[alone[1]]
    total = Fraction(0)
    for monomial, coefficient in i:
        value = Fraction(coefficient)
        for a in monomial:
            match a[0]:
                case "v":
                    value *= reader.INTEGERS[a[1]]
                case "b":
                    value *= scope[a[1]]
                case "f":
                    arguments = tuple(integer(x, scope) for x in a[2])
                    value *= reader.function(page(a[1]), arguments)
        total += value
    return total


def truth(c, scope):
    match c[0]:
        case "ge":
            return integer(c[1], scope) >= 0
        case "eq":
            return integer(c[1], scope) == 0
        case "pred":
            return reader.predicate(c[1], tuple(integer(i, scope) for i in c[2]))
        case "not":
            return not truth(c[1], scope)
        case "and":
            return truth(c[1], scope) and truth(c[2], scope)
        case "or":
            return truth(c[1], scope) or truth(c[2], scope)


def elements(axis, scope):
    if axis[0] == "prod":
        return [(a, b) for a in elements(axis[1], scope) for b in elements(axis[2], scope)]
    low, high = integer(axis[1], scope), integer(axis[2], scope)
    return [Fraction(k) for k in range(int(low), int(high) + 1)]


def meaning(t, scope=()):
    match t[0]:
        case "q":
            return Fraction(t[1], t[2])
        case "ix":
            return integer(t[1], scope)
        case "sym":
            return reader.entry(page(t[1]), ())
        case "ent":
            return reader.entry(page(t[1]), tuple(integer(i, scope) for i in t[2]))
        case "add":
            return sum((meaning(u, scope) for u in t[1:]), Fraction(0))
        case "mul":
            product = Fraction(1)
            for u in t[1:]:
                product *= meaning(u, scope)
            return product
        case "pow":
            return meaning(t[1], scope) ** t[2]
        case "inv":
            value = meaning(t[1], scope)
            return 1 / value if value else Fraction(0)
        case "exp" | "sqrt" | "E":
            return reader.STAND_IN[t[0]](meaning(t[1], scope))
        case "log":
            return reader.STAND_IN["ln"](meaning(t[1], scope))
        case "abs":
            return abs(meaning(t[1], scope))
        case "ind":
            return Fraction(int(truth(t[1], scope)))
        case "sum":
            values = elements(t[1], scope)
            return sum((meaning(t[2], (value, *scope)) for value in values), Fraction(0))
        case "D":
            return reader.derivative(meaning(t[1], scope), meaning(t[2], scope))
        case "app":
            sizes = tuple(integer(a[1], scope) for a in t[2] if a[0] == "int")
            arrays = [
                lambda k, body=a[2]: meaning(body, (Fraction(k), *scope))
                for a in t[2]
                if a[0] == "lam"
            ]
            return reader.defined(t[1], sizes, arrays, tuple(integer(i, scope) for i in t[3]))
    raise AssertionError(t[0])


# -- random terms ------------------------------------------------------------------------------


class Random:
    """Draws terms. `kinds` says of each bound index, innermost first, what it ranges over."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.pick = self.random.choice

    def index(self, kinds, depth=2):
        atoms = [ix.var(n) for n in ("i", "j", "n", "d_k")]
        atoms += [ix.atom(("b", k)) for k, kind in enumerate(kinds) if kind == "range"]
        how = self.pick(["atom", "atom", "number", "add", "sub", "mul", "call"])
        if depth == 0 or how == "atom":
            return self.pick(atoms)
        if how == "number":
            return ix.const(self.random.randint(-3, 4))
        if how == "call":
            return ix.atom(("f", "kappa", (self.index(kinds, depth - 1),)))
        both = (self.index(kinds, depth - 1), self.index(kinds, depth - 1))
        return {"add": ix.add, "sub": ix.sub, "mul": ix.mul}[how](*both)

    def position(self, kinds):
        """Draw what may stand in a subscript: an integer, a pair, or a bound pair."""
        bound = [ix.atom(("b", k)) for k, kind in enumerate(kinds) if kind == "prod"]
        how = self.random.random()
        if bound and how < 0.3:
            return self.pick(bound)
        if how < 0.4:
            return ("pair", self.index(kinds), self.index(kinds))
        return self.index(kinds)

    def condition(self, kinds, depth=2):
        how = self.pick(["ge", "eq", "ge2", "pred", "not", "and", "or"])
        if depth == 0 or how in ("ge", "ge2"):
            return ix.ge(self.index(kinds), self.index(kinds) if how == "ge2" else ix.ZERO)
        if how == "eq":
            return ix.eq(self.index(kinds), self.index(kinds))
        if how == "pred":
            return ("pred", "keep", (self.index(kinds), self.index(kinds)))
        if how == "not":
            return ("not", self.condition(kinds, depth - 1))
        return (how, self.condition(kinds, depth - 1), self.condition(kinds, depth - 1))

    def range(self):
        low = self.pick([ix.ONE, ix.ONE, ix.const(2), ix.ZERO])
        high = [ix.var(n) for n in ("n", "T", "d_k", "H", "i")]
        high += [ix.sub(ix.var("i"), ix.ONE), ix.const(2)]
        return ("range", low, self.pick(high))

    def entry(self, kinds):
        name, axes = self.pick([("s", 1), ("mu", 1), ("Q", 2), ("W_K", 2), ("X'", 2)])
        return ("ent", name, tuple(self.position(kinds) for _ in range(axes)))

    def leaf(self, kinds):
        match self.pick(["q", "entry", "entry", "sym", "ix", "ind"]):
            case "q":
                return tm.rational(Fraction(self.random.randint(-9, 9), self.random.randint(1, 5)))
            case "entry":
                return self.entry(kinds)
            case "sym":
                return ("sym", self.pick(["x", "beta"]))
            case "ix":
                return ("ix", self.index(kinds))
            case _:
                return ("ind", self.condition(kinds))

    def term(self, depth, kinds=()):
        every = (
            "leaf add add mul mul mul minus negative negative inv inv pow exp log sqrt abs "
            "sum sum E D app"
        )
        kind = self.pick(every.split())
        if depth == 0 or kind == "leaf":
            return self.leaf(kinds)

        def sub(more=()):
            return self.term(depth - 1, (*more, *kinds))

        match kind:
            case "add" | "mul":
                return (kind, *(sub() for _ in range(self.random.randint(2, 3))))
            case "minus":
                return tm.minus(sub(), sub())
            case "negative":
                factor = self.pick([-1, -1, Fraction(-2, 3)])
                return ("mul", tm.rational(factor), sub())
            case "pow":
                return ("pow", sub(), self.random.randint(0, 3))
            case "sum":
                axis = self.range() if self.random.random() < 0.7 else None
                axis = axis or ("prod", self.range(), self.range())
                return ("sum", axis, sub((axis[0],)))
            case "D":
                return ("D", self.entry(kinds), sub())
            case "app":
                arguments = (("int", self.index(kinds)), ("lam", 1, sub(("range",))))
                return ("app", "mean_of", arguments, (self.index(kinds),))
            case _:
                return (kind, sub())


def misread(notation, seeds):
    """Print the terms of `seeds`; return (length, seed, printed) of those read back wrongly."""
    wrong = []
    for seed in seeds:
        t = Random(seed).term(depth=seed % 4 + 1)
        printed = Printer(notation).term(t)
        try:
            right = READERS[notation](printed) == meaning(t)
        except AssertionError:
            right = False  # what cannot be read is wrong too
        if not right:
            wrong.append((len(printed), seed, printed))
    return sorted(wrong)


@pytest.mark.parametrize("notation", ["latex", "mathml", "text"])
def test_printed_terms_read_back_with_the_same_value(notation):
    """Print random terms, read the page, evaluate: exactly the same value, every time."""
    assert misread(notation, range(1500))[:1] == []


def _mutants():
    """Yield broken precedence rules: each makes the printer lose a parenthesis somewhere."""
    keep = Printer.wrapped

    def never(self, piece, least, *, last=True):
        return self.signed(piece)

    def one_too_lax(self, piece, least, *, last=True):
        # sums as factors; no dot product, the level between, is drawn
        lax = ADD if least == MULTIPLY else least - 1
        return keep(self, piece, lax, last=last)

    return {"never": never, "one_too_lax": one_too_lax}


@pytest.mark.parametrize("name", list(_mutants()))
@pytest.mark.parametrize("notation", ["latex", "mathml", "text"])
def test_a_lost_parenthesis_is_noticed(name, notation, monkeypatch):
    """With a wrong rule for parentheses, some printed term reads back wrongly."""
    monkeypatch.setattr(printer_module.Printer, "wrapped", _mutants()[name])

    assert misread(notation, range(60))


T, D = ix.var("T"), ix.var("d_k")
I, J, B0 = ix.var("i"), ix.var("j"), ix.atom(("b", 0))


@pytest.mark.parametrize(
    ("term", "latex", "text"),
    [
        (
            ("sum", ("range", ix.ONE, D),
             ("mul", ("ent", "Q", (I, B0)), ("ent", "W_K", (J, B0)))),
            r"\sum_{a = 1}^{d_{k}} Q_{ia}\,(W_{K})_{ja}",
            "Σ_{a = 1..d_k} Q[i, a]·W_K[j, a]",
        ),
        (
            tm.minus(("sym", "x"), ("add", ("sym", "beta"), tm.rational(1))),
            r"x - (\beta + 1)",
            "x - (β + 1)",
        ),
        (
            tm.negative(tm.minus(("sym", "x"), ("sym", "beta"))),
            r"-(x - \beta)",
            "-(x - β)",
        ),
        (("pow", tm.rational(-2), 2), "(-2)^{2}", "(-2)²"),
        (("ind", ix.ge(ix.sub(I, J), ix.ONE)), "[j < i]", "[j < i]"),
        (("ind", ix.ge(I, ix.ONE)), r"[1 \le i]", "[1 ≤ i]"),
        (("exp", ("mul", tm.rational(-1), ("ent", "s", (J,)))), "e^{-s_{j}}", "exp(-s[j])"),
    ],
)  # fmt: skip
def test_the_page_looks_as_a_textbook_would(term, latex, text):
    """A few terms, letter by letter."""
    assert Printer("latex").term(term) == latex
    assert Printer("text").term(term) == text


def test_a_bound_index_never_takes_a_name_in_use():
    """Free indices, declared symbols and outer binders are avoided: no capture on the page."""
    inner = ("sum", ("range", ix.ONE, T), ("ent", "Q", (ix.atom(("b", 1)), B0)))
    t = (
        "sum",
        ("range", ix.ONE, T),
        ("mul", inner, ("ent", "j", (B0,)), ("ent", "s", (ix.var("l"),))),
    )

    printed = Printer("latex", taken=frozenset({"k"})).term(t)

    assert printed.startswith(r"\sum_{m = 1}^{T}")
    assert r"\sum_{j = 1}^{T} Q_{mj}" in printed


def test_wide_fractions_on_one_line_keep_their_meaning(monkeypatch):
    """With every fraction counted as too wide to stack, terms still read back exactly."""
    monkeypatch.setattr(printer_module, "WIDE", 3)

    wide = ("mul", ("ent", "Q", (I, J)), ("inv", ("add", ("ent", "Q", (I, J)), ("sym", "x"))))
    assert Printer("latex").term(wide) == r"Q_{ij} \big/ (Q_{ij} + x)"
    assert misread("latex", range(600)) == []


def test_products_of_three_matrices_show_where_the_brackets_stand():
    """(A B) C and A (B C) are different terms; an entry's exponent is not the family's."""

    def array(name):
        return ("lam", 2, ("ent", name, (ix.atom(("b", 0)), ix.atom(("b", 1)))))

    def product(left, right):
        bound = (ix.atom(("b", 0)), ix.atom(("b", 1)))
        return ("lam", 2, ("app", "matmul", (left, right), bound))

    p = Printer("latex", special=SPECIAL)
    a, b, c = map(array, "ABC")
    double = ("lam", 2, ("mul", tm.rational(2), a[2]))

    def printed(name, *arguments):
        return p.term(("app", name, arguments, (I, J)))

    assert printed("matmul", product(a, b), c) == r"((A\,B)\,C)_{ij}"
    assert printed("matmul", a, product(b, c)) == r"(A\,(B\,C))_{ij}"
    assert printed("transpose", double) == r"(((2\,A_{ja})_{ja})^{\top})_{ij}"


def test_a_dot_product_needs_parentheses_as_a_factor_only():
    """q·k - q·k, but 2 (q·k)."""
    q, k = (("lam", 1, ("ent", name, (B0,))) for name in "qk")
    dot = ("app", "dot", (q, k), ())
    p = Printer("text", special=SPECIAL)

    assert p.term(tm.minus(dot, dot)) == "q·k - q·k"
    assert p.term(("mul", tm.rational(2), dot)) == "2·(q·k)"
