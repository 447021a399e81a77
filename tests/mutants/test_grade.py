"""``attnproofs grade``: verdicts, exit statuses, messages and JSON."""

import json
from importlib.resources import files

import pytest
from click.testing import CliRunner

from attnproofs.cli.grade import command
from attnproofs.errors import InputError
from attnproofs.mutants import gallery, lookup
from attnproofs.mutants.grade import EachInTurn, Subject, grade
from attnproofs.mutants.rules import parse
from attnproofs.mutants.suite import Suite

HEADER = "import numpy as np, os, time, pytest\n"
CAUSAL = (
    HEADER
    + """
@pytest.fixture
def attention():
    raise AssertionError("the user's own function must not be used")

def answer(attention, **options):
    one = np.zeros((2, 1))
    return attention(one, one, np.array([[1.0], [3.0]]), **options)

def test_causal(attention):
    assert answer(attention, is_causal=True).tolist() == [[1.0], [2.0]]

def test_without_the_fixture():
    raise AssertionError("a test that does not ask for the fixture must not run")
"""
)


def write(tmp_path, text, name="test_mine.py"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def verdicts(path, *ids, **options):
    result = grade(Suite(path, **options), [lookup(i) for i in ids])
    return {o.mutant.id: o.verdict for o in result.outcomes}


def run(*args):
    return CliRunner().invoke(command, list(args), standalone_mode=False)


# ---------------------------------------------------------------- a test file


def test_a_test_file_catches_what_it_tests_and_lets_the_rest_slip(tmp_path):
    path = write(tmp_path, CAUSAL)
    result = run(path, "--only", "causal-reversed", "--only", "mask-polarity-flipped")
    assert result.return_value == 1
    assert "caught 1 of 2 mutants, 50.0 %" in result.output
    assert "test_causal" in result.output


def test_exit_status_is_zero_when_everything_is_caught(tmp_path):
    assert run(write(tmp_path, CAUSAL), "--only", "causal-reversed").return_value == 0


def test_a_test_that_the_correct_function_fails_is_not_graded(tmp_path):
    path = write(tmp_path, "def test_wrong(attention):\n    assert attention is None\n")
    result = run(path, "--only", "causal-reversed")
    assert isinstance(result.exception, InputError)
    assert "the correct sdpa function fails" in str(result.exception)
    assert "test_wrong" in str(result.exception)


def test_a_file_that_never_asks_for_the_fixture_is_refused(tmp_path):
    path = write(tmp_path, "def test_nothing():\n    pass\n")
    with pytest.raises(InputError, match="no test asks for the fixture 'attention'"):
        verdicts(path, "causal-reversed")


def test_a_file_whose_tests_are_all_skipped_is_refused(tmp_path):
    path = write(tmp_path, HEADER + "@pytest.mark.skip\ndef test_x(attention):\n    pass\n")
    with pytest.raises(InputError, match="skipped, so nothing was tested"):
        verdicts(path, "causal-reversed")


def test_a_file_that_cannot_be_imported_is_refused_with_what_pytest_said(tmp_path):
    path = write(tmp_path, "import no_such_module_at_all\ndef test_x(attention):\n    pass\n")
    with pytest.raises(InputError, match="no_such_module_at_all"):
        verdicts(path, "causal-reversed")


def test_a_folder_and_a_single_test_are_test_files_too(tmp_path, monkeypatch):
    write(tmp_path, CAUSAL)
    monkeypatch.chdir(tmp_path.parent)
    assert parse(tmp_path.name) is None
    assert parse("test_mine.py::test_causal") is None
    path = f"{tmp_path}/test_mine.py::test_causal"
    assert verdicts(path, "causal-reversed") == {"causal-reversed": "caught"}


def test_a_file_that_ends_the_process_on_import_is_refused(tmp_path):
    path = write(tmp_path, HEADER + "os._exit(3)\n")
    with pytest.raises(InputError, match="pytest did not start: the test process died"):
        verdicts(path, "causal-reversed")


def test_a_missing_file_is_refused():
    with pytest.raises(InputError, match=r"'nowhere.py' does not exist"):
        Suite("nowhere.py")


def test_a_mutant_that_kills_the_process_is_caught_and_the_rest_go_on(tmp_path):
    path = write(
        tmp_path,
        CAUSAL.replace("def test_causal", "def test_exit").replace(
            "    assert answer(attention, is_causal=True).tolist() == [[1.0], [2.0]]",
            "    if answer(attention, is_causal=True).tolist() != [[1.0], [2.0]]:\n"
            "        os._exit(7)",
        ),
    )
    ids = ("causal-reversed", "causal-without-diagonal", "no-shift", "causal-sees-next-token")
    result = grade(Suite(path), [lookup(i) for i in ids])
    assert [o.verdict for o in result.outcomes] == ["caught", "caught", "slipped through", "caught"]
    assert result.outcomes[0].by == "the test process died"


def test_a_mutant_on_which_the_tests_hang_is_caught(tmp_path):
    path = write(
        tmp_path,
        CAUSAL.replace(
            "    assert answer(attention, is_causal=True).tolist() == [[1.0], [2.0]]",
            "    while answer(attention, is_causal=True).tolist() != [[1.0], [2.0]]:\n"
            "        time.sleep(0.05)",
        ),
    )
    result = grade(Suite(path, timeout=12.0), [lookup("causal-reversed"), lookup("no-shift")])
    assert [o.verdict for o in result.outcomes] == ["caught", "slipped through"]
    assert "did not end within 12 s" in result.outcomes[0].by


def test_fixture_of_another_name_scope_and_with_params(tmp_path):
    text = CAUSAL.replace(
        "@pytest.fixture\ndef attention",
        "@pytest.fixture(scope='module', params=[1, 2])\ndef kernel",
    )
    text = text.replace("def test_causal(attention)", "def test_causal(kernel)").replace(
        "answer(attention, is_causal=True)", "answer(kernel, is_causal=True)"
    )
    found = verdicts(write(tmp_path, text), "causal-reversed", "no-shift", fixture="kernel")
    assert found == {"causal-reversed": "caught", "no-shift": "slipped through"}


def test_fixture_that_is_asked_for_by_another_fixture(tmp_path):
    text = (
        HEADER
        + """
@pytest.fixture
def mine(attention):
    return lambda q, k, v, mask: attention(q, k, v, attn_mask=mask)

def test_mask(mine):
    one = np.zeros((1, 1)), np.zeros((2, 1)), np.array([[1.0], [3.0]])
    assert mine(*one, np.array([[True, False]])).tolist() == [[1.0]]
"""
    )
    found = verdicts(write(tmp_path, text), "mask-polarity-flipped", "no-shift")
    assert found == {"mask-polarity-flipped": "caught", "no-shift": "slipped through"}


def test_another_level(tmp_path):
    text = (
        HEADER
        + """
def test_bias(attention):
    one = np.eye(2)
    with_bias = attention(one, one, one, one, one, one, num_heads=2, b_O=np.ones(2))
    assert np.allclose(with_bias, attention(one, one, one, one, one, one, num_heads=2) + 1)
"""
    )
    found = verdicts(
        write(tmp_path, text), "output-bias-once-per-shard", "heads-interleaved", level="mha"
    )
    assert found == {"output-bias-once-per-shard": "caught", "heads-interleaved": "slipped through"}


def test_options_of_the_users_configuration_do_not_get_in_the_way(tmp_path):
    """xdist would run the tests where no fixture can be overridden; warnings may be errors."""
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\naddopts = -n 2\nfilterwarnings = error\n", encoding="utf-8"
    )
    assert verdicts(write(tmp_path, CAUSAL), "causal-reversed") == {"causal-reversed": "caught"}


