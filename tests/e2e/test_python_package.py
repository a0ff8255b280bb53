"""The wheel of the package of Python: made from a checkout without git, and used in an environment of its own."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import textwrap
import zipfile

import pytest

import harness
from harness import ROOT, Scheduler, run
from python_package import build_wheel, pip

PARTS = ["client/python", "proto", "CMakeLists.txt", "LICENSE", "deploy/wheel.sh"]


@pytest.fixture
def checkout(home):
    """What the wheel needs of a checkout, copied: without git, and without what else lies in it."""
    for part in PARTS:
        target = home.path / "checkout" / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(ROOT / part, target)
    return home.path / "checkout"


def files_in(folder):
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def an_environment(home):
    """A venv of its own, which finds what the package needs where the tests run, and nothing of the tests."""
    folder = home.path / "venv"
    made = run(home, sys.executable, "-m", "venv", "--without-pip", folder)
    assert made.code == 0, made
    (site,) = folder.glob("lib/python*/site-packages")
    own = [path for path in sys.path if path.endswith("site-packages")] or [sysconfig.get_paths()["purelib"]]
    (site / "tests.pth").write_text("\n".join(own) + "\n")
    return folder / "bin/python", site


def test_it_is_built_installed_and_used(home, checkout):
    before = files_in(checkout)
    wheel = build_wheel(home.path, checkout)
    version = re.search(r"^project\(longreach VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
    assert wheel.name == f"longreach-{version}-py3-none-any.whl"
    assert files_in(checkout) == before, "nothing is left in the checkout"
    names = set(zipfile.ZipFile(wheel).namelist())
    sources = {f"longreach/{path.name}" for path in (ROOT / "client/python/longreach").glob("*.py")}
    assert names >= sources | {"longreach/protocol.binpb", "longreach/LICENSE", "longreach/py.typed"} and not any("pb2" in name for name in names)

    python, site = an_environment(home)
    pip("install", "--quiet", "--no-deps", "--no-index", "--target", site, wheel)
    scheduler = Scheduler(home)
    program = textwrap.dedent(f"""
        import longreach
        with longreach.connect({scheduler.address!r}) as client:
            spec = {{"name": "none", "experiment": "noop", "axes": {{"task": ["even_pairs"], "encoding": ["rope"], "learning_rate": [1e-3], "seed": [0, 1]}}}}
            client.submit(spec)
            print(longreach.__version__, longreach.__file__, len(client.jobs("none")))
        """)
    used = run(home, python, "-I", "-W", "error", "-c", program)
    assert used.code == 0, used
    assert used.out.split() == [version, str(site / "longreach/__init__.py"), "2"] and used.err == ""


def test_stubs_of_the_same_name_are_usable_beside_it(home):
    """docs/howto/api.md has them made in a folder that PYTHONPATH names."""
    python, site = an_environment(home)
    pip("install", "--quiet", "--no-deps", "--no-index", "--target", site, build_wheel(home.path))
    harness.messages("api")
    stubs = next(path for path in sys.path if pathlib.Path(path, "longreach/v1/api_pb2.py").exists())
    with harness.variables(PYTHONPATH=stubs):
        both = run(home, python, "-c", "from longreach.v1 import api_pb2; import longreach; from longreach import protocol; "
                                       "print(protocol.message('SweepSpec') is type(api_pb2.SubmitSweepRequest().spec), longreach.connect.__name__)")
    assert both.code == 0 and both.out.split() == ["False", "connect"], both


def test_a_folder_that_is_no_checkout_is_refused_with_what_to_do(home, checkout):
    (checkout / "CMakeLists.txt").unlink()
    built = run(home, sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-index", "--no-build-isolation", "-w", home.path, checkout / "client/python")
    assert built.code != 0 and "is no checkout of Longreach" in built.out + built.err and "pip 21.3 or newer" in built.out + built.err, built


def test_make_wheel_puts_it_in_the_place_of_the_one_before(home, checkout):
    (checkout / ".venv").symlink_to(pathlib.Path(sys.prefix))
    folder = home.path / "out"
    folder.mkdir()
    (folder / "longreach-0.0.1-py3-none-any.whl").touch()
    # Nothing of an index: what is in .venv is enough.
    made = subprocess.run([checkout / "deploy/wheel.sh", folder], capture_output=True, text=True, env={**home.environment(), "PIP_NO_INDEX": "1"}, timeout=harness.PATIENCE_S * 5)
    assert made.returncode == 0, made.stdout + made.stderr
    (wheel,) = os.listdir(folder)
    assert wheel != "longreach-0.0.1-py3-none-any.whl" and f"wheel: {folder}/{wheel}" in made.stdout
