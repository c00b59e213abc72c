"""The daemon's part for references, through its handler."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.task_views import asked

from symposium.bus.envelope import Sender
from symposium.bus.messages.editor import StoreReference
from symposium.bus.protocol import Ack
from symposium.daemon.part import PartContext
from symposium.daemon.parts import references
from symposium.documents.references import ReferenceStore


@pytest.mark.requirement("bus.acknowledged")
async def test_reference_is_stored_with_the_taskspace_of_its_sender(tmp_path: Path) -> None:
    part = references.spec.make(PartContext(tmp_path, tmp_path / "socket"))
    store = part.answers().requests["store_reference"]
    for key, taskspace in (("one", "t1"), ("two", None)):
        context = replace(asked(), sender=Sender("/", taskspace))
        assert await store(StoreReference(key=key, value={"a": key}), context) == Ack()

    found = [ReferenceStore(tmp_path).get(key) for key in ("one", "two")]
    assert [(each.value, each.taskspace) for each in found if each is not None] == [
        ({"a": "one"}, "t1"),
        ({"a": "two"}, ""),
    ]
