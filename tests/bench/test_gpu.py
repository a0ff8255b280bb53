"""The GPU's benchmark as a command: on a CPU in a GPU's place, and on made-up tools where a GPU would be."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest

from gpu import FORMS, stages
from harness import until

ROOT = pathlib.Path(__file__).resolve().parents[2]
ALL = [name for _, _, names in stages(FORMS["cuda"]) for name in names]
# Far above what anything here takes on a busy machine.
PATIENCE_S = 600

# 1,000 updates a second of any pack, 2,000 of those without a trained bias; LibTorch 100, and no memory for 126 members.
WORKER = """#!/bin/sh
while [ $# -gt 0 ]; do
  case $1 in --wait) waits=yes ;; --pack) pack=$2 ;; --task) tasks=$2 ;; --engine) engine=$2 ;; --device) device=$2 ;; --encoding) encoding=$2 ;; esac
  shift
done
[ "$device" = cuda ] || exit 3
if [ "$engine" = "$SLOW" ]; then echo $$ >"$STARTED"; while kill -0 $PPID; do sleep 0.1; done; fi
if [ -n "$waits" ]; then echo ready; read line; fi
updates=1000
case $encoding in sandwich*|shape) updates=2000 ;; esac
case $engine in resident*) ;; *) updates=100 ;; esac
rate=$((pack * updates))
packs=$(echo "$tasks" | sed 's/[^,]*/{"engine": "'$engine'", "updates_per_second": '$updates'}/g')
if [ $engine$pack = libtorch126 ]; then echo "error: CUDA out of memory" >&2; exit 1; fi
if [ -n "$CUDA_MPS_LOG_DIRECTORY" ] && [ -z "$BLIND" ]; then echo served >"$CUDA_MPS_LOG_DIRECTORY/server.log"; fi
if [ "$engine" = "$REFUSED" ]; then echo "resident: shared memory is too small" >&2; engine=libtorch; fi
echo '{"engine": "'$engine'", "job_steps_per_second": '$rate', "gflops": 1.0, "gemm_peak_gflops": 4.0, "ratio": 0.25, "packs": ['"$packs"']}'
"""
NVIDIA_SMI = """#!/bin/sh
[ -z "$BROKEN" ] || exit 9
for word; do case $word in --query-gpu=*) fields=${word#*=} ;; esac; done
case $fields in
  name) echo "${NAME:-A GPU}" ;;
  memory.total) echo 143771 ;;
  compute_mode) echo Default ;;
  mig.mode.current) echo "[N/A]" ;;
  clocks.sm,*) echo "1755, 650.5, 60, 97, 20000" ;;
  *) echo "Field is not a valid field to query."; exit 2 ;;
esac
"""
MPS = """#!/bin/sh
[ "$1" = -d ] && word=start || read word
[ $word = get_server_list ] || echo "$word $CUDA_MPS_PIPE_DIRECTORY" >>"$CALLS"
"""
# A program of googletest, as far as its report goes: OUTCOME (its, or that of all programs) is passed, failed, skipped, crashes or absent.
TEST = """#!/bin/sh
for word; do case $word in --gtest_output=json:*) report=${word#*json:} ;; esac; done
case ${OUTCOME:-%s} in
  failed) outcome='"result": "COMPLETED", "failures": [{"failure": "1 and 2"}]' ;;
  skipped) outcome='"result": "SKIPPED"' ;;
  crashes) kill -SEGV $$ ;;
  hangs) exec sleep 1000 ;;
  absent) echo "libgrpc++.so: cannot open shared object file" >&2; exit 127 ;;
  *) outcome='"result": "COMPLETED"' ;;
esac
echo '{"testsuites": [{"name": "%s", "testsuite": [{"name": "Computes", '"$outcome"'}, {"name": "Waits", "result": "SKIPPED"}]}]}' >"$report"
"""
# 200 updates a second of any number of models.
JAX = """#!/bin/sh
if [ "$1" = -c ]; then echo 0.10.2 0.0.17; exit; fi
while [ $# -gt 0 ]; do
  case $1 in --members) members=$2 ;; esac
  shift
