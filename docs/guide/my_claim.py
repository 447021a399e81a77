"""A claim of my own: adding b to every value adds b to the output, because weights sum to 1."""

from attnproofs.calculus import FalseNeighbour, Part, Proof, Scope, Sum, Theorem, eq, hyp
from attnproofs.kernel.statement import Claim


def statement(s: Scope) -> Claim:
    T = s.dimension("T")
    a, v = s.tensor("a", T), s.tensor("v", T)
    b = s.scalar("b")
    s.assume("sums_to_one", eq(Sum(T, lambda j: a[j]), 1))
    return eq(Sum(T, lambda j: a[j] * (v[j] + b)), Sum(T, lambda j: a[j] * v[j]) + b)


def proof(p: Proof) -> None:
    T, a, v, b = p["T a v b"]
    output = Sum(T, lambda j: a[j] * v[j])
    p.line(output + Sum(T, lambda j: a[j]) * b, "sum_add", "sum_scale")
    p.line(output + 1 * b, hyp("sums_to_one"))
    p.line(output + b, "ring")


def unnormalised(s: Scope) -> Claim:
    T = s.dimension("T")
    a, v = s.tensor("a", T), s.tensor("v", T)
    b = s.scalar("b")
    return eq(Sum(T, lambda j: a[j] * (v[j] + b)), Sum(T, lambda j: a[j] * v[j]) + b)


THEOREM = Theorem(
    id="my_claim",
    chapter="mine",
    title={"en": "A shift of the values goes through"},
    prose={"en": "Weights that sum to 1 pass a common shift of the values on unchanged."},
    parts=(Part(statement, proof),),
    false_neighbours=(FalseNeighbour({"en": "for any weights"}, unnormalised),),
)

if __name__ == "__main__":
    THEOREM.main()
