"""Changes of editor settings can be undone without affecting other settings."""

from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.support.json_values import VALUES, decorated

from localio.jsonc import json_text, parse
from localio.jsonc_edit import rewrite
from symposium.config import editor_settings
from symposium.config.editor_settings import (
    EditorEnvironment,
    EditorLaunch,
    EditorReceipt,
    JsonSetting,
    Receipts,
    SettingsChange,
    SettingsError,
    carry_out,
    plan_write,
)

FILE = Path("/home/ada/settings.json")
KEYS = ("agent_servers", "Symposium")
OURS = {"command": "/bin/symposium", "args": ["run"]}
SETTINGS = decorated().filter(
    lambda pair: isinstance(pair[0], dict) and KEYS[0] not in cast("dict[str, Any]", pair[0])
)


def undone(text: str, receipt: EditorReceipt) -> str:
    taken = editor_settings.remove_member(text, KEYS, receipt)
    assert taken is not None
    return taken


@pytest.mark.requirement("editors.undo", "editors.write")
@settings(max_examples=50)
@given(SETTINGS)
def test_undo_restores_any_settings_exactly(pair: tuple[Any, str]) -> None:
    value, text = pair

    after, receipt = editor_settings.set_member(FILE, text, KEYS, OURS)

    assert parse(after).value == value | {"agent_servers": {"Symposium": OURS}}
    assert editor_settings.remove_member(after, KEYS, receipt) == text


@pytest.mark.requirement("editors.undo")
@settings(max_examples=50)
@given(SETTINGS, st.dictionaries(st.text(), VALUES, max_size=2))
def test_undo_keeps_later_changes_of_other_settings(
    pair: tuple[Any, str], more: dict[str, Any]
) -> None:
    value, text = pair
    assume(KEYS[0] not in more)
    after, receipt = editor_settings.set_member(FILE, text, KEYS, OURS)
    edited = "// since\n" + rewrite(after, parse(after).value | more)

    taken = undone(edited, receipt)

    assert taken.startswith("// since\n")
    assert json_text(parse(taken).value, sort_keys=True) == json_text(value | more, sort_keys=True)


@pytest.mark.requirement("editors.undo")
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"agent_servers": {}}', {"agent_servers": {}, "new": 1}),
        ('{"agent_servers": {"Other": 1}}', {"agent_servers": {"Other": 1}, "new": 1}),
        (
            '{"agent_servers": {"Symposium": "mine"}}',
            {"agent_servers": {"Symposium": "mine"}, "new": 1},
        ),
        ("{}", {"new": 1}),
        (None, {"new": 1}),
    ],
)
def test_undo_restores_the_previous_value(text: str | None, value: Any) -> None:
    after, receipt = editor_settings.set_member(FILE, text, KEYS, OURS)
    edited = rewrite(after, parse(after).value | {"new": 1})

    assert parse(undone(edited, receipt)).value == value


@pytest.mark.requirement("editors.undo")
def test_undo_deletes_a_created_file() -> None:
    after, receipt = editor_settings.set_member(FILE, None, KEYS, OURS)

    assert editor_settings.remove_member(after, KEYS, receipt) is None
    assert editor_settings.remove_member(after + " ", KEYS, receipt) is None
    assert editor_settings.remove_member("// note\n" + after, KEYS, receipt) == "// note\n{}\n"


@pytest.mark.requirement("editors.undo")
@pytest.mark.parametrize("text", ["{}", '{"agent_servers": {}}', '{"agent_servers": 1}'])
def test_undo_without_the_setting_leaves_the_file_unchanged(text: str) -> None:
    _, receipt = editor_settings.set_member(FILE, '{"a": 1}', KEYS, OURS)

    assert editor_settings.remove_member(text, KEYS, receipt) == text


@pytest.mark.requirement("editors.undo-changed")
def test_undo_keeps_a_setting_the_user_edited() -> None:
    after, receipt = editor_settings.set_member(FILE, "{}", KEYS, OURS)

    with pytest.raises(SettingsError) as caught:
        editor_settings.remove_member(after.replace('"run"', '"run", "--trace"'), KEYS, receipt)
    assert str(caught.value) == (
        f"{FILE}: `agent_servers.Symposium` was changed since it was written; "
        "remove it manually if you do not need it"
    )


