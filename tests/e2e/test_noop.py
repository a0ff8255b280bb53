"""Jobs that compute nothing: they go the way of all others, each as an attempt of its own, and each has its own result."""
import csv
import io

import grpc
import pytest

import harness
from harness import Scheduler, Worker, check_ledger, messages, query, run_cli, until


def submit(home, scheduler, jobs):
    assert jobs % 4 == 0, jobs
    submitted = run_cli(home, "submit", "noop", "--set", f"seed=0..{jobs // 4 - 1}", scheduler=scheduler)
    assert submitted.code == 0, submitted


def assert_each_once(store, jobs):
    """Every job has an attempt of its own with one measurement, which is made of its id."""
    rows = query(store, "SELECT j.id, j.state, a.members, a.outcome, m.metric, m.length, m.value FROM jobs AS j "
                        "JOIN attempts AS a ON a.id = j.attempt JOIN measurements AS m ON m.job = j.num")
    assert len(rows) == jobs == query(store, "SELECT count(*) FROM jobs")[0][0]
    assert {row[1:6] for row in rows} == {("succeeded", 1, "succeeded", "echo", 0)}
    assert all(value == int(job[:12], 16) / 2**48 for job, *_, value in rows)


@harness.needs_worker
def test_a_worker_answers_them_without_its_trainer(home, scheduler):
    worker = Worker(home, scheduler)
    submit(home, scheduler, 1000)
    assert run_cli(home, "wait", "noop", scheduler=scheduler).code == 0
    table = run_cli(home, "results", "noop", "-o", "json", scheduler=scheduler)
    assert table.code == 0, table
    assert len(table.json()["cells"]) == 4, table
    assert worker.stop() == 0
    scheduler.stop()
    check_ledger(home, scheduler.store)
    assert_each_once(scheduler.store, 1000)
    assert query(scheduler.store, "SELECT count(*) FROM attempts WHERE engine = 'noop' AND outcome = 'succeeded'") == [(1000,)]


@harness.needs_worker
def test_the_mean_over_seeds_at_the_best_learning_rate_is_that_of_all_rates_which_is_the_highest(home, scheduler):
    Worker(home, scheduler)
    submitted = run_cli(home, "submit", "noop", "--set", "seed=0..2", "--set", "learning_rate=1e-4,1e-3", scheduler=scheduler)
    assert submitted.code == 0, submitted
    assert run_cli(home, "wait", "noop", scheduler=scheduler).code == 0

    def lines(*options):
        table = run_cli(home, "results", "noop", "--rows", "task", *options, "-o", "csv", scheduler=scheduler)
        assert table.code == 0, table
        return list(csv.DictReader(io.StringIO(table.out)))

    by_rate = {}
    for line in lines("--columns", "encoding,learning_rate", "--aggregate", "mean"):
        by_rate.setdefault((line["task"], line["encoding"]), []).append((float(line["echo"]), float(line["learning_rate"]), float(line["deviation"])))
    assert [len(rates) for rates in by_rate.values()] == [2] * 4
    expected = {place: max(rates) for place, rates in by_rate.items()}

    best = run_cli(home, "results", "noop", "--best-of", "learning_rate", "-o", "json", scheduler=scheduler)
    assert best.code == 0, best
    table = best.json()
    assert table["title"].endswith(", mean over seeds at the best learning rate"), table
    places = [(row["key"], column["key"]) for row in table["rows"] for column in table["columns"]]
    found = {place: (cell["measured"], float(cell["best_of"]), cell["deviation"]) for place, cell in zip(places, table["cells"])}
    assert found == {place: pytest.approx(values) for place, values in expected.items()}
    assert {cell["measured_jobs"] for cell in table["cells"]} == {3}

    as_csv = lines("--columns", "encoding", "--best-of", "learning_rate")
    assert {(line["task"], line["encoding"]): float(line["best_of"]) for line in as_csv} == {place: rate for place, (_, rate, _) in expected.items()}


