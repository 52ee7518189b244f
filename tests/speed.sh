#!/usr/bin/env bash
# Prints the README's figures of speed: a step of each model beside a bare loop around it, and beside PyTorch where a Python
# with torch is given, which then trains the whole text run too:
#
#     tests/speed.sh venv/bin/python
#
# About ten minutes; SECONDS_EACH=10 for a quick look. Leave the machine alone meanwhile.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cargo build --release --bin host
host=${CARGO_TARGET_DIR:-target}/release/host
bench=("$host" bench --seconds "${SECONDS_EACH:-60}" --steps 20000)
[ $# -eq 0 ] || bench+=(--peer "$1")
text=host/examples/text.toml

"${bench[@]}" "$text"
"${bench[@]}" "$text" --set train.batch-size=16
"${bench[@]}" "$text" --set task.layers=6 --set task.heads=6 --set task.width=384 --set task.context=128 \
    --set train.batch-size=8
"${bench[@]}" "$text" --set train.batch-size=1
"${bench[@]}" "$text" --set task.context=512 --set train.batch-size=2
# PyTorch drops other activations, and a run that stops early is too short to be measured.
digits=(train.toml --set task.dropout=0 --set train.epochs=100000 --set plugin.early-stopping.enabled=false)
"${bench[@]}" "${digits[@]}"
"${bench[@]}" "${digits[@]}" --set task.model=mlp
[ $# -eq 0 ] || "$host" bench "$text" --peer "$1" --whole
