#!/bin/bash
# Makes the wheel of the Python package, client/python, whose version and messages are those of this checkout. It has no program in it, so any Python from
# 3.9 on takes it, on any system.
#
#   deploy/wheel.sh [FOLDER]          default: into build/python, in the place of one that is there
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=$(realpath -m "${1:-$root/build/python}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python=$root/.venv/bin/python
# Setuptools first: it refuses to come behind a pip that has loaded what it replaces (distutils).
if ! "$python" -c 'import setuptools, grpc_tools, pip' 2>/dev/null; then
  # Without what the tests have (deploy/setup.sh --tests): what the build requires, in the versions that these have.
  python=$work/venv/bin/python
  python3 -m venv "$work/venv" || { echo "error: python3 -m venv failed; 'apt install python3-venv' brings it, or 'pip wheel --no-deps client/python' does the same elsewhere" >&2; exit 1; }
  "$python" -m pip install --quiet --disable-pip-version-check --no-deps --only-binary=:all: --require-hashes -r "$root/deploy/requirements/wheel.txt"
fi
"$python" -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir "$work" "$root/client/python"
mkdir -p "$folder"
rm -f "$folder"/longreach-*.whl
mv "$work"/longreach-*.whl "$folder"
echo "wheel: $(echo "$folder"/longreach-*.whl); where it is installed, pip takes grpcio, protobuf and pandas from PyPI"
