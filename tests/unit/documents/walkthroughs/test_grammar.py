"""Parsing of walkthroughs: blocks in each form, and links."""

from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposium.documents.walkthroughs.document import (
    ActionBlock,
    Block,
    CodeLink,
    CommentBlock,
    DiagramBlock,
    DiffBlock,
    Span,
    WalkthroughError,
    code_link,
    converted,
)
from symposium.documents.walkthroughs.grammar import (
    MAX_BLOCKS,
    MAX_CHARACTERS,
    parameters,
    parse_walkthrough,
)
from symposium.documents.walkthroughs.rendering import markup


def blocks(markdown: str) -> list[Block]:
    return [each.block for each in parse_walkthrough(markdown).blocks]


def shown(markdown: str) -> str:
    return markup(parse_walkthrough(markdown).tokens, lambda number: f"[{number}]")


@pytest.mark.requirement("walkthroughs.w7")
@pytest.mark.parametrize(
    ("body", "values", "content"),
    [
        (
            "location: x\nicon: gear\n\ntext\nmore\n",
            {"location": "x", "icon": "gear"},
            "text\nmore",
        ),
        (
            "exclude_unstaged: true\nexclude-staged:\n",
            {"exclude_unstaged": "true", "exclude-staged": ""},
            "",
        ),
        ("only text\n", {}, "only text"),
        ("\ntext: kept\n", {}, "text: kept"),
        ("a: 1\na: 2\n", {"a": "2"}, ""),
        ('range:"HEAD"\n', {"range": '"HEAD"'}, ""),
        ("a:b:c\n", {"a": "b:c"}, ""),
        (
            "location: x\nNote: swallowed\nnot a parameter\n",
            {"location": "x", "Note": "swallowed"},
            "not a parameter",
        ),
        ("https://a.b\n", {"https": "//a.b"}, ""),
        ("größe: 1\n\nx", {"größe": "1"}, "x"),
        (": no key\n", {}, ": no key"),
        ("", {}, ""),
    ],
)
def test_parameters_are_read_line_by_line(body: str, values: dict[str, str], content: str) -> None:
    assert parameters(body) == (values, content)


def diff(text: str, *, staged: bool = True, unstaged: bool = True) -> DiffBlock:
    return DiffBlock(text, excludes_unstaged=not unstaged, excludes_staged=not staged)


FORMS = [
    ("```comment\nlocation: x\nicon: gear\n\nhi\n```", CommentBlock("x", "gear", "hi")),
    ("```comment\nhi there\n```", CommentBlock("", None, "hi there")),
    ("``` comment \nhi\n```", CommentBlock("", None, "hi")),
    ("~~~gitdiff\nrange: HEAD\nexclude-unstaged: false\n~~~", diff("HEAD", unstaged=False)),
    ("```gitdiff\nrange:HEAD\nexclude_staged\n```", diff("HEAD", staged=False)),
    ("```gitdiff\nrange:HEAD\nexclude_staged:\n```", diff("HEAD", staged=False)),
    ("```action\nbutton: Go\n\nnow\n```", ActionBlock("Go", "now")),
    ("```action\nnow\n```", ActionBlock("Action", "now")),
    ("```mermaid\ngraph TD\nA: 1\n```", DiagramBlock("graph TD\nA: 1")),
    (
        "<comment location=\"search(`a`, `b`)\" icon='info'>\nhi\n\nthere\n</comment>",
        CommentBlock("search(`a`, `b`)", "info", "hi\n\nthere"),
    ),
    (
        '<comment location="lines(&quot;a&quot;, 1, 2)">x</comment>',
        CommentBlock('lines("a", 1, 2)', None, "x"),
    ),
    ('<comment\n  location="a"\n>x</comment>', CommentBlock("a", None, "x")),
    (
        '<gitdiff range="HEAD~1..HEAD" exclude-unstaged exclude-staged/>',
        diff("HEAD~1..HEAD", unstaged=False, staged=False),
    ),
    ('<gitdiff range="HEAD"></gitdiff>', diff("HEAD")),
    ('<action button="Go">now</action>', ActionBlock("Go", "now")),
    ("<mermaid>\ngraph TD\nA-->B\n</mermaid>", DiagramBlock("graph TD\nA-->B")),
    ('gitdiff(range="HEAD~2..HEAD", exclude-unstaged)', diff("HEAD~2..HEAD", unstaged=False)),
    ("gitdiff(range='HEAD')", diff("HEAD")),
]


