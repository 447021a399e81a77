"""The forward error of computed attention: (M - L) tanh(h/2) from scores, V C from all the rest."""

from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import Any

from attnproofs.calculus import (
    Array,
    Expr,
    FalseNeighbour,
    Part,
    Proof,
    Scope,
    Sum,
    Theorem,
    abs_bound,
    absolute,
    array,
    fact_of,
    hyp,
    le,
    lemma,
    lt,
    order,
    softmax,
    tanh,
)
from attnproofs.kernel.statement import Claim
from attnproofs.theorems.rounding.narrow_weights import THEOREM as narrow_weights
from attnproofs.theorems.softmax.softmax_sum import THEOREM as softmax_sum
from attnproofs.theorems.softmax.tv_tanh import THEOREM as tv_tanh


def declare(s: Scope) -> None:
    n = s.dimension("n")
    s.tensor("s", n)
    move = s.tensor("λ", n)
    h = s.scalar("h")
    s.assume("h_nonnegative", le(0, h))
    s.assume("h_below", lambda l: le(-h, move[l]), over={"l": n})
    s.assume("h_above", lambda l: le(move[l], h), over={"l": n})
    v = s.tensor("v", n)
    low, high, top = s.scalar("L"), s.scalar("M"), s.scalar("V")
    s.assume("range", lt(low, high))
    s.assume("at_least", lambda l: le(low, v[l]), over={"l": n})
    s.assume("at_most", lambda l: le(v[l], high), over={"l": n})
    s.assume("size", lambda l: le(absolute(v[l]), top), over={"l": n})
    error, C = s.tensor("g", n), s.scalar("C")
    s.assume("C_nonnegative", le(0, C))
    s.assume("C_below", lambda l: le(-C, error[l]), over={"l": n})
    s.assume("C_above", lambda l: le(error[l], C), over={"l": n})


def moved(s: Scope | Proof) -> Array:
    """Return the weights of the perturbed scores."""
    n, x, move = s["n s λ"]
    return softmax(array(n, lambda l: x[l] + move[l]))


def parts(s: Scope | Proof) -> tuple[Expr, Expr, Expr]:
    """Return the computed output, that with exact arithmetic after the scores, the exact one."""
    n, x, v, error = s["n s v g"]
    w, p = moved(s), softmax(x)
    return (
        Sum(n, lambda j: w[j] * (1 + error[j]) * v[j]),
        Sum(n, lambda j: w[j] * v[j]),
        Sum(n, lambda j: p[j] * v[j]),
    )


def bound(s: Scope | Proof) -> Expr:
    low, high, top, h, C = s["L M V h C"]
    found: Expr = C * top + (high - low) * tanh(h / 2)
    return found


def statement(s: Scope) -> Claim:
    declare(s)
    computed, _, exact = parts(s)
    return le(absolute(computed - exact), bound(s))


def proof(p: Proof) -> None:
    facts = (fact_of((THEOREM, "upper")), fact_of((THEOREM, "lower")))
    p.le(bound(p), abs_bound(facts=facts))


def size(s: Scope | Proof) -> Expr:
    n, v = s["n v"]
    w = moved(s)
    return Sum(n, lambda j: w[j] * absolute(v[j]))


def upper(s: Scope) -> Claim:
    declare(s)
    computed, _, exact = parts(s)
    return le(computed - exact, bound(s))


def values_of(p: Proof) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the symbols' values for the lemma on rounding and for that on scores."""
    n, x, move, v, error, C, h, low, high = p["n s λ v g C h L M"]
    shifted = array(n, lambda l: x[l] + move[l])
    return (
        {"n": n, "s": shifted, "v": v, "π": error, "u": C},
        {"n": n, "s": x, "δ": move, "v": v, "h": h, "L": low, "M": high},
    )


