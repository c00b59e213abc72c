"""Starts keepers: processes of their own, that nothing of ours takes along when it ends."""

import asyncio
import os
import subprocess
import sys
from asyncio import StreamReader, StreamReaderProtocol
from collections.abc import Mapping
from typing import Final

from symposium.agent_sessions.session import SessionError, SessionSpec
from symposium.agent_sessions.store import LOG, SessionStore

LAUNCH_TIMEOUT: Final = 30.0
"""Seconds that a keeper may take until it can be reached; the agent itself may take longer."""

READY: Final = b"ready\n"


async def launch(
    store: SessionStore, spec: SessionSpec, environment: Mapping[str, str] | None = None
) -> None:
    """Start the keeper of a session, and return when it can be reached.

    Args:
        store: where sessions are.
        spec: what is to be kept.
        environment: that of keeper and agent, ours by default; it is not written down.

    Raises:
        SessionError: it did not start, and why; or one of that id is running.
        OSError: it cannot be written down.
    """
    directory = store.add(spec)
    log = os.open(directory / LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    reading, writing = os.pipe()
    try:
        keeper = subprocess.Popen(  # noqa: ASYNC220, S603 - ourselves, and it forks at once
            [sys.executable, "-P", "-m", "symposium.keepers", spec.id, str(writing)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            env=environment,
            pass_fds=[writing],
            start_new_session=True,
        )
    finally:
        os.close(writing)
        os.close(log)
    # It forks at once and ends: what stays is nobody's child.
    said = await _read(reading)
    await asyncio.to_thread(keeper.wait)
    if said != READY:
        told = said.decode(errors="replace").strip() or "it ended without a word"
        raise SessionError(f"the session {spec.id} did not start: {told}", f"see {directory / LOG}")


async def _read(descriptor: int) -> bytes:
    reader = StreamReader()
    loop = asyncio.get_running_loop()
    pipe = os.fdopen(descriptor, "rb", buffering=0)
    transport, _ = await loop.connect_read_pipe(lambda: StreamReaderProtocol(reader), pipe)
    try:
        async with asyncio.timeout(LAUNCH_TIMEOUT):
            return await reader.read()
    except TimeoutError:
        return f"it said nothing in {LAUNCH_TIMEOUT:.0f} s".encode()
    finally:
        transport.close()
