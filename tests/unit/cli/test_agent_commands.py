"""`symposium agents` and `symposium registry`, with a registry in a file."""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from msgspec.structs import replace
from tests.support.registry_file import Write, entry, writer_of
from tests.support.web import reply, serving

from localio.text import iso_of
from symposium.__main__ import main
from symposium.catalog import builtin_mods
from symposium.registry.entries import platform_key
from symposium.registry.index import InstallReceipt, registry_context, write_receipt
from symposium.registry.listing import BUILT_IN

INSTALLED = InstallReceipt(
    id="one",
    name="One",
    version="1.0.0",
    source="npm",
    origin="one@1.0.0",
    argv=("./one", "--acp"),
    when=1_800_000_000.0,
    sha256="ab" * 32,
    is_verified=True,
)
HELLO = {
    "protocolVersion": 1,
    "agentInfo": {"name": "small", "title": "Small", "version": "3"},
    "agentCapabilities": {
        "loadSession": True,
        "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
        "mcpCapabilities": {"http": True},
    },
    "authMethods": [{"id": "key", "name": "A key"}, {"id": "web"}],
}
ONE = {
    "id": "one",
    "name": "One",
    "version": "1.0.0",
    "description": "An agent.",
    "how": "installed",
    "installed": True,
    "agent": {"registry": "one"},
}
ANSWER = f"read x; echo '{json.dumps({'jsonrpc': '2.0', 'id': 1, 'result': HELLO})}'; cat >&2"


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write a registry of agents and mods and use it."""
    file = tmp_path / "registry.json"
    for name, value in {
        "SYMPOSIUM_HOME": str(tmp_path / "home"),
        "SYMPOSIUM_CONFIG": str(tmp_path / "config.jsonc"),
        "SYMPOSIUM_REGISTRY": str(file),
        "HOME": str(tmp_path),
        "SHELL": "/bin/false",
        "PATH": "/usr/bin:/bin",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)

    return writer_of(file)


def local(*words: str, **env: str) -> dict[str, Any]:
    return {"local": {"command": words[0], "args": words[1:], "env": env}}


def script(place: Path, text: str) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"#!/bin/sh\n{text}\n")
    place.chmod(0o755)
    return place


def install(home: Path, *receipts: InstallReceipt) -> None:
    for each in receipts:
        place = home / "bin" / each.id / each.version
        place.mkdir(parents=True)
        write_receipt(each, place)


def run(*words: str) -> tuple[int, str, str]:
    """Run a command; return its exit code, its output, and its errors."""
    done = CliRunner().invoke(main, words)
    return done.exit_code, done.stdout, done.stderr


def agents(*words: str) -> tuple[int, str, str]:
    return run("agents", *words)


@pytest.mark.requirement("registry.cli-list")
def test_list_shows_each_agent_with_its_state(registry: Write, tmp_path: Path) -> None:
    registry(entry("two", local("/x/two")), entry("one", local("/x/one")))
    install(tmp_path / "home", INSTALLED)
    code, out, err = agents("list")
    loaded = registry_context(os.environ).index.here().in_short()

    two = "An agent. (unavailable here: install /x/two)"
    assert (code, err) == (0, f"{loaded}\n")
    assert out == (
        "ID     VERSION  STATE        WHAT\n"
        f"eliza           built in     {BUILT_IN['eliza']}\n"
        f"testy           built in     {BUILT_IN['testy']}\n"
        "one    1.0.0    installed    An agent.\n"
        f"two    1.0.0    unavailable  {two}\n"
    )
    assert json.loads(agents("list", "--json")[1])[1:] == [
        {
            "id": "testy",
            "name": "Testy",
            "version": None,
            "description": BUILT_IN["testy"],
            "how": "built in",
            "installed": True,
            "place": None,
            "agent": {"builtin": "testy"},
        },
        ONE | {"place": str(tmp_path / "home/bin/one/1.0.0")},
        {
            **ONE,
            "id": "two",
            "name": "Two",
            "description": two,
            "how": "unavailable",
            "installed": False,
            "place": None,
            "agent": {"registry": "two"},
        },
    ]
    (tmp_path / "home" / "agents.json").write_text("{")
    assert agents("list")[2].startswith(f"{loaded}\n{tmp_path}/home/agents.json")


@pytest.mark.requirement("registry.cli-list", "registry.receipts")
def test_show_prints_the_checksum_of_each_installed_version(
    registry: Write, tmp_path: Path
) -> None:
    registry(entry("one", local("/x/one")))
    place = tmp_path / "home/bin/one/1.0.0"
    install(
        tmp_path / "home",
        INSTALLED,
        replace(INSTALLED, version="0.9", when=3.0, sha256="", integrity="sha512-x"),
        replace(INSTALLED, version="0.8", when=2.0, is_verified=False),
        replace(INSTALLED, version="0.7", when=1.0, sha256="", source="uvx"),
    )

    assert agents("show", "one") == (
        0,
        (
            "id       one\n"
            "name     One\n"
            "version  1.0.0\n"
            "state    installed\n"
            "what     An agent.\n"
            f"place    {place}\n"
            "0.7      uvx, one@1.0.0, no checksum published\n"
            f"0.8      npm, one@1.0.0, sha256 {INSTALLED.sha256} (not verified: "
            "no checksum is published)\n"
            "0.9      npm, one@1.0.0, sha512-x\n"
            f"1.0.0    npm, one@1.0.0, sha256 {INSTALLED.sha256}\n"
        ),
        "",
    )
    shown = json.loads(agents("show", "one", "--json")[1])
    assert [each["installed"] for each in shown["receipts"][:3]] == [*map(iso_of, (1, 2, 3))]
    assert shown.pop("receipts")[3] == {
        "version": "1.0.0",
        "source": "npm",
        "origin": "one@1.0.0",
        "sha256": INSTALLED.sha256,
        "verified": True,
        "integrity": None,
        "installed": iso_of(INSTALLED.when),
    }
    assert shown == ONE | {"place": str(place)}
    assert agents("show", "eliza")[1].splitlines()[2:4] == [
        "version  unknown",
        "state    built in",
    ]


@pytest.mark.requirement("cli.agent-by-id")
def test_unknown_agent_names_the_nearest_or_the_list(registry: Write) -> None:
    del registry
    error = "symposium: unknown agent '%s'\n  %s\n"

    assert agents("show", "elisa") == (4, "", error % ("elisa", "did you mean eliza?"))
    assert agents("test", "zzzzzz") == (
        *(4, ""),
        error % ("zzzzzz", "`symposium agents list` lists agents"),
    )


@pytest.mark.requirement("registry.cli-test")
def test_test_prints_the_capabilities(registry: Write, tmp_path: Path) -> None:
    del registry
    small = script(tmp_path / "small", ANSWER)
    silent = script(tmp_path / "silent", "exec cat >&2")

    code, out, err = agents("test", f"{small} -x")
    rows = [re.split(r" {2,}", line, maxsplit=1) for line in out.splitlines()]
    assert (code, err) == (0, "")
    assert re.fullmatch(r"answered in    \d+\.\d\d s", out.splitlines().pop(1))
    assert [(name, value.strip()) for name, value in rows if name != "answered in"] == [
        ("agent", "small 3"),
        ("ACP version", "1"),
        ("sessions", "new, prompt, cancel, load"),
        ("prompts", "text, image, embeddedContext"),
        ("MCP servers", "stdio, http"),
        ("login methods", "A key, web"),
    ]
    found = json.loads(agents("test", f"{small} -x", "--json")[1])
    assert 0 <= found.pop("seconds") < 60
    assert found == {
        "command": [str(small), "-x"],
        **HELLO,
        "sessionMethods": ["session/new", "session/prompt", "session/cancel", "session/load"],
        "mcpTransports": ["stdio", "http"],
    }
    script(small, ANSWER.replace(json.dumps(HELLO), '{"protocolVersion": 1}'))
    plain = agents("test", str(small))[1].splitlines()
    assert (plain[0], plain[-1]) == ("agent          unnamed", "login methods  none named")
    assert agents("test", str(silent), "--timeout", "0.01")[0] == 3


@pytest.mark.requirement("registry.cli-add", "registry.cli-add-tested", "registry.cli-remove")
def test_command_is_tested_added_and_removed(registry: Write, tmp_path: Path) -> None:
    del registry
    small = script(tmp_path / "small", ANSWER)
    file = tmp_path / "home" / "agents.json"
    tested = f"testing `{small} --acp` …\n"
    server = {
        "name": "small",
        "command": str(small),
        "args": ["--acp"],
        "env": [{"name": "A", "value": "b"}],
    }

    assert agents("add", "A=b ./small --acp", "--id", "mine") == (
        *(0, "mine is ready; test it with: symposium agents test mine\n", tested),
    )
    code, out, err = agents("add", "A=b ./small --acp", "--json")
    assert (code, err) == (0, tested)
    assert json.loads(out) == {"id": "small", "server": server, "receipt": None, "note": None}
    added = json.loads(file.read_text())
    assert {"mine", "small"} == {each["id"] for each in added}
    script(small, "exit 1")
    assert agents("add", "./small", "--no-test") == (
        *(0, "small is ready; test it with: symposium agents test small\n", ""),
    )
    assert agents("remove", "mine") == (0, "removed mine\n", "")
    assert agents("remove", "small", "--json") == (0, '{"id":"small","removed":true}\n', "")
    assert agents("remove", "small") == (
        *(4, ""),
        "symposium: small is neither installed nor added\n  `symposium agents list` lists agents\n",
    )


@pytest.mark.requirement("registry.cli-add-refused", "registry.cli-add-tested")
def test_command_that_is_no_agent_is_not_added(registry: Write, tmp_path: Path) -> None:
    del registry
    broken = script(tmp_path / "broken", "exit 3")

    assert agents("add", "sh -c x") == (
        *(2, ""),
        "symposium: 'sh' runs many programs and does not identify this agent\n  add --id NAME\n",
    )
    for words in (["eliza --x"], ["sh -c x", "--id", "eliza"]):
        assert agents("add", *words) == (
            *(2, ""),
            "symposium: eliza is the name of a built-in agent\n  choose another with --id NAME\n",
        )
    code, out, err = agents("add", "./broken")
    assert (code, out) == (1, "")
    assert err == (
        f"testing `{broken}` …\n"
        f"symposium: nothing was added: `{broken}` is not a working agent: `{broken}` exited with "
        "code 3\n  it wrote nothing to stderr\n  add --no-test to add it anyway\n"
    )
    assert agents("add", "missing --acp", "--no-test")[:2] == (4, "")
    assert not (tmp_path / "home" / "agents.json").exists()


@pytest.mark.requirement("registry.built-in-needs-nothing", "registry.cli-update")
def test_built_in_agent_needs_no_install_and_no_update(registry: Write) -> None:
    index = registry()
    note = "eliza is built in; nothing to install"
    ready = "eliza is ready; test it with: symposium agents test eliza\n"
    described = registry_context(os.environ, str(index)).index.here().describe()

    assert agents("add", "eliza") == (0, ready, f"{note}\n")
    made = json.loads(agents("add", "eliza", "--json")[1])
    assert made.pop("server") == {
        "name": "eliza",
        "command": sys.executable,
        "args": ["-P", "-m", "symposium", "eliza"],
        "env": [],
    }
    assert made == {"id": "eliza", "receipt": None, "note": note}
    assert agents("update", "eliza") == (
        *(0, "", f"{described}\neliza is built in; nothing to update\n"),
    )
    assert agents("update") == (
        *(0, ""),
        f"{described}\nno agent is installed; `symposium agents add ID` installs one\n",
    )


@pytest.mark.requirement("registry.cli-update", "registry.cli-add", "registry.cli-resolve")
def test_agent_is_installed_updated_and_resolved(registry: Write, tmp_path: Path) -> None:
    platform = platform_key(sys.platform, os.uname().machine)
    with serving() as web:
        web.answers["/agent"] = reply(b"#!/bin/sh\n")
        archive = {"archive": web.url("/agent"), "cmd": "./agent", "args": ["--acp"]}
        ways = {"binary": {platform: archive}}
        registry(entry("some", ways))
        described = registry_context(os.environ).index.here().describe()
        added = agents("add", "some")
        again = agents("update")
        registry(entry("some", ways, "2.0.0"))
        updated = agents("update", "some")
        current = json.loads(agents("add", "some", "--json")[1])
        before = len(web.asked)
        resolved = run("registry", "resolve-agent", "some")
        after = len(web.asked)

    program = str(tmp_path / "home/bin/some/2.0.0/agent")
    server = {"name": "some", "command": program, "args": ["--acp"], "env": []}
    assert added[:2] == (0, "some 1.0.0 is ready; test it with: symposium agents test some\n")
    assert added[2].splitlines()[0] == described
    assert again == (0, "some: already at 1.0.0\n", f"{described}\n")
    assert updated[:2] == (0, "some: 1.0.0 -> 2.0.0\n")
    assert (current["server"], current["receipt"]["version"]) == (server, "2.0.0")
    assert (resolved[0], json.loads(resolved[1]), after - before) == (0, server, 0)


@pytest.mark.requirement("registry.cli-update", "registry.cli-remove")
def test_agent_that_left_the_registry_stays_installed(registry: Write, tmp_path: Path) -> None:
    registry(entry("none", local("/x/none")))
    install(tmp_path / "home", INSTALLED)
    described = registry_context(os.environ).index.here().describe()

    assert agents("update", "--json") == (
        *(0, "[]\n", f"{described}\none is no longer in the registry; not updated\n"),
    )
    assert agents("update", "one")[:2] == (4, "")
    assert agents("update", "none") == (
        *(4, ""),
        f"{described}\nsymposium: none is not installed\n  symposium agents add none\n",
    )
    assert agents("remove", "one") == (0, "removed one\n", "")
    assert not list((tmp_path / "home/bin/one").glob("[0-9]*"))


@pytest.mark.requirement("registry.cli-registry-list")
def test_registry_lists_its_built_in_entries_over_those_of_the_index(registry: Write) -> None:
    two, echo = entry("two", local("/x/two")), entry("echo", local("/x/echo"))
    registry(entry("eliza", local("/x")), two, mods=(echo, entry("more", local("/x/more"))))
    described = registry_context(os.environ).index.here().describe()
    listed, mods = run("registry", "list"), run("registry", "list-mods", "--json")

    def row(id_: str, text: str) -> dict[str, str]:
        return {"id": id_, "name": id_, "description": text}

    ours = [row(mod.name, mod.summary) for mod in builtin_mods()]
    offered = {"version": "1.0.0", "description": "An agent."}
    assert [(code, err) for code, _, err in (listed, mods)] == [(0, f"{described}\n")] * 2
    assert json.loads(listed[1]) == [
        *(row(id_, text) for id_, text in BUILT_IN.items()),
        {"id": "two", "name": "Two", **offered},
    ]
    assert json.loads(mods[1]) == [*ours, {"id": "more", "name": "More", **offered}]


@pytest.mark.requirement("registry.cli-resolve", "recommendations.registry-lists-custom")
def test_registry_resolves_agents_and_mods_of_every_origin(registry: Write, tmp_path: Path) -> None:
    two = script(tmp_path / "two", "")
    more = entry("more", local(str(two), K="v"))
    registry(entry("two", local(str(two), "--acp")), mods=(more,))
    own = {"name": "own", "source": {"local": {"command": "/x/own", "args": ["a"]}}}
    http = {"http": {"name": "docs", "url": "https://d"}}
    config = {"agent": "eliza", "proxies": [own, {"name": "docs", "kind": "mcp", "source": http}]}
    (tmp_path / "config.jsonc").write_text(json.dumps(config))
    raw = json.dumps(entry("raw", local(str(two), K="v")))

    def resolved(kind: str, name: str) -> Any:
        code, out, _ = run("registry", f"resolve-{kind}", name)
        assert code == 0
        return json.loads(out)

    def server(name: str, command: str, *args: str, **env: str) -> dict[str, Any]:
        pairs = [{"name": key, "value": value} for key, value in env.items()]
        return {"name": name, "command": command, "args": list(args), "env": pairs}

    ours = (sys.executable, "-P", "-m", "symposium")
    assert resolved("agent", "two") == server("Two", str(two), "--acp")
    assert resolved("agent", f" {raw}") == server("Raw", str(two), K="v")
    assert resolved("agent", "testy") == server("testy", *ours, "testy")
    assert resolved("mod", f" {raw}") == server("Raw", str(two), K="v")
    assert resolved("mod", "more") == server("More", str(two), K="v")
    assert resolved("mod", "echo") == server("echo", *ours, "run-with", "--proxy", "echo")
    assert resolved("mod", "own") == server("own", "/x/own", "a")
    assert resolved("mod", "docs") == {
        "type": "http",
        "headers": [],
        "name": "docs",
        "url": "https://d",
    }
    listed = json.loads(run("registry", "list-mods")[1])
    assert listed[-2:] == [
        {"id": "own", "name": "own", "description": "of the config"},
        {"id": "docs", "name": "docs", "description": "of the config"},
    ]
    (tmp_path / "config.jsonc").write_text("{")
    code, out, err = run("registry", "list-mods")
    assert (code, "own" in out, str(tmp_path / "config.jsonc") in err) == (0, False, True)


@pytest.mark.requirement("recommendations.registry-lists-custom")
@pytest.mark.parametrize("kind", ["http", "sse"])
def test_mod_at_a_url_is_printed_with_its_kind_and_address(
    registry: Write, tmp_path: Path, kind: str
) -> None:
    registry()
    source = {kind: {"name": "far", "url": "https://far.example/mcp"}}
    config = {"agent": "eliza", "mods": [{"name": "near", "source": source}]}
    (tmp_path / "config.jsonc").write_text(json.dumps(config))
    done = CliRunner().invoke(main, ["registry", "resolve-mod", "near"])

    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout) == {
        "type": kind,
        "name": "near",
        "url": "https://far.example/mcp",
        "headers": [],
    }
