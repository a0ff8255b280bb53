"""A program of whoever keeps the scheduler, which is told of news (--notify): real ones, told by the real scheduler."""
import contextlib
import http.server
import json
import re
import shutil
import socketserver
import threading

import pytest

import harness
from harness import BIN, ROOT, Process, Scheduler, Worker, messages, query, run_cli, until
from played_worker import PlayedWorker
from security import small_request
from shifted_clock import hurried


def program(home, text, name="notify"):
    path = home.path / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def listener(home):
    """One that keeps what it is told."""
    return program(home, f"""cat >> '{home.path}/told'; echo "$LONGREACH_EVENT|$LONGREACH_SWEEP|$LONGREACH_NAME|$LONGREACH_TEXT" >> '{home.path}/environment'""")


def told(home, event=None):
    """What it has been told, of one event or of all."""
    file = home.path / "told"
    whole = [line for line in file.read_text().splitlines(keepends=True) if line.endswith("\n")] if file.exists() else []
    return [news for news in map(json.loads, whole) if event in (None, news["event"])]


def is_told(home, event):
    return until(lambda: told(home, event), f"the program is told of {event}")[-1]


def is_logged(scheduler, pattern):
    until(lambda: re.search(pattern, scheduler.log()), f"the log has /{pattern}/")


def fail(scheduler, attempts):
    """Attempts of one job after the other, each on a worker of its own."""
    worker = messages("worker")
    for _ in range(attempts):
        played = PlayedWorker(scheduler)
        lease = played.take()
        report = worker.AttemptReport(attempt=lease.attempt, outcome=worker.AttemptReport.OUTCOME_FAILED, detail="out of memory")
        played.synchronize(finished=[report], leaving=True)


def succeed(scheduler, jobs):
    played = PlayedWorker(scheduler)
    for _ in range(jobs):
        played.synchronize(finished=[played.success(played.take(), 0.5)])
    played.synchronize(leaving=True)


@harness.needs_worker
def test_a_program_hears_that_a_sweep_is_done(home):
    scheduler = Scheduler(home, "--notify", listener(home))
    Worker(home, scheduler)
    submitted = run_cli(home, "submit", "noop", "--set", "seed=0", scheduler=scheduler)
    assert submitted.code == 0, submitted

    news = is_told(home, "sweep_done")

    (sweep,) = query(scheduler.store, "SELECT id FROM sweeps")[0]
    assert news["schema"] == "longreach/v1" and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", news["time"]), news
    assert (news["sweep"], news["name"]) == (sweep, "noop"), news
    assert (news["jobs"], news["done"], news["failed"], news["cancelled"]) == (4, 4, 0, 0), news
    assert news["text"] in scheduler.log() and news["text"].endswith("is done: 4 jobs succeeded"), news
    assert scheduler.stop() == 0
    assert len(told(home, "sweep_done")) == 1
    assert f"sweep_done|{sweep}|noop|{news['text']}\n" in (home.path / "environment").read_text()


def test_a_program_hears_of_the_first_failed_job_and_of_no_attempt_that_is_tried_again(home):
    scheduler = Scheduler(home, "--notify", listener(home))
    assert scheduler.api().SubmitSweep(small_request()).created
    fail(scheduler, 2)
    assert query(scheduler.store, "SELECT count(*) FROM jobs WHERE state = 'failed'") == [(0,)]
    assert told(home) == []
    fail(scheduler, 4)
    assert query(scheduler.store, "SELECT count(*) FROM jobs WHERE state = 'failed'") == [(2,)]
    succeed(scheduler, 1)

    done = is_told(home, "sweep_done")

    assert (done["done"], done["failed"]) == (1, 2), done
    (failure,) = told(home, "first_failure")
    assert failure["reason"] == "out of memory" and (failure["sweep"], failure["name"]) == (done["sweep"], "small"), failure
    assert query(scheduler.store, "SELECT state FROM jobs WHERE id = ?", failure["job"]) == [("failed",)]


