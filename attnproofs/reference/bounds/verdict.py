"""From a case and a precision model to an allowance, and from a result to a verdict.

`allowance` says how far any program of the model may be from the exact output of one call;
`judge` compares a result with it, element by element.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnproofs.errors import InputError
from attnproofs.reference.bounds.facts import Floats, gather, read, solve_call
from attnproofs.reference.bounds.forward import (
    COVERED,
    REASONS,
    TERMS,
    WIDE,
    Bound,
    forward,
    forward_lse,
    forward_weights,
)
from attnproofs.reference.bounds.models import PrecisionModel
from attnproofs.reference.bounds.models import model as get_model
from attnproofs.reference.forward import Attention, Call
from attnproofs.reference.inputs import read_array, read_choice

REJECT, CONSISTENT, NOT_COVERED = "REJECT", "CONSISTENT", "NOT COVERED"

#: What a result can be: the attention output, its weights, or the log-sum-exp.
QUANTITIES = ("output", "weights", "lse")


@dataclass(frozen=True, repr=False)
class Allowance:
    """How far a program of the model may be from the exact result, for every element.

    Attributes
    ----------
    model : PrecisionModel
        The declared roundings.
    quantity : str
        ``"output"``, ``"weights"`` or ``"lse"``.
    total : ndarray of float64
        The allowance, in the shape of the result; infinite where nothing is claimed.
    terms : dict of ndarray
        Its parts, by name (`TERMS`); they add up to `total` where that is finite.
    reason : ndarray of uint8
        0 where covered, else an index into `REASONS`.
    exact : tuple of ndarray
        The exact result as ``high + low``, and a radius for what two floats do not hold.
    """

    model: PrecisionModel
    quantity: str
    total: Floats
    terms: dict[str, Floats]
    reason: NDArray[np.uint8]
    exact: tuple[Floats, Floats, Floats]

    @property
    def covered(self) -> NDArray[np.bool_]:
        """Where the bound's preconditions hold."""
        return np.asarray(self.reason == COVERED)

    def __repr__(self) -> str:
        covered = int(self.covered.sum())
        most = f", at most {self.total[self.covered].max():.3g}" if covered else ""
        return (
            f"<Allowance for {self.quantity} under {self.model.name}: {covered} of "
            f"{self.total.size} elements covered{most}>"
        )

    def judge(self, got: ArrayLike) -> Judgement:
        """Compare a result with this allowance.

        Raises
        ------
        InputError
            A result of another shape.
        """
        given = read_array("got", got)
        if given.shape != self.total.shape:
            raise InputError(
                f"got has shape {given.shape}; expected {self.total.shape}, the shape of the "
                f"exact {self.quantity}"
            )
        mid, low, radius = self.exact
        with np.errstate(invalid="ignore", over="ignore"):
            measured = np.abs((given - mid) - low)
            measured = np.where(np.isnan(measured), np.inf, measured)
            slack = radius + measured * 2.0**-50 + 2.0**-1074 * (measured != 0)
            beyond = np.where(np.isinf(measured), np.inf, measured - slack) > self.total
            reject = beyond & self.covered
            fits = (measured + slack <= self.total) | ((measured == 0) & (radius == 0))
        fits &= self.covered
        reason = np.where(self.covered & ~reject & ~fits, WIDE, self.reason).astype(np.uint8)
        verdicts = np.where(reject, REJECT, np.where(fits, CONSISTENT, NOT_COVERED))
        return Judgement(replace(self, reason=reason), given, mid + low, measured, verdicts)


