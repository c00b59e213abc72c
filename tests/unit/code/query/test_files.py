"""Functions that look into files, on real ones, and within bounds."""

import os
from pathlib import Path
from typing import Any

import pytest
from tests.support.git_repository import GitRepository

from symposium.code.query import functions
from symposium.code.query import search as searching
from symposium.code.query.evaluator import Evaluation, run
from symposium.code.query.functions import DialectWorkspace, NoIde, workspace
from symposium.code.query.search import Wanted, search_files
from symposium.errors import SymposiumError

FIVE = "one\ntwo\nthree\nfour\nfive\n"


@pytest.fixture
def repository(tmp_path: Path) -> GitRepository:
    made = GitRepository(tmp_path / "repo")
    made.write("src/a.py", "x = 1\ndef login():\n    login()\n")
    made.write("src/b.rs", "fn login() {}\r\nfn other() {}\r\n")
    made.write("five.txt", FIVE)
    return made


async def evaluated(program: str, repository: GitRepository) -> Evaluation:
    return await run(program, NoIde(), workspace(str(repository.path)))


async def value(program: str, repository: GitRepository) -> Any:
    return (await evaluated(program, repository)).value


async def failure(program: str, repository: GitRepository) -> str:
    with pytest.raises(SymposiumError) as caught:
        await value(program, repository)
    return str(caught.value)


def hits(found: list[dict[str, Any]]) -> list[tuple[str, int, int, int]]:
    return [
        (each["path"], each["start"]["line"], each["start"]["column"], each["end"]["column"])
        for each in found
    ]


@pytest.mark.requirement("dialect.i16")
async def test_search_in_a_missing_path_finds_nothing(repository: GitRepository) -> None:
    found = await evaluated("search(`gone.py`, `x`)", repository)

    assert found.value == []
    assert found.hints[0].message == "gone.py does not exist"


@pytest.mark.requirement("dialect.search")
@pytest.mark.parametrize("extension", ["py", ".py"])
async def test_search_by_extension_reads_only_files_that_end_with_it(
    repository: GitRepository, extension: str
) -> None:
    (repository.path / "src" / "copy").write_text("def login\n")
    (repository.path / "src" / "happy").write_text("def login\n")

    found = await value(f"search(`src`, `login`, `{extension}`)", repository)

    assert {path for path, *_ in hits(found)} == {"src/a.py"}


@pytest.mark.requirement("dialect.search")
async def test_search_returns_the_first_hit_of_each_line(repository: GitRepository) -> None:
    found = await value(r"search(`src`, `(def|fn)?\s*login`)", repository)

    assert hits(found) == [
        ("src/a.py", 2, 1, 10),
        ("src/a.py", 3, 1, 10),
        ("src/b.rs", 1, 1, 9),
    ]
    assert [each["content"] for each in found] == ["def login():", "    login()", "fn login() {}"]
    assert hits(await value("search(`src/a.py`, `=`)", repository)) == [("src/a.py", 1, 3, 4)]


@pytest.mark.requirement("dialect.search")
async def test_a_search_keeps_an_ending_with_or_without_its_dot(repository: GitRepository) -> None:
    with_dot, without, whole = [
        await value(program, repository)
        for program in (
            "search(`.`, `login`, `.rs`)",
            "search(`.`, `login`, `rs`)",
            "searchFiles(`login`, `.`, `rs`)",
        )
    ]

    assert hits(with_dot) == hits(without) == hits(whole) == [("src/b.rs", 1, 4, 9)]


@pytest.mark.requirement("dialect.search-files")
async def test_ignored_hidden_binary_and_linked_files_are_left_out(
    repository: GitRepository, tmp_path: Path
) -> None:
    outside = tmp_path / "secret.py"
    outside.write_text("login", encoding="utf-8")
    repository.write(".gitignore", "build/\n*.log\n")
    repository.write("build/out.py", "login")
    repository.write("a.log", "login")
    repository.write(".env", "login")
    repository.write("src/bytes.py", "login\0")
    (repository.path / "src" / "latin.py").write_bytes("login é".encode("latin-1"))
    (repository.path / "src" / "link.py").symlink_to(outside)
    (repository.path / "away").symlink_to(tmp_path)

    assert {path for path, *_ in hits(await value("search(`.`, `login`)", repository))} == {
        "src/a.py",
        "src/b.rs",
    }