@pytest.mark.requirement("editors.undo-changed")
def test_error_names_the_file_with_the_edited_setting() -> None:
    _, receipt = editor_settings.set_member(FILE, "{}", KEYS, OURS)
    changed = '{"agent_servers": {"Symposium": 1}}'

    with pytest.raises(SettingsError, match=f"^{FILE}: "):
        editor_settings.remove_member(changed, KEYS, receipt)


@pytest.mark.requirement("editors.undo")
def test_reformatted_file_that_was_empty_before_is_kept() -> None:
    after, receipt = editor_settings.set_member(FILE, "{}\n", KEYS, OURS)

    taken = editor_settings.remove_member(f"{after}\n", KEYS, receipt)

    assert taken is not None
    assert parse(taken).value == {}


@pytest.mark.requirement("editors.unreadable")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{\n  "a": yes }', "settings.json:2:8: expected a value"),
        ("// nothing", "settings.json:1:11: expected a value, but the file ends"),
        ("[]", "settings.json: the settings are not an object; fix them, then try again"),
        (
            '{"agent_servers": []}',
            "settings.json: `agent_servers` is not an object; fix it, then try again",
        ),
        ('{"a": 1, "a": 2}', "duplicate key"),
    ],
)
def test_invalid_settings_are_an_error(text: str, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        editor_settings.set_member(FILE, text, KEYS, OURS)

    assert message in str(caught.value)


# -- blocks

BODY = 'require("x")\n'
BLOCK = '-- >>> symposium >>>\nrequire("x")\n-- <<< symposium <<<\n'


@pytest.mark.requirement("editors.own-file", "editors.undo")
@pytest.mark.parametrize("text", [None, "", "-- mine\n", "-- mine", "a\r\nb\r\n"])
def test_block_is_inserted_and_removed(text: str | None) -> None:
    after, receipt = editor_settings.insert_block(FILE, text, "--", BODY)

    assert after.endswith(BLOCK)
    assert editor_settings.remove_block(after, "--", receipt) == text
    taken = editor_settings.remove_block(f"first\n{after}last\n", "--", receipt)
    assert taken is not None
    assert taken.split() == ["first", *(text or "").split(), "last"]


@pytest.mark.requirement("editors.own-file")
def test_older_block_is_replaced_at_its_position() -> None:
    old, _ = editor_settings.insert_block(FILE, None, "--", "old()\n")

    after, receipt = editor_settings.insert_block(FILE, f"first\n{old}last\n", "--", BODY)

    assert after == f"first\n{BLOCK}last\n"
    assert (
        editor_settings.remove_block(f"new\n{after}", "--", receipt) == f"new\nfirst\n{old}last\n"
    )


@pytest.mark.requirement("editors.undo-changed")
def test_block_that_the_user_edited_is_kept() -> None:
    after, receipt = editor_settings.insert_block(FILE, None, "--", BODY)

    with pytest.raises(SettingsError) as caught:
        editor_settings.remove_block(after.replace("x", "y"), "--", receipt)
    assert str(caught.value) == (
        f"{FILE}: the block between the markers was changed since it was written; "
        "remove it manually if you do not need it"
    )
    assert editor_settings.remove_block("without it\n", "--", receipt) == "without it\n"


UNMATCHED = "unmatched or repeated markers of Symposium; remove them manually"


@pytest.mark.requirement("editors.unreadable")
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("-- >>> symposium >>>\n", UNMATCHED),
        (BLOCK + BLOCK, UNMATCHED),
        (
            "-- <<< symposium <<<\n-- >>> symposium >>>\n",
            "the markers of Symposium are reversed; fix their order",
        ),
    ],
)
def test_unmatched_markers_are_an_error(text: str, says: str) -> None:
    with pytest.raises(SettingsError) as caught:
        editor_settings.insert_block(FILE, text, "--", BODY)
    assert str(caught.value) == f"{FILE}: {says}"


# -- applying


@pytest.mark.requirement("editors.write")
def test_file_changed_since_it_was_shown_is_not_touched(tmp_path: Path) -> None:
    file, receipts = tmp_path / "settings.json", Receipts(tmp_path / "editors")
    file.write_text("{}")
    after, receipt = editor_settings.set_member(file, "{}", KEYS, OURS)
    change = SettingsChange(file, "{}", after, receipt)
    file.write_text('{"since": 1}')

    with pytest.raises(SettingsError) as caught:
        carry_out(change, "zed", receipts)

    assert str(caught.value) == f"{file} was changed meanwhile; try again"
    assert file.read_text() == '{"since": 1}'
    assert receipts.read("zed") is None


