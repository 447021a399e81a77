"""The README says nothing that does not happen."""

from __future__ import annotations

import re
from pathlib import Path

from click.testing import CliRunner

from attnproofs.calculus.scripts import theorems_in_file
from attnproofs.cli import COMMANDS
from attnproofs.kernel.axioms import AXIOMS

README = Path(__file__).resolve().parents[2] / "README.md"
TEXT = README.read_text(encoding="utf-8")


def test_the_script_is_proved(tmp_path: Path) -> None:
    """The claim in the README is a script that `prove` accepts."""
    (script,) = re.findall(r"```python\n(.*?)```", TEXT, re.S)
    file = tmp_path / "my_claim.py"
    file.write_text(script, encoding="utf-8")

    (mine,) = theorems_in_file(file)

    assert mine.proved()[0].steps == 3


def test_the_derivation_is_the_one_that_is_printed() -> None:
    """Every line of the derivation shown is printed by the command shown."""
    from attnproofs.cli.show import command

    shown = TEXT.split("```console\n$ attnproofs show qk_variance\n")[1].split("```")[0]
    printed = CliRunner().invoke(command, ["qk_variance"]).output

    for line in filter(str.strip, shown.splitlines()):
        assert line.strip() in printed


def test_every_command_is_named_and_exists() -> None:
    """The table of commands is the list of commands."""
    table = TEXT.split("## Commands")[1]
    named = set(re.findall(r"`(\w+)`", table.split("Exit status")[0])) - {"does"}

    assert named == set(COMMANDS)


def test_the_number_of_axioms() -> None:
    """The README counts the axioms right."""
    assert f"{len(AXIOMS)} facts" in TEXT
