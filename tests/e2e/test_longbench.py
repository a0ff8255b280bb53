"""LongBench as an evaluation of published models: a small one of random weights and made-up samples, beside the whole way in Python."""
import json
import random
import re
import shutil

import pytest

import harness
import longbench_reference as reference
from harness import ROOT, Scheduler, Worker, kill_in_the_middle, query, results, run_cli, until
from test_published_models import imported, refused
from test_tokenizer import Program

pytestmark = harness.needs_worker

TOKENIZER = ROOT / "tests/golden/nope/tokenizer/tokenizer.model"
TASKS = list(reference.NEW_TOKENS)
BEAMS = ["qasper", "trec", "samsum", "passage_count"]  # Of the system that searches with three.
WINDOW = 300
SAMPLES = 2
SWEEP = f"""
name: bench
experiment: llama
data: corpus
axes: {{task: tokens, encoding: none, learning_rate: 0.1, seed: 0}}
model: {{folder: tiny}}
training: {{steps: 0}}
systems:
  - name: greedy
    with: {{evaluation: {{lengths: 16, longbench: bench, longbench_window: {WINDOW}, longbench_beams: 1}}}}
  - name: beams
    with: {{evaluation: {{lengths: 16, longbench: bench, longbench_window: {WINDOW}, longbench_beams: 3, longbench_samples: 1,
                        longbench_tasks: [{', '.join(reversed(BEAMS))}]}}}}
"""
WORDS = "the grass is green and the sky was blue when {seven} of them met in Paris; return x + 1, he said".split()


def text(source, words):
    return " ".join(source.choice(WORDS) + source.choice(["", "", "", ".", "\n"]) for _ in range(words))


def half(task, said):
    """An answer that has something of what the model says, so that its score is neither all nor nothing."""
    if task in {"passage_count", "passage_retrieval_en"}:
        numbers = re.findall(r"\d+", said)
        return ("Paragraph " if task == "passage_retrieval_en" else "") + (numbers[0] if numbers else "3")
    if task == "trec":
        return said.lstrip("\n").split("\n")[0][:4]
    return " ".join(said.split()[::2] + ["else"])


def benchmark(folder, decoder, tokenizer):
    """The files, and the scores that are expected with so many beams."""
    source = random.Random(5)
    folder.mkdir()
    expected = {}
    for task in TASKS:
        samples = []
        for number in range(SAMPLES):
            sample = {"input": text(source, 12), "context": text(source, source.choice([20, 400])), "length": 420, "dataset": task,
                      "language": "en", "all_classes": None, "_id": f"{task}-{number}"}
            said = {beams: reference.prediction(decoder, tokenizer, task, sample, WINDOW, beams)
                    for beams in ([1, 3] if task in BEAMS and number == 0 else [1])}
            sample["answers"] = [half(task, one) for one in said.values()]
            if task == "trec":
                others = [one.lstrip("\n").split("\n")[0][4:6] for one in said.values()]
                sample["all_classes"] = ["Number", *sample["answers"], *(one[:2] for one in sample["answers"]), *others]
            samples.append(sample)
            for beams, one in said.items():
                expected.setdefault((task, beams), []).append(reference.score(task, one, sample))
        (folder / f"{task}.jsonl").write_text("".join(json.dumps(sample) + "\n" for sample in samples))
    return {at: sum(scores) / len(scores) for at, scores in expected.items()}


def factors(tokenizer):
    """Words, blanks and digits come more often than parts of words, so that there is something to score."""
    begins = {one: tokenizer.decode([tokenizer.encode("x")[-1], one])[1:] for one in range(259, tokenizer.vocabulary)}
    digits = {tokenizer.encode(f"1{digit}")[-1]: 2.5 for digit in range(10)}
    return {one: 2.2 for one, text in begins.items() if text.startswith(" ")} | digits


@pytest.fixture(scope="module")
def home():
    with harness.Home() as home:
        tokenizer = Program(TOKENIZER)
        decoder = reference.Decoder(tokenizer.vocabulary, factors(tokenizer))
        decoder.save(home.path / "model", TOKENIZER)
        home.expected = benchmark(home.path / "LongBench", decoder, tokenizer)
        (home.path / "LongBench/vcsum.jsonl").write_text("in Chinese\n")
        (home.path / "LongBench/qasper_e.jsonl").write_text("of LongBench-E\n")
        (home.path / "text").write_text("a text that is long enough for a window of tokens " * 4)
        imported(home, "model", home.path / "model", "--name", "tiny", "--nope")
        imported(home, "tokens", "--test", home.path / "text", "--tokenizer", "tiny", "--name", "corpus")
        home.told = imported(home, "longbench", home.path / "LongBench", "--name", "bench")
        (home.path / "bench.yaml").write_text(SWEEP)
        yield home


