"""The variance is the second moment less the square of the mean."""

from attnproofs.calculus import Part, Proof, Scope, Theorem, eq, expect, variance
from attnproofs.kernel.statement import Claim


def statement(s: Scope) -> Claim:
    x = s.random("x", order=2)
    return eq(variance(x), expect(x * x) - expect(x) * expect(x))


def proof(p: Proof) -> None:
    x = p["x"]
    mean = expect(x)
    p.line(expect((x - mean) * (x - mean)), "unfold")
    p.line(expect(x * x) - 2 * mean * expect(x) + mean * mean, "E_lin", "E_const")
    p.line(expect(x * x) - mean * mean, "ring")


THEOREM = Theorem(
    id="var_moment",
    chapter="sums",
    title={"en": "Variance by moments", "ko": "적률로 나타낸 분산"},
    prose={
        "en": "The variance is the second moment less the square of the mean. "
        "It asks for a finite second moment only.",
        "ko": "분산은 이차 적률에서 평균의 제곱을 뺀 값입니다. 이차 적률이 유한하다는 것만 "
        "가정합니다.",
    },
    parts=(Part(statement, proof),),
    lemma=True,
)


if __name__ == "__main__":
    THEOREM.main()
