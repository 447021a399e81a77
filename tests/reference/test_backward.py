"""Gradients against differences of the plain version, and the cases that must be exact."""

from fractions import Fraction

import numpy as np
import pytest

from attnproofs.errors import InputError
from attnproofs.reference import UndecidedRounding, attention, gradients
from attnproofs.reference.exponentials import Sum
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
    exact = [Fraction(x) - Fraction(dp.sum()) / 3 for x in dp]
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


def test_gradients_that_are_zero_by_group_means_round_to_zero():
    """Two groups of equal scores; dp of key 0 equals the mean of each group."""
    k = np.array([[0.0], [0.0], [0.0], [1.0], [1.0]])
    v = np.array([[2.0], [1.0], [3.0], [1.0], [3.0]])
    r = gradients([[1.0]], k, v, [[1.0]])
    assert r.dbias.radius[0, 0] > 0
    assert r.dbias.round_to("float32")[0, 0] == 0
    k2 = np.concatenate([k, np.array([[1.0], [0.0], [0.0], [0.0], [0.0]])], axis=1)
    r = gradients([[1.0, 0.0]], k2, v, [[1.0]], scale=1)
    assert r.dq.radius.all()
    assert r.dq.round_to("float32").tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize("scale", [None, 1, 0.3])
def test_gradients_on_a_boundary_although_no_weight_is_rational(scale):
    """Mirrored rows have mirrored weights p and 1 - p, so sums over rows are rational."""
    E = 3
    q, k = np.ones((2, E)) * [[1.0], [-1.0]], np.ones((2, E)) * [[1.0], [-1.0]]
    v = np.array([[1.0], [0.0]])
    mid = 1 + 2.0**-8
    r = gradients(q, k, v, [[mid], [mid]], scale=scale)
    assert r.dv.radius.all() and not r.dv.contains([[1.0], [1.0]]).any()
    assert r.dv.round_to("float64").tolist() == [[mid], [mid]]
    assert r.dv.round_to("bfloat16").astype(float).tolist() == [[1.0], [1.0]]  # tie to even
    same = gradients(np.ones((2, E)), k, v, [[1.0], [-1.0]], scale=scale)
    assert same.dv.round_to("float32").tolist() == [[0.0], [0.0]]
    assert same.dk.round_to("float32").tolist() == [[0.0] * E] * 2
    one = gradients(q, k, v, [[1.0], [-1.0]], scale=scale, attn_mask=np.zeros((1, 2)))
    assert one.dbias.round_to("float32").tolist() == [[0.0, 0.0]]


def test_what_no_exact_test_covers_says_so():
    """A mirrored pair under a soft-cap: the sum is exactly 1, but scores are not algebraic."""
    q, k = np.array([[1.0], [-1.0]]), np.array([[1.0], [-1.0]])
    r = gradients(q, k, [[1.0], [0.0]], np.full((2, 1), 1 + 2.0**-8), softcap=1.0)
    with pytest.raises(UndecidedRounding, match=r"\(0, 0\).*bfloat16.*exact test"):
        r.dv.round_to("bfloat16")


def test_sums_of_exponentials_are_compared_exactly():
    """p + (1 - p) is 1, p + p is not, and too many terms are not looked at."""
    zero, one = (Fraction(0), Fraction(0)), (Fraction(1), Fraction(0))
    both = {zero: Fraction(1), one: Fraction(1)}
    p, rest = ({zero: Fraction(1)}, both), ({one: Fraction(1)}, both)
    assert Sum(Fraction(1, 3), [p, rest]).equals(Fraction(4, 3)) is True
    assert Sum(quotients=[p, p]).equals(Fraction(1)) is False
    assert Sum(quotients=[p, rest]).equals(Fraction(1) + Fraction(1, 10**40)) is False
    many = {(Fraction(n), Fraction(n * n)): Fraction(1) for n in range(300)}
    assert Sum(quotients=[(both, many), (both, many)]).equals(Fraction(1)) is None


def test_without_the_exact_comparison_mirrored_rows_never_end(monkeypatch):
    monkeypatch.setattr(Sum, "equals", lambda self, c: None)
    x = [[1.0], [-1.0]]
    with pytest.raises(UndecidedRounding):
        gradients(x, x, [[1.0], [0.0]], np.full((2, 1), 1 + 2.0**-11)).dv.round_to("float16")


def test_small_integers_always_round():
    """What shrunk counterexamples look like; sums over rows cancel in many ways."""
    rng = np.random.default_rng(0)
    for n in range(60):
        L, S, E, Ev = rng.integers(1, 4, 4)
        shapes = (L, E), (S, E), (S, Ev), (L, Ev)
        arrays = [rng.integers(-1, 2, s).astype(float) for s in shapes]
        options = [{}, {"scale": 1}, {"is_causal": True}, {"sinks": [0.0]}][n % 4]
        r = gradients(*arrays, **options)
        for e in (r.dq, r.dk, r.dv, r.dbias):
            got = e.round_to("float64")
            assert np.allclose(got, e.as_floats()[0], rtol=1e-15, atol=1e-45)


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
