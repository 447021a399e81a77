"""Forward attention against the plain mpmath version, and the rules stated in its docstring."""

from fractions import Fraction

import numpy as np
import pytest

from attnproofs.reference import attention
from tests.reference import plain

BACKENDS = ["python", "flint"]


@pytest.fixture(params=BACKENDS)
def backend(request):
    if request.param == "flint":
        pytest.importorskip("flint")
    return request.param


def arrays(seed, *shapes):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(s) for s in shapes]


@pytest.mark.parametrize("softcap", [None, 0.7, 20.0])
@pytest.mark.parametrize("scale", [None, 0.3, -1.5])
@pytest.mark.parametrize("causal", [False, True])
def test_enclosures_contain_the_plain_value(backend, softcap, scale, causal):
    q, k, v = arrays(1, (5, 3), (7, 3), (7, 2))
    options = {"scale": scale, "softcap": softcap, "is_causal": causal, "causal_offset": 1}
    r = attention(q, k, v, **options, backend=backend)
    output, weights, lse, scores, keep = plain.attention(q, k, v, **options)
    assert plain.inside(r.output, output, 10).all()
    assert plain.inside(r.weights, weights, 1).all()
    assert plain.inside(r.lse, lse, 1).all()
    assert plain.inside(r.scores, scores, 1).all()
    assert (r.keep == keep).all()
    assert float(r.output.radius.max()) < 1e-49
    assert float(r.weights.radius.max()) < 1e-50
    assert float(r.lse.radius.max()) < 1e-49


@pytest.mark.parametrize("scale", [None, 1, -0.3])
@pytest.mark.parametrize("keys", [5, 60])
@pytest.mark.parametrize("spread", [1.0, 2.0**100])
def test_large_scores_that_differ_in_their_last_bits(backend, scale, keys, spread):
    """Scores 2**600 + n: the common part costs nothing, and the largest is found exactly."""
    rng = np.random.default_rng(keys)
    n = rng.permutation(np.arange(keys) - keys // 2) * spread
    q = np.array([[2.0**300, 1.0], [2.0**300, -1.0]])
    k = np.stack([np.full(keys, 2.0**300), n], axis=1)
    v = rng.standard_normal((keys, 2))
    r = attention(q, k, v, scale=scale, backend=backend)
    output, weights, lse, _, _ = plain.attention(q, k, v, scale=scale)
    assert plain.inside(r.output, output, 10).all()
    assert plain.inside(r.weights, weights, 1).all()
    assert plain.inside(r.lse, lse, 1).all()
    assert float(r.output.radius.max()) < 1e-49


def test_a_small_scale_on_products_that_overflow(backend):
    """Each product is finite, their sum is not, and the scale brings it back."""
    q, k = np.full((1, 2), 1e154), np.array([[1.1e154] * 2, [1.2e154] * 2])
    r = attention(q, k, np.eye(2), scale=Fraction(1, 10**300), backend=backend)
    assert float(r.weights.radius.max()) <= 2.0**-167
    assert r.weights.round_to("float64").tolist() == [[0.0, 1.0]]
