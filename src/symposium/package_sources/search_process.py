"""The process of one search: started, given its task, heard, and gone whatever happens."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from symposium.diffs.git import end_process


async def run_search(argv: Sequence[str], given: bytes, *, cwd: Path) -> bytes:
    """What a program answers to what it is given; killed if nobody waits any longer.

    Raises:
        OSError: it could not be started.
    """
    process = await asyncio.create_subprocess_exec(
        *argv,
        cwd=cwd,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        said, _ = await process.communicate(given)
        return said
    finally:
        await end_process(process)
