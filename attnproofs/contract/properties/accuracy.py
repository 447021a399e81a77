"""Accuracy: the distance from the exact result, against the allowance proved for the arithmetic.

The allowance is the bound of `attnproofs.reference.bounds` for the declared precision model and
the very inputs of the call, so that a violation is a proof: no program of that model, in whatever
order it sums, can have produced the result. What lies outside the bound's conditions (overflow)
is not judged.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from attnproofs.contract.case import Case, Violation
from attnproofs.contract.properties.sdpa import case
from attnproofs.contract.property import EVERYTHING, Judge, Make, Probe, declare, real
from attnproofs.contract.semantics import alibi_slopes, decode_mask, default_scale, spread_heads
from attnproofs.contract.wire import Array

if TYPE_CHECKING:
    from attnproofs.reference.bounds import Judgement


def exact_options(args: dict[str, Any], probe: Probe) -> dict[str, Any]:
    """Keywords of the reference for a call of the target, under the profile's conventions."""
    profile = probe.profile
    options: dict[str, Any] = {"scale": args.get("scale")}
    queries, keys = np.shape(args["query"])[-2], np.shape(args["key"])[-2]
    if profile.default_scale != "1/sqrt(d)" and options["scale"] is None:
        options["scale"] = default_scale(np.shape(args["query"])[-1], profile)
    mask = args.get("attn_mask")
    if mask is not None:
        keep, bias = decode_mask(mask, profile)
        if np.asarray(mask).dtype == bool and not bias.any():
            options["attn_mask"] = keep
        else:
            options["attn_mask"] = np.where(keep, bias, -np.inf)
    if args.get("is_causal"):
        options["is_causal"] = True
        bottom = profile.causal_alignment == "bottom-right"
        options["causal_offset"] = keys - queries if bottom else 0
    window = args.get("window", (args.get("left", -1), args.get("right", -1)))
    if tuple(window) != (-1, -1):
        options["window"] = tuple(window)
    for name in ("softcap", "sinks"):
        if args.get(name) is not None:
            options[name] = args[name]
    if probe.variant == "alibi":
        options["alibi_slopes"] = alibi_slopes(np.shape(args["query"])[-3])
    return options


def judged_output(
    probe: Probe,
    one: Case,
    got: Array,
    args: dict[str, Any],
    *,
    quantity: str = "output",
    number: int = 0,
) -> Violation | None:
    """Compare what a call returned with the derived allowance; `args` are those of level sdpa."""
    from attnproofs.reference.bounds import judge

    query = np.asarray(args["query"])
    key, value = (spread_heads(np.asarray(args[n]), query, probe.profile) for n in ("key", "value"))
    columns = {"output": value.shape[-1:], "weights": key.shape[-2:-1]}.get(quantity, ())
    shape = (*query.shape[:-1], *columns)
    what = "the output" if quantity == "output" else f"the {quantity}"
    if got.shape != shape:
        message = f"{what} has shape {got.shape}, expected {shape}"
        return Violation("shape", message, output=number, wanted=repr(shape))
    wide = real(got)
    options = exact_options(args, probe)
    result = judge(query, key, value, wide, model=probe.precision(), quantity=quantity, **options)
    return told(probe, one, result, what=what, number=number)


def told(
    probe: Probe, one: Case, result: Judgement, *, what: str, number: int = 0
) -> Violation | None:
    """A judgement of the reference as a violation, if it rejects; its margin is noted."""
    worst = result.worst
    if worst is None:
        return None
    ratio = float(result.ratio[worst])
    probe.note(one, ratio)
    if not result.rejected:
        return None
    measured, expected = float(result.measured[worst]), float(result.expected[worst])
    got = float(result.got[worst])
    return Violation(
        "differs",
        f"{what}{list(worst)} is {got!r}, the exact value {expected!r}: an error of "
        f"{measured:.3g}, {ratio:.3g} times what {result.allowance.model.name} arithmetic can "
        "explain",
        output=number,
        index=worst,
        expected=expected,
        got=got,
        allowed=float(result.allowance.total[worst]),
        dominates=str(result.dominating(worst)),
    )


def within(quantity: str, number: int) -> Judge:
    """A judgement of one output: ``output``, ``weights`` or ``lse``."""

    def judgement(probe: Probe, one: Case) -> Violation | None:
        got = probe.outputs(one)[number]
        return judged_output(probe, one, got, one.args, quantity=quantity, number=number)

    return judgement


