"""Tasks are created in stages, beside the user's clone; a failure leaves nothing."""

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.support.task_harness import EngineOptions, Scene, every_port, git, open_scene

from symposium.tasks.creation import CreateRequest
from symposium.tasks.events import Passed
from symposium.tasks.model import RefusedNameError, StageError, Taskspace, TaskspaceError, TaskState
from symposium.tasks.tables import claim, unfinished
from symposium.tasks.task_environment import variables


@pytest.mark.requirement("taskspaces.three-at-once", "taskspaces.checkout-stays-clean")
async def test_three_tasks_are_created_at_once_in_the_users_clone(scene: Scene) -> None:
    async with asyncio.TaskGroup() as tasks:
        made = [tasks.create_task(scene.make("Fix flaky login test")) for _ in range(3)]

    spaces = [task.result() for task in made]
    assert len({each.branch for each in spaces}) == 3
    assert len({each.worktree for each in spaces}) == 3
    for each in spaces:
        assert Path(each.worktree).parent == scene.root / "clone.tasks"
        assert git("branch", "--show-current", cwd=Path(each.worktree)) == each.branch
        assert git("status", "--porcelain", "--ignored", cwd=Path(each.worktree)) == ""
    assert git("status", "--porcelain", "--ignored", cwd=scene.clone) == ""
    assert git("branch", "--show-current", cwd=scene.clone) == "main"
    listed = await scene.engine.taskspaces(scene.clone)
    assert {each.id for each in listed} == {each.id for each in spaces}


@pytest.mark.requirement("taskspaces.fresh-base")
async def test_new_task_starts_from_the_current_remote_commit(scene: Scene) -> None:
    newest = scene.commit(scene.upstream, "new.txt", "new\n")

    made = await scene.make()

    assert made.base_commit == newest
    assert git("rev-parse", "HEAD", cwd=Path(made.worktree)) == newest
    upstream = git("rev-parse", "--abbrev-ref", "@{upstream}", cwd=Path(made.worktree))
    assert upstream == "origin/main"


@pytest.mark.requirement("taskspaces.offline")
async def test_task_starts_from_the_local_branch_with_a_note_without_a_remote(scene: Scene) -> None:
    scene.upstream.rename(scene.root / "gone")

    made = await scene.make()

    assert made.standing is TaskState.READY
    assert "the base may be old" in made.reason


@pytest.mark.requirement("taskspaces.failure-leaves-nothing")
async def test_failed_worktree_creation_leaves_nothing(scene: Scene) -> None:
    (scene.root / "clone.tasks").write_text("in the way", encoding="utf-8")
    before = git("for-each-ref", cwd=scene.clone)

    with pytest.raises(StageError) as failed:
        await scene.make()

    assert failed.value.stage == "create.metadata"
    assert failed.value.completed == ("create.recorded",)
    assert git("for-each-ref", cwd=scene.clone) == before
    assert git("worktree", "list", cwd=scene.clone).count("\n") == 0
    assert await scene.engine.taskspaces() == []
    assert (scene.root / "clone.tasks").read_text(encoding="utf-8") == "in the way"


@pytest.mark.requirement("taskspaces.failure-leaves-nothing")
async def test_failed_branch_creation_leaves_no_worktree(scene: Scene) -> None:
    git("branch", "task", cwd=scene.clone)  # so refs/heads/task/… cannot be created

    with pytest.raises(StageError, match=r"create\.worktree"):
        await scene.make()

    assert not (scene.root / "clone.tasks").exists()
    assert await scene.engine.taskspaces() == []


@pytest.mark.requirement("taskspaces.failure-leaves-nothing")
async def test_id_of_another_task_and_a_missing_base_are_refused(scene: Scene) -> None:
    made = await scene.made()
    before = git("for-each-ref", cwd=scene.clone)

    with pytest.raises(RefusedNameError) as taken:
        await scene.engine.create(CreateRequest(scene.clone, "other", id=made.id.upper()))
    for base in ("-x", " "):
        with pytest.raises(RefusedNameError) as refused:
            await scene.engine.create(CreateRequest(scene.clone, "other", base=base))
        assert refused.value.message == f"{base!r} is not a branch"

    assert (taken.value.message, taken.value.hint) == (
        f"task {made.id} exists already",
        "omit the id",
    )
    assert await scene.engine.taskspaces() == [made]
    assert git("for-each-ref", cwd=scene.clone) == before


