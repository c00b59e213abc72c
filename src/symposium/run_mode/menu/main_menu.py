"""The menu in the chat: its inputs, and the changes they make (acp-host §4.7, §4.8).

Each submenu is a coroutine that reads inputs until it has its result. This module knows no editor,
no conductor, and no file.
"""

import re
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from localio.errors import ExplainedError
from symposium.catalog import OTHER_NAMES
from symposium.config.user_config import Config, ConfigChangedError
from symposium.errors import SymposiumError
from symposium.run_mode.chat import Dialog
from symposium.run_mode.failure_text import StartProblem
from symposium.run_mode.menu.pickers import (
    LEAVES,
    SuitedMod,
    choices_line,
    choose_agent,
    choose_mod,
    code,
    is_number,
    keep_question,
    mod_of,
    numbered,
    render,
    render_older,
    render_suited,
)
from symposium.run_mode.menu.slow_start import Left, wait_with_input
from symposium.run_mode.menu_ports import MenuPort

WELCOME: Final = "Welcome to Symposium!\n\nNo configuration found. Let's set up your AI agent.\n"

_MOVE: Final = re.compile(r"move\s+(\S+)\s+to\s+(\d+|start|end)", re.IGNORECASE | re.ASCII)
_ADD: Final = re.compile(r"(?:add|m)(?:\s+(.+))?", re.IGNORECASE | re.DOTALL)
_REMOVE: Final = re.compile(r"(?:remove|r)\s+(.+)", re.IGNORECASE)
_CHANGED: Final = (
    "The configuration file has changed since you opened this menu. "
    "`SAVE` again to overwrite it, or `CANCEL` to keep it."
)
_SAVED_ONLY: Final = "The configuration is saved, but the agent did not start."
_TRY: Final = "Choose another agent with `A`, or fix the problem and `SAVE` again."
_WAIT: Final = "Choose another agent with `A`, or `SAVE` again to wait."
_NO_MODS: Final = "No mods configured."
_COMMANDS: Final = frozenset({"save", "cancel", "agent", "move", "add", "remove"})


class NotStartedError(SymposiumError):
    """The config is saved, but its agent does not start.

    Attributes:
        problem: the reason.
    """

    def __init__(self, problem: StartProblem) -> None:
        super().__init__(problem.reason, problem.fix)
        self.problem = problem


async def first_time(
    talk: Dialog, host: MenuPort, mods: Sequence[SuitedMod], *, welcome: str = WELCOME
) -> None:
    """Choose an agent, then the rest; nothing is written before `SAVE`.

    Args:
        talk: the dialog.
        host: the catalog, and the actions of the menu.
        mods: the mods to enable by default, with summary and cost.
        welcome: the first text.
    """
    if welcome:
        talk.say(welcome)
    agent = await choose_agent(talk, host, way_out="cancel")
    if agent is None:
        talk.say(host.cancelled())
        return
    if mods:
        talk.say(render_suited(mods))
    await main_menu(talk, host, Config(agent, tuple(entry for entry, _ in mods)))


async def import_older(
    talk: Dialog, host: MenuPort, older: Config, mods: Sequence[SuitedMod]
) -> None:
    """Offer to import the config of an older layout, or to set up a new one (acp-host §4.2)."""
    talk.say(WELCOME)
    agents = (await host.agents()).agents
    while True:
        talk.say(render_older(older, agents))
        text = await talk.read()
        word = text.lower()
        if word in {"1", "i", "import", "yes"}:
            await main_menu(talk, host, older)
            return
        if word in {"2", "n", "new", "no"}:
            await first_time(talk, host, mods, welcome="")
            return
        if word in LEAVES:
            talk.say(host.cancelled())
            return
        talk.say(keep_question(talk, text) or f"Unknown input: {code(text)}.")


async def main_menu(talk: Dialog, host: MenuPort, config: Config) -> None:
    """Change the config until the user saves or cancels."""
    menu = _Menu(talk, host, config)
    await menu.redisplay()
    while not await menu.step(await talk.read()):
        pass


