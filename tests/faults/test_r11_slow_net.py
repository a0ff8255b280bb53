"""R11: a slow, far and unreliable net: sweeps finish, no lease is taken for lost, checkpoints and logs arrive."""
import os

import pytest

import harness
import network
from harness import Scheduler, Worker, check_ledger, query, run_cli, until
from network import Cable, RemoteWorker
from proxy import Proxy

pytestmark = harness.needs_worker

SWEEP = """
name: slow
experiment: algorithmic
axes:
  task: [even_pairs]
  encoding: [none]
  learning_rate: [1e-3]
  seed: 0..{last}
model: {{layers: 1, embedding_dim: 8, heads: 2, mlp_dim: 8}}
training: {{steps: {steps}, batch_size: 8, lengths: 1..8}}
evaluation: {{lengths: 9..10, examples: 16}}
"""


# Its weights take longer on a line of 256 kbit/s than a lease is good for.
LARGE = """
name: large
experiment: algorithmic
axes: {task: [even_pairs], encoding: [none], learning_rate: [1e-3], seed: [0, 1]}
model: {layers: 3, embedding_dim: 64, heads: 8, mlp_dim: 256}
training: {steps: 5, batch_size: 4, lengths: 1..4}
evaluation: {lengths: [5], examples: 8}
"""

# Several windows of HTTP/2, so that a part of them is with the scheduler before the reset, which loses what it has not read.
BETWEEN_RESETS = 250_000


def submit(home, scheduler, fault):
    file = home.path / "slow.yaml"
    file.write_text(SWEEP.format(last=fault.size(short=0, full=2, long=50), steps=fault.size(short=200, full=10_000, long=30_000)))
    submitted = run_cli(home, "submit", file, scheduler=scheduler)
    assert submitted.code == 0, submitted


def finish(home, scheduler, fault):
    """Waits for the sweep's end and looks at what arrived; what is said of the attempts that were taken for lost."""
    checkpoints = 0

    def ended():
        # A job's checkpoints go with its success, so they are looked for while it trains.
        nonlocal checkpoints
        checkpoints = max(checkpoints, query(scheduler.store, "SELECT count(*) FROM artifacts WHERE kind = 'checkpoint'")[0][0])
        return query(scheduler.store, "SELECT count(*) FROM jobs WHERE state <> 'succeeded'") == [(0,)]

    until(ended, "all jobs have succeeded")
    assert checkpoints > 0 or fault.form == "short"  # There a job may end before its first.
    for kind in ("weights", "log"):
        assert query(scheduler.store, "SELECT count(*) FROM jobs AS j WHERE NOT EXISTS (SELECT 1 FROM artifacts WHERE job = j.num AND "
                                      "kind = ?)", kind) == [(0,)]
    lost = query(scheduler.store, "SELECT detail FROM attempts WHERE outcome = 'lost' ORDER BY id")
    assert scheduler.stop() == 0
    check_ledger(home, scheduler.store)
    return [detail for detail, in lost]


@pytest.mark.fault("R11", aim="0 false lease expiries at a round trip of 0.6 s with 5 % resets; sweeps finish, files arrive")
def test_a_far_and_unreliable_net(home, fault):
    """One worker, so that nobody takes over what a reset leaves for a moment: whatever is lost was lost to the clock."""
    scheduler = Scheduler(home, listen="127.0.0.1:0")
    delay_s = fault.size(short=0.15, full=0.3, long=0.3)
    with Proxy(scheduler.address, delay_s=delay_s, reset_share=0.05) as proxy:
        Worker(home, proxy, "--checkpoint-every-s", "0.5")
        submit(home, scheduler, fault)
        lost = finish(home, scheduler, fault)
        resets = proxy.resets
    assert lost == []
    fault.reached(f"{delay_s} s each way, {resets} resets: 0 leases lost, logs and weights of every job")


@pytest.mark.fault("R11", aim="with idle workers beside: work that changes hands over a reset still counts once")
def test_resets_with_others_waiting(home, fault):
    if fault.form == "short":
        pytest.skip("the same with two workers: in the full form only")
    scheduler = Scheduler(home, listen="127.0.0.1:0")
    with Proxy(scheduler.address, delay_s=0.3, reset_share=0.05) as proxy:
        for _ in range(2):
            Worker(home, proxy, "--checkpoint-every-s", "0.5", "--pack-limit", "2")
        submit(home, scheduler, fault)
        lost = finish(home, scheduler, fault)
        resets = proxy.resets
    ran_out = [detail for detail in lost if "lease ran out" in detail]
    assert ran_out == [], lost
    fault.reached(f"2 workers, {resets} resets: 0 leases ran out, {len(lost)} attempts changed hands, each result once")


