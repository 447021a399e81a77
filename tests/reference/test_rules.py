"""The rules of `attention` that need no tolerance: masks, heads, batches, empty rows, messages.

Zero queries give every kept key the same weight and identity values make the output row *be*
the weight row, so the kept set is read off exactly.
"""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from attnproofs import reference
from attnproofs.errors import InputError, MissingDependency
from attnproofs.reference import attention
from tests.reference.fuzz import BACKENDS, DTYPES


@pytest.fixture(params=BACKENDS)
def backend(request):
    return request.param


def kept(L, S, backend, **options):
    """Which keys each query attends to, with the weights checked to be equal."""
    r = attention(np.zeros((L, 1)), np.zeros((S, 1)), np.eye(S), backend=backend, **options)
    p = r.output.round_to("float64")
    counts = (p > 0).sum(axis=-1, keepdims=True)
    assert (p == np.where(p > 0, 1 / np.maximum(counts, 1), 0)).all()
    assert ((p > 0) == r.keep).all()
    return (p > 0).astype(int).tolist()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [[1, 1, 1], [1, 1, 1]]),
        ({"is_causal": True}, [[1, 0, 0], [1, 1, 0]]),
        ({"is_causal": True, "causal_offset": 1}, [[1, 1, 0], [1, 1, 1]]),
        ({"is_causal": True, "causal_offset": -1}, [[0, 0, 0], [1, 0, 0]]),
        ({"is_causal": True, "causal_offset": 9}, [[1, 1, 1], [1, 1, 1]]),
        ({"window": (0, 0)}, [[1, 0, 0], [0, 1, 0]]),
        ({"window": (1, None), "causal_offset": 1}, [[1, 1, 1], [0, 1, 1]]),
        ({"window": (None, 1)}, [[1, 1, 0], [1, 1, 1]]),
        ({"window": (0, 5), "is_causal": True}, [[1, 0, 0], [0, 1, 0]]),
        ({"attn_mask": [[True, False, True], [False, True, True]]}, [[1, 0, 1], [0, 1, 1]]),
        ({"attn_mask": [True, False, True]}, [[1, 0, 1], [1, 0, 1]]),
        ({"attn_mask": [[True], [False]]}, [[1, 1, 1], [0, 0, 0]]),
        ({"attn_mask": True}, [[1, 1, 1], [1, 1, 1]]),
        ({"attn_mask": [0.0, -np.inf, 0.0]}, [[1, 0, 1], [1, 0, 1]]),
        ({"attn_mask": [[True, False, True]], "is_causal": True}, [[1, 0, 0], [1, 0, 0]]),
    ],
)
def test_which_keys_are_kept(backend, options, expected):
    assert kept(2, 3, backend, **options) == expected


def test_an_additive_mask_of_any_float_type_is_added_exactly(backend):
    """exp(log 3) is not 3, so the bias must be the number passed, not one near it."""
    for name in ("float64", "float32", "float16", "bfloat16"):
        bias = np.array([0.1, -2.5], dtype=DTYPES[name])
        r = attention([[0.0]], [[0.0], [0.0]], np.eye(2), attn_mask=bias, backend=backend)
        assert r.scores.midpoint.tolist() == [[Fraction(float(b)) for b in bias]]
        assert not r.scores.radius.any()


@pytest.mark.parametrize(
    "shape", [(), (5,), (4, 1), (4, 5), (1, 4, 5), (6, 1, 5), (2, 1, 1, 5), (2, 6, 4, 5)]
)
@pytest.mark.parametrize("kind", ["bool", "additive"])
def test_masks_of_every_broadcast_shape(shape, kind, backend):
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal(s) for s in [(2, 6, 4, 2), (2, 3, 5, 2), (1, 3, 5, 2)])
    keep = rng.random(shape) < 0.7
    mask = keep if kind == "bool" else np.where(keep, rng.standard_normal(shape), -np.inf)
    small = attention(q, k, v, attn_mask=mask, backend=backend)
    full = attention(q, k, v, attn_mask=np.broadcast_to(mask, (2, 6, 4, 5)), backend=backend)
    assert small.output.midpoint.tolist() == full.output.midpoint.tolist()
    assert (small.keep == np.broadcast_to(keep, (2, 6, 4, 5))).all()


