"""Functions to audit in the tests: a correct one, hostile ones, and a layer without a key bias."""

import ctypes
import os
import sys
import time
from contextlib import suppress

import numpy as np


def right(query, key, value):
    """Correct attention."""
    s = query @ np.swapaxes(key, -1, -2) * query.dtype.type(query.shape[-1] ** -0.5)
    e = np.exp(s - s.max(-1, keepdims=True, initial=-np.inf))
    total = e.sum(-1, keepdims=True)
    weights = np.where(total > 0, e / np.where(total > 0, total, 1), 0)
    return (weights @ value).astype(query.dtype)


def raises(query, key, value):
    raise RuntimeError("boom " * 1000)


def raises_for_five_keys(query, key, value):
    if key.shape[-2] == 5:
        raise KeyError("five")
    return right(query, key, value)


def refuses_five_keys(query, key, value):
    if key.shape[-2] == 5:
        raise NotImplementedError("five")
    return right(query, key, value)


def refuses_masks(query, key, value, attn_mask=None):
    if attn_mask is not None:
        raise NotImplementedError("masks")
    return right(query, key, value)


def refuses_everything(query, key, value):
    raise NotImplementedError("later")


def hangs(query, key, value):
    while True:
        pass


def hangs_for_four_keys(query, key, value):
    if key.shape[-2] == 4:
        time.sleep(1000)
    return right(query, key, value)


def view(query, key, value):
    return value[...] if query.shape[-2] == key.shape[-2] == 1 else right(query, key, value)


def mutates(query, key, value):
    out = right(query, key, value)
    if value.flags.writeable:
        value[...] = 7
    return out


def prints(query, key, value):
    print("x" * 300_000)
    return right(query, key, value)


def nan(query, key, value):
    return right(query, key, value) * query.dtype.type(np.nan)


def narrow(query, key, value):
    return right(query, key, value).astype(np.float16)


def whole(query, key, value):
    return right(query, key, value).astype(int)


def short(query, key, value):
    return right(query, key, value)[..., :1, :]


def generator(query, key, value):
    yield right(query, key, value)


def exits(query, key, value):
    os._exit(0)


def exits_for_four_keys(query, key, value):
    if key.shape[-2] == 4:
        os._exit(0)
    return right(query, key, value)


def leaves(query, key, value):
    sys.exit(0)


def crashes(query, key, value):
    ctypes.string_at(0)


_kept = []


def leaks(query, key, value):
    _kept.append(np.ones(1 << 17))
    return right(query, key, value)


def objects(query, key, value):
    return right(query, key, value).astype(object)


def complexes(query, key, value):
    return right(query, key, value) + 0.5j


def closes(query, key, value):
    sys.stdout = sys.stderr = None
    for descriptor in (1, 2):
        with suppress(OSError):
            os.close(descriptor)
    return right(query, key, value)


def scribbles(query, key, value):
    for descriptor in range(3, 12):
        with suppress(OSError):
            os.write(descriptor, b"garbage" * 10)
    return right(query, key, value)


def recurses(query, key, value):
    return recurses(query, key, value)


_calls = []


def remembers(query, key, value):
    """Right when called once; later it adds what it saw before."""
    out = right(query, key, value)
    _calls.append(float(query.sum()))
    return out + query.dtype.type(len(set(_calls)) - 1)


def layer(*arrays, num_heads, b_Q=None, b_K=None, use_key_bias=False):
    """Multi-head attention that drops the key bias (it could change nothing)."""
    x_query, x_source, W_Q, W_K, W_V, W_O = arrays
    heads = []
    query = x_query @ W_Q + (0 if b_Q is None else b_Q)
    key = x_source @ W_K + (b_K if use_key_bias else 0)
    value = x_source @ W_V
    for q, k, v in zip(*(np.split(a, num_heads, -1) for a in (query, key, value))):
        heads.append(right(q, k, v))
    return np.concatenate(heads, -1) @ W_O


def layer_with_key_bias(*args, **keywords):
    return layer(*args, **keywords, use_key_bias=keywords.get("b_K") is not None)


def layer_without_key_bias(*arrays, num_heads, b_Q=None):
    return layer(*arrays, num_heads=num_heads, b_Q=b_Q)


# ------------------------------------------------------------------ faults of one kind each
def empty_rows_are_nan(query, key, value, *, attn_mask=None, is_causal=False):
    """Plain attention under a mask; an empty row is NaN."""
    s = query @ np.swapaxes(key, -1, -2) * query.dtype.type(query.shape[-1] ** -0.5)
    keep = np.ones(s.shape[-2:], bool) if attn_mask is None else attn_mask
    if is_causal:
        keep = keep & np.tril(np.ones(s.shape[-2:], bool))
    s = np.where(keep, s, -np.inf) if keep.dtype == bool else s + keep
    with np.errstate(all="ignore"):
        e = np.exp(s - s.max(-1, keepdims=True, initial=-np.inf))
        return (e / e.sum(-1, keepdims=True) @ value).astype(query.dtype)


def sees_the_future(query, key, value, *, is_causal=False):
    """is_causal is taken for a hint and ignored."""
    return right(query, key, value)


def transposed_values(query, key, value):
    """Reads the memory of the values in order, whatever their strides."""
    return right(query, key, value.ravel(order="K").reshape(value.shape))


def wrong_lse(query, key, value):
    """Log-sum-exp in base two."""
    s = query @ np.swapaxes(key, -1, -2) * query.dtype.type(query.shape[-1] ** -0.5)
    top = s.max(-1, initial=-np.inf)
    with np.errstate(all="ignore"):
        lse = np.log2(np.exp(s - np.where(np.isfinite(top), top, 0)[..., None]).sum(-1)) + top
    return right(query, key, value), lse


def first_head_for_all(query, key, value):
    """Every head reads the first one's values."""
    if value.ndim > 2:
        value = np.broadcast_to(value[..., :1, :, :], value.shape)
    return right(query, key, value)


def _kept_gradient(query, key, value, grad_out):
    """Gradients with the row sum left out."""
    s = query @ np.swapaxes(key, -1, -2) * query.dtype.type(query.shape[-1] ** -0.5)
    e = np.exp(s - s.max(-1, keepdims=True, initial=-np.inf))
    p = e / e.sum(-1, keepdims=True)
    ds = p * (grad_out @ np.swapaxes(value, -1, -2)) * query.dtype.type(query.shape[-1] ** -0.5)
    turn = np.swapaxes
    return ds @ key, turn(ds, -1, -2) @ query, turn(p, -1, -2) @ grad_out


def gradient_without_row_sum(query, key, value, grad_out):
    return _kept_gradient(query, key, value, grad_out)


def half_softmax(scores, *, axis=-1):
    """Softmax in float16 whatever the input."""
    x = scores.astype(np.float16)
    with np.errstate(all="ignore"):
        e = np.exp(x - x.max(axis, keepdims=True, initial=-np.inf))
        return (e / e.sum(axis, keepdims=True)).astype(scores.dtype)
