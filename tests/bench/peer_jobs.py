"""No-op jobs on another scheduler, for peers.py, which runs this with a Python that has the peer's package:

    VENV/bin/python tests/bench/peer_jobs.py ray|dask|celery|optuna|hyperqueue|torc --jobs N --workers N [--redis PATH] [--torc DIR]

Its last line is JSON. Each job's result is checked, with HyperQueue and Torc, whose jobs are programs, what they ended with; the clock
runs from the first submission to the last result.
"""
import argparse
import contextlib
import json
import os
import pathlib
import socket
import sqlite3
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


def run_hyperqueue(options):
    from hyperqueue import Job, LocalCluster
    from hyperqueue.cluster import WorkerConfig
    with tempfile.TemporaryDirectory() as folder, LocalCluster(server_dir=folder) as cluster:
        for _ in range(options.workers):
            cluster.start_worker(WorkerConfig(cores=1))
        client = cluster.client()

        def run(count):
            job = Job(default_workdir=folder)
            for _ in range(count):
                job.program(["true"], stdout=None, stderr=None)
            client.wait_for_jobs([client.submit(job)])  # Raises where a task failed.
            return range(count)

        run(4 * options.workers)
        return timed(options.jobs, lambda: run(options.jobs)) | {"kept": "in memory; a process for each job"}


def run_torc(options):
    with socket.socket() as free, tempfile.TemporaryDirectory() as folder:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        torc = [options.torc / "torc", "--url", f"http://127.0.0.1:{port}/torc-service/v1", "--format", "json"]
        database = pathlib.Path(folder, "torc.db")

        def call(*arguments):
            done = subprocess.run([*torc, *arguments], capture_output=True, text=True, cwd=folder)
            assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
            return done.stdout

        def run(count):
            pathlib.Path(folder, "jobs.json").write_text(json.dumps(
                {"name": f"peer{count}", "jobs": [{"name": "job{i}", "command": "true", "parameters": {"i": f"0:{count - 1}"}}]}))
            workflow = str(json.loads(call("create", "jobs.json"))["workflow_id"])
            call("run", workflow, "--max-parallel-jobs", str(options.workers), "--poll-interval", "0.01", "--claim-backoff-max-secs", "0.01")
            with sqlite3.connect(database) as results:
                done = results.execute("SELECT count(DISTINCT job_id) FROM result WHERE workflow_id = ? AND return_code = 0", [workflow])
                return range(done.fetchone()[0])

        server = [options.torc / "torc-server", "run", "--host", "127.0.0.1", "--port", str(port), "--database", database]
        with started(server, cwd=folder):
            while subprocess.run([*torc, "workflows", "list"], capture_output=True, cwd=folder).returncode != 0:
                time.sleep(0.05)
            run(4 * options.workers)
            return timed(options.jobs, lambda: run(options.jobs)) | {"kept": "on disk, synced (SQLite); a process for each job"}


PEERS = {"ray": run_ray, "dask": run_dask, "celery": run_celery, "optuna": run_optuna, "hyperqueue": run_hyperqueue, "torc": run_torc}

if "PEER_JOBS_REDIS" in os.environ:  # Within a worker of Celery, which looks for it by name.
    app, _ = celery_app(int(os.environ["PEER_JOBS_REDIS"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("peer", choices=[*PEERS, "optuna-part"])
    parser.add_argument("--jobs", type=int, required=True)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--redis", default="redis-server")
    parser.add_argument("--torc", type=pathlib.Path)
    parser.add_argument("--storage")
    options = parser.parse_args()
    if options.peer == "optuna-part":
        return optuna_part(options.storage, options.jobs)
    print(json.dumps(PEERS[options.peer](options)), flush=True)
    return None


if __name__ == "__main__":
    main()
