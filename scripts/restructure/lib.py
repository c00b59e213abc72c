"""Reading of sources, scopes, mapping. Needs Python 3.12 or newer (positions inside f-strings)."""

import ast
import builtins
import re
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

assert sys.version_info >= (3, 12), "run with Python 3.12 or newer"
HERE = Path(__file__).parent
ROOTS = ("peerwire", "localio", "symposium")
TREES = ("src", "tests", "bench", "examples", "docs")
FN = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMP = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Stop(SystemExit):
    pass


# ---------------------------------------------------------------- mapping


@dataclass
class Target:
    name: str
    step: str
    sources: list[tuple[str, str | None]]  # (module, name | "*" | None for all)
    doc: str | None


@dataclass
class Mapping_:
    targets: dict[str, Target] = field(default_factory=dict)
    keep: set[str] = field(default_factory=set)
    steps: dict[str, str] = field(default_factory=dict)

    def of_step(self, step: str) -> list[Target]:
        return [t for t in self.targets.values() if t.step == step]


def read_mapping(path: Path = HERE / "mapping.txt") -> Mapping_:
    out = Mapping_()
    step = ""
    for line in path.read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("STEP "):
            _, n, title = line.split(" ", 2)
            step = n
            out.steps[step] = title
            continue
        if line.startswith("KEEP "):
            out.keep |= set(line.split()[1:])
            continue
        left, _, doc = line.partition(" | ")
        name, _, sources = left.partition(" <- ")
        parsed = []
        for each in sources.split():
            mod, _, part = each.partition(":")
            parsed.append((mod, part or None))
        if name in out.targets:
            raise Stop(f"mapping: {name} twice")
        out.targets[name] = Target(name, step, parsed, doc.strip() or None)
    return out


# ---------------------------------------------------------------- files


@dataclass
class File:
    path: Path
    module: str | None  # dotted name if below src
    text: str
    tree: ast.Module
    is_package: bool = False


def module_name(path: Path, src: Path) -> tuple[str, bool]:
    parts = path.relative_to(src).with_suffix("").parts
    if parts[-1] == "__init__":
        return ".".join(parts[:-1]), True
    return ".".join(parts), False


def read_file(path: Path, root: Path) -> File:
    text = path.read_text(encoding="utf-8")
    module, is_package = None, False
    if path.is_relative_to(root / "src"):
        module, is_package = module_name(path, root / "src")
    return File(path, module, text, ast.parse(text), is_package)


def read_tree(root: Path, trees=TREES) -> dict[Path, File]:
    out = {}
    for tree in trees:
        for path in sorted((root / tree).rglob("*.py")):
            if "__pycache__" in path.parts:
                continue
            out[path] = read_file(path, root)
    stub = root / "src/symposium/__init__.pyi"
    if "src" in trees and stub.exists():
        text = stub.read_text()
        out[stub] = File(stub, None, text, ast.parse(text), True)
    return out


# ---------------------------------------------------------------- scopes


def bound_in_target(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store | ast.Del)}