@pytest.mark.requirement("editors.write")
def test_deleted_settings_file_is_created_again(tmp_path: Path) -> None:
    setting = JsonSetting(lambda where: where.user / "settings.json", KEYS, lambda _: OURS)
    launch, where = (
        EditorLaunch("/bin/symposium", ("run",)),
        EditorEnvironment(tmp_path, {}, "linux"),
    )
    first = plan_write(setting, launch, where, None)

    again = plan_write(setting, launch, where, first.receipt)

    assert first.after is not None
    assert (again.before, again.after) == (None, first.after)


@pytest.mark.requirement("editors.write", "editors.undo")
def test_receipt_of_another_file_does_not_change_the_plan(tmp_path: Path) -> None:
    mine = '{"agent_servers": {"Symposium": "mine"}}'
    (tmp_path / "settings.json").write_text(mine)
    setting = JsonSetting(lambda where: where.user / "settings.json", KEYS, lambda _: OURS)
    launch = EditorLaunch("/bin/symposium", ("run",))
    _, elsewhere = editor_settings.set_member(FILE, "{}", KEYS, OURS)

    change = plan_write(setting, launch, EditorEnvironment(tmp_path, {}, "linux"), elsewhere)

    assert change.receipt is not None
    assert (change.receipt.original, change.receipt.previous) == (mine, ("mine",))


@pytest.mark.requirement("editors.unreadable")
def test_error_names_a_directory_used_as_settings_file(tmp_path: Path) -> None:
    setting = JsonSetting(lambda where: where.user, KEYS, lambda _: OURS)
    where = EditorEnvironment(tmp_path, {}, "linux")

    with pytest.raises(SettingsError) as caught:
        plan_write(setting, EditorLaunch("/bin/symposium", ()), where, None)
    reason = f"[Errno 21] Is a directory: '{tmp_path}'"
    assert str(caught.value) == f"cannot read {tmp_path}: {reason}; nothing was changed"


@pytest.mark.requirement("editors.write")
def test_error_names_an_unwritable_settings_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    file = tmp_path / "settings.json"
    _, receipt = editor_settings.set_member(file, None, KEYS, OURS)

    with pytest.raises(SettingsError) as caught:
        carry_out(SettingsChange(file, None, "{}", receipt), "zed", Receipts(tmp_path / "file"))
    hint = "fix its permissions, or those of its directory"
    assert str(caught.value) == f"cannot write {file}: File exists; {hint}"


# -- receipts


@pytest.mark.requirement("editors.backup")
@settings(max_examples=20)
@given(text=st.text(), value=VALUES)
def test_receipt_round_trip(
    tmp_path_factory: pytest.TempPathFactory, text: str, value: Any
) -> None:
    assume(text.isprintable())
    receipts = Receipts(tmp_path_factory.mktemp("home") / "editors")
    assert receipts.read("zed") is None
    receipt = EditorReceipt(str(FILE), "hash", text, value, (value,), 2)

    receipts.write("zed", receipt)

    assert receipts.read("zed") == receipt
    assert receipts.backup("zed", receipt).read_bytes().decode() == text
    receipts.remove("zed")
    assert receipts.read("zed") is None


@pytest.mark.requirement("editors.backup")
def test_unreadable_receipt_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "zed.json").write_text("{}")
    (tmp_path / "emacs.json").write_bytes(b"\xff")
    (tmp_path / "vscode.json").mkdir()

    for editor, why in (("zed", "missing required"), ("emacs", "0xff"), ("vscode", "directory")):
        with pytest.raises(SettingsError, match=why) as caught:
            Receipts(tmp_path).read(editor)
        start = f"cannot read the receipt {tmp_path / editor}.json: "
        assert caught.value.message.startswith(start)
        assert caught.value.hint == "remove Symposium from the editor's settings manually"


@pytest.mark.requirement("editors.write")
def test_diff_of_a_new_or_deleted_file_uses_dev_null() -> None:
    new = SettingsChange(FILE, None, "a\n", None).diff().splitlines()
    gone = SettingsChange(FILE, "a\n", None, None).diff().splitlines()

    assert new[:2] == ["--- /dev/null", f"+++ {FILE}"]
    assert new[3:] == ["+a"]
    assert gone[:2] == [f"--- {FILE}", "+++ /dev/null"]
