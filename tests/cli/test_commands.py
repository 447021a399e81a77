"""The commands on proofs: what they print, their JSON, their exit statuses, and users' mistakes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
START = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
PROGRAM = START + "from attnproofs.cli import main\nmain()"


def run(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the console script as a user would, in a process of its own."""
    program = PROGRAM
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True, text=True, cwd=cwd, check=False, timeout=300,
    )  # fmt: skip


def test_list_as_json() -> None:
    """`list --json` has a version and says of the thirteen first theorems that they are proved."""
    done = run("list", "--json")
    data = json.loads(done.stdout)
    evidence = {t["id"]: t["evidence"] for t in data["theorems"]}

    assert done.returncode == 0
    assert data["version"] == 1
    first = [
        "matmul_entry",
        "score_entry",
        "orientation_scores",
        "orientation_softmax",
        "bienayme",
        "qk_mean",
        "qk_variance",
        "qk_variance_scaled",
        "softmax_sum",
        "softmax_shift",
        "mask_exact_zero",
        "rank_vo",
        "concat_sum",
    ]
    assert {evidence[i] for i in first} == {"proved"}
    assert {"id", "chapter", "title", "evidence"} <= set(data["theorems"][0])


def test_list_as_a_table() -> None:
    """In a pipe the table is plain lines, one a theorem, with a count at the end."""
    lines = run("list", "softmax").stdout.splitlines()

    assert any(line.startswith("softmax_sum") and "proved" in line for line in lines)
    assert "theorems" in lines[-1]


def test_prove_as_json(tmp_path: Path) -> None:
    """`prove --json` gives id, status, steps, axioms, seconds; -o writes what replay accepts."""
    done = run("prove", "qk_variance", "--json", "-o", str(tmp_path / "certs"))
    (result,) = json.loads(done.stdout)["results"]

    assert done.returncode == 0
    assert result["id"] == "qk_variance"
    assert result["status"] == "proved"
    assert result["steps"] >= 8
    assert "independence" in result["axioms"]
    assert result["seconds"] >= 0
    files = sorted(str(f) for f in (tmp_path / "certs").glob("*.json"))
    assert any(f.endswith("second_moment.json") for f in files)  # a lemma that it cites
    assert run("replay", *files).returncode == 0


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    """Certificates are deterministic."""
    for folder in ("one", "two"):
        run("prove", "softmax_shift", "-o", str(tmp_path / folder))

    one, two = (tmp_path / f / "softmax_shift.json" for f in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()


def test_a_theorem_prints_itself() -> None:
    """``python -m attnproofs.theorems.scaling.qk_variance`` prints the derivation."""
    done = subprocess.run(
        [sys.executable, "-m", "attnproofs.theorems.scaling.qk_variance"],
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip

    assert done.returncode == 0
    assert "Var(q·k) = d_k" in done.stdout


def test_axioms_of_a_theorem() -> None:
    """`axioms ID` prints what it rests on, with the statements."""
    done = run("axioms", "qk_variance")

    assert "independence: E(f g) = E f E g" in done.stdout
    assert "second_moment" in done.stdout


OWN = """
from attnproofs.calculus import Part, Sum, Theorem, eq, exp, softmax

def statement(s):
    n = s.dimension("n")
    x = s.tensor("x", n)
    return eq(Sum(n, lambda i: softmax(x)[i]), {claimed})

def proof(p):
    n, x = p["n x"]
    Z = Sum(n, lambda l: exp(x[l]))
    p.line(Sum(n, lambda i: exp(x[i]) / Z), "unfold")
    p.line(Sum(n, lambda i: exp(x[i])) / Z, "sum_scale")
    p.line({claimed}, "ring")

MINE = Theorem(id="mine", chapter="mine", title={{"en": "Mine"}}, parts=(Part(statement, proof),))
"""


def test_a_users_script_is_proved(tmp_path: Path) -> None:
    """A file that declares a theorem is proved, and its certificate replays."""
    (tmp_path / "mine.py").write_text(OWN.format(claimed="1"))
    done = run("prove", "mine.py", "-o", "certs", cwd=tmp_path)

    assert done.returncode == 0
    assert run("replay", "certs/mine.json", cwd=tmp_path).returncode == 0


def test_a_users_wrong_claim_is_refused(tmp_path: Path) -> None:
    """A wrong claim is refused with the line and the reason, exit 1, no traceback."""
    (tmp_path / "mine.py").write_text(OWN.format(claimed="2"))
    done = run("prove", "mine.py", cwd=tmp_path)

    assert done.returncode == 1
    assert "mine, line 3: the two sides are not equal by ring" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


MISTAKES = [
    (("prove", "qk_varience"), "did you mean qk_variance"),
    (("list", "softmaxx"), "did you mean softmax"),
    (("axioms", "nonsense_at_all"), "there is no theorem or chapter"),
    (("show", "qk_varience"), "did you mean qk_variance"),
    (("prove", "missing.py"), "there is no file missing.py"),
    (("prove", "empty.py"), "declares no theorem"),
    (("prove", "broken.py"), "broken.py does not run: NameError"),
    (("replay", "missing.json"), "No such file"),
    (("replay", "empty.py"), "not JSON"),
    (("nonsense",), "No such command"),
    (("prove", "--nonsense"), "No such option"),
    (("audit", "numpy-referense"), "numpy-reference"),
    (("audit", "empty.py:nothing"), "nothing"),
    (("audit", "missing.py:attention"), "missing.py"),
]


@pytest.mark.parametrize(("arguments", "message"), MISTAKES, ids=[" ".join(m[0]) for m in MISTAKES])
def test_a_users_mistake(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    """One clear sentence on standard error, exit 2, no traceback."""
    (tmp_path / "empty.py").write_text("x = 1\n")
    (tmp_path / "broken.py").write_text("x = y\n")
    done = run(*arguments, cwd=tmp_path)

    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_help_imports_click_alone() -> None:
    """`--help` loads neither SymPy, NumPy nor rich."""
    program = (
        START + "from attnproofs.cli import cli\n"
        "try:\n    cli(['--help'])\nexcept SystemExit:\n    pass\n"
        "loaded = {m.split('.')[0] for m in sys.modules}\n"
        "print(sorted(loaded & {'sympy', 'numpy', 'rich', 'mpmath'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout.splitlines()[-1] == "[]"
    assert "verify" in done.stdout


def test_a_closed_pipe_is_no_error() -> None:
    """`attnproofs list | head -1` ends quietly."""
    program = PROGRAM
    with subprocess.Popen(
        [sys.executable, "-c", program, "list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        errors = process.stderr.read()
    assert b"Traceback" not in errors
