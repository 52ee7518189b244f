#!/usr/bin/env bash
# Checks what the program is built from against known security advisories: the RustSec database, through cargo-audit.
# ADVISORY_DB names a folder with a copy of the database; without it, the newest one is fetched. Where neither is to be
# had it says that nothing was checked, and does not fail: that is for whoever reads it to judge.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

not_checked() {
    echo "advisories were NOT checked: $1"
    exit 0
}

if [ -n "${ADVISORY_DB:-}" ]; then
    [ -d "$ADVISORY_DB/crates" ] || { echo "ADVISORY_DB=$ADVISORY_DB is no copy of the RustSec database" >&2; exit 2; }
    database=(--db "$ADVISORY_DB" --no-fetch --stale)
else
    database=()
    url=https://github.com/RustSec/advisory-db
    GIT_TERMINAL_PROMPT=0 timeout 20 git ls-remote --exit-code "$url" HEAD >/dev/null 2>&1 ||
        not_checked "$url cannot be reached from here, and ADVISORY_DB names no copy of it"
fi
if ! cargo audit --version >/dev/null 2>&1; then
    echo "installing cargo-audit"
    cargo install --locked --quiet cargo-audit@0.22.2 || not_checked "cargo-audit could not be installed"
fi
for lock in Cargo.lock plugins/Cargo.lock; do
    echo "$lock:"
    cargo audit --file "$lock" "${database[@]}"
done
