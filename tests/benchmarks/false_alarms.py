"""Audit the unusual but correct implementations with many seeds: none may be accused.

    python -m tests.benchmarks.false_alarms --mode thorough --seeds 20 --level sdpa --jobs 2

Prints one line for each implementation and seed that is accused, and the count. Exit status 0 when
there is none, else 1.
"""

from __future__ import annotations

import argparse
import fnmatch
import multiprocessing
import sys
import time

from attnproofs.contract.api import audit
from tests.contract.unusual import everything


def examine(job):
    """Audit one implementation with one seed."""
    number, seed, mode = job
    name, level, function = _ALL[number]
    start = time.perf_counter()
    report = audit(function, level=level, mode=mode, seed=seed, isolate=False)
    found = [(f.property, f.dtype, f.violation.message) for f in report.violated]
    if report.could_not_run:
        found.append(("could not run", "", report.could_not_run))
    return name, seed, found, len(report.held), time.perf_counter() - start


_ALL = list(everything())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=["*"], help="patterns, such as sdpa:tiles*")
    parser.add_argument("--level")
    parser.add_argument("--mode", default="default")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    jobs = [
        (number, seed, options.mode)
        for seed in range(options.seeds)
        for number, (name, level, _) in enumerate(_ALL)
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in options.only)
        and options.level in (None, level)
    ]
    accused = held = 0
    seconds = []
    with multiprocessing.get_context("fork").Pool(options.jobs, maxtasksperchild=8) as pool:
        for done, (name, seed, found, kept, took) in enumerate(pool.imap(examine, jobs), start=1):
            held += kept
            seconds.append(took)
            accused += bool(found)
            for what, dtype, message in found:
                print(f"ACCUSED {name} seed {seed}: {what} ({dtype}): {message}", flush=True)
            print(f"{done}/{len(jobs)} {name} seed {seed} {took:.1f} s", file=sys.stderr)
    print(
        f"{len(jobs)} audits ({options.mode}, {options.seeds} seeds), {accused} with an alarm, "
        f"{held} properties held, longest {max(seconds):.1f} s, sum {sum(seconds):.0f} s"
    )
    return 1 if accused else 0


if __name__ == "__main__":
    sys.exit(main())
