"""A causal window of w keys: row i keeps min(i, w) of them, and l layers see l (w - 1) + 1 tokens."""

from attnproofs.calculus import (
    Cond,
    Expr,
    Ix,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    eq,
    ind,
    lemma,
    rec,
    reindex,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.sums.sum_const import THEOREM as sum_const


def in_window(i: Ix, j: Ix, w: Ix) -> Cond:
    """Return the condition that token i may look at token j: not later, and fewer than w back."""
    return (j <= i) & (i - j < w)


def count(s: Scope | Proof) -> Expr:
    T, w, i = s["T w i"]
    return Sum(T, lambda j: ind(in_window(i, j, w)))


def declare(s: Scope) -> tuple[Ix, Ix, Ix]:
    T, w = s.dimensions("T w")
    return T, w, s.index("i", T)


def statement(s: Scope) -> Claim:
    _, w, i = declare(s)
    s.assume("full", w <= i)
    return eq(count(s), w)


def proof(p: Proof) -> None:
    w, i = p["w i"]
    p.line(
        Sum(w, lambda k: 1),
        reindex(
            lambda k: k + (i - w), lambda j: j - (i - w), where=lambda j: in_window(i, j, w)
        ),
    )
    p.line(w, lemma(sum_const))


def start(s: Scope) -> Claim:
    _, w, i = declare(s)
    s.assume("short", i <= w)
    return eq(count(s), i)


def proof_start(p: Proof) -> None:
    w, i = p["w i"]
    p.line(
        Sum(i, lambda k: 1),
        reindex(lambda k: k, lambda j: j, where=lambda j: in_window(i, j, w)),
    )
    p.line(i, lemma(sum_const, n=i))


def layered(s: Scope) -> tuple[Ix, ...]:
    T, w = s.dimensions("T w")
    layers = s.dimension("ℓ", least=0)
    return T, w, layers, s.index("i", T), s.index("j", T)


def unreachable(s: Scope) -> Claim:
    T, w, layers, i, j = layered(s)
    beyond = ~((j <= i) & (i - j <= layers * (w - 1)))
    return eq(ind(beyond) * window_paths(layers, T, w)[i, j], 0)


def base_unreachable(p: Proof) -> None:
    T, w, i, j = p["T w i j"]
    beyond = ind(~((j <= i) & (i - j <= 0 * w)))
    p.line(beyond * ind(j.is_(i)), rec())
    p.line(0, "ind_val")


def step_unreachable(p: Proof) -> None:
    T, w, layers, i, j = p["T w ℓ i j"]
    paths = window_paths(layers, T, w)
    beyond = ind(~((j <= i) & (i - j <= (layers + 1) * (w - 1))))
    p.line(beyond * Sum(T, lambda k: ind(in_window(i, k, w)) * paths[k, j]), rec())
    p.line(0, "ring")


THEOREM = Theorem(
    id="window_band",
    chapter="masking",
    title={"en": "Sliding windows", "ko": "슬라이딩 윈도"},
    parts=(
        Part(statement, proof),
        Part(start, proof_start, name="start", title={"en": "the first rows", "ko": "처음 행들"}),
    ),
)


if __name__ == "__main__":
    THEOREM.main()

