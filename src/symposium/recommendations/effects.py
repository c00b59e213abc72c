"""What a mod would do once it is used, for whoever is asked: each command, server and variable."""

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from symposium.config.component_source import ComponentSource
from symposium.config.user_config import ModEntry
from symposium.recommendations.tables import list_of, table_of
from symposium.trust.item import Effect


def effects_of(mod: ModEntry) -> tuple[Effect, ...]:
    """All of them, in full."""
    source = ComponentSource("builtin", mod.name) if mod.source is None else mod.source
    if isinstance(source.value, str):
        return (_named(source.kind, source.value),)
    detail: Mapping[str, Any] = source.value
    if source.kind in {"http", "sse"}:
        headers = [table_of(each).get("name") for each in list_of(detail.get("headers"))]
        server = Effect("server", f"{detail['name']} at {detail['url']}")
        return server, *(Effect("variable", f"header {name}") for name in headers)
    return *_commands(source.kind, detail), *_variables(detail)


def _named(kind: str, name: str) -> Effect:
    match kind:
        case "builtin":
            return Effect("mod", f"{name}, built in")
        case "registry":
            return Effect("command", f"whatever the registry says of {name}")
        case _:
            return Effect("command", f"whatever {name} says")


def _commands(kind: str, detail: Mapping[str, Any]) -> Iterator[Effect]:
    arguments = [str(each) for each in list_of(detail.get("args"))]
    match kind:
        case "local":
            words = [str(detail["command"]), *arguments]
        case "npx":
            words = ["npx", "-y", str(detail["package"]), *arguments]
        case "uvx":
            words = ["uvx", str(detail["package"]), *arguments]
        case "pipx":
            words = ["pipx", "run", str(detail["package"]), *arguments]
        case "python":
            words = ["python3", "-m", str(detail["module"]), *arguments]
        case "cargo":
            yield Effect("command", shlex.join(["cargo", "install", str(detail["crate"])]))
            words = [str(detail.get("binary") or detail["crate"]), *arguments]
        case _:
            yield from _archives(detail)
            return
    yield Effect("command", shlex.join(words))


def _archives(platforms: Mapping[str, Any]) -> Iterator[Effect]:
    for platform, target in platforms.items():
        found = table_of(target)
        arguments = [str(each) for each in list_of(found.get("args"))]
        words = shlex.join([str(found.get("cmd")), *arguments])
        yield Effect("command", f"{words}, from {found.get('archive')} ({platform})")
        yield from _variables(found)


def _variables(detail: Mapping[str, Any]) -> Iterator[Effect]:
    for name, value in table_of(detail.get("env")).items():
        yield Effect("variable", f"{name}={value}")
