"""`longreach spec` prints a sweep as a file, and several as one that has their jobs."""
import csv
import io

import harness
from harness import query, run_cli

FIRST = """
name: first
experiment: algorithmic
axes: {task: [even_pairs, bucket_sort], encoding: [rope, "alibi:randomized"], learning_rate: [3.0e-5, 1.0e-4], seed: [0, 1]}
model: {layers: 2, embedding_dim: 32, heads: 4, dropout: 0}
training: {steps: 10, lengths: [3, 5, 6, 7]}
evaluation: {lengths: 8..12, examples: 4}
table: {title: "Two layers", rows: "task,seed", columns: encoding, aggregate: mean, row_order: [even_pairs]}
"""
WITH_INPUT = """
name: tuned
experiment: algorithmic
axes: {task: [even_pairs], encoding: [rope], learning_rate: [1.0e-4], seed: [1]}
training: {steps: 0}
inputs: [{name: weights, artifact: weights, from: {training: {steps: 20}}}]
"""


def submit(home, scheduler, text, *options):
    """A file's sweep, submitted."""
    submitted = run_cli(home, "submit", "/dev/stdin", *options, "-o", "json", scheduler=scheduler, stdin=text)
    assert submitted.code == 0, submitted
    return submitted.json()


def spec(home, scheduler, *arguments):
    printed = run_cli(home, "spec", *arguments, scheduler=scheduler)
    assert printed.code == 0, printed
    return printed


def jobs_of(scheduler, *names):
    return {job for name in names
            for (job,) in query(scheduler.store, "SELECT jobs.id FROM sweeps JOIN sweep_jobs ON sweep = sweeps.num JOIN jobs ON job = jobs.num "
                                                 "WHERE name = ? AND role = 'member'", name)}


def test_what_is_printed_is_the_same_sweep(home, scheduler):
    grid = ("--set", "model.layers=1,2", "--set", "training.batch_size=8,16", "--set", "name=grid")
    for text, options in ((FIRST, ()), (FIRST, grid), (WITH_INPUT, ())):
        sweep = submit(home, scheduler, text, *options)["sweep"]
        again = submit(home, scheduler, spec(home, scheduler, sweep["id"]).out)
        assert again["sweep"]["id"] == sweep["id"]
        assert not again["created"]
        assert (again["sweep"]["name"], again["sweep"]["jobs"]) == (sweep["name"], sweep["jobs"])


def test_further_seeds_are_one_option_away(home, scheduler):
    submit(home, scheduler, FIRST)
    more = submit(home, scheduler, spec(home, scheduler, "first", "--name", "more").out, "--set", "seed=0..4")
    assert more["sweep"]["jobs"] == 2 * 2 * 2 * 5
    assert jobs_of(scheduler, "first") < jobs_of(scheduler, "more")
    # It is printed as the first one, but for a title that might not be true of it.
    table = run_cli(home, "results", "more", "-o", "json", scheduler=scheduler).json()
    assert [row["key"] for row in table["rows"]][:2] == ["even_pairs,0", "even_pairs,1"]
    assert "Two layers" not in table["title"]


def test_several_sweeps_are_one_of_all_their_jobs(home, scheduler):
    submit(home, scheduler, FIRST)
    submit(home, scheduler, FIRST, "--set", "name=later", "--set", "seed=2..4")
    submit(home, scheduler, FIRST, "--set", "name=deep", "--set", "model.layers=3", "--set", "training.lengths=1..9")
    submit(home, scheduler, FIRST, "--set", "name=grid", "--set", "model.layers=4,5")

    axes = spec(home, scheduler, "first", "later")
    assert axes.err == ""
    assert submit(home, scheduler, axes.out)["sweep"]["name"] == "first_later"
    assert jobs_of(scheduler, "first_later") == jobs_of(scheduler, "first", "later")

    submit(home, scheduler, spec(home, scheduler, "first", "later", "deep", "grid", "--name", "all").out)
    assert jobs_of(scheduler, "all") == jobs_of(scheduler, "first", "later", "deep", "grid")
    rows = run_cli(home, "results", "all", "--rows", "model.layers", "--columns", "task", "-o", "json", scheduler=scheduler).json()["rows"]
    assert [row["key"] for row in rows] == ["2", "3", "4", "5"]
    systems = run_cli(home, "list", "values", "all", "-o", "json", scheduler=scheduler)
    assert systems.code == 0 and all(name in systems.out for name in ("first", "deep", "layers-4", "layers-5")), systems
    # Nothing else was asked for.
    assert query(scheduler.store, "SELECT count(*) FROM jobs") == [(len(jobs_of(scheduler, "all")),)]


