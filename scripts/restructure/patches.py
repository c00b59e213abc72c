"""What a step needs beside moves: named functions that fail where the text they expect is gone."""
import re
from pathlib import Path
from lib import *

STEP_FILTERS = {}

def choose(m, name):
    return m.of_step(name)

def replace(root, path, old, new, count=1):
    p = root / path
    text = p.read_text(encoding="utf-8")
    if text.count(old) < 1:
        raise Stop(f"patch: {path} does not hold {old[:80]!r}")
    p.write_text(text.replace(old, new), encoding="utf-8")

def tests_of(name, root):
    out = {}
    for line in (HERE / "tests.txt").read_text().splitlines():
        if not line.strip() or line.startswith("#"): continue
        step, old, new = line.split()
        if step != name: continue
        if old.endswith("/"):
            for p in sorted((root / old).rglob("*")):
                if p.is_file() and "__pycache__" not in p.parts:
                    rel = p.relative_to(root / old)
                    out.setdefault(f"{old}{rel}", f"{new}{rel}")
        else:
            out[old] = new
    return {a: b for a, b in out.items() if a != b}

def packages_of(name):
    return PACKAGES.get(name, {})

def data_of(name):
    return DATA.get(name, {})

PACKAGES = {}
DATA = {}
BEFORE = {}
AFTER = {}
FINAL = {}

def before(name, root):
    for f in BEFORE.get(name, []): f(root)

def final(name, root):
    for f in FINAL.get(name, []): f(root)

def after(name, root):
    for f in AFTER.get(name, []): f(root)


def contracts_4(root):
    replace(root, ".importlinter", "peerwire.*.codec\n", "peerwire.*.transport\n")

AFTER["4"] = [contracts_4]


# ---------------------------------------------------------------- contracts

def edges(root):
    """Who imports whom, for all modules of src, late imports too."""
    from collections import defaultdict
    files = {f.module: f for f in read_tree(root, ("src",)).values() if f.module}
    out = defaultdict(set)
    for f in files.values():
        for n in ast.walk(f.tree):
            if isinstance(n, ast.ImportFrom) and n.module and n.module.split(".")[0] in ROOTS:
                for a in n.names:
                    full = f"{n.module}.{a.name}"
                    out[f.module].add(full if full in files else n.module)
    return files, out


def levels(children, graph):
    """Rows from the top: each imports from rows below only."""
    rank = {}
    def depth(x, seen=()):
        if x in seen:
            raise Stop(f"a cycle of parts: {seen} {x}")
        if x not in rank:
            rank[x] = 1 + max((depth(y, (*seen, x)) for y in graph.get(x, ())), default=-1)
        return rank[x]
    for c in children:
        depth(c)
    rows = {}
    for c in children:
        rows.setdefault(rank[c], []).append(c)
    return [sorted(rows[r]) for r in sorted(rows, reverse=True)]


def layers_text(root, package):
    files, graph = edges(root)
    pre = package + "."
    children = {m[len(pre):].split(".")[0] for m in files if m.startswith(pre)}
    g = {}
    for a, bs in graph.items():
        if a.startswith(pre):
            for b in bs:
                if b.startswith(pre) and a[len(pre):].split(".")[0] != b[len(pre):].split(".")[0]:
                    g.setdefault(a[len(pre):].split(".")[0], set()).add(b[len(pre):].split(".")[0])
    rows = levels(children, g)
    show = lambda x: x if x == "__main__" else f"({x})"
    return "".join("    " + " | ".join(show(x) for x in row) + "\n" for row in rows)


def write_layers(root):
    """The layers of .importlinter, as the tree is after this step; the last step writes those of the design."""
    p = root / ".importlinter"
    text = p.read_text()
    names = ["symposium", "peerwire"]
    for name in names:
        pattern = re.compile(rf"(containers = {name}\nlayers =\n)((?:    .*\n)+)(exhaustive)")
        if not pattern.search(text):
            raise Stop(f".importlinter: no layers of {name}")
        text = pattern.sub(lambda m: m[1] + layers_text(root, name) + m[3], text)
    p.write_text(text)


