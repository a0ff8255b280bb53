"""Figures of a real sweep, drawn by the real vl-convert-python."""
import json
import os
import re
import signal
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


def plot(home, monkeypatch, file, *arguments):
    # The Python of these tests has the package.
    environment = home.environment()
    monkeypatch.setattr(home, "environment", lambda: {**environment, "LONGREACH_PYTHON": sys.executable})
    ended = run_cli(home, "plot", "curves", "--store", home.path / "curves.db", "--file", home.path / file, *arguments)
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
