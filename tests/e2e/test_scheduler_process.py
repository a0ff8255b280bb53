"""How the scheduler starts, refuses to start, and ends."""
import os
import shutil
import signal
import socket
import subprocess
import sys

import pytest

import harness
from harness import BIN, Process, Scheduler, messages, run_cli, until
from played_worker import PlayedWorker
from security import small_request


def refused(home, *arguments, out=""):
    """Runs a scheduler that must refuse to start, with this on standard output; gives its one line on standard error."""
    ended = harness.run(home, BIN / "longreach-scheduler", *arguments)
    assert ended.code == 1, ended
    assert ended.out == out, ended
    lines = ended.err.strip().split("\n")
    assert len(lines) == 1, ended
    return lines[0]


def test_ends_cleanly_when_asked_to(home):
    for number in (signal.SIGTERM, signal.SIGINT):
        scheduler = Scheduler(home)
        scheduler.signal(number)
        assert scheduler.wait() == 0


def test_ends_with_the_pipe_of_its_parent_and_not_by_ctrl_c(home):
    scheduler = Scheduler(home, "--until-stdin-closes")
    scheduler.signal(signal.SIGINT)
    scheduler.api().GetInfo(messages("api").GetInfoRequest())
    scheduler.close_stdin()
    assert scheduler.wait() == 0


def test_what_a_parent_keeps_takes_the_sockets_folder_with_it_if_nothing_else_is_in_it(home):
    for name, left in (("empty", False), ("used", True)):
        folder = home.path / name
        folder.mkdir()
        if left:
            (folder / "of-another").touch()
        scheduler = Scheduler(home, "--until-stdin-closes", store=":memory:", listen=f"unix:{folder}/s.sock")
        scheduler.close_stdin()
        assert scheduler.wait() == 0
        assert folder.exists() == left
        assert not (folder / "s.sock").exists()
    folder = home.path / "kept"
    folder.mkdir()
    assert Scheduler(home, store=":memory:", listen=f"unix:{folder}/s.sock").stop() == 0
    assert folder.exists(), "it is not its parent's alone"


def test_ctrl_c_leaves_no_folder_of_a_command_with_a_store(home, monkeypatch):
    """The scheduler of one's own is the last to end, and takes along the folder that the command made for its socket."""
    Scheduler(home).stop()
    runtime = home.path / "run"
    runtime.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    # A scheduler that starts only when it is told to, so that Ctrl-C comes before it listens.
    programs = home.path / "bin"
    programs.mkdir()
    shutil.copy(BIN / "longreach", programs)
    os.mkfifo(home.path / "go")
    wrapper = programs / "longreach-scheduler"
    wrapper.write_text(f'#!/bin/sh\ntouch {home.path}/started\nread go < {home.path}/go\nexec {BIN}/longreach-scheduler "$@"\n')
    wrapper.chmod(0o755)
    # Started in the background of a script, this test ignores Ctrl-C, and so would what it starts.
    command = Process(home, "command", ["env", "--default-signal=INT", programs / "longreach", "sweeps", "--store", home.path / "store.db"])
    until((home.path / "started").exists, "the scheduler is about to start")
    (folder,) = runtime.iterdir()

    command.signal(signal.SIGINT)

    assert command.wait() == -signal.SIGINT
    assert folder.exists(), "the command has no time for it"
    (home.path / "go").write_text("now\n")
    until(lambda: not folder.exists(), "the folder is gone")


def test_starts_again_after_kill_9_on_the_same_store_and_address(home):
    before = Scheduler(home)
    before.kill()
    after = before.again()
    assert after.address == before.address
    assert after.api().GetInfo(messages("api").GetInfoRequest()).store_version >= 1


def test_leaves_nothing_on_disk_when_the_store_is_in_memory(home):
    scheduler = Scheduler(home, store=":memory:")
    scheduler.api().GetInfo(messages("api").GetInfoRequest())
    assert scheduler.stop() == 0
    assert [path.name for path in home.path.iterdir() if path.suffix not in (".log", ".sock")] == []


