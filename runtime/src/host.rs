//! Memory of this process on the host. In: /proc. Out: bytes by kind. Promise: read only, and none where the system has no such file.

use serde::Serialize;

/// Resident bytes: what only swap could take away, what is a page of a file (the mapped pool), and the most of both so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct HostMemory {
    pub anon_bytes: u64,
    pub file_bytes: u64,
    pub shared_bytes: u64,
    pub peak_bytes: u64,
}

/// Of this process, now.
pub fn memory() -> Option<HostMemory> {
    parse(&std::fs::read_to_string("/proc/self/status").ok()?)
}

fn parse(status: &str) -> Option<HostMemory> {
    let bytes = |key: &str| {
        let line = status.lines().find_map(|l| l.strip_prefix(key)?.strip_prefix(':'))?;
        Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
    };
    Some(HostMemory {
        anon_bytes: bytes("RssAnon")?,
        file_bytes: bytes("RssFile")?,
        shared_bytes: bytes("RssShmem")?,
        peak_bytes: bytes("VmHWM")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_apart() {
        let status =
            "Name:\tx\nVmHWM:\t  20 kB\nVmRSS:\t 9 kB\nRssAnon:\t       4 kB\nRssFile:\t 3 kB\nRssShmem:\t 2 kB\n";
        let expected = HostMemory { anon_bytes: 4096, file_bytes: 3072, shared_bytes: 2048, peak_bytes: 20480 };
        assert_eq!(parse(status), Some(expected));
        assert_eq!(parse("RssAnon: 4 kB\n"), None);
    }
}
