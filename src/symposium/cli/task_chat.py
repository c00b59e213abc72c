"""Chat with the agent of a task, through its session server, which outlives the chat."""

import asyncio
import sys
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar, cast

import click

from peerwire.jsonrpc.values import as_object
from symposium.bus.messages.worktrees import UndoTaskspace
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
from symposium.cli.output import Output
from symposium.cli.permission_questions import TerminalDecider
from symposium.cli.session_view import event_text
from symposium.cli.tasks import ask, undone_lines
from symposium.cli.terminal import StdinLines, ask_line
from symposium.client.conversation import on_interrupt
from symposium.client.permissions import ToolCallSummary
from symposium.client.session_settings import SessionSetting, SettingChoice
from symposium.errors import SymposiumError
from symposium.sessions.client import (
    ANSWER,
    CANCEL,
    DESCRIBE,
    EVENT,
    SAY,
    WATCH,
    SessionClient,
    reach,
)
from symposium.sessions.session import SessionError, SessionStore

HELP: Final = (
    "Enter sends, Alt-Enter or Ctrl-J starts a new line, Up recalls an earlier message.",
    "Ctrl-C cancels a turn; press it twice to leave.",
    "Press Ctrl-D or type /quit to leave; the agent continues.",
)

BY: Final = "task chat"
"""Name in the inbox and the log for answers given in this chat."""

_Value = TypeVar("_Value")


async def chat_with_task(store: SessionStore, session: str) -> int:
    """Chat with the agent of a task until the user leaves or the session ends.

    Raises:
        SessionError: it is not running, or does not answer.
    """
    task = asyncio.current_task()
    assert task is not None
    output = Output(on_broken=task.cancel)
    chat = TaskChat(output, session)
    try:
        async with reach(store, session, {EVENT: chat.agent.came}, chat.ended) as server:
            return await chat.run(server)
    except asyncio.CancelledError:
        if not output.is_broken:
            raise
        # `Output` cancels this task when the reader has closed the pipe.
        task.uncancel()
        return ended_by_reader()


class Reported:
    """State of the agent, from the events of its session server, which it also shows.

    Args:
        output: shows the conversation.
        on_change: called when the chat may have something else to do.

    Attributes:
        view: shows the events.
        is_person: whether a user at a terminal can answer.
        is_working: whether the agent is in a turn or has a waiting prompt.
        said: prompts sent by this chat that the agent has not started; not shown again.
        questions: open questions, by number.
        asking: the number of the question that the user is being asked.
    """

    def __init__(self, output: Output, on_change: Callable[[], None]) -> None:
        self.view = ChatView(output)
        self.is_person = sys.stdin.isatty() and sys.stdout.isatty()
        self.is_working = False
        self.said: deque[str] = deque()
        self.questions: dict[int, Mapping[str, Any]] = {}
        self.asking: int | None = None
        self._on_change = on_change
        self._early: list[Any] | None = []
        self._seq = 0

    @property
    def is_busy(self) -> bool:
        """Whether the agent works, or has a question that the user can answer here."""
        return self.is_working or (bool(self.questions) and self.is_person)

    def came(self, event: Any) -> None:
        """Show an event, or hold it until `begin`."""
        if self._early is not None:
            self._early.append(event)
        elif event["seq"] > self._seq:
            self._seq = event["seq"]
            self._show(event["type"], as_object(event["data"]))

    def begin(self, missed: Sequence[Any], now: Mapping[str, Any]) -> None:
        """Show the last turn.

        Args:
            missed: the events so far.
            now: the session server's description of the agent.
        """
        begins = max((at for at, each in enumerate(missed) if each["type"] == "prompt"), default=0)
        for at, each in enumerate(missed):
            data = as_object(each["data"])
            if at >= begins or data.get("sessionUpdate") == "available_commands_update":
                self._show(each["type"], data)
            self._seq = each["seq"]
        early, self._early = self._early or [], None
        for each in early:
            self.came(each)
        if self._seq == now["seq"]:
            # No event since the description: it is current, even if the log was shortened.
            self.is_working = bool(now["working"] or now["waiting"])
            self.questions = {each["question"]: each for each in now["questions"]}

    def _show(self, kind: str, data: Mapping[str, Any]) -> None:
        match kind:
            case "update":
                self.view.update({"update": data})
                return
            case "prompt":
                self._begun(data)
            case "result":
                self.view.turn_over(str(data.get("stopReason")))
                self.is_working = bool(self.said)
            case "interrupted":
                self.view.end_turn()
                self.view.line(event_text(kind, data))
                self.is_working = bool(self.said)
            case "question":
                self.questions[data["question"]] = data
                if not self.is_person:
                    self.view.line(event_text(kind, data).splitlines()[0])
                    self.view.line("  answer it with `symposium inbox`")
            case "settled":
                self.questions.pop(data["question"], None)
            case _:
                self.view.line(event_text(kind, data))
                return
        # Another event must not repeat the question that the user is being asked.
        if self.asking is None or self.asking not in self.questions:
            self._on_change()

    def _begun(self, data: Mapping[str, Any]) -> None:
        self.is_working = True
        self.view.end_text()
        text = str(data.get("text"))
        if text in self.said:
            self.said.remove(text)
        else:
            self.view.line(event_text("prompt", data))


