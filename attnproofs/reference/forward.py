"""Scaled dot-product attention as enclosures: the public function and its result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnproofs.errors import InputError, MissingDependency
from attnproofs.reference import core
from attnproofs.reference.enclosure import MAX_BITS, Balls, Enclosure
from attnproofs.reference.inputs import (
    Exact,
    Shapes,
    first_bad,
    position_mask,
    read_array,
    read_bool,
    read_choice,
    read_mask,
    read_offset,
    read_per_head,
    read_precision,
    read_real,
    read_scale,
    read_shapes,
    read_window,
)
from attnproofs.reference.problem import Head

EmptyRows = Literal["zeros", "nan", "error"]
Backend = Literal["auto", "python", "flint"]
_EMPTY = ("zeros", "nan", "error")
_BACKENDS = ("auto", "python", "flint")


class Solved(Protocol):
    """What a backend makes of one head."""

    def output(self) -> Balls:
        """Outputs, row by row."""

    def weights(self) -> Balls:
        """Weights, row by row."""

    def lse(self) -> Balls:
        """Log-sum-exp of each row."""

    def scores(self) -> Balls:
        """Scores, row by row."""


Solve = Callable[[Head, int], Solved]


def choose_backend(backend: str) -> tuple[str, Solve]:
    """Name and function of a backend.

    Raises
    ------
    InputError
        The name is not known.
    MissingDependency
        ``"flint"`` is asked for and python-flint is not installed.
    """
    read_choice("backend", backend, _BACKENDS)
    if backend != "python":
        try:
            from attnproofs.reference.flint_backend import solve
        except ImportError as error:
            if backend == "flint":
                raise MissingDependency(
                    "backend='flint' needs the package python-flint, which is not installed; "
                    "install it with: pip install 'attnproofs[flint]'"
                ) from error
        else:
            return "flint", solve
    return "python", core.solve


@dataclass(frozen=True)
class Call:
    """One call, read and checked: every head as a `Head`, in C order of the leading dimensions."""

    shapes: Shapes
    heads: list[Head]
    keep: NDArray[np.bool_]  # (*full_lead, L, S)


def read_call(
    query: ArrayLike | Exact,
    key: ArrayLike | Exact,
    value: ArrayLike | Exact,
    *,
    attn_mask: ArrayLike | None,
    is_causal: bool,
    causal_offset: int,
    window: Any,
    scale: Any,
    softcap: Any,
    sinks: ArrayLike | None,
    alibi_slopes: ArrayLike | None,
) -> Call:
    """Read all arguments of a call.

    Raises
    ------
    InputError
        Whatever is wrong with them, in one sentence.
    """
    q, k, v = (
        x if isinstance(x, Exact) else Exact(read_array(name, x))
        for name, x in (("query", query), ("key", key), ("value", value))
    )
    shapes = read_shapes(q.shape, k.shape, v.shape)
    L, S = shapes.L, shapes.S
    offset = read_offset("causal_offset", causal_offset)
    exact_scale = read_scale(scale, shapes.E)
    cap = None if softcap is None else read_real("softcap", softcap)
    if cap is not None and cap <= 0:
        raise InputError(f"softcap is {softcap}; expected a number > 0, or None for no soft-cap")
    keep_mask, bias = read_mask(attn_mask, shapes)
    sink = read_per_head("sinks", sinks, shapes)
    slopes = read_per_head("alibi_slopes", alibi_slopes, shapes)
    position = position_mask(L, S, read_bool("is_causal", is_causal), offset, read_window(window))

    full = (*shapes.full_lead, L, S)
    keep = np.ones((), dtype=bool)
    if keep_mask is not None:
        keep = keep & keep_mask
    if position is not None:
        keep = keep & position
    everything = keep.ndim == 0
    keep = np.broadcast_to(keep, full)
    if bias is not None:
        bias = np.broadcast_to(bias, full)
        bad = keep & ~np.isfinite(bias)
        if bad.any():
            index = first_bad(bad)
            raise InputError(
                f"attn_mask, broadcast to {bias.shape}, holds {bias[index]} at index {index}, a "
                "place that no other mask forbids; expected finite numbers, or -inf to forbid"
            )
    q, k, v = _clean(q, k, v, keep, shapes)

    distance = None
    if slopes is not None:
        distance = np.abs(np.arange(L)[:, None] + offset - np.arange(S)[None, :])
    group = shapes.Hq // shapes.Hkv if shapes.Hkv else 1
    heads = []
    q, k, v = (_with_heads(x, shapes) for x in (q, k, v))
    for lead in np.ndindex(*shapes.full_lead):
        *b, h = lead
        mine = None if everything else keep[lead]
        head = Head(
            q=q[_pick(q, b, h)],
            k=k[_pick(k, b, h // group)],
            v=v[_pick(v, b, h // group)],
            keep=mine if mine is None or not mine.all() else None,
            bias=_bias(
                None if bias is None else np.where(keep[lead], bias[lead], 0.0),
                None if slopes is None else float(slopes[lead]),
                distance,
            ),
            scale=exact_scale,
            softcap=cap,
        )
        heads.append(head if sink is None else _with_sink(head, float(sink[lead])))
    return Call(shapes, heads, keep)


def _with_heads(x: Exact, shapes: Shapes) -> Exact:
    """The tensor with a head dimension."""
    return x if shapes.has_heads else x[None]


def _pick(x: Exact, batch: list[int], head: int) -> tuple[int, ...]:
    """Index of one head's matrix, batch dimensions of size 1 repeated."""
    own = x.shape[:-3]
    return (*(0 if n == 1 else b for n, b in zip(own, batch[len(batch) - len(own) :])), head)


