"""`longreach doctor` on the real programs: what is well, and what it must find."""
import shutil
import subprocess

import pytest

import harness
from harness import BIN, DIE_WITH_PARENT, Finished, Scheduler, run, run_cli
from security import Certificates, tls_scheduler
from shifted_clock import Clock, needs_shifted_clock


def checks_of(finished):
    assert finished.code in (0, 1), finished
    document = finished.json()
    assert document["schema"] == "longreach/v1"
    checks = {check["name"]: check for check in document["checks"]}
    assert len(checks) == len(document["checks"]), "names are told once each"
    assert all(set(check) == {"name", "state", "seen", "advice"} for check in document["checks"])
    assert finished.code == int(any(check["state"] == "failed" for check in document["checks"])), finished
    return checks


def doctor(home, *arguments, scheduler=None):
    return checks_of(run_cli(home, "doctor", "-o", "json", *arguments, scheduler=scheduler))


@harness.needs_worker
def test_an_installation_is_well(home):
    checks = doctor(home, "--store", "b1.db")
    # What depends on this machine alone may be anything.
    assert not [check for name, check in checks.items() if check["state"] == "failed" and name not in ("gpu", "store", "data_folder")]
    build = run_cli(home, "version", "-o", "json").json()["build"]
    for program in ("scheduler_program", "worker_program", "trainer_program", "tokenizer_program"):
        assert (checks[program]["state"], checks[program]["seen"], checks[program]["advice"]) == ("ok", build, ""), checks[program]
    devices = run(home, BIN / "longreach-worker", "devices", "-o", "json").json()
    assert checks["cpu"]["state"] == "ok" and checks["cpu"]["seen"].endswith(f"engine {devices['cpu']['engine']}"), checks["cpu"]
    for gpu in devices["gpus"]:
        assert f"{gpu['device']} {gpu['name']}" in checks["gpu"]["seen"]
    assert devices["gpus"] or checks["gpu"]["seen"].startswith(f"none: {devices['no_gpu']}"), checks["gpu"]
    assert checks["data_folder"]["seen"].startswith(f"{home.path}/share/longreach/data is not there yet"), checks["data_folder"]
    assert checks["data_sets"]["seen"] == "0 data sets"
    assert "is not there yet" in checks["store"]["seen"] and not (home.path / "b1.db").exists()
    assert checks["scheduler"]["state"] == checks["credentials"]["state"] == "not_asked"


@harness.needs_worker
def test_the_store_that_a_run_has_made_is_looked_at_and_not_changed(home):
    assert run_cli(home, "run", "noop", "--set", "seed=0", "--store", "b1.db").code == 0
    before = (home.path / "b1.db").read_bytes()
    checks = doctor(home, "--store", "b1.db")
    assert checks["store"]["seen"].startswith("b1.db; "), checks["store"]
    assert checks["state_folder"]["state"] != "failed" and checks["state_folder"]["seen"].startswith("b1.db.worker"), checks["state_folder"]
    assert (home.path / "b1.db").read_bytes() == before


def test_where_nobody_has_asked_for_a_store_a_folder_without_room_is_no_failure(home):
    looked = Finished(subprocess.run([*DIE_WITH_PARENT, BIN / "longreach", "doctor", "-o", "json"], capture_output=True, text=True, cwd="/proc", env=home.environment(),
                                     timeout=harness.PATIENCE_S))
    assert checks_of(looked)["store"]["state"] == "warning", looked


def test_a_folder_of_programs_without_a_worker_fails(home):
    folder = home.path / "bin"
    folder.mkdir()
    for program in ("longreach", "longreach-scheduler"):
        shutil.copy(BIN / program, folder / program)
    alone = run(home, folder / "longreach", "doctor", "--store", "b1.db", "-o", "json")
    checks = checks_of(alone)
    assert alone.code == 1
    assert checks["scheduler_program"]["state"] == "ok", checks["scheduler_program"]
    assert checks["worker_program"]["state"] == "failed" and str(folder / "longreach-worker") in checks["worker_program"]["seen"]
    assert "LONGREACH_TRAINER=OFF" in checks["worker_program"]["advice"]
    assert checks["tokenizer_program"]["state"] == "warning"
    for name in ("cpu", "gpu", "data_folder", "data_sets"):
        assert checks[name]["state"] == "not_asked", checks[name]
    table = run(home, folder / "longreach", "doctor", "--store", "b1.db")
    assert table.code == 1 and "\nworker_program (failed):\n  put it beside 'longreach'" in table.out, table


