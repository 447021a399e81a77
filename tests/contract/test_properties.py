"""The properties themselves: tied to theorems, listed in the docs, each with cases of its own."""

import json
import runpy
from importlib.resources import files
from pathlib import Path

import pytest

from attnproofs.contract.profile import load_profile
from attnproofs.contract.properties import REGISTRY, properties_of
from attnproofs.contract.property import LEVELS, Make

ROOT = Path(__file__).parents[2]
ALL = [p for level in LEVELS for p in REGISTRY[level]]
KEYWORDS = frozenset(
    {*LEVELS["sdpa"][1], *LEVELS["mha"][1], "axis", "groups", "wide_mask"} - {"left", "right"}
)


def test_about_sixty_properties_and_more():
    assert len({p.id for p in ALL}) >= 60
    assert {p.level for p in ALL} == set(LEVELS)


def test_every_property_rests_on_a_theorem_of_the_catalogue():
    data = json.loads((files("attnproofs.theorems") / "catalogue.json").read_text("utf-8"))
    known = {entry["id"] for entry in data["theorems"]}
    assert {p.theorem for p in ALL} <= known


def test_the_docs_list_the_properties_that_there_are():
    module = runpy.run_path(str(ROOT / "docs" / "make_properties.py"))
    page = (ROOT / "docs" / "audit.md").read_text("utf-8")
    assert module["page"]() == page, "run: python docs/make_properties.py"


@pytest.mark.parametrize("level", LEVELS)
def test_every_property_has_cases_and_the_same_seed_draws_the_same(level):
    for entry in properties_of(level):
        dtype = entry.dtypes[0]

        def make(entry=entry, dtype=dtype):
            return Make(
                seed=3,
                examples=8,
                dtype=dtype,
                profile=load_profile("strict"),
                claims=KEYWORDS,
                reach=9,
                name=entry.id,
                variant=entry.variant,
            )

        cases = list(entry.cases(make()))
        assert cases, entry.id
        assert all(entry.domain is None or entry.domain(case) for case in cases), entry.id
        again = list(entry.cases(make()))
        assert [c.to_json() for c in cases] == [c.to_json() for c in again], entry.id


def test_sentences_say_what_must_hold_and_are_short():
    for entry in ALL:
        assert entry.sentence.endswith("."), entry.id
        assert len(entry.sentence) <= 110, entry.id
