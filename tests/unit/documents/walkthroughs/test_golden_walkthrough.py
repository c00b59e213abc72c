"""A walkthrough with every kind of block, compared with its recorded output in each form."""

import re
from pathlib import Path
from typing import Final

import pytest
from tests.support.fake_ide import FakeIde
from tests.support.git_repository import GitRepository

from symposium.documents.walkthroughs.page import Facts, page
from symposium.documents.walkthroughs.rendering import Presentation, present
from symposium.documents.walkthroughs.terminal import fault_lines, text_lines

GOLDEN: Final = Path(__file__).parents[3] / "golden" / "walkthrough"


def recorded(name: str) -> str:
    return (GOLDEN / name).read_text(encoding="utf-8")


@pytest.fixture
def repository(tmp_path: Path) -> GitRepository:
    made = GitRepository(tmp_path / "repo")
    made.write(
        "src/a.py", "one\ndef two():\n    three\ndef four(): '<i>'\nfive\nsix\nseven\neight\n"
    )
    made.write("many.py", "x\n" * 10)
    made.write("long.py", "".join(f"line {number}\n" for number in range(1, 71)))
    made.write("old.py", "same\n" * 20)
    made.commit()
    made.write(
        "src/a.py", "one\ndef two():\n    3 & 4\ndef four(): '<i>'\nfive\nsix\nseven\neight\n"
    )
    made.write("picture.bin", "\0")
    made.write("blank.py", "")
    made.git("mv", "old.py", "new.py")
    made.commit()
    return made


async def presented(repository: GitRepository) -> Presentation:
    numbers = iter(range(100))
    return await present(
        recorded("tour.md"),
        str(repository.path),
        FakeIde(),
        new_id=lambda: f"id-{next(numbers)}",
    )


@pytest.mark.requirement("walkthroughs.recorded")
async def test_a_walkthrough_is_shown_as_recorded(repository: GitRepository) -> None:
    shown = await presented(repository)
    whole = page(shown.resolved, Facts(["version <3>"]))
    bare = re.sub(r"<(style|script)>.*?</\1>", r"<\1></\1>", whole, flags=re.DOTALL)
    lines = [*text_lines(shown.resolved), *fault_lines(shown.diagnostics)]
    found = {
        "page.html": re.sub(r"sha256-[\w+/]+=*", "sha256", bare).replace("><", ">\n<"),
        "fragment.html": shown.html.replace("><", ">\n<"),
        "lines.txt": "".join(f"{line.tone:8}{line.text}\n" for line in lines),
    }

    for name, text in found.items():
        assert text.replace(str(repository.path), "REPOSITORY") == recorded(name), name
