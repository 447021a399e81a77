"""Letting numpy functions answer tests written for torch or JAX arrays."""

from __future__ import annotations

from functools import wraps
from typing import Any

import numpy as np

from attnproofs.mutants.registry import Function

_FOREIGN = ("torch", "jax", "jaxlib")


def _library(x: Any) -> str:
    return type(x).__module__.partition(".")[0]


def _to_numpy(x: Any) -> Any:
    if _library(x) == "torch" and hasattr(x, "detach"):
        plain = x.detach().cpu()
        return (plain.float() if str(plain.dtype) == "torch.bfloat16" else plain).numpy()
    if _library(x) in _FOREIGN[1:] and hasattr(x, "__array__"):
        return np.asarray(x)
    return x


def _back(answer: Any, like: Any) -> Any:
    if isinstance(answer, tuple):
        return tuple(_back(part, like) for part in answer)
    if not isinstance(answer, np.ndarray):
        return answer
    if _library(like) == "torch":
        import torch

        tensor = torch.from_numpy(np.ascontiguousarray(answer)).to(like.device)
        return tensor.to(like.dtype) if str(like.dtype) == "torch.bfloat16" else tensor
    if _library(like) in _FOREIGN[1:]:
        import jax.numpy

        return jax.numpy.asarray(answer)
    return answer


def for_any_array(function: Function) -> Function:
    """Take torch tensors and JAX arrays as well, and answer in kind; no gradient is recorded.

    numpy arrays pass untouched. bfloat16 tensors are widened to float32 and the result narrowed.
    """

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        foreign = [x for x in (*args, *kwargs.values()) if _library(x) in _FOREIGN]
        if not foreign:
            return function(*args, **kwargs)
        answer = function(
            *(_to_numpy(x) for x in args), **{name: _to_numpy(x) for name, x in kwargs.items()}
        )
        return _back(answer, foreign[0])

    return call
