"""Adapter that answers IDE operations with language servers if the editor cannot."""

from pathlib import Path
from typing import Any, cast

from peerwire.acp.names import SETUP_METHODS
from peerwire.errors import INVALID_PARAMS, RpcError
from symposium.chain.capabilities import (
    IDE_OPERATIONS,
    as_object,
    capabilities_member,
    client_capabilities,
    primitives,
    with_capability,
)
from symposium.chain.messages import Answer, ChainMessage
from symposium.chain.mod import (
    ComponentSpec,
    Deferred,
    Forward,
    Mod,
    Needs,
    Outcome,
    Refuse,
    Reply,
    from_agent,
    from_client,
)
from symposium.code.ide_operations import OPERATIONS
from symposium.code.lsp.headless import Headless


class IdeOpsAdapter(Mod):
    """Forward operations to an editor that supports them; answer them otherwise."""

    def __init__(self, headless: Headless | None = None) -> None:
        self._headless = headless or Headless()
        self._folders: dict[str, Path] = {}
        self._editor_answers = False

    async def run(self) -> None:
        """Run the language servers."""
        await self._headless.run()

    @from_client("initialize")
    def greet(self, message: ChainMessage) -> Outcome:
        """Add the capability if the editor lacks it."""
        self._editor_answers = IDE_OPERATIONS in primitives(message.params)
        params = as_object(message.params)
        if self._editor_answers or not params:
            return Forward()
        capabilities = with_capability(client_capabilities(params), IDE_OPERATIONS)
        return Forward({**params, capabilities_member(params): capabilities})

    @from_client(*SETUP_METHODS)
    def set_up(self, message: ChainMessage) -> Outcome:
        """Store the session's directory."""
        folder = as_object(message.params).get("cwd")
        if not isinstance(folder, str):
            return Forward()
        if message.session_id is not None and message.method != "session/fork":
            # A session may send requests before it is completely loaded.
            self._folders[message.session_id] = Path(folder)

        def opened(answer: Answer) -> None:
            session = as_object(answer.result).get("sessionId")
            if isinstance(session, str):
                self._folders[session] = Path(folder)

        return Forward(then=opened)

    @from_client("session/close", "session/delete")
    def close(self, message: ChainMessage) -> Outcome:
        """Remove the state of the session."""
        self._folders.pop(message.session_id or "", None)
        return Forward()

    @from_agent(*OPERATIONS)
    def operate(self, message: ChainMessage) -> Outcome:
        """Answer the operation, or forward it to the editor."""
        if self._editor_answers or not message.is_request:
            return Forward()
        folder = self._folders.get(message.session_id or "")
        if folder is None:
            data = {"reason": "unknown_session", "sessionId": message.session_id}
            return Refuse(RpcError(INVALID_PARAMS, data))
        return Deferred(self._answer(message.method, message.params, folder))

    async def _answer(self, method: str, params: Any, folder: Path) -> Reply | Refuse:
        try:
            return Reply(await self._headless.answer(method, cast("object", params), folder))
        except RpcError as error:
            return Refuse(error)


spec = ComponentSpec(
    name="ide-ops-adapter",
    summary="Answers IDE operations with language servers if the editor cannot.",
    make=IdeOpsAdapter,
    needs=Needs("adapter", provides=(IDE_OPERATIONS,)),
)
