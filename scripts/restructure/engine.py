"""Renames and moves, computed from syntax trees. No text of a body changes but names."""

import ast
import io
import re
import tokenize
from collections import defaultdict
from lib import *

PATHLIKE = re.compile(r"(?<![\w./-])((?:src/)?(?:symposium|peerwire|localio)(?:/\w+)+)\.py\b")
DOTTED = re.compile(r"(?<![\w./-])((?:symposium|peerwire|localio)(?:\.[A-Za-z_]\w*)+)")
TESTPATH = re.compile(r"(?<![\w./-])(tests/unit(?:/\w+)+\.(?:py|txt))\b")


# ---------------------------------------------------------------- renames


def identifier_position(e: Edits, node: ast.AST, name: str) -> tuple[int, int]:
    """Where `def name` or `class name` has its name."""
    begin = e.at(node.lineno, node.col_offset)
    found = re.compile(rb"(?:async\s+)?(?:def|class)\s+(" + name.encode() + rb")\b").match(e.raw, begin)
    if not found:
        raise Stop(f"no definition of {name} at line {node.lineno}")
    return found.start(1), found.end(1)


def rename_global(e: Edits, tree: ast.Module, old: str, new: str) -> int:
    g = Globals(tree)
    if new in own_names(tree) or new in bound_imports(tree) or new in g.locals_seen:
        raise Stop(f"{new} is taken where {old} is to be renamed")
    count = 0
    for name, line, col, node in g.found:
        if name != old:
            continue
        count += 1
        if isinstance(node, ast.Global):
            b = e.at(node.lineno, node.col_offset)
            end = e.at(node.end_lineno, node.end_col_offset)
            for hit in re.finditer(rb"\b" + old.encode() + rb"\b", e.raw[b:end]):
                e.put(b + hit.start(), b + hit.end(), new)
        elif col == -1:
            e.put(*identifier_position(e, node, old), new)
        else:
            e.word(line, col, old, new)
    for const, annotation in g.quoted:
        if re.fullmatch(r"[\w\[\], .|]+", const.value) and re.search(rf"\b{old}\b", const.value):
            if annotation is None and not is_type_string(tree, const):
                continue
            b = e.at(const.lineno, const.col_offset)
            end = e.at(const.end_lineno, const.end_col_offset)
            for hit in re.finditer(rb"\b" + old.encode() + rb"\b", e.raw[b:end]):
                e.put(b + hit.start(), b + hit.end(), new)
    return count


