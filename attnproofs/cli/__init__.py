"""The command line: thin, one file a command, each loaded only when it is called.

`COMMANDS` holds every command's one-line help, so that ``attnproofs --help`` imports click alone.
A module ``attnproofs/cli/NAME.py`` defines a click command called ``command``.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

import click

from attnproofs import __version__
from attnproofs.errors import AttnproofsError

# command -> (module in this folder, one line of help), in the order of a first visit
COMMANDS: dict[str, tuple[str, str]] = {
    "verify": ("verify", "Prove, check and audit everything; the main job."),
    "list": ("list", "List the theorems with the evidence for each."),
    "prove": ("prove", "Prove theorems of the catalogue, or your own file."),
    "replay": ("replay", "Replay certificates with the kernel alone."),
    "show": ("show", "Show a theorem with its derivation, as text, LaTeX, HTML or JSON."),
    "latex": ("latex", "Write the book, a one-page document or a fragment in LaTeX."),
    "graph": ("graph", "Draw what rests on what, as DOT or SVG."),
    "axioms": ("axioms", "Print what a theorem rests on."),
    "audit": ("audit", "Say which properties of attention a function has."),
    "identify": ("identify", "Say which conventions a function follows, and the nearest library."),
    "adapters": ("adapters", "List the named targets, and how to install what is missing."),
    "profiles": ("profiles", "Print the declared conventions, or how two libraries differ."),
    "reproduce": ("reproduce", "Run a saved failure again: FIXED, FAILED or ERROR."),
    "check": ("check", "Confirm the claims by numbers, at 50 digits and more."),
    "grade": ("grade", "Say which faulty attention functions would slip through your test."),
    "figures": ("figures", "Draw the figures of the book and the site."),
    "experiments": ("experiments", "Measure what explanations claim, next to the prediction."),
}


class _LazyGroup(click.Group):
    """A group whose commands are imported when they run, not when their help lines are printed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = import_module(f"attnproofs.cli.{COMMANDS[name][0]}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.command(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="attnproofs")
def cli() -> None:
    """Derive, check and audit the mathematics of attention.

    Exit status: 0 everything held, 1 something was violated or refused, 2 could not run.
    """


def main() -> None:
    """Entry point of the console script: user errors are one sentence, never a traceback."""
    try:
        status = cli.main(standalone_mode=False)
    except AttnproofsError as error:
        from attnproofs.cli.tables import print_wrapped

        print_wrapped(f"attnproofs: {error}", err=True)
        sys.exit(error.exit_status)
    except click.exceptions.Abort:
        click.echo("attnproofs: interrupted", err=True)
        sys.exit(2)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except BrokenPipeError:
        # the reader of a pipe went away (`attnproofs list | head`): not an error of ours
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    sys.exit(status if isinstance(status, int) else 0)
