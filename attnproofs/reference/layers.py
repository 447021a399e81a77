"""Softmax, step-by-step decoding and multi-head attention on top of `attention`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from attnproofs.errors import InputError
from attnproofs.reference.core import Solution
from attnproofs.reference.enclosure import MAX_BITS, Balls, Enclosure
from attnproofs.reference.exponentials import Sum, mean, read_row
from attnproofs.reference.fixed import matmul
from attnproofs.reference.forward import (
    Attention,
    Backend,
    EmptyRows,
    attention,
    choose_backend,
    read_call,
    result,
)
from attnproofs.reference.inputs import (
    Exact,
    first_bad,
    read_array,
    read_choice,
    read_offset,
    read_precision,
    require_finite,
)
from attnproofs.reference.problem import Head


def softmax(
    scores: ArrayLike,
    *,
    axis: int = -1,
    empty_rows: EmptyRows = "zeros",
    precision: int | str = "50 digits",
    backend: Backend = "auto",
) -> Enclosure:
    """Softmax along one axis, as an enclosure.

    Parameters
    ----------
    scores : array-like, at least one dimension
        Finite numbers; -inf gives weight 0.
    axis : int
        Axis along which the weights sum to 1.
    empty_rows, precision, backend
        As in `attention`; a row is empty if all its scores are -inf.

    Returns
    -------
    Enclosure
        Of the shape of `scores`.

    Raises
    ------
    InputError
        NaN or +inf among the scores, an axis that does not exist, no dimension at all.

    Examples
    --------
    >>> softmax([0.0, 0.0, float("-inf")]).round_to("float64")
    array([0.5, 0.5, 0. ])
    """
    x = read_array("scores", scores)
    if not x.ndim:
        raise InputError("scores has shape (); expected at least one dimension")
    if not -x.ndim <= read_offset("axis", axis) < x.ndim:
        raise InputError(f"axis is {axis}; scores of shape {x.shape} has {x.ndim} dimensions")
    bad = ~(np.isfinite(x) | (x == -np.inf))
    if bad.any():
        raise InputError(
            f"scores of shape {x.shape} holds {x[bad][0]}; expected finite numbers or -inf"
        )
    last = np.moveaxis(x, axis, -1)
    S = last.shape[-1]
    rows = last.size // S if S else 0
    weights = attention(
        np.zeros((rows, 1)),
        np.zeros((S, 1)),
        np.zeros((S, 0)),
        attn_mask=last.reshape(rows, S),
        empty_rows=empty_rows,
        precision=precision,
        backend=backend,
    ).weights
    places = np.arange(x.size).reshape(last.shape)
    return weights._take(np.moveaxis(places, -1, axis))


def decode(
    queries: ArrayLike,
    keys: ArrayLike,
    values: ArrayLike,
    *,
    scale: Any = None,
    softcap: Any = None,
    sinks: ArrayLike | None = None,
    precision: int | str = "50 digits",
    backend: Backend = "auto",
) -> Attention:
    """All outputs of step-by-step causal decoding with a key-value cache.

    Step `t` appends one key and one value to the cache and asks with one query, so its output is
    that of causal attention. With more keys than queries the first ``S - L`` are in the cache
    before the first step.

    Parameters
    ----------
    queries : array-like, shape (..., Hq, L, E) or (L, E)
        One query a step.
    keys, values : array-like, shapes (..., Hkv, S, E) and (..., Hkv, S, Ev), or without heads
        ``S >= L``: the cache after the last step.
    scale, softcap, sinks, precision, backend
        As in `attention`.

    Returns
    -------
    Attention
        Row `t` of `output` is what step `t` gives.

    Raises
    ------
    InputError
        As `attention`; or fewer keys than queries.

    Examples
    --------
    >>> decode([[0.0], [0.0]], [[1.0], [2.0]], [[4.0], [6.0]]).output.round_to("float64").tolist()
    [[4.0], [5.0]]
    """
    q, k = read_array("queries", queries), read_array("keys", keys)
    v = read_array("values", values)
    offset = k.shape[-2] - q.shape[-2] if q.ndim >= 2 and k.ndim >= 2 else 0
    if offset < 0:
        raise InputError(
            f"queries has shape {q.shape} and keys {k.shape}: more steps than keys; expected "
            "one key for each step at least, as each step appends one"
        )
    return attention(
        q,
        k,
        v,
        is_causal=True,
        causal_offset=offset,
        scale=scale,
        softcap=softcap,
        sinks=sinks,
        precision=precision,
        backend=backend,
    )


# ---------------------------------------------------------------------------------------------
# multi-head attention


def multi_head(  # noqa: PLR0917  # the six arrays in the order of the formula
    x_query: ArrayLike,
    x_source: ArrayLike,
    W_Q: ArrayLike,
    W_K: ArrayLike,
    W_V: ArrayLike,
    W_O: ArrayLike,
    *,
    num_heads: int,
    attn_mask: ArrayLike | None = None,
    is_causal: bool = False,
    causal_offset: int = 0,
    b_Q: ArrayLike | None = None,
    b_K: ArrayLike | None = None,
    b_V: ArrayLike | None = None,
    b_O: ArrayLike | None = None,
    scale: Any = None,
    empty_rows: EmptyRows = "zeros",
    precision: int | str = "50 digits",
    backend: Backend = "auto",
) -> Attention:
    r"""Multi-head attention: projections, attention, and the output projection, as one enclosure.

    .. math:: Q = X W_Q + b_Q,\ K = Y W_K + b_K,\ V = Y W_V + b_V,\quad
              O = [\mathrm{head}_1, \ldots, \mathrm{head}_h]\, W_O + b_O

    Vectors are rows. Head `h` is the `h`-th of `num_heads` equal column blocks of `W_Q`, `W_K` and
    `W_V` and row blocks of `W_O`. The projections of dyadic numbers are dyadic, so they are exact,
    and so is ``V_h W_O,h``, whose weighted sum the output is.

    Parameters
    ----------
    x_query : array-like, shape (..., L, D)
    x_source : array-like, shape (..., S, D_s)
        Where keys and values come from; the same array for self-attention.
    W_Q, W_K, W_V : array-like, shapes (D, h E), (D_s, h E), (D_s, h Ev)
    W_O : array-like, shape (h Ev, D_out)
    num_heads : int
        Number ``h`` of heads.
    attn_mask, is_causal, causal_offset, scale, empty_rows, precision, backend
        As in `attention`; the mask broadcasts to (..., h, L, S). In an empty row attention is
        zero and the output is `b_O`, or NaN with ``empty_rows="nan"``.
    b_Q, b_K, b_V, b_O : array-like, optional
        Biases, one number for each column of their matrix.

    Returns
    -------
    Attention
        `output` of shape (..., L, D_out); `weights`, `lse`, `scores` by head, as in `attention`.

    Raises
    ------
    InputError
        Shapes that do not fit, or numbers that are not finite (in rows that masks hide
        they may be anything).

    References
    ----------
    .. [4] A. Vaswani et al., "Attention is all you need", NeurIPS 2017, section 3.2.2.

    Examples
    --------
    Identity projections and two heads of width 1; the first query row is zero:

    >>> import numpy as np
    >>> eye = np.eye(2)
    >>> x = [[0.0, 0.0], [1.0, 2.0]]
    >>> multi_head(x, x, eye, eye, eye, eye, num_heads=2).output.round_to("float64")
    array([[0.5       , 1.        ],
           [0.73105858, 1.96402758]])
    """
    h = read_offset("num_heads", num_heads)
    if h < 1:
        raise InputError(f"num_heads is {h}; expected a number >= 1")
    read_choice("empty_rows", empty_rows, ("zeros", "nan", "error"))
    bits = read_precision(precision)
    name, solve = choose_backend(backend)
    x, y = read_array("x_query", x_query), read_array("x_source", x_source)
    for label, z in (("x_query", x), ("x_source", y)):
        if z.ndim < 2:
            raise InputError(f"{label} has shape {z.shape}; expected (..., length, width)")
    (x, bad_x), (y, bad_y) = _zero_odd_rows(x), _zero_odd_rows(y)
    q = _project("Q", W_Q, b_Q, x, h)
    k = _project("K", W_K, b_K, y, h)
    v = _project("V", W_V, b_V, y, h)
    w_o = read_array("W_O", W_O, ndim=2)
    require_finite("W_O", w_o)
    if w_o.shape[0] != h * v.shape[-1]:
        raise InputError(
            f"W_O has shape {w_o.shape}; expected {h * v.shape[-1]} rows, the columns of W_V"
        )
    bias = _read_bias("b_O", b_O, w_o.shape[1])
    call = read_call(
        q,
        k,
        v,
        attn_mask=attn_mask,
        is_causal=is_causal,
        causal_offset=causal_offset,
        window=None,
        scale=scale,
        softcap=None,
        sinks=None,
        alibi_slopes=None,
    )
    _refuse_read_rows("x_query", x.shape, bad_x, np.logical_or.reduce(call.keep, axis=(-3, -1)))
    _refuse_read_rows("x_source", y.shape, bad_y, np.logical_or.reduce(call.keep, axis=(-3, -2)))
    heads = result(call, bits, name, solve, empty_rows)

    blocks = Exact(w_o.reshape(h, -1, w_o.shape[1]))
    mixed = []
    for n, head in enumerate(call.heads):
        block = blocks[n % h]
        v_o = Exact(ints=matmul(head.v.ints, block.ints), exp=head.v.exp + block.exp)
        mixed.append(replace(head, v=v_o))
    mixer = _Mixer([mixed[n : n + h] for n in range(0, len(mixed), h)], bias)

    def load() -> list[Balls]:
        parts = [[solve(head, bits + h.bit_length()).output() for head in g] for g in mixer.groups]
        return [mixer.add(part, g[0].L) for part, g in zip(parts, mixer.groups)]

    special = None
    reached = np.logical_or.reduce(call.keep, axis=-1)
    empty = ~np.logical_and.reduce(reached, axis=-2)  # some head has no key for this query
    if empty_rows == "nan" and empty.any():
        wide = np.where(empty, np.nan, 0.0)[..., None]
        special = np.broadcast_to(wide, (*empty.shape, w_o.shape[1])).ravel()
    shape = (*call.shapes.batch, call.shapes.L, w_o.shape[1])
    return replace(heads, output=Enclosure(shape, load, special, mixer))


class _Mixer:
    """Sum over heads: what correct rounding of a multi-head output asks for."""

    def __init__(self, groups: list[list[Head]], bias: Exact) -> None:
        self.groups = groups
        self.bias = bias
        self._row = lru_cache(maxsize=8)(self._solve_row)
        # with more heads the exact test may give up where there are too many terms
        self.limit: int | None = MAX_BITS if groups and len(groups[0]) > 1 else None

    def add(self, parts: Sequence[Balls], rows: int) -> Balls:
        """Balls of all heads and the bias, summed."""
        columns = self.bias.shape[0]
        bias = self.bias.ints.tolist()
        mid, rad, exps = [], [], []
        lists = [list(part.integers()) for part in parts]
        for n in range(rows * columns):
            terms = [part[n] for part in lists] + [(bias[n % columns], 0, self.bias.exp)]
            low = min(e for _, _, e in terms)
            mid.append(sum(m << (e - low) for m, _, e in terms))
            rad.append(sum(r << (e - low) for _, r, e in terms))
            exps.append(low)
        return Balls(mid, rad, exps)

    def _solve_row(self, n: int, i: int, bits: int) -> tuple[list[Solution], Balls]:
        solutions = [Solution(head.row(i), bits) for head in self.groups[n]]
        return solutions, self.add([s.output() for s in solutions], 1)

    def _place(self, index: int) -> tuple[int, int, int]:
        row, column = divmod(index, self.bias.shape[0])
        return (*divmod(row, self.groups[0][0].L), column)

    def ball(self, index: int, bits: int) -> tuple[int, int, int]:
        """Ball of one element."""
        n, i, column = self._place(index)
        _, balls = self._row(n, i, bits)
        return balls.mid[column], balls.rad[column], balls.exp[column]

    def compare(self, index: int, c: Fraction, bits: int) -> int | None:
        """Sign of the element minus `c`: complete for one head that is not a rational mean."""
        n, i, column = self._place(index)
        two = Fraction(2)
        c -= int(self.bias.ints[column]) * two**self.bias.exp
        whole, open_heads = Sum(), []
        for h, head in enumerate(self.groups[n]):
            v, row = head.v, read_row(head, i)
            unit = two**v.exp
            part = mean(row, {j: int(v.ints[j, column]) * unit for j in row.scores})
            assert part is not None  # there is no soft-cap
            if part.quotients:
                open_heads.append(h)
            whole.rational += part.rational
            whole.quotients += part.quotients
        if not open_heads:
            return (whole.rational > c) - (whole.rational < c)
        if len(open_heads) == 1:
            solutions, _ = self._row(n, i, bits)
            return solutions[open_heads[0]].compare_output(0, column, c - whole.rational)
        return 0 if whole.equals(c) else None


def _zero_odd_rows(x: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Rows that are not finite set to zero, and which they were."""
    bad = ~np.isfinite(x).all(axis=-1)
    return (np.where(bad[..., None], 0.0, x) if bad.any() else x), bad


