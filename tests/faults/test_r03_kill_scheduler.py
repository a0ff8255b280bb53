"""R3: kill -9 the scheduler, again and again, under load. Nothing is lost, and the workers train on and come back by themselves."""
import itertools
import os
import random
import signal
import time

import pytest

import harness
from harness import Scheduler, Worker, check_ledger, messages, query, until
from load import FILES_GO, LONG, SEEDS, Client, Load, assert_nothing_lost, bury, cpu_ticks, finish, open_jobs, spread, trainer_of

TICKS_OF_SECOND = os.sysconf("SC_CLK_TCK")


def restarted(home, scheduler):
    """Kills it and starts it again; the new one and the seconds until it took calls."""
    bury(home, scheduler)
    began = time.monotonic()
    scheduler = scheduler.again()
    return scheduler, time.monotonic() - began


@harness.needs_worker
@pytest.mark.fault("R3", aim="500 kills of the scheduler under load: no acknowledged submit or result lost, none accepted twice; "
                             "workers come back by themselves")
@pytest.mark.parametrize("listen", FILES_GO.values(), ids=FILES_GO)
def test_kills_of_the_scheduler(home, fault, listen):
    kills = fault.size(short=12, full=250, long=2500)
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    draw = random.Random(seed)
    load = Load(steps=1200)  # About as long as a wait, so that most kills hit somebody at work.
    scheduler = Scheduler(home, listen=listen)
    workers = [Worker(home, scheduler, "--checkpoint-every-s", "0.05", "--pack-limit", str(limit)) for limit in (3, 4)]
    trainers = [until(lambda worker=worker: trainer_of(worker), "the trainer is there") for worker in workers]
    client = Client(load, scheduler.address)

    ready = []
    under_load = 0
    for kill in itertools.count():
        # A busy machine may be seen without work more often; then it is hit more often.
        if kill >= kills and under_load > kills // 3:
            break
        assert kill < 3 * kills, under_load
        client.submit(kill)
        time.sleep(draw.uniform(0, 0.4))  # When it is hit; nothing waits for this.
        under_load += open_jobs(scheduler.store) > 0
        scheduler, seconds = restarted(home, scheduler)
        ready.append(seconds)
    client.finish()
    finish(home, scheduler)

    # The same workers with the same trainers: nobody had to start anything again.
    assert all(worker.is_running() for worker in workers)
    assert [trainer_of(worker) for worker in workers] == trainers
    assert [worker.stop() for worker in workers] == [0, 0]
    scheduler.stop()
    check_ledger(home, scheduler.store)
    jobs = assert_nothing_lost(scheduler.store, load, client)
    attempts, lost = query(scheduler.store, "SELECT count(*), sum(outcome = 'lost') FROM attempts")[0]
    fault.reached(f"{kill} kills ({under_load} of them with jobs under way), {len(client.acknowledged)} submits acknowledged "
                  f"({client.refused} calls made again), {jobs} jobs in {attempts} attempts: 0 lost, 0 accepted twice, "
                  f"bit for bit an undisturbed run; {lost} attempts counted as lost; ready again after {spread(ready)}")


def ready_again(home, jobs, *, tasks, encodings):
    """Seconds until a scheduler with so many open jobs takes calls after kill -9."""
    spec = messages("spec")
    scheduler = Scheduler(home, store=f"{jobs}.db")
    seeds = jobs // (len(tasks) * len(encodings))
    request = messages("api").SubmitSweepRequest(spec=spec.SweepSpec(
        name="open", experiment="algorithmic",
        axes=spec.Axes(task=tasks, encoding=encodings, learning_rate=[1e-4], seed=range(seeds))))
    submitted = scheduler.api().SubmitSweep(request, timeout=harness.PATIENCE_S)
    assert submitted.plan.jobs == jobs
    seconds = []
    for _ in range(3):
        scheduler, one = restarted(home, scheduler)
        seconds.append(one)
    assert query(scheduler.store, "SELECT count(*) FROM jobs WHERE state = 'queued'") == [(jobs,)]
    scheduler.stop()
    check_ledger(home, scheduler.store)
    return seconds


@pytest.mark.fault("R3", aim="ready again within 1 s with 945 jobs, within 5 s with 100,000")
def test_time_until_a_killed_scheduler_is_ready(home, fault):
    tasks = ["even_pairs", "parity_check", "reverse_string", "bucket_sort", "modular_arithmetic_brackets"]
    small = ready_again(home, 945, tasks=tasks[:3], encodings=["none", "rope", "alibi"])
    large = ready_again(home, 100_000, tasks=tasks, encodings=["none", "rope"])
    fault.reached(f"945 jobs: {spread(small)}; 100,000 jobs: {spread(large)}")


@harness.needs_worker
@pytest.mark.fault("R3", aim="workers train on while the scheduler is away for 30 s, and go on by themselves afterwards")
def test_workers_train_while_the_scheduler_is_away(home, fault):
    away_s = fault.size(short=1, full=30, long=30)
    least_s = 0.25  # Of computing, while nobody is there to hear of it.
    # In the short form, too, seconds beyond the first checkpoint, so that a machine several times as fast leaves enough of them.
    load = Load(steps=fault.size(short=3 * LONG, full=1_000_000, long=1_000_000))
    scheduler = Scheduler(home, *harness.LONG_LEASES)
    worker = Worker(home, scheduler, "--checkpoint-every-s", "0.1")
    client = Client(load, scheduler.address)
    trainer = until(lambda: trainer_of(worker), "the trainer is there")
    worked = 0
    while worked < least_s:  # On a busy machine a pack may be at its end before that is seen; another one is hit then.
        assert client.submitted < 10, "no pack was under way for long enough"
        part = client.submitted

        def pack_has_ended():  # Without a scheduler, its results stay on the worker's disk.
            kept = home.path / worker.worker_name / "attempts" / str(part + 1) / "finished.pb"
            return kept.exists() or worker.log().count(": succeeded") > part

        client.submit(part)
        until(lambda: query(scheduler.store, "SELECT 1 FROM artifacts WHERE kind = 'checkpoint' AND attempt > ?", part) or pack_has_ended(), "a checkpoint has come")
        # It stands still until the scheduler is gone: what is left of the pack is computed without one.
        os.kill(trainer, signal.SIGSTOP)
        bury(home, scheduler)
        before, began = cpu_ticks(trainer), time.monotonic()
        os.kill(trainer, signal.SIGCONT)

        def has_worked():
            return (cpu_ticks(trainer) - before) / TICKS_OF_SECOND

        until(lambda: time.monotonic() - began > away_s and (has_worked() >= least_s or pack_has_ended()), "the trainer works on")
        worked, seconds = has_worked(), time.monotonic() - began
        scheduler = scheduler.again()
        finish(home, scheduler)
    client.finish()

    assert trainer_of(worker) == trainer
    assert query(scheduler.store, "SELECT outcome, members FROM attempts") == [("succeeded", SEEDS)] * client.submitted
    worker.stop()
    scheduler.stop()
    check_ledger(home, scheduler.store)
    assert_nothing_lost(scheduler.store, load, client)
    fault.reached(f"{seconds:.0f} s away: the trainer computed for {worked:.1f} s of them; one attempt, the same trainer")
