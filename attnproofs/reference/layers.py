"""Softmax, step-by-step decoding and multi-head attention on top of `attention`."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from attnproofs.errors import InputError
from attnproofs.reference.enclosure import Enclosure
from attnproofs.reference.forward import Backend, EmptyRows, attention
from attnproofs.reference.inputs import read_array, read_offset


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
