"""Each check of ``checks/`` refutes at least one fault: none passes whatever it is given."""

from __future__ import annotations

import pytest

from attnproofs.theorems import select
from tests.checks import copies
from tests.checks.broken import FAULTS

# fault -> the checks that must refute it, by chapter
CAUGHT = {
    "rows_times_rows": {"notation": "matmul_entry matmul_example transpose_product score_entry"},
    "last_term_dropped": {
        "notation": "matmul_entry",
        "scaling": "bienayme qk_variance qk_variance_scaled qk_std qk_variance_general "
        "qk_variance_same_vector qk_kurtosis score_gap_variance init_variance",
        "values": "weighted_sum",
        "computation": "flop_count",
    },
    "first_term_doubled": {"notation": "score_entry", "computation": "flop_count decode_cost"},
    "dot_plus_one": {
        "scaling": "qk_mean qk_variance_same_vector",
        "notation": "score_bilinear",
        "heads": "latent_absorb",
        "values": "ov_circuit exact_linear_part",
        "computation": "linear_attention",
    },
    "identity_added": {
        "values": "rank_vo rank_qk head_update_subspace rank_vo_attained ov_circuit",
        "heads": "multihead_rank multihead_rank_attained head_blocks",
    },
    "transpose_reversed": {
        "notation": "transpose_product score_entry orientation_scores",
        "gradients": "grad_queries_keys",
    },
    "not_transposed": {"notation": "score_bilinear orientation_softmax", "heads": "latent_absorb"},
    "residual_forgotten": {"values": "residual", "gradients": "grad_projections"},
    "softmax_in_doubles": {
        "softmax": "softmax_shift softmax_ratio softmax_two_keys softmax_example "
        "lse_gradient entropy_identity",
        "heads": "multihead_formula",
    },
    "softmax_unnormalised": {
        "softmax": "softmax_sum softmax_uniform softmax_example",
        "masking": "mask_renormalises",
        "values": "constant_values convex_bounds value_bias_through duplicate_keys",
        "computation": "tiled_attention",
    },
    "softmax_off_by_one": {
        "softmax": "softmax_sum softmax_shift softmax_uniform softmax_two_keys "
        "tv_tanh_attained max_subtraction",
        "masking": "zero_mask_leaks",
        "values": "single_head_formula key_bias_invisible",
    },
    "softmax_reversed": {
        "softmax": "softmax_order softmax_ratio softmax_saturation softmax_jacobian lse_gradient",
        "masking": "finite_mask_leak",
        "positions": "alibi_distance",
    },
    "hardmax": {
        "softmax": "softmax_positive softmax_order softmax_uniform softmax_jacobian_bound_attained "
        "tv_tanh",
        "masking": "mask_exact_zero finite_mask_leak",
        "computation": "path_length",
        "rounding": "finite_mask_rounding_example attention_error",
    },
    "softmax_sharpened": {
        "softmax": "softmax_ratio softmax_jacobian tv_tanh_attained entropy_identity",
        "rounding": "shift_free attention_error online_error narrow_weights",
    },
    "softmax_by_position": {
        "softmax": "softmax_permutation softmax_order softmax_uniform",
        "values": "permutation_equivariance",
        "masking": "mask_before_softmax",
        "scaling": "temperature_of_a_row scale_is_temperature",
    },
    "softmax_of_sorted": {
        "softmax": "softmax_permutation softmax_order softmax_ratio",
        "masking": "mask_exact_zero mask_before_softmax",
    },
    "softmax_empty_uniform": {"softmax": "softmax_no_kept_key", "masking": "empty_row"},
    "softmax_wrong_axis": {
        "notation": "orientation_attention orientation_softmax",
        "masking": "prefix_property bool_additive mask_renormalises",
        "values": "cross_attention",
        "computation": "kv_cache parallel_training",
    },
    "softmax_columns_wrong_axis": {"notation": "orientation_softmax orientation_attention"},
    "jacobian_diagonal": {
        "softmax": "softmax_jacobian softmax_jacobian_bound softmax_jacobian_null "
        "softmax_jacobian_bound_attained softmax_jacobian_variance"
    },
    "jacobian_sign": {"softmax": "softmax_jacobian softmax_jacobian_variance"},
    "jacobian_without_delta": {
        "softmax": "softmax_jacobian softmax_jacobian_bound softmax_jacobian_null"
    },
    "logsumexp_of_mean": {"softmax": "lse_bounds entropy_identity max_subtraction"},
    "logsumexp_doubled_shift": {"softmax": "lse_gradient lse_bounds"},
    "entropy_in_bits": {
        "softmax": "entropy_identity entropy_temperature",
        "rounding": "shift_free",
    },
    "zero_for_never": {
        "masking": "mask_exact_zero mask_renormalises mask_ignores_masked_keys causal_first_row "
        "causal_no_future padding_invariance prefix_property post_mask_sum bool_additive "
        "empty_row",
        "computation": "kv_cache parallel_training",
        "values": "convex_bounds",
    },
    "one_for_kept": {"masking": "mask_and bool_additive mask_exact_zero"},
    "finite_for_never": {"masking": "mask_exact_zero mask_ignores_masked_keys empty_row mask_and"},
    "mask_polarity": {"masking": "mask_exact_zero mask_and", "values": "single_head_formula"},
    "mask_after_softmax": {
        "masking": "mask_renormalises mask_ignores_masked_keys padding_invariance post_mask_sum "
        "causal_first_row",
        "values": "constant_values",
        "heads": "multihead_formula",
    },
    "mask_ignored": {
        "masking": "mask_exact_zero causal_no_future",
        "computation": "kv_cache",
        "gradients": "grad_masked",
    },
    "column_mask_not_transposed": {"notation": "orientation_attention"},
    "causal_strict": {"masking": "causal_count", "computation": "kv_cache"},
    "causal_one_ahead": {
        "masking": "causal_count causal_first_row causal_no_future prefix_property",
        "computation": "kv_cache parallel_training",
    },
    "window_one_wider": {"masking": "window_band"},
    "window_both_sides": {"masking": "window_band"},
    "scale_forgotten": {
        "scaling": "qk_variance_scaled qk_std score_gap_variance scale_value init_variance",
        "values": "single_head_formula",
    },
    "scale_by_dimension": {"scaling": "qk_variance_scaled qk_std score_gap_variance scale_value"},
    "scale_argument_ignored": {"scaling": "scale_is_temperature scale_absorbed"},
    "keys_and_queries_swapped": {
        "notation": "score_entry score_bilinear orientation_scores",
        "values": "single_head_formula",
    },
    "scores_of_moved_queries": {"values": "gauge permutation_equivariance"},
    "scores_plus_identity": {"values": "rank_qk", "notation": "score_entry"},
    "last_key_forgotten": {"notation": "score_entry shapes", "computation": "score_count"},
    "keys_as_values": {"values": "weighted_sum constant_values ov_circuit"},
    "values_averaged": {"values": "weighted_sum", "computation": "path_length"},
    "weights_transposed": {"values": "weighted_sum", "computation": "kv_cache"},
    "output_not_renormalised": {"values": "convex_bounds constant_values value_bias_through "},
    "source_ignored": {"values": "single_head_formula cross_attention"},
    "columns_interleaved": {"heads": "head_blocks multihead_rank"},
    "rows_interleaved": {"heads": "concat_sum concat_sum_exact"},
    "heads_joined_interleaved": {"heads": "concat_sum concat_sum_exact"},
    "heads_joined_reversed": {"heads": "concat_sum concat_sum_exact"},
    "head_order_lost": {"heads": "head_blocks"},
    "row_block_order_lost": {"heads": "concat_sum concat_sum_exact"},
    "first_head_only": {"heads": "head_blocks"},
    "scale_by_model_width": {"heads": "concat_sum multihead_formula"},
    "output_bias": {"heads": "single_head_case concat_sum multihead_formula"},
    "head_weighted_by_position": {"heads": "head_permutation"},
    "multihead_mask_ignored": {"heads": "multihead_formula", "masking": "causal_no_future"},
    "output_weights_of_keys": {"heads": "parameter_count", "notation": "shapes"},
    "shapes_per_head": {"heads": "parameter_count"},
    "groups_tiled": {"heads": "gqa_tied"},
    "last_group_used": {"heads": "gqa_tied mqa_case"},
    "cache_off_by_one": {"computation": "kv_cache decode_cost"},
    "cache_overwritten": {"computation": "kv_cache decode_cost"},
    "decode_recomputes": {"computation": "decode_cost"},
    "rescale_forgotten": {"computation": "online_softmax tiled_attention merge_monoid"},
    "only_total_rescaled": {"computation": "online_softmax tiled_attention merge_monoid"},
    "rescale_upside_down": {"computation": "online_softmax tiled_attention merge_monoid"},
    "outputs_averaged": {"computation": "merge_monoid tiled_attention"},
    "something_seen": {"computation": "merge_monoid online_softmax tiled_attention"},
    "shift_not_used": {"computation": "online_softmax tiled_attention"},
    "last_tile_dropped": {"computation": "tiled_attention tile_memory"},
    "one_tile": {"computation": "tile_memory"},
    "linear_as_softmax": {"computation": "linear_attention"},
    "dropout_not_rescaled": {"computation": "dropout_unbiased"},
    "row_sum_forgotten": {"gradients": "grad_scores grad_vanishes"},
    "gradient_without_scale": {"gradients": "grad_queries_keys grad_projections"},
    "gradient_of_values_averaged": {"gradients": "grad_values grad_masked grad_projections"},
    "gradient_of_weights_doubled": {"gradients": "grad_weights grad_delta"},
    "gradient_of_scores_flat": {"gradients": "grad_scores grad_vanishes grad_masked"},
    "gradient_leaks_through_mask": {"gradients": "grad_scores grad_masked grad_queries_keys"},
    "rotation_with_wrong_sign": {"positions": "rope_relative rope_norm"},
    "rotation_of_odd_positions": {"positions": "rope_relative rope_norm"},
    "positions_added": {"positions": "rope_relative rope_norm"},
    "alibi_slope_on_queries": {"positions": "alibi_shift alibi_distance"},
    "alibi_sign": {"positions": "alibi_shift alibi_distance"},
    "shift_matrix_transposed": {"positions": "sinusoid_shift"},
    "frequencies_by_position": {"positions": "sinusoid_shift"},
    "fewer_bits": {"rounding": "dot_error format_nearest"},
    "rounds_down": {"rounding": "format_nearest finite_mask_rounding "},
    "crude_weights": {"rounding": "narrow_weights format_nearest"},
    "weights_kept_wide": {"rounding": "narrow_weights_not_centred"},
    "tiles_not_rescaled": {"rounding": "online_error"},
    "summed_backwards_with_loss": {"rounding": "dot_error attention_error"},
    "rescales_not_counted": {"rounding": "online_error"},
}

