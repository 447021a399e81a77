"""No false alarm: correct attention written in unusual ways passes the audit at every level.

A few random cases in one data type each; `python -m tests.benchmarks.false_alarms` runs them all,
in all data types and with many seeds.
"""

import numpy as np
import pytest

from attnproofs.contract.api import audit
from attnproofs.mutants import gallery
from attnproofs.mutants.correct import LEVELS
from tests.contract import unusual

ALL = {name: (level, function) for name, level, function in unusual.everything()}
# every core at level sdpa, and at each other level the cores that differ most
CHOSEN = [
    *(f"sdpa:{name}" for name in unusual.CORES),
    *(
        f"{level}:{name}"
        for level in ("weights", "lse", "decode", "mha", "window", "varlen", "sinks")
        for name in ("tiles_of_3", "in_logarithms")
    ),
    *unusual.SPECIAL,
]


def test_at_least_fifteen_ways_and_every_level():
    assert len(unusual.CORES) >= 15
    assert {level for level, _ in ALL.values()} == set(LEVELS)


@pytest.mark.parametrize("name", ALL)
def test_it_is_attention(name):
    """Within rounding, it agrees with the plain code on ordinary inputs of its level."""
    level, function = ALL[name]
    for subject in gallery(level):
        for call in subject.witness():
            arrays = [x for x in (*call.args, *call.kwargs.values()) if isinstance(x, np.ndarray)]
            finite = [x for x in arrays if x.dtype.kind == "f"]
            # rounding in float16 and at huge scores differs from way to way
            if any(x.dtype == np.float16 or (np.abs(x) > 1e3).any() for x in finite):
                continue
            got, expected = (
                function(*call.args, **call.kwargs),
                LEVELS[level](*call.args, **call.kwargs),
            )
            if not isinstance(expected, tuple):
                got, expected = (got,), (expected,)
            for a, b in zip(got, expected, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(("number", "name"), list(enumerate(CHOSEN)))
def test_no_false_alarm(number, name):
    level, function = ALL[name]
    dtype = ("float64", "float32", "float16")[number % 3]
    report = audit(function, level=level, mode="quick", examples=4, dtypes=[dtype], isolate=False)
    assert not report.could_not_run
    assert [(f.property, f.dtype, f.violation.message) for f in report.violated] == []
    assert report.held


@pytest.mark.parametrize("seed", [1, 4])
def test_a_softmax_in_the_log_domain_is_allowed_its_rounding(seed):
    """Seeds at which it was up to 1.26 times beyond the allowance for exp, shift and sums."""
    _, function = ALL["softmax:by_logarithms"]
    report = audit(
        function, level="softmax", mode="thorough", seed=seed, only=["accuracy"],
        dtypes=["float64"], isolate=False,
    )  # fmt: skip
    assert [f.property for f in report.violated] == []


def test_that_allowance_is_no_excuse_for_anything_larger():
    """Weights off by a part in 10^9 are refused, whatever the level of the scores."""

    def softmax(scores, *, axis=-1):
        return LEVELS["softmax"](scores, axis=axis) * (1 - 1e-9)

    report = audit(softmax, level="softmax", only=["accuracy"], dtypes=["float64"], isolate=False)
    assert [f.property for f in report.violated] == ["accuracy"]