def localio_enters(root):
    replace(root, ".importlinter", "root_packages =\n    peerwire\n", "root_packages =\n    peerwire\n    localio\n")
    replace(root, ".importlinter", "    symposium | (erasmus)\n    peerwire\n", "    symposium | (erasmus)\n    localio\n    peerwire\n")
    replace(root, ".importlinter", "ancestors =\n    peerwire\n    symposium\n", "ancestors =\n    peerwire\n    localio\n    symposium\n")
    replace(root, ".importlinter", "source_modules =\n    peerwire\n    symposium\n", "source_modules =\n    peerwire\n    localio\n    symposium\n")
    replace(root, "tests/test_contracts.py", '"peerwire/errors.py": ""}', '"localio/text.py": "", "peerwire/errors.py": ""}')
    replace(root, "pyproject.toml", '["src/symposium", "src/peerwire"]', '["src/symposium", "src/localio", "src/peerwire"]')
    replace(root, "pyproject.toml", 'source = ["peerwire", "symposium"]', 'source = ["localio", "peerwire", "symposium"]')
    replace(root, "pyproject.toml", 'known_first_party = ["peerwire", "symposium"]', 'known_first_party = ["localio", "peerwire", "symposium"]')
    replace(root, "pyproject.toml", '["bench", "erasmus", "peerwire", "symposium"]', '["bench", "erasmus", "localio", "peerwire", "symposium"]')


def late_keys(root):
    """IMPORTS_LATE and BOUNDARIES name modules: one row for each that still imports late."""
    p = root / "tests/test_shape.py"
    text = p.read_text()
    tree = ast.parse(text)
    e = Edits(text)
    files, _ = edges(root)
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id in ("IMPORTS_LATE", "BOUNDARIES"):
            seen = set()
            for k in node.value.keys:
                if k.value in seen:
                    b = e.at(k.lineno, 0)
                    e.put(b, e.raw.find(b"\n", b) + 1, "")
                seen.add(k.value)
    p.write_text(e.result())

for step in ("4", "5a", "5b", "6", "7", "8", "9", "10", "11"):
    AFTER.setdefault(step, [])
    if step == "5a":
        AFTER[step].append(localio_enters)
    AFTER[step] += [late_keys, write_layers]


# ---------------------------------------------------------------- the map in ARCHITECTURE.md

def architecture_map(root):
    """One row for each folder of the sources: old rows stay, new folders get their docstring, others go."""
    p = root / "ARCHITECTURE.md"
    lines = p.read_text().splitlines(keepends=True)
    docs = dict(l.split(" | ", 1) for l in (HERE / "packages.txt").read_text().splitlines() if " | " in l)
    out, named, last = [], set(), 0
    for line in lines:
        m = re.match(r"\| `(src/[\w./-]+)` \|", line)
        if m:
            if not (root / m[1]).exists() or m[1] in named:
                last = len(out)
                continue
            named.add(m[1])
            last = len(out) + 1
        out.append(line)
    rows = []
    for folder in sorted({x.parent for pkg in ROOTS for x in (root / "src" / pkg).glob("*/*.py")} | {root / "src/localio"}):
        path = f"{folder.relative_to(root)}/"
        if folder.exists() and path not in named:
            name = ".".join(folder.relative_to(root / "src").parts)
            if name not in docs:
                raise Stop(f"packages.txt says nothing of {name}")
            rows.append(f"| `{path}` | {docs[name].strip().rstrip('.')} |\n")
    out[last:last] = rows
    p.write_text("".join(out))


def house_knows_localio(root):
    replace(root, "tests/test_house.py", 'assert names == {"peerwire", "symposium"}', 'assert names == {"localio", "peerwire", "symposium"}')