def is_type_string(tree: ast.Module, const: ast.Constant) -> bool:
    """Whether a string is the type of a `cast`, or the bound of a TypeVar."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id == "cast" and node.args and node.args[0] is const:
                return True
            if node.func.id == "TypeVar" and any(k.value is const for k in node.keywords if k.arg == "bound"):
                return True
    return False


def module_bindings(tree: ast.Module, known: set[str]) -> list[tuple[ast.ImportFrom, ast.alias, str]]:
    """Imports that bind a module of ours: statement, alias, module."""
    out = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for a in node.names:
                if f"{node.module}.{a.name}" in known:
                    out.append((node, a, f"{node.module}.{a.name}"))
    return out


def rename(root: Path, table: list[tuple[str, str, str]]) -> None:
    """Rename global names where they stand, and wherever they are imported."""
    files = read_tree(root)
    known = {f.module for f in files.values() if f.module}
    for mod, old, new in table:
        if mod not in known:
            print(f"rename: {mod} is gone; skipped {old}")
            continue
        touched = 0
        for path, f in list(files.items()):
            if old not in f.text or (f.module != mod and mod.rpartition(".")[2] not in f.text):
                continue
            e = Edits(f.text)
            if f.module == mod:
                if old not in own_names(f.tree):
                    raise Stop(f"rename: {mod} does not define {old}")
                rename_global(e, f.tree, old, new)
            renamed_here = False
            for node in ast.walk(f.tree):
                if isinstance(node, ast.ImportFrom) and node.module == mod:
                    for a in node.names:
                        if a.name == old:
                            e.word(a.lineno, a.col_offset, old, new)
                            if a.asname is None and not renamed_here:
                                renamed_here = True
                                rename_uses(e, f, old, new)
            for _, a, which in module_bindings(f.tree, known):
                if which != mod:
                    continue
                bound = a.asname or a.name
                for n in ast.walk(f.tree):
                    if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == bound and n.attr == old:
                        end = e.at(n.end_lineno, n.end_col_offset)
                        e.put(end - len(old), end, new)
                    if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr in ("setattr", "delattr"):
                        if len(n.args) > 1 and isinstance(n.args[0], ast.Name) and n.args[0].id == bound:
                            c = n.args[1]
                            if isinstance(c, ast.Constant) and c.value == old:
                                e.node(c, f'"{new}"')
            for n in ast.walk(f.tree):
                if isinstance(n, ast.Constant) and n.value == f"{mod}.{old}":
                    e.node(n, f'"{mod}.{new}"')
            text = e.result()
            if text != f.text:
                path.write_text(text, encoding="utf-8")
                files[path] = read_file(path, root)
                touched += 1
        print(f"renamed {mod}: {old} -> {new} in {touched} files")


def rename_uses(e: Edits, f: File, old: str, new: str) -> None:
    g = Globals(f.tree)
    if new in own_names(f.tree) or new in bound_imports(f.tree):
        raise Stop(f"{f.path}: {new} is taken")
    late = any(
        isinstance(n, ast.ImportFrom) and any(a.name == old and not a.asname for a in n.names)
        for fn in ast.walk(f.tree) if isinstance(fn, FN) and not isinstance(fn, ast.Lambda)
        for n in ast.walk(fn)
    )
    if late:
        for n in ast.walk(f.tree):
            if isinstance(n, ast.Name) and n.id == old:
                e.word(n.lineno, n.col_offset, old, new)
        return
    for name, line, col, node in g.found:
        if name == old and isinstance(node, ast.Name):
            e.word(line, col, old, new)
    for const, annotation in g.quoted:
        if annotation is not None and re.search(rf"\b{old}\b", const.value):
            b, end = e.at(const.lineno, const.col_offset), e.at(const.end_lineno, const.end_col_offset)
            for hit in re.finditer(rb"\b" + old.encode() + rb"\b", e.raw[b:end]):
                e.put(b + hit.start(), b + hit.end(), new)


# ---------------------------------------------------------------- moves


class Plan:
    """What moves where in one step."""

    def __init__(self, files: dict[Path, File], targets: list[Target], packages: dict[str, str], tests: dict[str, str]) -> None:
        self.known = {f.module for f in files.values() if f.module}
        self.is_package = {f.module for f in files.values() if f.module and f.is_package}
        self.targets = targets
        self.whole: dict[str, str] = {}
        self.part: dict[tuple[str, str], str] = {}
        self.packages = packages
        self.tests = tests
        for t in targets:
            for mod, name in t.sources:
                if mod not in self.known:
                    raise Stop(f"{t.name}: {mod} does not exist")
                if name in (None, "*"):
                    self.whole[mod] = t.name
                else:
                    self.part[mod, name] = t.name
        self.parts_of = defaultdict(set)
        for (mod, name) in self.part:
            self.parts_of[mod].add(name)

    def module(self, mod: str) -> str:
        return self.whole.get(mod, mod)

    def name(self, mod: str, name: str) -> str:
        """The module that defines what `from mod import name` means."""
        return self.part.get((mod, name)) or self.module(mod)

    def dotted(self, text: str) -> str:
        """A dotted name in a string or in prose, as it is after the step."""
        parts = text.split(".")
        for n in range(len(parts), 1, -1):
            head = ".".join(parts[:n])
            if head in self.is_package:
                if n == len(parts):
                    return self.packages.get(head, head)
                continue
            if head in self.known:
                rest = parts[n:]
                new = self.name(head, rest[0]) if rest else self.module(head)
                return ".".join([new, *rest])
        for n in range(len(parts) - 1, 1, -1):
            head = ".".join(parts[:n])
            if head in self.packages:
                return ".".join([self.packages[head], *parts[n:]])
        return text

    def path(self, text: str) -> str:
        """A path such as src/symposium/x/y (without .py), as it is after the step."""
        src = text.startswith("src/")
        mod = text.removeprefix("src/").replace("/", ".")
        if mod in self.known and mod not in self.is_package:
            return ("src/" if src else "") + self.module(mod).replace(".", "/")
        return text

    def prose(self, text: str) -> str:
        text = DOTTED.sub(lambda m: self.dotted(m[1]), text)
        text = PATHLIKE.sub(lambda m: self.path(m[1]) + ".py", text)
        return TESTPATH.sub(lambda m: self.tests.get(m[1], m[1]), text)


def import_text(module: str, names: list[tuple[str, str | None]], indent: str) -> str:
    words = [n if not a else f"{n} as {a}" for n, a in names]
    one = f"from {module} import {', '.join(words)}"
    if len(indent) + len(one) <= 100:
        return one
    inner = "".join(f"{indent}    {w},\n" for w in words)
    return f"from {module} import (\n{inner}{indent})"


def one_line(module: str, names: list[tuple[str, str | None]]) -> str:
    """On one line, whatever its length: a comment with a rule's name must stay on it."""
    return f"from {module} import {', '.join(n if not a else f'{n} as {a}' for n, a in names)}"