def test_query_heads_share_key_heads_in_consecutive_groups(backend):
    v = np.arange(2.0)[:, None, None] * np.ones((2, 3, 1))
    r = attention(np.zeros((6, 1, 1)), np.zeros((2, 3, 1)), v, backend=backend)
    assert r.output.round_to("float32").ravel().tolist() == [0, 0, 0, 1, 1, 1]


def test_batches_broadcast(backend):
    v = np.arange(4.0).reshape(4, 1, 1, 1)
    r = attention(
        np.zeros((3, 1, 2, 2, 1)), np.zeros((2, 1, 1)), v * np.ones((1, 2, 1, 1)), backend=backend
    )
    assert r.output.shape == (3, 4, 2, 2, 1)
    assert (r.output.round_to("float32")[1, :, 0, 0, 0] == [0, 1, 2, 3]).all()


def test_sinks_take_weight_and_give_nothing(backend):
    r = attention(
        np.zeros((2, 1, 1)),
        np.zeros((2, 3, 1)),
        np.ones((2, 3, 1)),
        sinks=[0.0, -1e4],
        backend=backend,
    )
    assert r.output.round_to("float64").ravel().tolist() == [0.75, 1.0]
    assert r.weights.shape == (2, 1, 3)
    assert r.lse.round_to("float32").ravel().tolist() == pytest.approx(np.log([4.0, 3.0]))
    r = attention([[0.0]], [[0.0]], [[1.0]], sinks=[2.0], attn_mask=False, backend=backend)
    assert r.output.round_to("float64").item() == 0
    assert r.lse.round_to("float64").item() == 2


def test_alibi_counts_distance_from_the_query_position(backend):
    r = attention(
        np.zeros((2, 2, 1)),
        np.zeros((2, 3, 1)),
        np.ones((2, 3, 1)),
        alibi_slopes=[0.5, 1.0],
        causal_offset=1,
        backend=backend,
    )
    assert r.scores.round_to("float64").tolist() == [
        [[-0.5, 0, -0.5], [-1, -0.5, 0]],
        [[-1, 0, -1], [-2, -1, 0]],
    ]


def test_softcap_comes_before_the_mask(backend):
    r = attention(
        [[8.0]], [[1.0], [1.0]], np.eye(2), softcap=2.0, attn_mask=[0.0, 50.0], backend=backend
    )
    s = r.scores.round_to("float64")[0]
    assert 1.99 < s[0] < 2.0
    assert s[1] == pytest.approx(s[0] + 50)


def test_the_default_scale_is_the_real_number(backend):
    """1/sqrt(3) as a float64 differs from the real number after 17 digits; both can be had."""
    q, k = np.full((1, 3), 1.0), np.full((2, 3), [[1.0], [2.0]])
    real = attention(q, k, np.eye(2), backend=backend)
    rounded = attention(q, k, np.eye(2), scale=1 / np.sqrt(3), backend=backend)
    assert not real.scores.overlaps(rounded.scores).any()
    assert real.scores.decimal(30)[0, 0] == "1.73205080756887729352744634151"
    assert rounded.scores.radius.tolist() == [[0, 0]]
    for scale in (Fraction(1, 4), 0.25, np.float32(0.25), np.array(0.25)):
        r = attention(q, k, np.eye(2), scale=scale, backend=backend)
        assert r.scores.midpoint.tolist() == [[Fraction(3, 4), Fraction(3, 2)]]


def test_a_scale_beyond_every_float(backend):
    huge = Fraction(10**400 + 1, 3)
    r = attention([[1.0]], [[1.0], [-1.0]], np.eye(2), scale=-huge, backend=backend)
    assert r.weights.round_to("float64").tolist() == [[0.0, 1.0]]
    assert abs(r.scores.midpoint[0, 0] + huge) <= r.scores.radius[0, 0]


