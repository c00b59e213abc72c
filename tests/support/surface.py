"""Public surface: everything that users script, one name a line, in tests/golden/surface/.

`python -m tests.support.surface --write` writes the lists again after an intended change. Only the
imports below depend on where things are defined.
"""

import importlib.util
import inspect
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, cast

import click
import msgspec
from click.testing import CliRunner
from tests.support.old_commands import recorded_commands
from tests.support.session_wire import shape

import symposium
import symposium.testing
from peerwire.acp.methods import METHODS
from peerwire.acp.names import ENVELOPES, ERAS, MCP_ERAS, PROXY_INITIALIZE
from symposium.__main__ import main
from symposium.bus import error_codes
from symposium.bus.errors import BusRefusedError
from symposium.bus.protocol import message_types
from symposium.catalog import ENTRY_POINTS, OTHER_NAMES, agent_names, mod_names
from symposium.cli.exit_codes import ExitCode
from symposium.cli.failures import failure_of
from symposium.documents.first_prompt import ALIASES, COLLABORATORS
from symposium.documents.guidance import BUILT_IN, library_for
from symposium.mcp_server.offering import all_tools

ROOT: Final = Path(__file__).parents[2]
LISTS: Final = ROOT / "tests" / "golden" / "surface"

_VARIABLE: Final = re.compile(
    r"""["'](SYMPOSIUM_[A-Z_]+)|(?:\.get|\.pop)\(\s*"([A-Z][A-Z0-9_]{2,})"|\["([A-Z][A-Z0-9_]{2,})"\]"""
)
_GITS: Final = re.compile("GIT_|HEAD$")
"""Variables that Symposium only sets for git, and a name of git that is no variable."""

_META: Final = re.compile(r"""["'](symposium/[a-z]+)["']""")
_ROW: Final = re.compile(r"^\| `([^`]+)`(?:, or `([^`]+)`)?(?:, `([^`]+)`)? \|", re.MULTILINE)
_IMPORT: Final = re.compile(r"^from ((?:symposium|peerwire)[\w.]*) import ([\w, ]+)$", re.MULTILINE)


def commands() -> Iterator[str]:
    """List every command with its arguments and options."""
    yield from _commands(main, click.Context(main, info_name="symposium", **main.context_settings))


def _commands(command: click.Command, context: click.Context) -> Iterator[str]:
    path = context.command_path
    yield path
    arguments = 0
    for parameter in command.params:
        is_option = isinstance(parameter, click.Option)
        arguments += not is_option
        yield f"{path} {'' if is_option else f'{arguments}. '}{_parameter(parameter)}"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from _commands(below, click.Context(below, info_name=name, parent=context))


def _parameter(parameter: click.Parameter) -> str:
    if isinstance(parameter, click.Option):
        kind = "flag" if parameter.is_flag else "option"
        facts = ["/".join([*parameter.opts, *parameter.secondary_opts]), kind]
    else:
        kind = "argument"
        facts = [kind]  # its name is only documentation
    if isinstance(parameter.type, click.Choice):
        facts.append("|".join(map(str, parameter.type.choices)))
    elif kind != "flag":
        facts.append(parameter.type.name)
    facts += ["required"] if parameter.required else []
    facts += ["repeatable"] if parameter.multiple or parameter.nargs == -1 else []
    if isinstance(parameter.default, str | int | float) and parameter.default not in {False, ""}:
        facts.append(f"default {parameter.default}")
    return " ".join(facts)


def exit_codes() -> Iterator[str]:
    """List the exit codes, and the bus refusals that lead to each."""
    for code in ExitCode:
        yield f"{int(code)} {code.name}"
    for reason in _bus_codes():
        failure = failure_of(BusRefusedError("", reason))
        yield f"bus {reason} {int(failure.code)} {failure.detail_code}"


def _bus_codes() -> list[str]:
    return sorted(code for name, code in vars(error_codes).items() if name.isupper())


def json_outputs() -> Iterator[str]:
    """List the members of each `--json` output, as the recorded commands printed them."""
    for output in recorded_commands():
        yield from members_of_output(output)


