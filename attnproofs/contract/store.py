"""Saved failures: one JSON file each under ``.attnproofs/failures``, written whole or not at all.

A failure is a case, the property that it violates and the target; nothing in the file is ever
executed or unpickled when it is read back.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attnproofs.contract.case import Case, case_from_json
from attnproofs.contract.target import Target
from attnproofs.errors import InputError
from attnproofs.files import write_whole

FORMAT = 1
FOLDER = Path(".attnproofs")


@dataclass(frozen=True)
class Saved:
    """A failure as it is stored."""

    id: str
    target: Target
    level: str
    variant: str
    property: str
    dtype: str
    profile: str
    case: Case
    message: str
    code: str

    def to_json(self) -> dict[str, Any]:
        """The file's content."""
        return {
            "format": FORMAT,
            "id": self.id,
            "target": self.target.plain(),
            "level": self.level,
            "variant": self.variant,
            "property": self.property,
            "dtype": self.dtype,
            "profile": self.profile,
            "case": self.case.to_json(),
            "message": self.message,
            "code": self.code,
        }


def identify_failure(target: Target, level: str, name: str, dtype: str, case: Case) -> str:
    """A short name that the same failure always gets."""
    content = json.dumps([target.name, level, name, dtype, case.to_json()], sort_keys=True)
    return f"{name}-{hashlib.sha256(content.encode()).hexdigest()[:8]}"


class Store:
    """The folder of saved failures.

    Parameters
    ----------
    folder
        Usually ``.attnproofs`` in the current folder.
    """

    def __init__(self, folder: Path = FOLDER) -> None:
        self.folder = folder / "failures"

    def save(self, failure: Saved) -> None:
        """Write one failure."""
        text = json.dumps(failure.to_json(), indent=1, sort_keys=True) + "\n"
        write_whole(self.folder / f"{failure.id}.json", text)

    def remove(self, identifier: str) -> None:
        """Forget a failure that is fixed."""
        (self.folder / f"{identifier}.json").unlink(missing_ok=True)

    def all(self) -> list[Saved]:
        """Every readable failure, by name."""
        found = []
        for path in sorted(self.folder.glob("*.json")):
            try:
                found.append(self.load(path.stem))
            except InputError:
                continue
        return found

    def load(self, identifier: str) -> Saved:
        """Read one failure.

        Raises
        ------
        InputError
            When there is none of that name, or its file is not one of ours.
        """
        if not re.fullmatch(r"[A-Za-z0-9_.-]+", identifier):
            raise InputError(f"{identifier!r} is no id of a saved failure")
        path = self.folder / f"{identifier}.json"
        try:
            data = json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            known = [p.stem for p in sorted(self.folder.glob("*.json"))]
            there = f"there is {', '.join(known[:8])}" if known else "none is saved there"
            raise InputError(f"no saved failure {identifier!r} in {self.folder}; {there}") from None
        except (OSError, ValueError) as error:
            raise InputError(f"{path} cannot be read: {error}") from None
        try:
            if data["format"] != FORMAT:
                raise InputError(f"{path} has format {data['format']}; this version reads {FORMAT}")
            return Saved(
                id=str(data["id"]),
                target=Target.from_plain(data["target"]),
                level=str(data["level"]),
                variant=str(data["variant"]),
                property=str(data["property"]),
                dtype=str(data["dtype"]),
                profile=str(data["profile"]),
                case=case_from_json(data["case"]),
                message=str(data["message"]),
                code=str(data["code"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"{path} is not a saved failure: {error!r}") from None


def load_case(identifier: str) -> Case:
    """The case of a saved failure in the current folder's store."""
    return Store().load(identifier).case
