#!/usr/bin/env python3
"""How fast this machine trains and tests the algorithmic encoder, beside the reference code in JAX, in one run on two cores.

    make bench-trainer REFERENCE=DIR JAX=DIR            # the full form; ONLY=... for some cells, BENCH=short for a look
    .venv/bin/python tests/bench/trainer.py --json docs/benchmarks/trainer.json --reference DIR --jax DIR --only 'train/even_pairs/*'

REFERENCE is a checkout of google-deepmind/randomized_positional_encodings, JAX a virtual environment of its own outside the repository:
`python3 -m venv DIR && DIR/bin/pip install jax dm-haiku optax chex dm-tree absl-py tqdm tabulate numpy matplotlib`. Without them their
columns stay empty. Sides take turns within a round; a ratio is that of one round, and the median over the rounds is shown. A cell is
NAME/TASK/ENCODING (run/PRESET/ENGINE for whole sweeps), and --only takes patterns of cells; with it what the JSON file holds of other
cells is kept. --list names them all. Page and plots are made of the whole file; plots are drawn by this Python or by JAX's, whichever has
matplotlib.
"""
import argparse
import datetime
import fnmatch
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from harness import BIN, Home, Scheduler, Worker, query, run_cli
from trainer_plots import draw_with
from trainer_tables import page_text, tables

HERE = pathlib.Path(__file__).resolve().parent
TASKS = ["even_pairs", "reverse_string", "bucket_sort"]
ENCODINGS = ["none", "sin_cos", "alibi", "rope", "relative", "log_kerple", "log_kerple:randomized"]
TEST_BATCH = 64  # As the reference tests: a batch that fits at length 500.
ENGINES = ["lanes-bf16", "lanes-avx512", "lanes-avx2", "lanes-portable", "libtorch"]  # The first: the best of that kind, with rounded operands.
# The middles of eight equal parts of 1..40. The time of an update is smooth in the length, and the reference compiles each length.
EIGHT_LENGTHS = ",".join(str(3 + 5 * part) for part in range(8))
PATIENCE_S = 1800

FORMS = {
    "short": dict(seconds=0.3, rounds=1, lengths="1,2", fixed="3", product_steps=20, product_lengths="1..2", batch=16, test_lengths="4", packs="1,2",
                  simulated="1,2"),
    "full": dict(seconds=6.0, rounds=3, lengths=EIGHT_LENGTHS, fixed="40", product_steps=5000, product_lengths="1..40", batch=128, test_lengths="41,100,250,500", packs="1,3,9",
                 simulated="1,2,4,8,16"),
}
SHORT_CELLS = ["train/even_pairs/relative", "test/even_pairs/log_kerple", "peak/even_pairs/none", "pack/even_pairs/log_kerple",
               "engine/even_pairs/log_kerple", "threads/even_pairs/log_kerple", "product/even_pairs/log_kerple", "run/quickstart/libtorch"]
# Sweeps that are run whole, with the default engine and with the one that all was trained with before: settings in place of the
# preset's own, by form. Those of table-b1 are the README's token budget.
TINY = ["training.steps=2", "training.batch_size=8", "evaluation.lengths=41..42", "evaluation.examples=16"]
RUNS = {"quickstart": {"short": [*TINY, "seed=0"], "full": []}, "table-b1": {"full": TINY}}


def cells():
    names = [f"train/{task}/{encoding}" for task in TASKS for encoding in ENCODINGS]
    names += [f"peak/{task}/{encoding}" for task in TASKS for encoding in ("none", "log_kerple")]
    names += [f"test/even_pairs/{encoding}" for encoding in ("none", "relative", "log_kerple")]
    names += [f"pack/{task}/log_kerple" for task in ("even_pairs", "reverse_string")]
    names += [f"engine/{task}/{encoding}" for task in ("even_pairs", "reverse_string") for encoding in ("relative", "log_kerple")]
    names += [f"threads/{task}/{encoding}" for task in ("even_pairs", "reverse_string") for encoding in ("relative", "log_kerple")]
    return names + ["product/even_pairs/log_kerple", *(f"run/{preset}/libtorch" for preset in RUNS)]


