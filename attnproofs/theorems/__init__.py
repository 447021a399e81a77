"""The catalogue: one chapter a folder, one theorem a file, the file's stem is the theorem's id.

Finding what there is reads folder listings only; a theorem's file is imported when it is asked for.
"""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pathlib import Path

from attnproofs.calculus.theorem import Theorem
from attnproofs.errors import InputError

# chapter -> title, in the order of the book; "sums" holds the tools that the others use
CHAPTERS: dict[str, dict[str, str]] = {
    "notation": {"en": "Notation and shapes", "ko": "표기와 모양"},
    "scaling": {"en": "Scaling", "ko": "스케일링"},
    "softmax": {"en": "Softmax", "ko": "소프트맥스"},
    "masking": {"en": "Masking", "ko": "마스킹"},
    "values": {"en": "Values and updates", "ko": "밸류와 갱신"},
    "heads": {"en": "Heads", "ko": "헤드"},
    "computation": {"en": "Computation", "ko": "계산"},
    "gradients": {"en": "Gradients", "ko": "기울기"},
    "rounding": {"en": "Rounding", "ko": "반올림"},
    "positions": {"en": "Positions", "ko": "위치"},
    "sums": {"en": "Tools: sums, products, moments", "ko": "도구: 합, 곱, 적률"},
}


@cache
def locations() -> dict[str, str]:
    """Return the chapter of every theorem id, in catalogue order (no theorem is imported).

    The order is that of ``catalogue.json``; a file that is not in it yet stands last in its chapter.
    """
    from attnproofs.theorems.catalogue import order

    root, place = Path(__file__).parent, order()
    return {
        file.stem: chapter
        for chapter in CHAPTERS
        for file in sorted(
            (root / chapter).glob("*.py"), key=lambda f: (place.get(f.stem, len(place)), f.stem)
        )
        if not file.stem.startswith("_")
    }


def theorem(id: str) -> Theorem:
    """Return the theorem `id`.

    Raises
    ------
    InputError
        When there is none; the message names the nearest ids.
    """
    chapter = locations().get(id)
    if chapter is None:
        near = get_close_matches(id, [*locations(), *CHAPTERS], n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else "`attnproofs list` shows all ids"
        raise InputError(f"there is no theorem or chapter {id!r}; {hint}")
    found: Theorem = import_module(f"attnproofs.theorems.{chapter}.{id}").THEOREM
    return found


def select(names: tuple[str, ...]) -> list[Theorem]:
    """Return the theorems named by ids or chapters (all when none is named), without repetition."""
    ids: dict[str, None] = {}
    for name in names or tuple(CHAPTERS):
        if name in CHAPTERS:
            ids.update(dict.fromkeys(i for i, c in locations().items() if c == name))
        else:
            ids[name] = None
    return [theorem(i) for i in ids]
