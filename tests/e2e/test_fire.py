"""FIRE's biases from the sweep file to the weights: the settings that a job has are those that its trainer had, whichever engine that is."""
import json
import struct

import harness
from harness import query, run_cli

pytestmark = harness.needs_worker

SWEEP = """
name: fire
experiment: algorithmic
axes: {task: reverse_string, encoding: [fire, "fire:randomized"], learning_rate: [1.0e-3, 3.0e-3], seed: 0}
model: {layers: 2, embedding_dim: 32, heads: 4, mlp_dim: 64, fire_width: [8, 32], fire_threshold: 5}
positions: {max_position: 64}
training: {steps: 10, batch_size: 8, lengths: 1..6}
evaluation: {lengths: [7, 20], examples: 4}
"""


def weights(store, sha256):
    """The tensors of a file of weights, each with the members in front."""
    with (store.parent / f"{store.name}.artifacts" / sha256[:2] / sha256).open("rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        return {name: one for name, one in json.loads(file.read(size)).items() if name != "__metadata__"}


def test_its_network_is_that_of_the_job_and_the_fast_engine_trains_it(home):
    store = home.path / "fire.db"
    ran = run_cli(home, "run", "/dev/stdin", "--store", store, "--engine", "lanes", "--threads", "1", stdin=SWEEP)
    assert ran.code == 0, ran
    assert query(store, "SELECT encoding, randomized, state, count(*) FROM jobs GROUP BY 1, 2, 3 ORDER BY 1, 2") == [
        ("fire", 0, "succeeded", 4), ("fire", 1, "succeeded", 4)]
    engines = [engine for (engine,) in query(store, "SELECT DISTINCT engine FROM attempts")]
    assert len(engines) == 1 and engines[0].startswith("lanes-"), engines
    for width in (8, 32):
        # 32 is what a job has that says nothing.
        files = query(store, "SELECT DISTINCT a.sha256 FROM artifacts AS a JOIN jobs AS j ON j.num = a.job WHERE a.kind = 'weights' AND "
                             "j.encoding = 'fire' AND (j.spec LIKE '%model.fire_width=8%') = ?", width == 8)
        assert files
        for (sha256,) in files:
            tensors = weights(store, sha256)
            for layer in (0, 1):
                place = f"param/layer{layer}.attn.fire_"
                assert tensors[place + "1.w"]["shape"][1:] == [width]
                assert tensors[place + "2.w"]["shape"][1:] == [width, 4]
                assert tensors[place + "c"]["shape"][1:] == [1]


def test_one_network_for_all_layers(home):
    store = home.path / "shared.db"
    ran = run_cli(home, "run", "/dev/stdin", "--store", store, "--threads", "1", "--set", "model.fire_shared=true", "--set", "model.fire_width=8",
                  stdin=SWEEP)
    assert ran.code == 0, ran
    files = query(store, "SELECT DISTINCT sha256 FROM artifacts WHERE kind = 'weights'")
    assert files
    for (sha256,) in files:
        assert sorted(name for name in weights(store, sha256) if "fire" in name) == [
            f"param/attn.fire_{part}" for part in ("1.b", "1.w", "2.w", "c", "m")]


def test_libtorch_trains_it_where_the_tables_of_all_pairs_are_too_large(home):
    store = home.path / "long.db"
    ran = run_cli(home, "run", "/dev/stdin", "--store", store, "--engine", "lanes", "--threads", "1", "--set", "encoding=fire", "--set", "learning_rate=1.0e-3",
                  "--set", "model.fire_width=8", "--set", "model.layers=64", "--set", "training.steps=1", "--set", "evaluation.lengths=600",
                  "--set", "evaluation.examples=1", stdin=SWEEP)
    assert ran.code == 0, ran
    assert query(store, "SELECT DISTINCT engine FROM attempts") == [("libtorch",)]
    (job,) = query(store, "SELECT min(id) FROM jobs")[0]
    logs = run_cli(home, "logs", job, "--store", store)
    assert "engine libtorch instead of lanes" in logs.out and "which does not know encoding fire on tapes of 1200 tokens" in logs.out, logs


def test_what_its_formula_has_no_place_for_is_refused(home):
    for setting, why in (("model.fire_width=0", "model.fire_width: 0 is below 1"), ("model.fire_threshold=0", "model.fire_threshold: 0 is below 1")):
        ended = run_cli(home, "plan", "/dev/stdin", "--set", setting, stdin=SWEEP)
        assert ended.code == 2 and why in ended.err, ended


def test_other_encodings_have_the_same_job_whatever_its_settings_are(home):
    ended = run_cli(home, "plan", "/dev/stdin", "--set", "encoding=rope", stdin=SWEEP)
    assert ended.code == 2 and "leave 'rope' to a sweep of its own" in ended.err, ended
