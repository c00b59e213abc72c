"""From what a person writes to name components, to the blueprint of a chain.

A SPEC is the name of a built-in or installed component, a command line, or a JSON object
(acp-host §1.9, R6). Nothing is started here: a program that is missing shows at `initialize`.
"""

import os
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from msgspec import Struct

from localio.text import near_names
from peerwire.acp.names import Dialect
from peerwire.errors import LocalError
from peerwire.transports.command import Command, CommandError, parse_command
from symposium.bridge.bridge import bridge_components
from symposium.catalog import agent_names, find_agent, find_mod, installed_mod_names, mod_names
from symposium.chain.blueprint import Blueprint, Component, InProcess, Program, Served
from symposium.chain.capabilities import Mode
from symposium.chain.mod import ComponentSpec
from symposium.config.paths import policy_file
from symposium.errors import SpecError
from symposium.mods.policy import BeforeYes, PolicyMod
from symposium.permissions.verdict import exists

DEFAULTS: Final = "defaults"
"""The SPEC of the default mods."""

DEFAULT_MODS: Final[tuple[str, ...]] = ("guidance", "ferris", "cargo")
"""What the reference has, where `guidance` has the part of its `sparkle` (acp-host §4.1)."""

FORMS: Final = (
    "a SPEC is the name of a built-in, a command line such as 'npx some-agent --acp', "
    'or JSON such as {"command": "some-agent", "args": ["--acp"]}'
)

POLICY: Final = "policy"
"""The mod that goes by the user's rules."""

MakeMod: TypeAlias = Callable[[], Component]


class ChainSpec(Struct, frozen=True):
    """The components of a chain, as read; a blueprint of it can be made more than once.

    Attributes:
        mods: makes each mod, in order from client to agent; mods in process serve one chain each.
        agent: what stands at the end; None for a chain that is itself a proxy.
        secrets: values of variables set for its programs, which no record may show.
        bridge: how the agent is given the MCP servers of mods, if it cannot speak MCP over ACP.
        before_yes: awaited before one of the user's rules answers yes.
    """

    mods: tuple[MakeMod, ...]
    agent: Program | Served | None
    secrets: tuple[str, ...] = ()
    bridge: Mode = "auto"
    before_yes: BeforeYes | None = None

    @property
    def agent_name(self) -> str:
        """The name of its agent; empty if it has none."""
        return "" if self.agent is None else self.agent.name

    def blueprint(self) -> Blueprint:
        """The components of one chain."""
        return Blueprint([*self.users_mods(), *self.hosts_mods()], self.agent)

    def users_mods(self) -> list[Component]:
        """The mods that were asked for, new for one chain.

        The user's rules are left out where the host puts them in: they are to count once.
        """
        mods = [make() for make in self.mods]
        if self.agent is None:
            return mods
        return [mod for mod in mods if not (isinstance(mod, InProcess) and mod.name == POLICY)]

    def hosts_mods(self) -> list[Component]:
        """Components between the mods and every agent: the bridge, then the user's rules.

        In a chain that is itself a proxy, both are the outer conductor's to make.
        """
        if self.agent is None:
            return []
        rules = InProcess(POLICY, PolicyMod(before_yes=self.before_yes), is_hidden=True)
        return [*bridge_components(self.bridge), rules]


def read_chain(
    proxies: Sequence[str],
    agent: str | None,
    *,
    bridge: Mode = "auto",
    option: str = "--agent",
) -> ChainSpec:
    """Read every SPEC of a chain.

    Args:
        proxies: the mods, from the editor's side.
        agent: the agent; None for a chain that is a proxy itself.
        bridge: how tools of mods reach the agent.
        option: behind which the agent was written.

    Raises:
        PolicyError: the agent would have no rules, since the user's cannot be read.
        SpecError: one of them names no component of its kind; says which and where.
    """
    if agent is not None:
        check_policy()
    mods: list[MakeMod] = []
    for number, spec in enumerate(proxies, start=1):
        place = "--proxy" if len(proxies) == 1 else f"--proxy {number}"
        mods += _read_mods(spec, place)
    end = None if agent is None else read_agent(agent, option)
    programs = [*(made for make in mods if isinstance(made := make(), Program)), end]
    environments = [each.command.env for each in programs if isinstance(each, Program)]
    secrets = [value for environment in environments for value in environment.values()]
    for environment in filter(None, environments):
        from localio.redaction import agent_secrets, learn

        learn(agent_secrets(environment))
    return ChainSpec(tuple(mods), end, tuple(secrets), bridge)


