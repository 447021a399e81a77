"""The one way in which the kernel says no."""

from __future__ import annotations


class Refused(Exception):
    """A step, a term or a certificate is not accepted; the message says which and why."""
