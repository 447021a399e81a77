"""`identify` against functions whose conventions are known."""

from __future__ import annotations

import random

import numpy as np
import pytest

import attnproofs
from attnproofs.adapters import numpy_attention
from attnproofs.contract.identify import identify
from attnproofs.contract.profile import CONVENTIONS, load_profile, profile_names
from attnproofs.errors import InputError, TargetError
from tests.adapters.chameleon import CHOICES, STRICT, make, settle

COMBINATIONS = 240


def _answers(conventions):
    found = identify(make(conventions))
    return {name: seen.value for name, seen in found.observations.items()}


def test_choices_cover_every_convention():
    assert set(CHOICES) == set(CONVENTIONS)
    for name, values in CHOICES.items():
        assert set(values) <= set(CONVENTIONS[name].answers)


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in CHOICES.items() for value in values]
)
def test_one_departure_from_strict(name, value):
    conventions = STRICT | {name: value}
    assert _answers(conventions) == settle(conventions)


@pytest.mark.parametrize("block", range(8))
def test_random_combinations(block):
    for number in range(block, COMBINATIONS, 8):
        rng = random.Random(number)
        conventions = {name: rng.choice(values) for name, values in CHOICES.items()}
        assert _answers(conventions) == settle(conventions), f"combination {number}"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("bool_mask", "masked"),
        ("causal_alignment", "bottom-right"),
        ("grouped_heads", "tiled"),
        ("window", "exclusive"),
        ("softcap", "after-mask"),
        ("default_scale", "1/d"),
        ("layout", "BLHD"),
    ],
)
def test_a_departure_is_listed_with_the_probe_that_shows_it(name, value):
    target = make(STRICT | {name: value})
    (difference,) = [d for d in identify(target).differences("strict") if d.question == name]
    assert (
        difference.here == value and difference.there == load_profile("strict").entries[name].value
    )
    assert len(difference.probe.splitlines()) == 2
    seen = _run(difference.probe, target)
    assert not np.array_equal(seen, _run(difference.probe, make(STRICT)), equal_nan=True)


def _run(probe, f):
    """Run a probe as a reader would: paste it after ``import numpy as np``."""
    names = {"np": np, "f": f}
    first, second = probe.splitlines()
    try:
        exec(first, names)  # our own text, made above
        exec(f"out = {second}", names)
        return names["out"]
    except ValueError as error:
        return np.array(str(error))


def test_every_probe_is_two_lines_that_run():
    f = make(STRICT)
    for seen in identify(f).observations.values():
        if seen.probe:
            assert len(seen.probe.splitlines()) == 2
            _run(seen.probe, f)


def test_numpy_reference_is_strict():
    found = identify(numpy_attention.sdpa)
    assert found.nearest == "strict" and not found.differences() and found.as_near == ()


def test_a_function_that_is_not_repeatable():
    calls = []

    def f(query, key, value):
        calls.append(1)
        return numpy_attention.sdpa(query, key, value) * (1 + 1e-6 * (len(calls) % 2))

    assert identify(f).value("repeatable") == "no"


@pytest.mark.parametrize("axes", [2, 3])
def test_arrays_without_batch_or_heads(axes):
    def f(query, key, value, *, attn_mask=None):
        assert query.ndim == axes
        return numpy_attention.sdpa(query, key, value, attn_mask=attn_mask)

    found = identify(f)
    assert found.value("bool_mask") == "attend" and found.value("layout") == "unknown"
    assert f"{axes} axes" in found.notes[0]


def test_keywords_that_are_missing_are_not_claimed():
    def f(query, key, value):
        return numpy_attention.sdpa(query, key, value)

    found = identify(f)
    assert found.value("causal_alignment") == found.value("bool_mask") == "none"
    assert all(not d.offered for d in found.differences("strict"))


def test_a_target_that_fails_is_told_so():
    def f(query, key, value):
        raise RuntimeError("CUDA error: no kernel image")

    with pytest.raises(TargetError, match="CUDA error: no kernel image"):
        identify(f)
    with pytest.raises(InputError, match="no dtype 'float33'"):
        identify(numpy_attention.sdpa, dtype="float33")


def test_public_name():
    assert attnproofs.identify is identify


def test_nearest_is_a_profile():
    assert identify(make(STRICT | {"layout": "BLHD"})).nearest in profile_names()


def test_printed_it_names_answers_and_differences():
    text = str(identify(make(STRICT | {"causal_alignment": "bottom-right"}), name="mine"))
    assert text.startswith("mine: probed in float32, with arrays of 4 axes")
    assert "  causal_alignment       bottom-right" in text and "nearest profile: " in text
    text = str(identify(numpy_attention.sdpa))
    assert text.endswith("nearest profile: strict")
