"""Part of the daemon that stores what is attached to messages, for later expansion."""

import asyncio

from symposium.bus.handlers import HandlerTable, RequestContext
from symposium.bus.messages.editor import StoreReference
from symposium.bus.protocol import Ack
from symposium.daemon.part import LocalPeer, PartContext, PartSpec
from symposium.documents.references import ReferenceStore


class ReferencesPart:
    """Store references; MCP servers read the same file."""

    def __init__(self, store: ReferenceStore) -> None:
        self._store = store

    def answers(self) -> HandlerTable:
        """Return the handler of `store_reference`."""
        answers = HandlerTable()
        answers.on_request(StoreReference, self._put)
        return answers

    async def run(self, bus: LocalPeer) -> None:
        del bus
        await asyncio.Event().wait()

    def is_busy(self) -> bool:
        """Return False: stored references are on disk."""
        return False

    async def _put(self, message: StoreReference, asked: RequestContext) -> Ack:
        taskspace = asked.sender.taskspace_uuid or ""
        await asyncio.to_thread(self._store.put, message.key, message.value, taskspace=taskspace)
        return Ack()


def _make(context: PartContext) -> ReferencesPart:
    return ReferencesPart(ReferenceStore(context.home))


spec = PartSpec("references", _make)
