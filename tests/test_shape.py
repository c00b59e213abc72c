"""Rules for the sources: sizes, names, imports."""

import ast
import builtins
import inspect
import math
import pkgutil
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.project

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src"

MAX_LINES = 500
MAX_METHODS = 15
MAX_FUNCTION_LINES = 50
MAX_PARAMETERS = 6

IMPORTS_LATE: Mapping[str, str] = {
    "symposium.chain.run_mod": "a mod's file is also imported by hosts, which never call it",
    "localio.plugins": "only lists need it",
    "symposium.catalog": "installed mods are read only for a name that is not built in",
    "symposium.run_mode.session_requests": "only for an agent that crashes",
    "symposium.run_mode.serve_editor": "only for `status`; few sessions have two names",
    "symposium.run_mode.new_sessions": "few sessions have two names",
    "symposium.cli.commands.run_with": "a report of the chain is only for `status`",
    "symposium.chain.assembly": "the table of methods is only for unusual names",
    "symposium.bridge.url_servers": "few chains reach a URL",
    "symposium.bridge.bridge": "few chains open an endpoint of a server",
    "peerwire.mcp.client": "httpx2 is for servers at a URL only",
    "peerwire.transports.fd_streams": "ctypes is for a discarded backlog only",
    "symposium.run_mode.available_agents": "the registry is only for choosing an agent",
    "symposium.run_mode.available_mods": "the registry is only for choosing a mod",
    "symposium.run_mode.config_components": "the registry is only for agents to be installed",
    "symposium.run_mode.menu.config_mode": "only an opened menu needs it",
    "symposium.run_mode.menu.overviews": "only lists need it",
    "symposium.run_mode.chain_starts": "only errors need it",
    "symposium.config.user_config": "most users of the module only read a config",
    "symposium.cli.chain_options": "the registry is only for names that are not built in",
    "symposium.cli.status_socket": "the socket opens with the first question",
    "symposium.permissions.audit_entries": "hashes and locks are only for permission requests",
    "localio.http": "ssl and httpx2 are for requests to the network",
    "symposium.registry.provision": "archives and installers are only for new agents",
    "symposium.run_mode.offers": "a workspace is examined when a session begins",
    "symposium.mods.cargo": "only tool calls need it",
    "symposium.mods.guidance": "texts are read with the first prompt",
    "symposium.mods.npm": "only tool calls need it",
    "symposium.mods.policy": "parsers of TOML and scripts are only for existing rules",
    "symposium.planning.chain_spec": "rules and secrets are only for chains that have some",
    "symposium.mods.uv": "only tool calls need it",
    "symposium.mods.ferris": "archives and version grammars are only for source requests",
    "symposium.cli.commands.task": "only a chat reads keys",
    "symposium.cli.commands.mcp": "the MCP SDK takes half a second, which `--help` would need too",
    "symposium.cli.app": "only errors need it",
    "symposium.agents.eliza.agent": "an MCP client is only for tool calls",
    "symposium.permissions.policy": "the grammar and tables of scripts load slowly",
    "localio.text": "only wrong names are compared with others",
}
"""Modules that import inside a function, so that the program starts fast, with the reason."""

REEXPORTS = "symposium"
"""The only package whose `__init__` holds names: those that the author of a mod imports."""

FORBIDDEN_MODULES = {
    *("base", "bases", "common", "core", "helper", "helpers", "impl", "lib", "manager", "managers"),
    *("misc", "service", "services", "shared", "stuff", "types", "util", "utilities", "utils"),
}
FORBIDDEN_ENDINGS = ("Manager", "Helper", "Service", "Handler", "Util", "Utils", "Base", "Impl")
LOOSE = frozenset({"create_task", "ensure_future", "gather", "Queue"})
"""Functions that start or feed work that no task group owns."""

