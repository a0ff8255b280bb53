"""What people who plan, wait and look are told, of the real scheduler; its workers are played."""
import re

import harness
from harness import Process, Scheduler, messages, run_cli, until
from played_worker import PlayedWorker

AXES = "experiment: algorithmic\naxes: {task: even_pairs, encoding: rope, learning_rate: 0.001, seed: 0..1}\n"
TESTS = "evaluation: {lengths: [47, 48], examples: 10}\n"
TRAINED = f"{AXES}training: {{steps: 50}}\n{TESTS}"
TUNED = f"{AXES}training: {{steps: 0}}\n{TESTS}inputs:\n  - {{name: weights, artifact: weights, from: {{training: {{steps: 50}}}}}}\n"
IN_VAIN = "with diverged, which is a result that no retry changes: it takes another learning rate or seed\n"


def submit(home, scheduler, name, text):
    (home.path / f"{name}.yaml").write_text(text)
    submitted = run_cli(home, "submit", f"./{name}.yaml", scheduler=scheduler)
    assert submitted.code == 0, submitted
    return submitted


def report(worker, lease, outcome, **result):
    messages_of = messages("worker")
    worker.synchronize(finished=[messages_of.AttemptReport(attempt=lease.attempt, outcome=outcome, engine="played",
                                                           results=[messages_of.MemberResult(job=job.id, **result) for job in lease.jobs] if result else [],
                                                           detail="" if result else "crashed: played")])


def diverge(worker):
    report(worker, worker.take(), messages("worker").AttemptReport.OUTCOME_SUCCEEDED, diverged=True, diverged_at=17)


def test_each_pause_is_told_to_who_waits():
    with harness.Home() as home:
        scheduler = Scheduler(home)
        submit(home, scheduler, "mine", TRAINED)
        waiting = Process(home, "wait", [harness.BIN / "longreach", "wait", "mine", "--scheduler", scheduler.address])
        for times in (1, 2):
            assert run_cli(home, "pause", "mine", scheduler=scheduler).code == 0
            until(lambda: waiting.log().count("the sweep is paused; 'longreach resume ") == times, f"pause {times} is told")
            assert "the sweep is paused; 'longreach resume " in run_cli(home, "status", "mine", scheduler=scheduler).out
            assert run_cli(home, "resume", "mine", scheduler=scheduler).code == 0
            until(lambda: waiting.log().count("the sweep is resumed, and goes on\n") == times, f"that it goes on {times} is told")
        worker = PlayedWorker(scheduler)
        for _ in range(2):
            worker.synchronize(finished=[worker.success(worker.take(), 0.5)])
        assert waiting.wait() == 0, waiting.log()


def test_no_retry_is_named_where_an_input_diverged():
    with harness.Home() as home:
        scheduler = Scheduler(home)
        submit(home, scheduler, "tuned", TUNED)
        worker = PlayedWorker(scheduler)
        diverge(worker)
        diverge(worker)
        assert worker.take() is None
        for command in ("wait", "watch", "run"):
            words = ["run", "./tuned.yaml"] if command == "run" else [command, "tuned"]
            ended = run_cli(home, *words, scheduler=scheduler)
            assert ended.code == 1, ended
            assert "2 jobs of sweep tuned failed:\n" in ended.err and f"what they begin {IN_VAIN}" in ended.err, ended
            assert "longreach retry" not in ended.err, ended
        job = run_cli(home, "jobs", "tuned", "-q", scheduler=scheduler).out.split()[0]
        explained = run_cli(home, "explain", job, scheduler=scheduler)
        assert re.search(r"- It failed: input failed: weights \(job [0-9a-f]{8} diverged\)\.\n- What it begins with diverged, ", explained.out), explained
        assert "longreach retry" not in explained.out, explained
        retried = run_cli(home, "retry", "tuned", scheduler=scheduler)
        assert retried.code == 0 and f"2 jobs are queued again\nwhat they begin {IN_VAIN}" in retried.err, retried


