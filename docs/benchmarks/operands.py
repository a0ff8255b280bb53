#!/usr/bin/env python3
r"""Do 16-bit operands of matrix products change learning curves and scores? Tried on a CPU, by engines that round them.

    .venv/bin/python docs/benchmarks/operands.py FOLDER --page docs/benchmarks/operands.md --plot docs/benchmarks/operands_curves.svg

Trains operands.yaml with each engine and seed, the engines taking turns, into one store for each engine in FOLDER (a job's
identity does not name its engine, so in one store it would be trained once). Every seed has data and test sets of its own, the
same with all engines. Can be interrupted and started again: what is finished is kept. A further seed is begun only while it fits
into --minutes. Then writes FOLDER/operands.json, the page's tables and the plot, for which another Python with matplotlib may be
called once all runs are there: it only draws then.

A float32 run differs from another by its seed; the question is whether rounding moves scores and losses by more than that. Pairs
are runs of the same seed and data: their differences have a mean and a standard error, and `p` is how often signs drawn at
random give a mean as far from 0. Points are means over seeds that agree as in learning_curves.py.
"""

import argparse
import collections
import itertools
import json
import math
import os
import pathlib
import platform
import random
import sqlite3
import statistics
import subprocess
import sys
import time

import learning_curves

HERE = pathlib.Path(__file__).resolve().parent
SWEEP = HERE / "operands.yaml"
BIN = pathlib.Path(os.environ.get("LONGREACH_BIN", HERE.parents[1] / "build/release/bin"))
FLOAT32 = "lanes"
ENGINES = [FLOAT32, "lanes-tf32", "lanes-bf16"]
BINS = 20
LAST_BINS = 5  # The loss that training came to is the mean over these.
MOST_FLIPS = 1 << 18
BEGIN = "<!-- Tables of operands.py, which writes them anew: -->"
END = "<!-- End of these tables. -->"
COLOURS = ["tab:blue", "tab:green", "tab:orange", "tab:red"]


# Runs.

def store_of(folder, engine):
    return folder / f"{engine}.db"


