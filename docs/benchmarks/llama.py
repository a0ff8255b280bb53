#!/usr/bin/env python3
"""The LLaMA decoder on this machine: Longreach beside transformers eager, on the same weights and tokens.

    python docs/benchmarks/llama.py compare FOLDER [--rounds 3] [--seconds 20] [--device cuda]
    python docs/benchmarks/llama.py large FOLDER [--threads 2] [--device cuda]

`compare`: windows of a 50M-parameter model in float32 (and, for their losses, in bfloat16), what follows a prompt, and updates of its head
scales with all else frozen; the sides take turns, each in a process of its own, and must come to the same losses and tokens. `large`: time and memory of losses
and of attention entropy with a model of TinyLlama's shape (1.1B parameters, bfloat16, random weights) at 4K and 8K, and at 32K
with 4 of its layers (on a GPU with all of them): Longreach alone. Needs a Python with torch and transformers, the program bin/bench-llama, and 3 GB in FOLDER.
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
LARGE = {"width": 2048, "mlp": 5632, "heads": 32, "kv-heads": 4, "vocabulary": 32000, "positions": 2048, "type": "bfloat16"}
# Losses of both sides agree to this share: sums are taken in different orders.
AGREE = {"float32": 1e-4, "bfloat16": 5e-3}


def tokens(count, vocabulary):
    """As bench-llama draws them."""
    drawn, x = [], 1
    for _ in range(count):
        x = (1664525 * x + 1013904223) % (1 << 32)
        drawn.append((x >> 8) % vocabulary)
    return drawn


def transformers_side(options):
    """In a process of its own: prints what bench-llama prints."""
    import torch
    import torch.nn.functional as F
    import transformers

    torch.set_num_threads(options.threads)
    model = transformers.AutoModelForCausalLM.from_pretrained(options.folder, dtype="auto", attn_implementation=options.attention).to(options.device)
    model.requires_grad_(False).eval()
    vocabulary = model.config.vocab_size

    if options.work == "perplexity":
        ids = torch.tensor(tokens(options.batch * options.length, vocabulary), device=options.device).view(options.batch, options.length)
        losses = []

        @torch.no_grad()
        def work():
            logits = model(input_ids=ids, use_cache=False).logits
            losses[:] = [F.cross_entropy(logits[:, :-1].flatten(0, 1).float(), ids[:, 1:].flatten()).item()]
    elif options.work == "generate":
        ids = torch.tensor([tokens(options.length, vocabulary)], device=options.device)
        losses = []

        @torch.no_grad()
        def work():
            made = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=options.new, num_beams=options.beams, do_sample=False,
                                  eos_token_id=None, pad_token_id=0)
            losses[:] = [made[0, options.length:].tolist()]
    else:
        scales = [scale_heads(layer.self_attn, model.config) for layer in model.model.layers]
        # The rates differ: an update's time does not depend on them, and the first loss is that of factors of 1 on both sides.
        optimizer = torch.optim.AdamW(scales, lr=0.01, betas=(0.9, 0.95), weight_decay=0.0)
        ids = torch.tensor(tokens(options.batch * (options.length + 1), vocabulary), device=options.device).view(options.batch, options.length + 1)
        losses = []

        def work():
            logits = model(input_ids=ids[:, :-1], use_cache=False).logits
            loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
            loss.backward()
            torch.nn.utils.clip_grad_norm_(scales, 1.0)
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.item())

    start = time.monotonic()
    work()
    seconds = [time.monotonic() - start]
    if seconds[0] <= options.seconds:
        seconds = []
        while sum(seconds) < options.seconds:
            start = time.monotonic()
            work()
            seconds.append(time.monotonic() - start)
    print(json.dumps({"seconds": seconds, "loss": losses[0],
                      "peak_memory_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))


def scale_heads(attention, config):
    """Puts a trained factor on each head's queries, which is one on its logits; gives the factors, all 1."""
    import torch

    class Scaled(torch.nn.Module):
        def __init__(self, projection):
            super().__init__()
            self.projection = projection
            self.scales = torch.nn.Parameter(torch.ones(config.num_attention_heads, device=projection.weight.device))

        def forward(self, x):
            queries = self.projection(x)
            return (queries.unflatten(-1, (config.num_attention_heads, -1)) * self.scales[:, None]).flatten(-2)

    attention.q_proj = Scaled(attention.q_proj)
    return attention.q_proj.scales


def run(*command):
    ended = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if ended.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{ended.stderr[-4000:]}")
    return json.loads(ended.stdout.strip().splitlines()[-1])


def make(folder, **shape):
    if not (folder / "config.json").exists():
        options = [part for name, value in shape.items() for part in (f"--{name}", value)]
        made = run(BIN / "bench-llama", "make", folder, *options)
        print(f"{folder.name}: {made['parameters'] / 1e6:.1f} million parameters")
    return folder


def everywhere(options):
    return ["--threads", options.threads, "--seconds", options.seconds, "--device", options.device]


