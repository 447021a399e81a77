"""The worker of `attnproofs.mutants.suite`: a process of its own that takes its order on stdin.

For each function it runs pytest with the fixture overridden and writes one JSON line. Where the
system can fork, each run is a child of its own, so that no run sees what another left behind.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, TextIO

import pytest

from attnproofs.mutants import lookup
from attnproofs.mutants.arrays import for_any_array
from attnproofs.mutants.grade import Subject
from attnproofs.mutants.registry import Function


class Override:
    """A pytest plugin: one fixture is replaced, tests that do not ask for it are left out."""

    def __init__(self, fixture: str, function: Function, one_file: bool) -> None:
        self.fixture, self.function, self.one_file = fixture, function, one_file
        self.asked = self.passed = 0
        self.test = self.message = ""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: Any, items: list[Any]) -> None:
        """Keep the tests whose fixtures, direct or not, include ours."""
        chosen = [i for i in items if self.fixture in getattr(i, "fixturenames", ())]
        others = [i for i in items if i not in chosen]
        if others:
            config.hook.pytest_deselected(items=others)
        items[:] = chosen
        self.asked = len(chosen)

    @pytest.hookimpl(tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Function | None:
        """Give the function under test in place of the user's fixture."""
        if fixturedef.argname != self.fixture:
            return None
        fixturedef.cached_result = (self.function, fixturedef.cache_key(request), None)
        return self.function

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Count what passed, and keep the first failure."""
        if report.passed and report.when == "call":
            self.passed += 1
        if report.failed and not self.test:
            crash = getattr(report.longrepr, "reprcrash", None)
            text = crash.message if crash else str(report.longrepr)
            file, _, test = report.nodeid.partition("::")
            self.test = test if self.one_file and test else f"{file.rpartition('/')[2]}::{test}"
            self.message = " ".join(text.split())[:200]


def _default_fixture(name: str) -> Any:
    """A plugin with a fixture of that name, for tests that ask for it without defining one."""

    class Default:
        @pytest.fixture(name=name)
        def fixture(self) -> None:  # never set up: `Override` answers first
            return None

    return Default()


def run_one(order: dict[str, Any], level: str, identity: str | None) -> dict[str, Any]:
    """Run the user's tests on one function."""
    subject = Subject(level, None if identity is None else lookup(identity))
    function = for_any_array(subject.make())
    plugin = Override(order["fixture"], function, one_file=not os.path.isdir(order["path"]))
    status = pytest.main(
        [*order["options"], order["path"]],
        plugins=[_default_fixture(order["fixture"]), plugin],
    )
    return {
        "exit": int(status),
        "asked": plugin.asked,
        "passed": plugin.passed,
        "test": plugin.test,
        "message": plugin.message,
    }


def _in_child(order: dict[str, Any], level: str, identity: str | None, answers: TextIO) -> None:
    """`run_one` in a forked child, which writes its answer itself."""
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        if status:
            print(json.dumps({"lost": "the test process died"}), file=answers, flush=True)
            sys.exit(1)
        return
    print(json.dumps(run_one(order, level, identity)), file=answers, flush=True)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def main() -> None:
    """Read the order, send pytest's own output to the log, and answer line by line."""
    order = json.load(sys.stdin)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    if hasattr(os, "fork"):
        # imports the user's modules and pytest's plugins once, for all children
        pytest.main([*order["options"], "--collect-only", order["path"]])
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for level, identity in order["subjects"]:
        if hasattr(os, "fork"):
            _in_child(order, level, identity, answers)
        else:
            answer = run_one(order, level, identity)
            print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