@harness.needs_worker
def test_many_go_with_one_call(home, scheduler):
    submit(home, scheduler, 2048)
    worker = Worker(home, scheduler)
    assert run_cli(home, "wait", "noop", scheduler=scheduler).code == 0
    assert worker.stop() == 0
    # Leases that one call was given have the same time.
    together = query(scheduler.store, "SELECT count(*) FROM attempts GROUP BY started_at")
    assert [count for (count,) in together] == [256] * 8


@harness.needs_worker
def test_each_is_done_once_although_the_scheduler_is_killed(home):
    """As in the benchmark, with kill -9 in the middle of it: what was acknowledged is there, and nothing counts twice."""
    jobs = 12_000
    scheduler = Scheduler(home)
    submit(home, scheduler, jobs)
    workers = [Worker(home, scheduler) for _ in range(2)]
    for share in (0.1, 0.4, 0.7):
        until(lambda: query(scheduler.store, "SELECT jobs_succeeded FROM sweeps")[0][0] >= share * jobs, "a part of the work is done")
        scheduler.kill()
        scheduler = scheduler.again()
    assert run_cli(home, "wait", "noop", scheduler=scheduler).code == 0
    assert [worker.stop() for worker in workers] == [0, 0]
    scheduler.stop()
    check_ledger(home, scheduler.store)
    assert_each_once(scheduler.store, jobs)


def test_a_large_sweep_is_gone_on_with_after_a_kill(home):
    """It is killed while the jobs come: what is there is sound, the rest comes by itself, and submitting again finds all of it."""
    jobs, there = 30_000, None
    spec, api = messages("spec"), messages("api")
    while there in (None, jobs):  # A machine may be so busy that the kill comes too late: then a larger one.
        jobs *= 2
        scheduler = Scheduler(home, store=f"{jobs}.db")
        request = api.SubmitSweepRequest(spec=spec.SweepSpec(
            name="large", experiment="noop",
            axes=spec.Axes(task=["even_pairs"], encoding=["none"], learning_rate=[1e-4], seed=range(jobs))))
        call = scheduler.api().SubmitSweep.future(request, timeout=harness.PATIENCE_S)
        until(lambda: query(scheduler.store, "SELECT jobs_to_come FROM sweeps"), "the sweep is there")
        scheduler.kill()
        there = query(scheduler.store, "SELECT count(*) FROM jobs")[0][0]
    with pytest.raises(grpc.RpcError):
        call.result()
    assert 0 < there < jobs
    assert query(scheduler.store, "SELECT jobs_queued, jobs_to_come FROM sweeps") == [(there, jobs - there)]

    scheduler = scheduler.again()
    assert scheduler.api().ListSweeps(api.ListSweepsRequest(), timeout=harness.PATIENCE_S).sweeps[0].jobs == jobs
    until(lambda: query(scheduler.store, "SELECT jobs_to_come FROM sweeps") == [(0,)], "all jobs have come")

    again = scheduler.api().SubmitSweep(request, timeout=harness.PATIENCE_S)
    assert not again.created and again.sweep.counts.queued == jobs
    assert query(scheduler.store, "SELECT count(*) FROM jobs") == [(jobs,)]
    scheduler.stop()
    check_ledger(home, scheduler.store)


def test_nobody_waits_for_what_a_sweep_gave_up_and_another_goes_on_with(home, scheduler):
    for name in ("mine", "other"):
        submitted = run_cli(home, "submit", "noop", "--set", "seed=0", "--set", f"name={name}", scheduler=scheduler)
        assert submitted.code == 0, submitted
    assert run_cli(home, "cancel", "mine", "--only", "seed=0", scheduler=scheduler).code == 0

    waited = run_cli(home, "wait", "mine", "--timeout", f"{harness.PATIENCE_S}s", scheduler=scheduler)

    assert waited.code == 1 and "4 of the 4 jobs of sweep mine were cancelled" in waited.err, waited
    for name, state in (("mine", "cancelled"), ("other", "queued")):
        listed = run_cli(home, "jobs", name, "--state", state, "-o", "json", scheduler=scheduler)
        assert len(listed.json()["jobs"]) == 4, listed
    scheduler.stop()
    check_ledger(home, scheduler.store)


