"""Plugins of a package, one object a module: found by name, imported only when used."""

from importlib import import_module
from importlib.util import find_spec
from keyword import iskeyword
from typing import TypeVar

from peerwire.errors import LocalError

_Kind = TypeVar("_Kind")


def module_name(name: str) -> str | None:
    """The module that offers what is called so; None if no module can be called so."""
    module = name.replace("-", "_")
    module = f"{module}_" if iskeyword(module) else module
    return module if module.isidentifier() and not module.startswith("_") else None


def offered_name(module: str) -> str:
    """The plugin name for a module with this last name; undoes `module_name`."""
    return module.removesuffix("_").replace("_", "-")


def has_module(package: str, name: str) -> bool:
    """Whether the package offers something of this name; imports the package and nothing in it."""
    module = module_name(name)
    return module is not None and find_spec(f"{package}.{module}") is not None


def names_in(package: str) -> list[str]:
    """The names of all that the package offers, sorted; imports the package and nothing in it."""
    import pkgutil  # noqa: PLC0415 - see IMPORTS_LATE

    found = pkgutil.iter_modules(import_module(package).__path__)
    return sorted(offered_name(entry.name) for entry in found if not entry.name.startswith("_"))


def only_object(module: str, kind: type[_Kind]) -> _Kind:
    """The one object of a kind that a module makes.

    Raises:
        LocalError: it makes none, or two.
    """
    objects = [value for value in vars(import_module(module)).values() if isinstance(value, kind)]
    if len(objects) != 1:
        raise LocalError(f"{module} makes {len(objects)} objects of {kind.__name__}, not one")
    return objects[0]
