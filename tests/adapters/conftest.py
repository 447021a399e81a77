"""Adapters whose framework is missing are skipped, and the terminal says how many and why."""

from __future__ import annotations

import os
from collections import Counter

import pytest

from attnproofs import adapters
from attnproofs.errors import MissingDependency

# Keras reads its backend once; torch is the faster one to probe
os.environ.setdefault("KERAS_BACKEND", "torch")


@pytest.fixture
def load():
    """Load an adapter by name, or skip with the sentence that says what is missing."""

    def get(name):
        try:
            return adapters.get(name)
        except MissingDependency as error:
            pytest.skip(str(error))

    return get


def pytest_terminal_summary(terminalreporter):
    """Count the skipped adapters' tests by reason."""
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ")
        for report in terminalreporter.stats.get("skipped", [])
        if "tests/adapters/" in report.nodeid and isinstance(report.longrepr, tuple)
    )
    if reasons:
        total = sum(reasons.values())
        terminalreporter.write_line(f"{total} tests of adapters skipped:")
        for reason, count in sorted(reasons.items()):
            terminalreporter.write_line(f"  {count:3d}  {reason}")
