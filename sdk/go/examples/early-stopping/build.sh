#!/bin/sh
# Builds early-stopping.wasm in this folder. Needs Go, and wasm-tools or Node.js, of which the command tells what is missing.
set -eu
cd -- "$(dirname -- "$0")"
if ! command -v go >/dev/null 2>&1; then
    echo "Go is missing: install it from https://go.dev" >&2
    exit 1
fi
exec go run github.com/train-host/host/sdk/go/cmd/component -o early-stopping.wasm .
