"""R10: cables are pulled, firewalls forget connections, one direction is lost: workers come back by themselves, nothing counts twice."""
import functools
import signal
import threading
import time

import pytest

import harness
import network
from harness import Scheduler, Worker, check_ledger, curves, query, results, run_cli, until
from load import open_jobs
from network import Cable, RemoteWorker, came_back
from proxy import Proxy

pytestmark = harness.needs_worker

SWEEP = """
name: parted
experiment: algorithmic
axes:
  task: [even_pairs, reverse_string]
  encoding: [none, rope, "alibi:randomized"]
  learning_rate: [1e-3]
  seed: 0..1
model: {{layers: 1, embedding_dim: 16, heads: 2, mlp_dim: 32}}
training: {{steps: {steps}, batch_size: 8, lengths: 1..8}}
evaluation: {{lengths: 9..10, examples: 16}}
"""


def submit(home, scheduler, steps):
    file = home.path / "parted.yaml"
    file.write_text(SWEEP.format(steps=steps))
    submitted = run_cli(home, "submit", file, scheduler=scheduler)
    assert submitted.code == 0, submitted


@functools.cache
def undisturbed(steps):
    """What the sweep comes to when nothing goes wrong."""
    with harness.Home() as home:
        scheduler = Scheduler(home)
        Worker(home, scheduler)
        submit(home, scheduler, steps)
        wait_for_the_end(scheduler)
        return results(scheduler.store), curves(scheduler.store)


def wait_for_the_end(scheduler):
    until(lambda: query(scheduler.store, "SELECT count(*) FROM jobs WHERE state <> 'succeeded'") == [(0,)], "all jobs have succeeded")


def attempts_of(scheduler, worker, which=""):
    return query(scheduler.store, f"SELECT a.id FROM attempts AS a JOIN workers AS w ON w.id = a.worker WHERE w.name = ? {which}", worker.worker_name)


def has_work(scheduler, worker):
    return attempts_of(scheduler, worker, "AND a.outcome IS NULL")


def wait_for_progress(scheduler, worker):
    """Until this worker trains something. On a busy machine it may have come to the end before that is seen."""
    until(lambda: attempts_of(scheduler, worker), "the worker has work")


def hold_at_work(scheduler, worker, proxy, direction):
    """Nothing passes in this direction any more, and the worker has work; it stands still for the look, so that it does not end meanwhile. False: there
    is no work any more."""
    def is_held():
        worker.signal(signal.SIGSTOP)
        proxy.hold(direction)
        held = has_work(scheduler, worker)
        if not held:
            proxy.heal()
        worker.signal(signal.SIGCONT)
        return held

    return until(lambda: is_held() and "held" or open_jobs(scheduler.store) == 0 and "over", "the worker has work") == "held"


def assert_as_undisturbed(home, scheduler, steps):
    assert scheduler.stop() == 0
    check_ledger(home, scheduler.store)
    assert (results(scheduler.store), curves(scheduler.store)) == undisturbed(steps)


def parted(worker, seconds, part, heal):
    """Parts a worker from its scheduler for so long; how long after the healing it heard of it again."""
    before = worker.log().count("answers again")
    part()
    until(lambda: worker.log().count("no answer from the scheduler") > before, "the worker misses its scheduler")
    threading.Event().wait(seconds)
    heal()
    healed = time.monotonic()
    came_back(worker, before)
    return time.monotonic() - healed


@pytest.mark.fault("R10", aim="healed < 10 s after the link is back, no result twice")
def test_connections_are_cut_for_a_while(home, fault):
    spans = fault.size(short=[1], full=[1, 3, 30], long=[1, 3, 10, 30, 60, 600])
    steps = fault.size(short=1500, full=3000, long=30000)
    # The lease ends in the longer ones, and the other worker takes over.
    scheduler = Scheduler(home, "--lease-term-s", "3", "--renew-every-s", "1", listen="127.0.0.1:0")
    with Proxy(scheduler.address) as proxy:
        parted_worker = Worker(home, proxy)
        submit(home, scheduler, steps)
        wait_for_progress(scheduler, parted_worker)
        Worker(home, scheduler)
        took = {seconds: parted(parted_worker, seconds, proxy.cut, proxy.heal) for seconds in spans}
        wait_for_the_end(scheduler)
    assert_as_undisturbed(home, scheduler, steps)
    assert fault.form == "short" or max(took.values()) < 10, took
    fault.reached("cut for " + ", ".join(f"{span} s: back after {s:.1f} s" for span, s in took.items()) + "; results as undisturbed")


