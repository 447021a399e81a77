"""One attention head as exact numbers: what every backend receives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from attnproofs.reference.inputs import Exact, Scale


@dataclass(frozen=True)
class Head:
    """Exact inputs of one head.

    Scores are ``cap(scale * q_i . k_j) + bias_ij`` with ``cap(x) = softcap * tanh(x / softcap)``.
    An attention sink is one more key at the end, zero with value zero and the sink as its bias;
    `sinks` counts it.

    Attributes
    ----------
    q, k, v : Exact
        Shapes (L, E), (S, E), (S, Ev).
    keep : bool array (L, S) or None
        Pairs that may attend; None means all.
    bias : Exact or None
        Shape (L, S), zero where not kept.
    """

    q: Exact
    k: Exact
    v: Exact
    keep: NDArray[np.bool_] | None
    bias: Exact | None
    scale: Scale
    softcap: Fraction | None
    sinks: int = 0

    @property
    def L(self) -> int:
        """Number of queries."""
        return self.q.shape[0]

    @property
    def S(self) -> int:
        """Number of keys, a sink included."""
        return self.k.shape[0]

    @property
    def real_S(self) -> int:
        """Number of keys, a sink not counted."""
        return self.S - self.sinks

    def row(self, i: int) -> Head:
        """The same head with the query `i` alone."""
        one = slice(i, i + 1)
        return replace(
            self,
            q=self.q[one],
            keep=None if self.keep is None else self.keep[one],
            bias=None if self.bias is None else self.bias[one],
        )