@pytest.mark.requirement("taskspaces.failure-leaves-nothing")
async def test_creation_canceled_while_it_is_recorded_leaves_nothing(place: Path) -> None:
    loop, creating = asyncio.get_running_loop(), list[asyncio.Task[Taskspace]]()

    def cancel(port: int) -> bool:
        for task in creating:
            loop.call_soon_threadsafe(task.cancel)
        return bool(port)

    scene = open_scene(place, EngineOptions(is_port_free=cancel))
    async with asyncio.TaskGroup() as tasks:
        creating.append(tasks.create_task(scene.make()))
        await asyncio.wait(creating)
    left = await scene.engine.taskspaces(), await scene.context.journal.read(unfinished)
    scene.engine.close()

    assert creating[0].cancelled()
    assert left == ([], [])


@pytest.mark.requirement("taskspaces.failure-leaves-nothing")
async def test_base_that_is_deleted_during_a_creation_is_named(place: Path) -> None:
    def passed(stage: str) -> None:
        if stage == "create.metadata":
            git("branch", "-q", "-D", "mine", cwd=place / "clone")

    git("branch", "mine", cwd=place / "clone")
    scene = open_scene(place, EngineOptions(passed=passed))
    with pytest.raises(StageError) as failed:
        await scene.engine.create(CreateRequest(scene.clone, "x", base="mine"))
    left = await scene.engine.taskspaces()
    scene.engine.close()

    assert failed.value.message == "create.fetched failed: refs/heads/mine does not exist"
    assert (failed.value.hint, failed.value.stage) == ("name another base", "create.fetched")
    assert failed.value.completed == ("create.recorded", "create.metadata")
    assert left == []
    assert git("branch", "--list", "task/*", cwd=place / "clone") == ""


@pytest.mark.requirement("taskspaces.stages-told")
async def test_each_stage_is_announced_when_it_ends(scene: Scene) -> None:
    made = await scene.make()

    stages = [event.stage for event in scene.events if isinstance(event, Passed)]
    assert stages == [
        *("create.recorded", "create.metadata", "create.fetched", "create.worktree"),
        *("create.included", "create.setup", "create.agent", "create.ready"),
    ]
    assert made.prompt_archive is not None
    assert "Fix it." in made.prompt_archive


@pytest.mark.requirement("taskspaces.ports")
async def test_ten_tasks_have_separate_ports_also_after_a_restart(scene: Scene) -> None:
    made = await scene.make()
    assert made.ports is not None
    blocks = [made.ports]
    for number in range(9):
        if number == 5:
            scene = scene.again()
        blocks.append(
            await scene.context.journal.write(
                lambda connection, id_=str(number): claim(connection, id_, 5, every_port)
            )
        )
    scene.engine.close()

    ports = {block.first + offset for block in blocks for offset in range(block.count)}
    assert len(ports) == 50
    env = variables(made)
    names = ["SYMPOSIUM_PORT", *(f"SYMPOSIUM_PORT_{each}" for each in range(1, 5))]
    assert [int(env[name]) for name in names] == list(range(20000, 20005))
    assert made.id[:8] in env["COMPOSE_PROJECT_NAME"]


@pytest.mark.requirement("taskspaces.ports")
async def test_block_with_a_port_in_use_is_skipped(place: Path) -> None:
    scene = open_scene(place, EngineOptions(is_port_free=lambda port: port != 20003))

    made = await scene.make()

    scene.engine.close()
    assert made.ports is not None
    assert made.ports.first == 20010


@pytest.mark.requirement("taskspaces.hostile-names")
@pytest.mark.parametrize("name", ["a\nb", "a\x1b[2J", "a\0b", "x" * 201, "a\udc80"])
async def test_name_with_unsafe_characters_is_refused(name: str, scene: Scene) -> None:
    with pytest.raises(RefusedNameError):
        await scene.make(name)
    assert await scene.engine.taskspaces() == []


@pytest.mark.requirement("taskspaces.hostile-names")
async def test_description_and_prompt_with_unsafe_characters_are_refused(scene: Scene) -> None:
    for order in (
        CreateRequest(scene.clone, "x", description="a\x1b[2J"),
        CreateRequest(scene.clone, "x", task="a\x1b[2J"),
    ):
        with pytest.raises(RefusedNameError, match=r"control character U\+001B"):
            await scene.engine.create(order)
    assert await scene.engine.taskspaces() == []


@pytest.mark.requirement("taskspaces.hostile-names")
@pytest.mark.parametrize("name", ["../../etc", "--force", "a/b/../c", ".git", "…", "💣; rm -rf ~"])
async def test_unusual_name_makes_a_safe_path(name: str, scene: Scene) -> None:
    made = await scene.make(name)

    assert made.name == name
    assert Path(made.worktree).parent == scene.root / "clone.tasks"
    assert not Path(made.worktree).name.startswith((".", "-"))


@pytest.mark.requirement("taskspaces.hostile-names")
@pytest.mark.parametrize("base", ["--upload-pack=x", "", "nowhere", "a b"])
async def test_invalid_base_is_refused(base: str, scene: Scene) -> None:
    with pytest.raises(TaskspaceError):
        await scene.engine.create(CreateRequest(scene.clone, "x", base=base))


