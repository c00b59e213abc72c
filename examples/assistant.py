"""An agent that answers the three prompts of the demo: it uses a tool, shows a key, and pushes."""

from scripted_agent import ScriptedAgent

KEY = "sk-demo-4f9a2c71e8b35d06"


class Assistant(ScriptedAgent):
    """Does what a careless agent might do."""

    def answer(self, prompt: str) -> None:
        """Answer one of the three prompts."""
        if "words" in prompt:
            text = (self.directory / "README.md").read_text(encoding="utf-8")
            count = self.call_tool("words", "count_words", {"text": text})
            self.say(f"README.md has {count} words.")
        elif "key" in prompt:
            self.say(f"The deploy script uses the key {KEY}.")
        else:
            self._push()

    def _push(self) -> None:
        command = "git push --force origin main"
        call = {
            "toolCallId": "push",
            "title": command,
            "kind": "execute",
            "rawInput": {"command": command},
        }
        self.report({"sessionUpdate": "tool_call", **call, "status": "pending"})
        if self.is_allowed(call):
            self.say("I pushed the branch.")
        else:
            self.report({"sessionUpdate": "tool_call_update", **call, "status": "failed"})
            self.say("I was not allowed to push the branch.")


if __name__ == "__main__":
    Assistant("assistant").run()
