"""A changed certificate is refused, or proves what numbers confirm; a process can fool itself only.

The sample here changes every kind of field of every certificate once. All changes of all fields:
``python -m tests.meta.forge``.
"""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from attnproofs.calculus import Scope, eq, exp
from attnproofs.calculus.proof import SESSION, plain
from attnproofs.cli.replay import _PROGRAM
from attnproofs.kernel import rules
from attnproofs.kernel.refused import Refused
from attnproofs.kernel.replay import Proved, Replay
from attnproofs.kernel.statement import Claim, Statement, canonical, to_data
from attnproofs.kernel.terms import rational
from attnproofs.theorems import locations, theorem
from tests.meta import forge

ROOT = Path(__file__).resolve().parents[2]


def replay(*files: Path, code: str = _PROGRAM) -> subprocess.CompletedProcess[str]:
    """Run `attnproofs replay` as the command does: isolated, standard library and kernel only."""
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, str(ROOT), *map(str, files)],
        capture_output=True, text=True, timeout=120, check=False, encoding="utf-8",
    )  # fmt: skip


def written(folder: Path, name: str, data: Any) -> Path:
    path = folder / f"{name}.json"
    path.write_text(canonical(data), encoding="utf-8")
    return path


def with_lemmas(folder: Path, id: str) -> Path:
    """Write a theorem's certificate, and beside it those that it cites, and so on."""
    t = theorem(id)
    path = written(folder, id, t.certificate())
    for p in t.proved():
        for digest in p.lemmas:
            cited = SESSION.name_of(digest).split(".")[0]
            if not (folder / f"{cited}.json").exists():
                with_lemmas(folder, cited)
    return path


# ---------------------------------------------------------------------- every kind of field


@pytest.mark.parametrize("id", list(locations()))
def test_no_changed_field_makes_something_false_proved(id: str) -> None:
    """Each change is refused, or what is accepted is confirmed by numbers, line by line."""
    parts = [o for o in forge.originals() if o.id == id]
    counts: Counter[str] = Counter()

    for number, change in forge.sample([o.data for o in parts], id):
        counts[forge.judge(parts[number], change)] += 1

    assert counts[forge.REFUSED] >= counts.total() / 2, counts
    assert counts.total() >= 20


def test_the_changes_reach_every_kind_of_field() -> None:
    part = theorem("qk_variance").certificate()["parts"][0]
    kinds = {forge.kind(path) for path, _ in forge.nodes(json.loads(canonical(part)))}

    assert {
        "statement.name", "statement.declared.kind", "statement.declared.least",
        "statement.declared.independent", "statement.hypotheses.lhs", "statement.claim.relation",
        "statement.claim.rhs", "statement.definitions.body", "statement.independent",
        "proof.start", "proof.steps.rule", "proof.steps.at", "proof.steps.relation",
        "proof.steps.back", "proof.steps.term", "proof.steps.args.lemma", "proof.steps.args.with",
    } <= kinds  # fmt: skip


def test_the_judge_notices_a_false_statement_that_is_accepted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The test of forgeries can fail: with a kernel that believes everything, it does."""
    (original,) = [o for o in forge.originals() if o.id == "score_count"][:1]
    forge.replayed()
    for name in rules.RULES:
        monkeypatch.setitem(rules.RULES, name, lambda step: None)
    zero, steps = ["q", 0, 1], original.data["proof"]["steps"]
    part = forge.replaced(original.data, ("statement", "claim", "rhs"), zero)
    part = forge.replaced(part, ("proof", "steps", len(steps) - 1, "term"), zero)

    with pytest.raises(forge.Wrong, match="false at"):
        forge.judge(original, forge.Change("claim", "zero", part))


# ---------------------------------------------------------------------- attacks in the process


def false_claim() -> tuple[Statement, dict[str, Any]]:
    """``exp(x) = 0``, with one step by a rule of the attacker's."""
    scope = Scope("forged")
    x = scope.scalar("x")
    statement = scope.claim(eq(exp(x), 0))
    step = {"term": plain(rational(0)), "relation": "=", "rule": "ring", "at": [], "args": {},
            "back": False}  # fmt: skip
    proof = {"kind": "chain", "start": plain(statement.claim.lhs), "steps": [step]}
    return statement, forge.certificate({"statement": to_data(statement), "proof": proof})


