"""Figures of a real sweep, drawn by the real vl-convert-python."""
import csv
import io
import json
import os
import re
import signal
import statistics
import subprocess
import sys

import pytest

import harness
from harness import run_cli

pytestmark = harness.needs_worker

SWEEP = """
name: curves
experiment: algorithmic
axes:
  task: [even_pairs, bucket_sort]
  encoding: [rope, "rope:randomized"]
  learning_rate: 1e-3
  seed: 0..1
model: {layers: 1, embedding_dim: 16, heads: 2, mlp_dim: 16}
training: {steps: 2, batch_size: 4, lengths: 1..5}
evaluation: {lengths: [6, 9, 12], examples: 8}
"""


@pytest.fixture(scope="module")
def home():
    with harness.Home() as home:
        (home.path / "curves.yaml").write_text(SWEEP)
        ended = run_cli(home, "run", "./curves.yaml", "--store", home.path / "curves.db")
        assert ended.code == 0, ended
        yield home


def plot(home, monkeypatch, file, *arguments, sweep="curves", store="curves.db"):
    # The Python of these tests has the package.
    environment = home.environment()
    monkeypatch.setattr(home, "environment", lambda: {**environment, "LONGREACH_PYTHON": sys.executable})
    ended = run_cli(home, "plot", sweep, "--store", home.path / store, "--file", home.path / file, *arguments)
    assert ended.code == 0, ended
    return (home.path / file).read_bytes()


def test_every_measured_cell_is_a_point_of_the_specification(home, monkeypatch):
    spec = json.loads(plot(home, monkeypatch, "curves.vl.json"))
    ended = run_cli(home, "results", "curves", "--store", home.path / "curves.db", "--rows", "encoding", "--columns", "length",
                    "--aggregate", "mean", "--only", "task=bucket_sort", "-o", "json")
    assert ended.code == 0, ended
    table = json.loads(ended.out)
    expected = {}
    for index, cell in enumerate(table["cells"]):
        row, column = divmod(index, len(table["columns"]))
        expected[table["rows"][row]["label"], int(table["columns"][column]["key"])] = cell["measured"]
    drawn = {(value["line"], value["x"]): value["y"] for value in spec["data"]["values"] if value["panel"] == "Bucket Sort"}
    assert len(expected) == 6
    assert drawn == pytest.approx(expected)
    assert len(spec["data"]["values"]) == 12
    assert {value["positions"] for value in spec["data"]["values"]} == {"plain", "randomized"}
    # Trained on lengths up to 5.
    assert spec["spec"]["layer"][-1]["encoding"]["x"]["datum"] == 5


def test_lines_at_the_best_learning_rate_are_each_of_one(home, monkeypatch):
    ended = run_cli(home, "run", "./curves.yaml", "--set", "name=rates", "--set", "task=bucket_sort", "--set", "learning_rate=1e-4,1e-3,1e-2", "--set", "training.steps=20",
                    "--store", home.path / "rates.db")
    assert ended.code == 0, ended
    jobs = run_cli(home, "results", "rates", "--store", home.path / "rates.db", "--jobs", "--metric", "accuracy", "-o", "csv")
    values = {}
    for row in csv.DictReader(io.StringIO(jobs.out)):
        values.setdefault((row["encoding"].endswith(":randomized"), float(row["learning_rate"])), {}).setdefault(int(row["length"]), []).append(100 * float(row["value"]))
    means = {line: {length: statistics.mean(of_seeds) for length, of_seeds in lengths.items()} for line, lengths in values.items()}
    assert len(means) == 6 and all(len(of_seeds) == 2 for lengths in values.values() for of_seeds in lengths.values())

    drawn = plot(home, monkeypatch, "best.vl.json", "--best-of", "learning_rate", sweep="rates", store="rates.db")
    spec = json.loads(drawn)
    points = {}
    for value in spec["data"]["values"]:
        points.setdefault((value["positions"] == "randomized", float(value["best_of"])), {})[value["x"]] = value["y"]
    assert len(points) == 2, "a rate for each line"
    for (randomized, rate), of_line in points.items():
        assert of_line == pytest.approx({length: means[randomized, rate][length] for length in (6, 9, 12)})
        assert means[randomized, rate][0] == pytest.approx(max(of_rate[0] for (other, _), of_rate in means.items() if other == randomized))
    assert "mean over seeds at the best learning rate" in spec["title"]["subtitle"][0]
    assert spec["title"]["subtitle"][1].startswith("learning_rate chosen for each line by its mean over all test lengths: ")


def test_pictures_show_it(home, monkeypatch):
    svg = plot(home, monkeypatch, "curves.svg", "--title", "<curves> & more").decode()
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", svg)
    assert {"&lt;curves&gt; &amp; more", "Even Pairs", "Bucket Sort", "RoPE", "randomized", "length", "accuracy (%)"} <= set(texts), texts
    png = plot(home, monkeypatch, "curves.png", "--panels", "none", "--lines", "task", "--x", "seed")
    assert png.startswith(b"\x89PNG\r\n")
    assert plot(home, monkeypatch, "rates.pdf", "--only", "task=even_pairs", "--only", "seed=1").startswith(b"%PDF")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_figure_that_is_given_up_leaves_nothing(home, tmp_path, number):
    """The Python that draws ends too, and what it was given is removed."""
    begun, temporary = tmp_path / "begun", tmp_path / "temporary"
    temporary.mkdir()
    python = tmp_path / "python3"
    python.write_text(f"#!/bin/sh\necho $$ > {begun}.new; mv {begun}.new {begun}; exec sleep 600\n")
    python.chmod(0o755)
    environment = {**home.environment(), "LONGREACH_PYTHON": str(python), "TMPDIR": str(temporary)}
    drawing = subprocess.Popen([harness.BIN / "longreach", "plot", "curves", "--store", home.path / "curves.db", "--file", tmp_path / "a.png"],
                               env=environment, cwd=home.path, start_new_session=True)
    harness.until(begun.exists, "the figure is being drawn")
    drawing.send_signal(number)
    assert drawing.wait(harness.PATIENCE_S) == 128 + number
    assert list(temporary.iterdir()) == [] and not (tmp_path / "a.png").exists()
    with pytest.raises(ProcessLookupError):
        os.kill(int(begun.read_text()), 0)
