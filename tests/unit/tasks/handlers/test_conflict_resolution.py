"""Landings whose conflicts an agent resolves: real git, session servers in this process."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
import pytest
from tests.support.event_listener import Mailbox
from tests.support.session_servers import Servers
from tests.support.task_harness import (
    AskedTrust,
    EngineOptions,
    Prepared,
    Scene,
    git,
    open_scene,
)
from tests.support.task_views import Served, serve

from peerwire.errors import INTERNAL_ERROR, RpcError
from symposium.bus.envelope import Sender
from symposium.bus.errors import BusRefusedError
from symposium.bus.handlers import RequestContext
from symposium.bus.messages.tasks import InboxCall, InboxChoice, InboxItem
from symposium.bus.messages.worktrees import Landing, LandTaskspace
from symposium.config.paths import paths
from symposium.errors import ExplainedError
from symposium.sessions.session import SessionKind, SessionSpec, SessionStore
from symposium.tasks.conflict_resolutions import Resolution, ResolutionStage
from symposium.tasks.deletion.trash import DeletionConsent
from symposium.tasks.engine_context import NoAgents
from symposium.tasks.handlers import conflict_resolution
from symposium.tasks.model import Taskspace
from symposium.tasks.tables import save

BASE = "main"


@dataclass
class Agent(NoAgents):
    """Agent of the task, behind a session server in this process.

    Attributes:
        prompts: the prompts that it received.
        is_working: whether it says that it works.
        is_broken: whether its server refuses prompts.
        started: how often it was started.
        queries: a value for each query of its state.
    """

    servers: Servers
    prompts: list[str] = field(default_factory=list[str])
    is_working: bool = False
    is_broken: bool = False
    started: int = 0
    queries: Mailbox[bool] = field(default_factory=Mailbox[bool])

    async def start(self, taskspace: Taskspace, env: Mapping[str, str]) -> None:
        del env
        self.run(taskspace.id)

    def run(self, id_: str) -> None:
        self.started += 1
        self.servers.answers(self.servers.started(id_), self._describe, self._say)

    async def _describe(self) -> Any:
        self.queries.add(self.is_working)
        return {"acpSession": "one", "working": self.is_working, "waiting": 0, "questions": []}

    def _say(self, text: str) -> None:
        if self.is_broken:
            raise RpcError(INTERNAL_ERROR, message="it is out of memory")
        self.prompts.append(text)


@dataclass
class Conflict:
    """Task whose branch and base change the first line of `README.md`."""

    scene: Scene
    served: Served
    agent: Agent
    task: Taskspace
    onto: str
    changes: Mailbox[None] = field(default_factory=Mailbox[None])
    progress: list[tuple[str, float | None, float | None]] = field(
        default_factory=list[tuple[str, "float | None", "float | None"]]
    )

    @property
    def tree(self) -> Path:
        return Path(self.task.worktree)

    @property
    def resolving(self) -> conflict_resolution.Resolving:
        return self.served.inbox.resolving

    @property
    def short(self) -> str:
        return self.task.id[:8]

    async def land(self, join: str = "rebase") -> Landing:
        message = LandTaskspace(taskspace_uuid=self.task.id, join=join, resolve_conflicts=True)
        context = RequestContext("1", Sender("/"), "c1", self._progress)
        return await self.served.landing.answers().requests[message.about.type](message, context)

    def _progress(self, text: str, done: float | None, total: float | None) -> None:
        self.progress.append((text, done, total))

    async def stage(self) -> str:
        found = await self.scene.engine.resolutions.of(self.task.id)
        return "" if found is None else found.stage.value

    async def put(self, stage: ResolutionStage, **more: Any) -> Resolution:
        made = Resolution(self.task.id, stage, 1, "2026-01-01T00:00:00+00:00", BASE, self.onto)
        made = msgspec.structs.replace(made, **more)
        await self.scene.engine.resolutions.put(made)
        return made

    def resolve(self, text: str = "both\n") -> str:
        """Replace the commit of the branch by one on the base, as a rebase does; return its id."""
        git("fetch", "-q", cwd=self.tree)
        git("reset", "-q", "--hard", self.onto, cwd=self.tree)
        return self.scene.commit(self.tree, "README.md", text)

    def finish(self) -> None:
        """End the turn of the agent, and announce it."""
        self.agent.is_working = False
        self.resolving.noted(self.task.id)

    async def item(self) -> InboxItem:
        """Wait until the agent's work was checked; return the only item in the inbox."""
        await self.changes.next()
        (item,) = await self.served.inbox.items()
        return item

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        self.resolving.on_change = lambda: self.changes.add(None)
        async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
            running = tasks.create_task(self.resolving.run())
            yield
            running.cancel()