class Bindings(ast.NodeVisitor):
    """Names that one scope binds (not those of scopes inside)."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()

    def visit_FunctionDef(self, node):
        self.names.add(node.name)
        for each in (*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)):
            self.visit(each)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node):
        self.names.add(node.name)
        for each in (*node.decorator_list, *node.bases, *(k.value for k in node.keywords)):
            self.visit(each)

    def visit_Lambda(self, node):
        for each in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
            self.visit(each)

    def _comp(self, node):
        # walrus targets bind outside
        for n in ast.walk(node):
            if isinstance(n, ast.NamedExpr):
                self.names.add(n.target.id)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comp

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Store | ast.Del):
            self.names.add(node.id)

    def visit_Import(self, node):
        for a in node.names:
            self.names.add(a.asname or a.name.split(".")[0])

    def visit_ImportFrom(self, node):
        for a in node.names:
            self.names.add(a.asname or a.name)

    def visit_ExceptHandler(self, node):
        if node.name:
            self.names.add(node.name)
        self.generic_visit(node)

    def visit_Global(self, node):
        self.globals |= set(node.names)

    def visit_Nonlocal(self, node):
        self.nonlocals |= set(node.names)

    def visit_MatchAs(self, node):
        if node.name:
            self.names.add(node.name)
        self.generic_visit(node)

    def visit_MatchStar(self, node):
        if node.name:
            self.names.add(node.name)

    def visit_MatchMapping(self, node):
        if node.rest:
            self.names.add(node.rest)
        self.generic_visit(node)


def bindings(body: list[ast.stmt]) -> Bindings:
    b = Bindings()
    for s in body:
        b.visit(s)
    return b


def arg_names(args: ast.arguments) -> set[str]:
    every = [*args.posonlyargs, *args.args, *args.kwonlyargs]
    if args.vararg:
        every.append(args.vararg)
    if args.kwarg:
        every.append(args.kwarg)
    return {a.arg for a in every}


class Globals(ast.NodeVisitor):
    """Every ast.Name (or other occurrence) that means a name of the module's own scope.

    found: list of (name, lineno, col, node); col in utf-8 bytes. Also names at module level.
    """

    def __init__(self, tree: ast.Module) -> None:
        self.scopes: list[tuple[str, set[str]]] = []  # (kind, names)
        self.found: list[tuple[str, int, int, ast.AST]] = []
        self.locals_seen: set[str] = set()
        self.quoted: list[tuple[ast.Constant, ast.AST]] = []
        self.tree = tree
        for s in tree.body:
            self.visit(s)

    def is_global(self, name: str) -> bool:
        for i, (kind, names) in enumerate(reversed(self.scopes)):
            if kind == "class" and i != 0:
                continue
            if "global " + name in names:
                return True
            if name in names:
                return False
        return True

    def add(self, name, node, line=None, col=None):
        if self.is_global(name):
            self.found.append((name, line or node.lineno, node.col_offset if col is None else col, node))
        else:
            self.locals_seen.add(name)

    def visit_Name(self, node):
        self.add(node.id, node)

    def _annotation(self, node):
        if node is None:
            return
        for n in ast.walk(node):
            if isinstance(n, ast.Constant) and isinstance(n.value, str):
                self.quoted.append((n, node))
        self.visit(node)

    def visit_AnnAssign(self, node):
        self.visit(node.target)
        self._annotation(node.annotation)
        if node.value:
            self.visit(node.value)

    def visit_Global(self, node):
        for name in node.names:
            self.found.append((name, node.lineno, -1, node))

    def _args(self, args):
        for each in (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg):
            if each is not None:
                self._annotation(each.annotation)
        for each in (*args.defaults, *filter(None, args.kw_defaults)):
            self.visit(each)

    def _function(self, node):
        # name of a nested/def: position of its identifier
        self.def_name(node)
        for d in node.decorator_list:
            self.visit(d)
        self._args(node.args)
        self._annotation(node.returns)
        b = bindings(node.body)
        names = (b.names - b.nonlocals - b.globals) | arg_names(node.args) | {"global " + g for g in b.globals}
        self.scopes.append(("function", names))
        for s in node.body:
            self.visit(s)
        self.scopes.pop()

    visit_FunctionDef = visit_AsyncFunctionDef = _function

    def def_name(self, node):
        if self.is_global(node.name) and (not self.scopes):
            self.found.append((node.name, node.lineno, -1, node))
        else:
            self.locals_seen.add(node.name)

    def visit_Lambda(self, node):
        self._args(node.args)
        self.scopes.append(("function", arg_names(node.args)))
        self.visit(node.body)
        self.scopes.pop()

    def visit_ClassDef(self, node):
        self.def_name(node)
        for d in (*node.decorator_list, *node.bases, *(k.value for k in node.keywords)):
            self.visit(d)
        b = bindings(node.body)
        self.scopes.append(("class", b.names))
        for s in node.body:
            self.visit(s)
        self.scopes.pop()

    def _comp(self, node):
        first = node.generators[0]
        self.visit(first.iter)
        names = set()
        for g in node.generators:
            names |= bound_in_target(g.target)
        self.scopes.append(("function", names))
        for i, g in enumerate(node.generators):
            self.visit(g.target)
            if i:
                self.visit(g.iter)
            for c in g.ifs:
                self.visit(c)
        if isinstance(node, ast.DictComp):
            self.visit(node.key)
            self.visit(node.value)
        else:
            self.visit(node.elt)
        self.scopes.pop()

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comp

    def visit_Import(self, node):
        for a in node.names:
            bound = a.asname or a.name.split(".")[0]
            if not self.is_global(bound):
                self.locals_seen.add(bound)

    def visit_ImportFrom(self, node):
        for a in node.names:
            bound = a.asname or a.name
            if not self.is_global(bound):
                self.locals_seen.add(bound)

    def visit_Constant(self, node):
        # cast("X", ...), TypeVar(bound="X"), quoted bases
        if isinstance(node.value, str):
            self.quoted.append((node, None))


def segments(text: str) -> list[int]:
    """Byte offset of each line's start."""
    starts = [0]
    raw = text.encode()
    for i, c in enumerate(raw):
        if c == 10:
            starts.append(i + 1)
    return starts


