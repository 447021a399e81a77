"""Gradients against differences of the plain version, and the cases that must be exact."""

import numpy as np
import pytest

from attnproofs.errors import InputError
from attnproofs.reference import UndecidedRounding, attention, gradients
from tests.reference import plain

RNG = np.random.default_rng(5)


def arrays(*shapes):
    return [RNG.standard_normal(s) for s in shapes]


CASES = {
    "plain": {},
    "scaled": {"scale": -0.75},
    "causal": {"is_causal": True, "causal_offset": 1},
    "softcap": {"softcap": 0.5},
    "softcap, causal": {"softcap": 3.0, "is_causal": True, "scale": 0.3},
    "boolean": {"attn_mask": np.array([[True, False, True, True], [False] * 4])},
    "additive": {"attn_mask": np.array([[0.5, -np.inf, 1.0, -2.0], [0.0, 0.25, 3.0, 1.0]])},
    "additive row": {"attn_mask": np.array([0.5, -np.inf, 1.0, -2.0])},
    "additive column": {"attn_mask": np.array([[0.5], [1.0]])},
    "alibi": {"alibi_slopes": np.array([0.25])},
    "sink": {"sinks": np.array([0.5])},
    "sink, window": {"sinks": np.array([-0.5]), "window": (1, 1)},
}


@pytest.mark.parametrize("case", CASES)
def test_gradients_contain_finite_differences_of_the_plain_version(case):
    options = CASES[case]
    q, k, v, g = arrays((2, 2), (4, 2), (4, 2), (2, 2))
    r = gradients(q, k, v, g, **options)
    names = {"q": "dq", "k": "dk", "v": "dv"}
    if np.asarray(options.get("attn_mask", False)).dtype != bool:
        names["attn_mask"] = "dbias"
    if "sinks" in options:
        names["sinks"] = "dsinks"
    for name, result in names.items():
        enclosure = getattr(r, result)
        expected = plain.gradient((q, k, v), options, g, name, digits=100)
        assert enclosure.shape == expected.shape
        mid = enclosure.midpoint
        for index in np.ndindex(expected.shape):
            error = abs(plain.exact(expected[index]) - mid[index])
            assert error <= enclosure.radius[index] + 10**-90, (name, index)
        assert float(enclosure.radius.max(initial=0)) < 1e-47


