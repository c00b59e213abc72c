"""The user's config file: read, save, and replace a broken one.

Reading never changes the file; saving changes only what differs, keeps comments and unknown keys,
and is atomic.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast, get_args

from msgspec import Struct
from msgspec.structs import replace

from localio.files import PRIVATE_FILE_MODE, check_writable, read_text, write_whole
from localio.jsonc import JsoncError, node_at, parse, place
from peerwire.transports.command import CommandError, command_json, parse_command
from symposium.config.component_source import ComponentSource, SourceError, read_source
from symposium.errors import SymposiumError

ModKind: TypeAlias = Literal["proxy", "mcp", "adapter"]

_FORM: Final = 'write { "agent": "command of your agent", "proxies": [] }'
_LOCAL_FORM: Final = (
    'write { "name": "mine", "source": { "local": { "command": "python", "args": ["mine.py"] } } }'
)
_MOD_FORM: Final = 'write an object such as { "name": "ferris", "enabled": true }'


class ConfigError(SymposiumError):
    """The config file is invalid; the message names the file, the place, and a fix.

    Attributes:
        where: path to the invalid member, as in `proxies[0].name`; may be empty.
    """

    def __init__(self, message: str, hint: str, where: str = "") -> None:
        self.where = where
        super().__init__(message, hint)


class ConfigChangedError(ConfigError):
    """The file was changed by another program since it was read."""


class ModEntry(Struct, frozen=True):
    """One mod in the config.

    Attributes:
        name: name of a built-in, or of its source.
        enabled: whether new sessions use it.
        source: its source; None for a built-in.
        kind: `proxy` is part of the chain, `adapter` only if a mod requires what it provides;
            `mcp` is added to each session as an MCP server.
        when: predicate of the recommendation it came from, for information.
        origin: `recommendation` if Symposium added it, so that it may remove it again.
        optional: whether sessions may run without it if it does not start, or lacks what it
            needs; None: the mod decides.
        requires: required primitives, in addition to those that a built-in declares.
        provides: provided primitives, in addition to those that a built-in declares.
    """

    name: str
    enabled: bool = True
    source: ComponentSource | None = None
    kind: ModKind = "proxy"
    when: Any = None
    origin: str | None = None
    optional: bool | None = None
    requires: tuple[str, ...] = ()
    provides: tuple[str, ...] = ()

    def key(self) -> Any:
        """Values that matter to a conductor; equal entries have equal keys."""
        source = None if self.source is None else self.source.as_json()
        needs = [*self.requires], [*self.provides]
        return [self.name, self.enabled, source, self.kind, self.optional, *needs]


class Config(Struct, frozen=True):
    """The user's choice of agent and mods.

    Attributes:
        agent: shell words (with leading `NAME=value`), or a source.
        mods: from the editor's side to the agent's.
    """

    agent: str | ComponentSource
    mods: tuple[ModEntry, ...] = ()

    def key(self) -> str:
        """Equal for configs that can share a conductor; spelling does not matter (§4.5)."""
        agent = _words(self.agent) if isinstance(self.agent, str) else self.agent.as_json()
        return json.dumps([agent, [mod.key() for mod in self.mods]], sort_keys=True)

    def with_mods(self, *mods: ModEntry) -> "Config":
        """Return a copy with other mods."""
        return replace(self, mods=mods)


class LoadedConfig(Struct, frozen=True):
    """A config, and the text it was read from, to detect changes before saving."""

    config: Config
    text: str


def load(path: Path) -> LoadedConfig | None:
    """Read the config; None if the file does not exist.

    Raises:
        ConfigError: the file cannot be read, or is not a valid config.
    """
    try:
        text = read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"cannot read {path}: {io_reason(error)}",
            "fix its permissions, or its encoding (UTF-8)",
        ) from error
    return None if text is None else LoadedConfig(_read_text(text, path), text)


def _read_text(text: str, path: Path) -> Config:
    try:
        root = parse(text)
    except JsoncError as error:
        place_of_it = f"{path}:{error.line}:{error.column}"
        raise ConfigError(f"{place_of_it}: {error.reason}", error.hint) from error
    try:
        return read_config(root.value)
    except (ConfigError, SourceError) as error:
        line, column = place(text, node_at(root, error.where).start)
        message = f"{path}:{line}:{column}: {error.message}"
        raise ConfigError(message, error.hint, error.where) from error


def read_config(value: Any) -> Config:
    """Parse a config from a JSON value; unknown members are ignored.

    Raises:
        ConfigError, SourceError: a member has the wrong form.
    """
    if not isinstance(value, Mapping):
        raise ConfigError("the config is not an object", _FORM)
    members = cast("Mapping[str, Any]", value)
    if "proxies" in members and "mods" in members:
        raise ConfigError("`proxies` and `mods` name one list", "keep one of them", "mods")
    name = "mods" if "mods" in members else "proxies"
    entries = members.get(name, [])
    if not isinstance(entries, list):
        raise ConfigError(f"`{name}` is not a list", f'write "{name}": []', name)
    listed = enumerate(cast("list[Any]", entries))
    mods = tuple(_read_entry(entry, f"{name}[{index}]") for index, entry in listed)
    return Config(_read_agent(members), mods)


def _read_agent(members: Mapping[str, Any]) -> str | ComponentSource:
    agent = members.get("agent")
    if isinstance(agent, str):
        return agent
    if isinstance(agent, Mapping):
        return read_source(agent, "agent")
    what = "is neither a string nor an object" if "agent" in members else "is missing"
    raise ConfigError(f"`agent` {what}", 'write "agent": "command of your agent"', "agent")


def _read_entry(value: Any, where: str) -> ModEntry:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{where}: not an object", _MOD_FORM, where)
    entry = cast("Mapping[str, Any]", value)
    listed = entry.get("source")
    if listed is None and "command" in entry:
        raise ConfigError(
            f"{where}: `command` belongs in `source`", _LOCAL_FORM, f"{where}.command"
        )
    source = None if listed is None else read_source(listed, f"{where}.source")
    name = entry.get("name", None if source is None else source.display_name)
    if not isinstance(name, str) or not name:
        raise ConfigError(f"{where}: `name` is missing", _MOD_FORM, f"{where}.name")
    enabled = entry.get("enabled", True)
    if not isinstance(enabled, bool):
        raise _wrong(f"{where}.enabled", "true or false")
    kind = entry.get("kind", "proxy")
    if kind not in get_args(ModKind):
        raise _wrong(f"{where}.kind", '"proxy", "mcp" or "adapter"')
    origin = entry.get("origin")
    if origin is not None and not isinstance(origin, str):
        raise _wrong(f"{where}.origin", "a string")
    optional = entry.get("optional")
    if optional is not None and not isinstance(optional, bool):
        raise _wrong(f"{where}.optional", "true or false")
    when, needs = entry.get("when"), _read_needs(entry, kind, where)
    return ModEntry(name, enabled, source, kind, when, origin, optional, *needs)


def _read_needs(
    entry: Mapping[str, Any], kind: ModKind, where: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Primitives that a mod requires and provides."""
    requires = _primitives(entry, "requires", where)
    provides = _primitives(entry, "provides", where)
    if kind == "mcp" and (requires or provides):
        member = f"{where}.{'requires' if requires else 'provides'}"
        hint = 'leave it out, or write "kind": "proxy"'
        raise ConfigError(f"{member}: an MCP server has no place in the chain", hint, member)
    if kind == "adapter" and entry.get("source") is not None and not provides:
        hint = 'write "provides": ["name of a primitive"]'
        raise ConfigError(f"{where}: an adapter provides nothing", hint, f"{where}.kind")
    return requires, provides


