#!/bin/bash
# Builds targets in a folder that CMake has configured. A compiler that dies without a word (memory or disk was short for a
# moment) must not cost a whole run: what is missing then is built one at a time, after a line on what the machine has left.
# A real error is printed again there, as the last thing.
#
#   deploy/build.sh FOLDER [TARGET...]      JOBS=N: N at a time, default: one for each processor
set -uo pipefail
folder=$1
shift
jobs=${JOBS:-$(nproc)}
ninja -C "$folder" -j"$jobs" "$@" && exit
status=$?
case $status in 2 | 130) exit "$status" ;; esac  # Somebody stopped it.
[ "$jobs" -gt 1 ] || exit 1
echo "build: $folder failed with $jobs at a time; memory: $(free -m | awk '/^Mem:/ {print $7}') MiB available," \
  "disk: $(df -Pm "$folder" | awk 'NR == 2 {print $4}') MiB free. Once more, one at a time:"
exec ninja -C "$folder" -j1 "$@"
