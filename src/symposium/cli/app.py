"""The root command: lists subcommands without importing them, and maps errors to exit codes."""

import ast
import linecache
from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from importlib import import_module
from importlib.util import find_spec
from inspect import cleandoc
from sys import modules
from typing import Any, Final

import click

from localio.plugins import has_module, module_name, names_in
from localio.text import near_names
from symposium.cli.exit_codes import ExitCode, ReportedFailure, ended_by_reader, report_failure
from symposium.cli.quick_imports import quick_imports

COMMANDS: Final = "symposium.cli.commands"

SECTIONS: Final = {
    "Get started": ("setup", "agents", "recommendations", "chat", "prompt", "uninstall"),
    "Work on tasks": ("task", "inbox", "up"),
    "Manage sessions": ("session", "handoff"),
    "See what happens": ("status", "walkthrough", "timeline", "trace", "plan"),
    "Permissions": ("trust", "policy", "audit"),
    "For programs": (
        *("run", "run-with", "exec", "mcp", "registry", "daemon", "bus", "eliza", "testy"),
    ),
}
"""The commands, grouped by what a user wants to do, in the order of the help."""

OTHERS: Final = "Other commands"

EQUIVALENTS: Final = (
    frozenset({"rm", "remove", "delete", "del", "forget", "revoke"}),
    frozenset({"new", "create", "add", "install", "make", "start", "grant", "allow"}),
    frozenset({"show", "view", "info", "status", "inspect", "describe"}),
    frozenset({"list", "ls"}),
    frozenset({"stop", "kill", "end", "cancel"}),
    frozenset({"log", "logs", "tail"}),
    frozenset({"say", "send", "prompt", "message"}),
    frozenset({"rename", "mv", "move"}),
    frozenset({"undo", "restore", "revert"}),
    frozenset({"land", "merge"}),
    frozenset({"update", "upgrade"}),
    frozenset({"answer", "reply", "approve"}),
    frozenset({"verify", "check", "validate"}),
    frozenset({"gc", "prune", "clean"}),
)
"""Groups of names for one action, as other programs use them."""

_WORDS: Final = "symposium.words"
"""Key of the typed words in the context."""


def meant_names(name: str, known: Sequence[str]) -> list[str]:
    """List known names for the same action, then names with a similar spelling."""
    words = {word for group in EQUIVALENTS if name.lower() in group for word in group}
    found = [each for each in known if each in words]
    return list(dict.fromkeys([*found, *near_names(name, known)]))


class CommandGroup(click.Group):
    """Group that suggests and lists subcommands when a name is unknown.

    A paragraph of its help that explains an argument, such as "TASK is a name", is repeated in the
    help of each subcommand with that argument.
    """

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        """Add a subcommand, with the explanations of its arguments."""
        arguments = [each for each in cmd.params if isinstance(each, click.Argument)]
        starts = tuple(f"{(each.name or '').upper()} is " for each in arguments)
        paragraphs = cleandoc(self.help or "").split("\n\n")
        explained = [each for each in paragraphs if each.startswith(starts)]
        cmd.help = "\n\n".join([cleandoc(cmd.help or ""), *explained])
        super().add_command(cmd, name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the subcommand that the words name, and its remaining words."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            known = self.list_commands(ctx)
            near = meant_names(name, known)
            meant = f" Did you mean {' or '.join(near)}?" if near else ""
            raise click.UsageError(
                f"No such command {name!r}.{meant} Known commands: {', '.join(known)}.", ctx
            )
        return super().resolve_command(ctx, args)


class RootGroup(CommandGroup):
    """Root group that imports a subcommand's module only to run or explain it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the names of all subcommands."""
        del ctx
        return names_in(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the subcommand of that name."""
        del ctx
        if not has_module(COMMANDS, cmd_name):
            return None
        name = f"{COMMANDS}.{module_name(cmd_name)}"
        with quick_imports() if name not in modules else nullcontext():
            command = import_module(name).command
        return _with_full_summaries(command) if command.name == cmd_name else None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words; without any, list the names of the commands by section."""
        if not args:
            width = max(map(len, SECTIONS)) + 2
            rows = (f"  {title:{width}}{', '.join(names)}" for title, names in self._sections(ctx))
            text = "\n".join(["Missing command; --help describes each one.", "", *rows])
            raise click.UsageError(text, ctx)
        if args[0] == "help":
            args = [*args[1:], "--help"]
        ctx.meta[_WORDS] = list(args)
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List each subcommand with the first line of its module, without importing it."""
        width = max(map(len, self.list_commands(ctx)))
        for title, names in self._sections(ctx):
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), first_line(name)) for name in names])

    def _sections(self, ctx: click.Context) -> Iterator[tuple[str, Sequence[str]]]:
        yield from SECTIONS.items()
        placed = {name for names in SECTIONS.values() for name in names}
        if others := [name for name in self.list_commands(ctx) if name not in placed]:
            yield OTHERS, others

    def invoke(self, ctx: click.Context) -> Any:
        """Run the subcommand: its result is the exit code; report an exception once."""
        try:
            code = super().invoke(ctx)
        except click.ClickException as error:
            has_none = isinstance(error, click.NoSuchOption) and error.option_name == "--json"
            if not has_none:
                _tell_program(ctx, _as_failure(error))
            raise
        except (click.Abort, click.exceptions.Exit):
            raise
        except BrokenPipeError:
            code = ended_by_reader()
        except KeyboardInterrupt:
            code = ExitCode.INTERRUPTED
        except Exception as error:  # noqa: BLE001 - the boundary of the command line
            from symposium.cli.failures import failure_of

            failure = failure_of(error)
            _tell_program(ctx, failure)
            code = report_failure(failure)
        ctx.exit(code or 0)


def _with_full_summaries(command: click.Command) -> click.Command:
    """Set the whole first paragraph as the summary of each subcommand: click would cut it."""
    if isinstance(command, click.Group):
        for each in command.commands.values():
            each.short_help = each.short_help or (each.help or "").partition("\n\n")[0]
    return command


def _tell_program(ctx: click.Context, failure: ReportedFailure) -> None:
    """With `--json`, also print the failure as an event on stdout."""
    words: list[str] = ctx.meta[_WORDS]
    if "--json" in words[: words.index("--") if "--" in words else None]:
        from symposium.cli.output import event_line

        with suppress(BrokenPipeError):
            click.echo(event_line("error", failure.body()), nl=False)


def _as_failure(error: click.ClickException) -> ReportedFailure:
    context = error.ctx if isinstance(error, click.UsageError) else None
    hint = "" if context is None else f"{context.command_path} --help"
    return ReportedFailure(ExitCode(error.exit_code), "usage", error.format_message(), hint, "cli")


def first_line(name: str) -> str:
    """Read the first docstring line of a subcommand's module."""
    spec = find_spec(f"{COMMANDS}.{module_name(name)}")
    source = "" if spec is None or spec.origin is None else "".join(linecache.getlines(spec.origin))
    return (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]
