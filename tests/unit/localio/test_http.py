"""Downloads: rejected URLs and responses, and the written files."""

import asyncio
import gzip
import ssl
import threading
from collections.abc import Generator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from tests.support.web import Web, reply, serving

from localio.http import SILENCE, AnsweredError, FetchError, HttpRequest, check_url, fetch

SELF_SIGNED = Path(__file__).parents[2] / "support" / "data" / "self_signed.pem"
"""A certificate for localhost and 127.0.0.1, with its key; for tests only."""


@pytest.fixture
def web() -> Generator[Web]:
    with serving() as served:
        yield served


def request_for(
    web: Web, path: str = "/a", *, seconds: float = 30.0, max_bytes: int = 100
) -> HttpRequest:
    return HttpRequest(web.url(path), seconds, max_bytes)


@pytest.mark.requirement("registry.http-get")
@pytest.mark.parametrize(
    ("url", "came_from", "is_fine"),
    [
        ("https://example.org/a", None, True),
        ("https://example.org/a", "http://127.0.0.1/", True),
        ("http://127.0.0.1:80/a", None, True),
        ("http://localhost/a", None, True),
        ("http://[::1]/a", "http://localhost/", True),
        ("http://127.0.0.1/a", "https://example.org/", False),
        ("http://example.org/a", None, False),
        ("http://127.0.0.1.example.org/a", None, False),
        ("https:///a", None, False),
        ("file:///etc/passwd", None, False),
        ("ftp://127.0.0.1/a", None, False),
        ("http://127.0.0.1\\@example.org/a", None, False),
        ("http://127.0.0.1@example.org/a", None, False),
        ("http://example.org#@127.0.0.1/a", None, False),
        ("http://example.org?@127.0.0.1/a", None, False),
        ("http://127.1/a", None, False),
        ("http://0x7f000001/a", None, False),
    ],
)
def test_only_https_and_this_machine_are_allowed(
    url: str, came_from: str | None, *, is_fine: bool
) -> None:
    if is_fine:
        check_url(url, came_from=came_from)
        return
    with pytest.raises(FetchError, match="is not https") as error:
        check_url(url, came_from=came_from)
    assert url in str(error.value)
    assert (came_from or "") in str(error.value)


