"""Page and terminal output of a walkthrough: complete, placed, and escaped."""

import gzip
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import pytest
from tests.support.fake_ide import FakeIde
from tests.support.git_repository import GitRepository

from symposium.code.ide_operations import CodePosition, CodeRange
from symposium.documents.walkthroughs import terminal
from symposium.documents.walkthroughs.page import MERMAID, Facts, page
from symposium.documents.walkthroughs.places import BlockDiagnostic, DialectWorkspace, Resolved
from symposium.documents.walkthroughs.rendering import MAX_LINE, MAX_LINES, Excerpts, present
from symposium.documents.walkthroughs.terminal import PLAIN, fault_lines, text_lines

TOUR = """# Tour <b>

See [a](src/a.py?def two) and [lost](gone.py) and [web](https://a.b/?c="d).

```comment
location: lines(`src/a.py`, 2, 3)
icon: gear

Some *words* about [this](src/a.py#L4).
```

```comment
location: search(`src`, `def`)

many
```

```comment
location: findDefinition(`nobody`)

none
```

```gitdiff
range: HEAD~1..HEAD
```

```gitdiff
range: nothing
```

```action
button: Go </button>

<script>now</script>
```
"""


@pytest.fixture
def repository(tmp_path: Path) -> GitRepository:
    made = GitRepository(tmp_path / "repo")
    made.write("src/a.py", "one\ndef two():\n    three\ndef four(): '<i>'\n")
    made.commit()
    made.append("src/a.py", "five & six\n")
    made.commit()
    return made


async def resolved(markdown: str, repository: GitRepository) -> Resolved:
    return (await present(markdown, str(repository.path), FakeIde())).resolved


