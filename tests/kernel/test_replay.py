"""Chains, inductions, factorisations, shapes and statements: what replay refuses, and says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from attnproofs.calculus import Scope, Sum, eq, exp, le, lt
from attnproofs.kernel import read
from attnproofs.kernel.refused import Refused
from attnproofs.kernel.replay import Replay
from attnproofs.kernel.statement import canonical
from attnproofs.theorems import theorem
from tests.kernel.steps import certificate, verdict

N = [[[["v", "n"]], 1]]
ONE = [[[], 1]]
Q1 = ["q", 1, 1]


def of(id: str, part: int = 0) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return a part of a theorem's certificate (a copy), its statement and its proof."""
    made = json.loads(canonical(theorem(id).certificate()))
    made["parts"] = [made["parts"][part]]
    return made, made["parts"][0]["statement"], made["parts"][0]["proof"]


# ---------------------------------------------------------------------- chains


def test_the_relation_of_a_chain_is_that_of_the_claim() -> None:
    s = Scope("case")
    t = s.scalar("t")
    weak = certificate(s, 1 + t, exp(t), "exp_ge", relation="<=")
    assert verdict(weak) == ""
    for relation, because in (
        ("=", "an equality is claimed, and the chain has an inequality"),
        ("<", "a strict inequality is claimed, and no step of the chain is strict"),
    ):
        weak["parts"][0]["statement"]["claim"]["relation"] = relation
        assert because in verdict(weak)


def test_an_equality_proves_a_weak_inequality_and_no_strict_one() -> None:
    s = Scope("case")
    x = s.scalar("x")
    made = certificate(s, x + x, 2 * x, "ring")
    made["parts"][0]["statement"]["claim"]["relation"] = "<="
    assert verdict(made) == ""
    made["parts"][0]["statement"]["claim"]["relation"] = "<"
    assert "no step of the chain is strict" in verdict(made)


def test_a_step_has_one_of_three_relations() -> None:
    s = Scope("case")
    x = s.scalar("x")
    made = certificate(s, x, x + 0, "ring")
    made["parts"][0]["proof"]["steps"][0]["relation"] = ">="
    assert "step 1: a chain has =, <= and < only" in verdict(made)


def test_back_is_a_truth_value() -> None:
    s = Scope("case")
    x = s.scalar("x")
    made = certificate(s, x, x + 0, "ring")
    made["parts"][0]["proof"]["steps"][0]["back"] = 0
    assert "'back' is true or false" in verdict(made)


def test_a_line_is_well_formed_before_any_rule_looks_at_it() -> None:
    s = Scope("case")
    x = s.scalar("x")
    assert "a divisor may be zero" in verdict(certificate(s, x, x / x * x, "ring"))


# ---------------------------------------------------------------------- induction


def test_an_induction_is_replayed() -> None:
    assert verdict(of("gauss")[0]) == ""


@pytest.mark.parametrize(
    ("field", "value", "because"),
    [
        ("on", "z", "an induction is on a declared dimension, from its least value"),
        ("from", 5, "an induction is on a declared dimension, from its least value"),
        ("base", None, "proof: an object is expected"),
        ("step", None, "proof: an object is expected"),
    ],
)
def test_an_induction_has_a_dimension_a_base_and_a_step(
    field: str, value: Any, because: str
) -> None:
    made, _, proof = of("gauss")
    proof[field] = value
    assert because in verdict(made)


def test_an_induction_needs_its_base() -> None:
    made, _, proof = of("gauss")
    proof["base"]["steps"] = []
    assert "a proof of something else" in verdict(made)
    proof.pop("base")
    assert "missing or unknown keys: base" in verdict(made)


def test_the_induction_hypothesis_is_about_n_and_not_about_n_plus_one() -> None:
    made, _, proof = of("gauss")
    chain = proof["step"]
    last = chain["steps"][-1]["term"]
    chain["steps"] = [{"term": last, "relation": "=", "rule": "hyp", "at": [],
                       "args": {"name": "IH", "at": {}}, "back": False}]  # fmt: skip
    assert "hypothesis IH does not match this step" in verdict(made)


