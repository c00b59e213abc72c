"""List everything that Symposium stores for you, and remove it."""

import sys

import click

from symposium.cli.exit_codes import ExitCode
from symposium.cli.options import example, run
from symposium.cli.uninstalling import find_installation, remove_installation
from symposium.config.paths import paths

PROGRAM = (
    "Remove the program itself the way you installed it: `uv tool uninstall symposium-host`, "
    "`pipx uninstall symposium-host`, or delete the clone."
)


@click.command(name="uninstall", epilog=example("symposium uninstall --yes"))
@click.option("--yes", "is_agreed", is_flag=True, help="Do not ask for confirmation.")
def command(*, is_agreed: bool) -> int:
    """List everything that Symposium stores for you, and remove it after you confirm.

    This undoes editor settings, stops the daemon and running agents, and deletes settings, caches,
    logs, archives, and snapshots. Worktrees and branches of tasks stay; land or delete them first
    with `symposium task`.

    Exit code: 0 done, 1 something could not be removed, 5 you declined.
    """
    return run(_uninstall(is_agreed=is_agreed))


async def _uninstall(*, is_agreed: bool) -> int:
    places = paths()
    found = await find_installation(places)
    for line in found.lines():
        click.echo(line)
    if found.is_empty:
        click.echo(f"Nothing to remove. {PROGRAM}", err=True)
        return ExitCode.OK
    if not is_agreed and not _is_confirmed():
        click.echo("Nothing was removed.", err=True)
        return ExitCode.DENIED
    failures = await remove_installation(found, places)
    for failure in failures:
        click.echo(failure, err=True)
    if failures:
        click.echo("Fix this and rerun `symposium uninstall`.", err=True)
        return ExitCode.RUNTIME
    click.echo(f"Removed. {PROGRAM}", err=True)
    return ExitCode.OK


def _is_confirmed() -> bool:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise click.UsageError(
            "cannot ask for confirmation here; check the list and rerun with --yes"
        )
    return click.confirm("Remove all of this? Archives and snapshots cannot be restored.", err=True)
