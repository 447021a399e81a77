"""``attnproofs.prove``: prove one theorem from Python."""

from __future__ import annotations

from attnproofs.calculus.proving import Result
from attnproofs.calculus.proving import prove as prove_theorem
from attnproofs.calculus.theorem import Theorem
from attnproofs.theorems import theorem


def prove(claim: str | Theorem) -> Result:
    """Prove a theorem of the catalogue, or one of your own.

    Parameters
    ----------
    claim
        An id of the catalogue (``"qk_variance"``) or a `Theorem`.

    Returns
    -------
    Result
        With ``.status`` (``"proved"``, ``"refused"`` or ``"disputed"``), ``.axioms``, ``.lemmas``,
        the opinions on every line and the fate of the false neighbours.

    Raises
    ------
    InputError
        When there is no such theorem.

    Examples
    --------
    >>> import attnproofs
    >>> attnproofs.prove("softmax_sum").status
    'proved'
    """
    return prove_theorem(theorem(claim) if isinstance(claim, str) else claim)