def test_the_induction_hypothesis_is_not_known_in_the_base() -> None:
    made, _, proof = of("gauss")
    step = {"rule": "hyp", "args": {"name": "IH", "at": {}}}
    proof["base"]["steps"] = [{**proof["base"]["steps"][-1], **step}]
    assert "no hypothesis IH may be used here" in verdict(made)


def test_an_induction_on_the_length_of_a_tensor_is_refused() -> None:
    """The claim at n would be about another tensor than the claim at n + 1."""
    s = Scope("case")
    n = s.dimension("n")
    x = s.tensor("x", n)
    made = certificate(s, Sum(n, lambda i: x[i]), Sum(n, lambda i: x[i]) + 0, "ring")
    chain = made["parts"][0]["proof"]
    made["parts"][0]["proof"] = {"kind": "induct", "on": "n", "from": 1, "base": chain,
                                 "step": chain}  # fmt: skip
    assert "an induction on n needs tensors whose axes do not mention it (x does)" in verdict(made)


def test_a_hypothesis_about_n_must_be_a_plain_condition() -> None:
    s = Scope("case")
    n = s.dimension("n")
    x = s.scalar("x")
    s.assume("big", le(n * x, x))
    made = certificate(s, n * x, x * n, "ring")
    chain = made["parts"][0]["proof"]
    n_text, one_text = (json.dumps(x, separators=(",", ":")) for x in (N, ONE))
    at_one = json.loads(canonical(chain).replace(n_text, one_text))
    made["parts"][0]["proof"] = {"kind": "induct", "on": "n", "from": 1, "base": at_one,
                                 "step": chain}  # fmt: skip
    assert "hypothesis big mentions n and is no plain index condition" in verdict(made)


# ---------------------------------------------------------------------- factorisation, shape


def test_a_factorisation_is_replayed() -> None:
    assert _with_lemmas(of("rank_vo")[0], "rank_vo") == ""


def _with_lemmas(made: dict[str, Any], id: str) -> str:
    from attnproofs.calculus.proof import SESSION

    others = []
    todo = [d for p in theorem(id).proved() for d in p.lemmas]
    seen = set()
    while todo:
        digest = todo.pop()
        if digest not in seen:
            seen.add(digest)
            others.append(theorem(SESSION.name_of(digest).split(".")[0]).certificate())
            todo += SESSION.proved[digest].lemmas
    return verdict(made, *others)


def test_the_inner_size_is_the_one_that_is_claimed() -> None:
    made, statement, _ = of("rank_vo")
    statement["claim"]["axis"] = ["range", ONE, ONE]
    assert "factor: the inner size is not the one that is claimed" in _with_lemmas(made, "rank_vo")


def factoring(body: Any, inner: Any, *, row: str = "i", column: str = "j") -> str:
    """Claim that ``sum over c of body`` factors through n, with no step."""
    s = Scope("case")
    n = s.dimension("n")
    s.tensor("A", n, n)
    s.tensor("B", n, n)
    s.index("i", n)
    s.index("j", n)
    made = certificate(s, s["A"][1, 1], s["A"][1, 1] + 0, "ring")
    part = made["parts"][0]
    term = ["sum", inner, body]
    part["statement"]["claim"] |= {"relation": "factors", "lhs": term, "rhs": None, "row": row,
                                   "column": column, "axis": ["range", ONE, N]}  # fmt: skip
    part["proof"] = {"kind": "chain", "start": term, "steps": []}
    return verdict(made)


AXIS = ["range", ONE, N]
C = [[[["b", 0]], 1]]
I, J = [[[["v", "i"]], 1]], [[[["v", "j"]], 1]]


def entry(name: str, a: Any, b: Any) -> Any:
    return ["ent", name, [a, b]]


def test_what_counts_as_a_factorisation() -> None:
    good = ["mul", entry("A", I, C), entry("B", C, J)]
    assert factoring(good, AXIS) == ""
    assert "the left factor depends on the column" in factoring(
        ["mul", entry("A", J, C), entry("B", C, J)], AXIS
    )
    assert "the right factor depends on the row" in factoring(
        ["mul", entry("A", I, C), entry("B", C, I)], AXIS
    )
    assert "must be a sum of products of two factors" in factoring(entry("A", I, C), AXIS)
    from_row = ["range", I, [*N, *I, [[], -1]]]  # i..n+i-1: of size n, and another one in each row
    assert "the inner axis depends on the row or the column" in factoring(
        ["mul", ["add", Q1, Q1], Q1], from_row
    )


