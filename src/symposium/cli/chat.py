"""Run `symposium chat`: a chat with one chain."""

import asyncio
import sys
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from localio.text import plain_text
from peerwire.errors import ConnectionClosedError
from peerwire.jsonrpc.values import as_object
from symposium.chain.blueprint import Blueprint
from symposium.chain.conductor import Settings
from symposium.cli.chain_options import recorded
from symposium.cli.chat_input import (
    LEAVE,
    ChatCommands,
    Inputs,
    TypedInputs,
    for_agent,
    history_file,
)
from symposium.cli.chat_view import ChatView
from symposium.cli.exit_codes import ExitCode, ended_by_reader
from symposium.cli.failures import STDERR_SHOWN, failure_of
from symposium.cli.output import Output
from symposium.cli.permission_questions import TerminalDecider
from symposium.cli.stderr_log import log_stderr
from symposium.cli.talk_options import Permits, chooser_of, decider
from symposium.cli.terminal import StdinLines, ask_line
from symposium.client.attachments import AttachmentError, Attachments
from symposium.client.conversation import (
    ClientTurn,
    Conversation,
    ConversationConfig,
    converse,
    on_interrupt,
)
from symposium.client.permissions import Permission, summarize
from symposium.client.session_settings import SessionSetting, SettingChoice
from symposium.errors import StepError, SymposiumError
from symposium.permissions.audit_entries import with_audit
from symposium.planning.chain_spec import ChainSpec

HELP: Final = (
    "Enter sends, Alt-Enter or Ctrl-J starts a new line, Up recalls an earlier message.",
    "Ctrl-C cancels a turn; press it twice to leave.",
    "Type / for the agent's commands, /quit to leave.",
)

NO_UNDO: Final = "a chat takes no snapshots of its directory"
UNDO_HINT: Final = """\
`git diff` shows the changes, `git restore PATH` undoes them
/undo works in a task: create one with `symposium task new`, then use `symposium task chat`"""


@dataclass(frozen=True, slots=True)
class Chat:
    """Settings of a chat.

    Attributes:
        chain: the mods and the agent.
        cwd: the session's directory.
        permits: the answers to permission requests.
        timeout: time limit for each response in seconds; None for no limit.
        settings: settings of the conductor.
        trace_dir: the directory for a trace; None for no trace.
    """

    chain: ChainSpec
    cwd: Path
    permits: Permits
    timeout: float | None
    settings: Settings
    trace_dir: str | None = None

    @property
    def agent(self) -> str:
        """The name of the agent, as chosen by the user."""
        return "agent" if self.chain.agent is None else self.chain.agent.name


async def run_chat(chat: Chat) -> int:
    """Chat until the user leaves or the agent ends; return the exit code."""
    task = asyncio.current_task()
    assert task is not None
    output = Output(on_broken=task.cancel)
    try:
        return await ChatSession(chat, output).run()
    except asyncio.CancelledError:
        if not output.is_broken:
            raise
        # `Output` cancels this task when the reader has closed the pipe.
        task.uncancel()
        return ended_by_reader()


@dataclass(frozen=True, slots=True)
class OpenSession:
    """The session of a chat."""

    conversation: Conversation
    id: str

    async def choose(self, setting: SessionSetting, choice: SettingChoice) -> None:
        """Select another model or mode.

        Raises:
            ExplainedError: the agent refuses.
        """
        await self.conversation.set_up(self.id, *setting.request(choice))

    async def undo(self) -> Sequence[str]:
        """Refuse: a chat has no snapshots.

        Raises:
            ExplainedError: always; its hint names alternatives.
        """
        raise SymposiumError(NO_UNDO, UNDO_HINT)


