"""Send HTTP requests, with limits on time and size, over https only.

Each request runs in a daemon thread. The end of a program waits for the threads in which asyncio
looks up names, but not for these.
"""

import asyncio
import base64
import hashlib
import ipaddress
import socket
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from importlib import import_module
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit

from localio.errors import LocalIOError
from peerwire.errors import ErrorBoundary

INDEX_TIME: Final = 10.0
"""Limit in seconds for an index (acp-host §4.10)."""

ARCHIVE_TIME: Final = 900.0
"""Limit in seconds for an archive; some have two hundred megabytes."""

MAX_ARCHIVE: Final = 1024 * 1024 * 1024

SILENCE: Final = 10.0
"""Seconds without any data until a server counts as silent."""

MAX_REDIRECTS: Final = 10
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_FINE: Final = range(200, 300)
_HINT: Final = "check your network connection"

_T = TypeVar("_T")
_Headers = Iterable[tuple[str, str]]


class FetchError(LocalIOError):
    """A request failed; the message has the URL and the reason."""


class AnsweredError(FetchError):
    """The server responded with an error.

    Attributes:
        status: HTTP status code.
    """

    def __init__(self, message: str, hint: str, status: int) -> None:
        self.status = status
        super().__init__(message, hint)


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A GET request, and the limits on its response.

    Attributes:
        url: https, or http on this machine.
        seconds: limit for the whole download.
        max_bytes: limit for the size of the file.
        etag: of the local copy; the server does not send an unchanged file again.
        headers: additional headers; they are not sent to redirects.
    """

    url: str
    seconds: float
    max_bytes: int
    etag: str | None = None
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class HttpResult:
    """A response.

    Attributes:
        is_unchanged: the local copy is up to date; nothing was written.
        sha256: of the file, as hexadecimal digits.
    """

    is_unchanged: bool
    etag: str | None
    sha256: str


@dataclass(frozen=True, slots=True)
class PostResult:
    """Outcome of a POST request.

    Attributes:
        is_accepted: the server accepted it, or has all of it and did not answer.
        problem: the error, without the URL; empty on success.
    """

    is_accepted: bool
    problem: str


async def fetch(request: HttpRequest, to: Path) -> HttpResult:
    """Download a URL to a file.

    Raises:
        FetchError: the download failed, timed out, is too large, or cannot be written.
    """
    call = _Call(min(SILENCE, request.seconds))
    try:
        async with asyncio.timeout(request.seconds):
            await call.prepare(request.url)
            return await call.run(f"GET {request.url}", lambda: _download(call, request, to))
    except TimeoutError as error:
        raise FetchError(f"{request.url} timed out after {request.seconds:g} s", _HINT) from error
    finally:
        call.stop()


async def post(url: str, body: bytes, seconds: float) -> PostResult:
    """POST JSON; redirects are not followed, because the body is for this URL only."""
    call = _Call(2 * seconds)  # for connecting only; anything else is cut below
    is_sent, status, problem = False, 0, ""
    address, authorization = without_secret(url)
    headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
    if authorization:
        headers.append(("Authorization", authorization))

    def content() -> Iterator[bytes]:
        nonlocal is_sent
        yield body
        is_sent = True

    def send() -> None:
        nonlocal status
        proxy = _proxy(address) if address.startswith("https:") else None
        with call.exchange("POST", address, headers, proxy, content()) as response:
            status = response.status

    try:
        async with asyncio.timeout(seconds):
            await call.prepare(address)
            await call.run(f"POST {urlsplit(address).hostname}", send)
        if status not in _FINE:
            problem = f"it answered {status}"
    except TimeoutError:
        problem = f"timed out after {seconds:g} s"
    except FetchError as error:
        cause = error.__cause__ or error
        problem = f"{type(cause).__name__}: {cause}"
    # Before the connection is cut: half a response must not count.
    is_accepted = is_sent and (not status or status in _FINE)
    call.stop()
    return PostResult(is_accepted, problem)


def check_url(url: str, *, came_from: str | None = None) -> None:
    """Accept only https, and http on this machine.

    Raises:
        FetchError: the URL is neither.
    """
    import httpx2

    try:
        parsed = httpx2.URL(url)
    except httpx2.InvalidURL as error:
        raise FetchError(f"{url}: {error}", "") from error
    if parsed.scheme == "https" and parsed.host:
        return
    is_here = parsed.scheme == "http" and _is_loopback(parsed.host)
    if is_here and (came_from is None or came_from.startswith("http://")):
        return
    redirect = f" (a redirect of {came_from})" if came_from else ""
    raise FetchError(f"{url}{redirect} is not https; only https is allowed", "")


def without_secret(url: str) -> tuple[str, str]:
    """A URL without the user and password in it, and the header that has them."""
    parts = urlsplit(url)
    secret, at, host = parts.netloc.rpartition("@")
    if not at:
        return url, ""
    name, _, password = secret.partition(":")
    pair = f"{unquote(name)}:{unquote(password)}".encode()
    address = urlunsplit((parts.scheme, host, parts.path, parts.query, parts.fragment))
    return address, f"Basic {base64.b64encode(pair).decode()}"


@dataclass(frozen=True, slots=True)
class _Response:
    status: int
    reason: str
    headers: Mapping[str, str]
    pieces: Iterator[bytes]


class _Call:
    """Requests of one thread, which `stop` ends at once.

    Args:
        silence: seconds without any data until the server counts as silent.
    """

    def __init__(self, silence: float) -> None:
        self._silence = silence
        self._sock: socket.socket | None = None
        self._is_stopped = False
        self._tls: Any = None  # of `ssl`, which is imported when it is needed

    async def prepare(self, url: str) -> None:
        """Load the modules and certificates that a request for a URL needs.

        Not in the thread of the request, which nothing waits for: a program that ends while a
        thread loads certificates crashes.
        """

        def load() -> None:
            import ssl

            import_module("httpx2")
            if url.startswith("https:"):
                self._tls = ssl.create_default_context()

        await asyncio.to_thread(load)

    async def run(self, name: str, work: Callable[[], _T]) -> _T:
        """Run `work` in the thread."""
        future = Future[_T]()
        future.set_running_or_notify_cancel()

        def in_thread() -> None:
            with ErrorBoundary() as caught:
                future.set_result(work())
            if caught.error is not None:
                future.set_exception(caught.error)
                caught.error = None  # its frames hold a socket, and would hold each other

        threading.Thread(target=in_thread, name=name, daemon=True).start()
        return await asyncio.wrap_future(future)

    def stop(self) -> None:
        """Cut the connection: the thread ends, even if the server still sends slowly."""
        self._is_stopped = True
        if self._sock is not None:
            with suppress(OSError):
                self._sock.shutdown(socket.SHUT_RDWR)

    @contextmanager
    def exchange(
        self,
        method: str,
        url: str,
        headers: _Headers,
        proxy: str | None,
        body: Iterator[bytes] | None = None,
    ) -> Generator[_Response]:
        """Send a request; the response can be read until the end of the block.

        Raises:
            FetchError: it failed.
        """
        import ssl

        import httpx2

        # Only https needs the certificates, which take long to load.
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if url.startswith("https:"):
            tls = self._tls or ssl.create_default_context()
        limits = {"timeout": httpx2.Timeout(self._silence).as_dict(), "trace": self._on_event}

        def pieces() -> Iterator[bytes]:
            try:
                # Not decoded: a small body could become a large one.
                yield from response.iter_raw()
            except httpx2.RemoteProtocolError as error:
                size, of = response.num_bytes_downloaded, response.headers.get("Content-Length")
                text = f"{url} ended after {size}{f' of {of}' if of else ''} bytes"
                raise FetchError(text, "try again") from error

        try:
            sent = [("User-Agent", "symposium"), ("Accept-Encoding", "identity"), *headers]
            encoded = httpx2.Headers(sent, encoding="utf-8")
            request = httpx2.Request(method, url, headers=encoded, content=body, extensions=limits)
            with (
                httpx2.HTTPTransport(verify=tls, trust_env=False, proxy=proxy) as transport,
                closing(transport.handle_request(request)) as response,
            ):
                yield _Response(
                    response.status_code, response.reason_phrase, response.headers, pieces()
                )
        except httpx2.TimeoutException as error:
            raise FetchError(f"{url} timed out", _HINT) from error
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
            raise FetchError(f"{url}: {error}", _HINT) from error

    def _on_event(self, name: str, info: Mapping[str, Any]) -> None:
        if name.endswith(("connect_tcp.complete", "start_tls.complete")):
            self._sock = info["return_value"].get_extra_info("socket")
            if self._is_stopped:
                self.stop()


def _download(call: _Call, request: HttpRequest, to: Path) -> HttpResult:
    url, came_from = request.url, None
    headers = [("If-None-Match", request.etag)] if request.etag is not None else []
    for _ in range(MAX_REDIRECTS + 1):
        check_url(url, came_from=came_from)
        sent = headers if came_from else [*headers, *request.headers]
        with call.exchange("GET", url, sent, _proxy(url)) as response:
            location = response.headers.get("Location")
            if response.status in _REDIRECTS and location:
                url, came_from = urljoin(url, location), url
                continue
            if response.status == HTTPStatus.NOT_MODIFIED:
                return HttpResult(is_unchanged=True, etag=request.etag, sha256="")
            if response.status not in _FINE:
                refused = f"{request.url} answered {response.status} {response.reason}"
                raise AnsweredError(refused, "", response.status)
            return _save(response, request, to)
    raise FetchError(f"{request.url} redirects more than {MAX_REDIRECTS} times", "")


def _save(response: _Response, request: HttpRequest, to: Path) -> HttpResult:
    too_large = FetchError(f"{request.url} is larger than {request.max_bytes} bytes", "")
    if int(response.headers.get("Content-Length") or 0) > request.max_bytes:
        raise too_large
    digest, size = hashlib.sha256(), 0
    with to.open("wb") as file:
        for piece in response.pieces:
            size += len(piece)
            if size > request.max_bytes:
                raise too_large
            digest.update(piece)
            file.write(piece)
    etag = response.headers.get("ETag")
    return HttpResult(is_unchanged=False, etag=etag, sha256=digest.hexdigest())


def _proxy(url: str) -> str | None:
    """The proxy that the environment names for a URL; it is always reached without TLS."""
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(url)
    named = getproxies().get(parts.scheme)
    if not named or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    return f"http://{named.rpartition('://')[2]}"


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