def test_several_jobs_give_the_same_answer(tmp_path):
    path, ids = write(tmp_path, CAUSAL), ("causal-reversed", "no-shift", "causal-without-diagonal")
    assert verdicts(path, *ids, jobs=2) == verdicts(path, *ids, jobs=1)


def test_a_mutant_starts_with_a_fresh_state_for_the_users_tests(tmp_path):
    """The correct run before it and other mutants leave nothing behind."""
    text = (
        HEADER
        + """
def test_twice(attention):
    one = np.zeros((1, 1)), np.zeros((1, 1)), np.ones((1, 1))
    assert attention(*one).tolist() == attention(*one).tolist() == [[1.0]]
"""
    )
    found = verdicts(write(tmp_path, text), "accumulator-not-cleared", "mask-kept-by-shape")
    assert found == {"accumulator-not-cleared": "caught", "mask-kept-by-shape": "slipped through"}


def test_a_test_file_has_one_level(tmp_path):
    result = run(write(tmp_path, CAUSAL), "--level", "sdpa", "--level", "mha")
    assert "graded at one level" in str(result.exception)


# ---------------------------------------------------------------- the audit


def test_the_audit_is_graded_like_any_other_test():
    result = run("audit", "--only", "no-shift", "--only", "mask-polarity-flipped", "--jobs", "2")
    assert result.return_value == 0
    assert "caught 2 of 2 mutants, 100.0 %" in result.output


