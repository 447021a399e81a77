"""The everyday test: one or two ordinary calls of each level, compared with a fixed tolerance."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from attnproofs.errors import InputError
from attnproofs.mutants.correct import Array
from attnproofs.mutants.registry import Call
from attnproofs.mutants.rules.rule import Case, Comparison, Rule, case, within

DEFAULTS = {"rtol": "1e-5", "atol": "1e-8", "inputs": "normal", "dtype": "float32", "seed": "0"}
BATCH, HEADS, LENGTH, WIDTH = 2, 4, 64, 32


class Draw:
    """Seeded arrays of one distribution and dtype."""

    def __init__(self, inputs: str, dtype: str, seed: int) -> None:
        self.inputs, self.dtype = inputs, dtype
        self.source = np.random.default_rng(seed)

    def __call__(self, *shape: int) -> Array:
        """Draw one array."""
        normal = self.inputs == "normal"
        made = self.source.standard_normal(shape) if normal else self.source.random(shape)
        return made.astype(self.dtype)

    def qkv(self, heads: int = HEADS, length: int = LENGTH) -> tuple[Array, Array, Array]:
        """Query, key and value of the ordinary shape: square, no groups, Ev = E."""
        shape = (BATCH, heads, length, WIDTH)
        return self(*shape), self(*shape), self(*shape)


def calls(level: str, draw: Draw) -> Iterator[tuple[str, Call]]:
    """Make the ordinary calls of one level."""
    if level == "softmax":
        yield "softmax of 8 rows of 64", Call((draw(8, LENGTH),))
    elif level in ("sdpa", "weights", "lse"):
        for is_causal in (False, True):
            yield f"is_causal={is_causal}", Call(draw.qkv(), {"is_causal": is_causal})
    elif level == "grad":
        for is_causal in (False, True):
            arrays = (*draw.qkv(), draw(BATCH, HEADS, LENGTH, WIDTH))
            yield f"is_causal={is_causal}", Call(arrays, {"is_causal": is_causal})
    elif level == "decode":
        yield "64 steps", Call((draw(LENGTH, WIDTH), draw(LENGTH, WIDTH), draw(LENGTH, WIDTH)))
    elif level == "mha":
        x, width = draw(LENGTH, HEADS * WIDTH), HEADS * WIDTH
        matrices = tuple(draw(width, width) * np.float32(width**-0.5) for _ in range(4))
        for is_causal in (False, True):
            kind = {"num_heads": HEADS, "is_causal": is_causal}
            yield f"self-attention, is_causal={is_causal}", Call((x, x, *matrices), kind)
    elif level == "softcap":
        yield "softcap=30", Call(draw.qkv(), {"softcap": 30.0, "is_causal": True})
    elif level == "sinks":
        yield "one sink a head", Call(draw.qkv(), {"sinks": draw(HEADS), "is_causal": True})
    elif level == "alibi":
        yield "causal", Call(draw.qkv(), {"is_causal": True})
    elif level == "window":
        yield "the last 16 keys", Call(draw.qkv(), {"left": 16, "right": 0, "is_causal": True})
    elif level == "varlen":
        packed = (LENGTH, HEADS, WIDTH)
        options = {"cu_seqlens": np.array([0, 20, LENGTH]), "is_causal": True}
        yield "two sequences", Call((draw(*packed), draw(*packed), draw(*packed)), options)
    elif level == "dropout":
        kept = draw.source.random((BATCH, HEADS, LENGTH, LENGTH)) >= 0.1
        yield "p=0.1", Call(draw.qkv(), {"drop_keep": kept, "p": 0.1})


LEVELS = (
    *("softmax", "sdpa", "weights", "lse", "grad", "decode", "mha"),
    *("softcap", "sinks", "alibi", "window", "varlen", "dropout"),
)


def _cases(level: str, inputs: str, dtype: str, seed: int, compare: Comparison) -> Iterator[Case]:
    for name, call in calls(level, Draw(inputs, dtype, seed)):
        yield case(level, name, call, compare)


def _number(name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < np.inf:
        raise InputError(f"allclose: {name}={text!r} is not a number >= 0; write {name}=1e-3, say")
    return number


def _chosen(name: str, text: str, allowed: tuple[str, ...]) -> str:
    if text not in allowed:
        raise InputError(f"allclose: {name}={text!r} is unknown; expected {' or '.join(allowed)}")
    return text


def rule(text: str) -> Rule:
    """Read ``allclose:rtol=R,atol=A[,inputs=normal|uniform][,dtype=D][,seed=N]``."""
    settings = dict(DEFAULTS)
    for part in filter(None, text.removeprefix("allclose").removeprefix(":").split(",")):
        name, equals, given = part.partition("=")
        if not equals or name not in settings:
            raise InputError(
                f"allclose: {part!r} is not a setting; expected NAME=VALUE with NAME one of "
                f"{', '.join(settings)}"
            )
        settings[name] = given
    rtol, atol = _number("rtol", settings["rtol"]), _number("atol", settings["atol"])
    inputs = _chosen("inputs", settings["inputs"], ("normal", "uniform"))
    dtype = _chosen("dtype", settings["dtype"], ("float64", "float32", "float16"))
    if not settings["seed"].isdecimal():
        raise InputError(f"allclose: seed={settings['seed']!r} is not a whole number >= 0")
    compare = within(rtol, atol)
    others = [
        f",{name}={settings[name]}"
        for name in ("inputs", "dtype", "seed")
        if settings[name] != DEFAULTS[name]
    ]
    return Rule(
        name=f"allclose:rtol={rtol:g},atol={atol:g}{''.join(others)}",
        title=(
            f"|error| <= {atol:g} + {rtol:g} * |expected| on {inputs} {dtype} inputs of shape "
            f"({BATCH}, {HEADS}, {LENGTH}, {WIDTH}), plain and causal, without masks"
        ),
        cases={
            level: partial(_cases, level, inputs, dtype, int(settings["seed"]), compare)
            for level in LEVELS
        },
    )