def test_a_submission_says_of_what_diverged_that_it_stays_failed_and_of_what_crashed_how_to_try_it_again():
    with harness.Home() as home:
        scheduler = Scheduler(home)
        submit(home, scheduler, "tuned", TUNED)
        worker = PlayedWorker(scheduler)
        diverge(worker)
        planned = run_cli(home, "plan", "./tuned.yaml", scheduler=scheduler)
        assert "tuned: 2 jobs, 0 done, 1 failed, 1 to run\n  failed         1 job, which stays so; " in planned.out, planned
        again = run_cli(home, "submit", "./tuned.yaml", scheduler=scheduler)
        assert ": 2 jobs, 0 done, 1 failed; it was there already\n" in again.out, again
        assert "1 job has failed, and stays so\n" in again.err and "longreach retry" not in again.err, again

        submit(home, scheduler, "mine", TRAINED)
        while run_cli(home, "jobs", "mine", "--state", "queued", "-q", scheduler=scheduler).out:
            worker = PlayedWorker(scheduler)
            while (lease := worker.take()) is not None:
                report(worker, lease, messages("worker").AttemptReport.OUTCOME_FAILED)
        mine = submit(home, scheduler, "mine", TRAINED)
        # The one that diverged is of this sweep too, and has its result.
        assert ": 2 jobs, 1 done, 1 failed; it was there already\n" in mine.out, mine
        assert re.search(r"^1 job has failed, and stays so; 'longreach retry [0-9a-f]{8} --scheduler \S+' queues it again$", mine.err, re.M), mine
        plan = run_cli(home, "plan", "./mine.yaml", "-o", "json", scheduler=scheduler).json()
        assert (plan["jobs"], plan["failed"], plan["packs"], plan["flops"], plan["hours"]) == (2, 1, 0, 0, 0), plan


def test_a_failed_job_that_left_no_log_is_explained():
    with harness.Home() as home:
        scheduler = Scheduler(home)
        submit(home, scheduler, "mine", TRAINED)
        # Three failures of each of two jobs, which put a worker aside.
        while run_cli(home, "jobs", "mine", "--state", "queued", "-q", scheduler=scheduler).out:
            worker = PlayedWorker(scheduler)
            while (lease := worker.take()) is not None:
                report(worker, lease, messages("worker").AttemptReport.OUTCOME_FAILED)
        waited = run_cli(home, "wait", "mine", scheduler=scheduler)
        assert waited.code == 1 and "crashed: played" in waited.err, waited
        assert "says what is known of it; 'longreach retry " in waited.err and "longreach logs" not in waited.err, waited


def test_that_tests_alone_differ_is_said_before_all_is_trained_again():
    with harness.Home() as home:
        scheduler = Scheduler(home)
        submit(home, scheduler, "mine", TRAINED)
        worker = PlayedWorker(scheduler)
        worker.synchronize(finished=[worker.success(worker.take(), 0.5)])
        told = r"with the evaluation of sweep [0-9a-f]{8} mine, 1 of these 2 jobs is done: they differ in evaluation\.lengths, and tests are part of a job"
        other_tests = ["--set", "evaluation.lengths=50..60"]

        same = run_cli(home, "plan", "./mine.yaml", scheduler=scheduler)
        more_training = run_cli(home, "plan", "./mine.yaml", *other_tests, "--set", "training.steps=60", scheduler=scheduler)
        planned = run_cli(home, "plan", "./mine.yaml", *other_tests, scheduler=scheduler)
        submitted = run_cli(home, "submit", "./mine.yaml", *other_tests, scheduler=scheduler)
        again = run_cli(home, "submit", "./mine.yaml", *other_tests, scheduler=scheduler)

        assert "evaluation of sweep" not in same.err + more_training.err + again.err, (same, more_training, again)
        assert re.search(told, planned.err) and re.search(told, submitted.err), (planned, submitted)
