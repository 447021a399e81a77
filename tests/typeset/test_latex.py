"""The book compiles in both languages without a complaint, and fragments need amsmath alone."""

import re
import shutil
import subprocess
from functools import cache

import pytest
from click.testing import CliRunner

from attnproofs.cli import cli
from attnproofs.errors import InputError, MissingDependency
from attnproofs.theorems import locations, select, theorem
from attnproofs.typeset import latex, pdf
from attnproofs.typeset.page import page

needs_tex = pytest.mark.skipif(
    shutil.which("latexmk") is None or shutil.which("pdflatex") is None,
    reason="TeX is not installed here; .ci/run installs it",
)
needs_korean_tex = pytest.mark.skipif(
    shutil.which("xelatex") is None or not pdf._finds("kotex.sty"),
    reason="xelatex with kotex is not installed here",
)


@cache
def pages():
    return tuple(page(t) for t in select(()))


def complaints(log):
    """Return what a TeX log complains about: errors, references, glyphs, boxes above 10 pt."""
    bad = [line for line in log.splitlines() if line.startswith("!")]
    bad += re.findall(r"^LaTeX Warning: .*undefined.*$", log, re.M)
    bad += re.findall(r"^LaTeX Warning: .*multiply defined.*$", log, re.M)
    bad += re.findall(r"^Missing character: .*$", log, re.M)
    for points, line in re.findall(r"^Overfull \\[hv]box \((\d+\.\d+)pt (.*)$", log, re.M):
        if float(points) > 10:
            bad.append(f"overfull by {points} pt {line}")
    return bad


def test_complaints_are_seen():
    """The reading of the log can fail: one of each kind is found, small boxes are not."""
    log = """! Undefined control sequence.
LaTeX Warning: Reference `thm:x' on page 1 undefined on input line 3.
Missing character: There is no X in font Y!
Overfull \\hbox (10.5pt too wide) in paragraph at lines 1--2
Overfull \\hbox (9.5pt too wide) in paragraph at lines 1--2
"""
    assert len(complaints(log)) == 4


@needs_tex
@needs_korean_tex
@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_book_compiles(tmp_path, language):
    """The whole catalogue: no errors, undefined references, missing glyphs or overfull boxes."""
    tex = tmp_path / "book.tex"
    tex.write_text(latex.book(pages(), language), encoding="utf-8")

    made = pdf.compile_pdf(tex, language)

    assert made.stat().st_size > 50_000
    assert complaints((tmp_path / "book.log").read_text("utf-8", "replace")) == []


def bare_article(folder, name, fragments):
    """Paste fragments into a bare article with amsmath; return what TeX complains about."""
    body = "\n\\clearpage\n".join(fragments)
    (folder / f"{name}.tex").write_text(
        "\\documentclass{article}\n\\usepackage{amsmath}\n\\begin{document}\n"
        f"{body}\\end{{document}}\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-draftmode", name],
        cwd=folder,
        capture_output=True,
        check=False,
    )
    log = (folder / f"{name}.log").read_text("latin-1")
    bad = [c for c in complaints(log) if not c.startswith("overfull")]
    return bad or (["exit status"] if done.returncode else [])


@needs_tex
def test_fragments_compile_in_a_bare_article(tmp_path):
    """Every theorem's fragment, pasted into an article with amsmath and nothing else.

    They share one run; only when it fails is each compiled alone, to name the culprit.
    """
    fragments = {p.id: latex.fragment(p) for p in pages()}

    if bare_article(tmp_path, "all", fragments.values()):
        alone = {name: bare_article(tmp_path, name, [text]) for name, text in fragments.items()}
        assert {name: bad for name, bad in alone.items() if bad} == {}
    assert not any("\\usepackage" in text.partition("\n")[2] for text in fragments.values())


@needs_tex
def test_a_broken_fragment_is_noticed(tmp_path):
    """The check can fail: an unknown command does not compile."""
    assert bare_article(tmp_path, "broken", [r"\[ \unknowncommand \]"])


@needs_tex
def test_a_standalone_page_compiles(tmp_path):
    """`--standalone --pdf` makes a PDF of one theorem."""
    result = CliRunner().invoke(
        cli,
        ["latex", "softmax_sum", "--standalone", "--pdf", "-o", str(tmp_path / "one.tex")],
        standalone_mode=False,
    )

    assert result.exception is None
    assert (tmp_path / "one.pdf").read_bytes().startswith(b"%PDF")
    assert complaints((tmp_path / "one.log").read_text("latin-1")) == []


