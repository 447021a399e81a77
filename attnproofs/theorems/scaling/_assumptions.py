"""The assumptions about random queries and keys that the theorems of this chapter share."""

from attnproofs.calculus import Array, Ix, Scope, eq, expect


def random_query_and_key(s: Scope, *, order: int = 2) -> tuple[Ix, Array, Array]:
    """Declare a query and a key, independent of each other; the query's components independent."""
    d_k = s.dimension("d_k")
    q = s.family("q", d_k, order=order, independent=True)
    k = s.family("k", d_k, order=order)
    s.independent("q", "k")
    return d_k, q, k


def centred_and_unit(s: Scope) -> tuple[Ix, Array, Array]:
    """Declare them with the moments of "Attention Is All You Need": mean 0, variance 1.

    Of the key only the second moments are needed.
    """
    d_k, q, k = random_query_and_key(s)
    s.assume("q_centred", lambda a: eq(expect(q[a]), 0), over={"a": d_k})
    s.assume("q_unit", lambda a: eq(expect(q[a] * q[a]), 1), over={"a": d_k})
    s.assume("k_unit", lambda a: eq(expect(k[a] * k[a]), 1), over={"a": d_k})
    return d_k, q, k