def test_refuses_a_store_that_another_scheduler_holds(home):
    holder = Scheduler(home)
    line = refused(home, "--store", holder.store, "--listen", f"unix:{home.path}/other.sock", out=f"held at {holder.address}\n")
    assert str(holder.store) in line and f"--scheduler {holder.address}" in line
    assert holder.api().GetInfo(messages("api").GetInfoRequest()).protocol == 1


def test_a_holder_names_its_socket_whatever_folder_it_was_started_in(home):
    holder = Scheduler(home, listen="unix:near.sock")
    refused(home, "--store", holder.store, "--listen", f"unix:{home.path}/other.sock", out=f"held at unix:{home.path}/near.sock\n")


@pytest.mark.parametrize(("held", "said"), [("soon-free", "held for a moment at {}\n"), ("moment", "held for a moment\n")])
def test_a_holder_says_that_the_store_is_free_again_soon(home, held, said):
    holder = Scheduler(home, "--held", held, listen="unix:near.sock")
    refused(home, "--store", holder.store, "--listen", f"unix:{home.path}/other.sock", out=said.format(f"unix:{home.path}/near.sock"))


def test_a_store_that_is_in_use_is_looked_into_through_its_scheduler(home):
    holder = Scheduler(home)
    submitted = harness.run_cli(home, "submit", "noop", scheduler=holder)
    assert submitted.code == 0, submitted

    looked = harness.run_cli(home, "status", "noop", "--store", holder.store)

    assert looked.code == 0 and "queued" in looked.out, looked
    # But not trained in by two.
    ran = harness.run_cli(home, "run", "noop", "--store", holder.store)
    assert ran.code == 1 and f"held by another scheduler, at {holder.address}" in ran.err, ran


def test_a_merge_waits_for_the_other_store_that_a_command_has_for_a_moment(home):
    mine, other = home.path / "mine.db", home.path / "other.db"
    for seed, store in enumerate((mine, other)):
        ran = harness.run_cli(home, "run", "noop", "--set", f"seed={seed}", "--store", store)
        assert ran.code == 0, ran
    holder = Scheduler(home, "--held", "soon-free", store="other.db")
    merge = subprocess.Popen([*harness.DIE_WITH_PARENT, BIN / "longreach", "store", "merge", other, "--store", mine], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             cwd=home.path, env=home.environment())
    try:
        waits = f"waiting for the store '{other}', which another command has for a moment\n"
        assert any(line == waits for line in iter(merge.stderr.readline, "")), "it ended"
        assert holder.stop() == 0
        out, err = merge.communicate(timeout=harness.PATIENCE_S)
    finally:
        merge.kill()
        merge.wait()
    assert merge.returncode == 0 and out.startswith("added 1 sweep, 4 jobs, 4 results"), (out, err)


def test_a_submission_waits_for_whoever_works_on_the_store_and_names_it(home):
    store = home.path / "mine.db"
    made = run_cli(home, "submit", "noop", "--store", store)
    assert made.code == 0, made
    # A command that keeps a scheduler for as long as this test wants: it goes by the client's name, as only that one's commands are named.
    keeps = "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)"
    holder = subprocess.Popen(["longreach", "-c", keeps, *harness.DIE_WITH_PARENT, BIN / "longreach-scheduler", "--store", store, "--listen", "unix:near.sock", "--held", "soon-free",
                               "--until-stdin-closes"],
                              executable=sys.executable, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=home.path, env=home.environment())
    submit = None
    try:
        assert holder.stdout.readline().startswith("listening on ")
        submit = subprocess.Popen([*harness.DIE_WITH_PARENT, BIN / "longreach", "submit", "noop", "--set", "seed=7", "--store", store],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=home.path, env=home.environment())
        waits = submit.stderr.readline()
        assert waits.startswith(f"waiting for the store '{store}', which another command has for a moment: 'longreach -c "), waits
        assert waits.endswith(f" (process {holder.pid})\n"), waits
        holder.stdin.close()
        assert holder.wait(timeout=harness.PATIENCE_S) == 0
        out, err = submit.communicate(timeout=harness.PATIENCE_S)
    finally:
        for process in (holder, submit):
            if process is not None:
                process.kill()
                process.wait()
    assert submit.returncode == 0 and "4 jobs" in out, (out, err)