class _Menu:
    """One visit to the menu, with the unsaved config."""

    def __init__(self, talk: Dialog, host: MenuPort, config: Config) -> None:
        self._talk = talk
        self._host = host
        self._config = config
        self._save_with = host.save

    async def redisplay(self) -> None:
        choices = await self._host.agents()
        self._talk.say(render(self._config, choices.agents))

    async def step(self, text: str) -> bool:
        """Handle one input; return whether the user left the menu."""
        word = text.lower()
        if word in {"save", "s"}:
            return await self._save()
        if word in {"cancel", "c"}:
            self._talk.say(self._host.cancelled())
            return True
        self._save_with = self._host.save
        if word in {"a", "agent"}:
            await self._change_agent()
        elif await self._change_mods(text):
            await self.redisplay()
        return False

    async def _change_mods(self, text: str) -> bool:
        """Change the mods; return whether something changed."""
        is_changed = False
        if is_number(text):
            is_changed = self._toggle(numbered(text, len(self._config.mods)))
        elif (move := _MOVE.fullmatch(text)) and _is_place(move[1], self._config):
            is_changed = self._move(move[1], move[2].lower())
        elif remove := _REMOVE.fullmatch(text):
            is_changed = self._remove(remove[1])
        elif add := _ADD.fullmatch(text):
            is_changed = await self._add(add[1])
        elif (at := self._named(text)) is not None:
            is_changed = self._toggle(at)
        else:
            await self._not_understood(text)
        return is_changed

    async def _save(self) -> bool:
        try:
            notes = await wait_with_input(self._talk, self._save_with(self._config), _nothing)
        except ConfigChangedError:
            self._save_with = self._host.overwrite
            self._talk.say(_CHANGED)
        except NotStartedError as error:
            texts = [_SAVED_ONLY, error.message, error.hint, _TRY]
            self._talk.say("\n\n".join(filter(None, texts)))
        except ExplainedError as error:
            self._talk.say(f"Error saving configuration: {error}")
        else:
            return await self._saved(notes)
        return False

    async def _saved(self, notes: Sequence[str] | Left) -> bool:
        if notes == "cancel":
            self._talk.say(_WAIT)
        elif notes == "config":
            await self.redisplay()
        else:
            for text in notes:
                self._talk.say(text)
            return True
        return False

    async def _change_agent(self) -> None:
        agent = await choose_agent(self._talk, self._host, way_out="back")
        if agent is not None:
            self._config = replace(self._config, agent=agent)
        await self.redisplay()

    def _toggle(self, at: int | None) -> bool:
        mods = list(self._config.mods)
        if at is None:
            self._talk.say(self._invalid("index", "") if mods else _NO_MODS)
            return False
        mods[at] = replace(mods[at], enabled=not mods[at].enabled)
        self._config = self._config.with_mods(*mods)
        state = "enabled" if mods[at].enabled else "disabled"
        self._talk.say(f"Mod {code(mods[at].name)} is now {state}.")
        return True

    def _move(self, what: str, where: str) -> bool:
        mods = list(self._config.mods)
        count = len(mods)
        source = self._place(what)
        target = {"start": 0, "end": count - 1}.get(where, numbered(where, count))
        if not mods:
            self._talk.say(_NO_MODS)
        elif source is None:
            self._talk.say(self._invalid("source index", ""))
        elif target is None:
            self._talk.say(self._invalid("destination index", ", `start`, or `end`"))
        else:
            mods.insert(target, moved := mods.pop(source))
            self._config = self._config.with_mods(*mods)
            self._talk.say(f"Moved {code(moved.name)} to position {target + 1}.")
            return True
        return False

    async def _add(self, what: str | None) -> bool:
        taken = [mod.name for mod in self._config.mods]
        taken += [OTHER_NAMES[name] for name in taken if name in OTHER_NAMES]
        if what is None:
            entry = await choose_mod(self._talk, self._host, taken)
            if entry is None:
                return True
        else:
            offered = (await self._host.mods()).mods
            found = mod_of(what.strip(), [each for each in offered if each.name not in taken])
            if isinstance(found, str):
                self._talk.say(f"{found} `ADD` lists the available mods.")
                return False
            entry = found
        if entry.name in taken:
            self._talk.say(f"The mod {code(entry.name)} is already in the list.")
            return False
        self._config = self._config.with_mods(*self._config.mods, entry)
        self._talk.say(f"Added {code(entry.name)} at position {len(self._config.mods)}.")
        return True

    def _remove(self, what: str) -> bool:
        mods = list(self._config.mods)
        at = self._place(what)
        if at is None:
            self._talk.say(self._invalid("index", "") if mods else _NO_MODS)
            return False
        removed = mods.pop(at)
        self._config = self._config.with_mods(*mods)
        self._talk.say(f"Removed {code(removed.name)}.")
        return True

    async def _not_understood(self, text: str) -> None:
        is_command = text.lower().split(" ", 1)[0] in _COMMANDS
        if (answer := await self._host.own_answer(text)) is not None:
            self._talk.say(answer)
        else:
            saved = None if is_command else keep_question(self._talk, text)
            self._talk.say(saved or f"Unknown command: {code(text)}")
        self._talk.say(choices_line(len(self._config.mods)))

    def _place(self, what: str) -> int | None:
        return numbered(what, len(self._config.mods)) if is_number(what) else self._named(what)

    def _named(self, what: str) -> int | None:
        return _named(what, self._config)

    def _invalid(self, what: str, more: str) -> str:
        return f"Invalid {what}. Please enter 1-{len(self._config.mods)}{more}."


def _is_place(what: str, config: Config) -> bool:
    return is_number(what) or _named(what, config) is not None


def _named(what: str, config: Config) -> int | None:
    names = [mod.name.lower() for mod in config.mods]
    return names.index(what.lower()) if what.lower() in names else None


async def _nothing(text: str) -> None:
    """Answer no Symposium command: the menu has none."""
    del text
