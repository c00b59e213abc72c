"""The primitives that an editor offers, whatever way it declares them (acp-host §3.2)."""

import logging
from collections.abc import Mapping
from typing import Any, Final, cast

from symposium.conductor.meta import VERSION, declared

_log = logging.getLogger(__name__)

FS_READ: Final = "fs_read"
FS_WRITE: Final = "fs_write"
BASH: Final = "bash"
IDE_OPERATIONS: Final = "ide_operations"
ELICITATION_FORM: Final = "elicitation_form"
ELICITATION_URL: Final = "elicitation_url"

_CONVENTION: Final = frozenset({"version", "details"})
"""Members of `_meta.symposium` that are no capabilities."""


def primitives(params: object) -> dict[str, Any]:
    """What the client of this `initialize` offers: name to detail, true where there is none.

    An explicit `_meta.symposium` key wins over ACP's own field; false and null mean absent.
    """
    capabilities = client_capabilities(params)
    found: dict[str, Any] = {name: True for name, is_there in _native(capabilities) if is_there}
    for name, value in _declared(capabilities).items():
        if value is False or value is None:
            found.pop(name, None)
        else:
            found[name] = value
    return found


def capabilities_member(params: object) -> str:
    """What the params call the client's capabilities: ACP v2 renames the member."""
    given = as_object(params)
    is_v2 = "capabilities" in given and "clientCapabilities" not in given
    return "capabilities" if is_v2 else "clientCapabilities"


def client_capabilities(params: object) -> Mapping[str, Any]:
    """The client's capabilities; empty where there are none."""
    return as_object(as_object(params).get(capabilities_member(params)))


def as_object(value: object) -> Mapping[str, Any]:
    """The JSON object; an empty one where it is none."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _declared(capabilities: Mapping[str, Any]) -> dict[str, Any]:
    given = as_object(capabilities.get("_meta")).get("symposium")
    if given is not None and not isinstance(given, Mapping):
        _log.warning("_meta.symposium is no object and is passed over: %r", given)
    ours = declared(capabilities)
    version = ours.get("version", VERSION)
    if _major(version) != _major(VERSION):
        _log.warning("_meta.symposium has version %s; its capabilities are passed over", version)
        return {}
    return {name: value for name, value in ours.items() if name not in _CONVENTION}


def _major(version: object) -> str:
    return str(version).partition(".")[0]


def _native(capabilities: Mapping[str, Any]) -> list[tuple[str, bool]]:
    files = as_object(capabilities.get("fs"))
    elicitation = as_object(capabilities.get("elicitation"))
    return [
        (FS_READ, files.get("readTextFile") is True),
        (FS_WRITE, files.get("writeTextFile") is True),
        (BASH, capabilities.get("terminal") is True),
        (ELICITATION_FORM, elicitation.get("form") is not None),
        (ELICITATION_URL, elicitation.get("url") is not None),
    ]
