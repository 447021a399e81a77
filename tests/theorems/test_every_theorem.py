"""Every registered theorem says something, is proved, and would be refused if it said too much.

The lists of exceptions at the top carry a reason each, and a test fails when an entry is no longer
needed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import mpmath
import pytest

from attnproofs.calculus import evaluate as ev
from attnproofs.calculus.proof import SESSION
from attnproofs.calculus.proving import Result, prove
from attnproofs.calculus.symbols import Scope
from attnproofs.calculus.theorem import Built, Part, Theorem
from attnproofs.kernel.axioms import AXIOMS
from attnproofs.kernel.read import parse
from attnproofs.kernel.refused import Refused
from attnproofs.kernel.replay import Replay, _Checker
from attnproofs.kernel.statement import Statement, canonical, to_data
from attnproofs.theorems import CHAPTERS, catalogue, locations, select, theorem
from attnproofs.theorems.bibliography import BIBLIOGRAPHY

IDS = tuple(locations())
LANGUAGES = ("en", "ko")

# (statement, hypothesis) that the proof does without -> why it is stated all the same
CONVENIENT = {
    ("orientation_attention.masked", "κ_kept"): "weights of an empty row are 0/0 in a reader's "
    "eyes; the identity of both conventions holds in such a row, too",
    ("single_head_formula", "κ_kept"): "as above: the formula is read in rows that keep a key",
    ("zero_mask_leaks.positive", "masked"): "the part continues the main claim, which is about "
    "a masked key; kept keys have positive weights, too",
    ("rounded_factor.nonnegative", "nonnegative"): "follows from 'below' and 'above' of the same "
    "declaration, which the three parts share",
    ("rounded_factor.nonnegative", "above"): "shared declaration: errors have two bounds",
}

# statement -> why its two sides have one value at all instances
CONSTANT = {
    "matmul_entry.entry_11": "a product of two given matrices",
    "matmul_entry.entry_12": "a product of two given matrices",
    "matmul_entry.entry_21": "a product of two given matrices",
    "matmul_entry.entry_22": "a product of two given matrices",
    "qk_mean": "the mean of a score is 0: that is the claim",
    "qk_std.d_k_64": "sqrt(64) = 8",
    "qk_variance_scaled": "the variance is 1: that is the claim",
    "rotation_addition.length": "cos² + sin² = 1: that is the claim",
    "init_variance": "the variance is 1: that is the claim",
    "score_gap_variance": "the variance is 2: that is the claim",
    "score_gap_variance.cross": "the two scores are uncorrelated: that is the claim",
    "softmax_sum": "the weights sum to 1: that is the claim",
    "softmax_example": "an enclosure of one number",
    "softmax_example.first_above": "an enclosure of one number",
    "softmax_example.second_below": "an enclosure of one number",
    "softmax_example.second_above": "an enclosure of one number",
    "softmax_example.third_below": "an enclosure of one number",
    "softmax_example.third_above": "an enclosure of one number",
    "causal_first_row": "the first row keeps one key, of weight 1: that is the claim",
    "empty_row": "every weighting of an empty row sums to 0: that is the claim",
    "empty_row.undetermined": "every weighting of an empty row sums to 0: that is the claim",
    "mask_exact_zero": "the weight of a masked key is 0: that is the claim",
    "window_band.later": "a key outside the band has weight 0: that is the claim",
    "window_band.beyond": "a key outside the band has weight 0: that is the claim",
    "cross_attention": "the weights of a row sum to 1: that is the claim",
    "score_count.T_8192": "8192^2 is a number",
    "grad_masked": "no gradient reaches a masked score: that is the claim",
}

# (statement, symbol) that occurs nowhere in it -> why it is declared
UNUSED = {
    (f"shapes.{part}", name): "all parts of the theorem are about one layer, declared once"
    for part, names in {
        "queries": ("W_K", "W_V", "d_v"),
        "keys": ("W_Q", "W_V", "d_v"),
        "values": ("W_Q", "W_K", "d_k"),
        "scores": ("W_V", "d_v"),
        "weights": ("W_V", "d_v"),
        "concatenation": ("d_model",),
    }.items()
    for name in names
} | {
    ("grad_vanishes.bound", name): "a consequence for the bound alone, declared with the others"
    for name in ("s", "j")
}

# a line of a proof that no instance reaches -> why
UNREACHED = {"cached_projection base": "at T = 0 there is no row: the case is absurd"}


@cache
def result(id: str) -> Result:
    return prove(theorem(id))


def built(t: Theorem) -> Iterator[tuple[Part, Built]]:
    return zip(t.parts, t.built)


def refusal(statement: Statement, proof: Any) -> str:
    try:
        _Checker(SESSION, statement).run(json.loads(canonical(proof)))
    except Refused as refused:
        return refused.reason
    return ""


# ---------------------------------------------------------------------- proof


@pytest.mark.parametrize("id", IDS)
def test_it_is_proved_and_nobody_disagrees(id: str) -> None:
    """The certificate replays, SymPy and the numbers agree with every line."""
    assert (result(id).status, result(id).message) == ("proved", "")
    assert result(id).lines > 0 or all(
        b.statement.claim.relation == "shape" for b in theorem(id).built
    )
    for o in result(id).opinions:
        assert o.numbers == ("no instance" if o.part in UNREACHED else "agrees"), (o.part, o.line)


def test_all_certificates_together_replay_in_a_fresh_kernel() -> None:
    """Nothing rests on what this process happened to have proved before."""
    replay = Replay()
    texts = [canonical(theorem(id).certificate()) for id in IDS]

    digests = [d for text in texts for d in replay.load(parse(text.encode()))]
    for digest in digests:
        replay.prove(digest)

    assert len(set(digests)) == len(digests), "two statements of the catalogue are the same"
    assert set(digests) == set(replay.proved)


@pytest.mark.parametrize("id", IDS)
def test_its_false_neighbours_are_refused_and_refuted(id: str) -> None:
    """A nearby wrong claim is refused by the kernel, and numbers show where it fails."""
    t = theorem(id)

    assert t.lemma or t.false_neighbours
    for wrong, neighbour in zip(t.false_neighbours, result(id).neighbours):
        assert neighbour.refused, neighbour.title
        assert neighbour.counterexample, neighbour.title
        relation = wrong.statement(Scope(id)).relation
        assert (
            relation not in ("=", "factors")
            or neighbour.lhs != neighbour.rhs
            or "there is no entry" in neighbour.counterexample
        ), f"{neighbour.title}: both sides print as {neighbour.lhs}"


# ---------------------------------------------------------------------- words


@pytest.mark.parametrize("id", IDS)
def test_it_is_told_in_both_languages(id: str) -> None:
    t = theorem(id)

    assert id == t.id and t.chapter == locations()[id] and t.chapter in CHAPTERS
    for language in LANGUAGES:
        assert t.title.get(language, "").strip(), f"no title in {language}"
        for part in t.parts[1:]:
            assert part.title.get(language, "").strip(), f"part {part.name}: no title ({language})"
        for neighbour in t.false_neighbours:
            assert neighbour.title.get(language, "").strip(), f"false neighbour ({language})"
        if not t.lemma:
            assert t.prose.get(language, "").strip(), f"no prose in {language}"
            assert t.numbers.get(language, "").strip(), f"no numbers in {language}"
    if not t.lemma:
        assert t.references, "a claim about attention names where it is made"
    assert set(t.references) <= set(BIBLIOGRAPHY)


# ---------------------------------------------------------------------- content


def names_in(x: Any) -> set[str]:
    """Return every text inside JSON-able data."""
    if isinstance(x, str):
        return {x}
    if isinstance(x, dict):
        return set().union(*(names_in(y) for y in x.values()))
    return set().union(*(names_in(y) for y in x)) if isinstance(x, list) else set()


def unmentioned(statement: Statement) -> set[str]:
    """Return the declared symbols that neither the claim nor what it rests on mentions."""
    data = to_data(statement)
    declared = {d["name"]: d for d in data["declared"]}
    reached = names_in(data["claim"]) & set(declared)
    hypotheses = [names_in(h) & set(declared) for h in data["hypotheses"]]
    while True:
        more = set(reached)
        for name in reached:
            more |= names_in([declared[name]["axes"], declared[name]["codomain"]]) & set(declared)
        for names in hypotheses:
            if names & more:
                more |= names
        if more == reached:
            return set(declared) - reached
        reached = more


@pytest.mark.parametrize("id", IDS)
def test_its_claim_mentions_what_it_declares(id: str) -> None:
    """A claim about attention cannot be about nothing."""
    for _, b in built(theorem(id)):
        name = b.statement.name
        for symbol in unmentioned(b.statement):
            assert (name, symbol) in UNUSED, f"{name} declares {symbol} and does not mention it"


@pytest.mark.parametrize("id", IDS)
def test_its_two_sides_differ(id: str) -> None:
    """``t = t`` is no theorem."""
    for _, b in built(theorem(id)):
        claim = b.statement.claim
        assert claim.lhs != claim.rhs, b.statement.name


@pytest.mark.parametrize("id", IDS)
def test_its_values_are_neither_always_zero_nor_equal_by_accident(id: str) -> None:
    """At random instances the claim holds, its sides are not all 0, and they vary."""
    for part, b in built(theorem(id)):
        name, relation = b.statement.name, b.statement.claim.relation
        if relation == "shape":
            continue
        samples = [
            ev.sample(b.statement, f"hygiene{k}", digits=30, given=part.instance) for k in range(8)
        ]

        assert all(s.holds for s in samples), name
        lefts = {mpmath.nstr(ev.as_mpf(s.lhs), 12) for s in samples}
        rights = {mpmath.nstr(ev.as_mpf(s.rhs), 12) for s in samples}
        varies = len(lefts) > 1 or len(rights) > 1
        zero = all(s.lhs == 0 and s.rhs == 0 for s in samples)
        assert name in CONSTANT or (varies and not zero), f"{name}: {lefts} {relation} {rights}"


@pytest.mark.parametrize("id", IDS)
def test_its_hypotheses_are_needed(id: str) -> None:
    """Without a hypothesis the proof is refused, or the hypothesis is listed as convenient."""
    for _, b in built(theorem(id)):
        statement = b.statement
        for h in statement.hypotheses:
            kept = tuple(x for x in statement.hypotheses if x is not h)
            refused = refusal(replace(statement, hypotheses=kept), b.proof)
            if (statement.name, h.name) in CONVENIENT:
                assert not refused, f"{statement.name} needs {h.name} now: take it off the list"
            else:
                assert refused, f"{statement.name} does not need {h.name}"
        for group in statement.independent:
            kept_groups = tuple(g for g in statement.independent if g is not group)
            assert refusal(replace(statement, independent=kept_groups), b.proof), group
        for d in statement.declared:
            if d.independent:
                weaker = replace(d, independent=False)
                others = tuple(weaker if x is d else x for x in statement.declared)
                assert refusal(replace(statement, declared=others), b.proof), d.name


def test_the_lists_of_exceptions_name_statements_that_exist() -> None:
    statements = {b.statement.name: b.statement for t in select(()) for b in t.built}

    assert set(CONSTANT) <= set(statements)
    for name, hypothesis in CONVENIENT:
        assert hypothesis in statements[name].hypothesis
    for name, symbol in UNUSED:
        assert symbol in unmentioned(statements[name]), (name, symbol)


# ---------------------------------------------------------------------- axioms, catalogue


def test_no_theorem_is_an_axiom() -> None:
    assert not set(AXIOMS) & set(IDS)


def test_the_axioms_are_few_and_all_known() -> None:
    """The union over all theorems is at most 22, and each has a reason and a reference."""
    used = set().union(*(result(id).axioms for id in IDS))

    assert used <= set(AXIOMS)
    assert len(used) <= 22
    assert all(a.reason and a.reference and a.statement for a in AXIOMS.values())


def test_axioms_pass_from_a_lemma_to_what_cites_it() -> None:
    for id in IDS:
        for p in theorem(id).proved():
            for digest in p.lemmas:
                assert SESSION.proved[digest].axioms <= p.axioms, p.statement.name


def test_the_catalogue_is_fresh() -> None:
    """``catalogue.json`` says what the replay says."""
    stored = json.loads(catalogue._FILE.read_text(encoding="utf-8"))["theorems"]
    fresh = json.loads(catalogue.build())["theorems"]
    stale = [e["id"] for e in fresh if e not in stored] + [
        e["id"] for e in stored if e["id"] not in {f["id"] for f in fresh}
    ]

    hint = "write it anew: python -m attnproofs.theorems.catalogue"
    assert not stale, f"catalogue.json is stale for {', '.join(stale)}; {hint}"
    assert stored == fresh, f"catalogue.json has another order; {hint}"


def test_a_theorem_comes_after_those_that_it_cites() -> None:
    """Within each chapter, in the list, the book and the site, which have one order."""
    place = {id: k for k, id in enumerate(IDS)}
    for entry in catalogue.entries():
        for cited in {name.split(".")[0] for name in entry["lemmas"]} - {entry["id"]}:
            if locations()[cited] == entry["chapter"]:
                assert place[cited] < place[entry["id"]], (cited, entry["id"])


def test_a_file_that_is_not_in_the_catalogue_yet_is_found(monkeypatch: Any) -> None:
    """It stands last in its chapter; without any table the order is alphabetical."""
    monkeypatch.setattr(catalogue, "order", lambda: {"softmax_sum": 0})
    found = [id for id, chapter in locations.__wrapped__().items() if chapter == "softmax"]

    assert found == ["softmax_sum", *sorted(set(found) - {"softmax_sum"})]


def test_everything_is_proved_according_to_the_catalogue() -> None:
    assert {e["evidence"] for e in catalogue.entries()} == {"proved"}
    assert [e["id"] for e in catalogue.entries()] == list(IDS)
