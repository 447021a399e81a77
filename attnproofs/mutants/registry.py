"""The gallery's card file: what is known of each mutant, and the smallest call that betrays it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

import numpy as np

from attnproofs.errors import InputError
from attnproofs.mutants.correct import LEVELS, Array

Function = Callable[..., Any]

# what an expert would call the cause -> the rule that the mutant breaks
CAUSES: dict[str, str] = {
    "masked-weight": "a masked key has weight exactly zero",
    "masked-value": "whatever a masked key or value holds, NaN and infinity too, changes nothing",
    "additive-mask": "a finite additive mask is added to the scaled scores",
    "mask-shape": "a mask that broadcasts means the same as the mask written out",
    "mask-and-causal": "an explicit mask and the causal mask combine by AND",
    "causal": "query i sees the keys j <= i, itself included, and no later one",
    "causal-alignment": "the causal mask hangs from the top left corner when L != S",
    "empty-row": "a row without any allowed key gives zeros, and only that row",
    "shift": "adding a constant to all scores of a row changes nothing",
    "row-sum": "the weights of a row are positive and sum to one over the allowed keys",
    "all-keys": "every allowed key takes part, exactly once, whatever the length",
    "tiling": "the result does not depend on how the keys are cut into tiles or splits",
    "key-order": "permuting keys together with values changes nothing",
    "accuracy": "the error stays within what the formats of inputs and output allow",
    "default-scale": "the default scale is 1/sqrt(E), applied once",
    "given-scale": "a given scale, zero and negative included, is used as given",
    "scores": "the scores are query @ key.T",
    "head-map": "query head h reads key and value head h // group",
    "heads": "concatenated heads meet W_O block by block: concat(O_h) W_O = sum O_h W_O^h",
    "batch": "the samples of a batch do not influence each other",
    "projection": "queries come from x_query, keys and values from x_source, each by its own W",
    "bias": "each bias enters once and in its own place",
    "layout": "the result depends on the values of an array, not on its place in memory",
    "inputs": "a call leaves its inputs as they were",
    "shape": "the result has the shape (..., Hq, L, Ev) and the query's dtype",
    "repeat": "a call depends on its arguments alone, not on chance or on earlier calls",
    "decode": "decoding token by token equals the full causal forward pass",
    "returned-weights": "the returned weights are those of this row, head and sample: O = A V",
    "returned-lse": "the returned log-sum-exp is log(sum(exp(scores))) of the allowed keys",
    "axis": "softmax runs along the axis that was asked for",
    "gradient": "the gradients are those of the forward function",
    "masked-gradient": "a masked pair passes no gradient",
    "softcap": "the soft cap acts on the scaled scores, before the mask",
    "sink": "each head's sink enters every row's denominator exactly once",
    "alibi": "the ALiBi bias is -slope_h * (i - j)",
    "window": "query i sees exactly the keys i - left <= j <= i + right",
    "packed": "packed sequences do not see each other, and each is masked on its own",
    "dropout": "kept weights are multiplied by 1/(1-p), in training alone",
}


@dataclass(frozen=True)
class Call:
    """One call: positional arguments and keywords."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        parts = [_brief(x) for x in self.args]
        parts += [f"{name}={_brief(x)}" for name, x in self.kwargs.items()]
        return ", ".join(parts)


def _brief(x: Any) -> str:
    if not isinstance(x, np.ndarray):
        return repr(x)
    if x.dtype == np.bool_ and x.size <= 9:
        return str(x.astype(int).tolist())
    return f"{x.dtype}{list(x.shape)}"


@dataclass(frozen=True)
class Mutant:
    """One faulty attention function.

    Attributes
    ----------
    id
        Words joined by hyphens.
    level
        Calling convention, a key of `attnproofs.mutants.LEVELS`.
    sentence
        What it does wrong.
    cause
        Key of `CAUSES`: the rule that it breaks.
    sources
        Public threads (``owner/repo#number``) that report the fault; empty for our own.
    make
        Returns the function, with a state of its own if it has any.
    witness
        Builds calls, in order, at least one of which the mutant answers differently; every time
        it is asked, from new arrays.
    """

    id: str
    level: str
    sentence: str
    cause: str
    sources: tuple[str, ...]
    make: Callable[[], Function]
    witness: Callable[[], tuple[Call, ...]]

    @property
    def urls(self) -> tuple[str, ...]:
        """Addresses of the public threads."""
        return tuple(
            f"https://github.com/{name}/issues/{number}"
            for name, number in (source.split("#") for source in self.sources)
        )


