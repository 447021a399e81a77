"""The guide's blocks run as they are printed, one after the other."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "how-far-off.md"


def blocks(text: str) -> str:
    """All ``pycon`` blocks, joined."""
    return "\n".join(re.findall(r"^```pycon\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE))


def failures(text: str) -> tuple[int, int, str]:
    """Failed and tried examples, and what the failures say."""
    report: list[str] = []
    test = doctest.DocTestParser().get_doctest(blocks(text), {}, PAGE.name, str(PAGE), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    result = runner.run(test, out=report.append)
    return result.failed, result.attempted, "".join(report)


def test_the_guide_runs_as_printed() -> None:
    failed, tried, report = failures(PAGE.read_text(encoding="utf-8"))
    assert tried > 40
    assert failed == 0, report


def test_a_wrong_line_in_the_guide_would_be_noticed() -> None:
    text = PAGE.read_text(encoding="utf-8")
    wrong = text.replace("'CONSISTENT'", "'REJECT'", 1)
    assert wrong != text
    assert failures(wrong)[0] == 1


@pytest.mark.parametrize("name", ["bound.md", "how-far-off.md"])
def test_links_between_the_pages_lead_somewhere(name: str) -> None:
    text = (PAGE.parent / name).read_text(encoding="utf-8")
    targets = re.findall(r"\]\((?!http)([^)#]+)\)", text)
    assert targets
    for target in targets:
        assert (PAGE.parent / target).is_file(), target
