"""Commands and options shown in the documentation exist."""

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import click
import pytest

from symposium.__main__ import main

ROOT: Final = Path(__file__).parents[3]
CONSOLE: Final = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
ENDS: Final = {"|", ">", ">>", "2>", "&&", ";"}
"""Shell syntax after a command."""


def typed(page: Path) -> Iterator[list[str]]:
    """Arguments of each call of symposium on a page."""
    for console in CONSOLE.findall(page.read_text(encoding="utf-8")):
        for line in re.findall(r"^\$ (.*)$", console.replace("\\\n", " "), re.MULTILINE):
            words = shlex.split(line, comments=True)
            ours = next((at for at, word in enumerate(words) if "=" not in word), 0)
            end = next((at for at, word in enumerate(words) if word in ENDS), len(words))
            if words and words[ours].rpartition("/")[2] == "symposium":
                yield words[ours + 1 : end]


SHOWN: Final = [
    pytest.param(words, id=f"{page.name}: {shlex.join(words)}")
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    for words in typed(page)
]


def parse(words: Sequence[str]) -> None:
    """Parse the words like the program, without running anything.

    Raises:
        ClickException: the words are invalid.
    """
    command, rest, context = main, list(words), click.Context(main, **main.context_settings)
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        name, found, rest = command.resolve_command(context, rest)
        assert found is not None
        command, context = found, click.Context(found, context, name)
    if rest or not isinstance(command, click.Group) or not command.invoke_without_command:
        with command.make_context(command.name, rest, parent=context.parent):
            pass  # closes opened files


@pytest.mark.requirement("house.docs-commands")
@pytest.mark.parametrize("words", SHOWN)
def test_command_of_a_page_is_valid(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for word in words:
        if re.fullmatch(r"\w+\.json", word):
            (tmp_path / word).touch()  # a file of the reader

    try:
        parse(words)
    except click.exceptions.Exit as end:
        assert end.exit_code == 0  # noqa: PT017 - `--version` exits while parsing


@pytest.mark.requirement("house.docs-commands")
@pytest.mark.parametrize("words", [["no-such"], ["task", "no-such"], ["prompt", "--no-such"]])
def test_unknown_command_is_detected(words: list[str]) -> None:
    with pytest.raises(click.UsageError):
        parse(words)


@pytest.mark.requirement("house.readme-use")
def test_readme_explains_use_from_an_editor_and_for_a_task() -> None:
    calls = [shlex.join(words) for words in typed(ROOT / "README.md")]

    assert "setup zed --write" in calls
    assert "agents list" in calls
    assert [call for call in calls if re.match(r"task new '.*' .*--agent ", call)]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "Editors start `symposium run`" in readme
    steps = (ROOT / "docs" / "tutorial" / "first-steps.md").read_text(encoding="utf-8")
    assert "\n## Update\n" in steps
    assert "\n## Uninstall\n" in steps