def _primitives(entry: Mapping[str, Any], member: str, where: str) -> tuple[str, ...]:
    listed = entry.get(member, [])
    names = [
        name
        for name in cast("list[Any]", listed if isinstance(listed, list) else [])
        if isinstance(name, str) and name
    ]
    if names != listed:
        raise _wrong(f"{where}.{member}", 'a list of names, such as ["ide_operations"]')
    return tuple(names)


def _wrong(where: str, form: str) -> ConfigError:
    return ConfigError(f"{where}: wrong value", f"write {form}", where)


def save(path: Path, config: Config, seen: str | None) -> str:
    """Write the config, changing only what differs; return the new text.

    The previous text is saved as `config.jsonc.bak`.

    Args:
        path: the file.
        config: the new config.
        seen: the text that the change is based on; None if there was no file.

    Raises:
        ConfigChangedError: the file has changed since.
        ConfigError: it cannot be written, or is invalid; it is unchanged.
    """
    try:
        current = read_text(path)
        if current != seen:
            raise ConfigChangedError(
                f"{path} was changed since it was read", "read it again, then change it"
            )
        text = first_text(config) if current is None else _changed_text(current, config, path)
        if current != text:
            _read_text(text, path)  # write only what can be read again
        check_writable(path)
        if current is not None and current != text:
            write_whole(path.with_name(path.name + ".bak"), current)
        if current != text:
            write_whole(path, text)
    except (OSError, UnicodeError) as error:
        raise ConfigError(
            f"cannot write {path}: {io_reason(error)}",
            "nothing was changed; fix its permissions, or those of its directory",
        ) from error
    return text