_GALLERY: dict[str, Mutant] = {}


def in_form(function: Function, level: str) -> Function:
    """Give `function` the signature of its level, and silence numpy's floating-point warnings."""
    signature = inspect.signature(LEVELS[level])

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        with np.errstate(all="ignore"):
            return function(*bound.args, **bound.kwargs)

    call.__signature__ = signature  # type: ignore[attr-defined]  # read by inspect.signature
    del call.__wrapped__
    return call


def mutant(
    level: str,
    sentence: str,
    *,
    cause: str,
    witness: Callable[[], Call | tuple[Call, ...]],
    sources: tuple[str, ...] = (),
    stateful: bool = False,
) -> Callable[[Function], Function]:
    """Enter a function into the gallery, under its name with hyphens for underscores.

    With `stateful` the decorated object is a maker: called without arguments it returns the
    function, with a fresh state.
    """
    if cause not in CAUSES or level not in LEVELS:
        raise AssertionError(f"unknown cause {cause!r} or level {level!r}")

    def enter(function: Function) -> Function:
        identity = function.__name__.replace("_", "-")
        if identity in _GALLERY:
            raise AssertionError(f"two mutants are called {identity}")

        def make() -> Function:
            made = in_form(function() if stateful else function, level)
            made.__name__ = function.__name__
            made.__qualname__ = function.__name__
            made.__module__ = function.__module__
            made.__doc__ = sentence
            return made

        def calls() -> tuple[Call, ...]:
            shown = witness()
            return (shown,) if isinstance(shown, Call) else shown

        _GALLERY[identity] = Mutant(identity, level, sentence, cause, sources, make, calls)
        return make()

    return enter


def registered() -> Iterator[Mutant]:
    """Yield every mutant entered so far, in the order of entry."""
    yield from _GALLERY.values()


def lookup(identity: str) -> Mutant:
    """Return the mutant with this id.

    Raises
    ------
    InputError
        When there is none.
    """
    if identity not in _GALLERY:
        raise InputError(
            f"no mutant is called {identity!r}; `attnproofs grade --list` prints the gallery"
        )
    return _GALLERY[identity]


def drawn(seed: int) -> Callable[..., Array]:
    """Return a function that draws arrays of a given shape: normal, rounded to two decimals."""
    draw = np.random.default_rng(seed)
    return lambda *shape: np.round(draw.standard_normal(shape), 2)


def qkv(
    L: int = 2,
    S: int = 2,
    E: int = 2,
    Ev: int | None = None,
    *,
    heads: int | None = None,
    key_heads: int | None = None,
    batch: int | None = None,
    dtype: str = "float64",
    query: Any = None,
    key: Any = None,
    value: Any = None,
    seed: int = 0,
    **options: Any,
) -> Call:
    """Build a small call of query, key and value; what is not given is drawn."""
    draw = drawn(seed)
    axes: tuple[int, ...] = () if batch is None else (batch,)
    of_query = axes if heads is None else (*axes, heads)
    of_key = axes if heads is None else (*axes, heads if key_heads is None else key_heads)

    def array(given: Any, *shape: int) -> Array:
        fresh = draw(*shape)
        return (fresh if given is None else np.asarray(given)).astype(dtype)

    return Call(
        (
            array(query, *of_query, L, E),
            array(key, *of_key, S, E),
            array(value, *of_key, S, E if Ev is None else Ev),
        ),
        options,
    )


def with_gradient(call: Call, seed: int = 1) -> Call:
    """Append the gradient of the output to a call made by `qkv`."""
    query, _, value = call.args
    gradient = drawn(seed)(*query.shape[:-1], value.shape[-1])
    return Call((*call.args, gradient.astype(query.dtype)), call.kwargs)


def mask(*rows: str) -> Array:
    """Build a boolean mask from rows of 1 and 0: ``mask("10", "11")``."""
    return np.array([[letter == "1" for letter in row] for row in rows])
