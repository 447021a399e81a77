"""Precision models: what an implementation is declared to do with its roundings.

A model names formats (of inputs, accumulation, stored scores, stored weights, output), the
accuracy of `exp`, the tile size and a few options; the bound of `attnproofs.reference.bounds`
holds for *every* program that fits the model, in any order of summation. The named models are in
`MODELS`; `model` builds a variant from one of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from functools import lru_cache

from attnproofs.errors import InputError
from attnproofs.reference.formats import FORMATS, Format, get_format


@dataclass(frozen=True)
class PrecisionModel:
    """The roundings that an implementation is declared to make.

    Attributes
    ----------
    name
        Shown in reports.
    input
        Format of query, key and value. Inputs that are not numbers of this format are outside
        the model (the implementation would round them first). Where the accumulation has fewer
        bits than this format, inputs are rounded to the accumulation's format on entry.
    accumulate
        Format of every sum, product and `exp` that is not stored in a narrower format.
    output
        Format of the result.
    scores_stored
        Format in which scores are written between the score product and the softmax, or None.
    weights_stored
        Format to which weights are rounded before the product with the values, or None.
    weights_scale
        Weights are multiplied by ``2**weights_scale`` before they are stored (8-bit formats).
    sum_of_stored
        True when the denominator adds up the *stored* weights, the very numbers that multiply
        the values.
    truncating
        True when the accumulation truncates instead of rounding to nearest: its unit doubles.
    exact_products
        True when a product of two inputs is exact in the accumulator (bfloat16, float16 and
        8-bit inputs with float32 accumulation).
    unit_roundoff
        Unit roundoff of the accumulation where it is not that of its format: an accumulator that
        keeps fewer bits, or a format that has no name here.
    dot_error
        Relative error of one dot product with respect to the sum of the absolute products, for
        accumulators whose design is not public; replaces the derived value, for both products.
    exp_error
        Relative error of `exp` (or `exp2`) in units of the accumulation's unit roundoff. An `exp`
        of at most k ulp has at most ``2 * k``.
    tanh_error, log_error
        The same for `tanh` (soft-cap) and `log` (log-sum-exp).
    scale_roundings
        Roundings made by scaling the scores, those of the constant included.
    scale_on_inputs
        True when query or key may be scaled before their product: the error of scaling is then
        relative to the sum of absolute products, not to the score. Where scores are stored in
        a narrow format, the scaled query or key is, too (flax scales a 16-bit query, for one).
    bias_roundings
        Roundings that an additive mask or ALiBi bias suffers before it is added.
    exp2_shift
        True when the shift may be ``fma(score, c, -round(max * c))`` with base 2, as
        FlashAttention-2 does it; False for a rounded subtraction.
    shift_slack
        How far the shift may lag behind the row maximum, in natural units (lazy rescaling:
        8 ln 2 for a threshold of 8 in base 2).
    tile
        Keys a tile in an online (one-pass) softmax, or None for two passes.
    renormalised_tiles
        True when each tile may divide the running output by the running sum, as
        FlashAttention-1 does it.
    exp_of_lse
        True when the weights may be computed as ``exp(score - log_sum_exp)`` without a division.
    merged_parts
        Keys may be split into up to so many parts, each with a softmax of its own, whose outputs
        are merged by their log-sum-exp, at once or one by one (split keys, ring attention); 0 if
        they are not.
    division_roundings
        1 for a division, 2 for a reciprocal and a multiplication.
    flush_subnormals
        True when subnormal results may be replaced by zero.

    Raises
    ------
    InputError
        For a format that is not known or a number out of range.

    Examples
    --------
    >>> PrecisionModel("mine", input="float32", accumulate="float32", output="float32").tile
    >>> PrecisionModel(  # doctest: +ELLIPSIS
    ...     "mine", input="float31", accumulate="float32", output="float32"
    ... )
    Traceback (most recent call last):
        ...
    attnproofs.errors.InputError: input: unknown format 'float31'; expected one of float64, ...
    """

    name: str
    input: str
    accumulate: str
    output: str
    scores_stored: str | None = None
    weights_stored: str | None = None
    weights_scale: int = 0
    sum_of_stored: bool = False
    truncating: bool = False
    exact_products: bool = False
    unit_roundoff: float | None = None
    dot_error: float | None = None
    exp_error: float = 6.0
    tanh_error: float = 16.0
    log_error: float = 10.0
    scale_roundings: int = 2
    scale_on_inputs: bool = False
    bias_roundings: int = 4
    exp2_shift: bool = False
    shift_slack: float = 0.0
    tile: int | None = None
    renormalised_tiles: bool = False
    exp_of_lse: bool = False
    merged_parts: int = 0
    division_roundings: int = 1
    flush_subnormals: bool = False

    def __post_init__(self) -> None:
        for field in ("input", "accumulate", "output"):
            _known(field, getattr(self, field))
        for field in ("scores_stored", "weights_stored"):
            if getattr(self, field) is not None:
                _known(field, getattr(self, field))
        for field in ("exp_error", "tanh_error", "log_error", "shift_slack"):
            _at_least(field, getattr(self, field), 0)
        for field in ("scale_roundings", "bias_roundings", "division_roundings"):
            _whole(field, getattr(self, field), 0)
        _whole("weights_scale", self.weights_scale, 0)
        _whole("merged_parts", self.merged_parts, 0)
        if self.tile is not None:
            _whole("tile", self.tile, 1)
        if self.dot_error is not None:
            _at_least("dot_error", self.dot_error, 0)
        if self.unit_roundoff is not None:
            _at_least("unit_roundoff", self.unit_roundoff, 0)
            if not 2.0**-53 <= self.unit_roundoff <= 0.25:
                raise InputError(
                    "unit_roundoff: expected a number from 2**-53 to 0.25, "
                    f"got {self.unit_roundoff}"
                )
        if self.exp_error * self.unit >= 1:
            raise InputError(
                f"exp_error: {self.exp_error} units of {self.accumulate} is a relative error of 1 "
                "or more; expected less"
            )
        if self.weights_scale and self.weights_stored is None:
            raise InputError("weights_scale: needs weights_stored, the format of the weights")

    @property
    def unit(self) -> float:
        """Unit roundoff of the accumulation (doubled when it truncates)."""
        unit = self.unit_roundoff or get_format(self.accumulate).unit_roundoff
        return unit * (2 if self.truncating else 1)

    @property
    def tiny(self) -> float:
        """Largest absolute error of one operation whose result is subnormal."""
        fmt = get_format(self.accumulate)
        if self.flush_subnormals:
            return math.ldexp(1.0, fmt.emin)
        return half_quantum(fmt) * (2 if self.truncating else 1)

    @property
    def casts(self) -> int:
        """1 where inputs are rounded to the accumulation's format on entry, else 0."""
        return int(get_format(self.input).precision > get_format(self.accumulate).precision)

    def describe(self) -> str:
        """One line: the formats and what is not at its default."""
        shown = [f"input {self.input}", f"accumulation {self.accumulate}", f"output {self.output}"]
        for field in fields(self)[4:]:
            if (value := getattr(self, field.name)) != field.default:
                shown.append(f"{field.name} {value}")
        return f"{self.name}: " + ", ".join(shown)


