"""What a sweep leaves in the store, whoever asks."""
import csv
import io
import json
import math
import statistics

import harness
import pytest
from harness import Scheduler, Worker, messages, query, run_cli
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

    stored = query(scheduler.store, "SELECT j.id, 'step=' || step, loss FROM sweep_jobs AS sj JOIN jobs AS j ON j.num = sj.job "
                                    "JOIN progress AS p ON p.job = j.num ORDER BY sj.position, step")
    listed = run_cli(home, "results", "small", "--jobs", "--metric", "training_loss", "-o", "csv", scheduler=scheduler)
    assert listed.code == 0, listed
    assert [(row["job"], row["slice"], float(row["value"])) for row in csv.DictReader(io.StringIO(listed.out))] == stored

    # As a table: ranges of ten steps, over all jobs of a task.
    table = run_cli(home, "results", "small", "--rows", "step", "--columns", "task", "--aggregate", "mean", "--step-bins", "10", "-o", "csv",
                    scheduler=scheduler)
    assert table.code == 0, table
    means = query(scheduler.store, "SELECT (step + 9) / 10 * 10, task, avg(loss) FROM progress JOIN jobs ON num = job GROUP BY 1, 2")
    assert len(means) == 20
    cells = {(int(row["step"]), row["task"]): float(row["training_loss"]) for row in csv.DictReader(io.StringIO(table.out))}
    assert cells == pytest.approx({(step, task): loss for step, task, loss in means})


def test_every_value_comes_out_as_it_is_in_the_store(home):
    scheduler = Scheduler(home)
    api = messages("api")
    scheduler.api().SubmitSweep(api.SubmitSweepRequest(spec=small_sweep()))
    Worker(home, scheduler)
    for update in scheduler.api().WatchSweep(api.GetSweepRequest(sweep="small"), timeout=harness.PATIENCE_S):
        last = update
    assert last.sweep.counts.succeeded == 8
    stored = query(scheduler.store, "SELECT j.id, j.task, j.encoding || iif(j.randomized, ':randomized', ''), j.learning_rate, j.seed, metric, "
                                    "length, slice, value FROM sweep_jobs AS sj JOIN jobs AS j ON j.num = sj.job JOIN measurements AS m ON m.job = j.num "
                                    "ORDER BY sj.position, metric, length, slice")
    assert {row[6] for row in stored} == {0, 4, 5}

    best = run_cli(home, "jobs", "small", "--best", "3", "--quiet", scheduler=scheduler)
    assert best.code == 0, best
    assert best.out.split() == [job for (job,) in query(scheduler.store, "SELECT j.id FROM sweep_jobs AS sj JOIN jobs AS j ON j.num = sj.job JOIN measurements AS m ON m.job = j.num "
                                                                         "WHERE metric = 'accuracy' AND length = 0 ORDER BY value DESC, sj.position LIMIT 3")]

    accuracy = {(row[0], row[6]): row[8] for row in stored if row[5] == "accuracy"}
    reached = run_cli(home, "reach", "small", "--at-least", "50", "--jobs", "-o", "csv", scheduler=scheduler)
    assert reached.code == 0, reached
    assert [(row["job"], int(row["reach"])) for row in csv.DictReader(io.StringIO(reached.out))] == [
        (job, 0 if accuracy[job, 4] < 0.5 else 5 if accuracy[job, 5] >= 0.5 else 4) for job in dict.fromkeys(row[0] for row in stored)]

    printed = run_cli(home, "results", "small", "--jobs", "-o", "csv", scheduler=scheduler)
    assert printed.code == 0, printed
    rows = [(row["job"], row["task"], row["encoding"], float(row["learning_rate"]), int(row["seed"]), row["metric"], int(row["length"]), row["slice"],
             float(row["value"])) for row in csv.DictReader(io.StringIO(printed.out))]
    assert rows == stored

    some = run_cli(home, "results", "small", "--jobs", "--metric", "accuracy", "--length", "5", "--only", "task=parity_check", "-o", "json",
                   scheduler=scheduler)
    assert some.code == 0, some
    wanted = [row[8] for row in stored if row[5:7] == ("accuracy", 5) and row[1] == "parity_check"]
    assert len(wanted) == 4
    assert [row["value"] for row in json.loads(some.out)["measurements"]] == wanted

    # In any pages, to any program.
    request = api.ListMeasurementsRequest(sweep="small", limit=3)
    values = []
    while True:
        page = scheduler.api().ListMeasurements(request)
        values += [(one.job.id, value.metric, value.length, value.value) for one in page.jobs for value in one.measurements]
        if not page.next_page_token:
            break
        request.page_token = page.next_page_token
    assert values == [(row[0], row[5], row[6], row[8]) for row in stored]