def members_of_output(output: Mapping[str, Any]) -> Iterator[str]:
    """List the exit code and the members of one output."""
    words = " ".join(_shortened(output["words"]))
    yield f"{words} -> exit code {output['code']}"
    is_lines = "lines" in output
    found = shape(output["lines"] if is_lines else output["json"])
    for each in sorted(found):
        yield f"{words} -> {'line' if is_lines else ''}{each}"


def _shortened(words: list[str]) -> list[str]:
    """Return words without ids, which differ between old homes."""
    return [re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "ID", word) for word in words]


def environment() -> Iterator[str]:
    """List every variable that the program reads or sets."""
    yield from sorted({name for name in _texts_of_source(_VARIABLE) if not _GITS.match(name)})


def _texts_of_source(pattern: re.Pattern[str]) -> Iterator[str]:
    for path in (ROOT / "src").rglob("*.py"):
        for found in pattern.finditer(path.read_text(encoding="utf-8")):
            yield next(filter(None, found.groups()))


def names() -> Iterator[str]:
    """List entry points, built-in mods and agents, and modules that are started by name."""
    yield "script symposium"
    yield f"entry point group {ENTRY_POINTS}"
    for name in mod_names():
        yield f"mod {name}"
    for other, name in sorted(OTHER_NAMES.items()):
        yield f"mod {other} means {name}"
    for name in agent_names():
        yield f"agent {name}"
    for module in ("symposium", "symposium.agents.testy", "peerwire.mcp.echo_server"):
        assert importlib.util.find_spec(module) is not None
        yield f"python -m {module}"


def bus() -> Iterator[str]:
    """List every message with its members, its reply, their types, and the error codes."""
    for name, kind in message_types().items():
        about = kind.about
        senders = ",".join(sorted(role.value for role in about.sent_by))
        yield f"message {name} from {senders} to {about.target.name.lower()}"
        yield from _schema(f"message {name}", kind)
    for code in _bus_codes():
        yield f"error {code}"


def _schema(name: str, kind: Any) -> Iterator[str]:
    (schema,), components = msgspec.json.schema_components([kind])
    yield from _members(name, schema, components, ())


def _members(
    name: str, schema: Mapping[str, Any], components: Mapping[str, Any], seen: tuple[str, ...]
) -> Iterator[str]:
    if "$ref" in schema:
        target = schema["$ref"].rpartition("/")[2]
        if target not in seen:
            yield from _members(name, components[target], components, (*seen, target))
        return
    for each in schema.get("anyOf", ()):
        yield from _members(name, each, components, seen)
    if "enum" in schema:
        yield f"{name}: {'|'.join(sorted(map(str, schema['enum'])))}"
    elif "type" in schema and schema["type"] != "object":
        yield f"{name}: {schema['type']}"
    if isinstance(schema.get("items"), Mapping):
        yield from _members(f"{name}[]", schema["items"], components, seen)
    needed = schema.get("required", ())
    for member, inner in schema.get("properties", {}).items():
        yield f"{name}.{member}{' required' if member in needed else ''}"
        yield from _members(f"{name}.{member}", inner, components, seen)


def acp() -> Iterator[str]:
    """List ACP methods, the names of every era, and the keys in `_meta`."""
    for method in METHODS.values():
        yield f"method {method.name} {method.kind.value} requires {','.join(method.required)}"
    for kind, eras in (("proxies", ERAS), ("mcp", MCP_ERAS)):
        for dialect, era in eras.items():
            for text in _texts(msgspec.to_builtins(era)):
                yield f"{kind} {dialect.value} {text}"
    for methods in (PROXY_INITIALIZE, ENVELOPES):
        for name, dialect in methods.items():
            yield f"accepted {name} as {dialect.value}"
    for key in sorted(set(_texts_of_source(_META))):
        yield f"_meta {key}"
    able = symposium.with_capability({}, "capability")
    yield f"_meta capabilities {msgspec.json.encode(able, order='sorted').decode()}"


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for each in cast("dict[str, Any]", value).values() for text in _texts(each)]
    return [value] if isinstance(value, str) and value else []


