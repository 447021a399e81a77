"""softmax(2, 1, 0) is 66.5 %, 24.5 %, 9.0 %, as proved intervals."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

from attnproofs.calculus import (
    FalseNeighbour,
    Part,
    Proof,
    Scope,
    Theorem,
    array,
    eq,
    exp,
    exp_enclose,
    lt,
    order,
    rational_expr,
    softmax,
)
from attnproofs.kernel.statement import Claim

ROW = array(3, lambda l: 3 - l)  # the scores 2, 1, 0


# exp(1) and exp(2), and numbers below and above them
E, E_LOW, E_HIGH = exp(1), Fraction(27182, 10_000), Fraction(27183, 10_000)
E2, E2_LOW, E2_HIGH = exp(2), Fraction(73890, 10_000), Fraction(73891, 10_000)

Pair: TypeAlias = tuple[Any, Any]
Form: TypeAlias = Callable[[Any, Any], Any]


# the three weights, divided through so that each is monotone in either argument
def first(e: Any, e2: Any) -> Any:
    return 1 / (1 + 1 / e + 1 / e2)


def second(e: Any, again: Any) -> Any:
    return 1 / (e + 1 + 1 / again)


def third(e: Any, e2: Any) -> Any:
    return 1 / (e2 + e + 1)


def written(form: Form, pair: Pair) -> Any:
    """Return the weight as an expression in which the two numbers stand as they are."""
    return form(*(rational_expr(x) for x in pair))


def below(key: int, bound: Fraction, form: Form, exact: Pair, estimate: Pair) -> dict[str, Any]:
    """State and prove that the weight of a key is below `bound`."""

    def statement(s: Scope) -> Claim:
        return lt(softmax(ROW)[key], bound)

    def proof(p: Proof) -> None:
        p.line(form(*exact), "unfold", "sum_literal", "expring")
        p.le(written(form, estimate), exp_enclose(14))
        p.lt(bound, order(bound - form(*estimate)))

    return {"statement": statement, "proof": proof}


def above(key: int, bound: Fraction, form: Form, exact: Pair, estimate: Pair) -> dict[str, Any]:
    """State and prove that the weight of a key is above `bound`."""

    def statement(s: Scope) -> Claim:
        return lt(bound, softmax(ROW)[key])

    def proof(p: Proof) -> None:
        p.lt(written(form, estimate), order(form(*estimate) - bound))
        p.le(form(*exact), exp_enclose(14))
        p.line(softmax(ROW)[key], "unfold", "sum_literal", "expring")

    return {"statement": statement, "proof": proof}


def proportional(s: Scope) -> Claim:
    return eq(softmax(ROW)[1], Fraction(2, 3))


def attempt(p: Proof) -> None:
    p.line(first(E, E2), "unfold", "sum_literal", "expring")
    p.line(Fraction(2, 3), "expring")


THEOREM = Theorem(
    id="softmax_example",
    chapter="softmax",
    title={"en": "softmax(2, 1, 0)", "ko": "softmax(2, 1, 0)"},
    prose={
        "en": "The scores 2, 1, 0 become the weights 66.5%, 24.5% and 9.0%. The intervals below "
        "are proved: $e$ and $e^2$ are enclosed by their Taylor sums, and the rest is "
        "arithmetic with rational numbers.",
        "ko": "점수 2, 1, 0의 가중치는 66.5%, 24.5%, 9.0%입니다. 아래의 구간은 증명된 것입니다. "
        "$e$와 $e^2$을 테일러 합으로 위아래에서 가두고, 나머지는 유리수 계산으로 마칩니다.",
    },
    parts=(
        Part(**below(1, Fraction(6653, 10_000), first, (E, E2), (E_HIGH, E2_HIGH))),
        Part(
            **above(1, Fraction(6652, 10_000), first, (E, E2), (E_LOW, E2_LOW)),
            name="first_above",
            title={"en": "The first weight from below", "ko": "첫째 가중치의 하한"},
        ),
        Part(
            **below(2, Fraction(2448, 10_000), second, (E, E), (E_LOW, E_HIGH)),
            name="second_below",
            title={"en": "The second weight from above", "ko": "둘째 가중치의 상한"},
        ),
        Part(
            **above(2, Fraction(2447, 10_000), second, (E, E), (E_HIGH, E_LOW)),
            name="second_above",
            title={"en": "The second weight from below", "ko": "둘째 가중치의 하한"},
        ),
        Part(
            **below(3, Fraction(901, 10_000), third, (E, E2), (E_LOW, E2_LOW)),
            name="third_below",
            title={"en": "The third weight from above", "ko": "셋째 가중치의 상한"},
        ),
        Part(
            **above(3, Fraction(900, 10_000), third, (E, E2), (E_HIGH, E2_HIGH)),
            name="third_above",
            title={"en": "The third weight from below", "ko": "셋째 가중치의 하한"},
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            title={
                "en": "Weights are proportional to scores: $2/3$, $1/3$, $0$",
                "ko": "가중치는 점수에 비례하여 $2/3$, $1/3$, $0$이라는 주장",
            },
            statement=proportional,
            attempt=attempt,
            because="the two sides are not equal by ring, expring",
        ),
    ),
    numbers={
        "en": r"$0.6652<p_1<0.6653$, $0.2447<p_2<0.2448$, $0.0900<p_3<0.0901$.",
        "ko": r"$0.6652<p_1<0.6653$, $0.2447<p_2<0.2448$, $0.0900<p_3<0.0901$입니다.",
    },
    references=("sanderson2024",),
)


if __name__ == "__main__":
    THEOREM.main()
