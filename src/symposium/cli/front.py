"""The command itself: finds its subcommands without importing them, and ends with an exit code."""

import ast
import linecache
from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from importlib import import_module
from importlib.util import find_spec
from sys import modules
from typing import Any, Final

import click

from localio.plugins import has_module, module_name, names_in
from localio.text import near_names
from symposium.cli.ending import ExitCode, Failure, ended_by_reader, say
from symposium.cli.quick_imports import quick_imports

COMMANDS: Final = "symposium.cli.commands"

SECTIONS: Final = {
    "Start here": ("setup", "agents", "chat", "prompt", "run", "uninstall"),
    "Tasks": ("task", "inbox", "up", "session", "handoff"),
    "Look": ("status", "walkthrough", "timeline", "trace", "plan", "audit"),
    "Allow": ("trust", "policy", "recommendations"),
    "For programs": ("exec", "run-with", "mcp", "registry", "daemon", "bus", "eliza", "testy"),
}
"""In which order people see the commands."""

OTHERS: Final = "Others"

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
"""Names that other programs give to the same action."""

_WORDS: Final = "symposium.words"
"""Where the context keeps what was typed."""


def meant_names(name: str, known: Sequence[str]) -> list[str]:
    """The known names of the same action, then those spelled alike; each once."""
    words = {word for group in EQUIVALENTS if name.lower() in group for word in group}
    found = [each for each in known if each in words]
    return list(dict.fromkeys([*found, *near_names(name, known)]))


class CommandGroup(click.Group):
    """Suggests subcommands for an unknown name, and lists them all."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The subcommand that the words name, and the words that are its own."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            known = self.list_commands(ctx)
            near = meant_names(name, known)
            meant = f" Did you mean {' or '.join(near)}?" if near else ""
            raise click.UsageError(
                f"No such command {name!r}.{meant} There are: {', '.join(known)}.", ctx
            )
        return super().resolve_command(ctx, args)


class Front(CommandGroup):
    """Imports a subcommand's module only when that one is to run or to be explained."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every subcommand, by name."""
        del ctx
        return names_in(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The subcommand of that name."""
        del ctx
        if not has_module(COMMANDS, cmd_name):
            return None
        name = f"{COMMANDS}.{module_name(cmd_name)}"
        with quick_imports() if name not in modules else nullcontext():
            command = import_module(name).command
        return _in_whole(command) if command.name == cmd_name else None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the words apart; without any, name the commands: what each does fills a screen."""
        if not args:
            rows = (f"  {title:14}{', '.join(names)}" for title, names in self._sections(ctx))
            text = "\n".join(["Say which command; --help says what each does.", "", *rows])
            raise click.UsageError(text, ctx)
        if args[0] == "help":
            args = [*args[1:], "--help"]
        ctx.meta[_WORDS] = list(args)
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List them by the first line of each module, which is read and not run."""
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
        """Run the subcommand; what it returns is the exit code, what it raises is said once."""
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
            from symposium.cli.failures import failure_of  # noqa: PLC0415 - see IMPORTS_LATE

            failure = failure_of(error)
            _tell_program(ctx, failure)
            code = say(failure)
        ctx.exit(code or 0)


def _in_whole(command: click.Command) -> click.Command:
    """Have a group list its subcommands with all that they say first: click cuts it to a line."""
    if isinstance(command, click.Group):
        for each in command.commands.values():
            each.short_help = each.short_help or (each.help or "").partition("\n\n")[0]
    return command


def _tell_program(ctx: click.Context, failure: Failure) -> None:
    """With `--json` say on stdout, too, what has failed; people are told on stderr."""
    words: list[str] = ctx.meta[_WORDS]
    if "--json" in words[: words.index("--") if "--" in words else None]:
        from symposium.cli.json_events import event_line  # noqa: PLC0415 - see IMPORTS_LATE

        with suppress(BrokenPipeError):
            click.echo(event_line("error", failure.body()), nl=False)


def _as_failure(error: click.ClickException) -> Failure:
    context = error.ctx if isinstance(error, click.UsageError) else None
    hint = "" if context is None else f"{context.command_path} --help"
    return Failure(ExitCode(error.exit_code), "usage", error.format_message(), hint, "cli")


def first_line(name: str) -> str:
    """What the module of a subcommand says of itself."""
    spec = find_spec(f"{COMMANDS}.{module_name(name)}")
    source = "" if spec is None or spec.origin is None else "".join(linecache.getlines(spec.origin))
    return (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]