@pytest.mark.fault("R10", aim="a proxy that fails under all workers for 3 s costs none of them its work")
def test_a_proxy_in_front_of_busy_workers_is_down_for_a_moment(home, fault):
    workers = fault.size(short=2, full=4, long=8)
    scheduler = Scheduler(home, *harness.LONG_LEASES, listen="127.0.0.1:0")
    with Proxy(scheduler.address) as proxy:
        busy = [Worker(home, proxy, "--pack-limit", "1") for _ in range(workers)]
        submit(home, scheduler, 3_000_000)
        until(lambda: query(scheduler.store, "SELECT count(*) FROM attempts") == [(workers,)], "all workers have work")
        befores = [worker.log().count("answers again") for worker in busy]
        proxy.cut()
        for worker in busy:
            until(lambda: "no answer from the scheduler" in worker.log(), "the worker misses its scheduler")
        threading.Event().wait(3)
        proxy.heal()
        for worker, before in zip(busy, befores):
            came_back(worker, before)
        # The lease of what has not come back would be over now, if anybody had taken it.
        assert query(scheduler.store, "SELECT worker, outcome, detail FROM attempts WHERE outcome IS NOT NULL") == []
        cancelled = run_cli(home, "cancel", "last", scheduler=scheduler)
        assert cancelled.code == 0, cancelled
        assert query(scheduler.store, "SELECT count(*) FROM attempts") == [(workers,)]
    assert scheduler.stop() == 0
    check_ledger(home, scheduler.store)
    fault.reached(f"{workers} busy workers, down for 3 s: 0 attempts lost")


@pytest.mark.fault("R10", aim="one-way loss past the lease: work goes on elsewhere, what comes late is refused")
@pytest.mark.parametrize("direction", ["up", "down"])
def test_one_direction_is_lost(home, fault, direction):
    steps = fault.size(short=1500, full=3000, long=3000)
    lost = 0
    for number in range(10):
        scheduler = Scheduler(home, "--lease-term-s", "1", "--renew-every-s", "0.3", listen="127.0.0.1:0", store=f"parted-{number}.db")
        with Proxy(scheduler.address) as proxy:
            parted_worker = Worker(home, proxy)
            workers = [parted_worker]
            submit(home, scheduler, steps)
            if hold_at_work(scheduler, parted_worker, proxy, direction):
                workers.append(Worker(home, scheduler))
                wait_for_the_end(scheduler)
                # All that it said meanwhile, and all that it was told, comes now.
                proxy.heal()
                lost = query(scheduler.store, "SELECT count(*) FROM attempts WHERE outcome = 'lost'")[0][0]
            if lost:
                break
            # The machine was done before that was seen, or had only the last job's report left to say, and the scheduler heard it.
            for process in [*workers, scheduler]:
                process.stop()
    assert lost >= 1
    assert_as_undisturbed(home, scheduler, steps)
    fault.reached(f"{direction}: {lost} attempts given to another worker, results as undisturbed, each once")


@pytest.mark.fault("R10", aim="keepalive finds a half-open connection in <= 30 s, on both sides")
def test_half_open_connections_are_found(home, fault):
    if fault.form == "short":
        pytest.skip("half a minute of waiting: in the full form only")
    scheduler = Scheduler(home, listen="127.0.0.1:0")
    with Proxy(scheduler.address) as proxy:
        worker = Worker(home, proxy)
        submit(home, scheduler, 30)
        wait_for_the_end(scheduler)
        begun = time.monotonic()
        links = proxy.open_connections()
        proxy.strand()
        came_back(worker)
        by_worker = time.monotonic() - begun
        until(lambda: proxy.given_up("down") >= links, "the scheduler has closed the connections of which it hears nothing")
        by_scheduler = time.monotonic() - begun
    scheduler.stop()
    check_ledger(home, scheduler.store)
    assert by_worker < 30 and by_scheduler < 30, (by_worker, by_scheduler)
    fault.reached(f"the worker was back after {by_worker:.1f} s, the scheduler had let go of {links} connections after {by_scheduler:.1f} s")


@pytest.mark.fault("R10", aim="a cable that is pulled for 1 s to 60 s (10 minutes in the long form): healed < 10 s after")
def test_a_pulled_cable(home, fault):
    if network.why_not():
        pytest.skip(network.why_not())
    spans = fault.size(short=[1], full=[1, 20, 60], long=[1, 5, 20, 60, 600])
    steps = fault.size(short=1500, full=3000, long=3000)
    scheduler = Scheduler(home, "--lease-term-s", "3", "--renew-every-s", "1", listen="127.0.0.1:0")
    with Cable() as cable:
        worker = RemoteWorker(home, cable, scheduler)
        submit(home, scheduler, steps)
        wait_for_progress(scheduler, worker)
        took = {}
        for seconds in spans:
            before, lines = query(scheduler.store, "SELECT max(seen_at) FROM workers")[0][0], worker.log().count("answers again")
            cable.pull()
            threading.Event().wait(seconds)
            cable.plug()
            plugged, wall = time.monotonic(), time.time() * 1e6
            # Short ones go by without a broken call: TCP sends again. Seen is seen.
            until(lambda: query(scheduler.store, "SELECT max(seen_at) FROM workers")[0][0] > max(before, wall), "the worker was seen")
            took[seconds] = time.monotonic() - plugged
        wait_for_the_end(scheduler)
        worker.close()
    assert_as_undisturbed(home, scheduler, steps)
    assert fault.form == "short" or max(took.values()) < 15, took  # Seen-times are written every 3 s.
    fault.reached("pulled for " + ", ".join(f"{span} s: seen again within {s:.1f} s" for span, s in took.items()) + "; results as undisturbed")
