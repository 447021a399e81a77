"""``torch-sdpa`` and ``torch-sdpa-math``: ``torch.nn.functional.scaled_dot_product_attention``.

The first lets torch choose (on CPU a fused kernel where it can), the second forces the math path.
Dropout is not claimed. Weights and LSE are not public in torch, so those levels are not claimed.
"""

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from attnproofs.adapters.arrays import wrap
from attnproofs.adapters.base import Adapter


def sdpa(query, key, value, *, attn_mask=None, is_causal=False, scale=None, enable_gqa=False):
    """The call as it is."""
    return scaled_dot_product_attention(
        query, key, value, attn_mask, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa
    )


def sdpa_math(query, key, value, *, attn_mask=None, is_causal=False, scale=None, enable_gqa=False):
    """The call on the math path."""
    with sdpa_kernel(SDPBackend.MATH):
        return scaled_dot_product_attention(
            query, key, value, attn_mask, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa
        )


def gradient(forward):
    """Gradients by autograd through `forward`."""

    def grad(query, key, value, grad_out, *, is_causal=False):
        inputs = [x.clone().requires_grad_() for x in (query, key, value)]
        return torch.autograd.grad(forward(*inputs, is_causal=is_causal), inputs, grad_out)

    return grad


DTYPES = ("float64", "float32", "float16", "bfloat16")

ADAPTER = Adapter(
    name="torch-sdpa",
    calls="torch.nn.functional.scaled_dot_product_attention",
    profile="torch-sdpa",
    functions={
        "sdpa": wrap(sdpa, "torch"),
        "grad": wrap(gradient(sdpa), "torch"),
    },
    dtypes=DTYPES,
    packages=("torch",),
)

MATH = Adapter(
    name="torch-sdpa-math",
    calls="scaled_dot_product_attention under sdpa_kernel(SDPBackend.MATH)",
    profile="torch-sdpa-math",
    functions={"sdpa": wrap(sdpa_math, "torch"), "grad": wrap(gradient(sdpa_math), "torch")},
    dtypes=DTYPES,
    packages=("torch",),
)
