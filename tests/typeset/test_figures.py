"""Each figure: its data agree with theory, it draws, and the same call gives the same bytes."""

import math

import numpy as np
import pytest
from click.testing import CliRunner

from attnproofs.cli import cli
from attnproofs.typeset.figures import (
    FORMATS,
    all_figures,
    flows,
    kernels,
    layouts,
    masks,
    scores,
    streaming,
)
from attnproofs.typeset.figures.captions import CAPTIONS

pytest.importorskip("matplotlib", reason="figures are an extra: pip install 'attnproofs[plots]'")

LANGUAGES = {"en", "ko"}


@pytest.fixture(scope="module")
def saturation():
    return scores.saturation_data()


def test_variance_points_lie_on_the_lines():
    """Raw variance is d_k and scaled variance 1, within four standard errors at every point."""
    data = scores.variance_data()
    d_k = np.array(data.d_k)

    assert data.d_k == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]
    assert (abs(data.raw / d_k - 1) < 4 * data.relative_error).all()
    assert (abs(data.scaled - 1) < 4 * data.relative_error).all()
    # the errors are small enough to tell d_k from its neighbours: a wrong line would show
    assert (data.relative_error < 0.05).all()


def test_entropy_points_lie_on_the_predicted_lines(saturation):
    """Measured mean entropies agree with the integral within four standard errors."""
    for d_k in saturation.d_k:
        predicted = saturation.predicted_entropy[d_k][::2]
        assert list(saturation.scale[::2]) == list(saturation.measured_scale)
        gap = abs(predicted - saturation.measured_entropy[d_k])
        assert (gap < 4 * saturation.entropy_error[d_k]).all()


def test_largest_weight_respects_the_bound(saturation):
    """The saturation bound is a theorem, so it holds for every row and hence for the means."""
    for d_k in saturation.d_k:
        assert (saturation.largest_weight[d_k] >= saturation.bound[d_k] - 1e-12).all()
        assert (np.diff(saturation.largest_weight[d_k]) > 0).all()


def test_jacobian_points_lie_on_the_parabola():
    """Row sums by central differences are 2p(1-p), and reach neither side of [0, 1/2]."""
    data = scores.jacobian_data()

    assert len(data.p) == 72
    assert data.row_sum == pytest.approx(2 * data.p * (1 - data.p), abs=1e-8)
    assert data.row_sum.max() <= 0.5
    assert data.p.min() < 0.01
    assert data.p.max() > 0.95


