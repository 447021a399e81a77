"""One input of the target, and what was wrong with the answer; both can be printed as code.

A case holds the arguments of a call by name and, for properties that compare two calls, the
arguments that the second call changes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from attnproofs.contract.wire import Array, dtype_named


@dataclass(frozen=True)
class Case:
    """Arguments of a call, and what a second call changes.

    Attributes
    ----------
    args
        Arguments by name: arrays, numbers, booleans or None.
    changed
        Arguments of the second call that differ from the first; empty for one call.
    layouts
        Memory layout of an argument where it is not the usual one (`worker.LAYOUTS`).
    times
        How often the call is made, for properties about repeated calls.
    """

    args: dict[str, Any]
    changed: dict[str, Any] = field(default_factory=dict)
    layouts: dict[str, str] = field(default_factory=dict)
    times: int = 1

    def array(self, name: str) -> Array:
        """The argument `name`, as an array."""
        return np.asarray(self.args[name])

    def second(self) -> dict[str, Any]:
        """Arguments of the second call."""
        return {**self.args, **self.changed}

    def with_args(self, **args: Any) -> Case:
        """A copy with other arguments."""
        return replace(self, args={**self.args, **args})

    def to_json(self) -> dict[str, Any]:
        """A plain form that `case_from_json` reads back bit for bit."""
        return {
            "args": {k: _plain(v) for k, v in self.args.items()},
            "changed": {k: _plain(v) for k, v in self.changed.items()},
            "layouts": dict(self.layouts),
            "times": self.times,
        }

    def size(self) -> dict[str, list[int]]:
        """Shapes of the arrays, by argument."""
        return {k: list(v.shape) for k, v in self.args.items() if isinstance(v, np.ndarray)}


def case_from_json(data: dict[str, Any]) -> Case:
    """Read what `Case.to_json` wrote."""
    return Case(
        args={str(k): _rich(v) for k, v in data["args"].items()},
        changed={str(k): _rich(v) for k, v in data["changed"].items()},
        layouts={str(k): str(v) for k, v in data["layouts"].items()},
        times=int(data["times"]),
    )


def _plain(value: Any) -> Any:
    """An argument as JSON; floats as hexadecimal, so that no bit is lost."""
    if isinstance(value, np.ndarray):
        flat = value.ravel()
        if value.dtype.kind in "biu":
            items: list[Any] = [int(x) for x in flat]
        else:
            items = [float(x).hex() for x in flat]
        return {"dtype": value.dtype.name, "shape": list(value.shape), "items": items}
    if isinstance(value, tuple):
        return {"tuple": [_plain(item) for item in value]}
    if isinstance(value, float):
        return {"float": value.hex()}
    return value


def _rich(value: Any) -> Any:
    """An argument read back from JSON."""
    if isinstance(value, dict) and "items" in value:
        dtype = dtype_named(str(value["dtype"]))
        convert = int if dtype.kind in "biu" else float.fromhex
        flat = [convert(item) for item in value["items"]]
        return (
            np.array(flat, dtype=np.float64 if dtype.kind not in "biu" else dtype)
            .astype(dtype)
            .reshape([int(n) for n in value["shape"]])
        )
    if isinstance(value, dict) and "tuple" in value:
        return tuple(_rich(item) for item in value["tuple"])
    if isinstance(value, dict) and "float" in value:
        return float.fromhex(value["float"])
    return value


@dataclass(frozen=True)
class Violation:
    """What was wrong with one answer.

    Attributes
    ----------
    kind
        ``differs`` (a number is outside what is allowed), ``raised``, ``hung``, ``died``,
        ``shape``, ``dtype``, ``kind`` (not an array), ``mutated``, ``aliases``, ``unequal``
        (two equal calls), ``printed`` or ``memory``.
    message
        One sentence.
    output
        Which output of the call (0 for the first).
    index
        Position of the worst element.
    expected, got, allowed
        At that position; NaN is compared explicitly.
    second
        Whether the comparison is between two calls (`expected` is then the first call's).
    dominates
        The term of the allowance that dominates it, or empty.
    wanted
        Python source of the shape or data type that was expected, for those kinds.
    """

    kind: str
    message: str
    output: int = 0
    index: tuple[int, ...] = ()
    expected: float | None = None
    got: float | None = None
    allowed: float | None = None
    second: bool = False
    dominates: str = ""
    wanted: str = ""


def literal(value: Any, *, dtype: bool = True) -> str:
    """Python source of an argument, with ``np`` for NumPy.

    Examples
    --------
    >>> literal(np.eye(2))
    'np.eye(2)'
    >>> literal(np.array([[1.0, -np.inf]]))
    'np.array([[1.0, -np.inf]])'
    >>> literal(np.zeros((0, 3), np.float16))
    'np.zeros((0, 3), np.float16)'
    """
    if isinstance(value, np.ndarray):
        return _array_literal(value, dtype=dtype)
    if isinstance(value, tuple):
        return f"({', '.join(literal(item) for item in value)}{',' if len(value) == 1 else ''})"
    if isinstance(value, float):
        return number(value)
    return repr(value)


def number(value: float) -> str:
    """Python source of a float, with ``np.nan`` and ``np.inf``."""
    if math.isnan(value):
        return "np.nan"
    if value in (np.inf, -np.inf):
        return "np.inf" if value > 0 else "-np.inf"
    return repr(float(value))


_DEFAULT = ("float64", "bool", "int64")


def _array_literal(array: Array, *, dtype: bool) -> str:
    """Source of an array: eye, zeros, ones or full where that says it, else nested lists."""
    name = array.dtype.name
    native = hasattr(np, name) or name == "bool"
    suffix = "" if name in _DEFAULT or not dtype else f", np.{name}" if native else f", {name!r}"
    shape = repr(tuple(int(n) for n in array.shape))
    if array.size == 0:
        return f"np.zeros({shape}{suffix or (', bool' if name == 'bool' else '')})"
    if array.ndim >= 1 and array.size > 6 and array.dtype.kind != "b":
        first = array.ravel()[0]
        if (array == first).all():
            if first == 0:
                return f"np.zeros({shape}{suffix})"
            if first == 1:
                return f"np.ones({shape}{suffix})"
            return f"np.full({shape}, {number(float(first))}{suffix})"
    if array.ndim >= 2 and array.shape[-1] == array.shape[-2] >= 2 and array.dtype.kind != "b":
        eye = np.eye(array.shape[-1])
        if array.size == eye.size and (array.reshape(eye.shape) == eye).all():
            inner = (
                f"np.eye({array.shape[-1]}{suffix})"
                if not suffix
                else (f"np.eye({array.shape[-1]}, dtype={suffix[2:]})")
            )
            return inner if array.ndim == 2 else f"{inner}.reshape({shape})"
    if not native and suffix:
        return f"np.array({_nested(array)}).astype({name!r})"
    return f"np.array({_nested(array)}{suffix})"


def _nested(array: Array) -> str:
    """Nested list source of an array's entries."""
    if array.ndim == 0:
        item = array.item()
        if array.dtype.kind == "b":
            return repr(bool(item))
        if array.dtype.kind in "iu":
            return repr(int(item))
        return number(float(item))
    return "[" + ", ".join(_nested(np.asarray(row)) for row in array) + "]"
