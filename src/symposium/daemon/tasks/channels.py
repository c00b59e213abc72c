"""How somebody who is not there is told: a command of theirs, or a webhook (users §8.5)."""

import asyncio
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from localio.jsonc import JsoncError, parse
from symposium.daemon.tasks.notices import TaskNotice, payload
from symposium.daemon.tasks.webhook import PATIENCE, is_webhook, post

_PLACES: Final = re.compile(r"\{(?:task|reason|link)\}")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Channels:
    """What the user has configured under `notify`.

    Attributes:
        command: words of a program; `{task}`, `{reason}` and `{link}` in them are filled.
        webhook: a URL that is posted to.
    """

    command: tuple[str, ...] = ()
    webhook: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether nobody is to be told."""
        return not self.command and not self.webhook


def read_channels(config: Path) -> Channels:
    """What a config says now; nothing where it says nothing, or nothing that can be used."""
    try:
        root: Any = parse(config.read_text(encoding="utf-8")).value
    except (OSError, UnicodeDecodeError, JsoncError):
        # Whoever starts an agent is told what is wrong with the file.
        return Channels()
    members = cast("Mapping[str, Any]", root if isinstance(root, Mapping) else {})
    match members.get("notify"):
        case None:
            return Channels()
        case {**given}:
            return _channels(cast("Mapping[str, Any]", given), config)
        case _:
            return _unusable(config, "it is no object")


def _channels(given: Mapping[str, Any], config: Path) -> Channels:
    command, webhook = given.get("command", []), given.get("webhook", "")
    words = cast("list[Any]", command if isinstance(command, list) else [None])
    if not all(isinstance(word, str) for word in words):
        return _unusable(config, "`command` is a list of words, with no shell")
    if not isinstance(webhook, str) or (webhook and not is_webhook(webhook)):
        return _unusable(config, "`webhook` is an https URL, or an http one of this machine")
    return Channels(tuple(words), webhook)


def _unusable(config: Path, why: str) -> Channels:
    _log.warning("%s: `notify` cannot be used: %s", config, why)
    return Channels()


async def tell(channels: Channels, notices: Sequence[TaskNotice]) -> bool:
    """Tell, by every channel; False if nobody was told by any. What goes wrong is in the log."""
    text = payload(notices)
    told = False
    if channels.command:
        told = await _run(filled(channels.command, notices), text)
    if channels.webhook:
        told = await post(channels.webhook, text) or told
    return told


def filled(words: Sequence[str], notices: Sequence[TaskNotice]) -> list[str]:
    """The words of a command with what is told in their places; each stays one word."""
    values = {
        "{task}": ", ".join(each.task for each in notices),
        "{reason}": "; ".join(reason for each in notices for reason in each.reasons),
        "{link}": notices[0].link if notices else "",
    }
    return [_fill(word, values) for word in words]


def _fill(word: str, values: Mapping[str, str]) -> str:
    # In one pass: what a task is called is not filled in turn.
    return _PLACES.sub(lambda found: values[found[0]], word)


async def _run(words: Sequence[str], text: bytes) -> bool:
    """Run a command; False if it does not start, or says by its exit code that it could not."""
    try:
        process = await asyncio.create_subprocess_exec(
            *words,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except (OSError, ValueError) as error:
        _log.warning("the command of `notify` does not start: %s", error)
        return False
    try:
        async with asyncio.timeout(PATIENCE):
            await process.communicate(text)
    except TimeoutError:
        process.kill()
        assert process.stdin is not None
        # What it has started may hold the other end, and whoever waits for it waits for both.
        process.stdin.transport.abort()
        await process.wait()
        _log.warning("the command of `notify` was ended after %g s", PATIENCE)
        return True
    if process.returncode:
        _log.warning("the command of `notify` ended with %s", process.returncode)
    return not process.returncode
