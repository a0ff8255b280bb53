#!/usr/bin/env python3
"""Language modelling on this machine: Longreach beside PyTorch eager with scaled_dot_product_attention.

    .venv/bin/python docs/benchmarks/language.py speed [--seconds 60] [--rounds 3] [--batch 64]
    .venv/bin/python docs/benchmarks/language.py curves --folder FOLDER [--corpus FILE] [--plot docs/benchmarks/language_curves.svg]

`speed` times a training step (forward, backward, clipping, Adam, dropout as in training) of the decoder of Table 1, taking
turns, each in a process of its own, so that both meet the same machine. `curves` trains both on the same bytes with the same
settings; initialisation and batches are drawn by different generators, so curves agree in distribution only. What is done is kept in
FOLDER, so that it can be interrupted; the plot needs matplotlib, which may be another Python's once all runs are there. The PyTorch
side is tests/golden/language/reference.py.
"""

import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("LONGREACH_BIN", ROOT / "build/release/bin"))
ENCODINGS = ["alibi", "rope", "relative"]
DROPOUT = 0.1


def eager_step(config, batch, length, seed=0):
    """A function that makes one update on bytes [batch, length] and returns the loss."""
    sys.path.insert(0, str(ROOT / "tests/golden/language"))
    import reference
    import torch
    import torch.nn.functional as F

    settings = reference.Config(**config)
    parameters = reference.make_parameters(settings, torch.Generator().manual_seed(seed))
    for value in parameters.values():
        value.requires_grad_()
    adam = torch.optim.Adam(parameters.values(), lr=config_rate(), betas=(0.9, 0.999), eps=1e-8)
    positions = reference.consecutive(settings, length)
    fixed = None
    if settings.encoding not in ("log_kerple", "power_kerple"):
        fixed = reference.make_masks(settings, parameters, positions, length)

    def step(text):
        begin = torch.full((batch, 1), 256)
        logits = reference.decoder(settings, parameters, torch.cat([begin, text[:, :-1]], 1), positions, DROPOUT, fixed)
        loss = F.cross_entropy(logits.flatten(0, 1), text.flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters.values(), 1.0)
        adam.step()
        adam.zero_grad()
        return loss.item()

    return step


def config_rate():
    return float(os.environ.get("LEARNING_RATE", "1e-4"))


