"""A handle on the process that runs the target: ask, wait no longer than a limit, start again.

A target may raise, hang, exit, crash or eat memory; the audit only ever sees an answer. Three ways
to run it: a fresh interpreter that loads a target by name, a fork for a function that exists only
in this process, and, where neither is possible, this process itself (then nothing is isolated).
"""

from __future__ import annotations

import os
import queue
import select
import signal
import subprocess
import sys
import threading
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any

from attnproofs.contract import wire
from attnproofs.contract.target import Target
from attnproofs.contract.worker import Server, leave_with_parent, serve

#: Loading a target may import a framework and compile; seconds.
LOAD_LIMIT = 180.0
#: A target that has grown by this many bytes is started again.
MEMORY_LIMIT = 1 << 30


class TargetProcess:
    """Runs one target; restarts it after it died, hung or grew too large.

    Parameters
    ----------
    target
        What to run.
    limit
        Seconds that one call may take.
    isolate
        Whether to use another process; None decides by what is possible.
    """

    def __init__(self, target: Target, limit: float = 10.0, isolate: bool | None = None) -> None:
        self.target = target
        self.limit = limit
        self.mode = "inline"
        if isolate is not False:
            if target.reloadable:
                self.mode = "spawn"
            elif hasattr(os, "fork") and sys.platform != "darwin":
                self.mode = "fork"
        self.signature: dict[str, Any] | None = None
        self.calls = 0
        self.restarts = 0
        self._link: _Link | None = None
        self._base = 0
        self._answered = 0

    def __enter__(self) -> TargetProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End the target's process."""
        if self._link is not None:
            self._link.close()
            self._link = None

    def start(self) -> dict[str, Any]:
        """Start afresh and load the target; the answer says whether that worked."""
        self.stop()
        self._link = _LINKS[self.mode](self.target)
        self._answered = 0
        answer = self._link.ask({"op": "load"}, LOAD_LIMIT)
        if answer["status"] == "ok":
            self.signature = answer["signature"]
            self._base = answer.get("resident", 0)
        else:
            self.stop()
        return answer

    def call(
        self, positional: dict[str, Any], keywords: dict[str, Any], layouts: dict[str, str]
    ) -> dict[str, Any]:
        """Call the target once."""
        return self._ask(
            {"op": "call", "positional": positional, "keywords": keywords, "layouts": layouts},
            self.limit,
        )

    def batch(self, calls: list[dict[str, Any]]) -> list[dict[str, Any]] | None:
        """Make several calls in one exchange; None when one of them hung or killed the process."""
        answer = self._ask({"op": "batch", "calls": calls}, self.limit)
        if "answers" not in answer:
            return None
        answers: list[dict[str, Any]] = answer["answers"]
        if answers:
            kept = ("printed", "grown", "answered")
            answers[-1].update({k: answer[k] for k in kept if k in answer})
        return answers

    def repeat(
        self,
        positional: dict[str, Any],
        keywords: dict[str, Any],
        times: int,
        *,
        to_the_end: bool = False,
    ) -> dict[str, Any]:
        """Call the target several times with the same arguments, in one process."""
        request = {
            "op": "repeat",
            "positional": positional,
            "keywords": keywords,
            "times": times,
            "to_the_end": to_the_end,
        }
        return self._ask(request, self.limit * 2)

    def _ask(self, request: dict[str, Any], limit: float) -> dict[str, Any]:
        if self._link is None:
            self.restarts += 1
            answer = self.start()
            if answer["status"] != "ok":
                return answer
        assert self._link is not None
        self.calls += 1
        answer = self._link.ask(request, limit)
        self._answered += len(answer.get("answers", (answer,)))
        if answer.get("status") in ("hung", "died", "garbled"):
            self.stop()
        elif answer.get("resident", 0) > self._base + MEMORY_LIMIT:
            answer["grown"] = answer["resident"] - self._base
            answer["answered"] = self._answered
            self.stop()
        return answer


class _Link(ABC):
    """One way to reach a target's process."""

    @abstractmethod
    def __init__(self, target: Target) -> None:
        """Start the process and connect to it."""

    @abstractmethod
    def ask(self, request: dict[str, Any], limit: float) -> dict[str, Any]:
        """Send one request and return the answer, waiting at most `limit` seconds."""

    @abstractmethod
    def close(self) -> None:
        """End the process."""


class _Inline(_Link):
    """No process of its own: used only where there is no other way."""

    def __init__(self, target: Target) -> None:
        self.server = Server(target.load)

    def ask(self, request: dict[str, Any], limit: float) -> dict[str, Any]:
        return {"printed": 0, **self.server.answer(request)}

    def close(self) -> None:
        pass


