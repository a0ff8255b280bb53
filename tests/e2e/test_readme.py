"""README.md as a newcomer follows it: its commands as they stand, in order, in one folder; sweeps at a token budget."""
import re
import shlex
import subprocess
import urllib.request
import zipfile

import harness
from browser import Dashboard
from harness import BIN, ROOT, Process, query, until
from test_operations import OwnPort

PAGE = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```(sh|yaml)\n(.*?)```", PAGE, re.DOTALL)
# What makes a sweep small, beside what a line says itself: of the 945 jobs those of one cell of the table are enough.
TOKENS = {
    "table-b1": {"task": "even_pairs", "encoding": "log_kerple", "training.steps": 2, "training.batch_size": 8, "evaluation.lengths": "41..42",
                 "evaluation.examples": 16},
    "mine.yaml": {"training.steps": 2, "training.batch_size": 8, "evaluation.lengths": "21..22", "evaluation.examples": 8},
}
# Sweeps that read data sets which nobody has made here are planned in place of being run.
PLANNED = {"quickstart-language", "quickstart-images", "nope-small", "table-1"}

pytestmark = harness.needs_worker


def tokens(words):
    """Options that make the sweep of a line small."""
    said = " ".join(words)
    return [word for field, value in TOKENS[words[2]].items() if f" {field}=" not in said for word in ("--set", f"{field}={value}")]


class Newcomer:
    def __init__(self, home):
        self.home = home
        self.own_port = OwnPort()
        self.port = str(self.own_port)
        self.exports = []
        self.done = []

    def follow(self, line):
        line = line.replace("7070", self.port).replace("/data/", f"{self.home.path}/").replace("/var/lib/longreach-worker", f"{self.home.path}/worker")
        words = shlex.split(line.replace("--name enwik8", "--name a-text"), comments=True)  # Under its own name only the real one is taken.
        if not words or words[0] == "make":
            return
        if words[0] in ("longreach-scheduler", "longreach-worker"):
            program = Process(self.home, words[0], [BIN / words[0], *words[1:]])
            if words[0] == "longreach-scheduler":
                assert program.next_line().startswith("listening on "), program.log()
                self.exports.append(f"export LONGREACH_SCHEDULER=localhost:{self.port}")
        elif words[:2] == ["longreach", "dashboard"]:
            dashboard = Dashboard(self.home, *words[2:])
            with urllib.request.urlopen(dashboard.url) as answer:
                assert answer.status == 200
            assert dashboard.stop() == 128 + 15
        elif words[0] == "export":
            # The programs are those of this build, wherever it lies.
            self.exports.append("unset LONGREACH_SCHEDULER; " + line if "LONGREACH_STORE" in line else f"export PATH={BIN}:$PATH")
        else:
            self.shell(self.small(words))
        self.done.append(" ".join(words[:2]))

    def small(self, words):
        if words[1] in ("run", "submit", "plan") and words[2] in TOKENS:
            return shlex.join([*words, *tokens(words)])
        if words[1] == "run" and words[2] in PLANNED:
            return shlex.join(["longreach", "plan", words[2]])
        if words[1] in ("explain", "verify"):
            return shlex.join(["longreach", words[1], query(self.home.path / "mine.db", "SELECT id FROM jobs ORDER BY num LIMIT 1")[0][0]])
        return shlex.join(words)

    def shell(self, line):
        script = "\n".join(["set -euo pipefail", f"cd {shlex.quote(str(self.home.path))}", *self.exports, line])
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=self.home.environment(), timeout=harness.PATIENCE_S * 5)
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}\n{self.home.logs()}"
        return done.stdout


def test_every_command_works_from_the_first_to_the_last(home):
    newcomer = Newcomer(home)
    with zipfile.ZipFile(home.path / "enwik8.zip", "w") as archive:
        archive.writestr("enwik8", "In the beginning was the word, and it was long. " * 2000)
    for language, block in BLOCKS:
        if language == "yaml":
            name = re.match(r"# (\S+)\n", block).group(1)
            (home.path / name).write_text(block)
            continue
        for line in block.strip().splitlines():
            # Its figure is drawn in test_attention.py, of a job that exists.
            if not line.startswith("longreach attention"):
                newcomer.follow(line)
    assert {"longreach plan", "longreach run", "longreach results", "longreach submit", "longreach watch", "longreach data", "longreach plot",
            "longreach compare", "longreach reach", "longreach explain", "longreach verify", "longreach dashboard"} <= set(newcomer.done)
    # Alone and by a scheduler with a worker, the same jobs.
    until(lambda: query(home.path / "b1.db", "SELECT count(*) FROM jobs WHERE state <> 'succeeded'") == [(0,)], "all jobs are done")
    assert query(home.path / "b1.db", "SELECT count(*) FROM jobs") == query(home.path / "tiny.db", "SELECT count(*) FROM jobs") == [(9,)]
    # One sweep, the same with two layers, and with decoders.
    assert query(home.path / "mine.db", "SELECT count(*) FROM jobs") == [(3 * (2 * 3 * 2 * 2),)]


def test_commands_for_plots_draw_what_is_there(home):
    page = (ROOT / "docs/howto/plot.md").read_text()
    newcomer = Newcomer(home)
    newcomer.exports = [f"export PATH={BIN}:$PATH", "export LONGREACH_STORE=$PWD/b1.db"]
    run = ["longreach", "run", "table-b1"]
    newcomer.shell(shlex.join([*run, *tokens(run)]))
    commands = [line for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL) for line in block.strip().splitlines() if line.startswith("longreach plot table-b1")]
    assert commands
    for line in commands:
        newcomer.shell(line)
        assert (home.path / shlex.split(line)[shlex.split(line).index("--file") + 1]).stat().st_size > 0, line
    # Others are of presets that take hours: these exist, and so do the options.
    for line in re.findall(r"^longreach (?:plot|results) .*$", page, re.MULTILINE):
        for option in re.findall(r"--[a-z-]+", line):
            assert option in newcomer.shell("longreach plot --help; longreach results --help"), line
