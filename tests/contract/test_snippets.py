"""Each kind of counterexample, pasted into a fresh interpreter, shows the violation."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import attnproofs
from attnproofs.contract.api import audit

ROOT = Path(attnproofs.__file__).parent.parent
ENV = {**os.environ, "PYTHONPATH": str(ROOT)}

# target -> level, properties to run, property that must be the first root cause
FAULTY = {
    "empty_rows_are_nan": ("sdpa", ["empty_row", "kept_set"], "empty_row"),
    "sees_the_future": ("sdpa", ["causal_kept_set", "causal_no_future"], "causal_kept_set"),
    "transposed_values": ("sdpa", ["memory_layout"], "memory_layout"),
    "wrong_lse": ("lse", ["lse_counts_keys", "split_and_merge"], "lse_counts_keys"),
    "first_head_for_all": ("sdpa", ["heads_independent"], "heads_independent"),
    "gradient_without_row_sum": ("grad", ["constant_values"], "constant_values"),
    "half_softmax": ("softmax", ["accuracy", "equal_scores"], "accuracy"),
    "raises_for_five_keys": ("sdpa", ["every_key_counts"], "every_key_counts"),
    "hangs_for_four_keys": ("sdpa", ["every_key_counts"], "every_key_counts"),
    "exits_for_four_keys": ("sdpa", ["every_key_counts"], "every_key_counts"),
    "view": ("sdpa", ["inputs_unchanged"], "inputs_unchanged"),
    "mutates": ("sdpa", ["inputs_unchanged"], "inputs_unchanged"),
    "nan": ("sdpa", ["single_key"], "single_key"),
    "narrow": ("sdpa", ["result_dtype"], "result_dtype"),
    "remembers": ("sdpa", ["same_answer_after_others"], "same_answer_after_others"),
}
#: Kinds whose code does not end in an assertion: it hangs (and is stopped), raises or ends.
LOUD = {"hung", "raised", "died"}


@pytest.mark.parametrize("name", FAULTY)
def test_pasted_code_shows_the_violation(name):
    level, only, cause = FAULTY[name]
    report = audit(
        f"tests.contract.targets:{name}",
        level=level,
        mode="quick",
        dtypes=["float64"],
        only=only,
        limit=1.5,
    )
    assert report.causes[0].property == cause
    for finding in report.violated:
        assert finding.code
        run = subprocess.run(
            [sys.executable, "-c", finding.code],
            cwd=ROOT,
            env=ENV,
            capture_output=True,
            text=True,
            check=False,
        )
        if finding.violation.kind == "died":
            # it ended itself in silence, before anything else could
            assert "exit status" in finding.violation.message
            continue
        assert run.returncode != 0, finding.code
        if finding.violation.kind not in LOUD:
            assert "AssertionError" in run.stderr, finding.code


def test_the_second_call_is_shown_when_two_are_compared():
    report = audit(
        "tests.contract.targets:sees_the_future",
        mode="quick",
        dtypes=["float64"],
        only=["causal_no_future"],
    )
    (finding,) = report.causes
    assert finding.violation.second
    assert "key_changed" in finding.code
    run = subprocess.run(
        [sys.executable, "-c", finding.code], cwd=ROOT, env=ENV, capture_output=True, check=False
    )
    assert b"AssertionError" in run.stderr
