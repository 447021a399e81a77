"""Every adapter: what it claims is right, and its library follows its profile."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import pytest

import attnproofs
from attnproofs import adapters
from attnproofs.adapters import numpy_attention as plain
from attnproofs.contract.identify import identify
from attnproofs.contract.profile import CONVENTIONS, load_profile
from attnproofs.errors import MissingDependency, TargetError

NAMES = adapters.names()
FOLDER = Path(adapters.__file__).parent

#: Where a library departs from its own profile: findings, explained in docs/findings.md.
KNOWN = {"torch-sdpa": {"mask_and_causal"}}

#: What was measured in these versions before the profiles were written, by other probes.
MEASURED = {
    "torch-sdpa": "attend top-left zeros zeros uniform",
    "torch-mha": "masked none zeros zeros uniform",
    "torch-mha-weights": "masked none nan nan uniform",
    "torch-flex": "attend top-left zeros zeros uniform",
    "jax-dpa": "attend top-left uniform nan uniform",
    "flax-dpa": "attend none uniform nan uniform",
    "flax-nnx-dpa": "attend top-left uniform nan uniform",
    "keras-dpa": "attend top-left uniform zeros uniform",
    "keras-mha": "attend top-left uniform none none",
    "keras-mha-scores": "attend top-left zeros none none",
    "onnx-reference": "attend top-left zeros zeros uniform",
    "onnxruntime": "attend top-left zeros zeros zeros",
    "mlx-sdpa": "attend bottom-right uniform nan uniform",
    "hf-eager": "added none none nan uniform",
    "hf-sdpa": "attend top-left-unless-one zeros zeros uniform",
}
ASKED = (
    "bool_mask",
    "causal_alignment",
    "empty_row_bool",
    "empty_row_neg_inf",
    "empty_row_finfo_min",
)

#: Largest error against the same computation in float64, in the input's format.
CLOSE = {"float64": 3e-7, "float32": 2e-6, "float16": 4e-3, "bfloat16": 3e-2}


def _published():
    """The tables of docs/conformance.md: adapter -> convention -> answer."""
    found = {}
    columns = []
    for line in (
        (Path(__file__).parents[2] / "docs" / "conformance.md").read_text("utf-8").splitlines()
    ):
        cells = [cell.strip(" *`") for cell in line.strip("|").split("|")]
        if not line.startswith("|") or cells[0] == "---":
            continue
        if cells[0] == "adapter":
            columns = cells[1:]
        elif set(columns) <= set(CONVENTIONS):
            found.setdefault(cells[0], {}).update(zip(columns, cells[1:], strict=True))
    return found


PUBLISHED = _published()


def _format(name):
    if name == "bfloat16":
        return pytest.importorskip("ml_dtypes").bfloat16
    return np.dtype(name)


def _swap(profile, side, array):
    return array.swapaxes(1, 2) if getattr(profile, side) == "BLHD" else array


@pytest.mark.parametrize("name", NAMES)
def test_every_level_and_format_that_is_claimed_computes_attention(name, load):
    adapter = load(name)
    profile = load_profile(adapter.profile)
    rng = np.random.default_rng(0)
    q, k, v, d_out = (rng.normal(size=(2, 2, n, 4)) for n in (3, 5, 5, 3))
    x, weights = rng.normal(size=(2, 4, 6)), [rng.normal(size=(6, 6)) for _ in range(4)]
    for dtype in adapter.dtypes:
        kind = _format(dtype)
        first = [_swap(profile, "layout", a.astype(kind)) for a in (q, k, v)]
        exact = [a.astype(kind).astype(float) for a in (q, k, v, d_out)]
        for level in adapter.levels:
            function = adapter.function(level)
            scale = {"scale": 0.5} if profile.default_scale == "required" else {}
            if level in ("sdpa", "weights", "lse"):
                got = function(*first, **scale)
                got = (got,) if level == "sdpa" else got
                got = (_swap(profile, "output_layout", got[0]), *got[1:])
                want = getattr(plain, level)(*exact[:3])
                want = (want,) if level == "sdpa" else want
            elif level == "grad":
                got = function(*first, _swap(profile, "layout", d_out.astype(kind)))
                got = [_swap(profile, "layout", a) for a in got]
                want = plain.grad(*exact)
            elif level == "mha":
                args = [a.astype(kind) for a in (x, x, *weights)]
                got, want = [function(*args, num_heads=2)], [plain.mha(*args, num_heads=2)]
            elif level == "softmax":
                got, want = (
                    [function(q.astype(kind))],
                    [plain.softmax(q.astype(kind).astype(float))],
                )
            else:
                continue
            for one, other in zip(got, want, strict=True):
                assert one.shape == other.shape and one.dtype == kind, (dtype, level)
                size = max(1.0, float(np.abs(other).max()))
                gap = np.abs(one.astype(float) - other.astype(float)).max()
                assert gap < CLOSE[dtype] * size, (dtype, level)


@pytest.mark.parametrize("name", [n for n in NAMES if n != "torch-mha-fastpath"])
def test_is_identified_as_its_profile(name, load):
    adapter = load(name)
    found = identify(adapter.function("sdpa"), name=name)
    wrong = {d.question for d in found.differences(adapter.profile) if d.offered}
    assert wrong == KNOWN.get(name, set())
    best = min(found.distances.values())
    ties = [p for p, distance in found.distances.items() if distance == best]
    assert adapter.profile in ties, f"nearest {found.nearest}: {found.distances[found.nearest]}"
    page = {q: "none" if a == "-" else a for q, a in PUBLISHED[name].items()}
    page.pop("key_order")  # whether the last bit moves depends on the machine
    assert {q: found.value(q) for q in page} == page, "run docs/make_conformance.py again"
    if name in MEASURED:
        assert " ".join(found.value(question) for question in ASKED) == MEASURED[name]


def test_keras_on_jax_differs_from_keras_on_torch(load):
    load("keras-dpa"), load("jax-dpa")
    code = (
        "import json; from attnproofs import adapters; from attnproofs.contract.identify import "
        "identify; a = adapters.get('keras-dpa'); f = identify(a.function('sdpa')); "
        "print(json.dumps([a.profile, [d.question for d in f.differences(a.profile) if d.offered], "
        "f.value('empty_row_neg_inf')]))"
    )
    environment = os.environ | {"KERAS_BACKEND": "jax"}
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert json.loads(out.stdout.splitlines()[-1]) == ["keras", [], "nan"]


def test_paths_of_multihead_attention_disagree_on_an_empty_row(load):
    x, eye = np.eye(4, dtype=np.float32)[None], [np.eye(4, dtype=np.float32)] * 4
    mask = np.zeros((4, 4), bool)
    mask[0] = True  # True: ignore
    rows = {
        name: load(name).function("mha")(x, x, *eye, num_heads=2, attn_mask=mask)[0, 0]
        for name in ("torch-mha", "torch-mha-weights", "torch-mha-fastpath")
    }
    assert (rows["torch-mha"] == 0).all()
    assert np.isnan(rows["torch-mha-weights"]).all() and np.isnan(rows["torch-mha-fastpath"]).all()


def test_arrays_that_an_adapter_cannot_be_given(load):
    layer = load("torch-mha").function("mha")
    x, w = np.ones((1, 2, 4), np.float32), np.ones((4, 6), np.float32)
    with pytest.raises(NotImplementedError, match="square"):
        layer(x, x, w, w, w, w.T, num_heads=2)


@pytest.mark.parametrize("path", sorted((FOLDER / "frameworks").glob("*.py")), ids=lambda p: p.stem)
def test_a_framework_adapter_is_one_short_file(path):
    assert len(path.read_text("utf-8").splitlines()) <= 80
    assert path.read_text("utf-8").startswith('"""')


