#!/usr/bin/env python3
"""Kills the server of Longreach and of its peers in the middle of a run, starts it again, and counts what was lost or done twice.

    docs/benchmarks/killed-servers.py [--bin build/release/bin] [--jobs 2000] [--only longreach,dask,celery] [--write]

Each system gets the same: so many jobs of 20 ms, eight at a time. When a third of them is done its server is killed with SIGKILL, and
started again a second later, on the same address and the same data. The run is over when all jobs are done, or when nothing has
happened for a minute. Every execution is written down by the job itself, so nothing that a system says of itself is needed.

Dask, Celery and Redis come into a folder of the run's own: the first two by pip, Redis from Debian's package, which is unpacked there
and not installed. --write puts the table into killed-servers.md beside this file.
"""
import argparse
import contextlib
import datetime
import json
import os
import pathlib
import platform
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import time

HERE = pathlib.Path(__file__).resolve()
ROOT = HERE.parents[2]
AT_ONCE = 8
JOB_S = 0.02
DOWN_S = 1.0
STILL_S = 60.0
PEERS = ["dask[distributed]==2026.8.0", "celery[redis]==5.7.0"]
REDIS_PACKAGES = ["redis-server", "redis-tools", "libjemalloc2", "liblzf1"]

# What a job of a peer does: it writes down that it ran.
JOB = f'''
import os, time

def work(number):
    time.sleep({JOB_S})
    with open(os.environ["EXECUTED"], "a") as file:
        file.write(f"{{number}}\\n")
    return number
'''


class Run:
    """A folder, the processes started in it, and the environment that they have."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.executed = folder / "executed.txt"
        self.executed.touch()
        self.processes = []
        self.environment = {**os.environ, "EXECUTED": str(self.executed), "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
        (folder / "job.py").write_text(JOB)

    def start(self, *command, name, out=None):
        log = (self.folder / f"{name}.log").open("ab")
        process = subprocess.Popen([str(part) for part in command], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                                   stdout=out or log, stderr=log, start_new_session=True)
        self.processes.append(process)
        return process

    def kill(self, process):
        """The process and whatever it has started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def end(self):
        for process in reversed(self.processes):
            self.kill(process)

    def lines(self):
        return self.executed.read_text().split()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for_port(port):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    raise RuntimeError(f"nothing listens on port {port} after 30 s")


def drive(jobs, done, kill, restart):
    """Waits for a third, kills, starts anew, waits for the end or for a minute without progress; seconds from the restart on."""
    deadline = time.monotonic() + 120
    while done() < jobs // 3:
        if time.monotonic() > deadline:
            raise RuntimeError(f"only {done()} of {jobs} jobs were done in two minutes")
        time.sleep(0.01)
    at_kill = done()
    kill()
    time.sleep(DOWN_S)
    restart()
    restarted = changed = time.monotonic()
    seen = done()
    while seen < jobs and time.monotonic() - changed < STILL_S:
        time.sleep(0.05)
        if (now := done()) != seen:
            seen, changed = now, time.monotonic()
    return at_kill, changed - restarted


def counted(jobs, lines, at_kill, seconds, missing, note):
    """`missing`: jobs without a result at the end."""
    return {"jobs": jobs, "killed_at": at_kill, "lost": missing, "executed_again": len(lines) - len(set(lines)), "note": note,
            "seconds_after_restart": round(seconds, 1), "complete": missing == 0}


# --- Longreach

SWEEP = """
name: killed
experiment: algorithmic
axes:
  task: [even_pairs, parity_check, cycle_navigation, reverse_string, bucket_sort]
  encoding: [none, rope]
  learning_rate: [1e-4]
  seed: 0..{last}
"""