@dataclass(frozen=True, repr=False)
class Judgement:
    """A result compared with its allowance, element by element.

    Attributes
    ----------
    allowance : Allowance
        The allowance and its parts.
    got : ndarray of float64
        The result.
    expected : ndarray of float64
        The exact result rounded to float64.
    measured : ndarray of float64
        Distance of the result from the exact one (infinite for NaN).
    verdicts : ndarray of str
        ``"REJECT"``: no program of the model, in any order of summation, can have produced the
        element. ``"CONSISTENT"``: one may have; not a proof of correctness. ``"NOT COVERED"``:
        a precondition of the bound fails; nothing is claimed.
    """

    allowance: Allowance
    got: Floats
    expected: Floats
    measured: Floats
    verdicts: NDArray[np.str_]

    def __repr__(self) -> str:
        index = self.worst
        ratio = "" if index is None else f", worst measured/allowed {self.ratio[index]:.3g}"
        return (
            f"<Judgement {self.verdict} for {self.allowance.quantity} under "
            f"{self.allowance.model.name}{ratio}>"
        )

    @property
    def rejected(self) -> bool:
        """Whether any element is rejected."""
        return bool((self.verdicts == REJECT).any())

    @property
    def verdict(self) -> str:
        """One word: REJECT if any element is, NOT COVERED if none is covered, else CONSISTENT."""
        if self.rejected:
            return REJECT
        if self.verdicts.size and (self.verdicts == NOT_COVERED).all():
            return NOT_COVERED
        return CONSISTENT

    @property
    def ratio(self) -> Floats:
        """Measured over allowed; above 1 is a rejection. NaN where nothing is claimed."""
        allowed = self.allowance.total
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = np.where(self.measured == 0, 0.0, self.measured / allowed)
        return np.where(self.verdicts == NOT_COVERED, np.nan, ratio)

    @property
    def worst(self) -> tuple[int, ...] | None:
        """Index of the largest ratio, or None if nothing is covered."""
        ratio = self.ratio
        if not ratio.size or np.isnan(ratio).all():
            return None
        return tuple(int(i) for i in np.unravel_index(np.nanargmax(ratio), ratio.shape))

    def budget(self, index: tuple[int, ...]) -> dict[str, float]:
        """Parts of the allowance of one element, by term."""
        return {name: float(part[index]) for name, part in self.allowance.terms.items()}

    def dominating(self, index: tuple[int, ...] | None = None) -> str | None:
        """Name of the largest part at an element (at the worst one by default)."""
        index = self.worst if index is None else index
        if index is None:
            return None
        budget = self.budget(index)
        return max(budget, key=lambda name: budget[name])

    def __str__(self) -> str:
        """A few lines: verdict, counts, the worst element with its budget."""
        lines = [
            f"{self.verdict} for {self.allowance.quantity} under {self.allowance.model.describe()}"
        ]
        counts = {
            word: int((self.verdicts == word).sum()) for word in (REJECT, CONSISTENT, NOT_COVERED)
        }
        lines.append(
            f"elements: {counts[REJECT]} rejected, {counts[CONSISTENT]} consistent, "
            f"{counts[NOT_COVERED]} not covered"
        )
        for code in sorted({int(c) for c in np.unique(self.allowance.reason)} - {COVERED}):
            lines.append(f"not covered: {REASONS[code]}")
        if (index := self.worst) is not None:
            lines.append(
                f"worst element {list(index)}: got {float(self.got[index])!r}, exact "
                f"{float(self.expected[index])!r}"
            )
            lines.append(
                f"  measured {self.measured[index]:.3g}, allowed "
                f"{self.allowance.total[index]:.3g}, ratio {self.ratio[index]:.3g}"
            )
            parts = ", ".join(f"{k} {v:.2g}" for k, v in self.budget(index).items() if v > 1e-300)
            lines.append(f"  allowance by term: {parts} (largest: {self.dominating(index)})")
        return "\n".join(lines)


