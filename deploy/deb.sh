#!/bin/bash
# Makes Debian packages of a build: longreach (client and scheduler) and longreach-worker (with the part of LibTorch that computes on a CPU),
# for a Debian as new as that of the machine that built it. The same build gives the same bytes, wherever and whenever they are packed.
#
#   deploy/deb.sh [BUILD [FOLDER]]                     default: of build/release, into build/debian, in the place of those that are there
#   sudo apt install ./FOLDER/longreach*.deb           there
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$(realpath -m "${1:-$root/build/release}")
folder=$(realpath -m "${2:-$root/build/debian}")
prefix=opt/longreach  # As in systemd/ and README.md: what is no part of Debian lies in /opt.

refuse() {
  echo "error: $1" >&2
  exit 1
}
for program in longreach longreach-scheduler; do
  [[ -x $build/bin/$program ]] || refuse "there is no $build/bin/$program; 'make build' builds it"
done
command -v dpkg-shlibdeps >/dev/null || refuse "there is no dpkg-shlibdeps; 'apt install dpkg-dev' brings it"

# "0.1.0 (1a2b3c4d5e6f+, GNU 12.2.0, Release)": what was built, whatever the checkout has become since; + where it was of no commit alone.
told=$("$build/bin/longreach" --version)
number=${told%% *}
commit=$(sed -n 's/^[^ ]* (\([0-9a-f]\{12\}\)+\{0,1\},.*/\1/p' <<<"$told")
version=$number
SOURCE_DATE_EPOCH=$(stat -c %Y "$root/CHANGELOG.md")
if [[ -n $commit ]]; then
  SOURCE_DATE_EPOCH=$(git -C "$root" show -s --format=%ct "$commit" 2>/dev/null) || refuse "the build is of commit $commit, which is not in $root; 'make build' builds it anew"
  # Between releases the newer commit is the newer package, and the release is newer than all before it.
  version=$number~git$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y%m%d%H%M%S).$commit
  [[ $told != *"$commit+"* ]] || version+=+changed
fi
export SOURCE_DATE_EPOCH

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022

