"""Softmax, decoding and multi-head attention."""

import mpmath
import numpy as np
import pytest

from attnproofs.errors import InputError
from attnproofs.reference import attention, decode, multi_head, softmax
from tests.reference import plain
from tests.reference.fuzz import BACKENDS


def arrays(seed, *shapes):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(s) for s in shapes]


@pytest.fixture(params=BACKENDS)
def backend(request):
    return request.param


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_softmax_along_any_axis(backend, axis):
    x = np.random.default_rng(0).normal(0, 30, (2, 3, 4))
    x[0, 0, 0] = -np.inf
    r = softmax(x, axis=axis, backend=backend)
    with mpmath.workdps(220):
        e = np.vectorize(lambda t: mpmath.exp(mpmath.mpf(float(t))), otypes=[object])(x)
        assert plain.inside(r, e / e.sum(axis=axis, keepdims=True), 1).all()
    assert np.allclose(r.round_to("float64").sum(axis=axis), 1, rtol=1e-15)


def test_softmax_of_an_empty_row_follows_the_rule(backend):
    x = [[-np.inf, -np.inf], [0.0, 0.0]]
    assert softmax(x, backend=backend).round_to("float64").tolist() == [[0, 0], [0.5, 0.5]]
    nan = softmax(x, empty_rows="nan", backend=backend).round_to("float64")
    assert np.isnan(nan[0]).all() and nan[1].tolist() == [0.5, 0.5]
    with pytest.raises(InputError, match="no key is kept"):
        softmax(x, empty_rows="error", backend=backend)


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3), (2, 0, 3)])
def test_softmax_of_zero_lengths(shape):
    assert softmax(np.zeros(shape)).round_to("float32").shape == shape


@pytest.mark.parametrize(
    ("scores", "axis", "message"),
    [
        (1.0, -1, r"scores has shape \(\); expected at least one dimension"),
        ([1.0, np.nan], -1, "scores of shape .* holds nan; expected finite numbers or -inf"),
        ([1.0, np.inf], -1, "holds inf"),
        ([1.0, 2.0], 1, r"axis is 1; scores of shape \(2,\) has 1 dimensions"),
        ([1.0, 2.0], 0.0, "axis is 0.0; expected an integer"),
        ([1j], -1, "scores has dtype complex128 and shape"),
    ],
)
def test_softmax_refuses(scores, axis, message):
    with pytest.raises(InputError, match=message):
        softmax(scores, axis=axis)


def test_decode_is_one_step_at_a_time(backend):
    q, k, v = arrays(1, (2, 3, 4), (1, 5, 4), (1, 5, 2))
    r = decode(q, k, v, backend=backend)
    for t in range(3):
        seen = 5 - 3 + t + 1
        step = attention(q[:, t : t + 1], k[:, :seen], v[:, :seen], backend=backend)
        assert r.output[:, t : t + 1].overlaps(step.output).all()
        same = r.output.round_to("float64")[:, t] == step.output.round_to("float64")[:, 0]
        assert same.all()


def test_decode_refuses_more_queries_than_keys():
    with pytest.raises(
        InputError, match=r"queries has shape \(3, 2\) and keys \(2, 2\): more steps"
    ):
        decode(np.ones((3, 2)), np.ones((2, 2)), np.ones((2, 2)))


def mpf_array(x):
    return np.vectorize(plain.mpf, otypes=[object])(np.asarray(x))


def plain_multi_head(x, y, weights, biases, h, **options):
    """Projections, heads and output projection in mpmath."""
    with mpmath.workdps(230):
        q, k, v = (
            mpf_array(z) @ mpf_array(w) + mpf_array(b)
            for z, w, b in zip((x, y, y), weights, biases)
        )
        parts = []
        for z in (q, k, v):
            n = z.shape[-1] // h
            parts.append(np.stack([z[..., i * n : (i + 1) * n] for i in range(h)], axis=-3))
        o = plain.attention(*parts, **options)[0]
        joined = np.concatenate([o[..., i, :, :] for i in range(h)], axis=-1)
        return joined @ mpf_array(weights[3]) + mpf_array(biases[3])


@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"scale": 0.5}])
@pytest.mark.parametrize("batch", [(), (2,)])
def test_multi_head_contains_the_plain_value(backend, options, batch):
    h, D, Ds, E, Ev, Dout = 2, 3, 4, 2, 3, 5
    x, y = arrays(2, (*batch, 2, D), (4, Ds))
    weights = arrays(3, (D, h * E), (Ds, h * E), (Ds, h * Ev), (h * Ev, Dout))
    biases = arrays(4, (h * E,), (h * E,), (h * Ev,), (Dout,))
    names = ("b_Q", "b_K", "b_V", "b_O")
    r = multi_head(
        x, y, *weights, num_heads=h, **dict(zip(names, biases)), **options, backend=backend
    )
    expected = plain_multi_head(x, y, weights, biases, h, **options)
    assert r.output.shape == (*batch, 2, Dout)
    assert r.weights.shape == (*batch, h, 2, 4)
    assert plain.inside(r.output, expected, 100).all()
    assert float(r.output.radius.max()) < 1e-47
    got = r.output.round_to("float64")
    assert (got == np.vectorize(float, otypes=[float])(expected)).all()


