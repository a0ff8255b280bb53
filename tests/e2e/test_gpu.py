"""The programs with --device cuda, on the stand-in for a GPU (tests/worker/trainer/stand_in_gpu): its plugin lies where CUDA's would."""
import json
import os
import shutil

import pytest

import harness
from harness import BIN, ROOT, check_ledger, query, run

pytestmark = harness.needs_worker

SWEEP = """
name: small
experiment: algorithmic
axes: {task: [even_pairs], encoding: [rope, log_kerple], learning_rate: [1e-3, 3e-4], seed: 0..1}
model: {layers: 1}
training: {steps: 4, batch_size: 2, lengths: 1..3}
evaluation: {lengths: [4], examples: 4}
"""


@pytest.fixture(scope="module")
def programs():
    """A copy of the programs beside the stand-in's plugin."""
    with harness.Home() as copies:
        (copies.path / "bin").mkdir()
        (copies.path / "lib").mkdir()
        for name in ("longreach", "longreach-scheduler", "longreach-worker", "longreach-trainer", "longreach-tokenizer", "golden_check", "bench-llama"):
            try:
                os.link(BIN / name, copies.path / "bin" / name)
            except OSError:  # Another disk.
                shutil.copy2(BIN / name, copies.path / "bin")
        shutil.copy(BIN.parent / "tests/libstand_in_gpu.so", copies.path / "lib/liblongreach_cuda.so")
        yield copies.path / "bin"


@pytest.mark.parametrize("arguments, engine", [(["--engine", "libtorch"], "libtorch"), (["--pack-limit", "2"], "spread-fp16"),
                                               (["--engine", "resident", "--pack-limit", "2"], "resident-bf16")])
def test_a_sweep_is_trained_there(home, programs, arguments, engine):
    store = home.path / "store.db"

    ended = run(home, programs / "longreach", "run", "/dev/stdin", "--device", "cuda", "--store", store, *arguments, stdin=SWEEP)

    assert ended.code == 0 and "Even Pairs" in ended.out, ended
    assert query(store, "SELECT DISTINCT device, engine FROM attempts") == [("stand-in for a GPU", engine)]
    assert query(store, "SELECT state, count(*) FROM jobs GROUP BY state") == [("succeeded", 8)]
    check_ledger(home, store)


def test_each_gpu_has_a_worker_that_sees_it_alone(home, programs):
    store = home.path / "store.db"
    env = ["env", "CUDA_VISIBLE_DEVICES=4,GPU-b,6"]

    ended = run(home, *env, programs / "longreach", "run", "/dev/stdin", "--device", "cuda:1..2", "--store", store, "--pack-limit", "2", "--engine", "libtorch",
                stdin=SWEEP)

    assert ended.code == 0 and "Even Pairs" in ended.out, ended
    by_worker = query(store, "SELECT DISTINCT substr(w.name, -6), a.device FROM attempts AS a JOIN workers AS w ON w.id = a.worker")
    # Where one was slow to start, the other may have done all of it.
    assert by_worker and set(by_worker) <= {("-gpu-1", "stand-in for a GPU GPU-b"), ("-gpu-2", "stand-in for a GPU 6")}
    assert query(store, "SELECT state, count(*) FROM jobs GROUP BY state") == [("succeeded", 8)]
    check_ledger(home, store)

    ended = run(home, *env, programs / "longreach-worker", "run", "--device", "cuda:3", "--scheduler", "localhost:1")
    assert ended.code == 1 and "CUDA_VISIBLE_DEVICES is '4,GPU-b,6', which has no GPU of that number" in ended.err, ended

    ended = run(home, *env, programs / "longreach", "run", "/dev/stdin", "--device", "cuda:3", "--store", "new.db", stdin=SWEEP)
    assert ended.code == 1 and "the worker cannot run: --device cuda:3: CUDA_VISIBLE_DEVICES is '4,GPU-b,6'" in ended.err, ended
    assert list(home.path.glob("new.db*")) == [], "what is refused leaves nothing"


def test_packs_of_one_process_measure_what_each_measures_alone(home, programs):
    measured = []
    for packs in (1, 3):
        store = home.path / f"store-{packs}.db"
        ended = run(home, programs / "longreach", "run", "/dev/stdin", "--device", "cuda", "--packs", packs, "--store", store, "--pack-limit", "2",
                    "--engine", "resident", stdin=SWEEP)
        assert ended.code == 0 and "Even Pairs" in ended.out, ended
        assert query(store, "SELECT DISTINCT device, engine FROM attempts") == [("stand-in for a GPU", "resident-bf16")]
        check_ledger(home, store)
        measured.append(query(store, "SELECT j.id, m.metric, m.length, m.slice, m.value FROM measurements AS m JOIN jobs AS j ON j.num = m.job ORDER BY 1, 2, 3, 4"))

    assert measured[0] and measured[0] == measured[1]


def test_a_decoder_is_measured_there(home, programs):
    small = ["--layers", "2", "--width", "32", "--mlp", "48", "--heads", "4", "--kv-heads", "2"]
    assert run(home, programs / "bench-llama", "make", "model", *small).code == 0
    for work, value in (("perplexity", "loss"), ("entropy", "mean_entropy"), ("tune", "first_losses"), ("generate", "tokens")):
        arguments = [work, "model", "--length", "24", "--seconds", "0.01", *(["--new", "8", "--beams", "3"] if work == "generate" else [])]
        here, there = (json.loads(run(home, programs / "bench-llama", *arguments, "--device", device).out) for device in ("cpu", "cuda"))
        first = lambda figures: figures[value][0] if work == "tune" else figures[value]
        assert first(there) == first(here) if work == "generate" else first(there) == pytest.approx(first(here), rel=1e-4), work


@pytest.mark.parametrize("name", ["chomsky", "nope"])
def test_golden_vectors_hold_there(home, programs, name):
    ended = run(home, programs / "golden_check", ROOT / "tests/golden" / name)

    assert ended.code == 0 and ", 0 failed" in ended.out, ended
    assert "models/ was computed on the GPU too" in ended.out, ended
