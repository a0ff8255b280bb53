"""`longreach verify`: a finished job is trained again, and every bit of what it measured is compared."""
import csv
import io
import itertools
import json
import shutil
import signal

import pytest

import harness
from harness import BIN, Process, Scheduler, Worker, is_made, query, run_cli, until, write

pytestmark = harness.needs_worker

SWEEP = """
name: small
experiment: algorithmic
axes: {task: [even_pairs], encoding: [rope, "alibi:randomized"], learning_rate: [1.0e-3], seed: 0..1}
model: {layers: 2, embedding_dim: 32, heads: 4, mlp_dim: 64}
training: {steps: 30, batch_size: 8, lengths: 1..6}
evaluation: {lengths: [7, 8], examples: 16}
"""
TUNED = """
name: tuned
experiment: algorithmic
axes: {task: [even_pairs], encoding: [rope], learning_rate: [1.0e-4], seed: [1]}
model: {layers: 2, embedding_dim: 32, heads: 4, mlp_dim: 64}
training: {steps: 5, batch_size: 8}
evaluation: {lengths: [7], examples: 16}
inputs:
- name: weights
  artifact: weights
  from: {training: {steps: 20, batch_size: 8}}
"""
LONG = """
name: long
experiment: algorithmic
axes: {task: [even_pairs], encoding: [rope], learning_rate: [1.0e-3], seed: [0]}
model: {layers: 2, embedding_dim: 32, heads: 4, mlp_dim: 64}
training: {steps: 5000, batch_size: 16, lengths: 1..10}
evaluation: {lengths: [11], examples: 64}
"""


def trained(home, text):
    """A store with a sweep that is done, and the ids of its jobs."""
    store = home.path / "a.db"
    ran = run_cli(home, "run", "/dev/stdin", "--store", store, "-q", stdin=text)
    assert ran.code == 0, ran
    return store, members(store)


def members(store):
    return [job for (job,) in query(store, "SELECT id FROM jobs AS j JOIN sweep_jobs ON job = num WHERE role = 'member' ORDER BY position")]


@pytest.fixture(scope="module")
def once_trained():
    """SWEEP, done once for all tests."""
    with harness.Home() as own:
        yield trained(own, SWEEP)[0]


@pytest.fixture
def small(home, once_trained):
    """A store of one's own with SWEEP, and the ids of its jobs."""
    store = home.path / "a.db"
    shutil.copy(once_trained, store)
    shutil.copytree(f"{once_trained}.artifacts", f"{store}.artifacts")
    return store, members(store)


def everything(store):
    return [query(store, f"SELECT * FROM {table} ORDER BY 1, 2") for table in ("jobs", "attempts", "measurements", "progress", "sweeps")]


def test_a_pack_s_jobs_have_the_same_bits_alone_and_with_other_threads(home, small):
    store, jobs = small
    before = everything(store)
    temporary = home.path / "tmp"
    temporary.mkdir()
    with harness.variables(TMPDIR=temporary):
        verified = run_cli(home, "verify", *jobs, jobs[0], "--store", store, "--threads", "1")
    assert verified.code == 0, verified
    assert verified.out.count("6 measurements and 30 losses of training: the same bits\n") == 4, verified.out
    for job in jobs:
        assert f"job {job[:8]}: even_pairs" in verified.out
    assert everything(store) == before, "the store that is looked into is not changed"
    assert list(temporary.iterdir()) == [], "nothing is kept of what was trained again"


def test_a_sample_is_of_the_sweep_s_finished_jobs_and_the_same_each_time(home, small):
    store, jobs = small
    verified = run_cli(home, "verify", "--sample", "2", "--store", store, "--threads", "1", "-o", "json")
    assert verified.code == 0, verified
    drawn = [job["job"] for job in json.loads(verified.out)["jobs"]]
    assert len(set(drawn)) == 2 and set(drawn) <= set(jobs)
    assert "2 of 4 finished jobs of sweep " in verified.err and ", those of --draw 0; another number draws others\n" in verified.err, verified
    assert "has 4 finished jobs: all of them\n" in run_cli(home, "verify", "--sample", "9", "--store", store, "--threads", "1").err

    scratch = home.path / "again.db"
    again = run_cli(home, "verify", "--sample", "2", "--sweep", "last", "--draw", "0", "--store", store, "--threads", "1", "--scratch", scratch, "-o", "json")
    assert [job["job"] for job in json.loads(again.out)["jobs"]] == drawn, again
    assert {job for (job,) in query(scratch, "SELECT id FROM jobs WHERE state = 'succeeded'")} == set(drawn)


