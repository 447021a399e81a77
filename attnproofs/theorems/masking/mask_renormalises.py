"""The kept weights are the softmax over the kept keys alone."""

from random import Random
from typing import Any

from attnproofs.calculus import (
    FalseNeighbour,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    array,
    eq,
    exp,
    ind,
    lemma,
    reindex,
    softmax,
    weights,
)
from attnproofs.kernel.statement import Claim


def declare(s: Scope) -> tuple[Any, ...]:
    n, m = s.dimensions("n m")
    keep = s.predicate("keep", n)
    listed, place = s.function("ρ", m, into=n), s.function("σ", n, into=m)
    s.assume("kept", lambda k: keep(listed(k)), over={"k'": m})
    s.assume("place", lambda k: place(listed(k)).is_(k), over={"k'": m})
    s.assume("all", lambda j: listed(place(j)).is_(j), over={"j'": n}, where=keep)
    x = s.tensor("s", n)
    k = s.index("k", m)
    return n, m, keep, listed, x, k


def statement(s: Scope) -> Claim:
    n, m, keep, listed, x, k = declare(s)
    masked = weights(array(n, lambda l: ind(keep(l))), x)
    return eq(masked[listed(k)], softmax(array(m, lambda l: x[listed(l)]))[k])


def proof(p: Proof) -> None:
    n, m, keep, listed, place, x, k = p["n m keep ρ σ s k"]
    Z = Sum(n, lambda l: ind(keep(l)) * exp(x[l]))
    p.line(ind(keep(listed(k))) * exp(x[listed(k)]) / Z, "unfold")
    p.line(exp(x[listed(k)]) / Z, "ind_val")
    p.line(
        exp(x[listed(k)]) / Sum(m, lambda l: exp(x[listed(l)])),
        reindex(listed, place, where=keep),
    )
    p.line(softmax(array(m, lambda l: x[listed(l)]))[k], "unfold")


def all_keys(s: Scope) -> Claim:
    n, _m, keep, listed, x, k = declare(s)
    masked = weights(array(n, lambda l: ind(keep(l))), x)
    return eq(masked[listed(k)], softmax(x)[listed(k)])


def attempt(p: Proof) -> None:
    m, listed, x, k = p["m ρ s k"]
    p.line(softmax(array(m, lambda l: x[listed(l)]))[k], lemma(THEOREM))
    p.line(softmax(x)[listed(k)], "unfold")


def some_kept(rng: Random) -> dict[str, Any]:
    n = rng.randint(2, 4)
    kept = sorted(rng.sample(range(1, n + 1), rng.randint(1, n - 1)))
    place = [kept.index(j) + 1 if j in kept else 1 for j in range(1, n + 1)]
    return {
        "n": n,
        "m": len(kept),
        "keep": [j in kept for j in range(1, n + 1)],
        "ρ": kept,
        "σ": place,
    }


THEOREM = Theorem(
    id="mask_renormalises",
    chapter="masking",
    title={
        "en": "Masking is softmax over the kept keys",
        "ko": "마스킹은 남은 키만의 소프트맥스",
    },
    prose={
        "en": r"Let $\rho$ list the kept keys. Masked weights at the kept keys are exactly the "
        r"softmax of their scores alone, as if the masked keys had never been there: they "
        r"still sum to one.",
        "ko": r"남은 키를 $\rho$로 나열하면, 마스크한 가중치는 남은 키들의 점수만으로 구한 "
        r"소프트맥스와 정확히 같습니다. 마스크된 키가 처음부터 없던 것과 같으며, 합은 여전히 "
        r"1입니다.",
    },
    parts=(Part(statement, proof, instance=some_kept),),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": "The kept weights are those of the softmax over all keys",
                "ko": "남은 키의 가중치는 모든 키에 대한 소프트맥스의 값과 같다는 주장",
            },
            statement=all_keys,
            attempt=attempt,
            because="the two sides are not equal by ring",
            instance=some_kept,
        ),
    ),
    numbers={
        "en": r"Scores $(2,1,0)$, last key masked: $(0.731,0.269,0)$, the softmax of $(2,1)$; "
        r"without the mask $(0.665,0.245,0.090)$.",
        "ko": r"점수 $(2,1,0)$에서 마지막 키를 마스크하면 $(2,1)$의 소프트맥스인 "
        r"$(0.731,0.269)$와 $0$입니다. 마스크가 없으면 $(0.665,0.245,0.090)$입니다.",
    },
    references=("vaswani2017", "sanderson2024"),
)


if __name__ == "__main__":
    THEOREM.main()
