"""R12: clocks that jump by a day and run half as fast again. Leases are granted and end by the scheduler's steady clock alone."""
import os
import signal
import time

import pytest

import harness
from harness import Scheduler, Worker, check_ledger, query, until
from load import LONG, SHORT, Client, Load, assert_nothing_lost, end_as_undisturbed, finish, open_jobs, trainer_of
from played_worker import PlayedWorker
from shifted_clock import Clock, needs_shifted_clock

DAY_S = 86400

pytestmark = needs_shifted_clock


def out_of_order(store):
    """Rows whose times contradict the order in which they were written."""
    return query(store, """
        SELECT 'attempts', id FROM attempts WHERE ended_at < started_at
        UNION ALL SELECT 'attempts', later.id FROM attempts JOIN attempts later ON later.id = attempts.id + 1
          WHERE later.started_at < attempts.started_at
        UNION ALL SELECT 'artifacts', artifacts.step FROM artifacts JOIN attempts ON attempts.id = artifacts.attempt
          WHERE created_at < started_at OR (ended_at IS NOT NULL AND created_at > ended_at)""")


def trained(store):
    return query(store, "SELECT count(*) FROM attempts WHERE ended_at IS NULL")[0][0]


@harness.needs_worker
@pytest.mark.fault("R12", aim="wall clocks of scheduler and workers jump by a day, forward and back, in the middle of attempts: "
                              "0 leases end wrongly, times in the store stay in order, the same bits")