def test_empty_rows_follow_the_rule_asked_for(backend):
    arguments = np.zeros((2, 1)), np.zeros((2, 1)), np.ones((2, 1))
    options = {"attn_mask": [[True, True], [False, False]], "backend": backend}
    r = attention(*arguments, **options)
    assert r.output.midpoint.tolist() == [[1], [0]] and r.weights.midpoint[1].tolist() == [0, 0]
    assert r.lse.midpoint[1] == -np.inf and r.lse.radius[1] == 0
    assert r.lse.round_to("float16")[1] == -np.inf
    r = attention(*arguments, **options, empty_rows="nan")
    assert np.isnan(r.output.round_to("bfloat16").astype(float)).tolist() == [[False], [True]]
    assert np.isnan(r.weights.as_floats()[0]).tolist() == [[False] * 2, [True] * 2]
    with pytest.raises(InputError, match=r"no key is kept for the query at index \(0, 1\)"):
        attention(*arguments, **options, empty_rows="error")


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_masked_places_may_hold_anything(backend, odd):
    q, k, v = np.ones((2, 1)), np.ones((3, 1)), np.array([[1.0], [2.0], [3.0]])
    k[2], v[2] = odd, odd
    r = attention(q, k, v, attn_mask=[True, True, False], backend=backend)
    assert r.output.round_to("float64").tolist() == [[1.5], [1.5]]
    q[1] = odd
    keep = [[True, True, False], [False] * 3]
    r = attention(q, k, v, attn_mask=keep, backend=backend)
    assert r.output.round_to("float64").tolist() == [[1.5], [0]]
    bias = np.array([[0.0, odd if odd != -np.inf else np.nan, 0.0]])
    r = attention(np.ones((1, 1)), k, v, attn_mask=bias, is_causal=True, backend=backend)
    assert r.output.round_to("float64").tolist() == [[1.0]]


@pytest.mark.parametrize("which", ["query", "key", "value"])
def test_numbers_that_are_not_finite_in_kept_places_are_reported(which):
    arrays = {"query": np.ones((2, 2, 1)), "key": np.ones((1, 3, 1)), "value": np.ones((1, 3, 1))}
    arrays[which][0, 1, 0] = np.nan
    with pytest.raises(InputError, match=rf"{which} of shape .* holds nan at index \(0, 1, 0\)"):
        attention(**arrays)


def test_what_a_broadcast_or_shared_array_holds_counts_for_every_reader():
    """A key that both batch entries share, and one that two query heads share."""
    q, k, v = np.ones((2, 2, 1, 1)), np.ones((1, 1, 2, 1)), np.ones((1, 1, 2, 1))
    k[0, 0, 1] = np.nan
    keep = np.ones((2, 2, 1, 2), bool)
    keep[..., 1] = False
    assert (attention(q, k, v, attn_mask=keep).output.round_to("float64") == 1).all()
    for reader in np.ndindex(2, 2):
        mask = keep.copy()
        mask[(*reader, 0, 1)] = True
        with pytest.raises(InputError, match=r"key of shape .* holds nan at index \(0, 0, 1, 0\)"):
            attention(q, k, v, attn_mask=mask)


class TensorLike:
    """What a torch tensor offers, without torch: NumPy cannot read it before it is detached."""

    def __init__(self, array, dtype, ready=False):
        self.array, self.dtype, self.ready = array, dtype, ready

    def detach(self):
        return TensorLike(self.array, self.dtype, ready="bfloat16" not in self.dtype)

    def cpu(self):
        return self

    def float(self):
        return TensorLike(self.array.astype(np.float32), "torch.float32", ready=True)

    def __array__(self, dtype=None, copy=None):
        if not self.ready:
            raise RuntimeError("call detach() first")
        return np.asarray(self.array, dtype)


@pytest.mark.parametrize("dtype", ["torch.float32", "torch.bfloat16"])
def test_tensors_of_torch_are_read(dtype):
    x = TensorLike(np.arange(6, dtype=np.float32).reshape(3, 2), dtype)
    got = attention(x, x, x).output.midpoint.tolist()
    assert got == attention(x.array, x.array, x.array).output.midpoint.tolist()


