"""The presets of the NoPE paper from its published checkpoints: what they would run, and copies of them that are small enough to be run."""
import json
import re

import pytest

import harness
from harness import ROOT, query, run_cli
from published import make_model
from test_published_models import TOKENIZER

PRESETS = ROOT / "proto/catalog/presets"
# Of passkeys, by the step of the published lengths.
PASSKEYS = {"256": (300,), "1024": (300, 400), "2048": (400, 500)}
LENGTHS = {"2048": "16", "4096": "32", "8192": "48", "16384": "64", "18432": "72"}
# What some presets do not have is left as it is.
SMALLER = [
    (r"layers: 22, embedding_dim: 2048, heads: 32, kv_heads: 4, mlp_dim: 5632", "layers: 2, embedding_dim: 32, heads: 4, kv_heads: 2, mlp_dim: 48"),
    (r"passkey_lengths: \d+\.\.\d+:(\d+)", lambda match: f"passkey_lengths: {list(PASSKEYS[match[1]])}, passkey_depths: 2, passkey_tests: 2"),
    (r"longbench_window: \d+", "longbench_window: 100"),
    (r"longbench: longbench\b", "longbench: longbench, longbench_beams: 2, longbench_tasks: [trec, lcc]"),
    (r"attention_scales: (&scales )?\[[^]]*\]", r"attention_scales: \1[1, 1.5]"),
    (r"attention_scales: 0\.9\.\.2:0\.01", "attention_scales: 0.9..1.5:0.3"),
    (r"\{stride: 256, examples: 8192\}", "{lengths: [2048, 4096, 8192, 16384], stride: 256, examples: 8192}"),  # Table 1 has the kind's own.
    (r"stride: 256", "stride: 8"), (r"warmup_steps: \d+", "warmup_steps: 1"), (r"steps: 200\b", "steps: 3"), (r"steps: 1000\b", "steps: 4"),
    (r"examples: 8192", "examples: 6"), (r"examples: (64|32|16|8)\b", "examples: 2"), (r"position_bins: \d+", "position_bins: 8"),
    (r"\b(2048|4096|8192|16384|18432)\b", lambda match: LENGTHS[match[0]]),
]
# Jobs, and those that these need: models fine-tuned at two budgets, searches of a scale and tunings from what they found.
SIZES = {"nope-table-1": (26, 12 + 6), "nope-table-2": (11, 6 + 6), "nope-positions": (16, 4), "nope-passkey": (8, 2 + 4 + 2)}


def rows_of(figure):
    """All data rows of a Vega-Lite figure, wherever they are."""
    if isinstance(figure, dict):
        yield from (row for row in figure.get("values", []) if isinstance(row, dict))
        for part in figure.values():
            yield from rows_of(part)
    elif isinstance(figure, list):
        for part in figure:
            yield from rows_of(part)


@pytest.fixture(scope="module")
def home():
    with harness.Home() as home:
        yield home


@pytest.mark.parametrize("name", SIZES)
def test_a_plan_says_what_the_paper_costs(home, name):
    plan = run_cli(home, "plan", name, "-o", "json").json()
    assert (plan["jobs"], plan["prerequisites"]) == SIZES[name]
    # Weights, moments and gradients of 1.1 billion parameters; or weights alone, once for each of the jobs that share a pack.
    numbers = {"nope-positions": 2}.get(name, 4)
    assert plan["pack_memory_bytes"] == pytest.approx(numbers * 4 * 1.1e9, rel=0.01)
    assert "of a GPU that keeps up 100 TFLOP/s" in run_cli(home, "plan", name).out


def test_the_whole_paper_is_planned_part_by_part(home):
    parts = run_cli(home, "plan", "nope-tinyllama", "-o", "json").json()["parts"]
    assert [part["name"] for part in parts] == ["nope-table-1", "nope-table-1-proof-pile", *list(SIZES)[1:]]
    assert [part["plan"]["jobs"] for part in parts] == [26, 26, 11, 16, 8]
    empty = run_cli(home, "results", "nope-tinyllama", "--store", home.path / "none.db")
    assert empty.code == 4, empty


