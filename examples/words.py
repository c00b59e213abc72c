"""A mod that gives the agent a tool."""

from symposium import ToolMod, ToolServer, run_mod


def count_words(text: str) -> int:
    """Count the words of a text."""
    return len(text.split())


def make() -> ToolMod:
    return ToolMod(ToolServer("words", [count_words]))


if __name__ == "__main__":
    run_mod(make())