def regroup(plan: Plan, f: File, node: ast.ImportFrom, own: str | None, modules: dict[str, tuple[str, str | None]]):
    """The new (module, [(name, asname)]) of one import statement; those of `own` are left out."""
    out: dict[str, list[tuple[str, str | None]]] = {}
    for a in node.names:
        full = f"{node.module}.{a.name}"
        if full in plan.known and full not in plan.is_package:
            new = plan.module(full)
            if new == own:
                continue
            parent, _, last = new.rpartition(".")
            bound = modules.get(full, (last, None))[0]
            out.setdefault(parent, [])
            item = (last, bound if bound != last else None)
            if item not in out[parent]:
                out[parent].append(item)
            continue
        if full in plan.is_package:
            new = plan.packages.get(full, full)
            parent, _, last = new.rpartition(".")
            out.setdefault(parent, []).append((last, a.asname or (a.name if a.name != last else None)))
            continue
        new = plan.name(node.module, a.name) if node.module in plan.known else node.module
        if new == own:
            if a.asname and a.asname != a.name:
                raise Stop(f"{f.path}:{node.lineno}: {a.name} as {a.asname} is of the same target")
            continue
        out.setdefault(new, []).append((a.name, a.asname))
    return out


def taken_names(f: File) -> set[str]:
    out = set()
    for n in ast.walk(f.tree):
        if isinstance(n, ast.Name):
            out.add(n.id)
        elif isinstance(n, ast.arg):
            out.add(n.arg)
        elif isinstance(n, ast.alias):
            out.add(n.asname or n.name)
        elif isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            out.add(n.name)
    return out


