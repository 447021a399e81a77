"""Enclosures: tensors of numbers each known up to a proved radius, and rounding them correctly.

An enclosure promises that the true real number lies within `radius` of `midpoint`. Both are exact
dyadic numbers. Rounding to a format is Ziv's strategy (A. Ziv, ACM TOMS 17, 1991): if both ends
of the ball round alike, that is the answer; otherwise the number is computed again with twice
the bits. What would make that loop endless, a number that *is* a rounding boundary, is settled
exactly by the `compare` of whoever computed the enclosure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from attnproofs.errors import AttnproofsError, InputError
from attnproofs.reference.formats import FORMATS, Format, as_array, get_format

_FIRST_BITS = 128
#: Where the loop gives up if nobody proves that it ends (tanh soft-cap, long sums).
MAX_BITS = 1 << 13


class UndecidedRounding(AttnproofsError):
    """A number so close to a rounding boundary that neither balls nor an exact test decide."""


@dataclass
class Balls:
    """Flat lists: element ``n`` lies within ``rad[n] * 2**exp[n]`` of ``mid[n] * 2**exp[n]``."""

    mid: list[int]
    rad: list[int]
    exp: list[int]

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        return zip(self.mid, self.rad, self.exp)

    def integers(self) -> Balls:
        """These lists; a backend with numbers of its own converts them here."""
        return self

    def floats(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Midpoints to nearest float64, and radii rounded up, the rounding not yet counted.

        Where the radius is 0 and the midpoint is a float64, it stays 0; where the midpoint
        overflows it is infinite.
        """
        mid = [_to_float(m, e) for m, _, e in self]
        rad = [
            math.nextafter(_to_float(r, e), math.inf) if r or not _is_float(m, e, x) else 0.0
            for (m, r, e), x in zip(self, mid)
        ]
        return np.array(mid, dtype=np.float64), np.array(rad, dtype=np.float64)


def _to_float(man: int, exp: int) -> float:
    """``man * 2**exp`` to nearest (Python rounds the quotient of two integers correctly)."""
    try:
        return man / (1 << -exp) if exp < 0 else float(man << exp)
    except OverflowError:
        return math.copysign(math.inf, man)


def _is_float(man: int, exp: int, value: float) -> bool:
    """Whether ``man * 2**exp`` is exactly this float."""
    return math.isfinite(value) and _dyadic(man, exp) == Fraction(value)


class Refiner(Protocol):
    """Whoever computed an enclosure and can say more about one of its elements."""

    @property
    def limit(self) -> int | None:
        """Most bits worth trying, or None if `compare` guarantees an end."""

    def ball(self, index: int, bits: int) -> tuple[int, int, int]:
        """Midpoint, radius, exponent of one element, at about `bits` bits."""

    def compare(self, index: int, c: Fraction, bits: int) -> int | None:
        """Sign of (element - `c`), or None if it cannot tell at this precision."""


@dataclass(frozen=True)
class _Picked:
    """Refiner of some elements of another enclosure."""

    whole: Refiner
    places: list[int]

    @property
    def limit(self) -> int | None:
        """As of the whole."""
        return self.whole.limit

    def ball(self, index: int, bits: int) -> tuple[int, int, int]:
        """As of the whole."""
        return self.whole.ball(self.places[index], bits)

    def compare(self, index: int, c: Fraction, bits: int) -> int | None:
        """As of the whole."""
        return self.whole.compare(self.places[index], c, bits)


