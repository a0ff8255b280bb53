"""Jobs of LLaMA decoders in one sweep of systems: pretrained once, everything else begins with those weights or with what was
measured of them; an interrupted run ends with the bits of an undisturbed one."""
import json
import re
import shutil
import sys

import pytest

import harness
from harness import BIN, Scheduler, Worker, kill_in_the_middle, query, results, run_cli, until

pytestmark = harness.needs_worker

WORDS = "the length of a tape is not its end ".split(" ")
SWEEP = """
name: tiny
experiment: llama
data: words
axes: {task: bytes, learning_rate: 1e-2, seed: 0..1}
model: {layers: 2, embedding_dim: 16, heads: 2, kv_heads: 1, mlp_dim: 24}
training: {steps: 60, batch_size: 4, lengths: 16, warmup_steps: 3}
evaluation: {lengths: [16, 32, 64], stride: 8, examples: 6, position_bins: 8}
systems:
  - name: rope
    with: {axes: {encoding: rope}}
  - name: nope
    with: {axes: {encoding: none}}
  - name: yarn
    with:
      axes: {encoding: rope}
      positions: {rope_scaling: yarn, rope_factor: 4, original_length: 16}
      training: {steps: 0}
      evaluation: {passkey_lengths: [320, 256], passkey_depths: 2, passkey_tests: 2}
      inputs: &weights [{name: weights, artifact: weights}]
  - name: yarn-tuned
    with:
      axes: {encoding: rope, learning_rate: 1e-3}
      positions: {rope_scaling: yarn, rope_factor: 4, original_length: 16}
      training: {steps: 8, lengths: 64}
      inputs: *weights
  - name: heads
    with:
      axes: {encoding: none, learning_rate: 0.1}
      training: {trainable: head_scales, steps: 8, lengths: 32, weight_decay: 0}
      inputs:
        - {name: weights, artifact: weights}
        - name: attention_scale
          metric: best_attention_scale
          from:
            positions: {original_length: 16}
            training: {steps: 0}
            evaluation: {lengths: 32, examples: 6, position_bins: 4, attention_scales: [1, 1.25, 1.5, 2]}
            inputs: *weights
table: {rows: system, columns: length, metric: perplexity, aggregate: mean, row_order: [rope, nope]}
"""
LANDMARK = """
name: keys
experiment: llama
data: words
axes: {task: bytes, encoding: none, learning_rate: 1e-2, seed: 0}
model: {layers: 2, embedding_dim: 16, heads: 2, kv_heads: 1, mlp_dim: 24}
training: {steps: 2, batch_size: 4, lengths: 16, warmup_steps: 1}
evaluation:
  {lengths: 16, examples: 0, stride: 8, perplexity_protocol: yarn, passkey_lengths: [300, 257], passkey_tests: 2, passkey_prompts: landmark}
"""
SYSTEMS = ["rope", "nope", "heads", "yarn", "yarn-tuned"]
# Of two seeds: five systems, and the search of a scale.
JOBS = 12


