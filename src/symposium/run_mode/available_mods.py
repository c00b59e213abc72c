"""Available mods, and which of them are useful in a workspace."""

from collections.abc import Sequence

from symposium.catalog import builtin_mods, find_mod, installed_mod_names
from symposium.chain.mod import ComponentSpec
from symposium.config.user_config import ModEntry
from symposium.run_mode.menu_ports import ModChoice, ModChoices


def local_mods() -> ModChoices:
    """Return the mods on this machine."""
    return ModChoices(_known_mods())


def all_mods() -> ModChoices:
    """Return the mods on this machine and in the registry, without network access."""
    from symposium.run_mode.registry_agents import registry_mods

    known = _known_mods()
    listed = registry_mods()
    ours = {mod.name for mod in known}
    more = [mod for mod in listed.mods if mod.name not in ours]
    return ModChoices([*known, *more], listed.warning)


def suited(mods: Sequence[ModEntry], workspace: str) -> list[tuple[ModEntry, str]]:
    """Select the mods that are useful in a workspace, each with summary and cost.

    Args:
        mods: built-in mods, by name; a mod of another source is always useful.
        workspace: an absolute path; empty if the editor named none.
    """
    from pathlib import Path

    from symposium.documents.first_prompt import GuidanceWorkspace
    from symposium.documents.guidance import checkout_of

    files = GuidanceWorkspace(checkout_of(Path(workspace))) if workspace else None
    found: list[tuple[ModEntry, str]] = []
    for entry in mods:
        spec = find_mod(entry.name) if entry.source is None else None
        if spec is None:
            found.append((entry, ""))
        elif not spec.suits or (files is not None and any(map(files.has, spec.suits))):
            found.append((entry, _with_cost(spec)))
    return found


def _with_cost(spec: ComponentSpec) -> str:
    return (
        f"{spec.summary} About {spec.tokens} tokens per session." if spec.tokens else spec.summary
    )


def _known_mods() -> list[ModChoice]:
    """List built-in mods, then those of installed distributions, without adapters."""
    built_in = [
        ModChoice(spec.name, f"Built in: {_with_cost(spec)}", ModEntry(spec.name))
        for spec in builtin_mods()
        if spec.needs.kind != "adapter"
    ]
    taken = {mod.name for mod in built_in}
    installed = [
        ModChoice(name, "Offered by an installed distribution.", ModEntry(name))
        for name in installed_mod_names()
        if name not in taken
    ]
    return [*built_in, *installed]
