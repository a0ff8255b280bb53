"""Accuracy at each place among the outputs (evaluation.output_lengths): from the sweep to the table and the figure."""
import pytest

from harness import check_ledger, needs_worker, query, run_cli

SWEEP = """
name: places
experiment: algorithmic
axes: {task: reverse_string, encoding: [none, rope], learning_rate: 1.0e-3, seed: 0..1}
model: {layers: 2, embedding_dim: 32, heads: 4, mlp_dim: 64, causal: true}
training: {steps: 20, batch_size: 16, lengths: 1..4}
evaluation: {lengths: [4, 6, 8], examples: 32, output_lengths: [6, 8]}
"""


@needs_worker
def test_places_are_rows_of_tables_and_the_axis_of_figures(home, tmp_path):
    store = str(tmp_path / "places.db")
    ran = run_cli(home, "run", "/dev/stdin", "--store", store, "--threads", "2", stdin=SWEEP)
    assert ran.code == 0, ran
    check_ledger(home, store)
    measured = query(store, "SELECT length, count(*), count(DISTINCT slice) FROM measurements WHERE metric = 'output_accuracy' GROUP BY length ORDER BY length")
    assert measured == [(0, 32, 8), (6, 24, 6), (8, 32, 8)], measured
    # Each place has as many sequences, so the mean over places is the accuracy.
    for length in (6, 8):
        places = query(store, "SELECT job, avg(value) FROM measurements WHERE metric = 'output_accuracy' AND length = ? GROUP BY job ORDER BY job", length)
        whole = query(store, "SELECT job, value FROM measurements WHERE metric = 'accuracy' AND slice = '' AND length = ? ORDER BY job", length)
        assert [value for _, value in places] == pytest.approx([value for _, value in whole]), (places, whole)

    table = run_cli(home, "results", "places", "--store", store, "--metric", "output_accuracy", "--rows", "output", "--columns", "encoding", "--length", "8",
                    "--aggregate", "mean", "-o", "json").json()
    assert [row["key"] for row in table["rows"]] == [str(place) for place in range(1, 9)], table
    assert len(table["cells"]) == 16 and all(cell["jobs"] == 2 for cell in table["cells"]), table
    drawn = run_cli(home, "plot", "places", "--store", store, "--x", "output", "--metric", "output_accuracy", "--length", "8", "--file", "-")
    assert drawn.code == 0 and "output" in drawn.out, drawn
    # The sweep's own table knows nothing of them.
    own = run_cli(home, "results", "places", "--store", store, "-o", "json").json()
    assert own["metric"] != "output_accuracy" and all(cell["jobs"] == 2 for cell in own["cells"]), own


def test_what_is_refused(home):
    plan = lambda *sets: run_cli(home, "plan", "quickstart", *(word for one in sets for word in ("--set", one)))
    untested = plan("evaluation.output_lengths=7")
    assert untested.code == 2 and "evaluation.output_lengths: 7 is not among evaluation.lengths" in untested.err, untested
    kind = run_cli(home, "plan", "quickstart-language", "--set", "evaluation.output_lengths=256")
    assert kind.code == 2 and "is a setting of the kinds 'algorithmic' and 'sequences'" in kind.err, kind
