"""The arrows between the rooms go one way (docs/architecture.md); imports are read from syntax."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "attnproofs"

LEAVES = {"errors", "files", "__version__"}
# room -> rooms of ours that it may import (itself and, but for the kernel, the leaves apart)
ARROWS: dict[str, set[str]] = {
    "kernel": set(),
    "calculus": {"kernel"},
    "theorems": {"calculus", "kernel"},
    "reference": set(),
    "experiments": set(),
    "mutants": set(),
    "contract": {"reference"},
    "adapters": {"reference"},
    "typeset": {"theorems", "calculus", "kernel", "reference", "experiments"},
}
FRAMEWORKS = {
    "torch", "jax", "flax", "onnx", "onnxruntime", "keras", "tensorflow", "transformers", "mlx",
}  # fmt: skip
# (file, room or framework) -> why it may be imported there, inside a function only
LAZY = {
    ("calculus/theorem.py", "cli"): "a theorem's file prints itself when it is run",
    ("calculus/theorem.py", "typeset"): "a theorem draws itself in a notebook",
    ("contract/api.py", "adapters"): "a target may be given by name",
    ("contract/target.py", "adapters"): "a target may be given by name",
    ("mutants/arrays.py", "torch"): "a graded test may hand over arrays of a framework",
    ("mutants/arrays.py", "jax"): "a graded test may hand over arrays of a framework",
}


def imports(file: Path, root: Path = ROOT) -> Iterator[tuple[str, bool]]:
    """Yield the modules that a file imports, and whether inside a function (so, only when called).

    What stands below ``if TYPE_CHECKING`` is read by type checkers alone and left out.
    """
    package = list(file.relative_to(root).with_suffix("").parts[:-1])

    def walk(node: ast.AST, lazy: bool) -> Iterator[tuple[str, bool]]:
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            return
        if isinstance(node, ast.Import):
            yield from ((a.name, lazy) for a in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            if module == "attnproofs":
                yield from ((f"attnproofs.{a.name}", lazy) for a in node.names)
            else:
                yield module, lazy
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if called in ("import_module", "__import__"):
                yield str(node.args[0].value), lazy
        inside = lazy or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        for child in ast.iter_child_nodes(node):
            yield from walk(child, inside)

    yield from walk(ast.parse(file.read_text(encoding="utf-8")), False)


def files(room: str) -> list[Path]:
    return sorted((PACKAGE / room).rglob("*.py"))


def ours(name: str) -> str | None:
    """Return the room of an imported module of ours, or None."""
    parts = name.split(".")
    return parts[1] if parts[0] == "attnproofs" and len(parts) > 1 else None


def excused(file: Path, target: str, lazy: bool) -> bool:
    return lazy and (file.relative_to(PACKAGE).as_posix(), target) in LAZY


@pytest.mark.parametrize("room", sorted(ARROWS))
def test_arrows_go_one_way(room: str) -> None:
    allowed = ARROWS[room] | {room} | (LEAVES if room != "kernel" else set())
    wrong = [
        f"{file.relative_to(ROOT)} imports {name}"
        for file in files(room)
        for name, lazy in imports(file)
        if (target := ours(name)) is not None
        and target not in allowed
        and not excused(file, target, lazy)
    ]

    assert files(room)
    assert not wrong


def test_the_kernel_imports_the_standard_library_only() -> None:
    for file in files("kernel"):
        for name, _ in imports(file):
            known = name.split(".")[0] in sys.stdlib_module_names
            assert known or name.startswith("attnproofs.kernel"), (file, name)


def test_the_kernel_neither_evaluates_nor_unpickles() -> None:
    """What a certificate holds is data; nothing in the kernel can run it."""
    forbidden = {"eval", "exec", "compile", "__import__", "import_module", "open_code"}
    for file in files("kernel"):
        calls = [n for n in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(n, ast.Call)]
        assert not {getattr(n.func, "id", "") for n in calls} & forbidden, file
        tops = {name.split(".")[0] for name, _ in imports(file)}
        assert not tops & {"pickle", "marshal", "shelve", "ctypes", "importlib", "subprocess"}, file


@pytest.mark.parametrize("room", sorted(set(ARROWS) - {"adapters"}))
def test_no_framework_outside_the_adapters(room: str) -> None:
    for file in files(room):
        for name, lazy in imports(file):
            top = name.split(".")[0]
            assert top not in FRAMEWORKS or excused(file, top, lazy), (file, name)


def test_the_leaves_import_nothing_of_ours() -> None:
    for leaf in ("errors", "files"):
        assert {ours(n) for n, _ in imports(PACKAGE / f"{leaf}.py")} <= {None, "errors"}


def test_every_exception_is_still_one() -> None:
    for path, target in LAZY:
        found = {(ours(n) or n.split(".")[0]) for n, lazy in imports(PACKAGE / path) if lazy}
        assert target in found, f"{path} no longer imports {target}: take it off the list"


def test_every_room_has_its_arrows() -> None:
    """A new room is added to this test and to docs/architecture.md."""
    rooms = {p.name for p in PACKAGE.iterdir() if (p / "__init__.py").is_file()} - {"checks"}
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")

    assert rooms - {"cli"} == set(ARROWS)
    assert all(f"`attnproofs/{room}/`" in page for room in rooms)


def test_every_form_of_import_is_noticed(tmp_path: Path) -> None:
    """The other tests can fail: here is a file that breaks every arrow, and each is seen."""
    made = tmp_path / "attnproofs" / "kernel" / "made.py"
    made.parent.mkdir(parents=True)
    made.write_text(
        "import sympy.core\nfrom ..calculus import symbols\nfrom attnproofs import contract\n"
        "if TYPE_CHECKING:\n    import numpy\n"
        "def f():\n    from attnproofs.typeset import latex\n    import_module('torch')\n",
        encoding="utf-8",
    )

    assert set(imports(made, tmp_path)) == {
        ("sympy.core", False),
        ("attnproofs.calculus", False),
        ("attnproofs.contract", False),
        ("attnproofs.typeset", True),
        ("torch", True),
    }


# ---------------------------------------------------------------------- what gets loaded

HEAVY = {"sympy", "numpy", "mpmath", "hypothesis", "pytest", "jinja2", "matplotlib"}


def loaded_by(code: str) -> set[str]:
    """Return the modules of a fresh interpreter after running `code`."""
    program = (
        f"import sys, json\nsys.path.insert(0, {str(ROOT)!r})\n{code}\n"
        "print('\\n' + json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True, text=True, timeout=120, check=False, encoding="utf-8",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def command(*arguments: str) -> set[str]:
    return loaded_by(
        f"sys.argv = ['attnproofs', *{list(arguments)!r}]\n"
        "from attnproofs.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code"
    )


def test_importing_the_package_is_light() -> None:
    assert not loaded_by("import attnproofs") & (HEAVY | {"rich", "click"})


def test_help_loads_click_and_nothing_else_of_weight() -> None:
    loaded = command("--help")

    assert "click" in loaded
    assert not loaded & (HEAVY | {"rich"})
    assert not {m for m in loaded if m.startswith("attnproofs.")} - {
        "attnproofs.cli", "attnproofs.errors",
    }  # fmt: skip


@pytest.mark.parametrize(
    "arguments", [("list", "--json"), ("prove", "--help"), ("axioms", "--all")]
)
def test_reading_commands_prove_nothing(arguments: tuple[str, ...]) -> None:
    assert not command(*arguments) & {"sympy", "numpy", "mpmath"}


def test_a_theorem_loads_neither_sympy_nor_numpy() -> None:
    """SymPy comes in when opinions are asked for, not when a theorem is proved."""
    loaded = loaded_by(
        "from attnproofs.theorems import theorem\ntheorem('softmax_sum').certificate()"
    )

    assert not loaded & {"sympy", "numpy"}
