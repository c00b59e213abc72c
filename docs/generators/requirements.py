"""Generate the page of requirements, from tests/requirements/*.toml."""

import tomllib
from pathlib import Path
from typing import Any, cast

PAGE = "reference/requirements.md"
ROWS = Path(__file__).parents[2] / "tests" / "requirements"

HEAD = """# Requirements

One row per required behavior. Each row has a test, or a reason why it does not apply;
[both directions are checked](../how-to/add-a-requirement.md).
"""


def cell(text: str) -> str:
    """Text escaped for a cell of a table."""
    escaped = text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
    return " ".join(escaped.replace("[", "\\[").split())


def section(path: Path) -> str:
    """Rows of one file, as a table."""
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    rows = cast("list[dict[str, Any]]", document.get("requirement", []))
    lines = [f"## {path.stem}", "", "| Id | What holds | Source |", "|---|---|---|"]
    for row in rows:
        reason = f" *Does not apply:* {cell(row['reason'])}" if "reason" in row else ""
        lines.append(f"| `{row['id']}` | {cell(row['text'])}{reason} | {cell(row['source'])} |")
    return "\n".join(lines)


def render() -> str:
    """The page, one section per file."""
    return "\n\n".join([HEAD.strip(), *(section(path) for path in sorted(ROWS.glob("*.toml")))])
