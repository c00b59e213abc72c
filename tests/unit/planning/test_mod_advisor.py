"""Recommendations for a workspace, from all sources together."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from tests.support.web import reply, serving

from localio.http_cache import CACHE_SECONDS
from symposium.config.paths import Paths, paths
from symposium.config.user_config import ModEntry
from symposium.planning.mod_advisor import Advice, Advisor
from symposium.planning.recommendation_sources import RemoteRecommendations
from symposium.planning.recommendations import RecommendationError

BUILT_INS = ("guidance", "ferris", "cargo")

STORED = '[[recommendation]]\nsource.local = { command = "./tools/mod.sh", args = ["cfg.json"] }\n'

Make: TypeAlias = Callable[..., Advisor]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir(mode=0o700)
    return tmp_path / "home"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "w" / ".symposium").mkdir(parents=True)
    return tmp_path / "w"


@pytest.fixture
def adviser(home: Path) -> Make:
    def make(address: str = "none", builtins: tuple[str, ...] = BUILT_INS) -> Advisor:
        env = {"SYMPOSIUM_HOME": str(home), "SYMPOSIUM_RECOMMENDATIONS": address}
        return Advisor(paths(env), env, lambda: builtins)

    return make


def homed(home: Path) -> Paths:
    return paths({"SYMPOSIUM_HOME": str(home)})


def recommends(name: str, when: str = "") -> str:
    return f'[[recommendation]]\nsource.npx = {{ package = "{name}" }}\n{when}\n'


def names(advice: Advice) -> list[str]:
    return [each.mod.name for each in advice.recommendations]


def offered(it: Advisor, workspace: Path, *mods: ModEntry) -> list[str]:
    changes = it.changes(it.advise(workspace), mods)
    return [each.recommendation.mod.name for each in changes.additions]


def store(workspace: Path, text: str) -> Path:
    file = workspace / ".symposium" / "recommendations.toml"
    file.write_text(text)
    return file


# -- who says so


@pytest.mark.requirement("recommendations.layers")
def test_our_own_list_suits_by_what_is_there(
    adviser: Make, workspace: Path, tmp_path: Path
) -> None:
    nothing_remote = tmp_path / "none.toml"
    nothing_remote.write_text("")
    it = adviser(str(nothing_remote))
    assert offered(it, workspace) == ["guidance"]
    (workspace / "Cargo.toml").write_text("")
    assert offered(it, workspace) == list(BUILT_INS)
    assert offered(adviser(str(nothing_remote), ("cargo",)), workspace) == ["cargo"]


@pytest.mark.requirement("recommendations.layers")
def test_remote_user_and_workspace_are_put_together(
    adviser: Make, home: Path, workspace: Path, tmp_path: Path
) -> None:
    remote = tmp_path / "remote.toml"
    remote.write_text(recommends("one") + recommends("two"))
    (home / "config").mkdir()
    users = recommends("two", 'when.file-exists = "no"')
    (home / "config" / "recommendations.toml").write_text(users)
    it = adviser(str(remote), ())
    assert offered(it, workspace) == ["one"]
    store(workspace, recommends("three") + recommends("four", 'when.file-exists = "no"'))
    it.trust.grant(it.advise(workspace).items)
    assert offered(it, workspace) == ["one", "three"]
    assert names(it.advise(workspace)) == ["one", "two", "three", "four"]


@pytest.mark.requirement("recommendations.format", "recommendations.layers")
def test_broken_file_is_reported_and_the_others_are_used(
    adviser: Make, home: Path, workspace: Path, tmp_path: Path
) -> None:
    (home / "config").mkdir()
    (home / "config" / "recommendations.toml").write_bytes(b"\xff")
    store(workspace, "[[")
    odd = tmp_path / "odd.toml"
    odd.write_text(recommends("one") + "[[recommendation]]\nsource.npx = 3\n")
    listed = adviser(str(odd)).advise(workspace)
    assert "one" in names(listed)
    assert [each for each in listed.problems if each.startswith("remote: ")] != []
    remote = tmp_path / "remote.toml"
    remote.write_text(recommends("one") + '[[recommendation]]\nsource.builtin = "unheard-of"\n')
    advice = adviser(str(remote)).advise(workspace)
    assert names(advice) == [*BUILT_INS, "one"]
    file = home / "config" / "recommendations.toml"
    file.unlink()
    file.mkdir()
    it = adviser(str(remote))
    (home / "trust.json").write_text("{")
    problems = it.advise(workspace).problems
    assert it.trust.problem is not None
    assert it.trust.problem in problems
    assert any(f"{file}: " in each and "Is a directory" in each for each in problems)
    told = " | ".join(advice.problems)
    for part in ("user: ", "no built-in mod 'unheard-of'", ".symposium/recommendations.toml: "):
        assert part in told


# -- the remote file


class Clock:
    """A time that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def remote_of(it: RemoteRecommendations) -> list[str]:
    return [each.mod.name for each in it.here().recommendations]


