"""Starts the real programs and talks to them as a user or another program would.

    with Home() as home:
        scheduler = Scheduler(home)
        worker = Worker(home, scheduler)
        run_cli(home, "submit", "quickstart", scheduler=scheduler)

All files of a test lie in its Home; the user's own settings are not seen. Every process dies with the test.
LONGREACH_BIN is the folder of the programs (default: build/release/bin).
"""
import contextlib
import functools
import importlib
import json
import os
import pathlib
import queue
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
import time

import grpc
import pytest
from grpc_tools import protoc

# Old versions of gRPC do something at each fork unless they are told not to, which may wait for ever for a thread that is in a call. What a test starts by a fork
# execs at once, and needs none of it.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("LONGREACH_BIN", ROOT / "build/release/bin"))
GRPCURL = pathlib.Path(sys.executable).parent / "grpcurl"
# For tests whose commands start a worker: pytestmark = harness.needs_worker.
HAS_WORKER = os.environ.get("LONGREACH_TRAINER") != "OFF"
NO_WORKER = "built without the trainer, so there is no worker"
needs_worker = pytest.mark.skipif(not HAS_WORKER, reason=NO_WORKER)
# Far above what anything here takes on a busy machine: reaching it is a failure, never a measurement.
PATIENCE_S = 120
# For a scheduler: no lease ends by itself, however long a busy machine takes between two calls of a worker, or of a test that plays one.
LONG_LEASES = ("--lease-term-s", "600", "--renew-every-s", "5")
# The same, and a worker without work calls twice a second: for tests that wait until it says or sees something at its next call.
FREQUENT_CALLS = ("--lease-term-s", "600", "--renew-every-s", "0.5")


def memory():
    """A folder in memory, where programs may be run from it and there is room; None elsewhere. To sync a file, which our programs do all the time, takes no time there."""
    folder = pathlib.Path("/dev/shm")
    if not os.access(folder, os.W_OK | os.X_OK):
        return None
    about = os.statvfs(folder)
    return None if about.f_flag & os.ST_NOEXEC or about.f_bavail * about.f_frsize < 4 << 30 else folder


class Home:
    """The folder of one test, and the processes that it started."""

    # Where the folders lie; None: where temporary files do.
    base = None

    def __init__(self):
        # A short path: the name of a Unix socket has at most 107 bytes.
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="lr-", dir=self.base))
        self.processes = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        for process in reversed(self.processes):
            process.kill()
        shutil.rmtree(self.path, ignore_errors=True)

    def environment(self):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("LONGREACH_")}
        return {**kept, "HOME": str(self.path), "XDG_CONFIG_HOME": str(self.path / "config"),
                "XDG_DATA_HOME": str(self.path / "share"), "NO_COLOR": "1"}

    def logs(self):
        """What all processes of the test wrote, for a failure's report."""
        return "\n".join(f"--- {process.name}\n{process.log()[-4000:]}" for process in self.processes)


@contextlib.contextmanager
def variables(**more):
    """What is started within has these in its environment."""
    before = dict(os.environ)
    os.environ.update({name: str(value) for name, value in more.items()})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


# Before a command: it dies with the test. Not as Popen's preexec_fn: Python between fork and exec can wait for ever for a lock that
# another thread of the test, one of gRPC's say, held at the fork.
DIE_WITH_PARENT = ["setpriv", "--pdeathsig", "KILL", "--"]


class Process:
    """A running program; its standard output is read line by line, its standard error goes to a file."""

    def __init__(self, home, name, command):
        self.home = home
        self.name = name
        self._log = home.path / f"{name}-{len(home.processes)}.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen([*DIE_WITH_PARENT, *map(str, command)], stdin=subprocess.PIPE,
                                             stdout=subprocess.PIPE, stderr=log, cwd=home.path, env=home.environment(), text=True)
        self.lines = []
        self._new_lines = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        home.processes.append(self)

    def _read(self):
        for line in self._process.stdout:
            self._new_lines.put(line.rstrip("\n"))
        self._new_lines.put(None)

    def next_line(self, patience_s=PATIENCE_S):
        """The next line of standard output; None at its end."""
        line = self._new_lines.get(timeout=patience_s)
        if line is not None:
            self.lines.append(line)
        return line

    @property
    def pid(self):
        return self._process.pid

    def is_running(self):
        return self._process.poll() is None

    def log(self):
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    def signal(self, number):
        self._process.send_signal(number)

    def close_stdin(self):
        self._process.stdin.close()

    def wait(self):
        """Waits for the end; gives the exit code, negative for a signal."""
        return self._process.wait(timeout=PATIENCE_S)

    def stop(self):
        """SIGTERM, as systemd or Slurm would; gives the exit code."""
        self.signal(signal.SIGTERM)
        return self.wait()

    def kill(self):
        """kill -9. No harm if it has ended already."""
        self._process.kill()
        self.wait()
        self._reader.join(PATIENCE_S)
        self._process.stdin.close()
        self._process.stdout.close()


