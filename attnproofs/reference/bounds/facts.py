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
    drop, drop_low, score, log_weight = (np.zeros((L, S)) for _ in range(4))
    top = np.zeros(L)
    lse_abs = np.zeros(L)
    for i in range(L):
        row = slice(i * head.real_S, (i + 1) * head.real_S)
        mid, rad, exp = scores.mid[row], scores.rad[row], scores.exp[row]
        if head.sinks and head.bias is not None:
            mid, rad, exp = [*mid, int(head.bias.ints[i, -1])], [*rad, 0], [*exp, head.bias.exp]
        if not kept[i].any():
            log_weight[i] = -np.inf
            continue
        low = min(*exp, lse.exp[i])
        exact = [m << (e - low) for m, e in zip(mid, exp)]
        peak = max(m for m, keep in zip(exact, kept[i]) if keep)
        total = lse.mid[i] << (lse.exp[i] - low)
        error = np.array([_float(r, e, 1) for r, e in zip(rad, exp)])
        both = error + np.max(error, initial=0.0, where=kept[i])
        gap = np.array([_float(peak - m, low, 1) for m in exact])
        drop[i] = gap + both
        drop_low[i] = np.maximum(gap * (2 - _UP) - both, 0.0)
        score[i] = np.array([_float(abs(m), low, 1) for m in exact]) + error
        top[i] = _float(abs(peak), low, 1) + both.max()
        lse_error = _float(lse.rad[i], lse.exp[i], 1)
        lse_abs[i] = _float(abs(total), low, 1) + lse_error
        log_weight[i] = np.array([_float(m - total, low, 1) for m in exact]) + error + lse_error
    out, out_low, radius = two_floats(output)
    shape = (L, len(output.mid) // L)
    return {
        "query": floats(head.q),
        "key": floats(head.k),
        "value": floats(head.v),
        "kept": kept,
        "bias_abs": None if head.bias is None else np.abs(floats(head.bias)) * _UP,
        "drop": drop * _UP,
        "drop_low": drop_low,
        "score_abs": score * _UP,
        "top_abs": top * _UP,
        "log_weight": np.minimum(np.where(kept, log_weight, -np.inf), 0.0),
        "lse_abs": lse_abs * _UP,
        "out": out.reshape(shape),
        "out_low": out_low.reshape(shape),
        "out_radius": radius.reshape(shape),
    }


def floats(x: Exact) -> Floats:
    """The numbers as float64; those that float64 does not hold are rounded."""
    if x.floats is not None:
        return x.floats
    flat = [_float(int(n), x.exp, 1) for n in x.ints.ravel().tolist()]
    return np.array(flat, dtype=np.float64).reshape(x.shape)


def _float(num: int, exp: int, den: int) -> float:
    """``num * 2**exp / den`` to a relative error below ``2**-52``; infinite beyond float64."""
    if not num:
        return 0.0
    sign, num = (-1.0, -num) if num < 0 else (1.0, num)
    if den != 1:
        shift = max(0, 64 + den.bit_length() - num.bit_length())
        num, exp = (num << shift) // den, exp - shift
    extra = num.bit_length() - 60
    if extra > 0:
        num, exp = num >> extra, exp + extra
    try:
        return sign * math.ldexp(num, exp)
    except OverflowError:
        return sign * math.inf


def two_floats(balls: Balls) -> tuple[Floats, Floats, Floats]:
    """Each ball as ``high + low`` with a radius that includes what two floats cannot hold."""
    size = len(balls.mid)
    high, low, radius = np.zeros(size), np.zeros(size), np.zeros(size)
    for n, (m, r, e) in enumerate(balls):
        a = _float(m, e, 1)
        if not math.isfinite(a):
            high[n], radius[n] = math.copysign(np.finfo(float).max, a), math.inf
            continue
        num, den = a.as_integer_ratio()
        shift = 1 - den.bit_length() - e
        rest = m - (num << shift) if shift >= 0 else None
        if rest is None:
            m, r, e = m << -shift, r << -shift, e + shift
            rest = m - num
        b = _float(rest, e, 1)
        high[n], low[n] = a, b
        # what `b` drops is below 2**-52 of it, or below the smallest number
        radius[n] = (
            _float(r, e, 1) * _UP + abs(b) * 2.0**-52 + (2.0**-1074 if b or rest or r else 0.0)
        )
    return high, low, radius