def _changed_text(current: str, config: Config, path: Path) -> str:
    from localio.jsonc_edit import rewrite

    old = _read_text(current, path)  # never overwrite an invalid file
    value = dict(cast("Mapping[str, Any]", parse(current).value))
    if config.agent != old.agent:
        value["agent"] = _agent_json(config)
    name = "mods" if "mods" in value else "proxies"
    if config.mods or name in value:
        listed = cast("list[dict[str, Any]]", value.get(name, []))
        value[name] = _changed_entries(list(zip(old.mods, listed, strict=True)), config.mods)
    return rewrite(current, value)


_Written: TypeAlias = tuple[ModEntry, dict[str, Any]]
"""A parsed entry and its JSON."""


def _changed_entries(left: list[_Written], mods: Iterable[ModEntry]) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = []
    for mod in mods:
        same = [each for each in left if each[0] == mod] or [
            each for each in left if each[0].name == mod.name
        ]
        if same:
            left.remove(same[0])
        entries.append(_changed_entry(mod, *same[0]) if same else _entry_json(mod))
    return entries


def _changed_entry(mod: ModEntry, old: ModEntry, written: dict[str, Any]) -> dict[str, Any]:
    before, new, value = _entry_json(old), _entry_json(mod), dict(written)
    for key in dict.fromkeys([*before, *new]):
        if key not in new:
            value.pop(key, None)
        elif key not in before or before[key] != new[key]:
            value[key] = new[key]
    return value


def _entry_json(mod: ModEntry) -> dict[str, Any]:
    value: dict[str, Any] = {"name": mod.name, "enabled": mod.enabled}
    if mod.source is not None:
        value["source"] = mod.source.as_json()
    if mod.kind != "proxy":
        value["kind"] = mod.kind
    if mod.when is not None:
        value["when"] = mod.when
    if mod.origin is not None:
        value["origin"] = mod.origin
    if mod.optional is not None:
        value["optional"] = mod.optional
    if mod.requires:
        value["requires"] = list(mod.requires)
    if mod.provides:
        value["provides"] = list(mod.provides)
    return value


def _agent_json(config: Config) -> Any:
    return config.agent if isinstance(config.agent, str) else config.agent.as_json()


def first_text(config: Config) -> str:
    """Content of a new config file."""
    from localio.jsonc import json_text

    lines = ["    " + json_text(_entry_json(mod)) for mod in config.mods]
    proxies = "[\n" + ",\n".join(lines) + "\n  ]" if lines else "[]"
    return (
        "{\n  // The agent behind every new session: a command line, or where to get it.\n"
        f'  "agent": {json_text(_agent_json(config))},\n\n'
        "  // Mods, from the editor's side to the agent's. /symposium:config edits this file too.\n"
        f'  "proxies": {proxies}\n}}\n'
    )


def _words(agent: str) -> Any:
    # An invalid command is compared as text; its error is reported at the start.
    try:
        return json.loads(command_json(parse_command(agent)))
    except CommandError:
        return agent


def io_reason(error: OSError | UnicodeError) -> str:
    """Explain an I/O error, for the user."""
    if isinstance(error, OSError):
        return f"{error.strerror or error}" + (f" ({error.filename})" if error.filename else "")
    return "it is not UTF-8"


def content_of(path: Path) -> bytes | None:
    """Bytes of a file; None if it is missing or unreadable."""
    try:
        return path.read_bytes()
    except OSError:
        return None


def save_replacement(path: Path, config: Config, seen: bytes | None) -> Path:
    """Replace a broken config; return the path of its backup.

    Args:
        path: the file.
        config: the new config.
        seen: content of the file when the user decided to replace it.

    Raises:
        ConfigChangedError: the content has changed since.
        ConfigError: it cannot be read, backed up, or written; it is unchanged.
    """
    try:
        current = path.read_bytes()
        if current != seen:
            raise ConfigChangedError(
                f"{path} was changed since it was read", "read it again, then change it"
            )
        check_writable(path)
        kept = _back_up(path, current)
        write_whole(path, first_text(config))
    except (OSError, UnicodeError) as error:
        raise ConfigError(
            f"cannot replace {path}: {io_reason(error)}",
            "nothing was changed; fix its permissions, or those of its directory",
        ) from error
    return kept


def _back_up(path: Path, content: bytes) -> Path:
    for candidate in _places(path):
        try:
            handle = os.open(candidate, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE_MODE)
        except FileExistsError:
            if content_of(candidate) == content:
                return candidate
            continue
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        return candidate
    raise AssertionError("unreachable: there is always another name")


def _places(path: Path) -> Iterator[Path]:
    yield path.with_name(f"{path.name}.broken")
    for number in count(2):
        yield path.with_name(f"{path.name}.broken-{number}")
