"""Fixed-point exp, log and tanh on Python integers, and exact integer matrix products.

An integer ``t`` at ``wp`` bits stands for the real number ``t * 2**-wp``. Each function says how
far its result may be from the true value; those figures are what every radius of the
pure-Python backend is built from, and the tests compare them with mpmath.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from operator import mul
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Object array of Python integers.
IntArray = NDArray[Any]

_GUARD = 32  # extra bits inside exp: they swallow fewer than 2**12 unit errors
_LIMB = 16  # bits of a limb in the matrix product
_STRIP = 1 << 22  # elements of a product of limbs held at once


def _atanh_inverse(n: int, bits: int) -> int:
    """``atanh(1/n)`` at `bits` bits, error below ``bits`` units (one for each term)."""
    power = (1 << bits) // n
    total, k, square = power, 1, n * n
    while power:
        power //= square
        k += 2
        total += power // k
    return total


@lru_cache(maxsize=64)
def ln2(bits: int) -> int:
    """``ln 2`` at `bits` bits, error at most 1 unit.

    Machin's way: ln 2 = 18 atanh(1/26) - 2 atanh(1/4801) + 8 atanh(1/8749).
    """
    wide = bits + 2 * bits.bit_length() + 10
    total = (
        18 * _atanh_inverse(26, wide)
        - 2 * _atanh_inverse(4801, wide)
        + 8 * _atanh_inverse(8749, wide)
    )
    return total >> (wide - bits)


class Exp:
    """The exponential at ``wp`` bits, with its tables.

    ``exp(t) = 2**k * exp(a/2**8) * exp(b/2**16) * exp(c)``, with ``0 <= c < 2**-16``, the middle
    two from tables, the last by its Taylor series, all at ``wp + 32`` bits.

    Errors, in units of ``2**-(wp+32)`` before the final shift, counted for the mantissa in
    [1, 2): one for each of at most ``wp/16 + 4`` Taylor terms, one for the tail, one for each
    table entry (times at most 2.1), two for the products, and ``|k| < 2**21`` for the rounding
    of ln 2: below ``2**24`` units for ``wp < 2**24``. So the mantissa's relative error is below
    ``2**-(wp+8)``.
    """

    def __init__(self, wp: int) -> None:
        self.wp = wp
        self.ip = ip = wp + _GUARD
        self._one = 1 << ip
        self._ln2 = ln2(ip)
        wide = ip + 24
        self._coarse = _powers(_taylor_exp(1 << (wide - 8), wide), 256, wide, 24)
        self._fine = _powers(_taylor_exp(1 << (wide - 16), wide), 256, wide, 24)
        self._terms = _terms_needed(ip)

    def parts(self, t: int) -> tuple[int, int]:
        """Mantissa and exponent ``(m, k)`` with ``exp(t) = m * 2**(k - ip)``.

        The relative error of ``m`` is below ``2**-(wp+8)``.
        """
        ip = self.ip
        extra = t.bit_length() - self.wp - 20
        if extra <= 0:
            k, r = divmod(t << _GUARD, self._ln2)
        else:  # a large quotient k multiplies the error of ln 2: take that many bits more
            k, r = divmod(t << (_GUARD + extra), ln2(ip + extra))
            r >>= extra
        c = r & ((1 << (ip - 16)) - 1)
        head = r >> (ip - 16)
        acc = one = self._one
        for j in self._terms:
            acc = one + (acc * c >> ip) // j
        product = self._coarse[head >> 8] * self._fine[head & 255] >> ip
        return product * acc >> ip, k

    def __call__(self, t: int) -> int:
        """``exp(t)`` at ``wp`` bits for ``t <= 0``; error below 1 unit, and 0 for ``t = 0``."""
        if t == 0:
            return 1 << self.wp
        if t < -(self.wp + 2) << self.wp:  # exp(t) is below a quarter of a unit
            return 0
        m, k = self.parts(t)
        return (m >> (_GUARD - 1 - k)) + 1 >> 1  # to nearest


@lru_cache(maxsize=16)
def exp_at(wp: int) -> Exp:
    """Exponential at `wp` bits; tables are kept for the precisions used last."""
    return Exp(wp)


def _terms_needed(ip: int) -> range:
    """Divisors of Horner's scheme for ``exp(c)``, ``c < 2**-16``, with a tail below 1 unit."""
    n, bits = 1, 16.0
    while bits < ip + 2:
        n += 1
        bits += 16 + math.log2(n)
    return range(n, 0, -1)


def _taylor_exp(x: int, bits: int) -> int:
    """``exp(x)`` for ``0 <= x <= 2**-8`` at `bits` bits, error below one unit a term."""
    term = total = 1 << bits
    n = 0
    while term:
        n += 1
        term = (term * x >> bits) // n
        total += term
    return total + 1


def _powers(base: int, count: int, wide: int, drop: int) -> list[int]:
    """Powers 0 .. count-1 of `base` at ``wide - drop`` bits, each with an error below 1 unit."""
    values, power = [], 1 << wide
    for _ in range(count):
        values.append(power >> drop)
        power = power * base >> wide
    return values


