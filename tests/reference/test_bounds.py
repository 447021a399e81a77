"""The bound holds for every emulated program, and notices when a term is taken away."""

from __future__ import annotations

import numpy as np
import pytest

from attnproofs.errors import InputError
from attnproofs.reference.bounds import judge, models
from tests.reference.bound_power import SETTINGS, study
from tests.reference.bound_runs import campaign, shift_case

NAMES = [*models(), "textbook(float32)", "textbook(bfloat16)"]


@pytest.mark.parametrize("name", NAMES)
def test_no_emulated_program_exceeds_any_tier(name: str) -> None:
    tally = campaign(name, cases=25, per_case=8, seed=20)
    assert tally.runs == 200
    assert tally.uncovered < tally.elements / 10
    assert not any(tally.violations.values()), tally.first
    assert max(tally.ratios) > 0.01  # the allowance is within a factor 100 of what happens


@pytest.mark.parametrize(
    ("name", "term"), [("fa2-bf16", "weights"), ("fa2-bf16", "output"), ("unfused-fp16", "scores")]
)
def test_removing_a_term_is_noticed(name: str, term: str) -> None:
    tally = campaign(name, cases=25, per_case=8, seed=21, omit=((term,),))
    assert tally.violations[f"without {term}"] > 0
    assert tally.violations["tier 2"] == 0


def test_a_result_of_another_shape_is_refused() -> None:
    x = np.zeros((2, 3))
    with pytest.raises(InputError, match=r"got has shape \(2, 2\); expected \(2, 3\)"):
        judge(x, x, x, np.zeros((2, 2)), model="float64")


def test_gross_defects_are_rejected_and_the_correct_kernel_never() -> None:
    by_defect, _, false = study(1, settings=SETTINGS[::2])
    assert false["bound"] == 0
    assert by_defect["one tile not rescaled"]["bound"] == len(SETTINGS[::2])
    assert by_defect["stale value tile"]["bound"] == len(SETTINGS[::2])


def test_the_shift_term_is_needed_in_a_constructed_case() -> None:
    (beyond, runs), without = shift_case()
    assert beyond == 0
    assert without > runs / 2
