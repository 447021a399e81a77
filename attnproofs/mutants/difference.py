"""Where a mutant and the correct function part: exact about shapes, NaN, inputs and repeats."""

from __future__ import annotations

from typing import Any

import numpy as np

from attnproofs.mutants.correct import LEVELS, Array
from attnproofs.mutants.registry import Call, Mutant


def difference(mutant: Mutant) -> str | None:
    """Say how the mutant's answers to its witness differ from the correct ones; None if they agree.

    The witness's calls are made in order on one instance; every answer is read again after the
    last call, so that a reused buffer shows, and every input is compared with a second copy.
    """
    function, correct = mutant.make(), LEVELS[mutant.level]
    calls, originals = mutant.witness(), mutant.witness()
    answers: list[Any] = []
    for number, call in enumerate(calls):
        try:
            answers.append(function(*call.args, **call.kwargs))
        except Exception as error:
            return f"call {number}: raises {type(error).__name__}: {error}"
    for number, (call, original, answer) in enumerate(zip(calls, originals, answers, strict=True)):
        expected = correct(*original.args, **original.kwargs)
        found = unlike(answer, expected) or _touched(call, original) or _shared(answer, call)
        if found:
            return f"call {number}: {found}"
    return None


def unlike(got: Any, expected: Any) -> str | None:
    """Say how two results (an array or a tuple of arrays) differ beyond rounding, or None."""
    if isinstance(expected, tuple):
        if not isinstance(got, tuple) or len(got) != len(expected):
            return f"{len(expected)} results expected"
        for n, (a, b) in enumerate(zip(got, expected, strict=True)):
            found = unlike(a, b)
            if found:
                return f"result {n}: {found}"
        return None
    if not isinstance(got, np.ndarray) or got.shape != expected.shape:
        return f"shape {np.shape(got)} instead of {expected.shape}"
    if got.dtype != expected.dtype:
        return f"dtype {got.dtype} instead of {expected.dtype}"
    if close(got, expected):
        return None
    return (
        f"{np.array2string(got, threshold=8)} instead of {np.array2string(expected, threshold=8)}"
    )


def close(got: Array, expected: Array) -> bool:
    """Equal up to a few roundings of the dtype, NaN and infinities matched place by place."""
    unit = float(np.finfo(expected.dtype).eps) if expected.dtype.kind == "f" else 0.0
    size = np.abs(expected[np.isfinite(expected)].astype(np.float64)).max(initial=0.0)
    return bool(
        np.allclose(
            got.astype(np.float64),
            expected.astype(np.float64),
            rtol=4 * unit,
            atol=4 * unit * float(size),
            equal_nan=True,
        )
    )


def _touched(call: Call, original: Call) -> str | None:
    pairs = [*zip(call.args, original.args, strict=True)]
    pairs += [(call.kwargs[name], original.kwargs[name]) for name in original.kwargs]
    for n, (now, before) in enumerate(pairs):
        if isinstance(before, np.ndarray) and now.tobytes() != before.tobytes():
            return f"input {n} was changed by the call"
    return None


def _shared(answer: Any, call: Call) -> str | None:
    for part in answer if isinstance(answer, tuple) else (answer,):
        if any(isinstance(x, np.ndarray) and np.shares_memory(part, x) for x in call.args):
            return "the result is a view of an input"
    return None
