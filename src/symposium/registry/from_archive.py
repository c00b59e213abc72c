"""Installs a program from an archive, or from a file that is the program itself."""

import asyncio
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from localio.archives import Room, unpack
from localio.http import ARCHIVE_TIME, MAX_ARCHIVE, fetch
from localio.http_values import Wish
from symposium.registry.building import Built, InstallError
from symposium.registry.entries import Archive


async def build_from_archive(target: Archive, directory: Path) -> Built:
    """Download, check and unpack into an empty directory.

    Raises:
        FetchError: it did not come.
        InstallError: its sum is not the published one, or the program is not in it.
        UnpackError: it is damaged or not to be trusted.
    """
    download = directory / ".download"
    got = await fetch(Wish(target.archive, ARCHIVE_TIME, MAX_ARCHIVE), download)
    if target.sha256 is not None and got.sha256 != target.sha256.lower():
        raise InstallError(
            f"{target.archive} has the sum {got.sha256}, and the registry publishes "
            f"{target.sha256.lower()}: it is refused",
            "try again later; if it stays so, tell whoever publishes it",
        )
    name = PurePosixPath(unquote(urlsplit(target.archive).path)).name
    program = directory / PurePosixPath(target.cmd)
    if await asyncio.to_thread(unpack, download, name, directory, Room()):
        download.unlink()
    else:
        program.parent.mkdir(parents=True, exist_ok=True)
        download.rename(program)
    if not program.is_file():
        raise InstallError(f"{target.archive} holds no {target.cmd}", "")
    program.chmod(0o755)
    return Built(
        (f"./{PurePosixPath(target.cmd)}", *target.args),
        target.archive,
        sha256=got.sha256,
        is_verified=target.sha256 is not None,
    )
