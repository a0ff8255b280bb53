"""R8: no space left under the store, and under a worker. Nothing that was answered is lost, and all goes on once there is space."""
import contextlib
import hashlib
import itertools
import sqlite3
import subprocess
import time

import grpc
import pytest

import harness
from harness import Scheduler, Worker, check_ledger, curves, messages, query, results, run_cli, until
from played_worker import PlayedWorker

MEGABYTES = 8


@contextlib.contextmanager
def small_disk(home, megabytes=MEGABYTES):
    """A file system of this size; needs root."""
    folder = home.path / "small"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", folder], capture_output=True, text=True)
    if mounted.returncode != 0:
        pytest.skip(f"cannot mount a small file system: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        for process in home.processes:
            process.kill()
        subprocess.run(["umount", "-l", folder], check=True)


def fill(folder, left=0):
    """Takes all space of the file system but `left` bytes; gives the file that holds it."""
    ballast = folder / "ballast"
    with ballast.open("ab", buffering=0) as out:
        for size in (1 << 20, 1 << 12):
            with contextlib.suppress(OSError):
                while True:
                    out.write(bytes(size))
    if left:
        with ballast.open("r+b") as out:
            out.truncate(max(0, ballast.stat().st_size - left))
    return ballast


@contextlib.contextmanager
def reading(store):
    """Somebody who has begun to read, and has not ended."""
    with contextlib.closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True, isolation_level=None)) as connection:
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM jobs").fetchone()
        yield


def sweep(name, seeds):
    spec = messages("spec")
    return messages("api").SubmitSweepRequest(spec=spec.SweepSpec(
        name=name, experiment="algorithmic",
        axes=spec.Axes(task=["even_pairs"], encoding=["none", "rope"], learning_rate=[1e-4], seed=range(seeds))))


def refusal(call):
    """The error of a call, or None when it was answered well."""
    try:
        call()
    except grpc.RpcError as error:
        return error
    return None


@pytest.mark.fault("R8", aim="the store's disk (8 MB) fills up and is emptied: 0 answers lost, a clear error, goes on in < 5 s")
def test_a_full_disk_under_the_store(home, fault):
    rounds = fault.size(short=2, full=10, long=50)
    answered, refused, slowest = [], 0, 0.0
    with small_disk(home) as disk:
        scheduler = Scheduler(home, *harness.LONG_LEASES, store=disk / "store.db")
        stub, worker = scheduler.api(), PlayedWorker(scheduler, pack_limit=4)
        stub.SubmitSweep(sweep("first", 20), timeout=harness.PATIENCE_S)
        for number in range(rounds):
            lease = worker.take()
            content = f"weights of round {number}\n".encode() * 1000
            sha256 = hashlib.sha256(content).hexdigest()
            ballast = fill(disk)
            # What is in SQLite's log already may leave room for a few more changes.
            errors = []
            for i in range(200):
                error = refusal(lambda: stub.SubmitSweep(sweep(f"sweep-{number}-{i}", 300), timeout=harness.PATIENCE_S))
                if error is None:
                    answered.append(f"sweep-{number}-{i}")
                else:
                    errors.append(error)
                    break
            assert errors, "the disk does not get full"
            assert errors[0].code() == grpc.StatusCode.RESOURCE_EXHAUSTED, errors[0]
            assert "full" in errors[0].details(), errors[0]
            assert worker.upload(lease, "weights", number + 1, content, sha256) in (grpc.StatusCode.RESOURCE_EXHAUSTED,
                                                                                    grpc.StatusCode.UNAVAILABLE)
            report = refusal(lambda: worker.synchronize(finished=[worker.success(lease, 0.5)]))
            if report is not None:
                assert report.code() == grpc.StatusCode.RESOURCE_EXHAUSTED, report
                refused += 1
            refused += len(errors)
            # It can still be looked at, and says what is wrong with it.
            assert len(stub.ListSweeps(messages("api").ListSweepsRequest(), timeout=harness.PATIENCE_S).sweeps) >= 1
            until(lambda: refusal(lambda: stub.SubmitSweep(sweep(f"refused-{number}", 300), timeout=harness.PATIENCE_S)) is not None
                  and "the store takes nothing: the disk is full" in run_cli(home, "status", scheduler=scheduler).out
                  and "the store takes nothing: the disk is full, so that workers" in run_cli(home, "workers", scheduler=scheduler).err, "the disk is told to be full")

            ballast.unlink()
            freed = time.monotonic()
            until(lambda: refusal(lambda: worker.synchronize(finished=[worker.success(lease, 0.5)])) is None,
                  "the report is taken")
            slowest = max(slowest, time.monotonic() - freed)
            until(lambda: "the store takes nothing" not in run_cli(home, "status", scheduler=scheduler).out, "the trouble is over")
            assert query(scheduler.store, "SELECT outcome FROM attempts WHERE id = ?", lease.attempt) == [("succeeded",)]
        scheduler.stop()
        names = {name for (name,) in query(scheduler.store, "SELECT name FROM sweeps")}
        assert names.issuperset(answered)
        check_ledger(home, scheduler.store)
    fault.reached(f"{rounds} times full on {MEGABYTES} MB: {len(answered) + rounds + 1} answers kept, {refused} requests refused with the reason, "
                  f"0 lost; first report taken {slowest:.2f} s after there was space")


