"""PyTorch's rule: OpInfo samples, uniform on [-9, 9), ``torch.testing.assert_close`` defaults.

Restated from torch/testing: samples of scaled_dot_product_attention (batch 4, 3 queries, 6 keys, 4
heads, width 8; with and without a head axis, plain and causal, one additive mask) and of softmax,
each also as a non-contiguous view; dtype compared; tolerances of `assert_close` by dtype. The
gradients are held to what `gradcheck` allows, atol 1e-5 and rtol 1e-3 in float64. There is no
boolean mask and no grouped head in those samples. Left out: samples with dropout and those whose
query and key have different batch shapes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from attnproofs.mutants.correct import Array
from attnproofs.mutants.registry import Call
from attnproofs.mutants.rules.rule import Case, Comparison, Rule, case, spread, within

# dtype -> (rtol, atol)
_DEFAULTS = {"float16": (1e-3, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7)}


def _close(dtype: str) -> Comparison:
    return within(*_DEFAULTS[dtype], same_dtype=True)


def _draw(seed: int, dtype: str, *shapes: tuple[int, ...]) -> tuple[Array, ...]:
    source = np.random.default_rng(seed)
    return tuple(source.uniform(-9, 9, shape).astype(dtype) for shape in shapes)


def _twice(level: str, name: str, call: Call, dtype: str) -> Iterator[Case]:
    yield case(level, name, call, _close(dtype))
    apart = Call(tuple(spread(x) for x in call.args), call.kwargs)
    yield case(level, f"{name}, not contiguous", apart, _close(dtype))


def _sdpa() -> Iterator[Case]:
    seed = 0
    for dtype in ("float32", "float64"):
        for axes in ((4,), (4, 4)):
            shapes = ((*axes, 3, 8), (*axes, 6, 8), (*axes, 6, 8))
            options: list[tuple[str, dict[str, Any]]] = [
                ("plain", {}),
                ("causal", {"is_causal": True}),
            ]
            if len(axes) == 2:
                options.append(("additive mask", {"attn_mask": (3, 6)}))
            for name, kwargs in options:
                seed += 1
                if "attn_mask" in kwargs:
                    kwargs = {"attn_mask": _draw(99, dtype, kwargs["attn_mask"])[0]}
                call = Call(_draw(seed, dtype, *shapes), kwargs)
                yield from _twice("sdpa", f"{dtype}, {len(shapes[0])} axes, {name}", call, dtype)


def _softmax() -> Iterator[Case]:
    for n, (shape, axis) in enumerate([((5,), 0), ((5, 5), 1), ((5, 5), 0), ((5, 5, 5), -1)]):
        for dtype in ("float32", "float64"):
            call = Call(_draw(200 + n, dtype, shape), {"axis": axis})
            yield from _twice("softmax", f"{dtype}, shape {shape}, axis {axis}", call, dtype)


def _grad() -> Iterator[Case]:
    for n, axes in enumerate([(4,), (4, 4)]):
        for is_causal in (False, True):
            shapes = ((*axes, 3, 8), (*axes, 6, 8), (*axes, 6, 8), (*axes, 3, 8))
            call = Call(_draw(300 + n, "float64", *shapes), {"is_causal": is_causal})
            name = f"gradcheck, {len(axes) + 2} axes, is_causal={is_causal}"
            yield case("grad", name, call, within(1e-3, 1e-5))


RULE = Rule(
    name="torch-testing",
    title="OpInfo samples uniform on [-9, 9), one additive mask, assert_close defaults (PyTorch)",
    cases={"sdpa": _sdpa, "softmax": _softmax, "grad": _grad},
)