class _Piped(_Link):
    """A child process reached by two pipes."""

    pid: int

    def _open(self, requests: IO[bytes], answers: IO[bytes]) -> None:
        self.requests = requests
        self.answers = answers
        self.reader = _Reader(answers)

    def ask(self, request: dict[str, Any], limit: float) -> dict[str, Any]:
        try:
            self.requests.write(wire.pack(request))
            self.requests.flush()
            answer = wire.receive(self.answers, self.reader.until(time.monotonic() + limit))
        except TimeoutError:
            return {"status": "hung", "seconds": limit}
        except (EOFError, OSError):
            return {"status": "died", **self._ending()}
        except (ValueError, TypeError, KeyError, MemoryError):
            return {"status": "garbled"}
        return answer if isinstance(answer, dict) else {"status": "garbled"}

    @abstractmethod
    def _ending(self) -> dict[str, Any]:
        """How the process ended."""

    @abstractmethod
    def _kill(self) -> None:
        """Stop the process without asking it."""

    def close(self) -> None:
        for stream in (self.requests, self.answers):
            with suppress(OSError):
                stream.close()
        self._kill()


class _Spawned(_Piped):
    """A fresh interpreter."""

    def __init__(self, target: Target) -> None:
        # the audited package may lie beside the caller's own modules
        path = os.pathsep.join([p for p in sys.path if p])
        self.process = subprocess.Popen(
            [sys.executable, "-m", "attnproofs.contract.worker", *target.arguments()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path},
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._open(self.process.stdin, self.process.stdout)

    def _ending(self) -> dict[str, Any]:
        try:
            code = self.process.wait(5.0)
        except subprocess.TimeoutExpired:
            return {"ending": "closed its pipes"}
        return {"ending": _ending(code)}

    def _kill(self) -> None:
        self.process.kill()
        self.process.wait()


class _Forked(_Piped):
    """A copy of this process, for a function that cannot be loaded by name."""

    def __init__(self, target: Target) -> None:
        there, requests = os.pipe()
        answers, here = os.pipe()
        with warnings.catch_warnings():
            # Python warns when a process with threads forks; the child only calls the target
            warnings.simplefilter("ignore", DeprecationWarning)
            self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(requests)
                os.close(answers)
                leave_with_parent()
                serve(os.fdopen(there, "rb"), os.fdopen(here, "wb"), target.load)
            finally:
                os._exit(0)
        os.close(there)
        os.close(here)
        self.code: int | None = None
        self._open(os.fdopen(requests, "wb"), os.fdopen(answers, "rb", 0))

    def _wait(self, seconds: float) -> int | None:
        end = time.monotonic() + seconds
        while self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > end:
                break
            else:
                time.sleep(0.002)
        return self.code

    def _ending(self) -> dict[str, Any]:
        code = self._wait(5.0)
        return {"ending": "closed its pipes" if code is None else _ending(code)}

    def _kill(self) -> None:
        if self.code is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            self._wait(60.0)


_LINKS: dict[str, Callable[[Target], _Link]] = {
    "inline": _Inline,
    "spawn": _Spawned,
    "fork": _Forked,
}


def _ending(code: int) -> str:
    """How a process ended, in words."""
    if code >= 0:
        return f"exit status {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"


class _Reader:
    """Reads a pipe with a deadline: by select where pipes can be selected, else by a thread."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream
        self.chunks: queue.Queue[bytes] | None = None
        self.rest = b""
        if os.name == "nt":
            self.chunks = queue.Queue()
            threading.Thread(target=self._pump, daemon=True).start()

    def _pump(self) -> None:
        assert self.chunks is not None
        while True:
            try:
                chunk = os.read(self.stream.fileno(), 1 << 16)
            except (OSError, ValueError):
                chunk = b""
            self.chunks.put(chunk)
            if not chunk:
                return

    def until(self, deadline: float) -> Callable[[int], bytes]:
        """A read function that raises TimeoutError once the deadline has passed."""

        def read(count: int) -> bytes:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            if self.chunks is None:
                if not select.select([self.stream], [], [], left)[0]:
                    raise TimeoutError
                return os.read(self.stream.fileno(), count)
            if not self.rest:
                try:
                    self.rest = self.chunks.get(timeout=left)
                except queue.Empty:
                    raise TimeoutError from None
            part, self.rest = self.rest[:count], self.rest[count:]
            return part

        return read
