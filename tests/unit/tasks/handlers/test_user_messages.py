"""Requests of users about tasks, through their handlers: what reaches the engine and the agents."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from tests.support.task_harness import EngineOptions, Scene, git
from tests.support.task_views import Served, asked, serve

from symposium.bus.errors import BusRefusedError
from symposium.bus.messages.tasks import (
    AnswerInbox,
    CreateTaskspace,
    RetryTaskspace,
    ShowTaskspace,
    TaskShown,
)
from symposium.bus.protocol import BusRequest
from symposium.registry.agent_choice import ChosenAgent
from symposium.sessions.client import hand_over_environment
from symposium.sessions.session import ServerSessionState, SessionKind, SessionSpec, Status
from symposium.tasks.engine_context import NoAgents
from symposium.tasks.handlers.task_agents import TaskAgents
from symposium.tasks.handlers.task_views import log_view, snapshot_view
from symposium.tasks.model import Limits, Taskspace, TaskState

ADVICE = "codex could not be installed; npx runs it each time"


class Advising(TaskAgents):
    """Knows every agent; its installation fails."""

    async def chosen(self, written: str | None) -> ChosenAgent | None:
        return None if written is None else ChosenAgent(f"npx {written}", ADVICE)


class Started(NoAgents):
    """Agents that start at once."""

    def __init__(self) -> None:
        self.agents: list[str | None] = []

    async def start(self, taskspace: Taskspace, env: Mapping[str, str]) -> None:
        del env
        self.agents.append(taskspace.agent)


class Requests:
    """Handlers of the requests of a user, and the progress that they report."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self.said: list[str] = []

    async def ask(self, message: BusRequest[Any]) -> Any:
        answer = self.served.handlers.answers().requests[message.about.type]
        return await answer(message, asked(self.said))

    async def refusal(self, message: BusRequest[Any]) -> tuple[str, str]:
        with pytest.raises(BusRefusedError) as refused:
            await self.ask(message)
        return refused.value.message, refused.value.code

    def environment(self, id_: str) -> Mapping[str, str]:
        return self.served.agents.environments.lent(id_)


def requests(scene: Scene, folder: Path) -> Requests:
    return Requests(serve(scene.engine, folder, agents_of=Advising))


@pytest.mark.requirement("tasks.by-message", "tasks.environment")
async def test_new_task_has_everything_that_the_user_chose(scene: Scene, tmp_path: Path) -> None:
    git("branch", "release", cwd=scene.clone)
    user = requests(scene, tmp_path)
    async with hand_over_environment({"TOKEN": "t"}, tmp_path / "e") as socket:
        wanted = CreateTaskspace(
            project=str(scene.clone),
            name="Fix login",
            task="Fix it.",
            description="the button",
            agent="codex",
            base="release",
            collaborator="claude",
            ports=2,
            is_name_locked=True,
            budget="3turns",
            environment=socket,
        )
        made = (await user.ask(wanted)).taskspace

    kept = await scene.engine.get(made.id)
    assert user.said == [ADVICE]
    assert user.environment(made.id) == {"TOKEN": "t"}
    assert (made.name, made.description, made.base) == (
        "Fix login",
        "the button",
        "refs/heads/release",
    )
    assert (made.collaborator, made.ports) == ("claude", (20000, 2))
    assert (kept.initial_prompt or "").endswith("\nFix it.\n")
    assert kept.agent == "npx codex"
    assert (kept.limits, kept.is_name_locked) == (Limits(turns=3), True)


