"""The backward bound: how far gradients computed by a precision model can be from the exact ones.

A plain forward error analysis, step by step, with the weights' errors from the forward bound;
docs/bound.md carries the derivation. It covers backward passes that divide again, that recompute
the weights from a stored log-sum-exp, and both ways of forming the row term ``sum_l p_l dp_l``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnproofs.reference.bounds.facts import Facts, Floats
from attnproofs.reference.bounds.forward import (
    COVERED,
    EMPTY,
    INPUT_FORMAT,
    NO_BACKWARD,
    OVERFLOW,
    TERMS,
    exact_in,
    forward,
    grow,
    inside_error,
    magnitudes,
    plain_error,
    row_terms,
    total_of,
    weight_errors,
)
from attnproofs.reference.bounds.models import PrecisionModel, half_quantum
from attnproofs.reference.formats import get_format

Parts = dict[str, Floats]


@dataclass(frozen=True)
class HeadGradients:
    """Error of each head's gradients before they are stored, by term, with reasons.

    `errors` and `sizes` (magnitudes of the exact gradients, rounded up) have the keys ``dq``
    (G, L, E), ``dk`` (G, S, E), ``dv`` (G, S, D) and ``dbias`` (G, L, S). `reason_rows` (G, L)
    belongs to ``dq`` and ``dbias``, `reason` (G,) to the others.
    """

    errors: dict[str, Parts]
    sizes: dict[str, Floats]
    reason_rows: NDArray[np.uint8]
    reason: NDArray[np.uint8]


def _map(parts: Parts, function: Callable[[Floats], Floats]) -> Parts:
    return {name: function(part) for name, part in parts.items()}


def _plus(*several: Parts) -> Parts:
    return {name: sum((parts[name] for parts in several[1:]), several[0][name]) for name in TERMS}


def _only(shape: tuple[int, ...], **terms: Floats) -> Parts:
    zero = np.zeros(shape)
    return {name: terms.get(name, zero) + zero for name in TERMS}


def head_gradients(
    facts: Facts, grad: Floats, model: PrecisionModel, omit: Collection[str] = ()
) -> HeadGradients:
    """Propagate all errors of one call; `grad` is the gradient by the output, (G, L, D)."""
    with np.errstate(all="ignore"):
        return _head_gradients(facts, grad, model, omit)


def _head_gradients(
    facts: Facts, grad: Floats, model: PrecisionModel, omit: Collection[str]
) -> HeadGradients:
    u, tiny, scale = model.unit, model.tiny, abs(facts.scale)
    kept = facts.kept
    D = grad.shape[-1]
    row = row_terms(facts, model, 2, omit, recomputed=True)
    p, p_error = weight_errors(facts, model, row)
    unfused = model.scores_stored is not None
    stored = None if model.weights_stored is None else get_format(model.weights_stored)
    stored_unit = 0.0 if stored is None or "weights" in omit else stored.unit_roundoff
    stored_tiny = 0.0 if stored is None or "weights" in omit else half_quantum(stored)
    exact = 1 if model.exact_products else 0
    exact_narrow = exact if stored is not None else 0  # a stored weight times an input

    def sums(count: Floats | float, exact: int = exact_narrow) -> Floats:
        """Relative error of a sum of that many products, in any order."""
        if "sums" in omit:
            return np.zeros(np.shape(count))
        rounded = 2 * model.casts  # the inputs, on entry
        if model.dot_error is not None:
            whole = (1 + model.dot_error) * (1 + float(grow(rounded, u))) - 1
            return np.full(np.shape(count), whole)
        return grow(np.maximum(np.asarray(count, np.float64) - exact, 0) + rounded, u)

    def rounding(count: float) -> float:
        return 0.0 if "sums" in omit else float(grow(count, u))

    if unfused:  # the stored weights are used throughout
        whole = p + total_of(p_error)
        p_error["weights"] = np.where(kept, stored_unit * whole + stored_tiny, 0.0)
    p_hat = p + total_of(p_error)

    # dp = grad . value; a number rounded on entry may become subnormal
    cast_tiny = (
        2
        * model.casts
        * tiny
        * (np.abs(grad).sum(-1)[..., :, None] + np.abs(facts.value).sum(-1)[..., None, :] + 1)
    )
    magnitude = np.abs(grad)
    spread = magnitude @ np.abs(facts.value).swapaxes(-1, -2)
    dp = grad @ facts.value.swapaxes(-1, -2)
    dp_abs = np.where(kept, np.abs(dp) + (D + 2) * 2.0**-52 * spread, 0.0)
    dp_error = _only(
        kept.shape, sums=sums(D, exact) * spread, underflow=_full(kept, 2 * D * tiny) + cast_tiny
    )
    if unfused:
        dp_error["weights"] = stored_unit * (dp_abs + total_of(dp_error)) + stored_tiny
    dp_error = _map(dp_error, lambda part: np.where(kept, part, 0.0))
    dp_hat = dp_abs + total_of(dp_error)

    # the row term, from the stored output or from the weights
    out_abs = np.abs(facts.out) + np.abs(facts.out_low) + facts.out_radius
    out_bound = forward(facts, model, omit=omit)
    by_output = _map(out_bound.terms, lambda part: (magnitude * part).sum(-1))
    out_hat = (magnitude * (out_abs + total_of(out_bound.terms))).sum(-1)
    by_output["sums"] = by_output["sums"] + rounding(D + model.casts) * out_hat
    by_output["underflow"] = by_output["underflow"] + 2 * D * tiny
    n = kept.sum(-1).astype(np.float64)
    by_weights = _plus(
        _map(p_error, lambda part: (part * dp_abs).sum(-1)),
        _map(dp_error, lambda part: (p_hat * part).sum(-1)),
    )
    by_weights["sums"] = by_weights["sums"] + (0.0 if "sums" in omit else 1.0) * grow(n, u) * (
        p_hat * dp_hat
    ).sum(-1)
    by_weights["underflow"] = by_weights["underflow"] + 2 * n * tiny
    larger = total_of(by_output) >= total_of(by_weights)
    d_error = {name: np.where(larger, by_output[name], by_weights[name]) for name in TERMS}
    d = (grad * facts.out).sum(-1)
    d_slack = (magnitude * out_abs).sum(-1) * (D + 4) * 2.0**-52
    d_hat = np.abs(d) + d_slack + total_of(d_error)

    # ds = p (dp - d)
    gap = np.abs(dp - d[..., None]) + (D + 2) * 2.0**-52 * spread + d_slack[..., None]
    gap = np.where(kept, gap, 0.0)
    both = {name: dp_error[name] + d_error[name][..., None] for name in TERMS}
    ds_error = _plus(
        _map(p_error, lambda part: part * gap),
        _map(both, lambda part: p_hat * part),
        _only(
            kept.shape,
            sums=rounding(3) * p_hat * (dp_hat + d_hat[..., None]),
            underflow=_full(kept, 3 * tiny),
        ),
    )
    ds_error = _map(ds_error, lambda part: np.where(kept, part, 0.0))
    ds_hat = np.where(kept, p * gap, 0.0) + total_of(ds_error)

    bias = dict(ds_error)  # a mask is added after the soft-cap
    bias_hat = ds_hat
    if facts.softcap is not None:
        ds_error, ds_hat = _through_cap(facts, model, ds_error, ds_hat, omit)

    # ds is scaled (before or after the product) and stored, then multiplied by key or query
    times = 0 if stored is None else 2 + model.scale_on_inputs if unfused else 1
    narrow = float(grow(times, stored_unit)) if stored_unit else 0.0
    scaled = rounding(model.scale_roundings + 1)
    large = max(1.0, scale)
    keep = kept.astype(np.float64)

    def product(other: Floats, count: Floats, turn: bool) -> Parts:
        """Error of ``scale * ds @ other`` or of its transpose."""

        def apply(x: Floats) -> Floats:
            return (x.swapaxes(-1, -2) if turn else x) @ other

        whole = scale * apply(ds_hat)
        lengths = apply(keep)
        mass = (ds_hat.sum(-2) if turn else ds_hat.sum(-1))[..., None]
        relative = (1 + narrow) * (1 + sums(count)[..., None]) * (1 + scaled) - 1 - narrow
        parts = _map(ds_error, lambda part: scale * apply(part))
        parts["sums"] = parts["sums"] + np.maximum(relative, 0.0) * whole
        parts["weights"] = (
            parts["weights"] + narrow * whole + 2 * times * large * (stored_tiny * lengths)
        )
        few = model.scale_roundings + 1
        parts["underflow"] = parts["underflow"] + 4 * large * tiny * (
            few * lengths + mass + 2 * count[..., None] + few
        )
        return parts

    rows = keep.sum(-2)
    query = product(np.abs(facts.key), n, turn=False)
    key = product(np.abs(facts.query), rows, turn=True)

    # dv = p^T grad
    p_unit = 0.0 if unfused else stored_unit
    p_mass = p_hat.swapaxes(-1, -2) @ magnitude
    value = _map(p_error, lambda part: part.swapaxes(-1, -2) @ magnitude)
    value["sums"] = value["sums"] + (1 + p_unit) * sums(rows)[..., None] * p_mass
    value["weights"] = value["weights"] + p_unit * p_mass
    if not unfused:
        value["weights"] = value["weights"] + 2 * stored_tiny * (keep.swapaxes(-1, -2) @ magnitude)
    value["underflow"] = value["underflow"] + 4 * rows[..., None] * tiny

    bias["weights"] = bias["weights"] + np.where(kept, narrow * bias_hat + times * stored_tiny, 0.0)

    ceiling = min(
        get_format(name).largest_finite
        for name in (model.accumulate, model.scores_stored, model.weights_stored)
        if name is not None
    )
    accumulated = get_format(model.accumulate).largest_finite
    reach = np.maximum(
        np.max(spread, -1, initial=0.0, where=kept), (ds_hat * large).max(-1, initial=0.0)
    )
    reason_rows = row.reason.copy()
    few_keys = scale * (ds_hat @ np.abs(facts.key)).max(-1, initial=0.0)
    over = (2 * reach >= ceiling) | (2 * large * np.maximum(few_keys, d_hat) >= accumulated)
    over |= magnitude.max(-1, initial=0.0) * 2 >= accumulated
    reason_rows[(reason_rows == 0) & over] = OVERFLOW
    # a covered output is needed where the row term comes from it; an empty row has none
    some = out_bound.reason.max(-1, initial=0)
    reason_rows[reason_rows == 0] = some[reason_rows == 0]
    down = np.maximum(
        scale * (ds_hat.swapaxes(-1, -2) @ np.abs(facts.query)).max((-2, -1), initial=0.0),
        p_mass.max((-2, -1), initial=0.0),
    )
    # an empty row contributes nothing to the gradients by key and value
    contributing = np.where(reason_rows == EMPTY, COVERED, reason_rows)
    reason = contributing.max(-1, initial=0).astype(np.uint8)
    reason[(reason == 0) & (2 * large * down >= accumulated)] = OVERFLOW
    foreign = ~exact_in(grad, model.input)
    if (stored is not None and stored.precision < 8) or model.merged_parts:
        reason[:], reason_rows[:] = NO_BACKWARD, NO_BACKWARD
    reason[foreign], reason_rows[foreign] = INPUT_FORMAT, INPUT_FORMAT
    ds = np.where(kept, p * (dp - d[..., None]), 0.0)
    if facts.softcap is not None:
        score = facts.scale * (facts.query @ facts.key.swapaxes(-1, -2))
        ds = ds * (1 - np.tanh(score / facts.softcap) ** 2)
    slack = 2.0**-20  # of the sum of magnitudes: far above the errors of these float64 products
    sizes = {
        "dq": scale * (np.abs(ds @ facts.key) + slack * (ds_hat @ np.abs(facts.key))),
        "dk": scale
        * (
            np.abs(ds.swapaxes(-1, -2) @ facts.query)
            + slack * (ds_hat.swapaxes(-1, -2) @ np.abs(facts.query))
        ),
        "dv": np.abs(p.swapaxes(-1, -2) @ grad) + slack * p_mass,
        "dbias": bias_hat,
    }
    errors = {"dq": query, "dk": key, "dv": value, "dbias": bias}
    return HeadGradients(errors, sizes, reason_rows, reason)


def _through_cap(
    facts: Facts, model: PrecisionModel, error: Parts, hat: Floats, omit: Collection[str]
) -> tuple[Parts, Floats]:
    """Multiply by the soft-cap's slope ``1 - tanh(score / C)**2``."""
    assert facts.softcap is not None
    u, cap = model.unit, facts.softcap
    products, scaled, _ = magnitudes(facts, 2)
    delta, _ = plain_error(facts, model, products, scaled)
    if "scores" in omit:
        delta = np.zeros_like(delta)
    inside = inside_error(cap, model, delta, scaled) / cap
    score = abs(facts.scale) * (facts.query @ facts.key.swapaxes(-1, -2))
    noise = (facts.query.shape[-1] + 4) * 2.0**-52 * abs(facts.scale) * products / cap + 2.0**-50
    slope = np.clip(1 - np.tanh(score / cap) ** 2 + 2 * noise, 0.0, 1.0)
    rounding = float(grow(model.tanh_error + 3, u))
    if model.scores_stored is not None:
        rounding += float(grow(4, get_format(model.scores_stored).unit_roundoff))
    if "sums" in omit:
        rounding = 0.0
    tanh_error = np.minimum(inside, 2.0) + rounding
    slope_error = 2 * tanh_error * (1 + tanh_error)
    out = _map(error, lambda part: part * slope)
    moved = np.where(facts.kept, hat * slope_error, 0.0)
    by_scores = np.minimum(inside, 2.0) / tanh_error
    out["scores"] = out["scores"] + moved * by_scores
    again = float(grow(4, u)) if "sums" not in omit else 0.0
    if model.scores_stored is not None:
        again += get_format(model.scores_stored).unit_roundoff
    hat_capped = np.where(facts.kept, hat * np.minimum(slope + slope_error, 1 + slope_error), 0.0)
    out["sums"] = out["sums"] + moved * (1 - by_scores) + again * (hat_capped + hat)
    out["underflow"] = out["underflow"] + np.where(facts.kept, 4 * model.tiny * (1 + hat), 0.0)
    return out, hat_capped + total_of(out)


def _full(kept: NDArray[np.bool_], value: float) -> Floats:
    return np.where(kept, value, 0.0)
