#!/bin/sh
# Builds a callback written in C: build.sh OUT.wasm SOURCE.c...
#
# Needs a compiler for wasm32-wasi with its C library: Zig (`zig`, or `pip install ziglang`), or the clang of wasi-sdk
# named in CC. CFLAGS is handed on to the compiler.
set -eu

if [ $# -lt 2 ]; then
    echo "usage: build.sh OUT.wasm SOURCE.c..." >&2
    exit 2
fi
sdk=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
out=$1
shift

if [ -n "${CC:-}" ]; then
    cc=$CC
elif command -v zig >/dev/null 2>&1; then
    cc="zig cc"
elif python3 -c 'import ziglang' 2>/dev/null; then
    cc="python3 -m ziglang cc"
else
    echo "no compiler for WebAssembly: install Zig (https://ziglang.org, or pip install ziglang)," >&2
    echo "or set CC to the clang of wasi-sdk (https://github.com/WebAssembly/wasi-sdk)" >&2
    exit 1
fi

# A reactor is a library that stays loaded. The bindings' object file holds the type of the component.
# shellcheck disable=SC2086 # CC and CFLAGS are several words.
exec $cc --target=wasm32-wasi -mexec-model=reactor -std=c23 -Oz -flto -s -Wall -Wextra -Wno-unused-parameter ${CFLAGS:-} \
    -I "$sdk/include" "$@" "$sdk"/src/*.c "$sdk/bindings/plugin.c" "$sdk/bindings/plugin_component_type.o" -o "$out"
