"""``jax-dpa``: ``jax.nn.dot_product_attention`` on its XLA path, jitted.

Grouped heads need no flag, so ``enable_gqa`` is taken and changes nothing. A boolean mask goes to
``mask``, an additive one to ``bias``. Axes are (batch, length, heads, features). float16 works, but
is not claimed: XLA refuses it inside jit on CPU, and op by op each new shape takes a second.
"""

import functools

import jax

from attnproofs.adapters.arrays import wrap
from attnproofs.adapters.base import Adapter


def compiled(*static):
    """Jit a function; run eagerly what XLA refuses inside jit on CPU (float16, 1x1 products)."""

    def decorate(function):
        jitted = jax.jit(function, static_argnames=static)

        @functools.wraps(function)
        def run(*args, **options):
            try:
                return jitted(*args, **options)
            except (jax.errors.JaxRuntimeError, ValueError):
                return function(*args, **options)

        return run

    return decorate


def call(query, key, value, attn_mask, **options):
    """The call; the mask is given all four axes, as it must have."""
    if query.shape[-1] != value.shape[-1]:
        raise NotImplementedError("jax: values must be as wide as keys")
    mask = bias = None
    if attn_mask is not None:
        full = attn_mask.reshape((1,) * (query.ndim - attn_mask.ndim) + attn_mask.shape)
        mask, bias = (full, None) if full.dtype == bool else (None, full)
    return jax.nn.dot_product_attention(query, key, value, bias, mask, **options)


@compiled("is_causal", "scale", "enable_gqa", "window")
def sdpa(query, key, value, *, attn_mask=None, is_causal=False, scale=None, enable_gqa=False,
         window=None):  # fmt: skip
    """The output alone."""
    options = {"is_causal": is_causal, "scale": scale, "local_window_size": window}
    return call(query, key, value, attn_mask, **options)


@compiled("is_causal", "scale", "enable_gqa", "window")
def lse(query, key, value, *, attn_mask=None, is_causal=False, scale=None, enable_gqa=False,
        window=None):  # fmt: skip
    """The output and the residual, whose axes are put in the order (batch, heads, length)."""
    options = {"is_causal": is_causal, "scale": scale, "local_window_size": window}
    out, residual = call(query, key, value, attn_mask, return_residual=True, **options)
    return out, residual.swapaxes(-1, -2)


@compiled("is_causal")
def grad(query, key, value, grad_out, *, is_causal=False):
    """Gradients by ``jax.vjp``."""
    return jax.vjp(lambda *x: sdpa(*x, is_causal=is_causal), query, key, value)[1](grad_out)


ADAPTER = Adapter(
    name="jax-dpa",
    calls="jax.nn.dot_product_attention",
    profile="jax",
    functions={level.__name__: wrap(level, "jax") for level in (sdpa, lse, grad)},
    dtypes=("float64", "float32", "bfloat16"),
    packages=("jax", "jaxlib"),
)