def _clean(
    q: Exact, k: Exact, v: Exact, keep: NDArray[np.bool_], shapes: Shapes
) -> tuple[Exact, Exact, Exact]:
    """Zero what no kept pair reads; refuse NaN and infinities that one does."""
    cleaned = []
    group = shapes.Hq // shapes.Hkv if shapes.Hkv else 1
    for name, x, axis in (("query", q, -1), ("key", k, -2), ("value", v, -2)):
        values = x.floats
        if values is None or np.isfinite(values).all():
            cleaned.append(x)
            continue
        used = np.logical_or.reduce(keep, axis=axis)  # (*batch, Hq, rows)
        if name != "query":
            rows = used.shape[-1]
            used = used.reshape(*shapes.batch, shapes.Hkv, group, rows).any(axis=-2)
        if not shapes.has_heads:
            used = used[..., 0, :]
        # a broadcast batch dimension is used if any of its copies is
        lead = values.shape[:-1]
        used = np.logical_or.reduce(used, axis=tuple(range(used.ndim - len(lead))))
        for ax, n in enumerate(lead):
            if n == 1 and used.shape[ax] != 1:
                used = np.logical_or.reduce(used, axis=ax, keepdims=True)
        bad = used[..., None] & ~np.isfinite(values)
        if bad.any():
            index = first_bad(bad)
            raise InputError(
                f"{name} of shape {values.shape} holds {values[index]} at index {index}, which a "
                "kept query-key pair reads; expected finite numbers in every place that the masks "
                "keep"
            )
        cleaned.append(Exact(np.where(np.isfinite(values), values, 0.0)))
    return cleaned[0], cleaned[1], cleaned[2]


def _bias(
    mask: NDArray[np.float64] | None, slope: float | None, distance: NDArray[Any] | None
) -> Exact | None:
    """Additive mask and ALiBi, ``-slope * |i + offset - j|``, as exact numbers."""
    if slope is None or distance is None:
        return None if mask is None else Exact(mask)
    unit = Exact(np.array([-slope]))
    alibi = distance.astype(object) * unit.ints[0]
    if mask is None:
        return Exact(ints=alibi, exp=unit.exp)
    added = Exact(mask)
    exp = min(added.exp, unit.exp)
    return Exact(ints=(added.ints << (added.exp - exp)) + (alibi << (unit.exp - exp)), exp=exp)


