#!/usr/bin/env python3
r"""Compares our learning curves with the reference's, bin by bin, and draws both.

    docs/benchmarks/learning_curves.sh curves.db       # about five minutes on two cores with AVX-512
    .venv/bin/python docs/benchmarks/learning_curves.py --store curves.db --plot docs/benchmarks/learning_curves.svg

Every run has a data stream and test sets of its own, as the reference's runs have: with one stream for all of them, nine seeds would
share its luck, and the spread over seeds would not show it.

Reads the store with the sqlite3 module and the reference's runs from tests/golden/chomsky/curves.json. For each task and
encoding there are 20 bins of 50 updates (mean log training loss) and 4 test lengths (accuracy). A point agrees when the means
over seeds differ by at most 3 standard errors of the difference (variance pooled over both groups), or by at most 0.03. Exit code
0 when every cell has at least 18 of 20 bins and all 4 lengths in agreement, else 1. The plot needs matplotlib; the table does not.

The reference tested its three runs of a cell on the same positions, one draw for each length. What a draw alone can do is shown
beside a length that differs, from the store's jobs that only evaluate: the mean over our runs, draw by draw.
"""

import argparse
import collections
import json
import math
import pathlib
import sqlite3
import statistics
import sys

HERE = pathlib.Path(__file__).resolve().parent
REFERENCE = HERE.parents[1] / "tests/golden/chomsky/curves.json"
BINS_NEEDED = 18
STANDARD_ERRORS = 3.0
ABSOLUTE = 0.03
SMALLEST_LOSS = 1e-8  # A bin whose loss rounds to 0 in the reference's file still has a logarithm.


def pooled_error(a, b):
    """Standard error of mean(a) - mean(b), with one variance for both groups."""
    freedom = len(a) + len(b) - 2
    squares = sum((x - statistics.fmean(a)) ** 2 for x in a) + sum((x - statistics.fmean(b)) ** 2 for x in b)
    return math.sqrt(squares / freedom * (1 / len(a) + 1 / len(b)))


def agrees(ours, theirs):
    """(do the means agree, their difference, its standard error)"""
    difference = statistics.fmean(ours) - statistics.fmean(theirs)
    error = pooled_error(ours, theirs)
    return abs(difference) <= max(STANDARD_ERRORS * error, ABSOLUTE), difference, error


def read_reference(path):
    """(task, encoding) -> list of runs: {"loss": [per bin], "accuracy": {length: value}}, and the bin's width."""
    document = json.loads(path.read_text())
    runs = collections.defaultdict(list)
    for run in document["runs"]:
        name = run["encoding"]
        encoding = name.removeprefix("rand_") + (":randomized" if name.startswith("rand_") else "")
        runs[run["task"], encoding].append({
            "loss": run["train_loss"],
            "accuracy": {int(length): value for length, value in run["eval_accuracy"].items()},
        })
    return runs, document["config"]["bin"]


def read_store(path, bin_width):
    """The same of the succeeded jobs of our store, with seed and engine. A progress row holds the mean loss since the row before."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    runs = collections.defaultdict(list)
    jobs = connection.execute(
        "SELECT j.num, j.task, j.encoding, j.randomized, j.seed, a.engine FROM jobs AS j JOIN attempts AS a ON a.id = j.attempt "
        "WHERE j.state = 'succeeded' AND j.steps > 0 ORDER BY j.task, j.encoding, j.randomized, j.seed")
    for num, task, encoding, randomized, seed, engine in jobs.fetchall():
        sums = collections.defaultdict(float)
        before = 0
        for step, loss in connection.execute("SELECT step, loss FROM progress WHERE job = ? ORDER BY step", (num,)):
            sums[(step - 1) // bin_width] += loss * (step - before)
            before = step
        accuracy = dict(connection.execute(
            "SELECT length, value FROM measurements WHERE job = ? AND metric = 'accuracy' AND length > 0 ORDER BY length", (num,)))
        runs[task, encoding + (":randomized" if randomized else "")].append({
            "seed": seed,
            "engine": engine,
            "loss": [sums[i] / bin_width for i in range(before // bin_width)],
            "accuracy": accuracy,
        })
    return runs


def read_draws(path):
    """(task, encoding, length) -> mean accuracy over our trained models, one for each draw of test positions."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    values = collections.defaultdict(lambda: collections.defaultdict(list))
    rows = connection.execute(
        "SELECT task, encoding, randomized, spec, length, value FROM jobs JOIN measurements ON measurements.job = jobs.num "
        "WHERE state = 'succeeded' AND steps = 0 AND metric = 'accuracy' AND length > 0")
    for task, encoding, randomized, spec, length, value in rows:
        seed = next((line for line in spec.splitlines() if line.startswith("evaluation.seed=")), "")
        values[task, encoding + (":randomized" if randomized else ""), length][seed].append(value)
    return {key: sorted(statistics.fmean(of_draw) for of_draw in draws.values()) for key, draws in values.items()}


