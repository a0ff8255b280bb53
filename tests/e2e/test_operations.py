"""docs/OPERATIONS.md as it stands: every command of the page is run, from its first to its last."""
import re
import shlex
import signal
import socket
import subprocess

import pytest

import harness
from harness import BIN, ROOT, Process, query, until

PAGE = (ROOT / "docs/OPERATIONS.md").read_text()
BLOCKS = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
FOLDER = "/srv/longreach"


class OwnPort:
    """A port for one scheduler after the other, which no other test is given meanwhile. As both sockets say SO_REUSEADDR, one that is bound and
    does not listen is in no scheduler's way."""

    def __init__(self):
        self._held = socket.socket()
        self._held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._held.bind(("127.0.0.1", 0))

    def __str__(self):
        return str(self._held.getsockname()[1])


class Machine:
    """Runs lines of the page: programs that stay are started, and take the place of those before; the rest is for a shell."""

    def __init__(self, home):
        self.home = home
        self.folder = home.path / "srv"
        self.folder.mkdir(mode=0o700)
        self.own_port = OwnPort()
        self.port = str(self.own_port)
        self.running = {}
        self.exports = []

    def run(self, line):
        line = line.replace(FOLDER, str(self.folder)).replace("7070", self.port)
        words = shlex.split(line, comments=True)
        if line == "# scheduler and workers are stopped":
            self.stop()
        elif words[0] in ("longreach-scheduler", "longreach-worker"):
            self.start(words)
        elif words[0] == "export":
            self.exports.append(line)
        else:
            self.shell(line)

    def stop(self):
        for program in reversed(list(self.running.values())):
            program.signal(signal.SIGKILL)
            program.wait()
        self.running = {}

    def start(self, words):
        if words[0] == "longreach-scheduler":
            self.stop()
            self.running = {words[0]: Process(self.home, words[0], [BIN / words[0], *words[1:]])}
            line = self.running[words[0]].next_line()
            assert line and line.startswith("listening on "), f"{words}: {self.running[words[0]].log()}"
            return
        if before := self.running.get(words[0]):
            before.stop()
        store = self.folder / "b1.db"
        known = query(store, "SELECT total(incarnation) FROM workers")
        self.running[words[0]] = Process(self.home, words[0], [BIN / words[0], *words[1:]])
        until(lambda: query(store, "SELECT total(incarnation) FROM workers") != known, "the worker has called")

    def shell(self, line):
        script = "\n".join(["set -euo pipefail", f"export PATH={BIN}:$PATH", *self.exports, line])
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=self.home.path, env=self.home.environment(),
                              timeout=harness.PATIENCE_S)
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}\n{self.home.logs()}"


@harness.needs_worker
def test_every_command_of_the_page_works(home):
    machine = Machine(home)
    for block in BLOCKS:
        for line in block.strip().splitlines():
            machine.run(line)
    # What the page led to is a sound store.
    machine.stop()
    harness.check_ledger(home, machine.folder / "b1.db")


def test_the_page_has_commands_a_config_file_and_no_other_blocks():
    # The file is read in test_contexts.py.
    assert len(BLOCKS) >= 10 and PAGE.count("```yaml\n") == 1 and PAGE.count("```") == 2 * (len(BLOCKS) + 1)


@pytest.fixture(scope="module")
def helps():
    return "".join(subprocess.run([BIN / words[0], *words[1:]], capture_output=True, text=True).stdout
                   for words in (["longreach", "reference"], ["longreach-scheduler", "--help"]))


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(--[a-z-]+)", PAGE))))
def test_options_of_the_page_exist(name, helps):
    assert name in helps, name


def test_limits_of_the_page_are_those_of_the_program():
    text = "".join((ROOT / file).read_text() for file in ("scheduler/service/limits.h", "proto/types/wire_limits.h"))
    for words, value in (("kMaxMessageBytes = 16 << 20", "16 MiB"), ("kMaxContentBytes = size_t{15} << 20", "15 MiB"), ("kMaxAttemptsOfCall = 1000", "1,000"),
                         ("kMaxJobsOfSweep = 10'000'000", "10,000,000"), ("kMaxHeaderBytes = 16 << 10", "16 KiB"), ("kMaxCallsOfConnection = 2'000", "2,000"),
                         ("kMaxConnections = 20'000", "20,000"),
                         ("kMaxCallsOpenOfStranger = 4'000", "4,000"), ("kMaxCallsOpen = 20'000", "4,000, once one was admitted 20,000"),
                         ("size_t{512} << 20", "512 MiB"), ("kHandshakePatience{15}", "15 s"),
                         ("file_bytes = 64.0 * (int64_t{1} << 30)", "64 GiB"), ("job_bytes = 256.0 * (int64_t{1} << 30)", "256 GiB")):
        assert words in text and f"| {value}" in PAGE, (words, value)
