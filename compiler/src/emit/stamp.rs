//! The stamp. In: the generated files. Out: their hashes. Promise: `build.rs` refuses a folder that differs from it by a byte.

use super::File;

/// Name of the stamp in `generated/NAME`.
pub const FILE: &str = "stamp";

/// One line a file: blake3, path.
pub fn of(files: &[File]) -> File {
    let lines = files.iter().map(|(path, bytes)| format!("{} {}\n", blake3::hash(bytes).to_hex(), path.display()));
    (FILE.into(), lines.collect::<String>().into_bytes())
}
