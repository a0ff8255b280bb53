"""R5: a worker that stood still past its lease wakes up when another has its work. What it says then counts for nothing."""
import contextlib
import hashlib
import os
import random
import signal

import grpc
import pytest

import harness
from harness import Scheduler, Worker, check_ledger, messages, query, until
from load import LONG, MOST_LOSSES, SHORT, Client, Load, assert_nothing_lost, end_as_undisturbed, finish, open_jobs, trainer_of
from played_worker import PlayedWorker
from shifted_clock import Clock, needs_shifted_clock


def outcome_of(store, attempt):
    return query(store, "SELECT outcome FROM attempts WHERE id = ?", attempt)[0][0]


def held_by(store, worker):
    rows = query(store, "SELECT attempts.id FROM attempts JOIN workers ON workers.id = attempts.worker "
                        "WHERE workers.name = ? AND attempts.ended_at IS NULL", worker.worker_name)
    return rows[-1][0] if rows else None


def most_losses(store, attempt):
    return query(store, "SELECT max(losses) FROM jobs JOIN attempt_jobs ON job = num WHERE attempt_jobs.attempt = ?", attempt)[0][0]


def stale_writes(store):
    """Rows that an attempt made after it was taken from its worker, or results of such."""
    return query(store, """
        SELECT (SELECT count(*) FROM artifacts JOIN attempts ON attempts.id = artifacts.attempt
                WHERE attempts.outcome = 'lost' AND artifacts.created_at > attempts.ended_at)
             + (SELECT count(*) FROM jobs JOIN attempts ON attempts.id = jobs.attempt WHERE attempts.outcome = 'lost')""")[0][0]


def stand_still(pids, numbers):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, numbers)


@harness.needs_worker
@pytest.mark.fault("R5", aim="200 of 200 stopped workers find their lease gone and drop the work; 0 writes by a stale attempt")
def test_stopped_workers_wake_up_late(home, fault):
    rounds = fault.size(short=4, full=200, long=2000)
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    draw = random.Random(seed)
    load = Load(steps=SHORT)
    # Short, but not so that on a busy machine jobs are lost to it again and again, ten times of which are their end.
    scheduler = Scheduler(home, "--lease-term-s", "1", "--renew-every-s", "0.3")
    workers = [Worker(home, scheduler, "--checkpoint-every-s", "0.1", "--pack-limit", "4") for _ in range(3)]
    client = Client(load, scheduler.address)
    woken = 0
    while woken < rounds:
        # Always something for the others to take.
        client.top_up(lambda: query(scheduler.store, "SELECT count(*) FROM jobs WHERE state = 'queued'")[0][0] < 8)
        busy = [worker for worker in workers
                if (attempt := held_by(scheduler.store, worker)) and most_losses(scheduler.store, attempt) < MOST_LOSSES]
        if not busy:
            continue
        zombie = draw.choice(busy)
        # Alone, its trainer finishes meanwhile and a result lies ready; or both stand still, as when a machine is suspended.
        pids = [zombie.pid] if draw.random() < 0.5 else [zombie.pid, trainer_of(zombie) or zombie.pid]
        stand_still(pids, signal.SIGSTOP)
        attempt = held_by(scheduler.store, zombie)
        if attempt is None:  # It was just done.
            stand_still(pids, signal.SIGCONT)
            continue
        until(lambda: outcome_of(scheduler.store, attempt), "the lease is over")
        if outcome_of(scheduler.store, attempt) == "lost":  # Else its last word was on its way.
            until(lambda: all(state != "queued" for (state,) in query(
                scheduler.store, "SELECT state FROM jobs JOIN attempt_jobs ON job = num WHERE attempt_jobs.attempt = ?", attempt)),
                  "another has the work")
            stand_still(pids, signal.SIGCONT)
            until(lambda: f"attempt {attempt}: dropped" in zombie.log() or f"attempt {attempt}: succeeded" in zombie.log(),
                  "it is done with the attempt")
            assert outcome_of(scheduler.store, attempt) == "lost"
            woken += 1
        stand_still(pids, signal.SIGCONT)
    client.finish()
    finish(home, scheduler)
    assert [worker.stop() for worker in workers] == [0, 0, 0]
    scheduler.stop()
    check_ledger(home, scheduler.store)
    assert stale_writes(scheduler.store) == 0
    jobs = assert_nothing_lost(scheduler.store, load, client)
    fault.reached(f"{woken} of {rounds} found it gone and went on with other work; 0 stale writes; {jobs} jobs bit for bit an undisturbed run")