def test_wall_clocks_jump(home, fault):
    jumps = fault.size(short=6, full=60, long=600)
    load = Load(steps=SHORT)
    clocks = {name: Clock(home, name) for name in ("scheduler", "worker")}
    with clocks["scheduler"].here():
        # Far less than a day, and more than a busy machine keeps a worker from its next call.
        scheduler = Scheduler(home, "--lease-term-s", "60", "--renew-every-s", "1")
    with clocks["worker"].here():
        workers = [Worker(home, scheduler, "--checkpoint-every-s", "0.2", "--pack-limit", "4")]
    workers.append(Worker(home, scheduler, "--checkpoint-every-s", "0.2", "--pack-limit", "4"))
    client = Client(load, scheduler.address)
    # Each of the two clocks goes forward, back to the time, back by a day, and to the time again.
    days = {"scheduler": [1, 0, -1, 0], "worker": [-1, 0, 1, 0]}
    busy = 0
    for jump in range(jumps):
        client.submit(2 * jump)
        client.submit(2 * jump + 1)
        until(lambda: len(client.acknowledged) == 2 * jump + 2, "the work is there")
        busy += until(lambda: trained(scheduler.store) or open_jobs(scheduler.store) == 0, "somebody trains")
        clocks["scheduler"].set(wall_s=days["scheduler"][jump % 4] * DAY_S)
        clocks["worker"].set(wall_s=days["worker"][jump // 2 % 4] * DAY_S)
    client.finish()
    finish(home, scheduler)
    assert [worker.stop() for worker in workers] == [0, 0]
    scheduler.stop()
    check_ledger(home, scheduler.store)
    jobs = assert_nothing_lost(scheduler.store, load, client)
    assert query(scheduler.store, "SELECT outcome, detail FROM attempts WHERE outcome <> 'succeeded'") == []
    assert out_of_order(scheduler.store) == []
    span = query(scheduler.store, "SELECT max(ended_at) - min(started_at) FROM attempts")[0][0] / 1e6
    assert span > DAY_S / 2, "the scheduler's clock was not moved"
    fault.reached(f"{jumps} jumps with {busy} attempts under way, {jobs} jobs: 0 leases ended wrongly, 0 rows out of order, "
                  f"bit for bit an undisturbed run; times in the store span {span / DAY_S:.1f} days")


@pytest.mark.fault("R12", aim="a lease is neither granted nor ended by the wall clock: a day's jump leaves it, its own term ends it")
def test_leases_end_by_the_steady_clock(home, fault):
    term_s = 3600  # Which no busy machine lets go by: the test moves the clock on instead.
    clock = Clock(home, "scheduler")
    with clock.here():
        scheduler = Scheduler(home, "--lease-term-s", str(term_s), "--renew-every-s", "5")
    client = Client(Load(steps=100), scheduler.address)

    def look_at_the_clock():
        """Has the scheduler do something, before which it does what is due. Whose jobs these are does not matter."""
        client.submit(client.submitted)
        until(lambda: len(client.acknowledged) == client.submitted, "it has looked at its clock")

    look_at_the_clock()
    workers = [PlayedWorker(scheduler) for _ in range(2)]
    leases = [worker.take() for worker in workers]
    ended = "SELECT count(*) FROM attempts WHERE ended_at IS NOT NULL"
    for wall_s in (DAY_S, -DAY_S, 0):
        clock.set(wall_s=wall_s)
        look_at_the_clock()
        assert query(scheduler.store, ended) == [(0,)]
        for worker, lease in zip(workers, leases):
            assert [one.action for one in worker.synchronize(held=[lease.attempt]).directives] == [1]  # Continue.

    clock.set(wall_s=-DAY_S, steady_s=term_s / 2)
    look_at_the_clock()
    assert query(scheduler.store, ended) == [(0,)], "before their time"
    # As if it had stood still itself: then a lease is given another term, and once.
    clock.set(wall_s=-DAY_S, steady_s=2 * term_s)
    look_at_the_clock()
    assert query(scheduler.store, ended) == [(0,)], "nobody could have called meanwhile"
    clock.set(wall_s=-DAY_S, steady_s=4 * term_s)
    look_at_the_clock()
    assert query(scheduler.store, ended) == [(2,)], "silent workers' leases run out although the wall clock went back"
    assert out_of_order(scheduler.store) == []
    client.finish()
    scheduler.stop()
    check_ledger(home, scheduler.store)
    fault.reached("+1 d, -2 d and +1 d left 2 leases of an hour in place; with the clock a day back they were there after half of it, and not "
                  "after their terms")


@harness.needs_worker
@pytest.mark.fault("R12", aim="a clock that runs 1.5 times as fast costs no lease (the longest renewal that is admitted is two thirds of the term)")
def test_a_steady_clock_that_runs_fast(home, fault):
    parts = fault.size(short=1, full=40, long=400)
    term_s = 4  # By the scheduler's clock.
    load = Load(steps=LONG)
    clock = Clock(home, "scheduler", rate=1.5)
    with clock.here():
        scheduler = Scheduler(home, "--lease-term-s", str(term_s), "--renew-every-s", str(term_s / 1.5))
    workers = [Worker(home, scheduler) for _ in range(2)]
    client = Client(load, scheduler.address)

    def somebody_trains():
        client.top_up(lambda: open_jobs(scheduler.store) == 0)
        return trained(scheduler.store)

    def lost():
        return query(scheduler.store, "SELECT count(*) FROM attempts WHERE outcome = 'lost'")[0][0]

    kept = missed = 0
    while kept < parts:
        until(somebody_trains, "somebody trains")
        before = lost()
        # The trainers stand still for one and a half terms, so that the attempt needs its lease for longer than one.
        trainers = [pid for worker in workers if (pid := trainer_of(worker))]
        for pid in trainers:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(term_s)
        if lost() > before:
            missed += 1
        elif trained(scheduler.store):
            kept += 1
        for pid in trainers:
            os.kill(pid, signal.SIGCONT)
        # A machine that stands still for some seconds costs a lease of so few. The clock would cost every one.
        assert missed <= kept + 2, (missed, kept)
    end_as_undisturbed(home, scheduler, workers, load, client)
    assert query(scheduler.store, "SELECT outcome, detail FROM attempts WHERE outcome NOT IN ('succeeded', 'lost')") == []
    fault.reached(f"{parts} packs that took longer than a lease, with the scheduler's clock at 1.5 times its rate and lease / renewal = 1.5: "
                  f"{missed} leases ended while the machine was busy with other things")
