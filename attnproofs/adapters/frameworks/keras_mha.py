"""``keras-mha`` and ``keras-mha-scores``: the layer ``keras.layers.MultiHeadAttention``.

It takes boolean masks only and computes differently when its scores are asked for, hence two
adapters. At the levels sdpa and weights its projections are identities.
"""

import numpy as np

from attnproofs.adapters.base import Adapter
from attnproofs.adapters.frameworks.keras_dpa import BACKEND, keras


def make(scores):
    """The levels of the layer, with or without its scores; arrays are NumPy's."""

    def run(x, y, matrices, biases, *, heads, attn_mask, is_causal):
        if x.ndim != 3:
            raise NotImplementedError("MultiHeadAttention: (batch, length, features)")
        d, dv = matrices[0].shape[1] // heads, matrices[2].shape[1] // heads
        layer = keras.layers.MultiHeadAttention(
            heads,
            d,
            dv,
            output_shape=matrices[3].shape[1],
            dtype=x.dtype.name,
            kernel_initializer="zeros",
        )
        layer.build(x.shape, y[1].shape, y[0].shape)
        biases = [np.zeros(w.shape[1]) if b is None else b for w, b in zip(matrices, biases)]
        flat = [array for pair in zip(matrices, biases) for array in pair]
        layer.set_weights([a.reshape(w.shape) for a, w in zip(flat, layer.get_weights())])
        if attn_mask is not None:
            shape = (x.shape[0], heads, x.shape[1], y[0].shape[1])
            attn_mask = np.broadcast_to(attn_mask, shape)
        options = {"attention_mask": attn_mask, "use_causal_mask": is_causal}
        out = layer(x, y[1], key=y[0], return_attention_scores=scores, **options)
        return [keras.ops.convert_to_numpy(a) for a in (out if scores else (out, out))]

    def both(query, key, value, *, attn_mask=None, is_causal=False):  # (B, L, H, E)
        heads, (d, dv) = query.shape[2], (query.shape[3], value.shape[3])
        if query.ndim != 4 or key.shape[2:] != (heads, d) or value.shape[2] != heads:
            raise NotImplementedError("MultiHeadAttention: as many key heads as query heads")
        if attn_mask is not None and attn_mask.dtype != bool:
            raise ValueError("MultiHeadAttention takes boolean masks only")
        x, k, v = (a.reshape(*a.shape[:2], heads * a.shape[3]) for a in (query, key, value))
        wide, deep = np.eye(heads * d), np.eye(heads * dv)
        out, weights = run(x, (k, v), [wide, wide, deep, deep], [None] * 4, heads=heads,
                           attn_mask=attn_mask, is_causal=is_causal)  # fmt: skip
        return out.reshape(*query.shape[:3], dv), weights

    def sdpa(query, key, value, *, attn_mask=None, is_causal=False):
        return both(query, key, value, attn_mask=attn_mask, is_causal=is_causal)[0]

    def mha(  # noqa: PLR0917 - the contract's calling convention
            x_query, x_source, W_Q, W_K, W_V, W_O, *, num_heads, attn_mask=None, is_causal=False,
            b_Q=None, b_K=None, b_V=None, b_O=None):  # fmt: skip
        x, y = (a if a.ndim > 2 else a[None] for a in (x_query, x_source))
        out = run(x, (y, y), [W_Q, W_K, W_V, W_O], [b_Q, b_K, b_V, b_O],
                  heads=num_heads, attn_mask=attn_mask, is_causal=is_causal)[0]  # fmt: skip
        return out.reshape(*x_query.shape[:-1], W_O.shape[1])

    return {"sdpa": sdpa, "mha": mha, **({"weights": both} if scores else {})}


LAYER, NEEDS = "keras.layers.MultiHeadAttention", ("keras", BACKEND)
PROFILE = "keras-mha-torch" if BACKEND == "torch" else "keras-mha"
ADAPTER = Adapter("keras-mha", LAYER, PROFILE, make(False), packages=NEEDS)
SCORES = Adapter("keras-mha-scores", LAYER, "keras-mha-scores", make(True), packages=NEEDS)
