"""Reading the arguments: exact dyadic numbers, shapes, masks, and every complaint about them.

All array-likes are read here, once. What leaves this module is checked: shapes agree, kept places
are finite, and each tensor is available both as float64 (which holds all supported formats
exactly) and as Python integers with a common exponent.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnproofs.errors import InputError
from attnproofs.reference.fixed import IntArray

Window = tuple[int | None, int | None]

_FLOATS = (
    "float64",
    "float32",
    "float16",
    "bfloat16",
    "float8_e4m3fn",
    "float8_e5m2",
)
_EXPECTED = "float64, float32, float16, bfloat16, float8_e4m3fn or float8_e5m2 (or integers)"


class Exact:
    """A tensor of dyadic numbers: ``ints * 2**exp``.

    Built from float64 values, or from integers where the numbers were computed (projections).
    """

    def __init__(
        self,
        floats: NDArray[np.float64] | None = None,
        ints: IntArray | None = None,
        exp: int = 0,
    ) -> None:
        self._floats = floats
        self._pair = None if ints is None else (ints, exp)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the tensor."""
        if self._floats is not None:
            return self._floats.shape
        assert self._pair is not None
        return tuple(self._pair[0].shape)

    @property
    def floats(self) -> NDArray[np.float64] | None:
        """The numbers as float64, or None where they were not given so."""
        return self._floats

    @cached_property
    def _integers(self) -> tuple[IntArray, int]:
        if self._pair is not None:
            return self._pair
        assert self._floats is not None
        return to_integers(self._floats)

    @property
    def ints(self) -> IntArray:
        """Object array of Python integers."""
        return self._integers[0]

    @property
    def exp(self) -> int:
        """Common binary exponent of `ints`."""
        return self._integers[1]

    def __getitem__(self, key: Any) -> Exact:
        """Part of the tensor, its integers shared where they exist already."""
        if "_integers" in self.__dict__ or self._pair is not None:
            ints, exp = self._integers
            return Exact(None if self._floats is None else self._floats[key], ints[key], exp)
        assert self._floats is not None
        return Exact(self._floats[key])


def to_integers(x: NDArray[np.float64]) -> tuple[IntArray, int]:
    """Integers and a common exponent: ``x == ints * 2**exp`` exactly.

    Examples
    --------
    >>> import numpy as np
    >>> ints, exp = to_integers(np.array([0.75, -2.0]))
    >>> ints.tolist(), exp
    ([3, -8], -2)
    """
    out = np.empty(x.shape, dtype=object)
    out.fill(0)
    if not x.size or not x.any():
        return out, 0
    fraction, exponent = np.frexp(x)
    man = (fraction * 2.0**53).astype(np.int64)
    nonzero = man != 0
    low = np.where(nonzero, man & -man, 1)
    trailing = np.frexp(low.astype(np.float64))[1] - 1
    exps = exponent.astype(np.int64) - 53 + trailing
    exp = int(exps[nonzero].min())
    man >>= trailing
    shift = np.where(nonzero, exps - exp, 0)
    if int((shift + 53 - trailing).max()) < 62:
        out[...] = (man << shift).astype(object)
    else:
        flat = [m << s for m, s in zip(man.ravel().tolist(), shift.ravel().tolist())]
        out.reshape(-1)[:] = flat
    return out, exp


# ---------------------------------------------------------------------------------------------
# arrays


def to_numpy(name: str, x: Any) -> NDArray[Any]:
    """Any array-like as a NumPy array, or one sentence that says why not."""
    if hasattr(x, "detach") and hasattr(x, "cpu"):  # a torch tensor
        x = x.detach().cpu()
        if "float8" in str(x.dtype) or "bfloat16" in str(x.dtype):
            x = x.float()  # float32 holds these formats exactly, and NumPy lacks them
    try:
        return np.asarray(x)
    except Exception as error:
        raise InputError(
            f"{name} cannot be read as an array ({error}); expected an array of {_EXPECTED}"
        ) from error


