"""What is said of a sweep with many pages of jobs: all of them, each once, in the order of the sweep."""
import csv
import io
import json
import math
import statistics

import pytest
from fleet import FakeWorkers
from harness import Home, Scheduler, check_ledger, query, run_cli

JOBS = 12_000


@pytest.fixture(scope="module")
def large():
    """A scheduler with a no-op sweep that played workers have done, and what its store has of each job."""
    with Home() as home:
        scheduler = Scheduler(home)
        submitted = run_cli(home, "submit", "noop", "--set", f"seed=0..{JOBS // 4 - 1}", scheduler=scheduler)
        assert submitted.code == 0, submitted
        FakeWorkers(home, scheduler, "--noop", "--slots", "256", "--workers", "2", "--connections", "own", "--until-idle").figures()
        yield home, scheduler, query(scheduler.store, "SELECT j.id, j.task, j.encoding, j.seed, m.value FROM sweep_jobs AS sj JOIN jobs AS j ON j.num = sj.job "
                                                      "JOIN measurements AS m ON m.job = j.num WHERE sj.role = 'member' ORDER BY sj.position")
        scheduler.stop()
        check_ledger(home, scheduler.store)


def said(large, *arguments):
    home, scheduler, _ = large
    done = run_cli(home, *arguments, scheduler=scheduler)
    assert done.code == 0, done
    return done


def of_csv(done, *columns):
    return [tuple(row[column] for column in columns) for row in csv.DictReader(io.StringIO(done.out))]


def test_every_job_is_listed_once_in_the_order_of_the_sweep(large):
    rows = large[2]
    assert len(rows) == JOBS
    ids = [row[0] for row in rows]
    assert of_csv(said(large, "jobs", "noop", "-o", "csv"), "id", "task", "encoding", "seed", "state", "score") == [
        (job, task, encoding, str(seed), "succeeded", repr(value)) for job, task, encoding, seed, value in rows]
    listed = said(large, "jobs", "noop", "-o", "json")
    assert listed.out.startswith('{"schema":"longreach/v1","jobs":[{"id":"') and listed.out.endswith("}]}\n")
    assert [(job["id"], job["seed"], job["score"]) for job in json.loads(listed.out)["jobs"]] == [(row[0], row[3], row[4]) for row in rows]
    assert said(large, "jobs", "noop", "-q").out.split() == ids
    table = said(large, "jobs", "noop").out.splitlines()
    assert [line[:8] for line in table[1:]] == [job[:8] for job in ids]
    assert not any(line.endswith(" ") for line in table)


@pytest.mark.parametrize("limit", [1, 3999, 4000, 4001, 9000, JOBS - 1])
def test_a_limit_cuts_the_list_wherever_pages_end(large, limit):
    ids = [row[0] for row in large[2]]
    for output in ("csv", "json"):
        listed = said(large, "jobs", "noop", "--limit", limit, "-o", output)
        got = [job["id"] for job in json.loads(listed.out)["jobs"]] if output == "json" else [job for job, in of_csv(listed, "id")]
        assert got == ids[:limit]
        assert f"the first {limit:,}; --limit 0 shows all" in listed.err
    assert said(large, "jobs", "noop", "--limit", JOBS, "-o", "csv").err == ""


def test_only_some_are_listed_whichever_pages_they_are_on(large):
    rows = [row for row in large[2] if row[2] == "rope" and row[3] % 1000 == 7]
    assert len(rows) == 6
    assert of_csv(said(large, "jobs", "noop", "--only", "encoding=rope", "--only", "seed=7,1007,2007", "-o", "csv"), "id") == [(row[0],) for row in rows]


@pytest.mark.parametrize("asked", [(), ("--metric", "echo"), ("--metric", "echo", "--length", "0")])
def test_every_value_is_listed_once_in_the_order_of_the_sweep(large, asked):
    rows = [(row[0], row[4]) for row in large[2]]
    listed = said(large, "results", "noop", "--jobs", *asked, "-o", "csv")
    assert [(job, float(value)) for job, value in of_csv(listed, "job", "value")] == rows
    listed = said(large, "results", "noop", "--jobs", *asked, "-o", "json")
    assert listed.out.startswith('{"schema":"longreach/v1","measurements":[{"job":"') and listed.out.endswith("}]}\n")
    assert [(row["job"], row["value"]) for row in json.loads(listed.out)["measurements"]] == rows


def test_every_job_is_in_a_pair(large):
    values = {row[1:4]: row[4] for row in large[2]}
    groups = json.loads(said(large, "compare", "noop", "--between", "encoding=none,rope", "-o", "json").out)["rows"]
    tasks = sorted({task for task, _, _ in values})
    assert [group["task"] for group in groups] == [*tasks, None]
    for group in groups:
        pairs = [(value, values[task, "rope", seed]) for (task, encoding, seed), value in values.items() if encoding == "none" and group["task"] in (task, None)]
        assert group["pairs"] == len(pairs)
        assert math.isclose(group["first"], statistics.fmean(first for first, _ in pairs), rel_tol=1e-9)
        assert math.isclose(group["difference"], statistics.fmean(second - first for first, second in pairs), rel_tol=1e-6, abs_tol=1e-9)


def test_a_check_looks_at_all_of_it(large):
    assert said(large, "store", "check").out == f"sound: looked at 1 sweep, {JOBS:,} jobs, {JOBS:,} attempts, {JOBS:,} measurements and 0 artifacts\n"
