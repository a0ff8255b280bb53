"""`longreach diff`: the jobs of a sweep in two stores, trained apart, changed, or missing."""
import harness
from harness import query, run_cli, write

pytestmark = harness.needs_worker

SMALL = ("--set", "training.steps=10", "--set", "evaluation.examples=8", "--set", "evaluation.lengths=11..13", "--set", "encoding=rope", "--threads", "1")


def test_two_stores_of_one_sweep(home):
    ours, theirs = home.path / "ours.db", home.path / "theirs.db"
    for store, seeds, pack in ((ours, "0..2", "2"), (theirs, "0..1", "1")):
        ran = run_cli(home, "run", "quickstart", "--store", store, "--set", f"seed={seeds}", "--pack-limit", pack, *SMALL)
        assert ran.code == 0, ran

    # Of one build on one machine they are the same, whatever packs they were in; the two sweeps are not.
    same = run_cli(home, "diff", "last", theirs, "--store", ours)
    assert same.code == 0, same
    assert same.out == f"quickstart and {theirs}: 4 jobs with a result in both, 4 of them the same bits\n"
    assert "note: jobs without a result in both: 2 have one only here\n" in same.err
    assert run_cli(home, "diff", "last", ours, "--store", theirs, "-o", "json").json()["same"] == 4

    job, number = query(theirs, "SELECT id, num FROM jobs WHERE task = 'even_pairs' AND seed = 1")[0]
    write(theirs, f"UPDATE measurements SET value = value + 1e-12 WHERE job = {number} AND metric = 'loss' AND length = 12")
    changed = run_cli(home, "diff", "last", theirs, "--store", ours, "-o", "json")
    assert changed.code == 1, changed
    answer = changed.json()
    assert (answer["same"], answer["different"], answer["only_here"], answer["only_there"], answer["neither"]) == (3, 1, 2, 0, 0)
    (row,) = answer["jobs"]
    assert (row["job"], row["measurements"], row["losses"], row["here"] == row["there"]) == (job, 1, 0, True)
    assert run_cli(home, "diff", "last", theirs, "--store", ours, "--quiet").out == job + "\n"
    assert run_cli(home, "diff", "last", theirs, "--store", ours, "--only", "seed=0").code == 0

    assert run_cli(home, "diff", "last", ours, "--store", ours).code == 2
    missing = run_cli(home, "diff", "last", home.path / "nowhere.db", "--store", ours)
    assert missing.code != 0 and missing.out == "" and not (home.path / "nowhere.db").exists(), missing


def test_a_store_that_has_the_same_sweep(home):
    ours, theirs = home.path / "ours.db", home.path / "theirs.db"
    ran = run_cli(home, "run", "quickstart", "--store", ours, "--set", "seed=0..3", *SMALL)
    assert ran.code == 0, ran
    copied = run_cli(home, "store", "backup", theirs, "--store", ours)
    assert copied.code == 0, copied

    assert run_cli(home, "diff", "last", theirs, "--store", ours, "-o", "json").json()["same"] == 8
    # One value, one loss, and a value that is gone: each of another job.
    jobs = query(theirs, "SELECT id, num FROM jobs ORDER BY num")
    write(theirs, f"UPDATE measurements SET value = value + 1e-12 WHERE job = {jobs[1][1]} AND metric = 'accuracy' AND length = 12")
    write(theirs, f"UPDATE progress SET loss = loss + 1e-9 WHERE job = {jobs[4][1]}")
    write(theirs, f"DELETE FROM measurements WHERE job = {jobs[6][1]} AND metric = 'loss' AND length = 13")
    answer = run_cli(home, "diff", "last", theirs, "--store", ours, "-o", "json").json()
    assert answer["same"] == 5
    assert {row["job"] for row in answer["jobs"]} == {jobs[1][0], jobs[4][0], jobs[6][0]}
    assert {row["job"] for row in answer["jobs"] if row["losses"] > 0} == {jobs[4][0]}
