"""R15: everything goes on for long, and a little of everything goes wrong all the time."""
import random
import signal
import threading
import time

import pytest

import harness
import live_heap
from fleet import FakeWorkers, ProcessUse
from harness import ROOT, Scheduler, Worker, check_ledger, messages, query, run, run_cli, until
from proxy import Proxy

pytestmark = [harness.needs_worker,
              pytest.mark.skipif(not live_heap.LIBRARY.exists(), reason="a sanitizer's runtime tolerates nothing preloaded before it")]

SEED = 20260301
LEASE_S = 3
# Small enough for a real worker to train in passing: whoever is free takes a job, real or fake.
SWEEP = """
name: soak-{number}
experiment: algorithmic
axes:
  task: [even_pairs, reverse_string]
  encoding: [none, "rope:randomized"]
  learning_rate: [1e-3, 1e-4]
  seed: {first}..{last}
model: {{layers: 1, embedding_dim: 16, heads: 2, mlp_dim: 16}}
training: {{steps: 2, batch_size: 4, lengths: 1..4}}
evaluation: {{lengths: [5], examples: 4}}
"""


def cache_mib(store):
    """What the writer's cache holds of a store: every page that was written, up to the cache_size of store/store.cc. A page of 4 KiB takes
    some 7 % more there."""
    return min(query(store, "PRAGMA page_count")[0][0] * 4 * 1.07 / 1024, 64)


class Soak:
    def __init__(self, home, scheduler, proxy, share):
        """`share`: of the attempts of fake workers, for each kind of trouble."""
        self.home = home
        self.scheduler = scheduler
        self.proxy = proxy
        self.chance = random.Random(SEED)
        self.done = {}
        self.round = []
        self.sweeps = []
        self.stopped = []  # (when it may go on, worker)
        self.workers = [Worker(home, proxy) for _ in range(2)]
        # Crashes, failures, and workers that are silent for too long.
        self.fleet = FakeWorkers(home, proxy, "--workers", 50, "--connections", 5, "--train-s", 0.2, "--crash-share", share, "--fail-share",
                                 share, "--silent-share", share, "--artifact-bytes", 100)

    def submit(self):
        """A new sweep, or, one time in four, one that is there already."""
        if self.sweeps and self.chance.random() < 0.25:
            return self.submit_again(self.chance.choice(self.sweeps))
        number = len(self.sweeps)
        file = self.home.path / f"soak-{number}.yaml"
        file.write_text(SWEEP.format(number=number, first=number * 10, last=number * 10 + 9))
        self.sweeps.append(file)
        return self.submit_again(file)

    def submit_again(self, file):
        submitted = run_cli(self.home, "submit", file, scheduler=self.scheduler)
        assert submitted.code == 0, submitted

    def steer(self, action):
        """Whatever state the sweep is in: a refusal is as good as an effect."""
        api = messages("api")
        request = api.SteerSweepRequest(sweep=self.chance.choice(self.sweeps).stem, action=action, priority=self.chance.randint(0, 3))
        try:
            self.scheduler.api().SteerSweep(request, timeout=harness.PATIENCE_S)
        except harness.grpc.RpcError as error:
            assert error.code() == harness.grpc.StatusCode.FAILED_PRECONDITION, error

    def pause(self):
        self.steer(messages("api").SteerSweepRequest.ACTION_PAUSE)

    def resume(self):
        self.steer(messages("api").SteerSweepRequest.ACTION_RESUME)

    def cancel(self):
        self.steer(messages("api").SteerSweepRequest.ACTION_CANCEL)

    def set_priority(self):
        self.steer(messages("api").SteerSweepRequest.ACTION_SET_PRIORITY)

    def kill_worker(self):
        index = self.chance.randrange(len(self.workers))
        worker = self.workers[index]
        if any(worker is stopped for _, stopped in self.stopped):
            return
        worker.kill()
        self.home.processes.remove(worker)
        self.workers[index] = Worker(self.home, self.proxy, name=worker.worker_name)

    def stop_worker(self):
        worker = self.chance.choice(self.workers)
        if any(worker is stopped for _, stopped in self.stopped):
            return
        worker.signal(signal.SIGSTOP)
        self.stopped.append((time.monotonic() + 2 * LEASE_S, worker))

    def reset(self):
        self.proxy.reset_one()

    def wake_workers(self, all_of_them=False):
        for entry in [entry for entry in self.stopped if all_of_them or entry[0] <= time.monotonic()]:
            entry[1].signal(signal.SIGCONT)
            self.stopped.remove(entry)

    def something(self):
        """One disturbance: each kind once in every round, in an order left to chance, and sweeps for as long as there are few jobs."""
        open_jobs = query(self.scheduler.store, "SELECT count(*) FROM jobs WHERE state NOT IN ('succeeded', 'failed', 'cancelled')")[0][0]
        if open_jobs < 200:
            self.submit()
        if not self.round:
            self.round = [self.pause, self.resume, self.resume, self.cancel, self.set_priority, self.kill_worker, self.stop_worker, self.reset]
            self.chance.shuffle(self.round)
        kind = self.round.pop()
        kind()
        self.done[kind.__name__] = self.done.get(kind.__name__, 0) + 1

    def check(self):
        """The ledger check on a copy, while all goes on."""
        copy = self.home.path / "copy.db"
        saved = run_cli(self.home, "store", "backup", copy, scheduler=self.scheduler)
        assert saved.code == 0, saved
        # By SQL alone: no scheduler opens the copy, whose files are the living store's.
        checked = run(self.home, "sqlite3", "-readonly", "-cmd", "PRAGMA integrity_check", "-cmd", "PRAGMA foreign_key_check", copy,
                      stdin=(ROOT / "store/schema/check.sql").read_text())
        assert (checked.code, checked.out, checked.err) == (0, "ok\n", ""), checked
        copy.unlink()

    def finish(self):
        """No more disturbance, all sweeps wanted: everything comes to its end."""
        self.wake_workers(all_of_them=True)
        self.proxy.reset_share = 0
        for file in self.sweeps:
            self.submit_again(file)
            self.scheduler.api().SteerSweep(messages("api").SteerSweepRequest(
                sweep=file.stem, action=messages("api").SteerSweepRequest.ACTION_RETRY), timeout=harness.PATIENCE_S)
        until(lambda: query(self.scheduler.store, "SELECT count(*) FROM jobs WHERE state NOT IN ('succeeded', 'failed')") == [(0,)],
              "every job has come to its end")
        self.fleet.signal(signal.SIGTERM)
        return self.fleet.figures()