def load():
    return os.getloadavg()[0]


def bench(size, task, encoding, **more):
    """Figures of `longreach-worker bench`."""
    options = {"lengths": size["lengths"], "seconds": size["seconds"], "batch": size["batch"], "threads": size["threads"], **more}
    command = [BIN / "longreach-worker", "bench", "--task", task, "--encoding", encoding, "-o", "json"]
    for name, value in options.items():
        command += [f"--{name}", value]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=PATIENCE_S)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


class Reference:
    """The reference in a process of its own, which stands still between its turns."""

    def __init__(self, options, size, task, encoding):
        command = [options.jax / "bin/python", "-W", "ignore", "-B", HERE / "reference_steps.py", "--checkout", options.reference,
                   "--task", task, "--encoding", encoding, "--lengths", size["lengths"], "--batch", size["batch"]]
        self.errors = tempfile.TemporaryFile(mode="w+")
        self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True)
        self.compile_s = 0.0

    def ask(self, command):
        try:
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()
            answer = json.loads(self.process.stdout.readline())
        except (BrokenPipeError, json.JSONDecodeError):
            self.process.wait()
            self.errors.seek(0)
            sys.exit(f"the reference ended with {self.process.returncode}\n{self.errors.read()[-3000:]}")
        self.compile_s += answer["compile_seconds"]
        return answer

    def close(self):
        """Ends it; what of its time was left out of the figures."""
        self.process.stdin.close()
        self.process.wait()
        return {"reference_compile_seconds": self.compile_s}


def reference_of(options, size, task, encoding):
    return Reference(options, size, task, encoding) if options.reference and options.jax else None


def rounds_of(size, sides):
    """Each side, a function, once a round, in turn: {side: [result by round]}, and the load before each round."""
    results = {name: [] for name in sides}
    loads = []
    for _ in range(size["rounds"]):
        loads.append(load())
        for name, side in sides.items():
            results[name].append(side())
    return results, loads


def compared(results, ours="longreach"):
    """Medians of rates and of processor times over the rounds, and of the ratios of one round: above 1 is better than the other."""
    figures = {}
    for name, rounds in results.items():
        figures[f"{name}_per_second"] = statistics.median(rate for rate, _ in rounds)
        figures[f"{name}_cpu_ms"] = statistics.median(cpu_ms for _, cpu_ms in rounds)
        if name != ours:
            pairs = list(zip(results[ours], rounds))
            figures[f"over_{name}"] = statistics.median(mine[0] / theirs[0] for mine, theirs in pairs)
            figures[f"cpu_over_{name}"] = statistics.median(theirs[1] / mine[1] for mine, theirs in pairs)
    return figures


def training_of(there, size):
    """The reference's training as a side. Compiles now, before the first round."""
    there.ask("train 0")
    return lambda: answered(there.ask(f"train {0.7 * size['seconds']}"), "updates")


def answered(answer, what):
    """Rate and processor time of one, of what the reference did."""
    return answer[what] / answer["seconds"], 1e3 * answer["cpu_seconds"] / answer[what]


def train(options, size, task, encoding):
    """Updates a second over lengths that stand for 1..40."""
    last = {}

    def ours():
        last.update(bench(size, task, encoding))
        return last["job_steps_per_second"], last["cpu_ms_per_job_step"]

    sides = {"longreach": ours}
    there = reference_of(options, size, task, encoding)
    if there is not None:
        sides["reference"] = training_of(there, size)
    results, loads = rounds_of(size, sides)
    figures = {"engine": last["engine"], **compared(results), "loads": loads}
    if there is not None:
        figures.update(there.close())
    return figures


