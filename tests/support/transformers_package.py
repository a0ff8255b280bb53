"""What PyPI's transformers computes with folders of models, in a process of its own.

Reads {"cases": [{"folder": DIR, "windows": [[id, ...], ...], "scored": N, "unrotated": bool}, ...]} and writes {"cases": [...]} with, for each, {"loss":
mean of the last N losses of all windows, in nats, "unused": tensors that it left out}. With "unrotated" its rotation is replaced by nothing, as the
NoPE authors do. Where transformers or torch cannot be imported it writes {"missing": why}.
"""
import json
import logging
import sys

try:
    import torch
    import transformers
    from transformers.models.llama import modeling_llama
except Exception as error:
    json.dump({"missing": str(error)}, sys.stdout)
    sys.exit()

torch.set_num_threads(1)
rotate = modeling_llama.apply_rotary_pos_emb
logging.disable(logging.WARNING)
answers = []
for case in json.load(sys.stdin)["cases"]:
    modeling_llama.apply_rotary_pos_emb = (lambda q, k, *_, **__: (q, k)) if case["unrotated"] else rotate
    model, about = transformers.AutoModelForCausalLM.from_pretrained(case["folder"], dtype=torch.float32, attn_implementation="eager",
                                                                     local_files_only=True, output_loading_info=True)
    assert not about["missing_keys"] and not about["mismatched_keys"], about
    losses = []
    for window in case["windows"]:
        ids = torch.tensor([window])
        with torch.no_grad():
            logits = model(ids).logits
        of_window = torch.nn.functional.cross_entropy(logits[0, :-1], ids[0, 1:], reduction="none")
        losses.append(of_window[-case["scored"]:].double().mean())
    answers.append({"loss": torch.stack(losses).mean().item(), "unused": sorted(about["unexpected_keys"])})
json.dump({"cases": answers}, sys.stdout)
