"""Moving code from one attention function to another: which calls change, and how to write them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from attnproofs.contract.profile import CONVENTIONS, Profile


@dataclass(frozen=True)
class Change:
    """One convention that two profiles answer differently.

    Attributes
    ----------
    question, text
        Name of the convention and what it asks.
    before, before_means, after, after_means
        The two answers, with their meanings.
    advice
        How to write the call for the second profile so that it means what it meant for the first.
    """

    question: str
    text: str
    before: str
    before_means: str
    after: str
    after_means: str
    advice: str

    @property
    def needed(self) -> bool:
        """Whether calls have to be written differently."""
        return not self.advice.endswith(_NOTHING)


_NOTHING = "nothing has to change"


def _masks(before: str, after: str) -> str:
    words = {"attend", "masked"}
    if before == "none":
        return f"boolean masks become possible; {_NOTHING}"
    if {before, after} == words:
        return "invert every boolean mask: attn_mask=~attn_mask"
    if before == "attend" and after in ("added", "none"):
        return "pass numbers instead: np.where(attn_mask, 0.0, -np.inf)"
    if before == "masked" and after in ("added", "none"):
        return "pass numbers instead: np.where(attn_mask, -np.inf, 0.0)"
    return "a boolean mask that was added as numbers: attn_mask.astype(query.dtype)"


def _alignment(before: str, after: str) -> str:
    if after == "none":
        shift = "k=S - L" if before == "bottom-right" else "k=0"
        return f"pass the mask itself: np.tril(np.ones((L, S), bool), {shift})"
    if before == "none":
        return f"is_causal becomes possible; {_NOTHING}"
    if "top-left-unless-one" in (before, after):
        return (
            "they differ when L = 1: for a single query pass is_causal=False to see every key, "
            "and a mask of its own to see the first alone"
        )
    shift = "0" if before == "top-left" else "S - L"
    return (
        "when L and S differ, pass the mask instead of is_causal: "
        f"np.tril(np.ones((L, S), bool), k={shift})"
    )


def _layout(before: str, after: str) -> str:
    return f"swap the axes of query, key and value: x.swapaxes(1, 2) ({before} to {after})"


def _output(before: str, after: str) -> str:
    return f"swap the axes of the output: out.swapaxes(1, 2) (it comes as {after}, not {before})"


def _together(before: str, after: str) -> str:
    if after in ("error", "none", "mask", "causal") and before == "and":
        return (
            "fold the triangle into the mask and drop is_causal: "
            "attn_mask & np.tril(np.ones((L, S), bool))"
        )
    if before in ("error", "none"):
        return f"both may now be given; {_NOTHING}"
    if before == "mask":
        return "drop is_causal where a mask is given"
    if before == "causal":
        return "drop the mask where is_causal is given"
    return "give one of the two"


def _empty(before: str, after: str) -> str:
    if after == "none":
        return f"no such row can arise; {_NOTHING}"
    if before == "none":
        return f"such rows can now arise and give {after}"
    if before == "zeros":
        return "zero the rows yourself: np.where(keep.any(-1, keepdims=True), out, 0)"
    if before == "nan":
        return "NaN no longer marks such rows: look for them with keep.any(-1)"
    return f"code that relied on {before} rows must build them where keep.any(-1) is False"


def _window(before: str, after: str) -> str:
    if after == "none":
        return "pass the band as a mask"
    if before == "none":
        return f"a window becomes possible; {_NOTHING}"
    if {before, after} == {"inclusive", "exclusive"}:
        step = "+ 1" if after == "exclusive" else "- 1"
        return f"edges shift by one: window=(left {step}, right {step})"
    return f"write the window anew: {before} here is {after} there"


def _groups(before: str, after: str) -> str:
    if after == "none":
        how = "np.repeat(x, Hq // Hkv, axis=1)" if before == "consecutive" else "np.tile"
        return f"repeat the key and value heads first: {how}"
    if before == "none":
        return f"key and value heads need not be repeated any more; {_NOTHING}"
    return "permute the key and value heads: the groups are formed differently"


def _cap(before: str, after: str) -> str:
    if after == "none":
        return "no soft-cap: compute the scores yourself or choose another function"
    if before == "none":
        return f"a soft-cap becomes possible; {_NOTHING}"
    return "with soft-cap and mask together the results differ; no rewriting of the call mends it"


def _scale(before: str, after: str) -> str:
    values = {"1/sqrt(d)": "scale=query.shape[-1] ** -0.5", "1/d": "scale=1 / query.shape[-1]"}
    if before == "required":
        return f"a default now exists; {_NOTHING}"
    return f"pass it: {values.get(before, 'scale=1.0')}"


def _leak(before: str, after: str) -> str:
    if after == "leaks":
        return "clean padding first: np.where(padding, 0, x) for key and value"
    if after == "none":
        return f"such a mask cannot be given; {_NOTHING}"
    return f"padding need not be cleaned any more; {_NOTHING}"


def _precision(before: str, after: str) -> str:
    if after == "none":
        return "convert the arrays to a format that is taken"
    return f"expect other rounding ({before} becomes {after}); widen or tighten tolerances"


def _additive(before: str, after: str) -> str:
    if after == "none":
        return "only boolean masks remain: a bias that is not 0 or -inf cannot be given"
    return f"masks of numbers become possible; {_NOTHING}"


def _flag(before: str, after: str) -> str:
    return "pass enable_gqa=True" if after == "required" else f"no flag needed; {_NOTHING}"


def _plain(before: str, after: str) -> str:
    return f"{before} becomes {after}"


_ADVICE: dict[str, Callable[[str, str], str]] = {
    "layout": _layout,
    "output_layout": _output,
    "bool_mask": _masks,
    "additive_mask": _additive,
    "causal_alignment": _alignment,
    "mask_and_causal": _together,
    "empty_row_bool": _empty,
    "empty_row_neg_inf": _empty,
    "empty_row_finfo_min": _empty,
    "empty_row_causal": _empty,
    "window": _window,
    "window_int": _window,
    "window_alignment": _window,
    "grouped_heads": _groups,
    "grouped_flag": _flag,
    "softcap": _cap,
    "softcap_formula": _cap,
    "default_scale": _scale,
    "float64_accuracy": _precision,
    "half_weights": _precision,
    "half_scores": _precision,
}


def changes(first: Profile, second: Profile) -> list[Change]:
    """What changes for calls that move from `first` to `second`, in the order of `CONVENTIONS`.

    Examples
    --------
    >>> from attnproofs.contract.profile import load_profile
    >>> [c.question for c in changes(load_profile("strict"), load_profile("strict"))]
    []
    """
    found = []
    for name in first.differences(second):
        before, after = getattr(first, name), getattr(second, name)
        question = CONVENTIONS[name]
        advise = _leak if name.startswith("masked_") else _ADVICE.get(name, _plain)
        found.append(
            Change(
                name,
                question.text,
                before,
                question.answers[before],
                after,
                question.answers[after],
                advise(before, after),
            )
        )
    return found
