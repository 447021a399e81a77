"""KernelBench's rule: five draws, uniform on [0, 1), one shape a task, ``torch.allclose`` at 1e-4.

Restated from the evaluation code and three tasks of ScalingIntelligence/KernelBench: level 1 task
97 (scaled dot-product attention, no mask), level 1 task 23 (softmax) and level 3 task 43 (causal
self-attention of minGPT, with default linear initialisation). Kept: distribution, number of draws,
dtype float32, tolerances 1e-4, the absence of masks. Changed: sizes are smaller (the shipped ones
take gigabytes), and the model's own dropout and output dropout, zero in evaluation, are left out.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from attnproofs.mutants.correct import Array
from attnproofs.mutants.registry import Call
from attnproofs.mutants.rules.rule import Case, Rule, case, within

DRAWS = 5
_compare = within(1e-4, 1e-4)


def _uniform(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).random(shape, dtype=np.float32)


def _sdpa() -> Iterator[Case]:
    for n in range(DRAWS):
        arrays = tuple(_uniform(10 * n + m, 1, 2, 64, 64) for m in range(3))
        yield case("sdpa", f"task 1/97, draw {n}", Call(arrays), _compare)


def _softmax() -> Iterator[Case]:
    for n in range(DRAWS):
        yield case("softmax", f"task 1/23, draw {n}", Call((_uniform(n, 16, 2048),)), _compare)


def _mha() -> Iterator[Case]:
    width, heads, tokens = 96, 8, 64
    for n in range(DRAWS):
        draw = np.random.default_rng(100 + n)
        limit = width**-0.5

        def linear(*shape: int, draw: np.random.Generator = draw, limit: float = limit) -> Array:
            return draw.uniform(-limit, limit, shape).astype(np.float32)

        x = draw.random((tokens, width), dtype=np.float32)
        options = {name: linear(width) for name in ("b_Q", "b_K", "b_V", "b_O")}
        call = Call(
            (x, x, *(linear(width, width) for _ in range(4))),
            {"num_heads": heads, "is_causal": True, **options},
        )
        yield case("mha", f"task 3/43, draw {n}", call, _compare)


RULE = Rule(
    name="kernelbench",
    title="five uniform [0, 1) draws of one shape, float32, no mask, 1e-4 (KernelBench)",
    cases={"sdpa": _sdpa, "softmax": _softmax, "mha": _mha},
)
