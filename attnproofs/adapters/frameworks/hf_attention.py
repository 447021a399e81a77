"""``hf-eager`` and ``hf-sdpa``: the attention functions of Hugging Face transformers.

``hf-eager`` is the eager function of Gemma 2, the one with a soft-cap; ``hf-sdpa`` is the shared
``sdpa_attention_forward``. Both read the number of query heads per key head from the module that
they are given; a small stand-in carries it, and no model is loaded. Inputs have the axes
(batch, heads, length, features), outputs (batch, length, heads, features).
"""

from types import SimpleNamespace

from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.models.gemma2.modeling_gemma2 import eager_attention_forward

from attnproofs.adapters.arrays import wrap
from attnproofs.adapters.base import Adapter


def module(query, key):
    """What the functions read of an attention layer in evaluation mode."""
    groups = query.shape[1] // max(key.shape[1], 1)
    return SimpleNamespace(
        num_key_value_groups=groups, head_dim=query.shape[-1], training=False, is_causal=False
    )


def eager_weights(query, key, value, *, attn_mask=None, scale=None, enable_gqa=False, softcap=None):
    """Output and weights; ``is_causal`` is not claimed, since the function ignores it."""
    return eager_attention_forward(
        module(query, key), query, key, value, attn_mask, scaling=scale, softcap=softcap
    )


def eager(query, key, value, *, attn_mask=None, scale=None, enable_gqa=False, softcap=None):
    """The output alone."""
    return eager_attention_forward(
        module(query, key), query, key, value, attn_mask, scaling=scale, softcap=softcap
    )[0]


def sdpa(query, key, value, *, attn_mask=None, is_causal=False, scale=None, enable_gqa=False):
    """The function that calls torch."""
    return sdpa_attention_forward(
        module(query, key), query, key, value, attn_mask, scaling=scale, is_causal=is_causal
    )[0]


DTYPES = ("float64", "float32", "float16", "bfloat16")

ADAPTER = Adapter(
    name="hf-eager",
    calls="transformers.models.gemma2.modeling_gemma2.eager_attention_forward",
    profile="hf-eager",
    functions={"sdpa": wrap(eager, "torch"), "weights": wrap(eager_weights, "torch")},
    dtypes=DTYPES,
    packages=("transformers", "torch"),
)

SDPA = Adapter(
    name="hf-sdpa",
    calls="transformers.integrations.sdpa_attention.sdpa_attention_forward",
    profile="hf-sdpa",
    functions={"sdpa": wrap(sdpa, "torch")},
    dtypes=DTYPES,
    packages=("transformers", "torch"),
)