def test_multi_head_with_identity_projections_is_attention():
    q, k = arrays(5, (3, 4), (5, 4))
    eye = np.eye(4)
    r = multi_head(q, k, eye, eye, eye, eye, num_heads=1)
    assert (r.output.round_to("float64") == attention(q, k, k).output.round_to("float64")).all()


def test_multi_head_rounds_exact_ties():
    """Equal scores in one head, a midpoint of bfloat16 in the sum with the bias."""
    y = np.array([[1.0, 3.0], [2.0, 5.0]])
    w = np.eye(2)
    r = multi_head(np.zeros((1, 2)), y, w, w, w, w, num_heads=2, b_O=[2.0**-8 - 0.5, 0.0]).output
    assert r.round_to("float64").tolist() == [[1 + 2.0**-8, 4.0]]
    assert r.round_to("bfloat16").astype(float).tolist() == [[1.0, 4.0]]  # tie to even


def test_multi_head_rounds_heads_that_add_up_to_a_boundary():
    """Two heads with mirrored weights p and 1 - p and the same values: no head is rational."""
    x, y, one = np.ones((1, 1)), np.array([[1.0], [-1.0]]), np.ones((1, 2))
    mid = 1 + 2.0**-8
    r = multi_head(
        x,
        y,
        one,
        np.array([[1.0, -1.0]]),
        one * 0.5,
        np.full((2, 1), mid),
        num_heads=2,
        b_V=[0.5, 0.5],
    ).output
    assert r.radius.item() > 0
    assert r.round_to("float64").item() == mid
    assert float(r.round_to("bfloat16").item()) == 1.0


def test_multi_head_hides_what_masks_hide():
    x, w = np.ones((1, 2)), np.eye(2)
    y = np.array([[1.0, 2.0], [np.nan, np.inf]])
    r = multi_head(x, y, w, w, w, w, num_heads=2, attn_mask=[True, False])
    assert r.output.round_to("float64").tolist() == [[1.0, 2.0]]
    with pytest.raises(InputError, match=r"x_source of shape \(2, 2\) is not finite in row \(1,\)"):
        multi_head(x, y, w, w, w, w, num_heads=2)
    with pytest.raises(InputError, match=r"x_query of shape \(1, 2\) is not finite in row \(0,\)"):
        multi_head(x * np.nan, x, w, w, w, w, num_heads=2)


def test_multi_head_empty_rows():
    x, w = np.ones((2, 2)), np.eye(2)
    options = {"num_heads": 2, "attn_mask": [[True, True], [False, False]], "b_O": [5.0, 6.0]}
    r = multi_head(x, x, w, w, w, w, **options)
    assert r.output.round_to("float64").tolist() == [[6.0, 7.0], [5.0, 6.0]]
    r = multi_head(x, x, w, w, w, w, empty_rows="nan", **options)
    assert np.isnan(r.output.round_to("float64")).tolist() == [[False, False], [True, True]]
    with pytest.raises(InputError, match="no key is kept"):
        multi_head(x, x, w, w, w, w, empty_rows="error", **options)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_heads": 0}, "num_heads is 0; expected a number >= 1"),
        ({"num_heads": 3}, r"W_Q has shape \(4, 4\); expected a number of columns that 3 heads"),
        (
            {"W_Q": np.ones((3, 4))},
            r"W_Q has shape \(3, 4\); expected 4 rows, the width of x_query",
        ),
        ({"W_K": np.ones(4)}, r"W_K has shape \(4,\); expected 2 dimensions"),
        ({"W_O": np.ones((3, 4))}, r"W_O has shape \(3, 4\); expected 4 rows, the columns of W_V"),
        ({"W_V": np.full((4, 4), np.nan)}, r"W_V of shape \(4, 4\) holds nan at index \(0, 0\)"),
        ({"b_V": np.ones(3)}, r"b_V has shape \(3,\); expected \(4,\)"),
        ({"x_query": np.ones(4)}, r"x_query has shape \(4,\); expected \(..., length, width\)"),
        ({"attn_mask": np.ones((3, 3), bool)}, r"attn_mask has shape \(3, 3\)"),
    ],
)
def test_multi_head_refuses(change, message):
    arguments = dict.fromkeys(("x_query", "x_source", "W_Q", "W_K", "W_V", "W_O"), np.eye(4))
    with pytest.raises(InputError, match=message):
        multi_head(**(arguments | {"num_heads": 2} | change))
