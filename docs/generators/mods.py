"""Generate the page of built-in mods and agents, from their specs."""

from collections.abc import Iterator
from typing import get_args

from msgspec import Struct

from symposium.agents.eliza.agent import COMMANDS as TOLD
from symposium.agents.eliza.agent import WORDS
from symposium.agents.testy.scenario import Command
from symposium.catalog import ENTRY_POINTS, builtin_agents, builtin_mods
from symposium.chain.messages import Direction
from symposium.chain.mod import ComponentSpec, Mod

PAGE = "reference/mods.md"

HEAD = f"""# Mods and agents

Use these names in `--proxy` and `--agent`. Mods of other distributions are found by the entry
point group `{ENTRY_POINTS}`, unless a built-in mod has the same name.
[Write a mod](../tutorial/write-a-mod.md) explains how to make one.
"""


def looks_at(mod: ComponentSpec, direction: Direction) -> str:
    """Methods that a mod handles in one direction."""
    made = mod.make()
    # All marked methods: the mod `policy` handles updates only if there are rules.
    wanted = [*made.interceptions(), *Mod.interceptions(made)]
    methods = sorted({each.method for each in wanted if each.direction is direction})
    return ", ".join(f"`{method}`" for method in methods) or "nothing"


def sections() -> Iterator[str]:
    """A section for each mod, then a table of the agents."""
    yield HEAD.strip()
    for mod in builtin_mods():
        yield f"## `{mod.name}`\n\n{mod.summary}"
        to_agent = looks_at(mod, Direction.TO_AGENT)
        to_client = looks_at(mod, Direction.TO_CLIENT)
        yield f"Handles toward the agent: {to_agent}. Toward the client: {to_client}."
        if mod.options:
            rows = [f"| `{name}` | {text} |" for name, text in sorted(mod.options.items())]
            yield "\n".join(["| Option | What it does |", "|---|---|", *rows])
    rows = [f"| `{agent.name}` | {agent.summary} |" for agent in builtin_agents()]
    yield "\n".join(["## Agents", "", "| Agent | What it does |", "|---|---|", *rows])
    yield "### Commands of `eliza`"
    commands_of_eliza = [
        f"| `{WORDS[command]} {each['input']['hint']}`, or `{command} …` | {each['description']} |"
        for each in TOLD
        for command in [f"/{each['name']}"]
    ]
    yield "\n".join(["| Prompt | What it does |", "|---|---|", *commands_of_eliza])
    yield "### Commands of `testy`"
    yield """A prompt is a JSON object such as `{"command": "echo", "message": "hi"}`."""
    commands = [f"| `{command_name(each)}` | {each.__doc__} |" for each in get_args(Command)]
    yield "\n".join(["| Command | What it does |", "|---|---|", *sorted(commands)])


def command_name(command: type[Struct]) -> str:
    """Command of the test agent with its fields, as in a prompt."""
    fields = "".join(f", {field}" for field in command.__struct_fields__)
    return f"{command.__struct_config__.tag}{fields}"


def render() -> str:
    """The page, in alphabetical order."""
    return "\n\n".join(sections())