def edit_file(plan: Plan, f: File, e: Edits, own: str | None):
    """Edits everything but the imports at the top of a unit; returns those as (module, name, as)."""
    # modules that are bound by name
    modules: dict[str, tuple[str, str | None]] = {}
    taken = taken_names(f)
    for node, a, mod in module_bindings(f.tree, plan.known - plan.is_package):
        new = plan.module(mod)
        bound = a.asname or a.name
        last = new.rpartition(".")[2]
        if new == own:
            modules[mod] = ("", None)
        elif a.asname or last in taken - {bound}:
            modules[mod] = (bound, None)  # an alias stays; a name that is taken makes the old one an alias
            # two modules of one target under two names are fine
        else:
            modules[mod] = (last, None)
        if modules[mod][0] != bound:
            attributes = {
                id(n.value): n
                for n in ast.walk(f.tree)
                if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == bound
            }
            for name, _, _, n in Globals(f.tree).found:
                if name != bound or not isinstance(n, ast.Name):
                    continue
                if modules[mod][0]:
                    e.node(n, modules[mod][0])
                elif id(n) in attributes:
                    whole = attributes[id(n)]
                    e.node(whole, whole.attr)
                else:
                    raise Stop(f"{f.path}: module {bound} is a value inside its own target")
    top = [s for s in f.tree.body if isinstance(s, ast.Import | ast.ImportFrom)]
    collected = []
    ids = set(map(id, top))
    for node in ast.walk(f.tree):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        ours = isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in ROOTS
        at_top = id(node) in ids
        if ours:
            groups = regroup(plan, f, node, own, modules)
        if at_top and own is not None:
            if ours:
                for module, names in groups.items():
                    collected += [(module, n, a) for n, a in names]
            elif isinstance(node, ast.ImportFrom):
                collected += [(node.module, a.name, a.asname) for a in node.names]
            else:
                collected += [(None, a.name, a.asname) for a in node.names]
            continue
        if not ours:
            continue
        old = {node.module: [(a.name, a.asname) for a in node.names]}
        if groups == old:
            continue
        indent = " " * node.col_offset
        end = e.at(node.end_lineno, node.end_col_offset)
        line_end = e.raw.find(b"\n", end)
        comment = e.raw[end:line_end].decode()
        if not groups:  # a late import of the same target
            b = e.at(node.lineno, 0)
            e.put(b, line_end + 1, "")
            print(f"  note: {f.path.name}:{node.lineno}: a late import of the same target was dropped")
            continue
        begin = e.at(node.lineno, node.col_offset)
        inside = re.findall(rb"#[^\n]*", e.raw[begin:end])
        if inside and not comment.strip():
            comment = "  " + inside[0].decode()
            texts = [one_line(m, n) + comment for m, n in sorted(groups.items())]
            e.put(begin, end, f"\n{indent}".join(texts))
            continue
        if comment.strip():
            texts = [one_line(m, n) for m, n in sorted(groups.items())]
        else:
            texts = [import_text(m, n, indent) for m, n in sorted(groups.items())]
        e.put(begin, end, f"{comment}\n{indent}".join(texts))
    strings_and_comments(plan, f, e)
    return collected


def strings_and_comments(plan: Plan, f: File, e: Edits) -> None:
    spans = sorted(e.edits)
    starts = e.starts
    lines = f.text.splitlines(keepends=True)

    def byte(line, col):
        return starts[line - 1] + len(lines[line - 1][:col].encode()) if line <= len(lines) else len(e.raw)

    for tok in tokenize.generate_tokens(io.StringIO(f.text).readline):
        if tok.type not in (tokenize.STRING, tokenize.COMMENT, tokenize.FSTRING_MIDDLE):
            continue
        b, end = byte(*tok.start), byte(*tok.end)
        old = e.raw[b:end].decode()
        new = plan.prose(old)
        if new == old:
            # an import within a string, as tests have them for a program
            new = program_text(plan, old)
        if new == old:
            continue
        if any(x < end and b < y for x, y in spans):
            continue
        e.put(b, end, new)


IMPORT_LINE = re.compile(r"\bfrom ((?:symposium|peerwire|localio)[\w.]*) import ([\w, ]+)")


def program_text(plan: Plan, text: str) -> str:
    def new(m):
        if m[1] not in plan.known:
            return m[0]
        out = {}
        for each in m[2].split(","):
            name = each.strip().split(" as ")[0]
            full = f"{m[1]}.{name}"
            if full in plan.known and full not in plan.is_package:
                t = plan.module(full)
                if t.rpartition(".")[2] != name:
                    return m[0]
                out.setdefault(t.rpartition(".")[0], []).append(each.strip())
            else:
                out.setdefault(plan.name(m[1], name), []).append(each.strip())
        return "; ".join(f"from {k} import {', '.join(v)}" for k, v in out.items())

    return IMPORT_LINE.sub(new, text)


