"""The decoder and the encoder-decoder of Tables 1 and 3 in plain PyTorch: an implementation of its own, to hold the trainer to.

Nothing here is shared with the trainer. Parameters are a dictionary by the names that the trainer uses; matrices are [in, out].
Shapes: B sequence, T position, H head, K features per head, D = H K.
"""

import math
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F

ENCODINGS = ["none", "sin_cos", "alibi", "relative", "rope", "learned", "power_kerple", "log_kerple", "sandwich", "shape", "t5", "fire"]


@dataclass
class Config:
    encoding: str = "none"
    layers: int = 8
    decoder_layers: int = 8
    dim: int = 256
    heads: int = 8
    mlp: int = 1024
    vocabulary: int = 256       # One more row is the begin token, or unused.
    classes: int = 256
    rows: int = 2048            # Of the learned table.
    sandwich_dim: int = 128
    t5_buckets: int = 32
    t5_max_distance: int = 128
    fire_width: int = 32
    fire_threshold: int = 16
    fire_shared: bool = False
    causal: bool = True
    norm: str = "post"          # Or "pre": of the decoder.

    @property
    def head_dim(self):
        return self.dim // self.heads


@dataclass
class Positions:
    """What one pass uses: positions of the tokens, and for each layer positions to turn by and distances by offset."""
    embedding: torch.Tensor = None              # [T] or [B, T].
    rotation: list = field(default_factory=list)   # By layer, [T].
    distance: list = field(default_factory=list)   # By layer, [T]: of |t - s| = 0, 1, ...


def consecutive(config, tape):
    positions = torch.arange(tape)
    return Positions(positions, [positions] * config.layers, [positions] * config.layers)


