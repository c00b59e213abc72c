"""`symposium handoff` and `symposium timeline`: from one agent to another."""

import json
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

Run: TypeAlias = Callable[..., subprocess.CompletedProcess[str]]
Spec: TypeAlias = Callable[..., str]


def kept(symposium: Run) -> list[dict[str, str]]:
    return json.loads(symposium("timeline", "list", "--json").stdout)


@pytest.mark.requirement("timelines.handoff")
def test_session_is_handed_to_another_agent_and_both_timelines_link_to_each_other(
    symposium: Run, scripted: Spec
) -> None:
    symposium("prompt", "--proxy", "timeline", "--agent", "eliza", "Fix the login test")
    (source,) = kept(symposium)

    done = symposium("handoff", "--to", scripted(), "Finish it")
    (old,) = [each for each in kept(symposium) if each["session"] == source["session"]]
    (new,) = [each for each in kept(symposium) if each["session"] != source["session"]]

    assert (done.returncode, done.stdout) == (0, "Answered.\n")
    assert new["goal"].startswith(f"# Hand-over of the session {source['session']}")
    assert "> Fix the login test" in new["goal"]
    assert new["goal"].endswith("Finish it")
    assert old["goal"] == "Fix the login test"
    there = symposium("timeline", "show", old["session"]).stdout
    back = symposium("timeline", "show", new["session"]).stdout
    assert f"link  to: {new['session']}" in there
    assert f"link  from: {old['session']}" in back


@pytest.mark.requirement("timelines.handoff")
def test_second_handoff_keeps_the_first_goal(symposium: Run) -> None:
    symposium("prompt", "--proxy", "timeline", "--agent", "eliza", "The first goal")
    symposium("handoff", "--to", "eliza", "Then this")

    shown = symposium("handoff", "--print").stdout

    assert "## Goal\n\n> The first goal\n" in shown
    assert "is no git repository" in shown
    assert len(kept(symposium)) == 2


@pytest.mark.requirement("timelines.handoff-by-id")
def test_new_agent_is_named_by_the_id_of_the_list(
    symposium: Run, scripted: Spec, tmp_path: Path, environment: dict[str, str]
) -> None:
    symposium("prompt", "--proxy", "timeline", "--agent", "eliza", "Fix the login test")
    words = shlex.split(scripted())
    ways = {"local": {"command": words[0], "args": words[1:]}}
    entry = {"id": "taker", "name": "Taker", "version": "1.0.0", "distribution": ways}
    known = {"version": "1.0.0", "agents": [entry | {"description": "An agent."}]}
    file = tmp_path / "registry.json"
    file.write_text(json.dumps(known))
    environment["SYMPOSIUM_REGISTRY"] = str(file)

    done = symposium("handoff", "--to", "taker", "Finish it")
    wrong = symposium("handoff", "--to", "taekr", "Finish it")
    torn = symposium("handoff", "--to", "'half a quote", "Finish it")

    assert (done.returncode, done.stdout) == (0, "Answered.\n")
    assert wrong.returncode == 2
    assert "--to: " in wrong.stderr
    assert "--to: " in torn.stderr
    assert "--agent: " not in wrong.stderr + torn.stderr
    assert "did you mean taker?" in wrong.stderr


@pytest.mark.requirement("timelines.handoff")
def test_missing_session_is_an_error_with_the_way_to_get_one(symposium: Run) -> None:
    done = symposium("handoff", "--to", "eliza")
    unknown = symposium("handoff", "--to", "eliza", "--session", "nobody")

    assert (done.returncode, unknown.returncode) == (4, 4)
    assert "the mod `timeline` records sessions" in done.stderr
    assert "symposium timeline list" in unknown.stderr


@pytest.mark.requirement("timelines.handoff")
def test_preview_needs_no_agent(
    symposium: Run,
) -> None:
    symposium("prompt", "--proxy", "timeline", "--agent", "eliza", "Fix the login test")

    shown, missing = symposium("handoff", "--print"), symposium("handoff", "Continue")

    assert (shown.returncode, missing.returncode) == (0, 2)
    assert "> Fix the login test" in shown.stdout
    assert "--to" in missing.stderr
    assert len(kept(symposium)) == 1
