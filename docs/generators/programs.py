"""The list of programs that rules know, from the tables that judge them."""

from collections.abc import Mapping

from symposium.permissions.programs.catalog import GROUPS
from symposium.permissions.programs.vocabulary import KnownProgram

PAGE = "reference/programs.md"

HEAD = """# Programs that rules know

A rule that allows one of these programs holds for the options in its table. Every other option is
asked. [How rules judge programs](../how-to/policy.md#how-rules-judge-a-program) explains what
follows from that.

The tables are in `src/symposium/permissions/programs/`, one file for each group. In the columns:

- **Operands**: what the program does with words that are not options. `read`, `write`, `remove`,
  and `enter` are paths; `run` and `module` are code; `*` marks the operand of any number of words.
- **Reads, writes, or runs by option**: options whose value is a path or a command.
- **Asked**: common options and uses that the table leaves out on purpose.
"""

EFFECTS = ("=read", "=write", "=output", "=enter", "=run", "=module", "=data")


def cell(text: str) -> str:
    """Text that cannot end a cell of a table."""
    return text.replace("|", "\\|")


def row(name: str, program: KnownProgram) -> str:
    """One line of a table."""
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
    """The lines of a program and of its subcommands."""
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
    """The page: one table a group."""
    return "\n\n".join([HEAD.strip(), *(table(title, each) for title, each in GROUPS.items())])
