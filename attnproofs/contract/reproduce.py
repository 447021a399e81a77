"""Judging one saved failure again."""

from __future__ import annotations

from attnproofs.contract.engine import Session, Settings
from attnproofs.contract.profile import load_profile
from attnproofs.contract.properties import properties_of
from attnproofs.contract.store import Saved
from attnproofs.errors import AttnproofsError


def reproduce(saved: Saved, limit: float = 10.0) -> tuple[str, str]:
    """Whether a saved failure is still there.

    Returns
    -------
    tuple
        ``FIXED``, ``FAILED`` or ``ERROR``, and a sentence.
    """
    entry = next((p for p in properties_of(saved.level) if p.id == saved.property), None)
    if entry is None:
        return "ERROR", f"this version has no property {saved.property} at level {saved.level}"
    if saved.target.kind == "object":
        return "ERROR", f"{saved.target.name} is a function that cannot be imported by name"
    try:
        settings = Settings(
            load_profile(saved.profile), limit=limit, dtypes=(saved.dtype,), variant=saved.variant
        )
        session = Session(saved.target, saved.level, settings)
        with session.process:
            trouble = session.learn()
            if trouble:
                return "ERROR", trouble
            session.dtype = saved.dtype
            session.process.start()
            violation, unable = session.judge(entry, saved.case)
    except AttnproofsError as error:
        return "ERROR", str(error)
    if unable:
        return "ERROR", f"{saved.target.name} does not take such arrays"
    if violation is None:
        return "FIXED", f"{saved.property} holds on the saved input"
    return "FAILED", f"{saved.property}: {violation.message}"
