"""`attnproofs check`: it runs the suites wherever they are, says what it found, and can fail."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from attnproofs import suites
from attnproofs.cli.check import command
from attnproofs.errors import AttnproofsError, InputError

ROOT = Path(__file__).resolve().parents[2]


def check(*arguments):
    """Exit status of the command."""
    return command.main(list(arguments), standalone_mode=False)


def run(folder, *arguments, **environment):
    """The command in a process of its own, seeing `folder`'s package only."""
    return subprocess.run(
        [sys.executable, "-m", "attnproofs", "check", *arguments],
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), **environment},
        capture_output=True,
        text=True,
        encoding="utf-8",
    )


@pytest.fixture
def broken_suites(tmp_path, monkeypatch):
    """A copy of the suites with a softmax that forgets to divide."""
    folder = tmp_path / "checks"
    shutil.copytree(ROOT / "checks", folder, ignore=shutil.ignore_patterns("__pycache__"))
    source = folder / "attention_mp.py"
    text = source.read_text(encoding="utf-8")
    assert text.count("return [term / total for term in terms]") == 1
    source.write_text(
        text.replace("return [term / total for term in terms]", "return terms"), encoding="utf-8"
    )
    monkeypatch.setattr(suites, "suite_folder", lambda: folder)
    return folder


def test_a_table_of_what_held(capsys):
    assert check("notation", "--profile", "quick") == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0].split() == ["notation", "matmul_entry", "10", "held"]
    assert lines[-1] == "9 of 9 checks held: 1 chapter, 81 examples, 50 digits"
    # nothing moves in a pipe, and no colour codes get into it
    assert err == "" and "\x1b" not in out


def test_json(capsys):
    assert check("positions", "--examples", "3", "--digits", "60", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["version"], document["digits"], document["held"]) == (1, 60, True)
    entry = next(c for c in document["checks"] if c["name"] == "rope_norm")
    assert entry["chapter"] == "positions" and entry["examples"] == 3 and entry["held"]
    assert entry["claim"].startswith("Rotations keep norms")


def test_a_refuted_claim_ends_with_1_and_shows_the_example(broken_suites, capsys):
    assert check("softmax", "--examples", "20") == 1
    out = capsys.readouterr().out
    assert "REFUTED: softmax / softmax_sum\nThe weights add up to 1." in out
    assert "scores=[Fraction(0, 1), Fraction(0, 1)]" in out
    assert "the value is 2.0, expected 1.0" in out
    results = {r.name: r for r in suites.run_suites(["softmax"], examples=20)}
    assert not results["softmax_sum"].held
    # what does not depend on the division still holds
    assert results["softmax_positive"].held and results["lse_bounds"].held


def test_suites_that_cannot_run_end_with_2(broken_suites):
    (broken_suites / "test_softmax.py").write_text("def broken(:\n", encoding="utf-8")
    with pytest.raises(AttnproofsError, match="did not run to the end") as caught:
        check("softmax")
    assert caught.value.exit_status == 2
    assert "SyntaxError" in str(caught.value)


def test_a_check_that_does_not_start_is_not_held(broken_suites, capsys):
    with (broken_suites / "test_notation.py").open("a", encoding="utf-8") as stream:
        stream.write("\n\ndef test_needs(no_such_fixture):\n    pass\n")
    assert check("notation", "--profile", "quick") == 1
    assert "fixture 'no_such_fixture' not found" in capsys.readouterr().out


def test_a_skipped_check_is_not_held(broken_suites, capsys):
    with (broken_suites / "test_notation.py").open("a", encoding="utf-8") as stream:
        stream.write("\n\nimport pytest\n\n\ndef test_skips():\n    pytest.skip('today')\n")
    assert check("notation", "--profile", "quick") == 1
    assert "skipped: notation / skips" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sofmax"], "no suite for a chapter 'sofmax': did you mean softmax?"),
        (["zzz"], "no suite for a chapter 'zzz': there are computation, "),
        (["--digits", "49"], "digits is 49: the suites confirm at 50 digits or more"),
        (["--examples", "0"], "examples is 0: expected 1 or more"),
        (["--profile", "fast"], "no profile 'fast': expected one of quick, default, thorough"),
        (["--seed", "-1"], "seed is -1: expected 0 or more"),
    ],
)
def test_mistakes_are_one_sentence(arguments, message):
    with pytest.raises(InputError) as caught:
        check(*arguments)
    assert str(caught.value).startswith(message)


def test_a_mistake_ends_with_2_and_without_a_traceback():
    result = run(ROOT, "sofmax")
    assert result.returncode == 2
    assert result.stderr == "attnproofs: no suite for a chapter 'sofmax': did you mean softmax?\n"


def test_installed_from_a_wheel_inside_a_foreign_project(tmp_path):
    """The suites lie in attnproofs/checks; the caller's pytest settings and plugins stay out."""
    skip = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "attnproofs", tmp_path / "attnproofs", ignore=skip)
    shutil.copytree(ROOT / "checks", tmp_path / "attnproofs" / "checks", ignore=skip)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n")
    (tmp_path / "conftest.py").write_text("raise RuntimeError('not yours')\n")
    result = run(
        tmp_path, "masking", "--profile", "quick", PYTEST_ADDOPTS="--nor-this", PYTEST_PLUGINS="x"
    )
    assert result.returncode == 0, result.stderr
    assert "masking  mask_exact_zero" in result.stdout


def test_missing_suites_are_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(suites, "__file__", str(tmp_path / "attnproofs" / "suites.py"))
    with pytest.raises(AttnproofsError, match="the numeric suites are missing: expected "):
        suites.suite_folder()


def test_a_seed_draws_other_examples(broken_suites):
    """Without a seed and with the same seed the inputs are the same, with another they differ."""
    with (broken_suites / "test_notation.py").open("a", encoding="utf-8") as stream:
        stream.write(
            "\n\nDRAWN = []\n\n\n@given(n=st.integers(0, 10**9))\ndef test_draws(n):\n"
            "    DRAWN.append(n)\n\n\ndef test_tells():\n    assert not DRAWN, sum(DRAWN)\n"
        )

    def told(**options):
        results = suites.run_suites(["notation"], examples=10, **options)
        return next(r.message for r in results if r.name == "tells")

    fixed = told()
    assert fixed == told()
    assert told(seed=1) == told(seed=1)
    assert len({fixed, told(seed=1), told(seed=2)}) == 3


def test_the_suites_share_nothing_with_the_proofs():
    """Only the suite that reads every theorem may import the toolkit."""
    for path in sorted((ROOT / "checks").glob("*.py")):
        if "attention_mp" not in path.read_text(encoding="utf-8"):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            modules = []
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                modules = [node.module]
            for module in modules:
                top = module.partition(".")[0]
                allowed = top in {"mpmath", "hypothesis", "pytest"} or (
                    top in sys.stdlib_module_names
                )
                assert allowed, f"{path.name} imports {module}"
