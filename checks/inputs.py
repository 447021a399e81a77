"""What the suites draw: rational entries, small sizes, masks that keep a key in every row.

Entries are fractions with denominators that binary floating point cannot hold, so that nothing
agrees merely because both sides rounded alike. Sizes start at 1,
and any two may differ or coincide.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

from hypothesis import strategies as st

from . import attention_mp as attn
from .attention_mp import Layer, Matrix


@st.composite
def numbers(draw: st.DrawFn, bound: int = 4) -> Fraction:
    """Fractions between ``-bound`` and ``bound`` with denominators 1, 3, 7 and 10."""
    denominator = draw(st.sampled_from([1, 3, 7, 10]))
    return Fraction(draw(st.integers(-bound * denominator, bound * denominator)), denominator)


@st.composite
def nonzero(draw: st.DrawFn, bound: int = 4) -> Fraction:
    """Fractions as `numbers`, 0 left out."""
    return draw(numbers(bound)) or Fraction(1, 3)


def sizes(largest: int = 4) -> st.SearchStrategy[int]:
    """Dimensions, from 1."""
    return st.integers(1, largest)


def vectors(length: int, bound: int = 4) -> st.SearchStrategy[list[Fraction]]:
    """Vectors of `numbers`."""
    return st.lists(numbers(bound), min_size=length, max_size=length)


def matrices(rows: int, columns: int, bound: int = 4) -> st.SearchStrategy[list[list[Fraction]]]:
    """Matrices of `numbers`."""
    return st.lists(vectors(columns, bound), min_size=rows, max_size=rows)


def score_rows(least: int = 1, largest: int = 7, bound: int = 90) -> st.SearchStrategy[Any]:
    """Rows of scores, some far apart, some equal."""
    entries = st.one_of(numbers(2), numbers(bound), st.sampled_from([Fraction(0), Fraction(5, 3)]))
    return st.lists(entries, min_size=least, max_size=largest)


@st.composite
def keep_masks(draw: st.DrawFn, rows: int, columns: int) -> list[list[bool]]:
    """Boolean masks whose rows keep one key at least."""
    keep = draw(
        st.lists(
            st.lists(st.booleans(), min_size=columns, max_size=columns),
            min_size=rows,
            max_size=rows,
        )
    )
    for row in keep:
        if not any(row):
            row[draw(st.integers(0, columns - 1))] = True
    return keep


class Head(NamedTuple):
    """Queries ``(T, d_k)``, keys ``(S, d_k)``, values ``(S, d_v)``, a mask with kept keys."""

    Q: list[list[Fraction]]
    K: list[list[Fraction]]
    V: list[list[Fraction]]
    keep: list[list[bool]]

    @property
    def mask(self) -> Matrix:
        """The mask in its additive form."""
        return attn.additive(self.keep)


@st.composite
def heads(draw: st.DrawFn, *, square: bool = False, least_keys: int = 1, largest: int = 4) -> Head:
    """Inputs of one head; `square` for as many queries as keys (self-attention)."""
    T = draw(st.integers(least_keys, largest + 1))
    S = T if square else draw(st.integers(least_keys, largest + 1))
    d_k, d_v = draw(sizes(largest)), draw(sizes(3))
    return Head(
        draw(matrices(T, d_k)),
        draw(matrices(S, d_k)),
        draw(matrices(S, d_v)),
        draw(keep_masks(T, S)),
    )


class Block(NamedTuple):
    """Tokens, a source of keys and values, and the weights of a layer between them."""

    X: list[list[Fraction]]
    source: list[list[Fraction]]
    layer: Layer
    keep: list[list[bool]]

    @property
    def mask(self) -> Matrix:
        """The mask in its additive form."""
        return attn.additive(self.keep)


@st.composite
def blocks(
    draw: st.DrawFn, *, most_heads: int = 3, self_attention: bool = False, largest: int = 3
) -> Block:
    """Draw a multi-head layer with its tokens; every size may be 1 and any two may coincide."""
    T, S = draw(sizes(largest)), draw(sizes(largest))
    d_model, d_k, d_v = draw(sizes(largest)), draw(sizes(largest)), draw(sizes(largest))
    H = draw(sizes(most_heads))
    X = draw(matrices(T, d_model, 2))
    source = X if self_attention else draw(matrices(S, d_model, 2))
    weights = [draw(matrices(*size, 2)) for size in attn.layer_shapes(d_model, H, d_k, d_v)]
    return Block(X, source, Layer(*weights, heads=H), draw(keep_masks(T, len(source))))