AFTER["5a"].append(house_knows_localio)
for step in AFTER:
    AFTER[step].append(architecture_map)


# ---------------------------------------------------------------- step 6a: the catalog of messages

CATALOG_OLD_BEGIN = "@cache\ndef message_types()"
CATALOG_NEW = '''@cache
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
'''
CLASSES_NEW = '''def _classes_of(name: str) -> list[type[Message]]:
    module = import_module(f"{MESSAGES}.{name}")
    found = [value for value in vars(module).values() if _is_message_of(value, module.__name__)]
    if not found:
        raise LocalError(f"{module.__name__} holds no message")
    return [cast("type[Message]", each) for each in found]
'''

def messages_by_type(root):
    p = root / "src/symposium/bus/catalog.py"
    text = p.read_text()
    tree = ast.parse(text)
    lines = text.splitlines(keepends=True)
    for s in reversed(tree.body):
        if isinstance(s, ast.FunctionDef) and s.name in ("message_types", "_only_class"):
            begin = min([s.lineno, *(d.lineno for d in s.decorator_list)]) - 1
            lines[begin : s.end_lineno] = [CATALOG_NEW if s.name == "message_types" else CLASSES_NEW]
    text = "".join(lines)
    if "_classes_of(name: str)" not in text or "message_types() ->" not in text:
        raise Stop("bus/catalog.py has changed; look at messages_by_type")
    text = text.replace('"""The message types of the bus by name: one class in each module of `bus/messages/`."""', '"""The message types of the bus by name: the classes in the modules of `bus/messages/`."""')
    p.write_text(text)
    test = "tests/unit/bus/test_messages.py"
    replace(root, test, 'match="must hold one message, called nothing; found: none"', 'match=r"odd_messages\\.nothing holds no message"')
    replace(root, test, "def test_a_module_without_its_one_message_is_refused(", "def test_a_module_without_a_message_is_refused(")
    t = (root / test)
    text = t.read_text()
    anchor = "def golden(kind: str)"
    t.write_text(text.replace(anchor, TWO_MESSAGES + "\n\n" + anchor, 1))
    replace(root, "tests/requirements/bus.toml", ROW_OLD, ROW_NEW)

TWO_MESSAGES = '''@pytest.mark.requirement("bus.one-class-each")
def test_two_messages_of_one_name_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "twin_messages"
    package.mkdir()
    (package / "__init__.py").touch()
    code = (
        "from typing import ClassVar\\n"
        "from symposium.bus.roles import Role\\n"
        "from symposium.bus.vocabulary import About, Announcement, Target\\n"
        "class Twin(Announcement, frozen=True):\\n"
        "    about: ClassVar = About(\\n"
        "        'twin', sent_by=frozenset(Role), target=Target.BROKER, source='a test')\\n"
    )
    for name in ("first", "second"):
        (package / f"{name}.py").write_text(code, encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(catalog, "MESSAGES", "twin_messages")

    with pytest.raises(LocalError, match="two messages are called twin"):
        message_types.__wrapped__()
'''

ROW_OLD = "A message is one module with one typed class: payload, reply, senders, target, budget; the catalog refuses anything else."
ROW_NEW = "A message is one typed class: payload, reply, senders, target, budget; the catalog refuses two of one name, and a module without any."
BEFORE["6a"] = [messages_by_type]


# ---------------------------------------------------------------- step 3a: members_of becomes as_object, below all who use it

