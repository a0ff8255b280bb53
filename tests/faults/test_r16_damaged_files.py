"""R16: files that are cut off or damaged are never taken for whole ones."""
import hashlib
import itertools
import random

import grpc
import pytest

import harness
from harness import Scheduler, Worker, curves, messages, query, results, until
from played_worker import PlayedWorker
from storage_program import figures_of, storage_faults


@pytest.mark.fault("R16", aim="kill -9 at each call between write, sync and rename of an artifact: the old one or the new one")
def test_uploads_killed_at_each_call(fault):
    every = fault.size(short=5, full=1, long=1)
    points = 0
    for scenario in ("checkpoint", "third-checkpoint", "success", "backup", "merge"):
        ended = storage_faults("fail", "--scenario", scenario, "--harm", "kill", "--every", every)
        assert ended["failures"] == 0
        points += ended["points"]

    assert points > 50
    fault.reached(f"{points} kills at one call in {every} of uploads, a success with weights, a backup and a merge: 0 half-written files taken")


@pytest.mark.fault("R16", aim="1,000 kills at each stage of the trainer's writing of a checkpoint: the old one or the new one, whole")
def test_checkpoints_killed_at_each_call(fault):
    ended = figures_of("checkpoint_faults", "--kills", fault.size(short=100, full=1000, long=100_000))
    assert ended["failures"] == 0 and ended["finished"] > 0
    # The file and its folder are opened, three parts written, both synced, and the file renamed.
    assert ended["calls"] == 8
    fault.reached(f"{ended['kills']:,} kills at each of {ended['calls']} calls, before, in the middle and after: 0 half-written checkpoints")


@pytest.mark.fault("R16", aim="1,000 flipped bits in stored artifacts: each refused by its hash, 0 accepted")
def test_flipped_bits_in_artifacts(home, fault):
    flips = fault.size(short=100, full=1000, long=100_000)
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    draw = random.Random(seed)
    scheduler = Scheduler(home, *harness.LONG_LEASES)
    spec = messages("spec")
    scheduler.api().SubmitSweep(messages("api").SubmitSweepRequest(spec=spec.SweepSpec(
        name="damaged", experiment="algorithmic",
        axes=spec.Axes(task=["even_pairs"], encoding=["rope"], learning_rate=[1e-4], seed=[0]))), timeout=harness.PATIENCE_S)
    worker = PlayedWorker(scheduler)
    lease = worker.take()
    content = draw.randbytes(50_000)
    sha256 = hashlib.sha256(content).hexdigest()
    assert worker.upload(lease, "checkpoint", 10, content, sha256) is None
    file = scheduler.store.parent / "store.db.artifacts" / sha256[:2] / sha256

    def downloaded():
        request = messages("worker").DownloadRequest(sha256=sha256)
        return b"".join(part.chunk for part in worker.artifacts.Download(request, timeout=harness.PATIENCE_S))

    for _ in range(flips):
        damaged = bytearray(content)
        damaged[draw.randrange(len(damaged))] ^= 1 << draw.randrange(8)
        file.write_bytes(damaged)
        with pytest.raises(grpc.RpcError) as refused:
            downloaded()
        assert refused.value.code() == grpc.StatusCode.DATA_LOSS
    # Whoever has the bytes hands them in again, and the damage is gone.
    assert worker.upload(lease, "checkpoint", 10, content, sha256) is None
    assert downloaded() == content
    scheduler.stop()
    harness.check_ledger(home, scheduler.store)
    fault.reached(f"{flips:,} flips, 0 accepted; the same upload again heals the file")


@harness.needs_worker
@pytest.mark.fault("R16", aim="a damaged newest checkpoint: the run goes on from the one before and ends with the bits of an undisturbed one")
def test_a_run_goes_on_from_the_checkpoint_before(home, fault):
    rounds = fault.size(short=1, full=8, long=50)
    draw = random.Random(4)

    def submitted(scheduler):
        spec = messages("spec")
        scheduler.api().SubmitSweep(messages("api").SubmitSweepRequest(spec=spec.SweepSpec(
            name="resumed", experiment="algorithmic",
            axes=spec.Axes(task=["even_pairs"], encoding=["rope"], learning_rate=[1e-3], seed=[0, 1]),
            model=spec.Model(layers=1, embedding_dim=32, heads=4, mlp_dim=64),
            training=spec.Training(steps=15_000, batch_size=16, lengths=range(1, 9)),
            evaluation=spec.Evaluation(lengths=[9, 10], examples=32))), timeout=harness.PATIENCE_S)
        return scheduler

    def is_done(scheduler):
        return query(scheduler.store, "SELECT count(*) FROM jobs WHERE state = 'succeeded'") == [(2,)]

    def finish(scheduler):
        until(lambda: is_done(scheduler), "both jobs are done")

    plain = submitted(Scheduler(home, store="plain.db"))
    worker = Worker(home, plain)
    finish(plain)
    worker.stop()
    undisturbed = results(plain.store), curves(plain.store)
    done = 0
    for number in itertools.count():
        if done == rounds:
            break
        scheduler = submitted(Scheduler(home, "--lease-term-s", "1.5", "--renew-every-s", "0.5", store=f"damaged-{number}.db"))
        worker = Worker(home, scheduler, "--checkpoint-every-s", "0.1")
        checkpoints = "SELECT DISTINCT sha256, step FROM artifacts WHERE kind = 'checkpoint' ORDER BY step"
        until(lambda: len(query(scheduler.store, checkpoints)) == 2 or is_done(scheduler), "there are two checkpoints")
        worker.kill()
        # What was on its way is stored now, or never will be.
        assert scheduler.stop() == 0
        if is_done(scheduler):  # A busy machine has come to the end before it was seen.
            continue
        scheduler = scheduler.again()
        (_, before), (sha256, step) = query(scheduler.store, checkpoints)
        file = home.path / f"{scheduler.store.name}.artifacts" / sha256[:2] / sha256
        damaged = bytearray(file.read_bytes())
        damaged[draw.randrange(len(damaged))] ^= 1 << draw.randrange(8)
        file.write_bytes(damaged)

        other = Worker(home, scheduler)
        finish(scheduler)

        assert f"from step {step}" in other.log() and "no use of the newest checkpoint" in other.log(), other.log()
        # Its first attempt: on a busy machine it may lose so short a lease, and begin once more.
        assert query(scheduler.store, "SELECT start_step FROM attempts JOIN workers ON workers.id = worker WHERE name = ? ORDER BY attempts.id LIMIT 1",
                     other.worker_name) == [(before,)]
        assert (results(scheduler.store), curves(scheduler.store)) == undisturbed
        other.stop()
        scheduler.stop()
        harness.check_ledger(home, scheduler.store)
        done += 1
    fault.reached(f"{rounds} of {rounds} runs with a damaged newest checkpoint went on from the one before, with the same bits")
