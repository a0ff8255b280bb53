"""What a sweep takes is held against what was expected at its begin."""
import harness
from harness import query, run_cli

pytestmark = harness.needs_worker

SPEC = """
name: first
experiment: algorithmic
axes: {task: [even_pairs], encoding: [rope], learning_rate: [1e-3], seed: [0]}
model: {layers: 1, embedding_dim: 32, heads: 4, mlp_dim: 64}
training: {steps: 1000, batch_size: 16, lengths: 1..8}
evaluation: {lengths: [9, 10], examples: 32}
"""


def test_at_its_end_a_sweep_is_told_beside_what_was_expected(home):
    file = home.path / "sweep.yaml"
    file.write_text(SPEC)
    store = home.path / "it.db"
    alike = ("--set", "name=second", "--set", "seed=1")

    first = run_cli(home, "run", file, "--store", store)
    plan = run_cli(home, "plan", file, *alike, "--store", store, "-o", "json").json()
    second = run_cli(home, "run", file, *alike, "--store", store)

    assert first.code == second.code == 0, (first, second)
    assert "was expected" not in first.err, "of a new store nothing is known"
    assert plan["hours"] > 0
    assert "second: 1/1 done; took " in second.err and " was expected at its begin" in second.err, second
    expected, made_at, submitted_at = query(store, "SELECT expected_seconds, expected_at, submitted_at FROM sweeps WHERE name = 'second'")[0]
    assert abs(expected - 3600 * plan["hours"]) < 0.01 * expected and made_at >= submitted_at
    sweep = run_cli(home, "status", "second", "--store", store, "-o", "json").json()["sweep"]
    ended_at = query(store, "SELECT max(ended_at) FROM attempts")[0][0]
    assert sweep["expected"]["seconds"] == expected
    assert abs(sweep["seconds_taken"] - (ended_at - submitted_at) / 1e6) < 1e-3
    assert " was expected at its begin" in run_cli(home, "status", "second", "--store", store).out
    # Submitting it again is no new begin.
    assert run_cli(home, "run", file, *alike, "--store", store).code == 0
    assert query(store, "SELECT expected_seconds, expected_at FROM sweeps WHERE name = 'second'") == [(expected, made_at)]
    assert query(store, "SELECT expected_seconds, expected_at FROM sweeps WHERE name = 'first'") == [(None, None)]
