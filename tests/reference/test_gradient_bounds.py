"""The backward bound holds for every emulated program, and notices a missing term."""

from __future__ import annotations

import numpy as np
import pytest

from attnproofs.errors import InputError
from attnproofs.reference import gradients
from attnproofs.reference.bounds import gradient_allowance, judge_gradients
from tests.reference.bound_runs import gradient_campaign

NAMES = ["float64", "float32", "fa2-bf16", "fa2-fp16", "unfused-bf16", "textbook(float32)"]


@pytest.mark.parametrize("name", NAMES)
def test_no_emulated_backward_pass_exceeds_the_bound(name: str) -> None:
    tally = gradient_campaign(name, cases=15, per_case=8, seed=30)
    assert tally.runs == 120
    assert tally.uncovered < tally.elements / 5
    assert tally.violations["bound"] == 0, tally.first
    assert max(tally.ratios) > 0.01


@pytest.mark.parametrize(
    ("name", "term"), [("fa2-bf16", "weights"), ("fa2-bf16", "output"), ("float32", "sums")]
)
def test_removing_a_term_is_noticed(name: str, term: str) -> None:
    tally = gradient_campaign(name, cases=15, per_case=8, seed=31, omit=((term,),))
    assert tally.violations[f"without {term}"] > 0
    assert tally.violations["bound"] == 0


def autograd(q, k, v, g, keep):
    """Float32 gradients of grouped heads, by hand."""
    group = q.shape[-3] // k.shape[-3]
    kk, vv = (np.repeat(x, group, -3) for x in (k, v))
    tau = np.float32(q.shape[-1] ** -0.5)
    s = np.where(keep, q @ kk.swapaxes(-1, -2) * tau, -np.inf)
    e = np.exp(s - s.max(-1, keepdims=True))
    p = e / e.sum(-1, keepdims=True)
    dp = g @ vv.swapaxes(-1, -2)
    ds = p * (dp - (p * dp).sum(-1, keepdims=True)) * tau
    parts = (ds.swapaxes(-1, -2) @ q, p.swapaxes(-1, -2) @ g)
    dk, dv = (x.reshape(*k.shape[:-2], group, *x.shape[-2:]).sum(-3) for x in parts)
    return ds @ kk, dk, dv


def grouped():
    rng = np.random.default_rng(4)
    q, g = (rng.standard_normal((2, 4, 5, 8)).astype("f4") for _ in range(2))
    k, v = (rng.standard_normal((2, 2, 6, 8)).astype("f4") for _ in range(2))
    keep = np.arange(6)[None, :] <= np.arange(5)[:, None]
    return q, k, v, g, keep


def test_grouped_heads_and_a_causal_mask_are_consistent() -> None:
    q, k, v, g, keep = grouped()
    verdict = judge_gradients(
        q, k, v, g, autograd(q, k, v, g, keep), model="float32", is_causal=True
    )
    assert verdict.verdict == "CONSISTENT"
    assert verdict.dk.got.shape == k.shape
    assert "dv under float32" in str(verdict)


@pytest.mark.parametrize("name", ["dq", "dk", "dv"])
def test_a_gradient_off_by_a_thousandth_is_rejected(name: str) -> None:
    q, k, v, g, keep = grouped()
    got = dict(zip(("dq", "dk", "dv"), autograd(q, k, v, g, keep)))
    got[name] = got[name] * np.float32(1.001)
    verdict = judge_gradients(q, k, v, g, got, model="textbook(float32)", is_causal=True)
    assert verdict.rejected
    assert getattr(verdict, name).rejected
    assert [n for n in got if getattr(verdict, n).rejected] == [name]


def test_a_gradient_of_the_ungrouped_mask_is_rejected() -> None:
    q, k, v, g, _ = grouped()
    leaking = autograd(q, k, v, g, np.ones((5, 6), bool))
    assert judge_gradients(q, k, v, g, leaking, model="float32", is_causal=True).rejected


def test_shared_batch_dimensions_are_summed() -> None:
    q, k, v, g, keep = grouped()
    k, v = k[:1], v[:1]
    dq, dk, dv = autograd(q, np.repeat(k, 2, 0), np.repeat(v, 2, 0), g, keep)
    got = (dq, dk.sum(0, keepdims=True), dv.sum(0, keepdims=True))
    verdict = judge_gradients(q, k, v, g, got, model="float32", is_causal=True)
    assert verdict.verdict == "CONSISTENT"
    assert verdict.dk.got.shape == k.shape


def test_a_reference_computed_before_gives_the_same_allowance() -> None:
    q, k, v, g, _ = grouped()
    exact = gradients(q, k, v, g, precision=128)
    again = gradient_allowance(q, k, v, g, model="float32", reference=exact)
    once = gradient_allowance(q, k, v, g, model="float32")
    for name, part in once.items():
        np.testing.assert_allclose(again[name].total, part.total, rtol=1e-12)


def test_what_is_not_proved_is_not_covered() -> None:
    q, k, v, g, _ = grouped()
    zeros = tuple(np.zeros_like(x) for x in (q, k, v))
    assert judge_gradients(q, k, v, g, zeros, model="fp8-p").verdict == "NOT COVERED"
    fine = judge_gradients(np.float64(q) + 1e-12, k, v, g, zeros, model="float32").dq
    assert fine.verdict == "NOT COVERED"
    assert "input format" in str(fine)


def test_a_missing_gradient_is_named() -> None:
    q, k, v, g, _ = grouped()
    with pytest.raises(InputError, match="got lacks 'dv'"):
        judge_gradients(q, k, v, g, {"dq": q, "dk": k}, model="float32")
