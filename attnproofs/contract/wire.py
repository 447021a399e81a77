"""Messages between the audit and the process that runs the target: JSON and raw array bytes.

Neither side unpickles anything: the target's process is not trusted, and what it sends is read as
data only. A message is an 8-byte length, that many bytes of JSON, and the bytes of its arrays.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_HEAD = struct.Struct("<QQ")
_MARK = "#array"
_TUPLE = "#tuple"
#: Refuse to allocate for a message longer than this (bytes).
LARGEST = 1 << 32


def dtype_named(name: str) -> np.dtype[Any]:
    """The NumPy dtype called `name`; the names of ml_dtypes (bfloat16, ...) are understood too."""
    try:
        return np.dtype(name)
    except TypeError:
        import ml_dtypes

        found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
        return found


def pack(message: Any) -> bytes:
    """Encode a message of dicts, lists, strings, numbers, None and arrays."""
    blobs: list[bytes] = []
    offset = 0

    def plain(item: Any) -> Any:
        nonlocal offset
        if isinstance(item, np.ndarray):
            data = np.ascontiguousarray(item).tobytes()
            entry = {_MARK: [item.dtype.name, list(item.shape), offset, len(data)]}
            blobs.append(data)
            offset += len(data)
            return entry
        if isinstance(item, dict):
            return {key: plain(value) for key, value in item.items()}
        if isinstance(item, tuple):
            return {_TUPLE: [plain(value) for value in item]}
        if isinstance(item, list):
            return [plain(value) for value in item]
        return item

    text = json.dumps(plain(message)).encode()
    return b"".join([_HEAD.pack(len(text), offset), text, *blobs])


def unpack(text: bytes, data: bytes) -> Any:
    """Decode what `pack` wrote; arrays come back as fresh writable copies."""

    def rich(item: Any) -> Any:
        if isinstance(item, dict):
            if _MARK in item:
                name, shape, start, size = item[_MARK]
                flat = np.frombuffer(data[start : start + size], dtype_named(name))
                return flat.reshape(shape).copy()
            if _TUPLE in item:
                return tuple(rich(value) for value in item[_TUPLE])
            return {key: rich(value) for key, value in item.items()}
        if isinstance(item, list):
            return [rich(value) for value in item]
        return item

    return rich(json.loads(text))


def head(raw: bytes) -> tuple[int, int]:
    """Lengths of the JSON part and of the array part, from the first 16 bytes."""
    text, data = _HEAD.unpack(raw)
    if text + data > LARGEST:
        raise ValueError(f"a message of {text + data} bytes")
    return text, data


HEAD_SIZE = _HEAD.size


def receive(stream: IO[bytes], read: Callable[[int], bytes] | None = None) -> Any:
    """Read one message from a stream; EOFError when it ends first."""

    def exactly(count: int) -> bytes:
        parts = []
        while count:
            part = stream.read(count) if read is None else read(count)
            if not part:
                raise EOFError
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    text, data = head(exactly(HEAD_SIZE))
    return unpack(exactly(text), exactly(data))