@pytest.mark.fault("R5", aim="200 of 200 reports that were held back until another had the work are refused")
def test_reports_that_come_late(home, fault):
    rounds = fault.size(short=20, full=200, long=2000)
    scheduler = Scheduler(home, "--lease-term-s", "0.3", "--renew-every-s", "0.1")
    request = messages("api").SubmitSweepRequest(spec=Load(steps=100).spec("late", range(rounds)))
    scheduler.api().SubmitSweep(request, timeout=harness.PATIENCE_S)
    zombies = [PlayedWorker(scheduler) for _ in range(rounds)]
    leases = [zombie.take() for zombie in zombies]
    until(lambda: query(scheduler.store, "SELECT count(*) FROM attempts WHERE outcome = 'lost'") == [(rounds,)], "all leases are over")
    scheduler.kill()
    # With longer leases: those who have the work now shall keep it.
    scheduler = Scheduler(home, "--lease-term-s", "300", "--renew-every-s", "100")
    others = [PlayedWorker(scheduler) for _ in range(rounds)]
    taken = [other.take() for other in others]
    # All jobs; the zombies had no more than these, and one of them perhaps what another had let go already.
    assert {lease.jobs[0].id for lease in taken} >= {lease.jobs[0].id for lease in leases}

    refused = 0
    for zombie, lease in zip(zombies, leases):
        zombie.stub = scheduler.workers()
        zombie.artifacts = messages("worker_grpc").ArtifactsStub(scheduler.channel)
        content = f"late {lease.attempt}".encode()
        code = zombie.upload(lease, "weights", 100, content, hashlib.sha256(content).hexdigest())
        assert code == grpc.StatusCode.ABORTED, code
        told = zombie.synchronize(held=[lease.attempt])
        assert [(one.attempt, one.action) for one in told.directives] == [(lease.attempt, messages("worker").Directive.ACTION_DROP)]
        # Acknowledged, so that it is forgotten there, and not taken.
        assert list(zombie.synchronize(finished=[zombie.success(lease, 0.25)]).acknowledged) == [lease.attempt]
        refused += 1
    assert query(scheduler.store, "SELECT (SELECT count(*) FROM measurements), (SELECT count(*) FROM progress), "
                                  "(SELECT count(*) FROM artifacts)") == [(0, 0, 0)]
    for other, lease in zip(others, taken):
        assert list(other.synchronize(finished=[other.success(lease, 0.75)]).acknowledged) == [lease.attempt]
    assert query(scheduler.store, "SELECT DISTINCT state, value FROM jobs JOIN measurements ON job = num") == [("succeeded", 0.75)]
    scheduler.stop()
    check_ledger(home, scheduler.store)
    assert stale_writes(scheduler.store) == 0
    fault.reached(f"{refused} of {rounds} late results, files and claims refused; every job has the result of its later attempt")


@harness.needs_worker
@needs_shifted_clock
@pytest.mark.fault("R5", aim="a scheduler that stood still itself (SIGSTOP, a suspended machine) takes no lease away")
def test_a_stopped_scheduler_takes_nothing_away(home, fault):
    rounds = fault.size(short=2, full=10, long=100)
    load = Load(steps=LONG)
    term_s = 3600  # Which no busy machine lets go by: nobody waits for it, as the scheduler's clock is moved on while it stands still.
    clock = Clock(home, "scheduler")
    with clock.here():
        scheduler = Scheduler(home, "--lease-term-s", str(term_s), "--renew-every-s", "5")
    worker = Worker(home, scheduler)  # Another would be given what this one's broken connection leaves.
    client = Client(load, scheduler.address)

    def at_work():
        client.top_up(lambda: open_jobs(scheduler.store) == 0)
        return held_by(scheduler.store, worker)

    def last_call():
        return scheduler.api().ListWorkers(messages("api").ListWorkersRequest(), timeout=harness.PATIENCE_S).workers[0].seen_at

    stood_still = 0
    while stood_still < rounds:
        until(at_work, "the worker has work")
        # The worker's call would save its lease from whoever looks at the clock before it.
        worker.signal(signal.SIGSTOP)
        scheduler.signal(signal.SIGSTOP)
        held = held_by(scheduler.store, worker)
        stood_still += held is not None  # Else its last word was on its way.
        clock.set(steady_s=3 * term_s * stood_still)
        scheduler.signal(signal.SIGCONT)
        client.submit(client.submitted)
        until(lambda: len(client.acknowledged) == client.submitted, "the scheduler has done what was due")
        assert held is None or outcome_of(scheduler.store, held) in (None, "succeeded")
        # It calls before the next round: a lease is spared once.
        before = last_call()
        worker.signal(signal.SIGCONT)
        until(lambda: last_call() != before, "the worker has called")
    end_as_undisturbed(home, scheduler, [worker], load, client)
    assert query(scheduler.store, "SELECT count(*) FROM attempts WHERE outcome <> 'succeeded'") == [(0,)]
    fault.reached(f"{rounds} times three lease terms: 0 attempts lost")