@pytest.mark.requirement("tasks.by-message", "tasks.environment")
async def test_another_agent_replaces_one_that_has_not_worked(scene: Scene, tmp_path: Path) -> None:
    made = await scene.made()
    started = Started()
    scene = scene.again(EngineOptions(agents=started))
    user = requests(scene, tmp_path)
    store = user.served.store
    store.add(SessionSpec(made.id, SessionKind.ACP, ("old",), "/"))
    store.write_state(made.id, ServerSessionState(Status.EXITED))
    codex = RetryTaskspace(taskspace_uuid=made.id, agent="codex")
    async with hand_over_environment({"TOKEN": "t"}, tmp_path / "e") as socket:
        message = RetryTaskspace(taskspace_uuid=made.id, agent="codex", environment=socket)
        shown = (await user.ask(message)).taskspace
    forgotten = store.ids()
    # Its own agent is named again.
    store.add(SessionSpec(made.id, SessionKind.ACP, ("npx codex",), "/"))
    store.write_state(made.id, ServerSessionState(Status.EXITED, acp_session="one"))
    await user.ask(codex)
    other = await user.refusal(RetryTaskspace(taskspace_uuid=made.id, agent="pi"))
    kept = await scene.engine.get(made.id)
    await scene.context.put(replace(kept, standing=TaskState.FINISHED))
    finished = await user.refusal(RetryTaskspace(taskspace_uuid=made.id))
    await scene.context.put(replace(kept, standing=TaskState.SETUP_FAILED, reason="no disk"))
    again = (await user.ask(RetryTaskspace(taskspace_uuid=made.id))).taskspace
    scene.engine.close()

    assert (shown.agent, kept.agent, forgotten) == ("npx codex", "npx codex", [])
    assert started.agents == ["npx codex"] * 3
    assert user.environment(made.id) == {"TOKEN": "t"}
    assert user.said == [ADVICE, ADVICE]
    assert other == (
        "its agent has a session already; `symposium handoff` passes that session to another agent",
        "refused",
    )
    assert finished == ("'Fix login' is finished", "refused")
    assert (again.standing, again.reason) == ("ready", "")


@pytest.mark.requirement("tasks.by-message")
async def test_shown_task_has_its_newest_log_its_snapshots_and_its_set_up(
    scene: Scene, tmp_path: Path
) -> None:
    made = await scene.made()
    user = requests(scene, tmp_path)
    worktree = Path(made.worktree)
    (worktree / "uv.lock").touch()
    for text in ("one", "two", "three"):
        await scene.engine.records.log(made.id, text, "info")
    taken = await scene.engine.history.snapshot(made.id, "tool call")
    whole = ShowTaskspace(taskspace_uuid=made.id, log=2)
    guessed: TaskShown = await user.ask(whole)
    brief: TaskShown = await user.ask(ShowTaskspace(taskspace_uuid=made.id, is_whole=False))
    (worktree / "conductor.json").write_text('{"scripts":{"setup":"make"}}', encoding="utf-8")
    asks: TaskShown = await user.ask(whole)
    kept = await scene.engine.get(made.id)
    gone: list[TaskShown] = []
    for standing in (TaskState.ARCHIVED, TaskState.MISSING):
        (worktree / ".git").rename(worktree / "git")
        await scene.context.put(replace(kept, standing=standing))
        gone.append(await user.ask(whole))
        (worktree / "git").rename(worktree / ".git")
    entries = [log_view(each) for each in await scene.engine.logs.entries(made.id)]

    assert [each.message for each in entries] == ["one", "two", "three"]
    assert (list(guessed.log), list(brief.log)) == (entries[-2:], entries)
    assert guessed.snapshots[-1] == snapshot_view(taken)
    assert (guessed.recipe, guessed.guesses) == ((), ("uv sync (uv.lock)",))
    assert (asks.recipe, asks.guesses) == (("conductor.json  setup: make",), ())
    assert asks.digest != guessed.digest
    for each in (brief, *gone):
        assert (each.snapshots, each.recipe, each.guesses) == ((), (), ())


@pytest.mark.requirement("tasks.inbox", "tasks.environment")
async def test_answer_hands_over_the_environment_for_its_own_task_only(
    scene: Scene, tmp_path: Path
) -> None:
    user = requests(scene, tmp_path)
    one = await scene.made()
    two = replace(one, id=str(UUID(int=2)), name="other")
    await scene.context.put(two)
    signals = [await scene.engine.records.signal(each.id, "which?") for each in (one, two)]
    first, second = [f"question:{each.number}" for each in signals]
    async with hand_over_environment({"TOKEN": "t"}, tmp_path / "e") as socket:
        await user.ask(AnswerInbox(item=first, answer="seen", by="Ada", environment=socket))
    said = await user.ask(AnswerInbox(item=second, answer="seen"))

    settled = [user.served.inbox.settled(each) for each in (first, second)]
    assert [each and each.by for each in settled] == ["Ada", "c1"]
    assert [user.environment(each.id) for each in (one, two)] == [{"TOKEN": "t"}, {}]
    assert said.text == "seen"
