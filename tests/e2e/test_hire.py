"""deploy/slurm/hire.sh by itself: stand-ins for its programs say what there is, and note what they are asked. test_slurm.py has it with a real Slurm."""
import fcntl
import os

import pytest

import harness
from harness import ROOT, Process, run, until

HIRE = ROOT / "deploy/slurm/hire.sh"
COLUMNS = "id,name,state,device,threads,pack_limit,seen_at,running,reason"


@pytest.fixture
def home():
    with harness.Home() as home:
        (home.path / "bin").mkdir()
        yield home


def stand_in(home, program, script):
    file = home.path / "bin" / program
    file.write_text(f'#!/bin/sh\necho "{program} $*" >> "{home.path}/asked"\n{script}\n')
    file.chmod(0o755)


def hire(home, *arguments, **there):
    return run(home, *hire_line(home, *arguments, **there))


def hire_line(home, *arguments, waiting="4", workers=(), tasks=(), **environment):
    """With the client on the PATH. Of `workers`, name, state and what it does."""
    (home.path / "asked").write_text("")
    (home.path / "workers.csv").write_text("\n".join([COLUMNS, *(f'1f3a,{name},{state},"AMD EPYC, AVX-512",1,16,now,{does},' for name, state, does in workers)]) + "\n")
    (home.path / "tasks").write_text("".join(f"{task}\n" for task in tasks))
    stand_in(home, "longreach", f'case "$*" in *--waiting*) echo "{waiting}" ;; *) cat "{home.path}/workers.csv" ;; esac')
    stand_in(home, "squeue", f'cat "{home.path}/tasks"')
    stand_in(home, "sbatch", 'echo "70;cluster"')
    settings = {"PATH": f"{home.path / 'bin'}:/usr/bin:/bin", "LONGREACH_SCHEDULER": "head:7070", "XDG_STATE_HOME": home.path / "state", **environment}
    return ["env", *(f"{name}={value}" for name, value in settings.items()), HIRE, *arguments]


def asked(home, program):
    return [line for line in (home.path / "asked").read_text().splitlines() if line.split()[0] == program]


def test_the_client_is_found_on_the_path_and_asked_without_credentials(home):
    hired = hire(home, "9")

    assert hired.code == 0 and hired.err == "", hired
    assert hired.out == "4 packs wait, 0 of 9 workers are there or on their way: 4 more (Slurm's job 70)\n"
    assert asked(home, "longreach") == ["longreach workers --waiting -o table --scheduler head:7070", "longreach workers -o csv --scheduler head:7070"]
    assert asked(home, "sbatch") == [f"sbatch --parsable --job-name longreach-worker --array 0-3 {HIRE.parent}/worker.sbatch"]


def test_options_go_to_sbatch_and_to_the_worker_and_credentials_to_the_client_alone(home):
    hired = hire(home, "9", "--partition=gpu", "--", "--packs", "2", LONGREACH_READER_CERTIFICATE="my client.crt", LONGREACH_READER_KEY="client.key",
                 LONGREACH_HIRE_NAME="mine")

    assert hired.code == 0 and ": 2 more" in hired.out, hired
    assert all(line.endswith("--scheduler head:7070 --certificate my client.crt --key client.key") for line in asked(home, "longreach"))
    assert asked(home, "sbatch") == [f"sbatch --parsable --partition=gpu --job-name mine --array 0-1 {HIRE.parent}/worker.sbatch --packs 2"]
    assert "--name mine" in asked(home, "squeue")[0]


def test_those_that_are_on_their_way_are_counted_and_there_are_never_more_than_asked_for(home):
    tasks = ["PENDING 50", "PENDING 50", "RUNNING 61", "RUNNING 62"]
    workers = [("node-61", "active", "table-1"), ("other-62-x", "active", "")]  # Task 62 has none yet.
    for most, more in (("9", "1"), ("5", "1"), ("4", None)):
        hired = hire(home, most, tasks=tasks, workers=workers)
        assert hired.code == 0, hired
        assert hired.out == (f"4 packs wait, 4 of {most} workers are there or on their way: {more} more (Slurm's job 70)\n" if more else "")
        assert len(asked(home, "sbatch")) == (more is not None)


def test_none_is_hired_where_nothing_waits_or_one_that_is_there_has_nothing_to_do(home):
    assert hire(home, "9", waiting="0").out == "" and asked(home, "squeue") == []
    hired = hire(home, "9", tasks=["RUNNING 61"], workers=[("node-61", "active", "")])
    assert hired.code == 0 and hired.out == "" and "the worker node-61 does nothing" in hired.err, hired
    assert asked(home, "sbatch") == []
    # One that is gone, or gets no work, is none of those.
    for state in ("gone", "draining"):
        assert ": 4 more" in hire(home, "9", tasks=["RUNNING 61"], workers=[("node-61", state, "")]).out, state


def program_of(pid):
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    except OSError:  # It has ended meanwhile.
        return None


def waits_for_the_lock(process):
    """Whether a program that the script has started to wait for it is there."""
    children = (open(f"/proc/{process.pid}/task/{process.pid}/children").read() if process.is_running() else "").split()
    return any(program_of(child) == "flock" for child in children)


def test_one_that_comes_while_another_looks_waits_and_sees_what_that_has_submitted(home):
    lock = home.path / "state/longreach/hire-mine_too.lock"
    lock.parent.mkdir(parents=True)
    with lock.open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # As the other one has it.
        second = Process(home, "hire", hire_line(home, "3", LONGREACH_HIRE_NAME="mine/too"))
        until(lambda: waits_for_the_lock(second) or not second.is_running(), "it waits, or does not")
        assert second.is_running() and (home.path / "asked").read_text() == "", second.log()
        (home.path / "tasks").write_text("PENDING 70\n" * 3)

    assert second.wait() == 0, second.log()
    assert second.next_line() is None and len(asked(home, "squeue")) == 1 and asked(home, "sbatch") == []
    # Nobody has it any more.
    assert ": 3 more" in hire(home, "3", LONGREACH_HIRE_NAME="mine/too").out


def test_where_no_lock_can_be_taken_nothing_is_submitted(home):
    stand_in(home, "flock", 'echo "flock: 9: No locks available" >&2; exit 71')
    refused = hire(home, "3")
    assert refused.code == 2 and "hire-longreach-worker.lock' cannot be locked; set XDG_STATE_HOME" in refused.err, refused
    stand_in(home, "flock", "exit 75")
    refused = hire(home, "3")
    assert refused.code == 2 and "another hire.sh has had " in refused.err, refused
    assert asked(home, "longreach") == [] and asked(home, "sbatch") == []


@pytest.mark.parametrize("arguments, said", [([], "'' is no number"), (["0"], "'0' is no number"), (["4", "--", "--packs", "many"], "--packs 'many'"),
                                             (["4", "--", "--packs=65"], "--packs '65'")], ids=["none", "zero", "words", "packs"])
def test_what_is_no_number_of_workers_is_refused(home, arguments, said):
    refused = hire(home, *arguments)
    assert refused.code == 2 and said in refused.err, refused
    assert asked(home, "longreach") == []


def test_what_is_no_answer_submits_nothing(home):
    refused = hire(home, "4", waiting="many")
    assert refused.code == 2 and "'many' is no number of packs" in refused.err, refused
    without_key = hire(home, "4", LONGREACH_READER_CERTIFICATE="client.crt")
    assert without_key.code != 0 and "LONGREACH_READER_KEY: is not set" in without_key.err, without_key
    assert asked(home, "sbatch") == []