def test_tests_are_most_of_table_1(home):
    plan = run_cli(home, "plan", "nope-table-1", "-o", "json").json()
    # 26 tests of 8192 windows at four lengths: two operations for each parameter and token, and attention.
    forward = 2 * 1.034e9
    windows = sum(length * forward + 22 * 2 * 2048 * length**2 for length in (2048, 4096, 8192, 16384))
    assert 26 * 8192 * windows < plan["flops"] < 2 * 26 * 8192 * windows


def small(home, name):
    text = (PRESETS / f"{name}.yaml").read_text()
    for pattern, smaller in SMALLER:
        text = re.sub(pattern, smaller, text)
    (home.path / f"{name}.yaml").write_text(text)
    return home.path / f"{name}.yaml"


def run(home, name, *arguments):
    ended = run_cli(home, "run", small(home, name), *arguments, "--store", home.path / "small.db", "--threads", "1", "-o", "json")
    assert ended.code == 0, ended


def jobs(home, name):
    listed = run_cli(home, "jobs", name, "--store", home.path / "small.db", "--limit", "1000", "-o", "json").json()["jobs"]
    return {job["systems"][0]: job["id"] for job in listed}


def values(home, job, metric):
    return {(length, slice): value for length, slice, value in query(
        home.path / "small.db", "SELECT m.length, m.slice, m.value FROM measurements AS m JOIN jobs AS j ON j.num = m.job WHERE j.id = ? AND m.metric = ?",
        job, metric)}


