"""`symposium walkthrough`: output, files, and exit codes."""

import json
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.support.git_repository import GitRepository

from localio.text import minute_of
from symposium.__main__ import main
from symposium.documents.walkthroughs.store import (
    HOW_ONE_COMES,
    Draft,
    StoredWalkthrough,
    WalkthroughStore,
    project_folder,
)

GOOD = "# Good\n\n```comment\nlocation: lines(`a.py`, 1, 1)\n\nhere\n```\n"
BAD = "# Bad\n\n[x](gone.py)\n\n```comment\nlocation: search(`a.py`, `nowhere`)\n\nhere\n```\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = GitRepository(tmp_path / "repo")
    made.write("a.py", "def spam(): ...\n")
    made.write("good.md", GOOD)
    made.write("bad.md", BAD)
    made.commit()
    monkeypatch.chdir(made.path)
    monkeypatch.setenv("SYMPOSIUM_HOME", str(tmp_path / "home"))
    return made.path


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(main, ["walkthrough", *map(str, words)])


def stored(project: Path, tmp_path: Path, markdown: str = GOOD) -> StoredWalkthrough:
    store = WalkthroughStore(project_folder(tmp_path / "home", project))
    return store.save(Draft(markdown, str(project)))


@pytest.mark.requirement("walkthroughs.cli-list", "front.json-times")
def test_list_shows_stored_walkthroughs_newest_first(project: Path, tmp_path: Path) -> None:
    nothing = run("list")
    first, second = stored(project, tmp_path), stored(project, tmp_path, BAD)
    table = run("list").stdout.splitlines()
    told = json.loads(run("list", "--json").stdout)

    assert (nothing.exit_code, nothing.stdout) == (0, "")
    assert nothing.stderr == (f"no walkthroughs are stored for this project\n  {HOW_ONE_COMES}\n")
    changed = [minute_of(each.created_at).split() for each in (second, first)]
    assert [line.split() for line in table] == [
        ["ID", "VERSION", "CHANGED", "IN", "TITLE"],
        [second.id, "1", *changed[0], "repo", "Bad"],
        [first.id, "1", *changed[1], "repo", "Good"],
    ]
    assert [(each["id"], each["title"]) for each in told] == [
        (second.id, "Bad"),
        (first.id, "Good"),
    ]
    assert all(each["createdAt"].endswith("+00:00") for each in told)


@pytest.mark.requirement("walkthroughs.cli-show")
def test_show_prints_a_stored_walkthrough_or_a_file(project: Path, tmp_path: Path) -> None:
    known = stored(project, tmp_path)
    shown = [run("show", *words) for words in ([], [known.id], ["good.md"])]
    assert [(each.exit_code, each.stderr) for each in shown] == [(0, "")] * 3
    assert len({each.stdout for each in shown}) == 1
    assert "> " in shown[0].stdout
    assert "def spam(): ..." in shown[0].stdout
    assert "\x1b" not in shown[0].stdout

    store = WalkthroughStore(project_folder(tmp_path / "home", project))
    store.save(Draft("# Later", str(project), id=known.id))
    sources = [
        run("show", *words, "--markdown")
        for words in (
            *([], [known.id], ["--version", "1"], [known.id, "--version", "1"], ["bad.md"]),
        )
    ]
    assert [(each.exit_code, each.stdout) for each in sources] == [
        *((0, "# Later\n"), (0, "# Later\n"), (0, GOOD), (0, GOOD), (0, BAD)),
    ]


@pytest.mark.requirement("walkthroughs.cli-show")
def test_stored_walkthrough_is_shown_with_the_code_below_another_base(
    project: Path, tmp_path: Path
) -> None:
    stored(project, tmp_path)
    other = GitRepository(tmp_path / "other").path
    (other / "a.py").write_text("def eggs(): ...\n")
    WalkthroughStore(project_folder(tmp_path / "home", other)).save(Draft(GOOD, str(project)))

    assert "def eggs(): ..." in run("show", "--base", other).stdout
    assert "def eggs(): ..." in run("show", project / "good.md", "--base", other).stdout


