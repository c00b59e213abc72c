"""Notifications of an absent user: a command or a webhook, once for each item."""

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import urlsplit

from localio import http
from localio.errors import ExplainedError
from localio.jsonc import JsoncError, parse
from peerwire.jsonrpc.values import as_object
from symposium.tasks.engine import Engine
from symposium.tasks.handlers.inbox import TaskInbox
from symposium.tasks.handlers.notification_log import NotificationLog, TaskNotice, grouped, payload

WEBHOOK_TIMEOUT: Final = 20.0
"""Seconds for one command or webhook call."""

_log = logging.getLogger(__name__)


def is_webhook(address: str) -> bool:
    """Whether the URL is allowed: an https URL, or an http one of this machine."""
    try:
        url = urlsplit(address)
        is_here = url.hostname in {"localhost", "127.0.0.1", "::1"}
        return (
            bool(url.hostname)
            and url.port != 0
            and (url.scheme == "https" or (url.scheme == "http" and is_here))
            and url.geturl().isascii()
            and " " not in address
        )
    except ValueError:
        # Unbalanced brackets, or an invalid port.
        return False


async def post(address: str, text: bytes, limit: float = WEBHOOK_TIMEOUT) -> bool:
    """Post it; False if the server certainly did not receive it. The log has the reason.

    A server that has read all of it and did not answer may have accepted it.
    """
    result = await http.post(address, text, limit)
    if result.problem:
        # The path may be a secret; the host is enough to recognize the address.
        _log.warning("the webhook at %s: %s", urlsplit(address).hostname, result.problem)
    return result.is_accepted


_PLACES: Final = re.compile(r"\{(?:task|reason|link)\}")


@dataclass(frozen=True, slots=True)
class Channels:
    """Settings of the user under `notify`.

    Attributes:
        command: words of a program; `{task}`, `{reason}`, and `{link}` in them are replaced.
        webhook: the URL to post to.
    """

    command: tuple[str, ...] = ()
    webhook: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether no channel is configured."""
        return not self.command and not self.webhook


def read_channels(config: Path) -> Channels:
    """Settings of a config file now; empty if it has none or they are not usable."""
    try:
        root: Any = parse(config.read_text(encoding="utf-8")).value
    except (OSError, UnicodeDecodeError, JsoncError):
        # The user sees the error of the file when an agent starts.
        return Channels()
    members = as_object(root)
    match members.get("notify"):
        case None:
            return Channels()
        case {**given}:
            return _channels(cast("Mapping[str, Any]", given), config)
        case _:
            return _unusable(config, "not an object")


def _channels(given: Mapping[str, Any], config: Path) -> Channels:
    command, webhook = given.get("command", []), given.get("webhook", "")
    words = cast("list[Any]", command if isinstance(command, list) else [None])
    if not all(isinstance(word, str) for word in words):
        return _unusable(config, "`command` must be a list of words; it runs without a shell")
    if not isinstance(webhook, str) or (webhook and not is_webhook(webhook)):
        return _unusable(config, "`webhook` must be an https URL, or an http URL of this machine")
    return Channels(tuple(words), webhook)


def _unusable(config: Path, why: str) -> Channels:
    _log.warning("%s: ignoring `notify`: %s", config, why)
    return Channels()


async def notify(channels: Channels, notices: Sequence[TaskNotice]) -> bool:
    """Notify on every channel; False if all of them failed. Errors go to the log."""
    text = payload(notices)
    was_notified = False
    if channels.command:
        was_notified = await _run(filled(channels.command, notices), text)
    if channels.webhook:
        was_notified = await post(channels.webhook, text) or was_notified
    return was_notified


def filled(words: Sequence[str], notices: Sequence[TaskNotice]) -> list[str]:
    """The words of a command with placeholders replaced; each stays one word."""
    values = {
        "{task}": ", ".join(each.task for each in notices),
        "{reason}": "; ".join(reason for each in notices for reason in each.reasons),
        "{link}": notices[0].link if notices else "",
    }
    return [_fill(word, values) for word in words]


def _fill(word: str, values: Mapping[str, str]) -> str:
    # In one pass: a placeholder in the name of a task is not replaced.
    return _PLACES.sub(lambda found: values[found[0]], word)


async def _run(words: Sequence[str], text: bytes) -> bool:
    """Run a command; False if it does not start, or its exit code reports a failure."""
    try:
        process = await asyncio.create_subprocess_exec(
            *words,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except (OSError, ValueError) as error:
        _log.warning("cannot start the command of `notify`: %s", error)
        return False
    try:
        async with asyncio.timeout(WEBHOOK_TIMEOUT):
            await process.communicate(text)
    except TimeoutError:
        process.kill()
        assert process.stdin is not None
        if not process.stdin.is_closing():
            # A process that it started may keep the pipe open: `wait` would wait for both.
            process.stdin.transport.abort()
        await process.wait()
        _log.warning("the command of `notify` timed out after %g s", WEBHOOK_TIMEOUT)
        return True
    if process.returncode:
        _log.warning("the command of `notify` exited with %s", process.returncode)
    return not process.returncode


POLL_INTERVAL: Final = 2.0
"""Seconds between two checks."""

NOTIFIED_FILE: Final = "notified.json"

Tell = Callable[[Channels, Sequence[TaskNotice]], Awaitable[bool]]


class Notifying:
    """Run the command or webhook of the user while no client is connected.

    Args:
        engine: the taskspaces.
        inbox: the items.
        home: directory of the config and of the record of notifications.
        watchers: number of connected clients that show the inbox.
    """

    def __init__(
        self, engine: Engine, inbox: TaskInbox, home: Path, watchers: Callable[[], int]
    ) -> None:
        self._engine = engine
        self._inbox = inbox
        self._config = home / "config.jsonc"
        self._notices = NotificationLog(home / NOTIFIED_FILE)
        self._watchers = watchers

    async def run(self) -> None:
        """Run the user's command or webhook for new inbox items until canceled."""
        while True:
            try:
                await self.look(time.time(), notify)
            except (ExplainedError, OSError) as error:
                _log.warning("cannot send notifications: %s", error)
            await asyncio.sleep(POLL_INTERVAL)

    async def look(self, now: float, notifier: Tell) -> None:
        """Notify about the items that are due now.

        Raises:
            ExplainedError, OSError: the items cannot be read, or the record cannot be written.
        """
        # Read each time: a channel removed from the file must get nothing.
        channels = await asyncio.to_thread(read_channels, self._config)
        if channels.is_empty or self._watchers():
            return
        waiting = [each for each in await self._inbox.items() if not each.put_off_at]
        items = self._notices.due(waiting, now)
        if items:
            known = await self._engine.queries.of_ids({item.taskspace for item in items})
            places = {id_: (each.project, each.worktree) for id_, each in known.items()}
            if not await notifier(channels, grouped(items, places)):
                self._notices.take_back(items)
