"""Tiled attention works in memory linear in the length."""

from random import Random
from typing import Any

from attnproofs.calculus import (
    FalseNeighbour,
    Part,
    Proof,
    Scope,
    Theorem,
    le,
    lt,
    order,
)
from attnproofs.calculus.symbols import Expr, as_expr
from attnproofs.kernel.statement import Claim


def declare(s: Scope) -> None:
    """Declare the sizes, and that a score tile is no larger than the keys."""
    T, d_k, _d_v, b_r, b_c = s.dimensions("T d_k d_v b_r b_c")
    s.assume("tile_fits", b_r * b_c <= T * d_k)


def cells(s: Any) -> Expr:
    """Return the numbers kept: inputs, a running output, shift and sum a row, one score tile."""
    T, d_k, d_v, b_r, b_c = s["T d_k d_v b_r b_c"]
    inputs = as_expr(T * (2 * d_k + d_v))
    running = as_expr(T * (d_v + 2))
    result: Expr = inputs + running + b_r * b_c
    return result


def statement(s: Scope) -> Claim:
    declare(s)
    T, d_k, d_v = s["T d_k d_v"]
    return le(cells(s), as_expr(5 * T * (d_k + d_v)))


def proof(p: Proof) -> None:
    T, d_k, d_v, b_r, b_c = p["T d_k d_v b_r b_c"]
    slack = as_expr(T * d_k - b_r * b_c) + T * (2 * (d_k - 1) + 3 * d_v)
    p.le(as_expr(5 * T * (d_k + d_v)), order(slack))


def against(s: Scope) -> Claim:
    T, d_k, d_v = s.dimensions("T d_k d_v")
    s.assume("long", 5 * (d_k + d_v) < T)
    return lt(as_expr(5 * T * (d_k + d_v)), as_expr(T) ** 2)


def against_proof(p: Proof) -> None:
    T, d_k, d_v = p["T d_k d_v"]
    p.lt(as_expr(T) ** 2, order(as_expr(T) * as_expr(T - 5 * (d_k + d_v))))


def inputs_only(s: Scope) -> Claim:
    declare(s)
    T, d_k = s["T d_k"]
    return le(cells(s), as_expr(T * d_k))


def any_tile(s: Scope) -> Claim:
    T, d_k, d_v, _b_r, _b_c = s.dimensions("T d_k d_v b_r b_c")
    return le(cells(s), as_expr(5 * T * (d_k + d_v)))


def one_large_tile(rng: Random) -> dict[str, Any]:
    return {"T": 20, "d_k": 1, "d_v": 1, "b_r": 20, "b_c": 20}


THEOREM = Theorem(
    id="tile_memory",
    chapter="computation",
    title={"en": "Memory of tiled attention", "ko": "타일 어텐션의 메모리"},
    prose={
        "en": "Queries, keys, values, one running output, shift and sum per row, and a single tile of "
        "$b_r\\times b_c$ scores are at most $5T(d_k+d_v)$ numbers, as long as a tile is no larger "
        "than the keys. The full score matrix has $T^2$; from $T>5(d_k+d_v)$ on, tiling needs less "
        "than that matrix alone.",
        "ko": r"타일이 키보다 크지 않으면, 쿼리, 키, 밸류, 행마다 하나씩의 출력과 이동값과 합, "
        r"그리고 $b_r\times b_c$개의 점수로 된 타일 하나를 모두 합해도 수가 $5T(d_k+d_v)$개 "
        r"이하입니다. 점수 행렬 전체는 $T^2$개이므로, $T>5(d_k+d_v)$이면 타일 방식에 드는 "
        r"메모리가 점수 행렬 하나보다 작습니다.",
    },
    parts=(
        Part(statement, proof),
        Part(
            against,
            against_proof,
            name="against",
            title={"en": "Against the full score matrix", "ko": "점수 행렬 전체와의 비교"},
            instance=lambda rng: {"d_k": 1, "d_v": 1, "T": rng.randint(11, 14)},
        ),
    ),
    false_neighbours=(
        FalseNeighbour(
            {
                "en": "The memory of the keys, $T\\,d_k$, suffices",
                "ko": "키의 메모리 $T\\,d_k$로 충분하다는 주장",
            },
            inputs_only,
            because="cannot show 0 <= the difference",
        ),
        FalseNeighbour(
            {
                "en": "It holds for tiles of any size",
                "ko": "타일의 크기와 관계없이 성립한다는 주장",
            },
            any_tile,
            because="cannot show 0 <= the difference",
            instance=one_large_tile,
        ),
    ),
    numbers={
        "en": r"$d_k=d_v=64$, tiles of $128\times64$, $T=8192$: $2\,121\,728$ numbers against "
        r"$8192^2=67\,108\,864$ scores.",
        "ko": r"$d_k=d_v=64$, 타일 $128\times64$, $T=8192$이면 수 $2\,121\,728$개로, 점수 "
        r"$8192^2=67\,108\,864$개보다 훨씬 적습니다.",
    },
    references=("dao2022", "rabe2021"),
)


if __name__ == "__main__":
    THEOREM.main()
