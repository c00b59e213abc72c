"""Forks `symposium` from a process that has imported it, instead of starting an interpreter.

`fork_or_execute` replaces the function of `subprocess` that forks and executes. The nursery forks
commands and session servers of Symposium that are started in the usual way: it is a program that
has imported them. Every other program is executed as always. On a machine where the nursery does
not work, every program is executed; it tests that when it starts.

A command is a child of its caller, with the requested arguments, environment, directory, and
descriptors. It ends as an interpreter ends, but does not tear down modules, which takes longer than
most commands. A session server detaches from its caller at once, so its caller gets another child
that ends at once. Forked processes start session servers in the same way, and daemons in the
background: there a small program waits for the command and ends with its exit code.
"""

import atexit
import ctypes
import fcntl
import gc
import json
import os
import pkgutil
import re
import secrets
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Final

_STATUS: Final = Path("/proc/self/status")

EXECUTE: Final[Callable[..., int] | None] = (
    vars(subprocess).get("_fork_exec") if _STATUS.exists() else None
)
"""Forks and executes; None if `subprocess` has no such function or the kernel no `/proc`."""

PROGRAM: Final = str(Path(sys.executable).with_name("symposium"))

_SERVER: Final = "session server"
_DAEMON: Final = "daemon"
_STARTS: Final = {
    "script": (PROGRAM,),
    "safe module": (sys.executable, "-P", "-m", "symposium"),
    "module": (sys.executable, "-m", "symposium"),
    _SERVER: (sys.executable, "-P", "-m", "symposium.sessions"),
    _DAEMON: (sys.executable, "-P", "-m", "symposium", "daemon", "start"),
}
"""Ways to start a command; the first that fits is used."""

_WAYS_ABOVE: Final = (_SERVER, _DAEMON)
"""Ways of a forked process: it is no parent of what the nursery forks."""

_INTERPRETER: Final = re.compile(rb"(?:PYTHON|LANG=|LANGUAGE=|LC_|LD_)")
"""Variables that an interpreter reads when it starts."""

_ARGUMENTS: Final = 23
"""Arguments of `EXECUTE` in the known Python versions."""

_ENDS_AT_ONCE: Final = (b"/bin/true",)
_WAITS: Final = (b"/bin/sh", b"-c", b'read -r code; exit "$code"')
"""Ends with the exit code that it reads, and with an error without one."""

_LENGTH: Final = struct.Struct("=q")
_FLAGS: Final = 0x00008000 | 17
"""CLONE_PARENT and SIGCHLD: the child of a child of a test is a child of the test."""

_CLONE: Final = {"x86_64": 56, "aarch64": 220}
_SET_NAME, _SET_MM, _SET_MM_MAP = 15, 35, 14
_FAR: Final = 400
"""A descriptor above those that a program receives."""

_INHERITED: Final = "SigBlk|Uid|Gid|Groups|CapEff|Seccomp"
"""Fields of `/proc/self/status`."""

_SHOWN: Final[list[object]] = []
"""The memory that the kernel reads as the arguments and variables of this process."""