def test_a_replaced_rule_counts_in_its_own_process_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    statement, certificate = false_claim()
    monkeypatch.setitem(rules.RULES, "ring", lambda step: None)  # type: ignore[arg-type]
    fooled = Replay()
    (digest,) = fooled.load(certificate)

    assert fooled.prove(digest).statement == statement  # this process believes it
    found = replay(written(tmp_path, "forged", certificate))
    assert found.returncode == 1
    assert "step 1 (ring): the two sides are not equal by ring" in found.stdout


def test_an_added_rule_is_unknown_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, certificate = false_claim()
    certificate["parts"][0]["proof"]["steps"][0]["rule"] = "because"
    monkeypatch.setitem(rules.RULES, "because", lambda step: None)  # type: ignore[arg-type]

    found = replay(written(tmp_path, "forged", certificate))

    assert found.returncode == 1
    assert "unknown rule: because" in found.stdout


def test_a_frozen_statement_changed_by_force_is_another_statement(tmp_path: Path) -> None:
    """The certificate carries the statement itself, so what is replayed is what was changed."""
    t = theorem("softmax_sum")
    statement = dataclasses.replace(t.built[0].statement)
    pinned = statement.digest
    claim = Claim("=", statement.claim.lhs, rational(2))

    object.__setattr__(statement, "claim", claim)

    assert statement.digest == pinned  # the object still says what it was
    proof = t.certificate()["parts"][0]["proof"]
    forged = forge.certificate({"statement": to_data(statement), "proof": proof})
    found = replay(written(tmp_path, "forged", forged))
    assert found.returncode == 1
    assert "the last line is not the right side of the statement" in found.stdout
    assert pinned[:12] not in found.stdout


@pytest.mark.parametrize("stolen", [True, False])
def test_a_lemma_put_into_the_session_by_hand_is_missing_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stolen: bool
) -> None:
    """A false lemma, under its own digest or under that of a proved one, convinces nobody else."""
    lemma, _ = false_claim()
    true = theorem("softmax_sum").proved_statement().digest
    digest = true if stolen else lemma.digest
    scope = Scope(f"user_{stolen}")
    x = scope.scalar("x")
    statement = scope.claim(eq(exp(x), 0))
    step = {"term": plain(rational(0)), "relation": "=", "rule": "lemma", "at": [], "back": False,
            "args": {"lemma": digest, "with": {"x": ["real", ["sym", "x"]]}}}  # fmt: skip
    proof = {"kind": "chain", "start": plain(statement.claim.lhs), "steps": [step]}
    certificate = forge.certificate({"statement": to_data(statement), "proof": proof})
    monkeypatch.setitem(SESSION.proved, digest, Proved(lemma))
    (own,) = SESSION.load(json.loads(canonical(certificate)))

    assert SESSION.prove(own)  # fooled
    SESSION.proved.pop(own)
    monkeypatch.undo()
    path = written(tmp_path, "user", certificate)
    written(tmp_path, "softmax_sum", theorem("softmax_sum").certificate())
    found = replay(path)
    assert found.returncode == 1
    assert (
        "lemma softmax_sum" if stolen else "is not among the certificates given"
    ) in found.stdout


