"""A data set whose bytes have changed since its import, without a time or a size that tells: no result comes of it, and people are told."""
import os

import pytest

import harness
from harness import FREQUENT_CALLS, Home, Scheduler, Worker, check_ledger, query, results, run_cli, until
from shifted_clock import hurried

pytestmark = harness.needs_worker

# One job for each seed, of a text.
SMALL = ["model.layers=1", "model.embedding_dim=16", "model.heads=2", "model.mlp_dim=16", "training.steps=2", "training.batch_size=2",
         "training.lengths=8", "evaluation.lengths=8", "evaluation.examples=2", "data=words", "encoding=none"]
CHANGED = "corpus.bin: its bytes have changed since the import"


@pytest.fixture
def home():
    with Home() as home:
        (home.path / "words.txt").write_text("some words " * 1000)
        yield home


def import_words(home, folder):
    done = run_cli(home, "data", "import", "text", "words.txt", "--name", "words", "--data-folder", folder)
    assert done.code == 0, done


def flip_a_bit(file):
    """As a disk does it: neither size nor time of change are others."""
    before = file.stat()
    content = bytearray(file.read_bytes())
    content[len(content) // 3] ^= 4
    file.write_bytes(content)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def watchful_worker(home, scheduler, folder, *arguments, **others):
    """It looks at its data sets before most of its calls."""
    with hurried(home, "worker"):
        return Worker(home, scheduler, "--data-folder", folder, *arguments, **others)


def settings(*more):
    return [word for setting in (*SMALL, *more) for word in ("--set", setting)]


def submit(home, scheduler, *more):
    done = run_cli(home, "submit", "table-1", *settings(*more), scheduler=scheduler)
    assert done.code == 0, done


def jobs(home, scheduler):
    return run_cli(home, "jobs", "last", "-o", "json", scheduler=scheduler).json()["jobs"]


def workers(home, scheduler):
    return run_cli(home, "workers", "-o", "json", scheduler=scheduler).json()["workers"]


def reads_of(worker):
    return worker.log().count("the data set 'words' is as it was imported: 11000 bytes read in")


def test_a_flipped_bit_gives_no_result_and_what_is_imported_anew_does(home):
    import_words(home, "data")
    flip_a_bit(home.path / "data/words/corpus.bin")
    scheduler = Scheduler(home, *FREQUENT_CALLS)
    worker = watchful_worker(home, scheduler, "data")
    submit(home, scheduler, "seed=0")

    until(lambda: jobs(home, scheduler)[0]["failures"], "the damage is found")

    until(lambda: "a data set is not announced: words: " in worker.log(), "the worker says that it lets go of the data set")
    explained = run_cli(home, "explain", jobs(home, scheduler)[0]["id"], scheduler=scheduler).out
    assert f"Worker '{worker.worker_name}' has the data set 'words' damaged: " in explained, "the report and the news of the damage come with one call"
    assert CHANGED in explained and "'longreach data remove words' and import it anew" in explained, explained
    assert results(scheduler.store)[1] == []
    (told,) = workers(home, scheduler)
    assert [one["name"] for one in told["damaged_data_sets"]] == ["words"] and CHANGED in told["damaged_data_sets"][0]["reason"], told
    listed = run_cli(home, "workers", scheduler=scheduler)
    assert "DAMAGED DATA" in listed.out and f"worker '{worker.worker_name}': the data set 'words' is damaged: " in listed.err and CHANGED in listed.err, listed
    checked = run_cli(home, "data", "check", "words", "--data-folder", "data")
    assert checked.code == 1 and CHANGED in checked.err, checked

    # The worker stays as it is.
    assert run_cli(home, "data", "remove", "words", "--data-folder", "data").code == 0
    import_words(home, "data")
    assert run_cli(home, "wait", "last", scheduler=scheduler).code == 0
    (job,) = jobs(home, scheduler)
    assert job["state"] == "succeeded" and job["failures"] == 1, "it was not tried again before there was another data set"
    assert reads_of(worker) == 1
    assert workers(home, scheduler)[0]["damaged_data_sets"] == [] and "DAMAGED DATA" not in run_cli(home, "workers", scheduler=scheduler).out
    scheduler.stop()
    check_ledger(home, scheduler.store)


def test_jobs_go_to_a_worker_that_has_it_whole_and_have_the_results_of_one_alone(home):
    for folder in ("damaged", "whole"):
        import_words(home, folder)
    flip_a_bit(home.path / "damaged/words/corpus.bin")
    scheduler = Scheduler(home, *FREQUENT_CALLS)
    watchful_worker(home, scheduler, "damaged", "--pack-limit", "1", name="damaged-disk")
    submit(home, scheduler, "seed=0..2")
    until(lambda: any(job["failures"] for job in jobs(home, scheduler)), "the damage is found")

    watchful_worker(home, scheduler, "whole", "--pack-limit", "1", name="whole-disk")

    assert run_cli(home, "wait", "last", scheduler=scheduler).code == 0
    assert sorted(job["failures"] for job in jobs(home, scheduler)) == [0, 0, 1]
    names = query(scheduler.store, "SELECT DISTINCT workers.name FROM jobs JOIN attempts ON attempts.id = jobs.attempt JOIN workers ON workers.id = attempts.worker")
    assert names == [("whole-disk",)]
    alone = run_cli(home, "run", "table-1", *settings("seed=0..2"), "--store", "alone.db", "--data-folder", "whole")
    assert alone.code == 0, alone
    assert results(scheduler.store) == results(home.path / "alone.db")


def test_a_data_set_is_read_once_for_all_jobs_and_again_when_its_file_was_touched(home):
    import_words(home, "data")
    scheduler = Scheduler(home, *FREQUENT_CALLS)
    worker = watchful_worker(home, scheduler, "data", "--pack-limit", "1")
    submit(home, scheduler, "seed=0..2")
    assert run_cli(home, "wait", "last", scheduler=scheduler).code == 0
    assert len(jobs(home, scheduler)) == 3 and reads_of(worker) == 1, worker.log()

    os.utime(home.path / "data/words/corpus.bin")
    submit(home, scheduler, "seed=3..4")
    assert run_cli(home, "wait", "last", scheduler=scheduler).code == 0
    assert reads_of(worker) == 2, worker.log()

    # What happens while the worker runs is found before the next job.
    flip_a_bit(home.path / "data/words/corpus.bin")
    submit(home, scheduler, "seed=5")
    until(lambda: jobs(home, scheduler)[0]["failures"], "the damage is found")
    assert CHANGED in jobs(home, scheduler)[0]["failure"] and reads_of(worker) == 2, worker.log()


def test_a_file_that_is_cut_off_while_a_job_reads_it_is_named(home):
    import_words(home, "data")
    scheduler = Scheduler(home, *FREQUENT_CALLS)
    worker = watchful_worker(home, scheduler, "data", "--checkpoint-every-s", "0.1")
    long = [word.replace("training.steps=2", "training.steps=100000000") for word in settings("seed=0")]
    assert run_cli(home, "submit", "table-1", *long, scheduler=scheduler).code == 0
    until(lambda: query(scheduler.store, "SELECT 1 FROM artifacts WHERE kind = 'checkpoint' AND step > 0"), "the job is in the middle of its training")

    os.truncate(home.path / "data/words/corpus.bin", 0)

    until(lambda: jobs(home, scheduler)[0]["failures"], "the trainer ends")
    ended = run_cli(home, "explain", jobs(home, scheduler)[0]["id"], scheduler=scheduler).out
    assert "killed by SIGBUS; the log ends with: a file was cut off while it was read, or its disk gives nothing of it: " in ended and "data/words/corpus.bin" in ended, ended
    # The worker lets go of the data set, and the job waits for another one.
    until(lambda: "a data set is not announced: words: " in worker.log(), "the worker says that it lets go of the data set")
    until(lambda: [one["name"] for one in workers(home, scheduler)[0]["damaged_data_sets"]] == ["words"], "and tells its scheduler")
    assert jobs(home, scheduler)[0]["state"] == "queued"


def test_a_run_on_a_damaged_data_set_ends_and_says_so(home):
    import_words(home, "data")
    flip_a_bit(home.path / "data/words/corpus.bin")

    done = run_cli(home, "run", "table-1", *settings("seed=0"), "--data-folder", "data")

    assert done.code == 1 and "nothing can go on: job " in done.err, done
    assert "has the data set 'words' damaged: " in done.err and CHANGED in done.err, done
    assert results(home.path / "longreach.db")[1] == []


def test_a_file_that_is_missing_is_told_before_any_job_asks_for_it(home):
    import_words(home, "data")
    (home.path / "data/words/corpus.bin").rename(home.path / "aside")
    (home.path / "data/lost+found").mkdir()
    (home.path / "data/lost+found/manifest.json").write_text("{")
    scheduler = Scheduler(home, *FREQUENT_CALLS)
    watchful_worker(home, scheduler, "data")

    told = until(lambda: next((one["damaged_data_sets"] for one in workers(home, scheduler)), None), "the worker says what is damaged")
    assert [one["name"] for one in told] == ["words"] and "corpus.bin: is missing" in told[0]["reason"], told

    (home.path / "aside").rename(home.path / "data/words/corpus.bin")
    until(lambda: workers(home, scheduler)[0]["damaged_data_sets"] == [], "it is whole again")
    submit(home, scheduler, "seed=0")
    assert run_cli(home, "wait", "last", scheduler=scheduler).code == 0


def test_a_folder_that_cannot_be_read_is_told_of_and_is_not_an_empty_one(home):
    """As where its server is away. A link that leads to itself is an error for every user, root too."""
    import_words(home, "data")
    scheduler = Scheduler(home, *FREQUENT_CALLS)
    worker = watchful_worker(home, scheduler, "data")
    submit(home, scheduler, "seed=0")
    assert run_cli(home, "wait", "last", scheduler=scheduler).code == 0

    (home.path / "data").rename(home.path / "aside")
    (home.path / "data").symlink_to("data")

    for command in ("list", "check"):
        refused = run_cli(home, "data", command, "--data-folder", "data")
        assert refused.code == 1 and refused.out == "" and "cannot list data: " in refused.err and "LONGREACH_DATA" in refused.err, refused
    told = until(lambda: workers(home, scheduler)[0]["damaged_data_sets"], "the worker says what it cannot reach")
    assert [one["name"] for one in told] == ["words"] and "cannot list data: " in told[0]["reason"], told
    submit(home, scheduler, "seed=1")
    explained = run_cli(home, "explain", jobs(home, scheduler)[0]["id"], scheduler=scheduler).out
    assert f"Worker '{worker.worker_name}' has the data set 'words' damaged: cannot list data: " in explained, explained
    assert worker.log().count("data sets are not announced: cannot list data: ") == 1, worker.log()

    (home.path / "data").unlink()
    (home.path / "aside").rename(home.path / "data")
    assert run_cli(home, "wait", "last", scheduler=scheduler).code == 0
    assert [job["failures"] for job in jobs(home, scheduler)] == [0]
    assert workers(home, scheduler)[0]["damaged_data_sets"] == []


def bytes_read_by(pid):
    """By calls that read, which mapped files are none of."""
    return int(next(line for line in open(f"/proc/{pid}/io") if line.startswith("rchar: ")).split()[1])


def test_what_the_worker_has_compared_its_trainer_does_not_read_again(home):
    """A data set that was copied plainly: its files are newer than its manifest."""
    corpus = 64 << 20
    (home.path / "words.txt").write_bytes(b"some words " * (corpus // 11))
    import_words(home, "data")
    now = (home.path / "data/words/manifest.json").stat().st_mtime
    os.utime(home.path / "data/words/corpus.bin", (now + 10, now + 10))
    scheduler = Scheduler(home, *FREQUENT_CALLS)
    worker = watchful_worker(home, scheduler, "data")
    submit(home, scheduler, "seed=0")

    assert run_cli(home, "wait", "last", scheduler=scheduler).code == 0

    (trainer,) = open(f"/proc/{worker.pid}/task/{worker.pid}/children").read().split()
    assert bytes_read_by(worker.pid) > 0.9 * corpus, "the worker has"
    assert bytes_read_by(trainer) < 0.9 * corpus
