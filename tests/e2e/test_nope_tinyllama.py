"""The preset of the NoPE paper from its published checkpoints: what it would run, and a copy of it that is small enough to be run."""
import re

import pytest

import harness
from harness import ROOT, query, run_cli
from published import make_model
from test_published_models import TOKENIZER

PRESET = ROOT / "proto/catalog/presets/nope-tinyllama.yaml"
LENGTHS = {"2048": "16", "4096": "32", "8192": "48", "16384": "64", "18432": "72"}
SMALLER = [
    (r"layers: 22, embedding_dim: 2048, heads: 32, kv_heads: 4, mlp_dim: 5632", "layers: 2, embedding_dim: 32, heads: 4, kv_heads: 2, mlp_dim: 48"),
    (r"passkey_lengths: \[[^]]*\]", "passkey_lengths: [300, 400], passkey_depths: 2, passkey_tests: 2"),
    (r"attention_scales: &scales \[[^]]*\]", "attention_scales: &scales [1, 1.5]"),
    (r"stride: 256", "stride: 8"), (r"warmup_steps: \d+", "warmup_steps: 1"), (r"steps: 200\b", "steps: 3"), (r"steps: 1000\b", "steps: 4"),
    (r"examples: 8192", "examples: 6"), (r"examples: (64|32|16|8)\b", "examples: 2"), (r"position_bins: \d+", "position_bins: 8"),
    (r"\b(2048|4096|8192|16384|18432)\b", lambda match: LENGTHS[match[0]]),
    (r"name: nope-tinyllama", "name: small"),
]


@pytest.fixture(scope="module")
def home():
    with harness.Home() as home:
        yield home


def test_a_plan_says_what_the_paper_costs(home):
    plan = run_cli(home, "plan", "nope-tinyllama", "-o", "json").json()
    # Twelve fine-tuned models, three searches of a scale and three tunings from what they found.
    assert (plan["jobs"], plan["prerequisites"]) == (68, 18)
    # Weights, moments and gradients of 1.1 billion parameters.
    assert plan["pack_memory_bytes"] == pytest.approx(16 * 1.1e9, rel=0.01)
    # 52 tests of 8192 windows at four lengths are most of it: two operations for each parameter and token, and attention.
    forward = 2 * 1.034e9
    windows = sum(length * forward + 22 * 2 * 2048 * length**2 for length in (2048, 4096, 8192, 16384))
    assert 52 * 8192 * windows < plan["flops"] < 2 * 52 * 8192 * windows
    assert "of a GPU that keeps up 100 TFLOP/s" in run_cli(home, "plan", "nope-tinyllama").out


@harness.needs_worker
def test_a_small_copy_of_it_runs_to_its_end(home):
    text = PRESET.read_text()
    for pattern, smaller in SMALLER:
        text, changed = re.subn(pattern, smaller, text)
        assert changed > 0, pattern
    (home.path / "small.yaml").write_text(text)
    make_model(home.path / "model", 900, window=16, tokenizer=TOKENIZER)
    words = "a text of some words which are not all the same and go on and on\n"
    (home.path / "text").write_text(words * 30)
    (home.path / "more").write_text(words * 40)
    for arguments in (("model", home.path / "model", "--name", "tinyllama-nope", "--nope"), ("model", home.path / "model", "--name", "tinyllama-rope"),
                      *(("tokens", "--test", home.path / "text", "--tokenizer", "tinyllama-rope", "--name", name) for name in ("pg19", "proof-pile")),
                      ("tokens", home.path / "more", "--test", home.path / "text", "--tokenizer", "tinyllama-rope", "--name", "slimpajama")):
        ended = run_cli(home, "data", "import", *arguments)
        assert ended.code == 0, ended
    store = home.path / "small.db"
    ended = run_cli(home, "run", home.path / "small.yaml", "--store", store, "--threads", "1", "-o", "json")
    assert ended.code == 0, ended

    assert query(store, "SELECT state, count(*) FROM jobs GROUP BY state") == [("succeeded", 68 + 18)]
    listed = run_cli(home, "jobs", "small", "--store", store, "--limit", "1000", "-o", "json").json()["jobs"]
    systems = {job["systems"][0]: job["id"] for job in listed}

    def of(system, metric):
        return {(length, slice): value for length, slice, value in query(
            store, "SELECT m.length, m.slice, m.value FROM measurements AS m JOIN jobs AS j ON j.num = m.job WHERE j.id = ? AND m.metric = ?",
            systems[system], metric)}

    tables = [system for system in systems if system.endswith(("-pg19", "-proof-pile"))]
    assert len(systems) == 68 and len(tables) == 52
    for system in tables:
        assert {length for length, _ in of(system, "perplexity")} == {0, 16, 32, 48, 64}, system
    # What is tuned or set makes a difference, at the length that only some were tuned for too.
    for less, more in (("nope-pg19", "nope-heads-18k-pg19"), ("nope-pg19", "nope-scale-1.5-pg19"), ("rope-pg19", "yarn-4-pg19"), ("rope-pg19", "ntk-2-pg19"),
                       ("pi-fair-8k-pg19", "pi-raw-8k-pg19"), ("yarn-fair-16k-proof-pile", "pi-fair-16k-proof-pile")):
        assert of(less, "loss")[64, ""] != of(more, "loss")[64, ""], (less, more)
    assert len(of("nope-heads-4k-pg19", "head_scale")) == 2 * 4 and min(of("nope-heads-4k-pg19", "head_scale").values()) >= 1
    assert len(of("rope-positions", "attention_entropy")) == 8 + 2 * 4
    assert of("nope-scale-search", "best_attention_scale")[0, ""] in (1, 1.5) and of("nope-scale-search", "scale_growth")
    for system in systems:
        assert {length for length, slice in of(system, "passkey_accuracy") if slice == ""} == ({0, 300, 400} if system.endswith("passkey") else set())

    # Nothing is trained again.
    before = query(store, "SELECT max(id) FROM attempts")
    assert run_cli(home, "run", home.path / "small.yaml", "--store", store, "--threads", "1", "-o", "json").code == 0
    assert query(store, "SELECT max(id) FROM attempts") == before