def log_ratio(x: int, wp: int) -> int:
    """``ln(x * 2**-wp)`` for ``x >= 2**wp``, at ``wp`` bits, error at most 2 units.

    Newton's way, with the exponential: if ``x exp(-y) = 1 + e`` then
    ``ln x = y + e - e**2/2 + r`` with ``|r| < |e|**3`` for ``|e| < 1/2``. The loop ends when
    that remainder is below one unit, so the error rests on the exponential alone.
    """
    if x == 1 << wp:
        return 0
    wide = wp + 16
    x <<= 16
    power = x.bit_length() - 1 - wide
    leading = (
        (x >> (x.bit_length() - 54)) / 2.0**53
        if x.bit_length() > 54
        else x / 2.0 ** (x.bit_length() - 1)
    )
    num, den = math.log(leading).as_integer_ratio()
    y = (num << wide) // den + power * ln2(wide)
    exp = exp_at(wide)
    while True:
        m, k = exp.parts(-y)
        shift = exp.ip - k
        e = (x * m >> shift) - (1 << wide)
        y += e - (e * e >> (wide + 1))
        if 3 * e.bit_length() < 2 * wide:
            return y >> 16


def tanh(y: int, wp: int) -> int:
    """``tanh(y)`` at ``wp`` bits, odd in ``y``; error at most 4 units."""
    if y == 0:
        return 0
    e = exp_at(wp)(-2 * abs(y))  # error below 1 unit
    one = 1 << wp
    value = ((one - e) << wp) // (one + e)  # |d/de (1-e)/(1+e)| <= 2
    return value if y > 0 else -value


# ---------------------------------------------------------------------------------------------
# exact matrix products


def matmul(a: IntArray, b: IntArray) -> IntArray:
    """Exact product of two matrices of Python integers.

    Small products are plain Python sums. Larger ones are cut into 16-bit limbs and multiplied
    as float64 matrices: every partial sum is an integer below ``2**53``, so the floating-point
    product is exact in any order of summation.

    Parameters
    ----------
    a, b : object array of int, shapes (m, k) and (k, n)

    Returns
    -------
    object array of int, shape (m, n)
    """
    (m, k), n = a.shape, b.shape[1]
    if k == 0 or m == 0 or n == 0:
        return _zeros((m, n))
    if m * n * k < 4096 or k >= 1 << 20:
        return _matmul_python(a, b)
    limbs_a, limbs_b = _limb_count(a), _limb_count(b)
    if limbs_a * limbs_b > 40 * math.isqrt(m * n) + 400:
        return _matmul_python(a, b)
    x = _limbs(a, limbs_a).reshape(limbs_a * m, k)
    y = _limbs(b, limbs_b).transpose(1, 0, 2).reshape(k, limbs_b * n)
    planes = np.zeros((limbs_a + limbs_b + 4, m, n), dtype=np.int64)
    strip = max(1, _STRIP // (m * limbs_b * n))  # limbs of `a` at a time: bounds the memory
    for first in range(0, limbs_a, strip):
        product = (x[first * m : (first + strip) * m] @ y).astype(np.int64)
        for i, part in enumerate(product.reshape(-1, m, limbs_b, n), start=first):
            for j in range(limbs_b):
                planes[i + j] += part[:, j]
    return _join(planes)


def _matmul_python(a: IntArray, b: IntArray) -> IntArray:
    """Exact product by Python sums."""
    out = _zeros((a.shape[0], b.shape[1]))
    columns = [list(col) for col in b.T]
    for i, row in enumerate(a.tolist()):
        for j, col in enumerate(columns):
            out[i, j] = sum(map(mul, row, col))
    return out


def _zeros(shape: tuple[int, ...]) -> IntArray:
    out = np.empty(shape, dtype=object)
    out.fill(0)
    return out


def max_bits(a: IntArray) -> int:
    """Bits of the largest magnitude in an array of Python integers."""
    return max((v.bit_length() for v in a.ravel().tolist()), default=0)


def _limb_count(a: IntArray) -> int:
    return max(1, -(-max_bits(a) // _LIMB))


def _limbs(a: IntArray, count: int) -> NDArray[np.float64]:
    """Signed 16-bit limbs, least significant first; shape ``(count, *a.shape)``."""
    size = count * _LIMB // 8
    flat: Sequence[int] = a.ravel().tolist()
    raw = b"".join([abs(v).to_bytes(size, "little") for v in flat])
    digits = np.frombuffer(raw, dtype="<u2").reshape(len(flat), count).T.astype(np.float64)
    sign = np.fromiter((-1.0 if v < 0 else 1.0 for v in flat), dtype=np.float64, count=len(flat))
    return (digits * sign).reshape(count, *a.shape)


def _join(planes: NDArray[np.int64]) -> IntArray:
    """Integers ``sum_k planes[k] * 2**(16 k)``; the planes are used up."""
    count, m, n = planes.shape
    for k in range(count - 1):
        planes[k + 1] += planes[k] >> _LIMB
        planes[k] &= 0xFFFF
    # the last plane keeps the sign: together the digits are a two's complement number
    raw = np.ascontiguousarray(planes.reshape(count, m * n).T).astype("<u2").tobytes()
    size = count * _LIMB // 8
    out = np.empty(m * n, dtype=object)
    out[:] = [
        int.from_bytes(raw[p : p + size], "little", signed=True)
        for p in range(0, size * m * n, size)
    ]
    return out.reshape(m, n)