def train(options):
    """All engines, seed by seed, while there is time."""
    began, longest = time.monotonic(), 0.0
    for seed in range(options.seeds):
        if seed > 0 and time.monotonic() - began + longest > 60 * options.minutes:
            print(f"no time for seed {seed} within {options.minutes:g} minutes; the same command goes on with --minutes {2 * options.minutes:g}")
            return
        start = time.monotonic()
        for engine in options.engines:
            command = [str(options.bin / "longreach"), "run", str(options.sweep), "--store", str(store_of(options.folder, engine)), "--quiet",
                       "--engine", engine, "--checkpoint-every-s", "600"]
            for field in ("seed", "training.data_seed", "evaluation.seed"):
                command += ["--set", f"{field}={seed}"]
            for setting in options.set:
                command += ["--set", setting]
            if options.threads:
                command += ["--threads", str(options.threads)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            print(f"seed {seed}, {engine}: {time.monotonic() - start:.0f} s of this seed", flush=True)
        longest = max(longest, time.monotonic() - start)


def is_engine(recorded, asked):
    """Whether a job that was to be trained with `asked` was: "lanes-avx512-bf16" where that was lanes-bf16."""
    parts, wanted = recorded.split("-"), asked.split("-")
    if asked in ("lanes", "lanes-tf32", "lanes-bf16"):
        return parts[0] == "lanes" and parts[2:] == wanted[1:]
    return recorded == asked


def steps_of(store):
    connection = sqlite3.connect(f"file:{store}?mode=ro", uri=True)
    steps = [row[0] for row in connection.execute("SELECT DISTINCT steps FROM jobs WHERE state = 'succeeded'")]
    if len(steps) != 1 or steps[0] % BINS != 0:
        raise SystemExit(f"{store}: its jobs have {steps} updates; one number for all is needed, a multiple of {BINS}")
    return steps[0]


def read_runs(folder, engine):
    """The runs of an engine's store, which must all be that engine's."""
    runs = []
    store = store_of(folder, engine)
    for cell, of_cell in learning_curves.read_store(store, steps_of(store) // BINS).items():
        for run in of_cell:
            if not is_engine(run["engine"], engine):
                raise SystemExit(f"{store}: {cell[0]} {cell[1]} was trained by {run['engine']}, not by {engine}")
            runs.append({"engine": engine, "trained_by": run["engine"], "task": cell[0], "encoding": cell[1], "seed": run["seed"],
                         "loss": run["loss"], "accuracy": {str(length): value for length, value in sorted(run["accuracy"].items())}})
    return runs


# What is made of them.

def by_cell(runs):
    """{(task, encoding): {engine: {seed: run}}}, with the seeds that all engines have."""
    cells = collections.defaultdict(lambda: collections.defaultdict(dict))
    for run in runs:
        cells[run["task"], run["encoding"]][run["engine"]][run["seed"]] = run
    engines = {run["engine"] for run in runs}
    result = {}
    for cell, of_engines in sorted(cells.items()):
        seeds = set.intersection(*(set(of_engines[engine]) for engine in engines))
        result[cell] = {engine: {seed: of_engines[engine][seed] for seed in sorted(seeds)} for engine in of_engines}
    return result


def score(run):
    return statistics.fmean(run["accuracy"].values())


def final_loss(run):
    """Mean logarithm of the training loss at the end, so that a difference is a factor whatever the task."""
    return statistics.fmean(math.log(max(loss, learning_curves.SMALLEST_LOSS)) for loss in run["loss"][-LAST_BINS:])


def sign_flip_p(differences):
    """How often the mean of these, each with a sign drawn at random, is at least as far from 0: exactly, or of many draws."""
    observed = abs(sum(differences)) * (1 - 1e-12)
    if 2 ** len(differences) <= MOST_FLIPS:
        draws = itertools.product((1, -1), repeat=len(differences))
    else:
        source = random.Random(0)
        draws = ([source.choice((1, -1)) for _ in differences] for _ in range(MOST_FLIPS // 8))
    far, count = 0, 0
    for signs in draws:
        far += abs(sum(sign * difference for sign, difference in zip(signs, differences))) >= observed
        count += 1
    return far / count


def spread(values):
    return statistics.stdev(values) if len(values) > 1 else float("nan")


def pooled_spread(cells, value):
    """Over seeds in float32, as one figure for all cells: the root of the mean variance."""
    variances = [spread([value(run) for run in of_engines[FLOAT32].values()]) ** 2 for of_engines in cells.values()]
    return math.sqrt(statistics.fmean(variances))


def paired(cells, engine, value):
    """Differences from float32, run by run."""
    return [value(run) - value(of_engines[FLOAT32][seed]) for of_engines in cells.values() for seed, run in of_engines[engine].items()]


def agreeing(cells, engine):
    """(points of the loss curves that agree, points, test lengths that agree, test lengths)"""
    counts = [0, 0, 0, 0]
    for of_engines in cells.values():
        ours, theirs = list(of_engines[engine].values()), list(of_engines[FLOAT32].values())
        for i in range(BINS):
            logs = [[math.log(max(run["loss"][i], learning_curves.SMALLEST_LOSS)) for run in runs] for runs in (ours, theirs)]
            counts[0] += learning_curves.agrees(*logs)[0]
            counts[1] += 1
        for length in theirs[0]["accuracy"]:
            counts[2] += learning_curves.agrees(*([run["accuracy"][length] for run in runs] for runs in (ours, theirs)))[0]
            counts[3] += 1
    return counts


def summary(cells, engine, value):
    differences = paired(cells, engine, value)
    return {"mean": statistics.fmean(differences), "error": spread(differences) / math.sqrt(len(differences)), "p": sign_flip_p(differences),
            "spread": pooled_spread(cells, value), "pairs": len(differences)}


# The page.

def signed(value):
    return f"{value:+.3f}"


def overall_table(cells, engines):
    lines = ["| operands | pairs | score: difference ± error | p | of the spread | last losses, log: difference ± error | p | of the spread | "
             "points of curves that agree | scores that agree |", "|" + "---|" * 10]
    for engine in engines:
        row = [engine]
        for value in (score, final_loss):
            of = summary(cells, engine, value)
            row += [] if value is final_loss else [str(of["pairs"])]
            row += [f"{signed(of['mean'])} ± {of['error']:.3f}", f"{of['p']:.2f}", f"{abs(of['mean']) / of['spread']:.2f}" if of["spread"] else "-"]
        points, all_points, lengths, all_lengths = agreeing(cells, engine)
        lines.append("| " + " | ".join([*row, f"{points} of {all_points}", f"{lengths} of {all_lengths}"]) + " |")
    return lines


def cell_table(cells, engines, value):
    lines = ["| task | encoding | float32, mean ± spread over seeds | " + " | ".join(f"{engine}: difference" for engine in engines) + " |",
             "|" + "---|" * (3 + len(engines))]
    for (task, encoding), of_engines in cells.items():
        here = [value(run) for run in of_engines[FLOAT32].values()]
        row = [task, encoding, f"{statistics.fmean(here):.3f} ± {spread(here):.3f}"]
        row += [signed(statistics.fmean(value(run) for run in of_engines[engine].values()) - statistics.fmean(here)) for engine in engines]
        lines.append("| " + " | ".join(row) + " |")
    return lines


def length_table(cells, engines):
    lengths = list(next(iter(next(iter(cells.values()))[FLOAT32].values()))["accuracy"])
    lines = ["| task | encoding | operands | " + " | ".join(f"length {length}" for length in lengths) + " |",
             "|" + "---|" * (3 + len(lengths))]
    for (task, encoding), of_engines in cells.items():
        for engine in [FLOAT32, *engines]:
            means = [statistics.fmean(run["accuracy"][length] for run in of_engines[engine].values()) for length in lengths]
            name = "float32" if engine == FLOAT32 else engine
            lines.append("| " + " | ".join([task, encoding, name, *(f"{mean:.3f}" for mean in means)]) + " |")
    return lines


def tables(result):
    cells = by_cell(result["runs"])
    seeds = len(next(iter(cells.values()))[FLOAT32])
    if seeds < 2:
        raise SystemExit("at least two seeds are needed with every engine")
    engines = [engine for engine in result["engines"] if engine != FLOAT32]
    names = ", ".join(sorted({f"{run['engine']} = {run['trained_by']}" for run in result["runs"]}))
    parts = [[f"{result['date']}, {result['machine']}. {len(cells)} cells, {seeds} seeds, {result['steps']} updates each. Engines: {names}."],
             ["**All cells together, beside float32.** A score is the mean accuracy over the test lengths; the spread is that of float32 over "
              "seeds."],
             overall_table(cells, engines),
             ["**Scores, cell by cell**"], cell_table(cells, engines, score),
             [f"**Logarithm of the training loss, mean of the last {LAST_BINS} of {BINS} parts of training**"],
             cell_table(cells, engines, final_loss),
             ["**Accuracy by test length, means over seeds**"], length_table(cells, engines)]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def page_text(page, text):
    """The page with these tables in place of those that it has."""
    before, found, rest = page.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not found or not ended:
        raise SystemExit(f"--page: the page has no lines '{BEGIN}' and '{END}'; put them where the tables belong")
    return f"{before}{BEGIN}\n\n{text}\n{END}{after}"


def plot(path, result):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    matplotlib.rcParams["svg.hashsalt"] = "longreach"  # The same bytes for the same numbers.
    cells = by_cell(result["runs"])
    figure, axes = plt.subplots(2, len(cells), figsize=(3.4 * len(cells), 6.4), squeeze=False)
    for column, (cell, of_engines) in enumerate(cells.items()):
        loss, accuracy = axes[0][column], axes[1][column]
        for engine, colour in zip(result["engines"], COLOURS):
            runs = list(of_engines[engine].values())
            for i, run in enumerate(runs):
                steps = [result["steps"] // BINS * (k + 1) for k in range(BINS)]
                loss.plot(steps, run["loss"], color=colour, alpha=0.6, linewidth=1, label=f"{engine}, {len(runs)} seeds" if i == 0 else None)
                lengths = sorted(run["accuracy"], key=int)
                accuracy.plot([int(n) for n in lengths], [run["accuracy"][n] for n in lengths], color=colour, alpha=0.6, linewidth=1, marker=".")
        loss.set_yscale("log")
        loss.set_title(f"{cell[0]}, {cell[1]}", fontsize=10)
        loss.set_xlabel("update")
        accuracy.set_xlabel("test length (trained on 1..10)")
        accuracy.set_ylim(0, 1.05)
        if column == 0:
            loss.set_ylabel("training loss (nats)")
            accuracy.set_ylabel("accuracy")
            loss.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def machine():
    models = [line.partition(":")[2].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    return f"{models[0] if models else platform.machine()}, {len(os.sched_getaffinity(0))} cores"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--bin", type=pathlib.Path, default=BIN)
    parser.add_argument("--sweep", type=pathlib.Path, default=SWEEP)
    parser.add_argument("--engines", type=lambda text: text.split(","), default=ENGINES,
                        help=f"{FLOAT32} first; a float32 engine of another instruction set shows what the order of sums alone does")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", help="replaces a field of the sweep, for a quick look")
    parser.add_argument("--page", type=pathlib.Path)
    parser.add_argument("--plot", type=pathlib.Path)
    options = parser.parse_args()
    if options.engines[0] != FLOAT32 or len(options.engines) < 2:
        parser.error(f"--engines: the first is {FLOAT32}, which the others are compared with")
    options.folder.mkdir(parents=True, exist_ok=True)
    file = options.folder / "operands.json"
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        if options.plot:
            print("no matplotlib here: the plot is left out; call this again with a Python that has it")
            options.plot = None
    train(options)
    runs = [run for engine in options.engines for run in read_runs(options.folder, engine)]
    result = {"date": time.strftime("%Y-%m-%d"), "machine": machine(), "engines": options.engines,
              "steps": steps_of(store_of(options.folder, FLOAT32)), "runs": runs}
    file.write_text(json.dumps(result, indent=1) + "\n")
    text = tables(result)
    print(text)
    if options.page:
        options.page.write_text(page_text(options.page.read_text(), text))
    if options.plot:
        plot(options.plot, result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
