//! What an executable keeps between starts, on bin/tiny (`make model=tiny`): one file that is used, replaced when damaged, and left
//! alone with --no-cache.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

fn answer(cache: &Path, more: &[&str]) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("bin/tiny");
    assert!(path.exists(), "bin/tiny is missing; run: make model=tiny");
    let mut command = assert_cmd::Command::new(path);
    command.env("XDG_CACHE_HOME", cache).args(["-p", "list the colours", "-n", "8", "--ids"]).args(more);
    let output = command.timeout(Duration::from_secs(120)).assert().success().get_output().clone();
    let remarks = String::from_utf8(output.stderr).unwrap();
    assert!(remarks.lines().all(|line| line.contains("CPU device")), "{more:?}: {remarks}");
    String::from_utf8(output.stdout).unwrap()
}

fn files(cache: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(cache.join("onnxcast")) else { return Vec::new() };
    entries.map(|e| e.unwrap().path()).collect()
}

/// Whether a file ends with the hash of what precedes it. Its length may differ between starts: so may the variants found fastest.
fn whole(bytes: &[u8]) -> bool {
    bytes.split_last_chunk().is_some_and(|(content, hash)| blake3::hash(content).as_bytes() == hash)
}

#[test]
fn one_file_is_kept_and_a_damaged_one_replaced() {
    let cache = tempfile::tempdir().unwrap();
    let first = answer(cache.path(), &[]);
    let [file] = &files(cache.path())[..] else { panic!("{:?}", files(cache.path())) };
    let name = file.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("tiny-") && name.ends_with(".pipelines"), "{name}");
    let sound = fs::read(file).unwrap();
    assert!(whole(&sound) && !whole(&sound[..sound.len() - 1]));
    for damage in [&b""[..], b"noise", &sound[..sound.len() - 1]] {
        fs::write(file, damage).unwrap();
        assert_eq!(answer(cache.path(), &[]), first);
        let again = fs::read(file).unwrap();
        assert!(again.starts_with(&sound[..40]) && whole(&again), "{} bytes", again.len());
    }
    assert_eq!(files(cache.path()).len(), 1);
}

#[test]
fn without_a_cache_nothing_is_read_or_written() {
    let cache = tempfile::tempdir().unwrap();
    let first = answer(cache.path(), &["--no-cache"]);
    assert_eq!(files(cache.path()), Vec::<PathBuf>::new());
    assert_eq!(answer(cache.path(), &[]), first);
    let file = &files(cache.path())[0];
    fs::write(file, b"noise").unwrap();
    assert_eq!(answer(cache.path(), &["--no-cache"]), first);
    assert_eq!(fs::read(file).unwrap(), b"noise");
}

#[test]
fn a_cache_that_cannot_be_written_costs_no_answer() {
    let cache = tempfile::tempdir().unwrap();
    fs::write(cache.path().join("onnxcast"), b"a file where the folder would be").unwrap();
    assert!(!answer(cache.path(), &[]).is_empty());
}