def check_policy() -> None:
    """See that the user's rules can be read, if there are any: without them no agent starts.

    Raises:
        PolicyError: they cannot; says where they are wrong.
    """
    file = policy_file()
    if exists(file):
        from symposium.permissions.policy import load_policy

        load_policy(file)


def read_agent(spec: str, place: str) -> Program | Served:
    """Parse an agent's SPEC.

    Raises:
        SpecError: it names no agent.
    """
    command = _command(spec, place)
    name = _bare_name(spec, command)
    if name is None:
        return _program(command)
    found = find_agent(name)
    if found is not None:
        return Served(found.name, found.serve)
    if name in mod_names():
        raise SpecError(
            f"{place}: {name} is a mod, and an agent is wanted",
            f"write --proxy {name}, and an agent such as eliza after --agent",
        )
    if program_on_path(name) is None:
        raise _unknown(name, place, "agent", agent_names())
    return _program(command)


def _read_mods(spec: str, place: str) -> list[MakeMod]:
    if spec.strip() == DEFAULTS:
        return [made for name in DEFAULT_MODS for made in _read_mods(name, place)]
    command = _command(spec, place)
    name = _bare_name(spec, command)
    if name is None:
        return [lambda: _program(command)]
    if (found := _find_mod(name, place)) is not None:
        return [lambda: InProcess(found.name, found.make())]
    if name in agent_names():
        raise SpecError(
            f"{place}: {name} is an agent, and a mod is wanted",
            f"write --agent {name}; it stands at the end of the chain",
        )
    if program_on_path(name) is None:
        raise _unknown(name, place, "mod", [*mod_names(), *installed_mod_names(), DEFAULTS])
    return [lambda: _program(command)]


def _find_mod(name: str, place: str) -> ComponentSpec | None:
    try:
        return find_mod(name)
    except LocalError as error:
        raise SpecError(
            f"{place}: {error}", "fix or remove the distribution that offers it"
        ) from error


def _command(spec: str, place: str) -> Command:
    try:
        return parse_command(spec)
    except CommandError as error:
        raise SpecError(f"{place}: {error}", FORMS) from error


def _bare_name(spec: str, command: Command) -> str | None:
    """The one word that was written, if it can be a name; None for a path, a line or JSON."""
    is_json = spec.lstrip().startswith("{")
    (word, *arguments) = command.argv
    if is_json or arguments or command.env or "/" in word:
        return None
    return word


def program_on_path(name: str) -> str | None:
    """Find a program on PATH; None if it does not exist.

    What is relative in PATH depends on where one is, which may be any workspace.
    """
    # Not shutil.which: importing that takes as long as reading a whole chain.
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    places = (f"{folder}/{name}" for folder in folders if folder.startswith("/"))
    return next((place for place in places if os.access(place, os.X_OK)), None)


def _program(command: Command) -> Program:
    dialect = None if command.dialect == "auto" else Dialect(command.dialect)
    return Program(command.name or command.argv[0].rpartition("/")[2], command, dialect)


def _unknown(name: str, place: str, kind: str, known: Sequence[str]) -> SpecError:
    near = near_names(name, known)
    guess = f"did you mean {' or '.join(near)}? Otherwise: " if near else ""
    return SpecError(
        f"{place}: {name!r} is neither a built-in {kind} ({', '.join(known)}) "
        "nor a program on PATH",
        f"{guess}{FORMS}",
    )
