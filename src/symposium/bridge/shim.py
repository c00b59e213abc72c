"""The MCP server that an agent starts: copies lines between its standard streams and the bridge.

Runs as a program, `shim.py PORT`, with the token in the environment. It is started once for each
server of each session, so it imports the standard library only, and of that little.
"""

import json
import os
import socket
import sys
import threading
import time

TOKEN_VARIABLE = "SYMPOSIUM_MCP_TOKEN"  # noqa: S105 - the name of a variable, not its value
PAUSES = (0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 1.0, 1.0, 1.0)
"""Seconds between the attempts to reach the bridge, of which there is one more than of these."""
LAST_WORDS = 5.0
"""Seconds that the bridge has to end its side once the agent has ended."""

READ = 64 * 1024


def connect(port: int) -> socket.socket:
    """Reach the bridge, which may be a moment late.

    Raises:
        OSError: it does not listen there.
    """
    for pause in PAUSES:
        try:
            return reach(port)
        except OSError:
            time.sleep(pause)
    return reach(port)


def reach(port: int) -> socket.socket:
    """Reach the bridge now."""
    bridge = socket.create_connection(("127.0.0.1", port))
    # Each line is awaited at the other end; held back for the next, it would take 40 ms.
    bridge.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return bridge


def is_json(line: bytes) -> bool:
    """Whether a line can be a message: an agent's stray output must not reach the bridge."""
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def copy_in(bridge: socket.socket) -> int:
    """Copy what the agent writes, line by line, until it writes no more; the exit code."""
    for line in sys.stdin.buffer:
        if line.isspace():
            continue
        if not is_json(line):
            say(f"the agent wrote a line that is not JSON: {line[:200]!r}")
            return 1
        try:
            bridge.sendall(line if line.endswith(b"\n") else line + b"\n")
        except OSError:
            return 0
    return 0


def copy_out(bridge: socket.socket) -> None:
    """Copy what the bridge writes, and leave when it writes no more."""
    try:
        while data := bridge.recv(READ):
            while data:
                data = data[os.write(1, data) :]
    except OSError:
        pass
    # The other thread waits for the agent, who may not say anything for hours.
    os._exit(0)


def say(text: str) -> None:
    """Tell a person; standard output is the protocol's."""
    sys.stderr.write(f"symposium mcp shim: {text}\n")


def main(words: list[str]) -> int:
    """Copy until one side ends; the exit code."""
    if len(words) != 1 or not words[0].isdecimal() or not 0 < int(words[0]) < 1 << 16:
        say("expected one argument, the bridge's port; it is started by agents, not by people")
        return 2
    token = os.environ.get(TOKEN_VARIABLE, "")
    if not token:
        say(f"{TOKEN_VARIABLE} is not set; start it with the environment of its declaration")
        return 2
    try:
        bridge = connect(int(words[0]))
    except OSError as error:
        say(f"the bridge does not listen on port {words[0]} ({error}); has its host ended?")
        return 1
    bridge.sendall(token.encode() + b"\n")
    threading.Thread(target=copy_out, args=(bridge,), daemon=True).start()
    code = copy_in(bridge)
    return code or finish(bridge)


def finish(bridge: socket.socket) -> int:
    """Say that the agent has ended, and let the last answers through."""
    try:
        bridge.shutdown(socket.SHUT_WR)
    except OSError:
        return 0
    # The other thread leaves when the bridge has written its last.
    time.sleep(LAST_WORDS)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
