"""The one way in which the kernel says no."""

from __future__ import annotations

from typing import Any


class Refused(Exception):
    """A step, a term or a certificate is not accepted; the message says which and why.

    Parameters
    ----------
    reason
        One sentence.
    term
        The term that the sentence is about, for whoever can print terms.
    """

    def __init__(self, reason: str, term: Any = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.term = term
