"""``flax-dpa`` and ``flax-nnx-dpa``: ``dot_product_attention`` of ``flax.linen`` and ``flax.nnx``.

Neither takes a scale; linen takes no ``is_causal`` and no grouped heads. A boolean mask goes to
``mask``, an additive one to ``bias``. Axes are (batch, length, heads, features).
"""

import jax
from flax import linen, nnx

from attnproofs.adapters.arrays import wrap
from attnproofs.adapters.base import Adapter
from attnproofs.adapters.frameworks.jax_dpa import compiled


def masks(attn_mask):
    """The mask as the library's keywords."""
    if attn_mask is None:
        return {}
    return {"mask" if attn_mask.dtype == bool else "bias": attn_mask}


@compiled()
def linen_sdpa(query, key, value, *, attn_mask=None):
    """``flax.linen.dot_product_attention``."""
    return linen.dot_product_attention(query, key, value, **masks(attn_mask))


@compiled("is_causal", "enable_gqa")
def nnx_sdpa(query, key, value, *, attn_mask=None, is_causal=False, enable_gqa=False):
    """``flax.nnx.dot_product_attention``."""
    if query.shape[-1] != value.shape[-1]:
        raise NotImplementedError("jax, which it calls: values must be as wide as keys")
    return nnx.dot_product_attention(query, key, value, is_causal=is_causal, **masks(attn_mask))


@compiled()
def linen_grad(query, key, value, grad_out):
    """Gradients of the linen function by ``jax.vjp``."""
    return jax.vjp(linen_sdpa, query, key, value)[1](grad_out)


@compiled("is_causal")
def nnx_grad(query, key, value, grad_out, *, is_causal=False):
    """Gradients of the nnx function by ``jax.vjp``."""
    _, pullback = jax.vjp(lambda *x: nnx_sdpa(*x, is_causal=is_causal), query, key, value)
    return pullback(grad_out)


ADAPTER = Adapter(
    name="flax-dpa",
    calls="flax.linen.dot_product_attention",
    profile="flax",
    functions={"sdpa": wrap(linen_sdpa, "jax"), "grad": wrap(linen_grad, "jax")},
    dtypes=("float64", "float32", "float16", "bfloat16"),
    packages=("flax", "jax", "jaxlib"),
)

NNX = Adapter(
    name="flax-nnx-dpa",
    calls="flax.nnx.dot_product_attention",
    profile="flax-nnx",
    functions={"sdpa": wrap(nnx_sdpa, "jax"), "grad": wrap(nnx_grad, "jax")},
    dtypes=("float64", "float32", "bfloat16"),  # float16: see jax_dpa
    packages=("flax", "jax", "jaxlib"),
)
