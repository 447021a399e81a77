"""A theorem's page in every format comes from the checked object, and shows all of it."""

import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from attnproofs.calculus import Part, Sum, Theorem, eq, exp, softmax
from attnproofs.cli import cli
from attnproofs.errors import InputError
from attnproofs.theorems import locations, theorem
from attnproofs.typeset import records, render
from attnproofs.typeset.graph import dependency_graph, dot, layers, svg
from attnproofs.typeset.notation import definitions, shapes, symbols
from attnproofs.typeset.page import page
from attnproofs.typeset.plain import WIDTH, _width, text_page
from attnproofs.typeset.web import document
from attnproofs.typeset.words import word

SOME = ["softmax_sum", "qk_variance", "softmax_jacobian", "mm_assoc", "sum_flat"]


class Outline(HTMLParser):
    """Collects what a reader of the HTML needs to be there."""

    def __init__(self):
        super().__init__()
        self.tags, self.ids, self.links = [], [], []

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.tags.append(tag)
        if "id" in found:
            self.ids.append(found["id"])
        if tag == "a":
            self.links.append(found["href"])
        assert tag != "script", "pages work without scripts"
        assert not found.get("src", "").startswith("http"), "pages need no network"


@pytest.mark.parametrize("name", SOME)
@pytest.mark.parametrize("language", ["en", "ko"])
def test_html_is_self_contained(name, language):
    """One file: no script, no network, links have targets, MathML is well formed."""
    source = document(page(theorem(name)), language)
    outline = Outline()
    outline.feed(source)

    assert f'<html lang="{language}">' in source
    assert len(outline.ids) == len(set(outline.ids))
    internal = {link[1:] for link in outline.links if link.startswith("#")}
    assert internal <= set(outline.ids)
    assert "details" in outline.tags
    for formula in re.findall(r"<math.*?</math>", source, re.S):
        ElementTree.fromstring(formula.replace("&#x2062;", "\u2062"))


@pytest.mark.parametrize("name", SOME)
def test_every_format_shows_every_line(name):
    """Text, LaTeX and JSON have the same lines and the same reasons' count."""
    shown = page(theorem(name))
    lines = sum(len(d.steps) - 1 for part in shown.parts for d in part.derivations)
    data = json.loads(render(theorem(name), "json"))
    latex = render(theorem(name), "latex")
    text = text_page(shown)

    assert sum(len(d["lines"]) - 1 for p in data["parts"] for d in p["derivations"]) == lines
    assert len(re.findall(r"^\s+\(\d+\)  [=≤<] ", text, re.M)) == lines
    assert len(re.findall(r"^  &(?:=|<|\\le) ", latex, re.M)) == lines
    assert data["axioms"] == list(shown.axioms)
    assert len(data["false_neighbours"]) == len(theorem(name).false_neighbours)


def test_a_line_that_looks_like_the_one_before_is_joined_with_it():
    """What differs in grouping only is one line, with the reasons of both."""
    shown = page(theorem("flop_count")).parts[0].derivations[0].steps
    formulas = [step.formula.to("latex") for step in shown]

    assert all(a != b for a, b in pairwise(formulas))
    assert [step.number for step in shown] == [None, 1, 2, 3]
    assert shown[-1].reasons == (("lemma", "sum_const"), ("ring", ""))


def test_a_line_cannot_be_lost():
    """The comparison above can fail: a text without one of its lines counts one less."""
    text = text_page(page(theorem("softmax_sum")))
    count = len(re.findall(r"^\s+\(\d+\)  [=≤<] ", text, re.M))

    assert len(re.findall(r"^\s+\(\d+\)  [=≤<] ", text.replace("(2)", "   ", 1), re.M)) < count


def test_unknown_formats_and_languages_are_refused():
    """One clear sentence each."""
    with pytest.raises(InputError, match="format 'pdf' is not known; expected one of text, latex"):
        render(theorem("softmax_sum"), "pdf")
    with pytest.raises(InputError, match="language 'de' is not known; expected en or ko"):
        render(theorem("softmax_sum"), "text", "de")


