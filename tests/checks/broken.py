"""Ways to break the plain implementations under ``checks/``.

Each function changes one thing in the module that its parameter names (`attn` is ``attention_mp``),
as a programmer might by mistake; its docstring says what. `FAULTS` maps its name to it.
"""

from __future__ import annotations

import math

FAULTS = {}


def fault(function):
    FAULTS[function.__name__] = function
    return function


# --- matrices -----------------------------------------------------------------------------------


@fault
def rows_times_rows(attn):
    """The second factor is not transposed on the way."""
    right = attn.matmul
    attn.matmul = lambda A, B: (
        [[attn.dot(row, other) for other in B] for row in A]
        if len(A[0]) == len(B[0]) and len(A[0]) == len(B)
        else right(A, B)
    )


@fault
def last_term_dropped(attn):
    """Inner products forget their last term."""
    right = attn.dot
    attn.dot = lambda a, b: right(a[:-1], b[:-1]) if len(a) > 1 else right(a, b)


@fault
def first_term_doubled(attn):
    """Inner products count their first term twice."""
    right = attn.dot
    attn.dot = lambda a, b: a[0] * b[0] + right(a, b)


@fault
def dot_plus_one(attn):
    """Inner products start from 1."""
    right = attn.dot
    attn.dot = lambda a, b: right(a, b) + 1


@fault
def identity_added(attn):
    """Every matrix product has the identity added."""
    right = attn.matmul
    attn.matmul = lambda A, B: [
        [x + int(i == j) for j, x in enumerate(row)] for i, row in enumerate(right(A, B))
    ]


@fault
def transpose_reversed(attn):
    """The transpose comes out with its rows in reverse."""
    attn.transpose = lambda A: [list(column) for column in zip(*A, strict=True)][::-1]


@fault
def not_transposed(attn):
    """Square matrices are left as they are."""
    right = attn.transpose
    attn.transpose = lambda A: [list(row) for row in A] if len(A) == len(A[0]) else right(A)


@fault
def residual_forgotten(attn):
    """The update replaces the tokens."""
    attn.residual = lambda X, update: update


# --- softmax ------------------------------------------------------------------------------------


@fault
def softmax_in_doubles(attn):
    """Exponentials in double precision."""
    right = attn.softmax

    def softmax(scores):
        scores = [float(attn.mp.convert(s)) for s in scores]
        if max(scores) == -math.inf:
            return right(scores)
        terms = [math.exp(s - max(scores)) for s in scores]
        return [attn.mp.mpf(t) / attn.mp.fsum(terms) for t in terms]

    attn.softmax = softmax


@fault
def softmax_unnormalised(attn):
    """The division by the sum is missing."""

    def softmax(scores):
        scores = [attn.mp.convert(s) for s in scores]
        return [attn.mp.exp(s - max(scores)) for s in scores]

    attn.softmax = softmax


@fault
def softmax_off_by_one(attn):
    """1 is added to the denominator."""

    def softmax(scores):
        terms = [attn.mp.exp(attn.mp.convert(s)) for s in scores]
        return [t / (1 + attn.mp.fsum(terms)) for t in terms]

    attn.softmax = softmax


@fault
def softmax_reversed(attn):
    """The sign of the scores is lost: exp(-s)."""
    right = attn.softmax
    attn.softmax = lambda scores: right([-attn.mp.convert(s) for s in scores])


@fault
def hardmax(attn):
    """All weight on the first of the largest scores."""

    def softmax(scores):
        top = list(scores).index(max(map(attn.mp.convert, scores)))
        return [attn.mp.mpf(int(i == top)) for i in range(len(scores))]

    attn.softmax = softmax


@fault
def softmax_sharpened(attn):
    """Weights squared and renormalised."""
    right = attn.softmax
    attn.softmax = lambda scores: right([2 * attn.mp.convert(s) for s in scores])


@fault
def softmax_by_position(attn):
    """Later keys weigh more."""
    right = attn.softmax
    attn.softmax = lambda scores: right([attn.mp.convert(s) + i for i, s in enumerate(scores)])


@fault
def softmax_of_sorted(attn):
    """The weights come out in the order of the scores."""
    right = attn.softmax
    attn.softmax = lambda scores: sorted(right(scores))


