"""The message types of the bus by name: one class in each module of `bus/messages/`."""

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
        LocalError: a module holds no message class, two, or one of another name.
    """
    names = [name.replace("-", "_") for name in names_in(MESSAGES)]
    return MappingProxyType({name: _only_class(name) for name in names})


@cache
def sendable_by(role: Role) -> frozenset[str]:
    """The message types that a peer of this role may send."""
    return frozenset(n for n, kind in message_types().items() if role in kind.about.sent_by)


def _only_class(name: str) -> type[Message]:
    module = import_module(f"{MESSAGES}.{name}")
    found = [value for value in vars(module).values() if _is_message_of(value, module.__name__)]
    types = [cast("type[Message]", each) for each in found]
    if len(types) != 1 or types[0].about.type != name:
        said = ", ".join(each.about.type for each in types) or "none"
        raise LocalError(f"{module.__name__} must hold one message, called {name}; found: {said}")
    return types[0]


def _is_message_of(value: object, module: str) -> bool:
    return isinstance(value, type) and issubclass(value, Message) and value.__module__ == module
