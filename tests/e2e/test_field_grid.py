"""A grid over fields of one value: the scheduler is given systems, and it does not matter who wrote them."""
from harness import query, run_cli

BASE = """
name: grid
experiment: algorithmic
axes: {task: even_pairs, encoding: [rope, alibi], learning_rate: 1.0e-3, seed: 0}
"""
IN_THE_FILE = BASE + """
model: {layers: [1, 2]}
training: {steps: 10, batch_size: [4, 8]}
"""
BY_HAND = BASE + """
training: {steps: 10}
systems:
- {name: layers-1_batch_size-4, with: {model: {layers: 1}, training: {batch_size: 4}}}
- {name: layers-1_batch_size-8, with: {model: {layers: 1}, training: {batch_size: 8}}}
- {name: layers-2_batch_size-4, with: {model: {layers: 2}, training: {batch_size: 4}}}
- {name: layers-2_batch_size-8, with: {model: {layers: 2}, training: {batch_size: 8}}}
"""
SYSTEMS = ["layers-1_batch_size-4", "layers-1_batch_size-8", "layers-2_batch_size-4", "layers-2_batch_size-8"]


def test_a_grid_is_the_sweep_of_its_systems(home, scheduler):
    first = run_cli(home, "submit", "/dev/stdin", "-q", scheduler=scheduler, stdin=BY_HAND)
    assert first.code == 0, first
    in_the_file = run_cli(home, "submit", "/dev/stdin", "-q", scheduler=scheduler, stdin=IN_THE_FILE)
    on_the_command_line = run_cli(home, "submit", "/dev/stdin", "-q", "--set", "model.layers=1..2", "--set", "training.batch_size=4,8",
                                  "--set", "training.steps=10", scheduler=scheduler, stdin=BASE)
    assert in_the_file.out == on_the_command_line.out == first.out, (first, in_the_file, on_the_command_line)
    assert query(scheduler.store, "SELECT (SELECT count(*) FROM sweeps), (SELECT count(*) FROM jobs)") == [(1, 8)]


def test_its_fields_are_axes_of_tables_and_columns_of_values(home, tmp_path):
    store = str(tmp_path / "grid.db")
    run = run_cli(home, "run", "/dev/stdin", "--store", store, "--set", "training.lengths=1..3", "--set", "evaluation.lengths=4",
                  "--set", "evaluation.examples=10", stdin=IN_THE_FILE)
    assert run.code == 0, run
    table = run_cli(home, "results", "--store", store, "--rows", "model.layers", "--columns", "training.batch_size", "-o", "json").json()
    assert [row["key"] for row in table["rows"]] == ["1", "2"], table
    assert [column["key"] for column in table["columns"]] == ["4", "8"], table
    assert [cell["jobs"] for cell in table["cells"]] == [2] * 4, table
    assert "maximum over encodings" in table["title"], table
    values = run_cli(home, "results", "--store", store, "--jobs", "--metric", "accuracy", "--length", "0", "-o", "csv",
                     "--only", "model.layers=2").out.splitlines()
    assert values[0].endswith(",value,model.layers,training.batch_size"), values
    assert sorted(line.split(",", 1)[1].split(",")[0] + "|" + ",".join(line.split(",")[-2:]) for line in values[1:]) == [
        "layers-2_batch_size-4|2,4"] * 2 + ["layers-2_batch_size-8|2,8"] * 2, values


def test_a_baseline_is_not_asked_for_the_setting_that_tells_its_systems_apart(home, tmp_path):
    store = str(tmp_path / "grid.db")
    quick = ["--store", store, "--set", "training.lengths=1..3", "--set", "evaluation.lengths=4", "--set", "evaluation.examples=10"]
    assert run_cli(home, "run", "/dev/stdin", *quick, stdin=IN_THE_FILE).code == 0
    other = run_cli(home, "run", "/dev/stdin", *quick, "--set", "name=base", "--set", "model.layers=3", "--set", "training.steps=10", stdin=BASE)
    assert other.code == 0, other
    for sides in (["grid", "base"], ["base", "grid"]):
        compared = run_cli(home, "compare", *sides, "--store", store, "--only", "model.layers=2", "-o", "json")
        assert compared.code == 0, compared
        document = compared.json()
        # Two systems of two encodings, each beside the one job of the baseline.
        assert document["rows"][-1]["pairs"] == 4, document
        # All of one seed and task.
        assert document["rows"][-1]["draws"] == 1 and document["rows"][-1]["low"] is None, document
        assert "pairs of one seed and one task begin with the same weights and are one draw: a row of them alone has no interval" in document["notes"], document
        assert {row["system"] for row in document["rows"][:-1]} == {"layers-2_batch_size-4", "layers-2_batch_size-8"}, document
        assert "only jobs of grid with model.layers 2" in document["notes"], document
    # Of one system each neither is a baseline.
    alike = run_cli(home, "run", "/dev/stdin", *quick, "--set", "name=alike", "--set", "model.layers=2", "--set", "training.steps=10", stdin=BASE)
    assert alike.code == 0, alike
    refused = run_cli(home, "compare", "alike", "base", "--store", store, "--only", "model.layers=2")
    assert refused.code == 2 and "leave it out where they differ in it" in refused.err, refused


UNSAID = BASE + """
training: {steps: 5, batch_size: 4, lengths: [1, 2, 3]}
evaluation: {lengths: [4], examples: 10}
systems:
- {name: said, with: {model: {heads: 8, layers: 1}}}
- {name: unsaid, with: {model: {layers: 2}}}
- {name: other, with: {model: {heads: 4, layers: 1}}}
"""


def test_what_a_system_leaves_unsaid_is_the_default_that_others_say(home, tmp_path):
    store = str(tmp_path / "unsaid.db")
    run = run_cli(home, "run", "/dev/stdin", "--store", store, stdin=UNSAID)
    assert run.code == 0, run
    values = run_cli(home, "results", "--store", store, "--jobs", "--metric", "accuracy", "--length", "0", "-o", "csv").out.splitlines()
    assert values[0].endswith(",value,model.heads,model.layers"), values
    assert {line.split(",")[1]: line.split(",")[-2:] for line in values[1:]} == {"said": ["8", "1"], "unsaid": ["8", "2"], "other": ["4", "1"]}, values
    table = run_cli(home, "results", "--store", store, "--rows", "model.heads", "--columns", "task", "-o", "json").json()
    assert [row["key"] for row in table["rows"]] == ["4", "8"], table
    assert [cell["jobs"] for cell in table["cells"]] == [2, 4], table
    assert table["title"].endswith("maximum over encodings and model.layers"), table
    refused = run_cli(home, "results", "--store", store, "--rows", "layers")
    assert "did you mean 'model.layers'?" in refused.err, refused


def test_its_systems_are_the_rows_of_the_table(home, scheduler):
    submitted = run_cli(home, "submit", "/dev/stdin", scheduler=scheduler, stdin=IN_THE_FILE)
    assert submitted.code == 0, submitted
    table = run_cli(home, "results", "grid", "-o", "json", scheduler=scheduler)
    assert table.code == 0, table
    assert [row["key"] for row in table.json()["rows"]] == SYSTEMS, table
    jobs = run_cli(home, "jobs", "grid", "-o", "json", scheduler=scheduler)
    assert sorted(job["systems"][0] for job in jobs.json()["jobs"]) == sorted(SYSTEMS * 2), jobs
