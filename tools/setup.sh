#!/usr/bin/env bash
# make setup: what the build needs and this machine lacks. A second run finds everything there and changes nothing.
#   system packages   apt where that is possible, else one line that says what to install
#   .cache/shaderc    Debian's static shaderc archives merged into one (docs/adr/003-shaderc.md)
#   .cache/venv       Python packages of tools/requirements.txt, for preparing models and checking goldens
#   crates            fetched, so that later steps need no network
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf 'setup: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }
first_error() { grep -i -m 1 '^error' "$1" || echo "see $1"; }
python=${PYTHON:-python3}

# Debian package: what shows that it is there (a program, or a file of the package).
packages() {
  cat <<'LIST'
make make
g++ c++
binutils ar
util-linux flock
libshaderc-dev
glslang-dev
spirv-tools spirv-val
libvulkan1
mesa-vulkan-drivers
vulkan-validationlayers
LIST
  have "$python" || echo python3
  ! have "$python" || "$python" -c 'import ensurepip, venv' 2>/dev/null || echo python3-venv
}

missing_packages() {
  packages | while read -r package program; do
    if [ -n "$program" ]; then have "$program" || echo "$package"
    else dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || echo "$package"
    fi
  done
}

install_packages() {
  have dpkg-query || { other_system; return; }
  local missing
  mapfile -t missing < <(missing_packages)
  [ ${#missing[@]} -eq 0 ] && return
  [ "$(id -u)" = 0 ] || die "please install: sudo apt-get install ${missing[*]}"
  say "installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  local log; log=$(mktemp)
  { apt-get update && apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1 || {
    tail -n 3 "$log" >&2; rm -f "$log"
    die "apt could not install ${missing[*]}: offline, or no package mirror within reach"
  }
  rm -f "$log"
}

# Not Debian: nothing is installed here; the tools that cannot be done without are asked for in one line.
other_system() {
  local wanted=() tool
  for tool in c++ ar flock cmake git "$python" spirv-val; do have "$tool" || wanted+=("$tool"); done
  ldconfig -p 2>/dev/null | grep -q 'libvulkan\.so\.1' || wanted+=("the Vulkan loader (libvulkan.so.1)")
  [ ${#wanted[@]} -eq 0 ] || die "please install: $(printf '%s, ' "${wanted[@]}" | sed 's/, $//')"
}

check_versions() {
  have cargo || die "please install Rust 1.90 or newer (cargo was not found)"
  local rust; rust=$(rustc --version | awk '{print $2}')
  [ "$(printf '%s\n1.90\n' "$rust" | sort -V | head -n 1)" = 1.90 ] || die "Rust 1.90 or newer is needed, found $rust"
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    die "Python 3.11 or newer is needed, found $("$python" --version 2>&1) (PYTHON=… names another)"
}

# The crate shaderc links libshaderc_combined.a of this folder; where there is none it builds shaderc from source.
merge_shaderc() {
  local out=.cache/shaderc/libshaderc_combined.a debian folder
  [ -s "$out" ] && return
  mkdir -p .cache/shaderc
  debian=$(find /usr/lib -maxdepth 2 -name libshaderc_combined.a 2>/dev/null | head -n 1)
  if [ -n "$debian" ]; then
    folder=$(dirname "$debian")
    say "merging the shaderc archives of $folder"
    merge_archives "$folder" "$out.part" && links "$out.part" && mv "$out.part" "$out" && return
    rm -f "$out.part"
  fi
  local why="no usable static shaderc archives" tool
  for tool in cmake git c++; do have "$tool" || die "$why; building shaderc from source needs $tool"; done
  say "$why: cargo will build shaderc from source, once, in about 6 minutes"
}

merge_archives() {
  local name
  {
    echo "create $2"
    for name in shaderc_combined glslang MachineIndependent GenericCodeGen OSDependent OGLCompiler HLSL SPIRV \
      SPIRV-Tools-opt SPIRV-Tools glslang-default-resource-limits; do
      [ ! -e "$1/lib$name.a" ] || echo "addlib $1/lib$name.a"
    done
    printf 'save\nend\n'
  } | ar -M
}

# A program that compiles one shader must link against the merged archive and run.
links() {
  local dir ok=1; dir=$(mktemp -d)
  cat >"$dir/probe.c" <<'C'
#include <shaderc/shaderc.h>
int main(void) {
  const char text[] = "#version 460\nlayout(local_size_x = 1) in;\nvoid main() {}\n";
  shaderc_compilation_result_t r = shaderc_compile_into_spv(shaderc_compiler_initialize(), text, sizeof text - 1,
      shaderc_glsl_compute_shader, "probe", "main", 0);
  return shaderc_result_get_compilation_status(r) != shaderc_compilation_status_success;
}
C
  c++ -x c++ -o "$dir/probe" "$dir/probe.c" -x none "$1" -lpthread >"$dir/log" 2>&1 && "$dir/probe" && ok=0
  rm -rf "$dir"
  return $ok
}

make_venv() {
  local stamp=.cache/venv/requirements.txt
  cmp -s tools/requirements.txt "$stamp" && .cache/venv/bin/python -c '' 2>/dev/null && return
  say "making .cache/venv with the Python packages of tools/requirements.txt"
  rm -rf .cache/venv
  "$python" -m venv .cache/venv
  local quiet=(); [ -t 2 ] || quiet=(--quiet)  # a terminal gets pip's progress bars
  .cache/venv/bin/python -m pip install "${quiet[@]}" --disable-pip-version-check --retries 1 --no-deps \
    -r tools/requirements.txt \
    >&2 2>.cache/pip.log || die "pip could not install tools/requirements.txt ($(first_error .cache/pip.log)): offline?"
  cp tools/requirements.txt "$stamp"
}

fetch_crates() {
  cargo fetch --locked --offline >/dev/null 2>&1 && return
  say "fetching crates"
  cargo fetch --locked 2>.cache/cargo.log ||
    die "cargo could not fetch the crates of Cargo.lock ($(first_error .cache/cargo.log)): offline?"
}

mkdir -p .cache
install_packages
check_versions
merge_shaderc
make_venv
fetch_crates
