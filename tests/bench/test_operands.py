"""What docs/benchmarks/operands.py makes of runs: made-up ones, whose answer is known."""
import argparse
import json
import pathlib
import random
import sqlite3
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "docs/benchmarks"))
import operands  # noqa: E402

CELLS = [(task, encoding) for task in ("bucket_sort", "even_pairs", "reverse_string") for encoding in ("log_kerple", "rope:randomized")]


def made_up(shift, seeds=3, noise=0.02):
    """Runs of two engines: float32's differ by seed, the others by `shift` and by noise of their own."""
    source = random.Random(7)
    runs = []
    for task, encoding in CELLS:
        for seed in range(seeds):
            luck = source.gauss(0, 0.05)
            for engine in ("lanes", "lanes-bf16"):
                extra = shift + source.gauss(0, noise) if engine == "lanes-bf16" else 0.0
                runs.append({"engine": engine, "trained_by": engine.replace("lanes", "lanes-avx512"), "task": task, "encoding": encoding,
                             "seed": seed, "loss": [2.0 / (i + 1) * (1 + luck) for i in range(operands.BINS)],
                             "accuracy": {str(length): 0.7 + luck + extra for length in (5, 10, 20)}})
    return runs


def result_of(runs):
    return {"date": "2026-11-22", "machine": "a machine", "engines": ["lanes", "lanes-bf16"], "steps": 3000, "runs": runs}


def test_noise_is_no_difference_and_a_shift_is_one():
    noise = operands.summary(operands.by_cell(made_up(0.0)), "lanes-bf16", operands.score)
    shifted = operands.summary(operands.by_cell(made_up(-0.05)), "lanes-bf16", operands.score)

    assert noise["pairs"] == shifted["pairs"] == 18
    assert abs(noise["mean"]) < 2 * noise["error"] and noise["p"] > 0.05
    assert shifted["mean"] == pytest.approx(-0.05, abs=0.01)
    assert shifted["p"] < 0.001
    assert shifted["spread"] == pytest.approx(0.05, abs=0.02)  # That of float32 alone.


def test_pairs_are_of_one_seed():
    """Differences leave out what a seed does to both, so their error is far below the spread over seeds."""
    of = operands.summary(operands.by_cell(made_up(0.0, noise=0.001)), "lanes-bf16", operands.score)

    assert of["error"] < of["spread"] / 50


def test_signs_are_flipped_exactly():
    assert operands.sign_flip_p([1.0, 1.0, 1.0]) == 2 / 8
    assert operands.sign_flip_p([1.0, -1.0]) == 1.0
    assert operands.sign_flip_p([3.0, 1.0]) == 2 / 4
    assert operands.sign_flip_p([0.1] * 24) < 1e-3  # Too many to go through.


def test_points_agree_as_in_learning_curves():
    assert operands.agreeing(operands.by_cell(made_up(0.0)), "lanes-bf16") == [120, 120, 18, 18]

    apart = operands.agreeing(operands.by_cell(made_up(-0.5)), "lanes-bf16")

    assert apart == [120, 120, 0, 18]


def test_a_seed_that_an_engine_lacks_is_left_out_for_all():
    runs = [run for run in made_up(0.0) if not (run["engine"] == "lanes-bf16" and run["seed"] == 2 and run["task"] == "even_pairs")]

    cells = operands.by_cell(runs)

    assert list(cells["even_pairs", "log_kerple"]["lanes"]) == [0, 1]
    assert list(cells["bucket_sort", "log_kerple"]["lanes"]) == [0, 1, 2]


def test_the_last_loss_is_a_logarithm_of_the_last_parts():
    assert operands.final_loss({"loss": [9.0] * 15 + [1.0] * 5}) == 0.0
    assert operands.final_loss({"loss": [1.0] * 15 + [0.0] * 5}) < -18


def test_tables_have_every_cell_and_go_onto_the_page():
    text = operands.tables(result_of(made_up(-0.05)))
    page = operands.page_text(f"# Before\n{operands.BEGIN}\nold\n{operands.END}\nafter\n", text)

    assert page.startswith(f"# Before\n{operands.BEGIN}\n\n2026-11-22, a machine. 6 cells, 3 seeds, 3000 updates each.")
    assert page.endswith("\nafter\n")
    assert "| lanes-bf16 | 18 | -0.0" in text and "lanes-bf16 = lanes-avx512-bf16" in text
    for task, encoding in CELLS:
        assert text.count(f"| {task} | {encoding} |") == 4  # Score, loss, and a line of lengths for each of two engines.
    with pytest.raises(SystemExit, match="no lines"):
        operands.page_text("# Nothing\n", text)
    with pytest.raises(SystemExit, match="at least two seeds"):
        operands.tables(result_of(made_up(0.0, seeds=1)))