@fault
def softmax_empty_uniform(attn):
    """Without a kept key all keys weigh the same."""
    right = attn.softmax
    attn.softmax = lambda scores: (
        [attn.mp.one / len(scores)] * len(scores)
        if all(s == attn.NEVER for s in scores)
        else right(scores)
    )


@fault
def softmax_wrong_axis(attn):
    """Softmax down the columns in the row form."""
    attn.softmax_rows = attn.softmax_columns


@fault
def softmax_columns_wrong_axis(attn):
    """Softmax along the rows in the column form."""
    attn.softmax_columns = attn.softmax_rows


@fault
def jacobian_diagonal(attn):
    """Only the diagonal of the Jacobian."""
    right = attn.softmax_jacobian
    attn.softmax_jacobian = lambda scores: [
        [x if i == j else attn.mp.zero for j, x in enumerate(row)]
        for i, row in enumerate(right(scores))
    ]


@fault
def jacobian_sign(attn):
    """p_i (p_j - delta_ij)."""
    right = attn.softmax_jacobian
    attn.softmax_jacobian = lambda scores: attn.scaled(right(scores), -1)


@fault
def jacobian_without_delta(attn):
    """p_i p_j with the diagonal p_i."""

    def softmax_jacobian(scores):
        p = attn.softmax(scores)
        return [[p[i] if i == j else p[i] * p[j] for j in range(len(p))] for i in range(len(p))]

    attn.softmax_jacobian = softmax_jacobian


@fault
def logsumexp_of_mean(attn):
    """The mean instead of the sum inside the logarithm."""
    right = attn.logsumexp
    attn.logsumexp = lambda scores: right(scores) - attn.mp.log(len(scores))


@fault
def logsumexp_doubled_shift(attn):
    """The largest score is added twice."""
    right = attn.logsumexp
    attn.logsumexp = lambda scores: right(scores) + max(attn.mp.convert(s) for s in scores)


@fault
def entropy_in_bits(attn):
    """Logarithms to base 2."""
    right = attn.entropy
    attn.entropy = lambda weights: right(weights) / attn.mp.log(2)


# --- masks --------------------------------------------------------------------------------------


@fault
def zero_for_never(attn):
    """A masked pair gets 0 instead of minus infinity."""
    attn.additive = lambda keep: [[attn.mp.zero for _ in row] for row in keep]


@fault
def one_for_kept(attn):
    """The boolean mask is added as numbers: 1 and 0."""
    attn.additive = lambda keep: [[attn.mp.mpf(int(kept)) for kept in row] for row in keep]


@fault
def finite_for_never(attn):
    """A masked pair gets -10000."""
    attn.additive = lambda keep: [
        [attn.mp.zero if kept else attn.mp.mpf(-10000) for kept in row] for row in keep
    ]


@fault
def mask_polarity(attn):
    """True means masked."""
    right = attn.additive
    attn.additive = lambda keep: right([[not kept for kept in row] for row in keep])


@fault
def mask_after_softmax(attn):
    """Masked weights are set to 0 after the softmax."""
    right = attn.attention

    def attention(Q, K, V, *, mask=None, scale=None):
        S, A, O = right(Q, K, V, scale=scale)
        if mask is not None:
            A = [[p if m == 0 else attn.mp.zero for p, m in zip(*rows)] for rows in zip(A, mask)]
            O = attn.matmul(A, V)
        return attn.Stages(S, A, O)

    attn.attention = attention


@fault
def mask_ignored(attn):
    """The mask has no effect."""
    right = attn.attention
    attn.attention = lambda Q, K, V, *, mask=None, scale=None: right(Q, K, V, scale=scale)


@fault
def column_mask_not_transposed(attn):
    """The column form adds the mask as it is, where it is square."""
    right = attn.head_columns

    def head_columns(*arguments, mask=None):
        return right(*arguments, mask=mask and attn.transpose(mask))

    attn.head_columns = head_columns


@fault
def causal_strict(attn):
    """A position does not see itself, but the first."""
    attn.causal = lambda rows, columns: [
        [j < i or i == j == 0 for j in range(columns)] for i in range(rows)
    ]


