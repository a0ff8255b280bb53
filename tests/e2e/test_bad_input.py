"""Bad input of a user's is refused with one clear message that names place and value, says what to do next, has the
right exit code, and leaves nothing behind."""
import os
import re
import shlex
import shutil
import signal
import socket
import sqlite3
import subprocess

import pytest

import harness
from harness import BIN, Process, Scheduler, messages, query, run, run_cli, until

# What is asked for, the exit code, and what the message must name.
REFUSED_SPECIFICATIONS = [
    (["--set", "task=even_pears"], 2, ["even_pears", "even_pairs"]),
    (["--set", "encoding=roep"], 2, ["roep", "rope"]),
    (["--set", "encoding=shape:randomized"], 2, ["shape", "randomized"]),
    (["--set", "encoding=none:randomized"], 2, ["none", "randomized"]),
    (["--set", "trainig.steps=3"], 2, ["trainig.steps", "training.steps"]),
    (["--set", "training.steps=many"], 2, ["training.steps", "many"]),
    (["--set", "training.steps=-1"], 2, ["training.steps", "-1"]),
    (["--set", "training.steps=0"], 2, ["training.steps", "weights"]),
    (["--set", "training.batch_size=0"], 2, ["training.batch_size", "0"]),
    (["--set", "training.clip_norm=nan"], 2, ["training.clip_norm", "nan"]),
    (["--set", "learning_rate=-1"], 2, ["learning_rate", "-1"]),
    (["--set", "learning_rate=0"], 2, ["learning_rate", "0"]),
    (["--set", "seed=1,1"], 2, ["seed", "1"]),
    (["--set", "seed=-1"], 2, ["seed", "-1"]),
    (["--set", "seed=0..999999999"], 2, ["seed", "999999999"]),
    (["--set", "seed=0..1999999"], 1, ["16000000 jobs", "10000000"]),
    (["--set", "evaluation.lengths=0..3"], 2, ["evaluation.lengths", "0"]),
    (["--set", "evaluation.lengths=2048", "--set", "encoding=rope:randomized"], 2, ["4096", "positions.max_position"]),
    (["--set", "evaluation.lengths=3000"], 2, ["evaluation.lengths", "3000", "2048"]),
    (["--set", "model.heads=7"], 2, ["model.heads", "7"]),
    (["--set", "model.dropout=1"], 2, ["model.dropout", "1"]),
    (["--set", "positions.randomized_by=luck"], 2, ["positions.randomized_by", "luck", "distance"]),
    (["--set", "experiment=alchemy"], 2, ["alchemy", "algorithmic"]),
    (["--set", "novalue"], 2, ["novalue"]),
    (["--set", "model.layers=2,two"], 2, ["model.layers", "two"]),
    (["--set", "model.layers=2,-1"], 2, ["layers--1", "model.layers", "-1"]),
    (["--set", "model.layers=1..40", "--set", "training.batch_size=1..50"], 2, ["training.batch_size", "2000 systems", "1000"]),
    (["--set", "experiment=algorithmic,noop"], 2, ["experiment", "one value"]),
]


@pytest.fixture(scope="module")
def unused():
    """A scheduler for all that is refused: its store stays empty."""
    with harness.Home() as home:
        yield Scheduler(home)


def assert_refused(ended, code, named):
    assert ended.code == code, ended
    assert ended.out == "", ended
    assert ended.err.startswith("error: "), ended
    assert len(ended.err.strip().splitlines()) <= 4, ended
    for word in named:
        assert word in ended.err, (word, ended)


@pytest.mark.parametrize(("settings", "code", "named"), REFUSED_SPECIFICATIONS, ids=lambda value: "-".join(map(str, value)) if isinstance(value, list) else None)
def test_refuses_a_specification_that_makes_no_sense_and_stores_nothing(home, unused, settings, code, named):
    assert_refused(run_cli(home, "submit", "quickstart", *settings, scheduler=unused), code, named)
    assert query(unused.store, "SELECT (SELECT count(*) FROM sweeps), (SELECT count(*) FROM jobs)") == [(0, 0)]