@pytest.fixture(scope="module")
def measured(home):
    ended = run_cli(home, "run", home.path / "bench.yaml", "--store", home.path / "bench.db", "--threads", "1")
    assert ended.code == 0, ended
    return home.path / "bench.db"


def test_published_files_are_imported_as_they_are(home):
    assert home.told["contents"] == f"{len(TASKS) * SAMPLES} samples of {len(TASKS)} tasks"
    assert home.told["skipped"] == ["qasper_e.jsonl: of LongBench-E", "vcsum.jsonl: in Chinese"]
    there = home.path / "share/longreach/data/bench"
    assert (there / "lcc.jsonl").read_bytes() == (home.path / "LongBench/lcc.jsonl").read_bytes()
    assert run_cli(home, "data", "check", "bench").code == 0


def test_scores_are_those_of_another_program(home, measured):
    for system, beams, tasks in [("greedy", 1, TASKS), ("beams", 3, BEAMS)]:
        stored = dict(query(measured, "SELECT m.slice, m.value FROM measurements AS m JOIN jobs AS j ON j.num = m.job "
                                      "WHERE m.metric = 'longbench' AND m.length = 0 AND j.spec LIKE ?", f"%longbench_beams={beams}\n%"))
        expected = {f"longbench_task={task}": home.expected[task, beams] for task in tasks}
        expected[""] = sum(expected.values()) / len(tasks)
        assert stored == pytest.approx(expected, abs=1e-9), system
        # A check of nothing but zeros and ones would be none.
        assert sum(0 < value < 1 for value in stored.values()) > len(tasks) // 2, stored


def test_tables_show_per_cent(home, measured):
    table = run_cli(home, "results", "bench", "--store", measured, "--rows", "system", "--columns", "longbench_task", "--metric", "longbench",
                    "-o", "json").json()
    rows, columns = ([one["key"] for one in table[axis]] for axis in ("rows", "columns"))
    assert rows == ["beams", "greedy"] and sorted(columns) == sorted(TASKS)
    beams, greedy = (table["cells"][row * len(columns) + columns.index("samsum")]["measured"] for row in range(2))
    assert (greedy, beams) == pytest.approx((100 * home.expected["samsum", 1], 100 * home.expected["samsum", 3]))


def test_a_worker_killed_in_the_middle_changes_no_bit(home, measured):
    scheduler = Scheduler(home, "--lease-term-s", "3", "--renew-every-s", "1", store="killed.db")
    assert run_cli(home, "submit", home.path / "bench.yaml", scheduler=scheduler).code == 0
    kill_in_the_middle(home, scheduler, "--checkpoint-every-s", "0.01")
    Worker(home, scheduler, threads=2)
    waited = run_cli(home, "wait", "last", scheduler=scheduler)
    assert waited.code == 0, waited
    assert results(scheduler.store) == results(measured)
    scheduler.kill()


def test_jobs_go_to_workers_that_have_the_tasks_too(home, measured, tmp_path):
    source, there = home.path / "share/longreach/data", tmp_path / "data"
    for name in ("corpus", "tiny"):
        shutil.copytree(source / name, there / name)
    scheduler = Scheduler(home, store="three.db")
    Worker(home, scheduler, "--data-folder", there, name="without")
    assert run_cli(home, "submit", home.path / "bench.yaml", scheduler=scheduler).code == 0
    (job,) = query(scheduler.store, "SELECT id FROM jobs")[0]
    until(lambda: "'without' has no data set 'bench'" in run_cli(home, "explain", job, scheduler=scheduler).out, "the worker is unable")
    scheduler.kill()


def run_one(home, tests="", folder="tiny", bench="bench"):
    (home.path / "one.yaml").write_text(SWEEP.split("systems:")[0].replace("folder: tiny", f"folder: {folder}")
                                        + f"evaluation: {{lengths: 16, longbench: {bench}, longbench_window: {WINDOW}{tests}}}\n")
    return run_cli(home, "run", home.path / "one.yaml", "--store", home.path / "refused.db", "--threads", "1")