def read_array(name: str, x: ArrayLike, ndim: int | None = None) -> NDArray[np.float64]:
    """Read a numeric array as float64, exactly.

    Raises
    ------
    InputError
        Not an array, or of a type whose numbers float64 does not hold.
    """
    array = to_numpy(name, x)
    if array.dtype.kind in "iu":
        exact = array.astype(np.float64)
        if array.size and any(int(a) != int(b) for a, b in zip(array.flat, exact.flat)):
            raise InputError(
                f"{name} holds integers beyond 2**53 (dtype {array.dtype}, shape {array.shape}), "
                "which float64 does not represent; expected numbers that float64 holds exactly"
            )
        array = exact
    elif array.dtype.name not in _FLOATS:
        hint = " (ragged nested lists also give this)" if array.dtype == object else ""
        raise InputError(
            f"{name} has dtype {array.dtype}{hint} and shape {array.shape}; expected {_EXPECTED}"
        )
    if ndim is not None and array.ndim != ndim:
        raise InputError(f"{name} has shape {array.shape}; expected {ndim} dimensions")
    return array.astype(np.float64)


def first_bad(bad: NDArray[np.bool_]) -> tuple[int, ...]:
    """Index of the first true element."""
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), bad.shape))


def require_finite(name: str, x: NDArray[np.float64], why: str = "") -> None:
    """Refuse NaN and infinities, naming the first.

    Raises
    ------
    InputError
        With the index and the value.
    """
    bad = ~np.isfinite(x)
    if bad.any():
        index = first_bad(bad)
        raise InputError(
            f"{name} of shape {x.shape} holds {x[index]} at index {index}; expected finite "
            f"numbers{why}"
        )


# ---------------------------------------------------------------------------------------------
# scalars


@dataclass(frozen=True)
class Scale:
    """An exact scale: ``num / den``, or ``num / (den sqrt(root))`` with ``root`` not a square."""

    num: int
    den: int
    root: int = 1

    @property
    def rational(self) -> bool:
        """Whether the scale is a rational number."""
        return self.root == 1

    @property
    def dyadic_exponent(self) -> int | None:
        """``e`` with scale ``num * 2**e``, or None if the scale is not dyadic."""
        if self.root != 1 or self.den & (self.den - 1):
            return None
        return 1 - self.den.bit_length()

    def __float__(self) -> float:
        """About the scale, as a float; infinite where it is too large for one."""
        try:
            return self.num / self.den / math.sqrt(self.root)
        except OverflowError:
            return -math.inf if self.num < 0 else math.inf


def read_real(name: str, x: Any) -> Fraction:
    """Read one finite real number exactly.

    Raises
    ------
    InputError
        Not a real number, or not finite.
    """
    if isinstance(x, np.ndarray) and x.ndim == 0:
        x = x[()]
    if isinstance(x, np.generic) and x.dtype.name in _FLOATS:
        x = float(x)
    if isinstance(x, bool) or not isinstance(x, numbers.Real):
        raise InputError(f"{name} is {x!r}; expected one real number")
    if isinstance(x, numbers.Rational):
        return Fraction(int(x.numerator), int(x.denominator))
    value = float(x)
    if not math.isfinite(value):
        raise InputError(f"{name} is {value}; expected a finite number")
    return Fraction(value)


def read_scale(scale: Any, e: int) -> Scale:
    """Exact scale: ``1/sqrt(E)`` as a real number for None, otherwise exactly what is passed.

    Raises
    ------
    InputError
        Not a finite real number, or the default with ``E = 0``.

    Examples
    --------
    >>> read_scale(None, 8)
    Scale(num=1, den=2, root=2)
    >>> read_scale(0.125, 8)
    Scale(num=1, den=8, root=1)
    """
    if scale is not None:
        value = read_real("scale", scale)
        return Scale(value.numerator, value.denominator)
    if e == 0:
        raise InputError(
            "scale=None means 1/sqrt(E), which does not exist for E = 0 "
            "(the last dimension of query); pass scale explicitly"
        )
    square, root = 1, e
    factor = 2
    while factor * factor <= root:
        while root % (factor * factor) == 0:
            root //= factor * factor
            square *= factor
        factor += 1
    return Scale(1, square, root)


