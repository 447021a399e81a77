"""Every finding of docs/findings.md is still there: its code runs and its assertions hold."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

DOCUMENT = Path(__file__).parents[2] / "docs" / "findings.md"
FRAMEWORKS = ("torch", "jax", "onnxruntime", "onnx", "keras", "transformers")
NEEDS = {
    "onnx-reference": "onnx",
    "keras-": "keras",
    "onnxruntime": "onnxruntime",
    "hf-": "transformers",
}


def _findings():
    text = DOCUMENT.read_text("utf-8")
    for title, body in re.findall(r"^### (.+?)$(.+?)(?=^##|\Z)", text, re.M | re.S):
        (code,) = re.findall(r"^```python\n(.+?)^```", body, re.M | re.S)
        yield pytest.param(body, code, id=re.sub(r"\W+", "-", title.lower()))


@pytest.mark.parametrize(("body", "code"), list(_findings()))
def test_a_finding_still_shows(body, code):
    assert re.search(r"\bSure:\s+(certain|observed|documented)", body)
    named = {f for f in FRAMEWORKS if re.search(rf"^(import|from) {f}\b", code, re.M)}
    named |= {package for word, package in NEEDS.items() if f'"{word}' in code}
    named |= {"torch"} if '"torch-' in code else set()
    for package in sorted(named):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"finding needs {package}: pip install {package}")
    exec(code, {})  # our own text
