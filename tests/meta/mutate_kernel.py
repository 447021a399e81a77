"""Delete the kernel's guards one at a time, and see whether a test notices.

A guard is a ``raise Refused`` or ``raise Unreadable`` (replaced by ``pass``), or one term of an
``and`` (with ``--ands``; replaced by True, so that a check that answers yes or no loses one of its
conditions). Each mutant is tried in a child process: the changed function gets its new code in
place, so that everything that has imported it sees it, and the tests run until the first failure.

``python -m tests.meta.mutate_kernel [--ands] [MODULE ...]`` prints each survivor and the counts;
docs/mutation.md holds the last full run, with a reason for each survivor. POSIX only (it forks).
"""

from __future__ import annotations

import ast
import copy
import os
import signal
import sys
import types
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KERNEL = ROOT / "attnproofs" / "kernel"
TESTS = ["tests/kernel"]
SECONDS = 300

Place = tuple[str, int, int, int]  # module, number of the node in the walk, term of the and, line


def places(module: str, *, ands: bool) -> Iterator[Place]:
    """Yield every guard of a module."""
    tree = ast.parse((KERNEL / f"{module}.py").read_text(encoding="utf-8"))
    for number, node in enumerate(ast.walk(tree)):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            if getattr(node.exc.func, "id", "") in ("Refused", "Unreadable"):
                yield module, number, -1, node.lineno
        elif ands and isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
            for term in range(len(node.values)):
                yield module, number, term, node.values[term].lineno


def mutated(place: Place) -> tuple[ast.Module, int]:
    """Return the module's tree without the guard, and the line of the guard."""
    module, number, term, line = place
    tree = ast.parse((KERNEL / f"{module}.py").read_text(encoding="utf-8"))
    target = list(ast.walk(tree))[number]
    if isinstance(target, ast.BoolOp):
        target.values[term] = ast.copy_location(ast.Constant(True), target.values[term])
        return tree, line

    class Drop(ast.NodeTransformer):
        def visit_Raise(self, node: ast.Raise) -> ast.stmt:
            return ast.copy_location(ast.Pass(), node) if node is target else node

    return ast.fix_missing_locations(Drop().visit(copy.copy(tree))), line


def functions(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield the functions of a module and the methods of its classes (nothing nested)."""
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            if const.co_flags & 0x2:  # CO_NEWLOCALS: a function
                yield const
            else:
                yield from functions(const)


def apply(place: Place) -> bool:
    """Give the function around the guard its new code; False when it is not inside a function."""
    tree, line = mutated(place)
    path = KERNEL / f"{place[0]}.py"
    module = import_module(f"attnproofs.kernel.{place[0]}")
    for code in functions(compile(tree, str(path), "exec", dont_inherit=True)):
        lines = [n for _, _, n in code.co_lines() if n is not None]
        if not code.co_firstlineno <= line <= max([*lines, code.co_firstlineno]) + 6:
            continue
        holder: object = module
        for name in code.co_qualname.split("."):
            holder = vars(holder).get(name)
            if holder is None:
                break
        found = getattr(holder, "func", getattr(holder, "__func__", holder))
        if isinstance(found, types.FunctionType) and found.__code__ != code:
            found.__code__ = code
            return True
    return False


def killed(place: Place) -> bool | None:
    """Tell whether a test notices that the guard is gone (None: the mutant could not be made)."""
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        if not apply(place):
            os._exit(77)
        os._exit(int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *TESTS])))
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 77:
        return None
    return status != 0


def main(arguments: list[str]) -> int:
    """Try every guard of the named modules (all, when none is named)."""
    os.chdir(ROOT)
    ands = "--ands" in arguments
    names = [a for a in arguments if not a.startswith("-")]
    modules = names or sorted(f.stem for f in KERNEL.glob("*.py") if f.stem != "__init__")
    if pytest.main(["-x", "-q", "-p", "no:cacheprovider", *TESTS]) != 0:
        print("the tests must pass before guards are deleted")
        return 2
    dead = total = 0
    for module in modules:
        source = (KERNEL / f"{module}.py").read_text(encoding="utf-8").splitlines()
        for place in places(module, ands=ands):
            verdict = killed(place)
            if verdict is None:
                continue
            total += 1
            dead += verdict
            if not verdict:
                term = "" if place[2] < 0 else f" (term {place[2] + 1})"
                print(
                    f"survived {module}.py:{place[3]}{term}: {source[place[3] - 1].strip()}",
                    flush=True,
                )
        print(f"{module}: so far {dead} killed of {total}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