def test_a_program_hears_of_a_worker_that_is_gone_and_not_of_one_that_leaves(home):
    scheduler = Scheduler(home, "--notify", listener(home), "--lease-term-s", "1", "--renew-every-s", "0.3")
    assert scheduler.api().SubmitSweep(small_request()).created
    PlayedWorker(scheduler).synchronize(leaving=True)
    silent = PlayedWorker(scheduler)
    silent.synchronize()

    assert is_told(home, "worker_gone")["worker"] == silent.id
    assert scheduler.stop() == 0
    assert len(told(home)) == 1


def test_after_kill_9_nothing_is_told_twice(home):
    before = Scheduler(home, "--notify", listener(home))
    assert before.api().SubmitSweep(small_request()).created
    succeed(before, 3)
    is_told(home, "sweep_done")
    before.kill()
    after = Scheduler(home, "--notify", home.path / "notify")  # On a socket of its own, as gRPC keeps a connection to that of before.
    fresh = small_request()
    fresh.spec.name = "fresh"
    fresh.spec.axes.seed.append(7)
    assert after.api().SubmitSweep(fresh).created
    succeed(after, 1)
    until(lambda: len(told(home, "sweep_done")) == 2, "the other is told")
    assert after.stop() == 0
    assert [news["name"] for news in told(home, "sweep_done")] == ["small", "fresh"]


def test_a_program_that_fails_or_hangs_is_told_of_in_the_log_and_holds_nobody_up(home):
    hanging = program(home, f"[ ! -e '{home.path}/hang' ] || exec sleep 1000\necho 'no such host'\nexit 6")
    with hurried(home, "scheduler"):  # It is patient with a program that hangs when it ends.
        scheduler = Scheduler(home, "--notify", hanging, *harness.FREQUENT_CALLS)
    assert scheduler.api().SubmitSweep(small_request()).created
    fail(scheduler, 3)
    is_logged(scheduler, r"--notify: told of first_failure, the program ended with exit code 6: 'no such host'\n")
    (home.path / "hang").touch()
    succeed(scheduler, 2)  # Its answers come while the program hangs, or before.
    is_logged(scheduler, r"is done: 2 jobs succeeded, 1 failed\n")
    assert scheduler.stop() == 0
    assert re.search(r"--notify: told of sweep_done, the program was killed, as the scheduler ends\n", scheduler.log()), scheduler.log()


@pytest.mark.parametrize("how", ["flag", "environment", "file"])
def test_a_program_that_cannot_be_started_is_refused_and_no_store_is_made(home, how):
    plain = home.path / "plain"
    plain.write_text("#!/bin/sh\n")
    (home.path / "options").write_text(f'notify = "{plain}"\n')
    command = [BIN / "longreach-scheduler", "--store", home.path / "new.db", "--listen", f"unix:{home.path}/s.sock"]
    command = {"flag": [*command, "--notify", plain], "environment": ["env", f"LONGREACH_NOTIFY={plain}", *command],
               "file": [*command, "--config", home.path / "options"]}[how]
    ended = harness.run(home, *command)
    assert ended.code == 2 and ended.err.startswith(f"error: --notify '{plain}': this user may not execute it"), ended
    plain.unlink()
    ended = harness.run(home, *command)
    assert ended.code == 2 and f"'{plain}': there is no such file" in ended.err, ended
    assert not (home.path / "new.db").exists()


def test_a_scheduler_that_a_parent_keeps_tells_only_a_program_that_is_named_on_its_command_line(home):
    named = listener(home)
    unnamed = program(home, f"touch '{home.path}/unasked'", name="unasked-program")

    def serve(store, *arguments):
        kept = Process(home, "scheduler", ["env", f"LONGREACH_NOTIFY={unnamed}", BIN / "longreach-scheduler", "--store", home.path / store,
                                           "--listen", f"unix:{home.path}/{store}.sock", "--until-stdin-closes", *arguments])
        assert kept.next_line().startswith("listening on ")
        done = run_cli(home, "submit", "noop", "--set", "seed=0", "--scheduler", f"unix:{home.path}/{store}.sock")
        assert done.code == 0, done
        cancelled = run_cli(home, "cancel", "noop", "--only", "seed=0", "--scheduler", f"unix:{home.path}/{store}.sock")
        assert cancelled.code == 0, cancelled
        kept.close_stdin()
        assert kept.wait() == 0
        return kept

    assert serve("a.db").log() == ""
    assert told(home) == []
    assert serve("b.db", "--notify", named).log() == ""
    assert [(news["event"], news["cancelled"]) for news in told(home)] == [("sweep_done", 4)], told(home)
    assert not (home.path / "unasked").exists()


