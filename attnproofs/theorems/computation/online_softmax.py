"""The running pair of shift and sum reproduces the full sum, for any running shift."""

from typing import Any

from attnproofs.calculus import (
    Expr,
    FalseNeighbour,
    Induction,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    eq,
    exp,
    hyp,
    lemma,
    span,
    split,
)
from attnproofs.kernel.statement import Claim


def declare(s: Scope, *, rescaled: bool = True) -> None:
    """Declare scores, factors, running shifts, and a running sum L that obeys the recurrence.

    With all factors u equal to 1 the sum is softmax's denominator; with values for u it is the
    unnormalised output.
    """
    n = s.dimension("n", least=0)
    N = s.dimension("N")
    x, u = s.tensor("s", N), s.tensor("u", N)
    m, L = s.tensor("m", span(0, N)), s.tensor("L", span(0, N))
    s.assume("within", n <= N)
    s.assume("start", eq(L[0], 0))

    def step(k: Any) -> Claim:
        kept = L[k] * exp(m[k] - m[k + 1]) if rescaled else L[k]
        return eq(L[k + 1], kept + u[k + 1] * exp(x[k + 1] - m[k + 1]))

    s.assume("step", step, over={"k": span(0, N - 1)})


def total(s: Any) -> Expr:
    """Return the full sum of the terms so far, without a shift."""
    n, x, u = s["n s u"]
    return Sum(n, lambda j: u[j] * exp(x[j]))


def unshifted(s: Scope) -> Claim:
    declare(s)
    n, m, L = s["n m L"]
    return eq(exp(m[n]) * L[n], total(s))


def base(p: Proof) -> None:
    m = p["m"]
    p.line(exp(m[0]) * 0, hyp("start"))
    p.line(total(p), "sum_empty")


def step(p: Proof) -> None:
    n, x, u, m, L = p["n s u m L"]
    p.line(
        exp(m[n + 1]) * (L[n] * exp(m[n] - m[n + 1]) + u[n + 1] * exp(x[n + 1] - m[n + 1])),
        hyp("step"),
    )
    p.line(exp(m[n]) * L[n] + u[n + 1] * exp(x[n + 1]), "expring")
    p.line(total(p) + u[n + 1] * exp(x[n + 1]), hyp("IH"))
    p.line(Sum(n + 1, lambda j: u[j] * exp(x[j])), split(n), "sum_single")


def statement(s: Scope) -> Claim:
    declare(s)
    n, x, u, m, L = s["n s u m L"]
    return eq(L[n], Sum(n, lambda j: u[j] * exp(x[j] - m[n])))


def proof(p: Proof) -> None:
    n, x, u, m, L = p["n s u m L"]
    p.line(exp(-1 * m[n]) * (exp(m[n]) * L[n]), "expring")
    p.line(exp(-1 * m[n]) * total(p), lemma((THEOREM, "unshifted")))
    p.line(Sum(n, lambda j: u[j] * exp(x[j] - m[n])), "expring", "sum_scale")


def forgotten(s: Scope) -> Claim:
    declare(s, rescaled=False)
    n, _x, _u, m, L = s["n s u m L"]
    return eq(exp(m[n]) * L[n], total(s))


def forgotten_step(p: Proof) -> None:
    n, x, u, m, L = p["n s u m L"]
    p.line(exp(m[n + 1]) * (L[n] + u[n + 1] * exp(x[n + 1] - m[n + 1])), hyp("step"))
    p.line(exp(m[n]) * L[n] + u[n + 1] * exp(x[n + 1]), "expring")


THEOREM = Theorem(
    id="online_softmax",
    chapter="computation",
    title={"en": "Online softmax", "ko": "온라인 소프트맥스"},
    prose={
        "en": "Softmax can be computed in one pass: keep a shift $m_k$ and a sum $L_k$, and whenever "
        "the shift changes, rescale the sum by $e^{m_k-m_{k+1}}$ before adding the next term. The "
        "result is the full shifted sum, for any sequence of shifts whatever; that $m_k$ is a "
        "running maximum matters for overflow, not for correctness. The factors $u_j$ are 1 for the "
        "denominator and the values for the output.",
        "ko": "소프트맥스는 한 번 훑어 계산할 수 있습니다. 이동값 $m_k$와 합 $L_k$를 유지하면서, 이동값이 "
        "바뀔 때마다 합에 $e^{m_k-m_{k+1}}$을 곱해 크기를 맞춘 뒤 다음 항을 더합니다. 결과는 이동한 전체 "
        "합과 같으며, 이동값의 수열이 무엇이든 성립합니다. $m_k$가 지금까지의 최댓값이라는 것은 넘침을 "
        "막기 위해서일 뿐 정확성과는 관계없습니다. 계수 $u_j$는 분모에서는 1, 출력에서는 밸류입니다.",
    },
    parts=(
        Part(statement, proof),
        Part(
            unshifted,
            Induction("n", base, step),
            name="unshifted",
            title={"en": "The sum without its shift", "ko": "이동하지 않은 합"},
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            {
                "en": "The running sum need not be rescaled",
                "ko": "합의 크기를 맞추지 않아도 된다는 주장",
            },
            forgotten,
            Induction("n", base, forgotten_step),
            because="not equal",
        ),
    ),
    numbers={
        "en": r"Scores $0,\ln2$, shifts $m_1=0$, $m_2=\ln2$: $L_1=1$, "
        r"$L_2=1\cdot e^{-\ln2}+1=\tfrac32$, and $e^{m_2}L_2=3=e^0+e^{\ln2}$.",
        "ko": r"점수가 $0,\ln2$이고 이동값이 $m_1=0$, $m_2=\ln2$이면 $L_1=1$, "
        r"$L_2=1\cdot e^{-\ln2}+1=\tfrac32$이고 $e^{m_2}L_2=3=e^0+e^{\ln2}$입니다.",
    },
    references=("milakov2018", "dao2022"),
)


if __name__ == "__main__":
    THEOREM.main()