@pytest.mark.parametrize(
    "sizes", [(0, 3, 2, 2), (2, 0, 2, 2), (2, 3, 0, 2), (2, 3, 2, 0), (0, 0, 0, 0)]
)
@pytest.mark.parametrize("lead", [(), (2,), (0, 2), (3, 0)])
def test_zero_lengths(backend, sizes, lead):
    L, S, E, Ev = sizes
    r = attention(
        np.ones((*lead, L, E)),
        np.ones((*lead, S, E)),
        np.ones((*lead, S, Ev)),
        scale=1,
        backend=backend,
    )
    assert r.output.round_to("float64").shape == (*lead, L, Ev)
    assert r.weights.round_to("float64").shape == (*lead, L, S)
    assert r.lse.round_to("float64").shape == (*lead, L)
    assert r.scores.as_floats()[0].shape == (*lead, L, S)
    if S and E == 0:
        assert (r.weights.round_to("float64") == np.float64(1 / 3)).all()
    repr(r.output)


@pytest.mark.parametrize("name", DTYPES)
def test_inputs_of_every_type_are_the_numbers_they_hold(name, backend):
    x = (np.arange(-3, 3) / 2).reshape(3, 2).astype(DTYPES[name])
    r = attention(x, x, x, backend=backend)
    exact = x.astype(np.float64)
    assert (
        r.output.midpoint.tolist()
        == attention(exact, exact, exact, backend=backend).output.midpoint.tolist()
    )


def test_integers_lists_strides_and_read_only_arrays_are_read():
    x = np.arange(12).reshape(3, 4)
    expected = attention(x, x, x).output.midpoint.tolist()
    wide = np.zeros((6, 8))
    wide[::2, ::2] = x
    view = wide[::2, ::2]
    view.flags.writeable = False
    for y in (x.tolist(), x.astype(np.int8), view, np.asfortranarray(x)):
        assert attention(y, y, y).output.midpoint.tolist() == expected
    assert (wide[::2, ::2] == x).all()


GOOD = {"query": np.ones((2, 3, 4)), "key": np.ones((2, 5, 4)), "value": np.ones((2, 5, 6))}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"query": np.ones(4)}, r"query has shape \(4,\): fewer than two dimensions; got query"),
        ({"query": np.ones((3, 4))}, "must all have a head dimension or all lack it"),
        (
            {"query": np.ones((2, 3, 5))},
            r"query and key differ in their last dimension E; got query \(2, 3, 5\)",
        ),
        (
            {"value": np.ones((2, 4, 6))},
            r"key and value differ in their number of keys S; .*\(2, 4, 6\)",
        ),
        ({"value": np.ones((1, 5, 6))}, "key and value differ in their number of heads"),
        ({"query": np.ones((3, 3, 4))}, "the 3 query heads are not a multiple of the 2 key heads"),
        (
            {"query": np.ones((2, 2, 3, 4)), "key": np.ones((3, 2, 5, 4))},
            r"the batch dimensions do not broadcast; got query \(2, 2, 3, 4\)",
        ),
        (
            {"query": np.ones((2, 3, 4), complex)},
            r"query has dtype complex128 and shape \(2, 3, 4\); expected float64",
        ),
        (
            {"key": np.full((2, 5, 4), None)},
            r"key has dtype object .* and shape \(2, 5, 4\); expected float64",
        ),
        ({"key": "text"}, r"key has dtype <U4 and shape \(\); expected float64"),
        ({"key": np.ones((2, 5, 4), bool)}, "key has dtype bool"),
        (
            {"value": np.ones((2, 5, 6), np.longdouble)},
            "value has dtype (longdouble|float128|float64)",
        ),
        ({"value": [[1.0], [1.0, 2.0]]}, "value cannot be read as an array"),
        ({"value": np.full((2, 5, 6), 2**53 + 1)}, r"value holds integers beyond 2\*\*53"),
        (
            {"attn_mask": np.ones((3, 4), bool)},
            r"attn_mask has shape \(3, 4\), which does not broadcast .* \(2, 3, 5\)",
        ),
        (
            {"attn_mask": np.ones((1, 2, 3, 5), bool)},
            r"attn_mask has shape \(1, 2, 3, 5\), which does not broadcast",
        ),
        ({"attn_mask": np.ones((3, 5), int)}, "attn_mask has dtype int64 and shape .* booleans"),
        (
            {"attn_mask": np.full((3, 5), np.nan)},
            r"attn_mask, broadcast to \(2, 3, 5\), holds nan at index \(0, 0, 0\)",
        ),
        ({"attn_mask": np.full((3, 5), np.inf)}, "holds inf at index"),
        ({"is_causal": 1}, "is_causal is 1; expected True or False"),
        ({"causal_offset": 0.5}, "causal_offset is 0.5; expected an integer"),
        ({"causal_offset": True}, "causal_offset is True; expected an integer"),
        ({"window": 3}, r"window is 3; expected a pair \(left, right\)"),
        ({"window": (1, -1)}, r"window \(right\) is -1; expected a number >= 0"),
        ({"window": (1.5, None)}, r"window \(left\) is 1.5; expected an integer"),
        ({"scale": np.nan}, "scale is nan; expected a finite number"),
        ({"scale": "auto"}, "scale is 'auto'; expected one real number"),
        ({"scale": 1j}, "scale is 1j; expected one real number"),
        ({"softcap": 0.0}, "softcap is 0.0; expected a number > 0, or None"),
        ({"softcap": np.inf}, "softcap is inf; expected a finite number"),
        (
            {"sinks": np.zeros(3)},
            r"sinks has shape \(3,\); expected \(2,\), one number for each query head",
        ),
        ({"sinks": [0.0, np.nan]}, r"sinks of shape \(2,\) holds nan at index \(1,\)"),
        ({"alibi_slopes": np.zeros((2, 1))}, r"alibi_slopes has shape \(2, 1\)"),
        ({"precision": 0}, "precision is 0; expected a number of bits"),
        ({"precision": "50"}, "precision is '50'; expected a number of bits"),
        ({"precision": 1.5}, "precision is 1.5"),
        ({"empty_rows": "one"}, "empty_rows is 'one'; expected one of 'zeros', 'nan', 'error'"),
        ({"backend": "mpfr"}, "backend is 'mpfr'; expected one of 'auto', 'python', 'flint'"),
    ],
)
def test_bad_input_gets_one_clear_sentence(change, message):
    with pytest.raises(InputError, match=message) as caught:
        attention(**(GOOD | change))
    assert "\n" not in str(caught.value)


