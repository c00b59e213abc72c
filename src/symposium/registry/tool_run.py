"""Runs an installer to its end: without input, in a group of its own, within a time."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from localio.errors import LocalIOError
from localio.text import plain_text
from symposium.registry.overheard import Talker, overhear
from symposium.registry.path_probe import look_up, usual_path

INSTALL_TIME: Final = 900.0
"""Seconds that an installer may take."""

_SHOWN_LINES: Final = 8


class ToolError(LocalIOError):
    """An installer could not be started, failed or took too long; carries its last words."""


async def run_tool(
    argv: Sequence[str],
    *,
    cwd: Path,
    seconds: float = INSTALL_TIME,
) -> str:
    """What it wrote to stdout and stderr; whoever is cancelled takes it along.

    Raises:
        ToolError: it failed.
    """
    # As `has_tool` looks for them: a desktop's PATH does not lead to all installers.
    search_path = usual_path(os.environ)
    program = str(look_up(argv[0], search_path.split(os.pathsep)) or argv[0])
    env = {**os.environ, "PATH": search_path}
    talker = Talker((program, *argv[1:]), env, cwd, asyncio.subprocess.STDOUT)
    try:
        heard = await overhear(talker, seconds=seconds)
    except TimeoutError as error:
        raise ToolError(f"{argv[0]} took longer than {seconds:g} s", "try again") from error
    except OSError as error:
        raise ToolError(f"{argv[0]} did not start: {error.strerror}", "is it installed?") from error
    text = plain_text(heard.said.decode(errors="replace"))
    if heard.code != 0:
        tail = "\n".join(f"| {line}" for line in text.strip().splitlines()[-_SHOWN_LINES:])
        raise ToolError(
            f"`{' '.join(argv[:3])} …` failed with {heard.code}", f"its last words:\n{tail}"
        )
    return text