def test_a_store_that_is_not_asked_is_pointed_at_and_one_that_nothing_works_on_is_not_waited_for(home):
    submitted = run_cli(home, "submit", "noop", "--set", "seed=0..3", "--store", "longreach.db")
    assert submitted.code == 0, submitted

    asked = run_cli(home, "results", "--scheduler", "localhost:1")
    assert asked.code == 3 and "longreach.db" not in asked.err, asked
    asked = harness.run(home, "env", "-u", "LONGREACH_SCHEDULER", harness.BIN / "longreach", "results")
    assert asked.code == 3 and "there is a longreach.db here, as 'longreach run' makes it: --store longreach.db looks into it" in asked.err, asked
    assert "LONGREACH_" not in asked.err, asked
    # A variable that was to name the store, and does not.
    asked = harness.run(home, "env", "-u", "LONGREACH_SCHEDULER", "LONGREACH_STOR=longreach.db", harness.BIN / "longreach", "results")
    assert asked.code == 3 and "LONGREACH_STOR means nothing to any of the programs: did you mean LONGREACH_STORE?" in asked.err, asked
    for command in ("wait", "watch"):
        waited = run_cli(home, command, "--store", "longreach.db")
        assert waited.code == 1 and "nothing works on longreach.db" in waited.err, waited


def test_sweeps_are_compared_by_pairs_of_jobs(home):
    scheduler = Scheduler(home)
    api = messages("api")
    Worker(home, scheduler)
    specs = {}
    for name, steps in (("before", 2), ("after", 30), ("slower", 2)):
        specs[name] = small_sweep()
        specs[name].name = name
        specs[name].training.steps = steps
    specs["after"].axes.seed.append(7)
    specs["slower"].axes.learning_rate[0] = 0.0001
    for spec in specs.values():
        scheduler.api().SubmitSweep(api.SubmitSweepRequest(spec=spec))
    for name in specs:
        for update in scheduler.api().WatchSweep(api.GetSweepRequest(sweep=name), timeout=harness.PATIENCE_S):
            last = update
        assert last.sweep.counts.failed == 0

    stored = {name: {tuple(row[:4]): row[4] for row in query(
        scheduler.store, "SELECT task, encoding || iif(randomized, ':randomized', ''), learning_rate, seed, value FROM sweeps AS s "
        "JOIN sweep_jobs AS sj ON sj.sweep = s.num JOIN jobs ON jobs.num = sj.job JOIN measurements AS m ON m.job = jobs.num "
        f"WHERE s.name = '{name}' AND metric = 'accuracy' AND length = 0")} for name in specs}
    assert len(stored["before"]) == 8 and len(stored["after"]) == 12
    differences = {}
    for key, value in stored["before"].items():
        differences.setdefault(key[0], []).append((key[3], stored["after"][key] - value))
    assert [len(one) for one in differences.values()] == [4, 4]

    compared = run_cli(home, "compare", "before", "after", "--by", "task", "-o", "json", scheduler=scheduler)
    assert compared.code == 0, compared
    document = json.loads(compared.out)
    assert document["settings"] == ["seed", "training.steps"] and document["metric"] == "accuracy"
    ids = {row[0]: row[1] for row in query(scheduler.store, "SELECT name, id FROM sweeps")}
    assert document["sides"] == [{"sweep": ids[name], "name": name, "choice": ""} for name in ("before", "after")] and document["only"] == []
    # So few updates may make all of them differ by the same.
    notes = [note for note in document["notes"] if "it has no interval" not in note]
    assert notes[-1:] == ["4 jobs of after without a partner"] and len(notes) < 3
    # A row's draws are its two seeds: Student's distribution has one degree of freedom.
    for row, of_task in zip(document["rows"], [*sorted(differences.items()), (None, sum(differences.values(), []))], strict=True):
        task, values = of_task
        of_seeds = [statistics.mean(value for seed, value in values if seed == which) for which in sorted({seed for seed, _ in values})]
        mean, width = statistics.mean(of_seeds), 12.7062047 * statistics.stdev(of_seeds) / 2 ** 0.5
        assert row["task"] == task and row["pairs"] == len(values) and row["draws"] == 2
        assert row["difference"] == pytest.approx(mean, abs=1e-6)
        assert row["second"] - row["first"] == pytest.approx(mean, abs=1e-9)
        if statistics.stdev(of_seeds) < 1e-9:  # Of so few tests both may differ by the same.
            assert [row[name] for name in ("low", "high", "p", "needed")] == [None] * 4, row
            continue
        assert [row["low"], row["high"]] == pytest.approx([mean - width, mean + width], abs=1e-6)
        holds_zero = row["low"] <= 0 <= row["high"]
        assert (row["needed"] is None or row["needed"] > row["pairs"]) if holds_zero else row["needed"] is None
        assert (row["p"] > 0.05) == holds_zero
        # The distribution function of one degree of freedom has a closed form.
        assert row["p"] == pytest.approx(1 - 2 / math.pi * math.atan(abs(mean) / statistics.stdev(of_seeds) * 2 ** 0.5), abs=1e-9)
    corrected, ascending = 0, sorted((row["p"], row["p_holm"]) for row in document["rows"] if row["p"] is not None)
    for rank, (p, p_holm) in enumerate(ascending):
        corrected = max(corrected, min(1, (len(ascending) - rank) * p))
        assert p_holm == pytest.approx(corrected)

    shown = run_cli(home, "compare", "before", "after", scheduler=scheduler)
    assert shown.code == 0 and "they differ in seed, training.steps" in shown.out, shown
    assert "note: 4 jobs of after without a partner\n" in shown.err, shown
    assert ("*" in shown.out) == ("note: *: the difference holds when corrected for" in shown.err), shown
    by_rate = run_cli(home, "compare", "before", "slower", "--by", "learning_rate", "-o", "json", scheduler=scheduler)
    assert by_rate.code == 2 and "--by learning_rate: in that the sweeps differ, 0.001 and 0.0001" in by_rate.err, by_rate
    itself = run_cli(home, "compare", "before", "before", scheduler=scheduler)
    assert itself.code == 2 and "'before' and 'before' are the same sweep" in itself.err, itself
    nothing = run_cli(home, "compare", "before", "after", "--length", "77", scheduler=scheduler)
    assert nothing.code == 0 and "no job of 'before' has a partner in 'after' with accuracy at length 77: " in nothing.err, nothing
    # Over all that there are: as the score over all lengths is a mean.
    averaged = run_cli(home, "compare", "before", "after", "--by", "task", "--only", "length=4,5", "-o", "json", scheduler=scheduler)
    assert averaged.code == 0, averaged
    over_all = [row["difference"] for row in document["rows"]]
    assert [row["difference"] for row in averaged.json()["rows"]] == pytest.approx(over_all, abs=1e-9) and averaged.json()["length"] is None
    of_one = [[row["first"] for row in run_cli(home, "compare", "before", "after", "--by", "task", *which, "-o", "json", scheduler=scheduler).json()["rows"]]
              for which in (("--only", "length=4"), ("--length", "4"))]
    assert of_one[0] == of_one[1]
    unknown = run_cli(home, "compare", "before", "after", "--only", "seed=7", scheduler=scheduler)
    assert unknown.code == 2 and "error: sweep 'before': --only: unknown seed '7'" in unknown.err, unknown


