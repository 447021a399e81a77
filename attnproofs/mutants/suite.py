"""The user's own pytest file as a test: run in worker processes with its fixture overridden.

The worker (`attnproofs.mutants.worker`) runs pytest once for each function and writes one JSON line
for each; a worker that dies or does not answer in time has caught its mutant, and a new one takes
the rest.
"""

from __future__ import annotations

import importlib.util
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import attnproofs
from attnproofs.errors import InputError
from attnproofs.mutants.grade import Subject

# pytest's exit codes
PASSED, FAILED, NOTHING_COLLECTED = 0, 1, 5
# seconds in which a worker must have imported pytest and the user's modules
START_LIMIT = 300.0


@dataclass(frozen=True)
class Suite:
    """A pytest file (folder, or ``file.py::test``) whose tests ask for one fixture.

    Attributes
    ----------
    path
        What is handed to pytest.
    level
        The level of the functions that stand for the fixture.
    fixture
        Name of the fixture that is overridden.
    timeout
        Seconds that all tests of one function may take.
    jobs
        Worker processes.
    """

    path: str
    level: str = "sdpa"
    fixture: str = "attention"
    timeout: float = 60.0
    jobs: int = 1

    def __post_init__(self) -> None:
        file = Path(self.path.split("::", 1)[0])
        if not file.exists():
            raise InputError(f"test file {str(file)!r} does not exist")

    @property
    def name(self) -> str:
        """The path."""
        return self.path

    @property
    def title(self) -> str:
        """What is done."""
        return f"the tests of {self.path} that ask for the fixture {self.fixture!r}"

    @property
    def levels(self) -> frozenset[str]:
        """The one level of its fixture."""
        return frozenset({self.level})

    def examine_all(self, subjects: Sequence[Subject]) -> Iterator[tuple[Subject, str | None]]:
        """Share the subjects out to the workers and yield the answers as they come."""
        if not subjects:
            return
        jobs = max(1, min(self.jobs, len(subjects)))
        answers: queue.Queue[tuple[Subject, str | None] | BaseException | None] = queue.Queue()
        stop = threading.Event()

        def run(share: Sequence[Subject]) -> None:
            try:
                for answer in self._examine_share(share, stop):
                    answers.put(answer)
            except BaseException as error:  # handed to the caller below
                answers.put(error)
            finally:
                answers.put(None)

        threads = [
            threading.Thread(target=run, args=(subjects[n::jobs],), daemon=True)
            for n in range(jobs)
        ]
        for thread in threads:
            thread.start()
        try:
            running = jobs
            while running:
                answer = answers.get()
                if isinstance(answer, BaseException):
                    raise answer
                if answer is None:
                    running -= 1
                else:
                    yield answer
        finally:
            stop.set()
            for thread in threads:
                thread.join()

    def _examine_share(
        self, share: Sequence[Subject], stop: threading.Event
    ) -> Iterator[tuple[Subject, str | None]]:
        left = list(share)
        while left and not stop.is_set():
            with tempfile.TemporaryDirectory(prefix="attnproofs-grade-") as scratch:
                worker = _Worker(self, left, Path(scratch))
                try:
                    ready = worker.reply(START_LIMIT, stop)
                    if "ready" not in ready and not stop.is_set():
                        raise InputError(
                            f"{self.path}: pytest did not start: {ready['lost']}\n{worker.said()}"
                        )
                    while left and not stop.is_set():
                        reply = worker.reply(self.timeout, stop)
                        if stop.is_set():
                            return
                        subject = left.pop(0)
                        yield subject, self._reason(subject, reply, worker)
                        if "exit" not in reply:
                            break  # the worker is gone: a new one takes the rest
                finally:
                    worker.end()

    def _reason(self, subject: Subject, reply: dict[str, Any], worker: _Worker) -> str | None:
        if "exit" not in reply:
            if subject.mutant is None:
                raise InputError(
                    f"{self.path}: with the correct function {reply['lost']}\n{worker.said()}"
                )
            return str(reply["lost"])
        status = reply["exit"]
        if status == PASSED and reply["passed"]:
            return None
        if status == FAILED:
            return f"{reply['test']}: {reply['message']}" if reply["test"] else "failed"
        if status in (PASSED, NOTHING_COLLECTED) and not reply["asked"]:
            raise InputError(
                f"{self.path}: no test asks for the fixture {self.fixture!r}; take the function "
                f"under test from such a fixture, def test_x({self.fixture}): ..., or name yours "
                "with --fixture"
            )
        if status == PASSED:
            raise InputError(
                f"{self.path}: every test that asks for {self.fixture!r} was skipped, so nothing "
                "was tested"
            )
        raise InputError(f"{self.path}: pytest could not run it (exit {status})\n{worker.said()}")


class _Worker:
    """One worker process and the lines that it writes."""

    def __init__(self, suite: Suite, subjects: Sequence[Subject], scratch: Path) -> None:
        self.log = scratch / "log"
        root = str(Path(attnproofs.__file__).parent.parent)
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")])),
            "HYPOTHESIS_STORAGE_DIRECTORY": str(scratch / "hypothesis"),
        }
        order = {
            "path": suite.path,
            "fixture": suite.fixture,
            "log": str(self.log),
            "subjects": [[s.level, s.mutant.id if s.mutant else None] for s in subjects],
            "options": _options(),
        }
        self.process = subprocess.Popen(
            [sys.executable, "-m", "attnproofs.mutants.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
            start_new_session=True,
        )
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None and stdout is not None
        json.dump(order, stdin)
        stdin.close()
        self.lines: queue.Queue[str | None] = queue.Queue()
        self.reader = threading.Thread(target=self._read, args=(stdout,), daemon=True)
        self.reader.start()

    def _read(self, stdout: TextIO) -> None:
        for line in stdout:
            self.lines.put(line)
        self.lines.put(None)

    def reply(self, timeout: float, stop: threading.Event) -> dict[str, Any]:
        """The next answer, or ``{"lost": why}``."""
        waited = 0.0
        while waited < timeout and not stop.is_set():
            try:
                line = self.lines.get(timeout=0.2)
            except queue.Empty:
                waited += 0.2
                continue
            if line is None:
                return {"lost": "the test process died"}
            answer: dict[str, Any] = json.loads(line)
            return answer
        return {"lost": f"the tests did not end within {timeout:g} s"}

    def said(self) -> str:
        """The last lines of pytest's output."""
        if not self.log.exists():
            return ""
        lines = self.log.read_text("utf-8", errors="replace").strip().splitlines()
        return "\n".join(f"  | {line}" for line in lines[-15:])

    def end(self) -> None:
        """End the process and what it started."""
        if self.process.poll() is None:
            if hasattr(os, "killpg"):
                os.killpg(self.process.pid, signal.SIGKILL)
            else:
                self.process.kill()
        self.process.wait()
        self.reader.join()
        if self.process.stdout is not None:
            self.process.stdout.close()


def _options() -> list[str]:
    """Options that keep pytest in one process and away from the user's cache."""
    options = ["-x", "-q", "-p", "no:cacheprovider", "--no-header"]
    # modules that the worker imported before pytest did
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    if importlib.util.find_spec("xdist") is not None:
        options.append("-n0")  # a fixture cannot be overridden in another process
    if importlib.util.find_spec("pytest_cov") is not None:
        options.append("--no-cov")
    return options
