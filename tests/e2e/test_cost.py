"""`longreach cost` against what the store says of attempts: a device's time is divided, and none of it twice."""
import json

import pytest

import harness
from harness import Scheduler, Worker, messages, query, run_cli, until

pytestmark = harness.needs_worker

SMALL = ("--set", "training.steps=10", "--set", "evaluation.examples=8", "--set", "encoding=rope,alibi", "--set", "learning_rate=1e-3,1e-4")


def answer(home, store, *arguments):
    printed = run_cli(home, "cost", *arguments, "--store", store, "-o", "json")
    assert printed.code == 0, printed
    return json.loads(printed.out)


def cost(home, store, *arguments):
    return answer(home, store, *arguments)["rows"]


def busy_seconds(store):
    """For how long devices had attempts, whether one or several at a time."""
    seconds = 0
    for (device,) in query(store, "SELECT DISTINCT device_id FROM attempts"):
        until = 0
        for start, end in query(store, "SELECT started_at, ended_at FROM attempts WHERE device_id = ? ORDER BY started_at", device):
            seconds += max(0, end - max(start, until)) / 1e6
            until = max(until, end)
    return seconds


def test_all_of_a_worker_s_time_is_somebody_s(home):
    store = home.path / "s.db"
    ran = run_cli(home, "run", "quickstart", *SMALL, "--store", store, "--threads", "2", "--packs", "2", "--pack-limit", "4")
    assert ran.code == 0, ran
    jobs = 2 * 2 * 2 * 3

    (by_device,) = cost(home, store, "last")
    assert (by_device["jobs"], by_device["results"]) == (jobs, jobs)
    assert query(store, "SELECT count(*), count(DISTINCT device), min(device) FROM attempts") == [(by_device["attempts"], 1, by_device["device"])]
    assert by_device["seconds"] == pytest.approx(busy_seconds(store), abs=1e-4)
    assert 0 < by_device["result_seconds"] <= by_device["seconds"]
    assert by_device["seconds_per_result"] == pytest.approx(by_device["result_seconds"] / jobs)

    by_cell = answer(home, store, "quickstart", "--by", "task,encoding")
    cells, total = by_cell["rows"], by_cell["total"]
    assert [(row["task"], row["encoding"], row["results"]) for row in cells] == [(task, encoding, jobs / 4) for task in ("bucket_sort", "even_pairs")
                                                                                for encoding in ("alibi", "rope")]
    assert total["jobs"] == jobs and total["seconds"] == pytest.approx(by_device["seconds"])
    assert sum(row["seconds"] for row in cells) == pytest.approx(total["seconds"])


def test_two_workers_of_one_machine_have_its_time_together(home):
    scheduler = Scheduler(home)
    for _ in range(2):
        Worker(home, scheduler, "--pack-limit", "1")
    until(lambda: query(scheduler.store, "SELECT count(*) FROM workers WHERE device <> ''")[0][0] == 2, "both have their devices")
    submitted = run_cli(home, "submit", "quickstart", *SMALL, scheduler=scheduler)
    assert submitted.code == 0, submitted
    assert run_cli(home, "wait", "last", scheduler=scheduler).code == 0
    ((workers, devices, known),) = query(scheduler.store, "SELECT count(DISTINCT worker), count(DISTINCT device_id), min(device_id) <> '' FROM attempts")
    if not known:
        pytest.skip("this machine does not say which start of it this is")
    assert (workers, devices) == (2, 1)

    printed = run_cli(home, "cost", "last", "-o", "json", scheduler=scheduler)
    (row,) = printed.json()["rows"]
    assert row["seconds"] == pytest.approx(busy_seconds(scheduler.store), abs=1e-4) and printed.err == ""
    assert row["seconds"] < query(scheduler.store, "SELECT sum(ended_at - started_at) / 1e6 FROM attempts")[0][0], "they have worked at the same time"


def test_a_sweep_that_has_results_already_says_what_they_cost(home):
    store = home.path / "s.db"
    assert run_cli(home, "run", "noop", "--store", store, "--set", "seed=0..4", "--set", "name=all").code == 0
    assert run_cli(home, "submit", "noop", "--store", store, "--set", "seed=0..1", "--set", "name=some").code == 0
    (all_jobs,), (some,) = cost(home, store, "all"), cost(home, store, "some")
    assert (all_jobs["results"], some["results"]) == (20, 8)
    assert some["seconds"] <= all_jobs["seconds"] + 1e-4

    assert run_cli(home, "submit", "noop", "--store", store, "--set", "seed=5", "--set", "name=later").code == 0
    nothing = run_cli(home, "cost", "later", "--store", store)
    assert nothing.code == 0 and "none of its jobs has been begun" in nothing.err, nothing


def test_what_was_lost_is_counted_until_its_worker_was_last_heard_of(home):
    scheduler = Scheduler(home, "--lease-term-s", "3", "--renew-every-s", "1")
    submitted = run_cli(home, "submit", "quickstart", "--set", "training.steps=200000", "--set", "training.batch_size=4", "--set", "model.layers=1", "--set", "encoding=rope",
                        scheduler=scheduler)
    assert submitted.code == 0, submitted
    worker = Worker(home, scheduler)
    until(lambda: query(scheduler.store, "SELECT 1 FROM progress"), "the worker has told of its training")
    worker.kill()
    last_call = scheduler.api().ListWorkers(messages("api").ListWorkersRequest(), timeout=harness.PATIENCE_S).workers[0].seen_at.ToMicroseconds()
    # Of one that has fallen silent it is written soon when it was last heard of.
    until(lambda: query(scheduler.store, "SELECT 1 FROM attempts JOIN workers ON workers.id = worker WHERE outcome = 'lost' AND seen_at >= ?", last_call),
          "its lease is over")
    ((started, noticed, heard),) = query(scheduler.store, "SELECT started_at / 1e6, ended_at / 1e6, seen_at / 1e6 FROM attempts JOIN workers ON workers.id = worker")
    assert started < heard < noticed
    printed = run_cli(home, "cost", "last", "-o", "json", scheduler=scheduler)
    (row,) = printed.json()["rows"]
    assert row["seconds"] == pytest.approx(heard - started, abs=1e-3)
    assert printed.err == "", printed

    # Once it is back nobody knows any more when it fell silent.
    Worker(home, scheduler, name=worker.worker_name)
    until(lambda: query(scheduler.store, "SELECT count(*) FROM attempts")[0][0] == 2, "it has work again")
    printed = run_cli(home, "cost", "last", scheduler=scheduler)
    assert "is of 1 attempt that was lost, counted until that was noticed" in printed.err, printed
