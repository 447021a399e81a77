"""Reports: JSON by its schema, JUnit, HTML; saved failures, known differences, equivalence."""

import json
import os
import signal
import subprocess
import sys
import time
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from xml.etree import ElementTree

import pytest

import attnproofs
from attnproofs.contract.api import audit
from attnproofs.contract.known import read_known
from attnproofs.contract.render import text
from attnproofs.contract.store import Store
from attnproofs.errors import InputError

ROOT = Path(attnproofs.__file__).parent.parent
ENV = {**os.environ, "PYTHONPATH": str(ROOT)}
FEW = ["single_key", "every_key_counts", "default_scale", "same_answer_twice"]
NAN = "tests.contract.targets:nan"
RIGHT = "tests.contract.targets:right"


def quick(target, **options):
    options = {"mode": "quick", "dtypes": ["float64"], "only": FEW, **options}
    return audit(target, **options)


def conforms(value, schema, where="report"):
    """Check a value against the part of JSON Schema that our schema uses."""
    kinds = {
        "object": dict, "array": list, "string": str, "integer": int,
        "number": (int, float), "null": type(None),
    }  # fmt: skip
    if "type" in schema:
        allowed = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        assert any(isinstance(value, kinds[t]) for t in allowed), (where, value)
    assert value in schema.get("enum", [value]), (where, value)
    assert value == schema.get("const", value), (where, value)
    if isinstance(value, dict):
        assert set(schema.get("required", ())) <= set(value), (where, value)
        for name, item in value.items():
            rule = schema.get("properties", {}).get(name, schema.get("additionalProperties", {}))
            assert rule is not False, f"{where}.{name} is not in the schema"
            conforms(item, rule, f"{where}.{name}")
    if isinstance(value, list):
        for item in value:
            conforms(item, schema.get("items", {}), f"{where}[]")


@pytest.mark.parametrize("target", [RIGHT, NAN, "tests.contract.targets:exits"])
def test_json_conforms_to_the_published_schema(target):
    schema = json.loads((files("attnproofs.contract") / "schema.json").read_text("utf-8"))
    report = quick(target)
    data = json.loads(report.json_text())
    conforms(data, schema)
    with pytest.raises(AssertionError):
        conforms({**data, "verdict": "fine"}, schema)
    with pytest.raises(AssertionError):
        conforms({k: v for k, v in data.items() if k != "findings"}, schema)


def test_the_same_audit_gives_the_same_bytes_and_another_seed_other_cases():
    one, two = (quick(NAN, seed=5).json_text() for _ in range(2))
    assert one == two


def test_junit_has_one_case_a_property_with_the_failures_named():
    report = quick(NAN)
    suite = ElementTree.fromstring(report.junit().split("\n", 1)[1]).find("testsuite")
    assert int(suite.get("tests")) == len(report.findings) == len(suite.findall("testcase"))
    failed = {c.get("name") for c in suite.findall("testcase") if c.find("failure") is not None}
    assert failed == {f.property for f in report.violated}


def test_html_is_one_self_contained_page_and_escapes_what_a_target_says():
    def attention(query, key, value):
        if key.shape[-2] > 1:
            raise ValueError("<script>alert(1)</script>")
        return value * 1.0

    page = quick(attention, isolate=False, only=["single_key", "every_key_counts"]).html()
    tags = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attributes):
            tags.append((tag, dict(attributes)))

    Reader().feed(page)
    assert not [a for t, a in tags if t in ("script", "link", "img") or "src" in a]
    assert page.startswith("<!doctype html>")


