"""Processes that run in a worktree, from /proc or lsof."""

import asyncio
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from localio.git import running_pids

_HAS_PROC: Final = sys.platform == "linux"

_EXIT_TIMEOUT: Final = 20.0
"""Seconds that a list of all processes may take."""


@dataclass(frozen=True, slots=True)
class Running:
    """A program of this user whose working directory is in the worktree."""

    pid: int
    name: str


async def running_in(directory: Path) -> list[Running] | None:
    """Programs that run in a directory, without gits of Symposium; None if unknown."""
    if _HAS_PROC:
        found = await asyncio.to_thread(_from_proc, directory)
    else:
        found = await _from_lsof(directory)
    return None if found is None else [each for each in found if not _is_our_git(each.pid)]


def family_of(pid: int) -> frozenset[int]:
    """A process and its descendants, by `ps` (POSIX); the process alone without it."""
    program = shutil.which("ps")
    if program is None:
        return frozenset({pid})
    words = [program, "-A", "-o", "pid=", "-o", "ppid="]
    listed = subprocess.run(words, capture_output=True, check=False, timeout=_EXIT_TIMEOUT)  # noqa: S603 - the words are constants
    children: dict[int, list[int]] = {}
    for line in listed.stdout.splitlines():
        child, parent = map(int, line.split())
        children.setdefault(parent, []).append(child)
    found, new = {pid}, [pid]
    while new:
        new = [child for each in new for child in children.get(each, ()) if child not in found]
        found.update(new)
    return frozenset(found)


def _is_our_git(pid: int) -> bool:
    """Whether a process is a git of Symposium, which exits by itself."""
    try:
        return os.getsid(pid) in running_pids
    except ProcessLookupError:
        # The process has exited meanwhile.
        return True


def _from_proc(directory: Path) -> list[Running]:
    found: list[Running] = []
    real = directory.resolve()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            # A process of another user is not readable, and cannot write here as this user.
            cwd = (entry / "cwd").readlink()
            name = (entry / "comm").read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            continue
        if cwd == real or real in cwd.parents:
            found.append(Running(int(entry.name), name))
    return found


async def _from_lsof(directory: Path) -> list[Running] | None:
    program = shutil.which("lsof")
    if program is None:
        return None
    process = await asyncio.create_subprocess_exec(
        *(program, "-a", "-d", "cwd", "-F", "pcn"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    out, _ = await process.communicate()
    return parse_lsof(os.fsdecode(out), directory)


def parse_lsof(text: str, directory: Path) -> list[Running]:
    """Parse the programs in a directory from the output of `lsof -d cwd -F pcn`."""
    found: list[Running] = []
    directory = directory.resolve()
    pid, name = 0, ""
    for line in text.splitlines():
        match line[:1]:
            case "p":
                pid = int(line[1:])
            case "c":
                name = line[1:]
            case "n":
                cwd = Path(line[1:])
                if (cwd == directory or directory in cwd.parents) and pid != os.getpid():
                    found.append(Running(pid, name))
            case _:
                pass
    return found
