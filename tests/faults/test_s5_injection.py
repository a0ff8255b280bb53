"""S5: whatever a name, a reason or a log says, it is text: on a terminal, in a table, in CSV, JSON, Markdown and LaTeX.

Workers that are played here bring hostile names, devices, builds, data sets, reasons of failures and logs; hostile words come on
the command line too. The real client prints all of it in every format, and each output is looked through."""
import concurrent.futures
import json
import os
import pty
import re
import select
import signal
import subprocess

import grpc
import pytest

import harness
import hostile_texts
import inert
from harness import Scheduler, messages
from hostile_store import BROKEN, fill, hold

# A terminal may be told this by the client itself: bold, and up and clear for what is redrawn.
OWN_SEQUENCES = [rb"\x1b\[1m", rb"\x1b\[0m", rb"\x1b\[\d+A\r\x1b\[J", rb"\r\n"]
HELD = 8
COLUMNS = 100  # As many as a table may have beside its own.


def client(home, *arguments, color="never", **variables):
    """Runs the client; gives exit code, output and errors as bytes."""
    done = subprocess.run([harness.BIN / "longreach", *arguments], capture_output=True, cwd=home.path, stdin=subprocess.DEVNULL,
                          env={**home.environment(), "LONGREACH_COLOR": color, **variables}, timeout=harness.PATIENCE_S)
    return done.returncode, done.stdout, done.stderr


def on_terminal(home, *arguments, interrupt_after=None):
    """What the client writes on a terminal; with `interrupt_after`, until this was seen and Ctrl-C."""
    mine, its = pty.openpty()
    process = subprocess.Popen([harness.BIN / "longreach", *arguments], stdin=its, stdout=its, stderr=its, cwd=home.path,
                               env={**home.environment(), "TERM": "xterm", "LONGREACH_COLOR": "auto"}, start_new_session=True)
    os.close(its)
    seen = b""
    try:
        while True:
            assert select.select([mine], [], [], harness.PATIENCE_S)[0], f"silent after {seen!r}"
            try:
                new = os.read(mine, 65536)
            except OSError:  # Closed by its end.
                break
            if not new:
                break
            seen += new
            if interrupt_after is not None and interrupt_after in seen:
                process.send_signal(signal.SIGINT)
                interrupt_after = None
        process.wait(harness.PATIENCE_S)
    finally:
        process.kill()
        process.wait()
        os.close(mine)
    for sequence in OWN_SEQUENCES:
        seen = re.sub(sequence, b"\n", seen)
    return seen


def layout(home, texts):
    """A sweep file whose table has the texts as title and labels."""
    columns = [{"key": f"k{number}", "label": text, "sweep": "nowhere"} for number, text in enumerate(texts)]
    file = home.path / "layout.yaml"
    # JSON is YAML; its escapes are those of YAML's double quotes.
    file.write_text(json.dumps({"name": "hostile", "experiment": "algorithmic",
                                "table": {"title": texts[0], "extra_columns": columns}}, ensure_ascii=False))
    return file


def refused(home, arguments, as_json):
    """A word on the command line that means nothing: one error that can be printed."""
    code, out, err = client(home, *arguments, *(["-o", "json"] if as_json else []))
    assert code in (1, 2, 3, 4), (arguments, code, out, err)
    if as_json and err.startswith(b"{"):
        assert inert.json_(err)["error"]["message"]
    else:
        assert inert.text(err).startswith("error: "), (arguments, err)
    inert.text(out)