def test_an_engine_is_known_by_what_was_recorded():
    assert operands.is_engine("lanes-avx512", "lanes") and operands.is_engine("lanes-avx2-bf16", "lanes-bf16")
    assert operands.is_engine("lanes-avx2", "lanes-avx2")
    assert not operands.is_engine("lanes-avx512", "lanes-bf16") and not operands.is_engine("lanes-avx512-bf16", "lanes")
    assert not operands.is_engine("libtorch", "lanes") and not operands.is_engine("lanes-avx512-tf32", "lanes-bf16")


STORE = """
CREATE TABLE jobs(num INTEGER PRIMARY KEY, task TEXT, encoding TEXT, randomized INTEGER, seed INTEGER, state TEXT, steps INTEGER, attempt INTEGER);
CREATE TABLE attempts(id INTEGER PRIMARY KEY, engine TEXT);
CREATE TABLE progress(job INTEGER, step INTEGER, loss REAL);
CREATE TABLE measurements(job INTEGER, metric TEXT, length INTEGER, slice TEXT, value REAL);
"""


def make_store(path, trained_by):
    connection = sqlite3.connect(path)
    connection.executescript(STORE)
    connection.execute("INSERT INTO attempts VALUES (5, ?)", (trained_by,))
    connection.execute("INSERT INTO jobs VALUES (1, 'even_pairs', 'rope', 1, 4, 'succeeded', 40, 5)")
    connection.executemany("INSERT INTO progress VALUES (1, ?, ?)", [(step, float(step % 2)) for step in range(1, 41)])
    connection.executemany("INSERT INTO measurements VALUES (1, 'accuracy', ?, '', ?)", [(0, 0.6), (5, 0.75), (10, 0.5)])
    connection.commit()
    connection.close()


def test_runs_are_read_from_stores_that_the_right_engine_made(tmp_path):
    make_store(tmp_path / "lanes-bf16.db", "lanes-avx512-bf16")

    assert operands.read_runs(tmp_path, "lanes-bf16") == [
        {"engine": "lanes-bf16", "trained_by": "lanes-avx512-bf16", "task": "even_pairs", "encoding": "rope:randomized", "seed": 4,
         "loss": [0.5] * operands.BINS, "accuracy": {"5": 0.75, "10": 0.5}}]

    (tmp_path / "lanes-bf16.db").rename(tmp_path / "lanes-tf32.db")
    with pytest.raises(SystemExit, match="trained by lanes-avx512-bf16, not by lanes-tf32"):
        operands.read_runs(tmp_path, "lanes-tf32")


def options_of(tmp_path, **changes):
    return argparse.Namespace(**{"folder": tmp_path, "bin": tmp_path, "sweep": tmp_path / "sweep.yaml", "engines": ["lanes", "lanes-bf16"],
                                 "seeds": 3, "minutes": 30.0, "threads": 0, "set": ["training.steps=20"], **changes})


def calls_of(tmp_path, **changes):
    script = tmp_path / "longreach"
    script.write_text(f"#!{sys.executable}\nimport json, sys\nopen({str(tmp_path / 'calls')!r}, 'a').write(json.dumps(sys.argv[1:]) + '\\n')\n")
    script.chmod(0o755)
    operands.train(options_of(tmp_path, **changes))
    return [json.loads(line) for line in (tmp_path / "calls").read_text().splitlines()]


def test_engines_take_turns_with_a_store_each_and_the_same_seeds(tmp_path):
    calls = calls_of(tmp_path, seeds=2)

    assert [(call[call.index("--engine") + 1], call[call.index("--set") + 1]) for call in calls] == [
        ("lanes", "seed=0"), ("lanes-bf16", "seed=0"), ("lanes", "seed=1"), ("lanes-bf16", "seed=1")]
    assert [pathlib.Path(call[call.index("--store") + 1]).name for call in calls] == ["lanes.db", "lanes-bf16.db"] * 2
    assert all("training.data_seed=1" in call and "evaluation.seed=1" in call and "training.steps=20" in call for call in calls[2:])


def test_a_seed_that_does_not_fit_is_not_begun(tmp_path, capsys):
    assert len(calls_of(tmp_path, minutes=0.0)) == 2

    assert "no time for seed 1" in capsys.readouterr().out