def test(options, size, task, encoding):
    """Test sequences a second at each length."""
    there = reference_of(options, size, task, encoding)
    figures = {"lengths": {}, "loads": []}
    for length in size["test_lengths"].split(","):
        def ours():
            last = bench(size, task, encoding, lengths=length, batch=TEST_BATCH)
            return last["eval_sequences_per_second"], last["cpu_ms_per_eval_sequence"]

        sides = {"longreach": ours}
        if there is not None:
            there.ask(f"test {length} 0")
            sides["reference"] = lambda: answered(there.ask(f"test {length} {0.3 * size['seconds']}"), "sequences")
        results, loads = rounds_of(size, sides)
        figures["lengths"][length] = compared(results)
        figures["loads"] += loads
    if there is not None:
        figures.update(there.close())
    return figures


def peak(options, size, task, encoding):
    """Of the largest float32 matrix product, at one length."""
    del options
    results, loads = rounds_of(size, {"longreach": lambda: bench(size, task, encoding, lengths=size["fixed"])})
    rounds = results["longreach"]
    return {"gflops": statistics.median(one["gflops"] for one in rounds), "gemm_peak_gflops": statistics.median(one["gemm_peak_gflops"] for one in rounds),
            "share": statistics.median(one["ratio"] for one in rounds), "loads": loads}


def pack(options, size, task, encoding):
    del options
    sizes = size["packs"].split(",")
    results, loads = rounds_of(size, {jobs: (lambda jobs=jobs: bench(size, task, encoding, pack=jobs)["job_steps_per_second"]) for jobs in sizes})
    return {"jobs": {jobs: {"per_second": statistics.median(results[jobs]),
                            "over_alone": statistics.median(many / one for many, one in zip(results[jobs], results[sizes[0]]))} for jobs in sizes},
            "loads": loads}


def runnable_engines():
    """Those that this machine has: the bench names them when it is asked for one that nobody has."""
    done = subprocess.run([BIN / "longreach-worker", "bench", "--task", "even_pairs", "--encoding", "none", "--engine", "?"], capture_output=True, text=True)
    return [name for name in ENGINES if re.search(rf"\b{name}\b", done.stderr)]


def engine(options, size, task, encoding):
    """Updates a second of each engine, over LibTorch's and over the reference's in the same round."""
    engines = runnable_engines()
    sides = {name: (lambda name=name: bench(size, task, encoding, engine=name)) for name in engines}
    there = reference_of(options, size, task, encoding)
    if there is not None:
        training = training_of(there, size)
        sides["reference"] = lambda: {"job_steps_per_second": training()[0]}
    results, loads = rounds_of(size, sides)

    def median_of(name, figure, against=None):
        return statistics.median(one[figure] / (base[figure] if against else 1) for one, base in zip(results[name], results[against or name]))

    figures = {name: {"per_second": median_of(name, "job_steps_per_second"), "cpu_ms": median_of(name, "cpu_ms_per_job_step"),
                      "over_libtorch": median_of(name, "job_steps_per_second", "libtorch"),
                      "cpu_over_libtorch": 1 / median_of(name, "cpu_ms_per_job_step", "libtorch")} for name in engines}
    if there is not None:
        there.close()
        for name in engines:
            figures[name]["over_reference"] = median_of(name, "job_steps_per_second", "reference")
    return {"engines": figures, "loads": loads}


def threads(options, size, task, encoding):
    """More threads by simulation, and beside it as many real ones as there are."""
    del options
    sides = {"one": lambda: bench(size, task, encoding, threads=1, **{"simulate-threads": size["simulated"]}), "real": lambda: bench(size, task, encoding)}
    results, loads = rounds_of(size, sides)
    simulated = zip(*(one["simulated"] for one in results["one"]))
    return {"simulated": {str(rounds[0]["threads"]): {"per_second": statistics.median(one["job_steps_per_second"] for one in rounds),
                                                      "over_one": statistics.median(one["speedup"] for one in rounds)} for rounds in simulated},
            "serial_ms": statistics.median(one["serial_ms_per_update"] for one in results["one"]),
            "measured": {"threads": size["threads"], "per_second": statistics.median(one["job_steps_per_second"] for one in results["real"]),
                         "over_one": statistics.median(real["job_steps_per_second"] / one["job_steps_per_second"]
                                                       for one, real in zip(results["one"], results["real"]))}, "loads": loads}