def test_masks_keep_what_their_definitions_say():
    """Counts: T(T+1)/2, T(T-p), Σ min(i, w), Σ n(n+1)/2; no row is empty."""
    keep = masks.mask_data()
    t = masks.TOKENS

    assert keep["causal"].sum() == t * (t + 1) // 2
    assert keep["padding"].sum() == t * (t - masks.PADDED)
    assert keep["window"].sum() == sum(min(i, masks.WINDOW) for i in range(1, t + 1))
    assert keep["document"].sum() == sum(n * (n + 1) // 2 for n in masks.DOCUMENTS)
    assert all(mask.any(axis=1).all() for mask in keep.values())


def test_orientations_are_transposes_of_each_other():
    """Each matrix on the right has the transposed shape of its counterpart; products fit."""
    data = layouts.layout_data()

    for row, column in zip(data["rows"], data["columns"], strict=True):
        assert (column.result.rows, column.result.columns) == row.result.transposed
        for stage in (row, column):
            assert stage.left.columns == stage.right.rows
            assert (stage.result.rows, stage.result.columns) == (
                stage.left.rows,
                stage.right.columns,
            )
        # (AB)^T = B^T A^T: the factors change places
        assert (column.left.rows, column.left.columns) == row.right.transposed
        assert (column.right.rows, column.right.columns) == row.left.transposed


SIZES = {"T": 5, "d_model": 7, "d_k": 3, "d_v": 2, "H d_v": 6}
HEADS = 3


@pytest.mark.parametrize("nodes", [flows.single_head_data(), flows.multi_head_data()])
def test_shapes_on_the_arrows_are_those_of_the_computation(nodes):
    """Run the drawn graph on arrays: every node has the shape that its arrows carry."""
    values = {}
    generator = np.random.default_rng(3)
    for node in nodes:
        inputs = [values[name] for name in node.inputs]
        shape = tuple(SIZES[axis] for axis in node.shape)
        match node.op:
            case "input":
                value = generator.standard_normal(shape)
            case "weight":
                value = inputs[0] @ generator.standard_normal((inputs[0].shape[1], shape[1]))
            case "matmul":
                value = inputs[0] @ inputs[1]
            case "matmul_transposed":
                value = inputs[0] @ inputs[1].T
            case "attention_weights":
                value = scores.softmax(inputs[0] @ inputs[1].T)
            case "softmax":
                value = scores.softmax(inputs[0])
            case "scale" | "mask":
                value = inputs[0]
            case "concat":
                value = np.concatenate(inputs * HEADS, axis=1)
            case "add":
                value = inputs[0] + inputs[1]
        assert value.shape == shape, node.id
        values[node.id] = value


def test_tiles_reproduce_the_full_sum():
    """Carried plus added after the last tile is the sum of all exponentials, to rounding."""
    data = streaming.tile_data()
    top = data.scores.max()

    assert data.maximum == [1.4, 2.2, 2.2, 3.0]
    assert data.carried[-1] + data.added[-1] == pytest.approx(np.exp(data.scores - top).sum())
    for k in range(1, 4):
        before = data.carried[k - 1] + data.added[k - 1]
        assert data.carried[k] == pytest.approx(before * data.factor[k])
        assert data.factor[k] == pytest.approx(math.exp(data.maximum[k - 1] - data.maximum[k]))


def test_cache_computes_one_row_a_step():
    """Step t computes t scores; nothing above the diagonal is ever computed."""
    data = streaming.cache_data()

    assert (data.state == 2).sum() == data.now
    assert (data.state == 1).sum() == data.now * (data.now - 1) // 2
    assert (data.state == 0).sum() == data.steps * (data.steps - 1) // 2


def test_right_kernels_stay_inside_their_allowance_and_the_wrong_one_does_not():
    """Every length: the two right kernels are consistent, the wrong scale is rejected."""
    data = kernels.error_data()
    *right, wrong = data.largest

    for name in right:
        assert max(data.largest[name]) < 1
        assert set(data.verdicts[name]) == {"CONSISTENT"}
        assert all(m <= x for m, x in zip(data.median[name], data.largest[name], strict=True))
    assert min(data.largest[wrong]) > 1
    assert set(data.verdicts[wrong]) == {"REJECT"}


def test_every_figure_has_words_in_every_language():
    """Captions and alt texts exist, for drawn figures only, and differ between languages."""
    assert set(CAPTIONS) == set(all_figures())
    for figure in all_figures().values():
        for words in (figure.caption, figure.alt):
            assert set(words) == LANGUAGES
            assert all(text.strip() for text in words.values())
            assert words["en"] != words["ko"]


@pytest.mark.parametrize(
    "name", sorted(set(all_figures()) - {"figure_saturation", "figure_error_allowance"})
)
def test_same_bytes_whatever_the_user_configured(name):
    """Drawing twice gives the same bytes in all formats, also under another matplotlib style."""
    import matplotlib

    figure = all_figures()[name]
    first = figure.render(*FORMATS)
    with matplotlib.rc_context({"font.size": 30, "svg.hashsalt": None, "axes.grid": False}):
        second = figure.render(*FORMATS)

    assert first == second
    assert [content[:4] for content in first[:2]] == [b"%PDF", b"\x89PNG"]
    assert b"CreationDate" not in first[0]


def test_command_writes_pdf_and_png(tmp_path):
    """`attnproofs figures NAME -o DIR` writes both formats and prints the paths."""
    result = CliRunner().invoke(
        cli, ["figures", "figure_masks", "-o", str(tmp_path / "new")], standalone_mode=False
    )

    assert result.exception is None
    written = sorted(path.name for path in (tmp_path / "new").iterdir())
    assert written == ["figure_masks.pdf", "figure_masks.png"]
    assert "figure_masks.pdf" in result.output


def test_unknown_figure_is_one_sentence():
    """A misspelt figure names the ones that exist and writes nothing."""
    result = CliRunner().invoke(cli, ["figures", "figure_mask"], standalone_mode=False)

    assert "no figure is called 'figure_mask'; expected one of figure_qk" in str(result.exception)
