//! Pools appended to executables. In: an executable and a pool. Out: one file to ship. Promise: appending twice replaces; the program
//! finds its own pool wherever it was moved or renamed to.

use super::pool::{PROLOGUE, refuse};
use crate::error::Result;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Last 80 bytes of an executable with a pool: magic, executable's own bytes, offset and bytes of the pool, the hash in the pool's
/// head, magic again.
pub(super) const TRAILER: usize = 80;
const OPEN: &[u8; 8] = b"ONXCTAIL";
const CLOSE: &[u8; 8] = b"LIATCXNO";

/// A pool in an executable starts at a multiple of this, so that it can be mapped (and shared by file systems) anywhere.
pub const IMAGE_ALIGN: u64 = 64 << 10;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Trailer {
    /// Size of the executable without the pool.
    pub image: u64,
    pub offset: u64,
    pub bytes: u64,
    /// Hash of the pool's head, as the head itself holds it.
    pub head_hash: [u8; 32],
}

impl Trailer {
    fn encode(&self) -> [u8; TRAILER] {
        let mut out = [0u8; TRAILER];
        out[..8].copy_from_slice(OPEN);
        out[8..16].copy_from_slice(&self.image.to_le_bytes());
        out[16..24].copy_from_slice(&self.offset.to_le_bytes());
        out[24..32].copy_from_slice(&self.bytes.to_le_bytes());
        out[32..64].copy_from_slice(&self.head_hash);
        out[72..].copy_from_slice(CLOSE);
        out
    }

    fn decode(tail: &[u8; TRAILER], file_bytes: u64) -> io::Result<Option<Trailer>> {
        if &tail[..8] != OPEN || &tail[72..] != CLOSE {
            return Ok(None);
        }
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| tail[at + i]));
        let head_hash = std::array::from_fn(|i| tail[32 + i]);
        let trailer = Trailer { image: word(8), offset: word(16), bytes: word(24), head_hash };
        let end = trailer.offset.checked_add(trailer.bytes).and_then(|e| e.checked_add(TRAILER as u64));
        if end != Some(file_bytes) || trailer.image > trailer.offset {
            return Err(io::Error::other("the appended pool is cut or its trailer damaged"));
        }
        Ok(Some(trailer))
    }
}

/// The trailer at the end of a file, if there is one.
pub(super) fn find(mut file: &File) -> io::Result<Option<Trailer>> {
    let bytes = file.metadata()?.len();
    if bytes < TRAILER as u64 {
        return Ok(None);
    }
    let mut tail = [0u8; TRAILER];
    file.seek(SeekFrom::Start(bytes - TRAILER as u64))?;
    file.read_exact(&mut tail)?;
    Trailer::decode(&tail, bytes)
}

/// The running executable, even when it was moved or deleted since it started.
pub(super) fn own() -> io::Result<File> {
    File::open("/proc/self/exe").or_else(|_| File::open(std::env::current_exe()?))
}

/// Appends the pool file to the executable, in place of one that is there. The executable must not be running.
pub fn append(executable: &Path, pool: &Path) -> Result<()> {
    let origin = executable.display().to_string();
    let before = OpenOptions::new().read(true).write(true).open(executable).map_err(|e| refuse(&origin, e))?;
    let image = match find(&before).map_err(|e| refuse(&origin, e))? {
        Some(trailer) => trailer.image,
        None => before.metadata().map_err(|e| refuse(&origin, e))?.len(),
    };
    drop(before);
    // Built beside it and moved over, so that a full disk leaves the old file.
    let mut part = executable.as_os_str().to_owned();
    part.push(".part");
    let part = Path::new(&part);
    let built = build(executable, image, pool, part).and_then(|()| fs::rename(part, executable));
    built.map_err(|e| {
        let _ = fs::remove_file(part);
        refuse(&origin, e)
    })
}

fn build(executable: &Path, image: u64, pool: &Path, part: &Path) -> io::Result<()> {
    let mut source = File::open(pool)?;
    let mut head = [0u8; PROLOGUE];
    source.read_exact(&mut head)?;
    source.seek(SeekFrom::Start(0))?;
    let bytes = source.metadata()?.len();
    let mut out = File::create(part)?;
    // Copies between files go through the kernel, which shares blocks where the file system can.
    io::copy(&mut File::open(executable)?.take(image), &mut out)?;
    let offset = image.next_multiple_of(IMAGE_ALIGN);
    out.set_len(offset)?;
    out.seek(SeekFrom::Start(offset))?;
    io::copy(&mut source, &mut out)?;
    let head_hash = std::array::from_fn(|i| head[96 + i]);
    out.write_all(&Trailer { image, offset, bytes, head_hash }.encode())?;
    out.set_permissions(fs::metadata(executable)?.permissions())
}
