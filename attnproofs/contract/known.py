"""Known differences: violations that somebody has looked at and gives a reason for.

The list is a TOML file outside the suite, so that it can be reviewed like code::

    [[difference]]
    property = "masked_value_nan"
    reason = "we never put NaN into padding, see issue 123"
    level = "sdpa"          # optional
    target = "torch-sdpa"   # optional, a pattern

An entry without a reason is refused; an entry that matches nothing is reported.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from attnproofs.errors import InputError


@dataclass(frozen=True)
class Difference:
    """One entry of the file."""

    property: str
    reason: str
    level: str = "*"
    target: str = "*"

    def matches(self, target: str, level: str, name: str) -> bool:
        """Whether a violation is the one that the entry is about."""
        return (
            fnmatchcase(name, self.property)
            and fnmatchcase(level, self.level)
            and fnmatchcase(target, self.target)
        )


@dataclass
class Known:
    """The entries, and which of them have matched a violation so far."""

    entries: list[Difference] = field(default_factory=list)
    used: set[Difference] = field(default_factory=set)

    def reason(self, target: str, level: str, name: str) -> str:
        """The reason given for a violation, or an empty string."""
        for entry in self.entries:
            if entry.matches(target, level, name):
                self.used.add(entry)
                return entry.reason
        return ""

    def unmatched(self, target: str) -> list[Difference]:
        """Entries about this target that matched no violation."""
        mine = [e for e in self.entries if fnmatchcase(target, e.target)]
        return [entry for entry in mine if entry not in self.used]


def read_known(path: str | Path) -> Known:
    """Read a file of known differences.

    Raises
    ------
    InputError
        When the file cannot be read, or an entry lacks a property or a reason.
    """
    try:
        data = tomllib.loads(Path(path).read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"known differences {path}: cannot be read ({error})") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"known differences {path}: not valid TOML: {error}") from None
    rows = data.pop("difference", None)
    if data or not isinstance(rows, list):
        raise InputError(f"known differences {path}: expected [[difference]] tables and no more")
    entries = []
    for number, row in enumerate(rows, 1):
        where = f"known differences {path}, entry {number}"
        if unknown := sorted(set(row) - {"property", "reason", "level", "target"}):
            raise InputError(f"{where}: unknown key {unknown[0]!r}")
        if not all(isinstance(value, str) and value.strip() for value in row.values()):
            raise InputError(f"{where}: every value must be a non-empty string")
        if missing := sorted({"property", "reason"} - set(row)):
            raise InputError(f"{where}: no {missing[0]}")
        entries.append(Difference(**row))
    return Known(entries)