def product(options, size, task, encoding):
    """A job's updates over the time from its lease to its result, with scheduler, checkpoints, progress and a small test, beside the
    bench over the same lengths."""
    del options

    def whole():
        with Home() as home:
            scheduler = Scheduler(home, listen="127.0.0.1:0")
            Worker(home, scheduler, threads=size["threads"])
            sweep = {"task": task, "encoding": encoding, "seed": 0, "learning_rate": "1e-4", "training.steps": size["product_steps"],
                     "training.batch_size": size["batch"], "training.lengths": size["product_lengths"], "evaluation.lengths": 41,
                     "evaluation.examples": 10}
            arguments = [word for name, value in sweep.items() for word in ("--set", f"{name}={value}")]
            for command in (["submit", "table-b1", *arguments], ["wait", "last"]):
                done = run_cli(home, *command, scheduler=scheduler)
                assert done.code == 0, done
            (began, ended), = query(scheduler.store, "SELECT started_at, ended_at FROM attempts WHERE outcome = 'succeeded'")
            return size["product_steps"] / ((ended - began) * 1e-6)

    sides = {"product": whole, "bench": lambda: bench(size, task, encoding, lengths=size["product_lengths"])["job_steps_per_second"]}
    results, loads = rounds_of(size, sides)
    return {**{f"{name}_per_second": statistics.median(rates) for name, rates in results.items()},
            "over_bench": statistics.median(mine / theirs for mine, theirs in zip(results["product"], results["bench"])), "loads": loads}


def run(options, size, preset, against):
    """The time of `longreach run`, from the command to its end, as it is, and as it was before: another engine, and one pack at a time. One
    round."""
    def whole(*engine):
        with Home() as home:
            settings = [word for setting in RUNS[preset][options.form] for word in ("--set", setting)]
            began = time.monotonic()
            done = run_cli(home, "run", preset, "--store", home.path / "run.db", "--threads", size["threads"], *settings, *engine)
            took = time.monotonic() - began
            assert done.code == 0, done
            (jobs,), = query(home.path / "run.db", "SELECT count(*) FROM jobs WHERE state = 'succeeded'")
            return took, jobs

    loads = [load()]
    seconds, jobs = whole()
    against_seconds, _ = whole("--engine", against, "--packs", "1")
    return {"jobs": jobs, "settings": RUNS[preset][options.form], "s": seconds, "against_s": against_seconds, "times": against_seconds / seconds, "loads": loads}


PARTS = {"train": train, "peak": peak, "test": test, "pack": pack, "engine": engine, "threads": threads, "product": product, "run": run}


def machine(threads):
    processors = pathlib.Path("/proc/cpuinfo").read_text()
    model = next((line.split(":", 1)[1].strip() for line in processors.splitlines() if line.startswith("model name")), platform.processor())
    width = "AVX-512" if " avx512f " in processors else "AVX2" if " avx2 " in processors else "no AVX2"
    return f"{model}, {width}, {os.cpu_count()} cores, of which {threads} are used"


def rounded(figures):
    """With five digits: the others are chance, and the file is kept with the page."""
    if isinstance(figures, dict):
        return {name: rounded(value) for name, value in figures.items()}
    if isinstance(figures, list):
        return [rounded(value) for value in figures]
    return float(f"{figures:.5g}") if isinstance(figures, float) else figures


