"""R4: kill -9 workers, again and again, each started again as itself or as another. Their work goes on from its last checkpoint."""
import itertools
import os
import random
import signal
import time

import pytest

import harness
from harness import Scheduler, Worker, query, until
from load import FILES_GO, LONG, MOST_LOSSES, SEEDS, SHORT, Client, Load, bury, end_as_undisturbed, finish, open_jobs, spread, trainer_of

CHECKPOINT_EVERY_S = 0.2


def running(store, worker):
    """What a worker is known to train: attempt, when it began, the last checkpoint's step and time."""
    return query(store, """
        SELECT attempts.id, attempts.started_at, max(jobs.checkpoint_step), max(artifacts.created_at), max(jobs.failures), max(jobs.losses)
        FROM attempts JOIN workers ON workers.id = attempts.worker JOIN jobs ON jobs.attempt = attempts.id
        LEFT JOIN artifacts ON artifacts.job = jobs.num AND artifacts.kind = 'checkpoint'
        WHERE workers.name = ? AND attempts.ended_at IS NULL GROUP BY attempts.id""", worker.worker_name)


def is_ready(worker):
    return " thread(s), " in worker.log()


def successors(store, attempt):
    """Where each job of an attempt went on: the start step of its next attempt."""
    return query(store, """
        SELECT job, (SELECT start_step FROM attempts JOIN attempt_jobs later ON later.attempt = attempts.id
                     WHERE later.job = of.job AND later.attempt > of.attempt ORDER BY later.attempt LIMIT 1)
        FROM attempt_jobs of WHERE attempt = ?""", attempt)


class Team:
    """Two workers; one that is killed comes back, every second time as somebody else."""

    def __init__(self, home, scheduler):
        self.home = home
        self.scheduler = scheduler
        self.started = 0
        self.workers = [self._start(), self._start()]

    def _start(self, state=None):
        name = state or f"worker-{self.started}"
        self.started += 1
        return Worker(self.home, self.scheduler, "--checkpoint-every-s", CHECKPOINT_EVERY_S, "--pack-limit", "4", name=name)

    def kill(self, place, *, anew):
        worker = self.workers[place]
        bury(self.home, worker)
        self.workers[place] = self._start(None if anew else worker.worker_name)

    def busy(self, store, draw):
        busy = [worker for worker in self.workers if is_ready(worker) and (held := running(store, worker))
                and all(losses < MOST_LOSSES for *_, losses in held)]
        return draw.choice(busy) if busy else None


@harness.needs_worker
@pytest.mark.fault("R4", aim="500 kills of workers: 0 lost or doubled results, redone is at most one checkpoint interval; noticed within the "
                             "lease (15 s), and within 1 s when another worker asks for work")
@pytest.mark.parametrize("listen", FILES_GO.values(), ids=FILES_GO)
def test_kills_of_workers(home, fault, listen):
    kills = fault.size(short=10, full=250, long=2500)
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    draw = random.Random(seed)
    load = Load(steps=SHORT)
    scheduler = Scheduler(home, listen=listen)
    team = Team(home, scheduler)
    client = Client(load, scheduler.address)

    begun = {}     # Attempts that were killed: the checkpoint's step that was there.
    redone = []    # Seconds since that checkpoint.
    killed_at = {}
    trainers = 0

    def something_to_lose():
        # More work comes while one waits, too: what is there may end without a chance to hit it, or be spared.
        client.top_up(lambda: open_jobs(scheduler.store) < 8 * SEEDS)
        return team.busy(scheduler.store, draw)

    for kill in itertools.count():
        # A fast machine may have done the work before it is hit; then it is hit more often.
        if kill >= kills and len(killed_at) > kills // 3:
            break
        assert kill < 3 * kills, killed_at
        worker = until(something_to_lose, "a worker has something to lose")
        place = team.workers.index(worker)
        time.sleep(draw.uniform(0, 0.4))  # When it is hit; nothing waits for this.
        # The trainer's own death is the job's failure, and three of them are its end: only jobs without one are hit so.
        held = running(scheduler.store, worker)
        if kill % 5 == 4 and held and all(failures == 0 for *_, failures, _ in held) and (trainer := trainer_of(worker)):
            os.kill(trainer, signal.SIGKILL)
            trainers += 1
        else:
            now = time.time()
            team.kill(place, anew=draw.random() < 0.5)
            for attempt, started_at, step, stored_at, *_ in held:
                begun[attempt] = step
                killed_at[attempt] = now
                redone.append(now - max(started_at, stored_at or 0) / 1e6)

    jobs = end_as_undisturbed(home, scheduler, team.workers, load, client)
    lost = dict(query(scheduler.store, "SELECT id, ended_at / 1e6 FROM attempts WHERE outcome = 'lost'"))
    # Everything went on from the checkpoint that was there, or a later one that was on its way.
    for attempt, step in begun.items():
        for job, start_step in successors(scheduler.store, attempt) if attempt in lost else []:
            assert start_step is not None and start_step >= step, (attempt, job, step, start_step)
    noticed = [lost[attempt] - at for attempt, at in killed_at.items() if attempt in lost]
    assert noticed, "no kill hit an attempt that went on elsewhere"
    most = query(scheduler.store, "SELECT max(losses), max(failures) FROM jobs")[0]
    fault.reached(f"{kill} kills ({kill - trainers} of workers, {trainers} of trainers only) with {jobs} jobs: 0 lost, 0 accepted twice, "
                  f"bit for bit an undisturbed run; {len(lost)} attempts lost, at most {most[0]} losses and {most[1]} failures of a job")
    fault.reached(f"noticed after {spread(noticed)}; redone since the last checkpoint, of one every {CHECKPOINT_EVERY_S} s: {spread(redone)}")