def allowance(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    *,
    model: str | PrecisionModel,
    quantity: str = "output",
    tier: int = 2,
    reference: Attention | None = None,
    omit: Collection[str] = (),
    **options: Any,
) -> Allowance:
    """How far any program of a precision model may be from exact attention.

    Parameters
    ----------
    query, key, value
        As for `attnproofs.reference.attention`, and already in the model's input format.
    model
        Name from `models()`, ``"textbook(FORMAT)"``, or a `PrecisionModel`.
    quantity
        ``"output"``, ``"weights"`` or ``"lse"``.
    tier
        2 uses the exact weights and outputs, 1 only the magnitudes of scores and values, 0 only
        shapes and norms. All are rigorous; 2 is the sharpest. Weights and lse have tier 2 only.
    reference
        Result of `attnproofs.reference.attention` for the same call, to save its computation.
    omit
        Terms to leave out, for negative controls: the result is then not a bound.
    **options
        ``attn_mask``, ``is_causal``, ``causal_offset``, ``window``, ``scale``, ``softcap``,
        ``sinks``, ``alibi_slopes`` of `attnproofs.reference.attention`.

    Returns
    -------
    Allowance
        Arrays of shape (..., Hq, L, Ev) for the output.

    Raises
    ------
    InputError
        Whatever is wrong with the arguments.

    References
    ----------
    The page "The bound, with its proof" of the documentation.

    Examples
    --------
    >>> import numpy as np
    >>> q = k = np.zeros((2, 4), np.float32); v = np.float32([[1, 2], [3, 4]])
    >>> a = allowance(q, k, v, model="float32")
    >>> bool((a.total < 1e-4).all()), sorted(a.terms)[:3]
    (True, ['exp', 'output', 'scores'])
    """
    model_ = get_model(model)
    call = read(query, key, value, options)
    return _allowance(call, model_, quantity, tier=tier, reference=reference, omit=omit)


def judge(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    got: ArrayLike,
    *,
    model: str | PrecisionModel,
    quantity: str = "output",
    tier: int = 2,
    reference: Attention | None = None,
    omit: Collection[str] = (),
    **options: Any,
) -> Judgement:
    """Compare a result with what the precision model allows.

    Parameters
    ----------
    query, key, value, model, quantity, tier, reference, omit, **options
        As for `allowance`.
    got
        The result to be judged, in the shape of the exact one.

    Returns
    -------
    Judgement
        Verdict, measured and allowed error, and the budget by term, for every element.

    Raises
    ------
    InputError
        Whatever is wrong with the arguments; a result of another shape.

    Examples
    --------
    >>> import numpy as np
    >>> q = np.float32([[1, 2]]); k = np.float32([[1, 0], [0, 1]]); v = np.float32([[1], [3]])
    >>> s = (q @ k.T) / np.sqrt(np.float32(2)); e = np.exp(s - s.max())
    >>> print(judge(q, k, v, e @ v / e.sum(), model="float32").verdict)
    CONSISTENT
    >>> bad = judge(q, k, v, e @ v / e.sum() * np.float32(1.01), model="float32")
    >>> bad.verdict, bool(bad.ratio.max() > 100)
    ('REJECT', True)
    """
    model_ = get_model(model)
    call = read(query, key, value, options)
    allowed = _allowance(call, model_, quantity, tier=tier, reference=reference, omit=omit)
    return allowed.judge(got)


def _allowance(
    call: Call,
    model: PrecisionModel,
    quantity: str,
    *,
    tier: int,
    reference: Attention | None,
    omit: Collection[str],
) -> Allowance:
    read_choice("quantity", quantity, QUANTITIES)
    if quantity != "output" and tier != 2:
        raise InputError(f"tier is {tier}; the bound on {quantity} has tier 2 only")
    shapes = call.shapes
    columns = {"output": (shapes.Ev,), "weights": (shapes.S,), "lse": ()}[quantity]
    shape = (*shapes.lead, shapes.L, *columns)
    if not call.heads or not shapes.L:
        empty = np.zeros(shape)
        terms = dict.fromkeys(TERMS, empty)
        return Allowance(model, quantity, empty, terms, np.zeros(shape, np.uint8), (empty,) * 3)
    facts = gather(call.heads, solve_call(call, reference, quantity))
    bound: Bound
    if quantity == "output":
        bound = forward(facts, model, tier=tier, omit=omit)
    elif quantity == "weights":
        bound = forward_weights(facts, model, call.heads[0].real_S, omit=omit)
    else:
        bound = forward_lse(facts, model, omit=omit)
    return Allowance(
        model,
        quantity,
        bound.total.reshape(shape),
        {name: part.reshape(shape) for name, part in bound.terms.items()},
        bound.reason.reshape(shape),
        (
            facts.out.reshape(shape),
            facts.out_low.reshape(shape),
            facts.out_radius.reshape(shape),
        ),
    )
