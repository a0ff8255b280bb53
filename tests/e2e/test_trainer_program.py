"""longreach-trainer, which has LibTorch in it, beside longreach-worker, which has not."""
import json
import os
import re
import shutil
import signal
import subprocess

import pytest

import harness
from harness import BIN, Scheduler, run, run_cli, until
from load import trainer_of

pytestmark = harness.needs_worker


@pytest.fixture
def programs(home):
    """A copy of the worker's programs, of which one may be changed."""
    folder = home.path / "bin"
    folder.mkdir()
    for name in ("longreach-worker", "longreach-trainer"):
        shutil.copy2(BIN / name, folder)
    return folder


def test_libtorch_is_in_the_trainer_alone():
    libraries = {name: set(re.findall(r"^\s*(lib\S+?)\.so", subprocess.run(["ldd", BIN / name], capture_output=True, text=True, check=True).stdout, re.MULTILINE))
                 for name in ("longreach", "longreach-scheduler", "longreach-worker", "longreach-trainer")}
    assert [name for name, found in libraries.items() if "libtorch_cpu" in found] == ["longreach-trainer"]


@pytest.mark.parametrize("command", [["run", "--check"], ["run", "--scheduler", "localhost:1"], ["run", "--check", "--device", "cuda"], ["devices"],
                                     ["bench", "--task", "even_pairs", "--encoding", "rope"]], ids=" ".join)
def test_a_worker_without_it_says_so(home, programs, command):
    (programs / "longreach-trainer").unlink()

    refused = run(home, programs / "longreach-worker", *command)

    assert refused.code == 1 and refused.out == "", refused
    assert refused.err == f"error: cannot start {programs}/longreach-trainer: No such file or directory; it belongs beside longreach-worker\n"
    assert not (home.path / ".local").exists(), "no state folder was made"


def test_where_its_libraries_are_not_found_a_run_says_so_before_it_makes_a_store(home, programs):
    for name in ("longreach", "longreach-scheduler"):
        shutil.copy2(BIN / name, programs)
    trainer = programs / "longreach-trainer"
    content = trainer.read_bytes()
    assert content.count(b"libtorch_cpu.so\0") == 1
    trainer.write_bytes(content.replace(b"libtorch_cpu.so\0", b"libtorch_not.so\0"))

    looked = run(home, programs / "longreach-worker", "run", "--check")
    ended = run(home, programs / "longreach", "run", "quickstart", "--store", "b1.db")

    reason = f"cannot start {trainer}: libtorch_not.so => not found; put its libraries back where they were, or build or install it anew"
    assert looked.code == 1 and looked.out == "" and looked.err == f"error: {reason}\n", looked
    assert ended.code == 1 and f"error: the worker cannot run: {reason}\n  nothing was submitted, and no store was made" in ended.err, ended
    assert not list(home.path.glob("b1.db*")), "nothing is there"


@pytest.mark.parametrize("command", [["devices"], ["bench", "--task", "even_pairs", "--encoding", "rope"], ["data", "import", "model", "tiny", "--name", "tiny"],
                                     ["export", "--job", "job.json", "--parameters", "weights", "tuned"]], ids=lambda command: command[0])
def test_who_is_asked_for_json_refuses_in_it(home, programs, command):
    (programs / "longreach-trainer").unlink()

    refused = run(home, programs / "longreach-worker", *command, "-o", "json")

    assert refused.code == 1 and refused.out == "", refused
    assert json.loads(refused.err) == {"error": {"code": "FAILED_PRECONDITION", "hint": "", "message":
                                                 f"cannot start {programs}/longreach-trainer: No such file or directory; it belongs beside longreach-worker"}}


def test_what_needs_no_libtorch_does_without_it(home, programs):
    (programs / "longreach-trainer").unlink()

    assert run(home, programs / "longreach-worker", "--version").code == 0
    assert run(home, programs / "longreach-worker", "data", "list").code == 0
    assert run(home, programs / "longreach-worker", "bench", "--help").code == 0


def test_by_itself_it_is_no_worker(home):
    refused = run(home, BIN / "longreach-trainer", "run")
    assert refused.code == 2 and "'longreach-worker run' starts it to train" in refused.err, refused


# As at an upgrade: what a worker and its trainer say to each other is for programs of one build.
def test_a_worker_goes_on_with_the_trainer_that_was_there_when_it_began(home, programs):
    scheduler = Scheduler(home)
    worker = harness.Process(home, "worker", [programs / "longreach-worker", "run", "--scheduler", scheduler.address, "--state", home.path / "w", "--threads", "1",
                                              "--until-stdin-closes"])
    assert worker.next_line() == "ready", worker.log()
    (programs / "new").write_text("#!/bin/sh\nexit 1\n")
    (programs / "new").chmod(0o755)
    (programs / "new").rename(programs / "longreach-trainer")
    (programs / "longreach-worker").unlink()

    first = trainer_of(worker)
    os.kill(first, signal.SIGKILL)

    until(lambda: trainer_of(worker) not in (None, first), "another trainer")
    ended = run_cli(home, "run", "quickstart", "--set", "seed=0", "--set", "learning_rate=1e-3", "--set", "task=even_pairs", "--set", "encoding=rope", "--set", "training.steps=2",
                    "--set", "training.batch_size=2", "--set", "evaluation.lengths=4", "--set", "evaluation.examples=2", scheduler=scheduler)
    assert ended.code == 0, (ended, worker.log())
