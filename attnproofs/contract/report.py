"""The outcome of an audit: one finding per property, and the verdict over all of them."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any

from attnproofs.contract.case import Case, Violation

#: Version of the JSON form; `schema.json` in this folder describes it.
VERSION = 1

HELD = "held"
VIOLATED = "violated"
NOT_CLAIMED = "not claimed"
NOT_COVERED = "not covered"
EQUIVALENT = "equivalent"
KNOWN = "known difference"
STATUSES = (VIOLATED, KNOWN, EQUIVALENT, HELD, NOT_CLAIMED, NOT_COVERED)


@dataclass(frozen=True)
class Finding:
    """What became of one property.

    Attributes
    ----------
    property, level, variant, theorem, sentence
        The property.
    status
        One of `STATUSES`.
    cases
        Cases that reached the judgement, by data type.
    refused
        Cases that the target refused with NotImplementedError: nothing is said of them.
    reason
        Why it is not claimed, not covered, equivalent or a known difference.
    dtype
        Data type in which it is violated.
    violation, case, code, id
        For a violated property: what was wrong, the input, pasteable code, id of the saved failure.
    because_of
        The property whose violation explains this one; empty for a root cause.
    margin
        For accuracy properties: largest error divided by its allowance.
    """

    property: str
    level: str
    variant: str
    theorem: str
    sentence: str
    status: str
    cases: dict[str, int] = field(default_factory=dict)
    refused: int = 0
    reason: str = ""
    dtype: str = ""
    violation: Violation | None = None
    case: Case | None = None
    code: str = ""
    id: str = ""
    because_of: str = ""
    margin: float | None = None

    def to_json(self) -> dict[str, Any]:
        """The finding as plain data."""
        data: dict[str, Any] = {
            "property": self.property,
            "level": self.level,
            "theorem": self.theorem,
            "sentence": self.sentence,
            "status": self.status,
            "cases": dict(self.cases),
        }
        for name in ("variant", "refused", "reason", "dtype", "because_of"):
            if getattr(self, name):
                data[name] = getattr(self, name)
        if self.margin is not None:
            data["margin"] = self.margin
        if self.violation is not None:
            v = self.violation
            data["violation"] = {
                "kind": v.kind,
                "message": v.message,
                "output": v.output,
                "index": list(v.index),
                "expected": _number(v.expected),
                "got": _number(v.got),
                "allowed": _number(v.allowed),
            }
            if v.dominates:
                data["violation"]["dominates"] = v.dominates
        if self.case is not None:
            data["id"] = self.id
            data["counterexample"] = {"shapes": self.case.size(), "code": self.code}
        return data


def _number(value: float | None) -> Any:
    """A float as JSON; NaN and infinities as strings."""
    if value is None or math.isfinite(value):
        return value
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


@dataclass
class Report:
    """The outcome of an audit.

    Attributes
    ----------
    target, profile, levels, seed, dtypes, mode
        What was audited and how.
    findings
        One per property and level, in the order of the properties.
    notes
        Sentences about the audit as a whole (isolation, axes that the target needs, ...).
    could_not_run
        The reason when no plain call gave a usable result, else empty.
    """

    target: str
    profile: str
    levels: list[str]
    seed: int
    dtypes: list[str]
    mode: str
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    could_not_run: str = ""
    saved: list[tuple[str, str]] = field(default_factory=list)

    def _with(self, status: str) -> list[Finding]:
        return [f for f in self.findings if f.status == status]

    @property
    def held(self) -> list[Finding]:
        """Properties that held on every case."""
        return self._with(HELD)

    @property
    def violated(self) -> list[Finding]:
        """Properties that do not hold, root causes first."""
        return sorted(self._with(VIOLATED), key=lambda f: bool(f.because_of))

    @property
    def causes(self) -> list[Finding]:
        """The violated properties that no other violated one explains."""
        return [f for f in self.violated if not f.because_of]

    @property
    def not_claimed(self) -> list[Finding]:
        """Properties about something that the target does not offer."""
        return self._with(NOT_CLAIMED)

    @property
    def not_covered(self) -> list[Finding]:
        """Properties on which nothing can be said."""
        return self._with(NOT_COVERED)

    @property
    def equivalent(self) -> list[Finding]:
        """Oddities that a theorem proves harmless."""
        return self._with(EQUIVALENT)

    @property
    def known(self) -> list[Finding]:
        """Violations listed in the known-differences file."""
        return self._with(KNOWN)

    @property
    def verdict(self) -> str:
        """``held``, ``violated`` or ``could not run``."""
        if self.could_not_run:
            return "could not run"
        return VIOLATED if self._with(VIOLATED) else HELD

    @property
    def exit_status(self) -> int:
        """0 held, 1 violated, 2 could not run."""
        return {HELD: 0, VIOLATED: 1}.get(self.verdict, 2)

    def to_json(self) -> dict[str, Any]:
        """The report as plain data; the same audit gives the same bytes."""
        from attnproofs import __version__

        return {
            "version": VERSION,
            "attnproofs": __version__,
            "target": self.target,
            "profile": self.profile,
            "levels": list(self.levels),
            "mode": self.mode,
            "seed": self.seed,
            "dtypes": list(self.dtypes),
            "verdict": self.verdict,
            "summary": {status: len(self._with(status)) for status in STATUSES},
            "notes": list(self.notes),
            **({"could_not_run": self.could_not_run} if self.could_not_run else {}),
            "findings": [finding.to_json() for finding in self.findings],
        }

    def json_text(self) -> str:
        """The JSON form as text."""
        return json.dumps(self.to_json(), indent=2, ensure_ascii=False) + "\n"

    def html(self) -> str:
        """One self-contained HTML page."""
        from attnproofs.contract.page import page

        return page(self)

    def junit(self) -> str:
        """JUnit XML."""
        from attnproofs.contract.junit import junit

        return junit(self)

    def _repr_html_(self) -> str:
        from attnproofs.contract.page import page

        return page(self, whole=False)

    def __str__(self) -> str:
        from attnproofs.contract.render import text

        return text(self)
