"""Installs an agent into a place of its own: built aside, then put there in one step."""

import asyncio
import fcntl
import secrets
import shutil
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Final

from symposium.registry.building import Built
from symposium.registry.entries import Entry
from symposium.registry.from_archive import build_from_archive
from symposium.registry.from_cargo import build_from_cargo
from symposium.registry.from_npm import build_from_npm
from symposium.registry.from_python import build_from_python
from symposium.registry.receipts import Receipt, installed_versions, read_receipt, write_receipt
from symposium.registry.resolve import FromArchive, FromCrate, FromPackage

KEPT: Final = 2
"""Versions of an agent that stay: the newest, and the one before it."""

Installable = FromArchive | FromPackage | FromCrate

_STAGING: Final = ".staging-"
_LOOK_AGAIN: Final = 0.1


async def install(entry: Entry, way: Installable, bin_directory: Path) -> Receipt:
    """Make sure that this version is there; another one being installed by anyone is waited for.

    Raises:
        ExplainedError: it could not be got; what was there before is untouched.
    """
    home = bin_directory / entry.id
    place = home / entry.version
    async with _alone(home):
        if (receipt := read_receipt(place)) is not None:
            return receipt
        _sweep(home)
        staging = home / f"{_STAGING}{secrets.token_hex(4)}"
        staging.mkdir()
        try:
            built = await _build(entry, way, staging)
            receipt = _receipt(entry, way, built)
            write_receipt(receipt, staging)
            if place.exists():  # without a receipt: somebody has taken it apart
                shutil.rmtree(place)
            staging.rename(place)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
        _prune(home)
    return receipt


async def uninstall(agent_id: str, bin_directory: Path) -> bool:
    """Remove every version; False if none was there."""
    home = bin_directory / agent_id
    if not home.is_dir():
        return False
    async with _alone(home):
        found = bool(installed_versions(home))
        for each in home.iterdir():
            if each.is_dir():
                shutil.rmtree(each)
    return found


async def _build(entry: Entry, way: Installable, directory: Path) -> Built:
    match way:
        case FromArchive(target):
            return await build_from_archive(target, directory)
        case FromPackage("npx", target):
            return await build_from_npm(target, directory)
        case FromPackage(_, target):
            return await build_from_python(target, directory)
        case FromCrate(target):
            return await build_from_cargo(target, entry.version, directory)


def _receipt(entry: Entry, way: Installable, built: Built) -> Receipt:
    match way:
        case FromArchive(target):
            source, env = "binary", target.env
        case FromPackage(tool, target):
            source, env = tool, target.env
        case FromCrate():
            source, env = "cargo", {}
    return Receipt(
        id=entry.id,
        name=entry.name,
        version=entry.version,
        source=source,
        origin=built.origin,
        argv=built.argv,
        env=dict(env),
        when=time.time(),
        sha256=built.sha256,
        is_verified=built.is_verified,
        integrity=built.integrity,
    )


@asynccontextmanager
async def _alone(home: Path) -> AsyncGenerator[None]:
    """Nobody else installs this agent meanwhile; the system lets go for who is killed."""
    with _lock_file(home) as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                # A thread that waits for a lock cannot be cancelled; looking again can.
                await asyncio.sleep(_LOOK_AGAIN)
            else:
                break
        yield


def _lock_file(home: Path) -> IO[bytes]:
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    return (home / ".lock").open("wb")


def _sweep(home: Path) -> None:
    """Remove what killed installs have left; nobody else is at work here."""
    for left in home.glob(f"{_STAGING}*"):
        shutil.rmtree(left, ignore_errors=True)


def _prune(home: Path) -> None:
    for old in installed_versions(home)[:-KEPT]:
        shutil.rmtree(home / old.version, ignore_errors=True)
