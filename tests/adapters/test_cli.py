"""``attnproofs identify`` and ``attnproofs profiles`` as a user types them."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from attnproofs.cli import cli, main
from attnproofs.contract.profile import CONVENTIONS, profile_names

SOURCE = """
from attnproofs.adapters import numpy_attention

def bottom_right(query, key, value, *, attn_mask=None, is_causal=False):
    import numpy as np
    rows, cols = query.shape[-2], key.shape[-2]
    keep = np.tri(rows, cols, cols - rows, dtype=bool) if is_causal else np.ones((1, 1), bool)
    if attn_mask is not None:
        keep = keep & attn_mask
    return numpy_attention.sdpa(query, key, value, attn_mask=keep)

def positional(query):
    return query

number = 3
"""


@pytest.fixture
def mine(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(SOURCE, "utf-8")
    return str(path)


def _run(*words):
    return CliRunner().invoke(cli, list(words), catch_exceptions=True)


def test_identify_names_the_profile_and_each_difference_with_its_probe(mine):
    done = _run("identify", f"{mine}:bottom_right", "--profile", "strict")
    assert done.exit_code == 0, done.output
    assert "profile: strict" in done.output
    assert "causal_alignment: is_causal when L and S differ" in done.output
    assert "here     bottom-right: the last query stands at the last key" in done.output
    lines = [line.strip() for line in done.output.splitlines()]
    at = lines.index("f(q, k, v, is_causal=True)")
    assert lines[at - 1].startswith("q, k, v = np.zeros(")


def test_identify_as_json(mine):
    done = _run("identify", f"{mine}:bottom_right", "--json")
    data = json.loads(done.output)
    assert data["version"] == 1 and set(data["conventions"]) == set(CONVENTIONS)
    assert data["conventions"]["causal_alignment"]["value"] == "bottom-right"
    assert set(data["distances"]) == set(profile_names())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["identify", "{mine}:nothing"], "has no 'nothing'"),
        (["identify", "{mine}:number"], "is a int, not a function"),
        (["identify", "{mine}:positional"], "a plain call fails"),
        (["identify", "{mine}"], "names no callable"),
        (["identify", "numpy-refrence"], "did you mean numpy-reference?"),
        (["identify", "numpy-reference", "--level", "flash"], "does not claim level 'flash'"),
        (["identify", "numpy-reference", "--dtype", "float33"], "no dtype 'float33'"),
        (["identify", "numpy-reference", "--profile", "torch"], "no profile 'torch'"),
        (["identify", "numpy-reference", "--arrays", "torch"], "converts its own arrays"),
        (["identify", "{mine}:bottom_right", "--arrays", "cupy"], "no array kind 'cupy'"),
        (["identify", "{mine}:bottom_right", "--device", "cuda"], "without the kind of arrays"),
        (["profiles", "show", "nothing"], "no profile 'nothing'"),
        (["profiles", "diff", "jax", "nothing.toml"], "no profile file nothing.toml"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_2(mine, words, message, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["attnproofs", *(w.format(mine=mine) for w in words)])
    with pytest.raises(SystemExit) as ended:
        main()
    seen = capsys.readouterr()
    assert ended.value.code == 2 and message in seen.err and "Traceback" not in seen.err


def test_profiles_prints_every_profile_and_convention():
    done = _run("profiles")
    assert done.exit_code == 0
    squeezed = "".join(done.output.split())
    assert all(name in squeezed for name in (*CONVENTIONS, "torch-sdpa", "flash-attn-2.1"))
    data = json.loads(_run("profiles", "--json").output)
    assert set(data["profiles"]) == set(profile_names())


def test_show_says_how_each_answer_is_known():
    done = _run("profiles", "show", "torch-mha")
    for word in ("documentation", "measured", "torch 2.13.0+cpu", "PyTorch nn.MultiheadAttention"):
        assert word in done.output
    assert _run("profiles", "show", "strict", "--toml").output.startswith("# The default")


def test_diff_is_a_migration_guide():
    done = _run("profiles", "diff", "torch-sdpa", "jax")
    assert done.exit_code == 0
    assert "-> swap the axes of query, key and value: x.swapaxes(1, 2)" in done.output
    assert "agree wherever both are known" in _run("profiles", "diff", "jax", "jax").output


def test_adapters_lists_what_is_there_and_what_installs_the_rest():
    done = _run("adapters")
    assert done.exit_code == 0 and "attnproofs[keras]" in done.output
    data = {a["name"]: a for a in json.loads(_run("adapters", "--json").output)["adapters"]}
    assert data["numpy-reference"] == {
        "name": "numpy-reference",
        "installed": True,
        "requirement": "attnproofs",
    }
    assert data["mlx-sdpa"]["requirement"] == "attnproofs[mlx]"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def f(:", "SyntaxError"),
        ("import no_such_module_at_all", "No module named 'no_such_module_at_all'"),
        ("raise RuntimeError('no GPU')", "RuntimeError: no GPU"),
    ],
)
def test_a_module_that_cannot_be_loaded(tmp_path, source, message, monkeypatch, capsys):
    path = tmp_path / "broken.py"
    path.write_text(source, "utf-8")
    monkeypatch.setattr("sys.argv", ["attnproofs", "identify", f"{path}:f"])
    with pytest.raises(SystemExit) as ended:
        main()
    seen = capsys.readouterr()
    assert ended.value.code == 2 and message in seen.err and "broken.py, line 1" in seen.err