def as_object(root):
    """`members_of` of conductor/gate.py goes to peerwire/jsonrpc/values.py as `as_object`."""
    gate = root / "src/symposium/conductor/gate.py"
    text = gate.read_text()
    tree = ast.parse(text)
    found = [s for s in tree.body if isinstance(s, ast.FunctionDef) and s.name == "members_of"]
    if not found:
        raise Stop("conductor/gate.py has no members_of")
    import engine
    engine.rename(root, [("symposium.conductor.gate", "members_of", "as_object")])
    f = read_file(gate, root)
    s = next(x for x in f.tree.body if isinstance(x, ast.FunctionDef) and x.name == "as_object")
    lines = f.text.splitlines(keepends=True)
    body = "".join(lines[s.lineno - 1 : s.end_lineno])
    del lines[s.lineno - 1 : s.end_lineno]
    text = "".join(lines)
    text = re.sub(r"\n{4,}", "\n\n\n", text)
    text = text.replace("from peerwire.jsonrpc.messages import Message\n", "from peerwire.jsonrpc.messages import Message\nfrom peerwire.jsonrpc.values import as_object\n", 1)
    gate.write_text(text)
    values = root / "src/peerwire/jsonrpc/values.py"
    text = values.read_text().rstrip("\n") + "\n\n\n" + body
    text = text.replace("from typing import ", "from typing import cast, ", 1) if not re.search(r"from typing import .*\bcast\b", text) else text
    text = text.replace("from collections.abc import ", "from collections.abc import Mapping, ", 1) if "Mapping" not in text.split("\nclass", 1)[0].split("\ndef", 1)[0] else text
    values.write_text(text)
    for p, x in read_tree(root).items():
        e = Edits(x.text)
        for n in ast.walk(x.tree):
            if isinstance(n, ast.ImportFrom) and n.module == "symposium.conductor.gate" and any(a.name == "as_object" for a in n.names):
                rest = [(a.name, a.asname) for a in n.names if a.name != "as_object"]
                indent = " " * n.col_offset
                new = engine.import_text("peerwire.jsonrpc.values", [("as_object", None)], indent)
                if rest:
                    new += f"\n{indent}" + engine.import_text("symposium.conductor.gate", rest, indent)
                e.node(n, new)
        text = e.result()
        if text != x.text:
            p.write_text(text)

BEFORE["3a"] = [as_object]


# ---------------------------------------------------------------- step 7: chain and bridge

PACKAGES["7"] = {"symposium.conductor": "symposium.chain", "symposium.conductor.bridge": "symposium.bridge"}

def public_names(root):
    for name in ("Answer", "Crossing"):
        replace(root, "src/symposium/__init__.py", f'"{name}": "symposium.chain.mod"', f'"{name}": "symposium.chain.messages"')

def contracts_7(root):
    replace(root, ".importlinter", "    symposium.*.chain\n", "    symposium.*.routing\n")

AFTER["7"] = [public_names, contracts_7, *AFTER["7"]]


def message_named_as_its_class(root):
    test = "tests/unit/bus/test_messages.py"
    replace(root, test, 'assert about.type == kind.__module__.rpartition(".")[2]', 'assert about.type == re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()')
    replace(root, test, "import json\n", "import json\nimport re\n")

BEFORE["6a"].append(message_named_as_its_class)


# ---------------------------------------------------------------- step 5e: errors of localio

ERRORS = '''"""Errors with a text for the user: what failed, and what to do.

ExplainedError                    a message and a hint; programs derive their own errors from it
└── LocalIOError                  files, archives, programs, or downloads cannot be used as asked
    └── ProgramNotFoundError      a program is neither on PATH nor in a usual directory
"""


class ExplainedError(Exception):
    """An error with a text for the user.

    Attributes:
        message: what failed, with the value in question.
        hint: what to do; may be empty.
    """

    def __init__(self, message: str, hint: str) -> None:
        self.message = message
        self.hint = hint
        super().__init__(f"{message}; {hint}" if hint else message)


class LocalIOError(ExplainedError):
    """Files, archives, programs, or downloads cannot be used as asked."""


class ProgramNotFoundError(LocalIOError):
    """A program is neither on PATH nor in a usual directory."""
'''
LOCAL_ERRORS = ("JsoncError", "UnpackError", "FetchError", "ToolError")


def named_in(node):
    return [n for n in ast.walk(node) if isinstance(n, ast.Name)]


