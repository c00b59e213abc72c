"""Walkthroughs for the first protocol, and results of each block."""

import html
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.fake_ide import FakeIde
from tests.support.git_repository import GitRepository

from symposium.documents.walkthroughs import places
from symposium.documents.walkthroughs.grammar import parse_walkthrough
from symposium.documents.walkthroughs.places import BlockDiagnostic
from symposium.documents.walkthroughs.rendering import (
    MAX_DIFF_FILES,
    MAX_DIFF_LINES,
    Presentation,
    expression_text,
    fragment,
    icon_of,
    present,
)
from symposium.errors import SymposiumError


@pytest.fixture
def repository(tmp_path: Path) -> GitRepository:
    made = GitRepository(tmp_path / "repo")
    made.write("src/a.py", "one\ndef two():\n    three\ndef two_again(): ...\n")
    made.commit()
    made.append("src/a.py", "five\n")
    made.commit()
    return made


async def presented(markdown: str, repository: GitRepository) -> Presentation:
    return await present(markdown, str(repository.path), FakeIde(), new_id=lambda: "test-uuid")


def states(found: Presentation) -> list[tuple[str, str, int]]:
    return [(each.kind, each.status, each.count) for each in found.diagnostics]


class Tags(HTMLParser):
    """The elements of a text, with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def data_of(found: Presentation) -> dict[str, Any]:
    (data,) = [
        attrs["data-comment"] for _, attrs in Tags(found.html).found if "data-comment" in attrs
    ]
    return json.loads(data or "")


@pytest.mark.requirement("walkthroughs.w1")
async def test_a_comment_on_a_symbol_stands_at_its_definition(repository: GitRepository) -> None:
    found = await presented(
        "```comment\nlocation: findDefinition(`User`)\n\nwho\n```\n", repository
    )

    assert 'class="comment-item"' in found.html
    assert '<div class="comment-icon" style="margin-right:8px">💬</div>' in found.html
    assert re.search(r'class="comment-locations"[^>]*>src/models\.rs:10</div>', found.html)
    assert data_of(found) == {
        "id": "comment-test-uuid",
        "locations": [
            {
                "path": "src/models.rs",
                "start": {"line": 10, "column": 0},
                "end": {"line": 10, "column": 4},
                "content": "struct User {",
            }
        ],
        "comment": ["who"],
    }
    assert states(found) == [("comment", "ok", 1)]


@pytest.mark.requirement("walkthroughs.w2", "walkthroughs.w10", "walkthroughs.real-diffs")
async def test_a_diff_names_its_range_and_shows_what_changed(repository: GitRepository) -> None:
    found = await presented("```gitdiff\nrange: HEAD~1..HEAD\n```\n", repository)

    assert found.html.startswith('<div class="gitdiff-container">')
    assert ">HEAD~1..HEAD</div>" in found.html
    assert "src/a.py (Modified, +1" in found.html
    assert "\n+five</pre>" in found.html
    assert states(found) == [("gitdiff", "ok", 1)]


@pytest.mark.requirement("walkthroughs.real-diffs")
async def test_flags_of_a_diff_are_respected(repository: GitRepository) -> None:
    repository.write("staged.py", "x\n")
    repository.git("add", "staged.py")
    repository.write("unknown.py", "y\n")
    both, staged, unstaged = [
        (await presented(f'<gitdiff range="HEAD" {flags}/>', repository)).html
        for flags in ("", "exclude-unstaged", "exclude-staged")
    ]

    assert ["staged.py" in each for each in (both, staged, unstaged)] == [True, True, False]
    assert ["unknown.py" in each for each in (both, staged, unstaged)] == [True, False, True]


@pytest.mark.requirement("walkthroughs.w3", "walkthroughs.w11")
@pytest.mark.parametrize(
    "markdown", ["<action button='Go'>now</action>", "```action\nbutton: Go\n\nnow\n```"]
)
async def test_an_action_is_a_button_that_carries_its_message(
    markdown: str, repository: GitRepository
) -> None:
    found = await presented(markdown, repository)
    ((tag, attributes),) = Tags(found.html).found

    assert (tag, attributes["class"]) == ("button", "action-button")
    assert (attributes["data-tell-agent"], attributes["title"]) == ("now", "now")
    assert found.html.endswith(">Go</button>")


MIXED = """# Title

