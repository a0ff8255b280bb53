"""Published models and corpora of tokens as inputs of jobs: imported from the folders and files that they are published as, tested
and tuned. The model is the golden set's, whose losses transformers computed."""
import json
import os
import pathlib
import re
import shutil
import struct

import pytest

import harness
from harness import ROOT, Scheduler, Worker, kill_in_the_middle, query, results, run_cli, until
from published import packed
from test_tokenizer import Program

pytestmark = harness.needs_worker

GOLDEN = ROOT / "tests/golden/nope"
TOKENIZER = GOLDEN / "tokenizer/tokenizer.model"
DOCUMENTS = json.loads((GOLDEN / "ppl/docs.json").read_text())["documents"]
SWEEP = """
name: tiny
experiment: llama
data: documents
axes: {task: tokens, learning_rate: 0.1, seed: 0}
training: {steps: 0}
systems:
"""


def perplexities():
    """What transformers computed with the authors' windows, all of them; by case, length and stride."""
    rows = json.loads((GOLDEN / "ppl/expected.json").read_text())
    most = {}
    for row in rows:
        if row["protocol"] != "nope" or row["case"] == "A.nope_hs" or row["window"] == row["max_length"]:
            continue
        key = (row["case"], row["max_length"], row["window"])
        # One of them is of a budget of windows.
        if key not in most or row["windows"] > most[key]["windows"]:
            most[key] = row
    return most


def data(home, *arguments):
    return run_cli(home, "data", *arguments)


def imported(home, *arguments):
    ended = data(home, "import", *arguments, "-o", "json")
    assert ended.code == 0, ended
    return ended.json()["data_set"]


def refused(home, *arguments):
    """What an import says that leaves nothing behind."""
    there = home.path / "share/longreach/data"
    before = sorted(there.iterdir())
    ended = data(home, "import", *arguments)
    assert ended.code != 0, ended
    assert sorted(there.iterdir()) == before
    assert ended.err.count("error:") == 1, ended
    return ended.err


def stored(home, name):
    """The documents of a corpus of tokens, as its files have them."""
    folder = home.path / "share/longreach/data" / name
    ids, ends = (folder / "tokens.bin").read_bytes(), (folder / "documents.bin").read_bytes()
    tokens = struct.unpack(f"<{len(ids) // 2}H", ids)
    ends = struct.unpack(f"<{len(ends) // 8}Q", ends)
    return [list(tokens[begin:end]) for begin, end in zip((0, *ends), ends)]


def run_systems(home, store, systems, *arguments):
    (home.path / "tiny.yaml").write_text(SWEEP + systems)
    return run_cli(home, "run", home.path / "tiny.yaml", "--store", home.path / store, "--threads", "1", *arguments)


@pytest.fixture(scope="module")
def home():
    with harness.Home() as home:
        for number, ids in enumerate(DOCUMENTS):
            packed(home.path / f"test/{number}.bin", ids)
        packed(home.path / "train/0.bin", [number for ids in DOCUMENTS for number in ids])
        imported(home, "model", GOLDEN / "models/A", "--name", "rotary")
        imported(home, "model", GOLDEN / "models/A", "--name", "nope", "--nope")
        imported(home, "tokens", home.path / "train", "--test", home.path / "test", "--vocabulary", "256", "--name", "documents")
        yield home


def test_perplexities_are_those_of_transformers(home):
    expected = perplexities()
    assert {case for case, _, _ in expected} == {"A.rope", "A.rope_ntkdyn2"} and len(expected) == 6
    systems = ""
    for case, length, stride in expected:
        # The training length that the dynamic base grows from is in config.json.
        scaling = ", positions: {rope_scaling: dynamic, rope_factor: 2}" if case == "A.rope_ntkdyn2" else ""
        systems += (f"  - {{name: {case}-{length}, with: {{axes: {{encoding: rope}}, model: {{folder: rotary}}{scaling}, "
                    f"evaluation: {{lengths: {length}, stride: {stride}}}}}}}\n")
    ended = run_systems(home, "golden.db", systems)
    assert ended.code == 0, ended
    table = run_cli(home, "results", "tiny", "--store", home.path / "golden.db", "--rows", "system", "--columns", "length", "--metric",
                    "loss", "--aggregate", "mean", "-o", "json").json()
    rows, columns = [row["key"] for row in table["rows"]], [column["key"] for column in table["columns"]]
    cells = zip([(row, column) for row in rows for column in columns], table["cells"])
    measured = {at: cell["measured"] for at, cell in cells if "measured" in cell}
    assert len(measured) == len(expected)
    for (case, length, _), row in expected.items():
        assert measured[f"{case}-{length}", str(length)] == pytest.approx(row["mean_window_loss"], abs=2e-5)


