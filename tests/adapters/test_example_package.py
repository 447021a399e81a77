"""The example package of the documentation: installed, found by name, held to its own profile."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """The environment of a process that has the package installed beside everything else."""
    folder = tmp_path_factory.mktemp("example")
    source = shutil.copytree(ROOT / "docs" / "example-adapter", folder / "source")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    done = subprocess.run(
        [*command, "--target", folder / "site", source], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    paths = [str(folder / "site"), str(ROOT), os.environ.get("PYTHONPATH", "")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(p for p in paths if p)}


def _attnproofs(environment, *words):
    return subprocess.run(
        [sys.executable, "-m", "attnproofs", *words],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )


def test_it_is_found_and_identified(environment):
    done = _attnproofs(environment, "identify", "example", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    answers = {name: seen["value"] for name, seen in found["conventions"].items()}
    assert (answers["layout"], answers["bool_mask"]) == ("BLHD", "masked")
    assert answers["causal_alignment"] == "bottom-right"


def test_it_holds_under_its_own_profile(environment):
    done = _attnproofs(environment, "audit", "example", "--mode", "quick", "--no-save")
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_does_not_hold_under_another(environment):
    words = ["audit", "example", "--profile", "jax", "--mode", "quick", "--no-save"]
    done = _attnproofs(environment, *words)
    assert done.returncode == 1, done.stdout + done.stderr


def test_an_entry_point_that_is_no_adapter_is_told_so(environment, tmp_path):
    folder = tmp_path / "broken-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(
        "[attnproofs.adapters]\nbroken = os:path\nlost = no_such_module:ADAPTER\n"
        "torch-sdpa = os:path\n"
    )
    paths = environment["PYTHONPATH"] + os.pathsep + str(tmp_path)
    environment = environment | {"PYTHONPATH": paths}
    done = _attnproofs(environment, "identify", "broken")
    assert done.returncode == 2
    assert "expected an attnproofs.adapters.Adapter" in done.stderr
    done = _attnproofs(environment, "identify", "lost")
    assert done.returncode == 2 and "cannot be imported" in done.stderr
    assert "Traceback" not in done.stderr
