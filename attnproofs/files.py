"""Writing files whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from attnproofs.errors import AttnproofsError


def write_whole(path: str | Path, content: str | bytes) -> None:
    r"""Write `content` to `path` so that a reader sees the old file or the new one, never a part.

    Parameters
    ----------
    path
        File to write; missing parent folders are made.
    content
        Text (stored as UTF-8 with ``\\n`` line ends) or bytes.

    Raises
    ------
    AttnproofsError
        When the file cannot be written; an existing file is then unchanged.
    """
    target = Path(path)
    data = content.encode("utf-8") if isinstance(content, str) else content
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            Path(temporary).chmod(0o644)
            os.replace(temporary, target)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise AttnproofsError(f"cannot write {target}: {error.strerror or error}") from error
