"""R4: the trainer itself fails. It hangs, it crashes on one member of a pack, it crashes on everything."""
import os
import signal
import subprocess

import pytest

import harness
from harness import BIN, Scheduler, Worker, check_ledger, messages, query, run_cli, until
from load import LONG, Client, Load, end_as_undisturbed, finish, open_jobs, outcome, trainer_of

pytestmark = harness.needs_worker


def running(store, worker):
    """The attempt that a worker is known to hold: its number, its jobs, their last checkpoint."""
    rows = query(store, "SELECT attempts.id, group_concat(jobs.id), max(jobs.checkpoint_step) FROM attempts "
                        "JOIN workers ON workers.id = attempts.worker JOIN jobs ON jobs.attempt = attempts.id "
                        "WHERE workers.name = ? AND attempts.ended_at IS NULL GROUP BY attempts.id ORDER BY attempts.id DESC LIMIT 1",
                 worker.worker_name)
    return rows[0] if rows else None


def has_begun(home, worker, attempt):
    """The trainer itself has this attempt: it writes that into the attempt's log first."""
    log = home.path / worker.worker_name / "attempts" / str(attempt) / "log"
    return log.exists() and f"attempt {attempt}:" in log.read_text(errors="replace")


def crash_on(home, worker, store, is_fatal, is_over):
    """Kills the worker's trainer whenever it has begun an attempt that `is_fatal(jobs)`, as a bug would that those jobs meet."""
    crashes = []
    while not is_over():
        held = running(store, worker)
        if held is None or held[0] in crashes or not is_fatal(held[1].split(",")) or not has_begun(home, worker, held[0]):
            continue
        trainer = trainer_of(worker)
        if trainer is not None and running(store, worker) == held:
            os.kill(trainer, signal.SIGKILL)
            crashes.append(held[0])
    return crashes


def unless_too_late(disturbed, outcomes):
    """What `disturbed(number)` gives, once it came in time: a busy machine may come to an attempt's end before this test does."""
    for number in range(10):
        scheduler, worker, whom, crashes = disturbed(number)
        if outcomes(scheduler.store, whom) == [("failed",)]:
            return scheduler, worker, whom, crashes
        worker.stop()
        scheduler.stop()
    raise AssertionError(f"ten times an attempt ended otherwise than by its crash: {outcomes(scheduler.store, whom)}")


def submit(scheduler, spec):
    scheduler.api().SubmitSweep(messages("api").SubmitSweepRequest(spec=spec), timeout=harness.PATIENCE_S)


@pytest.mark.fault("R4", aim="a trainer that hangs is killed after the hang rule's time, counted as the job's failure, and its job goes on from its "
                             "last checkpoint")
def test_a_trainer_that_hangs(home, fault):
    rounds = fault.size(short=1, full=5, long=50)
    load = Load(steps=3 * LONG)
    scheduler = Scheduler(home)
    # So long that a busy machine keeps no trainer from its next step, nor a busy disk from its next checkpoint, the first of which a fast machine
    # comes to long before its job's end.
    workers = [Worker(home, scheduler, "--hang-after-s", "5", "--checkpoint-every-s", "0.1", "--pack-limit", "1") for _ in range(2)]
    client = Client(load, scheduler.address)

    def one_with_a_checkpoint():
        client.top_up(lambda: open_jobs(scheduler.store) == 0)
        found = ((one, running(scheduler.store, one)) for one in workers)
        return next(((one, held) for one, held in found if held and held[2] > 0 and trainer_of(one)), None)

    hung = []
    while len(hung) < rounds:
        worker, (attempt, job, step) = until(one_with_a_checkpoint, "a job has a checkpoint")
        trainer = trainer_of(worker)
        os.kill(trainer, signal.SIGSTOP)
        until(lambda: query(scheduler.store, "SELECT outcome FROM attempts WHERE id = ?", attempt) != [(None,)], "the hang is noticed")
        ended, detail = query(scheduler.store, "SELECT outcome, detail FROM attempts WHERE id = ?", attempt)[0]
        if ended == "succeeded":  # It was just done.
            os.kill(trainer, signal.SIGCONT)
            continue
        assert ended == "failed" and detail.startswith("hung: no sign of life for ") and " while " in detail, (ended, detail)
        assert query(scheduler.store, "SELECT failures FROM jobs WHERE id = ?", job) == [(1,)]
        until(lambda: not os.path.exists(f"/proc/{trainer}"), "the hung trainer is gone")  # The report does not wait for that.
        finish(home, scheduler)
        start_step = query(scheduler.store, "SELECT start_step FROM attempts JOIN jobs ON jobs.attempt = attempts.id WHERE jobs.id = ?", job)[0][0]
        assert start_step >= step > 0
        hung.append(detail)
    end_as_undisturbed(home, scheduler, workers, load, client)
    fault.reached(f"{len(hung)} hung trainers killed and replaced, their jobs gone on with from a checkpoint and bit for bit those of an undisturbed "
                  f"run; \"{hung[0]}\"")


@pytest.mark.fault("R4", aim="of a pack whose trainer crashes on one member only that member fails, with the reason, the log's last lines and "
                             "the command to repeat it; the others have the bits of an undisturbed run")
