#!/usr/bin/env bash
# Everything that is tested: first what guests are built with, then the guests, in Rust and in the other languages that
# have an SDK, then their own tests and those of the program. Arguments go to the last of these: ./test.sh a4_
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

cargo run --release --bin guests -- setup
cargo run --release --bin guests -- build
tests/languages.sh
# A workspace of its own, whose folder is the one that the guests are built in.
cargo test --manifest-path plugins/Cargo.toml --workspace --target-dir "${CARGO_TARGET_DIR:-target}/guests"
cargo test --release --workspace "$@"
# Benchmarks: that they build, and that one runs. What they measure is no matter of tests.
if [ $# -eq 0 ]; then
    cargo bench --workspace --no-run
    cargo bench --workspace --bench event -- --test >/dev/null
fi
