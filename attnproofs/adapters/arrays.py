"""Array conversion: a function of torch, JAX or MLX arrays seen as one of NumPy arrays.

The 8- and 16-bit formats that NumPy lacks travel as the types of ``ml_dtypes`` and cross bit for
bit; no conversion rounds.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from attnproofs.errors import InputError, MissingDependency

#: How the names of formats begin that NumPy lacks.
_NOT_NUMPYS = ("bfloat", "float8")

KINDS = ("numpy", "torch", "jax", "mlx")

Convert = Callable[[np.ndarray[Any, Any]], Any]


def _framework(package: str, extra: str) -> Any:
    """The imported module `package`, or one sentence with the pip command."""
    try:
        return import_module(package)
    except ImportError as error:
        name = package.removesuffix(".core")
        raise MissingDependency(
            f"{extra} arrays need {name}: pip install 'attnproofs[{extra}]'"
        ) from error


def _torch(device: str) -> tuple[Convert, Convert]:
    torch = _framework("torch", "torch")
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"torch cannot use device {device!r} here: {reason}") from None

    def to(array: np.ndarray[Any, Any]) -> Any:
        # torch warns about read-only memory and refuses negative strides: hand it a copy of those
        if not array.flags.writeable or any(step < 0 for step in array.strides):
            array = array.copy()
        if not array.dtype.name.startswith(_NOT_NUMPYS):
            return torch.from_numpy(array).to(device)
        if not hasattr(torch, array.dtype.name):
            raise InputError(f"torch has no dtype {array.dtype.name}")
        bits = torch.from_numpy(array.view(f"u{array.dtype.itemsize}"))
        return bits.view(getattr(torch, array.dtype.name)).to(device)

    def back(tensor: Any) -> np.ndarray[Any, Any]:
        tensor = tensor.detach().cpu()
        name = str(tensor.dtype).removeprefix("torch.")
        if not name.startswith(_NOT_NUMPYS):
            return np.asarray(tensor.numpy())
        bits = tensor.contiguous().view(getattr(torch, f"uint{8 * tensor.element_size()}"))
        return np.asarray(bits.numpy()).view(getattr(_framework("ml_dtypes", "formats"), name))

    return to, back


def _jax(device: str) -> tuple[Convert, Convert]:
    jax = _framework("jax", "jax")
    # without it JAX silently turns float64 into float32
    jax.config.update("jax_enable_x64", True)
    try:
        place = jax.devices(device)[0]
    except RuntimeError as error:
        raise InputError(f"jax cannot use device {device!r} here: {error}") from None
    return lambda array: jax.device_put(array, place), np.asarray


def _mlx(device: str) -> tuple[Convert, Convert]:
    mx = _framework("mlx.core", "mlx")
    if device not in ("cpu", "gpu"):
        raise InputError(f"mlx has devices 'cpu' and 'gpu', not {device!r}")
    mx.set_default_device(getattr(mx, device))

    def to(array: np.ndarray[Any, Any]) -> Any:
        array = np.ascontiguousarray(array)  # mlx refuses negative strides
        if array.dtype.name == "bfloat16":
            return mx.array(array.view(np.uint16)).view(mx.bfloat16)
        return mx.array(array)

    def back(array: Any) -> np.ndarray[Any, Any]:
        if array.dtype == mx.bfloat16:
            bfloat16 = _framework("ml_dtypes", "formats").bfloat16
            return np.array(array.view(mx.uint16)).view(bfloat16)
        return np.array(array)

    return to, back


def converters(arrays: str, device: str = "cpu") -> tuple[Convert, Convert]:
    """Functions from NumPy to `arrays` on `device`, and back.

    Parameters
    ----------
    arrays
        One of `KINDS`.
    device
        In the framework's own words: ``cpu``, ``cuda``, ``cuda:1``, ``mps``, ``gpu``.

    Raises
    ------
    InputError
        When there is no such kind or device.
    MissingDependency
        When the framework is not installed.
    """
    if arrays == "numpy":
        if device != "cpu":
            raise InputError(f"NumPy arrays live on 'cpu', not on {device!r}")
        return (lambda array: array), np.asarray
    makers = {"torch": _torch, "jax": _jax, "mlx": _mlx}
    if arrays not in makers:
        raise InputError(f"no array kind {arrays!r}; expected one of {', '.join(KINDS)}")
    return makers[arrays](device)


def wrap_with(function: Callable[..., Any], to: Convert, back: Convert) -> Callable[..., Any]:
    """The `function` with every array argument sent through `to` and every result through `back`.

    Examples
    --------
    >>> times = wrap_with(lambda x, *, factor: x * factor, np.negative, np.abs)
    >>> times(np.arange(3), factor=2)
    array([0, 2, 4])
    """

    def enter(value: Any) -> Any:
        return to(value) if isinstance(value, np.ndarray) else value

    def leave(value: Any) -> Any:
        if isinstance(value, (tuple, list)):
            return tuple(leave(item) for item in value)
        return back(value)

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return leave(
            function(*map(enter, args), **{name: enter(value) for name, value in kwargs.items()})
        )

    return wrapped


def wrap(function: Callable[..., Any], arrays: str, device: str = "cpu") -> Callable[..., Any]:
    """The `function` of `arrays` on `device`, taking and returning NumPy arrays.

    Its signature is kept. Parameters and errors are those of `converters`.
    """
    return wrap_with(function, *converters(arrays, device))
