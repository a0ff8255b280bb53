"""`longreach logs` of a job that runs: what its trainer prints goes from the worker's disk to whoever asks, while it runs."""
import json
import signal
import subprocess

import harness
from harness import BIN, Process, Scheduler, Worker, run_cli, until

pytestmark = harness.needs_worker

ENDLESS = 100_000_000


def submit(home, scheduler, steps):
    """One job of so many steps; its id."""
    file = home.path / "sweep.yaml"
    file.write_text(f"""
name: followed
experiment: algorithmic
axes: {{task: [even_pairs], encoding: [rope], learning_rate: [1e-3], seed: [0]}}
model: {{layers: 2, embedding_dim: 32, heads: 4, mlp_dim: 64}}
training: {{steps: {steps}, batch_size: 16, lengths: 1..10}}
evaluation: {{lengths: [11], examples: 64}}
""")
    submitted = run_cli(home, "submit", file, scheduler=scheduler)
    assert submitted.code == 0, submitted
    return run_cli(home, "jobs", "last", "-o", "json", scheduler=scheduler).json()["jobs"][0]["id"]


def follow(home, scheduler, job, *arguments):
    return Process(home, "follow", [BIN / "longreach", "logs", job, "--follow", "--scheduler", scheduler.address, *arguments])


def log_of(home, worker, attempt=1):
    return home.path / worker.worker_name / "attempts" / str(attempt) / "log"


def print_line(home, worker, line):
    """As the trainer of the first attempt would: it appends to that file, too."""
    with log_of(home, worker).open("a") as log:
        log.write(line + "\n")


def rest_of(process):
    """All lines of its output, once it has ended."""
    while process.next_line() is not None:
        pass
    return process.lines


def assert_is_followed(home, worker, following):
    """Every line that was read stands in the log, once and in its place; the trainer may have printed more since."""
    assert following.lines == log_of(home, worker).read_text().splitlines()[:len(following.lines)]


def read_until(process, line):
    while (read := process.next_line()) != line:
        assert read is not None, (process.lines, process.log())


def test_a_log_is_followed_to_the_end_of_its_job(home):
    scheduler = Scheduler(home)
    job = submit(home, scheduler, steps=40_000)
    following = follow(home, scheduler, job[:12])
    until(lambda: "is followed once it runs" in following.log(), "it is said that the job does not run yet")
    worker = Worker(home, scheduler)
    assert following.next_line().startswith("attempt 1: 1 job(s), even_pairs with rope, 40000 steps")

    print_line(home, worker, "a line that is printed while it runs")
    read_until(following, "a line that is printed while it runs")

    # All of it is what the attempt leaves: also what was printed since the last look.
    lines = rest_of(following)
    assert following.wait() == 0, following.log()
    assert f"attempt 1 has ended: job {job[:8]} has succeeded" in following.log()
    assert lines[-1] == "finished at step 40000"
    left = run_cli(home, "logs", job, scheduler=scheduler)
    assert left.out == "".join(line + "\n" for line in lines)
    # A job that is done has one log, followed or not.
    again = run_cli(home, "logs", job, "--follow", scheduler=scheduler)
    assert (again.code, again.out) == (0, left.out), again


def test_what_a_running_attempt_has_printed_is_shown_and_leaving_changes_nothing(home):
    scheduler = Scheduler(home)
    job = submit(home, scheduler, steps=ENDLESS)
    worker = Worker(home, scheduler)
    following = follow(home, scheduler, job)
    first = following.next_line()
    assert first.startswith("attempt 1: ")

    now = run_cli(home, "logs", job, scheduler=scheduler)
    assert now.code == 0, now
    # Meanwhile it may print more.
    assert log_of(home, worker).read_text().startswith(now.out)
    assert now.out.splitlines()[0] == first
    assert "attempt 1 runs, and has printed so much" in now.err
    assert json.loads(run_cli(home, "logs", job, "-o", "json", scheduler=scheduler).out)["text"].startswith(now.out)
    # Much of it: its end, and how much is left out.
    with log_of(home, worker).open("a") as log:
        log.write("x" * 99 + "\n" * 2 + ("y" * 99 + "\n") * 1000 + "the newest line\n")
    read_until(following, "the newest line")
    assert "left out here" in following.log()

    following.signal(signal.SIGINT)
    assert following.wait() == 130, following.log()
    long = run_cli(home, "logs", job, scheduler=scheduler)
    assert long.out.endswith("the newest line\n") and len(long.out) <= 64 << 10, long.err
    assert "at the beginning left out" in long.err
    assert run_cli(home, "job", job, "-o", "json", scheduler=scheduler).json()["job"]["state"] == "leased"

    # Nobody wants it any more.
    last = follow(home, scheduler, job)
    read_until(last, "the newest line")
    assert run_cli(home, "cancel", "last", scheduler=scheduler).code == 0
    rest_of(last)
    assert last.wait() == 1, last.log()
    assert f"job {job[:8]} is cancelled" in last.log()


