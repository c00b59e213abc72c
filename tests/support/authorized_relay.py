"""Relay that adds a token to each request, for a conformance suite that cannot send one.

    python authorized_relay.py PROGRAM ARGUMENT ...       prints the URL

The program is a server that requires the token of SYMPOSIUM_MCP_TOKEN and prints its URL on its
standard error. The relay adds one line to the head of each request and changes no other byte, Host
and Origin included. Each connection carries one request.
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
    """Return the port that the program prints."""
    assert program.stderr is not None
    while line := await program.stderr.readline():
        if found := _URL.search(line):
            return int(found[1])
    message = "the program exited before it printed a URL"
    raise RuntimeError(message)


async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    """Copy bytes until the source ends."""
    while data := await source.read(LIMIT):
        target.write(data)
        await target.drain()


async def relay(port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Relay one request and its response."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        writer.close()  # a connection opened in advance and never used
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
        pass  # the suite disconnected: unread output is no failure of the server
    finally:
        server.close()
        writer.close()


async def main(command: list[str]) -> None:
    """Run the program and relay to it until one of the two exits."""
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