@pytest.mark.parametrize("tests, said", [
    (", longbench_tasks: [qaspr]", "did you mean 'qasper'?"),
    (", longbench_beams: 0", "evaluation.longbench_beams: 0 is below 1"),
])
def test_what_cannot_be_is_refused_at_once(home, tests, said):
    ended = run_one(home, tests)
    assert ended.code == 2 and said in ended.err, ended


def test_what_a_machine_cannot_do_is_said_before_anything_is_computed(home):
    source = home.path / "share/longreach/data"
    (home.path / "few").mkdir()
    shutil.copy(home.path / "LongBench/lcc.jsonl", home.path / "few")
    imported(home, "longbench", home.path / "few", "--name", "few")
    shutil.copytree(home.path / "model", home.path / "wordless")
    (home.path / "wordless/tokenizer.model").unlink()
    imported(home, "model", home.path / "wordless", "--name", "wordless", "--nope")
    assert (source / "wordless/config.json").exists()
    for change, code, said in [({"bench": "few", "tests": ", longbench_tasks: [trec, lcc]"}, 2, "the data set 'few' has no trec; ask for those that it has"),
                               ({"bench": "few"}, 2, "the data set 'few' has no "),
                               ({"folder": "wordless"}, 2, "model.folder: the model 'wordless' was imported without tokenizer.model")]:
        ended = run_one(home, **change)
        assert ended.code == code and ended.err.startswith("error: ") and said in ended.err and "nothing was submitted" in ended.err, ended
        assert list(home.path.glob("refused.db*")) == [], "no store was made for it"
    ended = run_one(home, tests=", longbench_tasks: [lcc]", bench="few")
    assert ended.code == 0, ended

    # Where the worker is elsewhere, the job says it.
    scheduler = Scheduler(home, store="elsewhere.db")
    Worker(home, scheduler)
    (home.path / "elsewhere.yaml").write_text((home.path / "one.yaml").read_text().replace("[lcc]", "[trec, lcc]"))
    assert run_cli(home, "submit", home.path / "elsewhere.yaml", scheduler=scheduler).code == 0
    assert run_cli(home, "wait", "last", scheduler=scheduler).code == 1
    ((failure, attempts),) = query(scheduler.store, "SELECT failure, (SELECT count(*) FROM attempts) FROM jobs")
    assert failure.startswith("refused, as any worker would: evaluation.longbench_tasks: the data set 'few' has no trec; ask for those that it has"), failure
    assert attempts == 1, "it cannot pass"
    (home.path / "elsewhere.yaml").write_text((home.path / "one.yaml").read_text().replace("folder: tiny", "folder: wordless"))
    assert run_cli(home, "submit", home.path / "elsewhere.yaml", scheduler=scheduler).code == 0
    assert run_cli(home, "wait", "last", scheduler=scheduler).code == 1
    failures = query(scheduler.store, "SELECT failure, failures FROM jobs WHERE failure LIKE '%wordless%'")
    assert [(failure.split("'")[0], count) for failure, count in failures] == [("refused, as any worker would: model.folder: the model ", 1)]
    assert not query(scheduler.store, "SELECT 1 FROM measurements")
    scheduler.kill()


def test_files_that_are_not_as_published_are_refused(home):
    folder = home.path / "bad"
    good = json.loads((home.path / "LongBench/qasper.jsonl").read_text().split("\n")[0])

    def told(name, *lines):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / name).write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
        return refused(home, "longbench", folder, "--name", "bad")

    def without(field):
        return {key: value for key, value in good.items() if key != field}

    for field, kind in [("input", "text"), ("context", "text"), ("answers", "list of texts")]:
        assert f"qasper.jsonl:3: has no {kind} '{field}'" in told("qasper.jsonl", good, "", without(field))
    assert "qasper.jsonl:1: has no list of texts 'answers'" in told("qasper.jsonl", {**good, "answers": []})
    assert "trec.jsonl: sample 1: has no list of texts 'all_classes'" in told("trec.jsonl", {**good, "dataset": "trec"})
    assert "qasper.jsonl:2: not a JSON object" in told("qasper.jsonl", good, json.dumps(good)[:-9])
    assert "qasper.jsonl has no sample in it" in told("qasper.jsonl")
    assert "is of the task 'qasper'; the file has another one's name" in told("lcc.jsonl", good)
    assert "qaspr.jsonl is no task of LongBench" in told("qaspr.jsonl", good)
    assert "there is no file of a task in" in told("README.md", "LongBench")
    shutil.rmtree(folder)
    assert "No such file" in refused(home, "longbench", folder, "--name", "bad")
    assert "already" in refused(home, "longbench", home.path / "LongBench", "--name", "bench")
