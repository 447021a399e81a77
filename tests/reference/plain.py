"""A second opinion: attention in mpmath, written straight from the formula.

It shares nothing with the product: no integers, no shift by the maximum, no matrices; it asks for
every pair whether it is kept. Its working precision is set so that results are good to 200 digits
(outputs: relative to the largest kept value), far below every radius it is compared with.
"""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np

DIGITS = 200


def mpf(x) -> mpmath.mpf:
    """The number itself, for floats and fractions."""
    if isinstance(x, mpmath.mpf):
        return x
    if isinstance(x, Fraction):
        return mpmath.mpf(x.numerator) / x.denominator
    return mpmath.mpf(float(x))


def numbers(x) -> np.ndarray:
    """The numbers of an array."""
    out = np.empty(np.shape(x), dtype=object)
    out.reshape(-1)[:] = [mpf(y) for y in np.ravel(x).tolist()]
    return out


def _digits_before_the_point(*parts) -> int:
    """Decimal digits of the largest score that these magnitudes allow."""
    total = 0.0
    for part in parts:
        values = np.abs(np.asarray(part, dtype=np.float64))
        values = values[np.isfinite(values) & (values > 0)]
        total += max(0.0, math.log10(values.max())) if values.size else 0.0
    return math.ceil(total)


def attention(
    q,
    k,
    v,
    *,
    attn_mask=None,
    is_causal=False,
    causal_offset=0,
    window=None,
    scale=None,
    softcap=None,
    sinks=None,
    alibi_slopes=None,
    digits=DIGITS,
):
    """Returns (output, weights, lse, scores, keep); object arrays of mpf, None for -inf."""
    two = q.ndim == 2
    if two:
        q, k, v = q[None], k[None], v[None]
    batch = np.broadcast_shapes(q.shape[:-3], k.shape[:-3], v.shape[:-3])
    Hq, L, E = q.shape[-3:]
    Hkv, S, Ev = v.shape[-3:]
    q = np.broadcast_to(q, (*batch, *q.shape[-3:]))
    k = np.broadcast_to(k, (*batch, *k.shape[-3:]))
    v = np.broadcast_to(v, (*batch, *v.shape[-3:]))
    lead = (*batch, Hq)
    mask = None
    if attn_mask is not None:
        mask = np.asarray(attn_mask)
        mask = mask if mask.dtype in (bool, object) else mask.astype(np.float64)
        mask = np.broadcast_to(mask, (*batch, L, S) if two else (*lead, L, S))
        mask = mask[None] if two else mask
    left, right = (None, None) if window is None else window
    output = np.empty((*lead, L, Ev), dtype=object)
    weights = np.empty((*lead, L, S), dtype=object)
    lse = np.empty((*lead, L), dtype=object)
    scores = np.empty((*lead, L, S), dtype=object)
    keep = np.zeros((*lead, L, S), dtype=bool)
    extra = _digits_before_the_point(q, k, [E], [1 if scale is None else float(scale)])
    extra += _digits_before_the_point(0 if mask is None else mask)
    extra += _digits_before_the_point(0 if sinks is None else sinks, [L + S + abs(causal_offset)])
    with mpmath.workdps(digits + 15 + extra):
        q, k, v = (numbers(x) for x in (q, k, v))
        tau = 1 / mpmath.sqrt(E) if scale is None else mpf(scale)
        for place in np.ndindex(*lead, L):
            *b, h, i = place
            g = h * Hkv // Hq
            qi, head = q[place], (*b, h)
            s = {}
            for j in range(S):
                p = i + causal_offset
                allowed = not (
                    (is_causal and j > p)
                    or (left is not None and j < p - left)
                    or (right is not None and j > p + right)
                )
                m = None if mask is None else mask[(*place, j)]
                if m is not None:
                    allowed = allowed and (bool(m) if mask.dtype == bool else m != -np.inf)
                keep[(*place, j)] = allowed
                scores[(*place, j)] = None
                if not allowed:
                    continue
                kj = k[(*b, g, j)]
                x = mpmath.fdot(zip(qi, kj)) * tau
                if softcap is not None:
                    x = mpf(softcap) * mpmath.tanh(x / mpf(softcap))
                if alibi_slopes is not None:
                    x -= mpf(np.broadcast_to(alibi_slopes, lead)[head]) * abs(p - j)
                if m is not None and mask.dtype != bool:
                    x += mpf(m)
                s[j] = scores[(*place, j)] = x
            exps = {j: mpmath.exp(x) for j, x in s.items()}
            total = sum(exps.values(), mpmath.mpf(0))
            if sinks is not None:
                total += mpmath.exp(mpf(np.broadcast_to(sinks, lead)[head]))
            lse[place] = mpmath.log(total) if total else None
            for j in range(S):
                weights[(*place, j)] = exps[j] / total if j in s else mpmath.mpf(0)
            for d in range(Ev):
                terms = [(weights[(*place, j)], v[(*b, g, j, d)]) for j in s]
                output[(*place, d)] = mpmath.fdot(terms)
    results = output, weights, lse, scores, keep
    return tuple(x[0] for x in results) if two else results


