"""Proving many theorems of the catalogue at once, on all processors.

Each process proves its share (and the lemmas that this share cites) by itself; results come back in
catalogue order, so that what is printed does not depend on how many there were.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

from attnproofs.calculus.proving import Result, cited_names, prove
from attnproofs.calculus.scripts import of_catalogue
from attnproofs.calculus.theorem import Theorem
from attnproofs.kernel.statement import canonical
from attnproofs.theorems import locations, theorem

# below this many theorems a second process costs more than it saves
_WORTHWHILE = 16
_SHARE = 6


@dataclass(frozen=True)
class Outcome:
    """What came of one theorem: the result, its certificate, and the theorems that it cites."""

    result: Result
    certificate: str
    cited: tuple[str, ...]


def outcome(claim: Theorem, *, opinions: bool = True, neighbours: bool = True) -> Outcome:
    """Prove one theorem and write down its certificate (empty when it is refused)."""
    result = prove(claim, opinions=opinions, neighbours=neighbours)
    if result.status == "refused":
        return Outcome(result, "", ())
    cited = dict.fromkeys(name.split(".")[0] for name in cited_names(claim))
    known = tuple(i for i in cited if i in locations() and i != claim.id)
    return Outcome(result, canonical(claim.certificate()) + "\n", known)


def outcomes(
    claims: Iterable[Theorem],
    *,
    opinions: bool = True,
    neighbours: bool = True,
    progress: Callable[[Outcome], None] = lambda done: None,
) -> list[Outcome]:
    """Prove theorems, in several processes when there are many, and return them in order.

    Parameters
    ----------
    claims
        What to prove. Theorems that are not of the catalogue are proved in this process.
    opinions, neighbours
        See `attnproofs.calculus.proving.prove`.
    progress
        Called with each outcome, in order.
    """
    given = list(claims)
    prove_one = partial(_by_id, opinions=opinions, neighbours=neighbours)
    processors = os.cpu_count() or 1
    mine = [c for c in given if not of_catalogue(c)]
    if len(given) < _WORTHWHILE or processors < 2 or mine:
        done = []
        for claim in given:
            done.append(outcome(claim, opinions=opinions, neighbours=neighbours))
            progress(done[-1])
        return done
    done = []
    with ProcessPoolExecutor(min(processors, 8)) as pool:
        for one in pool.map(prove_one, [c.id for c in given], chunksize=_SHARE):
            done.append(one)
            progress(one)
    return done


def _by_id(id: str, *, opinions: bool, neighbours: bool) -> Outcome:
    return outcome(theorem(id), opinions=opinions, neighbours=neighbours)