@pytest.mark.requirement("recommendations.remote-cache")
def test_the_remote_file_is_kept_and_asked_for_with_its_etag(home: Path) -> None:
    clock = Clock()
    with serving() as web:
        web.answers["/r.toml"] = reply(recommends("one").encode(), headers={"ETag": '"1"'})
        it = RemoteRecommendations(web.url("/r.toml"), homed(home), clock=clock)
        assert (remote_of(it), it.is_stale) == ([], True)
        assert asyncio.run(it.refresh()) == ""
        assert (remote_of(it), it.is_stale) == (["one"], False)
        clock.now += CACHE_SECONDS
        assert it.is_stale
        web.answers["/r.toml"] = reply(b"", status=304)
        assert asyncio.run(it.refresh()) == ""
        assert web.asked[-1][1]["If-None-Match"] == '"1"'
        assert (remote_of(it), it.is_stale) == (["one"], False)
        web.answers["/r.toml"] = reply(recommends("two").encode())
        asyncio.run(it.refresh())
    assert remote_of(it) == ["two"]


@pytest.mark.parametrize("answer", [reply(b"", status=500), reply(b"[["), reply(b"\xff")])
@pytest.mark.requirement("recommendations.remote-cache")
def test_what_cannot_be_had_or_read_leaves_the_copy(home: Path, answer: Any) -> None:
    with serving() as web:
        web.answers["/r.toml"] = reply(recommends("one").encode())
        it = RemoteRecommendations(web.url("/r.toml"), homed(home))
        asyncio.run(it.refresh())
        web.answers["/r.toml"] = answer
        assert asyncio.run(it.refresh()) != ""
    assert asyncio.run(it.refresh()) != ""
    assert remote_of(it) == ["one"]
    other = RemoteRecommendations("https://elsewhere/r", homed(home))
    assert remote_of(other) == []


@pytest.mark.requirement("recommendations.remote-cache")
def test_a_damaged_copy_counts_as_none(home: Path) -> None:
    with serving() as web:
        web.answers["/r.toml"] = reply(recommends("one").encode())
        it = RemoteRecommendations(web.url("/r.toml"), homed(home))
        asyncio.run(it.refresh())
    (copy,) = (each for each in home.rglob("*") if each.is_file())
    copy.write_bytes(copy.read_bytes().replace(b"[[recommendation", b"[[[recommendation"))

    assert (remote_of(it), it.is_stale) == ([], True)


@pytest.mark.requirement("recommendations.remote-cache")
def test_a_cache_that_cannot_be_written_is_reported(home: Path) -> None:
    (home / "cache").write_text("")
    with serving() as web:
        it = RemoteRecommendations(web.url("/r.toml"), homed(home))

        assert "File exists" in asyncio.run(it.refresh())


