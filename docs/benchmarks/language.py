#!/usr/bin/env python3
"""Language modelling on this machine: Longreach beside PyTorch eager with scaled_dot_product_attention.

    .venv/bin/python docs/benchmarks/language.py speed [--seconds 60] [--rounds 3] [--batch 64]
    .venv/bin/python docs/benchmarks/language.py curves --corpus FILE [--steps 300] > docs/benchmarks/language-curves.json

`speed` times a training step (forward, backward, clipping, Adam, dropout as in training) of the decoder of Table 1, taking
turns, each in a process of its own, so that both meet the same machine. `curves` trains both on the same bytes with the same
settings; their seeds differ, so curves agree in distribution only. The PyTorch side is tests/golden/language/reference.py.
"""

import argparse
import json
import math
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


def eager_step(config, batch, length):
    """A function that makes one update on bytes [batch, length] and returns the loss."""
    sys.path.insert(0, str(ROOT / "tests/golden/language"))
    import reference
    import torch
    import torch.nn.functional as F

    settings = reference.Config(**config)
    parameters = reference.make_parameters(settings, torch.Generator().manual_seed(0))
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


# Small enough for a few minutes on two cores.
CURVE = {"layers": 4, "dim": 128, "heads": 4, "mlp": 512}
LENGTH, BATCH = 128, 16


def curves(options):
    import torch

    corpus = options.corpus.read_bytes()
    train = torch.frombuffer(bytearray(corpus[: len(corpus) * 9 // 10]), dtype=torch.uint8)
    os.environ["LEARNING_RATE"] = str(options.learning_rate)
    result = {"corpus_bytes": len(corpus), "settings": {**CURVE, "length": LENGTH, "batch": BATCH, "learning_rate": options.learning_rate}}
    for encoding in options.encodings:
        torch.manual_seed(0)
        step = eager_step({"encoding": encoding, **CURVE}, BATCH, LENGTH)
        losses = []
        for _ in range(options.steps):
            begins = torch.randint(0, len(train) - LENGTH + 1, (BATCH,))
            losses.append(step(torch.stack([train[b : b + LENGTH].long() for b in begins])))
        ours = trained_here(options, encoding)
        result[encoding] = {"eager": smooth(losses), "longreach": smooth(ours)}
        print(encoding, [(a["step"], round(a["loss"], 3), round(b["loss"], 3)) for a, b in
                         zip(result[encoding]["eager"], result[encoding]["longreach"])], file=sys.stderr, flush=True)
    print(json.dumps(result, indent=1))


def smooth(losses, points=10):
    """Means over equal parts."""
    size = max(1, math.ceil(len(losses) / points))
    return [{"step": min(len(losses), i + size), "loss": statistics.fmean(losses[i : i + size])} for i in range(0, len(losses), size)]


def trained_here(options, encoding):
    """The loss of each update of one job of the real programs."""
    import sqlite3
    import tempfile

    with tempfile.TemporaryDirectory(prefix="lr-") as folder:
        environment = {**os.environ, "HOME": folder, "LONGREACH_DATA": f"{folder}/data"}
        run = lambda *command: subprocess.run([str(part) for part in command], env=environment, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        run(BIN / "longreach-worker", "data", "import", "text", options.corpus.resolve(), "--name", "corpus")
        run(BIN / "longreach", "run", "table-1", "--store", f"{folder}/store.db", "--set", f"encoding={encoding}", "--set", "seed=0",
            "--set", "data=corpus", "--set", f"learning_rate={options.learning_rate}", "--set", f"training.steps={options.steps}",
            "--set", f"training.batch_size={BATCH}", "--set", f"training.lengths={LENGTH}", "--set", f"evaluation.lengths={LENGTH}",
            "--set", "evaluation.examples=16", "--set", f"model.layers={CURVE['layers']}", "--set", f"model.embedding_dim={CURVE['dim']}",
            "--set", f"model.heads={CURVE['heads']}", "--set", f"model.mlp_dim={CURVE['mlp']}")
        with sqlite3.connect(f"{folder}/store.db") as store:
            return [loss for (loss,) in store.execute("SELECT loss FROM progress ORDER BY job, step")]


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
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--learning-rate", type=float, default=3e-4)
    options = parser.parse_args()
    if options.what == "curves" and options.corpus is None:
        parser.error("curves needs --corpus FILE")
    (speed if options.what == "speed" else curves)(options)


if __name__ == "__main__":
    main()
