"""deploy/deb.sh: Debian packages of the programs, with all that they need but what they depend on."""
import gzip
import io
import json
import os
import re
import subprocess
import tarfile

import pytest

from harness import BIN, HAS_WORKER, ROOT

NAMES = ["longreach", "longreach-worker"] if HAS_WORKER else ["longreach"]
# By itself, as on a machine where nothing was built.
BARE = {name: value for name, value in os.environ.items() if not name.startswith(("LD_", "LONGREACH_", "PYTHON"))}


def field(package, name):
    return subprocess.run(["dpkg-deb", "-f", package, name], capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """{name: file}"""
    folder = tmp_path_factory.mktemp("packages")
    (folder / "longreach_0.0.9_amd64.deb").write_text("of an older version")
    made = subprocess.run([ROOT / "deploy/deb.sh", BIN.parent, folder], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    return {field(file, "Package"): file for file in folder.iterdir()}


@pytest.fixture(scope="module")
def installed(packages, tmp_path_factory):
    """A folder in the place of /, with all packages."""
    root = tmp_path_factory.mktemp("root")
    for file in packages.values():
        subprocess.run(["dpkg-deb", "-x", file, root], check=True)
    return root


def test_there_is_one_of_each_and_none_of_an_older_version(packages):
    assert sorted(packages) == NAMES
    assert len({field(file, "Version") for file in packages.values()}) == 1
    for file in packages.values():
        assert re.fullmatch(r"\d+\.\d+\.\d+(~git\d{14}\.[0-9a-f]{12}(\+changed)?)?", field(file, "Version"))


def test_each_says_what_it_is_made_of(packages, installed):
    for name, file in packages.items():
        bill = json.loads((installed / f"usr/share/doc/{name}/{name}.spdx.json").read_text())
        versions = {package["name"]: package["versionInfo"] for package in bill["packages"]}
        assert versions[name] == field(file, "Version")
        depends = {re.split(r"[ (]", one.strip())[0] for one in field(file, "Depends").split(",")} - set(packages)
        assert depends and depends <= set(versions), name
        assert ("torch" in versions or "LibTorch" in versions) == (name == "longreach-worker")
        if "torch" in versions:
            pinned = re.search(r"^torch==(\S+)", (ROOT / "deploy/requirements/cpu.txt").read_text(), re.MULTILINE)[1]
            assert versions["torch"].split("+")[0] == pinned


def test_they_depend_on_what_their_programs_load(packages, installed):
    for file in packages.values():
        depends = field(file, "Depends")
        for one in depends.split(","):
            name = re.split(r"[ (]", one.strip())[0]
            if name in packages:
                assert one.strip() == f"{name} (= {field(file, 'Version')})"
                continue
            state = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status}", name], capture_output=True, text=True)
            assert state.stdout == "installed", f"{file.name} depends on {name}, which what it was built with is not of"
    for program in sorted((installed / "opt/longreach/bin").iterdir()):
        listed = subprocess.run(["ldd", program], capture_output=True, text=True, env=BARE, check=True).stdout
        assert "not found" not in listed, f"{program}: {listed}"
        for library in re.findall(r"=> (/\S+)", listed):
            assert os.path.normpath(library).startswith((f"{installed}/opt/longreach/lib/", "/lib", "/usr/lib")), f"{program.name} loads {library}"


def test_their_size_is_that_of_what_they_install_on_any_file_system(packages, tmp_path):
    subprocess.run(["dpkg-deb", "-x", packages["longreach"], tmp_path], check=True)
    found = [tmp_path, *tmp_path.rglob("*")]
    # As dpkg-gencontrol counts.
    assert int(field(packages["longreach"], "Installed-Size")) == sum(-(-one.lstat().st_size // 1024) if one.is_file() and not one.is_symlink() else 1 for one in found)


def test_commands_lie_in_the_path(installed):
    for link in (installed / "usr/bin").iterdir():
        assert (installed / os.readlink(link).lstrip("/")).is_file()
    assert {link.name for link in (installed / "usr/bin").iterdir()} >= {"longreach", "longreach-scheduler"}


def test_services_start_what_is_installed(installed):
    units = list((installed / "usr/lib/systemd/system").iterdir())
    assert sorted(unit.name for unit in units) == sorted(["longreach-backup.service", "longreach-backup.timer", "longreach-scheduler.service"] + ["longreach-worker.service"] * HAS_WORKER)
    for unit in units:
        programs = re.findall(r"/opt/longreach/bin/[\w-]+", unit.read_text())
        assert bool(programs) == (unit.suffix == ".service"), unit.name
        for program in programs:
            assert os.access(installed / program.lstrip("/"), os.X_OK), f"{unit.name} starts {program}"


def test_what_may_be_enabled_is_stopped_when_it_is_removed(packages, tmp_path):
    for name, file in packages.items():
        subprocess.run(["dpkg-deb", "-e", file, tmp_path / name], check=True)
        removal = (tmp_path / name / "prerm").read_text()
        units = subprocess.run(["dpkg-deb", "--fsys-tarfile", file], capture_output=True, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(units)) as tree:
            for unit in (member for member in tree.getmembers() if member.name.startswith("./usr/lib/systemd/system/") and member.isfile()):
                enabled = b"[Install]" in tree.extractfile(unit).read()
                assert (os.path.basename(unit.name) in removal) == enabled, unit.name


def test_a_shell_completes_commands(installed):
    script = installed / "usr/share/bash-completion/completions/longreach"
    bound = subprocess.run(["bash", "-c", f"source '{script}' && complete -p longreach"], capture_output=True, text=True)
    assert bound.returncode == 0 and "longreach" in bound.stdout
    for other in ("zsh/vendor-completions/_longreach", "fish/vendor_completions.d/longreach.fish"):
        assert "longreach" in (installed / "usr/share" / other).read_text()


def test_each_program_and_command_has_its_manual_page(installed):
    folder = installed / "usr/share/man/man1"
    pages = {page.name for page in folder.iterdir()}
    assert pages >= {f"{program}.1.gz" for program in ("longreach", "longreach-scheduler", "longreach-run", "longreach-submit")}
    assert ("longreach-worker.1.gz" in pages) == HAS_WORKER
    for page in folder.iterdir():
        compressed = page.read_bytes()
        # Neither a time nor a name, at level 9: by these the same page would be other bytes.
        assert compressed[:2] == b"\x1f\x8b" and compressed[3:9] == b"\0\0\0\0\0\2", page.name
        text = gzip.decompress(compressed).decode()
        assert text.startswith(".TH ") and os.path.expanduser("~") + "/." not in text, f"{page.name} is of the home where it was made"
    assert not (installed / "opt/longreach/share").exists()


def test_a_manual_page_is_found_beside_a_program_in_the_path(tmp_path):
    """As man finds those of a program that was installed by cmake."""
    subprocess.run(["cmake", "--install", BIN.parent, "--prefix", tmp_path, "--component", "client"], capture_output=True, check=True)
    env = {name: value for name, value in BARE.items() if name not in ("MANPATH", "MANOPT")}
    shown = subprocess.run(["man", "--where", "longreach", "run"], capture_output=True, text=True, env={**env, "PATH": f"{tmp_path}/bin:{env['PATH']}"})
    assert shown.stdout.splitlines()[:1] == [str(tmp_path / "share/man/man1/longreach-run.1")], shown


def test_nothing_is_anybody_elses_to_change(packages):
    for file in packages.values():
        listed = subprocess.run(["dpkg-deb", "-c", file], capture_output=True, text=True, check=True).stdout
        for line in listed.splitlines():
            mode, owner = line.split()[:2]
            assert owner == "root/root" and (mode[0] == "l" or mode[8] == "-"), line


@pytest.mark.skipif(not HAS_WORKER, reason="without a worker nothing is trained")
def test_they_train(installed, tmp_path):
    done = subprocess.run([installed / "opt/longreach/bin/longreach", "run", "quickstart", "--store", tmp_path / "a.db", "--set", "training.steps=2", "--set", "training.batch_size=4",
                           "--set", "evaluation.lengths=41..42", "--set", "evaluation.examples=4", "--set", "seed=0", "--set", "task=even_pairs", "--color", "never"],
                          capture_output=True, text=True, env=BARE, cwd=tmp_path)
    assert done.returncode == 0 and "Even Pairs" in done.stdout, done.stderr


def test_without_a_build_nothing_is_made(tmp_path):
    made = subprocess.run([ROOT / "deploy/deb.sh", tmp_path / "none", tmp_path / "out"], capture_output=True, text=True)
    assert made.returncode == 1 and "'make build' builds it" in made.stderr
    assert not (tmp_path / "out").exists()


def test_what_depends_on_nobody_knows_what_is_not_made(tmp_path):
    fake = tmp_path / "bin/dpkg-shlibdeps"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\necho of what nobody knows >&2\nexit 2\n")
    fake.chmod(0o755)
    made = subprocess.run([ROOT / "deploy/deb.sh", BIN.parent, tmp_path / "out"], capture_output=True, text=True, env={**os.environ, "PATH": f"{fake.parent}:{os.environ['PATH']}"})
    assert made.returncode == 1 and "of what nobody knows\nerror: what longreach depends on cannot be told" in made.stderr
    assert not (tmp_path / "out").exists()