def table(home, name, *arguments):
    """Cells by row and column."""
    answer = run_cli(home, "results", name, *arguments, "--store", home.path / "small.db", "-o", "json").json()
    rows, columns = ([one["key"] for one in answer[axis]] for axis in ("rows", "columns"))
    return {(rows[at // len(columns)], columns[at % len(columns)]): cell for at, cell in enumerate(answer["cells"])}


@pytest.fixture(scope="module")
def measured(home):
    make_model(home.path / "model", 900, window=16, tokenizer=TOKENIZER)
    words = "a text of some words which are not all the same and go on and on\n"
    (home.path / "text").write_text(words * 30)
    (home.path / "more").write_text(words * 40)
    (home.path / "LongBench").mkdir()
    for task in ("trec", "lcc"):
        sample = {"input": "a text of", "context": words, "answers": ["Number", "x = 1"], "all_classes": ["Number", "Person"], "dataset": task}
        (home.path / f"LongBench/{task}.jsonl").write_text(json.dumps(sample) + "\n")
    for arguments in (("model", home.path / "model", "--name", "tinyllama-nope", "--nope"), ("model", home.path / "model", "--name", "tinyllama-rope"),
                      *(("tokens", "--test", home.path / "text", "--tokenizer", "tinyllama-rope", "--name", name) for name in ("pg19", "proof-pile")),
                      ("tokens", home.path / "more", "--test", home.path / "text", "--tokenizer", "tinyllama-rope", "--name", "slimpajama"),
                      ("longbench", home.path / "LongBench", "--name", "longbench")):
        ended = run_cli(home, "data", "import", *arguments)
        assert ended.code == 0, ended
    for name in SIZES:
        run(home, name)
    run(home, "nope-table-1", "--set", "data=proof-pile", "--set", "name=nope-table-1-proof-pile")


@harness.needs_worker
def test_a_job_that_several_of_them_need_is_done_once(home, measured):
    tests = sum(jobs for jobs, _ in SIZES.values()) + SIZES["nope-table-1"][0]
    # Twelve fine-tuned models, three searches of a scale, three tunings from what they found, and the two that figure 8 has beside.
    assert query(home.path / "small.db", "SELECT state, count(*) FROM jobs GROUP BY state") == [("succeeded", tests + 12 + 3 + 3 + 2)]
    before = query(home.path / "small.db", "SELECT max(id) FROM attempts")
    run(home, "nope-passkey")
    assert query(home.path / "small.db", "SELECT max(id) FROM attempts") == before


@harness.needs_worker
def test_table_1_is_measured_on_both_corpora_beside_the_published(home, measured):
    for name, corpus in (("nope-table-1", "pg19"), ("nope-table-1-proof-pile", "proof-pile")):
        systems = jobs(home, name)
        assert len(systems) == 26
        for system, job in systems.items():
            assert {length for length, _ in values(home, job, "perplexity")} == {0, 16, 32, 48, 64}, (corpus, system)
        # What is tuned or set makes a difference, at the length that only some were tuned for too.
        for less, more in (("nope", "nope-heads-18k"), ("nope", "nope-scale-1.5"), ("rope", "rope-yarn-4"), ("rope", "rope-dynamic-2"),
                           ("linear-fair-8k", "linear-raw-8k"), ("yarn-fair-16k", "linear-fair-16k")):
            assert values(home, systems[less], "loss")[64, ""] != values(home, systems[more], "loss")[64, ""], (less, more)
        assert len(values(home, systems["nope-heads-4k"], "head_scale")) == 2 * 4
        assert min(values(home, systems["nope-heads-4k"], "head_scale").values()) >= 1


@harness.needs_worker
def test_two_systems_are_compared_though_their_encodings_differ(home, measured):
    compared = run_cli(home, "compare", "nope-table-1", "--between", "system=nope,rope", "--length", "64", "--store", home.path / "small.db", "-o", "json").json()
    assert compared["settings"] == ["system", "encoding", "model.folder"] and compared["notes"] == [], compared
    cells = table(home, "nope-table-1")
    (row,) = compared["rows"]
    assert row["pairs"] == 1, compared
    assert [row["first"], row["second"]] == pytest.approx([cells[system, "64"]["measured"] for system in ("nope", "rope")], rel=1e-12), compared
    same = run_cli(home, "compare", "nope-table-1", "--between", "system=nope,rope", "--by", "encoding", "--store", home.path / "small.db")
    assert same.code == 2 and "--by encoding: in that nope and rope differ, too" in same.err, same
    apart = run_cli(home, "compare", "nope-table-1", "--between", "encoding=none,rope", "--only", "system=nope,rope", "--store", home.path / "small.db")
    assert apart.code == 0 and "they have no system in common: nope, and rope" in apart.err, apart


@harness.needs_worker
def test_table_2_has_the_tasks_beside_the_published(home, measured):
    cells = table(home, "nope-table-2")
    assert cells["rope", "trec"]["published"] == 33.5 and cells["nope-heads-18k", "all"]["published"] == 17.0
    for system in jobs(home, "nope-table-2"):
        assert {column for row, column in cells if row == system and "measured" in cells[row, column]} == {"all", "trec", "lcc"}, system
        assert cells[system, "all"]["measured"] == pytest.approx((cells[system, "trec"]["measured"] + cells[system, "lcc"]["measured"]) / 2)


@harness.needs_worker
def test_the_whole_papers_tables_are_printed_one_after_the_other(home, measured):
    tables = run_cli(home, "results", "nope-tinyllama", "--store", home.path / "small.db")
    assert tables.code == 0, tables
    titles = [line for line in tables.out.splitlines() if line.startswith("NoPE and RoPE of 1.1 billion parameters: ")]
    assert len(titles) == 5 and "\nnope-table-1-proof-pile\n" + titles[1] in tables.out, tables.out
    parts = run_cli(home, "results", "nope-tinyllama", "--store", home.path / "small.db", "-o", "json").json()["parts"]
    assert [part["name"] for part in parts] == ["nope-table-1", "nope-table-1-proof-pile", *list(SIZES)[1:]]
    assert len(parts[1]["table"]["rows"]) == 26
    # The parts that are there, and a word about the others.
    run_cli(home, "submit", small(home, "nope-positions"), "--store", home.path / "one.db")
    one = run_cli(home, "results", "nope-tinyllama", "--store", home.path / "one.db")
    assert one.code == 0 and "nope-table-2 has not been submitted" in one.err and one.out.count("billion") == 1, one


def measured_in(home, name, *arguments):
    return {place: cell["measured"] for place, cell in table(home, name, *arguments).items() if "measured" in cell}


@harness.needs_worker
def test_the_stores_views_have_what_the_tables_have(home, measured):
    def viewed(sql, *parameters):
        rows = query(home.path / "small.db", sql, *parameters)
        assert rows
        return {(str(row), str(column)): value for row, column, value in rows if value is not None}

    for name, corpus in (("nope-table-1", "pg19"), ("nope-table-1-proof-pile", "proof-pile")):
        assert viewed("SELECT system, length, score FROM nope_table_1 WHERE sweep = ? AND data = ?", name, corpus) == measured_in(home, name)
    assert viewed("SELECT system, longbench_task, 100 * score FROM nope_table_2 WHERE sweep = 'nope-table-2'") == pytest.approx(measured_in(home, "nope-table-2"))
    assert viewed("SELECT length, system, 100 * score FROM nope_passkeys WHERE sweep = 'nope-passkey' AND depth IS NULL") == pytest.approx(measured_in(home, "nope-passkey"))
    assert viewed("SELECT system, position, loss FROM nope_positions WHERE sweep = 'nope-positions' AND attention_scale IS NULL") == \
        measured_in(home, "nope-positions", "--metric", "position_loss", "--rows", "system", "--columns", "length")
    assert viewed("SELECT layer, head, scale FROM nope_heads WHERE sweep = 'nope-positions' AND system = 'nope-heads-8k'") == \
        measured_in(home, "nope-positions", "--metric", "head_scale", "--rows", "layer", "--columns", "head", "--only", "system=nope-heads-8k")


@harness.needs_worker
def test_positions_and_passkeys(home, measured):
    systems = jobs(home, "nope-positions")
    assert len(values(home, systems["rope"], "attention_entropy")) == 8 + 2 * 4
    assert values(home, systems["nope-scale-search"], "best_attention_scale")[0, ""] in (1, 1.5)
    assert values(home, systems["nope-scale-search"], "scale_growth")

    def plotted(*arguments):
        file = home.path / "figure.vl.json"
        file.unlink(missing_ok=True)
        made = run_cli(home, "plot", "nope-positions", *arguments, "--file", file, "--store", home.path / "small.db")
        assert made.code == 0, made
        return json.loads(file.read_text()), made

    # Figure 1: dynamic NTK in windows of its own, whose bins end at the same positions.
    assert {length for length, slice in values(home, systems["rope-dynamic-2"], "attention_entropy") if slice == ""} == {4, 8, 12, 16, 20, 24, 28, 32}
    # Figures 1, 2 (its entropies), 3 and 4.
    for systems_of, arguments in ((("rope", "rope-dynamic-2", "nope", "nope-scale-1.2"), ("--metric", "attention_entropy")),
                                  (("nope-scale-0.9", "nope", "nope-scale-1.1", "nope-scale-1.2"), ("--metric", "attention_entropy")),
                                  (("rope-scale-0.8", "rope", "rope-scale-1.2", "rope-scale-1.4"), ("--metric", "attention_entropy")),
                                  (("nope", "nope-scale-1.2", "nope-heads-4k"), ("--metric", "attention_entropy", "--lines", "head", "--only", "layer=0,1")),
                                  (("nope", "nope-scale-1.6", "nope-heads-4k", "nope-heads-8k"), ("--metric", "position_loss"))):
        figure, _ = plotted(*arguments, "--only", "system=" + ",".join(systems_of))
        assert all(name in json.dumps(figure) for name in systems_of), figure
    # Figure 5: the heads of two layers of four, at the length that they were tuned for.
    figure, _ = plotted("--metric", "attention_entropy", "--length", "48", "--x", "head_scale", "--points", "head", "--lines", "layer",
                        "--only", "system=nope-heads-8k-at-8k")
    heads = {(row["line"], row["point"]) for row in rows_of(figure) if "point" in row}
    assert heads == {(f"layer {layer}", f"head {head}") for layer in (0, 1) for head in range(4)}, figure
    # Figure 7: the fit beside what was measured.
    figure, made = plotted("--metric", "best_attention_scale", "--only", "system=nope-scale-search")
    assert "ln(i/16) + 1, nope-scale-search" in json.dumps(figure), (figure, made.err)

    systems = jobs(home, "nope-passkey")
    steps = {"rope": "256", "nope": "256", "yarn-fair-16k": "2048", "nope-heads-18k": "2048"}
    lengths = {system: PASSKEYS[steps.get(system, "1024")] for system in systems}
    for system, job in systems.items():
        assert {length for length, slice in values(home, job, "passkey_accuracy") if slice == ""} == {0, *lengths[system]}, system
    cells = table(home, "nope-passkey")
    assert {key for key, cell in cells.items() if "measured" in cell} == {(str(length), system) for system in systems for length in lengths[system]}
    # The other one of figure 8 begins where a search in this small model may end too.
    losses = [values(home, systems[name], "loss")[16, ""] for name in ("nope", "nope-heads-18k", "nope-heads-18k-lower-bound-0")]
    assert len(set(losses)) == 3, losses