def test_a_factorisation_has_a_row_and_another_column() -> None:
    good = ["mul", entry("A", I, C), entry("B", C, J)]
    assert "needs a row, a column and an axis" in factoring(good, AXIS, column="i")
    assert "z is not declared" in factoring(good, AXIS, row="z")


def test_a_shape_is_no_equation_and_an_equation_no_shape() -> None:
    made, _, _ = of("softmax_sum")
    made["parts"][0]["proof"] = {"kind": "shape"}
    assert "this proof is for a shape, and something else is claimed" in verdict(made)
    made, _, _ = of("shapes")
    chain = {"kind": "chain", "start": Q1, "steps": []}
    made["parts"][0]["proof"] = chain
    assert verdict(made) != ""
    made["parts"][0]["proof"] = {
        "kind": "induct",
        "on": "T",
        "from": 1,
        "base": chain,
        "step": chain,
    }
    assert "an induction" in verdict(made)


def test_a_wrong_shape_is_refused() -> None:
    made, statement, _ = of("shapes")
    statement["claim"]["axes"] = statement["claim"]["axes"][:1]
    assert "with the wrong number of axes" in verdict(made)


# ---------------------------------------------------------------------- statements


UNKNOWN = ["range", ONE, [[[["v", "m"]], 1]]]


def plain_case() -> tuple[dict[str, Any], dict[str, Any]]:
    s = Scope("case")
    n = s.dimension("n")
    x = s.tensor("x", n)
    s.assume("zero", lambda a: eq(x[a], 0), over={"a": n})
    made = certificate(s, x[1], x[1] + 0, "ring")
    return made, made["parts"][0]["statement"]


def declared(**changes: Any) -> dict[str, Any]:
    return {"kind": "scalar", "name": "z", "axes": [], "least": 1, "codomain": None, "order": 0,
            "independent": False, **changes}  # fmt: skip


def definition(**changes: Any) -> dict[str, Any]:
    return {"name": "f", "params": [], "indices": [], "body": Q1, "recursion": None, "base": None,
            **changes}  # fmt: skip


@pytest.mark.parametrize(
    ("more", "because"),
    [
        (declared(name="x"), "a name is declared twice"),
        (declared(name=""), "not a name"),
        (declared(name="%z"), "not a name"),
        (declared(kind="number"), "unknown kind 'number'"),
        (declared(kind="tensor", axes=[UNKNOWN]),
         "the axes of z mention m, which is not declared before"),
        (declared(kind="tensor", axes=[["prod", ["range", ONE, ONE], UNKNOWN]]),
         "the axes of z mention m, which is not declared before"),
        (declared(kind="tensor", axes=[["range", ONE, [[[["f", "g", [N]]], 1]]]]),
         "the axes of z mention g, which is not declared"),
        (declared(kind="tensor", axes=[["range", ONE, [[[["b", 0]], 1]]]]),
         "the axes of z mention an index bound outside them"),
        (declared(kind="function", axes=[["range", ONE, N]], codomain=UNKNOWN),
         "the axes of z mention m, which is not declared before"),
        (declared(kind="function", axes=[["range", ONE, N]],
                  codomain=["range", ONE, [[[["b", 1]], 1]]]),
         "the axes of z mention an index bound outside them"),
        (declared(least=0), "'least' is 0 or 1, and 1 unless a dimension is declared"),
        (declared(kind="dimension", least=2), "'least' is 0 or 1"),
        (declared(order=1), "only a random family has moments and independence"),
        (declared(independent=True), "only a random family has moments and independence"),
        (declared(independent=1), "'independent' is true or false"),
        (declared(kind="family", order=-1), "only a random family has moments"),
        (declared(codomain=["range", ONE, ONE]), "only an index function has a codomain"),
        (declared(axes=[["range", ONE, ONE]]), "a scalar has another number of axes"),
        (declared(kind="index"), "a index has another number of axes"),
    ],
)  # fmt: skip
def test_a_wrong_declaration_is_refused(more: dict[str, Any], because: str) -> None:
    made, statement = plain_case()
    statement["declared"].append(more)
    assert because in verdict(made)


