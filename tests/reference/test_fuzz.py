"""A small derandomised part of the two fuzz scripts, and proof that they can fail."""

import pytest

from attnproofs.reference import backward, core, enclosure, fixed
from tests.reference import fuzz, rounding
from tests.reference.fuzz import BACKENDS, DTYPES


@pytest.mark.parametrize("block", range(8))
def test_enclosures_contain_the_plain_value(block):
    misses = []
    for seed in range(7_000_000 + 60 * block, 7_000_000 + 60 * (block + 1)):
        misses += fuzz.check(seed)[0]
    assert not misses


@pytest.mark.parametrize("name", DTYPES)
def test_rounding_equals_brute_force(name):
    wrong, count = [], 0
    for n, kind in enumerate(rounding.KINDS):
        found, values = rounding.check(9_000_000 + n, kind, name, 12)
        wrong += found
        count += values.total()
    assert not wrong
    assert count > 180


def misses(seeds, backends=("python",)) -> int:
    old, fuzz.BACKENDS = fuzz.BACKENDS, backends
    try:
        return sum(len(fuzz.check(seed)[0]) for seed in seeds)
    finally:
        fuzz.BACKENDS = old


SEEDS = range(40)


def test_the_fuzz_notices_a_radius_without_the_weights_error(monkeypatch):
    assert misses(SEEDS) == 0
    monkeypatch.setattr(core, "KAPPA", 0)
    assert misses(SEEDS) > 0


def test_the_fuzz_notices_an_exponential_that_is_off(monkeypatch):
    call = fixed.Exp.__call__
    monkeypatch.setattr(fixed.Exp, "__call__", lambda self, t: call(self, t) + (40 if t else 0))
    assert misses(SEEDS) > 0


def test_the_fuzz_notices_radii_larger_than_promised(monkeypatch):
    monkeypatch.setattr(core, "KAPPA", 1 << 20)
    assert misses(SEEDS) > 0


@pytest.mark.skipif("flint" not in BACKENDS, reason="python-flint is not installed")
def test_the_fuzz_notices_flint_without_its_radii(monkeypatch):
    from attnproofs.reference.flint_backend import ArbBalls

    whole = ArbBalls.integers

    def without(self):
        balls = whole(self)
        return enclosure.Balls(balls.mid, [0] * len(balls.mid), balls.exp)

    monkeypatch.setattr(ArbBalls, "integers", without)
    assert misses(SEEDS, ("flint",)) > 0


@pytest.mark.parametrize(
    ("kind", "mutant"),
    [
        # ties rounded away from zero
        ("midpoint", lambda self, i, values, c: 1 if c > 0 else -1),
        # the sign of a tie broken at 2**-200 lost
        ("broken tie", lambda self, i, values, c: 0),
        ("far key", lambda self, i, values, c: 0),
    ],
)
def test_the_brute_force_notices_a_wrong_exact_test(monkeypatch, kind, mutant):
    monkeypatch.setattr(core.Solution, "compare_mean", mutant)
    assert rounding.check(3, kind, "float32", 12)[0]


def test_without_the_exact_test_a_tie_never_ends(monkeypatch):
    """The loop's only way out on a midpoint is the exact test; a limit shows it."""
    monkeypatch.setattr(core.Solution, "compare_mean", lambda *_: None)
    from attnproofs.reference import attention, forward

    r = attention([[1.0]], [[0.0], [0.0], [1.0], [1.0]], [[1.0], [1.0078125], [1.0078125], [1.0]])
    monkeypatch.setattr(forward._Refiner, "limit", 2048, raising=False)
    r.output._refiner.limit = 2048
    with pytest.raises(enclosure.UndecidedRounding):
        r.output.round_to("bfloat16")


def test_gradients_contain_differences_of_the_plain_version():
    misses = [fuzz.check_gradients(seed)[0] for seed in range(8_000_000, 8_000_015)]
    assert not any(misses)


def test_the_gradient_fuzz_notices_a_lost_error(monkeypatch):
    seeds = range(8_000_000, 8_000_012)
    monkeypatch.setattr(backward, "KAPPA", -1)  # P_err = -(n + 1) + 1 <= 0
    assert any(fuzz.check_gradients(seed)[0] for seed in seeds)
