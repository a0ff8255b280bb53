#!/bin/bash
# Puts into one folder what a machine needs where nothing can be installed, as a node of a cluster or a borrowed GPU: the programs, the
# CUDA plugin and the tests of a GPU, and the libraries that they were built with. LibTorch and CUDA are not among them: they are those of
# a Python there, whose torch must be of the same version.
#
#   deploy/bundle.sh [BUILD [FOLDER]]       default: of build/release, into build/bundle, and all of that in build/bundle.tar.xz
#   FOLDER/bin/longreach-worker --help      there; PYTHON names the Python, or LONGREACH_TORCH its folder site-packages/torch
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$(realpath -m "${1:-$root/build/release}")
folder=$(realpath -m "${2:-$root/build/bundle}")
programs=(bin/longreach bin/longreach-scheduler bin/longreach-tokenizer bin/longreach-trainer bin/longreach-worker bin/golden_check bin/bench-llama)
gpu_tests=(tests/cuda_plugin_test tests/gpu_test)

refuse() {
  echo "error: $1" >&2
  exit 1
}
for program in longreach-worker longreach-trainer; do
  [[ -x $build/bin/$program ]] || refuse "there is no $build/bin/$program; 'make build' builds it"
done
libtorch=$(ldd "$build/bin/longreach-trainer" | sed -n 's/.*libtorch_cpu.so => \(.*\)\/lib\/libtorch_cpu.so .*/\1/p')
[[ -n $libtorch ]] || refuse "$build/bin/longreach-trainer does not find its LibTorch; 'make build' builds it anew"
version=$(sed -n "s/^__version__ = '\([^'+]*\).*/\1/p" "$libtorch/version.py" 2>/dev/null || true)
[[ -n $version ]] || refuse "$libtorch is of no Python's torch, so none can stand in for it elsewhere; build with the wheel (no LONGREACH_LIBTORCH)"
# Only what this wrote before is thrown away.
[[ ! -e $folder || -e $folder/torch ]] || refuse "$folder is there and is no bundle; name another folder"

new=$folder.new
rm -rf "$new"
mkdir -p "$new/bin" "$new/tests" "$new/lib" "$new/libexec"
echo "$version" >"$new/torch"
# Only a plugin asks for CUDA's libraries.
[[ ! -e $build/lib/liblongreach_cuda.so ]] || sed -n "s/^cuda[^=]*= '\([^']*\)'.*/\1/p" "$libtorch/version.py" >"$new/cuda"
describe=$(git -C "$root" describe --always --abbrev=12 --exclude='*' 2>/dev/null || true)
if [[ -n $describe ]]; then
  git -C "$root" diff --quiet HEAD -- . ':(exclude)docs/benchmarks' || describe+=-dirty
  echo "$describe" >"$new/commit"
fi

cat >"$new/libexec/start" <<'START'
#!/bin/sh
# Starts the program of this file's name with the libraries of its bundle, and LibTorch and CUDA from a Python.
name=$(basename "$0")
here=$(cd "$(dirname "$0")/.." && pwd)
find='import importlib.util as u; s = u.find_spec("torch"); print(s.submodule_search_locations[0] if s else "")'
torch=${LONGREACH_TORCH:-$("${PYTHON:-python3}" -c "$find" 2>/dev/null)}
needed=$(cat "$here/torch")
there=$(sed -n "s/^__version__ = '\([^'+]*\).*/\1/p" "$torch/version.py" 2>/dev/null)
refuse() {
  echo "error: $name needs $1, and '${torch:-no torch in ${PYTHON:-python3}}' is ${2:-none}" >&2
  echo "  PYTHON=FILE names another Python, LONGREACH_TORCH=DIR its folder site-packages/torch" >&2
  exit 1
}
computes=yes on_gpu=
case $name in
  longreach-scheduler | longreach-tokenizer) computes= ;;
  longreach) computes= ;;  # But for commands that start a worker, which they do by themselves.
  *_test) on_gpu=yes ;;
esac
for word in "$@"; do
  case $name:$word in
    longreach:run | longreach:attention | longreach:data | longreach:export) computes=yes ;;
    *:cuda | *:cuda:* | *:--device=cuda | *:--device=cuda:*) on_gpu=yes ;;
  esac
done
if [ -n "$computes" ]; then
  [ "$there" = "$needed" ] || refuse "torch $needed" "$there"
  cuda=$(sed -n "s/^cuda[^=]*= '\([^']*\)'.*/\1/p" "$torch/version.py")
  [ -z "$on_gpu" ] || [ ! -e "$here/cuda" ] || [ "$cuda" = "$(cat "$here/cuda")" ] || refuse "torch of CUDA $(cat "$here/cuda")" "of CUDA ${cuda:-none}"
fi
LD_LIBRARY_PATH=$here/lib${torch:+:$torch/lib:$torch/../nvidia/cu13/lib}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
exec "$here/libexec/$name" "$@"
START
chmod +x "$new/libexec/start"

for program in "${programs[@]}" "${gpu_tests[@]}"; do
  [[ -x $build/$program ]] || continue
  cp "$build/$program" "$new/libexec/"
  strip -s "$new/libexec/$(basename "$program")"
  ln "$new/libexec/start" "$new/$program"
done
for golden in tests/golden/nope/tokenizer/tokenizer.model; do install -D -m 644 "$root/$golden" "$new/$golden"; done
[[ ! -e $build/lib/liblongreach_cuda.so ]] || cp "$build/lib/liblongreach_cuda.so" "$new/lib/"

# All but LibTorch and CUDA, and the C and C++ libraries, which only get better.
site=$(dirname "$libtorch")
find "$new/libexec" -type f ! -name start -print0 | xargs -0 ldd | awk '$2 == "=>" && $3 ~ /^\// {print $3}' | sort -u |
  grep -v "^$site/" | grep -vE '/(ld-linux[^/]*|lib(c|m|dl|rt|pthread|util|resolv|stdc\+\+|gcc_s))\.so[^/]*$' | xargs cp -Lt "$new/lib"

rm -rf "$folder"
mv "$new" "$folder"
# Little more than a third of the size, for where little may travel at once; the next levels take two and four times as long, for 4 and 5 MB of 84.
tar -C "$(dirname "$folder")" -c "$(basename "$folder")" | xz -0 -T0 >"$folder.tar.xz.new"
mv "$folder.tar.xz.new" "$folder.tar.xz"
plugin=$([[ -e $folder/lib/liblongreach_cuda.so ]] && echo "with the CUDA plugin" || echo "without the CUDA plugin: LONGREACH_CUDA=ON builds it")
echo "bundle: $folder, $(du -sh "$folder" | cut -f1), and $folder.tar.xz, $(du -sh "$folder.tar.xz" | cut -f1); $plugin; needs torch $version there"
