#!/bin/bash
# Makes a Debian machine (12 or newer) ready to build Longreach, and says what it does. What is done already is skipped,
# so it can be run before every build. Works as root, or as a user with sudo.
#
#   deploy/setup.sh [--tests] [--faults]     --tests: also what the tests need (a Python gRPC client, pandas, grpcurl, Chromium, clang, zsh, fish; Slurm, where no
#                                            systemd would start its daemons)
#                                            --faults: also what the fault tests need (counts of covered lines)
#
# Settings, from the environment:
#   LONGREACH_CUDA=ON|OFF      take CUDA and its compiler too (4.9 GB instead of 1.3 GB); default: ON where nvidia-smi answers
#   LONGREACH_TRAINER=OFF      no LibTorch at all: for scheduler, store and client only
#   LONGREACH_LIBTORCH=DIR     use the LibTorch in this folder (with include/ and lib/) instead of the wheel
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly GRPCURL_VERSION=v1.8.9  # The last one that Go 1.19, of Debian 12, builds.
readonly VENV=.venv

say() { echo "setup: $*"; }
fail() { echo "setup: error: $*" >&2; exit 1; }

tests=no
faults=no
for argument in "$@"; do
  case $argument in
    --tests) tests=yes ;;
    --faults) faults=yes ;;
    *) fail "unknown argument '$argument'; there are --tests and --faults" ;;
  esac
done

cuda=${LONGREACH_CUDA:-}
if [[ -z $cuda ]]; then
  if nvidia-smi -L >/dev/null 2>&1; then cuda=ON; else cuda=OFF; fi
fi
trainer=${LONGREACH_TRAINER:-ON}
[[ $cuda == ON || $cuda == OFF ]] || fail "LONGREACH_CUDA is '$cuda'; it must be ON or OFF"
[[ $trainer == ON || $trainer == OFF ]] || fail "LONGREACH_TRAINER is '$trainer'; it must be ON or OFF"

as_root() {
  if [[ $(id -u) == 0 ]]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    fail "this needs root, and there is no sudo. As root, run: $*"
  fi
}

# Installs those of the named Debian packages that are missing.
install_packages() {
  local package status installed missing=()
  command -v apt-get >/dev/null || fail "no apt-get here. Longreach is built on Debian 12 or newer; elsewhere install what deploy/packages.txt names and run cmake yourself (docs/HACKING.md)"
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null || true)
  for package in "$@"; do
    status="installed $package"
    [[ $'\n'$installed$'\n' == *$'\n'$status$'\n'* ]] || missing+=("$package")
  done
  if [[ ${#missing[@]} == 0 ]]; then
    say "Debian packages: all $# there"
    return
  fi
  say "Debian packages: installing ${missing[*]}"
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=600)
  as_root "${apt[@]}" update
  as_root "${apt[@]}" install -y --no-install-recommends "${missing[@]}"
}

# The private Python environment; made by the python3 of the PATH.
make_venv() {
  if [[ -x $VENV/bin/python ]] && "$VENV/bin/python" -c 'import pip' 2>/dev/null; then return; fi
  local version
  version=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])') || fail "python3 does not run"
  case $version in
    3.11 | 3.12 | 3.13 | 3.14) ;;
    *) fail "python3 is Python $version; the pinned wheels are for 3.11 to 3.14. Put one of these on the PATH as python3" ;;
  esac
  say "Python $version: making $VENV"
  python3 -m venv --clear "$VENV" || fail "python3 -m venv failed. If this python3 is not Debian's, try again with PATH=/usr/bin:\$PATH"
}

# This very deploy/requirements/<name>.txt was installed before.
is_installed() {
  local stamp=$VENV/longreach-$1.sha256
  [[ -e $stamp && $(<"$stamp") == $(sha256sum <"deploy/requirements/$1.txt") ]]
}

install_requirements() {
  local name=$1 size=$2 file=deploy/requirements/$1.txt
  if is_installed "$name"; then
    say "Python packages: $name.txt is installed"
    return
  fi
  say "Python packages: installing $name.txt ($size on disk)"
  "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --only-binary=:all: --require-hashes -r "$file"
  sha256sum <"$file" >"$VENV/longreach-$name.sha256"
}

install_grpcurl() {
  local grpcurl=$PWD/$VENV/bin/grpcurl
  if [[ -x $grpcurl && $("$grpcurl" --version 2>&1) == *"$GRPCURL_VERSION"* ]]; then
    say "grpcurl: $GRPCURL_VERSION is there"
    return
  fi
  command -v go >/dev/null || install_packages golang-go
  say "grpcurl: building $GRPCURL_VERSION"
  GOBIN=$PWD/$VENV/bin GOTOOLCHAIN=local go install -ldflags "-s -w -X main.version=$GRPCURL_VERSION" \
    "github.com/fullstorydev/grpcurl/cmd/grpcurl@$GRPCURL_VERSION"
}

lists=(deploy/packages.txt)
[[ $faults == no ]] || lists+=(deploy/fault_packages.txt)
[[ $tests == no ]] || lists+=(deploy/test_packages.txt)
# A machine that somebody works with does not get services by running tests; those of Slurm are skipped there.
[[ $tests == no || -d /run/systemd/system ]] || lists+=(deploy/slurm_packages.txt)
mapfile -t packages < <(grep -hv '^#' "${lists[@]}")
install_packages "${packages[@]}"

if [[ $trainer == OFF ]]; then
  say "LibTorch: not wanted (LONGREACH_TRAINER=OFF)"
elif [[ -n ${LONGREACH_LIBTORCH:-} ]]; then
  [[ -e $LONGREACH_LIBTORCH/lib/libtorch_cpu.so ]] || fail "LONGREACH_LIBTORCH is '$LONGREACH_LIBTORCH', and lib/libtorch_cpu.so is not in it"
  say "LibTorch: $LONGREACH_LIBTORCH"
  if [[ $cuda == ON ]] && ! command -v nvcc >/dev/null && [[ ! -x /usr/local/cuda/bin/nvcc ]]; then
    fail "LONGREACH_CUDA=ON with a LibTorch of your own needs nvcc 13.0 on the PATH"
  fi
else
  make_venv
  # All of cpu.txt is in cuda.txt, so an environment that has that one serves both kinds of build.
  if [[ $cuda == ON ]] || is_installed cuda; then
    install_requirements cuda "4.9 GB"
  else
    install_requirements cpu "1.3 GB"
  fi
fi

if [[ $tests == yes ]]; then
  make_venv
  install_requirements test "0.5 GB"
  # It needs torch as a Python package, which is whole with CUDA's libraries alone.
  if [[ $trainer != OFF ]] && is_installed cuda; then install_requirements transformers "0.2 GB"; fi
  install_grpcurl
fi
say "done (trainer $trainer, CUDA $cuda)"
