"""Fixed-point functions against mpmath, integer matrix products, formats, and enclosures."""

import math
from fractions import Fraction

import ml_dtypes
import mpmath
import numpy as np
import pytest

from attnproofs.errors import InputError
from attnproofs.reference import (
    FORMATS,
    Enclosure,
    UndecidedRounding,
    attention,
    fixed,
    get_format,
    softmax,
)
from attnproofs.reference import enclosure as enclosure_module
from attnproofs.reference.enclosure import Balls
from attnproofs.reference.formats import as_array
from tests.reference.fuzz import BACKENDS, DTYPES

WORKING_BITS = [1, 2, 7, 24, 60, 128, 169, 500, 2000]


@pytest.fixture(params=BACKENDS)
def backend(request):
    return request.param


def units(value: int, exact: mpmath.mpf, wp: int) -> float:
    """Distance in units of 2**-wp."""
    return abs(mpmath.mpf(value) - mpmath.ldexp(exact, wp))


@pytest.mark.parametrize("wp", WORKING_BITS)
def test_exp_is_within_its_bound(wp):
    rng = np.random.default_rng(wp)
    exp = fixed.exp_at(wp)
    spread = 10.0 ** rng.uniform(-6, math.log10(wp + 4), 200)
    ts = [-int(mpmath.ldexp(mpmath.mpf(float(x)), wp)) for x in spread] + [0, -1, -2, -(1 << wp)]
    with mpmath.workprec(wp + 80):
        for t in ts:
            exact = mpmath.exp(mpmath.ldexp(mpmath.mpf(t), -wp))
            assert units(exp(t), exact, wp) < 1
            m, k = exp.parts(t)
            assert abs(mpmath.ldexp(mpmath.mpf(m), k - exp.ip) / exact - 1) < mpmath.ldexp(
                1, -wp - 8
            )
    assert exp(0) == 1 << wp
    assert exp(-(10**6) << wp) == 0


def test_exp_of_a_huge_argument_keeps_its_relative_accuracy():
    wp = 100
    t = -(10**30) << wp
    m, k = fixed.exp_at(wp).parts(t)
    with mpmath.workprec(400):
        exact = mpmath.exp(-(mpmath.mpf(10) ** 30))
        assert abs(mpmath.mpf(m) * mpmath.mpf(2) ** (k - wp - 32) / exact - 1) < mpmath.ldexp(
            1, -wp - 8
        )


@pytest.mark.parametrize("wp", WORKING_BITS)
def test_ln2_log_and_tanh_are_within_their_bounds(wp):
    rng = np.random.default_rng(wp)
    with mpmath.workprec(wp + 80):
        assert units(fixed.ln2(wp), mpmath.log(2), wp) <= 1
        for x in [1, 1 + 2.0**-40, 1.5, 2, 3, 1000.25, 1e9, *(1 + rng.exponential(9, 20))]:
            n = int(mpmath.ldexp(mpmath.mpf(float(x)), wp))
            exact = mpmath.log(mpmath.ldexp(mpmath.mpf(n), -wp))
            assert units(fixed.log_ratio(n, wp), exact, wp) <= 2
        for x in [0, 1e-9, 0.5, 3, 40, 1e6, *rng.exponential(1, 20)]:
            n = int(mpmath.ldexp(mpmath.mpf(float(x)), wp))
            exact = mpmath.tanh(mpmath.ldexp(mpmath.mpf(n), -wp))
            assert units(fixed.tanh(n, wp), exact, wp) <= 4
            assert fixed.tanh(-n, wp) == -fixed.tanh(n, wp)


def test_log_of_something_enormous():
    wp = 64
    n = 3 << 5000
    with mpmath.workprec(300):
        exact = mpmath.log(mpmath.ldexp(mpmath.mpf(n), -wp))
        assert units(fixed.log_ratio(n, wp), exact, wp) <= 2


