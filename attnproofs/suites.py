"""Running the numeric suites of ``checks/`` and reading what each check found.

The suites run under pytest in a process of their own: nothing of the caller's (configuration,
plugins, precision, loaded modules) can change what they confirm, and a crash is told apart from a
refuted claim. ``attnproofs check`` and ``attnproofs verify`` both call `run_suites`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from attnproofs.errors import AttnproofsError, InputError

PROFILES = ("quick", "default", "thorough")
LEAST_DIGITS = 50


@dataclass(frozen=True)
class CheckResult:
    """What one check found.

    Attributes
    ----------
    chapter, name
        ``softmax`` and ``softmax_sum`` for ``test_softmax_sum`` in ``checks/test_softmax.py``.
    claim
        The sentence that the check confirms.
    examples
        How many examples ran to the end (1 for a check without drawn inputs).
    outcome
        ``passed``, ``failed`` or ``skipped``; only ``passed`` counts as held.
    seconds
        Wall time.
    message
        The refuting example and the disagreement; empty when held.
    """

    chapter: str
    name: str
    claim: str
    examples: int
    outcome: str
    seconds: float
    message: str

    @property
    def held(self) -> bool:
        """Whether the claim was confirmed."""
        return self.outcome == "passed"


def suite_folder() -> Path:
    """Find the suites: ``checks/`` in a checkout, ``attnproofs/checks`` where installed.

    Raises
    ------
    AttnproofsError
        When neither is there.
    """
    package = Path(__file__).resolve().parent
    for folder in (package.parent / "checks", package / "checks"):
        if (folder / "attention_mp.py").is_file():
            return folder
    raise AttnproofsError(
        f"the numeric suites are missing: expected {package / 'checks'}, as the wheel installs "
        "it, or checks/ in a checkout; install attnproofs again"
    )


def chapters() -> list[str]:
    """Names of the suites, in alphabetical order.

    >>> "softmax" in chapters() and "masking" in chapters()
    True
    """
    return sorted(path.stem.removeprefix("test_") for path in suite_folder().glob("test_*.py"))


def run_suites(
    names: Sequence[str] = (),
    *,
    digits: int = LEAST_DIGITS,
    examples: int | None = None,
    profile: str = "default",
    seed: int | None = None,
    progress: Callable[[CheckResult], None] | None = None,
) -> list[CheckResult]:
    """Run the suites and return one result per check, in the order they ran.

    Parameters
    ----------
    names
        Chapters to run; all of them when empty.
    digits
        Decimal digits that both sides of each claim must share, at least 50.
    examples
        Drawn inputs per check; the profile's number unless given.
    profile
        ``quick``, ``default`` or ``thorough``.
    seed
        Draw other examples than the fixed ones; the same seed draws the same.
    progress
        Called with each result as it comes in.

    Raises
    ------
    InputError
        For an unknown chapter or profile, or a number out of range.
    AttnproofsError
        When the suites could not be run to the end.
    """
    _require(names, digits, examples, profile, seed)
    folder = suite_folder()
    files = [folder / f"test_{name}.py" for name in (names or chapters())]
    with tempfile.TemporaryDirectory(prefix="attnproofs-check-") as scratch:
        results, status, output = _run(
            files, Path(scratch), _environment(digits, examples, profile, seed), seed, progress
        )
    failed = [result for result in results if not result.held]
    if (
        status not in (0, 1)
        or not results
        or (status == 1) != any(result.outcome == "failed" for result in failed)
    ):
        tail = "\n".join(output.strip().splitlines()[-25:])
        raise AttnproofsError(
            f"the suites did not run to the end (pytest status {status}):\n{tail}"
        )
    return results


def _require(
    names: Sequence[str], digits: int, examples: int | None, profile: str, seed: int | None
) -> None:
    known = chapters()
    for name in names:
        if name not in known:
            close = get_close_matches(name, known, n=2, cutoff=0.5)
            hint = (
                f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(known)}"
            )
            raise InputError(f"no suite for a chapter {name!r}: {hint}")
    if digits < LEAST_DIGITS:
        raise InputError(f"digits is {digits}: the suites confirm at {LEAST_DIGITS} digits or more")
    if examples is not None and examples < 1:
        raise InputError(f"examples is {examples}: expected 1 or more")
    if profile not in PROFILES:
        raise InputError(f"no profile {profile!r}: expected one of {', '.join(PROFILES)}")
    if seed is not None and seed < 0:
        raise InputError(f"seed is {seed}: expected 0 or more")


def _environment(
    digits: int, examples: int | None, profile: str, seed: int | None
) -> dict[str, str]:
    """Environment of the child: ours set, the caller's pytest settings left behind."""
    foreign = ("PYTEST_", "HYPOTHESIS_", "ATTNPROOFS_")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(foreign)}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    environment["PYTHONIOENCODING"] = "utf-8"
    environment["ATTNPROOFS_DIGITS"] = str(digits)
    environment["ATTNPROOFS_PROFILE"] = profile
    if examples is not None:
        environment["ATTNPROOFS_EXAMPLES"] = str(examples)
    if seed is not None:
        environment["ATTNPROOFS_SEED"] = str(seed)
    return environment


def _run(
    files: Sequence[Path],
    scratch: Path,
    environment: dict[str, str],
    seed: int | None,
    progress: Callable[[CheckResult], None] | None,
) -> tuple[list[CheckResult], int, str]:
    """Run pytest on the files; return the results, its exit status and its output."""
    folder = files[0].parent
    lines, log, ini = scratch / "results.jsonl", scratch / "output.txt", scratch / "pytest.ini"
    lines.touch()
    # an empty configuration: that of the folder the caller stands in does not apply
    ini.write_text("[pytest]\n", encoding="utf-8")
    environment["ATTNPROOFS_RESULTS"] = str(lines)
    arguments = [sys.executable, "-m", "pytest", "-p", "_hypothesis_pytestplugin", "-q"]
    arguments += [
        "-p",
        "no:cacheprovider",
        "-c",
        str(ini),
        f"--rootdir={folder}",
        f"--confcutdir={folder}",
    ]
    arguments += [f"--hypothesis-seed={seed}"] if seed is not None else []
    results: list[CheckResult] = []
    with log.open("wb") as stream, lines.open(encoding="utf-8") as reader:
        child = subprocess.Popen(
            [*arguments, *map(str, files)],
            cwd=scratch,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
        )
        try:
            pending, ended = "", False
            while not ended:
                ended = child.poll() is not None  # asked before reading: nothing is missed
                *complete, pending = (pending + reader.read()).split("\n")
                for line in complete:
                    results.append(_result(line))
                    if progress is not None:
                        progress(results[-1])
                if not ended:
                    time.sleep(0.05)
        finally:
            if child.poll() is None:
                child.kill()
                child.wait()
    return results, child.returncode, log.read_text(encoding="utf-8", errors="replace")


def _result(line: str) -> CheckResult:
    """Read one line of the results that ``checks/conftest.py`` writes."""
    entry = json.loads(line)
    path, _, name = entry["id"].partition("::")
    # pytest marks the lines of the disagreement and of the refuting example with "E"
    told = [text[1:] for text in entry["message"].splitlines() if text.startswith("E ")]
    return CheckResult(
        chapter=Path(path).stem.removeprefix("test_"),
        name=name.removeprefix("test_"),
        claim=entry["claim"],
        examples=entry["examples"],
        outcome=entry["outcome"],
        seconds=entry["seconds"],
        message=textwrap.dedent("\n".join(told)) or entry["message"],
    )
