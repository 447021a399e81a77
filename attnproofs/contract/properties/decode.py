"""Properties of step-by-step decoding, ``f(queries, keys, values)``: all outputs, one per token."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from attnproofs.contract.case import Case, Violation
from attnproofs.contract.profile import Profile, load_profile
from attnproofs.contract.properties.sdpa import levels
from attnproofs.contract.property import EVERYTHING, Make, Probe, compare, declare
from attnproofs.contract.semantics import Expected, attention, unit_of
from attnproofs.contract.wire import Array, dtype_named


def _case(make: Make, queries: Array, keys: Array, values: Array, **more: Any) -> Case:
    dtype = dtype_named(make.dtype)
    return Case(
        {
            "queries": queries.astype(dtype),
            "keys": keys.astype(dtype),
            "values": values.astype(dtype),
        },
        **more,
    )


def _seen(make: Make, steps: int) -> Case:
    """Equal scores and the identity as values: the output is the matrix of weights."""
    return _case(make, np.ones((steps, 1)), np.ones((steps, 1)), np.eye(steps))


def _profile() -> Profile:
    return load_profile("strict")


def forward(args: dict[str, Any]) -> dict[str, Any]:
    """The full causal call that decoding must equal."""
    return {
        "query": args["queries"],
        "key": args["keys"],
        "value": args["values"],
        "is_causal": True,
    }


def expected_of(probe: Probe, args: dict[str, Any]) -> Expected:
    """The rows of the full causal forward pass."""
    return attention(forward(args), _profile(), unit_of(probe.dtype))


def agrees(probe: Probe, one: Case) -> Violation | None:
    """Decoding equals the full causal forward pass."""
    wanted = expected_of(probe, one.args)
    got = probe.outputs(one)[0]
    return compare(got, wanted.output, wanted.allowance, wanted.judged, parts=wanted.parts)


@declare("decode", "kv_cache", "The first token sees itself only: its output is its value.", agrees)
def first_step(make: Make) -> Iterator[Case]:
    for width, score in product((1, 2), (0.0, 1.0)):
        yield _case(make, np.full((1, 1), score), np.ones((1, 1)), np.ones((1, width)))


@declare(
    "decode",
    "kv_cache",
    "Step t sees exactly tokens 0 to t, each once, whatever the cache size.",
    agrees,
    about="steps",
)
def kept_set(make: Make) -> Iterator[Case]:
    for steps in make.borders():
        yield _seen(make, steps)


@declare(
    "decode",
    "softmax_positive",
    "A token whose key, query or score is zero is not forgotten.",
    agrees,
    about="steps zero",
)
def zero_tokens(make: Make) -> Iterator[Case]:
    for steps in (1, 2, 3, 5):
        eye = np.eye(steps)
        for place in range(steps):
            key = np.ones((steps, 1))
            key[place] = 0.0
            yield _case(make, np.zeros((steps, 1)), key, eye)
            yield _case(make, np.ones((steps, 1)), key, eye)
        yield _case(make, np.zeros((steps, 1)), np.zeros((steps, 1)), eye)
        yield _case(make, np.ones((steps, 2)), np.tile([1.0, -1.0], (steps, 1)), eye)
        value = eye.copy()
        value[0] = 0.0
        yield _case(make, np.ones((steps, 1)), np.ones((steps, 1)), value)


@declare(
    "decode",
    "kv_cache",
    "Decoding token by token equals the full causal forward pass.",
    agrees,
    about="steps scale zero",
)
def matches_forward(make: Make) -> Iterator[Case]:
    for a, b in product((0.0, 1.0), repeat=2):
        yield _case(make, np.ones((2, 1)), np.array([[a], [b]]), np.eye(2))
    for _ in range(make.examples):
        steps, e, width = make.size(1, 7), make.size(1, 4), make.size(1, 4)
        yield _case(
            make, make.lattice(steps, e), make.lattice(steps, e), make.lattice(steps, width)
        )


@declare(
    "decode",
    "qk_variance_scaled",
    "Scores are divided by the square root of the features.",
    agrees,
    about="steps scale zero",
)
def scale(make: Make) -> Iterator[Case]:
    for features in (1, 2, 3, 4, 8, 16):
        query, key = np.zeros((2, features)), np.zeros((2, features))
        query[:, 0], key[1, 0] = 1.0, np.ceil(np.sqrt(features))
        yield _case(make, query, key, np.eye(2))


@declare(
    "decode", "softmax_shift", "Decoding works at any level of scores.", agrees, about="steps level"
)
def any_level(make: Make) -> Iterator[Case]:
    for steps, level in product((1, 2, 5, 9), levels(make)):
        key = np.full((steps, 1), level)
        yield _case(make, np.ones((steps, 1)), key, np.ones((steps, 1)))
        yield _case(make, np.ones((steps, 1)), key, np.eye(steps))


@declare(
    "decode",
    "causal_no_future",
    "A later token changes no earlier output, NaN included.",
    agrees,
    about="steps nan",
)
def later_tokens(make: Make) -> Iterator[Case]:
    for steps, poison, name in product((2, 3, 5), (np.nan, np.inf, 1e6), ("keys", "values")):
        if poison == 1e6 and make.dtype == "float16":
            continue
        one = _seen(make, steps)
        late = one.array(name).copy()
        late[-1] = poison
        yield one.with_args(**{name: late})


@declare("decode", "shapes", "No tokens give an empty result.", agrees, about="lengths")
def zero_lengths(make: Make) -> Iterator[Case]:
    yield _case(make, np.ones((0, 1)), np.ones((0, 1)), np.ones((0, 1)))
    yield _case(make, np.ones((0, 2)), np.ones((0, 2)), np.ones((0, 3)))


@declare(
    "decode",
    "transpose_product",
    "The result does not depend on the memory layout.",
    agrees,
    about="steps layout scale zero",
)
def memory_layout(make: Make) -> Iterator[Case]:
    for name, layout in product(
        ("values", "keys", "queries"), ("transposed", "strided", "reversed", "guarded", "readonly")
    ):
        rows = np.arange(6.0).reshape(3, 2)
        one = _case(make, rows % 2, rows % 3, rows)
        yield Case(one.args, layouts={name: layout})


def exactly_within(probe: Probe, one: Case) -> Violation | None:
    """Each output against the derived allowance."""
    from attnproofs.contract.properties.accuracy import judged_output

    return judged_output(probe, one, probe.outputs(one)[0], forward(one.args))


@declare(
    "decode",
    "attention_error",
    "Each output is as close as its arithmetic guarantees.",
    exactly_within,
    about=EVERYTHING,
    accuracy=True,
)
def accuracy(make: Make) -> Iterator[Case]:
    for _ in range(make.examples):
        steps, e = make.size(1, 17), make.pick(1, 2, 4, 8)
        sharp = make.pick(1.0, 4.0)
        yield _case(
            make, make.normal(steps, e) * sharp, make.normal(steps, e), make.normal(steps, 2)
        )
