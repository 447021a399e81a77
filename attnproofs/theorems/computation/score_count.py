"""There are T squared scores; doubling the length gives four times as many."""

from attnproofs.calculus import FalseNeighbour, Part, Proof, Scope, Sum, Theorem, eq, ixeq, lemma
from attnproofs.calculus.symbols import Ix, as_expr
from attnproofs.kernel import index as ix
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.sums.sum_const import THEOREM as sum_const


def statement(s: Scope) -> Claim:
    T = s.dimension("T")
    return eq(Sum(T, lambda i: Sum(T, lambda j: 1)), as_expr(T) ** 2)


def proof(p: Proof) -> None:
    T = p["T"]
    p.line(Sum(T, lambda i: as_expr(T) * 1), lemma(sum_const, only=1))
    p.line(as_expr(T) * (as_expr(T) * 1), lemma(sum_const))
    p.line(as_expr(T) ** 2, "ring")


def doubled(s: Scope) -> Claim:
    T = s.dimension("T")
    return eq(Sum(2 * T, lambda i: Sum(2 * T, lambda j: 1)), 4 * as_expr(T) ** 2)


def doubled_proof(p: Proof) -> None:
    T = p["T"]
    p.line(as_expr(2 * T) ** 2, lemma(THEOREM))
    p.line(4 * as_expr(T) ** 2, "ring")


def number(s: Scope) -> Claim:
    T = s.dimension("T")
    s.assume("T_is_8192", T.is_(8192))
    return eq(as_expr(T) ** 2, 67108864)


def number_proof(p: Proof) -> None:
    p.line(as_expr(Ix(ix.const(8192))) ** 2, ixeq)
    p.line(67108864, "ring")


def twice(s: Scope) -> Claim:
    T = s.dimension("T")
    return eq(Sum(2 * T, lambda i: Sum(2 * T, lambda j: 1)), 2 * as_expr(T) ** 2)


def twice_attempt(p: Proof) -> None:
    T = p["T"]
    p.line(as_expr(2 * T) ** 2, lemma(THEOREM))
    p.line(2 * as_expr(T) ** 2, "ring")


THEOREM = Theorem(
    id="score_count",
    chapter="computation",
    title={"en": "Number of scores", "ko": "점수의 개수"},
    prose={
        "en": "Every query meets every key: $T^2$ scores for $T$ tokens. Doubling the context makes "
        "them four times as many, not twice; this is why context length is expensive.",
        "ko": "모든 쿼리가 모든 키와 만나므로 토큰이 $T$개이면 점수는 $T^2$개입니다. 문맥 길이를 두 배로 "
        "늘리면 점수는 두 배가 아니라 네 배가 됩니다. 긴 문맥에 비용이 많이 드는 까닭입니다.",
    },
    parts=(
        Part(statement, proof),
        Part(
            doubled,
            doubled_proof,
            name="doubled",
            title={"en": "Doubling the length", "ko": "길이를 두 배로"},
        ),
        Part(
            number,
            number_proof,
            name="T_8192",
            title={"en": "For $T=8192$", "ko": "$T=8192$일 때"},
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            {
                "en": "Doubling the length doubles the number",
                "ko": "길이를 두 배로 하면 개수도 두 배라는 주장",
            },
            twice,
            twice_attempt,
            because="not equal",
        ),
    ),
    numbers={
        "en": r"$T=1024,\,2048,\,4096,\,8192$: $1\,048\,576$, $4\,194\,304$, $16\,777\,216$, "
        r"$67\,108\,864$ scores.",
        "ko": r"$T$가 $1024$, $2048$, $4096$, $8192$이면 점수는 각각 $1\,048\,576$, $4\,194\,304$, "
        r"$16\,777\,216$, $67\,108\,864$개입니다.",
    },
    references=("vaswani2017", "sanderson2024"),
)


if __name__ == "__main__":
    THEOREM.main()
