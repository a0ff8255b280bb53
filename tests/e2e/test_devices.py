"""What `longreach-worker devices` says of this machine, beside what training takes there."""
import json

import harness
from harness import BIN, run

pytestmark = harness.needs_worker


def devices(home, *arguments):
    return run(home, BIN / "longreach-worker", "devices", *arguments)


def test_the_engine_of_the_processor_is_what_training_takes(home):
    seen = devices(home, "-o", "json")
    assert seen.code == 0, seen
    cpu = seen.json()["cpu"]
    bench = run(home, BIN / "longreach-worker", "bench", "--task", "even_pairs", "--encoding", "rope", "--lengths", "1", "--batch", "1", "--seconds", "0.05", "-o", "json")
    assert bench.code == 0, bench
    assert cpu["engine"] == json.loads(bench.out)["engine"]
    assert cpu["engine"] in cpu["engines"] and cpu["problem"] == "" and cpu["threads"] >= 1
    assert cpu["instruction_sets"][0] == "portable"
    text = devices(home)
    assert text.code == 0 and f"engine {cpu['engine']}\n" in text.out, text


def test_there_are_gpus_or_a_reason_why_there_are_none(home):
    seen = devices(home, "-o", "json").json()
    assert bool(seen["gpus"]) != bool(seen["no_gpu"]), seen
    with harness.variables(CUDA_VISIBLE_DEVICES=""):
        hidden = devices(home, "-o", "json").json()
        assert hidden["gpus"] == [] and hidden["no_gpu"] and hidden["visible_devices"] == "", hidden
        assert f"no GPU: {hidden['no_gpu']}\nCUDA_VISIBLE_DEVICES is ''\n" in devices(home).out.replace(f"NVIDIA driver {hidden['driver']['version']}\n", "")


def test_an_answer_that_does_not_reach_its_file_whole_is_no_success(home):
    for words in (["devices"], ["devices", "-o", "json"], ["data", "list", "-o", "json"], ["bench", "--task", "even_pairs", "--encoding", "rope", "--lengths", "1", "--batch", "1", "--seconds", "0.05"]):
        full = run(home, "sh", "-c", 'exec "$0" "$@" >/dev/full', BIN / "longreach-worker", *words)
        assert full.code == 1 and "error: cannot write all of the answer to standard output" in full.err, (words, full)


def test_a_slip_is_a_usage_error(home):
    refused = devices(home, "-o", "yaml")
    assert refused.code == 2 and "'longreach-worker devices --help'" in refused.err, refused
