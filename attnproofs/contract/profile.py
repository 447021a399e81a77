"""Profiles: the conventions an attention function follows, declared and with their sources.

Libraries legitimately differ: a fully masked row gives zeros here and NaN there, a boolean mask
means *attend* here and *ignore* there. A profile is one TOML file that answers every question of
`CONVENTIONS`; each answer says where it comes from and how it is known. A verdict is always
against a named profile; ``strict`` is the default for a function of the user's own.

The conventions describe the function *as it is called*. An adapter renames arguments and never
hides a convention: under a profile with ``layout = "BLHD"`` the function takes arrays of shape
``(batch, length, heads, features)``; under ``bool_mask = "masked"`` it takes True for *ignore*.

Two optional keywords go beyond PyTorch's ``scaled_dot_product_attention`` calling convention:
``window=(left, right)`` (or one int) and ``softcap=c``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from attnproofs.errors import InputError

FORMAT = 1

#: How an answer is known, from strongest to weakest.
HOW = {
    "definition": "this profile decides it",
    "measured": "observed by running the version named in the source",
    "source": "read in the source code",
    "documentation": "stated in the documentation",
    "report": "reported in a public issue",
    "unknown": "nobody of us knows",
}

#: Two answers that every question admits; neither is judged.
UNJUDGED = {
    "any": "the profile deliberately leaves it open",
    "unknown": "not known for this library",
}

_EMPTY_ROW = {
    "zeros": "the output row is exactly zero",
    "nan": "the output row is NaN",
    "uniform": "every key gets the same weight, masked or not",
    "unmasked": "the row is computed as if nothing were masked",
    "error": "the call is refused",
    "none": "such a row cannot be asked for",
}
_LEAK = {
    "blocked": "the output is the same as without it",
    "leaks": "NaN or infinity reaches the output",
    "none": "such a mask cannot be given",
}
_ALIGNMENT = {
    "top-left": "query i stands at key i",
    "bottom-right": "the last query stands at the last key: query i stands at key i + S - L",
    "none": "not offered",
}


@dataclass(frozen=True)
class Question:
    """One convention: what is asked, the answers it admits and what each means."""

    text: str
    answers: Mapping[str, str]


#: Every question a profile answers, in the order in which they are printed.
CONVENTIONS: dict[str, Question] = {
    "layout": Question(
        "axis order of query, key and value",
        {
            "BHLD": "batch, heads, length, features",
            "BLHD": "batch, length, heads, features",
        },
    ),
    "output_layout": Question(
        "axis order of the output",
        {
            "BHLD": "batch, heads, length, features",
            "BLHD": "batch, length, heads, features",
        },
    ),
    "bool_mask": Question(
        "meaning of True in a boolean mask",
        {
            "attend": "True: this key may be attended to",
            "masked": "True: this key is ignored",
            "added": "no boolean masks: True is added to the score as the number 1",
            "none": "boolean masks are refused",
        },
    ),
    "additive_mask": Question(
        "floating-point masks, added to the scores",
        {"yes": "accepted", "none": "refused"},
    ),
    "causal_alignment": Question(
        "is_causal when L and S differ",
        {
            **_ALIGNMENT,
            "top-left-unless-one": "top-left, but a single query sees every key",
        },
    ),
    "mask_and_causal": Question(
        "a mask together with is_causal",
        {
            "and": "both apply",
            "mask": "the mask applies, is_causal is ignored",
            "causal": "is_causal applies, the mask is ignored",
            "error": "the call is refused",
            "none": "one of the two is not offered",
        },
    ),
    "empty_row_bool": Question("a row fully masked by a boolean mask", _EMPTY_ROW),
    "empty_row_neg_inf": Question("a row fully masked by -inf", _EMPTY_ROW),
    "empty_row_finfo_min": Question("a row fully masked by the least finite number", _EMPTY_ROW),
    "empty_row_causal": Question("a row left empty by is_causal (bottom-right, L > S)", _EMPTY_ROW),
    "no_keys": Question(
        "no keys at all (S = 0)",
        {"zeros": "zeros", "nan": "NaN", "error": "the call is refused"},
    ),
    "window": Question(
        "window=(left, right)",
        {
            "inclusive": "keys from i - left to i + right, both included",
            "exclusive": "keys j with i - left < j < i + right",
            "none": "not offered",
        },
    ),
    "window_int": Question(
        "window=w, one int",
        {
            "symmetric-inclusive": "|i - j| <= w",
            "symmetric-exclusive": "|i - j| < w",
            "left-inclusive": "i - w <= j <= i",
            "left-exclusive": "i - w < j <= i: the query itself counts",
            "none": "not offered",
        },
    ),
    "window_alignment": Question("window when L and S differ", _ALIGNMENT),
    "grouped_heads": Question(
        "which key head a query head reads when there are fewer key heads",
        {
            "consecutive": "query head h reads key head h // (Hq / Hkv)",
            "tiled": "query head h reads key head h % Hkv",
            "none": "not offered",
        },
    ),
    "grouped_flag": Question(
        "enable_gqa",
        {
            "required": "grouped heads are refused without it",
            "ignored": "grouped heads work without it",
            "none": "not offered",
        },
    ),
    "softcap": Question(
        "softcap=c, relative to the mask",
        {
            "before-mask": "scores are capped, then masked",
            "after-mask": "scores are masked, then capped: masked keys keep weight",
            "none": "not offered",
        },
    ),
    "softcap_formula": Question(
        "the capping function",
        {
            "tanh": "c tanh(s / c)",
            "softsign": "c (s/c) / (1 + |s/c|)",
            "none": "not offered",
        },
    ),
    "default_scale": Question(
        "scale when none is given (d: features of a query)",
        {
            "1/sqrt(d)": "1/sqrt(d)",
            "1/d": "1/d",
            "1": "no scaling",
            "required": "scale must be given",
        },
    ),
    "masked_key_bool": Question("NaN in a key masked by a boolean mask", _LEAK),
    "masked_key_additive": Question("NaN in a key masked by -inf", _LEAK),
    "masked_key_causal": Question("NaN in a key masked by is_causal", _LEAK),
    "masked_value_bool": Question("NaN in a value masked by a boolean mask", _LEAK),
    "masked_value_additive": Question("NaN in a value masked by -inf", _LEAK),
    "masked_value_causal": Question("NaN in a value masked by is_causal", _LEAK),
    "float64_accuracy": Question(
        "accuracy for float64 inputs",
        {
            "float64": "float64",
            "float32": "only float32: the weights are computed in float32",
            "none": "float64 inputs are refused",
        },
    ),
    "half_weights": Question(
        "weights for float16 inputs, before they multiply the values",
        {
            "rounded": "rounded to float16",
            "rounded-unnormalised": "the exponentials are rounded to float16, then normalised",
            "kept": "kept in a wider format",
            "none": "float16 inputs are refused",
        },
    ),
    "half_scores": Question(
        "float16 scores that exceed 65504",
        {
            "finite": "kept in a wider format: the output is finite",
            "overflow": "overflow: the output is NaN",
            "none": "float16 inputs are refused",
        },
    ),
    "repeatable": Question(
        "the same call twice",
        {"yes": "bitwise the same output", "no": "the output may differ"},
    ),
    "key_order": Question(
        "keys and values permuted together",
        {"same": "bitwise the same output", "rounding": "the output differs by rounding"},
    ),
}


@dataclass(frozen=True)
class Entry:
    """One answer: its value, how it is known, and from where.

    Attributes
    ----------
    value
        One of the question's answers, or ``any`` or ``unknown``.
    how
        Words of `HOW`, at least one.
    source
        Version measured, document, file or issue.
    note
        Anything a reader should know, or empty.
    """

    value: str
    how: tuple[str, ...]
    source: str
    note: str = ""

    @property
    def judged(self) -> bool:
        """Whether a target can be held to this answer."""
        return self.value not in UNJUDGED


@dataclass(frozen=True)
class Profile:
    """A named, versioned set of conventions; each is an attribute holding the answer's word.

    Examples
    --------
    >>> strict = load_profile("strict")
    >>> strict.bool_mask, strict.causal_alignment, strict.empty_row_bool
    ('attend', 'top-left', 'zeros')
    >>> strict.entries["bool_mask"].how
    ('definition',)
    """

    name: str
    title: str
    library: str
    version: str
    layout: str
    output_layout: str
    bool_mask: str
    additive_mask: str
    causal_alignment: str
    mask_and_causal: str
    empty_row_bool: str
    empty_row_neg_inf: str
    empty_row_finfo_min: str
    empty_row_causal: str
    no_keys: str
    window: str
    window_int: str
    window_alignment: str
    grouped_heads: str
    grouped_flag: str
    softcap: str
    softcap_formula: str
    default_scale: str
    masked_key_bool: str
    masked_key_additive: str
    masked_key_causal: str
    masked_value_bool: str
    masked_value_additive: str
    masked_value_causal: str
    float64_accuracy: str
    half_weights: str
    half_scores: str
    repeatable: str
    key_order: str
    entries: Mapping[str, Entry] = field(repr=False, compare=False)

    def differences(self, other: Profile) -> list[str]:
        """Names of the conventions that both judge and answer differently, in printing order."""
        return [
            name
            for name in CONVENTIONS
            if self.entries[name].judged
            and other.entries[name].judged
            and self.entries[name].value != other.entries[name].value
        ]


_HEADER = ("name", "title", "library", "version")
assert {f.name for f in fields(Profile)} == {*_HEADER, *CONVENTIONS, "entries"}


def profile_names() -> tuple[str, ...]:
    """Names of the profiles that come with the package, ``strict`` first.

    Examples
    --------
    >>> profile_names()[0]
    'strict'
    """
    folder = files("attnproofs.contract") / "profiles"
    stems = sorted(
        item.name.removesuffix(".toml")
        for item in folder.iterdir()
        if item.name.endswith(".toml") and item.name != "strict.toml"
    )
    return ("strict", *stems)


def load_profile(profile: str | Path | Profile) -> Profile:
    """Load a profile by name, or a user's own from a TOML file.

    Parameters
    ----------
    profile
        A name of `profile_names`, a path ending in ``.toml``, or a `Profile` (returned as it is).

    Raises
    ------
    InputError
        When there is no such profile, or the file misses a convention, names an unknown one or
        gives an answer that the question does not admit.

    Examples
    --------
    >>> load_profile("strikt")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    attnproofs.errors.InputError: no profile 'strikt'; did you mean strict? ...
    """
    if isinstance(profile, Profile):
        return profile
    if str(profile).endswith(".toml"):
        return _from_file(Path(profile), ())
    return _built_in(str(profile))


def profile_text(profile: str) -> str:
    """The TOML text of a packaged profile, or of a file.

    Raises
    ------
    InputError
        When there is no such profile or file.
    """
    if profile.endswith(".toml"):
        return _read(Path(profile))
    names = profile_names()
    if profile not in names:
        from difflib import get_close_matches

        close = get_close_matches(profile, names, 1)
        hint = f"did you mean {close[0]}? " if close else ""
        raise InputError(
            f"no profile {profile!r}; {hint}there are {', '.join(names)}, or a path ending in .toml"
        )
    return (files("attnproofs.contract") / "profiles" / f"{profile}.toml").read_text("utf-8")


@cache
def _built_in(name: str) -> Profile:
    """The packaged profile called `name`."""
    return _parse(profile_text(name), f"profile {name}", ())


def _read(path: Path) -> str:
    """The text of a user's file."""
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        raise InputError(f"no profile file {path}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"profile {path}: cannot be read as UTF-8 text ({error})") from None


def _from_file(path: Path, seen: tuple[Path, ...]) -> Profile:
    """The profile in a user's file; `seen` holds the files that extend it."""
    if path.resolve() in seen:
        raise InputError(f"profile {path}: it extends itself")
    return _parse(_read(path), f"profile {path}", (*seen, path.resolve()))


def _parse(text: str, where: str, seen: tuple[Path, ...]) -> Profile:
    """Read one TOML text; `where` opens each message."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{where}: not valid TOML: {error}") from None
    if data.pop("format", None) != FORMAT:
        raise InputError(f"{where}: expected 'format = {FORMAT}' at the top")
    base = data.pop("extends", None)
    answers = data.pop("conventions", {})
    header = {key: data.pop(key, None) for key in _HEADER}
    if data:
        known = ", ".join(("format", "extends", *_HEADER, "conventions"))
        raise InputError(f"{where}: unknown key {min(data)!r}; expected {known}")
    for key, value in header.items():
        if not isinstance(value, str) or not value:
            raise InputError(f"{where}: {key!r} must be a non-empty string")
    if not isinstance(answers, dict):
        raise InputError(f"{where}: 'conventions' must be a table")
    entries: dict[str, Entry] = {}
    if base is not None:
        if not isinstance(base, str):
            raise InputError(f"{where}: 'extends' must be a profile's name or file")
        if base.endswith(".toml") and seen:
            parent = _from_file(seen[-1].parent / base, seen)
        else:
            parent = _built_in(base)
        entries.update(parent.entries)
    for name, raw in answers.items():
        entries[name] = _entry(name, raw, where)
    missing = [name for name in CONVENTIONS if name not in entries]
    if missing:
        raise InputError(
            f"{where}: no answer for {', '.join(missing)}; answer each, or write "
            'extends = "strict" to take the others from there'
        )
    ordered = {name: entries[name] for name in CONVENTIONS}
    return Profile(**header, **{name: e.value for name, e in ordered.items()}, entries=ordered)


def _entry(name: str, raw: Any, where: str) -> Entry:
    """One answer, checked."""
    if name not in CONVENTIONS:
        raise InputError(f"{where}: unknown convention {name!r}; see 'attnproofs profiles --help'")
    place = f"{where}: {name}"
    if not isinstance(raw, dict) or not {"value", "how", "source"} <= raw.keys() <= {
        "value",
        "how",
        "source",
        "note",
    }:
        raise InputError(
            f'{place}: expected {{ value = "...", how = ["..."], source = "..." }}, '
            "with an optional note"
        )
    value, how, source, note = raw["value"], raw["how"], raw["source"], raw.get("note", "")
    allowed = {**CONVENTIONS[name].answers, **UNJUDGED}
    if value not in allowed:
        raise InputError(f"{place}: {value!r} is not one of {', '.join(allowed)}")
    if not isinstance(how, list) or not how or not all(word in HOW for word in how):
        raise InputError(f"{place}: 'how' must be a list of {', '.join(HOW)}")
    if not isinstance(source, str) or not source or not isinstance(note, str):
        raise InputError(f"{place}: 'source' must be a non-empty string, 'note' a string")
    return Entry(value, tuple(how), source, note)