@harness.needs_worker
def test_a_run_on_this_machine_tells_no_program(home):
    unasked = program(home, f"touch '{home.path}/unasked'")
    ran = harness.run(home, "env", f"LONGREACH_NOTIFY={unasked}", BIN / "longreach", "run", "noop", "--set", "seed=0")
    assert ran.code == 0, ran
    assert not (home.path / "unasked").exists()


PAGE = (ROOT / "docs/howto/notify.md").read_text()
CHAT, MAIL = re.findall(r"```sh\n#!/bin/sh\n(.*?)```", PAGE, re.DOTALL)
HOSTILE = """the sweep 'a"b\\c$(reboot)' (1a2b3c4d) is done: %s 4 jobs succeeded"""
needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")


@contextlib.contextmanager
def serving(handler):
    """A server on a port of its own, and what its handler puts into `taken`."""
    with socketserver.ThreadingTCPServer(("localhost", 0), handler) as server:
        server.taken = []
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server, server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


class Webhook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.taken.append((self.path, self.headers["Content-Type"], json.loads(body)))
        self.send_response(404 if self.path == "/wrong" else 200)
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_):
        pass


class MailServer(socketserver.StreamRequestHandler):
    def handle(self):
        def say(line):
            self.wfile.write(line.encode() + b"\r\n")

        say("220 mail")
        while line := self.rfile.readline():
            command = line.split()[0].upper()
            if command == b"DATA":
                say("354 go on")
                lines = []
                while (text := self.rfile.readline()) not in (b".\r\n", b""):
                    lines.append(text)
                self.server.taken.append(b"".join(lines).decode())
            say("221 bye" if command == b"QUIT" else "250 ok")
            if command == b"QUIT":
                return


def call(home, script, event, text, sweep=""):
    environment = [f"LONGREACH_EVENT={event}", f"LONGREACH_TEXT={text}", f"LONGREACH_SWEEP={sweep}", "LONGREACH_NAME=x"]
    return harness.run(home, "env", "no_proxy=*", *environment, script, stdin=json.dumps({"event": event, "text": text}) + "\n")


@needs_curl
def test_the_pages_script_for_a_chat_sends_the_text_to_the_webhook(home):
    assert "/etc/longreach/webhook.curl" in CHAT
    script = program(home, CHAT.replace("/etc/longreach", str(home.path)))
    with serving(Webhook) as (server, port):
        (home.path / "webhook.curl").write_text(f'url = "http://localhost:{port}/hook"\n')
        sent = call(home, script, "sweep_done", HOSTILE)
        assert (sent.code, sent.out, sent.err) == (0, "", ""), sent
        assert server.taken == [("/hook", "application/json", {"text": HOSTILE})]
        assert call(home, script, "worker_gone", "the worker 'a' is gone").code == 0
        assert len(server.taken) == 1, "not for this chat"
        (home.path / "webhook.curl").write_text(f'url = "http://localhost:{port}/wrong"\n')
        refused = call(home, script, "sweep_done", HOSTILE)
        assert refused.code != 0 and "404" in refused.err, refused


@needs_curl
def test_the_pages_script_for_mail_sends_one(home):
    with serving(MailServer) as (server, port):
        script = program(home, MAIL.replace("smtp://localhost:25", f"smtp://localhost:{port}"))
        sent = call(home, script, "sweep_done", HOSTILE, sweep="1a2b3c4d")
        assert (sent.code, sent.out, sent.err) == (0, "", ""), sent
    (mail,) = server.taken
    head, body = mail.split("\r\n\r\n", 1)
    assert "Subject: Longreach: sweep_done" in head.split("\r\n") and "To: ann@example.org" in head.split("\r\n"), mail
    assert body == f"{HOSTILE}\r\n\r\nlongreach status 1a2b3c4d\r\n"
