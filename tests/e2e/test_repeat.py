"""`longreach job --spec` gives a job as a sweep of its own: the same job, not one like it."""
import pytest

from harness import query, run_cli

PLAIN = """
name: plain
experiment: algorithmic
axes: {task: [even_pairs], encoding: ["alibi:randomized", shape], learning_rate: [3.0e-5], seed: [7]}
model: {layers: 2, embedding_dim: 32, heads: 4, dropout: 0}
positions: {max_position: 600}
training: {steps: 10, lengths: [3, 5, 6, 7]}
"""
WITH_INPUT = """
name: fine
experiment: algorithmic
axes: {task: [even_pairs], encoding: [rope], learning_rate: [1.0e-4], seed: [1]}
training: {steps: 0}
inputs:
- name: weights
  artifact: weights
  from: {training: {steps: 20}}
"""


@pytest.mark.parametrize("text", [PLAIN, WITH_INPUT])
def test_a_job_s_sweep_asks_for_that_job(home, scheduler, text):
    submitted = run_cli(home, "submit", "/dev/stdin", scheduler=scheduler, stdin=text)
    assert submitted.code == 0, submitted
    jobs = [job for (job,) in query(scheduler.store, "SELECT id FROM jobs ORDER BY id")]
    assert len(jobs) == 2
    for job in jobs:
        written = run_cli(home, "job", job, "--spec", scheduler=scheduler)
        assert written.code == 0, written
        again = run_cli(home, "submit", "/dev/stdin", scheduler=scheduler, stdin=written.out)
        assert again.code == 0, (written, again)
        of_sweep = query(scheduler.store, "SELECT jobs.id FROM sweeps JOIN sweep_jobs ON sweep = sweeps.num JOIN jobs ON job = jobs.num "
                                          "WHERE name = ? AND role = 'member'", f"repeat-{job[:8]}")
        assert of_sweep == [(job,)], written.out
    assert [job for (job,) in query(scheduler.store, "SELECT id FROM jobs ORDER BY id")] == jobs
