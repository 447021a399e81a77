"""Printed counterexamples, pasted into a fresh interpreter, show the violation.

One mutant of each level and kind here; `python -m tests.benchmarks.mutants --paste` runs them all.
"""

import pytest

from attnproofs.contract.api import audit
from attnproofs.mutants import lookup
from tests.benchmarks.mutants import shows

CHOSEN = [
    "causal-bottom-right",
    "mask-softened-to-bias",
    "empty-row-nan",
    "value-strides-ignored",
    "query-scaled-in-place",
    "softmax-without-shift",
    "lse-in-base-two",
    "row-term-missing",
    "tokens-written-one-slot-late",
    "output-bias-once-per-shard",
    "window-left-edge-exclusive",
    "dropout-scaled-by-p",
]


@pytest.mark.parametrize("identity", CHOSEN)
def test_pasted_code_fails_on_the_mutant(identity):
    subject = lookup(identity)
    report = audit(
        subject.make(),
        level=subject.level,
        mode="quick",
        dtypes=["float64"],
        isolate=False,
        first_only=True,
    )
    assert shows(report.violated[0].code, None, identity)


def test_code_that_does_not_fail_is_told_apart():
    assert not shows("pass", None, "no-shift")
    assert not shows("raise ValueError", None, "no-shift")