@pytest.mark.requirement("dialect.search-files")
async def test_without_git_only_what_is_hidden_is_left_out(tmp_path: Path) -> None:
    for name in ("a.py", ".hidden/b.py", "deep/c.py", "deep/.git/d.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("login", encoding="utf-8")
    found = await run("search(`.`, `login`)", NoIde(), DialectWorkspace(tmp_path))

    assert [path for path, *_ in hits(found.value)] == ["a.py", "deep/c.py"]


@pytest.mark.requirement("dialect.search-files")
async def test_files_are_listed_without_git_if_its_index_is_damaged(
    repository: GitRepository,
) -> None:
    (repository.path / ".git" / "index").write_bytes(b"damaged")

    found = await value("search(`.`, `login`)", repository)

    assert {path for path, *_ in hits(found)} == {"src/a.py", "src/b.rs"}


@pytest.mark.requirement("dialect.search-files")
async def test_without_git_only_so_many_entries_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abc":
        (tmp_path / f"{name}.py").write_text("login")
    monkeypatch.setattr(functions, "_MAX_ENTRIES", 2)

    found = await run("search(`.`, `login`)", NoIde(), DialectWorkspace(tmp_path))

    assert [path for path, *_ in hits(found.value)] == ["a.py", "b.py"]


@pytest.mark.requirement("dialect.find-files")
async def test_files_are_found_by_a_pattern(repository: GitRepository) -> None:
    repository.write("src/deep/c.py", "")

    assert await value("findFiles(`src/**/*.py`)", repository) == ["src/a.py", "src/deep/c.py"]
    assert await value("findFiles(`src/?.*`)", repository) == ["src/a.py", "src/b.rs"]
    assert await value("findFiles(`**`, `src/deep`)", repository) == ["src/deep/c.py"]
    assert await value("findFiles(`*`, `gone`)", repository) == []
    assert "more than" in await failure("findFiles(`*********`)", repository)


@pytest.mark.requirement("dialect.i21")
async def test_lines_are_joined_and_counted_from_one(repository: GitRepository) -> None:
    assert await value("lines(`five.txt`, 2, 4)", repository) == {
        "path": "five.txt",
        "start": {"line": 2, "column": 1},
        "end": {"line": 4, "column": len("four")},
        "content": "two\nthree\nfour",
    }


@pytest.mark.requirement("dialect.lines-bounds")
@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("lines(`five.txt`, 0, 2)", "invalid lines 0 to 2"),
        ("lines(`five.txt`, 3, 2)", "invalid lines 3 to 2"),
        ("lines(`five.txt`, 6, 9)", "five.txt has 5 lines"),
        ("lines(`five.txt`, 99999999999999999999999, 99999999999999999999999)", "has 5 lines"),
        ("lines(`gone.txt`, 1, 1)", "No such file"),
        ("lines(`src`, 1, 1)", "it is not a regular file"),
    ],
)
async def test_missing_lines_are_an_error(
    program: str, said: str, repository: GitRepository
) -> None:
    assert said in await failure(program, repository)
    assert (await value("lines(`five.txt`, 4, 99)", repository))["end"]["line"] == 5


@pytest.mark.requirement("house.odd-files")
@pytest.mark.timeout(240)
async def test_pipe_does_not_block(repository: GitRepository) -> None:
    os.mkfifo(repository.path / "pipe.txt")

    assert "it is not a regular file" in await failure("lines(`pipe.txt`, 1, 1)", repository)
    assert await value('search(`pipe.txt`, "a")', repository) == []


@pytest.mark.requirement("dialect.inside")
@pytest.mark.parametrize(
    "path",
    ["../secret.txt", "/etc/passwd", "src/../../secret.txt", "link.txt", "a\\0b", "x" * 5000],
)
async def test_nothing_outside_the_workspace_is_looked_at(
    path: str, repository: GitRepository, tmp_path: Path
) -> None:
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    (repository.path / "link.txt").symlink_to(tmp_path / "secret.txt")
    path = path.replace("\\0", "\0")
    for program in (
        f"lines('{path}', 1, 1)",
        f"search('{path}', `s`)",
        f"definitionAt('{path}', 1, 1)",
    ):
        try:
            found = await value(program, repository)
        except SymposiumError as error:
            found = str(error)
        assert "secret" not in str(found).replace("secret.txt", "")
        assert found == [] or isinstance(found, str)
    if path.startswith(("..", "/", "link")):
        assert f"{path} is outside the workspace" in await failure(
            f"lines('{path}', 1, 1)", repository
        )


