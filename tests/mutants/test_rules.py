"""The rules: correct functions pass, each rule has its known sight and its known blind spots."""

import numpy as np
import pytest

from attnproofs.errors import InputError
from attnproofs.mutants import LEVELS, lookup
from attnproofs.mutants.rules import NAMED, parse
from attnproofs.mutants.rules.rule import copied, spread, within

LOOSE = "allclose:rtol=1e-2,atol=1e-2"
EVERY = [LOOSE, *NAMED]


def slips(rule_name, mutant_id):
    rule, subject = parse(rule_name), lookup(mutant_id)
    return rule.examine(subject.level, subject.make()) is None


@pytest.mark.parametrize(
    ("name", "level"), [(name, level) for name in EVERY for level in sorted(parse(name).levels)]
)
def test_correct_function_passes_every_rule(name, level):
    assert parse(name).examine(level, LEVELS[level]) is None


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize(
    "mutant_id", ["scores-normalised-without-exponential", "scale-after-softmax"]
)
def test_every_rule_sees_a_crude_fault(name, mutant_id):
    assert not slips(name, mutant_id)


@pytest.mark.parametrize(
    ("name", "mutant_id"),
    [
        # no masks in its inputs
        (LOOSE, "mask-polarity-flipped"),
        ("kernelbench", "mask-polarity-flipped"),
        ("flash-attention", "mask-polarity-flipped"),
        # its boolean masks are all True
        ("onnx", "mask-added-as-number"),
        # no boolean mask, no grouped heads
        ("torch-testing", "mask-polarity-flipped"),
        ("torch-testing", "key-heads-tiled"),
        # uniform inputs make every weight about 1/S
        ("kernelbench", "no-shift"),
        # float16 hides what happens in float64
        ("flash-attention", "double-inputs-computed-in-single"),
    ],
)
def test_known_blind_spots(name, mutant_id):
    assert slips(name, mutant_id)


@pytest.mark.parametrize(
    ("name", "mutant_id"),
    [
        ("onnx", "key-heads-tiled"),
        ("onnx", "additive-mask-as-flag"),
        ("flash-attention", "key-heads-tiled"),
        ("flash-attention", "dropout-scaled-by-p"),
        ("flash-attention", "row-term-missing"),
        ("flash-attention", "window-sides-exchanged"),
        ("flash-attention", "alibi-rewards-distance"),
        ("flash-attention", "packed-borders-ignored"),
        ("flash-attention", "softcap-without-division"),
        ("flash-attention", "unused-cache-slots-attended"),
        ("torch-testing", "result-always-double"),
        ("torch-testing", "row-term-missing"),
        ("kernelbench", "softmax-over-whole-array"),
        ("kernelbench", "heads-interleaved"),
        (LOOSE, "lse-in-base-two"),
        (LOOSE, "sink-left-out"),
    ],
)
def test_known_sight(name, mutant_id):
    assert not slips(name, mutant_id)


def test_a_tighter_tolerance_sees_more():
    assert slips(LOOSE, "softmax-in-half-precision")
    assert not slips("allclose:rtol=1e-5,atol=1e-6", "softmax-in-half-precision")


def test_uniform_inputs_see_less():
    assert not slips(LOOSE, "softmax-base-two")
    assert slips(f"{LOOSE},inputs=uniform", "softmax-base-two")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("allclose:rtol=big", "not a number"),
        ("allclose:rtol=-1", "not a number"),
        ("allclose:rtol=nan", "not a number"),
        ("allclose:tol=1", "not a setting"),
        ("allclose:rtol", "not a setting"),
        ("allclose:inputs=cauchy", "normal or uniform"),
        ("allclose:dtype=int8", "float64 or"),
        ("allclose:seed=x", "whole number"),
        ("flashattention", "neither a rule nor a test file"),
    ],
)
def test_what_cannot_be_read_is_refused_with_what_was_expected(text, words):
    with pytest.raises(InputError, match=words):
        parse(text)


def test_settings_come_back_in_the_name():
    assert parse("allclose").name == "allclose:rtol=1e-05,atol=1e-08"
    assert parse("allclose:inputs=uniform,seed=3").name.endswith("inputs=uniform,seed=3")


def test_comparison_holds_at_the_limit_and_fails_beyond_and_for_nan():
    compare = within(0.0, 0.5)
    assert compare(np.array([1.5]), np.array([1.0])) is None
    assert "error 0.6" in compare(np.array([1.6]), np.array([1.0]))
    assert compare(np.array([np.nan]), np.array([1.0])) == "NaN"
    assert compare(np.array([1.0]), np.array([np.nan])) is not None
    assert compare(np.array([np.inf]), np.array([np.inf])) is None
    assert "dtype" in within(1.0, 1.0, same_dtype=True)(np.zeros(1, "f4"), np.zeros(1))


def test_a_function_that_raises_or_has_the_wrong_shape_fails():
    def raises(*args, **kwargs):
        raise ZeroDivisionError("by zero")

    rule = parse("onnx")
    assert "ZeroDivisionError" in rule.examine("sdpa", raises)
    assert "shape" in rule.examine("sdpa", lambda query, key, value, **kw: value)


def test_cases_are_not_spoiled_by_a_mutant_that_writes_into_its_inputs():
    """The second function sees the same inputs as the first."""
    rule, spoiler = parse("onnx"), lookup("query-scaled-in-place").make()
    rule.examine("sdpa", spoiler)
    assert rule.examine("sdpa", LEVELS["sdpa"]) is None


def test_copies_of_strided_views_stay_strided():
    view = spread(np.arange(6.0).reshape(2, 3))
    call = type(lookup("no-shift").witness()[0])((view,))
    again = copied(call).args[0]
    assert again.strides == view.strides
    assert not again.flags.c_contiguous
    assert (again == view).all()
    assert not np.shares_memory(again, view)