def draw_note(draws, theirs):
    """What draws of test positions do to our mean, beside the reference's mean."""
    if not draws:
        return ""
    reference = statistics.fmean(theirs)
    beyond = sum(mean <= reference for mean in draws) if reference < statistics.median(draws) else sum(mean >= reference for mean in draws)
    return (f"\n             over {len(draws)} draws of test positions our mean is {draws[0]:.3f} to {draws[-1]:.3f}, median "
            f"{statistics.median(draws):.3f}; {beyond} of them as far off as the reference's {reference:.3f}")


def compare(cell, ours, theirs, draws):
    """For one cell: (rows of text, bins in agreement, bins, lengths in agreement, lengths)."""
    rows = []
    bins = len(theirs[0]["loss"])
    good_bins = 0
    for i in range(bins):
        ok, difference, error = agrees([math.log(max(run["loss"][i], SMALLEST_LOSS)) for run in ours],
                                       [math.log(max(run["loss"][i], SMALLEST_LOSS)) for run in theirs])
        good_bins += ok
        rows.append(f"  bin {i + 1:2d}     difference of mean log loss {difference:+.3f}  se {error:.3f}  {'ok' if ok else 'DIFFERS'}")
    lengths = sorted(theirs[0]["accuracy"])
    good_lengths = 0
    for length in lengths:
        ok, difference, error = agrees([run["accuracy"][length] for run in ours], [run["accuracy"][length] for run in theirs])
        good_lengths += ok
        mine = statistics.fmean(run["accuracy"][length] for run in ours)
        note = "" if ok else draw_note(draws.get((*cell, length), []), [run["accuracy"][length] for run in theirs])
        rows.append(f"  length {length:2d}  accuracy {mine:.3f}  difference {difference:+.3f}  se {error:.3f}  {'ok' if ok else 'DIFFERS'}{note}")
    return rows, good_bins, bins, good_lengths, len(lengths)


def plot(path, ours, theirs, bin_width):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    matplotlib.rcParams["svg.hashsalt"] = "longreach"  # The same bytes for the same numbers.
    cells = sorted(theirs)
    figure, axes = plt.subplots(2, len(cells), figsize=(4 * len(cells), 6.4), squeeze=False)
    for column, cell in enumerate(cells):
        loss, accuracy = axes[0][column], axes[1][column]
        for runs, colour, label in ((theirs[cell], "tab:orange", "reference"), (ours[cell], "tab:blue", "Longreach")):
            for i, run in enumerate(runs):
                steps = [bin_width * (k + 1) for k in range(len(run["loss"]))]
                loss.plot(steps, run["loss"], color=colour, alpha=0.6, linewidth=1, label=f"{label}, {len(runs)} seeds" if i == 0 else None)
                lengths = sorted(run["accuracy"])
                accuracy.plot(lengths, [run["accuracy"][n] for n in lengths], color=colour, alpha=0.6, linewidth=1, marker=".")
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", required=True)
    parser.add_argument("--reference", type=pathlib.Path, default=REFERENCE)
    parser.add_argument("--plot", type=pathlib.Path)
    arguments = parser.parse_args()
    theirs, bin_width = read_reference(arguments.reference)
    ours = read_store(arguments.store, bin_width)
    draws = read_draws(arguments.store)
    passed = 0
    for cell in sorted(theirs):
        if len(ours.get(cell, [])) < 2:
            print(f"{cell[0]} {cell[1]}: not in the store (at least two succeeded jobs are needed)")
            continue
        rows, good_bins, bins, good_lengths, lengths = compare(cell, ours[cell], theirs[cell], draws)
        ok = good_bins >= BINS_NEEDED and good_lengths == lengths
        passed += ok
        print(f"{cell[0]} {cell[1]}: {len(ours[cell])} seeds of ours, {len(theirs[cell])} of the reference: "
              f"{good_bins} of {bins} bins, {good_lengths} of {lengths} lengths: {'agrees' if ok else 'DIFFERS'}")
        print("\n".join(rows))
    if arguments.plot:
        plot(arguments.plot, ours, theirs, bin_width)
        print(f"plot: {arguments.plot}")
    print(f"{passed} passed, {len(theirs) - passed} failed")
    return 0 if passed == len(theirs) else 1


if __name__ == "__main__":
    sys.exit(main())
