"""Message classes: complete, and compatible with lines of the reference."""

import json
import re
import sys
from enum import Enum
from pathlib import Path
from typing import Any, cast, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Raw

from peerwire.errors import LocalError
from symposium.bus import protocol
from symposium.bus.envelope import (
    Envelope,
    EnvelopeError,
    Sender,
    envelope_of,
    read_envelope,
    stamp,
    stamped,
    version_one,
    write_envelope,
)
from symposium.bus.messages.agents import (
    SIGNS,
    Decided,
    GetTaskspaceState,
    LogProgress,
    ProgressCategory,
    Recorded,
    SignalUser,
    SpawnTaskspace,
    TaskspaceState,
)
from symposium.bus.messages.broker import Welcome
from symposium.bus.messages.editor import (
    CreateSyntheticPr,
    FindAllReferences,
    GetSelection,
    PresentReview,
    PresentWalkthrough,
    ResolveSymbolByName,
    ReviewMode,
    SymbolDef,
    UpdateSyntheticPr,
)
from symposium.bus.protocol import (
    Announcement,
    BusMessage,
    BusRequest,
    PayloadError,
    Role,
    message_types,
    payload_of,
    read_reply,
    reply_type,
)

GOLDEN = Path(__file__).parents[2] / "golden" / "bus"
TYPES = sorted(message_types().values(), key=lambda kind: kind.about.type)

SEED = {
    *("response", "marco", "polo", "store_reference", "get_taskspace_state"),
    *("register_taskspace_window", "present_walkthrough", "log", "get_selection", "reload_window"),
    *("goodbye", "resolve_symbol_by_name", "find_all_references", "create_synthetic_pr"),
    *("update_synthetic_pr", "user_feedback", "spawn_taskspace", "log_progress", "signal_user"),
    *("update_taskspace", "delete_taskspace", "taskspace_roll_call"),
}
CODE = {"taskspace_state", "present_review", "taskspace_will_delete"}


@pytest.mark.requirement("bus.every-type")
def test_every_type_of_the_reference_has_a_class() -> None:
    of_reference = {each.about.type for each in TYPES if each.about.version == 1}

    assert of_reference == SEED | CODE


@pytest.mark.requirement("bus.one-class-each")
@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.about.type)
def test_message_class_has_a_complete_spec(kind: type[BusMessage]) -> None:
    about = kind.about
    is_request = issubclass(kind, BusRequest)

    assert kind.__doc__, "what it is for"
    assert about.type == re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()
    assert about.sent_by <= frozenset(Role)
    assert about.source
    assert is_request != issubclass(kind, Announcement)
    assert bool(about.budget) == is_request
    assert (reply_type(kind) is not None) == is_request
    assert not about.alias_of or about.alias_of in message_types()


