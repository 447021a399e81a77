"""What an adapter is: functions of the contract's levels, and the profile they are held to."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from attnproofs.errors import TargetError

LEVELS = ("softmax", "sdpa", "weights", "lse", "grad", "decode", "mha")


@dataclass(frozen=True)
class Adapter:
    """A named target.

    Attributes
    ----------
    name
        As given on the command line.
    calls
        The library call that is made, in one sentence.
    profile
        Name of the profile it is held to, or the path of one ending in ``.toml``.
    functions
        Level -> function from NumPy arrays to NumPy arrays with that level's calling convention. A
        keyword that its signature lacks is not claimed.
    dtypes
        Names of the input formats it claims.
    packages
        Distributions whose versions a report names.
    known
        Path of a TOML file of known differences from the profile, a reason for each, or empty; the
        form is that of ``attnproofs audit --known``.

    Notes
    -----
    A function raises NotImplementedError for arrays that its library cannot be given at all, such
    as other numbers of axes; such a case says nothing about the library.
    """

    name: str
    calls: str
    profile: str
    functions: Mapping[str, Callable[..., Any]] = field(repr=False)
    dtypes: tuple[str, ...] = ("float64", "float32")
    packages: tuple[str, ...] = ()
    known: str = ""

    def __post_init__(self) -> None:
        unknown = [level for level in self.functions if level not in LEVELS]
        if unknown or not self.functions:
            raise ValueError(
                f"adapter {self.name}: levels {unknown} are not among {', '.join(LEVELS)}"
                if unknown
                else f"adapter {self.name}: no functions"
            )

    @property
    def levels(self) -> tuple[str, ...]:
        """Levels claimed, in the contract's order."""
        return tuple(level for level in LEVELS if level in self.functions)

    def function(self, level: str) -> Callable[..., Any]:
        """The function of `level`.

        Raises
        ------
        TargetError
            When the adapter does not claim that level.
        """
        if level not in self.functions:
            raise TargetError(
                f"adapter {self.name} does not claim level {level!r}; it claims "
                f"{', '.join(self.levels)}"
            )
        return self.functions[level]

    def keywords(self, level: str) -> frozenset[str]:
        """Keyword-only arguments that the function of `level` takes."""
        parameters = inspect.signature(self.function(level)).parameters.values()
        return frozenset(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)

    @property
    def versions(self) -> dict[str, str]:
        """Installed version of each package."""
        found = {}
        for package in self.packages:
            try:
                found[package] = version(package)
            except PackageNotFoundError:
                found[package] = "not installed as a distribution"
        return found
