"""The NumPy adapter against a direct double loop, and what ``strict`` demands at the edges."""

from __future__ import annotations

import math

import numpy as np
import pytest

from attnproofs import adapters
from attnproofs.adapters import numpy_attention as plain

ADAPTER = adapters.get("numpy-reference")


def _loops(q, k, v, kept, *, scale, softcap=None, bias=None):
    """One head, one query and key at a time: (output, weights, lse)."""
    rows, cols = len(q), len(k)
    out, weights, lse = np.zeros((rows, v.shape[1])), np.zeros((rows, cols)), np.zeros(rows)
    for i in range(rows):
        terms = []
        for j in range(cols):
            if not kept[i, j]:
                continue
            s = scale * math.fsum(a * b for a, b in zip(q[i], k[j]))
            if softcap is not None:
                s = softcap * math.tanh(s / softcap)
            terms.append((j, s + (0.0 if bias is None else bias[i, j])))
        if not terms:
            lse[i] = -math.inf
            continue
        top = max(s for _, s in terms)
        total = math.fsum(math.exp(s - top) for _, s in terms)
        lse[i] = top + math.log(total)
        for j, s in terms:
            weights[i, j] = math.exp(s - top) / total
            out[i] += weights[i, j] * v[j]
    return out, weights, lse


@pytest.mark.parametrize("case", range(30))
def test_agrees_with_loops(case):
    rng = np.random.default_rng(case)
    rows, cols, d, dv = (int(n) for n in rng.integers(1, 7, 4))
    groups, kv_heads = int(rng.integers(1, 4)), int(rng.integers(1, 3))
    heads = groups * kv_heads
    q = rng.normal(size=(2, heads, rows, d))
    k, v = rng.normal(size=(2, kv_heads, cols, d)), rng.normal(size=(2, kv_heads, cols, dv))
    causal = bool(rng.integers(2))
    window = [None, (1, 0), (-1, 2), (2, -1), (0, 1)][int(rng.integers(5))]
    softcap = [None, 0.7][int(rng.integers(2))]
    scale = [None, 0.3, -1.5, 0.0][int(rng.integers(4))]
    kind = int(rng.integers(3))
    mask = [None, rng.random((heads, rows, cols)) < 0.7, rng.normal(size=(2, 1, rows, cols))][kind]
    if kind == 2:
        mask[rng.random(mask.shape) < 0.3] = -np.inf
    common = dict(attn_mask=mask, is_causal=causal, scale=scale, enable_gqa=groups > 1)
    common |= dict(window=window, softcap=softcap)
    out, lse = plain.lse(q, k, v, **common)
    _, weights = plain.weights(q, k, v, **common)
    assert np.array_equal(plain.sdpa(q, k, v, **common), out)
    full = None if mask is None else np.broadcast_to(mask, (2, heads, rows, cols))
    for b in range(2):
        for h in range(heads):
            kept = np.ones((rows, cols), bool)
            bias = None
            for i in range(rows):
                for j in range(cols):
                    kept[i, j] &= not causal or j <= i
                    if window is not None:
                        left, right = window
                        kept[i, j] &= (left < 0 or j >= i - left) and (right < 0 or j <= i + right)
            if full is not None and full.dtype == bool:
                kept &= full[b, h]
            elif full is not None:
                kept &= full[b, h] != -np.inf
                bias = full[b, h]
            factor = d**-0.5 if scale is None else scale
            want = _loops(
                q[b, h],
                k[b, h // groups],
                v[b, h // groups],
                kept,
                scale=factor,
                softcap=softcap,
                bias=bias,
            )
            for got, expected in zip((out[b, h], weights[b, h], lse[b, h]), want):
                assert np.allclose(got, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("encoding", ["bool", "additive", "causal"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", ["key", "value"])
def test_nothing_masked_reaches_an_output(encoding, bad, where):
    rng = np.random.default_rng(0)
    q, k, v = (rng.normal(size=(1, 1, 3, 4)) for _ in range(3))
    kept = np.tril(np.ones((3, 3), bool))
    options = {
        "bool": dict(attn_mask=kept),
        "additive": dict(attn_mask=np.where(kept, 0.0, -np.inf)),
        "causal": dict(is_causal=True),
    }[encoding]
    clean = plain.sdpa(q, k, v, **options)
    {"key": k, "value": v}[where][..., 2, 1] = bad
    assert np.array_equal(plain.sdpa(q, k, v, **options)[..., :2, :], clean[..., :2, :])
    assert np.isnan(plain.sdpa(q, k, v, **options)[..., 2, 1]).all() or np.isinf(bad)


def test_rows_without_keys_are_zero():
    q = np.ones((1, 1, 2, 3))
    row = np.array([[False, False], [True, True]])
    for mask in (row, np.where(row, 0.0, -np.inf)):
        out, lse = plain.lse(q, np.ones((1, 1, 2, 3)), np.ones((1, 1, 2, 5)), attn_mask=mask)
        assert (out[..., 0, :] == 0).all() and (out[..., 1, :] == 1).all()
        assert np.isneginf(lse[..., 0]).all()
    assert (plain.sdpa(q, np.ones((1, 1, 0, 3)), np.ones((1, 1, 0, 5))) == np.zeros((2, 5))).all()
    assert plain.sdpa(np.ones((1, 1, 0, 3)), q, q).shape == (1, 1, 0, 3)


@pytest.mark.parametrize("causal", [False, True])
def test_gradient_agrees_with_finite_differences(causal):
    rng = np.random.default_rng(1)
    q, k, v, d = (rng.normal(size=(2, n, 3)) for n in (4, 5, 5, 4))
    got = plain.grad(q, k, v, d, is_causal=causal)
    for which, gradient in enumerate(got):
        numeric = np.zeros_like(gradient)
        for index in np.ndindex(gradient.shape):
            ends = []
            for step in (1e-6, -1e-6):
                arrays = [q.copy(), k.copy(), v.copy()]
                arrays[which][index] += step
                ends.append((plain.sdpa(*arrays, is_causal=causal) * d).sum())
            numeric[index] = (ends[0] - ends[1]) / 2e-6
        assert np.allclose(gradient, numeric, atol=1e-8)


def test_decoding_is_the_causal_rows():
    rng = np.random.default_rng(2)
    q, k, v = (rng.normal(size=(2, 5, n)) for n in (3, 3, 4))
    assert np.allclose(plain.decode(q, k, v), plain.sdpa(q, k, v, is_causal=True), rtol=1e-13)
    assert plain.decode(q[:, :0], k[:, :0], v[:, :0]).shape == (2, 0, 4)


def test_mha_is_heads_of_sdpa_between_projections():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(2, 3, 5)), rng.normal(size=(2, 4, 6))
    w_q, w_k, w_v = (rng.normal(size=(n, 8)) for n in (5, 6, 6))
    w_o, b_q, b_o = rng.normal(size=(8, 7)), rng.normal(size=8), rng.normal(size=7)
    got = plain.mha(x, y, w_q, w_k, w_v, w_o, num_heads=2, b_Q=b_q, b_O=b_o)
    heads = [
        plain.sdpa(
            *((a @ w + b)[..., c] for a, w, b in zip((x, y, y), (w_q, w_k, w_v), (b_q, 0, 0)))
        )
        for c in (slice(0, 4), slice(4, 8))
    ]
    assert np.allclose(got, np.concatenate(heads, -1) @ w_o + b_o, rtol=1e-12)


@pytest.mark.parametrize("dtype", ADAPTER.dtypes)
def test_output_has_the_input_format(dtype):
    kind = np.dtype(dtype) if dtype != "bfloat16" else pytest.importorskip("ml_dtypes").bfloat16
    x = np.ones((1, 1, 2, 2), kind)
    assert plain.sdpa(x, x, x).dtype == kind
    assert all(a.dtype == kind for a in plain.grad(x, x, x, x))
    assert plain.softmax(x).dtype == kind


def test_every_level_is_claimed():
    assert ADAPTER.levels == ("softmax", "sdpa", "weights", "lse", "grad", "decode", "mha")
    assert {"attn_mask", "is_causal", "scale", "enable_gqa"} <= ADAPTER.keywords("sdpa")
