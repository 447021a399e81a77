"""An absolute value is at least the number and its negative."""

from attnproofs.calculus import Part, Proof, Scope, Theorem, abs_bound, absolute, le
from attnproofs.kernel.statement import Claim


def statement(s: Scope) -> Claim:
    x = s.scalar("x")
    return le(x, absolute(x))


def proof(p: Proof) -> None:
    p.le(absolute(p["x"]), abs_bound())


def negative(s: Scope) -> Claim:
    x = s.scalar("x")
    return le(-x, absolute(x))


def proof_negative(p: Proof) -> None:
    p.le(absolute(p["x"]), abs_bound())


THEOREM = Theorem(
    id="abs_ge",
    chapter="sums",
    title={"en": "$x$ and $-x$ are at most $|x|$", "ko": "$x$와 $-x$는 $|x|$ 이하"},
    prose={
        "en": "A number and its negative are at most its absolute value.",
        "ko": "어떤 수와 그 부호를 바꾼 수는 절댓값을 넘지 않습니다.",
    },
    parts=(
        Part(statement, proof),
        Part(
            negative,
            proof_negative,
            name="negative",
            title={"en": "The negative", "ko": "부호를 바꾼 수"},
        ),
    ),
    lemma=True,
)


if __name__ == "__main__":
    THEOREM.main()
