"""What PyPI's sentencepiece says, in a process of its own: its library and that of gRPC's tools cannot be in one.

Reads {"model": FILE, "texts": [...], "ids": [[...], ...]} and writes {"about": {...}, "ids": [[...], ...], "texts": [...], "decoded": [...]}:
the ids of the texts, these as texts again, and the texts of the ids.
"""
import json
import sys

import sentencepiece

asked = json.load(sys.stdin)
pieces = sentencepiece.SentencePieceProcessor(model_file=asked["model"])
encoded = [pieces.encode(text) for text in asked["texts"]]
json.dump({"about": [pieces.vocab_size(), pieces.bos_id(), pieces.eos_id(), pieces.unk_id(), pieces.pad_id()],
           "ids": encoded,
           "texts": [pieces.decode(ids) for ids in encoded],
           "decoded": [pieces.decode(ids) for ids in asked["ids"]]}, sys.stdout)