@pytest.mark.parametrize(("text", "named"), [
    ("name: [x\n", ["sweep.yaml:"]),
    ("name: x\nname: y\n", ["sweep.yaml:2", "name"]),
    ("name: x\naxis: {task: [even_pairs]}\n", ["sweep.yaml:2", "axis", "axes"]),
    ("name: x\ntraining: {steps: 1e3}\n", ["sweep.yaml:2", "1e3"]),
    ("name: x\ntraining: [1]\n", ["sweep.yaml:2", "training"]),
    ("- a\n- b\n", ["sweep.yaml"]),
    ("", ["sweep.yaml"]),
    ("\x00\xff\x00", ["sweep.yaml"]),
], ids=["open-bracket", "twice", "unknown-field", "type", "list-for-message", "list", "empty", "binary"])
def test_refuses_a_broken_sweep_file_and_names_the_line(home, unused, text, named):
    file = home.path / "sweep.yaml"
    file.write_bytes(text.encode("latin-1"))
    assert_refused(run_cli(home, "submit", file, scheduler=unused), 2, named)
    assert query(unused.store, "SELECT count(*) FROM sweeps") == [(0,)]


@pytest.mark.parametrize("command", ["plan", "submit", "run"])
@pytest.mark.parametrize(("table", "named"), [
    ("{rows: task, columns: taks}", ["table.columns", "taks", "task"]),
    ("{rows: task, columns: task}", ["table.columns", "'task'"]),
    ("{metric: acc}", ["table.metric", "acc", "accuracy"]),
    ("{aggregate: average}", ["table.aggregate", "average"]),
    ("{only: [foo=1]}", ["table.only", "foo"]),
], ids=["axis", "twice", "metric", "aggregate", "only"])
def test_refuses_a_table_that_cannot_be_printed_before_anything_is_trained(home, unused, command, table, named):
    file = home.path / "sweep.yaml"
    file.write_text(f"name: x\nexperiment: noop\naxes: {{task: even_pairs, encoding: [none, rope], learning_rate: 1e-3, seed: 0}}\ntable: {table}\n")
    assert_refused(run_cli(home, command, file, scheduler=unused), 2, named)
    assert query(unused.store, "SELECT count(*) FROM sweeps") == [(0,)]


def test_says_when_there_is_no_scheduler(home):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    assert_refused(run_cli(home, "status", "--scheduler", f"127.0.0.1:{port}"), 3, [f"127.0.0.1:{port}", "longreach-scheduler"])


def test_says_why_a_sweep_file_does_not_open(home):
    # Root may read whatever has bytes; a socket opens for nobody.
    with socket.socket(socket.AF_UNIX) as listens:
        listens.bind(str(home.path / "sweep.yaml"))
        refused = run_cli(home, "plan", home.path / "sweep.yaml")
    assert_refused(refused, 5, ["cannot read sweep file", "sweep.yaml': No such device or address\n"])


def test_says_what_it_does_not_find(home, scheduler):
    assert_refused(run_cli(home, "status", "nothing", scheduler=scheduler), 4, ["nothing"])
    assert_refused(run_cli(home, "job", "abcd1234", scheduler=scheduler), 4, ["abcd1234"])
    assert_refused(run_cli(home, "run", "table-b11", "--store", home.path / "x.db"), 4, ["table-b11", "table-b1"])
    assert not (home.path / "x.db").exists()


def test_refuses_a_file_that_is_no_store(home):
    file = home.path / "notes.db"
    file.write_text("not a database\n" * 100)
    before = file.read_bytes()
    assert_refused(run_cli(home, "sweeps", "--store", file), 1, [str(file)])
    assert file.read_bytes() == before


@pytest.mark.parametrize(("command", "code", "named"), [
    (["submit", "quickstart", "--set", "training.steps=0"], 2, ["training.steps"]),
    (["run", "quickstart", "--set", "training.steps=0"], 2, ["training.steps"]),
    (["run", "quickstart-language", "--set", "data=nothing"], 4, ["nothing"]),
    (["run", "quickstart", "--engine", "warp"], 2, ["the worker cannot run", "warp", "libtorch"]),
    (["run", "quickstart", "--data-folder", "/dev/null"], 2, ["the worker cannot run", "/dev/null"]),
    (["store", "merge", "nothing.db"], 4, ["nothing.db"]),
], ids=["submit", "run", "data", "engine", "data-folder", "merge"])
def test_what_is_refused_leaves_no_store_where_there_was_none(home, command, code, named):
    assert_refused(run_cli(home, *command, "--store", "new.db"), code, named)
    assert list(home.path.glob("new.db*")) == []


