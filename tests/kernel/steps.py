"""One step as a certificate of its own, so that every case goes through the whole of replay."""

from __future__ import annotations

from typing import Any

from attnproofs.calculus import Scope
from attnproofs.calculus.proof import plain
from attnproofs.calculus.symbols import Real, as_expr
from attnproofs.kernel.read import Unreadable, parse
from attnproofs.kernel.refused import Refused
from attnproofs.kernel.replay import Replay
from attnproofs.kernel.statement import Claim, canonical, to_data


def certificate(
    scope: Scope,
    before: Real,
    after: Real,
    rule: str,
    args: dict[str, Any] | None = None,
    *,
    at: tuple[int, ...] = (),
    relation: str = "=",
    back: bool = False,
) -> dict[str, Any]:
    """Return the certificate of ``before relation after`` with this one step as its proof."""
    lhs, rhs = as_expr(before).term, as_expr(after).term
    statement = scope.claim(Claim(relation, lhs, rhs))
    step = {
        "term": plain(rhs), "relation": relation, "rule": rule, "at": list(at),
        "args": plain(args or {}), "back": back,
    }  # fmt: skip
    proof = {"kind": "chain", "start": plain(lhs), "steps": [step]}
    return {"format": 1, "id": scope.name,
            "parts": [{"statement": to_data(statement), "proof": proof}]}  # fmt: skip


def verdict(*certificates: dict[str, Any]) -> str:
    """Replay certificates; return "" when the first one is proved, else the reason."""
    replay = Replay()
    try:
        digests = [replay.load(parse(canonical(c).encode())) for c in certificates]
        for digest in digests[0]:
            replay.prove(digest)
    except (Refused, Unreadable) as refusal:
        return str(refusal)
    return ""