# ------------------------------------------------------------------ inputs
def random_arrays(
    make: Make, draw: str, queries: int, keys: int, width: tuple[int, int]
) -> tuple[Array, ...]:
    """Query, key and value of one of the distributions."""
    e, ev = width
    query, key, value = make.normal(queries, e), make.normal(keys, e), make.normal(keys, ev)
    if draw == "uniform":
        query, key, value = (make.rng.random(a.shape) for a in (query, key, value))
    elif draw == "outliers":
        # the distribution of FlashAttention-3 (Shah et al. 2024, arXiv:2407.08608, section 4.3)
        for array in (query, key, value):
            array += make.normal(*array.shape) * 10.0 * (make.rng.random(array.shape) < 0.05)
    elif draw == "dominating":
        key[make.size(0, keys - 1)] = 4.0 * query[0]
    elif draw == "negative":
        query, key = np.abs(query), -np.abs(key) * 20.0
    elif draw == "tied":
        key[:] = key[0]
        key[:: max(1, keys // 2)] = query[0]
    elif draw == "sharp":
        query = query * 8.0
    elif draw == "offset":
        value = value + 1000.0
    elif draw == "cancelling":
        value = np.where(make.rng.random(value.shape) < 0.5, 1.0, -1.0) * (1 + value * 1e-3)
    elif draw == "key_offset":
        key = key + 16.0
    elif draw == "beyond_exp":
        reach = {"float64": 800.0, "float32": 95.0}.get(make.dtype, 20.0)
        key = np.zeros((keys, e))
        query = np.zeros((queries, e))
        query[:, 0] = np.sqrt(e)
        key[:, 0] = np.linspace(-reach, 0.0, keys)
    return query, key, value


DRAWS = (
    "normal",
    "uniform",
    "outliers",
    "dominating",
    "negative",
    "tied",
    "sharp",
    "offset",
    "cancelling",
    "key_offset",
    "beyond_exp",
)


def _small_then_large(make: Make, count: int) -> Iterator[tuple[int, int, tuple[int, int]]]:
    yield from ((1, 1, (1, 1)), (1, 2, (1, 1)), (1, 3, (1, 1)), (2, 2, (2, 2)))
    for _ in range(count):
        yield (
            make.size(1, 4),
            make.pick(*(n for n in make.borders())),
            (make.pick(1, 2, 3, 8, 16), make.pick(1, 2, 5)),
        )


def _accuracy_cases(make: Make, *, masks: bool = True) -> Iterator[Case]:
    each = max(2, make.examples // len(DRAWS))
    for draw in DRAWS:
        for queries, keys, width in _small_then_large(make, each):
            yield case(make, *random_arrays(make, draw, queries, keys, width))
    if "attn_mask" in make.claims and make.profile.bool_mask in ("attend", "masked") and masks:
        for _ in range(each):
            queries, keys = make.size(1, 4), make.size(1, 17)
            keep = make.rng.random((queries, keys)) < 0.6
            keep[:, 0] = True
            arrays = random_arrays(make, make.pick(*DRAWS), queries, keys, (4, 3))
            yield case(make, *arrays, attn_mask=make.mask(keep))
    if "is_causal" in make.claims and make.profile.causal_alignment != "none":
        for _ in range(each):
            n = make.size(1, 17)
            yield case(make, *random_arrays(make, make.pick(*DRAWS), n, n, (4, 3)), is_causal=True)


@declare(
    "sdpa",
    "attention_error",
    "Each output is as close to the exact one as its arithmetic guarantees.",
    within("output", 0),
    about=EVERYTHING,
    accuracy=True,
)
def accuracy(make: Make) -> Iterator[Case]:
    yield from _accuracy_cases(make)


@declare(
    "sdpa",
    "attention_error",
    "No search for the largest error in units of its allowance gets beyond the allowance.",
    within("output", 0),
    about=EVERYTHING,
    accuracy=True,
)
def worst_accuracy(make: Make) -> Iterator[Case]:
    for _ in range(make.examples):
        if make.best is None or make.rng.random() < 0.2:
            keys, width = make.size(1, 9), (make.size(1, 4), 1)
            yield case(make, *random_arrays(make, make.pick(*DRAWS), 1, keys, width))
        else:
            yield _moved(make, make.best)


def _moved(make: Make, one: Case) -> Case:
    """A case near `one`: one array scaled, or some of its entries changed."""
    name = make.pick("query", "key", "value")
    array = one.array(name).astype(np.float64)
    how = make.pick("scale", "entry", "noise", "sign")
    if how == "scale":
        array = array * make.pick(0.5, 1.5, 2.0)
    elif how == "noise":
        array = array * (1 + 0.3 * make.normal(*array.shape))
    elif array.size:
        flat = array.reshape(-1)
        place = make.size(0, flat.size - 1)
        flat[place] = -flat[place] if how == "sign" else float(make.rng.standard_normal())
    if not np.isfinite(array).all() or np.abs(array).max(initial=0.0) > 1e4:
        return one
    return one.with_args(**{name: array.astype(one.array(name).dtype)})


declare(
    "weights",
    "attention_error",
    "Each weight is as close to the exact one as its arithmetic guarantees.",
    within("weights", 1),
    about=EVERYTHING,
    accuracy=True,
    name="weights_accuracy",
)(_accuracy_cases)

declare(
    "lse",
    "attention_error",
    "The log-sum-exp is as close to the exact one as its arithmetic guarantees.",
    within("lse", 1),
    about=EVERYTHING,
    accuracy=True,
    name="lse_accuracy",
)(_accuracy_cases)