# ---------------------------------------------------------------- rules and the command


def test_a_rule_prints_its_rate_and_what_it_does_not_examine(tmp_path):
    result = run("onnx")
    assert result.return_value == 1
    assert " of 147 mutants" in result.output.replace("\n", " ") or "mutants," in result.output
    assert "more are of levels that it does not" in result.output.replace("\n", " ")


def test_json_follows_the_published_schema(tmp_path):
    path = tmp_path / "deep" / "grade.json"
    result = run("onnx", "--only", "causal-*", "--json", str(path))
    assert result.return_value == 1
    written = json.loads(path.read_text())
    assert json.loads(run("onnx", "--only", "causal-*", "--json", "-").output) == written
    schema = json.loads(files("attnproofs.mutants").joinpath("grade.schema.json").read_text())
    follow(schema, written)
    assert written["caught"] + written["slipped_through"] + written["not_examined"] == len(
        written["mutants"]
    )


def follow(schema, value):
    """The part of JSON Schema that the published schema uses."""
    kinds = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float)}
    if "const" in schema:
        assert value == schema["const"]
    if "enum" in schema:
        assert value in schema["enum"]
    if "type" in schema:
        assert isinstance(value, kinds[schema["type"]])
    if isinstance(value, dict):
        assert set(value) == set(schema["properties"]) == set(schema["required"])
        for name, part in value.items():
            follow(schema["properties"][name], part)
    if isinstance(value, list):
        for part in value:
            follow(schema["items"], part)


def test_same_input_same_json():
    first, second = (run("onnx", "--level", "softmax", "--json", "-").output for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ([], "TESTS is missing"),
        (["audit", "--list"], "takes no TESTS"),
        (["onnx", "--only", "nothing-of-this-name"], "no mutant has such an id"),
        (["onnx", "--level", "mha"], "no chosen mutant is of such a level"),
        (["no-such-rule"], "neither a rule nor a test file"),
    ],
)
def test_mistakes_are_one_clear_error(args, words):
    result = run(*args)
    assert isinstance(result.exception, InputError)
    assert words in str(result.exception)


def test_list_prints_every_mutant_with_its_public_report():
    result = run("--list", "--json", "-")
    listed = json.loads(result.output)["mutants"]
    assert [m["id"] for m in listed] == [m.id for m in gallery()]
    plain = run("--list", "--level", "softcap").output
    assert "onnx/onnx" in plain


def test_the_rate_counts_examined_mutants_only():
    test = EachInTurn("half", "", frozenset({"sdpa"}), lambda level, f: None)
    result = grade(test, [lookup("no-shift"), lookup("lse-overflows")])
    assert (len(result.slipped), len(result.not_examined), result.rate) == (1, 1, 0.0)


def test_progress_counts_every_mutant():
    test = EachInTurn("none", "", frozenset({"sdpa"}), lambda level, f: None)
    seen = []
    grade(test, [lookup("no-shift"), lookup("causal-reversed")], lambda *n: seen.append(n))
    assert seen == [(0, 2), (1, 2), (2, 2)]


def test_the_correct_function_of_each_level_is_examined_first():
    """A test that refuses correct attention says so and grades nothing."""
    test = EachInTurn("never", "", frozenset({"sdpa", "mha"}), lambda level, f: "no")
    with pytest.raises(InputError, match="the correct sdpa function fails never"):
        grade(test, [lookup("no-shift")])
    assert Subject("sdpa").id == "correct-sdpa"
