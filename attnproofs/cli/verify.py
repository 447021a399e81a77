"""``attnproofs verify``: the main job. Prove all, check all, audit what is installed, report."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from attnproofs.theorems.batch import Outcome


@click.command("verify")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the report as JSON to this file.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON instead of tables.")
@click.option(
    "--mode",
    default="quick",
    show_default=True,
    help="How thoroughly to check and audit: quick, default or thorough.",
)
def command(*, output: Path | None, as_json: bool, mode: str) -> int:
    """Prove every theorem, run every check, audit the built-in reference and installed adapters.

    Proofs are carried out, their certificates written and replayed by the kernel in a clean
    interpreter; the numeric suites run; numpy-reference and the adapter of every framework that is
    installed are audited, each against its own profile.

    Exit status: 0 everything held, 1 something is refused or violated, 2 could not run.
    """
    from attnproofs.theorems import theorem

    began = time.perf_counter()
    report: dict[str, Any] = {"version": 1, "mode": mode}
    with _Progress() as progress:
        found = _proofs(progress)
        report["proofs"] = [
            {**one.result.to_json(), "held": one.result.held, "lemma": theorem(one.result.id).lemma}
            for one in found
        ]
        report["replay"] = [_replay(progress, found)]
        report["checks"] = _checks(progress, mode)
        report["audits"] = _audits(progress, mode)
    report["held"] = all(
        entry["held"] for part in ("proofs", "replay", "checks", "audits") for entry in report[part]
    )
    report["seconds"] = round(time.perf_counter() - began, 1)
    text = json.dumps(report, ensure_ascii=False, indent=2) + "\n"
    if output is not None:
        from attnproofs.files import write_whole

        write_whole(output, text)
    if as_json:
        click.echo(text, nl=False)
    else:
        _show(report)
    return 0 if report["held"] else 1


class _Progress:
    """What is being done, on a terminal only."""

    def __enter__(self) -> _Progress:
        self.live = sys.stderr.isatty()
        return self

    def __exit__(self, *_: object) -> None:
        self("")

    def __call__(self, text: str) -> None:
        if self.live:
            click.echo(f"\r\033[K{text}", nl=False, err=True)


def _proofs(progress: _Progress) -> list[Outcome]:
    from attnproofs.theorems import select
    from attnproofs.theorems.batch import outcomes

    return outcomes(select(()), progress=lambda done: progress(f"proved {done.result.id}"))


def _replay(progress: _Progress, proofs: list[Outcome]) -> dict[str, Any]:
    """Replay the certificates in a clean interpreter; the proved statements must be the same."""
    import subprocess

    from attnproofs.cli.prove import write_certificates
    from attnproofs.cli.replay import arguments

    progress("replaying the certificates")
    with tempfile.TemporaryDirectory() as folder:
        write_certificates(proofs, Path(folder))
        files = sorted(Path(folder).glob("*.json"))
        began = time.perf_counter()
        done = subprocess.run(
            arguments(["--json", *map(str, files)]), capture_output=True, text=True, check=False
        )
        seconds = round(time.perf_counter() - began, 2)
    results = json.loads(done.stdout)["results"] if done.stdout else []
    replayed = {r["digest"] for r in results if r["status"] == "proved"}
    expected = {d for p in proofs for d in p.result.digests}
    return {
        "statements": len(replayed),
        "seconds": seconds,
        "missing": sorted(expected - replayed),
        "held": done.returncode == 0 and expected <= replayed,
    }


def _checks(progress: _Progress, mode: str) -> list[dict[str, Any]]:
    from dataclasses import asdict

    from attnproofs.suites import run_suites

    results = run_suites(
        (), profile=mode, progress=lambda r: progress(f"checked {r.chapter}: {r.name}")
    )
    return [{**asdict(r), "held": r.held} for r in results]


def _audits(progress: _Progress, mode: str) -> list[dict[str, Any]]:
    from attnproofs.adapters import installed
    from attnproofs.contract.api import audit

    found = []
    for name in installed():
        progress(f"auditing {name}")
        report = audit(name, mode=mode)
        found.append({
            "target": name, "profile": report.profile, "verdict": report.verdict,
            "held_properties": len(report.held), "violated": [f.property for f in report.violated],
            "not_claimed": len(report.not_claimed), "not_covered": len(report.not_covered),
            "held": report.exit_status == 0,
        })  # fmt: skip
    return found


def _show(report: dict[str, Any]) -> None:
    from attnproofs.cli.tables import print_table

    print_table(
        ("theorem", "status", "steps", "SymPy", "numbers", "neighbours"),
        [(p["id"], p["status"], str(p["steps"]), str(p["sympy"].get("agrees", 0)),
          str(p["numbers"]["agrees"]), str(len(p["false_neighbours"]))) for p in report["proofs"]],
    )  # fmt: skip
    click.echo()
    print_table(
        ("chapter", "check", "examples", "result"),
        [(c["chapter"], c["name"], str(c["examples"]), "held" if c["held"] else "violated")
         for c in report["checks"]],
    )  # fmt: skip
    click.echo()
    print_table(
        ("target", "profile", "result", "properties held", "violated"),
        [(a["target"], str(a["profile"]), a["verdict"], str(a["held_properties"]),
          ", ".join(a["violated"])) for a in report["audits"]],
    )  # fmt: skip
    click.echo()
    for p in report["proofs"]:
        if p["message"]:
            click.echo(f"{p['id']}: {p['message']}")
    replayed = report["replay"][0]
    proofs, checks, audits = report["proofs"], report["checks"], report["audits"]
    click.echo(
        f"theorems  {_share(proofs)} proved ({sum(not p['lemma'] for p in proofs)} of the "
        f"catalogue, {sum(p['lemma'] for p in proofs)} tools)"
    )
    click.echo(
        f"replay    {replayed['statements']} statements in a clean interpreter, "
        f"{replayed['seconds']} s" + ("" if replayed["held"] else ": NOT ALL ACCEPTED")
    )
    click.echo(f"checks    {_share(checks)} held")
    click.echo(f"audits    {_share(audits)} held: {', '.join(a['target'] for a in audits)}")
    click.echo(
        f"{'everything held' if report['held'] else 'NOT everything held'} ({report['seconds']} s)"
    )


def _share(entries: list[dict[str, Any]]) -> str:
    return f"{sum(e['held'] for e in entries)} of {len(entries)}"
