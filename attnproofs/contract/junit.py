"""The report as JUnit XML, one test case a property, for CI systems that read it."""

from __future__ import annotations

from xml.etree import ElementTree

from attnproofs.contract.report import HELD, NOT_CLAIMED, NOT_COVERED, VIOLATED, Finding, Report

# what XML 1.0 cannot hold at all, whatever the escaping
_FORBIDDEN = {n: "\ufffd" for n in range(32) if n not in (9, 10, 13)}


def junit(report: Report) -> str:
    """The report as JUnit XML, one suite a level; a consequence fails and names its root cause."""
    root = ElementTree.Element("testsuites", name=f"attnproofs audit of {report.target}")
    for level in report.levels:
        findings = [f for f in report.findings if f.level == level]
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=f"{report.target} {level}",
            tests=str(len(findings)),
            failures=str(sum(f.status == VIOLATED for f in findings)),
            errors="0",
            skipped=str(sum(f.status in (NOT_CLAIMED, NOT_COVERED) for f in findings)),
        )
        for finding in findings:
            _test_case(suite, report, finding)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return '<?xml version="1.0" encoding="utf-8"?>\n' + text + "\n"


def _test_case(suite: ElementTree.Element, report: Report, finding: Finding) -> None:
    name = f"attnproofs.{report.profile}.{finding.level}"
    case = ElementTree.SubElement(suite, "testcase", classname=name, name=finding.property)
    if finding.status == VIOLATED:
        message = finding.violation.message if finding.violation else ""
        if finding.because_of:
            message = f"follows from {finding.because_of}: {message}"
        failure = ElementTree.SubElement(case, "failure", message=message.translate(_FORBIDDEN))
        failure.text = f"{finding.sentence}\n\n{finding.code}".translate(_FORBIDDEN)
    elif finding.status in (NOT_CLAIMED, NOT_COVERED):
        ElementTree.SubElement(case, "skipped", message=f"{finding.status}: {finding.reason}")
    elif finding.status != HELD:
        out = ElementTree.SubElement(case, "system-out")
        out.text = f"{finding.status}: {finding.reason}"
