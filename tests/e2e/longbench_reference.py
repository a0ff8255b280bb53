"""LongBench once more, in Python and as its own programs have it: a small decoder in float64, greedy and beam search, prompts that lose
their middle, scores. Nothing of it is ours but the words that tasks are asked in."""
import ast
import collections
import difflib
import json
import math
import re
import shutil
import string
import struct

import torch

from harness import ROOT

torch.set_num_threads(1)  # Products are small.
LAYERS, WIDTH, HEADS, KEYS, MLP = 2, 32, 4, 2, 48
HEAD = WIDTH // HEADS
EPSILON = 1e-5
NEW_TOKENS = {"narrativeqa": 128, "qasper": 128, "multifieldqa_en": 64, "hotpotqa": 32, "2wikimqa": 32, "musique": 32, "gov_report": 512,
              "qmsum": 512, "multi_news": 512, "trec": 64, "triviaqa": 32, "samsum": 128, "passage_count": 32, "passage_retrieval_en": 32,
              "lcc": 64, "repobench-p": 64}
QUESTIONS = {"narrativeqa", "qasper", "multifieldqa_en", "hotpotqa", "2wikimqa", "musique", "triviaqa"}
SUMMARIES = {"gov_report", "qmsum", "multi_news", "samsum"}


def templates():
    """By task; that their texts are those published is another test's."""
    source = (ROOT / "worker/trainer/longbench/prompts.cc").read_text()
    found = re.findall(r'\{"([\w-]+)",\n((?:\s+"(?:[^"\\]|\\.)*"\n?)+)\}', source)
    return {task: "".join(ast.literal_eval(line.strip()) for line in text.strip().split("\n")) for task, text in found}