def test_importing_adapters_imports_no_framework():
    code = (
        "import sys, attnproofs.adapters as a; a.names(); a.installed(); "
        "print(*(sys.modules.keys() & {'numpy', 'torch', 'jax', 'flax', 'onnx', 'onnxruntime', "
        "'keras', 'transformers', 'mlx', 'sympy'}))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == ""


def test_a_missing_framework_is_one_sentence_with_the_command(monkeypatch):
    monkeypatch.setattr(adapters, "find_spec", lambda name: None)
    with pytest.raises(MissingDependency) as caught:
        adapters.get("flax-dpa")
    assert str(caught.value) == (
        "adapter flax-dpa needs jax and flax: pip install 'attnproofs[flax]'"
    )
    assert adapters.installed() == tuple(adapters._third_party())


def test_no_such_adapter_and_no_such_level(load):
    with pytest.raises(TargetError, match="no adapter 'torch-spda'"):
        adapters.get("torch-spda")
    with pytest.raises(TargetError, match="torch-sdpa does not claim level 'mha'; it claims"):
        load("torch-sdpa").function("mha")
    with pytest.raises(ValueError, match=r"levels \['flash'\] are not among"):
        adapters.Adapter("x", "x", "strict", {"flash": plain.sdpa})


def test_known_differences_have_a_target_and_apply_under_the_own_profile_only(load):
    from attnproofs.contract.api import prepare
    from attnproofs.contract.known import read_known

    for entry in read_known(adapters.KNOWN).entries:
        assert any(fnmatchcase(name, entry.target) for name in NAMES), entry
    load("torch-sdpa")
    own, other = prepare("torch-sdpa").settings, prepare("torch-sdpa", profile="strict").settings
    assert "IndexError" in own.known.reason("torch-sdpa", "sdpa", "mask_broadcast")
    assert not other.known.reason("torch-sdpa", "sdpa", "mask_broadcast")
    assert not own.known.unmatched("torch-sdpa")


#: Frameworks that compile for every shape: a part of the audit, since the whole takes minutes.
COMPILED = {"jax-dpa", "flax-dpa", "flax-nnx-dpa", "torch-flex", "keras-mha", "keras-mha-scores"}


@pytest.mark.parametrize("name", NAMES)
def test_holds_under_its_own_profile(name, load):
    load(name)
    only = (
        ["result_shape", "single_key", "causal_alignment", "heads_own_column_blocks"]
        if name in COMPILED
        else []
    )
    report = attnproofs.audit(name, mode="quick", dtypes=["float32"], only=only, limit=60.0)
    assert report.exit_status == 0, [(f.level, f.property, f.violation) for f in report.violated]
    assert len(report.held) >= (2 if only else 15)
