"""What rests on what: the dependency graph as DOT and as SVG, both written here.

Edges come from the certificates. A theorem points to the theorems that its proof cites (solid) and
to the definitions that its statement uses (dashed; definitions are boxes). The colour of a theorem
is its evidence. The drawing is a layered one: what a theorem rests on stands to its left.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from attnproofs.calculus.theorem import Theorem
from attnproofs.kernel.statement import Definition
from attnproofs.kernel.terms import subterms

FILL = {"proved": "#cdeadf", "derived": "#fbe7c0", "tested": "#f6d5c3", "definition": "#eef0f2"}
STROKE = {"proved": "#00664b", "derived": "#8a5a00", "tested": "#a33f00", "definition": "#5f6368"}


@dataclass(frozen=True)
class Node:
    """A theorem (an ellipse in DOT) or a definition (a box)."""

    id: str
    label: str
    kind: str  # an evidence word, or "definition"
    title: str


@dataclass(frozen=True)
class Graph:
    """Nodes by id, and edges from what rests to what it rests on."""

    nodes: dict[str, Node]
    proof: tuple[tuple[str, str], ...]
    statement: tuple[tuple[str, str], ...]


def dependency_graph(
    theorems: Iterable[Theorem], *, definitions: bool = True, language: str = "en"
) -> Graph:
    """Return the graph of `theorems` and all they cite, proved along the way.

    Parameters
    ----------
    theorems
        Where to start; cited theorems of the catalogue are added.
    definitions
        Whether definitions are nodes too.
    language
        Language of the titles.
    """
    from attnproofs.calculus.proving import cited_names
    from attnproofs.theorems import theorem
    from attnproofs.typeset.plain import plain_prose
    from attnproofs.typeset.words import choose

    nodes: dict[str, Node] = {}
    proof: dict[tuple[str, str], None] = {}
    statement: dict[tuple[str, str], None] = {}
    waiting = list(theorems)
    while waiting:
        current = waiting.pop(0)
        if current.id in nodes:
            continue
        cited = dict.fromkeys(name.split(".")[0] for name in cited_names(current))
        nodes[current.id] = Node(
            current.id, current.id, "proved", plain_prose(choose(current.title, language))
        )
        for name in cited:
            if name != current.id:
                proof[current.id, name] = None
                if name not in nodes:
                    waiting.append(theorem(name))
        if definitions:
            for built in current.built:
                for d in built.statement.definitions:
                    key = f"def:{d.name}"
                    nodes.setdefault(key, Node(key, d.name, "definition", d.name))
                    statement[current.id, key] = None
                    for used in _definitions_used(d):
                        statement[key, f"def:{used}"] = None
    # an edge to a definition that another definition already carries says nothing new
    direct = {e for e in statement if not _implied(e, statement)}
    return Graph(nodes, tuple(proof), tuple(e for e in statement if e in direct))


def _definitions_used(d: Definition) -> list[str]:
    bodies = [b for b in (d.body, d.base) if b is not None]
    names = (u[1] for b in bodies for u in subterms(b) if u[0] == "app" and u[1] != d.name)
    return list(dict.fromkeys(names))


def _implied(edge: tuple[str, str], edges: Iterable[tuple[str, str]]) -> bool:
    start, end = edge
    known = set(edges)
    return any((start, middle) in known and (middle, end) in known
               for _, middle in known if middle not in edge)  # fmt: skip


def dot(graph: Graph) -> str:
    """Return the graph in the DOT language."""
    lines = ["digraph attnproofs {", "  rankdir=RL; node [fontname=sans-serif, fontsize=11];"]
    for node in graph.nodes.values():
        shape = "box" if node.kind == "definition" else "ellipse"
        lines.append(
            f'  "{node.id}" [label="{node.label}", shape={shape}, style=filled, '
            f'fillcolor="{FILL[node.kind]}", color="{STROKE[node.kind]}", tooltip="{node.title}"];'
        )
    lines += [f'  "{a}" -> "{b}" [style=solid];' for a, b in graph.proof]
    lines += [f'  "{a}" -> "{b}" [style=dashed, color="#5f6368"];' for a, b in graph.statement]
    return "\n".join([*lines, "}"]) + "\n"


# -- drawing ----------------------------------------------------------------------------------

_HEIGHT, _GAP, _COLUMN_GAP, _MARGIN, _LETTER = 26, 10, 90, 16, 7.0


def layers(graph: Graph) -> list[list[str]]:
    """Return the nodes in layers: every edge leads to an earlier layer; crossings are reduced."""
    below: dict[str, list[str]] = {n: [] for n in graph.nodes}
    for a, b in (*graph.proof, *graph.statement):
        below[a].append(b)
    depth: dict[str, int] = {}

    def place(n: str) -> int:
        if n not in depth:
            depth[n] = 1 + max((place(m) for m in below[n]), default=-1)
        return depth[n]

    for n in graph.nodes:
        place(n)
    columns: list[list[str]] = [[] for _ in range(1 + max(depth.values(), default=0))]
    for n in graph.nodes:
        columns[depth[n]].append(n)
    above: dict[str, list[str]] = {n: [] for n in graph.nodes}
    for a, bs in below.items():
        for b in bs:
            above[b].append(a)
    for sweep in range(8):
        order = {n: k / len(c) for c in columns for k, n in enumerate(c)}
        neighbours = below if sweep % 2 == 0 else above
        for column in columns:
            column.sort(key=lambda n: (_mean([order[m] for m in neighbours[n]], order[n]), n))
            order.update({n: k / len(column) for k, n in enumerate(column)})
    return columns


def _mean(values: Sequence[float], default: float) -> float:
    return sum(values) / len(values) if values else default


def svg(graph: Graph, *, link: str = "", language: str = "en") -> str:
    """Return the graph as an SVG document.

    Parameters
    ----------
    link
        Address of a theorem's page with ``{id}`` in place of the id; "" for no links.
    language
        Language of the description.
    """
    columns = layers(graph)
    place: dict[str, tuple[float, float, float]] = {}  # left, top, width
    x = float(_MARGIN)
    tallest = max((len(c) for c in columns), default=0) * (_HEIGHT + _GAP)
    for column in columns:
        width = max((_LETTER * len(graph.nodes[n].label) + 18 for n in column), default=0)
        y = _MARGIN + (tallest - len(column) * (_HEIGHT + _GAP)) / 2
        for n in column:
            place[n] = (x, y, _LETTER * len(graph.nodes[n].label) + 18)
            y += _HEIGHT + _GAP
        x += width + _COLUMN_GAP
    width, height = x - _COLUMN_GAP + _MARGIN, tallest + 2 * _MARGIN
    text = {
        "en": "Dependency graph: a solid line leads from a theorem to one its proof cites, a "
        "dashed line to a definition that its statement uses.",
        "ko": "의존 그래프: 실선은 증명이 인용하는 정리로, 점선은 명제에 쓰인 정의로 이어집니다.",
    }[language]
    role = "group" if link else "img"  # a picture may hold no links
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="{role}" aria-label="{html.escape(text)}" '
        'font-family="system-ui, sans-serif" font-size="12">',
        f"<title>{html.escape(text)}</title>",
        '<g fill="none" stroke="#7a8087" stroke-width="1.1">',
    ]
    for edges, dash in ((graph.statement, ' stroke-dasharray="4 3"'), (graph.proof, "")):
        for a, b in edges:
            x1, y1 = place[a][0], place[a][1] + _HEIGHT / 2
            x2, y2 = place[b][0] + place[b][2], place[b][1] + _HEIGHT / 2
            bend = max(30.0, (x1 - x2) / 2)
            out.append(
                f'<path d="M{x1:.1f} {y1:.1f}C{x1 - bend:.1f} {y1:.1f} {x2 + bend:.1f} {y2:.1f} '
                f'{x2:.1f} {y2:.1f}"{dash}/>'
            )
    out.append("</g>")
    for n, node in graph.nodes.items():
        left, top, wide = place[n]
        corner = 3 if node.kind == "definition" else _HEIGHT / 2
        shape = (
            f'<rect x="{left:.1f}" y="{top:.1f}" width="{wide:.1f}" height="{_HEIGHT}" '
            f'rx="{corner}" fill="{FILL[node.kind]}" stroke="{STROKE[node.kind]}"/>'
            f'<text x="{left + wide / 2:.1f}" y="{top + 17:.1f}" text-anchor="middle" '
            f'fill="#1a1a1a">{html.escape(node.label)}</text>'
        )
        title = f"<title>{html.escape(node.title)}</title>"
        if link and node.kind != "definition":
            address = html.escape(link.format(id=node.id))
            out.append(f'<a href="{address}">{title}{shape}</a>')
        else:
            out.append(f"<g>{title}{shape}</g>")
    return "\n".join([*out, "</svg>"]) + "\n"