def test_commands_that_a_script_starts_at_once_take_turns_at_a_store(home):
    def at_once(commands):
        started = [Process(home, command[0], [BIN / "longreach", *command, "--store", "new.db", "-q"]) for command in commands]
        codes = [one.wait() for one in started]
        assert codes == [0] * len(started), [(code, one.log()) for code, one in zip(codes, started)]
        return [one.next_line() for one in started]

    submitted = at_once([("submit", "noop", "--set", f"seed={seed}", "--set", f"name=noop-{seed}") for seed in range(10)])

    def states():
        return {sweep["id"]: sweep["state"] for sweep in run_cli(home, "sweeps", "--store", "new.db", "-o", "json").json()["sweeps"]}

    assert len(set(submitted)) == 10 and states() == dict.fromkeys(submitted, "live")
    at_once([("pause", sweep) for sweep in submitted])
    assert states() == dict.fromkeys(submitted, "paused")


@harness.needs_worker
def test_a_store_that_a_run_keeps_is_not_waited_for(home):
    running = Process(home, "run", [BIN / "longreach", "run", "quickstart", "--set", "training.steps=1000000", "--store", "kept.db"])
    lock = home.path / "kept.db.lock"
    until(lambda: lock.exists() and lock.read_text().startswith("unix:"), "it says where it listens")

    second = run_cli(home, "submit", "noop", "--store", "kept.db")

    assert second.code == 1 and "is held by another scheduler, at unix:" in second.err and "waiting" not in second.err, second
    # Who started no scheduler is told whose it is.
    assert f"'longreach run quickstart --set training.steps=1000000 --store kept.db' (process {running.pid}) has it open" in second.err, second
    looked = run_cli(home, "sweeps", "--store", "kept.db")
    assert looked.code == 0 and "waiting" not in looked.err, looked
    running.kill()


def test_refuses_a_file_that_is_no_store_and_leaves_it_alone(home):
    file = home.path / "notes.txt"
    file.write_text("Dear diary, today I named my notes as a store.\n" * 40)
    before = file.read_bytes()
    line = refused(home, "--store", file, "--listen", f"unix:{home.path}/s.sock")
    assert str(file) in line
    assert file.read_bytes() == before


def test_refuses_a_store_of_a_newer_version_and_leaves_it_alone(home):
    made = Scheduler(home)
    assert made.stop() == 0
    version = harness.query(made.store, "PRAGMA user_version")[0][0]
    harness.write(made.store, f"PRAGMA user_version = {version + 1}")
    line = refused(home, "--store", made.store, "--listen", f"unix:{home.path}/s.sock")
    assert str(version + 1) in line and str(made.store) in line
    assert harness.query(made.store, "PRAGMA user_version") == [(version + 1,)]


def test_refuses_a_port_in_use(home):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        line = refused(home, "--store", home.path / "store.db", "--listen", f"127.0.0.1:{port}")
        assert str(port) in line


