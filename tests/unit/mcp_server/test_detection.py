"""Detection of the current task and terminal."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.mcp_harness import TASK, call_tool, workplace_in

from symposium.mcp_server.location import (
    Process,
    Terminal,
    ancestors,
    choose,
    locate_agent,
    probed,
    read_ps_line,
    read_stat,
    terminal_of,
)


@pytest.mark.requirement("mcp-server.detection")
def test_task_is_detected_from_the_directory(tmp_path: Path) -> None:
    place = tmp_path / "App.symposium" / f"task-{TASK.upper()}" / "app" / "src"
    place.mkdir(parents=True)
    found = locate_agent(place, {})

    assert (found.project, found.taskspace) == (str(tmp_path / "App.symposium"), TASK)
    assert not locate_agent(tmp_path, {}).is_in_taskspace


@pytest.mark.requirement("mcp-server.detection")
def test_environment_takes_precedence_over_the_directory(tmp_path: Path) -> None:
    place = tmp_path / "App.symposium" / "task-11111111-1111-1111-1111-111111111111"
    place.mkdir(parents=True)
    said = locate_agent(place, {"SYMPOSIUM_TASKSPACE": TASK.upper(), "SYMPOSIUM_PROJECT": "/p"})
    odd = locate_agent(place, {"SYMPOSIUM_TASKSPACE": "../x"})

    assert (said.project, said.taskspace) == ("/p", TASK)
    assert odd.taskspace == "11111111-1111-1111-1111-111111111111"


@pytest.mark.requirement("mcp-server.detection", "mcp-server.errors")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("log_progress", {"message": "m", "category": "info"}),
        ("signal_user", {"message": "m"}),
        ("update_taskspace", {"name": "n", "description": "d"}),
        ("spawn_taskspace", {"name": "n", "task_description": "d", "initial_prompt": "p"}),
        ("delete_taskspace", {}),
    ],
)
async def test_tool_reports_that_it_is_outside_a_task(
    tool: str, arguments: dict[str, str], tmp_path: Path
) -> None:
    answer = await call_tool(workplace_in(tmp_path, taskspace=""), tool, arguments)

    assert answer.is_error
    assert "is not in a taskspace" in answer.text
    assert "symposium task new" in answer.text


def process(pid: int, name: str, *arguments: str) -> Process:
    return Process(pid, pid - 1, name, [name, *arguments])


@pytest.mark.requirement("mcp-server.terminal")
@pytest.mark.parametrize(
    ("chain", "expected"),
    [
        ([], Terminal(None, None)),
        ([process(9, "node"), process(8, "zsh"), process(7, "tmux")], Terminal(8, None)),
        (
            [process(9, "bash", "-c", "agent"), process(8, "-zsh"), process(7, "login")],
            Terminal(8, None),
        ),
        (
            [process(9, "fish"), process(8, "zsh"), process(7, "code")],
            Terminal(8, 7),
        ),
        ([process(9, "bash", "run.sh"), process(7, "cursor")], Terminal(9, 7)),
        ([process(9, "zsh", "--login"), process(8, "nvim")], Terminal(9, 8)),
        (
            [
                process(9, "zsh"),
                process(8, "Code Helper"),
                process(7, "/Applications/Visual Studio Code.app/Contents/MacOS/Electron"),
            ],
            Terminal(9, 7),
        ),
        ([process(9, "zsh (qterm)", "-c"), process(8, "bash"), process(7, "x")], Terminal(9, None)),
        ([process(9, "encode"), process(8, "python")], Terminal(None, None)),
    ],
)
def test_shell_of_the_terminal_is_chosen(chain: list[Process], expected: Terminal) -> None:
    assert choose(chain) == expected


@pytest.mark.requirement("mcp-server.terminal")
def test_process_tables_of_linux_and_macos_are_parsed() -> None:
    stat = "42 (odd) (name) S 7 42 42 0"
    assert read_stat(42, stat, b"prog\0-x\0") == Process(42, 7, "odd) (name", ["prog", "-x"])
    line = "  42   7 /bin/zsh         /bin/zsh -l"
    assert read_ps_line(line) == Process(42, 7, "zsh", ["/bin/zsh", "-l"])
    assert read_ps_line("  PID  PPID COMM             ARGS") is None
    assert read_ps_line("   42     7") is None
    assert read_ps_line("   42     x zsh") is None


@pytest.mark.requirement("mcp-server.terminal")
@given(st.text(max_size=40), st.binary(max_size=20))
def test_malformed_process_lines_raise_nothing(text: str, line: bytes) -> None:
    read_stat(1, text, line)
    read_ps_line(text)


@pytest.mark.requirement("mcp-server.terminal")
def test_own_ancestors_are_found_and_the_variable_takes_precedence() -> None:
    found = ancestors(os.getpid())

    assert os.getppid() in {0, 1, *(each.pid for each in found)}
    assert terminal_of(os.getpid(), {"SYMPOSIUM_SHELL_PID": "4711"}).shell == 4711
    for odd in ("x", "", "-1", "1" * 10):
        assert terminal_of(os.getpid(), {"SYMPOSIUM_SHELL_PID": odd}) == choose(found)
    assert ancestors(2**22 + 1) == []


@pytest.mark.requirement("mcp-server.terminal")
@pytest.mark.skipif(not Path("/proc/self/comm").exists(), reason="only Linux has /proc")
def test_process_whose_name_is_no_text_is_passed_over() -> None:
    comm = Path("/proc/self/comm")
    name = comm.read_bytes()
    comm.write_bytes(b"\xff)(")
    try:
        assert os.getppid() in {0, 1, *(each.pid for each in ancestors(os.getpid()))}
    finally:
        comm.write_bytes(name.rstrip(b"\n"))


@pytest.mark.requirement("mcp-server.terminal")
@pytest.mark.parametrize(
    "name",
    [
        "bash",
        "csh",
        "dash",
        "elvish",
        "fish",
        "ksh",
        "nu",
        "pwsh.exe",
        "sh",
        "tcsh",
        "xonsh",
        "ZSH",
    ],
)
@pytest.mark.parametrize("start", ["", "-"])
def test_usual_shells_are_known(name: str, start: str) -> None:
    assert choose([process(9, "node"), process(8, start + name)]) == Terminal(8, None)


@pytest.mark.requirement("mcp-server.detection", "mcp-server.terminal")
@pytest.mark.parametrize("is_task", [True, False])
def test_probe_shows_place_terminal_and_guidance(tmp_path: Path, *, is_task: bool) -> None:
    own = tmp_path / "app" / ".symposium" / "guidance" / "own.md"
    own.parent.mkdir(parents=True)
    own.write_text("# Own\n", encoding="utf-8")
    (tmp_path / "app" / ".git").mkdir()
    user = tmp_path / "home" / "guidance" / "mine.md"
    user.parent.mkdir(parents=True)
    user.write_text("# Mine\n", encoding="utf-8")
    task = {"SYMPOSIUM_TASKSPACE": TASK, "SYMPOSIUM_PROJECT": "/p"} if is_task else {}
    environment = {"HOME": str(tmp_path), "SYMPOSIUM_HOME": str(tmp_path / "home")}
    shown = probed(tmp_path / "app", {**environment, **task, "SYMPOSIUM_SHELL_PID": "4711"})
    guidance = shown.pop("guidance")

    assert shown == {
        "directory": str(tmp_path / "app"),
        "project": "/p" if is_task else None,
        "taskspace": TASK if is_task else None,
        "shell_pid": 4711,
        "editor_pid": terminal_of(os.getpid(), {}).editor,
        "untrusted": [".symposium/guidance/own.md"],
        "troubles": [],
    }
    assert (guidance["main.md"], guidance["mine.md"]) == ("built-in", "user")