@fault
def causal_one_ahead(attn):
    """A position sees the next one."""
    attn.causal = lambda rows, columns: [[j <= i + 1 for j in range(columns)] for i in range(rows)]


@fault
def window_one_wider(attn):
    """The window keeps one more key."""
    right = attn.window
    attn.window = lambda size, width: right(size, width + 1)


@fault
def window_both_sides(attn):
    """The window looks ahead as far as back."""
    attn.window = lambda size, width: [
        [abs(i - j) < width for j in range(size)] for i in range(size)
    ]


# --- one head -----------------------------------------------------------------------------------


@fault
def scale_forgotten(attn):
    """No division by the square root of d_k."""
    attn.scale_of = lambda d_k: attn.mp.one


@fault
def scale_by_dimension(attn):
    """Division by d_k."""
    attn.scale_of = lambda d_k: attn.mp.one / d_k


@fault
def scale_argument_ignored(attn):
    """A given scale is not used."""
    right = attn.attention
    attn.attention = lambda Q, K, V, *, mask=None, scale=None: right(Q, K, V, mask=mask)


@fault
def keys_and_queries_swapped(attn):
    """K Q^T where both have as many rows."""
    right = attn.scores
    attn.scores = lambda Q, K: right(K, Q) if len(Q) == len(K) else right(Q, K)


@fault
def scores_of_moved_queries(attn):
    """Every score gets a multiple of its query's first entry."""
    right = attn.scores
    attn.scores = lambda Q, K: [
        [s + q[0] * (i + j) for j, s in enumerate(row)]
        for i, (q, row) in enumerate(zip(Q, right(Q, K)))
    ]


@fault
def scores_plus_identity(attn):
    """The score of a token with itself is one higher."""
    right = attn.scores
    attn.scores = lambda Q, K: [
        [s + int(i == j) for j, s in enumerate(row)] for i, row in enumerate(right(Q, K))
    ]


@fault
def last_key_forgotten(attn):
    """Scores against all keys but the last."""
    right = attn.scores
    attn.scores = lambda Q, K: right(Q, K[:-1]) if len(K) > 1 else right(Q, K)


@fault
def keys_as_values(attn):
    """The weights are applied to the keys, where they are as wide as the values."""
    right = attn.attention

    def attention(Q, K, V, *, mask=None, scale=None):
        return right(Q, K, K if len(K[0]) == len(V[0]) else V, mask=mask, scale=scale)

    attn.attention = attention


@fault
def values_averaged(attn):
    """The output is the plain mean of all values."""
    right = attn.attention

    def attention(Q, K, V, *, mask=None, scale=None):
        S, A, _ = right(Q, K, V, mask=mask, scale=scale)
        mean = [attn.mp.fsum(map(attn.mp.convert, column)) / len(V) for column in zip(*V)]
        return attn.Stages(S, A, [mean for _ in Q])

    attn.attention = attention


@fault
def weights_transposed(attn):
    """A^T V where A is square."""
    right = attn.attention

    def attention(Q, K, V, *, mask=None, scale=None):
        S, A, O = right(Q, K, V, mask=mask, scale=scale)
        return attn.Stages(S, A, attn.matmul(list(zip(*A)), V) if len(A) == len(A[0]) else O)

    attn.attention = attention


@fault
def output_not_renormalised(attn):
    """The output row is doubled."""
    right = attn.attention

    def attention(Q, K, V, *, mask=None, scale=None):
        S, A, O = right(Q, K, V, mask=mask, scale=scale)
        return attn.Stages(S, A, attn.scaled(O, 2))

    attn.attention = attention


@fault
def source_ignored(attn):
    """Keys and values from the target where a source is given."""
    right = attn.head
    attn.head = lambda X, source, *weights, mask=None: right(
        X, (list(X) * len(source))[: len(source)], *weights, mask=mask
    )


# --- heads --------------------------------------------------------------------------------------


@fault
def columns_interleaved(attn):
    """Head h takes columns h, h + H, h + 2H, ..."""
    attn.split_columns = lambda M, parts: [[list(row[p::parts]) for row in M] for p in range(parts)]