@pytest.fixture(scope="module")
def home():
    with harness.Home() as home:
        text = home.path / "text"
        text.write_text(" ".join(WORDS[(i * i + i // 7) % len(WORDS)] for i in range(4000)))
        ended = harness.run(home, BIN / "longreach-worker", "data", "import", "text", text, "--name", "words")
        assert ended.code == 0, ended
        (home.path / "tiny.yaml").write_text(SWEEP)
        yield home


@pytest.fixture(scope="module")
def undisturbed(home):
    ended = run_cli(home, "run", home.path / "tiny.yaml", "--store", home.path / "plain.db", "--threads", "1")
    assert ended.code == 0, ended
    return home.path / "plain.db"


def test_the_table_has_a_row_for_each_system(home, undisturbed):
    ended = run_cli(home, "results", "tiny", "--store", undisturbed, "-o", "json")
    assert ended.code == 0, ended
    table = json.loads(ended.out)
    # The sweep keeps the table of its file, with the order of its rows.
    assert [row["key"] for row in table["rows"]] == SYSTEMS
    assert [column["key"] for column in table["columns"]] == ["16", "32", "64"]
    cells = [cell["measured"] for cell in table["cells"]]
    assert len(cells) == 15 and all(1 < cell < 256 for cell in cells)
    assert all(cell["jobs"] == 2 for cell in table["cells"])


def test_a_job_is_called_by_its_system(home, undisturbed):
    listed = run_cli(home, "jobs", "tiny", "--store", undisturbed, "-o", "json").json()["jobs"]
    assert sorted({job["systems"][0] for job in listed}) == sorted(SYSTEMS)
    assert all(len(job["systems"]) == 1 for job in listed)
    shown = run_cli(home, "jobs", "tiny", "--store", undisturbed)
    assert shown.out.splitlines()[0].split()[:3] == ["ID", "SYSTEM", "TASK"], shown
    for job in listed[::2]:
        system, = job["systems"]
        assert f"(system {system}, bytes " in run_cli(home, "explain", job["id"], "--store", undisturbed).out
        assert f"  system {system}\n" in run_cli(home, "job", job["id"], "--store", undisturbed).out


def test_passkeys_are_measured_by_length_and_depth(home, undisturbed):
    def table(*options):
        ended = run_cli(home, "results", "tiny", "--store", undisturbed, "--metric", "passkey_accuracy", "--rows", "system", "--columns", "length",
                        "--aggregate", "max", *options, "-o", "json")
        assert ended.code == 0, ended
        return ended.json()

    for options, jobs, shares in (((), 2, (0, 25, 50, 75, 100)), (("--slice", "depth=0.5"), 2, (0, 50, 100)), (("--only", "seed=0"), 1, (0, 25, 50, 75, 100))):
        measured = table("--only", "system=yarn", *options)
        assert [column["key"] for column in measured["columns"]] == ["256", "320"]
        assert len(measured["cells"]) == 2
        assert all(cell["jobs"] == jobs and cell["measured"] in shares for cell in measured["cells"]), measured
    # Of systems that were not asked there is nothing.
    every = table()
    assert {row["key"] for row, cell in zip(every["rows"], every["cells"][::2]) if "measured" in cell} == {"yarn"}
    assert every["notes"] == ["8 jobs succeeded without a value of passkey_accuracy at some length"]
    assert query(undisturbed, "SELECT DISTINCT length, slice FROM measurements WHERE metric = 'passkey_accuracy' ORDER BY length, slice") == [
        (length, slice) for length in (0, 256, 320) for slice in ("", "depth=0", "depth=0.5")]


def test_other_protocols_of_passkeys_and_perplexity_are_jobs_of_their_own(home):
    (home.path / "landmark.yaml").write_text(LANDMARK)
    store = home.path / "landmark.db"
    ended = run_cli(home, "run", home.path / "landmark.yaml", "--store", store, "--threads", "1")
    assert ended.code == 0, ended
    assert query(store, "SELECT length, slice FROM measurements WHERE metric = 'passkey_accuracy' ORDER BY length, slice") == [
        (length, "") for length in (0, 257, 300)]
    measured = run_cli(home, "results", "keys", "--store", store, "--metric", "passkey_accuracy", "--rows", "encoding", "--columns", "length", "-o", "json").json()
    assert [column["key"] for column in measured["columns"]] == ["257", "300"]
    assert all(cell["measured"] in (0, 50, 100) for cell in measured["cells"]), measured
    # Of their perplexity's protocol the short last window is a part: other numbers than the authors'.
    authors = (home.path / "landmark.yaml").read_text().replace("perplexity_protocol: yarn, ", "").replace("name: keys", "name: authors")
    (home.path / "authors.yaml").write_text(authors)
    ended = run_cli(home, "run", home.path / "authors.yaml", "--store", store, "--threads", "1")
    assert ended.code == 0, ended
    losses = [value for value, in query(store, "SELECT DISTINCT value FROM measurements WHERE metric = 'loss' AND length = 16")]
    assert len(losses) == 2 and losses[0] == pytest.approx(losses[1], rel=0.05)
    # A map of depths has nothing to show, and says why.
    file = home.path / "depths.vl.json"
    ended = run_cli(home, "plot", "keys", "--store", store, "--file", file, "--metric", "passkey_accuracy", "--y", "depth")
    assert ended.code == 1 and not file.exists(), ended
    assert "no job has a value of passkey_accuracy by depth at a length; there are values without slices" in ended.err


def test_slices_are_axes_of_tables_and_figures(home, undisturbed, monkeypatch):
    environment = home.environment()
    # The Python of these tests draws.
    monkeypatch.setattr(home, "environment", lambda: {**environment, "LONGREACH_PYTHON": sys.executable})

    def plot(file, *options):
        ended = run_cli(home, "plot", "tiny", "--store", undisturbed, "--file", home.path / file, *options)
        assert ended.code == 0, ended
        return (home.path / file).read_text(), ended.out

    def texts(svg):
        return set(re.findall(r"<text[^>]*>([^<]*)</text>", svg))

    # Passkeys by length and depth: of the one system that was asked.
    passkeys = ("--metric", "passkey_accuracy", "--y", "depth")
    values = json.loads(plot("passkeys.vl.json", *passkeys)[0])["data"]["values"]
    assert {(value["panel"], value["x"], value["y"]) for value in values} == {("yarn", x, y) for x in ("256", "320") for y in ("0", "0.5")}
    stored = query(undisturbed, "SELECT avg(value) FROM measurements WHERE metric = 'passkey_accuracy' AND length = 320 AND slice = 'depth=0.5'")[0][0]
    assert [value["value"] for value in values if (value["x"], value["y"]) == ("320", "0.5")] == [pytest.approx(100 * stored)]
    assert {"length", "depth", "256", "320", "0.5", "passkeys retrieved (%)"} <= texts(plot("passkeys.svg", *passkeys)[0])

    # Scales of heads and their entropies at the last positions.
    heads = ("--metric", "attention_entropy", "--length", "64", "--x", "head_scale", "--points", "head", "--lines", "layer", "--only", "system=heads")
    values = json.loads(plot("heads.vl.json", *heads)[0])["data"]["values"]
    pairs = query(undisturbed, "SELECT s.slice, avg(s.value), avg(e.value) FROM measurements AS s JOIN measurements AS e ON e.job = s.job AND e.slice = s.slice "
                               "AND e.metric = 'attention_entropy' AND e.length = 64 WHERE s.metric = 'head_scale' GROUP BY s.slice ORDER BY s.slice")
    drawn = sorted((f"{value['line'].replace(' ', '=')},{value['point'].replace(' ', '=')}", value["x"], value["y"]) for value in values)
    assert drawn == [(slice, pytest.approx(x), pytest.approx(y)) for slice, x, y in pairs]
    assert len(drawn) == 4
    assert {"layer", "scale of an attention head", "attention entropy (nats)", "layer 1"} <= texts(plot("heads.svg", *heads)[0])

    # Every head against position, from the files that jobs left: a panel for each layer and system.
    curves = ("--metric", "attention_entropy", "--lines", "head", "--only", "system=nope,heads", "--only", "layer=1")
    values = json.loads(plot("curves.vl.json", *curves)[0])["data"]["values"]
    assert {value["panel"] for value in values} == {"nope, layer 1", "heads, layer 1"}
    assert {(value["line"], value["x"]) for value in values} == {(f"head {head}", end) for head in range(2) for end in range(8, 65, 8)}
    last = query(undisturbed, "SELECT avg(value) FROM measurements WHERE metric = 'attention_entropy' AND length = 64 AND slice = 'layer=1,head=0' "
                              "AND job IN (SELECT job FROM measurements WHERE metric = 'head_scale')")[0][0]
    assert [value["y"] for value in values if (value["panel"], value["line"], value["x"]) == ("heads, layer 1", "head 0", 64)] == [pytest.approx(last)]
    assert {"head", "nope, layer 1", "head 1", "attention entropy (nats)"} <= texts(plot("curves.svg", *curves)[0])

    # Any two metrics; with three points a line goes through them.
    svg, said = plot("losses.svg", "--metric", "loss", "--x", "perplexity", "--points", "length")
    assert {"perplexity", "cross-entropy (nats)", "rope"} <= texts(svg)
    assert re.search(r"^  nope: 3 points, correlation (0\.9|1\.000)", said, re.MULTILINE), said

    # A line for each scale that was tried: nothing but the search behind an input has them.
    ended = run_cli(home, "results", "tiny", "--store", undisturbed, "--metric", "position_loss", "--rows", "attention_scale", "--columns", "length")
    assert ended.code == 0, ended
    assert "note: no job has a value of position_loss by attention_scale at a length" in ended.out


def test_each_model_was_pretrained_once(undisturbed):
    assert query(undisturbed, "SELECT count(*) FROM jobs WHERE state = 'succeeded'") == [(JOBS,)]
    assert query(undisturbed, "SELECT encoding, count(*) FROM jobs WHERE steps = 60 GROUP BY encoding ORDER BY encoding") == [
        ("none", 2), ("rope", 2)]


def test_tuning_began_with_the_measured_scale(undisturbed):
    tuned = query(undisturbed, "SELECT j.num, m.value FROM jobs AS j JOIN job_inputs AS i ON i.job = j.num AND i.name = 'attention_scale' "
                               "JOIN measurements AS m ON m.job = i.source AND m.metric = i.metric AND m.length = 0 AND m.slice = ''")
    assert len(tuned) == 2
    for job, best in tuned:
        assert best in (1, 1.25, 1.5, 2)
        losses = dict(query(undisturbed, "SELECT m.slice, m.value FROM measurements AS m JOIN job_inputs AS i ON i.source = m.job WHERE i.job = ? "
                                         "AND i.name = 'attention_scale' AND m.metric = 'position_loss' AND m.length = 32 AND m.slice != ''", job))
        assert min(losses, key=losses.get) == f"attention_scale={best:g}"
        scales = [value for (value,) in query(undisturbed, "SELECT value FROM measurements WHERE job = ? AND metric = 'head_scale'", job)]
        # The rate of 8 updates moves a scale by less than 8 times 0.1, and none falls below 1.
        assert len(scales) == 4 and all(max(1, best - 0.8) <= scale <= best + 0.8 for scale in scales)


def test_the_same_command_computes_nothing_again(home, undisturbed):
    attempts = query(undisturbed, "SELECT count(*) FROM attempts")
    ended = run_cli(home, "run", home.path / "tiny.yaml", "--store", undisturbed)
    assert ended.code == 0, ended
    assert query(undisturbed, "SELECT count(*) FROM attempts") == attempts


def test_a_worker_killed_in_the_middle_changes_no_bit(home, undisturbed):
    scheduler = Scheduler(home, "--lease-term-s", "3", "--renew-every-s", "1", store="killed.db")
    submitted = run_cli(home, "submit", home.path / "tiny.yaml", scheduler=scheduler)
    assert submitted.code == 0, submitted
    kill_in_the_middle(home, scheduler, "--checkpoint-every-s", "0.05", least_step=1)
    Worker(home, scheduler)
    waited = run_cli(home, "wait", "last", scheduler=scheduler)
    assert waited.code == 0, waited
    assert query(scheduler.store, "SELECT 1 FROM attempts WHERE start_step > 0"), "nothing was resumed"
    assert results(scheduler.store) == results(undisturbed)
    scheduler.kill()


@pytest.mark.parametrize("setting, said", [
    ("positions.rope_scaling=longrope", "unknown word 'longrope'"),
    ("evaluation.lengths=16,32,100000", "100001 bytes are more than the"),
])
def test_what_cannot_be_computed_is_said(home, setting, said):
    ended = run_cli(home, "run", home.path / "tiny.yaml", "--store", home.path / "refused.db", "--set", setting, "--set", "training.steps=5",
                    "--set", "evaluation.position_bins=0")
    assert ended.code != 0
    text = ended.out + ended.err
    if said not in text:
        text += str(query(home.path / "refused.db", "SELECT failure FROM jobs"))
    assert said in text


def test_a_model_beyond_the_memory_is_refused_with_its_bytes(home):
    big = ["model.layers=500", "model.embedding_dim=65536", "model.mlp_dim=65536", "evaluation.position_bins=0"]
    ended = run_cli(home, "run", home.path / "tiny.yaml", "--store", home.path / "big.db", *[part for one in big for part in ("--set", one)])
    assert ended.code == 1, ended
    failures = [failure for (failure,) in query(home.path / "big.db", "SELECT failure FROM jobs WHERE steps = 60")]
    assert failures and all("refused: model.layers: 500 layers of width 65536 take " in failure and "bytes of memory at any length" in failure for failure in failures)


MIXED = """
name: mixed
experiment: llama
data: words
axes: {task: bytes, encoding: none, learning_rate: 1e-2, seed: 0}
model: {layers: 1, embedding_dim: 16, heads: 2, kv_heads: 1, mlp_dim: 24}
training: {steps: 10, batch_size: 4, lengths: 16, warmup_steps: 1, mixture: [words, code], mixture_weights: [3, 1]}
evaluation: {lengths: 16, examples: 6}
"""


def test_a_mixture_waits_until_all_of_it_is_there(home, tmp_path):
    there = tmp_path / "data"
    shutil.copytree(home.path / "share/longreach/data/words", there / "words")
    (home.path / "mixed.yaml").write_text(MIXED)
    (home.path / "code").write_text("for (;;) {}\n" * 500)
    scheduler = Scheduler(home, store="mixed.db")
    Worker(home, scheduler, "--data-folder", there, name="half")
    submitted = run_cli(home, "submit", home.path / "mixed.yaml", scheduler=scheduler)
    assert submitted.code == 0, submitted
    (job,) = query(scheduler.store, "SELECT id FROM jobs")[0]
    until(lambda: "'half' has no data set 'code'" in run_cli(home, "explain", job, scheduler=scheduler).out, "the worker is unable")

    imported = run_cli(home, "data", "import", "text", home.path / "code", "--name", "code", "--data-folder", there)
    assert imported.code == 0, imported
    waited = run_cli(home, "wait", "last", scheduler=scheduler)
    assert waited.code == 0, waited
    ((spec,),) = query(scheduler.store, "SELECT spec FROM jobs")
    assert "training.mixture=code,words\ntraining.mixture_weights=1,3\n" in spec
    assert results(scheduler.store)
    scheduler.kill()


def test_nope_small_pretrains_two_models_for_all_its_systems(home):
    ended = run_cli(home, "plan", "nope-small", "-o", "json")
    assert ended.code == 0, ended
    plan = json.loads(ended.out)
    # Beside the systems only the two searches of a scale that tuning begins with.
    assert (plan["jobs"], plan["prerequisites"]) == (17, 2)
