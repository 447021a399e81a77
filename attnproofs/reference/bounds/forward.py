"""The forward bound: how far any program of a precision model can be from the exact output.

The formulas are those of docs/bound.md, evaluated in float64 on outward-rounded data. Apart from
a few differences that are rounded outwards where they stand, every quantity is a sum or product
of non-negative numbers with fewer than ``2**20`` operations, so one factor ``1 + 2**-30`` at the
end absorbs every rounding of the evaluation itself.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnproofs.errors import InputError
from attnproofs.reference.bounds.facts import Facts, Floats
from attnproofs.reference.bounds.models import PrecisionModel, half_quantum
from attnproofs.reference.formats import FORMATS, get_format

#: The parts of an allowance, in the order of the computation.
TERMS = ("scores", "shift", "exp", "sums", "weights", "output", "underflow")

#: Why an element is not covered; 0 is "covered".
REASONS = (
    "",
    "no key is kept: the result is a convention, not a rounding error",
    "a number of the computation may overflow",
    "an input is not a number of the model's input format",
    "the bound is infinite: the formats cannot support sums of this length or scores this large",
    "the enclosure is too wide to decide; raise the precision of the reference",
    "no backward bound is proved for weights of 8 bits or for merged parts",
)
COVERED, EMPTY, OVERFLOW, INPUT_FORMAT, VACUOUS, WIDE, NO_BACKWARD = range(7)

_UP = 1 + 2.0**-30  # absorbs the roundings of the evaluation
_SMALL = 2.0**-1070  # absorbs its underflows
_CHUNK = 1 << 21  # entries of a (rows, keys, width) block


@dataclass(frozen=True)
class Bound:
    """Allowance of each element and its parts; shapes (G, L, D)."""

    total: Floats
    terms: dict[str, Floats]
    reason: NDArray[np.uint8]


@dataclass(frozen=True)
class RowTerms:
    """What the bound knows of a row before it meets the values.

    Shapes (G, L, S) for `scores`, `shift`, `exp` and `total` (the parts of the log-weight
    perturbation h_j and their sum), (G, L) for the rest: `normalise` is X, `values` and `weights`
    split G, `lost` counts absolute errors of single weights, `product_lost` those of the value
    sums; `log_sum` bounds the logarithm of the sum of exponentials and `log_sum_error` the
    error that its roundings cause in it.
    """

    scores: Floats
    shift: Floats
    exp: Floats
    total: Floats
    normalise: Floats
    values: Floats
    weights: Floats
    lost: Floats
    stored_lost: Floats
    product_lost: Floats
    log_sum: Floats
    log_sum_error: Floats
    top: Floats
    reason: NDArray[np.uint8]


def grow(count: Floats | float, unit: float) -> Floats:
    """``(1 + unit)**count - 1``: relative error of at most `count` factors ``1 + delta``."""
    return _array(np.expm1(np.asarray(count, np.float64) * np.log1p(unit)))


def _array(x: object) -> Floats:
    return np.asarray(x, dtype=np.float64)


def _log_shrink(count: Floats, unit: float) -> Floats:
    """``-count * ln(1 - unit)``: what dividing by `count` such factors can cost, as a logarithm."""
    return _array(-count * np.log1p(-unit))


def row_terms(
    facts: Facts,
    model: PrecisionModel,
    tier: int,
    omit: Collection[str],
    *,
    recomputed: bool = False,
) -> RowTerms:
    """Evaluate (S), (T), (L) and the constants of (P), (O), (D) for every row.

    With `recomputed`, the weights may also be ``exp(score - lse)`` with scores computed a second
    time, in another order than those that the log-sum-exp was made from (a backward pass).
    """
    u, tiny = model.unit, model.tiny
    kept, kept_any = facts.kept, facts.kept.any(-1)
    size = kept.shape[-1]
    n = kept.sum(-1).astype(np.float64)
    products, scaled, bias = magnitudes(facts, tier)
    delta, highest = _score_error(facts, model, tier, products=products, scaled=scaled, bias=bias)
    lse_abs = facts.lse_abs
    if tier == 2:
        drop, drop_low, score, top = (
            facts.drop,
            facts.drop_low,
            facts.score_abs,
            facts.top_abs,
        )
    else:  # without the oracle: no score exceeds the product of the magnitudes
        score = scaled + bias
        top = np.max(score, -1, initial=0.0, where=kept)
        drop, drop_low = np.broadcast_to(2 * top[..., None], kept.shape), np.zeros(kept.shape)
        n = np.full_like(n, size) if tier == 0 else n
        lse_abs = top + np.log(np.maximum(n, 1))
    if "scores" in omit:
        delta = np.zeros_like(delta)

    # the computed maximum exceeds the true one by at most `rise`; the distance to it is `reach`
    rise = np.max(delta * _UP - drop_low, -1, initial=0.0, where=kept)
    reach = drop + delta + rise[..., None] + 2 * model.shift_slack
    fall = np.min(drop + delta, -1, initial=np.inf, where=kept)
    top_hat = top + np.maximum(rise, np.where(kept_any, fall, 0.0))

    after, rescales, tiles = _rescales(
        model, kept, tier, drop=drop, drop_low=drop_low, delta=delta, n=n
    )
    passes = 1 + after + (1 if model.renormalised_tiles else 0)
    exp_unit = -np.log1p(-model.exp_error * u)
    exp = exp_unit * passes
    exp_top = exp_unit * (1 + rescales + (1 if model.renormalised_tiles else 0))

    shift = u * reach
    shift_top = np.zeros_like(top)
    if model.exp2_shift:
        largest = np.maximum(score + delta, top_hat[..., None]) + model.shift_slack
        shift = (2 * u + u * u) * reach + (u + u * u) * largest
        shift_top = (u + u * u) * top_hat
    if model.flush_subnormals:
        shift = shift + tiny * passes
    sum_roundings = np.maximum(n - 1, 0) + rescales + (1 if model.renormalised_tiles else 0)
    log_sum = np.log(np.maximum(n, 1)) + sum_roundings * np.log1p(u) + shift_top + exp_top + 1
    log_sum = log_sum + model.shift_slack
    by_lse = model.exp_of_lse or recomputed or model.merged_parts > 0
    if by_lse:
        shift = shift + (u * log_sum + 2 * u * u * lse_abs)[..., None]
    merges = float(model.merged_parts)
    if merges:  # each part's log-sum-exp is rounded, then differences of them
        largest = np.maximum(score + delta, top_hat[..., None]) + log_sum[..., None]
        shift = shift + model.log_error * u * log_sum[..., None] + 4 * u * largest
        shift = shift + (2 * u + u * u) * (reach + 2 * log_sum[..., None])
        exp = exp + exp_unit * merges
        exp_top = exp_top + exp_unit * merges
        sum_roundings = sum_roundings + merges
    if "shift" in omit:
        shift, shift_top = np.zeros_like(shift), np.zeros_like(shift_top)
    if "exp" in omit:
        exp, exp_top = np.zeros_like(exp), np.zeros_like(exp_top)

    stored_unit, stored_tiny = 0.0, 0.0
    if model.weights_stored is not None:
        fmt = get_format(model.weights_stored)
        stored_unit = fmt.unit_roundoff
        stored_tiny = np.ldexp(half_quantum(fmt), -model.weights_scale)
    if "weights" in omit:
        stored_unit = stored_tiny = 0.0
    total = delta + shift + exp
    if model.sum_of_stored:
        total = total - np.log1p(-stored_unit)

    # least value of the sum of exponentials: the row maximum alone
    least = np.exp(-(shift_top + exp_top + model.shift_slack))
    if by_lse:
        least = least * np.exp(-log_sum)
    # absolute errors are multiplied by later factors 1 + delta
    grown_tiny = tiny * (1 + grow(sum_roundings, u)) / least
    lost_sum = 2 * (n * (2 + rescales) + 2) * grown_tiny
    vacuous = lost_sum >= 0.5
    log_sum_error = _log_shrink(sum_roundings, u) + 2 * np.where(vacuous, 0.0, lost_sum)
    divide = float(grow(model.division_roundings, u))
    log_normalise = np.log1p(divide) + log_sum_error
    if by_lse:
        own = total if recomputed else shift + exp
        route = _lse_route(
            facts, model, tier, total=total, own=own, log_sum=log_sum, lse_abs=lse_abs
        )
        if recomputed:  # maximum and lse may be scaled to and from base 2
            route = route + 5.5 * u * (lse_abs + log_sum)
        log_normalise = np.maximum(log_normalise, route + log_sum_error)
    normalise = np.expm1(log_normalise)

    narrow = model.exact_products and model.weights_stored is not None
    value_roundings = n - (1 if narrow else 0) + rescales + model.casts
    if model.renormalised_tiles:
        value_roundings = value_roundings + 2 + 4 * tiles
    if merges:
        value_roundings = value_roundings + 2 * merges + 1 + model.division_roundings
    if model.dot_error is None:
        values = grow(np.maximum(value_roundings, 0), u)
    else:
        steps = tiles + rescales + 3 * merges + 3
        values = (1 + model.dot_error) * (1 + grow(steps, u)) - 1
    values = (1 + values) * (1 + divide) - 1
    if "sums" in omit:
        normalise, values = np.zeros_like(normalise), np.zeros_like(values)
    weights = (1 + values) * (0.0 if model.sum_of_stored else stored_unit)

    lost = 2 * n * (2 + rescales) * grown_tiny
    stored_lost = n * stored_tiny / least
    if model.sum_of_stored:
        lost, stored_lost = lost + stored_lost, np.zeros_like(stored_lost)
    product_lost = 2 * (value_roundings + n + 2) * grown_tiny * (1 + values)

    reason = np.zeros(kept.shape[:-1], np.uint8)
    reason[vacuous] = VACUOUS
    # a score that falls below the range becomes -inf, whose weight 0 is within `lost`;
    # products, the row maximum and anything positive must stay in range
    ceiling = min(
        get_format(name).largest_finite
        for name in (model.accumulate, model.scores_stored)
        if name is not None
    )
    too_high = np.max(highest, -1, initial=0.0, where=kept)
    reason[(np.maximum(too_high, top_hat) * 1.4427 * _UP >= ceiling)] = OVERFLOW
    reason[
        n * 4 * np.exp(model.shift_slack) * _UP >= get_format(model.accumulate).largest_finite
    ] = OVERFLOW
    if model.weights_stored is not None:
        most = np.exp(shift_top + exp_top + model.shift_slack) * 2.0**model.weights_scale
        reason[most * _UP >= get_format(model.weights_stored).largest_finite] = OVERFLOW
    if model.scale_on_inputs or model.casts:
        inputs = np.maximum(
            np.abs(facts.query).max((-2, -1), initial=0.0),
            np.abs(facts.key).max((-2, -1), initial=0.0),
        )[..., None]
        over = inputs * max(1.0, abs(facts.scale)) * 2 >= ceiling
        reason = np.where(over, OVERFLOW, reason).astype(np.uint8)
    reason[~kept_any] = EMPTY
    return RowTerms(
        scores=delta,
        shift=shift,
        exp=np.broadcast_to(exp, kept.shape),
        total=total,
        normalise=normalise,
        values=values,
        weights=weights,
        lost=lost,
        stored_lost=stored_lost,
        product_lost=product_lost,
        log_sum=log_sum,
        log_sum_error=log_sum_error,
        top=top_hat,
        reason=reason,
    )


def magnitudes(facts: Facts, tier: int) -> tuple[Floats, Floats, Floats]:
    """Sums of absolute products, the same scaled (or the score itself), and the bias; (G, L, S)."""
    query, key = np.abs(facts.query), np.abs(facts.key)
    scale, width = abs(facts.scale), facts.query.shape[-1]
    zero = np.zeros(facts.kept.shape)
    bias = zero if facts.bias_abs is None else np.where(facts.kept, facts.bias_abs, 0.0)
    if tier == 0:  # norms only
        longest_q = np.sqrt(np.sum(query**2, -1)).max(-1, initial=0.0)[..., None, None]
        longest_k = np.sqrt(np.sum(key**2, -1)).max(-1, initial=0.0)[..., None, None]
        # a square may underflow; each loses at most the smallest number
        products = (longest_q + width * 2.0**-530) * (longest_k + width * 2.0**-530) * _UP + zero
        bias = bias.max((-2, -1), initial=0.0)[..., None, None] + zero
        return products, scale * products, bias
    products = query @ key.swapaxes(-1, -2) + width * 2.0**-1073
    if tier == 1:
        return products, scale * products, bias
    score = np.abs(facts.query @ facts.key.swapaxes(-1, -2)) * scale
    score = score + (width + 4) * 2.0**-52 * scale * products
    return products, np.minimum(score, scale * products * _UP), bias


def plain_error(
    facts: Facts, model: PrecisionModel, products: Floats, scaled: Floats
) -> tuple[Floats, Floats]:
    """Error of the scaled product of query and key, and the largest number on the way."""
    u, tiny, scale = model.unit, model.tiny, abs(facts.scale)
    width = facts.query.shape[-1]
    roundings = max(width - (1 if model.exact_products else 0), 0) + 2 * model.casts
    dot = float(grow(roundings, u))
    if model.dot_error is not None:
        dot = (1 + model.dot_error) * (1 + float(grow(2 * model.casts, u))) - 1
    factor = float(grow(model.scale_roundings, u))
    if model.scale_on_inputs:
        delta = ((1 + dot) * (1 + factor) - 1) * scale * products
    else:
        delta = (1 + factor) * dot * scale * products + factor * scaled
    lengths = np.abs(facts.query).sum(-1)[..., :, None] + np.abs(facts.key).sum(-1)[..., None, :]
    if model.scale_on_inputs or model.casts:
        # scaled or rounded inputs may be subnormal: each coordinate is then off by `tiny`
        delta = delta + 4 * max(1.0, scale) * tiny * (lengths + width * tiny)
    # `tiny` for each product (and each sum, where subnormals are flushed) and each scaling
    delta = delta + 2 * (1 + factor) * tiny * (
        2 * width * scale * (1 + dot) + model.scale_roundings * max(1.0, scale)
    )
    highest = np.maximum(products, scale * products) * (1 + dot) * (1 + factor)
    if model.scores_stored is not None:  # written after the product and after the scaling
        stored = get_format(model.scores_stored)
        twice = float(grow(2, stored.unit_roundoff))
        if model.scale_on_inputs:  # the scaled inputs are stored: the constant, and the product
            delta = delta + twice * (scale * products + delta)
            lost = (
                np.abs(facts.query).sum(-1)[..., :, None] + np.abs(facts.key).sum(-1)[..., None, :]
            )
            delta = delta + 4 * max(1.0, scale) * half_quantum(stored) * (lost + width)
        delta = delta + twice * (scaled + delta) + 2 * max(1.0, scale) * 2 * half_quantum(stored)
    return delta, highest


def inside_error(cap: float, model: PrecisionModel, delta: Floats, scaled: Floats) -> Floats:
    """Error of a soft-cap's ``C * (score / C)`` before the tanh."""
    return delta + float(grow(2, model.unit)) * (scaled + delta) + 2 * (cap + 1) * model.tiny