type_of_function = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class Module:
    """One source file with its syntax tree.

    Attributes:
        nodes: all nodes of the tree; walking the tree takes longer than most rules.
    """

    name: str
    text: str
    tree: ast.Module
    nodes: Sequence[ast.AST]
    is_package: bool


def module_of(text: str, name: str = "symposium.sample", *, is_package: bool = False) -> Module:
    tree = ast.parse(text)
    return Module(name, text, tree, list(ast.walk(tree)), is_package)


@cache
def modules() -> tuple[Module, ...]:
    return tuple(read_modules())


def read_modules() -> Iterator[Module]:
    for path in sorted(SOURCES.rglob("*.py")):
        parts = path.relative_to(SOURCES).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        yield module_of(path.read_text(encoding="utf-8"), name, is_package=is_package)


def has_a_bounded_length(module: Module) -> Iterator[str]:
    lines = module.text.count("\n")
    if lines > MAX_LINES:
        yield f"{lines} lines; at most {MAX_LINES}"


MAX_EMPTY_LINES = 5
"""Files of at most this many lines, such as an `__init__` with a docstring, are not counted."""


def lines_of_nine_in_ten(lengths: list[int]) -> int:
    """The 90th percentile: nine of ten files have at most this many lines."""
    counted = sorted(length for length in lengths if length > MAX_EMPTY_LINES)
    return counted[math.ceil(len(counted) * 0.9) - 1]


def says_what_it_is_about(module: Module) -> Iterator[str]:
    if not ast.get_docstring(module.tree):
        yield "1: no docstring; add one line on its subject"


def has_small_classes(module: Module) -> Iterator[str]:
    for node in module.nodes:
        if isinstance(node, ast.ClassDef):
            methods = sum(isinstance(child, type_of_function) for child in node.body)
            if methods > MAX_METHODS:
                yield f"{node.lineno}: {node.name} has {methods} methods; at most {MAX_METHODS}"


