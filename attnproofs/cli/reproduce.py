"""``attnproofs reproduce``: is a saved failure still there?"""

from __future__ import annotations

import click


@click.command("reproduce")
@click.argument("identifier", metavar="ID")
@click.option("--code", is_flag=True, help="Print the failure's code and stop.")
@click.option("--timeout", default=10.0, show_default=True, help="Seconds one call may take.")
def command(identifier: str, code: bool, timeout: float) -> int:
    """Run the saved failure ID again.

    Failures are saved by 'attnproofs audit' under .attnproofs/failures of the current folder.
    Prints FIXED (exit status 0), FAILED (1) or ERROR (2: it could not be run).
    """
    from attnproofs.contract.reproduce import reproduce
    from attnproofs.contract.store import Store

    saved = Store().load(identifier)
    if code:
        click.echo(saved.code, nl=False)
        return 0
    outcome, message = reproduce(saved, limit=timeout)
    click.echo(f"{outcome} {identifier}: {message}")
    return {"FIXED": 0, "FAILED": 1}.get(outcome, 2)