@pytest.mark.fault("R8", aim="files of uploads that a full store could not name do not stay once it can be written again")
def test_files_that_a_full_store_could_not_name(home, fault):
    uploads = fault.size(short=5, full=20, long=100)
    with small_disk(home) as disk:
        folder = home.path / "artifacts"
        # Once their lease is over, uploads would be refused for another reason.
        scheduler = Scheduler(home, "--artifacts", folder, *harness.LONG_LEASES, store=disk / "store.db")
        stub, worker = scheduler.api(), PlayedWorker(scheduler, pack_limit=4)
        stub.SubmitSweep(sweep("first", 20), timeout=harness.PATIENCE_S)
        lease = worker.take()
        ballast = fill(disk)
        until(lambda: refusal(lambda: stub.SubmitSweep(sweep("refused", 300), timeout=harness.PATIENCE_S)) is not None
              and "the store takes nothing" in run_cli(home, "status", scheduler=scheduler).out, "the disk is told to be full")
        refused = []
        # While somebody reads, SQLite's log cannot begin anew, which would be room for as many more as it likes.
        with reading(scheduler.store):
            for step in range(1, 20 * uploads):
                content = f"checkpoint of step {step}\n".encode() * 1000
                code = worker.upload(lease, "checkpoint", step, content, hashlib.sha256(content).hexdigest())
                if code is not None:
                    assert code in (grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNAVAILABLE), code
                    refused.append(hashlib.sha256(content).hexdigest())
                if len(refused) == uploads:
                    break
        assert len(refused) == uploads, "the disk does not get full"

        def left():
            # Named, one was recorded, and the answer that said so was lost.
            return [sha256 for sha256 in refused if (folder / sha256[:2] / sha256).exists()
                    and query(scheduler.store, "SELECT count(*) FROM artifacts WHERE sha256 = ?", sha256) == [(0,)]]

        def why_left():
            return f"last refusal: {refusal(worker.synchronize)}; " + ", ".join(
                f"{sha256[:8]} (marked: {(folder / 'tmp' / sha256).exists()}, noted: {query(scheduler.store, 'SELECT count(*) FROM unused_files WHERE sha256 = ?', sha256)})"
                for sha256 in left())

        def are_gone():
            assert scheduler.is_running(), "it has ended"
            return refusal(worker.synchronize) is None and not left()

        there = len(left())
        ballast.unlink()
        until(are_gone, lambda: f"they are gone; {why_left()}")
        scheduler.stop()
        check_ledger(home, scheduler.store)
    fault.reached(f"{uploads} uploads refused while the store was full; {there} of their files lay there, and none once there was space")