def functions(module: Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in module.nodes:
        if isinstance(node, type_of_function):
            yield node


def has_short_functions(module: Module) -> Iterator[str]:
    for node in functions(module):
        lines = (node.end_lineno or node.lineno) - node.lineno + 1
        if lines > MAX_FUNCTION_LINES:
            yield f"{node.lineno}: {node.name} has {lines} lines; at most {MAX_FUNCTION_LINES}"


def has_few_parameters(module: Module) -> Iterator[str]:
    for node in functions(module):
        names = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        count = len(names) - (names[:1] in (["self"], ["cls"]))
        if count > MAX_PARAMETERS:
            yield f"{node.lineno}: {node.name} takes {count} values; at most {MAX_PARAMETERS}"


def takes_no_open_ended_keywords(module: Module) -> Iterator[str]:
    for node in module.nodes:
        if isinstance(node, ast.arguments) and node.kwarg:
            yield f"{node.kwarg.lineno}: **{node.kwarg.arg}; name the parameters"


def is_named_for_what_it_holds(module: Module) -> Iterator[str]:
    for part in module.name.split("."):
        if part in FORBIDDEN_MODULES:
            yield f"1: {part!r} names no subject"
    for node in module.nodes:
        if isinstance(node, ast.ClassDef) and node.name.endswith(FORBIDDEN_ENDINGS):
            yield f"{node.lineno}: {node.name} tells a rank, not a job"
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            yield f"{node.lineno}: {node.name} would be collected by pytest"


def imported_names(node: ast.AST) -> set[str]:
    match node:
        case ast.Import():
            return {alias.name for alias in node.names}
        case ast.ImportFrom():
            return {f"{node.module}.{alias.name}" for alias in node.names}
        case _:
            return set()


def line_of(node: ast.AST) -> int:
    return node.lineno if isinstance(node, ast.stmt | ast.expr) else 1


def imports_in_the_open(module: Module) -> Iterator[str]:
    for node in module.nodes:
        if isinstance(node, ast.ImportFrom) and node.level:
            yield f"{node.lineno}: a relative import"
        for name in imported_names(node) & {"__future__.annotations", "typing.TYPE_CHECKING"}:
            yield f"{line_of(node)}: {name} hides a layer that is wrong"
        if isinstance(node, ast.Attribute) and node.attr == "TYPE_CHECKING":
            yield f"{node.lineno}: typing.TYPE_CHECKING hides a layer that is wrong"


def late_imports(module: Module) -> Iterator[int]:
    for function in functions(module):
        for node in ast.walk(function):
            if isinstance(node, ast.Import | ast.ImportFrom):
                yield node.lineno


def imports_at_the_top(module: Module) -> Iterator[str]:
    if module.name not in IMPORTS_LATE:
        for line in late_imports(module):
            yield f"{line}: an import inside a function"


def is_a_loop(node: ast.expr) -> bool:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name == "asyncio" or name.endswith("loop")
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in {"get_running_loop", "get_event_loop", "new_event_loop"}
        case _:
            return False


def owns_its_work(module: Module) -> Iterator[str]:
    loose = {f"asyncio.{name}" for name in LOOSE}
    for node in module.nodes:
        for name in imported_names(node) & loose:
            yield f"{line_of(node)}: {name}; use the task group of the owner"
        if isinstance(node, ast.Attribute) and node.attr in LOOSE and is_a_loop(node.value):
            yield f"{node.lineno}: {node.attr}; use the task group of the owner"


def keeps_its_package_file_empty(module: Module) -> Iterator[str]:
    if not module.is_package:
        return
    for node in module.tree.body:
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                continue
            case ast.ImportFrom(module="importlib") | ast.FunctionDef(name="__getattr__"):
                if module.name == REEXPORTS:
                    continue
            case ast.Assign(targets=[ast.Name(id="__all__" | "_MODULES")]):
                if module.name == REEXPORTS:
                    continue
            case _:
                pass
        yield f"{node.lineno}: code in a package's __init__; only {REEXPORTS} re-exports"


def gives_reasons_for_what_it_suppresses(module: Module) -> Iterator[str]:
    for number, line in enumerate(module.text.splitlines(), 1):
        if found := re.search(r"#\s*(noqa|type: ignore|pyright: ignore)(?P<rest>.*)", line):
            rule = re.match(r"(: ?[A-Z]+\d+(, ?[A-Z]+\d+)*|\[\w+(, ?\w+)*\])\W+\w+", found["rest"])
            if not rule:
                yield f"{number}: a suppression names its rule, then its reason"


BOUNDARIES: Mapping[str, str] = {
    "symposium.cli.app.invoke": "the command line",
    "symposium.chain.intake.receive": "a connection: a message must not end it",
    "symposium.chain.calls.guarded": "a mod: its handlers",
    "symposium.chain.calls.guarded_wait": "a mod: its asynchronous handlers",
    "symposium.chain.running_chain.log_failures": "a component in this process: its own work",
}
"""Functions that catch every error, with the reason."""

ERROR_BOUNDARIES: Mapping[str, str] = {
    "localio.http.in_thread": "a thread: the caller gets its error",
    "peerwire.jsonrpc.requests.take_request": "a handler: its error answers the request",
    "peerwire.jsonrpc.requests.take_notification": "a handler: its error is logged",
    "peerwire.jsonrpc.requests._answer_later": "a handler: its error answers the request",
    "peerwire.jsonrpc.requests._answer": "a result: encoding it runs methods of its class",
    "peerwire.jsonrpc.requests._outcome": "a handler of results: the requester gets its error",
    "peerwire.task_group.flat_task_group": "a task group: the caller gets the error",
    "symposium.bus.handlers._answer": "a handler: its error answers the message",
    "symposium.chain.conductor.run": "the start of a chain: the error answers `initialize`",
    "symposium.chain.tools.call": "a tool of a mod: the model reads its error",
    "symposium.daemon.process._run_detached": "a process: its parent reports the error",
    "symposium.mcp_server.tool.call": "a tool: the model reads its error",
    "symposium.run_mode.connection.serving": "a handler: its error answers the request",
    "symposium.run_mode.menu.config_mode.play": "a menu: its error must not end the connection",
    "symposium.run_mode.menu.slow_start.wait_with_input": "a task group: the caller gets the error",
    "symposium.run_mode.supervisor._open": "the start of a chain: others must not end with it",
    "symposium.sessions.agent_runner.watch": "the budget: a turn must not end with its monitoring",
    "symposium.tasks.store.run": "a task group: the caller gets the error",
    "symposium.tasks.store.after_failure": "a rollback: the caller reports the first error",
    "symposium.tasks.store._run": "one write: others of its transaction stay",
}
"""Functions that catch every error with an `ErrorBoundary`, with the reason."""


def words_of(node: ast.AST) -> list[str]:
    """Return the items of a list of words; `sys.executable` stays an expression."""
    if not isinstance(node, ast.List | ast.Tuple):
        return []
    words: list[str] = []
    for each in node.elts:
        inner = each.value if isinstance(each, ast.Starred) else each
        words += words_of(inner) or [ast.unparse(inner).strip("'")]
    return words


def command_lines(module: Module) -> Iterator[tuple[int, list[str]]]:
    """Return each command line that begins with `sys.executable`, also in a nested list."""
    for node in module.nodes:
        words = words_of(node)
        if isinstance(node, ast.Dict):
            words = [word for each in node.values for word in words_of(each) or [ast.unparse(each)]]
        if "sys.executable" in words:
            yield line_of(node), words[words.index("sys.executable") + 1 :]


def imports_nothing_from_where_it_is(module: Module) -> Iterator[str]:
    for line, words in command_lines(module):
        if "-m" in words and not {"-P", "-I"} & set(words[: words.index("-m")]):
            yield f"{line}: `python -m` imports from the current directory; add -P before it"


def starts_git_in_localio(module: Module) -> Iterator[str]:
    if module.name.startswith("localio."):
        return
    for node in module.nodes:
        match node:
            case (
                ast.Call(args=[ast.Constant(value="git"), *_])
                | ast.List(elts=[ast.Constant(value="git"), *_])
                | ast.Tuple(elts=[ast.Constant(value="git"), *_])
            ):
                yield f"{node.lineno}: only localio starts git; use `localio.git`"
            case _:
                pass


def is_broad(handler: ast.ExceptHandler) -> bool:
    """Whether it catches everything and keeps it: a handler that ends in `raise` passes it on."""
    caught = {node.id for node in ast.walk(handler.type or handler) if isinstance(node, ast.Name)}
    reraises = isinstance(last := handler.body[-1], ast.Raise) and last.exc is None
    return (handler.type is None or bool(caught & {"Exception", "BaseException"})) and not reraises


def broad_handlers(module: Module) -> Iterator[int]:
    for node in module.nodes:
        if isinstance(node, ast.ExceptHandler) and is_broad(node):
            yield node.lineno


def error_boundaries(module: Module) -> Iterator[int]:
    for node in module.nodes:
        match node:
            case ast.Call(func=ast.Name(id="ErrorBoundary") | ast.Attribute(attr="ErrorBoundary")):
                yield node.lineno
            case _:
                pass


def places_of(found: Module, lines: Iterable[int]) -> list[str]:
    """Return the innermost function of each line, with its module."""
    inside = [
        [each for each in functions(found) if each.lineno <= line <= (each.end_lineno or 0)]
        for line in lines
    ]
    return [
        f"{found.name}.{max(around, key=lambda each: each.lineno).name}" if around else found.name
        for around in inside
    ]


def explains_what_catches_everything(module: Module) -> Iterator[str]:
    lines = module.text.splitlines()
    for number in broad_handlers(module):
        if not any("#" in line for line in lines[number - 1 : number + 1]):
            yield f"{number}: catches everything without a reason"


Rule = Callable[[Module], Iterator[str]]


@pytest.mark.requirement("house.shape-rules")
@pytest.mark.parametrize(
    "rule",
    [
        pytest.param(has_a_bounded_length, marks=pytest.mark.requirement("house.shape-lines")),
        pytest.param(says_what_it_is_about, marks=pytest.mark.requirement("house.shape-init")),
        pytest.param(has_small_classes, marks=pytest.mark.requirement("house.shape-classes")),
        pytest.param(has_short_functions, marks=pytest.mark.requirement("house.shape-functions")),
        pytest.param(has_few_parameters, marks=pytest.mark.requirement("house.shape-functions")),
        pytest.param(
            takes_no_open_ended_keywords, marks=pytest.mark.requirement("house.shape-functions")
        ),
        pytest.param(
            is_named_for_what_it_holds,
            marks=pytest.mark.requirement("house.shape-names", "house.shape-classes"),
        ),
        pytest.param(imports_in_the_open, marks=pytest.mark.requirement("house.shape-tasks")),
        pytest.param(imports_at_the_top, marks=pytest.mark.requirement("house.shape-tasks")),
        pytest.param(owns_its_work, marks=pytest.mark.requirement("house.shape-tasks")),
        pytest.param(
            keeps_its_package_file_empty, marks=pytest.mark.requirement("house.shape-init")
        ),
        pytest.param(
            explains_what_catches_everything,
            marks=pytest.mark.requirement("house.shape-broad-except"),
        ),
        pytest.param(
            imports_nothing_from_where_it_is, marks=pytest.mark.requirement("house.shape-python-m")
        ),
        pytest.param(starts_git_in_localio, marks=pytest.mark.requirement("house.one-git")),
        pytest.param(gives_reasons_for_what_it_suppresses),
    ],
    ids=lambda rule: rule.__name__,
)
def test_every_module(rule: Rule) -> None:
    found = [f"src/{module.name}:{line}" for module in modules() for line in rule(module)]

    if found:
        pytest.fail("\n".join(found), pytrace=False)


@pytest.mark.requirement("house.shape-broad-except")
def test_everything_is_caught_at_named_boundaries_only() -> None:
    handlers = [name for each in modules() for name in places_of(each, broad_handlers(each))]
    blocks = [name for each in modules() for name in places_of(each, error_boundaries(each))]

    assert set(handlers) == BOUNDARIES.keys()
    assert sorted(blocks) == sorted(ERROR_BOUNDARIES)


@pytest.mark.requirement("house.shape-broad-except")
def test_error_boundary_is_found_in_its_innermost_function() -> None:
    inner = "def f():\n def g():\n  with ErrorBoundary() as caught:\n   x()\n"
    outer = " one = errors.ErrorBoundary()\n two = ErrorBoundary()\nerror = ErrorBoundary()"
    module = module_of(inner + outer, "symposium.bus")

    names = ["symposium.bus.g", "symposium.bus.f", "symposium.bus.f", "symposium.bus"]
    assert sorted(places_of(module, error_boundaries(module))) == sorted(names)
    assert not list(error_boundaries(module_of("boundary: ErrorBoundary | None = None")))


@pytest.mark.requirement("house.shape-rules")
def test_module_that_may_import_late_does_so() -> None:
    late = {module.name for module in modules() if any(late_imports(module))}

    assert late >= IMPORTS_LATE.keys()


@pytest.mark.requirement("house.shape-lines")
def test_nine_of_ten_modules_have_up_to_350_lines() -> None:
    assert lines_of_nine_in_ten([module.text.count("\n") for module in modules()]) <= 350
    assert lines_of_nine_in_ten([350] * 90 + [351] * 10) == 350
    assert lines_of_nine_in_ten([1, 5] * 10 + [350] * 89 + [351] * 11) == 351


def classes_defined_twice(found: Iterable[Module]) -> list[str]:
    """Return public names that two classes have at the top level of their modules."""
    places: dict[str, list[str]] = defaultdict(list)
    for module in found:
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(module.name)
    return [f"{name}: {', '.join(where)}" for name, where in places.items() if len(where) > 1]


@pytest.mark.requirement("house.shape-class-names")
def test_public_class_name_is_defined_once() -> None:
    assert not classes_defined_twice(modules())


RAISES = re.compile(r"^Raises:\n((?: +.*(?:\n|\Z)|\n)+)", re.MULTILINE)
RAISED = re.compile(r"^ {4}(\w[\w., ]*):", re.MULTILINE)


def unknown_errors(docstring: str, classes: frozenset[str]) -> Iterator[str]:
    """Yield the names under `Raises:` that no class has."""
    for section in RAISES.findall(docstring):
        for name in (name for names in RAISED.findall(section) for name in names.split(", ")):
            try:
                found = pkgutil.resolve_name(name if "." in name else f"{builtins.__name__}.{name}")
            except (AttributeError, ImportError):
                found = None
            if name not in classes and not isinstance(found, type):
                yield name


@cache
def class_names() -> frozenset[str]:
    return frozenset(
        node.name for module in modules() for node in module.nodes if isinstance(node, ast.ClassDef)
    )


@pytest.mark.requirement("house.docstring-raises")
def test_errors_in_docstrings_exist() -> None:
    documented = [
        (f"{module.name}.{node.name}", text)
        for module in modules()
        for node in module.nodes
        if isinstance(node, (*type_of_function, ast.ClassDef))
        and "Raises:" in (text := ast.get_docstring(node) or "")
    ]
    unknown = [
        (where, name) for where, text in documented for name in unknown_errors(text, class_names())
    ]
    assert unknown == []
    assert len(documented) > 100


@pytest.mark.requirement("house.docstring-raises")
def test_error_that_does_not_exist_is_found_in_a_docstring() -> None:
    docstring = """Do it.

    Raises:
        OSError, GoneError: it failed, or
            not: in time.
        json.GoneError: it is no JSON.
        json.JSONDecodeError: neither.
        OwnError: it is known.

    Not here: a note.
    """
    unknown = unknown_errors(inspect.cleandoc(docstring), frozenset({"OwnError"}))
    assert list(unknown) == ["GoneError", "json.GoneError"]


@pytest.mark.requirement("house.shape-class-names")
def test_second_class_of_one_name_is_found_with_both_modules() -> None:
    first = module_of("class Peer: ...", "peerwire.handlers")
    second = module_of("x = 1\nclass Peer: ...", "symposium.session")
    private = module_of("class _Peer: ...\ndef f():\n class Peer: ...", "symposium.bus.peers")

    assert classes_defined_twice([first, private]) == []
    assert classes_defined_twice([first, private, second]) == [
        "Peer: peerwire.handlers, symposium.session"
    ]
    assert classes_defined_twice([module_of("class Peer: ...\nclass Peer: ...")])


BAD = [
    (has_a_bounded_length, "x = 1\n" * (MAX_LINES + 1)),
    (says_what_it_is_about, "x = 1"),
    (has_small_classes, "class A:\n" + " def f(self): ...\n" * (MAX_METHODS + 1)),
    (has_short_functions, "def f():\n" + " x = 1\n" * MAX_FUNCTION_LINES),
    (has_few_parameters, "def f(a, b, /, c, d, *, e, f, g): ..."),
    (has_few_parameters, "class A:\n async def f(self, a, b, c, d, *, e, f, g): ..."),
    (takes_no_open_ended_keywords, "def f(**options): ..."),
    (takes_no_open_ended_keywords, "f = lambda **options: None"),
    (is_named_for_what_it_holds, "class SessionManager: ..."),
    (is_named_for_what_it_holds, "class TestSession: ..."),
    (imports_in_the_open, "from . import x"),
    (imports_in_the_open, "from __future__ import annotations"),
    (imports_in_the_open, "from typing import TYPE_CHECKING"),
    (imports_in_the_open, "import typing\nif typing.TYPE_CHECKING: ..."),
    (imports_at_the_top, "def f():\n import json"),
    (imports_at_the_top, "class A:\n async def f(self):\n  if x:\n   from json import loads"),
    (owns_its_work, "asyncio.create_task(f())"),
    (owns_its_work, "asyncio.get_running_loop().create_task(f())"),
    (owns_its_work, "self._loop.create_task(f())"),
    (owns_its_work, "from asyncio import gather"),
    (owns_its_work, "inbox = asyncio.Queue()"),
    (explains_what_catches_everything, "try:\n x()\nexcept Exception:\n y()"),
    (explains_what_catches_everything, "try:\n x()\nexcept (OSError, BaseException):\n y()"),
    (explains_what_catches_everything, "try:\n x()\nexcept:\n y()"),
    (imports_nothing_from_where_it_is, "run([sys.executable, '-m', 'symposium'])"),
    (imports_nothing_from_where_it_is, "run((sys.executable, *('-X', 'utf8', '-m'), module))"),
    (imports_nothing_from_where_it_is, "run({'command': sys.executable, 'args': ['-m', 'venv']})"),
    (starts_git_in_localio, "run(['git', 'log'])"),
    (starts_git_in_localio, "run('git', *words)"),
    (starts_git_in_localio, "words = (*('git', '-c'), setting)"),
    (gives_reasons_for_what_it_suppresses, "import x  # noqa"),
    (gives_reasons_for_what_it_suppresses, "import x  # noqa: F401"),
    (gives_reasons_for_what_it_suppresses, "x = y()  # pyright: ignore[reportAny]"),
]
GOOD = [
    (has_a_bounded_length, "x = 1\n" * MAX_LINES),
    (has_small_classes, "class A:\n" + " def f(self): ...\n" * MAX_METHODS),
    (has_short_functions, "def f():\n" + " x = 1\n" * (MAX_FUNCTION_LINES - 1)),
    (has_few_parameters, "class A:\n def f(self, a, b, c, d, *, e, f): ..."),
    (explains_what_catches_everything, "try:\n x()\nexcept Exception:\n # so that\n y()"),
    (explains_what_catches_everything, "try:\n x()\nexcept BaseException:\n y()\n raise"),
    (explains_what_catches_everything, "try:\n x()\nexcept OSError:\n y()"),
    (imports_in_the_open, "from typing import Any"),
    (owns_its_work, "async with asyncio.TaskGroup() as tasks:\n tasks.create_task(f())"),
    (imports_nothing_from_where_it_is, "run([sys.executable, '-P', '-m', 'symposium'])"),
    (imports_nothing_from_where_it_is, "run([sys.executable, *('-I', '-m', 'a'), '-m', 'b'])"),
    (imports_nothing_from_where_it_is, "run({'command': sys.executable, 'args': ['-I', 'a.py']})"),
    (starts_git_in_localio, "read(folder, 'git')\ngit('log')\nread(git, 'log')"),
    (gives_reasons_for_what_it_suppresses, "import x  # noqa: F401 - seen by readers of x"),
    (
        gives_reasons_for_what_it_suppresses,
        "y()  # pyright: ignore[reportAny]  the wire is untyped",
    ),
]


@pytest.mark.requirement("house.shape-rules")
@pytest.mark.parametrize(("rule", "text"), BAD)
def test_rule_finds_a_violation(rule: Rule, text: str) -> None:
    assert list(rule(module_of(text)))


@pytest.mark.requirement("house.shape-rules")
@pytest.mark.parametrize(("rule", "text"), GOOD)
def test_rule_accepts_other_code(rule: Rule, text: str) -> None:
    assert not list(rule(module_of(text)))


@pytest.mark.requirement("house.shape-rules")
def test_module_without_a_subject_is_found_by_its_name() -> None:
    assert list(is_named_for_what_it_holds(module_of("", "symposium.utils.text")))


@pytest.mark.requirement("house.shape-rules")
def test_only_one_package_file_holds_names() -> None:
    text = '"""What it is."""\n_MODULES = {"Mod": "symposium.mod"}\n__all__ = ["Mod"]\n'

    assert list(keeps_its_package_file_empty(module_of(text, "symposium.bus", is_package=True)))
    assert not list(keeps_its_package_file_empty(module_of(text, REEXPORTS, is_package=True)))
    assert not list(keeps_its_package_file_empty(module_of(text, "symposium.bus.broker")))


@pytest.mark.requirement("house.shape-init")
def test_names_for_authors_of_mods_are_listed() -> None:
    stub = ast.parse((SOURCES / REEXPORTS / "__init__.pyi").read_text(encoding="utf-8"))
    package = next(module for module in modules() if module.name == REEXPORTS)
    declared = {
        alias.name: node.module
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    listed, modules_of, public = [
        ast.literal_eval(node.value)
        for tree in (stub, package.tree)
        for node in tree.body
        if isinstance(node, ast.Assign)
    ]
    (function,) = (node for node in package.tree.body if isinstance(node, ast.FunctionDef))
    dicts = [node for node in ast.walk(function) if isinstance(node, ast.Dict)]
    (old_names,) = [ast.literal_eval(node) for node in dicts]

    assert modules_of == declared
    assert listed == public == sorted(declared)
    assert set(old_names.values()) <= declared.keys()
    assert not old_names.keys() & declared.keys()


WATCH = """
import os, sys, threading

def watch(event, args):
    if event == "open":
        path, mode, flags = args
        writes = (flags or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        if writes or not str(path).endswith((".py", ".pyc", ".so")):
            print("opens", path)
    elif event.split(".")[0] in {"socket", "subprocess"} or event in FORBIDDEN:
        print(event, *args)

FORBIDDEN = {"os.mkdir", "os.rename", "os.remove", "os.fork", "os.system", "os.posix_spawn"}
before = dict(os.environ)
names = sys.argv[1:]
import asyncio, click, h11, msgspec
if any(name.startswith("symposium.mcp_server") for name in names):
    import mcp.server.lowlevel.server, uvicorn
sys.addaudithook(watch)
for name in names:
    __import__(name)
if threading.active_count() > 1:
    print("starts a thread")
if before != dict(os.environ):
    print("changes the environment")
"""
"""Imports the given module and prints every effect except defining names."""


def effects_of_importing(*names: str, path: Path) -> str:
    command = [sys.executable, "-B", "-W", "error", "-c", WATCH, *names]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        cwd=path,
        env={"PYTHONPATH": str(path)},
    )
    return done.stdout + done.stderr


@pytest.mark.timeout(60)  # it imports everything, the MCP SDK too
@pytest.mark.requirement("house.imports-do-nothing")
def test_import_has_no_effects() -> None:
    names = [module.name for module in modules()]

    assert not effects_of_importing(*names, path=SOURCES)


@pytest.mark.requirement("house.shape-rules")
@pytest.mark.parametrize(
    "text",
    [
        "print('hello')",
        "import os; os.mkdir('here')",
        "open('note', 'w').close()",
        "open('/etc/hosts').close()",
        "import subprocess, sys; subprocess.run([sys.executable, '-c', ''])",
        "import socket; socket.socket().close()",
        "import os; os.environ['SEEN'] = '1'",
        "import threading, time; threading.Thread(target=time.sleep, args=[0.1]).start()",
        "raise ValueError('too early')",
    ],
)
def test_import_with_an_effect_is_found(text: str, tmp_path: Path) -> None:
    (tmp_path / "sample.py").write_text(text, encoding="utf-8")

    assert effects_of_importing("sample", path=tmp_path)
