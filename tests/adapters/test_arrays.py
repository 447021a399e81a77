"""Arrays cross to torch, JAX and MLX and back bit for bit, and functions of them are wrapped."""

from __future__ import annotations

import inspect
import subprocess
import sys

import numpy as np
import pytest

from attnproofs.adapters.arrays import converters, wrap
from attnproofs.errors import InputError

TARGET = """
import numpy as np
from attnproofs.adapters import numpy_attention

def attention(query, key, value, *, attn_mask=None, is_causal=False, scale=None):
    assert type(query).__module__.startswith({module!r}), type(query)
    back = [np.asarray(x) for x in (query, key, value)]
    mask = None if attn_mask is None else np.asarray(attn_mask)
    out = numpy_attention.sdpa(*back, attn_mask=mask, is_causal=is_causal, scale=scale)
    return {make}(out)
"""
MAKE = {"torch": "__import__('torch').from_numpy", "jax": "__import__('jax').numpy.asarray"}


def _need(kind):
    pytest.importorskip({"mlx": "mlx.core"}.get(kind, kind), exc_type=ImportError)


@pytest.mark.parametrize("kind", ["numpy", "torch", "jax", "mlx"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "bool"])
def test_every_bit_comes_back(kind, dtype):
    if kind != "numpy":
        _need(kind)
    if kind == "mlx" and dtype == "float64":
        pytest.skip("mlx has no float64 on every device")
    to, back = converters(kind)
    kinds = {"bfloat16": lambda: pytest.importorskip("ml_dtypes").bfloat16, "bool": lambda: bool}
    made = kinds.get(dtype, lambda: np.dtype(dtype))()
    array = np.array([[0.0, -0.0, 1.5, np.inf], [-np.inf, 65504, 1e-7, 2.0]]).astype(made)
    again = back(to(array))
    assert again.dtype == array.dtype and again.tobytes() == array.tobytes()
    backwards = array[:, ::-1]  # strides that some frameworks refuse
    assert np.array_equal(back(to(backwards)), backwards)


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2"])
def test_float8_crosses_to_torch(name):
    _need("torch")
    array = np.array([1.0, -0.5, 2.0]).astype(getattr(pytest.importorskip("ml_dtypes"), name))
    to, back = converters("torch")
    assert str(to(array).dtype) == f"torch.{name}"
    assert back(to(array)).tobytes() == array.tobytes()


def test_layouts_that_torch_refuses_are_copied():
    _need("torch")
    to, _ = converters("torch")
    array = np.arange(6.0).reshape(2, 3)
    assert to(array[::-1]).tolist() == array[::-1].tolist()
    array.flags.writeable = False
    assert to(array).tolist() == array.tolist()


def test_signature_and_results_of_a_wrapped_function():
    def f(query, *, scale=None):
        return query, [query * 2]

    wrapped = wrap(f, "numpy")
    assert inspect.signature(wrapped) == inspect.signature(f)
    first, (second,) = wrapped(np.ones(1))
    assert first.tolist() == [1.0] and second.tolist() == [2.0]


def test_a_kind_or_device_that_does_not_exist():
    with pytest.raises(InputError, match="no array kind 'cupy'; expected one of numpy, torch"):
        converters("cupy")
    with pytest.raises(InputError, match="NumPy arrays live on 'cpu', not on 'cuda'"):
        converters("numpy", "cuda")


@pytest.mark.parametrize("kind", ["torch", "jax", "mlx"])
def test_a_device_that_the_framework_lacks(kind):
    _need(kind)
    with pytest.raises(InputError, match="device"):
        converters(kind, "nonsense")


@pytest.mark.parametrize("kind", ["torch", "jax"])
@pytest.mark.parametrize("command", ["audit --mode quick --no-save --only causal_*", "identify"])
def test_a_function_of_framework_arrays_from_the_command_line(kind, command, tmp_path):
    _need(kind)
    module = {"torch": "torch", "jax": "jax"}[kind]
    text = TARGET.format(module=module, make=MAKE[kind])
    (tmp_path / "mine.py").write_text(text, "utf-8")
    name, *options = command.split()
    words = [name, f"{tmp_path}/mine.py:attention", "--arrays", kind, *options]
    done = subprocess.run(
        [sys.executable, "-m", "attnproofs", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