TUNED = """
  - name: plain
    with:
      axes: {encoding: none}
      model: {folder: nope}
      evaluation: {lengths: [16, 32, 40], stride: 8, position_bins: 8}
  - name: uniform
    with:
      axes: {encoding: none}
      model: {folder: nope}
      evaluation: {lengths: 32, position_bins: 4, attention_scales: [0.5, 1, 1.5, 2]}
  - name: heads
    with:
      axes: {encoding: none}
      model: {folder: nope}
      evaluation: {lengths: [32, 40], stride: 8}
      training: {trainable: head_scales, steps: 12, lengths: 32, batch_size: 4, warmup_steps: 2, weight_decay: 0}
      inputs: [{name: attention_scale, metric: best_attention_scale, from: {model: {folder: nope}, training: {steps: 0},
                evaluation: {lengths: 32, position_bins: 4, attention_scales: [1, 1.5, 2]}}}]
  - name: tuned
    with:
      axes: {encoding: rope}
      model: {folder: rotary}
      positions: {rope_scaling: linear, rope_factor: 2}
      training: {steps: 6, lengths: 40, batch_size: 4, warmup_steps: 1}
      evaluation: {lengths: 40, stride: 8}
"""


@pytest.fixture(scope="module")
def tuned(home):
    ended = run_systems(home, "tuned.db", TUNED)
    assert ended.code == 0, ended
    return home.path / "tuned.db"


def test_scales_are_searched_and_tuned_on_a_published_model(tuned):
    def of(metric, length, slice=""):
        return {value for (value,) in query(tuned, "SELECT value FROM measurements WHERE metric = ? AND length = ? AND slice = ?",
                                            metric, length, slice)}

    # Weights are random, so anything may be best; what is tried is what is there.
    assert of("best_attention_scale", 0) <= {0.5, 1, 1.5, 2} and len(of("position_loss", 40)) == 1
    assert len(of("attention_entropy", 40)) == 1 and len(of("attention_entropy", 40, "layer=2,head=7")) == 1
    scales = [value for (value,) in query(tuned, "SELECT value FROM measurements WHERE metric = 'head_scale'")]
    assert len(scales) == 3 * 8 and min(scales) >= 1 and len(set(scales)) > 1
    # Head scales alone were trained: a better fit of what they were trained on.
    losses = query(tuned, "SELECT p.loss FROM progress AS p JOIN jobs AS j ON j.num = p.job WHERE j.steps = 12 ORDER BY p.step")
    assert sum(loss for (loss,) in losses[6:]) < sum(loss for (loss,) in losses[:6])


def test_a_worker_killed_in_the_middle_changes_no_bit(home, tuned):
    (home.path / "tiny.yaml").write_text(SWEEP + TUNED)
    scheduler = Scheduler(home, "--lease-term-s", "3", "--renew-every-s", "1", store="killed.db")
    submitted = run_cli(home, "submit", home.path / "tiny.yaml", scheduler=scheduler)
    assert submitted.code == 0, submitted
    kill_in_the_middle(home, scheduler, "--checkpoint-every-s", "0.01", least_step=1)
    Worker(home, scheduler)
    waited = run_cli(home, "wait", "last", scheduler=scheduler)
    assert waited.code == 0, waited
    assert results(scheduler.store) == results(tuned)
    scheduler.kill()


def test_jobs_go_to_workers_that_have_both(home, tmp_path):
    source, there = home.path / "share/longreach/data", tmp_path / "data"
    shutil.copytree(source / "documents", there / "documents")
    (home.path / "tiny.yaml").write_text(SWEEP + "  - {name: a, with: {axes: {encoding: rope}, model: {folder: rotary}, "
                                                 "evaluation: {lengths: 32}}}\n")
    scheduler = Scheduler(home, store="both.db")
    Worker(home, scheduler, "--data-folder", there, name="without")
    assert run_cli(home, "submit", home.path / "tiny.yaml", scheduler=scheduler).code == 0
    (job,) = query(scheduler.store, "SELECT id FROM jobs")[0]
    until(lambda: "'without' has no data set 'rotary'" in run_cli(home, "explain", job, scheduler=scheduler).out, "the worker is unable")
    shutil.copytree(source / "rotary", tmp_path / "rotary")
    (tmp_path / "rotary").rename(there / "rotary")
    assert run_cli(home, "wait", "last", scheduler=scheduler).code == 0
    scheduler.kill()


