"""What the bound needs to know of one case, as float64 arrays rounded outwards.

Every array is either exact or an upper estimate; names ending in ``_abs`` are upper estimates of
a magnitude. Heads and batches are flattened into one leading axis ``G``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnproofs.errors import InputError
from attnproofs.reference.enclosure import Balls
from attnproofs.reference.forward import Attention, Call, choose_backend, read_call
from attnproofs.reference.inputs import Exact
from attnproofs.reference.problem import Head

Floats = NDArray[np.float64]

BITS = 128  # radii near 2**-128 of the values: far below any float64 allowance
_UP = 1 + 2.0**-50
_LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True)
class Facts:
    """One case. Shapes: G heads, L query rows, S keys (a sink included), E and D widths.

    Attributes
    ----------
    query, key, value
        The inputs themselves, exact: (G, L, E), (G, S, E), (G, S, D). An attention sink is a key
        of zeros with a value of zeros whose score is its bias.
    kept
        Which keys a row keeps, (G, L, S).
    scale
        The factor of the scores.
    bias_abs
        Magnitude of what is added to the scaled scores, (G, L, S), or None.
    softcap
        C of ``C * tanh(score / C)``, applied before the bias, or None.
    drop, drop_low
        ``max_l s_l - s_j`` for kept keys, rounded up and down, (G, L, S); anything elsewhere.
    score_abs, top_abs
        Magnitude of the final score, (G, L, S), and of the row maximum, (G, L).
    log_weight
        Natural logarithm of the weight, (G, L, S); ``-inf`` where not kept.
    lse_abs
        Magnitude of the log-sum-exp, (G, L).
    out, out_low, out_radius
        The exact result lies within ``out_radius`` of ``out + out_low``; (G, L, D) each for the
        attention output.
    """

    query: Floats
    key: Floats
    value: Floats
    kept: NDArray[np.bool_]
    scale: float
    bias_abs: Floats | None
    softcap: float | None
    drop: Floats
    drop_low: Floats
    score_abs: Floats
    top_abs: Floats
    log_weight: Floats
    lse_abs: Floats
    out: Floats
    out_low: Floats
    out_radius: Floats


_OPTIONS = {
    "attn_mask": None,
    "is_causal": False,
    "causal_offset": 0,
    "window": None,
    "scale": None,
    "softcap": None,
    "sinks": None,
    "alibi_slopes": None,
}


def read(query: ArrayLike, key: ArrayLike, value: ArrayLike, options: dict[str, Any]) -> Call:
    """Read a call whose options are those of `attnproofs.reference.attention`."""
    if unknown := sorted(set(options) - set(_OPTIONS)):
        raise InputError(f"unknown option {unknown[0]!r}; expected one of {', '.join(_OPTIONS)}")
    return read_call(query, key, value, **(_OPTIONS | options))


def solve_call(
    call: Call, reference: Attention | None, quantity: str
) -> list[tuple[Balls, Balls, Balls]]:
    """Enclosures of scores, log-sum-exp and the quantity itself, for each head."""
    heads: Sequence[Head] = call.heads
    kinds = ("scores", "lse", quantity)
    if reference is None:
        _, solve = choose_backend("auto")
        solutions = [solve(head, BITS) for head in heads]
        return [(s.scores(), s.lse(), getattr(s, quantity)()) for s in solutions]
    expected = (*call.shapes.lead, call.shapes.L)
    for kind in kinds:
        part = getattr(reference, kind)
        if part.shape[: len(expected)] != expected:
            raise InputError(
                f"reference.{kind} has shape {part.shape}; expected {expected} and columns: "
                "pass the result of attention() for the same call"
            )
    split = [_split(getattr(reference, kind).balls, len(heads)) for kind in kinds]
    return list(zip(*split))


def _split(balls: Balls, count: int) -> list[Balls]:
    """Consecutive equal parts, one a head."""
    size = len(balls.mid) // count
    parts = [
        [list(islice(flat, n * size, (n + 1) * size)) for n in range(count)]
        for flat in (balls.mid, balls.rad, balls.exp)
    ]
    return [Balls(mid, rad, exp) for mid, rad, exp in zip(*parts)]


def gather(heads: Sequence[Head], solved: Sequence[tuple[Balls, Balls, Balls]]) -> Facts:
    """Collect the facts of heads of equal shape.

    Parameters
    ----------
    heads
        The exact inputs.
    solved
        For each head the enclosures of its scores (a sink left out), of its log-sum-exp, and of
        what is to be judged, which becomes `out`.
    """
    parts = [
        _of_head(head, *(part.integers() for part in balls)) for head, balls in zip(heads, solved)
    ]
    stacked: dict[str, Any] = {
        name: np.stack([part[name] for part in parts])
        for name, value in parts[0].items()
        if value is not None
    }
    first = heads[0]
    return Facts(
        **{"bias_abs": None, **stacked},
        scale=float(first.scale),
        softcap=None if first.softcap is None else float(first.softcap),
    )


def _of_head(head: Head, scores: Balls, lse: Balls, output: Balls) -> dict[str, Any]:
    """Facts of one head, without the leading axis."""
    L, S = head.L, head.S
    kept = np.ones((L, S), bool) if head.keep is None else np.asarray(head.keep, bool)
    bias = None if head.bias is None else floats(head.bias)
    high, low, error = (part.reshape(L, head.real_S) for part in two_floats(scores))
    if head.sinks and bias is not None:  # the score of a sink is its bias, exactly
        zero = np.zeros((L, 1))
        high = np.concatenate([high, bias[:, -1:]], 1)
        low, error = np.concatenate([low, zero], 1), np.concatenate([error, zero], 1)
    some = kept.any(1, keepdims=True)
    # the largest score, and its distances: exact but for 2**-100 of the scores' size
    first = np.where(kept, high, -np.inf)
    best = first.max(1, initial=-np.inf, keepdims=True)
    peak_low = np.where(first == best, low, -np.inf).max(1, initial=-np.inf, keepdims=True)
    peak = np.where(some, best, 0.0)
    peak_low = np.where(some, peak_low, 0.0)
    gap = np.maximum((peak - high) + (peak_low - low), 0.0)
    tie = (peak == high) & (peak_low == low)
    slack = np.where(tie, 0.0, 2.0**-100 * (np.abs(high) + np.abs(peak)))
    slack = slack + error + np.max(error, 1, initial=0.0, where=kept, keepdims=True)
    lse_high, lse_low, lse_error = (part[:, None] for part in two_floats(lse))
    log_weight = (high - lse_high) + (low - lse_low)
    log_weight = log_weight + error + lse_error + 2.0**-100 * (np.abs(high) + np.abs(lse_high))
    out, out_low, radius = two_floats(output)
    shape = (L, len(out) // L)
    return {
        "query": floats(head.q),
        "key": floats(head.k),
        "value": floats(head.v),
        "kept": kept,
        "bias_abs": None if bias is None else np.abs(bias) * _UP,
        "drop": np.where(kept, (gap + slack) * _UP, 0.0),
        "drop_low": np.where(kept, np.maximum(gap * (2 - _UP) - slack, 0.0), 0.0),
        "score_abs": (np.abs(high) + error) * _UP,
        "top_abs": np.abs(peak[:, 0]) * _UP + np.max(slack, 1, initial=0.0, where=kept),
        "log_weight": np.where(kept, np.minimum(log_weight, 0.0), -np.inf),
        "lse_abs": np.where(some, np.abs(lse_high) + lse_error, 0.0)[:, 0] * _UP,
        "out": out.reshape(shape),
        "out_low": out_low.reshape(shape),
        "out_radius": radius.reshape(shape),
    }


def floats(x: Exact) -> Floats:
    """The numbers as float64; those that float64 does not hold are rounded."""
    if x.floats is not None:
        return x.floats
    ints = x.ints.ravel().tolist()
    high, low, _ = two_floats(Balls(ints, [0] * len(ints), [x.exp] * len(ints)))
    return (high + low).reshape(x.shape)


def two_floats(balls: Balls) -> tuple[Floats, Floats, Floats]:
    """Each ball as ``high + low`` with a radius that includes what two floats cannot hold.

    `high` holds the first 53 bits, cut off, and `low` the next 53.
    """
    balls = balls.integers()
    size = len(balls.mid)
    high, low, radius = [0.0] * size, [0.0] * size, [0.0] * size
    ldexp = math.ldexp
    for n, (m, r, e) in enumerate(balls):
        try:
            cut = m.bit_length() - 53
            if cut <= 0:
                high[n], rest = ldexp(m, e), 0.0
            else:
                top = m >> cut
                high[n] = ldexp(top, e + cut)
                tail, more = m - (top << cut), cut - 53
                low[n] = ldexp(tail >> more, e + more) if more > 0 else ldexp(tail, e)
                rest = ldexp(1.0, e + more) if more > 0 else 0.0
            if r:
                over = r.bit_length() - 53
                rest += (ldexp((r >> over) + 1, e + over) if over > 0 else ldexp(r, e)) * _UP
            if e < -1074 and (m or r):
                rest += 3 * 2.0**-1074
            radius[n] = rest
        except OverflowError:
            high[n], low[n], radius[n] = math.copysign(_LARGEST, m), 0.0, math.inf
    return np.array(high), np.array(low), np.array(radius)