def test_groups_and_broadcast_batches_are_summed():
    """A key head that two query heads share, and a key that two batch entries share."""
    q, k, v, g = arrays((2, 4, 2, 3), (1, 2, 3, 3), (2, 2, 3, 2), (2, 4, 2, 2))
    r = gradients(q, k, v, g)
    parts = [
        [gradients(q[b, h], k[0, h // 2], v[b, h // 2], g[b, h]) for h in range(4)] for b in (0, 1)
    ]
    assert (r.dq.shape, r.dk.shape, r.dv.shape) == (q.shape, k.shape, v.shape)
    assert r.dbias.shape == (2, 4, 2, 3)
    dk = sum(parts[b][h].dk.midpoint for b in (0, 1) for h in (2, 3))
    assert np.max(abs(r.dk.midpoint[0, 1] - dk)) < 1e-45
    dv = sum(parts[1][h].dv.midpoint for h in (0, 1))
    assert np.max(abs(r.dv.midpoint[1, 0] - dv)) < 1e-45
    assert np.max(abs(r.dq.midpoint[1, 3] - parts[1][3].dq.midpoint)) < 1e-45


def test_additive_mask_gradient_has_the_shape_of_the_mask():
    q, k, v, g = arrays((2, 3, 2, 2), (2, 3, 4, 2), (2, 3, 4, 2), (2, 3, 2, 2))
    whole = gradients(q, k, v, g).dbias.midpoint
    for shape in [(4,), (2, 4), (3, 1, 4), (2, 1, 2, 1), (1, 1), ()]:
        r = gradients(q, k, v, g, attn_mask=np.zeros(shape)).dbias
        assert r.shape == shape
        full = (1,) * (4 - len(shape)) + shape
        axes = tuple(n for n in range(4) if full[n] == 1)
        expected = whole.sum(axis=axes, keepdims=True).reshape(shape)
        assert np.max(abs(r.midpoint - expected)) < 1e-45


def test_equal_scores_round_exactly():
    """With zero queries all weights are 1/3: rational gradients, some on rounding boundaries."""
    k, v = arrays((3, 2), (3, 2))
    v = np.round(v * 4)
    r = gradients(np.zeros((2, 2)), k, v, 3 * np.ones((2, 2)), scale=1)
    assert (r.dk.radius == 0).all()
    assert (r.dv.round_to("float64") == 2.0).all()
    dp = 3 * v.sum(axis=1)
    exact = [plain.Fraction(x) - plain.Fraction(dp.sum()) / 3 for x in dp]
    assert r.dbias.round_to("float64")[0].tolist() == [float(x / 3) for x in exact]


def test_structural_zeros_are_exact():
    """One key, constant values and masked places: no gradient reaches the scores."""
    q, k, v, g = arrays((2, 3), (1, 3), (1, 2), (2, 2))
    r = gradients(q, k, v, g)
    assert not r.dq.midpoint.any() and not r.dq.radius.any() and not r.dk.radius.any()
    q, k, g = arrays((2, 3), (4, 3), (2, 2))
    r = gradients(q, k, np.ones((4, 2)), g)
    assert not r.dk.midpoint.any() and not r.dk.radius.any()
    r = gradients(q, np.ones((4, 3)), RNG.standard_normal((4, 2)), g)
    assert not r.dq.midpoint.any() and not r.dq.radius.any()
    r = gradients(q, k, RNG.standard_normal((4, 2)), g, attn_mask=[True, True, False, True])
    assert (
        not r.dv.midpoint[2].any() and not r.dk.radius[2].any() and not r.dbias.radius[:, 2].any()
    )


def test_a_gradient_that_is_zero_by_group_means_rounds_to_zero():
    """Two groups of equal scores; dp of key 0 equals the mean of each group."""
    k = np.array([[0.0], [0.0], [0.0], [1.0], [1.0]])
    v = np.array([[2.0], [1.0], [3.0], [1.0], [3.0]])
    r = gradients([[1.0]], k, v, [[1.0]])
    assert r.dbias.radius[0, 0] > 0
    assert r.dbias.round_to("float32")[0, 0] == 0
    # the same zeros reach dq only through sums that no exact test covers
    k2 = np.concatenate([k, np.array([[1.0], [0.0], [0.0], [0.0], [0.0]])], axis=1)
    r = gradients([[1.0, 0.0]], k2, v, [[1.0]], scale=1)
    with pytest.raises(UndecidedRounding, match=r"\(0, 0\).*float32.*exact test"):
        r.dq.round_to("float32")


def test_rounding_of_small_gradients_refines():
    """A weight near 1e-70 leaves the first ball without a single correct bit."""
    v = np.array([[1.0], [3.0]])
    r = gradients([[1.0]], [[0.0], [-160.0]], v, [[1.0]])
    assert r.dv.midpoint[1, 0] < r.dv.radius[1, 0]
    assert r.dv.round_to("float64")[1, 0] == float(
        attention([[1.0]], [[0.0], [-160.0]], v).weights.round_to("float64")[0, 1]
    )
    assert r.dbias.round_to("float64")[0, 1] == pytest.approx(2 * np.exp(-160.0), rel=1e-15)


def test_masked_and_empty_rows_ignore_what_grad_out_holds():
    q, k, v, g = arrays((2, 3), (4, 3), (4, 2), (2, 2))
    g[0] = np.nan
    r = gradients(q, k, v, g, is_causal=True, causal_offset=-1)
    assert not r.dq.midpoint[0].any()
    with pytest.raises(InputError, match=r"grad_out.*holds nan at row 1"):
        gradients(q, k, v, g[::-1], is_causal=True, causal_offset=-1)


def test_grad_out_of_another_shape_is_refused():
    with pytest.raises(InputError, match=r"grad_out has shape \(2, 3\); expected \(2, 2\)"):
        gradients(np.ones((2, 3)), np.ones((4, 3)), np.ones((4, 2)), np.ones((2, 3)))


def test_zero_lengths():
    for L, S, E, Ev in [(0, 3, 2, 2), (2, 0, 2, 2), (2, 3, 2, 0), (2, 3, 0, 2)]:
        shapes = (L, E), (S, E), (S, Ev), (L, Ev)
        r = gradients(*(np.ones(s) for s in shapes), scale=1)
        got = [e.round_to("float32").shape for e in (r.dq, r.dk, r.dv, r.dbias)]
        assert got == [(L, E), (S, E), (S, Ev), (L, S)]
