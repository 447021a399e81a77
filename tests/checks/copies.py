"""A copy of the package ``checks`` whose implementations a test may break."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from contextlib import contextmanager
from inspect import signature
from pathlib import Path
from types import FunctionType, ModuleType

from hypothesis import HealthCheck, Phase, settings

FOLDER = Path(__file__).resolve().parents[2] / "checks"
NAME = "checks_to_break"

# no shrinking: that a check fails is all that is asked
BRIEF = settings(
    max_examples=60,
    phases=[Phase.generate],
    derandomize=True,
    database=None,
    deadline=None,
    report_multiple_bugs=False,
    # an implementation that is broken may well be slow
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def load(module: str) -> ModuleType:
    """Import ``checks/<module>.py`` as part of the copy."""
    if NAME not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            NAME, FOLDER / "__init__.py", submodule_search_locations=[str(FOLDER)]
        )
        sys.modules[NAME] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[NAME])
    return importlib.import_module(f"{NAME}.{module}")


def chapters() -> list[str]:
    """The suites written by hand, by chapter."""
    return sorted(
        path.stem.removeprefix("test_")
        for path in FOLDER.glob("test_*.py")
        if "attention_mp" in path.read_text(encoding="utf-8")
    )


def checks(chapter: str) -> dict[str, FunctionType]:
    """The checks of a chapter in the copy, by name without ``test_``."""
    module = load(f"test_{chapter}")
    found = {}
    for name, function in vars(module).items():
        if name.startswith("test_"):
            if hasattr(function, "hypothesis") and not hasattr(function, "brief"):
                function = BRIEF(function)
                function.brief = True
            found[name.removeprefix("test_")] = function
    return found


@contextmanager
def broken(fault):
    """The copy with one fault in the module that the fault's parameter names, mended afterwards."""
    (name,) = signature(fault).parameters
    module = load("attention_mp" if name == "attn" else name)
    before = dict(vars(module))
    try:
        fault(module)
        yield
    finally:
        vars(module).clear()
        vars(module).update(before)