@fault
def rows_interleaved(attn):
    """Head h takes rows h, h + H, h + 2H, ... of W_O."""
    attn.split_rows = lambda M, parts: [[list(row) for row in M[p::parts]] for p in range(parts)]


@fault
def heads_joined_interleaved(attn):
    """Concatenation component by component instead of head by head."""
    attn.join_columns = lambda blocks: [
        [block[i][r] for r in range(len(blocks[0][0])) for block in blocks]
        for i in range(len(blocks[0]))
    ]


@fault
def heads_joined_reversed(attn):
    """Concatenation from the last head to the first."""
    right = attn.join_columns
    attn.join_columns = lambda blocks: right(blocks[::-1])


@fault
def head_order_lost(attn):
    """Blocks come out last first."""
    right = attn.split_columns
    attn.split_columns = lambda M, parts: right(M, parts)[::-1]


@fault
def row_block_order_lost(attn):
    """Row blocks come out last first."""
    right = attn.split_rows
    attn.split_rows = lambda M, parts: right(M, parts)[::-1]


@fault
def first_head_only(attn):
    """Every head is the first."""
    right = attn.split_columns
    attn.split_columns = lambda M, parts: [right(M, parts)[0]] * parts


@fault
def scale_by_model_width(attn):
    """Heads are scaled by the square root of H d_k."""
    right = attn.multihead

    def multihead(X, source, layer, *, mask=None):
        usual = attn.scale_of
        attn.scale_of = lambda d_k: usual(d_k * layer.heads)
        try:
            return right(X, source, layer, mask=mask)
        finally:
            attn.scale_of = usual

    attn.multihead = multihead


@fault
def output_bias(attn):
    """The layer adds 1 to each output."""
    right = attn.multihead
    attn.multihead = lambda *arguments, mask=None: [
        [x + 1 for x in row] for row in right(*arguments, mask=mask)
    ]


@fault
def head_weighted_by_position(attn):
    """Later heads count more."""
    right = attn.join_columns
    attn.join_columns = lambda blocks: right(
        [attn.scaled(block, h + 1) for h, block in enumerate(blocks)]
    )


@fault
def multihead_mask_ignored(attn):
    """The layer does not hand its mask to the heads."""
    right = attn.multihead

    def multihead(X, source, layer, *, mask=None):
        return right(X, source, layer)

    attn.multihead = multihead


@fault
def output_weights_of_keys(attn):
    """W_O has H d_k + 1 rows."""
    right = attn.layer_shapes
    attn.layer_shapes = lambda d_model, heads, d_k, d_v: [
        *right(d_model, heads, d_k, d_v)[:3],
        (heads * d_k + 1, d_model),
    ]


@fault
def shapes_per_head(attn):
    """Every head has projections of the full width."""
    right = attn.layer_shapes
    attn.layer_shapes = lambda d_model, heads, d_k, d_v: right(
        d_model, heads, heads * d_k, heads * d_v
    )


@fault
def groups_tiled(attn):
    """Query head h uses key/value head h modulo their number."""
    attn.grouped_heads = lambda Q, K, V, *, mask=None: [
        attn.attention(q, K[h % len(K)], V[h % len(V)], mask=mask).output for h, q in enumerate(Q)
    ]


@fault
def last_group_used(attn):
    """Query heads are numbered from the other end."""
    right = attn.grouped_heads
    attn.grouped_heads = lambda Q, K, V, *, mask=None: right(Q[::-1], K, V, mask=mask)


# --- decoding and tiles -------------------------------------------------------------------------


@fault
def cache_off_by_one(attn):
    """A step attends before its own key is stored (the first excepted)."""

    def step(self, q, k, v):
        if not self.keys:
            self.keys.append(k), self.values.append(v)
            return attn.attention([q], self.keys, self.values).output[0]
        row = attn.attention([q], self.keys, self.values).output[0]
        self.keys.append(k), self.values.append(v)
        return row

    attn.Cache = type("Cache", (attn.Cache,), {"step": step})


@fault
def cache_overwritten(attn):
    """The cache keeps the newest key only."""

    def step(self, q, k, v):
        return attn.attention([q], [k], [v]).output[0]

    attn.Cache = type("Cache", (attn.Cache,), {"step": step})


