"""Forks `symposium` from a process that has imported it, instead of starting an interpreter.

`fork_or_execute` takes the place of the function of `subprocess` that forks and executes. A command
of Symposium that is started in the usual way comes from the nursery: a program that has imported
every subcommand, and only forks. Whatever else is started, or is started in another way, is
executed as always. The new process is a child of its caller, with the arguments, environment,
directory, and descriptors that were asked for; it ends as an interpreter ends.
"""

import atexit
import ctypes
import fcntl
import json
import os
import pkgutil
import re
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Final

EXECUTE: Final[Callable[..., int]] = vars(subprocess)["_fork_exec"]
PROGRAM: Final = str(Path(sys.executable).with_name("symposium"))

_STARTS: Final = {
    "script": (PROGRAM,),
    "safe module": (sys.executable, "-P", "-m", "symposium"),
    "module": (sys.executable, "-m", "symposium"),
}
"""The ways to start a command; a longer one is not the beginning of another."""

_INTERPRETER: Final = re.compile(rb"(?:PYTHON|LANG=|LANGUAGE=|LC_|LD_)")
"""Variables that an interpreter reads when it starts."""

_LENGTH: Final = struct.Struct("=Q")
_FLAGS: Final = 0x00008000 | 17
"""CLONE_PARENT and SIGCHLD: the child of a child of a test is a child of the test."""

_CLONE: Final = {"x86_64": 56, "aarch64": 220}
_SET_NAME, _SET_MM, _SET_MM_MAP = 15, 35, 14
_FAR: Final = 400
"""A descriptor above those that a program is given."""

_SHOWN: Final[list[object]] = []
"""What the kernel reads as our arguments and variables."""


class Nursery:
    """The nursery of this process; it is started when the first command is, and ends with us."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._link: socket.socket | None = None
        self.count = 0

    def fork(self, asked: dict[str, Any], descriptors: Sequence[int]) -> int:
        """Fork a command; return its process id."""
        text = json.dumps(asked).encode()
        with self._lock:
            link = self._link = self._link or self._start()
            socket.send_fds(link, [_LENGTH.pack(len(text))], descriptors)
            link.sendall(text)
            self.count += 1
            return _LENGTH.unpack(_exactly(link, _LENGTH.size))[0]

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, "-P", __file__, str(theirs.fileno())]
            nowhere = subprocess.DEVNULL
            process = subprocess.Popen(
                command,
                stdin=nowhere,
                stdout=nowhere,
                pass_fds=[theirs.fileno()],
                cwd="/",
                # A test ends all that has its home.
                env={name: os.environ[name] for name in os.environ if "SYMPOSIUM" not in name},
            )
        atexit.register(lambda: (ours.close(), process.wait()))
        return ours


NURSERY: Final = Nursery()


def fork_or_execute(*given: Any) -> int:
    """Take the place of `subprocess._fork_exec`; leave commands of Symposium to the nursery."""
    words, _, closes, passed, cwd, environment, *others = given
    streams, failing = (others[0], others[3], others[5]), others[7]
    restores, session = others[8:10]
    # The group, the ids of group and user, the umask, and a function to call.
    is_usual = closes and restores and others[10:16] == [-1, None, None, None, -1, None]
    is_there = cwd is None or Path(os.fsdecode(cwd)).is_dir()
    variables = _variables(environment)
    way = _way([os.fsdecode(word) for word in words])
    if not (way and is_usual and is_there and _alike(variables)):
        return EXECUTE(*given)
    kept = [each for each in passed if each != failing]
    asked = {
        "way": way,
        "words": [os.fsdecode(word) for word in words],
        "environment": [os.fsdecode(each) for each in variables],
        "cwd": os.fsdecode(cwd) if cwd else str(Path.cwd()),
        "umask": _umask(),
        "session": bool(session),
        "targets": [0, 1, 2, *kept],
    }
    sources = [place if each == -1 else each for place, each in enumerate(streams)]
    return NURSERY.fork(asked, [*sources, *kept])


def _way(words: Sequence[str]) -> str | None:
    if os.uname().machine not in _CLONE:
        return None
    for way, beginning in _STARTS.items():
        if tuple(words[: len(beginning)]) == beginning:
            return way
    return None


def _variables(environment: Sequence[bytes] | None) -> Sequence[bytes]:
    if environment is None:
        return [name + b"=" + value for name, value in os.environb.items()]
    return environment


def _alike(variables: Sequence[bytes]) -> bool:
    """Whether an interpreter starts with these as it does with ours."""
    ours = {each for each in _variables(None) if _INTERPRETER.match(each)}
    return ours == {each for each in variables if _INTERPRETER.match(each)}


def _umask() -> int:
    found = re.search(r"^Umask:\s*(\d+)", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert found
    return int(found[1], 8)


def _exactly(link: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        more = link.recv(count - len(found))
        assert more, "the nursery has ended"
        found += more
    return found


def _serve(link: socket.socket) -> dict[str, Any] | None:
    """Fork for whoever asks; returns in the child with what it is to do, or when nobody asks."""
    while True:
        head, descriptors, _, _ = socket.recv_fds(link, _LENGTH.size, 64)
        if not head:
            return None
        head += _exactly(link, _LENGTH.size - len(head)) if len(head) < _LENGTH.size else b""
        asked = json.loads(_exactly(link, _LENGTH.unpack(head)[0]))
        if (child := _clone()) == 0:
            link.detach()
            return asked | {"sources": descriptors}
        link.sendall(_LENGTH.pack(child))
        for each in descriptors:
            os.close(each)


def _clone() -> int:
    """As `os.fork` does, but the child's parent is ours."""
    python = ctypes.PyDLL(None)
    python.PyOS_BeforeFork()
    child = python.syscall(_CLONE[os.uname().machine], _FLAGS, None, None, None, None)
    if child == 0:
        python.PyOS_AfterFork_Child()
    else:
        python.PyOS_AfterFork_Parent()
    return child


