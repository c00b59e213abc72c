"""Starts the daemon when nobody answers: a program of its own, told all that it was asked for."""

import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

from localio.files import write_whole
from symposium.bus.errors import BusUnreachableError
from symposium.bus.place import MeetingPlace, meeting_place

IDLE_TIMEOUT: Final = 30.0
"""Seconds without anybody connected after which the daemon ends (bus §1.1)."""

START_TIME: Final = 20.0
"""Seconds a daemon may take to listen; a busy machine needs several for the interpreter alone."""

_FAREWELL: Final = 2.0
_PLACES: Final = ("SYMPOSIUM_HOME", "SYMPOSIUM_CONFIG", "SYMPOSIUM_SOCKET")


@dataclass(frozen=True, slots=True)
class DaemonOptions:
    """What a daemon can be told; whoever starts one passes all of it (bus §7, row 9).

    Attributes:
        socket: where it listens; None for the usual place.
        compat_socket: where peers of version 1 may come; None for nowhere.
        idle_timeout: seconds without a client after which it ends; 0 for never.
        history: messages that are remembered; 0 for none.
        log_level: how much it writes down.
    """

    socket: Path | None = None
    compat_socket: Path | None = None
    idle_timeout: float = IDLE_TIMEOUT
    history: int = 1024
    log_level: str = "info"

    def words(self) -> Sequence[str]:
        """The same as options of `symposium daemon start`."""
        words = ["--idle-timeout", str(self.idle_timeout), "--history", str(self.history)]
        words += ["--log", self.log_level]
        if self.socket is not None:
            words += ["--socket", str(self.socket.absolute())]
        if self.compat_socket is not None:
            words += ["--compat-socket", str(self.compat_socket.absolute())]
        return words


async def start_daemon(options: DaemonOptions) -> None:
    """Start a daemon, and return when one listens: that one, or another that was quicker.

    Raises:
        BusUnreachableError: it says that it cannot, or says nothing in time.
    """
    # Not from where we are, nor there: what lies in a workspace is not to be imported.
    command = [sys.executable, "-P", "-m", "symposium", "daemon", "start", *_words(options)]
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        cwd="/",
        env=_from_anywhere(os.environ),
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(START_TIME):
            _, said = await process.communicate()
    except TimeoutError as error:
        process.kill()
        # What it has started may hold its stderr for as long as it likes.
        with suppress(TimeoutError):
            async with asyncio.timeout(_FAREWELL):
                await process.communicate()
        text = f"the daemon did not listen within {START_TIME:g} s"
        raise BusUnreachableError(text, "symposium daemon start --foreground says more") from error
    if process.returncode:
        words = said.decode(errors="replace").strip().removeprefix("symposium: ")
        text = f"the daemon did not start: {words}"
        raise BusUnreachableError(text, "symposium daemon start --foreground says more")


def remember(place: MeetingPlace, options: DaemonOptions) -> None:
    """Keep how a daemon was started: after a crash the next one is to be like it.

    Raises:
        OSError: it cannot be written.
    """
    write_whole(place.options, json.dumps(options.words()))


def _words(options: DaemonOptions) -> Sequence[str]:
    """What it is asked for; else what the last one was, that nobody has stopped."""
    if options != DaemonOptions(socket=options.socket):
        return options.words()
    try:
        words: object = json.loads(meeting_place(options.socket).options.read_bytes())
    except (OSError, ValueError):
        return options.words()
    kept = cast("list[object]", words) if isinstance(words, list) else []
    return [each for each in kept if isinstance(each, str)] or options.words()


def _from_anywhere(environment: Mapping[str, str]) -> Mapping[str, str]:
    """The same, with our places as they are named from where we are."""
    named = {name: environment[name] for name in _PLACES if environment.get(name)}
    settled = {name: str(Path(place).expanduser().absolute()) for name, place in named.items()}
    return {**environment, **settled}
