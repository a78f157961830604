#!/usr/bin/env bash
# make bench: rows of bin/NAME bench. With plot=1 also .cache/bench/NAME.{svg,bench.json,profile.json}: the picture of tools/roofline.py.
#   bandwidth=GB/S   the device's memory, for the picture [default: the most that a row achieves]
set -euo pipefail
cd "$(dirname "$0")/.."
name=${1:?model name}
shift
if [ "${plot:-}" != 1 ]; then exec "bin/$name" bench "$@"; fi

out=.cache/bench/$name
mkdir -p "$(dirname "$out")"
"bin/$name" bench -o json "$@" >"$out.bench.json"
rows=("$out.bench.json")
# A device without timestamps has rows of bench alone.
code=0
"bin/$name" profile --json >"$out.profile.json" || code=$?
case $code in 0) rows=("$out.profile.json" "${rows[@]}") ;; 4) ;; *) exit $code ;; esac
python3 tools/roofline.py "${rows[@]}" -o "$out.svg" --title "$name" ${bandwidth:+--bandwidth "$bandwidth"}
printf 'bench: wrote %s\n' "$out.svg" "${rows[@]}"
