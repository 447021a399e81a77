"""``mlx-sdpa``: ``mlx.core.fast.scaled_dot_product_attention`` on the CPU.

The scale has no default there, so a call without one fails here too. One argument holds the mask or
the word ``causal``; both together cannot be said.
"""

import mlx.core as mx

from attnproofs.adapters.arrays import wrap
from attnproofs.adapters.base import Adapter


def sdpa(query, key, value, *, attn_mask=None, is_causal=False, scale=None, enable_gqa=False):
    """The call as it is; grouped heads need no flag."""
    if is_causal and attn_mask is not None:
        raise ValueError("mlx takes a mask or 'causal', not both")
    mask = "causal" if is_causal else attn_mask
    return mx.fast.scaled_dot_product_attention(query, key, value, scale=scale, mask=mask)


ADAPTER = Adapter(
    name="mlx-sdpa",
    calls="mlx.core.fast.scaled_dot_product_attention",
    profile="mlx",
    functions={"sdpa": wrap(sdpa, "mlx")},
    dtypes=("float32", "float16", "bfloat16"),
    packages=("mlx",),
)