def mcp() -> Iterator[str]:
    """List tools with their arguments and results, resources, and prompts."""
    for tool in all_tools().values():
        yield f"tool {tool.name}"
        yield from _members(f"tool {tool.name}", tool.input_schema, {}, ())
        if tool.output_schema:
            for name in tool.output_schema["properties"]:
                yield f"tool {tool.name} -> {name}"
    shelf = library_for(BUILT_IN, {"HOME": "/nonexistent"}).shelf()
    for text in shelf.listed:
        yield f"resource {text.uri}"
    for name in (*COLLABORATORS, *ALIASES):
        yield f"prompt collaborator {name}"


def settings() -> Iterator[str]:
    """List the members of `config.jsonc` and of a rule in `policy.toml`."""
    page = (ROOT / "docs" / "reference" / "config.md").read_text(encoding="utf-8")
    for row in _ROW.findall(page):
        yield from (f"config {each}" for each in row if each)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "policy.toml"
        file.write_text('[[rule]]\nname = "one"\nno_key = 1\n', encoding="utf-8")
        done = CliRunner().invoke(main, ["policy", "list", "--policy", str(file)])
    known = re.search(r"known keys: ([\w, ]+)", done.stderr)
    assert known is not None, done.stderr
    yield from (f"policy rule {each}" for each in known[1].split(", "))


OLD_NAMES: Final = ("Content", "Crossing", "Later")
"""Names that mods of version 0.1 import; `symposium` still has them."""


def python() -> Iterator[str]:
    """List the names that `symposium` and `symposium.testing` offer and that pages import."""
    for name in sorted({*symposium.__all__, *OLD_NAMES}):
        yield from _object(f"symposium.{name}", getattr(symposium, name))
    page = (ROOT / "docs" / "reference" / "testing.md").read_text(encoding="utf-8")
    members = re.search(r"members: \[(.*)\]", page)
    assert members is not None
    for name in members[1].split(", "):
        yield from _object(f"symposium.testing.{name}", getattr(symposium.testing, name))
    for module, name in sorted(_imports() | {("symposium", name) for name in OLD_NAMES}):
        getattr(importlib.import_module(module), name)
        yield f"from {module} import {name}"


def _imports() -> set[tuple[str, str]]:
    """List imports on the pages for users, and in the examples except the demo."""
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    examples = [each for each in (ROOT / "examples").glob("*.py") if each.name != "demo.py"]
    return {
        (module, name)
        for page in (*pages, *examples)
        for module, names in _IMPORT.findall(page.read_text(encoding="utf-8"))
        for name in names.split(", ")
    }


def _object(path: str, value: Any) -> Iterator[str]:
    yield f"{path}{_signature(value)}"
    if isinstance(value, type):
        for name in sorted(each for each in dir(value) if not each.startswith("_")):
            yield f"{path}.{name}{_signature(getattr(value, name))}"


def _signature(value: Any) -> str:
    """Return the names of its parameters."""
    if not callable(value):
        return ""
    try:
        found = inspect.signature(value).parameters
    except ValueError:
        return ""
    return f"({', '.join(found)})"


SECTIONS: Final[Mapping[str, Callable[[], Iterator[str]]]] = {
    "commands": commands,
    "exit-codes": exit_codes,
    "json": json_outputs,
    "environment": environment,
    "names": names,
    "bus": bus,
    "acp": acp,
    "mcp": mcp,
    "settings": settings,
    "python": python,
}


def lines_of(section: str) -> list[str]:
    """Return today's surface."""
    return list(dict.fromkeys(SECTIONS[section]()))


def listed(section: str) -> list[str]:
    """Return the recorded surface."""
    return (LISTS / f"{section}.txt").read_text(encoding="utf-8").splitlines()


def write() -> None:
    LISTS.mkdir(exist_ok=True)
    for section in SECTIONS:
        text = "\n".join(lines_of(section)) + "\n"
        (LISTS / f"{section}.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit("usage: python -m tests.support.surface --write")
    write()