@pytest.mark.parametrize(
    ("changes", "because"),
    [
        ({"body": ["sym", "z"]}, "z is not declared"),
        ({"name": "x"}, "a name is declared twice"),
        ({"body": ["app", "f", [], []]}, "f is not a defined symbol"),
        ({"params": [["real", "t"]], "body": ["D", ["sym", "t"], ["sym", "t"]]},
         "f: a derivative may not stand in a definition"),
        ({"params": [["real", "t"]], "recursion": "t", "base": Q1},
         "f: a recursion needs a base and a natural number first"),
        ({"params": [["int", "k", 0]], "recursion": "k"},
         "f: a recursion needs a base and a natural number first"),
        ({"params": [["int", "k", 1]], "recursion": "k", "base": Q1},
         "f: a recursion needs a base and a natural number first"),
        ({"params": [["int", "k", 0]], "recursion": "k", "base": Q1,
          "body": ["app", "f", [["int", [[[["v", "k"]], 1], [[], 1]]]], []]},
         "f may be used at the stage before only"),
        ({"params": [["int", "k", 0]], "recursion": "k", "body": Q1,
          "base": ["app", "f", [["int", []]], []]}, "f is not a defined symbol"),
        ({"params": [["tensor", "t", [UNKNOWN]]]},
         "the axes of t mention m, which is not declared before"),
        ({"indices": [["i", UNKNOWN]]}, "the axes of i mention m, which is not declared before"),
        ({"params": [["int", "k", 2]]}, "not a parameter of a definition"),
    ],
)  # fmt: skip
def test_a_wrong_definition_is_refused(changes: dict[str, Any], because: str) -> None:
    made, statement = plain_case()
    statement["definitions"].append(definition(**changes))
    assert because in verdict(made)


def index_functions(lhs: Any) -> str:
    """Claim ``lhs = lhs`` where f takes an index 1..n to one, and p is a condition on one."""
    made, statement = plain_case()
    axis = ["range", ONE, N]
    statement["declared"] += [
        declared(kind="function", name="f", axes=[axis], codomain=axis),
        declared(kind="predicate", name="p", axes=[axis]),
    ]
    statement["claim"] |= {"lhs": lhs, "rhs": lhs}
    made["parts"][0]["proof"] = {"kind": "chain", "start": lhs, "steps": []}
    return verdict(made)


def test_index_functions_and_predicates_take_the_indices_they_are_declared_on() -> None:
    def f(*arguments: Any) -> Any:
        return ["ent", "x", [[[[["f", "f", list(arguments)]], 1]]]]

    def p(*arguments: Any) -> Any:
        return ["ind", ["pred", "p", list(arguments)]]

    assert index_functions(f(ONE)) == index_functions(p(ONE)) == ""
    assert "f takes 1 indices, not 2" in index_functions(f(ONE, ONE))
    assert "p takes 1 indices, not 2" in index_functions(p(ONE, ONE))
    assert "an argument of f is out of range: cannot show 1 <= 0" in index_functions(f([]))
    assert "an index of p is out of range: cannot show 1 <= 0" in index_functions(p([]))


def test_a_recursion_that_goes_down_is_accepted() -> None:
    made, statement = plain_case()
    body = ["add", Q1, ["app", "f", [["int", [[[["v", "k"]], 1]]]], []]]
    statement["definitions"].append(
        definition(params=[["int", "k", 0]], recursion="k", base=Q1, body=body)
    )
    assert verdict(made) == ""


