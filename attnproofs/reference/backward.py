"""Gradients of attention as enclosures, on Python integers.

With ``g`` the gradient of the loss by the output, for one row (Vaswani et al. 2017 differentiated;
the form is that of Dao et al., FlashAttention, NeurIPS 2022, appendix B.2):

    dv_j  = sum_i p_ij g_i
    dp_ij = g_i . v_j                                  (exact: a dot product of dyadic numbers)
    ds_ij = p_ij (dp_ij - sum_l p_il dp_il)            (gradient by score, mask and sink)
    dx_ij = ds_ij (1 - tanh(x_ij / c)**2)              (with a soft-cap)
    dq_i  = tau sum_j dx_ij k_j,   dk_j = tau sum_i dx_ij q_i

``p`` is rounded down to ``wp`` bits; every error after that is carried along as an integer in the
unit of the number it belongs to. ``dp`` is taken relative to one key of the row, which changes
nothing but makes a constant ``dp`` give exact zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnproofs.errors import InputError
from attnproofs.reference.core import KAPPA, Solution
from attnproofs.reference.enclosure import MAX_BITS, Balls, Enclosure
from attnproofs.reference.exponentials import Rows, Sum, add
from attnproofs.reference.fixed import IntArray, matmul, max_bits, tanh
from attnproofs.reference.forward import Call, read_call
from attnproofs.reference.inputs import (
    Exact,
    first_bad,
    read_array,
    read_mask,
    read_precision,
    read_shapes,
    to_numpy,
)
from attnproofs.reference.problem import Head


@dataclass
class Block:
    """Matrix of balls with a common exponent."""

    mid: IntArray
    rad: IntArray
    exp: int

    def __add__(self, other: Block) -> Block:
        low = min(self.exp, other.exp)
        a, b = self.exp - low, other.exp - low
        return Block((self.mid << a) + (other.mid << b), (self.rad << a) + (other.rad << b), low)

    def total(self, axis: int) -> Block:
        """Sum along an axis, which stays with length 1."""
        return Block(
            np.asarray(self.mid.sum(axis=axis, keepdims=True), dtype=object),
            np.asarray(self.rad.sum(axis=axis, keepdims=True), dtype=object),
            self.exp,
        )


@dataclass
class HeadGradients:
    """Gradients of one head by its own matrices; `ds` includes the sink's column."""

    dq: Block
    dk: Block
    dv: Block
    ds: Block


def _full(shape: tuple[int, ...], value: int = 0) -> IntArray:
    out = np.empty(shape, dtype=object)
    out.fill(value)
    return out


def _times_scale(block: Block, head: Head, wp: int) -> Block:
    """The block times the scale."""
    scale = head.scale
    shift = scale.dyadic_exponent
    if shift is not None:
        return Block(block.mid * scale.num, block.rad * abs(scale.num), block.exp + shift)
    # factor * 2**-bits is off by less than 2**-bits
    bits = wp + 8 + scale.den.bit_length() + scale.root.bit_length()
    factor = _root_floor(scale.num**2 << 2 * bits, scale.den**2 * scale.root)
    if scale.num < 0:
        factor = -factor
    rad = block.rad * (abs(factor) + 1) + abs(block.mid)
    return Block(block.mid * factor, rad, block.exp - bits)


