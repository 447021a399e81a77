"""A sum over all keys with the causal indicator is the sum over the keys up to i."""

from attnproofs.calculus import Part, Proof, Scope, Sum, Theorem, eq, ind, reindex
from attnproofs.kernel.statement import Claim


def statement(s: Scope) -> Claim:
    T = s.dimension("T", least=0)
    i = s.dimension("i", least=0)
    s.assume("within", i <= T)
    f = s.tensor("f", T)
    return eq(Sum(T, lambda j: ind(j <= i) * f[j]), Sum(i, lambda j: f[j]))


def proof(p: Proof) -> None:
    i, f = p["i f"]
    p.line(
        Sum(i, lambda j: f[j]),
        reindex(lambda k: k, lambda j: j, where=lambda j: j <= i),
    )


THEOREM = Theorem(
    id="cut",
    chapter="sums",
    title={"en": "Cutting a sum", "ko": "합의 절단"},
    prose={
        "en": r"A sum over $1,\dots,T$ in which only the terms up to $i$ count is the sum over "
        r"$1,\dots,i$. This is how a causal mask shortens every sum of a row.",
        "ko": "1부터 $T$까지의 합에서 $i$ 이하의 항만 남기면 1부터 $i$까지의 합이 됩니다. 인과 "
        "마스크가 각 행의 합을 짧게 만드는 원리입니다.",
    },
    parts=(Part(statement, proof),),
    lemma=True,
)


if __name__ == "__main__":
    THEOREM.main()