@pytest.mark.fault("S5", aim="a list of 200 texts x every output format: inert everywhere")
def test_hostile_texts_stay_texts(home, fault):
    scheduler = Scheduler(home, "--lease-term-s", "600", "--renew-every-s", "60")
    every = {"short": 9, "full": 1, "long": 1}[fault.form]
    texts = hostile_texts.ALL[::every]
    at = ["--scheduler", scheduler.address]
    jobs = fill(scheduler, texts)
    outputs = 0

    # All of them at once, in every format.
    for command in (["workers"], ["jobs", "hostile"], ["sweeps"], ["results", "hostile"], ["list", "data"]):
        for name, check in inert.FORMATS.items():
            code, out, err = client(home, *command, "-o", name, *at)
            assert code == 0, (command, name, err)
            check(out)
            inert.text(err)
            outputs += 1
    names = [worker["name"] for worker in inert.json_(client(home, "workers", "-o", "json", *at)[1])["workers"]]
    assert sorted(names) == sorted(texts), "JSON gives every name back as it came"
    rows = inert.csv_(client(home, "workers", "-o", "csv", *at)[1])
    assert len(rows) == len(texts) + 1
    # As a sweep file's labels, as far as a sweep file may have them.
    allowed = [text for text in texts if text.strip() and text.isprintable() and not client_refuses(text)]
    assert allowed
    for first in range(0, len(allowed), COLUMNS):
        file = layout(home, allowed[first:first + COLUMNS])
        for name, check in inert.FORMATS.items():
            code, out, err = client(home, "results", "hostile", "--table", file, "-o", name, *at)
            assert code == 0, (name, err[-2000:])
            check(out)
            outputs += 1

    # One by one: a job's own page, and words on the command line.
    def one(number_and_text):
        number, text = number_and_text
        job = jobs[number]
        for command in (["job", job], ["explain", job]):
            for name in ("table", "json"):
                code, out, err = client(home, *command, "-o", name, *at)
                assert code == 0, (command, err)
                inert.FORMATS[name](out)
        inert.json_(client(home, "logs", job, "-o", "json", *at)[1])
        word = text.replace("\0", "").encode()
        lines = [["status", word, *at], ["job", word, *at], ["results", "hostile", "--rows", word, *at], ["submit", word, *at],
                 ["submit", "quickstart", "--set", b"task=" + word, *at], ["submit", "quickstart", "--set", word, *at],
                 ["wait", "hostile", "--timeout", word, *at], [b"x" + word], [b"--x" + word], ["status", "-o", b"x" + word]]
        chosen = lines[number % len(lines)::4] if fault.form == "short" else lines[number % 3::3]
        for line in chosen:
            # What looks like an option of the client's own is one.
            if not (word.startswith(b"-") or word in (b"", b"1", b"last", b"0x10")):
                refused(home, line, number % 2 == 0)
        return 5 + len(chosen)

    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        outputs += sum(threads.map(one, enumerate(texts)))
    for number, word in enumerate(BROKEN):
        for line in (["status", word, *at], ["submit", word + b".yaml", *at], [b"--x" + word], [word]):
            refused(home, line, number % 2 == 0)
            outputs += 1

    # A name of a sweep is refused, with a reason that can be printed.
    api, spec = messages("api"), messages("spec")
    for text in texts:
        if not (text and all(c.isascii() and (c.isalnum() or c in "-_.") for c in text) and len(text) <= 64):
            with pytest.raises(grpc.RpcError) as refusal:
                scheduler.api().SubmitSweep(api.SubmitSweepRequest(spec=spec.SweepSpec(name=text or " ", experiment="algorithmic")))
            assert refusal.value.code() == grpc.StatusCode.INVALID_ARGUMENT

    # On a terminal, with attempts that run.
    worst = (hostile_texts.ESCAPES + hostile_texts.DIRECTION)[:HELD * 2:2]
    hold(scheduler, worst)
    pages = [on_terminal(home, *command, *at) for command in (["workers"], ["jobs", "hostile"], ["status", "running"], ["job", jobs[0]],
                                                              *(["logs", job] for job in jobs[:len(jobs):max(1, len(jobs) // 20)]))]
    pages.append(on_terminal(home, "watch", "running", *at, interrupt_after=b"even_pairs"))
    for page in pages:
        inert.text(page, also="\t")
    assert any(b"\\x1b" in page for page in pages), "the texts were on the terminal at all"
    outputs += len(pages)

    scheduler.stop()
    inert.text(scheduler.log().encode())
    harness.check_ledger(home, scheduler.store)
    fault.reached(f"{len(texts)} texts as names, reasons, data sets, logs and arguments, {outputs:,} outputs in 5 formats and on a terminal: all inert")


def client_refuses(text):
    return any(ord(char) in inert._OBEYED for char in text)
