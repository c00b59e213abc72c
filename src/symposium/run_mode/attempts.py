"""Start the chain of a config; retry without optional mods that fail."""

import asyncio
import logging
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from peerwire.errors import RpcError
from peerwire.jsonrpc.values import as_object
from symposium.chain.link import Link
from symposium.chain.mod import Needs
from symposium.config.user_config import Config, ModEntry
from symposium.planning.planned_chain import Wishes
from symposium.run_mode.open_chain import OpenChain
from symposium.run_mode.settings import RunSettings
from symposium.run_mode.starting import EditorGreeting, OutdatedError, RefinedError, Start

_log = logging.getLogger(__name__)


class Attempts(Struct, frozen=True):
    """Values that all attempts share.

    Attributes:
        editor: the link that the chain begins at.
        tasks: the group that its tasks run in.
        settings: how to make it.
        greeting: the editor's `initialize`; None before there was one.
    """

    editor: Link
    tasks: asyncio.TaskGroup
    settings: RunSettings
    greeting: EditorGreeting | None

    async def chain(
        self, config: Config, on_death: Callable[[OpenChain, RpcError], None]
    ) -> OpenChain:
        """The chain of this config; an optional mod that does not start is left out (R8).

        Raises:
            RpcError: it could not be started, or has refused the greeting.
            ExplainedError: its agent cannot be had.
        """
        left_out: dict[str, str] = {}
        dropped: frozenset[str] = frozenset()
        while True:
            mods = [mod for mod in config.mods if mod.name not in left_out]
            composition = await self.settings.compose(config.with_mods(*mods))
            notes = [*composition.notes, *left_out.values()]
            composition = replace(composition, notes=notes)
            optional = {mod.name: mod.optional for mod in mods if mod.optional is not None}
            wishes = Wishes(optional, dropped, {mod.name: _needs(mod) for mod in mods})
            start = Start(self.editor, self.tasks, config, composition, self.greeting, wishes)
            settings = self.settings.chain_settings(composition.chain)
            try:
                return await start.run(settings, on_death, self.settings.refine)
            except RefinedError as refined:
                _log.info("the chain is started again without %s", refined)
                dropped |= refined.dropped
            except OutdatedError:
                _log.info("the chain is started again for the version that the editor speaks")
            except RpcError as error:
                name = str(as_object(error.data).get("component"))
                if not optional.get(name):
                    raise
                _log.warning("the mod %s is left out: %s", name, error)
                from symposium.run_mode.trouble import failure_manner  # noqa: PLC0415 - seldom needed

                left_out[name] = f"_The mod `{name}` is left out: it {failure_manner(error)}_\n\n"


def _needs(mod: ModEntry) -> Needs:
    """Read the requirements and capabilities that the config declares for a mod."""
    kind = "adapter" if mod.kind == "adapter" else "component"
    return Needs(kind, requires=mod.requires, provides=mod.provides)