@pytest.mark.requirement("recommendations.remote-cache")
def test_a_file_of_recommendations_is_never_stale(home: Path) -> None:
    (home / "mine.toml").write_text(recommends("one"))
    it = RemoteRecommendations(str(home / "mine.toml"), homed(home))

    assert (it.is_stale, asyncio.run(it.refresh()), remote_of(it)) == (False, "", ["one"])


@pytest.mark.requirement("recommendations.layers")
@pytest.mark.parametrize("content", [None, b"\xff"])
def test_error_names_the_file_of_recommendations_that_cannot_be_read(
    home: Path, content: bytes | None
) -> None:
    file = home / "mine.toml"
    if content is not None:
        file.write_bytes(content)

    with pytest.raises(RecommendationError, match=f"^{file}: "):
        RemoteRecommendations(str(file), homed(home)).here()


@pytest.mark.requirement("recommendations.remote-cache")
def test_without_network_and_copy_our_own_list_counts(adviser: Make, workspace: Path) -> None:
    it = adviser("http://somewhere.invalid/r.toml")
    assert "not https" in asyncio.run(it.remote.refresh())
    assert offered(it, workspace) == ["guidance"]


# -- what a workspace stores


@pytest.mark.requirement("recommendations.workspace-untrusted")
def test_what_a_workspace_recommends_waits_for_trust(adviser: Make, workspace: Path) -> None:
    store(workspace, recommends("evil"))
    it = adviser()
    advice = it.advise(workspace)
    assert names(advice) == []
    (question,) = advice.questions
    assert [each.detail for each in question.item.effects] == ["npx -y evil"]
    it.trust.grant(advice.items)
    assert offered(it, workspace) == ["evil"]
    store(workspace, recommends("Evil"))
    (question,) = it.advise(workspace).questions
    assert '+source.npx = { package = "Evil" }' in question.changes
    assert offered(it, workspace) == []


@pytest.mark.requirement("recommendations.workspace-untrusted", "recommendations.programs-copied")
def test_a_stored_program_is_judged_too_and_started_from_a_copy(
    adviser: Make, workspace: Path, home: Path
) -> None:
    (workspace / "tools").mkdir()
    program = workspace / "tools" / "mod.sh"
    program.write_text("#!/bin/sh\necho good\n")
    (workspace / "cfg.json").write_text("{}")
    store(workspace, STORED)
    it = adviser()
    items = it.advise(workspace).items
    assert [item.name for item in items] == [
        ".symposium/recommendations.toml",
        "tools/mod.sh",
        "cfg.json",
    ]
    it.trust.grant(items)
    (found,) = it.advise(workspace).recommendations
    assert found.mod.source is not None
    detail = found.mod.source.value
    copy = Path(detail["command"])
    assert copy.is_relative_to(home / "trusted")
    assert copy.read_text() == program.read_text()
    assert copy.stat().st_mode & 0o777 == 0o500
    assert Path(detail["args"][0]).read_text() == "{}"
    program.write_text("#!/bin/sh\necho evil\n")
    assert copy.read_text() == "#!/bin/sh\necho good\n"
    advice = it.advise(workspace)
    assert names(advice) == []
    assert [question.item.name for question in advice.questions] == ["tools/mod.sh"]


@pytest.mark.requirement("recommendations.programs-copied")
def test_a_program_that_cannot_be_copied_is_a_problem_and_not_started(
    adviser: Make, workspace: Path, home: Path
) -> None:
    (workspace / "tools").mkdir()
    (workspace / "tools" / "mod.sh").write_text("#!/bin/sh\n")
    (workspace / "cfg.json").write_text("{}")
    store(workspace, STORED)
    it = adviser()
    it.trust.grant(it.advise(workspace).items)
    (home / "trusted").write_text("")

    advice = it.advise(workspace)

    assert names(advice) == []
    (problem,) = advice.problems
    assert problem.startswith("a copy of a stored program cannot be made: ")