def versions(options):
    if options.jax is None:
        return {}
    packages = subprocess.run([options.jax / "bin/python", "-c", "import importlib.metadata as m; print(m.version('jax'), m.version('dm-haiku'))"],
                              capture_output=True, text=True)
    if packages.returncode != 0:
        sys.exit(f"--jax: {options.jax} has no JAX and Haiku\n{packages.stderr[-500:]}  see --help for what to install")
    commit = subprocess.run(["git", "-C", options.reference, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    jax, haiku = packages.stdout.split()
    return {"reference": f"google-deepmind/randomized_positional_encodings {commit}, JAX {jax}, Haiku {haiku}"}


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--form", choices=FORMS, default="full")
    parser.add_argument("--json", type=pathlib.Path, help="where the figures go; with --only, other cells of the file are kept")
    parser.add_argument("--page", type=pathlib.Path, help="a page whose tables are written anew from the JSON file, and plots beside it")
    parser.add_argument("--reference", type=pathlib.Path, help="a checkout of google-deepmind/randomized_positional_encodings")
    parser.add_argument("--jax", type=pathlib.Path, help="a virtual environment with JAX and Haiku")
    parser.add_argument("--only", help="patterns of cells, by commas: 'train/even_pairs/*,test/*'")
    parser.add_argument("--list", action="store_true", help="name all cells and end")
    parser.add_argument("--threads", type=int, default=2, help="cores for each side (default: 2)")
    for name, kind in (("rounds", int), ("seconds", float), ("lengths", str)):
        parser.add_argument(f"--{name}", type=kind, help=f"in place of the form's: {FORMS['full'][name]} in full")
    options = parser.parse_args()
    if options.list:
        print("\n".join(cells()))
        sys.exit(0)
    if options.json is None:
        parser.error("--json: say where the figures go, for example docs/benchmarks/trainer.json")
    if (options.reference is None) != (options.jax is None):
        parser.error("--reference and --jax go together")
    if options.reference is not None and not (options.reference / "experiments/training.py").exists():
        parser.error(f"--reference: there is no {options.reference / 'experiments/training.py'}")
    if options.jax is not None and not (options.jax / "bin/python").exists():
        parser.error(f"--jax: there is no {options.jax / 'bin/python'}; make it with 'python3 -m venv {options.jax}'")
    return parser, options


def chosen(parser, options):
    names = SHORT_CELLS if options.form == "short" else cells()
    if options.only is None:
        return names
    some = [name for pattern in options.only.split(",") for name in cells() if fnmatch.fnmatchcase(name, pattern)]
    if not some:
        parser.error(f"--only: no cell is like '{options.only}'; --list names them")
    return list(dict.fromkeys(some))


def main():
    parser, options = parse()
    names = chosen(parser, options)
    size = dict(FORMS[options.form], threads=options.threads)
    size.update({name: getattr(options, name) for name in ("rounds", "seconds", "lengths") if getattr(options, name) is not None})
    free = sorted(os.sched_getaffinity(0))
    if len(free) < options.threads:
        parser.error(f"--threads: {options.threads} are asked for, and this machine has {len(free)}")
    os.sched_setaffinity(0, free[:options.threads])  # Of all that is started here, too.
    everything = {"cells": {}}
    if options.only is not None and options.json.exists():
        everything = json.loads(options.json.read_text())
        if everything.get("machine") != machine(options.threads):
            parser.error(f"--only: the other cells of {options.json} are of another machine: {everything.get('machine')}\n  give another --json, or leave out --only")
    everything.update({"machine": machine(options.threads), **versions(options)})
    for name in names:
        print(f"{datetime.datetime.now():%H:%M:%S} {name} (load {load():.1f})", file=sys.stderr, flush=True)
        part, task, encoding = name.split("/")
        figures = PARTS[part](options, size, task, encoding)
        figures.update(date=f"{datetime.date.today()}", form=options.form, rounds=size["rounds"], seconds=size["seconds"], measured_lengths=size["lengths"])
        everything["cells"][name] = rounded(figures)
        # After each cell: what breaks off later has what was there.
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(everything, indent=1) + "\n")
    drawn = {}
    if options.page is not None:
        pythons = [sys.executable] + ([options.jax / "bin/python"] if options.jax else [])
        drawn = draw_with(pythons, options.json, options.page.parent)
    text = tables(everything, drawn)
    print(text)
    if options.page is not None:
        options.page.write_text(page_text(options.page.read_text(), text))


if __name__ == "__main__":
    main()
