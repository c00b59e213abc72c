"""Import a command's module in less time: no garbage collection, and some modules on first use.

A collection in the middle of an import finds next to nothing to free, and looks at everything that
was imported before. `asyncio` imports `ssl`, which loads OpenSSL; few commands ever use it. The
other modules of `ON_DEMAND` are imported by libraries that use them in rare cases only.
"""

import gc
import os
import sys
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from types import FunctionType, ModuleType
from typing import Any, Final, cast


def _cleaned(text: str) -> str:
    """Do the same as `inspect.cleandoc`, with a fast path for one line."""
    if "\n" in text or "\t" in text or text[:1].isspace():
        return _executed("inspect").cleandoc(text)
    return text


def _is_coroutine_function(candidate: object) -> bool:
    """Do the same as `inspect.iscoroutinefunction`, by the flag of a function."""
    if isinstance(candidate, FunctionType):
        return bool(candidate.__code__.co_flags & CO_COROUTINE)
    return _executed("inspect").iscoroutinefunction(candidate)


def _executed(name: str) -> Any:
    """Load a module of `ON_DEMAND` completely; its names replace the substitutes."""
    module = import_module(name)
    if isinstance(module, _OnDemandModule):
        module.execute()
    return module


def _system() -> str:
    """Do the same as `platform.system`, without compiling the module's patterns."""
    return os.uname().sysname


ON_DEMAND: Final[Mapping[str, Mapping[str, Callable[..., Any]]]] = {
    "ast": {},
    "asyncio.sslproto": {},
    "asyncio.staggered": {},
    "inspect": {"cleandoc": _cleaned, "iscoroutinefunction": _is_coroutine_function},
    "ipaddress": {},
    "linecache": {},
    "msgspec.inspect": {},
    "msgspec.msgpack": {},
    "msgspec.toml": {},
    "msgspec.yaml": {},
    "platform": {"system": _system},
    "ssl": {},
    "textwrap": {},
    "tokenize": {},
}
"""Modules that are executed when something first reads one of their names.

Each has stand-ins for the names that every start reads. Do not import them with `*`: the names do
not exist yet.
"""


NEW_OBJECTS: Final = 10_000
"""New objects before a collection, instead of 700: those of a message are freed without one."""

CO_COROUTINE: Final = 0x80
"""The flag of a coroutine function's code, as `inspect` calls it."""

_STATE: Final = "_on_demand"


@contextmanager
def quick_imports() -> Generator[None]:
    """Speed up imports in the block, and exempt imported objects from garbage collection."""
    was_enabled = gc.isenabled()
    finder = _OnDemandFinder()
    sys.meta_path.insert(0, finder)
    gc.disable()
    try:
        _import_msgspec()
        yield
    finally:
        sys.meta_path.remove(finder)
        if was_enabled:
            # Modules live as long as the process: no later collection need look at them.
            gc.freeze()
            gc.enable()
            gc.set_threshold(NEW_OBJECTS)


def _import_msgspec() -> None:
    """Have msgspec take from `typing` what it would take from `typing_extensions`, if it is there.

    They are the same from Python 3.11 on, and the latter is slow to import.
    """
    if "msgspec" in sys.modules or "typing_extensions" in sys.modules:
        return
    cast("dict[str, ModuleType | None]", sys.modules)["typing_extensions"] = None
    try:
        import_module("msgspec")
    finally:
        del sys.modules["typing_extensions"]


class _OnDemandFinder:
    """Find the modules of `ON_DEMAND`; all others are found as usual."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The specification of a module that is executed later."""
        spec = PathFinder.find_spec(name, path, target) if name in ON_DEMAND else None
        if spec is not None and spec.loader is not None:
            cast("Any", spec).loader = _OnDemandLoader(spec.loader)
        return spec


class _OnDemandLoader:
    """Create the module; it executes itself on first use."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module with only the attributes of the import system."""
        return _OnDemandModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Put the real loader in place for the first use."""
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader


class _OnDemandModule(ModuleType):
    """A module that is executed when a name is read that it does not have yet."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__dict__.update(ON_DEMAND[name])
        self.__dict__[_STATE] = _State()

    def __getattr__(self, name: str) -> Any:
        state: _State | None = self.__dict__.get(_STATE)
        # The import system asks for `__path__` and the like itself.
        if state is None or name.startswith("__"):
            return super().__getattribute__(name)
        if not self._load(state):
            return super().__getattribute__(name)
        return getattr(self, name)

    def execute(self) -> None:
        """Have all names of the module in it."""
        if (state := self.__dict__.get(_STATE)) is not None:
            self._load(state)

    def _load(self, state: "_State") -> bool:
        """Whether the module is complete; False for imports from inside the module."""
        # Other threads that read a name wait until the module is complete.
        with state.lock:
            if not state.is_loading and _STATE in self.__dict__:
                self._execute(state)
            return not state.is_loading

    def _execute(self, state: "_State") -> None:
        spec = self.__spec__
        assert spec is not None
        assert spec.loader is not None
        state.is_loading = True
        try:
            spec.loader.exec_module(self)
        finally:
            state.is_loading = False
        del self.__dict__[_STATE]
        cast("Any", self).__class__ = ModuleType


class _State:
    """Loading state of a module, which one thread loads."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.is_loading = False
