"""The form of a property: its sentence, the theorem it rests on, its cases and its judgement.

A property yields cases, small ones first, and judges one case at a time. The judgement is a total
function of the case, so that a counterexample can be shrunk without knowing how it was made.
"""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from attnproofs.contract.case import Case, Violation
from attnproofs.contract.profile import Profile
from attnproofs.contract.wire import Array, dtype_named

if TYPE_CHECKING:
    from attnproofs.reference.bounds import PrecisionModel

#: The calling convention of each level: positional arguments, then keywords it may claim.
LEVELS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "softmax": (("scores",), ("axis",)),
    "sdpa": (
        ("query", "key", "value"),
        (
            "attn_mask",
            "is_causal",
            "scale",
            "enable_gqa",
            "softcap",
            "sinks",
            "window",
            "left",
            "right",
            "cu_seqlens",
            "drop_keep",
            "p",
            "training",
        ),
    ),
    "weights": (("query", "key", "value"), ("attn_mask", "is_causal", "scale", "enable_gqa")),
    "lse": (("query", "key", "value"), ("attn_mask", "is_causal", "scale", "enable_gqa")),
    "grad": (("query", "key", "value", "grad_out"), ("is_causal",)),
    "decode": (("queries", "keys", "values"), ()),
    "mha": (
        ("x_query", "x_source", "W_Q", "W_K", "W_V", "W_O"),
        ("num_heads", "attn_mask", "is_causal", "b_Q", "b_K", "b_V", "b_O"),
    ),
}

#: How many arrays a level returns where it is not one.
TUPLES = {"weights": 2, "lse": 2, "grad": 3}
#: The subject of a property that uses everything (accuracy): any earlier violation explains it.
EVERYTHING = "*"

#: Lengths around the borders of tiles.
BORDERS = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129)


class TargetFailed(Exception):
    """The target did not give arrays back; carries the violation that this is."""

    def __init__(self, violation: Violation, *, refused: bool = False) -> None:
        super().__init__(violation.message)
        self.violation = violation
        #: the target says that it does not take such a call, so nothing is claimed of it
        self.refused = refused


@dataclass
class Make:
    """What a property needs to make cases: randomness, sizes, data type and conventions.

    Attributes
    ----------
    seed
        Seed of the audit; each property and data type draws from a stream of its own.
    examples
        How many random cases to draw after the enumerated ones.
    dtype
        Data type of the floating-point arguments.
    profile
        Conventions, for encoding masks.
    claims
        Keywords that the target accepts.
    rank
        Fewest axes the target accepts.
    reach
        Longest sequence to draw.
    best
        The case so far with the largest error in units of its allowance, for targeted search.
    """

    seed: int
    examples: int
    dtype: str
    profile: Profile
    claims: frozenset[str]
    rank: int = 2
    reach: int = 129
    name: str = ""
    variant: str = ""
    best: Case | None = None
    rng: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        salt = zlib.crc32(f"{self.name}/{self.dtype}".encode())
        self.rng = np.random.default_rng([self.seed, salt])

    def borders(self, most: int | None = None) -> Iterator[int]:
        """Lengths around tile borders, up to the audit's reach."""
        limit = min(self.reach, most or self.reach)
        return (n for n in BORDERS if n <= limit)

    def lattice(self, *shape: int, high: int = 1) -> Array:
        """Random whole numbers from -high to high."""
        return self.rng.integers(-high, high + 1, shape).astype(np.float64)

    def normal(self, *shape: int) -> Array:
        """Standard normal numbers."""
        return self.rng.standard_normal(shape)

    def pick(self, *options: Any) -> Any:
        """One of the options."""
        return options[int(self.rng.integers(len(options)))]

    def size(self, low: int, high: int) -> int:
        """A random whole number from low to high."""
        return int(self.rng.integers(low, high + 1))

    def mask(self, keep: Array) -> Array:
        """A boolean mask that keeps where `keep` is True, as the profile writes it."""
        return ~keep if self.profile.bool_mask == "masked" else keep

    def additive(self, keep: Array, bias: Any = 0.0) -> Array:
        """A mask of `bias` where `keep` is True and -inf elsewhere."""
        return np.where(keep, bias, -np.inf).astype(dtype_named(self.dtype))


class Probe(ABC):
    """Calls the target and turns everything but arrays into a violation."""

    profile: Profile
    dtype: str
    level: str
    variant: str = ""

    @abstractmethod
    def outputs(self, case: Case, args: dict[str, Any] | None = None) -> list[Array]:
        """The arrays that a call returns; raises `TargetFailed`."""

    @abstractmethod
    def repeat(self, case: Case, times: int, *, to_the_end: bool = False) -> dict[str, Any]:
        """The same call `times` times."""

    @abstractmethod
    def precision(self) -> PrecisionModel:
        """The precision model for the current data type."""

    @abstractmethod
    def note(self, case: Case, ratio: float) -> None:
        """Remember an error in units of its allowance."""


Cases = Callable[[Make], Iterable[Case]]
Register = Callable[[Cases], Cases]
Judge = Callable[[Probe, Case], Violation | None]