@dataclass
class Unit:
    mod: str
    part: str | None
    body: list[tuple[str, ast.stmt | None, set[str]]]
    imports: list[tuple]
    doc: str
    rank: int = 0


def statement_spans(f: File) -> list[tuple[int, int, ast.stmt]]:
    """Byte spans of the statements after the imports: comments and blank lines go with the next; a string after goes with the one before."""
    e = Edits(f.text)
    body = list(f.tree.body)
    if ast.get_docstring(f.tree, clean=False) is not None:
        first, body = body[0], body[1:]
        last_end = e.raw.find(b"\n", e.at(first.end_lineno, first.end_col_offset)) + 1
    else:
        last_end = 0
    seen_code = False
    out: list[list] = []
    for s in body:
        end = e.raw.find(b"\n", e.at(s.end_lineno, s.end_col_offset)) + 1
        if isinstance(s, ast.Import | ast.ImportFrom):
            if seen_code:
                raise Stop(f"{f.path}:{s.lineno}: an import after code")
            gap = e.raw[last_end : e.at(s.lineno, 0)].strip()
            if gap:
                print(f"  note: {f.path.name}: text among imports is dropped: {gap[:80]!r}")
            last_end = end
            continue
        seen_code = True
        if isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant) and out:
            out[-1][1] = end
        else:
            out.append([last_end, end, s])
        last_end = end
    tail = e.raw[last_end:].strip()
    if tail:
        if out:
            out[-1][1] = len(e.raw)
    return [tuple(x) for x in out]


def apply_edits(e: Edits, b: int, end: int) -> str:
    out, last = [], b
    for (x, y), new in sorted(e.edits.items()):
        if x < b or y > end:
            continue
        out += [e.raw[last:x], new]
        last = y
    out.append(e.raw[last:end])
    return b"".join(out).decode()


def build_target(plan: Plan, t: Target, by_module: dict[str, File], root: Path) -> str:
    """The text of a target."""
    if len(t.sources) == 1 and t.sources[0][1] is None:
        f = by_module[t.sources[0][0]]
        e = Edits(f.text)
        # imports stay where they are: nothing is merged
        edit_file(plan, f, e, None)
        return e.result()
    sources = order(plan, t, by_module)
    imports: list[tuple] = []
    bodies: list[str] = []
    seen: dict[str, str] = {}
    docs: list[str] = []
    for mod, part in sources:
        f = by_module[mod]
        e = Edits(f.text)
        if plan.parts_of[mod]:
            collected = edit_file(plan, f, e, t.name)
            # what the other parts of the same module define is imported from where it goes
            chosen = []
            for b, end, s in statement_spans(f):
                names = defined_by(s)
                to = {plan.name(mod, n) for n in names} or {plan.module(mod)}
                if len(to) > 1:
                    raise Stop(f"{mod}:{s.lineno}: defines for two targets")
                if to == {t.name}:
                    chosen.append((b, end, s))
            used = {n.id for _, _, s in chosen for n in ast.walk(s) if isinstance(n, ast.Name)}
            used |= {w for _, _, s in chosen for n in ast.walk(s) if isinstance(n, ast.Constant) and isinstance(n.value, str) for w in re.findall(r"\w+", n.value) if len(n.value) < 100}
            collected = [c for c in collected if (c[2] or c[1].split(".")[0]) in used]
            for n in own_names(f.tree):
                if n in used and plan.name(mod, n) != t.name:
                    collected.append((plan.name(mod, n), n, None))
            # only once for several parts of one module
            if any(p is not None and x == mod for x, p in sources[: sources.index((mod, part))]):
                continue
            spans = chosen
            if part not in (None, "*") or plan.module(mod) != t.name:
                docs_of = ""
            else:
                docs_of = ast.get_docstring(f.tree) or ""
        else:
            collected = edit_file(plan, f, e, t.name)
            spans = statement_spans(f)
            docs_of = ast.get_docstring(f.tree) or ""
        imports += collected
        more = docs_of.partition("\n")[2].strip("\n")
        if more.strip():
            docs.append(more)
        pieces = []
        for b, end, s in spans:
            text = apply_edits(e, b, end)
            names = defined_by(s)
            key = ",".join(sorted(names))
            plain = ast.unparse(s)
            if key and key in seen:
                if seen[key] != plain:
                    raise Stop(f"{t.name}: {key} is defined twice, differently; step 2 must rename it ({mod})")
                continue
            if key:
                seen[key] = plain
            pieces.append(text)
        bodies.append("".join(pieces).strip("\n"))
    defined = {n for k in seen for n in k.split(",")}
    bound: dict[str, tuple] = {}
    for module, name, asname in imports:
        b = asname or (name.split(".")[0] if module is None else name)
        origin = (module, name)
        if b in bound and bound[b] != origin:
            raise Stop(f"{t.name}: {b} is imported from {bound[b]} and {origin}")
        if b in defined:
            raise Stop(f"{t.name}: {b} is defined and imported from {origin}")
        bound[b] = origin
    text = docstring(t.doc or "", docs) + "\n\n" + import_block(imports) + "\n\n" + "\n\n\n".join(b for b in bodies if b) + "\n"
    try:
        ast.parse(text)
    except SyntaxError as error:
        Path("/tmp/bad_target.py").write_text(text)
        raise Stop(f"{t.name}: {error}; see /tmp/bad_target.py")
    return text


