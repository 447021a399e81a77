r"""What to expect of a softmax over Gaussian scores: exact integrals, evaluated without sampling.

For a fixed query `q` with `|q| = r`, the scores of `n` independent Gaussian keys, times a scale τ,
are independent `N(0, σ²)` with `σ = τ r`. Write `Z = Σ_j e^{s_j}`, `p_j = e^{s_j}/Z` and
`φ(u) = E exp(-e^{s+u})`. Then, because `1/Z^m = ∫ t^{m-1} e^{-tZ} dt / (m-1)!` with `t = e^u`,

* ``E Σ_j p_j^m = n/(m-1)! · ∫ E[h_m(s+u)] φ(u)^{n-1} du`` with ``h_m(x) = exp(m x - e^x)``;
* ``E log Z = ∫ (exp(-e^u) - φ(u)^n) du`` (Frullani's integral);
* ``E Σ_j p_j s_j = σ² (1 - E Σ_j p_j²)`` (Gaussian integration by parts, with
  ``∂p_j/∂s_j = p_j(1-p_j)``).

The entropy is ``H(p) = log Z - Σ_j p_j s_j``. Every integrand is analytic and decays at both ends,
so the trapezoidal rule converges geometrically; expectations over `s` become convolutions on the
same grid. The average over queries integrates over ``log |q|²``, whose law is that of a chi-square.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from attnproofs.errors import InputError

Array = NDArray[np.float64]

STEP = 0.25  # of the grid of u = log t: h_m is analytic in a strip of half-width π/2, error e^-39


def _h(power: int, x: Array) -> Array:
    # beyond e^700 the outer exponential is exactly zero anyway
    return np.asarray(np.exp(power * x - np.exp(np.minimum(x, 700.0))))


class GaussianSoftmax:
    """Expectations over `n` independent scores `N(0, sigma²)`.

    Parameters
    ----------
    n
        Number of keys, at least 1.
    sigma
        Standard deviation of one score, positive.

    Examples
    --------
    >>> half = GaussianSoftmax(n=2, sigma=1e-3)
    >>> round(half.power_sum(2), 6), round(half.entropy(), 6)   # two nearly equal weights
    (0.5, 0.693147)
    """

    def __init__(self, n: int, sigma: float) -> None:
        if n < 1 or not sigma > 0:
            raise InputError(f"expected n >= 1 and sigma > 0, got n={n}, sigma={sigma}")
        self.n = n
        self.sigma = sigma
        reach = math.ceil((9 * sigma + 45) / STEP)
        self._u: Array = STEP * np.arange(-reach, reach + 1, dtype=np.float64)
        s_step = min(STEP, sigma / 2)
        inner = math.ceil(9 * sigma / s_step)
        self._s: Array = s_step * np.arange(-inner, inner + 1, dtype=np.float64)
        density = np.exp(-0.5 * (self._s / sigma) ** 2)
        self._density: Array = density / density.sum()
        # for s on the grid of u, an expectation at all u at once is one convolution
        wide = STEP * np.arange(-reach - inner, reach + inner + 1, dtype=np.float64)
        self._wide: Array | None = wide if s_step == STEP else None
        self._log_phi = np.log(np.maximum(self._smooth(0), 1e-300))

    def _smooth(self, power: int) -> Array:
        """Return ``E exp(power (s+u) - e^{s+u})`` on the grid of `u`."""
        if self._wide is None:
            return np.asarray(_h(power, self._u[:, None] + self._s) @ self._density)
        return np.convolve(_h(power, self._wide), self._density, mode="valid")

    def _integrate(self, values: Array) -> float:
        return float(STEP * values.sum())

    def power_sum(self, m: int) -> float:
        """Return ``E Σ_j p_j^m`` for `m >= 1` (1 when `m` is 1: a check of the quadrature)."""
        rest = np.exp((self.n - 1) * self._log_phi)
        return self.n * self._integrate(self._smooth(m) * rest) / math.factorial(m - 1)

    def square_of_power_sum(self) -> float:
        """Return ``E (Σ_j p_j²)²``, by the four-fold moments ``p_i⁴`` and ``p_i² p_j²``."""
        if self.n == 1:
            return 1.0
        pairs = self._smooth(2) ** 2 * np.exp((self.n - 2) * self._log_phi)
        return self.power_sum(4) + self.n * (self.n - 1) * self._integrate(pairs) / 6

    def log_sum_exp(self) -> float:
        """Return ``E log Σ_j e^{s_j}``."""
        none = _h(0, self._u)
        return self._integrate(none - np.exp(self.n * self._log_phi))

    def entropy(self) -> float:
        """Return ``E H(p)`` in nats."""
        return self.log_sum_exp() - self.sigma**2 * (1 - self.power_sum(2))

    def jacobian_square(self) -> float:
        """Return ``E ‖J‖_F²`` of ``J_ij = p_i(δ_ij - p_j)``: ``Σp² - 2Σp³ + (Σp²)²``."""
        return self.power_sum(2) - 2 * self.power_sum(3) + self.square_of_power_sum()

    def leak(self, masked: int) -> float:
        """Return ``E m/(Z + m)``: the weight on `m` keys whose score was set to 0, not -inf."""
        if masked == 0:
            return 0.0
        t = np.exp(np.minimum(self._u, 700.0))
        return self._integrate(masked * t * np.exp(self.n * self._log_phi - masked * t))


def over_queries(d_k: int, scale: float, value: Callable[[float], float]) -> float:
    """Average ``value(scale · |q|)`` over standard Gaussian queries of dimension `d_k`.

    Parameters
    ----------
    d_k
        Dimension of a query; ``|q|²`` is chi-square with `d_k` degrees of freedom.
    scale
        Factor τ on the scores: 1 for raw scores, ``1/sqrt(d_k)`` for scaled ones.
    value
        Function of the conditional standard deviation ``σ = τ|q|``.

    Examples
    --------
    >>> round(over_queries(64, 1.0, lambda sigma: sigma**2), 6)      # E|q|² = d_k
    64.0
    """
    # x = log|q|² has density proportional to exp(d x/2 - e^x/2)
    low = math.log(d_k) - 8 * math.sqrt(2 / d_k) - 60 / d_k
    high = math.log(d_k + 12 * math.sqrt(2 * d_k) + 60)
    # a step of 0.4 standard deviations: the rule's error is about e^-120
    points = np.linspace(low, high, math.ceil((high - low) / (0.4 * math.sqrt(2 / d_k))) + 1)
    log_density = d_k * points / 2 - np.exp(points) / 2
    weights = np.exp(log_density - log_density.max())
    weights /= weights.sum()
    keep = weights > 1e-13
    return float(
        sum(
            w * value(scale * math.exp(x / 2))
            for w, x in zip(weights[keep], points[keep], strict=True)
        )
    )


@lru_cache(maxsize=256)
def mean_entropy(n: int, d_k: int, scale: float) -> float:
    """Return the mean softmax entropy (nats) of a Gaussian query over `n` Gaussian keys.

    Examples
    --------
    >>> round(mean_entropy(100, 64, 1 / 8), 2)       # near ln 100 - 1/2
    4.12
    """
    return over_queries(d_k, scale, lambda sigma: GaussianSoftmax(n, sigma).entropy())


@lru_cache(maxsize=256)
def rms_jacobian(n: int, d_k: int, scale: float) -> float:
    """Return ``sqrt(E ‖J‖_F²)`` of the softmax Jacobian for Gaussian queries and keys."""
    mean = over_queries(d_k, scale, lambda sigma: GaussianSoftmax(n, sigma).jacobian_square())
    return math.sqrt(mean)


@lru_cache(maxsize=256)
def mean_leak(kept: int, masked: int, d_k: int, scale: float) -> float:
    """Return the mean weight on `masked` keys with score 0 beside `kept` Gaussian scores."""
    return over_queries(d_k, scale, lambda sigma: GaussianSoftmax(kept, sigma).leak(masked))