def gradient(arguments, options, grad_out, name, digits=DIGITS):
    """Gradient of ``sum(grad_out * output)`` by one argument, by central differences.

    Half as many digits as are worked with are lost, so the result is good to `digits`.
    """
    work = 3 * digits
    step = mpmath.mpf(2) ** (-4 * digits)
    named = dict(zip(("q", "k", "v"), arguments)) | options
    x = np.asarray(named[name]).astype(np.float64)
    out = np.empty(x.shape, dtype=object)
    for index in np.ndindex(x.shape):
        if x[index] == -np.inf:
            out[index] = mpmath.mpf(0)
            continue
        values = []
        for sign in (1, -1):
            with mpmath.workdps(work):
                moved = x.astype(object)
                moved[index] = mpf(x[index]) + sign * step
                o = attention(**(named | {name: moved}), digits=work)[0]
                terms = zip(np.ravel(grad_out).tolist(), o.ravel())
                values.append(sum((mpf(g) * y for g, y in terms), mpmath.mpf(0)))
        with mpmath.workdps(work):
            out[index] = (values[0] - values[1]) / (2 * step)
    return out


def exact(x: mpmath.mpf) -> Fraction:
    """An mpf as a fraction."""
    sign, man, exp, _ = x._mpf_
    return (-1) ** sign * int(man) * Fraction(2) ** int(exp)


def inside(enclosure, values, slack=0.0) -> np.ndarray:
    """Whether balls contain plain values; None stands for -inf, which must be there too.

    The plain values are good to 2**-630 (more than 189 digits) relative to themselves and to
    `slack`, which only matters where a radius is 0.
    """
    flat = values.ravel().tolist()
    out = np.zeros(len(flat), dtype=bool)
    special = enclosure._special
    s_man, s_exp = math.frexp(float(slack))
    s_man, s_exp = int(s_man * 2.0**53), s_exp - 53 - 630
    for n, (m, r, e) in enumerate(enclosure.balls):
        x = flat[n]
        if x is None or (special is not None and special[n]):
            out[n] = x is None and special is not None and special[n] == -np.inf
            continue
        sign, man, exp, _ = x._mpf_
        man, exp = int(-man if sign else man), int(exp)
        if man and exp + man.bit_length() < -50_000:
            man, exp = 0, 0  # far below every radius
        low = min(e, exp - 630, s_exp)
        gap = abs((man << (exp - low)) - (m << (e - low)))
        error = (abs(man) << (exp - 630 - low)) + (s_man << (s_exp - low))
        out[n] = gap <= (r << (e - low)) + error
    return out.reshape(enclosure.shape)
