"""``attnproofs.audit``: the audit from Python, and what the command line and pytest build on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from attnproofs.contract.engine import MODES, Session, Settings, run_level
from attnproofs.contract.known import Known, read_known
from attnproofs.contract.profile import Profile, load_profile
from attnproofs.contract.property import LEVELS
from attnproofs.contract.report import Report
from attnproofs.contract.store import Store
from attnproofs.contract.target import Target, find, of_function
from attnproofs.errors import InputError, MissingDependency

Progress = Callable[[str, str, int, int], None]

#: Data types that may be asked for; bfloat16 is not tried unless it is.
DTYPES = ("float64", "float32", "float16", "bfloat16")
#: Variants of sdpa, with the other words by which they may be asked for.
VARIANTS = ("softcap", "sinks", "alibi", "window", "varlen", "dropout")
_ALIASES = {"sink": "sinks"}


def audit(
    target: Callable[..., Any] | str | Target,
    *,
    level: str | None = None,
    profile: str | Path | Profile | None = None,
    variant: str = "",
    mode: str = "default",
    examples: int | None = None,
    seed: int = 0,
    dtypes: Sequence[str] = (),
    only: Sequence[str] = (),
    skip: Sequence[str] = (),
    limit: float = 10.0,
    isolate: bool | None = None,
    first_only: bool = False,
    precision: str = "",
    known: str | Path | Known | None = None,
    store: Store | None = None,
    progress: Progress | None = None,
) -> Report:
    """Say of every property of attention whether a function has it.

    Parameters
    ----------
    target
        A function, a named adapter, ``package.module:callable`` or ``path/file.py:callable``.
    level
        Calling convention: softmax, sdpa, weights, lse, grad, decode or mha. None takes what the
        parameters' names say, sdpa where they say nothing, and every level of an adapter.
    profile
        Conventions to hold it to; None means the adapter's own, or ``strict``.
    variant
        A variant that the function applies without a keyword for it (``alibi``).
    mode
        ``quick``, ``default`` or ``thorough``.
    examples
        Random cases a property, instead of the mode's.
    seed
        Seed of every random case; the same seed gives the same report.
    dtypes
        Data types to try; by default float64, float32 and float16 where they are accepted.
    only, skip
        Names or patterns of properties.
    limit
        Seconds that one call may take.
    isolate
        False calls the function in this process instead of another.
    first_only
        Stop a level at its first violated property.
    precision
        Precision model of `attnproofs.reference.bounds` that accuracy is judged by, such as
        ``fa2-bf16``; by default all arithmetic is taken to be in the data type of the inputs.
    known
        File of known differences (`attnproofs.contract.known`).
    store
        Where root causes are saved; nothing is saved by default.
    progress
        Called with level, property, number and count.

    Returns
    -------
    Report
        ``.verdict``, ``.held``, ``.violated``, ``.not_claimed``, ``.not_covered``, ...

    Raises
    ------
    TargetError
        When the target cannot be loaded, or not be called with the level's arguments.
    InputError
        When an option is not understood.

    Examples
    --------
    >>> def averages(query, key, value):
    ...     return query[..., :1] * 0 + value.mean(-2, keepdims=True)
    >>> report = audit(averages, only=["default_scale"], dtypes=["float64"])
    >>> report.verdict, report.violated[0].theorem
    ('violated', 'qk_variance_scaled')
    """
    prepared = prepare(
        target,
        level=level,
        profile=profile,
        variant=variant,
        mode=mode,
        examples=examples,
        seed=seed,
        dtypes=dtypes,
        only=only,
        skip=skip,
        limit=limit,
        isolate=isolate,
        first_only=first_only,
        precision=precision,
        known=known,
    )
    found, levels, settings = prepared.target, prepared.levels, prepared.settings
    report = Report(found.name, settings.profile.name, levels, seed, [], mode)
    troubles = []
    for one in levels:
        session = Session(prepared.at_level(one), one, settings, store)
        findings, trouble = run_level(session, progress)
        report.findings.extend(findings)
        report.saved.extend(session.replayed)
        report.dtypes.extend(d for d in session.dtypes if d not in report.dtypes)
        if trouble:
            troubles.append(trouble)
        if session.process.mode == "inline" and not trouble:
            report.notes.append("the function was called in this process: it was not isolated")
        if session.rank > 2 and not trouble and one != "softmax":
            report.notes.append(f"level {one}: arrays need at least {session.rank} axes")
    for entry in settings.known.unmatched(found.name):
        report.notes.append(f"known difference {entry.property!r} matched no violation: remove it")
    if troubles and len(troubles) == len(levels):
        report.could_not_run = troubles[0]
    elif troubles:
        report.notes.extend(troubles)
    return report


@dataclass(frozen=True)
class Prepared:
    """What an audit was asked for, understood: target, levels and settings."""

    target: Target
    levels: list[str]
    settings: Settings

    def at_level(self, level: str) -> Target:
        """The target's function of one level."""
        if self.target.kind != "adapter":
            return self.target
        return replace(self.target, attribute=level)