def test_known_differences_are_counted_apart_and_explain_nothing(tmp_path):
    path = tmp_path / "known.toml"
    path.write_text(
        '[[difference]]\nproperty = "single_key"\nreason = "we like NaN"\n'
        '[[difference]]\nproperty = "default_scale"\nlevel = "mha"\nreason = "never seen"\n'
    )
    plain = quick(NAN)
    assert [f.property for f in plain.causes] == ["single_key"]
    report = quick(NAN, known=path)
    assert [f.property for f in report.known] == ["single_key"]
    assert [f.property for f in report.causes] == ["every_key_counts"]
    assert report.known[0].reason == "we like NaN"
    assert any("'default_scale' matched no violation" in note for note in report.notes)
    path.write_text('[[difference]]\nproperty = "*"\nreason = "all of it"\n')
    assert quick(NAN, known=path).verdict == "held"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[difference]]\nproperty = "a"\n', "entry 1: no reason"),
        ('[[difference]]\nreason = "a"\n', "entry 1: no property"),
        ('[[difference]]\nproperty = "a"\nreason = " "\n', "non-empty string"),
        ('[[difference]]\nproperty = "a"\nreason = "b"\nwhy = "c"\n', "unknown key 'why'"),
        ("nonsense = 1\n", "[[difference]] tables"),
        ("[[", "not valid TOML"),
    ],
)
def test_a_faulty_file_of_known_differences_is_refused(tmp_path, text, message):
    path = tmp_path / "known.toml"
    path.write_text(text)
    with pytest.raises(InputError, match="known differences") as caught:
        read_known(path)
    assert message in str(caught.value)


@pytest.mark.parametrize("name", ["layer", "layer_without_key_bias"])
def test_a_dropped_key_bias_is_equivalent_by_theorem(name):
    report = audit(
        f"tests.contract.targets:{name}",
        level="mha",
        mode="quick",
        dtypes=["float64"],
        only=["key_bias"],
    )
    (finding,) = report.equivalent
    assert finding.theorem == "key_bias_invisible"
    assert report.verdict == "held"


def test_a_key_bias_that_is_added_is_simply_right():
    report = audit(
        "tests.contract.targets:layer_with_key_bias",
        level="mha", mode="quick", dtypes=["float64"], only=["key_bias"],
    )  # fmt: skip
    assert [f.status for f in report.findings if f.property == "key_bias"] == ["held"]


def test_saved_failures_are_rerun_first_and_forgotten_when_fixed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = "def attention(query, key, value):\n    return value.mean(-2, keepdims=True) * {0}\n"
    source += "attention.__doc__ = 'short'\n"
    path = tmp_path / "mine.py"
    path.write_text("import numpy as np\n" + source.format("np.nan + 0 * query[..., :1]"))
    store = Store(tmp_path / ".attnproofs")
    options = {"only": ["single_key"], "store": store}
    first = quick("mine.py:attention", **options)
    (finding,) = first.causes
    assert [s.id for s in store.all()] == [finding.id]
    again = quick("mine.py:attention", **options)
    assert again.saved == [(finding.id, "FAILED")]
    assert again.json_text() == first.json_text()
    path.write_text("import numpy as np\n" + source.format("1 + 0 * query[..., :1]"))
    fixed = quick("mine.py:attention", **options)
    assert fixed.saved == [(finding.id, "FIXED")]
    assert store.all() == []
    assert fixed.verdict == "held"


def test_a_saved_failure_whose_call_is_refused_now_is_not_mended(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = (
        "import numpy as np\n"
        "def attention(query, key, value, *, attn_mask=None):\n"
        "    if attn_mask is not None:\n"
        "        {0}\n"
        "    s = query @ np.swapaxes(key, -2, -1) / np.sqrt(query.shape[-1])\n"
        "    e = np.exp(s - s.max(-1, keepdims=True))\n"
        "    return e / e.sum(-1, keepdims=True) @ value\n"
    )
    path = tmp_path / "mine.py"
    path.write_text(source.format("attn_mask = None  # and so ignored"))
    store = Store(tmp_path / ".attnproofs")
    options = {"only": ["kept_set"], "store": store}
    (finding,) = quick("mine.py:attention", **options).causes
    path.write_text(source.format("raise NotImplementedError"))
    refused = quick("mine.py:attention", **options)
    assert refused.saved == [(finding.id, "ERROR")]
    assert [s.id for s in store.all()] == [finding.id]
    assert "ERROR" in text(refused)


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"format": 9}', "\x00", '{"format": 1}'])
def test_a_damaged_saved_failure_is_one_sentence(tmp_path, content):
    store = Store(tmp_path)
    (tmp_path / "failures").mkdir()
    (tmp_path / "failures" / "kept_set-1.json").write_text(content)
    assert store.all() == []
    with pytest.raises(InputError, match="kept_set-1"):
        store.load("kept_set-1")
    with pytest.raises(InputError, match="no id"):
        store.load("../../etc/passwd")