@pytest.mark.fault("R15", aim="nothing lost, nothing counted twice; resident memory grows < 1 MB/h, open files not at all")
def test_soak(home, fault):
    seconds = fault.size(short=3, full=570, long=12 * 3600)
    check_every_s = fault.size(short=3, full=60, long=3600)
    heap = live_heap.LiveHeap(home)
    with heap.here():
        scheduler = Scheduler(home, "--lease-term-s", str(LEASE_S), "--renew-every-s", "1", listen="127.0.0.1:0")
    use, checks = ProcessUse(scheduler), 0
    with Proxy(scheduler.address, seed=SEED, reset_share=0.01) as proxy:
        soak = Soak(home, scheduler, proxy, fault.size(short=0.05, full=0.01, long=0.01))
        soak.submit()
        begun = checked = time.monotonic()
        pause = threading.Event()
        while (now := time.monotonic()) - begun < seconds:
            soak.wake_workers()
            soak.something()
            use.look(now - begun, heap.mib() - cache_mib(scheduler.store))
            if now - checked > check_every_s:
                soak.check()
                checks, checked = checks + 1, now
            pause.wait(0.3)
        figures = soak.finish()
        resets = proxy.resets
    assert scheduler.stop() == 0
    check_ledger(home, scheduler.store)
    states = dict(query(scheduler.store, "SELECT state, count(*) FROM jobs GROUP BY state"))
    outcomes = dict(query(scheduler.store, "SELECT outcome, count(*) FROM attempts GROUP BY outcome"))
    # A job may fail for good only after three failures of its own; 1 % of failures make that one in a million.
    assert query(scheduler.store, "SELECT count(*) FROM jobs WHERE state = 'failed' AND failures < 3 AND losses < 10") == [(0,)]
    fault.reached(f"{seconds} s, {len(soak.sweeps)} sweeps, {sum(states.values()):,} jobs, {sum(outcomes.values()):,} attempts {outcomes}")
    fault.reached(f"disturbances: {soak.done}, {resets} resets, {figures['crashes']} crashes, {figures['silences']} silences, "
                  f"{figures['failed']} failures; {checks + 1} ledger checks, 0 violations")
    fault.reached(f"resident memory at most {use.highest_mib():.0f} MiB")
    if seconds >= 300:
        fault.reached(f"in the second half {use.slope(1):+.1f} MiB/h; of the heap that is in use {use.slope(3):+.1f} without the cache of the growing store; "
                      f"open files {use.slope(2):+.1f}/h")
        # Over minutes a slope says little: what must not be is growth that would be seen at once. Resident memory is not asked: the
        # allocator keeps more beside the pages of the cache, the more there are (a tenth to a quarter of them).
        assert use.slope(3) * seconds / 2 / 3600 < 5, use.seen
        assert use.slope(2) * seconds / 2 / 3600 < 8, use.seen
