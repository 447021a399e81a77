"""The yardsticks of the suites: agreement in digits, exact rank, derivatives, laws, counting.

Each is short and has tests of its own, because a yardstick that always agrees confirms nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from itertools import product
from math import prod
from types import ModuleType
from typing import Any

from .attention_mp import DIGITS, Matrix, mp

# --- agreement ----------------------------------------------------------------------------------


def assert_agree(actual: Any, expected: Any, *, scale: Any = 1) -> None:
    """Require two numbers, vectors or matrices to agree to ``10^-DIGITS * max(scale, |expected|)``.

    `scale` is the size of the quantities that were added up on the way; ``scale=0`` requires
    DIGITS digits relative to each entry, and exact zeros to be exactly zero.

    Raises
    ------
    AssertionError
        With the position and both values.
    """
    pairs = [(where, mp.convert(a), mp.convert(b)) for where, a, b in _pairs(actual, expected, "")]
    largest = max([abs(b) for _, _, b in pairs if mp.isfinite(b)], default=0) if scale else 0
    for where, a, b in pairs:
        if a == b:  # an infinity has no distance to itself
            continue
        if not mp.isfinite(b):
            raise AssertionError(f"{where or 'the value'} is {mp.nstr(a, 20)}, expected {b}")
        allowed = mp.power(10, -DIGITS) * max(mp.convert(scale), abs(b), largest)
        if not abs(a - b) <= allowed:  # also catches nan
            raise AssertionError(
                f"{where or 'the value'} is {mp.nstr(a, 20)}, expected {mp.nstr(b, 20)}: "
                f"they differ by {mp.nstr(abs(a - b), 3)}, allowed {mp.nstr(allowed, 3)}"
            )


def assert_equal(actual: Any, expected: Any) -> None:
    """Require exact equality, entry by entry, of numbers, vectors or matrices."""
    for where, a, b in _pairs(actual, expected, ""):
        if a != b:
            raise AssertionError(f"{where or 'the value'} is {a}, expected exactly {b}")


def assert_at_most(actual: Any, bound: Any, *, scale: Any = 0) -> None:
    """Require ``actual <= bound`` but for ten guard digits of the larger of them, or of `scale`.

    `scale` is the size of what was subtracted on the way, where the difference may be tiny.
    """
    a, b = mp.convert(actual), mp.convert(bound)
    if not a <= b + mp.power(10, -DIGITS - 10) * max(abs(a), abs(b), scale):
        raise AssertionError(f"{mp.nstr(a, 20)} is above the bound {mp.nstr(b, 20)}")


def _pairs(actual: Any, expected: Any, where: str) -> Iterator[tuple[str, Any, Any]]:
    """Walk two nested sequences together and yield (position, number, number)."""
    if isinstance(expected, Sequence) != isinstance(actual, Sequence):
        raise AssertionError(f"{where or 'the value'} and what is expected differ in shape")
    if not isinstance(expected, Sequence):
        yield where, actual, expected
        return
    if len(actual) != len(expected):
        raise AssertionError(
            f"{where or 'the value'} has length {len(actual)}, expected {len(expected)}"
        )
    for i, (a, b) in enumerate(zip(actual, expected, strict=True)):
        yield from _pairs(a, b, f"{where}[{i}]")


# --- rank ---------------------------------------------------------------------------------------


def rank(M: Matrix) -> int:
    """Rank of a matrix of rationals, by exact elimination.

    >>> rank([[1, 2], [2, 4]]), rank([[1, 2], [2, 5]]), rank([[0, 0]])
    (1, 2, 0)
    """
    rows = [[Fraction(x) for x in row] for row in M]
    found = 0
    for column in range(len(rows[0])):
        pivot = next((i for i in range(found, len(rows)) if rows[i][column] != 0), None)
        if pivot is None:
            continue
        rows[found], rows[pivot] = rows[pivot], rows[found]
        for i in range(found + 1, len(rows)):
            factor = rows[i][column] / rows[found][column]
            rows[i] = [x - factor * y for x, y in zip(rows[i], rows[found], strict=True)]
        found += 1
    return found


def in_row_space(row: Sequence[Any], M: Matrix) -> bool:
    """Whether a row of rationals is a combination of the rows of `M`."""
    return rank([*M, row]) == rank(M)


# --- derivatives --------------------------------------------------------------------------------


def derivative(f: Callable[[Any], Any], at: Any) -> Any:
    """Central difference of `f`, a number or a vector, with step ``10^-(DIGITS + 10)``.

    The working precision is tripled meanwhile, so that the quotient keeps more than DIGITS + 10
    digits: the truncation error is of the order of the step squared.
    """
    digits = mp.dps
    mp.dps = 3 * (DIGITS + 10) + 20
    try:
        step = mp.power(10, -(DIGITS + 10))
        centre = mp.convert(at)
        above, below = f(centre + step), f(centre - step)
        if isinstance(above, Sequence):
            return [(a - b) / (2 * step) for a, b in zip(above, below, strict=True)]
        return (above - below) / (2 * step)
    finally:
        mp.dps = digits


def gradient(f: Callable[[Matrix], Any], at: Matrix) -> list[list[Any]]:
    """`derivative` of a number with respect to each entry of a matrix."""

    def moved(i: int, j: int, value: Any) -> Matrix:
        return [
            [value if (r, c) == (i, j) else x for c, x in enumerate(row)]
            for r, row in enumerate(at)
        ]

    return [
        [derivative(lambda x, i=i, j=j: f(moved(i, j, x)), entry) for j, entry in enumerate(row)]
        for i, row in enumerate(at)
    ]


# --- random variables with finitely many values -------------------------------------------------

# value -> probability; probabilities are rational and sum to 1
Law = dict[Any, Fraction]


def standard_law(a: Fraction) -> Law:
    """Two values `a` and ``-1/a`` with mean 0 and variance 1.

    >>> law = standard_law(Fraction(2))
    >>> sum(p * x for x, p in law.items()), sum(p * x * x for x, p in law.items())
    (Fraction(0, 1), Fraction(1, 1))
    """
    return {a: 1 / (1 + a * a), -1 / a: a * a / (1 + a * a)}


def expectation(f: Callable[..., Any], *laws: Law) -> Any:
    """``E f(x_1, .., x_n)`` for independent `x_i`, by running through every outcome."""
    total: Any = Fraction(0)
    for outcome in product(*(law.items() for law in laws)):
        total = total + prod((p for _, p in outcome), start=Fraction(1)) * f(
            *(x for x, _ in outcome)
        )
    return total


def variance(f: Callable[..., Any], *laws: Law) -> Any:
    """``E f^2 - (E f)^2`` for independent arguments."""
    mean = expectation(f, *laws)
    return expectation(lambda *x: f(*x) ** 2, *laws) - mean**2


# --- counting -----------------------------------------------------------------------------------


class Tally:
    """How many multiplications and additions its numbers took part in."""

    def __init__(self) -> None:
        self.multiplications = 0
        self.additions = 0

    def numbers(self, M: Matrix) -> list[list[Counted]]:
        """Return the same matrix, made of counting numbers."""
        return [[Counted(x, self) for x in row] for row in M]


class Counted:
    """A number that tells its tally of each product and sum with another such number.

    With an ordinary number it behaves as its value, uncounted: scaling and softmax stay out of
    the count of the two matrix products.
    """

    def __init__(self, value: Any, tally: Tally) -> None:
        self.value = value
        self.tally = tally

    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, Counted):
            return self.value * other
        self.tally.multiplications += 1
        return Counted(self.value * other.value, self.tally)

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, Counted):
            return self.value + other
        self.tally.additions += 1
        return Counted(self.value + other.value, self.tally)

    def __rmul__(self, other: Any) -> Any:
        return other * self.value


@contextmanager
def watched(module: ModuleType, name: str) -> Iterator[list[tuple[Any, ...]]]:
    """Collect the positional arguments of each call of ``module.name`` while the block runs."""
    original = getattr(module, name)
    calls: list[tuple[Any, ...]] = []

    def watching(*arguments: Any, **keywords: Any) -> Any:
        calls.append(arguments)
        return original(*arguments, **keywords)

    setattr(module, name, watching)
    try:
        yield calls
    finally:
        setattr(module, name, original)
