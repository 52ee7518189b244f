#!/usr/bin/env bash
# Builds early stopping in every language that has an SDK, for the tests that play recorded traces to it, and the plugins of
# the catalogue that are not in Rust; runs the SDKs' own tests and theirs. What is missing of a toolchain is installed below the target folder; where that is not possible, or a
# language's own compiler is not there, it says so and leaves that language out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target="$(realpath -m "${CARGO_TARGET_DIR:-target}")/guests"
components="$target/components"
mkdir -p "$components"
missing=()

say() { echo "languages: $*" >&2; }

# without LANGUAGE WHY: its component of an earlier build would be another program's.
without() {
    say "$1 is left out: $2"
    missing+=("$1")
    rm -f "$components/early-stopping-in-$1.wasm"
    case "$1" in
        python) rm -f "$components/run-advisor.wasm" ;;
        javascript) rm -f "$components/goal-watch.wasm" ;;
    esac
}

# component LANGUAGE COMMAND...: the command gets the file to write as its last argument.
component() {
    local language="$1"
    shift
    plugin "early-stopping-in-$language" "$@"
}

# plugin NAME COMMAND...: the same for any plugin. The file is put in place whole.
plugin() {
    local name="$1" made="$target/$1.wasm"
    shift
    rm -f "$made"
    "$@" "$made"
    mv "$made" "$components/$name.wasm"
    say "built $name"
}

# Python's tools, and Zig, which PyPI has too, in an environment of their own.
python="$target/python/bin/python"
have_python() {
    if [ -x "$python" ] && "$python" -c 'import componentize_py, ziglang' 2>/dev/null; then
        return 0
    fi
    command -v python3 >/dev/null || return 1
    say "installing componentize-py 0.25.1 and ziglang 0.17.1 into $target/python"
    python3 -m venv "$target/python" && "$python" -m pip install --quiet --disable-pip-version-check \
        componentize-py==0.25.1 ziglang==0.17.1
}

build_python() {
    (cd sdk/python && PYTHONDONTWRITEBYTECODE=1 "$python" -m unittest --quiet)
    component python env PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=sdk/python/src:sdk/python/examples PATH="$target/python/bin:$PATH" \
        "$python" -m host_sdk.build sdk/python/examples/early_stopping --output
    (cd plugins/run-advisor && PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=../../sdk/python/src "$python" -m unittest discover --quiet -s tests -t .)
    plugin run-advisor env PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=sdk/python/src:plugins/run-advisor PATH="$target/python/bin:$PATH" \
        "$python" -m host_sdk.build plugins/run-advisor/run_advisor --output
}

build_javascript() {
    if [ ! -x sdk/javascript/node_modules/.bin/componentize-qjs ]; then
        say "npm install in sdk/javascript"
        (cd sdk/javascript && npm install --no-audit --no-fund --silent)
    fi
    (cd sdk/javascript && npm run --silent types && npm test --silent >/dev/null)
    component javascript node sdk/javascript/bin/host-sdk.js build sdk/javascript/examples/early-stopping/src/index.ts --out
    (cd plugins/goal-watch && npm run --silent types && npm test --silent >/dev/null)
    plugin goal-watch node sdk/javascript/bin/host-sdk.js build plugins/goal-watch/src/index.ts --out
}

in_c() { sdk/c/build.sh "$1" sdk/c/examples/early-stopping/{early_stopping,rule}.c; }
in_cpp() { sdk/cpp/build.sh "$1" sdk/cpp/examples/early-stopping/{early_stopping,rule}.cpp; }

build_zig() {
    zig() { "$python" -m ziglang "$@"; }
    (cd sdk/zig && zig build test)
    (cd sdk/zig/examples/early-stopping && zig build test && zig build --prefix "$target/zig")
    component zig cp "$target/zig/bin/early-stopping.wasm"
}

in_go() { (cd sdk/go/examples/early-stopping && go run github.com/train-host/host/sdk/go/cmd/component -o "$1" .); }

build_go() {
    (cd sdk/go && go vet ./... && go test ./...)
    component go in_go
}

if have_python; then
    build_python
    # Scripts that look for a `python3` with Zig find this one.
    export PATH="$target/python/bin:$PATH"
    component c in_c
    component cpp in_cpp
    build_zig
else
    for language in python c cpp zig; do
        without "$language" "there is no Python 3 with venv and pip to install its tools with"
    done
fi
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
    without javascript "there is no Node.js with npm"
elif ! node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 6) ? 0 : 1)'; then
    without javascript "Node.js $(node --version) is older than 20.6"
else
    build_javascript
fi
if command -v go >/dev/null && command -v npx >/dev/null; then
    build_go
else
    without go "there is no Go, or no Node.js, whose tool makes the component"
fi
say "done${missing[*]:+, without ${missing[*]}}"