@dataclass(frozen=True)
class Property:
    """One thing that must hold.

    Attributes
    ----------
    id
        Name, unique within its level.
    level
        Level of the calling convention.
    theorem
        Id of the theorem in the catalogue that it rests on.
    sentence
        What must hold, in one sentence.
    cases
        Yields cases, smallest first.
    judge
        Judges one case; None means that it held.
    about
        What the property is about. A violated property whose subjects all belong to another one
        too, further down, explains that one.
    needs
        Keywords that the target must accept.
    variant
        Variant of the level it belongs to, or empty.
    domain
        What a case must satisfy to belong to the property; shrinking stays inside.
    dtypes
        Data types that it is tried with.
    accuracy
        Whether it judges by the precision model rather than by the coarsest arithmetic.
    anywhere
        Whether it applies to every variant of its level.
    harmless_without
        Keywords whose absence the theorem proves harmless: the verdict is then *equivalent*.
    oddity
        Looks for something odd that the theorem proves harmless, and names it.
    """

    id: str
    level: str
    theorem: str
    sentence: str
    cases: Cases
    judge: Judge
    about: frozenset[str]
    needs: frozenset[str]
    variant: str = ""
    domain: Callable[[Case], bool] | None = None
    dtypes: tuple[str, ...] = ("float64", "float32", "float16")
    accuracy: bool = False
    anywhere: bool = False
    harmless_without: frozenset[str] = frozenset()
    oddity: Callable[[Probe, Make], str] | None = None


REGISTRY: dict[str, list[Property]] = {level: [] for level in LEVELS}


def declare(
    level: str,
    theorem: str,
    sentence: str,
    judge: Judge,
    *,
    about: str = "",
    needs: str = "",
    variant: str = "",
    domain: Callable[[Case], bool] | None = None,
    dtypes: tuple[str, ...] = ("float64", "float32", "float16"),
    accuracy: bool = False,
    anywhere: bool = False,
    harmless_without: str = "",
    oddity: Callable[[Probe, Make], str] | None = None,
    name: str = "",
) -> Register:
    """Register a generator of cases, named like the property, as a property of `level`."""

    def register(cases: Cases) -> Cases:
        entry = Property(
            id=name or cases.__name__,
            level=level,
            theorem=theorem,
            sentence=sentence,
            cases=cases,
            judge=judge,
            about=frozenset(about.split()),
            needs=frozenset(needs.split()),
            variant=variant,
            domain=domain,
            dtypes=dtypes,
            accuracy=accuracy,
            anywhere=anywhere,
            harmless_without=frozenset(harmless_without.split()),
            oddity=oddity,
        )
        assert entry.id not in {p.id for p in REGISTRY[level]}, entry.id
        REGISTRY[level].append(entry)
        return cases

    return register


def real(array: Array) -> Array:
    """The numbers as float64; a complex number with an imaginary part counts as NaN."""
    if array.dtype.kind != "c":
        return array.astype(np.float64)
    return np.where(array.imag == 0, array.real, np.nan).astype(np.float64)


def compare(
    got: Array,
    expected: Array,
    allowance: Array,
    judged: Array | bool = True,
    *,
    output: int = 0,
    what: str = "the output",
    second: bool = False,
    parts: dict[str, Array] | None = None,
) -> Violation | None:
    """The worst element that is further from `expected` than allowed, if there is one.

    NaN never passes: an element counts as right only when it is within its allowance, or both
    numbers are NaN, or both are the same infinity.
    """
    if got.shape != expected.shape:
        return Violation(
            "shape",
            f"{what} has shape {got.shape}, expected {expected.shape}",
            output=output,
            wanted=repr(tuple(int(n) for n in expected.shape)),
        )
    wide = real(got)
    with np.errstate(all="ignore"):
        off = np.abs(wide - expected)
        right = (off <= allowance) | (wide == expected) | (np.isnan(wide) & np.isnan(expected))
    wrong = ~right & judged
    if not wrong.any():
        return None
    with np.errstate(all="ignore"):
        ratio = np.where(wrong, off / np.where(allowance > 0, allowance, 1e-300), -1.0)
    ratio = np.where(wrong & ~np.isfinite(ratio), np.inf, ratio)
    index = tuple(int(i) for i in np.unravel_index(int(np.argmax(ratio)), ratio.shape))
    there = float(np.broadcast_to(allowance, expected.shape)[index])
    return Violation(
        "differs",
        f"{what}{_subscript(index)} is {_short(float(wide[index]))}, "
        f"expected {_short(float(expected[index]))}",
        output=output,
        index=index,
        expected=float(expected[index]),
        got=float(wide[index]),
        allowed=there,
        second=second,
        dominates=_largest(parts or {}, index, expected.shape) if there > 0 else "",
    )


def _largest(parts: dict[str, Array], index: tuple[int, ...], shape: tuple[int, ...]) -> str:
    """Name of the largest term of an allowance at one element."""
    sizes = {name: float(np.broadcast_to(part, shape)[index]) for name, part in parts.items()}
    return max(sizes, key=lambda name: sizes[name]) if sizes else ""


def _subscript(index: tuple[int, ...]) -> str:
    """An index as it is written after a name."""
    return f"[{', '.join(map(str, index))}]" if index else ""


def _short(value: float) -> str:
    """A number in at most six digits."""
    return f"{value:.6g}"
