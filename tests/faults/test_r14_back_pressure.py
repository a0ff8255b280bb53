"""R14: a thousand workers and a hundred thousand jobs: queues and memory stay bounded, nothing is lost, answers come soon."""
import threading

import pytest

from fleet import FakeWorkers, ProcessUse, sweep_of, wrong_results
from harness import LONG_LEASES, PATIENCE_S, Scheduler, check_ledger, query, run_cli

WORKERS = 1000


def leases(fault):
    """Among other tests' programs a machine may be too slow for the usual ones; alone on it, none may end."""
    return LONG_LEASES if fault.form == "short" else ()


def submit(home, scheduler, jobs):
    file = home.path / "many.yaml"
    file.write_text(sweep_of(jobs))
    submitted = run_cli(home, "submit", file, scheduler=scheduler)
    assert submitted.code == 0, submitted


def watch(process, use, ended, every_s=0.25):
    """Looks at a process until it is told to end."""
    looks = 0
    while not ended.wait(every_s):
        looks += 1
        use.look(looks * every_s)


def work(home, scheduler, *arguments):
    """Runs fake workers until there is nothing left to do; what they counted, and what the scheduler took meanwhile."""
    use, ended = ProcessUse(scheduler), threading.Event()
    watching = threading.Thread(target=watch, args=(scheduler, use, ended))
    watching.start()
    try:
        figures = FakeWorkers(home, scheduler, "--workers", WORKERS, "--connections", "own", "--until-idle", *arguments).figures(10 * PATIENCE_S)
    finally:
        ended.set()
        watching.join()
    use.look(figures["seconds"])
    return figures, use


def assert_each_once(store, jobs):
    assert wrong_results(store) == []
    assert query(store, "SELECT count(*) FROM jobs") == [(jobs,)]
    # Nobody was cut off, so nothing was done twice either.
    assert query(store, "SELECT outcome, count(*) FROM attempts GROUP BY outcome") == [("succeeded", jobs)]


@pytest.mark.fault("R14", aim=">= 2,000 reports/s with synchronous=FULL, resident memory < 500 MB and no growth, each job exactly once")
def test_a_thousand_workers_all_at_once(home, fault):
    """Every worker reports as fast as it is answered: the queue holds as many calls as there are workers."""
    jobs = fault.size(short=4_000, full=100_000, long=1_000_000)
    scheduler = Scheduler(home, *leases(fault), listen="127.0.0.1:0")
    submit(home, scheduler, jobs)
    figures, use = work(home, scheduler)
    assert figures["acknowledged_jobs"] == jobs and figures["false_drops"] == 0, figures
    assert use.highest_mib() < 500, use.seen
    scheduler.stop()
    check_ledger(home, scheduler.store)
    assert_each_once(scheduler.store, jobs)
    fault.reached(f"{WORKERS:,} workers with a connection each, {jobs:,} jobs: {figures['reports_per_s']:,.0f} reports/s; "
                  f"resident memory at most {use.highest_mib():.0f} MiB, in the second half {use.slope(1) / 3600:+.2f} MiB/s")


@pytest.mark.fault("R14", aim="assign p99 < 20 ms with 1,000 workers at work")
def test_a_thousand_workers_at_their_usual_pace(home, fault):
    """Every worker takes two seconds for a job, so some 500 a second end and as many are leased."""
    jobs = fault.size(short=1_500, full=20_000, long=200_000)
    scheduler = Scheduler(home, *leases(fault), listen="127.0.0.1:0")
    submit(home, scheduler, jobs)
    figures, use = work(home, scheduler, "--train-s", "2")
    assert figures["acknowledged_jobs"] == jobs and figures["false_drops"] == 0, figures
    assert use.highest_mib() < 500, use.seen
    scheduler.stop()
    check_ledger(home, scheduler.store)
    assert_each_once(scheduler.store, jobs)
    assign, report = figures["assign_ms"], figures["report_ms"]
    fault.reached(f"{WORKERS:,} workers, 2 s a job, {jobs:,} jobs: next lease after a job's end p50 {assign['p50']:.1f} ms, "
                  f"p99 {assign['p99']:.1f} ms; a report's answer p99 {report['p99']:.1f} ms; {use.highest_mib():.0f} MiB")