@pytest.mark.parametrize(("arguments", "named"), [
    (["--listen", "localhost:99999"], ["--listen localhost:99999", "'99999'", "from 0 (any that is free) to 65535"]),
    (["--listen", "localhost"], ["--listen localhost: no port", "HOST:PORT", "unix:PATH"]),
    (["--listen", "localhost:http"], ["'http'", "65535"]),
    (["--listen", "localhost:0", "--renew-every-s", "9", "--lease-term-s", "10"], ["--renew-every-s 9", "--lease-term-s 10"]),
    (["--listen", "localhost:0", "--renew-every-s", "nan"], ["--renew-every-s: 'nan' is not a number"]),
    (["--listen", "localhost:0", "--lease-term-s", "nan"], ["--lease-term-s: 'nan' is not a number"]),
    (["--listen", "localhost:0", "--renew-every-s", "1min", "--lease-term-s", "1.25min"], ["--renew-every-s 60", "--lease-term-s 75"]),
    (["--listen", "localhost:0", "--lease-term-s", "2d"], ["--lease-term-s: 172800 is not within 0.1 to 86400"]),
    (["--listen", "localhost:0", "--lease-term-s", "soon"], ["--lease-term-s: 'soon' is not a duration: write seconds, or a number with s, min, h or d behind it"]),
    (["--held", "forever"], ["--held", "'forever' is neither soon-free nor moment"]),
], ids=["range", "no-port", "no-number", "renewal", "renewal-nan", "term-nan", "units", "too-many-days", "no-duration", "held"])
def test_a_slip_on_the_command_line_is_a_usage_error_and_makes_no_store(home, arguments, named):
    ended = harness.run(home, BIN / "longreach-scheduler", "--store", home.path / "new.db", *arguments)
    assert ended.code == 2 and ended.out == "" and ended.err.startswith("error: "), ended
    for word in named:
        assert word in ended.err, (word, ended)
    assert not (home.path / "new.db").exists()


def test_refuses_a_folder_that_does_not_exist(home):
    line = refused(home, "--store", home.path / "nowhere/store.db", "--listen", f"unix:{home.path}/s.sock")
    assert "nowhere" in line
    assert not (home.path / "nowhere").exists()


def only_worker(home, *flags, **where):
    [worker] = run_cli(home, "workers", "-o", "json", *flags, **where).json()["workers"]
    return worker


def test_a_worker_is_what_it_was_until_it_has_had_time_to_call_a_scheduler_that_started_anew(home):
    scheduler = Scheduler(home, "--lease-term-s", "3600")
    scheduler.api().SubmitSweep(small_request())
    worker = PlayedWorker(scheduler, pack_limit=9)
    lease = worker.take()
    assert only_worker(home, scheduler=scheduler)["reason"] == ""
    scheduler.kill()

    assert only_worker(home, "--store", scheduler.store)["state"] == "gone", "nobody calls who only looks"
    scheduler = scheduler.again()
    shown = only_worker(home, scheduler=scheduler)
    assert shown["state"] == "active" and shown["reason"].startswith("not heard of since the scheduler started; last heard of at "), shown
    assert [attempt["attempt"] for attempt in shown["running"]] == [lease.attempt], shown
    status = run_cli(home, "status", "small", "-o", "json", scheduler=scheduler).json()
    assert status["sweep"]["counts"]["leased"] == 3, status

    worker.stub = scheduler.workers()
    worker.synchronize(held=[lease.attempt])
    assert only_worker(home, scheduler=scheduler)["reason"] == ""


def test_a_scheduler_that_a_command_keeps_for_itself_waits_for_no_worker_of_before(home):
    """Its socket is a new one. 'longreach run' could say of its own worker what is true of one that is gone."""
    scheduler = Scheduler(home)
    PlayedWorker(scheduler).synchronize()
    scheduler.kill()
    again = Scheduler(home, "--until-stdin-closes", store=scheduler.store.name)
    assert only_worker(home, scheduler=again)["state"] == "gone"


def test_a_schedulers_end_writes_when_a_worker_last_called(home):
    """An idle worker's is written once a minute; while the scheduler runs, it knows."""
    scheduler = Scheduler(home)
    worker = PlayedWorker(scheduler)
    worker.synchronize()
    first = only_worker(home, scheduler=scheduler)["seen_at"]
    worker.synchronize()
    last = only_worker(home, scheduler=scheduler)["seen_at"]
    assert first != last
    assert scheduler.stop() == 0

    assert only_worker(home, "--store", scheduler.store)["seen_at"] == last
