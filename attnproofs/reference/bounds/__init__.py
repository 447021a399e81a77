"""An allowance for attention that is a theorem: how far a program may be from the exact output.

For a declared precision model (formats, accuracy of `exp`, tile size) and the very inputs of a
call, `allowance` evaluates the bound of docs/bound.md with outward rounding, and `judge` compares
a result with it. `REJECT` is then a proof that no program of the model produced the result.
"""

from __future__ import annotations

from attnproofs.reference.bounds.forward import REASONS, TERMS
from attnproofs.reference.bounds.gradients import (
    GradientJudgement,
    gradient_allowance,
    judge_gradients,
)
from attnproofs.reference.bounds.models import PrecisionModel, model, models, textbook
from attnproofs.reference.bounds.verdict import (
    CONSISTENT,
    NOT_COVERED,
    REJECT,
    Allowance,
    Judgement,
    allowance,
    judge,
)

__all__ = [
    "CONSISTENT",
    "NOT_COVERED",
    "REASONS",
    "REJECT",
    "TERMS",
    "Allowance",
    "GradientJudgement",
    "Judgement",
    "PrecisionModel",
    "allowance",
    "gradient_allowance",
    "judge",
    "judge_gradients",
    "model",
    "models",
    "textbook",
]