class ChatSession:
    """One chat, from `initialize` until the user leaves."""

    def __init__(self, chat: Chat, output: Output) -> None:
        self._chat = chat
        self._output = output
        self._view = ChatView(output, chat.agent)
        self._view.status.directory = chat.cwd
        self._last_words: deque[str] = deque(maxlen=STDERR_SHOWN)
        self._turn: ClientTurn | None = None
        self._typed: TypedInputs | None = None
        self._attachments = Attachments(chat.cwd)

    async def run(self) -> int:
        """Run the chat and return the exit code."""
        chat = self._chat
        is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
        person = TerminalDecider(self._ask, self._view.detail, chat.cwd) if is_terminal else None
        decides = decider(chat.permits, person, self._on_unattended)
        terms = ConversationConfig(
            chat.cwd, decides, self._view.update, self._view.decided, chat.timeout
        )
        chooser = chooser_of(chat.permits, has_person=person is not None)
        watched = with_audit(chat.chain.agent_name, chat.chain.secrets, chooser)
        settings = replace(chat.settings, on_stderr=self._note_stderr, beside_agent=watched)

        def instantiate(_: object) -> Blueprint:
            return chat.chain.blueprint()

        if is_terminal:
            self._view.line(f"starting {chat.agent}…")
        with recorded(chat.chain, settings, trace_dir=chat.trace_dir) as records:
            async with converse(instantiate, terms, records.settings) as conversation:
                status = self._view.status
                initialized = await conversation.initialize()
                status.introduced(initialized)
                self._attachments.is_embedded = _takes_content(initialized)
                session_id = await conversation.new_session(
                    lambda _: status.settings.opened(conversation.opened)
                )
                session = OpenSession(conversation, session_id)
                if is_terminal:
                    self._typed = TypedInputs(
                        history_file(),
                        lambda: self._view.commands,
                        status.line,
                        self._attachments.completions,
                    )
                    self._output.show_above(self._typed.above)
                    self._view.clear_line()
                    for line in HELP:
                        self._view.line(line)
                return await self._talk(session, self._typed or StdinLines())

    async def _talk(self, session: "OpenSession", inputs: Inputs) -> int:
        commands = ChatCommands(self._view, HELP, session)
        was_interrupted = False
        while True:
            try:
                text = await session.conversation.until_ended(inputs.read())
            except EOFError:
                return ExitCode.OK
            except KeyboardInterrupt:
                if was_interrupted:
                    return ExitCode.INTERRUPTED
                was_interrupted = True
                self._view.line("[Ctrl-C again leaves]")
                continue
            except ConnectionClosedError as error:
                raise self._ended() from error
            was_interrupted = False
            if text.strip() in LEAVE:
                return ExitCode.OK
            if not text.strip() or await commands.run(text):
                continue
            if await self._run_turn(session, for_agent(text)):
                return ExitCode.INTERRUPTED

    async def _run_turn(self, session: "OpenSession", text: str) -> bool:
        """Run one turn; return whether the user wants to leave."""
        try:
            attached = self._attachments.blocks(text)
        except AttachmentError as error:
            self._view.line(f"not sent: {error}")
            if self._typed is not None:
                self._typed.draft(text)
            return False
        self._turn = turn = ClientTurn(session.conversation, session.id)
        self._view.end_text()
        with on_interrupt(self._stop_turn):
            try:
                self._view.turn_over(await turn.run(text, attached))
            except StepError as error:
                failure = failure_of(error)
                # An error response ends the turn; an agent that exits ends the chat.
                if failure.origin != "agent":
                    raise
                self._view.end_turn()
                self._output.talk(failure.text())
        return turn.stops > 1

    async def _ask(self, prompt: str) -> str:
        """Ask one question; a line typed before it is a message, not an answer."""
        if self._typed is not None:
            self._typed.keep_typed()
        return await ask_line(prompt)

    def _stop_turn(self) -> None:
        if self._turn is not None:
            self._turn.stop()
            if self._turn.stops == 1:
                self._view.line("[canceling; Ctrl-C again leaves]")

    def _on_unattended(self, permission: Permission) -> None:
        asked = summarize(permission.tool_call).text
        self._view.line(f"[permission] {asked}: no terminal to ask you")
        if self._turn is not None:
            self._turn.stop()

    def _note_stderr(self, component: str, line: bytes) -> None:
        self._last_words.append(plain_text(line.decode(errors="replace")))
        log_stderr(component, line)

    def _ended(self) -> SymposiumError:
        words = "\n".join(f"| {line}" for line in self._last_words)
        hint = f"its last stderr lines:\n{words}" if words else "it wrote nothing to stderr"
        return SymposiumError("the agent or a mod exited", hint)


def _takes_content(initialized: Any) -> bool:
    capabilities = as_object(as_object(initialized).get("agentCapabilities"))
    return as_object(capabilities.get("promptCapabilities")).get("embeddedContext") is True
