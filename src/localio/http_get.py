"""One GET, blocking; redirects stay on https, and what is too much is cut off."""

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
"""Seconds in which at least something must come."""


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirect that leaves https."""

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
    """Refuse what is neither https nor http on this very machine.

    Raises:
        FetchError: it is neither.
    """
    parts = urllib.parse.urlsplit(url)
    if parts.scheme == "https" and parts.hostname:
        return
    is_here = parts.scheme == "http" and _is_loopback(parts.hostname or "")
    if is_here and (came_from is None or came_from.startswith("http://")):
        return
    on_the_way = f" (a redirect of {came_from})" if came_from else ""
    raise FetchError(f"{url}{on_the_way} is not https, and nothing is fetched without it", "")


def http_get(wish: HttpRequest, to: Path) -> HttpResult:
    """Write what the URL gives to a file.

    Raises:
        FetchError: it was refused, did not come in time, is too large, or cannot be written.
    """
    check_url(wish.url)
    headers = {"User-Agent": "symposium", "Accept-Encoding": "identity"}
    if wish.etag is not None:
        headers["If-None-Match"] = wish.etag
    request = urllib.request.Request(wish.url, headers=headers)  # noqa: S310 - checked above
    for name, value in wish.headers:
        request.add_unredirected_header(name, value)
    opener = urllib.request.build_opener(_SafeRedirects())
    try:
        with opener.open(request, timeout=min(SILENCE, wish.seconds)) as response:
            return _take(response, wish, to)
    except urllib.error.HTTPError as error:
        with error:
            if error.code == HTTPStatus.NOT_MODIFIED:
                return HttpResult(is_unchanged=True, etag=wish.etag, sha256="")
        refused = f"{wish.url} answered {error.code} {error.reason}"
        raise AnsweredError(refused, "", error.code) from error
    except TimeoutError as error:
        raise FetchError(f"{wish.url} did not come in time", "is the network up?") from error
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise FetchError(f"{wish.url}: {reason}", "is the network up?") from error


def _take(response: http.client.HTTPResponse, wish: HttpRequest, to: Path) -> HttpResult:
    if int(response.headers.get("Content-Length") or 0) > wish.most:
        raise _too_large(wish)
    digest, size = hashlib.sha256(), 0
    with to.open("wb") as file:
        for piece in _pieces(response, wish):
            size += len(piece)
            if size > wish.most:
                raise _too_large(wish)
            digest.update(piece)
            file.write(piece)
    declared = response.headers.get("Content-Length")
    if declared is not None and size != int(declared):
        raise FetchError(f"{wish.url} broke off after {size} of {declared} bytes", "try again")
    return HttpResult(
        is_unchanged=False, etag=response.headers.get("ETag"), sha256=digest.hexdigest()
    )


def _pieces(response: http.client.HTTPResponse, wish: HttpRequest) -> Iterator[bytes]:
    deadline = time.monotonic() + wish.seconds
    while piece := response.read1(PIECE):
        yield piece
        if wish.stop.is_set() or time.monotonic() > deadline:
            raise TimeoutError


def _too_large(wish: HttpRequest) -> FetchError:
    return FetchError(f"{wish.url} is larger than {wish.most} bytes, which is too much", "")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