@pytest.fixture
async def conflict(
    place: Path, prepared: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[Conflict]:
    # Only announcements lead to a check, unless a test sets another interval.
    monkeypatch.setattr(conflict_resolution, "POLL_INTERVAL", 1000.0)
    async with Servers(
        SessionStore(paths({"SYMPOSIUM_HOME": str(tmp_path / "home")})), tmp_path
    ) as servers:
        agent = Agent(servers)
        scene = open_scene(place, EngineOptions(trust=AskedTrust(), agents=agent))
        scene.prepared = prepared
        task = replace(await scene.made(), agent="eliza")
        await scene.context.journal.write(lambda connection: save(connection, task))
        scene.commit(Path(task.worktree), "README.md", "mine\n")
        onto = scene.commit(scene.upstream, "README.md", "theirs\n")
        yield Conflict(scene, serve(scene.engine, tmp_path), agent, task, onto)
        scene.engine.close()


LAND = InboxChoice("land", "Land exactly this commit")
LATER = InboxChoice("later", "Not now: keep it in the list without notifications")
REJECT = InboxChoice("reject", "Do not land it; the branch stays unchanged")
RETRY = InboxChoice("retry", "Try again: its agent gets the prompt once more")
PROMPT = """\
Your branch {branch} conflicts with main: both changed the same lines.

Files in conflict with main (commit {commit}), with the lines of your branch:
- README.md:1-1 (content, base: 1-1)

Do this in this worktree:
1. Run `git rebase {commit}`.
2. Resolve each conflict. Keep the intent of both sides.
3. Run the checks of the project, and fix what fails.
4. Commit everything. `git status` must be clean, and no rebase or merge unfinished.

Do not push, and do not change main. The user reviews the result and decides
whether it lands. Then end your turn."""
LEAVE = InboxChoice("leave", "Leave it; the branch stays unchanged")


BEGUN = (
    "Fix login conflicts with main; nothing was changed",
    "README.md:1-1 (content)",
    "the agent of Fix login is resolving the conflicts",
)


def follow(conflict: Conflict) -> tuple[str, str]:
    return (
        "nothing lands until you approve it in `symposium inbox`",
        f"to follow its agent: symposium task attach {conflict.short}",
    )


def lines_of(item: InboxItem) -> tuple[str, ...]:
    assert item.call is not None
    return item.call.lines


@pytest.mark.requirement("landing.resolve", "landing.approval")
async def test_resolved_conflict_is_shown_with_its_diff_and_lands_once_approved(
    conflict: Conflict,
) -> None:
    conflict.agent.run(conflict.task.id)
    conflict.agent.is_working = True
    async with conflict.running():
        landing = await conflict.land()
        await conflict.agent.queries.next()
        is_busy = conflict.resolving.is_busy()
        again = await conflict.land()
        working = await conflict.stage(), await conflict.served.inbox.items()
        tip = conflict.resolve()
        conflict.finish()
        item = await conflict.item()
        is_ready = await conflict.stage(), conflict.resolving.is_busy()
        moved = msgspec.structs.replace(item, id="landing:other")
        with pytest.raises(BusRefusedError) as refused:
            await conflict.resolving.answer(moved, "land")
        said = await conflict.served.inbox.answer(item.id, "land", "me")

    assert landing == Landing(outcome="resolving", lines=(*BEGUN, *follow(conflict)))
    assert again.lines[2] == "the agent of Fix login is already resolving the conflicts"
    assert (working, is_busy) == (("working", []), True)
    assert conflict.agent.prompts == [
        PROMPT.format(branch=conflict.task.branch, commit=conflict.onto[:12])
    ]
    text = "is ready to land on main: 1 file, the project has no checks"
    command = f"git -C {conflict.tree} diff {conflict.onto[:12]} {tip[:12]}"
    assert item == InboxItem(
        f"landing:{conflict.task.id}:{tip[:16]}{conflict.onto[:16]}",
        *("landing", conflict.task.id, "Fix login", item.at, text, (LAND, LATER, REJECT)),
        InboxCall("edit", text, ("README.md",), command, lines=lines_of(item)),
    )
    assert lines_of(item)[-3:] == ("@@ -1 +1 @@", "-theirs", "+both")
    assert is_ready == ("ready", False)
    changed = "Fix login has changed; `symposium inbox` shows it"
    assert (str(refused.value), refused.value.code) == (changed, "changed")
    assert said == (
        f"Fix login has landed on main; `symposium task rm {conflict.short}` deletes the task"
    )
    assert git("rev-parse", "main", cwd=conflict.scene.clone) == tip
    assert (await conflict.stage(), await conflict.served.inbox.items()) == ("", [])


@pytest.mark.requirement("landing.failed", "landing.agent", "landing.canceled")
async def test_unresolved_conflict_is_tried_again_with_its_reason_until_the_user_leaves_it(
    conflict: Conflict,
) -> None:
    async with conflict.running():
        await conflict.land("merge")
        failed = await conflict.item()
        conflict.agent.servers.ended(conflict.task.id)
        tried = await conflict.served.inbox.answer(failed.id, "retry", "me")
        second = await conflict.item()
        conflict.agent.is_broken = True
        with pytest.raises(ExplainedError, match="out of memory"):
            await conflict.served.inbox.answer(second.id, "retry", "me")
        kept = await conflict.served.inbox.items()
        left = await conflict.served.inbox.answer(second.id, "leave", "me")

    reason = "still conflicts with main: README.md:1-1 (content, base: 1-1)"
    first, *_, last = conflict.agent.prompts
    opening = first.splitlines()[0]
    assert f"1. Run `git merge {conflict.onto[:12]}`." in first
    rest = first.removeprefix(f"{opening}\n\n")
    assert last == f"{opening}\n\nThe last attempt did not succeed: {reason}.\n\n{rest}"
    assert conflict.agent.started == 2, "it was started for the first prompt, and after its end"
    assert (failed.text, failed.choices) == (reason, (RETRY, LEAVE))
    assert failed.call == InboxCall("edit", reason)
    assert [failed.id, second.id] == [f"landing:{conflict.task.id}:{n}" for n in (1, 2)]
    assert tried == "the agent of Fix login tries again"
    assert kept == [second]
    assert left == (
        "Fix login is not landed. Its branch is unchanged;"
        f" `symposium task undo {conflict.short} --list` lists earlier states"
    )
    assert await conflict.stage() == ""


@pytest.mark.requirement("landing.checks")
async def test_agent_gets_the_checks_of_the_project_and_the_output_of_a_failed_one(
    conflict: Conflict,
) -> None:
    (conflict.tree / ".symposium").mkdir()
    check = 'check = ["true", "echo not yet; test -e ok"]'
    workspace = conflict.scene.commit(conflict.tree, ".symposium/workspace.toml", check)
    async with conflict.running():
        await conflict.land()
        still = await conflict.item()
        conflict.resolve()
        git("cherry-pick", workspace, cwd=conflict.tree)
        await conflict.served.inbox.answer(still.id, "retry", "me")
        failed = await conflict.item()
        await conflict.served.inbox.answer(failed.id, "retry", "me")
        await conflict.changes.next()
        conflict.scene.commit(conflict.tree, "ok", "")
        (again,) = await conflict.served.inbox.items()
        await conflict.served.inbox.answer(again.id, "retry", "me")
        ready = await conflict.item()

    step = "3. Run the checks of the project, and fix what fails."
    checks = "   - `true`\n   - `echo not yet; test -e ok`"
    assert all(f"{step}\n{checks}\n4. " in each for each in conflict.agent.prompts)
    assert failed.text.startswith("a check fails: ")
    output = ("$ true", "$ echo not yet; test -e ok", "not yet")
    assert lines_of(failed) == output
    shown = "\n".join(output)
    assert f"did not succeed: {failed.text}.\n{shown}\n\nFiles" in conflict.agent.prompts[2]
    assert ready.text == "is ready to land on main: 3 files, checks passed"


@pytest.mark.requirement("landing.approval")
async def test_approval_of_an_outdated_commit_is_refused_and_the_new_one_is_shown(
    conflict: Conflict,
) -> None:
    async with conflict.running():
        conflict.agent.is_working = True
        await conflict.land()
        conflict.resolve()
        await conflict.agent.queries.next()
        conflict.finish()
        item = await conflict.item()
        tip = conflict.scene.commit(conflict.tree, "more", "x")
        with pytest.raises(BusRefusedError) as refused:
            await conflict.served.inbox.answer(item.id, "land", "me")
        second = await conflict.item()

    assert str(refused.value) == (
        "Fix login or its base has changed, so nothing was landed; Symposium checks it again"
    )
    assert refused.value.code == "changed"
    assert git("rev-parse", "main", cwd=conflict.scene.clone) != tip
    steps = ("checking for conflicts with other tasks", "landing")
    assert conflict.progress == [(each, None, None) for each in steps]
    assert second.id == f"landing:{conflict.task.id}:{tip[:16]}{conflict.onto[:16]}"
    assert second.text == "is ready to land on main: 2 files, the project has no checks"


@pytest.mark.requirement("landing.restart")
async def test_prompt_that_may_be_lost_is_sent_by_the_next_daemon(conflict: Conflict) -> None:
    before = await conflict.put(ResolutionStage.ASKED)
    conflict.agent.run(conflict.task.id)
    async with conflict.running():
        await conflict.changes.next()
        found = await conflict.scene.engine.resolutions.of(conflict.task.id)
        conflict.resolve()
        conflict.resolving.noted(conflict.task.id)
        item = await conflict.item()

    assert len(conflict.agent.prompts) == 1
    assert "- unknown; git shows them\n" in conflict.agent.prompts[0]
    assert found is not None
    assert found.at > before.at
    assert found == msgspec.structs.replace(before, stage=ResolutionStage.WORKING, at=found.at)
    assert item.choices == (LAND, LATER, REJECT)


@pytest.mark.requirement("landing.restart")
async def test_agent_that_cannot_be_prompted_after_a_restart_is_a_failure_to_decide_on(
    conflict: Conflict,
) -> None:
    await conflict.put(ResolutionStage.ASKED)
    conflict.agent.is_broken = True
    conflict.agent.run(conflict.task.id)
    async with conflict.running():
        item = await conflict.item()
        is_busy = conflict.resolving.is_busy()

    assert item.text == "its agent did not get the prompt: it is out of memory"
    assert (item.choices, is_busy) == ((RETRY, LEAVE), False)


@pytest.mark.requirement("landing.restart")
async def test_work_of_an_agent_is_checked_by_the_next_daemon_also_without_announcements(
    conflict: Conflict, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conflict_resolution, "POLL_INTERVAL", 0.01)
    await conflict.put(ResolutionStage.WORKING)
    conflict.agent.is_working = True
    conflict.agent.run(conflict.task.id)
    async with conflict.running():
        for _ in range(3):
            await conflict.agent.queries.next()
        conflict.resolve()
        conflict.agent.is_working = False
        item = await conflict.item()

    assert item.choices == (LAND, LATER, REJECT)
    assert conflict.agent.prompts == []


@pytest.mark.requirement("landing.canceled")
@pytest.mark.parametrize("is_deleted_while_it_runs", [True, False])
async def test_landing_of_a_deleted_task_is_canceled(
    conflict: Conflict, *, is_deleted_while_it_runs: bool
) -> None:
    async def delete() -> None:
        await conflict.scene.engine.trash.delete(conflict.task.id, DeletionConsent.ARCHIVE)

    async def found(id_: str) -> bool:
        return await conflict.scene.engine.resolutions.of(id_) is not None

    await conflict.put(ResolutionStage.FAILED, reason="it failed")
    unknown = str(UUID(int=9))
    await conflict.put(ResolutionStage.WORKING, taskspace=unknown)
    if not is_deleted_while_it_runs:
        await delete()
    async with conflict.running():
        is_left = True
        while is_left:
            is_left = await found(unknown)
        if is_deleted_while_it_runs:
            assert await found(conflict.task.id)
            await delete()
            conflict.resolving.removed(conflict.task.id)
        while is_left or conflict.resolving.is_busy():
            is_left = await found(conflict.task.id)

    assert not await found(conflict.task.id)


@pytest.mark.requirement("landing.agent")
async def test_task_whose_agent_takes_no_prompts_is_refused_and_nothing_is_noted(
    conflict: Conflict,
) -> None:
    async def refusal() -> tuple[str, str]:
        with pytest.raises(ExplainedError) as refused:
            await conflict.land()
        return refused.value.message, refused.value.hint

    def save_agent(agent: str | None) -> Any:
        task = replace(conflict.task, agent=agent)
        return conflict.scene.context.journal.write(lambda connection: save(connection, task))

    await save_agent(None)
    without = await refusal()
    await save_agent("terminal:vi")
    terminal = SessionSpec(conflict.task.id, SessionKind.TERMINAL, ("vi",), "/")
    conflict.served.store.add(terminal)
    by_terminal = await refusal()
    conflict.agent.is_broken = True
    await save_agent("eliza")
    conflict.agent.run(conflict.task.id)
    broken = await refusal()

    by_hand = "resolve the conflicts yourself, then land again"
    give = f"`symposium task resume {conflict.short} --agent AGENT` gives it one; or {by_hand}"
    assert without == ("'Fix login' has no agent", give)
    assert by_terminal == (
        "the agent of 'Fix login' has its own terminal and takes no prompts",
        by_hand,
    )
    assert broken == ("it is out of memory", "")
    assert await conflict.stage() == ""
