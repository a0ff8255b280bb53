"""The manual pages, read as `man` reads them: all that a program's --help has is in them, and groff has nothing to say against them."""
import functools
import os
import re
import subprocess

import pytest

from harness import BIN, HAS_WORKER

PROGRAMS = ["longreach", "longreach-scheduler"] + ["longreach-worker"] * HAS_WORKER
# Defaults in a --help are of the home of who asks.
NOBODY = {"HOME": "~", "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}


def printed(*words):
    done = subprocess.run([BIN / words[0], *words[1:]], capture_output=True, text=True, env=NOBODY)
    assert done.returncode == 0 and done.stderr == "", (words, done.stderr)
    return done.stdout


@functools.cache
def help_of(words):
    """What a --help shows: [(names, description)] of the options, [(name, description)] of the commands, and the paragraphs below them."""
    intro, *blocks = re.split(r"\n{2,}", printed(*words, "--help").strip())
    options, commands = [], []
    # Only of a command with commands any heading is a group of those.
    heading = r"(?!Examples:)\S.*" if re.search(r"SUBCOMMAND\]?$", intro) else r"(Options.*|Positionals)"
    while blocks and re.match(rf"{heading}:\n  \S", blocks[0]):
        group, entries = blocks.pop(0).split("\n", 1)
        for name, description in re.findall(r"^  (\S+).*?\s{2,}(\S.*)$", entries, re.MULTILINE):
            if group.startswith("Options"):
                options.append((name.split(","), description))
            elif group != "Positionals:":
                commands.append((name, description))
    return options, commands, blocks


def walk(*words):
    """The command, and all below it."""
    yield words
    for name, _ in help_of(words)[1]:
        yield from walk(*words, name)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of manual pages, as they are installed."""
    pages = tmp_path_factory.mktemp("man") / "man1"
    assert printed("longreach", "reference", "--man", pages) == ""
    for program in PROGRAMS[1:]:
        (pages / f"{program}.1").write_text(printed(program, "--man"))
    return pages.parent


@pytest.fixture(scope="module")
def rendered(folder):
    """{name: text}, in lines that are long enough for every heading."""
    texts = {}
    for page in (folder / "man1").iterdir():
        assert page.read_bytes().isascii(), page.name
        done = subprocess.run(["groff", "-ww", "-man", "-Tascii", "-P-cbou", "-rLL=300n", page], capture_output=True, text=True)
        assert done.returncode == 0 and done.stderr == "", (page.name, done.stderr)
        texts[page.stem] = done.stdout
    return texts


def section_of(texts, words):
    """What the pages say of a command: a page, or, of what has none of its own, the part below its heading there."""
    for end in range(len(words), 0, -1):
        page = texts.get("-".join(words[:end]))
        if page is not None:
            break
    if end == len(words):
        return page
    heading = re.escape(" ".join(words)) + r" \[OPTIONS\].*\n"
    found = re.search(rf"^   {heading}((?:(?! {{0,3}}\S).*\n)*)", page, re.MULTILINE)
    assert found, f"{words} is not in the page of {words[:end]}"
    return found[1]


def test_every_program_and_every_command_of_the_client_has_one(folder):
    commands = {f"longreach-{name}" for name, _ in help_of(("longreach",))[1]}
    assert len(commands) > 30
    assert {page.name for page in (folder / "man1").iterdir()} == {f"{name}.1" for name in commands.union(PROGRAMS)}


@pytest.mark.parametrize("program", PROGRAMS)
def test_all_that_the_help_says_is_in_the_pages(program, rendered):
    told = 0
    for words in walk(program):
        section = section_of(rendered, words)
        tags = re.findall(r"^ +(-[^\s,]+(?:, -[^\s,]+)*)", section, re.MULTILINE)
        text = " ".join(section.split())
        options, commands, below = help_of(words)
        for names, description in options:
            if names == ["-h", "--help"] and "-".join(words) not in rendered:
                continue  # Of the page's own options it is one.
            assert ", ".join(names) in tags, (words, names)
            assert " ".join(description.split()) in text, (words, names)
            told += 1
        if "-".join(words) in rendered:
            for paragraph in below:
                assert " ".join(paragraph.removeprefix("Examples:").split()) in text, (words, paragraph)
        for name, description in commands:
            description = " ".join(description.removesuffix(".").split())
            assert description in " ".join(section_of(rendered, (*words, name)).split()), (words, name)
            assert words != ("longreach",) or f"longreach-{name}(1) {description}" in text, name
    assert told >= 10


@pytest.mark.parametrize("words", [["longreach"], ["longreach", "run"], ["longreach-scheduler"]], ids="-".join)
def test_man_finds_them_and_whatis_reads_them(words, folder):
    shown = subprocess.run(["man", "-M", folder, *words], capture_output=True, text=True, env={**NOBODY, "MANPAGER": "cat", "MANWIDTH": "100"})
    assert shown.returncode == 0 and shown.stdout.startswith("-".join(words).upper() + "(1)"), shown
    page = folder / "man1" / ("-".join(words) + ".1")
    assert subprocess.run(["lexgrog", page], capture_output=True, text=True, check=True).stdout.startswith(f'{page}: "{"-".join(words)} - ')


def test_what_is_copied_from_a_page_is_what_a_shell_takes(folder):
    """On a terminal of UTF-8 too, where roff would make a hyphen of '-' and curved quotes of '\\''."""
    done = subprocess.run(["groff", "-ww", "-man", "-Tutf8", "-P-cbou", folder / "man1/longreach-run.1"], capture_output=True, text=True, env=NOBODY)
    assert done.stderr == "" and done.stdout.isascii()
    assert "longreach run table-b1 --store b1.db --set training.steps=1000 --set seed=0\n" in done.stdout


def test_no_word_is_broken_in_two(folder):
    pages = sorted((folder / "man1").iterdir())
    assert len(pages) > 30
    for page in pages:
        done = subprocess.run(["groff", "-man", "-Tutf8", "-P-cbou", "-rLL=60n", page], capture_output=True, text=True, env=NOBODY)
        assert done.returncode == 0 and not re.findall(r"\S+\u2010$", done.stdout, re.MULTILINE), page.name


def test_they_are_the_same_bytes_wherever_they_are_made(folder, tmp_path):
    for program in PROGRAMS[1:]:
        assert printed(program, "--man") == (folder / "man1" / f"{program}.1").read_text()
    printed("longreach", "reference", "--man", tmp_path)
    for page in tmp_path.iterdir():
        assert page.read_bytes() == (folder / "man1" / page.name).read_bytes(), page.name
