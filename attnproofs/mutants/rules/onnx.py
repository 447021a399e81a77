"""ONNX's rule: the backend node tests of Attention and Softmax, rtol 1e-3 and atol 1e-7.

Restated from onnx/backend/test/case/node (attention.py, softmax.py) and the backend test runner:
fixed cases, inputs uniform on [0, 1), sizes at most 10, one tolerance for every dtype. Kept: shapes
of the four-axis cases, scale 0.01, softcap 2, the five kinds of mask (both boolean ones are all
True there, as uniform numbers cast to bool), float16. Left out: the three-axis cases, which differ
in layout alone, the cases with a cache, and the debugging outputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from attnproofs.mutants.registry import Call
from attnproofs.mutants.rules.rule import Case, Rule, case, within

_compare = within(1e-3, 1e-7)
# name -> (query heads, value width)
_SHAPES = {"4d": (3, 8), "4d_gqa": (9, 8), "4d_diff_heads_sizes": (3, 10)}


def _call(seed: int, heads: int, value_width: int, dtype: str = "float32", **options: Any) -> Call:
    draw = np.random.default_rng(seed)
    shapes = ((2, heads, 4, 8), (2, 3, 6, 8), (2, 3, 6, value_width))
    arrays = tuple(draw.random(shape).astype(dtype) for shape in shapes)
    drawn = {
        name: draw.random(x).astype(np.float32) if isinstance(x, tuple) else x
        for name, x in options.items()
    }
    return Call(arrays, drawn)


# what is appended to a case's name -> options; a tuple stands for a drawn array of that shape
_FOR_EACH_SHAPE: dict[str, dict[str, Any]] = {
    "": {},
    "_scaled": {"scale": 1e-2},
    "_causal": {"is_causal": True},
    "_attn_mask": {"attn_mask": (4, 6)},
}
_FOR_PLAIN_HEADS: dict[str, dict[str, Any]] = {
    "_attn_mask_3d": {"attn_mask": (2, 1, 4, 6)},
    "_attn_mask_3d_causal": {"attn_mask": (2, 1, 4, 6), "is_causal": True},
    "_attn_mask_4d": {"attn_mask": (2, 3, 4, 6)},
    "_attn_mask_4d_causal": {"attn_mask": (2, 3, 4, 6), "is_causal": True},
    "_attn_mask_bool": {"attn_mask": np.ones((4, 6), dtype=bool)},
    "_attn_mask_bool_4d": {"attn_mask": np.ones((2, 3, 4, 6), dtype=bool)},
    "_fp16": {"dtype": "float16"},
}


def _sdpa() -> Iterator[Case]:
    named = [
        (f"{name}{suffix}", shape, options)
        for name, shape in _SHAPES.items()
        for suffix, options in _FOR_EACH_SHAPE.items()
    ]
    named += [(f"4d{suffix}", _SHAPES["4d"], kind) for suffix, kind in _FOR_PLAIN_HEADS.items()]
    for seed, (name, (heads, width), options) in enumerate(named):
        call = _call(seed, heads, width, **options)
        yield case("sdpa", f"test_attention_{name}", call, _compare)


def _softcap() -> Iterator[Case]:
    for seed, (name, (heads, width)) in enumerate(_SHAPES.items(), start=50):
        call = _call(seed, heads, width, softcap=2.0)
        yield case("softcap", f"test_attention_{name}_softcap", call, _compare)


def _softmax() -> Iterator[Case]:
    rows = np.array([[0.0, 1, 2, 3], [10000, 10001, 10002, 10003]], dtype=np.float32)
    yield case("softmax", "test_softmax_example", Call((rows[:1] - 1,)), _compare)
    yield case("softmax", "test_softmax_large_number", Call((rows,)), _compare)
    x = np.abs(np.random.default_rng(60).standard_normal((3, 4, 5))).astype(np.float32)
    for axis in (0, 1, 2, -1):
        yield case("softmax", f"test_softmax_axis_{axis}", Call((x,), {"axis": axis}), _compare)


RULE = Rule(
    name="onnx",
    title="fixed cases of uniform [0, 1) inputs, sizes at most 10, rtol 1e-3 and atol 1e-7 (ONNX)",
    cases={"sdpa": _sdpa, "softcap": _softcap, "softmax": _softmax},
)
