"""What pyproject.toml cannot say: the version, the messages and the licence are those of the checkout that this folder lies in."""
import atexit
import importlib
import pathlib
import re
import shutil
import sys
import tempfile

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROTOCOL = "protocol.binpb"


def version_of_checkout():
    """The one in CMakeLists.txt, which the programs have too."""
    try:
        text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    except OSError:
        text = ""
    found = re.search(r"^project\(longreach VERSION (\S+)", text, re.MULTILINE)
    if found is None:
        sys.exit(f"error: {ROOT} is no checkout of Longreach, which client/python is built in: its version and its .proto files are taken from there\n"
                 "  install from a checkout: pip install ./client/python, with pip 21.3 or newer (an older one builds in a copy of the folder alone)")
    return found[1]


def write_descriptors(target):
    """All .proto files as one FileDescriptorSet, with what they import. Any protobuf reads it, where generated code would ask for its own version."""
    from grpc_tools import protoc  # Not there yet while pip asks what the build requires.
    proto = ROOT / "proto"
    well_known = pathlib.Path(importlib.import_module("grpc_tools").__file__).parent / "_proto"
    files = sorted(str(path) for path in (proto / "longreach/v1").glob("*.proto"))
    if not files or protoc.main(["protoc", f"-I{proto}", f"-I{well_known}", "--include_imports", f"--descriptor_set_out={target}", *files]) != 0:
        sys.exit(f"error: the .proto files in {proto} cannot be compiled")


class BuildWithProtocol(build_py):
    def run(self):
        super().run()
        # Installed with -e, the package is this folder itself.
        folder = pathlib.Path(__file__).resolve().parent if self.editable_mode else pathlib.Path(self.build_lib)
        write_descriptors(folder / "longreach" / PROTOCOL)
        if not self.editable_mode:
            shutil.copyfile(ROOT / "LICENSE", folder / "longreach" / "LICENSE")

    def get_outputs(self, include_bytecode=1):
        return [*super().get_outputs(include_bytecode), *(str(pathlib.Path(self.build_lib) / "longreach" / name) for name in (PROTOCOL, "LICENSE"))]


# Nothing is left in the checkout, nor is anything taken that a build before has left.
work = tempfile.mkdtemp(prefix="longreach-build-")
atexit.register(shutil.rmtree, work, ignore_errors=True)
setup(version=version_of_checkout(), cmdclass={"build_py": BuildWithProtocol}, options={"build": {"build_base": work}, "egg_info": {"egg_base": work}})