class Edits:
    """Replacements in a text by byte positions."""

    def __init__(self, text: str) -> None:
        self.raw = text.encode()
        self.starts = segments(text)
        self.edits: dict[tuple[int, int], bytes] = {}

    def at(self, line: int, col: int) -> int:
        return self.starts[line - 1] + col

    def put(self, begin: int, end: int, new: str) -> None:
        key = (begin, end)
        new_b = new.encode()
        if key in self.edits and self.edits[key] != new_b:
            raise Stop(f"two edits at {key}: {self.edits[key]!r} {new_b!r}")
        self.edits[key] = new_b

    def node(self, node: ast.AST, new: str) -> None:
        self.put(self.at(node.lineno, node.col_offset), self.at(node.end_lineno, node.end_col_offset), new)

    def word(self, line: int, col: int, old: str, new: str) -> None:
        b = self.at(line, col)
        if self.raw[b : b + len(old.encode())] != old.encode():
            raise Stop(f"{old!r} is not at line {line} col {col}: {self.raw[b:b+40]!r}")
        self.put(b, b + len(old.encode()), new)

    def result(self) -> str:
        out, last = [], 0
        for (b, e), new in sorted(self.edits.items()):
            if b < last:
                raise Stop(f"overlapping edits at {b}: {self.raw[b:e]!r}")
            out += [self.raw[last:b], new]
            last = e
        out.append(self.raw[last:])
        return b"".join(out).decode()


def own_names(tree: ast.Module) -> dict[str, ast.stmt]:
    """Names that a module defines at its top (imports excluded): name to statement."""
    out: dict[str, ast.stmt] = {}
    for s in tree.body:
        if isinstance(s, ast.Import | ast.ImportFrom):
            continue
        b = Bindings()
        b.visit(s)
        for n in b.names:
            if isinstance(s, ast.If | ast.Try | ast.With) and n in out:
                continue
            out.setdefault(n, s)
    return out


def imports_of(tree: ast.Module) -> list[ast.Import | ast.ImportFrom]:
    return [s for s in tree.body if isinstance(s, ast.Import | ast.ImportFrom)]


def bound_imports(tree: ast.Module) -> dict[str, str]:
    """Name bound at the top by an import: name to origin 'module:name' or 'module'."""
    out = {}
    for s in imports_of(tree):
        for a in s.names:
            if isinstance(s, ast.Import):
                out[a.asname or a.name.split(".")[0]] = a.name if a.asname else a.name.split(".")[0]
            else:
                out[a.asname or a.name] = f"{s.module}:{a.name}"
    return out
