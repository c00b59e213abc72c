"""`--agent` by the ids that `symposium agents list` shows, beside SPECs."""

import os

import click

from symposium.chain_spec import FORMS
from symposium.cli.running import run
from symposium.errors import SpecError
from symposium.registry.agent_ids import may_be_id


def agent_spec(written: str | None, *, option: str = "--agent") -> str | None:
    """The SPEC for what stood after an option; an agent that is not here yet is installed.

    Raises:
        SymposiumError: it names no agent, or one that cannot be had.
    """
    if written is None or not may_be_id(written):
        return written
    from symposium.registry.agent_choice import (  # noqa: PLC0415 - the registry is slow to import
        Chosen,
        UnknownAgentError,
        choose,
    )
    from symposium.registry.surroundings import surroundings  # noqa: PLC0415 - the same

    found: list[Chosen] = []

    async def look_up() -> int:
        try:
            found.append(await choose(written, surroundings(os.environ)))
        except UnknownAgentError as error:
            hint = f"{error.hint}. Otherwise: {FORMS}"
            raise SpecError(f"{option}: {error.message}", hint) from error
        return 0

    if code := run(look_up()):
        raise SystemExit(code)
    (chosen,) = found
    if chosen.note:
        click.echo(chosen.note, err=True)
    return chosen.spec