def longreach(folder, jobs, programs):
    """Workers here wait where real ones train; they speak the workers' protocol, and no more (tests/support/fake_workers)."""
    run = Run(folder)
    port, store = free_port(), folder / "store.db"
    address = f"127.0.0.1:{port}"

    def server():
        process = run.start(programs / "longreach-scheduler", "--store", store, "--listen", address, name="scheduler")
        wait_for_port(port)
        return process

    def ask(sql):
        with contextlib.closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as connection:
            return connection.execute(sql).fetchone()[0]

    try:
        scheduler = server()
        (folder / "sweep.yaml").write_text(SWEEP.format(last=jobs // 10 - 1))
        subprocess.run([programs / "longreach", "submit", "sweep.yaml", "--scheduler", address], cwd=folder, check=True,
                       stdout=subprocess.DEVNULL)
        run.start(programs / "fake-workers", "--scheduler", address, "--workers", AT_ONCE, "--connections", "own", "--train-s", JOB_S,
                  "--until-idle", "--idle-s", 5, name="workers")
        done = lambda: ask("SELECT count(*) FROM jobs WHERE state = 'succeeded'")
        at_kill, seconds = drive(jobs, done, lambda: run.kill(scheduler), server)
        missing = jobs - done()
        # An attempt is one execution of one job here.
        lines = ["" for _ in range(ask("SELECT count(*) FROM attempt_jobs") - ask("SELECT count(DISTINCT job) FROM attempt_jobs"))]
        twice = ask("SELECT count(*) FROM (SELECT 1 FROM measurements WHERE metric = 'accuracy' AND length = 0 GROUP BY job HAVING count(*) > 1)")
        run.end()
        checked = subprocess.run([programs / "longreach", "store", "check", "--store", store], cwd=folder, capture_output=True, text=True)
        note = "ledger check: sound" if checked.returncode == 0 else f"ledger check: {checked.stdout.strip()[:200]}"
        result = counted(jobs, [], at_kill, seconds, missing, note)
        return {**result, "executed_again": len(lines), "counted_twice": twice}
    finally:
        run.end()


# --- Dask

DASK_CLIENT = '''
import sys
from distributed import Client, wait
from job import work
client = Client(sys.argv[1])
jobs = int(sys.argv[2])
futures = client.map(work, range(jobs), pure=False)
print("submitted", flush=True)
sys.stdin.read()  # Until the run is over: then, how many results can be had?
there = 0
for future in futures:
    try:
        there += future.status == "finished"
    except Exception:
        pass
print(there, flush=True)
'''


def dask(folder, jobs, python):
    run = Run(folder)
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    (folder / "client.py").write_text(DASK_CLIENT)

    def server():
        process = run.start(python, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard",
                            name="scheduler")
        wait_for_port(port)
        return process

    try:
        scheduler = server()
        workers = []
        for number in range(2):
            workers.append(run.start(python, "-m", "distributed.cli.dask_worker", address, "--nthreads", AT_ONCE // 2, "--nworkers", "1", "--no-dashboard",
                      "--local-directory", folder / f"local{number}", name=f"worker{number}"))
        client = subprocess.Popen([python, "client.py", address, str(jobs)], cwd=folder, env=run.environment, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=(folder / "client.log").open("wb"), text=True, start_new_session=True)
        run.processes.append(client)
        assert client.stdout.readline().strip() == "submitted", (folder / "client.log").read_text()
        at_kill, seconds = drive(jobs, lambda: len(set(run.lines())), lambda: run.kill(scheduler), server)
        executed = len(set(run.lines()))
        client.stdin.close()
        there = client.stdout.readline().strip() or "0"
        left = sum(worker.poll() is None for worker in workers)
        return counted(jobs, run.lines(), at_kill, seconds, jobs - executed,
                       f"{left} of 2 workers still run; {jobs - int(there)} results cannot be had by the client")
    finally:
        run.end()


# --- Celery with Redis

CELERY_APP = '''
import os
from celery import Celery
import job
app = Celery("killed", broker=os.environ["BROKER"], backend=os.environ["BROKER"])
app.conf.update(task_acks_late=True, broker_connection_retry_on_startup=True)
work = app.task(job.work, name="work")
'''
CELERY_CLIENT = "import sys, tasks\nfor number in range(int(sys.argv[1])): tasks.work.delay(number)\n"


def redis_server(folder):
    """The program and the folder of its libraries: the system's, or Debian's package unpacked here."""
    if found := shutil.which("redis-server"):
        return found, None
    packages = folder / "redis"
    packages.mkdir(parents=True, exist_ok=True)
    subprocess.run(["apt-get", "download", "-q", *REDIS_PACKAGES], cwd=packages, check=True, stdout=subprocess.DEVNULL)
    for package in packages.glob("*.deb"):
        subprocess.run(["dpkg", "-x", package, packages], check=True)
    return packages / "usr/bin/redis-server", next(packages.glob("usr/lib/*-linux-gnu"))


def celery(folder, jobs, python):
    program, libraries = redis_server(folder.parent)
    run = Run(folder)
    port = free_port()
    run.environment |= {"BROKER": f"redis://127.0.0.1:{port}/0", **({"LD_LIBRARY_PATH": str(libraries)} if libraries else {})}
    (folder / "tasks.py").write_text(CELERY_APP)
    (folder / "client.py").write_text(CELERY_CLIENT)

    def server():
        process = run.start(program, "--port", port, "--dir", folder, "--appendonly", "yes", "--appendfsync", "everysec", "--save", "",
                            name="redis")
        wait_for_port(port)
        return process

    try:
        redis = server()
        subprocess.run([python, "client.py", str(jobs)], cwd=folder, env=run.environment, check=True)
        run.start(python, "-m", "celery", "-A", "tasks", "worker", "--concurrency", AT_ONCE, "--loglevel", "WARNING", name="worker")
        at_kill, seconds = drive(jobs, lambda: len(set(run.lines())), lambda: run.kill(redis), server)
        return counted(jobs, run.lines(), at_kill, seconds, jobs - len(set(run.lines())), "task_acks_late, appendfsync everysec")
    finally:
        run.end()


# --- The table

def version_of(*command, environment=None):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, env=environment)
    return done.stdout.strip().splitlines()[0] if done.stdout.strip() else "unknown"


def machine():
    model = next((line.split(":", 1)[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), platform.processor())
    release = dict(line.split("=", 1) for line in pathlib.Path("/etc/os-release").read_text().splitlines() if "=" in line)
    return f"{os.cpu_count()} cores of {model}, {release.get('PRETTY_NAME', platform.system()).strip(chr(34))}, Python {platform.python_version()}"


def table(rows):
    lines = ["| system | killed | jobs | lost | result counted twice | executed again | complete after restart | notes |",
             "|---|---|---|---|---|---|---|---|"]
    for name, killed, row in rows:
        twice = row.get("counted_twice", "no such notion")
        complete = f"{row['seconds_after_restart']} s" if row["complete"] else f"no; nothing more after {row['seconds_after_restart']} s"
        lines.append(f"| {name} | {killed}, at {row['killed_at']} done | {row['jobs']} | {row['lost']} | {twice} | {row['executed_again']} "
                     f"| {complete} | {row['note']} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin")
    parser.add_argument("--jobs", type=int, default=2000)
    parser.add_argument("--only", default="longreach,dask,celery")
    parser.add_argument("--work", type=pathlib.Path, help="a folder to keep; default: one that goes with the run")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if options.jobs % 10 != 0:
        parser.error(f"--jobs {options.jobs}: it must be a multiple of 10")
    names = options.only.split(",")
    if unknown := set(names) - {"longreach", "dask", "celery"}:
        parser.error(f"--only: unknown {', '.join(sorted(unknown))}")
    with contextlib.ExitStack() as stack:
        work = (options.work or pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="killed-")))).resolve()
        python = work / "venv/bin/python"
        if set(names) != {"longreach"} and not python.exists():
            print("making a Python environment for the peers", file=sys.stderr)
            subprocess.run([sys.executable, "-m", "venv", work / "venv"], check=True)
            subprocess.run([python, "-m", "pip", "install", "-q", *PEERS], check=True)
        started = datetime.datetime.now().strftime("%Y%m%dT%H%M%S")
        rows = []
        for name in names:
            print(f"{name}: {options.jobs} jobs", file=sys.stderr)
            folder = work / f"{name}-{started}"
            if name == "longreach":
                row = longreach(folder, options.jobs, options.bin.resolve())
                version = re.search(r"\d+\.\d+\.\d+ \(\w+\+?", version_of(options.bin / "longreach", "--version"))
                rows.append((f"Longreach {version.group() + ')' if version else 'unknown'}", "scheduler", row))
            elif name == "dask":
                row = dask(folder, options.jobs, python)
                rows.append((f"Dask distributed {version_of(python, '-c', 'import distributed; print(distributed.__version__)')}", "scheduler", row))
            else:
                row = celery(folder, options.jobs, python)
                program, libraries = redis_server(work)
                redis = version_of(program, "--version", environment={**os.environ, "LD_LIBRARY_PATH": str(libraries or "")}).split()[2]
                rows.append((f"Celery {version_of(python, '-c', 'import celery; print(celery.__version__)').split()[0]}, Redis {redis[2:]}", "Redis", row))
            print(json.dumps({name: row}), file=sys.stderr)
    page = textwrap.dedent("""\
        # Servers killed in the middle of a run

        What do Longreach and other systems lose when their server is killed with `kill -9` while jobs run? Measured on {date} on
        {machine}:

        ```sh
        docs/benchmarks/killed-servers.py{arguments}
        ```

        {table}

        - **The run**: each system ran the same number of jobs of 20 ms, eight at a time. When a third was done its server was killed with
          `kill -9`, and started again a second later on the same address and data.
        - **The end**: when all jobs were done, or when nothing had happened for a minute.
        - **Lost**: never executed (for Longreach: without a result in its store).
        - **Executed again**: executions beyond the first of a job.
        - Every other number is the job's own record.
        - Longreach's workers here play the protocol and wait where real ones train; `make faults` does the same to real ones (R3).
        """)
    text = page.format(date=f"{datetime.date.today():%-d %B %Y}", machine=machine(), table=table(rows),
                       arguments="" if options.jobs == 2000 else f" --jobs {options.jobs}")
    print(text)
    if options.write:
        HERE.with_suffix(".md").write_text(text)
    ours = [row for name, _, row in rows if name.startswith("Longreach")]
    return 1 if any(row["lost"] or row["counted_twice"] or "sound" not in row["note"] for row in ours) else 0


if __name__ == "__main__":
    sys.exit(main())
