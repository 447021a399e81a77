"""Experiments of the usual explanations of attention: what is predicted, what is measured.

Each experiment is a function of a seed that returns `Row`s. A row of a random quantity carries the
mean over `REPEATS` independent draws with its standard error; a row of a count is exact. `agrees`
says whether prediction and measurement are compatible: equal for counts, and within four standard
errors otherwise (for a correct prediction that fails about once in 16 000 rows).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnproofs.experiments import expectations

Array = NDArray[np.float64]

TOKENS = 100  # queries and keys of one draw
D_K = 64
REPEATS = 64
ALLOWED_ERRORS = 4.0


@dataclass(frozen=True)
class Row:
    """One predicted and measured quantity.

    Attributes
    ----------
    experiment, quantity
        Which experiment, and what is measured.
    predicted
        The prediction, from `source`.
    one_draw
        The figure of the first draw alone, as a reader would see it in one run.
    measured, standard_error
        Mean over `draws` draws and its standard error (0 for exact counts).
    draws
        Number of independent draws.
    source
        Where the prediction comes from: a theorem id or the integral used.
    """

    experiment: str
    quantity: str
    predicted: float
    one_draw: float
    measured: float
    standard_error: float
    draws: int
    source: str

    @property
    def deviation(self) -> float:
        """Return how many standard errors lie between measurement and prediction (0 if equal)."""
        gap = abs(self.measured - self.predicted)
        if gap == 0:
            return 0.0
        return gap / self.standard_error if self.standard_error else math.inf

    @property
    def agrees(self) -> bool:
        """Return whether the prediction lies within the allowed number of standard errors."""
        return self.deviation <= ALLOWED_ERRORS

    def to_json(self) -> dict[str, Any]:
        """Return the row as plain JSON values."""
        return {**asdict(self), "agrees": self.agrees}


@dataclass(frozen=True)
class Experiment:
    """A named experiment: `run(seed)` gives its rows."""

    id: str
    title: str
    run: Callable[[int], list[Row]]


def softmax(scores: Array) -> Array:
    """Return the row-wise softmax of float64 `scores` (last axis)."""
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True), dtype=np.float64)


def entropy(weights: Array) -> Array:
    """Return the entropy in nats of each row, with ``0 log 0 = 0``."""
    safe = np.where(weights > 0, weights, 1.0)
    return np.asarray(-(weights * np.log(safe)).sum(axis=-1), dtype=np.float64)


def draws(seed: int, tokens: int, d_k: int, repeats: int) -> Iterator[tuple[Array, Array]]:
    """Yield `repeats` independent pairs of `tokens` standard Gaussian queries and keys."""
    generator = np.random.default_rng(seed)
    for _ in range(repeats):
        yield (
            generator.standard_normal((tokens, d_k)),
            generator.standard_normal((tokens, d_k)),
        )


def _random(
    experiment: str, quantity: str, predicted: float, values: list[float], source: str
) -> Row:
    sample = np.array(values)
    error = float(sample.std(ddof=1) / math.sqrt(len(sample)))
    return Row(
        experiment,
        quantity,
        predicted,
        float(sample[0]),
        float(sample.mean()),
        error,
        len(values),
        source,
    )


def _exact(experiment: str, quantity: str, predicted: float, measured: float, source: str) -> Row:
    return Row(experiment, quantity, predicted, measured, measured, 0.0, 1, source)


def score_spread(seed: int) -> list[Row]:
    """Variance and standard deviation of raw and scaled scores (100 queries, 100 keys, d_k = 64).

    The mean of ``s²`` over all pairs is unbiased for the variance, so it is what the theorem
    predicts; the standard deviation of a draw is its root.
    """
    raw: list[float] = []
    for q, k in draws(seed, TOKENS, D_K, REPEATS):
        raw.append(float(((q @ k.T) ** 2).mean()))
    scaled = [value / D_K for value in raw]
    name = "scores"
    return [
        _random(name, "variance of q·k", D_K, raw, "qk_variance"),
        _random(name, "variance of q·k/√d_k", 1.0, scaled, "qk_variance_scaled"),
        _pooled(name, "standard deviation of q·k", math.sqrt(D_K), raw, "qk_std"),
        _pooled(name, "standard deviation of q·k/√d_k", 1.0, scaled, "qk_variance_scaled"),
    ]


def _pooled(
    experiment: str, quantity: str, predicted: float, squares: list[float], source: str
) -> Row:
    """Return the row of a root: root of the pooled mean, its error to first order."""
    sample = np.array(squares)
    root = math.sqrt(sample.mean())
    error = float(sample.std(ddof=1) / math.sqrt(len(sample))) / (2 * root)
    return Row(
        experiment,
        quantity,
        predicted,
        math.sqrt(squares[0]),
        root,
        error,
        len(squares),
        source,
    )


def softmax_entropy(seed: int) -> list[Row]:
    """Mean softmax entropy of raw and scaled scores, against the integral of `expectations`."""
    rows: dict[float, list[float]] = {1.0: [], 1 / math.sqrt(D_K): []}
    for q, k in draws(seed, TOKENS, D_K, REPEATS):
        scores = q @ k.T
        for scale, values in rows.items():
            values.append(float(entropy(softmax(scores * scale)).mean()))
    integral = "integral: E log Z - σ²(1 - E Σp²), averaged over |q|²"
    return [
        _random(
            "entropy",
            f"mean entropy of softmax({label}), nats",
            expectations.mean_entropy(TOKENS, D_K, scale),
            values,
            integral,
        )
        for (scale, values), label in zip(rows.items(), ["q·k", "q·k/√d_k"], strict=True)
    ]


class _Counted:
    """A number that counts the multiplications and additions done with it."""

    multiplications = 0
    additions = 0

    def __mul__(self, other: _Counted) -> _Counted:
        _Counted.multiplications += 1
        return self

    def __add__(self, other: _Counted) -> _Counted:
        _Counted.additions += 1
        return self


def count_scores(tokens: int, d_k: int) -> tuple[int, int, int]:
    """Return (scores, multiplications, additions) of `Q Kᵀ`, by doing and counting them."""
    _Counted.multiplications = _Counted.additions = 0
    one = _Counted()
    scores = 0
    for _ in range(tokens):
        for _ in range(tokens):
            total = one * one
            for _ in range(d_k - 1):
                total = total + one * one
            scores += 1
    return scores, _Counted.multiplications, _Counted.additions


def doubling(seed: int) -> list[Row]:
    """Double the number of tokens: four times the scores and the operations. Nothing random."""
    del seed
    rows = []
    d_k = 8
    before = count_scores(16, d_k)
    after = count_scores(32, d_k)
    for name, small, large in zip(["scores", "multiplications", "additions"], before, after):
        quantity = f"{name} at T = 32 over T = 16 (d_k = 8)"
        rows.append(_exact("doubling", quantity, 4.0, large / small, "score_count"))
    flops = after[1] + after[2]
    rows.append(
        _exact(
            "doubling",
            "operations T²(2d_k-1) at T = 32",
            32**2 * (2 * d_k - 1),
            flops,
            "flop_count",
        )
    )
    return rows


def masks(seed: int) -> list[Row]:
    """Causal mask by score 0 and by score -∞: the weight that reaches the future."""
    future = np.triu(np.ones((TOKENS, TOKENS), dtype=bool), 1)
    scale = 1 / math.sqrt(D_K)
    zero: list[float] = []
    first: list[float] = []
    infinite: list[float] = []
    for q, k in draws(seed, TOKENS, D_K, REPEATS):
        scores = q @ k.T * scale
        leaked = (softmax(np.where(future, 0.0, scores)) * future).sum(axis=1)
        zero.append(float(leaked.mean()))
        first.append(float(leaked[0]))
        hard = softmax(np.where(future, -np.inf, scores))
        infinite.append(float((hard * future).sum(axis=1).max()))
    each = [expectations.mean_leak(i, TOKENS - i, D_K, scale) for i in range(1, TOKENS + 1)]
    integral = "integral: E m/(Z + m), averaged over |q|²"
    return [
        _random(
            "masks", "mean weight on the future, mask = 0", float(np.mean(each)), zero, integral
        ),
        _random("masks", "weight on the future in row 1, mask = 0", each[0], first, integral),
        _exact(
            "masks",
            "largest weight on the future, mask = -∞",
            0.0,
            max(infinite),
            "mask_exact_zero",
        ),
    ]


def gradients(seed: int) -> list[Row]:
    """Root mean square Frobenius norm of the softmax Jacobian against d_k, raw and scaled."""
    rows = []
    for d_k in (16, 64, 256, 1024):
        for label, scale in (("raw", 1.0), ("scaled", 1 / math.sqrt(d_k))):
            squares = []
            for q, k in draws(seed, TOKENS, d_k, REPEATS):
                p = softmax(q @ k.T * scale)
                second = (p**2).sum(axis=1)
                squares.append(float((second - 2 * (p**3).sum(axis=1) + second**2).mean()))
            rows.append(
                _pooled(
                    "gradients",
                    f"norm of ∂p/∂s, {label} scores, d_k = {d_k}",
                    expectations.rms_jacobian(TOKENS, d_k, scale),
                    squares,
                    "integral: E[Σp² - 2Σp³ + (Σp²)²], averaged over |q|²",
                )
            )
    return rows


EXPERIMENTS = (
    Experiment("scores", "100 queries and keys, d_k = 64: spread of the scores", score_spread),
    Experiment(
        "entropy",
        "100 queries and keys, d_k = 64: entropy (at most ln 100 = 4.605)",
        softmax_entropy,
    ),
    Experiment("doubling", "Twice as many tokens", doubling),
    Experiment("masks", "Masking a score with 0 and with -∞ (causal, T = 100)", masks),
    Experiment("gradients", "Norm of the softmax Jacobian against d_k (100 keys)", gradients),
)
