#!/bin/sh
# Builds early-stopping.wasm in this folder. What it needs is said in ../../build.sh.
set -eu
cd -- "$(dirname -- "$0")"
exec ../../build.sh early-stopping.wasm early_stopping.c rule.c