@pytest.mark.requirement("walkthroughs.forms")
@pytest.mark.parametrize(("markdown", "block"), FORMS)
def test_a_block_is_read_in_each_of_its_forms(markdown: str, block: Block) -> None:
    assert blocks(f"before\n{markdown}\nafter\n") == [block]
    assert shown(f"before\n{markdown}\nafter") == "<p>before</p>\n[0]<p>after</p>\n"


@pytest.mark.requirement("walkthroughs.forms")
@pytest.mark.parametrize(
    "markdown",
    [
        "```Comment\nx\n```",
        "```comment foo\nx\n```",
        "    ```comment\n    x\n    ```",
        "```text\n<comment>x</comment>\n```",
        "`<comment>x</comment>`",
        "text <comment>x</comment>",
        "    <comment>x</comment>",
        "<comments>x</comments>",
        "say gitdiff(range='HEAD') twice",
    ],
)
def test_text_that_looks_like_a_block_is_text(markdown: str) -> None:
    assert blocks(markdown) == []


@pytest.mark.requirement("walkthroughs.forms")
def test_blocks_are_parsed_in_lists_and_quotes() -> None:
    found = blocks(
        "- one\n  ```action\n  now\n  ```\n- <action>then</action>\n\n"
        "> <mermaid>\n> A-->B\n> </mermaid>"
    )

    assert found == [
        ActionBlock("Action", "now"),
        ActionBlock("Action", "then"),
        DiagramBlock("A-->B"),
    ]


@pytest.mark.requirement("walkthroughs.w5")
def test_blocks_without_blank_lines_split_a_paragraph() -> None:
    found = shown(
        "one\n```comment\nlocation: findDefinition(`a`)\n\nx\n```\n"
        "two\n```gitdiff\nrange:HEAD\n```\nthree"
    )

    assert found == "<p>one</p>\n[0]<p>two</p>\n[1]<p>three</p>\n"


@pytest.mark.requirement("walkthroughs.forms")
def test_elements_on_one_line_are_all_read_and_what_follows_stays_text() -> None:
    document = parse_walkthrough("<action>a</action> <action>b</action> and *so* on\nnext\n")

    assert [each.line for each in document.blocks] == [1, 1]
    assert shown(document.markdown) == "[0][1]<p>and <em>so</em> on</p>\n<p>next</p>\n"


@pytest.mark.requirement("walkthroughs.unclosed")
def test_an_element_that_is_not_closed_is_text_and_is_noted() -> None:
    document = parse_walkthrough("one\n\n<comment location='x'>\nnever\n")

    assert document.blocks == []
    assert [(note.line, note.message) for note in document.notes] == [
        (3, "<comment location='x'>: the element is not closed")
    ]
    assert "&lt;comment" in shown(document.markdown)


@pytest.mark.requirement("walkthroughs.bounded")
def test_a_walkthrough_is_bounded_in_length_and_blocks() -> None:
    with pytest.raises(
        WalkthroughError,
        match=r"^the walkthrough has 200001 characters, more than 200000; split it$",
    ):
        parse_walkthrough("x" * (MAX_CHARACTERS + 1))
    with pytest.raises(
        WalkthroughError, match=r"^the walkthrough has 501 blocks, more than 500; split it$"
    ):
        parse_walkthrough("<action>a</action>\n" * (MAX_BLOCKS + 1))


