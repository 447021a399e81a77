"""A product of two sums is the double sum of the products."""

from attnproofs.calculus import Part, Proof, Scope, Sum, Theorem, eq
from attnproofs.kernel.statement import Claim


def statement(s: Scope) -> Claim:
    m, n = s.dimension("m", least=0), s.dimension("n", least=0)
    f, g = s.tensor("f", m), s.tensor("g", n)
    return eq(
        Sum(m, lambda i: f[i]) * Sum(n, lambda j: g[j]),
        Sum(m, lambda i: Sum(n, lambda j: f[i] * g[j])),
    )


def proof(p: Proof) -> None:
    m, n, f, g = p["m n f g"]
    p.line(Sum(m, lambda i: f[i] * Sum(n, lambda j: g[j])), "sum_scale")
    p.line(Sum(m, lambda i: Sum(n, lambda j: f[i] * g[j])), "sum_scale")


THEOREM = Theorem(
    id="sum_prod",
    chapter="sums",
    title={"en": "Product of sums", "ko": "합의 곱"},
    prose={
        "en": "A product of two sums is the double sum of all products (distributivity).",
        "ko": "두 합의 곱은 모든 항끼리의 곱을 이중으로 더한 것과 같습니다(분배법칙).",
    },
    parts=(Part(statement, proof),),
    lemma=True,
)


if __name__ == "__main__":
    THEOREM.main()