def test_a_large_sweep_is_cancelled_to_its_end_after_a_kill(home):
    """It is killed while the jobs follow: what is there is sound, and the rest follows by itself."""
    jobs = 40_000
    scheduler = Scheduler(home)
    api = messages("api")
    followed = jobs
    while followed == jobs:  # A machine may be so fast that the kill comes too late.
        submit(home, scheduler, jobs)
        cancel = scheduler.api().SteerSweep.future(
            api.SteerSweepRequest(sweep="noop", action=api.SteerSweepRequest.ACTION_CANCEL), timeout=harness.PATIENCE_S)
        until(lambda: query(scheduler.store, "SELECT jobs_cancelled FROM sweeps")[0][0], "the first jobs follow")
        scheduler.kill()
        followed = query(scheduler.store, "SELECT jobs_cancelled FROM sweeps")[0][0]
        scheduler = scheduler.again()
    with pytest.raises(grpc.RpcError):
        cancel.result()
    until(lambda: query(scheduler.store, "SELECT unsettled_from FROM sweeps") == [(None,)], "all jobs follow")
    assert query(scheduler.store, "SELECT state, jobs_cancelled FROM sweeps") == [("cancelled", jobs)]
    scheduler.stop()
    check_ledger(home, scheduler.store)


def test_the_status_of_a_sweep_has_its_specification_and_lists_leave_it_out(home, scheduler):
    submit(home, scheduler, 8)
    status = run_cli(home, "status", "noop", "-o", "json", scheduler=scheduler)
    assert status.code == 0, status
    assert status.json()["sweep"]["spec"]["axes"]["seed"] == [0, 1], status
    sweeps = run_cli(home, "sweeps", "-o", "json", scheduler=scheduler)
    assert [("spec" in sweep, sweep["jobs"]) for sweep in sweeps.json()["sweeps"]] == [(False, 8)], sweeps


def test_settings_are_refused(home, scheduler):
    refused = run_cli(home, "submit", "noop", "--set", "training.steps=5", scheduler=scheduler)
    assert refused.code != 0
    assert "training: a no-op job computes nothing and has no settings" in refused.err, refused


def test_a_cancelled_sweep_is_not_waited_for_though_another_wants_its_jobs(home, scheduler):
    submit(home, scheduler, 8)
    more = run_cli(home, "submit", "noop", "--set", "seed=0..2", "--set", "name=more", scheduler=scheduler)
    assert more.code == 0, more
    assert run_cli(home, "cancel", "noop", scheduler=scheduler).code == 0
    for waiting in (["wait", "noop"], ["wait", "noop", "--timeout", "0"], ["watch", "noop"]):
        waited = run_cli(home, *waiting, scheduler=scheduler)
        assert waited.code == 1, waited
        assert "sweep noop is cancelled; 8 of its jobs are another sweep's too, and go on" in waited.err, waited
    status = run_cli(home, "status", "more", "-o", "json", scheduler=scheduler).json()
    assert status["sweep"]["counts"]["queued"] == 12, status


@harness.needs_worker
def test_what_is_done_is_done_also_for_who_has_no_time(home, scheduler):
    worker = Worker(home, scheduler)
    submit(home, scheduler, 8)
    assert run_cli(home, "wait", "noop", scheduler=scheduler).code == 0
    for _ in range(20):
        waited = run_cli(home, "wait", "noop", "--timeout", "0", scheduler=scheduler)
        assert waited.code == 0, waited
    assert worker.stop() == 0
