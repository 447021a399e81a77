"""The worked lines: each figure that a theorem prints is computed here again, by hand, in mpmath.

A figure is compared as text, at the digits that the line shows, in both languages.
"""

from __future__ import annotations

from collections.abc import Callable

import mpmath
import pytest
from mpmath import exp, log, mpf

from attnproofs.theorems import theorem

FIGURES: dict[str, Callable[[], list[str]]] = {}


def figures(id: str) -> Callable[[Callable[[], list[str]]], Callable[[], list[str]]]:
    """Register the figures of a theorem's worked line."""

    def note(f: Callable[[], list[str]]) -> Callable[[], list[str]]:
        FIGURES[id] = f
        return f

    return note


def softmax(*scores: float) -> list[mpmath.mpf]:
    terms = [exp(mpf(s)) for s in scores]
    return [t / mpmath.fsum(terms) for t in terms]


def lse(*scores: float) -> mpmath.mpf:
    return log(mpmath.fsum(exp(mpf(s)) for s in scores))


def fixed(x: mpmath.mpf, digits: int) -> str:
    """Return `x` rounded to `digits` decimals."""
    return f"{float(x):.{digits}f}"


def scientific(x: mpmath.mpf, digits: int) -> str:
    """Return `x` as LaTeX writes it, with `digits` decimals of the mantissa."""
    mantissa, exponent = f"{float(x):.{digits}e}".split("e")
    power = str(int(exponent))
    return rf"{mantissa}\cdot10^{power if len(power) == 1 else '{' + power + '}'}"


def row(values: list[mpmath.mpf], digits: int = 3) -> str:
    return "(" + ",".join(fixed(v, digits) for v in values) + ")"


def grouped(n: int) -> str:
    return f"{n:,}".replace(",", r"\,")


# ---------------------------------------------------------------------- softmax


@figures("softmax_positive")
def _() -> list[str]:
    first, second = softmax(0, -20)
    return [fixed(first, 11), scientific(second, 2)]


@figures("softmax_sum")
def _() -> list[str]:
    p = softmax(2, 1, 0)
    return [f"{fixed(p[0], 4)}+{fixed(p[1], 4)}+{fixed(p[2], 4)}=0.9999"]


@figures("softmax_shift")
def _() -> list[str]:
    assert exp(mpf(1002)) > mpf(2) ** 1024
    return [row(softmax(1002, 1001, 1000))]


@figures("softmax_ratio")
def _() -> list[str]:
    p = softmax(2, 1, 0)
    return [f"{fixed(p[0], 4)}/{fixed(p[1], 4)}\\approx{fixed(p[0] / p[1], 3)}"]


@figures("softmax_order")
def _() -> list[str]:
    return [row(softmax(2, 1, 0))]


@figures("softmax_uniform")
def _() -> list[str]:
    assert softmax(7, 7, 7, 7) == [mpf(1) / 4] * 4
    return [r"\frac14,\frac14,\frac14,\frac14"]


@figures("softmax_saturation")
def _() -> list[str]:
    return [scientific(1023 * exp(mpf(-20)), 1)]


@figures("softmax_example")
def _() -> list[str]:
    def below(x: mpmath.mpf) -> str:
        return fixed(mpmath.floor(x * 10**4) / 10**4, 4)

    def above(x: mpmath.mpf) -> str:
        return fixed(mpmath.ceil(x * 10**4) / 10**4, 4)

    return [f"{below(p)}<p_{k}<{above(p)}" for k, p in enumerate(softmax(2, 1, 0), 1)]


@figures("softmax_jacobian")
def _() -> list[str]:
    p = softmax(2, 1, 0)
    return [r"\approx" + fixed(p[0] * (1 - p[0]), 3), r"\approx-" + fixed(p[0] * p[1], 3)]


@figures("softmax_jacobian_bound")
def _() -> list[str]:
    p = mpf("0.999")
    return [fixed(2 * p * (1 - p), 6)]


@figures("softmax_permutation")
def _() -> list[str]:
    return [row(softmax(2, 1, 0)), row(softmax(0, 2, 1))]


@figures("softmax_two_keys")
def _() -> list[str]:
    return [fixed(softmax(4, 0)[0], 3)]


