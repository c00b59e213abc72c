"""A relay that adds a token to each request, for a conformance suite that cannot send one.

    python authorized_relay.py PROGRAM ARGUMENT ...       prints the URL

The program is a server that asks for the token of SYMPOSIUM_MCP_TOKEN and prints its URL on its
standard error. One line is added to the head of each request; every other byte passes as it is,
Host and Origin too, and each connection carries one request.
"""

import asyncio
import os
import re
import signal
import sys
from typing import Final

LIMIT: Final = 1 << 20
_URL: Final = re.compile(rb"http://127\.0\.0\.1:(\d+)/mcp")
_KEPT_OPEN: Final = re.compile(rb"\r\nconnection:[^\r]*", re.IGNORECASE)


async def port_of(program: asyncio.subprocess.Process) -> int:
    """The port that the program says it listens on."""
    assert program.stderr is not None
    while line := await program.stderr.readline():
        if found := _URL.search(line):
            return int(found[1])
    message = "the program ended before it named a URL"
    raise RuntimeError(message)


async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    """Pass on what comes until it ends."""
    while data := await source.read(LIMIT):
        target.write(data)
        await target.drain()


async def relay(port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on one request and its response."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        writer.close()  # a connection that was opened ahead and never used
        return
    token = os.environ["SYMPOSIUM_MCP_TOKEN"].encode()
    added = b"\r\nAuthorization: Bearer " + token + b"\r\nConnection: close\r\n\r\n"
    there, server = await asyncio.open_connection("127.0.0.1", port, limit=LIMIT)
    server.write(_KEPT_OPEN.sub(b"", head.removesuffix(b"\r\n\r\n")) + added)
    try:
        async with asyncio.TaskGroup() as tasks:
            body = tasks.create_task(copy(reader, server))
            await copy(there, writer)
            body.cancel()
    except* ConnectionError:
        pass  # the suite has left: what it no longer reads is not a failure of the server
    finally:
        server.close()
        writer.close()


async def main(command: list[str]) -> None:
    """Run the program and relay to it until one of the two ends."""
    program = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, program.terminate)
    try:
        served = await port_of(program)
        server = await asyncio.start_server(
            lambda reader, writer: relay(served, reader, writer), "127.0.0.1", 0, limit=LIMIT
        )
        port = server.sockets[0].getsockname()[1]
        sys.stdout.write(f"http://127.0.0.1:{port}/mcp\n")
        sys.stdout.flush()
        assert program.stderr is not None
        while await program.stderr.readline():
            pass
    finally:
        if program.returncode is None:
            program.terminate()
        await program.wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
