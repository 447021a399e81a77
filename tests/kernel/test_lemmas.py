"""Using a lemma: what is refused, and the accepted twin that shows why."""

from __future__ import annotations

from typing import Any

import pytest

from attnproofs.calculus import Scope, Sum, absolute, derivative, exp, expect, ind, le, softmax
from attnproofs.calculus.proof import plain
from attnproofs.kernel import index as ix
from attnproofs.kernel import read
from attnproofs.theorems.notation.shapes import THEOREM as shapes
from attnproofs.theorems.softmax.softmax_sum import THEOREM as softmax_sum
from attnproofs.theorems.values.rank_vo import THEOREM as rank_vo
from tests.kernel.steps import certificate, verdict

B0 = ix.atom(("b", 0))
ONE = ("int", ix.ONE)


def use(
    lemma: dict[str, Any], scope: Scope, before: Any, after: Any, *, at: tuple[int, ...] = (),
    relation: str = "=", back: bool = False, **values: Any,
) -> str:  # fmt: skip
    """Return replay's verdict on one step by the lemma at these values."""
    digest = read.statement(lemma["parts"][0]["statement"]).digest
    args = {"lemma": digest, "with": plain(values)}
    made = certificate(scope, before, after, "lemma", args, at=at, relation=relation, back=back)
    return verdict(made, lemma)


def scalar(name: str) -> tuple[str, Any]:
    return ("real", ("sym", name))


# ---------------------------------------------------------------------- symbols and ranges


def cancelling() -> dict[str, Any]:
    """Lemma: ``exp(x_i) exp(-x_i) = 1`` for x on 1..n and an index i."""
    s = Scope("cancelling")
    n = s.dimension("n")
    x, i = s.tensor("x", n), s.index("i", n)
    return certificate(s, exp(x[i]) * exp(-x[i]), 1, "ring", {"laws": ["expring"]})


def cancelled(**values: Any) -> str:
    s = Scope("user")
    m = s.dimension("m")
    y = s.tensor("y", m)
    own = {"n": ("int", m.index), "x": ("lam", 1, ("ent", "y", (B0,))), "i": ONE}
    merged = {k: v for k, v in {**own, **values}.items() if v is not None}
    return use(cancelling(), s, exp(y[1]) * exp(-y[1]), 1, **merged)


def test_an_instance_in_range_is_accepted() -> None:
    assert cancelled() == ""


