#!/usr/bin/env bash
# Does this machine read weights in host memory as they were packed? (docs/residency.md)
#   residency.sh --program P [--weights FILE|synthetic:SEED] --out DIR [-- more flags for P, such as --device 1]
# In: an executable of a model that reads more than 0.65 GB a step. Out: DIR/{pages,copies,fault,steady-*}.txt, the same on
# stdout. Promise: ends with code 0 only if every arm is clean, the altered bit was caught, and steady runs agree.
set -euo pipefail

program= weights= out= more=()
while [ $# -gt 0 ]; do
  case $1 in
    --program) program=$2; shift 2 ;;
    --weights) weights=$2; shift 2 ;;
    --out) out=$2; shift 2 ;;
    --) shift; more=("$@"); break ;;
    *) echo "residency.sh: what is '$1'?" >&2; exit 2 ;;
  esac
done
[ -n "$program" ] && [ -n "$out" ] || { echo "residency.sh: --program and --out are needed" >&2; exit 2; }
[ -z "$weights" ] || more=(--weights "$weights" "${more[@]}")
mkdir -p "$out"
worst=0

# NAME, the code that is right, arguments
step() {
  local name=$1 right=$2 code=0; shift 2
  echo "== $name: $*"
  "$program" "$@" "${more[@]}" >"$out/$name.txt" 2>"$out/$name.err" || code=$?
  cat "$out/$name.txt"; tail -n 3 "$out/$name.err" >&2
  [ "$code" = "$right" ] || { echo "residency.sh: $name ended with $code, $right is right" >&2; worst=1; }
}

"$program" info "${more[@]}" >"$out/info.txt" 2>&1 || true
# The pool's own pages where the driver takes them, both ways; then the driver's memory, which without a pool is both.
step pages 0 residency
step copies 0 residency --host-copies --offload read --arms 440000000,520000000,600000000,650000000,all
# The detector sees a bit that it is shown: the name of any tensor will do.
tensor=$("$program" residency --arms all --fault '?' "${more[@]}" 2>&1 | sed -n 's/.*such as \([^,]*\),.*/\1/p')
step fault 10 residency --arms all -r 1 -n 4 --fault "$tensor"
step steady-resident 0 bench --steady -n 128
for way in read stream; do step "steady-$way" 0 bench --steady -n 16 -r 3 --gpu-budget 0 --offload $way; done
exit $worst
