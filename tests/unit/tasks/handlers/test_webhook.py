"""Webhooks, with real servers on the loopback address."""

import asyncio
import json
import logging
import socket
import struct
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.support.web import Web, reply, serving

from symposium.bus.messages.tasks import InboxItem
from symposium.tasks.handlers import notifications
from symposium.tasks.handlers.notification_log import PERIOD, NotificationLog, grouped, payload
from symposium.tasks.handlers.notifications import Channels, notify, post, read_channels

NOW = 1_800_000_000.0
ITEM = InboxItem("question:1", "question", "one", "fix 'login'", "", "Which scope? \u2026 <b>")
SOON = 0.3
"""Timeout in seconds for a server that does not answer."""
MAX_TIMEOUT = 8.0


class Received:
    """Return the given answer once the body is complete."""

    def __init__(self, *, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self.bodies: list[Any] = []
        self._answer = reply(b"ok", status=status, headers=headers)

    def __call__(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers["Content-Length"]))
        self.bodies.append((request.command, request.headers["Content-Type"], json.loads(body)))
        self._answer(request)


@pytest.fixture
def web() -> Generator[Web]:
    with serving() as found:
        yield found


@contextmanager
def raw_server(talk: Callable[[socket.socket], None]) -> Generator[str]:
    """Serve one connection with `talk`."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                talk(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/secret"
        thread.join()


@pytest.mark.requirement("tasks.webhook")
async def test_webhook_gets_each_task_with_its_open_items(web: Web) -> None:
    received = web.answers["/hook?token=1"] = Received()

    notices = grouped([ITEM], {"one": ("/p", "/p.tasks/one")})
    was_notified = await notify(Channels(webhook=web.url("/hook?token=1")), notices)

    assert was_notified
    task = {
        "task": "fix 'login'",
        "project": "/p",
        "reasons": ["question: Which scope? \u2026 <b>"],
        "link": "file:///p.tasks/one",
        "command": "symposium inbox",
    }
    assert received.bodies == [("POST", "application/json", {"v": 1, "tasks": [task]})]


@pytest.mark.requirement("tasks.webhook")
@pytest.mark.parametrize(
    ("status", "is_taken"),
    [(200, True), (204, True), (400, False), (404, False), (429, False), (500, False)],
)
async def test_only_a_success_status_counts_as_notified(
    status: int, web: Web, caplog: pytest.LogCaptureFixture, *, is_taken: bool
) -> None:
    web.answers["/secret"] = Received(status=status)

    assert await post(web.url("/secret"), b"{}") is is_taken
    assert (f"127.0.0.1: it answered {status}" in caplog.text) is not is_taken
    assert "/secret" not in caplog.text


@pytest.mark.requirement("tasks.webhook")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirect_is_not_followed(status: int, web: Web) -> None:
    elsewhere = web.answers["/elsewhere"] = Received()
    to = {"Location": web.url("/elsewhere")}
    web.answers["/hook"] = Received(status=status, headers=to)

    assert not await post(web.url("/hook"), b"{}")
    assert elsewhere.bodies == []
    assert [path for path, _ in web.asked] == ["/hook"]


@pytest.mark.requirement("tasks.webhook")
async def test_unreachable_webhook_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]

    assert not await post(f"http://127.0.0.1:{port}/secret", b"{}")
    assert "Connection refused" in caplog.text
    assert "secret" not in caplog.text


def silent(connection: socket.socket) -> None:
    """Read everything; send nothing until the peer disconnects."""
    while connection.recv(1 << 16):
        pass


def dripping(connection: socket.socket) -> None:
    """Send parts of a response slowly, without an end."""
    connection.settimeout(SOON / 30)
    line = b"HTTP/1.1 200 OK\r\nX: " + b"x" * 10_000
    for each in line:
        try:
            connection.sendall(bytes([each]))
            if connection.recv(1 << 16) == b"":
                return
        except TimeoutError:
            pass
        except ConnectionError:
            return


def answering_in_part(connection: socket.socket) -> None:
    """Send a status and part of a header, then wait for the peer to disconnect."""
    connection.recv(1 << 16)
    connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
    silent(connection)


class EndOfPost(logging.Filter):
    """Delay each log line until the thread that posts has ended."""

    def filter(self, record: logging.LogRecord) -> bool:
        del record
        for each in threading.enumerate():
            if each.name.startswith("POST "):
                each.join()
        return True


@pytest.mark.requirement("tasks.webhook", "tasks.webhook-slow")
@pytest.mark.parametrize("talk", [silent, dripping, answering_in_part])
async def test_slow_webhook_times_out_counts_as_reached_and_leaves_no_thread(
    talk: Callable[[socket.socket], None], caplog: pytest.LogCaptureFixture
) -> None:
    log = logging.getLogger("symposium.tasks.handlers.notifications")
    log.addFilter(end := EndOfPost())
    seconds, may_have_arrived = SOON, False
    try:
        # A busy machine may need longer than that to connect.
        while not may_have_arrived and seconds < MAX_TIMEOUT:
            with raw_server(talk) as address:
                may_have_arrived = await post(address, b"{}", seconds)
            seconds *= 3
    finally:
        log.removeFilter(end)

    # The connection is closed, so the server's thread has ended.
    assert may_have_arrived
    assert "timed out after 0.3 s" in caplog.text


@pytest.mark.requirement("tasks.webhook")
async def test_answer_that_is_not_http_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def rude(connection: socket.socket) -> None:
        connection.recv(1 << 16)
        connection.sendall(b"what?\r\n\r\n")

    with raw_server(rude) as address:
        await post(address, b"{}")
    assert "illegal status line" in caplog.text


@pytest.mark.requirement("tasks.webhook")
@pytest.mark.parametrize("scheme", ["", "http://", "https://", "socks5://"])
async def test_https_webhook_is_reached_through_the_users_proxy(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bytes] = []

    def proxy(connection: socket.socket) -> None:
        seen.append(connection.recv(1 << 16))
        connection.sendall(b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n")

    with raw_server(proxy) as address:
        monkeypatch.setenv("https_proxy", scheme + urlsplit(address).netloc)
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        assert not await post("https://hooks.example/secret", b"{}")
    assert seen[0].startswith(b"CONNECT hooks.example:443 HTTP/1.")
    assert b"secret" not in seen[0]


@pytest.mark.requirement("tasks.webhook")
async def test_webhook_that_closes_during_the_body_did_not_receive_it() -> None:
    def close(connection: socket.socket) -> None:
        connection.recv(1000)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    with raw_server(close) as address:
        assert not await post(address, bytes(50_000_000))


@pytest.mark.requirement("tasks.webhook")
async def test_https_webhook_bypasses_the_proxy_when_no_proxy_matches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[bytes] = []

    def note(connection: socket.socket) -> None:
        seen.append(connection.recv(1 << 16))

    with raw_server(note) as webhook:
        # Nothing listens there.
        monkeypatch.setenv("https_proxy", "http://127.0.0.1:1")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        monkeypatch.delenv("NO_PROXY", raising=False)
        assert not await post(webhook.replace("http:", "https:"), b"{}")
        was_reached = bool(seen)
        if not was_reached:
            place = urlsplit(webhook)
            socket.create_connection((str(place.hostname), place.port or 0)).close()
    assert was_reached


@pytest.mark.requirement("tasks.webhook")
@pytest.mark.parametrize(
    "address",
    [
        "https://x.example:port/",
        "https://x.example:0/",
        "https://x.example:70000/",
        "https://[::1/",
        "https:///no-host",
        "https://x.example/a b",
        "https://x.example/\u00e9",
        "http://127.0.0.1.example/",
        "http://localhost.example/",
    ],
)
def test_invalid_webhook_address_is_not_used(
    address: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = tmp_path / "config.jsonc"
    config.write_text(json.dumps({"notify": {"webhook": address}}))

    assert read_channels(config).is_empty
    usable = "an https URL, or an http URL of this machine"
    assert caplog.messages == [f"{config}: ignoring `notify`: `webhook` must be {usable}"]


@pytest.mark.requirement("tasks.notify-command", "tasks.webhook")
async def test_failed_channel_does_not_count_as_notified(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    notices = grouped([ITEM], {})
    words = ("sh", "-c", 'cat > "$1"; exit 3', "{task}", str(tmp_path / "text"))
    assert not await notify(Channels(("/no/such/program",)), [])
    assert not await notify(Channels(words), notices)
    assert not await notify(Channels(webhook="http://127.0.0.1:1/"), [])
    assert caplog.messages[1] == "the command of `notify` exited with 3"
    assert caplog.messages[0].startswith("cannot start the command of `notify`: ")
    assert (tmp_path / "text").read_bytes() == payload(notices)
    assert await notify(Channels(("true",)), [])
    assert await notify(Channels(("true",), "http://127.0.0.1:1/"), []), (
        "one of the two channels has notified"
    )


@pytest.mark.requirement("tasks.notify-command")
@pytest.mark.parametrize("length", [0, 1_000_000])
async def test_command_that_does_not_end_is_killed_and_may_have_notified(
    length: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(notifications, "WEBHOOK_TIMEOUT", 0.01)
    notices = grouped([InboxItem("q", "question", "one", "x" * length, "", "")], {})
    async with asyncio.timeout(45):
        assert await notify(Channels(("sleep", "600")), notices)

    assert caplog.messages == ["the command of `notify` timed out after 0.01 s"]


@pytest.mark.requirement("tasks.webhook")
def test_failed_notification_is_due_again_after_five_minutes(tmp_path: Path) -> None:
    notices = NotificationLog(tmp_path / "notified.json")
    assert notices.due([ITEM], NOW) == [ITEM]

    notices.take_back([ITEM])

    assert notices.due([ITEM], NOW + PERIOD - 1) == []
    assert NotificationLog(tmp_path / "notified.json").due([ITEM], NOW + PERIOD) == [ITEM]