class Nursery:
    """Process that forks commands; it starts with the first command, and ends with the caller.

    Attributes:
        kind: the kind of process for which commands are forked, the caller's by default. A process
        of another kind executes its commands, and does not start the nursery.
        count: the number of forked processes.
    """

    def __init__(self, command: Sequence[str] = (sys.executable, "-P", __file__)) -> None:
        self._command = command
        self._lock = threading.Lock()
        self._link: socket.socket | None = None
        self._is_tried = False
        self.kind = Kind.of_this_process()
        self.count = 0

    def fork(
        self, asked: Mapping[str, Any], environment: Sequence[bytes], descriptors: Sequence[int]
    ) -> int | None:
        """Fork a command; return its process id, or None if it must be executed."""
        kind = Kind.of_this_process()
        with self._lock:
            if not self._is_tried and not kind.differs(self.kind):
                self._is_tried, self._link = True, self._start()
            if not self._link or not self.kind.fits(kind, environment):
                return None
            child = _ask(self._link, {**asked, "ignored": kind.ignored}, descriptors)
            self.count += child is not None
            return child

    def _start(self) -> socket.socket | None:
        ours, theirs = socket.socketpair()
        with theirs:
            process = subprocess.Popen(
                [*self._command, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                cwd="/",
                # A test kills every process that has its home.
                env={name: os.environ[name] for name in os.environ if "SYMPOSIUM" not in name},
            )
        atexit.register(lambda: (ours.close(), process.wait()))
        child = _ask(ours, {"way": None}, ())
        return ours if child and os.waitpid(child, 0)[1] == 0 else None


class NurseryAbove:
    """The nursery that forked this process, for its session servers."""

    def __init__(self, address: bytes, kind: "Kind") -> None:
        self._address = address
        self._kind = kind

    def fork(
        self, asked: Mapping[str, Any], environment: Sequence[bytes], descriptors: Sequence[int]
    ) -> int | None:
        """Fork a session server; return the id of its first process, or None as above."""
        kind = Kind.of_this_process()
        if not self._kind.fits(kind, environment):
            return None
        with socket.socket(socket.AF_UNIX) as link:
            try:
                link.connect(self._address)
            except OSError:
                return None
            return _ask(link, {**asked, "ignored": kind.ignored}, descriptors)


@dataclass(frozen=True)
class Kind:
    """Inherited state of a process, beside its arguments.

    Attributes:
        variables: variables that an interpreter reads when it starts.
        status: blocked signals, user, group, and rights.
        ignored: ignored signals, a bit each; the caller may ignore more than the nursery.
    """

    variables: frozenset[bytes]
    status: tuple[str, ...]
    limits: str
    namespaces: tuple[str, ...]
    ignored: int = field(compare=False)

    @classmethod
    def of_this_process(cls) -> "Kind":
        """Return the kind of the caller; the same for all if the kernel has no `/proc`."""
        if not _STATUS.exists():
            return cls(frozenset(), (), "", (), 0)
        status = _STATUS.read_text()
        return cls(
            frozenset(filter(_INTERPRETER.match, _variables(None))),
            tuple(re.findall(rf"^(?:{_INHERITED}):.*$", status, re.MULTILINE)),
            Path("/proc/self/limits").read_text(),
            tuple(sorted(str(each.readlink()) for each in Path("/proc/self/ns").iterdir())),
            int(re.findall(r"^SigIgn:\s*(\w+)", status, re.MULTILINE)[0], 16),
        )

    def differs(self, other: "Kind") -> list[str]:
        """Return the names of fields that differ."""
        return [name for name in vars(self) if vars(self)[name] != vars(other)[name]]

    def fits(self, caller: "Kind", environment: Sequence[bytes]) -> bool:
        """Whether a forked process starts like one that the caller executes."""
        variables = frozenset(filter(_INTERPRETER.match, environment))
        return caller == self and variables == self.variables and not self.ignored & ~caller.ignored


def fork_or_execute(*given: Any) -> int:
    """Replace `subprocess._fork_exec`; leave commands of Symposium to the nursery."""
    return _start(NURSERY, list(_STARTS), given)


def _start(nursery: Nursery | NurseryAbove, ways: Sequence[str], given: Sequence[Any]) -> int:
    assert EXECUTE
    asked = _asked(ways, given) if len(given) == _ARGUMENTS else None
    if asked is None:
        return EXECUTE(*given)
    words, descriptors = asked
    if words["way"] == _DAEMON:
        return _start_waiting(EXECUTE, nursery, asked, given)
    child = nursery.fork(words, _variables(given[5]), descriptors)
    if child is None:
        return EXECUTE(*given)
    if words["way"] == _SERVER:
        return EXECUTE(_ENDS_AT_ONCE, _ENDS_AT_ONCE[:1], *given[2:])
    return child


def _start_waiting(
    execute: Callable[..., int],
    nursery: Nursery | NurseryAbove,
    asked: tuple[dict[str, Any], list[int]],
    given: Sequence[Any],
) -> int:
    """Fork a command that is not a child; return a child that ends with its exit code."""
    words, descriptors = asked
    reading, writing = os.pipe()
    try:
        child = nursery.fork(words, _variables(given[5]), [*descriptors, writing])
        if child is None:
            return execute(*given)
        return execute(_WAITS, _WAITS[:1], *given[2:6], reading, *given[7:])
    finally:
        os.close(reading)
        os.close(writing)


def _asked(ways: Sequence[str], given: Sequence[Any]) -> tuple[dict[str, Any], list[int]] | None:
    """Return the request for the nursery, with the descriptors, or None if it cannot fork this."""
    words, _, closes, passed, cwd, environment, *others = given
    streams, failing = (others[0], others[3], others[5]), others[7]
    restores, session = others[8:10]
    # The group, the ids of group and user, the umask, and a function to call.
    is_usual = closes and restores and list(others[10:16]) == [-1, None, None, None, -1, None]
    is_there = cwd is None or Path(os.fsdecode(cwd)).is_dir()
    texts = [os.fsdecode(word) for word in words]
    way = next((each for each in ways if (*texts,)[: len(_STARTS[each])] == _STARTS[each]), None)
    if not (way and is_usual and is_there):
        return None
    kept = [each for each in passed if each > 2 and each != failing]
    asked = {
        "way": way,
        "words": texts,
        "environment": [os.fsdecode(each) for each in _variables(environment)],
        "cwd": os.fsdecode(cwd) if cwd else str(Path.cwd()),
        "umask": _umask(),
        "session": bool(session),
        "targets": [0, 1, 2, *kept],
    }
    return asked, [*(place if each == -1 else each for place, each in enumerate(streams)), *kept]


def _variables(environment: Sequence[bytes] | None) -> Sequence[bytes]:
    if environment is None:
        return [name + b"=" + value for name, value in os.environb.items()]
    return environment


def _umask() -> int:
    found = re.search(r"^Umask:\s*(\d+)", _STATUS.read_text(), re.MULTILINE)
    assert found
    return int(found[1], 8)


def _ask(link: socket.socket, asked: Mapping[str, Any], descriptors: Sequence[int]) -> int | None:
    """Send a request; return the process id in the response, None if nothing was forked."""
    text = json.dumps(asked).encode()
    try:
        socket.send_fds(link, [_LENGTH.pack(len(text))], descriptors)
        link.sendall(text)
        (child,) = _LENGTH.unpack(_exactly(link, _LENGTH.size))
    except (OSError, EOFError):
        # It has ended, or is not reachable from here.
        return None
    return child if child > 0 else None


def _exactly(link: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        if not (more := link.recv(count - len(found))):
            raise EOFError
        found += more
    return found


def _serve(link: socket.socket, others: socket.socket) -> dict[str, Any] | None:
    """Fork for the test process, and session servers for forked processes.

    Returns:
        In the child the command to run; None when the test process has ended.
    """
    while True:
        ready, _, _ = select.select([link, others], [], [])
        with ExitStack() as stack:
            caller = link if link in ready else stack.enter_context(others.accept()[0])
            head, descriptors, _, _ = socket.recv_fds(caller, _LENGTH.size, 64)
            if not head and caller is link:
                return None
            head += _exactly(caller, _LENGTH.size - len(head)) if head else b""
            asked = json.loads(_exactly(caller, _LENGTH.unpack(head)[0]))
            _import_for(asked)
            # These detach from their caller, so they may be children of the nursery.
            child = os.fork() if asked["way"] in _WAYS_ABOVE else _clone()
            if child == 0:
                link.detach()
                return {**asked, "sources": descriptors}
            for each in descriptors:
                os.close(each)
            caller.sendall(_LENGTH.pack(child))


def _import_for(asked: Mapping[str, Any]) -> None:
    """Import the SDK that a command imports late, once for all later commands."""
    if "mcp" in asked.get("words", ())[1:5]:
        import_module("symposium.mcp_server.transports")


def _report_end(asked: dict[str, Any]) -> None:
    """Return in a child; wait for it, and write its exit code to the last descriptor."""
    status = asked["sources"].pop()
    child = os.fork()
    if child == 0:
        os.close(status)
        return
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.write(status, b"%d\n" % (code if code >= 0 else 128 - code))
    os._exit(0)


def _run_to_end(run: Callable[[], Any]) -> None:
    """Run a command; at a usual end, end the process without tearing down modules."""
    code = 0
    try:
        run()
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            raise
        code = end.code or 0
    # The steps of the interpreter at its end, in this order.
    vars(threading)["_shutdown"]()
    vars(atexit)["_run_exitfuncs"]()
    gc.collect()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            # The interpreter will report it.
            sys.exit(code)
    os._exit(code & 0xFF)


def _clone() -> int:
    """Fork like `os.fork`, but with the parent of this process; return -1 if that is impossible."""
    number = _CLONE.get(os.uname().machine)
    if number is None:
        return -1
    python = ctypes.PyDLL(None)
    python.PyOS_BeforeFork()
    child = python.syscall(number, _FLAGS, None, None, None, None)
    if child == 0:
        python.PyOS_AfterFork_Child()
    else:
        python.PyOS_AfterFork_Parent()
    return child


def _try() -> bool:
    """Whether this process can show other arguments."""
    _SHOWN.append(_show([b"a", b"b"], [b"C=d"]))
    place = Path("/proc/self")
    texts = (place / "cmdline").read_bytes(), (place / "environ").read_bytes()
    return texts == (b"a\0b\0", b"C=d\0")


def _become(asked: Mapping[str, Any]) -> Callable[[], Any]:
    """Become the requested process; return the command to run."""
    words, way = [os.fsencode(each) for each in asked["words"]], asked["way"]
    variables = [os.fsencode(each) for each in asked["environment"]]
    if asked["session"]:
        os.setsid()
    for number in signal.valid_signals():
        if asked["ignored"] >> (number - 1) & 1 and number not in {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_IGN)
    os.umask(asked["umask"])
    os.chdir(asked["cwd"])
    _take(asked["sources"], asked["targets"])
    os.environb.clear()
    for name, _, value in (each.partition(b"=") for each in variables):
        os.environb[name] = value
    time.tzset()
    module = None if way == "script" else _STARTS[way][-1]
    entry, ours = sys.modules[f"{module or 'symposium'}.__main__"], sys.modules["__main__"]
    place = str(entry.__file__) if module else PROGRAM
    # click takes the name of the program from these.
    ours.__package__, ours.__file__ = module, place
    if way in {"script", "module"}:
        sys.path.insert(0, asked["cwd"] if module else str(Path(PROGRAM).parent))
    sys.argv[:] = [place, *asked["words"][len(_STARTS[way]) :]]
    # The kernel starts a script in the same way.
    line = words if module else [os.fsencode(sys.executable), *words]
    sys.orig_argv[:] = [os.fsdecode(each) for each in line]
    _SHOWN.append(_show(line, variables))
    ctypes.CDLL(None).prctl(_SET_NAME, b"python" if module else b"symposium", 0, 0, 0)
    if way == _SERVER:
        return lambda: sys.exit(entry.main(sys.argv[1:]))
    return entry.main


def _take(sources: Sequence[int], targets: Sequence[int]) -> None:
    """Move these descriptors to these numbers, and close all others."""
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
    """Let `/proc` show these arguments and variables, as long as the returned value exists."""
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


NURSERY: Final = Nursery()


def main() -> None:
    """Import everything, fork for callers, and run the command in the child."""
    address = f"\0symposium-nursery-{secrets.token_hex(16)}".encode()
    kind = Kind.of_this_process()
    # No caller waits for the children of this process.
    usual = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(fileno=int(sys.argv[1])) as link, socket.socket(socket.AF_UNIX) as others:
        others.bind(address)
        others.listen()
        prepare = import_module("symposium.cli.quick_imports").quick_imports
        import_module("symposium.__main__")
        with prepare():
            for module in pkgutil.iter_modules(import_module("symposium.cli.commands").__path__):
                import_module(f"symposium.cli.commands.{module.name}")
            import_module("symposium.sessions.__main__")
            import_module("symposium.daemon.process").part_specs()
        # Forked processes share what is imported: their collections do not write to it.
        gc.collect()
        gc.freeze()
        asked = _serve(link, others)
    if asked is None:
        return
    signal.signal(signal.SIGCHLD, usual)
    if asked["way"] is None:
        os._exit(0 if _try() else 1)
    if asked["way"] == _DAEMON:
        _report_end(asked)
        asked["way"] = "safe module"
    run = _become(asked)
    above = NurseryAbove(address, kind)

    def fork_server(*given: Any) -> int:
        return _start(above, _WAYS_ABOVE, given)

    subprocess.__dict__.update(_fork_exec=fork_server, _USE_POSIX_SPAWN=False)
    _run_to_end(run)


if __name__ == "__main__":
    main()
