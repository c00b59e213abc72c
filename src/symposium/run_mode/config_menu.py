"""The menu in the chat: what it understands, and what it changes (acp-host §4.7, §4.8).

Every submenu is a coroutine that hears until it has what it came for. Knows no editor, no conductor
and no file.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Protocol, TypeAlias

from symposium.config.component_source import ComponentSource
from symposium.config.user_config import Config, ConfigChangedError, ModEntry
from symposium.errors import SymposiumError
from symposium.run_mode.conversation import Conversation
from symposium.run_mode.menu_text import AgentChoices, code, render, render_agents

WELCOME: Final = "Welcome to Symposium!\n\nNo configuration found. Let's set up your AI agent.\n"

_MOVE: Final = re.compile(r"move\s+(\d+)\s+to\s+(\d+|start|end)", re.IGNORECASE | re.ASCII)
_CHANGED: Final = (
    "The configuration file has been changed on disk since this menu was opened. "
    "`SAVE` again to overwrite it, or `CANCEL` to keep it."
)


_Agent: TypeAlias = str | ComponentSource


class Host(Protocol):
    """What the menu needs of whoever runs it."""

    async def agents(self) -> AgentChoices:
        """The agents on offer."""
        ...

    async def save(self, config: Config) -> Sequence[str]:
        """Make the config last, and take it into use; what to tell the user.

        Raises:
            ConfigChangedError: the file says something else than what the menu was opened on.
            NotStartedError: it is written, and cannot be used.
            SymposiumError: it could not be written.
        """
        ...

    async def overwrite(self, config: Config) -> Sequence[str]:
        """The same, whatever the file says."""
        ...

    def cancelled(self) -> str:
        """What to tell the user who leaves without saving."""
        ...


class NotStartedError(SymposiumError):
    """The config is saved, but its agent does not start."""


async def first_time(talk: Conversation, host: Host, mods: Sequence[ModEntry]) -> None:
    """Choose an agent, then everything else; nothing is written before `SAVE`."""
    talk.say(WELCOME)
    agent = await _choose_agent(talk, host, way_out="cancel")
    if agent is None:
        talk.say(host.cancelled())
        return
    await main_menu(talk, host, Config(agent, tuple(mods)))


async def main_menu(talk: Conversation, host: Host, config: Config) -> None:
    """Change the config until it is saved or let go."""
    menu = _Menu(talk, host, config)
    await menu.redisplay()
    while not await menu.step(await talk.hear()):
        pass


class _Menu:
    """One visit to the menu, and the config as it would be saved."""

    def __init__(self, talk: Conversation, host: Host, config: Config) -> None:
        self._talk = talk
        self._host = host
        self._config = config
        self._save_with = host.save

    async def redisplay(self) -> None:
        """Show the menu."""
        choices = await self._host.agents()
        self._talk.say(render(self._config, choices.agents))

    async def step(self, text: str) -> bool:
        """Do what one input says; whether the menu is left."""
        word = text.lower()
        if word == "save":
            return await self._save()
        if word == "cancel":
            self._talk.say(self._host.cancelled())
            return True
        self._save_with = self._host.save
        if word in {"a", "agent"}:
            await self._change_agent()
            return False
        changed = self._toggle(text) if text.isascii() and text.isdigit() else self._move(text)
        if changed:
            await self.redisplay()
        return False

    async def _save(self) -> bool:
        try:
            for text in await self._save_with(self._config):
                self._talk.say(text)
        except ConfigChangedError:
            self._save_with = self._host.overwrite
            self._talk.say(_CHANGED)
        except NotStartedError as error:
            self._talk.say(f"{error.message}\n\n{error.hint}")
        except SymposiumError as error:
            self._talk.say(f"Error saving configuration: {error}")
        else:
            return True
        return False

    async def _change_agent(self) -> None:
        agent = await _choose_agent(self._talk, self._host, way_out="back")
        if agent is not None:
            self._config = replace(self._config, agent=agent)
        await self.redisplay()

    def _toggle(self, text: str) -> bool:
        mods = list(self._config.mods)
        at = _index(text, len(mods))
        if at is None:
            self._talk.say(
                f"Invalid index. Please enter 1-{len(mods)}." if mods else "No mods configured."
            )
            return False
        mods[at] = replace(mods[at], enabled=not mods[at].enabled)
        self._config = self._config.with_mods(*mods)
        state = "enabled" if mods[at].enabled else "disabled"
        self._talk.say(f"Mod {code(mods[at].name)} is now {state}.")
        return True

    def _move(self, text: str) -> bool:
        found = _MOVE.fullmatch(text)
        if found is None:
            self._talk.say(f"Unknown command: {code(text)}")
            return False
        mods = list(self._config.mods)
        count = len(mods)
        source = _index(found[1], count)
        word = found[2].lower()
        target = {"start": 0, "end": count - 1}.get(word, _index(word, count))
        if not mods:
            self._talk.say("No mods configured.")
        elif source is None:
            self._talk.say(f"Invalid source index. Please enter 1-{count}.")
        elif target is None:
            self._talk.say(f"Invalid destination index. Please enter 1-{count}, `start`, or `end`.")
        else:
            mods.insert(target, moved := mods.pop(source))
            self._config = self._config.with_mods(*mods)
            self._talk.say(f"Moved {code(moved.name)} to position {target + 1}.")
            return True
        return False


async def _choose_agent(talk: Conversation, host: Host, *, way_out: str) -> _Agent | None:
    while True:
        choices = await host.agents()
        if choices.warning is not None:
            talk.say(f"Warning: {choices.warning}")
        talk.say(render_agents(choices.agents))
        text = await talk.hear()
        if text.lower() in {"back", "cancel"}:
            return None
        count = len(choices.agents)
        at = _index(text, count) if text.isascii() and text.isdigit() else None
        if at is not None:
            talk.say(f"Agent set to {code(choices.agents[at].name)}.")
            return choices.agents[at].agent
        if text.isascii() and text.isdigit():
            talk.say(f"Invalid index. Please enter 1-{count}." if count else "No agents available.")
        else:
            talk.say(f"Unknown input: {code(text)}. Enter a number or `{way_out}`.")


def _index(text: str, count: int) -> int | None:
    # Digits without end are an index like any other, only never a valid one.
    if len(text) > len(str(count)) + 20:
        text = text.lstrip("0")[:20] or "0"
    at = int(text) if text.isdigit() else 0
    return at - 1 if 1 <= at <= count else None
