"""The report as one self-contained HTML page (or the part of it that a notebook shows)."""

from __future__ import annotations

from importlib.resources import files

from attnproofs.contract.report import STATUSES, Finding, Report


def page(report: Report, *, whole: bool = True) -> str:
    """The report as HTML; no script, no address outside the page.

    Parameters
    ----------
    report
        What to show.
    whole
        False leaves out the document around it.
    """
    import jinja2

    from attnproofs import __version__
    from attnproofs.contract.render import last_line

    def consequences(cause: Finding) -> list[str]:
        return [
            f.property
            for f in report.violated
            if f.because_of == cause.property and f.level == cause.level
        ]

    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    source = (files("attnproofs.contract") / "page.html.j2").read_text("utf-8")
    counts = [(s, sum(f.status == s for f in report.findings)) for s in STATUSES]
    return environment.from_string(source).render(
        report=report,
        whole=whole,
        version=__version__,
        last_line=last_line(report),
        counts=[(status, count) for status, count in counts if count],
        consequences=consequences,
    )
