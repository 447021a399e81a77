"""Reports for people: text for a terminal or a pipe, HTML for a browser, JUnit XML for CI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attnproofs.contract.report import (
    EQUIVALENT,
    HELD,
    KNOWN,
    NOT_CLAIMED,
    NOT_COVERED,
    STATUSES,
    VIOLATED,
    Finding,
    Report,
)

if TYPE_CHECKING:
    from rich.console import Console

_STYLE = {
    VIOLATED: "bold red",
    KNOWN: "yellow",
    EQUIVALENT: "cyan",
    HELD: "green",
    NOT_CLAIMED: "dim",
    NOT_COVERED: "dim",
}
#: At most so many root causes are written out in full on a terminal.
SHOWN = 5


def text(report: Report, width: int = 100, *, verbose: bool = False) -> str:
    """The report as plain text."""
    from io import StringIO

    from rich.console import Console

    written = StringIO()
    console = Console(file=written, width=width, color_system=None, force_terminal=False)
    show(report, console, verbose=verbose)
    return "\n".join(line.rstrip() for line in written.getvalue().splitlines()) + "\n"


def show(report: Report, console: Console, *, verbose: bool = False) -> None:
    """Print the report."""
    from rich.table import Table
    from rich.text import Text

    head = Text.assemble(("Audit of ", ""), (report.target, "bold"), f", profile {report.profile}")
    console.print(head)
    console.print(
        f"level {', '.join(report.levels)}; {', '.join(report.dtypes) or 'no data type'}; "
        f"seed {report.seed}; {report.mode}",
        style="dim",
    )
    for note in report.notes:
        console.print(f"note: {note}", style="dim")
    console.print()
    for saved, what in report.saved:
        console.print(f"saved failure {saved}: {what}")
    causes = report.causes
    for number, finding in enumerate(causes[:SHOWN], 1):
        _show_cause(report, finding, number, console)
    if len(causes) > SHOWN:
        rest = ", ".join(f.property for f in causes[SHOWN:])
        console.print(f"{len(causes) - SHOWN} more root causes: {rest}", style="bold red")
        console.print("Mend the first ones and run again, or see all with --json or --html.\n")
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    for status in STATUSES:
        findings = [f for f in report.findings if f.status == status]
        if findings:
            table.add_row(
                Text(status, _STYLE[status]), str(len(findings)), _names(findings, status)
            )
    console.print(table)
    if verbose:
        console.print()
        _show_all(report, console, Table, Text)
    console.print()
    console.print(last_line(report), style=_STYLE.get(report.verdict, "bold red"))


def _show_cause(report: Report, f: Finding, number: int, console: Console) -> None:
    """One root cause with its counterexample and what follows from it."""
    from rich.padding import Padding
    from rich.text import Text

    level = f" ({f.level})" if len(report.levels) > 1 else ""
    dtype = f" [{f.dtype}]" if f.dtype and f.dtype != report.dtypes[0] else ""
    console.print(Text.assemble((f"{number}. violated: {f.property}", "bold red"), level, dtype))
    body = [f"{f.sentence}"]
    if f.theorem:
        body.append(f"Theorem: {f.theorem}")
    v = f.violation
    assert v is not None
    body.append(f"Found: {v.message}")
    if v.kind == "differs" and v.allowed is not None:
        line = f"Allowed error: {v.allowed:.3g}"
        if v.allowed == 0 and v.expected == 0:
            line += ": no kept value is other than zero"
        elif v.dominates:
            line += f", most of it for the rounding of {v.dominates}"
        body.append(line)
    console.print(Padding(Text("\n".join(body)), (0, 0, 0, 3)))
    if f.code:
        console.print("   Paste to see it:\n")
        for line in f.code.splitlines():
            # neither indented nor wrapped: it is to run when it is pasted
            console.print(Text(line, "bold"), soft_wrap=True)
        console.print()
    if f.id:
        console.print(f"   Saved: attnproofs reproduce {f.id}", highlight=False)
    follows = [
        g.property for g in report.violated if g.because_of == f.property and g.level == f.level
    ]
    if follows:
        console.print(
            Padding(
                Text(f"Explains {len(follows)} more: {', '.join(follows)}", "dim"), (0, 0, 0, 3)
            )
        )
    console.print()


def _names(findings: list[Finding], status: str) -> str:
    """The properties of a status; those that nobody waits for are only counted by reason."""
    if status in (NOT_CLAIMED, NOT_COVERED):
        reasons: dict[str, int] = {}
        for f in findings:
            reasons[f.reason] = reasons.get(f.reason, 0) + 1
        return "; ".join(f"{reason} ({count})" for reason, count in reasons.items())
    if status == HELD:
        cases = sum(sum(f.cases.values()) for f in findings)
        refused = sum(f.refused for f in findings)
        more = f"; {refused} more refused with NotImplementedError" if refused else ""
        return f"on {cases} cases{more}"
    if status == VIOLATED:
        causes = sum(not f.because_of for f in findings)
        return f"{causes} root cause{'s' * (causes != 1)}"
    return ", ".join(f"{f.property}: {f.reason}" for f in findings)


def _show_all(report: Report, console: Console, Table: Any, Text: Any) -> None:
    """One line per property."""
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=True, header_style="bold")
    for name in ("property", "level", "verdict", "cases"):
        table.add_column(name, no_wrap=True, justify="right" if name == "cases" else "left")
    table.add_column("sentence", overflow="fold")
    for f in report.findings:
        table.add_row(
            f.property,
            f.level,
            Text(f.status, _STYLE[f.status]),
            str(sum(f.cases.values()) or ""),
            (f.reason or f.sentence) + (f" ({f.refused} more refused)" if f.refused else ""),
        )
    console.print(table)


def last_line(report: Report) -> str:
    """The verdict in one line."""
    if report.could_not_run:
        return f"could not run: {report.could_not_run}"
    if report.causes:
        names = ", ".join(f.property for f in report.causes[:3])
        more = f" and {len(report.causes) - 3} more" if len(report.causes) > 3 else ""
        return f"violated: {names}{more}"
    count = len(report.held)
    return f"held: all {count} properties that {report.target} claims"
