"""The daemon's process: start in the background, logging, signals."""

import asyncio
import json
import logging
import os
import signal
from collections.abc import Callable
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Final

from localio.errors import ExplainedError
from localio.plugins import module_name, names_in, only_object
from localio.redaction import Redactor, secret_values
from peerwire.errors import ErrorBoundary
from symposium.bus.connect import DaemonOptions, daemon_address, remember
from symposium.config.paths import keep_runtime, paths
from symposium.daemon.instance_lock import (
    RunningError,
    acquire_instance_lock,
    claim_compat,
    starting,
)
from symposium.daemon.part import PartContext, PartSpec
from symposium.daemon.server import Daemon, DaemonConfig
from symposium.errors import SymposiumError

READY: Final = b"READY"
RUNNING: Final = b"RUNNING"

_log = logging.getLogger(__name__)

Tell = Callable[[bytes], None]
"""Takes what is said to the program in front: `READY`, or why not."""


def in_background(work: Callable[[Tell], None]) -> bytes:
    """Run the work in a process of its own session; return what it says: `READY` or `RUNNING`.

    Call it before any thread or event loop is started.

    Raises:
        ExplainedError: the work said something else, or ended without a word.
    """
    read_end, write_end = os.pipe()
    if os.fork() == 0:
        os.close(read_end)
        _behind(work, write_end)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        said = pipe.read()
    if said not in {READY, RUNNING}:
        message, _, hint = said.decode(errors="replace").partition("\0")
        raise SymposiumError(message or "the daemon ended without a word", hint)
    return said


def _behind(work: Callable[[Tell], None], write_end: int) -> None:
    os.setsid()
    os.chdir("/")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.close(nowhere)
    said: list[bytes] = []

    def tell(words: bytes) -> None:
        if not said:
            said.append(words)
            os.write(write_end, words)
            os.close(write_end)

    try:
        # The one boundary of this process: whatever ends it is told to the program in front.
        with ErrorBoundary() as boundary:
            work(tell)
        match boundary.error:
            case None:
                pass
            case ExplainedError() as error:
                tell(f"{error.message}\0{error.hint}".encode())
            case error:
                _log.error("the daemon has failed", exc_info=error)
                kind = type(error).__name__
                tell(f"the daemon has failed: {kind}: {error}\0symposium daemon logs".encode())
    finally:
        # What the program in front has set up for its own end must not happen twice.
        os._exit(0)


MAX_BYTES: Final = 2 * 1024 * 1024
"""Bytes of the file before it is put aside."""

KEPT: Final = 3
"""Files that are kept beside it."""


class JsonLines(logging.Formatter):
    """A record as one line of JSON, without secrets."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__()
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        """Time, level, logger, message, process; the trace where there is one."""
        entry: dict[str, object] = {
            "ts": round(record.created, 3),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self._redactor.text(record.getMessage()),
            "pid": record.process,
        }
        if record.exc_info:
            entry["trace"] = self._redactor.text(self.formatException(record.exc_info))
        return json.dumps(entry, ensure_ascii=False)


class PrivateFile(RotatingFileHandler):
    """A file that nobody else may read, also when a new one is begun."""

    def _open(self) -> TextIOWrapper:
        handle = os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        return TextIOWrapper(os.fdopen(handle, "ab"), encoding=self.encoding, errors="replace")


def log_to(path: Path, level: str) -> None:
    """Write what is logged from now on into this file, which only its owner may read.

    Raises:
        OSError: it cannot be written.
    """
    root = logging.getLogger()
    root.addHandler(log_file(path))
    root.setLevel(level.upper())


def log_file(path: Path, *, most_bytes: int = MAX_BYTES) -> logging.Handler:
    """The file, opened; put aside when it has so many bytes.

    Raises:
        OSError: it cannot be written.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = PrivateFile(path, maxBytes=most_bytes, backupCount=KEPT, encoding="utf-8")
    file.setFormatter(JsonLines(Redactor(secret_values(os.environ))))
    return file


PARTS = "symposium.daemon.parts"


def serve(options: DaemonOptions, tell: Tell) -> None:
    """Be the daemon until its end; `tell` hears `READY`, or `RUNNING` if another listens.

    Raises:
        BusError: the place is not safe, or taken.
        OSError: something cannot be opened.
    """
    place = daemon_address(options.socket)
    if options.socket is not None:
        # Agents of tasks ask this daemon, and so do the tools that they start.
        os.environ["SYMPOSIUM_SOCKET"] = str(place.socket)
    surroundings = PartContext(paths().home, place.socket)
    parts = {spec.name: spec.make(surroundings) for spec in part_specs()}
    with asyncio.Runner() as runner:
        setting = DaemonConfig(place, options, parts)
        runner.run(_live(setting, tell))


def part_specs() -> list[PartSpec]:
    """Everything that can be plugged in, by name."""
    return [only_object(f"{PARTS}.{module_name(name)}", PartSpec) for name in names_in(PARTS)]


async def _live(setting: DaemonConfig, tell: Tell) -> None:
    place, compat = setting.place, setting.options.compat_socket
    try:
        with starting(place):
            life = acquire_instance_lock(place)
            if place.directory == paths().runtime:
                keep_runtime()
            if compat is not None:
                claim_compat(compat, place)
            daemon = Daemon(setting)
            remember(place, setting.options)
    except RunningError:
        # Somebody was quicker, and listens: whoever started us has what it wanted.
        tell(RUNNING)
        return
    try:
        log_to(place.log, setting.options.log_level)
        loop = asyncio.get_running_loop()
        for each in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(each, daemon.stop)
        # Whoever closes the terminal means the programs in it, not us.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        _log.info("listening at %s, %s parts", place.socket, len(setting.parts))
        tell(READY)
        await daemon.run()
        _log.info("gone")
    finally:
        os.close(life)
