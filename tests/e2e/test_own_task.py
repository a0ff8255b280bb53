"""A user's own task, as docs/howto/own-task.md has it: its files and commands as they stand, at a token budget."""
import re
import shlex

import harness
from harness import BIN, ROOT, Scheduler, Worker, check_ledger, query, run, run_cli

pytestmark = harness.needs_worker

PAGE = (ROOT / "docs/howto/own-task.md").read_text()
BLOCKS = [(kind, re.sub(r"^   ", "", text, flags=re.MULTILINE)) for kind, text in re.findall(r"^ *```(\w+)\n(.*?)^ *```", PAGE, re.DOTALL | re.MULTILINE)]
SMALL = ["--set", "training.steps=3", "--set", "training.batch_size=8", "--set", "evaluation.examples=5", "--set", "model.layers=2", "--threads", "1"]


def write_files(home):
    for kind, text in BLOCKS:
        if kind in ("python", "yaml"):
            (home.path / re.match(r"# (\S+)\n", text)[1]).write_text(text)


def import_pairs(home):
    for line in next(text for kind, text in BLOCKS if kind == "sh").splitlines():
        words = shlex.split(line)
        done = run(home, BIN / words[0] if words[0] == "longreach" else words[0], *words[1:])
        assert done.code == 0, done


def follow_page(home):
    """What the commands printed, by their first three words; of several that have these, the first."""
    said = {}
    for line in [line for kind, text in BLOCKS if kind == "sh" for line in text.splitlines()]:
        words = shlex.split(line, comments=True)
        if words[:2] == ["longreach", "run"]:
            words += SMALL
        program = BIN / words[0] if words[0] == "longreach" else words[0]
        done = run(home, program, *words[1:])
        assert done.code == 0, done
        said.setdefault(" ".join(words[:3]), done)
    return said


def test_the_page_from_pairs_to_the_table(home):
    write_files(home)
    said = follow_page(home)
    imported = said["longreach data import"]
    for words in ("15000 + 2500 pairs of lengths 3..7 + 3..11, 11 input and 10 output symbols", "need no end", "696 of 2500 test inputs"):
        assert words in imported.out + imported.err, imported
    store = home.path / "addition.db"
    check_ledger(home, str(store))
    assert query(store, "SELECT count(*) FROM jobs") == [(8,)]
    # At five lengths and over all of them.
    assert query(store, "SELECT metric, count(*) FROM measurements GROUP BY metric ORDER BY metric") == [("accuracy", 48), ("exact_match", 48), ("loss", 48)]
    engines = query(store, "SELECT DISTINCT engine FROM attempts")
    assert engines and all(engine.startswith("lanes-") for (engine,) in engines), engines
    table = said["longreach results addition"].out
    for word in ("exact_match", "None", "RoPE", "ALiBi", "FIRE", "length 11"):
        assert word in table, table

    # Again: nothing is trained twice.
    again = run_cli(home, "run", "addition.yaml", "--store", store, *SMALL)
    assert again.code == 0 and query(store, "SELECT count(*) FROM attempts") == query(store, "SELECT count(*) FROM attempts WHERE outcome = 'succeeded'"), again


def test_what_the_files_lack_is_said_before_anything_is_submitted(home):
    write_files(home)
    import_pairs(home)
    for field, value, words in [
        ("training.lengths", "3..9:2", "training.lengths: 9: 'addition' has no training pairs with inputs of that length; it has those of 3, 5, 7"),
        ("evaluation.lengths", "4", "evaluation.lengths: 4: 'addition' has no test pairs with inputs of that length"),
        ("data", "substraction", "'longreach data import pairs FILE --test FILE --name substraction' makes it"),
    ]:
        refused = run_cli(home, "run", "addition.yaml", "--store", "refused.db", "--set", f"{field}={value}", *SMALL)
        assert refused.code != 0 and words in refused.err, refused
        assert not (home.path / "refused.db").exists()
    unset = run_cli(home, "plan", "/dev/stdin", stdin="experiment: sequences\nname: x\naxes: {task: pairs, encoding: none, learning_rate: 1e-3, seed: 0}\n")
    assert unset.code == 2 and "training.lengths" in unset.err and "to be set" in unset.err, unset


def test_a_job_waits_for_a_worker_that_has_its_pairs(home):
    write_files(home)
    scheduler = Scheduler(home)
    submitted = run_cli(home, "submit", "addition.yaml", *SMALL[:-2], "--set", "seed=0", "--set", "encoding=none", scheduler=scheduler)
    assert submitted.code == 0, submitted
    Worker(home, scheduler)
    import_pairs(home)
    watched = run_cli(home, "watch", "addition", scheduler=scheduler)
    assert watched.code == 0, watched
    assert [job["state"] for job in run_cli(home, "jobs", "addition", "-o", "json", scheduler=scheduler).json()["jobs"]] == ["succeeded"]
