"""deploy/bundle.sh: the programs in a folder that runs where nothing but a Python with the same torch is installed."""
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from harness import BIN, needs_worker

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Of the C and C++ libraries, which every machine has.
SYSTEM = re.compile(r"/(ld-linux.*|lib(c|m|dl|rt|pthread|util|resolv|stdc\+\+|gcc_s))\.so")
pytestmark = needs_worker


def make(folder, build=BIN.parent):
    return subprocess.run([ROOT / "deploy/bundle.sh", build, folder], capture_output=True, text=True)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bundle") / "longreach"
    made = make(folder)
    assert made.returncode == 0, made.stderr
    return folder


def torch():
    return pathlib.Path(importlib.util.find_spec("torch").submodule_search_locations[0])


def run(program, *arguments, torch):
    return subprocess.run([program, *arguments], capture_output=True, text=True, cwd="/", env={**os.environ, "LONGREACH_TORCH": str(torch)})


def test_programs_find_all_libraries_in_the_bundle_or_in_torch(bundle):
    for program in sorted((bundle / "libexec").iterdir()):
        if program.name == "start":
            continue
        listed = subprocess.run(["ldd", program], capture_output=True, text=True, env={**os.environ, "LD_LIBRARY_PATH": f"{bundle / 'lib'}"})
        libraries = re.findall(r"=> (/\S+)", listed.stdout)
        elsewhere = [library for library in libraries if not library.startswith((f"{bundle}/", f"{torch().parent}/")) and not SYSTEM.search(library)]
        assert libraries and elsewhere == [], program


def test_the_archive_beside_it_is_the_same_folder(bundle, tmp_path):
    archive = bundle.with_name(bundle.name + ".tar.xz")
    subprocess.run(["tar", "-xJf", archive, "-C", tmp_path], check=True)
    assert archive.stat().st_size < sum(file.stat().st_size for file in bundle.rglob("*") if file.is_file()) / 2
    assert subprocess.run(["diff", "-r", bundle, tmp_path / bundle.name]).returncode == 0


def test_it_trains(bundle):
    done = run(bundle / "bin/longreach-worker", "bench", "--task", "even_pairs", "--encoding", "rope", "--batch", "2", "--lengths", "3", "--seconds", "0.05",
               "--threads", "1", torch=torch())

    assert done.returncode == 0 and "job-steps/s" in done.stdout, done.stderr


def test_the_tests_of_a_gpu_run_from_it(bundle):
    if not (bundle / "lib/liblongreach_cuda.so").exists():
        pytest.skip("this build has no CUDA plugin")
    done = run(bundle / "tests/cuda_plugin_test", torch=torch())

    assert done.returncode == 0 and "LoadsAndSaysWhetherAGpuAnswers" in done.stdout, done.stdout


def test_another_torch_is_refused(bundle, tmp_path):
    (tmp_path / "version.py").write_text("__version__ = '1.0.0+cu130'\n")

    done = run(bundle / "bin/longreach-worker", "--version", torch=tmp_path)

    assert done.returncode == 1 and f"'{tmp_path}' is 1.0.0" in done.stderr and "LONGREACH_TORCH=DIR" in done.stderr
    # The client needs none.
    assert run(bundle / "bin/longreach", "--version", torch="/nowhere").returncode == 0


def test_a_bundle_is_made_anew_and_nothing_else_is_thrown_away(bundle, tmp_path):
    folder, build = shutil.copytree(bundle, tmp_path / "bundle"), tmp_path / "build"
    (folder / "lib/libold.so").touch()
    # Of one program and its other half, as all of them take long to pack.
    (build / "bin").mkdir(parents=True)
    for program in ("longreach-worker", "longreach-trainer"):
        shutil.copy(BIN / program, build / "bin")
    made = make(folder, build)
    assert made.returncode == 0 and (folder / "bin/longreach-worker").exists() and not (folder / "lib/libold.so").exists(), made.stderr

    (tmp_path / "mine").touch()
    refused = make(tmp_path, build)
    assert refused.returncode == 1 and "is there and is no bundle" in refused.stderr and (tmp_path / "mine").exists()
