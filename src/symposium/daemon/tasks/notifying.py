"""Looks now and then whether somebody who is not there is to be told of what waits."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

from localio.errors import ExplainedError
from symposium.daemon.tasks.channels import Channels, read_channels, tell
from symposium.daemon.tasks.inbox import Inbox
from symposium.daemon.tasks.notices import Notices, TaskNotice, grouped
from symposium.taskspaces.engine import Engine

LOOK: Final = 2.0
"""Seconds between two looks."""

TOLD: Final = "notified.json"

_log = logging.getLogger(__name__)

Tell = Callable[[Channels, Sequence[TaskNotice]], Awaitable[bool]]


class Notifying:
    """Tells the user's own command or webhook while no view is connected.

    Args:
        engine: the taskspaces.
        inbox: what waits.
        home: where the config is, and what was told.
        watchers: how many views are connected that show what waits.
    """

    def __init__(
        self, engine: Engine, inbox: Inbox, home: Path, watchers: Callable[[], int]
    ) -> None:
        self._engine = engine
        self._inbox = inbox
        self._config = home / "config.jsonc"
        self._notices = Notices(home / TOLD)
        self._watchers = watchers

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            try:
                await self.look(time.time(), tell)
            except (ExplainedError, OSError) as error:
                _log.warning("nobody could be told of what waits: %s", error)
            await asyncio.sleep(LOOK)

    async def look(self, now: float, told: Tell) -> None:
        """Tell what is due at this moment.

        Raises:
            ExplainedError, OSError: it cannot be found out what that is, or be written down.
        """
        # Read anew each time: what was taken out of the file must be told nobody.
        channels = await asyncio.to_thread(read_channels, self._config)
        if channels.is_empty or self._watchers():
            return
        waiting = [each for each in await self._inbox.items() if not each.put_off_at]
        items = self._notices.due(waiting, now)
        if items:
            known = await self._engine.queries.of_ids({item.taskspace for item in items})
            places = {id_: (each.project, each.worktree) for id_, each in known.items()}
            if not await told(channels, grouped(items, places)):
                self._notices.take_back(items)