@pytest.mark.fault("R11", aim="connections that are reset behind 250 kB: files of more than twice as much arrive, 0 leases lost")
def test_files_larger_than_what_passes_between_two_resets(home, fault):
    """Each try of a file goes on where the one before broke off: from its beginning, none would ever come to its end."""
    scheduler = Scheduler(home, listen="127.0.0.1:0")
    with Proxy(scheduler.address, reset_behind=BETWEEN_RESETS) as proxy:
        worker = Worker(home, proxy, "--pack-limit", "1", "--checkpoint-every-s", "0")
        submitted = run_cli(home, "submit", "/dev/stdin", scheduler=scheduler, stdin=LARGE)
        assert submitted.code == 0, submitted
        until(lambda: query(scheduler.store, "SELECT count(*) FROM jobs WHERE state <> 'succeeded'") == [(0,)], "all jobs have succeeded")
        resets = proxy.resets
        worker.kill()
    smallest, = query(scheduler.store, "SELECT min(bytes) FROM artifacts WHERE kind = 'weights'")[0]
    assert smallest > 2 * BETWEEN_RESETS
    assert resets >= 3  # Both may be on the same connection, which carries at most a piece more than that.
    assert query(scheduler.store, "SELECT detail FROM attempts WHERE outcome = 'lost'") == []
    until(lambda: os.listdir(f"{scheduler.store}.artifacts/tmp") == [], "nothing is left of tries that broke off")
    assert scheduler.stop() == 0
    check_ledger(home, scheduler.store)
    fault.reached(f"two files of {smallest:,} bytes, {resets} resets: both arrived, 0 leases lost")


@pytest.mark.fault("R11", aim="256 kbit/s: sweeps finish, 0 false lease expiries, checkpoints, weights and logs arrive")
def test_a_slow_line(home, fault):
    scheduler = Scheduler(home, listen="127.0.0.1:0")
    if network.why_not():
        # The same rate by the proxy, which delays but never drops a packet.
        with Proxy(scheduler.address, bytes_per_s=32_000) as proxy:
            Worker(home, proxy, "--checkpoint-every-s", "0.5")
            submit(home, scheduler, fault)
            lost, what = finish(home, scheduler, fault), f"by the proxy, as there are no namespaces ({network.why_not()})"
    else:
        with Cable() as cable:
            cable.limit("256kbit")
            worker = RemoteWorker(home, cable, scheduler, "--checkpoint-every-s", "0.5")
            submit(home, scheduler, fault)
            lost, what = finish(home, scheduler, fault), "by tc tbf on both ends of a cable"
            worker.close()
    assert lost == []
    fault.reached(f"256 kbit/s {what}: 0 leases lost, logs and weights of every job")


@pytest.mark.fault("R11", aim="a file of more than a lease's term on its way at 256 kbit/s: 0 leases lost, of it and of what trains beside it")
def test_a_large_file_on_a_slow_line(home, fault):
    if network.why_not():
        pytest.skip(f"no cable: {network.why_not()}")
    scheduler = Scheduler(home, listen="127.0.0.1:0")
    with Cable() as cable:
        cable.limit("256kbit")
        # No checkpoints: the last one would be in the weights' way, for four times as long.
        worker = RemoteWorker(home, cable, scheduler, "--pack-limit", "1", "--packs", "2", "--checkpoint-every-s", "0")
        submitted = run_cli(home, "submit", "/dev/stdin", scheduler=scheduler, stdin=LARGE)
        assert submitted.code == 0, submitted
        until(lambda: query(scheduler.store, "SELECT count(*) FROM jobs WHERE state <> 'succeeded'") == [(0,)], "all jobs have succeeded")
        worker.close()
    largest, = query(scheduler.store, "SELECT max(bytes) FROM artifacts WHERE kind = 'weights'")[0]
    assert largest > 32_000 * 15
    assert query(scheduler.store, "SELECT detail FROM attempts WHERE outcome = 'lost'") == []
    assert scheduler.stop() == 0
    check_ledger(home, scheduler.store)
    fault.reached(f"two files of {largest:,} bytes at once: 0 leases lost")
