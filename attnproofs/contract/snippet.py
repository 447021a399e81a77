"""A counterexample as code to paste: it runs alone and stops with an assertion that shows it."""

from __future__ import annotations

from typing import Any

import numpy as np

from attnproofs.contract.case import Case, Violation, literal, number
from attnproofs.contract.property import LEVELS, TUPLES
from attnproofs.contract.target import Target

#: How each memory layout of `worker.laid_out` is written.
LAYOUT_SOURCE = {
    "fortran": "{0} = np.asfortranarray({0})",
    "transposed": "{0} = np.swapaxes(np.ascontiguousarray(np.swapaxes({0}, -1, -2)), -1, -2)",
    "strided": "{0} = np.repeat({0}, 2, axis=-1)[..., ::2]",
    "rows": "{0} = np.repeat({0}, 2, axis=-2)[..., ::2, :]",
    "expanded": "{0} = np.broadcast_to({0}[..., :1, :, :].copy(), {0}.shape)",
    "reversed": "{0} = np.ascontiguousarray({0}[..., ::-1])[..., ::-1]",
    "guarded": "{0} = np.pad({0}, 1, constant_values=np.nan)[(slice(1, -1),) * {0}.ndim]",
    "stride0": "{0} = np.broadcast_to({0}[..., :1, :].copy(), {0}.shape)",
    "readonly": "{0}.flags.writeable = False",
}
#: Arguments with more entries than this are read from the saved failure instead of written out.
LONGEST = 4000


def snippet(
    target: Target,
    level: str,
    case: Case,
    violation: Violation,
    *,
    limit: float,
    output_layout: str = "BHLD",
    identifier: str = "",
) -> str:
    """Python source that shows the violation when it is run by itself.

    Parameters
    ----------
    target
        The function, imported at the top.
    level
        Its calling convention.
    case, violation
        The input, as the target receives it, and what was wrong.
    limit
        Seconds after which a call counts as hung.
    output_layout
        ``BLHD`` where the target returns (batch, length, heads, features).
    identifier
        Id of the saved failure, for inputs too large to write out.
    """
    lines = ["import numpy as np", *target.source_lines(), ""]
    if any(
        getattr(v, "dtype", None) is not None and v.dtype.kind == "V" for v in case.args.values()
    ):
        lines.insert(0, "import ml_dtypes")
    size = sum(v.size for v in case.args.values() if isinstance(v, np.ndarray))
    saved = size > LONGEST and bool(identifier)
    if saved:
        lines += [
            "from attnproofs.contract.store import load_case",
            f"case = load_case({identifier!r})",
        ]
    positional = [n for n in LEVELS[level][0] if n in case.args]
    rest = [n for n in case.args if n not in positional]
    for name in [*positional, *rest]:
        if isinstance(case.args[name], np.ndarray):
            source = f"case.args[{name!r}]" if saved else literal(case.args[name])
            lines.append(f"{name} = {source}")
            if name in case.layouts:
                lines.append(LAYOUT_SOURCE[case.layouts[name]].format(name))
    lines += _verdict(
        level,
        case,
        violation,
        (positional, rest),
        limit=limit,
        output_layout=output_layout,
        big=saved,
    )
    return "\n".join(lines) + "\n"


def _call(case: Case, positional: list[str], rest: list[str], renamed: dict[str, str]) -> str:
    """The call itself."""
    inside = [renamed.get(n, n) for n in positional]
    for name in rest:
        value: Any = case.args[name]
        inside.append(
            f"{name}={renamed.get(name, name) if isinstance(value, np.ndarray) else literal(value)}"
        )
    return f"attention({', '.join(inside)})"


def _brief(violation: Violation) -> float:
    """The allowance in three digits, rounded up, where that does not excuse the error."""
    allowed = float(violation.allowed or 0.0)
    rounded = float(f"{allowed * 1.005:.3g}")
    got, expected = violation.got, violation.expected
    if got is None or expected is None or abs(got - expected) <= rounded:
        return allowed
    return rounded


def _verdict(
    level: str,
    case: Case,
    violation: Violation,
    names: tuple[list[str], list[str]],
    *,
    limit: float,
    output_layout: str,
    big: bool,
) -> list[str]:
    """The call or calls, and the assertion that fails."""
    positional, rest = names
    call = _call(case, positional, rest, {})
    turned = output_layout == "BLHD"
    pick = f"[{violation.output}]" if level in TUPLES else ""
    kind = violation.kind
    if kind == "unequal" and case.changed:
        renamed = {name: f"{name}_other" for name in case.changed if name in case.args}
        other = {**case.args, **case.changed}
        lines = [f"{renamed[n]} = {literal(case.changed[n])}" for n in renamed]
        after = _call(Case(other), positional, rest, renamed)
        return [
            *lines,
            f"first = np.copy({call}{pick})",
            after,
            f"assert np.array_equal(first, {call}{pick}), 'another answer after another call'",
        ]
    if kind == "unequal":
        return [
            f"answers = {{np.asarray({call}).tobytes() for _ in range({case.times})}}",
            "assert len(answers) == 1, f'{len(answers)} different answers to the same call'",
        ]
    if kind == "hung":
        return [
            "import faulthandler",
            f"faulthandler.dump_traceback_later({limit:g}, exit=True)  # it hangs",
            call,
        ]
    if kind == "mutated":
        arrays = [n for n in (*positional, *rest) if isinstance(case.args[n], np.ndarray)]
        return [
            f"before = [np.copy(a) for a in ({', '.join(arrays)},)]",
            call,
            f"after = ({', '.join(arrays)},)",
            "assert all(a.tobytes() == b.tobytes() for a, b in zip(before, after)), 'changed'",
        ]
    if kind == "aliases":
        name = violation.message.rsplit(" ", 1)[-1]
        return [f"assert not np.may_share_memory({call}{pick}, {name}), 'a view of {name}'"]
    if kind in ("raised", "died"):
        return [f"{call}  # {violation.message}"]
    lines = []
    if violation.second:
        lines.append(f"first = np.asarray({call}{pick})")
        renamed = {}
        for name, value in case.changed.items():
            renamed[name] = f"{name}_changed"
            source = f"case.changed[{name!r}]" if big else literal(value)
            lines.append(f"{name}_changed = {source}")
        lines.append(f"got = np.asarray({_call(case, positional, rest, renamed)}{pick})")
    else:
        lines.append(f"got = np.asarray({call}{pick})")
    if turned:
        lines += ["got = np.swapaxes(got, 1, 2)  # heads before length"]
        if violation.second:
            lines += ["first = np.swapaxes(first, 1, 2)"]
    if kind == "shape":
        return [*lines, f"assert got.shape == {violation.wanted}, got.shape"]
    if kind == "dtype":
        return [*lines, f"assert got.dtype == {violation.wanted!r}, got.dtype"]
    if kind != "differs":
        return [*lines, f"raise AssertionError({violation.message!r})"]
    index = f"[{', '.join(map(str, violation.index))}]" if violation.index else ""
    expected = float(violation.expected if violation.expected is not None else np.nan)
    wanted = f"float(first{index})" if violation.second else number(expected)
    lines.append(f"got = float(got{index})")
    if np.isnan(expected):
        return [*lines, "assert np.isnan(got), f'got {got}, expected NaN'"]
    lines.append(f"expected, allowed = {wanted}, {number(_brief(violation))}")
    lines.append("assert abs(got - expected) <= allowed, (got, expected, allowed)")
    return lines
