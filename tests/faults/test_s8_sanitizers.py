"""S8: no report of the address, undefined-behaviour or thread sanitizer.

`make test` and `make faults` build build/asan, `make faults` build/tsan too. The short form runs a few of their programs, as all
of them are tests of `make test` anyway; the others run all."""
import os
import re
import subprocess

import pytest

import harness

ASAN = harness.ROOT / "build/asan"
REPORTS = re.compile(r"ERROR: (?:Address|Leak|Thread)Sanitizer|WARNING: ThreadSanitizer|runtime error:")


@pytest.mark.fault("S8", aim="the whole suite without LibTorch under ASan and UBSan, and under TSan: 0 reports")
def test_sanitizers_report_nothing(fault):
    if fault.form == "short":
        programs = ["proto_types_test", "scheduler_core_test", "worker_agent_parts_test", "checkpoint_headers_test"]
        tests = 0
        for program in programs:
            path = ASAN / "tests" / program
            assert path.exists(), f"no {path}: `make test` builds it"
            done = subprocess.run([path], capture_output=True, text=True, errors="replace", timeout=harness.PATIENCE_S,
                                  env={**os.environ, "UBSAN_OPTIONS": "print_stacktrace=1"})
            assert done.returncode == 0 and not REPORTS.search(done.stdout + done.stderr), f"{path}\n{(done.stdout + done.stderr)[-6000:]}"
            tests += int(re.search(r"\[  PASSED  \] (\d+) test", done.stdout)[1])
        fault.reached(f"{tests} tests of {len(programs)} programs under ASan and UBSan: 0 reports")
        return
    for preset in ("asan", "tsan"):
        folder = harness.ROOT / "build" / preset
        assert (folder / "CTestTestfile.cmake").exists(), f"no {folder}: `make faults` builds it"
        done = subprocess.run(["ctest", "--preset", preset, "-j2"], cwd=harness.ROOT, capture_output=True, text=True, errors="replace", timeout=1800)
        reports = REPORTS.findall(done.stdout + done.stderr)
        summary = re.search(r"(\d+)% tests passed, (\d+) tests failed out of (\d+)", done.stdout)
        assert done.returncode == 0 and not reports, f"{preset}: {len(reports)} reports\n{done.stdout[-8000:]}"
        fault.reached(f"{preset}: {summary[3]} tests, {summary[2]} failed, 0 reports")