def _refuse_read_rows(
    label: str, shape: tuple[int, ...], bad: np.ndarray[Any, Any], read: np.ndarray[Any, Any]
) -> None:
    """Refuse rows that are not finite where a kept pair reads them."""
    wrong = np.broadcast_to(bad, read.shape) & read
    if wrong.any():
        raise InputError(
            f"{label} of shape {shape} is not finite in row {first_bad(wrong)}, which a kept "
            "query-key pair reads; expected finite numbers in every row that the masks keep"
        )


def _read_bias(label: str, b: ArrayLike | None, columns: int) -> Exact:
    """Bias of a projection, zero if there is none."""
    bias = np.zeros(columns) if b is None else read_array(label, b)
    if bias.shape != (columns,):
        raise InputError(f"{label} has shape {bias.shape}; expected ({columns},)")
    require_finite(label, bias)
    return Exact(bias)


def _project(
    letter: str, weight: ArrayLike, bias: ArrayLike | None, x: np.ndarray[Any, Any], h: int
) -> Exact:
    """``x W + b`` exactly, split into heads: shape (..., h, length, columns / h)."""
    w_label = f"W_{letter}"
    w = read_array(w_label, weight, ndim=2)
    require_finite(w_label, w)
    if w.shape[0] != x.shape[-1]:
        source = "x_query" if letter == "Q" else "x_source"
        raise InputError(
            f"{w_label} has shape {w.shape}; expected {x.shape[-1]} rows, the width of {source}, "
            f"which has shape {x.shape}"
        )
    if w.shape[1] % h:
        raise InputError(
            f"{w_label} has shape {w.shape}; expected a number of columns that {h} heads divide"
        )
    b = _read_bias(f"b_{letter}", bias, w.shape[1])
    left, right = Exact(x.reshape(int(np.prod(x.shape[:-1])), x.shape[-1])), Exact(w)
    product, exp = matmul(left.ints, right.ints), left.exp + right.exp
    low = min(exp, b.exp)
    total = (product << (exp - low)) + (b.ints << (b.exp - low))
    split = total.reshape(*x.shape[:-1], h, w.shape[1] // h)
    return Exact(ints=np.moveaxis(split, -2, -3), exp=low)