def test_notebooks_show_theorems():
    """`_repr_html_` has style and article, `_repr_latex_` the statement."""
    shown = theorem("softmax_sum")

    assert "<math" in shown._repr_html_()
    assert shown._repr_latex_().startswith("$\\displaystyle \\sum_{")


def mine():
    def statement(s):
        n = s.dimension("n")
        x = s.tensor("s", n)
        return eq(Sum(n, lambda i: softmax(x)[i]), 1)

    def proof(p):
        n, x = p["n s"]
        z = Sum(n, lambda j: exp(x[j]))
        p.line(Sum(n, lambda i: exp(x[i]) / z), "unfold")
        p.line(Sum(n, lambda i: exp(x[i])) / z, "sum_scale")
        p.line(1, "ring")

    return Theorem(
        id="mine", chapter="mine", title={"en": "<Mine & yours>"}, parts=(Part(statement, proof),)
    )


@pytest.mark.parametrize("form", ["text", "latex", "html", "json", "notebook", "claim"])
def test_a_users_own_theorem_has_pages_too(form):
    """No Korean, no prose, no neighbour, awkward title: shown in English, escaped."""
    source = render(mine(), form, "ko")

    assert source
    if form == "html":
        assert "&lt;Mine &amp; yours&gt;" in source
        assert "<Mine" not in source


def test_the_command_shows_every_format():
    """`attnproofs show ID --format F --lang L` and its one-sentence error."""
    for form in ("text", "latex", "html", "json"):
        result = CliRunner().invoke(
            cli, ["show", "softmax_sum", "--format", form, "--lang", "ko"], standalone_mode=False
        )
        assert result.exception is None
        assert result.output
    wrong = CliRunner().invoke(cli, ["show", "softmaxsum"], standalone_mode=False)
    assert "did you mean" in str(wrong.exception)


# -- notation ------------------------------------------------------------------------------------


def test_the_notation_table_has_every_declared_symbol_once():
    """One row a symbol and kind; the same symbol in two theorems is one row."""
    shown = [page(theorem(name)) for name in SOME]
    rows, plain = symbols(shown, "en")
    declared = {
        (kind, name)
        for p in shown
        if not p.lemma
        for part in p.parts
        for kind, name, _ in part.symbols
        if kind != "indices"
    }

    assert len(rows) + sum(len(names) for _, names in plain) == len(declared)
    assert any(row["meaning"] == "dimension of queries and keys" for row in rows)
    assert len(shapes("ko")) == len(shapes("en")) > 5


def test_definitions_come_before_their_use():
    """Each definition is listed after those that its body uses."""
    names = [name for name, _ in definitions([page(theorem("qk_variance"))])]

    assert {"dot", "variance"} <= set(names)
    for _, formula in definitions([page(theorem("qk_variance"))]):
        assert "≔" in formula.to("text")


def test_how_far_a_recursion_has_gone_is_printed_in_its_body():
    """Not ``cache(X, W)``, which would be the whole, although the arrays show all other sizes."""
    known = dict(definitions([page(theorem("kv_cache"))]))

    assert "·cache(t; X, W)[" in known["cache"].to("text").split(";", 2)[2]


def test_meanings_belong_to_a_kind_of_symbol():
    """A, V, s and κ as real numbers are no weights, values, scores or kept keys."""
    rows, plain = symbols([page(theorem(n)) for n in ("tv_tanh", "attention_error")], "en", "text")
    meaning = {(row["kind"], row["name"]): row["meaning"] for row in rows}

    assert meaning[word("predicates", "en"), "S"] == "a set of keys"
    assert meaning[word("tensors", "en"), "s"] == "scores of one row"
    assert {"A", "V"} <= set(dict(plain)[word("scalars", "en")])


# -- records -------------------------------------------------------------------------------------


