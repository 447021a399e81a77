"""What is audited: a named adapter, ``package.module:callable``, ``path/file.py:callable``.

This is the one place that turns a user's words into a callable. A `Target` is a description; the
callable itself is loaded in the process that runs it.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from attnproofs.errors import InputError, TargetError


@dataclass(frozen=True)
class Target:
    """Where a callable comes from.

    Attributes
    ----------
    name
        What the user wrote; reports use it.
    kind
        ``adapter``, ``module``, ``file`` or ``object``.
    where
        Adapter name, module name or file path.
    attribute
        Name of the callable inside its module (dots allowed), or the level of an adapter.
    function
        The callable itself, for ``object``.
    arrays, device
        Kind of arrays that a user's callable takes (`attnproofs.adapters.arrays.KINDS`, empty for
        NumPy's), and where they live.
    """

    name: str
    kind: str
    where: str = ""
    attribute: str = ""
    function: Callable[..., Any] | None = field(default=None, repr=False, compare=False)
    arrays: str = field(default="", repr=False)
    device: str = field(default="", repr=False)

    def plain(self) -> list[str]:
        """The target as words, which `from_plain` reads."""
        return [self.name, self.kind, self.where, self.attribute, self.arrays, self.device]

    @staticmethod
    def from_plain(words: list[str]) -> Target:
        """Read what `plain` wrote."""
        name, kind, where, attribute, arrays, device = map(str, words)
        return Target(name, kind, where, attribute, arrays=arrays, device=device)

    @property
    def reloadable(self) -> bool:
        """Whether another process can load it by name."""
        return self.kind != "object"

    def arguments(self) -> list[str]:
        """The target as command-line arguments for the process that runs it."""
        return [json.dumps(self.plain())]

    @staticmethod
    def from_arguments(arguments: list[str]) -> Target:
        """Read what `arguments` wrote."""
        return Target.from_plain(json.loads(arguments[0]))

    def load(self) -> Callable[..., Any]:
        """Import and return the callable, which takes NumPy arrays.

        Raises
        ------
        TargetError
            When there is no such module, file or callable.
        MissingDependency
            When its framework is not installed.
        """
        if self.arrays:
            from attnproofs.adapters.arrays import wrap

            return wrap(self._load(), self.arrays, self.device or "cpu")
        return self._load()

    def _load(self) -> Callable[..., Any]:
        """The callable itself."""
        if self.function is not None:
            return self.function
        if self.kind == "adapter":
            return _adapter_function(self.where, self.attribute)
        module = _module(self.where) if self.kind == "module" else _file_module(Path(self.where))
        found: Any = module
        for part in self.attribute.split("."):
            try:
                found = getattr(found, part)
            except AttributeError:
                names = [n for n in dir(found) if callable(getattr(found, n)) and n[:1] != "_"]
                raise TargetError(
                    f"{self.where} has no {self.attribute!r}; {_suggest(part, names)}"
                ) from None
        if not callable(found):
            raise TargetError(f"{self.name} is a {type(found).__name__}, not a function")
        function: Callable[..., Any] = found
        return function

    def source_lines(self) -> list[str]:
        """Python lines that bind the callable to the name ``attention``."""
        lines = self._source_lines()
        if self.arrays:
            end = f"attention = wrap(attention, {self.arrays!r}, {self.device or 'cpu'!r})"
            return ["from attnproofs.adapters.arrays import wrap", *lines, end]
        return lines

    def _source_lines(self) -> list[str]:
        first, _, rest = self.attribute.partition(".")
        name = first if first == "attention" or rest else f"{first} as attention"
        bind = [f"attention = {self.attribute}"] if rest else []
        if self.kind == "module":
            return [f"from {self.where} import {name}", *bind]
        if self.kind == "file":
            path = Path(self.where)
            if path.stem.isidentifier():
                return [
                    "import sys",
                    f"sys.path.insert(0, {str(path.parent)!r})",
                    f"from {path.stem} import {name}",
                    *bind,
                ]
            return [
                "import runpy",
                f"attention = runpy.run_path({str(path)!r})[{first!r}]"
                + (f".{rest}" if rest else ""),
            ]
        if self.kind == "adapter":
            return [
                "from attnproofs.contract.target import find",
                f"attention = find({self.where!r}, {self.attribute!r}).load()",
            ]
        return [f"# attention = {self.name}, the function that was audited"]


def find(text: str, level: str = "", *, arrays: str = "", device: str = "") -> Target:
    """Understand a target as a user writes it; nothing of the target is imported yet.

    Parameters
    ----------
    text
        A named adapter, ``package.module:callable`` or ``path/file.py:callable``.
    level
        For an adapter, the level wanted.
    arrays, device
        Kind of arrays that a callable of one's own takes (torch, jax, mlx), and their device.

    Raises
    ------
    TargetError
        When the words make no sense, or there is no such file or adapter.
    InputError
        When `arrays` is no kind of arrays, or is given for an adapter.

    Examples
    --------
    >>> find("numpy:matmul")
    Target(name='numpy:matmul', kind='module', where='numpy', attribute='matmul')
    >>> find("nowhere.py:f")
    Traceback (most recent call last):
    attnproofs.errors.TargetError: no file nowhere.py; a target is path/file.py:callable
    """
    if arrays or device:
        return _with_arrays(find(text, level), arrays, device)
    left, colon, right = text.rpartition(":")
    if not colon:
        if text.endswith(".py"):
            raise TargetError(f"{text} names no callable; write {text}:function_name")
        names = adapter_names()
        if text not in names:
            raise TargetError(
                f"no adapter is called {text!r}; {_suggest(text, names)} "
                "(a function of your own is path/file.py:callable or package.module:callable)"
            )
        return Target(text, "adapter", text, level)
    if not left or not right or not all(part.isidentifier() for part in right.split(".")):
        raise TargetError(f"{text!r} is no target; write path/file.py:callable or module:callable")
    if left.endswith(".py"):
        path = Path(left)
        if not path.is_file():
            raise TargetError(f"no file {left}; a target is path/file.py:callable")
        return Target(text, "file", str(path.resolve()), right)
    if not all(part.isidentifier() for part in left.split(".")):
        raise TargetError(f"{left!r} is neither a module name nor a .py file")
    return Target(text, "module", left, right)


def _with_arrays(target: Target, arrays: str, device: str) -> Target:
    """The target, taking arrays of a framework."""
    from attnproofs.adapters.arrays import KINDS

    if target.kind == "adapter":
        raise InputError(
            f"{target.name} is an adapter and converts its own arrays: leave out --arrays and "
            "--device, which are for a function of your own"
        )
    if not arrays:
        raise InputError(
            f"device {device!r} says nothing without the kind of arrays: --arrays torch"
        )
    if arrays not in KINDS:
        raise InputError(f"no array kind {arrays!r}; expected one of {', '.join(KINDS)}")
    return replace(target, arrays=arrays, device=device)


def of_function(function: Callable[..., Any], name: str | None = None) -> Target:
    """Describe a callable: by name where it can be imported again, else the object itself."""
    module = getattr(function, "__module__", None)
    path = getattr(function, "__qualname__", None)
    if module and path and module != "__main__" and "<" not in path:
        found: Any = sys.modules.get(module)
        for part in path.split("."):
            found = getattr(found, part, None)
        file = getattr(sys.modules.get(module), "__file__", None)
        if found is function and file and importlib.util.find_spec(module) is not None:
            return Target(name or f"{module}:{path}", "module", module, path)
    label = name or path or type(function).__name__
    return Target(label, "object", function=function)


def adapter_names() -> list[str]:
    """Names of the adapters that can be asked for."""
    from attnproofs import adapters

    return list(adapters.names())


def _adapter_function(name: str, level: str) -> Callable[..., Any]:
    """The callable of an adapter at a level."""
    from attnproofs import adapters

    return adapters.get(name).function(level)


def _module(name: str) -> Any:
    """Import a module; the current folder counts, as it does for ``python -m``."""
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(error.name + ".")):
            raise TargetError(f"no module named {error.name!r} can be imported") from None
        raise


def _file_module(path: Path) -> Any:
    """Run a file as a module of its own; its folder is importable, as it is for ``python FILE``."""
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    name = path.stem
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise TargetError(f"{path} cannot be loaded as Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(name, module)
    spec.loader.exec_module(module)
    return module


def _suggest(word: str, names: list[str]) -> str:
    """A hint that names what there is."""
    close = get_close_matches(word, names, 1)
    if close:
        return f"did you mean {close[0]}?"
    return "there is " + (", ".join(sorted(names)) if names else "none")
