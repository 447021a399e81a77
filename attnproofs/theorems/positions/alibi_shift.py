"""ALiBi's bias by distance is a bias by key position, up to a constant of the row."""

from collections.abc import Callable

from attnproofs.calculus import (
    Expr,
    FalseNeighbour,
    Ix,
    Part,
    Proof,
    Scope,
    Theorem,
    array,
    condition_value,
    eq,
    ind,
    index_value,
    lemma,
    weights,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.masking.weights_shift import THEOREM as weights_shift


def declare(s: Scope) -> None:
    T = s.dimension("T")
    s.tensor("S", T, T)
    s.scalar("a")
    s.index("i", T)
    s.index("j", T)


def row(s: Scope | Proof, bias: Callable[[Ix], Expr]) -> Expr:
    """Return the causal weight of key j in row i, with a bias on each key."""
    T, S, i, j = s["T S i j"]
    mask = array(T, lambda l: ind(l <= i))
    found: Expr = weights(mask, array(T, lambda l: S[i, l] + bias(l)))[j]
    return found


def statement(s: Scope) -> Claim:
    declare(s)
    a, i = s["a i"]
    return eq(row(s, lambda l: -(a * (i - l))), row(s, lambda l: a * l))


def proof(p: Proof) -> None:
    T, S, a, i = p["T S a i"]
    mask = array(T, lambda l: ind(l <= i))
    p.line(weights(mask, array(T, lambda l: S[i, l] + a * l + -(a * i)))[p["j"]], "ring")
    p.line(
        row(p, lambda l: a * l),
        lemma(
            weights_shift,
            n=T,
            keep=condition_value(1, lambda l: l <= i),
            κ=index_value(0, lambda: i),
            s=array(T, lambda l: S[i, l] + a * l),
            c=-(a * i),
            j=p["j"],
        ),
    )


def on_queries(s: Scope) -> Claim:
    declare(s)
    a, i = s["a i"]
    return eq(row(s, lambda l: -(a * (i - l))), row(s, lambda l: -(a * i)))


def attempt(p: Proof) -> None:
    a, i = p["a i"]
    p.line(row(p, lambda l: a * l), lemma(THEOREM))
    p.line(row(p, lambda l: -(a * i)), "unfold", "expring", "sum_scale")


THEOREM = Theorem(
    id="alibi_shift",
    chapter="positions",
    title={"en": "ALiBi is a bias on keys", "ko": "ALiBi는 키에 대한 편향이다"},
    prose={
        "en": r"ALiBi subtracts $a(i-j)$ from the score of query $i$ and key $j$, in "
        r"proportion to their distance. Since a constant of the row cancels in softmax, adding "
        r"$a\cdot j$ to every score of key $j$ gives the same weights: the bias can be stored "
        r"as one number per key.",
        "ko": r"ALiBi는 쿼리 $i$와 키 $j$의 점수에서 거리에 비례하는 $a(i-j)$를 뺍니다. "
        r"행마다 같은 상수는 소프트맥스에서 약분되므로, 키 $j$의 모든 점수에 $a\cdot j$를 "
        r"더해도 가중치가 같습니다. 편향을 키마다 수 하나로 저장할 수 있습니다.",
    },
    parts=(Part(statement, proof),),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": r"It is a bias on queries: $-a\cdot i$ gives the same weights",
                "ko": r"쿼리에 대한 편향이어서 $-a\cdot i$로도 가중치가 같다는 주장",
            },
            statement=on_queries,
            attempt=attempt,
            because="the two sides are not equal by ring",
        ),
    ),
    numbers={
        "en": r"$a=\frac12$, row $i=3$: biases $(-1,-\frac12,0)$ and $(\frac12,1,\frac32)$ "
        r"differ by $\frac32$ throughout.",
        "ko": r"$a=\frac12$, $i=3$이면 편향 $(-1,-\frac12,0)$과 $(\frac12,1,\frac32)$은 모두 "
        r"$\frac32$만큼 다릅니다.",
    },
    references=("press2021",),
)


if __name__ == "__main__":
    THEOREM.main()