def test_same_input_same_bytes():
    """The source of the book does not depend on the run."""
    few = pages()[:6]

    assert latex.book(few, "ko") == latex.book(few, "ko")
    assert latex.book(few) == latex.book([page(theorem(p.id)) for p in few])


def test_the_book_has_every_theorem_chapter_rule_and_reference():
    """Labels for all that is linked to, each once."""
    source = latex.book(pages())
    labels = re.findall(r"\\label\{([^}]*)\}", source)

    assert len(labels) == len(set(labels))
    assert {f"thm:{name}" for name in locations()} <= set(labels)
    linked = {f"thm:{x}" for x in re.findall(r"\\theoremlink\{([^}]*)\}", source)}
    linked |= {f"rule:{x}" for x in re.findall(r"\\rulelink\{([^}]*)\}", source)}
    linked |= set(re.findall(r"\\hyperref\[(axiom:[^\]]*)\]", source))
    assert linked <= set(labels)
    cited = {k for group in re.findall(r"\\cite\{([^}]*)\}", source) for k in group.split(",")}
    assert cited <= set(re.findall(r"\\bibitem\{([^}]*)\}", source))


def test_prose_is_escaped_and_unknown_signs_are_loud():
    """Special characters are printed; a sign without LaTeX is an error, not a hole on paper."""
    assert latex.escape("50 % of a_b & $x_1$ ≤ 2") == r"50 \% of a\_b \& $x_1$ $\le$ 2"
    with pytest.raises(InputError, match="no LaTeX is known for '☃'"):
        latex.escape("a ☃")
    with pytest.raises(InputError, match="odd number of dollar signs"):
        latex.escape("price: 5$")


def test_formulas_break_outside_short_brackets_only():
    """Braces keep brackets, items of a list and short formulas on one line; long ones may break."""
    letters = " + ".join("abcdefghijklmnopqrstuvwxyz")
    pairs = ", ".join(rf"({k}, 1) \mapsto {k}" for k in range(1, 9))

    assert latex.breakable(r"1 \le i") == r"{1 \le i}"
    assert latex.breakable(f"[r = 1] + {letters}") == f"[{{r = 1}}] + {letters}"
    assert latex.breakable(rf"f({letters}, x)") == rf"f({letters}, \penalty600 x)"
    assert latex.breakable(rf"\Bigl( a + b \Bigr) + {letters}").startswith(r"\Bigl({ a + b }\Bigr)")
    assert r"{({2, 1}) \mapsto 2},\; \penalty600 {({3, 1}) \mapsto 3}" in latex.breakable(pairs)
    assert latex.breakable(letters) == letters


def test_korean_entries_of_the_index_are_grouped_by_initial_consonant():
    """makeindex sorts bytes and puts a gap where the first one changes."""
    entries = ["가중치", "계수", "나열", "꼬리", "캐시", "키"]
    keys = {e: latex._indexed(e).partition("@")[0].encode() for e in entries}

    assert sorted(entries, key=keys.get) == ["가중치", "계수", "꼬리", "나열", "캐시", "키"]
    first = {e: key[0] for e, key in keys.items()}
    assert first["가중치"] == first["계수"] != first["꼬리"] != first["나열"]
    assert first["캐시"] == first["키"]


@pytest.mark.parametrize("program", ["latexmk", "pdflatex"])
def test_a_missing_program_is_one_sentence(tmp_path, monkeypatch, program):
    """Without latexmk: what is missing, how to get it, what was written; exit status 2."""
    monkeypatch.setattr(pdf.shutil, "which", lambda name: None if name == program else "/bin/true")

    with pytest.raises(MissingDependency, match=f"--pdf needs {program}, which is not") as caught:
        pdf.compile_pdf(tmp_path / "x.tex")

    assert caught.value.exit_status == 2
    assert "has been written" in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["softmax_sum", "--pdf"], "--pdf needs a file: -o NAME.tex"),
        (["softmax", "--fragment"], "--fragment takes one theorem id, not "),
        (["softmax_summ"], "did you mean softmax_sum"),
    ],
)
def test_mistakes_are_one_sentence(arguments, message):
    """Wrong combinations and ids say what to do."""
    result = CliRunner().invoke(cli, ["latex", *arguments], standalone_mode=False)

    assert isinstance(result.exception, InputError)
    assert message in str(result.exception)