PAIRS = [
    (fault, chapter, check)
    for fault, chapters in CAUGHT.items()
    for chapter, names in chapters.items()
    for check in names.split()
]


@pytest.mark.parametrize(
    ("fault", "chapter", "check"), [pytest.param(*pair, id="-".join(pair)) for pair in PAIRS]
)
def test_the_check_refutes_the_fault(fault, chapter, check):
    function = copies.checks(chapter)[check]
    # some faults show before the comparison: as lengths that do not match, as a row without keys,
    # or as an error that should have been raised
    refused = (AssertionError, ValueError, ZeroDivisionError, pytest.fail.Exception)
    with copies.broken(FAULTS[fault]), pytest.raises(refused):
        function()


def test_every_check_refutes_something():
    refuting = {(chapter, check) for _, chapter, check in PAIRS}
    there = {(c, check) for c in copies.chapters() for check in copies.checks(c)}
    assert there - refuting == set(), "these checks were never seen to fail"
    assert refuting <= there


def test_every_fault_is_refuted():
    assert set(CAUGHT) == set(FAULTS)


def test_the_copy_is_mended_afterwards():
    attn = copies.load("attention_mp")
    before = dict(vars(attn))
    for fault in FAULTS.values():
        with copies.broken(fault):
            pass
    assert vars(attn) == before
    copies.checks("softmax")["softmax_sum"]()


def test_every_theorem_has_a_check_of_its_own():
    """Under its name, in its chapter; a lemma is confirmed by the suite of every theorem alone."""
    theorems = {(t.chapter, t.id) for t in select(()) if not t.lemma}
    there = {(c, check) for c in copies.chapters() for check in copies.checks(c)}
    assert len(theorems) >= 13 and theorems - there == set()