def test_what_is_printed_of_sweeps_with_common_jobs_can_be_submitted(home, scheduler):
    submit(home, scheduler, FIRST)
    # One of the systems says what the first sweep says, and the other's default is said by nobody else.
    submit(home, scheduler, FIRST, "--set", "name=grid", "--set", "model.layers=2,3")
    submit(home, scheduler, FIRST, "--set", "name=far", "--set", "positions.max_position=300")
    default = FIRST.replace("layers: 2, ", "")
    submit(home, scheduler, default, "--set", "name=plain", "--set", "seed=5")
    submit(home, scheduler, default, "--set", "name=layers", "--set", "model.layers=4,5", "--set", "seed=4,5")

    printed = spec(home, scheduler, "first", "grid", "--name", "two")
    assert "note: the system 'layers-2' has the jobs that it has in common with 'first'" in printed.err
    submit(home, scheduler, printed.out)
    assert jobs_of(scheduler, "two") == jobs_of(scheduler, "first", "grid")

    # 'plain' leaves out the five layers that are the kind's default, and the settings of positions are nothing to what is not randomized.
    printed = spec(home, scheduler, "plain", "layers", "far", "first", "--name", "many")
    submit(home, scheduler, printed.out)
    assert jobs_of(scheduler, "many") == jobs_of(scheduler, "plain", "layers", "far", "first")
    rows = run_cli(home, "results", "many", "--rows", "model.layers", "--columns", "task", "-o", "json", scheduler=scheduler).json()["rows"]
    assert [row["key"] for row in rows] == ["2", "4", "5"]


def test_what_makes_no_single_sweep_is_refused(home, scheduler):
    submit(home, scheduler, WITH_INPUT)
    submit(home, scheduler, WITH_INPUT, "--set", "name=others", "--set", "evaluation.examples=8")
    refused = run_cli(home, "spec", "tuned", "others", scheduler=scheduler)
    assert (refused.code, refused.out) == (2, ""), refused
    assert "they have inputs" in refused.err

    submit(home, scheduler, WITH_INPUT, "--set", "name=seeds", "--set", "seed=2,3")
    submit(home, scheduler, spec(home, scheduler, "tuned", "seeds").out)
    assert jobs_of(scheduler, "tuned_seeds") == jobs_of(scheduler, "tuned", "seeds")
    unknown = run_cli(home, "spec", "tuned", "nowhere", scheduler=scheduler)
    assert unknown.code == 4 and unknown.out == "", unknown


@harness.needs_worker
def test_a_joined_sweep_has_the_results_that_are_there(home):
    store = home.path / "s.db"
    for name, seeds in (("first", "0..2"), ("later", "3..4")):
        ran = run_cli(home, "run", "noop", "--store", store, "--set", f"name={name}", "--set", f"seed={seeds}", "--threads", "1")
        assert ran.code == 0, ran
    joined = run_cli(home, "spec", "first", "later", "--name", "both", "--store", store)
    assert joined.code == 0, joined
    plan = run_cli(home, "plan", "/dev/stdin", "--store", store, "-o", "json", stdin=joined.out).json()
    assert (plan["jobs"], plan["done"]) == (20, 20)
    assert run_cli(home, "submit", "/dev/stdin", "--store", store, stdin=joined.out).code == 0

    def values(sweep):
        printed = run_cli(home, "results", sweep, "--jobs", "-o", "csv", "--store", store)
        assert printed.code == 0, printed
        return sorted(tuple(row.items()) for row in csv.DictReader(io.StringIO(printed.out)))

    assert values("both") == sorted(values("first") + values("later"))


@harness.needs_worker
def test_what_is_trained_is_tested_further_without_training_it_again(home):
    store = home.path / "further.db"
    here = ("--store", store)
    ran = run_cli(home, "run", "/dev/stdin", *here, "--threads", "1", "--set", "task=reverse_string", "--set", "learning_rate=1e-4", stdin=FIRST)
    assert ran.code == 0, ran
    again = run_cli(home, "plan", "/dev/stdin", *here, "--set", "task=reverse_string", "--set", "learning_rate=1e-4", "--set", "evaluation.lengths=9,20", stdin=FIRST)
    sweep = run_cli(home, "sweeps", *here, "-o", "json").json()["sweeps"][0]["id"]
    assert f"'longreach spec {sweep[:8]} --tests' is a file that tests the weights that are there" in again.err, again

    tests = run_cli(home, "spec", "first", "--tests", *here)
    assert tests.code == 0, tests
    ran = run_cli(home, "run", "/dev/stdin", *here, "--threads", "1", "--set", "evaluation.lengths=9,20", stdin=tests.out)
    assert ran.code == 0 and "no job here uses" not in ran.err, ran
    harness.check_ledger(home, str(store))
    assert query(store, "SELECT steps > 0, count(*) FROM jobs GROUP BY 1 ORDER BY 1") == [(0, 4), (1, 4)]
    values = "SELECT j.encoding, j.seed, m.value FROM jobs AS j JOIN measurements AS m ON m.job = j.num WHERE (j.steps > 0) = ? AND m.length = ? AND m.metric = 'loss' ORDER BY 1, 2"
    # At a length that both test they have the same values.
    assert query(store, values, 1, 9) == query(store, values, 0, 9) and len(query(store, values, 0, 20)) == 4
