"""Plugins of a package, one per module: found by name, imported on first use."""

from importlib import import_module
from importlib.util import find_spec
from keyword import iskeyword
from typing import TypeVar

from peerwire.errors import LocalError

_Kind = TypeVar("_Kind")


def module_name(name: str) -> str | None:
    """Module of the plugin with this name; None if the name is not valid."""
    module = name.replace("-", "_")
    module = f"{module}_" if iskeyword(module) else module
    return module if module.isidentifier() and not module.startswith("_") else None


def offered_name(module: str) -> str:
    """Name of the plugin for the last part of a module name; inverse of `module_name`."""
    return module.removesuffix("_").replace("_", "-")


def has_module(package: str, name: str) -> bool:
    """Whether the package has this plugin; imports only the package itself."""
    module = module_name(name)
    return module is not None and find_spec(f"{package}.{module}") is not None


def names_in(package: str) -> list[str]:
    """Sorted names of all plugins of the package; imports only the package itself."""
    import pkgutil

    found = pkgutil.iter_modules(import_module(package).__path__)
    return sorted(offered_name(entry.name) for entry in found if not entry.name.startswith("_"))


def only_object(module: str, kind: type[_Kind]) -> _Kind:
    """The only object of a class in a module.

    Raises:
        LocalError: the number of objects is not one.
    """
    objects = [value for value in vars(import_module(module)).values() if isinstance(value, kind)]
    if len(objects) != 1:
        raise LocalError(f"{module} makes {len(objects)} objects of {kind.__name__}, not one")
    return objects[0]