def caught_names(tree):
    """Names of classes that a module catches or tells errors apart by: handlers, suppress, isinstance, case, annotations of parameters."""
    for n in ast.walk(tree):
        if isinstance(n, ast.ExceptHandler) and n.type is not None:
            yield "except", n, named_in(n.type)
        elif isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == "suppress":
            yield "suppress", n, [x for a in n.args for x in named_in(a)]
        elif isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == "isinstance":
            yield "isinstance", n, named_in(n.args[1])
        elif isinstance(n, ast.MatchClass) and isinstance(n.cls, ast.Name):
            yield "case", n, [n.cls]
        elif isinstance(n, ast.arg) and n.annotation is not None:
            yield "arg", n, named_in(n.annotation)


def add_import(text, line):
    """An import after the first one from a package; ruff sorts it."""
    tree = ast.parse(text)
    first = next(s for s in tree.body if isinstance(s, ast.Import | ast.ImportFrom))
    lines = text.splitlines(keepends=True)
    lines.insert(first.lineno - 1, line + "\n")
    return "".join(lines)


def explained_errors(root):
    (root / "src/localio/errors.py").write_text(ERRORS)
    p = root / "src/symposium/errors.py"
    text = p.read_text()
    begin, end = text.index("class SymposiumError(Exception):"), text.index("class SpecError(")
    text = text[:begin] + 'class SymposiumError(ExplainedError):\n    """Something that the user can fix."""\n\n\n' + text[end:]
    text = text.replace("├── JsoncError       a text is not JSON with comments (config/jsonc.py)\n", "")
    p.write_text(text.replace('"""\n\n\nclass', '"""\n\nfrom localio.errors import ExplainedError\n\n\nclass', 1))
    for path, f in read_tree(root, ("src", "examples", "bench")).items():
        if "SymposiumError" not in f.text or path == p:
            continue
        e = Edits(f.text)
        for _, _, names in caught_names(f.tree):
            for n in names:
                if n.id == "SymposiumError":
                    e.node(n, "ExplainedError")
        text = e.result()
        text = text.replace("        SymposiumError: ", "        ExplainedError: ").replace("        SymposiumError, OSError: ", "        ExplainedError, OSError: ")
        for name in LOCAL_ERRORS:
            text = text.replace(f"class {name}(SymposiumError):", f"class {name}(LocalIOError):")
        for name in ("ExplainedError", "LocalIOError"):
            if re.search(rf"\b{name}\b", re.sub(r'"""[\s\S]*?"""', "", text)):
                text = add_import(text, f"from localio.errors import {name}")
        path.write_text(text)


def program_not_found(root):
    """A program that is nowhere is `NotFoundError` on the wire and for exit codes, as before."""
    probe = "src/symposium/registry/path_probe.py"
    replace(root, probe, "NotFoundError", "ProgramNotFoundError")
    replace(root, probe, "from symposium.errors import ProgramNotFoundError\n", "from localio.errors import ProgramNotFoundError\n")
    for path, f in read_tree(root, ("src",)).items():
        if "NotFoundError" not in f.text or path == root / probe:
            continue
        e = Edits(f.text)
        for kind, owner, names in caught_names(f.tree):
            for n in names:
                if n.id != "NotFoundError":
                    continue
                where = str(path.relative_to(root / "src/symposium"))
                if kind == "case":
                    b = e.at(owner.end_lineno, owner.end_col_offset)
                    e.put(b, b, " | ProgramNotFoundError()")
                elif kind == "isinstance":
                    e.node(n, "NotFoundError | ProgramNotFoundError")
                elif kind == "except" and where in ("run_mode/composition.py", "registry/directory.py"):
                    e.node(n, "ProgramNotFoundError" if where.startswith("run_mode") else "(NotFoundError, ProgramNotFoundError)")
        text = e.result()
        if text != f.text:
            path.write_text(add_import(text, "from localio.errors import ProgramNotFoundError"))