@pytest.mark.requirement("taskspaces.hostile-paths")
async def test_symbolic_link_in_place_of_the_tasks_folder_is_refused(scene: Scene) -> None:
    (scene.root / "elsewhere").mkdir()
    (scene.root / "clone.tasks").symlink_to(scene.root / "elsewhere")

    with pytest.raises(RefusedNameError, match="is a symbolic link"):
        await scene.make()
    assert not any((scene.root / "elsewhere").iterdir())


@pytest.mark.requirement("taskspaces.hostile-paths")
async def test_link_folder_file_and_branch_with_the_name_of_a_task_are_avoided(
    scene: Scene,
) -> None:
    (scene.root / "clone.tasks" / "fix-login-2").mkdir(parents=True)
    (scene.root / "clone.tasks" / "fix-login").symlink_to("/nowhere")
    (scene.root / "clone.tasks" / "fix-login-3").touch()
    git("branch", "task/fix-login-4", cwd=scene.clone)

    made = await scene.make()

    assert (Path(made.worktree).name, made.branch) == ("fix-login-5", "task/fix-login-5")


@pytest.mark.requirement("taskspaces.hostile-paths")
@pytest.mark.parametrize("kind", ["missing", "file", "loop", "no repository", "empty repository"])
async def test_error_names_the_reason_when_a_path_is_no_project(kind: str, scene: Scene) -> None:
    path = scene.root / "it"
    match kind:
        case "file":
            path.write_text("", encoding="utf-8")
        case "loop":
            path.symlink_to(path)
        case "no repository":
            path.mkdir()
        case "empty repository":
            path.mkdir()
            git("init", "-q", cwd=path)
        case _:
            pass

    with pytest.raises(TaskspaceError) as refused:
        await scene.engine.create(CreateRequest(path, "x"))
    assert refused.value.hint


@dataclass(slots=True)
class CountedAgents:
    """Agents that record each start."""

    running: set[str] = field(default_factory=set[str])
    started: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    async def start(self, taskspace: Taskspace, env: Mapping[str, str]) -> None:
        self.running.add(taskspace.id)
        self.started.append((taskspace.id, env["SYMPOSIUM_PORT"]))

    async def stop(self, taskspace: str) -> None:
        self.running.discard(taskspace)

    def environment(self, taskspace: Taskspace) -> Mapping[str, str]:
        del taskspace
        return os.environ

    def is_running(self, taskspace: str) -> bool | None:
        return taskspace in self.running

    async def idle_process(self, taskspace: str) -> int | None:
        del taskspace


@pytest.mark.requirement("taskspaces.resume")
async def test_agent_is_restarted_once_after_a_reboot(place: Path) -> None:
    agents = CountedAgents()
    scene = open_scene(place, EngineOptions(agents=agents))
    made = await scene.make()
    agents.running.clear()

    first = await scene.engine.resume(made.id)
    second = await scene.engine.resume(made.id)

    scene.engine.close()
    assert made.ports is not None
    assert (first, second) == (True, False)
    assert agents.started == [(made.id, str(made.ports.first))] * 2


@pytest.mark.requirement("taskspaces.ports")
async def test_clone_can_set_the_number_of_ports(scene: Scene) -> None:
    (scene.clone / ".symposium").mkdir()
    (scene.clone / ".symposium/workspace.toml").write_text("ports = 2", encoding="utf-8")

    made = await scene.make()

    assert made.ports is not None
    assert made.ports.count == 2


@pytest.mark.requirement("taskspaces.empty-submodules")
async def test_log_starts_with_a_warning_about_empty_submodules(scene: Scene) -> None:
    git("submodule", "--quiet", "add", str(scene.clone), "libs", cwd=scene.upstream)
    git("commit", "-qm", "a submodule", cwd=scene.upstream)

    made = await scene.make()
    (entry,) = await scene.engine.logs.entries(made.id)

    assert (entry.category, entry.message[:32]) == ("warn", "its submodules are empty: libs; ")
    assert "`git submodule update --init --recursive`" in entry.message
    assert not list((Path(made.worktree) / "libs").iterdir())


class UnknownAgents(CountedAgents):
    """Agents in an unknown state."""

    def is_running(self, taskspace: str) -> bool | None:
        del taskspace


@pytest.mark.requirement("taskspaces.resume")
async def test_agent_that_may_be_running_is_not_started(place: Path) -> None:
    agents = UnknownAgents()
    scene = open_scene(place, EngineOptions(agents=agents))
    made = await scene.make()
    agents.started.clear()

    was_needed = await scene.engine.resume(made.id)

    scene.engine.close()
    assert (was_needed, agents.started) == (False, [])
