"""False neighbours are printed with what they assume otherwise and with refuting numbers."""

import re
from fractions import Fraction
from functools import cache

import mpmath
import pytest

from attnproofs.calculus import Part, Scope, Theorem, eq, le
from attnproofs.theorems import locations, theorem
from attnproofs.typeset.notations import NOTATIONS
from attnproofs.typeset.page import digits, page
from attnproofs.typeset.plain import text_page
from attnproofs.typeset.printer import Printer
from attnproofs.typeset.records import record_of
from attnproofs.typeset.web import document

IDS = tuple(locations())


@cache
def shown(name):
    return page(theorem(name))


def texts(formulas):
    return [f.to("text") for f in formulas]


def rows(assumptions):
    return {row.kind: texts(row.formulas) for row in assumptions}


# -- numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text", "latex"),
    [
        (3, "3", "3"),
        (Fraction(-14, 3), "-14/3", "-14/3"),
        (mpmath.mpf(-58), "-58", "-58"),
        (mpmath.mpf("48724017123.25001"), "4.8724017·10¹⁰", r"4.8724017 \cdot 10^{10}"),
        (mpmath.mpf("-6.82560291e-8"), "-6.8256029·10^-8", r"-6.8256029 \cdot 10^{-8}"),
        (mpmath.mpf("0.66524096"), "0.66524096", "0.66524096"),
        (mpmath.mpf("12.000000001234567"), "12", "12"),
        (mpmath.mpf("0.5"), "1/2", "1/2"),
    ],
)
def test_numbers_are_written_as_in_mathematics(value, text, latex):
    """No programming notation; rational numbers are exact, on one line."""
    assert digits(Printer("text"), value) == text
    assert digits(Printer("latex"), value) == latex


def test_a_computed_value_that_is_rational_is_recognised_and_no_other():
    """A third to fifty digits is 1/3; something that differs in its 39th digit is not."""
    with mpmath.workdps(65):
        third = mpmath.mpf(1) / 3
        near = third + mpmath.mpf(10) ** -39

    assert digits(Printer("text"), third) == "1/3"
    assert digits(Printer("text"), near) == "0.33333333"


# -- sides ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", IDS)
def test_sides_are_shown_and_differ_where_they_are_said_to_be_equal(name):
    """Every claim with two sides shows them; those of an equality are different numbers."""
    for wrong, record in zip(shown(name).false, record_of(theorem(name)).false, strict=True):
        assert wrong.sides or wrong.misfit, "no numbers"
        assert not (wrong.sides and wrong.misfit), "sides of a claim that makes no sense"
        if wrong.sides and record.statement.claim.relation in ("=", "factors"):
            assert len(set(texts(wrong.sides))) == 2


@pytest.mark.parametrize("name", ["shapes", "score_entry", "cross_attention", "residual"])
def test_a_claim_that_does_not_fit_says_what_does_not_fit(name):
    """Sizes and the entry that does not exist, instead of two meaningless sides."""
    wrong = shown(name).false[0]
    array, entry = texts(wrong.misfit)
    letter, sizes = re.fullmatch(r"(\w+) \((.*)\)", array).groups()
    places = [int(i) for i in re.fullmatch(rf"{letter}\[(.*)\]", entry)[1].split(", ")]

    assert any(i > int(size) for i, size in zip(places, sizes.split("×"), strict=True))
    assert "left side" not in text_page(shown(name)).split("What would be false")[1]
    assert "The sizes do not fit" in document(shown(name))


def test_numbers_without_symbols_have_sides():
    """A claim about given numbers has no values to list, and shows what both sides are."""
    text = text_page(shown("softmax_example"))

    assert "left side 0.66524096, right side 2/3" in text


@pytest.mark.parametrize("name", IDS)
def test_counterexamples_are_short(name):
    """Small instances: a few lines of text, and no stacked fraction."""
    for wrong in shown(name).false:
        assert sum(map(len, texts(wrong.values))) < 250
        assert not any(r"\frac" in f.to("latex") for f in (*wrong.values, *wrong.sides))


def test_a_permutation_is_one():
    """What is said to be another order maps no two heads to the same place."""
    wrong = shown("concat_sum").false[0]

    assert "π:1 ↦ 2, 2 ↦ 1" in texts(wrong.values)
    assert len(rows(wrong.changed)["assume"]) == 2