Some *text*.

```comment
location: findDefinition(`User`)
icon: lightbulb

why
```

```gitdiff
range: HEAD~1..HEAD
```

```action
button: Next

continue
```
"""


@pytest.mark.requirement("walkthroughs.w4")
async def test_a_mixed_document_keeps_its_order(repository: GitRepository) -> None:
    found = await presented(MIXED, repository)
    marks = [
        "<h1>Title</h1>",
        "<em>text</em>",
        "comment-item",
        "💡",
        "gitdiff-container",
        "data-tell-agent",
    ]

    assert [found.html.index(mark) for mark in marks] == sorted(
        found.html.index(mark) for mark in marks
    )
    assert [each.block for each in found.diagnostics] == [0, 1, 2]


@pytest.mark.requirement("walkthroughs.w6")
async def test_markdown_in_a_comment_is_sent_unchanged(repository: GitRepository) -> None:
    found = await presented(
        "```comment\nlocation:findDefinition(`User`)\n\nso *very* `much`\n```", repository
    )

    assert '<div class="comment-text">so *very* `much`</div>' in found.html


@pytest.mark.requirement("walkthroughs.w8")
async def test_the_arrows_of_a_diagram_are_untouched(repository: GitRepository) -> None:
    found = await presented("```mermaid\ngraph TD\nA-->B\nB-.->|<b>|C\n```", repository)

    assert found.html == "<mermaid>graph TD\nA-->B\nB-.->|&lt;b>|C</mermaid>"


@pytest.mark.requirement("walkthroughs.w9")
async def test_an_unknown_symbol_has_no_location(repository: GitRepository) -> None:
    found = await presented("```comment\nlocation: findDefinition(`foo`)\n\nx\n```", repository)

    assert re.search(r'comment-locations"[^>]*>no location</div>', found.html)
    assert re.search(r'comment-expression"[^>]*>`foo`</div>', found.html)
    assert data_of(found)["locations"] == []
    assert states(found) == [("comment", "empty", 0)]


@pytest.mark.requirement("walkthroughs.w12")
async def test_quoted_range_and_stray_fence_are_unchanged(
    repository: GitRepository,
) -> None:
    text = (
        '```gitdiff\nrange: "HEAD~1..HEAD"\n```\n\n'
        "```comment\nlocation: search(`src`, `def two\\(`)\nicon: rocket\n\nx\n```\n\n"
        "````\nstray"
    )
    found = await presented(text, repository)

    assert ">&quot;HEAD~1..HEAD&quot;</div>" in found.html
    assert "💬" in found.html
    assert "<pre><code>stray" in found.html
    assert states(found) == [("gitdiff", "ok", 1), ("comment", "ok", 1)]


@pytest.mark.requirement("walkthroughs.w13")
async def test_a_long_document_with_everything(repository: GitRepository) -> None:
    text = (
        MIXED
        + "```comment\nlocation: search(`src/a.py`, `three`)\n\nhere\n```\n\n"
        + "```mermaid\nsequenceDiagram\nA->>B: hi\n```\n\n"
        + "```action\nbutton: One\n\nfirst line\nsecond line\n```\n"
        + "```action\nbutton: Two\n\nx\n```\n"
    )
    found = await presented(text, repository)

    assert ">/three/</div>" in found.html
    assert 'data-tell-agent="first line\nsecond line"' in found.html
    assert "</button><button" in found.html
    assert [status for _, status, _ in states(found)] == ["ok"] * 7


@pytest.mark.requirement("walkthroughs.u5", "walkthroughs.locations")
@pytest.mark.parametrize(
    ("location", "expected", "status"),
    [
        ("lines(`src/a.py`, 2, 3)", ["src/a.py:2"], "ok"),
        ("search(`src`, `def two`)", ["src/a.py:2", "src/a.py:4"], "ambiguous"),
        ("findReferences(`User`)", ["src/auth.rs:5", "src/handlers.rs:23"], "ambiguous"),
        (
            "[lines(`src/a.py`, 1, 1), findDefinition(`User`)]",
            ["src/a.py:1", "src/models.rs:10"],
            "ambiguous",
        ),
        ('"lines(`src/a.py`, 1, 1)"', ["src/a.py:1"], "ok"),
        (
            "{path: 'src/a.py', start: {line: 3, column: 1}, end: {line: 3, column: 2}}",
            ["src/a.py:3"],
            "ok",
        ),
        ("gitDiff(`HEAD`)", [], "empty"),
        ("search(`gone.py`, `x`)", [], "empty"),
        ("", [], "empty"),
        ("findDefinition(", [], "error"),
        ("lines(`src/a.py`, 0, 0)", [], "error"),
        ("lines(`../out.py`, 1, 1)", [], "error"),
    ],
)
async def test_a_location_is_one_place_or_a_list(
    location: str, expected: list[str], status: str, repository: GitRepository
) -> None:
    found = await presented(f"```comment\nlocation: {location}\n\nx\n```", repository)
    (told,) = found.diagnostics

    assert [
        f"{each.path}:{each.start.line}" for each in found.resolved.locations.get(0, ())
    ] == expected
    assert (told.status, told.is_fault) == (status, status in {"empty", "error"})
    assert told.message or not told.is_fault


@pytest.mark.requirement("walkthroughs.diagnostics")
async def test_each_of_several_places_is_named_and_can_be_written_instead(
    repository: GitRepository,
) -> None:
    repository.write('src/odd "name.py', "def two\n" * 12)
    text = (
        "```comment\nlocation: search(`src`, `def two`)\n\nx\n```\n\n[a](src/a.py?two)\n\n"
        "```comment\nlocation: search(`src/a.py`, `two`)\n\nx\n```\n"
    )
    many, link, few = (await presented(text, repository)).diagnostics

    assert (many.status, many.count, len(many.replacements)) == ("ambiguous", 14, 10)
    assert many.message.endswith(", …")
    assert (few.status, few.count) == ("ambiguous", 2)
    assert few.message == "found at src/a.py:2, src/a.py:4"
    assert few.replacements == ['lines("src/a.py", 2, 2)', 'lines("src/a.py", 4, 4)']
    assert link.replacements == ["src/a.py#L2", "src/a.py#L4"]
    for written in (*many.replacements, *few.replacements):
        (told,) = (
            await presented(f"```comment\nlocation: {written}\n\nx\n```", repository)
        ).diagnostics
        assert (told.status, told.count) == ("ok", 1), written


@pytest.mark.requirement("walkthroughs.diagnostics")
async def test_missing_place_is_reported_with_its_line_and_a_fix(
    repository: GitRepository,
) -> None:
    text = (
        "[a](src/a.py?def two) [b](gone.py) [c](src/a.py?nowhere) [d](src/a.py#L99) "
        "[e](src/a.py?nowhere)\n\n"
        "```comment\nlocation: findDefinition(`validateToken`)\n\nx\n```\n\n"
        "```comment\nlocation: foo bar\n\nsee [f](lost.py)\n```\n\n"
        "<comment location='x'>\n\n"
        "```gitdiff\nrange: nothing..HEAD\n```\n\n```action\nbutton: x\n```\n\n```gitdiff\n```\n"
    )
    found = await presented(text, repository)
    told = [(each.line, each.kind, each.status, each.block) for each in found.diagnostics]
    said = {(each.line, each.status): each for each in found.diagnostics}

    assert [each for each in told if each[0] > 1] == [
        (3, "comment", "ambiguous", 0),
        (9, "comment", "error", 1),
        (9, "link", "error", None),
        (15, "text", "error", None),
        (17, "gitdiff", "error", 2),
        (21, "action", "empty", 3),
        (25, "gitdiff", "empty", 4),
    ]
    assert sorted(status for line, _, status, _ in told if line == 1) == [
        *("ambiguous", "empty", "error", "error"),
    ]
    assert said[3, "ambiguous"].replacements[0] == 'findDefinition("validateToken", "src/auth.rs")'
    assert any("^" in each.message for each in found.diagnostics if each.block == 1)


@pytest.mark.requirement("walkthroughs.diagnostics")
async def test_timeout_is_reported(
    repository: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "LOCATE_TIMEOUT", -1.0)
    found = await presented("```gitdiff\nrange: HEAD\n```", repository)

    assert "timed out after" in found.diagnostics[0].message


@pytest.mark.requirement("walkthroughs.links-resolved")
async def test_links_are_looked_up_like_places(repository: GitRepository) -> None:
    text = (
        "[a](src/a.py?DEF TWO\\() [b](src/a.py#L2-L3) [c](src/a.py) "
        "[d](symposium:src/a.py?regex=gone&line=3) [e](src)"
    )
    found = await presented(text, repository)
    where = {
        url: [(each.path, each.start.line, each.end.line) for each in targets]
        for url, targets in found.resolved.targets.items()
    }

    assert where == {
        "symposium:src/a.py?regex=DEF%20TWO%5C%28": [("src/a.py", 2, 2)],
        "symposium:src/a.py?line=2-3": [("src/a.py", 2, 3)],
        "symposium:src/a.py": [("src/a.py", 1, 1)],
        "symposium:src/a.py?regex=gone&line=3": [("src/a.py", 3, 3)],
        "symposium:src": [("src", 1, 1)],
    }


@pytest.mark.requirement("walkthroughs.base")
async def test_base_that_is_not_a_folder_is_rejected(repository: GitRepository) -> None:
    with pytest.raises(SymposiumError, match="is not a folder"):
        await present("x", str(repository.path / "gone"), FakeIde())


HOSTILE = [
    "100% of \"it\" <b> & 'all'",
    "</div><script>alert(1)</script>",
    "%3Cscript%3E %",
    '" onclick="alert(1)" data-x="',
    "&quot; &#34; &lt;script&gt;",
    "]]> --> <!-- ${x} {{x}}",
]


@pytest.mark.requirement("walkthroughs.hostile-comments")
@pytest.mark.parametrize("text", HOSTILE)
async def test_odd_signs_in_a_comment_reach_the_viewer_as_they_are(
    text: str, repository: GitRepository
) -> None:
    body = f"```comment\nlocation: search(`src`, `{text[:5]}`)\nicon: {text}\n\n{text}\n```"
    found = await presented(body, repository)
    tags = Tags(found.html).found

    assert data_of(found)["comment"] == [text]
    assert {tag for tag, _ in tags} == {"div"}
    assert all(name in {"class", "style", "data-comment"} for _, attrs in tags for name in attrs)
    raw = next(attrs["data-comment"] for _, attrs in tags if "data-comment" in attrs) or ""
    # Viewers of the first protocol decode it as a URI before they read it.
    assert json.loads(unquote(raw, errors="strict"))["comment"] == [text]
    assert "%" not in raw


@pytest.mark.requirement("walkthroughs.hostile")
@given(st.text() | st.sampled_from(HOSTILE))
def test_nothing_that_is_written_becomes_markup(text: str) -> None:
    line = " ".join(text.split())
    document = parse_walkthrough(
        f"{text}\n\n```mermaid\n{line}\n```\n\n```action\nbutton: {line}\n\n{line}\n```\n\n"
        f"```gitdiff\nrange: {line}\n```\n\n[{line}]({line}) [x]({line})\n\n![{line}]({line})\n"
    )
    resolved = places.Resolved(document, places.DialectWorkspace(Path("/")), {}, {}, {}, [])
    found = Tags(fragment(resolved, lambda: "x")).found

    assert not {tag for tag, _ in found} & {
        "script",
        "iframe",
        "img",
        "object",
        "style",
        "svg",
        "base",
    }
    for _, attributes in found:
        assert not any(name.startswith("on") for name in attributes)
        assert (attributes.get("href") or "#").startswith(("#", "symposium:", "http", "mailto:"))


@pytest.mark.requirement("walkthroughs.hostile")
async def test_what_the_code_says_is_text_in_a_diff(repository: GitRepository) -> None:
    repository.write("<b>.py", "<script>alert(1)</script>\n")
    found = await presented("```gitdiff\nrange: HEAD\n```", repository)

    assert {tag for tag, _ in Tags(found.html).found} == {"div", "details", "summary", "pre"}
    assert "+&lt;script&gt;alert(1)&lt;/script&gt;" in found.html


@pytest.mark.requirement("walkthroughs.wording")
@pytest.mark.parametrize(
    ("location", "text"),
    [
        ("search(`src`, `fn a`)", "/fn a/"),
        ('search("src", "x", "rs")', "/x/"),
        ("findDefinition(`a`)", "`a`"),
        ("findDefinitions(`a`)", "findDefinitions(`a`)"),
        ("findReferences(`a`)", "References to `a`"),
        ("lines(`a.py`, 3, 9)", "`a.py:3-9`"),
        ("foo(", "foo("),
        ("[1]", "[1]"),
    ],
)
def test_a_location_is_put_in_words(location: str, text: str) -> None:
    assert expression_text(location) == text


@pytest.mark.requirement("walkthroughs.wording")
def test_each_icon_has_its_sign() -> None:
    names = ["info", "lightbulb", "gear", "warning", "question", "rocket", None]

    assert [icon_of(name) for name in names] == ["ℹ️", "💡", "⚙️", "⚠️", "❓", "💬", "💬"]  # noqa: RUF001 - a sign


@pytest.mark.requirement("walkthroughs.bounded")
async def test_a_huge_diff_is_sent_in_part(repository: GitRepository) -> None:
    for number in range(60):
        repository.write(f"many/{number}.txt", "word\n" * (2000 if number == 0 else 1))
    found = await presented("```gitdiff\nrange: HEAD\n```", repository)

    assert "… 10 more files" in found.html
    assert "… 1600 more lines" in html.unescape(found.html)


@pytest.mark.requirement("walkthroughs.small-diagnostic")
def test_a_diagnostic_is_small_where_all_is_well() -> None:
    assert msgspec.to_builtins(BlockDiagnostic("action", 3, "ok", 0)) == {
        "kind": "action",
        "line": 3,
        "status": "ok",
        "block": 0,
    }


@pytest.mark.requirement("walkthroughs.w10")
@pytest.mark.parametrize(("count", "more"), [(MAX_DIFF_LINES, 0), (MAX_DIFF_LINES + 1, 1)])
async def test_lines_of_a_diff_are_shown_up_to_the_limit(
    count: int, more: int, repository: GitRepository
) -> None:
    repository.write("src/new.py", "x\n" * count)
    repository.commit()
    found = await presented("```gitdiff\nrange: HEAD~1..HEAD\n```\n", repository)

    assert found.html.count("+x") == MAX_DIFF_LINES
    assert ("… 1 more lines" in found.html) == bool(more)


@pytest.mark.requirement("walkthroughs.w10")
@pytest.mark.parametrize(("count", "more"), [(MAX_DIFF_FILES, 0), (MAX_DIFF_FILES + 1, 1)])
async def test_files_of_a_diff_are_shown_up_to_the_limit(
    count: int, more: int, repository: GitRepository
) -> None:
    for number in range(count):
        repository.write(f"src/new{number}.py", "x\n")
    repository.commit()
    found = await presented("```gitdiff\nrange: HEAD~1..HEAD\n```\n", repository)

    assert found.html.count('class="gitdiff-file"') == MAX_DIFF_FILES
    assert ("… 1 more files" in found.html) == bool(more)
