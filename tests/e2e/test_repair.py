"""A store that came to harm is mended by `longreach store check --repair`: then it is sound, and a scheduler on it ends its sweep with the bits of an undisturbed one."""
import contextlib
import hashlib
import shutil
import sqlite3

import pytest

import harness
from harness import Scheduler, Worker, check_ledger, kill_in_the_middle, query, results, run_cli

pytestmark = harness.needs_worker

# Two packs of two; long enough that each has a checkpoint before its end.
SWEEP = """
name: harmed
experiment: algorithmic
axes:
  task: [even_pairs, reverse_string]
  encoding: [rope]
  learning_rate: [1e-3]
  seed: 0..1
model: {layers: 2, embedding_dim: 32, heads: 4, mlp_dim: 64}
training: {steps: 3000, batch_size: 16, lengths: 1..10}
evaluation: {lengths: 11..14, examples: 64}
"""


def sweep_file(home):
    file = home.path / "sweep.yaml"
    file.write_text(SWEEP)
    return file


@pytest.fixture(scope="module")
def undisturbed():
    with harness.Home() as home:
        ended = run_cli(home, "run", sweep_file(home), "--store", home.path / "plain.db")
        assert ended.code == 0, ended
        return results(home.path / "plain.db")


@pytest.fixture(scope="module")
def half_done():
    """A store whose worker was killed: one pack has its results, the other a checkpoint. Nobody has it open. And the file with that worker's id."""
    with harness.Home() as home:
        scheduler = Scheduler(home, "--lease-term-s", "2", "--renew-every-s", "0.5")
        assert run_cli(home, "submit", sweep_file(home), "--set", "task=even_pairs", "--set", "name=first", scheduler=scheduler).code == 0
        worker = Worker(home, scheduler)
        assert run_cli(home, "wait", "first", scheduler=scheduler).code == 0
        assert worker.stop() == 0
        assert run_cli(home, "submit", sweep_file(home), scheduler=scheduler).code == 0
        kill_in_the_middle(home, scheduler, "--checkpoint-every-s", "0.05", least_step=1)
        assert scheduler.stop() == 0
        assert query(scheduler.store, "SELECT count(*) FROM jobs WHERE state = 'succeeded'") == [(2,)], "one pack is open"
        *_, killed = (process for process in home.processes if isinstance(process, Worker))
        yield scheduler.store, home.path / killed.worker_name / "id"


@pytest.fixture
def store(home, half_done):
    theirs, worker_id = half_done
    mine = home.path / "store.db"
    shutil.copy(theirs, mine)
    shutil.copytree(f"{theirs}.artifacts", f"{mine}.artifacts")
    # The worker of the test is the killed one, back without all that it had: what it does not hold any more is free at once, and no lease is waited for.
    (home.path / "worker-0").mkdir(mode=0o700)
    shutil.copy(worker_id, home.path / "worker-0")
    return mine


def script(store, sql):
    """Behind our programs' back, past the schema's rules."""
    with contextlib.closing(sqlite3.connect(store, isolation_level=None)) as connection:
        connection.executescript("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON;" + sql)


def file_of(store, kind):
    [(sha256,)] = query(store, "SELECT sha256 FROM artifacts WHERE kind = ? ORDER BY step DESC, sha256 LIMIT 1", kind)
    return store.parent / f"{store.name}.artifacts" / sha256[:2] / sha256


