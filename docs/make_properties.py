"""Write the list of properties into docs/audit.md.

python docs/make_properties.py
"""

from __future__ import annotations

from pathlib import Path

from attnproofs.contract.properties import REGISTRY
from attnproofs.contract.property import LEVELS

PAGE = Path(__file__).parent / "audit.md"
MARK = "<!-- properties -->\n"


def tables() -> str:
    """One table a level."""
    lines: list[str] = []
    for level in LEVELS:
        entries = REGISTRY[level]
        lines += [f"\n### {level} ({len(entries)})\n", "| property | sentence | theorem |"]
        lines += ["|---|---|---|"]
        for p in entries:
            variant = f" ({p.variant})" if p.variant else ""
            lines.append(f"| `{p.id}`{variant} | {p.sentence} | {p.theorem} |")
    return "\n".join(lines) + "\n"


def page() -> str:
    """The page with the present list."""
    head = PAGE.read_text("utf-8").split(MARK)[0]
    return head + MARK + tables()


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
