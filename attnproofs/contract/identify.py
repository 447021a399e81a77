"""Identify: which conventions does this attention function follow?

The function is a black box. Structure is read without a tolerance: zero queries give every kept key
the same weight, and identity values make an output row *be* its weight row, so the keys that a row
attends to are the nonzero entries. Only the scale, the soft-cap formula and the working precision
are read from magnitudes, between answers that lie orders of magnitude apart.

Each answer carries the two lines of code that show it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from attnproofs.contract.probes import Observation, observe
from attnproofs.contract.profile import Profile, load_profile, profile_names


@dataclass(frozen=True)
class Difference:
    """One convention on which a target and a profile disagree."""

    question: str
    here: str
    there: str
    probe: str
    offered: bool
    """Whether both offer it; where one does not, nothing that both can do differs."""


@dataclass(frozen=True)
class Identification:
    """The conventions of one target.

    Attributes
    ----------
    target
        Its name.
    observations
        Question -> what was seen, in the order of `CONVENTIONS`.
    nearest
        Name of the profile with the fewest conflicting answers.
    notes
        What was settled before the questions: axes, format, missing keywords.
    """

    target: str
    observations: Mapping[str, Observation]
    nearest: str
    notes: tuple[str, ...] = ()
    distances: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Profile -> (conflicting answers, answers where one of the two does not offer it)."""

    def value(self, question: str) -> str:
        """The answer to `question`."""
        return self.observations[question].value

    @property
    def as_near(self) -> tuple[str, ...]:
        """Other profiles at the same distance as the nearest one."""
        best = self.distances[self.nearest]
        return tuple(n for n, d in self.distances.items() if d == best and n != self.nearest)

    def differences(self, profile: str | Profile | None = None) -> list[Difference]:
        """Where the target departs from `profile` (the nearest one by default)."""
        return _differences(self.observations, load_profile(profile or self.nearest))

    def __str__(self) -> str:
        lines = [f"{self.target}: {'; '.join(self.notes)}"]
        lines += [f"  {name:22} {seen.value}" for name, seen in self.observations.items()]
        lines.append(f"nearest profile: {', '.join((self.nearest, *self.as_near))}")
        for d in self.differences():
            if d.offered:
                lines.append(f"{d.question}: {d.here} here, {d.there} in {self.nearest}")
                lines += [f"    {line}" for line in d.probe.splitlines()]
        return "\n".join(lines)

    def as_json(self) -> dict[str, Any]:
        """Plain data for ``attnproofs identify --json``."""
        return {
            "version": 1,
            "target": self.target,
            "nearest": self.nearest,
            "as_near": list(self.as_near),
            "notes": list(self.notes),
            "conventions": {
                name: {"value": o.value, "detail": o.detail, "probe": o.probe}
                for name, o in self.observations.items()
            },
            "differences": [vars(d) for d in self.differences()],
            "distances": {name: list(pair) for name, pair in self.distances.items()},
        }


def _differences(observations: Mapping[str, Observation], profile: Profile) -> list[Difference]:
    """Judged answers of `profile` that the observations contradict."""
    found = []
    for name, seen in observations.items():
        entry = profile.entries[name]
        if entry.judged and seen.value not in ("unknown", entry.value):
            offered = "none" not in (seen.value, entry.value)
            found.append(Difference(name, seen.value, entry.value, seen.probe, offered))
    return found


def _nearest(distances: Mapping[str, tuple[int, int]]) -> str:
    """The profile with the fewest conflicts, then with the most in common, then by name."""
    order = {name: position for position, name in enumerate(profile_names())}
    return min(distances, key=lambda name: (*distances[name], order[name]))


def identify(
    function: Callable[..., Any],
    *,
    name: str | None = None,
    dtype: str | None = None,
    profiles: tuple[str | Profile, ...] = (),
) -> Identification:
    """Infer the conventions of an attention function and name the nearest profile.

    Parameters
    ----------
    function
        Takes NumPy arrays ``query, key, value`` and any of the keywords attn_mask, is_causal,
        scale, enable_gqa, window and softcap; returns the output, alone or first in a tuple.
    name
        How to call it in the result.
    dtype
        Format of the probes; the first of float32, float64, float16 that it takes when None.
    profiles
        Profiles to compare with besides the packaged ones: names, paths or `Profile` objects.

    Returns
    -------
    Identification

    Raises
    ------
    TargetError
        When even a plain call fails, or its output has no shape that attention could have.
    InputError
        When a profile or dtype does not exist.

    Examples
    --------
    >>> from attnproofs.adapters import numpy_attention
    >>> found = identify(numpy_attention.sdpa)
    >>> found.nearest, found.value("causal_alignment"), found.differences()
    ('strict', 'top-left', [])
    >>> print(found.observations["empty_row_bool"].probe.splitlines()[1])
    f(q, k, v, attn_mask=np.array([[False, False, False], [True, True, True]])[None, None])
    """
    label = name or str(getattr(function, "__qualname__", type(function).__name__))
    observations, notes = observe(function, dtype)
    distances = {}
    for profile in (*map(load_profile, profile_names()), *map(load_profile, profiles)):
        wrong = _differences(observations, profile)
        conflicts = sum(d.offered for d in wrong)
        distances[profile.name] = (conflicts, len(wrong) - conflicts)
    return Identification(label, observations, _nearest(distances), notes, distances)
