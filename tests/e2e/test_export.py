"""Jobs' weights as folders that PyPI's transformers loads: it computes with them what the jobs measured."""
import json
import shutil
import subprocess
import sys

import pytest

import harness
from harness import ROOT, Scheduler, query, run_cli
from published import make_model, packed
from test_published_models import DOCUMENTS, GOLDEN, TOKENIZER

pytestmark = harness.needs_worker

LENGTH, STRIDE = 40, 8
SWEEP = f"""
name: export
experiment: llama
data: documents
axes: {{task: tokens, learning_rate: 0.02, seed: 0}}
evaluation: {{lengths: {LENGTH}, stride: {STRIDE}}}
systems:
  - name: rope-yarn
    with: {{axes: {{encoding: rope}}, model: {{folder: rotary}}, positions: {{rope_scaling: yarn, rope_factor: 2}},
           training: {{steps: 4, lengths: 40, batch_size: 4, warmup_steps: 1}}}}
  - name: hybrid
    with: {{axes: {{encoding: rope}}, model: {{folder: hybrid}}, training: {{steps: 4, lengths: 40, batch_size: 4, warmup_steps: 1}}}}
  - name: heads
    with: {{axes: {{encoding: none, learning_rate: 0.1}}, model: {{folder: nope}},
           training: {{trainable: head_scales, steps: 6, lengths: 32, batch_size: 4, warmup_steps: 1, weight_decay: 0}}}}
  - name: nope
    with: {{axes: {{encoding: none}}, model: {{folder: nope}}, training: {{steps: 4, lengths: 40, batch_size: 4, warmup_steps: 1}}}}
  - name: by-position
    with: {{axes: {{encoding: none}}, model: {{folder: nope, attention_scale: 1.5, attention_scale_from: 32}}, training: {{steps: 0}}}}
  - name: bytes
    with: {{data: debian-text, axes: {{task: bytes, encoding: rope}}, model: {{layers: 2, embedding_dim: 32, heads: 4, kv_heads: 2, mlp_dim: 48}},
           training: {{steps: 2, lengths: 32, batch_size: 4, warmup_steps: 1}}, evaluation: {{lengths: 32, stride: 0, examples: 4}}}}
  - name: bytes-hybrid
    with: {{data: debian-text, axes: {{task: bytes, encoding: rope}}, model: {{layers: 2, embedding_dim: 32, heads: 4, kv_heads: 2, mlp_dim: 48}},
           positions: {{none_every: 2}}, training: {{steps: 2, lengths: 32, batch_size: 4, warmup_steps: 1}}, evaluation: {{lengths: 32, stride: 0, examples: 4}}}}
"""


