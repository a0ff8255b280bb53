"""Jobs that are tested while they are trained: from a sweep file to values by step, in tables and figures, also of a trainer that was killed on the way."""
import json

import pytest

from harness import check_ledger, needs_worker, query, run_cli

SWEEP = """
name: curves
experiment: algorithmic
axes: {task: reverse_string, encoding: [rope, none], learning_rate: 1.0e-3, seed: [0, 1]}
model: {layers: 1, embedding_dim: 32, heads: 4, mlp_dim: 64}
training: {steps: 50, batch_size: 16, lengths: 1..5}
evaluation: {lengths: [6, 8, 10], examples: 16, curve_every: 20, curve_lengths: [6, 10]}
"""


@needs_worker
def test_scores_by_step_are_rows_of_tables_and_the_axis_of_figures(home, tmp_path):
    store = str(tmp_path / "curves.db")
    run = run_cli(home, "run", "/dev/stdin", "--store", store, "--threads", "2", stdin=SWEEP)
    assert run.code == 0, run
    check_ledger(home, store)
    measured = query(store, "SELECT slice, length, count(*) FROM measurements WHERE metric = 'accuracy' GROUP BY slice, length ORDER BY slice, length")
    assert measured == [("", length, 4) for length in (0, 6, 8, 10)] + [(f"step={step}", length, 4) for step in (20, 40, 50) for length in (0, 6, 10)], measured

    # The point of the last update is what is measured at the end.
    last = "SELECT job, metric, length, value FROM measurements WHERE slice = ? AND length IN (6, 10) ORDER BY job, metric, length"
    assert query(store, last, "step=50") == query(store, last, "")

    table = run_cli(home, "results", "curves", "--store", store, "--rows", "step", "--columns", "encoding", "--metric", "accuracy", "--length", "10", "--aggregate", "mean", "-o", "json").json()
    assert [row["key"] for row in table["rows"]] == ["20", "40", "50"], table
    (mean,) = query(store, "SELECT avg(m.value) FROM measurements m JOIN jobs j ON j.num = m.job WHERE m.metric = 'accuracy' AND m.slice = 'step=20' AND m.length = 10 "
                           "AND j.encoding = 'none'")[0]
    assert table["cells"][0]["measured"] == pytest.approx(100 * mean) and table["cells"][0]["jobs"] == 2, table
    # The sweep's own table, by tests at the end, knows nothing of them.
    own = run_cli(home, "results", "curves", "--store", store, "-o", "json").json()
    assert all(cell["jobs"] == 2 for cell in own["cells"]), own

    drawn = run_cli(home, "plot", "curves", "--store", store, "--x", "step", "--metric", "accuracy", "--length", "10", "--file", "-")
    assert drawn.code == 0, drawn
    points = [point for layer in json.loads(drawn.out)["layer"] for point in layer.get("data", {}).get("values", [])]
    points += json.loads(drawn.out).get("data", {}).get("values", [])
    assert {20, 40, 50} <= {point.get("x") for point in points}, drawn.out


@needs_worker
def test_what_has_no_curve_says_how_to_get_one(home, tmp_path):
    store = str(tmp_path / "plain.db")
    plain = SWEEP.replace(", curve_every: 20, curve_lengths: [6, 10]", "").replace("[rope, none]", "rope").replace("steps: 50", "steps: 2")
    assert run_cli(home, "run", "/dev/stdin", "--store", store, "--threads", "2", stdin=plain).code == 0
    table = run_cli(home, "results", "curves", "--store", store, "--rows", "step", "--metric", "accuracy")
    assert "no job has a value of accuracy by step over all lengths" in table.out + table.err and "evaluation.curve_every" in table.out + table.err, table


def test_what_is_refused_of_a_curve(home):
    for values, words in [(["evaluation.curve_every=51"], "evaluation.curve_every: 51 updates are more than training.steps, 50"),
                          (["evaluation.curve_lengths=7"], "evaluation.curve_lengths: 7 is not among evaluation.lengths"),
                          (["evaluation.curve_every=0"], "evaluation.curve_lengths: are tested while a job is trained only with evaluation.curve_every"),
                          (["evaluation.eval_steps=10"], "did you mean 'evaluation.curve_every'")]:
        refused = run_cli(home, "plan", "/dev/stdin", *(part for value in values for part in ("--set", value)), stdin=SWEEP)
        assert refused.code == 2, refused
        assert words in refused.err, refused
