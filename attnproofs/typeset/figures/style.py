"""One look for all figures: sizes, colours, and bytes that depend on the data alone.

The colours are those of Okabe and Ito, which stay apart for every common kind of colour blindness;
each comes with its own marker and line style, and their lightness differs, so a grey print can be
read too. Fonts are the STIX fonts that ship with matplotlib, so no system font matters.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from attnproofs.errors import MissingDependency

INK = "#1a1a1a"
MUTED = "#5f6368"
FAINT = "#d9dce0"
BLUE = "#0072B2"
ORANGE = "#E69F00"
GREEN = "#009E73"
RED = "#D55E00"
SKY = "#56B4E9"
PALE_BLUE = "#cfe3f1"
PALE_ORANGE = "#fbe7c0"
PALE_GREEN = "#cdeadf"

# colour, marker, line style of the series 0, 1, 2, 3
SERIES = [(INK, "o", "-"), (BLUE, "s", "--"), (RED, "^", "-."), (ORANGE, "D", ":")]

_RC = {
    "font.family": "STIXGeneral",
    "mathtext.fontset": "stix",
    "font.size": 9.5,
    "axes.titlesize": 10,
    "axes.labelsize": 9.5,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.5,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.3,
    "lines.markersize": 4.5,
    "text.color": INK,
    "hatch.color": "#8a8f95",
    "hatch.linewidth": 0.6,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "attnproofs",
    "path.simplify": False,
}

_METADATA: dict[str, dict[str, Any]] = {
    "pdf": {"CreationDate": None, "ModDate": None, "Producer": None, "Creator": "attnproofs"},
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": "attnproofs"},
}


@contextmanager
def drawing() -> Iterator[None]:
    """Draw in this look, whatever the user's matplotlib configuration says."""
    try:
        import matplotlib
    except ImportError as error:
        raise MissingDependency(
            "figures need matplotlib; install it with: pip install 'attnproofs[plots]'"
        ) from error
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_RC)
        yield


def figure(width: float, height: float) -> Any:
    """Return an empty figure of `width` by `height` inches (a text column is 6.3 wide)."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def blank(axes: Any) -> None:
    """Turn `axes` into a plain drawing area with equal units and no frame."""
    axes.set_aspect("equal")
    axes.axis("off")
    axes.grid(False)


def encode(drawn: Any, kind: str) -> bytes:
    """Return a drawn figure as bytes of `kind` (``pdf``, ``png``, ``svg``), without dates."""
    stream = io.BytesIO()
    drawn.savefig(stream, format=kind, dpi=200, metadata=_METADATA[kind])
    return stream.getvalue()
