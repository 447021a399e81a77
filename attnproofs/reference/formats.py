"""Floating-point formats, and correct rounding into them by integers alone.

Every format here is a subset of float64, so a rounded value is handed round as a Python float.
Rounding is to nearest, ties to even, with gradual underflow. IEEE formats overflow to infinity;
``e4m3fn`` has no infinity and overflows to NaN (the convention of `ml_dtypes` and of the OCP
8-bit specification without saturation).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnproofs.errors import InputError, MissingDependency


@dataclass(frozen=True)
class Format:
    """A binary floating-point format.

    Attributes
    ----------
    name : str
        Name as NumPy or ml_dtypes spells it, except for the short ``e4m3fn`` and ``e5m2``.
    precision : int
        Bits of the significand, the hidden one included.
    emin, emax : int
        Exponents of the smallest normal number and of the largest finite one.
    largest : int
        Significand of the largest finite number, an integer of `precision` bits.
    has_infinity : bool
        Whether overflow gives an infinity; otherwise it gives NaN.
    dtype_name : str
        Name of the array type that holds the format.
    """

    name: str
    precision: int
    emin: int
    emax: int
    largest: int
    has_infinity: bool
    dtype_name: str

    @property
    def unit_roundoff(self) -> float:
        """Half the distance from 1 to the next number: 2 to the power ``-precision``."""
        return 2.0**-self.precision

    @property
    def smallest_subnormal(self) -> float:
        """Smallest positive number of the format."""
        return math.ldexp(1.0, self.emin - self.precision + 1)

    @property
    def largest_finite(self) -> float:
        """Largest finite number of the format."""
        return math.ldexp(float(self.largest), self.emax - self.precision + 1)

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy data type; those of 8 bits and bfloat16 need `ml_dtypes`.

        Raises
        ------
        MissingDependency
            `ml_dtypes` is needed and not installed.
        """
        if self.name in _NUMPY_FORMATS:
            return np.dtype(self.dtype_name)
        try:
            import ml_dtypes
        except ImportError as error:
            raise MissingDependency(
                f"an array of format {self.name} needs the package ml_dtypes, which is not "
                "installed; install it with: pip install 'attnproofs[formats]'"
            ) from error
        dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, self.dtype_name))
        return dtype

    def nearest(self, man: int, exp: int) -> float:
        """Correctly rounded value of ``man * 2**exp``.

        Examples
        --------
        >>> FORMATS["float16"].nearest(4097, -1)     # 2048.5 lies between 2048 and 2050
        2048.0
        >>> FORMATS["e5m2"].nearest(1, 20)
        inf
        """
        if man == 0:
            return 0.0
        a = -man if man < 0 else man
        lsb = max(a.bit_length() - 1 + exp, self.emin) - self.precision + 1
        shift = lsb - exp
        if shift <= 0:
            r = a << -shift
        elif shift > a.bit_length() + 1:  # below half of the smallest subnormal
            r = 0
        else:
            r = a >> shift
            rest = a - (r << shift)
            half = 1 << (shift - 1)
            if rest > half or (rest == half and r & 1):
                r += 1
        return self._signed(r, lsb, man < 0)

    def nearest_fraction(self, num: int, den: int) -> float:
        """Correctly rounded value of ``num / den`` with ``den > 0``.

        The quotient is cut to enough bits and its remainder kept as one sticky bit, which is
        all that rounding to nearest needs.

        Examples
        --------
        >>> FORMATS["float64"].nearest_fraction(1, 3) == 1 / 3
        True
        """
        a = -num if num < 0 else num
        shift = max(self.precision + 4 - a.bit_length() + den.bit_length(), 0)
        quotient, rest = divmod(a << shift, den)
        man = 2 * quotient + (rest != 0)
        return self.nearest(-man if num < 0 else man, -shift - 1)

    def _signed(self, r: int, lsb: int, negative: bool) -> float:
        """``r * 2**lsb`` with a sign, overflowing as the format does."""
        top = r.bit_length() - 1 + lsb
        too_large = top > self.emax or (
            top == self.emax and r > self.largest << (self.emax - self.precision + 1 - lsb)
        )
        if too_large:
            value = math.inf if self.has_infinity else math.nan
        else:
            value = math.ldexp(float(r), lsb)
        return -value if negative else value


def _ieee(name: str, precision: int, emax: int, dtype_name: str) -> Format:
    """Format with the exponent range and the infinities of IEEE 754."""
    return Format(name, precision, 1 - emax, emax, (1 << precision) - 1, True, dtype_name)


_NUMPY_FORMATS = ("float64", "float32", "float16")

#: Formats by name.
FORMATS: dict[str, Format] = {
    f.name: f
    for f in (
        _ieee("float64", 53, 1023, "float64"),
        _ieee("float32", 24, 127, "float32"),
        _ieee("float16", 11, 15, "float16"),
        _ieee("bfloat16", 8, 127, "bfloat16"),
        Format("e4m3fn", 4, -6, 8, 14, False, "float8_e4m3fn"),
        _ieee("e5m2", 3, 15, "float8_e5m2"),
    )
}


@cache
def _by_any_name() -> dict[str, Format]:
    """Formats by their short name and by the name of their array type."""
    return FORMATS | {f.dtype_name: f for f in FORMATS.values()}


def get_format(name: str | Format | np.dtype[Any] | type) -> Format:
    """Look a format up by name, by NumPy data type, or pass one through.

    Raises
    ------
    InputError
        The format is not known.

    Examples
    --------
    >>> get_format("float8_e4m3fn").name
    'e4m3fn'
    """
    if isinstance(name, Format):
        return name
    if not isinstance(name, str):
        try:
            name = np.dtype(name).name
        except TypeError:
            name = repr(name)
    known = _by_any_name().get(name)
    if known is None:
        raise InputError(f"format {name!r} is not known; expected one of {', '.join(FORMATS)}")
    return known


def as_array(values: list[float], shape: tuple[int, ...], fmt: Format) -> NDArray[Any]:
    """Array of the format's own type from values that the format represents exactly."""
    exact = np.array(values, dtype=np.float64).reshape(shape)
    with np.errstate(invalid="ignore"):
        return exact.astype(fmt.dtype)
