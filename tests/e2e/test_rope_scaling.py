"""Extensions of rotary positions (positions.rope_scaling) of encoders: one training, tested as it is and with each of them."""
from harness import check_ledger, needs_worker, query, run_cli

SWEEP = """
name: extended
experiment: algorithmic
axes: {task: reverse_string, encoding: rope, learning_rate: 1.0e-3, seed: 0..1}
model: {layers: 2, embedding_dim: 32, heads: 4, mlp_dim: 64}
training: {steps: 20, batch_size: 8, lengths: 1..4}
evaluation: {lengths: [4, 8, 12], examples: 16}
systems:
  - name: rope
  - name: linear
    with: {positions: {rope_scaling: linear, rope_factor: 3}, training: {steps: 0}, inputs: [{name: weights, artifact: weights}]}
"""


def losses(store, setting):
    """Of jobs whose specification has this line, by seed and length."""
    return query(store, "SELECT j.seed, m.length, m.value FROM jobs AS j JOIN measurements AS m ON m.job = j.num WHERE m.metric = 'loss' AND "
                        "j.spec LIKE '%' || ? || '%' ORDER BY 1, 2", setting)


@needs_worker
def test_one_training_is_tested_with_each_of_them(home):
    store = home.path / "s.db"
    ran = run_cli(home, "run", "/dev/stdin", "--store", store, stdin=SWEEP)
    assert ran.code == 0, ran
    check_ledger(home, str(store))
    # The plain system's jobs are those behind the inputs of the other.
    assert query(store, "SELECT count(*) FROM jobs") == [(4,)]
    linear = losses(store, "positions.rope_scaling=linear")
    assert len(linear) == 8, linear

    # The same from one job for each, which trains as if there were no scaling.
    alone = run_cli(home, "run", "/dev/stdin", "--store", store, "--set", "name=alone",
                    "--set", "positions.rope_scaling=none,linear", "--set", "positions.rope_factor=3", stdin=SWEEP[:SWEEP.index("systems:")])
    assert alone.code == 0, alone
    assert query(store, "SELECT count(*) FROM jobs") == [(6,)], "without scaling it is the job that was there"
    both = losses(store, "positions.rope_scaling=linear")
    assert sorted(both) == sorted(linear * 2), both
    table = run_cli(home, "results", "alone", "--store", store, "--rows", "positions.rope_scaling", "--columns", "length", "--metric", "loss",
                    "--aggregate", "mean", "-o", "json").json()
    assert [row["key"] for row in table["rows"]] == ["linear", "none"], table
    # In training, too, it is another model.
    always = run_cli(home, "run", "/dev/stdin", "--store", store, "--set", "name=always", "--set", "positions.rope_scaling=linear",
                     "--set", "positions.rope_factor=3", "--set", "positions.rope_scaling_at=always", stdin=SWEEP[:SWEEP.index("systems:")])
    assert always.code == 0, always
    assert not set(losses(store, "positions.rope_scaling_at=always")) & set(linear)


def test_what_is_refused(home):
    plan = lambda *sets: run_cli(home, "plan", "quickstart", *(word for one in sets for word in ("--set", one)))
    randomized = plan("encoding=rope:randomized", "positions.rope_scaling=linear", "positions.rope_factor=4")
    assert randomized.code == 2 and "'linear' is for consecutive positions, and those of rope:randomized are drawn" in randomized.err, randomized
    alone = plan("encoding=rope", "positions.rope_factor=4")
    assert alone.code == 2 and "positions.rope_factor: 4 does not go with positions.rope_scaling 'none'" in alone.err, alone
    word = plan("encoding=rope", "positions.rope_scaling=pi", "positions.rope_factor=4")
    assert word.code == 2 and "positions.rope_scaling: unknown word 'pi'" in word.err, word
    none = plan("encoding=alibi,none", "positions.rope_scaling=yarn", "positions.rope_factor=4")
    assert none.code == 2 and "no encoding here has one" in none.err, none
    meant = plan("encoding=rope", "positions.rope_type=linear")
    assert meant.code == 2 and "did you mean 'positions.rope_scaling'" in meant.err, meant
