"""`symposium trust` and `symposium recommendations`: whole outputs."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.support.typed_answer import typed
from tests.support.web import reply, serving

from localio.text import day_of
from symposium.__main__ import main
from symposium.config.paths import paths
from symposium.run_mode.workspace_offers import adviser_for

STORED = """
[[recommendation]]
source.npx = { package = "one", env = { KEY = "v" } }
when.any = [{ file-exists = "x" }, { using-crate = "tokio" }]

[[recommendation]]
source.npx = { package = "two" }

[[recommendation]]
source.npx = { package = "three" }
when.file-exists = "y"
"""
SERVERS = '{"mcpServers": {"a": {"command": "x"}}}'
FIRST = ".symposium/recommendations.toml"
HOME, CONFIG = "ho\x1bme", "con\x1bfig.jsonc"
"""With a character that must not reach a terminal."""

SHOW = ("recommendations", "show")
ALLOWS = [
    {"kind": "command", "detail": "npx -y one"},
    {"kind": "variable", "detail": "KEY=v"},
    {"kind": "command", "detail": "npx -y two"},
    {"kind": "command", "detail": "npx -y three"},
]


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace that stores recommendations and servers; the commands run there."""
    monkeypatch.setenv("SYMPOSIUM_HOME", str(tmp_path / HOME))
    monkeypatch.setenv("SYMPOSIUM_CONFIG", str(tmp_path / CONFIG))
    monkeypatch.setenv("SYMPOSIUM_RECOMMENDATIONS", "none")
    made = (tmp_path / "w").resolve()
    (made / ".symposium").mkdir(parents=True)
    (made / FIRST).write_text(STORED)
    (made / ".mcp.json").write_text(SERVERS)
    monkeypatch.chdir(made)
    return made


def run(*words: str) -> tuple[int, str, str]:
    """Run a command; return its exit code, its output, and its errors."""
    done = CliRunner().invoke(main, words)
    return done.exit_code, done.stdout, done.stderr


def as_json(*words: str) -> Any:
    code, out, err = run(*words, "--json")
    assert (code, err, out.count("\n")) == (0, "", 1)
    return json.loads(out)


def question(workspace: Path, *, sha256: str = "", changes: str = "") -> dict[str, Any]:
    found = {"workspace": str(workspace), "kind": "recommendations", "name": FIRST}
    found |= {"sha256": sha256, "allows": ALLOWS}
    return found | {"changed": bool(changes), "changes": changes}


@pytest.mark.requirement("trust.cli")
def test_trust_shows_grants_lists_and_revokes(workspace: Path, tmp_path: Path) -> None:
    other = ["--cwd", str(tmp_path)]
    assert run("trust", "list") == (0, "", "no decisions yet\n")
    first, second = as_json("trust", "show")
    assert first == question(workspace, sha256=first["sha256"])
    assert second["name"] == ".mcp.json"
    shown = (
        f"{FIRST} (recommendations, new, sha256 {first['sha256'][:12]})\n"
        "  runs: npx -y one\n  sets: KEY=v\n  runs: npx -y two\n  runs: npx -y three\n"
    )
    servers = (
        f".mcp.json (for other programs, new, sha256 {second['sha256'][:12]})\n"
        "  Symposium does not use this. Your agent or editor may use it, whatever you answer.\n"
        "  runs: x\n"
    )
    assert run("trust", "show") == (0, f"{shown}\n{servers}", "")
    assert run("trust", "show", *other) == (0, "", "nothing to decide\n")

    assert run("trust", "grant", ".mcp.json", "--yes") == (0, "", f"{servers}granted: 1\n")
    assert run("trust", "grant", ".mcp.json") == (0, "", "granted: 0\n")
    code, out, err = run("trust", "grant", "--yes", "--json")
    assert (code, err) == (0, shown)
    assert json.loads(out) == [
        {name: value for name, value in first.items() if not name.startswith("change")}
    ]
    assert run("trust", "grant", "none") == (
        *(4, ""),
        (
            "symposium: the workspace does not store 'none'\n"
            f"  the workspace stores: .mcp.json, {FIRST}\n"
        ),
    )
    assert run("trust", "grant", "none", *other)[2].endswith("stores: nothing\n")

    listed = as_json("trust", "list")
    assert {(each["name"], each["verdict"]) for each in listed} == {
        *((".mcp.json", "trusted"), (FIRST, "trusted")),
    }
    assert [line.split() for line in run("trust", "list")[1].splitlines()] == [
        ["WHEN", "VERDICT", "KIND", "NAME", "SHA256", "WORKSPACE"],
        *(
            [
                *(day_of(each["when"]), "trusted", *each["kind"].split(), each["name"]),
                *(each["sha256"][:12], str(workspace)),
            ]
            for each in listed
        ),
    ]
    assert run("trust", "revoke", *other) == (0, "", "revoked: 0\n")
    assert run("trust", "revoke", ".mcp.json") == (0, "", "revoked: 1\n")
    (gone,) = as_json("trust", "revoke", "--all", *other)
    assert (gone["name"], gone["when"][:2]) == (FIRST, "20")


@pytest.mark.requirement("trust.cli", "trust.change-asks-again")
def test_changed_content_is_shown_with_its_difference(workspace: Path) -> None:
    run("trust", "grant", "--yes")
    (workspace / FIRST).write_text(STORED.replace('"two"', '"2"'))

    (asked,) = as_json("trust", "show")
    assert asked["changed"] is True
    assert '-source.npx = { package = "two" }' in asked["changes"].splitlines()
    assert '+source.npx = { package = "2" }' in asked["changes"].splitlines()