def git_errors(root):
    """The git runner raises errors of its own; who caught `TaskspaceError` for it catches both."""
    program = "src/symposium/taskspaces/git/program.py"
    f = read_file(root / program, root)
    text = f.text.replace("TaskspaceError", "GitRunError").replace("GitRunError: git", "GitRunError: git")
    text = text.replace("from symposium.taskspaces.failures import GitCommandError, GitRunError\n", "from localio.errors import LocalIOError\n")
    failures = root / "src/symposium/taskspaces/failures.py"
    old = failures.read_text()
    begin = old.index("class GitCommandError(TaskspaceError):")
    moved = old[begin:].replace("(TaskspaceError)", "(GitRunError)")
    old = old[:begin].rstrip("\n") + "\n"
    old = old.replace("├── NotSafeError ", "└── NotSafeError ").replace("└── GitError              git refused (carries what it said)\n", "")
    failures.write_text(old)
    anchor = '@dataclass(frozen=True, slots=True)\nclass Done:'
    if anchor not in text:
        raise Stop("git/program.py has changed")
    new = 'class GitRunError(LocalIOError):\n    """Git cannot be run to its end, or refuses."""\n\n\n' + moved.rstrip("\n") + "\n\n\n"
    text = text.replace(anchor, new + anchor, 1)
    text = text.replace("            GitError: its exit code is not 0.", "            GitCommandError: its exit code is not 0.")
    text = add_import(text, "from collections.abc import Sequence")
    (root / program).write_text(text)
    home = "symposium.taskspaces.git.program"
    for path, f in read_tree(root).items():
        if path == root / program or not re.search(r"\b(TaskspaceError|GitCommandError)\b", f.text):
            continue
        e = Edits(f.text)
        both = False
        if "src" in path.parts:
            for kind, owner, names in caught_names(f.tree):
                for n in names:
                    if n.id == "TaskspaceError" and kind in ("except", "suppress"):
                        alone = kind == "except" and isinstance(owner.type, ast.Name)
                        e.node(n, "(GitRunError, TaskspaceError)" if alone else "GitRunError, TaskspaceError")
                        both = True
        text = e.result()
        for n in ast.walk(f.tree):
            if isinstance(n, ast.ImportFrom) and n.module == "symposium.taskspaces.failures" and any(a.name == "GitCommandError" for a in n.names):
                text = re.sub(r"(from symposium\.taskspaces\.failures import [^\n(]*|from symposium\.taskspaces\.failures import \([^)]*)\bGitCommandError\b,? ?", r"\1", text)
                text = re.sub(r"from symposium\.taskspaces\.failures import *\n", "", text)
                text = re.sub(r"(from symposium\.taskspaces\.failures import [^\n(]*), *\n", r"\1\n", text)
                text = add_import(text, f"from {home} import GitCommandError")
        if both:
            text = add_import(text, f"from {home} import GitRunError")
        if text != f.text:
            path.write_text(text)


BEFORE["5e"] = [explained_errors, program_not_found, git_errors]


# ---------------------------------------------------------------- step 8a: what records permissions knows no chain spec

