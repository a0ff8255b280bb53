"""Layers without a positional encoding (positions.none_every): from the grid to the table, by the fast engine."""
from harness import check_ledger, needs_worker, query, run_cli

SWEEP = """
name: hybrid
experiment: algorithmic
axes: {task: reverse_string, encoding: [rope, "log_kerple:randomized"], learning_rate: 1.0e-3, seed: 0}
model: {layers: 3, embedding_dim: 32, heads: 4, mlp_dim: 64}
positions: {none_every: [0, 2, 3]}
training: {steps: 10, batch_size: 8, lengths: 1..4}
evaluation: {lengths: [5, 9], examples: 16}
"""


@needs_worker
def test_a_grid_of_it(home):
    store = home.path / "s.db"
    ran = run_cli(home, "run", "/dev/stdin", "--store", store, "--engine", "lanes", "--threads", "1", stdin=SWEEP)
    assert ran.code == 0, ran
    check_ledger(home, str(store))
    assert query(store, "SELECT encoding, count(*) FROM jobs WHERE state = 'succeeded' GROUP BY 1 ORDER BY 1") == [("log_kerple", 3), ("rope", 3)]
    assert all(engine.startswith("lanes") for (engine,) in query(store, "SELECT engine FROM attempts"))
    table = run_cli(home, "results", "hybrid", "--store", store, "--metric", "loss", "--rows", "encoding", "--columns", "positions.none_every", "--aggregate", "mean",
                    "-o", "json").json()
    assert [column["key"] for column in table["columns"]] == ["0", "2", "3"], table
    losses = [cell["measured"] for cell in table["cells"]]
    assert len(losses) == 6 and len(set(losses)) == 6, table


def test_what_is_refused(home):
    plan = lambda *sets: run_cli(home, "plan", "quickstart", *(word for one in sets for word in ("--set", one)))
    one = plan("encoding=rope", "positions.none_every=1")
    assert one.code == 2 and "take the encoding 'none' instead" in one.err, one
    many = plan("encoding=rope", "positions.none_every=50")
    assert many.code == 2 and "is above model.layers" in many.err, many
    added = plan("encoding=sin_cos", "positions.none_every=2")
    assert added.code == 2 and "'sin_cos' does not act in layers" in added.err, added
    twice = plan("encoding=rope,sin_cos", "positions.none_every=0,2")
    assert twice.code == 2 and "leave 'sin_cos' to a sweep of its own" in twice.err, twice
    meant = plan("encoding=rope", "positions.no_rope_layer_interval=2")
    assert meant.code == 2 and "did you mean 'positions.none_every'" in meant.err, meant
