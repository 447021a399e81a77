"""The process that runs the target: load it, then answer one call after another.

Run as ``python -m attnproofs.contract.worker``; requests come on standard input and answers leave
on what was standard output when the process started. The target's own printing goes to a scratch
file and is counted. Nothing here decides anything: it reports what happened.
"""

from __future__ import annotations

import inspect
import os
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any, BinaryIO

import numpy as np

from attnproofs.contract import wire
from attnproofs.contract.wire import Array

#: A batch of calls is cut off after this many seconds.
BATCH_SECONDS = 2.0
#: Ways to lay the same values out in memory; the audit checks that none changes the answer.
LAYOUTS = (
    "C",
    "fortran",
    "transposed",
    "strided",
    "rows",
    "reversed",
    "guarded",
    "stride0",
    "expanded",
    "readonly",
)


#: Repeated calls stop when they have left so many bytes behind.
GROWTH_LIMIT = 256 << 20


def laid_out(array: Array, layout: str) -> Array:
    """The same values in another memory layout.

    ``guarded`` cuts the array out of a larger one filled with NaN, so that a read outside its
    bounds shows. ``stride0`` repeats the first row, ``expanded`` the first head, without storing it
    again; the rows (heads) must agree.
    """
    if layout == "fortran":
        return np.asfortranarray(array)
    if layout == "transposed" and array.ndim >= 2:
        return np.swapaxes(np.ascontiguousarray(np.swapaxes(array, -1, -2)), -1, -2)
    if layout == "strided":
        wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
        wide[..., ::2] = array
        return wide[..., ::2]
    if layout == "rows" and array.ndim >= 2:
        return np.repeat(array, 2, axis=-2)[..., ::2, :]
    if layout == "expanded" and array.ndim >= 3 and array.shape[-3] > 0:
        return np.broadcast_to(array[..., :1, :, :].copy(), array.shape)
    if layout == "reversed":
        return np.ascontiguousarray(array[..., ::-1])[..., ::-1]
    if layout == "guarded":
        filler = np.nan if array.dtype.kind not in "biu" else 1
        wide = np.full([n + 2 for n in array.shape], filler, array.dtype)
        inner = tuple(slice(1, n + 1) for n in array.shape)
        wide[inner] = array
        return wide[inner]
    if layout == "stride0" and array.ndim >= 2 and array.shape[-2] > 0:
        return np.broadcast_to(array[..., :1, :].copy(), array.shape)
    copy = np.array(array, order="C", copy=True)
    if layout == "readonly":
        copy.flags.writeable = False
    return copy


def resident() -> int:
    """Resident memory of this process in bytes (0 where the system does not say)."""
    try:
        with open("/proc/self/statm", "rb") as stream:
            return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        try:
            import resource
        except ImportError:
            return 0
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