def _become(asked: dict[str, Any]) -> Callable[[], Any]:
    """Be the process that was asked for; return what it is to do."""
    words, way = [os.fsencode(each) for each in asked["words"]], asked["way"]
    variables = [os.fsencode(each) for each in asked["environment"]]
    if asked["session"]:
        os.setsid()
    os.umask(asked["umask"])
    os.chdir(asked["cwd"])
    _take(asked["sources"], asked["targets"])
    os.environb.clear()
    for name, _, value in (each.partition(b"=") for each in variables):
        os.environb[name] = value
    time.tzset()
    entry, ours = sys.modules["symposium.__main__"], sys.modules["__main__"]
    module = None if way == "script" else "symposium"
    place = str(entry.__file__) if module else PROGRAM
    # From these click takes the name of the program.
    ours.__package__, ours.__file__ = module, place
    if way != "safe module":
        sys.path.insert(0, asked["cwd"] if module else str(Path(PROGRAM).parent))
    sys.argv[:] = [place, *asked["words"][len(_STARTS[way]) :]]
    # As the kernel starts a script.
    line = words if module else [os.fsencode(sys.executable), *words]
    sys.orig_argv[:] = [os.fsdecode(each) for each in line]
    _SHOWN.append(_show(line, variables))
    ctypes.CDLL(None).prctl(_SET_NAME, b"python" if module else b"symposium", 0, 0, 0)
    return entry.main


def _take(sources: Sequence[int], targets: Sequence[int]) -> None:
    """Have these descriptors under these numbers, and no other."""
    far = [fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, max(_FAR, *targets) + 1) for each in sources]
    for each, target in zip(far, targets, strict=True):
        os.dup2(each, target)
    for each in {int(each.name) for each in Path("/proc/self/fd").iterdir()} - set(targets):
        with suppress(OSError):
            os.close(each)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        old = getattr(sys, name)
        stream = open(  # noqa: SIM115 - a descriptor, open as long as the process runs
            number,
            "w" if number else "r",
            buffering=1 if number == 2 or os.isatty(number) else -1,
            encoding=old.encoding,
            errors=old.errors,
            newline="\n",
            closefd=False,
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _show(words: Sequence[bytes], variables: Sequence[bytes]) -> ctypes.Array[ctypes.c_char]:
    """Let `/proc` show these arguments and variables, as long as the value is kept."""
    texts = [b"".join(each + b"\0" for each in them) for them in (words, variables)]
    kept = ctypes.create_string_buffer(b"".join(texts))
    start = ctypes.addressof(kept)
    middle = start + len(texts[0])
    stat = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    # From `proc(5)`: code, data and heap; the end of the heap; the stack.
    old = [int(stat[field - 3]) for field in (26, 27, 45, 46, 47, 28)]
    library = ctypes.CDLL(None)
    library.sbrk.restype = ctypes.c_void_p
    old.insert(5, library.sbrk(0))
    places = [*old, start, middle, middle, middle + len(texts[1])]
    layout = struct.pack("=11QQIi", *places, 0, 0, -1)
    library.prctl(_SET_MM, _SET_MM_MAP, layout, ctypes.c_size_t(len(layout)), 0)
    return kept


def main() -> None:
    """Import everything, fork for whoever asks, and run the command in the child."""
    with socket.socket(fileno=int(sys.argv[1])) as link:
        prepare = import_module("symposium.cli.quick_imports").quick_imports
        import_module("symposium.__main__")
        with prepare():
            for module in pkgutil.iter_modules(import_module("symposium.cli.commands").__path__):
                import_module(f"symposium.cli.commands.{module.name}")
        asked = _serve(link)
    if asked:
        _become(asked)()


if __name__ == "__main__":
    main()