class Decoder:
    """Without positions, of random weights. Ids come the more often the larger their factor."""

    def __init__(self, vocabulary, often, seed=3):
        generator = torch.Generator().manual_seed(seed)

        def normal(*shape):
            return torch.randn(*shape, generator=generator) * 2 / math.sqrt(shape[-1])

        self.weights = {"model.embed_tokens.weight": normal(vocabulary, WIDTH) * 4, "model.norm.weight": torch.ones(WIDTH),
                        "lm_head.weight": normal(vocabulary, WIDTH)}
        for layer in range(LAYERS):
            shapes = {"self_attn.q_proj": (WIDTH, WIDTH), "self_attn.k_proj": (KEYS * HEAD, WIDTH), "self_attn.v_proj": (KEYS * HEAD, WIDTH),
                      "self_attn.o_proj": (WIDTH, WIDTH), "mlp.gate_proj": (MLP, WIDTH), "mlp.up_proj": (MLP, WIDTH), "mlp.down_proj": (WIDTH, MLP)}
            for name, shape in shapes.items():
                self.weights[f"model.layers.{layer}.{name}.weight"] = normal(*shape)
            for name in ("input_layernorm", "post_attention_layernorm"):
                self.weights[f"model.layers.{layer}.{name}.weight"] = torch.ones(WIDTH)
        for one, factor in often.items():
            self.weights["lm_head.weight"][one] *= factor
        self.vocabulary = vocabulary
        self.wide = {name: tensor.double() for name, tensor in self.weights.items()}

    def save(self, folder, tokenizer):
        folder.mkdir()
        shutil.copy(tokenizer, folder / "tokenizer.model")
        (folder / "config.json").write_text(json.dumps({
            "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "bos_token_id": 1, "eos_token_id": 2,
            "hidden_size": WIDTH, "intermediate_size": MLP, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
            "num_key_value_heads": KEYS, "max_position_embeddings": 64, "rms_norm_eps": EPSILON, "tie_word_embeddings": False,
            "vocab_size": self.vocabulary}))
        header, body = {}, b""
        for name, tensor in sorted(self.weights.items()):
            values = struct.pack(f"<{tensor.numel()}f", *tensor.flatten().tolist())
            header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [len(body), len(body) + len(values)]}
            body += values
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + body)

    @torch.inference_mode()  # A third of the time of such small products would be what autograd notes of them.
    def read(self, ids, cache):
        """Log p of the token after these, which follow those of the cache; and the cache with them."""
        weight = lambda layer, name: self.wide[f"model.layers.{layer}.{name}.weight"]
        norm = lambda x: x * torch.rsqrt(x.square().mean(-1, keepdim=True) + EPSILON)
        h = self.wide["model.embed_tokens.weight"][torch.tensor(ids)]
        grown = []
        for layer in range(LAYERS):
            x = norm(h)
            q, k, v = (x @ weight(layer, f"self_attn.{one}_proj").T for one in "qkv")
            if cache:
                k, v = torch.cat([cache[layer][0], k]), torch.cat([cache[layer][1], v])
            grown.append((k, v))
            spread = lambda rows, heads: rows.view(len(rows), heads, HEAD).transpose(0, 1)
            keys, values = (spread(one, KEYS).repeat_interleave(HEADS // KEYS, 0) for one in (k, v))
            logits = spread(q, HEADS) @ keys.transpose(1, 2) / math.sqrt(HEAD)
            before = len(k) - len(ids)
            hidden = torch.ones(len(ids), len(k)).triu(before + 1).bool()
            mixed = torch.softmax(logits.masked_fill(hidden, -math.inf), -1) @ values
            h = h + mixed.transpose(0, 1).reshape(len(ids), WIDTH) @ weight(layer, "self_attn.o_proj").T
            x = norm(h)
            gated = torch.nn.functional.silu(x @ weight(layer, "mlp.gate_proj").T) * (x @ weight(layer, "mlp.up_proj").T)
            h = h + gated @ weight(layer, "mlp.down_proj").T
        return torch.log_softmax(norm(h[-1]) @ self.wide["lm_head.weight"].T, -1), grown


def search(decoder, prompt, beams, most, eos, least):
    """Beam search with early stopping off, as transformers has it; one beam is greedy."""
    log_p, cache = decoder.read(prompt, [])
    running, finished = [(0.0, [], cache, log_p)], []
    for length in range(1, most + 1):
        candidates = []
        for place, (score, _, _, log_p) in enumerate(running):
            best = torch.topk(log_p, 4 * beams)
            for value, token in zip(best.values.tolist(), best.indices.tolist()):
                if length > least or token not in eos:
                    candidates.append((score + value, place, token))
        candidates.sort(key=lambda one: -one[0])
        following = []
        for rank, (score, place, token) in enumerate(candidates[:max(2, 1 + len(eos)) * beams]):
            tokens = running[place][1] + [token]
            if token in eos or length == most:
                if rank < beams:
                    finished.append((score / length, tokens))
            elif len(following) < beams:
                following.append((score, tokens, *reversed(decoder.read([token], running[place][2]))))
        finished = sorted(finished, key=lambda one: -one[0])[:beams]
        if beams == 1 and finished or not following:
            break
        running = following
        if len(finished) == beams and running[0][0] / length <= finished[-1][0]:
            break
    return finished[0][1]


def prediction(decoder, tokenizer, task, sample, window, beams):
    text = templates()[task].format(context=sample["context"], input=sample["input"])
    ids = [tokenizer.bos] + tokenizer.encode(text)
    if len(ids) > window:
        half = window // 2
        text = tokenizer.decode(ids[:half]) + tokenizer.decode(ids[-half:])
        ids = [tokenizer.bos] + tokenizer.encode(text)
    eos = {tokenizer.eos} | ({tokenizer.encode("\n")[-1]} if task == "samsum" else set())
    return tokenizer.decode(search(decoder, ids, beams, NEW_TOKENS[task], eos, least=int(task == "samsum")))


def f1(predicted, answer):
    def words(text):
        text = "".join(letter for letter in text.lower() if letter not in string.punctuation)
        return collections.Counter(re.sub(r"\b(a|an|the)\b", " ", text).split())
    ours, theirs = words(predicted), words(answer)
    same = (ours & theirs).total()
    return 2 * same / (ours.total() + theirs.total()) if same else 0


def rouge(predicted, answer):
    """F of ROUGE-L by PyPI's rouge: one set of the words of all longest common subsequences."""
    ours, theirs = ([" ".join(part.split()).split(" ") for part in text.split(".") if part] for text in (predicted, answer))
    if not ours or not theirs:
        return 0
    common = set()
    for reference in theirs:
        for sentence in ours:
            table = [[0] * (len(sentence) + 1) for _ in range(len(reference) + 1)]
            for i, a in enumerate(reference, 1):
                for j, b in enumerate(sentence, 1):
                    table[i][j] = table[i - 1][j - 1] + 1 if a == b else max(table[i - 1][j], table[i][j - 1])
            i, j = len(reference), len(sentence)
            while i and j:
                if reference[i - 1] == sentence[j - 1]:
                    common.add(reference[i - 1])
                    i, j = i - 1, j - 1
                elif table[i - 1][j] > table[i][j - 1]:
                    i -= 1
                else:
                    j -= 1
    recall, precision = (len(common) / len({word for sentence in text for word in sentence}) for text in (theirs, ours))
    return 2 * recall * precision / (recall + precision + 1e-8)


def classified(predicted, answer, classes):
    named = [one for one in classes if one in predicted]
    for one in named:
        if one in answer and one != answer:
            named.remove(one)
    return 1 / len(named) if answer in named else 0


def counted(predicted, answer):
    numbers = re.findall(r"\d+", predicted)
    return sum(one == answer for one in numbers) / len(numbers) if numbers else 0


def code(predicted, answer):
    lines = [line for line in predicted.lstrip("\n").split("\n") if "`" not in line and "#" not in line and "//" not in line]
    return round(100 * difflib.SequenceMatcher(None, lines[0], answer).ratio()) / 100 if lines else 0


def score(task, predicted, sample):
    if task in {"trec", "triviaqa", "samsum"}:
        predicted = predicted.lstrip("\n").split("\n")[0]
    if task in QUESTIONS:
        return max(f1(predicted, answer) for answer in sample["answers"])
    if task in SUMMARIES:
        return max(rouge(predicted, answer) for answer in sample["answers"])
    if task == "trec":
        return max(classified(predicted, answer, sample["all_classes"]) for answer in sample["answers"])
    if task in {"passage_count", "passage_retrieval_en"}:
        return max(counted(predicted, re.findall(r"\d+", answer)[0]) for answer in sample["answers"])
    return max(code(predicted, answer) for answer in sample["answers"])
