"""Which properties an expert would accept as the name of a mutant's cause."""

from fnmatch import fnmatchcase

# cause (attnproofs.mutants.CAUSES) -> patterns of properties
NAMES = {
    "masked-weight": (
        *("kept_set", "block_diagonal_mask", "band_mask", "masked_have_no_influence"),
        *("masking_at_any_level", "zero_scores_stay_visible", "boolean_is_additive"),
    ),
    "masked-value": ("masked_*", "*_key_nan", "*_value_nan"),
    "additive-mask": ("additive_*", "boolean_is_additive"),
    "mask-shape": ("mask_broadcast*", "kept_set", "band_mask", "block_diagonal_mask"),
    "mask-and-causal": ("mask_and_causal",),
    "causal": ("causal*", "kept_set", "first_step", "later_tokens", "matches_forward"),
    "causal-alignment": ("causal_alignment", "causal_single_query"),
    "empty-row": ("empty_row*", "zero_lengths"),
    "shift": (
        *("shift*", "rising_scores", "long_rows*", "additive_row_constant", "saturation"),
        *("causal_at_any_level", "place_of_the_largest", "two_scores", "masking_at_any_level"),
    ),
    "row-sum": (
        *("single_*", "every_key_counts", "zero_queries_average", "constant_values"),
        *("convex_bounds", "equal_scores", "two_scores", "*weights_sum_to_one", "*accuracy"),
        *("kept_set", "heads_independent"),
    ),
    "all-keys": (
        *("every_key_counts", "every_token_counts", "duplicate_keys", "rectangular", "single_key"),
        *("long_rows*", "zero_scores_stay_visible"),
    ),
    "tiling": ("rising_scores", "every_key_counts", "long_rows*", "*_at_any_level", "shift*"),
    "key-order": ("key_order", "every_key_counts"),
    "accuracy": ("*accuracy", "saturation", "two_scores"),
    "default-scale": ("default_scale", "single_key", "constant_values"),
    "given-scale": ("given_scale", "zero_scale", "negative_scale"),
    "scores": ("plain_formula", "square_keys", "default_scale"),
    "head-map": ("grouped_heads", "heads_independent", "batch_and_heads"),
    "heads": ("heads_*", "coinciding_sizes", "single_token"),
    "batch": ("batch_*", "heads_independent"),
    "projection": ("scores_from_projections", "cross_attention", "single_token"),
    "bias": ("*_bias", "all_biases"),
    "layout": ("memory_layout",),
    "inputs": ("inputs_unchanged",),
    "shape": ("result_*", "rectangular", "zero_lengths", "plain_call", "*_key*"),
    "repeat": ("same_answer*",),
    "decode": ("kept_set", "matches_forward", "zero_tokens", "first_step"),
    "returned-weights": ("*weights*",),
    "returned-lse": ("*lse*", "split_and_merge"),
    "axis": ("given_axis", "default_axis", "single_score", "equal_scores"),
    "gradient": (
        *("value_*", "query_and_key_gradients", "coinciding_sizes", "any_level"),
        *("grouped_heads", "constant_values", "saturation", "heads_and_batch"),
    ),
    "masked-gradient": ("causal*", "hidden_nan"),
    "softcap": ("softcap_*",),
    "sink": ("sink_*",),
    "alibi": ("alibi_*",),
    "window": ("window_*",),
    "packed": ("varlen_*",),
    "dropout": ("dropout_*",),
}


def fits(cause, name):
    """Whether the property called `name` names that cause."""
    return any(fnmatchcase(name, pattern) for pattern in NAMES[cause])
