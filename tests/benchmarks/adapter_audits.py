"""Audit every installed adapter under its own profile, with many seeds, in every format it claims.

    python -m tests.benchmarks.adapter_audits --mode thorough --seeds 5 --jobs 2 -o FOLDER

Writes FOLDER/NAME.SEED.json, so that a run that was stopped goes on where it was, and prints a line
for each adapter. Exit status 0 when no adapter departs from its profile other than by a known
difference (`attnproofs/adapters/known.toml`, explained in docs/findings.md), else 1.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from attnproofs import adapters


def examine(name, seed, mode, folder):
    """Audit one adapter with one seed in a process of its own."""
    path = folder / f"{name}.{seed}.json"
    seconds = 0.0
    if not path.is_file():
        command = [sys.executable, "-m", "attnproofs", "audit", name, "--no-save"]
        command += ["--mode", mode, "--seed", str(seed), "--json", str(path)]
        for dtype in adapters.get(name).dtypes:
            command += ["--dtype", dtype]
        start = time.perf_counter()
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        seconds = time.perf_counter() - start
        if not path.is_file():
            return name, seed, None, done.stderr.strip(), seconds
    return name, seed, json.loads(path.read_text("utf-8")), "", seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=None, help="names of adapters")
    parser.add_argument("--mode", default="default")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    names = [n for n in adapters.installed() if options.only is None or n in options.only]
    jobs = [(n, s, options.mode, options.output) for n in names for s in range(options.seeds)]
    wrong = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for name, seed, report, trouble, seconds in pool.map(lambda job: examine(*job), jobs):
            if report is None:
                wrong += 1
                print(f"{name} seed {seed}: could not run: {trouble}", flush=True)
                continue
            count = Counter(f["status"] for f in report["findings"])
            violated = sorted(
                {
                    f"{f['level']}:{f['property']} ({f.get('dtype', '')})"
                    for f in report["findings"]
                    if f["status"] == "violated"
                }
            )
            wrong += bool(violated)
            formats = ", ".join(report["dtypes"])
            print(
                f"{name} seed {seed} ({formats}): {count['held']} held, "
                f"{count['known difference']} known differences, {count['violated']} violated, "
                f"{seconds:.0f} s",
                *violated,
                sep="\n    ",
                flush=True,
            )
    print(f"{len(jobs)} audits ({options.mode}), {wrong} with an unknown difference")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
