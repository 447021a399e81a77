"""An attention function that follows any set of conventions: what `identify` has to see through.

Written apart from the probes and from the NumPy adapter: explicit weights for every row, and a rule
for each thing that libraries disagree about.
"""

from __future__ import annotations

import numpy as np

CHOICES = {
    "layout": ["BHLD", "BLHD"],
    "output_layout": ["BHLD", "BLHD"],
    "bool_mask": ["attend", "masked", "added", "none"],
    "additive_mask": ["yes", "none"],
    "causal_alignment": ["top-left", "bottom-right", "top-left-unless-one", "none"],
    "mask_and_causal": ["and", "mask", "causal", "error"],
    "empty_row_bool": ["zeros", "nan", "uniform", "unmasked", "error"],
    "empty_row_neg_inf": ["zeros", "nan", "uniform", "unmasked", "error"],
    "empty_row_finfo_min": ["zeros", "nan", "uniform", "unmasked", "error"],
    "empty_row_causal": ["zeros", "nan", "uniform", "unmasked", "error"],
    "no_keys": ["zeros", "nan", "error"],
    "window": ["inclusive", "exclusive", "none"],
    "window_int": [
        "symmetric-inclusive",
        "symmetric-exclusive",
        "left-inclusive",
        "left-exclusive",
        "none",
    ],
    "window_alignment": ["top-left", "bottom-right"],
    "grouped_heads": ["consecutive", "tiled", "none"],
    "grouped_flag": ["required", "ignored"],
    "softcap": ["before-mask", "after-mask", "none"],
    "softcap_formula": ["tanh", "softsign"],
    "default_scale": ["1/sqrt(d)", "1/d", "1", "required"],
    "masked_key_bool": ["blocked", "leaks"],
    "masked_key_additive": ["blocked", "leaks"],
    "masked_key_causal": ["blocked", "leaks"],
    "masked_value_bool": ["blocked", "leaks"],
    "masked_value_additive": ["blocked", "leaks"],
    "masked_value_causal": ["blocked", "leaks"],
    "float64_accuracy": ["float64", "float32", "none"],
    "half_weights": ["rounded", "rounded-unnormalised", "kept"],
    "half_scores": ["finite", "overflow"],
    "repeatable": ["yes"],
    "key_order": ["same", "rounding"],
}

STRICT = {name: values[0] for name, values in CHOICES.items()}
STRICT |= {"empty_row_finfo_min": "uniform", "window_int": "none", "key_order": "rounding"}
STRICT |= {"half_weights": "kept"}


def settle(c: dict[str, str]) -> dict[str, str]:
    """What can be seen of the choices: one that makes another meaningless answers it ``none``."""
    seen = dict(c)
    boolean, additive = c["bool_mask"] in ("attend", "masked"), c["additive_mask"] == "yes"
    causal = c["causal_alignment"] != "none"
    if not causal or not (boolean or additive):
        seen["mask_and_causal"] = "none"
    for kind, offered in (("bool", boolean), ("additive", additive), ("causal", causal)):
        if not offered:
            seen[f"masked_key_{kind}"] = seen[f"masked_value_{kind}"] = "none"
    if not boolean:
        seen["empty_row_bool"] = "none"
    if not additive:
        seen["empty_row_neg_inf"] = seen["empty_row_finfo_min"] = "none"
    if c["causal_alignment"] != "bottom-right":
        seen["empty_row_causal"] = "none"
    if c["window"] == c["window_int"] == "none":
        seen["window_alignment"] = "none"
    if c["grouped_heads"] == "none":
        seen["grouped_flag"] = "none"
    if c["softcap"] == "none":
        seen["softcap_formula"] = "none"
    elif not (boolean or additive or causal):
        seen["softcap"] = "unknown"  # there is no mask to put before or after it
    return seen


class Refused(ValueError):
    """The function does not do this."""


def _window(c, window, rows, cols):
    if window is None:
        return np.ones((rows, cols), bool)
    offset = np.arange(cols) - np.arange(rows)[:, None]
    if c["window_alignment"] == "bottom-right":
        offset -= cols - rows
    if isinstance(window, tuple):
        if c["window"] == "none":
            raise Refused("window")
        cut = c["window"] == "exclusive"
        return (offset >= -window[0] + cut) & (offset <= window[1] - cut)
    if c["window_int"] == "none":
        raise Refused("window")
    w = window - c["window_int"].endswith("exclusive")
    return (offset >= -w) & (offset <= (w if c["window_int"].startswith("symmetric") else 0))


def _rule(name, plain, cols):
    """Weights of a row without keys."""
    if name == "error":
        raise Refused("empty row")
    table = {"zeros": np.zeros(cols), "nan": np.full(cols, np.nan), "unmasked": plain}
    return table[name] if name in table else np.full(cols, 1 / cols)


def _softmax(scores):
    with np.errstate(all="ignore"):
        exps = np.exp(scores - scores.max())
        return exps / exps.sum()