def test_stored_records_are_what_proving_gives():
    """A stored record equals the one made now, for a sample of the catalogue."""
    stored = records._stored()
    fresh = [
        name for name in locations()
        if name in stored and stored[name]["key"] == records.key(name, stored[name]["rests_on"])
    ]  # fmt: skip

    assert fresh, "no record is fresh: run python -m attnproofs.typeset.records"
    for name in fresh[:: max(1, len(fresh) // 8)]:
        assert records._from_data(stored[name]["record"]) == records.prove(theorem(name)), name


def test_every_record_is_fresh():
    """The book is written from records: run ``python -m attnproofs.typeset.records`` if not."""
    stored = records._stored()
    stale = [
        name
        for name in locations()
        if name not in stored or stored[name]["key"] != records.key(name, stored[name]["rests_on"])
    ]

    assert stale == []


def test_a_stale_record_is_not_used(monkeypatch):
    """Another key, and the theorem is proved anew instead of shown from the record."""
    proved = []
    keep = records.prove
    monkeypatch.setattr(records, "prove", lambda t: proved.append(t.id) or keep(t))
    entry = {"key": "0", "rests_on": [], "record": {}}
    monkeypatch.setattr(records, "_stored", lambda: {"softmax_sum": entry})

    assert page(theorem("softmax_sum")).parts
    assert proved == ["softmax_sum"]


@pytest.mark.parametrize("content", ["", "{", '{"nodes": 3}', '{"nodes": [[[5]]], "theorems": {}}'])
def test_damaged_records_are_ignored(tmp_path, monkeypatch, content):
    """A truncated or foreign file costs time, never a traceback."""
    file = tmp_path / "records.json"
    file.write_text(content, encoding="utf-8")
    monkeypatch.setattr(records, "_FILE", file)
    records._stored.cache_clear()
    try:
        assert records._stored() == {}
    finally:
        monkeypatch.undo()
        records._stored.cache_clear()


# -- graph ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def graph():
    return dependency_graph([theorem("qk_variance"), theorem("softmax_jacobian")])


def test_the_graph_follows_the_certificates(graph):
    """Proof edges are the cited theorems; statement edges lead to definitions."""
    shown = page(theorem("qk_variance"))

    assert {b for a, b in graph.proof if a == "qk_variance"} == set(shown.uses)
    assert all(b.startswith("def:") for _, b in graph.statement)
    assert ("qk_variance", "def:variance") in graph.statement
    assert {a for e in graph.proof for a in e} <= set(graph.nodes)


def test_edges_lead_to_earlier_layers(graph):
    """What a theorem rests on stands to its left."""
    layer = {n: k for k, column in enumerate(layers(graph)) for n in column}

    assert set(layer) == set(graph.nodes)
    assert all(layer[b] < layer[a] for a, b in (*graph.proof, *graph.statement))


def test_dot_and_svg_have_every_node_and_edge(graph):
    """Solid proof edges, dashed statement edges, links on theorems; well-formed SVG."""
    text = dot(graph)
    drawn = svg(graph, link="{id}.html")
    root = ElementTree.fromstring(drawn)
    paths = root.findall(".//{http://www.w3.org/2000/svg}path")
    links = {a.get("href") for a in root.findall(".//{http://www.w3.org/2000/svg}a")}

    assert text.count("style=solid") == len(graph.proof)
    assert text.count("style=dashed") == len(graph.statement)
    assert len(paths) == len(graph.proof) + len(graph.statement)
    assert sum("stroke-dasharray" in p.attrib for p in paths) == len(graph.statement)
    assert links == {f"{n}.html" for n, x in graph.nodes.items() if x.kind != "definition"}
    assert svg(graph) == svg(graph)


def test_graph_command(tmp_path):
    """The suffix of -o chooses the format; without -o DOT goes to standard output."""
    file = tmp_path / "g.svg"
    result = CliRunner().invoke(
        cli, ["graph", "softmax_sum", "-o", str(file)], standalone_mode=False
    )
    assert result.exception is None
    assert file.read_text(encoding="utf-8").startswith("<svg")
    assert (
        CliRunner()
        .invoke(cli, ["graph", "softmax_sum"], standalone_mode=False)
        .output.startswith("digraph")
    )


@pytest.mark.parametrize("language", ["en", "ko"])
def test_a_page_of_text_fits_on_a_terminal_of_80_columns(language):
    """Every theorem; only what cannot be broken may be wider."""
    for name in locations():
        for line in text_page(page(theorem(name)), language).splitlines():
            in_one_piece = " " not in re.sub(r"[\[{][^][{}]*[]}]", "", line.strip())
            assert _width(line) <= WIDTH or in_one_piece, (name, line)