def _root_floor(num: int, den: int) -> int:
    """Integer part of the square root of ``num / den``."""
    return isqrt(num // den)


def head_gradients(solution: Solution, g: Exact) -> HeadGradients:
    """Gradients of one solved head.

    Parameters
    ----------
    solution : Solution
    g : Exact
        Gradient by the output, shape (L, Ev), zero in empty rows.
    """
    head, wp = solution.head, solution.wp
    L, S = head.L, head.S
    q, v = head.q, head.v
    one = 1 << wp
    G = matmul(g.ints, v.ints.T)  # (L, S)
    P, P_err = _full((L, S)), _full((L, S))
    ds, ds_err = _full((L, S)), _full((L, S))
    for i, js in enumerate(solution.kept):
        if not js:
            continue
        Z, n = solution.Z[i], solution.inexact[i]
        quotients = [divmod(w << wp, Z) for w in solution.W[i, js].tolist()]
        p = [a for a, _ in quotients]
        err = KAPPA * (n + 1) + 1 if n else int(any(rest for _, rest in quotients))
        P[i, js], P_err[i, js] = p, err
        top = G[i, solution.top[i]]
        h = [x - top for x in G[i, js].tolist()]  # exponent of G
        size = sum(map(abs, h))
        if not size:
            continue  # constant dp: the gradient by every score of the row is exactly 0
        eta = sum(a * b for a, b in zip(p, h))  # wp bits finer
        eta_err = err * size
        exact = not err
        for j, a, b in zip(js, p, h):
            d = (b << wp) - eta
            product = a * d
            ds[i, j] = product >> wp
            if exact and not product & (one - 1):
                continue
            ds_err[i, j] = ((err * abs(d) + (a + err) * eta_err) >> wp) + 2
    e_p, e_g = -wp, g.exp + v.exp - wp
    dv = Block(matmul(P.T, g.ints), matmul(P_err.T, abs(g.ints)), g.exp + e_p)
    d_score = Block(ds, ds_err, e_g)
    dx = d_score if head.softcap is None else _through_softcap(solution, d_score)
    dq = _dq(solution, dx)
    dk = Block(matmul(dx.mid.T, q.ints), matmul(dx.rad.T, abs(q.ints)), dx.exp + q.exp)
    return HeadGradients(
        dq=_times_scale(dq, head, wp), dk=_times_scale(dk, head, wp), dv=dv, ds=d_score
    )


def _dq(solution: Solution, dx: Block) -> Block:
    """Rows ``sum_j dx_ij k_j``.

    Without a soft-cap ``sum_j dx_ij = 0``, so one kept key may be subtracted from all; keys that
    are equal then give exact zeros.
    """
    head = solution.head
    k = head.k
    if head.softcap is not None:
        return Block(matmul(dx.mid, k.ints), matmul(dx.rad, abs(k.ints)), dx.exp + k.exp)
    mid, rad = matmul(dx.mid, k.ints), _full((head.L, k.shape[1]))
    for i, js in enumerate(solution.kept):
        if not js:
            continue
        base = k.ints[js[0]]
        mid[i] = mid[i] - sum(dx.mid[i].tolist()) * base
        errors = dx.rad[i].tolist()
        if any(errors):
            rad[i] = sum(errors[j] * abs(k.ints[j] - base) for j in js)
    return Block(mid, rad, dx.exp + k.exp)


def _through_softcap(solution: Solution, ds: Block) -> Block:
    """Chain rule through ``c tanh(x / c)``: times ``1 - tanh**2``, known to within 16 units."""
    head, wp = solution.head, solution.wp
    scores, scale, cap = solution.score_table, head.scale, head.softcap
    assert cap is not None
    bits = wp + 4
    ratio = _fixed_times(
        scores.X, scores.x_exp, Fraction(scale.num, scale.den) / cap, scale.root, bits
    )
    known: dict[int, int] = {}
    factor = _full(ds.mid.shape)
    for place, y in zip(np.ndindex(*ds.mid.shape), ratio.ravel().tolist()):
        if y not in known:
            t = tanh(y, bits)
            known[y] = (1 << bits) - (t * t >> bits)
        factor[place] = known[y]
    # y is off by 2 units, tanh by 4 more, 1 - tanh**2 by twice that and 1
    rad = ds.rad * (1 << bits) + 16 * abs(ds.mid) + 16 * ds.rad
    return Block(ds.mid * factor, rad, ds.exp - bits)


def _fixed_times(X: IntArray, x_exp: int, ratio: Fraction, root: int, bits: int) -> IntArray:
    """``X 2**x_exp ratio / sqrt(root)`` at `bits` bits, off by less than 2 units."""
    extra = max(0, max_bits(X) + x_exp + 2)
    wide = bits + extra
    square = ratio**2 / root
    factor = _root_floor(square.numerator << 2 * wide, square.denominator)
    product = X * (-factor if ratio < 0 else factor)
    shift = bits + x_exp - wide
    return product << shift if shift >= 0 else product >> -shift


# ---------------------------------------------------------------------------------------------
# the whole call


@dataclass(frozen=True)
class Gradients:
    """Result of `gradients`: one enclosure for each argument.

    Attributes
    ----------
    dq, dk, dv : Enclosure
        Shapes of query, key, value; where those broadcast, gradients are summed.
    dbias : Enclosure
        Gradient by an additive mask, of its shape; without one, by the scores' bias, shape
        (..., Hq, L, S). Exactly 0 where masked.
    dsinks : Enclosure or None
        Gradient by `sinks`, of its shape; None without sinks.
    """

    dq: Enclosure
    dk: Enclosure
    dv: Enclosure
    dbias: Enclosure
    dsinks: Enclosure | None


class _Slots:
    """Sum of blocks into a tensor of some argument's shape, along broadcast dimensions."""

    def __init__(self, lead: tuple[int, ...], rows: int, columns: int) -> None:
        self.lead = lead
        self.shape = rows, columns
        self.blocks: dict[tuple[int, ...], Block] = {}

    def place(self, lead: tuple[int, ...]) -> tuple[int, ...]:
        """Where a head's block goes, dimensions of size 1 and missing ones repeated."""
        own = lead[len(lead) - len(self.lead) :]
        return tuple(0 if n == 1 else i for n, i in zip(self.lead, own))

    def add(self, lead: tuple[int, ...], block: Block) -> None:
        """Add one head's block, summed to this shape."""
        for axis in (0, 1):
            if self.shape[axis] == 1 and block.mid.shape[axis] != 1:
                block = block.total(axis)
        where = self.place(lead)
        self.blocks[where] = self.blocks[where] + block if where in self.blocks else block

    def balls(self) -> list[Balls]:
        """Balls of all blocks, in C order."""
        out = []
        for where in np.ndindex(*self.lead):
            block = self.blocks.get(where)
            if block is None:
                zeros = [0] * (self.shape[0] * self.shape[1])
                out.append(Balls(zeros, zeros, zeros))
            else:
                mid = block.mid.ravel().tolist()
                out.append(Balls(mid, block.rad.ravel().tolist(), [block.exp] * len(mid)))
        return out


@dataclass
class _Task:
    """A call with its gradient by the output, and the shapes of the results."""

    call: Call
    g: list[Exact]
    lead: dict[str, tuple[int, ...]]  # leading dimensions of each result, heads included
    matrix: dict[str, tuple[int, int]]

    def run(self, bits: int) -> dict[str, list[Balls]]:
        """All gradients at about `bits` bits."""
        shapes = self.call.shapes
        group = shapes.Hq // shapes.Hkv if shapes.Hkv else 1
        slots = {name: _Slots(self.lead[name], *self.matrix[name]) for name in self.lead}
        for n, lead in enumerate(np.ndindex(*shapes.full_lead)):
            head = self.call.heads[n]
            found = head_gradients(Solution(head, bits + 2 * head.S.bit_length() + 8), self.g[n])
            key_lead = (*lead[:-1], lead[-1] // group)
            S = head.real_S
            slots["dq"].add(lead, found.dq)
            slots["dk"].add(key_lead, _rows(found.dk, S))
            slots["dv"].add(key_lead, _rows(found.dv, S))
            ds = found.ds
            slots["dbias"].add(lead, Block(ds.mid[:, :S], ds.rad[:, :S], ds.exp))
            if "dsinks" in slots:
                slots["dsinks"].add(lead, Block(ds.mid[:, S:], ds.rad[:, S:], ds.exp))
        return {name: slot.balls() for name, slot in slots.items()}

    def places(self, kind: str, part: int, only: int | None) -> list[tuple[int, int]]:
        """Rows (head, query) that a block of a result sums over, or one row of each head."""
        shapes = self.call.shapes
        group = shapes.Hq // shapes.Hkv if shapes.Hkv else 1
        slots = _Slots(self.lead[kind], 1, 1)
        own = tuple(int(x) for x in np.unravel_index(part, self.lead[kind]))
        found = []
        for n, lead in enumerate(np.ndindex(*shapes.full_lead)):
            where = (*lead[:-1], lead[-1] // group) if kind in ("dk", "dv") else lead
            if slots.place(where) == own:
                found += [(n, i) for i in (range(shapes.L) if only is None else [only])]
        return found


def _rows(block: Block, n: int) -> Block:
    return Block(block.mid[:n], block.rad[:n], block.exp)


class _Refiner:
    """Computes all gradients again with more bits, and compares rational ones exactly."""

    def __init__(
        self, task: _Task, kind: str, run: Callable[[int], dict[str, list[Balls]]], rows: Rows
    ) -> None:
        self.task = task
        self.kind = kind
        self.run = run
        self.rows = rows
        self.limit: int | None = MAX_BITS

    def ball(self, index: int, bits: int) -> tuple[int, int, int]:
        """Ball of one element."""
        rows, columns = self.task.matrix[self.kind]
        part, place = divmod(index, rows * columns)
        balls = self.run(bits)[self.kind][part]
        return balls.mid[place], balls.rad[place], balls.exp[place]

    def compare(self, index: int, c: Fraction, bits: int) -> int | None:
        """Sign of the element minus `c` where it is rational; else 0 or None."""
        value = self._exact(index)
        if value is None:
            return None
        tau, root = Fraction(1), 1
        if self.kind in ("dq", "dk"):
            scale = self.task.call.heads[0].scale
            tau, root = Fraction(scale.num, scale.den), scale.root
        if value.quotients:
            # over an irrational scale, a sum with rational coefficients can only be 0
            if not tau:
                return (c < 0) - (c > 0)
            return 0 if (root == 1 or not c) and value.equals(c / tau) else None
        # the sign of x / sqrt(root) - c is that of x |x| - root c |c|
        x = value.rational * tau
        left, right = x * abs(x), root * c * abs(c)
        return (left > right) - (left < right)

    def _exact(self, index: int) -> Sum | None:
        """The element over the scale, as far as it is known."""
        kind, rows = self.kind, self.rows
        height, width = self.task.matrix[kind]
        part, place = divmod(index, height * width)
        row, column = divmod(place, width)
        only = row if kind == "dq" or (kind == "dbias" and height > 1) else None
        places = self.task.places(kind, part, only)
        if kind == "dv":
            return rows.dv(places, row, column)
        if kind == "dk":
            return rows.dk(places, row, column)
        if kind == "dq":
            return rows.dq(places, column)
        head = self.task.call.heads[0]
        if kind == "dsinks":
            return rows.ds(places, head.S - 1)
        if width > 1 or head.real_S == 1:
            return rows.ds(places, column)
        if not head.sinks:
            return Sum()  # gradients by the scores of a row sum to 0
        return add(rows.ds(places, j) for j in range(head.real_S))


def gradients(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    grad_out: ArrayLike,
    *,
    attn_mask: ArrayLike | None = None,
    is_causal: bool = False,
    causal_offset: int = 0,
    window: tuple[int | None, int | None] | None = None,
    scale: Any = None,
    softcap: Any = None,
    sinks: ArrayLike | None = None,
    alibi_slopes: ArrayLike | None = None,
    precision: int | str = "50 digits",
) -> Gradients:
    """Gradients of ``sum(grad_out * attention(query, key, value, ...).output)``, as enclosures.

    Computed on Python integers. Rows without a kept key give and receive no gradient.

    Parameters
    ----------
    query, key, value, attn_mask, is_causal, causal_offset, window, scale, softcap, sinks, \
alibi_slopes
        As in `attention`.
    grad_out : array-like, shape (..., Hq, L, Ev)
        Gradient by the output, of exactly the output's shape.
    precision : int or str
        Working precision, as in `attention`. Radii are about ``2**-bits`` times the products of
        largest magnitudes that enter an element.

    Returns
    -------
    Gradients
        Enclosures `dq`, `dk`, `dv`, `dbias` and, with sinks, `dsinks`.

    Raises
    ------
    InputError
        As `attention`; or `grad_out` of another shape, or not finite in a row with a kept key.

    References
    ----------
    .. [3] T. Dao, D. Fu, S. Ermon, A. Rudra, C. Re, "FlashAttention", NeurIPS 2022, app. B.2.

    Examples
    --------
    >>> g = gradients([[0.0]], [[1.0], [3.0]], [[1.0], [2.0]], [[1.0]])
    >>> g.dv.round_to("float64").tolist()        # both weights are 1/2
    [[0.5], [0.5]]
    >>> g.dbias.round_to("float64").tolist()     # p (dp - mean): 1/2 (1 - 3/2), 1/2 (2 - 3/2)
    [[-0.25, 0.25]]
    >>> g.dq.round_to("float64").tolist()        # -1/4 * 1 + 1/4 * 3
    [[0.5]]
    """
    bits = read_precision(precision)
    arguments = {"query": query, "key": key, "value": value}
    read = {name: read_array(name, x) for name, x in arguments.items()}
    q, k, v = read.values()
    shapes = read_shapes(q.shape, k.shape, v.shape)
    g = read_array("grad_out", grad_out)
    expected = (*shapes.lead, shapes.L, shapes.Ev)
    if g.shape != expected:
        raise InputError(
            f"grad_out has shape {g.shape}; expected {expected}, the shape of the output"
        )
    call = read_call(
        q,
        k,
        v,
        attn_mask=attn_mask,
        is_causal=is_causal,
        causal_offset=causal_offset,
        window=window,
        scale=scale,
        softcap=softcap,
        sinks=sinks,
        alibi_slopes=alibi_slopes,
    )
    g = g if shapes.has_heads else g[..., None, :, :]
    live = np.logical_or.reduce(call.keep, axis=-1)[..., None]
    bad = live & ~np.isfinite(g)
    if bad.any():
        index = first_bad(bad)
        raise InputError(
            f"grad_out of shape {expected} holds {g[index]} at row {index[-2]}, which has a kept "
            "key; expected finite numbers there"
        )
    g = np.where(live, g, 0.0)

    def lead(x: NDArray[Any]) -> tuple[int, ...]:
        return x.shape[:-2] if shapes.has_heads else (1,)

    result_shape = {"dq": q.shape, "dk": k.shape, "dv": v.shape}
    leads = {"dq": lead(q), "dk": lead(k), "dv": lead(v), "dbias": shapes.full_lead}
    matrix = {name: (s[-2], s[-1]) for name, s in result_shape.items()}
    result_shape["dbias"], matrix["dbias"] = (
        (*shapes.lead, shapes.L, shapes.S),
        (shapes.L, shapes.S),
    )
    _, bias = read_mask(attn_mask, shapes)
    if bias is not None:
        result_shape["dbias"] = to_numpy("attn_mask", attn_mask).shape
        leads["dbias"], matrix["dbias"] = bias.shape[:-2], (bias.shape[-2], bias.shape[-1])
    if sinks is not None:
        own = read_array("sinks", sinks).shape
        result_shape["dsinks"], leads["dsinks"], matrix["dsinks"] = own, own, (1, 1)
    task = _Task(call, [Exact(g[n]) for n in np.ndindex(*shapes.full_lead)], leads, matrix)
    run = lru_cache(maxsize=4)(task.run)
    rows = Rows(call.heads, task.g)

    def enclosure(name: str) -> Enclosure:
        return Enclosure(
            result_shape[name], lambda: run(bits)[name], refiner=_Refiner(task, name, run, rows)
        )

    return Gradients(
        **{name: enclosure(name) for name in ("dq", "dk", "dv", "dbias")},
        dsinks=enclosure("dsinks") if sinks is not None else None,
    )