@pytest.mark.requirement("dialect.inside")
async def test_another_folder_may_be_allowed(tmp_path: Path, repository: GitRepository) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.txt").write_text("word", encoding="utf-8")
    place = DialectWorkspace(repository.path, [other])
    found = await run(f"lines(`{other}/a.txt`, 1, 1)", NoIde(), place)

    assert found.value["path"] == str(other / "a.txt")


def searches_that_run() -> list[str]:
    """The children of this process that search."""
    return [
        child
        for thread in Path("/proc/self/task").iterdir()
        for child in (thread / "children").read_text().split()
        if b"search_worker" in Path(f"/proc/{child}/cmdline").read_bytes()
    ]


@pytest.mark.requirement("dialect.time-bound")
async def test_an_expression_that_never_ends_is_ended(
    repository: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "SEARCH_TIMEOUT", 0.5)
    repository.write("src/evil.txt", "a" * 60 + "!\n")

    assert "timed out after 0.5 s" in await failure(r"search(`src`, `(a+)+$`)", repository)
    assert not searches_that_run()


@pytest.mark.requirement("dialect.search-errors")
@pytest.mark.parametrize(
    ("regex", "said"),
    [("(", "'(': missing ), unterm"), ("x" * 1001, "more than 1000"), ("[z-a]", "'[z-a]': bad")],
)
async def test_invalid_expression_is_reported(
    regex: str, said: str, repository: GitRepository
) -> None:
    assert said in await failure(f"search(`src`, `{regex}`)", repository)
    assert said in await failure(f"search(`gone`, `{regex}`)", repository)


@pytest.mark.requirement("dialect.search-bounds")
async def test_large_files_and_many_hits_are_cut_off(repository: GitRepository) -> None:
    large = repository.write("large.txt", "x\n" * (3 * 1024 * 1024))
    many = repository.write("many.txt", "x\n" * 5000)
    wide = repository.write("wide.txt", "x" * 100_000)

    assert await search_files([large], Wanted("x")) == []
    assert len(await search_files([many], Wanted("x" + "y?" * 499 + "$"))) == searching.MAX_HITS
    assert len(await search_files([many], Wanted("x"))) == searching.MAX_HITS
    assert len((await search_files([wide], Wanted("x")))[0].content or "") == 1000


@pytest.mark.requirement("dialect.search")
async def test_a_whole_text_is_searched_across_lines_whatever_the_case(
    repository: GitRepository,
) -> None:
    path = repository.path / "five.txt"
    found = await search_files([path], Wanted(r"TWO\nthr|^f", is_whole=True))

    assert [(each.start.line, each.start.column, each.end.column) for each in found] == [
        (2, 1, 4),
        (4, 1, 2),
        (5, 1, 2),
    ]


@pytest.mark.requirement("dialect.i17")
async def test_diff_has_one_comment_target_for_each_line(repository: GitRepository) -> None:
    repository.write("three.txt", "one\ntwo\nthree\n")
    repository.commit()
    repository.write("three.txt", "one\n2\nthree\n")
    repository.commit()

    def line(kind: str, content: str, old: int | None, new: int | None) -> dict[str, Any]:
        return {
            "line_type": kind,
            "content": content,
            "old_line_number": old,
            "new_line_number": new,
        }

    assert await value("gitDiff(`HEAD~1..HEAD`)", repository) == {
        "files": [
            {
                "path": "three.txt",
                "status": "Modified",
                "additions": 1,
                "deletions": 1,
                "hunks": [
                    {
                        "header": "@@ -1,3 +1,3 @@",
                        "old_start": 1,
                        "old_lines": 3,
                        "new_start": 1,
                        "new_lines": 3,
                        "lines": [
                            line("Context", "one", 1, 1),
                            line("Removed", "two", 2, None),
                            line("Added", "2", None, 2),
                            line("Context", "three", 3, 3),
                        ],
                    }
                ],
            }
        ]
    }


@pytest.mark.requirement("dialect.base-uri")
def test_a_base_uri_is_a_path_or_a_file_uri(tmp_path: Path) -> None:
    folder = tmp_path / "a b"
    folder.mkdir()

    assert workspace(folder.as_uri()).root == workspace(str(folder)).root == folder
    with pytest.raises(SymposiumError, match="is not a folder"):
        workspace(str(tmp_path / "gone"))
    with pytest.raises(SymposiumError, match="is not a folder"):
        workspace("a\0b")
