"""Small models of random weights in folders as they are published, and TinyLlama's packed files."""
import json
import pathlib
import random
import shutil
import struct


def packed(file, ids):
    """A file of TinyLlama's packed format; nothing is put around what is in it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"LITPKDS" + struct.pack("<QBQ", 1, 8, len(ids)) + struct.pack(f"<{len(ids)}H", *ids))


def make_model(folder: pathlib.Path, vocabulary, *, layers=2, heads=4, kv_heads=2, head_dim=8, mlp=48, window=64, tokenizer=None, seed=1):
    """config.json, model.safetensors in float32 and, if one is given, tokenizer.model."""
    width = heads * head_dim
    shapes = {"model.embed_tokens.weight": (vocabulary, width), "model.norm.weight": (width,), "lm_head.weight": (vocabulary, width)}
    for layer in range(layers):
        within = f"model.layers.{layer}."
        shapes |= {within + "input_layernorm.weight": (width,), within + "post_attention_layernorm.weight": (width,),
                   within + "self_attn.q_proj.weight": (width, width), within + "self_attn.o_proj.weight": (width, width),
                   within + "self_attn.k_proj.weight": (kv_heads * head_dim, width),
                   within + "self_attn.v_proj.weight": (kv_heads * head_dim, width), within + "mlp.gate_proj.weight": (mlp, width),
                   within + "mlp.up_proj.weight": (mlp, width), within + "mlp.down_proj.weight": (width, mlp)}
    draw = random.Random(seed)
    header, payload = {}, bytearray()
    for name, shape in shapes.items():
        count = shape[0] * (shape[1] if len(shape) == 2 else 1)
        values = [1 + draw.gauss(0, 0.05) if len(shape) == 1 else draw.gauss(0, 0.2) for _ in range(count)]
        begin = len(payload)
        payload += struct.pack(f"<{count}f", *values)
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [begin, len(payload)]}
    text = json.dumps(header).encode()
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + payload)
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": width, "intermediate_size": mlp,
              "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": kv_heads, "head_dim": head_dim,
              "vocab_size": vocabulary, "max_position_embeddings": window, "rms_norm_eps": 1e-5, "hidden_act": "silu",
              "tie_word_embeddings": False, "bos_token_id": 1, "eos_token_id": 2, "torch_dtype": "float32"}
    (folder / "config.json").write_text(json.dumps(config))
    if tokenizer is not None:
        shutil.copy(tokenizer, folder / "tokenizer.model")
