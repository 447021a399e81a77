"""Properties of the gradients, ``f(query, key, value, grad_out, *, is_causal) -> (dq, dk, dv)``."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from attnproofs.contract.case import Case, Violation
from attnproofs.contract.properties.sdpa import levels
from attnproofs.contract.property import EVERYTHING, Judge, Make, Probe, compare, declare, real
from attnproofs.contract.semantics import gradients, unit_of
from attnproofs.contract.wire import Array, dtype_named

_NAMES = ("dq", "dk", "dv")


def _case(
    make: Make, query: Array, key: Array, value: Array, above: Array, **keywords: Any
) -> Case:
    dtype = dtype_named(make.dtype)
    lift = (1,) * (make.rank - query.ndim)
    arrays = {"query": query, "key": key, "value": value, "grad_out": above}
    args: dict[str, Any] = {
        n: np.asarray(a, float).reshape(lift + np.shape(a)).astype(dtype) for n, a in arrays.items()
    }
    if keywords.get("is_causal"):
        args["is_causal"] = True
    return Case(args)


def _judged(*which: int) -> Judge:
    """A judgement of some of the three gradients."""

    def judgement(probe: Probe, one: Case) -> Violation | None:
        wanted = gradients(one.args, probe.profile, unit_of(probe.dtype))
        got = probe.outputs(one)
        for number in which:
            found = compare(
                got[number],
                wanted.values[number],
                wanted.allowances[number],
                output=number,
                what=_NAMES[number],
            )
            if found is not None:
                return found
        return None

    return judgement


agrees = _judged(0, 1, 2)


def _square(one: Case) -> bool:
    return bool(one.array("query").shape[-2] == one.array("key").shape[-2])


def right_shapes(probe: Probe, one: Case) -> Violation | None:
    """Each gradient has the shape of its argument."""
    for number, (name, got) in enumerate(zip(("query", "key", "value"), probe.outputs(one))):
        wanted = one.array(name).astype(float)
        slack = np.full(wanted.shape, np.inf)
        found = compare(got, wanted, slack, judged=False, output=number, what=_NAMES[number])
        if found is not None:
            return found
    return None


@declare(
    "grad",
    "shapes",
    "dq, dk, dv have the shapes of query, key and value.",
    right_shapes,
    about="shapes",
)
def result_shape(make: Make) -> Iterator[Case]:
    for queries, keys, e, width in ((1, 1, 1, 1), (2, 3, 4, 5), (3, 2, 1, 2)):
        yield _case(
            make,
            np.zeros((queries, e)),
            np.zeros((keys, e)),
            np.ones((keys, width)),
            np.ones((queries, width)),
        )


@declare(
    "grad",
    "grad_values",
    "dV = Aᵀ dO: equal scores share the gradient equally.",
    _judged(2),
    about="dv",
)
def value_gradient(make: Make) -> Iterator[Case]:
    for queries, keys in ((1, 1), (1, 2), (2, 2), (2, 3)):
        yield _case(
            make,
            np.ones((queries, 1)),
            np.ones((keys, 1)),
            np.ones((keys, 1)),
            np.ones((queries, 1)),
        )
    for keys in make.borders():
        yield _case(make, np.ones((1, 1)), np.ones((keys, 1)), np.ones((keys, 1)), np.ones((1, 1)))


@declare(
    "grad",
    "grad_values",
    "All columns of dV are there, also where Ev differs from E.",
    _judged(2),
    about="dv widths",
)
def value_columns(make: Make) -> Iterator[Case]:
    for e, width in product((1, 2, 3, 4, 8), (1, 2, 3, 4, 5)):
        yield _case(
            make, np.ones((1, e)), np.zeros((1, e)), np.zeros((1, width)), np.ones((1, width))
        )


@declare(
    "grad",
    "grad_scores",
    "Values that are all alike give no gradient to queries and keys.",
    _judged(0, 1),
    about="dq dk",
)
def constant_values(make: Make) -> Iterator[Case]:
    for a, b in product((0.0, 1.0), repeat=2):
        yield _case(make, np.ones((1, 1)), np.array([[a], [b]]), np.ones((2, 1)), np.ones((1, 1)))
    for _ in range(make.examples // 4):
        keys = make.size(1, 4)
        yield _case(
            make, make.lattice(2, 2), make.lattice(keys, 2), np.ones((keys, 1)), make.lattice(2, 1)
        )


@declare(
    "grad",
    "grad_queries_keys",
    "dQ = τ dS K and dK = τ dSᵀ Q with dS = A (dA - Δ).",
    _judged(0, 1),
    about="dq dk",
)
def query_and_key_gradients(make: Make) -> Iterator[Case]:
    for e in (1, 2, 4, 3):
        query, key = np.zeros((1, e)), np.zeros((2, e))
        query[0, 0] = key[1, 0] = 1.0
        yield _case(make, query, key, np.array([[0.0], [1.0]]), np.ones((1, 1)))
    for _ in range(make.examples):
        queries, keys, e = make.size(1, 3), make.size(1, 4), make.size(1, 3)
        if keys != queries:
            yield _case(
                make,
                make.lattice(queries, e),
                make.lattice(keys, e),
                make.lattice(keys, e),
                make.lattice(queries, e),
            )


@declare(
    "grad",
    "grad_weights",
    "All columns of the values enter dA, also where Ev differs from E.",
    _judged(0, 1),
    about="dq dk scale scores widths",
)
def value_width(make: Make) -> Iterator[Case]:
    for e, width in ((1, 2), (2, 1), (1, 3), (2, 3), (3, 2), (4, 3), (2, 5)):
        value = np.zeros((2, width))
        value[1, -1] = 1.0
        query, key = np.ones((1, e)), np.zeros((2, e))
        key[1] = 1.0
        yield _case(make, query, key, value, np.ones((1, width)))
    for _ in range(make.examples // 2):
        queries, keys, e, width = (make.size(1, 4) for _ in range(4))
        yield _case(
            make,
            make.lattice(queries, e),
            make.lattice(keys, e),
            make.lattice(keys, width),
            make.lattice(queries, width),
        )


@declare(
    "grad",
    "softmax_shift",
    "Gradients are finite and right at any level of scores.",
    agrees,
    about="dq dk dv level",
)
def any_level(make: Make) -> Iterator[Case]:
    for keys, level in product((1, 2, 3, 5), levels(make)):
        if make.dtype == "float16" and abs(level) > 10:
            continue
        value = np.zeros((keys, 1))
        value[-1] = 1.0
        yield _case(make, np.ones((1, 1)), np.full((keys, 1), level), value, np.ones((1, 1)))


@declare(
    "grad",
    "grad_vanishes",
    "At saturation the gradients of queries and keys vanish.",
    agrees,
    about="dq dk dv level scores",
)
def saturation(make: Make) -> Iterator[Case]:
    for level in levels(make):
        if abs(level) <= (10 if make.dtype == "float16" else 1e4):
            yield _case(
                make,
                np.ones((1, 1)),
                np.array([[0.0], [level]]),
                np.array([[0.0], [1.0]]),
                np.ones((1, 1)),
            )


@declare(
    "grad",
    "grad_queries_keys",
    "Samples and heads get their own gradients.",
    agrees,
    about="dq dk dv scale scores heads",
)
def heads_and_batch(make: Make) -> Iterator[Case]:
    for batch, heads, queries, keys in (
        (1, 2, 1, 1),
        (2, 1, 1, 1),
        (1, 2, 1, 3),
        (2, 2, 1, 3),
        (2, 3, 2, 4),
    ):
        yield _heads(make, batch, (heads, heads), queries, keys)


def _heads(make: Make, batch: int, heads: tuple[int, int], queries: int, keys: int) -> Case:
    hq, hkv = heads
    shapes = (
        (batch, hq, queries, 2),
        (batch, hkv, keys, 2),
        (batch, hkv, keys, 2),
        (batch, hq, queries, 2),
    )
    arrays = [make.lattice(*s) for s in shapes]
    if batch == 1 and make.rank < 4:
        arrays = [a[0] for a in arrays]
    return _case(make, *arrays)


@declare(
    "grad",
    "transpose_product",
    "Gradients are right also where heads, lengths and widths agree.",
    agrees,
    about="dq dk dv scale scores heads square",
)
def coinciding_sizes(make: Make) -> Iterator[Case]:
    for _ in range(max(2, make.examples // 8)):
        for n in (1, 2, 3):
            yield _heads(make, 1, (n, n), n, n)
            arrays = [make.lattice(n, n) for _ in range(4)]
            yield _case(make, *arrays)


@declare(
    "grad",
    "gqa_tied",
    "Gradients of a shared key head add up over its query heads.",
    agrees,
    about="dq dk dv scale scores heads groups",
    needs="groups",
)
def grouped_heads(make: Make) -> Iterator[Case]:
    for hq, hkv, batch in ((2, 1, 1), (4, 2, 1), (6, 2, 1), (6, 3, 2), (10, 2, 1)):
        yield _heads(make, batch, (hq, hkv), 1, 1)
        yield _heads(make, batch, (hq, hkv), 2, 3)


@declare(
    "grad",
    "grad_masked",
    "A pair that the causal mask hides passes no gradient.",
    agrees,
    about="dq dk dv causal",
    needs="is_causal",
    domain=_square,
)
def causal(make: Make) -> Iterator[Case]:
    if make.profile.causal_alignment == "none":
        return
    for n in (1, 2, 3, 5, 9):
        yield _case(
            make, np.ones((n, 1)), np.ones((n, 1)), np.ones((n, 1)), np.ones((n, 1)), is_causal=True
        )
        yield _case(
            make,
            np.ones((n, 1)),
            np.ones((n, 1)),
            np.arange(float(n))[:, None],
            np.ones((n, 1)),
            is_causal=True,
        )


@declare(
    "grad",
    "grad_masked",
    "For L ≠ S the backward pass aligns the causal mask as the forward.",
    agrees,
    about="dq dk dv causal rectangular",
    needs="is_causal",
    domain=lambda one: not _square(one),
)
def causal_alignment(make: Make) -> Iterator[Case]:
    if make.profile.causal_alignment == "none":
        return
    for queries, keys in ((1, 2), (2, 1), (2, 3), (3, 2), (1, 5), (5, 9)):
        yield _case(
            make,
            np.ones((queries, 1)),
            np.ones((keys, 1)),
            np.ones((keys, 1)),
            np.ones((queries, 1)),
            is_causal=True,
        )


@declare(
    "grad",
    "grad_masked",
    "NaN in a key or value that no query sees reaches no other gradient.",
    agrees,
    about="dq dk dv causal rectangular nan",
    needs="is_causal",
)
def hidden_nan(make: Make) -> Iterator[Case]:
    if make.profile.causal_alignment != "top-left":
        return
    if make.profile.masked_value_causal != "blocked" or make.profile.masked_key_causal != "blocked":
        return
    for name, (queries, keys) in product(("key", "value"), ((1, 2), (2, 4))):
        rows = {"key": np.ones((keys, 1)), "value": np.ones((keys, 1))}
        rows[name][-1] = np.nan
        yield _case(
            make,
            np.ones((queries, 1)),
            rows["key"],
            rows["value"],
            np.ones((queries, 1)),
            is_causal=True,
        )


@declare(
    "grad",
    "empty_row",
    "No keys or no queries give zero or empty gradients.",
    agrees,
    about="dq dk dv lengths",
)
def zero_lengths(make: Make) -> Iterator[Case]:
    for queries, keys in ((1, 0), (0, 1), (0, 0)):
        yield _case(
            make,
            np.ones((queries, 1)),
            np.ones((keys, 1)),
            np.ones((keys, 1)),
            np.ones((queries, 1)),
        )


@declare(
    "grad",
    "grad_queries_keys",
    "The gradients do not depend on the memory layout.",
    agrees,
    about="dq dk dv scale scores layout",
)
def memory_layout(make: Make) -> Iterator[Case]:
    for name, layout in product(
        ("grad_out", "value", "key", "query"),
        ("transposed", "strided", "reversed", "guarded", "readonly"),
    ):
        one = _case(make, *(np.arange(6.0).reshape(3, 2) % n for n in (2, 3, 4, 5)))
        yield Case(one.args, layouts={name: layout})


def exactly_within(probe: Probe, one: Case) -> Violation | None:
    """Each gradient against the allowance proved for the arithmetic."""
    from attnproofs.contract.properties.accuracy import told
    from attnproofs.reference.bounds import judge_gradients

    got = probe.outputs(one)
    for name, array, wanted in zip(_NAMES, got, ("query", "key", "value")):
        if array.shape != one.array(wanted).shape:
            return Violation("shape", f"{name} has shape {array.shape}, {wanted} another")
    query, key, value, above = (one.array(n) for n in ("query", "key", "value", "grad_out"))
    numbers = dict(zip(_NAMES, map(real, got)))
    judged = judge_gradients(query, key, value, above, numbers, model=probe.precision())
    for number, name in enumerate(_NAMES):
        found = told(probe, one, getattr(judged, name), what=name, number=number)
        if found is not None:
            return found
    return None


@declare(
    "grad",
    "grad_queries_keys",
    "Each gradient is as close as its arithmetic guarantees.",
    exactly_within,
    about=EVERYTHING,
    accuracy=True,
)
def accuracy(make: Make) -> Iterator[Case]:
    for _ in range(make.examples):
        queries, keys, e, width = (
            make.size(1, 4),
            make.size(1, 17),
            make.size(1, 8),
            make.size(1, 4),
        )
        sharp, offset = make.pick(1.0, 3.0), make.pick(0.0, 0.0, 30.0)
        yield _case(
            make,
            make.normal(queries, e) * sharp,
            make.normal(keys, e),
            make.normal(keys, width) + offset,
            make.normal(queries, width),
        )