def compare_generation(options, folder):
    """What follows a prompt, with all that is read kept: the same tokens on both sides."""
    length, new = 2048, 64
    for beams in (1, 5):
        same = [folder, "--length", length, "--new", new, "--beams", beams, *everywhere(options)]
        ours, theirs = [], []
        for _ in range(options.rounds):
            ours.append(run(BIN / "bench-llama", "generate", *same))
            theirs.append(run(sys.executable, "-W", "ignore", __file__, "transformers", "generate", *same, "--attention", "sdpa"))
        if ours[0]["tokens"] != theirs[0]["loss"]:
            sys.exit(f"generate, beams {beams}: {ours[0]['tokens']} here and {theirs[0]['loss']} there: they do not compute the same")
        seconds = [statistics.median(second for one in side for second in one["seconds"]) for side in (ours, theirs)]
        memory = [max(one["peak_memory_bytes"] for one in side) / 1e9 for side in (ours, theirs)]
        print(f"{f'generate {new} after {length}, beams {beams}, sdpa':34} {seconds[0]:11.2f} s {memory[0]:4.2f} GB {seconds[1]:11.2f} s {memory[1]:4.2f} GB "
              f"{seconds[1] / seconds[0]:6.2f}x {load()}", flush=True)


def load():
    return f"load {os.getloadavg()[0]:.1f}"


def compare(options):
    folders = {kind: make(options.folder / f"50m-{kind}", type=kind) for kind in ("float32", "bfloat16")}
    print(f"{'':34} {'Longreach':>20} {'transformers':>20} {'':>14}")
    for work, kind, attention in (("perplexity", "float32", "eager"), ("perplexity", "float32", "sdpa"), ("perplexity", "bfloat16", "eager"),
                                  ("perplexity", "bfloat16", "sdpa"), ("tune", "float32", "eager"), ("tune", "float32", "sdpa")):
        length, batch = (1024, 4) if work == "perplexity" else (512, 4)
        same = [folders[kind], "--length", length, "--batch", batch, *everywhere(options)]
        ours, theirs = [], []
        for _ in range(options.rounds):
            ours.append(run(BIN / "bench-llama", work, *same))
            theirs.append(run(sys.executable, "-W", "ignore", __file__, "transformers", work, *same, "--attention", attention))
        losses = [ours[0].get("loss", ours[0].get("first_losses", [None])[0]), theirs[0]["loss"]]
        if abs(losses[0] - losses[1]) > AGREE[kind] * losses[1]:
            sys.exit(f"{work} {kind}: a loss of {losses[0]} here and of {losses[1]} there: they do not compute the same")
        tokens_per_s = [batch * length / statistics.median(second for one in side for second in one["seconds"]) for side in (ours, theirs)]
        memory = [max(one["peak_memory_bytes"] for one in side) / 1e9 for side in (ours, theirs)]
        print(f"{work + ' ' + kind + ' ' + str(batch) + ' x ' + str(length) + ', ' + attention:34} {tokens_per_s[0]:9.0f} t/s {memory[0]:4.2f} GB "
              f"{tokens_per_s[1]:9.0f} t/s {memory[1]:4.2f} GB {tokens_per_s[0] / tokens_per_s[1]:6.2f}x {load()}", flush=True)
    compare_generation(options, folders["float32"])


def large(options):
    whole = make(options.folder / "1.1b", layers=22, **LARGE)
    longest = whole if options.device == "cuda" else make(options.folder / "1.1b-4-layers", layers=4, **LARGE)
    for folder, length in ((whole, 4096), (whole, 8192), (longest, 32768)):
        for work in ("perplexity", "entropy"):
            one = run(BIN / "bench-llama", work, folder, "--length", length, "--threads", options.threads, "--seconds", 1, "--device", options.device)
            seconds = min(one["seconds"])
            print(f"{folder.name}, {length} tokens, {work}: {seconds:.1f} s, {length / seconds:.0f} tokens/s, "
                  f"{one['peak_memory_bytes'] / 1e9:.2f} GB at most, {load()}", flush=True)


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("what", choices=["compare", "large", "transformers"])
parser.add_argument("work", nargs="?", choices=["perplexity", "generate", "tune"], help=argparse.SUPPRESS)
parser.add_argument("folder", type=pathlib.Path)
parser.add_argument("--rounds", type=int, default=3)
parser.add_argument("--seconds", type=float, default=20)
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
parser.add_argument("--length", type=int, help=argparse.SUPPRESS)
parser.add_argument("--batch", type=int, help=argparse.SUPPRESS)
parser.add_argument("--new", type=int, help=argparse.SUPPRESS)
parser.add_argument("--beams", type=int, help=argparse.SUPPRESS)
parser.add_argument("--attention", help=argparse.SUPPRESS)
options = parser.parse_args()
{"compare": compare, "large": large, "transformers": transformers_side}[options.what](options)
