"""What `longreach-worker bench` prints: for people, and for programs."""
import json

import pytest

import harness
from harness import BIN, run

pytestmark = harness.needs_worker


def bench(home, *arguments):
    ended = run(home, BIN / "longreach-worker", "bench", "--task", "even_pairs", "--encoding", "log_kerple", "--seconds", "0.1", *arguments)
    assert ended.code == 0, ended
    return ended.out


def test_the_hours_of_table_b1_are_those_of_its_flop_at_the_papers_batch(home):
    figures = json.loads(bench(home, "--lengths", "1", "-o", "json"))
    assert figures["table_b1_hours"] * 3600 * figures["gflops"] * 1e9 == pytest.approx(1.317e19, rel=1e-3)
    assert "table_b1_hours" not in json.loads(bench(home, "--lengths", "1", "--batch", "2", "-o", "json"))
    assert "hours for the 945 jobs of Table B.1" in bench(home, "--lengths", "1")


@pytest.mark.parametrize("engine", ["emulated-bf16", "emulated-fp16"])
def test_an_engine_that_knows_tells_its_phases_and_bytes(home, engine):
    arguments = ["--engine", engine, "--batch", "1", "--lengths", "1"]
    figures = json.loads(bench(home, *arguments, "-o", "json"))
    assert len(figures["phases"]) == 8 and abs(sum(one["share"] for one in figures["phases"]) - 1) < 1e-9
    assert figures["gigabytes_per_second"] > 0 and figures["copy_peak_gigabytes_per_second"] > 0
    text = bench(home, *arguments)
    for phase in figures["phases"]:
        assert f"% {phase['phase']}\n" in text
    assert "phases" not in json.loads(bench(home, "--engine", "libtorch", "--batch", "1", "--lengths", "1", "-o", "json"))
