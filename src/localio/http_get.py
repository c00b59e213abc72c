"""One blocking GET with limits; redirects must stay on https."""

import hashlib
import http.client
import ipaddress
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from email.message import Message
from http import HTTPStatus
from pathlib import Path
from typing import IO, Final

from localio.http_values import AnsweredError, FetchError, HttpRequest, HttpResult

PIECE: Final = 256 * 1024
SILENCE: Final = 10.0
"""Timeout in seconds between two reads."""


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Refuse a redirect that leaves https."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: Message,
        newurl: str,
    ) -> urllib.request.Request | None:
        check_url(newurl, came_from=req.full_url)
        return super().redirect_request(req, fp, code, msg, headers, newurl)  # pyright: ignore[reportArgumentType]  typeshed wants HTTPMessage, which the caller passes


def check_url(url: str, *, came_from: str | None = None) -> None:
    """Accept only https, and http on this machine.

    Raises:
        FetchError: the URL is neither.
    """
    parts = urllib.parse.urlsplit(url)
    if parts.scheme == "https" and parts.hostname:
        return
    is_here = parts.scheme == "http" and _is_loopback(parts.hostname or "")
    if is_here and (came_from is None or came_from.startswith("http://")):
        return
    redirect = f" (a redirect of {came_from})" if came_from else ""
    raise FetchError(f"{url}{redirect} is not https; only https is allowed", "")


def http_get(request: HttpRequest, to: Path) -> HttpResult:
    """Download a URL to a file.

    Raises:
        FetchError: the download failed, timed out, is too large, or cannot be written.
    """
    check_url(request.url)
    headers = {"User-Agent": "symposium", "Accept-Encoding": "identity"}
    if request.etag is not None:
        headers["If-None-Match"] = request.etag
    outgoing = urllib.request.Request(request.url, headers=headers)  # noqa: S310 - checked above
    for name, value in request.headers:
        outgoing.add_unredirected_header(name, value)
    opener = urllib.request.build_opener(_SafeRedirects())
    try:
        with opener.open(outgoing, timeout=min(SILENCE, request.seconds)) as response:
            return _take(response, request, to)
    except urllib.error.HTTPError as error:
        with error:
            if error.code == HTTPStatus.NOT_MODIFIED:
                return HttpResult(is_unchanged=True, etag=request.etag, sha256="")
        message = f"{request.url} answered {error.code} {error.reason}"
        raise AnsweredError(message, "", error.code) from error
    except TimeoutError as error:
        message = f"{request.url} timed out"
        raise FetchError(message, "check your network connection") from error
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise FetchError(f"{request.url}: {reason}", "check your network connection") from error


def _take(response: http.client.HTTPResponse, request: HttpRequest, to: Path) -> HttpResult:
    if int(response.headers.get("Content-Length") or 0) > request.max_bytes:
        raise _too_large(request)
    digest, size = hashlib.sha256(), 0
    with to.open("wb") as file:
        for piece in _pieces(response, request):
            size += len(piece)
            if size > request.max_bytes:
                raise _too_large(request)
            digest.update(piece)
            file.write(piece)
    declared = response.headers.get("Content-Length")
    if declared is not None and size != int(declared):
        raise FetchError(f"{request.url} ended after {size} of {declared} bytes", "try again")
    return HttpResult(
        is_unchanged=False, etag=response.headers.get("ETag"), sha256=digest.hexdigest()
    )


def _pieces(response: http.client.HTTPResponse, request: HttpRequest) -> Iterator[bytes]:
    deadline = time.monotonic() + request.seconds
    while piece := response.read1(PIECE):
        yield piece
        if request.stop.is_set() or time.monotonic() > deadline:
            raise TimeoutError


def _too_large(request: HttpRequest) -> FetchError:
    return FetchError(f"{request.url} is larger than {request.max_bytes} bytes", "")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
