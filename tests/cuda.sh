#!/usr/bin/env bash
# Checks the CUDA backend on a machine that has a GPU: numbers against the CPU, resume, a loss that explodes, memory that is
# measured and runs out, bf16, and speed. Needs python3 for the comparisons. DEVICE=cpu runs what can be run without a GPU,
# which only tests this script. PEER=venv/bin/python, a Python with torch, adds tokens a second of PyTorch, eager and
# compiled.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

device="${DEVICE:-cuda}"
cargo build --release --bin host
host="${CARGO_TARGET_DIR:-target}/release/host"
"$host" doctor
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# Runs in a folder of its own and prints the run folder.
train() {
    local name="$1"
    shift
    "$host" run train.toml --quiet --set run.folder="$work" --set run.name="$name" --set train.log-every=1st "$@" >&2
    ls -d "$work/$name"-* | tail -n 1
}

# Largest relative difference of the losses in two runs' metrics.
compare() {
    python3 - "$1" "$2" "$3" "$4" <<'PYTHON'
import json, sys
what, limit = sys.argv[1], float(sys.argv[2])
def losses(run):
    rows = [json.loads(line) for line in open(run + "/metrics.jsonl")]
    return [(row["step"], name, row[name]) for row in rows for name in ("loss", "eval/loss") if name in row]
a, b = losses(sys.argv[3]), losses(sys.argv[4])
if [row[:2] for row in a] != [row[:2] for row in b]:
    sys.exit(f"FAILED {what}: the runs have other records")
worst = max(abs(x[2] - y[2]) / max(abs(x[2]), 1e-3) for x, y in zip(a, b))
print(f"{what}: {len(a)} losses, largest relative difference {worst:.2e} (limit {limit:.0e})")
if not worst <= limit:
    sys.exit(f"FAILED {what}")
PYTHON
}

# Initial weights differ between backends, so both go on from one checkpoint of the CPU's. Dropout draws differ too.
common=(--set task.dropout=0.0 --set train.epochs=2)
start="$(train start --set run.device=cpu "${common[@]}" --until 20st)"
cpu="$(train cpu --set run.device=cpu "${common[@]}" --resume "$start")"
gpu="$(train gpu --set run.device="$device" "${common[@]}" --resume "$start")"
compare "$device against cpu, 70 steps" 2e-2 "$cpu" "$gpu"

whole="$(train whole --set run.device="$device" --set train.epochs=2)"
part="$(train part --set run.device="$device" --set train.epochs=2 --until 37st)"
rest="$(train rest --set run.device="$device" --set train.epochs=2 --resume "$part")"
compare "resume on $device" 1e-4 "$whole" "$rest"

if "$host" run train.toml --quiet --set run.folder="$work" --set run.name=explode --set run.device="$device" \
    --set optimizer.learning-rate=1000 --set optimizer.kind=adamw --set train.epochs=1 --set plugin.nan-guard.enabled=false; then
    echo "a learning rate of 1000 did not make the loss explode within an epoch"
else
    echo "a loss that exploded ended the run with code $?"
fi

# The text example with another plugin.
sed "s|^base = .*|base = \"$PWD\"|" host/examples/text.toml >"$work/guarded.toml"
printf '\n[[plugin]]\nname = "memory-guard"\nfile = "memory-guard/memory-guard.wasm"\n' >>"$work/guarded.toml"

# told NAME WORDS ARGUMENTS...: a run of the text example in which memory-guard says these words.
told() {
    local name="$1" words="$2" story
    shift 2
    "$host" run "$work/guarded.toml" --quiet --set run.folder="$work" --set run.name="$name" \
        --set run.device="$device" "$@" >&2
    story="$("$host" show "$(ls -d "$work/$name"-* | tail -n 1)" --by memory-guard --all)"
    grep -q -- "$words" <<<"$story" || { echo "FAILED $name: memory-guard did not say \"$words\":"; echo "$story"; exit 1; }
    echo "$name: memory-guard said \"$words\""
}

# The smallest part of the memory is too much: so what is in use is known.
told memory "batch-size 12 becomes 6" --set train.steps=3 --set plugin.memory-guard.config.max-fraction=1e-6 \
    --set train.evaluate-every=end --set task.sample=0
if [ "$device" != cpu ]; then
    # Ten thousand windows of a model that is this wide take 440 GB.
    told out-of-memory "batch-size 10000 becomes 5000" --set train.steps=2 --set train.batch-size=10000 --set task.width=1024 \
        --set task.heads=16 --set task.layers=12 --set train.evaluate-every=end --set task.sample=0
fi

text() {
    local name="$1"
    shift
    "$host" run host/examples/text.toml --quiet --set run.folder="$work" --set run.name="$name" \
        --set run.device="$device" --set train.steps="${STEPS:-500}" --set train.evaluate-every=end \
        --set train.log-every=1st "$@" >&2
    ls -d "$work/$name"-* | tail -n 1
}
compare "bf16 against f32" 5e-2 "$(text f32)" "$(text bf16 --set task.precision=bf16)"

for precision in f32 bf16; do
    bench=("$host" bench host/examples/text.toml --set run.device="$device" --set task.precision="$precision"
        --steps "${STEPS:-500}")
    if [ -z "${PEER:-}" ]; then
        "${bench[@]}"
    else
        "${bench[@]}" --peer "$PEER"
        "${bench[@]}" --peer "$PEER" --compile
    fi
done
echo "all checks passed on $device"
