"""The units of deploy/systemd, without a systemd that runs them: it reads them, and what they start is started with their command lines."""
import os
import re
import shutil
import subprocess

import pytest

import harness
from harness import BIN, ROOT, Scheduler, query

UNITS = ROOT / "deploy/systemd"
SERVICES = ["longreach-scheduler", "longreach-worker", "longreach-backup"]


def settings(unit):
    """[(name, value)]"""
    return re.findall(r"^([A-Za-z]+)=(.*)$", unit.read_text(), re.MULTILINE)


def values(unit, name):
    return [value for key, value in settings(unit) if key == name]


def words(line, state, **variables):
    """A command line as systemd hands it over: with specifiers and variables, and quotes of its own kind."""
    assert "\\" not in line, f"the test does not know what this means: {line}"
    line = re.sub(r"%(.)", lambda specifier: {"S": str(state), "%": "%"}[specifier[1]], line.replace("/opt/longreach/bin", str(BIN)))
    found = []
    for quoted, plain in re.findall(r"'([^']*)'|(\S+)", line):
        if plain.startswith("$") and not plain.startswith(("$$", "${")):
            found += variables[plain[1:]].split()
            continue
        word = re.sub(r"\$\{(\w+)\}", lambda match: variables[match[1]], quoted or plain)
        found.append(word.replace("$$", "$"))
    return found


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze")
def test_systemd_understands_every_line_of_the_units(home):
    """Of a misspelt setting systemd says something, and goes on without it."""
    for unit in [*UNITS.glob("*.service"), *UNITS.glob("*.timer")]:
        (home.path / unit.name).write_text(unit.read_text().replace("/opt/longreach/bin/longreach-worker", "/bin/true").replace("/opt/longreach/bin", str(BIN)))
    for drop_in in UNITS.glob("*-tls.conf"):
        folder = home.path / f"{drop_in.name.removesuffix('-tls.conf')}.service.d"
        folder.mkdir()
        shutil.copy(drop_in, folder / "tls.conf")
    units = sorted(str(unit) for unit in home.path.iterdir() if unit.is_file())
    read = subprocess.run(["systemd-analyze", "verify", "--man=no", *units], capture_output=True, text=True, env={**os.environ, "SYSTEMD_UNIT_PATH": f"{home.path}:"})
    about_ours = [line for line in (read.stdout + read.stderr).splitlines() if "longreach" in line]
    assert read.returncode == 0 and about_ours == [], read


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_has_no_rights_beyond_what_it_needs(name):
    lines = [f"{key}={value}" for key, value in settings(UNITS / f"{name}.service")]
    for line in ("NoNewPrivileges=yes", "ProtectSystem=strict", "ProtectHome=yes", "PrivateTmp=yes", "ProtectProc=invisible", "RestrictNamespaces=yes", "RestrictSUIDSGID=yes",
                 "SystemCallFilter=@system-service", "SystemCallErrorNumber=EPERM", "UMask=0077"):
        assert line in lines, line
    assert ("DynamicUser=yes" in lines and "CapabilityBoundingSet=" in lines) != (name == "longreach-backup")


def test_the_scheduler_takes_options_from_its_settings_and_makes_the_folder_of_copies(home):
    unit = UNITS / "longreach-scheduler.service"
    (home.path / "longreach-scheduler").mkdir()
    for line in values(unit, "ExecStartPre"):
        subprocess.run(words(line, home.path), check=True)
    assert (home.path / "longreach-scheduler/backup").stat().st_mode & 0o777 == 0o700
    (line,) = values(unit, "ExecStart")
    scheduler = harness.Process(home, "scheduler", words(line, home.path, LONGREACH_SCHEDULER_OPTIONS=f"--max-artifact-bytes 1G --listen unix:{home.path}/s"))
    assert scheduler.next_line() == f"listening on unix:{home.path}/s", scheduler.log()
    assert scheduler.stop() == 0 and harness.is_made(home.path / "longreach-scheduler/longreach.db")
    assert words(line, home.path, LONGREACH_SCHEDULER_OPTIONS="")[-1].endswith("longreach.db")


def backup(home, address, **variables):
    """What longreach-backup.service does: its first command, and after success the second."""
    unit = UNITS / "longreach-backup.service"
    environment = {"PATH": "/usr/bin:/bin", **dict(line.split("=", 1) for line in values(unit, "Environment")), "LONGREACH_SCHEDULER": address, **variables}
    for name in ("ExecStart", "ExecStartPost"):
        (line,) = values(unit, name)
        ended = subprocess.run(words(line, home.path), env=environment, capture_output=True, text=True)
        if ended.returncode != 0:
            return ended
    return ended


def test_a_backup_adds_a_copy_and_keeps_the_newest(home):
    folder = home.path / "longreach-scheduler/backup"
    folder.mkdir(parents=True)
    scheduler = Scheduler(home, store="longreach-scheduler/longreach.db")
    submitted = harness.run_cli(home, "submit", "noop", "--set", "seed=0", scheduler=scheduler)
    assert submitted.code == 0, submitted
    old = [folder / f"2020010{day}T000000Z.db" for day in (1, 2, 3)]
    for file in [*old, folder / "mine.db"]:
        file.write_text("")

    ended = backup(home, scheduler.address, KEEP="3")

    assert ended.returncode == 0, ended
    (made,) = set(folder.iterdir()) - {*old, folder / "mine.db"}
    assert re.fullmatch(r"\d{8}T\d{6}Z\.db", made.name) and query(made, "SELECT name FROM sweeps") == [("noop",)]
    assert [file for file in old if file.exists()] == old[1:] and (folder / "mine.db").exists(), "what somebody else has put there stays"


@pytest.mark.parametrize("keep", ["", "0", "all", "-1"])
def test_no_copy_is_removed_where_the_settings_say_no_number_of_them(home, keep):
    folder = home.path / "longreach-scheduler/backup"
    folder.mkdir(parents=True)
    scheduler = Scheduler(home, store="longreach-scheduler/longreach.db")
    old = folder / "20200101T000000Z.db"
    old.write_text("")

    ended = backup(home, scheduler.address, KEEP=keep)

    assert ended.returncode != 0 and f"KEEP={keep} is no number from 1 on" in ended.stderr, ended
    assert old.exists() and len(list(folder.iterdir())) == 2, "the new one stays too"


def test_where_no_scheduler_answers_the_old_copies_stay(home):
    folder = home.path / "longreach-scheduler/backup"
    folder.mkdir(parents=True)
    for day in range(1, 4):
        (folder / f"2020010{day}T000000Z.db").write_text("")
    ended = backup(home, f"unix:{home.path}/nobody", KEEP="1")
    assert ended.returncode == 3 and "no scheduler at" in ended.stderr, ended
    assert len(list(folder.iterdir())) == 3