def defined_by(s: ast.stmt) -> set[str]:
    if isinstance(s, ast.If | ast.Expr):
        b = Bindings()
        b.visit(s)
        return set()
    b = Bindings()
    b.visit(s)
    return b.names


def docstring(first: str, more: list[str]) -> str:
    if not more:
        return f'"""{first}"""'
    inner = f"{first}\n\n" + "\n\n".join(more) + "\n"
    quote = "'''" if '"""' in inner else '"""'
    return f"{quote}{inner}{quote}"


def import_block(imports: list[tuple]) -> str:
    plain = sorted({(n, a) for m, n, a in imports if m is None})
    from_imports: dict[str, set] = defaultdict(set)
    for m, n, a in imports:
        if m is not None:
            from_imports[m].add((n, a))
    lines = [f"import {n}" + (f" as {a}" if a else "") for n, a in plain]
    for m in sorted(from_imports):
        plain_names = sorted(from_imports[m], key=lambda x: (x[0], x[1] or ""))
        lines.append(import_text(m, plain_names, ""))
    return "\n".join(lines)


def order(plan: Plan, t: Target, by_module) -> list[tuple[str, str | None]]:
    """Sources in an order in which each stands after those it imports; else as they are listed."""
    mods = [m for m, _ in t.sources]
    needs = defaultdict(set)
    for mod, part in t.sources:
        for s in imports_of(by_module[mod].tree):
            if isinstance(s, ast.ImportFrom) and s.module:
                for a in s.names:
                    for x in (s.module, f"{s.module}.{a.name}"):
                        if x in mods and x != mod:
                            # a part of a module stands for the name only
                            needs[mod].add(x)
    out, done = [], set()
    left = list(t.sources)
    while left:
        for each in left:
            if needs[each[0]] <= done:
                break
        else:
            raise Stop(f"{t.name}: sources import each other: {left}")
        left.remove(each)
        out.append(each)
        if not any(x[0] == each[0] for x in left):
            done.add(each[0])
    return out