@pytest.mark.parametrize(
    ("values", "because"),
    [
        ({"i": ("int", ix.add(ix.var("m"), ix.ONE))}, "symbol i: out of range: cannot show m+1"),
        ({"i": ("int", ix.ZERO)}, "symbol i: out of range: cannot show 1 <= 0"),
        ({"i": ("int", ("pair", ix.ONE, ix.ONE))}, "symbol i: out of range: an index pair stands"),
        ({"n": ("int", ix.ZERO)}, "symbol n: cannot show that the dimension is at least 1"),
        ({"n": ("int", ("pair", ix.ONE, ix.ONE))}, "symbol n: cannot show that the dimension"),
        ({"i": None}, "values are needed for exactly its symbols (i)"),
        ({"z": ONE}, "values are needed for exactly its symbols (z)"),
        ({"x": ONE}, "symbol x: a value of another kind is needed"),
        ({"i": ("real", ("q", 1, 1))}, "symbol i: a value of another kind is needed"),
        ({"x": ("lam", 2, ("ent", "y", (B0,)))}, "symbol x: 1 axes are needed, not 2"),
        ({"x": ("lam", 1, ("ent", "y", (ix.atom(("b", 1)),)))}, "an index bound outside it"),
        ({"i": ("int", B0)}, "symbol i: the value mentions an index bound outside it"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_refused(values: dict[str, Any], because: str) -> None:
    assert because in cancelled(**values)


def test_a_lemma_says_nothing_else_than_its_claim() -> None:
    s = Scope("user")
    m = s.dimension("m")
    y = s.tensor("y", m)
    values = {"n": ("int", m.index), "x": ("lam", 1, ("ent", "y", (B0,))), "i": ONE}
    before = exp(y[1]) * exp(-y[1])
    assert "lemma cancelling does not match this step" in use(cancelling(), s, before, 2, **values)


def test_a_lemma_that_is_not_given_is_missing() -> None:
    s = Scope("user")
    x = s.scalar("x")
    made = certificate(s, x, x + 0, "lemma", {"lemma": "0" * 64, "with": {}})
    assert "the lemma with digest 000000000000 is not among the certificates" in verdict(made)


@pytest.mark.parametrize("theorem", [shapes, rank_vo])
def test_only_relations_are_cited(theorem: Any) -> None:
    s = Scope("user")
    x = s.scalar("x")
    found = use(theorem.certificate(), s, x, x + 0)
    assert "is no relation between two terms" in found


def test_an_index_function_keeps_its_codomain() -> None:
    s = Scope("chosen")
    n = s.dimension("n")
    x, r = s.tensor("x", n), s.function("r", n, into=n)
    lemma = certificate(s, Sum(n, lambda j: x[r(j)] * 1), Sum(n, lambda j: x[r(j)]), "ring")

    def user(image: Any, width: int = 1) -> str:
        u = Scope("user")
        m = u.dimension("m")
        y = u.tensor("y", m)
        return use(
            lemma, u, Sum(m, lambda j: y[j] * 1), Sum(m, lambda j: y[j]),
            n=("int", m.index), x=("lam", 1, ("ent", "y", (B0,))), r=("fun", width, image),
        )  # fmt: skip

    assert user(B0) == ""
    assert "symbol r: a value is out of range" in user(ix.add(B0, ix.ONE))
    assert "symbol r: 1 axes are needed, not 2" in user(B0, 2)
    assert "an index bound outside it" in user(ix.atom(("b", 1)))


def test_a_predicate_is_closed() -> None:
    s = Scope("masked")
    n = s.dimension("n")
    x, keep = s.tensor("x", n), s.predicate("keep", n)
    total = Sum(n, lambda j: ind(keep(j)) * x[j])
    lemma = certificate(s, total, 1 * total, "ring")

    def user(cond: Any) -> str:
        u = Scope("user")
        m = u.dimension("m")
        y = u.tensor("y", m)
        t = Sum(m, lambda j: ind(j >= 1) * y[j])
        return use(lemma, u, t, 1 * t, n=("int", m.index), x=("lam", 1, ("ent", "y", (B0,))),
                   keep=("cond", 1, cond))  # fmt: skip

    assert user(ix.ge(B0, ix.ONE)) == ""
    assert "an index bound outside it" in user(ix.ge(ix.atom(("b", 1)), ix.ONE))


# ---------------------------------------------------------------------- hypotheses, definitions


def root_of_square() -> dict[str, Any]:
    s = Scope("nonnegative")
    x = s.scalar("x")
    s.assume("sign", le(0, x))
    return certificate(s, absolute(x), x, "abs_val")


def test_a_hypothesis_must_be_shown() -> None:
    s = Scope("user")
    y = s.scalar("y")
    found = use(root_of_square(), s, absolute(y), y, x=scalar("y"))
    assert "lemma nonnegative needs its hypothesis sign, which is not shown here" in found


def test_a_hypothesis_may_be_known_or_read_off() -> None:
    s = Scope("user")
    y = s.scalar("y")
    s.assume("known", le(0, y))
    assert use(root_of_square(), s, absolute(y), y, x=scalar("y")) == ""
    u = Scope("user2")
    z = u.scalar("z")
    square = (z**2).term
    assert use(root_of_square(), u, absolute(z**2), z**2, x=("real", square)) == ""


def test_an_index_hypothesis_must_be_shown() -> None:
    s = Scope("two")
    n = s.dimension("n")
    x = s.tensor("x", n)
    s.assume("room", n >= 2)
    lemma = certificate(s, x[2] * 1, x[2], "ring")
    u = Scope("user")
    m = u.dimension("m")
    y = u.tensor("y", m)
    values = {"n": ("int", m.index), "x": ("lam", 1, ("ent", "y", (ix.ONE,)))}
    found = use(lemma, u, y[1] * 1, y[1], **values)
    assert "lemma two needs its hypothesis room, which is not shown here" in found


def test_an_inequality_is_no_equality() -> None:
    s = Scope("tangent")
    t = s.scalar("t")
    lemma = certificate(s, 1 + t, exp(t), "exp_ge", relation="<=")
    u = Scope("user")
    y = u.scalar("y")
    assert "is an inequality, and the step claims an equality" in use(
        lemma, u, 1 + y, exp(y), t=scalar("y")
    )
    assert "lemma tangent is not strict" in use(
        lemma, u, 1 + y, exp(y), relation="<", t=scalar("y")
    )
    assert use(lemma, u, 1 + y, exp(y), relation="<=", t=scalar("y")) == ""


def test_a_lemma_about_another_softmax_is_refused() -> None:
    """Definitions are part of a lemma: the same name for something else does not pass."""
    s = Scope("user")
    n = s.dimension("n")
    x = s.tensor("s", n)
    digest = softmax_sum.proved_statement().digest
    own = {"n": ("int", n.index), "s": ("lam", 1, ("ent", "s", (B0,)))}
    made = certificate(s, Sum(n, lambda i: softmax(x)[i]), 1, "lemma",
                       {"lemma": digest, "with": plain(own)})  # fmt: skip
    assert verdict(made, softmax_sum.certificate()) == ""
    statement = made["parts"][0]["statement"]
    (definition,) = statement["definitions"]
    definition["body"] = ["q", 1, 1]
    assert "defines softmax otherwise (or it is missing here)" in verdict(
        made, softmax_sum.certificate()
    )


# ---------------------------------------------------------------------- randomness


def test_a_random_number_is_no_constant() -> None:
    """Else ``E c = c`` would give ``E q = q``."""
    s = Scope("constant")
    c = s.scalar("c")
    lemma = certificate(s, expect(c), c, "ring", {"laws": ["E_const"]})
    u = Scope("user")
    d = u.dimension("d")
    q = u.family("q", d, order=2)
    b = u.scalar("b")
    assert use(lemma, u, expect(b), b, c=scalar("b")) == ""
    found = use(lemma, u, expect(expect(q[1])), expect(q[1]), at=(0,),
                c=("real", ("ent", "q", (ix.ONE,))))  # fmt: skip
    assert "symbol c: it is not random, and its value is" in found


def parted(*, components: bool = False) -> dict[str, Any]:
    """Lemma: ``E(q_1 k_1) = E q_1 E k_1`` for independent q and k (or components of one)."""
    s = Scope("parted")
    d = s.dimension("d")
    q = s.family("q", d, order=2, independent=components)
    if components:
        s.assume("two", d >= 2)
        return certificate(s, expect(q[1] * q[2]), expect(q[1]) * expect(q[2]), "E_indep")
    k = s.family("k", d, order=2)
    s.independent("q", "k")
    return certificate(s, expect(q[1] * k[1]), expect(q[1]) * expect(k[1]), "E_indep")


def family(name: str) -> tuple[Any, ...]:
    return ("lam", 1, ("ent", name, (B0,)))


def random_user(*, together: bool = True, order: int = 4) -> tuple[Scope, Any, Any, Any]:
    u = Scope("user")
    d = u.dimension("d")
    f, g = u.family("f", d, order=order), u.family("g", d, order=order)
    if together:
        u.independent("f", "g")
    return u, d, f, g


def test_independent_families_stand_for_independent_families() -> None:
    u, d, f, g = random_user()
    own = {"d": ("int", d.index), "q": family("f"), "k": family("g")}
    before, after = expect(f[1] * g[1]), expect(f[1]) * expect(g[1])
    assert use(parted(), u, before, after, **own) == ""
    found = use(parted(), u, expect(f[1] * f[1]), expect(f[1]) * expect(f[1]),
                **{**own, "k": family("f")})  # fmt: skip
    assert "lemma parted needs different families, and two are the same" in found


def test_dependent_families_do_not_stand_for_independent_ones() -> None:
    u, d, f, g = random_user(together=False)
    own = {"d": ("int", d.index), "q": family("f"), "k": family("g")}
    found = use(parted(), u, expect(f[1] * g[1]), expect(f[1]) * expect(g[1]), **own)
    assert "lemma parted: f, g are not declared independent" in found


def test_an_expression_does_not_stand_for_an_independent_family() -> None:
    u, d, f, g = random_user()
    both = ("lam", 1, ("add", ("ent", "f", (B0,)), ("ent", "g", (B0,))))
    own = {"d": ("int", d.index), "q": both, "k": family("g")}
    found = use(
        parted(), u, expect((f[1] + g[1]) * g[1]), expect(f[1] + g[1]) * expect(g[1]), **own
    )
    assert "family q: declared independent, so it must be a family or a slice of one" in found


def test_components_must_be_independent_and_different() -> None:
    u = Scope("user")
    d = u.dimension("d")
    u.assume("two", d >= 2)
    f = u.family("f", d, order=4)
    h = u.family("h", d, order=4, independent=True)
    at = {"d": ("int", d.index)}
    fine = use(parted(components=True), u, expect(h[1] * h[2]), expect(h[1]) * expect(h[2]),
               **at, q=family("h"))  # fmt: skip
    assert fine == ""
    dependent = use(parted(components=True), u, expect(f[1] * f[2]), expect(f[1]) * expect(f[2]),
                    **at, q=family("f"))  # fmt: skip
    assert "family q: independent components are needed" in dependent
    same_place = ("lam", 1, ("ent", "h", (ix.ONE,)))
    twice = use(parted(components=True), u, expect(h[1] * h[1]), expect(h[1]) * expect(h[1]),
                **at, q=same_place)  # fmt: skip
    assert "family q: independent components are needed" in twice


def test_moments_of_a_value_must_exist() -> None:
    s = Scope("linear")
    d = s.dimension("d")
    q = s.family("q", d, order=1)
    lemma = certificate(s, expect(2 * q[1]), 2 * expect(q[1]), "ring", {"laws": ["E_lin"]})
    u = Scope("user")
    m = u.dimension("m")
    f = u.family("f", m, order=2)
    square = ("lam", 1, ("pow", ("ent", "f", (B0,)), 2))
    cube = ("lam", 1, ("pow", ("ent", "f", (B0,)), 3))
    own = {"d": ("int", m.index)}
    assert use(lemma, u, expect(2 * f[1] ** 2), 2 * expect(f[1] ** 2), **own, q=square) == ""
    found = use(lemma, u, expect(2 * f[1]), 2 * expect(f[1]), **own, q=cube)
    assert "a moment of order 3 of f is needed, and moments exist up to order 2" in found


# ---------------------------------------------------------------------- derivatives


def scaled_slope() -> dict[str, Any]:
    """Lemma: ``D(v s_i)/D s_j = v [i = j]``, for a v that does not depend on s."""
    s = Scope("slope")
    n = s.dimension("n")
    x, v = s.tensor("s", n), s.scalar("v")
    i, j = s.index("i", n), s.index("j", n)
    return certificate(s, derivative(x[j], v * x[i]), v * ind(i.is_(j)), "diff")


def slope(before: Any, after: Any, s: Any, v: Any) -> str:
    u = Scope("user")
    n = u.dimension("n")
    u.tensor("y", n)
    u.scalar("b")
    dimension = {"n": ("int", n.index), "i": ONE, "j": ONE}
    return use(scaled_slope(), u, before(u), after(u), s=s, v=v, **dimension)


def test_a_lemma_with_a_derivative_at_an_independent_value() -> None:
    found = slope(
        lambda u: derivative(u["y"][1], u["b"] * u["y"][1]), lambda u: u["b"] * 1,
        family("y"), scalar("b"),
    )  # fmt: skip
    assert found == ""


@pytest.mark.parametrize(
    ("s", "v", "because"),
    [
        (family("y"), ("real", ("ent", "y", (ix.ONE,))), "and the value of v depends on it"),
        (("lam", 1, ("ent", "y", (ix.ONE,))), scalar("b"), "whose entries must be distinct"),
        (("lam", 1, ("exp", ("ent", "y", (B0,)))), scalar("b"), "must be an entry or a scalar"),
    ],
)  # fmt: skip
def test_a_lemma_with_a_derivative_at_a_dependent_value(s: Any, v: Any, because: str) -> None:
    """Else ``D(s_i^2) = s_i [i = j]``."""
    found = slope(
        lambda u: derivative(u["y"][1], u["y"][1] * u["y"][1]), lambda u: u["y"][1] * 1, s, v
    )
    assert because in found