def auditing_without_spec(root):
    p = "src/symposium/client/auditing.py"
    replace(root, p, "from symposium.chain_spec import ChainSpec\n", "")
    replace(root, p, '''def witnessed(chain: ChainSpec, chooser: Chooser = the_user) -> Callable[[], Sequence[InProcess]]:
    """Makes the mod that sees the questions of a chain's agent."""
    name = "" if chain.agent is None else chain.agent.name
    take_down = _taking_down(chain.secrets)
    return lambda: [InProcess(WITNESS, Witness(name, take_down, chooser), is_hidden=True)]
''', '''def witnessed(
    agent: str, secrets: Sequence[str], chooser: Chooser = the_user
) -> Callable[[], Sequence[InProcess]]:
    """Makes the mod that sees the questions of an agent.

    Args:
        agent: the name of the agent; empty for a chain without one.
        secrets: values that must not be written.
        chooser: tells who chose an answer.
    """
    take_down = _taking_down(secrets)
    return lambda: [InProcess(WITNESS, Witness(agent, take_down, chooser), is_hidden=True)]
''')
    p = "src/symposium/chain_spec.py"
    replace(root, p, '''    def blueprint(self) -> Blueprint:
        """The components of one chain."""
''', '''    @property
    def agent_name(self) -> str:
        """The name of its agent; empty if it has none."""
        return "" if self.agent is None else self.agent.name

    def blueprint(self) -> Blueprint:
        """The components of one chain."""
''')
    for p, old, new in (
        ("keepers/agent_life.py", "witnessed(chain)", "witnessed(chain.agent_name, chain.secrets)"),
        ("cli/commands/run.py", "witnessed(chain)", "witnessed(chain.agent_name, chain.secrets)"),
        ("cli/commands/run_with.py", "witnessed(chain)", "witnessed(chain.agent_name, chain.secrets)"),
        ("cli/chatting.py", "witnessed(chat.chain, chooser)", "witnessed(chat.chain.agent_name, chat.chain.secrets, chooser)"),
        ("cli/prompting.py", "witnessed(errand.chain, chooser)", "witnessed(errand.chain.agent_name, errand.chain.secrets, chooser)"),
    ):
        replace(root, "src/symposium/" + p, old, new)

BEFORE["8a"] = [auditing_without_spec]


# ---------------------------------------------------------------- step 8

_FOLDERS = {
    "policy": "permissions", "policy.programs": "permissions.programs", "trust": "permissions", "audit": "permissions",
    "ide": "code", "ide.dialect": "code.query", "diffs": "code", "package_sources": "code.packages", "build_tools": "code",
    "references": "documents", "reviews": "documents", "timelines": "documents", "guidance": "documents",
    "walkthroughs": "documents.walkthroughs", "recommendations": "planning", "git_isolation": "git", "editors.known": "editors",
}
PACKAGES["8"] = {f"symposium.{a}": f"symposium.{b}" for a, b in _FOLDERS.items()}
_S = "src/symposium/"
DATA["8"] = {
    _S + "recommendations/builtin.toml": _S + "planning/builtin_recommendations.toml",
    _S + "guidance/texts": _S + "documents/guidance_texts",
    **{_S + f"walkthroughs/{x}": _S + f"documents/walkthroughs/{x}" for x in ("page.js", "page.css", "page.html", "mermaid")},
}

def settings_8(root):
    replace(root, "src/symposium/planning/advisor.py", '"builtin.toml"', '"builtin_recommendations.toml"')
    replace(root, "src/symposium/documents/guidance.py", 'Path(__file__).parent / "texts"', 'Path(__file__).parent / "guidance_texts"')
    replace(root, ".importlinter", "    symposium.editors.known.*\n", "    symposium.editors.*\n")
    replace(root, ".importlinter", "    symposium.planning.*\n", "    symposium.*.planner\n")
    replace(root, "pyproject.toml", "src/symposium/walkthroughs/mermaid/LICENSE", "src/symposium/documents/walkthroughs/mermaid/LICENSE")
    replace(root, "pyproject.toml", '"src/symposium/policy/programs/"', '"src/symposium/permissions/programs/"')
    replace(root, "pyproject.toml", '"tests/unit/policy/*.txt"', '"tests/unit/permissions/*.txt"')
    replace(root, "docs/generators/programs.py", "src/symposium/policy/programs/", "src/symposium/permissions/programs/")

AFTER["8"].insert(0, settings_8)