@pytest.mark.fault("R8", aim="the disk of the store's files fills up, and the store's does not: status and the scheduler's log say so, and when it is over")
def test_a_full_disk_under_the_files_alone(home, fault):
    rounds = fault.size(short=1, full=5, long=20)
    with small_disk(home) as disk:
        scheduler = Scheduler(home, "--artifacts", disk / "files", *harness.LONG_LEASES)
        stub, worker = scheduler.api(), PlayedWorker(scheduler, pack_limit=4)
        stub.SubmitSweep(sweep("first", 20), timeout=harness.PATIENCE_S)
        told = "no room for files of jobs: cannot "
        for number in range(rounds):
            lease = worker.take()
            content = f"weights of round {number}\n".encode() * 1000
            sha256 = hashlib.sha256(content).hexdigest()
            ballast = fill(disk)
            for _ in range(2):  # Whoever tries again is not told of again.
                assert worker.upload(lease, "weights", number + 1, content, sha256) == grpc.StatusCode.RESOURCE_EXHAUSTED
            shown = run_cli(home, "status", scheduler=scheduler).out
            assert told in shown and "the store takes nothing" not in shown, shown
            # Nor does a copy that finds no room there say so of the store.
            copied = run_cli(home, "store", "backup", disk / "copy.db", scheduler=scheduler)
            assert copied.code == 1 and f"there is no room for the copy '{disk}/copy.db'" in copied.err and "the store of the scheduler" not in copied.err, copied
            ballast.unlink()
            if number % 2 == 0:  # Nobody tries again, and the disk is asked.
                until(lambda: told not in run_cli(home, "status", scheduler=scheduler).out, "there is room again")
            assert worker.upload(lease, "weights", number + 1, content, sha256) is None
            assert told not in run_cli(home, "status", scheduler=scheduler).out
            assert refusal(lambda: worker.synchronize(finished=[worker.success(lease, 0.5)])) is None
            assert scheduler.log().count(told) == scheduler.log().count("there is room for files of jobs again") == number + 1
        scheduler.stop()
        check_ledger(home, scheduler.store)
    fault.reached(f"{rounds} times full: told each time in status and once in the log, and so was the end")


@harness.needs_worker
@pytest.mark.fault("R8", aim="a worker's disk is full while it trains: checkpoints and log lines are left out, training goes on, the same bits")
def test_a_full_disk_under_a_worker(home, fault):
    rounds = fault.size(short=1, full=4, long=20)
    spec = messages("spec")
    request = messages("api").SubmitSweepRequest(spec=spec.SweepSpec(
        name="full", experiment="algorithmic",
        axes=spec.Axes(task=["even_pairs"], encoding=["rope"], learning_rate=[1e-3], seed=[0, 1]),
        model=spec.Model(layers=1, embedding_dim=32, heads=4, mlp_dim=64),
        training=spec.Training(steps=4000, batch_size=16, lengths=range(1, 9)),
        evaluation=spec.Evaluation(lengths=[9, 10], examples=32)))

    def is_done(scheduler):
        return query(scheduler.store, "SELECT count(*) FROM jobs WHERE state = 'succeeded'") == [(2,)]

    def finish(scheduler):
        until(lambda: is_done(scheduler), "both jobs are done")
        assert query(scheduler.store, "SELECT DISTINCT failures FROM jobs") == [(0,)]

    plain = Scheduler(home, store="plain.db")
    plain.api().SubmitSweep(request, timeout=harness.PATIENCE_S)
    worker = Worker(home, plain)
    finish(plain)
    worker.stop()
    undisturbed = results(plain.store), curves(plain.store)
    left_out = 0
    with small_disk(home) as disk:
        for number in itertools.count():
            if left_out == rounds:
                break
            scheduler = Scheduler(home, store=f"store-{number}.db")
            scheduler.api().SubmitSweep(request, timeout=harness.PATIENCE_S)
            (disk / f"state-{number}").mkdir()
            (home.path / f"tight-{number}").symlink_to(disk / f"state-{number}")
            worker = Worker(home, scheduler, "--checkpoint-every-s", "0.05", name=f"tight-{number}")
            checkpoints = "SELECT count(DISTINCT step), max(step) FROM artifacts WHERE kind = 'checkpoint'"
            until(lambda: query(scheduler.store, checkpoints)[0][0] >= 1 or is_done(scheduler), "there is a checkpoint")
            ballast = fill(disk)
            is_hit = not is_done(scheduler)  # Else a busy machine has come to the end unseen, and another run is hit.
            reached = query(scheduler.store, "SELECT ifnull(max(step), 0) FROM progress")[0][0]
            # One write of what was gathered goes by, and with it dozens of checkpoints that could not be written.
            until(lambda: query(scheduler.store, "SELECT ifnull(max(step), 0) FROM progress")[0][0] > reached
                  or query(scheduler.store, "SELECT count(*) FROM attempts WHERE outcome IS NOT NULL") != [(0,)], "it trains on")
            assert query(scheduler.store, "SELECT count(*) FROM attempts WHERE outcome = 'failed'") == [(0,)]
            ballast.unlink()
            finish(scheduler)
            assert (results(scheduler.store), curves(scheduler.store)) == undisturbed
            left_out += is_hit
            worker.stop()
            scheduler.stop()
            check_ledger(home, scheduler.store)
    fault.reached(f"{left_out} of {rounds} runs trained on over a full disk and ended with the same bits")