class Elements(HTMLParser):
    """The elements of a page, and the texts of its scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
        self.styles: list[str] = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
        for each in self.scripts:
            text = text.replace(each, "")
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def count(self, tag: str) -> int:
        """Number of elements with a tag."""
        return sum(each == tag for each, _ in self.found)

    def policy(self) -> str:
        """Content security policy of the page."""
        return next(a["content"] or "" for _, a in self.found if a.get("http-equiv"))


def hashed(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


@pytest.mark.requirement("walkthroughs.page")
async def test_a_page_holds_everything_and_asks_for_nothing(repository: GitRepository) -> None:
    found = page(await resolved(TOUR, repository), Facts(["version 3"]))
    elements = Elements(found)

    assert found.startswith("<!DOCTYPE html>")
    assert "<title>Tour &lt;b&gt;</title>" in found
    assert "<span>version 3</span>" in found
    assert not {tag for tag, _ in elements.found} & {
        "link",
        "img",
        "iframe",
        "object",
        "base",
        "form",
    }
    assert not [attrs for _, attrs in elements.found if "src" in attrs or "style" in attrs]
    assert (elements.count("script"), elements.count("style")) == (1, 1)


@pytest.mark.requirement("walkthroughs.page-policy")
async def test_the_policy_of_a_page_names_what_may_run_by_its_hash(
    repository: GitRepository,
) -> None:
    plain = Elements(page(await resolved(TOUR, repository)))
    drawn = Elements(page(await resolved("```mermaid\nA-->B</script>\n```", repository)))

    for each in (plain, drawn):
        named = re.search(r"script-src ([^;]*)", each.policy())
        assert named is not None
        assert named[1].split() == [hashed(text) for text in each.scripts]
        assert each.policy().startswith("default-src 'none'; ")
    assert hashed(plain.styles[0]) in plain.policy()
    assert "unsafe" not in plain.policy()
    assert "'unsafe-eval'" not in drawn.policy()
    assert (plain.count("script"), drawn.count("script")) == (1, 2)


@pytest.mark.requirement("walkthroughs.page-placed")
async def test_code_is_next_to_its_comment(repository: GitRepository) -> None:
    found = page(await resolved(TOUR, repository))
    first, second, third = re.findall(r'<section class="comment".*?</section>', found, re.DOTALL)

    assert "<code>src/a.py:2</code>" in first
    assert first.count("<tr class=meant>") == 2
    assert "<code>def two():</code>" in first
    assert "Some <em>words</em>" in first
    assert second.count("<details>") == 2
    assert "no location was found" in third


@pytest.mark.requirement("walkthroughs.page-placed")
async def test_links_lead_to_the_code_at_the_end(repository: GitRepository) -> None:
    found = page(await resolved(TOUR, repository))

    assert '<a class="place" href="#place-0" title="src/a.py:2">a</a>' in found
    assert '<a class="dead" title="this was not found">lost</a>' in found
    assert '<a href="https://a.b/?c=&quot;d" rel="noreferrer noopener">web</a>' in found
    assert '<a class="place" href="#place-1" title="src/a.py:4">this</a>' in found
    assert [found.count(f'<details id="place-{number}">') for number in (0, 1, 2)] == [1, 1, 0]


@pytest.mark.requirement("walkthroughs.page-facts")
async def test_a_page_tells_what_was_counted_and_what_was_not_found(
    repository: GitRepository,
) -> None:
    repository.write("src/b.py", "x\n")
    repository.commit()
    found = page(await resolved(TOUR.replace("HEAD~1..HEAD", "HEAD~2..HEAD"), repository))

    assert "<span>3 comments</span><span>1 of 2 changed files commented on</span>" in found
    assert "3 things could not be found" in found
    assert "line 3, link: gone.py does not exist" in found
    assert "unknown commit &#x27;nothing&#x27;" in found


@pytest.mark.requirement("walkthroughs.page-escaped")
async def test_what_was_written_and_what_is_in_the_code_is_text(repository: GitRepository) -> None:
    repository.write("src/evil.py", "</td></table><script>alert(1)</script>\n")
    repository.write('src/<img src=x onerror="x">.py', "x\n")
    text = TOUR + (
        "\n<comment location='lines(`src/evil.py`, 1, 1)'>\n</div><script>x</script>\n</comment>\n"
        '\n<comment location="search(`src`, `^x`)">y</comment>\n\n```gitdiff\nrange: HEAD\n```\n'
        "\n```mermaid\ngraph TD\nA[</script><script>alert(1)</script>]\n```\n"
        "\n```comment\nlocation: findDefinition(<img src=x>)\n\nx\n```\n"
        '\n![<img src=x onerror="x">](https://a.b/c.png) ![](https://a.b/<img/src=x>.png)\n'
        "\n[l](src/%3Cimg%20src=x%20onerror=%22x%22%3E.py)\n"
        '\n```comment\nlocation: lines(`src/<img src=x onerror="x">.py`, 1, 1)\n\nx\n```\n'
    )
    whole = await present(text, str(repository.path), FakeIde())
    facts = Facts(['<img src=x onerror="x">'])
    elements = Elements(page(whole.resolved, facts))
    shown = Elements(whole.html)

    assert (elements.count("script"), elements.count("style")) == (2, 1)
    assert not [
        attrs
        for _, attrs in (*elements.found, *shown.found)
        if any(name.startswith("on") for name in attrs)
    ]
    assert not {"img", "script"} & {tag for tag, _ in shown.found}
    assert "img" not in {tag for tag, _ in elements.found}
    assert elements.count("details") > 1


@pytest.mark.requirement("walkthroughs.page-escaped")
async def test_marks_of_the_template_mean_nothing_in_a_walkthrough(
    repository: GitRepository,
) -> None:
    text = "# <!--scripts-->\n\n`/*style*/` <!--places--> <!--body-->"
    found = page(await resolved(text, repository), Facts(["<!--policy-->"]))

    assert "<h1>&lt;!--scripts--&gt;</h1>" in found
    assert "<code>/*style*/</code>" in found
    assert found.count("<script>") == 1


@pytest.mark.requirement("walkthroughs.mermaid")
def test_diagram_renderer_is_unchanged() -> None:
    packed = files("symposium.documents.walkthroughs").joinpath(MERMAID).read_bytes()
    script = gzip.decompress(packed)
    licence = (
        files("symposium.documents.walkthroughs")
        .joinpath("mermaid/LICENSE")
        .read_text(encoding="utf-8")
    )

    assert sha256(script).hexdigest() == (
        "07e37dfa97b337ccc85365d57eddf99b9706f09db3b59b260d0333b23b343c4b"
    )
    assert len(packed) < 900_000
    # Otherwise it could not be in a page, or its hash would differ from the one in the browser.
    assert not re.search(rb"</script|<!--<script|\r|\0", script, re.IGNORECASE)
    assert licence.startswith("The MIT License")


@pytest.mark.requirement("walkthroughs.excerpts")
def test_excerpt_has_context_lines(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("".join(f"{n}\n" for n in range(1, 101)), encoding="utf-8")
    (tmp_path / "wide.py").write_text("x" * 5000, encoding="utf-8")
    (tmp_path.parent / "out.py").write_text("secret", encoding="utf-8")
    excerpts = Excerpts(DialectWorkspace(tmp_path))

    def lines(path: str, first: int, last: int) -> list[int]:
        where = CodeRange(path, CodePosition(first, 1), CodePosition(last, 1))
        return [line.number for line in excerpts.of(where).lines]

    assert lines("a.py", 10, 11) == [*range(7, 15)]
    assert lines("a.py", 1, 1) == [1, 2, 3, 4]
    assert lines("a.py", 100, 100) == [97, 98, 99, 100]
    assert lines("a.py", 10, 90) == [*range(7, 10 + MAX_LINES)]
    assert lines("a.py", 500, 501) == []
    assert lines("../out.py", 1, 1) == []
    assert lines("gone.py", 1, 1) == []
    wide = excerpts.of(CodeRange("wide.py", CodePosition(1, 1), CodePosition(1, 2)))
    assert len(wide.lines[0].text) == MAX_LINE + 1


@pytest.mark.requirement("walkthroughs.excerpts")
async def test_a_huge_file_makes_no_huge_page(repository: GitRepository) -> None:
    repository.write("huge.py", "word\n" * 2_000_000)
    repository.write("long.py", "word\n" * 100_000)
    text = (
        "<comment location='lines(`long.py`, 1, 99999)'>x</comment>\n\n"
        "<comment location='lines(`huge.py`, 1, 1)'>x</comment>\n\n```gitdiff\nrange: HEAD\n```\n"
    )

    found = page(await resolved(text, repository))

    assert len(found) < 1_000_000
    assert found.count("the file cannot be shown") == 1


@pytest.mark.requirement("walkthroughs.terminal")
async def test_lines_for_a_terminal_show_code_diffs_and_what_is_missing(
    repository: GitRepository,
) -> None:
    found = [(line.text, line.tone) for line in text_lines(await resolved(TOUR, repository), PLAIN)]

    for expected in [
        ("# Tour <b>", "heading"),
        ("⚙️ src/a.py:2", "heading"),
        ("| Some *words* about [this](src/a.py#L4).", "plain"),
        ("|      1  one", "faint"),
        ("| >    2  def two():", "meant"),
        ("| src/a.py:4", "faint"),
        ("| no location was found", "fault"),
        ("Changes HEAD~1..HEAD", "heading"),
        ("| +five & six", "add"),
        ("|  def two():", "plain"),
        ("[ Go </button> ] tells the agent:", "heading"),
        ("| <script>now</script>", "plain"),
    ]:
        assert expected in found
    assert not any("```" in text for text, _ in found)


@pytest.mark.requirement("walkthroughs.terminal")
async def test_what_controls_a_terminal_is_shown_instead(repository: GitRepository) -> None:
    repository.write("src/evil.py", "\x1b]0;title\x07\n")
    where = "lines(`src/evil.py`, 1, 1)"
    text = f"# \x1b[2J\n\n<comment location='{where}'>\x1b[31m</comment>\n\nx\x9b1m\n"
    whole = await resolved(text, repository)
    hint = BlockDiagnostic("link", 1, "error", message="a\nb\x1b[2J", replacements=["\x1b[2J"])
    lines = [*text_lines(whole), *fault_lines([*whole.diagnostics, hint])]

    assert not [line for line in lines if re.search("[\x00-\x1f\x7f-\x9f]", line.text)]
    assert lines[0].text == "# ␛[2J"


@pytest.mark.requirement("walkthroughs.terminal")
async def test_faults_have_one_line_each_with_a_fix(repository: GitRepository) -> None:
    text = (
        "```comment\nlocation: findDefinition(`validateToken`)\n\nx\n```\n\n"
        "```comment\nlocation: a b\n```"
    )
    lines = list(fault_lines((await resolved(text, repository)).diagnostics))

    assert lines[0].text.startswith("line 1: comment: ambiguous (2): findDefinition")
    assert lines[1].text == '    or: findDefinition("validateToken", "src/auth.rs")'
    assert (lines[3].tone, lines[3].text[:24]) == ("fault", "line 7: comment: error: ")
    assert lines[4].text == "      a b"


@pytest.mark.requirement("walkthroughs.terminal")
async def test_a_long_diff_is_cut_off_in_a_terminal(repository: GitRepository) -> None:
    repository.write("full.py", "x\n" * terminal.MAX_DIFF_LINES)
    repository.write("many.py", "x\n" * (terminal.MAX_DIFF_LINES + 1))
    found = text_lines(await resolved("```gitdiff\nrange: HEAD\n```", repository), PLAIN)
    added = ["| +x"] * terminal.MAX_DIFF_LINES

    assert [line.text for line in found] == [
        "Changes HEAD",
        *("| full.py (added, +80 -0)", "| @@ -0,0 +1,80 @@", *added),
        *("| many.py (added, +81 -0)", "| @@ -0,0 +1,81 @@", *added),
        "| more changes are not shown",
    ]
