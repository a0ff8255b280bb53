"""The package of Python on a store: the scheduler that it starts, and that nothing is left of it."""
import gc
import os
import pathlib
import signal
import subprocess
import sys
import textwrap

import pytest

import harness
from harness import BIN, Scheduler, run_cli, until
from python_package import longreach
from test_python_client import NOOP

package = longreach()


@pytest.fixture(autouse=True)
def programs(monkeypatch):
    monkeypatch.setenv("LONGREACH_BIN", str(BIN))


def scheduler_of(client):
    return client._scheduler._process


def is_running(pid):
    """Not of one that has ended and that nobody has asked for its exit code."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_a_store_is_made_where_that_is_asked_for_and_kept(home):
    store = home.path / "mine.db"
    with pytest.raises(package.NotFound, match="there is no store"):
        package.open_store(store)
    assert not store.exists()
    with package.open_store(store, create=True) as client:
        assert client.submit(NOOP)["jobs"] == 8
        process, socket = scheduler_of(client), pathlib.Path(client.address.removeprefix("unix:"))
        assert process.poll() is None and socket.exists()
    assert process.poll() == 0 and not socket.parent.exists()
    client.close()
    listed = run_cli(home, "sweeps", "--store", store, "-o", "json")
    assert [sweep["name"] for sweep in listed.json()["sweeps"]] == ["none"], listed
    with package.open_store(str(store)) as client:
        assert len(client.jobs("last")) == 8


def test_its_scheduler_is_started_without_a_fork(home, monkeypatch):
    """What old versions of gRPC do at a fork waits for threads of theirs, and may wait for ever while another client is in a call."""
    spawned, spawn = [], os.posix_spawn
    monkeypatch.setattr(os, "posix_spawn", lambda *arguments, **more: spawned.append(spawn(*arguments, **more)) or spawned[-1])
    with package.open_store(home.path / "mine.db", create=True) as client:
        pid = scheduler_of(client).pid
        assert spawned == [pid]
        assert os.getsid(pid) == pid != os.getsid(0), "to interrupt a cell does not end it"
        assert pathlib.Path(f"/proc/{pid}/comm").read_text().startswith("longreach-sched"), "it is no program in between, which would be ended in its place"
    assert not is_running(pid)


def test_a_store_that_somebody_has_open_is_asked_for_there(home):
    store = home.path / "mine.db"
    with package.open_store(store, create=True) as first:
        first.submit(NOOP)
        with package.open_store(store) as second:
            assert second.address == first.address and len(second.sweeps()) == 1
        assert len(first.sweeps()) == 1, "the second has ended nothing of the first"
        with package.open_store(store, copy=True) as third:
            assert third.address != first.address and third.cancel("none")["state"] == "cancelled"
        assert first.sweeps()["state"][0] == "live"


def test_a_cell_that_is_run_again_has_a_client_that_works(home):
    store = home.path / "mine.db"
    client = package.open_store(store, create=True)
    process, folder = scheduler_of(client), pathlib.Path(client.address.removeprefix("unix:")).parent
    client = package.open_store(store)  # The first one is nobody's any more.
    assert client.sweeps().empty and process.poll() is None
    with package.open_store(store) as other:
        client.close()
        assert other.sweeps().empty, "the last one ends it"
    assert process.poll() == 0 and not folder.exists()


def test_a_client_that_nobody_has_any_more_leaves_nothing(home):
    client = package.open_store(home.path / "mine.db", create=True)
    process, folder = scheduler_of(client), pathlib.Path(client.address.removeprefix("unix:")).parent
    del client
    gc.collect()
    assert process.poll() == 0 and not folder.exists()


def as_program(home, monkeypatch, text):
    """A scheduler that does this before, or instead of, what it does else."""
    folder = home.path / "bin"
    folder.mkdir()
    program = folder / "longreach-scheduler"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    monkeypatch.setenv("LONGREACH_BIN", str(folder))


def test_what_it_does_before_it_listens_is_no_refusal(home, monkeypatch):
    as_program(home, monkeypatch, f"""echo "progress: copying the store"\necho "progress: still"\nexec {BIN}/longreach-scheduler "$@" """)
    with package.open_store(home.path / "mine.db", create=True) as client:
        assert client.sweeps().empty


@pytest.mark.parametrize("text, said", [
    ("exit 7", "ended with exit code 7 and said nothing"),
    ("echo progress: copying; echo 'some log line' >&2; exit 1", "ended with exit code 1; the last that it said: some log line"),
    ("printf 'progress: cop'; kill -9 $$", "was killed by signal 9"),
    ("echo 'some log line' >&2; echo 'error: no room' >&2; exit 1", "^no room$"),
    ("exec cat", "did not say within 0.1 s that it listens")])
def test_a_program_that_does_not_come_to_listen_is_told_of(home, monkeypatch, text, said):
    as_program(home, monkeypatch, text)
    if "within" in said:
        monkeypatch.setattr(package.embedded, "_START_PATIENCE_S", 0.1)
    with pytest.raises(package.Refused, match=said):
        package.open_store(home.path / "mine.db", create=True)


def test_a_store_of_a_scheduler_for_others_is_refused_in_its_words(home):
    scheduler = Scheduler(home, listen="localhost:0")
    with pytest.raises(package.Refused) as refused:
        package.open_store(scheduler.store)
    assert refused.value.code == "FAILED_PRECONDITION" and scheduler.address in str(refused.value)


@pytest.mark.parametrize("text, said", [("", "is empty, and no store"), ("no store at all" * 500, "no.db")])
def test_what_is_no_store_is_refused(home, text, said):
    file = home.path / "no.db"
    file.write_text(text)
    with pytest.raises(package.Refused, match=said):
        package.open_store(file)
    assert file.read_text() == text


def test_no_program_is_told_with_what_to_do(home, monkeypatch):
    (home.path / "mine.db").write_text("x")
    monkeypatch.setenv("LONGREACH_BIN", str(home.path))
    with pytest.raises(package.NotFound, match="there is no longreach-scheduler in LONGREACH_BIN"):
        package.open_store(home.path / "mine.db")
    monkeypatch.delenv("LONGREACH_BIN")
    monkeypatch.setenv("PATH", str(home.path))
    with pytest.raises(package.NotFound, match="on the PATH"):
        package.open_store(home.path / "mine.db")


def test_waiting_on_a_store_that_nothing_works_on_is_in_vain(home, monkeypatch):
    monkeypatch.setattr(package.waiting, "WATCH_S", 0.2)
    with package.open_store(home.path / "mine.db", create=True) as client:
        client.submit(NOOP)
        with pytest.raises(package.Refused, match="nothing works on this store"):
            client.wait("none")


def test_while_the_disk_is_full_nobody_knows_whether_something_works(home, monkeypatch):
    monkeypatch.setattr(package.waiting, "WATCH_S", 0.2)
    asked = []
    with package.open_store(home.path / "mine.db", create=True) as client:
        client.submit(NOOP)
        real = client.call

        def call(name, **fields):
            answer = real(name, **fields)
            if name == "ListWorkers":
                asked.append(name)
                answer.store_trouble = "the store takes nothing: the disk is full" if len(asked) < 3 else ""
            return answer
        monkeypatch.setattr(client, "call", call)
        with pytest.raises(package.Refused, match="nothing works on this store"):
            client.wait("none")
    assert len(asked) == 3, "a worker that has come while the disk was full would not be in the list"


def test_the_scheduler_ends_with_the_process_however_that_ends(home):
    program = textwrap.dedent(f"""
        import sys, longreach
        client = longreach.open_store({str(home.path / "mine.db")!r}, create=True)
        print(client._scheduler._process.pid, flush=True)
        sys.stdin.read()
        """)
    site = pathlib.Path(package.__file__).parents[1]
    parent = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              env={**home.environment(), "LONGREACH_BIN": str(BIN), "PYTHONPATH": str(site), "TMPDIR": str(home.path), "XDG_RUNTIME_DIR": ""})
    try:
        pid = int(parent.stdout.readline())
        assert is_running(pid)
        parent.send_signal(signal.SIGKILL)
        until(lambda: not is_running(pid), "the scheduler has ended")
        assert list(home.path.glob("longreach-*")) == [], "nor is its socket's folder left"
    finally:
        parent.kill()
        parent.wait(harness.PATIENCE_S)
        parent.stdin.close()
        parent.stdout.close()


def test_to_interrupt_the_process_does_not_end_it(home):
    with package.open_store(home.path / "mine.db", create=True) as client:
        scheduler_of(client).send_signal(signal.SIGINT)
        assert client.sweeps().empty
