"""Test rules in use, restated: inputs and comparison of a plain tolerance and of four projects.

Each rule is an approximation of the project's own tests, in numpy and with smaller sizes; its
module says what was kept and what was not. The expected values are those of
`attnproofs.mutants.correct`, whose conventions stand for the project's own where the two differ
(the corner of the causal mask, say): a rule is graded on its inputs and its comparison.
"""

from __future__ import annotations

from pathlib import Path

from attnproofs.errors import InputError
from attnproofs.mutants.rules import allclose, flash_attention, kernelbench, onnx, torch_testing
from attnproofs.mutants.rules.rule import Rule

__all__ = ["NAMED", "Rule", "parse"]

NAMED = {
    rule.name: rule
    for rule in (flash_attention.RULE, kernelbench.RULE, onnx.RULE, torch_testing.RULE)
}


def parse(text: str) -> Rule | None:
    """Return the rule that `text` names, or None when it is the name of no rule.

    Raises
    ------
    InputError
        For an ``allclose:`` whose settings cannot be read.

    Examples
    --------
    >>> parse("allclose:rtol=1e-2,atol=1e-2").name
    'allclose:rtol=0.01,atol=0.01'
    >>> sorted(NAMED)
    ['flash-attention', 'kernelbench', 'onnx', 'torch-testing']
    >>> parse("tests/test_attention.py") is None
    True
    """
    if text in NAMED:
        return NAMED[text]
    if text == "allclose" or text.startswith("allclose:"):
        return allclose.rule(text)
    file = text.partition("::")[0]
    if file.endswith(".py") or "/" in file or Path(file).exists():
        return None
    raise InputError(
        f"{text!r} is neither a rule nor a test file; the rules are "
        f"allclose:rtol=R,atol=A, {', '.join(NAMED)} and audit; "
        "a test file is given as path/test_file.py"
    )