@pytest.mark.requirement("walkthroughs.bounded")
def test_a_walkthrough_at_its_bounds_is_read() -> None:
    assert len(parse_walkthrough("<action>a</action>\n" * MAX_BLOCKS).blocks) == MAX_BLOCKS
    assert parse_walkthrough("x" * MAX_CHARACTERS).blocks == []


@pytest.mark.requirement("walkthroughs.bounded")
@pytest.mark.parametrize(
    "piece",
    ["[", "<comment ", "<comment>\n", "[a](", "[a](b ", "> ", "`", "*a_", '<comment a="', "- "],
)
def test_a_hostile_text_takes_no_more_than_a_moment(piece: str) -> None:
    # The time limit of the test is what it claims.
    parse_walkthrough(piece * (20_000 // len(piece)))


@pytest.mark.requirement("walkthroughs.no-crash")
@given(st.text() | st.text("<>/comentgidfar`~=\"' \n[]()!#:*_-\ud800\0"))
def test_no_text_does_anything_but_be_read(markdown: str) -> None:
    shown(markdown).encode()


U1 = [
    ("src/auth.ts?validateToken", "symposium:src/auth.ts?regex=validateToken"),
    ("src/a.rs?fn foo[T]", "symposium:src/a.rs?regex=fn%20foo%5BT%5D"),
    ("src/auth.ts#L42", "symposium:src/auth.ts?line=42"),
    ("src/auth.ts#L42-L50", "symposium:src/auth.ts?line=42-50"),
    # As our guidance writes them, and compilers do.
    ("src/jobs/nightly.py:40", "symposium:src/jobs/nightly.py?line=40"),
    ("src/jobs/nightly.py:40-58", "symposium:src/jobs/nightly.py?line=40-58"),
    ("src/jobs/nightly.py:40:7", "symposium:src/jobs/nightly.py?line=40"),
    ("src/auth.ts", "symposium:src/auth.ts"),
    ("https://example.com/a?b#L3", "https://example.com/a?b#L3"),
    ("http://example.com", "http://example.com"),
    ("mailto:a@b.c", "mailto:a@b.c"),
    ("#part", "#part"),
    ("symposium:a.rs?line=3", "symposium:a.rs?line=3"),
    ("dialectic:a.rs?line=3", "symposium:a.rs?line=3"),
    ("my file.rs", "symposium:my%20file.rs"),
    ("symposium:", None),
    ("javascript:alert(1)", None),
    (" JavaScript:alert(1)", None),
    ("data:text/html,x", None),
    ("file:///etc/passwd", None),
    ("ftp://a/b", None),
    ("", None),
]


@pytest.mark.requirement("walkthroughs.u1", "walkthroughs.link-schemes")
@pytest.mark.parametrize(("target", "url"), U1)
def test_what_is_written_becomes_a_url(target: str, url: str | None) -> None:
    assert converted(target) == url


@pytest.mark.requirement("walkthroughs.u2")
def test_links_in_code_are_left_alone() -> None:
    found = shown("`[a](b.rs)` and\n\n```\n[a](b.rs)\n```\n\n    [a](b.rs)\n")

    assert "<a" not in found
    assert found.count("[a](b.rs)") == 3


@pytest.mark.requirement("walkthroughs.u3")
@pytest.mark.parametrize(
    ("markdown", "url", "words"),
    [
        ("[a](src/a.rs?fn main() {)", "symposium:src/a.rs?regex=fn%20main%28%29%20%7B", "a"),
        ("[a](src/a.rs?impl [T])", "symposium:src/a.rs?regex=impl%20%5BT%5D", "a"),
        ("[`a`](src/a.rs?fn main( )", "symposium:src/a.rs?regex=fn%20main%28", "<code>a</code>"),
        ("[main.rs][]", "symposium:main.rs", "main.rs"),
        ("[utils.ts:42][]", "symposium:utils.ts#L42", "utils.ts:42"),
    ],
)
def test_links_that_commonmark_leaves_as_text_are_read(markdown: str, url: str, words: str) -> None:
    escaped = url.replace("&", "&amp;")

    assert shown(markdown) == f'<p><a href="{escaped}">{words}</a></p>\n'
    assert [link.url for link in parse_walkthrough(markdown).links] == [url]


@pytest.mark.requirement("walkthroughs.u3")
def test_other_brackets_stay_text() -> None:
    assert "<a" not in shown("[todo][] and [x] and [a b][] [c](javascript:x y)")
    assert "<a" not in shown("[w](https://example.com/a b) and [x](https://example.com/[y] z)")


@pytest.mark.requirement("walkthroughs.u4")
def test_several_links_in_one_text_are_parsed() -> None:
    found = [
        link.url
        for link in parse_walkthrough("see [a](a.rs?x y), [b](b.rs#L3) and [c.rs:4][].").links
    ]

    assert found == ["symposium:a.rs?regex=x%20y", "symposium:b.rs?line=3", "symposium:c.rs#L4"]


@pytest.mark.requirement("walkthroughs.link-urls")
@pytest.mark.parametrize(
    ("url", "link"),
    [
        ("symposium:a.rs", CodeLink("a.rs", None, None)),
        ("symposium:a%20b.rs?regex=fn%20x", CodeLink("a b.rs", "fn x", None)),
        ("symposium:a.rs?line=3", CodeLink("a.rs", None, Span(3))),
        ("symposium:a.rs?line=3:4", CodeLink("a.rs", None, Span(3, 4))),
        ("symposium:a.rs?line=3-9", CodeLink("a.rs", None, Span(3, None, 9))),
        ("symposium:a.rs?line=3:4-9:8", CodeLink("a.rs", None, Span(3, 4, 9, 8))),
        ("symposium:a.rs?regex=x&line=3&other=1", CodeLink("a.rs", "x", Span(3))),
        ("symposium:a.rs?line=x&line", CodeLink("a.rs", None, None)),
        ("symposium:a.rs#L4-L6", CodeLink("a.rs", None, Span(4, None, 6))),
        ("symposium:?line=3", None),
        ("https://a.rs", None),
    ],
)
def test_a_url_says_where_it_leads(url: str, link: CodeLink | None) -> None:
    assert code_link(url) == link


@pytest.mark.requirement("walkthroughs.link-urls")
@given(st.text().map(str.strip))
def test_what_was_looked_for_comes_back_from_the_url(pattern: str) -> None:
    link = code_link(converted(f"src/a.rs?{pattern}") or "")

    assert link == CodeLink("src/a.rs", unquote(pattern) or None, None)


@pytest.mark.requirement("walkthroughs.escaped")
def test_html_is_text_and_images_are_not_loaded() -> None:
    found = shown(
        "<script>alert(1)</script>\n\na <img src=x onerror=alert(1)> "
        "![*alt* \"](http://evil/x.png 't')\n\n"
        '<https://a.b/?"x> [x](<https://a.b/" onclick="x> "ti\\"tle")'
    )

    assert "<script" not in found
    assert "<img" not in found
    assert 'onclick="' not in found.replace("&quot;", "")
    assert 'title="http://evil/x.png"' in found


@pytest.mark.requirement("walkthroughs.tables")
def test_tables_are_read() -> None:
    assert "<td>1</td>" in shown("| a |\n|---|\n| 1 |\n")


@pytest.mark.requirement("walkthroughs.bounded")
def test_an_element_without_end_in_sight_stays_text() -> None:
    near, far = "x" * 90_000, "x" * 110_000

    assert len(parse_walkthrough(f"<action>{near}</action>\n").blocks) == 1
    assert parse_walkthrough(f"<action>{far}</action>\n").blocks == []


@pytest.mark.requirement("walkthroughs.bounded")
@pytest.mark.parametrize(("count", "notes"), [(100, 100), (101, 100)])
def test_the_first_hundred_notes_are_kept(count: int, notes: int) -> None:
    document = parse_walkthrough("<comment location='x'>\n\n" * count)

    assert len(document.notes) == notes
