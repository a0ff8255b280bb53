"""Whatever is killed or stopped on the way, a sweep ends with the bits of an undisturbed run."""
import fcntl
import signal

import grpc
import pytest

import harness
from harness import BIN, Process, Scheduler, Worker, curves, is_made, messages, query, results, run_cli, until

pytestmark = harness.needs_worker

# Long enough that an interruption falls into the middle of a job; four packs of two, so that two workers share them.
SWEEP = """
name: interrupted
experiment: algorithmic
axes:
  task: [even_pairs, reverse_string]
  encoding: [rope, "alibi:randomized"]
  learning_rate: [1e-3]
  seed: 0..1
model: {layers: 2, embedding_dim: 32, heads: 4, mlp_dim: 64}
training: {steps: 5000, batch_size: 16, lengths: 1..10}
evaluation: {lengths: 11..14, examples: 64}
"""
JOBS = 8


@pytest.fixture(scope="module")
def undisturbed():
    """The outcome of the sweep when nothing goes wrong."""
    with harness.Home() as home:
        ended = run_cli(home, "run", sweep_file(home), "--store", home.path / "plain.db")
        assert ended.code == 0, ended
        jobs, measurements, points = outcome(home.path / "plain.db")
        assert [state for _, state, *_ in jobs] == ["succeeded"] * JOBS
        assert len(points) == JOBS * 1000
        return jobs, measurements, points


def outcome(store):
    """All that must not depend on what happened on the way: results and loss curves."""
    return *results(store), curves(store)


def sweep_file(home):
    file = home.path / "sweep.yaml"
    file.write_text(SWEEP)
    return file


def submit(home, scheduler, *options):
    submitted = run_cli(home, "submit", sweep_file(home), *options, scheduler=scheduler)
    assert submitted.code == 0, submitted


def training(scheduler, worker=None):
    """Attempts that have done some updates but not all, on one worker or any."""
    call = scheduler.api().WatchSweep(messages("api").GetSweepRequest(sweep="last"), wait_for_ready=True)
    try:
        running = next(call).running
    except grpc.RpcError as error:
        # The channel may still be the one to the scheduler that was killed just before.
        assert error.code() == grpc.StatusCode.UNAVAILABLE, error
        return []
    call.cancel()
    return [attempt for attempt in running if 0 < attempt.step < attempt.steps and worker in (None, attempt.worker_name)]


def stands_in_the_middle(scheduler, worker):
    """Whether the worker is in the first half of a job, and then it stands still: nothing can end between this look and what comes next."""
    worker.signal(signal.SIGSTOP)
    if any(attempt.step < attempt.steps / 2 for attempt in training(scheduler, worker.worker_name)):
        return True
    worker.signal(signal.SIGCONT)
    return False


def is_over(scheduler):
    return query(scheduler.store, "SELECT count(*) FROM jobs WHERE state <> 'succeeded'") == [(0,)]


def partly_done(store):
    """The store of an embedded run has some jobs with a result and some without."""
    if not is_made(store):
        return False
    states = dict(query(store, "SELECT state, count(*) FROM jobs GROUP BY state"))
    return 0 < states.get("succeeded", 0) < JOBS


def wait_for_the_end(home, scheduler):
    waited = run_cli(home, "wait", "last", scheduler=scheduler)
    assert waited.code == 0, waited


def assert_sound(home, scheduler):
    checked = run_cli(home, "store", "check", scheduler=scheduler)
    assert checked.code == 0, checked


def test_a_worker_killed_in_the_middle_of_a_job(home, undisturbed):
    scheduler = Scheduler(home, "--lease-term-s", "3", "--renew-every-s", "1")
    workers = [Worker(home, scheduler, "--checkpoint-every-s", "0.2") for _ in range(2)]
    submit(home, scheduler)
    # Either of them: one that comes late may find that the other has done it all.
    until(lambda: next((one for one in workers if stands_in_the_middle(scheduler, one)), None), "a worker is in the middle of a job").kill()
    wait_for_the_end(home, scheduler)
    assert outcome(scheduler.store) == undisturbed
    outcomes = dict(query(scheduler.store, "SELECT outcome, count(*) FROM attempts GROUP BY outcome"))
    assert outcomes["lost"] >= 1 and outcomes["succeeded"] >= 4, outcomes
    assert_sound(home, scheduler)


def test_a_scheduler_of_another_store_in_the_place_of_the_workers_own(home, undisturbed):
    scheduler = Scheduler(home)
    worker = Worker(home, scheduler, "--checkpoint-every-s", "0.2")
    submit(home, scheduler)
    until(lambda: training(scheduler), "a job is under way")
    scheduler.kill()
    # Started on a wrong file: it has work of its own, and attempts with the same numbers.
    wrong = Scheduler(home, store="wrong.db", listen=scheduler.address)
    submit(home, wrong)
    until(lambda: "and what this worker holds is of store" in worker.log(), "the worker has met the other store")
    wrong.stop()
    assert query(wrong.store, "SELECT count(*) FROM attempts") == [(0,)]
    scheduler = scheduler.again()
    wait_for_the_end(home, scheduler)
    assert outcome(scheduler.store) == undisturbed
    assert dict(query(scheduler.store, "SELECT outcome, count(*) FROM attempts GROUP BY outcome")) == {"succeeded": 4}
    assert_sound(home, scheduler)