@pytest.mark.parametrize("engine", ["libtorch", "lanes"])
def test_the_engine_that_trained_it_trains_it_again(home, engine):
    store = home.path / "a.db"
    ran = run_cli(home, "run", "/dev/stdin", "--store", store, "-q", "--engine", engine, "--set", "seed=0", stdin=SWEEP)
    assert ran.code == 0, ran
    [(job, recorded)] = query(store, "SELECT j.id, a.engine FROM jobs AS j JOIN attempt_jobs AS of ON of.job = j.num JOIN attempts AS a ON a.id = of.attempt "
                                     "WHERE j.encoding = 'rope'")
    verified = run_cli(home, "verify", job, "--store", store, "-o", "json")
    assert verified.code == 0, verified
    [one] = json.loads(verified.out)["jobs"]
    assert one["recorded"]["engine"] == one["again"]["engine"] == recorded
    assert (one["job"], one["same"], one["measurements"], one["losses"], one["different"]) == (job, True, 6, 30, [])


@pytest.mark.parametrize("recorded", ["lanes-portable-bf16", "lanes-avx1024-bf16", "lanes-avx1024"])
def test_kernels_that_this_processor_lacks_give_way_to_its_best_of_their_kind(home, recorded):
    kind = recorded.removeprefix("lanes-").partition("-")[2]
    store, forced = home.path / "a.db", recorded.replace("avx1024", "portable")
    ran = run_cli(home, "run", "/dev/stdin", "--store", store, "-q", "--engine", forced, "--set", "seed=0", "--set", "encoding=rope", stdin=SWEEP)
    assert ran.code == 0, ran
    write(store, f"UPDATE attempts SET engine = '{recorded}' WHERE engine = '{forced}'")
    [(job, by)] = query(store, "SELECT j.id, a.engine FROM jobs AS j JOIN attempt_jobs AS of ON of.job = j.num JOIN attempts AS a ON a.id = of.attempt")
    assert by == recorded
    verified = run_cli(home, "verify", job, "--store", store, "-o", "json")
    assert verified.code in (0, 1), verified
    [one] = json.loads(verified.out)["jobs"]
    again = one["again"]["engine"]
    assert one["recorded"]["engine"] == recorded
    assert again.startswith("lanes-") and again.removeprefix("lanes-").partition("-")[2] == kind, one
    assert (again == recorded) == (recorded == forced), one


def test_a_job_with_an_input_is_verified_with_what_made_it(home):
    store, [job] = trained(home, TUNED)
    verified = run_cli(home, "verify", job[:8], "--store", store)
    assert verified.code == 0, verified
    assert "the same bits" in verified.out


def test_each_job_is_trained_by_its_own_engine(home):
    store = home.path / "a.db"
    made = run_cli(home, "run", "/dev/stdin", "--store", store, "-q", "--engine", "lanes", stdin=TUNED[:TUNED.index("training:")] + "training: {steps: 20, batch_size: 8}\nevaluation: {lengths: [7], examples: 16}\n")
    assert made.code == 0, made
    tuned = run_cli(home, "run", "/dev/stdin", "--store", store, "-q", "--engine", "libtorch", stdin=TUNED)
    assert tuned.code == 0, tuned
    by = query(store, "SELECT j.id, a.engine FROM jobs AS j JOIN attempt_jobs AS of ON of.job = j.num JOIN attempts AS a ON a.id = of.attempt ORDER BY j.num")
    assert [engine.split("-")[0] for _, engine in by] == ["lanes", "libtorch"], by
    verified = run_cli(home, "verify", by[1][0], "--store", store)
    assert verified.code == 0 and "the same bits" in verified.out, verified
    # By another one, the reason is the maker's.
    other = run_cli(home, "verify", by[1][0], "--store", store, "--engine", "libtorch")
    assert other.code == 1 and f"of job {by[0][0][:8]}, which makes an input: other engines (lanes" in other.out, other


def test_what_cannot_be_trained_here_is_no_interrupt(home, small):
    store, jobs = small
    (home.path / "text").write_text("In the beginning was the word, and it was long. " * 2000)
    imported = run_cli(home, "data", "import", "text", "text", "--name", "mine", "--data-folder", home.path / "data")
    assert imported.code == 0, imported
    language = SWEEP.replace("algorithmic", "language").replace("[even_pairs]", "[enwik8]").replace("name: small", "name: language\ndata: mine").replace("1..6}", "[16]}").replace("[7, 8]", "[16]")
    ran = run_cli(home, "run", "/dev/stdin", "--store", store, "-q", "--data-folder", home.path / "data", "--set", "seed=0", "--set", "encoding=rope", stdin=language)
    assert ran.code == 0, ran
    job = query(store, "SELECT id FROM jobs WHERE experiment = 'language'")[0][0]
    verified = run_cli(home, "verify", job, "--store", store, "--data-folder", home.path / "data")
    assert verified.code == 0, verified
    nothing = run_cli(home, "verify", job, "--store", store, "--data-folder", home.path / "nodata")
    assert nothing.code not in (0, 130) and "mine" in nothing.err and "nothing is kept" not in nothing.err, nothing


