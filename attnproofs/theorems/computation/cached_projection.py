"""What decoding has cached after t steps are the projections of the first t tokens."""

from attnproofs.calculus import (
    Induction,
    Part,
    Proof,
    Scope,
    Theorem,
    absurd,
    cache,
    eq,
    hyp,
    ind,
    ixeq,
    rec,
    via,
)
from attnproofs.kernel.statement import Claim


def statement(s: Scope) -> Claim:
    t = s.dimension("t", least=0)
    T, d_model, d = s.dimensions("T d_model d")
    X, W = s.tensor("X", T, d_model), s.tensor("W", d_model, d)
    s.assume("within", t <= T)
    j, a = s.index("j", t), s.index("a", d)
    return eq(cache(t, X, W)[j, a], (X @ W)[j, a])


def base(p: Proof) -> None:
    X, W, j, a = p["X W j a"]
    p.line((X @ W)[j, a], absurd)


def step(p: Proof) -> None:
    t, X, W, j, a = p["t X W j a"]
    new, old = ind(j.is_(t + 1)), ind(j <= t)
    p.line(new * (X @ W)[t + 1, a] + old * cache(t, X, W)[j, a], rec(), "unfold:matmul")
    p.line(new * (X @ W)[t + 1, a] + old * (X @ W)[j, a], hyp("IH"))
    P, not_new = (X @ W)[j, a], ind(~j.is_(t + 1))
    p.line(new * P + (old * new * P + old * not_new * P), via(new * P + old * P, ixeq), "ind_bool")
    p.line(new * P + (0 * new * P + 1 * not_new * P), "ind_val")
    p.line((X @ W)[j, a], "ind_bool")


THEOREM = Theorem(
    id="cached_projection",
    chapter="computation",
    title={"en": "What the cache holds", "ko": "캐시에 담긴 것"},
    prose={
        "en": r"Decoding appends one projected token a step and keeps the rest. By induction on "
        r"the step, the cache after $t$ steps holds exactly rows $1,\dots,t$ of the projection "
        r"of the sequence.",
        "ko": "디코딩은 단계마다 토큰 하나를 사영하여 덧붙이고 나머지는 그대로 둡니다. 단계에 "
        "대한 귀납법에 따라, $t$단계 뒤의 캐시는 수열을 사영한 결과의 $1$행부터 $t$행까지와 "
        "정확히 같습니다.",
    },
    parts=(Part(statement, Induction("t", base, step)),),
    references=("pope2022",),
    lemma=True,
)


if __name__ == "__main__":
    THEOREM.main()
