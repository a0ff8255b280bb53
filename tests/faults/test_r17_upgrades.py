"""R17: files and programs of other versions: brought up to date whole, with a copy beside, or refused with the reason."""
import pathlib
import sqlite3

import grpc
import pytest

import harness
from concurrent import futures
from harness import BIN, Process, Scheduler, check_ledger, messages, query
from played_worker import PlayedWorker
from storage_program import storage_faults

SCHEMAS = pathlib.Path(__file__).parent / "storage" / "schemas"


def newest(home):
    scheduler = Scheduler(home, store="newest.db")
    info = scheduler.api().GetInfo(messages("api").GetInfoRequest(), timeout=harness.PATIENCE_S)
    scheduler.stop()
    return info.store_version


@pytest.mark.fault("R17", aim="a store of every past schema opens with all its rows, and a copy is made before it is changed")
def test_stores_of_every_past_schema(home, fault):
    last = newest(home)
    for version in range(1, last + 1):
        dump = SCHEMAS / f"{version:03}.sql"
        assert dump.exists(), f"keep a store as version {version} wrote it: {dump}"
        store = home.path / f"v{version}.db"
        with sqlite3.connect(store) as db:
            db.executescript(dump.read_text())
        db.close()
        before = query(store, "SELECT id, state, attempt FROM jobs ORDER BY id")
        measured = query(store, "SELECT count(*), sum(value) FROM measurements")
        assert before and measured[0][0]

        scheduler = Scheduler(home, store=store.name)
        assert scheduler.api().ListSweeps(messages("api").ListSweepsRequest(), timeout=harness.PATIENCE_S).sweeps
        scheduler.stop()

        assert query(store, "SELECT id, state, attempt FROM jobs ORDER BY id") == before
        assert query(store, "SELECT count(*), sum(value) FROM measurements") == measured
        assert query(store, "PRAGMA user_version") == [(last,)]
        copy = home.path / f"v{version}.db.v{version}.backup"
        assert copy.exists() == (version < last)
        check_ledger(home, store, artifacts=False)
    fault.reached(f"{last} of {last} versions of the schema open with all rows")


@pytest.mark.fault("R17", aim="an upgrade killed at each call leaves the old or the new version, and goes on")
def test_upgrades_killed_at_each_call(fault):
    every = fault.size(short=23, full=1, long=1)

    real = storage_faults("fail", "--scenario", "upgrade-from-1", "--every", every)
    later = storage_faults("fail", "--scenario", "migrate", "--every", every)

    assert real["failures"] == later["failures"] == 0
    assert real["points"] and later["points"]
    fault.reached(f"a store of the first schema brought up to ours, {real['points']} calls killed or failing, and ours over three more versions, "
                  f"{later['points']}: 0 stores lost or half-way")


@pytest.mark.fault("R17", aim="a store of a newer version is refused with what to do, and left as it is")
def test_a_newer_store_is_refused(home, fault):
    last = newest(home)
    store = home.path / "newest.db"
    harness.write(store, f"PRAGMA user_version = {last + 1}")
    before = store.read_bytes()

    ended = harness.run(home, BIN / "longreach-scheduler", "--store", store, "--listen", f"unix:{home.path}/n.sock")

    assert ended.code == 1
    assert f"newer Longreach (store version {last + 1}; this one knows up to {last})" in ended.err
    assert store.read_bytes() == before
    fault.reached("refused, 0 bytes changed")


@pytest.mark.fault("R17", aim="a worker of another protocol version is refused with both versions")
def test_workers_of_other_versions(home, fault):
    scheduler = Scheduler(home)
    worker = messages("worker")
    ours = scheduler.api().GetInfo(messages("api").GetInfoRequest(), timeout=harness.PATIENCE_S).protocol
    for theirs in (0, ours - 1, ours + 1, 1000):
        with pytest.raises(grpc.RpcError) as refused:
            PlayedWorker(scheduler).stub.Synchronize(worker.SynchronizeRequest(protocol=theirs, worker="other", incarnation=1, sequence=1),
                                                     timeout=harness.PATIENCE_S)
        assert refused.value.code() == grpc.StatusCode.FAILED_PRECONDITION
        assert f"version {theirs} of the protocol" in refused.value.details() and f"version {ours};" in refused.value.details()
    assert query(scheduler.store, "SELECT count(*) FROM workers") == [(0,)]
    fault.reached("4 of 4 other versions refused, no row written")


@harness.needs_worker
@pytest.mark.fault("R17", aim="a worker that an older or newer scheduler refuses ends and says why")
def test_a_scheduler_of_another_version(home, fault):
    class OtherVersion(messages("worker_grpc").WorkerServicer):
        def Synchronize(self, request, context):
            context.abort(grpc.StatusCode.FAILED_PRECONDITION,
                          f"this worker speaks version {request.protocol} of the protocol, and this scheduler (0.0.1) version 0; "
                          "install the same version of Longreach on both")

    server = grpc.server(futures.ThreadPoolExecutor(2))
    messages("worker_grpc").add_WorkerServicer_to_server(OtherVersion(), server)
    socket = f"unix:{home.path}/other.sock"
    server.add_insecure_port(socket)
    server.start()
    worker = Process(home, "worker", [BIN / "longreach-worker", "run", "--scheduler", socket, "--state", home.path / "w", "--threads", "1"])
    try:
        assert worker.wait() == 1
    finally:
        server.stop(None)
    assert "install the same version of Longreach on both" in worker.log()
    fault.reached("refused, exit code 1, the reason is in its log")
