"""``numpy-reference``: plain NumPy; claims every level and keyword, under ``strict``."""

from attnproofs.adapters import numpy_attention as plain
from attnproofs.adapters.base import Adapter

ADAPTER = Adapter(
    name="numpy-reference",
    calls="attnproofs.adapters.numpy_attention",
    profile="strict",
    functions={
        "softmax": plain.softmax,
        "sdpa": plain.sdpa,
        "weights": plain.weights,
        "lse": plain.lse,
        "grad": plain.grad,
        "decode": plain.decode,
        "mha": plain.mha,
    },
    dtypes=("float64", "float32", "float16", "bfloat16"),
    packages=("numpy",),
)
