"""attnproofs: symbolic and numeric verification of the attention mechanism.

Importing this package imports neither SymPy nor NumPy; each public name below is loaded from
its room the first time it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# public name -> module that defines it ("" means the name is itself a subpackage)
_PUBLIC = {
    "prove": "attnproofs.theorems.api",
    "audit": "attnproofs.contract.api",
    "identify": "attnproofs.contract.identify",
    "mutants": "",
    "reference": "",
}


def __getattr__(name: str) -> Any:
    """Load a public name on first use."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'attnproofs' has no attribute {name!r}")
    if not _PUBLIC[name]:
        return import_module(f"attnproofs.{name}")
    return getattr(import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted([*globals(), *_PUBLIC])
