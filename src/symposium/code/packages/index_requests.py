"""Requests to package indexes: metadata and archives."""

import hashlib
import tempfile
from http import HTTPStatus
from pathlib import Path
from typing import Final

from localio.http import AnsweredError, FetchError, HttpRequest, fetch, without_secret
from symposium.code.packages.model import (
    Checksum,
    DamagedError,
    OfflineError,
    PackageError,
    UnknownPackageError,
)

ANSWER_TIME: Final = 30.0
ARCHIVE_TIME: Final = 300.0
"""Timeouts in seconds for metadata and for an archive."""

MAX_ANSWER: Final = 128 * 1024 * 1024
"""Maximum size of a version list, in bytes; some packages have thousands of versions."""

MAX_ARCHIVE: Final = 256 * 1024 * 1024

_ABSENT: Final = (HTTPStatus.NOT_FOUND, HTTPStatus.GONE, HTTPStatus.UNAVAILABLE_FOR_LEGAL_REASONS)


async def ask(url: str, *, what: str, headers: tuple[tuple[str, str], ...] = ()) -> bytes:
    """Body of the response from a URL.

    Raises:
        UnknownPackageError: the server has no such resource.
        OfflineError: the server is unreachable or denies access.
    """
    address, authorization = without_secret(url)
    sent = (*headers, *(("Authorization", each) for each in (authorization,) if each))
    with tempfile.TemporaryDirectory(prefix="symposium-") as place:
        file = Path(place) / "answer"
        request = HttpRequest(address, ANSWER_TIME, MAX_ANSWER, headers=sent)
        try:
            await fetch(request, file)
        except AnsweredError as error:
            raise _answered(error, what) from error
        except FetchError as error:
            raise _offline(error, what) from error
        return file.read_bytes()


async def download(
    url: str, to: Path, checksum: Checksum | None, *, what: str, authorization: str = ""
) -> None:
    """Download an archive and verify its checksum.

    Raises:
        UnknownPackageError: it does not exist.
        OfflineError: the server is unreachable.
        DamagedError: the checksum does not match.
    """
    address, inside = without_secret(url)
    sent = tuple(("Authorization", each) for each in (authorization or inside,) if each)
    try:
        got = await fetch(HttpRequest(address, ARCHIVE_TIME, MAX_ARCHIVE, headers=sent), to)
    except AnsweredError as error:
        raise _answered(error, what) from error
    except FetchError as error:
        raise _offline(error, what) from error
    if checksum is None:
        return
    digits = got.sha256 if checksum.algorithm == "sha256" else _digest(to, checksum.algorithm)
    if digits != checksum.digits.lower():
        raise DamagedError(
            f"{what}: the file from {address} is not the published one ({checksum.algorithm} "
            f"{digits[:16]}… instead of {checksum.digits[:16]}…)",
            "nothing was stored; retry, and report it to the index operator if it happens again",
        )


def _answered(error: AnsweredError, what: str) -> PackageError:
    if error.status in _ABSENT:
        return UnknownPackageError(f"{what} is not published: {error.message}", "check the name")
    return _offline(error, what)


def _offline(error: FetchError, what: str) -> OfflineError:
    return OfflineError(
        f"{what} is not on this machine, and the download failed: {error.message}",
        error.hint or "the package may still exist",
    )


def _digest(file: Path, algorithm: str) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, algorithm).hexdigest()
