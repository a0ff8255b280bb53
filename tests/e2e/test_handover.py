"""How files get from a worker to a scheduler that has its disk."""
import harness
from harness import Scheduler, Worker, query, run_cli, until

pytestmark = harness.needs_worker

SWEEP = """
name: small
experiment: algorithmic
axes: {task: [even_pairs], encoding: [rope, alibi], learning_rate: [1e-3], seed: 0..1}
model: {layers: 1, embedding_dim: 32, heads: 4}
training: {steps: 5, batch_size: 4, lengths: 1..3}
evaluation: {lengths: [4], examples: 4}
"""


def kept_by_both(store, state):
    """Of the weights in the store: how many there are, and how many are the very files that the worker keeps."""
    kept = {(file.stat().st_dev, file.stat().st_ino) for file in (state / "cache").iterdir()}
    folder = store.with_name(store.name + ".artifacts")
    files = [folder / sha256[:2] / sha256 for (sha256,) in query(store, "SELECT DISTINCT sha256 FROM artifacts WHERE kind = 'weights'")]
    return len(files), sum((file.stat().st_dev, file.stat().st_ino) in kept for file in files)


def test_run_hands_weights_over_by_links(home):
    store = home.path / "store.db"

    ended = run_cli(home, "run", "/dev/stdin", "--store", store, stdin=SWEEP)

    assert ended.code == 0, ended
    assert kept_by_both(store, home.path / "store.db.worker") == (2, 2)
    assert list((home.path / "store.db.artifacts" / "inbox").iterdir()) == []
    checked = run_cli(home, "store", "check", "--artifacts", "--store", store)
    assert checked.code == 0, checked


def test_over_tcp_weights_are_sent(home):
    scheduler = Scheduler(home, listen="localhost:0")
    submitted = run_cli(home, "submit", "/dev/stdin", scheduler=scheduler, stdin=SWEEP)
    assert submitted.code == 0, submitted

    worker = Worker(home, scheduler)
    until(lambda: query(scheduler.store, "SELECT count(*) FROM jobs WHERE state = 'succeeded'") == [(4,)], "all have succeeded")

    assert kept_by_both(scheduler.store, home.path / worker.worker_name) == (2, 0)
