"""The yardsticks of the suites: they tell right from wrong at the digit they promise."""

from __future__ import annotations

from fractions import Fraction

import pytest

from checks import attention_mp as attn
from checks import measure
from checks.attention_mp import DIGITS, NEVER, mp

BIT = mp.power(10, -DIGITS)


def test_precision_is_that_of_the_suites_alone():
    import mpmath

    assert DIGITS >= 50 and mp.dps >= DIGITS + 20
    before = mp.dps
    with mpmath.workdps(15):
        assert mp.dps == before


@pytest.mark.parametrize("scale", [0, 1, 1000])
def test_agreement_to_the_last_digit(scale):
    value = mp.mpf(1) / 3
    step = BIT * max(scale, value)
    measure.assert_agree(value + step * mp.mpf("0.99"), value, scale=scale)
    with pytest.raises(AssertionError, match="they differ by"):
        measure.assert_agree(value + step * mp.mpf("1.01"), value, scale=scale)


@pytest.mark.parametrize(
    ("actual", "expected", "message"),
    [
        ([[1, 2]], [[1, 3]], r"\[0\]\[1\] is 2.0, expected 3.0"),
        ([1, 2], [1], "length 2, expected 1"),
        ([[1]], [1], "differ in shape"),
        (1, [1], "differ in shape"),
        (mp.nan, 1, "they differ by nan"),
        (1, NEVER, "expected -inf"),
        (NEVER, 1, "they differ by"),
        ([mp.mpf("1e-80"), 1], [0, 1], r"\[0\]"),
    ],
)
def test_disagreements(actual, expected, message):
    with pytest.raises(AssertionError, match=message):
        measure.assert_agree(actual, expected, scale=0)


def test_an_infinity_loosens_nothing():
    with pytest.raises(AssertionError):
        measure.assert_agree([NEVER, 1], [NEVER, 2])


def test_equality_is_exact():
    measure.assert_equal([Fraction(1, 3)], [Fraction(2, 6)])
    with pytest.raises(AssertionError, match="expected exactly"):
        measure.assert_equal(Fraction(1, 3) + Fraction(1, 10**200), Fraction(1, 3))


def test_bounds_keep_ten_guard_digits():
    measure.assert_at_most(mp.mpf("1e-90"), mp.mpf("1e-90"))
    for scale in (0, 1):
        with pytest.raises(AssertionError, match="above the bound"):
            measure.assert_at_most(1 + BIT, 1, scale=scale)
    with pytest.raises(AssertionError, match="above the bound"):
        measure.assert_at_most(mp.mpf("2e-90"), mp.mpf("1e-90"))
    with pytest.raises(AssertionError):
        measure.assert_at_most(mp.nan, 1)


@pytest.mark.parametrize(
    ("matrix", "rank"),
    [
        ([[0, 0], [0, 0]], 0),
        ([[1, 2, 3], [2, 4, 6]], 1),
        ([[0, 1], [1, 0]], 2),
        ([[1, 2], [3, 4], [5, 6]], 2),
        # singular, but not in floating point
        ([[Fraction(1, 10), Fraction(3, 10)], [Fraction(1, 3), 1]], 1),
        ([[Fraction(1, 10**30), 1], [0, Fraction(1, 10**30)]], 2),
    ],
)
def test_rank(matrix, rank):
    assert measure.rank(matrix) == rank
    assert measure.rank(attn.transpose(matrix)) == rank


def test_row_space():
    assert measure.in_row_space([2, 3], [[1, 0], [0, 1]])
    assert not measure.in_row_space([1, 1], [[1, 0]])


def test_derivative_keeps_sixty_digits():
    assert abs(measure.derivative(mp.exp, 1) - mp.e) < mp.power(10, -(DIGITS + 10))
    cubes = measure.derivative(lambda x: [x**3, -(x**3)], Fraction(1, 3))
    measure.assert_agree(cubes, [Fraction(1, 3), Fraction(-1, 3)])
    digits = mp.dps
    with pytest.raises(ZeroDivisionError):
        measure.derivative(lambda x: 1 / 0, 1)
    assert mp.dps == digits


def test_gradient_has_the_shape_of_its_argument():
    numeric = measure.gradient(lambda M: M[0][0] * M[0][1], [[mp.mpf(2), mp.mpf(5)]])
    measure.assert_agree(numeric, [[5, 2]])


def test_laws():
    coin = {0: Fraction(1, 2), 1: Fraction(1, 2)}
    assert measure.expectation(lambda x, y: x * y, coin, coin) == Fraction(1, 4)
    assert measure.variance(lambda x, y: x + y, coin, coin) == Fraction(1, 2)
    law = measure.standard_law(Fraction(-3, 7))
    assert sum(law.values()) == 1
    assert measure.variance(lambda x: x, law) == 1


def test_counting():
    tally = measure.Tally()
    (row,) = tally.numbers([[2, 3, 4]])
    total = attn.dot(row, row)
    assert (total.value, tally.multiplications, tally.additions) == (29, 3, 2)
    # scaling by an ordinary number is not counted
    assert total * 2 == 58 and 2 * total == 58
    assert (tally.multiplications, tally.additions) == (3, 2)


def test_watching_ends():
    original = attn.transpose
    with measure.watched(attn, "transpose") as calls, pytest.raises(ValueError):
        attn.transpose([[1], [2, 3]])
    assert calls == [([[1], [2, 3]],)]
    assert attn.transpose is original
