"""Whatever a file holds, replay says one clear sentence, in bounded time and memory."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attnproofs.calculus import Scope, Sum, eq, span
from attnproofs.calculus.proof import plain
from attnproofs.cli.replay import arguments
from attnproofs.kernel.statement import canonical, to_data
from attnproofs.theorems import theorem
from tests.meta.forge import certificate, replaced

MEMORY = 3 * 2**30
SECONDS = 30


def limited() -> None:
    """Bound what the child may use, where the system can."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


def replay(*paths: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        arguments([str(path) for path in paths]),
        capture_output=True, text=True, timeout=120, check=False, encoding="utf-8",
        preexec_fn=None if sys.platform == "win32" else limited,
    )  # fmt: skip


def good() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(canonical(theorem("softmax_sum").certificate()))
    return found


def text(data: Any) -> bytes:
    return canonical(data).encode()


def deep_term(levels: int) -> bytes:
    return text(certificate(good()["parts"][0])).replace(
        b'"start":', b'"start":' + b'["exp",' * levels + b'["q",1,1]' + b"]" * levels + b',"x":', 1
    )


def duplicate_key() -> bytes:
    return text(good()).replace(b'"format":1', b'"format":1,"format":1')


UNREADABLE: dict[str, tuple[Callable[[], bytes], str]] = {
    "empty": (lambda: b"", "not JSON"),
    "truncated": (lambda: text(good())[:-40], "not JSON (or cut off)"),
    "prose": (lambda: b"E = mc^2", "not JSON"),
    "not UTF-8": (lambda: b"\xff\xfe{}", "not UTF-8 text"),
    "UTF-16": (lambda: '{"format": 1}'.encode("utf-16"), "not UTF-8 text"),
    "binary": (lambda: bytes(range(256)), "not UTF-8 text"),
    "nested lists": (lambda: b"[" * 200_000, "nested too deeply"),
    "nested objects": (lambda: b'{"a":' * 200_000 + b"1" + b"}" * 200_000, "nested too deeply"),
    "too large": (lambda: b"[" + b"0," * 9_000_000 + b"0]", "larger than 16 MiB"),
    "the same key twice": (duplicate_key, "an object has the same key twice"),
    "a fraction": (lambda: b'{"format": 1.0}', "the number 1.0 is not an integer"),
    "a power of ten": (lambda: b'{"format": 1e400}', "the number 1e400 is not an integer"),
    "NaN": (lambda: b'{"format": NaN}', "the number NaN is not an integer"),
    "infinity": (lambda: b'{"format": -Infinity}', "the number -Infinity is not an integer"),
    "a giant integer": (
        lambda: b'{"format": ' + b"9" * 1_000_000 + b"}", "an integer has more than 200 digits",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(UNREADABLE))
def test_an_unreadable_file_is_one_sentence_and_exit_2(tmp_path: Path, name: str) -> None:
    make, sentence = UNREADABLE[name]
    path = tmp_path / "hostile.json"
    path.write_bytes(make())

    found = replay(path)

    assert found.returncode == 2, found.stderr
    assert found.stdout == ""
    assert len(found.stderr.splitlines()) == 1
    assert str(path) in found.stderr and sentence in found.stderr


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path):
        found = replay(path)
        assert found.returncode == 2
        assert len(found.stderr.splitlines()) == 1 and str(path) in found.stderr


def changed(*path: Any, to: Any) -> bytes:
    return text(replaced(good(), path, to))


