"""The rank of the value map may be exactly d_v: an identity block of that size."""

from random import Random
from typing import Any

from attnproofs.calculus import (
    Array,
    FalseNeighbour,
    Ix,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    array,
    eq,
    ind,
    lemma,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.sums.one_point import THEOREM as one_point


def declare(s: Scope) -> tuple[Ix, Ix]:
    d_v = s.dimension("d_v")
    more = s.dimension("m", least=0)
    return d_v, d_v + more


def value_map(d_v: Ix, d_model: Ix) -> Array:
    W_V = array(d_model, d_v, lambda i, c: ind(c.is_(i)))
    W_O = array(d_v, d_model, lambda c, j: ind(c.is_(j)))
    return W_V @ W_O


def statement(s: Scope) -> Claim:
    d_v, d_model = declare(s)
    i, j = s.index("i", d_v), s.index("j", d_v)
    return eq(value_map(d_v, d_model)[i, j], ind(j.is_(i)))


def proof(p: Proof) -> None:
    d_v, i, j = p["d_v i j"]
    p.line(Sum(d_v, lambda c: ind(c.is_(i)) * ind(c.is_(j))), "unfold")
    p.line(ind(i.is_(j)), lemma(one_point, n=d_v, e=i, f=array(d_v, lambda c: ind(c.is_(j)))))


def everywhere(s: Scope) -> Claim:
    d_v, d_model = declare(s)
    i, j = s.index("i", d_model), s.index("j", d_model)
    return eq(value_map(d_v, d_model)[i, j], ind(j.is_(i)))


def attempt(p: Proof) -> None:
    d_v, i, j = p["d_v i j"]
    p.line(Sum(d_v, lambda c: ind(c.is_(i)) * ind(c.is_(j))), "unfold")
    p.line(ind(i.is_(j)), lemma(one_point, n=d_v, e=i, f=array(d_v, lambda c: ind(c.is_(j)))))


def larger(rng: Random) -> dict[str, Any]:
    return {"d_v": 1, "m": 1, "i": 2, "j": 2}


THEOREM = Theorem(
    id="rank_vo_attained",
    chapter="values",
    title={"en": "The rank $d_v$ is attained", "ko": "계수 $d_v$는 달성된다"},
    prose={
        "en": r"Take the first $d_v$ unit vectors for the columns of $W_V$ and the rows of "
        r"$W_O$. Then the upper left $d_v\times d_v$ block of $W_VW_O$ is the identity, so its "
        r"rank is at least $d_v$, and with the theorem “Rank of the value map” exactly $d_v$. "
        r"(That a matrix with an invertible block of this size has at least this rank is linear "
        r"algebra outside the kernel.)",
        "ko": r"$W_V$의 열과 $W_O$의 행을 앞의 $d_v$개 단위벡터로 잡습니다. 그러면 $W_VW_O$의 "
        r"왼쪽 위 $d_v\times d_v$ 블록이 단위행렬이므로 계수는 $d_v$ 이상이고, 정리 ‘밸류 "
        r"사상의 계수’와 합치면 정확히 $d_v$입니다. (이 크기의 가역 블록이 있는 행렬의 계수가 "
        r"그 크기 이상이라는 것은 커널 밖의 선형대수입니다.)",
    },
    parts=(Part(statement, proof),),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": "The whole of $W_VW_O$ is the identity",
                "ko": "$W_VW_O$ 전체가 단위행렬이라는 주장",
            },
            statement=everywhere,
            attempt=attempt,
            because="out of range",
            instance=larger,
        ),
    ),
    numbers={
        "en": r"$d_{\mathrm{model}}=3$, $d_v=2$: $W_VW_O=\mathrm{diag}(1,1,0)$, of rank $2$.",
        "ko": r"$d_{\mathrm{model}}=3$, $d_v=2$이면 $W_VW_O=\mathrm{diag}(1,1,0)$이고 계수는 "
        r"$2$입니다.",
    },
    references=("elhage2021",),
)


if __name__ == "__main__":
    THEOREM.main()
