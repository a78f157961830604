#!/usr/bin/env bash
# make model=NAME: two visible steps, the compiler and cargo; leaves bin/NAME and bin/onnxcast.
#   onnx=PATH dims=a=1,b=2 precision=fp32 kv=int8 activations=fp16 pool=beside profile=release   as environment variables, all optional
#   from=MODEL   quantises the pool of a compiled model instead of compiling; further arguments go to onnxcast quantize
# One target folder serves all models, so build and copy happen under a lock.
set -euo pipefail
cd "$(dirname "$0")/.."
name=${1:?model name}
shift

say() { printf '%s: %s\n' "$name" "$*" >&2; }
profile=${profile:-dev}
folder=target/$([ "$profile" = dev ] && echo debug || echo "$profile")
quiet=(); [ -t 2 ] || quiet=(--quiet)  # a terminal gets cargo's progress bar
options=()
[ -z "${onnx:-}" ] || options+=(--onnx "$onnx")
[ -z "${dims:-}" ] || options+=(--dims "$dims")
[ -z "${precision:-}" ] || options+=(--precision "$precision")
[ -z "${kv:-}" ] || options+=(--kv "$kv")
[ -z "${activations:-}" ] || options+=(--activations "$activations")

mkdir -p .cache bin
exec 9>.cache/build.lock
flock -n 9 || { say "waiting for another build"; flock 9; }

# The model's own prepare.py, or that of the model it extends.
prepare() {
  local manifest=models/$1/model.toml parent
  if [ -e "models/$1/prepare.py" ]; then .cache/venv/bin/python "models/$1/prepare.py"; return; fi
  parent=$(sed -n 's/^extends *= *"\([^"]*\)".*/\1/p' "$manifest" 2>/dev/null | head -n 1)
  [ -z "$parent" ] || [ "${2:-0}" -ge 9 ] || prepare "$parent" $((${2:-0} + 1))
}
[ -n "${onnx:-}${from:-}" ] || prepare "$name"

# Graphs that the model's export.py, or that of the model it extends, writes beside the downloaded files: in an environment of its own,
# as it needs torch.
export_graphs() {
  local home=models/$1 parent cache=.cache/models/$1
  if [ ! -e "$home/export.py" ]; then
    parent=$(sed -n 's/^extends *= *"\([^"]*\)".*/\1/p' "$home/model.toml" 2>/dev/null | head -n 1)
    [ -z "$parent" ] || [ "${2:-0}" -ge 9 ] || export_graphs "$parent" $((${2:-0} + 1))
    return
  fi
  [ -e "$cache/decoder.onnx" ] && return
  if [ ! -x .cache/export/bin/python ] || ! cmp -s "$home/requirements.txt" .cache/export/requirements.txt; then
    say "installing what $home/export.py needs into .cache/export"
    python3 -m venv .cache/export
    .cache/export/bin/pip install --quiet -r "$home/requirements.txt"
    cp "$home/requirements.txt" .cache/export/
  fi
  say "exporting the graphs"
  .cache/export/bin/python "$home/export.py" --from "$cache" --out "$cache"
}

# Always the whole workspace: another selection of packages would resolve other features and build dependencies again.
say "building the compiler"
cargo build --locked "${quiet[@]}" --profile "$profile" --workspace
install -m 755 "$folder/onnxcast" bin/onnxcast

if [ -n "${from:-}" ]; then
  source=generated/$from/weights.pool
  [ -e "$source" ] || source=bin/$from
  say "step 1 of 2: onnxcast quantize $source --name $name $*"
  bin/onnxcast quantize "$source" --name "$name" "$@"
else
  if [ -z "${onnx:-}" ]; then
    bin/onnxcast fetch "$name"  # what [sources] of the manifest names and the cache lacks
    export_graphs "$name"
  fi
  say "step 1 of 2: onnxcast compile $name ${options[*]}"
  bin/onnxcast compile "$name" "${options[@]}"
fi

say "step 2 of 2: cargo build"
ONNXCAST_MODEL=$name cargo build --locked "${quiet[@]}" --profile "$profile" --workspace
part=bin/.$name.part
trap 'rm -f "$part"' EXIT
install -m 755 "$folder/onnxcast-model" "$part"
strip "$part"
bin/onnxcast attach "$name" "$part" ${pool:+--pool "$pool"}
mv "$part" "bin/$name"
say "bin/$name is ready"
