"""From a ``.tex`` file to a PDF, with latexmk; a missing program is one clear sentence."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from attnproofs.errors import AttnproofsError, MissingDependency

_ENGINES = {"en": ("-pdf", "pdflatex"), "ko": ("-xelatex", "xelatex")}
_TIMEOUT_SECONDS = 600


def compile_pdf(tex: Path, language: str = "en") -> Path:
    """Compile `tex` beside itself and return the PDF's path.

    Parameters
    ----------
    tex
        The LaTeX file; auxiliary files are written beside it.
    language
        ``en`` uses pdflatex, ``ko`` xelatex with kotex.

    Raises
    ------
    MissingDependency
        When latexmk, the engine or kotex is not installed.
    AttnproofsError
        When LaTeX reports an error; the message ends with the first one.
    """
    option, engine = _ENGINES[language]
    for program in ("latexmk", engine):
        if shutil.which(program) is None:
            raise MissingDependency(
                f"--pdf needs {program}, which is not installed (Debian and Ubuntu: "
                "apt-get install latexmk texlive-latex-recommended texlive-fonts-recommended"
                f"{' texlive-xetex texlive-lang-korean' if language == 'ko' else ''}); "
                f"{tex} has been written"
            )
    if language == "ko" and not _finds("kotex.sty"):
        raise MissingDependency(
            "--pdf in Korean needs kotex (Debian and Ubuntu: apt-get install texlive-lang-korean); "
            f"{tex} has been written"
        )
    command = ["latexmk", option, "-interaction=nonstopmode", "-halt-on-error", tex.name]
    try:
        done = subprocess.run(
            command,
            cwd=tex.parent,
            capture_output=True,
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as expired:
        raise AttnproofsError(
            f"latexmk did not finish within {_TIMEOUT_SECONDS} s on {tex}"
        ) from expired
    if done.returncode:
        output = done.stdout.decode("utf-8", "replace")
        first = next((line for line in output.splitlines() if line.startswith("!")), "")
        raise AttnproofsError(f"latexmk failed on {tex}: {first or 'see the .log file beside it'}")
    return tex.with_suffix(".pdf")


def _finds(style: str) -> bool:
    if shutil.which("kpsewhich") is None:
        return True  # cannot tell; LaTeX will
    found = subprocess.run(["kpsewhich", style], capture_output=True, check=False)
    return found.returncode == 0