def _append(x: Exact, row: NDArray[np.float64], axis: int) -> Exact:
    """The matrix with one more row or column."""
    if x.floats is not None:
        return Exact(np.concatenate([x.floats, row], axis=axis))
    extra = Exact(row)
    exp = min(x.exp, extra.exp)
    parts = [x.ints << (x.exp - exp), extra.ints << (extra.exp - exp)]
    return Exact(ints=np.concatenate(parts, axis=axis), exp=exp)


def _with_sink(head: Head, sink: float) -> Head:
    """The head with a sink as one more key."""
    L, S = head.L, head.S
    bias = head.bias if head.bias is not None else Exact(np.zeros((L, S)))
    keep = head.keep
    return Head(
        q=head.q,
        k=_append(head.k, np.zeros((1, head.k.shape[1])), 0),
        v=_append(head.v, np.zeros((1, head.v.shape[1])), 0),
        keep=None if keep is None else np.concatenate([keep, np.ones((L, 1), dtype=bool)], axis=1),
        bias=_append(bias, np.full((L, 1), sink), 1),
        scale=head.scale,
        softcap=head.softcap,
        sinks=1,
    )


# ---------------------------------------------------------------------------------------------
# result


class _Refiner:
    """Recomputes single rows on Python integers, whatever backend made the enclosure."""

    def __init__(self, heads: list[Head], kind: str, columns: int) -> None:
        self.heads = heads
        self.kind = kind
        self.columns = columns
        capped = any(h.softcap is not None for h in heads)
        self.limit: int | None = MAX_BITS if capped else None

    @cached_property
    def _row(self) -> Callable[[int, int, int], tuple[core.Solution, Balls]]:
        """`_solve_row`, remembering the rows used last."""
        return lru_cache(maxsize=8)(self._solve_row)

    def _solve_row(self, n: int, i: int, bits: int) -> tuple[core.Solution, Balls]:
        solution = core.Solution(self.heads[n].row(i), bits)
        balls: Balls = getattr(solution, self.kind)()
        return solution, balls

    def _place(self, index: int) -> tuple[int, int, int]:
        row, column = divmod(index, self.columns)
        return (*divmod(row, self.heads[0].L), column)

    def ball(self, index: int, bits: int) -> tuple[int, int, int]:
        """Ball of one element."""
        n, i, column = self._place(index)
        _, balls = self._row(n, i, bits)
        return balls.mid[column], balls.rad[column], balls.exp[column]

    def compare(self, index: int, c: Fraction, bits: int) -> int | None:
        """Sign of the element minus `c`."""
        n, i, column = self._place(index)
        solution, _ = self._row(n, i, bits)
        sign: int | None = getattr(solution, f"compare_{self.kind}")(0, column, c)
        return sign


@dataclass(frozen=True)
class Attention:
    """Result of `attention`: four enclosures, computed when they are first used.

    Attributes
    ----------
    output : Enclosure
        ``weights @ value``, shape (..., Hq, L, Ev).
    weights : Enclosure
        Softmax of the scores, shape (..., Hq, L, S); exactly 0 where masked.
    lse : Enclosure
        Log-sum-exp of the scores (natural logarithm), shape (..., Hq, L); -inf in an empty row.
    scores : Enclosure
        Scaled, soft-capped and biased scores, shape (..., Hq, L, S); -inf where masked.
    keep : bool array
        Query-key pairs that the masks keep, shape (..., Hq, L, S).
    backend : str
        ``"python"`` or ``"flint"``.
    bits : int
        Precision asked for, in bits.
    """

    output: Enclosure
    weights: Enclosure
    lse: Enclosure
    scores: Enclosure
    keep: NDArray[np.bool_]
    backend: str
    bits: int

    def __repr__(self) -> str:
        return (
            f"Attention(output={self.output.shape}, weights={self.weights.shape}, "
            f"backend={self.backend!r}, bits={self.bits})"
        )


def attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    *,
    attn_mask: ArrayLike | None = None,
    is_causal: bool = False,
    causal_offset: int = 0,
    window: tuple[int | None, int | None] | None = None,
    scale: Any = None,
    softcap: Any = None,
    sinks: ArrayLike | None = None,
    alibi_slopes: ArrayLike | None = None,
    empty_rows: EmptyRows = "zeros",
    precision: int | str = "50 digits",
    backend: Backend = "auto",
) -> Attention:
    r"""Scaled dot-product attention with proved error radii.

    .. math:: o_i = \sum_j p_{ij} v_j, \quad p_{ij} = \frac{e^{s_{ij}}}{\sum_l e^{s_{il}}}, \quad
              s_{ij} = c \tanh(\tau\, q_i \cdot k_j / c) + b_{ij}

    The inputs are the dyadic numbers actually passed: a float32 array means exactly the numbers it
    holds. Nothing is rounded before the exponential.

    Parameters
    ----------
    query : array-like, shape (..., Hq, L, E) or (L, E)
        float64, float32, float16, bfloat16, float8_e4m3fn, float8_e5m2 or integers.
    key : array-like, shape (..., Hkv, S, E) or (S, E)
        ``Hq`` must be a multiple of ``Hkv``; query head ``h`` reads key head ``h // (Hq / Hkv)``.
    value : array-like, shape (..., Hkv, S, Ev) or (S, Ev)
        Batch dimensions of the three broadcast.
    attn_mask : array-like, optional
        Broadcasts to (..., Hq, L, S). Boolean: True means may attend. Floating: added to the
        scores after scale and soft-cap; -inf forbids.
    is_causal : bool
        Query `i` sees the keys ``j <= i + causal_offset``; combines with the mask by "and".
    causal_offset : int
        Position of query 0 among the keys, for `is_causal`, `window` and `alibi_slopes`: 0 aligns
        the top left corners, ``S - L`` the bottom right ones.
    window : pair of int or None, optional
        ``(left, right)``: keys from ``i + causal_offset - left`` to ``i + causal_offset + right``,
        both ends included; None is unbounded.
    scale : float, int or Fraction, optional
        Exactly this number. None means the real number ``1 / sqrt(E)``, not a float near it.
    softcap : float, optional
        Exactly this number ``c > 0``; None for no soft-cap.
    sinks : array-like, optional
        Broadcasts to (..., Hq). One more score a head, which takes weight and gives nothing.
    alibi_slopes : array-like, optional
        Broadcasts to (..., Hq). Adds ``-slope * |i + causal_offset - j|`` to the scores.
    empty_rows : {"zeros", "nan", "error"}
        Output and weights of a query that no key is kept for: 0, NaN, or an `InputError`. Its
        log-sum-exp is -inf. With a sink no row is empty: the sink takes all weight.
    precision : int or str
        Bits, as an integer or "N bits"; or "N digits". Weights are known to within
        ``2**-bits``, outputs to within that times the largest magnitude of a kept value in
        their column, lse and scores to within that times the larger of 1 and their own size.
        Rounding with `Enclosure.round_to` does not depend on it.
    backend : {"auto", "python", "flint"}
        Python integers, or ball arithmetic of python-flint; "auto" takes flint if installed.

    Returns
    -------
    Attention
        Enclosures `output`, `weights`, `lse`, `scores`, with the boolean array `keep`.

    Raises
    ------
    InputError
        Shapes, types or options that do not fit, or NaN or an infinity that a kept pair reads.
        What masks hide may hold anything.
    MissingDependency
        ``backend="flint"`` without python-flint.

    References
    ----------
    .. [1] A. Vaswani et al., "Attention is all you need", NeurIPS 2017, eq. (1).
    .. [2] F. Johansson, "Arb: efficient arbitrary-precision midpoint-radius interval arithmetic",
       IEEE Trans. Comput. 66 (2017).

    Examples
    --------
    Two keys with scores 1 and 0 (``E = 1``, so the scale is 1):

    >>> r = attention([[1.0]], [[1.0], [0.0]], [[1.0], [0.0]])
    >>> r.weights.round_to("float64")
    array([[0.73105858, 0.26894142]])
    >>> r.output.decimal(30)[0, 0]
    '0.731058578630004879251159241822'

    Equal scores give equal weights, exactly:

    >>> r = attention([[0.0]], [[3.0], [4.0]], [[1.0], [2.0]])
    >>> r.weights.midpoint.tolist(), r.output.radius.tolist()
    ([[Fraction(1, 2), Fraction(1, 2)]], [[Fraction(0, 1)]])

    Masked places may hold anything:

    >>> r = attention([[1.0]], [[1.0], [float("nan")]], [[5.0], [7.0]], attn_mask=[[True, False]])
    >>> r.output.round_to("float32")
    array([[5.]], dtype=float32)
    """
    read_choice("empty_rows", empty_rows, _EMPTY)
    bits = read_precision(precision)
    name, solve = choose_backend(backend)
    call = read_call(
        query,
        key,
        value,
        attn_mask=attn_mask,
        is_causal=is_causal,
        causal_offset=causal_offset,
        window=window,
        scale=scale,
        softcap=softcap,
        sinks=sinks,
        alibi_slopes=alibi_slopes,
    )
    return result(call, bits, name, solve, empty_rows)


