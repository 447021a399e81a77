"""The errors that a user can cause, each one clear sentence.

Everything raised for a user's mistake is an `AttnproofsError`; the command line prints its message
without a traceback and ends with its `exit_status` (2: could not run).
"""

from __future__ import annotations


class AttnproofsError(Exception):
    """Something the user can mend: says what was wrong, where, what was expected, what to do."""

    exit_status = 2


class InputError(AttnproofsError, ValueError):
    """An argument of the wrong shape, dtype or value. Names the argument and what was expected."""


class TargetError(AttnproofsError):
    """A target (adapter name, ``module:callable``, ``file.py:callable``) that cannot be loaded."""


class MissingDependency(AttnproofsError, ImportError):
    """An optional package or program is not installed. Says how to install it."""
