"""Properties of the softmax level, ``f(scores, *, axis=-1)``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from attnproofs.contract.case import Case, Violation
from attnproofs.contract.properties.sdpa import levels
from attnproofs.contract.property import EVERYTHING, Make, Probe, compare, declare, real
from attnproofs.contract.semantics import softmax, unit_of
from attnproofs.contract.wire import dtype_named


def _case(make: Make, scores: Any, **keywords: Any) -> Case:
    return Case({"scores": np.asarray(scores, float).astype(dtype_named(make.dtype)), **keywords})


def agrees(probe: Probe, one: Case) -> Violation | None:
    """The weights are the softmax of the scores, up to what the coarsest arithmetic may add."""
    wanted, allowance, judged = softmax(
        one.array("scores"), one.args.get("axis", -1), unit_of(probe.dtype)
    )
    return compare(probe.outputs(one)[0], wanted, allowance, judged, what="the weight")


@declare("softmax", "softmax_sum", "A single score has weight 1.", agrees)
def single_score(make: Make) -> Iterator[Case]:
    for score in (0.0, 1.0, -1.0):
        yield _case(make, [score])
        yield _case(make, [[score], [1.0]])


@declare("softmax", "softmax_uniform", "Equal scores share the weight equally.", agrees)
def equal_scores(make: Make) -> Iterator[Case]:
    for n in make.borders():
        yield _case(make, np.zeros(n))
        yield _case(make, np.ones((2, n)))


@declare(
    "softmax",
    "softmax_two_keys",
    "Two scores give the logistic function of their gap.",
    agrees,
    about="scores",
)
def two_scores(make: Make) -> Iterator[Case]:
    for gap in (1.0, -1.0, 2.0, 0.5, 8.0):
        yield _case(make, [0.0, gap])


@declare(
    "softmax",
    "softmax_sum",
    "Softmax runs along the axis that is asked for, the last by default.",
    agrees,
    about="axis scores",
)
def default_axis(make: Make) -> Iterator[Case]:
    for rows, n in ((2, 1), (1, 2), (2, 2), (2, 3), (3, 2)):
        yield _case(make, np.arange(rows * n, dtype=float).reshape(rows, n) % 2)
    yield _case(make, (np.arange(12.0) % 2).reshape(2, 2, 3))


@declare(
    "softmax",
    "softmax_sum",
    "The keyword axis chooses the axis of summation.",
    agrees,
    about="axis given scores",
    needs="axis",
)
def given_axis(make: Make) -> Iterator[Case]:
    for axis, shape in product((0, 1, -1, -2), ((2, 1), (2, 2), (2, 3))):
        yield _case(make, np.arange(float(np.prod(shape))).reshape(shape) % 2, axis=axis)
    for axis in (0, 1, 2):
        yield _case(make, (np.arange(12.0) % 2).reshape(2, 2, 3), axis=axis)


@declare(
    "softmax",
    "softmax_shift",
    "Adding a constant to every score changes nothing, at any level.",
    agrees,
    about="level scores",
)
def shift(make: Make) -> Iterator[Case]:
    for n, level in product((1, 2, 3), levels(make)):
        yield _case(make, np.full(n, level))
    for level in levels(make):
        if abs(level) <= 100:
            yield _case(make, [level, level + 1.0])


@declare(
    "softmax", "tiled_attention", "Long rows at any level of scores.", agrees, about="long level"
)
def long_rows(make: Make) -> Iterator[Case]:
    for n in make.borders():
        for level in (-1000.0, 1000.0) if make.dtype == "float64" else (-80.0, 80.0):
            yield _case(make, np.full(n, level))


@declare(
    "softmax",
    "online_softmax",
    "Where the largest score stands does not matter.",
    agrees,
    about="long scores",
)
def place_of_the_largest(make: Make) -> Iterator[Case]:
    for n in make.borders():
        for place in dict.fromkeys((0, n // 2, n - 1)):
            scores = np.zeros(n)
            scores[place] = 2.0
            yield _case(make, scores)


@declare(
    "softmax",
    "softmax_saturation",
    "Gaps beyond the range of exp give 0 and 1, never NaN.",
    agrees,
    about="scores level",
)
def saturation(make: Make) -> Iterator[Case]:
    for level in levels(make):
        yield _case(make, [0.0, level])
        yield _case(make, [level, 0.0, 0.0])


@declare(
    "softmax",
    "mask_exact_zero",
    "A score of -inf has weight exactly zero.",
    agrees,
    about="mask level",
)
def minus_infinity(make: Make) -> Iterator[Case]:
    for row in ([0.0, -np.inf], [-np.inf, 0.0], [-np.inf, 1.0, 1.0], [-1000.0, -np.inf]):
        if make.dtype != "float16" or row[0] != -1000.0:
            yield _case(make, row)
    for n in make.borders(33):
        scores = np.zeros(n)
        scores[1::2] = -np.inf
        yield _case(make, scores)


@declare(
    "softmax",
    "empty_row",
    "A row of -inf gives zeros (or what the profile says).",
    agrees,
    about="mask empty level",
)
def all_minus_infinity(make: Make) -> Iterator[Case]:
    if make.profile.empty_row_neg_inf != "zeros":
        return
    yield _case(make, [-np.inf])
    yield _case(make, [-np.inf, -np.inf])
    yield _case(make, [[-np.inf, -np.inf], [0.0, 1.0]])


@declare(
    "softmax", "softmax_permutation", "Permuting scores permutes weights.", agrees, about="scores"
)
def permutation(make: Make) -> Iterator[Case]:
    for _ in range(make.examples):
        yield _case(make, make.lattice(make.size(1, 3), make.size(1, 6), high=3))


@declare("softmax", "shapes", "Empty arrays give empty arrays.", agrees, about="lengths")
def zero_lengths(make: Make) -> Iterator[Case]:
    yield _case(make, np.zeros((0, 2)))
    yield _case(make, np.zeros((2, 0)))


@declare(
    "softmax",
    "transpose_product",
    "The result does not depend on the memory layout.",
    agrees,
    about="layout scores",
)
def memory_layout(make: Make) -> Iterator[Case]:
    for layout in ("transposed", "strided", "reversed", "fortran", "guarded", "readonly"):
        one = _case(make, (np.arange(6.0) % 4).reshape(2, 3))
        yield Case(one.args, layouts={"scores": layout})


def _log_domain(row: Any, weights: Any) -> Any:
    """What more a weight may be off when it is ``exp(score - log-sum-exp)``, shape of `weights`.

    A log-sum-exp L that takes one score x_k after another, ``L_k = log(exp(L_(k-1)) + exp(x_k))``,
    is at most max|x| + ln n in size, so each of n steps and the difference x - L round by at most
    u (max|x| + ln n); what exp and log themselves add is in the allowance for exp and for sums.
    A step passes an earlier error on by a factor of at most 1 (a weight), so the errors add up;
    they multiply all weights of the row by at most exp((n + 1) u (max|x| + ln n)), and no sum
    divides them out again. Such sums are kept in float32 at least: u is 2^-24, in float64 2^-53.
    """
    finite = np.abs(row[np.isfinite(row)]).astype(float)
    size = finite.max(initial=0.0) + np.log(max(len(row), 1))
    unit = 2.0**-53 if row.dtype == np.float64 else 2.0**-24
    return weights * np.expm1(min((len(row) + 1) * unit * size, 50.0))


def exactly_within(probe: Probe, one: Case) -> Violation | None:
    """Each weight against the derived allowance."""
    from attnproofs.reference.bounds import allowance

    scores = one.array("scores")
    got = probe.outputs(one)[0]
    if got.shape != scores.shape:
        return Violation("shape", f"the result has shape {got.shape}", wanted=repr(scores.shape))
    for index in np.ndindex(scores.shape[:-1]):
        row, answer = scores[index], real(got[index])[None]
        allowed = allowance(
            np.ones((1, 1), row.dtype),
            row[:, None],
            np.zeros((len(row), 1), row.dtype),
            model=probe.precision(),
            quantity="weights",
            scale=1.0,
        )
        more = _log_domain(row, allowed.judge(answer).expected)
        result = replace(
            allowed, total=allowed.total + more, terms={**allowed.terms, "log-sum-exp": more}
        ).judge(answer)
        worst = result.worst
        if worst is None:
            continue
        probe.note(one, float(result.ratio[worst]))
        if result.rejected:
            return Violation(
                "differs",
                f"the weight is {float(got[index][worst[1]])!r}, the exact value "
                f"{float(result.expected[worst])!r}: {float(result.ratio[worst]):.3g} times what "
                f"{result.allowance.model.name} arithmetic can explain",
                index=(*index, worst[1]),
                expected=float(result.expected[worst]),
                got=float(got[index][worst[1]]),
                allowed=float(result.allowance.total[worst]),
                dominates=str(result.dominating(worst)),
            )
    return None


@declare(
    "softmax",
    "attention_error",
    "Each weight is as close as its arithmetic guarantees.",
    exactly_within,
    about=EVERYTHING,
    accuracy=True,
)
def accuracy(make: Make) -> Iterator[Case]:
    yield _case(make, [0.0, 1.0])
    for _ in range(make.examples):
        n = make.pick(*make.borders())
        spread = make.pick(1.0, 8.0, 30.0)
        yield _case(make, make.normal(make.size(1, 2), n) * spread + make.pick(0.0, -100.0, 50.0))
