"""The properties, one module a level; importing this package registers them all."""

from __future__ import annotations

# conduct comes first and accuracy last: an earlier violation may explain a later one
from attnproofs.contract.properties import (  # isort: skip
    conduct as conduct,
    sdpa as sdpa,
    crossed as crossed,
    outputs as outputs,
    softmax as softmax,
    decode as decode,
    mha as mha,
    grad as grad,
    accuracy as accuracy,
    variants as variants,
)
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


#: Findings that come from watching all calls rather than from cases of their own.
WATCHED = ("plain_call", "prints_little", "keeps_no_memory")


def all_names() -> list[str]:
    """Names of all properties, without repetition."""
    names = dict.fromkeys(p.id for level in REGISTRY for p in REGISTRY[level])
    return [*WATCHED, *names]
