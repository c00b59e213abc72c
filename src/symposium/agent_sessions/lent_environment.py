"""Hands an environment over past the bus, whose history and log anybody of the user's may read.

Whoever has it listens at a socket of its own for as long as it asks, and only the socket's path
goes over the bus; nothing of the environment is written down on the way.
"""

import asyncio
import os
import secrets
import socket
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from localio.files import make_private_directory
from peerwire.transports.unix import peer_uid
from symposium.agent_sessions.session import SessionError

HANDOVER_TIMEOUT: Final = 10.0
"""Seconds in which it must have come."""

MOST: Final = 16 * 1024 * 1024
"""Bytes of one; no kernel starts a program with more."""


@asynccontextmanager
async def lend(environment: Mapping[str, str], directory: Path) -> AsyncGenerator[str, None]:
    """Where the environment can be had by programs of this user, for the block.

    Args:
        environment: names and values.
        directory: for sockets; made private if it is not there.

    Raises:
        OSError: nobody can listen there.
    """
    text = b"\0".join(os.fsencode(f"{name}={value}") for name, value in environment.items())

    async def serve(_: StreamReader, writer: StreamWriter) -> None:
        if _is_ours(writer):
            writer.write(text)
        writer.close()

    make_private_directory(directory)
    path = directory / f"e-{secrets.token_hex(6)}.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.bind(os.fspath(path))
        try:
            path.chmod(0o600)
            async with await asyncio.start_unix_server(serve, sock=sock):
                yield str(path)
        finally:
            path.unlink(missing_ok=True)


async def borrow(path: str) -> dict[str, str]:
    """The environment that is lent there.

    Raises:
        SessionError: it cannot be had.
    """
    try:
        async with asyncio.timeout(HANDOVER_TIMEOUT):
            reader, writer = await asyncio.open_unix_connection(path)
            try:
                text = await reader.read(-1) if _is_ours(writer) else b""
            finally:
                writer.close()
    except (OSError, TimeoutError) as error:
        raise SessionError(f"the environment for the agent did not come: {error}", "") from error
    pairs = (os.fsdecode(each).partition("=") for each in text.split(b"\0") if b"=" in each)
    return {name: value for name, _, value in pairs}


def _is_ours(writer: StreamWriter) -> bool:
    """Whether a program of this user is at the other end."""
    sock: socket.socket = writer.get_extra_info("socket")
    return peer_uid(sock) == os.getuid()