@figures("softmax_jacobian_null")
def _() -> list[str]:
    p = [mpf(1) / 2, mpf(1) / 4, mpf(1) / 4]
    assert [p[0] * ((j == 0) - p[j]) for j in range(3)] == [mpf(1) / 4, -mpf(1) / 8, -mpf(1) / 8]
    return [r"(\frac14,-\frac18,-\frac18)"]


@figures("softmax_jacobian_variance")
def _() -> list[str]:
    p, u = [mpf(1) / 2] * 2, [1, -1]
    form = sum(u[i] * p[i] * ((i == j) - p[j]) * u[j] for i in range(2) for j in range(2))
    return [f"u^\\top Ju={int(form)}"]


@figures("lse_gradient")
def _() -> list[str]:
    return [
        fixed(lse(2, 1, 0), 6),
        fixed(lse(mpf("2.001"), 1, 0), 6),
        fixed(softmax(2, 1, 0)[0], 3),
    ]


@figures("lse_bounds")
def _() -> list[str]:
    return [fixed(lse(2, 1, 0), 3), fixed(2 + log(3), 3)]


@figures("entropy_identity")
def _() -> list[str]:
    p = softmax(2, 1, 0)
    return ["=" + fixed(-sum(x * log(x) for x in p), 5), fixed(log(3), 3)]


@figures("entropy_temperature")
def _() -> list[str]:
    p = softmax(2, 1, 0)
    mean = 2 * p[0] + p[1]
    return ["-" + fixed(4 * p[0] + p[1] - mean**2, 3)]


@figures("max_subtraction")
def _() -> list[str]:
    return [r"\approx" + fixed(1 + exp(mpf(-1)) + exp(mpf(-2)), 3)]


@figures("tv_tanh")
def _() -> list[str]:
    return [fixed(mpmath.tanh(mpf("0.005")), 8), fixed(mpmath.tanh(mpf("0.5")), 4)]


# ---------------------------------------------------------------------- masking


@figures("mask_exact_zero")
def _() -> list[str]:
    assert float(exp(mpf(3 - 10000))) == 0.0
    return [f"({fixed(softmax(2, 1)[0], 3)},{fixed(softmax(2, 1)[1], 3)},0)"]


@figures("mask_renormalises")
def _() -> list[str]:
    return [fixed(softmax(2, 1)[0], 3), row(softmax(2, 1, 0))]


@figures("zero_mask_leaks")
def _() -> list[str]:
    return [r"\approx" + fixed(1 / (exp(mpf(-3)) + exp(mpf(-2)) + 1), 3)]


@figures("causal_first_row")
def _() -> list[str]:
    assert softmax(0, 0, 0) == [mpf(1) / 3] * 3
    return [r"(\frac13,\frac13,\frac13)"]


@figures("causal_no_future")
def _() -> list[str]:
    def means(*values: float) -> list[float]:
        return [sum(values[:i]) / i for i in range(1, len(values) + 1)]

    assert means(1, 2, 3) == [1, 1.5, 2]
    assert means(1, 2, 300) == [1, 1.5, 101]
    return [r"O=(1,\ 1.5,\ 2)", r"O=(1,\ 1.5,\ 101)"]


