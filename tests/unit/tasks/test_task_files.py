"""The file of a task: its text, and files with other content than expected."""

import json
from pathlib import Path
from typing import Any

import pytest

from symposium.tasks.model import Category, Layout, LogEntry, Taskspace, TaskState
from symposium.tasks.task_files import Known, Project, read_task_file, task_file_text

ID = "11111111-2222-4333-8444-555555555555"
AT = "2026-01-01T00:00:00Z"
SEEN = "2026-01-03T00:00:00Z"


def write(home: Path, document: Any) -> Path:
    home.mkdir(parents=True)
    file = home / "taskspace.json"
    text = document if isinstance(document, str) else json.dumps(document)
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.requirement("taskspaces.seed-project", "taskspaces.embedded")
@pytest.mark.parametrize("layout", [Layout.PROJECT, Layout.EMBEDDED])
def test_file_of_the_seed_is_read_completely(layout: Layout, tmp_path: Path) -> None:
    is_embedded = layout is Layout.EMBEDDED
    project = tmp_path / "a" / ("clone" if is_embedded else "b.symposium")
    home = (project / ".symposium" if is_embedded else project) / f"task-{ID.upper()}"
    line = {"id": "l", "message": "m", "category": "warn", "timestamp": AT, "evidence": "e"}
    seed = {
        "id": ID.upper(),
        "name": "Theirs",
        "description": "d",
        "state": {"hatchling": {"initialPrompt": "Do it."}},
        "logs": [{**line, "acknowledgedAt": SEEN}, {"id": "k"}],
        "createdAt": AT,
        "collaborator": "socrates",
        "future": 1,
    }

    known = read_task_file(write(home, seed), home / "repo")

    assert known == Known(
        Taskspace(
            ID,
            str(project),
            layout,
            "Theirs",
            str(home / "repo"),
            f"taskspace-{ID.upper()}",
            AT,
            description="d",
            activated_at=AT,
            standing=TaskState.READY,
            initial_prompt="Do it.",
            prompt_archive="Do it.",
            collaborator="socrates",
            unknown={"future": 1},
        ),
        (
            LogEntry(0, "l", ID, AT, Category.WARN, "m", "e", SEEN),
            LogEntry(0, "k", ID, "", Category.INFO, ""),
        ),
    )


@pytest.mark.requirement("taskspaces.file-mirrors")
def test_text_of_a_task_file_has_the_newest_log_lines_and_is_read_back(tmp_path: Path) -> None:
    made = Taskspace(ID, "/p", Layout.BESIDE, "n", "/w", "b", AT, unknown={"future": [1]})
    log = [LogEntry(0, str(each), ID, AT, Category.INFO, "m") for each in range(201)]
    log[-1] = LogEntry(0, "last", ID, AT, Category.QUESTION, "m", "proof", SEEN)

    text = task_file_text(made, log)

    document = json.loads(text)
    assert text.endswith("}\n")
    assert document.pop("symposium")["worktree"] == "/w"
    assert [each["id"] for each in document["logs"]] == [*map(str, range(1, 200)), "last"]
    assert document.pop("logs")[-2:] == [
        {"id": "199", "message": "m", "category": "info", "timestamp": AT},
        {
            "id": "last",
            "message": "m",
            "category": "question",
            "timestamp": AT,
            "acknowledgedAt": SEEN,
            "evidence": "proof",
        },
    ]
    assert document == {
        "future": [1],
        "id": ID,
        "name": "n",
        "description": "",
        "state": {"resume": {}},
        "createdAt": AT,
        "lastActivatedAt": AT,
        "collaborator": None,
    }
    assert read_task_file(write(tmp_path / "home", text)) == Known(made, tuple(log[1:]))


UNUSABLE: list[Any] = [
    "",
    "[" * 100_000,
    [],
    {"name": "without an id"},
    {"id": 5},
    {"id": "../../etc"},
    {"id": ID, "logs": 1},
    {"id": ID, "logs": ["x"]},
    {"id": ID, "logs": [{"message": "without an id"}]},
    {"id": ID, "logs": [{"id": "x", "acknowledgedAt": {}}]},
    {"id": ID, "state": "x"},
    {"id": ID, "state": {"hatchling": [1]}},
    {"id": ID, "collaborator": [1]},
    {"id": ID, "symposium": []},
    {"id": ID, "symposium": {"id": ID}},
]


@pytest.mark.requirement("taskspaces.file-unusable")
@pytest.mark.parametrize("document", UNUSABLE)
def test_task_file_with_unusable_content_is_ignored(document: Any, tmp_path: Path) -> None:
    assert read_task_file(write(tmp_path / "home", document)) is None
    assert read_task_file(write(tmp_path / "other", {"id": ID})) is not None


@pytest.mark.requirement("taskspaces.hostile-paths")
@pytest.mark.parametrize("id_", [ID, ID.replace("1", "a").capitalize()])
def test_file_or_link_with_the_name_of_a_task_folder_is_ignored(id_: str, tmp_path: Path) -> None:
    project = Project(tmp_path, tmp_path, Layout.PROJECT, "repo")
    (tmp_path / f"task-{id_}").touch()
    (tmp_path / f"taskspace-{id_}").symlink_to(tmp_path)

    assert project.existing() == []
    assert project.places(id_.lower(), "").home == tmp_path / f"task-{id_.lower()}"
    (tmp_path / f"task-{id_}").unlink()
    (tmp_path / f"task-{id_}").mkdir()
    assert project.existing() == [(id_.lower(), tmp_path / f"task-{id_}")]
    assert project.places(id_.lower(), "").home == tmp_path / f"task-{id_}"
