"""Faulty attention functions, each tied to a public report: they grade tests, ours and yours.

`gallery` lists them; `attnproofs.mutants.correct` holds the correct functions that they change.
"""

from __future__ import annotations

from attnproofs.mutants import (
    gradient,
    heads,
    layout,
    masking,
    numerics,
    scaling,
    softmax,
    state,
    variants,
)
from attnproofs.mutants.correct import LEVELS
from attnproofs.mutants.registry import CAUSES, Call, Mutant, lookup, registered

__all__ = ["CAUSES", "LEVELS", "Call", "Mutant", "gallery", "lookup"]

_MODULES = (masking, softmax, scaling, heads, layout, numerics, state, gradient, variants)


def gallery(level: str | None = None) -> tuple[Mutant, ...]:
    """Return the mutants of one level, or all of them, by level and id.

    Examples
    --------
    >>> [m.id for m in gallery("sdpa")][:2]
    ['accumulator-not-cleared', 'additive-mask-as-flag']
    """
    order = list(LEVELS)
    chosen = (m for m in registered() if level in (None, m.level))
    return tuple(sorted(chosen, key=lambda m: (order.index(m.level), m.id)))