MINE = """
name: mine
experiment: noop
axes: {task: even_pairs, encoding: [none, rope], learning_rate: 1e-4, seed: 0..2}
"""


def test_a_sweep_is_printed_as_its_file_says_without_the_file(home, scheduler):
    def submit(table):
        submitted = run_cli(home, "submit", "/dev/stdin", scheduler=scheduler, stdin=MINE + table)
        assert submitted.code == 0, submitted

    def printed(*options, **where):
        table = run_cli(home, "results", "mine", "-o", "json", *options, **where)
        assert table.code == 0, table
        return table.json()["title"], [row["key"] for row in table.json()["rows"]], [column["key"] for column in table.json()["columns"]]

    submit("table: {rows: seed, title: By seed, row_order: [2]}")
    assert printed(scheduler=scheduler) == ("By seed", ["2", "0", "1"], ["none", "rope"])
    # What it leaves open is what the sweep compares, beside other rows too.
    assert printed("--rows", "encoding", scheduler=scheduler)[1:] == (["none", "rope"], ["even_pairs"])
    submit("")
    assert run_cli(home, "plan", "/dev/stdin", scheduler=scheduler, stdin=MINE + "table: {rows: learning_rate}").code == 0
    assert printed("--only", "encoding=rope", scheduler=scheduler) == ("By seed", ["2", "0", "1"], ["rope"])

    submit("table: {rows: encoding, columns: seed, title: By encoding, only: [seed=0]}")
    assert printed(scheduler=scheduler) == ("By encoding", ["none", "rope"], ["0"])
    assert printed("--only", "seed=1..2", scheduler=scheduler) == ("By encoding", ["none", "rope"], ["1", "2"])

    scheduler.stop()
    merged = run_cli(home, "store", "merge", scheduler.store, "--store", home.path / "own.db")
    assert merged.code == 0, merged
    assert printed("--store", home.path / "own.db") == ("By encoding", ["none", "rope"], ["0"])