# -- what is assumed -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", IDS)
def test_what_looks_like_the_theorem_shows_its_other_hypotheses(name):
    """A false claim is not printed letter for letter like the true one."""
    main = shown(name).parts[0]
    known = {n for _, n, _ in main.symbols}
    for wrong, record in zip(shown(name).false, record_of(theorem(name)).false, strict=True):
        if wrong.claim.to("text") == main.claim.to("text"):
            assert wrong.without or wrong.changed
        explained = " ".join(t for row in wrong.changed for t in texts(row.formulas))
        for d in record.statement.declared:
            written = NOTATIONS["text"].name(d.name)
            assert d.name in known or re.search(rf"(?<!\w){re.escape(written)}(?!\w)", explained)


@pytest.mark.parametrize(
    ("name", "place", "kind", "formula"),
    [
        ("tile_memory", 1, "assume", "b_c·b_r ≤ T·d_k"),
        ("bienayme", 0, "assume", "a ≠ b ⇒ "),
        ("empty_row", 0, "assume", "¬keep(l)"),
    ],
)
def test_a_hypothesis_that_is_dropped_is_named(name, place, kind, formula):
    """What the false neighbour does without."""
    assert any(formula in t for t in rows(shown(name).false[place].without)[kind])


@pytest.mark.parametrize(
    ("name", "place", "kind", "formula"),
    [
        ("rank_vo_attained", 0, "indices", "1 ≤ i ≤ d_v + m"),
        ("online_softmax", 0, "assume", "L[k + 1] = L[k] + u[k + 1]"),
        ("causal_no_future", 0, "assume", "1 ≤ j' ≤ i - 1"),
        ("shapes", 1, "tensors", "W_O (d_k×d_model)"),
        ("mqa_case", 0, "indices", "1 ≤ q ≤ H"),
        ("rope_relative", 0, "tensors", "P (N×d)"),
    ],
)
def test_a_hypothesis_that_is_changed_is_written(name, place, kind, formula):
    """What it assumes instead, in every format."""
    assert any(formula in t for t in rows(shown(name).false[place].changed)[kind])
    assert "With other hypotheses" in text_page(shown(name))
    assert "가정을 바꾸어" in document(shown(name), "ko")


# -- words of the kernel -------------------------------------------------------------------------


@pytest.mark.parametrize("name", IDS)
def test_no_internal_name_is_printed(name):
    """Neither the kernel's names of bound indices nor those of this package."""
    assert not any("%" in wrong.refusal for wrong in shown(name).false)
    assert not re.search(r"_row\d", text_page(shown(name)))


@pytest.mark.parametrize("name", IDS)
def test_a_hypothesis_that_a_line_cites_stands_in_the_box_under_its_name(name):
    """ "hypothesis k_unit" leads to "k_unit: ..."."""
    for part in shown(name).parts:
        cited = {
            of
            for d in part.derivations
            for step in d.steps
            for rule, of in step.reasons
            if rule == "hyp" and of != "IH"
        }
        box = [t for row in part.assumptions for t in texts(row.formulas)]
        named = {t.split(": ")[0] for t in box if ": " in t}
        assert cited <= named


def mine():
    def statement(s):
        N, d = s.dimension("N"), s.dimension("d")
        from attnproofs.calculus.symbols import span

        m, A = s.tensor("m", span(0, N)), s.tensor("A", span(0, N), N + d)
        s.tensor("v", N + d)
        s.assume("same", lambda k: eq(m[k], A[k, 1]), over={"k": span(0, N)})
        return eq(m[0], A[0, 1])

    def proof(p):
        from attnproofs.calculus import hyp

        p.line(p["A"][0, 1], hyp("same"))

    return Theorem(id="mine", chapter="mine", title={"en": "Mine"}, parts=(Part(statement, proof),))


def test_sizes_have_one_pair_of_parentheses_and_say_where_an_axis_starts():
    """``v (N + d)`` and ``m (0:N)``."""
    (part,) = page(mine()).parts

    assert rows(part.assumptions)["tensors"] == ["m (0:N)", "A ((0:N)×(N + d))", "v (N + d)"]


def test_spaces_of_rows_are_those_of_whole_matrices():
    """No subscripted row space."""
    true, false = shown("head_update_subspace").parts[0], shown("head_update_subspace").false[0]

    assert true.claim.to("text") == "row space(O·W_O) ⊆ row space(W_O)"
    assert false.labels == ("rank_joint", "rank_alone")
    assert shown("rank_qk").parts[0].claim.to("text") == "rank(W_Q·W_K^⊤) ≤ d_k"


def test_kept_keys_are_quantified_over_a_letter_that_is_free():
    """``i'``, or the next letter when that one is declared."""
    s = Scope("kept")
    T = s.dimension("T")
    s.index("i'", T)
    s.kept(s.predicate("keep", T, T))
    statement = s.claim(le(0, 1))

    assert [n for n, _ in statement.hypotheses[0].forall] == ["h'"]
