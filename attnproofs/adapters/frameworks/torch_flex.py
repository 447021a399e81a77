"""``torch-flex``: ``torch.nn.attention.flex_attention`` run eagerly, without a compiler.

Boolean masks and causality are given as mask_mod, additive masks as score_mod; the causal mask_mod
is the one of its documentation, ``q_idx >= kv_idx``.
"""

import torch
from torch.nn.attention.flex_attention import AuxRequest, create_block_mask, flex_attention

from attnproofs.adapters.arrays import wrap
from attnproofs.adapters.base import Adapter


def call(query, key, value, *, attn_mask, is_causal, scale, enable_gqa, aux=None):
    """The call with the masks as modifiers."""
    shape = (*query.shape[:-1], key.shape[-2])
    kept = score_mod = None
    if is_causal:
        kept = torch.ones(shape[-2:], dtype=torch.bool).tril().expand(shape)
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        kept = attn_mask.expand(shape) if kept is None else kept & attn_mask
    elif attn_mask is not None:
        bias = attn_mask.expand(shape)

        def score_mod(score, b, h, i, j):
            return score + bias[b, h, i, j]

    block_mask = None
    if kept is not None and 0 not in shape:
        block_mask = create_block_mask(lambda b, h, i, j: kept[b, h, i, j], *shape, device="cpu")
    return flex_attention(
        query, key, value, score_mod, block_mask, scale, enable_gqa, return_aux=aux
    )


def sdpa(query, key, value, *, attn_mask=None, is_causal=False, scale=None, enable_gqa=False):
    """The output alone."""
    return call(
        query,
        key,
        value,
        attn_mask=attn_mask,
        is_causal=is_causal,
        scale=scale,
        enable_gqa=enable_gqa,
    )


def lse(query, key, value, *, attn_mask=None, is_causal=False, scale=None, enable_gqa=False):
    """The output and the natural logarithm that flex_attention returns beside it."""
    out, aux = call(
        query,
        key,
        value,
        attn_mask=attn_mask,
        is_causal=is_causal,
        scale=scale,
        enable_gqa=enable_gqa,
        aux=AuxRequest(lse=True),
    )
    return out, aux.lse


# the first call imports a compiler, which takes seconds: not in a call that is timed
flex_attention(*[torch.zeros(1, 1, 1, 1)] * 3)

ADAPTER = Adapter(
    name="torch-flex",
    calls="torch.nn.attention.flex_attention.flex_attention, eager",
    profile="torch-flex",
    functions={"sdpa": wrap(sdpa, "torch"), "lse": wrap(lse, "torch")},
    packages=("torch",),
)
