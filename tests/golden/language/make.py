"""Writes the golden vectors of decoder and encoder-decoder: one safetensors file per model and encoding, into vectors/.

    python make.py [FOLDER]

Parameters, tokens and targets are drawn from a fixed seed; logits, loss, gradients and attention come from reference.py. The models have
two blocks of width 16, and of the 256 logits of a byte every eighth is stored, so that all files together are some 1 MB.
Parameters that all encodings have are in MODEL_none alone, whatever the norm.
"""

import json
import struct
import sys
from pathlib import Path

import torch
import torch.nn.functional as F

import reference

EVERY = 8
PRE_NORM = ["learned", "log_kerple"]
RANDOMIZED = [e for e in reference.ENCODINGS if e not in ("none", "shape")]
TAPE = {"decoder": 7, "encoder_decoder": 8}
ROWS, COLUMNS = 2, 3  # Eight tokens with their delimiters.


def write(path, metadata, tensors):
    header, payload = {"__metadata__": metadata}, b""
    for name, tensor in tensors.items():
        dtype = "F32" if tensor.is_floating_point() else "I32"
        raw = bytes(tensor.detach().to(torch.float32 if dtype == "F32" else torch.int32).contiguous().flatten().untyped_storage())
        header[name] = {"dtype": dtype, "shape": list(tensor.shape), "data_offsets": [len(payload), len(payload) + len(raw)]}
        payload += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + payload)


def draw(encoding, randomized, config, tape, batch, generator):
    """Positions, and the tensors that say what was drawn."""
    positions, drawn = reference.consecutive(config, tape), {}
    if encoding == "shape":
        offsets = torch.randint(0, 20, (batch,), generator=generator)
        positions.embedding = offsets[:, None] + torch.arange(tape)
        drawn["positions"] = positions.embedding
    elif randomized:
        def some(least):
            return (torch.randperm(24 - least, generator=generator)[: tape - least].sort().values + least)
        if encoding in ("sin_cos", "learned"):
            positions.embedding = some(0)
            drawn["positions"] = positions.embedding
        elif encoding == "rope":
            positions.rotation = [some(0) for _ in range(config.layers)]
        else:
            positions.distance = [torch.cat([torch.zeros(1, dtype=torch.int64), some(1)]) for _ in range(config.layers)]
        for layer in range(config.layers):
            if encoding == "rope":
                drawn[f"positions{layer}"] = positions.rotation[layer]
            elif encoding not in ("sin_cos", "learned"):
                drawn[f"distances{layer}"] = positions.distance[layer]
    return positions, drawn


def make(folder, model, encoding, randomized, norm="post"):
    decoder = model == "decoder"
    config = reference.Config(encoding=encoding, layers=2, decoder_layers=1, dim=16, heads=2, mlp=16, vocabulary=256,
                              classes=256 if decoder else 5, rows=24, sandwich_dim=8, t5_buckets=8, t5_max_distance=16, fire_width=6, fire_threshold=3,
                              fire_shared=not decoder, causal=decoder, norm=norm)
    # The same for all encodings, then those that this one has.
    plain = reference.Config(**{**vars(config), "encoding": "none", "norm": "post"})
    shared = reference.make_parameters(plain, torch.Generator().manual_seed(7), encoder_decoder=not decoder)
    generator = torch.Generator().manual_seed(1000 * reference.ENCODINGS.index(encoding) + 10 * randomized + decoder)
    parameters = reference.make_parameters(config, generator, encoder_decoder=not decoder) | shared
    scatter = torch.Generator().manual_seed(8)
    for name, value in parameters.items():
        # Away from where many gradients are alike.
        value.add_(torch.randn(value.shape, generator=scatter if name in shared else generator) * 0.02).requires_grad_()
    tape, batch = TAPE[model], 3
    if decoder:
        text = torch.randint(0, 256, (batch, tape), generator=generator)
        tokens = torch.cat([torch.full((batch, 1), 256), text[:, :-1]], 1)
        targets = text
    else:
        pixels = torch.randint(0, 256, (batch, ROWS, COLUMNS), generator=generator)
        tokens = F.pad(pixels, (0, 1)).flatten(1)
        targets = torch.randint(0, config.classes, (batch, 1), generator=generator)
    positions, drawn = draw(encoding, randomized, config, tape, batch, generator)
    run = reference.decoder if decoder else reference.encoder_decoder
    logits = run(config, parameters, tokens, positions)
    loss = F.cross_entropy(logits.reshape(-1, config.classes), targets.flatten())
    loss.backward()
    attended = []
    with torch.no_grad():
        reference.stack(config, parameters, tokens, positions, attended=attended)
    # Of the first sequence, for each layer the maximum over the heads.
    attention = torch.stack([shares[0].amax(0) for shares in attended])
    if decoder:
        logits = logits[..., ::EVERY]
    tensors = {"tokens": tokens, "targets": targets, "logits": logits, "loss": loss, "attention": attention} | drawn
    # Of large matrices the rows that something reads, and every eighth column.
    rows = {"embed.w": tokens.unique(), "pos.table": positions.embedding.unique() if encoding == "learned" else None}
    for name, value in parameters.items():
        gradient = value.grad if value.grad is not None else torch.zeros_like(value)
        if rows.get(name) is not None:
            tensors["rows/" + name] = rows[name]
            gradient = gradient[rows[name]]
        if decoder and name == "out.w":
            gradient = gradient[:, ::EVERY]
        tensors["grad/" + name] = gradient
        if name not in shared or (encoding == "none" and norm == "post"):
            tensors["param/" + name] = value
    metadata = {"model": model, "encoding": encoding, "randomized": str(randomized).lower()}
    for key in ("layers", "decoder_layers", "dim", "heads", "mlp", "classes", "rows", "sandwich_dim"):
        metadata[key] = str(getattr(config, key))
    if encoding == "t5":
        metadata |= {"t5_buckets": str(config.t5_buckets), "t5_max_distance": str(config.t5_max_distance)}
    if encoding == "fire":
        metadata |= {"fire_width": str(config.fire_width), "fire_threshold": str(config.fire_threshold),
                     "fire_shared": str(config.fire_shared).lower()}
    if norm != "post":
        metadata["norm"] = norm
    kind = ("_randomized" if randomized else "") + ("_pre_norm" if norm == "pre" else "")
    write(folder / f"{model}_{encoding}{kind}.safetensors", metadata, tensors)


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "vectors"
    folder.mkdir(parents=True, exist_ok=True)
    for model in TAPE:
        for encoding in reference.ENCODINGS:
            make(folder, model, encoding, False)
            if encoding in RANDOMIZED and model == "decoder":
                make(folder, model, encoding, True)
    for encoding in PRE_NORM:
        make(folder, "decoder", encoding, False, "pre")


if __name__ == "__main__":
    main()