@pytest.mark.parametrize(
    ("changes", "because"),
    [
        ({"name": ""}, "not a name"),
        ({"relation": None}, "a relation needs two terms"),
        ({"relation": None, "lhs": None, "rhs": None}, "needs a relation or a condition"),
        ({"condition": ["ge", N]}, "needs a relation or a condition, and not both"),
        ({"relation": ">="}, "hypothesis zero has no relation of two terms"),
        ({"forall": [["x", ["range", ONE, N]]]}, "a hypothesis quantifies over a declared name"),
        ({"forall": []}, "a is not declared"),
        ({"forall": [["a", ["range", [], N]]]}, "out of range"),
        ({"forall": [["a", UNKNOWN]]}, "m is not declared"),
        ({"conditions": [["ge", [[[["v", "m"]], 1]]]]}, "m is not declared"),
        ({"relation": None, "lhs": None, "rhs": None, "condition": ["ge", [[[["v", "m"]], 1]]]},
         "m is not declared"),
        ({"forall": ["a"]}, "hypothesis: a list is expected"),
        ({"forall": [["a"]]}, "a name and its axis are expected"),
    ],
)  # fmt: skip
def test_a_wrong_hypothesis_is_refused(changes: dict[str, Any], because: str) -> None:
    made, statement = plain_case()
    statement["hypotheses"][0] |= changes
    assert because in verdict(made)


def test_two_hypotheses_have_two_names() -> None:
    made, statement = plain_case()
    statement["hypotheses"] *= 2
    assert "two hypotheses have the same name" in verdict(made)


def test_only_families_are_independent() -> None:
    made, statement = plain_case()
    statement["independent"] = [["x", "n"]]
    assert "x is declared as a tensor, and used as a family" in verdict(made)


@pytest.mark.parametrize(
    ("changes", "because"),
    [
        ({"relation": "about"}, "not a relation: 'about'"),
        ({"row": "i"}, "a field is given that this relation does not have"),
        ({"axes": [["range", ONE, ONE]]}, "a field is given that this relation does not have"),
        ({"relation": "shape"}, "a shape has one term"),
        ({"rhs": None}, "= needs two terms"),
        ({"rhs": ["ent", "x", [[]]]}, "an index of x is out of range"),
    ],
)
def test_a_wrong_claim_is_refused(changes: dict[str, Any], because: str) -> None:
    made, statement = plain_case()
    statement["claim"] |= changes
    assert because in verdict(made)


# ---------------------------------------------------------------------- reading


@pytest.mark.parametrize(
    ("x", "because"),
    [
        (["q", 2, 4], "not in lowest terms"),
        (["q", 1, 0], "not in lowest terms"),
        (["q", 1, -1], "not in lowest terms"),
        (["q", True, 1], "an integer is expected"),
        (["pow", Q1, 65], "an exponent from 0 to 64"),
        (["pow", Q1, -1], "an exponent from 0 to 64"),
        (["add", Q1], "not a term"),
        (["because"], "not a term"),
        ([], "not a term"),
        ("x", "term: a list is expected"),
        (["sum", ["line", ONE], Q1], "a range or a product of axes is expected"),
        (["ind", ["maybe", ONE]], "not a condition"),
        (["ix", [[[["w", "n"]], 1]]], "index: not an atom"),
        (["ix", [[[["b", -1]], 1]]], "index: not an atom"),
        (["ix", [[[["b", 100]], 1]]], "index: not an atom"),
        (["ix", [[[]]]], "a monomial and its coefficient are expected"),
        (["ent", "x", [["pair", ONE]]], "a pair has two components"),
        (["app", "f", [["lam", 9, Q1]], []], "from 0 to 8 axes are expected"),
        (["app", "f", [["why", Q1]], []], "not an argument of a defined symbol"),
        (["sym", "%x"], "not a name"),
        (["sym", "x" * 201], "a short text is expected"),
        (["sym", "a\nb"], "a short text is expected"),
    ],
)
def test_what_is_not_a_term(x: Any, because: str) -> None:
    with pytest.raises(Refused, match=because.replace("(", r"\(")):
        read.term(x)


@pytest.mark.parametrize(
    ("rule", "args", "because"),
    [
        ("hyp", {"name": "h", "at": []}, "at: an object of indices is expected"),
        ("lemma", {"lemma": "0", "with": []}, "with: an object of values is expected"),
        ("lemma", {"lemma": "0", "with": {"%x": ["int", ONE]}}, "not a name"),
        ("ring", [], "ring: the arguments are an object"),
        ("ring", {"laws": "expring"}, "laws: a list is expected"),
        ("sign", {"facts": [{"name": "h"}]}, "fact: missing or unknown keys: at"),
        ("sign", {"facts": [{"lemma": "0"}]}, "fact: missing or unknown keys: with"),
        ("exp_enclose", {"terms": "8"}, "terms: an integer is expected"),
        ("exp_enclose", {"terms": 10**300}, "terms: an integer is expected"),
    ],
)
def test_what_is_not_an_argument(rule: str, args: Any, because: str) -> None:
    with pytest.raises(Refused, match=because):
        read.arguments(rule, args)


