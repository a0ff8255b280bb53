#!/usr/bin/env python3
"""Other schedulers beside this one: the same machine, the same run, the same number of jobs that do nothing.

    .venv/bin/python tests/bench/peers.py --venv DIR [--jobs 10000] [--workers 2,8] [--peers ray,dask,celery,optuna] [--redis PATH]

DIR is a virtual environment of its own, outside the repository, made with `python3 -m venv DIR && DIR/bin/pip install ray distributed
'celery[redis]' optuna`. Celery runs on a Redis that syncs every change, from `redis-server` (Debian's package) or PATH. A peer that is
missing is named and left out. Optuna is slow on a file, and gets a hundredth of the jobs.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import scheduler as bench
from harness import HAS_WORKER

HERE = pathlib.Path(__file__).resolve().parent
PACKAGES = {"ray": "ray", "dask": "distributed", "celery": "celery", "optuna": "optuna"}
SHARE = {"optuna": 100}
PATIENCE_S = 1800


def ours(jobs, workers):
    figures = bench.throughput({"jobs": jobs}, workers)
    kept = "on disk, synced" + ("" if HAS_WORKER else "; played workers: the build has no trainer")
    return {"jobs": jobs, "jobs_per_second": figures[f"noop_jobs_per_second_{workers}_workers"], "kept": kept}


def theirs(peer, jobs, workers, python, redis):
    command = [python, "-B", HERE / "peer_jobs.py", peer, "--jobs", jobs // SHARE.get(peer, 1), "--workers", workers, "--redis", redis]
    with tempfile.TemporaryDirectory() as home:  # Some write into it.
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=PATIENCE_S, env=os.environ | {"HOME": home})
    if done.returncode != 0:
        sys.exit(f"{peer} ended with {done.returncode}\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def why_missing(peer, python, redis):
    if subprocess.run([python, "-c", f"import {PACKAGES[peer]}"], capture_output=True).returncode != 0:
        return f"{python} has no package '{PACKAGES[peer]}'"
    if peer == "celery" and shutil.which(redis) is None:
        return f"there is no '{redis}': install Debian's redis-server, or give --redis PATH"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--venv", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, default=10_000, help="a multiple of 400")
    parser.add_argument("--workers", default="2,8")
    parser.add_argument("--peers", default=",".join(PACKAGES))
    parser.add_argument("--redis", default="redis-server")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    python = options.venv / "bin" / "python"
    if not python.exists():
        parser.error(f"--venv: there is no {python}; make it with 'python3 -m venv {options.venv}'")
    peers = options.peers.split(",")
    if unknown := [peer for peer in peers if peer not in PACKAGES]:
        parser.error(f"--peers: '{unknown[0]}' is none of {', '.join(PACKAGES)}")
    figures = {}
    lines = ["| scheduler | workers | jobs | jobs/s | results are kept |", "|---|---|---|---|---|"]
    for workers in map(int, options.workers.split(",")):
        for name in ["longreach", *peers]:
            missing = "" if name == "longreach" else why_missing(name, python, options.redis)
            if missing:
                print(f"left out: {name}: {missing}", file=sys.stderr)
                continue
            print(f"{name}, {workers} workers", file=sys.stderr, flush=True)
            one = ours(options.jobs, workers) if name == "longreach" else theirs(name, options.jobs, workers, python, options.redis)
            figures[f"{name}_jobs_per_second_{workers}_workers"] = one["jobs_per_second"]
            lines.append(f"| {name} | {workers} | {one['jobs']:,} | {bench.shown(one['jobs_per_second'])} | {one['kept']} |")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
