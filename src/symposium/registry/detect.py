"""Which agents of the registry are on this machine already, where, and in which version."""

import asyncio
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from localio.processes import NOWHERE, Talker, look_up, overhear, usual_path
from symposium.registry.entries import Entry

VERSION_TIME: Final = 2.0
"""Seconds that a program has to say its version; all are asked at once."""

_PROGRAMS: Final = {
    "github-copilot": "copilot-language-server",
    "qoder": "qodercli",
    "qwen-code": "qwen",
}
"""Ids whose program has another name than the id, the package or the archive says."""

_VERSION: Final = re.compile(rb"(?<![\w.])v?(\d+(?:\.\d+)+[\w.+-]*)")
_MOST: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Detected:
    """An agent that is here without our doing; its version is empty if it does not say."""

    entry: Entry
    program: Path
    version: str


async def detect(entries: Sequence[Entry], env: Mapping[str, str]) -> list[Detected]:
    """Those whose program is found, in their order."""
    directories = usual_path(env).split(os.pathsep)
    here = [
        (entry, program)
        for entry in entries
        if (program := look_up(program_name(entry), directories)) is not None
    ]
    search_path = {**env, "PATH": os.pathsep.join(directories)}
    async with asyncio.TaskGroup() as tasks:
        asked = [tasks.create_task(_version(program, search_path)) for _, program in here]
    return [
        Detected(entry, program, version.result())
        for (entry, program), version in zip(here, asked, strict=True)
    ]


def program_name(entry: Entry) -> str:
    """What an agent's program is called on a machine where it was installed by hand."""
    if entry.id in _PROGRAMS:
        return _PROGRAMS[entry.id]
    for target in (entry.distribution.binary or {}).values():
        return PurePosixPath(target.cmd).stem
    return entry.id


def way_arguments(entry: Entry) -> tuple[tuple[str, ...], Mapping[str, str]]:
    """The arguments and variables that make the program speak ACP, whichever way it came."""
    ways = entry.distribution
    for target in (ways.binary or {}).values():
        return target.args, target.env
    for way in (ways.local, ways.npx, ways.uvx, ways.pipx):
        if way is not None:
            return way.args, way.env
    return (ways.cargo.args if ways.cargo else ()), {}


async def _version(program: Path, env: Mapping[str, str]) -> str:
    talker = Talker((str(program), "--version"), env, NOWHERE)
    try:
        heard = await overhear(
            talker, seconds=VERSION_TIME, is_enough=lambda said: len(said) > _MOST
        )
    except (OSError, TimeoutError):
        return ""
    found = _VERSION.search(heard.said)
    return found[1].decode() if found else ""
