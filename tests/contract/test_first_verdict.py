"""The first thing a user does: audit a function in a file, read the verdict, paste the code."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from click.testing import CliRunner

import attnproofs
from attnproofs.cli import cli
from attnproofs.contract.api import audit

PLAIN = """
import math
import numpy as np
def scaled_dot_product_attention(query, key, value, *, attn_mask=None, is_causal=False, scale=None):
    if scale is None:
        scale = 1 / math.sqrt(query.shape[-1])
    scores = query @ np.swapaxes(key, -2, -1) * scale
    if is_causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)
    if attn_mask is not None and attn_mask.dtype == bool:
        scores = np.where(attn_mask, scores, -np.inf)
    elif attn_mask is not None:
        scores = scores + attn_mask
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ value
"""
MASK_AFTER = PLAIN.replace(
    "        scores = np.where(attn_mask,", "        np.where(attn_mask,"
).replace(
    "    return e / e.sum(-1, keepdims=True) @ value",
    "    w = e / e.sum(-1, keepdims=True)\n"
    "    return (w if attn_mask is None else w * attn_mask) @ value",
)
ENV = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(attnproofs.__file__))}
NAME = "scaled_dot_product_attention"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder to work in, with a function to write a module into it."""
    monkeypatch.chdir(tmp_path)

    def write(source, name="mine.py"):
        (tmp_path / name).write_text(textwrap.dedent(source))
        return f"{name}:{NAME}"

    return write


def paste(code):
    """Run code in a fresh interpreter."""
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=ENV
    )


def test_plain_function_holds_what_it_claims_and_names_what_it_does_not(here):
    report = audit(here(PLAIN), mode="quick", dtypes=["float64"])
    names = {f.property for f in report.violated}
    held = {f.property for f in report.held}
    assert {"empty_row", "masked_value_nan", "zero_lengths"} <= names
    assert {"kept_set", "causal_kept_set", "default_scale", "boolean_is_additive"} <= held
    assert not names & {"kept_set", "causal_kept_set", "causal_alignment", "plain_formula"}
    assert report.exit_status == 1


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        (PLAIN.replace("-np.inf", "-1e4"), "masking_at_any_level"),
        (MASK_AFTER, "kept_set"),
    ],
)
def test_faulty_mask_is_named_with_a_counterexample_of_at_most_two_by_two(here, source, cause):
    report = audit(here(source), mode="quick", dtypes=["float64"])
    finding = next(f for f in report.causes if f.property == cause)
    assert finding.theorem == "mask_exact_zero"
    assert all(n <= 2 for shape in finding.case.size().values() for n in shape)
    run = paste(finding.code)
    assert run.returncode != 0
    assert "AssertionError" in run.stderr


def test_command_line_prints_the_cause_saves_it_and_reproduces_it(here):
    target = here(MASK_AFTER)
    run = CliRunner()
    first = run.invoke(
        cli, ["audit", target, "--mode", "quick", "--json", "r.json"], standalone_mode=False
    )
    assert first.return_value == 1, first.output
    assert "violated: kept_set" in first.output
    report = json.loads(Path("r.json").read_text())
    assert report["version"] == 1
    assert report["verdict"] == "violated"
    saved = next(f["id"] for f in report["findings"] if f["property"] == "kept_set")
    again = run.invoke(cli, ["reproduce", saved], standalone_mode=False)
    assert again.return_value == 1
    assert again.output.startswith(f"FAILED {saved}")
    here(PLAIN)
    fixed = run.invoke(cli, ["reproduce", saved], standalone_mode=False)
    assert fixed.return_value == 0
    assert fixed.output.startswith(f"FIXED {saved}")
    here("x = 1\n")
    broken = run.invoke(cli, ["reproduce", saved], standalone_mode=False)
    assert broken.return_value == 2
    assert broken.output.startswith(f"ERROR {saved}")


MISTAKES = {
    "nowhere.py:f": "no file nowhere.py",
    "mine.py": "names no callable",
    "mine.py:attenton": "did you mean attention",
    "mine.py:NUMBER": "is a int, not a function",
    "no_such_module:f": "no module named 'no_such_module'",
    "numpy-referense": "did you mean numpy-reference",
    "mine.py:two": "takes 2 positional arguments",
    "mine.py:needs": "requires temperature",
    "mine.py:raises": "raises ValueError: not today",
    "mine.py:wrong_shape": "returns an array of shape (1,)",
    "mine.py:nothing": "returns None",
    "mine.py:pair": "use --level weights",
}
MINE = """
import numpy as np
NUMBER = 3
def attention(query, key, value): return value
def two(query, key): return query
def needs(query, key, value, *, temperature): return value
def raises(query, key, value): raise ValueError("not today")
def wrong_shape(query, key, value): return np.zeros(1)
def nothing(query, key, value): return None
def pair(query, key, value): return value, value
"""


@pytest.mark.parametrize("target", MISTAKES)
def test_a_users_mistake_gets_one_sentence_and_status_two(here, target):
    here(MINE)
    run = subprocess.run(
        [sys.executable, "-m", "attnproofs", "audit", target, "--no-save"],
        capture_output=True,
        text=True,
        check=False,
        env=ENV,
    )
    assert run.returncode == 2
    assert "Traceback" not in run.stdout + run.stderr
    assert MISTAKES[target] in " ".join((run.stdout + run.stderr).split())