def test_the_scheduler_killed_in_the_middle_of_a_job(home, undisturbed):
    scheduler = Scheduler(home)
    workers = [Worker(home, scheduler, "--checkpoint-every-s", "0.2") for _ in range(2)]
    submit(home, scheduler)
    for kill in range(3):
        # On a machine so busy that all ends unseen, the later ones hit nobody at work.
        until(lambda: training(scheduler) or (kill > 0 and is_over(scheduler)), "a job is under way")
        scheduler.kill()
        scheduler = scheduler.again()
    wait_for_the_end(home, scheduler)
    assert outcome(scheduler.store) == undisturbed
    assert all(worker.is_running() for worker in workers)
    # Nobody lost a lease over it: the workers trained on and came back.
    assert query(scheduler.store, "SELECT outcome, count(*) FROM attempts GROUP BY outcome") == [("succeeded", 4)]
    assert_sound(home, scheduler)


def test_a_worker_asked_to_stop_gives_its_work_back(home, undisturbed):
    # Asked often, or short jobs end before they have told how far they are.
    scheduler = Scheduler(home, "--renew-every-s", "0.1")
    leaving = Worker(home, scheduler)
    submit(home, scheduler)
    until(lambda: stands_in_the_middle(scheduler, leaving), "the worker is in the middle of a job")
    leaving.signal(signal.SIGTERM)
    leaving.signal(signal.SIGCONT)
    assert leaving.wait() == 0
    given_back = query(scheduler.store, "SELECT count(*) FROM attempts WHERE outcome = 'given_back'")
    assert given_back == [(1,)]
    # The checkpoint came along: the next worker goes on where this one stopped.
    assert query(scheduler.store, "SELECT max(checkpoint_step) > 0 FROM jobs") == [(1,)]
    Worker(home, scheduler)
    wait_for_the_end(home, scheduler)
    assert outcome(scheduler.store) == undisturbed
    assert query(scheduler.store, "SELECT sum(failures), sum(losses) FROM jobs") == [(0, 0)]
    assert_sound(home, scheduler)


def test_run_interrupted_by_ctrl_c_and_started_again(home, undisturbed):
    store = home.path / "interrupted.db"
    running = Process(home, "run", [BIN / "longreach", "run", sweep_file(home), "--store", store])
    until(lambda: partly_done(store), "some jobs are done and some are not")
    running.signal(signal.SIGINT)
    assert running.wait() == 130
    assert query(store, "SELECT count(*) FROM jobs WHERE state = 'leased'") == [(0,)]
    (done,) = query(store, "SELECT count(*) FROM jobs WHERE state = 'succeeded'")[0]
    assert f"{done} of {JOBS} jobs done" in running.log()
    again = run_cli(home, "run", sweep_file(home), "--store", store)
    assert again.code == 0, again
    assert outcome(store) == undisturbed
    checked = run_cli(home, "store", "check", "--store", store)
    assert checked.code == 0, checked


def test_a_run_says_that_it_waits_for_the_worker_of_one_that_was_killed(home):
    store = home.path / "waiting.db"
    folder = home.path / "waiting.db.worker"
    folder.mkdir(mode=0o700)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        running = Process(home, "run", [BIN / "longreach", "run", "noop", "--set", "seed=0..1", "--store", store])
        until(lambda: "waiting for the worker: " in running.log(), "it is said what the run waits for")
        assert running.is_running() and "sweep " not in running.log()
    assert running.wait() == 0, running.log()
    assert running.log().count("waiting for the worker") == 1
    assert query(store, "SELECT DISTINCT state FROM jobs") == [("succeeded",)]


def unless_held(ended):
    """Nothing when the scheduler or the worker of the run before had not ended yet."""
    held = "held by another scheduler" in ended.err or "in use by another worker" in ended.err
    return None if ended.code == 1 and held else ended


def test_run_killed_and_started_again(home, undisturbed):
    store = home.path / "killed.db"
    running = Process(home, "run", [BIN / "longreach", "run", sweep_file(home), "--store", store])
    until(lambda: partly_done(store), "some jobs are done and some are not")
    running.kill()
    # Its scheduler and worker see their pipes close, and end by themselves; until then the store is held.
    again = until(lambda: unless_held(run_cli(home, "run", sweep_file(home), "--store", store)), "the store is let go")
    assert again.code == 0, again
    assert outcome(store) == undisturbed
