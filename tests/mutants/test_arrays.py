"""Tests written for torch or JAX arrays are answered in kind."""

import numpy as np
import pytest

from attnproofs.mutants.arrays import for_any_array


def echo(*args, **kwargs):
    """Return what arrives, so that a test sees what a mutant sees."""
    return args[0]


def test_numpy_arrays_pass_untouched():
    x = np.ones((2, 3))[:, ::2]
    assert for_any_array(echo)(x) is x


def test_what_is_no_array_passes_untouched():
    assert for_any_array(echo)([1.0]) == [1.0]


@pytest.mark.parametrize("name", ["float64", "float32", "float16", "bfloat16"])
def test_torch_tensors_are_answered_in_kind(name):
    torch = pytest.importorskip("torch", reason="torch is an extra")
    x = torch.ones((2, 3), dtype=getattr(torch, name), requires_grad=True)
    seen = []

    def look(query, key, value, *, attn_mask):
        seen.extend([query, attn_mask])
        return query, 2 * query

    first, second = for_any_array(look)(x, x, x, attn_mask=torch.ones(3, dtype=torch.bool))
    assert all(isinstance(array, np.ndarray) for array in seen)
    assert seen[1].dtype == bool
    assert first.dtype == second.dtype == x.dtype
    assert second.tolist() == [[2.0] * 3] * 2


def test_torch_views_keep_their_strides():
    torch = pytest.importorskip("torch", reason="torch is an extra")
    seen = []
    for_any_array(lambda x: seen.append(x) or x)(torch.arange(6.0).reshape(2, 3).T)
    assert not seen[0].flags.c_contiguous
    assert seen[0].tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]


def test_jax_arrays_are_answered_in_kind():
    jax = pytest.importorskip("jax", reason="jax is an extra")
    x = jax.numpy.ones((2, 3))
    answer = for_any_array(echo)(x)
    assert isinstance(answer, jax.Array)
    assert answer.tolist() == x.tolist()
