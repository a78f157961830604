//! A 64-bit content hash that a shader can recompute. In: bytes. Out: two 32-bit sums. Promise: only 32-bit integer arithmetic, and
//! words in any order, so any number of invocations can share the work.

/// Hash of a byte string given in pieces. The last word is filled up with zeros.
#[derive(Clone, Debug, Default)]
pub struct Hash64 {
    low: u32,
    high: u32,
    words: u32,
    bytes: u64,
    rest: Vec<u8>,
}

/// A bijection of 32-bit words with good avalanche.
fn mix(mut x: u32) -> u32 {
    x ^= x >> 16;
    x = x.wrapping_mul(0x7feb_352d);
    x ^= x >> 15;
    x = x.wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
}

const HIGH: u32 = 0x9e37_79b9;

impl Hash64 {
    pub fn update(&mut self, piece: &[u8]) {
        self.bytes += piece.len() as u64;
        let mut piece = piece;
        if !self.rest.is_empty() {
            let take = piece.len().min(4 - self.rest.len());
            self.rest.extend_from_slice(&piece[..take]);
            piece = &piece[take..];
            if self.rest.len() < 4 {
                return;
            }
            let word = u32::from_le_bytes([self.rest[0], self.rest[1], self.rest[2], self.rest[3]]);
            self.word(word);
            self.rest.clear();
        }
        let (words, rest) = piece.as_chunks::<4>();
        for word in words {
            self.word(u32::from_le_bytes(*word));
        }
        self.rest.extend_from_slice(rest);
    }

    fn word(&mut self, word: u32) {
        let place = mix(self.words);
        self.low = self.low.wrapping_add(mix(word ^ place));
        self.high = self.high.wrapping_add(mix(word.wrapping_add(place) ^ HIGH));
        self.words = self.words.wrapping_add(1);
    }

    pub fn finish(mut self) -> u64 {
        if !self.rest.is_empty() {
            self.rest.resize(4, 0);
            let word = u32::from_le_bytes([self.rest[0], self.rest[1], self.rest[2], self.rest[3]]);
            self.word(word);
        }
        finish(self.low, self.high, self.bytes)
    }
}

/// The hash of `bytes` bytes from the sums over their words.
pub(crate) fn finish(low: u32, high: u32, bytes: u64) -> u64 {
    let low = low.wrapping_add(mix(bytes as u32));
    let high = high.wrapping_add(mix((bytes >> 32) as u32 ^ HIGH));
    u64::from(high) << 32 | u64::from(low)
}

/// The sums over the words that a hash was made of, and what they are after `times` rounds over the same words.
pub(crate) fn sums(hash: u64, bytes: u64, times: u64) -> [u32; 2] {
    let [low, high] = [hash as u32, (hash >> 32) as u32];
    let words = [low.wrapping_sub(mix(bytes as u32)), high.wrapping_sub(mix((bytes >> 32) as u32 ^ HIGH))];
    words.map(|sum| sum.wrapping_mul(times as u32))
}

/// Hash of one byte string.
pub fn hash64(bytes: &[u8]) -> u64 {
    let mut hash = Hash64::default();
    hash.update(bytes);
    hash.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_make_no_difference() {
        let bytes: Vec<u8> = (0..1000u32).map(|i| (i * 7) as u8).collect();
        for cut in [0, 1, 2, 3, 4, 5, 999] {
            let mut hash = Hash64::default();
            hash.update(&bytes[..cut]);
            hash.update(&bytes[cut..]);
            assert_eq!(hash.finish(), hash64(&bytes), "cut at {cut}");
        }
    }

    #[test]
    fn every_changed_moved_or_missing_byte_shows() {
        let bytes: Vec<u8> = (0..64).collect();
        let base = hash64(&bytes);
        for i in 0..64 {
            let mut other = bytes.clone();
            other[i] ^= 1;
            assert_ne!(hash64(&other), base);
        }
        let mut swapped = bytes.clone();
        swapped.rotate_left(4);
        assert_ne!(hash64(&swapped), base);
        assert_ne!(hash64(&[]), hash64(&[0]));
        assert_ne!(hash64(&[0]), hash64(&[0, 0]));
    }

    #[test]
    fn a_hash_gives_its_sums_back_and_rounds_add_up() {
        let bytes = b"some eighteen bytes";
        let length = bytes.len() as u64;
        let [low, high] = sums(hash64(bytes), length, 1);
        assert_eq!(finish(low, high, length), hash64(bytes));
        assert_eq!(sums(hash64(bytes), length, 3), [low.wrapping_mul(3), high.wrapping_mul(3)]);
        // The length of what is longer than 32 bits counts.
        assert_ne!(finish(low, high, length + (1 << 32)), finish(low, high, length));
        assert_eq!(sums(finish(low, high, 5 << 32), 5 << 32, 1), [low, high]);
    }

    #[test]
    fn the_documented_example_holds() {
        assert_eq!(hash64(b"onnxcast"), 0x1c86fb75fd2e5a18);
    }
}
