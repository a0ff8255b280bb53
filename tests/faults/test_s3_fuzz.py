"""S3: parsers and handlers take any bytes: no crash, no hang, bounded memory, under ASan and UBSan.

In the short form each target of tests/fuzz replays its corpus and some thousand changed inputs; in the full form it runs as
libFuzzer's program of build/fuzz (`make faults` builds it), two at a time, and the lines that it reached are counted."""
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess

import pytest

import harness

CORPUS = harness.ROOT / "tests/fuzz/corpus"
LIBFUZZER = harness.ROOT / "build/fuzz/fuzz"
SECONDS_OF_AN_INPUT = 1.0
MEGABYTES = 256
LINES_PERCENT = 90
# Target -> the parser whose lines it must reach.
TARGETS = {
    "calls": ["scheduler/service/calls.cc", "scheduler/service/check_call.cc", "scheduler/service/synchronize.cc"],
    "canonical": ["proto/types/canonical.cc"],
    "dashboard": ["client/dashboard/admission.cc", "client/dashboard/questions.cc", "client/dashboard/url.cc"],
    "output": ["client/output/grid.cc", "client/output/results_table.cc"],
    "override": ["client/spec/field_parser.cc"],
    "pipe": ["worker/agent/pipe.cc"],
    "results": ["scheduler/service/results_table.cc", "scheduler/service/query_table.cc"],
    "safetensors": ["proto/base/safetensors.cc", "worker/trainer/checkpoint/member_checkpoint.cc", "worker/trainer/checkpoint/safetensors.cc"],
    "sweep_file": ["client/spec/field_places.cc", "client/spec/meant_field.cc", "client/spec/spec_reader.cc", "client/spec/yaml_tree.cc"],
}
ENVIRONMENT = {**os.environ, "ASAN_OPTIONS": "quarantine_size_mb=8:detect_stack_use_after_return=1", "UBSAN_OPTIONS": "print_stacktrace=1"}


def _environment(folder, profile):
    return {**ENVIRONMENT, "TMPDIR": "/dev/shm" if pathlib.Path("/dev/shm").is_dir() else str(folder), "LLVM_PROFILE_FILE": str(folder / profile)}


def replay(target, folder, changed):
    program = harness.BIN.parent / "fuzz" / f"fuzz_{target}"
    assert program.exists(), f"no {program}: build everything, as `make test` does"
    command = [program, CORPUS / target, "--changed", str(changed), "--seed", "1"]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=harness.PATIENCE_S * 2, env=_environment(folder, "unused"))
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}\n{done.stderr[-4000:]}"
    inputs = re.match(r"(\d+) inputs of the corpus and (\d+) changed ones", done.stdout)
    return int(inputs[1]) + int(inputs[2])


@pytest.mark.fault("S3", aim="each target of tests/fuzz replays its corpus and changed inputs: no crash")
def test_targets_replay_their_corpus(tmp_path, fault):
    changed = fault.size(short=300, full=3000, long=30_000)
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        ran = dict(zip(TARGETS, threads.map(lambda target: replay(target, tmp_path, changed), TARGETS)))
    fault.reached(f"{len(ran)} targets, {sum(ran.values()):,} inputs, 0 crashes")


def seconds_alone(target, unit, folder):
    """The processor time of one input; a busy machine does not make it longer."""
    def once():
        process = subprocess.Popen(["prlimit", "--cpu=20", LIBFUZZER / f"fuzz_{target}", unit], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, env=_environment(folder, "unused"))
        _, _, usage = os.wait4(process.pid, 0)
        process.returncode = 0
        return usage.ru_utime + usage.ru_stime
    return min(once() for _ in range(3))


def fuzz(target, folder, seconds):
    folder.mkdir()
    found, artifacts = folder / "found", folder / "artifacts"
    found.mkdir()
    artifacts.mkdir()
    program = LIBFUZZER / f"fuzz_{target}"
    assert program.exists(), f"no {program}: `make faults` builds it"
    # Linux counts what a process was before its exec, here this Python, to its largest size. A shell in between leaves that behind.
    done = subprocess.run(["sh", "-c", '"$@"; exit $?', "fuzz", program, f"-max_total_time={seconds}", "-timeout=20", "-report_slow_units=1",
                           f"-rss_limit_mb={MEGABYTES}", "-max_len=4096", "-print_final_stats=1", f"-artifact_prefix={artifacts}/", found, CORPUS / target],
                          capture_output=True, text=True, errors="replace", env=_environment(folder, "fuzz.profraw"), timeout=seconds + 600)
    slow = [unit for unit in artifacts.iterdir() if unit.name.startswith("slow-unit-")]
    hangs = {unit.name: took for unit in slow if (took := seconds_alone(target, unit, folder)) > SECONDS_OF_AN_INPUT}
    assert not hangs, f"{target}: inputs that take longer than {SECONDS_OF_AN_INPUT} s: {hangs}, in {artifacts}"
    assert done.returncode == 0, f"{target}: {[unit.name for unit in artifacts.iterdir()]} in {artifacts}\n{done.stderr[-6000:]}"
    stats = dict(re.findall(r"stat::(\w+):\s+(\d+)", done.stderr))
    return int(stats["number_of_executed_units"]), int(stats["peak_rss_mb"]), reached(target, folder, found)


def reached(target, folder, found):
    """Lines of the target's parsers that the corpus and what was found reach, in percent."""
    program = LIBFUZZER / f"fuzz_{target}"
    subprocess.run([program, "-runs=0", "-max_len=4096", found, CORPUS / target], check=True, capture_output=True, env=_environment(folder, "lines.profraw"))
    subprocess.run(["llvm-profdata", "merge", folder / "lines.profraw", "-o", folder / "lines.profdata"], check=True)
    exported = subprocess.run(["llvm-cov", "export", "-summary-only", f"-instr-profile={folder / 'lines.profdata'}", program], check=True, capture_output=True)
    lines = {os.path.normpath(file["filename"]): file["summary"]["lines"] for file in json.loads(exported.stdout)["data"][0]["files"]}
    of_parser = [lines[str(harness.ROOT / source)] for source in TARGETS[target]]
    return 100 * sum(one["covered"] for one in of_parser) / sum(one["count"] for one in of_parser)


@pytest.mark.fault("S3", aim=f"60 s a target: no crash, no input over 1 s, under {MEGABYTES} MB, over {LINES_PERCENT} % of each parser's lines")
def test_targets_take_any_bytes(tmp_path, fault):
    if fault.form == "short":
        pytest.skip("libFuzzer runs in the full form")
    seconds = fault.size(short=0, full=60, long=3600)
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        ended = dict(zip(TARGETS, threads.map(lambda target: fuzz(target, tmp_path / target, seconds), TARGETS)))
    for target, (executions, megabytes, lines) in ended.items():
        fault.reached(f"{target}: {seconds} s, {executions:,} executions, {megabytes} MB, {lines:.0f} % of {len(TARGETS[target])} files' lines")
    low = {target: round(lines, 1) for target, (_, _, lines) in ended.items() if lines <= LINES_PERCENT}
    assert not low, f"lines reached, in percent: {low}"