done
while read what seconds length; do
  if [ "$members$length" = "$NO_MEMORY" ]; then echo "RESOURCE_EXHAUSTED: Out of memory" >&2; exit 1; fi
  echo '{"updates": 100, "job_steps": '$((100 * members))', "seconds": 0.5, "cpu_seconds": 0.1, "compile_seconds": 7.0, "device": "a GPU"}'
done
"""


class Place:
    """A folder with a page, a build and tools of a machine with a GPU, as far as the benchmark sees them."""

    def __init__(self, folder):
        self.folder = folder
        self.json, self.page, self.calls = folder / "gpu.json", folder / "gpu.md", folder / "calls"
        shutil.copy(ROOT / "docs/benchmarks/gpu.md", self.page)
        tools = {"bin/longreach-worker": WORKER, "bin/nvidia-smi": NVIDIA_SMI, "bin/nvidia-cuda-mps-control": MPS, "jax/bin/python": JAX}
        for name, text in tools.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
        (folder / "reference/experiments").mkdir(parents=True)
        (folder / "reference/experiments/training.py").touch()
        (folder / "build/tests").mkdir(parents=True)
        self.tests("passed")

    def tests(self, outcome, of_plugin=None, suite="ResidentGpuTest"):
        """What the build's tests of a GPU come to, and those of the plugin."""
        for name, suite, its in (("cuda_plugin_test", "CudaPluginTest", of_plugin or outcome), ("gpu_test", suite, outcome)):
            program = self.folder / "build/tests" / name
            program.write_text(TEST % (its, suite))
            program.chmod(0o755)

    def command(self, *arguments):
        return list(map(str, ["docs/benchmarks/gpu.sh", "--json", self.json, "--page", self.page, "--build", self.folder / "build", *arguments]))

    def environment(self, **environment):
        tools = {"PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "LONGREACH_BIN": self.folder / "bin", "CALLS": self.calls}
        there = {"CUDA_VISIBLE_DEVICES": "0", **tools, **environment}
        return {**os.environ, **{name: str(value) for name, value in there.items()}}

    def run(self, *arguments, **environment):
        return subprocess.run(self.command(*arguments), cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S,
                              env=self.environment(**environment))

    def run_beside_jax(self, *arguments, **environment):
        return self.run("--reference", self.folder / "reference", "--jax", self.folder / "jax", *arguments, **environment)

    def figures(self):
        return json.loads(self.json.read_text())


def measured(page, what):
    """The figure of an aim, and that it was reached."""
    return float(re.search(rf"\| {re.escape(what)} \| [^|]+ \| ([\d.]+)[ x]* \| yes \|", page)[1])


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


def test_runs_without_a_gpu_and_says_that_its_figures_mean_nothing(tmp_path):
    place = Place(tmp_path)

    done = place.run("--device", "cpu", "--minutes", "9", LONGREACH_BIN=os.environ.get("LONGREACH_BIN", ROOT / "build/release/bin"))

    assert done.returncode == 0, done.stderr
    expected = {"tests", "train/resident/even_pairs/2", "train/libtorch/duplicate_string/2", "mix/process/2", "packs/process/2", "spread/process/2",
                "encoding/power_kerple/2", "encoding/sandwich:randomized/2", "encoding/shape/2"}
    assert expected <= set(place.figures()["cells"]), done.stderr
    page = place.page.read_text()
    assert "the figures mean nothing" in page and "Not measured on a GPU" not in page and "| lanes" in page
    assert "`mix/mps/2`, `packs/mps/2`: MPS is for GPUs" in page
    assert "`reference/even_pairs/1`" in page and "neither --reference nor --jax were given" in page
    committed = (ROOT / "docs/benchmarks/gpu.md").read_text()
    assert page.split("## Measured")[0] == committed.split("## Measured")[0] and page.split("## What")[1] == committed.split("## What")[1]


def test_measures_every_cell_that_the_gpu_has_memory_for(place):
    done = place.run_beside_jax()

    assert done.returncode == 0, done.stderr
    figures = place.figures()
    too_large = {name for name in ALL if name.startswith("train/libtorch/") and name.endswith("/126")}
    assert set(figures["cells"]) == set(ALL) - too_large
    assert figures["left_out"] == {name: "error: CUDA out of memory" for name in too_large}
    assert figures["cells"]["tests"] == {"passed": 2, "failed": [], "skipped": ["CudaPluginTest.Waits", "ResidentGpuTest.Waits"], **figures["cells"]["tests"]}
    assert figures["device"]["name"] == "A GPU" and figures["device"]["mig"] is None and "0.10.2" in figures["device"]["reference"]
    page = place.page.read_text()
    # 105 packs in 30 places at 1,000 updates a second: four rounds.
    assert measured(page, "hours for 945 jobs of 2,000,000 updates, Table B.1's own mix of encodings") == pytest.approx((4 + 3 / 2) / 7 * 2.22, abs=0.01)
    # At most 270,000 job-steps a second; the reference's 200, not LibTorch's 100, and 36 models 200 times a second.
    assert 15 < measured(page, "job-steps/s over the best with one model at a time") <= 1350
    assert 3 < measured(page, "job-steps/s over the best under jax.vmap") <= 37.5


def test_encodings_are_measured_by_one_pattern(place):
    done = place.run("--only", "mix/process/30,encoding/*", "--short")

    assert done.returncode == 0, done.stderr
    rates = {name: figures["rates"] for name, figures in place.figures()["cells"].items()}
    assert rates == {"mix/process/30": [9000.0] * 30, **{f"encoding/{name}/30": [9000.0] * 30 for name in ("power_kerple", "power_kerple:randomized", "log_kerple:randomized")},
                     **{f"encoding/{name}/30": [18000.0] * 30 for name in ("sandwich", "sandwich:randomized", "shape")}}
    assert list(rates)[0] == "mix/process/30" and "| **Table B.1's own mix** |" in place.page.read_text()


def test_mps_is_started_and_ended_for_each_cell_that_needs_it(place):
    done = place.run("--only", "mix/*,packs/*/1")

    assert done.returncode == 0, done.stderr
    assert set(place.figures()["cells"]) == {"mix/mps/14", "mix/process/15", "mix/process/30", "packs/mps/1", "packs/process/1"}
    calls = [line.split() for line in place.calls.read_text().splitlines()]
    assert [what for what, _ in calls] == ["start", "quit", "start", "quit"]
    assert calls[0][1] == calls[1][1] != calls[2][1] and not pathlib.Path(calls[0][1]).exists()


def test_programs_that_do_not_find_mps_are_not_counted_as_if_they_had(place):
    place.run("--only", "packs/*/1", BLIND=1)

    assert set(place.figures()["cells"]) == {"packs/process/1"}
    assert place.figures()["left_out"] == {"packs/mps/1": "the programs did not find MPS, and computed one at a time"}

    place.run("--only", "packs/*/1", "--resume")

    assert set(place.figures()["cells"]) == {"packs/mps/1", "packs/process/1"} and place.figures()["left_out"] == {}


@pytest.mark.parametrize("outcome, failed", [("failed", ["CudaPluginTest.Computes", "ResidentGpuTest.Computes"]),
                                             ("crashes", ["cuda_plugin_test (ended by signal 11)", "gpu_test (ended by signal 11)"])])
def test_wrong_results_are_not_timed(place, outcome, failed):
    place.tests(outcome)

    done = place.run_beside_jax()

    assert done.returncode == 1 and all(name in done.stderr for name in failed)
    assert set(place.figures()["cells"]) == {"tests"} and place.figures()["cells"]["tests"]["failed"] == failed
    assert f"2 failed: {', '.join(failed)}" in place.page.read_text() and "Nothing was measured." in place.page.read_text()

    # Nor when the run is gone on with; a build that is repaired is tested again.
    again = place.run_beside_jax("--resume")
    assert again.returncode == 1 and set(place.figures()["cells"]) == {"tests"}
    place.tests("passed")
    repaired = place.run_beside_jax("--resume", "--only", "tests,train/resident/*/9")
    assert repaired.returncode == 0 and place.figures()["cells"]["tests"]["passed"] == 2 and len(place.figures()["cells"]) == 4


def test_what_failing_tests_say_is_kept(place):
    place.tests("failed")

    done = place.run_beside_jax("--only", "tests")

    assert "CudaPluginTest.Computes failed: 1 and 2" in done.stderr
    assert place.figures()["cells"]["tests"]["said"] == {"CudaPluginTest.Computes": "1 and 2", "ResidentGpuTest.Computes": "1 and 2"}


def test_tests_that_hang_end_the_run(place):
    """Else each cell would hang in turn."""
    place.tests("hangs", of_plugin="passed")

    done = place.run_beside_jax("--minutes", "0.15")

    assert done.returncode == 1 and set(place.figures()["cells"]) == {"tests"}
    [failed] = place.figures()["cells"]["tests"]["failed"]
    assert failed.startswith("gpu_test (cut off after ") and failed in done.stderr


@pytest.mark.parametrize("suite, doubtful, measured", [("ResidentGpuTest", "resident", "libtorch"), ("LlamaGpuTest", "libtorch", "resident")])
def test_an_engine_whose_tests_fail_is_not_timed_and_the_other_is(place, suite, doubtful, measured):
    place.tests("failed", of_plugin="passed", suite=suite)

    done = place.run_beside_jax("--only", "tests,train/*/even_pairs/9,mix/process/15")

    assert done.returncode == 1 and f"nothing was measured of {doubtful}" in done.stderr
    cells = set(place.figures()["cells"]) - {"tests"}
    assert {name.split("/")[1].split("-")[0] for name in cells} == ({"resident", "spread", "process"} if measured == "resident" else {"libtorch"})
    assert f"Nothing of {doubtful} was measured." in place.page.read_text()


@pytest.mark.parametrize("outcome, why", [("skipped", "no test found a GPU; skipped: CudaPluginTest.Computes"),
                                          ("absent", "cuda_plugin_test did not run: libgrpc++.so: cannot open")])
def test_tests_that_did_not_run_are_not_counted_as_passed(place, outcome, why):
    place.tests(outcome)

    place.run("--only", "tests")

    assert place.figures()["cells"] == {} and why in place.figures()["left_out"]["tests"]


def test_another_engine_in_the_place_of_the_one_asked_for_is_not_measured(place):
    place.run("--only", "train/*/even_pairs/9,mix/mps/14", REFUSED="resident")

    assert set(place.figures()["cells"]) == {f"train/{engine}/even_pairs/9" for engine in ("libtorch", "libtorch-tf32", "resident-fp16", "spread", "spread-fp16")}
    why = "libtorch computed in the place of resident: resident: shared memory is too small"
    assert place.figures()["left_out"] == {"train/resident/even_pairs/9": why, "mix/mps/14": why}


def test_a_run_that_is_killed_says_what_it_did_not_come_to(place):
    started = place.folder / "started"
    process = subprocess.Popen(place.command("--only", "tests,train/resident/even_pairs/9"), cwd=ROOT, start_new_session=True,
                               stderr=subprocess.PIPE, env=place.environment(SLOW="resident", STARTED=started))
    assert any(b"one pack, by our own kernels: 1 cells" in line for line in process.stderr)
    # What it measures has a session of its own. One that began after its parent's end would have init for a parent, and never end.
    measured = int(until(lambda: started.exists() and started.read_text(), "it measures"))
    process.kill()
    process.communicate()
    with contextlib.suppress(ProcessLookupError):  # It ends by itself, too.
        os.killpg(measured, signal.SIGKILL)

    assert set(place.figures()["cells"]) == {"tests"}
    assert "- `train/resident/even_pairs/9`: the run ended before" in place.page.read_text()


def test_what_the_reference_has_no_memory_for_costs_its_longer_tapes_only(place):
    place.run_beside_jax("--only", "reference/duplicate_string/36", NO_MEMORY="3640")

    cell = place.figures()["cells"]["reference/duplicate_string/36"]
    assert list(cell["lengths"]) == ["10", "20"]
    assert "RESOURCE_EXHAUSTED" in place.figures()["left_out"]["reference/duplicate_string/36, longer tapes"]


def test_the_page_is_written_anew_from_the_figures_without_a_gpu(place):
    place.run("--only", "train/resident/*/9")
    written = place.page.read_text()
    place.page.unlink()

    done = place.run("--tables", BROKEN=1, CUDA_VISIBLE_DEVICES="")

    assert done.returncode == 0, done.stderr
    assert place.page.read_text() == written


def test_the_page_is_that_of_the_figures_beside_it(place):
    shutil.copy(ROOT / "docs/benchmarks/gpu.json", place.json)

    done = place.run("--tables", BROKEN=1, CUDA_VISIBLE_DEVICES="")

    assert done.returncode == 0, done.stderr
    assert place.page.read_text() == (ROOT / "docs/benchmarks/gpu.md").read_text()


def test_a_bundle_names_the_commit_that_it_was_made_of(place):
    (place.folder / "build/commit").write_text("0123456789ab\n")

    place.run("--only", "train/resident/even_pairs/9")

    assert "build 0123456789ab." in place.page.read_text()


def test_a_run_is_gone_on_with_on_the_same_device_only(place):
    place.run("--only", "train/resident/*/126")
    before = place.figures()["cells"]
    assert len(before) == 3

    other = place.run("--resume", NAME="Another GPU")
    assert other.returncode == 1 and "has figures of A GPU, and this is Another GPU" in other.stderr
    assert place.figures()["cells"] == before

    done = place.run("--resume", "--only", "train/resident/*")
    assert done.returncode == 0, done.stderr
    assert len(place.figures()["cells"]) == 12 and "one pack, by our own kernels: 3 cells" in done.stderr  # Of six.
    assert all(place.figures()["cells"][name] == figures for name, figures in before.items())


def test_a_cell_that_nobody_knows_is_refused(place):
    done = place.run("--only", "train/resident/*/10")

    assert done.returncode == 2 and "--only: no cell is like 'train/resident/*/10'; --list names them" in done.stderr
    assert not place.json.exists()


def test_without_time_nothing_is_begun(place):
    done = place.run_beside_jax("--minutes", "0")

    assert done.returncode == 0, done.stderr
    assert place.figures()["cells"] == {} and set(place.figures()["left_out"].values()) == {"no time was left"}


def test_a_reference_that_breaks_costs_its_own_cells(place):
    (place.folder / "jax/bin/python").write_text(JAX.replace("while read", "echo 'RuntimeError: no such backend' >&2; exit 1; while read"))

    done = place.run_beside_jax("--only", "reference/*/1,train/libtorch/even_pairs/1")

    assert done.returncode == 0, done.stderr
    assert set(place.figures()["cells"]) == {"train/libtorch/even_pairs/1"}
    assert "the reference ended with 1: RuntimeError: no such backend" in place.page.read_text()


def test_without_a_gpu_the_page_stays_as_it_is(place):
    before = place.page.read_text()

    done = place.run(BROKEN=1, CUDA_VISIBLE_DEVICES="")

    assert done.returncode == 1 and "error: no GPU answers" in done.stderr
    assert place.page.read_text() == before and not place.json.exists()