@pytest.mark.requirement("registry.http-get")
async def test_rejected_url_is_not_requested(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")

    with pytest.raises(FetchError, match="is not https"):
        await fetch(HttpRequest((tmp_path / "secret").as_uri(), 30.0, 100), tmp_path / "to")
    assert not (tmp_path / "to").exists()


@pytest.mark.requirement("registry.http-get")
async def test_redirect_must_be_as_safe_as_the_url_and_gets_no_headers(
    web: Web, tmp_path: Path
) -> None:
    web.answers["/a"] = reply(b"", status=302, headers={"Location": web.url("/b")})
    web.answers["/b"] = reply(b"body")
    web.answers["/c"] = reply(b"", status=302, headers={"Location": "http://example.org/"})
    asked = HttpRequest(web.url("/a"), 30.0, 100, etag='"1"', headers=(("Authorization", "token"),))

    await fetch(asked, tmp_path / "to")

    assert (tmp_path / "to").read_bytes() == b"body"
    first, second = (headers for _, headers in web.asked)
    assert (first["Authorization"], first["If-None-Match"]) == ("token", '"1"')
    assert (first["User-Agent"], first["Accept-Encoding"]) == ("symposium", "identity")
    assert "Authorization" not in second
    with pytest.raises(FetchError, match=r"example\.org/ \(a redirect of http://127"):
        await fetch(request_for(web, "/c"), tmp_path / "to")


@pytest.mark.requirement("registry.http-get")
@pytest.mark.parametrize("is_declared", [True, False])
async def test_file_of_exactly_the_limit_is_accepted(
    web: Web, tmp_path: Path, *, is_declared: bool
) -> None:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        if is_declared:
            request.send_header("Content-Length", "100")
        request.send_header("ETag", '"2"')
        request.end_headers()
        request.wfile.write(b"x" * 100)

    web.answers["/a"] = answer
    got = await fetch(request_for(web, max_bytes=100), tmp_path / "to")

    assert (got.etag, got.is_unchanged, len(got.sha256)) == ('"2"', False, 64)
    assert (tmp_path / "to").stat().st_size == 100
    with pytest.raises(FetchError, match="is larger than 99 bytes"):
        await fetch(request_for(web, max_bytes=99), tmp_path / "less")
    assert not is_declared or not (tmp_path / "less").exists()


@pytest.mark.requirement("registry.http-get")
@pytest.mark.parametrize(
    ("headers", "body", "says"),
    [
        ({"Content-Length": "5"}, b"abc", "ended after 3 of 5 bytes"),
        ({"Content-Length": "many"}, b"abc", "bad Content-Length"),
    ],
)
async def test_truncated_file_is_an_error(
    web: Web, tmp_path: Path, headers: dict[str, str], body: bytes, says: str
) -> None:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        for name, value in headers.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(body)

    web.answers["/a"] = answer
    with pytest.raises(FetchError, match=says):
        await fetch(request_for(web), tmp_path / "to")


@pytest.mark.requirement("registry.http-get")
async def test_status_of_the_response_decides_the_result(web: Web, tmp_path: Path) -> None:
    web.answers["/same"] = reply(b"", status=304)
    asked = HttpRequest(web.url("/same"), 30.0, 100, etag='"1"')

    got = await fetch(asked, tmp_path / "to")

    assert (got.is_unchanged, got.etag) == (True, '"1"')
    assert not (tmp_path / "to").exists()
    with pytest.raises(AnsweredError, match="answered 404 Not Found") as error:
        await fetch(request_for(web, "/missing"), tmp_path / "to")
    assert error.value.status == 404


@pytest.mark.requirement("registry.http-get")
@pytest.mark.parametrize("ends_by", ["cancel", "time"])
async def test_slow_download_ends_at_the_timeout_or_when_canceled(
    web: Web, tmp_path: Path, ends_by: str
) -> None:
    is_cut, has_begun = threading.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def drip(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.end_headers()
        loop.call_soon_threadsafe(has_begun.set)
        with suppress(OSError):
            while not is_cut.wait(0.01):
                request.wfile.write(b"x")
        is_cut.set()

    web.answers["/a"] = drip
    asked = request_for(web, seconds=0.3 if ends_by == "time" else 90.0, max_bytes=10**9)
    async with asyncio.TaskGroup() as tasks:
        fetching = tasks.create_task(_outcome(asked, tmp_path / "to"))
        await has_begun.wait()
        if ends_by == "cancel":
            fetching.cancel()
    # The connection is cut at once: the thread does not read on.
    assert is_cut.wait(45)
    assert ends_by == "cancel" or "timed out after 0.3 s" in fetching.result()


@pytest.mark.requirement("registry.http-get")
async def test_request_canceled_before_the_connection_is_not_sent(
    web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    has_begun, is_canceled = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def no_proxies() -> dict[str, str]:
        loop.call_soon_threadsafe(has_begun.set)
        is_canceled.wait(45)
        return {}

    monkeypatch.setattr("urllib.request.getproxies", no_proxies)
    async with asyncio.TaskGroup() as tasks:
        fetching = tasks.create_task(fetch(request_for(web), tmp_path / "to"))
        await has_begun.wait()
        fetching.cancel()
    (thread,) = [each for each in threading.enumerate() if each.name == f"GET {web.url('/a')}"]
    is_canceled.set()
    thread.join(45)
    assert (web.asked, thread.is_alive()) == ([], False)


async def _outcome(asked: HttpRequest, to: Path) -> str:
    try:
        await fetch(asked, to)
    except FetchError as error:
        return str(error)
    return ""


@pytest.mark.requirement("registry.http-get")
async def test_silent_server_times_out_after_the_total_limit(web: Web, tmp_path: Path) -> None:
    more = threading.Event()

    def send_nothing(_: BaseHTTPRequestHandler) -> None:
        more.wait(20)

    web.answers["/a"] = send_nothing

    with pytest.raises(FetchError, match="timed out"):
        await fetch(request_for(web, seconds=0.05), tmp_path / "to")
    more.set()
    assert SILENCE == 10.0


@pytest.mark.requirement("registry.http-get")
async def test_endless_redirects_are_an_error(web: Web, tmp_path: Path) -> None:
    web.answers["/a"] = reply(b"", status=302, headers={"Location": "/a"})

    with pytest.raises(FetchError, match="redirects more than 10 times"):
        await fetch(request_for(web), tmp_path / "to")
    assert len(web.asked) == 11


@pytest.mark.requirement("registry.http-get")
async def test_compressed_body_is_not_decoded(web: Web, tmp_path: Path) -> None:
    packed = gzip.compress(bytes(1_000_000))
    web.answers["/a"] = reply(packed, headers={"Content-Encoding": "gzip"})

    await fetch(request_for(web, max_bytes=len(packed)), tmp_path / "to")

    assert (tmp_path / "to").read_bytes() == packed


@pytest.mark.requirement("registry.http-get")
async def test_etag_of_any_text_is_sent_back(web: Web, tmp_path: Path) -> None:
    web.answers["/a"] = reply(b"", status=304)

    got = await fetch(HttpRequest(web.url("/a"), 30.0, 100, etag='"\u00e9"'), tmp_path / "to")

    assert got.is_unchanged


@pytest.mark.requirement("registry.http-get")
async def test_proxies_of_other_schemes_are_ignored(
    web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1")
    monkeypatch.setenv("https_proxy", "socks5://127.0.0.1:1")
    web.answers["/a"] = reply(b"body")

    await fetch(request_for(web), tmp_path / "to")

    assert (tmp_path / "to").read_bytes() == b"body"


@pytest.mark.requirement("registry.fetch-https")
async def test_self_signed_certificate_is_rejected(tmp_path: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(SELF_SIGNED)
    seen: list[bytes] = []

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.read(100))
        writer.close()

    listening = await asyncio.start_server(take, "127.0.0.1", 0, ssl=context)
    port = listening.sockets[0].getsockname()[1]
    with pytest.raises(FetchError, match="CERTIFICATE_VERIFY_FAILED"):
        await fetch(HttpRequest(f"https://127.0.0.1:{port}/a", 30.0, 100), tmp_path / "to")
    listening.close()
    assert seen == []
