#!/usr/bin/env bash
# make snap: snapshot tests, then what changed. With cargo-insta at hand each change is reviewed first; without it file
# snapshots are accepted as they are and inline ones stay as they were.
set -euo pipefail
cd "$(dirname "$0")/.."
if cargo insta --version >/dev/null 2>&1; then
  cargo insta test --workspace --review
else
  printf 'snap: accepting file snapshots (inline ones need cargo-insta)\n' >&2
  tools/fetch_conformance.sh
  INSTA_UPDATE=always INSTA_FORCE_PASS=1 cargo test --locked --quiet --workspace
fi
git --no-pager diff --stat -- '*.snap' '*.rs'
