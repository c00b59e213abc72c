"""The message types of the bus by name: the classes in the modules of `bus/messages/`."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Final, cast

from localio.plugins import names_in
from peerwire.errors import LocalError
from symposium.bus.roles import Role
from symposium.bus.vocabulary import Message

MESSAGES: Final = "symposium.bus.messages"


@cache
def message_types() -> Mapping[str, type[Message]]:
    """Every message class by its type's name; imports them all.

    Raises:
        LocalError: a module holds no message class, or two classes have one name.
    """
    types: dict[str, type[Message]] = {}
    for name in names_in(MESSAGES):
        for kind in _classes_of(name.replace("-", "_")):
            if kind.about.type in types:
                raise LocalError(f"two messages are called {kind.about.type}")
            types[kind.about.type] = kind
    return MappingProxyType(dict(sorted(types.items())))


@cache
def sendable_by(role: Role) -> frozenset[str]:
    """The message types that a peer of this role may send."""
    return frozenset(n for n, kind in message_types().items() if role in kind.about.sent_by)


def _classes_of(name: str) -> list[type[Message]]:
    module = import_module(f"{MESSAGES}.{name}")
    found = [value for value in vars(module).values() if _is_message_of(value, module.__name__)]
    if not found:
        raise LocalError(f"{module.__name__} holds no message")
    return [cast("type[Message]", each) for each in found]


def _is_message_of(value: object, module: str) -> bool:
    return isinstance(value, type) and issubclass(value, Message) and value.__module__ == module
