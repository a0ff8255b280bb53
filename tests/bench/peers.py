#!/usr/bin/env python3
"""Other schedulers beside this one: the same machine, the same run, the same number of jobs that do nothing.

    .venv/bin/python tests/bench/peers.py --venv DIR [--jobs 10000] [--workers 2,8] [--peers ray,dask,...] [--redis PATH] [--torc DIR]

--venv is a virtual environment of its own, outside the repository, made with `python3 -m venv DIR && DIR/bin/pip install ray distributed
'celery[redis]' optuna hyperqueue`. Celery runs on a Redis that syncs every change, from `redis-server` (Debian's package) or PATH. Torc's
programs come from --torc, ROOT/bin after `cargo install torc --locked --features server-bin --bin torc --bin torc-server --root ROOT`. A peer
that is missing is named and left out. Slow ones get fewer jobs: Optuna on a file a hundredth; HyperQueue and Torc, which start a process
for each job, a fifth and a twentieth.
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
PACKAGES = {"ray": "ray", "dask": "distributed", "celery": "celery", "optuna": "optuna", "hyperqueue": "hyperqueue"}
PEERS = [*PACKAGES, "torc"]
SHARE = {"optuna": 100, "hyperqueue": 5, "torc": 20}
PATIENCE_S = 1800


def ours(jobs, workers):
    figures = bench.throughput({"jobs": jobs}, workers)
    kept = "on disk, synced" + ("" if HAS_WORKER else "; played workers: the build has no trainer")
    return {"jobs": jobs, "jobs_per_second": figures[f"noop_jobs_per_second_{workers}_workers"], "kept": kept}


def theirs(peer, jobs, workers, python, options):
    command = [python, "-B", HERE / "peer_jobs.py", peer, "--jobs", jobs // SHARE.get(peer, 1), "--workers", workers, "--redis", options.redis,
               "--torc", options.torc or ""]
    with tempfile.TemporaryDirectory() as home:  # Some write into it.
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=PATIENCE_S, env=os.environ | {"HOME": home})
    if done.returncode != 0:
        sys.exit(f"{peer} ended with {done.returncode}\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def why_missing(peer, python, options):
    if peer == "torc":
        missing = [name for name in ("torc", "torc-server") if options.torc is None or not (options.torc / name).exists()]
        return f"give the folder of its programs with --torc; there is no '{missing[0]}'" if missing else ""
    if subprocess.run([python, "-c", f"import {PACKAGES[peer]}"], capture_output=True).returncode != 0:
        return f"{python} has no package '{PACKAGES[peer]}'"
    if peer == "celery" and shutil.which(options.redis) is None:
        return f"there is no '{options.redis}': install Debian's redis-server, or give --redis PATH"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--venv", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, default=10_000, help="a multiple of 400")
    parser.add_argument("--workers", default="2,8")
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--redis", default="redis-server")
    parser.add_argument("--torc", type=pathlib.Path, help="a folder with Torc's programs")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    python = options.venv / "bin" / "python"
    if not python.exists():
        parser.error(f"--venv: there is no {python}; make it with 'python3 -m venv {options.venv}'")
    peers = options.peers.split(",")
    if unknown := [peer for peer in peers if peer not in PEERS]:
        parser.error(f"--peers: '{unknown[0]}' is none of {', '.join(PEERS)}")
    figures = {}
    lines = ["| scheduler | workers | jobs | jobs/s | results are kept |", "|---|---|---|---|---|"]
    for workers in map(int, options.workers.split(",")):
        for name in ["longreach", *peers]:
            missing = "" if name == "longreach" else why_missing(name, python, options)
            if missing:
                print(f"left out: {name}: {missing}", file=sys.stderr)
                continue
            print(f"{name}, {workers} workers", file=sys.stderr, flush=True)
            one = ours(options.jobs, workers) if name == "longreach" else theirs(name, options.jobs, workers, python, options)
            figures[f"{name}_jobs_per_second_{workers}_workers"] = one["jobs_per_second"]
            lines.append(f"| {name} | {workers} | {one['jobs']:,} | {bench.shown(one['jobs_per_second'])} | {one['kept']} |")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
