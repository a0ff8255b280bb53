#!/bin/bash
# Measures how fast this machine's GPU trains, in less than 25 minutes, and writes the tables of gpu.md, which says what is measured.
# Give it a build with CUDA ('make build') and, for the comparison, the reference and a Python with JAX:
#
#   docs/benchmarks/gpu.sh --reference DIR --jax DIR     (--help has the rest: --minutes N, --resume, --only PATTERNS, --device cpu)
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
python=$root/.venv/bin/python  # It can tell which torch was built against; any other will do.
[[ -x $python ]] || python=${PYTHON:-python3}
exec "$python" -B "$root/tests/bench/gpu.py" "$@"
