"""Replay as a program: ``python -I -c "..." FILE...``, standard library and kernel only.

Exit status 0: every statement is proved; 1: one is refused; 2: a file cannot be read. A lemma that
is not in the given files is looked for in the other certificates of their folders.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from pathlib import Path
from typing import Any, NoReturn

from attnproofs.kernel.read import LARGEST_FILE, Unreadable, parse
from attnproofs.kernel.refused import Refused
from attnproofs.kernel.replay import Replay

_MALFORMED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


def load(path: Path) -> Any:
    """Return the JSON value in a file, refusing files that are too large before reading them."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise Unreadable(f"larger than {LARGEST_FILE // 2**20} MiB, so no certificate of ours")
        return parse(path.read_bytes())
    except OSError as error:
        raise Unreadable(error.strerror or str(error)) from None


def run(arguments: list[str]) -> NoReturn:
    """Be the whole program: replay the named files, and end the process with the exit status.

    It ends without taking the terms apart one by one, which would take a fifth of all the time; for
    the same reason the collector sleeps (terms are tuples without cycles).
    """
    gc.disable()
    try:
        status = main(arguments)
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:  # the reader has seen enough
        status = 2
    os._exit(status)


def main(arguments: list[str]) -> int:
    """Replay the named files; ``--json`` first gives JSON. Return the exit status."""
    as_json = arguments[:1] == ["--json"]
    names = [Path(a) for a in (arguments[1:] if as_json else arguments)]
    replay = Replay()
    given: list[tuple[Path, list[str]]] = []
    for path in names:
        try:
            given.append((path, replay.load(load(path))))
        except Unreadable as error:
            print(f"attnproofs replay: {path}: {error}", file=sys.stderr)
            return 2
        except Refused as refusal:
            print(f"attnproofs replay: {path}: refused: {refusal.reason}", file=sys.stderr)
            return 1
    _load_neighbours(replay, names)
    results: list[dict[str, Any]] = []
    status = 0
    for path, digests in given:
        for digest in digests:
            name = replay.name_of(digest)
            entry: dict[str, Any] = {"file": path.name, "statement": name, "digest": digest}
            try:
                proved = replay.prove(digest)
            except (Refused, RecursionError, *_MALFORMED) as error:
                status = 1
                entry |= {"status": "refused", "message": _reason(error)}
            else:
                entry |= {
                    "status": "proved",
                    "steps": proved.steps,
                    "axioms": sorted(proved.axioms),
                }
            results.append(entry)
    if as_json:
        print(json.dumps({"version": 1, "results": results}, indent=2))
        return status
    for entry in results:
        detail = f"{entry['steps']} steps" if entry["status"] == "proved" else entry["message"]
        print(f"{entry['status']:<8} {entry['statement']}  {entry['digest'][:12]}  {detail}")
    refused = sum(e["status"] != "proved" for e in results)
    print(f"{len(results) - refused} proved, {refused} refused")
    return status


def _reason(error: BaseException) -> str:
    if isinstance(error, Refused):
        return error.reason
    if isinstance(error, RecursionError):
        return "nested too deeply"
    # data that no rule has a word for; whatever it is, it proves nothing
    return f"malformed ({type(error).__name__}: {error})"


def _load_neighbours(replay: Replay, names: list[Path]) -> None:
    """Load the other certificates beside the given ones; they may be cited without being given."""
    seen = {path.resolve() for path in names}
    for folder in sorted({path.resolve().parent for path in names}):
        for path in sorted(folder.glob("*.json")):
            if path.resolve() not in seen:
                try:
                    replay.load(load(path))
                except (Unreadable, Refused):
                    continue  # some other file; a lemma that is missing will be reported