def _score_error(
    facts: Facts,
    model: PrecisionModel,
    tier: int,
    *,
    products: Floats,
    scaled: Floats,
    bias: Floats,
) -> tuple[Floats, Floats]:
    """Hypothesis (S): the bound on the error of each score, and the largest number on the way."""
    u, tiny = model.unit, model.tiny
    delta, highest = plain_error(facts, model, products, scaled)
    stored = None if model.scores_stored is None else get_format(model.scores_stored)
    score = scaled
    if facts.softcap is not None:
        cap = facts.softcap
        inside = inside_error(cap, model, delta, scaled)
        value = np.minimum(cap, scaled + inside)
        outside = float(grow(model.tanh_error + 2, u)) * value + 2 * (cap + 1) * tiny
        delta = np.minimum(inside, 2 * cap) + outside
        if stored is not None:
            delta = delta + float(grow(3, stored.unit_roundoff)) * (value + delta)
            delta = delta + 3 * (cap + 1) * half_quantum(stored)
        score = np.minimum(cap, scaled)
    if facts.bias_abs is not None:
        final = facts.score_abs if tier == 2 else score + bias
        bias_error = float(grow(model.bias_roundings, u)) * bias + model.bias_roundings * tiny
        delta = delta + bias_error
        delta = delta + u * (final + delta) + tiny
        if stored is not None:
            delta = delta + stored.unit_roundoff * (final + delta + bias) + half_quantum(stored)
    return np.where(facts.kept, delta, 0.0), highest


