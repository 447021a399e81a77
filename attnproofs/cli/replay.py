"""``attnproofs replay``: the kernel alone, in a clean interpreter."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click

# -I: no user site, no environment, no current folder; -S: nothing that is installed, and no code
# that installed packages run at every start. The package's own folder is all we add
_PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from attnproofs.kernel.command import run; run(sys.argv[2:])"
)


@click.command("replay")
@click.argument(
    "files", nargs=-1, required=True, metavar="CERT.json...", type=click.Path(path_type=Path)
)
@click.option("--json", "as_json", is_flag=True, help="Write JSON instead of lines.")
def command(files: tuple[Path, ...], *, as_json: bool) -> int:
    """Replay certificates with the kernel alone: a clean interpreter, no SymPy, no NumPy.

    Exit status: 0 everything is proved, 1 something is refused, 2 a file cannot be read.
    """
    done = subprocess.run(
        arguments([*(["--json"] if as_json else []), *map(str, files)]), check=False
    )
    return done.returncode


def arguments(given: list[str]) -> list[str]:
    """Return the command line that replays files in a clean interpreter."""
    root = str(Path(__file__).resolve().parents[2])
    return [sys.executable, "-I", "-S", "-c", _PROGRAM, root, *given]
