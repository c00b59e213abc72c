"""A server that never answers delays no session and no exit."""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.editor import Editor, Start

from localio.http import SILENCE

HELLO = "How do you do. Please state your problem."


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """Run a server that accepts connections and never answers."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield listening


@pytest.mark.requirement("recommendations.network-holds-up-nothing")
def test_sessions_and_exit_do_not_wait_for_the_remote_file(
    start: Start, silent: socket.socket, environment: dict[str, str], tmp_path: Path
) -> None:
    address = f"http://127.0.0.1:{silent.getsockname()[1]}/recommendations.toml"
    environment["SYMPOSIUM_RECOMMENDATIONS"] = address
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.jsonc").write_text(json.dumps({"agent": "eliza"}))
    it = Editor(start("run"))
    it.ask("initialize", {"protocolVersion": 1})
    session = it.session()
    connection, _ = silent.accept()
    it.said.clear()
    assert it.say(session, "Hello").endswith(HELLO)
    before = time.monotonic()
    assert it.end() == 0
    assert time.monotonic() - before < SILENCE, "it waited until the server counted as silent"
    connection.close()


LOOKUP_HANGS = """
import asyncio, socket, ssl, sys, threading, time
from pathlib import Path
from localio.http import FetchError, HttpRequest, fetch

socket.getaddrinfo = lambda *_, **__: threading.Event().wait()
load = ssl.create_default_context
def slow():
    time.sleep(float(sys.argv[1]))  # as on a busy machine: longer than the request may take
    made = load()
    print("loaded")
    return made
ssl.create_default_context = slow
try:
    asyncio.run(fetch(HttpRequest("https://example.invalid/", 0.2, 10), Path("never")))
except FetchError as error:
    print(error)
"""


@pytest.mark.requirement("recommendations.network-holds-up-nothing")
@pytest.mark.parametrize("seconds", ["0", "0.3"])
def test_a_hanging_name_lookup_does_not_delay_the_end_of_a_program(seconds: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOOKUP_HANGS, seconds],
        capture_output=True,
        text=True,
        timeout=45,
        check=True,
    )

    assert "example.invalid/ timed out after 0.2 s" in done.stdout
    assert "loaded" in done.stdout, "a program that ends while it loads certificates can crash"
