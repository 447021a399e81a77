"""A causal window of w keys: row i keeps min(i, w) of them; l layers see l (w - 1) + 1 tokens."""

from attnproofs.calculus import (
    Cond,
    Expr,
    FalseNeighbour,
    Induction,
    Ix,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    array,
    eq,
    every,
    fact_of,
    hyp,
    ind,
    le,
    lemma,
    order,
    rec,
    reindex,
    sign,
    window_paths,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.sums.sum_const import THEOREM as sum_const
from attnproofs.theorems.sums.term_le_sum import THEOREM as term_le_sum


def in_window(i: Ix, j: Ix, w: Ix) -> Cond:
    """Return the condition that token i may look at token j: not later, and fewer than w back."""
    near: Cond = i - j < w
    return (j <= i) & near


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
        reindex(lambda k: k + (i - w), lambda j: j - (i - w), where=lambda j: in_window(i, j, w)),
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


def layered(s: Scope) -> tuple[Ix, Ix, Ix, Ix, Ix]:
    T, w = s.dimensions("T w")
    layers = s.dimension("l", least=0)
    return T, w, layers, s.index("i", T), s.index("j", T)


def entry(s: Scope | Proof, layers: Ix) -> Expr:
    T, w, i, j = s["T w i j"]
    found: Expr = window_paths(layers, T, w)[i, j]
    return found


def later(s: Scope) -> Claim:
    _, _, layers, i, j = layered(s)
    return eq(ind(j > i) * entry(s, layers), 0)


def base_later(p: Proof) -> None:
    i, j = p["i j"]
    p.line(ind(j > i) * ind(j.is_(i)), rec())
    p.line(ind(j > i) * 0, "ind_val")


def step_later(p: Proof) -> None:
    T, w, layers, i, j = p["T w l i j"]
    paths = window_paths(layers, T, w)
    p.line(ind(j > i) * Sum(T, lambda k: ind(in_window(i, k, w)) * paths[k, j]), rec())
    p.line(
        ind(j > i) * Sum(T, lambda k: ind(in_window(i, k, w)) * (ind(j > k) * paths[k, j])),
        "ind_val",
    )
    p.line(ind(j > i) * Sum(T, lambda k: ind(in_window(i, k, w)) * 0), hyp("IH"))
    p.line(0, "sum_scale")


def beyond(s: Scope) -> Claim:
    _, w, layers, i, j = layered(s)
    return eq(ind(i - j > layers * (w - 1)) * entry(s, layers), 0)


def base_beyond(p: Proof) -> None:
    w, layers, i, j = p["w l i j"]
    p.line(ind(i - j > layers * (w - 1)) * ind(j.is_(i)), rec())
    p.line(ind(i - j > layers * (w - 1)) * 0, "ind_val")


def step_beyond(p: Proof) -> None:
    T, w, layers, i, j = p["T w l i j"]
    paths = window_paths(layers, T, w)
    out = ind(i - j > (layers + 1) * (w - 1))

    def far(k: Ix) -> Expr:
        found: Expr = ind(k - j > layers * (w - 1)) * paths[k, j]
        return found

    p.line(out * Sum(T, lambda k: ind(in_window(i, k, w)) * paths[k, j]), rec())
    p.line(out * Sum(T, lambda k: ind(in_window(i, k, w)) * far(k)), "ind_val")
    p.line(out * Sum(T, lambda k: ind(in_window(i, k, w)) * 0), hyp("IH"))
    p.line(0, "sum_scale")


def nonnegative(s: Scope) -> Claim:
    _, _, layers, _, _ = layered(s)
    return le(0, entry(s, layers))


def base_nonnegative(p: Proof) -> None:
    i, j = p["i j"]
    p.le(ind(j.is_(i)), sign())
    p.line(entry(p, p["l"]), rec(back=True))


def step_nonnegative(p: Proof) -> None:
    T, w, layers, i, j = p["T w l i j"]
    paths = window_paths(layers, T, w)
    p.le(Sum(T, lambda k: ind(in_window(i, k, w)) * paths[k, j]), sign())
    p.line(entry(p, layers + 1), rec(back=True))


def farthest(s: Scope) -> Claim:
    _, w, layers, i, j = layered(s)
    return le(ind((i - j).is_(layers * (w - 1))), entry(s, layers))


def base_farthest(p: Proof) -> None:
    p.line(entry(p, p["l"]), rec(back=True))


def step_farthest(p: Proof) -> None:
    T, w, layers, i, j = p["T w l i j"]
    paths = window_paths(layers, T, w)
    exactly = (i - j).is_((layers + 1) * (w - 1))
    exact, k = ind(exactly), i - (w - 1)
    positive = fact_of((THEOREM, "nonnegative"), i=every, j=j)
    ways = array(T, lambda l: ind(in_window(i, l, w)) * paths[l, j])
    total = Sum(T, lambda l: ways[l])
    p.line(exact * exact, "ind_bool")
    p.le(exact * paths[k, j], hyp("IH", only=1, at={"i": k, "j": j}))
    p.line(exact * ways[k], "ind_val")
    p.le(exact * total, lemma(term_le_sum, n=T, k=k, f=ways, facts=(positive,)))
    p.le(total, order(ind(~exactly) * total, "ind_bool", facts=(positive,)))
    p.line(entry(p, layers + 1), rec(back=True))


def one_more(s: Scope) -> Claim:
    _, w, i = declare(s)
    s.assume("full", w <= i)
    return eq(count(s), w + 1)


def attempt(p: Proof) -> None:
    w = p["w"]
    p.line(w, lemma(THEOREM))
    p.line(w + 1, "ring")


THEOREM = Theorem(
    id="window_band",
    chapter="masking",
    title={"en": "Sliding windows", "ko": "슬라이딩 윈도"},
    prose={
        "en": r"With a causal window of $w$ keys, row $i$ keeps $\min(i,w)$ keys: $w$ once $i$ "
        r"has reached $w$, and all $i$ before. Stacked layers reach further: through $l$ "
        r"layers token $i$ sees nothing after itself and nothing more than $l(w-1)$ tokens "
        r"back, and the token exactly that far back is seen; $l(w-1)+1$ tokens in all. "
        r"Libraries differ in whether $w$ counts the token itself; here it does.",
        "ko": r"인과 윈도의 길이가 $w$이면 $i$행에 남는 키는 $\min(i,w)$개입니다. $i$가 $w$에 "
        r"이르면 $w$개이고, 그 전에는 $i$개 모두입니다. 층을 쌓으면 더 멀리까지 보입니다. "
        r"$l$개 층을 거치면 토큰 $i$는 자기보다 뒤의 것도, $l(w-1)$개보다 더 앞의 것도 보지 "
        r"못하지만 꼭 그만큼 앞의 토큰은 보며, 모두 $l(w-1)+1$개입니다. $w$에 자기 자신을 넣어 "
        r"세는지는 라이브러리마다 다르며, 여기서는 넣어 셉니다.",
    },
    parts=(
        Part(statement, proof),
        Part(start, proof_start, name="start", title={"en": "The first rows", "ko": "처음 행들"}),
        Part(
            later,
            Induction("l", base_later, step_later),
            name="later",
            title={
                "en": "Through $l$ layers, nothing later is seen",
                "ko": "$l$개 층을 거쳐도 뒤의 토큰은 보이지 않는다",
            },
        ),
        Part(
            beyond,
            Induction("l", base_beyond, step_beyond),
            name="beyond",
            title={
                "en": "Through $l$ layers, nothing further back than $l(w-1)$ is seen",
                "ko": "$l$개 층을 거쳐도 $l(w-1)$보다 더 앞의 토큰은 보이지 않는다",
            },
        ),
        Part(
            nonnegative,
            Induction("l", base_nonnegative, step_nonnegative),
            name="nonnegative",
            title={"en": "The number of ways is not negative", "ko": "경로의 수는 음수가 아니다"},
        ),
        Part(
            farthest,
            Induction("l", base_farthest, step_farthest),
            name="farthest",
            title={
                "en": "The token exactly $l(w-1)$ back is seen",
                "ko": "꼭 $l(w-1)$만큼 앞의 토큰은 보인다",
            },
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            title={"en": "Row $i$ keeps $w+1$ keys", "ko": "$i$행에 남는 키가 $w+1$개라는 주장"},
            statement=one_more,
            attempt=attempt,
            because="the two sides are not equal by ring",
        ),
    ),
    numbers={
        "en": r"$w=4096$ and 32 layers: $32\cdot4095+1=131\,041$ tokens within reach.",
        "ko": r"$w=4096$이고 층이 32개이면 $32\cdot4095+1=131\,041$개의 토큰까지 닿습니다.",
    },
    references=("child2019", "jiang2023"),
)


if __name__ == "__main__":
    THEOREM.main()