def prepare(
    target: Callable[..., Any] | str | Target,
    *,
    level: str | None = None,
    profile: str | Path | Profile | None = None,
    variant: str = "",
    mode: str = "default",
    examples: int | None = None,
    seed: int = 0,
    dtypes: Sequence[str] = (),
    only: Sequence[str] = (),
    skip: Sequence[str] = (),
    limit: float = 10.0,
    isolate: bool | None = None,
    first_only: bool = False,
    precision: str = "",
    known: str | Path | Known | None = None,
) -> Prepared:
    """Check the options of `audit` and understand its target."""
    if level in _ALIASES or level in VARIANTS:
        level, variant = "sdpa", _ALIASES.get(str(level), str(level))
    variant = _ALIASES.get(variant, variant)
    if level is not None and level not in LEVELS:
        raise InputError(f"no level {level!r}; expected one of {', '.join(LEVELS)}")
    if variant and variant not in VARIANTS:
        raise InputError(f"no variant {variant!r}; expected one of {', '.join(VARIANTS)}")
    if mode not in MODES:
        raise InputError(f"no mode {mode!r}; expected one of {', '.join(MODES)}")
    if examples is not None and examples < 1:
        raise InputError(f"examples must be at least 1, not {examples}")
    found = _target(target, level)
    chosen, levels, kinds = _conventions(found, level, profile, tuple(dtypes))
    check_names(only, skip)
    _check_dtypes(dtypes)
    if precision:
        from attnproofs.reference.bounds import model

        model(precision)
    settings = Settings(
        profile=chosen,
        mode=mode,
        examples=examples,
        seed=seed,
        dtypes=kinds,
        only=tuple(only),
        skip=tuple(skip),
        limit=limit,
        isolate=isolate,
        first_only=first_only,
        variant=variant,
        precision=precision,
        known=_known(known, found, own_profile=profile is None),
    )
    return Prepared(found, levels, settings)


def check_names(only: Sequence[str], skip: Sequence[str]) -> None:
    """Refuse a pattern that names no property.

    Raises
    ------
    InputError
        With the nearest name.
    """
    from difflib import get_close_matches
    from fnmatch import fnmatchcase

    from attnproofs.contract.properties import all_names

    names = all_names()
    for pattern in (*only, *skip):
        if not any(fnmatchcase(name, pattern) for name in names):
            close = get_close_matches(pattern, names, 1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise InputError(
                f"no property is called {pattern!r}{hint} ('attnproofs audit --list' prints them)"
            )


def _known(known: str | Path | Known | None, target: Target, *, own_profile: bool) -> Known:
    """The user's known differences and, under its own profile, those that an adapter brings.

    The latter depend on a library's version, so that none is reported when it matches nothing.
    """
    if isinstance(known, Known):
        return known
    listed = read_known(known) if known else Known()
    if target.kind != "adapter" or not own_profile:
        return listed
    from attnproofs import adapters

    theirs = adapters.get(target.where).known
    files = [adapters.KNOWN, Path(theirs)] if theirs else [adapters.KNOWN]
    brought = [entry for file in files for entry in read_known(file).entries]
    return Known([*listed.entries, *brought], set(brought))


def _check_dtypes(dtypes: Sequence[str]) -> None:
    """Refuse a data type that no property is tried with."""
    from importlib.util import find_spec

    for dtype in dtypes:
        if dtype not in DTYPES:
            raise InputError(f"no data type {dtype!r}; expected one of {', '.join(DTYPES)}")
        if dtype == "bfloat16" and find_spec("ml_dtypes") is None:
            raise MissingDependency("bfloat16 needs ml_dtypes: pip install 'attnproofs[formats]'")


def _target(target: Callable[..., Any] | str | Target, level: str | None) -> Target:
    if isinstance(target, Target):
        return target
    if isinstance(target, str):
        return find(target, level or "")
    if not callable(target):
        raise InputError(f"a target is a function or its name, not a {type(target).__name__}")
    return of_function(target)


def _conventions(
    target: Target,
    level: str | None,
    profile: str | Path | Profile | None,
    dtypes: tuple[str, ...],
) -> tuple[Profile, list[str], tuple[str, ...]]:
    """Profile, levels and data types that a target is audited with."""
    if target.kind == "adapter":
        from attnproofs import adapters

        adapter = adapters.get(target.where)
        if level is not None:
            adapter.function(level)
        levels = [level] if level else list(adapter.levels)
        usual = ("float64", "float32", "float16")
        kinds = dtypes or tuple(d for d in usual if d in adapter.dtypes)
        return load_profile(profile or adapter.profile), levels, kinds
    return load_profile(profile or "strict"), [level or guess_level(target)], dtypes


def guess_level(target: Target) -> str:
    """The level whose arguments a function's parameters are named after; sdpa if none.

    Only the names are looked at, in a process of the target's own.
    """
    from attnproofs.contract.process import TargetProcess

    with TargetProcess(target) as process:
        answer = process.start()
        signature = answer.get("signature")
        if answer["status"] != "ok" or signature is None:
            return "sdpa"
        names = signature["positional"]
    for level in ("grad", "mha", "decode", "softmax"):
        wanted = list(LEVELS[level][0])
        if names[: len(wanted)] == wanted:
            return level
    return "sdpa"
