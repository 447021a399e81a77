"""Floating-point attention, one rounding at a time, for a declared precision model.

Each call is one program of a model's class: it makes every rounding explicitly, in a chosen
format, algorithm and order of summation. It exists to put the bound of
`attnproofs.reference.bounds` to the test and to show what a 16-bit kernel does where no such
kernel can run. It is an emulation: slow, and accurate to the last rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnproofs.errors import InputError
from attnproofs.reference.bounds.models import PrecisionModel, model
from attnproofs.reference.formats import Format, get_format

Floats = NDArray[np.float64]

#: How the softmax is organised.
ALGORITHMS = (
    "weights-first",
    "divide-last",
    "online",
    "online-renormalised",
    "exp-of-lse",
    "merged",
)

#: The order in which a sum is formed.
ORDERS = ("sequential", "reversed", "pairwise", "strided", "fused")

_LOG2E = 1.4426950408889634


def round_array(x: ArrayLike, fmt: str | Format, *, truncate: bool = False) -> Floats:
    """Numbers of a format nearest to float64 numbers (ties to even), as float64.

    Parameters
    ----------
    x
        float64 numbers.
    fmt
        Name of the format.
    truncate
        Round toward zero instead.

    Examples
    --------
    >>> round_array([1.01, 65520.0], "float16")
    array([1.00976562,        inf])
    """
    fmt = get_format(fmt)
    x = np.asarray(x, dtype=np.float64)
    if fmt.name == "float64":
        return x
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        if fmt.name in ("float32", "float16") and not truncate:
            return x.astype(fmt.name).astype(np.float64)
        exponent = np.frexp(x)[1]
        step = np.maximum(exponent, fmt.emin + 1) - fmt.precision
        units = np.ldexp(x, -step)
        rounded = np.ldexp(np.trunc(units) if truncate else np.rint(units), step)
    beyond = np.inf if fmt.has_infinity else np.nan
    if truncate:
        beyond = fmt.largest_finite
    rounded = np.where(np.abs(rounded) > fmt.largest_finite, np.copysign(beyond, x), rounded)
    return np.where(np.isfinite(x), rounded, x)


@dataclass(frozen=True)
class Program:
    """One program of a class: an algorithm, an order of summation and an `exp`.

    Attributes
    ----------
    algorithm
        One of `ALGORITHMS`.
    order
        One of `ORDERS`, for every sum.
    exp_bias
        Relative error of every `exp` in units of the accumulation's unit roundoff; the result is
        then rounded.
    base_two
        Compute powers of two with ``fma(score, c, -round(max * c))``.
    scale_on
        ``"scores"``, ``"query"`` or ``"both"`` (the square root on query and key).
    reciprocal
        Multiply by the rounded reciprocal of the sum instead of dividing.
    backwards
        Visit the tiles from last to first.
    one_by_one
        ``"merged"`` only: add one part after the other to the result, instead of all at once.
    flush
        Replace subnormal results of the accumulation by zero.
    recompute
        Backward only: weights are ``exp(score - log_sum_exp)``, from scores that are summed in
        another order.
    row_term
        Backward only: ``sum_l p_l dp_l`` from the ``"output"`` or from the ``"weights"``.
    """

    algorithm: str = "divide-last"
    order: str = "sequential"
    exp_bias: float = 0.0
    base_two: bool = False
    scale_on: str = "scores"
    reciprocal: bool = False
    backwards: bool = False
    one_by_one: bool = False
    flush: bool = False
    recompute: bool = False
    row_term: str = "output"

    def __post_init__(self) -> None:
        for name, value, known in (
            ("algorithm", self.algorithm, ALGORITHMS),
            ("order", self.order, ORDERS),
            ("scale_on", self.scale_on, ("scores", "query", "both")),
            ("row_term", self.row_term, ("output", "weights")),
        ):
            if value not in known:
                raise InputError(f"{name}: unknown {value!r}; expected one of {', '.join(known)}")


class _Arithmetic:
    """Arithmetic that rounds each result, and sums in a chosen order."""

    def __init__(self, model: PrecisionModel, program: Program) -> None:
        self.model, self.program = model, program
        self.fmt = get_format(model.accumulate)

    def round(self, x: ArrayLike) -> Floats:
        rounded = round_array(x, self.fmt, truncate=self.model.truncating)
        if self.program.flush:
            rounded = np.where(np.abs(rounded) < 2.0**self.fmt.emin, 0.0, rounded)
        return rounded

    def store(self, x: Floats, fmt: str | None) -> Floats:
        return x if fmt is None else round_array(x, fmt)

    def exp(self, x: Floats) -> Floats:
        power = np.exp2 if self.program.base_two else np.exp
        exact = power(x)
        wrong = exact * (1 + self.program.exp_bias * self.model.unit)
        return self.round(np.where(x == 0, exact, wrong))

    def sum(self, x: Floats) -> Floats:
        """Sum over the last axis."""
        n = x.shape[-1]
        if n == 0:
            return np.zeros(x.shape[:-1])
        if self.program.order == "pairwise":
            while x.shape[-1] > 1:
                even = x.shape[-1] // 2 * 2
                rest = x[..., even:]
                x = np.concatenate([self.round(x[..., 0:even:2] + x[..., 1:even:2]), rest], -1)
            return x[..., 0]
        if self.program.order == "strided" and n > 4:
            lanes = [self._fold(x[..., i::4]) for i in range(4)]
            return self._fold(np.stack(lanes, -1))
        return self._fold(x[..., ::-1] if self.program.order == "reversed" else x)

    def _fold(self, x: Floats) -> Floats:
        total = x[..., 0]
        for i in range(1, x.shape[-1]):
            total = self.round(total + x[..., i])
        return total

    def dot(self, x: Floats, y: Floats) -> Floats:
        """Sum of products over the last axis."""
        if self.program.order != "fused":
            return self.sum(self.round(x * y))
        total = np.zeros(np.broadcast_shapes(x.shape, y.shape)[:-1])
        for i in range(x.shape[-1]):
            total = self.round(total + x[..., i] * y[..., i])
        return total


def emulate(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    *,
    model: str | PrecisionModel,
    program: Program | None = None,
    kept: NDArray[np.bool_] | None = None,
    bias: ArrayLike | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    sink: float | None = None,
) -> Floats:
    """Attention of one head as a program of the model would compute it.

    Parameters
    ----------
    query, key, value
        Shapes (L, E), (S, E), (S, Ev), numbers of the model's input format.
    model
        Precision model, or its name.
    program
        Which program of the class; the default is the two-pass algorithm, summed in order.
    kept
        Boolean (L, S): the keys that each query may attend to; at least one a row.
    bias
        Additive mask (L, S).
    scale
        Default ``1/sqrt(E)``.
    softcap
        ``C`` of ``C * tanh(score / C)``.
    sink
        One more score a row, which takes weight and gives nothing.

    Returns
    -------
    ndarray of float64, shape (L, Ev)
        Numbers of the model's output format.

    Examples
    --------
    >>> import numpy as np
    >>> q = k = np.zeros((3, 4)); v = np.ones((3, 2))
    >>> emulate(q, k, v, model="fa2-bf16").tolist()
    [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]
    """
    model_ = _model(model)
    program = program or Program()
    q, k, v = (np.asarray(x, dtype=np.float64) for x in (query, key, value))
    if q.ndim != 2 or k.ndim != 2 or v.ndim != 2 or q.shape[1] != k.shape[1] or len(k) != len(v):
        raise InputError(
            f"query {q.shape}, key {k.shape}, value {v.shape}: expected (L, E), (S, E), (S, Ev)"
        )
    keep = (
        np.ones((len(q), len(k)), bool) if kept is None else np.broadcast_to(kept, (len(q), len(k)))
    )
    if sink is None and not keep.any(-1).all():
        raise InputError("kept: a row keeps no key; expected at least one")
    if model_.sum_of_stored and program.algorithm in ("weights-first", "exp-of-lse"):
        raise InputError(
            f"program: {program.algorithm} is no program of the model {model_.name}, which adds up "
            "the stored weights that multiply the values; use divide-last or online"
        )
    ar = _Arithmetic(model_, program)
    with np.errstate(all="ignore"):
        if model_.casts:
            q, k, v = ar.round(q), ar.round(k), ar.round(v)
        scores, base = _scores(
            ar,
            q,
            k,
            bias=bias,
            scale=float(1 / np.sqrt(q.shape[1]) if scale is None else scale),
            softcap=softcap,
            alone=bias is None and softcap is None and sink is None,
        )
        if sink is not None:  # like one more key of value zero; its score is not scaled
            extra = np.full((len(q), 1), float(ar.round(sink)))
            scores = np.concatenate([scores, extra], 1)
            keep = np.concatenate([keep, np.ones((len(q), 1), bool)], 1)
            v = np.concatenate([v, np.zeros((1, v.shape[1]))])
        if program.algorithm == "merged":
            out = _merged(ar, scores, keep, v)
        elif program.algorithm.startswith("online"):
            out = _online(ar, scores, base, keep, v)
        else:
            out = _two_pass(ar, scores, base, keep, v)
        return round_array(out, model_.output)


def emulate_gradients(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    grad_out: ArrayLike,
    *,
    model: str | PrecisionModel,
    program: Program | None = None,
    kept: NDArray[np.bool_] | None = None,
    bias: ArrayLike | None = None,
    scale: float | None = None,
    softcap: float | None = None,
) -> tuple[Floats, Floats, Floats]:
    """Gradients of one head as a program of the model would compute them.

    Parameters
    ----------
    query, key, value, model, program, kept, bias, scale, softcap
        As for `emulate`.
    grad_out
        Gradient by the output, shape (L, Ev), numbers of the model's input format.

    Returns
    -------
    tuple of ndarray
        ``dq`` (L, E), ``dk`` (S, E), ``dv`` (S, Ev), numbers of the model's output format.

    Examples
    --------
    >>> import numpy as np
    >>> q = np.zeros((1, 1)); k = np.array([[1.0], [3.0]]); v = np.array([[1.0], [2.0]])
    >>> dq, dk, dv = emulate_gradients(q, k, v, [[1.0]], model="float32")
    >>> dq.tolist(), dv.tolist()
    ([[0.5]], [[0.5], [0.5]])
    """
    model_ = _model(model)
    program = program or Program()
    q, k, v, g = (np.asarray(x, dtype=np.float64) for x in (query, key, value, grad_out))
    out = emulate(
        q, k, v, model=model_, program=program, kept=kept, bias=bias, scale=scale, softcap=softcap
    )
    keep = np.ones((len(q), len(k)), bool) if kept is None else np.asarray(kept, bool)
    factor = float(1 / np.sqrt(q.shape[1]) if scale is None else scale)
    ar = _Arithmetic(model_, program)
    narrow = model_.weights_stored
    both = narrow if model_.scores_stored is not None else None
    with np.errstate(all="ignore"):
        if model_.casts:
            q, k, v, g = ar.round(q), ar.round(k), ar.round(v), ar.round(g)
        w = _backward_weights(ar, q, k, keep, bias=bias, scale=factor, softcap=softcap)
        w = ar.store(w, both)
        dp = ar.store(ar.dot(g[:, None, :], v[None, :, :]), both)
        if program.row_term == "output":
            d = ar.dot(g, out)[:, None]
        else:
            d = ar.sum(ar.round(w * np.where(keep, dp, 0.0)))[:, None]
        if program.reciprocal:
            ds = ar.round(ar.round(w * dp) - ar.round(w * d))
        else:
            ds = ar.round(w * ar.round(dp - d))
        ds = ar.store(np.where(keep, ds, 0.0), both)
        if softcap is not None:
            x, _ = _scores(ar, q, k, bias=None, scale=factor, softcap=softcap, alone=False)
            t = ar.store(ar.round(x / softcap), both)
            ds = ar.store(ar.round(ds * ar.round(1 - ar.round(t * t))), both)
        tau = float(ar.round(factor))
        early = program.scale_on == "scores"
        ds = ar.store(ar.round(ds * tau) if early else ds, narrow)
        dq, dk = ar.dot(ds[:, None, :], k.T[None]), ar.dot(ds.T[:, None, :], q.T[None])
        if not early:
            dq, dk = ar.round(dq * tau), ar.round(dk * tau)
        dv = ar.dot(ar.store(w, narrow).T[:, None, :], g.T[None])
        return tuple(round_array(x, model_.output) for x in (dq, dk, dv))  # type: ignore[return-value]  # three


def _backward_weights(
    ar: _Arithmetic,
    q: Floats,
    k: Floats,
    keep: NDArray[np.bool_],
    *,
    bias: ArrayLike | None,
    scale: float,
    softcap: float | None,
) -> Floats:
    """Weights by division, or from the log-sum-exp of scores summed in another order."""
    alone = bias is None and softcap is None
    x, base = _scores(ar, q, k, bias=bias, scale=scale, softcap=softcap, alone=alone)
    top = np.where(keep, x, -np.inf).max(-1, keepdims=True)
    e = np.where(keep, ar.exp(_shifted(ar, x, top, base)), 0.0)
    total = ar.sum(e)[:, None]
    if not ar.program.recompute:
        return np.where(keep, ar.round(e / total), 0.0)
    natural = base / _LOG2E if ar.program.base_two else 1.0
    peak = ar.round(top * float(ar.round(natural))) if natural != 1.0 else top
    lse = ar.round(peak + ar.round(np.log(total)))
    turned = "reversed" if ar.program.order == "sequential" else "sequential"
    again = _Arithmetic(ar.model, replace(ar.program, order=turned))
    x, base = _scores(again, q, k, bias=bias, scale=scale, softcap=softcap, alone=alone)
    if ar.program.base_two:
        shifted = ar.round(x * base - ar.round(lse * float(ar.round(_LOG2E))))
    else:
        shifted = ar.round(x - lse)
    return np.where(keep, ar.exp(shifted), 0.0)


_model = model


def _scores(
    ar: _Arithmetic,
    q: Floats,
    k: Floats,
    *,
    bias: ArrayLike | None,
    scale: float,
    softcap: float | None,
    alone: bool,
) -> tuple[Floats, float]:
    """Scores, and the factor still to be applied inside the exponential.

    That factor includes the scale where the product is all that there is (`alone`).
    """
    m, program = ar.model, ar.program
    factor = float(ar.round(np.float64(scale)))
    if m.scores_stored is not None and program.scale_on == "query":
        factor = float(ar.store(np.asarray(factor), m.scores_stored))
    if program.scale_on == "query":
        q = ar.store(ar.round(q * factor), m.scores_stored)
    elif program.scale_on == "both":
        root = float(ar.round(np.sqrt(np.float64(scale))))
        q, k = (ar.store(ar.round(x * root), m.scores_stored) for x in (q, k))
    x = ar.store(ar.dot(q[:, None, :], k[None, :, :]), m.scores_stored)
    if program.base_two and alone and program.scale_on == "scores" and m.scores_stored is None:
        return x, float(ar.round(np.float64(factor * _LOG2E)))
    if program.scale_on == "scores":
        x = ar.store(ar.round(x * factor), m.scores_stored)
    if softcap is not None:
        x = ar.store(ar.round(x / softcap), m.scores_stored)
        x = ar.store(ar.round(np.tanh(x)), m.scores_stored)
        x = ar.store(ar.round(x * softcap), m.scores_stored)
    if bias is not None:
        x = ar.store(ar.round(x + ar.round(np.asarray(bias, np.float64))), m.scores_stored)
    return x, float(ar.round(np.float64(_LOG2E))) if program.base_two else 1.0


def _shifted(ar: _Arithmetic, x: Floats, top: Floats, base: float) -> Floats:
    """Argument of the exponential."""
    if ar.program.base_two:
        return ar.round(x * base - ar.round(top * base))  # fused multiply-add
    return ar.round(x - top)


def _two_pass(
    ar: _Arithmetic, x: Floats, base: float, keep: NDArray[np.bool_], v: Floats
) -> Floats:
    m = ar.model
    top = np.where(keep, x, -np.inf).max(-1, keepdims=True)
    e = np.where(keep, ar.exp(_shifted(ar, x, top, base)), 0.0)
    total = ar.sum(_store_weights(ar, e) if m.sum_of_stored else e)[:, None]
    if ar.program.algorithm == "exp-of-lse":
        if ar.program.base_two:
            raise InputError("base_two: exp-of-lse is emulated with base e only")
        lse = ar.round(top + ar.round(np.log(total)))
        weights = np.where(keep, ar.exp(ar.round(x - lse)), 0.0)
        return _apply(ar, weights, v)
    if ar.program.algorithm == "weights-first":
        weights = (
            ar.round(e * ar.round(1 / total)) if ar.program.reciprocal else ar.round(e / total)
        )
        return _apply(ar, weights, v)
    return _divide(ar, _apply(ar, e, v), total)


def _store_weights(ar: _Arithmetic, w: Floats) -> Floats:
    m = ar.model
    if m.weights_stored is None:
        return w
    return np.ldexp(round_array(np.ldexp(w, m.weights_scale), m.weights_stored), -m.weights_scale)


def _apply(ar: _Arithmetic, w: Floats, v: Floats) -> Floats:
    return ar.dot(_store_weights(ar, w)[:, None, :], v.T[None, :, :])


def _divide(ar: _Arithmetic, numerator: Floats, total: Floats) -> Floats:
    if ar.program.reciprocal:
        return ar.round(numerator * ar.round(1 / total))
    return ar.round(numerator / total)


def _merged(ar: _Arithmetic, x: Floats, keep: NDArray[np.bool_], v: Floats) -> Floats:
    """Parts of the keys, each normalised by itself, merged by their log-sum-exp."""
    if ar.program.base_two:
        raise InputError("base_two: merged is emulated with base e only")
    outs, lses = [], []
    for part in np.array_split(np.arange(x.shape[1]), max(1, ar.model.merged_parts)):
        if not len(part):
            continue
        some = keep[:, part].any(-1, keepdims=True)
        own = np.where(keep[:, part], x[:, part], -np.inf).max(-1, keepdims=True)
        own = np.where(some, own, 0.0)
        e = np.where(keep[:, part], ar.exp(ar.round(x[:, part] - own)), 0.0)
        total = ar.sum(_store_weights(ar, e) if ar.model.sum_of_stored else e)[:, None]
        total = np.where(some, total, 1.0)
        outs.append(_divide(ar, _apply(ar, e, v[part]), total))
        lses.append(np.where(some, ar.round(own + ar.round(np.log(total))), -np.inf))
    if not ar.program.one_by_one:
        return _add_parts(ar, outs, lses)[0]
    out, lse = outs[0], lses[0]
    for other, its in zip(outs[1:], lses[1:]):
        out, lse = _add_parts(ar, [out, other], [lse, its])
    return out


def _add_parts(ar: _Arithmetic, outs: list[Floats], lses: list[Floats]) -> tuple[Floats, Floats]:
    """Output and log-sum-exp of several parts together."""
    top = np.max(lses, axis=0)
    safe = np.where(np.isfinite(top), top, 0.0)
    e = [ar.exp(ar.round(part - safe)) for part in lses]
    total = ar.sum(np.concatenate(e, -1))[:, None]
    lse = np.where(np.isfinite(top), ar.round(safe + ar.round(np.log(total))), -np.inf)
    if ar.program.reciprocal:  # divide by the sum of the factors
        products = np.stack([ar.round(a * b) for a, b in zip(e, outs)], -1)
        return np.where(total > 0, ar.round(ar.sum(products) / total), 0.0), lse
    base = np.where(np.isfinite(lse), lse, 0.0)
    factors = [ar.exp(ar.round(part - base)) for part in lses]
    return ar.sum(np.stack([ar.round(a * b) for a, b in zip(factors, outs)], -1)), lse


def _factor(ar: _Arithmetic, gap: Floats, base: float) -> Floats:
    """Factor by which a tile's numbers change when the running maximum does."""
    gap = ar.round(gap)
    return ar.exp(ar.round(gap * base) if ar.program.base_two else gap)


