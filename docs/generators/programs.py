"""Generate the page of programs that policy rules know, from their tables."""

from collections.abc import Mapping

from symposium.permissions.programs.catalog import GROUPS
from symposium.permissions.programs.vocabulary import KnownProgram

PAGE = "reference/programs.md"

HEAD = """# Programs that rules know

A rule that allows one of these programs covers the options in its table. Symposium asks about every
other option. [How rules judge programs](../how-to/policy.md#how-rules-judge-a-program) explains the
consequences.

The tables are in `src/symposium/permissions/programs/`, one file for each group. In the columns:

- **Operands**: what the program does with words that are not options. `read`, `write`, `remove`,
  and `enter` are paths; `run` and `module` are code; `*` marks the operand of any number of words.
- **Reads, writes, or runs by option**: options whose value is a path or a command.
- **Asked**: common options and uses that the table leaves out on purpose.
"""

EFFECTS = ("=read", "=write", "=output", "=enter", "=run", "=module", "=data")


def cell(text: str) -> str:
    """Text escaped for a cell of a table."""
    return text.replace("|", "\\|")


def row(name: str, program: KnownProgram) -> str:
    """Row of one program."""
    given = program.operands
    operands = given if isinstance(given, str) else given.get("", "")
    options = [each for each in program.options.split() if each.endswith(EFFECTS)]
    cells = [
        f"`{name}`",
        f"`{operands}`" if operands else "",
        " ".join(f"`{option}`" for option in options),
        program.about,
    ]
    return "| " + " | ".join(cell(each) for each in cells) + " |"


def rows(name: str, program: KnownProgram) -> list[str]:
    """Rows of a program and its subcommands."""
    own = [row(name, program)] if program.options or not program.commands else []
    return own + [
        line
        for command, inner in program.commands.items()
        for line in rows(f"{name} {command}", inner)
    ]


def table(title: str, programs: Mapping[str, KnownProgram]) -> str:
    """A heading and its rows."""
    names = ("Program", "Operands", "Reads, writes, or runs by option", "Asked")
    head = ["| " + " | ".join(names) + " |", "|---|---|---|---|"]
    lines = [line for name, program in programs.items() for line in rows(name, program)]
    return "\n".join([f"## {title}", "", *head, *lines])


def render() -> str:
    """The page: one table per group."""
    return "\n\n".join([HEAD.strip(), *(table(title, each) for title, each in GROUPS.items())])