@pytest.mark.requirement("recommendations.workspace-untrusted")
def test_stored_recommendations_that_are_not_text_are_a_problem(
    adviser: Make, workspace: Path
) -> None:
    store(workspace, "")
    (workspace / ".symposium" / "recommendations.toml").write_bytes(b"\xff")

    assert adviser().advise(workspace).problems == (
        ".symposium/recommendations.toml: it is not UTF-8",
    )


@pytest.mark.requirement("recommendations.programs-copied")
def test_only_files_of_the_workspace_are_copied(adviser: Make, workspace: Path) -> None:
    (workspace / "folder").mkdir()
    (workspace.parent / "outside.json").write_text("{}")
    text = 'command = "./missing", args = ["../outside.json", "folder", "serve"]'
    store(workspace, f"[[recommendation]]\nsource.local = {{ {text} }}\n")
    it = adviser()
    items = it.advise(workspace).items
    it.trust.grant(items)

    (found,) = it.advise(workspace).recommendations

    assert [item.name for item in items] == [".symposium/recommendations.toml"]
    assert found.mod.source is not None
    assert found.mod.source.value["args"] == ["../outside.json", "folder", "serve"]


@pytest.mark.requirement("recommendations.workspace-untrusted")
def test_a_workspace_may_recommend_a_built_in_mod(adviser: Make, workspace: Path) -> None:
    store(workspace, '[[recommendation]]\nsource.builtin = "cargo"\n')
    it = adviser()
    it.trust.grant(it.advise(workspace).items)

    assert offered(it, workspace) == ["cargo"]


@pytest.mark.parametrize(
    "detail",
    [
        'command = "{w}/tools/mod.sh"',
        'command = "/proc/self/root{w}/tools/mod.sh"',
        'command = "{link}/tools/mod.sh"',
        'command = "node", args = ["--require={w}/x.js"]',
        'command = "node", env = {{ NODE_OPTIONS = "--require={w}/x.js" }}',
        'command = "./fifo"',
        'command = "node", args = ["a\\\\u0000b"]',
    ],
)
@pytest.mark.requirement("recommendations.programs-copied")
def test_a_command_that_leads_into_the_workspace_otherwise_is_not_used(
    adviser: Make, workspace: Path, tmp_path: Path, detail: str
) -> None:
    os.mkfifo(workspace / "fifo")
    (tmp_path / "link").symlink_to(workspace)
    text = detail.format(w=workspace, link=tmp_path / "link").replace("\\\\", "\\")
    store(workspace, f"[[recommendation]]\nsource.local = {{ {text} }}\n" + recommends("other"))
    it = adviser()
    it.trust.grant(it.advise(workspace).items)
    advice = it.advise(workspace)
    assert names(advice) == ["other"]
    assert len(advice.problems) == 1
    if str(workspace) in detail.format(w=workspace, link="") and "fifo" not in detail:
        assert "leads into the workspace by its whole path" in advice.problems[0]
        assert str(workspace) in advice.problems[0]


@pytest.mark.requirement("recommendations.programs-copied")
def test_a_program_of_path_stays_one_though_a_file_is_called_the_same(
    adviser: Make, workspace: Path
) -> None:
    (workspace / "node").write_text("evil")
    store(workspace, '[[recommendation]]\nsource.local = { command = "node" }\n')
    it = adviser()
    it.trust.grant(it.advise(workspace).items)
    (found,) = it.advise(workspace).recommendations
    assert found.mod.source is not None
    assert found.mod.source.value["command"] == "node"


@pytest.mark.requirement("recommendations.answers-kept")
def test_what_was_declined_is_not_offered_again(adviser: Make, workspace: Path) -> None:
    store(workspace, recommends("one") + recommends("two"))
    it = adviser()
    it.trust.grant(it.advise(workspace).items)
    changes = it.changes(it.advise(workspace), [])
    it.memory.decline([changes.additions[0].recommendation.identity])
    assert offered(adviser(), workspace) == ["two"]
