"""Imports of the command line, each in its own interpreter."""

import gc
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from symposium.cli.quick_imports import NEW_OBJECTS, ON_DEMAND, quick_imports

BEGIN = """
import gc, sys, threading
from symposium.cli.quick_imports import quick_imports
with quick_imports():
    import asyncio
    import ssl
assert "_ssl" not in sys.modules
"""

TLS = """
async def echo(reader, writer):
    writer.write(await reader.readline())
    writer.close()

def context(side):
    made = ssl.SSLContext(side)
    made.check_hostname = False
    made.verify_mode = ssl.CERT_NONE
    made.maximum_version = ssl.TLSVersion.TLSv1_2
    made.set_ciphers("aNULL:@SECLEVEL=0")
    return made

async def main():
    server = await asyncio.start_server(
        echo, "127.0.0.1", 0, ssl=context(ssl.PROTOCOL_TLS_SERVER)
    )
    port = server.sockets[0].getsockname()[1]
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", port, ssl=context(ssl.PROTOCOL_TLS_CLIENT)
    )
    writer.write(b"hello\\n")
    print((await reader.readline()).decode().strip())
    server.close()

asyncio.run(main())
"""

THREADS = """
gate = threading.Barrier(8)
found = []

def read():
    gate.wait()
    found.append((ssl.SSLContext, ssl.create_default_context, asyncio.sslproto.SSLProtocol))

threads = [threading.Thread(target=read) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(found), len(set(found)))
"""


@pytest.fixture(autouse=True)
def collection() -> Iterator[None]:
    """Restore the state of the garbage collector."""
    thresholds = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)


def said(script: str) -> str:
    """Output of a script in its own interpreter."""
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + script],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.requirement("cli.start-without-tls")
def test_tls_is_loaded_when_a_connection_uses_it() -> None:
    assert said(TLS) == "hello"


@pytest.mark.requirement("cli.start-without-tls")
def test_concurrent_threads_see_a_complete_tls_module() -> None:
    assert said(THREADS) == "8 1"


@pytest.mark.requirement("cli.start-without-tls")
def test_missing_name_of_an_on_demand_module_is_an_attribute_error() -> None:
    assert (
        said("print(hasattr(ssl, 'nothing_of_that_name'), '_ssl' in sys.modules)") == "False True"
    )


@pytest.mark.requirement("cli.start-without-tls")
def test_module_sees_its_own_partial_names_while_it_loads(
    tmp_path: Path,
) -> None:
    (tmp_path / "ssl.py").write_text(
        "import ssl\nfirst = hasattr(ssl, 'later')\nlater = 2\nsecond = hasattr(ssl, 'later')\n"
    )
    script = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from symposium.cli.quick_imports import quick_imports\n"
        "with quick_imports():\n    import ssl\n"
        "print(ssl.later, ssl.first, ssl.second)"
    )

    output = subprocess.check_output([sys.executable, "-c", script], text=True, timeout=60)

    assert output == "2 False True\n"


@pytest.mark.requirement("cli.start-without-collections")
def test_garbage_collection_is_off_during_an_import() -> None:
    before = gc.get_freeze_count()

    with quick_imports():
        assert not gc.isenabled()

    assert gc.isenabled()
    assert gc.get_threshold()[0] == NEW_OBJECTS
    assert gc.get_freeze_count() > before


@pytest.mark.requirement("cli.start-without-collections")
def test_garbage_collection_stays_off_when_it_was_off() -> None:
    gc.disable()
    try:
        with quick_imports():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.requirement("cli.start-without-collections")
def test_failed_import_restores_the_import_system() -> None:
    finders = list(sys.meta_path)

    with pytest.raises(ModuleNotFoundError), quick_imports():
        __import__("no_module_of_that_name")

    assert sys.meta_path == finders
    assert gc.isenabled()


@pytest.mark.requirement("cli.start-on-demand")
@pytest.mark.parametrize(
    "text",
    ["one line", "", "  indented", "\ttab", "first\n    second\n      third\n", "a\tb", "\n"],
)
def test_substitute_cleans_a_text_like_the_module(text: str) -> None:
    script = (
        "import sys\nwith quick_imports():\n    import inspect\n"
        f"found = inspect.cleandoc({text!r})\n"
        "inspect.Signature\n"
        f"print(found == inspect.cleandoc({text!r}))"
    )

    assert said(script) == "True"


CANDIDATES = """
import functools
async def coroutine(): ...
def plain(): ...
def generator(): yield
class Methods:
    async def method(self): ...
candidates = [coroutine, plain, generator, Methods().method, functools.partial(coroutine), 1]
with quick_imports():
    import inspect
found = [inspect.iscoroutinefunction(each) for each in candidates]
inspect.Signature
print(found == [inspect.iscoroutinefunction(each) for each in candidates], True in found)
"""


@pytest.mark.requirement("cli.start-on-demand")
def test_substitute_detects_coroutine_functions_like_the_module() -> None:
    assert said(CANDIDATES) == "True True"


@pytest.mark.requirement("cli.start-on-demand")
def test_substitute_names_the_system_like_the_module() -> None:
    script = (
        "with quick_imports():\n    import platform\n"
        "found = platform.system()\nplatform.python_version()\nprint(found == platform.system())"
    )

    assert said(script) == "True"


@pytest.mark.requirement("cli.start-on-demand")
def test_substitute_is_replaced_when_the_module_is_executed() -> None:
    script = (
        "with quick_imports():\n    import inspect\n"
        "before = inspect.cleandoc.__module__\ninspect.Signature\n"
        "print(before, inspect.cleandoc.__module__)"
    )

    assert said(script) == "symposium.cli.quick_imports inspect"


@pytest.mark.requirement("cli.start-on-demand")
@pytest.mark.parametrize("name", sorted(ON_DEMAND))
def test_on_demand_module_has_all_names_after_its_first_use(name: str) -> None:
    script = (
        "import importlib\nwith quick_imports():\n"
        f"    module = importlib.import_module({name!r})\n"
        "hasattr(module, 'nothing_of_that_name')\nfound = set(dir(module))\n"
        f"import sys\ndel sys.modules[{name!r}]\n"
        f"print(set(dir(importlib.import_module({name!r}))) - found)"
    )

    assert said(script) == "set()"
