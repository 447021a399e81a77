"""Audit every mutant and print the table: mutant, first property, counterexample, seconds.

    python -m tests.benchmarks.mutants                    the gallery of attnproofs.mutants
    python -m tests.benchmarks.mutants path/to/file.py    the lists of a file of your own

Such a file holds a list MUTANTS (and, if it likes, EXTENDED) of dictionaries with the keys id,
level, fn and what, and a dictionary CORRECT (and CORRECT_EXTENDED) from level to the correct
function; the correct ones must pass. Options: --only PATTERN, --level LEVEL, --mode MODE, --first
(stop at the first violated property), --paste, --jobs N, --json FILE. Exit status 0 when
all are caught and no correct function is accused, else 1.
"""

from __future__ import annotations

import argparse
import fnmatch
import importlib.util
import json
import multiprocessing
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from attnproofs.contract.api import audit
from attnproofs.mutants import LEVELS, gallery, lookup
from tests.benchmarks.names import fits


def subjects(file):
    """(id, level, function or None for the gallery's, is it correct, sentence) of each subject."""
    if file is None:
        yield from ((f"correct {level}", level, f, True, "") for level, f in LEVELS.items())
        yield from ((m.id, m.level, None, False, m.sentence) for m in gallery())
        return
    spec = importlib.util.spec_from_file_location("audited_mutants", file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    for name in ("CORRECT", "CORRECT_EXTENDED"):
        for level, function in getattr(module, name, {}).items():
            yield f"correct {level}", level, function, True, ""
    for name in ("MUTANTS", "EXTENDED"):
        for row in getattr(module, name, []):
            yield row["id"], row["level"], row["fn"], False, row["what"]


def size_of(case):
    """Keys, queries, features and whether every entry is 0, 1 or -1 (or masks with infinities)."""
    args = case.args
    if "scores" in args:
        x = args["scores"]
        shape = [x.shape[-1] if x.ndim else 1, x.shape[0] if x.ndim > 1 else 1, 1]
    elif "x_query" in args:
        shape = [len(args["x_source"]), len(args["x_query"]), args["x_query"].shape[-1]]
    elif "queries" in args:
        shape = [len(args["keys"]), len(args["queries"]), args["queries"].shape[-1]]
    else:
        q, k, v = (args[name] for name in ("query", "key", "value"))
        axis = -3 if "cu_seqlens" in args else -2
        shape = [k.shape[axis], q.shape[axis], max(q.shape[-1], v.shape[-1])]
    arrays = [x for x in args.values() if isinstance(x, np.ndarray) and x.dtype.kind == "f"]
    plain = all(np.isin(x.astype(float), (-np.inf, -1.0, 0.0, 1.0)).all() for x in arrays)
    return shape, plain


def shows(code, file, identity):
    """Run the printed counterexample in a fresh interpreter; say whether its assertion fails."""
    if file is None:
        start = "from attnproofs.mutants import lookup\n"
        start += f"attention = lookup({identity!r}).make()\n"
    else:
        start = "import importlib.util, sys\n"
        start += (
            f"spec = importlib.util.spec_from_file_location('audited_mutants', {str(file)!r})\n"
        )
        start += "module = importlib.util.module_from_spec(spec)\n"
        start += "sys.modules[spec.name] = module\nspec.loader.exec_module(module)\n"
        start += "rows = [*module.MUTANTS, *getattr(module, 'EXTENDED', [])]\n"
        start += f"attention = next(row['fn'] for row in rows if row['id'] == {identity!r})\n"
    done = subprocess.run(
        [sys.executable, "-c", start + code], capture_output=True, text=True, check=False
    )
    return done.returncode == 1 and "AssertionError" in done.stderr


def examine(job):
    """Audit one subject in a process of its own."""
    identity, level, function, correct, sentence, options = job
    cause = ""
    if function is None:
        chosen = lookup(identity)
        function, cause = chosen.make(), chosen.cause
    start = time.perf_counter()
    report = audit(
        function,
        level=level,
        profile="strict",
        mode=options.mode,
        isolate=False,
        first_only=options.first,
    )
    seconds = time.perf_counter() - start
    row = {
        "id": identity,
        "level": level,
        "correct": correct,
        "sentence": sentence,
        "seconds": round(seconds, 1),
        "could_not_run": report.could_not_run,
        "properties": [f.property for f in report.causes],
        "folded": len(report.violated) - len(report.causes),
    }
    if report.causes:
        first = report.causes[0]
        row["message"] = first.violation.message
        row["code"] = first.code
        if options.paste and not correct:
            row["shown"] = shows(first.code, options.file, identity)
        if cause:
            row["cause"], row["named"] = cause, fits(cause, first.property)
        if first.case is not None:
            row["size"], row["plain"] = size_of(first.case)
    return row


def show(rows):
    """Print the table and the figures."""
    print(f"{'mutant':42} {'level':8} {'first property':28} {'S,L,E':>10} {'0,±1':>4} {'s':>6}")
    for row in rows:
        first = row["properties"][0] if row["properties"] else "-"
        verdict = "could not run" if row["could_not_run"] else first
        size = ",".join(str(n) for n in row.get("size", []))
        plain = {True: "yes", False: "no"}.get(row.get("plain"), "")
        print(
            f"{row['id'][:42]:42} {row['level']:8} {verdict[:28]:28} {size:>10} {plain:>4} "
            f"{row['seconds']:6.1f}"
        )
    mutants = [row for row in rows if not row["correct"]]
    missed = [row for row in mutants if not row["properties"]]
    accused = [row for row in rows if row["correct"] and row["properties"]]
    sizes = [row["size"] for row in mutants if "size" in row]
    print(f"\ncaught {len(mutants) - len(missed)} of {len(mutants)}")
    for name, axis in (("keys", 0), ("queries", 1), ("features", 2)):
        if sizes:
            print(f"median {name}: {statistics.median(s[axis] for s in sizes):g}", end="; ")
    plain = sum(bool(row.get("plain")) for row in mutants)
    print(f"entries 0 or ±1: {plain} of {len(sizes)}")
    if mutants:
        slowest = max(mutants, key=lambda row: row["seconds"])
        total = sum(row["seconds"] for row in rows)
        print(f"slowest {slowest['id']}: {slowest['seconds']} s; all {total:.0f} s")
    for row in mutants:
        if not row.get("shown", True):
            print(f"NOT SHOWN BY ITS CODE {row['id']}:\n{row['code']}")
        if not row.get("named", True):
            print(f"OTHER NAME {row['id']}: {row['properties'][0]} for {row['cause']}")
    for row in missed:
        print(f"NOT CAUGHT {row['level']} {row['id']}: {row['sentence']}")
    for row in accused:
        print(f"FALSE ALARM {row['level']} {row['id']}: {row['properties']} {row['message']}")
    return 1 if missed or accused else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?")
    parser.add_argument("--only", default="*")
    parser.add_argument("--level")
    parser.add_argument("--mode", default="default")
    parser.add_argument("--first", action="store_true", help="stop at the first violation")
    parser.add_argument(
        "--paste",
        action="store_true",
        help="run each printed counterexample in a fresh interpreter",
    )
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    jobs = [
        (identity, level, f, correct, sentence, options)
        for identity, level, f, correct, sentence in subjects(options.file)
        if fnmatch.fnmatchcase(identity, options.only) and options.level in (None, level)
    ]
    rows = []
    _JOBS[:] = jobs
    with multiprocessing.get_context("fork").Pool(options.jobs, maxtasksperchild=1) as pool:
        for row in pool.imap(_examine_numbered, range(len(jobs)), chunksize=1):
            rows.append(row)
            print(f"{len(rows)}/{len(jobs)} {row['id']}: {row['properties']}", file=sys.stderr)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    return show(rows)


# where forked children find the jobs: functions of a file cannot be pickled
_JOBS = []


def _examine_numbered(number):
    return examine(_JOBS[number])


if __name__ == "__main__":
    sys.exit(main())