def _rescales(
    model: PrecisionModel,
    kept: NDArray[np.bool_],
    tier: int,
    *,
    drop: Floats,
    drop_low: Floats,
    delta: Floats,
    n: Floats,
) -> tuple[Floats, Floats, float]:
    """Rescalings after each key, in a row altogether, and tiles; for tiles in either direction.

    A tile rescales only when it raises the running maximum, so there are at most as many
    rescalings as keys whose computed score may exceed every earlier one.
    """
    if model.tile is None:
        return np.zeros(kept.shape), np.zeros(n.shape), 1.0
    tiles = float(-(-kept.shape[-1] // model.tile))
    most = np.maximum(np.minimum(tiles, n) - 1, 0)
    if tier != 2:
        return np.broadcast_to(most[..., None], kept.shape), most, tiles
    high = np.where(kept, delta * _UP - drop_low, -np.inf)
    low = np.where(kept, -delta * _UP - drop * _UP, -np.inf)
    forward = _after_records(high, low)
    backward = _after_records(high[..., ::-1], low[..., ::-1])
    after = np.maximum(forward[0], backward[0][..., ::-1])
    records = np.maximum(forward[1], backward[1]) - 1
    after = np.minimum(after, most[..., None])
    return after, np.clip(records, 0, most), tiles


def _after_records(high: Floats, low: Floats) -> tuple[Floats, Floats]:
    """Number of possible new maxima after each key, and altogether."""
    before = np.full_like(low, -np.inf)
    np.maximum.accumulate(low[..., :-1], axis=-1, out=before[..., 1:])
    record = high >= before
    record &= high > -np.inf
    total = record.sum(-1).astype(np.float64)
    return total[..., None] - record.cumsum(-1), total


def _lse_route(
    facts: Facts,
    model: PrecisionModel,
    tier: int,
    *,
    total: Floats,
    own: Floats,
    log_sum: Floats,
    lse_abs: Floats,
) -> Floats:
    """What weights ``exp(score - lse)`` can fail to add up to 1, as a logarithm.

    The errors of shift and exp, `own`, are made twice, differently; those of the scores cancel.
    """
    if tier == 2:
        weight = np.where(facts.kept, facts.log_weight, -np.inf)
        mean = np.sum(_weigh(weight, total), -1)
        moved = np.sum(_grown(weight, total + mean[..., None], 2 * own), -1)
        drift = np.log1p(np.sum(_grown(weight, np.zeros_like(total), total), -1))
    else:
        moved = np.expm1(np.max(2 * own, -1, initial=0.0, where=facts.kept))
        drift = np.max(total, -1, initial=0.0, where=facts.kept)
    added = 1 + model.merged_parts  # each merge makes a log-sum-exp of its own
    return _array(np.log1p(moved) + added * _log_and_add(model, drift, log_sum, lse_abs))


def _log_and_add(model: PrecisionModel, drift: Floats, log_sum: Floats, lse_abs: Floats) -> Floats:
    """Rounding errors of ``max + log(sum)`` when the sum is off by `drift` in its logarithm."""
    u = model.unit
    largest = lse_abs + drift + 2 * log_sum
    return _array(model.log_error * u * log_sum + 1.1 * u * largest + 2 * model.tiny)


def _weigh(log_weight: Floats, factor: Floats) -> Floats:
    """``weight * factor``, also where the weight underflows and the factor is huge."""
    masked = np.isneginf(log_weight)
    exponent = np.where(masked, 0.0, log_weight)
    with np.errstate(divide="ignore"):
        value = np.exp(exponent + np.log(factor) + 2.0**-48 * np.abs(exponent))
    return _array(np.where(masked, 0.0, value))


def _grown(log_weight: Floats, base: Floats, by: Floats) -> Floats:
    """``weight * exp(base) * (exp(by) - 1)``, rounded up, without overflow on the way."""
    masked, small = np.isneginf(log_weight), by < 0.5
    start = np.where(masked, 0.0, log_weight)
    exponent = start + base + np.where(small, 0.0, by)
    slack = 2.0**-48 * (np.abs(start) + base + by)
    value = np.exp(exponent + slack) * np.where(small, np.expm1(np.where(small, by, 0.0)), 1.0)
    return _array(np.where(masked, 0.0, value + 1e-310))


def forward(
    facts: Facts, model: PrecisionModel, *, tier: int = 2, omit: Collection[str] = ()
) -> Bound:
    """Allowance of every output element.

    Parameters
    ----------
    facts
        The case.
    model
        The declared roundings.
    tier
        2 uses the exact weights and outputs; 1 only ``|q|.|k|`` and the extent of the values;
        0 only shapes and norms. All three are rigorous; each is at least about as large as the
        one before.
    omit
        Terms left out, for negative controls only: the result is then not a bound.

    Raises
    ------
    InputError
        For another tier or an unknown term.
    """
    if tier not in (0, 1, 2):
        raise InputError(f"tier: expected 2, 1 or 0, got {tier!r}")
    if unknown := sorted(set(omit) - set(TERMS)):
        raise InputError(f"omit: unknown term {unknown[0]!r}; expected one of {', '.join(TERMS)}")
    with np.errstate(all="ignore"):
        row = row_terms(facts, model, tier, omit)
        return _meet_values(facts, model, row, tier, omit)


def weight_errors(
    facts: Facts, model: PrecisionModel, row: RowTerms
) -> tuple[Floats, dict[str, Floats]]:
    """Weights, rounded up, and the error of each before it is stored, by term; (G, L, S)."""
    kept = facts.kept
    log_weight = np.where(kept, facts.log_weight, -np.inf)
    p = np.where(kept, np.exp(log_weight) * _UP + 1e-310, 0.0)
    grown = _grown(log_weight, np.zeros_like(row.total), row.total)
    means = {
        name: np.sum(_weigh(log_weight, getattr(row, name)), -1, keepdims=True)
        for name in ("scores", "shift", "exp", "total")
    }
    h_max = np.max(row.total, -1, initial=0.0, where=kept)[..., None]
    # the distances |v_l - p_j| of the values v = (0, .., 1, .., 0)
    everything = grown.sum(-1, keepdims=True)
    own = np.maximum(1 - p * (1 - 2.0**-28), 0.0)
    others = np.maximum(everything - grown, 0.0) + 2.0**-40 * everything
    moved = np.fmin(np.tanh(h_max / 2), np.exp(means["total"]) * (grown * own + p * others))
    X = row.normalise[..., None]
    terms = dict.fromkeys(TERMS, np.zeros(kept.shape))
    whole = row.total + means["total"]
    for name in ("scores", "shift", "exp"):
        share = _part_of(getattr(row, name) + means[name], whole, name)
        terms[name] = (1 + X) * moved * share
    terms["sums"] = X * p
    terms["underflow"] = (1 + X) * row.lost[..., None] + 4 * model.tiny
    return p, {name: np.where(kept, part * _UP + _SMALL, 0.0) for name, part in terms.items()}


def forward_weights(
    facts: Facts, model: PrecisionModel, keys: int, *, omit: Collection[str] = ()
) -> Bound:
    """Allowance of every weight, shapes (G, L, S), a sink left out; `facts.out` are the weights."""
    with np.errstate(all="ignore"):
        row = row_terms(facts, model, 2, omit)
        p, terms = weight_errors(facts, model, row)
        kept, stored = facts.kept, model.weights_stored
        if stored is not None and "weights" not in omit:
            fmt = get_format(stored)
            before = total_of(terms)
            lost = np.ldexp(half_quantum(fmt), -model.weights_scale)
            terms["weights"] = np.where(kept, fmt.unit_roundoff * (p + before) + lost, 0.0) * _UP
        if model.output not in (model.accumulate, stored) and "output" not in omit:
            fmt = get_format(model.output)
            before = total_of(terms)
            cast = fmt.unit_roundoff * (p + before) + half_quantum(fmt)
            terms["output"] = np.where(kept, cast, 0.0) * _UP
    return _finish(facts, model, row, {name: part[..., :keys] for name, part in terms.items()})


def forward_lse(facts: Facts, model: PrecisionModel, *, omit: Collection[str] = ()) -> Bound:
    """Allowance of the log-sum-exp of every row, shapes (G, L, 1)."""
    u = model.unit
    with np.errstate(all="ignore"):
        row = row_terms(facts, model, 2, omit)
        log_weight = np.where(facts.kept, facts.log_weight, -np.inf)
        moved = np.log1p(np.sum(_grown(log_weight, np.zeros_like(row.total), row.total), -1))
        terms = dict.fromkeys(TERMS, np.zeros(moved.shape))
        means = {
            name: np.sum(_weigh(log_weight, getattr(row, name)), -1)
            for name in ("scores", "shift", "exp")
        }
        whole = sum(means.values(), np.zeros(moved.shape))
        for name, mean in means.items():
            terms[name] = moved * _part_of(mean, whole, name)
        if "sums" not in omit:
            terms["sums"] = row.log_sum_error + _log_and_add(
                model, moved, row.log_sum, facts.lse_abs
            )
            if model.exp2_shift:  # the maximum is multiplied by the scale after the softmax
                terms["sums"] = terms["sums"] + 3 * u * row.top
        if model.output != model.accumulate and "output" not in omit:
            fmt = get_format(model.output)
            before = total_of(terms)
            terms["output"] = fmt.unit_roundoff * (facts.lse_abs + before) + half_quantum(fmt)
        terms = {name: (part * _UP + _SMALL)[..., None] for name, part in terms.items()}
    return _finish(facts, model, row, terms)


def total_of(terms: dict[str, Floats]) -> Floats:
    """Sum of the terms."""
    return sum(terms.values(), np.zeros(terms["scores"].shape))


def _part_of(part: Floats, whole: Floats, name: str) -> Floats:
    """``part / whole``; where that says nothing, all of it is the scores'."""
    usable = np.isfinite(whole) & (whole > 0)
    return np.where(usable, part / np.where(usable, whole, 1.0), float(name == "scores"))


def _finish(
    facts: Facts,
    model: PrecisionModel,
    row: RowTerms,
    terms: dict[str, Floats],
    reason: NDArray[np.uint8] | None = None,
) -> Bound:
    """Sum the terms and say where nothing is claimed."""
    total = total_of(terms)
    if reason is None:
        reason = np.broadcast_to(row.reason[..., None], total.shape).copy()
    reason[(reason == 0) & ~np.isfinite(total)] = VACUOUS
    reason[(reason != EMPTY) & ~in_format(facts, model)[:, None, None]] = INPUT_FORMAT
    return Bound(np.where(reason == 0, total, np.inf), terms, reason)


def _meet_values(
    facts: Facts, model: PrecisionModel, row: RowTerms, tier: int, omit: Collection[str]
) -> Bound:
    """Combine row terms with the values: the theorem itself."""
    shape = facts.out.shape
    highest, spread, spread_abs, around, mass = _value_extent(facts, row, tier)
    column = {
        name: getattr(row, name)[..., None]
        for name in ("normalise", "values", "weights", "lost", "stored_lost", "product_lost")
    }
    X = column["normalise"]
    h_max = np.max(row.total, -1, initial=0.0, where=facts.kept)[..., None]
    tilt = np.tanh(h_max / 2)
    lost = column["lost"]
    if tier == 2:
        out_abs = np.abs(facts.out) + np.abs(facts.out_low) + facts.out_radius
        log_weight = np.where(facts.kept, facts.log_weight, -np.inf)
        mean = np.exp(np.sum(_weigh(log_weight, row.total), -1))[..., None]
        moved = np.fmin(tilt * spread, mean * around["total"])
        mass_hat = np.fmin(mass["weight"] + tilt * spread_abs, mean * mass["grown"])
        mass_hat = np.fmin(highest, mass_hat + lost * highest)
    else:
        out_abs, mass_hat = highest, highest
        moved = tilt * spread
    z = lost * spread
    terms = dict.fromkeys(TERMS, np.zeros(shape))
    moved_out = (1 + X) * moved
    for name in ("scores", "shift", "exp"):
        terms[name] = moved_out * _share(around, row, facts, name, tier)
    terms["sums"] = X * out_abs + (1 + X) * column["values"] * mass_hat
    terms["weights"] = (1 + X) * (
        column["weights"] * mass_hat + (1 + column["values"]) * column["stored_lost"] * highest
    )
    if model.sum_of_stored:  # the rounding of the weights moved them; nothing else did
        terms["weights"] = (
            terms["weights"] + moved_out - sum(terms[name] for name in ("scores", "shift", "exp"))
        )
    terms["underflow"] = (1 + X) * (
        z + column["product_lost"] * np.maximum(1.0, highest)
    ) + 4 * model.tiny
    if "underflow" in omit:
        terms["underflow"] = np.zeros(shape)
    before = total_of(terms)
    out_format = get_format(model.output)
    if model.output != model.accumulate and "output" not in omit:
        terms["output"] = out_format.unit_roundoff * (out_abs + before) + half_quantum(out_format)
    terms = {name: part * _UP + _SMALL for name, part in terms.items()}
    total = total_of(terms)

    reason = np.broadcast_to(row.reason[..., None], shape).copy()
    acc = get_format(model.accumulate)
    reach = _absolute_sum(facts)
    if model.renormalised_tiles:  # the output is multiplied by the running sum
        reach = np.maximum(reach, facts.kept.sum(-1)[..., None] * highest)
    reach = reach * (1 + column["values"]) * (1 + column["weights"]) * 2 * np.exp(model.shift_slack)
    reason[(reason == 0) & (reach * _UP >= acc.largest_finite)] = OVERFLOW
    reason[(reason == 0) & ((highest + total) * _UP >= out_format.largest_finite)] = OVERFLOW
    return _finish(facts, model, row, terms, reason)


def _value_extent(
    facts: Facts, row: RowTerms, tier: int
) -> tuple[Floats, Floats, Floats, dict[str, Floats], dict[str, Floats]]:
    """Largest magnitude, spread, and the weighted distances of the values; (G, L, D) each."""
    heads, rows, width = facts.out.shape
    keys = facts.kept.shape[-1]
    highest, spread, spread_abs = (np.zeros(facts.out.shape) for _ in range(3))
    around = {name: np.zeros(facts.out.shape) for name in ("total", "scores", "shift", "exp")}
    mass = {name: np.zeros(facts.out.shape) for name in ("weight", "grown")}
    if keys == 0:
        return highest, spread, spread_abs, around, mass
    weights: dict[str, Floats] = {}
    if tier == 2:
        log_weight = np.where(facts.kept, facts.log_weight, -np.inf)
        zero = np.zeros_like(row.total)
        p = np.where(facts.kept, np.exp(log_weight) * _UP + 1e-310, 0.0)
        weights["total"] = _grown(log_weight, zero, row.total)
        for name in ("scores", "shift", "exp"):
            weights[name] = _weigh(log_weight, getattr(row, name))
        absolute = np.abs(facts.value)
        mass["weight"] = p @ absolute
        mass["grown"] = (p + weights["total"]) @ absolute
    step = max(1, _CHUNK // max(1, keys * width))
    for g in range(heads):
        value = facts.value[g]
        if facts.kept[g].all():
            low, high = value.min(0), value.max(0)
            magnitude = np.abs(value)
            highest[g] = magnitude.max(0)
            spread[g] = high - low
            spread_abs[g] = highest[g] - magnitude.min(0)
        for start in range(0, rows, step):
            block = slice(start, start + step)
            if not facts.kept[g].all():
                kept = facts.kept[g, block, :, None]
                high = np.where(kept, value, -np.inf).max(1)
                low = np.where(kept, value, np.inf).min(1)
                some = facts.kept[g, block].any(-1, keepdims=True)
                highest[g, block] = np.where(some, np.maximum(np.abs(high), np.abs(low)), 0.0)
                spread[g, block] = np.where(some, high - low, 0.0)
                least = np.where(kept, np.abs(value), np.inf).min(1)
                spread_abs[g, block] = np.where(some, highest[g, block] - least, 0.0)
            if tier != 2:
                continue
            out = facts.out[g, block]
            slack = np.abs(facts.out_low[g, block]) + facts.out_radius[g, block]
            distance = np.abs(value - out[:, None, :]) + slack[:, None, :]
            for name, weight in weights.items():
                around[name][g, block] = np.einsum("ls,lsd->ld", weight[g, block], distance)
    if tier == 0:
        highest = np.broadcast_to(highest.max((-2, -1), keepdims=True), highest.shape)
        spread = spread_abs = 2 * highest
    return highest, spread, spread_abs, around, mass


def _share(
    around: dict[str, Floats], row: RowTerms, facts: Facts, name: str, tier: int
) -> Floats | float:
    """Which part of the moved weights is due to one cause."""
    names = ("scores", "shift", "exp")
    if tier == 2:
        whole = sum(around[each] for each in names)
        part = around[name]
    else:
        largest = {
            each: np.max(getattr(row, each), -1, initial=0.0, where=facts.kept)[..., None]
            for each in names
        }
        whole, part = sum(largest.values()), largest[name]
    return _part_of(_array(part), _array(whole), name)


def _absolute_sum(facts: Facts) -> Floats:
    """Sum of the magnitudes of the kept values, (G, L, D): no partial sum exceeds it."""
    return np.asarray(facts.kept.astype(np.float64) @ np.abs(facts.value))


def in_format(facts: Facts, model: PrecisionModel) -> NDArray[np.bool_]:
    """Whether every input of a head is a number of the model's input format, (G,)."""
    good = np.ones(len(facts.query), bool)
    for array in (facts.query, facts.key, facts.value):
        good &= exact_in(array, model.input)
    return good


def exact_in(array: Floats, name: str) -> NDArray[np.bool_]:
    """Whether all numbers of each head are numbers of a format, (G,)."""
    if name == "float64":
        return np.ones(len(array), bool)
    fmt = FORMATS[name]
    with np.errstate(all="ignore"):
        if name == "float32":
            return np.asarray((array.astype(name) == array).reshape(len(array), -1).all(-1))
        exp = np.frexp(array)[1]
        step = np.maximum(exp, fmt.emin + 1) - fmt.precision
        units = np.ldexp(array, -step)
        exact = (units == np.rint(units)) & (np.abs(array) <= fmt.largest_finite)
    return np.asarray(exact.reshape(len(array), -1).all(-1))