def proof_upper(p: Proof) -> None:
    h, low, high, C = p["h L M C"]
    computed, middle, exact = parts(p)
    rounding, scores = values_of(p)
    p.line((middle - exact) + (computed - middle), "ring")
    p.le(C * size(p) + (middle - exact), lemma((narrow_weights, "upper"), **rounding))
    p.le(C * size(p) + (high - low) * tanh(h / 2), lemma((tv_tanh, "values"), **scores))
    p.le(bound(p), lemma((THEOREM, "mass")))


def lower(s: Scope) -> Claim:
    declare(s)
    computed, _, exact = parts(s)
    return le(exact - computed, bound(s))


def proof_lower(p: Proof) -> None:
    h, low, high, C = p["h L M C"]
    computed, middle, exact = parts(p)
    rounding, scores = values_of(p)
    p.line(-(middle - exact) + -(computed - middle), "ring")
    p.le(C * size(p) + -(middle - exact), lemma((narrow_weights, "lower"), **rounding))
    p.le(C * size(p) + (high - low) * tanh(h / 2), lemma((tv_tanh, "values_loss"), **scores))
    p.le(bound(p), lemma((THEOREM, "mass")))


def mass(s: Scope) -> Claim:
    n = s.dimension("n")
    s.tensor("s", n)
    s.tensor("λ", n)
    v, top = s.tensor("v", n), s.scalar("V")
    s.assume("size", lambda l: le(absolute(v[l]), top), over={"l": n})
    return le(size(s), top)


def proof_mass(p: Proof) -> None:
    n, _v, top = p["n v V"]
    w = moved(p)
    p.le(Sum(n, lambda j: w[j] * top), hyp("size"))
    p.line(top * Sum(n, lambda j: w[j]), "sum_scale")
    p.line(top, lemma(softmax_sum))


def quotient(s: Scope) -> Claim:
    ratio, A, eps = factor(s)
    return le(absolute(ratio - 1), (A + eps) / (1 - eps))


def factor(s: Scope, *left_out: str) -> tuple[Expr, Expr, Expr]:
    """Declare the numerator's error a and the denominator's x; return (1 + a)/(1 + x)."""
    a, x, A, eps = (s.scalar(name) for name in ("a", "x", "A", "ε"))
    bounds = {
        "A_nonnegative": le(0, A),
        "a_below": le(-A, a),
        "a_above": le(a, A),
        "x_below": le(-eps, x),
        "x_above": le(x, eps),
        "x_positive": lt(-1, x),
        "ε_below_one": lt(eps, 1),
    }
    for name, relation in bounds.items():
        if name not in left_out:
            s.assume(name, relation)
    return (1 + a) / (1 + x), A, eps


def proof_quotient(p: Proof) -> None:
    A, eps = p["A ε"]
    facts = (fact_of((THEOREM, "quotient_upper")), fact_of((THEOREM, "quotient_lower")))
    p.le((A + eps) / (1 - eps), abs_bound(facts=facts))


def quotient_upper(s: Scope) -> Claim:
    ratio, A, eps = factor(s, "a_below", "x_above")
    return le(ratio - 1, (A + eps) / (1 - eps))


def proof_quotient_upper(p: Proof) -> None:
    a, x, A, eps = p["a x A ε"]
    p.le(
        (A + eps) / (1 - eps),
        order((A - a) / (1 + x) + (x - -eps) * (1 + A) / (1 - eps) / (1 + x)),
    )


def quotient_lower(s: Scope) -> Claim:
    ratio, A, eps = factor(s, "a_above")
    return le(1 - ratio, (A + eps) / (1 - eps))


def proof_quotient_lower(p: Proof) -> None:
    a, x, A, eps = p["a x A ε"]
    D = (1 - eps) * (1 + x)
    p.le(
        (A + eps) / (1 - eps),
        order(
            (a - -A) / (1 + x)
            + (eps - x) / (1 + x)
            + A * (x - -eps) / D
            + (eps - x) * (x - -eps) / 2 / D
            + (x - -eps) ** 2 / 2 / D
        ),
    )