def test_the_log_of_an_earlier_attempt_is_shown_while_a_newer_one_runs(home):
    scheduler = Scheduler(home)
    job = submit(home, scheduler, steps=ENDLESS)
    worker = Worker(home, scheduler)
    until(lambda: log_of(home, worker).exists() and log_of(home, worker).read_text(), "the trainer has begun")
    print_line(home, worker, "a line of the first attempt")
    assert run_cli(home, "pause", "last", scheduler=scheduler).code == 0
    until(lambda: run_cli(home, "job", job, "-o", "json", scheduler=scheduler).json()["attempts"][0]["outcome"] == "given_back", "the first attempt has ended")
    assert run_cli(home, "resume", "last", scheduler=scheduler).code == 0
    until(lambda: log_of(home, worker, 2).exists() and log_of(home, worker, 2).read_text(), "the second attempt has begun")

    first = run_cli(home, "logs", job, "--attempt", "1", scheduler=scheduler)
    second = run_cli(home, "logs", job, "--attempt", "2", scheduler=scheduler)
    third = run_cli(home, "logs", job, "--attempt", "3", scheduler=scheduler)

    assert (first.code, first.err) == (0, ""), first
    assert first.out.startswith("attempt 1: ") and "\na line of the first attempt\n" in first.out, first
    assert second.code == 0 and second.out.startswith("attempt 2: ") and "attempt 2 runs, and has printed so much" in second.err, second
    assert third.code == 4 and "has no attempt 3; the job's attempts: 2, 1; those that have left a log: 1\n" in third.err, third
    assert run_cli(home, "logs", job, scheduler=scheduler).out.startswith(second.out)
    # Where nothing runs it is in the store.
    scheduler.kill()
    worker.kill()
    kept = run_cli(home, "logs", job, "--attempt", "1", "--store", scheduler.store)
    assert (kept.code, kept.out) == (0, first.out), kept
    cut_off = run_cli(home, "logs", job, "--attempt", "2", "--store", scheduler.store)
    assert cut_off.code == 1 and "nothing works on" in cut_off.err and "where attempt 2 has not ended" in cut_off.err, cut_off


def test_following_goes_on_with_a_scheduler_that_comes_back(home):
    scheduler = Scheduler(home)
    job = submit(home, scheduler, steps=ENDLESS)
    worker = Worker(home, scheduler)
    following = follow(home, scheduler, job)
    until(lambda: log_of(home, worker).exists() and log_of(home, worker).read_text().count("\n") >= 2, "the trainer has begun")
    print_line(home, worker, "before")
    read_until(following, "before")
    assert_is_followed(home, worker, following)

    scheduler.kill()
    until(lambda: "lost the scheduler" in following.log(), "it is missed")
    print_line(home, worker, "while it was away")
    scheduler.again()

    read_until(following, "while it was away")
    assert_is_followed(home, worker, following)
    assert "the scheduler answers again" in following.log()
    following.signal(signal.SIGINT)
    assert following.wait() == 130, following.log()


def test_who_reads_no_further_ends_following_though_nothing_more_is_printed(home):
    scheduler = Scheduler(home)
    job = submit(home, scheduler, steps=ENDLESS)
    Worker(home, scheduler)
    following = subprocess.Popen([*harness.DIE_WITH_PARENT, BIN / "longreach", "logs", job, "--follow", "--scheduler", scheduler.address],
                                 stdout=subprocess.PIPE, cwd=home.path, env=home.environment(), text=True)
    assert following.stdout.readline().startswith("attempt 1: ")

    following.stdout.close()

    # Of so many steps no milestone comes within that time.
    assert following.wait(timeout=harness.PATIENCE_S) == 141
