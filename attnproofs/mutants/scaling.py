"""Mutants of the scale: the factor 1/sqrt(E), given or not, and the product it multiplies."""

from __future__ import annotations

from typing import Any

import numpy as np

from attnproofs.mutants.correct import Array, attend, default_scale, mha, ratio, sdpa, transposed
from attnproofs.mutants.registry import Call, drawn, mutant, qkv


def _default(query: Array, factor: float, rest: Any) -> Any:
    """`rest` with `factor` standing for a scale that was not given."""
    return {**rest, "scale": factor if rest.get("scale") is None else rest["scale"]}


@mutant(
    "sdpa",
    "the square root is missing: the default scale is 1/E",
    cause="default-scale",
    sources=("delzac/cntkx#10",),
    witness=lambda: qkv(1, E=4),
)
def scale_without_root(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    return sdpa(query, key, value, **_default(query, 1.0 / max(1, query.shape[-1]), rest))


@mutant(
    "sdpa",
    "the scores are divided by a scale that was inverted already, so the factor is sqrt(E)",
    cause="default-scale",
    sources=("esceptico/perceiver-io#9",),
    witness=lambda: qkv(1, E=4),
)
def scale_inverted(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    return sdpa(query, key, value, **_default(query, query.shape[-1] ** 0.5, rest))


@mutant(
    "sdpa",
    "the marker 0 for the default scale is multiplied in, so all keys weigh the same",
    cause="default-scale",
    sources=("SKaiNET-developers/SKaiNET#860",),
    witness=lambda: qkv(1),
)
def scale_marker_zero_used(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    return sdpa(query, key, value, **_default(query, 0.0, rest))


@mutant(
    "sdpa",
    "without a given scale the scores are not scaled at all",
    cause="default-scale",
    witness=lambda: qkv(1),
)
def scale_forgotten(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    return sdpa(query, key, value, **_default(query, 1.0, rest))


@mutant(
    "sdpa",
    "the default scale is taken from the width of the values",
    cause="default-scale",
    witness=lambda: qkv(1, E=2, Ev=3),
)
def scale_from_value_width(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    return sdpa(query, key, value, **_default(query, max(1, value.shape[-1]) ** -0.5, rest))


@mutant(
    "sdpa",
    "the default scale is taken from the number of keys",
    cause="default-scale",
    witness=lambda: qkv(1, 3),
)
def scale_from_key_count(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    return sdpa(query, key, value, **_default(query, max(1, key.shape[-2]) ** -0.5, rest))


@mutant(
    "sdpa",
    "the default scale is 1/8 whatever the width, as it is right for E = 64",
    cause="default-scale",
    witness=lambda: qkv(1),
)
def scale_fixed_at_one_eighth(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    return sdpa(query, key, value, **_default(query, 0.125, rest))


@mutant(
    "sdpa",
    "the default scale is 1/sqrt(E) for even widths and that of the next even width for odd ones",
    cause="default-scale",
    witness=lambda: qkv(1, E=3),
)
def scale_of_padded_width(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    E = query.shape[-1]
    padded = E if E < 2 else E + E % 2
    return sdpa(query, key, value, **_default(query, max(1, padded) ** -0.5, rest))


@mutant(
    "sdpa",
    "a given scale never reaches the product",
    cause="given-scale",
    sources=("huggingface/pytorch-image-models#2280", "tenstorrent/tt-metal#33304"),
    witness=lambda: qkv(1, scale=2.0),
)
def given_scale_ignored(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    return sdpa(query, key, value, **{**rest, "scale": None})


@mutant(
    "sdpa",
    "a given scale of zero counts as not given",
    cause="given-scale",
    witness=lambda: qkv(1, scale=0.0),
)
def given_scale_zero_means_default(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    return sdpa(query, key, value, **{**rest, "scale": rest.get("scale") or None})


@mutant(
    "sdpa",
    "a given negative scale loses its sign (the square root of its square goes on each side)",
    cause="given-scale",
    witness=lambda: qkv(1, scale=-1.0),
)
def given_scale_loses_sign(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    scale = rest.get("scale")
    return sdpa(query, key, value, **{**rest, "scale": None if scale is None else abs(scale)})


@mutant(
    "sdpa",
    "a given scale is multiplied with 1/sqrt(E) instead of standing for it",
    cause="given-scale",
    witness=lambda: qkv(1, scale=1.0),
)
def given_scale_on_top_of_default(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    scale = rest.get("scale")
    factor = default_scale(query) * (1.0 if scale is None else scale)
    return sdpa(query, key, value, **{**rest, "scale": factor})


@mutant(
    "sdpa",
    "the scale multiplies the weights after the softmax instead of the scores before it",
    cause="default-scale",
    witness=lambda: qkv(1),
)
def scale_after_softmax(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    scale = rest.pop("scale", None)
    factor = default_scale(query) if scale is None else scale
    return attend(query, key, value, scale=1.0, reweigh=lambda w: w * factor, **rest).output


@mutant(
    "sdpa",
    "when the key is square its transpose is forgotten",
    cause="scores",
    sources=("pytorch/pytorch#195320",),
    witness=lambda: qkv(1, query=[[1, 0]], key=[[0, 1], [0, 0]], value=[[0, 0], [1, 1]]),
)
def square_key_not_transposed(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    return sdpa(query, transposed(key) if key.shape[-1] == key.shape[-2] else key, value, **rest)


@mutant(
    "sdpa",
    "query and key are exchanged when they have the same shape",
    cause="scores",
    witness=qkv,
)
def query_and_key_exchanged(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    if query.shape == key.shape:
        query, key = key.astype(query.dtype), query
    return sdpa(query, key, value, **rest)


@mutant(
    "sdpa",
    "the last feature of an odd width is left out of the scores (the product runs in pairs)",
    cause="scores",
    witness=lambda: qkv(1, E=3),
)
def odd_feature_left_out(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    E = query.shape[-1]
    if E < 3 or E % 2 == 0:
        return sdpa(query, key, value, **rest)
    rest = _default(query, default_scale(query), rest)
    return sdpa(query[..., :-1], key[..., :-1], value, **rest)


@mutant(
    "sdpa",
    "query and key are normalised to length one before the product",
    cause="scores",
    witness=lambda: qkv(1),
)
def query_and_key_normalised(query: Array, key: Array, value: Array, **rest: Any) -> Array:
    def unit(x: Array) -> Array:
        length = np.linalg.norm(x.astype(np.float64), axis=-1, keepdims=True)
        return ratio(x.astype(np.float64), length).astype(x.dtype)

    return sdpa(unit(query), unit(key), value, **rest)


def call_of_mha(
    T: int = 2,
    S: int | None = None,
    heads: int = 2,
    width: int = 2,
    value_width: int | None = None,
    seed: int = 0,
    **options: Any,
) -> Call:
    """Build a small call of `mha`; without S, self-attention."""
    array = drawn(seed)
    d_model = heads * width
    x = array(T, d_model)
    source = x if S is None else array(S, d_model)
    inner = heads * (width if value_width is None else value_width)
    matrices = (array(d_model, d_model), array(d_model, d_model), array(d_model, inner))
    return Call((x, source, *matrices, array(inner, d_model)), {"num_heads": heads, **options})


def _mha_scaled(factor: float, *args: Array, **rest: Any) -> Array:
    """`mha` with all scores multiplied by `factor`: W_Q and b_Q carry it."""
    x_query, x_source, W_Q, *others = args
    b_Q = rest.pop("b_Q", None)
    return mha(
        x_query, x_source, W_Q * factor, *others, b_Q=None if b_Q is None else b_Q * factor, **rest
    )


@mutant(
    "mha",
    "the scale is taken from the width of the model instead of one head's",
    cause="default-scale",
    sources=("lucidrains/vit-pytorch#65", "omihub777/ViT-CIFAR#11"),
    witness=call_of_mha,
)
def scale_from_model_width(*args: Array, **rest: Any) -> Array:
    return _mha_scaled(rest["num_heads"] ** -0.5, *args, **rest)


@mutant(
    "mha",
    "the projection scales the queries and the attention scales the scores again",
    cause="default-scale",
    sources=("huggingface/transformers#38290",),
    witness=lambda: call_of_mha(heads=1, width=4),
)
def scale_applied_twice(*args: Array, **rest: Any) -> Array:
    width = args[2].shape[-1] / rest["num_heads"]
    return _mha_scaled(width**-0.5, *args, **rest)


@mutant(
    "mha",
    "the projected queries are scaled before their bias is added, so the bias stays unscaled",
    cause="bias",
    witness=lambda: call_of_mha(1, 2, heads=1, width=4, b_Q=np.ones(4)),
)
def query_bias_escapes_scale(*args: Array, **rest: Any) -> Array:
    b_Q = rest.pop("b_Q", None)
    width = args[2].shape[-1] / rest["num_heads"]
    return mha(*args, b_Q=None if b_Q is None else b_Q * width**0.5, **rest)
