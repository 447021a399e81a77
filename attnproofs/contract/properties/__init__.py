"""The properties, one module a level; importing this package registers them all."""

from __future__ import annotations

from attnproofs.contract.properties import conduct as conduct  # first: it explains the rest
from attnproofs.contract.properties import sdpa as sdpa
from attnproofs.contract.property import REGISTRY, Property


def properties_of(level: str) -> list[Property]:
    """The properties of a level, in the order in which a cause is looked for.

    ``weights`` and ``lse`` return the output first, so every property of ``sdpa`` applies to them.
    """
    own = REGISTRY[level]
    if level in ("weights", "lse"):
        shared = [p for p in REGISTRY["sdpa"] if not p.variant and not p.anywhere]
        return [p for p in own if p.anywhere] + shared + [p for p in own if not p.anywhere]
    return list(own)


def all_names() -> list[str]:
    """Names of all properties, without repetition."""
    return list(dict.fromkeys(p.id for level in REGISTRY for p in REGISTRY[level]))
