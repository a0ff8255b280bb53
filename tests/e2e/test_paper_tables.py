"""Tables 1, 2 and 3 at a token budget: every job of the presets runs on stand-in data and fills its cell, and an interrupted
run ends with the bits of an undisturbed one."""
import json

import pytest

import harness
from harness import BIN, Scheduler, Worker, kill_in_the_middle, query, results, run_cli

pytestmark = harness.needs_worker

WORDS = "the length of a tape is not its end ".split(" ")
MODEL = ["model.layers=2", "model.embedding_dim=32", "model.heads=4", "model.mlp_dim=64"]
FEW = ["training.batch_size=4", "evaluation.examples=6"]
TEXT = ["data=words", "training.lengths=16", "evaluation.lengths=16,40"]
IMAGES = ["data=marks", "training.lengths=12", "evaluation.lengths=12,20", "model.decoder_layers=1", "model.classes=4"]


@pytest.fixture(scope="module")
def home():
    with harness.Home() as home:
        text = home.path / "text"
        text.write_text(" ".join(WORDS[(i * i + i // 7) % len(WORDS)] for i in range(4000)))
        for command in (["text", text, "--name", "words"],
                        ["synthetic-images", "--name", "marks", "--train", "40", "--valid", "20", "--sizes", "3x3,4x4"]):
            ended = harness.run(home, BIN / "longreach-worker", "data", "import", *command)
            assert ended.code == 0, ended
        yield home


def settings(*groups, steps=2):
    return [part for setting in [*sum(groups, []), f"training.steps={steps}"] for part in ("--set", setting)]


def table(home, sweep, store):
    ended = run_cli(home, "results", sweep, "--store", home.path / store, "--published", "-o", "json")
    assert ended.code == 0, ended
    return json.loads(ended.out)


def run(home, sweep, store, *arguments):
    ended = run_cli(home, "run", sweep, "--store", home.path / store, *arguments)
    assert ended.code == 0, ended


def cells(table):
    columns = [entry["key"] for entry in table["columns"]]
    for index, cell in enumerate(table["cells"]):
        yield table["rows"][index // len(columns)]["key"], columns[index % len(columns)], cell


@pytest.mark.parametrize("sweep, jobs, prerequisites, checkpoint", [("table-1", 54, 0, 54 * 12 * 6.4e6), ("table-2", 9, 3, 12 * 12 * 6.4e6),
                                                                    ("table-3", 54, 0, 54 * 12 * 14e6)])
def test_plans_say_what_the_paper_ran(home, sweep, jobs, prerequisites, checkpoint):
    ended = run_cli(home, "plan", sweep, "-o", "json")
    assert ended.code == 0, ended
    plan = json.loads(ended.out)
    assert (plan["jobs"], plan["prerequisites"]) == (jobs, prerequisites)
    assert plan["flops"] > 1e18
    assert checkpoint < plan["checkpoint_bytes"] < 1.5 * checkpoint


def test_tables_1_and_2_fill_every_cell_and_share_the_pretraining(home):
    small = settings(MODEL, FEW, TEXT)
    run(home, "table-1", "words.db", *small)
    first = table(home, "table-1", "words.db")
    assert len(first["rows"]) == 18
    assert [entry["key"] for entry in first["columns"]] == ["16", "40"]
    for row, column, cell in cells(first):
        assert cell["jobs"] == cell["succeeded"] == 3, (row, column)
        assert 3 < cell["measured"] / int(column) < 7, (row, column)

    # The three that Table 2 begins with are there: nine jobs are trained, no more.
    planned = json.loads(run_cli(home, "plan", "table-2", "--store", home.path / "words.db", *small, "-o", "json").out)
    assert (planned["jobs"], planned["prerequisites"], planned["packs"]) == (9, 3, 3)
    run(home, "table-2", "words.db", *small)
    second = table(home, "table-2", "words.db")
    assert [entry["key"] for entry in second["rows"]] == ["16", "40"]
    assert [entry["key"] for entry in second["columns"]] == ["rope", "rope:randomized", "alibi", "pretrained"]
    for row, column, cell in cells(second):
        assert cell["jobs"] == cell["succeeded"] == 3, (row, column)
    measured = {(row, column): cell["measured"] for row, column, cell in cells(first)}
    for row, column, cell in cells(second):
        if column == "pretrained":
            assert cell["measured"] == measured["rope", row]
    assert query(home.path / "words.db", "SELECT count(*) FROM jobs") == [(54 + 9,)]


def test_table_3_fills_every_cell(home):
    run(home, "table-3", "images.db", *settings(MODEL, FEW, IMAGES))
    third = table(home, "table-3", "images.db")
    assert len(third["rows"]) == 18
    for row, column, cell in cells(third):
        assert cell["jobs"] == cell["succeeded"] == 3, (row, column)
        assert 0 < cell["measured"] < 5, (row, column)


@pytest.mark.parametrize("sweep, data", [("table-1", TEXT), ("table-3", IMAGES)])
def test_a_worker_killed_in_the_middle_changes_no_bit(home, sweep, data):
    some = [*settings(MODEL, FEW, data, steps=100), "--set", "encoding=alibi,relative:randomized", "--set", "seed=0..1"]
    run(home, sweep, f"{sweep}-straight.db", *some)

    scheduler = Scheduler(home, "--lease-term-s", "3", "--renew-every-s", "1", store=f"{sweep}-killed.db")
    submitted = run_cli(home, "submit", sweep, *some, scheduler=scheduler)
    assert submitted.code == 0, submitted
    kill_in_the_middle(home, scheduler, "--checkpoint-every-s", "0.1", least_step=1)
    Worker(home, scheduler)
    waited = run_cli(home, "wait", "last", scheduler=scheduler)
    assert waited.code == 0, waited
    assert query(scheduler.store, "SELECT 1 FROM attempts WHERE start_step > 0"), "nothing was resumed"
    assert query(scheduler.store, "SELECT id, job, from_attempt FROM attempts JOIN attempt_jobs ON attempt = id WHERE (start_step > 0) <> (from_attempt IS NOT NULL)") == []
    assert results(scheduler.store) == results(home.path / f"{sweep}-straight.db")
    scheduler.kill()
