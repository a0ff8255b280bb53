"""Runs build/*/bin/storage_faults, which harms stores in one process, and its like."""
import json
import subprocess

from harness import BIN

PATIENCE_S = 1800


def storage_faults(*arguments, broken=False):
    return figures_of("storage_faults", *arguments, broken=broken)


def figures_of(program, *arguments, broken=False):
    """What it prints at its end. `broken`: promises must be seen to break; else the lines that say which broke, and how to repeat each, are the
    failure's text."""
    ended = subprocess.run([BIN / program, *map(str, arguments)], capture_output=True, text=True, timeout=PATIENCE_S)
    assert ended.returncode == (1 if broken else 0), f"exit code {ended.returncode}\n{ended.stdout[-8000:]}\n{ended.stderr[-2000:]}"
    return json.loads(ended.stdout.splitlines()[-1])
