"""Models and modes of agents, in each form of ACP."""

from dataclasses import replace
from typing import Any

import pytest

from symposium.client.events import ModeChange, OptionsChange
from symposium.client.session_settings import MODE, MODEL, SessionSettings, SettingChoice

MODES = {
    "currentModeId": "ask",
    "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "code", "name": "Code", "x": 1}],
}
MODELS = {"currentModelId": "b", "availableModels": [{"modelId": "b", "name": "Big"}]}


def option(category: str, current: str) -> dict[str, Any]:
    groups = [
        {"group": "g", "options": [{"value": "s", "name": "Small"}]},
        {"value": "l", "name": "Large", "description": "slow"},
    ]
    return {"id": "o", "category": category, "currentValue": current, "options": groups}


def opened(**members: Any) -> SessionSettings:
    settings = SessionSettings()
    settings.opened(members)
    return settings


@pytest.mark.requirement("cli.chat-settings")
def test_modes_and_models_have_separate_methods() -> None:
    settings = opened(modes=MODES, models=MODELS)
    mode, model = settings.known[MODE], settings.known[MODEL]

    assert mode.request(mode.choices[1]) == ("session/set_mode", {"modeId": "code"})
    assert model.request(model.choices[0]) == ("session/set_model", {"modelId": "b"})


@pytest.mark.requirement("cli.chat-settings")
def test_config_option_of_the_category_replaces_the_older_method() -> None:
    model = opened(models=MODELS, configOptions=[option("model", "s")]).known[MODEL]

    assert model.choices == (SettingChoice("s", "Small"), SettingChoice("l", "Large", "slow"))
    params = {"configId": "o", "value": "l"}
    assert model.request(model.choices[1]) == ("session/set_config_option", params)


@pytest.mark.requirement("cli.chat-settings")
def test_change_reported_by_the_agent_is_applied() -> None:
    settings = opened(modes=MODES, configOptions=[option("model", "s")])
    settings.reported(ModeChange("code"))
    settings.reported(OptionsChange((option("model", "l"),)))

    assert (settings.name_of(MODE), settings.name_of(MODEL)) == ("Code", "Large")


@pytest.mark.requirement("cli.chat-settings")
@pytest.mark.parametrize(
    ("word", "ids"),
    [("code", ["code"]), ("ASK", ["ask"]), ("co", ["code"]), ("od", ["code"]), ("x", [])],
)
def test_setting_is_chosen_by_name_or_part_of_it(word: str, ids: list[str]) -> None:
    found = opened(modes=MODES).known[MODE].matching(word)

    assert [each.id for each in found] == ids


@pytest.mark.requirement("cli.chat-settings")
@pytest.mark.parametrize(
    "result",
    [
        *(None, {"modes": 7}, {"models": {"availableModels": [7, 8]}}),
        {"configOptions": [{**option("model", "s"), "category": "color"}]},
        {"configOptions": [{**option("model", "s"), "id": 7}]},
        {"configOptions": [{"id": "o", "category": "model", "options": [7]}]},
    ],
)
def test_malformed_result_offers_nothing(result: Any) -> None:
    settings = SessionSettings()
    settings.opened(result)

    assert settings.known == {}


@pytest.mark.requirement("cli.chat-settings")
def test_setting_is_chosen_by_part_of_an_id_or_name() -> None:
    choices = (SettingChoice("gpt-5", "Large"), SettingChoice("mini", "Small"))
    setting = opened(models=MODELS).known[MODEL]
    found = replace(setting, choices=choices)

    assert [[each.id for each in found.matching(word)] for word in ("pt-", "ARG", "x")] == [
        ["gpt-5"],
        ["gpt-5"],
        [],
    ]


@pytest.mark.requirement("cli.chat-settings")
def test_prefix_is_preferred_to_an_inner_part() -> None:
    choices = (
        SettingChoice("my-gpt", "My"),
        SettingChoice("gpt-5", "Large"),
        SettingChoice("gpt", "Old"),
    )
    found = replace(opened(models=MODELS).known[MODEL], choices=choices)

    assert [each.id for each in found.matching("gpt-")] == ["gpt-5"]
    assert [each.id for each in found.matching("gp")] == ["gpt-5", "gpt"]
    assert [each.id for each in found.matching("gpt")] == ["gpt"]