@pytest.mark.requirement("walkthroughs.cli-worktrees")
def test_walkthroughs_of_other_worktrees_are_listed_and_shown(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    linked = tmp_path / "elsewhere" / "task"
    GitRepository(project).git("worktree", "add", "-q", str(linked))
    here = stored(project, tmp_path)
    there = stored(linked, tmp_path, BAD)
    for place in (project, linked, linked / "deeper"):
        place.mkdir(exist_ok=True)
        monkeypatch.chdir(place)
        told = json.loads(run("list", "--json").stdout)
        assert [each["id"] for each in told] == [there.id, here.id]
        assert run("show", there.id, "--markdown").stdout == BAD
        assert run("show", here.id, "--markdown").stdout == GOOD
        assert run("show", "--markdown").stdout == BAD


@pytest.mark.requirement("walkthroughs.cli-worktrees")
def test_invalid_git_file_hides_no_walkthroughs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYMPOSIUM_HOME", str(tmp_path / "home"))
    odd = tmp_path / "odd"
    odd.mkdir()
    (odd / ".git").write_bytes(b"\xff nonsense")
    known = stored(odd, tmp_path)
    monkeypatch.chdir(odd)
    assert run("show", known.id, "--markdown").stdout == GOOD


@pytest.mark.requirement("walkthroughs.cli-show")
def test_missing_walkthrough_has_its_own_exit_code(project: Path) -> None:
    (project / "binary.md").write_bytes(b"\xff")
    shows = "symposium walkthrough list shows all"
    missing = "cannot read gone.md: [Errno 2] No such file or directory: 'gone.md'"
    decoding = "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"
    named = "  name a Markdown file\n"
    for words, said in (
        (["show"], f"no walkthrough is stored here\n  {HOW_ONE_COMES}\n"),
        (["show", "0123abcd"], f"unknown walkthrough '0123abcd'\n  {shows}\n"),
        (["check", "gone.md"], f"{missing}\n{named}"),
        (["export", "gone.md"], f"{missing}\n{named}"),
        (["show", "binary.md"], f"cannot read binary.md: {decoding}\n{named}"),
    ):
        result = run(*words)
        assert (result.exit_code, result.stdout) == (4, "")
        assert result.stderr == f"symposium: {said}"
    assert not (project / "walkthrough.html").exists()


@pytest.mark.requirement("walkthroughs.cli-check")
def test_check_exits_with_1_when_a_location_is_missing(project: Path) -> None:
    good, bad = run("check", "good.md"), run("check", "bad.md")
    told = json.loads(run("check", "bad.md", "--json").stdout)

    assert (good.exit_code, good.stdout) == (0, "line 3: comment: ok\n")
    assert (bad.exit_code, bad.stderr) == (1, "2 checked, 2 not found\n")
    assert [(each["line"], each["kind"], each["status"]) for each in told] == [
        (3, "link", "error"),
        (5, "comment", "empty"),
    ]
    assert (project / "a.py").exists()


@pytest.mark.requirement("walkthroughs.cli-check")
def test_language_servers_are_used_only_when_enabled(project: Path) -> None:
    (project / "symbol.md").write_text("```comment\nlocation: findDefinition(`x`)\n\ny\n```\n")
    result = run("check", "symbol.md", "--no-servers")

    assert result.exit_code == 1
    assert "language servers are off" in result.stdout


@pytest.mark.requirement("walkthroughs.cli-check")
def test_paths_are_relative_to_the_base(project: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    assert run("check", "good.md", "--base", elsewhere).exit_code == 1
    assert run("check", project / "good.md", "--base", project).exit_code == 0


@pytest.mark.requirement("walkthroughs.cli-export")
def test_export_writes_one_private_page(project: Path, tmp_path: Path) -> None:
    stored(project, tmp_path)
    result = run("export", "-o", "tour.html")
    page = project / "tour.html"

    assert (result.exit_code, result.stdout) == (0, "tour.html\n")
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    text = page.read_text(encoding="utf-8")
    assert "<title>Good</title>" in text
    assert "<span>version 1</span><span>repo</span>" in text
    assert run("export").stdout == "walkthrough.html\n"


@pytest.mark.requirement("walkthroughs.cli-export")
def test_export_never_overwrites_the_walkthrough(project: Path) -> None:
    result = run("export", "good.md", "-o", "./good.md")

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.endswith("good.md is the walkthrough itself; name another file with -o\n")
    assert (project / "good.md").read_text(encoding="utf-8") == GOOD
