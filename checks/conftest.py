"""Profiles of the suites, and a line of results per check for whoever asks.

Environment: ``ATTNPROOFS_PROFILE`` (``default``; or ``quick``, ``thorough``),
``ATTNPROOFS_DIGITS`` (50), ``ATTNPROOFS_EXAMPLES`` (the profile's number of examples unless set),
``ATTNPROOFS_SEED`` (draw other examples than the fixed ones), ``ATTNPROOFS_RESULTS`` (a file to
which each finished check appends one line of JSON). ``attnproofs check`` sets all of these.
"""

from __future__ import annotations

import functools
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

# profile -> examples per check
PROFILES = {"quick": 10, "default": 50, "thorough": 400}

for _name, _examples in PROFILES.items():
    settings.register_profile(
        _name,
        max_examples=int(os.environ.get("ATTNPROOFS_EXAMPLES", _examples)),
        # the same examples on every machine and run, unless a seed asks for others
        derandomize="ATTNPROOFS_SEED" not in os.environ,
        database=None,
        # the smallest refuting example says it; which lines of mpmath it ran through does not
        phases=[phase for phase in Phase if phase is not Phase.explain],
        # an example at 1000 digits may take seconds: slow is not wrong
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        print_blob=False,
    )
settings.load_profile(os.environ.get("ATTNPROOFS_PROFILE", "default"))


def pytest_itemcollected(item: pytest.Item) -> None:
    """Count the examples of a hypothesis check that ran to the end."""
    handle = getattr(getattr(item, "obj", None), "hypothesis", None)
    if handle is None:
        return
    inner = handle.inner_test
    count = [0]

    @functools.wraps(inner)
    def counting(*arguments: Any, **keywords: Any) -> None:
        inner(*arguments, **keywords)
        count[0] += 1

    handle.inner_test = counting
    item.stash[_COUNT] = count


_COUNT = pytest.StashKey[list[int]]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Attach the number of examples and what the check claims to its report."""
    report = yield
    if report.when == "call":
        report.user_properties.append(("examples", item.stash.get(_COUNT, [1])[0]))
        claim = (getattr(getattr(item, "obj", None), "__doc__", None) or "").strip()
        report.user_properties.append(("claim", " ".join(claim.split())))
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Append one line of JSON for a check that has ended, however it ended."""
    path = os.environ.get("ATTNPROOFS_RESULTS")
    if not path or (report.when != "call" and report.passed):
        return
    properties = dict(report.user_properties)
    line = {
        "id": report.nodeid,
        "outcome": report.outcome,
        "when": report.when,
        "seconds": round(report.duration, 3),
        "examples": properties.get("examples", 0),
        "claim": properties.get("claim", ""),
        "message": report.longreprtext,
    }
    with Path(path).open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(line) + "\n")
