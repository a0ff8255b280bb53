"""T5's biases from the sweep file to the weights: the settings that a job has are those that its trainer had."""
import json
import struct

import harness
from harness import query, run_cli

pytestmark = harness.needs_worker

SWEEP = """
name: t5
experiment: algorithmic
axes: {task: reverse_string, encoding: [t5, "t5:randomized"], learning_rate: [1.0e-3, 3.0e-3], seed: 0}
model: {layers: 2, embedding_dim: 32, heads: 4, mlp_dim: 64, t5_buckets: [8, 32], t5_max_distance: 40}
positions: {max_position: 64}
training: {steps: 10, batch_size: 8, lengths: 1..6}
evaluation: {lengths: [7, 20], examples: 4}
"""


def shapes(store, sha256):
    """Of the tensors of a file of weights, each with the members in front."""
    with (store.parent / f"{store.name}.artifacts" / sha256[:2] / sha256).open("rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        return {name: one["shape"] for name, one in json.loads(file.read(size)).items() if name != "__metadata__"}


def test_its_buckets_are_those_of_the_job_by_the_fast_engine(home):
    store = home.path / "t5.db"
    ran = run_cli(home, "run", "/dev/stdin", "--store", store, "--engine", "lanes", "--threads", "1", stdin=SWEEP)
    assert ran.code == 0, ran
    assert query(store, "SELECT encoding, randomized, state, count(*) FROM jobs GROUP BY 1, 2, 3 ORDER BY 1, 2") == [
        ("t5", 0, "succeeded", 4), ("t5", 1, "succeeded", 4)]
    assert all(engine.startswith("lanes") for (engine,) in query(store, "SELECT engine FROM attempts"))
    for buckets in (8, 32):
        files = query(store, "SELECT DISTINCT a.sha256 FROM artifacts AS a JOIN jobs AS j ON j.num = a.job WHERE a.kind = 'weights' AND "
                             "j.encoding = 't5' AND (j.spec LIKE '%model.t5_buckets=8%') = ?", buckets == 8)
        assert files
        for (sha256,) in files:
            assert shapes(store, sha256)["param/attn.t5_bias"][1:] == [4, buckets]


def test_what_its_formula_has_no_place_for_is_refused(home):
    for setting, why in (("model.t5_buckets=7", "model.t5_buckets: 7 is odd"), ("model.t5_max_distance=16", "is not above 16, half of model.t5_buckets")):
        ended = run_cli(home, "plan", "/dev/stdin", "--set", setting, stdin=SWEEP)
        assert ended.code == 2 and why in ended.err, ended


def test_other_encodings_have_the_same_job_whatever_its_settings_are(home):
    ended = run_cli(home, "plan", "/dev/stdin", "--set", "encoding=rope", stdin=SWEEP)
    assert ended.code == 2 and "leave 'rope' to a sweep of its own" in ended.err, ended
