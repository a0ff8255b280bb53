"""docs/reference/programs.md, made of what the programs print: python3 tests/support/programs_page.py > docs/reference/programs.md"""
import subprocess
import sys

from harness import BIN

COMMANDS = ("longreach-scheduler", "longreach-worker", "longreach-worker run", "longreach-worker bench", "longreach-worker devices")


def programs_page():
    page = ("# Options of `longreach-scheduler` and `longreach-worker`\n\n"
            "Made from the programs themselves: `python3 tests/support/programs_page.py > docs/reference/programs.md`. A test fails when the two\n"
            "differ. What `longreach` is told is in [its own reference](cli.md), with `longreach data` and `longreach export`, which pass their\n"
            "arguments on to the worker's program.\n")
    for command in COMMANDS:
        program, *rest = command.split()
        text = subprocess.run([BIN / program, *rest, "--help"], check=True, capture_output=True, text=True, env={"HOME": "~"}).stdout
        lines = "\n".join(line.rstrip() for line in text.strip().split("\n"))
        page += f"\n## {command}\n\n```\n{lines}\n```\n"
    return page


if __name__ == "__main__":
    sys.stdout.write(programs_page())