def half_quantum(fmt: Format) -> float:
    """Half the smallest subnormal: the largest error of rounding a tiny number to nearest.

    That of float64 is not itself a float64; the next larger number is returned.
    """
    return max(fmt.smallest_subnormal / 2, math.ldexp(1.0, -1074))


def _known(field: str, name: str) -> None:
    if not isinstance(name, str) or name not in FORMATS:
        raise InputError(f"{field}: unknown format {name!r}; expected one of {', '.join(FORMATS)}")


def _at_least(name: str, value: float, least: float) -> None:
    ok = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if not ok or value < least:
        raise InputError(f"{name}: expected a finite number of at least {least}, got {value!r}")


def _whole(name: str, value: int, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InputError(f"{name}: expected a whole number of at least {least}, got {value!r}")


def _any_algorithm(fmt: str, exp_error: float) -> PrecisionModel:
    """Every usual algorithm, all of it in one format: two-pass, online with any tile, exp2."""
    return PrecisionModel(
        fmt,
        input=fmt,
        accumulate=fmt,
        output=fmt,
        exp_error=exp_error,
        scale_roundings=4,
        scale_on_inputs=True,
        exp2_shift=True,
        tile=1,
        renormalised_tiles=True,
        exp_of_lse=True,
        division_roundings=2,
        flush_subnormals=fmt != "float16",  # its subnormals are computed in wider arithmetic
    )


def _flash2(fmt: str) -> PrecisionModel:
    """FlashAttention-2: 16-bit inputs, float32 sums, weights rounded to 16 bits, exp2 with FMA."""
    return PrecisionModel(
        "fa2-" + ("bf16" if fmt == "bfloat16" else "fp16"),
        input=fmt,
        accumulate="float32",
        output=fmt,
        weights_stored=fmt,
        exact_products=True,
        exp_error=40.0,
        scale_roundings=3,
        exp2_shift=True,
        tile=32,
        division_roundings=2,
        flush_subnormals=True,
    )


def _unfused(fmt: str) -> PrecisionModel:
    """Separate operations on 16-bit tensors, each with float32 arithmetic inside."""
    return PrecisionModel(
        "unfused-" + ("bf16" if fmt == "bfloat16" else "fp16"),
        input=fmt,
        accumulate="float32",
        output=fmt,
        scores_stored=fmt,
        weights_stored=fmt,
        exact_products=True,
        exp_error=40.0,
        scale_roundings=3,
        division_roundings=2,
    )


@lru_cache(maxsize=1)
def _models() -> dict[str, PrecisionModel]:
    listed = [
        _any_algorithm("float64", 6.0),
        _any_algorithm("float32", 8.0),
        _any_algorithm("float16", 6.0),
        _any_algorithm("bfloat16", 6.0),
        _flash2("bfloat16"),
        _flash2("float16"),
        _unfused("bfloat16"),
        _unfused("float16"),
        replace(
            _flash2("bfloat16"),
            name="fp8-p",
            weights_stored="e4m3fn",
            weights_scale=8,
            output="bfloat16",
        ),
    ]
    return {entry.name: entry for entry in listed}


def models() -> dict[str, PrecisionModel]:
    """Return the named models, by name.

    Examples
    --------
    >>> list(models())
    ['float64', 'float32', 'float16', 'bfloat16', 'fa2-bf16', 'fa2-fp16', 'unfused-bf16',
     'unfused-fp16', 'fp8-p']
    """
    return dict(_models())


def textbook(fmt: str | float = "float32", **parts: object) -> PrecisionModel:
    """The two-pass algorithm with everything in one format.

    Scores by a dot product and one multiplication, subtraction of the row maximum, exponentials
    (or numerator and denominator) in any order of summation, one division.

    Parameters
    ----------
    fmt
        A format by name, for instance ``"float32"``; or a unit roundoff, for arithmetic that has
        no name here (its exponent range is then float64's).
    **parts
        Any attribute of `PrecisionModel` to be changed.

    Examples
    --------
    >>> textbook("float16").unit == 2.0**-11
    True
    >>> textbook(2.0**-14).name
    'textbook(6.1e-05)'
    """
    if isinstance(fmt, str):
        base = PrecisionModel(f"textbook({fmt})", input=fmt, accumulate=fmt, output=fmt)
    else:
        wide = "float64"
        base = PrecisionModel(
            f"textbook({fmt:.2g})", input=wide, accumulate=wide, output=wide, unit_roundoff=fmt
        )
    return model(base, **parts)


def model(base: str | PrecisionModel, **parts: object) -> PrecisionModel:
    """A named model, or a variant of one.

    Parameters
    ----------
    base
        A name from `models()`, ``"textbook(FORMAT)"``, ``"textbook(U)"`` with a unit roundoff, or
        a model.
    **parts
        Attributes of `PrecisionModel` to be changed.

    Raises
    ------
    InputError
        For a name or an attribute that is not known.

    Examples
    --------
    >>> model("fa2-bf16", tile=128).tile
    128
    >>> model("fa2-bf32")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    attnproofs.errors.InputError: model: unknown precision model 'fa2-bf32'; expected ...
    """
    if isinstance(base, str):
        base = _named(base)
    elif not isinstance(base, PrecisionModel):
        raise InputError(
            f"model: expected a name or a PrecisionModel, got {type(base).__name__}; "
            f"names: {', '.join(_models())}, textbook(FORMAT)"
        )
    known = {field.name for field in fields(PrecisionModel)}
    if unknown := sorted(set(parts) - known):
        raise InputError(
            f"model: unknown part {unknown[0]!r}; expected one of {', '.join(sorted(known))}"
        )
    return replace(base, **parts) if parts else base  # type: ignore[arg-type]  # checked above


def _named(name: str) -> PrecisionModel:
    if name in _models():
        return _models()[name]
    if name.startswith("textbook(") and name.endswith(")"):
        inside = name[len("textbook(") : -1]
        try:
            return textbook(float(inside))
        except ValueError:
            return textbook(inside)
    raise InputError(
        f"model: unknown precision model {name!r}; "
        f"expected one of {', '.join(_models())}, textbook(FORMAT)"
    )