def hand_8(root):
    p = "src/symposium/config/user_config.py"
    text = (root / p).read_text()
    begin = text.index("def _keep(path: Path, content: bytes)")
    end = text.index("\n\n\n", begin)
    body = re.sub(r"\bplace\b", "candidate", text[begin:end])
    (root / p).write_text(text[:begin] + body + text[end:])
    replace(root, "src/symposium/mods/policy.py", '''It stands next to the agent in every chain (`symposium.planning.chain_spec`). A question of the agent's that
no rule decides passes unchanged, byte for byte. A rule never picks an answer by its position or its
name, only by its kind, and only where one option has that kind: an agent's odd options mean what
only the user can know (users A-7, A-8).
''', '''It stands next to the agent in every chain (`symposium.planning.chain_spec`). A question of the
agent's that no rule decides passes unchanged, byte for byte. A rule never picks an answer by its
position or its name, only by its kind, and only where one option has that kind: an agent's odd
options mean what only the user can know (users A-7, A-8).
''')
    replace(root, "src/symposium/mods/uv.py", '''        from symposium.code.build_output import (
            PytestReading,  # noqa: PLC0415 - the same
            ScriptReading,  # noqa: PLC0415 - the same
        )
''', '''        from symposium.code.build_output import (  # noqa: PLC0415 - the same
            PytestReading,
            ScriptReading,
        )
''')
    replace(root, "tests/test_shape.py", '"symposium.permissions.recorder": "hashes and locks are for whoever has been asked for a permission"', '"symposium.permissions.recorder": "hashes and locks are for who is asked for a permission"')
    replace(root, "tests/test_shape.py", '"scripts are read with a grammar and tables, which no start needs"', '"scripts are read with a grammar and tables"')
    replace(root, "pyproject.toml", '"tests/unit/permissions/test_programs.py", # the same, as tables', '"tests/unit/permissions/test_programs.py", # as tables')
FINAL["8"] = [hand_8]


# ---------------------------------------------------------------- step 9

_TASKS = {
    "taskspaces": "tasks", "taskspaces.git": "tasks", "taskspaces.landing": "tasks", "taskspaces.setup_files": "tasks",
    "taskspaces.snapshots": "tasks.snapshots", "taskspaces.deletion": "tasks.deletion", "daemon.tasks": "tasks.handlers",
}
PACKAGES["9"] = {f"symposium.{a}": f"symposium.{b}" for a, b in _TASKS.items()}

def one_replace(root):
    p = "src/symposium/daemon/tasks/ended_agents.py"
    replace(root, p, "from dataclasses import replace\n", "import dataclasses\n")
    replace(root, p, "replace(state, login=replace(state.login, chosen=chosen))", "dataclasses.replace(state, login=dataclasses.replace(state.login, chosen=chosen))")

BEFORE["9"] = [one_replace]

def settings_9(root):
    replace(root, "docs/design/taskspaces.md", "`src/symposium/taskspaces`", "`src/symposium/tasks`")
    replace(root, "tests/conftest.py", '"tests/unit/taskspaces/"', '"tests/unit/tasks/"')

AFTER["9"].insert(0, settings_9)

def finished_turn(root):
    import engine
    engine.rename(root, [("symposium.daemon.tasks.finished_turns", "KIND", "FINISHED_TURN")])
    p = root / "src/symposium/daemon/tasks/inbox.py"
    text = p.read_text().replace("import FINISHED_TURN as DONE", "import FINISHED_TURN")
    p.write_text(re.sub(r"\bDONE\b", "FINISHED_TURN", text))

BEFORE["9"].append(finished_turn)


# ---------------------------------------------------------------- step 10

PACKAGES["10"] = {"symposium.keepers": "symposium.sessions", "symposium.agent_sessions": "symposium.sessions"}

def one_removal(root):
    p = "src/symposium/taskspaces/recovery.py"
    replace(root, p, "from symposium.taskspaces.deletion import removal, undo\n", "from symposium.taskspaces.deletion import removal\nfrom symposium.taskspaces.deletion.undo import go_on_undoing\n")
    replace(root, p, "undo.go_on_undoing(", "go_on_undoing(")

BEFORE["9"].append(one_removal)
