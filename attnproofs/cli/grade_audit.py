"""The audit as a test that can be graded: it lies here because it needs both rooms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass

from attnproofs.contract.api import audit
from attnproofs.mutants import LEVELS, lookup
from attnproofs.mutants.grade import Subject


@dataclass(frozen=True)
class Audit:
    """A mutant is caught when the audit, at default settings, finds a property violated.

    Attributes
    ----------
    jobs
        Processes.
    """

    jobs: int = 1
    name: str = "audit"
    title: str = "the audit of attnproofs at its default settings, profile strict"
    levels: frozenset[str] = frozenset(LEVELS)

    def examine_all(self, subjects: Sequence[Subject]) -> Iterator[tuple[Subject, str | None]]:
        """Audit the subjects, several at a time; in the order in which they end."""
        if not subjects:
            return
        with ProcessPoolExecutor(min(self.jobs, len(subjects))) as pool:
            running = {
                pool.submit(verdict, s.level, None if s.mutant is None else s.mutant.id): s
                for s in subjects
            }
            for done in as_completed(running):
                yield running[done], done.result()


def verdict(level: str, identity: str | None) -> str | None:
    """Return the first violated property of a mutant, or of the correct function; None if none."""
    subject = Subject(level, None if identity is None else lookup(identity))
    # first_only: one violation is enough; isolate: the gallery neither hangs nor ends the process
    report = audit(subject.make(), level=level, profile="strict", isolate=False, first_only=True)
    if report.could_not_run:
        return report.could_not_run
    if not report.violated:
        return None
    first = report.violated[0]
    message = "" if first.violation is None else first.violation.message
    return f"{first.property}: {message}"