def sin_cos(positions, dim):
    frequency = 10000.0 ** (-2.0 * torch.arange(dim // 2, dtype=torch.float64) / dim)
    angle = positions.to(torch.float64)[..., None] * frequency
    return torch.cat([angle.sin(), angle.cos()], -1).to(torch.float32)


def signed(distance):
    """[T] distances by offset to [T, T] signed distances, key minus query."""
    t = torch.arange(len(distance))
    offset = t[None, :] - t[:, None]
    return torch.sign(offset) * distance[offset.abs()]


def t5_bucket(config, d):
    """Of signed distances: one for each that is small, the others by their logarithm in float32, as T5's code has it."""
    of_a_side = config.t5_buckets if config.causal else config.t5_buckets // 2
    small, size = of_a_side // 2, d.abs()
    share = torch.log(size.clamp(min=1) / small) / math.log(config.t5_max_distance / small)
    large = (small + (share * (of_a_side - small)).to(torch.int64)).clamp(max=of_a_side - 1)
    return torch.where(size < small, size.to(torch.int64), large) + (of_a_side * (d > 0) if not config.causal else 0)


def fire_bias(config, parameters, layer, distance):
    """[H, T, T]: a network's of how far a key is, as a share of how far it could be; distance: [T], of the first token to all."""
    place = "attn.fire_" if config.fire_shared else f"layer{layer}.attn.fire_"
    c, multiplier = parameters[place + "c"], parameters[place + "m"]
    position = distance.to(torch.float32)
    limit = torch.abs(multiplier * config.fire_threshold)
    farthest = torch.maximum(position, limit.expand(len(position)))[:, None]
    share = torch.log(torch.abs(c * signed(distance)) + 1) / (torch.log(torch.abs(c * farthest) + 1) + 1e-6)
    hidden = F.relu(F.linear(share[..., None], parameters[place + "1.w"][:, None], parameters[place + "1.b"]))
    return (hidden @ parameters[place + "2.w"]).permute(2, 0, 1)


def bias(config, parameters, layer, distance):
    """[H, T, T], or None."""
    d = signed(distance).to(torch.float32)
    heads = torch.arange(config.heads, dtype=torch.float32)[:, None, None]
    if config.encoding == "alibi":
        tie = 0.0 if config.causal else 0.5 * (d < 0)
        return 2.0 ** (-8.0 * (heads + 1) / config.heads) * (tie - d.abs())
    if config.encoding == "sandwich":
        i = torch.arange(config.sandwich_dim // 2, dtype=torch.float64)
        terms = torch.cos(d.abs().to(torch.float64)[..., None] * 10000.0 ** (-2.0 * i / config.sandwich_dim))
        return (terms.sum(-1) / (8.0 * (heads.to(torch.float64) + 1) / config.heads)).to(torch.float32)
    if config.encoding == "t5":
        return parameters["attn.t5_bias"][:, t5_bucket(config, d.clamp(max=0) if config.causal else d)]
    if config.encoding == "fire":
        return fire_bias(config, parameters, layer, distance)
    if config.encoding in ("log_kerple", "power_kerple"):
        kind = config.encoding.removesuffix("_kerple")
        a = parameters[f"layer{layer}.attn.kerple_{kind}_a"][:, None, None]
        p = parameters[f"layer{layer}.attn.kerple_{kind}_p"][:, None, None]
        if kind == "log":
            return -p * torch.log1p(a * d.abs())
        size = d.abs()
        # 0^p is 0, and so are its derivatives.
        power = torch.where(size > 0, torch.where(size > 0, size, 1.0) ** p, 0.0)
        return -a * power
    return None


def turn(x, positions):
    """Adjacent pairs of a head's features by position times frequency; x: [B, H, T, K]."""
    k = x.shape[-1]
    angle = positions.to(torch.float64)[:, None] * 10000.0 ** (-2.0 * torch.arange(k // 2, dtype=torch.float64) / k)
    cosine, sine = angle.cos().to(torch.float32), angle.sin().to(torch.float32)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * cosine - b * sine, b * cosine + a * sine], -1).flatten(-2)


def relative_bias(config, parameters, layer, q, distance):
    """(q + v) r of each pair over sqrt(K): [B, H, T, T]."""
    place = f"layer{layer}.attn."
    tape = len(distance)
    values = torch.cat([-distance.flip(0)[:-1], torch.zeros(1, dtype=distance.dtype), distance[1:]])
    if config.causal:
        values = values[:tape]
    rows = sin_cos(values.abs(), config.dim)
    half = config.dim // 2
    rows = torch.cat([rows[:, :half] * torch.sign(values)[:, None], rows[:, half:]], -1)
    keys = (rows @ parameters[place + "rel.w"]).view(len(values), config.heads, config.head_dim)
    with_v = q + parameters[place + "rel_relative_bias"][None, :, None, :]
    scores = torch.einsum("bhtk,rhk->bhtr", with_v, keys) / math.sqrt(config.head_dim)
    # The entry of (t, s) is s - t + T - 1. Row t of the pairs begins T - 1 - t entries further than a row before it: the
    # relative shift of Transformer-XL. What lies beyond the last entry of a causal row is masked.
    batch, entries = q.shape[0], len(values)
    flat = F.pad(scores.flatten(-2), (0, tape))
    rows = flat.as_strided((batch, config.heads, tape, tape), (flat.stride(0), flat.stride(1), entries - 1, 1),
                           flat.storage_offset() + tape - 1)
    return rows


def split(x, heads):
    return x.view(x.shape[0], x.shape[1], heads, -1).transpose(1, 2)


def shares(q, k, mask, causal):
    """What SDPA multiplies the values with: [B, H, T, T]."""
    logits = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if mask is not None:
        logits = logits + mask
    elif causal:
        logits = logits.masked_fill(torch.ones(logits.shape[-2:], dtype=torch.bool).triu(1), -math.inf)
    return logits.softmax(-1)


def self_attention(config, parameters, layer, h, positions, masks, attended=None):
    place = f"layer{layer}.attn."
    q, k, v = (split(h @ parameters[place + n + ".w"], config.heads) for n in "qkv")
    mask = masks.get(layer)
    if config.encoding == "rope":
        q, k = turn(q, positions.rotation[layer]), turn(k, positions.rotation[layer])
    if config.encoding == "relative":
        mask = relative_bias(config, parameters, layer, q, positions.distance[layer])
        if config.causal:
            mask = mask.masked_fill(masks["future"], -math.inf)
        q = q + parameters[place + "rel_content_bias"][None, :, None, :]
    if attended is not None:
        attended.append(shares(q, k, mask, config.causal))
    if mask is None:
        out = F.scaled_dot_product_attention(q, k, v, is_causal=config.causal)
    else:
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return out.transpose(1, 2).flatten(2) @ parameters[place + "o.w"]


def make_masks(config, parameters, positions, tape):
    """Biases of the layers with what is to come masked out, as additive masks."""
    future = torch.ones(tape, tape, dtype=torch.bool).triu(1)
    masks = {"future": future}
    for layer in range(config.layers):
        table = bias(config, parameters, layer, positions.distance[layer])
        if table is not None:
            masks[layer] = (table.masked_fill(future, -math.inf) if config.causal else table)[None]
    return masks


def norm(parameters, place, x):
    return F.layer_norm(x, x.shape[-1:], parameters[place + ".scale"], parameters[place + ".offset"], 1e-5)


def mlp(parameters, place, x):
    hidden = F.relu(x @ parameters[place + "ffn1.w"] + parameters[place + "ffn1.b"])
    return hidden @ parameters[place + "ffn2.w"] + parameters[place + "ffn2.b"]


def stack(config, parameters, tokens, positions, dropout=0.0, masks=None, attended=None):
    """The blocks: tokens [B, T] to [B, T, D]. Masks that no parameter is in may be made once, by make_masks(). A list
    `attended` gets the shares of each layer."""
    drop = (lambda x: F.dropout(x, dropout)) if dropout > 0 else (lambda x: x)
    h = F.embedding(tokens, parameters["embed.w"]) * math.sqrt(config.dim)
    if config.encoding in ("sin_cos", "shape"):
        h = drop(h + sin_cos(positions.embedding, config.dim))
    if config.encoding == "learned":
        h = drop(h + parameters["pos.table"][positions.embedding])
    if masks is None:
        masks = make_masks(config, parameters, positions, tokens.shape[1])
    for layer in range(config.layers):
        place = f"layer{layer}."
        if config.norm == "pre":
            a = norm(parameters, place + "ln1", h)
            h = h + drop(self_attention(config, parameters, layer, a, positions, masks, attended))
            h = h + drop(mlp(parameters, place, norm(parameters, place + "ln2", h)))
            continue
        u = norm(parameters, place + "ln1", h + drop(self_attention(config, parameters, layer, h, positions, masks, attended)))
        h = norm(parameters, place + "ln2", u + drop(mlp(parameters, place, u)))
    return norm(parameters, "final_ln", h) if config.norm == "pre" else h


def decoder(config, parameters, tokens, positions, dropout=0.0, masks=None):
    """Logits [B, T, classes] of a causal model."""
    return stack(config, parameters, tokens, positions, dropout, masks) @ parameters["out.w"] + parameters["out.b"]


def encoder_decoder(config, parameters, tokens, positions):
    """Logits [B, classes]: the encoder reads the tokens, the decoder one begin token."""
    memory = stack(config, parameters, tokens, positions)
    h = (parameters["begin"] * math.sqrt(config.dim)).expand(tokens.shape[0], 1, config.dim)
    for layer in range(config.decoder_layers):
        place = f"decoder{layer}."
        # One token attends to itself alone.
        u = norm(parameters, place + "ln1", h + h @ parameters[place + "self.v.w"] @ parameters[place + "self.o.w"])
        q = split(u @ parameters[place + "cross.q.w"], config.heads)
        k, v = (split(memory @ parameters[place + f"cross.{n}.w"], config.heads) for n in "kv")
        crossed = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2) @ parameters[place + "cross.o.w"]
        c = norm(parameters, place + "ln2", u + crossed)
        h = norm(parameters, place + "ln3", c + mlp(parameters, place, c))
    return h[:, 0] @ parameters["out.w"] + parameters["out.b"]


def make_parameters(config, generator, encoder_decoder=False):
    """As Haiku draws: truncated normals of 1/sqrt(fan_in) for linear layers."""
    parameters = {}

    def normal(name, shape, sigma):
        value = torch.empty(shape)
        torch.nn.init.trunc_normal_(value, std=sigma, a=-2 * sigma, b=2 * sigma, generator=generator)
        parameters[name] = value

    def linear(name, rows, columns):
        normal(name, (rows, columns), rows ** -0.5)

    def norms(place, names):
        for name in names:
            parameters[f"{place}{name}.scale"] = torch.ones(config.dim)
            parameters[f"{place}{name}.offset"] = torch.zeros(config.dim)

    def hidden(place):
        linear(place + "ffn1.w", config.dim, config.mlp)
        parameters[place + "ffn1.b"] = torch.zeros(config.mlp)
        linear(place + "ffn2.w", config.mlp, config.dim)
        parameters[place + "ffn2.b"] = torch.zeros(config.dim)

    normal("embed.w", (config.vocabulary + 1, config.dim), 0.02)
    for layer in range(config.layers):
        place = f"layer{layer}."
        for name in "qkvo":
            linear(f"{place}attn.{name}.w", config.dim, config.dim)
        norms(place, ["ln1", "ln2"])
        hidden(place)
        if layer + 1 == config.layers and config.norm == "pre":
            norms("", ["final_ln"])
        if config.encoding == "relative":
            linear(place + "attn.rel.w", config.dim, config.dim)
            for name in ("rel_content_bias", "rel_relative_bias"):
                parameters[place + "attn." + name] = torch.randn((config.heads, config.head_dim), generator=generator) * 0.02
        if config.encoding.endswith("_kerple"):
            kind = config.encoding.removesuffix("_kerple")
            parameters[f"{place}attn.kerple_{kind}_a"] = torch.rand(config.heads, generator=generator) + 0.01
            parameters[f"{place}attn.kerple_{kind}_p"] = 2 * torch.rand(config.heads, generator=generator).clamp(0.01, 0.99)
    if config.encoding == "t5":
        parameters["attn.t5_bias"] = torch.randn((config.heads, config.t5_buckets), generator=generator) * config.dim ** -0.5
    if config.encoding == "fire":
        def symmetric(name, shape, most):
            parameters[name] = most * (2 * torch.rand(shape, generator=generator) - 1)

        for place in ["attn.fire_"] if config.fire_shared else [f"layer{layer}.attn.fire_" for layer in range(config.layers)]:
            parameters[place + "c"], parameters[place + "m"] = torch.full((1,), 0.1), torch.ones(1)
            symmetric(place + "1.w", (config.fire_width,), 1)
            symmetric(place + "1.b", (config.fire_width,), 1)
            symmetric(place + "2.w", (config.fire_width, config.heads), config.fire_width ** -0.5)
    if config.encoding == "learned":
        normal("pos.table", (config.rows, config.dim), 1.0)
    if encoder_decoder:
        normal("begin", (config.dim,), 0.02)
        for layer in range(config.decoder_layers):
            place = f"decoder{layer}."
            for name in "qkvo":
                linear(f"{place}self.{name}.w", config.dim, config.dim)
            for name in "qkvo":
                linear(f"{place}cross.{name}.w", config.dim, config.dim)
            norms(place, ["ln1", "ln2", "ln3"])
            hidden(place)
    linear("out.w", config.dim, config.classes)
    parameters["out.b"] = torch.zeros(config.classes)
    return parameters
