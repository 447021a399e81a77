"""The pytest plugin: ``pytest --attention TARGET`` adds one test for each property.

It works with any arguments of pytest (``pytest checks --attention numpy-reference``), from a
checkout and from an installed wheel, and with pytest-xdist. Nothing heavy is imported unless the
option is given.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from attnproofs.contract.engine import Session
    from attnproofs.contract.property import Property


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    group = parser.getgroup("attnproofs", "properties of attention (attnproofs)")
    group.addoption(
        "--attention",
        action="append",
        default=[],
        metavar="TARGET",
        help="audit TARGET: a named adapter, path/file.py:callable or module:callable (repeatable)",
    )
    group.addoption("--attention-level", metavar="LEVEL", help="calling convention of the targets")
    group.addoption("--attention-profile", metavar="PROFILE", help="conventions to hold them to")
    group.addoption("--attention-variant", metavar="NAME", default="", help="variant (alibi)")
    group.addoption(
        "--attention-mode",
        metavar="MODE",
        help="quick, default or thorough; by default that of ATTNPROOFS_PROFILE",
    )
    group.addoption("--attention-seed", metavar="N", type=int, default=0, help="seed (default 0)")


_SESSIONS: pytest.StashKey[dict[tuple[str, str], _Lazy]] = pytest.StashKey()


class _Lazy:
    """A session with one target at one level, started by the first test that needs it."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.trouble: str | None = None

    def ready(self) -> Session:
        """The started session; fails the test when no plain call works."""
        if self.trouble is None:
            self.trouble = self.session.learn()
        if self.trouble:
            raise AuditFailure(f"could not run: {self.trouble}")
        return self.session


class AuditFailure(Exception):
    """A violated property, told without a traceback."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Append the audit's tests, before pytest selects by name."""
    from attnproofs.errors import AttnproofsError

    try:
        for name in config.getoption("attention"):
            collector = AuditTarget.from_parent(session, name=name)
            items.extend(collector.collect())
    except AttnproofsError as error:
        raise pytest.UsageError(f"--attention: {error}") from None


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """End the targets' processes."""
    for lazy in config.stash.get(_SESSIONS, {}).values():
        lazy.session.process.stop()


class AuditTarget(pytest.Collector):
    """One target: collects a test for each property of each of its levels."""

    def collect(self) -> list[pytest.Item]:
        """The tests, in the order of the properties."""
        from attnproofs.contract.api import prepare
        from attnproofs.contract.engine import Session
        from attnproofs.contract.properties import properties_of

        option = self.config.getoption
        mode = option("attention_mode") or os.environ.get("ATTNPROOFS_PROFILE", "default")
        prepared = prepare(
            self.name,
            level=option("attention_level"),
            profile=option("attention_profile"),
            variant=option("attention_variant"),
            mode=mode,
            seed=option("attention_seed"),
        )
        sessions = self.config.stash.setdefault(_SESSIONS, {})
        items: list[pytest.Item] = []
        for level in prepared.levels:
            key = (self.name, level)
            if key not in sessions:
                target = prepared.at_level(level)
                sessions[key] = _Lazy(Session(target, level, prepared.settings))
            for entry in properties_of(level):
                items.append(
                    AuditItem.from_parent(
                        self, name=f"{level}::{entry.id}", entry=entry, lazy=sessions[key]
                    )
                )
        return items


class AuditItem(pytest.Item):
    """One property of one target."""

    def __init__(self, *, entry: Property, lazy: _Lazy, **options: Any) -> None:
        super().__init__(**options)
        self.entry = entry
        self.lazy = lazy

    def runtest(self) -> None:
        """Judge the property; a property that is not claimed is skipped with its reason."""
        from attnproofs.contract.report import NOT_CLAIMED, NOT_COVERED, VIOLATED

        finding = self.lazy.ready().run(self.entry, [])
        if finding.status == VIOLATED and finding.violation is not None:
            raise AuditFailure(
                f"{finding.sentence}\nTheorem: {finding.theorem}\n"
                f"Found: {finding.violation.message}\n\n{finding.code}"
            )
        if finding.status in (NOT_CLAIMED, NOT_COVERED):
            pytest.skip(f"{finding.status}: {finding.reason}")

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """Only the message of a violation; anything else as usual."""
        if isinstance(excinfo.value, AuditFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[str, int | None, str]:
        """Where the test is said to be."""
        return (
            str(self.config.rootpath),
            None,
            f"{self.parent.name if self.parent else ''} {self.name}",
        )
