"""Parse the SPECs of components to the blueprint of a chain.

A SPEC is the name of a built-in or installed component, a command line, or a JSON object
(acp-host §1.9, R6). No program is started here; a missing program is reported at `initialize`.
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
"""Default mods of the reference, with `guidance` instead of its `sparkle` (acp-host §4.1)."""

FORMS: Final = (
    "a SPEC is the name of a built-in, a command line such as 'npx some-agent --acp', "
    'or JSON such as {"command": "some-agent", "args": ["--acp"]}'
)

POLICY: Final = "policy"
"""Name of the mod that applies the user's policy rules."""

MakeMod: TypeAlias = Callable[[], Component]


class ChainSpec(Struct, frozen=True):
    """Parsed components, from which any number of blueprints of the chain can be made.

    Attributes:
        mods: factories of the mods, in order from client to agent. Each chain needs new mods.
        agent: agent of the chain; None if the chain is a proxy.
        secrets: values of its programs' variables, which must not be in any record.
        bridge: connection to the MCP servers of mods for an agent without MCP over ACP.
        before_yes: awaited before a policy rule allows a request.
    """

    mods: tuple[MakeMod, ...]
    agent: Program | Served | None
    secrets: tuple[str, ...] = ()
    bridge: Mode = "auto"
    before_yes: BeforeYes | None = None

    @property
    def agent_name(self) -> str:
        """Name of the agent; empty if the chain is a proxy."""
        return "" if self.agent is None else self.agent.name

    def blueprint(self) -> Blueprint:
        """Return the blueprint of a new chain."""
        return Blueprint([*self.users_mods(), *self.hosts_mods()], self.agent)

    def users_mods(self) -> list[Component]:
        """Return new mods for one chain, as requested by the user.

        In a chain with an agent the policy mod is left out, because `hosts_mods` adds it.
        """
        mods = [make() for make in self.mods]
        if self.agent is None:
            return mods
        return [mod for mod in mods if not (isinstance(mod, InProcess) and mod.name == POLICY)]

    def hosts_mods(self) -> list[Component]:
        """Return the components between the mods and the agent: the bridge, then the policy.

        Returns none if the chain is a proxy, because the outer conductor adds both.
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
    """Parse all SPECs of a chain.

    Args:
        proxies: SPECs of the mods, in order from client to agent.
        agent: SPEC of the agent; None if the chain is a proxy.
        bridge: connection from the agent to the tools of mods.
        option: option with the agent's SPEC, for errors.

    Raises:
        PolicyError: the user's policy file cannot be read.
        SpecError: a SPEC is not a component of its kind; the message has the SPEC and its option.
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
    """Check that the user's policy file, if any, is valid; otherwise no agent may start.

    Raises:
        PolicyError: it is not; the message has the place of the error.
    """
    file = policy_file()
    if exists(file):
        from symposium.permissions.policy import load_policy

        load_policy(file)


def read_agent(spec: str, place: str) -> Program | Served:
    """Parse an agent's SPEC.

    Raises:
        SpecError: it is not an agent.
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
    """Return the SPEC if it can be a name; None for a path, a command line, or JSON."""
    is_json = spec.lstrip().startswith("{")
    (word, *arguments) = command.argv
    if is_json or arguments or command.env or "/" in word:
        return None
    return word


def program_on_path(name: str) -> str | None:
    """Return the path of a program on PATH; None if it does not exist.

    Relative directories in PATH are ignored, because they could lead into a workspace.
    """
    # Not shutil.which: importing it takes as long as parsing a whole chain.
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
