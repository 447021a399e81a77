"""How long the commands take, as ratios to a plain start, in one run.

``python tests/benchmarks/start_and_prove.py`` times whole processes in turn, several times, and
prints medians and their ratios: ``--help`` and ``list`` against a bare start with click, ``prove``
and one LaTeX page against ``import sympy``, and the replay of all certificates in seconds.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
START = f"import sys; sys.path.insert(0, {str(ROOT)!r}); "
BARE = "import click\n@click.command()\ndef f(): pass\nf(standalone_mode=False, args=[])"


def seconds(arguments: list[str], runs: int) -> float:
    """Return the median wall time of a command."""
    times = []
    for _ in range(runs):
        began = time.perf_counter()
        subprocess.run(arguments, stdout=subprocess.DEVNULL, check=True)
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def main() -> None:
    """Print the table."""
    command = [sys.executable, "-c", START + "from attnproofs.cli import main; main()"]
    bare = seconds([sys.executable, "-c", BARE], 9)
    sympy = seconds([sys.executable, "-c", "import sympy"], 5)
    print(f"bare start with click   {bare:7.3f} s")
    print(f"import sympy            {sympy:7.3f} s")
    for name, arguments, runs, unit, limit in (
        ("--help", ["--help"], 9, bare, "3 x click"),
        ("list", ["list"], 9, bare, "3 x click"),
        ("prove", ["prove"], 3, sympy, "15 x sympy"),
        ("latex qk_variance", ["latex", "qk_variance"], 3, sympy, "1 s"),
    ):
        took = seconds([*command, *arguments], runs)
        print(f"{name:<23} {took:7.3f} s  ratio {took / unit:5.1f}  (budget {limit})")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [*command, "prove", "--kernel-only", "-o", folder],
            stdout=subprocess.DEVNULL,
            check=True,
        )
        files = sorted(map(str, Path(folder).glob("*.json")))
        took = seconds([*command, "replay", *files], 5)
        print(f"replay of {len(files)} files     {took:7.3f} s  (budget 1 s)")


if __name__ == "__main__":
    main()
