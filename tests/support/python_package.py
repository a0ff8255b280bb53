"""The package `longreach` of client/python, built and installed from this checkout as `pip install ./client/python` does it, but for fetching what it
needs: that is where the tests run."""
import functools
import subprocess
import sys
import tempfile

import harness
from harness import ROOT

_PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]


def pip(*arguments):
    """What pip said. AssertionError: it failed."""
    done = subprocess.run([*_PIP, *map(str, arguments)], capture_output=True, text=True, timeout=harness.PATIENCE_S * 5)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def build_wheel(folder, checkout=ROOT):
    """Of a checkout, into a folder; the wheel's path."""
    pip("wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", folder, checkout / "client/python")
    (wheel,) = folder.glob("longreach-*.whl")
    return wheel


@functools.cache
def longreach():
    """The package, imported from a folder that it was installed into. Stubs of the .proto files, which harness.messages() has, stay usable beside it."""
    harness.messages("api")
    made = tempfile.TemporaryDirectory(prefix="lr-package-")
    folder = harness.pathlib.Path(made.name)
    pip("install", "--quiet", "--no-deps", "--no-index", "--target", folder / "site", build_wheel(folder))
    sys.path.insert(0, str(folder / "site"))
    for name in [name for name in sys.modules if name.partition(".")[0] == "longreach" and not name.startswith("longreach.v1")]:
        del sys.modules[name]  # Of the stubs, whose folder is a package by its name only, or of one that is installed here.
    package = harness.importlib.import_module("longreach")
    package.kept = made
    return package
