"""What a sweep leaves in the store, whoever asks."""
import harness
from harness import Scheduler, Worker, messages, query
from test_other_clients import small_sweep


def test_every_update_of_a_short_job_is_a_point_of_its_loss_curve(home):
    scheduler = Scheduler(home)
    api = messages("api")
    spec = small_sweep()
    spec.training.steps = 100
    scheduler.api().SubmitSweep(api.SubmitSweepRequest(spec=spec))
    Worker(home, scheduler)
    for update in scheduler.api().WatchSweep(api.GetSweepRequest(sweep="small"), timeout=harness.PATIENCE_S):
        last = update
    assert last.sweep.counts.succeeded == 8
    # Some points came with a progress report, the last ones with the result.
    points = query(scheduler.store, "SELECT job, count(*), min(step), max(step) FROM progress GROUP BY job ORDER BY job")
    assert points == [(job, 100, 1, 100) for job in range(1, 9)]
    assert query(scheduler.store, "SELECT count(*) FROM progress WHERE loss IS NULL OR loss <= 0") == [(0,)]
