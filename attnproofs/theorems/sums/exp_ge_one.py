"""The exponential of a nonnegative number is at least 1."""

from attnproofs.calculus import Part, Proof, Scope, Theorem, exp, exp_ge, le, order
from attnproofs.kernel.statement import Claim


def statement(s: Scope) -> Claim:
    t = s.scalar("t")
    s.assume("nonnegative", le(0, t))
    return le(1, exp(t))


def proof(p: Proof) -> None:
    t = p["t"]
    p.le(1 + t, order(t))
    p.le(exp(t), exp_ge)


THEOREM = Theorem(
    id="exp_ge_one",
    chapter="sums",
    title={"en": "The exponential is at least 1 from 0 on", "ko": "0 이상에서 지수함수는 1 이상"},
    prose={
        "en": r"For $t\ge0$ the exponential is at least 1, by the tangent at 0.",
        "ko": "$t$가 0 이상이면 $e^t$은 1 이상입니다. 0에서의 접선으로 알 수 있습니다.",
    },
    parts=(Part(statement, proof),),
    lemma=True,
)


if __name__ == "__main__":
    THEOREM.main()
