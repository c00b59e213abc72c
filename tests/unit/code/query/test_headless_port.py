"""Language servers behind the port, asked by programs."""

from pathlib import Path
from typing import Any

import pytest

from peerwire.errors import INTERNAL_ERROR, RpcError
from symposium.code.ide_operations import FIND_REFERENCES, RESOLVE_SYMBOL
from symposium.code.lsp.headless import Headless, HeadlessPort
from symposium.code.query.evaluator import run
from symposium.code.query.functions import DialectWorkspace, IdeError

SPAN = {"start": {"line": 1, "column": 5}, "end": {"line": 1, "column": 9}}


class TableHeadless(Headless):
    """Answers from a table instead of servers."""

    def __init__(self, answers: dict[str, Any]) -> None:
        super().__init__()
        self._answers = answers
        self.asked: list[Any] = []

    async def answer(self, method: str, params: object, root: Path) -> Any:
        del root
        self.asked.append(params)
        answer = self._answers[method]
        if isinstance(answer, RpcError):
            raise answer
        return answer


@pytest.mark.requirement("dialect.headless")
async def test_servers_answer_and_paths_become_relative(tmp_path: Path) -> None:
    where = {"path": str(tmp_path / "a.py"), **SPAN, "content": "def spam(): ..."}
    symbol = {"name": "spam", "definedAt": where, "kind": "Function"}
    headless = TableHeadless(
        {
            RESOLVE_SYMBOL: {"symbols": [symbol], "isExact": True},
            FIND_REFERENCES: {"ranges": [{**where, "path": str(tmp_path / "b.py")}]},
        }
    )
    found = await run(
        "findReferences(`spam`)", HeadlessPort(headless, tmp_path), DialectWorkspace(tmp_path)
    )

    assert found.value[0]["definedAt"]["path"] == "a.py"
    assert found.value[0]["referencedAt"]["path"] == "b.py"
    assert headless.asked[1] == {
        "sessionId": "",
        "path": str(tmp_path / "a.py"),
        "line": 1,
        "column": 5,
    }


@pytest.mark.requirement("dialect.headless", "dialect.port-errors")
@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"detail": "none is installed", "hint": "install it"}, "none is installed; install it"),
        ({"detail": "it crashed"}, "it crashed"),
        (None, "Internal error"),
    ],
)
async def test_a_refusal_of_a_server_keeps_its_words(data: Any, said: str, tmp_path: Path) -> None:
    headless = TableHeadless({RESOLVE_SYMBOL: RpcError(INTERNAL_ERROR, data)})

    with pytest.raises(IdeError) as caught:
        await HeadlessPort(headless, tmp_path).symbols("x")
    assert said in str(caught.value)
