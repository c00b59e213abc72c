"""Step 12: rename functions and methods by renames.txt, with basedpyright's language server.

    .venv/bin/python scripts/restructure/rename_members.py .

Run it before rename.py (rows name classes as they are today) and on a quiet machine: each row takes
some seconds. Prints what it renamed, and the rows whose definition it did not find.
"""

import ast
import itertools
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import unquote, urlparse

HERE = Path(__file__).parent


class Server:
    """The language server of one tree."""

    def __init__(self, root):
        self.root = root
        self._ids = itertools.count(1)
        self._versions = {}
        command = [str(root / ".venv/bin/basedpyright-langserver"), "--stdio"]
        self._program = subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        edits = {"workspace": {"configuration": True, "workspaceEdit": {"documentChanges": True}}}
        folders = [{"uri": root.as_uri(), "name": "symposium"}]
        self.ask(
            "initialize",
            {"processId": None, "rootUri": root.as_uri(), "workspaceFolders": folders, "capabilities": edits},
        )
        self._send({"method": "initialized", "params": {}})
        time.sleep(25)  # it says nowhere when it knows all files
        self.ask("workspace/symbol", {"query": "Session"})

    def ask(self, method, params):
        """One request; requests of the server are answered meanwhile."""
        number = next(self._ids)
        self._send({"id": number, "method": method, "params": params})
        while True:
            message = self._read()
            if "method" in message and "id" in message:
                items = message["params"].get("items", []) if isinstance(message.get("params"), dict) else []
                result = [{} for _ in items] if message["method"] == "workspace/configuration" else None
                self._send({"id": message["id"], "result": result})
            elif message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(message["error"])
                return message["result"]

    def show(self, file):
        """Let the server see a file as it is."""
        text, number = file.read_text(), self._versions.get(file, 0) + 1
        document = {"uri": file.as_uri(), "version": number}
        if number == 1:
            params = {"textDocument": {**document, "languageId": "python", "text": text}}
            self._send({"method": "textDocument/didOpen", "params": params})
        else:
            params = {"textDocument": document, "contentChanges": [{"text": text}]}
            self._send({"method": "textDocument/didChange", "params": params})
        self._versions[file] = number

    def apply(self, edit):
        """Write the edits of a rename; how many files they are in."""
        changes = dict(edit.get("changes") or {})
        for each in edit.get("documentChanges", []):
            changes.setdefault(each["textDocument"]["uri"], []).extend(each["edits"])
        for uri, edits in changes.items():
            file = Path(unquote(urlparse(uri).path))
            lines = file.read_text().split("\n")
            for each in sorted(edits, key=lambda e: (e["range"]["start"]["line"], e["range"]["start"]["character"]), reverse=True):
                start, end = each["range"]["start"], each["range"]["end"]
                line = lines[start["line"]].encode("utf-16-le")
                new = each["newText"].encode("utf-16-le")
                line = line[: 2 * start["character"]] + new + line[2 * end["character"] :]
                lines[start["line"]] = line.decode("utf-16-le")
            file.write_text("\n".join(lines))
            self.show(file)
        return len(changes)

    def _send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._program.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self._program.stdin.flush()

    def _read(self):
        length = 0
        while line := self._program.stdout.readline().strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        return json.loads(self._program.stdout.read(length))


def place_of(root, module, name):
    """File, line, and column of a definition; None if it is not there."""
    file = root / "src" / Path(*module.split(".")).with_suffix(".py")
    if not file.exists():
        return None
    text = file.read_text()
    body, found = ast.parse(text).body, None
    for part in name.split("."):
        kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        found = next((each for each in body if isinstance(each, kinds) and each.name == part), None)
        if found is None:
            return None
        body = found.body
    line = found.lineno - 1
    return file, line, re.compile(rf"\b{found.name}\b").search(text.splitlines()[line], found.col_offset).start()


def main(root):
    """Rename every row that rename.py leaves, methods first."""
    rows = [line.split() for line in (HERE / "renames.txt").read_text().splitlines() if line[:1] not in ("", "#")]
    left = [row for row in rows if "." in row[1] or not re.match(r"_?[A-Z]", row[1])]
    server = Server(root)
    for module, name, new in sorted(left, key=lambda row: -row[1].count(".")):
        place = place_of(root, module, name)
        if place is None:
            print("left:", module, name, new)
            continue
        file, line, column = place
        server.show(file)
        at = {"textDocument": {"uri": file.as_uri()}, "position": {"line": line, "character": column}}
        edit = server.ask("textDocument/rename", {**at, "newName": new})
        print(module, name, new, server.apply(edit) if edit else "not renamed", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