def result(call: Call, bits: int, name: str, solve: Solve, empty_rows: str) -> Attention:
    """Enclosures of a call that has been read."""
    shapes, heads = call.shapes, call.heads
    L, S, Ev = shapes.L, shapes.S, shapes.Ev
    sunk = bool(heads) and heads[0].sinks > 0
    empty: NDArray[np.bool_] = ~np.any(call.keep, axis=-1)  # (*full_lead, L)
    if empty_rows == "error" and empty.any() and not sunk:
        raise InputError(
            f"no key is kept for the query at index {first_bad(empty)} of (..., Hq, L) = "
            f"{empty.shape}; expected one at least, since empty_rows='error'"
        )
    solved = lru_cache(maxsize=None)(lambda n: solve(heads[n], bits))

    def enclosure(kind: str, columns: int | None, special: NDArray[np.float64] | None) -> Enclosure:
        def load() -> list[Balls]:
            return [getattr(solved(n), kind)() for n in range(len(heads))]

        shape = (*shapes.lead, L) if columns is None else (*shapes.lead, L, columns)
        refiner = _Refiner(heads, kind, 1 if columns is None else columns) if heads else None
        flat = None if special is None else np.ascontiguousarray(special).ravel()
        return Enclosure(shape, load, flat, refiner)

    fill = np.nan if empty_rows == "nan" else 0.0
    hole = None
    if fill != 0.0 and empty.any() and not sunk:
        hole = np.where(empty, fill, 0.0)[..., None]
    masked = None if call.keep.all() else np.where(call.keep, 0.0, -np.inf)
    return Attention(
        output=enclosure("output", Ev, _spread(hole, (*empty.shape, Ev))),
        weights=enclosure("weights", S, _spread(hole, (*empty.shape, S))),
        lse=enclosure(
            "lse", None, np.where(empty, -np.inf, 0.0) if empty.any() and not sunk else None
        ),
        scores=enclosure("scores", S, masked),
        keep=call.keep if shapes.has_heads else call.keep[..., 0, :, :],
        backend=name,
        bits=bits,
    )


def _spread(x: NDArray[np.float64] | None, shape: tuple[int, ...]) -> NDArray[np.float64] | None:
    """Broadcast, where there is something."""
    return None if x is None else np.broadcast_to(x, shape)
