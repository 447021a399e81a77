"""An indicator is at most 1."""

from attnproofs.calculus import Part, Proof, Scope, Theorem, ind, le, order
from attnproofs.kernel.statement import Claim


def statement(s: Scope) -> Claim:
    n = s.dimension("n")
    b = s.predicate("b", n)
    i = s.index("i", n)
    return le(ind(b(i)), 1)


def proof(p: Proof) -> None:
    p.le(1, order(ind(~p["b"](p["i"])), "ind_bool"))


THEOREM = Theorem(
    id="ind_le_one",
    chapter="sums",
    title={"en": "An indicator is at most 1", "ko": "지시함수는 1 이하"},
    prose={
        "en": "An indicator is 0 or 1, so it is at most 1: what is missing to 1 is the indicator of "
        "the negation, which is not negative.",
        "ko": "지시함수의 값은 0 또는 1이므로 1을 넘지 않습니다. 1에서 모자라는 만큼은 부정 "
        "조건의 지시함수이며, 이 값은 음수가 아닙니다.",
    },
    parts=(Part(statement, proof),),
    lemma=True,
)


if __name__ == "__main__":
    THEOREM.main()
