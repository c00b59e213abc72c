"""Headings and themes of the built-in guidance."""

from pathlib import Path

import pytest

from symposium.documents.guidance import library_for

HEADINGS = {
    "main.md": [
        "Before anything is typed into a file",
        "Looking, and not guessing",
        "Hungry and spacious",
        "The part and the whole",
        "Saying the uncomfortable thing",
        "A meta moment",
        "Make it so?",
        "Nothing is remembered",
        "The end of a session",
    ],
    "walkthrough-format.md": [
        "An example, whole",
        "The blocks",
        "Locations",
        "A good walkthrough",
        "Not like this",
        "When something does not resolve",
        "Fast ones",
        "In short",
    ],
    "coding-guidelines.md": [
        "Before a change",
        "While you work",
        "Finished means committed",
        "Documents move with the code",
        "Progress is kept in the open",
        "Done",
    ],
    "mcp-tool-usage-suggestions.md": [
        "Ask the code before you assume",
        "Explain with a walkthrough",
        "Keep the user informed",
        "What goes wrong",
    ],
}
THEMES = {
    "main.md": "is not agreeing to it, every concern you have, meta moment, beginner's mind, "
    "has room, be concise, Make it so?, from the whole, begins empty, Close with",
    "walkthrough-format.md": "<symposium-ref, ```comment, ```gitdiff, ```action, ```mermaid, "
    "location:, exclude-unstaged, Say why, search, findDefinitions, findReferences",
    "coding-guidelines.md": "run the tests, without waiting to be asked, Co-Authored-By, "
    "documentation, log_progress, docs/",
    "mcp-tool-usage-suggestions.md": "signal_user, ide_operation, present_walkthrough, "
    "expand_reference, get_selection, silent finish, guess",
}


@pytest.mark.requirement("guidance.built-in")
@pytest.mark.parametrize("id_", HEADINGS)
def test_a_text_has_its_headings(id_: str, tmp_path: Path) -> None:
    text = library_for(tmp_path, {"HOME": str(tmp_path)}).shelf().texts[id_]
    found = [line[3:] for line in text.body.splitlines() if line.startswith("## ")]

    assert [heading for heading in HEADINGS[id_] if heading not in found] == []


@pytest.mark.requirement("guidance.themes")
@pytest.mark.parametrize("id_", THEMES)
def test_text_mentions_its_themes(id_: str, tmp_path: Path) -> None:
    text = library_for(tmp_path, {"HOME": str(tmp_path)}).shelf().texts[id_]
    words = " ".join(text.body.split())

    assert [theme for theme in THEMES[id_].split(", ") if theme not in words] == []