def test_an_index_is_brought_to_normal_form() -> None:
    """``n + n - n`` is n however it is written, so that equal indices are equal data."""
    twice = [[[["v", "n"]], 1], [[["v", "n"]], 1], [[["v", "n"]], -1]]
    assert read.poly(twice) == read.poly(N)
    assert read.poly([[[], 0]]) == ()


def test_relations_that_cannot_be_strict() -> None:
    """A strict claim from a strict hypothesis, and not from a weak one."""
    s = Scope("case")
    x, y = s.scalar("x"), s.scalar("y")
    s.assume("below", lt(x, y))
    step = {"name": "below", "at": {}}
    assert verdict(certificate(s, x, y, "hyp", step, relation="<")) == ""
    assert verdict(certificate(s, x, y, "hyp", step, relation="<=")) == ""


# ---------------------------------------------------------------------- files


@pytest.mark.parametrize(
    ("data", "because"),
    [
        ({"format": 2}, "format 2 is not known; this kernel reads format 1"),
        ({"format": True, "id": "x", "parts": []}, "format True is not known"),
        ({"format": 1, "id": "x", "parts": []}, "a certificate without a statement proves nothing"),
        ({"format": 1, "id": 5, "parts": []}, "id: a short text is expected"),
        ({"format": 1, "id": "x"}, "certificate: missing or unknown keys: parts"),
        (
            {"format": 1, "id": "x", "parts": [{}]},
            "part: missing or unknown keys: proof, statement",
        ),
        ([], "certificate: an object is expected"),
    ],
)
def test_what_is_no_certificate(data: Any, because: str) -> None:
    with pytest.raises(Refused, match=because):
        Replay().load(data)


@pytest.mark.parametrize(
    ("raw", "because"),
    [
        (b"", "not JSON"),
        (b"\xff", "not UTF-8 text"),
        (b'{"a": 1, "a": 1}', "an object has the same key twice"),
        (b"[1.5]", "the number 1.5 is not an integer"),
        (b"[NaN]", "the number NaN is not an integer"),
        (b"[" + b"1" * 202 + b"]", "an integer has more than 200 digits"),
        (b"[" * 100_000, "nested too deeply"),
        (b" " * (read.LARGEST_FILE + 1), "larger than 16 MiB"),
    ],
)
def test_what_cannot_be_read(raw: bytes, because: str) -> None:
    with pytest.raises(read.Unreadable, match=because):
        read.parse(raw)


def test_circles_and_missing_lemmas_are_refused_and_not_kept() -> None:
    s = Scope("case")
    x = s.scalar("x")
    made = certificate(s, exp(x), 0, "lemma", {"lemma": "0" * 64, "with": {"x": ["real", Q1]}})
    digest = read.statement(made["parts"][0]["statement"]).digest
    made["parts"][0]["proof"]["steps"][0]["args"]["lemma"] = digest
    replay = Replay()
    replay.load(made)

    with pytest.raises(Refused, match="the proofs cite each other in a circle"):
        replay.prove(digest)
    with pytest.raises(Refused, match="is not among the certificates given"):
        replay.prove("1" * 64)
    assert not replay.proved


@pytest.mark.parametrize("kind", [None, {"kind": "trust me"}, [], {"kind": "chain"}])
def test_a_proof_is_one_of_three_kinds(kind: Any) -> None:
    made, _ = plain_case()
    made["parts"][0]["proof"] = kind
    found = verdict(made)
    assert "a proof is a chain, an induction or a shape" in found or "missing or unknown" in found


def test_a_chain_starts_and_ends_with_the_statement() -> None:
    made, _ = plain_case()
    proof = made["parts"][0]["proof"]
    proof["start"] = ["ent", "x", [N]]
    assert "the first line is not the left side of the statement" in verdict(made)
    made, statement = plain_case()
    statement["claim"]["rhs"] = ["ent", "x", [N]]
    assert "this is a proof of something else" in verdict(made)
