"""Attention by the number of keys (model.length_scaling): from the grid to the table, by the fast engine."""
from harness import check_ledger, needs_worker, query, run_cli

SWEEP = """
name: sharp
experiment: algorithmic
axes: {task: reverse_string, encoding: [none, rope], learning_rate: 1.0e-3, seed: 0}
model: {layers: 2, embedding_dim: 32, heads: 4, mlp_dim: 64, length_scaling: [none, log, log_beyond]}
training: {steps: 10, batch_size: 8, lengths: 1..4}
evaluation: {lengths: [3, 4, 5, 9], examples: 16}
"""


def losses(store, scaling, length):
    """By encoding."""
    return query(store, "SELECT j.encoding, m.value FROM jobs AS j JOIN measurements AS m ON m.job = j.num WHERE m.metric = 'loss' AND m.length = ? AND "
                        "(CASE WHEN j.spec LIKE '%model.length_scaling=%' THEN j.spec ELSE 'model.length_scaling=none' || char(10) END) "
                        "LIKE '%model.length_scaling=' || ? || char(10) || '%' ORDER BY 1", length, scaling)


@needs_worker
def test_a_grid_of_it(home):
    store = home.path / "s.db"
    ran = run_cli(home, "run", "/dev/stdin", "--store", store, "--engine", "lanes", "--threads", "1", stdin=SWEEP)
    assert ran.code == 0, ran
    check_ledger(home, str(store))
    assert query(store, "SELECT count(*) FROM jobs WHERE state = 'succeeded'") == [(6,)]
    assert all(engine.startswith("lanes") for (engine,) in query(store, "SELECT engine FROM attempts"))
    for length, same in ((3, True), (4, True), (5, False), (9, False)):
        plain, log, beyond = (losses(store, scaling, length) for scaling in ("none", "log", "log_beyond"))
        assert len(plain) == len(log) == len(beyond) == 2, (plain, log, beyond)
        # Up to the longest tape of the training the one is what it is without, to the bit.
        assert (beyond == plain) == same, length
        assert log != plain, length
    table = run_cli(home, "results", "sharp", "--store", store, "--rows", "encoding", "--columns", "model.length_scaling", "--aggregate", "mean",
                    "-o", "json").json()
    assert [column["key"] for column in table["columns"]] == ["log", "log_beyond", "none"], table


def test_what_is_refused(home):
    plan = lambda *sets: run_cli(home, "plan", "quickstart", *(word for one in sets for word in ("--set", one)))
    relative = plan("encoding=relative", "model.length_scaling=log")
    assert relative.code == 2 and "relative has terms beside them" in relative.err, relative
    word = plan("encoding=rope", "model.length_scaling=ln")
    assert word.code == 2 and "known: log, log_beyond, none" in word.err, word
    kind = run_cli(home, "plan", "quickstart-images", "--set", "model.length_scaling=log")
    assert kind.code == 2 and "is a setting of the kinds 'algorithmic', 'language' and 'sequences'" in kind.err, kind
    text = run_cli(home, "plan", "quickstart-language", "--set", "encoding=relative", "--set", "model.length_scaling=log")
    assert text.code == 2 and "relative has terms beside them" in text.err, text
    meant = plan("encoding=rope", "model.log_length_scaling=log")
    assert meant.code == 2 and "did you mean 'model.length_scaling'" in meant.err, meant
