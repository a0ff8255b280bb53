"""`longreach tensorboard` writes what is in the store, as TensorBoard's own messages read it."""
import importlib
import struct
import sys

import pytest
from grpc_tools import protoc

import harness
from harness import query, run_cli

pytestmark = harness.needs_worker

# As far as scalars need them, of TensorBoard's event.proto and summary.proto.
EVENTS = """
syntax = "proto3";
message Value { string tag = 1; float simple_value = 2; }
message Summary { repeated Value value = 1; }
message Event { double wall_time = 1; int64 step = 2; string file_version = 3; Summary summary = 5; }
"""


@pytest.fixture
def event(tmp_path, monkeypatch):
    (tmp_path / "lr_events.proto").write_text(EVENTS)
    assert protoc.main(["protoc", f"-I{tmp_path}", f"--python_out={tmp_path}", str(tmp_path / "lr_events.proto")]) == 0
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("lr_events_pb2", None)
    return importlib.import_module("lr_events_pb2").Event


def scalars(event, path):
    """Of a file: (tag, step) and value, in their order."""
    data, at, events = path.read_bytes(), 0, []
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        events.append(event.FromString(data[at + 12:at + 12 + length]))
        at += 16 + length
    assert at == len(data) and events[0].file_version == "brain.Event:2"
    return [((one.tag, e.step), one.simple_value) for e in events[1:] for one in e.summary.value]


def test_the_files_have_every_value_of_the_sweep(home, event):
    store = home.path / "s.db"
    ran = run_cli(home, "run", "quickstart", "--store", store, "--set", "training.steps=10", "--set", "evaluation.examples=8", "--set", "evaluation.lengths=11..13",
                  "--set", "encoding=rope,alibi:randomized", "--set", "seed=0,1", "--set", "evaluation.curve_every=4", "--set", "evaluation.curve_lengths=12,13", "--threads", "2")
    assert ran.code == 0, ran
    written = run_cli(home, "tensorboard", "quickstart", "runs", "--store", store, "-o", "json")
    assert written.code == 0, written
    files = sorted((home.path / "runs").rglob("*tfevents*"))
    runs = {str(file.parent.relative_to(home.path / "runs")) for file in files}
    assert runs == {f"{task}/{encoding}/rate-0.0005_seed-{seed}" for task in ("even_pairs", "bucket_sort") for encoding in ("rope", "alibi:randomized") for seed in (0, 1)}
    assert len(files) == 2 * len(runs)

    count = 0
    for run in runs:
        task, encoding, name = run.split("/")
        (job,) = query(store, "SELECT num FROM jobs WHERE task = ? AND encoding || iif(randomized, ':randomized', '') = ? AND seed = ?", task, encoding, int(name[-1]))
        written_in = [pair for file in files if file.parent == home.path / "runs" / run for pair in scalars(event, file)]
        for tag in {tag for (tag, _), _ in written_in}:
            steps = [step for (one, step), _ in written_in if one == tag]
            assert steps == sorted(set(steps)), f"{tag}: TensorBoard forgets what comes before a smaller step"
        found = dict(written_in)
        expected = {("training_loss", step): loss for step, loss in query(store, "SELECT step, loss FROM progress WHERE job = ?", *job)}
        for metric, length, part, value in query(store, "SELECT metric, length, slice, value FROM measurements WHERE job = ?", *job):
            if part:
                expected[(f"{metric}/by_step/" + (f"length={length}" if length else "over_all_lengths"), int(part.removeprefix("step=")))] = value
            else:
                expected[(f"{metric}/by_length", length) if length else (f"{metric}/over_all_lengths", 10)] = value
        assert found == pytest.approx(expected, rel=1e-6)
        assert len(expected) >= 10 + 2 * (4 + 3 * 3)  # Losses; accuracy and loss at the end, and at three points of two lengths and their mean.
        count += len(expected)
    assert written.json()["values"] == count

    again = run_cli(home, "tensorboard", "quickstart", "runs", "--store", store)
    assert again.code == 1 and "left alone" in again.err, again
    few = run_cli(home, "tensorboard", "quickstart", "few", "--only", "seed=0", "--only", "task=even_pairs", "--store", store)
    assert few.code == 0, few
    assert {file.parent.parent.name for file in (home.path / "few").rglob("*tfevents*")} == {"rope", "alibi:randomized"}
