"""What is printed on a terminal keeps to its width; what goes into a pipe does not."""
import fcntl
import os
import pty
import struct
import subprocess
import termios

import pytest

from harness import BIN, DIE_WITH_PARENT, Finished, needs_worker, run_cli


def on_a_terminal(home, columns, *command):
    """What a program writes to a terminal of so many columns (0: it does not say), line by line."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen([*DIE_WITH_PARENT, *command], cwd=home.path, stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE)
    os.close(theirs)
    written = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # The last who had it open has closed it.
            break
        if not part:
            break
        written += part
    os.close(ours)
    errors = process.stderr.read()
    assert process.wait() == 0, (written, errors)
    return written.decode().replace("\r\n", "\n").replace("\x1b[1m", "").replace("\x1b[0m", "").splitlines()


@pytest.mark.parametrize("columns", [40, 80])
def test_a_list_that_is_wider_than_the_terminal_comes_in_blocks_of_columns(home, columns):
    listed = run_cli(home, "list", "metrics").out.splitlines()
    assert max(len(line) for line in listed) > 80, "else this tests nothing"
    shown = on_a_terminal(home, columns, BIN / "longreach", "list", "metrics")
    assert max(len(line) for line in shown) <= columns, shown
    words = {word for line in listed for word in line.split()}
    assert words == {word for line in shown for word in line.split()}, "nothing is left out"
    assert on_a_terminal(home, 1000, BIN / "longreach", "list", "metrics") == listed
    assert on_a_terminal(home, 0, BIN / "longreach", "list", "metrics") == listed, "how wide it is is not known"


@pytest.mark.parametrize("command", [("longreach", "run"), ("longreach-scheduler",), pytest.param(("longreach-worker", "run"), marks=needs_worker)], ids=" ".join)
def test_help_keeps_to_the_terminal(home, command):
    words = [BIN / command[0], *command[1:], "--help"]
    whole = Finished(subprocess.run([*DIE_WITH_PARENT, *words], cwd=home.path, capture_output=True, text=True)).out.splitlines()
    assert max(len(line) for line in whole) > 120, "a pipe has each line whole"
    for columns, most in ((100, 100), (0, 80)):
        shown = on_a_terminal(home, columns, *words)
        # Names of options are not broken, nor are examples.
        texts = [line for line in shown if not line.startswith("  -") and not line.startswith("  longreach")]
        assert max(len(line) for line in texts) <= most, (columns, texts)
    assert [line.rstrip() for line in on_a_terminal(home, 1000, *words)] == [line.rstrip() for line in whole]
