"""Files and directories: atomic writes, private directories, bounded reads, trusted places."""

import os
import stat
from errno import EACCES, EDQUOT, ENOSPC, EPERM, EROFS
from pathlib import Path
from typing import Final

PRIVATE_FILE_MODE: Final = 0o600
"""Settings may hold keys: what we make is for the user alone."""

_ANY_WRITE: Final = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


_FIXES: Final = {
    ENOSPC: "free space on its file system",
    EDQUOT: "free space, your quota is used up",
    EROFS: "its file system is read-only; set SYMPOSIUM_HOME to another directory",
    EACCES: "make it writable",
    EPERM: "make it writable",
}


def storage_error_text(error: OSError) -> str:
    """Explain why something cannot be stored, with the path and what to do."""
    path = error.filename or "a file of Symposium"
    text = f"cannot write {path}: {error.strerror or error}"
    fix = _FIXES.get(error.errno or 0, "")
    return f"{text}; {fix}" if fix else text


def write_whole(path: Path, text: str | bytes) -> None:
    """Put a text in place of a file; its mode stays, a new one is 0600, a link stays a link.

    Raises:
        OSError: it cannot be written; nothing has changed then.
    """
    target = path.resolve()
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    check_writable(path)
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else PRIVATE_FILE_MODE
    # Not from tempfile: its import alone takes milliseconds of every start.
    temporary = target.with_name(f".{target.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE_MODE)
        with os.fdopen(handle, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(mode)
        temporary.replace(target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        # A write names no file, and the temporary name says little.
        raise OSError(error.errno, error.strerror, str(target)) from error
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_path(target.parent)


def read_text(path: Path) -> str | None:
    """Text of a file with its line endings; None if it does not exist.

    Raises:
        OSError, UnicodeDecodeError: it cannot be read, or is not UTF-8.
    """
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return None


def check_writable(path: Path) -> None:
    """Refuse a file, or a directory, that is marked as read-only.

    Raises:
        OSError: it is.
    """
    # A rename needs no right on the file itself, and root needs none at all. But a user who
    # removed the right to write meant it.
    target = path.resolve()
    for each in (target, target.parent):
        if each.exists() and not (each.stat().st_mode & _ANY_WRITE and os.access(each, os.W_OK)):
            raise PermissionError(EACCES, "it is read-only", str(each))


def sync_path(path: Path | str) -> None:
    """Sync a file, or the names in a directory, to the disk: a new one can be gone without that."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


PRIVATE_DIRECTORY_MODE: Final = 0o700


def make_private_directory(directory: Path, *, is_synced: bool = False) -> None:
    """Make a directory, and each missing one above it, for this user alone; those there stay.

    `Path.mkdir` gives its mode to the last one only: what else it makes, everybody can read, and
    the directory of the sockets would then be refused by the next process (users §7.4).

    Args:
        directory: the lowest one.
        is_synced: each new name is synced to the disk.

    Raises:
        OSError: it cannot be made, or something else has its name.
    """
    if not directory.parent.is_dir():
        make_private_directory(directory.parent, is_synced=is_synced)
    is_new = is_synced and not directory.exists()
    directory.mkdir(mode=PRIVATE_DIRECTORY_MODE, exist_ok=True)
    if is_new:
        sync_path(directory.parent)


def regular_content(path: Path, most: int) -> bytes:
    """Content of a regular file.

    Args:
        path: links are followed.
        most: bytes that it may have.

    Raises:
        OSError: it cannot be read.
        ValueError: it is a pipe, a device or a directory, or larger.
    """
    # Opening a pipe without a writer would block.
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError("it is no file")
        with open(handle, "rb", closefd=False) as file:
            content = file.read(most + 1)
    finally:
        os.close(handle)
    if len(content) > most:
        raise ValueError(f"it is larger than {most} bytes")
    return content


def trusted_places(search_path: str, workspace: Path | None = None) -> list[str]:
    """The directories of a PATH that programs are taken from while a workspace is open.

    Not those inside it, nor any that depends on where one is: opening a workspace starts nothing
    that is stored in it. One that holds the user's home counts as none: so does all they installed.

    Args:
        search_path: as PATH has it.
        workspace: where we are, by default.
    """
    absolute = [each for each in search_path.split(os.pathsep) if os.path.isabs(each)]  # noqa: PTH117 - starts fast
    try:
        inside = (Path() if workspace is None else workspace).resolve()
    except FileNotFoundError:
        return absolute  # where we are has been removed: nothing is in it
    if is_in(Path.home(), inside):
        return absolute
    return [each for each in absolute if not Path(each).resolve().is_relative_to(inside)]


def is_in(place: Path, folder: Path) -> bool:
    """Whether it is that folder or in it, links resolved."""
    return place.resolve().is_relative_to(folder.resolve())