def test_ctrl_c_while_workers_are_tried_leaves_nothing(home):
    programs, tried = home.path / "bin", home.path / "tried"
    programs.mkdir()
    for program in ("longreach", "longreach-scheduler"):
        shutil.copy(BIN / program, programs / program)
    (programs / "longreach-worker").write_text(f"#!/bin/sh\necho $$ >> '{tried}'\nexec sleep 1000\n")
    (programs / "longreach-worker").chmod(0o755)
    ran = Process(home, "run", [programs / "longreach", "run", "quickstart", "--store", "new.db", "--device", "cuda:0..1"])
    until(lambda: tried.exists() and tried.read_text().count("\n") == 2, "a worker of each GPU is tried")

    ran.signal(signal.SIGINT)

    assert ran.wait() == 130, ran.log()
    assert list(home.path.glob("new.db*")) == []
    assert not [pid for pid in tried.read_text().split() if os.path.exists(f"/proc/{pid}")], "those that were tried are gone"


def test_what_cannot_be_merged_leaves_no_store_where_there_was_none(home):
    (home.path / "notes.db").write_text("not a database\n" * 100)
    assert run_cli(home, "submit", "noop", "--store", "newer.db").code == 0
    with sqlite3.connect(home.path / "newer.db") as newer:
        newer.execute("PRAGMA user_version = 999")
    newer.close()
    assert run_cli(home, "submit", "noop", "--store", "unsound.db").code == 0
    harness.write(home.path / "unsound.db", "UPDATE sweeps SET jobs_queued = jobs_queued + 1")
    for other, named in (("notes.db", "no store"), ("newer.db", "999"), ("unsound.db", "is not sound, nothing was merged")):
        assert_refused(run_cli(home, "store", "merge", other, "--store", "new.db"), 1, [other, named])
        assert list(home.path.glob("new.db*")) == []


def test_a_worker_that_is_missing_leaves_no_store_where_there_was_none(home):
    programs = home.path / "programs"
    programs.mkdir()
    for name in ("longreach", "longreach-scheduler"):
        shutil.copy(BIN / name, programs / name)
    for worker in (None, "#!/bin/sh\necho 'libtorch.so: no such file' >&2\nexit 127\n"):
        if worker is not None:
            (programs / "longreach-worker").write_text(worker)
            (programs / "longreach-worker").chmod(0o755)
        refused = run(home, programs / "longreach", "run", "noop", "--store", "new.db")
        assert_refused(refused, 1, ["longreach-worker" if worker is None else "libtorch.so: no such file"])
        assert list(home.path.glob("new.db*")) == []


def test_refuses_a_store_that_another_scheduler_holds(home, scheduler):
    assert_refused(run_cli(home, "submit", "noop", "--store", scheduler.store), 1, [str(scheduler.store), "scheduler"])


def test_refuses_a_worker_of_another_protocol_version(home, scheduler):
    import grpc
    worker = messages("worker")
    with pytest.raises(grpc.RpcError) as refused:
        scheduler.workers().Synchronize(worker.SynchronizeRequest(
            protocol=99, worker="00000000-0000-4000-8000-000000000000", incarnation=1, sequence=1,
            abilities=worker.Abilities(name="future", pack_limit=9, experiments=["algorithmic"])))
    assert refused.value.code() == grpc.StatusCode.FAILED_PRECONDITION
    assert "99" in refused.value.details() and "1" in refused.value.details()
    assert query(scheduler.store, "SELECT count(*) FROM workers") == [(0,)]


def test_errors_are_json_where_json_is_asked_for(home, scheduler):
    import json
    ended = run_cli(home, "submit", "quickstart", "--set", "encoding=roep", "-o", "json", scheduler=scheduler)
    assert ended.code == 2 and ended.out == "", ended
    assert "roep" in json.loads(ended.err)["error"]["message"]


def test_a_folder_for_temporary_files_that_is_not_there_is_not_needed(home):
    listed = run(home, "env", "TMPDIR=/nonexistent", BIN / "longreach", "plan", "quickstart")
    assert listed.code == 0, listed


