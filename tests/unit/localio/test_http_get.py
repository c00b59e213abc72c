"""Downloads: rejected URLs and responses, and the written files."""

import threading
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from tests.support.web import Web, reply, serving

from localio.http_get import SILENCE, check_url, http_get
from localio.http_values import AnsweredError, FetchError, HttpRequest


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
def test_rejected_url_is_not_requested(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")

    with pytest.raises(FetchError, match="is not https"):
        http_get(HttpRequest((tmp_path / "secret").as_uri(), 30.0, 100), tmp_path / "to")
    assert not (tmp_path / "to").exists()


@pytest.mark.requirement("registry.http-get")
def test_redirect_must_be_as_safe_as_the_url_and_gets_no_headers(web: Web, tmp_path: Path) -> None:
    web.answers["/a"] = reply(b"", status=302, headers={"Location": web.url("/b")})
    web.answers["/b"] = reply(b"body")
    web.answers["/c"] = reply(b"", status=302, headers={"Location": "http://example.org/"})
    asked = HttpRequest(web.url("/a"), 30.0, 100, etag='"1"', headers=(("Authorization", "token"),))

    http_get(asked, tmp_path / "to")

    assert (tmp_path / "to").read_bytes() == b"body"
    first, second = (headers for _, headers in web.asked)
    assert (first["Authorization"], first["If-None-Match"]) == ("token", '"1"')
    assert (first["User-Agent"], first["Accept-Encoding"]) == ("symposium", "identity")
    assert "Authorization" not in second
    with pytest.raises(FetchError, match=r"example\.org/ \(a redirect of http://127"):
        http_get(request_for(web, "/c"), tmp_path / "to")


@pytest.mark.requirement("registry.http-get")
@pytest.mark.parametrize("is_declared", [True, False])
def test_file_of_exactly_the_limit_is_accepted(
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
    got = http_get(request_for(web, max_bytes=100), tmp_path / "to")

    assert (got.etag, got.is_unchanged, len(got.sha256)) == ('"2"', False, 64)
    assert (tmp_path / "to").stat().st_size == 100
    with pytest.raises(FetchError, match="is larger than 99 bytes"):
        http_get(request_for(web, max_bytes=99), tmp_path / "less")
    assert not is_declared or not (tmp_path / "less").exists()


@pytest.mark.requirement("registry.http-get")
@pytest.mark.parametrize(
    ("headers", "body", "says"),
    [
        ({"Content-Length": "5"}, b"abc", "ended after 3 of 5 bytes"),
        ({"Content-Length": "many"}, b"abc", "invalid literal"),
    ],
)
def test_truncated_file_is_an_error(
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
        http_get(request_for(web), tmp_path / "to")


@pytest.mark.requirement("registry.http-get")
def test_status_of_the_response_decides_the_result(web: Web, tmp_path: Path) -> None:
    web.answers["/same"] = reply(b"", status=304)
    asked = HttpRequest(web.url("/same"), 30.0, 100, etag='"1"')

    got = http_get(asked, tmp_path / "to")

    assert (got.is_unchanged, got.etag) == (True, '"1"')
    assert not (tmp_path / "to").exists()
    with pytest.raises(AnsweredError, match="answered 404 Not Found") as error:
        http_get(request_for(web, "/missing"), tmp_path / "to")
    assert error.value.status == 404


@pytest.mark.requirement("registry.http-get")
@pytest.mark.parametrize("ends_by", ["stop", "time"])
def test_slow_download_ends_at_the_timeout_or_when_stopped(
    web: Web, tmp_path: Path, ends_by: str
) -> None:
    more = threading.Event()

    def drip(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.end_headers()
        for _ in range(40):
            request.wfile.write(b"x")
            more.wait(0.02)

    web.answers["/a"] = drip
    asked = request_for(web, seconds=0.2 if ends_by == "time" else 30.0)
    if ends_by == "stop":
        asked.stop.set()
    with pytest.raises(FetchError, match="timed out"):
        http_get(asked, tmp_path / "to")
    more.set()


@pytest.mark.requirement("registry.http-get")
def test_silent_server_times_out_after_the_total_limit(web: Web, tmp_path: Path) -> None:
    more = threading.Event()

    def send_nothing(_: BaseHTTPRequestHandler) -> None:
        more.wait(20)

    web.answers["/a"] = send_nothing

    with pytest.raises(FetchError, match="timed out"):
        http_get(request_for(web, seconds=0.05), tmp_path / "to")
    more.set()
    assert SILENCE == 10.0