@pytest.mark.parametrize("address", ["unix:nobody.sock", "127.0.0.1:1"])
def test_a_scheduler_that_was_named_and_does_not_answer_fails(home, address):
    named = Finished(subprocess.run([*DIE_WITH_PARENT, BIN / "longreach", "doctor", "-o", "json"], capture_output=True, text=True, cwd=home.path,
                                    env={**home.environment(), "LONGREACH_SCHEDULER": address}, timeout=harness.PATIENCE_S))
    assert named.code == 1, named
    checks = checks_of(named)
    assert checks["scheduler"]["state"] == "failed" and checks["scheduler"]["seen"] == f"no scheduler at {address}", checks["scheduler"]
    assert "longreach-scheduler --store FILE" in checks["scheduler"]["advice"]
    assert checks["scheduler_build"]["state"] == checks["store"]["state"] == "not_asked"


def test_a_scheduler_that_answers_is_compared(home):
    scheduler = Scheduler(home)
    checks = doctor(home, scheduler=scheduler)
    assert checks["scheduler"]["state"] != "failed" and checks["scheduler"]["seen"].startswith(f"{scheduler.address} answers, a call takes "), checks["scheduler"]
    assert checks["scheduler_build"]["state"] == "ok" and "protocol 1" in checks["scheduler_build"]["seen"], checks["scheduler_build"]
    assert checks["clock"]["state"] == "not_asked", checks["clock"]


@needs_shifted_clock
def test_a_scheduler_whose_clock_is_another_is_a_warning(home):
    clock = Clock(home, "scheduler")
    with clock.here():
        scheduler = Scheduler(home, listen="localhost:0")
    checks = doctor(home, scheduler=scheduler)
    assert checks["clock"]["state"] == "ok" and checks["clock"]["advice"] == "", checks["clock"]

    clock.set(wall_s=7200)
    checks = doctor(home, scheduler=scheduler)
    assert checks["clock"]["state"] == "warning" and checks["clock"]["seen"] == "the scheduler's is 2 h 0 min ahead of this machine's", checks["clock"]


def test_certificates_are_told_until_when_they_hold(home):
    certificates = Certificates(home)
    scheduler = tls_scheduler(home, certificates)
    checks = doctor(home, *certificates.flags("reader"), scheduler=scheduler)
    assert checks["scheduler"]["state"] != "failed", checks["scheduler"]
    shown = run_cli(home, "certs", "show", certificates["reader.crt"], certificates["ca.crt"], "-o", "json").json()["certificates"]
    for check, certificate in zip(("certificate", "authority"), shown, strict=True):
        assert checks[check]["state"] == "ok" and checks[check]["seen"].endswith(f"valid until {certificate['until']}"), checks[check]
    assert "role reader" in checks["certificate"]["seen"]
    assert checks["credentials"]["state"] == "ok"

    certificates.sign("old", role="client", end="20210101000000Z")
    certificates["old.key"].chmod(0o600)
    checks = doctor(home, *certificates.flags("old"), scheduler=scheduler)
    assert checks["certificate"]["state"] == "failed" and "expired on 2021-01-01" in checks["certificate"]["seen"], checks["certificate"]
    assert checks["scheduler"]["state"] == "failed" and checks["authority"]["state"] == "ok", checks


@harness.needs_worker
def test_a_damaged_data_set_is_named(home):
    (home.path / "words.txt").write_text("a few words\n" * 1000)
    assert run_cli(home, "data", "import", "text", "words.txt", "--name", "words").code == 0
    assert doctor(home, "--store", "b1.db")["data_sets"]["seen"] == "1 data set"
    files = [file for file in (home.path / "share/longreach/data/words").iterdir() if file.name != "manifest.json"]
    files[0].write_bytes(files[0].read_bytes()[:-1])

    found = run_cli(home, "doctor", "--store", "b1.db")
    assert found.code == 1 and "damaged: words: " in found.out and "\ndata_sets (failed):\n" in found.out, found


def test_a_misspelt_variable_is_named(home):
    misspelt = ["env", "LONGREACH_SCHEDULR=head:1", "LONGREACH_DATA=/data", "LONGREACH_LISTEN=localhost:1", BIN / "longreach"]

    check = checks_of(run(home, *misspelt, "doctor", "--store", "b1.db", "-o", "json"))["variables"]
    assert (check["state"], check["seen"], check["advice"]) == (
        "warning", "LONGREACH_SCHEDULR means nothing to any of the programs", "did you mean LONGREACH_SCHEDULER?"), check
    shown = run(home, *misspelt, "config", "show", "-o", "json").json()
    assert shown["unknown_variables"] == [{"name": "LONGREACH_SCHEDULR", "meant": "LONGREACH_SCHEDULER"}], shown


def test_few_open_files_are_a_warning(home):
    limited = Finished(subprocess.run([*DIE_WITH_PARENT, "bash", "-c", f"ulimit -n 512 && exec {BIN}/longreach doctor --store b1.db -o json"], capture_output=True,
                                      text=True, cwd=home.path, env=home.environment(), timeout=harness.PATIENCE_S))
    check = checks_of(limited)["open_files"]
    assert check["state"] == "warning" and check["seen"] == "512 files may be open", check
