#!/bin/sh
# Builds a callback written in C++: build.sh OUT.wasm SOURCE.cpp...
#
# Needs a compiler for wasm32-wasi with its libraries: Zig (`zig`, or `pip install ziglang`), or the clang and clang++ of
# wasi-sdk named in CC and CXX. CXXFLAGS is handed on to the compiler.
set -eu

if [ $# -lt 2 ]; then
    echo "usage: build.sh OUT.wasm SOURCE.cpp..." >&2
    exit 2
fi
sdk=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
c=$sdk/../c
out=$1
shift

if [ -n "${CC:-}" ] && [ -n "${CXX:-}" ]; then
    cc=$CC cxx=$CXX
elif command -v zig >/dev/null 2>&1; then
    cc="zig cc" cxx="zig c++"
elif python3 -c 'import ziglang' 2>/dev/null; then
    cc="python3 -m ziglang cc" cxx="python3 -m ziglang c++"
else
    echo "no compiler for WebAssembly: install Zig (https://ziglang.org, or pip install ziglang)," >&2
    echo "or set CC and CXX to those of wasi-sdk (https://github.com/WebAssembly/wasi-sdk)" >&2
    exit 1
fi
common="--target=wasm32-wasi -mexec-model=reactor -Oz -flto -Wall -Wextra -Wno-unused-parameter"

# The library is C, and is compiled as such.
objects=$(mktemp -d)
trap 'rm -rf "$objects"' EXIT
for source in "$c"/src/*.c "$c/bindings/plugin.c"; do
    # shellcheck disable=SC2086 # These are several words.
    $cc $common -std=c23 -I "$c/include" -c "$source" -o "$objects/$(basename "$source" .c).o"
done
# shellcheck disable=SC2086
$cxx $common -std=c++20 -fno-exceptions -fno-rtti -Wno-c23-extensions -s ${CXXFLAGS:-} \
    -I "$sdk/include" -I "$c/include" "$@" "$objects"/*.o "$c/bindings/plugin_component_type.o" -o "$out"