class Scheduler(Process):
    """A scheduler that is ready for calls. Started again on the same store and address with `again()`."""

    def __init__(self, home, *arguments, store="store.db", listen=None):
        self.store = store if store == ":memory:" else home.path / store
        listen = listen or f"unix:{home.path}/s{len(home.processes)}.sock"
        self._arguments = arguments
        super().__init__(home, "scheduler", [BIN / "longreach-scheduler", "--store", self.store, "--listen", listen, *arguments])
        line = self.next_line()
        if line is None or not line.startswith("listening on "):
            raise AssertionError(f"the scheduler did not start: {line!r}, exit code {self.wait()}\n{self.log()}")
        self.address = line.removeprefix("listening on ")

    def stop(self):
        """As of any process. The test's own connection ends first: nobody reads from it between two calls, so its end would not be seen, for which a
        scheduler that is told to end waits two seconds."""
        if channel := vars(self).pop("channel", None):
            channel.close()
        return super().stop()

    def again(self):
        return Scheduler(self.home, *self._arguments, store=self.store if self.store == ":memory:" else self.store.name,
                         listen=self.address)

    @functools.cached_property
    def channel(self):
        # A connection of its own: the one that it would share may be to a scheduler that was killed at this address, and breaks at the first call.
        return grpc.insecure_channel(self.address, options=[("grpc.enable_http_proxy", 0), ("grpc.use_local_subchannel_pool", 1)])

    def api(self):
        """The client API, as Python's gRPC sees it."""
        return messages("api_grpc").LongreachStub(self.channel)

    def workers(self):
        """The workers' side of the protocol, for a worker that a test plays itself."""
        return messages("worker_grpc").WorkerStub(self.channel)


class Worker(Process):
    def __init__(self, home, scheduler, *arguments, name=None, threads=1):
        if not HAS_WORKER:
            pytest.skip(NO_WORKER)
        number = sum(isinstance(process, Worker) for process in home.processes)
        self.worker_name = name or f"worker-{number}"
        super().__init__(home, self.worker_name, [
            BIN / "longreach-worker", "run", "--scheduler", scheduler.address, "--state", home.path / self.worker_name,
            "--name", self.worker_name, "--threads", threads, *arguments])


class Finished:
    """What a finished command left: exit code, standard output and error."""

    def __init__(self, completed):
        self.code = completed.returncode
        self.out = completed.stdout
        self.err = completed.stderr

    def json(self):
        return json.loads(self.out)

    def __repr__(self):
        return f"exit code {self.code}\nstdout: {self.out}\nstderr: {self.err}"


def run_cli(home, *arguments, scheduler=None, stdin=None):
    """Runs `longreach ARGUMENTS`, with --scheduler when one is given, and waits for its end."""
    command = [BIN / "longreach", *map(str, arguments)]
    if scheduler is not None:
        command += ["--scheduler", scheduler.address]
    return run(home, *command, stdin=stdin)


def run(home, *command, stdin=None):
    return Finished(subprocess.run([*DIE_WITH_PARENT, *map(str, command)], input=stdin or "", capture_output=True, text=True,
                                   cwd=home.path, env=home.environment(), timeout=PATIENCE_S * 5))


def grpcurl(home, scheduler, *arguments, data=None):
    """Runs grpcurl, which knows nothing of Longreach but what reflection tells it."""
    if not GRPCURL.exists():
        raise AssertionError(f"no grpcurl in {GRPCURL.parent}: run deploy/setup.sh --tests")
    address = scheduler.address.removeprefix("unix:")
    flags = ["-plaintext", *(["-unix"] if scheduler.address.startswith("unix:") else []), *(["-d", data] if data else [])]
    return run(home, GRPCURL, *flags, address, *arguments)