@fault
def decode_recomputes(attn):
    """Every step computes all rows so far again and keeps the last."""
    attn.decode = lambda Q, K, V: [
        attn.attention(Q[:n], K[:n], V[:n], mask=attn.additive(attn.causal(n, n))).output[-1]
        for n in range(1, len(Q) + 1)
    ]


@fault
def rescale_forgotten(attn):
    """The shift changes, the sums do not."""
    attn.rescaled = lambda part, shift: part._replace(shift=shift)


@fault
def only_total_rescaled(attn):
    """The output is not rescaled."""
    right = attn.rescaled
    attn.rescaled = lambda part, shift: right(part, shift)._replace(output=part.output)


@fault
def rescale_upside_down(attn):
    """The factor is e^(new - old)."""
    right = attn.rescaled
    attn.rescaled = lambda part, shift: right(part, 2 * part.shift - shift)._replace(shift=shift)


@fault
def outputs_averaged(attn):
    """Merging averages the outputs."""
    right = attn.merge

    def merge(a, b, shift=None):
        part = right(a, b, shift)
        return part._replace(output=[x / 2 for x in part.output])

    attn.merge = merge


@fault
def something_seen(attn):
    """The running sum starts at 1."""
    right = attn.nothing_seen
    attn.nothing_seen = lambda d_v: right(d_v)._replace(total=attn.mp.one)


@fault
def shift_not_used(attn):
    """A tile is taken relative to its own maximum, whatever shift it was given."""
    right = attn.partial
    attn.partial = lambda row, V, shift: right(row, V, max(map(attn.mp.convert, row)))._replace(
        shift=attn.mp.convert(shift)
    )


@fault
def last_tile_dropped(attn):
    """A last, smaller tile is left out."""
    attn.tiles = lambda length, tile: (
        [range(start, start + tile) for start in range(0, length - tile + 1, tile)]
        or [range(length)]
    )


@fault
def one_tile(attn):
    """Everything in one tile, whatever the tile size."""
    attn.tiles = lambda length, tile: [range(length)]


@fault
def linear_as_softmax(attn):
    """Kernel attention goes through the softmax."""
    attn.linear_attention = lambda Q, K, V: attn.attention(Q, K, V, scale=1).output


@fault
def dropout_not_rescaled(attn):
    """Kept weights are not divided by 1 - probability."""
    right = attn.dropout
    attn.dropout = lambda A, keep, probability: right(A, keep, type(probability)(0))


# --- gradients ----------------------------------------------------------------------------------


def change_gradients(attn, change):
    """Let `backward` return what `change(gradients, Q, K, mask)` makes of them."""
    right = attn.backward

    def backward(Q, K, V, dO, *, mask=None, scale=None):
        grads = right(Q, K, V, dO, mask=mask, scale=scale)
        weights = attn.attention(Q, K, V, mask=mask, scale=scale).weights
        return grads._replace(**change(grads, weights, len(K[0]), dO))

    attn.backward = backward


@fault
def row_sum_forgotten(attn):
    """dS = A dA, without the row sum."""

    def change(grads, weights, d_k, dO):
        rows = zip(weights, grads.weights)
        return {"scores": [[a * da for a, da in zip(*pair)] for pair in rows]}

    change_gradients(attn, change)


@fault
def gradient_without_scale(attn):
    """dQ and dK without the factor tau."""

    def change(grads, weights, d_k, dO):
        root = attn.mp.sqrt(d_k)
        return {
            "queries": attn.scaled(grads.queries, root),
            "keys": attn.scaled(grads.keys, root),
        }

    change_gradients(attn, change)


@fault
def gradient_of_values_averaged(attn):
    """dV spreads dO evenly over the keys."""

    def change(grads, weights, d_k, dO):
        n = len(grads.values)
        return {"values": attn.scaled(attn.matmul([[1] * len(dO)] * n, dO), attn.mp.one / n)}

    change_gradients(attn, change)


@fault
def gradient_of_weights_doubled(attn):
    """dA twice."""
    change_gradients(attn, lambda grads, *_: {"weights": attn.scaled(grads.weights, 2)})


