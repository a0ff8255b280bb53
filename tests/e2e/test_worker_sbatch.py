"""deploy/slurm/worker.sbatch by itself: a stand-in for the worker notes what it is told. test_slurm.py has it with a real Slurm."""
import os

import pytest

import harness
from harness import ROOT, run

SCRIPT = ROOT / "deploy/slurm/worker.sbatch"


@pytest.fixture
def home():
    with harness.Home() as home:
        worker = home.path / "worker"
        worker.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
        worker.chmod(0o755)
        yield home


def submitted(home, *arguments, **environment):
    settings = {"LONGREACH_SCHEDULER": "head:7070", "LONGREACH_WORKER": home.path / "worker", "SLURM_JOB_ID": "61", "SLURMD_NODENAME": "node-3", **environment}
    return run(home, "env", *(f"{name}={value}" for name, value in settings.items()), "bash", SCRIPT, *arguments)


def test_each_task_has_a_worker_with_a_state_folder_of_its_own(home):
    for _ in range(2):  # The second time after a preemption.
        done = submitted(home, "--packs", "2", LONGREACH_WORKER_STATE=home.path / "states", SLURM_CPUS_PER_TASK="8")
        assert done.code == 0 and done.err == "", done
        assert done.out.split("\n")[:-1] == ["run", "--state", f"{home.path}/states/longreach-worker-61", "--name", "node-3-61", "--device", "cuda", "--threads", "8",
                                             "--leave-when-idle", "300", "--packs", "2"]
    assert (home.path / "states/longreach-worker-61").stat().st_mode & 0o777 == 0o700


def test_a_state_folder_that_somebody_else_has_made_is_refused(home):
    folder = home.path / "tmp/longreach-worker-61"
    (home.path / "own").mkdir()
    folder.parent.mkdir()
    folder.symlink_to(home.path / "own")
    refused = submitted(home, TMPDIR=folder.parent)
    assert refused.code == 2 and refused.out == "" and f"the state folder {folder} was made by somebody else" in refused.err, refused
    if os.geteuid() != 0:
        return  # Only root can give files away.
    folder.unlink()
    folder.mkdir()
    os.chown(folder, 65534, 65534)
    refused = submitted(home, TMPDIR=folder.parent)
    assert refused.code == 2 and "was made by somebody else" in refused.err, refused


def test_without_a_scheduler_nothing_is_started(home):
    refused = submitted(home, LONGREACH_SCHEDULER="")
    assert refused.code != 0 and refused.out == "" and "LONGREACH_SCHEDULER: is not set" in refused.err, refused