REFUSED: dict[str, tuple[Callable[[], bytes], str]] = {
    "an unknown version": (lambda: changed("format", to=2), "format 2 is not known"),
    "a version as text": (lambda: changed("format", to="one"), "format one is not known"),
    "true as a version": (lambda: changed("format", to=True), "format True is not known"),
    "a list": (lambda: b"[]", "certificate: an object is expected"),
    "null": (lambda: b"null", "certificate: an object is expected"),
    "a number": (lambda: b"1", "certificate: an object is expected"),
    "no parts": (lambda: changed("parts", to=[]), "without a statement proves nothing"),
    "parts that are no list": (lambda: changed("parts", to={}), "parts: a list is expected"),
    "a key more": (lambda: text({**good(), "more": 1}), "missing or unknown keys: more"),
    "no proof": (lambda: changed("parts", 0, "proof", to=None), "a proof is a chain"),
    "a proof of another kind": (
        lambda: changed("parts", 0, "proof", to={"kind": "trust me"}), "a proof is a chain",
    ),
    "no steps": (lambda: changed("parts", 0, "proof", "steps", to=[]), "a proof of something else"),
    "a deep term": (lambda: deep_term(2_000), ""),
    "a term at the edge of depth": (lambda: deep_term(240), ""),
    "a name of a megabyte": (
        lambda: changed("parts", 0, "statement", "name", to="x" * 2**20),
        "a short text is expected",
    ),
    "a name of ours": (lambda: changed("parts", 0, "statement", "name", to="%0"), "not a name"),
    "a lone surrogate": (
        lambda: changed("parts", 0, "statement", "name", to="\ud800"), "a short text is expected",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(REFUSED))
def test_a_readable_file_that_proves_nothing_is_refused(tmp_path: Path, name: str) -> None:
    make, sentence = REFUSED[name]
    path = tmp_path / "hostile.json"
    path.write_bytes(make())

    found = replay(path)

    said = found.stdout + found.stderr
    assert "Traceback" not in said, said[-2000:]
    if sentence:
        assert found.returncode == 1, said
        assert sentence in said
    else:
        assert found.returncode in (0, 1, 2), said


# ---------------------------------------------------------------------- costly on purpose


def step(scope: Scope, before: Any, after: Any, laws: list[str]) -> bytes:
    statement = scope.claim(eq(before, after))
    one = {"term": plain(statement.claim.rhs), "relation": "=", "rule": "ring", "at": [],
           "args": {"laws": laws}, "back": False}  # fmt: skip
    proof = {"kind": "chain", "start": plain(statement.claim.lhs), "steps": [one]}
    return text(certificate({"statement": to_data(statement), "proof": proof}))


def tower_of_powers() -> bytes:
    """2 to the 64 to the 64 ...: a short term, a number of more digits than there is memory."""
    scope = Scope("costly")
    x = scope.scalar("x")
    t = x * 0 + 2
    for _ in range(8):
        t = t**64
    return step(scope, t, t + 0 * x, [])


def power_of_a_polynomial() -> bytes:
    scope = Scope("costly")
    t = scope.scalar("x") + scope.scalar("y") + 1
    for _ in range(4):
        t = t**64
    return step(scope, t, t + 0, [])


def nested_literal_sums() -> bytes:
    """64 terms of 64 terms of ...: 64^8 in a term of a few lines."""
    scope = Scope("costly")
    x = scope.tensor("x", 64)
    t: Any = None
    for level in range(8):
        inner = t
        t = Sum(span(1, 64), lambda i, inner=inner, level=level: x[i] * (inner if level else 1))
    return step(scope, t, 1 * t, ["sum_literal"])


def doubling_definitions() -> bytes:
    """f1(x) = x + x, f2(x) = f1(x) + f1(x), ...: what unfolds is as long as 2^60."""
    data = json.loads(step((scope := Scope("costly")), scope.scalar("x"), 0, []))
    x = ["sym", "x"]
    call = x
    definitions = []
    for k in range(60):
        body = ["add", call, call]
        definitions.append({"name": f"f{k}", "params": [["real", "x"]], "indices": [],
                            "body": body, "recursion": None, "base": None})  # fmt: skip
        call = ["app", f"f{k}", [["real", x]], []]
    part = data["parts"][0]
    part["statement"]["definitions"] = definitions
    part["statement"]["claim"]["lhs"] = part["proof"]["start"] = call
    part["proof"]["steps"][0]["args"]["laws"] = [f"unfold:f{k}" for k in range(60)]
    return text(data)


@pytest.mark.parametrize(
    "make", [tower_of_powers, power_of_a_polynomial, nested_literal_sums, doubling_definitions]
)
def test_a_costly_certificate_ends_in_bounded_time_and_memory(
    tmp_path: Path, make: Callable[[], bytes]
) -> None:
    path = tmp_path / "costly.json"
    path.write_bytes(make())

    found = replay(path)

    said = found.stdout + found.stderr
    assert found.returncode == 1, said[-2000:]
    assert "Traceback" not in said


def test_a_reader_that_stops_reading_is_no_error(tmp_path: Path) -> None:
    file = tmp_path / "softmax_sum.json"
    file.write_text(canonical(good()), "utf-8")
    process = subprocess.Popen(
        arguments(["--json", *[str(file)] * 2000]), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=60) == 2
