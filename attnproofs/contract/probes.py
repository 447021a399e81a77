"""Probes: small calls that show one convention of an attention function each.

Structure is read without a tolerance: zero queries give every kept key the same weight, and
identity values make an output row *be* its weight row, so the keys a row attends to are the nonzero
entries. Only the scale, the soft-cap formula and the working precision are read from magnitudes,
between answers that lie orders of magnitude apart.
"""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import shorten
from typing import Any

import numpy as np

from attnproofs.contract.profile import CONVENTIONS
from attnproofs.errors import InputError, TargetError

Array = np.ndarray[Any, Any]

KEYWORDS = ("attn_mask", "is_causal", "scale", "enable_gqa", "window", "softcap")

#: The word for an answer that the question does not list; the detail says what was seen.
OTHER = "other"


@dataclass(frozen=True)
class Observation:
    """What one probe saw.

    Attributes
    ----------
    question
        A name of `CONVENTIONS`.
    value
        One of the question's answers, ``other``, or ``unknown`` when it could not be asked.
    detail
        What came back, in words.
    probe
        Two lines of Python that show it, for a function ``f`` and ``import numpy as np``; empty
        when nothing was called.
    """

    question: str
    value: str
    detail: str
    probe: str = ""


@dataclass(frozen=True)
class _Outcome:
    """One call: the output as (H, L, Ev), or why there is none, and the code that made it."""

    out: Array | None
    error: str
    probe: str

    @property
    def heads(self) -> Array:
        """The output, where the call gave one."""
        assert self.out is not None
        return self.out

    @property
    def row(self) -> Array:
        """The first row of the first head."""
        first: Array = self.heads[0, 0]
        return first


def _number(x: float) -> str:
    """A number as NumPy code."""
    if np.isnan(x):
        return "np.nan"
    if np.isinf(x):
        return "np.inf" if x > 0 else "-np.inf"
    return repr(int(x)) if x == int(x) and abs(x) < 1e6 else repr(float(x))


def _nested(array: Array) -> str:
    """A nested list as code."""
    if array.ndim == 0:
        return repr(bool(array)) if array.dtype == bool else _number(float(array))
    return "[" + ", ".join(map(_nested, array)) + "]"


def _literal(array: Array) -> str:
    """A short expression for `array`."""
    name = array.dtype.name
    native = name.startswith("float") and array.dtype.kind == "f"
    kind = "bool" if name == "bool" else f"np.{name}" if native else "np.float32"
    cast = "" if native or name == "bool" else f".astype({name!r})"
    if not array.size or not array.any():
        return f"np.zeros({array.shape}, {kind}){cast}"
    if array.ndim == 4 and 1 in array.shape[1:3] and array.shape[0] == 1:
        axis = 1 if array.shape[1] == 1 else 2
        flat = array.squeeze((0, axis))
        index = "[None, None]" if axis == 1 else "[None, :, None]"
        if np.array_equal(flat, np.eye(*flat.shape)) and name != "bool":
            size = ", ".join(str(n) for n in dict.fromkeys(flat.shape))
            return f"np.eye({size}, dtype={kind}){cast}{index}"
        body = f"np.array({_nested(flat)})" if name == "bool" else f"{kind}({_nested(flat)})"
        return f"{body}{cast}{index}"
    return f"np.array({_nested(array)}, {kind}){cast}"


