"""What the bound is told about a case is rounded outwards."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from attnproofs.reference import attention
from attnproofs.reference.bounds.facts import gather, read, solve_call, two_floats
from attnproofs.reference.enclosure import Balls

INTEGERS = st.integers(-(2**180), 2**180) | st.integers(-(2**54), 2**54)


def dyadic(man: int, exp: int) -> Fraction:
    return Fraction(man) * Fraction(2) ** exp


@settings(derandomize=True)
@given(INTEGERS, st.integers(0, 2**70), st.integers(-1300, 700))
def test_two_floats_and_their_radius_contain_the_ball(m: int, r: int, e: int) -> None:
    high, low, radius = (float(part[0]) for part in two_floats(Balls([m], [r], [e])))
    distance = abs(dyadic(m, e) - Fraction(high) - Fraction(low)) + dyadic(r, e)
    assert distance <= Fraction(radius)
    if r == 0 and e > -900:  # and no larger than two floats must make it
        assert Fraction(radius) <= abs(dyadic(m, e)) * Fraction(2) ** -104


def test_beyond_float64_the_radius_is_infinite() -> None:
    high, _, radius = two_floats(Balls([-3], [1], [2000]))
    assert high[0] < 0
    assert np.isinf(radius[0])


@settings(derandomize=True, max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from([1e-3, 1.0, 30.0, 1e8]))
def test_drops_and_weights_enclose_the_exact_ones(seed: int, spread: float) -> None:
    rng = np.random.default_rng(seed)
    q, k, v = (rng.standard_normal((n, 3)) for n in (3, 5, 5))
    q = q * spread
    k[1] = k[0]  # a tie
    mask = rng.random((3, 5)) < 0.8
    call = read(q, k, v, {"attn_mask": mask, "sinks": 0.5})
    facts = gather(call.heads, solve_call(call, None, "output"))
    exact = attention(q, k, v, attn_mask=mask, sinks=0.5, precision=400)
    scores = exact.scores.midpoint
    for i in range(3):
        kept = [scores[i, j] if mask[i, j] else None for j in range(5)] + [Fraction(1, 2)]
        top = max(s for s in kept if s is not None)
        for j, score in enumerate(kept):
            if score is None:
                assert facts.log_weight[0, i, j] == -np.inf
                continue
            drop = top - score
            assert Fraction(facts.drop_low[0, i, j]) <= drop + Fraction(1, 10**100)
            assert drop <= Fraction(facts.drop[0, i, j]) + Fraction(1, 10**100)
            assert facts.drop[0, i, j] <= float(drop) * (1 + 1e-12) + 1e-25 * spread
            assert abs(score) <= Fraction(facts.score_abs[0, i, j]) + Fraction(1, 10**100)
            log_weight = float(score - exact.lse.midpoint[i])
            np.testing.assert_allclose(
                facts.log_weight[0, i, j], log_weight, rtol=1e-12, atol=1e-16
            )
        assert abs(top) <= Fraction(facts.top_abs[0, i])
