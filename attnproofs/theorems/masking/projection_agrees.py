"""Projections of tokens that agree up to i agree up to i."""

from attnproofs.calculus import Part, Proof, Scope, Sum, Theorem, eq, hyp
from attnproofs.kernel.statement import Claim


def statement(s: Scope) -> Claim:
    T, D, d = s.dimensions("T d_model d")
    X, Y = s.tensor("X", T, D), s.tensor("Y", T, D)
    W = s.tensor("W", D, d)
    i = s.index("i", T)
    s.assume("agree", lambda j, m: eq(X[j, m], Y[j, m]), over={"j'": i, "m'": D})
    j, a = s.index("j", i), s.index("a", d)
    return eq((X @ W)[j, a], (Y @ W)[j, a])


def proof(p: Proof) -> None:
    D, X, Y, W, j, a = p["d_model X Y W j a"]
    p.line(Sum(D, lambda m: X[j, m] * W[m, a]), "unfold")
    p.line(Sum(D, lambda m: Y[j, m] * W[m, a]), hyp("agree"))
    p.line((Y @ W)[j, a], "unfold")


THEOREM = Theorem(
    id="projection_agrees",
    chapter="masking",
    title={"en": "Projections act token by token", "ko": "사영은 토큰마다 따로 작용한다"},
    prose={
        "en": "A projection multiplies each token by the same matrix; if two sequences agree "
        "up to token $i$, so do their projections.",
        "ko": "사영은 토큰마다 같은 행렬을 곱하는 것이므로, 두 수열이 $i$번째 토큰까지 같으면 "
        "그 사영도 $i$번째까지 같습니다.",
    },
    parts=(Part(statement, proof),),
    lemma=True,
)


if __name__ == "__main__":
    THEOREM.main()
