"""The daemon's process: claims the place, says that it listens, and lives until a signal."""

import asyncio
import logging
import os
import signal

from localio.plugins import module_name, names_in, only_object
from symposium.bus.connect import DaemonOptions, meeting_place, remember
from symposium.config.paths import keep_runtime, paths
from symposium.daemon.background import READY, RUNNING, Tell
from symposium.daemon.claim import RunningError, claim, claim_compat, starting
from symposium.daemon.daemon import Daemon, Setting
from symposium.daemon.logs import log_to
from symposium.daemon.part import PartSpec, Surroundings

PARTS = "symposium.daemon.parts"

_log = logging.getLogger(__name__)


def serve(options: DaemonOptions, tell: Tell) -> None:
    """Be the daemon until its end; `tell` hears `READY`, or `RUNNING` if another listens.

    Raises:
        BusError: the place is not safe, or taken.
        OSError: something cannot be opened.
    """
    place = meeting_place(options.socket)
    if options.socket is not None:
        # Agents of tasks ask this daemon, and so do the tools that they start.
        os.environ["SYMPOSIUM_SOCKET"] = str(place.socket)
    surroundings = Surroundings(paths().home, place.socket)
    parts = {spec.name: spec.make(surroundings) for spec in part_specs()}
    with asyncio.Runner() as runner:
        setting = Setting(place, options, parts)
        runner.run(_live(setting, tell))


def part_specs() -> list[PartSpec]:
    """Everything that can be plugged in, by name."""
    return [only_object(f"{PARTS}.{module_name(name)}", PartSpec) for name in names_in(PARTS)]


async def _live(setting: Setting, tell: Tell) -> None:
    place, compat = setting.place, setting.options.compat_socket
    try:
        with starting(place):
            life = claim(place)
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
