"""Errors in ulps and relative to the sum of p|v|."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from attnproofs.errors import InputError
from attnproofs.reference import attention
from attnproofs.reference.formats import FORMATS
from attnproofs.reference.ulps import errors, in_ulps, spacing


@pytest.mark.parametrize("name", list(FORMATS))
def test_spacing_is_the_gap_to_the_next_number_of_the_format(name: str) -> None:
    fmt = FORMATS[name]
    for value in (fmt.smallest_subnormal, 2.0**fmt.emin, 1.0, 1.5, 3.0, 2.0**fmt.emax):
        gap = Fraction(float(spacing(value, name)))
        above = Fraction(value) + gap
        assert fmt.nearest_fraction(above.numerator, above.denominator) == above
        between = Fraction(value) + gap / 4
        assert fmt.nearest_fraction(between.numerator, between.denominator) == value


@pytest.mark.parametrize("name", ["float64", "float32", "float16", "bfloat16"])
def test_the_correctly_rounded_result_is_within_half_an_ulp(name: str) -> None:
    rng = np.random.default_rng(3)
    q, k, v = (rng.standard_normal(shape) for shape in ((2, 5, 4), (2, 7, 4), (2, 7, 3)))
    exact = attention(q, k, v)
    got = exact.output.round_to(name)
    report = errors(q, k, v, got)
    assert (report.ulps <= 0.5).all()
    assert report.ulps.max() > 0.2  # and they are measured, not assumed
    np.testing.assert_allclose(report.ulps, in_ulps(got, exact.output), rtol=1e-12)
    assert (report.units <= 1).all()


def test_one_ulp_off_counts_as_about_one() -> None:
    q = k = np.zeros((1, 1), np.float32)
    report = errors(q, k, np.float32([[3.0]]), np.nextafter(np.float32([[3.0]]), np.float32(9)))
    assert report.ulps.item() == 1.0
    assert report.units.item() == pytest.approx(2.0**-22 / 3 * 2**24)


def test_cancelling_values_make_ulps_large_and_leave_the_other_figure_small() -> None:
    rng = np.random.default_rng(8)
    q, k = rng.standard_normal((4, 8)), rng.standard_normal((6, 8))
    s = q @ k.T / np.sqrt(8)
    e = np.exp(s - s.max(-1, keepdims=True))
    w = e / e.sum(-1, keepdims=True)
    v = rng.standard_normal((6, 3))
    v[5] = -(w[0, :5] @ v[:5]) / w[0, 5]  # row 0 cancels to nearly nothing
    report = errors(q, k, v, w @ v)
    assert report.ulps[0].max() > 1e6
    assert report.units.max() < 8
    assert "largest" in str(report)


def test_nan_is_infinitely_far_and_an_exact_result_is_at_no_distance() -> None:
    q = k = np.zeros((2, 2))
    v = np.array([[1.0], [2.0]])
    report = errors(q, k, v, [[np.nan], [1.5]], fmt="float64")
    assert report.ulps.tolist() == [[np.inf], [0.0]]
    assert report.relative.tolist() == [[np.inf], [0.0]]


def test_a_list_needs_a_format_and_a_shape_must_fit() -> None:
    q = k = v = np.zeros((2, 2))
    with pytest.raises(InputError, match="got carries no format"):
        errors(q, k, v, [[0.0, 0.0], [0.0, 0.0]])
    with pytest.raises(InputError, match=r"got has shape \(2, 3\); expected \(2, 2\)"):
        errors(q, k, v, np.zeros((2, 3)))
