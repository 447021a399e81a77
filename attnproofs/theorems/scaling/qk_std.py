"""The standard deviation of a score is the square root of d_k."""

from attnproofs.calculus import (
    FalseNeighbour,
    Part,
    Proof,
    Scope,
    Theorem,
    dot,
    eq,
    ixeq,
    lemma,
    sqrt,
    variance,
)
from attnproofs.calculus.symbols import Ix
from attnproofs.kernel import index as ix
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.scaling._assumptions import centred_and_unit
from attnproofs.theorems.scaling.qk_variance import THEOREM as qk_variance


def statement(s: Scope) -> Claim:
    d_k, q, k = centred_and_unit(s)
    return eq(sqrt(variance(dot(q, k))), sqrt(d_k))


def proof(p: Proof) -> None:
    p.line(sqrt(p["d_k"]), lemma(qk_variance))


def number(s: Scope) -> Claim:
    d_k = s.dimension("d_k")
    s.assume("d_k_is_64", d_k.is_(64))
    return eq(sqrt(d_k), 8)


def number_proof(p: Proof) -> None:
    p.line(sqrt(Ix(ix.const(64))), ixeq)
    p.line(8, "sqrt_sq")


def dimension(s: Scope) -> Claim:
    d_k, q, k = centred_and_unit(s)
    return eq(sqrt(variance(dot(q, k))), d_k)


def dimension_attempt(p: Proof) -> None:
    proof(p)
    p.line(p["d_k"], "sqrt_sq")


THEOREM = Theorem(
    id="qk_std",
    chapter="scaling",
    title={"en": "Standard deviation of a score", "ko": "점수의 표준편차"},
    prose={
        "en": r"Typical scores are of size $\sqrt{d_k}$: with $d_k=64$, as in the base model of "
        r"“Attention Is All You Need”, of size 8. Softmax of scores that differ by 8 is almost "
        r"one-hot, since $e^8\approx 2981$.",
        "ko": r"점수의 전형적인 크기는 $\sqrt{d_k}$입니다. ‘Attention Is All You Need’의 기본 "
        r"모델처럼 $d_k=64$이면 8입니다. 점수 차이가 8이면 $e^8\approx 2981$이므로 소프트맥스는 "
        r"거의 원핫에 가깝습니다.",
    },
    parts=(
        Part(statement, proof),
        Part(
            number,
            number_proof,
            name="d_k_64",
            title={"en": "For $d_k=64$", "ko": "$d_k=64$일 때"},
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            {"en": "The standard deviation is $d_k$", "ko": "표준편차가 $d_k$라는 주장"},
            dimension,
            dimension_attempt,
            because="not equal",
        ),
    ),
    numbers={"en": r"$d_k=64$: $\sqrt{64}=8$.", "ko": r"$d_k=64$이면 $\sqrt{64}=8$입니다."},
    references=("vaswani2017",),
)


if __name__ == "__main__":
    THEOREM.main()