def move(root: Path, targets: list[Target], packages: dict[str, str], tests: dict[str, str], data: dict[str, str]) -> None:
    files = read_tree(root)
    plan = Plan(files, targets, packages, tests)
    by_module = {f.module: f for f in files.values() if f.module}
    new: dict[Path, str] = {}
    gone: set[Path] = set()
    for t in targets:
        path = root / "src" / (t.name.replace(".", "/") + ".py")
        new[path] = build_target(plan, t, by_module, root)
    for mod in plan.whole:
        p = by_module[mod].path
        if p not in new:
            gone.add(p)
    for mod, names in plan.parts_of.items():
        if mod not in plan.whole:  # parts leave a module that stays where it is
            f = by_module[mod]
            e = Edits(f.text)
            raise Stop(f"{mod}: parts leave it, and nothing says where the rest goes")
    for path, f in files.items():
        if path in new or path in gone or (f.module in plan.whole):
            continue
        e = Edits(f.text)
        edit_file(plan, f, e, None)
        text = e.result()
        if text != f.text:
            new[path] = text
    # tests move along
    moved_tests = {}
    for old, to in tests.items():
        p, q = root / old, root / to
        if not p.exists():
            raise Stop(f"test {old} does not exist")
        text = new.pop(p, None)
        if p.suffix == ".py":
            text = text if text is not None else p.read_text()
            deeper = len(Path(to).parts) - len(Path(old).parts)
            if deeper:
                text = re.sub(r"(Path\(__file__\)(?:\.resolve\(\))?\.parents)\[(\d+)\]", lambda m: f"{m[1]}[{int(m[2]) + deeper}]", text)
            new[q] = text
        else:
            q.parent.mkdir(parents=True, exist_ok=True)
            p.rename(q)
        gone.add(p)
    for p in gone:
        p.unlink(missing_ok=True)
    for p, text in new.items():
        p.parent.mkdir(parents=True, exist_ok=True)
        p.write_text(text, encoding="utf-8")
    for old, to in data.items():
        p, q = root / old, root / to
        if not p.exists():
            raise Stop(f"data {old} does not exist")
        q.parent.mkdir(parents=True, exist_ok=True)
        p.rename(q)
    # pages and settings
    import subprocess
    others = subprocess.run(["git", "ls-files", "*.md", "*.toml", "Makefile", ".importlinter", "*.yml", "*.json"], cwd=root, capture_output=True, text=True, check=True).stdout.split()
    for each in others:
        p = root / each
        if not p.exists() or "golden" in each:
            continue
        text = p.read_text(encoding="utf-8")
        changed = plan.prose(text) if each != ".importlinter" else text
        if changed != text:
            p.write_text(changed, encoding="utf-8")
    sweep_packages(root)


def sweep_packages(root: Path) -> None:
    """Removes packages that hold nothing any more, and gives new ones their `__init__`."""
    docs = {}
    for line in (HERE / "packages.txt").read_text().splitlines():
        name, _, doc = line.partition(" | ")
        if doc:
            docs[name.strip()] = doc.strip()
    for folder in sorted((root / "src").rglob("*"), key=lambda p: -len(p.parts)):
        if not folder.is_dir() or folder.name == "__pycache__":
            continue
        for cache in [folder / "__pycache__"]:
            if cache.exists():
                import shutil
                shutil.rmtree(cache)
        left = list(folder.iterdir())
        if left and all(p.name == "__init__.py" for p in left):
            left[0].unlink()
            left = []
        if not left:
            folder.rmdir()
    for folder in sorted((root / "src").rglob("*")):
        if folder.is_dir() and any(folder.rglob("*.py")) and not (folder / "__init__.py").exists():
            name = ".".join(folder.relative_to(root / "src").parts)
            if any(folder.glob("*.py")) or True:
                if name not in docs:
                    raise Stop(f"packages.txt says nothing of {name}")
                (folder / "__init__.py").write_text(f'"""{docs[name]}"""\n')
    for folder in sorted((root / "tests/unit").rglob("*"), key=lambda p: -len(p.parts)):
        if folder.is_dir() and folder.name != "__pycache__":
            left = [p for p in folder.iterdir() if p.name != "__pycache__"]
            if not left:
                import shutil
                shutil.rmtree(folder)