def eager_bench(encoding, batch, seconds, threads):
    """In a process of its own: prints what the worker's bench prints."""
    import torch

    torch.set_num_threads(threads)
    step = eager_step({"encoding": encoding}, batch, 256)
    text = torch.randint(0, 256, (batch, 256))
    step(text)
    times = []
    while not times or sum(times) < seconds:
        start = time.monotonic()
        step(text)
        times.append(time.monotonic() - start)
    print(json.dumps({"job_steps_per_second": len(times) / sum(times),
                      "peak_memory_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))


def figures(command):
    ended = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=True)
    return json.loads(ended.stdout.strip().splitlines()[-1])


def speed(options):
    print(f"{'':>10} {'Longreach':>24} {'PyTorch eager':>24}")
    print(f"{'encoding':>10} {'steps/s':>12} {'memory':>11} {'steps/s':>12} {'memory':>11} {'ratio':>8}")
    for encoding in options.encodings:
        ours, theirs = [], []
        for _ in range(options.rounds):
            ours.append(figures([BIN / "longreach-worker", "bench", "--experiment", "language", "--task", "enwik8", "--encoding", encoding,
                                 "--batch", options.batch, "--seconds", options.seconds, "--threads", options.threads, "-o", "json"]))
            theirs.append(figures([sys.executable, "-W", "ignore", __file__, "eager", encoding, options.batch, options.seconds * 0.7,
                                   options.threads]))
        rate = [statistics.median(one["job_steps_per_second"] for one in side) for side in (ours, theirs)]
        memory = [max(one["peak_memory_bytes"] for one in side) / 1e9 for side in (ours, theirs)]
        print(f"{encoding:>10} {rate[0]:12.4f} {memory[0]:8.2f} GB {rate[1]:12.4f} {memory[1]:8.2f} GB {rate[0] / rate[1]:7.2f}x", flush=True)


# Small enough for a quarter of an hour on one core.
CURVE = {"layers": 3, "dim": 64, "heads": 4, "mlp": 256}
LENGTH, BATCH, BINS = 128, 16, 20
STANDARD_ERRORS, ABSOLUTE = 3.0, 0.03


def curves(options):
    """Each run has a seed, a data stream and a file of its own in the folder: what is there is not made again."""
    options.folder.mkdir(parents=True, exist_ok=True)
    corpus = corpus_of(options)
    os.environ["LEARNING_RATE"] = str(options.learning_rate)
    result = {"settings": {**CURVE, "length": LENGTH, "batch": BATCH, "learning_rate": options.learning_rate, "steps": options.steps},
              "corpus_bytes": len(corpus)}
    for encoding in options.encodings:
        result[encoding] = {"eager": [], "longreach": []}
        for seed in range(options.seeds):
            for side, make in (("eager", lambda: eager_losses(options, encoding, seed, corpus)),
                               ("longreach", lambda: longreach_losses(options, encoding, seed))):
                file = options.folder / f"{encoding}-{seed}-{options.steps}-{side}.json"
                if not file.exists():
                    losses = make()
                    assert len(losses) == options.steps, (side, len(losses))
                    file.write_text(json.dumps(binned(losses)))
                result[encoding][side].append(json.loads(file.read_text()))
            print(f"{encoding} seed {seed}: the last bin's loss {result[encoding]['longreach'][-1][-1]:.3f} here, "
                  f"{result[encoding]['eager'][-1][-1]:.3f} there", file=sys.stderr, flush=True)
    agreed = [compare(encoding, **result[encoding]) for encoding in options.encodings]
    if options.plot:
        plot(options, result)
    sys.exit(0 if all(agreed) else 1)


def corpus_of(options):
    """The text, kept beside the runs: a file, or all C++ headers of this machine's compiler, joined by name."""
    kept = options.folder / "corpus.txt"
    if not kept.exists():
        source = [options.corpus] if options.corpus else sorted(pathlib.Path("/usr/include/c++").glob("*/bits/*.h"))
        kept.write_bytes(b"".join(path.read_bytes() for path in source))
    return kept.read_bytes()


def eager_losses(options, encoding, seed, corpus):
    import torch

    torch.set_num_threads(options.threads)
    torch.manual_seed(seed)
    train = torch.frombuffer(bytearray(corpus[: len(corpus) * 9 // 10]), dtype=torch.uint8)
    step = eager_step({"encoding": encoding, **CURVE}, BATCH, LENGTH, seed)
    losses = []
    for _ in range(options.steps):
        begins = torch.randint(0, len(train) - LENGTH + 1, (BATCH,))
        losses.append(step(torch.stack([train[b : b + LENGTH].long() for b in begins])))
    return losses


def longreach_losses(options, encoding, seed):
    """The loss of each update of one job of the real programs."""
    import sqlite3

    folder = options.folder.resolve()
    environment = {**os.environ, "LONGREACH_DATA": str(folder / "data")}
    run = lambda *command: subprocess.run([str(part) for part in command], env=environment, cwd=folder, check=True,
                                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if not (folder / "data/corpus").exists():
        # Trained on the first nine tenths, as the other side.
        run(BIN / "longreach-worker", "data", "import", "text", "corpus.txt", "--name", "corpus", "--split", "90,5,5")
    settings = {"encoding": encoding, "seed": seed, "data": "corpus", "learning_rate": options.learning_rate,
                "training.steps": options.steps, "training.batch_size": BATCH, "training.lengths": LENGTH, "training.data_seed": seed,
                "evaluation.lengths": LENGTH, "evaluation.examples": 16, "model.layers": CURVE["layers"],
                "model.embedding_dim": CURVE["dim"], "model.heads": CURVE["heads"], "model.mlp_dim": CURVE["mlp"], "model.dropout": DROPOUT}
    run(BIN / "longreach", "run", "table-1", "--store", "store.db", "--threads", options.threads,
        *(part for name, value in settings.items() for part in ("--set", f"{name}={value}")))
    with sqlite3.connect(folder / "store.db") as store:
        return [loss for (loss,) in store.execute(
            "SELECT loss FROM progress JOIN jobs ON jobs.num = progress.job WHERE encoding = ? AND seed = ? AND steps = ? ORDER BY step",
            (encoding, seed, options.steps))]


def binned(losses):
    size = len(losses) // BINS
    return [statistics.fmean(losses[i : i + size]) for i in range(0, size * BINS, size)]


def compare(encoding, eager, longreach):
    """Bin by bin, as learning_curves.py does: the means over seeds differ by at most three standard errors, or by 0.03 nats."""
    from learning_curves import pooled_error

    good = 0
    for i in range(BINS):
        ours, theirs = [run[i] for run in longreach], [run[i] for run in eager]
        difference, error = statistics.fmean(ours) - statistics.fmean(theirs), pooled_error(ours, theirs)
        agrees = abs(difference) <= max(STANDARD_ERRORS * error, ABSOLUTE)
        good += agrees
        print(f"  bin {i + 1:2d}  loss {statistics.fmean(ours):.3f}  difference {difference:+.3f}  se {error:.3f}  {'ok' if agrees else 'DIFFERS'}")
    print(f"{encoding}: {len(longreach)} seeds of ours, {len(eager)} of the other: {good} of {BINS} bins", flush=True)
    return good >= BINS - 2


def plot(options, result):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    matplotlib.rcParams["svg.hashsalt"] = "longreach"  # The same bytes for the same numbers.
    figure, axes = plt.subplots(1, len(options.encodings), figsize=(4 * len(options.encodings), 3.4), squeeze=False, sharey=True)
    size = options.steps // BINS
    for axis, encoding in zip(axes[0], options.encodings):
        for side, colour, label in (("eager", "tab:orange", "PyTorch eager"), ("longreach", "tab:blue", "Longreach")):
            for i, run in enumerate(result[encoding][side]):
                axis.plot([size * (k + 1) for k in range(BINS)], run, color=colour, alpha=0.6, linewidth=1,
                          label=f"{label}, {len(result[encoding][side])} seeds" if i == 0 else None)
        axis.set_title(encoding, fontsize=10)
        axis.set_xlabel("update")
    axes[0][0].set_ylabel("training loss (nats a byte)")
    axes[0][0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(options.plot, metadata={"Date": None})


def main():
    if sys.argv[1:2] == ["eager"]:
        return eager_bench(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["speed", "curves"])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--encodings", type=lambda text: text.split(","), default=ENCODINGS)
    parser.add_argument("--corpus", type=pathlib.Path)
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--plot", type=pathlib.Path)
    options = parser.parse_args()
    if options.what == "curves" and options.folder is None:
        parser.error("curves needs --folder FOLDER")
    (speed if options.what == "speed" else curves)(options)


if __name__ == "__main__":
    main()