class _Box:
    """The target, called with arrays of (H, L, D) whatever axes it wants."""

    def __init__(self, function: Callable[..., Any], dtype: Any) -> None:
        self.function = function
        self.dtype = dtype
        # a format of 8 bits may lack infinity, which a mask needs
        self.mask_dtype = dtype if np.dtype(dtype).itemsize > 1 else np.float32
        self.axes = 4
        self.heads_axis = 1
        self.out_heads_axis = 1
        self.fixed: dict[str, Any] = {}  # passed in every call: a scale, if one must be given
        self.allowed_kind = ""  # how a mask is given: bool, inverted, additive, or not at all
        self.claims = _claims(function)

    def shaped(self, array: Array) -> Array:
        """(H, L, D) as the target wants it."""
        if self.axes == 4:
            return np.ascontiguousarray(
                array[None] if self.heads_axis == 1 else array.swapaxes(0, 1)[None]
            )
        return array if self.axes == 3 else array[0]

    def mask_shaped(self, mask: Array) -> Array:
        """(L, S) with as many axes as the target's arrays."""
        return mask.reshape((1,) * (self.axes - 2) + mask.shape)

    def call(self, q: Array, k: Array, v: Array, *, dtype: Any = None, **options: Any) -> _Outcome:
        """One call on copies of the arrays."""
        kind = np.dtype(dtype or self.dtype)
        arrays = [self.shaped(np.asarray(a, kind)) for a in (q, k, v)]
        options = {**self.fixed, **options}
        shown = ", ".join(
            f"{name}={_literal(x) if isinstance(x, np.ndarray) else repr(x)}"
            for name, x in options.items()
        )
        probe = (
            f"q, k, v = {', '.join(map(_literal, arrays))}\n"
            f"f(q, k, v{', ' if shown else ''}{shown})"
        )
        return self._run(arrays, options, probe)

    def call_random(
        self, heads: int, rows: int, d: int, dtype: Any, *, reverse: bool = False
    ) -> _Outcome:
        """One call on normal variates, the keys and values in reverse order if `reverse`."""
        kind = np.dtype(dtype)
        shape = self.shaped(np.empty((heads, rows, d))).shape
        q, k, v = np.random.default_rng(0).normal(size=(3, *shape)).astype(kind)
        shown = "".join(f", {name}={value!r}" for name, value in self.fixed.items())
        draw = (
            f"q, k, v = np.random.default_rng(0).normal(size={(3, *shape)}).astype({kind.name!r})"
        )
        if not reverse:
            return self._run([q, k, v], self.fixed, f"{draw}\nf(q, k, v{shown})")
        axis = len(shape) - 2 if self.heads_axis == 1 or self.axes < 4 else 1
        cut = f"[{':, ' * axis}::-1]"
        arrays = [q, np.ascontiguousarray(np.flip(k, axis)), np.ascontiguousarray(np.flip(v, axis))]
        probe = f"{draw}\nf(q, k, v{shown}) - f(q, k{cut}, v{cut}{shown})"
        return self._run(arrays, self.fixed, probe)

    def _run(self, arrays: list[Array], options: Mapping[str, Any], probe: str) -> _Outcome:
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                out = self.function(*(a.copy() for a in arrays), **options)
        except Exception as error:  # whatever the target raises is an answer
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            reason = shorten(reason, 160, placeholder=" ...")
            return _Outcome(None, f"{type(error).__name__}: {reason}", probe)
        out = np.asarray(out[0] if isinstance(out, (tuple, list)) else out)
        if out.ndim != self.axes:
            return _Outcome(None, f"an output with {out.ndim} axes", probe)
        if self.axes == 4:
            out = out[0] if self.out_heads_axis == 1 else out[0].swapaxes(0, 1)
        elif self.axes == 2:
            out = out[None]
        return _Outcome(out.astype(np.float64), "", probe)

    def attended(self, rows: int, cols: int, **options: Any) -> tuple[Array | None, _Outcome]:
        """Which keys each row attends to, (L, S) of booleans, read with zero queries."""
        n = max(cols, 4)  # few different shapes: compilers compile each of them
        zeros = np.zeros
        outcome = self.call(
            zeros((1, rows, n)), zeros((1, cols, n)), np.eye(cols, n)[None], **options
        )
        if outcome.out is None:
            return None, outcome
        return outcome.out[0, :, :cols] > 0, outcome

    def allow(self, allowed: Sequence[Sequence[int]] | Array) -> dict[str, Array]:
        """The keyword that lets each row attend to `allowed` only, in the target's own polarity."""
        kept = np.asarray(allowed, bool)
        if self.allowed_kind == "additive":
            mask = np.where(kept, 0, -np.inf).astype(self.mask_dtype)
        else:
            mask = kept if self.allowed_kind == "bool" else ~kept
        return {"attn_mask": self.mask_shaped(mask)}