def test_a_killed_audit_keeps_its_failures_and_leaves_no_half_file(tmp_path):
    (tmp_path / "mine.py").write_text(
        "import numpy as np\ndef attention(query, key, value):\n"
        "    return value.mean(-2, keepdims=True) + 0 * query[..., :1]\n"
    )
    command = [sys.executable, "-m", "attnproofs", "audit", "mine.py:attention"]
    command += ["--json", "report.json", "--dtype", "float64"]
    audit_ = subprocess.Popen(
        command, cwd=tmp_path, env=ENV, stdout=subprocess.DEVNULL, start_new_session=True
    )
    folder = tmp_path / ".attnproofs" / "failures"
    deadline = time.monotonic() + 120
    while not list(folder.glob("*.json")) and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(audit_.pid, signal.SIGKILL)
    audit_.wait()
    saved = Store(tmp_path / ".attnproofs").all()
    assert saved
    assert len(saved) == len(list(folder.glob("*.json")))
    report = tmp_path / "report.json"
    assert not report.exists() or json.loads(report.read_text())


def test_the_pytest_plugin_gives_one_test_a_property(tmp_path):
    command = [sys.executable, "-m", "pytest", "-p", "attnproofs.contract.pytest_plugin"]
    if "attnproofs" in {e.name for e in _plugins()}:
        command = [sys.executable, "-m", "pytest"]
    command += ["--attention", NAN, "--attention-mode", "quick", "-p", "no:cacheprovider", "-q"]
    command += ["-k", "single_key or result_dtype or given_scale", "--rootdir", str(tmp_path)]
    run = subprocess.run(
        command, cwd=tmp_path, env=ENV, capture_output=True, text=True, check=False
    )
    assert run.returncode == 1, run.stdout + run.stderr
    assert "1 failed, 1 passed, 2 skipped" in run.stdout
    assert "sdpa::single_key" in run.stdout
    assert "With a single key the output is that key's value." in run.stdout
    assert "Traceback" not in run.stdout


def _plugins():
    from importlib.metadata import entry_points

    return entry_points(group="pytest11")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dtypes": ["float31"]}, "no data type 'float31'; expected one of float64, float32"),
        ({"only": ["kept_sett"]}, "no property is called 'kept_sett'; did you mean kept_set?"),
        ({"precision": "fa9"}, "unknown precision model 'fa9'"),
        ({"level": "sdpaa"}, "no level 'sdpaa'; expected one of softmax, sdpa"),
        ({"mode": "slow"}, "no mode 'slow'; expected one of quick, default, thorough"),
        ({"variant": "rope"}, "no variant 'rope'; expected one of softcap"),
        ({"examples": 0}, "examples must be at least 1"),
        ({"profile": "strikt"}, "did you mean strict?"),
        ({"known": "nowhere.toml"}, "known differences nowhere.toml: cannot be read"),
    ],
)
def test_a_mistaken_option_is_one_sentence(options, message):
    with pytest.raises(InputError) as caught:
        quick(RIGHT, **options)
    assert message in str(caught.value)


def test_bfloat16_when_it_is_asked_for():
    pytest.importorskip("ml_dtypes")
    report = audit("numpy-reference", level="sdpa", mode="quick", dtypes=["bfloat16"], only=FEW)
    assert report.verdict == "held"
    assert {d for f in report.held for d in f.cases} == {"bfloat16"}


def test_refused_cases_are_counted_and_never_held():
    report = quick(
        "tests.contract.targets:refuses_five_keys", only=["every_key_counts", "accuracy"]
    )
    assert report.exit_status == 0
    refused = sum(f.refused for f in report.held)
    assert refused > 0
    assert f"{refused} more refused with NotImplementedError" in text(report)
    held = next(f for f in json.loads(report.json_text())["findings"] if f.get("refused"))
    assert held["status"] == "held"


def test_a_property_of_which_every_case_is_refused_is_not_claimed():
    report = quick("tests.contract.targets:refuses_masks", only=["kept_set"])
    (finding,) = [f for f in report.findings if f.property == "kept_set"]
    assert (finding.status, finding.cases) == ("not claimed", {})
    assert finding.refused > 0
    assert finding.reason == "the target raises NotImplementedError for it"


def test_a_target_that_refuses_everything_could_not_run():
    report = quick("tests.contract.targets:refuses_everything")
    assert report.exit_status == 2
    assert not report.held
