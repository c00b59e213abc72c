"""Walkthrough page in a real browser, Chromium, without network.

Without Chromium these tests are skipped, with that reason.
"""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from tests.support.browser import CHROMIUM, FAULTS, Browser, started_browser
from tests.support.git_repository import GitRepository

from symposium.code.query.functions import NoIde
from symposium.documents.walkthroughs.page import page
from symposium.documents.walkthroughs.rendering import present

pytestmark = [
    pytest.mark.requirement("walkthroughs.page-browser"),
    pytest.mark.skipif(
        CHROMIUM is None, reason="no Chromium here; on Debian: apt-get install chromium"
    ),
]

HOSTILE = "</script><script>document.title='taken'</script><img src=http://x.y/ onerror=alert(1)>"
LONG = "a_very_long_name_" * 20
TOUR = f"""# Tour {HOSTILE}

[in code](src/a.py?def spam) [away](javascript:document.title='taken') ![x](http://x.y/z.png)

```mermaid
flowchart LR
A["{HOSTILE.replace('"', "")}"] --> B[two]
click A "javascript:document.title='taken'"
```

```mermaid
%%{{init: {{"securityLevel": "loose", "themeCSS": "* {{ background: url(http://x.y/) }}"}}}}%%
sequenceDiagram
Alice->>Bob: <img src=http://x.y/ onerror=alert(1)>
```

```mermaid
no diagram at all
```

```comment
location: search(`src/a.py`, `def spam`)

{HOSTILE} {LONG}
```

```gitdiff
range: HEAD~1..HEAD
```

```action
button: {HOSTILE}

{HOSTILE}
```
"""


@pytest.fixture
def browser() -> Generator[Browser, None, None]:
    with started_browser() as tab:
        yield tab


@pytest.fixture
async def tour(tmp_path: Path) -> Path:
    repository = GitRepository(tmp_path / "repo")
    repository.write("src/a.py", f"one\ndef spam():\n    return '{LONG}'\n")
    repository.commit()
    repository.write("src/a.py", f"one\ndef spam():\n    return '{HOSTILE}'\nnew\n")
    repository.commit()
    found = await present(TOUR, str(repository.path), NoIde())
    out = tmp_path / "tour.html"
    out.write_text(page(found.resolved), encoding="utf-8")
    return out


def faults(browser: Browser) -> list[dict[str, Any]]:
    found = [event for event in browser.events if event["method"] in FAULTS]
    return [event for event in found if not is_refused_while_parsed(event)]


def is_refused_while_parsed(event: dict[str, Any]) -> bool:
    """Whether the content policy refused an inline handler in text that DOMPurify parses.

    It parses in a document that runs nothing; Chromium 156 reports the refusal even so.
    """
    entry = event["params"].get("entry", {})
    frames = entry.get("stackTrace", {}).get("callFrames", [])
    return (
        entry.get("source") == "security"
        and entry["text"].startswith("Executing inline event handler violates")
        and [frame["functionName"] for frame in frames[:2]] == ["_initDocument", "e.sanitize"]
    )


def requests(browser: Browser) -> set[str]:
    asked = [e for e in browser.events if e["method"] == "Network.requestWillBeSent"]
    return {e["params"]["request"]["url"].partition(":")[0] for e in asked}


def is_drawn(browser: Browser) -> None:
    assert browser.drawn("document.body.dataset.drawn === ''")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_draws_its_diagrams_and_executes_nothing(
    scheme: str, browser: Browser, tour: Path
) -> None:
    browser.open(tour, scheme=scheme)
    is_drawn(browser)

    assert browser.look("document.querySelectorAll('.drawing svg').length") == 2
    assert browser.look("document.querySelectorAll('.drawing a, .drawing img').length") == 0
    assert browser.texts(".diagram:not(.drawn) .missing")[0].startswith("This diagram cannot be")
    assert browser.look("document.title") == f"Tour {HOSTILE}"
    assert HOSTILE in browser.texts(".action pre")
    assert browser.look("document.querySelectorAll('img, iframe, [onerror]').length") == 0
    assert faults(browser) == []
    assert requests(browser) <= {"file", "about"}


@pytest.mark.parametrize("width", [390, 1280])
def test_page_fits_its_window(width: int, browser: Browser, tour: Path) -> None:
    browser.open(tour, width=width)
    is_drawn(browser)
    browser.look("document.querySelectorAll('details').forEach((each) => { each.open = true })")

    assert browser.look("document.documentElement.scrollWidth <= innerWidth")
    browser.press("s")
    assert browser.look("document.documentElement.scrollWidth <= innerWidth")


def test_diff_switches_between_unified_and_side_by_side(browser: Browser, tour: Path) -> None:
    browser.open(tour)
    is_drawn(browser)
    rows = (
        "[...document.querySelectorAll('.split tbody tr:not(.hunk)')]"
        ".map((row) => [...row.cells].map((each) => each.textContent))"
    )
    browser.press("s")
    sides = browser.look(rows)
    is_pressed = browser.look("document.querySelector('.sides').getAttribute('aria-pressed')")
    browser.press("s")

    assert is_pressed == "true"
    assert [row[0::2] for row in sides] == [["1", "1"], ["2", "2"], ["3", "3"], ["", "4"]]
    assert (sides[2][1][:12], sides[2][3], sides[3][3]) == (
        "    return '",
        f"    return '{HOSTILE}'",
        "new",
    )
    assert browser.look("document.querySelector('.split').hidden")


def test_keys_move_between_comments_and_links_unfold_code(browser: Browser, tour: Path) -> None:
    browser.open(tour)
    is_drawn(browser)
    browser.press("j")
    browser.look("document.querySelector('a.place').click()")

    assert browser.look("document.querySelector('.comment').className") == "comment here"
    assert browser.drawn("document.querySelector('#place-0').open")


def test_everything_is_printed(browser: Browser, tour: Path) -> None:
    browser.open(tour)
    is_drawn(browser)
    browser.look("window.dispatchEvent(new Event('beforeprint'))")
    closed = browser.look("document.querySelectorAll('details:not([open])').length")
    browser.look("window.dispatchEvent(new Event('afterprint'))")

    assert closed == 2
    assert browser.look("document.querySelectorAll('#places details[open]').length") == 0
    assert browser.tell("Page.printToPDF", {"printBackground": True})["data"]