def scores_dropped(s: Scope) -> Claim:
    declare(s)
    computed, _, exact = parts(s)
    s.uses("tanh")
    return le(absolute(computed - exact), s["C"] * s["V"])


def attempt_scores(p: Proof) -> None:
    p.le(bound(p), lemma(THEOREM))
    p.le(p["C"] * p["V"], order())


def rounding_dropped(s: Scope) -> Claim:
    declare(s)
    computed, _, exact = parts(s)
    low, high, h = s["L M h"]
    return le(absolute(computed - exact), (high - low) * tanh(h / 2))


def attempt_rounding(p: Proof) -> None:
    low, high, h = p["L M h"]
    p.le(bound(p), lemma(THEOREM))
    p.le((high - low) * tanh(h / 2), order())


def denominator_dropped(s: Scope) -> Claim:
    ratio, A, _ = factor(s)
    return le(absolute(ratio - 1), A)


def attempt_denominator(p: Proof) -> None:
    A, eps = p["A ε"]
    p.le((A + eps) / (1 - eps), lemma((THEOREM, "quotient")))
    p.le(A, order())


def some_errors(rng: Random) -> dict[str, Any]:
    n = rng.randint(1, 3)
    h, C = Fraction(rng.randint(1, 4), 8), Fraction(rng.randint(1, 4), 16)
    v = [Fraction(rng.randint(-4, 4), 2) for _ in range(n)]
    return {
        "n": n,
        "h": h,
        "λ": [h * rng.randint(-4, 4) / 4 for _ in range(n)],
        "C": C,
        "g": [C * rng.randint(-4, 4) / 4 for _ in range(n)],
        "v": v,
        "L": min(v) - 1,
        "M": max(v),
        "V": max(abs(x) for x in v),
    }


def two_keys(move: int, error: int) -> Callable[[Random], dict[str, Any]]:
    """Return an instance with two opposite keys in which only one kind of error occurs."""

    def instance(rng: Random) -> dict[str, Any]:
        h, C = Fraction(move), Fraction(error, 8)
        return {
            "n": 2, "s": [0, h], "h": h, "λ": [h, -h], "C": C, "g": [C, -C],
            "v": [1, -1], "L": Fraction(-1), "M": Fraction(1), "V": Fraction(1),
        }  # fmt: skip

    return instance


def small_quotient(rng: Random) -> dict[str, Any]:
    A, eps = Fraction(rng.randint(0, 4), 8), Fraction(rng.randint(1, 4), 8)
    return {"A": A, "ε": eps, "a": A * rng.randint(-2, 2) / 2, "x": eps * rng.randint(-2, 2) / 2}


def small_denominator(rng: Random) -> dict[str, Any]:
    return {"A": Fraction(1, 8), "a": Fraction(1, 8), "ε": Fraction(1, 8), "x": Fraction(-1, 8)}


