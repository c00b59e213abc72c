"""`symposium audit`: decisions of a chain, and verification of the log (users A-7)."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest
from tests.support.editor import Start, started_editor

Run: TypeAlias = Callable[..., subprocess.CompletedProcess[str]]
Spec: TypeAlias = Callable[..., str]


@pytest.mark.requirement("stories.a-07-command", "stories.a-07-chooser")
@pytest.mark.parametrize(
    ("words", "by", "chosen"),
    [
        (["--approve-all"], "rule:approve-all", "y"),
        (["--approve-reads"], "rule:approve-reads", "y"),
        (["--deny-all"], "rule:deny-all", "n"),
        ([], "rule:unattended-deny", "n"),
    ],
)
def test_decision_of_a_rule_is_recorded(
    symposium: Run, scripted: Spec, words: list[str], by: str, chosen: str
) -> None:
    symposium("prompt", "--agent", scripted("prompt=ask:read"), *words, "Hello")
    listed = symposium("audit", "list", "--json")
    (entry,) = json.loads(listed.stdout)
    assert (entry["by"], entry["chosen"], entry["outcome"]) == (by, chosen, "selected")
    assert [option["optionId"] for option in entry["options"]] == ["y", "n"]
    assert f"do it → {chosen} by {by}" in symposium("audit", "list").stdout


@pytest.mark.requirement("stories.a-07-command", "stories.a-07-chooser")
def test_answer_of_the_editor_is_recorded_and_a_change_of_it_is_detected(
    start: Start, symposium: Run, scripted: Spec, tmp_path: Path
) -> None:
    (tmp_path / "home").mkdir()
    config = {"agent": scripted("prompt=ask:edit")}
    (tmp_path / "home" / "config.jsonc").write_text(json.dumps(config))
    it = started_editor(start)
    turn = it.prompt(it.session(), "Hello")
    it.until(lambda: it.asked_of_us != [])
    outcome = {"outcome": {"outcome": "selected", "optionId": "y"}}
    it.write({"id": it.asked_of_us[0]["id"], "result": outcome})
    assert it.answer(turn)["result"] == {"stopReason": "end_turn"}
    assert it.end() == 0

    (entry,) = json.loads(symposium("audit", "list", "--json").stdout)
    assert (entry["by"], entry["chosen"]) == ("user", "y")
    whole = symposium("audit", "verify")
    assert (whole.returncode, whole.stdout.split()[0]) == (0, "1")

    record = tmp_path / "home" / "audit" / "audit.ndjson"
    record.write_text(record.read_text().replace('"chosen":"y"', '"chosen":"n"'))
    broken = symposium("audit", "verify", "--json")
    assert broken.returncode == 1
    (fault,) = json.loads(broken.stdout)["faults"]
    assert fault["place"] == f"{record}:1"
    assert "changed" in fault["reason"]
