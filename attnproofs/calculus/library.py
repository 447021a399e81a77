"""The definitions that statements use: products, softmax, weights, attention, variance.

A definition is closed: everything it mentions is a parameter. The functions here infer the
dimensions from the arrays that they are given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from attnproofs.calculus.symbols import (
    Array,
    Expr,
    Ix,
    Real,
    Scope,
    Sum,
    as_expr,
    exp,
    expect,
    ind,
    log,
    span,
    sqrt,
)
from attnproofs.errors import InputError
from attnproofs.kernel import index as ix
from attnproofs.kernel.statement import Definition
from attnproofs.kernel.terms import Term, subterms

_LIBRARY: dict[str, Definition] = {}


def register(definition: Definition) -> Definition:
    """Add a definition to the library.

    Raises
    ------
    InputError
        When another definition has the same name.
    """
    known = _LIBRARY.setdefault(definition.name, definition)
    if known != definition:
        raise InputError(f"{definition.name} is already defined otherwise")
    return definition


def definition(name: str) -> Definition:
    """Return a definition of the library."""
    return _LIBRARY[name]


def definitions_in(names: Iterable[str]) -> tuple[Definition, ...]:
    """Return the named definitions and all that they use, each after those it uses."""
    needed: dict[str, Definition] = {}

    def visit(name: str) -> None:
        if name in needed:
            return
        if name not in _LIBRARY:
            raise InputError(f"{name} is not defined")
        d = _LIBRARY[name]
        for body in (d.body, d.base):
            for u in subterms(body) if body is not None else ():
                if u[0] == "app" and u[1] != name:
                    visit(u[1])
        needed[name] = d

    for name in sorted(names):
        visit(name)
    return tuple(needed.values())


def define(
    name: str,
    params: Callable[[Scope], list[Any]],
    body: Callable[..., Array | Expr],
) -> Callable[..., Any]:
    """Define a symbol. `params` declares the parameters in a scope and returns them in order.

    `body` gets the parameters and returns an array (its axes are the result's) or an expression.
    Returns a function that applies the symbol to integers, arrays and expressions.
    """
    scope = Scope(name)
    values = params(scope)
    result = body(*values)
    kinds = _parameters(scope)
    indices: tuple[tuple[str, ix.Axis], ...] = ()
    term: Term
    if isinstance(result, Array):
        names = [f"{name}_{k}" for k in range(len(result.axes))]
        indices = tuple(zip(names, result.axes))
        term = result[tuple(Ix(ix.var(n)) for n in names)].term
    else:
        term = result.term
    made = register(Definition(name, tuple(kinds), indices, term))
    return lambda *arguments: apply_definition(made, arguments)


def _parameters(scope: Scope) -> list[tuple[Any, ...]]:
    kinds: list[tuple[Any, ...]] = []
    for d in scope.declared():
        if d.kind == "dimension":
            kinds.append(("int", d.name, d.least))
        elif d.kind == "tensor":
            kinds.append(("tensor", d.name, d.axes))
        else:
            kinds.append(("real", d.name))
    return kinds


def define_recursive(
    name: str,
    params: Callable[[Scope], list[Any]],
    base: Callable[..., Array | Expr],
    step: Callable[..., Array | Expr],
) -> Callable[..., Any]:
    """Define a symbol by recursion on its first parameter, a natural number.

    `params` declares the parameters in a scope and returns them in order, the first one declared
    with ``least=0``. ``base(*others)`` is the value at 0; ``step(before, k, *others)`` is the value
    at ``k + 1``, in which `before` (an array, or an expression without indices) is that at ``k``.
    """
    scope = Scope(name)
    stage, *others = params(scope)
    kinds = _parameters(scope)
    first = base(*others)
    axes = first.axes if isinstance(first, Array) else ()
    names = tuple(f"{name}_{k}" for k in range(len(axes)))
    places = tuple(Ix(ix.var(n)) for n in names)
    own = tuple(
        ("int", v.index) if isinstance(v, Ix)
        else v.lam() if isinstance(v, Array)
        else ("real", v.term)
        for v in (stage, *others)
    )  # fmt: skip

    def at(*i: Ix) -> Expr:
        return Expr(("app", name, own, tuple(j.index for j in i)))

    before = Array(axes, at) if axes else at()
    following = step(before, stage, *others)

    def entry(value: Array | Expr) -> Term:
        found: Term = value[places].term if isinstance(value, Array) else value.term
        return found

    made = register(
        Definition(
            name,
            tuple(kinds),
            tuple(zip(names, axes)),
            entry(following),
            recursion=str(kinds[0][1]),
            base=entry(first),
        )
    )
    return lambda *arguments: apply_definition(made, arguments)


def apply_definition(made: Definition, arguments: tuple[Any, ...]) -> Any:
    """Return the defined symbol at its arguments: an `Array`, or an `Expr` without indices."""
    from attnproofs.kernel.terms import substitution

    given: list[Term] = []
    integers: dict[str, Term] = {}
    for parameter, value in zip(made.params, arguments, strict=True):
        if parameter[0] == "int":
            given.append(("int", value.index if isinstance(value, Ix) else ix.const(value)))
            integers[parameter[1]] = given[-1]
        elif parameter[0] == "tensor":
            given.append(value.lam())
        else:
            given.append(("real", as_expr(value).term))
    axes = tuple(ix.axis_substitute(a, substitution(integers)) for _, a in made.indices)
    whole = tuple(given)
    if not axes:
        return Expr(("app", made.name, whole, ()))
    return Array(axes, lambda *i: Expr(("app", made.name, whole, tuple(j.index for j in i))))


# ---------------------------------------------------------------------- linear algebra

_matmul = define(
    "matmul",
    lambda s: [
        *s.dimensions("m d n"),
        s.tensor("A", s["m"], s["d"]),
        s.tensor("B", s["d"], s["n"]),
    ],
    lambda m, d, n, A, B: Array(
        (span(1, m).axis, span(1, n).axis), lambda i, j: Sum(d, lambda a: A[i, a] * B[a, j])
    ),
)

_transpose = define(
    "transpose",
    lambda s: [*s.dimensions("m n"), s.tensor("A", s["m"], s["n"])],
    lambda m, n, A: Array((span(1, n).axis, span(1, m).axis), lambda j, i: A[i, j]),
)

_dot = define(
    "dot",
    lambda s: [s.dimension("d"), s.tensor("u", s["d"]), s.tensor("v", s["d"])],
    lambda d, u, v: Sum(d, lambda a: u[a] * v[a]),
)


def matmul(A: Array, B: Array) -> Array:
    """Return the matrix product: ``(A B)[i, j] = sum_a A[i, a] B[a, j]``."""
    result: Array = _matmul(A.size(0), A.size(1), B.size(1), A, B)
    return result


def transpose(A: Array) -> Array:
    """Return the transpose of a matrix."""
    result: Array = _transpose(A.size(0), A.size(1), A)
    return result


def dot(u: Array, v: Array) -> Expr:
    """Return the dot product of two vectors."""
    result: Expr = _dot(u.size(0), u, v)
    return result


# ---------------------------------------------------------------------- softmax and attention

_softmax = define(
    "softmax",
    lambda s: [s.dimension("n"), s.tensor("s", s["n"])],
    lambda n, s: Array((span(1, n).axis,), lambda i: exp(s[i]) / Sum(n, lambda l: exp(s[l]))),
)

_column_softmax = define(
    "column_softmax",
    lambda s: [*s.dimensions("m n"), s.tensor("S", s["m"], s["n"])],
    lambda m, n, S: Array(
        (span(1, m).axis, span(1, n).axis),
        lambda i, j: exp(S[i, j]) / Sum(m, lambda l: exp(S[l, j])),
    ),
)

_weights = define(
    "weights",
    lambda s: [s.dimension("n"), s.tensor("b", s["n"]), s.tensor("s", s["n"])],
    lambda n, b, s: Array(
        (span(1, n).axis,),
        lambda j: b[j] * exp(s[j]) / Sum(n, lambda l: b[l] * exp(s[l])),
    ),
)

_scores = define(
    "scores",
    lambda s: [
        *s.dimensions("m n d"),
        s.tensor("Q", s["m"], s["d"]),
        s.tensor("K", s["n"], s["d"]),
    ],
    lambda m, n, d, Q, K: Array(
        (span(1, m).axis, span(1, n).axis), lambda i, j: dot(Q[i], K[j]) / sqrt(d)
    ),
)


def softmax(s: Array) -> Array:
    """Return the softmax of a vector of scores."""
    result: Array = _softmax(s.size(0), s)
    return result


def column_softmax(S: Array) -> Array:
    """Return the softmax of every column of a matrix."""
    result: Array = _column_softmax(S.size(0), S.size(1), S)
    return result


def weights(b: Array, s: Array) -> Array:
    """Return the attention weights of one row: hard zeros where the 0/1 vector `b` is 0."""
    result: Array = _weights(s.size(0), b, s)
    return result


def scores(Q: Array, K: Array) -> Array:
    """Return the scaled scores ``Q[i] . K[j] / sqrt(d)``."""
    result: Array = _scores(Q.size(0), K.size(0), Q.size(1), Q, K)
    return result


_logsumexp = define(
    "logsumexp",
    lambda s: [s.dimension("n"), s.tensor("s", s["n"])],
    lambda n, s: log(Sum(n, lambda l: exp(s[l]))),
)

_entropy = define(
    "entropy",
    lambda s: [s.dimension("n"), s.tensor("p", s["n"])],
    lambda n, p: -Sum(n, lambda i: p[i] * log(p[i])),
)

_logistic = define("logistic", lambda s: [s.scalar("x")], lambda x: 1 / (1 + exp(-x)))

_tanh = define("tanh", lambda s: [s.scalar("x")], lambda x: (exp(2 * x) - 1) / (exp(2 * x) + 1))


def logsumexp(s: Array) -> Expr:
    """Return ``log sum_l exp(s[l])``."""
    result: Expr = _logsumexp(s.size(0), s)
    return result


def entropy(p: Array) -> Expr:
    """Return the entropy ``- sum_i p[i] log p[i]`` of positive weights, in nats."""
    result: Expr = _entropy(p.size(0), p)
    return result


def logistic(x: Real) -> Expr:
    """Return the logistic function ``1 / (1 + exp(-x))``."""
    result: Expr = _logistic(x)
    return result


def tanh(x: Real) -> Expr:
    """Return the hyperbolic tangent."""
    result: Expr = _tanh(x)
    return result


_causal_attention = define(
    "causal_attention",
    lambda s: [
        *s.dimensions("T d d_v"),
        s.tensor("Q", s["T"], s["d"]),
        s.tensor("K", s["T"], s["d"]),
        s.tensor("V", s["T"], s["d_v"]),
    ],
    lambda T, d, d_v, Q, K, V: Array(
        (span(1, T).axis, span(1, d_v).axis),
        lambda i, c: Sum(
            T,
            lambda j: (
                weights(Array((span(1, T).axis,), lambda l: ind(l <= i)), scores(Q, K)[i])[j]
                * V[j, c]
            ),
        ),
    ),
)


_window_paths = define_recursive(
    "window_paths",
    lambda s: [s.dimension("l", least=0), *s.dimensions("T w")],
    lambda T, w: Array((span(1, T).axis, span(1, T).axis), lambda i, j: ind(j.is_(i))),
    lambda before, l, T, w: Array(
        (span(1, T).axis, span(1, T).axis),
        lambda i, j: Sum(T, lambda k: ind((k <= i) & (i - k < w)) * before[k, j]),
    ),
)


_power = define_recursive(
    "power",
    lambda s: [s.dimension("k", least=0), s.scalar("x")],
    lambda x: as_expr(1),
    lambda before, k, x: before * x,
)

_rounding_factor = define_recursive(
    "rounding_factor",
    lambda s: [s.dimension("k", least=0), *s.dimensions("n N"), s.tensor("δ", s["n"], s["N"])],
    lambda n, N, error: Array((span(1, n).axis,), lambda i: as_expr(1)),
    lambda before, k, n, N, error: Array(
        (span(1, n).axis,), lambda i: before[i] * (1 + ind(k + 1 <= N) * error[i, k + 1])
    ),
)


_rescaled_weight = define_recursive(
    "rescaled_weight",
    lambda s: [
        s.dimension("b", least=0),
        s.dimension("N", least=0),
        s.scalar("x"),
        s.tensor("m", span(0, s["N"])),
        s.tensor("f", span(0, s["N"])),
        s.tensor("r", span(0, s["N"])),
    ],
    lambda N, x, m, f, r: exp(x - m[0]) * f[0],
    lambda before, b, N, x, m, f, r: (
        ind(b + 1 <= N) * before * (exp(m[b] - m[b + 1]) * f[b + 1]) * r[b + 1]
    ),
)


def rescaled_weight(b: Ix | int, x: Real, m: Array, f: Array, r: Array) -> Expr:
    """Return the weight of a key of score x as computed through b rescales of the running maximum.

    The shifts are ``m[0..b]``; ``f[t]`` is the factor that the t-th exponential is off by, and
    ``r[t]`` that of the t-th multiplication.
    """
    N = m.size(0) - 1
    result: Expr = _rescaled_weight(b, N, x, m, f, r)
    return result


_rotation = define_recursive(
    "rotation",
    lambda s: [s.dimension("t", least=0), s.scalar("c"), s.scalar("s")],
    lambda c, s: Array((span(1, 2).axis,), lambda r: ind(r.is_(1))),
    lambda before, t, c, s: Array(
        (span(1, 2).axis,),
        lambda r: (
            ind(r.is_(1)) * (before[1] * c - before[2] * s)
            + ind(~r.is_(1)) * (before[2] * c + before[1] * s)
        ),
    ),
)


def rotation(t: Ix | int, c: Real, s: Real) -> Array:
    """Return cosine and sine of t times an angle, whose cosine is `c` and whose sine is `s`."""
    rotated: Array = _rotation(t, c, s)
    return rotated


_rope = define(
    "rope",
    lambda s: [
        s.dimension("t", least=0),
        s.dimension("h"),
        s.tensor("q", s["h"], 2),
        s.tensor("c", s["h"]),
        s.tensor("s", s["h"]),
    ],
    lambda t, h, q, c, s: Array(
        (span(1, h).axis, span(1, 2).axis),
        lambda a, r: (
            ind(r.is_(1))
            * (q[a, 1] * rotation(t, c[a], s[a])[1] - q[a, 2] * rotation(t, c[a], s[a])[2])
            + ind(~r.is_(1))
            * (q[a, 1] * rotation(t, c[a], s[a])[2] + q[a, 2] * rotation(t, c[a], s[a])[1])
        ),
    ),
)


def rope(t: Ix | int, q: Array, c: Array, s: Array) -> Array:
    """Return the pairs of `q` rotated t times, pair a by the angle of cosine c[a] and sine s[a]."""
    rotated: Array = _rope(t, q.size(0), q, c, s)
    return rotated


def power(x: Real, k: Ix | int) -> Expr:
    """Return x to the natural number k, which may be symbolic."""
    result: Expr = _power(k, x)
    return result


def rounding_factor(k: Ix | int, error: Array) -> Array:
    """Return the product of ``1 + error[i, t]`` over the first k roundings t, for each i."""
    result: Array = _rounding_factor(k, error.size(0), error.size(1), error)
    return result


def window_paths(layers: Ix | int, T: Ix, w: Ix) -> Array:
    """Return the number of ways from token i back to token j through layers of window w."""
    result: Array = _window_paths(layers, T, w)
    return result


def causal_attention(Q: Array, K: Array, V: Array) -> Array:
    """Return causal scaled dot-product attention: row i uses the keys 1..i."""
    result: Array = _causal_attention(Q.size(0), Q.size(1), V.size(1), Q, K, V)
    return result


# ---------------------------------------------------------------------- probability

_variance = define(
    "variance",
    lambda s: [s.scalar("x")],
    lambda x: expect((x - expect(x)) * (x - expect(x))),
)


def variance(x: Real) -> Expr:
    """Return the variance ``E (x - E x)^2``."""
    result: Expr = _variance(x)
    return result


# ---------------------------------------------------------------------- caches


def _define_cache() -> Definition:
    """Return the cache of one projection during decoding, by recursion on the step t.

    At step t + 1 the projected new token is appended; what was cached before is kept.
    """
    t, i = Ix(ix.var("t")), span(1, Ix(ix.var("t")))
    D, d = Ix(ix.var("D")), Ix(ix.var("d"))
    X = Array((i.axis, span(1, D).axis), lambda j, m: _named_entry("X", j, m))
    W = Array((span(1, D).axis, span(1, d).axis), lambda m, a: _named_entry("W", m, a))
    j, a = Ix(ix.var("cache_0")), Ix(ix.var("cache_1"))
    sizes = tuple(("int", n.index) for n in (t, D, d))
    stage = ("app", "cache", (*sizes, X.lam(), W.lam()), (j.index, a.index))
    new = Sum(D, lambda m: _named_entry("X", t + 1, m) * _named_entry("W", m, a))
    return Definition(
        name="cache",
        params=(
            ("int", "t", 0), ("int", "D", 1), ("int", "d", 1),
            ("tensor", "X", X.axes), ("tensor", "W", W.axes),
        ),
        indices=(("cache_0", i.axis), ("cache_1", span(1, d).axis)),
        body=(ind(j.is_(t + 1)) * new + ind(j <= t) * Expr(stage)).term,
        recursion="t",
        base=as_expr(0).term,
    )  # fmt: skip


def _named_entry(name: str, *indices: Ix) -> Expr:
    return Expr(("ent", name, tuple(i.index for i in indices)))


_CACHE = register(_define_cache())


def cache(t: Ix, X: Array, W: Array) -> Array:
    """Return what is cached after t steps of decoding: the projections of the first t tokens.

    `X` needs rows 1..t at least.
    """
    result: Array = apply_definition(_CACHE, (t, X.size(1), W.size(1), X, W))
    return result