@pytest.mark.parametrize("bits", [1, 15, 16, 17, 53, 64, 200, 1000])
@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 50, 40), (40, 1, 200), (20, 64, 20), (2, 0, 3)])
def test_matmul_is_exact_in_limbs_as_in_python(bits, shape):
    m, k, n = shape
    rng = np.random.default_rng(bits)

    def integers(rows, columns):
        out = np.empty((rows, columns), dtype=object)
        for index in np.ndindex(rows, columns):
            x = int.from_bytes(rng.bytes(bits // 8 + 1), "little") % (1 << bits)
            out[index] = -x if rng.random() < 0.5 else x
        if rows and columns:
            out[0, 0], out[-1, -1] = (1 << bits) - 1, 1 - (1 << bits)
        return out

    a, b = integers(m, k), integers(k, n)
    product = fixed.matmul(a, b)
    assert product.tolist() == fixed._matmul_python(a, b).tolist()
    assert all(type(x) is int for x in product.ravel().tolist())


def test_matmul_in_strips(monkeypatch):
    a = np.array([[(i * j) ** 7 - 99 for j in range(30)] for i in range(20)], dtype=object)
    expected = fixed._matmul_python(a, a.T).tolist()
    monkeypatch.setattr(fixed, "_STRIP", 1)
    assert fixed.matmul(a, a.T).tolist() == expected


# -- formats ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FORMATS)
def test_formats_agree_with_ml_dtypes(name):
    fmt, info = FORMATS[name], ml_dtypes.finfo(DTYPES[name])
    assert fmt.largest_finite == float(info.max)
    assert fmt.smallest_subnormal == float(info.smallest_subnormal)
    assert math.ldexp(1.0, fmt.emin) == float(info.smallest_normal)
    assert fmt.unit_roundoff == float(info.eps) / 2
    assert fmt.dtype == np.dtype(DTYPES[name])
    assert get_format(DTYPES[name]) is fmt


@pytest.mark.parametrize("name", ["float16", "bfloat16", "e4m3fn", "e5m2", "float32"])
def test_rounding_a_float64_equals_the_cast(name):
    """NumPy casts float64 to float32 and float16 correctly; ml_dtypes does from float32."""
    fmt = FORMATS[name]
    rng = np.random.default_rng(0)
    start = np.float32 if name not in ("float16", "float32") else np.float64
    top = math.log2(fmt.largest_finite)
    x = rng.choice([-1, 1], 20_000) * 2.0 ** rng.uniform(
        fmt.emin - fmt.precision - 2, top + 2, 20_000
    )
    mids = (
        (rng.integers(0, 1 << fmt.precision, 500) + 0.5)
        * fmt.smallest_subnormal
        * 2.0 ** rng.integers(0, 3, 500)
    )
    over = fmt.largest_finite * (1 + fmt.unit_roundoff * np.array([0, 0.5, 0.99, 1, 1.01, 2]))
    with np.errstate(over="ignore", under="ignore"):
        x = np.concatenate([x, mids, over, -over]).astype(start).astype(np.float64)
        expected = x.astype(start).astype(fmt.dtype).astype(np.float64)
    finite = np.isfinite(x)
    x, expected = x[finite], expected[finite]
    for value, want in zip(x.tolist(), expected.tolist()):
        num, den = value.as_integer_ratio()
        got = fmt.nearest(num, 1 - den.bit_length())
        assert got == want or (math.isnan(got) and math.isnan(want)), value
        assert got == fmt.nearest_fraction(num, den) or math.isnan(got)


def test_rounding_to_float64_equals_python_division():
    rng = np.random.default_rng(1)
    fmt = FORMATS["float64"]
    for _ in range(3000):
        num = int.from_bytes(rng.bytes(30), "little") - (1 << 239)
        exp = int(rng.integers(-1350, 900))
        try:
            want = num / (1 << -exp) if exp < 0 else float(num << exp)
        except OverflowError:
            want = math.copysign(math.inf, num)
        assert fmt.nearest(num, exp) == want
        den = int.from_bytes(rng.bytes(9), "little") + 1
        assert fmt.nearest_fraction(num, den) == num / den


@pytest.mark.parametrize("name", FORMATS)
def test_arrays_of_a_format_hold_the_values(name):
    fmt = FORMATS[name]
    values = [0.0, -0.0, 1.0, fmt.largest_finite, -fmt.smallest_subnormal, math.nan]
    got = as_array(values, (2, 3), fmt).astype(np.float64)
    assert np.array_equal(got.ravel(), values, equal_nan=True)
    assert np.signbit(got.ravel()[1])


# -- enclosures -------------------------------------------------------------------------------


def test_indexing_follows_numpy_and_still_rounds(backend):
    rng = np.random.default_rng(0)
    r = attention(
        *(rng.standard_normal((2, 3, 4)) for _ in range(3)), is_causal=True, backend=backend
    )
    whole = r.scores.round_to("float32")
    for key in [0, (1, 2), (slice(None), 1), (..., 0), ([0, 1], [2, 0])]:
        assert np.array_equal(r.scores[key].round_to("float32"), whole[key])
    assert len(r.output) == 2 and r.output.ndim == 3
    assert r.lse[1, 2].midpoint.shape == ()
    with pytest.raises(TypeError):
        len(r.lse[1, 2])


def test_an_enclosure_does_not_turn_into_one_array_by_accident():
    e = softmax([0.0, 1.0])
    with pytest.raises(TypeError, match=r"choose \.round_to"):
        np.asarray(e)
    with pytest.raises(InputError, match=r"query cannot be read as an array .*choose"):
        attention(e, [[1.0]], [[1.0]])


def test_as_floats_is_still_an_enclosure(backend):
    v = np.array([[1e-320, 1.0, 1.7e308], [3e-310, 1.0, -1.7e308], [1e-322, 1.0, 1.1e308]])
    r = attention([[1.0]], [[0.3], [0.1], [-700.0]], v, backend=backend)
    for e in (r.output, r.weights, r.lse, r.scores):
        mid, rad = e.as_floats()
        assert (mid == e.round_to("float64")).all()
        for m, d, low, high in zip(mid.ravel(), rad.ravel(), e.lower.ravel(), e.upper.ravel()):
            assert Fraction(float(m)) - Fraction(float(d)) <= low
            assert Fraction(float(m)) + Fraction(float(d)) >= high
            assert d <= 3 * np.spacing(abs(m))
    assert r.output.as_floats()[1][0, 1] == 0 or backend == "flint"


def test_as_floats_of_what_float64_cannot_hold(backend):
    s = attention([[1e300]], [[1e300]], [[1.0]], scale=1, backend=backend).scores
    mid, rad = s.as_floats()
    assert mid.item() == np.finfo(float).max and rad.item() == np.inf
    assert s.round_to("float64").item() == np.inf


def test_contains_and_overlaps(backend):
    e = softmax([0.0, 1.0, 2.0], backend=backend)
    inside = e.midpoint + e.radius
    assert e.contains(inside).all()
    assert not e.contains(inside + Fraction(1, 1 << 400)).any()
    assert e.overlaps(softmax([0.0, 1.0, 2.0], precision=20, backend="python")).all()
    assert not e.overlaps(softmax([0.0, 1.0, 2.0 + 1e-9], backend=backend)).any()
    lse = attention([[0.0]], [[0.0]], [[1.0]], attn_mask=False, backend=backend).lse
    assert lse.contains([-np.inf]).all() and not lse.contains([0.0]).any()
    for call in (e.contains, lambda _: e.overlaps(lse)):
        with pytest.raises(InputError, match=r"shape .*expected"):
            call([1.0])


def test_decimal_digits_are_those_of_mpmath(backend):
    e = softmax([0.0, 1.0], backend=backend)
    with mpmath.workdps(60):
        assert e.decimal(45)[0] == mpmath.nstr(1 / (1 + mpmath.e), 45, strip_zeros=False)


def test_precision_is_honoured(backend):
    for bits in (1, 10, 53, 500):
        e = softmax([0.0, 1.0, -3.0], precision=bits, backend=backend)
        assert all(0 < r <= Fraction(1, 1 << bits) for r in e.radius)
        assert float(max(e.radius)) > 2.0 ** (-bits - 40)
    assert softmax([0.0, 1.0], precision="30 digits", backend=backend).radius.max() < 1e-30


def test_rounding_does_not_depend_on_the_precision_asked_for(backend):
    rng = np.random.default_rng(3)
    arrays = [rng.standard_normal(s) for s in [(3, 4), (6, 4), (6, 5)]]
    for part in ("output", "weights", "lse", "scores"):
        for name in FORMATS:
            low, high = (
                getattr(attention(*arrays, precision=p, backend=backend), part).round_to(name)
                for p in (3, 300)
            )
            assert (low.astype(float) == high.astype(float)).all()


def test_underflow_and_signs_of_zero(backend):
    """A tiny negative result rounds to -0, an exact zero to +0, a weight of e**-10**8 to +0."""
    o = attention(
        [[0.0]], [[0.0]] * 4, [[-(2.0**-1074)], [0.0], [0.0], [0.0]], backend=backend
    ).output
    zero = o.round_to("float64").item()
    assert zero == 0 and np.signbit(zero)
    o = attention([[1.0]], [[1.0], [1.0]], [[1.0], [-1.0]], backend=backend).output
    assert o.radius.item() == 0 and not np.signbit(o.round_to("float64").item())
    w = attention([[1.0]], [[0.0], [-1e8]], [[1.0], [2.0]], backend=backend).weights
    assert w.round_to("float64").tolist() == [[1.0, 0.0]]
    assert not np.signbit(w.round_to("float64")).any()


def test_far_keys_break_ties_without_a_million_bits(backend):
    """The output is a midpoint of bfloat16 plus or minus about exp(-10**8)."""
    mid = 1 + 2.0**-8
    for side, want in ((2.0, 1 + 2.0**-7), (0.0, 1.0)):
        o = attention([[1.0]], [[0.0], [-1e8]], [[mid], [side]], backend=backend).output
        assert float(o.round_to("bfloat16").item()) == want
    lse = attention([[1.0]], [[mid], [-1e8]], [[0.0], [0.0]], backend=backend).lse
    assert float(lse.round_to("bfloat16").item()) == 1 + 2.0**-7
    # the sign of something that underflows
    o = attention([[1.0]], [[0.0], [-1e8], [-2e8]], [[0.0], [-1.0], [5.0]], backend=backend).output
    assert np.signbit(o.round_to("float32").item())


def test_softcap_is_strictly_below_its_cap_and_its_argument(backend):
    """c tanh(x / c) is closer to c, or to x, than any ball of moderate precision tells."""
    cap = 1 + 2.0**-8
    s = attention([[1.0]], [[1e9], [-1e9]], np.eye(2), softcap=cap, backend=backend).scores
    assert s.round_to("bfloat16").astype(float).tolist() == [[1.0, -1.0]]
    x = (1 + 2.0**-8) * 2.0**-100
    s = attention([[1.0]], [[x], [-x]], np.eye(2), softcap=1.0, backend=backend).scores
    assert (s.round_to("bfloat16").astype(float) * 2.0**100).tolist() == [[1.0, -1.0]]


def test_equal_scores_are_exact_under_a_softcap_too(backend):
    o = attention([[1.0]], [[0.3]] * 2, [[1.0], [1 + 2.0**-7]], softcap=3.0, backend=backend).output
    assert o.radius.item() == 0
    assert float(o.round_to("bfloat16").item()) == 1.0


def test_what_the_exact_test_does_not_cover_says_so(backend, monkeypatch):
    """With a soft-cap the loop gives up at a limit: here two groups differ at 2**-2148 only."""
    k = [[2.0**-1074], [-(2.0**-1074)]]
    o = attention(
        [[2.0**-1074]], k, [[1.0], [1 + 2.0**-7]], scale=1, softcap=1.0, backend=backend
    ).output
    assert float(o.round_to("bfloat16").item()) == 1.0
    o._refiner.limit = 1024
    with pytest.raises(UndecidedRounding, match=r"element \(0, 0\) .*2\*\*-1024.*tanh soft-cap"):
        o.round_to("bfloat16")
    assert enclosure_module.MAX_BITS == 8192


def test_an_enclosure_without_its_inputs_cannot_refine():
    e = Enclosure((1,), lambda: [Balls([3], [1], [-1])])
    with pytest.raises(UndecidedRounding, match=r"element \(0,\) .* compute it again"):
        e.round_to("float64")