SYSTEM = ("  - {{name: {name}, with: {{axes: {{encoding: {encoding}}}, model: {{folder: {folder}{more}}}, data: {data}, "
          "evaluation: {{{tests}}}}}}}\n")
PLAIN = {"encoding": "rope", "folder": "rotary", "more": "", "data": "documents", "tests": "lengths: 32"}


@pytest.mark.parametrize("change, said", [
    ({"encoding": "none"}, r"axes.encoding: 'none', and the model of 'rotary' has rotary positions; take 'rope', or import it with --nope"),
    ({"data": "pieces"}, r"data: the tokens of 'pieces' are of a vocabulary of 900, and the model of 'rotary' has 256"),
    ({"tests": "lengths: 5000"},
     r"evaluation.lengths: a window of 5000 tokens needs a document of one more, and the longest test document of 'documents' has \d+"),
    ({"tests": "lengths: 32}, training: {steps: 2, lengths: 16, batch_size: 2, warmup_steps: 1, mixture: [documents, pieces], mixture_weights: [1, 1]"},
     r"training.mixture: the tokens of 'pieces' are of a vocabulary of 900, and the model of 'rotary' has 256"),
], ids=["encoding", "tokens", "short", "mixture"])
def test_what_does_not_go_together_here_is_said_before_a_store_is_made(home, request, change, said):
    if not (home.path / "share/longreach/data/pieces").exists():
        (home.path / "text").write_text("a text that is long enough for a window of tokens " * 20)
        imported(home, "tokens", "--test", home.path / "text", "--tokenizer", TOKENIZER, "--name", "pieces")
    systems = SYSTEM.format(name="fits", **PLAIN) + SYSTEM.format(name="not", **{**PLAIN, **change})
    ended = run_systems(home, "not-made.db", systems)
    assert ended.code == 2, ended
    assert re.match(r"error: \S+tiny.yaml:\d+:\d+: systems.not: " + said, ended.err), ended
    assert list(home.path.glob("not-made.db*")) == []

    # Where the worker is elsewhere, the job says it, and is not tried again.
    scheduler = Scheduler(home, store=f"elsewhere-{request.node.callspec.id}.db")
    worker = Worker(home, scheduler)
    assert run_cli(home, "submit", home.path / "tiny.yaml", scheduler=scheduler).code == 0
    assert run_cli(home, "wait", "last", scheduler=scheduler).code == 1
    assert query(scheduler.store, "SELECT outcome, count(*) FROM attempts GROUP BY outcome") == [("failed", 1), ("succeeded", 1)]
    ((failure,),) = query(scheduler.store, "SELECT failure FROM jobs WHERE state = 'failed'")
    assert re.match("refused, as any worker would: " + said.removeprefix("axes."), failure), failure
    worker.kill()
    scheduler.kill()


def test_the_job_that_makes_an_input_is_looked_at_too(home):
    def heads(folder, length):
        return run_systems(home, f"{folder}-{length}.db", f"""
  - name: heads
    with:
      axes: {{encoding: none}}
      model: {{folder: nope}}
      evaluation: {{lengths: 32}}
      training: {{trainable: head_scales, steps: 2, lengths: 16, batch_size: 2, warmup_steps: 1, weight_decay: 0}}
      inputs: [{{name: attention_scale, metric: best_attention_scale, from: {{model: {{folder: {folder}}}, training: {{steps: 0}},
                evaluation: {{lengths: {length}, position_bins: 4, attention_scales: [1, 2]}}}}}}]
""")
    for folder, length, said in [("rotary", 32, "axes.encoding: 'none', and the model of 'rotary' has rotary positions"),
                                 ("nope", 5000, "evaluation.lengths: a window of 5000 tokens needs a document of one more")]:
        ended = heads(folder, length)
        assert ended.code == 2 and "systems.heads: inputs.attention_scale.from." + said in ended.err and "nothing was submitted" in ended.err, ended
        assert list(home.path.glob(f"{folder}-{length}.db*")) == []
    ended = heads("nope", 32)
    assert ended.code == 0, ended


