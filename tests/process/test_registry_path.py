"""Programs are found even if a desktop's PATH does not contain them (users A-9)."""

import asyncio
import os
from pathlib import Path
from shutil import which

import pytest

from localio.errors import ProgramNotFoundError
from localio.processes import find_program, login_shell_path, reachable
from peerwire.transports.command import Command
from symposium.registry.entries import Distribution, Local, RegistryEntry
from symposium.registry.listing import detect

POOR = "/usr/bin:/bin"


def program(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def poor(home: Path, shell: str = "/bin/false") -> dict[str, str]:
    return {"PATH": POOR, "HOME": str(home), "SHELL": shell}


@pytest.mark.requirement("registry.path-known-places")
@pytest.mark.parametrize(
    "place", [".local/bin", ".cargo/bin", ".nvm/versions/node/v20.1.0/bin", ".volta/bin"]
)
async def test_usual_places_are_searched_after_path(place: str, tmp_path: Path) -> None:
    wanted = program(tmp_path / place / "some-agent")

    found = await find_program("some-agent", poor(tmp_path))

    assert found.program == wanted
    assert found.search_path.startswith(f"{POOR}:")


@pytest.mark.requirement("registry.path-known-places")
async def test_newest_of_several_versions_of_node_is_used(tmp_path: Path) -> None:
    for version in ("v9.9.9", "v20.1.0", "v18.20.0"):
        program(tmp_path / f".nvm/versions/node/{version}/bin/some-agent")

    found = await find_program("some-agent", poor(tmp_path))

    assert found.program.parent.parent.name == "v20.1.0"


@pytest.mark.requirement("registry.path-login-shell", "stories.a-09-dock")
@pytest.mark.parametrize("shell", ["/bin/bash", "/bin/sh"])
async def test_path_of_the_login_shell_is_read_without_its_other_output(
    shell: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    if which(shell) is None:
        pytest.skip(f"{shell} is not on this machine")
    wanted = program(tmp_path / "extra place" / "some-agent")
    noise = f'echo hello; echo ouch >&2; export SECRET=1; PATH="{tmp_path}/extra place:$PATH"\n'
    (tmp_path / ".profile").write_text(noise + "printf '\\033]0;title\\007'\nread -r answer\n")

    found = await find_program("some-agent", poor(tmp_path, shell))
    command = await reachable(Command(("some-agent",)), poor(tmp_path, shell))

    assert found.program == wanted
    assert set(command.env) == {"PATH"}
    assert "hello" not in command.env["PATH"]
    assert command.env["PATH"].startswith(f"{POOR}:")
    assert capfd.readouterr() == ("", "")


@pytest.mark.requirement("registry.path-neutral")
async def test_program_in_the_workspace_is_skipped_with_a_notice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    for name in ("some-agent", "sub/some-agent", "sub/node"):
        program(work / name)
    monkeypatch.chdir(work)
    for place in ("", ".", "sub", str(work / "sub")):
        env = {**poor(tmp_path), "PATH": f"{place}:{POOR}"}
        with pytest.raises(ProgramNotFoundError, match="those in this workspace, were ignored"):
            await find_program("some-agent", env)

    script = program(tmp_path / ".local/bin/some-agent", "#!/usr/bin/env node\n")
    node = program(tmp_path / ".local/bin/node")
    env = {**poor(tmp_path), "PATH": f"{work}/sub:{node.parent}"}
    command = await reachable(Command(("some-agent",)), env)
    assert command.argv == (str(script),)
    assert str(work) not in command.env["PATH"]


@pytest.mark.requirement("registry.path-neutral")
async def test_programs_are_queried_outside_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    says = f"#!/bin/sh\npwd >> {tmp_path}/asked\necho 1.2.3\n"
    shell = program(tmp_path / "shell", says)
    program(tmp_path / ".local/bin/some-agent", says)
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    env = poor(tmp_path, str(shell))
    ways = Distribution(local=Local(command="some-agent"))
    entry = RegistryEntry(
        id="some-agent", name="Some", version="9", description="", distribution=ways
    )
    (found,) = await detect([entry], env)

    assert found.version == "1.2.3"
    assert await login_shell_path(env) == []
    assert (tmp_path / "asked").read_text() == "/\n/\n"


@pytest.mark.requirement("registry.path-login-shell", "stories.a-09-dock")
async def test_hanging_shell_times_out_and_is_killed(tmp_path: Path) -> None:
    shell = program(tmp_path / "shell", f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 60\n")

    async with asyncio.timeout(45):
        assert await login_shell_path(poor(tmp_path, str(shell)), seconds=0.5) == []

    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


@pytest.mark.requirement("registry.path-login-shell")
async def test_background_processes_of_start_up_files_are_not_awaited(tmp_path: Path) -> None:
    shell = program(tmp_path / "shell", '#!/bin/sh\nsleep 60 &\nPATH=/found\neval "$4"\n')

    async with asyncio.timeout(45):
        assert await login_shell_path(poor(tmp_path, str(shell))) == ["/found"]


@pytest.mark.requirement("registry.path-quiet")
async def test_shell_that_exits_at_the_timeout_is_still_reaped(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    shell = program(tmp_path / "shell", '#!/bin/sh\nsleep 60 &\nPATH=/found\neval "$4"\n')

    # It exits at the timeout, before or after it: the test must see both.
    for _ in range(40):
        assert await login_shell_path(poor(tmp_path, str(shell))) == ["/found"]

    assert caplog.messages == []


@pytest.mark.requirement("registry.path-login-shell")
@pytest.mark.parametrize("text", ["exit 1", "echo /usr/bin:/bin", "yes"])
async def test_shell_without_a_path_is_ignored(text: str, tmp_path: Path) -> None:
    shell = program(tmp_path / "shell", f"#!/bin/sh\n{text}\n")

    assert await login_shell_path(poor(tmp_path, str(shell))) == []
    assert await login_shell_path(poor(tmp_path, "/no/shell")) == []


@pytest.mark.requirement("registry.path-not-found")
async def test_missing_program_is_named_with_the_searched_places(tmp_path: Path) -> None:
    (tmp_path / ".local/bin").mkdir(parents=True)

    with pytest.raises(ProgramNotFoundError) as caught:
        await find_program("some-agent", poor(tmp_path))

    assert "'some-agent'" in caught.value.message
    assert "/usr/bin" in caught.value.message
    assert str(tmp_path / ".local/bin") in caught.value.message
    assert "install some-agent" in caught.value.hint


@pytest.mark.requirement("registry.path-only-path")
async def test_program_on_path_is_started_directly(tmp_path: Path) -> None:
    given = Command(("sh", "-c", "x"), {"A": "b"}, "name", "/tmp", "rfd")

    command = await reachable(given, poor(tmp_path))

    assert command.argv[1:] == ("-c", "x")
    assert command.argv[0].endswith("/sh")
    assert (command.env, command.name, command.cwd, command.dialect) == (
        *(given.env, given.name, given.cwd, given.dialect),
    )


@pytest.mark.requirement("registry.path-only-path")
@pytest.mark.parametrize("first", ["#!/usr/bin/env other-node", "#!/usr/bin/env -S other-node --x"])
async def test_script_gets_the_path_to_its_interpreter(first: str, tmp_path: Path) -> None:
    program(tmp_path / ".nvm/versions/node/v20.1.0/bin/other-node")
    script = program(tmp_path / "installed/agent", f"{first}\n")

    command = await reachable(Command((str(script),)), poor(tmp_path))

    assert str(tmp_path / ".nvm/versions/node/v20.1.0/bin") in command.env["PATH"]


@pytest.mark.requirement("registry.path-only-path")
async def test_path_in_the_environment_of_a_command_is_used(tmp_path: Path) -> None:
    program(tmp_path / ".local/bin/some-agent")

    command = await reachable(Command(("some-agent",), {"PATH": "/mine"}), poor(tmp_path))

    assert command.env == {"PATH": "/mine"}
