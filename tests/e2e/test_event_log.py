"""What the scheduler's log tells: what whoever runs it would look for, one line each, with the time and who asked."""
import re

import harness
from harness import Scheduler, Worker, query, run_cli, until, write
from played_worker import PlayedWorker
from security import small_request, token

LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d (.*)")


def told(scheduler):
    """The lines of the log without their times, which all have. The last one may be half written."""
    lines = [LINE.fullmatch(line) for line in scheduler.log().split("\n")[:-1]]
    assert all(lines), scheduler.log()
    return [line.group(1) for line in lines]


def is_told(scheduler, pattern):
    return until(lambda: [line for line in told(scheduler) if re.search(pattern, line)], f"the log has /{pattern}/")


def test_the_log_tells_who_does_what_with_sweeps_and_the_store(home):
    tokens = home.path / "tokens"
    secret = token(home, "client", "ann", tokens)
    (home.path / "ann.token").write_text(secret)
    (home.path / "ann.token").chmod(0o600)
    scheduler = Scheduler(home, "--tokens", tokens)
    is_told(scheduler, r"^started: .*, with the store '.*store\.db' \(version \d+\), files in '.*store\.db\.artifacts', listening on unix:")
    by_ann = ["--token-file", home.path / "ann.token"]
    (home.path / "small.yaml").write_text("name: small\nexperiment: algorithmic\naxes: {task: [even_pairs], encoding: [rope], learning_rate: [0.001], seed: [0, 1, 2]}\n")
    for command in (["submit", "small.yaml"], ["pause", "small"], ["resume", "small"], ["priority", "small", "3"], ["cancel", "small"],
                    ["store", "backup", home.path / "copy.db"]):
        done = run_cli(home, *command, *by_ann, scheduler=scheduler)
        assert done.code == 0, (command, done)
    sweep = r"^the sweep 'small' \([0-9a-f]+\) "
    for words in ("of 3 jobs was submitted", "is paused", "is resumed", "gets the priority 3 in place of 0", "is cancelled"):
        assert len(is_told(scheduler, f"{sweep}{words} by token ann$")) == 1, scheduler.log()
    is_told(scheduler, r"^the store was backed up to '.*copy\.db' by token ann: \d+ bytes$")
    late = token(home, "reader", "late", tokens)
    (home.path / "late.token").write_text(late)
    (home.path / "late.token").chmod(0o600)
    assert run_cli(home, "sweeps", "--token-file", home.path / "late.token", scheduler=scheduler).code == 0
    is_told(scheduler, "^the file of tokens has changed and was read again: 2 tokens$")
    assert secret not in scheduler.log() and late not in scheduler.log()
    assert scheduler.stop() == 0
    assert told(scheduler)[-1] == "ended"


@harness.needs_worker
def test_the_log_tells_of_a_worker_that_is_killed_and_of_a_sweep_that_is_done(home):
    scheduler = Scheduler(home, "--lease-term-s", "3", "--renew-every-s", "1")
    worker = Worker(home, scheduler, name="gpu-a")
    is_told(scheduler, r"^the worker 'gpu-a' \(\w+\) is here for the first time: ")
    assert scheduler.api().SubmitSweep(small_request()).created
    is_told(scheduler, r"^the sweep 'small' \([0-9a-f]+\) is done: 3 jobs succeeded")
    worker.kill()
    is_told(scheduler, r"^the worker 'gpu-a' \(\w+\) is gone: silent for 3 s$")
    lines = told(scheduler)
    assert len(lines) < 10, "\n".join(lines)


def test_what_is_due_and_cannot_be_done_is_told_once_and_when_it_is_done(home):
    """Not for want of room: the store itself refuses that an attempt ends."""
    scheduler = Scheduler(home, "--lease-term-s", "3", "--renew-every-s", "1")
    assert scheduler.api().SubmitSweep(small_request()).created
    lease = PlayedWorker(scheduler).take()
    write(scheduler.store, "CREATE TRIGGER no_end BEFORE UPDATE OF outcome ON attempts BEGIN SELECT RAISE(ABORT, 'nothing ends today'); END")
    is_told(scheduler, "^what was due .* could not be written, and is tried again every second: .*nothing ends today")
    tries = scheduler.log().count("nothing ends today")
    write(scheduler.store, "DROP TRIGGER no_end")
    is_told(scheduler, "^what was due is written again$")
    assert tries == scheduler.log().count("nothing ends today") == 1
    assert until(lambda: query(scheduler.store, "SELECT outcome FROM attempts WHERE id = ? AND outcome IS NOT NULL", lease.attempt), "its lease is over") == [("lost",)]


def test_a_scheduler_that_a_parent_keeps_says_nothing_of_it(home):
    scheduler = Scheduler(home, "--until-stdin-closes")
    assert scheduler.api().SubmitSweep(small_request()).created
    scheduler.close_stdin()
    assert scheduler.wait() == 0
    assert scheduler.log() == ""
