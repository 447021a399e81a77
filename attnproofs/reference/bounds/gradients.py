"""Allowances and verdicts for gradients: `gradient_allowance` and `judge_gradients`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnproofs.errors import InputError
from attnproofs.reference import backward as exact_backward
from attnproofs.reference.bounds.backward import Parts, head_gradients
from attnproofs.reference.bounds.facts import Floats, gather, read, solve_call, two_floats
from attnproofs.reference.bounds.forward import (
    COVERED,
    EMPTY,
    OVERFLOW,
    TERMS,
    VACUOUS,
    grow,
    total_of,
)
from attnproofs.reference.bounds.models import PrecisionModel, half_quantum
from attnproofs.reference.bounds.models import model as get_model
from attnproofs.reference.bounds.verdict import (
    CONSISTENT,
    NOT_COVERED,
    REJECT,
    Allowance,
    Judgement,
)
from attnproofs.reference.formats import get_format
from attnproofs.reference.forward import Call
from attnproofs.reference.inputs import read_array

#: Names of the gradients, in the order of the arguments.
GRADIENTS = ("dq", "dk", "dv")

_UP = 1 + 2.0**-30


@dataclass(frozen=True)
class GradientJudgement:
    """Verdicts on the gradients by query, key and value.

    Attributes
    ----------
    dq, dk, dv : Judgement
        As for an output.
    """

    dq: Judgement
    dk: Judgement
    dv: Judgement

    @property
    def verdict(self) -> str:
        """REJECT if any element of any gradient is; NOT COVERED if none is covered."""
        words = {self.dq.verdict, self.dk.verdict, self.dv.verdict}
        if REJECT in words:
            return REJECT
        return CONSISTENT if CONSISTENT in words else NOT_COVERED

    @property
    def rejected(self) -> bool:
        """Whether any element is rejected."""
        return self.verdict == REJECT

    def __str__(self) -> str:
        return "\n".join(str(getattr(self, name)) for name in GRADIENTS)


def gradient_allowance(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    grad_out: ArrayLike,
    *,
    model: str | PrecisionModel,
    reference: exact_backward.Gradients | None = None,
    omit: Collection[str] = (),
    **options: Any,
) -> dict[str, Allowance]:
    """How far gradients by any program of a precision model may be from the exact ones.

    The backward pass may divide again or recompute the weights from a stored log-sum-exp, may
    form ``sum_l p_l dp_l`` from the weights or from the stored output, and may sum in any order.
    In 16-bit models the weights and the gradient by the scores are rounded to 16 bits before
    they are multiplied. A row that keeps no key must contribute nothing.

    Parameters
    ----------
    query, key, value, model, omit, **options
        As for `allowance`.
    grad_out
        Gradient by the output, of the output's shape, in the model's input format.
    reference
        Result of `attnproofs.reference.gradients` for the same call, to save its computation.

    Returns
    -------
    dict
        `Allowance` by name: ``"dq"``, ``"dk"``, ``"dv"``, in the shapes of the arguments.

    Raises
    ------
    InputError
        Whatever is wrong with the arguments.

    References
    ----------
    The page "The bound, with its proof" of the documentation, section on gradients.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.float32([[1, 2], [3, 4]])
    >>> a = gradient_allowance(x, x, x, np.ones_like(x), model="float32")
    >>> {name: bool((part.total < 1e-3).all()) for name, part in a.items()}
    {'dq': True, 'dk': True, 'dv': True}
    """
    model_ = get_model(model)
    call = read(query, key, value, options)
    if reference is None:
        reference = exact_backward.gradients(query, key, value, grad_out, **options)
    shapes = call.shapes
    given = read_array("grad_out", grad_out)
    full = (*shapes.full_lead, shapes.L, shapes.Ev)
    if given.size != np.prod(full, dtype=int):
        raise InputError(f"grad_out has shape {given.shape}; expected {full}")
    targets = {name: getattr(reference, name).shape for name in GRADIENTS}
    if not call.heads or not shapes.L or not shapes.S:
        return {name: _nothing(model_, name, shape) for name, shape in targets.items()}
    facts = gather(call.heads, solve_call(call, None, "output"))
    live = facts.kept.any(-1, keepdims=True)
    grad = np.where(live, given.reshape(len(call.heads), shapes.L, shapes.Ev), 0.0)
    found = head_gradients(facts, grad, model_, omit)
    S = call.heads[0].real_S
    allowed = {}
    for name in GRADIENTS:
        parts, size = found.errors[name], found.sizes[name]
        if name != "dq":
            parts, size = {t: part[:, :S] for t, part in parts.items()}, size[:, :S]
            reason = np.broadcast_to(found.reason[:, None, None], size.shape)
        else:
            reason = np.broadcast_to(found.reason_rows[..., None], size.shape)
        exact = tuple(
            part.reshape(targets[name]) for part in two_floats(getattr(reference, name).balls)
        )
        allowed[name] = _allow(
            call, model_, name, _Found(parts, size, reason), exact=exact, omit=omit
        )
    return allowed


def judge_gradients(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    grad_out: ArrayLike,
    got: Mapping[str, ArrayLike] | tuple[ArrayLike, ArrayLike, ArrayLike],
    *,
    model: str | PrecisionModel,
    reference: exact_backward.Gradients | None = None,
    **options: Any,
) -> GradientJudgement:
    """Compare gradients with what the precision model allows.

    Parameters
    ----------
    query, key, value, grad_out, model, reference, **options
        As for `gradient_allowance`.
    got
        ``(dq, dk, dv)``, or a mapping with these names.

    Raises
    ------
    InputError
        Whatever is wrong with the arguments; gradients of other shapes.

    Examples
    --------
    With one key the weight is 1 whatever the score, so query and key receive no gradient:

    >>> import numpy as np
    >>> q = np.float32([[1, 2]]); k = np.float32([[3, 4]]); v = np.float32([[5]])
    >>> zero = np.zeros((1, 2))
    >>> print(judge_gradients(q, k, v, [[1.0]], (zero, zero, [[1.0]]), model="float32").verdict)
    CONSISTENT
    >>> wrong = (zero + 1e-3, zero, [[1.0]])
    >>> print(judge_gradients(q, k, v, [[1.0]], wrong, model="float32").dq.verdict)
    REJECT
    """
    allowed = gradient_allowance(
        query, key, value, grad_out, model=model, reference=reference, **options
    )
    named = dict(got) if isinstance(got, Mapping) else dict(zip(GRADIENTS, got, strict=True))
    if missing := [name for name in GRADIENTS if name not in named]:
        raise InputError(f"got lacks {missing[0]!r}; expected dq, dk and dv")
    return GradientJudgement(**{name: allowed[name].judge(named[name]) for name in GRADIENTS})


@dataclass(frozen=True)
class _Found:
    """Errors of one gradient, its magnitude and reasons, for every head."""

    parts: Parts
    size: Floats
    reason: NDArray[np.uint8]


def _allow(
    call: Call,
    model: PrecisionModel,
    name: str,
    found: _Found,
    *,
    exact: tuple[Floats, ...],
    omit: Collection[str],
) -> Allowance:
    """Sum over heads that share an argument, store in the output format."""
    target = exact[0].shape
    out = get_format(model.output)
    unit = 0.0 if "output" in omit or model.output == model.accumulate else out.unit_roundoff
    quantum = 0.0 if unit == 0.0 else half_quantum(out)
    parts, size = dict(found.parts), found.size
    summands = round(size.size / max(1, int(np.prod(target))))
    if summands > 1:  # each part may be stored before they are added
        parts["output"] = parts["output"] + unit * (size + total_of(parts)) + quantum
        whole = size + total_of(parts)
        once = 0.0 if "sums" in omit else float(grow(summands, max(model.unit, unit)))
        parts["sums"] = parts["sums"] + once * whole
    parts = {term: _reduce(part, call, target) for term, part in parts.items()}
    reason = _reduce(found.reason, call, target, largest=True)
    size = np.abs(exact[0]) + np.abs(exact[1]) + exact[2]
    with np.errstate(invalid="ignore", over="ignore"):
        parts["output"] = parts["output"] + unit * (size + total_of(parts)) + quantum
        parts = {term: part * _UP + 2.0**-1070 for term, part in parts.items()}
        total = total_of(parts)
        reason = np.where(
            (reason == COVERED) & ((size + total) * _UP >= out.largest_finite), OVERFLOW, reason
        )
    reason = np.where((reason == COVERED) & ~np.isfinite(total), VACUOUS, reason)
    reason = np.where((reason == EMPTY) & (name != "dq"), COVERED, reason).astype(np.uint8)
    total = np.where(reason == COVERED, total, np.inf)
    return Allowance(model, name, total, parts, reason, (exact[0], exact[1], exact[2]))


def _reduce(x: NDArray[Any], call: Call, target: tuple[int, ...], *, largest: bool = False) -> Any:
    """Combine the heads' arrays (G, rows, columns) into the shape of an argument."""
    shapes = call.shapes
    join = np.max if largest else np.sum
    x = x.reshape(*shapes.full_lead, *x.shape[1:])
    heads = target[-3] if shapes.has_heads else 1
    if heads != shapes.Hq:  # query heads that share a key head
        x = x.reshape(*shapes.batch, heads, shapes.Hq // heads, *x.shape[-2:])
        x = join(x, axis=-3)
    lead = (1,) * (len(shapes.batch) - len(target[:-3])) + tuple(target[:-3])
    for axis, (have, want) in enumerate(zip(shapes.batch, lead)):
        if have != want:
            x = join(x, axis=axis, keepdims=True)
    return x.reshape(target)


def _nothing(model: PrecisionModel, name: str, shape: tuple[int, ...]) -> Allowance:
    """Without a query or a key every gradient is exactly zero."""
    zero = np.zeros(shape)
    terms = dict.fromkeys(TERMS, zero)
    return Allowance(model, name, zero, terms, np.zeros(shape, np.uint8), (zero, zero, zero))
