#!/usr/bin/env bash
# make check: format and lints.
set -euo pipefail
cd "$(dirname "$0")/.."
printf 'check: format\n' >&2
cargo fmt --all --check
printf 'check: lints\n' >&2
cargo clippy --locked --quiet --workspace --all-targets -- -D warnings
