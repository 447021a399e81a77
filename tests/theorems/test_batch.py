"""Proving in several processes gives what proving in one gives, in catalogue order."""

from __future__ import annotations

from attnproofs.theorems import select
from attnproofs.theorems.batch import outcome, outcomes


def test_several_processes_give_the_same_in_the_same_order() -> None:
    """Order, digests and certificates do not depend on the number of processes."""
    claims = select(("sums",))
    found = outcomes(claims, opinions=False, neighbours=False)

    assert [one.result.id for one in found] == [c.id for c in claims]
    for claim, one in list(zip(claims, found))[::5]:
        alone = outcome(claim, opinions=False, neighbours=False)
        assert alone.certificate == one.certificate
        assert alone.result.digests == one.result.digests
