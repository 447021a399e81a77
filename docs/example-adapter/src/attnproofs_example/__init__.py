"""An attention function with conventions of its own, and the adapter that attnproofs finds."""

from pathlib import Path

import numpy as np

from attnproofs.adapters import Adapter


def attention(query, key, value, *, attn_mask=None, is_causal=False, scale=None):
    """Attention for arrays (batch, length, heads, features); True in a mask means *ignore*."""
    q, k, v = (x.swapaxes(1, 2) for x in (query, key, value))
    rows, cols, d = q.shape[2], k.shape[2], q.shape[3]
    scores = (q @ k.swapaxes(2, 3)) * q.dtype.type(d**-0.5 if scale is None else scale)
    ignored = np.zeros((rows, cols), bool) if attn_mask is None else attn_mask
    if is_causal:
        ignored = ignored | ~np.tri(rows, cols, cols - rows, dtype=bool)
    scores = np.where(ignored, -np.inf, scores)
    top = scores.max(-1, keepdims=True, initial=-np.inf)
    exps = np.exp(scores - np.where(top == -np.inf, 0, top))
    total = exps.sum(-1, keepdims=True)
    return ((exps / np.where(total == 0, 1, total)) @ v).swapaxes(1, 2)


ADAPTER = Adapter(
    name="example",
    calls="attnproofs_example.attention",
    profile=str(Path(__file__).with_name("profile.toml")),
    functions={"sdpa": attention},
    dtypes=("float64", "float32"),
    packages=("attnproofs-example", "numpy"),
)
