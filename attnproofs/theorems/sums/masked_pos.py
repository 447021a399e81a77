"""The denominator of masked weights is positive as soon as one key is kept."""

from attnproofs.calculus import Part, Proof, Scope, Sum, Theorem, exp, ind, lt, sign
from attnproofs.kernel.statement import Claim


def statement(s: Scope) -> Claim:
    n = s.dimension("n")
    b = s.predicate("b", n)
    s.kept(b)
    x = s.tensor("s", n)
    return lt(0, Sum(n, lambda j: ind(b(j)) * exp(x[j])))


def proof(p: Proof) -> None:
    n, b, x = p["n b s"]
    p.lt(Sum(n, lambda j: ind(b(j)) * exp(x[j])), sign())


THEOREM = Theorem(
    id="masked_pos",
    chapter="sums",
    title={"en": "The masked denominator is positive", "ko": "마스크된 분모는 양수"},
    prose={
        "en": "If at least one key is kept, the sum of exponentials over the kept keys is "
        "positive, so one may divide by it.",
        "ko": "키가 하나라도 남아 있으면 남은 키에 대한 지수의 합이 양수이므로 그 합으로 나눌 수 "
        "있습니다.",
    },
    parts=(Part(statement, proof),),
    lemma=True,
)


if __name__ == "__main__":
    THEOREM.main()
