//! What a device has compiled and measured, kept for the next start. In: a file, the device. Out: Vulkan's pipeline cache, filled from
//! the file, and the variants of kernels that were found fastest. Promise: a file that is damaged, or of another device or driver, is as
//! none; it appears whole or not at all; where it cannot be written nothing but time is lost.
#![allow(unsafe_code)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use vulkano::device::Device;
use vulkano::pipeline::cache::{PipelineCache, PipelineCacheCreateInfo};

/// First bytes of a file, with the version of its form.
const MAGIC: &[u8; 8] = b"ocpipe01";

/// Bytes of a hash.
const HASH: usize = blake3::OUT_LEN;

/// A file larger than this is not read: no program's pipelines are.
const MOST_BYTES: u64 = 256 << 20;

/// By the name of a kernel, the variant that was fastest.
pub type Choices = BTreeMap<String, String>;

/// Where to keep: a folder, and the model's name. Every kind of device has its own file there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    pub folder: PathBuf,
    pub model: String,
}

/// The file of one model, open while its device is.
pub(crate) struct Kept {
    path: PathBuf,
    cache: Arc<PipelineCache>,
    choices: Mutex<Choices>,
    /// Hash of what the file holds.
    stored: Mutex<Option<[u8; HASH]>>,
}

/// What a file holds.
#[derive(Clone, PartialEq, Debug, Default)]
struct Content {
    choices: Choices,
    pipelines: Vec<u8>,
}

impl Kept {
    /// Reads the file of a model in a folder where it is sound and of this device. None where the driver gives no cache.
    pub fn open(Place { folder, model }: &Place, device: &Arc<Device>) -> Option<Kept> {
        let p = device.physical_device().properties();
        let path = folder.join(format!("{model}-{:04x}{:04x}.pipelines", p.vendor_id, p.device_id));
        let identity = identity(device);
        let bytes = read(&path).unwrap_or_default();
        let found = parse(&bytes, &identity);
        let stored = found.is_some().then(|| *blake3::hash(&bytes).as_bytes());
        let Content { choices, pipelines } = found.unwrap_or_default();
        let info = PipelineCacheCreateInfo { initial_data: pipelines, ..Default::default() };
        // SAFETY: the data is what this driver gave for this device (the identity says so), unaltered since (the hash says so).
        let cache = unsafe { PipelineCache::new(device.clone(), info) }.ok()?;
        Some(Kept { path, cache, choices: Mutex::new(choices), stored: Mutex::new(stored) })
    }

    pub fn cache(&self) -> &Arc<PipelineCache> {
        &self.cache
    }

    pub fn choices(&self) -> Choices {
        self.choices.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds what was measured, to be kept with the next `store`.
    pub fn choose(&self, found: Choices) {
        self.choices.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
    }

    /// Writes the file anew where it would hold something else. Says whether it holds everything now.
    pub fn store(&self, device: &Arc<Device>) -> bool {
        let Ok(pipelines) = self.cache.get_data() else { return false };
        let bytes = print(&Content { choices: self.choices(), pipelines }, &identity(device));
        let hash = *blake3::hash(&bytes).as_bytes();
        let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        if *stored == Some(hash) {
            return true;
        }
        let written = write(&self.path, &bytes).is_ok();
        if written {
            *stored = Some(hash);
        }
        written
    }
}

/// The folder that keeps such files: a user's cache folder. None where the environment names none.
pub fn folder() -> Option<PathBuf> {
    let of = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let base = of("XDG_CACHE_HOME").or_else(|| of("HOME").map(|p| p.join(".cache"))).or_else(|| of("LOCALAPPDATA"));
    base.map(|p| p.join("onnxcast"))
}

/// What must be the same for a file to be of use.
fn identity(device: &Arc<Device>) -> [u8; HASH] {
    let p = device.physical_device().properties();
    let mut hasher = blake3::Hasher::new();
    for word in [p.vendor_id, p.device_id, p.driver_version, p.driver_id.map_or(0, |id| id as u32)] {
        hasher.update(&word.to_le_bytes());
    }
    hasher.update(&p.pipeline_cache_uuid);
    hasher.update(env!("CARGO_PKG_VERSION").as_bytes());
    *hasher.finalize().as_bytes()
}

/// Magic, identity, bytes of the choices, choices as JSON, pipelines, hash of all that.
fn print(content: &Content, identity: &[u8; HASH]) -> Vec<u8> {
    let choices = serde_json::to_vec(&content.choices).unwrap_or_default();
    let mut bytes = MAGIC.to_vec();
    bytes.extend(identity);
    bytes.extend((choices.len() as u64).to_le_bytes());
    bytes.extend(choices);
    bytes.extend(&content.pipelines);
    let hash = blake3::hash(&bytes);
    bytes.extend(hash.as_bytes());
    bytes
}

fn parse(bytes: &[u8], identity: &[u8; HASH]) -> Option<Content> {
    let (content, hash) = bytes.split_at_checked(bytes.len().checked_sub(HASH)?)?;
    if blake3::hash(content).as_bytes() != hash {
        return None;
    }
    let rest = content.strip_prefix(MAGIC)?.strip_prefix(identity)?;
    let (length, rest) = rest.split_first_chunk::<8>()?;
    let (choices, pipelines) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    Some(Content { choices: serde_json::from_slice(choices).ok()?, pipelines: pipelines.to_vec() })
}

fn read(path: &Path) -> Option<Vec<u8>> {
    let usual = std::fs::metadata(path).ok().filter(|m| m.is_file() && m.len() <= MOST_BYTES);
    usual.and_then(|_| std::fs::read(path).ok())
}

fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = path.with_file_name(name);
    let done = std::fs::write(&part, bytes).and_then(|()| std::fs::rename(&part, path));
    if done.is_err() {
        let _ = std::fs::remove_file(&part);
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: [u8; HASH] = [7; HASH];

    fn content() -> Content {
        let choices = [("matvec_a".to_string(), "matvec_a_u2".to_string())].into_iter().collect();
        Content { choices, pipelines: (0..200).collect() }
    }

    #[test]
    fn a_file_comes_back_as_it_was() {
        assert_eq!(parse(&print(&content(), &ME), &ME), Some(content()));
        assert_eq!(parse(&print(&Content::default(), &ME), &ME), Some(Content::default()));
    }

    #[test]
    fn a_damaged_short_or_foreign_file_is_as_none() {
        let bytes = print(&content(), &ME);
        assert_eq!(parse(&bytes, &[8; HASH]), None, "another device");
        for at in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[at] ^= 1;
            assert_eq!(parse(&bad, &ME), None, "byte {at} turned");
            assert_eq!(parse(&bytes[..at], &ME), None, "cut at {at}");
        }
        // Sound by its hash, yet longer choices than there are bytes.
        let mut long = bytes[..bytes.len() - HASH].to_vec();
        long[MAGIC.len() + HASH..][..8].copy_from_slice(&u64::MAX.to_le_bytes());
        let hash = blake3::hash(&long);
        long.extend(hash.as_bytes());
        assert_eq!(parse(&long, &ME), None);
    }

    #[test]
    fn a_file_appears_whole_and_leaves_nothing_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/model.pipelines");
        write(&path, b"first").unwrap();
        write(&path, b"second").unwrap();
        assert_eq!(read(&path).unwrap(), b"second");
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        assert!(write(&dir.path().join("deep/model.pipelines/below"), b"x").is_err());
    }
}
