"""What the guide shows works: its proof script is accepted, and a wrong line in it is refused."""

from pathlib import Path

from click.testing import CliRunner

from attnproofs.cli import cli

GUIDE = Path(__file__).parents[2] / "docs" / "guide"


def test_the_proof_script_of_the_guide_is_accepted(tmp_path):
    """`attnproofs prove my_claim.py -o DIR`, then `attnproofs replay`: both exit 0."""
    script = GUIDE / "my_claim.py"
    proved = CliRunner().invoke(
        cli, ["prove", str(script), "-o", str(tmp_path)], standalone_mode=False
    )
    assert proved.exception is None
    assert proved.return_value == 0
    certificate = tmp_path / "my_claim.json"
    assert certificate.exists()
    replayed = CliRunner().invoke(cli, ["replay", str(certificate)], standalone_mode=False)
    assert replayed.return_value == 0


def test_a_wrong_line_in_it_is_refused(tmp_path):
    """The script without its hypothesis is refused at the line that used it."""
    source = (GUIDE / "my_claim.py").read_text(encoding="utf-8")
    broken = tmp_path / "broken.py"
    broken.write_text(source.replace("output + 1 * b", "output + 2 * b"), encoding="utf-8")

    result = CliRunner().invoke(cli, ["prove", str(broken)], standalone_mode=False)

    assert result.return_value == 1
    assert "line 2" in result.output
