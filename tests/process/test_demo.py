"""`make demo`: the script behind it."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

import pytest

Spec: TypeAlias = Callable[..., str]

ROOT: Final = Path(__file__).parents[2]


def demo(environment: dict[str, str], agent: str = "") -> subprocess.CompletedProcess[str]:
    """Run it as the Makefile does."""
    return subprocess.run(
        [sys.executable, "examples/demo.py"],
        cwd=ROOT,
        env={**environment, "AGENT": agent},
        capture_output=True,
        text=True,
        timeout=45,
        check=False,
    )


@pytest.mark.requirement("cli.demo-runs")
def test_three_mods_stand_between_the_client_and_eliza_and_each_does_its_part(
    environment: dict[str, str],
) -> None:
    done = demo(environment)

    assert done.returncode == 0, done.stderr
    assert [line for line in done.stdout.splitlines() if line] == [
        "  client → arrow → shout.py → echo → eliza",
        "     you  Hello",
        "   agent  >HOW DO YOU DO. PLEASE STATE YOUR PROBLEM.",
        "          ✔ shout.py, a program of its own, raised her voice; arrow put > before it",
        '     you  use tool echo::echo with {"message": "Hello through the bridge"}',
        "    tool  echo::echo: in_progress",
        '   agent  >OK: "ECHO: HELLO THROUGH THE BRIDGE"',
        "          ✔ the mod echo answered her tool call, which the bridge carried to it over ACP",
        "  The same with another agent: make demo AGENT='npx some-agent --acp'",
        "  Your turn:",
        "    . .venv/bin/activate",
        "    symposium setup zed --write",
        "    symposium agents list",
        "    symposium task new 'fix the login test' --agent ID",
    ]


@pytest.mark.requirement("cli.demo-runs", "house.readme-first-screen")
def test_the_readme_shows_what_the_demo_prints(environment: dict[str, str]) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")

    printed = demo(environment).stdout
    following = printed.partition("Your turn:\n\n")[2].splitlines()

    assert printed.strip("\n") in readme
    assert [line for line in following if f"$ {line.strip()}" not in readme] == []
    assert len(following) == 4


@pytest.mark.timeout(240)
@pytest.mark.requirement("tasks.demo", "tasks.idle", "house.readme-use")
def test_two_tasks_are_asked_lost_brought_back_and_landed_as_the_readme_shows(
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

    # The agents of it are examples/worker.py.
    assert done.returncode == 0, done.stderr
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert done.stdout.strip("\n") in readme


@pytest.mark.requirement("cli.demo-other-agent")
def test_another_agent_stands_at_the_end_of_the_same_chain(
    environment: dict[str, str], scripted: Spec
) -> None:
    done = demo(environment, scripted("any=text"))

    assert done.returncode == 0, done.stderr
    assert "  client → arrow → shout.py → echo → python" in done.stdout
    assert "   agent  >ANSWERED.\n          ✔ its answer went through the same mods" in done.stdout


@pytest.mark.requirement("cli.demo-other-agent")
@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        ("prompt=stop:refusal", "the turn ended with refusal"),
        ("prompt=stop:end_turn", "the mods made ''"),
        ("new=exit:3", "exited with code 3 at session/new"),
    ],
)
def test_the_demo_fails_where_not_everything_is_as_it_should_be(
    environment: dict[str, str], scripted: Spec, behaviour: str, reason: str
) -> None:
    done = demo(environment, scripted(behaviour))

    assert done.returncode == 1
    assert reason in done.stderr
    assert "Traceback" not in done.stderr
