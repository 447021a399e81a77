"""Grading a test: which mutants it catches, and which would slip through.

A test is anything with a name, a title, the levels it examines and a way to examine functions: a
`Rule`, the user's own pytest file (`attnproofs.mutants.suite`), or the audit. The correct function
of each level must pass first; a test that refuses it cannot be graded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from attnproofs.errors import InputError
from attnproofs.mutants.correct import LEVELS
from attnproofs.mutants.registry import CAUSES, Function, Mutant, in_form

FORMAT_VERSION = 1
CAUGHT, SLIPPED, NOT_EXAMINED = "caught", "slipped through", "not examined"


@dataclass(frozen=True)
class Subject:
    """A function under test: `mutant` None is the correct function of the level."""

    level: str
    mutant: Mutant | None = None

    @property
    def id(self) -> str:
        """Id of the mutant, or the level's correct function."""
        return f"correct-{self.level}" if self.mutant is None else self.mutant.id

    def make(self) -> Function:
        """Return the function, with a fresh state."""
        if self.mutant is None:
            return in_form(LEVELS[self.level], self.level)
        return self.mutant.make()


class Grader(Protocol):
    """A way to test an attention function."""

    @property
    def name(self) -> str:
        """As the user typed it."""

    @property
    def title(self) -> str:
        """Inputs and comparison, in one sentence."""

    @property
    def levels(self) -> frozenset[str]:
        """The levels that it examines."""

    def examine_all(self, subjects: Sequence[Subject]) -> Iterator[tuple[Subject, str | None]]:
        """Yield each subject with why it fails the test, None when it passes; in any order."""


@dataclass(frozen=True)
class Outcome:
    """What became of one mutant; `by` says which case or test caught it."""

    mutant: Mutant
    verdict: str
    by: str = ""


@dataclass(frozen=True)
class Grade:
    """What became of every mutant of the gallery, in the gallery's order."""

    name: str
    title: str
    outcomes: tuple[Outcome, ...]

    def those(self, verdict: str) -> tuple[Outcome, ...]:
        """Return the outcomes with this verdict."""
        return tuple(o for o in self.outcomes if o.verdict == verdict)

    @property
    def caught(self) -> tuple[Outcome, ...]:
        """The mutants that fail the test."""
        return self.those(CAUGHT)

    @property
    def slipped(self) -> tuple[Outcome, ...]:
        """The mutants that pass the test: faults that it would not see."""
        return self.those(SLIPPED)

    @property
    def not_examined(self) -> tuple[Outcome, ...]:
        """The mutants of levels that the test does not reach."""
        return self.those(NOT_EXAMINED)

    @property
    def rate(self) -> float:
        """Caught over examined, between 0 and 1."""
        return len(self.caught) / (len(self.caught) + len(self.slipped))

    def to_dict(self) -> dict[str, Any]:
        """Return what ``attnproofs grade --json`` writes (schema: ``grade.schema.json``)."""
        return {
            "format": "attnproofs-grade",
            "version": FORMAT_VERSION,
            "test": self.name,
            "title": self.title,
            "caught": len(self.caught),
            "slipped_through": len(self.slipped),
            "not_examined": len(self.not_examined),
            "rate": round(self.rate, 6),
            "mutants": [_row(outcome) for outcome in self.outcomes],
        }


def _row(outcome: Outcome) -> dict[str, Any]:
    mutant = outcome.mutant
    return {
        "id": mutant.id,
        "level": mutant.level,
        "verdict": outcome.verdict,
        "by": outcome.by,
        "sentence": mutant.sentence,
        "breaks": CAUSES[mutant.cause],
        "sources": list(mutant.sources),
        "seen_on": [str(call) for call in mutant.witness()],
    }


def grade(
    test: Grader,
    mutants: Iterable[Mutant],
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Grade:
    """Run `test` on the correct function of each level, then on each mutant.

    Parameters
    ----------
    test
        What is graded.
    mutants
        The gallery or a part of it.
    progress
        Called with the number of mutants done and their total.

    Raises
    ------
    InputError
        When the correct function fails the test, or no mutant is of a level that it examines.
    """
    chosen = tuple(mutants)
    levels = [level for level in LEVELS if any(m.level == level for m in chosen)]
    examined = [level for level in levels if level in test.levels]
    if not examined:
        raise InputError(
            f"{test.name} examines {', '.join(sorted(test.levels))}, and no chosen mutant is of "
            f"such a level (chosen: {', '.join(levels) or 'none'})"
        )
    for subject, reason in test.examine_all([Subject(level) for level in examined]):
        if reason is not None:
            raise InputError(
                f"the correct {subject.level} function fails {test.name}, so the test cannot be "
                f"graded: {reason}"
            )
    subjects = [Subject(m.level, m) for m in chosen if m.level in examined]
    reasons: dict[str, str | None] = {}
    progress(0, len(subjects))
    for subject, reason in test.examine_all(subjects):
        reasons[subject.id] = reason
        progress(len(reasons), len(subjects))
    return Grade(test.name, test.title, tuple(_outcome(m, reasons) for m in chosen))


def _outcome(mutant: Mutant, reasons: dict[str, str | None]) -> Outcome:
    if mutant.id not in reasons:
        return Outcome(mutant, NOT_EXAMINED)
    reason = reasons[mutant.id]
    return Outcome(mutant, SLIPPED) if reason is None else Outcome(mutant, CAUGHT, reason)


@dataclass(frozen=True)
class EachInTurn:
    """A test that examines one function at a time: a rule, the audit."""

    name: str
    title: str
    levels: frozenset[str]
    examine: Callable[[str, Function], str | None]

    def examine_all(self, subjects: Sequence[Subject]) -> Iterator[tuple[Subject, str | None]]:
        """Examine the subjects in order."""
        for subject in subjects:
            yield subject, self.examine(subject.level, subject.make())