def read_offset(name: str, x: Any) -> int:
    """Read an integer.

    Raises
    ------
    InputError
        Not an integer.
    """
    if isinstance(x, (bool, np.bool_)) or not isinstance(x, numbers.Integral):
        raise InputError(f"{name} is {x!r}; expected an integer")
    return int(x)


def read_bool(name: str, x: Any) -> bool:
    """Read a truth value, and nothing that merely counts as one.

    Raises
    ------
    InputError
        Not a boolean.
    """
    if not isinstance(x, (bool, np.bool_)):
        raise InputError(f"{name} is {x!r}; expected True or False")
    return bool(x)


def read_window(window: Any) -> Window:
    """Read ``(left, right)``, numbers of keys on either side; None is unbounded.

    Raises
    ------
    InputError
        Not a pair of non-negative integers or None.
    """
    if window is None:
        return (None, None)
    if not isinstance(window, Sequence) or isinstance(window, str) or len(window) != 2:
        raise InputError(
            f"window is {window!r}; expected a pair (left, right) of numbers of keys before and "
            "after the query's own position, None for unbounded"
        )
    for side, w in zip(("left", "right"), window):
        if w is not None and read_offset(f"window ({side})", w) < 0:
            raise InputError(f"window ({side}) is {w}; expected a number >= 0, or None: unbounded")
    return (window[0], window[1])


def read_precision(precision: int | str) -> int:
    """Read a precision as a number of bits.

    Raises
    ------
    InputError
        Neither a positive integer nor ``"N bits"`` nor ``"N digits"``.

    Examples
    --------
    >>> read_precision("50 digits"), read_precision(128), read_precision("128 bits")
    (167, 128, 128)
    """
    bits = 0
    if isinstance(precision, numbers.Integral) and not isinstance(precision, bool):
        bits = int(precision)
    elif isinstance(precision, str):
        number, _, unit = precision.partition(" ")
        if number.isdecimal() and unit in ("bits", "digits"):
            bits = int(number)
            if unit == "digits":
                bits = math.ceil(bits * math.log2(10))
    if not 1 <= bits <= 1 << 20:
        raise InputError(
            f"precision is {precision!r}; expected a number of bits as an integer, 'N bits' or "
            "'N digits', from 1 to 2**20 bits"
        )
    return bits


def read_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """Read one of several words.

    Raises
    ------
    InputError
        Another word.
    """
    if value not in choices:
        raise InputError(f"{name} is {value!r}; expected one of {', '.join(map(repr, choices))}")
    return str(value)


# ---------------------------------------------------------------------------------------------
# shapes


@dataclass(frozen=True)
class Shapes:
    """Sizes of one call. ``batch`` is the broadcast of the leading dimensions."""

    batch: tuple[int, ...]
    has_heads: bool
    Hq: int
    Hkv: int
    L: int
    S: int
    E: int
    Ev: int

    @property
    def lead(self) -> tuple[int, ...]:
        """Leading dimensions of the result: batch and, where given, query heads."""
        return (*self.batch, self.Hq) if self.has_heads else self.batch

    @property
    def full_lead(self) -> tuple[int, ...]:
        """Leading dimensions with the head dimension always there."""
        return (*self.batch, self.Hq)


