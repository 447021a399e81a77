"""Hostile targets: each is reported as what it is, and the audit survives and finishes."""

import pytest

from attnproofs.contract import process
from attnproofs.contract.api import audit

FEW = [
    "same_answer_twice",
    "same_answer_after_others",
    "inputs_unchanged",
    "result_dtype",
    "leaves_no_memory",
    "single_key",
]
FEW += ["every_key_counts", "prints_little", "keeps_no_memory"]

# target -> property and kind of the first root cause ("" where even a plain call gives nothing)
USELESS = {
    "raises": "raised",
    "hangs": "hung",
    "short": "shape",
    "generator": "kind",
    "exits": "died",
    "leaves": "raised",
    "crashes": "died",
    "objects": "kind",
    "recurses": "raised",
}
FOUND = {
    # the first property that calls it with five keys
    "raises_for_five_keys": ("same_answer_after_others", "raised"),
    "hangs_for_four_keys": ("every_key_counts", "hung"),
    "exits_for_four_keys": ("every_key_counts", "died"),
    "view": ("inputs_unchanged", "aliases"),
    "mutates": ("inputs_unchanged", "mutated"),
    "prints": ("prints_little", "printed"),
    "nan": ("single_key", "differs"),
    "narrow": ("result_dtype", "dtype"),
    "whole": ("result_dtype", "dtype"),
    "complexes": ("result_dtype", "dtype"),
    "leaks": ("leaves_no_memory", "memory"),
    "scribbles": ("plain_call", "died"),
    "remembers": ("same_answer_after_others", "unequal"),
}


def run(name, **options):
    return audit(
        f"tests.contract.targets:{name}",
        mode="quick",
        dtypes=["float64"],
        only=FEW,
        limit=2.0,
        **options,
    )


@pytest.mark.parametrize("name", USELESS)
def test_a_target_that_answers_nothing_is_one_finding_and_status_two(name):
    report = run(name)
    assert report.exit_status == 2
    assert report.could_not_run.startswith(f"tests.contract.targets:{name} ")
    assert len(report.could_not_run) < 700
    (finding,) = report.causes
    assert (finding.property, finding.violation.kind) == ("plain_call", USELESS[name])
    assert "attention(" in finding.code
    assert {f.status for f in report.findings} <= {"violated", "not covered", "held"}


@pytest.mark.parametrize("name", FOUND)
def test_a_hostile_target_is_reported_and_the_audit_goes_on(name):
    report = run(name)
    causes = {f.property: f.violation.kind for f in report.causes}
    wanted, kind = FOUND[name]
    if name == "scribbles" and "plain_call" not in causes:
        # it may find no descriptor of ours to write to; then nothing is wrong with it
        assert report.verdict == "held"
        return
    assert causes.get(wanted) == kind, causes
    assert len(report.findings) > len(FEW) - 3


@pytest.mark.parametrize(("mebibytes", "goes_on"), [(150, True), (30, False)])
def test_a_target_that_grows_slowly_is_started_again_and_one_that_grows_fast_is_given_up(
    monkeypatch, mebibytes, goes_on
):
    monkeypatch.setattr(process, "MEMORY_LIMIT", mebibytes << 20)  # it keeps 1 MiB of each call
    report = audit(
        "tests.contract.targets:leaks", mode="quick", dtypes=["float64"], skip=FEW[:5], limit=2.0
    )
    grown = [f for f in report.findings if f.property == "keeps_no_memory"]
    given_up = [f for f in report.findings if "used up memory" in f.reason]
    assert [f.status for f in grown] == ["violated"]
    assert (not given_up) is goes_on, [f.property for f in given_up]


def test_closing_its_own_output_is_no_crime():
    assert run("closes").verdict == "held"


def test_a_function_without_a_name_is_isolated_too():
    state = []

    def attention(query, key, value):
        import os

        state.append(1)
        if key.shape[-2] == 4:
            os._exit(1)
        from tests.contract.targets import right

        return right(query, key, value)

    report = audit(attention, mode="quick", dtypes=["float64"], only=FEW, limit=2.0)
    assert {f.property: f.violation.kind for f in report.causes} == {"every_key_counts": "died"}
    assert state == []


def test_the_correct_one_holds():
    report = run("right")
    assert report.verdict == "held"
    assert {f.property for f in report.held} >= set(FEW)


def test_what_is_known_of_its_conduct_is_no_violation(tmp_path):
    known = tmp_path / "known.toml"
    known.write_text('[[difference]]\nproperty = "prints_little"\nreason = "a debug build"\n')
    report = run("prints", known=known)
    (finding,) = [f for f in report.findings if f.property == "prints_little"]
    assert (finding.status, finding.reason) == ("known difference", "a debug build")
    assert report.exit_status == 0
