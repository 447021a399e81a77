"""A second opinion: attention in mpmath, written straight from the formula.

It shares nothing with the product: no integers, no shift by the maximum, no block structure. At
200 digits and more its own error is far below every radius it is compared with.
"""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np


def mpf(x) -> mpmath.mpf:
    """The number itself, for floats and fractions."""
    if isinstance(x, Fraction):
        return mpmath.mpf(x.numerator) / x.denominator
    return mpmath.mpf(float(x))


def head(q, k, v, *, keep, bias=None, scale=None, softcap=None, sink=None, slope=None, offset=0):
    """One head; returns (output, weights, lse, scores) as nested lists of mpf."""
    L, S, E, Ev = len(q), len(k), q.shape[1], v.shape[1]
    tau = 1 / mpmath.sqrt(E) if scale is None else mpf(scale)
    output, weights, lse, scores = [], [], [], []
    for i in range(L):
        s = {}
        for j in range(S):
            if not keep[i, j]:
                continue
            x = mpmath.fsum(mpf(a) * mpf(b) for a, b in zip(q[i], k[j])) * tau
            if softcap is not None:
                x = mpf(softcap) * mpmath.tanh(x / mpf(softcap))
            if slope is not None:
                x -= mpf(slope) * abs(i + offset - j)
            s[j] = x + (mpf(bias[i, j]) if bias is not None else 0)
        total = mpmath.fsum(mpmath.exp(x) for x in s.values())
        if sink is not None:
            total += mpmath.exp(mpf(sink))
        scores.append([s.get(j) for j in range(S)])
        if not total:
            weights.append([mpmath.mpf(0)] * S)
            output.append([mpmath.mpf(0)] * Ev)
            lse.append(None)
            continue
        p = [mpmath.exp(s[j]) / total if j in s else mpmath.mpf(0) for j in range(S)]
        weights.append(p)
        output.append([mpmath.fsum(p[j] * mpf(v[j, d]) for j in s) for d in range(Ev)])
        lse.append(mpmath.log(total))
    return output, weights, lse, scores


def exact(x: mpmath.mpf) -> Fraction:
    """An mpf as a fraction."""
    sign, man, exp, _ = x._mpf_
    return (-1) ** sign * int(man) * Fraction(2) ** int(exp)


def inside(enclosure, values, digits=190) -> np.ndarray:
    """Whether balls contain plain values, which are themselves good to `digits` relative digits.

    None stands for a special value, which must be one in the enclosure too.
    """
    mid, rad = enclosure.midpoint, enclosure.radius
    out = np.zeros(mid.shape, dtype=bool)
    slack = Fraction(1, 10**digits)
    for index in np.ndindex(mid.shape):
        x = values
        for n in index:
            x = x[n]
        m = mid[index]
        if x is None:
            out[index] = isinstance(m, float) and m == -np.inf
        elif not isinstance(m, float):
            y = exact(x)
            out[index] = abs(y - m) <= rad[index] + abs(y) * slack
    return out
