"""MCP server program for agents: copy lines between stdin, stdout, and the bridge.

Runs as `shim.py PORT` with the token in the environment. An agent starts it once per server and
session, so it imports only a few modules of the standard library.
"""

import json
import os
import socket
import sys
import threading
import time

TOKEN_VARIABLE = "SYMPOSIUM_MCP_TOKEN"  # noqa: S105 - the name of a variable, not its value
PAUSES = (0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 1.0, 1.0, 1.0)
"""Seconds between attempts to connect to the bridge; one attempt more than pauses."""
LAST_WORDS = 5.0
"""Seconds that the bridge has to close its side after the agent's."""

READ = 64 * 1024


def connect(port: int) -> socket.socket:
    """Connect to the bridge, with retries: its port may open late.

    Raises:
        OSError: nothing listens on the port.
    """
    for pause in PAUSES:
        try:
            return reach(port)
        except OSError:
            time.sleep(pause)
    return reach(port)


def reach(port: int) -> socket.socket:
    """Connect to the bridge once."""
    bridge = socket.create_connection(("127.0.0.1", port))
    # Without TCP_NODELAY, each line would be delayed by 40 ms.
    bridge.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return bridge


def is_json(line: bytes) -> bool:
    """Whether a line can be a message; stray output of an agent must not reach the bridge."""
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def copy_in(bridge: socket.socket) -> int:
    """Copy the agent's lines until its end; returns the exit code."""
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
    """Copy the bridge's lines until its end, then exit."""
    try:
        while data := bridge.recv(READ):
            while data:
                data = data[os.write(1, data) :]
    except OSError:
        pass
    # The other thread blocks on the agent's input, possibly for hours.
    os._exit(0)


def say(text: str) -> None:
    """Write a message to stderr; stdout carries the protocol."""
    sys.stderr.write(f"symposium mcp shim: {text}\n")


def main(words: list[str]) -> int:
    """Copy until either side ends; returns the exit code."""
    if len(words) != 1 or not words[0].isdecimal() or not 0 < int(words[0]) < 1 << 16:
        say("expected one argument, the port of the bridge; only agents start this program")
        return 2
    token = os.environ.get(TOKEN_VARIABLE, "")
    if not token:
        say(f"{TOKEN_VARIABLE} is not set; start it with the environment of its declaration")
        return 2
    try:
        bridge = connect(int(words[0]))
    except OSError as error:
        say(f"nothing listens on port {words[0]} ({error}); Symposium may have exited")
        return 1
    bridge.sendall(token.encode() + b"\n")
    threading.Thread(target=copy_out, args=(bridge,), daemon=True).start()
    code = copy_in(bridge)
    return code or finish(bridge)


def finish(bridge: socket.socket) -> int:
    """Close the agent's side and wait for the last responses."""
    try:
        bridge.shutdown(socket.SHUT_WR)
    except OSError:
        return 0
    # The other thread exits after the bridge's last line.
    time.sleep(LAST_WORDS)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