THEOREM = Theorem(
    id="attention_error",
    chapter="rounding",
    title={"en": "Forward error of attention", "ko": "어텐션의 전방 오차"},
    prose={
        "en": r"Two kinds of error reach the output. Errors in scores, shifts and exponentials "
        r"act as changes $\lambda$ of the logarithms of the weights; if $|\lambda|\le h$ they "
        r"cost at most $(M-L)\tanh(h/2)$ for values between $L$ and $M$, whatever the number of "
        r"keys. All that comes after (rounding the weights, the two sums, the division, the "
        r"final cast) multiplies each key's contribution by a factor $1+g$ with $|g|\le C$ and "
        r"costs at most $C\max|v|$. The part “The factor of a quotient” gives $C$ for a "
        r"numerator's factor $1+a$ and a denominator's $1+x$: "
        r"$|(1+a)/(1+x)-1|\le(A+\varepsilon)/(1-\varepsilon)$. Together this is the allowance "
        r"that an audit grants. Overflow and underflow are outside; that a program has this "
        r"form is what its declared precision model says.",
        "ko": r"출력에 이르는 오차는 두 가지입니다. 점수와 이동, 지수의 오차는 가중치의 로그를 "
        r"$\lambda$만큼 바꾸는 것과 같으며, $|\lambda|\le h$이면 밸류가 $L$과 $M$ 사이일 때 "
        r"출력은 키의 개수와 관계없이 $(M-L)\tanh(h/2)$보다 많이 움직이지 않습니다. 그 뒤의 모든 "
        r"오차(가중치의 반올림, 두 합, 나눗셈, 마지막 변환)는 $|g|\le C$인 $g$에 대하여 각 키의 "
        r"기여에 $1+g$를 곱하는 것과 같고, 그 영향은 $C\max|v|$를 넘지 않습니다. 명제 ‘몫의 "
        r"인수’는 분자의 인수 $1+a$와 분모의 인수 $1+x$에서 $C$를 구합니다. 곧 "
        r"$|(1+a)/(1+x)-1|\le(A+\varepsilon)/(1-\varepsilon)$입니다. 이 둘의 합이 감사에서 "
        r"허용하는 오차입니다. 오버플로와 언더플로는 다루지 않으며, 프로그램이 이 꼴이라는 것은 "
        r"그 프로그램이 선언한 정밀도 모형에서 전제합니다.",
    },
    parts=(
        Part(statement, proof, instance=some_errors),
        Part(
            upper,
            proof_upper,
            name="upper",
            title={"en": "From above", "ko": "상한"},
            instance=some_errors,
        ),
        Part(
            lower,
            proof_lower,
            name="lower",
            title={"en": "From below", "ko": "하한"},
            instance=some_errors,
        ),
        Part(
            mass,
            proof_mass,
            name="mass",
            title={"en": "The weighted mean of $|v|$", "ko": "$|v|$의 가중평균"},
            instance=some_errors,
        ),
        Part(
            quotient,
            proof_quotient,
            name="quotient",
            title={"en": "The factor of a quotient", "ko": "몫의 인수"},
            instance=small_quotient,
        ),
        Part(
            quotient_upper,
            proof_quotient_upper,
            name="quotient_upper",
            title={"en": "The factor from above", "ko": "인수의 상한"},
            instance=small_quotient,
        ),
        Part(
            quotient_lower,
            proof_quotient_lower,
            name="quotient_lower",
            title={"en": "The factor from below", "ko": "인수의 하한"},
            instance=small_quotient,
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": "Without the term of the scores",
                "ko": "점수의 항을 빼도 된다는 주장",
            },
            statement=scores_dropped,
            attempt=attempt_scores,
            because="order: cannot show 0 <= the difference",
            instance=two_keys(1, 0),
        ),
        FalseNeighbour(
            title={
                "en": "Without the term of all that follows the scores",
                "ko": "점수 뒤의 오차의 항을 빼도 된다는 주장",
            },
            statement=rounding_dropped,
            attempt=attempt_rounding,
            because="order: cannot show 0 <= the difference",
            instance=two_keys(0, 1),
        ),
        FalseNeighbour(
            title={
                "en": "Without the error of the denominator",
                "ko": "분모의 오차를 빼도 된다는 주장",
            },
            statement=denominator_dropped,
            attempt=attempt_denominator,
            because="order: cannot show 0 <= the difference",
            instance=small_denominator,
        ),
    ),
    numbers={
        "en": r"Values in $[-1,1]$, $h=10^{-5}$, $C=2^{-8}$: at most "
        r"$2\tanh(5\cdot10^{-6})+2^{-8}\approx0.00392$; the rounding of the weights dominates.",
        "ko": r"밸류가 $[-1,1]$에 있고 $h=10^{-5}$, $C=2^{-8}$이면 "
        r"$2\tanh(5\cdot10^{-6})+2^{-8}\approx0.00392$ 이하이며, 가중치의 반올림이 가장 큰 "
        r"몫입니다.",
    },
    references=("higham2002", "dao2022", "blanchard2021"),
)


if __name__ == "__main__":
    THEOREM.main()
