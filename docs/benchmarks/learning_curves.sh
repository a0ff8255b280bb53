#!/bin/bash
# Makes the runs that learning_curves.py compares: nine independent runs of each cell, and for the randomized encoding the
# trained models again on further draws of test positions. Can be interrupted and started again.
#
#   docs/benchmarks/learning_curves.sh STORE
set -euo pipefail
store=${1:?usage: learning_curves.sh STORE}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
longreach=${LONGREACH_BIN:-$here/../../build/release/bin}/longreach
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

for k in {0..8}; do
  "$longreach" run "$here/learning-curves.yaml" --store "$store" --set seed="$k" --set training.data_seed="$k" --set evaluation.seed="$k"
done

for k in {0..8}; do
  for draw in {0..39}; do
    cat >"$folder/draws.yaml" <<YAML
name: learning-curves-draws
experiment: algorithmic
axes: {task: [even_pairs, bucket_sort], encoding: ["rope:randomized"], learning_rate: [3e-4], seed: [$k]}
training: {steps: 0}
evaluation: {lengths: [5, 10, 20, 40], examples: 500, seed: $draw}
inputs:
  - name: weights
    artifact: weights
    from:
      training: {steps: 1000, batch_size: 64, lengths: 1..10, data_seed: $k}
      evaluation: {lengths: [5, 10, 20, 40], examples: 500, seed: $k}
YAML
    "$longreach" submit "$folder/draws.yaml" --store "$store" --quiet >/dev/null
  done
done
"$longreach" run "$folder/draws.yaml" --store "$store"
