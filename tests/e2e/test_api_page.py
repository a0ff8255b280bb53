"""What docs/howto/api.md shows, done: its commands and its program, as they stand there but for the address."""
import re
import shlex
import types

import grpc
import pytest

from harness import ROOT, Scheduler, Worker, grpcurl, messages

PAGE = (ROOT / "docs/howto/api.md").read_text()
ADDRESS = "localhost:7070"


def test_its_questions_by_hand_are_answered_as_it_says(home):
    scheduler = Scheduler(home, listen="localhost:0")
    commands = re.findall(rf"^grpcurl -plaintext (.*{ADDRESS}.*)$", PAGE, re.MULTILINE)
    assert len(commands) == 3
    for command in commands:
        words = shlex.split(command)
        at = words.index(ADDRESS)
        answer = grpcurl(home, scheduler, *words[at + 1:], data=words[1] if words[0] == "-d" else None)
        assert answer.code == 0, answer
    assert answer.out in PAGE, "the plan, as printed"


def test_its_program_submits_watches_and_reads_a_table(home, capsys):
    scheduler = Scheduler(home, listen="localhost:0")
    Worker(home, scheduler)
    messages("api")  # Makes the modules that the program imports.
    program = re.search(rf"```python\n(.*?{ADDRESS}.*?)```", PAGE, re.DOTALL)[1]
    assert "steps=400" in program
    exec(program.replace(ADDRESS, scheduler.address).replace("steps=400", "steps=2"), {})
    printed = capsys.readouterr().out
    number = re.compile(r"\d+\.\d %")
    shown = re.search(r"^4 of 4 jobs.*?(?=```)", PAGE, re.MULTILINE | re.DOTALL)[0]
    assert number.sub("N %", printed) == number.sub("N %", shown)


def test_its_patience_is_for_a_scheduler_that_is_away_alone():
    code = re.search(r"```python\n(import time\n.*?)\nsweeps = ", PAGE, re.DOTALL)[1]
    paused = []
    names = {"grpc": grpc}
    exec(code, names)
    names["time"] = types.SimpleNamespace(sleep=paused.append)

    class Refusal(grpc.RpcError):
        def __init__(self, code):
            super().__init__(code)
            self.code = lambda: code

    def refusing(*codes):
        left = list(codes)

        def call(request, timeout):
            if left:
                raise Refusal(left.pop(0))
            return request, timeout
        return call

    codes = grpc.StatusCode
    assert names["patiently"](refusing(codes.UNAVAILABLE, codes.CANCELLED), "asked") == ("asked", 60)
    assert paused == sorted(paused) and len(set(paused)) == 2, "a pause that grows"
    with pytest.raises(Refusal) as refusal:
        names["patiently"](refusing(codes.NOT_FOUND), "asked")
    assert refusal.value.code() == codes.NOT_FOUND and len(paused) == 2
    with pytest.raises(Refusal):
        names["patiently"](refusing(*[codes.CANCELLED] * 6), "asked")
    assert len(paused) == 2 + 5
