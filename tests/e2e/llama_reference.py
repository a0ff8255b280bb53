"""A LLaMA decoder once more, in Python and float64, as config.json, the NoPE paper and the programs of its authors have it: losses, attention
entropies, extensions of RoPE, windows of tests, and training by PyTorch's own AdamW. Nothing of it is ours."""
import json
import math
import struct

import torch

torch.set_num_threads(1)  # Products are small.
TYPES = {"F32": torch.float32, "BF16": torch.bfloat16}


class Llama:
    """Random weights, all of which have been rounded to `dtype`, under their published names."""

    def __init__(self, *, layers, width, heads, kv_heads, head_dim, mlp, vocabulary, window, theta=10000.0, epsilon=1e-5, tied=False, nope=False,
                 dtype="F32", scales=None, seed=1):
        self.layers, self.heads, self.kv_heads, self.head_dim = layers, heads, kv_heads, head_dim
        self.window, self.theta, self.epsilon, self.tied, self.nope, self.dtype = window, theta, epsilon, tied, nope, dtype
        generator = torch.Generator().manual_seed(seed)
        shapes = {"model.embed_tokens.weight": (vocabulary, width), "model.norm.weight": (width,)}
        if not tied:
            shapes["lm_head.weight"] = (vocabulary, width)
        for layer in range(layers):
            within = f"model.layers.{layer}."
            shapes |= {within + "input_layernorm.weight": (width,), within + "post_attention_layernorm.weight": (width,),
                       within + "self_attn.q_proj.weight": (heads * head_dim, width), within + "self_attn.k_proj.weight": (kv_heads * head_dim, width),
                       within + "self_attn.v_proj.weight": (kv_heads * head_dim, width), within + "self_attn.o_proj.weight": (width, heads * head_dim),
                       within + "mlp.gate_proj.weight": (mlp, width), within + "mlp.up_proj.weight": (mlp, width),
                       within + "mlp.down_proj.weight": (width, mlp)}
        self.weights = {}
        for name, shape in shapes.items():
            draw = torch.randn(*shape, generator=generator)
            # Queries and keys are large, so that attention is not even.
            factor = 2.5 if "q_proj" in name or "k_proj" in name else 1.5
            self.weights[name] = (1 + 0.2 * draw if len(shape) == 1 else draw * factor / math.sqrt(shape[-1])).to(TYPES[dtype])
        self.scales = None if scales is None else torch.tensor(scales).to(torch.bfloat16)  # [layers, heads].
        self.wide = {name: tensor.double() for name, tensor in self.weights.items()}
        self.config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "bos_token_id": 1, "eos_token_id": 2,
                       "hidden_size": width, "intermediate_size": mlp, "num_hidden_layers": layers, "num_attention_heads": heads,
                       "num_key_value_heads": kv_heads, "head_dim": head_dim, "vocab_size": vocabulary, "max_position_embeddings": window,
                       "rms_norm_eps": epsilon, "rope_theta": theta, "tie_word_embeddings": tied}

    def save(self, folder):
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(self.config))
        stored = {name: (self.dtype, tensor) for name, tensor in self.weights.items()}
        if self.scales is not None:
            stored |= {f"model.layers.{layer}.self_attn.scale_param": ("BF16", row) for layer, row in enumerate(self.scales)}
        header, body = {}, b""
        for name, (dtype, tensor) in sorted(stored.items()):
            values = bytes(tensor.contiguous().view(torch.uint8).flatten().tolist())
            header[name] = {"dtype": dtype, "shape": list(tensor.shape), "data_offsets": [len(body), len(body) + len(values)]}
            body += values
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + body)

    def own_factors(self):
        return torch.ones(self.layers, self.heads, dtype=torch.float64) if self.scales is None else self.scales.double()

    def angles(self, positions, scaling, length):
        """Of each position and pair, and what cosine and sine are multiplied by."""
        d, kind, factor = self.head_dim, *scaling[:2]
        original = scaling[2] if len(scaling) > 2 else self.window
        exponents = torch.arange(0, d, 2, dtype=torch.float64) / d
        plain, magnitude = self.theta ** -exponents, 1
        if kind == "linear":
            return (positions[:, None] / factor) * plain, magnitude
        if kind == "ntk":
            plain = (self.theta * factor ** (d / (d - 2))) ** -exponents
        if kind == "dynamic":
            stretched = factor * max(length, original) / original - (factor - 1)
            plain = (self.theta * stretched ** (d / (d - 2))) ** -exponents
        if kind == "yarn":
            turns = lambda beta: d * math.log(original / (beta * 2 * math.pi)) / (2 * math.log(self.theta))
            low, high = max(math.floor(turns(32)), 0), min(math.ceil(turns(1)), d - 1)
            ramp = ((torch.arange(d // 2, dtype=torch.float64) - low) / (high - low if high != low else 0.001)).clamp(0, 1)
            plain, magnitude = plain * (1 - ramp) + plain / factor * ramp, 0.1 * math.log(factor) + 1
        return positions[:, None] * plain, magnitude

    def read(self, ids, factors=None, *, scaling=("none", 1), length=None, weights=None, by_position=None):
        """Log p of each next token, [T, vocabulary], and the entropy of attention in nats, [layers, heads, T]. `length` is what dynamic NTK takes for it.
        `by_position`, (n, a): queries from position n on have their head's factor and a ln(i/n) more, those before it 1."""
        weights = weights or self.wide
        factors = self.own_factors() if factors is None else factors
        count, d = len(ids), self.head_dim
        norm = lambda x, name: x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.epsilon) * weights[name]
        spread = lambda rows, heads: rows.view(count, heads, d).transpose(0, 1)
        positions = torch.arange(count, dtype=torch.float64)
        h = weights["model.embed_tokens.weight"][torch.tensor(ids)]
        entropies = []
        for layer in range(self.layers):
            within = f"model.layers.{layer}."
            x = norm(h, within + "input_layernorm.weight")
            q, k, v = (x @ weights[f"{within}self_attn.{one}_proj.weight"].T for one in "qkv")
            q, k, v = spread(q, self.heads), spread(k, self.kv_heads), spread(v, self.kv_heads)
            if not self.nope:
                angles, magnitude = self.angles(positions, scaling, count if length is None else length)
                cosine, sine = angles.cos() * magnitude, angles.sin() * magnitude
                half = d // 2
                turn = lambda y: torch.cat([y[..., :half] * cosine - y[..., half:] * sine, y[..., half:] * cosine + y[..., :half] * sine], -1)
                q, k = turn(q), turn(k)
            k, v = (one.repeat_interleave(self.heads // self.kv_heads, 0) for one in (k, v))
            logits = q @ k.transpose(1, 2) / math.sqrt(d) * self.of_queries(factors[layer], positions, by_position)
            p = torch.softmax(logits.masked_fill(torch.ones(count, count).triu(1).bool(), -math.inf), -1)
            entropies.append(-torch.special.xlogy(p, p).sum(-1))
            h = h + (p @ v).transpose(0, 1).reshape(count, -1) @ weights[within + "self_attn.o_proj.weight"].T
            x = norm(h, within + "post_attention_layernorm.weight")
            gated = torch.nn.functional.silu(x @ weights[within + "mlp.gate_proj.weight"].T) * (x @ weights[within + "mlp.up_proj.weight"].T)
            h = h + gated @ weights[within + "mlp.down_proj.weight"].T
        out = weights["model.embed_tokens.weight" if self.tied else "lm_head.weight"]
        return torch.log_softmax(norm(h, "model.norm.weight") @ out.T, -1), torch.stack(entropies)

    @staticmethod
    def of_queries(factors, positions, by_position):
        """[heads, T or 1, 1]."""
        if by_position is None:
            return factors.view(-1, 1, 1)
        first, growth = by_position
        later = factors.view(-1, 1) + growth * torch.log(positions.clamp(min=first) / first)
        return torch.where(positions < first, 1.0, later).unsqueeze(-1)

    def losses(self, ids, *arguments, **named):
        """Of every token but the first, and the entropies at those before the last."""
        log_p, entropies = self.read(ids[:-1], *arguments, **named)
        return -log_p[torch.arange(len(ids) - 1), torch.tensor(ids[1:])], entropies


@torch.inference_mode()
def sliding_loss(model, documents, length, stride, *, longest=None, wanted=0, **named):
    """The mean over the authors' windows: of `length` tokens each, at every stride while the document goes on behind it, the last `stride` of which count. With
    `longest` those end where windows of so many do; of all of them `wanted` lie evenly."""
    windows = [ids[end - length:end] for ids in documents for end in range(longest or length, len(ids), stride)]
    if wanted:
        windows = [windows[i * len(windows) // wanted] for i in range(wanted)]
    # The authors read a window whole, so that is how long dynamic NTK finds it.
    return torch.stack([model.losses(ids, length=length, **named)[0][-stride:].mean() for ids in windows]).mean().item()


@torch.inference_mode()
def by_position(model, documents, length, bins, *arguments, **named):
    """Losses [bins] and entropies [layers, heads, bins] of windows side by side, in each of which `length` tokens are predicted."""
    both = [model.losses(ids[begin:begin + length + 1], *arguments, **named) for ids in documents for begin in range(0, len(ids) - length, length)]
    losses, entropies = (torch.stack(one).mean(0) for one in zip(*both))
    return losses.view(bins, -1).mean(-1), entropies.view(model.layers, model.heads, bins, -1).mean(-1)


def growth(best, trained):
    """a and R² of a ln(i/L) + 1 through the best factors at positions i from L on."""
    points = [(math.log(i / trained), factor) for i, factor in enumerate(best) if i >= trained]
    a = sum(s * (f - 1) for s, f in points) / sum(s * s for s, _ in points)
    mean = sum(f for _, f in points) / len(points)
    return a, 1 - sum((f - 1 - a * s) ** 2 for s, f in points) / sum((f - mean) ** 2 for _, f in points)


def rate(update, peak, steps, warmup):
    """A warm-up that counts from 0, and a cosine to a tenth."""
    if update < warmup:
        return peak * update / warmup
    return peak * (0.1 + 0.45 * (1 + math.cos(math.pi * (update - warmup) / (steps - warmup))))


def train(model, ids, *, peak, steps, warmup, clip, decay=0.0, factors=None, bound=None, scaling=("none", 1)):
    """The loss before each update on this one text, and what came of it: factors [layers, heads] where these are given and alone are trained, else all
    weights. `bound`: "relu" inside of the softmax, or a number that factors are kept above after each update."""
    tuned = factors is not None
    trained = [factors.clone().requires_grad_()] if tuned else [tensor.clone().requires_grad_() for tensor in model.wide.values()]
    optimizer = torch.optim.AdamW(trained, lr=peak, betas=(0.9, 0.95), eps=1e-8, weight_decay=decay)
    curve = []
    for update in range(steps):
        optimizer.param_groups[0]["lr"] = rate(update, peak, steps, warmup)
        weights = None if tuned else dict(zip(model.wide, trained))
        of_heads = trained[0].relu() if tuned and bound == "relu" else trained[0] if tuned else None
        loss = model.losses(ids, of_heads, scaling=scaling, weights=weights)[0].mean()
        curve.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, clip)
        optimizer.step()
        if tuned and isinstance(bound, (int, float)):
            with torch.no_grad():
                trained[0].clamp_(min=bound)
    return curve, trained[0].detach() if tuned else {name: tensor.detach() for name, tensor in zip(model.wide, trained)}
