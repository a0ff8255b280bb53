"""No-op jobs on another scheduler, for peers.py, which runs this with a Python that has the peer's package:

    VENV/bin/python tests/bench/peer_jobs.py ray|dask|celery|optuna --jobs N --workers N [--redis PATH]

Prints one line of JSON. Each job's result is checked; the clock runs from the first submission to the last result.
"""
import argparse
import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time


def timed(jobs, run):
    start = time.perf_counter()
    results = run()
    seconds = time.perf_counter() - start
    assert sorted(results) == list(range(jobs)), "a job has no result, or another's"
    return {"jobs": jobs, "seconds": seconds, "jobs_per_second": jobs / seconds}


def echo(number):
    return number


def run_ray(options):
    import ray
    ray.init(num_cpus=options.workers, include_dashboard=False, log_to_driver=False)
    task = ray.remote(num_cpus=1)(echo)
    ray.get([task.remote(i) for i in range(4 * options.workers)])  # Its workers have started.
    return timed(options.jobs, lambda: ray.get([task.remote(i) for i in range(options.jobs)])) | {"kept": "in memory"}


def run_dask(options):
    from distributed import Client, LocalCluster
    with LocalCluster(n_workers=options.workers, threads_per_worker=1, processes=True, dashboard_address=None) as cluster, Client(cluster) as client:
        client.gather(client.map(echo, range(4 * options.workers), pure=False))
        return timed(options.jobs, lambda: client.gather(client.map(echo, range(options.jobs), pure=False))) | {"kept": "in memory"}


def celery_app(port):
    import celery
    app = celery.Celery("peer_jobs", broker=f"redis://127.0.0.1:{port}/0", backend=f"redis://127.0.0.1:{port}/1")
    # A job that its worker did not end is another's.
    app.conf.update(task_acks_late=True, worker_prefetch_multiplier=16, broker_connection_retry_on_startup=True)
    return app, app.task(name="echo")(echo)


@contextlib.contextmanager
def started(command, **arguments):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **arguments)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def run_celery(options):
    with socket.socket() as free, tempfile.TemporaryDirectory() as folder:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        # Its durable mode: every change is synced before it is answered.
        redis = [options.redis, "--port", str(port), "--dir", folder, "--appendonly", "yes", "--appendfsync", "always", "--save", ""]
        worker = [sys.executable, "-m", "celery", "-A", "peer_jobs:app", "worker", "-c", str(options.workers), "--without-gossip",
                  "--without-mingle", "--without-heartbeat"]
        environment = os.environ | {"PEER_JOBS_REDIS": str(port)}
        with started(redis), started(worker, env=environment, cwd=pathlib.Path(__file__).parent):
            _, task = celery_app(port)
            for answer in [task.delay(i) for i in range(4 * options.workers)]:
                answer.get(timeout=120)
            return timed(options.jobs, lambda: [answer.get(timeout=600) for answer in [task.delay(i) for i in range(options.jobs)]]) | {
                "kept": "on disk, synced (Redis with appendfsync always)"}


def optuna_part(storage, trials):
    import optuna
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.load_study(study_name="peer", storage=storage, sampler=optuna.samplers.RandomSampler())
    study.optimize(lambda trial: float(trial.number), n_trials=trials)


def run_optuna(options):
    import optuna
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        storage = f"sqlite:///{folder}/study.db"
        study = optuna.create_study(study_name="peer", storage=storage)
        share = options.jobs // options.workers

        def run():
            parts = [subprocess.Popen([sys.executable, __file__, "optuna-part", "--storage", storage, "--jobs", str(share)])
                     for _ in range(options.workers)]
            assert all(part.wait() == 0 for part in parts)
            return [int(trial.value) for trial in study.trials]

        return timed(share * options.workers, run) | {"kept": "on disk, synced (SQLite)"}


PEERS = {"ray": run_ray, "dask": run_dask, "celery": run_celery, "optuna": run_optuna}

if "PEER_JOBS_REDIS" in os.environ:  # Within a worker of Celery, which looks for it by name.
    app, _ = celery_app(int(os.environ["PEER_JOBS_REDIS"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("peer", choices=[*PEERS, "optuna-part"])
    parser.add_argument("--jobs", type=int, required=True)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--redis", default="redis-server")
    parser.add_argument("--storage")
    options = parser.parse_args()
    if options.peer == "optuna-part":
        return optuna_part(options.storage, options.jobs)
    print(json.dumps(PEERS[options.peer](options)), flush=True)
    return None


if __name__ == "__main__":
    main()
