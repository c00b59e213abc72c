"""Writes the pages that are made from the program; with --check only says which are out of date.

In the other pages it keeps the files that they show: a code block behind `<!-- shows PATH -->` is
that file, so that the page reads well as it is, and cannot differ from what runs.
"""

import importlib.util
import re
import sys
from pathlib import Path
from typing import Protocol, cast

DOCS = Path(__file__).parent
NOTE = "<!-- Made by docs/generate.py from {source}; `make fix` writes it anew. -->\n\n"


class Generator(Protocol):
    """What a module under docs/generators/ offers."""

    PAGE: str

    def render(self) -> str:
        """Return the page as Markdown, its heading first."""
        ...


def load(path: Path) -> Generator:
    """Import one generator by its path."""
    spec = importlib.util.spec_from_file_location(f"generators.{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return cast("Generator", module)


def pages() -> dict[Path, str]:
    """Each generated page, by where it stands."""
    found: dict[Path, str] = {}
    for path in sorted((DOCS / "generators").glob("*.py")):
        generator = load(path)
        page = DOCS / generator.PAGE
        assert page not in found, f"{path.name}: {generator.PAGE} is made by another generator"
        note = NOTE.format(source=f"docs/generators/{path.name}")
        found[page] = note + generator.render().strip() + "\n"
    return found


SHOWN = re.compile(r"(<!-- shows (\S+) -->\n```\w*\n).*?(?=^```$)", re.DOTALL | re.MULTILINE)


def showing() -> dict[Path, str]:
    """Each page that shows files, as it should be."""
    found: dict[Path, str] = {}
    for page in sorted(DOCS.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        shown = SHOWN.sub(lambda block: block[1] + _text_of(block[2]), text)
        if SHOWN.search(text):
            found[page] = shown
    return found


def _text_of(path: str) -> str:
    return (DOCS.parent / path).read_text(encoding="utf-8").rstrip("\n") + "\n"


def main(arguments: list[str]) -> int:
    """Write what differs, or name it."""
    different = [
        (page, text)
        for page, text in {**pages(), **showing()}.items()
        if not page.exists() or page.read_text(encoding="utf-8") != text
    ]
    if arguments == ["--check"]:
        for page, _ in different:
            print(f"docs/{page.relative_to(DOCS)} is out of date: make fix", file=sys.stderr)
        return 1 if different else 0
    for page, text in different:
        page.write_text(text, encoding="utf-8")
        print(f"wrote docs/{page.relative_to(DOCS)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
