"""Audit the unusual but correct implementations with many seeds: none may be accused.

    python -m tests.benchmarks.false_alarms --mode thorough --seeds 20 --level sdpa --jobs 2

Prints one line for each implementation and seed that is accused, and the count. Exit status 0 when
there is none, else 1. Implementations of one level get the same cases from the same seed, so what
is expected of a case is computed once for all of them.
"""

from __future__ import annotations

import argparse
import fnmatch
import functools
import multiprocessing
import sys
import time

import numpy as np

from attnproofs.contract.api import audit
from attnproofs.contract.properties import decode, sdpa, variants
from attnproofs.reference import bounds
from tests.contract.unusual import everything

_ALL = list(everything())
_KNOWN = {}


def frozen(x):
    """Return what an argument is, as something that can be looked up."""
    if isinstance(x, np.ndarray):
        return x.dtype.str, x.shape, x.tobytes()
    if isinstance(x, dict):
        return tuple((name, frozen(x[name])) for name in sorted(x))
    return tuple(map(frozen, x)) if isinstance(x, (tuple, list)) else x


def remembered(function):
    """Return the function, computing nothing twice."""

    @functools.wraps(function)
    def looked_up(*args, **kwargs):
        place = (function.__name__, frozen(args), frozen(kwargs))
        if place not in _KNOWN:
            _KNOWN[place] = function(*args, **kwargs)
        return _KNOWN[place]

    return looked_up


def remember():
    """Make the audit look up what it expects; what it is given is judged each time."""
    allowance = remembered(bounds.allowance)
    bounds.judge = lambda q, k, v, got, **rest: allowance(q, k, v, **rest).judge(got)
    for module in (sdpa, decode, variants):
        module.attention = remembered(module.attention)


def examine(job):
    """Audit the implementations of one level with one seed."""
    level, numbers, seed, mode = job
    _KNOWN.clear()
    results = []
    for number in numbers:
        name, _, function = _ALL[number]
        start = time.perf_counter()
        report = audit(function, level=level, mode=mode, seed=seed, isolate=False)
        found = [(f.property, f.dtype, f.violation.message) for f in report.violated]
        if report.could_not_run:
            found.append(("could not run", "", report.could_not_run))
        results.append((name, seed, found, len(report.held), time.perf_counter() - start))
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=["*"], help="patterns, such as sdpa:tiles*")
    parser.add_argument("--level")
    parser.add_argument("--mode", default="default")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    levels = {}
    for number, (name, level, _) in enumerate(_ALL):
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in options.only):
            levels.setdefault(level, []).append(number)
    chosen = {k: v for k, v in levels.items() if options.level in (None, k)}
    jobs = [
        (level, numbers, seed, options.mode)
        for seed in range(options.seeds)
        for level, numbers in chosen.items()
    ]
    audits = options.seeds * sum(map(len, chosen.values()))
    accused = held = done = 0
    seconds = []
    with multiprocessing.get_context("fork").Pool(
        options.jobs, initializer=remember, maxtasksperchild=8
    ) as pool:
        for group in pool.imap(examine, jobs):
            for name, seed, found, kept, took in group:
                done += 1
                held += kept
                seconds.append(took)
                accused += bool(found)
                for what, dtype, message in found:
                    print(f"ACCUSED {name} seed {seed}: {what} ({dtype}): {message}", flush=True)
                print(f"{done}/{audits} {name} seed {seed} {took:.1f} s", file=sys.stderr)
    print(
        f"{audits} audits ({options.mode}, {options.seeds} seeds), {accused} with an alarm, "
        f"{held} properties held, longest {max(seconds):.1f} s, sum {sum(seconds):.0f} s"
    )
    return 1 if accused else 0


if __name__ == "__main__":
    sys.exit(main())