@fault
def gradient_of_scores_flat(attn):
    """dS = dA, as if softmax had derivative 1."""
    change_gradients(attn, lambda grads, *_: {"scores": grads.weights})


@fault
def gradient_leaks_through_mask(attn):
    """The mask is forgotten on the way back."""
    right = attn.backward

    def backward(Q, K, V, dO, *, mask=None, scale=None):
        return right(Q, K, V, dO, scale=scale)

    attn.backward = backward


# --- positions ----------------------------------------------------------------------------------


@fault
def rotation_with_wrong_sign(attn):
    """u cos + w sin in both components."""
    right = attn.rotate

    def rotate(x, position, base):
        y = right(x, position, base)
        return [attn.mp.convert(x[0]) * y[0], *y[1:]]

    attn.rotate = rotate


@fault
def rotation_of_odd_positions(attn):
    """Only odd positions are rotated."""
    right = attn.rotate
    attn.rotate = lambda x, position, base: right(x, position * (position % 2), base)


@fault
def positions_added(attn):
    """The position is added to the vector instead of rotating it."""
    attn.rotate = lambda x, position, base: [attn.mp.convert(c) + position for c in x]


@fault
def alibi_slope_on_queries(attn):
    """The bias depends on the query's position only."""
    attn.alibi = lambda rows, columns, slope: [[-slope * i] * columns for i in range(rows)]


@fault
def alibi_sign(attn):
    """Distant keys are favoured."""
    right = attn.alibi
    attn.alibi = lambda rows, columns, slope: right(rows, columns, -slope)


@fault
def shift_matrix_transposed(attn):
    """The matrix turns backwards."""
    right = attn.sinusoid_shift
    attn.sinusoid_shift = lambda offset, d, base: right(-offset, d, base)


@fault
def frequencies_by_position(attn):
    """The angle grows with the square of the position."""
    right = attn.sinusoid
    attn.sinusoid = lambda position, d, base: right(position * position, d, base)


# --- rounding -----------------------------------------------------------------------------------


@fault
def fewer_bits(rounded):
    """Everything is computed with three bits less than said."""
    right = rounded._context
    rounded._context = lambda bits: right(bits - 3)


@fault
def rounds_down(rounded):
    """Numbers are stored with the bits after the last cut off."""

    def to_format(x, bits, least_exponent=None):
        x = rounded.mp.convert(x)
        quantum = rounded.mp.mag(x) - bits if x else 0
        if least_exponent is not None:
            quantum = max(least_exponent, quantum)
        unit = rounded.mp.ldexp(rounded.mp.one, quantum)
        return rounded.mp.floor(x / unit) * unit

    rounded.to_format = to_format


@fault
def crude_weights(rounded):
    """Weights that should have `weight_bits` are rounded to three bits less."""
    right = rounded.to_format
    rounded.to_format = lambda x, bits, least_exponent=None: right(
        x, bits - 3 if bits <= 11 else bits, least_exponent
    )


@fault
def weights_kept_wide(rounded):
    """The second rounding of the weights does not happen."""
    right = rounded.attention_row
    rounded.attention_row = lambda q, K, V, bits, *, weight_bits=None, order=(): right(
        q, K, V, bits, order=order
    )


@fault
def tiles_not_rescaled(rounded):
    """Tiles are taken relative to their own maximum and added as they are."""
    right = rounded.tiled_row

    def tiled_row(q, K, V, bits, tile):
        parts = [
            right(q, K[a : a + tile], V[a : a + tile], bits, tile)[0]
            for a in range(0, len(K), tile)
        ]
        return [sum(column) / len(parts) for column in zip(*parts)], len(parts) - 1

    rounded.tiled_row = tiled_row


@fault
def summed_backwards_with_loss(rounded):
    """A sum of several terms loses its first."""
    right = rounded._ordered_sum
    rounded._ordered_sum = lambda terms, order: right(terms[1:] or terms, order)


@fault
def rescales_not_counted(rounded):
    """The number of rescales starts from one."""
    right = rounded.tiled_row

    def tiled_row(*arguments):
        row, rescales = right(*arguments)
        return row, rescales + 1

    rounded.tiled_row = tiled_row