def read_shapes(q: tuple[int, ...], k: tuple[int, ...], v: tuple[int, ...]) -> Shapes:
    """Check that query, key and value fit together.

    Raises
    ------
    InputError
        They do not; the message gives the shapes and the convention.
    """
    convention = (
        f"got query {q}, key {k}, value {v}; expected query (..., Hq, L, E), "
        "key (..., Hkv, S, E), value (..., Hkv, S, Ev), or all three without the head dimension"
    )
    for name, shape in (("query", q), ("key", k), ("value", v)):
        if len(shape) < 2:
            raise InputError(f"{name} has shape {shape}: fewer than two dimensions; {convention}")
    if (len(q) == 2) != (len(k) == 2) or (len(k) == 2) != (len(v) == 2):
        raise InputError(
            "query, key and value must all have a head dimension or all lack it; " + convention
        )
    if q[-1] != k[-1]:
        raise InputError(f"query and key differ in their last dimension E; {convention}")
    if k[-2] != v[-2]:
        raise InputError(f"key and value differ in their number of keys S; {convention}")
    has_heads = len(q) > 2
    hq, hk, hv = (s[-3] if has_heads else 1 for s in (q, k, v))
    if hk != hv:
        raise InputError(f"key and value differ in their number of heads; {convention}")
    if hq != hk and (hk == 0 or hq % hk):
        raise InputError(
            f"the {hq} query heads are not a multiple of the {hk} key heads; {convention}"
        )
    try:
        batch = np.broadcast_shapes(q[:-3], k[:-3], v[:-3])
    except ValueError as error:
        raise InputError(f"the batch dimensions do not broadcast; {convention}") from error
    return Shapes(batch, has_heads, hq, hk, q[-2], k[-2], q[-1], v[-1])


# ---------------------------------------------------------------------------------------------
# masks


def position_mask(
    L: int, S: int, is_causal: bool, offset: int, window: Window
) -> NDArray[np.bool_] | None:
    """Keys that position alone allows, shape (L, S); None if all are.

    Query ``i`` stands at position ``i + offset`` among the keys.
    """
    left, right = window
    if not is_causal and left is None and right is None:
        return None
    position = np.arange(L)[:, None] + offset
    j = np.arange(S)[None, :]
    keep = np.ones((L, S), dtype=bool)
    if is_causal:
        keep &= j <= position
    if left is not None:
        keep &= j >= position - left
    if right is not None:
        keep &= j <= position + right
    return keep


def read_mask(
    attn_mask: ArrayLike | None, shapes: Shapes
) -> tuple[NDArray[np.bool_] | None, NDArray[np.float64] | None]:
    """Read a boolean or additive mask; both results have the mask's own shape.

    Returns
    -------
    keep : bool array or None
        False where the mask forbids (boolean False, or minus infinity).
    bias : float64 array or None
        What an additive mask adds to the scores, NaN and infinities still in it.

    Raises
    ------
    InputError
        Neither boolean nor floating, or not broadcastable to (..., Hq, L, S).
    """
    if attn_mask is None:
        return None, None
    mask = to_numpy("attn_mask", attn_mask)
    target = (*shapes.lead, shapes.L, shapes.S)
    if mask.dtype != np.bool_ and mask.dtype.name not in _FLOATS:
        raise InputError(
            f"attn_mask has dtype {mask.dtype} and shape {mask.shape}; expected booleans "
            "(True: may attend) or floating-point numbers (added to the scores)"
        )
    try:
        fits = np.broadcast_shapes(mask.shape, target) == target
    except ValueError:
        fits = False
    if not fits:
        raise InputError(
            f"attn_mask has shape {mask.shape}, which does not broadcast to the scores' shape "
            f"{target}; expected sizes equal to those, counted from the right, or 1"
        )
    if mask.ndim < 2:
        mask = mask.reshape((1,) * (2 - mask.ndim) + mask.shape)
    if not shapes.has_heads:
        mask = mask[..., None, :, :] if mask.ndim == 2 else mask
    if mask.dtype == np.bool_:
        return mask, None
    bias = mask.astype(np.float64)
    return bias != -np.inf, bias


def read_per_head(name: str, x: ArrayLike | None, shapes: Shapes) -> NDArray[np.float64] | None:
    """Read one number a head, broadcast to (..., Hq).

    Raises
    ------
    InputError
        Does not broadcast, or holds NaN or infinities.
    """
    if x is None:
        return None
    array = read_array(name, x)
    target = shapes.full_lead
    try:
        fits = np.broadcast_shapes(array.shape, target) == target
    except ValueError:
        fits = False
    if not fits:
        raise InputError(
            f"{name} has shape {array.shape}; expected ({shapes.Hq},), one number for each query "
            f"head, or a shape that broadcasts to {target}"
        )
    require_finite(name, array)
    return np.broadcast_to(array, target)
