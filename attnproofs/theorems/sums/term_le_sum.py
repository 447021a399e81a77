"""One term of a sum of nonnegative terms is at most the sum."""

from attnproofs.calculus import Part, Proof, Scope, Sum, Theorem, le, order, span, split
from attnproofs.kernel.statement import Claim


def statement(s: Scope) -> Claim:
    n = s.dimension("n", least=0)
    k = s.index("k", n)
    f = s.tensor("f", n)
    s.assume("nonnegative", lambda j: le(0, f[j]), over={"j": n})
    return le(f[k], Sum(n, lambda j: f[j]))


def proof(p: Proof) -> None:
    n, k, f = p["n k f"]
    before = Sum(k - 1, lambda j: f[j])
    after = Sum(span(k + 1, n), lambda j: f[j])
    p.le(after + (before + f[k]), order(after + before))
    p.line(after + Sum(k, lambda j: f[j]), split(k - 1), "sum_single")
    p.line(Sum(n, lambda j: f[j]), split(k))


THEOREM = Theorem(
    id="term_le_sum",
    chapter="sums",
    title={"en": "A term is at most the sum", "ko": "한 항은 합보다 크지 않다"},
    prose={
        "en": "In a sum of nonnegative terms no term exceeds the sum.",
        "ko": "음이 아닌 항들의 합에서 어느 한 항도 합을 넘지 않습니다.",
    },
    parts=(Part(statement, proof),),
    lemma=True,
)


if __name__ == "__main__":
    THEOREM.main()
