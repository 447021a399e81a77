"""A rigorous reference for attention: proved enclosures, correctly rounded to any format.

Inputs are the dyadic numbers actually passed, scores are exact, and everything after the
exponential comes as a ball: a midpoint and a proved radius. Names load when first used, so that
importing the package does not import NumPy.

>>> from attnproofs import reference
>>> r = reference.attention([[0.0]], [[1.0], [2.0]], [[1.0], [2.0]])
>>> r.output.round_to("bfloat16").astype(float)
array([[1.5]])
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# public name -> module of this package that defines it ("" means the name is a module)
_PUBLIC = {
    "attention": "forward",
    "Attention": "forward",
    "Enclosure": "enclosure",
    "UndecidedRounding": "enclosure",
    "FORMATS": "formats",
    "Format": "formats",
    "get_format": "formats",
    "bounds": "",
    "emulate": "",
    "ulps": "",
    "Gradients": "backward",
    "gradients": "backward",
    "decode": "layers",
    "multi_head": "layers",
    "softmax": "layers",
}

__all__ = sorted(_PUBLIC)  # noqa: PLE0605  # the table is the one list of names


def __getattr__(name: str) -> Any:
    """Load a public name on first use."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'attnproofs.reference' has no attribute {name!r}")
    if not _PUBLIC[name]:
        return import_module(f"attnproofs.reference.{name}")
    return getattr(import_module(f"attnproofs.reference.{_PUBLIC[name]}"), name)


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted([*globals(), *_PUBLIC])