def transformers_says(cases):
    """All cases in one process: what it imports takes it longer than what it computes."""
    asked = {"cases": [{"windows": windows(), "scored": STRIDE, "unrotated": False, **case} for case in cases]}
    ended = subprocess.run([sys.executable, ROOT / "tests/support/transformers_package.py"], input=json.dumps(asked, default=str),
                           capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    answer = json.loads(ended.stdout)
    if "missing" in answer:
        pytest.skip(f"transformers is there beside torch's own Python packages alone (LONGREACH_CUDA=ON): {answer['missing']}")
    return answer["cases"]


def windows():
    """The authors' windows over all documents, as the jobs have them."""
    return [ids[end - LENGTH:end] for ids in DOCUMENTS for end in range(LENGTH, len(ids), STRIDE)]


def hybrid_model(folder):
    """The golden set's model, of which the second layer does not rotate, as its users write such a config.json."""
    shutil.copytree(GOLDEN / "models/A", folder)
    config = json.loads((folder / "config.json").read_text())
    config |= {"architectures": ["SmolLM3ForCausalLM"], "model_type": "smollm3", "no_rope_layers": [1, 0, 1], "pad_token_id": None}
    (folder / "config.json").write_text(json.dumps(config))


@pytest.fixture(scope="module")
def home():
    with harness.Home() as home:
        for number, ids in enumerate(DOCUMENTS):
            packed(home.path / f"test/{number}.bin", ids)
        packed(home.path / "train/0.bin", [number for ids in DOCUMENTS for number in ids])
        make_model(home.path / "pieces", 900, tokenizer=TOKENIZER)
        hybrid_model(home.path / "hybrid")
        (home.path / "corpus.txt").write_text("a line of text that is not short\n" * 200)
        for arguments in (("model", GOLDEN / "models/A", "--name", "rotary"), ("model", GOLDEN / "models/A", "--name", "nope", "--nope"),
                          ("model", home.path / "pieces", "--name", "pieces"), ("model", home.path / "hybrid", "--name", "hybrid"), ("text", home.path / "corpus.txt", "--name", "debian-text"),
                          ("tokens", home.path / "train", "--test", home.path / "test", "--vocabulary", "256", "--name", "documents")):
            ended = run_cli(home, "data", "import", *arguments)
            assert ended.code == 0, ended
        yield home


@pytest.fixture(scope="module")
def jobs(home):
    """The systems' jobs, and the losses that they measured."""
    (home.path / "export.yaml").write_text(SWEEP)
    ended = run_cli(home, "run", home.path / "export.yaml", "--store", home.path / "export.db", "--threads", "1")
    assert ended.code == 0, ended
    listed = run_cli(home, "jobs", "export", "--store", home.path / "export.db", "-o", "json").json()["jobs"]
    losses = dict(query(home.path / "export.db", "SELECT j.id, m.value FROM measurements AS m JOIN jobs AS j ON j.num = m.job "
                                                 "WHERE m.metric = 'loss' AND m.length = 0"))
    return {job["systems"][0]: (job["id"], losses[job["id"]]) for job in listed}


def export(home, job, folder, *arguments):
    return run_cli(home, "export", job, folder, "--store", home.path / "export.db", *arguments)


def test_transformers_computes_what_the_jobs_measured(home, jobs, tmp_path):
    folders = {"rope-yarn": [], "nope": [], "hybrid": [], "heads": [], "heads-folded": ["--fold-scales"]}
    for name, arguments in folders.items():
        ended = export(home, jobs[name.removesuffix("-folded")][0], tmp_path / name, *arguments)
        assert ended.code == 0, ended
    cases = [{"folder": tmp_path / name} for name in folders]
    *as_it_is, nope_unrotated, rope_unrotated = transformers_says([*cases, *({"folder": tmp_path / name, "unrotated": True} for name in ("nope", "rope-yarn"))])
    says = dict(zip(folders, as_it_is))
    for name in ("rope-yarn", "nope", "hybrid", "heads-folded"):
        assert says[name]["loss"] == pytest.approx(jobs[name.removesuffix("-folded")][1], abs=1e-4), name
        assert says[name]["unused"] == []
    # It rotates in the others.
    assert len({jobs[name][1] for name in ("hybrid", "nope")} | {says["rope-yarn"]["loss"]}) == 3
    # Scales that are tensors of their own are left out by transformers alone, which is why the command says so.
    assert len(says["heads"]["unused"]) == 3 and abs(says["heads"]["loss"] - jobs["heads"][1]) > 1e-4
    # Rotating by nothing is no rotation, to the last bit: not for models that have one.
    assert says["nope"]["loss"] == nope_unrotated["loss"]
    assert abs(rope_unrotated["loss"] - says["rope-yarn"]["loss"]) > 1e-3


def test_an_exported_model_is_a_model_to_import(home, jobs, tmp_path):
    ended = export(home, jobs["heads"][0], tmp_path / "heads")
    assert ended.code == 0 and "no positions" in ended.out and "24 scales of attention heads" in ended.out and "after 6 updates" in ended.out, ended
    ended = run_cli(home, "data", "import", "model", tmp_path / "heads", "--name", "heads", "-o", "json")
    assert ended.code == 0 and "no positions" in ended.json()["data_set"]["contents"], ended
    (home.path / "again.yaml").write_text(SWEEP[:SWEEP.index("systems:")].replace("name: export", "name: again") + """systems:
  - {name: again, with: {axes: {encoding: none}, model: {folder: heads}, training: {steps: 0}}}
""")
    ended = run_cli(home, "run", home.path / "again.yaml", "--store", home.path / "again.db", "--threads", "1")
    assert ended.code == 0, ended
    assert query(home.path / "again.db", "SELECT value FROM measurements WHERE metric = 'loss' AND length = 0") == [(jobs["heads"][1],)]


def test_a_model_of_bytes_and_one_with_a_tokenizer(home, jobs, tmp_path):
    ended = export(home, jobs["bytes"][0], tmp_path / "bytes", "-o", "json")
    assert ended.code == 0, ended
    assert ended.json() == {"schema": "longreach/v1", "folder": str(tmp_path / "bytes"), "files": ["config.json", "model.safetensors"], "step": 2,
                            "nope": False, "head_scales": 0}
    config = json.loads((tmp_path / "bytes/config.json").read_text())
    assert (config["vocab_size"], config["num_key_value_heads"], config["max_position_embeddings"]) == (256, 2, 32)

    assert config["model_type"] == "llama"
    assert export(home, jobs["bytes-hybrid"][0], tmp_path / "bytes-hybrid").code == 0
    config = json.loads((tmp_path / "bytes-hybrid/config.json").read_text())
    assert (config["model_type"], config["no_rope_layers"]) == ("smollm3", [1, 0])
    ended = run_cli(home, "data", "import", "model", tmp_path / "bytes-hybrid", "--name", "bytes-hybrid", "-o", "json")
    assert ended.code == 0 and "2 layers (1 without positions) of width 32" in ended.json()["data_set"]["contents"], ended

    (home.path / "pieces.yaml").write_text(SWEEP[:SWEEP.index("data:")] + """data: text-pieces
axes: {task: tokens, encoding: rope, learning_rate: 0.1, seed: 0}
model: {folder: pieces}
training: {steps: 0}
evaluation: {lengths: 16, examples: 2}
""")
    ended = run_cli(home, "data", "import", "tokens", "--test", home.path / "corpus.txt", "--tokenizer", "pieces", "--name", "text-pieces")
    assert ended.code == 0, ended
    ended = run_cli(home, "run", home.path / "pieces.yaml", "--store", home.path / "export.db", "--threads", "1")
    assert ended.code == 0, ended
    (job,) = query(home.path / "export.db", "SELECT id FROM jobs ORDER BY num DESC LIMIT 1")[0]
    assert export(home, job, tmp_path / "pieces").code == 0
    assert (tmp_path / "pieces/tokenizer.model").read_bytes() == TOKENIZER.read_bytes()


def test_what_is_refused_leaves_nothing(home, jobs, tmp_path):
    (tmp_path / "there").mkdir()
    ended = export(home, jobs["nope"][0], tmp_path / "there")
    assert ended.code == 1 and "there" in ended.err and ended.err.count("error:") == 1, ended
    ended = export(home, jobs["nope"][0], tmp_path / "no/such/folder")
    assert ended.code == 1 and ended.err.count("error:") == 1, ended
    ended = export(home, "ffffffff", tmp_path / "new")
    assert ended.code == 4, ended
    ended = export(home, jobs["nope"][0], tmp_path / "new", "--data-folder", tmp_path / "there")
    assert ended.code == 4 and "nope" in ended.err, ended
    ended = export(home, jobs["by-position"][0], tmp_path / "new")
    assert ended.code == 2 and "has model.attention_scale_from 32" in ended.err, ended

    # A job of another kind, and one that has not begun.
    scheduler = Scheduler(home, store="waiting.db")
    for sweep in (["quickstart", "--set", "axes.seed=0"], [home.path / "export.yaml"]):
        assert run_cli(home, "submit", *sweep, scheduler=scheduler).code == 0
    (other,) = query(scheduler.store, "SELECT id FROM jobs WHERE experiment = 'algorithmic' LIMIT 1")[0]
    ended = run_cli(home, "export", other, tmp_path / "new", scheduler=scheduler)
    assert ended.code == 2 and "is of the kind 'algorithmic', which has no form in transformers" in ended.err, ended
    ended = run_cli(home, "export", jobs["nope"][0], tmp_path / "new", scheduler=scheduler)
    assert ended.code == 1 and "has neither weights nor a checkpoint" in ended.err, ended
    scheduler.kill()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["there"]
    assert list((tmp_path / "there").iterdir()) == []
