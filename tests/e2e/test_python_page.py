"""What docs/howto/notebook.md shows, done: its programs, as they stand there but for the address, for figures and for the length of the training."""
import io
import re

import pytest

from harness import ROOT, Scheduler, Worker, run_cli
from python_package import longreach

package = longreach()
PAGE = (ROOT / "docs/howto/notebook.md").read_text()
ADDRESS = "localhost:7070"


def programs(heading):
    """The Python below a heading, without what draws: that is matplotlib's."""
    part = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)[1]
    found = re.findall(r"```python\n(.*?)```", part, re.DOTALL)
    assert found, heading
    return ["".join(line for line in one.splitlines(keepends=True) if ".plot(" not in line) for one in found]


def test_its_programs_do_what_it_says(home, capsys):
    scheduler = Scheduler(home, listen="localhost:0")
    Worker(home, scheduler)
    names = {}
    (opened,) = programs("Two ways in")
    exec(opened.replace(ADDRESS, scheduler.address), names)
    (submitted,) = programs("Submit and steer")
    assert '"steps": 400' in submitted
    exec(submitted.replace('"steps": 400', '"steps": 2'), names)
    printed = capsys.readouterr().out
    shown = re.search(r"the last line has printed:\n\n```\n(.*?)```", PAGE, re.DOTALL)[1]
    number = re.compile(r"\d+\.\d")
    assert printed.startswith("8 jobs\n") and "8 done" in printed
    assert re.sub(r" +", " ", number.sub("N", printed)).endswith(re.sub(r" +", " ", number.sub("N", shown)))

    for heading in ("Look", "Accuracy against length"):
        for program in programs(heading):
            exec(program, names)
    by_package = names["curves"]
    assert list(by_package.columns) == ["rope", "rope:randomized"] and len(by_package) == 4 and by_package.notna().all().all()
    for program in programs("Losses of training"):
        exec(program, names)
    assert list(names["curves"].index) == [1, 2]

    # From CSV the same examples go on.
    texts = {}
    for file, more in (("values.csv", []), ("losses.csv", ["--metric", "training_loss"])):
        made = run_cli(home, "results", "mine", "--jobs", *more, "-o", "csv", scheduler=scheduler)
        assert made.code == 0, made
        texts[file] = made.out
    (reading,) = programs("Without the package")
    for file, text in texts.items():
        assert f'pd.read_csv("{file}"' in reading
        names[file.partition(".")[0] + "_text"] = io.StringIO(text)
        reading = reading.replace(f'"{file}"', file.partition(".")[0] + "_text")
    exec(reading, names)
    for program in programs("Accuracy against length"):
        exec(program, names)
    assert [tuple(key) for key in names["curves"].index] == [tuple(key) for key in by_package.index]
    assert names["curves"].to_numpy() == pytest.approx(by_package.to_numpy(), rel=1e-14)
    assert len(names["losses"]) == 16

    capsys.readouterr()
    (caught,) = programs("What goes wrong")
    exec(caught, names)
    told = capsys.readouterr().out
    assert told and told in PAGE
    names["client"].close()
