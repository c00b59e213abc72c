"""Process of the daemon: background start, logging, and signals."""

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
from symposium.bus.daemon_options import DaemonOptions
from symposium.bus.daemon_start import daemon_address, remember
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

Report = Callable[[bytes], None]
"""Reports the outcome of the start to the parent: `READY`, or an error."""


def in_background(work: Callable[[Report], None]) -> bytes:
    """Run the work in a new process session; return its report: `READY` or `RUNNING`.

    Call it before any thread or event loop is started.

    Raises:
        ExplainedError: the work reported an error, or exited without a report.
    """
    read_end, write_end = os.pipe()
    if os.fork() == 0:
        os.close(read_end)
        _run_detached(work, write_end)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        said = pipe.read()
    if said not in {READY, RUNNING}:
        message, _, hint = said.decode(errors="replace").partition("\0")
        raise SymposiumError(message or "the daemon exited without an error message", hint)
    return said


def _run_detached(work: Callable[[Report], None], write_end: int) -> None:
    os.setsid()
    os.chdir("/")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.close(nowhere)
    said: list[bytes] = []

    def report(words: bytes) -> None:
        if not said:
            said.append(words)
            os.write(write_end, words)
            os.close(write_end)

    try:
        # Error boundary of this process: report every error to the parent.
        with ErrorBoundary() as boundary:
            work(report)
        match boundary.error:
            case None:
                pass
            case ExplainedError() as error:
                report(f"{error.message}\0{error.hint}".encode())
            case error:
                _log.error("the daemon failed", exc_info=error)
                kind = type(error).__name__
                report(f"the daemon failed: {kind}: {error}\0run `symposium daemon logs`".encode())
    finally:
        # Exit handlers of the parent must not run twice.
        os._exit(0)


MAX_BYTES: Final = 2 * 1024 * 1024
"""Maximum size of a log file in bytes before it is rotated."""

LOG_FILES: Final = 3
"""Number of rotated files to keep."""


class JsonLines(logging.Formatter):
    """Formats a record as one line of JSON, without secrets."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__()
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        """Return time, level, logger, message, process, and the trace if there is one."""
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
    """A log file that only its owner can read, also after rotation."""

    def _open(self) -> TextIOWrapper:
        handle = os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        return TextIOWrapper(os.fdopen(handle, "ab"), encoding=self.encoding, errors="replace")


def log_to(path: Path, level: str) -> None:
    """Log to this file from now on.

    Raises:
        OSError: it cannot be written.
    """
    root = logging.getLogger()
    root.addHandler(log_file(path))
    root.setLevel(level.upper())


def log_file(path: Path, *, max_bytes: int = MAX_BYTES) -> logging.Handler:
    """Return a handler for the file, which is rotated at this size.

    Raises:
        OSError: it cannot be written.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = PrivateFile(path, maxBytes=max_bytes, backupCount=LOG_FILES, encoding="utf-8")
    file.setFormatter(JsonLines(Redactor(secret_values(os.environ))))
    return file


PARTS = "symposium.daemon.parts"


def serve(options: DaemonOptions, report: Report) -> None:
    """Run the daemon until it stops; report `READY`, or `RUNNING` if another one listens.

    Raises:
        BusError: the address is not safe, or in use.
        OSError: a file cannot be opened.
    """
    place = daemon_address(options.socket)
    if options.socket is not None:
        # Agents of tasks use this daemon, and so do the tools that they start.
        os.environ["SYMPOSIUM_SOCKET"] = str(place.socket)
    context = PartContext(paths().home, place.socket)
    parts = {spec.name: spec.make(context) for spec in part_specs()}
    with asyncio.Runner() as runner:
        config = DaemonConfig(place, options, parts)
        runner.run(_run(config, report))


def part_specs() -> list[PartSpec]:
    """All parts, sorted by name."""
    return [only_object(f"{PARTS}.{module_name(name)}", PartSpec) for name in names_in(PARTS)]


async def _run(config: DaemonConfig, report: Report) -> None:
    place, compat = config.place, config.options.compat_socket
    try:
        with starting(place):
            life = acquire_instance_lock(place)
            if place.directory == paths().runtime:
                keep_runtime()
            if compat is not None:
                claim_compat(compat, place)
            daemon = Daemon(config)
            remember(place, config.options)
    except RunningError:
        # Another daemon was faster: the parent can use that one.
        report(RUNNING)
        return
    try:
        log_to(place.log, config.options.log_level)
        loop = asyncio.get_running_loop()
        for each in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(each, daemon.stop)
        # Closing a terminal must not stop the daemon.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        _log.info("listening at %s, %s parts", place.socket, len(config.parts))
        report(READY)
        await daemon.run()
        _log.info("stopped")
    finally:
        os.close(life)
