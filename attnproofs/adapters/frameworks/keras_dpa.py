"""``keras-dpa``: ``keras.ops.dot_product_attention`` on the backend of KERAS_BACKEND.

Boolean masks go to ``mask``, additive ones to ``bias``; grouped heads need no flag. Axes are
(batch, length, heads, features). Float64 is not claimed: Keras turns it into its default float.
"""

import os
from importlib.util import find_spec

import numpy as np

os.environ.setdefault("KERAS_BACKEND", next(filter(find_spec, ("torch", "jax", "numpy"))))
import keras  # after the line above: it reads its backend when it is imported

from attnproofs.adapters.arrays import KINDS, converters, wrap_with
from attnproofs.adapters.base import Adapter

__all__ = ["ADAPTER", "BACKEND", "keras"]


def dpa(query, key, value, *, attn_mask=None, is_causal=False, scale=None, enable_gqa=False):
    """The operation; a mask must have all four axes."""
    if BACKEND == "jax" and query.shape[-1] != value.shape[-1]:
        raise NotImplementedError("jax, which it calls: values must be as wide as keys")
    mask = bias = None
    if attn_mask is not None:
        full = attn_mask.reshape((1,) * (4 - attn_mask.ndim) + tuple(attn_mask.shape))
        boolean = keras.backend.standardize_dtype(full.dtype) == "bool"
        mask, bias = (full, None) if boolean else (None, full)
    return keras.ops.dot_product_attention(
        query, key, value, bias=bias, mask=mask, scale=scale, is_causal=is_causal
    )


BACKEND = keras.backend.backend()
to, back = converters(BACKEND) if BACKEND in KINDS else (keras.ops.convert_to_tensor, np.asarray)

ADAPTER = Adapter(
    name="keras-dpa",
    calls="keras.ops.dot_product_attention",
    profile="keras-torch" if BACKEND == "torch" else "keras",
    functions={"sdpa": wrap_with(dpa, to, back)},
    dtypes=("float32",),
    packages=("keras", BACKEND),
)