def test_a_trainer_that_crashes_on_one_member(home, fault):
    load = Load(steps=LONG)
    spec = load.spec("poisoned", range(8))

    def poisoned(number):
        scheduler = Scheduler(home, store=f"poisoned-{number}.db")
        submit(scheduler, spec)
        culprit = query(scheduler.store, "SELECT id FROM jobs WHERE seed = 5")[0][0]
        worker = Worker(home, scheduler, "--checkpoint-every-s", "0.2")
        crashes = crash_on(home, worker, scheduler.store, lambda jobs: culprit in jobs, lambda: open_jobs(scheduler.store) == 0)
        return scheduler, worker, culprit, crashes

    scheduler, worker, culprit, crashes = unless_too_late(
        poisoned, lambda store, culprit: query(store, "SELECT DISTINCT outcome FROM attempts JOIN attempt_jobs ON attempt_jobs.attempt = attempts.id JOIN jobs ON job = num "
                                                      "WHERE jobs.id = ?", culprit))

    states = query(scheduler.store, "SELECT id, state, failures FROM jobs")
    assert [(state, failures) for job, state, failures in states if job == culprit] == [("failed", 3)]
    assert {(state, failures) for job, state, failures in states if job != culprit} == {("succeeded", 0)}
    # 8 -> 4 -> 2 -> 1, and the culprit alone three times: each of these crashed, and no other.
    failed = query(scheduler.store, "SELECT id, members FROM attempts WHERE outcome = 'failed' ORDER BY id")
    assert [attempt for attempt, _ in failed] == crashes
    assert sorted((members for _, members in failed), reverse=True) == [8, 4, 2, 1, 1, 1]
    assert query(scheduler.store, "SELECT state FROM workers") == [("active",)]

    shown = run_cli(home, "job", culprit[:12], scheduler=scheduler)
    assert "  reason: crashed: trainer killed by SIGKILL" in shown.out, shown
    assert "\nlast lines of the log of attempt " in shown.out and f"{culprit} learning rate 0.001 seed 5" in shown.out, shown
    explained = run_cli(home, "explain", culprit[:12], scheduler=scheduler)
    assert "It failed: crashed: trainer killed by SIGKILL" in explained.out and "3 of at most 3 times" in explained.out, explained
    assert run_cli(home, "logs", culprit[:12], scheduler=scheduler).out.strip() != ""
    # The command, typed as it stands, runs that very job elsewhere; here nobody kills it.
    command = shown.out.split("to repeat it by itself\n")[1].strip()
    assert f"- To repeat it by itself: {command}" in explained.out
    typed = subprocess.run(["sh", "-c", command], cwd=home.path, env={**home.environment(), "PATH": f"{BIN}:{os.environ['PATH']}"},
                           capture_output=True, text=True, timeout=harness.PATIENCE_S)
    assert typed.returncode == 0, typed
    alone = outcome(home.path / f"repeat-{culprit[:8]}.db")
    assert [(job, state) for job, state, *_ in alone[0]] == [(culprit, "succeeded")]

    worker.stop()
    scheduler.stop()
    check_ledger(home, scheduler.store)
    jobs, measurements, points = outcome(scheduler.store)
    undisturbed = load.undisturbed(2)
    assert measurements == [row for row in undisturbed[1] if row[0] != culprit]
    assert [row for row in points if row[0] != culprit] == [row for row in undisturbed[2] if row[0] != culprit]
    assert alone[1] == [row for row in undisturbed[1] if row[0] == culprit]
    fault.reached(f"8 jobs in a pack, {len(crashes)} crashes: the culprit failed three times alone, 7 of 7 others succeeded with the same bits; "
                  "the printed command repeats the job alone")


@pytest.mark.fault("R4", aim="a worker that fails everything is put aside and reported; another does its work")
def test_a_worker_that_fails_everything_is_put_aside(home, fault):
    load = Load(steps=LONG)

    def all_fail(number):
        scheduler = Scheduler(home, store=f"sick-{number}.db")
        submit(scheduler, load.spec("sick", range(4)))
        sick = Worker(home, scheduler, "--pack-limit", "1", name=f"sick-{number}")

        def is_over():
            return query(scheduler.store, "SELECT state FROM workers") == [("put_aside",)] or open_jobs(scheduler.store) == 0

        return scheduler, sick, sick.worker_name, crash_on(home, sick, scheduler.store, lambda jobs: True, is_over)

    scheduler, sick, name, crashes = unless_too_late(all_fail, lambda store, _: query(store, "SELECT DISTINCT outcome FROM attempts"))

    # Three different jobs, of which none has used up its three failures.
    assert len(crashes) == 3
    assert query(scheduler.store, "SELECT count(*), max(failures) FROM jobs WHERE state = 'queued'") == [(4, 1)]
    listed = run_cli(home, "workers", scheduler=scheduler)
    assert "put_aside" in listed.out and "its last 3 attempts, of different jobs, failed" in listed.out, listed
    status = run_cli(home, "status", scheduler=scheduler)
    assert f"worker '{name}' is put aside: its last 3 attempts, of different jobs, failed" in status.out, status

    sound = Worker(home, scheduler, name="sound")
    finish(home, scheduler)
    assert query(scheduler.store, "SELECT DISTINCT name FROM workers JOIN attempts ON worker = workers.id WHERE outcome = 'succeeded'") == [("sound",)]
    for worker in (sick, sound):
        worker.stop()
    scheduler.stop()
    check_ledger(home, scheduler.store)
    assert outcome(scheduler.store) == load.undisturbed(1)
    fault.reached(f"put aside after {len(crashes)} crashes, with the reason in 'workers' and 'status'; another worker did all 4 jobs, the same bits")