def _online(ar: _Arithmetic, x: Floats, base: float, keep: NDArray[np.bool_], v: Floats) -> Floats:
    """One pass over tiles of keys with a running maximum, sum and output."""
    size = ar.model.tile or x.shape[1]
    starts = list(range(0, x.shape[1], size))
    top = np.full((len(x), 1), -np.inf)
    total = np.zeros((len(x), 1))
    out = np.zeros((len(x), v.shape[1]))
    renormalised = ar.program.algorithm == "online-renormalised"
    # the scores are still to be multiplied by `base`, in base 2 where that is used
    lag = ar.model.shift_slack / (base / _LOG2E if ar.program.base_two else 1.0)
    for start in reversed(starts) if ar.program.backwards else starts:
        tile = slice(start, start + size)
        some = keep[:, tile].any(-1, keepdims=True)
        own = np.where(keep[:, tile], x[:, tile], -np.inf).max(-1, keepdims=True)
        new = np.maximum(top, own)
        if lag:  # leave the maximum where it is until the new one is well above
            new = np.where(np.isfinite(top) & (own - top <= lag), top, new)
        first = ~np.isfinite(top)
        alpha = np.where(first, 0.0, _factor(ar, np.where(first, 0.0, top - new), base))
        shift_by = own if renormalised else new
        e = np.where(keep[:, tile], ar.exp(_shifted(ar, x[:, tile], shift_by, base)), 0.0)
        part = ar.sum(_store_weights(ar, e) if ar.model.sum_of_stored else e)[:, None]
        product = _apply(ar, e, v[tile])
        if renormalised:
            beta = np.where(some, _factor(ar, np.where(some, own - new, 0.0), base), 0.0)
            old = ar.round(alpha * total)
            grown = ar.round(old + ar.round(beta * part))
            step = ar.round(ar.round(old * out) + ar.round(beta * product))
            out = np.where(some, ar.round(step / grown), out)
            total = np.where(some, grown, total)
        else:
            total = np.where(some, ar.round(ar.round(alpha * total) + part), total)
            out = np.where(some, ar.round(ar.round(alpha * out) + product), out)
        top = np.where(some, new, top)
    return out if renormalised else _divide(ar, out, total)