@pytest.mark.parametrize("change, said", [
    ({"more": ", layers: 3"}, "1 of layers, embedding_dim, heads, kv_heads and mlp_dim are given"),
    ({"tests": "passkey_lengths: 251"}, "evaluation.passkey_lengths: 251"),
    ({"tests": "passkey_lengths: 300, passkey_depths: 2, passkey_prompts: landmark"}, "evaluation.passkey_depths: is given"),
])
def test_what_cannot_be_is_refused_at_once(home, change, said):
    ended = run_systems(home, "refused-at-once.db", SYSTEM.format(name="a", **{**PLAIN, **change}))
    assert ended.code == 2 and said in ended.err, ended


def test_texts_become_the_tokenizers_ids(home):
    texts = ["Grüße aus 1999, and a\nsecond line", "<s> is text here", "the last one"]
    program = Program(TOKENIZER)
    ids = [program.encode(text) for text in texts]
    (home.path / "folder").mkdir()
    (home.path / "folder/a.txt").write_text(texts[0])
    (home.path / "folder/b.jsonl").write_text("".join(json.dumps({"body": text}) + "\n" for text in [texts[1], "", texts[2]]))
    told = imported(home, "tokens", home.path / "folder", "--tokenizer", TOKENIZER, "--text-field", "body", "--split", "50,50", "--name", "texts")
    assert told["contents"].startswith("1 + 2 documents") and told["skipped"] == ["1 empty text"]
    # EOS ends what is trained on; BOS begins what is tested.
    assert stored(home, "texts") == [ids[0] + [2], [1] + ids[1], [1] + ids[2]]
    imported(home, "tokens", "--test", home.path / "folder/a.txt", "--tokenizer", TOKENIZER.parent, "--name", "one")
    assert stored(home, "one") == [[1] + ids[0]]
    # The same import has the same identity, under whatever name.
    again = imported(home, "tokens", home.path / "folder", "--tokenizer", TOKENIZER, "--text-field", "body", "--split", "50,50", "--name", "again")
    assert again["sha256"] == told["sha256"]
    assert data(home, "check", "texts").code == 0


def test_an_import_of_a_folder_says_what_it_left_out(home):
    folder = home.path / "mixed"
    folder.mkdir()
    (folder / "a.txt").write_text("a text")
    (folder / "empty.txt").write_text("")
    (folder / "c4.jsonl.gz").write_bytes(b"\x1f\x8b")
    (folder / "link.txt").symlink_to("a.txt")
    ended = data(home, "import", "tokens", "--test", folder, "--tokenizer", TOKENIZER, "--name", "mixed")
    assert ended.code == 0, ended
    assert "left out: 1 empty text, c4.jsonl.gz (gzip), link.txt (a.txt again)\n" in ended.err, ended


def test_texts_that_cannot_be_read_are_refused(home):
    folder = home.path / "bad"
    folder.mkdir()
    (folder / "lines.jsonl").write_text('{"text": "good"}\n{"text": 5}\n')
    (folder / "cut.bin").write_bytes((home.path / "test/0.bin").read_bytes()[:-1])
    (folder / "zero.txt").write_bytes(b"text\0text")
    (folder / "empty.txt").write_bytes(b"")
    (folder / "latin1.txt").write_bytes("Grüße".encode("latin1"))
    (folder / "nan.jsonl").write_text('{"text": "good"}\n{"text": "a", "score": NaN}\n')
    os.mkfifo(folder / "pipe.txt")
    (folder / "c4.jsonl.gz").write_bytes(b"\x1f\x8b")
    for arguments, said in [
            ((folder / "lines.jsonl",), "lines.jsonl:2: has no text 'text'"),
            ((folder / "cut.bin",), "cut.bin: is said to hold 100 tokens"),
            ((folder / "zero.txt",), "is no text"),
            ((folder / "latin1.txt",), "latin1.txt is not UTF-8: the byte 0xfc at offset 2"),
            ((folder / "nan.jsonl",), "nan.jsonl:2: not a JSON object, of which there must be one in each line: line 1, column "),
            ((folder / "pipe.txt",), "pipe.txt is not a regular file"),
            ((folder / "empty.txt",), "has no text in it"),
            ((folder / "c4.jsonl.gz",), "is a file of gzip, not a text; unpack it"),
            ((folder / "none",), "No such file"),
            ((home.path / "test/0.bin", "--vocabulary", "50"), "is not below the vocabulary of 50"),
            ((home.path / "text-of-one",), "there is one document"),
            ((home.path / "test/0.bin", "--split", "50,40"), "not two parts that add up to 100"),
            ((home.path / "test/0.bin", "--vocabulary", "70000"), "at most 65536")]:
        (home.path / "text-of-one").write_text("one document")
        tokenizer = () if "--vocabulary" in arguments else ("--tokenizer", TOKENIZER)
        assert said in refused(home, "tokens", *arguments, *tokenizer, "--name", "bad"), said
    assert "--tokenizer names the tokenizer.model" in refused(home, "tokens", home.path / "text-of-one", "--vocabulary", "900", "--name", "bad")
    assert "how many ids there are is not known" in refused(home, "tokens", home.path / "test/0.bin", "--name", "bad")


