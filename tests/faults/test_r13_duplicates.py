"""R13: the same request twice, at the same time or later, has one effect and one answer."""
import concurrent.futures

import pytest

from harness import Scheduler, check_ledger, messages, query


@pytest.mark.fault("R13", aim="10,000 duplicate submits: one sweep, one answer")
def test_duplicate_submits_make_one_sweep(home, fault):
    scheduler = Scheduler(home)
    api, spec = messages("api"), messages("spec")
    request = api.SubmitSweepRequest(spec=spec.SweepSpec(
        name="twice", experiment="algorithmic",
        axes=spec.Axes(task=["even_pairs"], encoding=["none", "rope"], learning_rate=[1e-4], seed=range(3))))
    stub = scheduler.api()
    count = fault.size(short=500, full=10_000, long=100_000)

    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: stub.SubmitSweep(request, timeout=60), range(count)))

    assert len({answer.sweep.id for answer in answers}) == 1
    assert query(scheduler.store, "SELECT (SELECT count(*) FROM sweeps), (SELECT count(*) FROM jobs)") == [(1, 6)]
    scheduler.stop()
    check_ledger(home, scheduler.store)
    fault.reached(f"{count:,} submits from 8 threads: 1 sweep, 6 jobs")