@figures("causal_count")
def _() -> list[str]:
    kept = sum(1 for i in range(4) for j in range(4) if j <= i)
    return [f"${kept}$", grouped(8192 * 8193 // 2), grouped(8192**2)]


@figures("post_mask_sum")
def _() -> list[str]:
    p = softmax(2, 1, 0)
    return [fixed(x, 3) for x in (p[0] + p[1], p[0] / (p[0] + p[1]), p[1] / (p[0] + p[1]))]


@figures("finite_mask_leak")
def _() -> list[str]:
    assert 100 * exp(mpf(20 - 10)) > 1
    return [scientific(100 * exp(mpf(20 - 100)), 1)]


@figures("bool_additive")
def _() -> list[str]:
    additive, boolean = softmax(2, 1, -10)[0], softmax(2, 1)[0]
    bound = exp(mpf(-10)) / (exp(mpf(2)) + exp(mpf(1)))
    assert boolean - additive <= bound
    return [fixed(additive, 6), fixed(boolean, 6), scientific(bound, 1)]


@figures("mask_and")
def _() -> list[str]:
    causal, padding = (1, 1, 1, 0), (0, 1, 1, 1)
    return ["(" + ",".join(str(a & b) for a, b in zip(causal, padding, strict=True)) + ")"]


@figures("padding_invariance")
def _() -> list[str]:
    return [row(softmax(2, 1)), row(softmax(2, 1, 0))]


@figures("window_band")
def _() -> list[str]:
    seen = {0}
    for _layer in range(2):  # the rule, by walking through two layers of a window of 3
        seen |= {i + back for i in seen for back in range(3)}
    assert len(seen) == 2 * (3 - 1) + 1
    return [grouped(32 * 4095 + 1)]


# ---------------------------------------------------------------------- gradients, rounding


@figures("grad_values")
def _() -> list[str]:
    A = ((1, 0), (mpf(1) / 2, mpf(1) / 2))
    assert [A[0][j] + A[1][j] for j in range(2)] == [mpf(3) / 2, mpf(1) / 2]
    return [r"\mathrm{dV}=(\frac32,\frac12)^\top"]


@figures("grad_weights")
def _() -> list[str]:
    return [rf"\mathrm{{dA}}_{{ij}}={1 * 3 + 2 * -1}"]


@figures("grad_scores")
def _() -> list[str]:
    A, dA = (mpf(1) / 2, mpf(1) / 4, mpf(1) / 4), (4, 0, 0)
    mean = sum(a * g for a, g in zip(A, dA, strict=True))
    assert [a * (g - mean) for a, g in zip(A, dA, strict=True)] == [1, -mpf(1) / 2, -mpf(1) / 2]
    return [r"\mathrm{dS}_i=(1,-\frac12,-\frac12)", f"${int(mean)}$"]


@figures("grad_delta")
def _() -> list[str]:
    assert (20 + 40) / 2 == 10 * (2 + 4) / 2 == 30
    return [r"=30=10\cdot3"]


@figures("grad_queries_keys")
def _() -> list[str]:
    assert 1 * 2 / 4**0.5 == 1
    return [r"\mathrm{dq}_i=(1,0,0,0)"]


@figures("grad_masked")
def _() -> list[str]:
    p = softmax(2, 1)
    ds = p[0] * (1 - p[0])
    return [rf"\mathrm{{ds}}\approx({fixed(ds, 3)},-{fixed(ds, 3)},0)"]


@figures("grad_projections")
def _() -> list[str]:
    return [rf"\mathrm{{dX}}=2+3+5+1={2 + 3 + 5 + 1}"]


@figures("grad_vanishes")
def _() -> list[str]:
    p, g = [mpf(1) / 2] * 2, [1, -1]
    mean = sum(a * b for a, b in zip(p, g, strict=True))
    assert sum(abs(a * (b - mean)) for a, b in zip(p, g, strict=True)) == 1
    assert 2 * sum(a * (1 - a) for a in p) == 1
    return [fixed(4 * (1 - mpf("0.999")), 3)]


@figures("shift_free")
def _() -> list[str]:
    p = softmax(4, 0)
    return [
        row(p),
        fixed(p[1] * 4, 4),
        fixed(-sum(x * log(x) for x in p), 4),
        fixed(log(2), 3),
    ]


@figures("dot_error")
def _() -> list[str]:
    u = mpf(2) ** -24
    return [scientific(64 * u / (1 - 64 * u), 1)]


@figures("online_error")
def _() -> list[str]:
    return [f"={16 * 2 + 15}", scientific(47 * mpf(2) ** -24, 1)]


@figures("attention_error")
def _() -> list[str]:
    return [r"\approx" + fixed(2 * mpmath.tanh(mpf(5) / 10**6) + mpf(2) ** -8, 5)]


@figures("narrow_weights")
def _() -> list[str]:
    return [fixed(mpf(2) ** -8, 5), fixed(mpf(2) ** -11, 5)]


@figures("finite_mask_rounding")
def _() -> list[str]:
    wide, narrow = 150 * log(2), 25 * log(2)
    assert mpf(2) ** -149 == mpf(2) * mpf(2) ** -150
    assert float(mpmath.floor(10000 - wide)) == 9896
    return [fixed(wide, 2), r"\le9896", fixed(narrow, 2)]


# ---------------------------------------------------------------------- values


@figures("constant_values")
def _() -> list[str]:
    assert mpmath.almosteq(mpmath.fsum(softmax(2, 1, 0)), 1)
    return [row(softmax(2, 1, 0))]


@figures("key_bias_invisible")
def _() -> list[str]:
    assert row(softmax(7, 6)) == row(softmax(2, 1))
    return [row(softmax(7, 6))]


@figures("value_bias_through")
def _() -> list[str]:
    def output(*values: int) -> int:
        return (values[0] + 3 * values[1]) // 4

    return [f"${output(4, 8)}$", f"${output(14, 18)}$"]


@figures("permutation_equivariance")
def _() -> list[str]:
    def means(*values: int) -> str:
        rows = [sum(values[:i]) / i for i in range(1, 4)]
        return "(" + ",".join(f"{m:g}" for m in rows) + ")"

    assert sum((1, 2, 3)) == sum((3, 1, 2)) == 3 * 2
    return [means(1, 2, 3), means(3, 1, 2)]


@figures("duplicate_keys")
def _() -> list[str]:
    assert sum((0, 3)) / 2 == sum((0, 3, 0, 3)) / 4 == 1.5
    return ["$1.5$", f"${sum((0, 3, 0)) // 3}$"]


@figures("gauge")
def _() -> list[str]:
    q, k = (1, 2), (3, 4)
    turned_q, turned_k = (q[0], q[0] + q[1]), (k[0] - k[1], k[1])
    assert sum(a * b for a, b in zip(q, k, strict=True)) == 11
    assert sum(a * b for a, b in zip(turned_q, turned_k, strict=True)) == 11
    return [f"qG=({turned_q[0]},{turned_q[1]})", f"({turned_k[0]},{turned_k[1]})", "=11"]


@figures("rank_vo_attained")
def _() -> list[str]:
    W_V = mpmath.matrix([[1, 0], [0, 1], [0, 0]])
    product = W_V * W_V.T
    return ["(" + ",".join(str(int(product[i, i])) for i in range(3)) + ")"]


# ---------------------------------------------------------------------- heads, computation


@figures("head_permutation")
def _() -> list[str]:
    return [f"={1 * 3 + 2 * 5}=", f"={2 * 3 + 1 * 5}$"]


@figures("single_head_case")
def _() -> list[str]:
    return [f"={1 * 3 + 2 * 4}"]


@figures("parameter_count")
def _() -> list[str]:
    counts = {
        sum(3 * 512 * (512 // heads) + (512 // heads) * 512 for _ in range(heads))
        for heads in (8, 16)
    }
    assert len(counts) == 1
    return ["=" + grouped(counts.pop())]


@figures("gqa_tied")
def _() -> list[str]:
    blocks = [(h - 1) // 4 + 1 for h in range(1, 9)]
    tiled = [(h - 1) % 2 + 1 for h in range(1, 9)]
    assert blocks == [1, 1, 1, 1, 2, 2, 2, 2]
    return ["$" + ",".join(map(str, tiled[:4]))]


@figures("mqa_case")
def _() -> list[str]:
    return [f"={2 * 128}", f"={32 * 256}"]


@figures("latent_absorb")
def _() -> list[str]:
    k = (2 * 3, 2 * 4)
    assert sum(k) == (3 + 4) * 2
    return [f"k=({k[0]},{k[1]})", f"={sum(k)}="]


@figures("merge_monoid")
def _() -> list[str]:
    total = sum(exp(mpf(s) - 2) for s in (2, 1, 0))
    assert mpmath.almosteq(total, 1 + exp(mpf(-1)) * (1 + exp(mpf(-1))))
    return [r"\approx" + fixed(total, 3)]


@figures("decode_cost")
def _() -> list[str]:
    steps = range(1, 1001)
    return [grouped(sum(steps)), grouped(sum(t * t for t in steps))]


@figures("linear_attention")
def _() -> list[str]:
    T, r, d_v = 8192, 64, 64
    return [scientific(mpf(T * T * (r + d_v)), 1), scientific(mpf(2 * T * r * d_v), 1)]


@figures("dropout_unbiased")
def _() -> list[str]:
    p = mpf(1) / 10
    assert mpmath.almosteq((1 - p) * (mpf("0.9") / (1 - p)), mpf("0.9"))
    return ["$0.9$", "$1$"]


# ---------------------------------------------------------------------- scaling


@figures("scale_absorbed")
def _() -> list[str]:
    assert 32 / 16**0.5 == 32 / (16**0.25) ** 2 == 8
    return ["$8$"]


@figures("scale_is_temperature")
def _() -> list[str]:
    squares = [mpf("0.8") ** 2, mpf("0.2") ** 2]
    return [fixed(sum(squares), 2), row([x / sum(squares) for x in squares])]


@figures("init_variance")
def _() -> list[str]:
    return [f"512/64={512 // 64}"]


@figures("score_gap_variance")
def _() -> list[str]:
    return [fixed(mpmath.sqrt(2), 2)]


# ---------------------------------------------------------------------- positions


def turned(x: float, y: float, degrees: float) -> tuple[mpmath.mpf, mpmath.mpf]:
    angle = mpmath.radians(degrees)
    c, s = mpmath.cos(angle), mpmath.sin(angle)
    return mpmath.chop(x * c - y * s), mpmath.chop(x * s + y * c)


@figures("rope_relative")
def _() -> list[str]:
    def score(m: int, n: int) -> mpmath.mpf:
        q, k = turned(1, 0, 60 * m), turned(1, 0, 60 * n)
        return q[0] * k[0] + q[1] * k[1]

    assert mpmath.almosteq(score(2, 3), score(7, 8))
    return [f"={fixed(score(2, 3), 1)}"]


@figures("rope_norm")
def _() -> list[str]:
    x, y = turned(3, 4, 90)
    assert mpmath.almosteq(mpmath.hypot(x, y), 5)
    return [f"({int(mpmath.nint(x))},{int(mpmath.nint(y))})"]


@figures("alibi_shift")
def _() -> list[str]:
    by_distance = [-(mpf(3) - j) / 2 for j in (1, 2, 3)]
    by_key = [mpf(j) / 2 for j in (1, 2, 3)]
    assert by_distance == [-1, mpf(-1) / 2, 0]
    assert [b - a for a, b in zip(by_distance, by_key, strict=True)] == [mpf(3) / 2] * 3
    return [r"(-1,-\frac12,0)", r"(\frac12,1,\frac32)"]


@figures("sinusoid_shift")
def _() -> list[str]:
    places = [turned(1, 0, 90 * t) for t in (1, 2, 3)]
    return [f"E({t})=({int(x)},{int(y)})" for t, (x, y) in enumerate(places, 1)]


@pytest.mark.parametrize("id", FIGURES)
def test_the_figures_of_the_worked_line(id: str) -> None:
    """Each figure, computed again, stands in the line in either language."""
    with mpmath.workdps(30):
        expected = FIGURES[id]()
    numbers = theorem(id).numbers
    for language in ("en", "ko"):
        missing = [f for f in expected if f not in numbers[language]]
        assert not missing, f"{language}: {missing} not in {numbers[language]}"


@pytest.mark.parametrize("chapter", ["softmax", "masking", "gradients", "rounding", "positions"])
def test_every_worked_line_is_computed_again(chapter: str) -> None:
    """No theorem of these chapters prints a figure that is not checked here."""
    from attnproofs.theorems import select

    # empty_row says what 0/0 is in floating point, which is not a figure
    unchecked = {t.id for t in select((chapter,)) if not t.lemma} - set(FIGURES) - {"empty_row"}
    assert not unchecked


def test_a_wrong_figure_is_seen() -> None:
    """The comparison fails for a figure that is off in its last digit."""
    line = theorem("softmax_two_keys").numbers["en"]
    assert fixed(softmax(4, 0)[0], 3) in line
    assert fixed(softmax(4, 0)[0] + mpf("0.001"), 3) not in line