@pytest.mark.requirement("trust.cli")
@pytest.mark.usefixtures("workspace")
def test_grant_asks_for_confirmation(capsys: pytest.CaptureFixture[str]) -> None:
    refused = run("trust", "grant")
    codes: list[Any] = []
    for answer in (b"\n", b"n\n", b"y\n"):
        with typed("Allow this? [y/N]:", answer), pytest.raises(SystemExit) as ended:
            main(["trust", "grant", ".mcp.json"])
        codes.append((ended.value.code, len(as_json("trust", "list"))))
    capsys.readouterr()

    assert refused[:2] == (2, "")
    assert refused[2].splitlines()[0].startswith(FIRST)
    assert "cannot ask for confirmation here; check the list and rerun with --yes" in refused[2]
    assert codes == [(5, 0), (5, 0), (0, 1)]


@pytest.mark.requirement("trust.cli", "trust.damage-trusts-nothing")
@pytest.mark.usefixtures("workspace")
def test_every_trust_command_reports_damaged_decisions(tmp_path: Path) -> None:
    run("trust", "grant", "--yes")
    file = tmp_path / HOME / "trust.json"
    said: list[str] = []
    for words in (["list"], ["show"], ["grant", ".mcp.json", "--yes"], ["revoke"]):
        file.write_text("{")
        said.append(run("trust", *words)[2])

    place = str(file).replace("\x1b", "␛")
    reason = f"cannot use {place} (Input data was truncated), so nothing is trusted"
    assert {each.splitlines()[0] for each in said} == {f"{reason}; fix the file, or decide again"}


@pytest.mark.requirement("recommendations.cli")
def test_recommendations_are_shown_with_each_condition(workspace: Path, tmp_path: Path) -> None:
    hint = "the workspace stores more that needs your decision; `symposium trust show` lists it\n"
    assert run(*SHOW) == (0, "", hint)
    assert as_json(*SHOW)["untrusted"][0]["name"] == FIRST
    run("trust", "grant", "--yes")
    (workspace / "y").write_text("")

    assert run(*SHOW) == (
        0,
        (
            "   MOD    STATE          FROM       WHY\n"
            "-  one    does not suit  workspace\n"
            "          no                        any of\n"
            "          no                          file-exists x\n"
            "          no                          using-crate tokio\n"
            "+  two    offered        workspace  always\n"
            "+  three  offered        workspace  because `y` exists\n"
            "          yes                       file-exists y\n"
        ),
        "",
    )
    found = as_json(*SHOW, "--cwd", str(workspace))
    assert found["recommendations"].pop(0) == {
        "name": "one",
        "kind": "proxy",
        "source": {"npx": {"package": "one", "env": {"KEY": "v"}}},
        "from": "workspace",
        "state": "does not suit",
        "suits": False,
        "because": "",
        "conditions": [
            {"condition": "any of", "holds": False, "depth": 0},
            {"condition": "file-exists x", "holds": False, "depth": 1},
            {"condition": "using-crate tokio", "holds": False, "depth": 1},
        ],
        "allows": ALLOWS[:2],
    }
    rest = found.pop("recommendations")
    assert found == {"workspace": str(workspace), "untrusted": [], "problems": []}
    assert [(each["because"], each["suits"]) for each in rest] == [
        *(("", True), ("because `y` exists", True)),
    ]

    two = {"name": "two", "kind": "proxy", "source": {"npx": {"package": "two"}}}
    (tmp_path / CONFIG).write_text(json.dumps({"agent": "eliza", "proxies": [two]}))
    adviser = adviser_for(paths(), os.environ)
    adviser.memory.decline([adviser.advise(workspace).recommendations[2].identity])
    states = {each["name"]: each["state"] for each in as_json(*SHOW)["recommendations"]}
    assert states == {"one": "does not suit", "two": "configured", "three": "declined"}
    (tmp_path / CONFIG).write_text("{")
    code, out, err = run(*SHOW)
    assert (code, "configured" in out) == (0, False)
    assert err.startswith(f"{tmp_path}/con␛fig.jsonc:")
    (tmp_path / CONFIG).unlink()
    (workspace / FIRST).write_text("[[")
    code, _, err = run(*SHOW)
    (problem,) = json.loads(run(*SHOW, "--json")[1])["problems"]
    assert (code, FIRST in problem, err) == (0, True, f"{problem}\n")


@pytest.mark.requirement("recommendations.cli")
@pytest.mark.usefixtures("workspace")
def test_recommendations_are_downloaded_and_answers_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("recommendations", "update") == (0, "", "0 recommendations\n")
    with serving() as web:
        web.answers["/r"] = reply(b'[[recommendation]]\nsource.npx = { package = "far" }\n')
        monkeypatch.setenv("SYMPOSIUM_RECOMMENDATIONS", web.url("/r"))
        loaded = as_json("recommendations", "update")
        monkeypatch.setenv("SYMPOSIUM_RECOMMENDATIONS", web.url("/missing"))
        failed = run("recommendations", "update")
        in_json = run("recommendations", "update", "--json")
    (tmp_path / HOME).mkdir(exist_ok=True)
    answers = tmp_path / HOME / "recommendation-answers.json"
    answers.write_text('{"declined": ["a", "b"]}')

    assert loaded == {"recommendations": 1, "trouble": None}
    assert (failed[:2], "404" in failed[2]) == ((1, ""), True)
    assert in_json[0] == 1
    assert json.loads(in_json[1])["trouble"] == failed[2].rstrip("\n")
    assert run("recommendations", "forget") == (0, "", "forgot 2 declined recommendations\n")
    assert as_json("recommendations", "forget") == {"forgotten": 0}
