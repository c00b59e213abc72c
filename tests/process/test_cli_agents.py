"""`symposium agents` and `symposium registry`, in text and JSON."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from tests.support.registry_file import Write, entry, writer_of
from tests.support.web import reply, serving

from peerwire.transports.command import parse_command
from symposium.catalog import agent_names
from symposium.registry.entries import platform_key

Run: TypeAlias = Callable[..., subprocess.CompletedProcess[str]]
Spec: TypeAlias = Callable[..., str]

NO_OBJECT = """read x; echo '{"jsonrpc": "2.0", "id": 1, "result": 3}'"""


@pytest.fixture
def registry(tmp_path: Path, environment: dict[str, str]) -> Write:
    """Write a registry of agents and use it."""
    file = tmp_path / "registry.json"
    environment["SYMPOSIUM_REGISTRY"] = str(file)
    environment["HOME"] = str(tmp_path)
    environment["SHELL"] = "/bin/false"

    return writer_of(file)


def local(spec: str) -> dict[str, Any]:
    command = parse_command(spec)
    return {"local": {"command": command.argv[0], "args": command.argv[1:]}}


def program(place: Path, text: str = "#!/bin/sh\n") -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    place.chmod(0o755)


OTHER_PLATFORM: dict[str, Any] = {
    "binary": {"windows-aarch64": {"archive": "https://a/b", "cmd": "x"}}
}


@pytest.mark.requirement("registry.cli-list", "registry.unavailable-listed")
def test_list_shows_installed_agents_first_and_unavailable_ones_last(
    symposium: Run, registry: Callable[..., Path], tmp_path: Path
) -> None:
    here = tmp_path / ".local" / "bin" / "here"
    here.parent.mkdir(parents=True)
    here.write_text("#!/bin/sh\necho here version 1.2.3\n")
    here.chmod(0o755)
    js = {"npx": {"package": "x", "args": ["--acp"]}}
    registry(
        entry("nowhere", OTHER_PLATFORM),
        entry("python-one", local(sys.executable)),
        entry("here", js),
    )
    program(tmp_path / ".local" / "bin" / "mine")
    symposium("agents", "add", "mine --acp", "--no-test")

    done = symposium("agents", "list", "--json")
    table = symposium("agents", "list").stdout

    rows = {each["id"]: each for each in json.loads(done.stdout)}
    assert list(rows) == ["eliza", "testy", "mine", "here", "python-one", "nowhere"]
    assert rows["here"]["version"] == "1.2.3"
    assert rows["here"]["place"] == str(here)
    assert rows["here"]["agent"] == f"{here} --acp"
    assert rows["mine"]["agent"] == "mine --acp"
    assert rows["nowhere"]["how"] == "unavailable"
    assert "windows-aarch64" in rows["nowhere"]["description"]
    assert rows["eliza"]["agent"] == {"builtin": "eliza"}
    assert "registry: file of" in done.stderr
    assert [line.split()[0] for line in table.splitlines()] == ["ID", *rows]


@pytest.mark.requirement("registry.cli-add", "registry.cli-remove")
def test_agent_is_added_shown_and_removed(symposium: Run, registry: object, tmp_path: Path) -> None:
    del registry
    program(tmp_path / ".local" / "bin" / "my-agent")
    added = symposium("agents", "add", "KEY=value my-agent --acp", "--json", "--no-test")
    shown = symposium("agents", "show", "my-agent", "--json")
    removed = symposium("agents", "remove", "my-agent", "--json")
    again = symposium("agents", "remove", "my-agent")

    server = {
        "name": "my-agent",
        "command": "my-agent",
        "args": ["--acp"],
        "env": [{"name": "KEY", "value": "value"}],
    }
    assert json.loads(added.stdout)["server"] == server
    assert json.loads(shown.stdout)["agent"] == "KEY=value my-agent --acp"
    assert json.loads(removed.stdout) == {"id": "my-agent", "removed": True}
    assert again.returncode == 4
    assert "neither installed nor added" in again.stderr


@pytest.mark.requirement("registry.cli-add")
def test_added_agents_are_private_and_a_broken_file_is_not_overwritten(
    symposium: Run, registry: object, tmp_path: Path
) -> None:
    del registry
    for name in ("my-agent", "other"):
        program(tmp_path / ".local" / "bin" / name)
    symposium("agents", "add", "KEY=secret my-agent", "--id", "one", "--no-test")
    file = tmp_path / "home" / "agents.json"
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_text("{broken")

    done = symposium("agents", "add", "other --acp", "--no-test")
    listed = symposium("agents", "list", "--json")

    assert done.returncode == 1
    assert str(file) in done.stderr
    assert file.read_text() == "{broken"
    assert [each["id"] for each in json.loads(listed.stdout)] == ["eliza", "testy"]
    assert "agents.json" in listed.stderr


@pytest.mark.requirement("registry.cli-test")
def test_test_shows_the_capabilities_of_an_agent(symposium: Run, registry: object) -> None:
    del registry
    found = json.loads(symposium("agents", "test", "eliza", "--json").stdout)
    text = symposium("agents", "test", "eliza").stdout

    assert found["protocolVersion"] == 1
    assert found["agentInfo"]["name"] == "eliza"
    assert found["mcpTransports"] == ["stdio", "http"]
    assert {"session/new", "session/load", "session/close"} <= set(found["sessionMethods"])
    assert found["authMethods"] == []
    assert "MCP servers    stdio, http" in text


@pytest.mark.requirement("registry.built-in-starts")
@pytest.mark.parametrize("name", agent_names())
def test_every_built_in_agent_starts_as_the_list_offers_it(
    name: str, symposium: Run, registry: object
) -> None:
    del registry
    tested = symposium("agents", "test", name, "--json")

    assert tested.returncode == 0, tested.stderr
    assert json.loads(tested.stdout)["agentInfo"]["name"] == name


@pytest.mark.requirement("registry.cli-test")
@pytest.mark.parametrize(
    ("spec", "code", "said"),
    [
        ("sh -c 'echo my last words >&2; exit 3'", 1, "my last words"),
        ("no-such-program-here --acp", 4, "no program 'no-such-program-here' was found in"),
        ("unknown-id", 4, "unknown agent 'unknown-id'"),
        (f"sh -c {shlex.quote(NO_OBJECT)}", 1, "answered 3"),
    ],
)
def test_test_shows_why_an_agent_does_not_work(
    spec: str, code: int, said: str, symposium: Run, registry: object
) -> None:
    del registry
    done = symposium("agents", "test", spec)

    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr


@pytest.mark.requirement("registry.cli-test")
def test_test_has_a_timeout(symposium: Run, registry: object) -> None:
    del registry
    done = symposium("agents", "test", "sleep 60", "--timeout", "0.5")

    assert (done.returncode, done.stdout) == (3, "")
    assert "did not answer initialize within 0.5 s" in done.stderr


@pytest.mark.requirement("registry.gui-launch")
def test_agent_in_a_usual_place_starts_with_the_path_of_a_dock(
    symposium: Run, registry: object, scripted: Spec, environment: dict[str, str], tmp_path: Path
) -> None:
    del registry
    place = tmp_path / ".nvm" / "versions" / "node" / "v20.1.0" / "bin" / "dock-agent"
    place.parent.mkdir(parents=True)
    place.write_text(f'#!/bin/sh\nexec {scripted()} "$@"\n')
    place.chmod(0o755)
    environment["PATH"] = "/usr/bin:/bin"

    done = symposium("agents", "test", "dock-agent --any", "--json")

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["command"] == [str(place), "--any"]


@pytest.mark.requirement("registry.cli-update", "registry.cli-add", "registry.receipts")
@pytest.mark.requirement("registry.installed-described")
def test_agent_is_installed_by_id_tried_updated_and_removed(
    symposium: Run, registry: Callable[..., Path], scripted: Spec, tmp_path: Path
) -> None:
    platform = platform_key(sys.platform, os.uname().machine)
    with serving() as web:
        web.answers["/agent"] = reply(f'#!/bin/sh\nexec {scripted()} "$@"\n'.encode())
        ways = {"binary": {platform: {"archive": web.url("/agent"), "cmd": "./agent"}}}
        registry(entry("some", ways))
        added = json.loads(symposium("agents", "add", "some", "--json").stdout)
        tested = symposium("agents", "test", "some", "--json")
        registry(entry("some", ways, "2.0.0"))
        updated = json.loads(symposium("agents", "update", "--json").stdout)
        shown = json.loads(symposium("agents", "show", "some", "--json").stdout)
        asked = len(web.asked)
        resolved = json.loads(symposium("registry", "resolve-agent", "some").stdout)
        registry()
        gone = symposium("agents", "update", "--json")

    place = tmp_path / "home" / "bin" / "some"
    assert added["server"]["command"] == str(place / "1.0.0" / "agent")
    assert len(added["receipt"]["sha256"]) == 64
    assert json.loads(tested.stdout)["command"] == [str(place / "1.0.0" / "agent")]
    assert updated == [{"id": "some", "from": "1.0.0", "to": "2.0.0"}]
    assert [each["version"] for each in shown["receipts"]] == ["1.0.0", "2.0.0"]
    assert shown["how"] == "installed"
    assert shown["description"] == "An agent."
    assert shown["place"] == str(place / "2.0.0")
    assert resolved["command"] == str(place / "2.0.0" / "agent")
    assert (asked, len(web.asked)) == (2, 2)
    assert (gone.stdout, gone.returncode) == ("[]\n", 0)
    assert "no longer in the registry" in gone.stderr
    assert symposium("agents", "update", "some").returncode == 4
    assert symposium("agents", "remove", "some").returncode == 0
    assert not list(place.glob("[0-9]*"))


@pytest.mark.requirement("registry.install-falls-back")
def test_failed_install_is_not_reported_as_ready(
    symposium: Run, registry: Callable[..., Path], environment: dict[str, str], tmp_path: Path
) -> None:
    for name in ("npm", "npx"):
        (tmp_path / name).write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    environment["PATH"] = f"{tmp_path}:/usr/bin:/bin"
    registry(entry("some", {"npx": {"package": "some@1"}}))

    added = symposium("agents", "add", "some")

    assert "some could not be installed" in added.stderr
    assert "ready" not in added.stdout
    assert "some is not installed" in added.stdout


@pytest.mark.requirement("registry.built-in-needs-nothing")
def test_built_in_agent_needs_no_install(symposium: Run, registry: object) -> None:
    del registry
    added = symposium("agents", "add", "eliza")
    messages = json.loads(symposium("agents", "add", "testy", "--json").stdout)
    updated = symposium("agents", "update", "eliza")
    everything = symposium("agents", "update")

    assert (added.returncode, updated.returncode, everything.returncode) == (0, 0, 0)
    assert "eliza is built in; nothing to install" in added.stderr
    assert "symposium agents test eliza" in added.stdout
    assert messages["server"]["args"][-1] == "testy"
    assert "eliza is built in; nothing to update" in updated.stderr
    assert "no agent is installed; `symposium agents add ID`" in everything.stderr


@pytest.mark.requirement("registry.cli-update")
def test_update_requires_an_installed_agent(symposium: Run, registry: Callable[..., Path]) -> None:
    registry(entry("some", OTHER_PLATFORM))

    everything = symposium("agents", "update", "--json")
    one = symposium("agents", "update", "some")

    assert (everything.stdout, everything.returncode) == ("[]\n", 0)
    assert one.returncode == 4
    assert "symposium agents add some" in one.stderr


@pytest.mark.requirement("registry.cli-registry-list")
def test_registry_lists_agents_and_mods_as_the_reference_does(
    symposium: Run, registry: Callable[..., Path]
) -> None:
    npx = {"npx": {"package": "x"}}
    registry(entry("eliza", npx), entry("some", npx), mods=(entry("some-mod", npx),))

    agents = json.loads(symposium("registry", "list").stdout)
    mods = json.loads(symposium("registry", "list-mods").stdout)

    assert [each["id"] for each in agents] == ["eliza", "testy", "some"]
    assert "version" not in agents[0]
    assert agents[2] == {
        "id": "some",
        "name": "Some",
        "version": "1.0.0",
        "description": "An agent.",
    }
    assert {"arrow", "echo"} < {each["id"] for each in mods}
    assert mods[-1]["id"] == "some-mod"


@pytest.mark.requirement("registry.cli-resolve")
def test_resolve_prints_a_spec_for_a_chain(
    symposium: Run, registry: Callable[..., Path], scripted: Spec
) -> None:
    registry(entry("some", local(scripted())), mods=(entry("some-mod", local(scripted())),))
    raw = json.dumps(entry("raw", local(scripted())))

    some = symposium("registry", "resolve-agent", "some")
    ours = symposium("registry", "resolve-agent", "eliza")
    given = symposium("registry", "resolve-agent", raw)
    mod = symposium("registry", "resolve-mod", "some-mod")
    our_mod = symposium("registry", "resolve-mod", "arrow")

    argv = parse_command(scripted()).argv
    server = {"name": "Some", "command": argv[0], "args": list(argv[1:]), "env": []}
    assert json.loads(some.stdout) == server
    assert json.loads(given.stdout) == {**server, "name": "Raw"}
    assert json.loads(mod.stdout) == {**server, "name": "Some-Mod"}
    turn = symposium("prompt", "--agent", ours.stdout, "--proxy", our_mod.stdout, "Hello")
    assert turn.stdout.startswith(">")


@pytest.mark.requirement("registry.cli-resolve", "registry.resolve-errors")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["resolve-agent", "none"], "Agent 'none' not found in registry"),
        (["resolve-mod", "none"], "Mod 'none' not found in registry"),
        (["resolve-agent", "nowhere"], "No compatible distribution found for agent 'nowhere' on"),
        (["resolve-agent", "{"], "not JSON"),
        (["resolve-agent", '{"id": "x"}'], "malformed"),
    ],
)
def test_unresolvable_name_is_an_error_and_nothing_is_printed(
    words: list[str], said: str, symposium: Run, registry: Callable[..., Path]
) -> None:
    registry(entry("nowhere", OTHER_PLATFORM))

    done = symposium("registry", *words)

    assert done.stdout == ""
    assert done.returncode in (1, 4)
    assert said in done.stderr


ANSWER = "How do you do. Please state your problem.\n"


@pytest.mark.requirement("cli.agent-by-id")
@pytest.mark.parametrize("words", [("prompt",), ("exec",)])
def test_added_agent_answers_by_its_id(
    words: tuple[str, ...], symposium: Run, registry: object, symposium_spec: Spec
) -> None:
    del registry
    assert symposium("agents", "add", symposium_spec("eliza"), "--id", "doc").returncode == 0
    done = symposium(*words, "--agent", "doc", "Hello")
    assert (done.returncode, done.stdout) == (0, ANSWER)


@pytest.mark.requirement("cli.agent-by-id")
def test_agent_of_the_registry_answers_by_its_id(
    symposium: Run, registry: Callable[..., Path], symposium_spec: Spec
) -> None:
    registry(entry("listed", local(symposium_spec("eliza"))))
    done = symposium("prompt", "--agent", "listed", "Hello")
    assert (done.returncode, done.stdout) == (0, ANSWER)


@pytest.mark.requirement("cli.agent-by-id")
def test_agent_on_this_machine_is_started_with_its_acp_arguments(
    symposium: Run,
    registry: Callable[..., Path],
    symposium_spec: Spec,
    tmp_path: Path,
    environment: dict[str, str],
) -> None:
    registry(entry("gem", {"npx": {"package": "gem", "args": ["--acp"]}}))
    text = f'#!/bin/sh\n[ "$1" = --acp ] || exit 9\nexec {symposium_spec("eliza")}\n'
    program(tmp_path / "bin" / "gem", text)
    environment["PATH"] = f"{tmp_path / 'bin'}{os.pathsep}{environment['PATH']}"
    done = symposium("prompt", "--agent", "gem", "Hello")
    assert (done.returncode, done.stdout) == (0, ANSWER)


@pytest.mark.requirement("cli.agent-by-id")
def test_name_of_an_adapted_program_names_the_adapter(
    symposium: Run,
    registry: Callable[..., Path],
    symposium_spec: Spec,
    tmp_path: Path,
    environment: dict[str, str],
) -> None:
    registry(entry("cod-acp", local(symposium_spec("eliza"))))
    program(tmp_path / "bin" / "cod", "#!/bin/sh\nexit 9\n")
    environment["PATH"] = f"{tmp_path / 'bin'}{os.pathsep}{environment['PATH']}"
    done = symposium("prompt", "--agent", "cod", "Hello")
    assert (done.returncode, done.stdout) == (0, ANSWER)


@pytest.mark.requirement("cli.agent-by-id")
@pytest.mark.parametrize(
    ("name", "guess"), [("clau", "claude-code"), ("cluade-code", "claude-code")]
)
@pytest.mark.parametrize("command", ["prompt", "run-with"])
def test_unknown_agent_gets_the_nearest_name_and_the_list(
    symposium: Run, registry: Callable[..., Path], name: str, guess: str, command: str
) -> None:
    registry(entry("claude-code", OTHER_PLATFORM))
    more = ["Hello"] if command == "prompt" else []
    done = symposium(command, "--agent", name, *more)
    assert done.returncode == 2
    assert f"did you mean {guess}?" in done.stderr
    assert "symposium agents list" in done.stderr


@pytest.mark.requirement("registry.cli-add-refused")
def test_name_of_a_built_in_agent_cannot_be_added(
    symposium: Run, registry: object, symposium_spec: Spec
) -> None:
    del registry
    done = symposium("agents", "add", symposium_spec("eliza"), "--id", "eliza")
    assert done.returncode == 2
    assert "eliza is the name of a built-in agent" in done.stderr
    assert "--id" in done.stderr


@pytest.mark.requirement("registry.cli-add-refused")
@pytest.mark.parametrize("what", ["no-such-agent --acp", "/no/such/agent", "./relative"])
def test_missing_command_is_not_added(
    symposium: Run, registry: object, what: str, tmp_path: Path
) -> None:
    del registry
    done = symposium("agents", "add", what)
    assert done.returncode == 4
    assert what.split(maxsplit=1)[0] in done.stderr
    assert not (tmp_path / "home" / "agents.json").exists()


@pytest.mark.requirement("registry.cli-add")
def test_relative_path_is_saved_as_absolute(
    symposium: Run, registry: object, tmp_path: Path
) -> None:
    del registry
    program(tmp_path / "relative")
    assert symposium("agents", "add", "./relative --acp", "--no-test").returncode == 0
    shown = json.loads(symposium("agents", "show", "relative", "--json").stdout)
    assert shown["agent"] == f"{tmp_path / 'relative'} --acp"


@pytest.mark.requirement("registry.cli-add-tested")
def test_command_that_does_not_answer_as_an_agent_is_not_added(
    symposium: Run, registry: object, tmp_path: Path
) -> None:
    del registry
    text = "#!/bin/sh\nfor word in a b c d e; do echo not json $word; done\n"
    program(tmp_path / ".local" / "bin" / "lister", text)
    done = symposium("agents", "add", "lister --all")

    assert done.returncode == 1
    assert "nothing was added: " in done.stderr
    assert "lister --all` is not a working agent" in done.stderr
    assert "--no-test" in done.stderr
    assert done.stderr.count("not JSON-RPC") == 1
    assert "the first line: not json a" in done.stderr
    assert not (tmp_path / "home" / "agents.json").exists()


@pytest.mark.requirement("registry.cli-add-tested")
def test_name_of_an_interpreter_is_not_used_as_id(symposium: Run, registry: object) -> None:
    del registry
    done = symposium("agents", "add", f"{sys.executable} agent.py")

    assert done.returncode == 2
    assert "runs many programs" in done.stderr
    assert "--id NAME" in done.stderr


@pytest.mark.requirement("cli.configured-agent")
def test_default_agent_is_the_one_of_the_config(
    symposium: Run, registry: object, symposium_spec: Spec, tmp_path: Path
) -> None:
    del registry
    unset = symposium("prompt", "Hello")
    (tmp_path / "home").mkdir(exist_ok=True)
    config = tmp_path / "home" / "config.jsonc"
    config.write_text(json.dumps({"agent": symposium_spec("testy")}))
    named = symposium("prompt", "Hello")
    config.write_text(json.dumps({"agent": {"builtin": "testy"}}))
    by_source = symposium("prompt", "Hello")

    assert "No agent is configured; using the built-in eliza." in unset.stderr
    assert named.stdout == by_source.stdout == "Hello, world!\n"
    assert "No agent is configured" not in named.stderr + by_source.stderr


@pytest.mark.requirement("cli.usual-words")
def test_help_is_a_command_too(symposium: Run, registry: object) -> None:
    del registry
    assert symposium("help").stdout == symposium("--help").stdout
    assert symposium("help", "task").stdout == symposium("task", "--help").stdout


@pytest.mark.requirement("cli.usual-words")
@pytest.mark.parametrize("written", ["abc", "-1", "0", "nan", "inf"])
def test_invalid_timeout_is_an_error(symposium: Run, registry: object, written: str) -> None:
    del registry
    done = symposium("prompt", "--timeout", written, "Hello")

    assert done.returncode == 2
    assert f"{written!r} is not a positive number of seconds" in done.stderr