class Enclosure:
    """A tensor of real numbers, each in a ball with exact midpoint and radius.

    Returned by the functions of `attnproofs.reference`; it is not built by hand.

    Attributes
    ----------
    shape : tuple of int

    Examples
    --------
    >>> from attnproofs.reference import attention
    >>> two = [[1.0], [0.0]]
    >>> o = attention([[1.0]], two, two, backend="python").output   # 1 / (1 + exp(-1))
    >>> o.shape
    (1, 1)
    >>> o
    Enclosure(shape=(1, 1), values=[[0.7310585786300049]], largest radius=3.3e-52)
    >>> o.round_to("float64").item()
    0.7310585786300049
    >>> bool((o.radius < 2.0**-160).all())
    True
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        load: Callable[[], Sequence[Balls]],
        special: NDArray[np.float64] | None = None,
        refiner: Refiner | None = None,
    ) -> None:
        self.shape = shape
        self._load = load
        self._special = special  # flat; NaN or an infinity where that is the value, else 0
        self._refiner = refiner

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an enclosure without dimensions")
        return self.shape[0]

    def __array__(self, *args: Any, **kwargs: Any) -> NDArray[Any]:
        raise TypeError(
            "an enclosure is not one array: choose .round_to(format), .as_floats(), .midpoint "
            "or .radius"
        )

    def __getitem__(self, key: Any) -> Enclosure:
        """Part of the tensor, indexed as a NumPy array is."""
        return self._take(np.arange(self.size).reshape(self.shape)[key])

    def _take(self, places: Any) -> Enclosure:
        """Elements at the given flat places, in the shape of `places`."""
        places = np.asarray(places)
        flat = places.ravel().tolist()

        def load() -> list[Balls]:
            b = self.balls
            return [Balls(*([x[n] for n in flat] for x in (b.mid, b.rad, b.exp)))]

        special = None if self._special is None else self._special[places.ravel()]
        refiner = None if self._refiner is None else _Picked(self._refiner, flat)
        return Enclosure(places.shape, load, special, refiner)

    @cached_property
    def _parts(self) -> Sequence[Balls]:
        """The numbers as they were computed, head by head."""
        return self._load()

    @cached_property
    def balls(self) -> Balls:
        """The numbers as flat integer lists, in C order (see `Balls`)."""
        parts = [part.integers() for part in self._parts]
        if len(parts) == 1:
            return parts[0]
        return Balls(
            [m for part in parts for m in part.mid],
            [r for part in parts for r in part.rad],
            [e for part in parts for e in part.exp],
        )

    def _array(self, values: list[Any]) -> NDArray[Any]:
        out = np.empty(self.size, dtype=object)
        out[:] = values
        if self._special is not None:
            for n in np.flatnonzero(self._special):
                out[n] = float(self._special[n])
        return out.reshape(self.shape)

    @property
    def midpoint(self) -> NDArray[Any]:
        """Midpoints, an object array of `fractions.Fraction`; NaN or -inf where that is meant."""
        return self._array([_dyadic(m, e) for m, _, e in self.balls])

    @property
    def radius(self) -> NDArray[Any]:
        """Radii, an object array of `fractions.Fraction`; 0 where the value is exact."""
        out = np.empty(self.size, dtype=object)
        out[:] = [_dyadic(r, e) for _, r, e in self.balls]
        return out.reshape(self.shape)

    @property
    def lower(self) -> NDArray[Any]:
        """Lower ends of the balls, an object array of `fractions.Fraction`."""
        return self._array([_dyadic(m - r, e) for m, r, e in self.balls])

    @property
    def upper(self) -> NDArray[Any]:
        """Upper ends of the balls, an object array of `fractions.Fraction`."""
        return self._array([_dyadic(m + r, e) for m, r, e in self.balls])

    def as_floats(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Midpoint and radius as float64 arrays, still an enclosure.

        The midpoint is rounded to nearest and the radius is enlarged by that error and rounded
        up. An element that overflows float64 has an infinite radius.

        Examples
        --------
        >>> from attnproofs.reference import softmax
        >>> mid, rad = softmax([0.0, 1.0]).as_floats()
        >>> mid
        array([0.26894142, 0.73105858])
        >>> bool((rad < 1e-16).all())
        True
        """
        pairs = [part.floats() for part in self._parts]
        mid = np.concatenate([p[0] for p in pairs]) if pairs else np.zeros(0)
        rad = np.concatenate([p[1] for p in pairs]) if pairs else np.zeros(0)
        rounding = np.maximum(np.spacing(np.abs(mid)) / 2, FORMATS["float64"].smallest_subnormal)
        with np.errstate(over="ignore"):
            rad = np.where(rad > 0, np.nextafter(rad + rounding, np.inf), 0.0)
        over = np.isinf(mid)
        rad[over] = np.inf
        mid[over] = np.copysign(FORMATS["float64"].largest_finite, mid[over])
        if self._special is not None:
            where = self._special != 0
            mid[where] = self._special[where]
        return mid.reshape(self.shape), rad.reshape(self.shape)

    def round_to(self, format: str | Format | np.dtype[Any] | type) -> NDArray[Any]:
        """Correctly rounded values: what an infinitely precise computation would store.

        To nearest, ties to even, with subnormal numbers and overflow as the format has them
        (``e4m3fn`` overflows to NaN). An exact zero has the sign +.

        Parameters
        ----------
        format : str or dtype
            ``"float64"``, ``"float32"``, ``"float16"``, ``"bfloat16"``, ``"e4m3fn"``, ``"e5m2"``.

        Returns
        -------
        ndarray
            Of the same shape and of the format's own type.

        Raises
        ------
        InputError
            The format is not known.
        MissingDependency
            The format's array type needs `ml_dtypes`.
        UndecidedRounding
            A number is closer to a rounding boundary than `MAX_BITS` bits tell, and no exact
            test covers it (possible with a tanh soft-cap, and in sums over many rows or heads).
        """
        fmt = get_format(format)
        nearest = fmt.nearest
        values = [0.0] * self.size
        open_elements = []
        for n, (m, r, e) in enumerate(self.balls):
            low = nearest(m - r, e)
            if r:
                high = nearest(m + r, e)
                if not _alike(low, high) or (low == 0 and abs(m) < r):
                    open_elements.append(n)
                    continue
            values[n] = low
        special = self._special
        if special is not None:
            for n in np.flatnonzero(special).tolist():
                values[n] = float(special[n])
        for n in open_elements:
            values[n] = self._decide(n, fmt)
        return as_array(values, self.shape, fmt)

    def _decide(self, n: int, fmt: Format) -> float:
        """Round one element that its ball leaves open."""
        if self._refiner is None:
            raise UndecidedRounding(
                f"element {self._where(n)} is not known well enough to round it to {fmt.name}; "
                "compute it again with a higher precision"
            )
        refiner, bits = self._refiner, _FIRST_BITS
        while True:
            value = _round_ball(refiner.ball(n, bits), fmt, partial(refiner.compare, n, bits=bits))
            if value is not None:
                return value
            bits *= 2
            if refiner.limit is not None and bits > refiner.limit:
                raise UndecidedRounding(
                    f"element {self._where(n)} is within 2**-{bits // 2} (relative to its row) of "
                    f"a boundary between two numbers of {fmt.name}, and the exact test for ties "
                    "does not cover this case (tanh soft-cap, or a sum over many rows or heads); "
                    "use the enclosure itself"
                )

    def _where(self, n: int) -> tuple[int, ...]:
        return tuple(int(i) for i in np.unravel_index(n, self.shape))

    def contains(self, values: Any) -> NDArray[np.bool_]:
        """Whether each ball contains the number given for it.

        Parameters
        ----------
        values : array-like of float or Fraction
            Of this shape; taken exactly. NaN is contained where the result is NaN.
        """
        given = np.asarray(values, dtype=object)
        if given.shape != self.shape:
            raise InputError(f"values have shape {given.shape}; expected {self.shape}")
        flat = given.ravel().tolist()
        out = np.zeros(self.size, dtype=bool)
        special = self._special
        for n, (m, r, e) in enumerate(self.balls):
            x = flat[n]
            odd = isinstance(x, (float, np.floating)) and not math.isfinite(x)
            if special is not None and special[n]:
                out[n] = odd and _alike(float(x), float(special[n]))
            elif not odd:
                x = x if isinstance(x, Fraction) else Fraction(float(x))
                out[n] = abs(x - _dyadic(m, e)) <= _dyadic(r, e)
        return out.reshape(self.shape)

    def overlaps(self, other: Enclosure) -> NDArray[np.bool_]:
        """Whether each ball meets the other enclosure's ball; two proved enclosures always do."""
        if other.shape != self.shape:
            raise InputError(f"other has shape {other.shape}; expected {self.shape}")
        out = np.zeros(self.size, dtype=bool)
        pairs = zip(self.balls, other.balls)
        for n, ((m1, r1, e1), (m2, r2, e2)) in enumerate(pairs):
            e = min(e1, e2)
            gap = abs((m1 << (e1 - e)) - (m2 << (e2 - e)))
            out[n] = gap <= (r1 << (e1 - e)) + (r2 << (e2 - e))
        zero = np.zeros(self.size)
        mine = zero if self._special is None else self._special
        theirs = zero if other._special is None else other._special
        same = (mine == theirs) | (np.isnan(mine) & np.isnan(theirs))
        return np.asarray(out & same).reshape(self.shape)

    def decimal(self, digits: int = 50) -> NDArray[Any]:
        """Midpoints as decimal strings of `digits` significant digits, for display.

        Examples
        --------
        >>> from attnproofs.reference import softmax
        >>> softmax([0.0, 1.0]).decimal(40)[1]
        '0.7310585786300048792511592418218362743651'
        """
        out = np.empty(self.size, dtype=object)
        out[:] = [_decimal(m, e, digits) for m, _, e in self.balls]
        if self._special is not None:
            for n in np.flatnonzero(self._special):
                out[n] = str(float(self._special[n]))
        return out.reshape(self.shape)

    def __repr__(self) -> str:
        mid, _ = self.as_floats()
        radii = [_dyadic(r, e) for _, r, e in self.balls if r]
        largest = f"{float(max(radii)):.2g}" if radii else "0"
        values = np.array2string(mid, separator=", ", floatmode="maxprec", precision=17)
        return f"Enclosure(shape={self.shape}, values={values}, largest radius={largest})"