def test_a_job_in_the_place_of_a_sweep_is_refused_with_what_to_write(home, scheduler):
    assert run_cli(home, "submit", "quickstart", scheduler=scheduler).code == 0
    job = query(scheduler.store, "SELECT id FROM jobs ORDER BY num LIMIT 1 OFFSET 3")[0][0]
    for command in (["retry", job], ["cancel", job[:12]], ["pause", job[:8]], ["priority", job[:8], "1"], ["status", job[:8]], ["results", job[:8]], ["jobs", job[:8]]):
        refused = run_cli(home, *command, scheduler=scheduler)
        assert_refused(refused, 4, [f"'{command[1]}' is a job's id, and no sweep's: it is of the sweep 'quickstart'", f"longreach job {job[:8]} --scheduler"])
        words = shlex.split(re.search("'longreach retry ([^']*)'", refused.err).group(1))
    cancelled = run_cli(home, "cancel", *words)
    assert cancelled.code == 0, cancelled
    assert query(scheduler.store, "SELECT id FROM jobs WHERE state = 'cancelled'") == [(job,)]


@pytest.mark.parametrize("command", [["data", "list"], ["data", "check"], ["run", "quickstart"]], ids=" ".join)
def test_refuses_a_file_where_a_folder_of_data_sets_belongs(home, command):
    file = home.path / "novels.txt"
    file.write_text("once")
    refused = run_cli(home, *command, "--data-folder", file, *(["--store", home.path / "n.db"] if command[0] == "run" else []))
    assert refused.code != 0
    assert "novels.txt' is a file, and no folder of data sets" in refused.err
    assert "--data-folder or LONGREACH_DATA" in refused.err


@pytest.mark.parametrize("command", [["list"], ["check"], ["check", "novels"]], ids=" ".join)
def test_a_named_folder_of_data_sets_that_is_not_there_is_not_taken_for_an_empty_one(home, command):
    refused = run_cli(home, "data", *command, "--data-folder", home.path / "nowhere")
    assert refused.code == 4 and refused.out == "", refused
    assert f"there is no folder '{home.path / 'nowhere'}'" in refused.err and "--data-folder" in refused.err, refused


def test_the_usual_folder_of_data_sets_may_be_one_that_is_not_there_yet(home):
    listed = run_cli(home, "data", "list")
    assert listed.code == 0, listed
    assert "there are no data sets in " in listed.err and "which is not there yet: the first import makes it" in listed.err, listed


@pytest.mark.parametrize("command", [["list", "presets"], ["reference"], ["version", "-o", "json"], ["config", "show"]])
def test_a_reader_that_goes_away_ends_a_command_without_a_word(home, command):
    read, write = os.pipe()
    os.close(read)
    try:
        ended = subprocess.run([BIN / "longreach", *command], stdout=write, stderr=subprocess.PIPE, cwd=home.path, env=home.environment(),
                               timeout=harness.PATIENCE_S, check=False)
    finally:
        os.close(write)
    assert (ended.returncode, ended.stderr) == (141, b"")


def test_unknown_commands_and_options_are_usage_errors(home):
    assert_refused(run_cli(home, "sumbit", "quickstart"), 2, ["sumbit", "submit"])
    assert_refused(run_cli(home, "submit"), 2, ["SPEC"])
    assert_refused(run_cli(home, "status", "--colour", "never"), 2, ["--colour"])


def test_the_other_programs_refuse_what_they_do_not_know_in_the_same_words(home):
    config = home.path / "scheduler.conf"
    config.write_text('listn = "localhost:7070"\n')
    assert_refused(run(home, BIN / "longreach-scheduler", "--store", home.path / "s.db", "--config", config), 2, ["listn: no option has this name", "--config"])
    assert_refused(run(home, BIN / "longreach-scheduler", "--store", home.path / "s.db", "--listn", "localhost:7070"), 2, ["unknown option '--listn'\n"])
    assert_refused(run(home, BIN / "longreach-scheduler", "--store", home.path / "s.db", "--max-artifact-bytes", "-5"), 2, ["--max-artifact-bytes", "-5"])
    if harness.HAS_WORKER:
        assert_refused(run(home, BIN / "longreach-worker", "run", "--packs", "0"), 2, ["--packs: 0 is not within 1 to", "'longreach-worker run --help'"])
        assert_refused(run(home, BIN / "longreach-worker", "run", "--name", "n" * 300), 2, ["--name", "256"])
    assert not (home.path / "s.db").exists()
