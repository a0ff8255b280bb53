"""longreach-tokenizer beside SentencePiece's own package: the same ids and texts for 10,000 random strings."""
import json
import random
import struct
import subprocess
import sys

from harness import BIN, DIE_WITH_PARENT, ROOT

MODEL = ROOT / "tests/golden/nope/tokenizer/tokenizer.model"
STRINGS = 10_000


class Program:
    """Frames of worker/tokenizer/contract.h, from another language."""

    def __init__(self, model):
        self.process = subprocess.Popen([*DIE_WITH_PARENT, BIN / "longreach-tokenizer", model], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        about = self.receive()
        self.vocabulary, self.bos, self.eos, self.unknown, self.pad = struct.unpack("<5i", about)

    def receive(self):
        size, = struct.unpack("<I", self.process.stdout.read(4))
        answer = self.process.stdout.read(size)
        assert answer[:1] == b"+", answer
        return answer[1:]

    def ask(self, kind, what):
        self.process.stdin.write(struct.pack("<I", 1 + len(what)) + kind + what)
        self.process.stdin.flush()
        return self.receive()

    def encode(self, text):
        answer = self.ask(b"e", text.encode())
        return list(struct.unpack(f"<{len(answer) // 4}i", answer))

    def decode(self, ids):
        return self.ask(b"d", struct.pack(f"<{len(ids)}i", *ids)).decode()


def random_string(source):
    """Words, blanks, digits, code, other scripts, emoji, controls: anything that is a string."""
    words = ["the", "pass key", "is", "  ", "\n", "\t", "▁", "<s>", "</s>", "<0x41>", "def f(x):", "e\u0301", "ﬁ", "\u200d", "\ufeff", "\u3000"]
    ranges = [(0x20, 0x7f), (0x30, 0x3a), (0x00, 0x20), (0xa0, 0x250), (0x370, 0x530), (0x4e00, 0x4f00), (0x1f300, 0x1f650), (0x0, 0xd800)]
    parts = []
    for _ in range(source.randrange(12)):
        first, end = source.choice(ranges)
        parts.append(source.choice(words) if source.random() < 0.4
                     else "".join(chr(source.randrange(first, end)) for _ in range(source.randrange(1, 9))))
    return "".join(parts)


def test_ids_and_texts_are_those_of_the_package():
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    source = random.Random(seed)
    texts = [random_string(source) for _ in range(STRINGS)]
    ours = Program(MODEL)
    ids = [[source.randrange(ours.vocabulary) for _ in range(source.randrange(20))] for _ in range(STRINGS // 10)]
    asked = json.dumps({"model": str(MODEL), "texts": texts, "ids": ids})
    theirs = json.loads(subprocess.run([sys.executable, "-B", ROOT / "tests/support/sentencepiece_package.py"], input=asked,
                                       capture_output=True, text=True, check=True).stdout)

    assert [ours.vocabulary, ours.bos, ours.eos, ours.unknown, ours.pad] == theirs["about"]
    for text, expected, back in zip(texts, theirs["ids"], theirs["texts"], strict=True):
        assert ours.encode(text) == expected, repr(text)
        assert ours.decode(expected) == back, repr(text)
    for some, text in zip(ids, theirs["decoded"], strict=True):
        assert ours.decode(some) == text, some
    # Strings that took the way of bytes were among them.
    assert any(3 <= one < 259 for encoded in theirs["ids"] for one in encoded)


def test_it_ends_with_its_input_and_names_what_it_cannot_read(tmp_path):
    program = Program(MODEL)
    program.process.stdin.close()
    assert program.process.wait() == 0

    (tmp_path / "broken").write_bytes(b"A" * 100)
    refused = subprocess.run([BIN / "longreach-tokenizer", tmp_path / "broken"], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert refused.returncode == 1
    assert b"no SentencePiece model" in refused.stdout

    for frame in (b"\0\0\0\0", b"\xff\xff\xff\xff", struct.pack("<I", 1) + b"?", struct.pack("<I", 3) + b"dab"):
        answered = subprocess.run([BIN / "longreach-tokenizer", MODEL], input=frame, capture_output=True, check=False)
        assert answered.returncode in (0, 1), frame
        assert answered.stdout.count(b"-") >= 1, frame
