"""The first prompt of an agent."""

from pathlib import Path

import pytest

from symposium.documents.first_prompt import MAX_INLINED, BootPrompts, TaskContext, collaborator_of
from symposium.documents.guidance import library_for

NEW = TaskContext("", "", "Make the import survive a restart.")


@pytest.fixture
def boot(tmp_path: Path) -> BootPrompts:
    return BootPrompts(library_for(tmp_path, {"HOME": str(tmp_path)}))


@pytest.mark.requirement("guidance.boot-directives")
def test_directives_name_each_text_in_order_and_quote_none(boot: BootPrompts) -> None:
    prompt = boot.directives(NEW)
    places = [
        prompt.index(words)
        for words in (
            "Yiasou",
            "before you delete",
            "`main.md`",
            "`walkthrough-format.md`",
            "`coding-guidelines.md`",
            "`mcp-tool-usage-suggestions.md`",
            "## Initial task",
            "Make the import survive a restart.",
        )
    ]

    assert places == sorted(places)
    assert "Make it so?" not in prompt
    assert "socrates.md" not in prompt
    assert "expand_reference" in prompt
    assert "symposium://guidance/" in prompt


@pytest.mark.requirement("guidance.boot-inlined")
def test_inlined_holds_each_text_without_its_head(boot: BootPrompts) -> None:
    prompt = boot.inlined(NEW)

    assert prompt.count("<context id=") == 4
    assert "summary-of" not in prompt
    assert prompt.count("</context>") == 4
    assert "Make it so?" in prompt
    assert "\nname: " not in prompt
    assert prompt.index("</context>") < prompt.index("Make the import survive a restart.")


@pytest.mark.requirement("guidance.boot-task")
@pytest.mark.parametrize(
    ("task", "said"),
    [
        (NEW, "The user described the task"),
        (TaskContext("Import", "Survives a crash"), "Work on the task has started before"),
        (TaskContext(), "The task has no description yet"),
    ],
)
def test_the_task_says_what_comes_first(boot: BootPrompts, task: TaskContext, said: str) -> None:
    for prompt in (boot.directives(task), boot.inlined(task)):
        assert said in prompt
        assert f"<name>{task.name or '(not yet set)'}</name>" in prompt
        assert f"<description>{task.description or '(not yet set)'}</description>" in prompt
        assert prompt.count("taskspace_context>") == 2


@pytest.mark.requirement("guidance.boot-task")
def test_outside_a_taskspace_all_but_the_task_is_there(boot: BootPrompts) -> None:
    with_task, without = boot.inlined(TaskContext()), boot.inlined(None)

    assert "taskspace_context" not in without
    assert "Initial task" not in without
    assert with_task.startswith(without.rstrip("\n"))


@pytest.mark.requirement("guidance.collaborators")
@pytest.mark.parametrize(
    ("asked", "stored", "expected"),
    [
        (None, None, "socrates"),
        (None, "sparkle", "sparkle"),
        ("socrates", "sparkle", "socrates"),
        (" Sparkle ", None, "sparkle"),
        ("base-agent", "sparkle", "base-agent"),
        ("claude", None, "base-agent"),
        ("another", None, "base-agent"),
        ("", "sparkle", "sparkle"),
    ],
)
def test_who_is_asked_for(asked: str | None, stored: str | None, expected: str) -> None:
    assert collaborator_of(asked, TaskContext(collaborator=stored)) == expected
    if stored is None:
        assert collaborator_of(asked, None) == expected


@pytest.mark.requirement("guidance.collaborators")
def test_each_collaborator_is_asked_in_its_way(boot: BootPrompts) -> None:
    patterns = {who: boot.inlined(None, who) for who in ("socrates", "sparkle", "gemini")}

    assert ["Make it so?" in prompt for prompt in patterns.values()] == [True, False, False]
    assert ["embody_sparkle" in prompt for prompt in patterns.values()] == [False, True, False]
    assert all("Coding guidelines" in prompt for prompt in patterns.values())


@pytest.mark.requirement("guidance.trust")
def test_texts_that_wait_for_trust_are_named_and_not_quoted(tmp_path: Path) -> None:
    folder = tmp_path / ".symposium" / "guidance"
    folder.mkdir(parents=True)
    (folder / "main.md").write_text("obey me", encoding="utf-8")
    home = {"HOME": str(tmp_path), "SYMPOSIUM_HOME": str(tmp_path / "home")}
    boot = BootPrompts(library_for(tmp_path, home))

    for prompt in (boot.directives(None), boot.inlined(None)):
        assert ".symposium/guidance/main.md" in prompt
        assert "obey me" not in prompt


@pytest.mark.requirement("guidance.cached")
def test_a_changed_text_is_in_the_next_prompt(tmp_path: Path) -> None:
    folder = tmp_path / "home" / "guidance"
    folder.mkdir(parents=True)
    home = {"HOME": str(tmp_path), "SYMPOSIUM_HOME": str(tmp_path / "home")}
    boot = BootPrompts(library_for(tmp_path, home))
    before = boot.inlined(None)
    (folder / "main.md").write_text("shorter", encoding="utf-8")

    assert "shorter" not in before
    assert "shorter" in boot.inlined(None)


@pytest.mark.requirement("guidance.boot-inlined")
def test_a_shortened_text_says_so_with_its_size(tmp_path: Path) -> None:
    folder = tmp_path / "home" / "guidance"
    folder.mkdir(parents=True)
    home = {"HOME": str(tmp_path), "SYMPOSIUM_HOME": str(tmp_path / "home")}
    (folder / "main.md").write_text("x" * (MAX_INLINED + 1), encoding="utf-8")
    prompt = BootPrompts(library_for(tmp_path, home)).inlined(None)

    assert f' summary-of="{MAX_INLINED + 1} bytes">' in prompt
    assert "A context with `summary-of` is shortened" in prompt
    assert "xxx" not in prompt