@harness.needs_worker
@pytest.mark.fault("R4", aim="a killed worker's pack goes on elsewhere within 1 s while the lease has a quarter of an hour to run")
def test_a_broken_call_frees_the_work(home, fault):
    rounds = fault.size(short=2, full=20, long=200)
    load = Load(steps=LONG)
    scheduler = Scheduler(home, "--lease-term-s", "900", "--renew-every-s", "300")
    client = Client(load, scheduler.address)
    team = Team(home, scheduler)
    noticed = []

    def one_with_a_checkpoint():
        # More work comes where all of it ended before that was seen.
        client.top_up(lambda: open_jobs(scheduler.store) == 0)
        held = ((worker, attempt) for worker in team.workers for attempt in running(scheduler.store, worker))
        return next(((worker, attempt) for worker, attempt in held if attempt[2] > 0), None)

    while len(noticed) < rounds:
        victim, (attempt, _, step, *_) = until(one_with_a_checkpoint, "a checkpoint is stored")
        killed_at = time.time()
        team.kill(team.workers.index(victim), anew=True)
        finish(home, scheduler)  # By the other one: nothing else could before the lease ends.
        outcome, ended_at, detail = query(scheduler.store, "SELECT outcome, ended_at, detail FROM attempts WHERE id = ?", attempt)[0]
        if outcome == "succeeded":  # It was just done.
            continue
        assert outcome == "lost" and "its call broke off" in detail, (outcome, detail)
        assert all(start >= step > 0 for _, start in successors(scheduler.store, attempt))
        noticed.append(ended_at / 1e6 - killed_at)
    end_as_undisturbed(home, scheduler, team.workers, load, client)
    fault.reached(f"{rounds} kills: free again after {spread(noticed)}, and gone on with by the other worker from the last checkpoint")


@harness.needs_worker
@pytest.mark.fault("R4", aim="work that is preempted (SIGTERM) loses nothing: a checkpoint at the very step, nothing counted")
def test_preempted_workers_lose_nothing(home, fault):
    times = fault.size(short=3, full=40, long=400)
    load = Load(steps=LONG)
    scheduler = Scheduler(home)
    client = Client(load, scheduler.address)
    client.submit(0)
    until(lambda: client.acknowledged, "the work is there")
    stopped_at = []
    for turn in range(times):
        worker = Worker(home, scheduler, "--checkpoint-every-s", "0", name=f"worker-{turn}")
        until(lambda: running(scheduler.store, worker) or not unfinished(scheduler.store), "it has the work")
        assert worker.stop() == 0
        if not unfinished(scheduler.store):
            break
        stopped_at.append(query(scheduler.store, "SELECT max(checkpoint_step) FROM jobs")[0][0])

    end_as_undisturbed(home, scheduler, [Worker(home, scheduler, name="last")], load, client)
    assert query(scheduler.store, "SELECT sum(failures), sum(losses) FROM jobs") == [(0, 0)]
    # Each went on at the step where the one before had stopped: no step was made twice.
    spans = query(scheduler.store, "SELECT start_step, step, outcome FROM attempts ORDER BY id")
    assert [start for start, *_ in spans] == [0, *(step for _, step, _ in spans[:-1])], spans
    assert [outcome for *_, outcome in spans] == ["given_back"] * len(stopped_at) + ["succeeded"]
    fault.reached(f"{len(stopped_at)} SIGTERMs in the middle of one pack: every step made once, nothing counted, the bits of an undisturbed run")


def unfinished(store):
    return query(store, "SELECT count(*) FROM jobs WHERE state <> 'succeeded'")[0][0] > 0