class Server:
    """Answers requests about one target."""

    def __init__(self, load: Callable[[], Callable[..., Any]]) -> None:
        self.load = load
        self.function: Callable[..., Any] | None = None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer one request: ``load``, ``call``, ``batch`` or ``repeat``."""
        if request["op"] == "load":
            return self._load()
        if request["op"] == "batch":
            return {"answers": self._batch(request["calls"])}
        if request["op"] == "call":
            return self._call(request)
        return self._repeat(request)

    def _load(self) -> dict[str, Any]:
        try:
            self.function = self.load()
        except BaseException as error:  # the target's module may raise anything at all
            return {"status": "raised", **_about(error)}
        return {"status": "ok", "signature": _signature(self.function), "resident": resident()}

    def _call(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self.function is not None
        layouts = request.get("layouts", {})
        positional = [_argument(v, layouts.get(n, "C")) for n, v in request["positional"].items()]
        keywords = {n: _argument(v, layouts.get(n, "C")) for n, v in request["keywords"].items()}
        arrays = {
            name: value
            for name, value in [*zip(request["positional"], positional), *keywords.items()]
            if isinstance(value, np.ndarray)
        }
        before = {name: value.tobytes() for name, value in arrays.items()}
        try:
            result = self.function(*positional, **keywords)
            outputs, kind = _outputs(result)
        except BaseException as error:  # SystemExit and KeyboardInterrupt are answers too
            return {"status": "raised", **_about(error)}
        return {
            "status": "ok",
            "kind": kind,
            "outputs": outputs,
            "mutated": [name for name, value in arrays.items() if value.tobytes() != before[name]],
            "aliases": [
                name
                for name, value in arrays.items()
                if any(np.may_share_memory(value, o) for o in outputs)
            ],
        }

    def _batch(self, calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Answer calls until a moment has passed or much memory is gone.

        A slow target (a compiler) gets fewer at a time: what is left is asked again one by one,
        each with the time limit to itself.
        """
        answers, start, memory = [], time.monotonic(), resident()
        for one in calls:
            answers.append(self._call(one))
            if time.monotonic() - start > BATCH_SECONDS or resident() - memory > GROWTH_LIMIT:
                break
        return answers

    def _repeat(self, request: dict[str, Any]) -> dict[str, Any]:
        """Call `times` times; the first answer, the first one that differs, and the memory used."""
        first = self._call(request)
        differing = None
        start = resident()
        half = end = start
        for count in range(1, request["times"]):
            again = self._call(request)
            half, end = (end if count == request["times"] // 2 else half), resident()
            if end - start > GROWTH_LIMIT:
                half = start + (end - start) // 2
                break
            if differing is None and not _same(first, again):
                differing = {"call": count + 1, "answer": again}
                if not request.get("to_the_end"):
                    break
        return {"first": first, "differing": differing, "memory": [start, half, end]}


def _argument(value: Any, layout: str) -> Any:
    """An argument as the target gets it."""
    return laid_out(value, layout) if isinstance(value, np.ndarray) else value


def _same(one: dict[str, Any], two: dict[str, Any]) -> bool:
    """Whether two answers are bitwise the same."""
    if one["status"] != two["status"]:
        return False
    if one["status"] == "raised":
        return bool(one["error"] == two["error"])
    return one["kind"] == two["kind"] and all(
        a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
        for a, b in zip(one["outputs"], two["outputs"])
    )


def _outputs(result: Any) -> tuple[list[Array], str]:
    """The arrays in a result, and what the result was (``array``, ``tuple`` or a type's name)."""
    if isinstance(result, tuple | list) and result and all(_is_array(item) for item in result):
        return [np.asarray(item) for item in result], "tuple"
    if _is_array(result):
        return [np.asarray(result)], "array"
    if isinstance(result, np.ndarray):
        return [], "array of objects"
    return [], type(result).__name__


def _is_array(item: Any) -> bool:
    """Whether an object is an array of numbers (of NumPy or of anything that converts itself)."""
    if not isinstance(item, np.ndarray | np.generic) and not hasattr(item, "__array__"):
        return False
    return np.asarray(item).dtype.kind != "O"


def _about(error: BaseException) -> dict[str, Any]:
    """What a user needs to know about an exception of the target's own."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return {
        "error": type(error).__name__,
        "message": " ".join(str(error).split())[:400],
        "place": place,
        "depth": len(frames),
    }


def _signature(function: Callable[..., Any]) -> dict[str, Any] | None:
    """Parameter names by kind; None when the function does not say (built in C, for example)."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    kinds = inspect.Parameter
    return {
        "positional": [
            p.name
            for p in parameters
            if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)
        ],
        "required": [
            p.name
            for p in parameters
            if p.default is kinds.empty and p.kind not in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD)
        ],
        "keywords": [
            p.name
            for p in parameters
            if p.kind in (kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY)
        ],
        "any_positional": any(p.kind == kinds.VAR_POSITIONAL for p in parameters),
        "any_keyword": any(p.kind == kinds.VAR_KEYWORD for p in parameters),
    }


def leave_with_parent() -> None:
    """End this process soon after the audit that started it is gone, even inside a hung call."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(3)

    threading.Thread(target=watch, daemon=True).start()


def serve(requests: BinaryIO, answers: BinaryIO, load: Callable[[], Callable[..., Any]]) -> None:
    """Answer requests until the stream ends; file descriptors 1 and 2 become a scratch file."""
    scratch, name = tempfile.mkstemp(prefix="attnproofs-output-")
    os.unlink(name) if os.name != "nt" else None
    os.dup2(scratch, 1)
    os.dup2(scratch, 2)
    server = Server(load)
    while True:
        try:
            request = wire.receive(requests)
        except EOFError:
            return
        answer = server.answer(request)
        for stream in (sys.stdout, sys.stderr):
            # a target may have closed or replaced them
            try:
                stream.flush()
            except (ValueError, OSError, AttributeError):
                continue
        answer["printed"] = os.fstat(scratch).st_size
        if answer["printed"]:
            os.ftruncate(scratch, 0)
            os.lseek(scratch, 0, os.SEEK_SET)
        answer["resident"] = resident()
        answers.write(wire.pack(answer))
        answers.flush()


def main() -> None:
    """Serve the target and level named on the command line."""
    from attnproofs.contract.target import Target

    target = Target.from_arguments(sys.argv[1:])
    leave_with_parent()
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    serve(requests, answers, target.load)


if __name__ == "__main__":
    main()
