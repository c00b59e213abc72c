"""SIGKILL at every stage: a restart loses nothing acknowledged and leaves nothing incomplete."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.interruptions import KINDS, stages_of
from tests.support.task_harness import make_template, settings_file

ROOT = Path(__file__).parents[2]


@pytest.mark.chaos
@pytest.mark.requirement("taskspaces.survives-kills")
@pytest.mark.timeout(240)
@pytest.mark.parametrize("kind", KINDS)
def test_kill_at_any_stage_loses_nothing(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings_file(tmp_path)))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    (tmp_path / "template").mkdir()
    make_template(tmp_path / "template")
    stages = stages_of(kind)

    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [
            sys.executable,
            str(Path(__file__).with_name("taskspace_kills.py")),
            tmp_path,
            kind,
            *stages,
        ],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path, "HOME": str(tmp_path)},
    )

    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report == {stage: [-signal.SIGKILL, 0] for stage in stages}, done.stderr
