"""``onnx-reference`` and ``onnx-reference-23``: the operator Attention in ``onnx.reference``.

Opset 24 and opset 23. Grouped heads need no flag. The weights are the operator's debug output in
mode 3. ``softcap`` is an attribute; 0 there means none.
"""

import functools

from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from attnproofs.adapters.base import Adapter

FORMATS = {"float64": "DOUBLE", "float32": "FLOAT", "float16": "FLOAT16", "bool": "BOOL"}


@functools.lru_cache(256)
def model(opset, kinds, ranks, weights, attributes):
    """A model of one Attention node for inputs of these formats and numbers of axes."""
    names = ["query", "key", "value", "mask"][: len(kinds)]
    inputs = [
        helper.make_tensor_value_info(name, getattr(TensorProto, FORMATS[kind]), [None] * rank)
        for name, kind, rank in zip(names, kinds, ranks)
    ]
    kind = getattr(TensorProto, FORMATS[kinds[0]])
    outputs = [helper.make_tensor_value_info("output", kind, [None] * ranks[0])]
    if weights:
        outputs.append(helper.make_tensor_value_info("weights", kind, [None] * 4))
    node = helper.make_node(
        "Attention",
        names,
        ["output", "", "", "weights"] if weights else ["output"],
        **dict(attributes),
        **({"qk_matmul_output_mode": 3} if weights else {}),
    )
    graph = helper.make_graph([node], "attention", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def make(opset, session):
    """The levels at `opset`; `session` turns a model into something with ``run``."""
    prepare = functools.lru_cache(256)(lambda *key: session(model(opset, *key)))

    def run(arrays, weights, **attributes):
        arrays = [a for a in arrays if a is not None]
        given = tuple(sorted((k, v) for k, v in attributes.items() if v is not None))
        key = (tuple(str(a.dtype) for a in arrays), tuple(a.ndim for a in arrays), weights, given)
        return prepare(*key).run(None, dict(zip(["query", "key", "value", "mask"], arrays)))

    def sdpa(query, key, value, *, attn_mask=None, is_causal=False, scale=None, enable_gqa=False,
             softcap=None):  # fmt: skip
        options = {"is_causal": int(is_causal), "scale": scale, "softcap": softcap}
        return run((query, key, value, attn_mask), False, **options)[0]

    def weights(query, key, value, *, attn_mask=None, is_causal=False, scale=None,
                enable_gqa=False, softcap=None):  # fmt: skip
        options = {"is_causal": int(is_causal), "scale": scale, "softcap": softcap}
        return tuple(run((query, key, value, attn_mask), True, **options))

    return {"sdpa": sdpa, "weights": weights}


def adapter(name, runs, profile, functions, packages):
    """One way to run the operator, as an adapter."""
    dtypes = ("float64", "float32", "float16")
    return Adapter(name, f"operator Attention in {runs}", profile, functions, dtypes, packages)


ADAPTER = adapter(
    "onnx-reference", "onnx.reference, opset 24", "onnx-24", make(24, ReferenceEvaluator), ("onnx",)
)
OPSET_23 = adapter(
    "onnx-reference-23",
    "onnx.reference, opset 23",
    "onnx-23",
    make(23, ReferenceEvaluator),
    ("onnx",),
)