def _dyadic(man: int, exp: int) -> Fraction:
    """``man * 2**exp``."""
    return Fraction(man << exp) if exp >= 0 else Fraction(man, 1 << -exp)


def _alike(a: float, b: float) -> bool:
    """Equal, or both NaN."""
    return a == b or (math.isnan(a) and math.isnan(b))


def _decimal(man: int, exp: int, digits: int) -> str:
    """``man * 2**exp`` to `digits` significant digits."""
    from decimal import Context, Decimal

    context = Context(prec=digits, Emax=10**8, Emin=-(10**8))
    if exp >= 0:
        return str(context.plus(Decimal(man << exp)))
    return str(context.divide(Decimal(man), Decimal(1 << -exp)))


def _extended(value: float, sign: int, fmt: Format) -> Fraction:
    """A rounded value, overflow standing one step beyond the largest finite number."""
    if math.isfinite(value):
        return Fraction(value)
    step = Fraction(2) ** (fmt.emax - fmt.precision + 1)
    return sign * (Fraction(fmt.largest_finite) + step)


def _round_ball(
    ball: tuple[int, int, int], fmt: Format, compare: Callable[[Fraction], int | None]
) -> float | None:
    """Round a ball; None if it needs more bits.

    Where the ends round to two neighbours, the true value is compared with the one boundary
    between them.
    """
    m, r, e = ball
    lo, hi = m - r, m + r
    low, high = fmt.nearest(lo, e), fmt.nearest(hi, e)
    if not _alike(low, high):
        boundary = (
            _extended(low, 1 if lo > 0 else -1, fmt) + _extended(high, 1 if hi > 0 else -1, fmt)
        ) / 2
        tie = fmt.nearest_fraction(boundary.numerator, boundary.denominator)
        if not (_alike(tie, low) or _alike(tie, high)):
            return None
        sign = compare(boundary)
        if sign is None:
            return None
        low = (low, tie, high)[sign + 1]
    if low != 0 or lo >= 0 or hi <= 0:
        return low
    sign = compare(Fraction(0))  # underflow: the sign of the zero
    return None if sign is None else -0.0 if sign < 0 else 0.0
