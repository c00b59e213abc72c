"""`--agent` by the ids that `symposium agents list` shows, beside SPECs."""

import os
import re
from typing import Final

import click

from peerwire.transports.command import command_json
from symposium.catalog import agent_names, mod_names
from symposium.chain_spec import FORMS, program_on_path
from symposium.cli.running import run
from symposium.errors import SpecError
from symposium.near_names import near_names

_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)
"""What an id may look like; command lines, paths and JSON do not."""

_ADAPTER: Final = "-acp"
"""How the ids of adapters end, behind the name of what they adapt."""


def agent_spec(written: str | None) -> str | None:
    """The SPEC for what stood after `--agent`; an agent that is not here yet is installed.

    Raises:
        SymposiumError: it names no agent, or one that cannot be had.
    """
    name = "" if written is None else written.strip()
    if not _ID.fullmatch(name) or name in {*agent_names(), *mod_names()}:
        return written
    from symposium.registry.known import known_agent, known_ids  # noqa: PLC0415 - slow to import
    from symposium.registry.surroundings import surroundings  # noqa: PLC0415 - the same

    around = surroundings(os.environ)
    found: list[str] = []

    async def look_up() -> int:
        obtained = await known_agent(name, around)
        if obtained is None:
            # `codex` speaks no ACP, but has an adapter of its name (users ).
            obtained = await known_agent(f"{name}{_ADAPTER}", around)
        if obtained is not None:
            if obtained.note:
                click.echo(obtained.note, err=True)
            found.append(command_json(obtained.command))
        return 0

    if code := run(look_up()):
        raise SystemExit(code)
    if found:
        return found[0]
    if program_on_path(name) is not None:
        return written
    ids = [*agent_names(), *known_ids(around)]
    near = [each for each in ids if each.startswith(name.lower())] or near_names(name, ids)
    guess = f"did you mean {' or '.join(near[:3])}? " if near else ""
    raise SpecError(
        f"--agent: {name!r} is neither a built-in agent ({', '.join(agent_names())}), nor one that "
        "was added, installed or is in the registry, nor a program on PATH",
        f"{guess}`symposium agents list` shows those there are. Otherwise: {FORMS}",
    )
