"""R16: files that are cut off or damaged are never taken for whole ones."""
import hashlib
import random

import grpc
import pytest

from harness import Scheduler, messages
from played_worker import PlayedWorker
from storage_program import storage_faults


@pytest.mark.fault("R16", aim="kill -9 at each call between write, sync and rename of an artifact: the old one or the new one")
def test_uploads_killed_at_each_call(fault):
    every = fault.size(short=2, full=1, long=1)
    points = 0
    for scenario in ("checkpoint", "third-checkpoint", "success", "backup", "merge"):
        ended = storage_faults("fail", "--scenario", scenario, "--harm", "kill", "--every", every)
        assert ended["failures"] == 0
        points += ended["points"]

    assert points > 50
    fault.reached(f"{points} kills, every {every}th call of uploads, a success with weights, a backup and a merge: 0 half-written files taken")


@pytest.mark.fault("R16", aim="1,000 flipped bits in stored artifacts: each refused by its hash, 0 accepted")
def test_flipped_bits_in_artifacts(home, fault):
    flips = fault.size(short=100, full=1000, long=100_000)
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    draw = random.Random(seed)
    scheduler = Scheduler(home)
    spec = messages("spec")
    scheduler.api().SubmitSweep(messages("api").SubmitSweepRequest(spec=spec.SweepSpec(
        name="damaged", experiment="algorithmic",
        axes=spec.Axes(task=["even_pairs"], encoding=["rope"], learning_rate=[1e-4], seed=[0]))), timeout=60)
    worker = PlayedWorker(scheduler)
    lease = worker.take()
    content = draw.randbytes(50_000)
    sha256 = hashlib.sha256(content).hexdigest()
    assert worker.upload(lease, "checkpoint", 10, content, sha256) is None
    file = scheduler.store.parent / "store.db.artifacts" / sha256[:2] / sha256

    def downloaded():
        request = messages("worker").DownloadRequest(sha256=sha256)
        return b"".join(part.chunk for part in worker.artifacts.Download(request, timeout=60))

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
    fault.reached(f"{flips:,} flips, 0 accepted; the same upload again heals the file")
