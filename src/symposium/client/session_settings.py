"""Models and modes that an agent offers in a session, and the requests that set them.

ACP has three ways: `modes` with `session/set_mode`, `models` with `session/set_model`, and
`configOptions` of the categories `mode` and `model`, which replace the other two where they exist.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from peerwire.jsonrpc.values import as_list, as_object
from symposium.client.events import ModeChange, OptionsChange

MODE: Final = "mode"
MODEL: Final = "model"


@dataclass(frozen=True, slots=True)
class SettingChoice:
    """One of the models, or one of the modes."""

    id: str
    name: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class SessionSetting:
    """Something that the user can choose in a session.

    Attributes:
        kind: `mode` or `model`.
        current: id of the current choice.
        choices: in the agent's order.
        option: the id of the config option; None for another setting.
    """

    kind: str
    current: str
    choices: tuple[SettingChoice, ...]
    option: str | None = None

    @property
    def current_name(self) -> str:
        """Name of the current choice."""
        found = [each.name for each in self.choices if each.id == self.current]
        return found[0] if found else self.current

    def matching(self, text: str) -> Sequence[SettingChoice]:
        """Choices that match a word: by id or name, or by part of one."""
        word = text.strip().casefold()
        names = [(each, {each.id.casefold(), each.name.casefold()}) for each in self.choices]
        exact = [each for each, known in names if word in known]
        begin = [each for each, known in names if any(name.startswith(word) for name in known)]
        part = [each for each, known in names if any(word in name for name in known)]
        return exact[:1] or begin or part

    def request(self, choice: SettingChoice) -> tuple[str, Mapping[str, Any]]:
        """Method that sets a choice, and its params without the session."""
        if self.option is not None:
            return "session/set_config_option", {"configId": self.option, "value": choice.id}
        if self.kind == MODEL:
            return "session/set_model", {"modelId": choice.id}
        return "session/set_mode", {"modeId": choice.id}


@dataclass(slots=True)
class SessionSettings:
    """Models and modes of one session, as last reported; by `mode` and `model`."""

    known: dict[str, SessionSetting] = field(default_factory=dict[str, SessionSetting])

    def name_of(self, kind: str) -> str:
        """Name of the current choice; empty without choices."""
        return self.known[kind].current_name if kind in self.known else ""

    def opened(self, result: Any) -> None:
        """Read the answer that opened the session."""
        members = as_object(result)
        self.known = {
            setting.kind: setting
            for setting in (_modes(members), _models(members))
            if setting.choices
        }
        self.options(_mappings(members.get("configOptions")))

    def reported(self, event: ModeChange | OptionsChange) -> None:
        """Apply a change that the agent has reported."""
        match event:
            case ModeChange(mode_id):
                self.chosen(MODE, mode_id)
            case OptionsChange(options):
                self.options(options)

    def chosen(self, kind: str, current: str) -> None:
        """Set the current choice."""
        if (known := self.known.get(kind)) is not None:
            self.known[kind] = SessionSetting(known.kind, current, known.choices, known.option)

    def options(self, options: Sequence[Mapping[str, Any]]) -> None:
        """Read all config options of the session."""
        for each in options:
            kind, option = each.get("category"), each.get("id")
            choices = _choices(_ungrouped(each.get("options")), "value")
            if isinstance(option, str) and kind in {MODE, MODEL} and choices:
                current = str(each.get("currentValue", ""))
                self.known[kind] = SessionSetting(kind, current, choices, option)


def _modes(members: Mapping[str, Any]) -> SessionSetting:
    found = as_object(members.get("modes"))
    choices = _choices(_mappings(found.get("availableModes")), "id")
    return SessionSetting(MODE, str(found.get("currentModeId", "")), choices)


def _models(members: Mapping[str, Any]) -> SessionSetting:
    found = as_object(members.get("models"))
    choices = _choices(_mappings(found.get("availableModels")), "modelId")
    return SessionSetting(MODEL, str(found.get("currentModelId", "")), choices)


def _choices(entries: Sequence[Mapping[str, Any]], key: str) -> tuple[SettingChoice, ...]:
    return tuple(
        SettingChoice(value, str(each.get("name") or value), str(each.get("description") or ""))
        for each in entries
        if isinstance(value := each.get(key), str)
    )


def _ungrouped(entries: Any) -> Sequence[Mapping[str, Any]]:
    """Values of an option, including those in groups."""
    found: list[Mapping[str, Any]] = []
    for each in _mappings(entries):
        inner = each.get("options")
        found += [each] if inner is None else _mappings(inner)
    return found


def _mappings(value: Any) -> Sequence[Mapping[str, Any]]:
    listed = as_list(value)
    return [as_object(each) for each in listed]
