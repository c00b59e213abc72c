"""The list of requirements, from tests/requirements/*.toml."""

import tomllib
from pathlib import Path
from typing import Any, cast

PAGE = "reference/requirements.md"
ROWS = Path(__file__).parents[2] / "tests" / "requirements"

HEAD = """# Requirements

What holds, one row for each behaviour. A test proves each row, or the row says why it does not
apply; [both directions are checked](../how-to/add-a-requirement.md).
"""


def cell(text: str) -> str:
    """Text as it may stand between two bars of a table."""
    escaped = text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
    return " ".join(escaped.replace("[", "\\[").split())


def section(path: Path) -> str:
    """The rows of one file as a table."""
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    rows = cast("list[dict[str, Any]]", document.get("requirement", []))
    lines = [f"## {path.stem}", "", "| Id | What holds | Source |", "|---|---|---|"]
    for row in rows:
        reason = f" *Does not apply:* {cell(row['reason'])}" if "reason" in row else ""
        lines.append(f"| `{row['id']}` | {cell(row['text'])}{reason} | {cell(row['source'])} |")
    return "\n".join(lines)


def render() -> str:
    """The page, one section for each file of rows."""
    return "\n\n".join([HEAD.strip(), *(section(path) for path in sorted(ROWS.glob("*.toml")))])
