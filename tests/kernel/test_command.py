"""Files that are no certificates: what the program says before it reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

from attnproofs.kernel import command
from attnproofs.kernel.read import Unreadable


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="No such file"):
        command.load(tmp_path / "nothing.json")


def test_a_file_is_not_read_when_it_is_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "large.json"
    file.write_bytes(b"{}" + b" " * 2**20)
    monkeypatch.setattr(command, "LARGEST_FILE", 2**20)
    monkeypatch.setattr(command, "parse", lambda raw: pytest.fail("it was read"))
    with pytest.raises(Unreadable, match="larger than 1 MiB"):
        command.load(file)