def test_default_scale_without_a_width_is_refused():
    with pytest.raises(InputError, match=r"scale=None means 1/sqrt\(E\).*E = 0.*pass scale"):
        attention(np.ones((2, 0)), np.ones((2, 0)), np.ones((2, 1)))


@pytest.mark.parametrize("name", ["float8", "int8", "float128", 7, None])
def test_an_unknown_format_is_refused(name):
    o = attention([[1.0]], [[1.0]], [[1.0]]).output
    if name is None:
        return  # NumPy reads None as float64
    with pytest.raises(
        InputError, match=r"format .* is not known; expected one of float64, float32"
    ):
        o.round_to(name)


def test_formats_go_by_several_names():
    o = attention([[1.0]], [[1.0]], [[1.0]]).output
    names = [
        "bfloat16",
        ml_dtypes.bfloat16,
        np.dtype(ml_dtypes.bfloat16),
        reference.FORMATS["bfloat16"],
    ]
    for name in names:
        assert o.round_to(name).dtype == ml_dtypes.bfloat16
    assert o.round_to("float8_e5m2").dtype == o.round_to("e5m2").dtype == ml_dtypes.float8_e5m2


def test_missing_packages_are_named(monkeypatch):
    import sys

    o = attention([[1.0]], [[1.0]], [[1.0]]).output
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(
        MissingDependency, match=r"bfloat16 needs the package ml_dtypes.*\[formats\]"
    ):
        o.round_to("bfloat16")
    assert o.round_to("float32") == 1
    monkeypatch.setitem(sys.modules, "flint", None)
    monkeypatch.delitem(sys.modules, "attnproofs.reference.flint_backend", raising=False)
    with pytest.raises(MissingDependency, match=r"python-flint.*\[flint\]"):
        attention([[1.0]], [[1.0]], [[1.0]], backend="flint")
    assert attention([[1.0]], [[1.0]], [[1.0]]).backend == "python"


def test_importing_the_package_imports_no_numpy():
    import subprocess
    import sys

    code = "import sys, attnproofs, attnproofs.reference; print('numpy' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"


def test_every_public_name_loads():
    for name in reference.__all__:
        assert getattr(reference, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'attention_'"):
        _ = reference.attention_
