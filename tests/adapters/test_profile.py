"""Profiles: every packaged one is whole, and a wrong file says what is wrong."""

from __future__ import annotations

import pytest

from attnproofs.contract.migrate import changes
from attnproofs.contract.profile import CONVENTIONS, load_profile, profile_names, profile_text
from attnproofs.errors import InputError

ISSUE = [
    "strict",
    "torch-sdpa",
    "torch-mha",
    "torch-flex",
    "flash-attn-2.1",
    "xformers-lower-triangular",
    "xformers-bottom-right",
    "jax",
    "flax",
    "keras",
    "keras-mha",
    "onnx-23",
    "onnx-24",
    "onnxruntime",
    "mlx",
    "hf-eager",
    "hf-sdpa",
    "onnx-23-as-shipped",
    "onnx-24-as-shipped",
]


@pytest.mark.parametrize("name", profile_names())
def test_every_answer_has_a_source(name):
    profile = load_profile(name)
    assert profile.name == name and set(profile.entries) == set(CONVENTIONS)
    for question, entry in profile.entries.items():
        assert entry.value == getattr(profile, question)
        assert entry.source and entry.how
        if "measured" in entry.how and entry.how == ("measured",):
            assert any(c.isdigit() for c in entry.source), f"{question}: which version?"


def test_the_libraries_are_there():
    assert set(ISSUE) <= set(profile_names())


def test_as_shipped_differs_from_as_corrected():
    wrong = load_profile("onnx-23-as-shipped").differences(load_profile("onnx-23"))
    assert {"softcap", "grouped_heads", "empty_row_bool"} <= set(wrong)


def test_diff_advises_on_every_difference():
    for first in profile_names():
        for second in profile_names():
            for change in changes(load_profile(first), load_profile(second)):
                assert change.advice and change.before != change.after
    guide = {c.question: c.advice for c in changes(load_profile("torch-mha"), load_profile("jax"))}
    assert guide["bool_mask"] == "invert every boolean mask: attn_mask=~attn_mask"
    assert "layout" not in guide


def _write(tmp_path, text):
    path = tmp_path / "mine.toml"
    path.write_text(text, "utf-8")
    return str(path)


HEAD = 'format = 1\nextends = "strict"\nname = "mine"\ntitle = "t"\nlibrary = "l"\nversion = "1"\n'


def test_a_profile_of_ones_own(tmp_path):
    answer = 'bool_mask = { value = "masked", how = ["definition"], source = "me" }'
    profile = load_profile(_write(tmp_path, f"{HEAD}[conventions]\n{answer}\n"))
    assert profile.bool_mask == "masked" and profile.layout == "BHLD"
    assert profile.differences(load_profile("strict")) == ["bool_mask"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = [", "not valid TOML"),
        ('name = "a"', "expected 'format = 1'"),
        (HEAD.replace('extends = "strict"\n', ""), "no answer for layout"),
        (HEAD + "colour = 1", "unknown key 'colour'"),
        (HEAD.replace('title = "t"', "title = 3"), "'title' must be a non-empty string"),
        (HEAD + "[conventions]\nmask = 1", "unknown convention 'mask'"),
        (HEAD + "[conventions]\nbool_mask = 'attend'", "expected { value ="),
        (
            HEAD + "[conventions]\nbool_mask={value='yes',how=['measured'],source='s'}",
            "'yes' is not one of attend, masked",
        ),
        (
            HEAD + "[conventions]\nbool_mask={value='attend',how=['guess'],source='s'}",
            "'how' must be a list of definition",
        ),
        (
            HEAD + "[conventions]\nbool_mask={value='attend',how=['source'],source=''}",
            "'source' must be a non-empty string",
        ),
        (HEAD.replace('"strict"', '"mine.toml"'), "it extends itself"),
        (HEAD.replace('"strict"', '"strikt"'), "did you mean strict?"),
        (HEAD.replace('extends = "strict"', "extends = 3"), "'extends' must be"),
    ],
)
def test_a_wrong_file_says_what_is_wrong(tmp_path, text, message):
    with pytest.raises(InputError) as caught:
        load_profile(_write(tmp_path, text))
    assert message in str(caught.value)


def test_no_such_profile(tmp_path):
    with pytest.raises(InputError, match="no profile 'torch'; "):
        load_profile("torch")
    with pytest.raises(InputError, match="no profile file"):
        load_profile(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="cannot be read as UTF-8"):
        load_profile(tmp_path / "bytes.toml")
    with pytest.raises(InputError, match="no profile"):
        profile_text("nothing")
