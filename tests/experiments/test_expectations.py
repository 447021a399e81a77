"""The predictions are right: against closed forms, and against plain sampling."""

import math

import numpy as np
import pytest

from attnproofs.errors import InputError
from attnproofs.experiments.expectations import (
    GaussianSoftmax,
    mean_entropy,
    mean_leak,
    over_queries,
    rms_jacobian,
)


@pytest.mark.parametrize("n", [1, 2, 7, 100])
@pytest.mark.parametrize("sigma", [0.05, 1.0, 8.0, 32.0])
def test_weights_sum_to_one(n, sigma):
    """The first power sum of the weights is 1: the whole chain of quadratures is exact."""
    assert GaussianSoftmax(n, sigma).power_sum(1) == pytest.approx(1, abs=1e-9)


def test_single_key_has_no_entropy_and_no_gradient():
    """With one key the weight is 1: entropy and Jacobian vanish, LSE is the score itself."""
    one = GaussianSoftmax(1, 2.0)

    assert one.log_sum_exp() == pytest.approx(0, abs=1e-9)
    assert one.entropy() == pytest.approx(0, abs=1e-9)
    assert one.jacobian_square() == pytest.approx(0, abs=1e-9)


def test_two_keys_against_the_logistic_integral():
    """For two keys p is the logistic function of a Gaussian gap: E Σp² by an ordinary integral."""
    sigma = 1.7
    gap = np.linspace(-14, 14, 20001) * sigma
    density = np.exp(-(gap**2) / (4 * sigma**2))
    density /= density.sum()
    p = 1 / (1 + np.exp(-gap))

    expected = float((density * (p**2 + (1 - p) ** 2)).sum())

    assert GaussianSoftmax(2, sigma).power_sum(2) == pytest.approx(expected, abs=1e-10)
    expected_norm = float((density * (2 * p * (1 - p)) ** 2).sum())
    assert GaussianSoftmax(2, sigma).jacobian_square() == pytest.approx(expected_norm, abs=1e-10)


def test_leak_of_one_kept_key():
    """One kept score N(0,σ²) and m masked: E m/(e^s + m) by an ordinary integral."""
    s = np.linspace(-12, 12, 20001)
    density = np.exp(-(s**2) / 2)
    density /= density.sum()

    expected = float((density * 3 / (np.exp(s) + 3)).sum())

    assert GaussianSoftmax(1, 1.0).leak(3) == pytest.approx(expected, abs=1e-10)
    assert GaussianSoftmax(1, 1.0).leak(0) == 0


@pytest.mark.parametrize("d_k", [1, 2, 64, 1024])
def test_average_over_queries_has_the_chi_square_moments(d_k):
    """E|q|² = d and E|q|⁴ = d² + 2d."""
    assert over_queries(d_k, 1.0, lambda s: s**2) == pytest.approx(d_k, rel=1e-4)
    assert over_queries(d_k, 1.0, lambda s: s**4) == pytest.approx(d_k**2 + 2 * d_k, rel=1e-3)


def test_means_against_sampling():
    """Entropy, Jacobian norm and leak agree with 4000 sampled rows within 4 standard errors."""
    generator = np.random.default_rng(7)
    n, d_k = 12, 5
    q = generator.standard_normal((4000, d_k))
    k = generator.standard_normal((4000, n, d_k))
    scores = np.einsum("rd,rnd->rn", q, k)
    e = np.exp(scores)
    p = e / e.sum(1, keepdims=True)
    second = (p**2).sum(1)
    samples = {
        mean_entropy(n, d_k, 1.0): -(p * np.log(p)).sum(1),
        rms_jacobian(n, d_k, 1.0) ** 2: second - 2 * (p**3).sum(1) + second**2,
        mean_leak(n, 4, d_k, 1.0): 4 / (e.sum(1) + 4),
    }
    for predicted, values in samples.items():
        error = values.std() / math.sqrt(len(values))
        assert abs(values.mean() - predicted) < 4 * error
        # and the test can fail: a prediction five per cent off is noticed
        assert abs(values.mean() - 1.05 * predicted) > 2 * error


def test_impossible_parameters_are_refused():
    """No keys, or no spread: one clear message."""
    with pytest.raises(InputError, match="expected n >= 1 and sigma > 0, got n=0"):
        GaussianSoftmax(0, 1.0)
    with pytest.raises(InputError, match="sigma=0"):
        GaussianSoftmax(3, 0.0)