@functools.cache
def _generated():
    """A folder with the Python modules of our .proto files, made now, as any other program would make them."""
    out = tempfile.TemporaryDirectory(prefix="lr-stubs-")
    protos = sorted(str(path) for path in (ROOT / "proto/longreach/v1").glob("*.proto"))
    well_known = pathlib.Path(importlib.import_module("grpc_tools").__file__).parent / "_proto"
    code = protoc.main(["protoc", f"-I{ROOT / 'proto'}", f"-I{well_known}", f"--python_out={out.name}",
                        f"--grpc_python_out={out.name}", *protos])
    if code != 0:
        raise AssertionError("protoc refuses our .proto files")
    sys.path.insert(0, out.name)
    return out


def messages(name):
    """The generated module of a .proto file: messages("api"), messages("spec"), messages("api_grpc") for stubs."""
    _generated()
    module = f"longreach.v1.{name.removesuffix('_grpc')}_pb2" + ("_grpc" if name.endswith("_grpc") else "")
    return importlib.import_module(module)


def until(condition, what):
    """Asks again and again until `condition()` gives something true, and gives that back. `what` is a text, or a function that is asked for it when it was in vain."""
    start = now = time.monotonic()
    pause = 0
    while True:
        before, now = now, time.monotonic()
        is_late = now > start + PATIENCE_S  # Before the last look, as this test may have stood still itself since the one before.
        # To look may be to start a program: what is waited for has the machine for twice the time that the look before took.
        pause = min(max(0.02, 2 * (now - before - pause)), 0.5)
        if value := condition():
            return value
        if is_late:
            raise AssertionError(f"waited {PATIENCE_S} s in vain until {what() if callable(what) else what}")
        time.sleep(pause)


def query(store, sql, *parameters):
    """Rows of a store's file, read as anyone with sqlite3 would."""
    with contextlib.closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as connection:
        return connection.execute(sql, parameters).fetchall()


def is_made(store):
    """Whether the store has its tables: on a busy machine its file is there for a while before they are."""
    return store.exists() and query(store, "SELECT 1 FROM sqlite_schema WHERE name = 'jobs'")


def check_ledger(home, store, *, artifacts=True):
    """The ledger check, which ends every test that did harm: `longreach store check` on the file, with every artifact read
    again. No scheduler may have the file open."""
    checked = run_cli(home, "store", "check", "--store", store, *(["--artifacts"] if artifacts else []))
    assert checked.code == 0, checked


def write(store, sql):
    """Changes a store's file behind our programs' back."""
    with contextlib.closing(sqlite3.connect(store)) as connection:
        connection.execute(sql)
        connection.commit()


def kill_in_the_middle(home, scheduler, *arguments, least_step=0):
    """Starts a worker, and kills it once a checkpoint of at least so many updates has come in; and so another one where that job was done before
    the kill, as it may be on a busy machine. So there is something to go on with, unless all jobs are done."""
    def under_way():
        return query(scheduler.store, "SELECT 1 FROM artifacts JOIN jobs ON jobs.num = artifacts.job "
                                      "WHERE artifacts.kind = 'checkpoint' AND artifacts.step >= ? AND jobs.state = 'leased'", least_step)

    def is_open():
        return query(scheduler.store, "SELECT 1 FROM jobs WHERE state NOT IN ('succeeded', 'failed')")

    while is_open() and not under_way():
        worker = Worker(home, scheduler, *arguments)
        until(lambda: under_way() or not is_open(), "a checkpoint was handed in")
        worker.kill()


def results(store):
    """How every job of a store ended, and each of its measurements with the bits of its value: two stores with the same
    results compare equal, whatever happened on the way."""
    jobs = query(store, "SELECT id, state, diverged, diverged_at FROM jobs ORDER BY id")
    rows = query(store, "SELECT jobs.id, metric, length, slice, value FROM measurements JOIN jobs ON jobs.num = measurements.job "
                        "ORDER BY jobs.id, metric, length, slice")
    return jobs, [(job, metric, length, part, struct.pack(">d", value).hex()) for job, metric, length, part, value in rows]


def curves(store):
    """Every point of every loss curve of a store, with its bits."""
    rows = query(store, "SELECT jobs.id, step, loss FROM progress JOIN jobs ON jobs.num = progress.job ORDER BY jobs.id, step")
    return [(job, step, None if loss is None else struct.pack(">d", loss).hex()) for job, step, loss in rows]
