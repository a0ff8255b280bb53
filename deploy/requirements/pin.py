#!/usr/bin/env python3
"""Writes cpu.txt, cuda.txt, test.txt, transformers.txt and wheel.txt: every package, its version and the hashes of its wheels.

Run it after changing WANTED or PYTHONS, with a pip of 23.0 or newer; it reads the index and downloads no wheel:

    .venv/bin/python deploy/requirements/pin.py [cuda] [test] [transformers]
"""
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
PLATFORMS = [f"manylinux_2_{n}_x86_64" for n in range(28, 4, -1)] + ["manylinux2014_x86_64", "manylinux2010_x86_64",
                                                                     "manylinux1_x86_64"]
# torch's own requirements leave the versions of the compiler's parts open: without the pins of nvidia-cuda-crt and
# nvidia-nvvm a newer one than nvcc itself would come. All sets share one environment: the same setuptools in each.
WANTED = {
    "cuda": ["torch==2.11.0", "nvidia-cuda-nvcc==13.0.88", "nvidia-cuda-crt==13.0.88", "nvidia-nvvm==13.0.88",
             "nvidia-cuda-cccl==13.0.85", "setuptools==81.0.0"],
    "test": ["grpcio==1.76.0", "grpcio-tools==1.76.0", "pytest==9.2.0", "pytest-timeout==2.4.0", "pytest-xdist==3.8.0",
             "sentencepiece==0.2.1", "setuptools==81.0.0", "vl-convert-python==1.9.0.post1", "packaging==26.3", "playwright==1.65.2",
             "axe-playwright-python==0.1.8", "pandas==3.1.1", "numpy==2.4.6"],
    # What torch and the tests have too, in their versions.
    "transformers": ["transformers==4.57.1", "filelock==4.2.11", "fsspec==2026.9.0", "packaging==26.3", "typing-extensions==4.16.0",
                     "numpy==2.4.6"],
}
TITLE = {
    "cpu": "What libtorch_cpu.so needs, for machines without a GPU: a part of cuda.txt.",
    "cuda": "torch with all that it requires, and the CUDA compiler.",
    "test": "What tests/e2e needs: a gRPC client of another language, pandas, the runner, SentencePiece to compare with, what draws figures, what drives a browser.",
    "transformers": "What reads the models that are exported, beside torch as cuda.txt has it.",
    "wheel": "What makes the wheel of client/python where the tests' packages are not: a part of test.txt.",
}
# Parts of a set that are written with it.
PARTS = {
    "cuda": ("cpu", ["torch", "nvidia-cuda-runtime", "nvidia-cuda-cupti"]),
    "test": ("wheel", ["grpcio", "grpcio-tools", "protobuf", "setuptools", "typing-extensions"]),
}


def resolve(requirements, python):
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed",
                        "--only-binary=:all:", "--implementation=cp", f"--python-version={python}",
                        *[f"--platform={p}" for p in PLATFORMS], f"--target={folder}/none", f"--report={report}",
                        *requirements], check=True)
        for package in json.loads(report.read_text())["install"]:
            metadata = package["metadata"]
            yield metadata["name"].lower().replace("_", "-"), metadata["version"], package["download_info"][
                "archive_info"]["hashes"]["sha256"]


def write(name, packages):
    text = f"# {TITLE[name]}\n# Written by pin.py: wheels for x86-64 and Python {', '.join(PYTHONS)}.\n"
    for package, (version, hashes) in sorted(packages.items()):
        text += f"{package}=={version}" + "".join(f" \\\n    --hash=sha256:{h}" for h in sorted(hashes)) + "\n"
    (HERE / f"{name}.txt").write_text(text)


for name in sys.argv[1:] or WANTED:
    pinned = {}
    for python in PYTHONS:
        for package, version, digest in resolve(WANTED[name], python):
            known, hashes = pinned.setdefault(package, (version, set()))
            if known != version:
                sys.exit(f"{package}: {known} and, for Python {python}, {version}; pin one of them in WANTED")
            hashes.add(digest)
    write(name, pinned)
    if name in PARTS:
        part, packages = PARTS[name]
        write(part, {package: pinned[package] for package in packages})
