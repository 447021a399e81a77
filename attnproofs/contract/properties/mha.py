"""Properties of a multi-head layer, ``f(x_query, x_source, W_Q, W_K, W_V, W_O, *, num_heads)``.

Most use small whole numbers, so that projections are exact in every format, and weights that make
all scores equal where the scores are not the subject.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from attnproofs.contract.case import Case, Violation
from attnproofs.contract.properties.sdpa import no_empty_row, patterns
from attnproofs.contract.property import Make, Probe, compare, declare
from attnproofs.contract.semantics import multi_head, unit_of
from attnproofs.contract.wire import Array, dtype_named


def _case(make: Make, arrays: dict[str, Array], num_heads: int, **keywords: Any) -> Case:
    dtype = dtype_named(make.dtype)
    args: dict[str, Any] = {n: np.asarray(a, float).astype(dtype) for n, a in arrays.items()}
    order = ("x_query", "x_source", "W_Q", "W_K", "W_V", "W_O")
    args = {**{n: args.pop(n) for n in order}, "num_heads": num_heads, **args}
    args.update({n: v for n, v in keywords.items() if v is not None and v is not False})
    return Case(args)


def right_shape(probe: Probe, one: Case) -> Violation | None:
    """One row a query, one column for each of W_O."""
    got = probe.outputs(one)[0]
    wanted = np.zeros((one.array("x_query").shape[0], one.array("W_O").shape[1]))
    return compare(got, wanted, np.full(wanted.shape, np.inf), judged=False)


def agrees(probe: Probe, one: Case) -> Violation | None:
    """The output is that of the definition, up to what the coarsest arithmetic may add."""
    wanted = multi_head(one.args, probe.profile, unit_of(probe.dtype))
    return compare(probe.outputs(one)[0], wanted.output, wanted.allowance, wanted.judged)


def even(x_query: Any, x_source: Any, heads: int, width: int, **more: Any) -> dict[str, Array]:
    """Weights that make all scores equal, values the source itself repeated for each head."""
    x_query, x_source = np.asarray(x_query, float), np.asarray(x_source, float)
    model = x_source.shape[1]
    value = np.tile(np.eye(model), heads)
    arrays = {
        "x_query": x_query,
        "x_source": x_source,
        "W_Q": np.zeros((x_query.shape[1], heads * width)),
        "W_K": np.zeros((model, heads * width)),
        "W_V": value,
        "W_O": np.eye(value.shape[1]),
    }
    return {**arrays, **more}


def sharp(make: Make, *sizes: int) -> dict[str, Array]:
    """Random small whole numbers: queries, keys, features of the model, heads, width of a head."""
    queries, keys, model, heads, width = sizes
    return {
        "x_query": make.lattice(queries, model),
        "x_source": make.lattice(keys, model),
        "W_Q": make.lattice(model, heads * width),
        "W_K": make.lattice(model, heads * width),
        "W_V": make.lattice(model, heads * width),
        "W_O": make.lattice(heads * width, model),
    }


# ------------------------------------------------------------------ one head
@declare(
    "mha",
    "shapes",
    "The result has one row a query and as many columns as W_O.",
    right_shape,
    about="shapes",
)
def result_shape(make: Make) -> Iterator[Case]:
    for queries, keys, columns in ((1, 1, 1), (2, 2, 2), (2, 3, 2), (3, 2, 4)):
        arrays = even(np.ones((queries, 2)), np.ones((keys, 2)), 1, 2)
        yield _case(make, {**arrays, "W_O": np.ones((2, columns))}, 1)


@declare(
    "mha",
    "ov_circuit",
    "With one source token the output is that token through W_V and W_O.",
    agrees,
    about="values",
)
def single_token(make: Make) -> Iterator[Case]:
    for x, v, o in product((1.0, 2.0), (1.0, 2.0), (1.0, 3.0)):
        weights = {"W_V": np.array([[v]]), "W_O": np.array([[o]])}
        yield _case(make, {**even([[x]], [[x]], 1, 1), **weights}, 1)
    turn = np.array([[0.0, 1.0], [0.0, 0.0]])
    for row in ([[1.0, 0.0]], [[0.0, 1.0]]):
        base = even(row, row, 1, 2)
        yield _case(make, {**base, "W_V": turn, "W_O": np.eye(2)}, 1)
        yield _case(make, {**base, "W_V": np.eye(2), "W_O": turn.T}, 1)
    for _ in range(make.examples // 4):
        token = 1 + np.abs(make.lattice(1, 2))
        weights = {"W_V": make.lattice(2, 2), "W_O": make.lattice(2, 3)}
        yield _case(make, {**even(token, token, 1, 2), **weights}, 1)


@declare(
    "mha",
    "softmax_uniform",
    "Equal scores average all source tokens, whatever their features: none is padding.",
    agrees,
    about="tokens",
)
def every_token_counts(make: Make) -> Iterator[Case]:
    for rows in (
        [[1.0], [0.0]],
        [[1.0, 0.0], [0.0, 1.0]],
        [[1.0, -1.0], [1.0, 1.0]],
        [[0.0, 0.0], [1.0, 1.0]],
        [[1.0], [-1.0]],
        [[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]],
    ):
        x = np.array(rows)
        yield _case(make, even(x[:1], x, 1, 1), 1)
        yield _case(make, even(x, x, 1, 1), 1)
    for keys in make.borders(33):
        x = np.ones((keys, 1))
        x[0] = 2.0
        yield _case(make, even(x[:1], x, 1, 1), 1)


@declare(
    "mha",
    "concat_sum",
    "Block h of the rows of W_O meets head h: the concatenation through W_O is the sum over heads.",
    agrees,
    about="heads",
)
def heads_meet_their_block(make: Make) -> Iterator[Case]:
    for heads, width in ((2, 1), (3, 1), (4, 1), (2, 2), (4, 2), (5, 1), (6, 1), (8, 1)):
        yield _case(make, _named_heads(1, heads, width), heads)
        column = {**_named_heads(1, heads, width), "W_O": np.ones((heads * width, 1))}
        yield _case(make, column, heads)


def _plain_scores(heads: int, width: int) -> dict[str, Array]:
    """Two source tokens whose scores differ by one before scaling, in every head."""
    model = heads * width
    x_query, x_source = np.zeros((1, model)), np.zeros((2, model))
    x_query[0, ::width] = 1.0
    x_source[1, ::width] = np.ceil(np.sqrt(width))
    eye = np.eye(model)
    return {
        "x_query": x_query,
        "x_source": x_source,
        "W_Q": eye,
        "W_K": eye,
        "W_V": eye,
        "W_O": eye,
    }


@declare(
    "mha",
    "qk_variance_scaled",
    "Scores are divided once by the square root of the width of a head, not of the model.",
    agrees,
    about="scale tokens heads",
)
def default_scale(make: Make) -> Iterator[Case]:
    for heads, width in ((1, 1), (1, 2), (2, 1), (2, 2), (1, 4), (4, 1), (1, 3), (2, 8)):
        yield _case(make, _plain_scores(heads, width), heads)


@declare(
    "mha",
    "score_bilinear",
    "Queries come through W_Q and keys through W_K, neither transposed.",
    agrees,
    about="scale tokens scores heads",
)
def scores_from_projections(make: Make) -> Iterator[Case]:
    x_query, x_source = np.array([[1.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 1.0]])
    shift = np.array([[0.0, 1.0], [0.0, 0.0]])
    base = {**even(x_query, x_source, 1, 2), "W_Q": np.eye(2), "W_K": np.eye(2)}
    for weights in ({"W_Q": shift}, {"W_K": shift}, {"W_Q": shift.T}, {"W_K": shift.T}, {}):
        yield _case(make, {**base, **weights}, 1)
    for _ in range(make.examples // 2):
        queries, keys, model, width = (make.size(1, 3) for _ in range(4))
        yield _case(make, sharp(make, queries, keys, model, 1, width), 1)


@declare(
    "mha",
    "cross_attention",
    "Queries come from x_query, keys and values from x_source.",
    agrees,
    about="tokens cross",
)
def cross_attention(make: Make) -> Iterator[Case]:
    for queries, keys in ((1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (3, 2)):
        source = np.arange(1.0, keys + 1)[:, None]
        yield _case(make, even(-np.ones((queries, 1)), source, 1, 1), 1)


# ------------------------------------------------------------------ heads
def _named_heads(tokens: int, heads: int, width: int = 1) -> dict[str, Array]:
    """Each head passes on its own column block of the source."""
    model = heads * width
    x = np.arange(1.0, tokens * model + 1).reshape(tokens, model) % 7
    arrays = even(x, x, 1, 1)
    zero = np.zeros((model, model))
    return {**arrays, "W_Q": zero, "W_K": zero, "W_V": np.eye(model), "W_O": np.eye(model)}


@declare(
    "mha",
    "permutation_equivariance",
    "With several heads, row t of the result still belongs to token t.",
    agrees,
    about="heads tokens",
)
def heads_keep_tokens_apart(make: Make) -> Iterator[Case]:
    for heads, tokens in ((2, 2), (2, 3), (3, 3), (3, 2), (4, 4)):
        model = heads
        x = np.zeros((tokens, model))
        x[np.arange(tokens), np.arange(tokens) % model] = 1.0
        eye = 8.0 * np.eye(model)
        arrays = {"x_query": x, "x_source": x, "W_Q": eye, "W_K": eye, "W_V": np.eye(model)}
        yield _case(make, {**arrays, "W_O": np.eye(model)}, heads)
        yield _case(make, _named_heads(tokens, heads), heads)


@declare(
    "mha",
    "head_blocks",
    "Head h owns column block h of W_Q, W_K and W_V: contiguous, not strided.",
    agrees,
    about="heads tokens scale scores",
)
def heads_own_column_blocks(make: Make) -> Iterator[Case]:
    for _ in range(make.examples // 2):
        heads, width = make.pick((2, 2), (2, 1), (3, 2), (4, 2), (2, 3))
        model = make.size(1, 4)
        yield _case(make, sharp(make, make.size(1, 3), make.size(1, 3), model, heads, width), heads)


@declare(
    "mha",
    "multihead_formula",
    "Values and outputs may be wider or narrower than keys.",
    agrees,
    about="heads tokens widths scale scores",
)
def other_widths(make: Make) -> Iterator[Case]:
    for heads, width, width_v, columns in ((1, 1, 2, 1), (1, 2, 1, 3), (2, 1, 2, 3), (2, 2, 1, 2)):
        arrays = sharp(make, 2, 3, 2, heads, width)
        arrays["W_V"] = make.lattice(2, heads * width_v)
        arrays["W_O"] = make.lattice(heads * width_v, columns)
        yield _case(make, arrays, heads)


@declare(
    "mha",
    "multihead_formula",
    "The layer is right also where tokens, features and heads are equally many.",
    agrees,
    about="heads square scale scores tokens",
)
def coinciding_sizes(make: Make) -> Iterator[Case]:
    for n in (1, 2, 3, 4):
        for heads in {1, n}:
            yield _case(make, sharp(make, n, n, n, heads, n // heads), heads)
            yield _case(make, sharp(make, n, n, n, heads, n), heads)


# ------------------------------------------------------------------ biases
def _biased(make: Make, bias: str, heads: int, value: Array) -> Case:
    arrays = {**_plain_scores(heads, 1), bias: value}
    return _case(make, arrays, heads)


@declare(
    "mha",
    "value_bias_through",
    "b_V passes through attention unchanged.",
    agrees,
    about="bias values heads tokens scale",
    needs="b_V",
)
def value_bias(make: Make) -> Iterator[Case]:
    for heads in (1, 2, 3):
        arrays = {**_named_heads(1, heads), "b_V": np.arange(1.0, heads + 1)}
        yield _case(make, arrays, heads)
        yield _biased(make, "b_V", heads, np.arange(1.0, heads + 1))


@declare(
    "mha",
    "residual",
    "b_O is added once, however many heads there are.",
    agrees,
    about="bias output heads tokens",
    needs="b_O",
)
def output_bias(make: Make) -> Iterator[Case]:
    for heads in (1, 2, 3, 4):
        yield _case(make, {**_named_heads(1, heads), "b_O": np.arange(1.0, heads + 1)}, heads)


@declare(
    "mha",
    "score_bilinear",
    "b_Q is added to the queries before the scores are made.",
    agrees,
    about="bias heads tokens scale scores",
    needs="b_Q",
)
def query_bias(make: Make) -> Iterator[Case]:
    for heads in (1, 2, 3):
        yield _biased(make, "b_Q", heads, np.ones(heads))
        yield _biased(make, "b_Q", heads, -np.arange(1.0, heads + 1))


def _ignores_key_bias(probe: Probe, make: Make) -> str:
    """Whether b_K reaches no bit of the output: then it is dropped, which is harmless."""
    for _ in range(8):
        arrays = {n: make.normal(*a.shape) for n, a in _plain_scores(2, 2).items()}
        with_bias = _case(make, {**arrays, "b_K": make.normal(4)}, 2)
        without = _case(make, arrays, 2)
        one, two = probe.outputs(with_bias)[0], probe.outputs(without)[0]
        if one.tobytes() != two.tobytes():
            return ""
    return "b_K reaches no bit of the output; dropping it changes nothing"


@declare(
    "mha",
    "key_bias_invisible",
    "b_K changes nothing: it shifts all scores of a row alike.",
    agrees,
    about="bias heads tokens scale scores key_bias",
    needs="b_K",
    harmless_without="b_K",
    oddity=_ignores_key_bias,
)
def key_bias(make: Make) -> Iterator[Case]:
    for heads in (1, 2, 3):
        yield _biased(make, "b_K", heads, np.ones(heads))
        yield _biased(make, "b_K", heads, -np.arange(1.0, heads + 1))


@declare(
    "mha",
    "score_bilinear",
    "All four biases together, each in its place.",
    agrees,
    about="bias heads tokens scale scores key_bias output values",
    needs="b_Q b_K b_V b_O",
)
def all_biases(make: Make) -> Iterator[Case]:
    for _ in range(make.examples // 2):
        heads, width, model = make.size(1, 3), make.size(1, 2), make.size(1, 3)
        arrays = sharp(make, make.size(1, 3), make.size(1, 3), model, heads, width)
        for name in ("b_Q", "b_K", "b_V"):
            arrays[name] = make.lattice(heads * width)
        arrays["b_O"] = make.lattice(model)
        yield _case(make, arrays, heads)


# ------------------------------------------------------------------ masks
def _spotlight(make: Make, queries: int, keys: int, heads: int = 1, **keywords: Any) -> Case:
    """Equal scores, values that name their token."""
    return _case(make, even(np.ones((queries, keys)), np.eye(keys), heads, 1), heads, **keywords)


@declare(
    "mha",
    "mask_exact_zero",
    "Masked source tokens have weight exactly zero.",
    agrees,
    about="mask heads tokens",
    needs="attn_mask",
    domain=no_empty_row,
)
def kept_set(make: Make) -> Iterator[Case]:
    if make.profile.bool_mask == "none":
        return
    for queries, keys in ((1, 2), (2, 1), (2, 2), (1, 3)):
        for keep in patterns(make, queries, keys):
            yield _spotlight(make, queries, keys, attn_mask=make.mask(keep))
    for heads in (2, 3):
        for keep in patterns(make, 2, 2):
            yield _spotlight(make, 2, 2, heads, attn_mask=make.mask(keep))


@declare(
    "mha",
    "bool_additive",
    "An additive mask of 0 and -inf does what the boolean one does.",
    agrees,
    about="mask additive heads tokens",
    needs="attn_mask",
    domain=no_empty_row,
)
def boolean_is_additive(make: Make) -> Iterator[Case]:
    if make.profile.additive_mask != "yes":
        return
    for keep in patterns(make, 2, 2):
        yield _spotlight(make, 2, 2, attn_mask=make.additive(keep))


@declare(
    "mha",
    "softmax_ratio",
    "A finite additive mask b multiplies a weight by exp(b), in every head.",
    agrees,
    about="mask additive bias_mask heads tokens",
    needs="attn_mask",
    domain=no_empty_row,
)
def additive_bias(make: Make) -> Iterator[Case]:
    if make.profile.additive_mask != "yes":
        return
    for rows, heads in product(([[0.0, 1.0]], [[0.0, -1.0], [2.0, 0.0]]), (1, 2)):
        bias = np.array(rows)
        mask = make.additive(np.isfinite(bias), bias)
        queries, keys = bias.shape
        yield _spotlight(make, queries, keys, heads, attn_mask=mask)


@declare(
    "mha",
    "causal_no_future",
    "Under is_causal token t sees tokens 0 to t.",
    agrees,
    about="mask causal heads tokens",
    needs="is_causal",
)
def causal(make: Make) -> Iterator[Case]:
    if make.profile.causal_alignment == "none":
        return
    for n in (1, 2, 3, 4, 5, 9, 17):
        yield _spotlight(make, n, n, is_causal=True)
    for n in (2, 3):
        yield _spotlight(make, n, n, 2, is_causal=True)


@declare(
    "mha",
    "mask_and",
    "A mask together with is_causal: both apply.",
    agrees,
    about="mask causal heads tokens",
    needs="attn_mask is_causal",
    domain=no_empty_row,
)
def mask_and_causal(make: Make) -> Iterator[Case]:
    if make.profile.mask_and_causal != "and" or make.profile.bool_mask == "none":
        return
    for n in (2, 3):
        yield _spotlight(make, n, n, attn_mask=make.mask(np.ones((n, n), bool)), is_causal=True)


@declare(
    "mha",
    "empty_row",
    "A query that sees nothing gives b_O, or zeros without it.",
    agrees,
    about="mask empty heads tokens",
    needs="attn_mask",
)
def empty_row(make: Make) -> Iterator[Case]:
    if make.profile.bool_mask not in ("attend", "masked") or make.profile.empty_row_bool != "zeros":
        return
    for rows in ([[0]], [[0, 0]], [[0, 0], [1, 1]]):
        keep = np.array(rows, bool)
        yield _spotlight(make, *keep.shape, attn_mask=make.mask(keep))
