"""An agent for `worker.py FILE TEXT`: it asks, writes TEXT to FILE, and commits the file."""

import subprocess
import sys

from scripted_agent import ScriptedAgent


class Worker(ScriptedAgent):
    """Writes one file."""

    def __init__(self, file: str, text: str) -> None:
        super().__init__("worker")
        self._file = file
        self._text = text

    def answer(self, prompt: str) -> None:
        """Write and commit the file if the user allows it; the prompt does not matter."""
        del prompt
        call = {"toolCallId": "write", "title": f"Write {self._file}", "kind": "edit"}
        self.report({"sessionUpdate": "tool_call", **call, "status": "pending"})
        if not self.is_allowed(call):
            self.say(f"I did not write {self._file}.")
            return
        (self.directory / self._file).write_text(f"{self._text}\n", encoding="utf-8")
        self._git("add", self._file)
        self._git("commit", "--quiet", "--message", f"Add {self._file}")
        self.report({"sessionUpdate": "tool_call_update", **call, "status": "completed"})
        self.say(f"I wrote and committed {self._file}.")

    def _git(self, *words: str) -> None:
        author = ["-c", "user.name=Worker", "-c", "user.email=worker@example.org"]
        command = ["git", *author, *words]
        subprocess.run(command, cwd=self.directory, check=True)  # noqa: S603 - fixed words


if __name__ == "__main__":
    Worker(*sys.argv[1:3]).run()