def _claims(function: Callable[..., Any]) -> frozenset[str]:
    """The contract's keywords that the signature takes; all of them if it cannot be read."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return frozenset(KEYWORDS)
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return frozenset(KEYWORDS)
    return frozenset(name for name in KEYWORDS if name in parameters)


def settle(function: Callable[..., Any], dtype: str | None) -> tuple[_Box, tuple[str, ...]]:
    """Find a format and a number of axes that the target takes, and its axis order."""
    if dtype is not None:
        candidates: list[Any] = [_format(dtype)]
    else:
        candidates = [np.float32, np.float64, np.float16]
    first = ""
    for kind in candidates:
        for axes in (4, 3, 2):
            box = _Box(function, kind)
            box.axes = axes
            for fixed in ({}, {"scale": 1.0}):
                if fixed and "scale" not in box.claims:
                    continue
                box.fixed = fixed
                outcome = box.call(np.zeros((1, 2, 2)), np.zeros((1, 2, 2)), np.ones((1, 2, 2)))
                first = first or f"{outcome.probe}\n{outcome.error}"
                if outcome.out is not None:
                    notes = [f"probed in {np.dtype(kind).name}, with arrays of {axes} axes"]
                    lacks = [name for name in KEYWORDS if name not in box.claims]
                    if lacks:
                        notes.append(f"not claimed, the signature lacks: {', '.join(lacks)}")
                    return box, tuple(notes)
    raise TargetError(
        "a plain call fails, so nothing can be identified:\n" + first + "\nThe target must take "
        "NumPy arrays query, key and value; see --arrays for torch and jax arrays"
    )


def _format(name: str) -> Any:
    """The NumPy type called `name`."""
    if name in ("float64", "float32", "float16"):
        return np.dtype(name)
    try:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))
    except (ImportError, AttributeError):
        raise InputError(
            f"no dtype {name!r}: float64, float32, float16, or with ml_dtypes installed bfloat16, "
            "float8_e4m3fn, float8_e5m2"
        ) from None


class _Probes:
    """One method for each question or pair of questions; `answers` holds what was seen so far."""

    def __init__(self, box: _Box) -> None:
        self.box = box
        self.answers: dict[str, Observation] = {}

    def get(self, question: str) -> str:
        """The answer to an earlier question."""
        return self.answers[question].value

    def say(self, question: str, value: str, detail: str, outcome: _Outcome | None = None) -> None:
        """Record an answer; a word that the question does not list becomes ``other``."""
        if value not in CONVENTIONS[question].answers and value not in ("unknown", OTHER):
            raise AssertionError(f"{question} has no answer {value!r}")
        self.answers[question] = Observation(
            question, value, detail, outcome.probe if outcome else ""
        )

    def unoffered(self, question: str, keyword: str) -> bool:
        """Answer ``none`` when the signature lacks `keyword`."""
        if keyword in self.box.claims:
            return False
        self.say(question, "none", f"no keyword {keyword}")
        return True

    def scores(self) -> tuple[dict[str, Any], float] | None:
        """Options and a factor for 4-feature queries that make scores equal query times key."""
        default = {"1/sqrt(d)": 2.0, "1/d": 4.0, "1": 1.0}.get(self.get("default_scale"))
        if default is not None:
            return {}, default
        return ({"scale": 1.0}, 1.0) if "scale" in self.box.claims else None

    # axes

    def layout(self) -> None:
        """Values hold their own indices: averaging over the keys keeps the head's index."""
        questions = ("layout", "output_layout")
        box = self.box
        if box.axes != 4:
            for question in questions:
                self.say(question, "unknown", f"arrays have {box.axes} axes")
            return
        value = np.zeros((2, 2, 2))
        value[1, :, 0] = value[:, 1, 1] = 2  # along the first axis, along the second axis
        outcome = box.call(np.zeros((2, 2, 2)), np.zeros((2, 2, 2)), value)
        out = outcome.out
        if out is None:
            for question in questions:
                self.say(question, "unknown", f"two heads: {outcome.error}", outcome)
            return
        # the average of 0 and 2 is 1 along the keys; along the heads 0 and 2 remain
        kept = [c for c in (0, 1) if (out[..., 1 - c] == 1).all()]
        if len(kept) != 1 or set(out[..., kept[0]].flat) != {0.0, 2.0}:
            for question in questions:
                self.say(question, OTHER, f"output {_nested(out)}", outcome)
            return
        index = out[..., kept[0]]
        first = index[0, 0] == index[0, 1]
        names = {1: "BHLD", 2: "BLHD"}
        box.heads_axis, box.out_heads_axis = 1 + kept[0], 1 if first else 2
        self.say("layout", names[box.heads_axis], "the axis that is not averaged", outcome)
        self.say("output_layout", names[box.out_heads_axis], "where that axis is now", outcome)

    def default_scale(self) -> None:
        """Two keys whose products with the query are 4 and 0, at d = 4 and d = 16."""
        box, seen, outcome = self.box, [], None
        fixed, box.fixed = box.fixed, {}
        for d in (4, 16):
            query, key = np.zeros((1, 1, d)), np.zeros((1, 2, d))
            query[..., 0], key[0, 0, 0] = 4, 1
            outcome = box.call(query, key, np.eye(2, d)[None])
            if outcome.out is None:
                break
            with np.errstate(all="ignore"):
                seen.append(float(np.log(outcome.row[0] / outcome.row[1])) / 4)
        box.fixed = fixed
        assert outcome is not None
        if outcome.out is None:
            return self.say("default_scale", "required" if fixed else OTHER, outcome.error, outcome)
        known = {"1/sqrt(d)": (1 / 2, 1 / 4), "1/d": (1 / 4, 1 / 16), "1": (1, 1)}
        close = [name for name, pair in known.items() if np.allclose(seen, pair, rtol=0.03)]
        value = close[0] if close else OTHER
        detail = (
            f"log of the two weights' ratio over 4: {seen[0]:.4g} at d=4, {seen[1]:.4g} at d=16"
        )
        return self.say("default_scale", value, detail, outcome)

    # masks

    def bool_mask(self) -> None:
        """True at one key of a row: that key alone, the others alone, or e times their weight."""
        if self.unoffered("bool_mask", "attn_mask"):
            return None
        box, mask = self.box, np.array([[True, False, False], [False, True, False]])
        kept, outcome = box.attended(2, 3, attn_mask=box.mask_shaped(mask))
        if outcome.out is None or kept is None:
            return self.say("bool_mask", "none", outcome.error, outcome)
        w = outcome.out[0, :, :3]
        if np.array_equal(kept, mask):
            value, box.allowed_kind = "attend", "bool"
        elif np.array_equal(kept, ~mask):
            value, box.allowed_kind = "masked", "inverted"
        elif np.allclose(w[mask] / w[:, 2], math.e, rtol=0.02):
            value = "added"
        else:
            value = OTHER
        return self.say("bool_mask", value, _weights(w), outcome)

    def additive_mask(self) -> None:
        """-inf at one key, log 3 at another."""
        if self.unoffered("additive_mask", "attn_mask"):
            return None
        box = self.box
        mask = np.array([[math.log(3), 0, -np.inf], [0, 0, 0]]).astype(box.mask_dtype)
        kept, outcome = box.attended(2, 3, attn_mask=box.mask_shaped(mask))
        if kept is None:
            return self.say("additive_mask", "none", outcome.error, outcome)
        w = outcome.row[:3]
        value = "yes" if np.allclose(w, (0.75, 0.25, 0), atol=0.01) else OTHER
        if value == "yes" and not box.allowed_kind:
            box.allowed_kind = "additive"
        return self.say("additive_mask", value, _weights(outcome.heads[0, :, :3]), outcome)

    def causal_alignment(self) -> None:
        """More keys than queries, more queries than keys, one query alone."""
        question = "causal_alignment"
        if self.unoffered(question, "is_causal"):
            return None
        wide, outcome = self.box.attended(2, 4, is_causal=True)
        tall, _ = self.box.attended(4, 2, is_causal=True)
        if wide is None:
            square, _ = self.box.attended(2, 2, is_causal=True)
            works = square is not None and np.array_equal(square, _band(2, 2, right=0))
            detail = f"L=2, S=4: {outcome.error}"
            return self.say(question, OTHER if works else "none", detail, outcome)
        shifts, name = {"top-left": 0, "bottom-right": 1}, ""
        for candidate, shift in shifts.items():
            expected = _band(4, 2, right=0, shift=-2 * shift)
            rows = expected.any(1)  # what an empty row gives is another question
            # bottom-right may refuse L > S altogether: some of its rows would be empty
            agrees = np.array_equal(tall[rows], expected[rows]) if tall is not None else shift
            if agrees and np.array_equal(wide, _band(2, 4, right=0, shift=2 * shift)):
                name = candidate
        if not name:
            detail = f"L=2, S=4: {_kept(wide)}"
            detail += f"; L=4, S=2: {_kept(tall)}" if tall is not None else ""
            return self.say(question, OTHER, detail, outcome)
        one, single = self.box.attended(1, 3, is_causal=True)
        if name == "top-left" and one is not None and one.all():
            detail = f"L=2, S=4: {_kept(wide)}; but L=1, S=3: {_kept(one)}"
            return self.say(question, "top-left-unless-one", detail, single)
        return self.say(question, name, f"L=2, S=4: {_kept(wide)}", outcome)

    def mask_and_causal(self) -> None:
        """A mask and a triangle, neither containing the other."""
        question = "mask_and_causal"
        if self.get("causal_alignment") == "none" or not self.box.allowed_kind:
            return self.say(question, "none", "one of the two is not offered")
        allowed = np.array([[1, 1, 1], [1, 0, 1], [0, 1, 1]], bool)
        triangle = np.tril(np.ones((3, 3), bool))
        kept, outcome = self.box.attended(3, 3, **self.box.allow(allowed), is_causal=True)
        if kept is None:
            return self.say(question, "error", outcome.error, outcome)
        patterns = {"and": allowed & triangle, "mask": allowed, "causal": triangle}
        value = next((n for n, p in patterns.items() if np.array_equal(kept, p)), OTHER)
        return self.say(question, value, _kept(kept), outcome)

    # rows without a key

    def _empty_row(self, question: str, options: dict[str, Any], rows: int, cols: int) -> None:
        """Row 0 has no key; its scores differ, so that uniform and unmasked differ."""
        query, key = np.zeros((1, rows, 4)), np.zeros((1, cols, 4))
        query[..., 0], key[0, :, 0] = 1, np.arange(cols)
        value = np.eye(cols, 4)[None]
        outcome = self.box.call(query, key, value, **options)
        if outcome.out is None:
            return self.say(question, "error", outcome.error, outcome)
        w = outcome.row[:cols]
        plain = self.box.call(query, key, value)
        if np.isnan(w).all():
            answer = "nan"
        elif (w == 0).all():
            answer = "zeros"
        elif (w == w[0]).all() and abs(w[0] * cols - 1) < 0.1:
            answer = "uniform"
        elif plain.out is not None and np.allclose(w, plain.row[:cols], rtol=0.01):
            answer = "unmasked"
        else:
            answer = OTHER
        return self.say(question, answer, _weights(w[None]), outcome)

    def empty_row_bool(self) -> None:
        """Every key of row 0 forbidden by a boolean mask."""
        if self.get("bool_mask") not in ("attend", "masked"):
            return self.say("empty_row_bool", "none", "no boolean masks")
        options = self.box.allow([[0, 0, 0], [1, 1, 1]])
        return self._empty_row("empty_row_bool", options, 2, 3)

    def _empty_row_additive(self, question: str, lowest: float) -> None:
        """Every key of row 0 at `lowest`."""
        if self.get("additive_mask") != "yes":
            return self.say(question, "none", "no additive masks")
        mask = np.array([[lowest] * 3, [0] * 3]).astype(self.box.mask_dtype)
        options = {"attn_mask": self.box.mask_shaped(mask)}
        return self._empty_row(question, options, 2, 3)

    def empty_row_neg_inf(self) -> None:
        """Every key of row 0 at -inf."""
        self._empty_row_additive("empty_row_neg_inf", -math.inf)

    def empty_row_finfo_min(self) -> None:
        """Every key of row 0 at the least finite number."""
        self._empty_row_additive("empty_row_finfo_min", _least(self.box.mask_dtype))

    def empty_row_causal(self) -> None:
        """Four queries, two keys, aligned at the bottom right: the first two see none."""
        if self.get("causal_alignment") != "bottom-right":
            return self.say("empty_row_causal", "none", "is_causal leaves no row empty")
        return self._empty_row("empty_row_causal", {"is_causal": True}, 4, 2)

    def no_keys(self) -> None:
        """S = 0."""
        outcome = self.box.call(np.ones((1, 1, 4)), np.ones((1, 0, 4)), np.ones((1, 0, 4)))
        if outcome.out is None:
            return self.say("no_keys", "error", outcome.error, outcome)
        w = outcome.out
        value = "zeros" if (w == 0).all() else "nan" if np.isnan(w).all() else OTHER
        return self.say("no_keys", value, f"output {_nested(w[0, 0])}", outcome)

    # window

    def window(self) -> None:
        """(2, 1) among six keys."""
        if self.unoffered("window", "window"):
            return None
        kept, outcome = self.box.attended(6, 6, window=(2, 1))
        if kept is None:
            return self.say("window", "none", outcome.error, outcome)
        patterns = {"inclusive": _band(6, 6, 2, 1), "exclusive": _band(6, 6, 1, 0)}
        value = next((n for n, p in patterns.items() if np.array_equal(kept, p)), OTHER)
        return self.say("window", value, _kept(kept), outcome)

    def window_int(self) -> None:
        """One int, 2, among six keys."""
        if self.unoffered("window_int", "window"):
            return None
        kept, outcome = self.box.attended(6, 6, window=2)
        if kept is None:
            return self.say("window_int", "none", outcome.error, outcome)
        patterns = {
            "symmetric-inclusive": _band(6, 6, 2, 2),
            "symmetric-exclusive": _band(6, 6, 1, 1),
            "left-inclusive": _band(6, 6, 2, 0),
            "left-exclusive": _band(6, 6, 1, 0),
        }
        value = next((n for n, p in patterns.items() if np.array_equal(kept, p)), OTHER)
        return self.say("window_int", value, _kept(kept), outcome)

    def window_alignment(self) -> None:
        """The same window with two queries and six keys."""
        pair, single = self.get("window"), self.get("window_int")
        if {pair, single} <= {"none"}:
            return self.say("window_alignment", "none", "no window")
        edges = {
            "inclusive": (2, 1),
            "exclusive": (1, 0),
            "symmetric-inclusive": (2, 2),
            "symmetric-exclusive": (1, 1),
            "left-inclusive": (2, 0),
            "left-exclusive": (1, 0),
        }
        use, word = ((2, 1), pair) if pair in edges else (2, single)
        if word not in edges:
            return self.say("window_alignment", "unknown", "the window is of no known kind")
        kept, outcome = self.box.attended(2, 6, window=use)
        if kept is None:
            return self.say("window_alignment", OTHER, outcome.error, outcome)
        patterns = {
            "top-left": _band(2, 6, *edges[word]),
            "bottom-right": _band(2, 6, *edges[word], shift=4),
        }
        value = next((n for n, p in patterns.items() if np.array_equal(kept, p)), OTHER)
        return self.say("window_alignment", value, _kept(kept), outcome)

    # heads

    def grouped_heads(self) -> None:
        """Six query heads, two key heads, one key: the output is the key head's number."""
        box, questions = self.box, ("grouped_heads", "grouped_flag")
        if box.axes == 2:
            for question in questions:
                self.say(question, "none", "arrays have no heads")
            return
        arrays = np.zeros((6, 1, 2)), np.zeros((2, 1, 2)), np.array([[[0, 0]], [[1, 1]]])
        bare = box.call(*arrays)
        flagged = box.call(*arrays, enable_gqa=True) if "enable_gqa" in box.claims else bare
        outcome = flagged
        if outcome.out is None or outcome.out.shape[0] != 6:
            for question in questions:
                self.say(question, "none", outcome.error or "output without six heads", outcome)
            return
        heads = outcome.out[:, 0, 0].tolist()
        orders = {"consecutive": [0, 0, 0, 1, 1, 1], "tiled": [0, 1, 0, 1, 0, 1]}
        value = next((n for n, order in orders.items() if heads == order), OTHER)
        shown = [int(h) if h == int(h) else h for h in heads]
        self.say("grouped_heads", value, f"heads read {shown}", outcome)
        same = bare.out is not None and np.array_equal(bare.out, outcome.out)
        detail = "the same without it" if same else f"without it: {bare.error or 'another result'}"
        self.say("grouped_flag", "ignored" if same else "required", detail, bare)

    # soft-cap

    def softcap(self) -> None:
        """A cap of 1: after the mask, a masked key has the score -1 and keeps weight."""
        if self.unoffered("softcap", "softcap"):
            return None
        box, cols = self.box, 3
        free = box.attended(2, 3, softcap=1.0)[1]
        if free.out is None:
            return self.say("softcap", "none", free.error, free)
        if box.allowed_kind:
            options: dict[str, Any] = {**box.allow([[1, 1, 0], [1, 1, 0]])}
        elif self.get("causal_alignment") != "none":
            options, cols = {"is_causal": True}, 2
        else:
            return self.say("softcap", "unknown", "no mask to put before or after it")
        kept, outcome = box.attended(2, cols, **options, softcap=1.0)
        if kept is None:
            return self.say("softcap", OTHER, outcome.error, outcome)
        value = "after-mask" if kept[0, -1] else "before-mask"
        return self.say("softcap", value, _weights(outcome.heads[0, :1, :cols]), outcome)

    def softcap_formula(self) -> None:
        """Scores 2 and 0, cap 1."""
        question = "softcap_formula"
        if self.get("softcap") == "none":
            return self.say(question, "none", "no soft-cap")
        given = self.scores()
        if given is None:
            return self.say(question, "unknown", "the scale is unknown")
        options, factor = given
        query, key = np.zeros((1, 1, 4)), np.zeros((1, 2, 4))
        query[..., 0], key[0, 0, 0] = 2 * factor, 1
        outcome = self.box.call(query, key, np.eye(2, 4)[None], **options, softcap=1.0)
        if outcome.out is None:
            return self.say(question, OTHER, outcome.error, outcome)
        gap = float(np.log(outcome.row[0] / outcome.row[1]))
        values = {"tanh": math.tanh(2), "softsign": 2 / 3}
        value = next((n for n, x in values.items() if abs(gap - x) < 0.02), OTHER)
        return self.say(question, value, f"a score of 2 counts as {gap:.4g}", outcome)

    # what is masked stays out

    def _leak(self, where: str, kind: str) -> None:
        """NaN and infinity in one masked slot; the rows that do not see it are compared."""
        question = f"masked_{where}_{kind}"
        box = self.box
        if kind == "causal":
            offered = self.get("causal_alignment") != "none"
            options: dict[str, Any] = {"is_causal": True}
        elif kind == "bool":
            offered = self.get("bool_mask") in ("attend", "masked")
            options = box.allow([[1, 1, 0], [1, 1, 0], [1, 1, 0]]) if offered else {}
        else:
            offered = self.get("additive_mask") == "yes"
            mask = np.array([[0, 0, -np.inf]] * 3).astype(box.mask_dtype)
            options = {"attn_mask": box.mask_shaped(mask)}
        if not offered:
            return self.say(question, "none", "no such mask")
        query, key, value = np.zeros((1, 3, 4)), np.zeros((1, 3, 4)), np.eye(3, 4)[None]
        query[..., 0] = 1
        clean = box.call(query, key, value, **options)
        leaks: list[tuple[str, _Outcome]] = []
        for bad in (np.nan, np.inf):
            dirty = {"key": key.copy(), "value": value.copy()}
            dirty[where][0, 2, 0] = bad
            seen = box.call(query, dirty["key"], dirty["value"], **options)
            if clean.out is None or seen.out is None or not np.array_equal(clean.row, seen.row):
                leaks.append((str(bad), seen))
        outcome = leaks[0][1] if leaks else seen
        names = " and ".join(name for name, _ in leaks)
        detail = f"{names} changed row 0" if leaks else "row 0 unchanged"
        return self.say(question, "leaks" if leaks else "blocked", detail, outcome)

    def masked_key_bool(self) -> None:
        """A key under a boolean mask."""
        self._leak("key", "bool")

    def masked_key_additive(self) -> None:
        """A key under -inf."""
        self._leak("key", "additive")

    def masked_key_causal(self) -> None:
        """A key in the future."""
        self._leak("key", "causal")

    def masked_value_bool(self) -> None:
        """A value under a boolean mask."""
        self._leak("value", "bool")

    def masked_value_additive(self) -> None:
        """A value under -inf."""
        self._leak("value", "additive")

    def masked_value_causal(self) -> None:
        """A value in the future."""
        self._leak("value", "causal")

    # working precision

    def float64_accuracy(self) -> None:
        """Normal variates in float64 against the same sums in NumPy's long double."""
        question, box = "float64_accuracy", self.box
        outcome = box.call_random(1, 8, 8, np.float64)
        scale = box.fixed.get("scale") or {
            "1/sqrt(d)": np.sqrt(np.longdouble(1) / 8),
            "1/d": 0.125,
            "1": 1.0,
        }.get(self.get("default_scale"))
        if outcome.out is None:
            return self.say(question, "none", outcome.error, outcome)
        if scale is None:
            return self.say(question, "unknown", "the scale is unknown", outcome)
        q, k, v = np.random.default_rng(0).normal(size=(3, 8, 8)).astype(np.longdouble)
        exps = np.exp(q @ k.T * scale)
        error = float(np.abs(outcome.out[0] - exps @ v / exps.sum(1, keepdims=True)).max())
        value = "float64" if error < 1e-13 else "float32" if 1e-10 < error < 1e-5 else OTHER
        return self.say(question, value, f"largest error {error:.1e}", outcome)

    def half_weights(self) -> None:
        """Values that cancel the rounded weights, so that what is left shows what was rounded.

        Row i has weights proportional to 1 and exp(-x_i); column i has the values -r_i and 1, with
        r_i the float16 nearest to exp(-x_i).
        """
        question = "half_weights"
        given = self.scores()
        x = np.array([0.5, 1, 1.5, 2])
        query, key, value = np.zeros((1, 4, 4)), np.zeros((1, 2, 4)), np.ones((1, 2, 4))
        rounded = np.float16(np.exp(-x)).astype(float)
        options, factor = given or ({}, 1.0)
        query[0, :, 0], key[0, 1, 0], value[0, 0] = x * factor, -1, -rounded
        outcome = self.box.call(query, key, value, dtype=np.float16, **options)
        if outcome.out is None:
            return self.say(question, "none", outcome.error, outcome)
        if given is None:
            return self.say(question, "unknown", "the scale is unknown", outcome)
        seen = np.diagonal(outcome.out[0])
        e = np.exp(-x)
        first, second = 1 / (1 + e), e / (1 + e)
        once = [np.float16(w).astype(float) for w in (first, second)]
        half = np.float16(e)  # exponentials in float16, normalised in float16 or wider
        every = [(np.float16(w) / (np.float16(1) + half)).astype(float) for w in (np.ones(4), half)]
        wide = [
            np.float16(w / (1 + half.astype(float))).astype(float) for w in (1, half.astype(float))
        ]
        predictions = {
            "kept": [second - rounded * first],
            "rounded": [w[1] - rounded * w[0] for w in (once, every, wide)],
            "rounded-unnormalised": [np.zeros(4)],
        }
        # each row may be rounded in any of the ways; the worst row decides
        errors = {
            name: float(np.abs(np.array(ways) - seen).min(0).max())
            for name, ways in predictions.items()
        }
        best = min(errors, key=lambda name: errors[name])
        shown = ", ".join(f"{n:.1e}" for n in seen)
        return self.say(
            question, best if errors[best] < 2e-5 else OTHER, f"left over: {shown}", outcome
        )

    def half_scores(self) -> None:
        """Scores of several hundred thousand in float16."""
        query = np.full((1, 1, 64), 400.0)
        key = np.stack([query[0, 0], -query[0, 0]])[None]
        outcome = self.box.call(query, key, np.eye(2, 64)[None], dtype=np.float16)
        probe = outcome.probe.split("\n")[1]
        short = (
            "q = np.full((1, 1, 1, 64), 400, np.float16); k = q * np.float16([1, -1])[:, None]; "
            "v = np.eye(2, 64, dtype=np.float16)[None, None]\n" + probe
        )
        outcome = _Outcome(
            outcome.out, outcome.error, short if self.box.heads_axis == 1 else outcome.probe
        )
        if outcome.out is None:
            return self.say("half_scores", "none", outcome.error, outcome)
        finite = bool(np.isfinite(outcome.out).all())
        detail = f"output starts {_nested(outcome.row[:2])}"
        return self.say("half_scores", "finite" if finite else "overflow", detail, outcome)

    def repeatable(self) -> None:
        """The same call twice, and once with keys and values in reverse order."""
        box = self.box
        first, second = (box.call_random(2 if box.axes > 2 else 1, 33, 16, box.dtype) for _ in "12")
        if first.out is None or second.out is None:
            self.say("repeatable", "unknown", first.error, first)
            self.say("key_order", "unknown", first.error, first)
            return
        same = np.array_equal(first.out, second.out, equal_nan=True)
        self.say("repeatable", "yes" if same else "no", "33 queries and keys, called twice", first)
        reverse = box.call_random(2 if box.axes > 2 else 1, 33, 16, box.dtype, reverse=True)
        assert reverse.out is not None, reverse.error
        if np.array_equal(first.out, reverse.out):
            self.say("key_order", "same", "bitwise the same in reverse order", reverse)
        else:
            gap = float(np.abs(first.out - reverse.out).max())
            value = "rounding" if gap < 0.05 else OTHER
            self.say("key_order", value, f"reversed: differs by up to {gap:.1e}", reverse)


