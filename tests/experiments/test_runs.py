"""Every experiment agrees with its prediction, and a wrong prediction is noticed."""

import dataclasses
import json

import pytest
from click.testing import CliRunner

from attnproofs.cli import cli
from attnproofs.experiments.runs import EXPERIMENTS, count_scores

SEED = 20170612


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.id)
def test_prediction_and_measurement_agree(experiment):
    """Each row lies within four standard errors of its prediction, or equals it."""
    rows = experiment.run(SEED)

    assert rows
    assert [row.quantity for row in rows if not row.agrees] == []


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.id)
def test_a_prediction_ten_per_cent_off_is_noticed(experiment):
    """The statistical errors are small enough that a wrong prediction shows."""
    for row in experiment.run(SEED):
        if row.predicted:
            assert not dataclasses.replace(row, predicted=1.1 * row.predicted).agrees


def test_the_usual_figures():
    """d_k = 64: standard deviation 8, scaled 1; zero masks leak, -inf masks never."""
    by_quantity = {row.quantity: row for e in EXPERIMENTS for row in e.run(SEED)}

    assert by_quantity["standard deviation of q·k"].predicted == 8
    assert by_quantity["standard deviation of q·k/√d_k"].predicted == 1
    assert by_quantity["largest weight on the future, mask = -∞"].measured == 0.0
    assert by_quantity["mean weight on the future, mask = 0"].measured > 0.4


def test_counting_counts():
    """Operations are counted by doing them: T² dot products of d_k terms."""
    assert count_scores(3, 4) == (9, 36, 27)


def test_command_prints_seed_and_is_deterministic():
    """The same seed gives the same bytes; the seed is in the output; exit 0."""
    first, second = (
        CliRunner().invoke(cli, ["experiments", "scores", "--seed", "5"], standalone_mode=False)
        for _ in range(2)
    )

    assert first.return_value == 0
    assert "seed 5" in first.output
    assert first.output == second.output


def test_command_json():
    """`--json` is a versioned document with every row."""
    result = CliRunner().invoke(cli, ["experiments", "--json"], standalone_mode=False)
    document = json.loads(result.output)

    assert document["version"] == 1
    assert document["seed"] == SEED
    assert [e["id"] for e in document["experiments"]] == [e.id for e in EXPERIMENTS]
    assert all(row["agrees"] for e in document["experiments"] for row in e["rows"])


def test_unknown_experiment_is_one_sentence():
    """A misspelt name says what exists."""
    result = CliRunner().invoke(cli, ["experiments", "score"], standalone_mode=False)

    assert "no experiment is called 'score'; expected one of scores, entropy" in str(
        result.exception
    )
