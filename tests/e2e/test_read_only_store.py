"""A store that one may read and not write, a colleague's or an archive: who only looks is answered as by one of his own, and nothing is left there."""
import os
import shutil

import pytest

import harness
from fleet import FakeWorkers
from harness import BIN, Scheduler, run, run_cli

LOOKS = (["results", "noop", "-o", "json"], ["status", "noop", "-o", "json"], ["jobs", "noop", "-o", "csv"], ["sweeps", "-o", "json"], ["workers", "-o", "json"],
         ["plan", "noop", "-o", "json"], ["store", "check", "--artifacts"])
WRITES = (["submit", "noop"], ["run", "noop"], ["pause", "noop"], ["cancel", "noop"], ["priority", "noop", "3"], ["retry", "noop"], ["store", "migrate"])


class OtherUser:
    """Runs the client as a user who has no rights here but those of everybody: modes do not bind root."""

    def __init__(self, home):
        self.home = home
        home.path.chmod(0o755)
        self.temporary = home.path / "tmp"
        self.temporary.mkdir()
        self.temporary.chmod(0o777)
        # The programs may lie in a folder that is their owner's alone.
        self.programs = home.path / "bin"
        self.programs.mkdir()
        for name in ("longreach", "longreach-scheduler"):
            shutil.copy(BIN / name, self.programs / name)
            (self.programs / name).chmod(0o755)
        self.programs.chmod(0o755)

    def run_cli(self, *arguments):
        another = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
        with harness.variables(TMPDIR=self.temporary, XDG_RUNTIME_DIR=""):
            return run(self.home, *another, self.programs / "longreach", *arguments)


@pytest.fixture
def other(home):
    return OtherUser(home)


def everything_in(folder):
    """Names, modes and bytes."""
    return {path: (path.stat().st_mode, path.read_bytes() if path.is_file() else None) for path in sorted(folder.rglob("*"))}


def set_modes(folder, *, files, folders):
    for path in (folder, *folder.rglob("*")):
        path.chmod(folders if path.is_dir() else files)


@pytest.fixture
def archive(home):
    """A folder of a store with results, which nobody may write."""
    folder = home.path / "archive"
    folder.mkdir()
    scheduler = Scheduler(home, store="archive/store.db")
    submitted = run_cli(home, "submit", "noop", "--set", "seed=0..9", scheduler=scheduler)
    assert submitted.code == 0, submitted
    workers = FakeWorkers(home, scheduler, "--noop", "--workers", "2", "--artifact-bytes", "100")
    assert run_cli(home, "wait", "noop", scheduler=scheduler).code == 0
    workers.kill()
    assert scheduler.stop() == 0
    yield scheduler.store
    set_modes(folder, files=0o600, folders=0o700)


def test_who_only_looks_is_answered_as_its_owner(home, other, archive):
    asked = [run_cli(home, *look, "--store", archive) for look in LOOKS]
    assert all(one.code == 0 for one in asked), asked
    set_modes(archive.parent, files=0o444, folders=0o555)
    before = everything_in(archive.parent)

    for look, own in zip(LOOKS, asked):
        looked = other.run_cli(*look, "--store", archive)
        assert looked.code == 0 and looked.out == own.out, (look, looked, own)

    assert everything_in(archive.parent) == before
    assert not list(other.temporary.iterdir()), "the copies are gone"


def test_completion_reads_a_copy_of_ones_own_store(home, archive):
    before = everything_in(archive.parent)
    completed = run(home, "env", f"LONGREACH_STORE={archive}", BIN / "longreach", "__complete", "--", "results", "")
    assert completed.code == 0 and "\nnoop\t" in completed.out, completed
    assert everything_in(archive.parent) == before


def test_who_would_write_is_refused_and_told_what_to_do(home, other, archive):
    set_modes(archive.parent, files=0o444, folders=0o555)
    before = everything_in(archive.parent)

    for write in WRITES:
        refused = other.run_cli(*write, "--store", archive)
        assert refused.code == 1 and f"the store '{archive}' may not be written by this user" in refused.err, (write, refused)

    assert everything_in(archive.parent) == before
    # What it says to do.
    own = other.temporary / "own.db"
    merged = other.run_cli("store", "merge", archive, "--store", own)
    assert merged.code == 0 and "added 1 sweep, 40 jobs, 40 results" in merged.out, merged
    assert other.run_cli("pause", "noop", "--store", own).code == 0
    assert everything_in(archive.parent) == before


def test_a_store_that_its_owner_works_on_is_read_as_it_is_now(home, other):
    folder = home.path / "shared"
    folder.mkdir()
    scheduler = Scheduler(home, store="shared/store.db")
    for path in folder.glob("store.db*"):
        if path.is_file() and path.suffix != ".lock":
            path.chmod(0o644)
    folder.chmod(0o755)

    for name in ("first", "second"):
        submitted = run_cli(home, "submit", "noop", "--set", f"name={name}", "--set", "seed=0..9", scheduler=scheduler)
        assert submitted.code == 0, submitted
        assert (folder / "store.db-wal").stat().st_size > 0
        looked = other.run_cli("jobs", name, "-o", "csv", "--store", scheduler.store)
        assert looked.code == 0, looked
        assert looked.out == run_cli(home, "jobs", name, "-o", "csv", scheduler=scheduler).out

    assert not list(other.temporary.iterdir())


@pytest.mark.parametrize("whole_folder", [False, True], ids=["the-file", "its-folder"])
def test_a_store_that_one_may_not_even_read_is_not_said_to_be_none(home, other, whole_folder):
    folder = home.path / "private"
    folder.mkdir()
    assert run_cli(home, "submit", "noop", "--set", "seed=0", "--store", folder / "store.db").code == 0
    (folder / "store.db").chmod(0o600)
    folder.chmod(0o700 if whole_folder else 0o755)
    own = other.temporary / "own.db"

    merged = other.run_cli("store", "merge", folder / "store.db", "--store", own)

    assert merged.code == 1 and "store.db': Permission denied" in merged.err, merged
    assert f"merge it as a user who may {'look into its folder' if whole_folder else 'read it'}, or name a copy of it" in merged.err, merged
    assert "no store" not in merged.err and not own.exists(), merged