# Which Debian packages the programs of one of ours load libraries from; its own libraries lie beside them.
needed() {
  mkdir -p "$work/shlibdeps/debian"
  printf 'Source: longreach\n\nPackage: longreach\nArchitecture: any\n' >"$work/shlibdeps/debian/control"
  (cd "$work/shlibdeps" && dpkg-shlibdeps -O --ignore-missing-info "-l$work/$1/$prefix/lib" "$work/$1/$prefix"/bin/* 2>"$work/shlibdeps/said") |
    sed 's/^shlibs:Depends=//' || { cat "$work/shlibdeps/said" >&2 && refuse "what $1 depends on cannot be told"; }
}

# Installs components, and what belongs to every package: NAME SERVICE COMPONENT...
stage() {
  local name=$1 service=$2 tree=$work/$1
  shift 2
  for component in "$@"; do cmake --install "$build" --prefix "$tree/$prefix" --strip --component "$component" >/dev/null; done
  mkdir -p "$tree/usr/bin" "$tree/usr/share/doc/$name/examples" "$tree/usr/share/man/man1" "$tree/usr/lib/systemd/system" "$tree/DEBIAN"
  for program in "$tree/$prefix"/bin/*; do ln -s "/$prefix/bin/$(basename "$program")" "$tree/usr/bin/"; done
  for page in "$tree/$prefix"/share/man/man1/*.1; do gzip -9n <"$page" >"$tree/usr/share/man/man1/$(basename "$page").gz"; done
  rm -r "$tree/$prefix/share"  # Where man finds them without knowing of /opt, they are now.
  install -m 644 "$root/LICENSE" "$tree/usr/share/doc/$name/copyright"
  gzip -9n <"$root/CHANGELOG.md" >"$tree/usr/share/doc/$name/changelog.gz"
  local enabled=$service.service
  install -m 644 "$root/deploy/systemd/$service.service" "$tree/usr/lib/systemd/system/"
  if [[ $service == longreach-scheduler ]]; then
    enabled+=" longreach-backup.timer"
    install -m 644 "$root"/deploy/systemd/longreach-backup.{service,timer} "$tree/usr/lib/systemd/system/"
  fi
  install -m 644 "$root/deploy/systemd/$service-tls.conf" "$tree/usr/share/doc/$name/examples/"
  # A service is started by who wants it. One that runs goes on with the new program: stopping loses nothing.
  cat >"$tree/DEBIAN/postinst" <<POSTINST
#!/bin/sh
set -e
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  [ "\$1" != configure ] || [ -z "\$2" ] || systemctl try-restart $service.service
fi
POSTINST
  cat >"$tree/DEBIAN/prerm" <<PRERM
#!/bin/sh
set -e
if [ "\$1" = remove ] && [ -d /run/systemd/system ]; then systemctl disable --now $enabled; fi
PRERM
  cat >"$tree/DEBIAN/postrm" <<'POSTRM'
#!/bin/sh
# Stores and data sets stay in /var/lib: nobody else has them.
set -e
[ ! -d /run/systemd/system ] || systemctl daemon-reload
POSTRM
  chmod 755 "$tree"/DEBIAN/{postinst,prerm,postrm}
}

# Of what is installed, as dpkg-gencontrol counts: a file system's own count of folders is another on the next one.
kibibytes() {
  find "$1" -path "$1/DEBIAN" -prune -o -type f -printf '%s\n' -o -printf '1\n' | awk '{ sum += int(($1 + 1023) / 1024) } END { print sum }'
}

# Writes the package: NAME DEPENDS SUMMARY TEXT
pack() {
  local name=$1 tree=$work/$1 architecture
  architecture=$(dpkg --print-architecture)
  # What it is made of, for whoever looks for known weaknesses.
  python3 "$root/deploy/sbom.py" "$name" "$version" "$tree/$prefix" ${site:+"$site"} >"$tree/usr/share/doc/$name/$name.spdx.json"
  cat >"$tree/DEBIAN/control" <<CONTROL
Package: $name
Version: $version
Architecture: $architecture
Maintainer: the authors of Longreach <longreach@localhost>
Installed-Size: $(kibibytes "$tree")
Depends: $2
Section: science
Priority: optional
Description: $3
 $4
CONTROL
  (cd "$tree" && find . -type f -not -path './DEBIAN/*' -printf '%P\0' | LC_ALL=C sort -z | xargs -0 md5sum >DEBIAN/md5sums)
  find "$tree" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
  # Not xz, which takes minutes for LibTorch; Debian 12 reads both.
  dpkg-deb --root-owner-group -Zzstd -z3 --build "$tree" "$work/${name}_${version}_$architecture.deb" >/dev/null
}

stage longreach longreach-scheduler client scheduler
for shell in bash:bash-completion/completions/longreach zsh:zsh/vendor-completions/_longreach fish:fish/vendor_completions.d/longreach.fish; do
  file=$work/longreach/usr/share/${shell#*:}
  mkdir -p "$(dirname "$file")"
  "$work/longreach/$prefix/bin/longreach" completion "${shell%%:*}" >"$file"
done
depends=$(needed longreach)  # By itself: within another command its failure would not end this.
pack longreach "$depends" "sweeps of how Transformers generalise to longer sequences" \
  "The client and the scheduler, which keeps sweeps in one SQLite file and hands their jobs to workers."

if [[ -x $build/bin/longreach-worker ]]; then
  stage longreach-worker longreach-worker worker
  licenses=$work/longreach-worker/usr/share/doc/longreach-worker/libraries
  mkdir -p "$licenses"
  site=$(ldd "$build/bin/longreach-trainer" | sed -n 's/.*libtorch_cpu.so => \(.*\)\/torch\/lib\/libtorch_cpu.so .*/\1/p')
  for package in torch nvidia_cuda_runtime nvidia_cuda_cupti; do  # Of these are the libraries of the wheel's LibTorch.
    for file in "$site/$package"-*.dist-info/{licenses/,}{LICENSE,NOTICE,License}*; do
      [[ ! -f $file ]] || install -m 644 "$file" "$licenses/$package-$(basename "$file")"
    done
  done
  depends=$(needed longreach-worker)
  pack longreach-worker "longreach (= $version), $depends" "worker that trains the jobs of Longreach's sweeps" \
    "With the libraries of LibTorch that compute on a CPU. A worker for GPUs is run from a build's folder."
fi

mkdir -p "$folder"
rm -f "$folder"/longreach_*.deb "$folder"/longreach-worker_*.deb  # So that FOLDER/longreach*.deb are of one version.
for package in "$work"/*.deb; do
  mv -f "$package" "$folder/"
  echo "deb: $folder/$(basename "$package"), $(du -h "$folder/$(basename "$package")" | cut -f1)"
done