def test_a_value_that_was_tampered_with_is_found(home, small):
    store, jobs = small
    write(store, f"UPDATE measurements SET value = value + 1e-12 WHERE job = (SELECT num FROM jobs WHERE id = '{jobs[1]}') AND metric = 'loss' AND length = 8")
    write(store, f"UPDATE progress SET loss = loss * 1.5 WHERE job = (SELECT num FROM jobs WHERE id = '{jobs[1]}') AND step >= 17")

    verified = run_cli(home, "verify", jobs[0], jobs[1], "--store", store, "-o", "csv")
    assert verified.code == 1, verified
    rows = [(row["job"], row["metric"], row["length"], row["slice"]) for row in csv.DictReader(io.StringIO(verified.out))]
    assert rows == [(jobs[1], "loss", "8", ""), (jobs[1], "training_loss", "0", "step=17")]

    verified = run_cli(home, "verify", jobs[0], jobs[1], "--store", store)
    assert verified.code == 1, verified
    assert f"job {jobs[0][:8]}" in verified.out and ": the same bits" in verified.out
    assert "of 6 measurements and 30 losses of training 1 and 14 differ" in verified.out, verified.out
    assert "GPU" not in verified.out and "other" not in verified.out, "nothing that is recorded explains it"
    assert run_cli(home, "verify", jobs[0], jobs[1], "--store", store, "-q").out == jobs[1] + "\n"


def test_another_engine_is_said_to_explain_other_bits(home, small):
    store, jobs = small
    verified = run_cli(home, "verify", jobs[0], "--store", store, "--engine", "libtorch")
    assert verified.code == 1, verified
    assert "other engines (lanes" in verified.out


def test_what_was_trained_by_a_scheduler_s_workers_is_verified_here(home):
    scheduler = Scheduler(home)
    submitted = run_cli(home, "submit", "/dev/stdin", scheduler=scheduler, stdin=SWEEP)
    assert submitted.code == 0, submitted
    job = query(scheduler.store, "SELECT id FROM jobs")[0][0]
    refused = run_cli(home, "verify", job, scheduler=scheduler)
    assert refused.code == 1 and f"job {job[:8]} is queued: there is no result to verify" in refused.err, refused
    Worker(home, scheduler)
    assert run_cli(home, "wait", "last", scheduler=scheduler).code == 0
    verified = run_cli(home, "verify", job, scheduler=scheduler)
    assert verified.code == 0, verified
    assert query(scheduler.store, "SELECT count(*) FROM jobs") == [(4,)]


def test_an_interrupted_verification_goes_on_in_its_scratch_store(home):
    store, [job] = trained(home, LONG)
    for number in itertools.count():
        scratch = home.path / f"again-{number}.db"
        command = [BIN / "longreach", "verify", job, "--store", store, "--scratch", scratch, "--checkpoint-every-s", "0.05"]
        running = Process(home, "verify", command)
        until(lambda: not running.is_running() or (is_made(scratch) and query(scratch, "SELECT 1 FROM jobs WHERE checkpoint_step > 0")),
              "a checkpoint of the job that is trained again")
        running.signal(signal.SIGINT)
        if running.wait() != 0:  # Else a busy machine saw no checkpoint before all was done, and another one is interrupted.
            break
    assert running.wait() == 130, running.log()
    again = next(line for line in running.log().splitlines() if line.startswith("  longreach verify "))
    assert again.startswith(f"  longreach verify {job} --scratch {scratch} --store {store} ") and again.endswith(" --checkpoint-every-s 0.05"), again
    verified = run_cli(home, *command[1:])
    assert verified.code == 0, verified
    assert "1,000 losses of training: the same bits" in verified.out, verified.out
    assert query(scratch, "SELECT outcome FROM attempts ORDER BY id") == [("given_back",), ("succeeded",)]
    again = run_cli(home, *command[1:])
    assert again.code == 0 and f"job {job[:8]} has been trained in {scratch} before" in again.err, again


def test_what_cannot_be_verified_is_refused(home, small):
    store, jobs = small
    same = run_cli(home, "verify", jobs[0], "--store", store, "--scratch", store)
    assert same.code == 2 and "in another store than the one that has them" in same.err, same
    unknown = run_cli(home, "verify", "0000", "--store", store)
    assert unknown.code == 4, unknown
    # A specification that is not the one which its id is of.
    write(store, f"UPDATE jobs SET spec = replace(spec, 'learning_rate=0.001', 'learning_rate=0.002') WHERE id = '{jobs[0]}'")
    other = run_cli(home, "verify", jobs[0], "--store", store)
    assert other.code == 1 and f"what job {jobs[0][:8]} says of itself is another job here" in other.err, other
    scratch = home.path / "again.db"
    assert run_cli(home, "verify", jobs[0], "--store", store, "--scratch", scratch).code == 1
    assert query(scratch, "SELECT state FROM sweeps") == [("cancelled",)], "nobody trains what was refused"