def make(c: dict[str, str]):
    """The function that follows `c`."""

    def f(
        query, key, value, *, attn_mask=None, is_causal=False, scale=None, enable_gqa=False,
        window=None, softcap=None,
    ):  # fmt: skip
        kind = query.dtype
        if kind == np.float64 and c["float64_accuracy"] == "none":
            raise Refused("float64")
        if c["layout"] == "BLHD":
            query, key, value = (x.swapaxes(1, 2) for x in (query, key, value))
        heads, kv = query.shape[1], key.shape[1]
        if heads != kv:
            if c["grouped_heads"] == "none" or (c["grouped_flag"] == "required" and not enable_gqa):
                raise Refused("grouped heads")
            order = np.arange(heads)
            order = order // (heads // kv) if c["grouped_heads"] == "consecutive" else order % kv
            key, value = key[:, order], value[:, order]
        if scale is None:
            d = query.shape[-1]
            if c["default_scale"] == "required":
                raise Refused("scale")
            scale = {"1/sqrt(d)": d**-0.5, "1/d": 1 / d, "1": 1.0}[c["default_scale"]]
        cols = key.shape[2]
        out = np.zeros((*query.shape[:3], value.shape[3]))
        if cols == 0:
            if c["no_keys"] == "error":
                raise Refused("no keys")
            out[...] = np.nan if c["no_keys"] == "nan" else 0
        else:
            bits = dict(attn_mask=attn_mask, is_causal=is_causal, window=window, softcap=softcap)
            for b, h in np.ndindex(query.shape[:2]):
                out[b, h] = _head(c, query[b, h], key[b, h], value[b, h], scale, kind, **bits)
        out = out.astype(kind)
        return out.swapaxes(1, 2) if c["output_layout"] == "BLHD" else out

    return f


def _head(c, q, k, v, scale, kind, *, attn_mask, is_causal, window, softcap):  # noqa: PLR0917
    rows, cols = len(q), len(k)
    if softcap is not None and c["softcap"] == "none":
        raise Refused("softcap")
    if is_causal and c["causal_alignment"] == "none":
        raise Refused("is_causal")
    bias = np.zeros((rows, cols))
    boolean = np.ones((rows, cols), bool)
    if attn_mask is not None:
        mask = np.broadcast_to(attn_mask, (1, 1, rows, cols))[0, 0]
        if is_causal and c["mask_and_causal"] == "error":
            raise Refused("mask and is_causal")
        if is_causal and c["mask_and_causal"] == "causal":
            mask = None
        elif mask.dtype == bool:
            if c["bool_mask"] == "none":
                raise Refused("boolean mask")
            if c["bool_mask"] == "added":
                bias = mask.astype(float)
            else:
                boolean = mask if c["bool_mask"] == "attend" else ~mask
        elif c["additive_mask"] == "none":
            raise Refused("additive mask")
        else:
            bias = mask.astype(float)
        if c["mask_and_causal"] == "mask":
            is_causal = False
    causal = np.ones((rows, cols), bool)
    if is_causal and not (c["causal_alignment"] == "top-left-unless-one" and rows == 1):
        shift = cols - rows if c["causal_alignment"] == "bottom-right" else 0
        causal = np.tril(causal, shift)
    band = _window(c, window, rows, cols)
    infinite = np.isneginf(bias)
    narrow = kind == np.float64 and c["float64_accuracy"] == "float32"
    order_shows = c["key_order"] == "rounding" and kind != np.float64
    work = np.float32 if narrow or order_shows else np.float64
    with np.errstate(all="ignore"):
        scores = (q.astype(work) @ k.astype(work).T * work(scale)).astype(float)
        if kind == np.float16 and c["half_scores"] == "overflow":
            scores = scores.astype(np.float16).astype(float)
        cap = (lambda s: s) if softcap is None else (
            (lambda s: softcap * np.tanh(s / softcap))
            if c["softcap_formula"] == "tanh"
            else (lambda s: np.where(np.isinf(s), np.sign(s) * softcap, s / (1 + abs(s / softcap))))
        )  # fmt: skip
        if c["softcap"] == "before-mask":
            scores = cap(scores)
        plain = scores
        masked = scores + bias
        encodings = {"bool": ~boolean, "additive": infinite, "causal": ~causal}
        safe = ~band
        for name, slots in encodings.items():
            added = np.where(slots, masked - np.inf, masked)  # NaN - inf is NaN
            selected = np.where(slots, -np.inf, masked)
            masked = added if c[f"masked_key_{name}"] == "leaks" else selected
            if c[f"masked_value_{name}"] == "blocked":
                safe = safe | slots
        masked = np.where(band, masked, -np.inf)
        if c["softcap"] == "after-mask":
            masked = cap(masked)
    least = (bias == np.finfo(kind).min).all(1)
    weights = np.zeros((rows, cols))
    for i in range(rows):
        rule = None
        if softcap is None or c["softcap"] == "before-mask":
            rule = (
                "empty_row_causal" if not causal[i].any()
                else "empty_row_bool" if not boolean[i].any()
                else "empty_row_neg_inf" if infinite[i].all()
                else "empty_row_finfo_min" if least[i]
                else None
            )  # fmt: skip
        weights[i] = _rule(c[rule], _softmax(plain[i]), cols) if rule else _softmax(masked[i])
        if rule is None and kind == np.float16:
            weights[i] = _halved(c, weights[i])
    with np.errstate(all="ignore"):
        terms = weights.astype(work)[..., None] * v.astype(work)
        out = np.where((safe & (weights == 0))[..., None], 0, terms)
        return out.sum(1, dtype=work) if work == np.float64 else _forward_sum(out)


def _forward_sum(terms):
    """Sum over the keys in their order, so that the order shows in the last bit."""
    total = np.zeros_like(terms[:, 0])
    for j in range(terms.shape[1]):
        total = total + terms[:, j]
    return total


def _halved(c, weights):
    """The weights as a float16 kernel stores them."""
    if c["half_weights"] == "rounded":
        return weights.astype(np.float16).astype(float)
    if c["half_weights"] == "rounded-unnormalised":
        exps = (weights / weights.max()).astype(np.float16).astype(float)
        return exps / exps.sum() if np.isfinite(exps).all() else exps
    return weights