@dataclass(frozen=True, slots=True)
class TaskActions:
    """Actions of the chat commands on a task, whose id is that of its session."""

    task: str

    async def choose(self, setting: SessionSetting, choice: SettingChoice) -> None:
        """Refuse: settings cannot be changed here.

        Raises:
            ExplainedError: always.
        """
        del choice
        raise SymposiumError(f"cannot change the {setting.kind} of a task's agent here", "")

    async def undo(self) -> Sequence[str]:
        """Undo the last change in the worktree.

        Raises:
            ExplainedError: there is nothing to undo, or the daemon refuses.
        """
        undone = await ask(UndoTaskspace(taskspace_uuid=self.task, snapshot=None))
        return undone_lines(self.task, undone)


class TaskChat:
    """One chat: sends what the user types, and asks the user the agent's questions.

    Args:
        output: shows the conversation.
        task: the id of the task.
    """

    def __init__(self, output: Output, task: str) -> None:
        self.agent = Reported(output, self._wake)
        self._commands = ChatCommands(self.agent.view, HELP, TaskActions(task))
        self._output = output
        self._user = TerminalDecider(ask_line, self.agent.view.detail)
        self._inputs: Inputs = StdinLines()
        # Counts of Ctrl-C in this turn and at an empty prompt: the second of either leaves.
        self._stops = 0
        self._leaves = 0
        self._is_cancelled = False
        self._is_over = False
        self._is_woken = False
        self._scope: asyncio.Timeout | None = None

    def ended(self) -> None:
        """Stop: the session server has disconnected."""
        self._is_over = True
        self._wake()

    async def run(self, server: SessionClient) -> int:
        """Run the chat and return the exit code."""
        self._server = server
        missed = await server.ask(WATCH, {"since": 0})
        self.agent.begin(missed["events"], await server.ask(DESCRIBE))
        if self.agent.is_person:
            self._inputs = typed = TypedInputs(
                history_file(), lambda: self.agent.view.commands, self.agent.view.status.line
            )
            self._output.show_above(typed.above)
            for line in HELP:
                self.agent.view.line(line)
        try:
            return await self._talk()
        except EOFError:
            self._output.end_line()
            if self.agent.is_person:
                click.echo("[you left; the agent continues]", err=True)
            return ExitCode.OK

    async def _talk(self) -> int:
        while not self._is_over:
            if max(self._stops, self._leaves) > 1:
                return ExitCode.INTERRUPTED
            if self.agent.is_busy:
                with on_interrupt(self._stop):
                    await self._attend()
            elif (text := await self._typed()) is not None:
                await self._say(text)
        self.agent.view.line("[the session has ended]")
        return ExitCode.OK

    async def _attend(self) -> None:
        """Answer and follow the agent until it is idle or the user leaves.

        Raises:
            EOFError: the user leaves.
        """
        while self.agent.is_busy and not self._is_over and self._stops < 2:  # noqa: PLR2004 - the second leaves
            if self.agent.questions and self.agent.is_person:
                await self._answer(*next(iter(self.agent.questions.items())))
            else:
                await self._follow()

    async def _typed(self) -> str | None:
        """Read the next input; None if there is something else to do first.

        Raises:
            EOFError: the user leaves.
        """
        self._stops, self._is_cancelled = 0, False
        try:
            return await self._unless_woken(self._inputs.read())
        except KeyboardInterrupt:
            self._leaves += 1
            if self._leaves == 1:
                self.agent.view.line("[Ctrl-C again leaves]")
            return None

    async def _follow(self) -> None:
        """Show the agent's turn; a line typed in the meantime waits for the next turn.

        Raises:
            EOFError: the user leaves.
        """
        typed = StdinLines().read() if self.agent.is_person else _never()
        text = await self._unless_woken(typed)
        await self._cancel_if_stopped()
        if text is not None:
            await self._say(text)

    async def _answer(self, number: int, asked: Mapping[str, Any]) -> None:
        """Ask the user one question, unless it is settled elsewhere first."""
        options = [as_object(each) for each in cast("Sequence[Any]", asked["options"])]
        summary = ToolCallSummary(
            str(asked.get("wish") or asked.get("title")), tuple(asked.get("lines") or ())
        )
        names = [str(each.get("name")) for each in options]
        kinds = [str(each.get("kind")) for each in options]
        self.agent.asking = number
        try:
            chosen = await self._unless_woken(self._chosen(summary, names, kinds))
        finally:
            self.agent.asking = None
        await self._cancel_if_stopped()
        if chosen is None or number not in self.agent.questions:
            return
        refusals = [at for at, each in enumerate(options) if _refuses(each)]
        if chosen < 0 and not refusals:
            self.agent.view.line("[no option denies this; Ctrl-C cancels the turn]")
            return
        option = options[chosen if chosen >= 0 else refusals[0]]
        await self._ask(ANSWER, {"question": number, "optionId": option["optionId"], "by": BY})
        self.agent.questions.pop(number, None)

    async def _chosen(
        self, summary: ToolCallSummary, names: Sequence[str], kinds: Sequence[str]
    ) -> int:
        """Ask the user; return the index of the option, or -1 for no."""
        chosen = await self._user.choose(summary, names, kinds)
        return -1 if chosen is None else chosen

    async def _say(self, text: str) -> None:
        """Send a prompt, or run a command of the chat.

        Raises:
            EOFError: the user leaves.
        """
        self._leaves = 0
        if text.strip() in LEAVE:
            raise EOFError
        if not text.strip() or await self._commands.run(text):
            return
        prompt = for_agent(text)
        self.agent.said.append(prompt)
        self.agent.is_working = True
        if await self._ask(SAY, {"text": prompt}) is None and prompt in self.agent.said:
            self.agent.said.remove(prompt)
            self.agent.is_working = bool(self.agent.said)

    async def _cancel_if_stopped(self) -> None:
        if self._stops == 1 and not self._is_cancelled and not self._is_over:
            self._is_cancelled = True
            self.agent.view.line("[canceling; Ctrl-C again leaves]")
            await self._ask(CANCEL, {})

    async def _ask(self, method: str, params: Mapping[str, Any]) -> Any:
        """Ask the session server; show its refusal and return None."""
        try:
            return await self._server.ask(method, params)
        except SessionError as error:
            self._output.end_line()
            self._output.talk(error.message)
            return None

    async def _unless_woken(self, work: Coroutine[Any, Any, _Value]) -> _Value | None:
        """Await the work; return None if there is something else to do first."""
        if self._is_woken:
            self._is_woken = False
            work.close()
            return None
        try:
            async with asyncio.timeout(None) as self._scope:
                return await work
        except TimeoutError:
            return None
        finally:
            self._scope, self._is_woken = None, False

    def _wake(self) -> None:
        self._is_woken = True
        if self._scope is not None and not self._scope.expired():
            self._scope.reschedule(asyncio.get_running_loop().time())

    def _stop(self) -> None:
        self._stops += 1
        self._wake()


async def _never() -> str:
    await asyncio.Event().wait()
    return ""


def _refuses(option: Mapping[str, Any]) -> bool:
    return str(option.get("kind")).startswith("reject")