@harness.needs_worker
@pytest.mark.fault("R8", aim="a worker's disk has no room for a result: told wherever the job is looked at, and handed in once there is some")
def test_a_result_that_waits_for_its_workers_disk_is_told(home, fault):
    spec = messages("spec")
    request = messages("api").SubmitSweepRequest(spec=spec.SweepSpec(
        name="no-room", experiment="algorithmic",
        axes=spec.Axes(task=["even_pairs"], encoding=["rope"], learning_rate=[1e-3], seed=[0]),
        model=spec.Model(layers=1, embedding_dim=32, heads=4, mlp_dim=64),
        training=spec.Training(steps=20_000, batch_size=16, lengths=range(1, 9)),
        evaluation=spec.Evaluation(lengths=[9, 10], examples=32)))
    scheduler = Scheduler(home)
    scheduler.api().SubmitSweep(request, timeout=harness.PATIENCE_S)
    ((job,),) = query(scheduler.store, "SELECT id FROM jobs")
    with small_disk(home) as disk:
        (disk / "state").mkdir()
        (home.path / "tight").symlink_to(disk / "state")
        # Without checkpoints there is nothing that could be let go of.
        Worker(home, scheduler, "--checkpoint-every-s", "0", name="tight")
        until(lambda: (disk / "state" / "attempts" / "1" / "log").exists(), "the trainer has begun")
        ballast = fill(disk)
        told = "worker 'tight' has no room on its disk for what is computed; free some there, and it goes on by itself"
        until(lambda: told in run_cli(home, "status", scheduler=scheduler).out, "status says whose disk is full")
        running = run_cli(home, "status", "-o", "json", scheduler=scheduler).json()["running"]
        assert [one["phase"] for one in running] == ["waits for its disk"], running
        assert "20000/20000, waits for its disk" in run_cli(home, "workers", scheduler=scheduler).out
        explained = run_cli(home, "explain", job, scheduler=scheduler).out
        assert "waits for its disk, step 20000 of 20000" in explained and "free some there, and it goes on by itself" in explained, explained
        assert "running: waits for its disk" in run_cli(home, "job", job, scheduler=scheduler).out
        attempts = run_cli(home, "job", job, "-o", "json", scheduler=scheduler).json()["attempts"]
        assert [one["phase"] for one in attempts] == ["waits for its disk"], attempts

        ballast.unlink()
        assert run_cli(home, "wait", "last", scheduler=scheduler).code == 0
        attempts = run_cli(home, "job", job, "-o", "json", scheduler=scheduler).json()["attempts"]
        assert [(one["outcome"], one["phase"]) for one in attempts] == [("succeeded", "")], attempts
        assert "no room" not in run_cli(home, "status", scheduler=scheduler).out
        check_ledger(home, scheduler.store)
    fault.reached("told by status, workers, explain and job, and the result was handed in without another attempt")
