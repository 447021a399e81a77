"""Floating-point attention runs to hold against the bound: cases, programs, counting.

Shared by the tests and by the script ``python -m tests.reference.bound_fuzz``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from attnproofs.reference.backward import gradients
from attnproofs.reference.bounds.facts import BITS, Facts, gather
from attnproofs.reference.bounds.forward import COVERED, forward
from attnproofs.reference.bounds.gradients import gradient_allowance
from attnproofs.reference.bounds.models import PrecisionModel, model
from attnproofs.reference.core import Solution
from attnproofs.reference.emulate import (
    ORDERS,
    Program,
    emulate,
    emulate_gradients,
    round_array,
)
from attnproofs.reference.formats import get_format
from attnproofs.reference.forward import read_call

MODES = ("normal", "wide", "offset-values", "offset-scores", "ties", "cancelling", "tiny", "absorb")
MASKS = ("none", "bool", "causal", "additive")


@dataclass
class Case:
    """Inputs of one head, in the model's input format, with at least one key kept a row."""

    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    keep: np.ndarray | None
    bias: np.ndarray | None
    softcap: float | None
    sink: float | None
    scale: float | None
    facts: Facts
    mode: str


def draw(rng: np.random.Generator, model: PrecisionModel, largest: int = 24) -> Case:
    """A random case: sizes, distribution and mask kind are drawn too."""
    L = int(rng.integers(1, 4))
    S = int(rng.choice([1, 2, 3, 5, 8, 13, largest]))
    E, D = int(rng.choice([1, 2, 3, 8, 16])), int(rng.choice([1, 2, 4]))
    mode = str(rng.choice(MODES))
    spread = float(rng.choice([0.01, 0.3, 1, 1, 3, 10]))
    q, k, v = (rng.standard_normal(shape) for shape in ((L, E), (S, E), (S, D)))
    if mode == "wide":
        q, v = q * spread * 3, v * 2.0 ** rng.integers(-6, 7, v.shape)
    elif mode == "offset-values":
        q, v = q * spread, v * 0.01 + rng.choice([1.0, 100.0, -37.0])
    elif mode == "offset-scores":
        k = k * 0.1 + rng.choice([1.0, -1.0]) * rng.choice([1, 8, 64])
    elif mode == "ties":
        k = np.repeat(k[:1], S, 0) * np.where(rng.random((S, 1)) < 0.7, 1.0, spread)
        v = np.abs(v) + 1
    elif mode == "cancelling":
        half = E // 2
        q[:, half : 2 * half] = -q[:, :half] * 30
        q[:, :half] *= 30
        k[:, half : 2 * half] = k[:, :half] + 0.01 * rng.standard_normal((S, half))
    elif mode == "tiny":
        fmt = get_format(model.input)
        q, k = q * 2.0 ** (fmt.emin // 2 + 4), k * 2.0 ** (fmt.emin // 2 + 4)
        v = v * 2.0 ** (fmt.emin + rng.integers(-3, 8, v.shape))
    elif mode == "absorb":  # one weight 1, the others a little under the unit
        k = np.zeros_like(k)
        q = np.ones_like(q)
        k[1:, 0] = np.log(0.9 * get_format(model.accumulate).unit_roundoff) * np.sqrt(E)
        v = np.abs(v) + 0.5
    q, k, v = (round_array(x, model.input) for x in (q, k, v))
    kind = str(rng.choice(MASKS))
    keep = bias = None
    if kind == "bool":
        keep = rng.random((L, S)) < 0.6
        keep[np.arange(L), rng.integers(0, S, L)] = True
    elif kind == "causal":
        keep = np.arange(S)[None, :] <= np.arange(L)[:, None]
    elif kind == "additive":
        bias = round_array(rng.standard_normal((L, S)) * rng.choice([0.1, 5.0]), model.input)
        bias = np.where(rng.random((L, S)) < 0.2, bias - 1e4, bias)
        bias = round_array(bias, model.input)
    softcap = float(rng.choice([2.0, 20.0])) if rng.random() < 0.15 else None
    sink = float(round_array(rng.normal() * spread, model.input)) if rng.random() < 0.15 else None
    return build(q, k, v, keep, bias, softcap=softcap, sink=sink, mode=mode)


def build(
    q: Any,
    k: Any,
    v: Any,
    keep: Any = None,
    bias: Any = None,
    *,
    softcap: float | None = None,
    sink: float | None = None,
    scale: float | None = None,
    mode: str = "",
) -> Case:
    """The case with its facts, from the integers-only reference."""
    call = read_call(
        q, k, v, attn_mask=keep if bias is None else bias, is_causal=False, causal_offset=0,
        window=None, scale=scale, softcap=softcap, sinks=sink, alibi_slopes=None,
    )  # fmt: skip
    solved = Solution(call.heads[0], BITS)
    facts = gather(call.heads, [(solved.scores(), solved.lse(), solved.output())])
    return Case(q, k, v, keep, bias, softcap, sink, scale, facts, mode)


def programs(
    model: PrecisionModel, rng: np.random.Generator, count: int
) -> Iterator[tuple[PrecisionModel, Program]]:
    """Random programs of the model's class (and the tile size each one uses)."""
    for _ in range(count):
        algorithms = ["weights-first", "divide-last"]
        tile = None
        if model.tile is not None:
            algorithms += ["online", "online"]
            tile = int(model.tile * rng.integers(1, 5))
        if model.renormalised_tiles:
            algorithms.append("online-renormalised")
        if model.exp_of_lse:
            algorithms.append("exp-of-lse")
        if model.merged_parts:
            algorithms += ["merged", "merged"]
        if model.scores_stored is not None:
            algorithms = ["weights-first"]
        if model.sum_of_stored:
            algorithms.remove("weights-first")
        algorithm = str(rng.choice(algorithms))
        natural = algorithm in ("exp-of-lse", "merged")
        base_two = bool(model.exp2_shift and not natural and rng.random() < 0.5)
        where = ["scores", "query", "both"] if model.scale_on_inputs else ["scores"]
        # the emulated exp is rounded after its error is made: one unit of the allowance
        error = (model.exp_error - 1) * float(rng.choice([-1, 0, 1]))
        program = Program(
            algorithm=algorithm,
            order=str(rng.choice(ORDERS)),
            exp_bias=error,
            base_two=base_two,
            scale_on=str(rng.choice(where)),
            reciprocal=bool(model.division_roundings > 1 and rng.random() < 0.5),
            backwards=bool(rng.random() < 0.5),
            one_by_one=bool(rng.random() < 0.5),
            flush=bool(model.flush_subnormals and rng.random() < 0.3),
        )
        yield replace(model, tile=tile), program


def run(case: Case, model: PrecisionModel, program: Program) -> np.ndarray:
    """Distance of the emulated program from the exact output; (L, D)."""
    got = emulate(
        case.q, case.k, case.v, model=model, program=program, kept=case.keep, bias=case.bias,
        softcap=case.softcap, sink=case.sink, scale=case.scale,
    )  # fmt: skip
    with np.errstate(invalid="ignore"):
        error = np.abs((got - case.facts.out[0]) - case.facts.out_low[0])
    return np.where(np.isnan(error), np.inf, error) * (1 - 2.0**-50) - case.facts.out_radius[0]


@dataclass
class Tally:
    """Counts of runs and of elements beyond a bound."""

    runs: int = 0
    elements: int = 0
    uncovered: int = 0
    violations: Counter[str] = field(default_factory=Counter)
    ratios: list[float] = field(default_factory=list)
    first: list[str] = field(default_factory=list)


def campaign(
    declared: str | PrecisionModel,
    cases: int,
    per_case: int,
    seed: int,
    *,
    tiers: tuple[int, ...] = (2, 1, 0),
    omit: tuple[tuple[str, ...], ...] = (),
) -> Tally:
    """Run programs of one model on random cases; count elements beyond each bound."""
    declared, tally = model(declared), Tally()
    rng = np.random.default_rng([seed, *declared.name.encode()])
    for number in range(cases):
        case = draw(rng, declared)
        bounds = {f"tier {tier}": forward(case.facts, declared, tier=tier) for tier in tiers}
        bounds |= {
            "without " + "+".join(left): forward(case.facts, declared, omit=left) for left in omit
        }
        covered = bounds["tier 2"].reason[0] == COVERED
        for used, program in programs(declared, rng, per_case):
            error = run(case, used, program)
            tally.runs += 1
            tally.elements += error.size
            tally.uncovered += int((~covered).sum())
            for label, bound in bounds.items():
                beyond = (error > bound.total[0]) & (bound.reason[0] == COVERED)
                tally.violations[label] += int(beyond.any())
                if label.startswith("tier") and beyond.any() and len(tally.first) < 3:
                    tally.first.append(f"case {number} ({case.mode}) {label} {used} {program}")
            if covered.any():
                tally.ratios.append(float((error / bounds["tier 2"].total[0])[covered].max()))
    return tally


def variants() -> list[PrecisionModel]:
    """The named models, and variants that use every part."""
    from attnproofs.reference.bounds.models import models, textbook

    return [
        *models().values(),
        *(textbook(fmt) for fmt in ("float64", "float32", "float16", "bfloat16")),
        model("fa2-bf16", name="fa2-bf16, stored sum", sum_of_stored=True),
        model("fa2-fp16", name="fa2-fp16, lazy shift", shift_slack=5.6, tile=4),
        model("textbook(float32)", name="float32, truncating", truncating=True),
        model("textbook(float32)", name="float32, merged parts", merged_parts=4, exp_error=40.0),
        model("fa2-bf16", name="fa2-bf16, merged parts", merged_parts=3),
        model("unfused-bf16", name="unfused-bf16, scaled inputs", scale_on_inputs=True),
        model("float32", name="float32 inside float64", input="float64", output="float64"),
        model("textbook(float32)", name="float32, poor exp", exp_error=2000.0),
    ]


def shift_case() -> tuple[tuple[int, int], int]:
    """Constructed: two keys whose scores are exact, so that only the shift is rounded.

    The smaller score is 20 below the larger one and its own last bits are lost in the
    subtraction: an error of up to half an ulp of 20 in the logarithm of a weight that alone
    decides the output.

    Returns
    -------
    tuple
        Runs beyond the bound and runs altogether, then runs beyond it without the shift's term.
    """
    exact = model("textbook(float32)", scale_roundings=0, exact_products=True, exp_error=1.0)
    runs = beyond = without = 0
    for bits in range(1, 200, 7):
        k = round_array(np.array([[20.0], [0.0625 + bits * 2.0**-24 * 5.03]]), "float32")
        case = build(np.ones((1, 1)), k, np.array([[0.0], [1.0]]), scale=1.0)
        error = run(case, exact, Program())
        runs += 1
        beyond += int((error > forward(case.facts, exact).total[0]).any())
        without += int((error > forward(case.facts, exact, omit=("shift",)).total[0]).any())
    return (beyond, runs), without


def gradient_campaign(
    declared: str | PrecisionModel,
    cases: int,
    per_case: int,
    seed: int,
    omit: tuple[tuple[str, ...], ...] = (),
) -> Tally:
    """The same for gradients: a run counts as beyond if any element of dq, dk or dv is."""
    declared, tally = model(declared), Tally()
    rng = np.random.default_rng([seed, 7, *declared.name.encode()])
    for number in range(cases):
        case = draw(rng, declared, largest=16)
        if case.sink is not None:
            case = build(
                case.q, case.k, case.v, case.keep, case.bias, softcap=case.softcap, mode=case.mode
            )
        grad = rng.standard_normal((len(case.q), case.v.shape[1])) * rng.choice([0.1, 1, 30])
        if rng.random() < 0.3:
            grad = np.abs(grad)
        grad = round_array(grad, declared.input)
        mask = case.keep if case.bias is None else case.bias
        exact = gradients(
            case.q, case.k, case.v, grad, precision=BITS, attn_mask=mask, softcap=case.softcap
        )
        allowed = {
            label: gradient_allowance(
                case.q, case.k, case.v, grad, model=declared, reference=exact, omit=left,
                attn_mask=mask, softcap=case.softcap,
            )
            for label, left in [("bound", ()), *(("without " + "+".join(x), x) for x in omit)]
        }  # fmt: skip
        for used, program in programs(declared, rng, per_case):
            program = replace(
                program,
                recompute=bool(rng.random() < 0.5),
                row_term=str(rng.choice(["output", "weights"])),
            )
            got = emulate_gradients(
                case.q, case.k, case.v, grad, model=used, program=program, kept=case.keep,
                bias=case.bias, softcap=case.softcap,
            )  # fmt: skip
            tally.runs += 1
            for label, parts in allowed.items():
                judged = [part.judge(x) for part, x in zip(parts.values(), got)]
                bad = any(each.rejected for each in judged)
                tally.violations[label] += int(bad)
                if label != "bound":
                    continue
                tally.elements += sum(each.got.size for each in judged)
                tally.uncovered += sum(
                    int((each.verdicts == "NOT COVERED").sum()) for each in judged
                )
                ratios = np.concatenate([each.ratio.ravel() for each in judged])
                if not np.isnan(ratios).all():
                    tally.ratios.append(float(np.nanmax(ratios)))
                if bad and len(tally.first) < 3:
                    tally.first.append(f"case {number} ({case.mode}) {used.name} {program}")
    return tally


def search(declared: str | PrecisionModel, starts: int, seed: int, steps: int = 60) -> float:
    """Climb towards the worst ratio of error to allowance on tiny cases, from random starts.

    A bound that is too small somewhere is found this way long before random inputs meet it.
    """
    declared = model(declared)
    rng = np.random.default_rng([seed, 9, *declared.name.encode()])
    worst = 0.0
    for _ in range(starts):
        S, E = int(rng.integers(1, 5)), int(rng.integers(1, 4))
        here = [
            rng.standard_normal(shape) * rng.choice([0.1, 1, 5, 30])
            for shape in ((1, E), (S, E), (S, 1))
        ]
        running = list(programs(declared, rng, 6))
        height = 0.0
        for step in range(steps):
            there = here
            if step:
                size = rng.choice([1e-6, 1e-3, 0.1, 0.5])
                there = [x * (1 + size * rng.standard_normal(x.shape)) for x in here]
            case = build(*(round_array(x, declared.input) for x in there))
            bound = forward(case.facts, declared)
            if (bound.reason[0] != COVERED).any():
                continue
            found = max(
                float((run(case, used, program) / bound.total[0]).max())
                for used, program in running
            )
            if found >= height:
                here, height = there, found
        worst = max(worst, height)
    return worst


def underflow_case() -> tuple[tuple[int, int], int]:
    """Constructed: tied keys whose values are a few of float16's smallest numbers.

    Half of such a value is no number of the format, so the products lose all their bits.

    Returns
    -------
    tuple
        As for `shift_case`, without the underflow term.
    """
    half = model("textbook(float16)")
    runs = beyond = without = 0
    for count in range(1, 40, 2):
        value = np.full((2, 1), count * 2.0**-24)
        case = build(np.zeros((1, 1)), np.zeros((2, 1)), value)
        error = run(case, half, Program("weights-first"))
        runs += 1
        beyond += int((error > forward(case.facts, half).total[0]).any())
        without += int((error > forward(case.facts, half, omit=("underflow",)).total[0]).any())
    return (beyond, runs), without