@pytest.mark.requirement("bus.one-class-each")
def test_a_module_without_a_message_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "odd_messages"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "nothing.py").write_text("x = 1\n", encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(protocol, "MESSAGES", "odd_messages")

    with pytest.raises(LocalError, match=r"odd_messages\.nothing has no message class"):
        message_types.__wrapped__()


@pytest.mark.requirement("bus.one-class-each")
def test_two_messages_of_one_name_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "twin_messages"
    package.mkdir()
    (package / "__init__.py").touch()
    code = (
        "from typing import ClassVar\n"
        "from symposium.bus.protocol import Role\n"
        "from symposium.bus.protocol import Announcement, MessageSpec, MessageTarget\n"
        "class Twin(Announcement, frozen=True):\n"
        "    about: ClassVar = MessageSpec(\n"
        "        'twin', sent_by=frozenset(Role), target=MessageTarget.BROKER, source='a test')\n"
    )
    for name in ("first", "second"):
        (package / f"{name}.py").write_text(code, encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(protocol, "MESSAGES", "twin_messages")

    with pytest.raises(LocalError, match="two message classes have the type twin"):
        message_types.__wrapped__()


def golden(kind: str) -> list[Any]:
    paths = sorted((GOLDEN / kind).glob("*.json"))
    assert paths
    return [pytest.param(path, id=path.stem) for path in paths]


@pytest.mark.requirement("bus.golden", "bus.casing")
@pytest.mark.parametrize("path", golden("messages"))
def test_line_of_the_reference_survives_reading_and_writing(path: Path) -> None:
    line = path.read_bytes().strip()
    envelope = read_envelope(line)
    message = message_types()[envelope.type].read(envelope.payload)
    written = msgspec.structs.replace(envelope, payload=payload_of(message))

    assert without_nulls(json.loads(write_envelope(written))) == without_nulls(json.loads(line))


@pytest.mark.requirement("bus.golden", "bus.aliases")
@pytest.mark.parametrize("path", golden("seed"))
def test_line_in_the_spelling_of_the_seed_is_written_in_that_of_the_code(
    path: Path,
) -> None:
    envelope = read_envelope(path.read_bytes().strip())
    message = message_types()[envelope.type].read(envelope.payload)
    member = "name" if envelope.type == "resolve_symbol_by_name" else "symbol"

    assert value_of(envelope.payload) == {"symbol_name": "User"}
    assert value_of(payload_of(message)) == {member: "User"}


@pytest.mark.requirement("bus.golden")
def test_every_type_of_the_seed_has_a_golden_line() -> None:
    assert {path.stem.partition(".")[0] for path in (GOLDEN / "messages").glob("*.json")} >= SEED


@pytest.mark.requirement("bus.golden")
@pytest.mark.parametrize("path", golden("replies"))
def test_reply_of_the_reference_survives_reading_and_writing(path: Path) -> None:
    kind = message_types()[path.stem.partition(".")[0]]
    data = Raw(path.read_bytes().strip())
    reply: object = read_reply(cast("type[BusRequest[object]]", kind), data)

    written, expected = value_of(payload_of(reply)), value_of(data)
    if isinstance(reply, Recorded | Decided):
        expected = {"watchers": 0} if isinstance(reply, Recorded) else {"outcome": "deleted"}

    assert without_nulls(written) == without_nulls(expected)


@pytest.mark.requirement("bus.defaults-written")
@pytest.mark.parametrize(
    ("message", "member", "value"),
    [
        (Welcome(connection="c1"), "protocol", 2),
        (Recorded(), "watchers", 0),
        (Decided(), "outcome", "deleted"),
        (CreateSyntheticPr(review_id="r", title="t", commit_range="HEAD"), "status", "Pending"),
        (UpdateSyntheticPr(review_id="r"), "status", "Pending"),
        (LogProgress(project_path="p", taskspace_uuid="u", message="m"), "category", "info"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_member_with_its_default_value_is_on_the_wire(
    message: object, member: str, value: object
) -> None:
    assert value_of(payload_of(message))[member] == value


@pytest.mark.requirement("bus.selection-forms")
@pytest.mark.parametrize(
    ("data", "text"),
    [(b"null", None), (b'"some text"', "some text"), (b'{"selectedText":"x"}', "x")],
)
def test_a_selection_is_an_object_a_text_or_null(data: bytes, text: str | None) -> None:
    assert read_reply(GetSelection, Raw(data)).selected_text == text


@pytest.mark.requirement("bus.selection-forms")
def test_a_selection_may_be_absent() -> None:
    assert read_reply(GetSelection, UNSET) == read_reply(GetSelection, Raw(b"null"))


@pytest.mark.requirement("bus.selection-forms")
def test_a_selection_of_another_shape_is_rejected() -> None:
    with pytest.raises(PayloadError):
        read_reply(GetSelection, Raw(b"[1]"))


@pytest.mark.requirement("bus.aliases")
@pytest.mark.parametrize("member", ["name", "symbol_name", "symbol"])
def test_a_symbol_is_asked_for_in_every_spelling(member: str) -> None:
    payload = Raw(json.dumps({member: "User"}).encode())

    assert ResolveSymbolByName.read(payload).name == "User"
    assert FindAllReferences.read(payload).symbol == "User"
    assert bytes(payload_of(ResolveSymbolByName.read(payload))) == b'{"name":"User"}'


@pytest.mark.requirement("bus.aliases")
def test_the_definition_of_a_symbol_is_passed_on_whole() -> None:
    start = {"line": 10, "column": 1}
    defined = {"path": "src/models.rs", "start": start, "end": {"line": 10, "column": 5}}
    symbol = {"name": "User", "kind": "struct", "definedAt": defined}
    asked = FindAllReferences.read(Raw(json.dumps({"symbol": symbol}).encode()))

    assert isinstance(asked.symbol, SymbolDef)
    assert value_of(payload_of(asked)) == {"symbol": symbol}
    by_name = ResolveSymbolByName.read(Raw(json.dumps({"symbol": symbol}).encode()))
    assert by_name.name == "User"


@pytest.mark.requirement("bus.aliases")
def test_a_symbol_without_a_name_is_refused() -> None:
    with pytest.raises(PayloadError, match="name"):
        ResolveSymbolByName.read(Raw(b"{}"))
    with pytest.raises(PayloadError, match="symbol"):
        FindAllReferences.read(Raw(b"{}"))


@pytest.mark.requirement("bus.aliases")
def test_seed_name_for_reading_a_taskspace_is_an_alias() -> None:
    seed = GetTaskspaceState.read(Raw(b'{"taskspace_uuid":"u"}'))

    assert seed.canonical() == TaskspaceState(project_path="", taskspace_uuid="u")


@pytest.mark.requirement("bus.categories")
def test_a_category_is_a_word_or_its_sign() -> None:
    for category, signs in SIGNS.items():
        for word in (category.value, category.value.upper(), *signs):
            payload = {"project_path": "", "taskspace_uuid": "", "message": "", "category": word}
            read = LogProgress.read(Raw(json.dumps(payload).encode()))
            assert read.category is category
    assert ProgressCategory("anything") is ProgressCategory.INFO


@pytest.mark.requirement("bus.categories")
def test_a_category_is_written_as_its_word() -> None:
    written = payload_of(
        LogProgress(
            project_path="p", taskspace_uuid="u", message="m", category=ProgressCategory.MILESTONE
        )
    )

    assert value_of(written)["category"] == "milestone"


@pytest.mark.requirement("bus.envelope")
def test_an_envelope_has_a_fresh_uuid_and_an_object_as_payload() -> None:
    sender = Sender("/project", shell_pid=7)
    one, other = (envelope_of(SignalUser(**TASK, message="m"), sender) for _ in range(2))
    line = json.loads(write_envelope(one))

    assert len(one.id) == 36
    assert one.id != other.id
    assert line["payload"] == {**TASK, "message": "m"}
    assert line["sender"] == {"workingDirectory": "/project", "taskspaceUuid": None, "shellPid": 7}
    assert line.keys() == {"type", "id", "sender", "payload"}


TASK = {"project_path": "/p", "taskspace_uuid": "u"}


@pytest.mark.requirement("bus.envelope")
def test_a_review_of_the_older_kind_is_carried() -> None:
    review = PresentReview(content="# x", mode=ReviewMode.APPEND, base_uri="/b")

    assert PresentReview.read(payload_of(review)) == review
    assert value_of(payload_of(review))["mode"] == "Append"


@pytest.mark.requirement("bus.envelope")
def test_absent_and_null_members_of_a_sender_are_the_same() -> None:
    absent = read_envelope(b'{"type":"polo","id":"1","sender":{"workingDirectory":"/"}}')
    null = read_envelope(
        b'{"type":"polo","id":"1","payload":{},'
        b'"sender":{"workingDirectory":"/","taskspaceUuid":null,"shellPid":null}}'
    )

    assert absent.sender == null.sender
    assert bytes(absent.payload) == bytes(null.payload)


@pytest.mark.requirement("bus.envelope")
def test_members_that_we_do_not_know_are_passed_on() -> None:
    line = (
        b'{"new":[1],"type":"polo","id":"1",'
        b'"sender":{"workingDirectory":"/","x":2},"payload":{"y":3}}'
    )
    passed = json.loads(stamped(line, read_envelope(line), stamp("c1")))

    assert passed.pop("from") == "c1"
    assert passed == json.loads(line)


@pytest.mark.requirement("bus.stamp")
@pytest.mark.parametrize("key", [b"from", b"fr\\u006fm"])
def test_sender_stamp_cannot_be_forged(key: bytes) -> None:
    sent = b'{"type":"polo","id":"1","sender":{"workingDirectory":"/"},"%b":"c9"}' % key
    line = stamped(sent, read_envelope(sent), stamp("c1"))

    assert line.count(b'"from"') == 1
    assert b"c9" not in line
    assert read_envelope(line).from_ == "c1"


@pytest.mark.requirement("bus.v1-lines")
def test_line_for_version_1_has_no_new_members() -> None:
    sent = (
        b'{"from":"c1","to":{"role":"editor"},"ack":true,'
        b'"type":"polo","id":"1","sender":{"workingDirectory":"/"}}'
    )

    assert json.loads(version_one(read_envelope(sent))) == {
        "type": "polo",
        "id": "1",
        "sender": {"workingDirectory": "/", "taskspaceUuid": None, "shellPid": None},
        "payload": {},
    }


@pytest.mark.requirement("bus.casing")
def test_member_names_have_the_spelling_of_the_reference() -> None:
    walkthrough = PresentWalkthrough(content="<p>", base_uri="/b")
    spawn = SpawnTaskspace(**TASK, name="n", task_description="d", initial_prompt="p")

    spawned = read_reply(SpawnTaskspace, Raw(b'{"newTaskspaceUuid":"n"}'))
    assert value_of(payload_of(walkthrough)).keys() == {"content", "baseUri"}
    assert "initial_prompt" in value_of(payload_of(spawn))
    assert value_of(payload_of(spawned)) == {"newTaskspaceUuid": "n"}


@pytest.mark.requirement("bus.malformed")
@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_an_envelope_or_an_error(line: bytes) -> None:
    try:
        envelope = read_envelope(line)
    except EnvelopeError:
        return
    assert read_envelope(write_envelope(envelope)) == envelope


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=6,
)


@pytest.mark.requirement("bus.one-class-each", "bus.malformed")
@given(values=st.lists(JSON, max_size=6), shift=st.integers(0, 11))
def test_arbitrary_payload_is_a_message_or_an_error(values: list[Any], shift: int) -> None:
    for kind in TYPES:
        # Members of the right names, so that more than a few are messages.
        names = [*(field.encode_name for field in msgspec.structs.fields(kind)), "other"]
        first = shift % len(names)
        members = dict(zip(names[first:] + names[:first], values, strict=False))
        payload = Raw(json.dumps(members).encode())
        try:
            message = kind.read(payload)
        except PayloadError:
            continue
        assert kind.read(payload_of(message)) == message, kind


@pytest.mark.requirement("bus.envelope")
@given(st.text(min_size=1, max_size=20), st.text(max_size=20), JSON)
def test_an_envelope_survives_being_written(type_: str, directory: str, payload: object) -> None:
    body = Raw(json.dumps(payload).encode())
    envelope = Envelope(type_, "id", Sender(directory, None, 1), body)

    assert read_envelope(write_envelope(envelope)) == envelope


def value_of(raw: Raw) -> Any:
    return json.loads(bytes(raw))


def without_nulls(value: Any) -> Any:
    """A null member and none say the same (bus §1.2)."""
    match value:
        case dict():
            members = cast("dict[str, Any]", value)
            return {k: without_nulls(v) for k, v in members.items() if v is not None}
        case list():
            return [without_nulls(each) for each in cast("list[Any]", value)]
        case _:
            return value


@pytest.mark.requirement("bus.enum-words")
def test_enum_values_on_the_wire_are_strings() -> None:
    """A member of an enum in a payload is written by its value."""
    for kind in TYPES:
        for hint in kind.__annotations__.values():
            for each in (hint, *get_args(hint)):
                if isinstance(each, type) and issubclass(each, Enum):
                    assert all(isinstance(member.value, str) for member in each)
