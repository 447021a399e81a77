"""Time the documents from a cold start, as ratios to ``python -c "import sympy"``.

    python -m tests.benchmarks.documents [--repeats N]

Prints seconds (the smallest of N runs each, a fresh process every time) and ratios: the book of
the whole catalogue, one theorem as a fragment and as HTML, ``attnproofs --help``. Exit status 1 if
the book takes more than 3 s or a theorem more than 1 s; on a busy machine look at the ratios.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COMMANDS = {
    "latex (book of everything)": (["latex", "-o", "{folder}/book.tex"], 3.0),
    "latex --lang ko (book)": (["latex", "--lang", "ko", "-o", "{folder}/book-ko.tex"], 3.0),
    "latex qk_variance (fragment)": (["latex", "qk_variance"], 1.0),
    "show qk_variance --format html": (["show", "qk_variance", "--format", "html"], 1.0),
    "--help": (["--help"], 1.0),
}


def seconds(arguments, repeats):
    """Return the smallest wall time of `repeats` runs of the interpreter with `arguments`."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
        best = min(best, time.perf_counter() - start)
    return best


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    unit = seconds(["-c", "import sympy"], repeats)
    print(f"{'import sympy':32}{unit:8.2f} s{1:8.2f}")
    slow = False
    with tempfile.TemporaryDirectory() as folder:
        for name, (arguments, limit) in COMMANDS.items():
            filled = [a.format(folder=Path(folder).as_posix()) for a in arguments]
            took = seconds(["-m", "attnproofs", *filled], repeats)
            slow |= took > limit
            print(f"{name:32}{took:8.2f} s{took / unit:8.2f}   at most {limit:g} s")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
