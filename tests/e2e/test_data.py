"""Data sets with the real programs: importing, looking after them, and how workers and schedulers come to know of them."""
import gzip
import json
import re
import shlex
import zlib
import zipfile

import pytest

import harness
from harness import BIN, ROOT, Home, Process, Scheduler, Worker, run, run_cli, until
from shifted_clock import hurried

pytestmark = harness.needs_worker

PAGE = (ROOT / "docs/howto/import-data.md").read_text()
COMMANDS = [line for block in re.findall(r"^```sh\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL) for line in block.splitlines()]


@pytest.fixture
def home():
    with Home() as home:
        yield home


def write(file, data):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data if isinstance(data, bytes) else data.encode())


def png(rows, cols, gray):
    """The smallest PNG: one gray for all pixels."""
    def chunk(kind, data):
        return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")

    head = cols.to_bytes(4, "big") + rows.to_bytes(4, "big") + bytes([8, 0, 0, 0, 0])
    lines = (bytes([0]) + bytes([gray]) * cols) * rows
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def data(home, *arguments):
    return run_cli(home, "data", *arguments)


def listed(home):
    return {entry["name"]: entry for entry in data(home, "list", "-o", "json").json()["data_sets"]}


def test_the_commands_of_the_page_do_what_it_says(home):
    for name in ("a", "b"):
        write(home.path / f"novels/{name}.txt", name * 5000)
    with zipfile.ZipFile(home.path / "enwik8.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("enwik8", b"x" * 1000)  # The real one is 36 MB.
    for number in range(5):
        write(home.path / f"pets/cat/{number}.png", png(30, 40, number))
        write(home.path / f"pets/dog/{number}.png", png(40, 30, 255 - number))
        write(home.path / f"ILSVRC2012/train/n0{number}/1.JPEG", png(50, 50, number))
        write(home.path / f"ILSVRC2012/val/{number}.JPEG", png(50, 50, number))
    write(home.path / "ILSVRC2012/LOC_val_solution.csv",
          "ImageId,PredictionString\n" + "".join(f"{n},n0{n} 1 2 3 4\n" for n in range(5)))
    write(home.path / "ILSVRC2012/train/n00/broken.JPEG", "")
    for split, first in (("train", 1), ("test", 9)):
        write(home.path / f"{split}.jsonl", "".join(json.dumps({"input": f"{n}+7=", "output": str(n + 7)}) + "\n" for n in range(first, first + 5)))
        write(home.path / f"{split}.tsv", "".join(f"{'1 0 ' * n}\t{n % 2}\n" for n in range(first, first + 5)))
    # In the page's order: what each needs from before, and how it ends when it is not done.
    refused = {"import text enwik8.zip": "is not enwik8: it has 1000 bytes instead of 100000000",
               "ILSVRC2012 --name imagenet\n": "broken.JPEG: the file is empty",
               "remove novels": "there is no data set 'novels'"}
    for command in COMMANDS:
        assert command.startswith(("longreach data ", "longreach plan ")), command
        done = run(home, "sh", "-c", f"PATH={shlex.quote(str(BIN))}:$PATH; {command}")
        expected = [text for part, text in refused.items() if part in command + "\n"]
        if expected:
            assert done.code != 0 and expected[0] in done.err, f"{command}: {done}"
        else:
            assert done.code == 0, f"{command}: {done}"
    assert set(listed(home)) == {"novels", "more", "imagenet", "pets", "debian-text", "far-rows", "rows-2", "my-addition", "my-parity"}
    assert listed(home)["imagenet"]["contents"] == "5 + 5 images of 5 classes at 22x22,22x23,45x44,45x45"
    assert (home.path / "first.pgm").read_bytes() == b"P5\n16 16\n255\n" + (home.path / "first.pgm").read_bytes()[-256:]


def test_errors_have_the_exit_codes_and_forms_of_all_commands(home):
    write(home.path / "a.txt", "a" * 1000)
    assert data(home, "import", "text", "a.txt", "--name", "a").code == 0
    again = data(home, "import", "text", "a.txt", "--name", "a", "-o", "json")
    assert again.code == 1 and json.loads(again.err)["error"]["code"] == "ALREADY_EXISTS", again
    assert data(home, "import", "text", "a.txt", "--name", "a/b").code == 2
    assert data(home, "import", "text", "a.txt", "--name", "b", "--split", "1,2").code == 2
    both = data(home, "import", "tokens", "--test", "a.txt", "--split", "50,50", "--vocabulary", "256", "--name", "b")
    assert both.code == 2 and "with --test nothing is split" in both.err, both
    assert data(home, "import", "text", "none.txt", "--name", "b").code == 4
    assert data(home, "check", "none").code == 4
    assert data(home, "ensure", "imagenet").code == 4
    shown = data(home, "show", "a", "0")
    assert shown.code == 2 and "is of the kind 'text', and 'images' is needed" in shown.err, shown
    # What lies there is damaged behind our back.
    corpus = home.path / "share/longreach/data/a/corpus.bin"
    corpus.write_bytes(b"b" * 1000)
    checked = data(home, "check")
    assert checked.code == 1 and f"{corpus}: its bytes have changed" in checked.err, checked
    # Others are looked at all the same.
    assert data(home, "import", "text", "a.txt", "--name", "z").code == 0
    checked = data(home, "check", "-o", "json")
    assert checked.code == 1 and json.loads(checked.out)["checked"] == ["z"], checked
    assert [one.split(":")[0] for one in json.loads(checked.out)["damaged"]] == ["a"]


def test_pairs_are_imported_listed_shown_and_checked(home):
    write(home.path / "train.jsonl", '{"input": "1+1=", "output": "2"}\n{"input": [1, "+", "é"], "output": ["10", 0]}\n')
    write(home.path / "a.tsv", "1+1=\t2\n")
    write(home.path / "b.tsv", "é+10=\t1\n9+1=\t10\n")
    done = data(home, "import", "pairs", "train.jsonl", "--test", "a.tsv", "b.tsv", "--name", "sums")
    assert done.code == 0 and "sums: 2 + 3 pairs of lengths 3..4 + 4..5, 6 input and 4 output symbols and an end, SHA-256 " in done.out, done
    assert "outputs of one input length differ in length" in done.err, done
    assert "1 of 3 test inputs are among the training inputs, too\n" in done.err, done
    sums = listed(home)["sums"]
    assert sums["lengths"]["test"] == [{"length": 4, "pairs": 2, "shortest_output": 1, "longest_output": 2},
                                       {"length": 5, "pairs": 1, "shortest_output": 1, "longest_output": 1}]
    assert sums["input_symbols"] == ["+", "0", "1", "9", "=", "é"] and sums["ends"] and sums["test_inputs_in_training"] == 1
    # The same by commas, under another name.
    done = data(home, "import", "pairs", "train.jsonl", "--test=a.tsv,b.tsv", "--name", "again", "-o", "json")
    assert done.json()["data_set"]["sha256"] == sums["sha256"], done
    shown = data(home, "show", "sums", "1")
    assert shown.code == 0 and json.loads(shown.out) == {"input": ["9", "+", "1", "="], "output": ["1", "0"]}, shown
    shown = data(home, "show", "sums", "0", "--train", "-o", "json")
    assert shown.json()["pair"] == {"input": ["1", "+", "é"], "output": ["10", "0"]}, shown
    beyond = data(home, "show", "sums", "3")
    assert beyond.code == 2 and "pair 3 of 3; they count from 0" in beyond.err, beyond
    write(home.path / "bad.tsv", "1\t2\n\n1 2\n")
    refused = data(home, "import", "pairs", "a.tsv", "--test", "bad.tsv", "--name", "bad")
    assert refused.code == 2 and "bad.tsv:3: has no tab" in refused.err, refused
    assert data(home, "import", "pairs", "a.tsv", "--name", "bad").code == 2
    assert data(home, "check").code == 0


def test_pairs_keep_the_positions_that_they_bring(home):
    lines = '{"input": "12+3", "output": "51", "at": [2, 1, 0, 1, 1, 2]}\n{"input": "9", "output": "9", "at": [1, 7, 3]}\n'
    write(home.path / "train.jsonl", lines)
    write(home.path / "test.jsonl", lines)
    done = data(home, "import", "pairs", "train.jsonl", "--test", "test.jsonl", "--name", "sums", "--positions-field", "at")
    assert done.code == 0 and "5 input and 3 output symbols, positions to 7, SHA-256 " in done.out, done
    assert listed(home)["sums"]["lengths"]["test"][0] == {"length": 1, "pairs": 1, "shortest_output": 1, "longest_output": 1, "highest_position": 7}
    shown = data(home, "show", "sums", "1")
    assert json.loads(shown.out) == {"input": ["1", "2", "+", "3"], "output": ["5", "1"], "positions": [2, 1, 0, 1, 1, 2, 0]}, shown
    # What is shown can be imported again: the last number is that of an end.
    for split in ([], ["--train"]):
        write(home.path / f"again{len(split)}.jsonl", "".join(data(home, "show", "sums", number, *split).out for number in "01"))
    again = data(home, "import", "pairs", "again1.jsonl", "--test", "again0.jsonl", "--name", "again", "-o", "json")
    assert again.code == 0 and again.json()["data_set"]["sha256"] == listed(home)["sums"]["sha256"], again
    write(home.path / "plain.tsv", "1\t2\n")
    mixed = data(home, "import", "pairs", "train.jsonl", "plain.tsv", "--test", "test.jsonl", "--name", "mixed", "--positions-field", "at")
    assert mixed.code == 2 and "plain.tsv:1: has no positions, and those before have some" in mixed.err, mixed


def test_an_import_of_a_folder_says_which_files_it_left_out(home):
    write(home.path / "docs/a.txt", "a" * 1000)
    write(home.path / "docs/b.txt.gz", gzip.compress(b"b" * 1000))
    write(home.path / "docs/c.txt", ("c" * 1000).encode("utf-16"))
    (home.path / "docs/link.txt").symlink_to("a.txt")
    left_out = ["b.txt.gz (gzip)", "c.txt (a zero byte; UTF-16?)", "link.txt (a.txt again)"]

    done = data(home, "import", "text", "docs", "--name", "a")
    assert done.code == 0 and f"3 files left out: {', '.join(left_out)}\n" in done.err, done
    as_json = data(home, "import", "text", "docs", "--name", "b", "-o", "json")
    assert as_json.json()["data_set"]["skipped"] == left_out == listed(home)["a"]["skipped"], as_json
    quiet = data(home, "import", "text", "docs", "--name", "c", "-q")
    assert quiet.code == 0 and quiet.err == "", quiet

    # Of many the first five are named.
    for number in range(4):
        (home.path / f"docs/z{number}").symlink_to("a.txt")
    done = data(home, "import", "text", "docs", "--name", "d")
    assert f"7 files left out: {', '.join(left_out)}, z0 (a.txt again), z1 (a.txt again) and 2 more\n" in done.err, done


def test_a_killed_import_goes_on_and_comes_to_the_same_bytes(home):
    shards = home.path / "share/longreach/data/.importing-rows"
    images = 30_000
    while True:
        importing = [BIN / "longreach-worker", "data", "import", "synthetic-images", "--name", "rows", "--train", images, "--sizes", "6x6"]
        killed = Process(home, "import", importing)
        until(lambda: list(shards.glob("*.images.json")) or not killed.is_running(), "the first shard is done")
        killed.kill()
        if listed(home) == {}:
            break
        # A machine may be so busy that it is killed too late: then one of more images.
        assert data(home, "remove", "rows").code == 0
        images *= 2

    done = run(home, *importing)

    assert done.code == 0 and "going on where an import was interrupted" in done.err, done
    other = run(home, *importing[:5], "other", *importing[6:])
    assert other.code == 0, other
    hashes = {name: entry["sha256"] for name, entry in listed(home).items()}
    assert hashes["rows"] == hashes["other"]
    assert data(home, "check").code == 0


def test_a_running_worker_announces_what_is_imported_and_keeps_to_the_first_bytes(home):
    scheduler = Scheduler(home, *harness.FREQUENT_CALLS)
    with hurried(home, "worker"):
        Worker(home, scheduler)
    write(home.path / "a.txt", "a" * 1000)
    until(lambda: run_cli(home, "workers", "-q", scheduler=scheduler).out, "the worker is there")
    assert run_cli(home, "list", "data", "-o", "json", scheduler=scheduler).json()["data_sets"] == []

    assert data(home, "import", "text", "a.txt", "--name", "novels").code == 0

    def known():
        return run_cli(home, "list", "data", "-o", "json", scheduler=scheduler).json()["data_sets"]

    until(known, "the scheduler knows of it")
    first = listed(home)["novels"]["sha256"]
    assert [(entry["name"], entry["sha256"], entry["bytes"]) for entry in known()] == [("novels", first, 1000)]

    # Another data set takes the name: the scheduler stays with the first.
    write(home.path / "b.txt", "b" * 1000)
    assert data(home, "remove", "novels").code == 0
    assert data(home, "import", "text", "b.txt", "--name", "novels").code == 0
    assert data(home, "import", "text", "b.txt", "--name", "later").code == 0
    until(lambda: len(known()) == 2, "the scheduler knows of the later one")
    assert {entry["name"]: entry["sha256"] for entry in known()}["novels"] == first != listed(home)["novels"]["sha256"]


def test_the_flag_counts_more_than_the_variable(home):
    write(home.path / "a.txt", "a" * 1000)
    for folder, command in (("here", ""), ("there", "--data-folder there")):
        done = run(home, "sh", "-c", f"LONGREACH_DATA=here {shlex.quote(str(BIN / 'longreach'))} data import text a.txt --name a {command}")
        assert done.code == 0 and (home.path / folder / "a/corpus.bin").exists(), done


def test_a_run_whose_worker_has_other_bytes_ends_and_says_so(home):
    for folder in ("first", "second"):
        write(home.path / f"{folder}.txt", f"{folder} words " * 100)
        assert data(home, "import", "text", f"{folder}.txt", "--name", "words", "--data-folder", folder).code == 0
    small = ["model.layers=1", "model.embedding_dim=16", "model.heads=2", "model.mlp_dim=16", "training.steps=1", "training.batch_size=1",
             "training.lengths=4", "evaluation.lengths=4", "evaluation.examples=1", "data=words", "encoding=none"]
    command = ["run", "table-1", *(word for setting in small for word in ("--set", setting))]
    first = run_cli(home, *command, "--set", "seed=0", "--data-folder", "first")
    assert first.code == 0, first

    second = run_cli(home, *command, "--set", "seed=1", "--data-folder", "second")

    assert second.code == 1 and "nothing can go on: job " in second.err and "has other bytes under the data set 'words'" in second.err, second
    assert "which builds these are" not in second.err, "it is data that are lacking"
    # With the first bytes it goes on.
    third = run_cli(home, *command, "--set", "seed=1", "--data-folder", "first")
    assert third.code == 0, third


@pytest.mark.parametrize("table, settings, said", [
    ("table-1", ["data=words", "training.lengths=4", "evaluation.lengths=4,9999"], "evaluation.lengths: 9999 bytes are more than the "),
    ("table-3", ["data=marks", "training.lengths=72", "evaluation.lengths=72,506"], "evaluation.lengths: the data set 'marks' has its images at 8x8 "),
    ("table-1", ["data=marks", "training.lengths=4", "evaluation.lengths=4"], "data: the data set 'marks' is of the kind 'images', and 'text' is needed"),
    ("table-3", ["data=words"], "data: the data set 'words' is of the kind 'text', and 'images' is needed"),
], ids=["text", "images", "images for a text", "a text for images"])
def test_what_the_bytes_of_a_data_set_are_not_fails_at_the_first_try_and_blames_no_worker(home, table, settings, said):
    write(home.path / "text.txt", "some words " * 100)
    assert data(home, "import", "text", "text.txt", "--name", "words").code == 0
    assert data(home, "import", "synthetic-images", "--name", "marks", "--train", "20", "--valid", "8", "--sizes", "8x8").code == 0
    scheduler = Scheduler(home)
    Worker(home, scheduler)
    small = ["model.layers=1", "model.embedding_dim=16", "model.heads=2", "model.mlp_dim=16", "training.steps=1", "training.batch_size=1", "evaluation.examples=1",
             "encoding=none", "seed=0", *settings]
    assert run_cli(home, "submit", table, *(word for setting in small for word in ("--set", setting)), scheduler=scheduler).code == 0
    assert run_cli(home, "wait", "last", scheduler=scheduler).code == 1
    (job,) = run_cli(home, "jobs", "last", "-o", "json", scheduler=scheduler).json()["jobs"]
    assert job["failure"].startswith("refused, as any worker would: " + said) and job["failures"] == 1, job


OF_ANOTHER_KIND = """
name: mine
experiment: language
data: marks
axes: {task: enwik8, encoding: [rope, none], learning_rate: 1e-3, seed: 0}
model: {layers: 1, embedding_dim: 16, heads: 2, mlp_dim: 16}
training: {steps: 1, batch_size: 1, lengths: 4}
evaluation: {lengths: [4, 9999], examples: 1}
"""


def test_a_run_says_before_it_makes_a_store_that_data_are_of_another_kind_or_too_short(home):
    write(home.path / "text.txt", "some words " * 100)
    assert data(home, "import", "text", "text.txt", "--name", "words").code == 0
    assert data(home, "import", "synthetic-images", "--name", "marks", "--train", "20", "--valid", "8", "--sizes", "8x8").code == 0
    write(home.path / "mine.yaml", OF_ANOTHER_KIND)

    kind = run_cli(home, "run", "mine.yaml")

    assert kind.code == 2 and "error: mine.yaml:4:" in kind.err and "data: the data set 'marks' is of the kind 'images', and 'text' is needed\n  nothing was submitted\n" in kind.err, kind
    short = run_cli(home, "run", "mine.yaml", "--set", "data=words")
    assert short.code == 2 and "error: mine.yaml:8:" in short.err and "evaluation.lengths: 9999 bytes are more than the " in short.err, short
    images = run_cli(home, "run", "table-3", "--set", "data=words", "--set", "model.layers=1")  # At the usual lengths, which the sweep does not name.
    assert images.code == 2 and "error: data: the data set 'words' is of the kind 'text', and 'images' is needed\n" in images.err, images
    assert not (home.path / "longreach.db").exists()
    done = run_cli(home, "run", "mine.yaml", "--set", "data=words", "--set", "evaluation.lengths=4", "-o", "json")
    assert done.code == 0 and set(done.json()) == {"schema", "sweep", "table"}, done


def test_all_data_sets_that_are_missing_are_named_at_once_and_none_is_made(home):
    write(home.path / "a.txt", "a" * 1000)
    assert data(home, "import", "text", "a.txt", "--name", "pg19").code == 0

    parts = run_cli(home, "run", "nope-tinyllama", "--store", "new.db")

    missing = ["longbench", "proof-pile", "slimpajama", "tinyllama-nope", "tinyllama-rope"]
    assert parts.code == 4 and not (home.path / "new.db").exists(), parts
    assert "error: there are no data sets " + ", ".join(f"'{name}'" for name in missing) + " in " in parts.err, parts
    kinds = ["longbench DIR", "tokens PATH", "tokens PATH", "model DIR", "model DIR"]
    assert parts.err.splitlines()[1:] == [f"  longreach data import {kind} --name {name}" for kind, name in zip(kinds, missing)], parts

    in_json = run_cli(home, "run", "nope-tinyllama", "--store", "new.db", "-o", "json")
    error = json.loads(in_json.err)["error"]
    assert in_json.code == 4 and in_json.out == "" and error["code"] == "NOT_FOUND" and f"error: {error['message']}\n" == parts.err, in_json

    one = data(home, "ensure", "pg19", "far-rows", "imagenet", "-o", "json")
    assert one.code == 4 and json.loads(one.err)["error"]["message"].startswith("there is no data set 'imagenet' in "), one
    assert set(listed(home)) == {"pg19"}, "what could be made is not, while another is missing"
    there = data(home, "ensure", "pg19", "debian-text", "-o", "json").json()["data_sets"]
    assert [(entry["data_set"]["name"], entry["made"]) for entry in there] == [("pg19", False), ("debian-text", True)]


def sections(text):
    """The lines of a program's help by their heading."""
    found, heading = {}, ""
    for line in text.splitlines():
        if re.fullmatch(r"[A-Z][A-Za-z ]*:", line):
            heading = line[:-1]
        elif line.startswith("  ") and not line.startswith("   "):
            found.setdefault(heading, []).append(line)
        elif not line:
            heading = ""
    return found


def declared(text):
    """Options and operands of a help, each with whether it must be given."""
    lines = [line for heading in ("Options", "Options for all commands", "Positionals") for line in sections(text).get(heading, [])]
    words = [re.match(r"  (\S+)(.*?)(?:\s{2,}|$)", line).groups() for line in lines]
    return {(names.split(",")[-1], kind.endswith("REQUIRED")) for names, kind in words} - {("--help", False)}


def commands(text):
    return {line.split()[0] for heading in ("Maintain", "Subcommands") for line in sections(text).get(heading, [])}


def test_the_client_declares_what_the_worker_does(home):
    """It hands arguments on by their names, so each of them stands in both programs."""
    def ours(*command):
        return run_cli(home, *command, "--help").out

    def theirs(*command):
        return run(home, BIN / "longreach-worker", *command, "--help").out

    for_all = {(name, False) for name, _ in declared(ours())}  # -o and -q, which the worker has with each command.
    assert commands(ours("data")) == commands(theirs("data")) == {"import", "ensure", "list", "check", "remove", "show"}
    kinds = commands(theirs("data", "import"))
    assert commands(ours("data", "import")) == kinds and "text" in kinds
    for command in [("import", kind) for kind in sorted(kinds)] + [("ensure",), ("list",), ("check",), ("remove",), ("show",)]:
        client, worker = declared(ours("data", *command)), declared(theirs("data", *command))
        assert client and client == worker - for_all, command
