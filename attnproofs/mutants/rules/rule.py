"""What a rule is: cases of each level it covers, and a comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from attnproofs.mutants.correct import LEVELS, Array
from attnproofs.mutants.registry import Call, Function

# (got, expected) -> what is wrong, or None
Comparison = Callable[[Array, Array], str | None]


@dataclass(frozen=True)
class Case:
    """One call, what the correct function answers, and how an answer is compared with that."""

    name: str
    call: Call
    expected: tuple[Array, ...]
    compare: tuple[Comparison, ...]  # one for each result


@dataclass(frozen=True)
class Rule:
    """A way to test an attention function.

    Attributes
    ----------
    name
        As typed after ``attnproofs grade``.
    title
        Its inputs and its comparison, in one sentence.
    cases
        For each level that the rule has tests of, a function that makes its cases.
    """

    name: str
    title: str
    cases: dict[str, Callable[[], Iterator[Case]]]

    @property
    def levels(self) -> frozenset[str]:
        """The levels that the rule examines."""
        return frozenset(self.cases)

    def examine(self, level: str, function: Function) -> str | None:
        """Return why `function` fails the rule, or None when it passes.

        A function that raises fails. Each case is called with arrays of its own.
        """
        for case in _made(self.cases[level]):
            call = copied(case.call)
            try:
                answer = function(*call.args, **call.kwargs)
            except Exception as error:
                return f"{case.name}: raises {type(error).__name__}: {error}"
            answers = answer if isinstance(answer, tuple) else (answer,)
            for got, expected, compare in zip(answers, case.expected, case.compare, strict=True):
                wrong = f"shape {got.shape} instead of {expected.shape}"
                found = wrong if got.shape != expected.shape else compare(got, expected)
                if found:
                    return f"{case.name}: {found}"
        return None


@cache
def _made(maker: Callable[[], Iterator[Case]]) -> tuple[Case, ...]:
    """The cases of one level, made once: their expected values are the costly part."""
    return tuple(maker())


def copied(call: Call) -> Call:
    """A copy of `call` whose arrays keep their memory layout (a strided view stays strided)."""
    return Call(
        tuple(_copied(x) for x in call.args),
        {name: _copied(x) for name, x in call.kwargs.items()},
    )


def _copied(x: Any) -> Any:
    if not isinstance(x, np.ndarray):
        return x
    if x.ndim and x.size and x.strides[-1] == 2 * x.itemsize:  # made by `spread`
        return spread(x)
    return x.copy(order="K")


def spread(x: Array) -> Array:
    """The values of `x` in every other place of a larger array: not contiguous."""
    wide = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), dtype=x.dtype)
    wide[..., ::2] = x
    return wide[..., ::2]


def correct_answer(level: str, call: Call) -> tuple[Array, ...]:
    """What the correct function of `level` answers to `call`, always as a tuple."""
    answer = LEVELS[level](*call.args, **call.kwargs)
    return answer if isinstance(answer, tuple) else (answer,)


def case(level: str, name: str, call: Call, compare: Comparison) -> Case:
    """Make a case that holds every result to the same comparison."""
    expected = correct_answer(level, call)
    return Case(name, call, expected, (compare,) * len(expected))


def within(rtol: float, atol: float, same_dtype: bool = False) -> Comparison:
    """Compare as ``numpy.allclose``: |got - expected| <= atol + rtol * |expected|; NaN fails."""

    def compare(got: Array, expected: Array) -> str | None:
        if same_dtype and got.dtype != expected.dtype:
            return f"dtype {got.dtype} instead of {expected.dtype}"
        wide, right = got.astype(np.float64), expected.astype(np.float64)
        with np.errstate(all="ignore"):
            error = np.abs(wide - right)
            good = (error <= atol + rtol * np.abs(right)) | (wide == right)
        if good.all():
            return None
        if np.isnan(wide).any() and not np.isnan(right).any():
            return "NaN"
        return f"error {float(np.where(good, 0.0, error).max()):.3g}"

    return compare
