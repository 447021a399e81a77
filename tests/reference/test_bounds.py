"""The bound holds for every emulated program, and notices when a term is taken away."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnproofs.errors import InputError
from attnproofs.reference import attention
from attnproofs.reference.bounds import allowance, judge, model, models, textbook
from attnproofs.reference.emulate import Program, emulate, round_array
from tests.reference.bound_fuzz import control_model
from tests.reference.bound_power import SETTINGS, study
from tests.reference.bound_runs import campaign, search, shift_case, underflow_case

NAMES = [*models(), "textbook(float32)", "textbook(bfloat16)"]


@pytest.mark.parametrize("name", NAMES)
def test_no_emulated_program_exceeds_any_tier(name: str) -> None:
    tally = campaign(name, cases=25, per_case=8, seed=20)
    assert tally.runs == 200
    assert tally.uncovered < tally.elements / 10
    assert not any(tally.violations.values()), tally.first
    assert max(tally.ratios) > 0.01  # the allowance is within a factor 100 of what happens


@pytest.mark.parametrize(
    ("name", "term"), [("fa2-bf16", "weights"), ("fa2-bf16", "output"), ("unfused-fp16", "scores")]
)
def test_removing_a_term_is_noticed(name: str, term: str) -> None:
    tally = campaign(name, cases=25, per_case=8, seed=21, omit=((term,),))
    assert tally.violations[f"without {term}"] > 0
    assert tally.violations["tier 2"] == 0


def test_a_result_of_another_shape_is_refused() -> None:
    x = np.zeros((2, 3))
    with pytest.raises(InputError, match=r"got has shape \(2, 2\); expected \(2, 3\)"):
        judge(x, x, x, np.zeros((2, 2)), model="float64")


@pytest.mark.parametrize("name", ["textbook(float32)", "fa2-bf16", "fp8-p"])
def test_a_search_for_the_worst_case_stays_within_the_bound(name: str) -> None:
    worst = search(name, starts=2, seed=2, steps=25)
    assert 0.1 < worst <= 1


@pytest.mark.parametrize(
    ("name", "term"),
    [("textbook(float32), poor exp", "exp"), ("textbook(float16)", "sums"), ("fp8-p", "weights")],
)
def test_further_terms_are_needed(name: str, term: str) -> None:
    tally = campaign(control_model(name), 25, 8, 22, tiers=(2,), omit=((term,),))
    assert tally.violations[f"without {term}"] > 0
    assert tally.violations["tier 2"] == 0


def test_gross_defects_are_rejected_and_the_correct_kernel_never() -> None:
    by_defect, _, false = study(1, settings=SETTINGS[::2])
    assert false["bound"] == 0
    assert by_defect["one tile not rescaled"]["bound"] == len(SETTINGS[::2])
    assert by_defect["stale value tile"]["bound"] == len(SETTINGS[::2])


@pytest.mark.parametrize("case", [shift_case, underflow_case])
def test_rare_terms_are_needed_in_constructed_cases(case) -> None:
    (beyond, runs), without = case()
    assert beyond == 0
    assert without > runs / 2


@pytest.mark.parametrize("name", ["float32", "fa2-bf16", "textbook(float32)"])
def test_masked_keys_change_nothing(name: str) -> None:
    rng = np.random.default_rng(5)
    q, k, v = (round_array(rng.standard_normal((n, 4)), "bfloat16") for n in (2, 7, 7))
    keep = np.array([True, False, True, True, False, False, True])
    masked = allowance(q, k, v, model=name, attn_mask=keep[None])
    alone = allowance(q, k[keep], v[keep], model=name)
    assert (masked.total >= alone.total * (1 - 1e-9)).all()  # it may count their tiles
    np.testing.assert_allclose(
        masked.terms["scores"], alone.terms["scores"], rtol=0.02 if name == "float32" else 1e-9
    )
    hidden = k.copy()
    hidden[~keep] = 1e30
    again = allowance(q, round_array(hidden, "bfloat16"), v, model=name, attn_mask=keep[None])
    np.testing.assert_allclose(again.total, masked.total, rtol=1e-12)


def kernel(q, k, v, *, keep=None, bias=None, sink=None):
    """Attention with everything, in the type of its inputs."""
    s = q @ k.swapaxes(-1, -2) * q.dtype.type(q.shape[-1] ** -0.5)
    s = s if bias is None else s + bias
    s = s if keep is None else np.where(keep, s, -np.inf)
    top = s.max(-1, keepdims=True)
    top = top if sink is None else np.maximum(top, sink)
    e = np.exp(s - top)
    total = e.sum(-1, keepdims=True) + (0 if sink is None else np.exp(sink - top))
    return (e / total) @ v, e / total, (top + np.log(total))[..., 0]


@pytest.mark.parametrize("kind", ["none", "mask", "additive", "causal", "window", "alibi", "sinks"])
@pytest.mark.parametrize("name", ["float32", "textbook(float32)"])
def test_a_correct_kernel_is_consistent_under_every_kind_of_mask(kind: str, name: str) -> None:
    rng = np.random.default_rng(6)
    q, k, v = (rng.standard_normal((2, 3, n, 8)).astype("f4") for n in (5, 9, 9))
    i, j = np.arange(5)[:, None], np.arange(9)[None, :]
    keep = bias = sink = None
    options = {}
    if kind == "mask":
        keep = rng.random((3, 5, 9)) < 0.7
        keep[..., 0] = True
        options = {"attn_mask": keep}
    elif kind == "additive":
        bias = rng.standard_normal((5, 9)).astype("f4")
        bias[0, :4] = np.finfo("f4").min  # a mask by a huge number, as some libraries make it
        options = {"attn_mask": bias}
    elif kind == "causal":
        keep, options = j <= i + 4, {"is_causal": True, "causal_offset": 4}
    elif kind == "window":
        keep, options = (j >= i - 1) & (j <= i + 2), {"window": (1, 2)}
    elif kind == "alibi":
        slopes = np.float32([0.5, 0.25, 0.125])
        bias = -slopes[:, None, None] * np.abs(i - j).astype("f4")
        options = {"alibi_slopes": slopes}
    elif kind == "sinks":
        sink = np.float32([0.3, -2.0, 4.0])
        options = {"sinks": sink}
        sink = sink[:, None, None]
    output, weights, lse = kernel(q, k, v, keep=keep, bias=bias, sink=sink)
    for quantity, got in (("output", output), ("weights", weights), ("lse", lse)):
        verdict = judge(q, k, v, got, model=name, quantity=quantity, **options)
        assert (verdict.verdicts == "CONSISTENT").all(), str(verdict)
        off = judge(q, k, v, got * np.float32(1.0002), model=name, quantity=quantity, **options)
        assert off.rejected


def test_grouped_heads_are_read_in_consecutive_groups() -> None:
    rng = np.random.default_rng(7)
    q = rng.standard_normal((4, 5, 8)).astype("f4")
    k, v = (rng.standard_normal((2, 6, 8)).astype("f4") for _ in range(2))
    right = kernel(q, np.repeat(k, 2, 0), np.repeat(v, 2, 0))[0]
    wrong = kernel(q, np.tile(k, (2, 1, 1)), np.tile(v, (2, 1, 1)))[0]
    assert judge(q, k, v, right, model="float32").verdict == "CONSISTENT"
    assert judge(q, k, v, wrong, model="float32").rejected


@pytest.mark.parametrize("name", ["float32", "fa2-fp16"])
def test_soft_cap_is_covered_and_its_order_matters(name: str) -> None:
    rng = np.random.default_rng(8)
    q, k, v = (round_array(rng.standard_normal((n, 8)) * 2, "float16") for n in (4, 9, 9))
    got = emulate(q, k, v, model=name, softcap=2.0)
    assert judge(q, k, v, got, model=name, softcap=2.0).verdict == "CONSISTENT"
    assert judge(q, k, v, emulate(q, k, v, model=name), model=name, softcap=2.0).rejected


def test_what_is_outside_the_preconditions_is_not_covered_and_says_why() -> None:
    x = np.float32([[1, 2], [3, 4]])
    huge = np.float32([[3e38, 0], [0, 3e38]])
    empty = judge(x, x, x, x, model="float32", attn_mask=np.zeros((2, 2), bool))
    assert empty.verdict == "NOT COVERED"
    assert empty.worst is None
    assert empty.dominating() is None
    assert "no key is kept" in str(empty)
    assert "overflow" in str(judge(huge, huge, x, x, model="float32"))
    assert "input format" in str(judge(x + 1e-4, x, x, x, model="fa2-bf16"))
    assert judge(huge, huge, x, x, model="float32").verdict == "NOT COVERED"


def test_nan_in_a_covered_place_is_rejected() -> None:
    x = np.float32([[1, 2], [3, 4]])
    got = kernel(x, x, x)[0]
    got[1, 0] = np.nan
    verdict = judge(x, x, x, got, model="float32")
    assert verdict.verdicts.tolist() == [["CONSISTENT", "CONSISTENT"], ["REJECT", "CONSISTENT"]]
    assert verdict.worst == (1, 0)
    assert np.isinf(verdict.measured[1, 0])


def test_terms_add_up_and_the_largest_is_named() -> None:
    rng = np.random.default_rng(9)
    q, k, v = (round_array(rng.standard_normal((n, 16)), "bfloat16") for n in (4, 40, 40))
    allowed = allowance(q, k, v, model="fa2-bf16")
    np.testing.assert_allclose(sum(allowed.terms.values()), allowed.total, rtol=1e-12)
    verdict = allowed.judge(emulate(q, k, v, model="fa2-bf16"))
    assert verdict.verdict == "CONSISTENT"
    assert verdict.dominating((0, 0)) == "weights"
    assert verdict.budget((0, 0))["weights"] > verdict.budget((0, 0))["scores"] * 10
    # a wider store of the weights takes that term away
    wide = allowance(q, k, v, model=model("fa2-bf16", weights_stored=None))
    assert (wide.total < allowed.total).all()
    assert wide.terms["weights"].max() < 1e-300


def test_tiers_are_ordered() -> None:
    rng = np.random.default_rng(10)
    q, k, v = (rng.standard_normal((n, 16)) for n in (4, 40, 40))
    two, one, zero = (
        allowance(q, k, v, model="textbook(float64)", tier=tier).total for tier in (2, 1, 0)
    )
    assert (two <= one).all()
    assert (one <= zero * (1 + 1e-9)).all()
    assert (zero < 1e-10).all()


def test_a_reference_computed_before_is_used() -> None:
    rng = np.random.default_rng(11)
    q, k, v = (rng.standard_normal((2, n, 4)) for n in (3, 5, 5))
    for backend in ("python", "flint"):
        exact = attention(q, k, v, backend=backend)
        for quantity in ("output", "weights", "lse"):
            once = allowance(q, k, v, model="float64", quantity=quantity)
            again = allowance(q, k, v, model="float64", quantity=quantity, reference=exact)
            np.testing.assert_allclose(again.total, once.total, rtol=1e-9)
    with pytest.raises(InputError, match="pass the result of attention"):
        allowance(q[:, :2], k, v, model="float64", reference=exact)


def test_dimensions_of_length_zero() -> None:
    full, none = np.zeros((3, 4)), np.zeros((0, 4))
    assert allowance(none, full, full, model="float64").total.shape == (0, 4)
    verdict = judge(full, none, none, full, model="float64")
    assert verdict.verdict == "NOT COVERED"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": "fa3"}, "unknown precision model 'fa3'"),
        ({"model": 32}, "expected a name or a PrecisionModel, got int"),
        ({"tier": 3}, "tier: expected 2, 1 or 0, got 3"),
        ({"quantity": "scores"}, "quantity"),
        ({"quantity": "lse", "tier": 1}, "has tier 2 only"),
        ({"omit": ("luck",)}, "omit: unknown term 'luck'"),
        ({"mask": None}, "unknown option 'mask'"),
    ],
)
def test_bad_arguments_get_one_clear_error(change: dict, message: str) -> None:
    x = np.zeros((2, 2))
    with pytest.raises(InputError, match=message):
        allowance(x, x, x, **({"model": "float64"} | change))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tile": 0}, "tile: expected a whole number of at least 1, got 0"),
        ({"exp_error": -1.0}, "exp_error: expected a finite number of at least 0"),
        ({"exp_error": 1e9}, "a relative error of 1 or more"),
        ({"weights_stored": "bf16"}, "weights_stored: unknown format 'bf16'"),
        ({"weights_scale": 8, "weights_stored": None}, "weights_scale: needs weights_stored"),
        ({"tiles": 3}, "unknown part 'tiles'"),
        ({"scale_roundings": 1.5}, "scale_roundings: expected a whole number"),
    ],
)
def test_bad_models_get_one_clear_error(change: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        model("fa2-bf16", **change)


def test_the_emulator_refuses_programs_outside_a_model() -> None:
    x = np.zeros((2, 2))
    with pytest.raises(InputError, match="no program of the model"):
        emulate(
            x, x, x, model=model("fa2-bf16", sum_of_stored=True),
            program=Program(algorithm="weights-first"),
        )  # fmt: skip
    with pytest.raises(InputError, match="order: unknown 'zigzag'"):
        Program(order="zigzag")
    with pytest.raises(InputError, match=r"expected \(L, E\), \(S, E\), \(S, Ev\)"):
        emulate(x, np.zeros((2, 3)), x, model="float32")
    with pytest.raises(InputError, match="a row keeps no key"):
        emulate(x, x, x, model="float32", kept=np.zeros((2, 2), bool))


def test_arrays_of_narrow_types_are_read_exactly() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="narrow array types come from it")
    rng = np.random.default_rng(12)
    q, k, v = (rng.standard_normal((n, 8)).astype(ml_dtypes.float8_e4m3fn) for n in (3, 6, 6))
    wide = [x.astype(np.float64) for x in (q, k, v)]
    got = emulate(*wide, model="fa2-bf16").astype(ml_dtypes.bfloat16)
    verdict = judge(q, k, v, got, model="fa2-bf16")
    assert verdict.verdict == "CONSISTENT"
    np.testing.assert_array_equal(verdict.got, got.astype(np.float64))


def test_merged_parts_need_their_own_declaration() -> None:
    rng = np.random.default_rng(13)
    q, k, v = (rng.standard_normal((n, 8)).astype("f4") for n in (4, 12, 12))
    split = model("textbook(float32)", name="split", merged_parts=3)
    got = emulate(q + 0, k, v, model=split, program=Program("merged"))
    assert judge(q, k, v, got, model=split).verdict == "CONSISTENT"
    plain = allowance(q, k, v, model="textbook(float32)").total
    assert (allowance(q, k, v, model=split).total > plain).all()
    offset = k + np.float32(1e4)  # a common offset of all scores spoils log-sum-exps only
    ratio = allowance(q, offset, v, model=split).terms["sums"] / plain
    assert ratio.max() > 10


def test_a_unit_roundoff_is_a_model_too() -> None:
    rng = np.random.default_rng(14)
    q, k, v = (rng.standard_normal((n, 8)).astype("f4") for n in (4, 12, 12))
    named = allowance(q, k, v, model="textbook(float32)")
    number = allowance(q, k, v, model=f"textbook({2.0**-24})")
    np.testing.assert_allclose(number.total, named.total, rtol=1e-6)
    coarse = allowance(q, k, v, model=textbook(2.0**-14))
    assert (coarse.total > 900 * named.total).all()
    got = kernel(q, k, v)[0] * np.float32(1.001)
    assert named.judge(got).rejected
    assert coarse.judge(got).verdict == "CONSISTENT"
    with pytest.raises(InputError, match="unit_roundoff: expected a number from"):
        textbook(0.5)


@settings(derandomize=True, max_examples=40)
@given(st.integers(0, 10**9))
def test_any_broadcast_call_is_judged_in_the_shape_of_its_result(seed: int) -> None:
    """Batch dimensions, grouped heads and masks that broadcast, in float64 and float32."""
    rng = np.random.default_rng(seed)
    heads, group = int(rng.integers(1, 3)), int(rng.integers(1, 4))
    L, S, E, D = (int(n) for n in rng.integers(1, 6, 4))
    batch = [(), (2,), (2, 3)][rng.integers(0, 3)]

    def thin(shape: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(1 if rng.random() < 0.3 else n for n in shape)

    kind = str(rng.choice(["float64", "float32"]))
    q = rng.standard_normal((*batch, heads * group, L, E)).astype(kind)
    shared = thin(batch)
    k = rng.standard_normal((*shared, heads, S, E)).astype(kind)
    v = rng.standard_normal((*shared, heads, S, D)).astype(kind)
    mask = rng.random((*thin((*batch, heads * group)), L, S)) < 0.7
    mask[..., 0] = True
    got = kernel(q, np.repeat(k, group, -3), np.repeat(v, group, -3), keep=mask)
    for quantity, result in zip(("output", "weights", "lse"), got):
        verdict = judge(q, k, v, result, model=kind, quantity=quantity, attn_mask=mask)
        assert (verdict.verdicts == "CONSISTENT").all(), str(verdict)
        assert verdict.verdicts.shape == result.shape


def test_a_float32_scale_inside_a_float64_kernel_is_found() -> None:
    rng = np.random.default_rng(15)
    q, k, v = (rng.standard_normal((n, 8)) for n in (4, 12, 12))
    assert judge(q, k, v, kernel(q, k, v)[0], model="float64").verdict == "CONSISTENT"
    s = q @ k.T * np.float32(8**-0.5)
    e = np.exp(s - s.max(-1, keepdims=True))
    assert judge(q, k, v, e @ v / e.sum(-1, keepdims=True), model="float64").rejected
