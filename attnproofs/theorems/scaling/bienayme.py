"""The variance of a sum of uncorrelated variables is the sum of their variances."""

from collections.abc import Callable

from attnproofs.calculus import (
    Expr,
    FalseNeighbour,
    Ix,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    eq,
    expect,
    hyp,
    ind,
    lemma,
    variance,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.sums.one_point import THEOREM as one_point
from attnproofs.theorems.sums.sum_prod import THEOREM as sum_prod
from attnproofs.theorems.sums.var_moment import THEOREM as var_moment


def statement(s: Scope) -> Claim:
    n = s.dimension("n")
    Z = s.family("Z", n, order=2)
    s.assume(
        "uncorrelated",
        lambda a, b: eq(expect(Z[a] * Z[b]), expect(Z[a]) * expect(Z[b])),
        over={"a": n, "b": n},
        where=lambda a, b: ~b.is_(a),
    )
    return eq(variance(Sum(n, lambda a: Z[a])), Sum(n, lambda a: variance(Z[a])))


def proof(p: Proof) -> None:
    n, Z = p["n Z"]

    def E(a: Ix, b: Ix) -> Expr:
        return expect(Z[a] * Z[b])

    def M(a: Ix, b: Ix) -> Expr:
        return expect(Z[a]) * expect(Z[b])

    def double(body: Callable[[Ix, Ix], Expr]) -> Expr:
        return Sum(n, lambda a: Sum(n, lambda b: body(a, b)))

    total = Sum(n, lambda a: Z[a])
    p.line(expect(total * total) - expect(total) * expect(total), lemma(var_moment))
    p.line(
        double(E) - Sum(n, lambda a: expect(Z[a])) * Sum(n, lambda b: expect(Z[b])),
        lemma(sum_prod),
        "E_lin",
    )
    p.line(double(lambda a, b: E(a, b) - M(a, b)), lemma(sum_prod), "sum_add", "sum_scale")
    p.line(
        double(
            lambda a, b: ind(b.is_(a)) * (E(a, b) - M(a, b)) + ind(~b.is_(a)) * (E(a, b) - M(a, b))
        ),
        "ind_bool",
    )
    p.line(
        double(
            lambda a, b: ind(b.is_(a)) * (E(a, b) - M(a, b)) + ind(~b.is_(a)) * (M(a, b) - M(a, b))
        ),
        hyp("uncorrelated"),
    )
    p.line(double(lambda a, b: ind(b.is_(a)) * (E(a, b) - M(a, b))), "ring")
    p.line(Sum(n, lambda a: E(a, a) - M(a, a)), lemma(one_point))
    p.line(Sum(n, lambda a: variance(Z[a])), lemma(var_moment, back=True))


def correlated(s: Scope) -> Claim:
    n = s.dimension("n")
    Z = s.family("Z", n, order=2)
    return eq(variance(Sum(n, lambda a: Z[a])), Sum(n, lambda a: variance(Z[a])))


THEOREM = Theorem(
    id="bienayme",
    chapter="scaling",
    title={"en": "Bienaymé's identity", "ko": "비에네메의 등식"},
    prose={
        "en": "Variances of pairwise uncorrelated variables add up. This is why a dot product, the "
        "sum of $d_k$ uncorrelated products, has variance proportional to $d_k$; without the "
        "hypothesis the covariances stay.",
        "ko": "서로 상관이 없는 확률변수들의 분산은 더해집니다. 서로 상관이 없는 곱 $d_k$개를 더한 내적의 분산이 "
        "$d_k$에 비례하는 까닭이 여기에 있습니다. 가정이 없으면 공분산이 남습니다.",
    },
    parts=(Part(statement, proof),),
    false_neighbours=(
        FalseNeighbour(
            {
                "en": "It holds for correlated variables, too",
                "ko": "상관이 있는 확률변수에 대해서도 성립한다는 주장",
            },
            correlated,
            because="not equal",
        ),
    ),
    numbers={
        "en": r"Two fair signs: independent, their sum has variance $1+1=2$; equal, it has variance "
        r"$4$.",
        "ko": r"값이 $\pm1$이고 확률이 같은 두 변수가 독립이면 합의 분산은 $1+1=2$이고, 두 변수가 같으면 "
        r"$4$입니다.",
    },
    references=("bienayme1853",),
)


if __name__ == "__main__":
    THEOREM.main()
