"""``torch-mha``, ``torch-mha-weights``, ``torch-mha-fastpath``: ``torch.nn.MultiheadAttention``.

They differ in which path of the layer runs: ``need_weights=False``, ``need_weights=True``, and the
native fast path of evaluated self-attention. ``is_causal`` only hints at the mask there, so it is
not claimed. At the levels sdpa and weights the projections are identities.
"""

from typing import Any

import torch

from attnproofs.adapters.arrays import wrap
from attnproofs.adapters.base import Adapter


def make(need_weights, same_input):
    """The levels of one path; `same_input` hands the layer one tensor three times."""

    def run(inputs, matrices, biases, heads, attn_mask):
        embed = inputs[0].shape[-1]
        square = {tuple(w.shape) for w in (matrices[0], matrices[3])} == {(embed, embed)}
        widths = {w.shape[1] for w in matrices[:3]}
        if not square or widths != {embed} or embed % heads or inputs[0].ndim != 3:
            raise NotImplementedError("MultiheadAttention: (N, L, E), square W_Q and W_O")
        layer = torch.nn.MultiheadAttention(
            embed, heads, kdim=inputs[1].shape[-1], vdim=inputs[2].shape[-1], batch_first=True
        )
        layer = layer.to(inputs[0].dtype).eval().requires_grad_(False)
        if layer.in_proj_weight is None:
            for name, weight in zip("qkv", matrices):
                getattr(layer, f"{name}_proj_weight").copy_(weight.T)
        else:
            layer.in_proj_weight.copy_(torch.cat([w.T for w in matrices[:3]]))
        layer.out_proj.weight.copy_(matrices[3].T)
        biases = [torch.zeros(embed).to(layer.out_proj.bias) if b is None else b for b in biases]
        layer.in_proj_bias.copy_(torch.cat(biases[:3]))
        layer.out_proj.bias.copy_(biases[3])
        if attn_mask is not None:  # taken as (L, S) or (N * heads, L, S)
            shape = (inputs[0].shape[0], heads, inputs[0].shape[1], inputs[1].shape[1])
            attn_mask = attn_mask.expand(shape).reshape(-1, *shape[2:])
        return layer(
            *inputs, attn_mask=attn_mask, need_weights=need_weights, average_attn_weights=False
        )

    def both(query, key, value, *, attn_mask=None):  # (B, L, H, E)
        if not query.ndim == 4 or not query.shape[2:] == key.shape[2:] == value.shape[2:]:
            raise NotImplementedError("MultiheadAttention: equal heads and features, 4 axes")
        eye = torch.eye(query.shape[2] * query.shape[3], dtype=query.dtype)
        inputs = [x.flatten(2) for x in (query, key, value)]
        out, weights = run(inputs, [eye] * 4, [None] * 4, query.shape[2], attn_mask)
        return out.reshape(query.shape), weights

    def sdpa(query, key, value, *, attn_mask=None):
        return both(query, key, value, attn_mask=attn_mask)[0]

    def mha(  # noqa: PLR0917 - the contract's calling convention
            x_query, x_source, W_Q, W_K, W_V, W_O, *, num_heads, attn_mask=None,
            b_Q=None, b_K=None, b_V=None, b_O=None):  # fmt: skip
        shape = x_query.shape
        if x_query.ndim == 2:  # the fast path wants a batch axis
            x_query, x_source = x_query[None], x_source[None]
        same = x_query.shape == x_source.shape and x_query.allclose(x_source, 0, 0, equal_nan=True)
        inputs = [x_query] * 3 if same_input and same else [x_query, x_source, x_source]
        matrices, biases = [W_Q, W_K, W_V, W_O], [b_Q, b_K, b_V, b_O]
        return run(inputs, matrices, biases, num_heads, attn_mask)[0].reshape(shape)

    every: dict[str, Any] = {"sdpa": sdpa, "weights": both, "mha": mha}
    claimed = ["mha"] if same_input else ["sdpa", *["weights"] * need_weights, "mha"]
    return {level: wrap(every[level], "torch") for level in claimed}


def adapter(name, how, need_weights, same_input=False):
    """One path as an adapter."""
    calls = f"torch.nn.MultiheadAttention, {how}"
    return Adapter(name, calls, name, make(need_weights, same_input), packages=("torch",))


ADAPTER = adapter("torch-mha", "need_weights=False", False)
WEIGHTS = adapter("torch-mha-weights", "need_weights=True", True)
FASTPATH = adapter("torch-mha-fastpath", "evaluated self-attention (native fast path)", False, True)
