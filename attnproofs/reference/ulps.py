"""How far off is a result: in units in the last place, and relative to the sum of ``p |v|``.

Two figures, because each alone misleads. *Ulps of the correctly rounded result* say how many
floating-point numbers lie between the result and the best one; where values cancel, the output is
small, its ulp is tiny, and even a perfect kernel shows thousands of ulps. *Relative to the sum of
p|v|* divides by what the kernel had to add up; it is the figure that rounding errors are
proportional to, and it stays small for a good kernel whatever cancels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from attnproofs.errors import InputError
from attnproofs.reference.bounds.facts import Floats, gather, read, solve_call, two_floats
from attnproofs.reference.enclosure import Enclosure
from attnproofs.reference.formats import Format, get_format
from attnproofs.reference.forward import Attention
from attnproofs.reference.inputs import read_array


@dataclass(frozen=True)
class Errors:
    """Two figures for every element of a result.

    Attributes
    ----------
    format : Format
        The format whose ulps are counted.
    absolute : ndarray of float64
        Distance from the exact result; infinite for NaN.
    ulps : ndarray of float64
        The same in ulps of the correctly rounded result; at most 0.5 for that result itself.
    relative : ndarray of float64
        The same divided by the exact ``sum_j p_j |v_j|``; 0 where both are 0.
    """

    format: Format
    absolute: Floats
    ulps: Floats
    relative: Floats

    @property
    def units(self) -> Floats:
        """`relative` in units of the format's unit roundoff."""
        return self.relative / self.format.unit_roundoff

    def __str__(self) -> str:
        """Median and largest of both figures."""
        if not self.ulps.size:
            return "no elements"
        name = self.format.name
        worst = np.unravel_index(np.argmax(self.ulps), self.ulps.shape)
        return (
            f"ulps of the correctly rounded {name} result: median {np.median(self.ulps):.3g}, "
            f"largest {self.ulps.max():.3g} at {[int(i) for i in worst]}\n"
            f"relative to sum p|v|, in unit roundoffs of {name}: median "
            f"{np.median(self.units):.3g}, largest {self.units.max():.3g} "
            f"({self.units[worst]:.3g} at the element above)"
        )


def spacing(x: ArrayLike, fmt: str | Format) -> Floats:
    """One ulp of numbers of a format: the distance to the next larger magnitude.

    Examples
    --------
    >>> spacing([1.0, 0.0, 3.0], "bfloat16").tolist()
    [0.0078125, 9.183549615799121e-41, 0.015625]
    """
    fmt = get_format(fmt)
    exponent = np.frexp(np.asarray(x, dtype=np.float64))[1] - 1
    exponent = np.where(np.asarray(x) == 0, fmt.emin, np.maximum(exponent, fmt.emin))
    return np.asarray(np.ldexp(1.0, exponent - fmt.precision + 1))


def in_ulps(got: ArrayLike, exact: Enclosure, fmt: str | Format | None = None) -> Floats:
    """Distance from an enclosed number in ulps of its correctly rounded value.

    Parameters
    ----------
    got
        Numbers, in the shape of `exact`.
    exact
        An enclosure, for instance `Attention.output`.
    fmt
        Format whose ulps are counted; by default that of `got`.

    Raises
    ------
    InputError
        Another shape; no format given and `got` has none.

    Examples
    --------
    >>> import numpy as np
    >>> from attnproofs.reference import softmax
    >>> p = softmax([0.0, 1.0])
    >>> bool((in_ulps(p.round_to("float32"), p) <= 0.5).all())
    True
    >>> [round(float(x), 2) for x in in_ulps(np.float32([0.26894143, 0.731]), p)]
    [0.36, 982.68]
    """
    fmt = _format_of(got, fmt)
    given = read_array("got", got)
    if given.shape != exact.shape:
        raise InputError(f"got has shape {given.shape}; expected {exact.shape}")
    high, low, _ = (part.reshape(exact.shape) for part in two_floats(exact.balls))
    return _distance(given, high, low) / spacing(_rounded(exact, fmt), fmt)


def errors(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    got: ArrayLike,
    *,
    fmt: str | Format | None = None,
    reference: Attention | None = None,
    **options: Any,
) -> Errors:
    """How far an attention output is from the exact one, in both figures.

    Parameters
    ----------
    query, key, value
        As for `attnproofs.reference.attention`.
    got
        The result, shape (..., Hq, L, Ev).
    fmt
        Format whose ulps are counted; by default that of `got`.
    reference
        Result of `attnproofs.reference.attention` for the same call, to save its computation.
    **options
        ``attn_mask``, ``is_causal``, ``scale`` and so on, as for `attention`.

    Raises
    ------
    InputError
        Whatever is wrong with the arguments.

    Examples
    --------
    Two values that nearly cancel. The result is as good as float32 arithmetic can make it, and
    yet thousands of ulps from the exact one:

    >>> import numpy as np
    >>> q = np.float32([[1]]); k = np.float32([[0.3], [0.3000001]]); v = np.float32([[1], [-1]])
    >>> s = q @ k.T; e = np.exp(s - s.max()); out = (e / e.sum()) @ v
    >>> report = errors(q, k, v, out)
    >>> bool(report.ulps.max() > 1e3), bool(report.units.max() < 2)
    (True, True)
    """
    fmt = _format_of(got, fmt)
    given = read_array("got", got)
    call = read(query, key, value, options)
    shape = (*call.shapes.lead, call.shapes.L, call.shapes.Ev)
    if given.shape != shape:
        raise InputError(f"got has shape {given.shape}; expected {shape}, that of the output")
    if not given.size:
        return Errors(fmt, given, given, given)
    facts = gather(call.heads, solve_call(call, reference, "output"))
    absolute = _distance(given, facts.out.reshape(shape), facts.out_low.reshape(shape))
    # the exact value's binade decides its ulp; one that rounds up into the next has twice that
    best = _nearest(facts.out, facts.out_low, fmt).reshape(shape)
    mass = (np.exp(facts.log_weight) @ np.abs(facts.value)).reshape(shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(absolute == 0, 0.0, absolute / mass)
    return Errors(fmt, absolute, absolute / spacing(best, fmt), relative)


def _distance(given: Floats, high: Floats, low: Floats) -> Floats:
    """Distance of given numbers from ``high + low``."""
    with np.errstate(invalid="ignore"):
        distance = np.abs((given - high) - low)
    return np.where(np.isnan(distance), np.inf, distance)


def _format_of(got: ArrayLike, fmt: str | Format | None) -> Format:
    if fmt is not None:
        return get_format(fmt)
    kind = getattr(got, "dtype", None)
    if kind is None:
        raise InputError("fmt: got carries no format of its own; pass one, for instance 'float32'")
    return get_format(str(kind).removeprefix("torch."))


def _rounded(exact: Enclosure, fmt: Format) -> Floats:
    return exact.round_to(fmt).astype(np.float64)


def _nearest(high: Floats, low: Floats, fmt: Format) -> Floats:
    """``high + low`` in a format; which of two neighbours is taken at a tie makes no odds."""
    from fractions import Fraction

    flat = np.zeros(high.size)
    for n, (a, b) in enumerate(zip(high.ravel().tolist(), low.ravel().tolist())):
        exact = Fraction(a) + Fraction(b)
        flat[n] = fmt.nearest_fraction(exact.numerator, exact.denominator)
    return flat.reshape(high.shape)
