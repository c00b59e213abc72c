"""The script of `make demo`."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

import pytest

Spec: TypeAlias = Callable[..., str]

ROOT: Final = Path(__file__).parents[2]


def demo(
    environment: dict[str, str], agent: str = "", root: Path = ROOT
) -> subprocess.CompletedProcess[str]:
    """Run it as the Makefile does."""
    return subprocess.run(
        [sys.executable, "examples/demo.py"],
        cwd=root,
        env={**environment, "AGENT": agent},
        capture_output=True,
        text=True,
        timeout=45,
        check=False,
    )


@pytest.mark.requirement("cli.demo-runs")
def test_demo_shows_a_tool_an_edited_message_and_a_rule(environment: dict[str, str]) -> None:
    done = demo(environment)

    assert done.returncode == 0, done.stderr
    assert [line for line in done.stdout.splitlines() if line] == [
        "  one agent, with your tools and your rules",
        "  editor → hide_keys.py → words.py → policy → assistant.py",
        "     you  How many words does README.md have?",
        "   agent  README.md has 6 words.",
        "          ✔ words.py, a mod of a few lines, gave the agent the tool that counts them",
        "     you  Which key does the deploy script use?",
        "   agent  The deploy script uses the key [hidden key].",
        "          ✔ hide_keys.py, another mod, hid the key before you or a log could see it",
        "     you  Push the branch.",
        "    tool  git push --force origin main: pending",
        "    tool  git push --force origin main: failed",
        "   agent  I was not allowed to push the branch.",
        "          ✔ your policy forbids git push --force for every agent, without asking you",
        "  The same with another agent: make demo AGENT='npx some-agent --acp'",
        "  Your turn:",
        "    . .venv/bin/activate",
        "    symposium setup zed --write",
        "    symposium agents list",
        "    symposium task new 'fix the login test' --agent ID",
    ]


@pytest.mark.requirement("cli.demo-runs")
@pytest.mark.parametrize(
    ("example", "old", "new", "reason"),
    [
        ("words.py", "len(text.split())", "0", "the tool of words.py gave"),
        ("hide_keys.py", "[hidden key]", "sk-shown", "hide_keys.py did not change"),
        ("demo.py", '"forbid"', '"allow"', "after a forbidden command the agent wrote"),
    ],
)
def test_demo_fails_when_a_mod_or_the_policy_does_not_work(
    environment: dict[str, str], tmp_path: Path, example: str, old: str, new: str, reason: str
) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    source = (tmp_path / "examples" / example).read_text(encoding="utf-8")
    assert old in source
    (tmp_path / "examples" / example).write_text(source.replace(old, new), encoding="utf-8")

    done = demo(environment, root=tmp_path)

    assert done.returncode == 1
    assert reason in done.stderr


@pytest.mark.requirement("cli.demo-runs", "house.readme-first-screen")
def test_readme_shows_the_output_of_the_demo(environment: dict[str, str]) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")

    printed = demo(environment).stdout
    following = printed.partition("Your turn:\n\n")[2].splitlines()

    assert printed.strip("\n") in readme
    assert [line for line in following if f"$ {line.strip()}" not in readme] == []
    assert len(following) == 4


@pytest.mark.timeout(240)
@pytest.mark.requirement("tasks.demo", "tasks.idle", "house.readme-use")
def test_demo_of_tasks_restores_one_and_lands_one_as_the_readme_shows(
    environment: dict[str, str],
) -> None:
    done = subprocess.run(
        [sys.executable, "examples/tasks.py"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )

    # Its agents are examples/worker.py.
    assert done.returncode == 0, done.stderr
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert done.stdout.strip("\n") in readme


@pytest.mark.requirement("cli.demo-other-agent")
def test_another_agent_answers_through_the_same_chain(
    environment: dict[str, str], scripted: Spec
) -> None:
    done = demo(environment, scripted("any=text"))

    assert done.returncode == 0, done.stderr
    assert "  editor → hide_keys.py → words.py → policy → python" in done.stdout
    assert "   agent  Answered.\n          ✔ your agent answered through the same" in done.stdout


@pytest.mark.requirement("cli.demo-other-agent")
@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        ("prompt=stop:refusal", "the turn ended with refusal"),
        ("prompt=stop:end_turn", "the agent wrote nothing"),
        ("new=exit:3", "exited with code 3 at session/new"),
    ],
)
def test_demo_fails_when_a_check_fails(
    environment: dict[str, str], scripted: Spec, behaviour: str, reason: str
) -> None:
    done = demo(environment, scripted(behaviour))

    assert done.returncode == 1
    assert reason in done.stderr
    assert "Traceback" not in done.stderr