def overwrite(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    file.write_bytes(content)


# The index has the rows as they were before the last change, and the table is as it was at first.
STALE_INDEX = """
UPDATE artifacts SET sha256 = sha256 || 'x' WHERE kind = 'log';
PRAGMA writable_schema = ON;
CREATE TEMP TABLE kept AS SELECT * FROM sqlite_schema WHERE name = 'artifacts_by_hash';
DELETE FROM sqlite_schema WHERE name = 'artifacts_by_hash';
PRAGMA writable_schema = RESET;
UPDATE artifacts SET sha256 = substr(sha256, 1, 64) WHERE kind = 'log';
DELETE FROM unused_files;
PRAGMA writable_schema = ON;
INSERT INTO sqlite_schema SELECT * FROM kept;
PRAGMA writable_schema = RESET;
"""

HARM = {
    "a checkpoint is missing": lambda store: file_of(store, "checkpoint").unlink(),
    "a checkpoint is damaged": lambda store: overwrite(file_of(store, "checkpoint")),
    "a log is missing": lambda store: file_of(store, "log").unlink(),
    "parts of a checkpoint have changed places": lambda store: script(store, "UPDATE artifacts SET member = 1 - member WHERE kind = 'checkpoint'"),
    "all checkpoints are of nobody": lambda store: script(store, "UPDATE artifacts SET attempt = 1 WHERE kind = 'checkpoint'"),
    "a result lacks its score": lambda store: script(store, "DELETE FROM measurements WHERE length = 0 AND job = (SELECT min(num) FROM jobs WHERE state = 'succeeded')"),
    "a result is gone": lambda store: script(store, "DELETE FROM measurements WHERE job = (SELECT min(num) FROM jobs WHERE state = 'succeeded')"),
    "a value is no number": lambda store: script(store, "UPDATE measurements SET value = 9e999 WHERE length = 11 AND job = (SELECT min(num) FROM jobs WHERE state = 'succeeded')"),
    "jobs have lost their states": lambda store: script(store, "UPDATE jobs SET state = 'queued', attempt = NULL"),
    "jobs are leased to nobody": lambda store: script(store, "UPDATE jobs SET state = 'leased', attempt = 1 WHERE state <> 'succeeded'"),
    "counters are wrong": lambda store: script(store, "UPDATE sweeps SET jobs_queued = 99, jobs_succeeded = 0"),
    "members have changed places": lambda store: script(store, "".join(
        f"UPDATE sweep_jobs SET position = {to} WHERE sweep = (SELECT num FROM sweeps WHERE name = 'harmed') AND position = {at};" for at, to in ((0, 9), (3, 0), (9, 3)))),
    "members are lacking": lambda store: script(store, "DELETE FROM sweep_jobs WHERE sweep = (SELECT num FROM sweeps WHERE name = 'harmed') AND position IN (0, 3)"),
    "nobody wants what sweeps want": lambda store: script(store, "UPDATE jobs SET wanted = 0, priority = 5 WHERE state <> 'succeeded'"),
}


@pytest.mark.parametrize("harm", HARM)
def test_a_store_is_sound_again_and_its_sweep_ends_as_if_nothing_had_been(home, store, undisturbed, harm):
    check_ledger(home, store)
    HARM[harm](store)
    assert run_cli(home, "store", "check", "--artifacts", "--store", store).code == 1

    mended = run_cli(home, "store", "check", "--repair", "--store", store)
    assert mended.code == 0 and "mended: " in mended.out and "\nsound: looked at " in mended.out, mended
    backup = home.path / "store.db.repair-1.backup"
    assert f"as it was before: '{backup}'\n" in mended.out and query(backup, "SELECT count(*) FROM jobs") == [(4,)]
    check_ledger(home, store)
    again = run_cli(home, "store", "check", "--repair", "--store", store)
    assert again.code == 0 and again.out.startswith("nothing to mend\nsound: "), again
    assert sorted(home.path.glob("*.backup")) == [backup]

    scheduler = Scheduler(home, "--lease-term-s", "2", "--renew-every-s", "0.5")
    Worker(home, scheduler)
    for sweep in ("harmed", "first"):
        assert run_cli(home, "wait", sweep, scheduler=scheduler).code == 0
    assert scheduler.stop() == 0
    assert results(store) == undisturbed
    check_ledger(home, store)


def test_results_that_are_whole_are_kept_where_their_jobs_lost_their_states(home, store):
    before = query(store, "SELECT * FROM measurements ORDER BY 1, 2, 3, 4")
    assert before
    HARM["jobs have lost their states"](store)

    mended = run_cli(home, "store", "check", "--repair", "--store", store)

    assert mended.code == 0 and mended.out.count("they are the result of attempt 1 again\n") == 2, mended
    assert query(store, "SELECT * FROM measurements ORDER BY 1, 2, 3, 4") == before


def test_an_index_that_lacks_rows_is_made_anew(home, store):
    before = query(store, "SELECT * FROM artifacts ORDER BY 1, 2, 3, 4")
    script(store, STALE_INDEX)
    checked = run_cli(home, "store", "check", "--store", store)
    assert checked.code == 1 and "artifacts_by_hash" in checked.out, checked

    mended = run_cli(home, "store", "check", "--repair", "--store", store)

    assert mended.code == 0 and "all indexes were made anew" in mended.out, mended
    assert query(store, "SELECT * FROM artifacts ORDER BY 1, 2, 3, 4") == before


def test_what_nobody_can_tell_is_left_and_said(home, store):
    script(store, "UPDATE measurements SET value = value + 1 WHERE metric = 'accuracy' AND length = 0")
    before = query(store, "SELECT * FROM measurements ORDER BY 1, 2, 3, 4")

    mended = run_cli(home, "store", "check", "--repair", "--store", store)

    assert mended.code == 1 and mended.out.startswith("nothing to mend\n") and "and the mean of its lengths is" in mended.out, mended
    assert query(store, "SELECT * FROM measurements ORDER BY 1, 2, 3, 4") == before
    assert not list(home.path.glob("*.backup"))


@pytest.mark.parametrize("sql, line", [
    ("UPDATE jobs SET learning_rate = 0.5 WHERE state <> 'succeeded'", "learning rate 0.5, seed 0, 3000 steps, and its specification says otherwise\n"),
    ("UPDATE workers SET state = 'odd'", "CHECK constraint failed in workers (2 times)\n"),
])
def test_what_rows_should_not_be_is_found_and_left(home, store, sql, line):
    script(store, sql)

    mended = run_cli(home, "store", "check", "--repair", "--store", store)

    assert mended.code == 1 and mended.out.startswith("nothing to mend\n") and line in mended.out, mended


def test_files_that_nothing_names_are_put_aside_and_kept(home, store):
    content = b"nobody's"
    sha256 = hashlib.sha256(content).hexdigest()
    folder = store.parent / f"{store.name}.artifacts"
    (folder / sha256[:2]).mkdir(exist_ok=True)
    (folder / sha256[:2] / sha256).write_bytes(content)

    mended = run_cli(home, "store", "check", "--repair", "--store", store, "-o", "json")

    assert mended.code == 0, mended
    assert [line for line in mended.json()["done"] if "nothing names" in line] and mended.json()["check"]["violations"] == [], mended
    assert mended.json()["backup"] == "", "no row was to be changed"
    assert (folder / "aside" / sha256).read_bytes() == content


def test_a_store_is_not_mended_under_a_scheduler(home, store):
    scheduler = Scheduler(home, *harness.LONG_LEASES)
    for arguments in (["--store", store], ["--scheduler", scheduler.address]):
        refused = run_cli(home, "store", "check", "--repair", *arguments)
        assert refused.code in (1, 2) and "scheduler" in refused.err, refused
    assert scheduler.stop() == 0
    assert not list(home.path.glob("*.backup"))