def test_models_that_cannot_be_computed_are_refused(home):
    def changed(change):
        folder = home.path / "broken"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(GOLDEN / "models/A", folder)
        change(folder)
        return refused(home, "model", folder, "--name", "broken")

    def configure(**values):
        def change(folder):
            config = json.loads((folder / "config.json").read_text())
            (folder / "config.json").write_text(json.dumps({**config, **values}))
        return change

    def cut(folder):
        weights = (folder / "model.safetensors").read_bytes()
        (folder / "model.safetensors").write_bytes(weights[:-1])

    assert "longrope" in changed(configure(rope_scaling={"rope_type": "longrope", "factor": 2}))
    assert "model.layers.3" in changed(configure(num_hidden_layers=4))
    assert "has the shape" in changed(configure(intermediate_size=100))
    assert "model.safetensors" in changed(cut)
    assert "has no config.json" in changed(lambda folder: (folder / "config.json").unlink())
    assert "another model's tokenizer" in changed(lambda folder: shutil.copy(TOKENIZER, folder))

    def pipe(name):
        def change(folder):
            (folder / name).unlink()
            os.mkfifo(folder / name)
        return change

    for name in ("config.json", "model.safetensors"):  # Whose reader would wait for a writer.
        assert f"{name} is not a regular file" in changed(pipe(name))


def test_a_name_in_a_file_cannot_steer_the_terminal(home):
    folder = home.path / "steering"
    shutil.copytree(GOLDEN / "models/A", folder)
    weights = (folder / "model.safetensors").read_bytes()
    size = struct.unpack("<Q", weights[:8])[0]
    header = json.loads(weights[8:8 + size])
    header["\x1b[2J"] = header.pop("model.norm.weight")
    text = json.dumps(header, ensure_ascii=False).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + weights[8 + size:])
    assert "\x1b" not in refused(home, "model", folder, "--name", "steering")


def test_a_tokenizer_that_is_not_read_is_named(home):
    folder = home.path / "json-alone"
    shutil.copytree(GOLDEN / "models/A", folder)
    (folder / "tokenizer.json").write_text("{}")
    assert imported(home, "model", folder, "--name", "json-alone")["skipped"] == ["tokenizer.json: it is not read; passkeys and LongBench need tokenizer.model"]
    assert data(home, "list", "-o", "json").code == 0


def test_files_that_were_not_imported_are_not_used(home):
    """What somebody puts into a data set's folder belongs to no identity, and results with it to no data."""
    folder = home.path / "not-the-name"  # Else --tokenizer would mean the folder.
    shutil.copytree(GOLDEN / "models/A", folder)
    imported(home, "model", folder, "--name", "whole")
    there = home.path / "share/longreach/data/whole"
    assert data(home, "check", "whole").code == 0
    # So nobody is told to put the tokenizer there.
    assert "--tokenizer: there is neither a file 'hole' nor an imported model of that name" in refused(home, "tokens", TOKENIZER, "--tokenizer", "hole", "--name", "none")
    assert "the data set 'whole' was imported without tokenizer.model; name that file where it lies" in refused(home, "tokens", TOKENIZER, "--tokenizer", "whole", "--name", "none")
    shutil.copy(TOKENIZER, there)
    told = data(home, "check", "whole")
    assert told.code == 1 and "tokenizer.model: was not imported with the data set 'whole'" in told.err


def test_a_link_takes_no_space_and_has_the_same_identity(home):
    linked = home.path / "source"
    shutil.copytree(GOLDEN / "models/A", linked)
    told = imported(home, "model", linked, "--link", "--name", "linked")
    there = home.path / "share/longreach/data/linked/model.safetensors"
    assert pathlib.Path(there).samefile(linked / "model.safetensors")
    listed = {one["name"]: one["sha256"] for one in data(home, "list", "-o", "json").json()["data_sets"]}
    assert told["sha256"] == listed["rotary"] != listed["nope"]
