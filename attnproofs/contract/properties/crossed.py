"""Properties of sdpa where two features meet: groups or samples with their own scores, and causal.

Each feature alone has its property in `sdpa`; a fault that needs both at once shows only here.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from attnproofs.contract.case import Case
from attnproofs.contract.properties.sdpa import agrees, case
from attnproofs.contract.property import Make, declare


def _drawn_heads(make: Make, batch: int, heads: int, key_heads: int) -> Case:
    """Every sample and head has queries, keys and values of its own."""
    queries, keys, e = make.size(1, 3), make.size(1, 3), make.size(1, 2)
    first = (batch,) if batch > 1 or make.rank == 4 else ()
    lead, key_lead = (*first, heads), (*first, key_heads)
    return case(
        make,
        make.lattice(*lead, queries, e),
        make.lattice(*key_lead, keys, e),
        make.lattice(*key_lead, keys, 1),
    )


@declare(
    "sdpa",
    "single_head_formula",
    "The scores of a sample come from its own queries and keys.",
    agrees,
    about="batch scale scores",
)
def batch_scores(make: Make) -> Iterator[Case]:
    one, other = np.array([[0.0], [1.0]]), np.array([[1.0], [0.0]])
    for query in ([[[1.0]], [[1.0]]], [[[1.0]], [[-1.0]]]):
        keys, values = np.stack([one, other])[:, None], np.stack([one, one])[:, None]
        yield case(make, np.array(query)[:, None], keys, values)
    for _ in range(make.examples // 3):
        yield _drawn_heads(make, make.size(2, 3), *[make.size(1, 3)] * 2)


@declare(
    "sdpa",
    "gqa_tied",
    "Query heads that share a key head keep their own queries.",
    agrees,
    about="heads groups scale scores",
    needs="groups",
)
def grouped_scores(make: Make) -> Iterator[Case]:
    key, value = np.array([[[0.0], [1.0]]]), np.array([[[0.0], [1.0]]])
    lift = (slice(None),) if make.rank < 4 else (None,)
    for second in (0.0, -1.0):
        query = np.array([[[1.0]], [[second]]])
        yield case(make, query[lift], key[lift], value[lift])
    for _ in range(make.examples // 3):
        key_heads, batch = make.size(1, 3), make.size(1, 2)
        yield _drawn_heads(make, batch, make.size(2, 4) * key_heads, key_heads)


@declare(
    "sdpa",
    "gqa_tied",
    "The causal mask is that of the query's position in every head of a group.",
    agrees,
    about="mask causal heads groups",
    needs="groups is_causal",
)
def grouped_causal(make: Make) -> Iterator[Case]:
    for group, key_heads, n in ((2, 1, 2), (2, 1, 3), (2, 2, 2), (4, 1, 2), (3, 2, 5), (8, 1, 3)):
        query, key = np.ones((group * key_heads, n, 1)), np.ones((key_heads, n, 1))
        value = np.broadcast_to(np.eye(n), (key_heads, n, n))
        lift = (slice(None),) if make.rank < 4 else (None,)
        yield case(make, query[lift], key[lift], value[lift], is_causal=True)
