"""Seed projects of every version, embedded projects, orphans, and lookup by directory."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.task_harness import Scene, git, there

from symposium.tasks.creation import USUAL_PORTS, CreateRequest, lock_reason
from symposium.tasks.deletion.trash import DeletionConsent
from symposium.tasks.engine_context import file_of
from symposium.tasks.land import Landed, LandOptions
from symposium.tasks.model import (
    Layout,
    Limits,
    RefusedNameError,
    Taskspace,
    TaskspaceError,
    TaskState,
    UnknownTaskspaceError,
)
from symposium.tasks.project_files import locate, read_project
from symposium.tasks.projects import make_project, open_project
from symposium.tasks.tables import forget
from symposium.tasks.task_discovery import Orphan
from symposium.tasks.task_files import repo_name_of, write_task_file

ID = "11111111-2222-4333-8444-555555555555"
AT = "2026-01-01T00:00:00Z"

VERSIONS: dict[str, dict[str, Any]] = {
    "0": {"id": ID, "name": "n", "gitURL": "u", "directoryPath": "/old", "createdAt": AT},
    "1": {
        "version": 1,
        "id": ID,
        "name": "n",
        "gitURL": "u",
        "directoryPath": "/old",
        "agent": "claude",
        "defaultBranch": "dev",
        "createdAt": AT,
    },
    "2": {
        "version": 2,
        "id": ID,
        "name": "n",
        "gitURL": "u",
        "directoryPath": "/old",
        "remoteName": "up",
        "taskspaces": [{"id": "x"}],
        "createdAt": AT,
        "stackedWindowsEnabled": True,
    },
}


@pytest.mark.requirement("taskspaces.project-versions")
@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_is_read_and_unknown_keys_are_kept(version: str, tmp_path: Path) -> None:
    written = {**VERSIONS[version], "vscodeWindowID": 7, "future": {"a": [1]}}
    (tmp_path / "project.json").write_text(json.dumps(written), encoding="utf-8")

    file = read_project(tmp_path)

    assert file.document["version"] == 2
    assert file.document["vscodeWindowID"] == 7
    assert file.document["future"] == {"a": [1]}
    assert file.document["directoryPath"] == str(tmp_path)
    assert file.remote == ("up" if version == "2" else "origin")
    assert (file.agent, file.default_branch) == (
        ("claude", "dev") if version == "1" else (None, None)
    )
    assert file.was_migrated


@pytest.mark.requirement("taskspaces.project-versions")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "cannot read {}: "),
        ("\ud800", "cannot read {}: "),
        ('{"a":' * 100_000, "cannot read {}: "),
        ("[]", "{} is not a project file (it must be an object)"),
        ("null", "{} is not a project file (it must be an object)"),
        ("{}", "{}: `id` is missing or not a string (fix it)"),
        ('{"id": 1}', "{}: `id` is missing or not a string (fix it)"),
        ('{"id": "x", "name": "y"}', "{}: `gitURL` is missing or not a string (fix it)"),
        ('{"version": 3, "id": "x"}', "{} has version 3; limit: 2 (update Symposium)"),
        ('{"version": "2", "id": "x"}', "{} has version 2; limit: 2 (update Symposium)"),
        ('{"id": "x", "name": "y", "gitURL": "z"}', "'x' is not a task id (an id is a UUID)"),
    ],
)
def test_invalid_project_file_raises_an_error(text: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "project.json"
    path.write_text(text, encoding="utf-8", errors="surrogatepass")

    with pytest.raises(TaskspaceError) as refused:
        read_project(tmp_path)
    assert f"{refused.value.message} ({refused.value.hint})".startswith(reason.format(path))


@pytest.mark.requirement("taskspaces.project-versions")
def test_missing_or_huge_project_file_raises_an_error(tmp_path: Path) -> None:
    with pytest.raises(TaskspaceError) as missing:
        read_project(tmp_path)
    path = tmp_path / "project.json"
    with path.open("wb") as file:
        file.truncate((64 << 20) + 1)
    with pytest.raises(TaskspaceError) as huge:
        read_project(tmp_path)

    assert (missing.value.message, missing.value.hint) == (
        f"{tmp_path} has no project.json",
        "name a directory with a project.json, or a git clone",
    )
    assert huge.value.message == f"{path} is larger than {64 << 20} bytes"


@pytest.mark.requirement("taskspaces.seed-project")
async def test_seed_project_can_be_created_used_and_reopened(scene: Scene) -> None:
    directory = scene.root / "Name.symposium"
    await make_project(directory, "Name", str(scene.upstream), AT)

    made = await scene.engine.create(CreateRequest(directory, "A task", task="t"))
    worktree = Path(made.worktree)
    newest = scene.commit(scene.upstream, "new", "x")
    other = await scene.engine.create(CreateRequest(directory, "Another"))

    assert worktree == directory / f"task-{made.id}" / "upstream"
    assert made.branch == f"taskspace-{made.id}"
    assert there(directory / f"task-{made.id}" / "taskspace.json")
    assert git("rev-parse", "HEAD", cwd=Path(other.worktree)) == newest
    assert git("rev-parse", "--is-bare-repository", cwd=directory / ".git") == "true"
    found = locate(worktree / "src")
    assert found is not None
    assert (found.project, found.taskspace) == (directory, made.id)
    await scene.engine.trash.delete(made.id, DeletionConsent.ARCHIVE)
    assert not there(directory / f"task-{made.id}")
    back, _ = await scene.engine.trash.undo(made.id)
    assert git("status", "--porcelain", cwd=worktree) == ""
    assert back.standing is TaskState.READY


@pytest.mark.requirement("taskspaces.seed-project", "taskspaces.seed-base")
async def test_tasks_of_the_reference_are_found_on_disk(scene: Scene) -> None:
    directory = scene.root / "Name.symposium"
    await make_project(directory, "Name", str(scene.upstream), AT)
    home = directory / f"task-{ID.upper()}"
    git(
        "worktree",
        "add",
        "-q",
        "-b",
        f"taskspace-{ID.upper()}",
        str(home / "upstream"),
        "main",
        cwd=directory / ".git",
    )
    seed = {
        "id": ID.upper(),
        "name": "Theirs",
        "description": "d",
        "createdAt": AT,
        "state": {"hatchling": {"initialPrompt": "do"}},
        "vscodeWindowID": 7,
        "logs": [{"id": "1", "message": "m", "category": "milestone", "timestamp": AT}],
    }
    (home / "taskspace.json").write_text(json.dumps(seed), encoding="utf-8")
    scene.commit(home / "upstream", "theirs", "committed")
    removed = ID.replace("1", "9")
    (directory / f"task-{removed}").mkdir()
    (directory / f"task-{removed}" / "taskspace.json").write_text(
        json.dumps({**seed, "id": removed, "createdAt": "2027-01-01T00:00:00Z"}), encoding="utf-8"
    )

    [missing, found] = await scene.engine.taskspaces(directory)
    await scene.engine.records.activate(found.id)

    assert (missing.id, missing.standing, missing.reason) == (
        *(removed, TaskState.MISSING),
        "its worktree is missing",
    )
    assert (found.id, found.name, found.initial_prompt) == (ID, "Theirs", "do")
    assert (found.standing, found.reason, found.layout) == (TaskState.READY, "", Layout.PROJECT)
    assert found.ports is not None
    assert found.ports.count == USUAL_PORTS
    assert found.worktree == str(home / "upstream")
    assert [entry.message for entry in await scene.engine.logs.entries(ID)] == ["m"]
    written = json.loads((home / "taskspace.json").read_text(encoding="utf-8"))
    assert written["vscodeWindowID"] == 7
    assert written["state"] == seed["state"]

    report = await scene.engine.trash.report(ID)
    landed = await scene.engine.land(ID, LandOptions())
    assert found.base == "refs/remotes/origin/main"
    assert found.base_commit == git("rev-parse", "HEAD", cwd=scene.upstream)
    assert report.unknowns == ()
    assert report.lines == ("1 commit that is on no remote",)
    assert isinstance(landed, Landed)


@pytest.mark.requirement("taskspaces.found-by-path")
@pytest.mark.parametrize("id_", [ID, ID.upper(), f"task-{ID}"])
async def test_task_known_only_from_its_files_is_found_by_its_project(
    id_: str, scene: Scene
) -> None:
    directory = scene.root / "Name.symposium"
    await make_project(directory, "Name", str(scene.upstream), AT)
    home = directory / f"task-{ID.upper()}"
    worktree = ("worktree", "add", "-q", "-b", "theirs", str(home / "upstream"), "main")
    git(*worktree, cwd=directory / ".git")
    seed = {"id": ID.upper(), "name": "Theirs", "description": "d", "createdAt": AT}
    (home / "taskspace.json").write_text(json.dumps(seed), encoding="utf-8")

    with pytest.raises(UnknownTaskspaceError):
        await scene.engine.records.locate(id_, "")
    found = await scene.engine.records.locate(id_, str(directory))

    assert (found.id, found.name) == (ID, "Theirs")


@pytest.mark.requirement("taskspaces.found-by-path")
@pytest.mark.parametrize("project", ["relative", "nowhere", "uncloned"])
async def test_lookup_of_a_task_clones_nothing(project: str, scene: Scene) -> None:
    directory = scene.root / "Uncloned.symposium"
    await make_project(directory, "Uncloned", str(scene.upstream), AT)
    shutil.rmtree(directory / ".git")
    paths = {
        "relative": "Uncloned.symposium",
        "nowhere": str(scene.root / "nowhere"),
        "uncloned": str(directory),
    }

    with pytest.raises(UnknownTaskspaceError):
        await scene.engine.records.locate(ID, paths[project])
    assert not there(directory / ".git")


@pytest.mark.requirement("taskspaces.seed-base")
async def test_task_of_the_reference_stored_without_a_base_gets_one(
    scene: Scene,
) -> None:
    directory = scene.root / "Name.symposium"
    await make_project(directory, "Name", str(scene.upstream), AT)
    made = await scene.engine.create(CreateRequest(directory, "Ours"))
    await scene.context.put(replace(made, base="", base_commit=""))

    [found] = await scene.engine.taskspaces(directory)

    assert (found.base, found.base_commit) == (made.base, made.base_commit)


@pytest.mark.requirement("taskspaces.seed-project")
@pytest.mark.parametrize("url", ["--upload-pack=x", "ext::sh -c touch% /tmp/x", "fd::17"])
async def test_url_that_runs_a_program_is_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(RefusedNameError):
        await make_project(tmp_path / "x.symposium", "x", url, AT)


@pytest.mark.requirement("taskspaces.seed-project")
async def test_existing_project_is_not_made_again(scene: Scene) -> None:
    directory = scene.root / "Name.symposium"
    await make_project(directory, "Name", str(scene.upstream), AT)
    before = (directory / "project.json").read_bytes()

    with pytest.raises(TaskspaceError) as refused:
        await make_project(directory, "Other", str(scene.upstream), AT)

    assert f"{directory} is a project already" in str(refused.value)
    assert (directory / "project.json").read_bytes() == before


@pytest.mark.requirement("taskspaces.embedded")
async def test_embedded_project_keeps_its_tasks_in_the_checkout(scene: Scene) -> None:
    folder = scene.clone / ".symposium"
    folder.mkdir()
    (folder / "project.json").write_text(json.dumps(VERSIONS["2"]), encoding="utf-8")

    made = await scene.engine.create(CreateRequest(scene.clone, "x"))

    assert made.worktree == str(folder / f"taskspace-{made.id}" / "clone")
    opened = await open_project(folder)
    assert opened.project.directory == scene.clone
    found = locate(Path(made.worktree))
    assert found is not None
    assert (found.project, found.taskspace) == (scene.clone, made.id)


@pytest.mark.requirement("taskspaces.location")
async def test_task_of_a_directory_is_found_by_path_alone(scene: Scene) -> None:
    made = await scene.make()
    unreadable = scene.root / "clone.tasks" / ".symposium" / f"task-{ID}" / "taskspace.json"
    unreadable.parent.mkdir()
    unreadable.write_text("{", encoding="utf-8")

    inside = locate(Path(made.worktree) / "src")
    beside = locate(scene.root / "clone.tasks")
    home = locate(file_of(made).parent)

    assert inside is not None
    assert (inside.project, inside.taskspace) == (scene.clone, made.id)
    assert beside is not None
    assert beside.taskspace is None
    assert home is not None
    assert home.project == scene.clone
    assert locate(scene.clone) is None
    assert await scene.engine.find(Path(made.worktree) / "src") == made
    assert await scene.engine.find(scene.clone) is None
    outer = replace(made, id=ID, worktree=str(scene.root), project=str(scene.root))
    await scene.context.put(outer)
    assert await scene.engine.find(Path(made.worktree) / "src") == made
    assert await scene.engine.find(scene.clone) == outer
    (scene.root / "link").symlink_to(made.worktree)
    assert await scene.engine.find(scene.root / "link") == made
    await scene.context.journal.write(lambda connection: forget(connection, ID))
    assert await scene.engine.find(scene.root / "clone.tasksother") is None


@pytest.mark.requirement("taskspaces.location")
def test_outermost_task_folder_of_a_seed_project_counts(tmp_path: Path) -> None:
    other = ID.replace("1", "9")
    deep = tmp_path / "N.symposium" / f"task-{ID.upper()}" / "repo" / f"task-{other}" / "x"
    deep.mkdir(parents=True)

    found = locate(deep)

    assert found is not None
    assert (found.project, found.taskspace) == (tmp_path / "N.symposium", ID)
    assert locate(tmp_path / f"task-{ID}") is None


@pytest.mark.requirement("taskspaces.adopt")
async def test_worktree_of_the_user_is_an_orphan_until_it_is_adopted(scene: Scene) -> None:
    # Inside of the clone's own checkout: the innermost worktree counts.
    path = scene.clone / "mine"
    git("worktree", "add", "-q", "-b", "mine", str(path), cwd=scene.clone)
    git("worktree", "add", "-q", "--detach", "../gone", cwd=scene.clone)
    shutil.rmtree(scene.root / "gone")
    (path / "work").write_text("x", encoding="utf-8")
    orphans = await scene.engine.orphans(scene.clone)

    made = await scene.engine.adopt(path / "src", "My work")

    assert orphans == [Orphan(path, "refs/heads/mine")]
    assert made == Taskspace(
        id=made.id,
        project=str(scene.clone),
        layout=Layout.BESIDE,
        name="My work",
        worktree=str(path),
        branch="mine",
        created_at=made.created_at,
        base="refs/remotes/origin/main",
        base_commit=git("rev-parse", "HEAD", cwd=scene.clone),
        activated_at=made.created_at,
        standing=TaskState.READY,
        ports=made.ports,
    )
    assert made.ports is not None
    assert made.ports.count == USUAL_PORTS
    assert (path / "work").exists()
    assert (await scene.engine.history.snapshots(made.id))[0].reason == "adopted"
    assert json.loads(file_of(made).read_text(encoding="utf-8"))["name"] == "My work"
    listed = git("worktree", "list", "--porcelain", cwd=scene.clone)
    assert f"locked {lock_reason(made.id)}" in listed
    assert await scene.engine.orphans(scene.clone) == []
    assert await scene.engine.taskspaces(scene.clone) == [made]
    refused: list[str] = []
    for place in (path, scene.clone):
        with pytest.raises(RefusedNameError) as error:
            await scene.engine.adopt(place)
        refused.append(f"{error.value.message}; {error.value.hint}")
    assert refused == [
        f"{path} is a task already; see symposium task list",
        f"{scene.clone} is not a separate worktree; see git worktree list",
    ]


@pytest.mark.requirement("taskspaces.adopt")
async def test_detached_worktree_is_adopted_also_when_it_cannot_be_saved(scene: Scene) -> None:
    git("worktree", "add", "-q", "--detach", "../other", cwd=scene.clone)
    (scene.root / "state").mkdir(exist_ok=True)
    (scene.root / "state" / "snapshots").touch()

    made = await scene.engine.adopt(scene.root / "other")

    assert (made.name, made.branch) == ("other", "")
    assert made.reason.startswith("cannot snapshot its state: ")
    assert await scene.engine.get(made.id) == made


@pytest.mark.requirement("taskspaces.adopt")
async def test_file_that_names_another_task_than_its_folder_is_ignored(scene: Scene) -> None:
    made = await scene.make()
    homes = scene.root / "clone.tasks" / ".symposium"
    text = (homes / f"task-{made.id}" / "taskspace.json").read_text(encoding="utf-8")
    (homes / f"task-{ID}").mkdir()
    (homes / f"task-{ID}" / "taskspace.json").write_text(
        text.replace("Fix login", "Stolen"), encoding="utf-8"
    )

    (found,) = await scene.engine.taskspaces(scene.clone)
    assert (found.id, found.name) == (made.id, "Fix login")


@pytest.mark.requirement("taskspaces.adopt")
async def test_file_that_names_a_worktree_elsewhere_is_ignored(scene: Scene) -> None:
    made = await scene.make()
    homes = scene.root / "clone.tasks" / ".symposium"
    text = (homes / f"task-{made.id}" / "taskspace.json").read_text(encoding="utf-8")
    (homes / f"task-{ID}").mkdir()
    (homes / f"task-{ID}" / "taskspace.json").write_text(
        text.replace(made.id, ID).replace(made.worktree, str(scene.clone)), encoding="utf-8"
    )

    assert [each.id for each in await scene.engine.taskspaces(scene.clone)] == [made.id]


@pytest.mark.requirement("taskspaces.seed-project")
@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://x/y/repo.git", "repo"),
        ("git@x:y/repo.git", "repo"),
        ("/a/b.git.git/", "b"),
        ("https://x/..", "repo"),
        ("", "repo"),
        ("https://x/a b", "repo"),
    ],
)
def test_worktree_folder_is_named_after_the_repository(url: str, name: str) -> None:
    assert repo_name_of(url) == name


@pytest.mark.requirement("taskspaces.embedded")
async def test_root_task_is_the_checkout_and_is_never_removed(
    scene: Scene,
) -> None:
    folder = scene.clone / ".symposium"
    folder.mkdir()
    (folder / "project.json").write_text(json.dumps(VERSIONS["2"]), encoding="utf-8")
    root: dict[str, Any] = {
        "id": ID,
        "name": "Root",
        "description": "",
        "state": {"resume": {}},
        "logs": [],
    }
    (folder / "root-taskspace.json").write_text(json.dumps(root), encoding="utf-8")

    [found] = await scene.engine.taskspaces(scene.clone)
    await scene.engine.records.log(found.id, "said", "info")
    (scene.clone / "work").write_text("x", encoding="utf-8")
    await scene.engine.history.snapshot(found.id, "tool call")
    (scene.clone / "work").unlink()
    await scene.engine.history.undo(found.id)
    with pytest.raises(TaskspaceError, match="the checkout itself"):
        await scene.engine.trash.delete(found.id, DeletionConsent.ARCHIVE)

    assert found.worktree == str(scene.clone)
    assert (scene.clone / "work").exists()
    assert git("branch", "--show-current", cwd=scene.clone) == "main"
    written = json.loads((folder / "root-taskspace.json").read_text(encoding="utf-8"))
    assert written["logs"][0]["message"] == "said"


@pytest.mark.requirement("taskspaces.files-start-nothing")
async def test_task_file_of_a_repository_names_no_agent_and_no_budget(scene: Scene) -> None:
    folder = scene.clone / ".symposium"
    folder.mkdir()
    (folder / "project.json").write_text(json.dumps(VERSIONS["2"]), encoding="utf-8")
    hostile = Taskspace(
        id=ID,
        project=str(scene.clone),
        layout=Layout.EMBEDDED,
        name="Root",
        description="",
        worktree=str(scene.clone),
        branch="",
        created_at="2026-01-01T00:00:00+00:00",
        activated_at="2026-01-01T00:00:00+00:00",
        standing=TaskState.READY,
        agent="terminal:./agent.sh",
        limits=Limits(children=1000, costs={"USD": 1000.0}),
    )
    write_task_file(folder / "root-taskspace.json", hostile, [])

    [found] = await scene.engine.taskspaces(scene.clone)

    assert (found.name, found.standing) == ("Root", TaskState.READY)
    assert (found.agent, found.limits) == (None, Limits())
    # The user may choose an agent later; the file is not read again.
    chosen = replace(found, agent="mine", name="Mine")
    await scene.context.put(chosen)
    assert await scene.engine.taskspaces(scene.clone) == [chosen]