def _band(rows: int, cols: int, left: int = 10**6, right: int = 10**6, shift: int = 0) -> Array:
    """Key j for query i iff i + shift - left <= j <= i + shift + right."""
    offset = np.arange(cols) - np.arange(rows)[:, None] - shift
    return (offset >= -left) & (offset <= right)


def _kept(kept: Array) -> str:
    """The keys of each row, in words."""
    return "rows see " + " | ".join(
        ",".join(str(j) for j in np.flatnonzero(row)) or "none" for row in kept
    )


def _weights(rows: Array) -> str:
    """Weight rows, in words."""
    return "weights " + " | ".join(" ".join(f"{x:.3g}" for x in row) for row in rows)


def _least(dtype: Any) -> float:
    """The least finite number of a format."""
    try:
        return float(np.finfo(dtype).min)
    except ValueError:
        from ml_dtypes import finfo

        return float(finfo(dtype).min)


def observe(
    function: Callable[..., Any], dtype: str | None = None
) -> tuple[dict[str, Observation], tuple[str, ...]]:
    """Ask every question; returns the answers in the order of `CONVENTIONS`, and notes.

    Parameters and errors are those of `attnproofs.contract.identify.identify`.
    """
    box, notes = settle(function, dtype)
    probes = _Probes(box)
    # later probes rely on these
    first = ("layout", "default_scale", "bool_mask", "additive_mask", "causal_alignment")
    for question in (*first, *CONVENTIONS):
        if question not in probes.answers:
            getattr(probes, question)()
    return {name: probes.answers[name] for name in CONVENTIONS}, notes