def test_lemmas_in_a_circle_are_refused(tmp_path: Path) -> None:
    """A from B and B from A: each would be fine if the other were proved."""
    parts = []
    statements = []
    for name in ("first", "second"):
        scope = Scope(name)
        x = scope.scalar("x")
        statements.append(scope.claim(eq(exp(x), 0)))
    for statement, other in zip(statements, reversed(statements)):
        step = {"term": plain(rational(0)), "relation": "=", "rule": "lemma", "at": [],
                "back": False,
                "args": {"lemma": other.digest, "with": {"x": ["real", ["sym", "x"]]}}}  # fmt: skip
        proof = {"kind": "chain", "start": plain(statement.claim.lhs), "steps": [step]}
        parts.append({"statement": to_data(statement), "proof": proof})

    found = replay(written(tmp_path, "circle", forge.certificate(*parts)))

    assert found.returncode == 1
    assert found.stdout.count("the proofs cite each other in a circle") == 2


def test_a_statement_that_cites_itself_is_refused() -> None:
    statement, certificate = false_claim()
    step = certificate["parts"][0]["proof"]["steps"][0]
    step["rule"] = "lemma"
    step["args"] = {"lemma": statement.digest, "with": {"x": ["real", ["sym", "x"]]}}
    made = Replay()
    (digest,) = made.load(certificate)

    with pytest.raises(Refused, match="in a circle"):
        made.prove(digest)
    assert digest not in made.proved


def test_a_proof_of_another_statement_is_refused(tmp_path: Path) -> None:
    """The proof of one theorem under the statement of another."""
    statement = theorem("softmax_shift").certificate()["parts"][0]["statement"]
    proof = theorem("softmax_sum").certificate()["parts"][0]["proof"]

    found = replay(
        written(tmp_path, "other", forge.certificate({"statement": statement, "proof": proof}))
    )

    assert found.returncode == 1
    assert "the first line is not the left side of the statement" in found.stdout


def test_a_refused_lemma_takes_what_cites_it_along(tmp_path: Path) -> None:
    path = with_lemmas(tmp_path, "qk_variance_scaled")
    assert replay(path).returncode == 0
    cited = tmp_path / "qk_variance.json"
    data = json.loads(cited.read_text("utf-8"))
    for part in data["parts"]:
        part["proof"]["steps"] = part["proof"]["steps"][:-1]
    cited.write_text(canonical(data), encoding="utf-8")

    found = replay(path)

    assert found.returncode == 1
    assert "refused  qk_variance_scaled" in found.stdout


def test_the_first_certificate_of_a_statement_is_the_one_that_counts(tmp_path: Path) -> None:
    """A good proof given after a bad one does not rescue it, nor does the bad one hide the good."""
    good = theorem("softmax_sum").certificate()
    bad = json.loads(canonical(good))
    bad["parts"][0]["proof"]["steps"] = []

    found = replay(written(tmp_path, "a_bad", bad), written(tmp_path, "b_good", good))

    assert found.returncode == 1


# ---------------------------------------------------------------------- what replay loads


def test_replay_loads_the_standard_library_and_the_kernel_only(tmp_path: Path) -> None:
    path = with_lemmas(tmp_path, "softmax_sum")
    code = (
        "import sys, json; sys.path.insert(0, sys.argv[1]); "
        "from attnproofs.kernel.command import main; status = main(sys.argv[2:]); "
        "print('MODULES', json.dumps(sorted(sys.modules))); sys.exit(status)"
    )

    found = replay(path, code=code)

    assert found.returncode == 0
    loaded = json.loads(found.stdout.split("MODULES ")[1])
    ours = {m for m in loaded if m.split(".")[0] == "attnproofs"}
    assert {"attnproofs", "attnproofs.kernel"} < ours
    assert all(m == "attnproofs" or m.startswith("attnproofs.kernel") for m in ours)
    tops = {m.split(".")[0] for m in loaded} - {"attnproofs", "__main__"}
    # what the interpreter's own site loads (editable installs) is not of replay's making
    bare = subprocess.run(
        [sys.executable, "-I", "-c", "import sys; print(*sys.modules)"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert tops - {m.split(".")[0] for m in bare.stdout.split()} <= set(sys.stdlib_module_names)
    assert not tops & {"sympy", "numpy", "mpmath"}
